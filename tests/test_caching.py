"""Reads behind DAX at both levels: what comes to the table, what is stale, and that the levels agree."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import partial
from typing import Any

import numpy as np
import pytest
from reference.small import pattern, scenario

import sim
from sim.clients.dax import NodeCache
from sim.keyspace.building import KeySpace, KeySpec
from sim.levels.demand import demand_of
from sim.levels.fluidcache import FluidCache
from sim.levels.identity import Keys
from sim.levels.laid import Laid
from sim.names import Dimension
from sim.results.result import Result
from sim.run import make_resources, run
from sim.scenario import Scenario

LEVELS = ("flow", "request")
FIELDS: dict[str, Any] = {"fields": {"user": {"kind": "uniform", "count": 10_000}}}
TWO_POINTS = 0.02  # of the hit ratio: what is asked of Che's approximation


def made(*patterns: dict[str, Any], level: str = "flow", dax: dict[str, Any] | None = None, **keys: Any) -> Scenario:
    zipf = {"user": {"kind": "zipf", "count": 10_000, "exponent": 1.0}}
    defaults: dict[str, Any] = {"fields": zipf, "table": {"pk": "USER#{user}"}, "duration": "5m", "seed": 3}
    return scenario(*patterns, level=level, dax=dax or {}, **{**defaults, **keys})


def reads(**keys: Any) -> dict[str, Any]:
    return pattern(**{"name": "reads", "operation": "GetItem", "rate": 200} | keys)


def writes(**keys: Any) -> dict[str, Any]:
    return pattern(**{"name": "writes", "operation": "PutItem", "rate": 50} | keys)


def of(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = result.to_dict()["dax"]
    return found


# The fluid picture of a cache, against the cache.


def measured(
    shares: np.ndarray, rate: float, capacity: float, ttl_s: float | None, seconds: float
) -> tuple[float, float]:
    """Hit ratio of a real cache, and that of its first quarter."""
    rng = np.random.default_rng(5)
    count = rng.poisson(rate * seconds)
    times = np.sort(rng.random(count) * seconds)
    keys = rng.choice(len(shares), count, p=shares)
    cache, hits = NodeCache(capacity, ttl_s), np.zeros(count, dtype=bool)
    for k, (now_s, key) in enumerate(zip(times.tolist(), keys.tolist(), strict=True)):
        hits[k] = cache.get(now_s, key) is not None
        if not hits[k]:
            cache.put(now_s, key)
    return float(hits.mean()), float(hits[times < seconds / 4].mean())


def fluid(shares: np.ndarray, rate: float, capacity: float, ttl_s: float | None, seconds: float) -> tuple[float, float]:
    cache = FluidCache(np.ones(len(shares)), np.ones(len(shares)), capacity, ttl_s)
    step_s, none, missed = seconds / 64, np.zeros(len(shares)), []
    for _ in range(64):
        missed.append(float(cache.step(step_s, shares * rate, none, none).misses.sum()))
    return 1 - sum(missed) / (rate * seconds), 1 - sum(missed[:16]) / (rate * seconds / 4)


@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.0])
@pytest.mark.parametrize(
    ("rate", "capacity", "ttl_s", "seconds"),
    [
        (200, math.inf, 60, 240),
        (200, 500, 60, 240),
        (200, 100, None, 120),
        (50, 700, 20, 240),
        (500, 300, 1, 60),
        (300, math.inf, 300, 300),
        (100, 400, 600, 300),
    ],
)
def test_the_characteristic_time_gives_the_hits_of_a_real_cache_cold_start_included(
    exponent: float, rate: float, capacity: float, ttl_s: float | None, seconds: float
) -> None:
    weights = np.arange(1, 1001) ** -exponent
    shares = weights / weights.sum()
    found = fluid(shares, rate, capacity, ttl_s, seconds)
    assert found == pytest.approx(measured(shares, rate, capacity, ttl_s, seconds), abs=TWO_POINTS)


def test_a_full_node_holds_what_it_has_room_for_and_nothing_more() -> None:
    shares = np.full(1000, 1e-3)
    cache = FluidCache(np.ones(1000), np.full(1000, 2.0), 600, None)
    for _ in range(50):
        cache.step(1.0, shares * 400, shares * 0, shares * 0)
    assert float(cache.cached.sum()) == pytest.approx(300, rel=1e-3)
    assert cache.characteristic_s == pytest.approx(-math.log(0.7) / 0.4, rel=1e-3)  # 1 - exp(-0.4 T) = 0.3


def test_alike_keys_without_eviction_miss_once_in_a_time_to_live_and_a_gap() -> None:
    cache = FluidCache(np.ones(1), np.ones(1), 10, 60.0)
    reads_per_s, none = np.array([0.05]), np.zeros(1)
    missed = sum(float(cache.step(2.0, reads_per_s, none, none).misses[0]) for _ in range(3000))
    assert missed == pytest.approx(6000 / (60 + 1 / 0.05), rel=0.01)  # a renewal every TTL + 1/rate


# Both levels.

CLUSTERS = {
    "roomy": {"nodes": 1, "item_ttl": "1m"},
    "three nodes": {"nodes": 3, "item_ttl": "2m"},
    "small": {"nodes": 1, "item_ttl": "5m", "capacity_items": 300},
    "small, short": {"nodes": 2, "item_ttl": "20s", "capacity_items": 700},
    "for ever": {"nodes": 2, "item_ttl": 0, "capacity_items": 1000},
    "under a tick": {"nodes": 1, "item_ttl": "500ms"},
}


@pytest.mark.parametrize("arrivals", ["poisson", "even"])
@pytest.mark.parametrize("dax", CLUSTERS.values(), ids=CLUSTERS)
def test_both_levels_hit_alike_at_zipf_1(dax: dict[str, Any], arrivals: str) -> None:
    flow, request = (run(made(reads(arrivals=arrivals), level=level, dax=dax)) for level in LEVELS)
    ratio = {name: of(result)["item_hit_fraction"] for name, result in (("flow", flow), ("request", request))}
    assert ratio["flow"] == pytest.approx(ratio["request"], abs=TWO_POINTS)
    assert 0.05 < ratio["request"] < 0.95
    cold = [np.array(r.to_dict()["series"]["dax"]["item_hits"][:1]) for r in (flow, request)]
    asked = [np.array(r.to_dict()["series"]["dax"]["item_reads"][:1]) for r in (flow, request)]
    assert cold[0] / asked[0] == pytest.approx(cold[1] / asked[1], abs=TWO_POINTS)


@pytest.mark.parametrize("level", LEVELS)
def test_hits_cost_nothing_and_are_no_attempts(level: str) -> None:
    result = run(made(reads(), level=level)).to_dict()
    missed = result["dax"]["item_reads"] - result["dax"]["item_hits"]
    assert result["attempts"]["total"] == missed
    assert result["consumed"]["table"]["read_units"] == pytest.approx(missed / 2)
    assert result["requests"]["succeeded"] == pytest.approx(result["requests"]["offered"], rel=1e-4)
    assert result["traffic"]["reads"]["answered_by_cache"] == result["dax"]["item_hits"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("keys", [{"consistent": True}, {"operation": "TransactGetItems", "batch": 2}, {"dax": False}])
def test_strong_and_transactional_reads_come_to_the_table_as_without_a_cache(level: str, keys: dict[str, Any]) -> None:
    one = made(reads(**keys), level=level)
    with_dax, without = run(one).to_dict(), run(one.model_copy(update={"dax": None})).to_dict()
    for part in ("requests", "attempts", "consumed", "throttles", "hot_keys"):
        assert with_dax[part] == without[part]
    offered = with_dax["requests"]["offered"]
    assert with_dax["dax"]["passed_through"] == (0 if "dax" in keys else offered)
    assert with_dax["dax"]["item_reads"] == 0


@pytest.mark.parametrize("level", LEVELS)
def test_writes_cost_what_they_cost_without_a_cache(level: str) -> None:
    for way in ("through", "around"):
        one = made(reads(), writes(item_bytes=3000), level=level, dax={"writes": way})
        with_dax, without = run(one).to_dict(), run(one.model_copy(update={"dax": None})).to_dict()
        assert with_dax["consumed"]["table"]["write_units"] == without["consumed"]["table"]["write_units"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("ttl_s", [10, 60, 240])
def test_reads_after_writes_around_are_stale_as_the_time_to_live_says(level: str, ttl_s: int) -> None:
    """A hit finds an entry of any age up to the TTL alike; a write has come in that time with 1 - exp(-rate × age)."""
    keys, read_per_s, write_per_s = 20, 400.0, 1.0
    dax = {"nodes": 1, "item_ttl": f"{ttl_s}s", "writes": "around"}
    fields = {"user": {"kind": "uniform", "count": keys}}
    both = (reads(rate=read_per_s), writes(rate=write_per_s))
    # A whole number of lives, so that every age has been met.
    result = run(made(*both, level=level, dax=dax, fields=fields, duration="8m"))
    x = write_per_s / keys * ttl_s
    law = 1 - (1 - math.exp(-x)) / x
    per_life = keys * 480 / ttl_s  # lives of an item; whether each met a write early or late is chance
    assert of(result)["stale_fraction"] == pytest.approx(law, abs=3 * 0.6 / math.sqrt(per_life) + 0.01)


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_is_stale_after_writes_through(level: str) -> None:
    result = of(run(made(reads(), writes(), level=level)))
    assert result["item_hits"] > 0
    assert result["stale_fraction"] == 0


def test_writes_through_warm_the_cache_alike_at_both_levels() -> None:
    dax = {"nodes": 2, "item_ttl": "1m", "capacity_items": 3000}
    warm = [of(run(made(reads(), writes(rate=150), level=level, dax=dax)))["item_hit_fraction"] for level in LEVELS]
    cold = of(run(made(reads(), level="request", dax=dax)))["item_hit_fraction"]
    assert warm[0] == pytest.approx(warm[1], abs=TWO_POINTS)
    assert min(warm) > cold + 0.03


def test_stale_reads_agree_between_the_levels_where_room_is_short_and_keys_are_uneven() -> None:
    dax = {"nodes": 2, "item_ttl": "1m", "capacity_items": 400, "writes": "around"}
    flow, request = (of(run(made(reads(), writes(rate=20), level=level, dax=dax))) for level in LEVELS)
    assert flow["item_hit_fraction"] == pytest.approx(request["item_hit_fraction"], abs=TWO_POINTS)
    assert flow["stale_fraction"] == pytest.approx(request["stale_fraction"], abs=0.04)
    assert request["stale_fraction"] > 0.1


@pytest.mark.parametrize("level", LEVELS)
def test_what_does_not_exist_is_cached_too(level: str) -> None:
    result = run(made(reads(missing=1.0), level=level)).to_dict()
    assert result["dax"]["item_hit_fraction"] > 0.7
    assert result["attempts"]["total"] == result["dax"]["item_reads"] - result["dax"]["item_hits"]


@pytest.mark.parametrize("level", LEVELS)
def test_keys_that_are_never_asked_twice_are_never_hit(level: str) -> None:
    fields = {"n": {"kind": "sequence"}}
    result = of(run(made(reads(), level=level, fields=fields, table={"pk": "N#{n}"})))
    assert (result["item_reads"] > 0, result["item_hits"]) == (True, 0)


def test_a_population_too_large_to_list_is_still_asked_again() -> None:
    """Two million ids at 20,000 reads/s for two minutes: about 1.2 reads each, none of them listed."""
    fields = {"user": {"kind": "uniform", "count": 2_000_000}}
    result = of(run(made(reads(rate=20_000), fields=fields, duration="2m", dax={"item_ttl": "1h"})))
    x = 20_000 * 120 / 2_000_000
    assert result["item_hit_fraction"] == pytest.approx(1 - (1 - math.exp(-x)) / x, abs=TWO_POINTS)


def test_the_background_is_asked_again_alike_at_both_levels() -> None:
    fields = {"user": {"kind": "uniform", "count": 2**20 + 1}, "part": {"kind": "uniform", "count": 2}}
    table = {"pk": "P#{part}", "sk": "USER#{user}"}
    dax = {"item_ttl": "1h", "capacity_items": 20_000}
    flow, request = (
        of(run(made(reads(rate=1000), level=level, fields=fields, table=table, dax=dax, duration="2m")))
        for level in LEVELS
    )
    assert flow["item_hit_fraction"] == pytest.approx(request["item_hit_fraction"], abs=0.005)
    assert 0.001 < request["item_hit_fraction"] < 0.1


def test_sort_keys_tell_items_apart() -> None:
    fields = {"user": {"kind": "zipf", "count": 100, "exponent": 1.0}, "order": {"kind": "uniform", "count": 50}}
    table = {"pk": "USER#{user}", "sk": "ORDER#{order}"}
    flow, request = (of(run(made(reads(), level=level, fields=fields, table=table))) for level in LEVELS)
    assert flow["item_hit_fraction"] == pytest.approx(request["item_hit_fraction"], abs=TWO_POINTS)
    one = of(run(made(reads(sk="PROFILE"), level="request", fields=fields, table=table)))
    assert one["item_hit_fraction"] > request["item_hit_fraction"] + 0.02


def test_batches_ask_item_by_item_alike_at_both_levels() -> None:
    batch = reads(operation="BatchGetItem", batch=8, rate=25)
    flow, request = (run(made(batch, level=level, dax={"item_ttl": "1m"})).to_dict() for level in LEVELS)
    assert flow["dax"]["item_hit_fraction"] == pytest.approx(request["dax"]["item_hit_fraction"], abs=TWO_POINTS)
    assert flow["dax"]["item_reads"] == 8 * flow["requests"]["offered"]
    assert flow["attempts"]["total"] == pytest.approx(request["attempts"]["total"], rel=0.05)
    assert request["attempts"]["total"] < request["requests"]["offered"]


QUERIES = {
    "query": reads(operation="Query", items=3),
    "scan": reads(operation="Scan", items=3, rate=5),
    "not cached": reads(operation="Query", items=3),
}


@pytest.mark.parametrize("name", QUERIES)
def test_queries_have_a_cache_of_their_own_at_both_levels(name: str) -> None:
    dax = {"query_ttl": 0 if name == "not cached" else "30s", "item_ttl": "1h"}
    both = (QUERIES[name], writes(rate=2 if name == "query" else 0.05))
    flow, request = (of(run(made(*both, level=level, dax=dax, duration="8m"))) for level in LEVELS)
    assert flow["query_hit_fraction"] == pytest.approx(request["query_hit_fraction"], abs=TWO_POINTS)
    assert flow["stale_fraction"] == pytest.approx(request["stale_fraction"], abs=0.15 if name == "scan" else 0.03)
    assert (request["item_reads"], flow["item_reads"]) == (0, 0)
    if name == "not cached":
        assert request["query_reads"] == 0
        assert request["passed_through"] > 0
    else:
        assert request["stale_fraction"] > 0.01, "no query cache hears of a write, even through the cluster"


def test_queries_on_an_index_are_cached_and_made_stale_by_its_entries_alone() -> None:
    table = {"pk": "USER#{user}", "gsi": [{"name": "G", "pk": "STATUS#{status}", "projection": "ALL"}]}
    fields = {
        "user": {"kind": "uniform", "count": 1000},
        "status": {"kind": "choice", "weights": {"open": 1, "done": 9}},
    }
    query = reads(operation="Query", index="G", where={"status": "open"}, rate=50)
    for touches, law in (("all", 1 - (1 - math.exp(-6)) / 6), ([], 0.0)):  # 2/s × a tenth × 30 s
        both = (query, writes(rate=2, touches=touches))
        for level in LEVELS:
            one = made(*both, level=level, dax={"query_ttl": "30s"}, table=table, fields=fields, duration="20m")
            assert of(run(one))["stale_fraction"] == pytest.approx(law, abs=0.06)


@pytest.mark.parametrize("level", LEVELS)
def test_a_transaction_written_through_is_read_back_in_the_background(level: str) -> None:
    write = writes(operation="TransactWriteItems", batch=3, rate=20, item_bytes=5000)
    result = run(made(write, level=level)).to_dict()
    around = run(made(write, level=level, dax={"writes": "around"})).to_dict()
    offered = result["requests"]["offered"]
    # 2 read units per item and 4 KB: two of 4 KB each (F-DAX-3).
    assert result["consumed"]["table"]["read_units"] == pytest.approx(offered * 3 * 4, rel=5 / math.sqrt(offered))
    assert around["consumed"]["table"]["read_units"] == 0
    assert list(result["traffic"]) == ["writes"]
    assert result["attempts"]["total"] == offered


@pytest.mark.parametrize("level", LEVELS)
def test_nodes_turn_away_what_they_have_no_room_for(level: str) -> None:
    """75,000/s × 0.001 for each of two nodes: 150 of 200 requests a second."""
    calibration = {"base": "default", "dax_node_throughput_factor": 0.001}
    one = made(reads(rate=150), writes(rate=50), level=level, dax={"nodes": 2}, calibration=calibration)
    result = run(one).to_dict()
    assert result["dax"]["refused"] / result["dax"]["requests"] == pytest.approx(0.25, abs=0.02)
    assert result["failures"][0]["error"] == "ThrottlingException"
    assert result["failures"][0]["count"] == pytest.approx(result["dax"]["refused"], abs=1)
    assert result["attempts"]["throttled"] == 0
    assert any("no room" in sentence for sentence in result["explanation"])


@pytest.mark.parametrize("height", [7, 64, 1000])
def test_the_height_of_a_stretch_changes_no_byte_behind_a_cache(height: int) -> None:
    fields = {
        "user": {"kind": "zipf", "count": 5000, "exponent": 1.1},
        "minute": {"kind": "clock", "format": "%H:%M"},
    }
    one = made(
        reads(rate=[["0s", 900], ["3m", 2500]], client={"retry": "standard", "max_attempts": 3}),
        reads(name="dated", pk="D#{minute}#{user}", rate=300),
        reads(name="batch", operation="BatchGetItem", batch=5, missing=0.2, rate=90),
        reads(name="query", operation="Query", items=4, rate=200, arrivals="even"),
        reads(name="strong", consistent=True, rate=50),
        writes(rate=120),
        writes(name="pair", operation="TransactWriteItems", batch=2, rate=9),
        fields=fields,
        table={
            "pk": "USER#{user}",
            "mode": "provisioned",
            "read_capacity": 500,
            "write_capacity": 150,
            "burst_at_start": 0,
        },
        dax={"nodes": 2, "item_ttl": "90s", "query_ttl": "20s", "capacity_items": 800, "writes": "around"},
        calibration={"base": "default", "dax_node_throughput_factor": 0.018},
        duration="7m",
        period="10s",
    )
    result = run(one, stretch_ticks=height)
    assert result.to_json() == run(one, stretch_ticks=100).to_json()
    assert result.throttled > 0
    assert of(result)["refused"] > 0


def test_misses_are_flatter_than_reads() -> None:
    with_dax = run(made(reads(rate=2000), dax={"item_ttl": "5m"})).to_dict()
    without = run(made(reads(rate=2000)).model_copy(update={"dax": None})).to_dict()
    assert without["hot_keys"][0]["share"] == pytest.approx(0.102, abs=0.005)
    assert with_dax["hot_keys"][0]["share"] < 0.001


def test_a_key_that_moves_with_the_clock_is_cold_again_at_each_turn() -> None:
    fields = {"user": {"kind": "uniform", "count": 500}, "minute": {"kind": "clock", "format": "%H:%M"}}
    one = [made(reads(pk="D#{minute}#{user}"), level=level, fields=fields, dax={"item_ttl": "1h"}) for level in LEVELS]
    flow, request = (of(run(each))["item_hit_fraction"] for each in one)
    x = 200 * 60 / 500
    assert flow == pytest.approx(1 - (1 - math.exp(-x)) / x, abs=TWO_POINTS)
    assert flow == pytest.approx(request, abs=TWO_POINTS)


def test_the_explanation_says_what_the_cache_took_away_and_what_it_does_not_help() -> None:
    told = run(made(reads(), reads(name="strong", consistent=True), writes(), dax={"writes": "around"})).explanation
    (sentence,) = (text for text in told if text.startswith("DAX answered"))
    assert "item reads" in sentence
    assert "strongly consistent" in sentence
    assert "writes cost what they cost" in sentence
    assert any("had been written since it was cached" in text for text in told)


def test_closed_loops_meet_the_cache_too() -> None:
    one = made(
        {"name": "reads", "operation": "GetItem", "threads": 4}, level="request", duration="8s", dax={"item_ttl": "1m"}
    )
    result = run(one).to_dict()
    assert result["dax"]["item_hit_fraction"] > 0.8
    assert 0.27 < result["traffic"]["reads"]["latency_ms"]["p50"] < 0.45  # a hit's, and more while the cache is cold
    # Little's law: four threads, and each request takes its time.
    mean_s = 4 * 8 / result["requests"]["offered"]
    assert 0.0003 < mean_s < 0.002


@pytest.mark.parametrize("rate", [100, 400])
def test_a_cold_cache_behind_a_small_table_fills_slowly_alike_at_both_levels(rate: float) -> None:
    """What the table refuses is not cached, so it is asked again: a cold cluster before a table that lived from it."""
    fields = {"user": {"kind": "uniform", "count": 4000}}
    table = {"mode": "provisioned", "read_capacity": 10, "write_capacity": 1, "burst_at_start": 0, "pk": "USER#{user}"}
    flow, request = (
        run(made(reads(rate=rate), level=level, fields=fields, table=table, dax={"item_ttl": "1h"})).to_dict()
        for level in LEVELS
    )
    assert flow["dax"]["item_hit_fraction"] == pytest.approx(request["dax"]["item_hit_fraction"], abs=TWO_POINTS)
    assert flow["throttled_fraction"] == pytest.approx(request["throttled_fraction"], abs=0.03)
    assert request["throttled_fraction"] > 0.3


def test_a_longer_time_to_live_takes_more_load_away_and_leaves_more_of_it_stale() -> None:
    """Row S-DAX: 1 h, 5 min, 1 min."""
    found = []
    for ttl in ("1h", "5m", "1m"):
        both = (reads(rate=2000), writes(rate=20))
        one = made(*both, dax={"nodes": 3, "item_ttl": ttl, "writes": "around"}, duration="1h")
        result = run(one).to_dict()
        found.append((result["dax"]["item_hit_fraction"], result["dax"]["stale_fraction"]))
    hits, stale = zip(*found, strict=True)
    assert hits[0] > 0.95 > hits[2]
    assert list(hits) == sorted(hits, reverse=True)
    assert list(stale) == sorted(stale, reverse=True)


def test_what_nobody_asks_for_any_more_makes_room_for_what_comes() -> None:
    both = (reads(name="old", ends="2m", pk="OLD#{user}"), reads(name="new", starts="2m", rate=100, pk="NEW#{user}"))
    for items in (500, 3000):
        dax = {"item_ttl": 0, "capacity_items": items}
        flow, request = (run(made(*both, level=level, dax=dax)).to_dict() for level in LEVELS)
        for result in (flow, request):
            assert sum(result["series"]["dax"]["item_hits"]) > 0
        assert flow["dax"]["item_hit_fraction"] == pytest.approx(request["dax"]["item_hit_fraction"], abs=TWO_POINTS)


@pytest.mark.parametrize("level", ["flow", "request"])
def test_a_query_is_asked_again_under_its_partition_key_whatever_the_items_sort_keys_are(level: str) -> None:
    """Items under ever-increasing sort keys: five tenants' "latest orders" are five questions, not a new one each time."""
    document = {
        "format": 1,
        "level": level,
        "duration": "3m",
        "fields": {"tenant": {"kind": "uniform", "count": 5}, "order": {"kind": "sequence"}},
        "table": {"pk": "T#{tenant}", "sk": "O#{order}", "mode": "on-demand"},
        "dax": {"query_ttl": "1m"},
        "traffic": [{"name": "latest", "operation": "Query", "items": 20, "rate": 50}],
    }
    result = sim.run(sim.from_dict(document)).to_dict()
    # 9,000 questions; each of five misses once a minute.
    assert result["dax"]["query_hit_fraction"] == pytest.approx(1 - 15 / 9000, abs=0.002)


