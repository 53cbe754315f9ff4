"""UpdateTable in the middle of a run: durations, what limits meanwhile, quotas, and what each change leaves behind."""

from __future__ import annotations

from typing import Any

import pytest
from reference.small import pattern, provisioned, scenario

from sim.calibration import calibrate
from sim.control.quotas import DecreaseBudget, SwitchQuota
from sim.control.splitting import lay_out
from sim.errors import ScenarioError
from sim.keyspace.position import equal_ranges
from sim.names import AdmissionPolicy, Dimension, Mode, SplitReason
from sim.partitions.admission import Capacity
from sim.partitions.map import PartitionMap
from sim.partitions.resource import Resource
from sim.results.recorder import EventRow
from sim.results.result import Result
from sim.run import run

WRITE, READ = Dimension.WRITE, Dimension.READ
MANY = {"user": {"kind": "uniform", "count": 10**12}}
LEVELS = ("flow", "request")


def updated(
    *events: dict[str, Any], rate: Any = 10, table: dict[str, Any] | None = None, minutes: float = 20, **keys: Any
) -> Result:
    """Even writes to many keys of a provisioned table, and some events."""
    return run(
        scenario(
            pattern(rate=rate, arrivals="even"),
            table=provisioned() if table is None else table,
            fields=MANY,
            duration=minutes * 60,
            event=list(events),
            **keys,
        )
    )


def capacity(result: Result, dimension: Dimension = WRITE) -> list[tuple[float, float]]:
    return result.table.lanes[dimension].capacity


def rows(result: Result) -> list[tuple[float, str, float | None, str | None]]:
    return [(e.at_s, e.outcome, e.done_s, e.error) for e in result.recorder.events]


def consumed_per_s(result: Result, begin_s: int, end_s: int, dimension: Dimension = WRITE) -> float:
    return float(result.table.lanes[dimension].consumed_units[begin_s:end_s].mean())


def table_of(partitions: int) -> Resource:
    return Resource(
        name="table",
        mode=Mode.PROVISIONED,
        policy=AdmissionPolicy.INSTANT,
        capacity={d: Capacity(provisioned=100.0) for d in Dimension},
        calibration=calibrate(),
        partitions=PartitionMap.equal(partitions),
        pinned=False,
        warm_per_s=dict.fromkeys(Dimension, 100.0),
    )


# Capacity: how long it takes, and what limits meanwhile.


@pytest.mark.parametrize("level", LEVELS)
def test_the_old_capacity_limits_until_the_update_is_done(level: str) -> None:
    table = provisioned(write=100, burst_at_start=0)
    result = updated({"at": 60, "write_capacity": 200}, rate=300, table=table, minutes=3, level=level)
    assert capacity(result) == [(0.0, 100), (90.0, 200)]
    assert rows(result) == [(60.0, "done", 90.0, None)]
    assert consumed_per_s(result, 10, 90) == pytest.approx(100, rel=0.01)
    assert consumed_per_s(result, 91, 180) == pytest.approx(200, rel=0.01)
    told = result.to_dict()["events"]
    assert told == [
        {
            "at_s": 60,
            "resource": "table",
            "action": "update-table",
            "detail": "write capacity from 100 to 200 units/s",
            "outcome": "done",
            "done_s": 90,
            "error": None,
        }
    ]


@pytest.mark.parametrize(("wanted", "seconds"), [(1000, 30), (1001, 300)])
def test_more_than_the_partitions_carry_takes_minutes(wanted: float, seconds: float) -> None:
    # One partition carries R/3000 + W/1000 = 1: with one read unit a little less than 1,000.
    table = provisioned(read=1, write=500)
    result = updated({"at": 60, "write_capacity": wanted - 1}, table=table)
    assert capacity(result)[-1] == (60 + seconds, wanted - 1)
    assert result.table.partition_counts[-1][1] == (1 if seconds == 30 else 2)


