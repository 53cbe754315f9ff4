"""The retry quota: what keeps one SDK client from retrying a table to death (F-RETRY-4)."""

from __future__ import annotations

from sim.clients.base import RetryPolicy

QUOTA_TOKENS = 500  # F-RETRY-4
UNRETRIED_REFUND = 1  # F-RETRY-4


class RetryQuota:
    """Tokens of one client object, shared by all its requests; full at the start.

    A retry acquires its cost (`RetryPolicy.quota_costs`) or the request fails. A request that succeeds in the end releases the cost
    of its last retry; one that succeeds at once, 1; one that fails, nothing.
    """

    __slots__ = ("capacity", "tokens")

    def __init__(self, capacity: int = QUOTA_TOKENS) -> None:
        self.capacity = capacity
        self.tokens = capacity

    def acquire(self, cost: int) -> bool:
        """Take ``cost`` tokens for a retry; False: there are not so many, and none is taken."""
        if cost > self.tokens:
            return False
        self.tokens -= cost
        return True

    def release(self, last_cost: int = 0) -> None:
        """A request has succeeded, its last retry having cost ``last_cost`` (0: it was not retried)."""
        tokens = self.tokens + (last_cost or UNRETRIED_REFUND)
        self.tokens = tokens if tokens < self.capacity else self.capacity


class FluidQuota:
    """The quotas of ``clients`` equally loaded clients as one level of a fluid, for counts per tick.

    The same capacity, costs and refunds; it differs where a single client would be left with less than one cost, and where clients
    are loaded unequally.

    Attributes
    ----------
    capacity, tokens : over all clients.
    """

    __slots__ = ("capacity", "tokens")

    def __init__(self, clients: int = 1, capacity: float = QUOTA_TOKENS) -> None:
        self.capacity = float(capacity * clients)
        self.tokens = self.capacity

    def grant(self, retries: float, cost: float) -> float:
        """How many of ``retries`` (a count, also fractional) go ahead at ``cost`` tokens each; their tokens are taken."""
        granted = retries if retries * cost <= self.tokens else self.tokens / cost
        self.tokens = max(0.0, self.tokens - granted * cost)
        return granted

    def release(self, unretried: float, retried: float, last_cost: float) -> None:
        """So many requests have succeeded at once, and so many after retries whose last one cost ``last_cost``."""
        self.tokens = min(self.capacity, self.tokens + unretried * UNRETRIED_REFUND + retried * last_cost)


def make_quota(policy: RetryPolicy) -> RetryQuota | None:
    """A full quota for one client of this policy; None where the policy has none."""
    return None if policy.quota_costs is None else RetryQuota()
