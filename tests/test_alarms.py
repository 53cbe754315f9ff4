"""Alarms: CloudWatch's own tables, a plain reference, and the guide's alarms at the minutes derived on paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import alarms as plain
from reference.recorded import add, consume, recorded, throttle
from reference.small import pattern, provisioned, scenario

import sim
from sim.names import Dimension, Limit
from sim.results.alarms import BREACHING, FINE, MISSING, AlarmReport, AlarmState, condition, next_state
from sim.results.result import Result
from sim.scenario import Alarm
from sim.scenario.sections import COMPARISONS, MISSING_DATA

CODES = {"-": MISSING, "0": FINE, "X": BREACHING}
STATES = tuple(AlarmState)
KEEP = "keep"
NONE, OK, ALARM = "INSUFFICIENT_DATA", "OK", "ALARM"

# "Configuring how CloudWatch alarms treat missing data": points of the range (newest right), then the state when what is missing counts as
# missing, ignore, breaching, notBreaching. N is 3, the range 5.
OF_3 = [
    ("0-X-X", OK, OK, OK, OK),
    ("0----", OK, OK, OK, OK),
    ("-----", NONE, KEEP, ALARM, OK),
    ("0XX-X", ALARM, ALARM, ALARM, ALARM),
    ("--X--", ALARM, KEEP, ALARM, OK),
    # "Avoiding premature transitions": not yet; with two filled ones it is three of three, or one.
    ("----X", KEEP, KEEP, ALARM, OK),
    ("---X-", KEEP, KEEP, ALARM, OK),
]
OF_2_IN_3 = [
    ("0-X-X", ALARM, ALARM, ALARM, ALARM),
    ("00X0X", ALARM, ALARM, ALARM, ALARM),
    ("0-X--", OK, OK, ALARM, OK),
    ("----0", OK, OK, ALARM, OK),
    ("---X-", ALARM, KEEP, ALARM, OK),
]


def alarm(**keys: Any) -> Alarm:
    return Alarm(**{"metric": "WriteThrottleEvents", "threshold": 0, **keys})


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("column", range(4))
@pytest.mark.parametrize(("needed", "row"), [*((3, row) for row in OF_3), *((2, row) for row in OF_2_IN_3)])
def test_the_tables_of_cloudwatch(needed: int, row: tuple[str, ...], column: int, state: AlarmState) -> None:
    treatment = ("missing", "ignore", "breaching", "notBreaching")[column]
    asked = alarm(evaluation_periods=3, datapoints_to_alarm=needed, treat_missing=treatment)
    found = next_state([CODES[letter] for letter in reversed(row[0])], 5, state, asked)
    assert found == (state if row[column + 1] == KEEP else row[column + 1])


# The guide's alarms.


def changes(result: Result, number: int = 0) -> list[tuple[float, str]]:
    return [(at_s, str(state)) for at_s, state in result.alarms[number].state_changes]


def test_any_throttled_request_in_a_minute() -> None:
    """150 write units/s with a full burst of 45,000 and 200 asked: dry at 45,000 / 50 = 900 s, so the minute from 900 to 960 rings."""
    made = scenario(
        pattern(rate=200, arrivals="even"),
        table=provisioned(write=150),
        duration=1200,
        alarm=[
            {"metric": "ThrottledRequests", "threshold": 0},
            {"metric": "ThrottledRequests", "threshold": 0, "operation": "PutItem", "treat_missing": "notBreaching"},
            {"metric": "ThrottledRequests", "threshold": 0, "operation": "GetItem"},
            {"metric": "WriteProvisionedThroughputThrottleEvents", "threshold": 3000},
            {
                "metric": "WriteProvisionedThroughputThrottleEvents",
                "threshold": 3000,
                "comparison": "GreaterThanOrEqualToThreshold",
            },
        ],
    )
    result = sim.run(made)
    assert changes(result, 0) == [(960, ALARM)]
    assert changes(result, 1) == [(60, OK), (960, ALARM)]
    assert changes(result, 2) == []
    # 50 a second for 60 s are 3,000: not over, but at least.
    assert changes(result, 3) == [(960, OK)]
    assert changes(result, 4) == [(960, ALARM)]
    assert sim.run(made).to_dict()["alarms"][0] == {
        "metric": "ThrottledRequests",
        "resource": "table",
        "operation": None,
        "state_changes": [[960, "ALARM"]],
    }


def test_both_levels_ring_at_the_same_minute() -> None:
    for level in ("flow", "request"):
        made = scenario(
            pattern(rate=200, arrivals="even"),
            table=provisioned(write=150, burst_at_start=0.1),
            duration=300,
            level=level,
            alarm=[{"metric": "ThrottledRequests", "threshold": 0}],
        )
        assert changes(sim.run(made)) == [(120, ALARM)]  # 4,500 / 50 = 90 s


def test_over_ten_throttle_events_a_minute() -> None:
    made = scenario(
        alarm=[{"metric": "WriteThrottleEvents", "threshold": 10, "treat_missing": "notBreaching"}], duration=600
    )
    result = recorded(made)
    throttle(result, 61, 10)  # the second minute: ten, not over ten
    throttle(result, 130, 6)  # the third: eleven
    throttle(result, 179, 5, limit=Limit.PROVISIONED)
    throttle(result, 180, 1)  # the fourth
    assert changes(result) == [(60, OK), (180, ALARM), (240, OK)]


def test_80_percent_of_provisioned_for_three_periods_of_five_minutes() -> None:
    asked = {
        "metric": "ConsumedWriteCapacityUnits",
        "of_provisioned": True,
        "threshold": 0.8,
        "period": "5m",
        "evaluation_periods": 3,
    }
    at_least = {**asked, "comparison": "GreaterThanOrEqualToThreshold"}
    made = scenario(table=provisioned(), alarm=[asked, at_least], duration=3600)
    steady = recorded(made)
    consume(steady, [90] * 3600)
    assert changes(steady) == [(900, ALARM)]  # one or two breaching periods alone are no reason to change
    border = recorded(made)
    consume(border, [80] * 3600)
    assert changes(border, 0) == [(300, OK)]
    assert changes(border, 1) == [(900, ALARM)]
    # From minute 20 on 100 of 100 instead of 50: a period that ends at minute m holds 250 + 50 × (m - 20) of 500, over 80 % from m = 24 on,
    # so three of them do at 24, 29 and 34. Back to 50 at minute 40: the one that ends at 42 holds 400, not over.
    step = recorded(made)
    consume(step, [50] * 1200 + [100] * 1200 + [50] * 1200)
    assert changes(step, 0) == [(300, OK), (34 * 60, ALARM), (42 * 60, OK)]


def test_a_fraction_of_provisioned_follows_the_capacity() -> None:
    asked = {"metric": "ConsumedWriteCapacityUnits", "of_provisioned": True, "threshold": 0.8}
    result = recorded(scenario(table=provisioned(), alarm=[asked], duration=240))
    lane = result.table.lanes[Dimension.WRITE]
    lane.capacity[:] = [(0.0, 100.0), (90.0, 200.0)]
    consume(result, [121] * 240)
    # 7,260 a minute against 80 % of 6,000, of 3,000 + 6,000 = 9,000 (7,200), and of 12,000.
    assert changes(result) == [(60, ALARM), (180, OK)]


def test_any_index_throttle() -> None:
    index = {"name": "byStatus", "pk": "s", "projection": "ALL", "read_capacity": 5, "write_capacity": 5}
    made = sim.Scenario(
        duration=600,
        fields={"user": {"kind": "uniform", "count": 10}},
        table=sim.Table(pk="{user}", mode="provisioned", read_capacity=5, write_capacity=5, gsi=[index]),
        traffic=[sim.Traffic(name="writes", operation="PutItem", rate=1)],
        alarm=[
            {"metric": "WriteThrottleEvents", "threshold": 0, "index": "byStatus"},
            {"metric": "WriteThrottleEvents", "threshold": 0},
            {"metric": "ThrottledRequests", "threshold": 0},
        ],
    )
    result = recorded(made, ["table", "index/byStatus"])
    throttle(result, 200, 1, resource="index/byStatus", limit=Limit.PROVISIONED)
    add(result, "writes", 200, offered=1, attempts=1, throttled=1, throttle_events=1)
    assert changes(result, 0) == [(240, ALARM)]
    assert changes(result, 1) == []  # the table's own numbers leave the index out (F-CW-3)
    assert changes(result, 2) == [(240, ALARM)]  # the request on the table is throttled all the same (F-CW-7)
    assert result.to_dict()["alarms"][0]["resource"] == "index/byStatus"


@pytest.mark.parametrize("level", ["flow", "request"])
def test_an_index_that_is_too_small_rings(level: str) -> None:
    """80 writes/s on an index of 50 with a full burst of 15,000: dry at 15,000 / 30 = 500 s, so the minute to 540 rings."""
    index = {"name": "byStatus", "pk": "S", "projection": "ALL", "read_capacity": 5, "write_capacity": 50}
    made = scenario(
        pattern(rate=80, arrivals="even"),
        table=provisioned(write=100, gsi=[index]),
        duration=600,
        level=level,
        alarm=[
            {"metric": "WriteThrottleEvents", "threshold": 0, "index": "byStatus"},
            {"metric": "WriteThrottleEvents", "threshold": 0},
            {"metric": "ThrottledRequests", "threshold": 0, "operation": "PutItem"},
        ],
    )
    result = sim.run(made)
    assert [changes(result, number) for number in range(3)] == [[(540, ALARM)], [], [(540, ALARM)]]
    refused = result.metric("ThrottledRequests").sum()
    assert refused == pytest.approx(30 * 100, abs=60)
    assert result.metric("WriteProvisionedThroughputThrottleEvents", index="byStatus").sum() == pytest.approx(refused)
    found = result.contributor_insights()
    assert [one.keys for one in found.rule("PKC", "index/byStatus").contributors] == [("S",)]
    assert found.rule("PKC", "index/byStatus").total == pytest.approx(3 * (80 * 600 - refused), rel=1e-6)
    assert [rule.contributors for rule in found.rules if rule.kind == "PKT"] == [(), ()]
    assert found.left_out[0].endswith("at AWS they are not counted there (F-CI-2).")


def test_minutes_are_those_of_utc() -> None:
    made = scenario(
        start="2026-01-01T00:00:45Z", duration=200, alarm=[{"metric": "WriteThrottleEvents", "threshold": 3}]
    )
    result = recorded(made)
    for at_s in (14, 15, 16, 74):
        throttle(result, at_s, 2)
    # One event pair lies in the first quarter of a minute; those at 15, 16 and 74 s in the whole minute after it.
    assert changes(result) == [(15, OK), (75, ALARM)]


def test_the_minute_that_the_end_cuts_off_is_not_looked_at() -> None:
    for duration, expected in ((119, []), (120, [(120, ALARM)])):
        result = recorded(scenario(duration=duration, alarm=[{"metric": "WriteThrottleEvents", "threshold": 0}]))
        throttle(result, 100, 1)
        assert changes(result) == expected


def test_two_of_three() -> None:
    asked = {"metric": "WriteThrottleEvents", "threshold": 5, "evaluation_periods": 3, "datapoints_to_alarm": 2}
    result = recorded(scenario(alarm=[{**asked, "treat_missing": "notBreaching"}]))
    for minute, events in enumerate([9, 1, 9, 1, 1, 9, 9, 9, 9, 9]):
        throttle(result, 60 * minute, events)
    assert changes(result) == [(60, OK), (180, ALARM), (240, OK), (420, ALARM)]


def test_alarms_over_days_are_looked_at_once_an_hour() -> None:
    asked = {"metric": "WriteThrottleEvents", "threshold": 0, "period": "1h", "evaluation_periods": 25}
    made = scenario(alarm=[{**asked, "datapoints_to_alarm": 1}], duration="5h", tick="1m", start="2026-01-01T00:20:00Z")
    result = recorded(made)
    throttle(result, 2 * 3600, 1)
    # The period that ends with the throttle's minute would ring at 02:21 UTC; the next whole hour is 03:00.
    assert changes(result) == [(3 * 3600 - 1200, ALARM)]


def test_an_alarm_keeps_its_state_where_dynamodb_sends_no_data() -> None:
    made = scenario(alarm=[{"metric": "WriteThrottleEvents", "threshold": 0}], duration=600)
    by_treatment = {}
    for treatment in (None, *MISSING_DATA):
        keys = {} if treatment is None else {"treat_missing": treatment}
        result = recorded(scenario(alarm=[{**made.alarm[0].model_dump(include={"metric", "threshold"}), **keys}]))
        throttle(result, 130, 1)
        by_treatment[treatment] = changes(result)
    assert by_treatment == {
        None: [(180, ALARM)],
        "ignore": [(180, ALARM)],
        # The range is three periods: the real point counts until it is out of it, even where what is missing is bad or good.
        "missing": [(180, ALARM), (360, NONE)],
        "notBreaching": [(60, OK), (180, ALARM), (360, OK)],
        "breaching": [(60, ALARM)],
    }


# Against the reference.


@given(
    st.lists(st.sampled_from([0, 0, 1, 4, 5, 6, 9]), min_size=1, max_size=40),
    st.integers(1, 4),
    st.integers(1, 4),
    st.data(),
)
def test_alarms_are_those_of_the_plain_reference(
    events: list[int], period: int, wanted: int, data: st.DataObject
) -> None:
    needed = data.draw(st.integers(1, wanted))
    treatment = data.draw(st.sampled_from(MISSING_DATA))
    comparison = data.draw(st.sampled_from(COMPARISONS))
    extra = data.draw(st.integers(0, 3))
    asked = {
        "metric": "WriteThrottleEvents",
        "threshold": 5,
        "period": period * 60,
        "evaluation_periods": wanted,
        "datapoints_to_alarm": needed,
        "treat_missing": treatment,
        "comparison": comparison,
    }
    made = scenario(alarm=[asked], duration=60 * len(events), calibration={"alarm_extra_periods": extra})
    result = recorded(made)
    values: list[float | None] = []
    for minute, count in enumerate(events):
        if count:
            throttle(result, 60 * minute, count)
        inside = events[max(0, minute - period + 1) : minute + 1]
        values.append(sum(inside) if len(inside) == period and any(inside) else None)
    breaks = {
        "GreaterThanThreshold": lambda v: v > 5,
        "GreaterThanOrEqualToThreshold": lambda v: v >= 5,
        "LessThanThreshold": lambda v: v < 5,
        "LessThanOrEqualToThreshold": lambda v: v <= 5,
    }[comparison]
    breaches = [v is not None and breaks(v) for v in values]
    expected = plain.state_changes(values, breaches, period, wanted, needed, treatment, extra)
    assert changes(result) == [(60.0 * minute, state) for minute, state in expected]


@given(st.lists(st.floats(0, 500), min_size=1, max_size=30), st.sampled_from([0.1, 0.7, 0.8, 1.0, 2.0]))
def test_a_sum_that_is_just_the_threshold_is_equal_to_it(capacities: list[float], fraction: float) -> None:
    """Fractions of capacity are decimal, their sums in floats a little beside it."""
    asked = {"metric": "ConsumedWriteCapacityUnits", "of_provisioned": True, "threshold": fraction}
    over, at_least = asked, {**asked, "comparison": "GreaterThanOrEqualToThreshold"}
    result = recorded(scenario(table=provisioned(), alarm=[over, at_least], duration=60 * len(capacities)))
    lane = result.table.lanes[Dimension.WRITE]
    lane.capacity[:] = [(60.0 * minute, capacity) for minute, capacity in enumerate(capacities)]
    consume(result, np.repeat(fraction * np.array(capacities), 60).tolist())
    assert changes(result, 0) == [(60, OK)]
    assert changes(result, 1) == [(60, ALARM)]


# What is told of them.


def test_spans_in_alarm() -> None:
    def report(*rows: tuple[float, AlarmState]) -> AlarmReport:
        return AlarmReport(alarm(), "table", rows, 600.0, False)

    assert report().in_alarm_s == ()
    assert report().final_state is AlarmState.INSUFFICIENT_DATA
    rang = report((60, AlarmState.ALARM), (120, AlarmState.OK), (300, AlarmState.ALARM))
    assert rang.in_alarm_s == ((60, 120), (300, 600))
    assert rang.final_state is AlarmState.ALARM


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "WriteThrottleEvents of orders over 0 in 1m"),
        (
            {"threshold": 10, "comparison": "LessThanOrEqualToThreshold"},
            "WriteThrottleEvents of orders at most 10 in 1m",
        ),
        (
            {"metric": "ThrottledRequests", "operation": "Query", "evaluation_periods": 3, "datapoints_to_alarm": 2},
            "ThrottledRequests Query of orders over 0 in 1m, 2 of 3 times",
        ),
        (
            {
                "metric": "ConsumedReadCapacityUnits",
                "of_provisioned": True,
                "threshold": 0.8,
                "period": "5m",
                "evaluation_periods": 3,
            },
            "ConsumedReadCapacityUnits of orders over 80 % of provisioned in 5m, 3 times in a row",
        ),
        ({"statistic": "Maximum"}, "WriteThrottleEvents of orders (Maximum) over 0 in 1m"),
    ],
)
def test_an_alarm_in_words(keys: dict[str, Any], words: str) -> None:
    assert condition(alarm(**keys), "orders") == words


BASE = {"metric": "WriteThrottleEvents", "threshold": 1}


@pytest.mark.parametrize(
    ("keys", "path", "message"),
    [
        ({"operation": "PutItem"}, "operation", "not split by operation"),
        ({"metric": "ThrottledRequests", "index": "G"}, "index", "not split by index"),
        ({"metric": "UserErrors", "index": "G"}, "index", "not split by index"),
        ({"index": "L"}, "index", "local secondary index has no metrics of its own"),
        ({"of_provisioned": True}, "of_provisioned", "only consumed capacity"),
        (
            {"metric": "ConsumedReadCapacityUnits", "of_provisioned": True, "statistic": "Average"},
            "statistic",
            "added up: Sum",
        ),
        ({"metric": "SystemErrors"}, "metric", "understood but not simulated yet"),
        ({"metric": "OnlineIndexThrottleEvents"}, "metric", "understood but not simulated yet"),
        ({"metric": "SuccessfulRequestLatency"}, "metric", 'not simulated at level = "flow"'),
        ({"evaluation_periods": 1440, "period": 120}, "evaluation_periods", "at most a day"),
        ({"evaluation_periods": 169, "period": 3600}, "evaluation_periods", "at most seven days"),
    ],
)
def test_what_an_alarm_cannot_be(keys: dict[str, Any], path: str, message: str) -> None:
    gsi = [{"name": "G", "pk": "x", "projection": "ALL", "read_capacity": 1, "write_capacity": 1}]
    table = provisioned(sk="y", lsi=[{"name": "L", "sk": "z", "projection": "ALL"}])
    with pytest.raises(sim.ScenarioError) as caught:
        scenario(table={**table, "gsi": gsi}, alarm=[{**BASE, **keys}])
    found = [one for one in caught.value.problems if one.path == f"alarm[0].{path}"]
    assert [message in one.message for one in found] == [True]
    assert found[0].hint or "simulated" not in found[0].message


@pytest.mark.parametrize(("tick", "fits"), [(0.1, True), (1, True), (20, True), (7, False), (120, False)])
def test_metrics_need_ticks_that_divide_minutes(tick: float, fits: bool) -> None:
    period = tick * round(840 / tick)
    if fits:
        scenario(tick=tick, period=period, alarm=[BASE])
        return
    with pytest.raises(sim.ScenarioError, match="made by the minute"):
        scenario(tick=tick, period=period, alarm=[BASE])


@pytest.mark.parametrize("metric", ["ProvisionedReadCapacityUnits", "ConsumedReadCapacityUnits"])
def test_an_on_demand_table_has_no_provisioned_capacity(metric: str) -> None:
    with pytest.raises(sim.ScenarioError, match="the table is on demand"):
        scenario(alarm=[{"metric": metric, "threshold": 1, "of_provisioned": metric.startswith("C")}])


def test_what_takes_metric_math_at_aws_is_said() -> None:
    made = scenario(
        alarm=[
            {"metric": "ThrottledRequests", "threshold": 0},
            {"metric": "ThrottledRequests", "threshold": 0, "operation": "PutItem"},
            {"metric": "ConsumedReadCapacityUnits", "threshold": 0, "statistic": "Average"},
        ]
    )
    by_operation, samples = made.notes
    assert by_operation.startswith("alarm[0]: CloudWatch has ThrottledRequests by operation only")
    assert samples.startswith("alarm[2]: what one sample of ConsumedReadCapacityUnits is")
