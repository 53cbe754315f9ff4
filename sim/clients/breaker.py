"""A circuit breaker in front of the table."""

from __future__ import annotations

import math
from enum import StrEnum

from sim.clients.base import ErrorKind
from sim.scenario.client import Client


class BreakerState(StrEnum):
    """Closed lets everything through, open nothing, half-open one probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


_FAILURES = frozenset(ErrorKind) - {ErrorKind.REJECTED}


def is_failure(kind: int) -> bool:
    """Whether an error speaks of an unwell table: throttled, cancelled, broken or unanswered, and not the caller's own fault.

    A false condition or an invalid request is an answer like a success. A transaction cancelled by a condition should be passed to the
    breaker as REJECTED by whoever knows the cause.
    """
    return kind in _FAILURES


class CircuitBreaker:
    """Breaker of one client object: opens after so many failed attempts in a row, and probes with one attempt after ``reset_s``.

    It counts *attempts*, retries included, not requests: a breaker is to take load off a table in trouble, and counting requests a
    legacy client would send for 25 s before its first one counts. With ``retry = "none"`` the two are the same. While it is open, a
    retry that falls due fails its request like a new request does.

    An answer to an attempt that was sent before the last change of state says nothing about the time after it, and is ignored; so
    every report carries the time at which the attempt was allowed.

    Attributes
    ----------
    failures, reset_s : the settings.
    state : closed at the start.
    failed_in_row : failures counted while closed.
    since_s : start of the present state; of the last probe, after a successful one.
    """

    __slots__ = ("failed_in_row", "failures", "reset_s", "since_s", "state")

    def __init__(self, failures: int, reset_s: float) -> None:
        assert failures >= 1
        assert reset_s > 0
        self.failures = failures
        self.reset_s = reset_s
        self.state = BreakerState.CLOSED
        self.failed_in_row = 0
        self.since_s = -math.inf

    @property
    def next_wake_s(self) -> float | None:
        """When an open breaker will let its probe through; None in the other states."""
        return self.since_s + self.reset_s if self.state is BreakerState.OPEN else None

    def allows(self, now_s: float) -> bool:
        """Whether an attempt may go now. A yes must be followed by `on_success` or `on_failure`: the one after ``reset_s`` is the probe."""
        if self.state is BreakerState.CLOSED:
            return True
        if self.state is BreakerState.HALF_OPEN or now_s < self.since_s + self.reset_s:
            return False
        self.state = BreakerState.HALF_OPEN
        self.since_s = now_s
        return True

    def on_success(self, sent_s: float) -> None:
        """The attempt that was allowed at ``sent_s`` was answered well, or rejected for the caller's fault."""
        if self.state is BreakerState.OPEN or sent_s < self.since_s:
            return
        self.state = BreakerState.CLOSED
        self.failed_in_row = 0

    def on_failure(self, now_s: float, sent_s: float) -> None:
        """The attempt that was allowed at ``sent_s`` has failed at ``now_s`` (see `is_failure`)."""
        if self.state is BreakerState.OPEN or sent_s < self.since_s:
            return
        self.failed_in_row += 1
        if self.state is BreakerState.HALF_OPEN or self.failed_in_row >= self.failures:
            self.state = BreakerState.OPEN
            self.since_s = now_s
            self.failed_in_row = 0


def attempts_until_open(failed_fraction: float, failures: int) -> float:
    """Mean number of attempts from closing to opening when each fails with this probability, apart from the others (0..1).

    The waiting time for a run: (q⁻ⁿ - 1) / (1 - q).
    """
    if failed_fraction <= 0:
        return math.inf
    if failed_fraction >= 1:
        return float(failures)
    # By the sum of q⁻¹ + … + q⁻ⁿ, which loses no digits near q = 1 as the quotient does.
    inverse = 1 / failed_fraction
    return math.inf if failures * math.log(inverse) > 700 else math.fsum(inverse**n for n in range(1, failures + 1))


def make_breaker(client: Client) -> CircuitBreaker | None:
    """A closed breaker for one client object; None where its settings ask for none."""
    settings = client.circuit_breaker
    return None if settings is None else CircuitBreaker(settings.failures, settings.reset)
