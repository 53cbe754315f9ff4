"""A leg of an access pattern in motion at the flow level: where it lies now, and what its named keys have met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sim.keyspace.domain import Counts, Floats, Ints
from sim.keyspace.position import TOP, KeyRange, Position
from sim.keyspace.spread import Spread
from sim.levels.demand import Joint, Leg
from sim.names import Limit
from sim.partitions.lane import Verdict
from sim.partitions.resource import Resource
from sim.results.recorder import KeyTally, Recorder

Booleans = npt.NDArray[np.bool_]


@dataclass
class Flow:
    """One leg with its own generator.

    Attributes
    ----------
    name : of the pattern and the leg, unique.
    joint : how the leg belongs to its request.
    ceiling_ratio : ceiling units per consumed unit (F-PART-16).
    shares : share of the leg's items per serving partition, made anew by `place`.
    """

    name: str
    leg: Leg
    joint: Joint
    draws: np.random.Generator
    spread: Spread
    ceiling_ratio: float
    shares: Floats = field(default_factory=lambda: np.empty(0))
    _version: int = -1
    _layings: int = 0
    _keys: _KeyColumns | None = None
    _key_offered: Floats = field(default_factory=lambda: np.empty(0))
    _key_events: Floats = field(default_factory=lambda: np.empty(0))

    def place(self, resource: Resource) -> None:
        """Make the shares anew after a split or a rollover."""
        if self._version == resource.version:
            return
        self._version = resource.version
        cuts = resource.partitions.cuts
        self.shares = self.spread.shares_of(cuts)
        self._keys = _key_columns(self.spread, cuts, self.shares)
        if len(self._key_offered) != len(self.spread.named):
            self._key_offered = np.zeros(len(self.spread.named))
            self._key_events = np.zeros(len(self.spread.named))

    @property
    def layout(self) -> tuple[str, int]:
        """What the shares hang on: the leg, and how often it was laid anew."""
        return (self.name, self._layings)

    def lay(self, spread: Spread, resource: str, recorder: Recorder) -> None:
        """Let the leg lie elsewhere from now on."""
        if spread is not self.spread:
            self.flush_keys(resource, recorder)
            self.spread = spread
            self._version = -1
            self._layings += 1

    def note_keys(self, items_by_column: Counts, events_by_column: Floats | None) -> None:
        """Divide a stretch's items, and its throttle events, among the named keys by their part of each partition."""
        if self._keys is None:
            return
        keys, at, part = self._keys.keys, self._keys.columns, self._keys.parts
        np.add.at(self._key_offered, keys, part * (items_by_column[at] * self.leg.units))
        if events_by_column is not None:
            np.add.at(self._key_events, keys, part * events_by_column[at])

    def flush_keys(self, resource: str, recorder: Recorder) -> None:
        """Hand the named keys' tallies over and begin anew."""
        for k, key in enumerate(self.spread.named):
            if k >= len(self._key_offered) or self._key_offered[k] <= 0:
                continue
            tally = recorder.keys.setdefault((resource, key.position), KeyTally(key.text, key.sort_key, key.position))
            tally.add(self.leg.dimension, float(self._key_offered[k]), float(self._key_events[k]))
            if tally.sort_key != key.sort_key:
                tally.sort_key = None
            if self._keys is not None:
                tally.partitions = max(tally.partitions, int((self._keys.keys == k).sum()))
        self._key_offered = np.zeros(len(self.spread.named))
        self._key_events = np.zeros(len(self.spread.named))


@dataclass(frozen=True)
class _KeyColumns:
    """Named key ``keys[i]`` has the part ``parts[i]`` of the leg's traffic in partition ``columns[i]``."""

    keys: Ints
    columns: Ints
    parts: Floats


def _key_columns(spread: Spread, cuts: Sequence[Position], shares: Floats) -> _KeyColumns | None:
    if not spread.named:
        return None
    keys, columns, parts = [], [], []
    for k, key in enumerate(spread.named):
        begin, end = Position(key.position, 0), Position(key.position + 1, 0)
        column = _last_at_or_before(cuts, begin)
        while column < len(cuts) and cuts[column] < end:
            high = cuts[column + 1] if column + 1 < len(cuts) else TOP
            inside = KeyRange(max(begin, cuts[column]), min(end, high))
            mass = spread.below(inside.high) - spread.below(inside.low)
            if mass > 0 and shares[column] > 0:
                keys.append(k)
                columns.append(column)
                parts.append(min(1.0, mass / float(shares[column])))
            column += 1
    return _KeyColumns(np.array(keys, dtype=np.int64), np.array(columns, dtype=np.int64), np.array(parts, dtype=float))


def _last_at_or_before(cuts: Sequence[Position], position: Position) -> int:
    low, high = 0, len(cuts)
    while high - low > 1:
        middle = (low + high) // 2
        if cuts[middle] <= position:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class Moving:
    """A leg's items over one stretch, ticks × partitions, with their sums."""

    flow: Flow
    counts: Counts
    by_tick: Counts
    by_column: Counts

    @classmethod
    def of(cls, flow: Flow, counts: Counts) -> Moving:
        """With the sums made."""
        return cls(flow, counts, counts.sum(axis=1), counts.sum(axis=0))

    def only(self, columns: Booleans) -> Moving:
        """The same without what goes to the other partitions."""
        return Moving.of(self.flow, self.counts * columns)

    @property
    def units(self) -> float:
        """Cost of one item."""
        return self.flow.leg.units


