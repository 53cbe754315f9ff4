"""What is stored: item collections up to 10 GB under a local index, growth by new items, deletes, and splits for size."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import sim
from sim.names import SplitReason
from sim.results.result import Result

LEVELS = ["flow", "request"]
GB = 2**30
KB = 1024
FIELDS = {
    "tenant": {"kind": "choice", "weights": {"big": 0.8, "small": 0.2}},
    "seq": {"kind": "sequence"},
    "slot": {"kind": "uniform", "count": 10},
}
LSI = [{"name": "ByDate", "sk": "{seq}", "projection": "ALL"}]


def simulate(*traffic: dict[str, Any], stretch: int = 256, **top: Any) -> Result:
    """A run of puts of 1 KB, evenly spaced, of tenants under a local index, unless said otherwise."""
    table = {"name": "t", "pk": "T#{tenant}", "sk": "{seq}", "mode": "on-demand", "lsi": LSI, **top.pop("table", {})}
    patterns = [{"name": "w", "operation": "PutItem", "arrivals": "even", **one} for one in traffic]
    fields = FIELDS | top.pop("fields", {})
    made = {"format": 1, "duration": "5m", "fields": fields, "table": table, "traffic": patterns, **top}
    return sim.run(sim.from_dict(made), stretch_ticks=stretch)


def told(result: Result) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(result.to_json())
    return made


def at_end(result: Result) -> float:
    """Bytes in the table at the end: the mean of start and end is on the bill, with 100 bytes more for each item of 1 KB."""
    start = float(result.scenario.table.storage_bytes or 0)
    return start + 2 * (result.stored_bytes["table"] - start) * 1024 / 1124


TOO_LARGE = "ItemCollectionSizeLimitExceededException"


@pytest.mark.parametrize("level", LEVELS)
def test_a_collection_stops_growing_at_10_gb_and_the_others_go_on(level: str) -> None:
    """The big tenant holds 0.8 × 12.4 = 9.92 GB; 0.08 GB are room for 41,943 puts of 1 KB with 1 KB in the index.

    Of 400 puts a second 320 are the big tenant's, so it is full at second 131. The small tenant's fifth goes on: of 120,000 puts
    24,000, with a deviation of √(120,000 × 0.16) = 139. Reads and updates go on too.
    """
    result = told(
        simulate(
            {"rate": 400},
            {"name": "r", "operation": "GetItem", "rate": 50},
            {"name": "u", "operation": "UpdateItem", "rate": 10},
            level=level,
            table={"storage_bytes": int(12.4 * GB)},
            period="10s",
        )
    )
    traffic = result["traffic"]
    assert traffic["w"]["succeeded"] == pytest.approx(41_943 + 24_000, abs=4 * 139 + 320)
    assert [failure["error"] for failure in result["failures"]] == [TOO_LARGE]
    assert result["failures"][0]["count"] == traffic["w"]["failed"]
    assert traffic["w"]["in_flight"] <= 10
    assert any("ItemCollectionSizeLimitExceededException" in sentence for sentence in result["explanation"])
    assert traffic["w"]["throttled"] == 0
    assert traffic["r"]["failed"] == traffic["u"]["failed"] == 0
    by_period = np.array(result["series"]["traffic"]["w"]["succeeded"])
    assert by_period[:13] == pytest.approx(4000, abs=2)
    assert by_period[14:] == pytest.approx(800, abs=4 * 26)  # √(4,000 × 0.16) = 25.3
    assert result["consumed"]["table"]["write_units"] == pytest.approx(2 * (traffic["w"]["succeeded"] + 3000))


@pytest.mark.parametrize("level", LEVELS)
def test_each_collection_has_the_size_that_is_given(level: str) -> None:
    """A thousand puts short of 10 GB each: of 100 a second over two tenants, 2,000 pass in the end."""
    room = 1000 * 2 * KB
    result = told(simulate({"rate": 100}, level=level, table={"collection_bytes": 10 * GB - room}))
    assert result["traffic"]["w"]["succeeded"] == pytest.approx(2000, abs=0 if level == "request" else 100)
    assert {failure["error"] for failure in result["failures"]} == {TOO_LARGE}


def test_without_a_local_index_a_collection_has_no_limit() -> None:
    result = told(simulate({"rate": 100}, table={"collection_bytes": 10 * GB, "lsi": []}))
    assert result["failures"] == []


@pytest.mark.parametrize("level", LEVELS)
def test_a_put_of_an_item_that_is_there_adds_nothing(level: str) -> None:
    table = {"collection_bytes": 10 * GB, "sk": "{slot}"}
    assert told(simulate({"rate": 100}, level=level, table=table))["failures"] == []


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_deleted_makes_room(level: str) -> None:
    """A full collection of which ten items a second expire takes ten new ones a second: 3,000 in 300 s, and no more."""
    fields = {"tenant": {"kind": "choice", "weights": {"one": 1}}}
    result = told(
        simulate(
            {"rate": 100},
            {"name": "ttl", "operation": "TTLDelete", "rate": 10},
            level=level,
            fields=fields,
            table={"collection_bytes": 10 * GB},
        )
    )
    assert result["traffic"]["w"]["succeeded"] == pytest.approx(3000, abs=150)
    assert result["consumed"]["table"]["write_units"] == pytest.approx(2 * result["traffic"]["w"]["succeeded"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("operation", "error"), [("BatchWriteItem", TOO_LARGE), ("TransactWriteItems", "TransactionCanceledException")]
)
@pytest.mark.parametrize("keys", ["independent", "same-partition-key"])
def test_a_request_with_one_item_too_many_fails_whole(level: str, operation: str, error: str, keys: str) -> None:
    """Three items each, 80 % of them in a full collection: all fail but 0.2³ of independent ones, or 0.2 of those with one key."""
    result = told(
        simulate(
            {"rate": 60, "operation": operation, "batch": 3, "batch_keys": keys},
            level=level,
            table={"storage_bytes": 25 * GB // 2},
        )
    )
    passing = 0.2**3 if keys == "independent" else 0.2
    deviation = (18_000 * passing * (1 - passing)) ** 0.5
    assert result["traffic"]["w"]["succeeded"] == pytest.approx(18_000 * passing, abs=4 * deviation)
    assert {failure["error"] for failure in result["failures"]} == {error}


@pytest.mark.parametrize("retry", ["none", "standard"])
def test_the_height_of_a_stretch_changes_no_byte_of_what_is_full(retry: str) -> None:
    traffic = [
        {"rate": 900, "arrivals": "poisson", "client": {"retry": retry}},
        {"name": "next", "follows": {"traffic": "w", "per": 0.5, "delay": "1s"}},
        {"name": "ttl", "operation": "TTLDelete", "rate": 100},
    ]
    traffic[1]["arrivals"] = "poisson"
    made = [
        simulate(*traffic, stretch=height, table={"storage_bytes": int(12.45 * GB)}, period="10s").to_json()
        for height in (1, 7, 256)
    ]
    assert made[0] == made[1] == made[2]
    assert json.loads(made[0])["traffic"]["next"]["offered"] > 0


# Growth.


def test_each_new_item_is_billed_with_its_overhead() -> None:
    """30,000 items of 1 KB and 100 bytes, on average half of them over the run."""
    result = simulate({"rate": 100}, table={"lsi": []})
    assert result.stored_bytes["table"] == 15_000 * 1124


@pytest.mark.parametrize("level", LEVELS)
def test_puts_of_random_keys_add_as_many_items_as_differ(level: str) -> None:
    """30,000 puts of 20,000 keys: 20,000 × (1 - e^-1.5) = 15,537 items of 1 KB."""
    fields = {"tenant": {"kind": "uniform", "count": 20_000}}
    table = {"lsi": [], "sk": "PROFILE"}
    result = simulate({"rate": 100}, level=level, fields=fields, table=table)
    assert at_end(result) == pytest.approx(20_000 * (1 - np.exp(-1.5)) * KB, rel=1e-3)


def test_skewed_keys_add_fewer_items() -> None:
    """As many different values as 30,000 draws from zipf's law have, drawn here; a per cent is 3 deviations and more."""
    shares = 1.0 / np.arange(1, 20_001)
    drawn = np.random.default_rng(1).choice(20_000, 30_000, p=shares / shares.sum())
    fields = {"tenant": {"kind": "zipf", "count": 20_000, "exponent": 1.0}}
    result = simulate({"rate": 100}, fields=fields, table={"lsi": [], "sk": "PROFILE"})
    assert at_end(result) == pytest.approx(len(set(drawn.tolist())) * KB, rel=0.01)


