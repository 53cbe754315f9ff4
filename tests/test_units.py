"""Read and write units: the borders, AWS's worked examples, and the laws that tie the operations together."""

from __future__ import annotations

import base64
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sim.limits import ITEM_BYTES_MAX, PAGE_BYTES
from sim.names import INDEX_WRITES, IndexChange, Operation
from sim.units import (
    Units,
    batch_get_units,
    batch_write_units,
    delete_units,
    empty_page_units,
    failed_condition_units,
    gsi_query_units,
    index_write_units,
    item_bytes,
    item_read_units,
    item_write_units,
    items_per_page,
    lsi_query_units,
    page_read_units,
    put_units,
    request_units,
    storage_bytes,
    transact_get_units,
    transact_write_units,
    ttl_delete_units,
    update_units,
)

KB = 1024
sizes = st.integers(0, ITEM_BYTES_MAX)
flags = st.booleans()


# Both sides of each border.


@pytest.mark.parametrize(
    ("size", "blocks"),
    [
        (0, 1),
        (1, 1),
        (28, 1),
        (4095, 1),
        (4096, 1),
        (4097, 2),
        (8192, 2),
        (8193, 3),
        (ITEM_BYTES_MAX - 1, 100),
        (ITEM_BYTES_MAX, 100),
        (ITEM_BYTES_MAX + 1, 101),
    ],
)
def test_a_read_is_rounded_up_to_whole_4_kb(size: int, blocks: int) -> None:
    assert item_read_units(size, False) == 0.5 * blocks
    assert item_read_units(size, True) == 1.0 * blocks
    assert item_read_units(size, False, transactional=True) == 2.0 * blocks
    assert page_read_units(size, False) == 0.5 * blocks


@pytest.mark.parametrize(
    ("size", "blocks"),
    [
        (0, 1),
        (1, 1),
        (28, 1),
        (1023, 1),
        (1024, 1),
        (1025, 2),
        (2048, 2),
        (2049, 3),
        (ITEM_BYTES_MAX - 1, 400),
        (ITEM_BYTES_MAX, 400),
        (ITEM_BYTES_MAX + 1, 401),
    ],
)
def test_a_write_is_rounded_up_to_whole_kb(size: int, blocks: int) -> None:
    assert item_write_units(size) == blocks
    assert item_write_units(size, transactional=True) == 2 * blocks


@pytest.mark.parametrize(
    ("size", "items"),
    [
        (1, PAGE_BYTES),
        (1023, 1026),
        (1024, 1024),
        (1025, 1024),
        (PAGE_BYTES - 1, 2),
        (PAGE_BYTES, 1),
        (PAGE_BYTES + 1, 1),
    ],
)
def test_the_item_that_reaches_one_megabyte_ends_the_page(size: int, items: int) -> None:
    assert items_per_page(size) == items


@pytest.mark.parametrize("limit", [1, 1006, 1007, 1008])
def test_a_limit_cuts_a_page_and_never_stretches_it(limit: int) -> None:
    assert items_per_page(1042, limit) == min(limit, 1007)


# Worked examples of the sources.


def test_eight_kb_cost_one_two_or_four_read_units() -> None:  # F-UNIT-2
    assert (item_read_units(8 * KB, False), item_read_units(8 * KB, True), transact_get_units([8 * KB])) == (1, 2, 4)


def test_a_batch_get_rounds_each_item() -> None:  # F-UNIT-5: 1.5 KB and 6.5 KB are charged as 12 KB
    assert batch_get_units([1536, 6656], True) == 3


def test_a_query_adds_first() -> None:  # F-UNIT-6
    assert page_read_units(int(40.8 * KB), True) == 11
    assert page_read_units(1500 * 64, False) == 12


def test_a_full_page_costs_256_units_or_half() -> None:  # F-UNIT-7
    assert (page_read_units(PAGE_BYTES, True), page_read_units(PAGE_BYTES, False)) == (256, 128)


def test_a_scan_page_of_1042_byte_items_costs_128_and_a_half() -> None:  # case pachot-scan-128-5
    items = items_per_page(1042)
    assert (items, page_read_units(items * 1042, False)) == (1007, 128.5)
    walk = [1007, 1007, 1007, 1007, 972]
    assert sum(walk) == 5000
    assert sum(page_read_units(n * 1042, False) for n in walk) == 638


