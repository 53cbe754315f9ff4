"""Where a range is cut in two, and when cutting would not help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sim.keyspace.position import SORT_SPACE, KeyRange, Position
from sim.keyspace.spread import Spread
from sim.names import Declined

Load = tuple[Spread, float]  # a pattern's spread, and its weight in whatever the cut shall balance


@dataclass(frozen=True)
class Cut:
    """A place to cut; ``lower_share`` is the share of the range's load that falls below it."""

    at: Position
    lower_share: float
    inside_collection: bool


@dataclass(frozen=True)
class NoCut:
    """Why no cut helps, and the hash of the key that is in the way."""

    why: Declined
    key_hash: int


def load_below(loads: Sequence[Load], position: Position) -> float:
    """Load strictly below a position, in the unit of the weights."""
    return sum(weight * spread.below(position) for spread, weight in loads)


def find_cut(
    loads: Sequence[Load], within: KeyRange, *, pinned: bool, min_relief_fraction: float
) -> Cut | NoCut | None:
    """The cut that halves the observed load best.

    The median lies between two keys, or inside one: then the cut goes before or after that key, or between two of its sort keys,
    whichever leaves less on the heavier side. A hot key is so moved apart from its neighbours until it is alone (F-PART-15).

    Parameters
    ----------
    pinned : an LSI holds each collection together: no cut inside a key (F-PART-13).
    min_relief_fraction : a cut must take at least this share off the range.

    Returns
    -------
    A `Cut`; `NoCut` with the reason when every cut leaves nearly all load on one side; None when the range has no load at all.
    """
    loads = _merged(loads)
    start = load_below(loads, within.low)
    total = load_below(loads, within.high) - start
    if total <= 0:
        return None
    half = start + total / 2

    def below_hash(hash_: int) -> float:
        return load_below(loads, Position(hash_, 0))

    # The median key: the first hash up to whose end at least half the load lies. A range that ends inside a collection may have it there.
    last = within.high.hash if within.high.sort else within.high.hash - 1
    median = _first(lambda h: below_hash(h + 1) >= half, within.low.hash, max(within.low.hash, last))
    candidates = [Position(median, 0), Position(median + 1, 0)]
    if not pinned:
        low_sort = within.low.sort if within.low.hash == median else 0
        high_sort = within.high.sort if within.high.hash == median else SORT_SPACE
        if high_sort > low_sort:
            place = _first(lambda s: load_below(loads, Position(median, s + 1)) >= half, low_sort, high_sort - 1)
            candidates += [Position(median, place), Position(median, place + 1)]
    best: Cut | None = None
    for candidate in candidates:
        if not within.low < candidate < within.high or candidate.sort >= SORT_SPACE:
            continue
        lower = (load_below(loads, candidate) - start) / total
        if best is None or abs(lower - 0.5) < abs(best.lower_share - 0.5):
            best = Cut(candidate, lower, inside_collection=candidate.sort > 0)
    if best is not None and min(best.lower_share, 1 - best.lower_share) >= min_relief_fraction:
        return best
    return NoCut(_why(loads, median, pinned), median)


def _merged(loads: Sequence[Load]) -> list[Load]:
    """The same load with one entry for each spread."""
    by_spread: dict[int, Load] = {}
    for spread, weight in loads:
        by_spread[id(spread)] = (spread, by_spread.get(id(spread), (spread, 0.0))[1] + weight)
    return list(by_spread.values())


def _why(loads: Sequence[Load], hash_: int, pinned: bool) -> Declined:
    here = [
        (load_below([load], Position(hash_ + 1, 0)) - load_below([load], Position(hash_, 0)), load[0]) for load in loads
    ]
    heaviest = max(here, key=lambda pair: pair[0])[1]
    if heaviest.sort.moving:
        return Declined.MOVING_SORT_KEY
    if pinned and not heaviest.sort.is_point:
        return Declined.LOCAL_INDEX
    return Declined.SINGLE_ITEM


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Least whole number in [low, high] for which ``holds``, which is false up to some number and true from there on; else ``high``."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
