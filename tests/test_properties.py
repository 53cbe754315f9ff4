"""Random scenarios with all checkers on, and relations between runs that must hold."""

from __future__ import annotations

import copy
import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st
from reference.small import pattern, provisioned, scenario
from strategies import Document, scenario_documents, scenarios

from sim.levels.demand import demand_of
from sim.limits import BURST_WINDOW_S
from sim.names import TABLE, AdmissionPolicy, Dimension, Mode, index_resource
from sim.partitions.admission import CEILING_PER_S
from sim.partitions.bucket import GRAIN
from sim.results.recorder import ResourceRecord
from sim.results.result import Result
from sim.run import run
from sim.scenario import Gsi, Scenario, Table, dump, from_dict

NEAR = 1e-6  # the JSON carries six digits


def check_books(result: Result) -> None:
    """Offered = succeeded + failed, in whole and by pattern; every failure has an error; every throttle event a reason."""
    walking = {t.name for t in result.scenario.traffic if demand_of(result.scenario, t).walking is not None}
    for name, record in result.traffic.items():
        for column in ("offered", "succeeded", "attempts", "throttled", "throttle_events"):
            assert (getattr(record, column) >= -NEAR).all(), (name, column)
        failed = float(record.offered.sum() - record.succeeded.sum())
        assert (record.throttled <= record.attempts + NEAR).all()
        if name in walking:  # further pages, and walks that are under way at the end
            assert sum(record.failures.values()) <= failed + 1e-3 + NEAR * failed
            assert record.attempts.sum() >= record.offered.sum() * (1 - NEAR)
        else:
            assert sum(record.failures.values()) == pytest.approx(failed, abs=1e-3, rel=NEAR)
            np.testing.assert_allclose(
                record.attempts, record.came, atol=1e-3
            )  # no retries; what a cache answers is no attempt
        assert record.unprocessed >= -1e-3
    # What DAX asks in the background after transactions is no pattern of the result, and yet throttled.
    events = sum(float(record.throttle_events.sum()) for record in result.recorder.traffic.values())
    assert sum(throttle.count for throttle in result.throttles) == pytest.approx(events, abs=1e-3, rel=NEAR)
    lanes = [lane for record in result.resources.values() for lane in record.lanes.values()]
    by_lane = sum(float(lane.throttle_events.sum()) for lane in lanes)
    assert by_lane == pytest.approx(events, abs=1e-3, rel=NEAR)
    assert (result.first_throttle_s is None) == (not result.throttles)


def check_capacity(result: Result) -> None:
    """No bucket gives more than it started with and was brought."""
    for name, record in result.resources.items():
        own = next((gsi for gsi in result.scenario.table.gsi if index_resource(gsi.name) == name), None)
        check_capacity_of(result, record, result.scenario.table if own is None else own)


def check_capacity_of(result: Result, record: ResourceRecord, own: Table | Gsi) -> None:
    made = result.scenario
    mode = made.table.mode
    ends_s = result.grid.ticks * result.grid.tick_s
    slack = result.grid.ticks * GRAIN + NEAR
    for dimension, lane in record.lanes.items():
        assert (lane.consumed_units <= lane.offered_units + NEAR).all()
        if made.calibration.bucket_debt:
            continue
        backlog = 0.0
        if isinstance(own, Gsi) and dimension is Dimension.WRITE:
            backlog = made.calibration.gsi_backlog_units
        factor = made.calibration.eventual_read_ceiling_factor if dimension is Dimension.READ else 1.0
        ceiling = CEILING_PER_S[dimension]
        consumed = lane.consumed_by_partition.of(len(record.partitions)).sum(axis=1)
        for life, units in zip(record.partitions, consumed, strict=True):
            lived_s = min(ends_s, life.retired_s if life.retired_s is not None else ends_s) - life.born_s
            # An event within a tick takes effect at its end.
            assert units <= factor * (ceiling * (lived_s + 2 * result.grid.tick_s) + ceiling) + backlog + slack, life
        if mode is Mode.PROVISIONED and made.admission is not AdmissionPolicy.ADAPTIVE_2017:
            rate = own.read_capacity if dimension is Dimension.READ else own.write_capacity
            assert rate is not None
            start = max(rate, own.burst_at_start * BURST_WINDOW_S * rate)
            parts = 1 if made.admission is AdmissionPolicy.INSTANT else record.initial_partitions
            assert lane.consumed_units.sum() <= start + rate * ends_s + backlog * parts + slack
        maximum = own.max_read if dimension is Dimension.READ else own.max_write
        if mode is Mode.ON_DEMAND and maximum is not None:
            burst = maximum * made.calibration.max_throughput_burst_s
            assert lane.consumed_units.sum() <= maximum * ends_s + burst + backlog + slack


