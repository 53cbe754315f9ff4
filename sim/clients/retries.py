"""Retry policies of the SDKs by name, and those with a user's own numbers.

The numbers are botocore's and live here alone: they are neither limits of the service nor estimates. The tests hold them against
botocore's own classes, the releases before and after the change of November 2026.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sim.clients.base import ErrorKind, RetryPolicy
from sim.names import RetryMode
from sim.scenario.client import Client

_ALL_RETRIED = frozenset({ErrorKind.THROTTLED, ErrorKind.REQUEST_LIMIT, ErrorKind.TRANSIENT, ErrorKind.TIMEOUT})


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """Numbers of a named policy.

    Attributes
    ----------
    max_attempts : attempts in all.
    base_s : seconds before the first retry (its most, where the delay is random); doubles with every further one.
    base_unthrottled_s : the same after TRANSIENT and TIMEOUT.
    max_s : cap of the doubling, seconds.
    random : whether the delay is uniform on 0 to that (full jitter) or exactly that.
    retried : kinds of error that are retried.
    cost, cost_throttled, cost_timeout : quota tokens of a retry after TRANSIENT, after a throttle, after TIMEOUT; 0: no quota.
    """

    max_attempts: int
    base_s: float
    base_unthrottled_s: float
    max_s: float
    random: bool
    retried: frozenset[ErrorKind] = _ALL_RETRIED
    cost: int = 0
    cost_throttled: int = 0
    cost_timeout: int = 0


_STANDARD = Backoff(  # F-RETRY-3: botocore 1.44.0 and later, DynamoDB's own numbers
    max_attempts=4,
    base_s=1.0,
    base_unthrottled_s=0.025,
    max_s=20.0,
    random=True,
    cost=14,
    cost_throttled=5,
    cost_timeout=14,
)

BACKOFFS: dict[RetryMode, Backoff] = {
    RetryMode.NONE: Backoff(max_attempts=1, base_s=0.0, base_unthrottled_s=0.0, max_s=math.inf, random=False),
    RetryMode.LEGACY: Backoff(  # F-RETRY-1
        max_attempts=10,
        base_s=0.05,
        base_unthrottled_s=0.05,
        max_s=math.inf,
        random=False,
        retried=_ALL_RETRIED - {ErrorKind.REQUEST_LIMIT},
    ),
    RetryMode.STANDARD_2025: Backoff(  # F-RETRY-2: botocore up to 1.43
        max_attempts=3,
        base_s=1.0,
        base_unthrottled_s=1.0,
        max_s=20.0,
        random=True,
        cost=5,
        cost_throttled=5,
        cost_timeout=10,
    ),
    RetryMode.STANDARD: _STANDARD,
    RetryMode.ADAPTIVE: _STANDARD,  # F-RETRY-6: standard and a limiter
}


class _Table(RetryPolicy):
    """A policy whose numbers stand in rows: by kind of error, then by attempt from 1; a kind that is not retried has an empty row."""

    __slots__ = ("_rows",)

    def __init__(
        self,
        mode: RetryMode,
        max_attempts: int,
        quota_costs: tuple[int, ...] | None,
        rows: tuple[tuple[float, ...], ...],
    ) -> None:
        super().__init__(mode, max_attempts, quota_costs)
        self._rows = rows


class FixedDelays(_Table):
    """Delays that are written down: legacy's doubling, and any list of the user's."""

    __slots__ = ()

    def delay_s(self, attempt: int, kind: int, u: float) -> float | None:
        """See `RetryPolicy`."""
        row = self._rows[kind]
        return row[attempt - 1] if attempt <= len(row) else None

    def delay_law(self, attempt: int, kind: int = ErrorKind.THROTTLED) -> tuple[float, float] | None:
        """See `RetryPolicy`: a point."""
        row = self._rows[kind]
        return (row[attempt - 1], row[attempt - 1]) if attempt <= len(row) else None


class FullJitter(_Table):
    """Delays that are uniform between 0 and a doubling cap (F-RETRY-2, F-RETRY-3)."""

    __slots__ = ()

    def delay_s(self, attempt: int, kind: int, u: float) -> float | None:
        """See `RetryPolicy`."""
        row = self._rows[kind]
        return u * row[attempt - 1] if attempt <= len(row) else None

    def delay_law(self, attempt: int, kind: int = ErrorKind.THROTTLED) -> tuple[float, float] | None:
        """See `RetryPolicy`: from 0 to the cap."""
        row = self._rows[kind]
        return (0.0, row[attempt - 1]) if attempt <= len(row) else None


def make_policy(client: Client) -> RetryPolicy:
    """The policy of a client's settings.

    A number of the user's stands in the place of the policy's own, for every kind of error: `max_attempts`, `base_delay` (still
    doubling, still random where the policy's delays are), `max_delay`. `delays` are taken as they are, without doubling, cap or
    chance; they make one attempt more than there are delays, and with a `max_attempts` beyond that the last one repeats.

    ``none`` has no delays of its own: with `delays` or `max_attempts` it becomes a plain policy of those, without a quota, its
    resends going out at once where neither `delays` nor `base_delay` say otherwise.
    """
    backoff = _with_own_numbers(BACKOFFS[client.retry], client)
    rows = tuple(_row(backoff, kind, client.delays) for kind in ErrorKind)
    shape = FullJitter if backoff.random and client.delays is None else FixedDelays
    return shape(client.retry, backoff.max_attempts, _quota_costs(backoff), rows)


def _with_own_numbers(backoff: Backoff, client: Client) -> Backoff:
    if client.delays is not None:
        backoff = replace(backoff, max_attempts=len(client.delays) + 1)
    if client.max_attempts is not None and client.delays != ():  # without a delay to repeat there is no resend
        backoff = replace(backoff, max_attempts=client.max_attempts)
    if client.base_delay is not None:
        backoff = replace(backoff, base_s=client.base_delay, base_unthrottled_s=client.base_delay)
    if client.max_delay is not None:
        backoff = replace(backoff, max_s=client.max_delay)
    return backoff


def _row(backoff: Backoff, kind: ErrorKind, delays: tuple[float, ...] | None) -> tuple[float, ...]:
    """Delays (or their caps), in seconds, after attempts 1, 2, … that failed with an error of this kind; empty: not retried."""
    if kind not in backoff.retried:
        return ()
    resends = backoff.max_attempts - 1
    if delays is not None:
        return tuple(delays[min(n, len(delays) - 1)] for n in range(resends))
    unthrottled = kind in (ErrorKind.TRANSIENT, ErrorKind.TIMEOUT)
    base_s = backoff.base_unthrottled_s if unthrottled else backoff.base_s
    return tuple(min(base_s * 2.0**n, backoff.max_s) for n in range(resends))


def _quota_costs(backoff: Backoff) -> tuple[int, ...] | None:
    if not backoff.cost:
        return None
    costs = dict.fromkeys(ErrorKind, 0)
    costs[ErrorKind.THROTTLED] = costs[ErrorKind.REQUEST_LIMIT] = backoff.cost_throttled
    costs[ErrorKind.TRANSIENT] = backoff.cost
    costs[ErrorKind.TIMEOUT] = backoff.cost_timeout
    return tuple(costs.values())