def test_too_few_partitions_are_doubled() -> None:
    # 4 equal ranges and 4,500 write units: 5 are needed, so all four are halved.
    table = provisioned(read=1, write=4000)
    table["partitions"] = 4
    result = updated({"at": 0, "write_capacity": 4500}, table=table)
    assert result.table.partition_counts == [(0.0, 4), (300.0, 8)]
    assert {split.reason for split in result.table.splits} == {SplitReason.THROUGHPUT}
    shares = {round((p.high.hash - p.low.hash) / 2**64, 6) for p in result.table.partitions if p.retired_s is None}
    assert shares == {1 / 8}


@pytest.mark.parametrize(
    ("have", "need", "become"), [(1, 4, 4), (3, 3, 3), (3, 4, 6), (7, 7, 7), (5, 6, 10), (4, 40, 64)]
)
def test_a_layout_halves_what_is_too_wide(have: int, need: int, become: int) -> None:
    made = run(scenario(pattern(), table=provisioned(partitions=have), duration=60))
    resource = table_of(have)
    lay_out(resource, made.recorder, need, 0.0, 30.0)
    resource.partitions.assert_tiles()
    assert len(resource.partitions) == become
    widest = max(r.high.hash - r.low.hash for r in map(resource.partitions.range_of, resource.partitions.serving))
    assert widest <= max(r.high.hash - r.low.hash for r in equal_ranges(need)) + 1


def test_a_raise_brings_no_tokens_and_a_cut_clips_them() -> None:
    # 30,000 units of credit become 3,000 at 10 units: 10/s of 110 saved, so they last 30 s at 110/s.
    table = provisioned(write=100)
    result = updated({"at": 0, "write_capacity": 10}, rate=[["0s", 10], ["60s", 110]], table=table, minutes=4)
    assert result.first_throttle_s == pytest.approx(60 + 3000 / 100, abs=1)
    # 100 units and no credit; 1,000 from 90 s on: no credit comes with them, what is left each second is saved.
    raised = updated(
        {"at": 60, "write_capacity": 900},
        rate=[["0s", 200], ["2m", 1000]],
        minutes=6,
        table=provisioned(write=100, burst_at_start=0),
    )
    saved = 30 * (900 - 200)
    assert raised.table.lanes[WRITE].throttle_events[90:120].sum() == 0
    later = raised.table.lanes[WRITE].throttle_events[120:]
    assert later.nonzero()[0][0] == pytest.approx(saved / 100, abs=2)


def test_a_second_update_meanwhile_is_refused() -> None:
    result = updated(
        {"at": 60, "write_capacity": 200}, {"at": 70, "read_capacity": 50}, {"at": 90, "read_capacity": 60}
    )
    assert rows(result) == [
        (60.0, "done", 90.0, None),
        (70.0, "refused", None, "ResourceInUseException"),
        (90.0, "done", 120.0, None),
    ]
    assert capacity(result, READ) == [(0.0, 100), (120.0, 60)]


def test_events_of_one_moment_are_one_request() -> None:
    result = updated({"at": 60, "write_capacity": 200}, {"at": 60, "read_capacity": 50})
    assert rows(result) == [(60.0, "done", 90.0, None), (60.0, "done", 90.0, None)]
    # One of them over a quota: both are refused.
    over = updated({"at": 60, "write_capacity": 200}, {"at": 60, "read_capacity": 50_000})
    assert rows(over) == [(60.0, "refused", None, "LimitExceededException")] * 2
    assert capacity(over) == [(0.0, 100)]


def test_what_changes_nothing_is_refused() -> None:
    assert rows(updated({"at": 60, "write_capacity": 100})) == [(60.0, "refused", None, "ValidationException")]


def test_what_the_runs_end_leaves_under_way_is_pending() -> None:
    result = updated({"at": 599, "write_capacity": 200}, minutes=10)
    assert rows(result) == [(599.0, "pending", None, None)]
    assert capacity(result) == [(0.0, 100)]


# Quotas.


@pytest.mark.parametrize(
    ("account", "wanted", "error"),
    [
        ({}, 40_000, None),
        ({}, 40_001, "LimitExceededException"),
        ({"table_write": 50_000}, 40_001, None),
        ({"account_write": 30_000}, 30_001, "LimitExceededException"),
        ({"account_write": 30_000}, 30_000, None),
    ],
)
def test_quotas_of_table_and_account_are_checked_when_capacity_is_set(
    account: dict[str, float], wanted: float, error: str | None
) -> None:
    result = updated({"at": 60, "write_capacity": wanted}, account=account)
    (row,) = result.recorder.events
    assert row.error == error
    if error is not None:
        assert "quota" in row.detail
        assert ("account.table_write" in row.detail) == (account == {})