def test_what_is_there_at_the_start_is_put_again() -> None:
    """Half of all keys' items are there: half of the new ones are not new."""
    fields = {"tenant": {"kind": "uniform", "count": 20_000}}
    table = {"lsi": [], "sk": "PROFILE", "storage_bytes": 10_000 * KB}
    result = simulate({"rate": 100}, fields=fields, table=table)
    assert at_end(result) == pytest.approx((10_000 + 0.5 * 20_000 * (1 - np.exp(-1.5))) * KB, rel=1e-3)


@pytest.mark.parametrize("level", LEVELS)
def test_expiry_is_free_and_shrinks_what_is_stored(level: str) -> None:
    """100 items of 1 KB a second for 300 s: 30,720,000 bytes less, no write unit; a delete costs one each, and shrinks as much."""
    table = {"lsi": [], "storage_bytes": GB}
    expired = simulate({"operation": "TTLDelete", "rate": 100}, level=level, table=table)
    assert at_end(expired) == pytest.approx(GB - 30_000 * KB, abs=1)
    assert told(expired)["consumed"]["table"]["write_units"] == 0
    deleted = simulate({"operation": "DeleteItem", "rate": 100}, level=level, table=table)
    assert at_end(deleted) == pytest.approx(GB - 30_000 * KB, abs=1)
    assert told(deleted)["consumed"]["table"]["write_units"] == 30_000


@pytest.mark.parametrize(("lsi", "splits"), [([], 1), (LSI, 0)])
def test_a_collection_beyond_10_gb_is_cut_between_sort_keys_unless_an_index_holds_it(lsi: Any, splits: int) -> None:
    """One collection of 10 GB less 2 MB in one partition grows by 1 KB (2 KB) a put: it is full, or split for size, within a minute."""
    fields = {"tenant": {"kind": "choice", "weights": {"one": 1}}}
    table = {
        "lsi": lsi,
        "mode": "provisioned",
        "read_capacity": 100,
        "write_capacity": 500,
        "partitions": 1,
        "storage_bytes": 10 * GB - 2 * 2**20,
    }
    result = simulate({"rate": 100}, fields=fields, table=table, duration="20m")
    made = [split for split in result.table.splits if split.reason is SplitReason.SIZE]
    assert len(made) == splits
    assert all(split.inside_collection for split in made)
    assert bool(told(result)["failures"]) == bool(lsi)
