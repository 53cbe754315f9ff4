"""A lane in continuous time: the same gates as `sim.partitions.lane`, asked one attempt at a time.

Between two control events the levels live in plain lists, which are quicker than arrays for one column at a time; `enter` takes them from
the lane's buckets and `leave` puts them back.
"""

from __future__ import annotations

import numpy as np

from sim.names import Limit
from sim.partitions.lane import Lane

_LEAST_WITH_DEBT = 1e-9  # a bucket that may go into debt lets an attempt pass as long as anything is left


class ClockedColumns:
    """The buckets of one column gate: levels at the times ``at_s``, refilled when they are looked at."""

    __slots__ = ("at_s", "by_ceiling", "depths", "floor", "levels", "limit", "rates")

    def __init__(self, limit: Limit, by_ceiling: bool) -> None:
        self.limit = limit
        self.by_ceiling = by_ceiling
        self.floor = 0.0
        self.levels: list[float] = []
        self.at_s: list[float] = []
        self.rates: list[float] = []
        self.depths: list[float] = []


class ClockedTotal:
    """The one bucket of a total gate."""

    __slots__ = ("at_s", "depth", "floor", "level", "limit", "rate")

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.level = self.at_s = self.rate = self.depth = self.floor = 0.0


class ClockedLane:
    """The gates of a lane between `enter` and `leave`.

    Attributes
    ----------
    lane : whose gates they are.
    columns, totals : the gates, in the lane's order.
    is_plain : there is one ceiling and at most one total, and no debt.
    """

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.debt = lane.debt
        self.columns = [ClockedColumns(gate.limit, gate.by_ceiling) for gate in lane.columns]
        self.totals = [ClockedTotal(gate.limit) for gate in lane.totals]
        # One ceiling and at most one total: the common case, which the tight loops spell out for speed.
        self.is_plain = len(self.columns) == 1 and len(self.totals) <= 1 and not lane.debt

    def enter(self, now_s: float) -> None:
        """Take the levels that the lane's buckets have at ``now_s``."""
        for column, gate in zip(self.columns, self.lane.columns, strict=True):
            buckets = gate.buckets
            column.levels = buckets.level.tolist()
            column.rates = buckets.rate_per_s.tolist()
            column.depths = buckets.depth.tolist()
            column.at_s = [now_s] * len(column.levels)
            column.floor = buckets.floor
        for total, gate in zip(self.totals, self.lane.totals, strict=True):
            total.level, total.at_s = float(gate.buckets.level[0]), now_s
            total.rate, total.depth = float(gate.buckets.rate_per_s[0]), float(gate.buckets.depth[0])
            total.floor = gate.buckets.floor

    def leave(self, now_s: float) -> None:
        """Put the levels of ``now_s`` back into the lane's buckets."""
        for column, gate in zip(self.columns, self.lane.columns, strict=True):
            waited = now_s - np.array(column.at_s)
            gate.buckets.level = np.minimum(
                gate.buckets.depth, np.array(column.levels) + waited * gate.buckets.rate_per_s
            )
        for total, gate in zip(self.totals, self.lane.totals, strict=True):
            gate.buckets.level[0] = min(total.depth, total.level + (now_s - total.at_s) * total.rate)

    def admit(self, now_s: float, column: int, units: float, ceiling_units: float) -> Limit | None:
        """Let one attempt pass, taking its cost at every gate, or name the first limit that refuses it and take nothing."""
        refusal = self.look(now_s, column, units, ceiling_units)
        if refusal is None:
            self.take(column, units, ceiling_units)
        return refusal

    def look(self, now_s: float, column: int, units: float, ceiling_units: float) -> Limit | None:
        """Refill what the attempt meets; the first limit without its cost, or None."""
        refusal = None
        least = _LEAST_WITH_DEBT if self.debt else None
        for total in self.totals:
            level = total.level + (now_s - total.at_s) * total.rate
            total.level = level if level < total.depth else total.depth
            total.at_s = now_s
            if refusal is None and total.level - total.floor < (units if least is None else min(units, least)):
                refusal = total.limit
        for gate in self.columns:
            level = gate.levels[column] + (now_s - gate.at_s[column]) * gate.rates[column]
            if level > gate.depths[column]:
                level = gate.depths[column]
            gate.levels[column] = level
            gate.at_s[column] = now_s
            cost = ceiling_units if gate.by_ceiling else units
            if refusal is None and level - gate.floor < (cost if least is None else min(cost, least)):
                refusal = gate.limit
        return refusal

    def take(self, column: int, units: float, ceiling_units: float) -> None:
        """Take the cost of an attempt at every gate; a negative one gives it back."""
        for total in self.totals:
            total.level -= units
        for gate in self.columns:
            gate.levels[column] -= ceiling_units if gate.by_ceiling else units
