"""The share of a range is the same asked one by one or all at once, and shares add up."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import positions, spreads

from sim.keyspace.hashing import HASH_SPACE
from sim.keyspace.position import BOTTOM, SORT_SPACE, TOP, Position, equal_ranges
from sim.keyspace.spread import SortSpread, Spread, even, point


@st.composite
def spreads_with_cuts(draw: st.DrawFn) -> tuple[Spread, list[Position]]:
    spread = draw(spreads())
    inner = draw(st.lists(positions(spread), max_size=12, unique=True))
    return spread, [BOTTOM, *sorted(set(inner) - {BOTTOM, TOP})]


@given(spreads_with_cuts())
def test_shares_of_all_ranges_are_differences_of_what_lies_below(given_: tuple[Spread, list[Position]]) -> None:
    spread, cuts = given_
    wanted = [spread.below(high) - spread.below(low) for low, high in pairwise([*cuts, TOP])]
    np.testing.assert_allclose(spread.shares_of(cuts), wanted, atol=1e-12)


@given(spreads_with_cuts())
def test_shares_sum_to_one_and_are_never_negative(given_: tuple[Spread, list[Position]]) -> None:
    spread, cuts = given_
    shares = spread.shares_of(cuts)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1.0)
    assert spread.below(BOTTOM) == 0.0
    assert spread.below(TOP) == pytest.approx(1.0)


@given(spreads_with_cuts())
def test_one_more_cut_divides_one_share_and_leaves_the_others(given_: tuple[Spread, list[Position]]) -> None:
    spread, cuts = given_
    if len(cuts) < 2:
        return
    fine, coarse = spread.shares_of(cuts), spread.shares_of([*cuts[:-2], cuts[-2]])
    np.testing.assert_allclose([*fine[:-2], fine[-2] + fine[-1]], coarse, atol=1e-12)


def test_the_border_of_a_key_belongs_to_the_upper_range() -> None:
    spread = Spread(np.array([10, 20], dtype=np.uint64), np.array([0.25, 0.75]), 0.0, point(7))
    assert [spread.below(Position(h, s)) for h, s in ((10, 7), (10, 8), (20, 7), (20, 8), (21, 0))] == [
        0.0,
        0.25,
        0.25,
        1.0,
        1.0,
    ]


def test_the_first_and_the_last_hash_have_their_place() -> None:
    spread = Spread(np.array([0, HASH_SPACE - 1], dtype=np.uint64), np.array([0.5, 0.5]), 0.0, point(0))
    assert spread.shares_of([BOTTOM, Position(1, 0), Position(HASH_SPACE - 1, 0)]).tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 1000])
def test_even_traffic_falls_evenly_into_equal_ranges(count: int) -> None:
    ranges = equal_ranges(count)
    np.testing.assert_allclose(even().shares_of([r.low for r in ranges]), 1 / count, rtol=1e-9)
    third = ranges[count // 3]
    shares = even(third.low.hash, third.high.hash).shares_of([r.low for r in ranges])
    assert shares[count // 3] == pytest.approx(1.0)


def test_a_piece_of_a_collection_is_shared_by_its_length() -> None:
    half = SORT_SPACE // 2
    sort = SortSpread(np.array([0, half]), np.array([half, half]), np.array([0.8, 0.2]))
    assert [sort.below(p) for p in (0, half // 4, half, half + 1)] == pytest.approx([0, 0.2, 0.8, 1.0])
    assert not sort.is_point
    assert point(5).is_point
