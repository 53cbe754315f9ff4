"""What CloudWatch would have shown of a run: DynamoDB's metrics under their names, by dimension, period and statistic (F-CW-1 to F-CW-8).

A metric is kept as CloudWatch keeps it: for each UTC minute how many samples there were, their sum, the least and the greatest. From these
come all statistics at any period, as pandas or in the shapes that get-metric-data and get-metric-statistics answer with. Which samples
there are differs: consumed capacity has some every minute, idle or not; what counts refusals and errors has one for each, and none where
there was nothing, which is no data and not a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.keyspace.domain import Floats, Ints
from sim.limits import MINUTE_S
from sim.names import TABLE, Dimension, ErrorName, Limit, Operation, index_resource
from sim.results.outcome import Outcome
from sim.results.steps import values_at
from sim.results.usage import modes_of, on_demand_at
from sim.scenario.metrics import METRIC_KINDS, MetricKind, Split, divides_minutes
from sim.scenario.sections import STATISTICS

if TYPE_CHECKING:
    import pandas as pd

    from sim.results.recorder import LaneRecord

NAMESPACE = "AWS/DynamoDB"

_DIGITS = 6  # of a number in JSON, as in the result
_CONDITIONAL = frozenset({Operation.PUT_ITEM, Operation.UPDATE_ITEM, Operation.DELETE_ITEM})
_LIMIT_OF = {
    "KeyRangeThroughputThrottleEvents": Limit.KEY_RANGE,
    "ProvisionedThroughputThrottleEvents": Limit.PROVISIONED,
    "MaxOnDemandThroughputThrottleEvents": Limit.MAX_ON_DEMAND,
    "AccountLimitThrottleEvents": Limit.ACCOUNT,
}


@dataclass(frozen=True)
class Samples:
    """Samples by time step: how many, their sum, the least and the greatest; where there are none, there is no data."""

    count: Floats
    total: Floats
    least: Floats
    most: Floats

    @classmethod
    def ones(cls, events: Floats) -> Samples:
        """One sample of 1 for each event."""
        there = (events > 0).astype(float)
        return cls(events, events, there, there)

    def statistic(self, name: str) -> Floats:
        """One of `STATISTICS` per step, NaN where there is no data."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values = {
                "Sum": self.total,
                "Average": self.total / self.count,
                "Maximum": self.most,
                "Minimum": self.least,
                "SampleCount": self.count,
            }[name]
        return np.where(self.count > 0, values, np.nan)

    def joined(self, starts: Ints) -> Samples:
        """The samples of longer steps, which begin at the steps ``starts``."""
        least = np.where(self.count > 0, self.least, np.inf)
        most = np.where(self.count > 0, self.most, -np.inf)
        return Samples(
            np.add.reduceat(self.count, starts),
            np.add.reduceat(self.total, starts),
            np.minimum.reduceat(least, starts),
            np.maximum.reduceat(most, starts),
        )

    def sliding(self, steps: int) -> Samples:
        """The samples of every window of so many steps, the first window first."""

        def windows(values: Floats) -> Floats:
            return np.lib.stride_tricks.sliding_window_view(values, steps)

        if steps > len(self.count):
            nothing = np.empty(0)
            return Samples(nothing, nothing, nothing, nothing)
        # Sums are made anew for each window: a difference of running sums leaves a rest where there was nothing.
        return Samples(
            windows(self.count).sum(axis=1),
            windows(self.total).sum(axis=1),
            windows(np.where(self.count > 0, self.least, np.inf)).min(axis=1),
            windows(np.where(self.count > 0, self.most, -np.inf)).max(axis=1),
        )


