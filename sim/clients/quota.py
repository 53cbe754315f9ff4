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

    def granted_fraction(self, wanted: float, unretried: float, retried: float, cost: float) -> float:
        """Which part of ``wanted`` retries (a count, also fractional) goes ahead at ``cost`` tokens each.

        In the same tick ``unretried`` requests succeed at once, and ``retried`` after retries; what they bring back can be spent.
        """
        have = self._with_refunds(unretried, retried, cost)
        return 1.0 if wanted * cost <= have else have / (wanted * cost)

    def settle(self, granted: float, unretried: float, retried: float, cost: float) -> None:
        """Close a tick in which ``granted`` retries went ahead."""
        left = self._with_refunds(unretried, retried, cost) - granted * cost
        self.tokens = max(0.0, min(self.capacity, left))

    def _with_refunds(self, unretried: float, retried: float, cost: float) -> float:
        return self.tokens + unretried * UNRETRIED_REFUND + retried * cost


def make_quota(policy: RetryPolicy) -> RetryQuota | None:
    """A full quota for one client of this policy; None where the policy has none."""
    return None if policy.quota_costs is None else RetryQuota()
