"""What a run writes down while it goes: rows in, columns out. It knows nothing of how the numbers came about.

Table- and index-level series are kept per tick (48 bytes a tick and resource, 8 more for each limit that refuses), everything per partition
or per access pattern in bins of the scenario's ``period`` (up to 32 bytes per partition and bin): a day over 2,000 partitions takes some
100 MB at the most. What CloudWatch shows of a pattern is kept by UTC minute beside it, where the periods are not these minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np

from sim.keyspace.domain import Floats, Ints
from sim.keyspace.position import Position
from sim.limits import MINUTE_S
from sim.names import Declined, Dimension, ErrorName, Limit, Mode, SplitReason
from sim.results.latency import TimeHistogram

_ROUNDING = 1e-9  # of a minute


@dataclass(frozen=True)
class TimeGrid:
    """Ticks and periods of a run.

    Attributes
    ----------
    ticks : number of ticks; the last may be shorter than the others where ``duration_s`` is no multiple of ``tick_s``.
    ticks_per_period : ticks of one bin of the result's series.
    minute_offset_s : seconds of the first UTC minute that had passed at second 0, in [0, 60).
    minutes : UTC minutes that the run touches; the first and the last may be cut.
    """

    duration_s: float
    tick_s: float
    period_s: float
    minute_offset_s: float = 0.0

    @property
    def ticks(self) -> int:
        return max(1, int(np.ceil(self.duration_s / self.tick_s - 1e-9)))

    @property
    def ticks_per_period(self) -> int:
        return max(1, round(self.period_s / self.tick_s))

    @property
    def periods(self) -> int:
        return -(-self.ticks // self.ticks_per_period)

    @property
    def minutes(self) -> int:
        return int(self.minute_of(self.ticks - 1)) + 1

    @property
    def periods_are_minutes(self) -> bool:
        """Whether the result's periods are the UTC minutes, so that one series serves as both."""
        return self.ticks_per_period * self.tick_s == MINUTE_S and self.minute_offset_s == 0

    @property
    def minute_starts_s(self) -> Floats:
        """Second at which each UTC minute begins; the first may lie before second 0."""
        return np.arange(self.minutes, dtype=float) * MINUTE_S - self.minute_offset_s

    def minute_of(self, tick: int | Ints) -> Ints:
        """UTC minute, counted from the run's first, in which a tick begins; a tick that straddles two counts in the earlier."""
        # A tenth of a second times a number of ticks may fall just short of the minute that it is.
        return np.floor((np.asarray(tick) * self.tick_s + self.minute_offset_s) / MINUTE_S + _ROUNDING).astype(np.int64)

    @lru_cache(maxsize=4)  # noqa: B019 - as below
    def minute_edges(self, first: int, last: int) -> tuple[Ints, Ints]:
        """The minutes in which ticks [first, last) begin, and the offsets within them at which each of these minutes begins."""
        minutes, starts = np.unique(self.minute_of(np.arange(first, last)), return_index=True)
        return minutes, starts

    def by_minute(self, per_tick: Floats) -> Floats:
        """A per-tick series summed over UTC minutes."""
        minutes, starts = self.minute_edges(0, len(per_tick))
        sums = np.zeros(self.minutes)
        sums[minutes] = np.add.reduceat(per_tick, starts)
        return sums

    def per_second(self, per_tick: Floats) -> Floats:
        """A per-tick series as units per second: whole seconds where a tick is shorter, else the tick's mean."""
        if self.tick_s >= 1:
            widths = np.full(len(per_tick), self.tick_s)
            widths[-1] = self.duration_s - (len(per_tick) - 1) * self.tick_s  # the last tick may be shorter
            return np.asarray(per_tick / widths, dtype=np.float64)
        per = round(1 / self.tick_s)
        padded = np.concatenate([per_tick, np.zeros(-len(per_tick) % per)])
        return np.asarray(padded.reshape(-1, per).sum(axis=1), dtype=np.float64)

    @lru_cache(maxsize=4)  # noqa: B019 - a grid lives as long as its run; all columns of a stretch ask for the same edges
    def period_edges(self, first: int, last: int) -> tuple[int, Ints]:
        """First period that ticks [first, last) touch, and the offsets within them at which a period begins (the first is 0)."""
        width = self.ticks_per_period
        period = first // width
        starts = np.arange(period * width, last, width) - first
        starts[0] = 0
        return period, starts

    def add_to_periods(self, series: Floats, first: int, per_tick: Floats) -> None:
        """Add amounts per tick, from tick ``first`` on, to a series that has one value for each period."""
        period, starts = self.period_edges(first, first + len(per_tick))
        series[period : period + len(starts)] += np.add.reduceat(per_tick, starts)