def test_what_is_missing_costs_the_minimum() -> None:  # F-UNIT-8, F-UNIT-9, F-UNIT-12
    assert (item_read_units(0, True), item_read_units(0, False), delete_units(0)) == (1, 0.5, 1)
    assert (empty_page_units(False), empty_page_units(True), empty_page_units(False, 10)) == (0.5, 1, 5)


def test_an_update_is_charged_for_the_larger_image() -> None:  # F-UNIT-11
    assert (update_units(3000, 100), update_units(100, 3000), put_units(0, 3000)) == (3, 3, 3)


def test_a_failed_condition_on_300_kb_that_become_310_is_charged_310() -> None:  # F-UNIT-13
    assert failed_condition_units(300 * KB, 310 * KB) == 310
    assert failed_condition_units(310 * KB, 300 * KB) == 310
    assert failed_condition_units(0) == 1


def test_a_transaction_doubles_whatever_becomes_of_it() -> None:  # F-UNIT-14, case hotkey-transaction-doubles-the-heat
    assert transact_write_units([600, 600]) == 4
    assert transact_get_units([600, 5000]) == 6


def test_index_queries() -> None:  # F-UNIT-21
    assert gsi_query_units(8 * 2000) == 2
    assert lsi_query_units(4 * 300, [300] * 4, True) == 5
    assert lsi_query_units(4 * 300, [], True) == 1


@pytest.mark.parametrize("change", IndexChange)
def test_an_index_is_written_as_often_as_the_change_says(change: IndexChange) -> None:  # F-GSI-3
    assert index_write_units(900, change) == INDEX_WRITES[change]
    assert index_write_units(1025, change) == 2 * INDEX_WRITES[change]


def test_a_changed_index_key_deletes_the_old_entry_and_puts_the_new() -> None:  # F-GSI-3
    assert index_write_units(900, IndexChange.KEY_CHANGED) == 2
    assert index_write_units(900, IndexChange.KEY_CHANGED, old_entry_bytes=2500) == 4
    assert index_write_units(900, IndexChange.PUT, old_entry_bytes=2500) == 1


def test_local_indexes_amplify_a_put() -> None:  # case lsi-write-amplification
    assert put_units(0, 1536) + 2 * index_write_units(150, IndexChange.PUT) == 4
    assert put_units(0, 1536) + 2 * index_write_units(1536, IndexChange.PUT) == 6


def test_time_to_live_deletes_for_nothing() -> None:  # F-TTL-1
    assert ttl_delete_units() == 0
    assert request_units(Operation.TTL_DELETE, 5000) == Units(0, 0)


def test_batching_small_items_saves_no_units() -> None:  # case batch-rounds-per-item
    assert request_units(Operation.BATCH_WRITE_ITEM, 300, items=25) == Units(0, 25)
    assert request_units(Operation.BATCH_GET_ITEM, 300, items=25) == Units(12.5, 0)
    assert request_units(Operation.QUERY, 300, items=25) == Units(1, 0)


def test_storage_of_tiny_items_is_mostly_overhead() -> None:  # F-UNIT-16, case storage-tiny-items-overhead
    assert storage_bytes(20_000_000, 28) == 20_000_000 * 128
    assert storage_bytes(1, 28, global_table=True) == 176


@pytest.mark.parametrize(
    "name",
    ["batch-rounds-per-item", "pagination-limit-is-not-a-rate", "cost-parallel-scan-of-an-empty-table"],
)
def test_units_per_request_of_the_puzzles(shared: Path, name: str) -> None:
    """The puzzles whose answer is arithmetic alone, read from the team's files."""
    expected = {
        (e["metric"], e.get("op", e.get("variant", ""))): e["equals"]
        for e in yaml.safe_load((shared / "cases" / "puzzles" / f"{name}.yaml").read_text(encoding="utf-8"))["expect"]
        if "equals" in e
    }
    ours: dict[tuple[str, str], float] = {
        "batch-rounds-per-item": {
            ("wcu_per_request", "BatchWriteItem"): batch_write_units([300] * 25),
            ("rcu_per_request", "BatchGetItem"): batch_get_units([300] * 25, False),
            ("rcu_per_request", "Query"): page_read_units(25 * 300, False),
        },
        "pagination-limit-is-not-a-rate": {("rcu_per_request", "Scan"): page_read_units(8 * 4500, False)},
        "cost-parallel-scan-of-an-empty-table": {
            ("rcu_per_full_scan", "segments1"): page_read_units(300, False),
            ("rcu_per_full_scan", "segments10"): page_read_units(300, False) + 9 * empty_page_units(False),
        },
    }[name]
    assert ours == {key: expected[key] for key in ours}


