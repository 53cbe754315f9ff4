"""Bills to the cent: the worked bills of the guides with the month and table class that each needed, and the laws of billing."""

from __future__ import annotations

import decimal
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.guide_prices import GUIDE

from sim.errors import InputError
from sim.limits import GB_BYTES
from sim.names import CostItem, Mode, TableClass
from sim.results.breakeven import break_even_utilisation, dax_break_even_per_s
from sim.results.cost import (
    Bill,
    Metered,
    Modes,
    Number,
    Timeline,
    Usage,
    bill,
    bills,
    cents,
    monthly,
    on_demand_cost,
)
from sim.results.prices import ClassPrices, load_sheet, parse_sheet, sheet_names

NOW = load_sheet("us-east-1")
BEFORE = load_sheet("us-east-1-2024-10")
STANDARD, IA = TableClass.STANDARD, TableClass.STANDARD_IA


def usd(text: str) -> Decimal:
    return Decimal(text)


# Row S-COST. Each bill was worked by hand; the one fitting month and class stand in the test.


@pytest.mark.parametrize(
    ("read", "write", "expected"),
    [
        (38.5, 0, "3.65"),  # 38.5 × 0.00013 × 730 = 3.65365; 720 h would give 3.60
        (50, 40, "23.73"),  # (50 × 0.00013 + 40 × 0.00065) × 730 = 23.725, half up
        (30, 25, "14.71"),  # 0.02015 × 730 = 14.7095
        (100, 40, "28.47"),  # 0.039 × 730 = 28.47 exactly
    ],
)
def test_provisioned_bills_are_standard_at_730_hours(read: Number, write: Number, expected: str) -> None:
    month = monthly(sheet=NOW, table_class=STANDARD, read_capacity=read, write_capacity=write, month_hours=730)
    assert cents(month.provisioned) == usd(expected)


def test_a_hundred_million_reads_at_0155_are_standard_ia() -> None:  # F-PRICE-18
    assert on_demand_cost(NOW, IA, read_units=100_000_000) == usd("15.50")
    assert on_demand_cost(NOW, STANDARD, read_units=100_000_000) == usd("12.50")


@pytest.mark.parametrize(
    ("table_class", "month_hours", "expected"),
    [
        (IA, 720, "50.48"),  # 64.8 M × 0.155 + 51.84 M × 0.78 = 10.044 + 40.4352: the guide's figure
        (IA, 730, "51.18"),  # 65.7 M and 52.56 M: 10.1835 + 40.9968
        (STANDARD, 720, "40.50"),  # 8.10 + 32.40: what a Standard table costs
        (STANDARD, 730, "41.06"),  # 8.2125 + 32.85 = 41.0625
    ],
)
def test_25_reads_and_20_writes_a_second_on_demand(table_class: TableClass, month_hours: int, expected: str) -> None:
    month = monthly(sheet=NOW, table_class=table_class, read_per_s=25, write_per_s=20, month_hours=month_hours)
    assert cents(month.on_demand) == usd(expected)


def test_a_sparse_index_saves_storage() -> None:  # row S-SPARSE: 10 GB, an index on a tenth or on all of the items
    def storage(index_gb: int) -> Decimal:
        parts = [monthly(sheet=NOW, table_class=STANDARD, storage_bytes=gb * GB_BYTES) for gb in (10, index_gb)]
        return sum((part.on_demand for part in parts), Decimal(0))

    assert (storage(1), storage(10)) == (usd("2.75"), usd("5.00"))


# Row S-DECIDE and row S-DAX.


def test_peak_to_average_of_three_and_a_half_is_where_provisioning_for_the_peak_stops_to_pay() -> None:
    share = break_even_utilisation(NOW, STANDARD)
    for peak_to_average, dearer in ((usd("3.4"), "on demand"), (usd("3.5"), "provisioned"), (4, "provisioned")):
        month = monthly(
            sheet=NOW, table_class=STANDARD, write_capacity=1000, write_per_s=Decimal(1000) / peak_to_average
        )
        assert (month.on_demand > month.provisioned) == (dearer == "on demand"), peak_to_average
    assert usd("3.46") < 1 / share.write < usd("3.47")


