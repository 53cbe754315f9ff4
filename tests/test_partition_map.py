"""The partition map against a plain list of ranges, under any order of splits."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from reference.ranges import PlainRanges

from sim.keyspace.hashing import HASH_SPACE
from sim.keyspace.position import BOTTOM, SORT_SPACE, TOP, Position, equal_ranges
from sim.partitions.map import PartitionMap


class Splitting(RuleBasedStateMachine):
    @initialize(count=st.integers(1, 6))
    def lay_out(self, count: int) -> None:
        self.map = PartitionMap.equal(count)
        self.plain = PlainRanges([(k, *r) for k, r in enumerate(equal_ranges(count))])
        self.now_s = 0.0

    @rule(data=st.data(), between=st.floats(0, 1), sort=st.integers(0, SORT_SPACE - 1), wait_s=st.floats(0, 100))
    @precondition(lambda self: len(self.plain.rows) < 30)
    def split(self, data: st.DataObject, between: float, sort: int, wait_s: float) -> None:
        number, low, high = data.draw(st.sampled_from(self.plain.rows))
        at = Position(low[0] + int((high[0] - low[0]) * between), sort)
        if not low < at < high:
            with pytest.raises(AssertionError, match="inside"):
                self.map.split(number, at, self.now_s)
            return
        self.now_s += wait_s
        assert self.map.split(number, at, self.now_s) == self.plain.split(number, at)
        life = self.map.lives[number]
        assert life.retired_s == self.now_s
        assert [self.map.lives[n].parent for n in self.map.serving[-2:]].count(None) <= 2

    @rule()
    @precondition(lambda self: self.plain.retired)
    def a_retired_partition_is_not_split_again(self) -> None:
        number = self.plain.retired[-1]
        with pytest.raises(AssertionError, match="retired"):
            self.map.split(number, self.map.range_of(number).low, self.now_s)

    @invariant()
    def serves_the_same_ranges(self) -> None:
        assert [(n, *self.map.range_of(n)) for n in self.map.serving] == self.plain.rows
        assert self.map.cuts == [low for _, low, _ in self.plain.rows]
        assert len(self.map) == len(self.plain.rows)
        assert [self.map.column_of(n) for n in self.map.serving] == list(range(len(self.map)))
        self.map.assert_tiles()

    @invariant()
    def every_partition_keeps_its_number_and_its_life(self) -> None:
        assert [life.number for life in self.map.lives] == list(range(self.plain.next_number))
        assert [life.number for life in self.map.lives if life.retired_s is not None] == sorted(self.plain.retired)
        for life in self.map.lives:
            if life.parent is not None:
                assert life.born_s == self.map.lives[life.parent].retired_s


TestSplitting = Splitting.TestCase


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 1000])
def test_equal_ranges_are_equal_and_tile(count: int) -> None:
    ranges = equal_ranges(count)
    widths = {r.high.hash - r.low.hash for r in ranges}
    assert max(widths) - min(widths) <= 1
    assert (ranges[0].low, ranges[-1].high) == (BOTTOM, TOP)
    assert sum(r.high.hash - r.low.hash for r in ranges) == HASH_SPACE
    PartitionMap.equal(count).assert_tiles()


def test_a_gap_is_noticed() -> None:
    map_ = PartitionMap.equal(3)
    del map_.serving[1]
    with pytest.raises(AssertionError, match="meet"):
        map_.assert_tiles()