# Laws.


@given(sizes, sizes, flags, flags)
def test_more_bytes_never_cost_less(a: int, b: int, consistent: bool, transactional: bool) -> None:
    small, large = sorted((a, b))
    assert item_read_units(small, consistent, transactional) <= item_read_units(large, consistent, transactional)
    assert item_write_units(small, transactional) <= item_write_units(large, transactional)
    assert page_read_units(small, consistent) <= page_read_units(large, consistent)


@given(sizes, flags)
def test_units_are_whole_halves_and_at_least_the_minimum(size: int, consistent: bool) -> None:
    least = 1.0 if consistent else 0.5
    units = item_read_units(size, consistent)
    assert units % least == 0
    assert units >= least
    assert item_write_units(size) % 1 == 0
    assert item_write_units(size) >= 1


@given(sizes)
def test_strong_is_twice_eventual_and_a_transaction_twice_strong(size: int) -> None:
    assert 2 * item_read_units(size, False) == item_read_units(size, True)
    assert 2 * item_read_units(size, True) == item_read_units(size, True, transactional=True)
    assert 2 * item_write_units(size) == item_write_units(size, transactional=True)


@given(st.lists(sizes, min_size=1, max_size=25), flags)
def test_a_batch_is_the_sum_of_its_items_and_a_query_never_dearer(items: list[int], consistent: bool) -> None:
    gets = sum(item_read_units(size, consistent) for size in items)
    assert batch_get_units(items, consistent) == gets
    assert batch_write_units(items) == sum(item_write_units(size) for size in items)
    assert page_read_units(sum(items), consistent) <= gets


@given(st.sampled_from(Operation), sizes.filter(bool), st.integers(0, 25), flags)
def test_the_dispatcher_agrees_with_the_operations(
    operation: Operation, size: int, items: int, consistent: bool
) -> None:
    if operation in (Operation.QUERY, Operation.SCAN):
        items = min(items, items_per_page(size))
    if operation in (Operation.GET_ITEM, Operation.PUT_ITEM, Operation.UPDATE_ITEM, Operation.DELETE_ITEM):
        items = 1
    page = page_read_units(items * size, consistent)
    expected = {
        Operation.GET_ITEM: (item_read_units(size, consistent), 0),
        Operation.BATCH_GET_ITEM: (batch_get_units([size] * items, consistent), 0),
        Operation.TRANSACT_GET_ITEMS: (transact_get_units([size] * items), 0),
        Operation.QUERY: (page, 0),
        Operation.SCAN: (page, 0),
        Operation.PUT_ITEM: (0, put_units(0, size)),
        Operation.UPDATE_ITEM: (0, update_units(size, size)),
        Operation.DELETE_ITEM: (0, delete_units(size)),
        Operation.BATCH_WRITE_ITEM: (0, batch_write_units([size] * items)),
        Operation.TRANSACT_WRITE_ITEMS: (0, transact_write_units([size] * items)),
        Operation.TTL_DELETE: (0, 0),
    }
    assert request_units(operation, size, items=items, consistent=consistent) == expected[operation]


