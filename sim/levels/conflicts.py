"""Transactions that meet on one item at the request level (F-TX-2).

A PutItem, UpdateItem or DeleteItem of an item that a TransactWriteItems is at work on fails with TransactionConflictException. A
transaction one of whose items is being written by another request is cancelled. Plain reads and queries never conflict. An operation is
at work from its attempt to its answer; it then has passed the table's capacity, and stays charged (F-UNIT-14; of the single write
nobody says so, and a false condition, which is found out at the same place, is charged).

Items have an identity here only as far as one is likely to be met twice at once: of each pattern the `FOLLOWED_MAX` heaviest partition
keys, and the sort keys that are single items.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

import numpy as np

from sim.keyspace.position import SORT_SPACE, TOP, Position
from sim.levels.demand import Demand
from sim.levels.latencies import latency_law
from sim.levels.moving import Flow
from sim.levels.patterns import Pattern
from sim.names import BATCH_OPERATIONS, TABLE, TRANSACTION_OPERATIONS, Dimension, ErrorName, Operation
from sim.results.recorder import TimeGrid

FOLLOWED_MAX = 2**14  # partition keys of one access pattern
_FORGET_ABOVE = 4096  # items at work that are kept before those that are done are dropped
_TRIES = 16  # to draw a sort key inside a partition that has a part of a collection

Item = tuple[int, int]  # hash of the partition key, place of the sort key


def may_conflict(demands: Sequence[Demand]) -> bool:
    """Whether there are transactions that another request could meet."""
    return any(d.traffic.operation in TRANSACTION_OPERATIONS for d in demands) and any(
        leg.dimension is Dimension.WRITE and leg.resource == TABLE for d in demands for leg in d.legs
    )


def takes_part(demand: Demand) -> bool:
    """Whether requests of a pattern can conflict with others, or others with them."""
    return demand.traffic.operation in TRANSACTION_OPERATIONS or (
        demand.legs[0].dimension is Dimension.WRITE and demand.traffic.operation is not Operation.TTL_DELETE
    )


def at_work(pattern: Pattern, grid: TimeGrid) -> float:
    """How many transactions of a pattern are at work on its most asked item at a time, in the busiest tick, if none is refused."""
    if pattern.demand.traffic.operation is not Operation.TRANSACT_WRITE_ITEMS or pattern.integral is None:
        return 0.0
    edges_s = np.minimum(np.arange(grid.ticks + 1) * grid.tick_s, grid.duration_s)
    per_s = float((np.diff(pattern.integral(edges_s)) / np.diff(edges_s)).max())
    latency_s = latency_law(pattern.demand, pattern.flows[0].resource.calibration).mean_s
    shares = [
        flow.leg.items * float(flow.spread.shares.max(initial=0.0))
        for flow in pattern.flows
        if flow.spread.sort.is_point and not flow.spread.sort.moving
    ]
    return per_s * latency_s * max(shares, default=0.0)


class Identities:
    """Which item of a partition a request of a leg is about."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._mark: object = None
        self._cuts: list[Position] = []
        self._tables: dict[int, tuple[list[float], list[int]]] = {}

    def draw(self, column: int, chance: Callable[[], float]) -> Item | None:
        """The item, None where it is one of many; ``chance`` gives a random number in [0, 1)."""
        flow = self._flow
        mark = (flow.layout, flow.resource.version)
        if self._mark != mark:
            self._mark = mark
            flow.place()
            self._place()
        table = self._tables.get(column)
        if table is None:
            table = self._tables[column] = self._table(column)
        cumulative, hashes = table
        place = bisect_right(cumulative, chance())
        if place >= len(hashes):
            return None
        sort = self._sort(hashes[place], column, chance)
        return None if sort is None else (hashes[place], sort)

    def _place(self) -> None:
        spread = self._flow.spread
        self._cuts = list(self._flow.resource.partitions.cuts)
        heaviest = np.sort(np.argsort(-spread.shares, kind="stable")[:FOLLOWED_MAX])
        self._hashes = [int(h) for h in spread.positions[heaviest]]
        self._shares = [float(s) for s in spread.shares[heaviest]]
        self._tables = {}

    def _table(self, column: int) -> tuple[list[float], list[int]]:
        """Followed keys of a partition with their summed parts of its traffic."""
        low = self._cuts[column]
        high = self._cuts[column + 1] if column + 1 < len(self._cuts) else TOP
        share = float(self._flow.shares[column])
        if share <= 0:
            return [], []
        first = bisect_left(self._hashes, low.hash)
        last = bisect_right(self._hashes, high.hash)
        sort = self._flow.spread.sort
        cumulative, hashes, total = [], [], 0.0
        for k in range(first, last):
            begin = sort.below(low.sort) if self._hashes[k] == low.hash else 0.0
            end = sort.below(high.sort) if self._hashes[k] == high.hash else 1.0
            if end > begin:
                total += self._shares[k] * (end - begin) / share
                cumulative.append(total)
                hashes.append(self._hashes[k])
        if cumulative and abs(cumulative[-1] - 1.0) < 1e-9:  # nothing else lies here
            cumulative[-1] = 1.0
        return cumulative, hashes

    def _sort(self, key: int, column: int, chance: Callable[[], float]) -> int | None:
        sort = self._flow.spread.sort
        if sort.moving:  # each one is new
            return None
        if len(sort.low) == 1:
            return int(sort.low[0]) if sort.low[0] == sort.high[0] else None
        low = self._cuts[column]
        high = self._cuts[column + 1] if column + 1 < len(self._cuts) else TOP
        least = low.sort if key == low.hash else 0
        most = high.sort if key == high.hash else SORT_SPACE + 1
        for _ in range(_TRIES):
            piece = min(int(np.searchsorted(np.cumsum(sort.shares), chance(), side="right")), len(sort.low) - 1)
            at = int(sort.low[piece])
            if sort.low[piece] != sort.high[piece]:
                return None
            if least <= at < most:
                return at
        return None


class Conflicts:
    """Items that requests are at work on."""

    def __init__(self) -> None:
        self._transactions: dict[Item, float] = {}
        self._writes: dict[Item, float] = {}

    def meet(
        self, operation: Operation, items: Sequence[Item | None], now_s: float, until_s: float
    ) -> ErrorName | None:
        """Whether a request that would be at work until ``until_s`` conflicts; if not, it is at work from now on."""
        known = [item for item in items if item is not None]
        transaction = operation in TRANSACTION_OPERATIONS
        for item in known:
            if operation in BATCH_OPERATIONS:  # nobody says that one is refused
                break
            if self._transactions.get(item, -1.0) > now_s:
                return ErrorName.TRANSACTION_CANCELED if transaction else ErrorName.TRANSACTION_CONFLICT
            if transaction and self._writes.get(item, -1.0) > now_s:
                return ErrorName.TRANSACTION_CANCELED
        if operation is not Operation.TRANSACT_GET_ITEMS:
            at_work = self._transactions if transaction else self._writes
            for item in known:
                at_work[item] = max(until_s, at_work.get(item, until_s))
            if len(at_work) > _FORGET_ABOVE:
                for item in [item for item, end_s in at_work.items() if end_s <= now_s]:
                    del at_work[item]
        return None
