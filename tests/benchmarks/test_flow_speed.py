"""Speed of the flow level: a day of 100,000 requests/s over 200 partitions and a million keys, beside the bare drawing of its counts.

``make bench`` times both in one process; compare the ratio of the medians with ``baseline.toml``, not the seconds: machines differ and
are noisy. Under ``make test`` each runs once, untimed, and must do the same work.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sim

DAY_S = 86_400
RATE_PER_S = 100_000
STRETCH_S = 60
MEMORY_MAX_MB = 500
OPERATIONS = ("GetItem", "PutItem")
DOCUMENT: dict[str, Any] = {
    "format": 1,
    "duration": "1d",
    "fields": {"user": {"kind": "zipf", "count": 1_000_000, "exponent": 0.9}},
    "account": {"table_read": 1e9, "table_write": 1e9},
    "table": {"name": "users", "pk": "USER#{user}", "mode": "on-demand", "partitions": 200},
}


def day(operation: str) -> sim.Scenario:
    pattern = {"name": "all", "operation": operation, "rate": RATE_PER_S}
    return sim.from_dict({**DOCUMENT, "traffic": [pattern]})


def draw_bare(partition_counts: list[tuple[float, int]]) -> int:
    """Draw as many Poisson counts as the run did: ticks × the partitions that served then."""
    draws = np.random.default_rng(1)
    total = 0
    for (start, count), (end, _) in pairwise([*partition_counts, (float(DAY_S), 0)]):
        rates = np.full(count, RATE_PER_S / count)
        for tick in range(int(start), int(end), STRETCH_S):
            total += int(draws.poisson(rates, size=(min(STRETCH_S, int(end) - tick), count)).sum())
    return total


@pytest.fixture(scope="module", params=OPERATIONS)
def operation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_day(benchmark: Any, operation: str) -> None:
    benchmark.group = operation
    result = benchmark.pedantic(sim.run, args=(day(operation),), rounds=5, warmup_rounds=1)
    # The same work: every request of the day, within five standard deviations.
    expected = RATE_PER_S * DAY_S
    assert abs(result.attempts - expected) < 5 * expected**0.5
    # PutItem keeps several keys over their partition's ceiling all day; eventual GetItem keeps none.
    assert (result.throttled_fraction > 0.01) == (operation == "PutItem")


def test_the_bare_drawing_of_its_counts(benchmark: Any, operation: str) -> None:
    benchmark.group = operation
    counts = sim.run(day(operation)).table.partition_counts
    total = benchmark.pedantic(draw_bare, args=(counts,), rounds=5, warmup_rounds=1)
    expected = RATE_PER_S * DAY_S
    assert abs(total - expected) < 5 * expected**0.5


def test_a_day_fits_in_memory(operation: str) -> None:
    """Peak resident memory of a fresh process that imports ddbsim and runs the day."""
    pytest.importorskip("resource", reason="peak memory is read through a Unix interface")
    program = (
        "import resource, sys\n"
        f"sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(sim.__file__).parent.parent)!r}]\n"
        "import sim, test_flow_speed\n"
        f"sim.run(test_flow_speed.day({operation!r}))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != 'darwin' else 1024**2))\n"
    )
    peak_mb = float(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout)
    assert peak_mb < MEMORY_MAX_MB
