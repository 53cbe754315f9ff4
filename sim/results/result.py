"""The result of a run: what was recorded, with its scenario, seed and version, and the measures that follow from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.keyspace.domain import Floats
from sim.names import TABLE, Dimension, ErrorName, Limit, Mode, reason
from sim.results.cost import Bill, bill
from sim.results.prices import PriceSheet
from sim.results.recorder import LaneRecord, Recorder, ResourceRecord, TimeGrid, TrafficRecord
from sim.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

HOT_KEYS_MAX = 20
_DIGITS = 6  # of a number in the JSON; the arithmetic behind it is exact to about that


def version() -> str:
    """Version of the installed distribution."""
    try:
        return metadata.version("ddbsim")
    except metadata.PackageNotFoundError:
        return "0+unknown"


@dataclass(frozen=True)
class QueryFacts:
    """What one request of a Query or Scan examines and returns on average; units as percentiles over requests."""

    pages_per_request: float
    scanned: float
    returned: float
    empty_pages: float
    units_p50: float
    units_p99: float


@dataclass(frozen=True)
class PatternFacts:
    """What is known of an access pattern before it runs: units of one request served in full, per resource and dimension."""

    units_per_request: Mapping[str, Mapping[Dimension, float]]
    query: QueryFacts | None


@dataclass(frozen=True)
class Throttle:
    """One reason for refusals at one resource: how many throttle events, from when to when."""

    resource: str
    dimension: Dimension
    limit: Limit
    count: float
    first_s: float
    last_s: float

    @property
    def reason(self) -> str:
        """AWS's name of the reason."""
        return reason(self.resource, self.dimension, self.limit)


@dataclass(frozen=True)
class HotKey:
    """A named key's part in a resource's traffic."""

    resource: str
    key: str
    sort_key: str | None
    share: float
    throttled: float
    partitions: int


