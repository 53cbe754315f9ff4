"""Walks of pages in motion: exact small traces, where they heat the table, and the flow level against the request level.

Tolerances between the levels. Nothing refused: both draw the same requests, so attempts and units differ by the law of the filter alone
(five standard errors) and by the pages that are under way at the end. Something refused: what a dry bucket serves is the same within 1 %;
which walks it breaks off is not, because refusals come in clusters that counts per tick do not see: attempts within 5 %, served requests
within 15 %, as long as the pages of one request are less than a tenth of a bucket (beyond, the flow level warns).
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from reference.small import pattern, provisioned, scenario

from sim.calibration import PARAMETERS
from sim.levels.demand import Joint, demand_of
from sim.limits import PAGE_BYTES
from sim.names import TABLE, Dimension
from sim.pages import Walk, percentile
from sim.results.result import Result
from sim.run import run
from sim.scenario import from_dict

LEVELS = pytest.mark.parametrize("level", ["flow", "request"])
# Pages of strong reads that cost 8 units each.
EIGHT = {"consistent": True, "item_bytes": 4096, "limit": 8}


def query(**keys: Any) -> dict[str, Any]:
    return pattern(**{"name": "q", "operation": "Query", "item_bytes": 400, **keys})


def scan(**keys: Any) -> dict[str, Any]:
    return pattern(**{"name": "q", "operation": "Scan", "item_bytes": 1042, **keys})


def of(result: Result, name: str = "q") -> dict[str, Any]:
    found: dict[str, Any] = result.to_dict()["traffic"][name]
    return found


def once(result: Result) -> tuple[float, ...]:
    """Offered, succeeded, failed, attempts, throttled."""
    found = of(result)
    return tuple(found[key] for key in ("offered", "succeeded", "failed", "attempts", "throttled"))


def read_units(result: Result) -> float:
    return float(result.table.lanes[Dimension.READ].consumed_units.sum())


# Small traces.


def test_a_walk_that_is_refused_asks_for_no_more() -> None:
    """A second's worth of 10 units: the first page of 8 passes, the second is refused."""
    walk = query(rate=0.1, arrivals="even", items=30, count=1, **EIGHT)
    result = run(scenario(walk, table=provisioned(read=10, burst_at_start=0), level="request", duration=60))
    assert once(result) == (1, 0, 1, 2, 1)
    assert read_units(result) == 8
    assert of(result)["finished_s"] < 1


def test_each_page_is_tried_again_by_itself() -> None:
    """Each page but the first waits a second for its 8 units: 4 pages (8 + 8 + 8 + 6 items), 3 retries."""
    walk = query(rate=0.1, arrivals="even", items=30, count=1, client={"delays": ["1s"]}, **EIGHT)
    result = run(scenario(walk, table=provisioned(read=8, burst_at_start=0), level="request", duration=60))
    assert once(result) == (1, 1, 0, 7, 3)
    assert read_units(result) == 30
    assert of(result)["query"]["pages_per_request"] == 4
    assert 3 < of(result)["finished_s"] < 3.3
    assert of(result)["latency_ms"]["max"] == pytest.approx(1000 * of(result)["finished_s"])


def test_a_request_fails_when_a_page_is_given_up() -> None:
    """One retry after half a second brings 4 units, not 8."""
    walk = query(rate=0.1, arrivals="even", items=30, count=1, client={"delays": ["500ms"]}, **EIGHT)
    result = run(scenario(walk, table=provisioned(read=8, burst_at_start=0), level="request", duration=60))
    assert once(result) == (1, 0, 1, 3, 2)


def test_the_log_has_a_line_for_each_page() -> None:
    result = run(scenario(query(rate=1, arrivals="even", items=30, count=1, **EIGHT), level="request"), log=True)
    rows = result.log()
    assert rows["units"].tolist() == [8, 8, 8, 6]
    assert (rows["attempt"] == 1).all()
    assert rows["time_s"].is_monotonic_increasing


def answer_s(result: Result, page_bytes: float) -> float:
    """Mean time of a page's answer: lognormal with the calibration's percentiles, and a part for what is read."""
    calibration = result.scenario.calibration
    low, high = calibration.latency_query_ms_p50, calibration.latency_query_ms_p99
    sigma = math.log(high / low) / 2.3263478740408408
    return (low * math.exp(sigma**2 / 2) + calibration.latency_page_ms * page_bytes / PAGE_BYTES) / 1000


