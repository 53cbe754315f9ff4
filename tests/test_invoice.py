"""The bill of a whole run, from records written by hand: every resource, both modes, cache, stream and warm throughput."""

from __future__ import annotations

import decimal
import io
import tomllib
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import sim
from sim.errors import InputError
from sim.limits import GB_BYTES
from sim.names import CostItem, Dimension, Mode
from sim.results.invoice import check_prices, money
from sim.results.prices import load_sheet, parse_sheet
from sim.results.recorder import EventRow, Recorder, TimeGrid
from sim.results.report import print_report
from sim.results.result import Result
from sim.results.usage import shard_seconds, usages, warm_bought

NOW = load_sheet("us-east-1")
INDEX = "index/ByStatus"
READ, WRITE = Dimension.READ, Dimension.WRITE
PROVISIONED = """
mode = "provisioned"
read_capacity = 10
write_capacity = 100
[[table.gsi]]
name = "ByStatus"
pk = "S"
read_capacity = 20
write_capacity = 50
"""
ON_DEMAND = """
mode = "on-demand"
[[table.gsi]]
name = "ByStatus"
pk = "S"
"""
HOUR = """
format = 1
duration = "1h"
tick = "1s"
{top}
[table]
name = "orders"
pk = "K"
{table_keys}
{table}
{sections}
[[traffic]]
name = "put"
operation = "{operation}"
rate = 1
item_bytes = 2000
"""


def usd(text: str) -> Decimal:
    return Decimal(text)


def scenario_of(
    table: str = PROVISIONED, *, sections: str = "", table_keys: str = "", operation: str = "PutItem", top: str = ""
) -> sim.Scenario:
    text = HOUR.format(table=table, sections=sections, table_keys=table_keys, operation=operation, top=top)
    # Not `loads`, which refuses what no run simulates yet: here nothing is run.
    return sim.Scenario.model_validate(tomllib.loads(text))


def recorded(scenario: sim.Scenario, capacity: dict[str, Any] | None = None) -> Recorder:
    """Records of an hour in which nothing happened yet."""
    recorder = Recorder(TimeGrid(3600.0, 1.0, 60.0), ["table", INDEX], ["put"])
    for name, record in recorder.resources.items():
        record.initial_partitions = 4
        record.partition_counts = [(0.0, 4)]
        for dimension, lane in record.lanes.items():
            lane.capacity = (capacity or {}).get((name, dimension), [(0.0, 10.0)])
            lane.warm = [(0.0, 12_000.0 if dimension is READ else 4_000.0)]
    return recorder


def result_of(scenario: sim.Scenario, recorder: Recorder, stored: dict[str, float] | None = None) -> Result:
    return Result(scenario, recorder, {}, load_sheet(scenario.prices), stored or {})


# Throughput and storage of each resource.


def test_each_index_has_its_own_throughput_and_storage() -> None:
    steps = {
        ("table", READ): [(0.0, 10.0)],
        ("table", WRITE): [(0.0, 100.0), (900.0, 300.0), (2700.0, 200.0)],  # 25 + 150 + 50 unit-hours
        (INDEX, READ): [(0.0, 20.0)],
        (INDEX, WRITE): [(0.0, 50.0), (1800.0, 150.0)],  # 25 + 75
    }
    scenario = scenario_of()
    bill = result_of(scenario, recorded(scenario, steps), {"table": 10 * GB_BYTES, INDEX: GB_BYTES}).bill
    assert bill.table == 10 * usd("0.00013") + 225 * usd("0.00065")
    assert bill.indexes == 20 * usd("0.00013") + 100 * usd("0.00065")
    assert abs(bill.storage - usd("2.75") / 730) < usd("1e-20")  # row S-SPARSE: an index on a tenth of 10 GB
    assert bill.total == bill.table + bill.indexes + bill.storage
    assert bill.per_month == bill.per_month_provisioned == (bill.table + bill.indexes) * 730 + usd("2.75")
    assert [(resource, line.item) for resource, line in bill.lines] == [
        ("table", CostItem.READ_CAPACITY),
        ("table", CostItem.WRITE_CAPACITY),
        ("table", CostItem.STORAGE),
        (INDEX, CostItem.READ_CAPACITY),
        (INDEX, CostItem.WRITE_CAPACITY),
        (INDEX, CostItem.STORAGE),
    ]
    assert abs(sum(line.amount for _, line in bill.lines) - bill.total) < usd("1e-20")
    with decimal.localcontext() as context:
        context.prec = 3
        assert (
            result_of(scenario, recorded(scenario, steps), {"table": 10 * GB_BYTES, INDEX: GB_BYTES}).bill.total
            == bill.total
        )


