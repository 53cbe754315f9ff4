"""A DAX cluster at the flow level: what of each pattern's traffic its nodes leave to the table.

A cache turns where reads lie into where misses lie: the mass of each key times the probability that no node has it (`fluidcache`). Keys
that are asked alike make one class, so that a step costs the same for a thousand keys and for a million. The probabilities are worked
out ahead, from the patterns' rates, for the time between two edges; the edges are the same however a run is cut into stretches.

Approximations, beside Che's: keys of a class are within 5 % of each other's rate; what is not listed one by one is as many equally likely
keys as would bring about its unevenness, or never asked twice where that is not known; sort keys hang on nothing but what the partition
key says; misses lie within a collection as reads do; where the table refused misses since the last edge, it is taken to answer as many a
second until the next one; a refused write still counts as written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sim.keyspace.building import KeySpace, KeySpec
from sim.keyspace.domain import Floats, Ints
from sim.keyspace.spread import Spread
from sim.levels.cacheable import (
    Way,
    goes_through,
    is_write,
    item_ttl_s,
    question_of,
    requests_per_s,
    room,
    way_of,
    weight_of,
    writes_through,
)
from sim.levels.fluidcache import FluidCache
from sim.levels.moving import Flow, Moving
from sim.levels.patterns import Drawn, Pattern, total_of
from sim.levels.randomness import generator
from sim.names import TABLE, ErrorName, Operation
from sim.partitions.bucket import grains
from sim.results.recorder import CacheRecord, Recorder, TimeGrid
from sim.scenario import Scenario
from sim.scenario.templates import fields_of

NEVER_TWICE = 1e15  # keys of a population so large that none is asked again
_STEPS_PER_TTL = 32
_EDGES_MAX = 500
_LATEST_STEP_S = 60.0
_SUBSTEPS_MAX = 16
_SUBSTEPS_REFUSED = 4  # while the table refuses misses, so that fewer are refused as the cache fills
_CLASSES_PER_OCTAVE = 8
# A change of the misses from which on they are laid anew: as a part of the reads, and of the misses.
_MATERIAL = 0.002
_MATERIAL_OF_MISSES = 0.01
_CALM_TTLS = 3  # times to live after which a cold start, or a turn of the rates, is forgotten
_CALM_CHANGE = 0.02  # of the rates from edge to edge


def population(spread: Spread) -> float:
    """How many equally likely keys the background of a spread stands for."""
    if spread.background <= 0:
        return 0.0
    return NEVER_TWICE if spread.error <= 0 else (spread.background / spread.error) ** 2


@dataclass(eq=False)
class _Member:
    """One leg of a pattern as a cache meets it.

    Attributes
    ----------
    reads, through : whether it reads from the cache, or fills it by writing; neither: it writes around it.
    factor : items of it per request of its pattern.
    whole : it touches every item of the partition key (a write, as the answer of a Query sees it).
    anywhere : it concerns all keys (a Scan, and what is written as a Scan sees it).
    flow : of a read, what its misses go on as; ``thin``: where they lie (None: where the reads do, ``base``), and ``lost`` what part of
        the reads they are, by class.
    stale : share of the hits that are stale; ``served_per_s``: misses that the table has lately answered, where it
        refused some (None: it refused none).
    """

    pattern: Pattern
    spec: KeySpec | None
    factor: float
    weight: float = 1.0
    reads: bool = False
    through: bool = False
    whole: bool = False
    anywhere: bool = False
    flow: Flow | None = None
    thin: Spread | None = None
    base: Spread | None = None
    lost: Floats | None = None
    stale: float = 0.0
    served_per_s: float | None = None


@dataclass(eq=False)
class _Family:
    """Members whose items are the same ones, sorted into classes.

    Attributes
    ----------
    spreads : where each member lies; ``sorts``: the sort keys under one partition key.
    rows : for each member, the row of each of its listed keys, and that of its background.
    labels : partition key class of each row.
    shares : members × classes: share of each member's items that one item of the class has.
    counts : items in each class; ``per_key``: share that each sort class has of its partition key's items.
    """

    members: list[_Member]
    spreads: list[Spread | None]
    sorts: Spread | None
    positions: np.ndarray
    rows: list[tuple[Ints, int]]
    labels: Ints
    sizes: Floats
    counts: Floats
    shares: Floats
    per_key: Floats


class _Store:
    """The item caches, or the query caches, of all nodes: one of them stands for all."""

    def __init__(
        self, scenario: Scenario, keyspace: KeySpace, families: Sequence[Sequence[_Member]], ttl_s: float | None
    ) -> None:
        assert scenario.dax is not None, "there is a cluster"
        self._keyspace = keyspace
        self._nodes = scenario.dax.nodes
        self._room = room(scenario)
        self.ttl_s = ttl_s
        self._groups = [list(members) for members in families]
        self._families: list[_Family] = []
        self._cache: FluidCache | None = None
        self._before: FluidCache | None = None
        self._rates_before: Floats | None = None
        self._turned_s = 0.0

    def roll_over(self, now_s: float) -> None:
        """Sort the keys into classes, anew where a clock has made others of them."""
        made = []
        changed = not self._families
        for k, members in enumerate(self._groups):
            spreads = [_spread_of(self._keyspace, member, now_s) for member in members]
            first = members[0]
            sorts = None if first.spec is None or first.anywhere else self._keyspace.sort_keys(first.spec, now_s)
            old = self._families[k] if self._families else None
            if (
                old is not None
                and old.sorts is sorts
                and all(a is b for a, b in zip(old.spreads, spreads, strict=True))
            ):
                made.append(old)
            else:
                made.append(_family_of(members, spreads, sorts))
                changed = True
        if not changed:
            return
        counts = np.concatenate([family.counts for family in made])
        weights = np.concatenate([np.full(len(f.counts), max(m.weight for m in f.members)) for f in made])
        if self._cache is None:
            self._cache = FluidCache(counts, weights, self._room, self.ttl_s)
        else:
            blocks = [_passed_on(old, new) for old, new in zip(self._families, made, strict=True)]
            rows = np.zeros((len(counts), sum(len(f.counts) for f in self._families)))
            down = right = 0
            for block in blocks:
                rows[down : down + block.shape[0], right : right + block.shape[1]] = block
                down, right = down + block.shape[0], right + block.shape[1]
            self._cache = self._cache.moved(counts, weights, rows)
        self._families = made
        self._turned_s = now_s

    def advance(self, begin_s: float, end_s: float) -> None:
        """Work out what the reads up to ``end_s`` find, and thin them."""
        missing, stale = self._pass(begin_s, end_s)
        begin = 0
        for family in self._families:
            part = slice(begin, begin + len(family.counts))
            begin = part.stop
            for member in family.members:
                if member.reads:
                    _thin(family, member, missing[part], stale[part])

    def correct(self, begin_s: float, end_s: float) -> None:
        """Work the last time out anew, now that it is known how many of its misses the table has answered."""
        self._cache = self._before
        self._pass(begin_s, end_s)

    def _pass(self, begin_s: float, end_s: float) -> tuple[Floats, Floats]:
        """Share of the reads that find nothing, and share of the others that find what is stale, by class."""
        assert self._cache is not None, "the keys are in classes"
        self._before = copy(self._cache)  # steps replace what it holds
        seconds = end_s - begin_s
        steps = 1
        if any(member.served_per_s is not None for family in self._families for member in family.members):
            steps = _SUBSTEPS_REFUSED
        if self.ttl_s is not None and not self._is_calm(begin_s, end_s):
            steps = min(_SUBSTEPS_MAX, max(steps, int(np.ceil(seconds * _STEPS_PER_TTL / self.ttl_s - 1e-9))))
        none = np.zeros(sum(len(family.counts) for family in self._families))
        misses, asked, late = none, none, none
        for k in range(steps):
            reads, filled, through, around = self._rates(
                begin_s + seconds * k / steps, begin_s + seconds * (k + 1) / steps
            )
            step = self._cache.step(seconds / steps, reads, through, around, filled)
            amount = reads * (seconds / steps)
            misses = misses + step.misses
            late = late + step.stale * (amount - step.misses)
            asked = asked + amount
        missing = np.divide(misses, asked, out=np.ones_like(asked), where=asked > 0)
        hits = asked - misses
        return missing, np.divide(late, hits, out=np.zeros_like(asked), where=hits > 0)

    def _is_calm(self, begin_s: float, end_s: float) -> bool:
        """Whether the rates have been steady for so long that what is cached hangs on them alone; then longer steps do."""
        assert self.ttl_s is not None, "for ever is never long enough"
        reads, _, through, around = self._rates(begin_s, end_s)
        rates = np.concatenate((reads, through, around))
        before, self._rates_before = self._rates_before, rates
        if before is None or len(before) != len(rates) or np.abs(rates - before).sum() > _CALM_CHANGE * before.sum():
            self._turned_s = begin_s
        return begin_s - self._turned_s >= _CALM_TTLS * self.ttl_s

    def _rates(self, begin_s: float, end_s: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Reads per second and item, the share of them that a miss is answered to, writes through and around; by class, at one node."""
        assert self._cache is not None, "the keys are in classes"
        rows = []
        cached, begin = self._cache.cached, 0
        for family in self._families:
            rates = np.zeros((4, len(family.counts)))
            for member, share in zip(family.members, family.shares, strict=True):
                kind = 0 if member.reads else 2 if member.through else 3
                rate = share * (member.factor * _requests(member.pattern, begin_s, end_s) / (end_s - begin_s))
                rates[kind] += rate
                if member.reads:
                    rates[1] += rate * _answered(family, rate, member, cached[begin : begin + len(share)])
            rates[:2] /= self._nodes
            rows.append(rates)
            begin += len(family.counts)
        reads, fills, through, around = np.concatenate(rows, axis=1)
        return reads, np.divide(fills, reads, out=np.ones_like(reads), where=reads > 0), through, around


