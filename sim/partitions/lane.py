"""What admits the reads, or the writes, of one resource: gates in a row, each a limit with its buckets.

A *column gate* has a bucket per partition (the ceiling; under ``static`` admission the partition's part of the provisioned rate). A
*total gate* has one bucket for the resource (the provisioned rate, the table's quota, the on-demand maximum). An attempt passes when every
gate it meets has its full cost; a refused attempt takes tokens nowhere. Within a tick scarce units go to all attempts alike.

`Lane.settle` takes a whole stretch at once and walks tick by tick only where something runs dry; `Lane.settle_plainly` is the plain
form, which it must equal to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sim.keyspace.domain import Floats, Ints
from sim.names import Dimension, Limit
from sim.partitions.bucket import Buckets, floor_grains

Booleans = npt.NDArray[np.bool_]


@dataclass
class Gate:
    """A limit and its buckets. ``by_ceiling``: it counts ceiling units, which may differ from consumed ones (F-PART-16)."""

    limit: Limit
    buckets: Buckets
    by_ceiling: bool = False


@dataclass(frozen=True)
class Demand:
    """What is asked of a lane over some ticks.

    Attributes
    ----------
    units : units asked, ticks × columns.
    ceiling_ratio : ceiling units per consumed unit, ticks × columns, or None where they are the same.
    quantum : for each column the cost of one attempt where all attempts of the column cost alike, else 0: then units flow like a fluid.
    """

    units: Floats
    ceiling_ratio: Floats | None
    quantum: Floats

    def columns(self, columns: Ints) -> Demand:
        """The same for some of the columns."""
        ratio = None if self.ceiling_ratio is None else self.ceiling_ratio[:, columns]
        return Demand(self.units[:, columns], ratio, self.quantum[columns])

    def ticks(self, first: int, last: int | None = None) -> Demand:
        """The same for some of the ticks."""
        ratio = None if self.ceiling_ratio is None else self.ceiling_ratio[first:last]
        return Demand(self.units[first:last], ratio, self.quantum)


@dataclass(frozen=True)
class Verdict:
    """What became of the demand in the columns where something was refused; everything else was served in full.

    Attributes
    ----------
    columns : those columns.
    served : units served, ticks × columns.
    refused : for each limit the units it refused, ticks × columns.
    """

    columns: Ints
    served: Floats
    refused: Mapping[Limit, Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class Offer:
    """What one tick would serve, before it is taken: units served, and refused per limit, for each column."""

    served: Floats
    refused: Mapping[Limit, Floats]


class Lane:
    """The gates of one dimension of a resource, in the order in which a refusal is named (F-ERR-7)."""

    def __init__(
        self, dimension: Dimension, columns: Sequence[Gate], totals: Sequence[Gate], *, debt: bool = False
    ) -> None:
        self.dimension = dimension
        self.columns = list(columns)
        self.totals = list(totals)
        self._debt = debt

    def largest_cost(self, tick_s: float) -> float:
        """The greatest cost that the total gates can ever admit at once; an attempt above it never passes."""
        if self._debt or not self.totals:
            return np.inf
        return min(float(gate.buckets.depth[0] + gate.buckets.refill(tick_s)[0]) for gate in self.totals)

    # One tick, all columns: the plain form.

    def offer(self, units: Floats, ceiling_ratio: Floats | None, quantum: Floats, tick_s: float) -> Offer:
        """What a tick would serve of ``units`` (one per column). Takes nothing."""
        rooms = [
            self._room(gate, ceiling_ratio, gate.buckets.level + gate.buckets.refill(tick_s)) for gate in self.columns
        ]
        cap = self._served(units, rooms, quantum)
        refused: dict[Limit, Floats] = {}
        passing, served = units, cap
        binding = self._binding_total(float(cap.sum()), tick_s)
        if binding is not None:
            gate, room = binding
            total = self._whole(room, float(quantum.max()) if _alike(quantum, units) else 0.0)
            share = _fill(cap, units, total)
            passing = floor_grains(units * share)
            served = np.minimum(cap, passing)
            refused[gate.limit] = units - passing
        for gate, room_ in zip(self.columns, rooms, strict=True):
            after = (
                np.minimum(passing, np.maximum(room_, 0.0))
                if gate is not self.columns[-1]
                else np.minimum(passing, served)
            )
            _add(refused, gate.limit, passing - after)
            passing = after
        return Offer(served, {limit: amount for limit, amount in refused.items() if amount.any()})

    def take(self, served: Floats, ceiling_ratio: Floats | None, tick_s: float) -> None:
        """Take what one tick served from every bucket."""
        for gate in self.columns:
            buckets = gate.buckets
            cost = served if ceiling_ratio is None or not gate.by_ceiling else floor_grains(served * ceiling_ratio)
            buckets.level = np.minimum(buckets.depth, buckets.level + buckets.refill(tick_s) - cost)
        total = served.sum()
        for gate in self.totals:
            buckets = gate.buckets
            buckets.level = np.minimum(buckets.depth, buckets.level + buckets.refill(tick_s) - total)

    def settle_plainly(self, demand: Demand, tick_s: float) -> Verdict | None:
        """Serve a stretch tick by tick, every column: the reference for `settle`."""
        ticks, count = demand.units.shape
        served = np.empty((ticks, count))
        refused: dict[Limit, Floats] = {}
        for t in range(ticks):
            ratio = None if demand.ceiling_ratio is None else demand.ceiling_ratio[t]
            offer = self.offer(demand.units[t], ratio, demand.quantum, tick_s)
            self.take(offer.served, ratio, tick_s)
            served[t] = offer.served
            for limit, amount in offer.refused.items():
                refused.setdefault(limit, np.zeros((ticks, count)))[t] = amount
        if not refused:
            return None
        return Verdict(np.arange(count), served, refused)

    # A stretch at once.

    def settle(self, demand: Demand, tick_s: float) -> Verdict | None:
        """Serve a stretch; None when everything was served in full.

        Columns that do not run dry are settled in closed form, the others are walked on their own; only from the tick on at which a
        total gate runs dry is the whole resource walked together.
        """
        first = self._settle_columns(demand, tick_s, commit=False)
        binds_at = self._first_dry_total(first, tick_s)
        if binds_at is None:
            self._settle_columns(demand, tick_s, commit=True, done=first)
            return first.verdict
        head = None
        if binds_at > 0:
            head = self._settle_columns(demand.ticks(0, binds_at), tick_s, commit=True).verdict
        tail = self.settle_plainly(demand.ticks(binds_at), tick_s)
        return _join(head, binds_at, tail, demand)

    def serves_all(self, demand: Demand, tick_s: float) -> bool:
        """Whether a stretch would be served in full. Takes nothing."""
        settled = self._settle_columns(demand, tick_s, commit=False)
        return settled.verdict is None and self._first_dry_total(settled, tick_s) is None

    def _settle_columns(self, demand: Demand, tick_s: float, *, commit: bool, done: _Columns | None = None) -> _Columns:
        if done is None:
            dry = np.zeros(demand.units.shape[1], dtype=bool)
            ends = []
            for gate in self.columns:
                asked = demand.units
                if demand.ceiling_ratio is not None and gate.by_ceiling:
                    asked = floor_grains(demand.units * demand.ceiling_ratio)
                end, gate_dry = gate.buckets.levels_without_dryness(asked, tick_s)
                ends.append(end)
                dry |= gate_dry
            columns = np.flatnonzero(dry)
            verdict = None
            if len(columns):
                verdict, levels = self._walk(columns, demand.columns(columns), tick_s)
                for end, level in zip(ends, levels, strict=True):
                    end[columns] = level
            totals = demand.units.sum(axis=1)
            if verdict is not None:
                totals -= demand.units[:, columns].sum(axis=1) - verdict.served.sum(axis=1)
            done = _Columns(verdict, ends, totals)
        if commit:
            for gate, end in zip(self.columns, done.ends, strict=True):
                gate.buckets.level = end
            for gate in self.totals:
                end, _ = gate.buckets.levels_without_dryness(done.totals[:, None], tick_s)
                gate.buckets.level = end
        return done

    def _first_dry_total(self, settled: _Columns, tick_s: float) -> int | None:
        ticks = [gate.buckets.first_dry_tick(settled.totals, tick_s) for gate in self.totals]
        return min((t for t in ticks if t is not None), default=None)

    def _walk(self, columns: Ints, demand: Demand, tick_s: float) -> tuple[Verdict, list[Floats]]:
        """Serve some columns tick by tick without the totals; returns what was served and the levels at the end."""
        ticks = len(demand.units)
        levels = [gate.buckets.level[columns] for gate in self.columns]
        refills = [gate.buckets.refill(tick_s)[columns] for gate in self.columns]
        depths = [gate.buckets.depth[columns] for gate in self.columns]
        served = np.empty_like(demand.units)
        rooms = [np.empty_like(demand.units) for _ in self.columns]
        for t in range(ticks):
            ratio = None if demand.ceiling_ratio is None else demand.ceiling_ratio[t]
            available = [level + refill for level, refill in zip(levels, refills, strict=True)]
            here = [self._room(gate, ratio, a) for gate, a in zip(self.columns, available, strict=True)]
            for room, value in zip(rooms, here, strict=True):
                room[t] = value
            give = self._served(demand.units[t], here, demand.quantum)
            served[t] = give
            for k, gate in enumerate(self.columns):
                cost = give if ratio is None or not gate.by_ceiling else floor_grains(give * ratio)
                levels[k] = np.minimum(depths[k], available[k] - cost)
        refused: dict[Limit, Floats] = {}
        passing = demand.units
        for k, gate in enumerate(self.columns):
            after = (
                np.minimum(passing, np.maximum(rooms[k], 0.0))
                if k < len(self.columns) - 1
                else np.minimum(passing, served)
            )
            _add(refused, gate.limit, passing - after)
            passing = after
        return Verdict(columns, served, {limit: amount for limit, amount in refused.items() if amount.any()}), levels

    # Arithmetic shared by both forms.

    def _room(self, gate: Gate, ceiling_ratio: Floats | None, available: Floats) -> Floats:
        """Units that a column gate has room for, in consumed units."""
        if ceiling_ratio is None or not gate.by_ceiling:
            return available
        return available / np.where(ceiling_ratio > 0, ceiling_ratio, 1.0)

    def _served(self, units: Floats, rooms: Sequence[Floats], quantum: Floats) -> Floats:
        room = rooms[0]
        for other in rooms[1:]:
            room = np.minimum(room, other)
        fits = units <= room
        if fits.all():
            return units
        whole = quantum > 0
        part = np.maximum(room, 0.0)
        if whole.any():
            counted = (
                np.ceil(part / np.where(whole, quantum, 1.0))
                if self._debt
                else np.floor(part / np.where(whole, quantum, 1.0))
            )
            part = np.where(whole, counted * quantum, part)
        return np.where(fits, units, np.minimum(units, floor_grains(part)))

    def _binding_total(self, wanted: float, tick_s: float) -> tuple[Gate, float] | None:
        """The total gate with the least room, if it has less than is wanted."""
        least: tuple[Gate, float] | None = None
        for gate in self.totals:
            room = float(gate.buckets.level[0] + gate.buckets.refill(tick_s)[0])
            if room < wanted and (least is None or room < least[1]):
                least = (gate, room)
        return least

    def _whole(self, room: float, quantum: float) -> float:
        room = max(room, 0.0)
        if quantum <= 0:
            return room
        return float(np.ceil(room / quantum) if self._debt else np.floor(room / quantum)) * quantum


@dataclass(frozen=True)
class _Columns:
    """A stretch settled column by column: levels at the end per column gate, and the units that passed, per tick."""

    verdict: Verdict | None
    ends: list[Floats]
    totals: Floats


def _alike(quantum: Floats, units: Floats) -> bool:
    """Whether all attempts of the tick cost the same."""
    costs = quantum[units > 0]
    return bool(len(costs)) and float(costs.min()) > 0 and float(costs.min()) == float(costs.max())


def _fill(cap: Floats, units: Floats, total: float) -> float:
    """The share g of attempts that the total gate lets pass, so that ``sum(min(cap, g * units)) == total``.

    A refused attempt takes nothing anywhere, so a partition at its ceiling leaves its unused part to the others: water filling. The set
    of partitions at their ceilings only grows as g rises, so a few rounds find it.
    """
    bound = np.zeros(len(units), dtype=bool)
    share = min(1.0, total / float(units.sum()))
    while True:
        now = cap < share * units
        if not (now & ~bound).any():
            return share
        bound |= now
        free = float(units[~bound].sum())
        if free <= 0:
            return 1.0
        share = min(1.0, max(0.0, total - float(cap[bound].sum())) / free)


def _add(refused: dict[Limit, Floats], limit: Limit, amount: Floats) -> None:
    refused[limit] = refused[limit] + amount if limit in refused else amount


def _join(head: Verdict | None, ticks: int, tail: Verdict | None, demand: Demand) -> Verdict | None:
    """One verdict over all columns from those of two parts of a stretch."""
    if head is None and tail is None:
        return None
    served = demand.units.copy()
    refused: dict[Limit, Floats] = {}
    for part, rows in ((head, slice(0, ticks)), (tail, slice(ticks, None))):
        if part is None:
            continue
        served[rows, part.columns] = part.served
        for limit, amount in part.refused.items():
            refused.setdefault(limit, np.zeros_like(served))[rows, part.columns] = amount
    return Verdict(np.arange(served.shape[1]), served, refused)