@dataclass(frozen=True)
class Metric:
    """One metric of a run, with its dimensions.

    Attributes
    ----------
    name : CloudWatch's name.
    index, operation : what it is split by; None: the table, or all operations together.
    samples : by UTC minute, the run's first minute first.
    start : when that minute begins.
    """

    name: str
    table: str
    index: str | None
    operation: Operation | None
    samples: Samples
    start: datetime

    @property
    def kind(self) -> MetricKind:
        """Unit, dimensions and the rest that is fixed."""
        return METRIC_KINDS[self.name]

    @property
    def dimensions(self) -> list[dict[str, str]]:
        """As in an API call."""
        pairs = {"TableName": self.table, "GlobalSecondaryIndexName": self.index, "Operation": self.operation}
        if self.kind.split is Split.ACCOUNT:
            return []
        return [{"Name": name, "Value": str(value)} for name, value in pairs.items() if value is not None]

    @property
    def label(self) -> str:
        """Table, index or operation, and name, in a few words."""
        parts = [one["Value"] for one in self.dimensions]
        return " ".join([*parts, self.name])

    def values(self, statistic: str | None = None, period_s: float | None = None) -> tuple[list[datetime], Floats]:
        """Where there is data: the beginnings of the periods, aligned to UTC, and the statistic of each.

        Parameters
        ----------
        statistic : one of `STATISTICS`. None: the usual one of the metric.
        period_s : seconds, a whole number of minutes. None: how often the metric has a data point, a minute or five.

        Raises
        ------
        ValueError
            Unknown statistic, or a period that is no whole number of minutes.
        """
        statistic = statistic or self.kind.statistic
        if statistic not in STATISTICS:
            raise ValueError(f"no statistic {statistic!r} here; there are: {', '.join(STATISTICS)}")
        steps = _minutes_of(self.kind.step_minutes * MINUTE_S if period_s is None else period_s)
        before = minute_number(self.start) % steps  # minutes of the first period that were over when the run began
        starts = np.arange(-before, len(self.samples.count), steps)
        values = self.samples.joined(np.maximum(starts, 0)).statistic(statistic)
        there = np.flatnonzero(~np.isnan(values))
        return [self.start + timedelta(minutes=int(starts[k])) for k in there], values[there]


