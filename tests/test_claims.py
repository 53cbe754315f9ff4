"""What the engine must show, with values derived on paper. Each test states the law that its numbers come from."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sim
from sim.keyspace.hashing import position_of
from sim.keyspace.position import equal_ranges
from sim.names import Declined, Dimension, Limit, SplitReason
from sim.results.result import Result

ROOT = Path(__file__).parent.parent
WRITE, READ = Dimension.WRITE, Dimension.READ


def document(
    *,
    duration: str = "1h",
    pk: str = "USER#{user}",
    sk: str | None = None,
    fields: dict[str, Any] | None = None,
    table: dict[str, Any] | None = None,
    traffic: dict[str, Any] | list[dict[str, Any]] | None = None,
    **top: Any,
) -> dict[str, Any]:
    """A scenario of one table, on demand unless said otherwise, and one pattern of writes."""
    patterns = traffic if isinstance(traffic, list) else [traffic or {}]
    keys = {"pk": pk} | ({"sk": sk} if sk else {})
    return {
        "format": 1,
        "duration": duration,
        "fields": fields or {},
        "table": {"name": "orders", "mode": "on-demand", **keys, **(table or {})},
        "traffic": [{"name": f"writes{k or ''}", "operation": "PutItem", **p} for k, p in enumerate(patterns)],
        **top,
    }


def run(**parts: Any) -> Result:
    return sim.run(sim.from_dict(document(**parts)))


def users(count: int) -> dict[str, Any]:
    return {"user": {"kind": "uniform", "count": count}}


def refused_by_minute(result: Result, dimension: Dimension = WRITE) -> np.ndarray:
    lane = result.table.lanes[dimension]
    offered = result.per_period(lane.offered_units)
    return np.divide(
        offered - result.per_period(lane.consumed_units), offered, out=np.zeros_like(offered), where=offered > 0
    )


def consumed_by_minute(result: Result, dimension: Dimension = WRITE) -> np.ndarray:
    return result.per_period(result.table.lanes[dimension].consumed_units) / 60


def reasons(result: Result) -> set[str]:
    return {t.reason for t in result.throttles}


# Three partitions, 80/10/10.


def three_partitions(admission: str) -> Result:
    read = {"operation": "GetItem", "consistent": True, "item_bytes": 4096, "arrivals": "even"}
    return run(
        duration="2m",
        admission=admission,
        fields=users(1000),
        table={"mode": "provisioned", "read_capacity": 100, "write_capacity": 1, "partitions": 3, "burst_at_start": 0},
        traffic=[{**read, "rate": rate, "partition": k} for k, rate in enumerate((80, 10, 10))],
    )


def test_static_parts_throttle_the_hot_partition_though_the_table_has_room() -> None:
    result = three_partitions("static")
    lane = result.table.lanes[READ]
    # Its part is 100/3: of 100 attempts a second the 80 at partition 0 lose 46.67.
    assert lane.throttle_events[10:].sum() / lane.offered_units[10:].sum() == pytest.approx(
        (80 - 100 / 3) / 100, abs=0.001
    )
    assert reasons(result) == {"TableReadProvisionedThroughputExceeded"}
    assert result.traffic["writes1"].throttled.sum() == result.traffic["writes2"].throttled.sum() == 0


def test_instant_admission_throttles_none_of_them() -> None:
    assert three_partitions("instant").throttled == 0


def test_adaptive_capacity_of_2017_helps_after_minutes_and_not_before() -> None:
    read = {"operation": "GetItem", "consistent": True, "item_bytes": 4096, "arrivals": "even"}
    result = run(
        duration="30m",
        admission="adaptive-2017",
        fields=users(1000),
        table={"mode": "provisioned", "read_capacity": 100, "write_capacity": 1, "partitions": 3, "burst_at_start": 0},
        traffic=[{**read, "rate": rate, "partition": k} for k, rate in enumerate((80, 5, 5))],
    )
    share = refused_by_minute(result, READ)
    assert share[1:6] == pytest.approx((80 - 100 / 3) / 90, abs=0.001)  # 5 min of lag
    assert share[15:].max() < 0.001


# Burst.


@pytest.mark.parametrize(("burst_at_start", "first_s"), [(1.0, 900), (0.0, 3)])
def test_burst_credit_is_spent_at_the_difference_of_offered_and_provisioned(
    burst_at_start: float, first_s: int
) -> None:
    # 150 × 300 = 45,000 units, spent at 50 a second: 900 s. Empty still means one second's worth: 150 / 50 = 3 s.
    result = run(
        fields=users(100_000),
        table={"mode": "provisioned", "read_capacity": 1, "write_capacity": 150, "burst_at_start": burst_at_start},
        traffic={"rate": 200, "arrivals": "even"},
    )
    assert result.first_throttle_s == pytest.approx(first_s, abs=2)
    later = result.table.lanes[WRITE].throttle_events[first_s + 2 :]
    assert later.sum() / (200 * len(later)) == pytest.approx(0.25, abs=0.001)
    assert reasons(result) == {"TableWriteProvisionedThroughputExceeded"}


def test_a_table_of_5_units_takes_2500_writes_in_200_s_from_rest_and_then_5_a_second() -> None:
    result = run(
        duration="10m",
        fields=users(100_000),
        table={"mode": "provisioned", "read_capacity": 5, "write_capacity": 5},
        traffic={"rate": 100, "arrivals": "even"},
    )
    consumed = result.table.lanes[WRITE].consumed_units
    assert consumed[:200].sum() == 5 * 300 + 5 * 200
    assert consumed[200:].mean() == pytest.approx(5, abs=0.05)


# A bucket at its rate.


@pytest.mark.parametrize(
    ("load", "low", "high"), [(0.9, 0, 0), (1.0, 0.0002, 0.001), (1.1, 0.0889, 0.0929), (1.5, 0.3323, 0.3343)]
)
def test_a_bucket_at_its_rate_throttles_what_diffusion_says(load: float, low: float, high: float) -> None:
    # At exactly the rate a reflected walk of variance 1,000/s in a bucket of 1,000 loses σ²/(2 × depth) = 0.5/s, that is 0.05 %.
    # An hour is only a few of its relaxation times (depth²/σ² = 1,000 s), so the mean of several seeds is asked.
    shares = [
        run(pk="one", table={"partitions": 1}, traffic={"rate": 1000 * load}, seed=seed).throttled_fraction
        for seed in range(12)
    ]
    assert low <= np.mean(shares) <= high


# One item, one collection, many users.


def test_one_item_stays_at_one_partitions_ceiling_for_ever() -> None:
    result = run(pk="COUNTER", traffic={"rate": 1500})
    assert consumed_by_minute(result)[1:] == pytest.approx(1000, rel=0.002)
    assert reasons(result) == {"TableWriteKeyRangeThroughputExceeded"}
    assert result.table.splits == []
    assert [(d.why, d.key) for d in result.table.declined] == [(Declined.SINGLE_ITEM, "COUNTER")]
    assert any(e["action"] == "split-declined" for e in result.to_dict()["events"])
    assert any("no number of partitions" in sentence for sentence in result.explanation)


def test_the_same_rate_over_a_million_users_is_not_throttled() -> None:
    assert run(fields=users(1_000_000), traffic={"rate": 1500}).throttled == 0


def test_a_collection_with_even_sort_keys_is_relieved_after_window_and_split_delay() -> None:
    result = run(
        pk="STATE", sk="ROW#{row}", fields={"row": {"kind": "uniform", "count": 10_000}}, traffic={"rate": 1500}
    )
    share = refused_by_minute(result)
    assert share[1:8] == pytest.approx(1 / 3, abs=0.01)
    assert [s.at_s for s in result.table.splits] == [300 + 180]
    assert share[8:].max() < 0.001


def test_an_ever_increasing_sort_key_is_never_relieved() -> None:
    result = run(pk="LOG", sk="{event}", fields={"event": {"kind": "sequence"}}, traffic={"rate": 1500})
    assert refused_by_minute(result)[1:] == pytest.approx(1 / 3, abs=0.01)
    assert result.table.splits == []
    assert [d.why for d in result.table.declined] == [Declined.MOVING_SORT_KEY]


def test_a_local_index_pins_the_collection_and_doubles_its_writes() -> None:
    result = run(
        pk="STATE",
        sk="ROW#{row}",
        fields={"row": {"kind": "uniform", "count": 10_000}},
        table={"lsi": [{"name": "by_time", "sk": "T#{row}", "projection": "ALL"}]},
        traffic={"rate": 1500},
    )
    # 1,000 write units a second at 2 a put.
    assert result.per_period(result.table.lanes[WRITE].consumed_units)[1:] / 60 / 2 == pytest.approx(500, rel=0.002)
    assert result.to_dict()["traffic"]["writes"]["units_per_request"] == {"table": {"read": 0, "write": 2}}
    assert [d.why for d in result.table.declined] == [Declined.LOCAL_INDEX]


# On-demand growth.


def stepped_after_an_hour(rate: float) -> np.ndarray:
    result = run(duration="2h", fields=users(100_000), traffic={"rate": [["0s", 4000], ["1h", rate]]})
    return refused_by_minute(result)[60:]


def test_a_step_below_twice_the_peak_is_served_at_once() -> None:
    assert stepped_after_an_hour(7600).mean() < 0.001


def test_a_step_to_four_times_the_peak_throttles_and_is_clear_within_35_minutes() -> None:
    share = stepped_after_an_hour(16_000)
    assert (share[:5] > 0.01).all()
    assert share[35:].max() < 0.01


RAISED = {"table_read": 1_000_000, "table_write": 1_000_000}


def ramp(low: float, high: float, over_min: int, table: dict[str, Any] | None = None) -> Result:
    return run(
        duration=f"{over_min}m",
        fields=users(1_000_000),
        table=table,
        account=RAISED,
        traffic={"rate": {"kind": "ramp", "from": low, "to": high, "over": f"{over_min}m"}},
    )


@pytest.mark.parametrize("start", [0, 50_000])
def test_from_50000_to_250000_takes_about_an_hour(start: int) -> None:
    peak = {"previous_peak_write": 50_000}
    assert ramp(start, 250_000, 75, peak).throttled_fraction < 0.05
    assert 0.20 < ramp(start, 250_000, 10, peak).throttled_fraction < 0.45


def test_warm_throughput_carries_the_ramp() -> None:
    assert ramp(50_000, 250_000, 10, {"warm_write": 250_000}).throttled_fraction < 0.001


def test_a_new_table_throttles_on_both_measured_ramps_and_less_on_the_slower() -> None:
    fast, slow = ramp(0, 40_000, 60), ramp(0, 40_000, 90)
    assert fast.throttled_fraction > slow.throttled_fraction > 0.01
    assert slow.throttled_fraction <= fast.throttled_fraction / 2
    for result, minutes in ((fast, 60), (slow, 90)):
        # Nothing is refused while less is offered than the new table's 4,000 a second.
        assert result.first_throttle_s is not None
        assert result.first_throttle_s > 0.9 * minutes * 60 * 4000 / 40_000


def test_heat_alone_grows_a_table_by_about_one_partition_a_step() -> None:
    result = run(fields=users(1_000_000), traffic={"rate": 8000}, calibration={"on_demand_scaling": False})
    assert {s.reason for s in result.table.splits} == {SplitReason.HEAT}
    times = [s.at_s for s in result.table.splits]
    assert len(times) == len(set(times)) > 4
    # A split hides its halves until they have been seen for a window of their own: one step each split delay.
    assert np.diff(times).min() >= 180


# Write sharding.


def occupied(prefix: str, suffixes: int, partitions: int) -> int:
    ranges = equal_ranges(partitions)
    hashes = [position_of(f"{prefix}#{k}") for k in range(suffixes)]
    return len({next(i for i, r in enumerate(ranges) if r.low.hash <= h < r.high.hash) for h in hashes})


def test_ten_suffixes_give_at_first_as_many_thousands_as_partitions_are_occupied() -> None:
    by_place = {occupied(f"P{name}", 10, 4): f"P{name}" for name in range(400)}
    for partitions in (3, 4):
        name = by_place[partitions]
        result = run(
            pk=f"{name}#{{shard}}",
            fields={"shard": {"kind": "uniform", "count": 10}},
            traffic={"rate": 10_000, "arrivals": "even"},
        )
        consumed = consumed_by_minute(result)
        assert consumed[1:8] == pytest.approx(1000 * partitions, rel=0.01)
        assert consumed[45:].min() >= 9000


def test_ten_suffixes_occupy_all_four_partitions_in_78_percent_of_placements() -> None:
    counts = [occupied(f"NAME{k}", 10, 4) for k in range(4000)]
    # Surjections of 10 balls on 4 boxes: 4! × S(10,4) / 4**10; exactly 3: 4 × 3! × S(10,3) / 4**10.
    assert counts.count(4) / 4000 == pytest.approx(math.factorial(4) * 34105 / 4**10, abs=0.02)
    assert counts.count(3) / 4000 == pytest.approx(4 * math.factorial(3) * 9330 / 4**10, abs=0.02)


# Time in the key.


def test_the_hot_partition_of_a_date_key_changes_at_midnight() -> None:
    result = run(
        duration="20m",
        start="2026-03-01T23:50:00Z",
        pk="DATE#{day}",
        fields={"day": {"kind": "clock", "format": "%Y-%m-%d"}},
        table={"partitions": 8},
        traffic={"rate": 500},
    )
    ranges = equal_ranges(8)
    consumed = result.table.lanes[WRITE].consumed_by_partition.of(8)
    places = []
    for day in ("2026-03-01", "2026-03-02"):
        hash_ = position_of(f"DATE#{day}")
        places.append(next(i for i, r in enumerate(ranges) if r.low.hash <= hash_ < r.high.hash))
    assert places[0] != places[1], "the two days of this test lie apart"
    assert np.flatnonzero(consumed[:, :10].sum(axis=1)).tolist() == [places[0]]
    assert np.flatnonzero(consumed[:, 10:].sum(axis=1)).tolist() == [places[1]]


# Quota and maximum.


def test_quota_and_maximum_refuse_under_their_own_reasons() -> None:
    many = {"fields": users(1_000_000), "duration": "10m"}
    over_quota = run(**many, table={"warm_write": 60_000}, traffic={"rate": 50_000})
    assert reasons(over_quota) == {"TableWriteAccountLimitExceeded"}
    assert over_quota.throttled_fraction == pytest.approx(0.2, abs=0.01)
    over_maximum = run(**many, table={"max_write": 1000}, traffic={"rate": 2000})
    assert reasons(over_maximum) == {"TableWriteMaxOnDemandThroughputExceeded"}
    assert over_maximum.throttled_fraction == pytest.approx(0.5, abs=0.01)


# What holds in every run.


CHECKED = {
    "hot": {"pk": "COUNTER", "traffic": {"rate": 1500}},
    "users": {"fields": users(1000), "traffic": {"rate": 6000}},
    "static": {
        "admission": "static",
        "fields": users(1000),
        "table": {"mode": "provisioned", "read_capacity": 10, "write_capacity": 500, "partitions": 5},
        "traffic": [{"rate": 400}, {"rate": 300, "item_bytes": 5000, "where": {"user": 7}}],
    },
    "provisioned": {
        "fields": {"user": {"kind": "zipf", "count": 1000, "exponent": 1.0}},
        "table": {"mode": "provisioned", "read_capacity": 300, "write_capacity": 300},
        "traffic": [{"rate": 500}, {"operation": "GetItem", "rate": 500, "item_bytes": 9000}],
    },
}


@pytest.mark.parametrize("name", CHECKED)
def test_nothing_is_lost_and_no_bucket_gives_more_than_it_had(name: str) -> None:
    result = run(**{"duration": "40m", **CHECKED[name]})
    data = result.to_dict()
    assert data["requests"]["offered"] == pytest.approx(
        data["requests"]["succeeded"] + data["requests"]["failed"] + data["requests"]["in_flight"]
    )
    for dimension, ceiling in ((WRITE, 1000), (READ, 3000)):
        lane = result.table.lanes[dimension]
        rows = lane.consumed_by_partition.of(len(result.table.partitions))
        assert rows.max(initial=0) <= ceiling * 60 + ceiling
        assert rows.sum() == pytest.approx(lane.consumed_units.sum())
        assert sum(s.sum() for s in lane.by_limit.values()) == pytest.approx(lane.throttle_events.sum())
        if name in ("static", "provisioned"):
            rate = lane.capacity[0][1]
            assert lane.consumed_units.sum() <= rate * result.grid.duration_s + rate * 300
        if name == "static":
            # Each partition its fifth, and 300 s of it.
            assert rows.sum(axis=1).max() <= rate / 5 * (result.grid.duration_s + 300) + 1e-6


@pytest.mark.parametrize("name", CHECKED)
def test_the_same_seed_gives_the_same_bytes_at_any_stretch_height(name: str) -> None:
    scenario = sim.from_dict(document(**{"duration": "40m", **CHECKED[name]}))
    texts = {sim.run(scenario, stretch_ticks=height).to_json() for height in (7, 64, 256)}
    assert len(texts) == 1


def test_the_same_seed_gives_the_same_bytes_under_any_hash_seed(tmp_path: Path) -> None:
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(document(**{"duration": "40m", **CHECKED["provisioned"]})))
    program = "import json,sys,sim; print(sim.run(sim.from_dict(json.load(open(sys.argv[1])))).to_json())"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, str(file)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1


def test_an_item_over_400_kb_fails_and_costs_nothing() -> None:
    result = run(duration="1m", fields=users(10), traffic={"rate": 1, "arrivals": "even", "item_bytes": 409_601})
    data = result.to_dict()
    assert data["failures"] == [{"error": "ValidationException", "count": 60}]
    assert (data["consumed"]["table"]["write_units"], data["attempts"]["throttled"]) == (0, 0)


def test_the_limit_of_a_refusal_is_named_in_order() -> None:
    # Two writes of 600 units/s to one partition of a table of 700: the ceiling is 1,000, the rate binds first.
    result = run(
        pk="one",
        table={"mode": "provisioned", "read_capacity": 1, "write_capacity": 700, "burst_at_start": 0},
        traffic=[{"rate": 1200, "arrivals": "even"}],
    )
    counts = {t.limit: t.count for t in result.throttles}
    assert set(counts) == {Limit.PROVISIONED}
