"""Traffic laid over the partitions of one table or index: where it lies now, and what its named keys have met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sim.keyspace.domain import Counts, Floats, Ints
from sim.keyspace.position import TOP, KeyRange, Position
from sim.keyspace.spread import Spread
from sim.names import Dimension
from sim.partitions.resource import Resource
from sim.results.recorder import KeyTally, Recorder

Maker = Callable[[float], Spread]  # where the traffic lies at a second of the run


@dataclass
class Laid:
    """Traffic on one resource.

    Attributes
    ----------
    name : of the traffic, unique.
    make : where it lies at a second of the run.
    units : cost of one item.
    shares : share of the items per serving partition, made anew by `place`.
    """

    name: str
    resource: Resource
    dimension: Dimension
    units: float
    make: Maker
    spread: Spread = field(init=False)
    shares: Floats = field(init=False, default_factory=lambda: np.empty(0))
    _version: int = field(init=False, default=-1)
    _layings: int = field(init=False, default=0)
    _keys: _KeyColumns | None = field(init=False, default=None)
    _key_offered: Floats = field(init=False, default_factory=lambda: np.empty(0))
    _key_events: Floats = field(init=False, default_factory=lambda: np.empty(0))
    _key_back: Floats = field(init=False, default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        self.spread = self.make(0.0)

    def place(self) -> None:
        """Make the shares anew after a split or a rollover."""
        if self._version == self.resource.version:
            return
        self._version = self.resource.version
        cuts = self.resource.partitions.cuts
        self.shares = self.spread.shares_of(cuts)
        self._keys = _key_columns(self.spread, cuts, self.shares)
        if len(self._key_offered) != len(self.spread.named):
            self._key_offered = np.zeros(len(self.spread.named))
            self._key_events = np.zeros(len(self.spread.named))
            self._key_back = np.zeros(len(self.spread.named))

    @property
    def layout(self) -> tuple[str, int]:
        """What the shares hang on: the traffic, and how often it was laid anew."""
        return (self.name, self._layings)

    def lay(self, now_s: float, recorder: Recorder) -> None:
        """Let the traffic lie where it does from now on."""
        spread = self.make(now_s)
        if spread is not self.spread:
            self.flush_keys(recorder)
            self.spread = spread
            self._version = -1
            self._layings += 1

    def note_keys(
        self, items_by_column: Counts, events_by_column: Floats | None, back_by_column: Floats | None = None
    ) -> None:
        """Divide a stretch's items, throttle events, and items given back, among the named keys by their part of each partition.

        What is given back was let through here, and took nothing because something else refused its request.
        """
        if self._keys is None:
            return
        keys, at, part = self._keys.keys, self._keys.columns, self._keys.parts
        np.add.at(self._key_offered, keys, part * (items_by_column[at] * self.units))
        if events_by_column is not None:
            np.add.at(self._key_events, keys, part * events_by_column[at])
        if back_by_column is not None:
            np.add.at(self._key_back, keys, part * back_by_column[at])

    def flush_keys(self, recorder: Recorder) -> None:
        """Hand the named keys' tallies over and begin anew."""
        for k, key in enumerate(self.spread.named):
            if k >= len(self._key_offered) or self._key_offered[k] <= 0:
                continue
            mark = (self.resource.name, key.position)
            tally = recorder.keys.setdefault(mark, KeyTally(key.text, key.sort_key, key.position))
            events, back = float(self._key_events[k]), float(self._key_back[k])
            tally.add(self.dimension, float(self._key_offered[k]), events, (events + back) * self.units)
            if tally.sort_key != key.sort_key:
                tally.sort_key = None
            if self._keys is not None:
                tally.partitions = max(tally.partitions, int((self._keys.keys == k).sum()))
        self._key_offered = np.zeros(len(self.spread.named))
        self._key_events = np.zeros(len(self.spread.named))
        self._key_back = np.zeros(len(self.spread.named))


@dataclass(frozen=True)
class _KeyColumns:
    """Named key ``keys[i]`` has the part ``parts[i]`` of the leg's traffic in partition ``columns[i]``."""

    keys: Ints
    columns: Ints
    parts: Floats


def _key_columns(spread: Spread, cuts: Sequence[Position], shares: Floats) -> _KeyColumns | None:
    if not spread.named:
        return None
    keys, columns, parts = [], [], []
    for k, key in enumerate(spread.named):
        begin, end = Position(key.position, 0), Position(key.position + 1, 0)
        column = _last_at_or_before(cuts, begin)
        while column < len(cuts) and cuts[column] < end:
            high = cuts[column + 1] if column + 1 < len(cuts) else TOP
            inside = KeyRange(max(begin, cuts[column]), min(end, high))
            mass = spread.below(inside.high) - spread.below(inside.low)
            if mass > 0 and shares[column] > 0:
                keys.append(k)
                columns.append(column)
                parts.append(min(1.0, mass / float(shares[column])))
            column += 1
    return _KeyColumns(np.array(keys, dtype=np.int64), np.array(columns, dtype=np.int64), np.array(parts, dtype=float))


def _last_at_or_before(cuts: Sequence[Position], position: Position) -> int:
    low, high = 0, len(cuts)
    while high - low > 1:
        middle = (low + high) // 2
        if cuts[middle] <= position:
            low = middle
        else:
            high = middle
    return low
