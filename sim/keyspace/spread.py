"""Where the traffic of one access pattern lies: mass over positions, and how much of it falls into a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sim.keyspace.domain import Floats
from sim.keyspace.hashing import HASH_SPACE, UInts
from sim.keyspace.position import SORT_SPACE, Position

Places = npt.NDArray[np.int64]

_ROUNDING = 1e-12  # a share below this is what subtraction leaves of nothing


@dataclass(frozen=True, eq=False)
class SortSpread:
    """How the traffic of one key lies over its sort keys.

    The pieces are in order and do not overlap. A piece whose ``low`` equals its ``high`` is one item, which nothing can cut.

    Attributes
    ----------
    low, high : first place of each piece and one past its last (equal for a point), whole numbers in [0, 2**53].
    shares : share of each piece, summing to 1.
    moving : new items come at ever greater places, so that a cut leaves all new traffic on its upper side (F-PART-13).
    """

    low: Places
    high: Places
    shares: Floats
    moving: bool = False

    @cached_property
    def _below(self) -> Floats:
        return np.concatenate(([0.0], np.cumsum(self.shares)))

    def below(self, place: int) -> float:
        """Share of the traffic at places strictly below ``place``."""
        index = int(self.low.searchsorted(place))
        total = float(self._below[index])
        if index and place < (high := int(self.high[index - 1])):
            low = int(self.low[index - 1])
            total -= float(self.shares[index - 1]) * (high - place) / (high - low)
        return total

    @property
    def is_point(self) -> bool:
        """Whether all traffic goes to one item, or to a front that moves."""
        return len(self.low) == 1 and bool(self.low[0] == self.high[0])


def point(place: int, *, moving: bool = False) -> SortSpread:
    """All traffic at one place."""
    at = np.array([place], dtype=np.int64)
    return SortSpread(at, at, np.ones(1), moving)


WHOLE_COLLECTION = SortSpread(np.array([0]), np.array([SORT_SPACE]), np.ones(1))


@dataclass(frozen=True)
class NamedKey:
    """A partition key value that is worth its name: its text, position and share of the pattern's traffic."""

    text: str
    position: int
    share: float
    sort_key: str | None = None


