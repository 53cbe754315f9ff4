"""The request level: single attempts by hand, clients at their numbers, laws of queues, and agreement with counts per tick."""

from __future__ import annotations

import math
from typing import Any

import pytest

import sim
from sim.levels.request import Loop
from sim.names import Dimension
from sim.results.result import Result

WRITE = Dimension.WRITE


def document(
    *, duration: str = "10m", level: str = "request", table: dict[str, Any] | None = None, **parts: Any
) -> dict[str, Any]:
    traffic = parts.pop("traffic")
    patterns = traffic if isinstance(traffic, list) else [traffic]
    return {
        "format": 1,
        "duration": duration,
        "level": level,
        "fields": {"user": {"kind": "uniform", "count": 100_000}, **parts.pop("fields", {})},
        "table": {"pk": "USER#{user}", "mode": "on-demand", **(table or {})},
        "traffic": [{"name": f"w{k or ''}", "operation": "PutItem", **p} for k, p in enumerate(patterns)],
        **parts,
    }


def run(**parts: Any) -> Result:
    return sim.run(sim.from_dict(document(**parts)))


def provisioned(write: float, **other: Any) -> dict[str, Any]:
    return {"mode": "provisioned", "read_capacity": 10, "write_capacity": write, "burst_at_start": 0, **other}


DEAD = {"pk": "HOT", **provisioned(1)}  # 400-unit items never pass a bucket of 300


# Both levels.


@pytest.mark.parametrize("rate", [3000, 6000])
@pytest.mark.parametrize("arrivals", ["poisson", "even"])
def test_the_levels_count_the_same_requests_and_throttle_alike(rate: int, arrivals: str) -> None:
    flow, request = (run(level=level, traffic={"rate": rate, "arrivals": arrivals}) for level in ("flow", "request"))
    assert flow.offered == request.offered
    assert flow.throttled_fraction == pytest.approx(request.throttled_fraction, abs=0.01)
    consumed = [float(r.table.lanes[WRITE].consumed_units.sum()) for r in (flow, request)]
    assert consumed[0] == pytest.approx(consumed[1], rel=0.01)
    assert [s.at_s for s in flow.table.splits] == [s.at_s for s in request.table.splits]


def test_the_levels_run_out_of_burst_at_the_same_moment() -> None:
    table = {"mode": "provisioned", "read_capacity": 1, "write_capacity": 150}
    flow, request = (
        run(level=level, duration="20m", table=table, traffic={"rate": 200, "arrivals": "even"})
        for level in ("flow", "request")
    )
    assert flow.first_throttle_s is not None
    assert request.first_throttle_s == pytest.approx(flow.first_throttle_s, abs=2)
    assert request.throttled == pytest.approx(flow.throttled, rel=0.01)


@pytest.mark.parametrize("admission", ["static", "instant"])
def test_the_levels_agree_on_three_partitions(admission: str) -> None:
    read = {"operation": "GetItem", "consistent": True, "item_bytes": 4096, "arrivals": "even"}
    parts = {
        "duration": "2m",
        "admission": admission,
        "table": {
            "mode": "provisioned",
            "read_capacity": 100,
            "write_capacity": 1,
            "partitions": 3,
            "burst_at_start": 0,
        },
        "traffic": [{**read, "rate": rate, "partition": k} for k, rate in enumerate((80, 10, 10))],
    }
    flow, request = (run(level=level, **parts) for level in ("flow", "request"))
    assert request.throttled_fraction == pytest.approx(flow.throttled_fraction, abs=0.01)
    assert {t.reason for t in request.throttles} == {t.reason for t in flow.throttles}


# Bookkeeping.