def test_three_nodes_of_the_guide_pay_off_at_about_1260_reads_a_second() -> None:
    guide = parse_sheet(GUIDE, source="guide.toml", name="guide")
    assert cents(guide.node_hour("dax.r5.large") * 3 * 730) == usd("481.80")  # "$482 a month"
    each = {"node_type": "dax.r5.large", "nodes": 3, "hit_fraction": usd("0.95")}
    at_one_unit = dax_break_even_per_s(guide, STANDARD, units_per_read=1, **each)  # type: ignore[arg-type]  # passed through
    assert round(at_one_unit) == 1245  # either month for both sides: 0.66 / (3600 × 0.155e-6 × 0.95)
    assert round(at_one_unit * 730 / 720) == 1262  # the guide's figure: nodes of 730 hours against reads of 720
    # What a cache serves are eventually consistent reads of half a unit, so it takes twice as many.
    assert round(dax_break_even_per_s(guide, STANDARD, **each)) == 2490  # type: ignore[arg-type]  # passed through


def test_a_cluster_at_list_price_needs_3579_reads_a_second() -> None:  # 3 × 0.255 / (3600 × 0.125e-6 × 0.95 × 0.5)
    per_s = dax_break_even_per_s(NOW, STANDARD, node_type="dax.r5.large", nodes=3, hit_fraction=usd("0.95"))
    assert round(per_s) == 3579
    saved = on_demand_cost(NOW, STANDARD, read_units=per_s * usd("0.95") * usd("0.5") * 3600)
    assert abs(saved - 3 * usd("0.255")) < usd("1e-20")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"hit_fraction": 0}, "hit_fraction"),
        ({"hit_fraction": 1.1}, "hit_fraction"),
        ({"units_per_read": 0}, "units_per_read"),
    ],
)
def test_a_break_even_of_nothing_is_refused(wrong: dict[str, Number], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        dax_break_even_per_s(NOW, STANDARD, **{"node_type": "dax.r5.large", "nodes": 1, "hit_fraction": 1, **wrong})  # type: ignore[arg-type]  # passed through


def test_a_node_that_the_sheet_does_not_list_is_refused() -> None:
    with pytest.raises(InputError, match=r"dax\.r9\.tiny.*lists no such node"):
        NOW.node_hour("dax.r9.tiny")


# Cases.


def test_eight_million_half_unit_queries_cost_a_dollar_in_2023() -> None:  # case hunter-cost-estimate
    assert on_demand_cost(BEFORE, STANDARD, read_units=8_000_000 * 0.5) == 1
    assert on_demand_cost(BEFORE, STANDARD, write_units=144_000) == usd("0.18")
    assert on_demand_cost(NOW, STANDARD, read_units=8_000_000 * 0.5) == usd("0.50")


def test_ten_idle_tables_of_five_units() -> None:  # case cost-idle-minimum-capacity
    provisioned = monthly(sheet=NOW, table_class=STANDARD, read_capacity=5, write_capacity=5).provisioned
    assert cents(10 * provisioned) == usd("28.47")
    on_demand = on_demand_cost(NOW, STANDARD, read_units=25_000, write_units=10_000)
    assert usd("0.008") <= on_demand <= usd("0.011")


def test_the_verdict_flips_with_the_price_cut() -> None:  # case cost-verdict-flips-with-the-price-cut
    def months(sheet_name: str) -> Bill:
        return bill(
            sheet=load_sheet(sheet_name),
            table_class=STANDARD,
            mode=Mode.ON_DEMAND,
            read_units=5677,
            write_units=697_004,
            capacity_read=[],
            capacity_write=[],
            needed_read_per_s=7,
            needed_write_per_s=18,
            duration_s=162_000,
            storage_bytes=0,
            month_hours=720,
        )

    old, new = months("us-east-1-2024-10"), months("us-east-1")
    assert usd("13.8") <= old.per_month_on_demand <= usd("14.1")
    assert usd("6.9") <= new.per_month_on_demand <= usd("7.1")
    assert cents(old.per_month_provisioned) == cents(new.per_month_provisioned) == usd("9.08")


def test_expiry_is_free_except_in_replicas() -> None:  # case cost-ttl-deletes-are-free-except-replicas
    def cost(replicas: int, is_index: bool = False) -> Decimal:
        return on_demand_bill(ttl_write_units=1_000_000, replicas=replicas, is_index=is_index).table

    assert [cost(0), cost(1), cost(2)] == [usd("0"), usd("0.625"), usd("1.25")]


def test_twenty_million_tiny_items() -> None:  # case storage-tiny-items-overhead
    stored = monthly(sheet=NOW, table_class=STANDARD, storage_bytes=20_000_000 * 128).on_demand
    assert usd("0.58") <= stored <= usd("0.66")
    assert on_demand_cost(NOW, STANDARD, write_units=20_000_000) == usd("12.50")


# Break-even: F-PRICE-22.


@pytest.mark.parametrize("table_class", TableClass)
def test_provisioned_pays_above_28_to_30_percent_since_november_2024(table_class: TableClass) -> None:
    now, before = break_even_utilisation(NOW, table_class), break_even_utilisation(BEFORE, table_class)
    assert all(usd("0.28") < share < usd("0.30") for share in now)
    assert before == (now.read / 2, now.write / 2)


def test_at_break_even_both_modes_cost_the_same() -> None:
    share = break_even_utilisation(NOW, STANDARD)
    month = monthly(
        sheet=NOW,
        table_class=STANDARD,
        read_capacity=100,
        write_capacity=100,
        read_per_s=100 * share.read,
        write_per_s=100 * share.write,
    )
    assert abs(month.provisioned - month.on_demand) < usd("1e-20")


# Capacity over time, reserved, free, replicated.


def provisioned_bill(
    capacity_write: Timeline = (),
    *,
    capacity_read: Timeline = (),
    duration_s: Number = 3600,
    replicas: int = 0,
    **more: object,
) -> Bill:
    return bill(
        sheet=NOW,
        table_class=STANDARD,
        mode=Mode.PROVISIONED,
        read_units=0,
        write_units=0,
        capacity_read=capacity_read,
        capacity_write=capacity_write,
        duration_s=duration_s,
        storage_bytes=0,
        replicas=replicas,
        **more,  # type: ignore[arg-type]  # passed through
    )


def on_demand_bill(**more: object) -> Bill:
    given: dict[str, object] = {
        "sheet": NOW,
        "table_class": STANDARD,
        "mode": Mode.ON_DEMAND,
        "read_units": 0,
        "write_units": 0,
        "capacity_read": (),
        "capacity_write": (),
        "duration_s": 3600,
        "storage_bytes": 0,
    }
    return bill(**{**given, **more})  # type: ignore[arg-type]  # passed through


def test_capacity_is_charged_while_it_is_in_force() -> None:
    steps = [(0, 100), (1800, 200), (1800, 300), (9999, 5000)]  # 300 wins its moment; the last lies after the run
    assert provisioned_bill(steps).table == 200 * usd("0.00065")


def test_a_provisioned_month_is_the_run_kept_up() -> None:
    made = provisioned_bill([(0, 50), (77, 30)], duration_s=154)
    assert made.per_month_provisioned == 40 * usd("0.00065") * 730


def test_auto_scaled_capacity_costs_its_steps_and_not_its_average_of_samples() -> None:
    # 10 min of 50, 20 of 100, 30 of 80 write units: 500 + 2,000 + 2,400 unit minutes are 4,900 / 60 unit-hours; 5 read units for an hour.
    steps = [(0, 50), (600, 100), (1800, 80)]
    made = provisioned_bill(steps, capacity_read=[(0, 5)])
    assert made.table == (usd("4900") * usd("0.00065") + 300 * usd("0.00013")) / 60
    assert made.per_month == made.per_month_provisioned == made.table * 730
    read, write = made.lines
    assert (read.item, read.quantity, read.unit, read.price) == (
        CostItem.READ_CAPACITY,
        5,
        "unit-hours",
        usd("0.00013"),
    )
    assert (write.item, write.amount) == (CostItem.WRITE_CAPACITY, made.table - read.amount)


# A mode that changes: each part is billed by its own.


def switched_bill(modes: Modes, **more: object) -> Bill:
    """An hour with 100 write units/s provisioned where it is so; 3.6 million write units, a third of them in the first half."""
    return on_demand_bill(
        mode=Mode.PROVISIONED,
        write_units=3_600_000,
        capacity_write=[(0, 100), (1800, 4000)],
        modes=modes,
        **more,
    )


def test_a_mode_that_changes_is_billed_part_by_part() -> None:
    half = [(0, Mode.PROVISIONED), (1800, Mode.ON_DEMAND)]
    made = switched_bill(half, metered=Metered(write_units=2_400_000), needed_write_per_s=1500)
    capacity, units = 50 * usd("0.00065"), usd("2.4") * usd("0.625")
    assert made.table == capacity + units
    assert made.per_month == (capacity + units) * 730
    assert [(line.item, line.amount) for line in made.lines] == [
        (CostItem.WRITE_CAPACITY, capacity),
        (CostItem.WRITE_UNITS, units),
    ]
    assert made.per_month_on_demand == usd("3.6") * usd("0.625") * 730
    # On demand the 4,000 are a ceiling: the provisioned month is charged for what was needed there, and for one read unit.
    assert made.per_month_provisioned == ((50 + 750) * usd("0.00065") + usd("0.5") * usd("0.00013")) * 730


def test_a_mode_that_never_changes_is_billed_as_if_it_were_not_recorded() -> None:
    for mode in Mode:
        given = {"mode": mode, "write_units": 1_000_000, "capacity_write": [(0, 7)], "needed_write_per_s": 9}
        assert on_demand_bill(**given, modes=[(0, mode)]) == on_demand_bill(**given), mode


def test_a_reservation_is_paid_all_through_a_run_that_was_provisioned_for_a_part() -> None:
    half = [(0, Mode.PROVISIONED), (1800, Mode.ON_DEMAND)]
    paid = switched_bill(half, metered=Metered(), reserved_write=100).table
    fee = 100 * (usd("0.000128") + usd("1.50") / 8760)
    assert abs(paid - fee) < usd("1e-20")  # it covers all that was provisioned


def test_modes_that_change_need_what_was_metered() -> None:
    with pytest.raises(ValueError, match="metered is needed"):
        switched_bill([(0, Mode.ON_DEMAND), (60, Mode.PROVISIONED)])
    with pytest.raises(ValueError, match="modes begins at second 0"):
        switched_bill([(60, Mode.PROVISIONED)])


def test_on_demand_capacity_lines_are_ceilings_and_cost_nothing() -> None:
    made = on_demand_bill(capacity_read=[(0, 12_000)], capacity_write=[(0, 4_000)], read_units=2_000_000)
    assert made.table == usd("0.25")
    assert (
        made.per_month_provisioned == (usd("0.00013") + usd("0.00065")) * 730
    )  # one unit of each is the least (F-PROV-1)


def test_a_reservation_covers_its_units_and_is_paid_when_idle() -> None:
    fee = 100 * (usd("0.000128") + usd("1.50") / 8760)
    for capacity, beyond in [(0, 0), (60, 0), (100, 0), (130, 30)]:
        made = provisioned_bill([(0, capacity)], reserved_write=100)
        assert abs(made.table - (fee + beyond * usd("0.00065"))) < usd("1e-20"), capacity
    assert on_demand_bill(reserved_write=100).table == 0


def test_the_free_tier_is_used_up_once_by_table_and_indexes_together() -> None:
    hourly = [
        each.table
        for each in bills(
            [Usage(capacity_write=[(0, 10), (1800, 20)]), Usage(capacity_write=[(0, 10)], is_index=True)],
            sheet=NOW,
            table_class=STANDARD,
            mode=Mode.PROVISIONED,
            duration_s=3600,
            free_tier=True,
        )
    ]
    assert hourly == [0, usd("2.5") * usd("0.00065")]  # 5 of 10 beyond the 25 free ones, for half of the hour


def test_free_storage_is_shared_and_not_for_standard_ia() -> None:
    def months(table_class: TableClass) -> list[Decimal]:
        usages = [Usage(storage_bytes=20 * GB_BYTES), Usage(storage_bytes=20 * GB_BYTES, is_index=True)]
        made = bills(
            usages, sheet=NOW, table_class=table_class, mode=Mode.ON_DEMAND, duration_s=730 * 3600, free_tier=True
        )
        return [each.storage for each in made]

    assert months(STANDARD) == [0, 15 * usd("0.25")]
    assert months(IA) == [2, 2]


def test_a_global_table_writes_and_stores_in_every_region() -> None:  # F-PRICE-11
    written = on_demand_bill(write_units=1_000_000, storage_bytes=GB_BYTES, replicas=2, duration_s=730 * 3600)
    assert written.total == 3 * usd("0.625") + 3 * usd("0.25")
    assert (written.table, written.storage) == (3 * usd("0.625"), 3 * usd("0.25"))
    before = on_demand_bill(sheet=BEFORE, write_units=1_000_000, replicas=1)
    assert before.table == 2 * usd("1.875")
    assert on_demand_bill(sheet=BEFORE, write_units=1_000_000, replicas=1, is_index=True).table == 2 * usd("1.25")
    assert provisioned_bill([(0, 10)], replicas=1).table == 20 * usd("0.00065")
    assert on_demand_bill(read_units=1_000_000, replicas=2).table == usd("0.125")


amounts = st.integers(0, 10**9)
rates = st.integers(0, 10_000)


@given(amounts, amounts, amounts, amounts)
def test_units_of_two_runs_cost_what_their_sum_costs(r1: int, w1: int, r2: int, w2: int) -> None:
    parts = on_demand_cost(NOW, IA, read_units=r1, write_units=w1) + on_demand_cost(
        NOW, IA, read_units=r2, write_units=w2
    )
    assert parts == on_demand_cost(NOW, IA, read_units=r1 + r2, write_units=w1 + w2)


@given(rates, rates, st.integers(1, 100_000), st.sampled_from([720, 730, 744]))
def test_a_month_does_not_hang_on_the_length_of_a_steady_run(
    read: int, write: int, duration_s: int, hours: int
) -> None:
    made = bill(
        sheet=NOW,
        table_class=STANDARD,
        mode=Mode.PROVISIONED,
        read_units=read * duration_s,
        write_units=write * duration_s,
        capacity_read=[(0, read)],
        capacity_write=[(0, write)],
        duration_s=duration_s,
        storage_bytes=0,
        month_hours=hours,
    )
    expected = monthly(
        sheet=NOW,
        table_class=STANDARD,
        read_per_s=read,
        write_per_s=write,
        read_capacity=read,
        write_capacity=write,
        month_hours=hours,
    )
    assert (made.per_month_provisioned, made.per_month_on_demand) == expected


@given(rates, rates, st.integers(1, 3599))
def test_a_time_line_costs_the_sum_of_its_pieces(before: int, after: int, at_s: int) -> None:
    whole = provisioned_bill([(0, before), (at_s, after)]).table
    pieces = (
        provisioned_bill([(0, before)], duration_s=at_s).table
        + provisioned_bill([(0, after)], duration_s=3600 - at_s).table
    )
    assert abs(whole - pieces) < usd("1e-20")


@given(
    st.lists(
        st.tuples(st.integers(1, 500), st.sampled_from(Mode), rates, st.integers(0, 10**6)), min_size=1, max_size=6
    )
)
def test_a_run_of_changing_modes_costs_what_its_parts_cost_apart(parts: list[tuple[int, Mode, int, int]]) -> None:
    capacity, modes, at_s, apart = [], [], 0, Decimal(0)
    for lasting_s, mode, write_capacity, units in parts:
        capacity.append((at_s, write_capacity))
        modes.append((at_s, mode))
        at_s += lasting_s
        apart += on_demand_bill(
            mode=mode, write_units=units, capacity_write=[(0, write_capacity)], duration_s=lasting_s
        ).table
    metered = sum(units for _, mode, _, units in parts if mode is Mode.ON_DEMAND)
    whole = on_demand_bill(
        write_units=sum(units for *_, units in parts),
        capacity_write=capacity,
        modes=modes,
        metered=Metered(write_units=metered),
        duration_s=at_s,
    )
    assert abs(whole.table - apart) < usd("1e-18")
    assert abs(sum(line.amount for line in whole.lines) - whole.total) < usd("1e-18")


@given(rates, rates)
def test_what_is_free_never_makes_a_bill_dearer(read: int, write: int) -> None:
    paid = provisioned_bill([(0, write)], capacity_read=[(0, read)])
    free = provisioned_bill([(0, write)], capacity_read=[(0, read)], free_tier=True)
    most = 25 * (usd("0.00013") + usd("0.00065"))
    assert 0 <= paid.table - free.table <= most


def test_the_caller_s_decimal_context_changes_nothing() -> None:
    with decimal.localcontext() as context:
        context.prec = 3
        rough = monthly(sheet=NOW, table_class=STANDARD, read_capacity=50, write_capacity=40)
        assert cents(rough.provisioned) == usd("23.73")


def test_cents_are_rounded_half_up() -> None:
    assert [cents(usd(text)) for text in ("0.005", "0.015", "23.725", "0.0049")] == [
        usd("0.01"),
        usd("0.02"),
        usd("23.73"),
        usd("0.00"),
    ]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"read_units": -1}, "read_units is a finite number of at least 0"),
        ({"write_units": float("nan")}, "write_units"),
        ({"duration_s": 0}, "duration_s is above 0"),
        ({"month_hours": 0}, "month_hours is above 0"),
        ({"replicas": -1}, "replicas"),
        ({"mode": Mode.PROVISIONED, "capacity_write": [(5, 10)]}, "begins at second 0, not at 5"),
        ({"mode": Mode.PROVISIONED, "capacity_read": [(0, 10), (9, 1), (8, 1)]}, "runs backwards from second 9 to 8"),
    ],
)
def test_impossible_bills_are_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        on_demand_bill(**wrong)


