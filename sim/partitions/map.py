"""The partitions of a table or index: ranges that tile the key space, split and never merged (F-PART-7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sim.keyspace.domain import Ints
from sim.keyspace.position import TOP, KeyRange, Position, equal_ranges


@dataclass
class PartitionLife:
    """One partition from its birth to its split.

    Attributes
    ----------
    number : unique; a split retires it and the halves take the next two.
    born_s, retired_s : when it began to serve; when its halves did (None: never).
    halves : their numbers, once they serve.
    """

    number: int
    range: KeyRange
    parent: int | None = None
    born_s: float = 0.0
    retired_s: float | None = None
    halves: tuple[int, int] | None = None


@dataclass
class PartitionMap:
    """The serving partitions in order of their ranges, and all that ever were (``lives``, by number)."""

    lives: list[PartitionLife]
    serving: list[int] = field(default_factory=list)
    _numbers: Ints | None = None
    _cuts: list[Position] | None = None

    @classmethod
    def equal(cls, count: int) -> PartitionMap:
        """``count`` partitions of equal ranges."""
        lives = [PartitionLife(k, range_) for k, range_ in enumerate(equal_ranges(count))]
        return cls(lives, list(range(count)))

    def __len__(self) -> int:
        return len(self.serving)

    @property
    def numbers(self) -> Ints:
        """`serving` as an array."""
        if self._numbers is None:
            self._numbers = np.array(self.serving, dtype=np.int64)
        return self._numbers

    @property
    def cuts(self) -> list[Position]:
        """Lower ends of the serving partitions, ascending."""
        if self._cuts is None:
            self._cuts = [self.lives[number].range.low for number in self.serving]
        return self._cuts

    def range_of(self, number: int) -> KeyRange:
        """Range of a partition, serving or not."""
        return self.lives[number].range

    def column_of(self, number: int) -> int:
        """Place of a serving partition in the order of ranges."""
        return self.serving.index(number)

    def split(self, number: int, at: Position, now_s: float) -> tuple[int, int]:
        """Cut a serving partition at a position strictly inside it; returns the numbers of the halves."""
        life = self.lives[number]
        assert life.retired_s is None, "a retired partition cannot be split"
        assert life.range.low < at < life.range.high, "a cut lies inside its range"
        column = self.column_of(number)
        first = len(self.lives)
        life.retired_s = now_s
        life.halves = (first, first + 1)
        for k, range_ in enumerate((KeyRange(life.range.low, at), KeyRange(at, life.range.high))):
            self.lives.append(PartitionLife(first + k, range_, parent=number, born_s=now_s))
        self.serving[column : column + 1] = [first, first + 1]
        self._numbers = self._cuts = None
        return first, first + 1

    def assert_tiles(self) -> None:
        """The serving ranges cover the key space once."""
        ranges = [self.lives[number].range for number in self.serving]
        assert ranges[0].low == Position(0, 0), "the first range begins at the bottom"
        assert ranges[-1].high == TOP, "the last range ends at the top"
        assert all(a.high == b.low for a, b in pairwise(ranges)), "ranges meet"
