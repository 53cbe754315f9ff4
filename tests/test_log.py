"""The log of attempts: a trace by hand, one row for each attempt whatever the client does, and memory that does not grow."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sim
from sim.cli import app

HEADER = "time_s,traffic,attempt,partition,units,outcome,reason\n"
REFUSED = "throttled,TableWriteProvisionedThroughputExceeded"


def scenario(*traffic: dict[str, Any], duration: str = "2s", **table: Any) -> sim.Scenario:
    latency = {f"latency_{kind}_ms_{p}": 100 for kind in ("write", "transaction") for p in ("p50", "p99")}
    return sim.from_dict(
        {
            "format": 1,
            "duration": duration,
            "tick": "100ms",  # requests are placed evenly in the tick in which a pattern starts
            "level": "request",
            "calibration": {"base": "default", **latency},
            "fields": {"user": {"kind": "uniform", "count": 1000}},
            "table": {"pk": "USER#{user}", "mode": "provisioned", "read_capacity": 10, "burst_at_start": 0, **table},
            "traffic": [{"operation": "PutItem", "name": f"w{k}", **t} for k, t in enumerate(traffic)],
        }
    )


FOUR_PUTS = {"rate": [["0s", 4], ["1s", 0]], "arrivals": "even", "client": {"delays": [0.4]}}


def test_five_attempts_by_hand(tmp_path: Path) -> None:
    # Two units at the start and two a second; the put at 0.75 s finds half a unit, hears so at 0.85 s and comes back at 1.25 s.
    path = tmp_path / "attempts.csv"
    sim.run(scenario(FOUR_PUTS, write_capacity=2, partitions=1), log=path)
    assert path.read_text() == (
        HEADER
        + "0.0,w0,1,0,1.0,ok,\n"
        + "0.25,w0,1,0,1.0,ok,\n"
        + "0.5,w0,1,0,1.0,ok,\n"
        + f"0.75,w0,1,0,1.0,{REFUSED}\n"
        + "1.25,w0,2,0,1.0,ok,\n"
    )


def test_batches_transactions_and_invalid_requests_by_hand(tmp_path: Path) -> None:
    # Five units at the start and five a second.
    path = tmp_path / "attempts.csv"
    once = {"rate": [["0s", 1], ["1s", 0]], "arrivals": "even"}
    batch = {
        "name": "batch",
        "operation": "BatchWriteItem",
        "batch": 4,
        "client": {"retry_unprocessed": {"max_retries": 1}},
    }
    patterns = [
        {**once, **batch},  # 4 of 5 units at 0 s
        {
            **once,
            "name": "transaction",
            "operation": "TransactWriteItems",
            "batch": 2,
            "starts": "0.2s",
        },  # 4 units of 2
        {**once, **batch, "name": "second", "starts": "0.3s"},  # 2 of 2.5; the rest at 0.3 + 0.1 + 0.05 s finds 1.25
        {**once, "name": "huge", "item_bytes": 500_000, "starts": "0.5s"},
    ]
    sim.run(scenario(*patterns, write_capacity=5, partitions=1), log=path)
    assert path.read_text() == (
        HEADER
        + "0.0,batch,1,0,4.0,ok,\n"
        + f"0.2,transaction,1,0,4.0,{REFUSED}\n"
        + "0.3,second,1,0,4.0,partly,TableWriteProvisionedThroughputExceeded\n"
        + "0.45,second,1,0,2.0,partly,TableWriteProvisionedThroughputExceeded\n"
        + "0.5,huge,1,,0.0,failed,ValidationException\n"
    )


STORM = {"rate": 60, "client": {"retry": "legacy", "max_attempts": 4}}
BATCHES = {
    "operation": "BatchWriteItem",
    "batch": 25,
    "client": {"retry": "standard", "retry_unprocessed": {"max_retries": 3}},
}
CLIENTS = {
    "plain": {"rate": 20, "client": {"retry": "none"}},
    "storm": STORM,
    "quota": {**STORM, "client": {"retry": "standard"}},
    "limiter": {**STORM, "client": {"retry": "legacy", "rate_limit": {"write": 40}}},
    "adaptive": {**STORM, "client": {"retry": "adaptive"}},
    "timeout": {**STORM, "client": {"retry": "legacy", "timeout": 0.05}},
    "breaker": {**STORM, "client": {"circuit_breaker": {"failures": 3, "reset": 2}}},
    "loop": {"threads": 3, "client": {"retry": "legacy"}},
    "batches": {**BATCHES, "rate": 3},
    "loop of batches": {**BATCHES, "threads": 2},
    "transactions": {"operation": "TransactWriteItems", "batch": 5, "rate": 5},
    "conditions": {"rate": 40, "condition_fails": 0.5},
    "invalid": {"rate": 7, "item_bytes": 500_000},
    "reads": {"operation": "GetItem", "rate": 50, "client": {"retry": "legacy"}},
}


@pytest.mark.parametrize("name", CLIENTS)
def test_every_attempt_has_its_row_in_order_of_time(name: str) -> None:
    result = sim.run(scenario({**CLIENTS[name], "name": name}, STORM, duration="90s", write_capacity=20), log=True)
    log = result.log()
    assert len(log) == result.attempts
    assert (log.outcome == "throttled").sum() == result.throttled
    assert log.time_s.is_monotonic_increasing
    for pattern, record in result.traffic.items():
        mine = log[log.traffic == pattern]
        assert len(mine) == record.attempts.sum()
        assert (mine.outcome == "throttled").sum() == record.throttled.sum()
    assert ((log.reason == "") == (log.outcome == "ok")).all()
    assert (log.partition.isna() <= (log.units != 1)).all()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_log_changes_nothing(name: str) -> None:
    one = scenario(CLIENTS[name], STORM, duration="30s", write_capacity=20)
    assert sim.run(one, log=True).to_dict() == sim.run(one).to_dict()


def test_units_that_passed_are_those_consumed() -> None:
    result = sim.run(scenario(STORM, duration="90s", write_capacity=20), log=True)
    log = result.log()
    assert log.units[log.outcome == "ok"].sum() == result.to_dict()["consumed"]["table"]["write_units"]


def test_attempts_follow_a_split_to_the_halves() -> None:
    calibration = {"base": "default", "heat_window_s": 60, "split_delay_s": 1}
    table = {"pk": "USER#{user}", "mode": "on-demand"}
    pattern = {"name": "hot", "operation": "PutItem", "rate": 1050, "partition": 0, "client": {"retry": "legacy"}}
    fields = {"user": {"kind": "uniform", "count": 1000}}
    parts = {"fields": fields, "table": table, "calibration": calibration, "traffic": [pattern]}
    result = sim.run(sim.from_dict({"format": 1, "duration": "75s", "level": "request", **parts}), log=True)
    (split,) = result.table.splits
    log = result.log()
    assert set(log.partition[log.time_s < split.at_s]) == {0}
    assert set(log.partition[log.time_s >= split.at_s]) == set(split.halves)
    assert (log.attempt[log.partition != 0] > 1).any()


def test_a_kept_log_equals_the_written_one(tmp_path: Path) -> None:
    one = scenario(STORM, duration="30s", write_capacity=20)
    written, kept = sim.run(one, log=str(tmp_path / "attempts.csv")), sim.run(one, log=True)
    assert written.log().equals(kept.log())


def test_memory_does_not_grow_with_the_length_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "attempts.csv"

    def peak_bytes(duration: str) -> int:
        tracemalloc.start()
        sim.run(scenario({"rate": 100}, duration=duration, write_capacity=50), log=path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak_bytes("1m")  # what is made once
    short = peak_bytes("5m")
    short_file = path.stat().st_size
    longer = peak_bytes("25m")
    assert longer - short < 0.2 * (path.stat().st_size - short_file)


def test_the_flow_level_keeps_no_log(tmp_path: Path) -> None:
    flow = sim.with_overrides(scenario({"rate": 4}, write_capacity=2), {"level": "flow"})
    path = tmp_path / "attempts.csv"
    with pytest.raises(sim.ScenarioError, match=r"scenario: level: a log has a row for each attempt.*given: flow"):
        sim.run(flow, log=path)
    assert not path.exists()
    with pytest.raises(ValueError, match="this run kept no log"):
        sim.run(flow).log()


def test_the_command_line_writes_the_log(tmp_path: Path) -> None:
    file, log = tmp_path / "puts.toml", tmp_path / "attempts.csv"
    file.write_text(sim.dump(scenario({"rate": 4, "arrivals": "even"}, write_capacity=2)))

    def ddbsim(*options: str) -> Any:
        return CliRunner().invoke(app, ["run", str(file), "--json", *options])

    assert ddbsim("--log", str(log)).exit_code == 0
    assert log.read_text().count("\n") == 1 + 8
    refused = ddbsim("--log", str(log), "--level", "flow")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("--log: needs the request level")
    nowhere = ddbsim("--log", str(tmp_path / "no" / "attempts.csv"))
    assert (nowhere.exit_code, nowhere.stdout) == (2, "")
    assert nowhere.stderr.startswith("--log: there is no folder")