@LEVELS
def test_a_job_ends_with_the_last_answer_of_its_walk(level: str) -> None:
    """6,000 pages of 50 items, one after the other, and one that finds nothing, as the last was full: some 20 s of one request."""
    job = scan(rate=1, arrivals="even", count=1, items=300_000, limit=50)
    result = run(scenario(job, level=level, duration=60))
    offered, succeeded, _, attempts, throttled = once(result)
    assert (offered, throttled) == (1, 0)
    assert (succeeded, attempts) == (pytest.approx(1, abs=1e-5), pytest.approx(6001))
    seconds = 6001 * answer_s(result, 50 * 1042)
    assert of(result)["finished_s"] == pytest.approx(seconds, abs=1.5 if level == "flow" else 0.5)
    assert read_units(result) == pytest.approx(6000 * 6.5 + 0.5, abs=0.01)


def test_closed_loops_walk_one_after_the_other() -> None:
    """Two threads, 30 walks of 3 pages: Little's law with the time of three answers."""
    walk = query(rate=None, threads=2, count=30, items=50, limit=20)
    del walk["rate"]
    result = run(scenario(walk, level="request"))
    found = of(result)
    assert once(result) == (30, 30, 0, 90, 0)
    assert found["finished_s"] == pytest.approx(15 * 3 * answer_s(result, 50 * 400 / 3), rel=0.3)


# What is reported.


def test_the_request_level_measures_what_the_flow_level_derives() -> None:
    walk = query(rate=100, items=10**6, limit=20, filter_pass=0.15, until=20, missing=0.1)
    flow, request = (of(run(scenario(walk, level=level, duration=100)))["query"] for level in ("flow", "request"))
    for key in ("pages_per_request", "scanned", "returned", "filtered_units"):
        assert request[key] == pytest.approx(flow[key], rel=0.03), key
    assert request["empty_pages"] == pytest.approx(flow["empty_pages"], rel=0.1)
    assert (request["units_p50"], request["units_p99"]) == (flow["units_p50"], flow["units_p99"])
    assert request != flow


@LEVELS
@pytest.mark.parametrize("passing", [0.05, 0.15, 1 / 3, 0.5, 1])
def test_the_fill_loop_takes_the_rounds_and_units_of_its_law(level: str, passing: float) -> None:
    """S-FILL: a page of 20, at most 5 rounds, Limit three times what is missing."""
    loop = query(rate=50, items=10**7, filter_pass=passing, until=20, pages=5, over_fetch=3)
    result = run(scenario(loop, level=level, duration=100))
    law = Walk(items=10**7, item_bytes=400, filter_pass=passing, until=20, pages=5, over_fetch=3).law
    found = of(result)
    assert found["query"]["pages_per_request"] == pytest.approx(law.pages, rel=0.03)
    assert found["query"]["scanned"] == pytest.approx(law.scanned, rel=0.03)
    assert found["query"]["units_p50"] == pytest.approx(percentile(law.units, 0.5), abs=0.5)
    assert found["query"]["units_p99"] == pytest.approx(percentile(law.units, 0.99), abs=1)
    offered, succeeded, _, attempts, _ = once(result)
    assert attempts == pytest.approx(law.pages * succeeded, rel=0.03)
    assert offered - succeeded < 10
    assert read_units(result) == pytest.approx(law.mean_units * succeeded, rel=0.03)


def test_a_law_too_long_to_be_listed_has_no_percentiles() -> None:
    """Ten thousand queries at once, each of one page or of thousands."""
    walk = query(rate=0.01, items=10**6, limit=100, missing=0.5, scatter="user")
    made = scenario(walk, fields={"user": {"kind": "uniform", "count": 10_000}})
    counts = demand_of(made, made.traffic[0]).query
    assert counts is not None
    assert counts.units_p50 is None
    assert counts.pages == pytest.approx(10_000 * (0.5 + 0.5 * 10_001))


# Rows of the mission.


@LEVELS
def test_a_composite_sort_key_reads_what_matches_and_a_filter_reads_all(level: str) -> None:
    """S-COMPOSITE-SK: 1,000 orders of a customer, a tenth of them open, 400 bytes each."""
    by_key, by_filter = (
        run(scenario(query(rate=20, items=items, filter_pass=passing), level=level, duration=30))
        for items, passing in ((100, 1.0), (1000, 0.1))
    )
    assert of(by_key)["query"]["returned"] == pytest.approx(of(by_filter)["query"]["returned"])
    assert of(by_key)["units_per_request"][TABLE]["read"] == 5  # 40,000 B are ten times 4 KB, halved
    assert of(by_filter)["units_per_request"][TABLE]["read"] == 49
    assert of(by_filter)["query"]["filtered_units"] == pytest.approx(49 * 0.9)


