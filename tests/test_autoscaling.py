"""Auto scaling and its schedule: when it reacts, how far, and when it does not. Values are derived on paper, beside each test.

The default delays: a minute is seen 60 s after its end, an alarm asks for a new capacity 60 s later, and an UpdateTable takes 30 s.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.small import pattern, provisioned, scenario

from sim.control.autoscaling import consumed_between
from sim.names import ALARM_HIGH, ALARM_LOW, Dimension
from sim.results.recorder import LaneRecord, TimeGrid
from sim.results.result import Result
from sim.run import run

WRITE, READ = Dimension.WRITE, Dimension.READ
MANY = {"user": {"kind": "uniform", "count": 100_000}}
LEVELS = ("flow", "request")


def scaled(
    rate: Any,
    *,
    minutes: float,
    write: float = 50,
    target: dict[str, Any] | None = None,
    table: dict[str, Any] | None = None,
    **keys: Any,
) -> Result:
    """One pattern of even writes on a table whose writes are scaled between 5 and 500 at 70 %."""
    scaling = {"write": {"min": 5, "max": 500, **(target or {})}}
    keys = {"fields": MANY, **keys}
    return run(
        scenario(
            pattern(rate=rate, arrivals="even"),
            table=provisioned(write=write, autoscaling=scaling, **(table or {})),
            duration=minutes * 60,
            **keys,
        )
    )


def steps(result: Result, dimension: Dimension = WRITE) -> list[tuple[float, float]]:
    """(second, capacity) of every change."""
    return result.table.lanes[dimension].capacity[1:]


def states(result: Result, alarm: str) -> list[tuple[float, str]]:
    return [(at_s, str(state)) for at_s, state in result.table.lanes[WRITE].alarms[alarm]]


def spike(peak: float, at_s: float, lasting_s: float, base: float = 10) -> dict[str, Any]:
    return {"kind": "spike", "base": base, "peak": peak, "at": at_s, "lasting": lasting_s}


# The staircase: 300 write units a second on 50.


@pytest.mark.parametrize("level", LEVELS)
def test_a_saturated_table_grows_by_one_over_the_target_a_step(level: str) -> None:
    # Refused requests are no consumption, so each step is the capacity before it / 0.7, rounded up.
    # 2 minutes + 60 s + 60 s + 30 s = 270 s; then the alarms judge whole minutes from 300 s on, and so every 300 s.
    result = scaled(300, minutes=40, table={"burst_at_start": 0}, level=level)
    capacities = [72, 103, 148, 212, 303, 429]
    assert steps(result) == [(270.0 + 300 * k, capacity) for k, capacity in enumerate(capacities)]
    before = [50, *capacities]
    assert capacities[1:5] == [-(-10 * c // 7) for c in before[1:5]]  # ceil(c / 0.7)
    # 303 are enough for 300: the last refusal is before that step, and the first minute without one begins at 25:00.
    lane = result.table.lanes[WRITE]
    assert result.last_throttle_s == pytest.approx(1470, abs=1)
    refused = result.per_period(lane.throttle_events)
    assert np.flatnonzero(refused == 0)[0] == 25
    assert refused[25:].sum() == 0


def test_its_time_line_has_each_alarm_and_each_action() -> None:
    result = scaled(300, minutes=40, table={"burst_at_start": 0})
    went_off = [at_s for at_s, state in states(result, ALARM_HIGH) if state == "ALARM"]
    asked = [(e.at_s, e.done_s, e.after) for e in result.recorder.events if e.action == "auto-scaling"]
    assert went_off == [180 + 300 * k for k in range(6)]
    assert [(at_s, done_s) for at_s, done_s, _ in asked] == [(240 + 300 * k, 270 + 300 * k) for k in range(6)]
    assert [after for _, _, after in asked] == [72, 103, 148, 212, 303, 429]
    assert states(result, ALARM_HIGH)[0] == (0.0, "INSUFFICIENT_DATA")
    assert states(result, ALARM_HIGH)[-1] == (1770.0, "OK")
    assert states(result, ALARM_LOW)[-1][1] == "OK"
    told = result.to_dict()
    assert {(a["metric"], a["resource"], a["name"]) for a in told["alarms"]} == {
        ("ConsumedWriteCapacityUnits", "table", ALARM_HIGH),
        ("ConsumedWriteCapacityUnits", "table", ALARM_LOW),
    }
    assert [(e["action"], e["outcome"], e["error"]) for e in told["events"]] == [("auto-scaling", "done", None)] * 6


def test_a_saturated_table_is_told_to_have_consumed_all_its_capacity() -> None:
    result = scaled(3000, minutes=25, write=500, target={"max": 5000}, table={"burst_at_start": 0, "partitions": 6})
    details = [e.detail for e in result.recorder.events][1:4]
    for detail, before in zip(details, ["721", "1,030", "1,472"], strict=True):
        assert f"capacity from {before} to" in detail
        assert f"2 minutes consumed {before} units/s on average, 100 % of capacity, with a target of 70 %" in detail


def test_the_time_line_puts_alarms_changes_and_relief_in_order() -> None:
    result = scaled(300, minutes=40, table={"burst_at_start": 0}, event=[{"at": 2390, "mode": "on-demand"}])
    told = [(moment.stamp, moment.what) for moment in result.timeline]
    assert told[:3] == [
        ("0:03:00", "AlarmHigh of writes rings"),
        ("0:04:30", "auto-scaling: write capacity from 50 to 72 units/s"),
        ("0:08:00", "AlarmHigh of writes rings"),
    ]
    assert ("0:25:00", "first minute without throttled writes") in told
    assert told[-1] == (
        "0:39:50",
        "update-table: capacity mode from provisioned to on-demand, still under way at the end",
    )
    refused = scaled(10, minutes=3, event=[{"at": 60, "write_capacity": 50}])
    assert [(m.stamp, m.outcome) for m in refused.timeline] == [("0:01:00", "refused")]
    assert run(scenario()).timeline == ()


@pytest.mark.parametrize("level", LEVELS)
def test_burst_counts_as_consumption_and_makes_fewer_and_larger_steps(level: str) -> None:
    # 15,000 units last 15,000 / (300 - 50) = 60 s: the first minute consumes 300/s, the second 50/s, on average 175: 175 / 0.7 = 250.
    # Then 250 / 0.7 = 357.1, and 300 / 0.7 = 428.6.
    result = scaled(300, minutes=20, level=level)
    assert steps(result) == [(270.0, 250), (570.0, 358), (870.0, 429)]


@pytest.mark.parametrize(
    ("calibration", "first_s", "between_s"),
    [
        ({"autoscaling_metric_delay_s": 0, "autoscaling_action_delay_s": 0}, 150, 180),
        ({"autoscaling_metric_delay_s": 180, "autoscaling_action_delay_s": 60}, 390, 420),
        ({"update_table_s": 120}, 360, 360),
    ],
)
def test_the_delays_are_calibration(calibration: dict[str, float], first_s: float, between_s: float) -> None:
    result = scaled(300, minutes=25, table={"burst_at_start": 0}, calibration={"base": "default", **calibration})
    at_s = [at_s for at_s, _ in steps(result)]
    assert at_s[0] == first_s
    assert set(np.diff(at_s)) == {between_s}


def test_minutes_are_those_of_the_clock() -> None:
    # Second 0 is 12:00:45: the first whole minute begins at 15 s, so all comes 15 s later; its minutes are saturated alike.
    result = scaled(300, minutes=15, table={"burst_at_start": 0}, start="2026-03-01T12:00:45Z")
    assert steps(result)[:2] == [(285.0, 72), (585.0, 103)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("stretch", [7, 100, 4096])
def test_any_stretch_length_gives_the_same_bytes(level: str, stretch: int) -> None:
    made = scenario(
        pattern(rate=200, client={"retry": "legacy"}),
        table=provisioned(write=50, autoscaling={"write": {"min": 5, "max": 500}}),
        duration="12m",
        level=level,
        event=[{"at": 400, "mode": "on-demand"}],
    )
    assert run(made, stretch_ticks=stretch).to_json() == run(made).to_json()


# The border of the target, and of two minutes.


@pytest.mark.parametrize(("rate", "wanted"), [(35, []), (35.05, [(270.0, 51)])])
def test_above_the_target_is_strictly_above(rate: float, wanted: list[tuple[float, float]]) -> None:
    # 0.7 × 50 = 35; 35.05 / 0.7 = 50.07 becomes 51 (the twentieth of a unit that is let pass is 50.05).
    result = scaled(rate, minutes=10)
    assert steps(result) == wanted


@pytest.mark.parametrize("level", LEVELS)
def test_a_one_minute_spike_aligned_to_the_minute_never_scales(level: str) -> None:
    result = scaled(spike(300, 120, 60), minutes=15, level=level)
    assert steps(result) == []
    assert "ALARM" not in [state for _, state in states(result, ALARM_HIGH)]


@pytest.mark.parametrize("level", LEVELS)
def test_the_same_spike_straddling_two_minutes_does(level: str) -> None:
    # From 2:30 to 3:30 both minutes hold 30 × 300 + 30 × 10 = 9,300 units, 155/s: 155 / 0.7 = 221.4.
    # Seen at 300 s, asked at 360 s, done at 390 s: long after the spike.
    result = scaled(spike(300, 150, 60), minutes=15, level=level)
    assert steps(result) == [(390.0, 222)]


def test_a_straddling_spike_may_be_too_low_for_either_minute() -> None:
    # 30 × 55 + 30 × 10 = 1,950 units a minute, under 0.7 × 50 × 60 = 2,100, though its own rate is above the capacity.
    assert steps(scaled(spike(55, 150, 60), minutes=15)) == []


@pytest.mark.parametrize(("most", "reached"), [(60, 60), (500, 72)])
def test_it_stops_at_its_maximum(most: float, reached: float) -> None:
    result = scaled(300, minutes=5, target={"max": most}, table={"burst_at_start": 0})
    assert steps(result) == [(270.0, reached)]


def test_at_its_maximum_the_alarm_stays_and_nothing_is_asked() -> None:
    result = scaled(300, minutes=30, target={"max": 60}, table={"burst_at_start": 0})
    assert steps(result) == [(270.0, 60)]
    assert states(result, ALARM_HIGH)[-1] == (180.0, "ALARM")
    assert len(result.recorder.events) == 1


# Scaling in.


@pytest.mark.parametrize("level", LEVELS)
def test_it_scales_in_after_15_quiet_minutes(level: str) -> None:
    # 10/s are under (0.7 - 0.2) × 50 = 25: 15 minutes, 60 s, 60 s and 30 s make 1,050 s; 10 / 0.7 = 14.3.
    result = scaled(10, minutes=20, level=level)
    assert steps(result) == [(1050.0, 15)]
    assert (960.0, "ALARM") in states(result, ALARM_LOW)


@pytest.mark.parametrize("rate", [25, 24.9])
def test_quiet_is_20_points_below_the_target(rate: float) -> None:
    assert bool(steps(scaled(rate, minutes=20))) == (rate < 25)


def test_one_minute_that_is_not_quiet_begins_the_15_anew() -> None:
    # Minutes 5 to 6 carry 30/s, above 25 and under 35: 15 quiet ones are there at 6 + 15 = 21 min.
    result = scaled(spike(30, 300, 60), minutes=25)
    assert steps(result) == [(21 * 60 + 150.0, 15)]


def test_no_traffic_scales_in_to_the_minimum_and_in_the_old_days_did_not() -> None:
    late = {"rate": 10, "starts": 1700}
    for legacy, wanted in ((False, [(1050.0, 5)]), (True, [])):
        made = scenario(
            pattern(**late),
            table=provisioned(write=50, autoscaling={"write": {"min": 5, "max": 500}}),
            duration="30m",
            calibration={"base": "default", "legacy_no_scale_in_at_zero": legacy},
        )
        assert steps(run(made)) == wanted


def test_a_target_of_20_percent_never_scales_in() -> None:
    assert steps(scaled(0.5, minutes=30, target={"target_utilization": 0.2})) == []


def test_scaling_in_takes_burst_credit_with_it() -> None:
    """From 50 to 15 the credit shrinks from 15,000 to 4,500 units: the same spike later finds it gone."""
    rate = [["0s", 10], ["20m", 100]]
    kept = run(scenario(pattern(rate=rate, arrivals="even"), table=provisioned(write=50), duration="25m"))
    shrunk = scaled(rate, minutes=25, fields={"user": {"kind": "uniform", "count": 1000}})
    assert kept.throttled == 0  # 300 s × (100 - 50) is all of 15,000
    assert shrunk.first_throttle_s == pytest.approx(1200 + 4500 / 85, abs=1)


def falling(hours: float) -> dict[str, Any]:
    """A load that gives a reason to scale in every 18 minutes or so for hours: it falls by a third each time."""
    load, at, rows = 4000.0, 0, []
    while at < hours * 3600:
        rows.append([f"{at}s", load])
        load, at = load * 0.66, at + 1080
    return {"rate": rows}


def test_scale_in_is_never_more_than_the_budget_allows() -> None:
    # A fall every 18 minutes asks for three decreases an hour; there are four at the start, and one more each hour.
    table = provisioned(write=6000, autoscaling={"write": {"min": 1, "max": 40_000}}, partitions=10)
    result = run(
        scenario(
            pattern(arrivals="even", **falling(5)),
            table=table,
            fields={"user": {"kind": "uniform", "count": 10**12}},
            duration="4h",
            start="2026-01-01T10:00:00Z",
        )
    )
    rows = [e for e in result.recorder.events if e.action == "auto-scaling"]
    done = [e.done_s for e in rows if e.outcome == "done"]
    refused = [e for e in rows if e.outcome == "refused"]
    assert all(
        after < before for (_, before), (_, after) in zip([(0.0, 6000.0), *steps(result)], steps(result), strict=False)
    )
    assert refused
    assert {e.error for e in refused} == {"LimitExceededException"}
    assert len(done) > 5
    for until_s in range(0, 14_401, 60):
        assert sum(s is not None and s <= until_s for s in done) <= 4 + until_s // 3600


# Reads and writes, schedules.


def test_reads_and_writes_scale_apart_and_one_at_a_time() -> None:
    result = run(
        scenario(
            pattern(rate=100, arrivals="even"),
            pattern(name="reads", operation="GetItem", consistent=True, rate=100, arrivals="even", item_bytes=1000),
            table=provisioned(
                read=50,
                write=50,
                burst_at_start=0,
                autoscaling={"write": {"min": 5, "max": 500}, "read": {"min": 5, "max": 500}},
            ),
            duration="8m",
        )
    )
    # Reads come first by order of the dimensions; the writes' request is refused while that UpdateTable is under way, and repeated.
    assert steps(result, READ)[0] == (270.0, 72)
    (refused,) = [e for e in result.recorder.events if e.outcome == "refused"]
    assert (refused.at_s, refused.dimension, refused.error) == (240.0, WRITE, "ResourceInUseException")
    assert steps(result, WRITE)[0] == (390.0, 72)


MORNING = [["0s", 10], ["60m", 300]]


def scheduled(schedule: list[dict[str, Any]], **keys: Any) -> Result:
    """Ten writes a second from seven o'clock, three hundred from eight."""
    return scaled(MORNING, minutes=90, target={"schedule": schedule}, start="2026-01-05T07:00:00Z", **keys)