class Caching:
    """The cluster in front of all patterns. It wakes at `edges_s`, before the traffic of the time that follows."""

    def __init__(self, scenario: Scenario, patterns: Sequence[Pattern], keyspace: KeySpace, recorder: Recorder) -> None:
        assert scenario.dax is not None, "there is a cluster"
        self._scenario = scenario
        self._recorder = recorder
        self.record = recorder.dax = CacheRecord(recorder.grid)
        self._ways = {id(pattern): way_of(scenario, pattern.demand) for pattern in patterns}
        asks = (p for p in patterns if self._ways[id(p)] in (Way.ITEM, Way.QUERY) and not p.demand.invalid)
        self._cached = [
            p for p in asks if p.integral is not None
        ]  # of those that follow nobody knows the rate beforehand
        self._members: dict[int, list[_Member]] = {id(p): [] for p in self._cached}
        stores = []
        items = self._item_families(patterns)
        if items:
            stores.append(_Store(scenario, keyspace, items, item_ttl_s(scenario)))
        queries = self._query_families(patterns)
        if queries:
            stores.append(_Store(scenario, keyspace, queries, scenario.dax.query_ttl))
        self._stores = stores
        rollovers = {
            at_s
            for store in (items, queries)
            for members in store
            for member in members
            if member.spec is not None
            for at_s in keyspace.rollovers_s(member.spec)
        }
        self.edges_s = _edges(recorder.grid, [store.ttl_s for store in stores], rollovers)
        self._next = 0
        self._missed: dict[int, tuple[float, float]] = {}
        for pattern in self._cached:
            pattern.hit_draws = generator(scenario.seed, pattern.demand.traffic.name, "hits")
            for member in self._members[id(pattern)]:
                assert member.flow is not None, "reads go on as a flow"
                member.flow.make = partial(_misses_of, member, member.flow.make)
        self.wake(0.0)

    def wake(self, now_s: float) -> None:
        """Lay the misses where they lie until the next edge."""
        while self._next < len(self.edges_s) - 1 and self.edges_s[self._next] <= now_s + 1e-9:
            begin_s, end_s = self.edges_s[self._next : self._next + 2]
            self._next += 1
            for pattern in self._cached:
                missed, refused = self._missed.pop(id(pattern), (0.0, 0.0))
                of_all = sum(_passing(member) for member in self._members[id(pattern)])
                for member in self._members[id(pattern)]:
                    part = _passing(member) / of_all if of_all else 1.0
                    past_s = begin_s - self.edges_s[self._next - 2]
                    member.served_per_s = (missed - refused) / past_s * part if refused else None
            if any(member.served_per_s is not None for members in self._members.values() for member in members):
                for store in self._stores:
                    store.correct(self.edges_s[self._next - 2], begin_s)
            for store in self._stores:
                store.roll_over(begin_s)
                store.advance(begin_s, end_s)
            for pattern in self._cached:
                for member in self._members[id(pattern)]:
                    assert member.flow is not None, "reads go on as a flow"
                    member.flow.lay(begin_s, self._recorder)

    def admit(self, drawn: list[Drawn], first: int, tick_s: float) -> list[Drawn]:
        """Turn away what the nodes have no room for (F-DAX-5): of every pattern alike, as nobody asks again."""
        mine = [
            d for d in drawn if goes_through(self._scenario, d.pattern.demand.traffic) and not d.pattern.demand.invalid
        ]
        if not mine:
            return drawn
        asked = total_of([d.requests for d in mine], mine[0].requests.shape)
        room_here = requests_per_s(self._scenario) * tick_s
        if float(asked.max()) <= room_here:
            return drawn
        kept = np.minimum(1.0, room_here / np.maximum(asked, 1e-300))
        admitted = []
        for one in drawn:
            if not any(one is other for other in mine):
                admitted.append(one)
                continue
            refused = grains(one.requests * (1.0 - kept))
            record = self._recorder.traffic[one.pattern.demand.traffic.name]
            record.add(first, offered=refused, spared=refused)
            record.fail(ErrorName.THROTTLING, float(refused.sum()))
            self.record.add(first, requests=refused, refused=refused)
            hits = None if one.hits is None else grains(one.hits * kept)
            legs = [_kept(leg, kept) for leg in one.legs]
            admitted.append(replace(one, requests=one.requests - refused, legs=legs, hits=hits))
        return admitted

    def account(self, drawn: Drawn, first: int) -> None:
        """Write down what the cluster did with the requests of a stretch."""
        traffic = drawn.pattern.demand.traffic
        requests = np.asarray(drawn.requests, dtype=float)
        if not goes_through(self._scenario, traffic) or drawn.pattern.demand.invalid:
            return
        columns = {"requests": requests}
        way = self._ways[id(drawn.pattern)]
        if way is Way.PASSED:
            columns["passed_through"] = requests
        elif way is not None and drawn.hits is not None:
            hits = np.asarray(drawn.hits, dtype=float)
            kind = "item" if way is Way.ITEM else "query"
            columns[f"{kind}_reads"] = requests * drawn.pattern.flows[0].leg.items
            columns[f"{kind}_hits"] = hits
            columns["stale_hits"] = grains(hits * self._stale_share(drawn.pattern))
        self.record.add(first, **columns)

    def note_refused(self, pattern: Pattern, missed: float, refused: float) -> None:
        """The table refused some of the misses of a pattern: no node has those, so that the time until the next edge begins colder."""
        before = self._missed.get(id(pattern), (0.0, 0.0))
        self._missed[id(pattern)] = (before[0] + missed, before[1] + refused)

    def _stale_share(self, pattern: Pattern) -> float:
        """Share of a pattern's hits that are stale until the next edge."""
        members = self._members[id(pattern)]
        hits = [m.factor * (1.0 - m.flow.passes) for m in members if m.flow is not None]
        total = sum(hits)
        return sum(h * m.stale for h, m in zip(hits, members, strict=True)) / total if total > 0 else 0.0

    def _item_families(self, patterns: Sequence[Pattern]) -> list[list[_Member]]:
        families: dict[object, list[_Member]] = {}
        for pattern in patterns:
            if pattern.demand.invalid or pattern.integral is None:
                continue
            traffic = pattern.demand.traffic
            reads = self._ways[id(pattern)] is Way.ITEM
            if not reads and not is_write(traffic):
                continue
            weight = weight_of(self._scenario, pattern.demand)
            through = not reads and writes_through(self._scenario, traffic)
            done = 1.0 if reads else 1.0 - pattern.demand.condition_fails
            for k, leg in enumerate(pattern.demand.legs):
                flow = pattern.flows[k] if reads else None
                spec = None if traffic.partition is not None else leg.spec
                member = _Member(pattern, spec, leg.items * leg.fraction * done, weight, reads, through, flow=flow)
                if reads:
                    self._members[id(pattern)].append(member)
                families.setdefault(_items_of(traffic.partition, leg.spec), []).append(member)
        return [members for members in families.values() if any(m.reads or m.through for m in members)]

    def _query_families(self, patterns: Sequence[Pattern]) -> list[list[_Member]]:
        families = []
        for pattern in self._cached:
            if self._ways[id(pattern)] is not Way.QUERY:
                continue
            traffic = pattern.demand.traffic
            scan = traffic.operation is Operation.SCAN
            members = []
            for leg, flow in zip(pattern.demand.legs, pattern.flows, strict=True):
                spec = None if traffic.partition is not None else leg.spec
                if spec is not None:
                    spec = question_of(traffic, spec)
                weight = weight_of(self._scenario, pattern.demand)
                member = _Member(pattern, spec, leg.items * leg.fraction, weight, reads=True, anywhere=scan, flow=flow)
                self._members[id(pattern)].append(member)
                members.append(member)
            resource = pattern.demand.legs[0].resource
            families.append([*members, *_writers(patterns, resource, anywhere=scan)])
        return families


