"""What limited a run: each resource and reason with its span, what was asked, what the limit gives, and where it was hottest.

Everything here is read off the recorder. Rates per partition are means of the result's periods; what a partition was asked for is what it
served plus its refused items at the lane's mean price, since refusals are counted in items. A key belongs to a bottleneck only by what it
asked for in the bottleneck's own dimension: a key that is only read has no part in throttled writes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sim.keyspace.domain import Floats, Ints
from sim.limits import BURST_WINDOW_S, CEILING_PER_S
from sim.names import PAGED_OPERATIONS, TABLE, Declined, Dimension, Limit, SplitReason
from sim.results.recorder import DeclinedSplit, KeyTally, LaneRecord, PartitionRecord, Split
from sim.results.steps import value_at
from sim.scenario.fields import ChoiceField, ClockField, CsvField
from sim.scenario.table import holders
from sim.scenario.templates import parse_template

if TYPE_CHECKING:
    from sim.results.outcome import Outcome, Throttle
    from sim.scenario import Scenario, Traffic

_MINUTE_S = 60.0
_RETRIES_MATTER_BELOW = 0.97  # share of first attempts under which units are counted without retries
_KNOWN_KEYS_MAX = 500  # named keys that are looked at
_CARRYING_FRACTION = 0.8  # keys are named where a few of them took this part of the refusals
_FEW_KEYS = 20


@dataclass(frozen=True)
class LoadedKey:
    """A key and what was asked of it in one dimension.

    Attributes
    ----------
    position : its place in the hash space.
    per_s : units per second asked of it in the periods with refusals, on average.
    peak_per_s : units per second that first attempts asked of it in its busiest period.
    refused_share : part of the resource's throttle events in this dimension.
    """

    name: str
    sort_key: str | None
    position: int
    per_s: float
    peak_per_s: float
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
    busiest_per_s : units per second asked in the busiest minute of the run, retries left out.
    first_fraction : share of the units asked that first attempts asked; the rest is retries.
    gives_per_s : units per second that the resource as a whole had to give when it first refused.
    partitions : how many served when it first refused.
    hottest : the partition asked for most among those that refused; None where none can be told.
    keys : the few keys that carry the refusals, heaviest first; empty where many share them.
    known : the keys with a name that asked for something in this dimension, most refused first.
    patterns : access patterns that were throttled in this dimension, most first; where keys carry the refusals, those that touch them.
    splits : splits for heat of partitions that refused in this dimension.
    declined : splits that were declined for the partitions that throttled or for these keys, because of a key of this dimension.
    """

    throttle: Throttle
    first_s: float
    end_s: float
    busy_fraction: float
    refused_fraction: float
    asked_per_s: float
    busiest_per_s: float
    first_fraction: float
    gives_per_s: float
    partitions: int
    hottest: HotPartition | None
    keys: tuple[LoadedKey, ...]
    known: tuple[LoadedKey, ...]
    patterns: tuple[str, ...]
    splits: tuple[Split, ...]
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
        """Why the service would not split the place of these keys, if it was asked to."""
        names = {key.name for key in self.keys}
        return next((row.why for row in self.declined if row.key in names), None)


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


def demand_peak_per_s(result: Outcome, resource: str, dimension: Dimension) -> float:
    """Units per second that first attempts asked for in the busiest minute: what would be asked if nothing were refused."""
    lane = result.resources[resource].lanes[dimension]
    if result.first_attempt_fraction(resource, dimension) > _RETRIES_MATTER_BELOW:
        return float(per_minute(result, lane.offered_units)[0].max())
    units = np.zeros(result.grid.periods)
    for traffic in result.scenario.traffic:
        units += result.traffic[traffic.name].came * _units_of(result, traffic, resource, dimension)
    edges_s = period_edges_s(result)
    starts = np.arange(0, len(units), max(1, round(_MINUTE_S / float(edges_s[1] - edges_s[0]))))
    seconds = np.diff(np.append(edges_s[starts], edges_s[-1]))
    return float((np.add.reduceat(units, starts) / seconds).max())


