"""Requests that follow others: copies, inverse edges, counters and consumers of a stream. Figures are derived on paper beside each test."""

from __future__ import annotations

import json
from typing import Any

import pytest

import sim
from sim.keyspace.hashing import position_of
from sim.keyspace.position import HASH_SPACE

LEVELS = ["flow", "request"]
FIELDS = {"user": {"kind": "uniform", "count": 10**6}, "shard": {"kind": "uniform", "count": 10}}
ROOMY = {"mode": "provisioned", "read_capacity": 30_000, "write_capacity": 30_000, "partitions": 30}
SMALL = {"mode": "provisioned", "read_capacity": 30_000, "burst_at_start": 0}


def run(*traffic: dict[str, Any], stretch: int = 256, **top: Any) -> dict[str, Any]:
    """The result of puts of 1 KB at the keys of a million users, evenly spaced, for 100 s, unless said otherwise."""
    table = {"name": "t", "pk": "USER#{user}", **(top.pop("table", None) or ROOMY)}
    fields = FIELDS | top.pop("fields", {})
    evenly = [{} if "follows" in one else {"arrivals": "even"} for one in traffic]
    patterns = [{"operation": "PutItem", **spaced, **one} for spaced, one in zip(evenly, traffic, strict=True)]
    made = {"format": 1, "duration": "100s", "fields": fields, "table": table, "traffic": patterns, **top}
    result: dict[str, Any] = json.loads(sim.run(sim.from_dict(made), stretch_ticks=stretch).to_json())
    return result


def offered(result: dict[str, Any], name: str) -> float:
    count: float = result["traffic"][name]["offered"]
    return count


def succeeded(result: dict[str, Any], name: str) -> float:
    count: float = result["traffic"][name]["succeeded"]
    return count


def writes(result: dict[str, Any]) -> float:
    units: float = result["consumed"]["table"]["write_units"]
    return units


# How many come, and when.


@pytest.mark.parametrize("level", LEVELS)
def test_a_rename_rewrites_its_copies(level: str) -> None:
    """Ten renames, each copied into 120 places a second later: 10 + 1,200 writes of one unit."""
    result = run(
        {"name": "rename", "operation": "UpdateItem", "rate": 0.1},
        {"name": "copies", "operation": "UpdateItem", "follows": {"traffic": "rename", "per": 120, "delay": "1s"}},
        level=level,
    )
    assert succeeded(result, "rename") == 10
    assert offered(result, "copies") == succeeded(result, "copies") == 1200
    assert writes(result) == 1210


@pytest.mark.parametrize("level", LEVELS)
def test_a_rename_finds_what_the_table_has_gathered(level: str) -> None:
    """Ten write units a second, ten there at the start: of each 120 copies as many pass as units came since the last.

    The first wave finds 10 + 10 × 1 s, less one for its rename; each later one 100 from ten seconds, less one: 19 + 9 × 99 = 910. The
    moment within its second may add or take one second's units once.
    """
    result = run(
        {"name": "rename", "operation": "UpdateItem", "rate": 0.1},
        {"name": "copies", "operation": "UpdateItem", "follows": {"traffic": "rename", "per": 120, "delay": "1s"}},
        level=level,
        table=SMALL | {"write_capacity": 10, "partitions": 1},
    )
    assert offered(result, "copies") == 1200
    assert succeeded(result, "copies") == pytest.approx(910, abs=20)


@pytest.mark.parametrize("level", LEVELS)
def test_a_chain_multiplies(level: str) -> None:
    """Leaders end at second 50: 500 of them, 1,000 after those, 3,000 after these."""
    result = run(
        {"name": "c", "follows": {"traffic": "b", "per": 3, "delay": "2s"}},
        {"name": "a", "rate": 10, "ends": "50s"},
        {"name": "b", "operation": "GetItem", "follows": {"traffic": "a", "per": 2}},
        level=level,
    )
    assert [offered(result, name) for name in "abc"] == [500, 1000, 3000]
    assert [succeeded(result, name) for name in "abc"] == [500, 1000, 3000]


@pytest.mark.parametrize(("level", "per", "count"), [(level, per, 500 * per) for level in LEVELS for per in (0.3, 1.7)])
def test_parts_of_a_request_are_carried_on(level: str, per: float, count: float) -> None:
    result = run(
        {"name": "a", "rate": 10, "ends": "50s"}, {"name": "b", "follows": {"traffic": "a", "per": per}}, level=level
    )
    assert offered(result, "b") == count


