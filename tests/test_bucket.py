"""Token buckets against an exact ledger in fractions, under any order of use."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sim.partitions.bucket import GRAIN, Buckets, floor_grains, grains, to_grain

RATES = st.sampled_from([0.0, 1.0, 2.5, 100.0, 999.0, 3000.0]) | st.floats(0, 5000)
DEMANDS = st.integers(0, 8000).map(lambda halves: halves / 2)


def exactly(amount: float) -> Fraction:
    """Nearest whole number of grains, in exact arithmetic."""
    return Fraction(round(Fraction(amount) / Fraction(GRAIN))) * Fraction(GRAIN)


class Ledger(RuleBasedStateMachine):
    """A bucket of the ledger is [level, rate, budget]: budget is the most that may have been given by now."""

    @initialize(rates=st.lists(RATES, min_size=1, max_size=3), depth_s=st.sampled_from([1.0, 300.0]), data=st.data())
    def open(self, rates: list[float], depth_s: float, data: st.DataObject) -> None:
        self.depth_s, self.tick_s = depth_s, data.draw(st.sampled_from([0.1, 1.0, 60.0]))
        level = np.array([data.draw(st.floats(0, 400)) for _ in rates]) if data.draw(st.booleans()) else None
        self.buckets = Buckets(np.array(rates), depth_s, level)
        self.rows = [
            [exactly(rate * depth_s) if level is None else min(exactly(level[k]), exactly(rate * depth_s)), rate]
            for k, rate in enumerate(rates)
        ]
        self.given = [Fraction(0) for _ in rates]
        self.brought = [row[0] for row in self.rows]

    def serve(self, demand: list[list[float]]) -> list[list[Fraction]]:
        """Serve what fits, one tick after another, in the ledger."""
        served = []
        for row in demand:
            served.append([])
            for k, asked in enumerate(row):
                level, rate = self.rows[k]
                available = level + exactly(rate * self.tick_s)
                give = min(Fraction(asked), available)
                self.rows[k][0] = min(exactly(rate * self.depth_s), available - give)
                self.given[k] += give
                self.brought[k] += exactly(rate * self.tick_s)
                served[-1].append(give)
        return served

    @rule(data=st.data())
    def serve_what_fits(self, data: st.DataObject) -> None:
        """A stretch in which nothing runs dry ends at the ledger's levels; one in which something does is known to."""
        demand = data.draw(
            st.lists(st.lists(DEMANDS, min_size=len(self.rows), max_size=len(self.rows)), min_size=1, max_size=5)
        )
        levels, dry = self.buckets.levels_without_dryness(np.array(demand), self.tick_s)
        first, level = Buckets.through(self._only_first(), np.array([row[0] for row in demand]), self.tick_s)
        served = self.serve(demand)
        for k in range(len(self.rows)):
            in_full = all(row[k] == asked[k] for row, asked in zip(served, demand, strict=True))
            assert dry[k] == (not in_full)
            if in_full:
                assert Fraction(levels[k]) == self.rows[k][0]
        short = [t for t, row in enumerate(served) if row[0] < demand[t][0]]
        assert first == (short[0] if short else None)
        if not short:
            assert Fraction(level) == self.rows[0][0]
        self.buckets.level = np.array([float(row[0]) for row in self.rows])

    def _only_first(self) -> Buckets:
        alone = Buckets(self.buckets.rate_per_s[:1], self.depth_s)
        alone.level = self.buckets.level[:1].copy()
        return alone

    @rule(data=st.data())
    def set_rates(self, data: st.DataObject) -> None:
        rates = [data.draw(RATES) for _ in self.rows]
        self.buckets.set_rates(np.array(rates))
        for row, rate in zip(self.rows, rates, strict=True):
            row[0], row[1] = min(row[0], exactly(rate * self.depth_s)), rate

    @rule(data=st.data(), keep_level=st.booleans())
    @precondition(lambda self: len(self.rows) < 6)
    def split(self, data: st.DataObject, keep_level: bool) -> None:
        column = data.draw(st.integers(0, len(self.rows) - 1))
        self.buckets.split(column, keep_level=keep_level)
        level, rate = self.rows[column]
        if not keep_level:
            level = Fraction(int(level / 2 / Fraction(GRAIN))) * Fraction(GRAIN)
        self.rows[column : column + 1] = [[level, rate], [level, rate]]
        # A ceiling is not shared out: the halves start their accounts anew.
        self.given[column : column + 1] = [Fraction(0), Fraction(0)]
        self.brought[column : column + 1] = [level, level]

    @invariant()
    def agrees_with_the_ledger(self) -> None:
        assert [Fraction(level) for level in self.buckets.level] == [row[0] for row in self.rows]
        assert [Fraction(depth) for depth in self.buckets.depth] == [exactly(r * self.depth_s) for _, r in self.rows]
        assert (self.buckets.level <= self.buckets.depth).all()
        assert (self.buckets.level >= 0).all()

    @invariant()
    def never_gives_more_than_it_had_and_was_brought(self) -> None:
        assert all(given <= brought for given, brought in zip(self.given, self.brought, strict=True))


TestLedger = Ledger.TestCase


def test_a_bucket_starts_full_and_never_above_its_depth() -> None:
    assert Buckets(np.array([10.0]), 300).level.tolist() == [3000.0]
    assert Buckets(np.array([10.0]), 300, np.array([5000.0])).level.tolist() == [3000.0]


def test_serving_comes_before_clipping() -> None:
    """At exactly its rate a full bucket stays full and never throttles."""
    buckets = Buckets(np.array([1000.0]), 1)
    levels, dry = buckets.levels_without_dryness(np.full((100, 1), 1000.0), 1.0)
    assert levels.tolist() == [1000.0]
    assert not dry.any()


def test_full_and_refilled_is_the_most_that_one_tick_takes() -> None:
    buckets = Buckets(np.array([1000.0]), 1)
    assert not buckets.levels_without_dryness(np.array([[2000.0]]), 1.0)[1].any()
    assert buckets.levels_without_dryness(np.array([[2000.5]]), 1.0)[1].all()


def test_a_raise_brings_no_tokens_and_a_cut_clips() -> None:
    buckets = Buckets(np.array([10.0]), 300, np.array([500.0]))
    buckets.set_rates(np.array([100.0]))
    assert (buckets.level[0], buckets.depth[0]) == (500.0, 30_000.0)
    buckets.set_rates(np.array([1.0]))
    assert (buckets.level[0], buckets.depth[0]) == (300.0, 300.0)


@given(st.floats(0, 1e9))
def test_grains_are_near_and_exact(amount: float) -> None:
    assert abs(to_grain(amount) - amount) <= GRAIN / 2
    assert grains(np.array([amount]))[0] == to_grain(amount) == to_grain(to_grain(amount))
    floor = floor_grains(np.array([amount]))[0]
    assert amount - GRAIN < floor <= amount


@given(st.sampled_from([1, 3, 7, 100, 333, 1000, 3000]), st.sampled_from([0.1, 0.01, 0.5, 1 / 3]))
def test_ticks_bring_what_a_second_brings(rate: float, tick_s: float) -> None:
    """To half a grain a tick, which is all that rounding to grains may cost."""
    per_second = float(Buckets(np.array([float(rate)]), 1).refill(tick_s)[0]) / tick_s
    assert per_second == pytest.approx(rate, abs=GRAIN / 2 / tick_s)
