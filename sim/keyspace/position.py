"""A place in the key space, and ranges of it.

A position is a pair of whole numbers: the hash of the partition key, then the place of the sort key, compared in that order. One rule
therefore cuts between keys and inside an item collection (F-PART-6, F-PART-14).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from sim.keyspace.hashing import HASH_SPACE

SORT_SPACE = 2**53  # sort places are whole numbers in [0, SORT_SPACE), exact in a float too


class Position(NamedTuple):
    """A place: ``hash`` in [0, 2**64], ``sort`` in [0, 2**53)."""

    hash: int
    sort: int


BOTTOM = Position(0, 0)
TOP = Position(HASH_SPACE, 0)  # one past the last


class KeyRange(NamedTuple):
    """All positions p with ``low <= p < high``."""

    low: Position
    high: Position


def equal_ranges(count: int) -> list[KeyRange]:
    """The hash space in ``count`` equal ranges, in order."""
    edges = [Position(HASH_SPACE * k // count, 0) for k in range(count)] + [TOP]
    return [KeyRange(low, high) for low, high in pairwise(edges)]