def check_partitions(result: Result) -> None:
    """Partitions tile at the end, splits account for them, and their sums are the table's or the index's."""
    for record in result.resources.values():
        check_partitions_of(result, record)


def check_partitions_of(result: Result, record: ResourceRecord) -> None:
    serving = sorted((p for p in record.partitions if p.retired_s is None), key=lambda p: p.low)
    assert serving[0].low == (0, 0)
    assert serving[-1].high == (2**64, 0)
    assert all(a.high == b.low for a, b in itertools.pairwise(serving))
    assert len(serving) == record.initial_partitions + len(record.splits) == record.partition_counts[-1][1]
    for lane in record.lanes.values():
        by_partition = lane.consumed_by_partition.of(len(record.partitions)).sum(axis=0)
        np.testing.assert_allclose(by_partition, result.per_period(lane.consumed_units), atol=1e-3, rtol=NEAR)
        throttled = lane.throttled_by_partition.of(len(record.partitions)).sum(axis=0)
        np.testing.assert_allclose(throttled, result.per_period(lane.throttle_events), atol=1e-3, rtol=NEAR)
        assert sum(series.sum() for series in lane.by_limit.values()) == pytest.approx(throttled.sum(), abs=1e-3)


def numbers(node: Any) -> list[float]:
    if isinstance(node, dict):
        return [x for value in node.values() for x in numbers(value)]
    if isinstance(node, list):
        return [x for value in node for x in numbers(value)]
    return [node] if isinstance(node, int | float) else []


def check_json(result: Result) -> None:
    """Finite and valid; totals are the sums of the series."""
    found = json.loads(result.to_json())
    assert all(math.isfinite(x) for x in numbers(found))
    requests = found["requests"]
    assert requests["offered"] == pytest.approx(
        requests["succeeded"] + requests["failed"] + requests["in_flight"], abs=1e-4
    )
    slack = 1e-6 * len(found["series"]["t_s"]) * (len(found["traffic"]) + 1)
    for column, total in (("offered", requests["offered"]), ("throttled", found["attempts"]["throttled"])):
        assert sum(sum(rows[column]) for rows in found["series"]["traffic"].values()) == pytest.approx(total, abs=slack)
    for dimension in ("read", "write"):
        series = found["series"][TABLE][f"consumed_{dimension}_units"]
        assert sum(series) == pytest.approx(found["consumed"][TABLE][f"{dimension}_units"], abs=slack)
    assert 0 <= found["throttled_fraction"] <= 1
    assert 0 <= found["failed_fraction"] <= 1
    assert found["partitions"][TABLE]["hottest_share"] <= 1 + NEAR
    behind = found["dax"]["background_throttle_events"] if found["dax"] else 0.0
    assert sum(t["count"] for t in found["throttles"]) == pytest.approx(
        sum(t["throttle_events"] for t in found["traffic"].values()) + behind, abs=1e-3
    )
    if found["dax"]:
        cache = found["dax"]
        assert cache["item_hits"] <= cache["item_reads"] + NEAR
        assert cache["query_hits"] <= cache["query_reads"] + NEAR
        assert cache["stale_hits"] <= cache["item_hits"] + cache["query_hits"] + slack
        assert cache["passed_through"] + cache["refused"] <= cache["requests"] + slack
    assert all(isinstance(sentence, str) and sentence for sentence in found["explanation"])