def decreases(times: list[float], **keys: Any) -> list[str]:
    events = [{"at": at_s, "write_capacity": 1000 - 10 * (k + 1)} for k, at_s in enumerate(times)]
    result = updated(*events, table=provisioned(write=1000), minutes=180, **keys)
    return [e.outcome for e in result.recorder.events]


def test_four_decreases_and_then_one_an_hour() -> None:
    assert decreases([60, 120, 180, 240, 300, 3600, 3700, 7200]) == [
        *["done"] * 4,
        "refused",
        "done",  # 1:00
        "refused",
        "done",  # 2:00
    ]


def test_the_budget_is_full_again_at_midnight_utc() -> None:
    # Second 0 is 23:00: four until midnight, and four at midnight.
    times = [60, 120, 180, 240, 300, 3600, 3660, 3720, 3780, 3840]
    assert decreases(times, start="2026-01-01T23:00:00Z") == [*["done"] * 4, "refused", *["done"] * 4, "refused"]


def test_a_day_allows_27_decreases() -> None:
    budget, made = DecreaseBudget(0.0), 0
    for now_s in range(0, 86_400, 60):
        while budget.left(now_s):
            budget.spend(now_s)
            made += 1
    assert made == 27
    assert budget.left(86_400) == 4


def test_increases_do_not_count() -> None:
    events = [{"at": 60 * k, "write_capacity": 100 + 10 * k} for k in range(1, 15)]
    assert {e.outcome for e in updated(*events).recorder.events} == {"done"}


def test_one_request_that_lowers_both_is_one_decrease() -> None:
    events = [{"at": 60 * k, "write_capacity": 100 - k, "read_capacity": 100 - k} for k in range(1, 6)]
    outcomes = [e.outcome for e in updated(*events).recorder.events]
    assert outcomes == ["done"] * 8 + ["refused"] * 2


def test_four_switches_to_on_demand_in_24_hours() -> None:
    events: list[dict[str, Any]] = []
    for k in range(5):
        events.append({"at": 1800 * k, "mode": "on-demand"})
        events.append({"at": 1800 * k + 900, "mode": "provisioned", "read_capacity": 100, "write_capacity": 100})
    result = updated(*events, minutes=150)
    refused = [e for e in result.recorder.events if e.outcome == "refused"]
    switched = [e for e in result.recorder.events if e.dimension is None]
    assert [e.outcome for e in switched][:9] == ["done"] * 8 + ["refused"]
    assert refused[0].at_s == 7200
    assert refused[0].error == "LimitExceededException"
    quota = SwitchQuota()
    for at_s in (0, 1800, 3600, 5400):
        quota.spend(at_s)
    assert [quota.left(at_s) for at_s in (5400, 86_399, 86_400, 88_200)] == [0, 0, 1, 2]


# Switching modes.


@pytest.mark.parametrize("level", LEVELS)
def test_the_provisioned_rate_limits_until_the_switch_is_done(level: str) -> None:
    table = provisioned(write=100, burst_at_start=0)
    result = updated({"at": 60, "mode": "on-demand"}, rate=3000, table=table, minutes=8, level=level)
    assert consumed_per_s(result, 10, 360) == pytest.approx(100, rel=0.01)
    # At least 4,000 / 12,000 from then on, on four partitions.
    assert consumed_per_s(result, 361, 480) == pytest.approx(3000, rel=0.001)
    assert result.last_throttle_s == pytest.approx(359, abs=1)
    assert result.table.partition_counts == [(0.0, 1), (360.0, 4)]
    assert result.table.modes == [(0.0, Mode.PROVISIONED), (360.0, Mode.ON_DEMAND)]
    assert capacity(result) == [(0.0, 100), (360.0, 4000)]
    assert {t.reason for t in result.throttles} == {"TableWriteProvisionedThroughputExceeded"}


