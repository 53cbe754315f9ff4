"""A leg of an access pattern in motion at the flow level: its items per tick and partition, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sim.keyspace.domain import Counts, Floats, Ints
from sim.levels.demand import Joint, Leg
from sim.levels.laid import Laid
from sim.names import Limit
from sim.partitions.lane import Verdict

Booleans = npt.NDArray[np.bool_]


@dataclass
class Entry(Laid):
    """What the items of a flow ask of an index as well, with its own generator.

    Attributes
    ----------
    probability : share of the flow's items that have the entry.
    new_bytes : bytes that an entry adds to what is stored.
    """

    draws: np.random.Generator
    probability: float
    new_bytes: float


@dataclass
class Flow(Laid):
    """One leg, or one term of a leg whose keys hang together with those of indexes, with its own generator.

    Attributes
    ----------
    joint : how the leg belongs to its request.
    ceiling_ratio : ceiling units per consumed unit (F-PART-16).
    fraction : share of the pattern's items, or requests, that go this way.
    entries : what it asks of indexes.
    passes : share of it that no cache answers and that lies where ``spread`` says.
    """

    leg: Leg
    joint: Joint
    draws: np.random.Generator
    ceiling_ratio: float
    fraction: float
    entries: tuple[Entry, ...] = ()
    passes: float = 1.0

    def place(self) -> None:
        """Make all shares anew after a split or a rollover."""
        super().place()
        for entry in self.entries:
            entry.place()


@dataclass(frozen=True)
class Moving:
    """A leg's items over one stretch, ticks × partitions, with their sums.

    Attributes
    ----------
    entries : for each of the flow's index entries their number, ticks × the index's partitions.
    """

    flow: Flow
    counts: Counts
    by_tick: Counts
    by_column: Counts
    entries: tuple[Counts, ...] = ()

    @classmethod
    def of(cls, flow: Flow, counts: Counts, entries: Sequence[Counts] = ()) -> Moving:
        """With the sums made."""
        return cls(flow, counts, counts.sum(axis=1), counts.sum(axis=0), tuple(entries))

    def only(self, columns: Booleans) -> Moving:
        """The same without what goes to the other partitions."""
        kept = self.counts * columns
        if not self.entries:
            return Moving.of(self.flow, kept)
        share = np.divide(kept.sum(axis=1), self.by_tick, out=np.zeros(len(kept)), where=self.by_tick > 0)
        return Moving.of(self.flow, kept, [cells * share[:, None] for cells in self.entries])

    def thinned(self, share: Floats) -> Moving:
        """The same with only a share of each tick's items."""
        part = share[:, None]
        return Moving.of(self.flow, self.counts * part, [cells * part for cells in self.entries])

    @property
    def units(self) -> float:
        """Cost of one item."""
        return self.flow.units


@dataclass(frozen=True)
class Refusals:
    """Throttle events of one limit at one resource, ticks × ``columns``."""

    limit: Limit
    columns: Ints
    cells: Floats


@dataclass(frozen=True)
class Fate:
    """What became of a leg's items over a stretch in which something was refused, per tick.

    Attributes
    ----------
    refused : items refused, by whatever resource.
    admitted : share of the items that were admitted (1 where there were none).
    nothing : requests of which every item was refused (batches).
    refusals : throttle events at the table, or the index that is read; ``at_entries`` at the indexes, for each of the flow's entries.
    """

    refused: Floats
    admitted: Floats
    nothing: Floats
    refusals: tuple[Refusals, ...]
    at_entries: tuple[tuple[Refusals, ...], ...] = ()

    @property
    def everywhere(self) -> tuple[Refusals, ...]:
        """Throttle events at the table and at all indexes."""
        return (*self.refusals, *(refusals for entry in self.at_entries for refusals in entry))

    @property
    def events(self) -> Floats:
        """All throttle events, per tick."""
        total = np.zeros(len(self.refused))
        for refusals in self.everywhere:
            total += refusals.cells.sum(axis=1)
        return total


def events_by_limit(fates: Sequence[Fate]) -> dict[Limit, Floats]:
    """Throttle events of some legs per limit and tick, in the order of the limits."""
    events: dict[Limit, Floats] = {}
    for fate in fates:
        for one in fate.everywhere:
            by_tick = one.cells.sum(axis=1)
            events[one.limit] = events[one.limit] + by_tick if one.limit in events else by_tick
    return {limit: events[limit] for limit in Limit if limit in events}


def refused_shares(
    verdict: Verdict, asked: Floats, moving: Sequence[Moving], *, by_cost: bool
) -> list[dict[Limit, Floats]]:
    """For each leg and limit the share of the leg's items that was refused, ticks × the verdict's columns.

    Attempts of one cost are refused alike. Where costs differ (``by_cost``) the cheapest are served first: in a bucket that is nearly dry
    a cheap attempt finds its tokens and a dear one does not.
    """
    shares = alike_shares(verdict, asked)
    if not by_cost:
        return [shares] * len(moving)
    here = asked[:, verdict.columns]
    lost = here - verdict.served
    part = {
        limit: np.divide(amount, lost, out=np.zeros(here.shape), where=lost > 0)
        for limit, amount in verdict.refused.items()
    }
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


def alike_shares(verdict: Verdict, asked: Floats) -> dict[Limit, Floats]:
    """For each limit the share of all attempts that it refused, ticks × the verdict's columns."""
    here = asked[:, verdict.columns]
    lost = here - verdict.served
    alike = np.divide(lost, here, out=np.zeros(here.shape), where=here > 0)
    if len(verdict.refused) == 1:
        return dict.fromkeys(verdict.refused, alike)
    return {
        limit: np.divide(amount, lost, out=np.zeros(here.shape), where=lost > 0) * alike
        for limit, amount in verdict.refused.items()
    }


