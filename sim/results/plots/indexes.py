"""Which indexes a picture of a run shows beside the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.names import ALARM_HIGH, TABLE, AlarmState, Dimension
from sim.results.plots.base import CHANGE_MARKS

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

_INDEXES_SHOWN = 2  # those that refused most, then those whose capacity changed; the report names all


def shown_indexes(result: Outcome) -> list[str]:
    """The indexes that have panels of their own: those that refused something, then those that were acted on."""
    refusing = _throttling_indexes(result)
    others = [r for r in result.resources if r != TABLE and r not in refusing]
    acted_on = [r for r in others if any(is_acted_on(result, r, d) for d in Dimension)]
    return (refusing + acted_on)[:_INDEXES_SHOWN]


def _throttling_indexes(result: Outcome) -> list[str]:
    """The indexes that refused something, most first."""
    events = {
        resource: sum(float(lane.throttle_events.sum()) for lane in record.lanes.values())
        for resource, record in result.resources.items()
        if resource != TABLE
    }
    return sorted((r for r, count in events.items() if count > 0), key=lambda r: (-events[r], r))


def is_acted_on(result: Outcome, resource: str, dimension: Dimension) -> bool:
    """Whether auto scaling's high alarm went off, or a change was made or refused, of the resource's own."""
    alarms = result.resources[resource].lanes[dimension].alarms.get(ALARM_HIGH, [])
    return any(state == AlarmState.ALARM for _, state in alarms) or any(
        e.resource == resource and e.dimension == dimension and e.action in CHANGE_MARKS for e in result.recorder.events
    )