@pytest.mark.parametrize(
    ("once", "now", "warm"),
    [
        ((24_000, 8000), (24_000, 8000), (24_000, 8000)),
        ((100, 100), (100, 100), (12_000, 4000)),
        (
            (10_000, 10_000),
            (10, 10),
            (12_000, 10_000),
        ),  # the guide's last example has 10,000 reads: the greater of both is taken
    ],
)
def test_a_switched_table_starts_with_the_most_that_was_ever_provisioned(
    once: tuple[float, float], now: tuple[float, float], warm: tuple[float, float]
) -> None:
    table = {"mode": "provisioned", "read_capacity": once[0], "write_capacity": once[1]}
    lowered = {"at": 0, "read_capacity": now[0], "write_capacity": now[1]}
    events = [*([lowered] if now != once else []), {"at": 60, "mode": "on-demand"}]
    result = updated(*events, table=table, minutes=10)
    lanes = result.table.lanes
    assert (lanes[READ].warm[-1][1], lanes[WRITE].warm[-1][1]) == warm
    assert capacity(result)[-1][1] >= warm[1]
    assert capacity(result, READ)[-1][1] >= warm[0]


@pytest.mark.parametrize("level", LEVELS)
def test_prewarming_by_provisioning_serves_40k_at_once_after_the_switch(level: str) -> None:
    # A pattern of the literature: created at 40,000 provisioned, switched, then hit with 39,000 writes/s.
    table = {"mode": "provisioned", "read_capacity": 1, "write_capacity": 12_000}
    result = updated(
        {"at": 0, "mode": "on-demand"}, rate=[["0s", 10], ["6m", 11_500]], table=table, minutes=7, level=level
    )
    assert result.throttled == 0


def test_what_was_switched_grows_like_an_on_demand_table() -> None:
    # 5,000/s of at first 4,000: after the switch at 5 min the peak is held from then on; 15 minutes later there is room for twice 4,000.
    result = updated(
        {"at": 0, "mode": "on-demand"},
        rate=5000,
        minutes=45,
        calibration={"base": "default", "heat_splits_in_flight": 0},
    )
    grown = [s for s in result.table.splits if s.decided_s > 300]
    assert grown
    assert grown[0].decided_s == pytest.approx(300 + 900, abs=61)
    assert result.table.lanes[WRITE].throttle_events[-60:].sum() == 0


@pytest.mark.parametrize("level", LEVELS)
def test_back_to_provisioned_the_rate_limits_and_the_partitions_stay(level: str) -> None:
    events = [{"at": 60, "mode": "provisioned", "read_capacity": 5, "write_capacity": 100}]
    result = updated(*events, rate=1000, table={"mode": "on-demand"}, minutes=10, level=level)
    assert result.first_throttle_s == pytest.approx(360, abs=1.2)  # no burst credit is there yet
    assert consumed_per_s(result, 370, 600) == pytest.approx(100, rel=0.01)
    assert result.table.partition_counts == [(0.0, 4)]
    assert {t.reason for t in result.throttles} == {"TableWriteProvisionedThroughputExceeded"}


@pytest.mark.parametrize("level", LEVELS)
def test_the_error_that_a_caller_sees_follows_the_mode(level: str) -> None:
    events = [{"at": 60, "mode": "on-demand"}]
    result = updated(*events, rate=5000, table=provisioned(write=100, burst_at_start=0), minutes=8, level=level)
    assert {str(error) for error in result.failures} == {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
    }


def test_retries_on_their_way_follow_a_switch_at_both_levels() -> None:
    """Waiting attempts meet the new gates: two buckets of the table (quota, maximum) where there was one."""
    throttled = {}
    for level in LEVELS:
        result = run(
            scenario(
                pattern(rate=400, client={"retry": "legacy"}),
                table=provisioned(write=100, burst_at_start=0),
                fields=MANY,
                duration=900,
                level=level,
                event=[{"at": 60, "mode": "on-demand", "max_write": 300}],
            )
        )
        assert result.offered == pytest.approx(result.succeeded + result.failed + result.in_flight)
        assert consumed_per_s(result, 450, 900) == pytest.approx(300, rel=0.02)
        assert {t.reason for t in result.throttles} == {
            "TableWriteProvisionedThroughputExceeded",
            "TableWriteMaxOnDemandThroughputExceeded",
        }
        throttled[level] = result.throttled
    assert throttled["flow"] == pytest.approx(throttled["request"], rel=0.05)


