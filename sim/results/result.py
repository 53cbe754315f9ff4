"""The result of a run as its user meets it: measures, sentences, a picture, and the JSON object of the scenario format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from sim.keyspace.domain import Floats
from sim.names import Dimension
from sim.results import phrases
from sim.results.explanation import Explanation
from sim.results.latency import TimeHistogram
from sim.results.log import AttemptLog
from sim.results.outcome import Outcome
from sim.results.timeline import Moment, timeline
from sim.scenario import html

if TYPE_CHECKING:
    import pandas as pd

    from sim.results.alarms import AlarmReport
    from sim.results.insights import ContributorInsights
    from sim.results.plots import Figure

_DIGITS = 6  # of a number in the JSON; the arithmetic behind it is exact to about that


@dataclass(frozen=True)
class Result(Outcome):
    """What a run found. Made by `sim.run`; its measures are those of `Outcome`.

    Attributes
    ----------
    attempt_log : the log of attempts, where one was asked for.
    """

    attempt_log: AttemptLog | None = None

    @cached_property
    def explanation(self) -> Explanation:
        """Sentences: what limited what, from when to when, why nothing helped, and what would."""
        from sim.results.explain import explain  # sentences are made when they are asked for

        return Explanation(explain(self))

    @cached_property
    def timeline(self) -> tuple[Moment, ...]:
        """Alarms of auto scaling, changes of capacity and mode, and the first minute without throttles, in order of time."""
        return timeline(self)

    def plot(self) -> Figure:
        """The picture of the run: rates and capacity over time, above partition by time."""
        from sim.results.plots import plot_run

        return plot_run(self)

    def log(self) -> pd.DataFrame:
        """Every attempt of the run, in order of time, where it kept a log: ``sim.run(scenario, log=True)`` or ``log="attempts.csv"``.

        Columns: ``time_s``, ``traffic``, ``attempt`` (which try of its call, from 1), ``partition`` (none where items lie in several),
        ``units`` (asked for), ``outcome`` (of the attempt at the table: ok, partly, throttled, failed), ``reason``.
        """
        if self.attempt_log is None:
            raise ValueError('this run kept no log: ask for one with sim.run(scenario, log=True) or log="attempts.csv"')
        return self.attempt_log.frame()

    # As CloudWatch would have shown it.

    @cached_property
    def alarms(self) -> tuple[AlarmReport, ...]:
        """The scenario's alarms and when they changed their state, in the order of the scenario."""
        from sim.results.alarms import evaluate_alarms

        return evaluate_alarms(self)

    def metric(
        self,
        name: str,
        *,
        index: str | None = None,
        operation: str | None = None,
        statistic: str | None = None,
        period_s: float | None = None,
    ) -> pd.Series[float]:
        """One of CloudWatch's metrics by its name, as a Series over the beginnings of its periods (UTC).

        Periods without data are not in it: what counts refusals and errors has no zeros. A throttled *request* is one of which nothing was
        served, a throttle *event* one item refused by one resource (F-CW-4); a table's metrics leave its indexes out (F-CW-3).

        Parameters
        ----------
        index : a global secondary index. None: the table.
        operation : for ThrottledRequests and SuccessfulRequestLatency. None: all operations together.
        statistic : Sum, Average, Maximum, Minimum or SampleCount. None: the metric's usual one.
        period_s : seconds, a whole number of minutes, aligned to UTC. None: as often as the metric has data, every minute or every fifth.

        Raises
        ------
        ValueError
            No such metric, dimension, statistic or period, or one that this run does not produce.
        """
        from sim.results import cloudwatch

        found = cloudwatch.metric(self, name, index=index, operation=operation)
        return cloudwatch.series(found, statistic, period_s)

    def metrics(self, *, statistics: Sequence[str] | None = None, period_s: float | None = None) -> pd.DataFrame:
        """All of CloudWatch's metrics that have data, one row for each data point.

        Columns: timestamp, metric, index, operation, statistic, value, unit. Arguments and errors are those of `metric`.
        """
        from sim.results import cloudwatch

        return cloudwatch.frame(self, statistics, period_s)

    def metric_data(self, *, statistics: Sequence[str] | None = None, period_s: float | None = None) -> dict[str, Any]:
        """All metrics that have data in the shape of get-metric-data, queries and answers. Arguments and errors are those of `metric`."""
        from sim.results import cloudwatch

        return cloudwatch.metric_data(self, statistics, period_s)

    def metric_statistics(
        self,
        name: str,
        *,
        index: str | None = None,
        operation: str | None = None,
        statistics: Sequence[str] | None = None,
        period_s: float | None = None,
    ) -> dict[str, Any]:
        """One metric in the shape of get-metric-statistics. Arguments and errors are those of `metric`."""
        from sim.results import cloudwatch

        found = cloudwatch.metric(self, name, index=index, operation=operation)
        return cloudwatch.metric_statistics(found, statistics, period_s)

    def contributor_insights(self, *, top: int = 10, throttled_only: bool = False) -> ContributorInsights:
        """The most accessed and the most throttled keys as CloudWatch Contributor Insights counts them, and what it leaves out.

        Parameters
        ----------
        top : contributors of each rule, 1 to 25.
        throttled_only : the mode that watches throttled keys alone.
        """
        from sim.results.insights import contributor_insights

        return contributor_insights(self, top=top, throttled_only=throttled_only)

    # As text.

    def __repr__(self) -> str:
        """One line: title, level, and how much was throttled."""
        title = phrases.name(self.scenario.title or self.scenario.table.name)
        from sim.results.explain import verdict

        return f"<Result {title!r}, {self.scenario.level} level: {verdict(self)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the headline, warnings, a row for each access pattern, and the explanation."""
        from sim.results.explain import verdict

        title = phrases.name(self.scenario.title or self.scenario.table.name, longest=100)
        rows = []
        for pattern in self.scenario.traffic:
            record = self.traffic[pattern.name]
            offered, attempts = float(record.offered.sum()), float(record.attempts.sum())
            rows.append(
                (
                    phrases.name(pattern.name),
                    str(pattern.operation),
                    phrases.amount(offered / self.grid.duration_s),
                    phrases.percent(float(record.succeeded.sum()) / offered) if offered else "-",
                    phrases.percent(float(record.throttled.sum()) / attempts) if attempts else "-",
                )
            )
        heads = ("pattern", "operation", "offered/s", "succeeded", "throttled")
        says = verdict(self)
        return "\n".join(
            (
                f"<p><b>{escape(title)}</b> ({self.scenario.level} level)<br>{escape(says[0].upper() + says[1:])}</p>",
                html.table(heads, rows, numbers=heads[2:]),
                f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in (*self.explanation, *self.warnings))}</ul>",
            )
        )

    # As data.

    def to_dict(self) -> dict[str, Any]:
        """The result as the JSON object of the scenario format."""
        scenario = self.scenario
        return {
            "format": 1,
            "title": scenario.title,
            "level": str(scenario.level),
            "seed": scenario.seed,
            "version": self.version,
            "duration_s": _number(scenario.duration),
            "warnings": list(self.warnings),
            "calibration": {"base": scenario.calibration.base, **scenario.calibration.values},
            "requests": {
                "offered": _number(self.offered),
                "succeeded": _number(self.succeeded),
                "failed": _number(self.failed),
                "in_flight": _rest(self.in_flight),
            },
            "attempts": {"total": _number(self.attempts), "throttled": _number(self.throttled)},
            "throttled_fraction": _number(self.throttled_fraction),
            "failed_fraction": _number(self.failed_fraction),
            "first_throttle_s": _optional(self.first_throttle_s),
            "last_throttle_s": _optional(self.last_throttle_s),
            "throttles": [
                {"resource": t.resource, "reason": t.reason, "count": _number(t.count)} for t in self.throttles
            ],
            "failures": [{"error": str(error), "count": _number(count)} for error, count in self.failures.items()],
            "consumed": {name: self._consumed(name) for name in self.resources},
            "partitions": {name: self._partitions(name) for name in self.resources},
            "capacity": {
                name: {str(d): _line(lane.capacity) for d, lane in record.lanes.items()}
                for name, record in self.resources.items()
            },
            "events": [
                {
                    "at_s": _number(e.at_s),
                    "resource": e.resource,
                    "action": e.action,
                    "detail": e.detail,
                    "outcome": e.outcome,
                    "done_s": _optional(e.done_s),
                    "error": e.error,
                }
                for e in self.recorder.events
            ],
            "hot_keys": [
                {
                    "resource": k.resource,
                    "key": k.key,
                    "sort_key": k.sort_key,
                    "share": _number(k.share),
                    "throttled": _number(k.throttled),
                    "partitions": k.partitions,
                }
                for k in self.hot_keys
            ],
            "traffic": {name: self._traffic(name) for name in self.traffic},
            "dax": self._dax(),
            "series": self._series(),
            "alarms": [
                {
                    "metric": report.alarm.metric,
                    "resource": report.resource,
                    "operation": None if report.alarm.operation is None else str(report.alarm.operation),
                    "state_changes": [[_number(at_s), str(state)] for at_s, state in report.state_changes],
                }
                for report in self.alarms
            ]
            + self._scaling_alarms(),
            "cost": self._cost(),
            "explanation": list(self.explanation),
        }

    def to_json(self, indent: int | None = None) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def to_pandas(self, what: str = "table") -> pd.DataFrame:
        """The result's series as a DataFrame with one row per period.

        Parameters
        ----------
        what : ``"table"``, ``"index/NAME"``, the name of an access pattern, or ``"partitions"`` (consumed units, one column per
            partition, reads and writes side by side).

        Raises
        ------
        KeyError
            There is no such series.
        """
        import pandas as pd

        index = pd.Index(self.period_starts_s, name="t_s")
        if what == "partitions":
            count = len(self.table.partitions)
            columns = {
                (str(d), number): lane.consumed_by_partition.of(count)[number]
                for d, lane in self.table.lanes.items()
                for number in range(count)
            }
            return pd.DataFrame(columns, index=index)
        series = self._series()
        if what in series and isinstance(series[what], dict) and what != "traffic":
            return pd.DataFrame(series[what], index=index)
        if what in series["traffic"]:
            return pd.DataFrame(series["traffic"][what], index=index)
        names = [*self.resources, *self.traffic, "partitions"]
        raise KeyError(f"no series {what!r}; there are: {', '.join(names)}")

    def _dax(self) -> dict[str, Any] | None:
        record = self.recorder.dax
        if record is None:
            return None
        hits = record.total("item_hits") + record.total("query_hits")
        return {
            "item_hit_fraction": _number(_share(record.total("item_hits"), record.total("item_reads"))),
            "query_hit_fraction": _number(_share(record.total("query_hits"), record.total("query_reads"))),
            "stale_fraction": _number(_share(record.total("stale_hits"), hits)),
            **{name: _number(record.total(name)) for name in record.COLUMNS},
            "background_reads": _number(sum(float(behind.attempts.sum()) for behind in self.background)),
            "background_throttle_events": _number(sum(float(b.throttle_events.sum()) for b in self.background)),
        }

    def _consumed(self, name: str) -> dict[str, Any]:
        lanes = self.resources[name].lanes
        return {
            **{f"{d}_units": _number(float(lanes[d].consumed_units.sum())) for d in Dimension},
            **{f"peak_{d}_per_s": _number(self.peak_per_s(name, d)) for d in Dimension},
        }

    def _partitions(self, name: str) -> dict[str, Any]:
        record = self.resources[name]
        splits = [{"at_s": _number(s.at_s), "partition": s.partition, "reason": str(s.reason)} for s in record.splits]
        return {
            "initial": record.initial_partitions,
            "final": record.partition_counts[-1][1],
            "splits": splits,
            "hottest_share": _number(self.hottest_share(name)),
        }

    def _traffic(self, name: str) -> dict[str, Any]:
        record, facts = self.traffic[name], self.facts[name]
        query = self.query_facts(name)
        offered, succeeded = float(record.offered.sum()), float(record.succeeded.sum())
        failed = sum(record.failures.values())
        return {
            "offered": _number(offered),
            "succeeded": _number(succeeded),
            "failed": _number(failed),
            "in_flight": _rest(offered - succeeded - failed),
            "attempts": _number(float(record.attempts.sum())),
            "throttled": _number(float(record.throttled.sum())),
            "throttle_events": _number(float(record.throttle_events.sum())),
            "finished_s": _optional(record.finished_s),
            "units_per_request": {
                resource: {str(d): _number(units) for d, units in by.items()}
                for resource, by in facts.units_per_request.items()
            },
            "query": None
            if query is None
            else {
                "pages_per_request": _number(query.pages_per_request),
                "scanned": _number(query.scanned),
                "returned": _number(query.returned),
                "empty_pages": _number(query.empty_pages),
                "filtered_units": _number(query.filtered_units),
                "units_p50": _optional(query.units_p50),
                "units_p99": _optional(query.units_p99),
            },
            "unprocessed": _number(record.unprocessed),
            "answered_by_cache": _number(float(record.spared.sum())),
            "limiter_wait_ms": _percentiles_ms(record.limiter_wait),
            "latency_ms": {
                **(_percentiles_ms(record.latency) or {"p50": None, "p99": None}),
                "max": _most_ms(record.latency),
            },
        }

    def _scaling_alarms(self) -> list[dict[str, Any]]:
        """Auto scaling's own alarms, with their names beside the metric that they look at."""
        return [
            {
                "metric": f"Consumed{d.capitalize()}CapacityUnits",
                "resource": resource,
                "name": alarm,
                "state_changes": [[_number(at_s), str(state)] for at_s, state in states],
            }
            for resource, record in self.resources.items()
            for d, lane in record.lanes.items()
            for alarm, states in lane.alarms.items()
        ]

    def _series(self) -> dict[str, Any]:
        series: dict[str, Any] = {"period_s": _number(self.grid.ticks_per_period * self.grid.tick_s)}
        series["t_s"] = _numbers(self.period_starts_s)
        for name, record in self.resources.items():
            rows: dict[str, Any] = {}
            for d, lane in record.lanes.items():
                rows[f"offered_{d}_units"] = _numbers(self.per_period(lane.offered_units))
                rows[f"consumed_{d}_units"] = _numbers(self.per_period(lane.consumed_units))
                rows[f"throttled_{d}s"] = _numbers(self.per_period(lane.throttle_events))
            for d, lane in record.lanes.items():
                rows[f"capacity_{d}"] = _numbers(self.at_period_ends(lane.capacity))
                rows[f"warm_{d}"] = _numbers(self.at_period_ends(lane.warm))
            counts = [(at, float(count)) for at, count in record.partition_counts]
            rows["partitions"] = _numbers(self.at_period_ends(counts))
            series[name] = rows
        series["traffic"] = {
            name: {
                column: _numbers(getattr(record, column))
                for column in ("offered", "succeeded", "attempts", "throttled", "throttle_events")
            }
            for name, record in self.traffic.items()
        }
        if (cache := self.recorder.dax) is not None:
            series["dax"] = {column: _numbers(getattr(cache, column)) for column in cache.COLUMNS}
        return series

    def _cost(self) -> dict[str, Any]:
        cost = self.bill
        return {
            "currency": cost.sheet.currency,
            "prices": self.scenario.prices,
            "table": _number(float(cost.table)),
            "indexes": _number(float(cost.indexes)),
            "storage": _number(float(cost.storage)),
            "dax": _number(float(cost.dax)),
            "streams": _number(float(cost.streams)),
            "once": _number(float(cost.once)),
            "total": _number(float(cost.total)),
            "per_month": {
                "as-run": _number(float(cost.per_month)),
                "provisioned": _number(float(cost.per_month_provisioned)),
                "on-demand": _number(float(cost.per_month_on_demand)),
            },
            "lines": [
                {
                    "resource": resource,
                    "item": str(line.item),
                    "quantity": _number(float(line.quantity)),
                    "unit": line.unit,
                    "price": round(float(line.price), 12),
                    "amount": _number(float(line.amount)),
                    "per_month": _number(float(line.per_month)),
                }
                for resource, line in cost.lines
            ],
        }


def _number(value: float) -> float | int:
    """A number for JSON: rounded to what the arithmetic carries, whole numbers as such."""
    rounded = round(float(value), _DIGITS)
    return int(rounded) if rounded.is_integer() else rounded


def _optional(value: float | None) -> float | int | None:
    return None if value is None else _number(value)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _numbers(values: Floats) -> list[float | int]:
    return [_number(value) for value in values.tolist()]


def _line(line: list[tuple[float, float]]) -> list[list[float | int]]:
    return [[_number(at), _number(value)] for at, value in line]


def _rest(value: float) -> float | int:
    """A difference that is 0 but for rounding, or a whole number of requests."""
    return _number(value) if abs(value) > 10**-_DIGITS * max(1.0, abs(value)) else 0


def _percentiles_ms(times: TimeHistogram | None) -> dict[str, float | int] | None:
    if times is None:
        return None
    return {f"p{percent}": _number(1000 * (times.percentile_s(percent / 100) or 0.0)) for percent in (50, 99)}


def _most_ms(times: TimeHistogram | None) -> float | int | None:
    return None if times is None or not times.count else _number(1000 * times.most_s)
