"""The flow level: traffic as counts per tick, never as requests. Cost grows with ticks × partitions, not with the rate or the keys.

Poisson traffic that is divided over partitions is Poisson in each of them, so a stretch between two control events is one draw of shape
ticks × partitions for each leg. What is drawn row by row comes out the same however a run is cut into stretches, and the units are whole
grains (`sim.partitions.bucket`), so a run gives the same bytes at any stretch height.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sim.keyspace.building import KeySpace
from sim.keyspace.domain import Floats, Ints
from sim.keyspace.position import TOP, KeyRange, Position
from sim.keyspace.spread import Spread, even
from sim.levels.arrivals import DAY_S, even_counts, integral_of
from sim.levels.demand import Demand, Joint, Leg
from sim.levels.randomness import generator
from sim.names import Arrivals, Dimension, ErrorName, Limit, throttling_error
from sim.partitions.bucket import floor_grains
from sim.partitions.lane import Demand as LaneDemand
from sim.partitions.lane import Lane, Verdict
from sim.partitions.resource import Resource
from sim.results.recorder import KeyTally, LaneRecord, Recorder
from sim.scenario import Scenario

STRETCH_TICKS = 256  # rows drawn at a time: arrays that stay in the processor's cache
_LARGE_ITEM_FRACTION = 0.1  # an attempt over this part of a bucket makes counts per tick a rough picture
_JOINT_ROUNDS_MAX = 60
_JOINT_PRECISION = 1e-7


@dataclass
class _Flow:
    """One leg in motion: where it lies now, and what its named keys have met."""

    leg: Leg
    draws: np.random.Generator
    spread: Spread
    units: float
    ceiling_ratio: float
    shares: Floats = field(default_factory=lambda: np.empty(0))
    version: int = -1
    key_columns: tuple[Ints, Ints, Floats] | None = None  # key, column, and the key's part of the column's share
    key_offered: Floats = field(default_factory=lambda: np.empty(0))
    key_events: Floats = field(default_factory=lambda: np.empty(0))


@dataclass
class _Pattern:
    """One access pattern in motion."""

    demand: Demand
    flows: list[_Flow]
    draws: np.random.Generator
    offered: float = 0.0


@dataclass(frozen=True)
class _Fate:
    """What became of one leg's items over a stretch.

    Attributes
    ----------
    refused : items refused, per tick.
    admitted : share of the leg's items that were admitted, per tick (1 where there were none).
    nothing : requests of which every item was refused, per tick (batches).
    """

    refused: Floats
    admitted: Floats
    nothing: Floats


class FlowLevel:
    """Moves all traffic of a scenario through one table. Its one verb is `advance`."""

    def __init__(
        self,
        scenario: Scenario,
        demands: Sequence[Demand],
        resource: Resource,
        keyspace: KeySpace,
        recorder: Recorder,
        key_names: dict[int, str],
        *,
        stretch_ticks: int = STRETCH_TICKS,
    ) -> None:
        self._scenario = scenario
        self._resource = resource
        self._keyspace = keyspace
        self._recorder = recorder
        self._key_names = key_names
        self._grid = recorder.grid
        self._stretch_ticks = stretch_ticks
        start = scenario.start
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
        self._day_offset_s = (start - midnight).total_seconds() % DAY_S
        self._patterns = [self._set_out(demand) for demand in demands]
        self._integrals = [integral_of(d.traffic, self._day_offset_s, scenario.duration) for d in demands]
        self._warn_of_large_items()

    def _set_out(self, demand: Demand) -> _Pattern:
        seed, name = self._scenario.seed, demand.traffic.name
        factor = self._resource.calibration.eventual_read_ceiling_factor
        flows = []
        for leg in demand.legs:
            ratio = 1.0 / factor if leg.eventual else 1.0
            flows.append(
                _Flow(
                    leg, generator(seed, name, leg.name, "places"), self._spread_of(demand, leg, 0.0), leg.units, ratio
                )
            )
        return _Pattern(demand, flows, generator(seed, name, "counts"))

    def _spread_of(self, demand: Demand, leg: Leg, at_s: float) -> Spread:
        fixed = demand.traffic.partition
        if fixed is not None:
            whole = self._resource.partitions.lives[fixed].range
            return even(whole.low.hash, whole.high.hash)
        if leg.spec is None:
            return even()
        spread = self._keyspace.spread(leg.spec, at_s)
        self._key_names.update((key.position, key.text) for key in spread.named)
        if spread.background > 0 and spread.error > 0:
            self._recorder.warn(
                f"{leg.spec.pk} has more keys than are listed one by one: {len(spread.positions):,} carry {1 - spread.background:.1%} of "
                f"{demand.traffic.name}, the rest lies evenly; a large range's share is right to about {spread.error:.1g}"
            )
        return spread

    def _warn_of_large_items(self) -> None:
        for pattern in self._patterns:
            for flow in pattern.flows:
                lane = self._resource.lanes[flow.leg.dimension]
                depth = min(float(gate.buckets.depth.min()) for gate in [*lane.columns, *lane.totals])
                if flow.units > _LARGE_ITEM_FRACTION * depth:
                    self._recorder.warn(
                        f"{pattern.demand.traffic.name}: one attempt costs {flow.units:g} units, over a tenth of a bucket of {depth:g}; "
                        "counts per tick are a rough picture of so few and large items, the request level is the exact one"
                    )

    # What the control plane asks.

    def roll_over(self, now_s: float) -> None:
        """Lay the traffic anew where a clock field has taken another value."""
        for pattern in self._patterns:
            for flow in pattern.flows:
                spread = self._spread_of(pattern.demand, flow.leg, now_s)
                if spread is not flow.spread:
                    self._flush_keys(flow)
                    flow.spread = spread
                    flow.version = -1

    def finish(self) -> None:
        """Hand the last tallies to the recorder."""
        for pattern in self._patterns:
            for flow in pattern.flows:
                self._flush_keys(flow)

    def advance(self, first: int, last: int) -> None:
        """Run ticks [first, last). Nothing that is scheduled lies inside them."""
        whole = int(self._grid.duration_s / self._grid.tick_s + 1e-9)  # a last, shorter tick stands alone
        tick = first
        while tick < last:
            end = min(tick + self._stretch_ticks, last, whole if tick < whole else last)
            self._stretch(tick, end)
            tick = end

    # One stretch.

    def _stretch(self, first: int, last: int) -> None:
        edges_s = np.minimum(np.arange(first, last + 1) * self._grid.tick_s, self._grid.duration_s)
        tick_s = self._grid.tick_s if last - first > 1 else float(edges_s[1] - edges_s[0])
        drawn: list[tuple[_Pattern, Floats, list[Floats]]] = []
        for pattern, integral in zip(self._patterns, self._integrals, strict=True):
            requests, counts = self._draw(pattern, integral(edges_s))
            if requests is not None:
                drawn.append((pattern, requests, counts))
        fates: dict[int, _Fate] = {}
        for dimension in Dimension:
            moving = [
                (flow, counts[k], pattern)
                for pattern, _, counts in drawn
                if not pattern.demand.invalid
                for k, flow in enumerate(pattern.flows)
                if flow.leg.dimension is dimension
            ]
            if moving:
                self._settle(dimension, moving, first, tick_s, fates)
        for pattern, requests, _ in drawn:
            self._account(pattern, requests, first, fates)

    def _draw(self, pattern: _Pattern, cumulative: Floats) -> tuple[Floats | None, list[Floats]]:
        """Requests per tick, and items per tick and partition of each leg; (None, []) when nobody comes."""
        demand = pattern.demand
        expected = np.maximum(np.diff(cumulative), 0.0)
        if not expected.any():
            return None, []
        for flow in pattern.flows:
            self._place(flow)
        poisson = demand.traffic.arrivals is Arrivals.POISSON
        if poisson and demand.joint is Joint.ONE_OF:
            counts = [
                flow.draws.poisson(expected[:, None] * (flow.leg.fraction * flow.shares)).astype(float)
                for flow in pattern.flows
            ]
            requests = np.sum([c.sum(axis=1) for c in counts], axis=0)
        else:
            whole = pattern.draws.poisson(expected) if poisson else even_counts(cumulative).astype(np.int64)
            requests = whole.astype(float)
            counts = self._divide(pattern, whole)
        requests, counts = self._stop_at_count(pattern, requests, counts)
        pattern.offered += float(requests.sum())
        return requests, counts

    def _divide(self, pattern: _Pattern, requests: Ints) -> list[Floats]:
        """Whole requests per tick, dealt out to the partitions."""
        flows = pattern.flows
        if pattern.demand.joint is Joint.ONE_OF:
            cells = np.concatenate([flow.leg.fraction * flow.shares for flow in flows])
            dealt = flows[0].draws.multinomial(requests, cells / cells.sum()).astype(float)
            return list(np.split(dealt, len(flows), axis=1))
        if pattern.demand.joint is Joint.EACH and len(flows) > 1:  # a batch whose items may be missing
            items = flows[0].leg.items
            cells = np.concatenate([flow.leg.fraction * flow.shares for flow in flows])
            dealt = flows[0].draws.multinomial(requests * items, cells / cells.sum()).astype(float)
            return list(np.split(dealt, len(flows), axis=1))
        counts = []
        for flow in flows:
            share = flow.shares / flow.shares.sum()
            if flow.leg.together:
                counts.append(flow.draws.multinomial(requests, share).astype(float) * flow.leg.items)
            else:
                counts.append(flow.draws.multinomial(requests * flow.leg.items, share).astype(float))
        return counts

    def _stop_at_count(self, pattern: _Pattern, requests: Floats, counts: list[Floats]) -> tuple[Floats, list[Floats]]:
        """A finite job ends with its last request."""
        limit = pattern.demand.traffic.count
        if limit is None:
            return requests, counts
        before = pattern.offered + np.concatenate(([0.0], np.cumsum(requests)[:-1]))
        kept = np.clip(limit - before, 0.0, requests)
        share = np.divide(kept, requests, out=np.zeros_like(kept), where=requests > 0)
        return kept, [count * share[:, None] for count in counts]

    def _place(self, flow: _Flow) -> None:
        """Make the flow's shares anew after a split or a rollover."""
        resource = self._resource
        if flow.version == resource.version:
            return
        flow.version = resource.version
        cuts = resource.partitions.cuts
        flow.shares = flow.spread.shares_of(cuts)
        flow.key_columns = _key_columns(flow.spread, cuts, flow.shares)
        if len(flow.key_offered) != len(flow.spread.named):
            flow.key_offered = np.zeros(len(flow.spread.named))
            flow.key_events = np.zeros(len(flow.spread.named))

    # One lane.

    def _settle(
        self,
        dimension: Dimension,
        moving: list[tuple[_Flow, Floats, _Pattern]],
        first: int,
        tick_s: float,
        fates: dict[int, _Fate],
    ) -> None:
        resource, lane = self._resource, self._resource.lanes[dimension]
        record = self._recorder.resources[resource.name].lanes[dimension]
        numbers = resource.partitions.serving
        largest = lane.largest_cost(tick_s)
        fitting = [(flow, counts, pattern) for flow, counts, pattern in moving if flow.units <= largest]
        units = _sum([counts * flow.units for flow, counts, _ in fitting], moving[0][1].shape)
        demand = LaneDemand(units, self._ceiling_ratio(fitting, units), self._quantum(fitting, units.shape[1]))
        joint = [m for m in fitting if m[2].demand.joint is Joint.ALL]
        effective = None
        if joint and not lane.serves_all(demand, tick_s):
            verdict, effective = self._settle_jointly(lane, fitting, tick_s)
        else:
            verdict = lane.settle(demand, tick_s)
        served = units
        if verdict is not None:
            asked = units if effective is None else effective
            served = units.copy()
            served[:, verdict.columns] = verdict.served
            shares = {
                limit: np.divide(amount, at, out=np.zeros_like(amount), where=at > 0)
                for limit, amount in verdict.refused.items()
                for at in [asked[:, verdict.columns]]
            }
        offered = units
        blocked = [(flow, counts) for flow, counts, _ in moving if flow.units > largest]
        if blocked:
            offered = units + _sum([counts * flow.units for flow, counts in blocked], units.shape)
        record.add_units(first, offered.sum(axis=1), served.sum(axis=1))
        record.add_partitions(first, numbers, served)
        seen = resource.observed[dimension]
        seen.offered += offered.sum(axis=0)
        seen.consumed += served.sum(axis=0)
        for flow, counts, pattern in fitting:
            if verdict is None:
                self._note_keys(flow, counts, None, None)
                continue
            mine = counts[:, verdict.columns]
            events = {limit: mine * share for limit, share in shares.items()}
            fates[id(flow)] = self._fate(flow, counts, mine, events)
            self._note_throttles(record, first, [numbers[c] for c in verdict.columns], events)
            self._note_keys(flow, counts, verdict.columns, events)
        for flow, counts, pattern in moving:
            self._remember(dimension, pattern, flow, counts)
        for flow, counts in blocked:
            limit = min(lane.totals, key=lambda gate: float(gate.buckets.depth[0])).limit
            events = {limit: counts}
            fates[id(flow)] = self._fate(flow, counts, counts, events)
            self._note_throttles(record, first, list(numbers), events)
            self._note_keys(flow, counts, np.arange(len(numbers)), events)
        self._grow(fitting, verdict, units, served)

    def _ceiling_ratio(self, moving: list[tuple[_Flow, Floats, _Pattern]], units: Floats) -> Floats | None:
        if all(flow.ceiling_ratio == 1.0 for flow, _, _ in moving):
            return None
        weighed = _sum([counts * (flow.units * flow.ceiling_ratio) for flow, counts, _ in moving], units.shape)
        return np.divide(weighed, units, out=np.ones_like(units), where=units > 0)

    def _quantum(self, moving: list[tuple[_Flow, Floats, _Pattern]], columns: int) -> Floats:
        """For each partition the cost of an attempt, where all that come to it cost the same."""
        quantum = np.zeros(columns)
        mixed = np.zeros(columns, dtype=bool)
        for flow, counts, pattern in moving:
            here = (flow.shares > 0) & bool(counts.any())
            cost = flow.units * (flow.leg.items if flow.leg.together and pattern.demand.joint is not Joint.EACH else 1)
            mixed |= here & (quantum > 0) & (quantum != cost)
            quantum = np.where(here, cost, quantum)
        return np.where(mixed, 0.0, quantum)

    def _settle_jointly(
        self, lane: Lane, moving: list[tuple[_Flow, Floats, _Pattern]], tick_s: float
    ) -> tuple[Verdict | None, Floats]:
        """Serve a stretch in which transactions meet a dry bucket: no leg of theirs is served unless all are.

        Within a tick each leg's partition sees only those requests that the other legs' partitions let pass. That is a fixed point in the
        legs' shares of admitted items; with k legs it is approached by the k-th root of each step, exact at once when all legs meet in
        one partition.
        """
        ticks, columns = moving[0][1].shape
        served = np.empty((ticks, columns))
        asked = np.empty((ticks, columns))
        refused: dict[Limit, Floats] = {}
        groups: dict[int, list[int]] = {}
        for k, (_, _, pattern) in enumerate(moving):
            if pattern.demand.joint is Joint.ALL:
                groups.setdefault(id(pattern), []).append(k)
        quantum = np.zeros(columns)
        for t in range(ticks):
            rows = [counts[t] for _, counts, _ in moving]
            costs = [flow.units for flow, _, _ in moving]
            factor = np.ones(len(moving))
            for _ in range(_JOINT_ROUNDS_MAX):
                units = floor_grains(
                    _sum([f * row * cost for f, row, cost in zip(factor, rows, costs, strict=True)], (columns,))
                )
                offer = lane.offer(units, None, quantum, tick_s)
                share = np.divide(offer.served, units, out=np.ones(columns), where=units > 0)
                after = factor.copy()
                for members in groups.values():
                    admitted = [
                        float((rows[k] * share).sum() / total) if (total := rows[k].sum()) > 0 else 1.0 for k in members
                    ]
                    powers = [moving[k][0].leg.items for k in members]
                    legs = sum(powers)
                    passing = float(np.prod([a**p for a, p in zip(admitted, powers, strict=True)]))
                    for k, a in zip(members, admitted, strict=True):
                        target = passing / a if a > 0 else 0.0
                        after[k] = factor[k] ** (1 - 1 / legs) * target ** (1 / legs)
                done = float(np.abs(after - factor).max()) < _JOINT_PRECISION
                factor = after
                if done:
                    break
            lane.take(offer.served, None, tick_s)
            served[t], asked[t] = offer.served, units
            for limit, amount in offer.refused.items():
                refused.setdefault(limit, np.zeros((ticks, columns)))[t] = amount
        return Verdict(np.arange(columns), served, refused), asked

    # What became of it.

    def _fate(self, flow: _Flow, counts: Floats, mine: Floats, events: Mapping[Limit, Floats]) -> _Fate:
        refused_cells = sum(events.values()) if events else np.zeros_like(mine)
        refused = np.asarray(refused_cells).sum(axis=1)
        items = counts.sum(axis=1)
        admitted = 1.0 - np.divide(refused, items, out=np.zeros_like(items), where=items > 0)
        if flow.leg.items == 1:
            nothing = refused
        elif flow.leg.together:
            refused_share = np.divide(refused_cells, mine, out=np.zeros_like(mine), where=mine > 0)
            nothing = (mine / flow.leg.items * refused_share**flow.leg.items).sum(axis=1)
        else:
            nothing = items / flow.leg.items * (1.0 - admitted) ** flow.leg.items
        return _Fate(refused, admitted, nothing)

    def _note_throttles(
        self, record: LaneRecord, first: int, numbers: Sequence[int], events: Mapping[Limit, Floats]
    ) -> None:
        for limit, cells in events.items():
            record.add_throttles(first, numbers, limit, cells)
            hit = np.flatnonzero(cells.any(axis=1))
            if len(hit):
                tick_s = self._grid.tick_s
                self._recorder.note_throttle((first + int(hit[0])) * tick_s, (first + int(hit[-1])) * tick_s)

    def _account(self, pattern: _Pattern, requests: Floats, first: int, fates: Mapping[int, _Fate]) -> None:
        """Turn what became of the legs into requests, attempts and errors of the pattern."""
        demand = pattern.demand
        record = self._recorder.traffic[demand.traffic.name]
        if demand.invalid:
            record.add(first, offered=requests, attempts=requests)
            record.fail(ErrorName.VALIDATION, float(requests.sum()))
            self._note_finish(pattern, first, requests)
            return
        met = [(flow, fates[id(flow)]) for flow in pattern.flows if id(flow) in fates]
        events = _sum([fate.refused for _, fate in met], requests.shape)
        if demand.joint is Joint.ALL and met:
            passing = np.prod([fate.admitted**flow.leg.items for flow, fate in met], axis=0)
            throttled = requests * (1.0 - passing)
        elif demand.joint is Joint.EACH and len(met) > 1:
            items = pattern.flows[0].leg.items
            share = np.divide(events, requests * items, out=np.zeros_like(requests), where=requests > 0)
            throttled = requests * share**items
        else:
            throttled = _sum([fate.nothing for _, fate in met], requests.shape)
        passed = requests - throttled
        unmet = passed * demand.condition_fails
        record.add(
            first,
            offered=requests,
            succeeded=passed - unmet,
            attempts=requests,
            throttled=throttled,
            throttle_events=events,
        )
        record.fail(ErrorName.CONDITIONAL_CHECK, float(unmet.sum()))
        if demand.joint is Joint.EACH:
            record.unprocessed += float((events - throttled * pattern.flows[0].leg.items).sum())
        if met and (total := float(throttled.sum())) > 0:
            self._fail_throttled(pattern, met, total)
        self._note_finish(pattern, first, requests)

    def _fail_throttled(self, pattern: _Pattern, met: Sequence[tuple[_Flow, _Fate]], total: float) -> None:
        record = self._recorder.traffic[pattern.demand.traffic.name]
        if pattern.demand.joint is Joint.ALL or pattern.demand.traffic.operation.startswith("Transact"):
            record.fail(ErrorName.TRANSACTION_CANCELED, total)
            return
        lane = self._resource.lanes[met[0][0].leg.dimension]
        limits = [gate.limit for gate in lane.totals] or [Limit.KEY_RANGE]
        record.fail(throttling_error(self._resource.mode, limits[0]), total)

    def _note_finish(self, pattern: _Pattern, first: int, requests: Floats) -> None:
        limit = pattern.demand.traffic.count
        record = self._recorder.traffic[pattern.demand.traffic.name]
        if limit is not None and record.finished_s is None and pattern.offered >= limit:
            came = np.flatnonzero(requests)
            last = first + int(came[-1]) + 1 if len(came) else first
            record.finished_s = min(last * self._grid.tick_s, self._grid.duration_s)

    def _remember(self, dimension: Dimension, pattern: _Pattern, flow: _Flow, counts: Floats) -> None:
        """Let the control plane see where the traffic lies."""
        amount = float(counts.sum()) * flow.units
        self._resource.note_load(dimension, f"{pattern.demand.traffic.name}/{flow.leg.name}", flow.spread, amount)

    def _grow(
        self, moving: list[tuple[_Flow, Floats, _Pattern]], verdict: Verdict | None, units: Floats, served: Floats
    ) -> None:
        for flow, counts, _ in moving:
            if not flow.leg.new_bytes:
                continue
            share = np.divide(served, units, out=np.ones_like(units), where=units > 0) if verdict is not None else 1.0
            self._resource.stored_bytes += (counts * share).sum(axis=0) * flow.leg.new_bytes

    def _note_keys(
        self, flow: _Flow, counts: Floats, columns: Ints | None, events: Mapping[Limit, Floats] | None
    ) -> None:
        if flow.key_columns is None:
            return
        keys, at, part = flow.key_columns
        offered = counts.sum(axis=0) * flow.units
        np.add.at(flow.key_offered, keys, part * offered[at])
        if columns is not None and events:
            by_column = np.zeros(counts.shape[1])
            by_column[columns] = _sum([cells.sum(axis=0) for cells in events.values()], (len(columns),))
            np.add.at(flow.key_events, keys, part * by_column[at])

    def _flush_keys(self, flow: _Flow) -> None:
        if not len(flow.key_offered):
            return
        resource = self._resource
        for k, key in enumerate(flow.spread.named):
            if flow.key_offered[k] <= 0:
                continue
            tally = self._recorder.keys.setdefault(
                (resource.name, key.position), KeyTally(key.text, key.sort_key, key.position)
            )
            tally.offered_units += float(flow.key_offered[k])
            tally.throttle_events += float(flow.key_events[k])
            if tally.sort_key != key.sort_key:
                tally.sort_key = None
            columns = {int(c) for i, c in zip(*_pairs(flow.key_columns), strict=True) if i == k}
            tally.partitions = max(tally.partitions, len(columns))
        flow.key_offered = np.zeros(len(flow.spread.named))
        flow.key_events = np.zeros(len(flow.spread.named))


