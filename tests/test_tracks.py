"""Where the pages of a walk lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import positions, spreads

from sim.keyspace.position import Position, equal_ranges
from sim.keyspace.spread import SortSpread, Spread, even, point
from sim.levels.tracks import Segments, Track, tracks_of_query

QUARTERS = [range_.low for range_ in equal_ranges(4)]


def key(position: int, sort: SortSpread) -> Spread:
    return Spread(np.array([position], dtype=np.uint64), np.ones(1), 0.0, sort)


def whole_sort() -> SortSpread:
    return SortSpread(np.array([0]), np.array([1000]), np.ones(1))


def test_a_scan_goes_through_all_partitions_in_order() -> None:
    (track,) = Segments(even().shares_of(QUARTERS), 1).tracks().all
    assert track.columns == (0, 1, 2, 3)
    assert track.edges == pytest.approx((0.25, 0.5, 0.75, 1))
    assert [track.column_at(x) for x in (0, 0.24, 0.26, 0.5, 0.99, 1)] == [0, 0, 1, 2, 3, 3]


def test_segments_in_one_partition_are_alike_and_others_cross() -> None:
    tracks = Segments(even().shares_of([Position(0, 0), Position(2**62, 0)]), 8).tracks()
    assert [(t.columns, n) for t, n in zip(tracks.all, tracks.times.tolist(), strict=True)] == [((0,), 2), ((1,), 6)]
    crossing = Segments(np.array([0.3, 0.7]), 5)
    assert crossing.track(1) == Track((0, 1), (pytest.approx(0.5), 1.0))
    assert crossing.track(0).columns == (0,)
    assert crossing.track(2).columns == (1,)


@given(st.lists(st.sampled_from([0.0, 0.1, 1.0, 3.0]), min_size=1, max_size=9).filter(any), st.integers(1, 20))
def test_segments_cover_the_items_once(weights: list[float], count: int) -> None:
    shares = np.array(weights) / sum(weights)
    segments = Segments(shares, count)
    covered = np.zeros(len(shares))
    for k in range(count):
        track = segments.track(k)
        for column, low, high in zip(track.columns, (0.0, *track.edges[:-1]), track.edges, strict=True):
            covered[column] += (high - low) / count
    assert covered == pytest.approx(shares, abs=1e-9)
    tracks = segments.tracks()
    assert int(tracks.times.sum()) == count
    taken = np.zeros(len(shares))
    for track, times in zip(tracks.all, tracks.times.tolist(), strict=True):
        for column, low, high in zip(track.columns, (0.0, *track.edges[:-1]), track.edges, strict=True):
            taken[column] += times * (high - low) / count
    assert taken == pytest.approx(shares, abs=1e-9)


def test_a_query_stays_with_its_key_and_follows_it_through_a_cut() -> None:
    inside = [Position(0, 0), Position(500, 0), Position(700, 250), Position(900, 0)]
    spread = key(700, whole_sort())
    (track,) = tracks_of_query([spread], inside).all
    assert track == Track((1, 2), (0.25, 1.0))
    (track,) = tracks_of_query([spread], [Position(0, 0), Position(500, 0)]).all
    assert track == Track((1,), (1.0,))


def test_a_query_along_a_front_that_moves_reads_what_lies_behind_it() -> None:
    spread = key(700, point(1000, moving=True))
    tracks = tracks_of_query([spread], [Position(0, 0), Position(700, 250)])
    assert tracks.all == (Track((0, 1), (0.25, 1.0)),)


@given(st.data())
def test_the_tracks_of_queries_carry_the_whole_traffic(data: st.DataObject) -> None:
    spread = data.draw(spreads())
    cuts = sorted({Position(0, 0), *data.draw(st.lists(positions(spread), max_size=5))})
    tracks = tracks_of_query([spread], cuts)
    assert tracks.takes.sum(axis=1) == pytest.approx(np.ones(1))
    assert all(track.edges[-1] == 1 and len(set(track.columns)) == len(track.columns) for track in tracks.all)
    assert all(sorted(track.columns) == list(track.columns) for track in tracks.all)
    # Keys that are not cut go where their traffic goes.
    broken = {cut.hash for cut in cuts if cut.sort} & {int(p) for p in spread.positions}
    if not broken:
        taken = np.zeros(len(cuts))
        for track, share in zip(tracks.all, tracks.takes[0].tolist(), strict=True):
            taken[track.columns[0]] += share
        assert taken == pytest.approx(spread.shares_of(cuts), abs=1e-9)


@given(
    st.lists(st.floats(0.01, 1), min_size=1, max_size=6),
    st.integers(1, 30),
)
def test_pages_divide_over_the_partitions_as_their_items_do(weights: list[float], count: int) -> None:
    edges = np.cumsum(np.array(weights) / sum(weights))
    track = Track(tuple(range(len(edges))), (*edges[:-1].tolist(), 1.0))
    at = np.arange(count + 1) / count
    pages, columns, shares = track.parts(at[:-1], at[1:])
    assert np.bincount(pages, weights=shares, minlength=count) == pytest.approx(np.ones(count))
    found = np.bincount(columns, weights=shares, minlength=len(edges)) / count
    assert found == pytest.approx(np.diff([0, *track.edges]), abs=1e-9)


def test_a_page_of_nothing_lies_where_the_walk_stands() -> None:
    pages, columns, shares = Track((4, 7), (0.5, 1.0)).parts(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    assert list(zip(pages.tolist(), columns.tolist(), shares.tolist(), strict=True)) == [
        (0, 4, 0.5),
        (0, 7, 0.5),
        (1, 7, 1.0),
    ]