def _answered(family: _Family, rate: Floats, member: _Member, cached: Floats) -> float:
    """Share of a member's misses that the table answers: all, or as many a second as before the edge."""
    if member.served_per_s is None:
        return 1.0
    missing_per_s = float((family.counts * rate * (1.0 - cached)).sum())
    return min(1.0, member.served_per_s / missing_per_s) if missing_per_s > 0 else 1.0


def _passing(member: _Member) -> float:
    """Misses of a member per request of its pattern."""
    return member.factor * (1.0 if member.flow is None else member.flow.passes)


def _kept(leg: Moving, share: Floats) -> Moving:
    """A share of a leg's items of each tick, in whole grains, so that sums stay exact."""
    part = share[:, None]
    return Moving.of(leg.flow, grains(leg.counts * part), [grains(cells * part) for cells in leg.entries])


def _writers(patterns: Sequence[Pattern], resource: str, *, anywhere: bool) -> list[_Member]:
    """What is written to a table or index, as the answers of Queries on it see that."""
    found = []
    for pattern in patterns:
        traffic = pattern.demand.traffic
        if not is_write(traffic) or pattern.demand.invalid or pattern.integral is None:
            continue
        done = 1.0 - pattern.demand.condition_fails
        for leg in pattern.demand.legs:
            factor = leg.items * leg.fraction
            if resource == TABLE:
                spec = None if traffic.partition is not None else leg.spec
                found.append(_Member(pattern, spec, factor * done, whole=True, anywhere=anywhere))
            for tie in leg.ties:  # its probability holds the condition already
                if tie.resource == resource:
                    found.append(_Member(pattern, tie.spec, factor * tie.probability, whole=True, anywhere=anywhere))
    return found