@LEVELS
def test_a_scan_of_a_million_users_against_a_query_of_an_index(level: str) -> None:
    """S-SCAN-QUERY: 200 MB are 191 pages and take seconds; the index is asked once for the few that match."""
    index = {"name": "by-mail", "pk": "MAIL#{user}", "projection": "ALL"}
    walks = [
        scan(name="scan", rate=0.1, arrivals="even", count=1, items=10**6, item_bytes=200, filter_pass=1e-6),
        query(name="query", rate=10, item_bytes=200, index="by-mail"),
    ]
    found = run(scenario(*walks, table={"gsi": [index], "warm_read": 40_000}, level=level, duration=60)).to_dict()
    by_scan, by_query = found["traffic"]["scan"], found["traffic"]["query"]
    assert by_scan["query"]["pages_per_request"] == 191
    assert by_scan["units_per_request"][TABLE]["read"] == pytest.approx(200e6 / 4096 / 2, rel=0.01)
    assert by_query["units_per_request"]["index/by-mail"]["read"] == 0.5
    assert by_scan["finished_s"] > 1.5
    if level == "request":
        assert by_query["latency_ms"]["p99"] < 20


@LEVELS
def test_counting_by_a_query_reads_everything_and_a_counter_one_item(level: str) -> None:
    """S-COUNT: Select COUNT costs what the items cost; a counter item costs one read, and its writers heat one key."""
    patterns = [
        query(name="count", rate=1, items=50_000, item_bytes=400),
        pattern(name="counter", operation="GetItem", pk="COUNTER", rate=1, item_bytes=100),
        pattern(name="counted", operation="UpdateItem", pk="COUNTER", rate=1500, item_bytes=100),
    ]
    found = run(scenario(*patterns, table={"warm_read": 40_000}, level=level, duration=60)).to_dict()
    assert found["traffic"]["count"]["units_per_request"][TABLE]["read"] == pytest.approx(2441.5, abs=10)
    assert found["traffic"]["count"]["query"]["pages_per_request"] == 20
    assert found["traffic"]["counter"]["units_per_request"][TABLE]["read"] == 0.5
    assert found["traffic"]["counted"]["throttled"] / found["traffic"]["counted"]["attempts"] == pytest.approx(
        1 / 3, abs=0.02
    )
    assert found["hot_keys"][0]["key"] == "COUNTER"


@LEVELS
def test_a_paced_scan_beside_the_foreground_pays_by_size_not_by_limit(level: str) -> None:
    """Limit 100 twice a second: 100 small items cost 2 units, 100 large ones 100, and then the foreground is starved."""
    refused = {}
    for size in (125, 8192):
        background = scan(name="scan", rate=2, arrivals="even", items=10**6, item_bytes=size, limit=100, pages=1)
        foreground = pattern(name="get", operation="GetItem", rate=80, arrivals="even", item_bytes=4096)
        table = provisioned(read=60, burst_at_start=0)
        found = run(scenario(background, foreground, table=table, level=level)).to_dict()
        assert found["traffic"]["scan"]["units_per_request"][TABLE]["read"] == {125: 2, 8192: 100}[size]
        refused[size] = found["throttled_fraction"]
    assert refused[125] == 0
    assert refused[8192] > 0.02


# Where walks lie.


def by_partition(result: Result) -> np.ndarray:
    lane = result.table.lanes[Dimension.READ]
    return lane.consumed_by_partition.of(len(result.table.partitions))


@LEVELS
def test_a_scan_heats_one_partition_after_the_other(level: str) -> None:
    """6,000 pages in some 20 s over four partitions: one is read at a time, each for a quarter of the time."""
    job = scan(rate=1, arrivals="even", count=1, items=300_000, limit=50)
    result = run(scenario(job, table={"partitions": 4}, level=level, duration=30, period=1))
    units = by_partition(result)
    assert once(result)[4] == 0
    assert units.sum(axis=1) == pytest.approx(np.full(4, units.sum() / 4), rel=0.01)
    busy = units.sum(axis=0) > 1
    assert (units.max(axis=0)[busy] / units.sum(axis=0)[busy] > 0.9).mean() > 0.7
    assert (np.diff(np.argmax(units, axis=0)[busy]) >= 0).all()


