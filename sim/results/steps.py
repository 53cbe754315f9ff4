"""Values that hold from one moment until the next change: capacity, counts of partitions, capacity modes, read off their changes.

A line is a sequence of (second, value), in order of time; before its first second its first value holds, and of two changes in one moment
the later one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from typing import TypeVar

import numpy as np

from sim.keyspace.domain import Floats, Ints

_S = TypeVar("_S", float, Decimal)
_V = TypeVar("_V")

Line = Sequence[tuple[float, float]]


def value_at(line: Sequence[tuple[_S, _V]], at_s: _S) -> _V:
    """The value of one moment."""
    return line[max(0, bisect_right(line, at_s, key=lambda change: change[0]) - 1)][1]


def values_at(line: Line, at_s: Floats) -> Floats:
    """The value of each of some moments."""
    _, values, place = _placed(line, at_s)
    return np.asarray(values[place])


def integral(line: Line, until_s: Floats) -> Floats:
    """Value times seconds from the line's first moment up to each of some moments."""
    times, values, place = _placed(line, until_s)
    before = np.concatenate(([0.0], np.cumsum(values[:-1] * np.diff(times))))
    return np.asarray(before[place] + values[place] * (until_s - times[place]))


def _placed(line: Line, at_s: Floats) -> tuple[Floats, Floats, Ints]:
    times, values = np.array(line, dtype=float).T
    return times, values, np.maximum(np.searchsorted(times, at_s, side="right") - 1, 0)
