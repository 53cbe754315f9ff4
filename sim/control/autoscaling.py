"""The user's auto scaling as AWS runs it: target tracking by two alarms, and scheduled actions on its bounds (F-AS-1 to F-AS-12).

AlarmHigh goes off when two consecutive minutes consumed more than the target, AlarmLow when fifteen consumed less than the target less 20
points. Minutes are those of the UTC clock, thresholds are sums per minute, and a minute is seen only after the metric's delay. A while
after an alarm the policy asks for the capacity that brings the mean of the triggering minutes to the target, within the bounds; it asks
again each minute for as long as the alarm stays. With each change that auto scaling has made, the alarms are rewritten for the new
capacity and judge the whole minutes from then on; a change by hand leaves them as they are (F-AS-11). Refused requests are no
consumption: a saturated table grows by no more than 1/target a step, a table on burst credit by more (F-AS-10).

Not modelled: the two alarms that watch the provisioned capacity itself (F-AS-4), and cooldowns other than their default of 0 (F-AS-7).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import simpy

from sim.control.updating import Refusal, Request, Settings, TableUpdates
from sim.limits import SCALE_IN_BELOW, SCALE_IN_MINUTES, SCALE_OUT_MINUTES
from sim.names import ALARM_HIGH, ALARM_LOW, AlarmState, ControlAction, ControlError, Dimension, Mode
from sim.partitions.resource import Resource
from sim.results.phrases import amount, percent
from sim.results.recorder import LaneRecord, Recorder
from sim.scenario import ScalingTarget, ScheduledAction
from sim.scenario.cron import parse_cron

MINUTE_S = 60.0

# Capacity is a whole number, rounded up; so little over one is not worth another: it is the second's worth of tokens that a bucket never
# starts without, or the last digits of a quotient.
_LEAST_OVER = 0.05

_WHOLE_FROM = 1000  # consumption is told as exactly as the capacity beside it


class Alarm:
    """One of the two alarms of a policy.

    Attributes
    ----------
    minutes : how many minutes in a row must be beyond the threshold.
    is_high : beyond is above; otherwise below.
    threshold : units per minute.
    states : (second, state) whenever it changed.
    """

    def __init__(self, minutes: int, *, is_high: bool, states: list[tuple[float, str]]) -> None:
        self.minutes = minutes
        self.is_high = is_high
        self.threshold = 0.0
        self.states = states
        self._seen: deque[float | None] = deque(maxlen=minutes)
        self.set_state(AlarmState.INSUFFICIENT_DATA, 0.0)

    @property
    def state(self) -> str:
        """The state it is in."""
        return self.states[-1][1]

    @property
    def goes_off(self) -> bool:
        """Whether as many minutes as it takes are there, and all beyond the threshold."""
        return len(self._seen) == self.minutes and all(self._is_beyond(units) for units in self._seen)

    @property
    def triggering_per_s(self) -> float:
        """Mean consumption of the minutes that it looks at, units per second."""
        seen = [units for units in self._seen if units is not None]
        return sum(seen) / (MINUTE_S * len(seen))

    def see(self, units: float | None, now_s: float) -> None:
        """Take the sum of one more minute; None: the metric has no value for it."""
        self._seen.append(units)
        if self.goes_off:
            self.set_state(AlarmState.ALARM, now_s)
        elif any(units is not None and not self._is_beyond(units) for units in self._seen):
            self.set_state(AlarmState.OK, now_s)
        elif all(units is None for units in self._seen):
            self.set_state(AlarmState.INSUFFICIENT_DATA, now_s)

    def rewrite(self, threshold: float, now_s: float) -> None:
        """Judge whole minutes from now on, by another threshold; what was seen decides the state until then."""
        self.threshold = threshold
        if self.state == AlarmState.ALARM and not self.goes_off:
            self.set_state(AlarmState.OK, now_s)
        self._seen.clear()

    def set_state(self, state: AlarmState, now_s: float) -> None:
        """Write down a state where it is another one."""
        if not self.states or self.states[-1][1] != state:
            self.states.append((now_s, state))

    def forget(self, now_s: float) -> None:
        """There is nothing to judge any more."""
        self._seen.clear()
        self.set_state(AlarmState.INSUFFICIENT_DATA, now_s)

    def _is_beyond(self, units: float | None) -> bool:
        if units is None:
            return False
        return units > self.threshold if self.is_high else units < self.threshold


@dataclass(frozen=True)
class _Due:
    """A scheduled action and the second at which it comes."""

    at_s: float
    order: int
    action: ScheduledAction


class AutoScaler:
    """Target tracking of one dimension of one table or index, with its schedule.

    Attributes
    ----------
    least, most : bounds in force.
    """

    def __init__(
        self,
        env: simpy.Environment,
        resource: Resource,
        dimension: Dimension,
        target: ScalingTarget,
        updates: TableUpdates,
        recorder: Recorder,
        start: datetime,
    ) -> None:
        self.least, self.most = target.min, target.max
        self._env = env
        self._resource = resource
        self._dimension = dimension
        self._target = target.target_utilization
        self._updates = updates
        self._recorder = recorder
        self._lane: LaneRecord = recorder.resources[resource.name].lanes[dimension]
        states = {name: self._lane.alarms.setdefault(name, []) for name in (ALARM_HIGH, ALARM_LOW)}
        self._high = Alarm(SCALE_OUT_MINUTES, is_high=True, states=states[ALARM_HIGH])
        self._low = Alarm(SCALE_IN_MINUTES, is_high=False, states=states[ALARM_LOW])
        self._fresh_s = 0.0  # minutes that begin before are not judged
        self._is_acting = False
        self._is_off = False
        self._refused: tuple[float, ControlError] | None = None  # at which capacity it last asked in vain, told once
        self._pulled_by: tuple[ControlAction, str] | None = (ControlAction.AUTO_SCALING, "")  # None: nothing to pull in
        seconds = start.second + start.microsecond / 1e6
        self._first_minute_s = (MINUTE_S - seconds) % MINUTE_S
        self._due = _due(target.schedule, start, recorder.grid.duration_s)
        self._rewrite(0.0)

    def watch(self) -> Generator[simpy.Event, Any, None]:
        """The process: looks at each minute as soon as its metric is there, for ever."""
        self._pull_in()
        delay_s = float(self._resource.calibration.autoscaling_metric_delay_s)
        end_s = self._first_minute_s
        while True:
            end_s += MINUTE_S
            yield self._env.timeout(end_s + delay_s - self._env.now)
            self._look(end_s)

    def keep_schedule(self) -> Generator[simpy.Event, Any, None]:
        """The process that carries out the scheduled actions, each at its moment."""
        for due in self._due:
            yield self._env.timeout(due.at_s - self._env.now)
            self._set_bounds(due.action)

    # Minutes and alarms.

    def _look(self, end_s: float) -> None:
        now_s = float(self._env.now)
        if self._resource.mode is not Mode.PROVISIONED:
            self._is_off = True
            self._high.forget(now_s)
            self._low.forget(now_s)
            return
        if self._is_off:
            self._is_off = False
            self._rewrite(now_s)
        begin_s = end_s - MINUTE_S
        if begin_s >= self._fresh_s:
            units = consumed_between(self._lane, self._recorder.grid.tick_s, begin_s, end_s)
            idle = units == 0 and self._resource.calibration.legacy_no_scale_in_at_zero
            self._high.see(units, now_s)
            self._low.see(None if idle else units, now_s)
        self._pull_in()
        for alarm in (self._high, self._low):
            if alarm.goes_off and not self._is_acting:
                self._is_acting = True
                self._env.process(self._act_later(alarm, alarm.triggering_per_s))

    def _rewrite(self, now_s: float) -> None:
        """Set both alarms for the capacity in force."""
        per_minute = self._capacity * MINUTE_S
        self._fresh_s = now_s
        self._high.rewrite(round(self._target * per_minute, 6), now_s)
        self._low.rewrite(round(max(0.0, self._target - SCALE_IN_BELOW) * per_minute, 6), now_s)

    # Actions.

    def _act_later(self, alarm: Alarm, mean_per_s: float) -> Generator[simpy.Event, Any, None]:
        yield self._env.timeout(float(self._resource.calibration.autoscaling_action_delay_s))
        self._is_acting = False
        if self._resource.mode is not Mode.PROVISIONED:
            return
        wanted = self._within(float(math.ceil(mean_per_s / self._target - _LEAST_OVER)))
        if wanted > self._capacity if alarm.is_high else wanted < self._capacity:
            self._ask(wanted, ControlAction.AUTO_SCALING, self._reason(alarm, mean_per_s, wanted))

    def _reason(self, alarm: Alarm, mean_per_s: float, wanted: float) -> str:
        used = percent(round(mean_per_s / self._capacity, 6))  # a dry bucket gives its capacity but for the last digits
        mean = f"{mean_per_s:,.0f}" if mean_per_s >= _WHOLE_FROM else amount(mean_per_s)
        name, minutes = (ALARM_HIGH, SCALE_OUT_MINUTES) if alarm.is_high else (ALARM_LOW, SCALE_IN_MINUTES)
        bound = ""
        if wanted == self.most and wanted < mean_per_s / self._target:
            bound = ", as far as the maximum allows"
        elif wanted == self.least and wanted > mean_per_s / self._target + 1:
            bound = ", as far as the minimum allows"
        return (
            f"{name}, {minutes} minutes consumed {mean} units/s on average, {used} of capacity, with a target of "
            f"{percent(self._target)}{bound}"
        )

    def _ask(self, wanted: float, action: ControlAction, why: str) -> None:
        settings = {self._resource.name: Settings(provisioned={self._dimension: wanted})}
        request = Request(settings=settings, why=why)
        refusal: Refusal | None = self._updates.refusal_of(request)
        if refusal is None:
            self._refused = None
            self._is_acting = True
            self._updates.ask(request, action, self._done)
        elif self._refused != (self._capacity, refusal.error):
            self._refused = (self._capacity, refusal.error)
            self._updates.note_refusal(request, action, refusal)

    def _done(self, now_s: float) -> None:
        self._is_acting = False
        self._rewrite(now_s)

    # Bounds.

    def _set_bounds(self, action: ScheduledAction) -> None:
        least = self.least if action.min is None else action.min
        most = self.most if action.max is None else action.max
        bounds = f"{self._dimension} bounds are {least:,.10g} to {most:,.10g} units/s from now on ({action.cron})"
        now_s = float(self._env.now)
        if least > most:
            why = "; refused, for the minimum would be above the maximum"
            self._note_bounds(now_s, bounds + why, "refused", ControlError.VALIDATION)
            return
        self.least, self.most = least, most
        self._note_bounds(now_s, bounds, "done", None)
        self._pulled_by = (ControlAction.SCHEDULE, f"{action.cron} sets ")
        self._pull_in()

    def _pull_in(self) -> None:
        """Bring the capacity within the bounds where these are new (F-AS-12), as soon as nothing else is under way.

        What a change by hand puts outside of them stays there until an alarm asks for something else.
        """
        if self._pulled_by is None or self._resource.mode is not Mode.PROVISIONED or self._is_acting:
            return
        wanted = self._within(self._capacity)
        if wanted == self._capacity:
            self._pulled_by = None
            return
        which = "minimum" if wanted > self._capacity else "maximum"
        action, by = self._pulled_by
        self._ask(wanted, action, f"{by}a {which} of {wanted:,.10g}" if by else f"the {which} is {wanted:,.10g}")

    def _note_bounds(self, now_s: float, detail: str, outcome: str, error: ControlError | None) -> None:
        self._updates.note(
            now_s, self._resource.name, ControlAction.SCHEDULE, detail, outcome, error, dimension=self._dimension
        )

    def _within(self, capacity: float) -> float:
        return min(self.most, max(self.least, capacity))

    @property
    def _capacity(self) -> float:
        """The provisioned rate in force."""
        provisioned = self._resource.capacity[self._dimension].provisioned
        assert provisioned is not None, "auto scaling looks at provisioned resources"
        return provisioned


def consumed_between(lane: LaneRecord, tick_s: float, begin_s: float, end_s: float) -> float:
    """Units consumed between two moments; of a tick that reaches beyond them, its part."""
    first, last = int(begin_s / tick_s + 1e-9), min(len(lane.consumed_units), math.ceil(end_s / tick_s - 1e-9))
    units = lane.consumed_units[first:last]
    if not len(units):
        return 0.0
    edges = np.arange(first, last + 1) * tick_s
    inside = np.clip(np.minimum(edges[1:], end_s) - np.maximum(edges[:-1], begin_s), 0.0, None) / tick_s
    return float((units * inside).sum()) if inside.min() < 1 - 1e-9 else float(units.sum())


def _due(schedule: Sequence[ScheduledAction], start: datetime, duration_s: float) -> list[_Due]:
    due = [
        _Due(at_s, order, action)
        for order, action in enumerate(schedule)
        for at_s in parse_cron(action.cron).offsets_s(start, duration_s)
    ]
    return sorted(due, key=lambda one: (one.at_s, one.order))
