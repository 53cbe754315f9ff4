"""What limited a run: each resource and reason with its span, what was asked, what the limit gives, and where it was hottest.

Everything here is read off the recorder. Rates per partition are means of the result's periods; what a partition was asked for is what it
served plus its refused items at the lane's mean price, since refusals are counted in items.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sim.keyspace.domain import Floats
from sim.limits import BURST_WINDOW_S, CEILING_PER_S
from sim.names import TABLE, Declined, Dimension, Limit, index_resource
from sim.results.recorder import DeclinedSplit, KeyTally, LaneRecord, PartitionRecord

if TYPE_CHECKING:
    from sim.results.outcome import Outcome, Throttle


_MINUTE_S = 60.0
_CARRYING_FRACTION = 0.8  # keys are named where a few of them took this part of the refusals
_FEW_KEYS = 20


@dataclass(frozen=True)
class LoadedKey:
    """A key that carries refusals.

    Attributes
    ----------
    per_s : units per second asked of it while it was throttled, on average; None where the resource was both read and written,
        for keys are tallied in units of either kind.
    refused_share : part of the resource's throttle events.
    """

    name: str
    sort_key: str | None
    per_s: float | None
    refused_share: float


@dataclass(frozen=True)
class HotPartition:
    """The partition that was asked for most, and when.

    Attributes
    ----------
    per_s : units per second, the mean of the period that begins at ``at_s``.
    """

    number: int
    at_s: float
    per_s: float


@dataclass(frozen=True)
class Bottleneck:
    """One limit that refused attempts.

    Attributes
    ----------
    first_s, end_s : from the first tick with a refusal to the end of the last one.
    busy_fraction : share of the periods in between that saw a refusal.
    refused_fraction : refused by this limit, as a share of the units asked for in those periods.
    asked_per_s : units per second asked of the resource in those periods, on average.
    busiest_per_s : units per second asked in the busiest minute of the run.
    gives_per_s : units per second that the resource as a whole had to give when it first refused.
    partitions : how many served when it first refused.
    throttled_partitions : how many partitions refused something in the run.
    hottest : the partition asked for most among those that refused; None where none can be told.
    keys : the few keys that carry the refusals, heaviest first; empty where many share them.
    patterns : access patterns that were throttled in this dimension, most first.
    declined : splits that were declined for the partitions that throttled or for these keys.
    """

    throttle: Throttle
    first_s: float
    end_s: float
    busy_fraction: float
    refused_fraction: float
    asked_per_s: float
    busiest_per_s: float
    gives_per_s: float
    partitions: int
    throttled_partitions: int
    hottest: HotPartition | None
    keys: tuple[LoadedKey, ...]
    patterns: tuple[str, ...]
    declined: tuple[DeclinedSplit, ...]

    @property
    def resource(self) -> str:
        return self.throttle.resource

    @property
    def dimension(self) -> Dimension:
        return self.throttle.dimension

    @property
    def limit(self) -> Limit:
        return self.throttle.limit

    @property
    def ceiling_per_s(self) -> float:
        """What one partition gives."""
        return CEILING_PER_S[self.dimension]

    @property
    def why_not_split(self) -> Declined | None:
        """Why the service would not split the hot place, if it was asked to."""
        names = {key.name for key in self.keys}
        for row in self.declined:
            if row.key in names:
                return row.why
        return self.declined[0].why if self.declined and not self.keys else None


def bottlenecks(result: Outcome) -> tuple[Bottleneck, ...]:
    """The limits that refused attempts, most refusals first."""
    return tuple(_bottleneck(result, throttle) for throttle in result.throttles if throttle.count > 0)


def per_minute(result: Outcome, per_tick: Floats) -> tuple[Floats, Floats]:
    """A per-tick series as units per second of each minute (or tick, where that is longer), and the second at which each begins."""
    grid = result.grid
    width = max(1, round(_MINUTE_S / grid.tick_s))
    starts = np.arange(0, len(per_tick), width)
    edges_s = np.append(starts * grid.tick_s, grid.duration_s)
    return np.add.reduceat(per_tick, starts) / np.diff(edges_s), edges_s[:-1]


def period_edges_s(result: Outcome) -> Floats:
    """Where the periods of the result begin, and the end of the last one."""
    return np.append(result.period_starts_s, result.grid.duration_s)


def served_seconds(result: Outcome, partitions: Sequence[PartitionRecord]) -> Floats:
    """Seconds of each period in which each partition served: partitions × periods."""
    edges = period_edges_s(result)
    born = np.array([p.born_s for p in partitions])[:, None]
    retired = np.array([result.grid.duration_s if p.retired_s is None else p.retired_s for p in partitions])[:, None]
    lived = np.minimum(edges[None, 1:], retired) - np.maximum(edges[None, :-1], born)
    return np.asarray(np.maximum(lived, 0.0))


def partition_rates(result: Outcome, resource: str, dimension: Dimension, *, asked: bool = False) -> Floats:
    """Units per second that each partition served in each period (or was asked for): partitions × periods, 0 where it did not serve."""
    record = result.resources[resource]
    lane = record.lanes[dimension]
    amounts = lane.consumed_by_partition.of(len(record.partitions))
    if asked:
        amounts = amounts + lane.throttled_by_partition.of(len(record.partitions)) * _refused_price(lane)
    seconds = served_seconds(result, record.partitions)
    return np.divide(amounts, seconds, out=np.zeros_like(amounts), where=seconds > 0)


def busiest_partition(result: Outcome, resource: str, dimension: Dimension) -> HotPartition:
    """The partition that served most in one period."""
    return _hottest(result, partition_rates(result, resource, dimension))


def _bottleneck(result: Outcome, throttle: Throttle) -> Bottleneck:
    grid = result.grid
    record = result.resources[throttle.resource]
    lane = record.lanes[throttle.dimension]
    first, last = (round(at / grid.tick_s) for at in (throttle.first_s, throttle.last_s))
    end_s = min((last + 1) * grid.tick_s, grid.duration_s)
    hit = lane.by_limit[throttle.limit][first // grid.ticks_per_period : last // grid.ticks_per_period + 1] > 0
    # Ticks of the periods that saw a refusal: a lull between two of them is not part of what was asked.
    ticks = np.arange(first, last + 1)
    ticks = ticks[hit[ticks // grid.ticks_per_period - first // grid.ticks_per_period]]
    offered, consumed = float(lane.offered_units[ticks].sum()), float(lane.consumed_units[ticks].sum())
    events = float(lane.throttle_events[ticks].sum())
    refused = (offered - consumed) * throttle.count / events if events else 0.0
    seconds = len(ticks) * grid.tick_s - max(0.0, (last + 1) * grid.tick_s - grid.duration_s)
    asked = partition_rates(result, throttle.resource, throttle.dimension, asked=True)
    throttled = lane.throttled_by_partition.of(len(record.partitions)).sum(axis=1) > 0
    keys = _carrying(result, throttle, offered / seconds)
    names = {key.name for key in keys}
    return Bottleneck(
        throttle=throttle,
        first_s=throttle.first_s,
        end_s=end_s,
        busy_fraction=float(hit.mean()),
        refused_fraction=refused / offered if offered else 0.0,
        asked_per_s=offered / seconds,
        busiest_per_s=float(per_minute(result, lane.offered_units)[0].max()),
        gives_per_s=value_at(lane.capacity, throttle.first_s),
        partitions=int(value_at([(at, float(n)) for at, n in record.partition_counts], throttle.first_s)),
        throttled_partitions=int(throttled.sum()),
        hottest=_hottest(result, np.where(throttled[:, None], asked, 0.0)) if throttled.any() else None,
        keys=keys,
        patterns=_patterns(result, throttle),
        declined=tuple(
            row
            for row in record.declined
            if row.key in names or (not keys and row.partition < len(throttled) and throttled[row.partition])
        ),
    )


def value_at(line: Sequence[tuple[float, float]], at_s: float) -> float:
    """A value that holds from each change on, at one moment."""
    return line[max(0, bisect_right(line, at_s, key=lambda row: row[0]) - 1)][1]


def burst_at_start(result: Outcome, resource: str, dimension: Dimension) -> float:
    """Burst credit at second 0, in units; an index has its own."""
    table = result.scenario.table
    fraction = next((g.burst_at_start for g in table.gsi if index_resource(g.name) == resource), table.burst_at_start)
    return result.resources[resource].lanes[dimension].capacity[0][1] * max(1.0, fraction * BURST_WINDOW_S)


def _hottest(result: Outcome, rates: Floats) -> HotPartition:
    number, period = np.unravel_index(int(rates.argmax()), rates.shape)
    return HotPartition(int(number), float(result.period_starts_s[period]), float(rates[number, period]))


def _refused_price(lane: LaneRecord) -> float:
    """Mean units of a refused item."""
    events = float(lane.throttle_events.sum())
    return float(lane.offered_units.sum() - lane.consumed_units.sum()) / events if events else 0.0


def _carrying(result: Outcome, throttle: Throttle, asked_per_s: float) -> tuple[LoadedKey, ...]:
    """The fewest keys that took most of the resource's refusals, if they are few."""
    record = result.resources[throttle.resource]
    refused = sum(float(lane.throttle_events.sum()) for lane in record.lanes.values())
    tallies = [tally for (name, _), tally in result.recorder.keys.items() if name == throttle.resource]
    heaviest = sorted(tallies, key=lambda tally: (-tally.throttle_events, tally.key))[:_FEW_KEYS]
    carried = np.cumsum([tally.throttle_events for tally in heaviest])
    enough = np.flatnonzero(carried >= _CARRYING_FRACTION * refused)
    if not refused or not len(enough):
        return ()
    # All of them, where the keys that were throttled can be counted on the fingers.
    hit = sum(tally.throttle_events > 0 for tally in tallies)
    wanted = hit if hit <= _FEW_KEYS and carried[-1] >= 0.99 * refused and not _one_carries(carried) else enough[0] + 1
    asked = {d: float(lane.offered_units.sum()) for d, lane in record.lanes.items()}
    alone = all(units == 0 for d, units in asked.items() if d is not throttle.dimension)

    def rate(tally: KeyTally) -> float | None:
        return tally.offered_units / asked[throttle.dimension] * asked_per_s if alone else None

    return tuple(
        LoadedKey(tally.key, tally.sort_key, rate(tally), tally.throttle_events / refused)
        for tally in heaviest[:wanted]
    )


def _one_carries(carried: Floats) -> bool:
    return bool(carried[0] >= _CARRYING_FRACTION * carried[-1])


def _patterns(result: Outcome, throttle: Throttle) -> tuple[str, ...]:
    rows = [
        (float(record.throttle_events.sum()), name)
        for name, record in result.traffic.items()
        if result.facts[name].units_per_request.get(throttle.resource, {}).get(throttle.dimension, 0.0) > 0
    ]
    return tuple(name for events, name in sorted(rows, key=lambda row: (-row[0], row[1])) if events > 0)


def resource_words(resource: str) -> str:
    """A resource in a sentence: ``the table``, ``the index NAME``."""
    return "the table" if resource == TABLE else f"the index {resource.removeprefix('index/')}"
