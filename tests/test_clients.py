"""Clients: small traces by hand, borders, and state machines against plain ledgers in fractions."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sim.clients.adaptive import AdaptiveLimiter, cubic_k_s, cubic_rate
from sim.clients.base import ErrorKind, error_kind
from sim.clients.breaker import BreakerState, CircuitBreaker, attempts_until_open, is_failure, make_breaker
from sim.clients.limiter import FluidLimiter, RateLimiter, make_limiters
from sim.clients.quota import FluidQuota, RetryQuota, make_quota
from sim.clients.resend import Resend, make_resend
from sim.clients.retries import make_policy
from sim.names import ErrorName, RetryMode
from sim.scenario.client import Client

THROTTLED, TRANSIENT, TIMEOUT = ErrorKind.THROTTLED, ErrorKind.TRANSIENT, ErrorKind.TIMEOUT


def client(**keys: Any) -> Client:
    return Client.model_validate(keys)


def delays_s(settings: Client, kind: ErrorKind = THROTTLED, u: float = 0.5) -> list[float]:
    """Delays of a request whose every attempt fails in the same way."""
    policy = make_policy(settings)
    delays = (policy.delay_s(attempt, kind, u) for attempt in itertools.count(1))
    return [delay for delay in itertools.takewhile(lambda delay: delay is not None, delays) if delay is not None]


# Retry policies: traces.


def test_none_fails_at_once() -> None:
    assert delays_s(client()) == []
    assert make_policy(client()).max_attempts == 1


def test_legacy_waits_25_and_a_half_seconds_in_ten_attempts() -> None:  # F-RETRY-1
    waits = delays_s(client(retry="legacy"))
    assert waits == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8]
    assert sum(waits) == pytest.approx(25.55)
    assert make_policy(client(retry="legacy")).max_attempts == len(waits) + 1 == 10


def test_legacy_does_not_retry_request_limit_exceeded() -> None:  # F-RETRY-1
    limit = error_kind("RequestLimitExceeded")
    assert delays_s(client(retry="legacy"), limit) == []
    assert delays_s(client(retry="standard"), limit) == delays_s(client(retry="standard"))


def test_standard_makes_four_attempts_and_waits_three_and_a_half_seconds_in_the_mean() -> None:  # F-RETRY-3, F-RETRY-10
    assert delays_s(client(retry="standard"), u=0.5) == [0.5, 1.0, 2.0]
    policy = make_policy(client(retry="standard"))
    assert policy.max_attempts == 4
    laws = [policy.delay_law(attempt) for attempt in (1, 2, 3, 4)]
    assert laws == [(0.0, 1.0), (0.0, 2.0), (0.0, 4.0), None]
    assert delays_s(client(retry="standard"), TRANSIENT, u=0.5) == [0.0125, 0.025, 0.05]
    assert delays_s(client(retry="adaptive"), u=0.25) == [0.25, 0.5, 1.0]


def test_standard_before_makes_three_attempts_whatever_the_error() -> None:  # F-RETRY-2
    for kind in (THROTTLED, TRANSIENT, TIMEOUT):
        assert delays_s(client(retry="standard-2025"), kind, u=0.5) == [0.5, 1.0]


def test_the_cap_of_twenty_seconds_is_reached() -> None:
    caps = [make_policy(client(retry="standard", max_attempts=9)).delay_law(attempt) for attempt in range(1, 9)]
    assert [law[1] for law in caps if law] == [1, 2, 4, 8, 16, 20, 20, 20]


# Retry policies: a user's own numbers.


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        # The old JavaScript SDK of the case retry-twenty-five-seconds: 11 attempts, 25,550 ms.
        (
            {"retry": "legacy", "delays": [0, *(0.05 * 2**n for n in range(9))]},
            [0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8],
        ),
        ({"delays": [0.1, 0.3]}, [0.1, 0.3]),
        ({"delays": [0.1, 0.3], "max_attempts": 2}, [0.1]),
        ({"delays": [0.1, 0.3], "max_attempts": 5}, [0.1, 0.3, 0.3, 0.3]),
        ({"retry": "standard", "delays": [0.1, 0.3]}, [0.1, 0.3]),
        ({"retry": "legacy", "delays": []}, []),
        ({"retry": "legacy", "delays": [], "max_attempts": 3}, []),
        ({"max_attempts": 3}, [0.0, 0.0]),
        ({"max_attempts": 4, "base_delay": 0.1, "max_delay": 0.3}, [0.1, 0.2, 0.3]),
        ({"base_delay": 0.1}, []),
        ({"retry": "legacy", "max_attempts": 1}, []),
        ({"retry": "legacy", "max_attempts": 3, "base_delay": 1}, [1.0, 2.0]),
        ({"retry": "legacy", "max_delay": 0.3}, [0.05, 0.1, 0.2, *[0.3] * 6]),
        ({"retry": "standard", "base_delay": 0.2}, [0.1, 0.2, 0.4]),  # drawn with u = 0.5
        ({"retry": "standard", "max_delay": 0.5}, [0.25, 0.25, 0.25]),
    ],
)
def test_own_numbers_stand_in_the_place_of_the_policys(keys: dict[str, Any], expected: list[float]) -> None:
    settings = client(**keys)
    assert delays_s(settings) == pytest.approx(expected)
    assert make_policy(settings).max_attempts == len(expected) + 1


def test_a_thousand_attempts_are_counted_and_never_overflow() -> None:
    assert len(delays_s(client(retry="legacy", max_attempts=1000))) == 999
    assert delays_s(client(retry="standard", max_attempts=1000), u=0.5)[-1] == 10.0


# Retry policies: what holds for every one.

policies = st.fixed_dictionaries(
    {"retry": st.sampled_from(RetryMode)},
    optional={
        "max_attempts": st.integers(1, 12),
        "base_delay": st.floats(0, 5),
        "max_delay": st.floats(5, 60),
        "delays": st.lists(st.floats(0, 60), max_size=12),
    },
).map(lambda keys: client(**keys))


@given(policies, st.sampled_from(ErrorKind), st.integers(1, 15), st.floats(0, 1, exclude_max=True))
def test_a_delay_lies_where_its_law_says(settings: Client, kind: ErrorKind, attempt: int, u: float) -> None:
    policy = make_policy(settings)
    delay, law = policy.delay_s(attempt, kind, u), policy.delay_law(attempt, kind)
    assert (delay is None) == (law is None)
    if delay is not None and law is not None:
        low, high = law
        assert delay == pytest.approx(low + u * (high - low))
        assert attempt < policy.max_attempts
    if attempt >= policy.max_attempts or kind in (ErrorKind.REJECTED, ErrorKind.CANCELLED):
        assert delay is None


@pytest.mark.parametrize("mode", RetryMode)
def test_nobody_retries_a_no_and_a_cancelled_transaction(mode: RetryMode) -> None:  # F-ERR-5, F-RETRY-5
    policy = make_policy(client(retry=mode, max_attempts=5))
    for name in (ErrorName.TRANSACTION_CANCELED, ErrorName.VALIDATION, ErrorName.CONDITIONAL_CHECK, "SomethingNew"):
        assert not policy.retries(error_kind(name))
    for name in (ErrorName.PROVISIONED, ErrorName.THROTTLING):
        assert policy.retries(error_kind(name))


# The retry quota (F-RETRY-4).


def test_a_hundred_throttled_retries_empty_the_quota() -> None:
    quota = RetryQuota()
    assert sum(quota.acquire(5) for _ in range(150)) == 100
    assert quota.tokens == 0


def test_refunds() -> None:
    quota = RetryQuota()
    quota.release()
    assert quota.tokens == 500, "never above full"
    assert [quota.acquire(14), quota.acquire(5), quota.tokens] == [True, True, 481]
    quota.release(5)
    assert quota.tokens == 486, "the last cost alone comes back, not the 14 before it"
    quota.release()
    assert quota.tokens == 487, "a request without retry brings 1"
    quota.tokens = 4
    assert [quota.acquire(5), quota.tokens] == [False, 4]
    quota.release()
    assert [quota.acquire(5), quota.tokens] == [True, 0]


@pytest.mark.parametrize(
    ("mode", "throttled", "transient", "timeout"),
    [("standard-2025", 5, 5, 10), ("standard", 5, 14, 14), ("adaptive", 5, 14, 14)],
)
def test_costs_by_era(mode: str, throttled: int, transient: int, timeout: int) -> None:  # F-RETRY-2, F-RETRY-3
    costs = make_policy(client(retry=mode)).quota_costs
    assert costs is not None
    assert [costs[kind] for kind in (THROTTLED, ErrorKind.REQUEST_LIMIT, TRANSIENT, TIMEOUT)] == [
        throttled,
        throttled,
        transient,
        timeout,
    ]


@pytest.mark.parametrize("mode", ["none", "legacy"])
def test_without_a_quota(mode: str) -> None:
    policy = make_policy(client(retry=mode))
    assert policy.quota_costs is None
    assert make_quota(policy) is None


@given(st.integers(1, 4), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 50), st.integers(0, 50)), max_size=30))
def test_the_fluid_quota_counts_like_that_many_tokens(clients: int, ticks: list[tuple[int, int, int]]) -> None:
    # With one pool and one cost, the discrete quota differs by the remainder that is below one cost.
    fluid, pool, cost = FluidQuota(clients), 500 * clients, 5
    tokens = pool
    slack = 0
    for retries, unretried, retried in ticks:
        tokens += unretried + retried * cost
        granted = min(retries, tokens // cost)
        tokens = min(pool, tokens - granted * cost)
        fluid_granted = retries * fluid.granted_fraction(retries, unretried, retried, cost)
        assert 0 <= fluid_granted <= retries
        fluid.settle(fluid_granted, unretried, retried, cost)
        slack += cost
        assert 0 <= fluid.tokens <= pool
        assert abs(fluid.tokens - tokens) < slack


# The adaptive limiter (F-RETRY-6).


def test_the_cubic_by_hand() -> None:
    # w_max = 100: k = (100 × 0.3 / 0.4)^(1/3) = 75^(1/3) = 4.2172 s; at the throttle 0.4 × (-k)³ + 100 = 70, the same as 0.7 × 100.
    k_s = cubic_k_s(100)
    assert k_s == pytest.approx(4.217163)
    assert cubic_rate(0, k_s, 100) == pytest.approx(70)
    assert cubic_rate(k_s, k_s, 100) == 100
    assert cubic_rate(k_s + 1, k_s, 100) == pytest.approx(100.4)
    assert cubic_rate(k_s + 10, k_s, 100) == pytest.approx(500)
    assert cubic_k_s(0) == 0


def test_the_limiter_by_hand() -> None:
    limiter = AdaptiveLimiter()
    # 100 answers a second; the first half second holds 49, and the answer that ends it counts with them: 50 / 0.5 s × 0.8 = 80.
    for n in range(1, 51):
        assert limiter.send_at(n / 100) == n / 100, "off until the first throttle"
        limiter.on_answer(n / 100, throttled=False)
    assert limiter.measured_per_s == pytest.approx(80)
    # A throttle: w_max 80, rate 56, k = (80 × 0.3 / 0.4)^(1/3) = 60^(1/3).
    limiter.on_answer(0.5, throttled=True)
    assert limiter.enabled
    assert (limiter.w_max_per_s, limiter.fill_per_s, limiter.capacity) == pytest.approx((80, 56, 56))
    assert limiter.k_s == pytest.approx(60 ** (1 / 3))
    # The bucket was empty at 0 s and has filled at 1/s for 0.01 s, then at 0.5/s, for no rate had been measured.
    assert limiter.tokens == pytest.approx(0.255)
    assert limiter.send_at(0.5) == pytest.approx(0.5 + 0.745 / 56)
    # A second throttle: w_max is the smaller of measured (still 80) and the fill rate.
    limiter.on_answer(0.6, throttled=True)
    assert (limiter.w_max_per_s, limiter.fill_per_s) == pytest.approx((56, 39.2))
    # A success 0.1 s later: 0.4 × (0.1 - k)³ + 56 with k = 42^(1/3).
    limiter.on_answer(0.7, throttled=False)
    assert limiter.fill_per_s == pytest.approx(0.4 * (0.1 - 42 ** (1 / 3)) ** 3 + 56)
    # And one at 1.6 s: 4 answers in the whole second to 1.5 s, 4 / 1 s × 0.8 + 80 × 0.2 = 19.2, and no more than twice that.
    limiter.on_answer(1.6, throttled=False)
    assert limiter.fill_per_s == pytest.approx(38.4)


def test_a_throttle_in_the_first_half_second_leaves_the_least_rate() -> None:
    limiter = AdaptiveLimiter()
    limiter.on_answer(0.1, throttled=True)  # nothing has been measured yet
    assert (limiter.measured_per_s, limiter.fill_per_s, limiter.capacity) == (0, 0.5, 1)
    assert limiter.send_at(0.1) == pytest.approx(0.1 + (1 - 0.1) / 0.5)


def test_asking_when_takes_nothing() -> None:
    limiter = AdaptiveLimiter()
    limiter.on_answer(0.1, throttled=True)
    at_s = limiter.wakes_at(0.1)
    assert limiter.wakes_at(at_s) == at_s
    assert limiter.send_at(at_s) == at_s
    assert limiter.send_at(at_s) > at_s + 1.9


@given(st.lists(st.tuples(st.floats(0, 2), st.booleans()), max_size=60), st.sampled_from([0.0, 1e6]))
def test_a_sender_that_obeys_is_never_faster_than_its_bucket(answers: list[tuple[float, bool]], start_s: float) -> None:
    # Each wait ends within a few asks; the tokens stay within the bucket, whatever is answered.
    limiter = AdaptiveLimiter(start_s)
    now_s = start_s
    for gap_s, throttled in answers:
        now_s += gap_s
        for _ in range(3):
            at_s = limiter.send_at(now_s)
            if at_s == now_s:
                break
            now_s = at_s
        else:
            pytest.fail("three asks and no token")
        assert 0 <= limiter.tokens <= limiter.capacity
        limiter.on_answer(now_s, throttled)
        assert limiter.fill_per_s >= 0.5
        assert limiter.capacity >= 1


# The circuit breaker.


def test_a_breaker_by_hand() -> None:
    breaker = CircuitBreaker(failures=3, reset_s=10)
    trace = []

    def attempt(now_s: float, well: bool) -> None:
        allowed = breaker.allows(now_s)
        if allowed and well:
            breaker.on_success(now_s)
        elif allowed:
            breaker.on_failure(now_s, now_s)
        trace.append((now_s, allowed, str(breaker.state)))

    for now_s, well in [(0, False), (1, False), (2, True), (3, False), (4, False), (5, False)]:
        attempt(now_s, well)
    assert trace[-2:] == [(4, True, "closed"), (5, True, "open")], "the success at 2 s began the count anew"
    assert breaker.next_wake_s == 15
    attempt(14.999, True)
    attempt(15, False)
    assert trace[-2:] == [(14.999, False, "open"), (15, True, "open")], "the probe failed"
    attempt(24, True)
    attempt(25, True)
    attempt(26, False)
    assert trace[-3:] == [(24, False, "open"), (25, True, "closed"), (26, True, "closed")]


def test_half_open_lets_one_probe_through_and_hears_only_its_answer() -> None:
    breaker = CircuitBreaker(failures=1, reset_s=10)
    assert breaker.allows(0)
    assert breaker.allows(1)
    breaker.on_failure(2, sent_s=0)
    assert breaker.allows(12)
    assert str(breaker.state) == "half-open"
    assert not breaker.allows(13)
    breaker.on_failure(14, sent_s=1)
    assert str(breaker.state) == "half-open", "an answer from before it opened is late news"
    breaker.on_success(sent_s=1)
    assert str(breaker.state) == "half-open"
    breaker.on_success(sent_s=12)
    assert str(breaker.state) == "closed"
    breaker.on_failure(16, sent_s=1)
    assert str(breaker.state) == "closed"


def test_what_a_breaker_counts() -> None:
    assert [kind.name for kind in ErrorKind if not is_failure(kind)] == ["REJECTED"]


class BreakerAgainstALog(RuleBasedStateMachine):
    """A breaker under any order of asking and answering, against a re-reading of the whole log."""

    def __init__(self) -> None:
        super().__init__()
        self.breaker = CircuitBreaker(failures=3, reset_s=5)
        self.now = 0
        self.under_way: list[int] = []
        self.log: list[tuple[str, int, int]] = []  # (allowed / success / failure, now, sent)

    def expected(self) -> tuple[str, int]:
        """State and its start, by the words of the contract."""
        state, since, row = "closed", -1, 0
        for what, now, sent in self.log:
            if what == "allowed" and state == "open":
                state, since = "half-open", now
            elif what in ("success", "failure") and state != "open" and sent >= since:
                if what == "success":
                    state, row = "closed", 0
                else:
                    row += 1
                    if state == "half-open" or row == 3:
                        state, since, row = "open", now, 0
        return state, since

    @rule(seconds=st.integers(1, 6))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule()
    def ask(self) -> None:
        state, since = self.expected()
        allowed = self.breaker.allows(self.now)
        assert allowed == (state == "closed" or (state == "open" and self.now >= since + 5))
        if allowed:
            self.log.append(("allowed", self.now, self.now))
            self.under_way.append(self.now)

    @precondition(lambda self: self.under_way)
    @rule(well=st.booleans(), which=st.integers(0, 100))
    def answer(self, well: bool, which: int) -> None:
        sent = self.under_way.pop(which % len(self.under_way))
        if well:
            self.breaker.on_success(sent)
        else:
            self.breaker.on_failure(self.now, sent)
        self.log.append(("success" if well else "failure", self.now, sent))

    @invariant()
    def same_state(self) -> None:
        state, since = self.expected()
        assert self.breaker.state == state
        assert self.breaker.next_wake_s == (since + 5 if state == "open" else None)


TestBreakerAgainstALog = BreakerAgainstALog.TestCase


@pytest.mark.parametrize(
    ("q", "n", "mean"), [(1, 5, 5), (0.5, 1, 2), (0.5, 2, 6), (0.9, 3, 1 / 0.9 + 1 / 0.81 + 1 / 0.729)]
)
def test_attempts_until_it_opens(q: float, n: int, mean: float) -> None:
    assert attempts_until_open(q, n) == pytest.approx(mean)


def test_attempts_until_it_opens_as_drawn() -> None:
    chance, drawn = random.Random(1), []
    for _ in range(4000):
        breaker, attempts = CircuitBreaker(failures=3, reset_s=1), 0
        while breaker.state is BreakerState.CLOSED:
            attempts += 1
            if chance.random() < 0.6:
                breaker.on_failure(attempts, attempts)
            else:
                breaker.on_success(attempts)
        drawn.append(attempts)
    mean = attempts_until_open(0.6, 3)
    deviation = math.sqrt(sum((x - mean) ** 2 for x in drawn) / len(drawn))
    assert sum(drawn) / len(drawn) == pytest.approx(mean, abs=4 * deviation / math.sqrt(len(drawn)))


def test_a_breaker_may_never_open() -> None:
    assert attempts_until_open(0, 3) == math.inf
    assert attempts_until_open(1e-9, 10**6) == math.inf
    assert attempts_until_open(1 - 1e-12, 1000) == pytest.approx(1000)


# The rate limiter.


def test_a_limiter_by_hand() -> None:
    # 10 units/s, 10 deep: the burst goes at once, then one unit every tenth of a second, in order of arrival.
    limiter = RateLimiter(10)
    assert [limiter.admit_at(0, 5) for _ in range(3)] == [0, 0, 0.5]
    assert limiter.admit_at(0.2, 1) == pytest.approx(0.6)
    assert limiter.admit_at(0.2, 10) == pytest.approx(1.6)
    assert limiter.admit_at(10, 10) == 10, "full again, and not fuller than full"
    assert limiter.admit_at(10, 1) == pytest.approx(10.1)


def test_a_request_bigger_than_the_bucket_goes_when_it_is_full() -> None:
    limiter = RateLimiter(10)
    assert limiter.admit_at(0, 25) == 0
    assert limiter.admit_at(0, 25) == pytest.approx(2.5), "15 in debt, 10 to be full"
    assert limiter.admit_at(100, 25) == 100


class LimiterLedger:
    """First come first served on an exact bucket: waits in fractions of a second, step by step."""

    def __init__(self, rate: int) -> None:
        self.rate = self.depth = self.level = Fraction(rate)
        self.now = Fraction(0)

    def move(self, until: Fraction) -> None:
        self.level = min(self.depth, self.level + self.rate * (until - self.now))
        self.now = until

    def admit_at(self, now: Fraction, units: Fraction) -> Fraction:
        if now > self.now:
            self.move(now)
        lack = min(units, self.depth) - self.level
        if lack > 0:
            self.move(self.now + lack / self.rate)
        self.level -= units
        return self.now


arrivals = st.lists(
    st.tuples(
        st.integers(0, 3000).map(lambda ms: Fraction(ms, 1000)), st.integers(0, 60).map(lambda n: Fraction(n, 2))
    ),
    max_size=60,
)


@given(st.integers(1, 50), arrivals)
def test_waits_equal_an_exact_ledger(rate: int, requests: list[tuple[Fraction, Fraction]]) -> None:
    limiter, ledger = RateLimiter(rate), LimiterLedger(rate)
    now, admitted = Fraction(0), []
    for gap, units in requests:
        now += gap
        at_s = limiter.admit_at(float(now), float(units))
        assert at_s == pytest.approx(float(ledger.admit_at(now, units)), abs=1e-9)
        assert at_s >= float(now)
        admitted.append((at_s, float(units)))
    assert admitted == sorted(admitted, key=lambda pair: pair[0]), "first come, first served"
    # Over any stretch, no more than rate × time and the larger of depth and last cost.
    for first, last in itertools.combinations(range(len(admitted)), 2):
        passed = sum(units for _, units in admitted[first : last + 1])
        seconds = admitted[last][0] - admitted[first][0]
        assert passed <= rate * seconds + max(rate, admitted[last][1]) + 1e-6


@given(st.integers(1, 50), st.lists(st.integers(0, 120), max_size=40))
def test_the_fluid_limiter_passes_what_single_units_would(rate: int, ticks: list[int]) -> None:
    fluid, limiter = FluidLimiter(rate), RateLimiter(rate)
    passed_in_all = arrived = 0.0
    times = []
    for tick, units in enumerate(ticks):
        times += [limiter.admit_at(tick, 1) for _ in range(units)]
        arrived += units
        passed_in_all += fluid.admit(units, 1.0)
        assert fluid.backlog == pytest.approx(arrived - passed_in_all)
        # By the tick's end, to within the unit that is just being filled.
        assert passed_in_all == pytest.approx(sum(at_s < tick + 1 for at_s in times), abs=1.001)


def test_the_fluid_of_several_clients_and_its_wait() -> None:
    fluid = FluidLimiter(10, clients=3)
    assert fluid.wait_s == 0
    assert fluid.admit(120, 1.0) == 60  # 30 in the buckets and 30 in the second
    assert (fluid.backlog, fluid.wait_s) == (60, 2)


# Unprocessed items.


def test_the_guides_back_off() -> None:
    resend = Resend(max_retries=5, base_delay_s=0.1, max_delay_s=5, jitter=0.2)
    assert [resend.delay_s(n, 0.0) for n in range(6)] == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, None])
    assert [resend.delay_s(n, 0.5) for n in range(5)] == pytest.approx([0.11, 0.22, 0.44, 0.88, 1.76])
    assert Resend(9, 0.1, 5, 0.2).delay_law(8) == pytest.approx((5, 6))
    assert resend.delay_law(5) is None


@given(
    st.integers(0, 20),
    st.floats(0, 10),
    st.floats(0, 60),
    st.floats(0, 1),
    st.integers(0, 25),
    st.floats(0, 1, exclude_max=True),
)
def test_a_resend_lies_between_its_bounds(
    tries: int, base_s: float, max_s: float, jitter: float, n: int, u: float
) -> None:
    resend = Resend(tries, base_s, max_s, jitter)
    delay, law = resend.delay_s(n, u), resend.delay_law(n)
    if n >= tries:
        assert (delay, law) == (None, None)
        return
    assert delay is not None
    assert law is not None
    plain = min(base_s * 2**n, max_s)
    assert law == pytest.approx((plain, plain * (1 + jitter)))
    assert plain <= delay <= plain * (1 + jitter)


# From a client's settings.


def test_parts_are_made_as_asked_for() -> None:
    bare = client()
    assert (make_breaker(bare), make_limiters(bare), make_resend(bare)) == (None, (None, None), None)
    full = client(
        retry="standard",
        circuit_breaker={"failures": 2, "reset": "30s"},
        rate_limit={"write": 80},
        retry_unprocessed={"max_retries": 5, "base_delay": "100ms", "max_delay": "5s", "jitter": 0.2},
    )
    breaker, (read, write), resend = make_breaker(full), make_limiters(full), make_resend(full)
    assert breaker is not None
    assert write is not None
    assert resend is not None
    assert (breaker.failures, breaker.reset_s, read, write.rate_per_s) == (2, 30, None, 80)
    assert (resend.max_retries, resend.jitter, resend.delay_s(1, 0.0)) == (5, 0.2, 0.2)
    assert make_breaker(full) is not breaker, "each client object has its own"