def _pairs(key_columns: tuple[Ints, Ints, Floats] | None) -> tuple[Ints, Ints]:
    empty = np.empty(0, dtype=np.int64)
    return (empty, empty) if key_columns is None else key_columns[:2]


def _key_columns(spread: Spread, cuts: list[Position], shares: Floats) -> tuple[Ints, Ints, Floats] | None:
    """For each named key the partitions it lies in, and its part of the pattern's traffic there."""
    if not spread.named:
        return None
    keys, columns, parts = [], [], []
    lows = cuts
    for k, key in enumerate(spread.named):
        begin, end = Position(key.position, 0), Position(key.position + 1, 0)
        column = _last_at_or_before(lows, begin)
        while column < len(lows) and lows[column] < end:
            high = lows[column + 1] if column + 1 < len(lows) else TOP
            inside = KeyRange(max(begin, lows[column]), min(end, high))
            mass = spread.below(inside.high) - spread.below(inside.low)
            if mass > 0 and shares[column] > 0:
                keys.append(k)
                columns.append(column)
                parts.append(min(1.0, mass / float(shares[column])))
            column += 1
    return np.array(keys, dtype=np.int64), np.array(columns, dtype=np.int64), np.array(parts, dtype=float)


def _last_at_or_before(cuts: list[Position], position: Position) -> int:
    low, high = 0, len(cuts)
    while high - low > 1:
        middle = (low + high) // 2
        if cuts[middle] <= position:
            low = middle
        else:
            high = middle
    return low


def _sum(arrays: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    """Sum of equal-shaped arrays; zeros where there are none."""
    if not arrays:
        return np.zeros(shape)
    total = arrays[0]
    for other in arrays[1:]:
        total = total + other
    return total