def check_alarms(result: Result) -> None:
    """One report for each alarm; its changes are changes, in order, at ends of UTC minutes within the run."""
    assert len(result.alarms) == len(result.scenario.alarm)
    for report in result.alarms:
        times = [at_s for at_s, _ in report.state_changes]
        states = ["INSUFFICIENT_DATA", *(state for _, state in report.state_changes)]
        assert times == sorted(set(times))
        assert all(0 < at_s <= result.grid.duration_s + NEAR for at_s in times)
        assert all((at_s + result.grid.minute_offset_s) % 60 == 0 for at_s in times)
        assert all(before != after for before, after in itertools.pairwise(states))
        assert sum(end - begin for begin, end in report.in_alarm_s) <= result.grid.duration_s


@given(scenarios())
def test_every_run_keeps_its_books(made: Scenario) -> None:
    note(f"seed {made.seed}\n{dump(made)}")
    result = run(made)
    check_books(result)
    check_capacity(result)
    check_partitions(result)
    check_json(result)
    check_alarms(result)


def figures(result: Result, periods: int) -> dict[str, list[list[float]]]:
    rows = {
        name: [getattr(record, column)[:periods].tolist() for column in ("offered", "succeeded", "throttle_events")]
        for name, record in result.traffic.items()
    }
    return rows | {
        f"{name}/{d}": [result.per_period(lane.consumed_units)[:periods].tolist()]
        for name, record in result.resources.items()
        for d, lane in record.lanes.items()
    }


def open_ended(document: Document) -> Document:
    """Without what hangs on the length of the run: rates laid over half of it, and places of time on the sort scale."""
    document = copy.deepcopy(document)
    for traffic in document["traffic"]:
        if isinstance(traffic.get("rate"), dict | list):
            traffic["rate"] = 700
    document["fields"]["day"] = {"kind": "choice", "weights": {"mon": 1, "tue": 2}}
    return document


@given(scenario_documents())
def test_a_short_run_is_a_prefix_of_a_long_one(document: Document) -> None:
    short = open_ended(document) | {"duration": min(180, document["duration"])}
    long = short | {"duration": short["duration"] + 130}
    first = run(from_dict(short))
    periods = int(first.grid.duration_s / first.grid.period_s)
    assume(periods)
    assert figures(run(from_dict(long)), periods) == figures(first, periods)


@given(scenario_documents(), st.integers(0, 3))
def test_a_pattern_of_rate_0_changes_nothing(document: Document, place: int) -> None:
    document["duration"] = min(180, document["duration"])
    idle = {"name": "idle", "operation": "PutItem", "rate": 0, "pk": "IDLE"}
    traffic = document["traffic"]
    beside = document | {"traffic": [*traffic[:place], idle, *traffic[place:]]}
    alone, both = run(from_dict(document)), run(from_dict(beside))
    found = figures(both, alone.grid.periods)
    del found["idle"]
    assert found == figures(alone, alone.grid.periods)


@given(
    st.sampled_from([20, 90, 400, 2500]),
    st.sampled_from([1, 50, 80, 400]),
    st.sampled_from([1.25, 2, 10]),
    st.sampled_from(["instant", "static"]),
    st.integers(1, 6),
    st.integers(0, 99),
)
def test_more_capacity_throttles_no_more_of_equal_costs(
    rate: float, write: float, factor: float, admission: str, partitions: int, seed: int
) -> None:
    def throttled(capacity: float) -> float:
        made = scenario(
            pattern(rate=rate),
            pattern(name="more", rate=rate / 2, pk="B"),
            table=provisioned(write=capacity, burst_at_start=0.1) | {"partitions": partitions},
            admission=admission,
            duration=240,
            seed=seed,
        )
        return run(made).throttled

    # Partial attempts of a fluid may differ in the last grains.
    assert throttled(write * factor) <= throttled(write) + 1e-3


@given(st.integers(0, 2**63 - 1), st.sampled_from(["even", "poisson"]))
def test_a_renamed_pattern_asks_for_as_much(seed: int, arrivals: str) -> None:
    """Its draws may be others: even counts are the same, Poisson counts within 5 standard deviations of the difference."""
    first, second = (
        run(scenario(pattern(name=name, rate=50, arrivals=arrivals), seed=seed, duration=120)).offered
        for name in ("a", "b")
    )
    assert first == pytest.approx(second, abs=0 if arrivals == "even" else 5 * math.sqrt(2 * 6000))