@dataclass(frozen=True)
class Split:
    """One partition became two: ``at_s`` is when the halves began to serve, ``decided_s`` when it was decided."""

    at_s: float
    decided_s: float
    partition: int
    halves: tuple[int, int]
    reason: SplitReason
    cut: Position
    inside_collection: bool


@dataclass(frozen=True)
class EventRow:
    """One thing the control plane did or did not do.

    Attributes
    ----------
    at_s : when it was asked for.
    outcome : done, refused, or pending where the run ended first.
    done_s : when it took effect.
    error : AWS's name of the refusal.
    dimension : reads or writes, where it is a setting of one of them.
    before, after : the setting, units per second.
    """

    at_s: float
    resource: str
    action: str
    detail: str
    outcome: str
    done_s: float | None = None
    error: str | None = None
    dimension: Dimension | None = None
    before: float | None = None
    after: float | None = None


@dataclass(frozen=True)
class DeclinedSplit:
    """A split that would not have helped, and the key in the way where it has a name."""

    at_s: float
    resource: str
    partition: int
    why: Declined
    key: str | None


@dataclass
class PartitionRecord:
    """One partition's range and life, for pictures: ``low``, ``high`` as fractions of the hash space."""

    number: int
    parent: int | None
    born_s: float
    retired_s: float | None
    low: Position
    high: Position


class Binned:
    """Amounts per partition number and period, grown as partitions come."""

    def __init__(self, periods: int) -> None:
        self._periods = periods
        self.rows: Floats = np.zeros((0, periods))

    def add(self, numbers: Ints, first_period: int, amounts: Floats) -> None:
        """Add ``amounts`` (periods × partitions) from ``first_period`` on."""
        need = int(numbers.max()) + 1
        if need > len(self.rows):
            grown = np.zeros((max(need, 2 * len(self.rows), 8), self._periods))
            grown[: len(self.rows)] = self.rows
            self.rows = grown
        self.rows[numbers, first_period : first_period + len(amounts)] += amounts.T

    def of(self, count: int) -> Floats:
        """The first ``count`` partitions' rows."""
        if len(self.rows) >= count:
            return self.rows[:count]
        padded = np.zeros((count, self._periods))
        padded[: len(self.rows)] = self.rows
        return padded


@dataclass(frozen=True)
class Levels:
    """Tokens in the buckets of one limit at one time.

    Attributes
    ----------
    numbers : partitions whose buckets they are, in the order of the hash space; None: the resource has one bucket.
    tokens, depth : units, one for each bucket; tokens below 0 are a debt.
    """

    at_s: float
    numbers: Ints | None
    tokens: Floats
    depth: Floats


