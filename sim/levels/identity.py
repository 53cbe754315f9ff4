"""Which item a request of the request level is for, told apart by a number: only a cache needs to know.

Requests are drawn as counts per partition; their key is then drawn within the partition, as the traffic lies there. Equal items have equal
numbers whichever pattern asks for them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim.keyspace.domain import Floats, Ints
from sim.keyspace.hashing import HASH_SPACE, UInts
from sim.keyspace.position import TOP
from sim.keyspace.spread import Spread
from sim.levels.caching import NEVER_TWICE, population
from sim.levels.laid import Laid

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Keys:
    """The keys of some traffic.

    Parameters
    ----------
    laid : the traffic.
    base : all traffic of its key template at a second of the run, from which the number of unlisted keys follows; None: never asked twice.
    sorts : the sort keys under one partition key at a second of the run; None: one.
    """

    def __init__(
        self,
        laid: Laid,
        base: Callable[[float], Spread] | None,
        sorts: Callable[[float], Spread] | None,
    ) -> None:
        self._laid = laid
        self._base = base
        self._sorts = sorts
        self._mark: tuple[object, ...] = ()
        self.roll_over(0.0)

    def roll_over(self, now_s: float) -> None:
        """Take note of what the keys are from now on."""
        self._cells = NEVER_TWICE if self._base is None else population(self._base(now_s))
        self._sort = None if self._sorts is None else _Law(self._sorts(now_s))

    def draw(self, columns: Ints, chance: Floats, sort_chance: Floats) -> tuple[UInts, UInts]:
        """Numbers of the items, and of their partition keys, of some requests.

        Parameters
        ----------
        columns : the partition of each; ``chance``, ``sort_chance``: a random number in [0, 1) for each.
        """
        self._place()
        spread = self._laid.spread
        listed, rest = self._listed[columns], self._rest[columns]
        at = chance * (listed + rest)
        keys = np.zeros(len(columns), dtype=np.uint64)
        if len(spread.positions):
            row = self._below.searchsorted(self._low[columns] + at, side="right") - 1
            keys = spread.positions[np.clip(row, 0, len(spread.positions) - 1)]
        beyond = at >= listed
        if beyond.any() and spread.background > 0:
            within = (at - listed)[beyond] / np.maximum(rest[beyond], 1e-300)
            begin, end = self._begin[columns][beyond], self._end[columns][beyond]
            keys[beyond] = _cell(begin + within * (end - begin), spread, self._cells)
        if self._sort is None:
            return keys, keys
        with np.errstate(over="ignore"):
            return keys + self._sort.draw(sort_chance) * _MIX, keys

    def draw_one(self, column: int, chance: float, sort_chance: float) -> tuple[int, int]:
        """`draw` for a single request, without arrays."""
        self._place()
        spread = self._laid.spread
        listed, rest = float(self._listed[column]), float(self._rest[column])
        at = chance * (listed + rest)
        if at < listed or not rest:
            row = int(self._below.searchsorted(float(self._low[column]) + at, side="right")) - 1
            key = int(spread.positions[min(max(row, 0), len(spread.positions) - 1)]) if len(spread.positions) else 0
        else:
            begin, end = float(self._begin[column]), float(self._end[column])
            key = int(_cell(np.array([begin + (at - listed) / rest * (end - begin)]), spread, self._cells)[0])
        if self._sort is None:
            return key, key
        return (key + self._sort.draw_one(sort_chance) * int(_MIX)) % HASH_SPACE, key

    def _place(self) -> None:
        resource, spread = self._laid.resource, self._laid.spread
        mark = (resource.version, spread)
        if mark == self._mark:
            return
        self._mark = mark
        cuts = [*resource.partitions.cuts, TOP]
        width = spread.background_high - spread.background_low
        hashes = np.array([float(cut.hash) for cut in cuts])
        reach = np.clip(hashes, float(spread.background_low), float(spread.background_high))
        below = np.array([spread.below(cut) for cut in cuts])
        of_rest = spread.background * (reach - float(spread.background_low)) / width
        listed = np.maximum(below - of_rest, 0.0)
        self._below = np.concatenate(([0.0], np.cumsum(spread.shares)))
        self._low, self._listed = listed[:-1], np.maximum(np.diff(listed), 0.0)
        self._rest = np.maximum(np.diff(of_rest), 0.0)
        self._begin, self._end = reach[:-1], reach[1:]


class _Law:
    """Sort keys under one partition key."""

    def __init__(self, spread: Spread) -> None:
        self._spread = spread
        self._cells = population(spread)
        self._below = np.cumsum(spread.shares)

    def draw(self, chance: Floats) -> UInts:
        spread = self._spread
        if len(spread.positions) == 1 and spread.background <= 0:
            return np.full(len(chance), spread.positions[0])
        listed = float(self._below[-1]) if len(self._below) else 0.0
        at = chance * (listed + spread.background)
        keys = np.zeros(len(chance), dtype=np.uint64)
        if len(spread.positions):
            row = self._below.searchsorted(at, side="right")
            keys = spread.positions[np.minimum(row, len(spread.positions) - 1)]
        beyond = at >= listed
        if beyond.any() and spread.background > 0:
            keys[beyond] = _cell((at[beyond] - listed) / spread.background * float(HASH_SPACE), spread, self._cells)
        return keys

    def draw_one(self, chance: float) -> int:
        """`draw` for a single request."""
        spread = self._spread
        if spread.background > 0:
            return int(self.draw(np.array([chance]))[0])
        row = int(self._below.searchsorted(chance * float(self._below[-1]), side="right"))
        return int(spread.positions[min(row, len(spread.positions) - 1)])


def _cell(at: Floats, spread: Spread, cells: float) -> UInts:
    """The number of a key that is not listed, from a place in the background: as many different ones as there are such keys."""
    if cells < NEVER_TWICE:
        low, width = float(spread.background_low), float(spread.background_high - spread.background_low)
        count = max(1.0, np.floor(cells))
        at = low + np.floor((at - low) / width * count) * (width / count)
    return np.asarray(np.minimum(at, float(HASH_SPACE) * (1 - 2**-53)).astype(np.uint64))