@given(st.integers(1, 2 * PAGE_BYTES))
def test_a_page_stops_just_when_one_megabyte_is_reached(size: int) -> None:
    items = items_per_page(size)
    assert (items - 1) * size < PAGE_BYTES <= items * size


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: item_read_units(-1, True),
        lambda: item_write_units(-1),
        lambda: page_read_units(-1, True),
        lambda: items_per_page(0),
        lambda: items_per_page(100, 0),
        lambda: empty_page_units(True, 0),
        lambda: storage_bytes(-1, 5),
        lambda: request_units(Operation.GET_ITEM, 5, items=2),
        lambda: request_units(Operation.BATCH_GET_ITEM, 5, items=-1),
        lambda: request_units(Operation.SCAN, 1042, items=1008),
    ],
)
def test_impossible_sizes_are_refused(wrong) -> None:  # type: ignore[no-untyped-def]  # the lambdas return different things
    with pytest.raises(ValueError, match=r"at least|takes"):
        wrong()


# The size of an item: F-UNIT-15.


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", 0),
        ("abc", 3),
        ("é", 2),
        ("日", 3),
        (True, 1),
        (None, 1),
        (0, 1),
        (7, 2),
        (42, 2),
        (-42, 2),
        (123, 3),
        (1200, 2),  # trailing zeros are trimmed
        (Decimal("0.0012"), 2),  # and leading ones
        (1.5, 2),
        (int("9" * 38), 20),
        (b"\x00\x01", 2),
        ([], 3),
        (["a", "b"], 3 + 2 + 2),
        ({}, 3),
        ({"k": "vv"}, 3 + 1 + 1 + 2),
        ([{"k": []}], 3 + 1 + (3 + 1 + 1 + 3)),
        ({"aa", "b"}, 3),  # a set has no overhead
        ({12, 3456}, 2 + 3),
    ],
)
def test_size_of_a_value(value: object, expected: int) -> None:
    assert item_bytes({"name": value}, typed=False) == 4 + expected


def test_names_count_towards_the_400_kb() -> None:  # F-UNIT-17, case limits-400-kb-counts-names
    names = [f"attr{i:04}" for i in range(5)]
    assert item_bytes(dict.fromkeys(names, "x" * 81920)) == ITEM_BYTES_MAX + 40
    assert item_bytes(dict.fromkeys(names, "x" * 81912)) == ITEM_BYTES_MAX


plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.text(max_size=8)
    | st.integers(-(10**20), 10**20)
    | st.binary(max_size=8)
    | st.frozensets(st.text(max_size=4), min_size=1, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def as_dynamodb_json(value: object) -> dict[str, object]:
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case int():
            return {"N": str(value)}
        case bytes():
            return {"B": base64.b64encode(value).decode()}
        case list():
            return {"L": [as_dynamodb_json(element) for element in value]}
        case dict():
            return {"M": {key: as_dynamodb_json(element) for key, element in value.items()}}
        case frozenset():
            return {"SS": sorted(value)}
    raise AssertionError(value)


@given(st.dictionaries(st.text(min_size=1, max_size=6), plain_values, min_size=1, max_size=4))
def test_an_item_has_the_same_size_in_dynamodb_json(item: dict[str, object]) -> None:
    typed = {name: as_dynamodb_json(value) for name, value in item.items()}
    assert item_bytes(typed) == item_bytes(item, typed=False)


def test_sets_of_numbers_and_bytes_in_dynamodb_json() -> None:
    assert item_bytes({"n": {"NS": ["12", "3456"]}, "b": {"BS": ["AAE=", b"\x00"]}}) == 1 + 5 + 1 + 3


def test_a_plain_map_is_not_taken_for_dynamodb_json() -> None:
    assert item_bytes({"size": {"S": 3}}) == 4 + 3 + 1 + 1 + 2  # S holds a number here: a map with a key named S


@pytest.mark.parametrize(
    ("item", "typed", "error"),
    [
        ({"a": 10**38 + 1}, None, ValueError),
        ({"a": float("nan")}, None, ValueError),
        ({"a": {"N": "ten"}}, None, ValueError),
        ({"a": {"B": "%%"}}, None, ValueError),
        ({"a": object()}, None, TypeError),
        ({"a": {1: 2}}, None, TypeError),
        ({"a": "plain"}, True, TypeError),
        ({"a": {"SS": [1]}}, None, TypeError),
        ({"a": {"BS": [1]}}, None, TypeError),
    ],
)
def test_what_dynamodb_does_not_store_is_refused(item: dict[str, object], typed: bool | None, error: type) -> None:
    with pytest.raises(error):
        item_bytes(item, typed=typed)
