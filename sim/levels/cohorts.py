"""Retries at the flow level: refused attempts as cohorts that return.

A cohort is so many attempts of a number, in a partition, due in a tick. A delay falls into the ticks that it reaches in proportion: the
attempt was refused at a moment that is uniform in its tick, so a fixed delay covers two neighbouring ticks and full jitter a trapezoid of
them. What returns within its own tick shares that tick's admission (`sim.levels.together`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sim.clients.base import ErrorKind, RetryPolicy, error_kind
from sim.clients.quota import FluidQuota
from sim.keyspace.domain import Floats
from sim.levels.moving import Flow
from sim.names import ErrorName, Limit, Mode, throttling_error
from sim.partitions.bucket import grains
from sim.partitions.resource import Resource

_POINT_S = 1e-6  # a law narrower than this is a fixed delay: nothing can tell them apart, and the difference of two areas would be noise


def ticks_reached(low_s: float, high_s: float, tick_s: float) -> Floats:
    """Share of a delay that ends 0, 1, 2 … ticks after the one it began in.

    The delay is uniform between ``low_s`` and ``high_s`` (equal: fixed) and begins at a moment that is uniform in its tick.
    """
    last = int(np.floor(high_s / tick_s + 1e-12)) + 2
    edges: Floats = np.arange(last + 1, dtype=float) * tick_s

    def mean_overlap(at: Floats) -> Floats:
        # Integral over the delay's law of the share of its tick's moments from which it ends before `at`.
        if high_s - low_s < _POINT_S:
            return np.clip((at - (low_s + high_s) / 2) / tick_s, 0.0, 1.0)
        upper, lower = at - low_s, at - high_s

        def area(x: Floats) -> Floats:
            inside = np.clip(x, 0.0, tick_s)
            return np.asarray(inside**2 / 2 + tick_s * np.maximum(x - tick_s, 0.0))

        return np.asarray((area(upper) - area(lower)) / (tick_s * (high_s - low_s)))

    reached = np.diff(mean_overlap(edges))
    return np.asarray(np.maximum(reached, 0.0) / reached.sum())


class Cohorts:
    """The retries of one leg that are on their way.

    Attributes
    ----------
    flow : the leg.
    attempts_max : attempts of a request at most.
    """

    def __init__(
        self, flow: Flow, policy: RetryPolicy, quota: FluidQuota | None, latency_s: float, tick_s: float, mode: Mode
    ) -> None:
        self.flow = flow
        self.policy = policy
        self.quota = quota
        self.attempts_max = policy.max_attempts
        self.cost = 0.0 if policy.quota_costs is None else float(policy.quota_costs[ErrorKind.THROTTLED])
        self.reached: list[Floats] = []
        for attempt in range(1, self.attempts_max):
            law = policy.delay_law(attempt)
            assert law is not None, "a policy retries a throttle until its last attempt"
            self.reached.append(ticks_reached(latency_s + law[0], latency_s + law[1], tick_s))
        self.at_once = np.array([reached[0] for reached in self.reached])
        self.know_answers(mode)
        self._due: dict[int, Floats] = {}
        self._numbers: tuple[int, ...] = ()

    def know_answers(self, mode: Mode) -> None:
        """What each limit's refusal is called in this capacity mode, and which end a request: legacy does not know RequestLimitExceeded."""
        self.error = {limit: throttling_error(mode, limit) for limit in Limit}
        self.final = {limit: self.policy.delay_law(1, error_kind(error)) is None for limit, error in self.error.items()}
        self._mode = mode

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on its way."""
        return not self._due

    def follow_splits(self) -> None:
        """Lay what is on its way over the partitions that serve now: of a split one, by the halves' shares of the leg."""
        resource = self.flow.resource
        if resource.mode is not self._mode:
            self.know_answers(resource.mode)
        serving = tuple(resource.partitions.serving)
        if self._numbers == serving:
            return
        if self._due and self._numbers:
            column_of = {number: column for column, number in enumerate(serving)}
            move = np.zeros((len(self._numbers), len(serving)))
            for row, number in enumerate(self._numbers):
                for heir in _heirs(number, column_of, resource):
                    move[row, column_of[heir]] = self.flow.shares[column_of[heir]]
                total = move[row].sum()
                if total > 0:
                    move[row] /= total
                else:
                    move[row, column_of[_heirs(number, column_of, resource)[0]]] = 1.0
            self._due = {tick: grains(rows @ move) for tick, rows in self._due.items()}
        self._numbers = serving

    def mark(self) -> tuple[dict[int, Floats], tuple[int, ...], float]:
        """What is on its way, to go back to with `restore`."""
        due = {tick: rows.copy() for tick, rows in self._due.items()}
        return due, self._numbers, 0.0 if self.quota is None else self.quota.tokens

    def restore(self, mark: tuple[dict[int, Floats], tuple[int, ...], float]) -> None:
        """Put back what was on its way."""
        due, self._numbers, tokens = mark
        self._due = {tick: rows.copy() for tick, rows in due.items()}
        if self.quota is not None:
            self.quota.tokens = tokens

    def take_due(self, tick: int, columns: int) -> Floats:
        """Attempts that return in a tick: numbers 2 … × partitions."""
        due = self._due.pop(tick, None)
        return np.zeros((self.attempts_max - 1, columns)) if due is None else due

    def send_back(self, tick: int, attempt: int, count: Floats) -> None:
        """Let refused attempts of a number (from 1) return after their delay, as far as that is beyond their tick."""
        for later, share in enumerate(self.reached[attempt - 1]):
            if later == 0 or share <= 0:
                continue
            part = grains(count * share)
            if not part.any():
                continue
            rows = self._due.setdefault(tick + later, np.zeros((self.attempts_max - 1, len(count))))
            rows[attempt - 1] += part


def _heirs(number: int, column_of: Mapping[int, int], resource: Resource) -> list[int]:
    if number in column_of:
        return [number]
    halves = resource.partitions.lives[number].halves
    assert halves is not None, "what no longer serves has halves"
    return [heir for half in halves for heir in _heirs(half, column_of, resource)]


@dataclass
class Tally:
    """What became of one leg's requests over a stretch, per tick."""

    attempts: Floats
    succeeded: Floats
    throttled: Floats
    failed: dict[ErrorName, Floats]