# Batches under one partition key, of whose items some are missing.


def test_batches_of_one_key_are_answered_item_by_item_at_any_stretch() -> None:
    batches = reads(operation="BatchGetItem", batch=3, batch_keys="same-partition-key", missing=0.3, arrivals="even")
    document = made(batches, dax={"capacity_items": 1}, duration="1m", period="1s", **FIELDS)
    result = run(document)
    hits = result.to_dict()["series"]["dax"]["item_hits"]
    assert min(hits) >= 0
    assert sum(hits) < 0.01 * of(result)["item_reads"]
    assert run(document, stretch_ticks=7).to_json() == result.to_json()


@pytest.mark.parametrize("dax", [None, {}])
def test_items_of_a_batch_of_one_key_go_missing_one_by_one_at_the_request_level(dax: dict[str, Any] | None) -> None:
    batches = reads(
        operation="BatchGetItem", batch=4, batch_keys="same-partition-key", missing=0.3, item_bytes=9000, rate=50
    )
    table = {"pk": "USER#{user}", "partitions": 5}
    behind = {} if dax is None else {"dax": dax}
    found = run(scenario(batches, level="request", duration="1m", table=table, **FIELDS, **behind))
    assert found.to_dict()["requests"]["failed"] == 0
    if dax is None:
        each = 0.7 * 1.5 + 0.3 * 0.5
        offered = found.to_dict()["requests"]["offered"]
        assert found.to_dict()["consumed"]["table"]["read_units"] == pytest.approx(offered * 4 * each, rel=0.02)


