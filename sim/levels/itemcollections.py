"""Item collections of a table with a local secondary index: each lies in one partition and grows to 10 GB, no further (F-LSI-2).

A write that would add to a full collection fails with ItemCollectionSizeLimitExceededException, at once and for good; reads, writes that
add nothing, and all other collections go on. AWS does not say whether such a write is charged; here it takes nothing, like any
request that the service rejects.

Collections are followed by their partition key, the `FOLLOWED_MAX` heaviest of each access pattern. At the flow level a collection has its
part of what its partition was written; it is full, or has room again, from the tick after the one in which its size crossed the limit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sim.keyspace.cutting import load_below
from sim.keyspace.domain import Counts, Floats, Ints
from sim.keyspace.position import Position
from sim.keyspace.spread import Spread
from sim.levels.demand import Joint
from sim.levels.moving import Fate, Flow, Moving, lost_in
from sim.levels.patterns import Drawn, Pattern
from sim.levels.randomness import generator
from sim.limits import ITEM_COLLECTION_BYTES_MAX
from sim.names import TABLE
from sim.partitions.bucket import grains
from sim.partitions.resource import Resource
from sim.scenario import Scenario

FOLLOWED_MAX = 2**16  # collections of one access pattern

_Place = tuple[tuple[str, int], int]


def collection_bytes(scenario: Scenario, resource: Resource) -> Callable[[int], float]:
    """Bytes at second 0 of the collection at a position: as given for each, or its part of the table's data."""
    each, stored = scenario.table.collection_bytes, float(scenario.table.storage_bytes or 0.0)
    if each is not None:
        return lambda position: float(each)
    total = sum(weight for _, weight in resource.stored_loads)

    def part(position: int) -> float:
        low, high = Position(position, 0), Position(position + 1, 0)
        inside = load_below(resource.stored_loads, high) - load_below(resource.stored_loads, low)
        return stored * inside / total if stored else 0.0

    return part