def _items_of(partition: int | None, spec: KeySpec | None) -> object:
    """What tells families of items apart: their sort key template, and what is fixed in it."""
    if partition is not None or spec is None:
        return ("", partition)
    names = fields_of(spec.sk) if spec.sk else ()
    return (spec.sk, tuple(pair for pair in spec.where if pair[0] in names))


def _requests(pattern: Pattern, begin_s: float, end_s: float) -> float:
    """Requests of a pattern that are expected in a time."""
    assert pattern.integral is not None, "the flow level has open loops only"
    come = pattern.integral(np.array([begin_s, end_s]))
    if pattern.demand.traffic.count is not None:
        come = np.minimum(come, pattern.demand.traffic.count)
    return max(0.0, float(come[1] - come[0]))


def _edges(grid: TimeGrid, ttls_s: Sequence[float | None], rollovers_s: set[float]) -> list[float]:
    """When the misses are worked out: close together while the caches are cold, then a few dozen times in a time to live."""
    tick_s, end_s = grid.tick_s, grid.duration_s
    step_s = min([_LATEST_STEP_S, *(ttl / _STEPS_PER_TTL for ttl in ttls_s if ttl is not None)])
    step_s = max(tick_s, step_s, end_s / _EDGES_MAX)
    ticks = {0, grid.ticks}
    at = 0
    while at < grid.ticks:
        at += max(1, int(min(step_s / tick_s, at / 2) + 1e-9))
        ticks.add(min(at, grid.ticks))
    ticks |= {min(int(np.ceil(at_s / tick_s - 1e-9)), grid.ticks) for at_s in rollovers_s}
    return [min(tick * tick_s, end_s) for tick in sorted(ticks)]


