"""The alarms of a scenario, evaluated as CloudWatch does: M of the last N periods, every minute, with what missing data counts as.

At the end of every UTC minute an alarm looks at the periods that end there, so that a period of five minutes slides by one. What lay before
the run is not known: a period that begins before the run's first minute is one without data. Seconds are those at which a minute ends;
the service itself knows of it a minute or two later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sim.keyspace.domain import Floats
from sim.limits import MINUTE_S
from sim.names import READ_OPERATIONS, TABLE, Dimension, index_resource
from sim.results.cloudwatch import metric, minute_number
from sim.results.phrases import clock, percent
from sim.results.steps import integral
from sim.scenario import Alarm

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

MISSING, FINE, BREACHING = -1, 0, 1  # what a data point can be

_NEARLY_EQUAL = 1e-9  # of sums that are made of decimal fractions
_DAY_S = 86_400
_MINUTES_PER_HOUR = 60


class AlarmState(StrEnum):
    """CloudWatch's names."""

    OK = "OK"
    ALARM = "ALARM"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"


@dataclass(frozen=True)
class AlarmReport:
    """What an alarm did in a run.

    Attributes
    ----------
    alarm : as it was described.
    resource : ``"table"`` or ``"index/NAME"``.
    state_changes : second and new state of each change; an alarm begins as INSUFFICIENT_DATA.
    end_s : when the run ended.
    stays_for_want_of_data : it is in ALARM at the end only because there is no data any more.
    """

    alarm: Alarm
    resource: str
    state_changes: tuple[tuple[float, AlarmState], ...]
    end_s: float
    stays_for_want_of_data: bool

    @property
    def final_state(self) -> AlarmState:
        """The state at the end."""
        return self.state_changes[-1][1] if self.state_changes else AlarmState.INSUFFICIENT_DATA

    @property
    def dimension(self) -> Dimension | None:
        """Reads or writes, as far as the metric or its operation tells."""
        if self.alarm.operation is not None:
            return Dimension.READ if self.alarm.operation in READ_OPERATIONS else Dimension.WRITE
        return next((d for d in Dimension if d.capitalize() in self.alarm.metric), None)

    @property
    def in_alarm_s(self) -> tuple[tuple[float, float], ...]:
        """From when to when it was in ALARM."""
        ends_s = [*(at_s for at_s, _ in self.state_changes[1:]), self.end_s]
        spans = zip(self.state_changes, ends_s, strict=False)  # an alarm that never changed has an end alone
        return tuple((at_s, end_s) for (at_s, state), end_s in spans if state is AlarmState.ALARM)


def condition(alarm: Alarm, named: str) -> str:
    """What an alarm watches for, in a few words: ``WriteThrottleEvents of orders over 10 in 1m``."""
    amount_asked = f"{percent(alarm.threshold)} of provisioned" if alarm.of_provisioned else f"{alarm.threshold:,.10g}"
    measure = "" if alarm.statistic == "Sum" else f" ({alarm.statistic})"
    by = "" if alarm.operation is None else f" {alarm.operation}"
    wanted = alarm.evaluation_periods
    needed = alarm.datapoints_to_alarm or wanted
    times = "" if wanted == 1 else f", {needed} of {wanted} times" if needed < wanted else f", {wanted} times in a row"
    side = "over" if alarm.comparison.startswith("Greater") else "under"
    if "OrEqual" in alarm.comparison:
        side = "at least" if side == "over" else "at most"
    return f"{alarm.metric}{by} of {named}{measure} {side} {amount_asked} in {clock(alarm.period)}{times}"


def evaluate_alarms(result: Outcome) -> tuple[AlarmReport, ...]:
    """The state changes of every alarm, in the order of the scenario.

    Raises
    ------
    ValueError
        An alarm is on a metric that the run does not produce; loading a scenario refuses that.
    """
    return tuple(_evaluate(result, alarm) for alarm in result.scenario.alarm)


