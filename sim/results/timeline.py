"""The time line of what changed a table: alarms that rang, changes in force or refused, and when throttling was first over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sim.names import AlarmState, ControlAction
from sim.results.bottleneck import per_minute

if TYPE_CHECKING:
    from sim.results.outcome import Outcome


@dataclass(frozen=True)
class Moment:
    """One line of the time line.

    Attributes
    ----------
    at_s : second at which it happened.
    resource : ``"table"`` or ``"index/NAME"``.
    what : in words.
    outcome : done, refused or pending; "" for what is no change.
    """

    at_s: float
    resource: str
    what: str
    outcome: str = ""

    @property
    def stamp(self) -> str:
        """The moment as hours, minutes and seconds of the run: ``0:04:30``."""
        minutes, seconds = divmod(round(self.at_s), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def timeline(result: Outcome) -> tuple[Moment, ...]:
    """All moments of a run in order of time; empty where nothing but traffic happened."""
    moments = [*_alarms(result), *_changes(result)]
    if moments:
        moments += _reliefs(result)
    return tuple(sorted(moments, key=lambda moment: moment.at_s))


def _alarms(result: Outcome) -> Iterator[Moment]:
    for resource, record in result.resources.items():
        for dimension, lane in record.lanes.items():
            for alarm, states in lane.alarms.items():
                for at_s, state in states:
                    if state == AlarmState.ALARM:
                        yield Moment(at_s, resource, f"{alarm} of {dimension}s rings")


def _changes(result: Outcome) -> Iterator[Moment]:
    for row in result.recorder.events:
        if row.action not in tuple(ControlAction):
            continue
        at_s = row.at_s if row.done_s is None else row.done_s
        what = f"{row.action}: {row.detail.split(';')[0].split(': ')[0]}"
        if row.outcome == "refused":
            what += f", refused ({row.error})"
        elif row.outcome == "pending":
            what += ", still under way at the end"
        yield Moment(at_s, row.resource, what, row.outcome)


def _reliefs(result: Outcome) -> Iterator[Moment]:
    """The first minute without throttles after a minute with some; where several resources throttle, of each by itself."""
    refusing = [
        r for r, record in result.resources.items() if any(x.throttle_events.any() for x in record.lanes.values())
    ]
    calm_of = "without throttled {}s" if len(refusing) == 1 else "in which it throttled no {}s itself"
    for resource, record in result.resources.items():
        for dimension, lane in record.lanes.items():
            events, begins_s = per_minute(result, lane.throttle_events)
            throttled = np.flatnonzero(events > 0)
            calm = np.flatnonzero(events == 0)
            after = calm[calm > throttled[0]] if len(throttled) else calm[:0]
            if len(after):
                yield Moment(float(begins_s[after[0]]), resource, f"first minute {calm_of.format(dimension)}")