def test_a_reservation_needs_a_standard_table_and_a_price() -> None:
    with pytest.raises(InputError, match="Standard tables only"):
        provisioned_bill_of(IA)
    with pytest.raises(InputError, match="lists no reserved capacity"):
        provisioned_bill_of(STANDARD, without_reserved=True)


def provisioned_bill_of(table_class: TableClass, without_reserved: bool = False) -> Bill:
    sheet = parse_sheet(OWN, source="own.toml", name="own") if without_reserved else NOW
    return on_demand_bill(sheet=sheet, table_class=table_class, mode=Mode.PROVISIONED, reserved_read=100)


# Price sheets.

OWN = """
currency = "EUR"
date = 2026-01-01
source = "our own contract"
[standard]
read_per_million = 0.1
write_per_million = 0.5
read_capacity_hour = 0.0001
write_capacity_hour = 0.0005
storage_gb_month = 0
"""


def test_the_sheets_that_come_along_are_dated_and_sourced() -> None:
    assert sheet_names() == ["us-east-1", "us-east-1-2024-10"]
    for name in sheet_names():
        sheet = load_sheet(name)
        assert (sheet.name, sheet.currency, set(sheet.classes)) == (name, "USD", set(TableClass))
        assert sheet.source
        assert sheet.reserved is not None
    assert (NOW.date, BEFORE.date) == (date(2026, 9, 8), date(2024, 10, 31))