@LEVELS
def test_segments_walk_their_own_parts_at_once(level: str) -> None:
    """Four segments on four partitions: all are read in the same seconds, in a quarter of the time."""
    made = {}
    for segments in (1, 4):
        job = scan(rate=1, arrivals="even", count=1, items=300_000 // segments, limit=50, segments=segments)
        made[segments] = run(scenario(job, table={"partitions": 4}, level=level, duration=40, period=1))
    one, four = made[1], made[4]
    assert read_units(four) == pytest.approx(read_units(one), rel=0.001)
    assert of(four)["finished_s"] == pytest.approx(of(one)["finished_s"] / 4, abs=1.5)
    units = by_partition(four)[:, 1:4]
    assert units.max(axis=0) == pytest.approx(units.min(axis=0), rel=0.15)
    assert once(four)[0] == pytest.approx(once(four)[1]) == 1


@LEVELS
@pytest.mark.parametrize("segments", [1, 10])
def test_each_segment_that_finds_nothing_pays_the_minimum(level: str, segments: int) -> None:
    empty = scan(rate=1, arrivals="even", items=0, segments=segments)
    result = run(scenario(empty, table={"partitions": 1}, level=level, duration=60))
    assert once(result) == (60, 60, 0, 60 * segments, 0)
    assert read_units(result) == 60 * segments * 0.5
    assert of(result)["query"]["empty_pages"] == segments


@LEVELS
def test_a_walk_of_which_nothing_is_there_is_one_page(level: str) -> None:
    walk = query(rate=5, arrivals="even", items=1000, limit=20, missing=1)
    result = run(scenario(walk, level=level, duration=60))
    assert once(result) == (300, 300, 0, 300, 0)
    assert of(result)["query"]["pages_per_request"] == of(result)["query"]["empty_pages"] == 1
    assert read_units(result) == 150


@pytest.mark.parametrize(
    ("partitions", "segments", "calibration", "cost"),
    [(4, 1, True, 2), (4, 1, False, 0.5), (4, 4, True, 0.5), (4, 2, True, 1), (3, 2, True, 1), (1, 7, True, 0.5)],
)
def test_a_segment_pays_for_every_partition_that_it_searches_in_vain(
    partitions: int, segments: int, calibration: bool, cost: float
) -> None:
    made = scenario(
        scan(items=0, segments=segments), calibration={"base": "default", "empty_scan_per_partition": calibration}
    )
    demand = demand_of(made, made.traffic[0], {TABLE: partitions})
    assert demand.units_per_request(Dimension.READ) == segments * cost
    assert PARAMETERS["empty_scan_per_partition"].default is True


@LEVELS
def test_a_scattered_query_asks_each_shard_at_its_own_key(level: str) -> None:
    """Eight shards that lie where their texts lie: each partition serves its number of them."""
    fields = {"shard": {"kind": "zipf", "count": 8, "exponent": 2}}  # weights do not count: each shard is asked
    walk = query(rate=20, arrivals="even", items=10, scatter="shard")
    result = run(scenario(walk, table={"pk": "DAY#{shard}"}, fields=fields, level=level, duration=60))
    offered, succeeded, _, attempts, _ = once(result)
    assert (attempts, offered) == (8 * 1200, 1200)
    assert succeeded == pytest.approx(offered, abs=5)
    of_one = of(result)["units_per_request"][TABLE]["read"]
    assert of_one == 8 * 0.5
    keys = {key["key"]: key["share"] for key in result.to_dict()["hot_keys"]}
    assert keys == {f"DAY#{k}": pytest.approx(1 / 8) for k in range(8)}
    shares = by_partition(result).sum(axis=1) / read_units(result)
    assert shares * 8 == pytest.approx(np.rint(shares * 8), abs=1e-6)


@LEVELS
def test_a_query_walks_through_the_parts_of_a_collection_that_was_split(level: str) -> None:
    """A hot collection is cut between sort keys; the walks that come then read from both halves."""
    fields = {"order": {"kind": "uniform", "count": 10**6}}
    walk = query(rate=5.4, arrivals="even", items=1000, item_bytes=4096, limit=50)  # 2,700 units a second
    made = scenario(
        walk, table={"pk": "SHOP", "sk": "{order}", "partitions": 1}, fields=fields, level=level, duration=900
    )
    result = run(made)
    splits = result.to_dict()["partitions"][TABLE]["splits"]
    assert splits
    first = splits[0]
    after = by_partition(result)[first["partition"] + 1 : first["partition"] + 3, -5:].sum(axis=1)
    assert after[0] == pytest.approx(after[1], rel=0.2)


@LEVELS
def test_a_scan_of_an_index_reads_its_entries_where_they_are(level: str) -> None:
    """Nine tenths of the entries lie under one status: in one partition of the index."""
    fields = {"user": {"kind": "uniform", "count": 1000}, "status": {"kind": "choice", "weights": {"on": 9, "off": 1}}}
    gsi = {"name": "by-status", "pk": "{status}", "projection": "KEYS_ONLY", "projected_bytes": 100, "partitions": 4}
    walk = scan(rate=0.5, arrivals="even", items=20_000, limit=500, index="by-status")
    result = run(scenario(walk, table={"gsi": [gsi]}, fields=fields, level=level, duration=60))
    lane = result.resources["index/by-status"].lanes[Dimension.READ]
    units = lane.consumed_by_partition.of(4).sum(axis=1)
    shares = sorted(units / units.sum())
    assert shares[-1] == pytest.approx(0.9, abs=0.03) or shares[-1] == pytest.approx(1)  # both in one partition
    assert shares[0] == shares[1] == 0
    of_one = of(result)["units_per_request"]["index/by-status"]["read"]
    assert of_one == 40 * 6.5 + 0.5  # 500 entries of 100 B are 13 × 4 KB, halved; the last page finds nothing
    assert read_units(result) == 0


@LEVELS
def test_a_dear_filter_and_broken_walks_are_said(level: str) -> None:
    walk = query(rate=100, items=80, limit=20, filter_pass=0.1)
    result = run(scenario(walk, table=provisioned(read=200, burst_at_start=0), level=level, duration=60))
    told = " ".join(result.explanation)
    assert "filter of q threw away 80" in told  # nine tenths of all pages but the last, which finds nothing
    assert "broke off at a page that was given up" in told
    calm = " ".join(run(scenario(query(rate=5, items=80, limit=20), level=level, duration=60)).explanation)
    assert "threw away" not in calm
    assert "broke off" not in calm


@LEVELS
@pytest.mark.parametrize(
    "keys",
    [
        {"scatter": "shard"},
        {"scatter": "user", "pk": "{user}#{shard}"},
        {"partition": 2, "items": 50, "limit": 20},
        {"operation": "Scan", "partition": 2, "items": 50, "limit": 20, "segments": 3},
        {"items": 50, "limit": 20, "index": "L"},
        {"items": 50, "limit": 20, "index": "L", "fetches": True},
        {"item_bytes": 500_000, "items": 50, "limit": 20},
        {"items": 50, "limit": 20, "where": {"user": 3}, "pk": "DAY#{day}#{user}"},
    ],
)
def test_walks_of_every_kind_keep_their_books(level: str, keys: dict[str, Any]) -> None:
    fields = {
        "user": {"kind": "uniform", "count": 30},
        "shard": {"kind": "hash", "of": "user", "count": 5},
        "day": {"kind": "clock", "format": "%Y-%m-%dT%H:%M"},
    }
    table = {"pk": "U#{shard}", "sk": "{user}", "partitions": 4, "lsi": [{"name": "L", "sk": "{day}"}]}
    table["lsi"][0] |= {"projection": "KEYS_ONLY", "projected_bytes": 100}  # type: ignore[index]
    walk = query(rate=20, **{"items": 5, **keys})
    result = run(scenario(walk, table=table, fields=fields, level=level, duration=150))
    offered, succeeded, failed, attempts, _ = once(result)
    assert offered == pytest.approx(3000, abs=300)
    if "item_bytes" in keys:
        assert failed == offered == attempts
        return
    assert offered - 3 <= succeeded + failed <= offered
    found = of(result)
    assert attempts == pytest.approx(found["query"]["pages_per_request"] * offered, rel=0.01)
    assert read_units(result) == pytest.approx(found["units_per_request"][TABLE]["read"] * offered, rel=0.01)
    if "partition" in keys:
        assert by_partition(result)[2].sum() == pytest.approx(read_units(result))


# Flow against request.

CALM = [
    query(rate=80, items=10**6, limit=20, filter_pass=0.15, until=20),
    query(rate=300, items=45, limit=20),
    scan(rate=5, items=3000, item_bytes=500, limit=100, segments=4),
    query(rate=40, items=50, limit=20, missing=0.3, scatter="user"),
]


@pytest.mark.parametrize("walk", CALM)
def test_both_levels_agree_where_nothing_is_refused(walk: dict[str, Any]) -> None:
    keys = {"fields": {"user": {"kind": "uniform", "count": 6}}, "table": {"warm_read": 40_000}, "duration": 100}
    flow, request = (run(scenario(walk, level=level, **keys)) for level in ("flow", "request"))
    assert once(flow)[0] == once(request)[0]
    assert once(flow)[4] == once(request)[4] == 0
    assert once(flow)[3] == pytest.approx(once(request)[3], rel=0.01)
    assert once(flow)[1] == pytest.approx(once(request)[1], rel=0.002, abs=3)
    assert read_units(flow) == pytest.approx(read_units(request), rel=0.01)
    shares = [by_partition(result).sum(axis=1) / read_units(result) for result in (flow, request)]
    assert shares[0] == pytest.approx(shares[1], abs=0.03)


REFUSED = [
    (query(rate=100, items=80, limit=20), 200),
    (query(rate=200, items=10**6, limit=20, filter_pass=0.15, until=20), 500),
    (query(rate=300, items=35, limit=20, missing=0.2), 300),
    (scan(rate=40, items=1000, item_bytes=100, limit=25), 400),
]


@pytest.mark.parametrize(("walk", "capacity"), REFUSED)
def test_both_levels_agree_on_what_a_dry_bucket_serves(walk: dict[str, Any], capacity: float) -> None:
    keys = {"table": provisioned(read=capacity, burst_at_start=0), "duration": 150}
    flow, request = (run(scenario(walk, level=level, **keys)) for level in ("flow", "request"))
    assert once(request)[4] > 500
    assert read_units(flow) == pytest.approx(read_units(request), rel=0.01)
    assert once(flow)[3] == pytest.approx(once(request)[3], rel=0.05)
    assert once(flow)[4] == pytest.approx(once(request)[4], rel=0.15)
    assert once(flow)[1] == pytest.approx(once(request)[1], rel=0.15)
    for result in (flow, request):
        offered, succeeded, failed, attempts, throttled = once(result)
        assert failed == pytest.approx(throttled, rel=0.001)  # a walk is broken off once
        assert offered - succeeded - failed < 20
        assert throttled <= attempts


def test_a_request_that_empties_a_bucket_by_itself_is_said_to_be_for_the_request_level() -> None:
    job = scan(rate=1, arrivals="even", count=1, items=2_000_000)
    warnings = run(scenario(job)).to_dict()["warnings"]
    assert any("pages of one request cost" in warning and "request level" in warning for warning in warnings)
    calm = run(scenario(query(rate=10, items=30, limit=20))).to_dict()["warnings"]
    assert not any("pages of one request" in warning for warning in calm)


@pytest.mark.parametrize(
    "walk", [REFUSED[1], (scan(rate=0.5, items=10**5, item_bytes=500, segments=3), 4000), (CALM[3], 100)]
)
def test_a_run_is_the_same_however_it_is_cut(walk: tuple[dict[str, Any], float]) -> None:
    pattern_of, capacity = walk
    made = scenario(
        pattern_of,
        pattern(name="get", operation="GetItem", rate=50),
        fields={"user": {"kind": "uniform", "count": 6}},
        table=provisioned(read=capacity, burst_at_start=0.2) | {"partitions": 3},
        duration=60,
    )
    texts = {run(made, stretch_ticks=ticks).to_json() for ticks in (256, 7, 1)}
    assert len(texts) == 1


def test_a_single_page_stays_what_it_was() -> None:
    """One page a request takes no walk, whatever `pages` says."""
    for keys in ({"items": 20}, {"items": 10**6, "pages": 1}, {"items": 10, "limit": 11}):
        made = scenario(query(**keys))
        assert demand_of(made, made.traffic[0]).joint is Joint.ONE_OF
    made = scenario(query(items=11, limit=11))
    assert demand_of(made, made.traffic[0]).joint is Joint.WALK


def test_the_json_of_a_walk_is_the_formats() -> None:
    document = {
        "format": 1,
        "duration": 30,
        "fields": {"row": {"kind": "uniform", "count": 100}},
        "table": {"name": "t", "pk": "{row}", "mode": "on-demand"},
        "traffic": [{"name": "q", "operation": "Query", "rate": 5, "items": 50, "limit": 20}],
    }
    found = json.loads(run(from_dict(document)).to_json())["traffic"]["q"]["query"]
    assert set(found) == {
        "pages_per_request",
        "scanned",
        "returned",
        "empty_pages",
        "filtered_units",
        "units_p50",
        "units_p99",
    }
    assert (found["pages_per_request"], found["scanned"]) == (3, 50)
