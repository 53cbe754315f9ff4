"""The application's own rate limit: a token bucket on units, first come first served."""

from __future__ import annotations

from sim.scenario.client import Client

DEPTH_S = 1.0  # contract: one second deep


class RateLimiter:
    """Limiter of one client object and one dimension, full at the start.

    A request goes when those before it have gone and the bucket holds its units. One that costs more than the bucket holds goes when
    the bucket is full and leaves it in debt, so that over any stretch no more than rate × time + the largest of depth and cost passes.

    Attributes
    ----------
    rate_per_s, depth : units per second; units.
    """

    __slots__ = ("_at_s", "_level", "depth", "rate_per_s")

    def __init__(self, rate_per_s: float, start_s: float = 0.0) -> None:
        assert rate_per_s > 0
        self.rate_per_s = rate_per_s
        self.depth = rate_per_s * DEPTH_S
        self._level = self.depth  # right after the last admission, which may lie ahead of now
        self._at_s = start_s

    def admit_at(self, now_s: float, units: float) -> float:
        """When a request of ``units`` that arrives at ``now_s`` may go: ``now_s`` or later. Its place in the queue is taken for good.

        In closed form, since the rate does not change: nothing waits in a list. Arrivals are given in order of time.
        """
        at_s = self._at_s
        level = self._level
        if now_s > at_s:
            level += (now_s - at_s) * self.rate_per_s
            if level > self.depth:
                level = self.depth
            at_s = now_s
        needed = units if units < self.depth else self.depth
        if level < needed:
            at_s += (needed - level) / self.rate_per_s
            level = needed
        self._level = level - units
        self._at_s = at_s
        return at_s


class FluidLimiter:
    """The limiters of ``clients`` equally loaded clients for one dimension, in units per tick.

    Attributes
    ----------
    level : tokens, over all clients.
    backlog : units that wait.
    """

    __slots__ = ("_depth", "_rate_per_s", "backlog", "level")

    def __init__(self, rate_per_s: float, clients: int = 1) -> None:
        assert rate_per_s > 0
        self._rate_per_s = rate_per_s * clients
        self._depth = self._rate_per_s * DEPTH_S
        self.level = self._depth
        self.backlog = 0.0

    @property
    def wait_s(self) -> float:
        """Seconds that a unit arriving now would wait."""
        return max(0.0, (self.backlog - self.level) / self._rate_per_s)

    def admit(self, units: float, tick_s: float) -> float:
        """Units that pass within a tick in which ``units`` arrive; the rest joins the backlog. Clipped after serving, as the table's."""
        available = self.level + self._rate_per_s * tick_s
        waiting = self.backlog + units
        passed = min(waiting, available)
        self.backlog = waiting - passed
        self.level = min(self._depth, available - passed)
        return passed


def make_limiters(client: Client, start_s: float = 0.0) -> tuple[RateLimiter | None, RateLimiter | None]:
    """The read and the write limiter for one client object; None where there is no limit."""
    limit = client.rate_limit
    if limit is None:
        return None, None
    read = None if limit.read is None else RateLimiter(limit.read, start_s)
    write = None if limit.write is None else RateLimiter(limit.write, start_s)
    return read, write