def test_prices_are_those_of_the_facts(shared: Path) -> None:
    import tomllib

    def facts(node: object) -> dict[str, Decimal]:
        if isinstance(node, list):
            return {key: value for each in node for key, value in facts(each).items()}
        if not isinstance(node, dict):
            return {}
        here = {node["id"]: node["value"]} if "id" in node and "value" in node else {}
        return {**here, **{key: value for each in node.values() for key, value in facts(each).items()}}

    known = facts(tomllib.loads((shared / "facts" / "dynamodb.toml").read_text(encoding="utf-8"), parse_float=Decimal))
    now, before = NOW.of(STANDARD), BEFORE.of(STANDARD)
    assert now.read_per_million == known["F-PRICE-1.read_standard"]
    assert before.read_per_million == known["F-PRICE-1.read_standard_old"]
    assert now.write_per_million == known["F-PRICE-2.write_standard"]
    assert before.write_per_million == known["F-PRICE-2.write_standard_old"]
    assert NOW.of(IA).read_per_million == known["F-PRICE-3.read_ia"]
    assert BEFORE.of(IA).write_per_million == known["F-PRICE-4.write_ia_old"]
    assert now.read_capacity_hour == known["F-PRICE-5.rcu_hour"]
    assert now.write_capacity_hour == known["F-PRICE-6.wcu_hour"]
    assert NOW.of(IA).write_capacity_hour == known["F-PRICE-7.wcu_hour_ia"]
    assert now.storage_gb_month == known["F-PRICE-8.storage"]
    assert before.replicated_write_capacity_hour == known["F-PRICE-11.rwcu_hour_old"]
    assert now.warm_write_once == known["F-PRICE-15.warm_wcu"]
    assert NOW.stream_prices().read_per_100k == known["F-PRICE-14.streams_per_100k"]
    assert NOW.stream_prices().free_reads_month == known["F-PRICE-14.streams_free"]
    assert NOW.dax["dax.r5.large"] == known["F-PRICE-12.dax_r5_large"]