def _spread_of(keyspace: KeySpace, member: _Member, now_s: float) -> Spread | None:
    """Where a member lies; None: anywhere (one key where it concerns all, else keys that are never asked twice)."""
    return None if member.spec is None or member.anywhere else keyspace.spread(member.spec, now_s)


def _family_of(members: list[_Member], spreads: list[Spread | None], sorts: Spread | None) -> _Family:
    """Sort the keys of some members into classes of keys that each of them asks alike."""
    listed = [spread.positions for spread in spreads if spread is not None]
    positions = np.unique(np.concatenate(listed)) if listed else np.empty(0, dtype=np.uint64)
    # Then a row for each population that is not listed; members of one template share it.
    unlisted: dict[object, int] = {}
    sizes = [np.ones(len(positions))]
    rows = []
    for member, spread in zip(members, spreads, strict=True):
        if member.anywhere:
            mark: object = "all"
        elif spread is None:
            mark = id(member)
        else:
            assert member.spec is not None
            mark = (member.spec.pk, tuple(p for p in member.spec.where if p[0] in fields_of(member.spec.pk)))
        if mark not in unlisted:
            unlisted[mark] = len(positions) + len(unlisted)
            count = 1.0 if member.anywhere else NEVER_TWICE if spread is None else max(1.0, population(spread))
            sizes.append(np.array([count]))
        at = np.empty(0, dtype=np.int64) if spread is None else positions.searchsorted(spread.positions)
        rows.append((np.asarray(at, dtype=np.int64), unlisted[mark]))
    size = np.concatenate(sizes)
    mass = np.zeros((len(members), len(size)))
    for k, ((at, last), spread) in enumerate(zip(rows, spreads, strict=True)):
        if spread is not None:
            mass[k, at] = spread.shares
        mass[k, last] = (1.0 if spread is None else spread.background) / size[last]
    labels = _alike(mass)
    classes = int(labels.max()) + 1
    keys = np.bincount(labels, weights=size, minlength=classes)
    shares = np.array([np.bincount(labels, weights=size * row, minlength=classes) / keys for row in mass])
    many, part = _sort_classes(sorts)
    of_item = [
        (shares[k][:, None] * (np.ones_like(part) if member.whole or member.anywhere else part)).ravel()
        for k, member in enumerate(members)
    ]
    return _Family(
        members,
        spreads,
        sorts,
        positions,
        rows,
        labels,
        size,
        np.multiply.outer(keys, many).ravel(),
        np.array(of_item),
        many * part,
    )