def test_on_demand_units_of_table_and_index_are_charged_apart() -> None:
    scenario = scenario_of(ON_DEMAND)
    recorder = recorded(scenario)
    recorder.resources["table"].lanes[WRITE].consumed_units[:] = 1000.0  # 3.6 million
    recorder.resources[INDEX].lanes[WRITE].consumed_units[:1000] = 2000.0  # 2 million
    recorder.resources[INDEX].lanes[READ].consumed_units[5] = 1_000_000.0
    recorder.resources[INDEX].lanes[WRITE].offered_units[60:120] = 90.0  # the busiest minute
    bill = result_of(scenario, recorder).bill
    assert bill.table == usd("3.6") * usd("0.625")
    assert bill.indexes == 2 * usd("0.625") + usd("0.125")
    assert bill.per_month_on_demand == bill.total * 730
    # Provisioned each is charged for its busiest minute, and for one unit where there is none.
    assert bill.per_month_provisioned == ((1 + 1) * usd("0.00013") + (1 + 90) * usd("0.00065")) * 730


def test_a_run_that_changes_its_mode_is_billed_part_by_part() -> None:
    scenario = scenario_of()
    recorder = recorded(scenario, {("table", WRITE): [(0.0, 100.0), (1200.5, 4000.0)], ("table", READ): [(0.0, 10.0)]})
    table = recorder.resources["table"]
    for record in recorder.resources.values():
        record.modes = [(0.0, Mode.PROVISIONED), (1200.5, Mode.ON_DEMAND)]
    table.lanes[WRITE].consumed_units[:1201] = 100.0
    table.lanes[WRITE].consumed_units[1201:] = 500.0  # the tick in which the mode changes is still provisioned
    table.lanes[WRITE].offered_units[:] = table.lanes[WRITE].consumed_units
    result = result_of(scenario, recorder)
    of_capacity = usd("1200.5") * (100 * usd("0.00065") + 10 * usd("0.00013")) / 3600
    of_units = (3600 - 1201) * 500 * usd("0.625") / 1_000_000
    assert abs(result.bill.table - (of_capacity + of_units)) < usd("1e-20")
    as_run = result.bill.per_month
    both = (result.bill.per_month_provisioned, result.bill.per_month_on_demand)
    assert abs(as_run - (result.bill.table + result.bill.indexes) * 730) < usd("1e-18")
    assert as_run not in both
    assert [line.item for name, line in result.bill.lines if name == "table"] == [
        CostItem.READ_CAPACITY,
        CostItem.WRITE_CAPACITY,
        CostItem.WRITE_UNITS,
    ]


def test_on_demand_first_and_provisioned_later() -> None:
    scenario = scenario_of(ON_DEMAND)
    recorder = recorded(scenario, {("table", WRITE): [(0.0, 4000.0), (1800.0, 70.0)]})
    table = recorder.resources["table"]
    table.modes = [(0.0, Mode.ON_DEMAND), (1800.0, Mode.PROVISIONED)]
    table.lanes[WRITE].consumed_units[:] = 60.0
    used = usages(scenario, recorder, {})["table"]
    assert used.metered is not None
    assert used.metered.write_units == 1800 * 60
    assert result_of(scenario, recorder).bill.bills["table"].table == (
        35 * usd("0.00065") + 5 * usd("0.00013") + usd("0.108") * usd("0.625")
    )