def key_rates(result: Outcome, resource: str, dimension: Dimension, tally: KeyTally, *, first: bool = False) -> Floats:
    """Units per second asked of a key in each period: its units, laid along the course of the patterns that touch it.

    Parameters
    ----------
    first : count first attempts only, no retries.
    """
    touching = [t for t in result.scenario.traffic if touches(result, t, resource, dimension, tally.key)]
    shape, attempts = np.zeros(result.grid.periods), 0.0
    for traffic in touching:
        record, units = result.traffic[traffic.name], _units_of(result, traffic, resource, dimension)
        once = first or traffic.operation in PAGED_OPERATIONS
        shape += units * (record.came if once else record.attempts)
        attempts += units * float((record.came if traffic.operation in PAGED_OPERATIONS else record.attempts).sum())
    if not attempts:
        shape = result.per_period(result.resources[resource].lanes[dimension].offered_units)
        attempts = float(shape.sum()) or 1.0
    return np.asarray(tally.units.get(dimension, 0.0) * shape / attempts / np.diff(period_edges_s(result)))


def touches(result: Outcome, traffic: Traffic, resource: str, dimension: Dimension, key: str) -> bool:
    """Whether an access pattern can ask for a key in a dimension, by its templates."""
    if _units_of(result, traffic, resource, dimension) <= 0 or traffic.partition is not None:
        return False
    if resource != TABLE:
        return True
    own = traffic.pk or result.scenario.table.pk
    templates = [action.pk or own for action in traffic.actions] if traffic.actions else [own]
    return any(_can_make(result.scenario, traffic, template, key) for template in templates)


def _can_make(scenario: Scenario, traffic: Traffic, template: str, key: str) -> bool:
    """Whether a template can make a key out of its fields, as far as that is told by the key's text alone."""
    parts = parse_template(template)
    pattern = "".join(
        re.escape(text) + ("" if field is None else f"({_shape(scenario, field)})") for text, field in parts
    )
    found = re.fullmatch(pattern, key, flags=re.DOTALL)
    if found is None:
        return False
    named = [field for _, field in parts if field is not None]
    listed = [
        (field, value) for field, value in zip(named, found.groups(), strict=True) if _values(scenario, traffic, field)
    ]
    # With several fields of free text a key can be read in more than one way, and one way is not asked for the others.
    return len(listed) != 1 or all(value in _values(scenario, traffic, field) for field, value in listed)


def _shape(scenario: Scenario, name: str) -> str:
    """A regular expression of the texts of a field."""
    return ".*" if isinstance(scenario.fields[name], ChoiceField | ClockField | CsvField) else r"\d+"


def _values(scenario: Scenario, traffic: Traffic, name: str) -> Collection[str]:
    """The values that a field has in a pattern, where they are listed; else nothing."""
    if name in traffic.where:
        return (str(traffic.where[name]),)
    field = scenario.fields[name]
    return field.weights if isinstance(field, ChoiceField) else ()


