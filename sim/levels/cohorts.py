"""Retries at the flow level: refused attempts as cohorts that return.

A cohort is so many attempts of a number, in a partition, due in a tick. A delay falls into the ticks that it reaches in proportion: the
attempt was refused at a moment that is uniform in its tick, so a fixed delay covers two neighbouring ticks and full jitter a trapezoid of
them. What returns within its own tick shares that tick's admission: one fixed point for each dry partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sim.clients.base import ErrorKind, RetryPolicy, error_kind
from sim.clients.quota import FluidQuota
from sim.keyspace.domain import Floats
from sim.levels.moving import Flow
from sim.names import ErrorName, Limit, Mode, throttling_error
from sim.partitions.bucket import floor_grains, grains
from sim.partitions.lane import Lane, Offer
from sim.partitions.resource import Resource

_ROUNDS_MAX = 60
_POINT_S = 1e-6  # a law narrower than this is a fixed delay: nothing can tell them apart, and the difference of two areas would be noise
_PRECISION = 1e-8  # of a share of admitted attempts


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
        # Which refusals end a request: legacy does not know RequestLimitExceeded.
        self.final = {limit: policy.delay_law(1, error_kind(throttling_error(mode, limit))) is None for limit in Limit}
        self.error = {limit: throttling_error(mode, limit) for limit in Limit}
        self._due: dict[int, Floats] = {}
        self._numbers: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on its way."""
        return not self._due

    def follow_splits(self, resource: Resource) -> None:
        """Lay what is on its way over the partitions that serve now: of a split one, by the halves' shares of the leg."""
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


@dataclass(frozen=True)
class RetriedStretch:
    """A stretch with retries.

    Attributes
    ----------
    attempts : for each leg its attempts, ticks × partitions.
    served, refused : units, ticks × partitions, as in a verdict.
    tallies : per leg, None for legs that do not retry.
    """

    attempts: list[Floats]
    served: Floats
    refused: dict[Limit, Floats]
    tallies: list[Tally | None]


def settle_with_retries(
    lane: Lane,
    flows: Sequence[Flow],
    counts: Sequence[Floats],
    cohorts: Sequence[Cohorts | None],
    passable: Sequence[Floats],
    first: int,
    tick_s: float,
) -> RetriedStretch:
    """Serve a stretch in which attempts return, tick by tick; scarce units go to all attempts alike.

    Parameters
    ----------
    counts : for each leg its first attempts, ticks × partitions.
    cohorts : for each leg what is on its way, None where it does not retry.
    passable : for each leg 1 or 0 by partition: whether an attempt of it could ever pass there.
    first : number of the first tick.
    """
    ticks, columns = counts[0].shape
    attempts = [np.zeros((ticks, columns)) for _ in flows]
    served = np.zeros((ticks, columns))
    refused: dict[Limit, Floats] = {}
    tallies = [
        Tally(
            np.zeros(ticks),
            np.zeros(ticks),
            np.zeros(ticks),
            {error: np.zeros(ticks) for error in set(c.error.values())},
        )
        if c is not None
        else None
        for c in cohorts
    ]
    for t in range(ticks):
        due = [None if c is None else c.take_due(first + t, columns) for c in cohorts]
        fresh = [np.asarray(count[t], dtype=float) for count in counts]
        tick = _Tick(lane, flows, fresh, due, cohorts, passable, tick_s)
        tick.balance()
        lane.take(tick.offer.served, tick.ratio, tick_s)
        served[t] = tick.offer.served
        lost = {limit: amount for limit, amount in tick.offer.refused.items() if amount.any()}
        for limit, amount in lost.items():
            refused.setdefault(limit, np.zeros((ticks, columns)))[t] = amount
        for k, tally in enumerate(tallies):
            attempts[k][t] = tick.totals[k]
            if tally is not None:
                tick.close(k, tally, t, first + t, lost)
    return RetriedStretch(attempts, served, refused, tallies)