class ItemCollections:
    """All collections that something is added to, or taken from.

    Attributes
    ----------
    sizes : bytes of each collection, as of the last time that anything moved; ``is_full``: whether it refuses what would add to it.
    """

    def __init__(
        self, patterns: Sequence[Pattern], resource: Resource, size_at_start: Callable[[int], float], seed: int
    ) -> None:
        self._resource = resource
        self._size_at_start = size_at_start
        self._index: dict[int, int] = {}
        self.sizes: Floats = np.empty(0)
        self.is_full: np.ndarray = np.empty(0, dtype=bool)
        self._changes: dict[int, _Changes] = {}
        if resource.pinned:
            for pattern in patterns:
                for flow in pattern.flows:
                    if flow.leg.new_bytes and flow.resource.name == TABLE and not pattern.demand.invalid:
                        draws = generator(seed, flow.name, "full collections")
                        self._changes[id(flow)] = _Changes(flow, draws)
        self._most = max((_bytes_each(c.flow) for c in self._changes.values()), default=0.0)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._changes)

    def __contains__(self, flow: Flow) -> bool:
        """Whether a leg changes collections."""
        return id(flow) in self._changes

    @property
    def generators(self) -> list[np.random.Generator]:
        """Whatever is drawn here is drawn with these."""
        return [change.draws for change in self._changes.values()]

    def follow(self, spread: Spread) -> Ints:
        """Numbers of the heaviest keys of a spread, by their order there; -1 for the others."""
        numbers = np.full(len(spread.positions), -1, dtype=np.int64)
        heaviest = np.argsort(-spread.shares, kind="stable")[:FOLLOWED_MAX]
        fresh = []
        for at, position in zip(heaviest.tolist(), spread.positions[heaviest].tolist(), strict=True):
            if position not in self._index:
                self._index[position] = len(self._index)
                fresh.append(self._size_at_start(position))
            numbers[at] = self._index[position]
        if fresh:
            self.sizes = np.concatenate((self.sizes, fresh))
            full = np.array(fresh) + self._most > ITEM_COLLECTION_BYTES_MAX
            self.is_full = np.concatenate((self.is_full, full))
        return numbers

    # At the flow level.

    def settle_down(self) -> None:
        """Follow splits and new keys; what was written before stays where it went."""
        if all(change.is_current for change in self._changes.values()):
            return
        for change in self._changes.values():
            self._book(change)
        for change in self._changes.values():
            change.place(self)

    def _book(self, change: _Changes) -> None:
        if change.items.any():
            np.add.at(self.sizes, change.keys, change.bytes_of(change.items))
            change.items = np.zeros(len(change.items))

    def turn_away(self, drawn: Drawn) -> Drawn:
        """What is left of a stretch's requests when those that would add to a full collection are taken out."""
        pattern = drawn.pattern
        mine = [self._changes.get(id(leg.flow)) for leg in drawn.legs]
        if not any(one is not None and one.full_part.any() and one.flow.leg.new_bytes > 0 for one in mine):
            return drawn
        requests = np.asarray(drawn.requests)
        first = drawn.legs[0]
        if pattern.demand.joint is Joint.ONE_OF or (len(mine) == 1 and first.flow.leg.together):
            turned = np.zeros(len(requests))
            legs = []
            for leg, one in zip(drawn.legs, mine, strict=True):
                if one is None or not one.full_part.any() or one.flow.leg.new_bytes < 0:
                    legs.append(leg)
                    continue
                items = leg.flow.leg.items if leg.flow.leg.together else 1
                away = one.draws.binomial(np.asarray(leg.counts, dtype=np.int64) // items, one.full_part)
                turned += away.sum(axis=1)
                legs.append(_without(leg, leg.counts - away * items))
            return replace(drawn, legs=legs, turned_away=turned)
        # A batch or a transaction with one such item fails whole.
        passing = 1.0
        for leg, one in zip(drawn.legs, mine, strict=True):
            if one is not None and leg.flow.leg.new_bytes > 0:
                share = leg.flow.fraction if pattern.demand.joint is Joint.EACH else 1.0
                passing *= (1.0 - share * one.full_share) ** leg.flow.leg.items
        draws = next(one.draws for one in mine if one is not None)
        turned = draws.binomial(np.asarray(requests, dtype=np.int64), min(max(1.0 - passing, 0.0), 1.0)).astype(float)
        stay = np.divide(requests - turned, requests, out=np.zeros(len(requests)), where=requests > 0)
        legs = []
        for leg, one in zip(drawn.legs, mine, strict=True):
            counts = np.asarray(leg.counts, dtype=float)
            if one is not None and leg.flow.leg.new_bytes > 0:
                counts = counts * (1.0 - one.full_part)
            total = counts.sum(axis=1)
            wanted = leg.by_tick * stay
            by = np.divide(wanted, total, out=np.zeros(len(total)), where=total > 0)
            legs.append(_without(leg, grains(counts * by[:, None])))
        return replace(drawn, legs=legs, turned_away=turned)

    def first_change(self, settled: Sequence[Moving], fates: Mapping[int, Fate]) -> int | None:
        """The first tick of a stretch after which a collection is full, or has room again, that was not so before."""
        ticks = []
        grown = np.zeros(len(self.sizes))
        served = self._served(settled, fates)
        for change, cells in served:
            np.add.at(grown, change.keys, np.abs(change.bytes_of(cells.sum(axis=0))))
        sizes = self.sizes.copy()
        for change in self._changes.values():
            np.add.at(sizes, change.keys, change.bytes_of(change.items))
        near = np.where(
            self.is_full,
            sizes - grown + self._most <= ITEM_COLLECTION_BYTES_MAX,
            sizes + grown + self._most > ITEM_COLLECTION_BYTES_MAX,
        )
        for key in np.flatnonzero(near).tolist():
            size = self._size_by_tick(key, served)
            changed = np.flatnonzero((size + self._most > ITEM_COLLECTION_BYTES_MAX) != self.is_full[key])
            ticks += changed[:1].tolist()
        return min(ticks, default=None)

    def _size_by_tick(self, key: int, served: Sequence[tuple[_Changes, Floats]]) -> Floats:
        """Bytes of one collection after each tick."""
        size = np.full(len(served[0][1]) if served else 0, self.sizes[key])
        cells_of = {id(change): cells for change, cells in served}
        for change in self._changes.values():
            at = np.flatnonzero(change.keys == key)
            if not len(at):
                continue
            column, part = int(change.columns[at[0]]), float(change.parts[at[0]])
            items = np.full(len(size), change.items[column])
            if id(change) in cells_of:
                items = items + np.cumsum(cells_of[id(change)][:, column])
            size = size + part * (items * change.flow.leg.new_bytes)
        return size

    def accept(self, settled: Sequence[Moving], fates: Mapping[int, Fate]) -> None:
        """Add what was served, and see which collections are full now."""
        for change, cells in self._served(settled, fates):
            change.items = change.items + cells.sum(axis=0)
        sizes = self.sizes.copy()
        for change in self._changes.values():
            np.add.at(sizes, change.keys, change.bytes_of(change.items))
        full = sizes + self._most > ITEM_COLLECTION_BYTES_MAX
        if (full != self.is_full).any():
            for change in self._changes.values():
                self._book(change)
            self.is_full = full
            for change in self._changes.values():
                change.weigh(self.is_full)

    def _served(self, settled: Sequence[Moving], fates: Mapping[int, Fate]) -> list[tuple[_Changes, Floats]]:
        """Items served of each leg that changes collections, ticks × partitions, in whole grains: their sums are exact."""
        served = []
        for moving in settled:
            change = self._changes.get(id(moving.flow))
            if change is not None:
                served.append((change, grains(served_cells(moving, fates.get(id(moving.flow))))))
        return served

    # At the request level.

    def draw(self, flow: Flow, column: int, chance: float) -> int:
        """Number of the collection that an item of a leg changes, given its partition; -1: none, or none that is followed.

        Parameters
        ----------
        chance : a random number in [0, 1).
        """
        change = self._changes.get(id(flow))
        if change is None:
            return -1
        part = flow.leg.new_fraction or 1.0
        return change.draw(self, column, chance / part) if chance < part else -1

    def is_beyond(self, key: int, flow: Flow) -> bool:
        """Whether an item of a leg would bring a collection over the limit."""
        each = _bytes_each(flow)
        return key >= 0 and each > 0 and bool(self.sizes[key] + each > ITEM_COLLECTION_BYTES_MAX)

    def add(self, key: int, flow: Flow) -> None:
        """An item of a leg was written, or deleted."""
        if key >= 0:
            self.sizes[key] = max(0.0, self.sizes[key] + _bytes_each(flow))


class _Changes:
    """One leg that adds to collections or takes from them.

    Attributes
    ----------
    keys, columns, parts : of each followed key its number, its partition, and its part of what the leg writes there.
    full_part : part of what comes to each partition that would go to full collections; ``full_share`` of all.
    items : served in each partition, and not booked to the collections yet.
    """

    def __init__(self, flow: Flow, draws: np.random.Generator) -> None:
        self.flow = flow
        self.draws = draws
        self._mark: _Place | None = None
        self.keys: Ints = np.empty(0, dtype=np.int64)
        self.columns: Ints = self.keys
        self.parts: Floats = np.empty(0)
        self.full_part: Floats = np.empty(0)
        self.full_share = 0.0
        self.items: Floats = np.empty(0)
        self._tables: dict[int, tuple[list[float], list[int]]] = {}

    @property
    def is_current(self) -> bool:
        return self._mark == (self.flow.layout, self.flow.resource.version)

    def place(self, collections: ItemCollections) -> None:
        """Find the keys in the present partitions."""
        self.flow.place()
        self._mark = (self.flow.layout, self.flow.resource.version)
        spread = self.flow.spread
        numbers = collections.follow(spread)
        followed = np.flatnonzero(numbers >= 0)
        cuts = np.array([cut.hash for cut in self.flow.resource.partitions.cuts], dtype=np.uint64)
        self.keys = numbers[followed]
        self.columns = (np.searchsorted(cuts, spread.positions[followed], side="right") - 1).astype(np.int64)
        self._shares = np.asarray(spread.shares[followed], dtype=float)
        self.items = np.zeros(len(cuts))
        self._tables = {}
        self.weigh(collections.is_full)

    def weigh(self, is_full: np.ndarray) -> None:
        """Part of each key, given which collections are full."""
        here = self.flow.shares
        grows = self.flow.leg.new_bytes > 0
        full = is_full[self.keys] if grows else np.zeros(len(self.keys), dtype=bool)
        new = self.flow.leg.new_fraction if grows else 1.0  # a put of what is there goes on
        lost = np.asarray(np.bincount(self.columns[full], weights=self._shares[full] * new, minlength=len(here)))
        self.full_part = np.clip(np.divide(lost, here, out=np.zeros(len(here)), where=here > 0), 0.0, 1.0)
        self.full_part[self.full_part > 1.0 - 1e-9] = 1.0
        self.full_share = min(1.0, float(lost.sum()) / max(float(here.sum()), 1e-300))
        left = (here - lost)[self.columns]
        self.parts = np.divide(self._shares, left, out=np.zeros(len(left)), where=(left > 1e-12) & ~full)
        self.parts = np.minimum(self.parts, 1.0)

    def bytes_of(self, items: Floats) -> Floats:
        """What so many items per partition change in each key."""
        return np.asarray(self.parts * (items * self.flow.leg.new_bytes)[self.columns])

    def draw(self, collections: ItemCollections, column: int, chance: float) -> int:
        """A key of a partition by its part of the leg's traffic there, whether full or not; -1: none that is followed."""
        if not self.is_current:
            self.place(collections)
        table = self._tables.get(column)
        if table is None:
            at = np.flatnonzero(self.columns == column)
            share = float(self.flow.shares[column])
            table = (np.cumsum(self._shares[at] / share).tolist(), self.keys[at].tolist()) if share > 0 else ([], [])
            self._tables[column] = table
        place = bisect_right(table[0], chance)
        if place < len(table[1]):
            return table[1][place]
        return table[1][-1] if table[1] and table[0][-1] > 1.0 - 1e-9 else -1


def _bytes_each(flow: Flow) -> float:
    """Bytes of one item that is added (below 0: taken away)."""
    return flow.leg.new_bytes / (flow.leg.new_fraction or 1.0)


def served_cells(moving: Moving, fate: Fate | None) -> Counts:
    """Items of a leg that were served, ticks × partitions."""
    if fate is None:
        return moving.counts
    if moving.flow.joint is Joint.ALL:
        return np.asarray(moving.counts * fate.admitted[:, None])
    here = moving.counts - lost_in(fate.refusals, moving.counts.shape[1], len(moving.counts))
    if not any(fate.at_entries):
        return here
    total = here.sum(axis=1)
    share = np.divide(moving.by_tick - fate.refused, total, out=np.zeros(len(total)), where=total > 0)
    return np.asarray(here * share[:, None])


def _without(leg: Moving, counts: Counts) -> Moving:
    """A leg with fewer items, and as much fewer index entries."""
    total = counts.sum(axis=1)
    share = np.divide(total, leg.by_tick, out=np.zeros(len(total)), where=leg.by_tick > 0)
    return Moving.of(leg.flow, counts, [grains(cells * share[:, None]) for cells in leg.entries])
