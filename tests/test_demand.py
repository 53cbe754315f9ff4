"""What one request of every operation asks of the table, against the rules of units."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.small import pattern, scenario

from sim import units
from sim.levels.demand import Demand, Joint, demand_of
from sim.names import Dimension, IndexChange, Operation
from sim.run import run

SIZES = st.sampled_from([1, 1023, 1024, 1025, 4095, 4096, 4097, 8193, 100_000, 400 * 1024])
KB_400 = 400 * 1024


def demand(table: dict[str, Any] | None = None, **keys: Any) -> Demand:
    made = scenario(pattern(**keys), table=table)
    return demand_of(made, made.traffic[0])


@given(st.sampled_from(["GetItem", "PutItem", "UpdateItem", "DeleteItem"]), SIZES, st.booleans())
def test_single_items_cost_what_units_say(operation: str, size: int, consistent: bool) -> None:
    options = {"consistent": consistent} if operation == "GetItem" else {}
    made = demand(operation=operation, item_bytes=size, **options)
    cost = units.request_units(Operation(operation), size, consistent=consistent)
    assert (made.units_per_request(Dimension.READ), made.units_per_request(Dimension.WRITE)) == cost
    assert made.joint is Joint.ONE_OF


@given(
    st.sampled_from(["BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"]),
    st.sampled_from([1, 500, 1025, 4097]),
    st.sampled_from([1, 2, 25]),
    st.sampled_from(["independent", "same-partition-key"]),
)
def test_batches_and_transactions_cost_what_units_say(operation: str, size: int, items: int, keys: str) -> None:
    made = demand(operation=operation, item_bytes=size, batch=items, batch_keys=keys)
    cost = units.request_units(Operation(operation), size, items=items)
    assert (made.units_per_request(Dimension.READ), made.units_per_request(Dimension.WRITE)) == cost
    if operation.startswith("Batch"):
        assert made.joint is Joint.EACH
    else:
        together = keys == "same-partition-key" or items == 1
        assert made.joint is (Joint.ONE_OF if together else Joint.ALL)


def test_actions_of_a_transaction_cost_each_its_own() -> None:
    actions = [
        {"operation": "PutItem", "item_bytes": 3000},
        {"operation": "UpdateItem", "pk": "COUNTER", "item_bytes": 100},
    ]
    made = demand(operation="TransactWriteItems", actions=actions)
    assert [(leg.spec.pk if leg.spec else None, leg.units) for leg in made.legs] == [
        ("USER#{user}", 6.0),
        ("COUNTER", 2.0),
    ]
    assert made.joint is Joint.ALL


@given(st.integers(0, 200), st.sampled_from([1, 1000, 4097]), st.booleans(), st.sampled_from([0.0, 0.3, 1.0]))
def test_a_query_sums_its_items_and_rounds_once(items: int, size: int, consistent: bool, passing: float) -> None:
    made = demand(operation="Query", items=items, item_bytes=size, consistent=consistent, filter_pass=passing)
    query = made.query
    assert query is not None
    assert query.units == made.units_per_request(Dimension.READ) == units.page_read_units(items * size, consistent)
    assert (query.pages, query.scanned) == (1, items)
    assert query.returned == pytest.approx(items * passing)
    assert query.empty_pages == pytest.approx((1 - passing) ** items)


def test_a_page_holds_the_item_that_reaches_a_megabyte() -> None:
    made = demand(operation="Scan", items=5000, item_bytes=1042, pages=1)
    assert made.query is not None
    assert (made.query.scanned, made.query.units) == (1007, 128.5)
    assert made.legs[0].spec is None  # a scan is anywhere
    limited = demand(operation="Query", items=5000, item_bytes=1042, pages=1, limit=10)
    assert limited.query is not None
    assert limited.query.scanned == 10


def test_what_is_missing_costs_the_minimum() -> None:
    made = demand(operation="GetItem", item_bytes=40_000, missing=0.25)
    assert [(leg.units, leg.fraction) for leg in made.legs] == [(5.0, 0.75), (0.5, 0.25)]
    query = demand(operation="Query", items=10, item_bytes=4096, missing=0.5, consistent=True)
    assert query.units_per_request(Dimension.READ) == 0.5 * 10 + 0.5 * 1


LSI = {"sk": "S", "lsi": [{"name": "L1", "sk": "A"}, {"name": "L2", "sk": "B", "projection": "KEYS_ONLY"}]}
LSI["lsi"][1]["projected_bytes"] = 100  # type: ignore[index]


@pytest.mark.parametrize(
    ("touches", "entries"),
    [
        ("all", 3 + 1),
        ([], 0),
        (["L1"], 3),
        (["L2"], 1),
        *(({"L1": str(change)}, units.index_write_units(3000, change)) for change in IndexChange),
        ({"L1": "untouched", "L2": "key-changed"}, 2),
    ],
)
def test_a_write_pays_for_the_local_entries_that_it_touches(touches: Any, entries: float) -> None:
    made = demand(LSI, item_bytes=3000, touches=touches)
    assert made.units_per_request(Dimension.WRITE) == 3 + entries


def test_a_transaction_pays_single_for_its_local_entries_and_reads_pay_none() -> None:
    assert demand(LSI, operation="TransactWriteItems", item_bytes=3000).units_per_request(Dimension.WRITE) == 6 + 4
    assert demand(LSI, operation="GetItem", item_bytes=3000).units_per_request(Dimension.READ) == 0.5


@pytest.mark.parametrize("operation", ["PutItem", "GetItem", "UpdateItem", "TransactWriteItems"])
def test_the_largest_item_is_400_kb(operation: str) -> None:
    assert not demand(operation=operation, item_bytes=KB_400).invalid
    assert demand(operation=operation, item_bytes=KB_400 + 1).invalid


def test_an_item_too_large_fails_and_costs_nothing() -> None:
    result = run(scenario(pattern(item_bytes=KB_400 + 1, arrivals="even")))
    assert (result.offered, result.succeeded, result.attempts, result.throttled) == (6000, 0, 6000, 0)
    assert {str(error): count for error, count in result.failures.items()} == {"ValidationException": 6000}
    assert result.table.lanes[Dimension.WRITE].offered_units.sum() == 0
    assert result.to_dict()["traffic"]["writes"]["units_per_request"]["table"] == {"read": 0, "write": 0}


def test_an_expiry_costs_the_table_nothing_and_is_never_refused() -> None:
    table = {"mode": "provisioned", "read_capacity": 1, "write_capacity": 1, "burst_at_start": 0}
    result = run(scenario(pattern(rate=20), pattern(name="expiry", operation="TTLDelete", rate=20), table=table))
    assert result.traffic["writes"].throttled.sum() > 0
    assert result.traffic["expiry"].throttled.sum() == 0


def test_a_failed_condition_is_charged_all_the_same() -> None:
    result = run(scenario(pattern(condition_fails=0.25, arrivals="even")))
    assert (result.offered, result.succeeded, result.throttled) == (6000, 4500, 0)
    assert {str(error): count for error, count in result.failures.items()} == {"ConditionalCheckFailedException": 1500}
    assert result.table.lanes[Dimension.WRITE].consumed_units.sum() == 6000


def test_only_new_items_are_stored() -> None:
    fields = {"user": {"kind": "uniform", "count": 5}, "seq": {"kind": "sequence"}}
    made = scenario(
        pattern(pk="{seq}"),
        pattern(name="overwrites"),
        pattern(name="fixed", pk="{seq}", where={"seq": 7}),
        pattern(name="updates", pk="{seq}", operation="UpdateItem"),
        fields=fields,
    )
    # 6,000 puts of five keys, or of one, write five new items, or one; growth is counted in 64ths of a byte.
    found = [demand_of(made, traffic).legs[0].new_bytes for traffic in made.traffic]
    assert found == pytest.approx([1024, 1024 * 5 / 6000, 1024 / 6000, 0], abs=1 / 64)


def test_a_run_tells_of_keys_that_it_takes_together_only_where_others_are_listed() -> None:
    even = {"user": {"kind": "uniform", "count": 10**12}}
    assert run(scenario(fields=even, duration=10)).warnings == ()
    skewed = {name: {"kind": "zipf", "count": 5000, "exponent": 0.9} for name in ("a", "b")}
    (told,) = run(scenario(fields=skewed, table={"pk": "{a}#{b}"}, duration=10)).warnings
    assert told.startswith(
        "{a}#{b} has more keys than are listed one by one: 107,370 carry 51 % of writes, the rest lies evenly"
    )
