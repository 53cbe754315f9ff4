"""Contributor insights: the hot key by name, in AWS's units, and what AWS leaves out (S-CI)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, note
from reference.recorded import recorded, throttle
from reference.small import pattern, scenario
from strategies import scenarios

import sim
from sim.names import TABLE, Dimension, Limit
from sim.results.insights import ContributorInsights, InsightRule
from sim.results.recorder import KeyTally
from sim.run import run
from sim.scenario import Scenario, dump

READ, WRITE = Dimension.READ, Dimension.WRITE


def rows(rule: InsightRule) -> list[tuple[tuple[str, ...], float]]:
    return [(one.keys, one.value) for one in rule.contributors]


@pytest.mark.parametrize("level", ["flow", "request"])
def test_an_item_at_full_speed_shows_180000_a_minute(level: str) -> None:
    """1,000 write units/s × 3 × 60 (F-CI-2); the bucket's one second's worth at the start is 300 more over ten minutes."""
    made = scenario(pattern(rate=1500, arrivals="even", pk="HOT"), table={"sk": "x"}, duration=600, level=level)
    found = run(made).contributor_insights()
    ((keys, value),) = rows(found.rule("PKC"))
    assert keys == ("HOT",)
    assert value / 10 == pytest.approx(180_000 + 300, abs=3)
    ((keys, events),) = rows(found.rule("PKT"))
    assert keys == ("HOT",)
    assert events == pytest.approx(500 * 600 - 1000, abs=2)
    assert rows(found.rule("SKC")) == [(("HOT", "x"), value)]
    assert rows(found.rule("SKT")) == [(("HOT", "x"), events)]


def test_reads_count_once_and_writes_thrice() -> None:
    made = scenario(
        pattern(name="puts", rate=10, arrivals="even", pk="A", item_bytes=2048),
        pattern(name="gets", operation="GetItem", rate=10, arrivals="even", pk="B", consistent=True, item_bytes=8192),
        duration=100,
    )
    found = run(made).contributor_insights()
    # 10 × 2 × 3 × 100 and 10 × 2 × 100.
    assert rows(found.rule("PKC")) == [(("A",), 6000), (("B",), 2000)]
    assert rows(found.rule("PKT")) == []
    with pytest.raises(KeyError, match="no rule 'SKC' of 'table'; there are: PKC of table, PKT of table"):
        found.rule("SKC")


def test_the_key_that_asks_most_is_not_the_one_that_is_refused() -> None:
    """Few large reads of one key beside many writes of another that its partition refuses."""
    made = scenario(
        pattern(name="hot", rate=1100, arrivals="even", pk="HOT"),
        pattern(name="large", operation="Query", rate=5, arrivals="even", pk="LARGE", items=1000, item_bytes=1024),
        duration=300,
    )
    found = run(made).contributor_insights()
    assert [keys for keys, _ in rows(found.rule("PKC"))] == [("HOT",), ("LARGE",)]
    assert [keys for keys, _ in rows(found.rule("PKT"))] == [("HOT",)]


def of_index(**keys: Any) -> ContributorInsights:
    index = {"name": "G", "pk": "s", "projection": "ALL"}
    made = sim.Scenario(
        start="2026-01-01T00:00:00Z",
        duration=600,
        fields={"user": {"kind": "uniform", "count": 10}},
        table=sim.Table(name="orders", pk="{user}", mode="on-demand", gsi=[index]),
        traffic=[sim.Traffic(name="writes", operation="PutItem", rate=1)],
    )
    result = recorded(made, [TABLE, "index/G"])
    tally = KeyTally("active", None, 5)
    tally.add(WRITE, 100.0, 40.0, 40.0)
    tally.add(READ, 30.0, 7.0, 3.5)
    result.recorder.keys["index/G", 5] = tally
    throttle(result, 10, 40, resource="index/G", limit=Limit.KEY_RANGE)
    return result.contributor_insights(**keys)


def test_writes_that_an_index_refused_are_left_out_and_it_is_said() -> None:
    """F-CI-2; its reads are there, and what it was given counts as access."""
    found = of_index()
    assert rows(found.rule("PKT", "index/G")) == [(("active",), 7.0)]
    assert rows(found.rule("PKC", "index/G")) == [(("active",), 3 * 60 + 26.5)]
    assert rows(found.rule("PKT")) == []
    assert found.left_out[0].startswith("40 writes that index/G refused are in no graph of throttled keys")


def test_rules_are_named_as_aws_names_them() -> None:
    names = [rule.name for rule in of_index().rules]
    assert names == [
        "DynamoDBContributorInsights-PKC-orders-1767225600000",
        "DynamoDBContributorInsights-PKT-orders-1767225600000",
        "DynamoDBContributorInsights-PKC-orders-G-1767225600000",
        "DynamoDBContributorInsights-PKT-orders-G-1767225600000",
    ]
    assert [rule.kind for rule in of_index(throttled_only=True).rules] == ["PKT", "PKT"]


@pytest.mark.parametrize(("top", "right"), [(0, False), (1, True), (25, True), (26, False)])
def test_there_are_one_to_25_contributors(top: int, right: bool) -> None:
    result = run(scenario(pattern(rate=300), duration=60, fields={"user": {"kind": "uniform", "count": 40}}))
    if not right:
        with pytest.raises(ValueError, match="top must be from 1 to 25"):
            result.contributor_insights(top=top)
        return
    rule = result.contributor_insights(top=top).rule("PKC")
    assert len(rule.contributors) == top
    assert rule.unique == 40
    assert rule.total == pytest.approx(3 * float(result.table.lanes[WRITE].consumed_units.sum()), rel=1e-6)


def test_keys_too_many_to_be_listed_are_told_of() -> None:
    found = run(scenario(duration=60)).contributor_insights()
    (sentence,) = found.left_out
    assert (
        sentence == "94 % of the traffic of table went to keys that are too many and too light to be listed one by one."
    )
    assert sentence in str(found)
    assert "most accessed of table [PKC]" in str(found)


def test_a_collection_with_many_items_has_no_rows_by_sort_key() -> None:
    made = scenario(
        pattern(rate=100, pk="A", sk="ITEM#{user}"),
        table={"sk": "x"},
        duration=60,
        fields={"user": {"kind": "uniform", "count": 9}},
    )
    found = run(made).contributor_insights()
    assert [keys for keys, _ in rows(found.rule("PKC"))] == [("A",)]
    assert rows(found.rule("SKC")) == []
    assert "no rows by sort key" in found.left_out[0]


def test_the_report_has_the_shape_of_the_public_example(shared: Path) -> None:
    example = json.loads((shared / "corpus" / "contributor-insights" / "get_insight_rule_report.json").read_text())
    made = scenario(pattern(rate=1500, pk="HOT"), duration=60)
    reports = json.loads(json.dumps(run(made).contributor_insights().to_dict(), allow_nan=False))
    for report in reports.values():
        assert set(report) == set(example)
        assert report["KeyLabels"] == example["KeyLabels"] == ["PartitionKey"]
        for one in report["Contributors"]:
            assert set(one) == set(example["Contributors"][0])
            (point,) = one["Datapoints"]
            assert set(point) == set(example["Contributors"][0]["Datapoints"][0])
            assert point["ApproximateValue"] == one["ApproximateAggregateValue"]
    described = json.loads(
        (shared / "corpus" / "contributor-insights" / "describe_contributor_insights.json").read_text()
    )
    kinds = {name.split("-")[1] for name in described["ContributorInsightsRuleList"]}
    both = run(scenario(pattern(rate=1500, pk="HOT"), table={"sk": "x"}, duration=60)).contributor_insights()
    assert {rule.kind for rule in both.rules} == kinds


def test_as_a_frame() -> None:
    frame = (
        run(scenario(pattern(rate=1500, pk="HOT"), table={"sk": "x"}, duration=120)).contributor_insights().to_pandas()
    )
    assert list(frame.columns) == ["resource", "rule", "key", "sort_key", "value", "per_minute"]
    assert (frame["per_minute"] * 2 == frame["value"]).all()
    assert frame.loc[frame["rule"] == "SKT", "sort_key"].tolist() == ["x"]


@given(scenarios())
def test_no_rule_tells_of_more_than_there_was(made: Scenario) -> None:
    note(f"seed {made.seed}\n{dump(made)}")
    result = run(made)
    found = result.contributor_insights(top=25)
    for resource, record in result.resources.items():
        read, write = (float(record.lanes[dimension].consumed_units.sum()) for dimension in (READ, WRITE))
        events = sum(float(lane.throttle_events.sum()) for lane in record.lanes.values())
        assert found.rule("PKC", resource).total <= (3 * write + read) * (1 + 1e-6) + 1e-2
        assert found.rule("PKT", resource).total <= events * (1 + 1e-6) + 1e-3
    for rule in found.rules:
        values = [round(one.value, 3) for one in rule.contributors]
        assert values == sorted(values, reverse=True)
        assert sum(values) <= rule.total + 0.1
        assert len(values) <= min(25, rule.unique)