def _alike(mass: Floats) -> Ints:
    """A class for each column: columns whose entries are all within a twelfth of an octave or so of each other."""
    mark = np.zeros(mass.shape[1], dtype=np.uint64)
    for row in mass:
        with np.errstate(divide="ignore"):
            octave = np.where(
                row > 0, np.rint(np.log2(row, where=row > 0, out=np.zeros_like(row)) * _CLASSES_PER_OCTAVE), 1e4
            )
        mark = mark * np.uint64(0x9E3779B97F4A7C15) + (octave + 100_000).astype(np.uint64)
    _, labels = np.unique(mark, return_inverse=True)
    return np.asarray(labels, dtype=np.int64)


def _sort_classes(sorts: Spread | None) -> tuple[Floats, Floats]:
    """Classes of sort keys under one partition key: how many there are of each, and the share that one of them has."""
    if sorts is None:
        return np.ones(1), np.ones(1)
    count = np.append(np.ones(len(sorts.shares)), population(sorts))
    mass = np.append(sorts.shares, sorts.background / max(1.0, count[-1]))
    kept = (mass > 0) & (count > 0)
    count, mass = count[kept], mass[kept]
    labels = _alike(mass[None])
    many = np.asarray(np.bincount(labels, weights=count), dtype=float)
    return many, np.asarray(np.bincount(labels, weights=count * mass) / many, dtype=float)


