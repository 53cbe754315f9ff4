"""Token buckets, many at a time, in exact arithmetic.

All amounts are whole multiples of `GRAIN`, a binary fraction of a unit. Sums of such numbers are exact in a float up to about eight
billion units, so a run gives the same bytes however it is cut into stretches.

A tick of a bucket: available = level + refill; serve = min(demand, available); *then* level = min(depth, available - serve). Clipping
before serving would throttle 25 times as much at exactly the bucket's rate.
"""

from __future__ import annotations

import numpy as np

from sim.keyspace.domain import Floats

GRAIN = 2.0**-20


def to_grain(amount: float) -> float:
    """The nearest amount that the arithmetic keeps exactly."""
    return round(amount / GRAIN) * GRAIN


def grains(amounts: Floats) -> Floats:
    """Each amount rounded to the nearest that the arithmetic keeps exactly."""
    return np.asarray(np.rint(amounts / GRAIN) * GRAIN)


def floor_grains(amounts: Floats) -> Floats:
    """Each amount rounded down to one that the arithmetic keeps exactly."""
    return np.asarray(np.floor(amounts / GRAIN) * GRAIN)


class Buckets:
    """Token buckets side by side, one per column.

    Attributes
    ----------
    level : tokens now; below 0 only where debt is allowed.
    floor : least level: below 0 where work may be taken on that is done later (the backlog of an index).
    rate_per_s : refill, units per second.
    depth : most tokens that a bucket holds.
    """

    def __init__(self, rate_per_s: Floats, depth_s: float, level: Floats | None = None, floor: float = 0.0) -> None:
        self._depth_s = depth_s
        self.floor = floor
        self._refill: tuple[float, Floats] | None = None
        self.rate_per_s = np.array(rate_per_s, dtype=float)
        self.depth = grains(self.rate_per_s * depth_s)
        self.level = self.depth.copy() if level is None else grains(np.minimum(level, self.depth))

    def refill(self, tick_s: float) -> Floats:
        """Tokens that one tick brings, each."""
        if self._refill is None or self._refill[0] != tick_s:
            self._refill = (tick_s, grains(self.rate_per_s * tick_s))
        return self._refill[1]

    def set_rates(self, rate_per_s: Floats) -> None:
        """Change the rates: the depth follows, the level is clipped, a raise brings no tokens."""
        self._refill = None
        self.rate_per_s = np.array(rate_per_s, dtype=float)
        self.depth = grains(self.rate_per_s * self._depth_s)
        self.level = np.minimum(self.level, self.depth)

    def split(self, column: int, *, keep_level: bool) -> None:
        """Put two buckets in the place of one: each with its level (a ceiling is not shared out), or with half of it."""
        self._refill = None
        level = self.level[column] if keep_level else floor_grains(self.level[column : column + 1] / 2)[0]
        self.level = np.insert(self.level, column, level)
        self.level[column + 1] = level
        self.rate_per_s = np.insert(self.rate_per_s, column, self.rate_per_s[column])
        self.depth = np.insert(self.depth, column, self.depth[column])

    def levels_without_dryness(
        self, demand: Floats, tick_s: float, by_column: Floats | None = None
    ) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """Levels after serving all of ``demand`` (ticks × columns, summing to ``by_column``), and which columns run dry on the way.

        In closed form: a column whose demand never passes its refill cannot run dry; for the others the clipped level is the unclipped
        running sum less the running maximum of its overflow. The level of a column that runs dry is not meaningful.
        """
        refill = self.refill(tick_s)
        ticks = len(demand)
        dry = np.zeros(demand.shape[1], dtype=bool)
        total = demand.sum(axis=0) if by_column is None else by_column
        end = np.minimum(self.depth, self.level + ticks * refill - total)
        suspect = ((demand.max(axis=0) > refill) | (self.level < self.floor)).nonzero()[0]
        if len(suspect):
            sums = np.cumsum(refill[suspect] - demand[:, suspect], axis=0)
            sums += self.level[suspect]
            overflow = np.maximum.accumulate(np.maximum(sums - self.depth[suspect], 0.0), axis=0)
            before_clip = sums.copy()
            before_clip[1:] -= overflow[:-1]
            dry[suspect] = (before_clip < self.floor).any(axis=0)
            end[suspect] = sums[-1] - overflow[-1]
        return end, dry

    def through(self, demand: Floats, tick_s: float) -> tuple[int | None, float]:
        """First tick at which a single bucket cannot serve ``demand`` (ticks), or None, and its level at the end if there is none."""
        refill, level, depth = float(self.refill(tick_s)[0]), float(self.level[0]), float(self.depth[0])
        if demand.max() <= refill and level >= self.floor:
            return None, min(depth, level + len(demand) * refill - float(demand.sum()))
        sums = level + np.cumsum(refill - demand)
        overflow = np.maximum.accumulate(np.maximum(sums - depth, 0.0))
        before_clip = sums.copy()
        before_clip[1:] -= overflow[:-1]
        dry = (before_clip < self.floor).nonzero()[0]
        return (int(dry[0]) if len(dry) else None), float(sums[-1] - overflow[-1])