def _evaluate(result: Outcome, alarm: Alarm) -> AlarmReport:
    grid = result.grid
    resource = TABLE if alarm.index is None else index_resource(alarm.index)
    watched = metric(result, alarm.metric, index=alarm.index, operation=alarm.operation)
    steps = round(alarm.period / MINUTE_S)
    points = np.full(grid.minutes, MISSING, dtype=np.int8)  # of the period that ends with each minute
    values = watched.samples.sliding(steps).statistic(alarm.statistic)
    threshold = _thresholds(result, alarm, resource, steps)
    with np.errstate(invalid="ignore"):
        found = np.where(_compare(alarm.comparison, values, threshold), BREACHING, FINE)
    points[steps - 1 :] = np.where(np.isnan(values), MISSING, found)

    ends_s = grid.minute_starts_s + MINUTE_S
    whole = int(
        np.searchsorted(ends_s, grid.duration_s + _NEARLY_EQUAL, side="right")
    )  # a minute that is cut off has not ended
    looks = np.arange(whole)
    if alarm.evaluation_periods * alarm.period > _DAY_S:  # alarms over days are looked at once an hour
        looks = looks[(minute_number(watched.start) + looks + 1) % _MINUTES_PER_HOUR == 0]
    reach = alarm.evaluation_periods + int(result.scenario.calibration.alarm_extra_periods)
    state = AlarmState.INSUFFICIENT_DATA
    changes = []
    for minute in looks.tolist():
        window = points[minute - steps * np.arange(min(reach, minute // steps + 1))]
        new = next_state(window, reach, state, alarm)
        if new is not state:
            changes.append((float(ends_s[minute]), new))
            state = new
    stays = state is AlarmState.ALARM and bool(len(looks)) and bool(points[looks[-1]] == MISSING)
    return AlarmReport(alarm, resource, tuple(changes), grid.duration_s, stays and alarm.treat_missing == "ignore")


def next_state(points: npt.NDArray[np.int8] | Sequence[int], reach: int, state: AlarmState, alarm: Alarm) -> AlarmState:
    """The state after a look at the latest data points.

    Parameters
    ----------
    points : newest first, each `MISSING`, `FINE` or `BREACHING`; those that are not there, up to ``reach``, are missing.
    reach : periods that are looked at in case some have no data.
    state : the state until now.
    alarm : gives N (``evaluation_periods``), M (``datapoints_to_alarm``) and ``treat_missing``.

    Where N real points are within reach, the latest N decide. Where there are fewer, what is missing counts as ``treat_missing`` says, as
    few times as possible. With "missing" and "ignore" real points alone decide; where all of them breach but are fewer than M, an alarm is
    not hasty: with "missing" it waits until the oldest of them is M periods old, with "ignore" it keeps its state.
    """
    points = np.asarray(points, dtype=np.int8)
    wanted = alarm.evaluation_periods
    needed = alarm.datapoints_to_alarm or wanted
    real = points[points != MISSING]
    if len(real) >= wanted:
        return _alarm_if(int((real[:wanted] == BREACHING).sum()) >= needed)
    breaching = int((real == BREACHING).sum())
    match alarm.treat_missing:
        case "breaching":
            return _alarm_if(breaching + wanted - len(real) >= needed)
        case "notBreaching":
            return _alarm_if(breaching >= needed)
    if breaching >= needed:
        return AlarmState.ALARM
    if not len(real):
        return AlarmState.INSUFFICIENT_DATA if alarm.treat_missing == "missing" else state
    if breaching < len(real):
        return AlarmState.OK
    oldest = int(np.flatnonzero(points == BREACHING)[-1]) + 1
    return AlarmState.ALARM if oldest >= needed and alarm.treat_missing == "missing" else state


def _alarm_if(condition: bool) -> AlarmState:
    return AlarmState.ALARM if condition else AlarmState.OK


def _thresholds(result: Outcome, alarm: Alarm, resource: str, steps: int) -> Floats | float:
    """What each period's value is held against, one for each window of so many minutes; with ``of_provisioned`` units of that window."""
    if not alarm.of_provisioned:
        return alarm.threshold
    grid = result.grid
    dimension = next(d for d in Dimension if d.capitalize() in alarm.metric)
    edges_s = np.clip(np.append(grid.minute_starts_s, grid.minute_starts_s[-1] + MINUTE_S), 0.0, grid.duration_s)
    provisioned = np.diff(integral(result.resources[resource].lanes[dimension].capacity, edges_s))
    if steps > len(provisioned):
        return np.empty(0)
    windows = np.lib.stride_tricks.sliding_window_view(provisioned, steps)
    return np.asarray(alarm.threshold * windows.sum(axis=1))


def _compare(comparison: str, values: Floats, threshold: Floats | float) -> npt.NDArray[np.bool_]:
    equal = np.isclose(values, threshold, rtol=_NEARLY_EQUAL, atol=_NEARLY_EQUAL)
    beyond = values > threshold if comparison.startswith("Greater") else values < threshold
    return np.asarray(beyond | equal if "OrEqual" in comparison else beyond & ~equal)