def test_a_sheet_of_one_s_own_by_path(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(OWN, encoding="utf-8")
    sheet = load_sheet("mine.toml", folder=tmp_path)
    assert load_sheet(str(tmp_path / "mine.toml")) == sheet
    assert (sheet.name, sheet.currency) == ("mine", "EUR")
    prices = sheet.of(STANDARD)
    assert isinstance(prices, ClassPrices)
    assert prices.replicated_write_per_million == prices.write_per_million
    assert (prices.warm_read_once, prices.warm_write_once) == (prices.read_capacity_hour, prices.write_capacity_hour)
    assert sheet.free_tier.storage_gb == 0
    assert sheet.streams is None
    with pytest.raises(InputError, match="mine: standard-ia: the price sheet lacks this table class"):
        on_demand_cost(sheet, IA, read_units=1)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "us-east-2",
            "prices: a price sheet is one of us-east-1, us-east-1-2024-10.*given: us-east-2.*did you mean us-east-1?",
        ),
        ("moon", "prices: a price sheet is one of"),
        ("none.toml", "none.toml: the price sheet cannot be read: No such file"),
    ],
)
def test_a_sheet_that_is_not_there(tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_sheet(name, folder=tmp_path)


def test_a_sheet_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "picture.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"picture\.toml: the price sheet cannot be read: it is not UTF-8 text"):
        load_sheet("picture.toml", folder=tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "path", "says"),
    [
        ('currency = "EUR"', "", "currency", "is needed"),
        ('currency = "EUR"', "currency = 3", "currency", "is a text"),
        ("date = 2026-01-01", 'date = "2026"', "date", "the day"),
        ("read_per_million = 0.1", "", "standard.read_per_million", "is needed"),
        ("read_per_million = 0.1", "read_per_million = -1", "standard.read_per_million", "at least 0"),
        ("read_per_million = 0.1", 'read_per_million = "0.1"', "standard.read_per_million", "without quotes"),
        ("read_per_million = 0.1", "read_per_million = true", "standard.read_per_million", "is a number"),
        ("read_per_million = 0.1", "read_per_million = inf", "standard.read_per_million", "is a number"),
        ("storage_gb_month", "storage_gb_moth", "standard.storage_gb_moth", "did you mean storage_gb_month?"),
        ("[standard]", "[standrad]", "standrad", "did you mean standard?"),
        ("[standard]", "standard = 5\n[standard-ia]", "standard", "is a section"),
        ("[standard]", "[free_tier]\nread_capacity = -1\n[standard]", "free_tier.read_capacity", "at least 0"),
        ("[standard]", '[dax]\n"dax.r5.large" = -1\n[standard]', "dax.dax.r5.large", "at least 0"),
        ("[standard]", "[streams]\nfree_reads_month = 1\n[standard]", "streams.read_per_100k", "is needed"),
        ("[standard]", "[reserved]\nread_upfront = 1\n[standard]", "reserved.write_upfront", "is needed"),
    ],
)
def test_a_bad_sheet_names_file_key_and_cure(old: str, new: str, path: str, says: str) -> None:
    assert old in OWN
    with pytest.raises(InputError) as caught:
        parse_sheet(OWN.replace(old, new), source="own.toml", name="own")
    (problem, *_) = [each for each in caught.value.problems if each.path == path]
    assert problem.source == "own.toml"
    assert says in str(problem)


def test_a_sheet_that_is_no_toml() -> None:
    with pytest.raises(InputError, match=r"own\.toml: no valid TOML"):
        parse_sheet("prices?", source="own.toml", name="own")


def test_all_problems_of_a_sheet_are_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        parse_sheet("colour = 1", source="own.toml", name="own")
    assert [problem.path for problem in caught.value.problems] == ["colour", "currency", "source", "date", ""]
