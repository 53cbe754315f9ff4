"""CloudWatch's metrics of a run: counted as AWS counts, equal in sum to the result, in the shapes of the API."""

from __future__ import annotations

import itertools
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import botocore.session
import numpy as np
import pytest
from botocore.validate import ParamValidator
from hypothesis import given, note, settings
from hypothesis import strategies as st
from reference.recorded import add, consume, recorded, throttle
from reference.small import pattern, provisioned, scenario
from strategies import request_documents, scenarios

import sim
from sim.names import TABLE, Dimension, ErrorName, Limit, Operation
from sim.results.cloudwatch import Samples, all_metrics, metric
from sim.results.result import Result
from sim.run import run
from sim.scenario import Scenario, dump, from_dict
from sim.scenario.metrics import METRIC_KINDS, Split
from sim.scenario.sections import METRICS, STATISTICS


def total(result: Result, name: str, **where: Any) -> float:
    return float(result.metric(name, statistic="Sum", **where).sum())


# S-CW: counted as AWS counts.


def throttled_of(*patterns: dict[str, Any], write: float, duration: float = 60) -> tuple[float, float, float]:
    """ThrottledRequests, WriteThrottleEvents and the result's own throttled attempts of a run at the request level."""
    made = scenario(*patterns, table=provisioned(write=write, burst_at_start=0), duration=duration, level="request")
    result = run(made)
    return total(result, "ThrottledRequests"), total(result, "WriteThrottleEvents"), result.throttled


def batch(items: int, **keys: Any) -> dict[str, Any]:
    return pattern(operation="BatchWriteItem", batch=items, rate=1, arrivals="even", count=1, pk="A", **keys)


def test_a_batch_with_one_refused_item_is_an_event_and_no_throttled_request() -> None:
    assert throttled_of(batch(25), write=24) == (0, 1, 0)


def test_a_batch_of_which_all_is_refused_is_one_throttled_request() -> None:
    assert throttled_of(batch(25, item_bytes=30 * 1024), write=24) == (1, 25, 1)


def test_each_attempt_of_a_retried_request_is_a_request_at_the_table() -> None:
    """Two puts of 24 units at once: the second is refused, twice again within 0.2 s of refill, and has failed."""
    put = pattern(item_bytes=24 * 1024, rate=100, arrivals="even", count=2, client={"delays": ["50ms", "100ms"]})
    assert throttled_of(put, write=24) == (3, 3, 3)


def test_a_throttled_transaction_is_one_request_with_an_event_for_each_refused_item() -> None:
    put = pattern(operation="TransactWriteItems", batch=3, rate=1, arrivals="even", count=1)
    assert throttled_of(put, write=5)[0] == 1  # two units each: six, and five are there


def test_an_index_that_refuses_shows_under_its_own_name() -> None:
    """F-CW-7: events and reason on the index, the request on the table's operation, nothing on the table itself."""
    result = recorded(scenario(), [TABLE, "index/G"])
    throttle(result, 61, 4, resource="index/G", limit=Limit.PROVISIONED)
    add(result, "writes", 61, throttled=4, offered=4)
    assert total(result, "WriteThrottleEvents", index="G") == 4
    assert total(result, "WriteProvisionedThroughputThrottleEvents", index="G") == 4
    assert total(result, "WriteThrottleEvents") == 0
    assert total(result, "ThrottledRequests", operation="PutItem") == 4
    (found,) = [one for one in all_metrics(result) if one.name == "WriteThrottleEvents"]
    assert found.dimensions == [
        {"Name": "TableName", "Value": "orders"},
        {"Name": "GlobalSecondaryIndexName", "Value": "G"},
    ]


@pytest.mark.parametrize("level", ["flow", "request"])
def test_neither_throttles_nor_failed_conditions_are_user_errors(level: str) -> None:
    """F-CW-8; an item over 400 KB is one."""
    made = scenario(
        pattern(name="too large", item_bytes=500_000, rate=1, arrivals="even"),
        pattern(name="conditional", condition_fails=0.5, rate=30, arrivals="even", pk="A"),
        table=provisioned(write=20, burst_at_start=0),
        duration=120,
        level=level,
    )
    result = run(made)
    assert total(result, "UserErrors") == 120 == result.failures[ErrorName.VALIDATION]
    assert total(result, "ThrottledRequests") == pytest.approx(result.throttled)
    failed = result.failures[ErrorName.CONDITIONAL_CHECK]
    assert total(result, "ConditionalCheckFailedRequests") == pytest.approx(failed, abs=1e-3)
    assert failed > 1000
    assert result.metric("UserErrors").index[0].isoformat() == "2026-01-01T00:00:00+00:00"