def _units_of(result: Outcome, traffic: Traffic, resource: str, dimension: Dimension) -> float:
    return result.facts[traffic.name].units_per_request.get(resource, {}).get(dimension, 0.0)


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
    refusing = set(np.flatnonzero(throttled).tolist())
    known = _known(result, throttle, np.flatnonzero(hit) + first // grid.ticks_per_period)
    keys = _carrying(known)
    names, here = {key.name for key in keys}, _keys_of(result, throttle)
    return Bottleneck(
        throttle=throttle,
        first_s=throttle.first_s,
        end_s=end_s,
        busy_fraction=float(hit.mean()),
        refused_fraction=refused / offered if offered else 0.0,
        asked_per_s=offered / seconds,
        busiest_per_s=demand_peak_per_s(result, throttle.resource, throttle.dimension),
        first_fraction=result.first_attempt_fraction(throttle.resource, throttle.dimension),
        gives_per_s=value_at(lane.capacity, throttle.first_s),
        partitions=value_at(record.partition_counts, throttle.first_s),
        hottest=_hottest(result, np.where(throttled[:, None], asked, 0.0)) if throttled.any() else None,
        keys=keys,
        known=known,
        patterns=_patterns(result, throttle, keys if throttle.limit is Limit.KEY_RANGE else ()),
        splits=tuple(s for s in record.splits if s.reason is SplitReason.HEAT and s.partition in refusing),
        declined=tuple(
            row
            for row in record.declined
            if (row.key is None or row.key in here) and (row.key in names or (not keys and row.partition in refusing))
        ),
    )


def burst_at_start(result: Outcome, resource: str, dimension: Dimension) -> float:
    """Burst credit at second 0, in units; an index has its own."""
    fraction = holders(result.scenario.table)[resource].burst_at_start
    return result.resources[resource].lanes[dimension].capacity[0][1] * max(1.0, fraction * BURST_WINDOW_S)


def _hottest(result: Outcome, rates: Floats) -> HotPartition:
    number, period = np.unravel_index(int(rates.argmax()), rates.shape)
    return HotPartition(int(number), float(result.period_starts_s[period]), float(rates[number, period]))


def _refused_price(lane: LaneRecord) -> float:
    """Mean units of a refused item."""
    events = float(lane.throttle_events.sum())
    return float(lane.offered_units.sum() - lane.consumed_units.sum()) / events if events else 0.0


def _keys_of(result: Outcome, throttle: Throttle) -> dict[str, KeyTally]:
    """The named keys that asked for something in the throttled dimension."""
    return {
        tally.key: tally
        for (resource, _), tally in result.recorder.keys.items()
        if resource == throttle.resource and tally.units.get(throttle.dimension, 0.0) > 0
    }


def _known(result: Outcome, throttle: Throttle, periods: Ints) -> tuple[LoadedKey, ...]:
    """The named keys of the dimension, most refused first."""
    refused = float(result.resources[throttle.resource].lanes[throttle.dimension].throttle_events.sum())
    tallies = sorted(
        _keys_of(result, throttle).values(),
        key=lambda t: (-t.events.get(throttle.dimension, 0.0), -t.units[throttle.dimension], t.key),
    )[:_KNOWN_KEYS_MAX]
    seconds = np.diff(period_edges_s(result))[periods]

    def loaded(tally: KeyTally) -> LoadedKey:
        rates = key_rates(result, throttle.resource, throttle.dimension, tally)
        first = key_rates(result, throttle.resource, throttle.dimension, tally, first=True)
        return LoadedKey(
            name=tally.key,
            sort_key=tally.sort_key,
            position=tally.position,
            per_s=float(np.average(rates[periods], weights=seconds)),
            peak_per_s=float(first.max()),
            refused_share=tally.events.get(throttle.dimension, 0.0) / refused if refused else 0.0,
        )

    return tuple(loaded(tally) for tally in tallies)


def _carrying(known: Sequence[LoadedKey]) -> tuple[LoadedKey, ...]:
    """The fewest keys that took most of the refusals of a resource in a dimension, if they are few."""
    heaviest = [key for key in known if key.refused_share > 0][:_FEW_KEYS]
    carried = np.cumsum([key.refused_share for key in heaviest])
    enough = np.flatnonzero(carried >= _CARRYING_FRACTION)
    if not len(enough):
        return ()
    # All of them, where the keys that were throttled can be counted on the fingers.
    hit = sum(key.refused_share > 0 for key in known)
    wanted = hit if hit <= _FEW_KEYS and carried[-1] >= 0.99 and not _one_carries(carried) else enough[0] + 1
    return tuple(heaviest[:wanted])


def _one_carries(carried: Floats) -> bool:
    return bool(carried[0] >= _CARRYING_FRACTION * carried[-1])


def _patterns(result: Outcome, throttle: Throttle, keys: Sequence[LoadedKey]) -> tuple[str, ...]:
    rows = [
        (float(result.traffic[t.name].throttle_events.sum()), t)
        for t in result.scenario.traffic
        if _units_of(result, t, throttle.resource, throttle.dimension) > 0
    ]
    hit = [(events, t) for events, t in sorted(rows, key=lambda row: (-row[0], row[1].name)) if events > 0]
    of_keys = [
        t.name for _, t in hit if any(touches(result, t, throttle.resource, throttle.dimension, k.name) for k in keys)
    ]
    return tuple(of_keys or [t.name for _, t in hit])


def resource_words(resource: str) -> str:
    """A resource in a sentence: ``the table``, ``the index NAME``."""
    return "the table" if resource == TABLE else f"the index {resource.removeprefix('index/')}"