def _passed_on(old: _Family, new: _Family) -> Floats:
    """What part of each new class's items was in each old class."""
    part = np.zeros((len(new.counts), len(old.counts)))
    width = len(new.per_key)
    same_sorts = old.sorts is new.sorts or (
        old.sorts is not None and new.sorts is not None and np.array_equal(old.sorts.positions, new.sorts.positions)
    )
    if not same_sorts or len(old.per_key) != width:
        return part
    at = old.positions.searchsorted(new.positions)
    there = at < len(old.positions)
    there[there] = old.positions[at[there]] == new.positions[there]
    pairs = np.zeros((int(new.labels.max()) + 1, int(old.labels.max()) + 1))
    here = np.flatnonzero(there)
    np.add.at(pairs, (new.labels[here], old.labels[at[here]]), 1.0)
    for k, spread in enumerate(new.spreads):
        if spread is old.spreads[k]:  # what is not listed of it is the same too
            row, before = new.rows[k][1], old.rows[k][1]
            pairs[new.labels[row], old.labels[before]] += new.sizes[row]
    keys = np.bincount(new.labels, weights=new.sizes, minlength=len(pairs))
    pairs = np.minimum(pairs / keys[:, None], 1.0)
    for j in range(width):
        part[j::width, j::width] = pairs
    return part


def _thin(family: _Family, member: _Member, missing: Floats, stale: Floats) -> None:
    """Let the misses of a member lie where its reads lie, each key with the probability that no node has it."""
    k = family.members.index(member)
    spread, flow = family.spreads[k], member.flow
    assert flow is not None, "reads go on as a flow"
    width = len(family.per_key)
    mass = family.counts * family.shares[k]
    hit = mass * (1.0 - missing)
    member.stale = float((hit * stale).sum() / hit.sum()) if hit.sum() > 0 else 0.0
    passes = float((mass * missing).sum())
    lost = mass * missing
    if member.lost is not None and member.base is spread:
        change = float(np.abs(lost - member.lost).sum())
        if change <= min(_MATERIAL, _MATERIAL_OF_MISSES * float(member.lost.sum())):
            return
    member.base, member.lost = spread, lost
    flow.passes = min(1.0, passes)
    member.thin = None
    if spread is None or passes <= 0:
        return
    per_class = (missing.reshape(-1, width) * family.per_key).sum(axis=1)
    of_row = per_class[family.labels]
    at, last = family.rows[k]
    shares = spread.shares * of_row[at]
    background = spread.background * float(of_row[last])
    total = float(shares.sum()) + background
    shares, background = shares / total, background / total
    rows = spread.positions.searchsorted(np.array([key.position for key in spread.named], dtype=np.uint64))
    named = [replace(key, share=float(shares[row])) for key, row in zip(spread.named, rows.tolist(), strict=True)]
    member.thin = replace(spread, shares=shares, background=background, named=tuple(named))


def _misses_of(member: _Member, whole: Callable[[float], Spread], now_s: float) -> Spread:
    """Where the misses of a member lie."""
    return whole(now_s) if member.thin is None else member.thin