@pytest.mark.parametrize("level", LEVELS)
def test_a_scheduled_morning_step_avoids_the_throttles(level: str) -> None:
    without, with_it = (
        scheduled([], level=level),
        scheduled([{"cron": "cron(50 7 ? * MON-FRI *)", "min": 430}], level=level),
    )
    # Scaled in to 15 by then, with 4,500 units of credit: they last 4,500 / 285 = 15.8 s.
    assert without.first_throttle_s == pytest.approx(3600 + 4500 / 285, abs=1)
    assert with_it.throttled == 0
    assert steps(with_it) == [(1050.0, 15), (50 * 60 + 30.0, 430)]
    bounds, pulled = [e for e in with_it.recorder.events if e.action == "schedule"]
    assert (bounds.at_s, bounds.outcome, bounds.done_s) == (3000.0, "done", 3000.0)
    assert (pulled.at_s, pulled.done_s, pulled.before, pulled.after) == (3000.0, 3030.0, 15.0, 430.0)


def test_a_scheduled_action_holds_until_the_next_one() -> None:
    # The evening's bounds leave the capacity where it is: 430 lies within 5 to 500, and 15 quiet minutes come later.
    result = scheduled(
        [{"cron": "0 7 * * ? *", "min": 430, "max": 600}, {"cron": "10 7 * * ? *", "min": 5, "max": 300}]
    )
    assert steps(result)[:2] == [(30.0, 430), (630.0, 300)]
    # From 660 s on 15 quiet minutes: 1,560 + 150 s.
    assert steps(result)[2] == (1710.0, 15)