def test_a_failed_condition_of_a_transaction_cancels_it_and_is_not_counted_as_one() -> None:
    cancels = pattern(operation="TransactWriteItems", condition_fails=0.5, rate=10)
    assert total(run(scenario(cancels, duration=60)), "ConditionalCheckFailedRequests") == 0


def test_what_counts_refusals_has_no_zeros_and_what_counts_units_has() -> None:
    result = recorded(scenario(duration=300))
    throttle(result, 130, 2)
    events = result.metric("WriteThrottleEvents")
    assert [(at.minute, value) for at, value in events.items()] == [(2, 2.0)]
    assert result.metric("ConsumedWriteCapacityUnits").tolist() == [0.0] * 5
    assert result.metric("ReadThrottleEvents").empty


def test_capacity_has_a_point_every_fifth_minute() -> None:
    result = recorded(scenario(table=provisioned(), start="2026-01-01T00:03:00Z", duration="12m"))
    result.table.lanes[Dimension.WRITE].capacity[:] = [(0.0, 100.0), (421.0, 200.0)]
    found = result.metric("ProvisionedWriteCapacityUnits")
    # At 00:05, 00:10 and (after the change at 00:10:01) none before 00:15, when the run is just over.
    assert [(at.minute, value) for at, value in found.items()] == [(5, 100.0), (10, 100.0)]
    assert run(scenario(duration=300)).metric("ProvisionedWriteCapacityUnits").empty  # on demand


# Periods and statistics.


def test_periods_are_aligned_to_utc() -> None:
    result = recorded(scenario(start="2026-01-01T00:08:30Z", duration=400))
    consume(result, [1] * 400)
    by_minute = result.metric("ConsumedWriteCapacityUnits")
    assert [(at.strftime("%H:%M"), v) for at, v in by_minute.items()] == [
        ("00:08", 30),
        *((f"00:{minute:02}", 60) for minute in range(9, 15)),
        ("00:15", 10),
    ]
    by_five = result.metric("ConsumedWriteCapacityUnits", period_s=300)
    assert [(at.strftime("%H:%M"), v) for at, v in by_five.items()] == [("00:05", 90), ("00:10", 300), ("00:15", 10)]


def test_statistics_of_a_period() -> None:
    result = recorded(scenario(duration=180))
    consume(result, [1] * 60 + [4] * 60 + [0] * 60)
    found = {s: result.metric("ConsumedWriteCapacityUnits", statistic=s, period_s=300).tolist() for s in STATISTICS}
    # One sample a minute (F-CW-5: how often is not published); the idle minute's zero is one.
    assert found == {"Sum": [300], "Average": [100], "Maximum": [240], "Minimum": [0], "SampleCount": [3]}
    throttle(result, 70, 7)
    of_events = {s: result.metric("WriteThrottleEvents", statistic=s).tolist() for s in STATISTICS}
    assert of_events == {"Sum": [7], "Average": [1], "Maximum": [1], "Minimum": [1], "SampleCount": [7]}


def test_how_often_consumed_capacity_is_sampled_is_a_calibration() -> None:
    result = recorded(scenario(duration=60, calibration={"consumed_samples_per_minute": 12}))
    consume(result, [1] * 60)
    assert result.metric("ConsumedWriteCapacityUnits", statistic="Average").tolist() == [5]
    assert result.metric("ConsumedWriteCapacityUnits").tolist() == [60]


def test_latency_of_served_attempts_by_operation() -> None:
    made = scenario(
        pattern(name="puts", rate=5),
        pattern(name="gets", operation="GetItem", rate=5),
        duration=300,
        level="request",
        calibration={"latency_write_ms_p50": 20, "latency_write_ms_p99": 20.0},
    )
    result = run(made)
    found = result.metric("SuccessfulRequestLatency", operation="PutItem")
    np.testing.assert_allclose(found, 20.0)
    gets = result.metric("SuccessfulRequestLatency", operation="GetItem", statistic="Maximum")
    assert gets.max() == pytest.approx(result.to_dict()["traffic"]["gets"]["latency_ms"]["max"], abs=1e-6)
    both = result.metric("SuccessfulRequestLatency", statistic="Maximum")
    assert both.tolist() == [max(20.0, value) for value in gets]


