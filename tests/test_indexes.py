"""Global secondary indexes: their costs, their back-pressure, their splits, at both levels. Every value is derived in its test."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim
from sim.limits import CEILING_PER_S
from sim.names import Dimension
from sim.results.result import Result

BOTH = ("flow", "request")
STATUS = {"kind": "choice", "weights": {"active": 0.9, "inactive": 0.1}}
USER = {"kind": "uniform", "count": 1_000_000}


def write(name: str = "w", **keys: Any) -> dict[str, Any]:
    return {"name": name, "operation": "PutItem", "item_bytes": 800, "rate": 60} | keys


def made(
    level: str,
    gsi: list[dict[str, Any]],
    *traffic: dict[str, Any],
    duration: str = "10m",
    table: dict[str, Any] | None = None,
    fields: dict[str, Any] | None = None,
    **more: Any,
) -> sim.Scenario:
    own = (
        {"pk": "USER#{user}", "mode": "provisioned", "read_capacity": 100, "write_capacity": 100}
        if table is None
        else table
    )
    return sim.from_dict(
        {
            "format": 1,
            "level": level,
            "duration": duration,
            "fields": {"user": USER, "other": USER, "status": STATUS} | (fields or {}),
            "table": own | {"gsi": gsi},
            "traffic": list(traffic) or [write()],
            **more,
        }
    )


def throttles(result: Result) -> dict[tuple[str, str], float]:
    return {(t.resource, t.reason): t.count for t in result.throttles}


def per_second(result: Result, name: str, column: str, minutes: slice) -> float:
    row = getattr(result.traffic[name], column)[minutes]
    return float(row.sum()) / (60 * len(row))


# An index that is too small.

EXISTS = {"name": "exists", "pk": "G#{other}", "read_capacity": 12, "write_capacity": 12}


@pytest.mark.parametrize("level", BOTH)
def test_an_index_of_12_holds_a_table_of_100(level: str) -> None:
    # 300 s × 12 = 3,600 units of burst, spent at 60 - 12 a second: 75 s; from then on 12 a second pass.
    result = sim.run(made(level, [EXISTS], write(arrivals="even"), duration="15m"))
    assert result.first_throttle_s == pytest.approx(75, abs=1)
    assert per_second(result, "w", "succeeded", slice(2, 15)) == pytest.approx(12, abs=0.1)
    assert set(throttles(result)) == {("index/exists", "IndexWriteProvisionedThroughputExceeded")}
    assert not result.table.lanes[Dimension.WRITE].throttle_events.any()
    # What is refused takes nothing from the table either.
    assert result.table.lanes[Dimension.WRITE].consumed_units[120:].mean() == pytest.approx(12, abs=0.1)


@pytest.mark.parametrize("level", BOTH)
def test_an_index_as_large_as_its_table_throttles_nothing(level: str) -> None:
    result = sim.run(made(level, [EXISTS | {"write_capacity": 100}], write(arrivals="even"), duration="15m"))
    assert not result.throttles
    assert result.to_dict()["consumed"]["index/exists"]["write_units"] == 60 * 900


@pytest.mark.parametrize("level", BOTH)
def test_the_measured_backlog_moves_the_onset(level: str) -> None:
    # 3,600 of burst and 19,000 of backlog at 48 a second: 470.8 s. What the index has not done yet it has not consumed.
    more = {"calibration": {"base": "default", "gsi_backlog_units": 19_000}}
    result = sim.run(made(level, [EXISTS], write(arrivals="even"), duration="15m", **more))
    assert result.first_throttle_s == pytest.approx(22_600 / 48, abs=1)
    assert per_second(result, "w", "succeeded", slice(9, 15)) == pytest.approx(12, abs=0.1)


@pytest.mark.parametrize("level", BOTH)
def test_who_does_not_touch_the_index_is_not_throttled_by_it(level: str) -> None:
    beside = write("beside", rate=20, touches=[])
    result = sim.run(made(level, [EXISTS], write(), beside))
    assert result.traffic["beside"].throttled.sum() == 0
    assert result.traffic["w"].throttled.sum() > 0


@pytest.mark.parametrize("level", BOTH)
def test_table_and_index_may_both_refuse_one_write(level: str) -> None:
    # From rest, at 200 a second: the table gives 100 and the index 50. Each looks at every attempt, so that both refuse some (F-CW-4),
    # and what passes is the smaller.
    table = {"pk": "USER#{user}", "mode": "provisioned", "read_capacity": 1, "write_capacity": 100, "burst_at_start": 0}
    small = EXISTS | {"write_capacity": 50, "burst_at_start": 0}
    result = sim.run(made(level, [small], write(rate=200), table=table))
    assert per_second(result, "w", "succeeded", slice(1, 10)) == pytest.approx(50, rel=0.03)
    # A table of twice the index's rate fills up with what the index refuses: it does not run dry.
    assert set(throttles(result)) == {("index/exists", "IndexWriteProvisionedThroughputExceeded")}
    equal = EXISTS | {"write_capacity": 100, "burst_at_start": 0}
    result = sim.run(made(level, [equal], write(rate=200), table=table))
    assert per_second(result, "w", "succeeded", slice(1, 10)) == pytest.approx(100, rel=0.03)
    # Two buckets of one rate lose and gain their tokens together, so that both refuse each attempt; counts per tick name one of them.
    events = sum(throttles(result).values()) / result.throttled
    assert events == pytest.approx(2.0 if level == "request" else 1.0, rel=0.03)


# A hot place in an index.


def by_status(level: str, *, seed: int = 0, partitions: int | None = None, **gsi: Any) -> dict[str, Any]:
    index = {"name": "by_status", "pk": "STATUS#{status}"} | gsi
    if partitions is not None:
        index["partitions"] = partitions
    return index


ON_DEMAND = {"pk": "USER#{user}", "mode": "on-demand", "warm_write": 8000}


def status_run(level: str, index: dict[str, Any], duration: str = "5m", **more: Any) -> Result:
    fields = {"shard": {"kind": "uniform", "count": 10}}
    return sim.run(made(level, [index], write(rate=3000), duration=duration, table=ON_DEMAND, fields=fields, **more))


@pytest.mark.parametrize("level", BOTH)
def test_a_hot_status_stops_those_writes_that_go_there(level: str) -> None:
    # Of 2,700 active writes a second 1,000 pass; the 300 inactive ones lie in another partition of the index and all pass.
    result = status_run(level, by_status(level), duration="3m")
    assert per_second(result, "w", "succeeded", slice(1, 3)) == pytest.approx(1300, rel=0.01)
    assert set(throttles(result)) == {("index/by_status", "IndexWriteKeyRangeThroughputExceeded")}


@pytest.mark.parametrize("level", BOTH)
def test_two_statuses_in_one_partition_share_its_ceiling(level: str) -> None:
    result = status_run(level, by_status(level, partitions=1), duration="3m")
    assert per_second(result, "w", "succeeded", slice(1, 3)) == pytest.approx(1000, rel=0.01)


def test_an_index_without_a_sort_key_is_never_relieved() -> None:
    result = status_run("flow", by_status("flow"), duration="1h")
    assert per_second(result, "w", "succeeded", slice(55, 60)) == pytest.approx(1300, rel=0.01)
    assert not result.resources["index/by_status"].splits
    assert any("STATUS#active" in sentence and "by_status" in sentence for sentence in result.explanation)


def test_an_evenly_used_sort_key_lets_splits_relieve_it() -> None:
    result = status_run("flow", by_status("flow", sk="{user}"), duration="1h")
    assert result.resources["index/by_status"].splits
    assert per_second(result, "w", "succeeded", slice(55, 60)) == pytest.approx(3000, rel=0.005)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("level", BOTH)
def test_a_sharded_index_throttles_as_its_shards_are_placed(level: str, seed: int) -> None:
    """Ten shards of each status in four partitions: what lies above a ceiling is refused, which the positions say."""
    index = by_status(level, pk="STATUS#{status}#SHARD#{shard}")
    scenario = made(
        level,
        [index],
        write(rate=3000),
        duration="3m",
        table=ON_DEMAND,
        fields={"shard": {"kind": "uniform", "count": 10}},
        seed=seed,
    )
    result = sim.run(scenario)
    ceiling = CEILING_PER_S[Dimension.WRITE]
    load = [0.0] * 4
    for status, weight in STATUS["weights"].items():  # type: ignore[attr-defined]
        for shard in range(10):
            key = f"STATUS#{status}#SHARD#{shard}"
            position = next(k.position for k in result.recorder.keys.values() if k.key == key)
            load[position * 4 >> 64] += 3000 * weight / 10
    refused = sum(max(0.0, units - ceiling) for units in load) / 3000
    assert 0 <= refused <= 0.25
    assert result.throttled_fraction == pytest.approx(refused, abs=0.01)


def test_a_sharded_index_is_relieved_by_splits() -> None:
    index = by_status("flow", pk="STATUS#{status}#SHARD#{shard}")
    result = status_run("flow", index, duration="1h")
    record = result.traffic["w"]
    assert record.throttled[50:].sum() / record.attempts[50:].sum() < 0.01


# What each change costs (F-GSI-3).


@pytest.mark.parametrize("level", BOTH)
@pytest.mark.parametrize(
    ("gsi", "touches", "units"),
    [
        ({}, {"G": "put"}, 1),
        ({}, {"G": "attribute-changed"}, 1),
        ({}, {"G": "removed"}, 1),
        ({}, {"G": "untouched"}, 0),
        ({}, [], 0),
        ({}, {"G": "key-changed"}, 2),
        ({"projection": "KEYS_ONLY", "projected_bytes": 1025}, {"G": "put"}, 2),
        ({"present": 0.1}, {"G": "put"}, 0.1),
        ({"present": 0.1, "projection": "INCLUDE", "projected_bytes": 3000}, {"G": "key-changed"}, 0.6),
    ],
)
def test_every_kind_of_change_costs_what_it_should(level: str, gsi: dict[str, Any], touches: Any, units: float) -> None:
    index = {"name": "G", "pk": "G#{other}", "read_capacity": 1000, "write_capacity": 1000} | gsi
    result = sim.run(made(level, [index], write(operation="UpdateItem", touches=touches, arrivals="even")))
    found = result.to_dict()
    per_write = found["traffic"]["w"]["units_per_request"].get("index/G", {"write": 0.0})["write"]
    assert per_write == pytest.approx(units)
    # A tenth of 36,000 items is a binomial count: within 4 standard deviations.
    slack = 4 * (36_000 * 0.09) ** 0.5 * 6 if gsi.get("present") else 0
    assert found["consumed"]["index/G"]["write_units"] == pytest.approx(36_000 * units, abs=slack)
    assert found["consumed"]["table"]["write_units"] == 36_000


@pytest.mark.parametrize("level", BOTH)
def test_a_status_change_writes_where_it_was_and_where_it_is(level: str) -> None:
    """600 changes a second from pending to done: 600 entries are deleted in one partition and 600 put in the other."""
    fields = {"state": {"kind": "choice", "weights": {"pending": 1, "done": 1, "failed": 1}}}
    change = write(
        operation="UpdateItem",
        rate=600,
        where={"state": "done"},
        was={"state": "pending"},
        touches={"by_state": "key-changed"},
    )
    index = {"name": "by_state", "pk": "{state}", "sk": "{user}", "partitions": 64}
    result = sim.run(made(level, [index], change, table=ON_DEMAND, fields=fields, duration="1m"))
    lane = result.resources["index/by_state"].lanes[Dimension.WRITE]
    by_partition = lane.consumed_by_partition.of(64).sum(axis=1)
    taken = sorted(by_partition[by_partition > 0] / 60)
    assert taken == pytest.approx([600, 600], rel=0.03)
    assert lane.consumed_units.sum() == pytest.approx(2 * result.table.lanes[Dimension.WRITE].consumed_units.sum())


def test_a_failed_condition_writes_no_entry() -> None:
    index = {"name": "G", "pk": "G#{other}", "read_capacity": 1000, "write_capacity": 1000}
    result = sim.run(made("flow", [index], write(condition_fails=0.25)))
    units = result.to_dict()["consumed"]
    assert units["index/G"]["write_units"] == pytest.approx(0.75 * units["table"]["write_units"], rel=0.02)


@pytest.mark.parametrize("level", BOTH)
def test_reading_an_index_costs_its_entries_and_leaves_the_table_alone(level: str) -> None:
    # Eight entries of 2,000 B: 16,000 B are 4 read units, halved, as no index reads strongly (F-UNIT-21).
    index = {
        "name": "G",
        "pk": "G#{other}",
        "projection": "INCLUDE",
        "projected_bytes": 2000,
        "read_capacity": 50,
        "write_capacity": 50,
    }
    read = {
        "name": "r",
        "operation": "Query",
        "index": "G",
        "items": 8,
        "item_bytes": 9000,
        "rate": 30,
        "arrivals": "even",
    }
    result = sim.run(made(level, [index | {"burst_at_start": 0}], read, write(rate=1)))
    assert result.facts["r"].units_per_request["index/G"][Dimension.READ] == 2.0
    assert set(throttles(result)) == {("index/G", "IndexReadProvisionedThroughputExceeded")}
    assert per_second(result, "r", "succeeded", slice(1, 10)) == pytest.approx(25, rel=0.02)
    assert result.to_dict()["consumed"]["table"]["read_units"] == 0


# Keys that hang together.


@pytest.mark.parametrize("level", BOTH)
def test_a_tenant_that_is_hot_in_table_and_index_is_stopped_in_both_at_once(level: str) -> None:
    """Table and index share the tenant: its writes alone meet both hot partitions, and the others neither."""
    fields = {"tenant": {"kind": "choice", "weights": {"big": 3, **{f"t{k}": 0.05 for k in range(40)}}}}
    table = {"pk": "TENANT#{tenant}", "sk": "{user}", "mode": "on-demand", "warm_write": 64_000}
    index = {"name": "G", "pk": "T#{tenant}", "warm_write": 64_000}
    result = sim.run(
        made(
            level, [index], write(rate=5000), table=table, fields=fields, duration="2m", account={"table_write": 64_000}
        )
    )
    # 3,000 of 5,000 are the tenant's: 1,000 pass. The other forty have 50 a second each and all pass, bar those beside the tenant.
    assert per_second(result, "w", "succeeded", slice(1, 2)) == pytest.approx(3000, rel=0.06)
    # Where other tenants lie beside it, that partition has less left for it: the other one, seeing less, refuses nothing.
    both = {"TableWriteKeyRangeThroughputExceeded", "IndexWriteKeyRangeThroughputExceeded"}
    assert {reason for _, reason in throttles(result)} <= both


@pytest.mark.parametrize("level", BOTH)
def test_what_an_index_refuses_comes_back_to_the_same_place(level: str) -> None:
    """With retries the inactive writes still all pass, and no more than 1,000 active ones."""
    index = by_status(level)
    retried = write(rate=1500, client={"retry": "legacy"})
    result = sim.run(made(level, [index], retried, table=ON_DEMAND, duration="2m"))
    assert per_second(result, "w", "succeeded", slice(1, 2)) == pytest.approx(1150, rel=0.01)


def test_both_levels_retry_alike_at_an_index() -> None:
    found = [
        sim.run(
            made(level, [by_status(level)], write(rate=1300, client={"retry": retry}), table=ON_DEMAND, duration="2m")
        )
        for level in BOTH
        for retry in ("legacy", "standard")
    ]
    for flow, request in zip(found[:2], found[2:], strict=True):
        assert flow.attempts == pytest.approx(request.attempts, rel=0.03)
        assert flow.succeeded == pytest.approx(request.succeeded, rel=0.01)


# The levels agree, over random tables with indexes.


@st.composite
def indexed(draw: st.DrawFn) -> dict[str, Any]:
    """A table and indexes of small capacity under writes of one cost each, without retries."""
    rate = draw(st.sampled_from([20, 60, 150]))
    capacity = st.sampled_from([10, 30, 50, 100, 200])
    gsi = []
    for k in range(draw(st.integers(1, 2))):
        pk = draw(st.sampled_from(["G#{other}", "S#{status}", "S#{status}#{other}", "U#{user}", "ONE"]))
        index = {"name": f"G{k}", "pk": pk, "read_capacity": 1, "write_capacity": draw(capacity)}
        index["burst_at_start"] = draw(st.sampled_from([0, 0.1]))
        index["present"] = draw(st.sampled_from([1, 1, 0.5]))
        index["partitions"] = draw(st.integers(1, 4))
        gsi.append(index)
    return {
        "format": 1,
        "duration": "2m",
        "seed": draw(st.integers(0, 1000)),
        "fields": {"user": {"kind": "zipf", "count": 1000, "exponent": 1.2}, "other": USER, "status": STATUS},
        "table": {
            "pk": draw(st.sampled_from(["U#{user}", "S#{status}", "O#{other}"])),
            "mode": "provisioned",
            "read_capacity": 1,
            "write_capacity": draw(capacity),
            "burst_at_start": draw(st.sampled_from([0, 0.1])),
            "partitions": draw(st.integers(1, 4)),
            "gsi": gsi,
        },
        "admission": draw(st.sampled_from(["instant", "static"])),
        "traffic": [
            write(rate=rate),
            write("x", rate=rate / 2, touches=[], operation="DeleteItem"),
        ],
    }


@given(indexed())
def test_the_levels_agree(document: dict[str, Any]) -> None:
    flow, request = (sim.run(sim.from_dict(document | {"level": level})) for level in BOTH)
    assert flow.throttled_fraction == pytest.approx(request.throttled_fraction, abs=0.02)
    for name in flow.resources:
        one, other = (r.resources[name].lanes[Dimension.WRITE] for r in (flow, request))
        assert one.offered_units.sum() == pytest.approx(other.offered_units.sum(), abs=1e-3)
        # Whole tokens: an attempt that finds less than one waits for the rest of it.
        assert one.consumed_units.sum() == pytest.approx(other.consumed_units.sum(), rel=0.02, abs=60)


@given(indexed(), st.sampled_from(["none", "legacy"]))
def test_the_height_of_a_stretch_changes_no_byte(document: dict[str, Any], retry: str) -> None:
    document["traffic"][0]["client"] = {"retry": retry}
    scenario = sim.from_dict(document)
    assert len({sim.run(scenario, stretch_ticks=height).to_json() for height in (7, 64, 256)}) == 1


def test_a_pattern_of_many_entries_that_has_not_come_yet_disturbs_nobody() -> None:
    gsi = [{"name": f"G{k}", "pk": "G#{user}", "read_capacity": 100, "write_capacity": 100} for k in range(2)]
    table = {"pk": "USER#{user}", "mode": "provisioned", "read_capacity": 100, "write_capacity": 100}
    one = write(touches=["G0"], rate=5)
    two = {"name": "after", "operation": "PutItem", "item_bytes": 800, "follows": {"traffic": "w", "per": 1}}
    other = write("plain", touches=["G0"], rate=5)
    result = sim.run(made("request", gsi, one, other, two, table=table, duration="1m"))
    consumed = result.to_dict()["consumed"]
    assert consumed["index/G1"]["write_units"] == result.to_dict()["traffic"]["after"]["succeeded"]