@dataclass(frozen=True)
class Result:
    """What a run found. Made by `sim.run`.

    Attributes
    ----------
    scenario : what was run.
    recorder : the columns that were written, by resource and by access pattern.
    facts : per access pattern, what is known before it runs.
    stored_bytes : bytes per resource at the start, for the bill.
    sheet : prices of the bill.
    """

    scenario: Scenario
    recorder: Recorder
    facts: Mapping[str, PatternFacts]
    sheet: PriceSheet
    stored_bytes: Mapping[str, float] = field(default_factory=dict)
    version: str = field(default_factory=version)

    # Records.

    @property
    def grid(self) -> TimeGrid:
        """Ticks and periods of the run."""
        return self.recorder.grid

    @property
    def resources(self) -> Mapping[str, ResourceRecord]:
        """Records by resource: ``"table"``, ``"index/NAME"``."""
        return self.recorder.resources

    @property
    def table(self) -> ResourceRecord:
        """Record of the base table."""
        return self.recorder.resources[TABLE]

    @property
    def traffic(self) -> Mapping[str, TrafficRecord]:
        """Records by access pattern."""
        return self.recorder.traffic

    # Measures.

    @cached_property
    def offered(self) -> float:
        """Requests that the application asked for."""
        return float(sum(t.offered.sum() for t in self.traffic.values()))

    @cached_property
    def succeeded(self) -> float:
        """Requests that were served."""
        return float(sum(t.succeeded.sum() for t in self.traffic.values()))

    @property
    def failed(self) -> float:
        """Requests that were given up."""
        return self.offered - self.succeeded

    @cached_property
    def attempts(self) -> float:
        """Attempts that reached the table."""
        return float(sum(t.attempts.sum() for t in self.traffic.values()))

    @cached_property
    def throttled(self) -> float:
        """Attempts of which nothing was served."""
        return float(sum(t.throttled.sum() for t in self.traffic.values()))

    @property
    def throttled_fraction(self) -> float:
        """Share of attempts that were throttled; 0 where there were none."""
        return _fraction(self.throttled, self.attempts)

    @property
    def failed_fraction(self) -> float:
        """Share of requests that failed; 0 where there were none."""
        return _fraction(self.failed, self.offered)

    @property
    def first_throttle_s(self) -> float | None:
        """Second of the first throttle event, or None."""
        return self.recorder.first_throttle_s

    @property
    def last_throttle_s(self) -> float | None:
        """Second of the last throttle event, or None."""
        return self.recorder.last_throttle_s

    @cached_property
    def throttles(self) -> tuple[Throttle, ...]:
        """Throttle events by resource and reason, most first."""
        rows = [
            Throttle(name, dimension, limit, float(series.sum()), lane.first_s[limit], lane.last_s[limit])
            for name, record in self.resources.items()
            for dimension, lane in record.lanes.items()
            for limit, series in lane.by_limit.items()
        ]
        return tuple(sorted(rows, key=lambda row: (-row.count, row.resource, row.reason)))

    @cached_property
    def failures(self) -> dict[ErrorName, float]:
        """Failed requests by the error that the caller saw, most first."""
        total: dict[ErrorName, float] = {}
        for record in self.traffic.values():
            for error, count in record.failures.items():
                total[error] = total.get(error, 0.0) + count
        return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))

    @cached_property
    def hot_keys(self) -> tuple[HotKey, ...]:
        """The keys that asked for most units, most first, at most 20."""
        offered = {name: _asked(record) for name, record in self.resources.items()}
        rows = [
            HotKey(name, t.key, t.sort_key, _fraction(t.offered_units, offered[name]), t.throttle_events, t.partitions)
            for (name, _), t in self.recorder.keys.items()
        ]
        return tuple(sorted(rows, key=lambda row: (-row.share, row.resource, row.key))[:HOT_KEYS_MAX])

    def hottest_share(self, resource: str = TABLE) -> float:
        """Largest part of a resource's consumed units (3 × write + read) that one partition took."""
        record = self.resources[resource]
        count = len(record.partitions)
        read = record.lanes[Dimension.READ].consumed_by_partition.of(count).sum(axis=1)
        write = record.lanes[Dimension.WRITE].consumed_by_partition.of(count).sum(axis=1)
        weighed = 3 * write + read
        total = float(weighed.sum())
        return float(weighed.max()) / total if total else 0.0

    def peak_per_s(self, resource: str, dimension: Dimension) -> float:
        """Most units consumed in one whole second."""
        return float(self.per_second(self.resources[resource].lanes[dimension].consumed_units).max(initial=0.0))

    def per_second(self, per_tick: Floats) -> Floats:
        """A per-tick series as units per second: whole seconds where a tick is shorter, else the tick's mean."""
        tick_s = self.grid.tick_s
        if tick_s >= 1:
            return np.asarray(per_tick / tick_s, dtype=np.float64)
        per = round(1 / tick_s)
        padded = np.concatenate([per_tick, np.zeros(-len(per_tick) % per)])
        return np.asarray(padded.reshape(-1, per).sum(axis=1), dtype=np.float64)

    def per_period(self, per_tick: Floats) -> Floats:
        """A per-tick series summed over the periods of the result."""
        starts = np.arange(0, len(per_tick), self.grid.ticks_per_period)
        return np.asarray(np.add.reduceat(per_tick, starts), dtype=np.float64)

    @cached_property
    def period_starts_s(self) -> Floats:
        """Second at which each period begins."""
        return np.arange(self.grid.periods, dtype=float) * (self.grid.ticks_per_period * self.grid.tick_s)

    def at_period_ends(self, line: list[tuple[float, float]]) -> Floats:
        """A value that holds from each change on, read at the end of every period."""
        ends = np.minimum(self.period_starts_s + self.grid.ticks_per_period * self.grid.tick_s, self.grid.duration_s)
        times = np.array([at for at, _ in line])
        values = np.array([value for _, value in line], dtype=float)
        return np.asarray(values[np.maximum(np.searchsorted(times, ends, side="right") - 1, 0)])

    @cached_property
    def bill(self) -> Bill:
        """What the table costs: for the run, and kept up for a month in either mode."""
        scenario, lanes = self.scenario, self.table.lanes
        return bill(
            sheet=self.sheet,
            table_class=scenario.table.table_class,
            mode=scenario.table.mode,
            read_units=float(lanes[Dimension.READ].consumed_units.sum()),
            write_units=float(lanes[Dimension.WRITE].consumed_units.sum()),
            capacity_read=lanes[Dimension.READ].capacity if scenario.table.mode is Mode.PROVISIONED else [(0.0, 0.0)],
            capacity_write=lanes[Dimension.WRITE].capacity if scenario.table.mode is Mode.PROVISIONED else [(0.0, 0.0)],
            duration_s=self.grid.duration_s,
            storage_bytes=self.stored_bytes.get(TABLE, 0.0),
            needed_read_per_s=self._needed_per_s(Dimension.READ),
            needed_write_per_s=self._needed_per_s(Dimension.WRITE),
            replicas=scenario.table.replicas,
            month_hours=scenario.cost.month_hours,
            free_tier=scenario.cost.free_tier,
            reserved_read=scenario.cost.reserved_read,
            reserved_write=scenario.cost.reserved_write,
        )

    def _needed_per_s(self, dimension: Dimension) -> int:
        """Capacity that would carry the busiest minute as it was offered."""
        per_second = self.per_second(self.table.lanes[dimension].offered_units)
        width = max(1, round(60 / max(self.grid.tick_s, 1.0)))
        starts = np.arange(0, len(per_second), width)
        means = np.add.reduceat(per_second, starts) / np.diff(np.append(starts, len(per_second)))
        return int(np.ceil(means.max(initial=0.0) - 1e-9))

    @cached_property
    def explanation(self) -> tuple[str, ...]:
        """Sentences: what limited what, from when to when, why nothing helped, and what would."""
        from sim.results.explain import explain

        return tuple(explain(self))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What hangs over all numbers of the run."""
        return (*self.scenario.notes, *self.scenario.calibration.outside_plausible(), *self.recorder.warnings)

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
                "in_flight": 0,
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
            "dax": None,
            "series": self._series(),
            "alarms": [],
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
        offered, succeeded = float(record.offered.sum()), float(record.succeeded.sum())
        query = facts.query
        return {
            "offered": _number(offered),
            "succeeded": _number(succeeded),
            "failed": _number(offered - succeeded),
            "in_flight": 0,
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
                "units_p50": _number(query.units_p50),
                "units_p99": _number(query.units_p99),
            },
            "unprocessed": _number(record.unprocessed),
            "limiter_wait_ms": None,
            "latency_ms": {"p50": None, "p99": None, "max": None},
        }

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
        return series

    def _cost(self) -> dict[str, Any]:
        cost = self.bill
        return {
            "currency": "USD",
            "prices": self.scenario.prices,
            "table": _number(float(cost.table)),
            "indexes": 0,
            "storage": _number(float(cost.storage)),
            "dax": 0,
            "total": _number(float(cost.total)),
            "per_month": {
                "provisioned": _number(float(cost.per_month_provisioned)),
                "on-demand": _number(float(cost.per_month_on_demand)),
            },
        }


def _asked(record: ResourceRecord) -> float:
    """Units asked of a resource, reads and writes together."""
    lanes: Mapping[Dimension, LaneRecord] = record.lanes
    return float(sum(lane.offered_units.sum() for lane in lanes.values()))


def _fraction(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _number(value: float) -> float | int:
    """A number for JSON: rounded to what the arithmetic carries, whole numbers as such."""
    rounded = round(float(value), _DIGITS)
    return int(rounded) if rounded.is_integer() else rounded


def _optional(value: float | None) -> float | int | None:
    return None if value is None else _number(value)


def _numbers(values: Floats) -> list[float | int]:
    return [_number(value) for value in values.tolist()]


def _line(line: list[tuple[float, float]]) -> list[list[float | int]]:
    return [[_number(at), _number(value)] for at, value in line]