class LaneRecord:
    """Reads, or writes, of one resource.

    Attributes
    ----------
    offered_units, consumed_units, throttle_events : per tick.
    by_limit : throttle events per limit and period; ``events_by_limit`` the same per tick, of limits that refused anything at all.
    first_s, last_s : first and last tick with a refusal, per limit.
    consumed_by_partition, throttled_by_partition : units and throttle events per partition and period.
    capacity, warm : (second, units per second) whenever the value changed.
    levels : what was in the buckets of each limit, looked at now and then (`sim.control.gauges`).
    alarms : states of auto scaling's own alarms by name: (second, state) whenever it changed.
    """

    def __init__(self, grid: TimeGrid) -> None:
        self._grid = grid
        self.offered_units = np.zeros(grid.ticks)
        self.consumed_units = np.zeros(grid.ticks)
        self.throttle_events = np.zeros(grid.ticks)
        self.by_limit: dict[Limit, Floats] = {}
        self.events_by_limit: dict[Limit, Floats] = {}
        self.first_s: dict[Limit, float] = {}
        self.last_s: dict[Limit, float] = {}
        self.consumed_by_partition = Binned(grid.periods)
        self.throttled_by_partition = Binned(grid.periods)
        self.capacity: list[tuple[float, float]] = []
        self.warm: list[tuple[float, float]] = []
        self.levels: dict[Limit, list[Levels]] = {}
        self.alarms: dict[str, list[tuple[float, str]]] = {}

    def level_of(self, limit: Limit, partition: int | None = None) -> tuple[Floats, Floats, Floats]:
        """Seconds, tokens and depth of one bucket at the times at which it was looked at: the resource's own, or a partition's."""
        rows = []
        for levels in self.levels.get(limit, ()):
            if levels.numbers is None:
                rows.append((levels.at_s, levels.tokens[0], levels.depth[0]))
            else:
                rows += [
                    (levels.at_s, levels.tokens[k], levels.depth[k])
                    for k in np.flatnonzero(levels.numbers == partition)
                ]
        seconds, tokens, depth = np.array(rows, dtype=float).reshape(-1, 3).T
        return seconds, tokens, depth

    def add_units(self, first: int, offered: Floats, consumed: Floats) -> None:
        """Units per tick from tick ``first`` on."""
        self.offered_units[first : first + len(offered)] += offered
        self.consumed_units[first : first + len(consumed)] += consumed

    def add_partitions(
        self, first: int, ticks: int, numbers: Ints, by_column: Floats, consumed: Callable[[], Floats]
    ) -> None:
        """Consumed units of some ticks: ``by_column`` are their sums, ``consumed`` makes ticks × partitions where periods divide them."""
        period, starts = self._grid.period_edges(first, first + ticks)
        sums = by_column[None, :] if len(starts) == 1 else np.add.reduceat(consumed(), starts, axis=0)
        self.consumed_by_partition.add(numbers, period, sums)

    def add_throttles(self, first: int, numbers: Ints, limit: Limit, events: Floats) -> tuple[float, float] | None:
        """Throttle events of one limit, ticks × partitions, from tick ``first`` on; returns the seconds of the first and last of them."""
        per_tick = events.sum(axis=1)
        hit = per_tick.nonzero()[0]
        if not len(hit):
            return None
        self.throttle_events[first : first + len(events)] += per_tick
        period, starts = self._grid.period_edges(first, first + len(events))
        self._grid.add_to_periods(self.by_limit.setdefault(limit, np.zeros(self._grid.periods)), first, per_tick)
        if limit not in self.events_by_limit:
            self.events_by_limit[limit] = np.zeros(self._grid.ticks)
        self.events_by_limit[limit][first : first + len(events)] += per_tick
        first_s, last_s = ((first + int(tick)) * self._grid.tick_s for tick in (hit[0], hit[-1]))
        self.first_s[limit] = min(first_s, self.first_s.get(limit, first_s))
        self.last_s[limit] = max(last_s, self.last_s.get(limit, last_s))
        self.throttled_by_partition.add(numbers, period, np.add.reduceat(events, starts, axis=0))
        return first_s, last_s


class ResourceRecord:
    """One table or index.

    Attributes
    ----------
    modes : (second, capacity mode) whenever it changed, the first at second 0.
    """

    def __init__(self, grid: TimeGrid) -> None:
        self.lanes = {dimension: LaneRecord(grid) for dimension in Dimension}
        self.splits: list[Split] = []
        self.declined: list[DeclinedSplit] = []
        self.initial_partitions = 0
        self.partitions: list[PartitionRecord] = []
        self.partition_counts: list[tuple[float, int]] = []
        self.modes: list[tuple[float, Mode]] = []