def test_a_retried_request_takes_long_and_its_attempts_do_not() -> None:
    put = pattern(rate=30, arrivals="even", client={"delays": [1] * 60})
    made = scenario(
        put,
        table=provisioned(write=20, burst_at_start=0),
        duration=120,
        level="request",
        calibration={"latency_write_ms_p50": 2, "latency_write_ms_p99": 2.0},
    )
    result = run(made)
    assert result.to_dict()["traffic"]["writes"]["latency_ms"]["p99"] > 1000
    assert result.metric("SuccessfulRequestLatency", statistic="Maximum").max() == pytest.approx(2.0)
    assert total(result, "SuccessfulRequestLatency") == pytest.approx(2.0 * result.succeeded)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=12), st.integers(1, 5))
def test_windows_slide_over_the_same_samples(rows: list[tuple[int, int]], steps: int) -> None:
    count = np.array([c for c, _ in rows], dtype=float)
    value = np.array([v for _, v in rows], dtype=float)
    sliding = Samples(count, count * value, value, value).sliding(steps)
    for first in range(len(rows) - steps + 1):
        inside = [v for c, v in rows[first : first + steps] for _ in range(c)]
        assert sliding.count[first] == len(inside)
        assert sliding.total[first] == sum(inside)
        if inside:
            assert (sliding.least[first], sliding.most[first]) == (min(inside), max(inside))


# Every name, and what is no metric.


@pytest.mark.parametrize("level", ["flow", "request"])
@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_produced_or_refused_with_a_sentence(name: str, level: str) -> None:
    made = scenario(
        pattern(rate=30, condition_fails=0.2, pk="A"),
        pattern(name="huge", item_bytes=500_000, rate=1),
        pattern(name="gets", operation="GetItem", rate=80, pk="A", consistent=True),
        table=provisioned(read=20, write=20, burst_at_start=0),
        duration=360,
        level=level,
    )
    result = run(made)
    if made.level in METRIC_KINDS[name].refused_at:
        with pytest.raises(ValueError, match=f"{name} is not produced at the {level} level: .+"):
            result.metric(name)
        return
    never = ("KeyRange", "MaxOnDemand", "AccountLimit")
    assert result.metric(name).empty == any(reason in name for reason in never)


@pytest.mark.parametrize(("limit", "side"), [(limit, dimension) for limit in Limit for dimension in Dimension], ids=str)
def test_each_reason_has_its_metric(limit: Limit, side: Dimension) -> None:
    """F-ERR-4."""
    result = recorded(scenario(duration=120))
    throttle(result, 61, 3, dimension=side, limit=limit)
    found = {one.name: one.samples.total.tolist() for one in all_metrics(result) if "Throttle" in one.name}
    name = str(limit).removesuffix("Exceeded")
    name = name if name == "AccountLimit" else name.removesuffix("Throughput") + "Throughput"
    assert found == {f"{side.capitalize()}ThrottleEvents": [0, 3], f"{side.capitalize()}{name}ThrottleEvents": [0, 3]}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"name": "Throttles"}, "no metric 'Throttles'; there are: Consumed"),
        ({"name": "ThrottledRequests", "index": "G"}, "not split by index"),
        ({"name": "WriteThrottleEvents", "operation": "PutItem"}, "not split by operation"),
        ({"name": "WriteThrottleEvents", "index": "G"}, "no index 'G' with metrics of its own; there are: none"),
        ({"name": "WriteThrottleEvents", "statistic": "p99"}, "no statistic 'p99' here"),
        ({"name": "WriteThrottleEvents", "period_s": 90}, "whole number of minutes, not 90 s"),
        ({"name": "WriteThrottleEvents", "period_s": 0}, "whole number of minutes, not 0 s"),
        ({"name": "ThrottledRequests", "operation": "Put"}, "'Put' is not a valid Operation"),
    ],
)
def test_what_is_no_metric(keys: dict[str, Any], message: str) -> None:
    result = recorded(scenario())
    with pytest.raises(ValueError, match=message):
        result.metric(**keys)


