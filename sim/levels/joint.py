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

_ROUNDS_MAX = 60
_PRECISION = 1e-7


def settle_jointly(
    lane: Lane, moving: Sequence[Moving], groups: Sequence[Sequence[int]], tick_s: float
) -> tuple[Verdict, Floats]:
    """Serve a stretch in which transactions meet a dry bucket, tick by tick.

    Each leg's partition sees only those requests that the other legs' partitions let pass. That is a fixed point in the legs' shares of
    admitted items; with k legs it is approached by the k-th root of each step, exact at once when all legs meet in one partition.

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
        rows = np.array([m.counts[t] for m in moving], dtype=float)
        offer, asked[t], ratio = _balance(lane, moving, rows, groups, tick_s)
        lane.take(offer.served, ratio, tick_s)
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


def _balance(
    lane: Lane, moving: Sequence[Moving], rows: Floats, groups: Sequence[Sequence[int]], tick_s: float
) -> tuple[Offer, Floats, Floats | None]:
    """The tick's offer at which every leg meets just the requests that its fellows let pass."""
    costs = np.array([m.units for m in moving])
    ratios = np.array([m.flow.ceiling_ratio for m in moving])
    items = rows.sum(axis=1)
    no_quantum = np.zeros(rows.shape[1])
    passing = np.ones(len(moving))
    for _ in range(_ROUNDS_MAX):
        by_leg = rows * (passing * costs)[:, None]
        units = floor_grains(by_leg.sum(axis=0))
        ratio = None
        if (ratios != 1.0).any():
            weighed = (by_leg * ratios[:, None]).sum(axis=0)
            ratio = np.divide(weighed, units, out=np.ones_like(units), where=units > 0)
        offer = lane.offer(units, ratio, no_quantum, tick_s)
        share = np.divide(offer.served, units, out=np.ones_like(units), where=units > 0)
        admitted = np.divide((rows * share).sum(axis=1), items, out=np.ones_like(items), where=items > 0)
        after = passing.copy()
        for members in groups:
            powers = [moving[k].flow.leg.items for k in members]
            legs = sum(powers)
            whole = float(np.prod([admitted[k] ** p for k, p in zip(members, powers, strict=True)]))
            for k in members:
                target = whole / admitted[k] if admitted[k] > 0 else 0.0
                after[k] = passing[k] ** (1 - 1 / legs) * target ** (1 / legs)
        if float(np.abs(after - passing).max()) < _PRECISION:
            break
        passing = after
    return offer, units, ratio
