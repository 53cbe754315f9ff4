"""A cache as the flow level sees it: how probable it is that an item is cached, for whole classes of items at once.

One node, many items of each class, Poisson reads. An item that is not cached is fetched by the next read and is then good for the time to
live; reads do not prolong it. Cohorts of what was fetched in the same step expire together, so that the wave that follows a cold start is
seen. When a node is full it holds what was asked within a characteristic time T, the same for all items (Che's approximation): an item is
cached at most with the probability ``1 - exp(-rate × T)``, and T is such that the node is just full. Of the two ways of leaving, the one
that leaves less cached counts, as if the other did not happen. Until a node is full T is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.keyspace.domain import Floats

_PRECISION = 1e-9  # of T
_STEPS_PER_TTL = 4  # a step longer than this part of the time to live is taken as steady


@dataclass(frozen=True)
class Step:
    """What a step brought, by class.

    Attributes
    ----------
    misses : expected reads of one item that this node did not have.
    stale : share of the reads that it did have whose item had been written since it was fetched.
    """

    misses: Floats
    stale: Floats


class FluidCache:
    """One cache of one node over classes of items that are alike.

    Parameters
    ----------
    counts : items in each class (real numbers; very large for what is never asked twice).
    weights : room that an item of each class takes.
    capacity : room of the cache.
    ttl_s : None: for ever.

    Attributes
    ----------
    cached : probability that an item of each class is cached now.
    characteristic_s : Che's time of the last step; infinite while there is room.
    """

    def __init__(self, counts: Floats, weights: Floats, capacity: float, ttl_s: float | None) -> None:
        self._room = counts * weights
        self._fits = weights <= capacity
        self._capacity = capacity
        self._ttl_s = ttl_s
        self._now_s = 0.0
        # Cohorts, oldest first: when the first and last of each were fetched, how probable it is that an item is cached and belongs to
        # it, and what part of it has not been written since.
        self._born = np.empty((0, 2))
        self._alive = np.empty((0, len(counts)))
        self._fresh = np.empty((0, len(counts)))
        self.characteristic_s = np.inf

    @property
    def cached(self) -> Floats:
        return np.asarray(self._alive.sum(axis=0))

    def moved(self, counts: Floats, weights: Floats, rows: Floats) -> FluidCache:
        """The same cache over other classes: ``rows`` (new × old) is the part of each new class that comes from each old one."""
        other = FluidCache(counts, weights, self._capacity, self._ttl_s)
        other._now_s = self._now_s
        other._born = self._born
        other._alive = self._alive @ rows.T
        fresh = (self._alive * self._fresh) @ rows.T
        other._fresh = np.divide(fresh, other._alive, out=np.ones_like(fresh), where=other._alive > 0)
        other.characteristic_s = self.characteristic_s
        return other

    def step(
        self, seconds: float, reads: Floats, through: Floats, around: Floats, filled: Floats | float = 1.0
    ) -> Step:
        """Let so many seconds pass.

        Parameters
        ----------
        reads : reads per second of one item of each class at this node.
        through : writes per second of one item that the node is told of; ``around``: those that it is not.
        filled : share of the reads it does not have that are answered, so that it has them from then on.
        """
        if self._ttl_s is not None and seconds * _STEPS_PER_TTL > self._ttl_s:
            return self._steady(seconds, self._ttl_s, reads, through, around, filled)
        rate = reads * filled + through  # at which an item that is not cached comes to be
        before = self.cached
        stale_before = self._stale_share()
        expired = self._expire(seconds)
        x = rate * seconds
        decay = _mean_decay(x)
        full = self.cached + (1.0 - before) * -np.expm1(-x) + expired * (1.0 - decay)
        full = np.where(self._fits, np.clip(full, 0.0, 1.0), 0.0)
        most = self._most(full, rate)
        end = np.minimum(full, most)
        bound = full > most
        absent = (1.0 - before) * decay + expired * _mean_decay_left(x)
        kept = np.exp(-through * seconds)  # what is written anew begins anew
        if bound.any():
            absent = np.where(bound, _absent_at_most(rate, 1.0 - before, most, seconds), absent)
            kept = np.where(bound, kept * np.exp(-_hazard(rate, self.characteristic_s) * seconds), kept)
        absent = np.where(self._fits, np.clip(absent, 0.0, 1.0), 1.0)
        old = self._alive * kept
        total = old.sum(axis=0)
        old = old * np.where(total > end, np.divide(end, total, out=np.ones_like(end), where=total > 0), 1.0)
        new = np.maximum(end - old.sum(axis=0), 0.0)
        self._alive = np.concatenate((old, new[None]))
        self._fresh = np.concatenate((self._fresh * np.exp(-around * seconds), _mean_decay(around * seconds)[None]))
        self._born = np.concatenate((self._born, [[self._now_s, self._now_s + seconds]]))
        self._now_s += seconds
        if self._ttl_s is None:
            self._merge()
        stale = (np.where(before > 0, stale_before, 0.0) + self._stale_share()) / 2
        return Step(reads * seconds * absent, stale)

    def _expire(self, seconds: float) -> Floats:
        """Take out what reaches its time to live in the next seconds; gives how probable that is by class."""
        if self._ttl_s is None or not len(self._born):
            return np.zeros(self._alive.shape[1])
        limit = self._now_s + seconds - self._ttl_s  # what was fetched before that is gone
        width = self._born[:, 1] - self._born[:, 0]
        part = np.clip((limit - self._born[:, 0]) / width, 0.0, 1.0)
        gone = self._alive * part[:, None]
        stays = part < 1.0
        self._alive = (self._alive - gone)[stays]
        self._fresh = self._fresh[stays]
        self._born = np.stack(
            (np.maximum(self._born[:, 0], np.minimum(limit, self._born[:, 1])), self._born[:, 1]), axis=1
        )[stays]
        return np.asarray(gone.sum(axis=0))

    def _most(self, full: Floats, rate: Floats) -> Floats:
        """The greatest probability with which an item of each class may be cached, given what would be cached if there were room."""
        if float((self._room * full).sum()) <= self._capacity:
            self.characteristic_s = np.inf
            return np.ones_like(full)
        asked = rate > 0
        room = self._room * full
        left = self._capacity - float(room[asked].sum())
        if left >= 0:  # what nobody asks for any more holds the room that is left, until it is wanted
            self.characteristic_s = np.inf
            return np.where(asked, 1.0, full * (left / float(room[~asked].sum())))
        low, high = 0.0, 1.0 / max(float(rate.max()), 1e-300)
        if np.isfinite(self.characteristic_s) and self.characteristic_s > 0:  # it has hardly moved since the last step
            near = 0.9 * self.characteristic_s, 1.1 * self.characteristic_s
            if self._taken(full, rate, near[0]) < self._capacity <= self._taken(full, rate, near[1]):
                low, high = near
        while self._taken(full, rate, high) < self._capacity:
            low, high = high, 2.0 * high
        while high - low > _PRECISION * high:
            middle = (low + high) / 2
            if self._taken(full, rate, middle) < self._capacity:
                low = middle
            else:
                high = middle
        self.characteristic_s = low
        return np.asarray(-np.expm1(-rate * low))

    def _taken(self, full: Floats, rate: Floats, time_s: float) -> float:
        return float((self._room * np.minimum(full, -np.expm1(-rate * time_s))).sum())

    def _stale_share(self) -> Floats:
        """Share of what is cached that has been written since, by class."""
        cached = self.cached
        fresh = (self._alive * self._fresh).sum(axis=0)
        return np.asarray(1.0 - np.divide(fresh, cached, out=np.ones_like(cached), where=cached > 0))

    def _merge(self) -> None:
        """Where nothing expires all cohorts are one."""
        share = 1.0 - self._stale_share()
        self._alive = self.cached[None]
        self._fresh = share[None]
        self._born = np.array([[0.0, self._now_s]])

    def _steady(
        self, seconds: float, ttl_s: float, reads: Floats, through: Floats, around: Floats, filled: Floats | float
    ) -> Step:
        """A step so long that what was before it does not matter: the steady state of its rates."""
        rate = reads * filled + through
        good_s = ttl_s * _mean_decay(through * ttl_s)  # from a fetch until it expires or is written anew
        gap_s = np.divide(1.0 - through * good_s, rate, out=np.full_like(rate, np.inf), where=rate > 0)
        full = np.where(self._fits, good_s / (good_s + gap_s), 0.0)
        end = np.minimum(full, self._most(full, rate))
        fresh = _mean_decay(around * good_s)
        self._now_s += seconds
        self._alive, self._fresh = end[None], fresh[None]
        self._born = np.array([[self._now_s - ttl_s, self._now_s]])
        return Step(reads * seconds * (1.0 - end), 1.0 - fresh)


def _mean_decay(x: Floats) -> Floats:
    """Mean of exp(-u) over u in [0, x]."""
    return np.where(x > 1e-8, -np.expm1(-x) / np.maximum(x, 1e-8), 1.0 - x / 2)


def _mean_decay_left(x: Floats) -> Floats:
    """Mean over a moment in the step of the part of the step that is spent waiting from then on: (1 - `_mean_decay`) / x."""
    return np.where(x > 1e-4, (1.0 - _mean_decay(x)) / np.maximum(x, 1e-4), 0.5 - x / 6)


def _absent_at_most(rate: Floats, absent: Floats, most: Floats, seconds: float) -> Floats:
    """Share of a step for which an item is not cached, when it comes to be at ``rate`` and is cached with probability ``most`` at most."""
    floor = 1.0 - most
    with np.errstate(divide="ignore", invalid="ignore"):
        reached_s = np.where(absent > floor, np.log(absent / np.maximum(floor, 1e-300)) / np.maximum(rate, 1e-300), 0.0)
    reached_s = np.clip(reached_s, 0.0, seconds)
    return np.asarray((absent * reached_s * _mean_decay(rate * reached_s) + (seconds - reached_s) * floor) / seconds)


def _hazard(rate: Floats, time_s: float) -> Floats:
    """At which rate items leave a full cache whose characteristic time is ``time_s``: its inflow over what it holds of them."""
    if not np.isfinite(time_s):
        return np.zeros_like(rate)
    x = np.minimum(rate * time_s, 700.0)
    return np.asarray(np.where(x > 1e-8, rate / np.maximum(np.expm1(x), 1e-8), 1.0 / max(time_s, 1e-300)))