@dataclass
class KeyTally:
    """What one named key of a resource asked for and was refused.

    Attributes
    ----------
    units, events : units asked and throttle events, per dimension.
    refused : units of what was refused, per dimension.
    """

    key: str
    sort_key: str | None
    position: int
    units: dict[Dimension, float] = field(default_factory=dict)
    events: dict[Dimension, float] = field(default_factory=dict)
    refused: dict[Dimension, float] = field(default_factory=dict)
    partitions: int = 1

    @property
    def offered_units(self) -> float:
        """Units asked, reads and writes together."""
        return sum(self.units.values())

    @property
    def throttle_events(self) -> float:
        """Throttle events, reads and writes together."""
        return sum(self.events.values())

    def consumed_units(self, dimension: Dimension) -> float:
        """Units that the key was given, reads or writes."""
        return max(0.0, self.units.get(dimension, 0.0) - self.refused.get(dimension, 0.0))

    def add(self, dimension: Dimension, units: float, events: float, refused: float) -> None:
        """Add what the key asked for and was refused: units, throttle events, and the units of these."""
        self.units[dimension] = self.units.get(dimension, 0.0) + units
        self.events[dimension] = self.events.get(dimension, 0.0) + events
        self.refused[dimension] = self.refused.get(dimension, 0.0) + refused


class MinuteTimes:
    """Durations in seconds by UTC minute, as CloudWatch keeps them: how many, their sum, the least and the greatest."""

    def __init__(self, minutes: int) -> None:
        self.count: Floats = np.zeros(minutes)
        self.sum_s: Floats = np.zeros(minutes)
        self.least_s: Floats = np.full(minutes, np.inf)
        self.most_s: Floats = np.zeros(minutes)

    def add(self, minutes: Ints, seconds: Floats) -> None:
        """Add many durations, each in its minute."""
        np.add.at(self.count, minutes, 1.0)
        np.add.at(self.sum_s, minutes, seconds)
        np.minimum.at(self.least_s, minutes, seconds)
        np.maximum.at(self.most_s, minutes, seconds)


_KEPT_BY_MINUTE = ("offered", "throttled", "unmet")


class Walked(Protocol):
    """One request of Query or Scan that was served in full."""

    pages: int
    scanned: int
    returned: int
    empty_pages: int
    units: float
    filtered_units: float


@dataclass
class WalkTally:
    """What requests of Query or Scan met that walked from page to page and were served in full: sums, and the law of their units."""

    requests: int = 0
    pages: int = 0
    scanned: int = 0
    returned: int = 0
    empty_pages: int = 0
    filtered_units: float = 0.0
    units: dict[float, int] = field(default_factory=dict)

    def add(self, walked: Walked) -> None:
        """Count one request."""
        self.requests += 1
        self.pages += walked.pages
        self.scanned += walked.scanned
        self.returned += walked.returned
        self.empty_pages += walked.empty_pages
        self.filtered_units += walked.filtered_units
        self.units[walked.units] = self.units.get(walked.units, 0) + 1


@dataclass
class TrafficRecord:
    """One access pattern: per period what it offered and what became of it.

    Attributes
    ----------
    unmet : served attempts whose condition was false.
    answered : latencies of attempts that were served, by UTC minute; empty where the level cannot know.
    latency : seconds from the first attempt to the final answer; None where the level cannot know.
    limiter_wait : seconds that attempts waited in the client's own limiter; None where there is none.
    walks : what walks from page to page met, where the level follows single requests.
    spared : requests that a cache answered whole, or turned away, so that nothing of them came to the table.
    """

    grid: TimeGrid
    offered: Floats = field(init=False)
    succeeded: Floats = field(init=False)
    attempts: Floats = field(init=False)
    throttled: Floats = field(init=False)
    throttle_events: Floats = field(init=False)
    spared: Floats = field(init=False)
    failures: dict[ErrorName, float] = field(default_factory=dict)
    unprocessed: float = 0.0
    finished_s: float | None = None
    latency: TimeHistogram | None = None
    limiter_wait: TimeHistogram | None = None
    walks: WalkTally = field(default_factory=WalkTally)
    unmet: Floats = field(init=False)
    answered: MinuteTimes = field(init=False)
    _minutes: dict[str, Floats] = field(init=False)

    def __post_init__(self) -> None:
        for name in ("offered", "succeeded", "attempts", "throttled", "throttle_events", "unmet", "spared"):
            setattr(self, name, np.zeros(self.grid.periods))
        self.answered = MinuteTimes(self.grid.minutes)
        kept = () if self.grid.periods_are_minutes else _KEPT_BY_MINUTE
        self._minutes = {name: np.zeros(self.grid.minutes) for name in kept}

    def by_minute(self, column: str) -> Floats:
        """``"offered"``, ``"throttled"`` or ``"unmet"`` per UTC minute."""
        series: Floats = self._minutes[column] if self._minutes else getattr(self, column)
        return series

    def add(self, first: int, **rows: Floats) -> None:
        """Add rows per tick, by the names of the columns, from tick ``first`` on."""
        for name, amounts in rows.items():
            self.grid.add_to_periods(getattr(self, name), first, amounts)
            if name in self._minutes:
                self._add_minutes(name, first, amounts)

    def add_served(self, first: int, requests: Floats) -> None:
        """Add requests per tick that were all served at the first attempt."""
        period, starts = self.grid.period_edges(first, first + len(requests))
        sums = np.add.reduceat(requests, starts)
        for column in (self.offered, self.succeeded, self.attempts):
            column[period : period + len(starts)] += sums
        if self._minutes:
            self._add_minutes("offered", first, requests)

    def _add_minutes(self, name: str, first: int, amounts: Floats) -> None:
        minutes, starts = self.grid.minute_edges(first, first + len(amounts))
        self._minutes[name][minutes] += np.add.reduceat(amounts, starts)

    @property
    def came(self) -> Floats:
        """Requests per period of which something came to the table, or was meant to."""
        return np.maximum(self.offered - self.spared, 0.0)

    def fail(self, error: ErrorName, count: float) -> None:
        """Count requests that ended in an error."""
        if count > 0:
            self.failures[error] = self.failures.get(error, 0.0) + count


