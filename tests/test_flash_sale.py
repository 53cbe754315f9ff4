"""A flash sale of ten times the load, four ways, with an index: one comparison, four bills, four throttle counts, all derived on paper.

400 puts a second, and 4,000 from 30:00 to 50:00, in an hour. An item of 3,000 bytes costs the table 3 write units, its entry in the index
one: 1,200 and 12,000 units a second at the table, 400 and 4,000 at the index.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache

import pytest

import sim
from sim import Result
from sim.names import Dimension
from sim.results.cost import cents

WRITE = Dimension.WRITE
INDEX = "index/ByCustomer"
PUTS = 400 * 2400 + 4000 * 1200  # 5,760,000

SALE = """
format = 1
duration = "60m"
[fields]
order = {{ kind = "uniform", count = 1_000_000_000_000 }}
customer = {{ kind = "uniform", count = 1_000_000_000_000 }}
[table]
name = "orders"
pk = "ORDER#{{order}}"
{table}
[[table.gsi]]
name = "ByCustomer"
pk = "CUSTOMER#{{customer}}"
projection = "KEYS_ONLY"
projected_bytes = 100
{index}
{events}
[[traffic]]
name = "puts"
operation = "PutItem"
item_bytes = 3000
arrivals = "even"
rate = {{ kind = "spike", base = {base}, peak = {peak}, at = "30m", lasting = "20m" }}
"""
WARMED = """
[[event]]
at = "10m"
warm_write = 12_500
[[event]]
at = "10m"
index = "ByCustomer"
warm_write = 5_000
"""


def provisioned(write: int, partitions: int, schedule: str = "") -> str:
    """Writes scaled at 70 % between 10 and 20,000, on partitions that are there from an earlier sale, so that each change takes 30 s."""
    scaling = f"autoscaling = {{ write = {{ min = 10, max = 20_000{schedule} }} }}"
    return f"read_capacity = 1\nwrite_capacity = {write}\npartitions = {partitions}\n{scaling}"


def at_a_quarter_past(least: int) -> str:
    return f', schedule = [{{ cron = "cron(15 0 * * ? *)", min = {least} }}]'


ON_DEMAND, PROVISIONED = 'mode = "on-demand"\n', 'mode = "provisioned"\n'
WAYS = {
    "on demand": (ON_DEMAND, "", ""),
    "pre-warmed": (ON_DEMAND, "", WARMED),
    "auto scaled": (PROVISIONED + provisioned(1800, 18), provisioned(700, 6), ""),
    "scheduled": (
        PROVISIONED + provisioned(1800, 18, at_a_quarter_past(17_200)),
        provisioned(700, 6, at_a_quarter_past(5_800)),
        "",
    ),
}


@cache
def sale(way: str) -> Result:
    table, index, events = WAYS[way]
    text = SALE.format(table=table, index=index, events=events, base=400, peak=4000)
    return sim.run(sim.loads(text))


def refused(way: str) -> dict[tuple[str, str], float]:
    return {(row.resource, row.reason): row.count for row in sale(way).throttles}


def steps(way: str, resource: str) -> list[tuple[float, float]]:
    return sale(way).resources[resource].lanes[WRITE].capacity


def unit_hours(*steps: tuple[float, int]) -> Decimal:
    """Of capacities in force for so many minutes each."""
    return sum((Decimal(str(minutes)) * units for minutes, units in steps), Decimal(0)) / 60


# Four throttle counts.


def test_on_demand_without_warming_adds_a_partition_of_the_table_every_three_minutes() -> None:
    # Four partitions give 4,000 units, 1,333.3 puts. After four minutes of the sale the mean of five is 4/5 x 1,000 + 1/5 x 300 = 860 a
    # partition, over 85 %: a split from 34:00 serves from 37:00, and the next one three minutes later each. A quarter is asked for 3,000
    # units and an eighth for 1,500, so each split adds 1,000 until eight partitions are there at 46:00; a sixteenth is asked for 750, so
    # nine give 7 x 1,000 + 2 x 750. The index passes 4,000 entries with its four and refuses none.
    gives = [(420, 4000), (180, 5000), (180, 6000), (180, 7000), (180, 8000), (60, 8500)]
    assert sum(seconds for seconds, _ in gives) == 1200
    paper = sum(seconds * (4000 - units / 3) for seconds, units in gives)
    assert paper == pytest.approx(2_510_000)
    table = sale("on demand").table
    assert table.partition_counts == [(0.0, 4), *((60.0 * (37 + 3 * k), 5 + k) for k in range(6))]
    assert sale("on demand").resources[INDEX].partition_counts == [(0.0, 4)]
    # Four buckets hold a second's worth when the sale begins. All that is served is a ceiling's, but for the 30,000 puts of the two
    # sixteenths in the last minute: those are as many as their keys' chances give, within four standard deviations.
    assert sale("on demand").throttled == pytest.approx(paper - 4000 / 3, abs=4 * 30_000**0.5)
    assert set(refused("on demand")) == {("table", "TableWriteKeyRangeThroughputExceeded")}


@pytest.mark.parametrize("way", ["pre-warmed", "scheduled"])
def test_either_preparation_serves_all_of_it(way: str) -> None:
    assert sale(way).throttled == 0
    assert sale(way).succeeded == pytest.approx(PUTS)


def test_warm_throughput_of_table_and_index_is_there_ten_minutes_later() -> None:
    # Four partitions become sixteen of 750 units each, and eight of 500.
    assert sale("pre-warmed").table.partition_counts[:2] == [(0.0, 4), (1200.0, 16)]
    assert sale("pre-warmed").resources[INDEX].partition_counts == [(0.0, 4), (1200.0, 8)]


def test_a_schedule_sets_the_index_once_the_table_s_update_is_done() -> None:
    # 12,000 / 0.7 = 17,143 and 4,000 / 0.7 = 5,714: at those bounds no alarm goes off. Both come at 15:00, and UpdateTable takes one at a
    # time: the index is refused, asks again at 16:00, and has it 30 s later.
    assert steps("scheduled", "table") == [(0.0, 1800), (930.0, 17_200)]
    assert steps("scheduled", INDEX) == [(0.0, 700), (990.0, 5800)]


def test_auto_scaling_of_table_and_index_apart() -> None:
    # The table's credit, 300 x 1,800, lasts 540,000 / (12,000 - 1,800) = 52.9 s; the index's, 210,000, has 35,294 left by then, for 600
    # puts a second pass the table. The two minutes consumed 540,000 + 120 x 1,800 units at the table and a third of that at the index:
    # 6,300/s / 0.7 = 9,000, and 2,100/s / 0.7 = 3,000. Seen at 33:00, asked at 34:00, done at 34:30.
    assert steps("auto scaled", "table") == [(0.0, 1800), (2070.0, 9000)]
    # The index asks in the same moment, while that UpdateTable is under way, and is refused; at 36:00 its two minutes are 600/s, over 70 %
    # of 700: 600 / 0.7 = 857.1. From then on it holds the table: 858 / 0.7 = 1,225.7, 1,226 / 0.7 = 1,751.4, 1,752 / 0.7 = 2,502.9.
    (in_vain,) = [e for e in sale("auto scaled").recorder.events if e.outcome == "refused"]
    assert (in_vain.at_s, in_vain.resource, in_vain.after, in_vain.error) == (
        2040.0,
        INDEX,
        3000,
        "ResourceInUseException",
    )
    assert steps("auto scaled", INDEX)[1:] == [
        (2190.0 + 300 * k, units) for k, units in enumerate([858, 1226, 1752, 2503])
    ]


def test_what_an_auto_scaled_index_refuses_is_more_than_what_its_table_does() -> None:
    dry_s = 540_000 / 10_200
    # By the table until 34:30, all but 600 puts a second; then 3,000 of 4,000 pass it for as long as the index has credit, of which it
    # spends 2,300 a second.
    credit = 210_000 - dry_s * 3300 + (270 - dry_s) * 100
    until_s = 270 + credit / 2300
    by_table = (270 - dry_s) * 3400 + (until_s - 270) * 1000
    by_index = (390 - until_s) * 3300 + 300 * (4000 - 858) + 300 * (4000 - 1226) + 210 * (4000 - 1752)
    assert by_table + by_index == pytest.approx(3_323_880, abs=1)
    assert sale("auto scaled").throttled == pytest.approx(by_table + by_index, rel=1e-4)
    assert sale("auto scaled").first_throttle_s == pytest.approx(1800 + dry_s, abs=1)
    found = refused("auto scaled")
    assert set(found) == {
        ("table", "TableWriteProvisionedThroughputExceeded"),
        (INDEX, "IndexWriteProvisionedThroughputExceeded"),
    }
    # Ticks are of a second, and in the one in which a bucket runs dry either may be named.
    assert found["table", "TableWriteProvisionedThroughputExceeded"] == pytest.approx(by_table, abs=1.5 * 3300)
    assert found[INDEX, "IndexWriteProvisionedThroughputExceeded"] == pytest.approx(by_index, abs=1.5 * 3300)


def test_the_time_line_tells_whose_relief_it_is() -> None:
    told = [(m.stamp, m.resource, m.what) for m in sale("auto scaled").timeline if m.what.startswith("first")]
    calm = "first minute in which it throttled no writes itself"
    assert told == [("0:35:00", "table", calm), ("0:50:00", INDEX, calm)]


def test_the_request_level_refuses_the_same() -> None:
    # A tenth of everything, since each put is one there: 900 / 0.7 and so on are rounded to other whole numbers, and a tenth is refused.
    table, index = PROVISIONED + provisioned(180, 18), provisioned(70, 6)
    text = SALE.format(table=table, index=index, events="", base=40, peak=400)
    flow, request = (sim.run(sim.loads(f'level = "{level}"\n{text}')) for level in ("flow", "request"))
    assert request.offered == PUTS // 10
    for result in (flow, request):
        assert result.table.lanes[WRITE].capacity == [(0.0, 180), (2070.0, 900)]
        assert result.resources[INDEX].lanes[WRITE].capacity[1:] == [
            (2190.0 + 300 * k, units) for k, units in enumerate([86, 123, 176, 252])
        ]
        assert result.throttled == pytest.approx(332_388, rel=0.003)


# Four bills.


def test_on_demand_is_charged_by_what_was_served() -> None:
    # $0.625 a million: 3 units at the table, one at the index.
    for way in ("on demand", "pre-warmed"):
        bill, served = sale(way).bill, Decimal(str(round(PUTS - sale(way).throttled, 6)))
        assert float(bill.table) == pytest.approx(float(3 * served * Decimal("0.625e-6")), rel=1e-9)
        assert float(bill.indexes) == pytest.approx(float(served * Decimal("0.625e-6")), rel=1e-9)
    assert (cents(sale("on demand").bill.table), cents(sale("on demand").bill.indexes)) == (
        Decimal("6.10"),
        Decimal("2.03"),
    )
    warmed = sale("pre-warmed").bill
    assert (cents(warmed.table), cents(warmed.indexes)) == (Decimal("10.80"), Decimal("3.60"))
    # What is more than the 4,000 there were, once: 8,500 and 1,000.
    assert warmed.once == (8500 + 1000) * Decimal("0.00065")
    assert sale("on demand").bill.once == 0


@pytest.mark.parametrize(
    ("way", "table", "index", "bill"),
    [
        (
            "auto scaled",
            unit_hours((34.5, 1800), (25.5, 9000)),
            unit_hours((36.5, 700), (5, 858), (5, 1226), (5, 1752), (8.5, 2503)),
            ("3.16", "0.72"),
        ),
        (
            "scheduled",
            unit_hours((15.5, 1800), (44.5, 17_200)),
            unit_hours((16.5, 700), (43.5, 5800)),
            ("8.59", "2.86"),
        ),
    ],
)
def test_provisioned_is_charged_by_the_steps_of_table_and_index(
    way: str, table: Decimal, index: Decimal, bill: tuple[str, str]
) -> None:
    found = sale(way).bill
    for amount, hours in ((found.table, table), (found.indexes, index)):
        # One read unit beside, for the hour.
        assert float(amount) == pytest.approx(float(hours * Decimal("0.00065") + Decimal("0.00013")), rel=1e-12)
    assert (cents(found.table), cents(found.indexes)) == tuple(Decimal(text) for text in bill)


# One comparison.


def test_the_cheapest_that_serves_the_sale_is_the_scheduled_one() -> None:
    comparison = sim.compare({way: sale(way) for way in WAYS})
    assert {v.title: v.serves for v in comparison.variants} == {
        "on demand": False,
        "pre-warmed": True,
        "auto scaled": False,
        "scheduled": True,
    }
    assert comparison.notes == ()
    assert comparison.cheapest is not None
    assert comparison.cheapest.label == "scheduled"
    # The hour kept up for 730, with the storage of what was put: under a cent in the hour.
    for variant in comparison.variants:
        bill = variant.result.bill
        assert 0 < bill.storage < Decimal("0.005")
        assert variant.per_month == pytest.approx(730 * (bill.table + bill.indexes + bill.storage))
    scheduled, warmed = (sale(way).bill for way in ("scheduled", "pre-warmed"))
    more = warmed.per_month + warmed.once - scheduled.per_month
    assert comparison.verdict == (
        f"Cheapest with at most 1 % throttled: scheduled, ${cents(scheduled.per_month):,} a month; the next, pre-warmed, costs "
        f"${cents(more):,} (26 %) more; on demand would cost ${cents(sale('on demand').bill.per_month):,} a month, but throttles 44 %; "
        f"auto scaled would cost ${cents(sale('auto scaled').bill.per_month):,} a month, but throttles 58 %."
    )
