"""Every attempt on its own, at its own time: token buckets as AWS describes them, with nothing clever about it.

A refused attempt takes tokens nowhere. The engine's flow level counts per tick; here nothing is counted, drawn together or in closed form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

ROUNDING = 1e-9  # units: a bucket that lacks less than this is taken to hold the attempt


@dataclass
class ExactBucket:
    """One bucket that refills all the time. It is full when none is said to be in it."""

    rate_per_s: float
    depth: float
    level: float = -1.0
    at_s: float = 0.0

    def __post_init__(self) -> None:
        if self.level < 0:
            self.level = self.depth

    def at(self, now_s: float) -> float:
        """Tokens at a time that is not before the last one asked for."""
        self.level = min(self.depth, self.level + (now_s - self.at_s) * self.rate_per_s)
        self.at_s = now_s
        return self.level


@dataclass
class ExactTable:
    """Buckets of the whole table by their limit, in the order of reasons, then one ceiling for each partition."""

    ceilings: Sequence[ExactBucket]
    totals: Sequence[tuple[str, ExactBucket]] = ()
    consumed: float = 0.0
    refused: dict[str, float] = field(default_factory=dict)

    def refusal(self, now_s: float, items: Sequence[tuple[int, float]]) -> str | None:
        """Name of the first limit that lacks the full cost of ``items`` (column, units)."""
        whole = sum(units for _, units in items)
        for name, bucket in self.totals:
            if bucket.at(now_s) + ROUNDING < whole:
                return name
        by_column: dict[int, float] = {}
        for column, units in items:
            by_column[column] = by_column.get(column, 0.0) + units
        if any(self.ceilings[column].at(now_s) + ROUNDING < units for column, units in by_column.items()):
            return "key range"
        return None

    def attempt(self, now_s: float, items: Sequence[tuple[int, float]]) -> bool:
        """Serve all items together, or none."""
        reason = self.refusal(now_s, items)
        if reason is not None:
            self.refused[reason] = self.refused.get(reason, 0.0) + 1
            return False
        for column, units in items:
            self.ceilings[column].level -= units
            for _, bucket in self.totals:
                bucket.level -= units
            self.consumed += units
        return True

    def serve(self, arrivals: Iterable[tuple[float, Sequence[tuple[int, float]]]]) -> list[float]:
        """Times of the attempts that were refused."""
        return [at_s for at_s, items in arrivals if not self.attempt(at_s, items)]
