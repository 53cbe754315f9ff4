"""What stands between the application and the table: retries, timeouts, breaker and limiter of the SDK client."""

from __future__ import annotations

from typing import Annotated

from pydantic import model_validator

from sim.names import RetryMode
from sim.scenario.base import Value, refusal, refuse_all
from sim.scenario.leaves import RATE_MAX_PER_S, Fraction01, PositiveSeconds, Seconds, number, whole, word

ATTEMPTS_MAX = 1000
_UnitsPerSecond = Annotated[float, number(0, RATE_MAX_PER_S, "units per second", above=True)]


class CircuitBreaker(Value):
    """Stops sending when the table keeps failing.

    Attributes
    ----------
    failures : failures in a row that open it.
    reset : seconds after which it tries again.
    """

    failures: Annotated[int, whole(1, 10**9)]
    reset: PositiveSeconds


class RateLimit(Value):
    """The client's own limit, first come first served, one second deep.

    Attributes
    ----------
    read : read units per second. None: no limit.
    write : write units per second. None: no limit.
    """

    read: _UnitsPerSecond | None = None
    write: _UnitsPerSecond | None = None


class RetryUnprocessed(Value):
    """Resending of what a batch gave back: resend n (from 0) waits base_delay × 2ⁿ up to max_delay.

    Attributes
    ----------
    max_retries : resends at most.
    base_delay : wait before the first resend.
    max_delay : longest wait before a resend, jitter apart.
    jitter : largest fraction added to a delay at random.
    """

    max_retries: Annotated[int, whole(0, ATTEMPTS_MAX)]
    base_delay: Seconds = 0.05
    max_delay: Seconds = 20.0
    jitter: Fraction01 = 0.0


class Client(Value):
    """One SDK client's settings.

    Attributes
    ----------
    retry : retry policy by name.
    max_attempts : attempts in all, the first included. None: the policy's own.
    base_delay : delay from which the policy's delays grow. None: the policy's own.
    max_delay : longest of the policy's delays. None: the policy's own.
    delays : seconds before each resend, instead of the policy's.
    timeout : seconds after which an attempt counts as unanswered.
    circuit_breaker : stops sending while the table keeps failing. None: no breaker.
    rate_limit : the client's own limit of what it sends. None: no limit.
    retry_unprocessed : resending of what a batch gave back. None: it is not resent.
    """

    retry: Annotated[RetryMode, word(RetryMode)] = RetryMode.NONE
    max_attempts: Annotated[int, whole(1, ATTEMPTS_MAX)] | None = None
    base_delay: Seconds | None = None
    max_delay: Seconds | None = None
    delays: tuple[Seconds, ...] | None = None
    timeout: PositiveSeconds | None = None
    circuit_breaker: CircuitBreaker | None = None
    rate_limit: RateLimit | None = None
    retry_unprocessed: RetryUnprocessed | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Client:
        if self.base_delay is not None and self.max_delay is not None and self.max_delay < self.base_delay:
            sentence = f"must not be below base_delay ({self.base_delay:g} s)"
            refuse_all("client", [(("max_delay",), self.max_delay, refusal(sentence))])
        return self