def test_a_schedule_on_another_day_does_nothing() -> None:
    result = scheduled([{"cron": "50 7 ? * SAT,SUN *", "min": 430}])  # 2026-01-05 is a Monday
    assert [e for e in result.recorder.events if e.action == "schedule"] == []


def test_bounds_that_cross_are_refused_when_they_come() -> None:
    result = scheduled([{"cron": "10 7 * * ? *", "max": 100, "min": 5}, {"cron": "20 7 * * ? *", "min": 200}])
    (refused,) = [e for e in result.recorder.events if e.outcome == "refused"]
    assert (refused.at_s, refused.error) == (1200.0, "ValidationException")


def test_a_capacity_outside_its_bounds_is_pulled_in_at_the_start() -> None:
    result = scaled(10, minutes=5, write=50, target={"min": 80})
    assert steps(result) == [(30.0, 80)]


def test_a_change_by_hand_leaves_the_alarms_as_they_are() -> None:
    # Raised to 500 by hand at 60 s, 40/s still are above 0.7 × 50: the policy is asked, and has nothing to raise.
    result = scaled(40, minutes=10, event=[{"at": 60, "write_capacity": 500}])
    assert states(result, ALARM_HIGH)[-1] == (180.0, "ALARM")
    assert steps(result) == [(90.0, 500)]


