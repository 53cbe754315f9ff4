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
from functools import cached_property

import numpy as np

from sim.keyspace.domain import Floats, Ints
from sim.names import Dimension, Limit
from sim.partitions.bucket import Buckets, floor_grains

_SCALAR_COLUMNS_MAX = 12


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
    classes : ``units`` by cost of an attempt, the cheapest first, where costs differ: a total gate that runs dry lets a cheap attempt
        pass where a dear one is refused.
    known_by_column, known_by_tick : sums of ``units`` where the caller has them already.
    """

    units: Floats
    ceiling_ratio: Floats | None
    quantum: Floats
    classes: Sequence[Floats] | None = None
    known_by_column: Floats | None = None
    known_by_tick: Floats | None = None

    @cached_property
    def by_column(self) -> Floats:
        """Sums over the ticks."""
        return np.asarray(self.units.sum(axis=0)) if self.known_by_column is None else self.known_by_column

    @cached_property
    def by_tick(self) -> Floats:
        """Sums over the columns."""
        return np.asarray(self.units.sum(axis=1)) if self.known_by_tick is None else self.known_by_tick

    def columns(self, columns: Ints) -> Demand:
        """The same for some of the columns."""
        ratio = None if self.ceiling_ratio is None else self.ceiling_ratio[:, columns]
        return Demand(self.units[:, columns], ratio, self.quantum[columns])

    def ticks(self, first: int, last: int | None = None) -> Demand:
        """The same for some of the ticks."""
        ratio = None if self.ceiling_ratio is None else self.ceiling_ratio[first:last]
        classes = None if self.classes is None else [units[first:last] for units in self.classes]
        return Demand(self.units[first:last], ratio, self.quantum, classes)


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
        self.debt = debt

    def largest_cost(self) -> float:
        """The greatest cost that the total gates can ever hold; an attempt above it never passes."""
        if self.debt or not self.totals:
            return np.inf
        return min(float(gate.buckets.depth[0]) for gate in self.totals)

    def least_depth(self) -> float:
        """Depth of the shallowest bucket of any column; a cost above it may be refused for ever somewhere."""
        return np.inf if self.debt else min(float(gate.buckets.depth.min()) for gate in self.columns)

    def largest_cost_by_column(self) -> Floats:
        """The same for the gates of each column."""
        if self.debt:
            return np.full(len(self.columns[0].buckets.depth), np.inf)
        return _least([gate.buckets.depth for gate in self.columns])

    # One tick, all columns: the plain form.

    def offer(
        self,
        units: Floats,
        ceiling_ratio: Floats | None,
        quantum: Floats,
        tick_s: float,
        classes: Sequence[Floats] | None = None,
    ) -> Offer:
        """What a tick would serve of ``units`` (one per column). Takes nothing."""
        caps = [
            self._cap(
                gate,
                units,
                ceiling_ratio,
                gate.buckets.level - gate.buckets.floor + gate.buckets.refill(tick_s),
                quantum,
            )
            for gate in self.columns
        ]
        least = _least(caps)
        refused: dict[Limit, Floats] = {}
        passing = units
        binding = self._binding_total(float(least.sum()), tick_s)
        if binding is not None:
            gate, room = binding
            room = self._whole(room, float(quantum.max()) if _alike(quantum, units) else 0.0)
            passing = _fill_by_cost(least, units if classes is None else classes, room)
            refused[gate.limit] = units - passing
        served = self._pass_columns(passing, caps, refused)
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
            classes = None if demand.classes is None else [units[t] for units in demand.classes]
            offer = self.offer(demand.units[t], ratio, demand.quantum, tick_s, classes)
            self.take(offer.served, ratio, tick_s)
            served[t] = offer.served
            for limit, amount in offer.refused.items():
                refused.setdefault(limit, np.zeros((ticks, count)))[t] = amount
        if not refused:
            return None
        return Verdict(np.arange(count), served, refused)

    def levels(self) -> list[Floats]:
        """The levels of all buckets, to go back to with `restore`."""
        return [gate.buckets.level.copy() for gate in [*self.columns, *self.totals]]

    def restore(self, levels: Sequence[Floats]) -> None:
        """Put levels back as they were."""
        for gate, level in zip([*self.columns, *self.totals], levels, strict=True):
            gate.buckets.level = level.copy()

    def rest(self, ticks: int, tick_s: float) -> None:
        """Let so many ticks pass in which nothing is asked: the buckets fill."""
        for gate in [*self.columns, *self.totals]:
            buckets = gate.buckets
            buckets.level = np.minimum(buckets.depth, buckets.level + ticks * buckets.refill(tick_s))

    # A stretch at once.

    def settle(self, demand: Demand, tick_s: float) -> Verdict | None:
        """Serve a stretch; None when everything was served in full.

        Columns that do not run dry are settled in closed form, the others are walked on their own; only from the tick on at which a
        total gate runs dry is the whole resource walked together.
        """
        settled = self._settle_columns(demand, tick_s)
        binds_at = settled.total_dry_at
        if binds_at is None:
            self._commit(settled)
            return settled.verdict
        head = None
        if binds_at > 0:
            before = self._settle_columns(demand.ticks(0, binds_at), tick_s)
            self._commit(before)
            head = before.verdict
        tail = self.settle_plainly(demand.ticks(binds_at), tick_s)
        return _join(head, binds_at, tail, demand)

    def serves_all(self, demand: Demand, tick_s: float) -> bool:
        """Whether a stretch would be served in full. Takes nothing."""
        settled = self._settle_columns(demand, tick_s)
        return settled.verdict is None and settled.total_dry_at is None

    def _settle_columns(self, demand: Demand, tick_s: float) -> _Columns:
        """A stretch settled column by column, as if no total gate bound. Takes nothing."""
        dry = np.zeros(demand.units.shape[1], dtype=bool)
        ends = []
        for gate in self.columns:
            asked, total = demand.units, demand.by_column
            if demand.ceiling_ratio is not None and gate.by_ceiling:
                asked = floor_grains(demand.units * demand.ceiling_ratio)
                total = asked.sum(axis=0)
            end, gate_dry = gate.buckets.levels_without_dryness(asked, tick_s, total)
            ends.append(end)
            dry |= gate_dry
        columns = dry.nonzero()[0]
        verdict = None
        by_tick = demand.by_tick
        if len(columns):
            verdict, levels = self._walk(columns, demand.columns(columns), tick_s)
            for end, level in zip(ends, levels, strict=True):
                end[columns] = level
            by_tick = by_tick - (demand.units[:, columns].sum(axis=1) - verdict.served.sum(axis=1))
        totals = [gate.buckets.through(by_tick, tick_s) for gate in self.totals]
        dry_at = min((tick for tick, _ in totals if tick is not None), default=None)
        return _Columns(verdict, ends, [level for _, level in totals], dry_at)

    def _commit(self, settled: _Columns) -> None:
        for gate, end in zip(self.columns, settled.ends, strict=True):
            gate.buckets.level = end
        for gate, level in zip(self.totals, settled.total_levels, strict=True):
            gate.buckets.level[0] = level

    def _walk(self, columns: Ints, demand: Demand, tick_s: float) -> tuple[Verdict, list[Floats]]:
        """Serve some columns tick by tick without the totals; returns what was served and the levels at the end."""
        plain = len(self.columns) == 1 and demand.ceiling_ratio is None and not self.debt
        if plain and len(columns) <= _SCALAR_COLUMNS_MAX:
            return self._walk_scalars(columns, demand, tick_s)
        ticks = len(demand.units)
        levels = [gate.buckets.level[columns] for gate in self.columns]
        refills = [gate.buckets.refill(tick_s)[columns] for gate in self.columns]
        depths = [gate.buckets.depth[columns] for gate in self.columns]
        served = np.empty_like(demand.units)
        caps = [np.empty_like(demand.units) for _ in self.columns]
        for t in range(ticks):
            ratio = None if demand.ceiling_ratio is None else demand.ceiling_ratio[t]
            available = [level + refill for level, refill in zip(levels, refills, strict=True)]
            for k, gate in enumerate(self.columns):
                caps[k][t] = self._cap(gate, demand.units[t], ratio, available[k] - gate.buckets.floor, demand.quantum)
            give = served[t] = _least([cap[t] for cap in caps])
            for k, gate in enumerate(self.columns):
                cost = give if ratio is None or not gate.by_ceiling else floor_grains(give * ratio)
                levels[k] = np.minimum(depths[k], available[k] - cost)
        refused: dict[Limit, Floats] = {}
        self._pass_columns(demand.units, caps, refused)
        return Verdict(columns, served, {limit: amount for limit, amount in refused.items() if amount.any()}), levels

    def _walk_scalars(self, columns: Ints, demand: Demand, tick_s: float) -> tuple[Verdict, list[Floats]]:
        """`_walk` for a few columns behind one gate: plain numbers are then quicker than arrays of so few."""
        gate = self.columns[0]
        floor = gate.buckets.floor
        refills, depths, levels = gate.buckets.refill(tick_s), gate.buckets.depth, gate.buckets.level[columns]
        served = np.empty_like(demand.units)
        for k, column in enumerate(columns.tolist()):
            refill, depth, level = float(refills[column]), float(depths[column]), float(levels[k])
            quantum = float(demand.quantum[k])
            row = []
            for asked in demand.units[:, k].tolist():
                room = level + refill - floor
                give = asked if asked <= room else room // quantum * quantum if quantum else room
                level = room - give + floor
                if level > depth:
                    level = depth
                row.append(give)
            served[:, k] = row
            levels[k] = level
        return Verdict(columns, served, {gate.limit: demand.units - served}), [levels]

    # Arithmetic shared by both forms.

    def _cap(
        self, gate: Gate, units: Floats, ceiling_ratio: Floats | None, available: Floats, quantum: Floats
    ) -> Floats:
        """What a column gate lets pass of ``units``: all that fits, else as many whole attempts as its room holds."""
        room, cost = available, units
        if ceiling_ratio is not None and gate.by_ceiling:
            room = available / np.where(ceiling_ratio > 0, ceiling_ratio, 1.0)
            cost = floor_grains(units * ceiling_ratio)
        fits = cost <= available
        if fits.all():
            return units
        part = np.maximum(room, 0.0)
        whole = quantum > 0
        if whole.any():
            attempts = part / np.where(whole, quantum, 1.0)
            attempts = np.ceil(attempts) if self.debt else np.floor(attempts)
            part = np.where(whole, attempts * quantum, part)
        return np.where(fits, units, np.minimum(units, floor_grains(part)))

    def _pass_columns(self, passing: Floats, caps: Sequence[Floats], refused: dict[Limit, Floats]) -> Floats:
        """Let what passes the totals through the column gates in order; what each takes off is its refusal."""
        for gate, cap in zip(self.columns, caps, strict=True):
            after = np.minimum(passing, cap)
            refused[gate.limit] = passing - after
            passing = after
        return passing

    def _binding_total(self, wanted: float, tick_s: float) -> tuple[Gate, float] | None:
        """The total gate with the least room, if it has less than is wanted."""
        least: tuple[Gate, float] | None = None
        for gate in self.totals:
            room = float(gate.buckets.level[0] + gate.buckets.refill(tick_s)[0]) - gate.buckets.floor
            if max(room, 0.0) < wanted and (least is None or room < least[1]):
                least = (gate, room)
        return least

    def _whole(self, room: float, quantum: float) -> float:
        room = max(room, 0.0)
        if quantum <= 0:
            return room
        return float(np.ceil(room / quantum) if self.debt else np.floor(room / quantum)) * quantum


@dataclass(frozen=True)
class _Columns:
    """A stretch settled column by column: levels at its end, and the tick at which a total gate would run dry."""

    verdict: Verdict | None
    ends: list[Floats]
    total_levels: list[float]
    total_dry_at: int | None


def _alike(quantum: Floats, units: Floats) -> bool:
    """Whether all attempts of the tick cost the same."""
    costs = quantum[units > 0]
    return bool(len(costs)) and float(costs.min()) > 0 and float(costs.min()) == float(costs.max())


def _fill_by_cost(cap: Floats, classes: Sequence[Floats] | Floats, total: float) -> Floats:
    """What a total gate with room for ``total`` lets pass on to each column, the cheapest attempts first.

    An attempt needs its full cost: where a bucket is nearly dry a cheap one finds its token and a dear one does not, so each class passes
    whole before the next dearer one gets what is left.
    """
    passing = np.zeros(len(cap))
    for units in [classes] if isinstance(classes, np.ndarray) else classes:
        free = np.maximum(cap - passing, 0.0)
        wanted = float(np.minimum(units, free).sum())
        if wanted > total:
            return np.asarray(passing + floor_grains(units * _fill(free, units, total)))
        passing = passing + units
        total -= wanted
    return np.asarray(passing)


def _fill(cap: Floats, units: Floats, total: float) -> float:
    """The share g of attempts that the total gate lets pass, so that ``sum(min(cap, g * units)) == total``.

    A refused attempt takes nothing anywhere, so a partition at its ceiling leaves its unused part to the others: water filling. The set
    of partitions at their ceilings only grows as g rises, so a few rounds find it.
    """
    bound = np.zeros(len(units), dtype=bool)
    asked = float(units.sum())
    if asked <= 0:
        return 1.0
    share = min(1.0, total / asked)
    while True:
        now = cap < share * units
        if not (now & ~bound).any():
            return share
        bound |= now
        free = float(units[~bound].sum())
        if free <= 0:
            return 1.0
        share = min(1.0, max(0.0, total - float(cap[bound].sum())) / free)


def _least(caps: Sequence[Floats]) -> Floats:
    least = caps[0]
    for other in caps[1:]:
        least = np.minimum(least, other)
    return least


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
