"""Speed of the request level: a minute on a new on-demand table, beside a SimPy model with a process for each request.

``make bench`` times both in one process; compare the ratio of the medians with ``baseline.toml``, not the seconds: machines differ and
are noisy. Under ``make test`` each runs once, untimed, and both must do the same work.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import simpy_model
from test_flow_speed import OPERATIONS

import sim
from sim import limits

DURATION_S = 60
PARTITIONS = 4  # of a new on-demand table
BASELINE = Path(__file__).parent / "baseline.toml"


@dataclass(frozen=True)
class Load:
    """A rate, the fraction of attempts that it has throttled, and how far two seeds' numbers of attempts may lie apart."""

    rate_per_s: int
    least_throttled: float
    most_throttled: float
    apart: Callable[[float], float]


LOADS = {
    # Two Poisson counts: five standard deviations of their difference.
    "unthrottled": Load(3000, 0.0, 0.0, lambda attempts: 5 * (2 * attempts) ** 0.5),
    # Just above what four partitions give, a little more load makes many more retries.
    "a third throttled": Load(4300, 0.28, 0.38, lambda attempts: 0.03 * attempts),
}


@pytest.fixture(scope="module", params=LOADS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def scenario(load: Load) -> sim.Scenario:
    client = {"retry": "legacy", "max_attempts": simpy_model.MAX_ATTEMPTS}
    pattern = {"name": "all", "operation": "PutItem", "rate": load.rate_per_s, "client": client}
    return sim.from_dict(
        {
            "format": 1,
            "duration": DURATION_S,
            "level": "request",
            "fields": {"order": {"kind": "sequence"}},  # new keys, which lie evenly
            "table": {"name": "orders", "pk": "ORDER#{order}", "mode": "on-demand", "partitions": PARTITIONS},
            "traffic": [pattern],
        }
    )


def by_processes(load: Load) -> simpy_model.Tally:
    return simpy_model.run(
        rate_per_s=load.rate_per_s,
        duration_s=DURATION_S,
        partitions=PARTITIONS,
        capacity_per_s=limits.PARTITION_WRITE_PER_S,
    )


def test_a_minute(benchmark: Any, name: str) -> None:
    load = LOADS[name]
    benchmark.group = name
    result = benchmark.pedantic(sim.run, args=(scenario(load),), rounds=10, warmup_rounds=1)
    assert load.least_throttled <= result.throttled_fraction <= load.most_throttled
    # The same work.
    tally = by_processes(load)
    assert abs(result.attempts - tally.attempts) < load.apart(result.attempts)
    assert result.throttled_fraction == pytest.approx(tally.throttled / tally.attempts, abs=0.02)


def test_the_same_minute_by_processes(benchmark: Any, name: str) -> None:
    load = LOADS[name]
    benchmark.group = name
    tally = benchmark.pedantic(by_processes, args=(load,), rounds=5, warmup_rounds=1)
    assert load.least_throttled <= tally.throttled / tally.attempts <= load.most_throttled


def test_every_group_has_its_baseline() -> None:
    baseline = tomllib.loads(BASELINE.read_text(encoding="utf-8"))
    assert list(baseline["request"]) == list(LOADS)
    assert list(baseline["flow"]) == list(OPERATIONS)