def test_long_ticks_know_no_minutes() -> None:
    result = run(scenario(tick="2m", period="2m"))
    with pytest.raises(ValueError, match="ticks of 120 s do not divide one"):
        result.metrics()


# Sums.


def check_sums(result: Result) -> None:
    """The metrics of a run add up to its totals, by whatever period they are read."""
    for period_s in (None, 300):
        for resource, dimension in itertools.product(result.resources, Dimension):
            side, lane = dimension.capitalize(), result.resources[resource].lanes[dimension]
            where = {"index": None if resource == TABLE else resource.removeprefix("index/")}
            consumed = total(result, f"Consumed{side}CapacityUnits", period_s=period_s, **where)
            assert consumed == pytest.approx(float(lane.consumed_units.sum()))
            events = total(result, f"{side}ThrottleEvents", period_s=period_s, **where)
            assert events == pytest.approx(float(lane.throttle_events.sum()), abs=1e-6)
            by_reason = [n for n in METRICS if n.startswith(side) and n.endswith("ThrottleEvents") and len(n) > 20]
            assert len(by_reason) == 4
            assert sum(total(result, n, **where) for n in by_reason) == pytest.approx(events, abs=1e-6)
        requests = total(result, "ThrottledRequests", period_s=period_s)
        assert requests == pytest.approx(result.throttled, abs=1e-6)
        by_operation = [total(result, "ThrottledRequests", operation=o) for o in Operation if o != "TTLDelete"]
        assert sum(by_operation) == pytest.approx(requests, abs=1e-6)
        assert total(result, "UserErrors", period_s=period_s) == pytest.approx(
            result.failures.get(ErrorName.VALIDATION, 0)
        )
    single = {"PutItem", "UpdateItem", "DeleteItem"}
    unmet = sum(
        result.traffic[t.name].failures.get(ErrorName.CONDITIONAL_CHECK, 0.0)
        for t in result.scenario.traffic
        if t.operation in single
    )
    assert total(result, "ConditionalCheckFailedRequests") == pytest.approx(unmet, abs=1e-3)


@given(scenarios())
def test_sums_at_the_flow_level(made: Scenario) -> None:
    note(f"seed {made.seed}\n{dump(made)}")
    check_sums(run(made))