def test_expired_items_are_charged_in_further_regions_alone() -> None:  # F-TTL-1
    scenario = scenario_of(ON_DEMAND, table_keys="replicas = 1", operation="TTLDelete")
    recorder = recorded(scenario)
    recorder.traffic["put"].succeeded[:] = 1000.0 / 60
    (line,) = [line for _, line in result_of(scenario, recorder).bill.lines]
    assert line.item is CostItem.REPLICATED_WRITE_UNITS
    assert float(line.quantity) == pytest.approx(0.002, rel=1e-12)  # a thousand deletes of two units, in millions


# Cache, stream, warm throughput.


def test_cache_nodes_cost_the_same_in_either_mode() -> None:  # F-PRICE-12
    scenario = scenario_of(ON_DEMAND, sections='[dax]\nnodes = 3\nnode_type = "dax.r5.large"')
    bill = result_of(scenario, recorded(scenario)).bill
    assert bill.dax == bill.total == 3 * usd("0.255")
    assert bill.per_month_on_demand == 3 * usd("0.255") * 730 == usd("558.45")
    assert bill.per_month_provisioned - bill.per_month_on_demand == (usd("0.00013") + usd("0.00065")) * 2 * 730


def test_reads_of_the_stream_follow_the_shards_and_the_first_of_a_month_are_free() -> None:  # F-PRICE-14, F-STR-2
    sections = "[cost]\nstream_readers = 2\nstream_reads_per_s = 4"
    scenario = scenario_of(ON_DEMAND, sections=sections, table_keys="streams = true")
    recorder = recorded(scenario)
    recorder.resources["table"].partition_counts = [(0.0, 4), (1800.0, 8)]
    assert shard_seconds(recorder.grid, recorder.resources["table"]) == 4 * 1800 + 8 * 1800
    bill = result_of(scenario, recorder).bill
    in_month = 21_600 * 2 * 4 * 730
    assert bill.per_month_on_demand == (in_month - 2_500_000) * usd("0.02") / 100_000
    assert abs(bill.streams * 730 - bill.per_month_on_demand) < usd("1e-20")
    few = scenario_of(ON_DEMAND, sections=sections.replace("= 4", "= 0.01"), table_keys="streams = true")
    assert result_of(few, recorder).bill.total == 0
    lambdas_only = scenario_of(ON_DEMAND, table_keys="streams = true")
    assert result_of(lambdas_only, recorder).bill.total == 0


def test_readers_need_a_stream() -> None:
    with pytest.raises(ValueError, match="no stream to read"):
        scenario_of(ON_DEMAND, sections="[cost]\nstream_readers = 1")


def test_warm_throughput_is_paid_once_for_what_is_more_than_there_is() -> None:  # F-PRICE-15, F-WARM-1
    given = "warm_write = 15000\nwarm_read = 12000\nprevious_peak_write = 3000\nreplicas = 1"
    scenario = scenario_of(ON_DEMAND, table_keys=given)
    bought = warm_bought(scenario, recorded(scenario))
    assert bought == {("table", WRITE): 9000}  # twice the previous peak was there
    bill = result_of(scenario, recorded(scenario)).bill
    assert bill.once == bill.total == 9000 * 2 * usd("0.00065")
    assert bill.per_month_on_demand == 0
    grown = scenario_of(ON_DEMAND, table_keys=given, sections="[cost]\nwarm_bought = false")
    assert result_of(grown, recorded(grown)).bill.once == 0


def test_a_provisioned_table_is_as_warm_as_it_is_provisioned() -> None:
    scenario = scenario_of(table_keys="warm_write = 130\nwarm_read = 5")
    assert warm_bought(scenario, recorded(scenario)) == {("table", WRITE): 30}