@dataclass(frozen=True, eq=False)
class Spread:
    """Traffic of one pattern over the positions of one resource, at one moment. Immutable.

    Attributes
    ----------
    positions : hashes of the listed keys, ascending and unique.
    shares : share of each listed key.
    background : share that lies evenly in [``background_low``, ``background_high``): products and populations too large to list.
    sort : where the traffic of each key lies within its collection.
    named : the heaviest keys with their texts, most first.
    error : standard deviation of a large range's share that comes from treating the background as even.
    """

    positions: UInts
    shares: Floats
    background: float
    sort: SortSpread
    named: tuple[NamedKey, ...] = ()
    error: float = 0.0
    background_low: int = 0
    background_high: int = HASH_SPACE

    @cached_property
    def _below(self) -> Floats:
        return np.concatenate(([0.0], np.cumsum(self.shares)))

    def with_sort(self, sort: SortSpread, sort_key: str | None) -> Spread:
        """The same keys with another place within their collections."""
        named = self.named
        if named and named[0].sort_key != sort_key:
            named = tuple(replace(key, sort_key=sort_key) for key in named)
        other = replace(self, sort=sort, named=named)
        other.__dict__["_below"] = self._below  # the sums are those of the keys, which are the same arrays
        return other

    def without(self, parts: Sequence[tuple[float, Spread]]) -> Spread:
        """What is left of the traffic when some parts of it are taken away, as a whole of its own.

        Parameters
        ----------
        parts : share of this traffic that each takes, summing to less than 1, and where it lies.
        """
        if all(part is self for _, part in parts):
            return self
        shares = self.shares.copy()
        background = self.background
        for share, part in parts:
            at = np.minimum(self.positions.searchsorted(part.positions), max(len(self.positions) - 1, 0))
            listed = self.positions[at] == part.positions if len(self.positions) else np.zeros(len(at), dtype=bool)
            np.subtract.at(shares, at[listed], share * part.shares[listed])
            background -= share * (part.background + float(part.shares[~listed].sum()))
        shares = np.where(shares > _ROUNDING, shares, 0.0)
        background = background if background > _ROUNDING else 0.0
        total = float(shares.sum()) + background
        if total <= 0:
            return self
        kept = shares > 0
        positions, shares = self.positions[kept], shares[kept] / total
        named = []
        for key in self.named:
            place = int(positions.searchsorted(np.uint64(key.position)))
            if place < len(positions) and int(positions[place]) == key.position:
                named.append(replace(key, share=float(shares[place])))
        return replace(self, positions=positions, shares=shares, background=background / total, named=tuple(named))

    def stored(self) -> Spread:
        """Where the data lies that this traffic has written: a front that moves leaves its past behind it."""
        if not self.sort.moving:
            return self
        behind = np.concatenate(([0], self.sort.high[:-1]))
        return self.with_sort(SortSpread(behind, np.maximum(self.sort.high, behind + 1), self.sort.shares), None)

    def below(self, position: Position) -> float:
        """Share of the traffic strictly below a position."""
        if position.hash >= HASH_SPACE:
            return float(self._below[-1]) + self.background
        index = int(self.positions.searchsorted(np.uint64(position.hash)))
        total = float(self._below[index])
        if position.sort and index < len(self.positions) and int(self.positions[index]) == position.hash:
            total += float(self.shares[index]) * self.sort.below(position.sort)
        if self.background:
            reach = min(max(position.hash, self.background_low), self.background_high) - self.background_low
            total += self.background * (reach / (self.background_high - self.background_low))
        return total

    def shares_of(self, cuts: Sequence[Position]) -> Floats:
        """Shares of the ranges that begin at ``cuts`` (ascending, the first at the bottom), the last ending at the top."""
        hashes = np.array([cut.hash for cut in cuts], dtype=np.uint64)
        below = np.empty(len(cuts) + 1)
        below[:-1] = self._below[self.positions.searchsorted(hashes)]
        if self.background:
            width = self.background_high - self.background_low
            clipped = np.clip(hashes, self.background_low, min(self.background_high, HASH_SPACE - 1))
            below[:-1] += self.background * ((clipped - np.uint64(self.background_low)).astype(float) / width)
        for column, cut in enumerate(cuts):
            if cut.sort:  # a cut inside a collection
                below[column] = self.below(cut)
        below[-1] = float(self._below[-1]) + self.background
        return np.maximum(np.diff(below), 0.0)


def side_by_side(parts: Sequence[Spread], named_max: int = 64) -> Spread:
    """Traffic of which each part is as heavy as any other, with the sort places of the first."""
    if len(parts) == 1:
        return parts[0]
    weight = 1.0 / len(parts)
    positions, inverse = np.unique(np.concatenate([part.positions for part in parts]), return_inverse=True)
    weights = np.concatenate([part.shares for part in parts]) * weight
    shares = np.asarray(np.bincount(inverse, weights=weights, minlength=len(positions)), dtype=float)
    named: dict[int, NamedKey] = {}
    for key in (key for part in parts for key in part.named):
        known = named.get(key.position)
        named[key.position] = replace(key, share=key.share * weight + (known.share if known else 0.0))
    heaviest = sorted(named.values(), key=lambda key: (-key.share, key.position))[:named_max]
    background = sum(part.background for part in parts) * weight
    error = max(part.error for part in parts)
    return Spread(positions, shares, background, parts[0].sort, tuple(heaviest), error)


def even(low: int = 0, high: int = HASH_SPACE) -> Spread:
    """Traffic that lies evenly in a range of hashes."""
    empty = np.empty(0, dtype=np.uint64)
    return Spread(empty, np.empty(0), 1.0, WHOLE_COLLECTION, background_low=low, background_high=high)