CLIENTS = {
    "none": {},
    "legacy": {"retry": "legacy"},
    "standard": {"retry": "standard"},
    "adaptive": {"retry": "adaptive"},
    "breaker": {"retry": "legacy", "circuit_breaker": {"failures": 5, "reset": "3s"}},
    "limiter": {"retry": "none", "rate_limit": {"write": 80}},
    "timeout": {"retry": "standard", "timeout": "4ms"},
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "operation", [{}, {"operation": "BatchWriteItem", "batch": 5}, {"operation": "TransactWriteItems", "batch": 2}]
)
def test_nothing_is_lost(client: str, operation: dict[str, Any]) -> None:
    result = run(duration="2m", table=provisioned(100), traffic={"rate": 90, "client": CLIENTS[client], **operation})
    data = result.to_dict()
    for row in (data["requests"], data["traffic"]["w"]):
        assert row["offered"] == row["succeeded"] + row["failed"] + row["in_flight"]
        assert row["in_flight"] >= 0
    lane = result.table.lanes[WRITE]
    assert lane.consumed_units.sum() <= 100 * 120 + 100
    assert sum(s.sum() for s in lane.by_limit.values()) == lane.throttle_events.sum()
    assert lane.consumed_by_partition.of(len(result.table.partitions)).sum() == pytest.approx(lane.consumed_units.sum())


@pytest.mark.parametrize("client", CLIENTS)
def test_the_size_of_a_stretch_changes_no_byte(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = set()
    for size in (500, 20_000, 10**6):
        monkeypatch.setattr("sim.levels.request.STRETCH_REQUESTS", size)
        parts = {"duration": "3m", "table": provisioned(150, partitions=2)}
        made = sim.from_dict(document(**parts, traffic={"rate": 200, "client": CLIENTS[client]}))
        texts.add(sim.run(made).to_json())
    assert len(texts) == 1


def test_the_short_way_of_a_retry_equals_the_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"duration": "20s", "traffic": {"rate": 4600, "client": {"retry": "legacy"}}}
    short = run(**parts).to_json()
    monkeypatch.setattr(Loop, "_again", Loop._send)
    assert run(**parts).to_json() == short


# Retry policies.


def test_a_legacy_client_tries_ten_times_and_gives_up_after_25_seconds_and_a_half() -> None:
    result = run(
        table=DEAD, traffic={"rate": 0.2, "item_bytes": 400_000, "arrivals": "even", "client": {"retry": "legacy"}}
    )
    row = result.to_dict()["traffic"]["w"]
    answered = row["failed"]
    assert row["attempts"] == pytest.approx(10 * row["offered"], abs=10 * row["in_flight"])
    # 50 ms × (1 + 2 + … + 2⁸) = 25.55 s, and ten latencies of a few milliseconds.
    assert 25_550 < row["latency_ms"]["p50"] < 25_550 * 1.02
    assert 25_550 < row["latency_ms"]["max"] < 25_750
    assert answered > 100


def test_a_new_standard_client_tries_four_times_and_waits_three_seconds_and_a_half() -> None:
    client = {"retry": "standard"}
    result = run(
        duration="2h", table=DEAD, traffic={"rate": 0.01, "item_bytes": 400_000, "clients": 1, "client": client}
    )
    record = result.traffic["w"]
    # Few requests: the quota of 500 tokens pays 100 retries, and 0.01/s × 2 h × 3 retries = 216 would pass that.
    first = [
        float(record.attempts[: k + 1].sum()) / max(1.0, float(record.offered[: k + 1].sum())) for k in range(40, 50)
    ]
    assert first == pytest.approx([4.0] * 10, abs=0.35)


def test_a_quota_of_500_is_empty_after_100_retries_without_success() -> None:
    result = run(duration="1h", table=DEAD, traffic={"rate": 1, "item_bytes": 400_000, "client": {"retry": "standard"}})
    record = result.traffic["w"]
    assert record.attempts.sum() - record.offered.sum() == 100


def test_ten_clients_have_ten_quotas() -> None:
    result = run(
        duration="1h",
        table=DEAD,
        traffic={"rate": 5, "item_bytes": 400_000, "clients": 10, "client": {"retry": "standard"}},
    )
    record = result.traffic["w"]
    assert record.attempts.sum() - record.offered.sum() == 1000