def test_an_event_pays_for_what_it_adds_and_a_refused_one_for_nothing() -> None:
    events = """
[[event]]
at = "10m"
warm_write = 6000
[[event]]
at = "11m"
warm_write = 10000
[[event]]
at = "20m"
warm_write = 50000
[[event]]
at = "30m"
index = "ByStatus"
warm_read = 13000
"""
    scenario = scenario_of(ON_DEMAND, sections=events)
    recorder = recorded(scenario)
    recorder.resources["table"].lanes[WRITE].warm = [
        (0.0, 4000.0),
        (300.0, 4500.0),
        (1200.0, 6000.0),
        (1260.0, 10_000.0),
    ]
    recorder.events.append(
        EventRow(
            1200.0,
            "table",
            "update-table",
            "write warm throughput to 50,000",
            "refused",
            error="LimitExceededException",
        )
    )
    # 6,000 − 4,500 that traffic had made; the second is ordered before the first is there: 4,000 more.
    assert warm_bought(scenario, recorder) == {("table", WRITE): 1500 + 4000, (INDEX, READ): 1000}


# Before the run, and in words.


@pytest.mark.parametrize(
    ("table_keys", "sections", "says"),
    [
        ("", "[dax]\nnodes = 1", r"dax\.dax\.r5\.large.*lists no such node"),
        ("streams = true", "[cost]\nstream_readers = 1", "lists no reads of streams"),
        ('table_class = "standard-ia"', "", "lacks this table class"),
    ],
)
def test_what_the_sheet_cannot_price_is_said_before_the_run(table_keys: str, sections: str, says: str) -> None:
    own = parse_sheet(
        'currency = "EUR"\ndate = 2026-01-01\nsource = "own"\n[standard]\nread_per_million = 1\nwrite_per_million = 1\n'
        "read_capacity_hour = 1\nwrite_capacity_hour = 1\nstorage_gb_month = 1\n",
        source="own.toml",
        name="own",
    )
    with pytest.raises(InputError, match=says):
        check_prices(scenario_of(ON_DEMAND, table_keys=table_keys, sections=sections), own)


def test_money_is_told_to_the_cent_in_its_currency() -> None:
    assert [money(usd("1234.565")), money(usd("0.5"), "EUR")] == ["$1,234.57", "EUR 0.50"]


def test_the_parts_of_a_run_s_bill_are_in_its_json_and_in_its_report() -> None:
    result = sim.run(
        sim.with_overrides(
            scenario_of('mode = "on-demand"', table_keys="warm_write = 14000\nstorage_bytes = 1073741824"),
            [("duration", "60")],
        )
    )
    cost = result.to_dict()["cost"]
    assert cost["once"] == 6.5
    assert cost["total"] == pytest.approx(cost["table"] + cost["storage"] + 6.5, abs=2e-6)
    assert [(line["resource"], line["item"], line["unit"]) for line in cost["lines"]] == [
        ("table", "write units", "million units"),
        ("table", "storage", "GB-months"),
        ("table", "warm write throughput", "units/s"),
    ]
    assert np.isclose(cost["lines"][1]["per_month"], 0.25)


def test_the_report_says_what_a_month_is_made_of_and_when_it_had_both_modes() -> None:
    keys = "warm_write = 14000\nstorage_bytes = 107374182400"
    scenario = sim.with_overrides(scenario_of('mode = "on-demand"', table_keys=keys), [("duration", "60")])
    result = sim.run(scenario)
    # As UpdateTable would have recorded it: provisioned for the first half.
    record = result.table
    record.modes = [(0.0, Mode.PROVISIONED), (30.0, Mode.ON_DEMAND)]
    for lane in record.lanes.values():
        lane.capacity = [(0.0, 10.0), (30.0, 4000.0)]
    raw = io.StringIO()
    print_report(result, Console(file=raw, width=80))
    flowing = " ".join(raw.getvalue().split())
    bill = result.bill
    assert f"Cost of a month as run, in both modes, {money(bill.per_month)} · on demand" in flowing
    assert "once $6.50 for warm throughput" in flowing
    of_table = money(bill.bills["table"].per_month - 25)
    assert f"made up of storage $25.00 · table {of_table}" in flowing