def refusals_of(counts: Counts, columns: Ints, shares: Mapping[Limit, Floats]) -> tuple[Refusals, ...]:
    """The throttle events of some items, given for each limit the share it refused, ticks × ``columns``."""
    here = counts[:, columns]
    return tuple(Refusals(limit, columns, here * share) for limit, share in shares.items())


def lost_in(refusals: Sequence[Refusals], columns: int, ticks: int) -> Floats:
    """Items refused, ticks × partitions."""
    lost = np.zeros((ticks, columns))
    for one in refusals:
        lost[:, one.columns] += one.cells
    return lost


def fate_of(moving: Moving, refusals: tuple[Refusals, ...], at_entries: tuple[tuple[Refusals, ...], ...] = ()) -> Fate:
    """What became of a leg, given the throttle events that it met.

    An item passes when its table and all its indexes admit it, which within a leg (a term of it) are independent. Of a batch whose items
    are admitted one by one, all are refused with the probability that each is.
    """
    leg = moving.flow.leg
    items = moving.by_tick
    at_entries = at_entries or ((),) * len(moving.flow.entries)
    if len(refusals) == 1:  # as it is added up below, in fewer steps
        here = moving.counts[:, refusals[0].columns]
        cells = refusals[0].cells
    else:
        columns = np.unique(np.concatenate([r.columns for r in refusals])) if refusals else np.empty(0, dtype=np.int64)
        here = moving.counts[:, columns]
        cells = lost_in(refusals, moving.counts.shape[1], len(items))[:, columns]
    lost_here = cells.sum(axis=1)
    admitted_here = 1.0 - np.divide(lost_here, items, out=np.zeros(len(items)), where=items > 0)
    elsewhere = np.ones(len(items))
    for entry in at_entries:
        if entry:
            lost = np.sum([r.cells.sum(axis=1) for r in entry], axis=0)
            elsewhere = elsewhere * (1.0 - np.divide(lost, items, out=np.zeros(len(items)), where=items > 0))
    admitted = admitted_here * elsewhere
    refused = lost_here if not any(at_entries) else items * (1.0 - admitted)
    if leg.items == 1:
        nothing = refused
    elif leg.together:
        share = np.divide(cells, here, out=np.zeros(here.shape), where=here > 0)
        share = 1.0 - (1.0 - share) * elsewhere[:, None]
        nothing = (here / leg.items * share**leg.items).sum(axis=1)
        rest = items - here.sum(axis=1)
        nothing = nothing + rest / leg.items * (1.0 - elsewhere) ** leg.items
    else:
        nothing = items / leg.items * (1.0 - admitted) ** leg.items
    return Fate(refused, admitted, nothing, refusals, at_entries)


def fate_with_blocked(
    moving: Moving,
    blocked: Booleans,
    limit: Limit,
    barred: Sequence[Limit | None],
    other: Fate | None,
) -> Fate:
    """What became of a leg some of whose partitions refuse it for ever, ``other`` being its fate in the rest.

    ``barred``: for each index entry the limit that it never passes, None where it may pass.
    """
    columns = np.arange(len(blocked))
    cells = {limit: moving.counts * np.broadcast_to(blocked.astype(float), moving.counts.shape)}
    if other is not None:
        for one in other.refusals:
            mine = cells.setdefault(one.limit, np.zeros(moving.counts.shape))
            mine[:, one.columns] += one.cells * ~blocked[one.columns]
    refusals = tuple(Refusals(name, columns, amounts) for name, amounts in cells.items() if amounts.any())
    at_entries = list(((),) * len(barred) if other is None else other.at_entries)
    for e, bar in enumerate(barred):
        if bar is not None:
            at_entries[e] = (
                Refusals(bar, np.arange(moving.entries[e].shape[1]), np.asarray(moving.entries[e], float)),
            )
    return fate_of(moving, refusals, tuple(at_entries))


def nothing_served(legs: Sequence[Moving], fates: Sequence[Fate | None]) -> Floats:
    """Batches of which no item was served, per tick, where a batch's items are dealt to several legs (some missing, or terms)."""
    first = legs[0].flow.leg
    items = np.sum([leg.counts for leg in legs], axis=0).astype(float)
    refused = np.zeros(items.shape)
    for leg, fate in zip(legs, fates, strict=True):
        if fate is None:
            continue
        lost = lost_in(fate.refusals, items.shape[1], len(items))
        if any(fate.at_entries):  # the index refuses a part of what every partition lets through
            here = lost.sum(axis=1)
            passed = leg.by_tick - here
            also = np.divide(fate.refused - here, passed, out=np.zeros(len(here)), where=passed > 0)
            lost = lost + (leg.counts - lost) * also[:, None]
        refused += lost
    if first.together:
        share = np.divide(refused, items, out=np.zeros(items.shape), where=items > 0)
        return np.asarray((items / first.items * share**first.items).sum(axis=1))
    asked, lost_by_tick = items.sum(axis=1), refused.sum(axis=1)
    share = np.divide(lost_by_tick, asked, out=np.zeros(asked.shape), where=asked > 0)
    return np.asarray(asked / first.items * share**first.items)


def with_entries(moving: Moving, entries: Sequence[Counts]) -> Moving:
    """The same with its index entries dealt."""
    return replace(moving, entries=tuple(entries))