# Maximum and warm throughput.


@pytest.mark.parametrize("level", LEVELS)
def test_an_on_demand_maximum_may_come_and_change(level: str) -> None:
    events = [{"at": 60, "max_write": 500}, {"at": 300, "max_write": 800}]
    result = updated(*events, rate=1000, table={"mode": "on-demand"}, minutes=10, level=level)
    assert consumed_per_s(result, 0, 90) == pytest.approx(1000)
    assert consumed_per_s(result, 100, 330) == pytest.approx(500, rel=0.01)
    assert consumed_per_s(result, 340, 600) == pytest.approx(800, rel=0.01)
    assert {t.reason for t in result.throttles} == {"TableWriteMaxOnDemandThroughputExceeded"}


@pytest.mark.parametrize("level", LEVELS)
def test_pre_warming_takes_its_time_and_then_serves_at_once(level: str) -> None:
    event = {"at": 60, "warm_write": 9000}
    rate = [["0s", 10], ["9m", 8000], ["9m30s", 10], ["12m", 8000], ["12m30s", 10]]
    result = updated(event, rate=rate, table={"mode": "on-demand"}, minutes=13, level=level)
    # At 9 min it is under way: 4,000 of 8,000. From 11 min on 16 partitions serve.
    assert consumed_per_s(result, 541, 570) == pytest.approx(4000, rel=0.02)
    assert consumed_per_s(result, 720, 750) == pytest.approx(8000)
    assert rows(result) == [(60.0, "done", 660.0, None)]
    assert result.table.lanes[WRITE].warm == [(0.0, 4000), (660.0, 9000)]
    assert result.table.partition_counts == [(0.0, 4), (660.0, 16)]


def test_pre_warming_keeps_no_other_change_waiting() -> None:
    result = updated({"at": 0, "warm_write": 5000}, {"at": 60, "write_capacity": 50}, {"at": 120, "warm_read": 9000})
    assert rows(result) == [
        (0.0, "done", 600.0, None),
        (60.0, "done", 90.0, None),
        (120.0, "refused", None, "ResourceInUseException"),
    ]


def test_warm_throughput_is_never_lowered() -> None:
    result = updated({"at": 0, "warm_write": 3999}, table={"mode": "on-demand"})
    (row,) = result.recorder.events
    assert (row.outcome, row.error) == ("refused", "ValidationException")
    assert "cannot be lowered" in row.detail


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("from_start", [True, False])
def test_warm_throughput_is_no_provisioned_capacity(level: str, from_start: bool) -> None:
    # Warm 5,000/2,000 on 5/5: 1,500 units of credit, and then 5 of 100.
    warm = {"warm_read": 5000, "warm_write": 2000}
    table = {"mode": "provisioned", "read_capacity": 5, "write_capacity": 5, **(warm if from_start else {})}
    events = [] if from_start else [{"at": 0, **warm}]
    result = updated(*events, rate=[["0s", 0], ["11m", 100]], table=table, minutes=14, level=level)
    assert result.first_throttle_s == pytest.approx(660 + 1500 / 95, abs=1)
    assert consumed_per_s(result, 700, 840) == pytest.approx(5, rel=0.02)
    assert {t.reason for t in result.throttles} == {"TableWriteProvisionedThroughputExceeded"}
    assert result.table.partition_counts[-1][1] == 2  # ⌈max(5,000 / 3,000, 2,000 / 1,000)⌉


# Dilution.