@pytest.mark.parametrize(("overload", "attempts"), [(2.0, 10), (1.5, 10)])
def test_attempts_per_request_follow_the_steady_state(overload: float, attempts: int) -> None:
    # A table at its limit serves 1/ρ of the requests; with success s at each of K attempts that is 1 - (1 - s)**K, and a request takes
    # (1/ρ)/s attempts.
    result = run(
        duration="15m",
        table=provisioned(100),
        traffic={"rate": 100 * overload, "client": {"retry": "legacy"}},
        calibration={"heat_splits_in_flight": 0},
    )
    record = result.traffic["w"]
    success = 1 - (1 - 1 / overload) ** (1 / attempts)
    steady = slice(3, 14)  # minutes: after the first surrender at 25 s
    measured = record.attempts[steady].sum() / record.offered[steady].sum()
    assert measured == pytest.approx(1 / overload / success, rel=0.03)


def test_retrying_an_overload_gains_nothing_until_it_ends() -> None:
    parts = {"duration": "10m", "table": provisioned(100)}
    plain, legacy = (run(**parts, traffic={"rate": 200, "client": {"retry": retry}}) for retry in ("none", "legacy"))
    assert legacy.succeeded == pytest.approx(plain.succeeded, rel=0.02)
    assert 6 <= legacy.attempts / plain.attempts <= 7.5


# Breaker, limiter, batches, threads.


def test_a_breaker_takes_the_load_away_and_comes_back_by_one_probe() -> None:
    parts = {"duration": "10m", "table": DEAD}
    pattern = {"rate": 10, "item_bytes": 400_000}
    without = run(**parts, traffic=pattern)
    client = {"circuit_breaker": {"failures": 5, "reset": "30s"}}
    with_breaker = run(**parts, traffic={**pattern, "client": client})
    assert with_breaker.attempts < 0.05 * without.attempts
    # Five failures open it; from then on one probe every 30 s.
    assert with_breaker.attempts == pytest.approx(5 + 600 / 30, abs=2)
    assert set(map(str, with_breaker.failures)) == {"CircuitBreakerOpen", "ProvisionedThroughputExceededException"}


def test_a_breaker_closes_by_one_probe_once_the_table_has_room() -> None:
    hog = {"rate": 1000, "ends": "60s"}
    small = {
        "rate": 5,
        "starts": "5s",
        "client": {"circuit_breaker": {"failures": 5, "reset": "10s"}},
    }
    made = document(duration="2m", table=provisioned(10), traffic=[hog, small])
    log = sim.run(sim.from_dict(made), log=True).log()
    mine = log[log["traffic"] == "w1"]
    closed = mine[mine["outcome"] == "ok"]["time_s"]
    probes = mine[(mine["time_s"] > 20) & (mine["time_s"] < 60)]["time_s"]
    assert len(probes) <= 5  # one each ten seconds while the table has none to spare
    after = float(closed[closed > 60].min())
    assert after <= 60 + 10 + 0.2
    # From the probe's answer on every request is sent, 5 a second.
    later = mine[mine["time_s"] > after + 1]
    assert len(later) == pytest.approx(5 * (120 - after - 1), rel=0.25)
    assert (later["outcome"] == "ok").all()


def test_a_limiter_at_80_percent_is_never_throttled_and_its_queue_is_told() -> None:
    result = run(
        duration="5m",
        table=provisioned(100),
        traffic={"rate": 150, "arrivals": "even", "client": {"rate_limit": {"write": 80}}},
    )
    row = result.to_dict()["traffic"]["w"]
    assert row["throttled"] == 0
    # What comes at second t goes at t × 150 / 80: it waits 70 / 80 of t.
    assert row["limiter_wait_ms"]["p99"] == pytest.approx(0.99 * 300_000 * 70 / 80, rel=0.02)
    assert row["limiter_wait_ms"]["p50"] == pytest.approx(0.50 * 300_000 * 70 / 80, rel=0.02)
    assert result.succeeded == pytest.approx(80 * 300, rel=0.01)


def test_a_batch_of_25_on_room_for_ten_gives_15_back_without_an_error() -> None:
    batch = {"operation": "BatchWriteItem", "batch": 25, "count": 1, "rate": 1, "arrivals": "even"}
    result = run(duration="10s", table=provisioned(10), traffic=batch)
    row = result.to_dict()["traffic"]["w"]
    assert (row["succeeded"], row["failed"], row["throttled"]) == (1, 0, 0)
    assert (row["unprocessed"], row["throttle_events"]) == (15, 15)