@pytest.mark.parametrize("level", LEVELS)
def test_followers_come_after_the_delay(level: str) -> None:
    """Leaders in [0 s, 10 s) at 7 a second, followers 30 s and an answer later: none before 30 s, all by 41 s."""
    result = run(
        {"name": "a", "rate": 7, "ends": "10s"},
        {"name": "b", "follows": {"traffic": "a", "delay": "30s"}},
        level=level,
        period="1s",
    )
    series = result["series"]["traffic"]["b"]["offered"]
    assert sum(series) == 70
    assert sum(series[30:41]) == 70


@pytest.mark.parametrize("level", LEVELS)
def test_a_window_and_a_count_hold_for_followers(level: str) -> None:
    """One a second, each a second and an answer after its leader: 20 of them in [20 s, 40 s), and the seventh of a job by second 28."""
    leader = {"name": "a", "rate": 1}
    follower = {"name": "b", "follows": {"traffic": "a", "delay": "1s"}, "starts": "20s", "ends": "40s"}
    window = run(leader, follower, level=level, period="1s")["series"]["traffic"]["b"]["offered"]
    assert sum(window[:20]) == sum(window[40:]) == 0
    assert sum(window) == pytest.approx(20, abs=1)
    counted = run(leader, follower | {"count": 7}, level=level)["traffic"]["b"]
    assert counted["offered"] == 7
    assert counted["finished_s"] == pytest.approx(28, abs=2)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("leader", [{"condition_fails": 1}, {"item_bytes": 500_000}])
def test_who_never_succeeds_has_no_followers(level: str, leader: dict[str, Any]) -> None:
    result = run(
        {"name": "a", "rate": 10, **leader},
        {"name": "b", "follows": {"traffic": "a", "per": 5}},
        {"name": "c", "follows": {"traffic": "b"}},
        level=level,
    )
    assert offered(result, "a") == 1000
    assert offered(result, "b") == offered(result, "c") == 0


@pytest.mark.parametrize("level", LEVELS)
def test_a_throttled_leader_has_followers_for_what_it_served(level: str) -> None:
    """150 of 200 writes a second pass, and each is read twice: 300 reads a second (15,000 + one second's worth at the start)."""
    result = run(
        {"name": "a", "rate": 200},
        {"name": "b", "operation": "GetItem", "follows": {"traffic": "a", "per": 2, "delay": "1500ms"}},
        level=level,
        table=SMALL | {"write_capacity": 150, "partitions": 1},
        period="1s",
    )
    assert succeeded(result, "a") == pytest.approx(15_150, abs=150)
    lost = 2 * sum(result["series"]["traffic"]["a"]["succeeded"][98:])  # their followers come after the end, in half
    assert offered(result, "b") == pytest.approx(2 * succeeded(result, "a") - 0.75 * lost, abs=160)


@pytest.mark.parametrize("delay", ["0s", "700ms", "1s", "12s"])
def test_leaders_and_followers_share_a_dry_table(delay: str) -> None:
    """100 leaders a second and two followers each on 150 units: where all attempts fare alike, of x leaders served 100 (x/100) pass.

    s = 150 / (100 + 2 × 100 s) gives s = 0.651 of the leaders, and as much of the followers. A long delay lets each leader-second meet the
    followers of another one, which in the steady state is the same. Together they use all there is.
    """
    result = run(
        {"name": "a", "rate": 100},
        {"name": "b", "follows": {"traffic": "a", "per": 2, "delay": delay}},
        table=SMALL | {"write_capacity": 150, "partitions": 1},
        duration="10m",
    )
    assert writes(result) == pytest.approx(150 * 601, rel=0.001)
    assert succeeded(result, "a") / offered(result, "a") == pytest.approx(0.651, abs=0.02)
    assert any("follow" in sentence for sentence in result["warnings"])


