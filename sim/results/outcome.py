"""What came out of a run: the columns that were written, with scenario, seed and version, and the measures that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sim.keyspace.domain import Floats
from sim.names import PAGED_OPERATIONS, TABLE, Dimension, ErrorName, Limit, reason
from sim.pages import percentile
from sim.results.invoice import Invoice, invoice
from sim.results.prices import PriceSheet
from sim.results.recorder import LaneRecord, Recorder, ResourceRecord, TimeGrid, TrafficRecord
from sim.results.steps import values_at
from sim.results.usage import shard_seconds, usages, warm_bought
from sim.scenario import Scenario

HOT_KEYS_MAX = 20


def version() -> str:
    """Version of the installed distribution."""
    from importlib import metadata  # which imports a mail parser: not for whoever only imports sim

    try:
        return metadata.version("ddbsim")
    except metadata.PackageNotFoundError:
        return "0+unknown"


@dataclass(frozen=True)
class QueryFacts:
    """What one request of a Query or Scan examines and returns on average; units as percentiles over requests.

    Attributes
    ----------
    filtered_units : units of the items that the filter threw away.
    units_p50, units_p99 : None where they are not known.
    """

    pages_per_request: float
    scanned: float
    returned: float
    empty_pages: float
    filtered_units: float
    units_p50: float | None
    units_p99: float | None


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
class Outcome:
    """What a run found, as numbers; `sim.results.result.Result` says and shows it too.

    Attributes
    ----------
    scenario : what was run.
    recorder : the columns that were written, by resource and by access pattern.
    facts : per access pattern, what is known before it runs.
    stored_bytes : bytes per resource on average over the run, for the bill.
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

    @cached_property
    def traffic(self) -> Mapping[str, TrafficRecord]:
        """Records by access pattern; what a cache does of itself is none."""
        return {traffic.name: self.recorder.traffic[traffic.name] for traffic in self.scenario.traffic}

    @cached_property
    def background(self) -> tuple[TrafficRecord, ...]:
        """Records of what a cache asks of the table by itself (F-DAX-3)."""
        return tuple(record for name, record in self.recorder.traffic.items() if name not in self.traffic)

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
        return float(sum(self.failures.values()))

    @property
    def in_flight(self) -> float:
        """Requests that had no final answer when the run ended."""
        return self.offered - self.succeeded - self.failed

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
        # Shares are rounded before they are compared: their last digits hang on how the run was cut into stretches.
        return tuple(sorted(rows, key=lambda row: (-round(row.share, 9), row.resource, row.key))[:HOT_KEYS_MAX])

    def query_facts(self, name: str) -> QueryFacts | None:
        """What requests of a Query or Scan met: measured where the level follows them and some were served in full, else the law."""
        walks = self.traffic[name].walks
        if not walks.requests:
            return self.facts[name].query
        law = [(units, count / walks.requests) for units, count in sorted(walks.units.items())]
        return QueryFacts(
            walks.pages / walks.requests,
            walks.scanned / walks.requests,
            walks.returned / walks.requests,
            walks.empty_pages / walks.requests,
            walks.filtered_units / walks.requests,
            percentile(law, 0.5),
            percentile(law, 0.99),
        )

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
        return self.grid.per_second(per_tick)

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
        return values_at(line, ends)

    def first_attempt_fraction(self, resource: str, dimension: Dimension) -> float:
        """Share of the units asked that requests asked at their first attempts; the rest is retries. 1 where there were none."""
        first = again = 0.0
        for traffic in self.scenario.traffic:
            units = self.facts[traffic.name].units_per_request.get(resource, {}).get(dimension, 0.0)
            record = self.traffic[traffic.name]
            offered, attempts = float(record.came.sum()), float(record.attempts.sum())
            first += offered * units
            again += (0.0 if traffic.operation in PAGED_OPERATIONS else max(0.0, attempts - offered)) * units
        return _fraction(first, first + again) or 1.0

    @cached_property
    def bill(self) -> Invoice:
        """What the run costs, and kept up for a month as it was and in either mode."""
        return self._bill(None)

    @cached_property
    def bill_of_all(self) -> Invoice:
        """What it would cost to serve all that was offered, where every unit is paid on demand."""
        return self._bill(
            {
                name: {
                    d: max(
                        float(lane.consumed_units.sum()),
                        float(lane.offered_units.sum()) * self.first_attempt_fraction(name, d),
                    )
                    for d, lane in record.lanes.items()
                }
                for name, record in self.resources.items()
            }
        )

    def _bill(self, units: Mapping[str, Mapping[Dimension, float]] | None) -> Invoice:
        return invoice(
            self.scenario,
            self.sheet,
            usages(self.scenario, self.recorder, self.stored_bytes, units=units),
            warm_bought=warm_bought(self.scenario, self.recorder),
            shard_seconds=shard_seconds(self.grid, self.table),
        )

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What hangs over all numbers of the run."""
        return (*self.scenario.notes, *self.scenario.calibration.outside_plausible(), *self.recorder.warnings)


def _asked(record: ResourceRecord) -> float:
    """Units asked of a resource, reads and writes together."""
    lanes: Mapping[Dimension, LaneRecord] = record.lanes
    return float(sum(lane.offered_units.sum() for lane in lanes.values()))


def _fraction(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
