"""Same seed, same bytes: at any stretch height, watched or not, beside other runs, in any process."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from reference.small import pattern, provisioned, scenario
from strategies import scenarios

from sim.run import run
from sim.scenario import Scenario, dump, load

ROOT = Path(__file__).resolve().parent.parent
FIELDS = {
    "user": {"kind": "zipf", "count": 5000, "exponent": 1.1},
    "shard": {"kind": "hash", "of": "user", "count": 4},
    "minute": {"kind": "clock", "format": "%H:%M"},
    "seq": {"kind": "sequence"},
}


def busy(seed: int = 0, duration: str = "6m") -> Scenario:
    """Splits, epochs, refusals by several limits, batches and transactions, and patterns that come and go."""
    return scenario(
        pattern(name="hot", rate=2500, pk="HOT#{shard}", sk="{user}"),
        pattern(name="late", rate=300, item_bytes=3000, starts="155s", ends="311s"),
        pattern(name="wave", rate={"kind": "diurnal", "mean": 400, "peak": 700, "peak_at": "00:10"}, pk="M#{minute}"),
        pattern(name="batch", operation="BatchWriteItem", batch=7, rate=90, arrivals="even", starts="95s"),
        pattern(name="pair", operation="TransactWriteItems", batch=2, rate=[["0s", 0], ["5m", 400]], item_bytes=1500),
        pattern(name="reads", operation="GetItem", rate=5000, missing=0.2, item_bytes=9000, pk="R#{user}"),
        pattern(name="job", rate=33, count=2000, pk="J#{seq}", arrivals="even"),
        fields=FIELDS,
        table={"pk": "U#{user}", "sk": "S", "max_write": 5000, "partitions": 2},
        duration=duration,
        period="10s",
        seed=seed,
        calibration="observed",
    )


HEIGHTS = [7, 64, 256, 1000]


@pytest.mark.parametrize("height", HEIGHTS)
def test_the_height_of_a_stretch_changes_no_byte(height: int) -> None:
    made = busy(duration="13m")
    assert run(made, stretch_ticks=height).to_json() == run(made, stretch_ticks=100).to_json()


@pytest.mark.parametrize("admission", ["instant", "static", "adaptive-2017"])
def test_the_height_of_a_stretch_changes_no_byte_of_a_provisioned_table(admission: str) -> None:
    made = scenario(
        pattern(rate=90, item_bytes=3000),
        pattern(name="late", rate=11, starts="37s", ends="401s"),
        pattern(name="job", rate=33, count=2000, item_bytes=2048),
        table=provisioned(write=150, burst_at_start=0.05) | {"partitions": 3},
        admission=admission,
        period="10s",
        tick="500ms",
    )
    found = {height: run(made, stretch_ticks=height).to_json() for height in HEIGHTS}
    assert len(set(found.values())) == 1


@pytest.mark.parametrize("table", [{"partitions": 1}, provisioned(write=150, burst_at_start=0)])
@pytest.mark.parametrize(
    "late",
    [
        pattern(name="late", rate=1, item_bytes=1000, starts="95s"),
        pattern(name="late", rate=1, operation="TransactWriteItems", batch=2, starts="95s"),
        pattern(name="late", rate=[["0s", 0], ["95s", 1]], item_bytes=1000),
    ],
    ids=["window", "transaction", "steps"],
)
def test_who_comes_later_in_a_stretch_changes_nothing_before(table: dict[str, Any], late: dict[str, Any]) -> None:
    """Attempts of 3 units alone are served whole, beside another cost they are not: that must not hang on where stretches begin."""
    made = scenario(pattern(rate=500, item_bytes=3000), late, table=table, duration=130, period="10s")
    assert len({run(made, stretch_ticks=height).to_json() for height in HEIGHTS}) == 1


@settings(max_examples=12)
@given(scenarios())
def test_the_height_of_a_stretch_changes_no_random_scenario(made: Scenario) -> None:
    assert run(made, stretch_ticks=7).to_json() == run(made, stretch_ticks=1000).to_json()


def test_progress_changes_nothing_and_ends_at_one() -> None:
    seen: list[float] = []
    assert run(busy(), progress=seen.append).to_json() == run(busy()).to_json()
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_seeds_differ() -> None:
    assert run(busy(1)).to_json() != run(busy(2)).to_json()


def test_a_pattern_more_moves_no_draw_of_the_others() -> None:
    def offered(*more: dict[str, Any]) -> list[float]:
        made = scenario(*more, pattern(rate=50), pattern(name="reads", operation="GetItem", rate=7))
        return [x for name in ("writes", "reads") for x in run(made).traffic[name].offered.tolist()]

    assert offered() == offered(pattern(name="another", rate=1000))


def test_two_runs_at_once_equal_each_alone() -> None:
    made = [busy(seed) for seed in (1, 2)]
    alone = [run(each).to_json() for each in made]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda each: run(each).to_json(), made)) == alone


def as_json(made: Scenario) -> str:
    return run(made).to_json()


def test_a_process_pool_gives_the_same_bytes() -> None:
    made = [busy(seed) for seed in (1, 2)]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(as_json, made)) == [as_json(each) for each in made]


def test_the_hash_seed_of_python_changes_no_byte(tmp_path: Path) -> None:
    path = tmp_path / "busy.toml"
    path.write_text(dump(busy()), encoding="utf-8")
    code = "import sys, sim; sys.stdout.reconfigure(encoding='utf-8'); print(sim.run(sim.load(sys.argv[1])).to_json())"
    wanted = run(load(path)).to_json()
    for seed in ("0", "1", "2"):  # each starts an interpreter
        found = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert found.stdout.rstrip("\n") == wanted


def test_a_result_travels_between_processes() -> None:
    result = run(busy())
    assert pickle.loads(pickle.dumps(result)).to_json() == result.to_json()