def minute_number(at: datetime) -> int:
    """Minutes since the epoch."""
    return int(at.timestamp() // MINUTE_S)


def metric(result: Outcome, name: str, *, index: str | None = None, operation: str | None = None) -> Metric:
    """One metric of a run.

    Parameters
    ----------
    index : a global secondary index. None: the table, without its indexes (F-CW-3).
    operation : for metrics that are split by operation. None: all operations together, which at AWS takes metric math.

    Raises
    ------
    ValueError
        No such metric, index or operation; a dimension that the metric does not have; or a metric that this run does not produce.
    """
    kind = METRIC_KINDS.get(name)
    if kind is None:
        raise ValueError(f"no metric {name!r}; there are: {', '.join(METRIC_KINDS)}")
    level = result.scenario.level
    if level in kind.refused_at:
        raise ValueError(f"{name} is not produced at the {level} level: {kind.instead}")
    if not divides_minutes(result.grid.tick_s):
        raise ValueError(f"metrics are made by the minute, and ticks of {result.grid.tick_s:g} s do not divide one")
    if index is not None and kind.split is not Split.RESOURCE:
        raise ValueError(f"{name} is not split by index; its dimensions: {kind.split.value}")
    if operation is not None and kind.split is not Split.OPERATION:
        raise ValueError(f"{name} is not split by operation; its dimensions: {kind.split.value}")
    resource = TABLE if index is None else index_resource(index)
    if resource not in result.resources:
        known = ", ".join(one.removeprefix("index/") for one in result.resources if one != TABLE)
        raise ValueError(f"no index {index!r} with metrics of its own; there are: {known or 'none'}")
    chosen = None if operation is None else Operation(operation)
    start = _first_minute(result)
    return Metric(name, result.scenario.table.name, index, chosen, _SAMPLES[name](result, resource, chosen), start)


def all_metrics(result: Outcome) -> Iterator[Metric]:
    """Every metric that has data, with each of its dimensions: what list-metrics would show.

    Raises
    ------
    ValueError
        The run's ticks do not divide minutes.
    """
    indexes = [None, *(name.removeprefix("index/") for name in result.resources if name != TABLE)]
    operations = sorted({traffic.operation for traffic in result.scenario.traffic} - {Operation.TTL_DELETE})
    for name, kind in METRIC_KINDS.items():
        if result.scenario.level in kind.refused_at:
            continue
        if kind.split is Split.RESOURCE:
            found = [metric(result, name, index=index) for index in indexes]
        elif kind.split is Split.OPERATION:
            found = [metric(result, name, operation=operation) for operation in operations]
        else:
            found = [metric(result, name)]
        yield from (one for one in found if one.samples.count.any())


# As pandas.


def series(one: Metric, statistic: str | None = None, period_s: float | None = None) -> pd.Series[float]:
    """A metric as a pandas Series over the beginnings of its periods (UTC); periods without data are not in it."""
    import pandas as pd

    times, values = one.values(statistic, period_s)
    return pd.Series(values, index=pd.DatetimeIndex(times, tz=UTC, name="timestamp"), name=one.name, dtype=float)


def frame(result: Outcome, statistics: Sequence[str] | None = None, period_s: float | None = None) -> pd.DataFrame:
    """All metrics with data as a DataFrame, one row for each data point.

    Columns: ``timestamp`` (UTC, beginning of the period), ``metric``, ``index``, ``operation`` (None where it is not split so),
    ``statistic``, ``value``, ``unit``. Each metric comes with its usual statistic and step unless others are asked for.
    """
    import pandas as pd

    rows = []
    for one in all_metrics(result):
        for statistic in statistics or (one.kind.statistic,):
            times, values = one.values(statistic, period_s)
            unit = "Count" if statistic == "SampleCount" else one.kind.unit
            operation = None if one.operation is None else str(one.operation)
            fixed = (one.name, one.index, operation, statistic)
            rows += [(at, *fixed, value, unit) for at, value in zip(times, values.tolist(), strict=True)]
    columns = ["timestamp", "metric", "index", "operation", "statistic", "value", "unit"]
    made = pd.DataFrame(rows, columns=columns)
    made["timestamp"] = pd.to_datetime(made["timestamp"], utc=True)
    return made


# As the API answers.


def metric_statistics(
    one: Metric, statistics: Sequence[str] | None = None, period_s: float | None = None
) -> dict[str, Any]:
    """A metric as get-metric-statistics answers: a label and data points with the statistics asked for, in order of time."""
    chosen = tuple(statistics or (one.kind.statistic,))
    by_name = {statistic: one.values(statistic, period_s) for statistic in chosen}
    times = by_name[chosen[0]][0]
    return {
        "Label": one.name,
        "Datapoints": [
            {
                "Timestamp": at.isoformat(),
                **{statistic: _number(values[k]) for statistic, (_, values) in by_name.items()},
                "Unit": one.kind.unit,
            }
            for k, at in enumerate(times)
        ],
    }


def metric_data(
    result: Outcome, statistics: Sequence[str] | None = None, period_s: float | None = None
) -> dict[str, Any]:
    """All metrics with data as get-metric-data answers, newest data points first as there, after the queries that this answers.

    ``MetricDataQueries`` is what the call would be given, ``MetricDataResults`` and ``Messages`` what it would answer; ``Id`` joins both.
    """
    queries: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    for one in all_metrics(result):
        for statistic in statistics or (one.kind.statistic,):
            ident, label = f"m{len(queries) + 1}", f"{one.label} {statistic}"
            times, values = one.values(statistic, period_s)
            step_s = one.kind.step_minutes * MINUTE_S if period_s is None else period_s
            named = {"Namespace": NAMESPACE, "MetricName": one.name, "Dimensions": one.dimensions}
            stat = {"Metric": named, "Period": int(step_s), "Stat": statistic}
            queries.append({"Id": ident, "MetricStat": stat, "Label": label})
            answers.append(
                {
                    "Id": ident,
                    "Label": label,
                    "Timestamps": [at.isoformat() for at in reversed(times)],
                    "Values": [_number(value) for value in values[::-1]],
                    "StatusCode": "Complete",
                }
            )
    return {"MetricDataQueries": queries, "MetricDataResults": answers, "Messages": []}


# Where the samples come from.


def _first_minute(result: Outcome) -> datetime:
    start = result.scenario.start.astimezone(UTC)
    return start.replace(second=0, microsecond=0)


def _minutes_of(period_s: float) -> int:
    if period_s < MINUTE_S or period_s % MINUTE_S:
        raise ValueError(f"a period is a whole number of minutes, not {period_s:g} s")
    return round(period_s / MINUTE_S)


def _lane(result: Outcome, resource: str, dimension: Dimension) -> LaneRecord:
    return result.resources[resource].lanes[dimension]


def _consumed(dimension: Dimension) -> _Source:
    def samples(result: Outcome, resource: str, _: Operation | None) -> Samples:
        units = result.grid.by_minute(_lane(result, resource, dimension).consumed_units)
        emitted = float(result.scenario.calibration.consumed_samples_per_minute)
        each = units / emitted
        return Samples(np.full(len(units), emitted), units, each, each)

    return samples


def _provisioned(dimension: Dimension) -> _Source:
    def samples(result: Outcome, resource: str, _: Operation | None) -> Samples:
        grid = result.grid
        number = minute_number(_first_minute(result)) + np.arange(grid.minutes)
        every = METRIC_KINDS[f"Provisioned{dimension.capitalize()}CapacityUnits"].step_minutes
        at_s = np.maximum(grid.minute_starts_s, 0.0)
        provisioned = ~on_demand_at(modes_of(result.scenario, result.resources[resource]), at_s)
        there = ((number % every == 0) & provisioned).astype(float)
        values = values_at(_lane(result, resource, dimension).capacity, at_s) * there
        return Samples(there, values, values, values)

    return samples


def _throttled(dimension: Dimension, limit: Limit | None = None) -> _Source:
    def samples(result: Outcome, resource: str, _: Operation | None) -> Samples:
        lane = _lane(result, resource, dimension)
        none = np.zeros(result.grid.ticks)
        events = lane.throttle_events if limit is None else lane.events_by_limit.get(limit, none)
        return Samples.ones(result.grid.by_minute(events))

    return samples


def _by_patterns(column: str, wanted: Callable[[Outcome, str, Operation | None], bool]) -> _Source:
    """One sample of 1 for each of what a column of the access patterns counts."""

    def samples(result: Outcome, _: str, operation: Operation | None) -> Samples:
        events = np.zeros(result.grid.minutes)
        for traffic in result.scenario.traffic:
            if wanted(result, traffic.name, operation):
                events += result.traffic[traffic.name].by_minute(column)
        return Samples.ones(events)

    return samples


def _has_operation(result: Outcome, name: str, operation: Operation | None) -> bool:
    mine = next(traffic.operation for traffic in result.scenario.traffic if traffic.name == name)
    return mine is operation or (operation is None and mine is not Operation.TTL_DELETE)


def _is_conditional(result: Outcome, name: str, _: Operation | None) -> bool:
    return any(traffic.name == name and traffic.operation in _CONDITIONAL for traffic in result.scenario.traffic)


def _is_invalid(result: Outcome, name: str, _: Operation | None) -> bool:
    """Whether the service rejects the pattern's requests, all or none; throttles and failed conditions are no user errors (F-CW-8)."""
    return ErrorName.VALIDATION in result.traffic[name].failures


def _latencies(result: Outcome, _: str, operation: Operation | None) -> Samples:
    records = [
        result.traffic[traffic.name].answered
        for traffic in result.scenario.traffic
        if _has_operation(result, traffic.name, operation)
    ]
    nothing = np.zeros(result.grid.minutes)
    return Samples(
        sum((one.count for one in records), nothing),
        1000 * sum((one.sum_s for one in records), nothing),
        1000 * np.min([one.least_s for one in records] or [nothing], axis=0),
        1000 * np.max([one.most_s for one in records] or [nothing], axis=0),
    )


_Source = Callable[[Outcome, str, Operation | None], Samples]
_SAMPLES: Mapping[str, _Source] = {
    **{f"Consumed{d.capitalize()}CapacityUnits": _consumed(d) for d in Dimension},
    **{f"Provisioned{d.capitalize()}CapacityUnits": _provisioned(d) for d in Dimension},
    **{f"{d.capitalize()}ThrottleEvents": _throttled(d) for d in Dimension},
    **{f"{d.capitalize()}{ending}": _throttled(d, limit) for ending, limit in _LIMIT_OF.items() for d in Dimension},
    "ThrottledRequests": _by_patterns("throttled", _has_operation),
    "SuccessfulRequestLatency": _latencies,
    "ConditionalCheckFailedRequests": _by_patterns("unmet", _is_conditional),
    "UserErrors": _by_patterns("offered", _is_invalid),
}


def _number(value: float) -> float | int:
    rounded = round(float(value), _DIGITS)
    return int(rounded) if rounded.is_integer() else rounded
