"""DAX nodes as caches: against a plain list that knows everything, and by small traces written by hand."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sim.clients.dax import DaxCluster, Lookup, NodeCache

KEYS = st.integers(0, 5)


class CacheAgainstList(RuleBasedStateMachine):
    """The cache beside a list of what was put, in order of use, that is searched through at every step."""

    @initialize(capacity=st.sampled_from([1.0, 2.0, 3.0, 5.0]), ttl=st.sampled_from([None, 1.0, 4.0]))
    def begin(self, capacity: float, ttl: float | None) -> None:
        self.now = 0.0
        self.capacity, self.ttl = capacity, ttl
        self.cache = NodeCache(capacity, ttl)
        self.rows: list[tuple[int, float, float]] = []  # key, put at, weight; the least recently used first

    def good(self) -> list[tuple[int, float, float]]:
        return [row for row in self.rows if self.ttl is None or self.now < row[1] + self.ttl]

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 3.0, 4.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(key=KEYS)
    def get(self, key: int) -> None:
        self.rows = self.good()
        found = [row for row in self.rows if row[0] == key]
        assert self.cache.get(self.now, key) == (found[0][1] if found else None)
        self.rows = [row for row in self.rows if row[0] != key] + found

    @rule(key=KEYS, weight=st.sampled_from([1.0, 2.0, 4.0]))
    def put(self, key: int, weight: float) -> None:
        self.cache.put(self.now, key, weight)
        self.rows = [row for row in self.good() if row[0] != key]
        if weight > self.capacity:
            return
        self.rows.append((key, self.now, weight))
        while sum(row[2] for row in self.rows) > self.capacity:
            del self.rows[0]

    @invariant()
    def holds_no_more_than_it_has_room_for(self) -> None:
        if hasattr(self, "cache"):
            assert 0 <= self.cache.weight <= self.capacity
            assert len(self.cache) >= len(self.good()), "what is good and was not pushed out is still there"


TestCacheAgainstList = CacheAgainstList.TestCase


def test_asking_keeps_an_entry_from_leaving_but_not_from_expiring() -> None:
    cache = NodeCache(2, 10.0)
    cache.put(0.0, "a")
    cache.put(1.0, "b")
    assert cache.get(2.0, "a") == 0.0
    cache.put(3.0, "c")
    assert (cache.get(4.0, "b"), cache.get(9.999, "a"), cache.get(10.0, "a")) == (None, 0.0, None)


def test_a_new_put_begins_a_new_life() -> None:
    cache = NodeCache(2, 10.0)
    cache.put(0.0, "a")
    cache.put(9.0, "a")
    assert cache.get(18.9, "a") == 9.0
    assert cache.get(19.0, "a") is None


def cluster(nodes: int = 2) -> DaxCluster:
    return DaxCluster(nodes, 100, 100, 300.0, 300.0)


def test_nodes_have_caches_of_their_own() -> None:
    two = cluster()
    two.items[0].put(0.0, "k")
    assert [two.read_item(1.0, node, "k") for node in (0, 1)] == [Lookup.HIT, Lookup.MISS]


def test_a_write_through_comes_to_all_nodes_and_makes_no_item_stale() -> None:
    two = cluster()
    two.items[0].put(0.0, "k")
    two.write_item(5.0, "k", 1.0, through=True)
    assert [two.read_item(6.0, node, "k") for node in (0, 1)] == [Lookup.HIT, Lookup.HIT]


def test_a_write_around_leaves_what_is_cached_stale_until_it_is_fetched_again() -> None:
    two = cluster()
    two.items[0].put(0.0, "k")
    two.write_item(5.0, "k", 1.0, through=False)
    assert [two.read_item(6.0, node, "k") for node in (0, 1)] == [Lookup.STALE, Lookup.MISS]
    assert two.read_item(300.0, 0, "k") is Lookup.MISS
    two.items[0].put(300.0, "k")
    assert two.read_item(301.0, 0, "k") is Lookup.HIT


def test_no_query_cache_hears_of_a_write() -> None:
    two = cluster()
    two.queries[0].put(0.0, "q")
    two.write_item(1.0, "item of the collection", 1.0, through=True)
    two.write_collection(1.0, "collection")
    assert two.read_query(2.0, 0, "q", "collection") is Lookup.STALE
    assert two.read_query(2.0, 0, "q", "another") is Lookup.HIT


def test_an_item_cache_and_a_query_cache_do_not_warm_each_other() -> None:
    one = cluster(1)
    one.queries[0].put(0.0, "k")
    assert one.read_item(1.0, 0, "k") is Lookup.MISS