@pytest.mark.parametrize(("admission", "refused"), [("static", 1 - 62.5 / 100), ("instant", 0.0)])
def test_scaling_up_for_an_incident_and_down_again_leaves_dilution_where_parts_are_equal(
    admission: str, refused: float
) -> None:
    # 1,000 → 10,000 → 1,000 on one partition: ten are needed, halving makes 16, and partitions never merge. A sixteenth of 1,000 is 62.5.
    table = provisioned(read=1, write=999, burst_at_start=0)
    made = scenario(
        pattern(rate=100, partition=0, arrivals="even"),
        table=table,
        duration="40m",
        admission=admission,
        event=[{"at": 60, "write_capacity": 10_000}, {"at": 600, "write_capacity": 1000}],
    )
    del table["partitions"]
    plain = run(made)
    assert plain.table.partition_counts == [(0.0, 1), (360.0, 16)]
    assert capacity(plain) == [(0.0, 999), (360.0, 10_000), (630.0, 1000)]
    assert plain.throttled == 0  # the pattern's range is the whole table: sixteen parts of it, each a sixteenth
    hot = run(
        scenario(
            pattern(rate=100, arrivals="even"),
            table={**table, "pk": "HOT"},
            fields={},
            duration="40m",
            admission=admission,
            event=[{"at": 60, "write_capacity": 10_000}, {"at": 600, "write_capacity": 1000}],
        )
    )
    lane = hot.table.lanes[WRITE]
    # Between, a part is 625 and saves 525/s up to 300 × 625; the cut to 62.5 clips that to 18,750, which last 500 s.
    last = slice(1800, 2400)
    assert lane.throttle_events[last].sum() / lane.offered_units[last].sum() == pytest.approx(refused, abs=0.002)


# Bad input.


ON_DEMAND: dict[str, Any] = {"mode": "on-demand"}
TO_PROVISIONED = {"mode": "provisioned", "read_capacity": 5, "write_capacity": 5}


@pytest.mark.parametrize(
    ("table", "events", "path", "words"),
    [
        (ON_DEMAND, [{"at": 5, "write_capacity": 5}], "event[0].write_capacity", "does not fit mode on-demand"),
        (None, [{"at": 5, "max_write": 5}], "event[0].max_write", "does not fit mode provisioned"),
        (None, [{"at": 5, "mode": "provisioned"}], "event[0].mode", "already"),
        (ON_DEMAND, [{"at": 5, "mode": "provisioned", "read_capacity": 5}], "event[0].mode", "needs write_capacity"),
        (
            None,
            [{"at": 9, "max_read": 5}, {"at": 5, "mode": "on-demand", "write_capacity": 7}],
            "event[1].write_capacity",
            "does not fit",
        ),
        (
            None,
            [{"at": 5, "write_capacity": 5}, {"at": 5, "write_capacity": 6}],
            "event[1].write_capacity",
            "event[0] sets it",
        ),
        (None, [{"at": 601, "write_capacity": 5}], "event[0].at", "within the run"),
        (None, [{"at": 5, "write_capacity": 0}], "event[0].write_capacity", "must be a number from 1"),
        (None, [{"at": 5, "index": "nope", "write_capacity": 5}], "event[0].index", "no global secondary index"),
    ],
)
def test_events_that_cannot_be_are_told_with_their_place(
    table: dict[str, Any] | None, events: list[dict[str, Any]], path: str, words: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(table=provisioned() if table is None else table, event=events)
    (problem,) = error.value.problems
    assert problem.path == path
    assert words in problem.message


def test_a_switch_and_back_fits() -> None:
    events = [
        {"at": 5, "mode": "on-demand", "max_write": 7},
        {"at": 400, **TO_PROVISIONED},
        {"at": 590, "write_capacity": 7},
    ]
    assert len(scenario(table=provisioned(), event=events).event) == 3


def test_older_admissions_know_no_on_demand() -> None:
    with pytest.raises(ScenarioError, match="static admission"):
        scenario(table=provisioned(), admission="static", event=[{"at": 5, "mode": "on-demand"}])


def test_a_row_knows_what_it_was_about() -> None:
    (row,) = updated({"at": 60, "warm_write": 5000}).recorder.events
    assert row == EventRow(
        60.0,
        "table",
        "update-table",
        "write warm throughput from 100 to 5,000 units/s",
        "done",
        660.0,
        None,
        WRITE,
        100.0,
        5000.0,
    )
