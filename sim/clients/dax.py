"""A DAX cluster before a table: nodes with an item cache and a query cache each, as state machines with ``now_s``.

Reads go to any node alike. A node keeps what it has fetched until its time to live is over, and drops what was asked longest ago when it is
full (F-DAX-1). A write through the cluster comes to all nodes; AWS brings it to the primary first and to the others within about a second,
here at once. What expires leaves its room at once.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from enum import Enum


class Lookup(Enum):
    """What a node says to a read."""

    MISS = "miss"
    HIT = "hit"
    STALE = "stale"  # a hit on what has been written since it was fetched


class NodeCache:
    """One cache of one node: least recently used leaves first, and nothing stays longer than its time to live.

    Parameters
    ----------
    capacity : greatest sum of the entries' weights, above 0.
    ttl_s : how long an entry is good from when it was put; asking for it does not prolong that. None: for ever.
    """

    def __init__(self, capacity: float, ttl_s: float | None) -> None:
        self.capacity = capacity
        self.ttl_s = ttl_s
        self.weight = 0.0
        self._entries: OrderedDict[Hashable, tuple[float, float, int]] = OrderedDict()  # put at, weight, number
        self._expiring: deque[tuple[float, int, Hashable]] = deque()
        self._number = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, now_s: float, key: Hashable) -> float | None:
        """When what is kept under ``key`` was put; None where nothing (or nothing that is still good) is kept."""
        self._expire(now_s)
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, now_s: float, key: Hashable, weight: float = 1.0) -> None:
        """Keep something under ``key`` from now on, in place of what was kept there. Nothing over the capacity is kept at all."""
        self._expire(now_s)
        old = self._entries.pop(key, None)
        if old is not None:
            self.weight -= old[1]
        if weight > self.capacity:
            return
        self._number += 1
        self._entries[key] = (now_s, weight, self._number)
        self.weight += weight
        if self.ttl_s is not None:
            self._expiring.append((now_s + self.ttl_s, self._number, key))
        while self.weight > self.capacity:
            _, (_, freed, _) = self._entries.popitem(last=False)
            self.weight -= freed

    def _expire(self, now_s: float) -> None:
        waiting = self._expiring
        while waiting and waiting[0][0] <= now_s:
            _, number, key = waiting.popleft()
            entry = self._entries.get(key)
            if entry is not None and entry[2] == number:
                del self._entries[key]
                self.weight -= entry[1]


class DaxCluster:
    """All nodes of a cluster, and what has been written since.

    Parameters
    ----------
    nodes : number of nodes, at least 1.
    item_capacity, query_capacity : of each node's caches, in the unit of the entries' weights.
    item_ttl_s, query_ttl_s : None: for ever.
    """

    def __init__(
        self,
        nodes: int,
        item_capacity: float,
        query_capacity: float,
        item_ttl_s: float | None,
        query_ttl_s: float | None,
    ) -> None:
        self.nodes = nodes
        self.items = [NodeCache(item_capacity, item_ttl_s) for _ in range(nodes)]
        self.queries = [NodeCache(query_capacity, query_ttl_s) for _ in range(nodes)]
        self._item_written_s: dict[Hashable, float] = {}
        self._collection_written_s: dict[Hashable, float] = {}

    def read_item(self, now_s: float, node: int, key: Hashable) -> Lookup:
        """Ask a node for an item."""
        return _said(self.items[node].get(now_s, key), self._item_written_s.get(key))

    def read_query(self, now_s: float, node: int, key: Hashable, collection: Hashable) -> Lookup:
        """Ask a node for the answer of a Query or Scan, which is stale once anything in its collection has been written (F-DAX-3)."""
        return _said(self.queries[node].get(now_s, key), self._collection_written_s.get(collection))

    def write_item(self, now_s: float, key: Hashable, weight: float, *, through: bool) -> None:
        """An item has been written to the table; ``through`` the cluster, so that all nodes hold it from now on, or around it."""
        if through:
            for cache in self.items:
                cache.put(now_s, key, weight)
        self._item_written_s[key] = now_s

    def write_collection(self, now_s: float, collection: Hashable) -> None:
        """Something in a collection has been written, through the cluster or not: no query cache hears of it (F-DAX-3)."""
        self._collection_written_s[collection] = now_s


def _said(put_s: float | None, written_s: float | None) -> Lookup:
    if put_s is None:
        return Lookup.MISS
    return Lookup.STALE if written_s is not None and written_s > put_s else Lookup.HIT
