"""Sentences about what changed a table's capacity while it ran: why auto scaling came late, what a schedule would do, what was refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from sim.calibration import PARAMETERS
from sim.limits import BURST_WINDOW_S, SCALE_IN_MINUTES, SCALE_OUT_MINUTES
from sim.names import ALARM_HIGH, ALARM_LOW, TABLE, AlarmState, ControlAction, Dimension, Mode
from sim.results.bottleneck import Bottleneck, per_minute, resource_words
from sim.results.phrases import amount, clock, number, percent, plural
from sim.results.steps import value_at
from sim.scenario.table import holders

if TYPE_CHECKING:
    from sim.results.outcome import Outcome
    from sim.results.recorder import EventRow
    from sim.scenario import ScalingTarget

_AHEAD_S = 600.0  # a scheduled action is proposed so long before the load, more than any UpdateTable takes by default
_REFUSED_TOLD_MAX = 3
_DELAYS = ("autoscaling_metric_delay_s", "autoscaling_action_delay_s", "update_table_s")


def mode_at(result: Outcome, resource: str, at_s: float) -> Mode:
    """The capacity mode of a resource at one moment."""
    return value_at(result.resources[resource].modes, at_s)


def scaling_target(result: Outcome, resource: str, dimension: Dimension) -> ScalingTarget | None:
    """The settings of auto scaling of one dimension of a resource, where it has any."""
    holder = holders(result.scenario.table).get(resource)
    settings = None if holder is None else holder.autoscaling
    target: ScalingTarget | None = None if settings is None else getattr(settings, dimension)
    return target


def changes_of(result: Outcome, resource: str, dimension: Dimension) -> list[EventRow]:
    """Rows about the provisioned capacity of one dimension of a resource that came into force, in order."""
    return sorted(
        (
            row
            for row in result.recorder.events
            if (row.resource, row.dimension, row.outcome) == (resource, dimension, "done")
            and row.before is not None
            and row.after is not None
            and row.done_s is not None
            and row.detail.startswith(f"{dimension} capacity")
        ),
        key=_done_s,
    )


def was_changed_before(result: Outcome, b: Bottleneck) -> bool:
    """Whether the capacity was another one before the first refusal than at second 0."""
    line = result.resources[b.resource].lanes[b.dimension].capacity
    return len(line) > 1 and line[1][0] <= b.first_s


def why_scaling_did_not_prevent_it(result: Outcome, b: Bottleneck) -> Iterator[str]:
    """What auto scaling and changes by hand did about capacity that ran out, and when."""
    target = scaling_target(result, b.resource, b.dimension)
    rows = changes_of(result, b.resource, b.dimension)
    before = [row for row in rows if _done_s(row) <= b.first_s]
    if before and _falls(before[-1]):
        row = before[-1]
        credit = amount(BURST_WINDOW_S * (row.after or 0.0))
        yield (
            f"{_actor(row)} had lowered the capacity from {amount(row.before or 0)} to {amount(row.after or 0)} at {clock(_done_s(row))}, "
            f"and burst credit to {credit} units with it"
        )
    if target is None:
        return
    raises = [
        row
        for row in rows
        if row.action == ControlAction.AUTO_SCALING
        and not _falls(row)
        and _done_s(row) > b.first_s - _reaction_s(result)
    ]
    of = f"of {resource_words(b.resource)}'s {b.dimension}s"
    if raises:
        yield from _late(result, b, target, raises, of)
        return
    states = result.resources[b.resource].lanes[b.dimension].alarms.get(ALARM_HIGH, [])
    if value_at(result.resources[b.resource].lanes[b.dimension].capacity, b.end_s) >= target.max:
        yield f"auto scaling {of} stood at its maximum of {amount(target.max)}; what would help is a greater max"
    elif not any(state == AlarmState.ALARM for _, state in states):
        yield (
            f"auto scaling {of} did not react: its alarm wants {number(SCALE_OUT_MINUTES)} whole minutes of the clock in a row above "
            f"{percent(target.target_utilization)} of the capacity, and there were none"
        )
    else:
        yield (
            f"auto scaling {of} was too slow for this run: from the end of the {number(SCALE_OUT_MINUTES)} minutes that set off its alarm "
            f"it takes {clock(_reaction_s(result))} or more until a greater capacity is in force"
        )


def _late(result: Outcome, b: Bottleneck, target: ScalingTarget, raises: list[EventRow], of: str) -> Iterator[str]:
    first, last = raises[0], raises[-1]
    states = result.resources[b.resource].lanes[b.dimension].alarms.get(ALARM_HIGH, [])
    alarm_s = max(
        (at_s for at_s, state in states if state == AlarmState.ALARM and at_s <= first.at_s), default=first.at_s
    )
    after = _done_s(first) - b.first_s
    when = f", {clock(after)} after the first throttle" if after > 0 else ""
    yield (
        f"auto scaling {of} came late: its alarm, {number(SCALE_OUT_MINUTES)} whole minutes above "
        f"{percent(target.target_utilization)}, was seen at {clock(alarm_s)}, and the first greater capacity, {amount(first.after or 0)}, "
        f"was in force at {clock(_done_s(first))}{when}"
    )
    at_most = (last.after or 0.0) >= target.max and _done_s(last) < b.end_s
    if len(raises) > 1:
        bound = ", its maximum," if at_most else ""
        yield (
            f"refused requests are no consumption, so that a step aims no higher than 1/{target.target_utilization:g} of what was served: "
            f"it took {plural(len(raises), 'step')} to reach {amount(last.after or 0)}{bound} at {clock(_done_s(last))}"
        )
    elif at_most:
        yield f"auto scaling could go no further, for its maximum is {amount(target.max)}"


def schedule_cure(result: Outcome, b: Bottleneck, wanted: int) -> str:
    """What a scheduled action would do about it; "" where there is no auto scaling.

    Parameters
    ----------
    wanted : capacity that carries the busiest minute with room.
    """
    target = scaling_target(result, b.resource, b.dimension)
    if target is None:
        return ""
    lane = result.resources[b.resource].lanes[b.dimension]
    rates, begins_s = per_minute(result, lane.offered_units)
    above = [
        float(at_s)
        for rate, at_s in zip(rates, begins_s, strict=True)
        if at_s <= b.first_s and rate > target.target_utilization * value_at(lane.capacity, float(at_s))
    ]
    least = f"min = {wanted:_}"
    most = f", max = {wanted:_}" if wanted > target.max else ""
    comes_s = _begin_of_last_run(above)
    if comes_s < _AHEAD_S:
        return f"with auto scaling, a {least}{most} would have had it in force from the start"
    at = result.scenario.start + timedelta(seconds=comes_s - _AHEAD_S)
    return (
        f"a scheduled action has the capacity in force before the load comes, where an alarm follows it: "
        f'schedule = [{{ cron = "{at.minute} {at.hour} * * ? *", {least}{most} }}] would have set it at {clock(comes_s - _AHEAD_S)}'
    )


def made_by_updates(result: Outcome) -> set[float]:
    """Seconds at which changes of the table came into force, and with them the partitions that they asked for."""
    return {
        row.done_s for row in result.recorder.events if row.action in tuple(ControlAction) and row.done_s is not None
    }


def _begin_of_last_run(minutes_s: list[float]) -> float:
    """Where the last unbroken run of minutes begins."""
    begin = minutes_s[-1] if minutes_s else 0.0
    for at_s in reversed(minutes_s):
        if begin - at_s > 61:
            break
        begin = at_s
    return begin


def what_was_refused(result: Outcome) -> Iterator[str]:
    """Changes that the control plane refused, the first few."""
    refused = [
        row
        for row in result.recorder.events
        if row.outcome == "refused" and row.action in tuple(ControlAction) and row.error is not None
    ]
    for row in refused[:_REFUSED_TOLD_MAX]:
        where = "" if row.resource == TABLE else f" of {resource_words(row.resource)}"
        yield f"{_actor(row)} asked in vain at {clock(row.at_s)} ({row.error}){where}: {row.detail}"
    if len(refused) > _REFUSED_TOLD_MAX:
        yield f"{plural(len(refused) - _REFUSED_TOLD_MAX, 'other change')} of the table were refused, see the events"


def what_changed(result: Outcome) -> Iterator[str]:
    """How often each capacity changed, for a run in which nothing throttled."""
    for resource in result.resources:
        for dimension in Dimension:
            rows = changes_of(result, resource, dimension)
            if rows:
                values = [value for row in rows for value in (row.before or 0.0, row.after or 0.0)]
                last = rows[-1]
                times = "once" if len(rows) == 1 else plural(len(rows), "time")
                yield (
                    f"the {dimension} capacity of {resource_words(resource)} changed {times}, between {amount(min(values))} and "
                    f"{amount(max(values))}: last to {amount(last.after or 0)} by {_actor(last)} at {clock(_done_s(last))}"
                )


def pre_warmed_too_late(result: Outcome, b: Bottleneck) -> Iterator[str]:
    """A raise of the warm throughput that was asked for before the last refusal and was in force only after the first."""
    for row in result.recorder.events:
        is_warm = row.detail.startswith(f"{b.dimension} warm throughput") and row.outcome != "refused"
        if not is_warm or row.resource != b.resource or row.at_s > b.end_s:
            continue
        if row.done_s is None:
            yield f"pre-warming, asked for at {clock(row.at_s)}, was still under way at the end"
        elif row.done_s > b.first_s:
            yield (
                f"pre-warming came too late: asked for at {clock(row.at_s)}, it was in force at {clock(row.done_s)}, and the load was "
                f"there by {clock(b.first_s)}"
            )


def hangs_on(result: Outcome) -> Iterator[str]:
    """Which estimates the times of auto scaling hang on."""
    if any(row.action == ControlAction.AUTO_SCALING for row in result.recorder.events):
        low, high = (sum(getattr(PARAMETERS[name], end) for name in _DELAYS) for end in ("low", "high"))
        yield f"{' + '.join(_DELAYS)}, {clock(_reaction_s(result))} here, plausibly {clock(low)} to {clock(high)}"


def _reaction_s(result: Outcome) -> float:
    return math.fsum(getattr(result.scenario.calibration, name) for name in _DELAYS)


def _done_s(row: EventRow) -> float:
    assert row.done_s is not None, "a change that is done has its time"
    return row.done_s


def _falls(row: EventRow) -> bool:
    return (row.after or 0.0) < (row.before or 0.0)


def _actor(row: EventRow) -> str:
    match row.action:
        case ControlAction.AUTO_SCALING:
            quiet = f" (after {SCALE_IN_MINUTES} quiet minutes)" if _falls(row) and ALARM_LOW in row.detail else ""
            return f"auto scaling{quiet}"
        case ControlAction.SCHEDULE:
            return "the schedule"
        case _:
            return "an UpdateTable"