class _Tick:
    """One tick's fixed point: the share of attempts that each partition admits, when what it refuses returns in part within the tick."""

    def __init__(
        self,
        lane: Lane,
        flows: Sequence[Flow],
        fresh: Sequence[Floats],
        due: Sequence[Floats | None],
        cohorts: Sequence[Cohorts | None],
        passable: Sequence[Floats],
        tick_s: float,
    ) -> None:
        self._passable = passable
        self._lane = lane
        self._flows = flows
        self._fresh = fresh
        self._due = due
        self._cohorts = cohorts
        self._tick_s = tick_s
        self._quantum = np.zeros(len(fresh[0]))
        self.granted = [1.0] * len(flows)
        self.final = [np.zeros(len(fresh[0])) for _ in flows]
        self.numbered: list[Floats | None] = [None] * len(flows)
        self.totals: list[Floats] = list(fresh)
        self.admitted = np.ones(len(fresh[0]))
        self.ratio: Floats | None = None
        self.offer: Offer

    def balance(self) -> None:
        """Find the shares; afterwards ``totals``, ``numbered``, ``offer`` and ``admitted`` belong together."""
        for _ in range(_ROUNDS_MAX):
            self._count_attempts()
            asked = [n * can * f.leg.units for n, can, f in zip(self.totals, self._passable, self._flows, strict=True)]
            units = floor_grains(np.sum(asked, axis=0))
            if any(f.ceiling_ratio != 1.0 for f in self._flows):
                weighed = np.sum([part * f.ceiling_ratio for part, f in zip(asked, self._flows, strict=True)], axis=0)
                self.ratio = np.divide(weighed, units, out=np.ones_like(units), where=units > 0)
            self.offer = self._lane.offer(units, self.ratio, self._quantum, self._tick_s)
            admitted = np.divide(self.offer.served, units, out=np.ones_like(units), where=units > 0)
            self._judge(units)
            change = float(np.abs(admitted - self.admitted).max())
            self.admitted = admitted
            if change < _PRECISION:
                break

    def _count_attempts(self) -> None:
        for k, cohorts in enumerate(self._cohorts):
            if cohorts is None:
                continue
            rows = np.zeros((cohorts.attempts_max, len(self.admitted)))
            rows[0] = self._fresh[k]
            due = self._due[k]
            assert due is not None, "cohorts have what is due"
            again = (1 - self.admitted * self._passable[k]) * (1 - self.final[k]) * self.granted[k]
            for n in range(1, cohorts.attempts_max):
                rows[n] = due[n - 1] + rows[n - 1] * again * cohorts.at_once[n - 1]
            rows = grains(rows)
            self.numbered[k] = rows
            self.totals[k] = rows.sum(axis=0)

    def _judge(self, units: Floats) -> None:
        """What share of the refusals is final, and what share of the retries the quotas grant."""
        lost = units - self.offer.served
        for k, cohorts in enumerate(self._cohorts):
            if cohorts is None:
                continue
            final = np.zeros(len(units))
            for limit, amount in self.offer.refused.items():
                if cohorts.final[limit]:
                    final += np.divide(amount, lost, out=np.zeros_like(lost), where=lost > 0)
            self.final[k] = np.minimum(final, 1.0)
            if cohorts.quota is not None:
                wanted, unretried, retried = self._flows_of(k)
                have = cohorts.quota.tokens + unretried + retried * cohorts.cost
                self.granted[k] = 1.0 if wanted * cohorts.cost <= have else have / (wanted * cohorts.cost)

    def _flows_of(self, k: int) -> tuple[float, float, float]:
        """Retries wanted, and requests served without and after a retry."""
        rows = self.numbered[k]
        assert rows is not None, "cohorts are numbered"
        admitted = self.admitted * self._passable[k]
        refused = rows * (1 - admitted) * (1 - self.final[k])
        given = rows * admitted
        return float(refused[:-1].sum()), float(given[0].sum()), float(given[1:].sum())

    def close(self, k: int, tally: Tally, t: int, tick: int, lost: Mapping[Limit, Floats]) -> None:
        """Write down what became of a leg, and send back what returns in later ticks."""
        cohorts, rows = self._cohorts[k], self.numbered[k]
        assert cohorts is not None, "only retries are tallied"
        assert rows is not None, "cohorts are numbered"
        refused = rows * (1 - self.admitted * self._passable[k])
        again = refused * (1 - self.final[k]) * self.granted[k]
        if cohorts.quota is not None:
            wanted, unretried, retried = self._flows_of(k)
            quota = cohorts.quota
            quota.tokens = max(
                0.0,
                min(
                    quota.capacity,
                    quota.tokens + unretried + retried * cohorts.cost - wanted * self.granted[k] * cohorts.cost,
                ),
            )
        for n in range(1, cohorts.attempts_max):
            cohorts.send_back(tick, n, again[n - 1])
        again[-1] = 0.0
        tally.attempts[t] = rows.sum()
        tally.throttled[t] = grains(refused.sum(axis=1)).sum()
        tally.succeeded[t] = tally.attempts[t] - tally.throttled[t]
        given_up = refused - again
        whole = sum(float(amount.sum()) for amount in lost.values())
        shares = {limit: float(amount.sum()) / whole for limit, amount in lost.items()} or {Limit.KEY_RANGE: 1.0}
        for limit, share in shares.items():
            tally.failed[cohorts.error[limit]][t] += float(grains(np.array(given_up.sum() * share)))