@dataclass
class CacheRecord:
    """A DAX cluster, per period.

    Attributes
    ----------
    requests : requests that went through the cluster.
    item_reads, item_hits : items asked of the item cache, and those that it had.
    query_reads, query_hits : Queries and Scans asked of the query cache, and those that it had the answer of.
    stale_hits : hits, of both, on what had been written since it was fetched.
    passed_through : read requests that no cache answers: strongly consistent and transactional ones.
    refused : requests that the nodes had no room for.
    """

    grid: TimeGrid
    requests: Floats = field(init=False)
    item_reads: Floats = field(init=False)
    item_hits: Floats = field(init=False)
    query_reads: Floats = field(init=False)
    query_hits: Floats = field(init=False)
    stale_hits: Floats = field(init=False)
    passed_through: Floats = field(init=False)
    refused: Floats = field(init=False)

    COLUMNS = (
        "requests",
        "item_reads",
        "item_hits",
        "query_reads",
        "query_hits",
        "stale_hits",
        "passed_through",
        "refused",
    )

    def __post_init__(self) -> None:
        for name in self.COLUMNS:
            setattr(self, name, np.zeros(self.grid.periods))

    def add(self, first: int, **rows: Floats) -> None:
        """Add rows per tick, by the names of the columns, from tick ``first`` on."""
        for name, amounts in rows.items():
            self.grid.add_to_periods(getattr(self, name), first, amounts)

    def total(self, name: str) -> float:
        """Sum of a column over the run."""
        return float(getattr(self, name).sum())


class Recorder:
    """All records of one run, by resource and by access pattern."""

    def __init__(self, grid: TimeGrid, resources: Sequence[str], traffic: Sequence[str]) -> None:
        self.grid = grid
        self.resources: Mapping[str, ResourceRecord] = {name: ResourceRecord(grid) for name in resources}
        self.traffic: Mapping[str, TrafficRecord] = {name: TrafficRecord(grid) for name in traffic}
        self.dax: CacheRecord | None = None
        self.events: list[EventRow] = []
        self.keys: dict[tuple[str, int], KeyTally] = {}
        self.warnings: list[str] = []
        self.first_throttle_s: float | None = None
        self.last_throttle_s: float | None = None

    def note_throttle(self, first_s: float, last_s: float) -> None:
        """Widen the span in which attempts were throttled."""
        self.first_throttle_s = first_s if self.first_throttle_s is None else min(self.first_throttle_s, first_s)
        self.last_throttle_s = last_s if self.last_throttle_s is None else max(self.last_throttle_s, last_s)

    def warn(self, sentence: str) -> None:
        """Say something that hangs over all numbers of the run; each sentence once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)