@dataclass(frozen=True)
class Fate:
    """What became of a leg's items over a stretch in which something was refused, per tick.

    Attributes
    ----------
    refused : items refused.
    admitted : share of the items that were admitted (1 where there were none).
    nothing : requests of which every item was refused (batches).
    events : throttle events per limit, ticks × ``columns``.
    columns : the partitions in which something was refused.
    """

    refused: Floats
    admitted: Floats
    nothing: Floats
    events: Mapping[Limit, Floats]
    columns: Ints


def refused_shares(
    verdict: Verdict, asked: Floats, moving: Sequence[Moving], *, by_cost: bool
) -> list[dict[Limit, Floats]]:
    """For each leg and limit the share of the leg's items that was refused, ticks × the verdict's columns.

    Attempts of one cost are refused alike. Where costs differ (``by_cost``) the cheapest are served first: in a bucket that is nearly dry
    a cheap attempt finds its tokens and a dear one does not.
    """
    here = asked[:, verdict.columns]
    lost = here - verdict.served
    alike = np.divide(lost, here, out=np.zeros(here.shape), where=here > 0)
    if len(verdict.refused) == 1 and not by_cost:
        return [dict.fromkeys(verdict.refused, alike)] * len(moving)
    part = {
        limit: np.divide(amount, lost, out=np.zeros(here.shape), where=lost > 0)
        for limit, amount in verdict.refused.items()
    }
    if not by_cost:
        return [{limit: share * alike for limit, share in part.items()}] * len(moving)
    left = verdict.served
    by_units: dict[float, dict[Limit, Floats]] = {}
    for cost in sorted({m.units for m in moving}):
        mine = np.zeros(here.shape)
        for m in moving:
            if m.units == cost:
                mine += m.counts[:, verdict.columns] * cost
        given = np.minimum(mine, left)
        left = left - given
        refused = np.divide(mine - given, mine, out=np.zeros(here.shape), where=mine > 0)
        by_units[cost] = {limit: share * refused for limit, share in part.items()}
    return [by_units[m.units] for m in moving]


def fate_of(moving: Moving, columns: Ints, refused_shares: Mapping[Limit, Floats]) -> Fate:
    """What became of a leg, given for each limit the share it refused, ticks × ``columns``.

    Of a batch whose items are admitted one by one, all are refused with the probability that each is.
    """
    leg = moving.flow.leg
    here = moving.counts[:, columns]
    events = {limit: here * share for limit, share in refused_shares.items()}
    cells = np.zeros(here.shape)
    for refusals in events.values():
        cells += refusals
    refused = cells.sum(axis=1)
    items = moving.by_tick
    admitted = 1.0 - np.divide(refused, items, out=np.zeros(len(items)), where=items > 0)
    if leg.items == 1:
        nothing = refused
    elif leg.together:
        share = np.divide(cells, here, out=np.zeros(here.shape), where=here > 0)
        nothing = (here / leg.items * share**leg.items).sum(axis=1)
    else:
        nothing = items / leg.items * (1.0 - admitted) ** leg.items
    return Fate(refused, admitted, nothing, events, columns)


def fate_with_blocked(moving: Moving, blocked: Booleans, limit: Limit, other: Fate | None) -> Fate:
    """What became of a leg some of whose partitions refuse it for ever, ``other`` being its fate in the rest."""
    columns = np.arange(len(blocked))
    shares = {limit: np.broadcast_to(blocked.astype(float), moving.counts.shape).copy()}
    if other is not None:
        for name, events in other.events.items():
            counts = moving.counts[:, other.columns]
            share = np.divide(events, counts, out=np.zeros(events.shape), where=counts > 0)
            shares.setdefault(name, np.zeros(moving.counts.shape))[:, other.columns] += share * ~blocked[other.columns]
    return fate_of(moving, columns, shares)


def nothing_served(legs: Sequence[Moving], fates: Sequence[Fate | None]) -> Floats:
    """Batches of which no item was served, per tick, where a batch's items are dealt to several legs (some of them missing)."""
    first = legs[0].flow.leg
    items = np.sum([leg.counts for leg in legs], axis=0).astype(float)
    refused = np.zeros(items.shape)
    for fate in fates:
        if fate is not None:
            for cells in fate.events.values():
                refused[:, fate.columns] += cells
    if first.together:
        share = np.divide(refused, items, out=np.zeros(items.shape), where=items > 0)
        return np.asarray((items / first.items * share**first.items).sum(axis=1))
    asked, lost = items.sum(axis=1), refused.sum(axis=1)
    share = np.divide(lost, asked, out=np.zeros(asked.shape), where=asked > 0)
    return np.asarray(asked / first.items * share**first.items)