def test_it_is_off_while_the_table_is_on_demand() -> None:
    result = scaled(300, minutes=12, event=[{"at": 0, "mode": "on-demand"}], table={"burst_at_start": 0})
    # 72 comes at no time: the policy's request at 240 s meets the switch under way, which is done at 300 s.
    assert [e.outcome for e in result.recorder.events] == ["done", "refused"]
    assert states(result, ALARM_HIGH)[-1] == (300.0, "INSUFFICIENT_DATA")
    assert result.last_throttle_s == pytest.approx(299, abs=1)


# A flash sale, four ways.


SALE = {"kind": "spike", "base": 900, "peak": 9000, "at": "30m", "lasting": "20m"}
SALE_MINUTES = 60


def sale(table: dict[str, Any], **keys: Any) -> Result:
    return run(
        scenario(
            pattern(rate=SALE, arrivals="even"),
            table=table,
            fields={"user": {"kind": "uniform", "count": 10**12}},
            duration=SALE_MINUTES * 60,
            **keys,
        )
    )


def test_a_flash_sale_throttles_on_demand_without_warming_and_on_auto_scaling_and_not_with_either_preparation() -> None:
    on_demand: dict[str, Any] = {"mode": "on-demand"}
    scaling: dict[str, Any] = {"min": 100, "max": 20_000}
    table = provisioned(write=1300, autoscaling={"write": scaling})
    del table["partitions"]
    ahead = {**scaling, "schedule": [{"cron": "cron(15 0 * * ? *)", "min": 12_900}]}
    auto_scaled = sale(table)
    throttles = {
        "on demand": sale(on_demand).throttled,
        "pre-warmed": sale(on_demand, event=[{"at": "10m", "warm_write": 12_000}]).throttled,
        "auto scaled": auto_scaled.throttled,
        "scheduled": sale({**table, "autoscaling": {"write": ahead}}).throttled,
    }
    assert throttles["pre-warmed"] == throttles["scheduled"] == 0
    # A new table has four partitions and 4,000: split for heat adds one every 3 minutes from 38:00 on, and the previous peak counts only
    # 15 minutes after the start, when it is nearly over: 5,000/s for 480 s, then 4,000, 3,000, 2,000 and 1,000 for 180 s each.
    assert throttles["on demand"] == pytest.approx(5000 * 480 + (4000 + 3000 + 2000 + 1000) * 180, rel=0.002)
    # 1,300 lie on two partitions of 1,000: burst credit cannot lift them, so the first two minutes consume 2,000/s and a little, and
    # 2,017 / 0.7 = 2,881 need more partitions, which takes 5 minutes. Until 39:00 at most 4,000/s are served, and never all of it.
    assert steps(auto_scaled)[0] == (30 * 60 + 240 + 300.0, 2881)
    assert throttles["on demand"] < 5000 * 540 + 5000 * 600 < throttles["auto scaled"] < 7700 * 1200


# The minute's sum.


@pytest.mark.parametrize(
    ("tick_s", "begin_s", "end_s", "units"),
    [
        (1, 60, 120, 60),
        (0.5, 60, 120, 120),
        (60, 60, 120, 1),
        (300, 60, 120, 0.2),
        (7, 60, 120, 60 / 7),
        (1, 590, 650, 10),
    ],
)
def test_a_minutes_sum_takes_its_part_of_every_tick(tick_s: float, begin_s: float, end_s: float, units: float) -> None:
    lane = LaneRecord(TimeGrid(600, tick_s, 60))
    lane.consumed_units[:] = 1.0
    assert consumed_between(lane, tick_s, begin_s, end_s) == pytest.approx(units)
