"""What a retry policy is, and the kinds of answer that it tells apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum

from sim.names import ErrorName, RetryMode


class ErrorKind(IntEnum):
    """Errors as clients tell them apart; a plain whole number, so that it may index a table in the per-attempt path.

    REJECTED : the table is well and says no (a false condition, ValidationException, a full item collection); nobody retries it.
    CANCELLED : TransactionCanceledException, whatever cancelled it; no SDK retries it (F-ERR-5, F-RETRY-5).
    THROTTLED : a throttling code that every policy retries.
    REQUEST_LIMIT : RequestLimitExceeded, a throttling code that legacy does not know (F-RETRY-1).
    TRANSIENT : HTTP 500, 502, 503, 504, a broken connection.
    TIMEOUT : no answer within the client's ``timeout``.
    """

    REJECTED = 0
    CANCELLED = 1
    THROTTLED = 2
    REQUEST_LIMIT = 3
    TRANSIENT = 4
    TIMEOUT = 5


THROTTLES = frozenset({ErrorKind.THROTTLED, ErrorKind.REQUEST_LIMIT})  # F-RETRY-5: what the adaptive limiter counts

_KIND_OF: dict[str, ErrorKind] = {
    ErrorName.PROVISIONED: ErrorKind.THROTTLED,
    ErrorName.THROTTLING: ErrorKind.THROTTLED,
    ErrorName.TRANSACTION_IN_PROGRESS: ErrorKind.THROTTLED,
    ErrorName.REQUEST_LIMIT: ErrorKind.REQUEST_LIMIT,
    ErrorName.TRANSACTION_CANCELED: ErrorKind.CANCELLED,
    "InternalServerError": ErrorKind.TRANSIENT,
    "ReplicatedWriteConflictException": ErrorKind.TRANSIENT,
}


def error_kind(name: str) -> ErrorKind:
    """Kind of an error by AWS's name; what is not known to be retried by anybody is REJECTED."""
    return _KIND_OF.get(name, ErrorKind.REJECTED)


class RetryPolicy(ABC):
    """Whether and when a failed attempt is made again. Holds no state: one policy may serve any number of clients.

    A client with a quota (`quota_costs` is not None) asks its `RetryQuota` for ``quota_costs[kind]`` after the policy has said yes; a no
    of the quota ends the request.

    Attributes
    ----------
    mode : the policy's name.
    max_attempts : attempts at most, the first included (1 and more).
    quota_costs : tokens of the retry quota that a retry costs, by `ErrorKind`; None: no quota.
    is_adaptive : whether an `AdaptiveLimiter` belongs to each client.
    """

    __slots__ = ("is_adaptive", "max_attempts", "mode", "quota_costs")

    def __init__(self, mode: RetryMode, max_attempts: int, quota_costs: tuple[int, ...] | None) -> None:
        self.mode = mode
        self.max_attempts = max_attempts
        self.quota_costs = quota_costs
        self.is_adaptive = mode is RetryMode.ADAPTIVE

    @abstractmethod
    def delay_s(self, attempt: int, kind: int, u: float) -> float | None:
        """Seconds from the answer of attempt number ``attempt`` (1, 2, …) to the next one; None: the request has failed.

        Parameters
        ----------
        attempt : number of the attempt that failed, from 1.
        kind : `ErrorKind` of its error.
        u : a uniform draw from [0, 1); not looked at where the delay is not random.
        """

    @abstractmethod
    def delay_law(self, attempt: int, kind: int = ErrorKind.THROTTLED) -> tuple[float, float] | None:
        """Ends, in seconds, of the uniform law of ``delay_s(attempt, kind, u)``; equal where it is not random; None: no retry."""

    def retries(self, kind: int) -> bool:
        """Whether an error of this kind is retried at all."""
        return self.delay_law(1, kind) is not None
