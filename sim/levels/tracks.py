"""Where the pages of a walk lie: the partitions that it passes through, and how much of its items lies in each.

A Scan goes through the hash space, each segment through a part of its own. A Query goes along the sort keys of one collection: within one
partition, or through those into which a split has cut the collection.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.keyspace.domain import Floats, Ints
from sim.keyspace.position import Position
from sim.keyspace.spread import Spread

_NOTHING = 1e-12  # share below which subtraction has left nothing


@dataclass(frozen=True)
class Track:
    """One way through the partitions.

    Attributes
    ----------
    columns : the partitions, in the order in which the walk meets them.
    edges : share of the walk's items up to the end of each, ascending to 1.
    """

    columns: tuple[int, ...]
    edges: tuple[float, ...]

    def column_at(self, place: float) -> int:
        """Partition of the item at a place of the walk, 0 to 1."""
        return self.columns[min(bisect_right(self.edges, place), len(self.columns) - 1)]

    def parts(self, low: Floats, high: Floats) -> tuple[Ints, Ints, Floats]:
        """How pages divide over the partitions: (page, column, share) of each part of a page; ``low``, ``high``: its place in the walk."""
        edges = np.array(self.edges)
        first = np.minimum(np.searchsorted(edges, low, side="right"), len(edges) - 1)
        last = np.minimum(np.maximum(np.searchsorted(edges, high, side="left"), first), len(edges) - 1)
        pages = np.repeat(np.arange(len(low)), last - first + 1)
        starts = np.cumsum(last - first + 1) - (last - first + 1)
        at = first[pages] + np.arange(len(pages)) - starts[pages]
        begin = np.maximum(low[pages], np.concatenate(([0.0], edges))[at])
        width = np.maximum(np.minimum(high[pages], edges[at]) - begin, 0.0)
        whole = np.bincount(pages, weights=width, minlength=len(low))[pages]
        share = np.divide(width, whole, out=np.zeros(len(width)), where=whole > 0)
        share[(whole <= 0) & (np.arange(len(pages)) == starts[pages])] = 1.0
        return pages, np.array(self.columns, dtype=np.int64)[at], share


@dataclass(frozen=True)
class Tracks:
    """The ways that the branches of a request take.

    Attributes
    ----------
    takes : kinds of branches × tracks: probability that a branch of a kind takes each.
    times : how many branches of each kind a request has.
    """

    all: tuple[Track, ...]
    takes: Floats
    times: Ints


class Segments:
    """The segments of a Scan: each has an equal part of the items, in the order of the partitions."""

    def __init__(self, shares: Floats, count: int) -> None:
        self._shares = shares
        self._count = count
        self._reached = np.cumsum(shares / shares.sum())
        self._reached[-1] = 1.0
        edges = np.arange(count + 1) / count
        last = np.searchsorted(self._reached, edges[1:] - _NOTHING, side="left")
        self._last = np.minimum(last, len(shares) - 1)
        self._first = np.minimum(np.searchsorted(self._reached, edges[:-1] + _NOTHING, side="right"), self._last)

    def track(self, segment: int) -> Track:
        """The way of one segment."""
        first, last = int(self._first[segment]), int(self._last[segment])
        path = [c for c in range(first, last + 1) if self._shares[c] > 0] or [first]
        ends = [float(self._reached[c]) * self._count - segment for c in path[:-1]]
        return Track(tuple(path), (*ends, 1.0))

    def tracks(self) -> Tracks:
        """The ways of all; segments that lie in one partition are alike."""
        within = self._first == self._last
        counts = np.bincount(self._first[within], minlength=len(self._shares))
        columns = np.flatnonzero(counts)
        across = np.flatnonzero(~within).tolist()
        tracks = [*(Track((int(c),), (1.0,)) for c in columns), *(self.track(k) for k in across)]
        times = [*counts[columns].tolist(), *(1 for _ in across)]
        return Tracks(tuple(tracks), np.eye(len(tracks)), np.array(times, dtype=np.int64))


def tracks_of_query(spreads: Sequence[Spread], cuts: Sequence[Position]) -> Tracks:
    """One Query for each spread (one, unless it is scattered): in the partition of its key, or through those that share the key."""
    index: dict[Track, int] = {}
    rows: list[dict[int, float]] = []
    broken: dict[int, list[int]] = {}
    for column, cut in enumerate(cuts):
        if cut.sort:
            broken.setdefault(cut.hash, []).append(column)
    for spread in spreads:
        shares = spread.shares_of(cuts)
        row: dict[int, float] = {}
        for position, columns in broken.items():
            at = int(spread.positions.searchsorted(np.uint64(position)))
            if at >= len(spread.positions) or int(spread.positions[at]) != position:
                continue
            mass = float(spread.shares[at])
            asked = [spread.sort.below(cuts[column].sort) for column in columns]
            for column, part in zip([columns[0] - 1, *columns], np.diff([0.0, *asked, 1.0]).tolist(), strict=True):
                shares[column] -= mass * part
            items = spread.stored().sort
            ends = [*(items.below(cuts[column].sort) for column in columns), 1.0]
            begins = [0.0, *ends[:-1]]
            kept = [
                (column, end)
                for column, begin, end in zip([columns[0] - 1, *columns], begins, ends, strict=True)
                if end - begin > _NOTHING
            ]
            track = Track(tuple(column for column, _ in kept), tuple(end for _, end in kept))
            k = index.setdefault(track, len(index))
            row[k] = row.get(k, 0.0) + mass
        for column in np.flatnonzero(shares > _NOTHING).tolist():
            k = index.setdefault(Track((column,), (1.0,)), len(index))
            row[k] = row.get(k, 0.0) + float(shares[column])
        rows.append(row)
    takes = np.zeros((len(rows), len(index)))
    for r, row in enumerate(rows):
        for k, share in row.items():
            takes[r, k] = share
    takes /= takes.sum(axis=1, keepdims=True)
    tracks = list(index)
    order = sorted(range(len(tracks)), key=lambda k: tracks[k].columns)  # that of the keys, which a split keeps
    return Tracks(tuple(tracks[k] for k in order), takes[:, order], np.ones(len(rows), dtype=np.int64))