@settings(max_examples=max(8, settings.default.max_examples // 3))  # a run of single attempts takes half a second
@given(request_documents())
def test_sums_at_the_request_level(document: dict[str, Any]) -> None:
    document["duration"] = 10  # there are thousands of requests a second
    for traffic in document["traffic"]:
        traffic |= {"batch": min(4, traffic["batch"])} if "batch" in traffic else {}
    made = from_dict(document)
    note(f"seed {made.seed}\n{dump(made)}")
    result = run(made)
    check_sums(result)
    # Every served request of a single item has just one served attempt.
    several = {"BatchGetItem", "BatchWriteItem"}
    for traffic in made.traffic:
        if traffic.operation not in several | {"TTLDelete"}:
            of_pattern = result.traffic[traffic.name].answered
            assert float(of_pattern.count.sum()) == float(result.traffic[traffic.name].succeeded.sum())


# Shapes.


def some_result() -> Result:
    return run(
        scenario(
            pattern(rate=30, arrivals="even", pk="A"),
            table=provisioned(write=20, burst_at_start=0),
            duration=600,
            start="2026-01-01T00:00:30Z",
        )
    )


def test_as_get_metric_data_answers() -> None:
    result = some_result()
    found = json.loads(json.dumps(result.metric_data(), allow_nan=False))
    assert [one["Id"] for one in found["MetricDataQueries"]] == [one["Id"] for one in found["MetricDataResults"]]
    for query, answer in zip(found["MetricDataQueries"], found["MetricDataResults"], strict=True):
        name = query["MetricStat"]["Metric"]["MetricName"]
        assert query["MetricStat"]["Metric"]["Namespace"] == "AWS/DynamoDB"
        assert query["MetricStat"]["Period"] == 60 * METRIC_KINDS[name].step_minutes
        times = [datetime.fromisoformat(text) for text in answer["Timestamps"]]
        assert times == sorted(times, reverse=True)
        assert all(at.second == 0 for at in times)
        of = {one["Name"]: one["Value"] for one in query["MetricStat"]["Metric"]["Dimensions"]}
        expected = result.metric(name, operation=of.get("Operation"))
        assert answer["Values"] == pytest.approx(expected.tolist()[::-1])
        assert answer["Values"]
    labels = [one["Label"] for one in found["MetricDataResults"]]
    assert "orders PutItem ThrottledRequests Sum" in labels
    assert len(set(labels)) == len(labels)


def test_as_get_metric_statistics_answers() -> None:
    found = some_result().metric_statistics("WriteThrottleEvents", statistics=["Sum", "SampleCount"], period_s=300)
    assert found["Label"] == "WriteThrottleEvents"
    assert [one["Timestamp"] for one in found["Datapoints"]] == [
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T00:05:00+00:00",
        "2026-01-01T00:10:00+00:00",
    ]
    assert {tuple(one) for one in found["Datapoints"]} == {("Timestamp", "Sum", "SampleCount", "Unit")}
    assert {one["Unit"] for one in found["Datapoints"]} == {"Count"}


def test_the_shapes_are_those_of_botocore() -> None:
    model = botocore.session.get_session().get_service_model("cloudwatch")
    result = some_result()
    data = result.metric_data()
    call = {
        "MetricDataQueries": data["MetricDataQueries"],
        "StartTime": "2026-01-01T00:00:00Z",
        "EndTime": "2026-01-01T01:00:00Z",
    }
    report = ParamValidator().validate(call, model.operation_model("GetMetricData").input_shape)
    assert not report.has_errors(), report.generate_report()
    answer = {key: value for key, value in data.items() if key != "MetricDataQueries"}
    for operation, given_back in (
        ("GetMetricData", answer),
        ("GetMetricStatistics", result.metric_statistics("WriteThrottleEvents", statistics=STATISTICS)),
    ):
        shape = model.operation_model(operation).output_shape
        report = ParamValidator().validate(given_back, shape)
        assert not report.has_errors(), report.generate_report()
        assert known_keys(given_back, shape)


def known_keys(value: Any, shape: Any) -> bool:
    """Whether a structure has only members of its shape, all the way down."""
    if shape.type_name == "structure":
        return all(key in shape.members and known_keys(inner, shape.members[key]) for key, inner in value.items())
    return shape.type_name != "list" or all(known_keys(inner, shape.member) for inner in value)


def test_the_shapes_are_those_of_the_public_examples(shared: Path) -> None:
    folder = shared / "corpus" / "cloudwatch"
    result = some_result()
    example = json.loads((folder / "get_metric_data.json").read_text())
    found = result.metric_data()
    assert set(example) == set(found) - {"MetricDataQueries"}
    assert set(example["MetricDataResults"][0]) == set(found["MetricDataResults"][0])
    assert len(example["MetricDataResults"][0]["Timestamps"][0]) == len(found["MetricDataResults"][0]["Timestamps"][0])
    example = json.loads((folder / "get_metric_statistics.json").read_text())
    found = result.metric_statistics("ProvisionedWriteCapacityUnits", statistics=["Maximum"])
    assert set(example) == set(found)
    assert set(example["Datapoints"][0]) == set(found["Datapoints"][0])


def test_as_a_frame() -> None:
    result = some_result()
    frame = result.metrics()
    assert list(frame.columns) == ["timestamp", "metric", "index", "operation", "statistic", "value", "unit"]
    assert str(frame["timestamp"].dt.tz) == "UTC"
    events = frame[frame["metric"] == "WriteThrottleEvents"]
    assert events["value"].sum() == pytest.approx(float(result.table.lanes[Dimension.WRITE].throttle_events.sum()))
    assert set(frame.loc[frame["metric"] == "ThrottledRequests", "operation"]) == {"PutItem"}
    assert metric(result, "UserErrors").dimensions == []
    assert {kind.split for kind in METRIC_KINDS.values()} == set(Split)


def test_a_run_with_no_indexes_and_no_traffic_has_capacity_alone() -> None:
    result = sim.run(scenario(pattern(rate=0), table=provisioned(), duration=300))
    assert set(result.metrics()["metric"]) == {
        f"{kind}{side}CapacityUnits" for kind in ("Consumed", "Provisioned") for side in ("Read", "Write")
    }