@pytest.mark.parametrize("write", [30_000, 300, 150])
@pytest.mark.parametrize("delay", ["0s", "1500ms", "5s"])
def test_the_height_of_a_stretch_changes_no_byte_of_what_follows(write: int, delay: str) -> None:
    traffic = [
        {"name": "a", "rate": 140, "arrivals": "poisson", "client": {"retry": "standard"}},
        {"name": "b", "follows": {"traffic": "a", "per": 1.3, "delay": delay}},
        {"name": "c", "operation": "GetItem", "follows": {"traffic": "b", "per": 1.7}, "missing": 0.3},
        {
            "name": "d",
            "operation": "BatchWriteItem",
            "batch": 5,
            "starts": "10s",
            "ends": "90s",
            "count": 300,
            "follows": {"traffic": "c", "per": 0.05, "delay": "3s"},
        },
    ]
    table = SMALL | {"write_capacity": write, "partitions": 3, "burst_at_start": 0.02}
    found = [run(*traffic, stretch=height, table=table, period="10s") for height in (1, 7, 100, 256)]
    assert all(one == found[0] for one in found)


def test_both_levels_agree_where_leaders_and_followers_do_not_meet() -> None:
    """Poisson leaders that are written, followers that are read; four standard deviations of the count drawn by either level."""
    made = [
        run(
            {"name": "a", "rate": 300, "arrivals": "poisson"},
            {"name": "b", "operation": "GetItem", "item_bytes": 9000, "follows": {"traffic": "a", "per": 2.5}},
            table=SMALL | {"write_capacity": 200, "partitions": 2},
            level=level,
        )
        for level in LEVELS
    ]
    assert offered(made[0], "a") == offered(made[1], "a")
    assert succeeded(made[0], "a") == pytest.approx(succeeded(made[1], "a"), rel=0.01)
    assert offered(made[0], "b") == pytest.approx(offered(made[1], "b"), rel=0.01)


PAGES = {"items": 5000, "item_bytes": 1024, "pk": "LIST"}  # five pages of 1,024 items at the most


@pytest.mark.parametrize("level", LEVELS)
def test_walks_lead_and_follow(level: str) -> None:
    """A write is followed by a walk of five pages, and each walk that comes to its end by two writes: 200, 200 walks, 400."""
    result = run(
        {"name": "a", "rate": 4, "ends": "50s"},
        {"name": "walk", "operation": "Query", **PAGES, "follows": {"traffic": "a"}},
        {"name": "b", "follows": {"traffic": "walk", "per": 2}},
        level=level,
    )
    assert [offered(result, name) for name in ("a", "walk", "b")] == [200, 200, pytest.approx(400, abs=1)]
    assert succeeded(result, "walk") == pytest.approx(200, abs=1e-3)
    assert result["traffic"]["walk"]["attempts"] == pytest.approx(1000, rel=1e-3)


@pytest.mark.parametrize("read", [30_000, 1500])
def test_the_height_of_a_stretch_changes_no_byte_of_walks_that_lead(read: int) -> None:
    traffic = [
        {"name": "walk", "operation": "Query", **PAGES, "rate": 4, "arrivals": "poisson"},
        {"name": "b", "follows": {"traffic": "walk", "per": 1.5}},
        {"name": "walk2", "operation": "Query", **PAGES, "follows": {"traffic": "b", "per": 0.5, "delay": "2s"}},
    ]
    table = SMALL | {"read_capacity": read, "write_capacity": 100, "partitions": 3}
    found = [run(*traffic, stretch=height, table=table, period="10s") for height in (1, 7, 256)]
    assert all(one == found[0] for one in found)


# Designs that live from it.


def place(key: str, partitions: int) -> int:
    """The equal range that a key lies in."""
    return position_of(key) * partitions // HASH_SPACE


@pytest.mark.parametrize("level", LEVELS)
def test_an_adjacency_list_written_both_ways_costs_twice_and_heats_two_sides(level: str) -> None:
    """400 edges a second of one star user in one viral group: 800 write units, half of them at either end."""
    one_way = run({"name": "edge", "rate": 400, "pk": "USER#star"}, level=level)
    both = run(
        {"name": "edge", "rate": 400, "pk": "USER#star"},
        {"name": "inverse", "pk": "GROUP#viral", "follows": {"traffic": "edge", "per": 1}},
        level=level,
        duration="101s",
    )
    assert writes(one_way) == 40_000
    assert writes(both) == pytest.approx(2 * 40_400, abs=8)
    shares = {key["key"]: key["share"] for key in both["hot_keys"]}
    assert shares == {"USER#star": pytest.approx(0.5, abs=1e-3), "GROUP#viral": pytest.approx(0.5, abs=1e-3)}


