"""Transactions at the flow level: no leg of a request is served unless all are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.keyspace.domain import Floats
from sim.levels.demand import Joint
from sim.levels.moving import Moving
from sim.names import Limit
from sim.partitions.bucket import floor_grains
from sim.partitions.lane import Lane, Offer, Verdict

_ROUNDS_MAX = 40  # of the quick approach; what it leaves open is settled by bisection
_SWEEPS_MAX = 20
_HALVINGS = 40
_PRECISION = 1e-7  # of a share


def settle_jointly(
    lane: Lane, moving: Sequence[Moving], groups: Sequence[Sequence[int]], tick_s: float
) -> tuple[Verdict, Floats]:
    """Serve a stretch in which transactions may meet a dry bucket, tick by tick.

    Each leg's partition sees only those requests that the other legs' partitions let pass. That is a fixed point in the legs' shares of
    admitted items: quick by damped steps from the tick before, and by bisection where many items make the steps too small.

    Parameters
    ----------
    groups : for each transaction the indexes of its legs in ``moving``.

    Returns
    -------
    The verdict over all columns, and the units that reached the partitions, ticks × columns.
    """
    ticks, columns = moving[0].counts.shape
    served, asked = np.empty((ticks, columns)), np.empty((ticks, columns))
    refused: dict[Limit, Floats] = {}
    for t in range(ticks):
        balance = _Balance(lane, moving, np.array([m.counts[t] for m in moving], dtype=float), groups, tick_s)
        passing = balance.find()
        offer, asked[t] = balance.offer(passing)
        lane.take(offer.served, balance.ratio(passing), tick_s)
        served[t] = offer.served
        for limit, amount in offer.refused.items():
            refused.setdefault(limit, np.zeros((ticks, columns)))[t] = amount
    return Verdict(np.arange(columns), served, refused), asked


def joint_groups(moving: Sequence[Moving], owners: Sequence[object]) -> list[list[int]]:
    """Indexes of the legs that belong to one transaction, by owner."""
    groups: dict[int, list[int]] = {}
    for k, (m, owner) in enumerate(zip(moving, owners, strict=True)):
        if m.flow.joint is Joint.ALL:
            groups.setdefault(id(owner), []).append(k)
    return list(groups.values())


class _Balance:
    """One tick: for every leg the share of its items that reach their partitions, because the rest of their transactions pass."""

    def __init__(
        self, lane: Lane, moving: Sequence[Moving], rows: Floats, groups: Sequence[Sequence[int]], tick_s: float
    ) -> None:
        self._lane = lane
        self._tick_s = tick_s
        self._rows = rows
        self._groups = groups
        self._costs = np.array([m.units for m in moving])
        self._ratios = np.array([m.flow.ceiling_ratio for m in moving])
        self._powers = np.array([m.flow.leg.items for m in moving], dtype=float)
        self._items = rows.sum(axis=1)
        self._no_quantum = np.zeros(rows.shape[1])

    def _by_leg(self, passing: Floats) -> Floats:
        return np.asarray(self._rows * (passing * self._costs)[:, None])

    def ratio(self, passing: Floats) -> Floats | None:
        """Ceiling units per unit of each column, or None where they are the same."""
        if (self._ratios == 1.0).all():
            return None
        by_leg = self._by_leg(passing)
        units = by_leg.sum(axis=0)
        weighed = (by_leg * self._ratios[:, None]).sum(axis=0)
        return np.asarray(np.divide(weighed, units, out=np.ones_like(units), where=units > 0))

    def offer(self, passing: Floats) -> tuple[Offer, Floats]:
        """What the lane would serve of what reaches the partitions, and that."""
        units = floor_grains(self._by_leg(passing).sum(axis=0))
        return self._lane.offer(units, self.ratio(passing), self._no_quantum, self._tick_s), units

    def _admitted(self, passing: Floats) -> Floats:
        """Share of each leg's items that their partitions admit."""
        offer, units = self.offer(passing)
        share = np.divide(offer.served, units, out=np.ones_like(units), where=units > 0)
        whole = np.ones_like(self._items)
        return np.asarray(np.divide((self._rows * share).sum(axis=1), self._items, out=whole, where=self._items > 0))

    def _target(self, admitted: Floats, members: Sequence[int], k: int) -> float:
        """Share of leg k's items whose fellows all pass."""
        others = float(np.prod([admitted[j] ** self._powers[j] for j in members if j != k]))
        return others * float(admitted[k] ** (self._powers[k] - 1))

    def find(self) -> Floats:
        """The shares at which every leg meets just the requests that its fellows let pass."""
        passing = np.ones(len(self._costs))
        for _ in range(_ROUNDS_MAX):
            admitted = self._admitted(passing)
            after = passing.copy()
            for members in self._groups:
                legs = float(self._powers[list(members)].sum())
                for k in members:
                    after[k] = passing[k] ** (1 - 1 / legs) * self._target(admitted, members, k) ** (1 / legs)
            if float(np.abs(after - passing).max()) < _PRECISION:
                return passing
            passing = after
        return self._bisect(passing)

    def _bisect(self, passing: Floats) -> Floats:
        """Leg by leg: the more of it reaches its partitions, the fewer requests pass as a whole, so there is one share that fits."""
        for _ in range(_SWEEPS_MAX):
            before = passing.copy()
            for members in self._groups:
                for k in members:
                    low, high = 0.0, 1.0
                    for _ in range(_HALVINGS):
                        middle = (low + high) / 2
                        passing[k] = middle
                        if self._target(self._admitted(passing), members, k) > middle:
                            low = middle
                        else:
                            high = middle
                        if high - low < _PRECISION / 10:
                            break
                    passing[k] = (low + high) / 2
            if float(np.abs(passing - before).max()) < _PRECISION:
                break
        return passing
