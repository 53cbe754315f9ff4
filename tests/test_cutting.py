"""A cut lies inside its range and halves the load as well as any cut could; where none helps, the reason is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import positions, spreads

from sim.keyspace.cutting import Cut, Load, NoCut, find_cut, load_below
from sim.keyspace.position import BOTTOM, SORT_SPACE, TOP, KeyRange, Position
from sim.keyspace.spread import WHOLE_COLLECTION, SortSpread, Spread, point
from sim.names import Declined

ALL = KeyRange(BOTTOM, TOP)


def keys(*hash_and_share: tuple[int, float], sort: SortSpread | None = None) -> Spread:
    hashes, shares = zip(*hash_and_share, strict=True)
    total = sum(shares)
    return Spread(np.array(hashes, dtype=np.uint64), np.array(shares) / total, 0.0, sort or point(0))


def cut(load: list[Load], within: KeyRange = ALL, *, pinned: bool = False, relief: float = 0.02) -> Cut | NoCut | None:
    return find_cut(load, within, pinned=pinned, min_relief_fraction=relief)


def places_worth_trying(loads: list[Load], within: KeyRange, pinned: bool) -> list[Position]:
    """Every border of a key or a sort piece, and the middle of the load of every piece that has a length."""
    tried = {Position(int(h) + after, 0) for spread, _ in loads for h in spread.positions.tolist() for after in (0, 1)}
    if not pinned:
        tried |= {
            Position(int(h), int(place) + after)
            for spread, _ in loads
            for h in spread.positions.tolist()
            for place in np.concatenate([spread.sort.low, spread.sort.high]).tolist()
            for after in (0, 1)
            if 0 < place + after < SORT_SPACE
        }
    return [p for p in tried if within.low < p < within.high]


@st.composite
def loads_within(draw: st.DrawFn) -> tuple[list[Load], KeyRange]:
    loads = [(spread, draw(st.floats(0.1, 100))) for spread in draw(st.lists(spreads(), min_size=1, max_size=3))]
    ends = st.one_of(*(positions(spread) for spread, _ in loads))
    low, high = sorted((draw(ends | st.just(BOTTOM)), draw(ends | st.just(TOP))))
    assume(low < high)
    return loads, KeyRange(low, high)


@given(loads_within(), st.booleans())
def test_a_cut_lies_inside_and_no_border_would_halve_better(given_: tuple[list[Load], KeyRange], pinned: bool) -> None:
    loads, within = given_
    start, total = load_below(loads, within.low), load_below(loads, within.high) - load_below(loads, within.low)
    assume(total > 1e-6)
    shares = [(load_below(loads, p) - start) / total for p in places_worth_trying(loads, within, pinned)]
    best = min((abs(share - 0.5) for share in shares), default=0.5)
    found = cut(loads, within, pinned=pinned)
    if isinstance(found, Cut):
        assert within.low < found.at < within.high
        assert 0 <= found.at.sort < SORT_SPACE
        assert found.inside_collection == (found.at.sort > 0)
        assert not (pinned and found.inside_collection)
        assert found.lower_share == pytest.approx((load_below(loads, found.at) - start) / total)
        assert min(found.lower_share, 1 - found.lower_share) >= 0.02
        assert abs(found.lower_share - 0.5) <= best + 1e-9
    else:
        assert isinstance(found, NoCut)
        assert best > 0.48 - 1e-9


def test_equal_keys_are_halved() -> None:
    found = cut([(keys((10, 1), (20, 1), (30, 1), (40, 1)), 5.0)])
    assert isinstance(found, Cut)
    assert found.lower_share == pytest.approx(0.5)
    assert 20 < found.at.hash <= 30


def test_a_range_without_load_is_not_cut() -> None:
    assert cut([(keys((10, 1)), 1.0)], KeyRange(Position(20, 0), TOP)) is None
    assert cut([]) is None


def test_one_item_is_not_cut() -> None:
    assert cut([(keys((10, 1)), 1.0)]) == NoCut(Declined.SINGLE_ITEM, 10)


def test_a_front_that_moves_is_not_cut() -> None:
    front = point(SORT_SPACE - 1, moving=True)
    assert cut([(keys((10, 1), sort=front), 1.0)]) == NoCut(Declined.MOVING_SORT_KEY, 10)


def test_a_local_index_keeps_a_collection_together() -> None:
    load: list[Load] = [(keys((10, 1), sort=WHOLE_COLLECTION), 1.0)]
    assert cut(load, pinned=True) == NoCut(Declined.LOCAL_INDEX, 10)
    found = cut(load)
    assert isinstance(found, Cut)
    assert found.inside_collection
    assert found.lower_share == pytest.approx(0.5)


@pytest.mark.parametrize(("small", "is_cut"), [(0.0199, False), (0.0201, True)])
def test_a_cut_takes_off_at_least_the_relief_asked_for(small: float, is_cut: bool) -> None:
    assert isinstance(cut([(keys((10, small), (20, 1 - small)), 1.0)]), Cut) == is_cut


def test_a_hot_key_is_alone_after_two_cuts() -> None:
    load: list[Load] = [(keys((10, 0.2), (20, 0.6), (30, 0.2)), 1.0)]
    first = cut(load)
    assert isinstance(first, Cut)
    upper = first.at.hash == 20
    second = cut(load, KeyRange(first.at, TOP) if upper else KeyRange(BOTTOM, first.at))
    assert isinstance(second, Cut)
    low, high = sorted((first.at, second.at))
    assert low <= Position(20, 0) < high <= Position(30, 0)
    assert cut(load, KeyRange(low, high)) == NoCut(Declined.SINGLE_ITEM, 20)


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_either_half_of_a_collection_is_cut_again_and_again(side: str) -> None:
    load: list[Load] = [(keys((10, 1), sort=WHOLE_COLLECTION), 1.0)]
    within = ALL
    for _ in range(6):
        found = cut(load, within)
        assert isinstance(found, Cut), within
        assert found.inside_collection
        assert found.lower_share == pytest.approx(0.5, abs=1e-6)
        within = KeyRange(within.low, found.at) if side == "lower" else KeyRange(found.at, within.high)


def test_the_last_hash_can_be_cut_off() -> None:
    last = 2**64 - 1
    found = cut([(keys((10, 1), (last, 1)), 1.0)])
    assert isinstance(found, Cut)
    assert Position(10, 0) < found.at <= Position(last, 0)
    assert cut([(keys((last, 1)), 1.0)]) == NoCut(Declined.SINGLE_ITEM, last)