@pytest.mark.parametrize("level", LEVELS)
def test_both_sides_of_an_edge_are_limited_by_the_hotter(level: str) -> None:
    """1,600 edges a second from one user: 1,000 pass, and of their inverses, over a million groups, those outside the dry partition."""
    result = run(
        {"name": "edge", "rate": 1600, "pk": "USER#star"},
        {"name": "inverse", "pk": "GROUP#{user}", "follows": {"traffic": "edge", "per": 1}},
        level=level,
        duration="60s",
    )
    assert succeeded(result, "edge") / 60 == pytest.approx(1000, rel=0.04)  # one second's worth at the start
    assert 28.5 / 30 < succeeded(result, "inverse") / succeeded(result, "edge") < 1
    assert {key["key"] for key in result["hot_keys"] if key["throttled"]} == {"USER#star"}


EVENTS = 2500  # a second, to be counted


@pytest.mark.parametrize("level", LEVELS)
def test_five_ways_to_keep_a_total(level: str) -> None:
    """2,500 events a second.

    One counter item takes 1,000 updates. Ten shards take what their places allow: each partition 1,000, each shard a tenth of the
    events. Put and counter in one transaction cost 2 units each, so the counter takes 500, and at the request level, where those that
    find another one at work are cancelled, one in L = 20 ms and the time until the next comes, 2 ms at most on average. A
    consumer of the stream that adds up ten events before it writes asks 250 of it, and every event is stored.
    """
    duration, partitions = 20, 30
    answers = {"latency_transaction_ms_p50": 20, "latency_transaction_ms_p99": 20}
    top = {"level": level, "duration": duration, "calibration": {"split_delay_s": 600.0, **answers}}

    def per_second(result: dict[str, Any], name: str) -> float:
        return succeeded(result, name) / (duration + 1)  # a second's worth is there at the start

    one = run({"name": "count", "operation": "UpdateItem", "rate": EVENTS, "pk": "COUNT"}, **top)
    assert per_second(one, "count") == pytest.approx(1000, rel=0.01)

    sharded = run({"name": "count", "operation": "UpdateItem", "rate": EVENTS, "pk": "COUNT#{shard}"}, **top)
    in_partition = [0] * partitions
    for shard in range(10):
        in_partition[place(f"COUNT#{shard}", partitions)] += 1
    law = sum(min(1000.0, shards * EVENTS / 10) for shards in in_partition)
    assert per_second(sharded, "count") == pytest.approx(law, rel=0.05)

    actions = [{"operation": "PutItem", "pk": "EVENT#{user}"}, {"operation": "UpdateItem", "pk": "COUNT"}]
    tied = run({"name": "count", "operation": "TransactWriteItems", "rate": EVENTS, "actions": actions}, **top)
    if level == "flow":
        assert per_second(tied, "count") == pytest.approx(500, rel=0.03)
        assert any("TransactionCanceledException" in sentence for sentence in tied["warnings"])
    else:
        assert 1 / 0.022 * 0.97 < succeeded(tied, "count") / duration < 1 / 0.020

    streamed = run(
        {"name": "event", "rate": EVENTS, "pk": "EVENT#{user}"},
        {
            "name": "count",
            "operation": "UpdateItem",
            "pk": "COUNT",
            "follows": {"traffic": "event", "per": 0.1, "delay": "1s"},
        },
        **top,
    )
    assert offered(streamed, "event") == EVENTS * duration
    assert streamed["requests"]["failed"] == 0
    assert succeeded(streamed, "count") == pytest.approx(250 * (duration - 1), abs=3)  # a second later
    assert streamed["throttled_fraction"] == 0


def test_random_shards_and_shards_by_hash_spread_alike() -> None:
    """md5 of a million ids modulo ten is as even as a random suffix: each shard a tenth of the traffic, to half a percent."""
    fields = {"bucket": {"kind": "hash", "of": "user", "count": 10}}
    for pk in ("HOT#{shard}", "HOT#{bucket}"):
        result = run({"name": "a", "rate": 1000, "pk": pk}, fields=fields)
        shares = sorted(key["share"] for key in result["hot_keys"])
        assert len(shares) == 10
        assert shares == pytest.approx([0.1] * 10, abs=0.005)