def test_what_a_batch_gave_back_is_resent_until_it_is_written() -> None:
    again = {"max_retries": 5, "base_delay": "100ms", "max_delay": "5s", "jitter": 0.2}
    batch = {
        "operation": "BatchWriteItem",
        "batch": 25,
        "count": 1,
        "rate": 1,
        "arrivals": "even",
        "client": {"retry_unprocessed": again},
    }
    result = run(duration="30s", table=provisioned(10), traffic=batch)
    row = result.to_dict()["traffic"]["w"]
    assert (row["unprocessed"], row["succeeded"]) == (0, 1)
    assert result.table.lanes[WRITE].consumed_units.sum() == 25


def test_a_batch_fails_only_when_nothing_of_it_was_served() -> None:
    batch = {"operation": "BatchWriteItem", "batch": 2, "rate": 5, "item_bytes": 400_000}
    row = run(duration="1m", table=DEAD, traffic=batch).to_dict()["traffic"]["w"]
    assert row["failed"] + row["in_flight"] == row["offered"] == row["throttled"]
    assert row["unprocessed"] == 0


@pytest.mark.parametrize("threads", [1, 20])
def test_a_closed_loop_obeys_littles_law(threads: int) -> None:
    result = run(duration="30s", traffic={"threads": threads, "operation": "GetItem"})
    record = result.traffic["w"]
    assert result.throttled == 0
    c = result.scenario.calibration
    p50_s, p99_s = c.latency_read_eventual_ms_p50 / 1000, c.latency_read_eventual_ms_p99 / 1000
    sigma = math.log(p99_s / p50_s) / 2.3263
    mean_s = p50_s * math.exp(sigma**2 / 2)
    throughput = record.succeeded.sum() / 30
    assert throughput * mean_s == pytest.approx(threads, rel=0.02)


def test_a_finite_job_of_threads_ends_with_its_last_answer() -> None:
    row = run(duration="5m", traffic={"threads": 4, "count": 1000}).to_dict()["traffic"]["w"]
    assert (row["offered"], row["succeeded"], row["in_flight"]) == (1000, 1000, 0)
    assert 0 < row["finished_s"] < 300


def test_waiting_requests_follow_the_halves_of_a_split() -> None:
    result = run(
        duration="15m",
        table={"pk": "STATE", "sk": "ROW#{row}"},
        fields={"row": {"kind": "uniform", "count": 10_000}},
        traffic={"rate": 1050, "client": {"retry": "legacy"}},
    )
    assert result.table.splits
    minutes = result.per_period(result.table.lanes[WRITE].throttle_events)
    assert minutes[-3:].sum() == 0
    assert result.in_flight < 100


def test_memory_of_percentiles_does_not_grow_with_requests() -> None:
    short, long = (run(duration=d, traffic={"rate": 500}) for d in ("1m", "5m"))
    assert short.traffic["w"].latency is not None
    assert long.traffic["w"].latency is not None
    assert short.traffic["w"].latency.__dict__["_bins"].nbytes == long.traffic["w"].latency.__dict__["_bins"].nbytes


@pytest.mark.parametrize(
    "pattern",
    [
        {"threads": 2, "item_bytes": 400_000, "client": {"circuit_breaker": {"failures": 2, "reset": "1s"}}},
        {"threads": 2, "item_bytes": 500_000},
    ],
)
def test_a_thread_that_is_turned_away_at_once_lets_time_pass(pattern: dict[str, Any]) -> None:
    result = run(duration="5s", table=DEAD, traffic=pattern)
    assert 10 < result.offered < 10_000
    assert result.succeeded == 0


@pytest.mark.parametrize("arrivals", ["poisson", "even"])
def test_nothing_comes_before_a_window_that_opens_inside_a_tick(arrivals: str) -> None:
    made = document(duration="2s", traffic={"rate": 200, "arrivals": arrivals, "starts": "500ms", "ends": "1500ms"})
    times = sim.run(sim.from_dict(made), log=True).log()["time_s"]
    assert 0.5 <= times.min() < times.max() < 1.5
    assert abs(len(times) - 200) < 60
