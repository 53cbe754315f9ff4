"""Retry policies, quota and adaptive limiter against botocore's own classes, the releases before and after November 2026.

Each release runs in a process of its own (`tests/reference/botocore_oracle.py`): a real client on a virtual clock, given the same
random draws. Everything must be equal to the last bit, for the arithmetic is the same.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.clients.adaptive import AdaptiveLimiter
from sim.clients.base import THROTTLES, ErrorKind, error_kind
from sim.clients.quota import make_quota
from sim.clients.retries import make_policy
from sim.scenario.client import Client

OLD = "1.43.67"
PROGRAM = Path(__file__).parent / "reference" / "botocore_oracle.py"
Oracle = Callable[..., Any]

# Answers by the name under which the oracle gives them; timeouts and broken connections have no code.
WITHOUT_CODE = {
    "read-timeout": ErrorKind.TIMEOUT,
    "connect-timeout": ErrorKind.TIMEOUT,
    "refused": ErrorKind.TRANSIENT,
    "ServiceUnavailable": ErrorKind.TRANSIENT,
}
CODES = (
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "TransactionInProgressException",
    "TransactionCanceledException",
    "TransactionConflictException",
    "ValidationException",
    "ConditionalCheckFailedException",
    "ItemCollectionSizeLimitExceededException",
    "ReplicatedWriteConflictException",
    "InternalServerError",
)
ANSWERS = (*WITHOUT_CODE, *CODES)


def kind_of(answer: str) -> ErrorKind:
    return WITHOUT_CODE.get(answer, error_kind(answer))


class Releases:
    """Oracles by name, each started when it is first asked: "old", "flag" (old, new retries switched on) and "new" (as installed)."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def __getitem__(self, name: str) -> Oracle:
        if name not in self._processes:
            environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
            environment["AWS_CONFIG_FILE"] = environment["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
            environment["AWS_EC2_METADATA_DISABLED"] = "true"
            if name != "new":
                environment["PYTHONPATH"] = str(self._old())
            if name == "flag":
                environment["AWS_NEW_RETRIES_2026"] = "true"
            self._processes[name] = subprocess.Popen(
                [sys.executable, str(PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
        process = self._processes[name]

        def ask(do: str, **arguments: Any) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            assert line, f"the oracle {name} has ended: see its message on standard error"
            return json.loads(line)

        return ask

    def _old(self) -> Path:
        """Folder of the old release, from the cache or from PyPI."""
        folder = self._cache / f"botocore-{OLD}"
        if folder.is_dir():
            return folder
        fresh = Path(tempfile.mkdtemp(dir=self._cache))
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--retries", "1"]
        done = subprocess.run(
            [*pip, "--target", str(fresh), f"botocore=={OLD}"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            shutil.rmtree(fresh)
            why = done.stderr.strip().splitlines()[-1:] or ["no message"]
            pytest.skip(f"botocore {OLD} cannot be had from the package index: {why[0]}")
        try:
            fresh.rename(folder)
        except OSError:  # another test process was faster
            shutil.rmtree(fresh)
        return folder

    def close(self) -> None:
        for process in self._processes.values():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            process.wait(timeout=10)
            process.stdout.close()


@pytest.fixture(scope="session")
def releases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Releases]:
    kept = getattr(request.config, "cache", None)
    found = Releases(kept.mkdir("botocore") if kept is not None else tmp_path_factory.mktemp("botocore"))
    yield found
    found.close()


# (policy here, release, its mode there)
PAIRS = [
    pytest.param("legacy", "old", "legacy", id="legacy-old"),
    pytest.param("legacy", "new", "legacy", id="legacy-new"),
    pytest.param("standard-2025", "old", "standard", id="standard-2025"),
    pytest.param("standard", "flag", "standard", id="standard-flag"),
    pytest.param("standard", "new", "standard", id="standard-new"),
    pytest.param("adaptive", "flag", "adaptive", id="adaptive-flag"),
    pytest.param("adaptive", "new", "adaptive", id="adaptive-new"),
]
QUOTA_PAIRS = [pair for pair in PAIRS if pair.values[2] == "standard"]


def run_here(
    client: Client, requests: list[dict[str, Any]], draws: list[float], latency_s: float, start_s: float
) -> dict[str, Any]:
    """The same as the oracle's ``run``, of this project's parts."""
    policy = make_policy(client)
    quota = make_quota(policy)
    limiter = AdaptiveLimiter(start_s) if policy.is_adaptive else None
    chance = iter(draws)
    now_s = start_s
    records = []
    for request in requests:
        now_s += request["gap_s"]
        sent: list[float] = []
        delays: list[float] = []
        states: list[dict[str, Any]] = []
        last_cost = 0
        left = list(request["answers"])
        while True:
            while limiter is not None and (at_s := limiter.send_at(now_s)) > now_s:
                now_s = at_s
            sent.append(now_s)
            now_s += latency_s
            kind = kind_of(left.pop(0)) if left else None
            if limiter is not None:
                limiter.on_answer(now_s, kind in THROTTLES)
                states.append(limiter_state(limiter))
            if kind is None:
                if quota is not None:
                    quota.release(last_cost)
                break
            if policy.delay_s(len(sent), kind, 0.0) is None:
                break
            if quota is not None and policy.quota_costs is not None:
                if not quota.acquire(policy.quota_costs[kind]):
                    break
                last_cost = policy.quota_costs[kind]
            delay_s = policy.delay_s(len(sent), kind, next(chance))
            assert delay_s is not None
            delays.append(delay_s)
            now_s += delay_s
        records.append(
            {
                "succeeded": kind is None,
                "sent_s": sent,
                "delays_s": delays,
                "tokens": None if quota is None else quota.tokens,
                "limiter": states,
            }
        )
    return {"requests": records, "end_s": now_s}


def limiter_state(limiter: AdaptiveLimiter) -> dict[str, Any]:
    return {
        "enabled": limiter.enabled,
        "measured": limiter.measured_per_s,
        "fill": limiter.fill_per_s,
        "capacity": limiter.capacity,
        "tokens": limiter.tokens,
        "w_max": limiter.w_max_per_s,
        "k": limiter.k_s,
        "last_throttle": limiter.last_throttle_s,
    }


def compare(
    releases: Releases, pair: tuple[str, str, str], requests: list[dict[str, Any]], **how: Any
) -> dict[str, Any]:
    policy, release, mode = pair
    max_attempts = how.pop("max_attempts", None)
    there: dict[str, Any] = releases[release]("run", mode=mode, requests=requests, max_attempts=max_attempts, **how)
    here = run_here(Client(retry=policy, max_attempts=max_attempts), requests, **how)
    for number, (ours, theirs) in enumerate(zip(here["requests"], there["requests"], strict=True)):
        assert ours == theirs, f"request {number}: {requests[number]}"
    assert here["end_s"] == there["end_s"]
    return there


def drawn(seed: int) -> list[float]:
    chance = random.Random(seed)
    return [chance.random() for _ in range(200)]


# Mostly throttles, so that quotas run out and limiters come on; gaps from nothing to a pause in which the cubic climbs.
answers = st.lists(st.one_of(st.sampled_from(CODES[:2]), st.sampled_from(ANSWERS)), max_size=12)
gaps_s = st.one_of(st.just(0.0), st.floats(0, 0.2), st.floats(0, 10))
conversations = st.lists(st.fixed_dictionaries({"gap_s": gaps_s, "answers": answers}), min_size=1, max_size=15)


@pytest.mark.parametrize(("policy", "release", "mode"), PAIRS)
@given(data=st.data())
def test_same_delays_quota_and_rate_over_any_answers(
    releases: Releases, policy: str, release: str, mode: str, data: st.DataObject
) -> None:
    compare(
        releases,
        (policy, release, mode),
        data.draw(conversations),
        draws=drawn(data.draw(st.integers(0, 2**32))),
        latency_s=data.draw(st.floats(0.0005, 0.5)),
        start_s=data.draw(st.sampled_from([0.0, 0.75, 12.25, 86_400.0])),
        max_attempts=data.draw(st.one_of(st.none(), st.integers(1, 9))),
    )


@pytest.mark.parametrize(("policy", "release", "mode"), PAIRS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_every_kind_of_answer_is_known(releases: Releases, policy: str, release: str, mode: str, answer: str) -> None:
    requests = [{"gap_s": 0.0, "answers": [answer] * 20}]
    there = compare(releases, (policy, release, mode), requests, draws=[0.5] * 20, latency_s=0.01, start_s=0.0)
    retried = len(there["requests"][0]["sent_s"]) > 1
    assert retried == make_policy(Client(retry=policy)).retries(kind_of(answer))


@pytest.mark.parametrize(("policy", "release", "mode"), QUOTA_PAIRS)
def test_the_quota_empties_at_the_same_request(releases: Releases, policy: str, release: str, mode: str) -> None:
    requests: list[dict[str, Any]] = [{"gap_s": 0.1, "answers": [CODES[0]] * 20}] * 60 + [
        {"gap_s": 0.1, "answers": []}
    ] * 7
    there = compare(releases, (policy, release, mode), requests, draws=[0.5] * 200, latency_s=0.01, start_s=0.0)
    assert sum(len(record["delays_s"]) for record in there["requests"]) == 100
    assert [record["tokens"] for record in there["requests"][-8:]] == [0, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(("policy", "release", "mode"), QUOTA_PAIRS)
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 5), st.sampled_from(("ok", *(a for a in ANSWERS if kind_of(a) > ErrorKind.CANCELLED)))
        ),
        max_size=200,
    )
)
def test_requests_under_way_together_share_one_quota(
    releases: Releases, policy: str, release: str, mode: str, steps: list[tuple[int, str]]
) -> None:
    chosen = make_policy(Client(retry=policy))
    quota = make_quota(chosen)
    assert quota is not None
    assert chosen.quota_costs is not None
    last_cost: dict[int, int] = {}
    here: list[list[bool | int | None]] = []
    for request, answer in steps:
        granted = None
        if answer == "ok":
            quota.release(last_cost.pop(request, 0))
        else:
            cost = chosen.quota_costs[kind_of(answer)]
            granted = quota.acquire(cost)
            if granted:
                last_cost[request] = cost
        here.append([granted, quota.tokens])
    assert here == releases[release]("quota", mode=mode, steps=steps)


@pytest.mark.parametrize("release", ["flag", "new"])
def test_the_adaptive_rate_over_a_long_struggle(releases: Releases, release: str) -> None:
    # A thousand requests, the table throttling every attempt beyond 20 in a second that it would take 40: a saw-tooth of the cubic.
    requests = [
        {"gap_s": 0.005, "answers": ["ThrottlingException"] if n % 7 == 0 or n % 50 < 10 else []} for n in range(1000)
    ]
    there = compare(
        releases,
        ("adaptive", release, "adaptive"),
        requests,
        draws=[n / 1000 for n in range(1000)],
        latency_s=0.004,
        start_s=0.0,
    )
    fills = [state["fill"] for record in there["requests"] for state in record["limiter"]]
    assert len(set(fills)) > 100
    assert min(fills) == 0.5


def test_which_releases_these_are(releases: Releases) -> None:
    assert releases["old"]("version") == releases["flag"]("version") == OLD
    assert tuple(map(int, releases["new"]("version").split(".")[:2])) >= (1, 44)