def test_queries_that_follow_pass_the_cache_by_at_the_flow_level() -> None:
    after = {"traffic": "reads", "per": 0.5}
    query = {"name": "after", "operation": "Query", "follows": after, "items": 1}
    result = run(made(reads(), query, duration="1m", table={"pk": "USER#{user}", "sk": "S"}))
    assert any(sentence.startswith("after follows another pattern") for sentence in result.warnings)
    assert result.to_dict()["traffic"]["after"]["attempts"] > 0


def test_times_that_lie_a_rounding_error_after_an_edge_hold_no_run_up() -> None:
    progress: list[float] = []

    def note(fraction: float) -> None:
        progress.append(fraction)

    behind = {"nodes": 3, "item_ttl": "7s", "capacity_items": 5}
    run(made(reads(rate=0.5, starts=5), dax=behind, tick=0.1, duration="3m"), progress=note)
    assert progress[-1] == 1


@pytest.mark.parametrize("count", [50, 2**20 + 5])
def test_a_key_drawn_alone_is_the_key_drawn_among_others(count: int) -> None:
    fields = {"user": {"kind": "uniform", "count": count}, "order": {"kind": "zipf", "count": 9, "exponent": 1}}
    one = made(reads(), fields=fields, table={"pk": "USER#{user}", "sk": "ORDER#{order}"})
    demand, spec = demand_of(one, one.traffic[0]), KeySpec("USER#{user}", "ORDER#{order}")
    keyspace, resource = KeySpace(one, [spec]), make_resources(one)["table"]
    assert demand.legs[0].spec == spec
    laid = Laid("reads", resource, Dimension.READ, 0.5, partial(keyspace.spread, spec))
    keys = Keys(laid, partial(keyspace.spread, spec), partial(keyspace.sort_keys, spec))
    rng = np.random.default_rng(1)
    columns, chance, sort_chance = rng.integers(0, 4, 300), rng.random(300), rng.random(300)
    many = list(zip(*(row.tolist() for row in keys.draw(columns, chance, sort_chance)), strict=True))
    assert [keys.draw_one(*row) for row in zip(columns.tolist(), chance, sort_chance, strict=True)] == many
    cuts = [cut.hash for cut in resource.partitions.cuts]
    held = [bisect_right(cuts, owner) - 1 for _, owner in many]
    # What is not listed stands for a cell of the hash space, which may begin before its partition does.
    width = 2**64 / count
    assert all(
        k == column or cuts[column] - owner < width for k, column, (_, owner) in zip(held, columns, many, strict=True)
    )
