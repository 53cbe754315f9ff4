"""The law of a walk of pages, against figures of the guide, plain enumeration, and walks thrown by dice."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import units
from sim.limits import PAGE_BYTES
from sim.pages import PAGES_MAX, Walk, law_of_sum, percentile

PASS_RATES = [0.05, 0.15, 1 / 3, 0.5, 0.9, 1.0]


def thrown(walk: Walk, draws: np.random.Generator) -> dict[str, float]:
    """One walk, page by page."""
    done = returned = pages = empty = 0
    cost = filtered = 0.0
    while True:
        examined = walk.examines(done, returned)
        hits = int(draws.binomial(examined, walk.filter_pass))
        page = walk.units(examined)
        before, pages, done, returned = returned, pages + 1, done + examined, returned + hits
        cost, empty = cost + page, empty + (hits == 0)
        filtered += page * (1 - hits / examined) if examined else 0.0
        if not walk.goes_on(pages, done, returned, examined, before):
            return {
                "pages": pages,
                "scanned": done,
                "returned": returned,
                "empty_pages": empty,
                "filtered_units": filtered,
                "mean_units": cost,
            }


def assert_means(walk: Walk, times: int, seed: int = 7) -> None:
    """Each mean of the law within five standard errors of the mean over thrown walks, percentiles within five of their share."""
    draws = np.random.default_rng(seed)
    walks = [thrown(walk, draws) for _ in range(times)]
    for name in walks[0]:
        seen = np.array([one[name] for one in walks])
        slack = 5 * seen.std() / math.sqrt(times) + 10 / times * max(
            1.0, float(seen.mean())
        )  # the second: a rare thing not seen
        assert getattr(walk.law, name) == pytest.approx(seen.mean(), abs=slack), name
    costs = np.array([one["mean_units"] for one in walks])
    for fraction in (0.5, 0.99):
        exact = percentile(walk.law.units, fraction)
        # The law reaches the fraction at `exact` and not below; so do the thrown ones, within five standard errors of a share.
        slack = 5 * math.sqrt(0.25 / times)
        assert (costs <= exact).mean() >= fraction - slack
        assert (costs < exact).mean() <= fraction + slack


# Figures of the guide.


@pytest.mark.parametrize(("consistent", "cost"), [(True, 24), (False, 12)])
def test_fifteen_hundred_small_items_are_24_units(consistent: bool, cost: float) -> None:
    law = Walk(items=1500, item_bytes=64, consistent=consistent).law
    assert (law.pages, law.mean_units, law.scanned) == (1, cost, 1500)


def test_a_full_page_is_128_and_a_half_and_the_walk_638() -> None:
    law = Walk(items=5000, item_bytes=1042).law
    assert law.costs == (124.0, 128.5)
    assert law.pages_of_cost == (1, 4)
    assert law.units == ((638.0, 1.0),)


def test_limit_counts_what_is_read_and_the_filter_comes_afterwards() -> None:
    law = Walk(items=10**6, item_bytes=200, limit=20, filter_pass=0.15, pages=1).law
    assert (law.pages, law.scanned, law.mean_units) == (1, 20, units.page_read_units(20 * 200, False))
    assert law.returned == pytest.approx(3)
    assert law.empty_pages == pytest.approx(0.85**20)
    assert law.filtered_units == pytest.approx(0.85 * law.mean_units)


@pytest.mark.parametrize(("fetched", "cost"), [(None, 1), (300, 1 + 4)])
def test_what_a_local_index_does_not_project_is_fetched_item_by_item(fetched: int | None, cost: float) -> None:
    walk = Walk(items=4, item_bytes=100, consistent=True, fetched_bytes=fetched)
    assert walk.law.mean_units == cost == units.lsi_query_units(400, [300] * 4 if fetched else [], True)


def test_eight_entries_of_a_global_index_round_once() -> None:
    assert Walk(items=8, item_bytes=2000).law.mean_units == units.gsi_query_units(16_000) == 2


@pytest.mark.parametrize("searched", [1, 4])
@pytest.mark.parametrize("consistent", [False, True])
def test_finding_nothing_costs_the_minimum_for_each_partition_searched(searched: int, consistent: bool) -> None:
    law = Walk(items=0, item_bytes=300, consistent=consistent, searched=searched).law
    assert law.mean_units == searched * (1 if consistent else 0.5)
    assert (law.pages, law.scanned, law.empty_pages, law.filtered_units) == (1, 0, 1, 0)


# Where a walk ends.


@pytest.mark.parametrize(
    ("items", "limit", "pages"),
    [(19, 20, 1), (20, 20, 2), (21, 20, 2), (39, 20, 2), (40, 20, 3), (0, 20, 1), (1024, None, 1), (1025, None, 2)],
)
def test_a_page_filled_by_its_limit_gives_a_key_even_with_the_last_item(
    items: int, limit: int | None, pages: int
) -> None:
    law = Walk(items=items, item_bytes=1024, limit=limit).law
    assert (law.pages, law.scanned) == (pages, items)


def test_a_page_over_a_megabyte_gives_a_key_even_with_the_last_item() -> None:
    size = PAGE_BYTES // 1000 + 1
    assert Walk(items=1000, item_bytes=size).law.pages == 2  # the thousandth item crosses
    assert Walk(items=999, item_bytes=size).law.pages == 1
    assert Walk(items=PAGE_BYTES, item_bytes=1).law.pages == 1  # exactly a megabyte, and nothing more


@pytest.mark.parametrize("pages", [1, 2, 7])
def test_no_more_pages_than_asked_for(pages: int) -> None:
    assert Walk(items=10**9, item_bytes=400, pages=pages).law.pages == pages


def test_a_walk_stops_with_the_page_on_which_it_has_enough() -> None:
    law = Walk(items=10**6, item_bytes=100, limit=10, until=25).law
    assert (law.pages, law.scanned, law.returned) == (3, 30, 30)


def test_a_walk_too_long_to_be_listed_is_refused() -> None:
    with pytest.raises(ValueError, match="at most"):
        _ = Walk(items=PAGES_MAX + 1, item_bytes=1, limit=1).law


@given(
    st.integers(0, 300),
    st.sampled_from([1, 64, 1042, 70_000]),
    st.none() | st.integers(1, 40),
    st.sampled_from(PASS_RATES),
    st.none() | st.integers(1, 6),
    st.none() | st.integers(1, 30),
)
def test_the_law_adds_up(
    items: int, size: int, limit: int | None, passing: float, pages: int | None, until: int | None
) -> None:
    walk = Walk(items=items, item_bytes=size, limit=limit, filter_pass=passing, pages=pages, until=until)
    law = walk.law
    assert law.asked[0] == 1
    assert (np.diff(law.asked) <= 1e-12).all()
    assert sum(chance for _, chance in law.units) == pytest.approx(1)
    assert sum(cost * chance for cost, chance in law.units) == pytest.approx(law.mean_units)
    assert law.pages <= walk.longest + 1e-9
    assert law.scanned <= items + 1e-9
    assert law.parts.sum(axis=1) == pytest.approx(np.ones(len(law.parts)))
    if pages is None and until is None:
        assert law.scanned == pytest.approx(items)
        assert law.ends[-1] == pytest.approx(1)


@pytest.mark.parametrize("passing", PASS_RATES)
@pytest.mark.parametrize("until", [1, 20])
def test_walks_until_enough_is_returned_follow_the_law(passing: float, until: int) -> None:
    assert_means(Walk(items=10**7, item_bytes=900, limit=20, filter_pass=passing, until=until), 4000)
    assert_means(Walk(items=130, item_bytes=900, limit=20, filter_pass=passing, until=until), 4000)


def test_the_normal_law_stands_for_a_binomial_that_is_too_wide() -> None:
    """A million items at half a page each: the page on which the aim is reached is that of the mean, within a page."""
    law = Walk(items=10**9, item_bytes=1042, filter_pass=0.5, until=1_000_000).law
    assert law.pages == pytest.approx(2_000_000 / 1007, abs=1)


# The guide's fill loop: a page of 20, at most 5 rounds, Limit three times what is missing.


def fill(passing: float) -> Walk:
    return Walk(items=10**7, item_bytes=400, filter_pass=passing, pages=5, until=20, over_fetch=3)


def rounds_by_enumeration(passing: float) -> tuple[float, float]:
    """Rounds and rows read on average: state by state, what is missing after each round, in plain Python."""
    missing = {20: 1.0}
    rounds = read = 0.0
    for _ in range(5):
        after: dict[int, float] = {}
        for m, chance in missing.items():
            rounds += chance
            read += chance * 3 * m
            for hits in range(3 * m + 1):
                p = math.comb(3 * m, hits) * passing**hits * (1 - passing) ** (3 * m - hits)
                if hits < m:
                    after[m - hits] = after.get(m - hits, 0.0) + chance * p
        missing = after
    return rounds, read


@pytest.mark.parametrize("passing", PASS_RATES)
def test_rounds_and_rows_of_the_fill_loop_are_those_of_the_binomial_law(passing: float) -> None:
    rounds, read = rounds_by_enumeration(passing)
    law = fill(passing).law
    assert (law.pages, law.scanned) == (pytest.approx(rounds), pytest.approx(read))


@pytest.mark.parametrize("passing", PASS_RATES)
def test_fill_loops_follow_their_law(passing: float) -> None:
    assert_means(fill(passing), 4000)


def test_three_times_over_is_one_round_from_a_half_on_and_five_at_a_twentieth() -> None:
    assert fill(1.0).law.pages == 1
    assert fill(0.5).law.pages < 1.01
    assert 1.5 < fill(1 / 3).law.pages < 2
    assert fill(0.05).law.pages > 4.99
    assert fill(0.05).law.returned < 12  # at most five rounds, and the page is not full


def test_a_limit_bounds_what_is_over_fetched() -> None:
    walk = Walk(items=10**6, item_bytes=400, limit=10, pages=20, until=20, over_fetch=3)
    assert walk.law.pages == 2


# Sums.


def test_the_law_of_a_sum_is_that_of_all_pairs() -> None:
    law = [(0.5, 0.2), (1.5, 0.3), (7.0, 0.5)]
    wanted: dict[float, float] = {}
    for one, two, three in itertools.product(law, repeat=3):
        total = one[0] + two[0] + three[0]
        wanted[total] = wanted.get(total, 0.0) + one[1] * two[1] * three[1]
    found = law_of_sum([(law, 3)])
    assert found is not None
    assert [value for value, _ in found] == sorted(wanted)
    assert [chance for _, chance in found] == pytest.approx([wanted[value] for value in sorted(wanted)])
    assert law_of_sum([([(638.0, 1.0)], 1000)]) == [(638_000, 1)]


def test_a_law_that_cannot_be_listed_is_not_guessed() -> None:
    assert law_of_sum([([(0.5, 0.5), (10**6, 0.5)], 10)]) is None
