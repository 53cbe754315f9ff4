"""What a run costs, and what the same traffic would cost in a month: decimal arithmetic over a dated price sheet.

Amounts are exact decimals in the sheet's currency; `cents` alone rounds, half up, and is for reports. Capacity is a time line
``[(at_s, units per second), …]`` from second 0, each value in force until the next, and is charged by the second; AWS charges by the hour.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from itertools import pairwise
from typing import NamedTuple

from sim.errors import InputError, Problem
from sim.limits import GB_BYTES, PROVISIONED_MIN_UNITS
from sim.names import Mode, TableClass
from sim.results.prices import PriceSheet

MILLION = 1_000_000
HOUR_S = 3600
RESERVED_TERM_HOURS = 365 * 24  # F-PRICE-10: one year
MONTH_HOURS = 730  # contract, [cost]

# Our own context: a result must not hang on what the caller has set for decimals elsewhere.
_CONTEXT = Context(prec=28)

Number = int | float | Decimal
Timeline = Sequence[tuple[Number, Number]]
_Steps = list[tuple[Decimal, Decimal]]


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What one table or index used in a run.

    Attributes
    ----------
    read_units, write_units : consumed in the run.
    ttl_write_units : what TTL's deletions would have cost as deletes: free where they happen, a replicated write in each
        further region (F-TTL-1).
    capacity_read, capacity_write : provisioned capacity in force; ignored on demand.
    storage_bytes : held, on average over the run, overhead included (`units.storage_bytes`, F-UNIT-16).
    needed_read_per_s, needed_write_per_s : provisioned capacity that would have carried the run (say, its highest
        average of a minute, rounded up): what the provisioned month of an on-demand run is charged for, one unit at least (F-PROV-1).
    is_index : a GSI, whose writes are ordinary ones in all regions of a global table (inferred).
    """

    read_units: Number = 0
    write_units: Number = 0
    ttl_write_units: Number = 0
    capacity_read: Timeline = ()
    capacity_write: Timeline = ()
    storage_bytes: Number = 0
    needed_read_per_s: Number = 0
    needed_write_per_s: Number = 0
    is_index: bool = False


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What one table or index costs, unrounded.

    Attributes
    ----------
    table : units or capacity, for the run.
    storage : for the run.
    per_month_provisioned, per_month_on_demand : the same traffic kept up for a month in either mode, with storage. The
        provisioned month of a provisioned run is its own capacity; of an on-demand run, the capacity it needed.
    """

    table: Decimal
    storage: Decimal
    per_month_provisioned: Decimal
    per_month_on_demand: Decimal

    @property
    def total(self) -> Decimal:
        """Units or capacity, and storage, for the run."""
        return self.table + self.storage


class Monthly(NamedTuple):
    """A month in either mode."""

    provisioned: Decimal
    on_demand: Decimal


class BreakEven(NamedTuple):
    """Share of provisioned capacity in use above which it is cheaper than paying per request."""

    read: Decimal
    write: Decimal


def bills(
    usages: Sequence[Usage],
    *,
    sheet: PriceSheet,
    table_class: TableClass,
    mode: Mode,
    duration_s: Number,
    replicas: int = 0,
    month_hours: Number = MONTH_HOURS,
    free_tier: bool = False,
    reserved_read: Number = 0,
    reserved_write: Number = 0,
) -> list[Bill]:
    """The bills of a table and its indexes, in their order.

    What is free or reserved is given once: to the first that can use it, the rest to the next. Both are for Standard tables and,
    storage apart, for provisioned capacity; replicated writes have no part in them. A reservation is paid whether
    used or not, and stands on the first bill, in provisioned figures only. Reads are this region's; writes and storage
    are those of all regions, and the free storage is each region's own.

    Parameters
    ----------
    duration_s : length of the run, above 0.
    replicas : further regions of a global table, at least 0.
    month_hours : hours of a month, above 0.
    free_tier : whether the account's free tier is left for these (F-PRICE-16); of no effect on Standard-IA.
    reserved_read, reserved_write : capacity reserved for a year, or the part of it that is meant for these.

    Raises
    ------
    ValueError
        A negative amount, no duration, or a time line that does not begin at second 0 or runs backwards.
    InputError
        The sheet lacks the table class or reserved prices; a reservation for Standard-IA.
    """
    if replicas < 0:
        raise ValueError(f"replicas is at least 0, not {replicas}")
    with localcontext(_CONTEXT):
        run_s = _positive(duration_s, "duration_s")
        month_s = _positive(month_hours, "month_hours") * HOUR_S
        tariff = _Tariff(
            sheet=sheet,
            table_class=table_class,
            regions=1 + replicas,
            free_tier=free_tier,
            reserved_read=_amount(reserved_read, "reserved_read"),
            reserved_write=_amount(reserved_write, "reserved_write"),
        )
        # Everything is summed over the run first and divided last, so that whole cents stay whole.
        on_demand = [tariff.on_demand(usage) for usage in usages]
        carrying = usages if mode is Mode.PROVISIONED else [_carried(usage) for usage in usages]
        provisioned = tariff.provisioned(carrying, run_s)
        storage_month = tariff.storage_month(usages)
        return [
            Bill(
                table=hours_price / HOUR_S if mode is Mode.PROVISIONED else units_price,
                storage=stored * run_s / month_s,
                per_month_provisioned=hours_price * month_s / (run_s * HOUR_S) + stored,
                per_month_on_demand=units_price * month_s / run_s + stored,
            )
            for hours_price, units_price, stored in zip(provisioned, on_demand, storage_month, strict=True)
        ]


def bill(
    *,
    sheet: PriceSheet,
    table_class: TableClass,
    mode: Mode,
    read_units: Number,
    write_units: Number,
    capacity_read: Timeline,
    capacity_write: Timeline,
    duration_s: Number,
    storage_bytes: Number,
    needed_read_per_s: Number = 0,
    needed_write_per_s: Number = 0,
    ttl_write_units: Number = 0,
    is_index: bool = False,
    replicas: int = 0,
    month_hours: Number = MONTH_HOURS,
    free_tier: bool = False,
    reserved_read: Number = 0,
    reserved_write: Number = 0,
) -> Bill:
    """The bill of one table or index by itself; parameters and errors are those of `Usage` and `bills`."""
    usage = Usage(
        read_units=read_units,
        write_units=write_units,
        ttl_write_units=ttl_write_units,
        capacity_read=capacity_read,
        capacity_write=capacity_write,
        storage_bytes=storage_bytes,
        needed_read_per_s=needed_read_per_s,
        needed_write_per_s=needed_write_per_s,
        is_index=is_index,
    )
    (only,) = bills(
        [usage],
        sheet=sheet,
        table_class=table_class,
        mode=mode,
        duration_s=duration_s,
        replicas=replicas,
        month_hours=month_hours,
        free_tier=free_tier,
        reserved_read=reserved_read,
        reserved_write=reserved_write,
    )
    return only


def monthly(
    *,
    sheet: PriceSheet,
    table_class: TableClass,
    read_per_s: Number = 0,
    write_per_s: Number = 0,
    read_capacity: Number = 0,
    write_capacity: Number = 0,
    storage_bytes: Number = 0,
    replicas: int = 0,
    month_hours: Number = MONTH_HOURS,
    free_tier: bool = False,
    reserved_read: Number = 0,
    reserved_write: Number = 0,
) -> Monthly:
    """A month of steady traffic in either mode, without a run: the sum on the back of an envelope.

    Parameters
    ----------
    read_per_s, write_per_s : units consumed per second, charged on demand.
    read_capacity, write_capacity : provisioned capacity, taken as it is.

    The others, and the errors, are those of `bills`.
    """
    one_second = bill(
        sheet=sheet,
        table_class=table_class,
        mode=Mode.PROVISIONED,
        read_units=read_per_s,
        write_units=write_per_s,
        capacity_read=((0, read_capacity),),
        capacity_write=((0, write_capacity),),
        duration_s=1,
        storage_bytes=storage_bytes,
        replicas=replicas,
        month_hours=month_hours,
        free_tier=free_tier,
        reserved_read=reserved_read,
        reserved_write=reserved_write,
    )
    return Monthly(one_second.per_month_provisioned, one_second.per_month_on_demand)


def on_demand_cost(
    sheet: PriceSheet, table_class: TableClass, *, read_units: Number = 0, write_units: Number = 0
) -> Decimal:
    """What so many units cost on demand in one region (F-PRICE-1 to F-PRICE-4)."""
    with localcontext(_CONTEXT):
        tariff = _Tariff(sheet=sheet, table_class=table_class)
        return tariff.on_demand(Usage(read_units=read_units, write_units=write_units))


def dax_cost(sheet: PriceSheet, node_type: str, nodes: int, duration_s: Number) -> Decimal:
    """What a DAX cluster costs over a run (F-PRICE-12).

    Parameters
    ----------
    node_type : AWS's name, ``"dax.r5.large"``.
    nodes : at least 0.

    Raises
    ------
    InputError
        The sheet does not list the node type.
    """
    if node_type not in sheet.dax:
        message = f"the price sheet lists no such node; it has {', '.join(sheet.dax) or 'none'}"
        raise InputError([Problem(source=sheet.name, path=f"dax.{node_type}", message=message)])
    with localcontext(_CONTEXT):
        return sheet.dax[node_type] * _amount(nodes, "nodes") * _amount(duration_s, "duration_s") / HOUR_S


def break_even_utilisation(sheet: PriceSheet, table_class: TableClass) -> BreakEven:
    """Share of provisioned capacity in use at which both modes cost the same: 29 % for Standard today, 14 % before (F-PRICE-22).

    Above it provisioned capacity is cheaper; more than 1 would mean that it never is.
    """
    prices = sheet.of(table_class)
    with localcontext(_CONTEXT):
        read = prices.read_capacity_hour * MILLION / (HOUR_S * prices.read_per_million)
        write = prices.write_capacity_hour * MILLION / (HOUR_S * prices.write_per_million)
    return BreakEven(read, write)


def cents(amount: Decimal) -> Decimal:
    """An amount for a report: two decimals, half up."""
    return amount.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP, context=_CONTEXT)


@dataclass(frozen=True, kw_only=True)
class _Tariff:
    """What applies to a table and its indexes alike. Its methods run in `_CONTEXT`."""

    sheet: PriceSheet
    table_class: TableClass
    regions: int = 1
    free_tier: bool = False
    reserved_read: Decimal = Decimal(0)
    reserved_write: Decimal = Decimal(0)

    def on_demand(self, usage: Usage) -> Decimal:
        """Price of the units of the run."""
        prices = self.sheet.of(self.table_class)
        write_price = prices.replicated_write_per_million if self._replicated(usage) else prices.write_per_million
        writes = _amount(usage.write_units, "write_units") * self.regions
        writes += _amount(usage.ttl_write_units, "ttl_write_units") * (self.regions - 1)
        return (_amount(usage.read_units, "read_units") * prices.read_per_million + writes * write_price) / MILLION

    def provisioned(self, usages: Sequence[Usage], run_s: Decimal) -> list[Decimal]:
        """Price of the capacity of the run, times an hour in seconds: unit seconds at the price of unit hours."""
        prices = self.sheet.of(self.table_class)
        free_read: _Steps = [(Decimal(0), self._free("read_capacity") + self.reserved_read)]
        free_write: _Steps = [(Decimal(0), self._free("write_capacity") + self.reserved_write)]
        totals = []
        for usage in usages:
            read_s, free_read = _beyond(_steps(usage.capacity_read, "capacity_read"), free_read, run_s)
            total = read_s * prices.read_capacity_hour
            capacity_write = _steps(usage.capacity_write, "capacity_write")
            whole_s, _ = _beyond(capacity_write, [(Decimal(0), Decimal(0))], run_s)
            if self._replicated(usage):
                total += whole_s * self.regions * prices.replicated_write_capacity_hour
            else:
                write_s, free_write = _beyond(capacity_write, free_write, run_s)
                total += (write_s + whole_s * (self.regions - 1)) * prices.write_capacity_hour
            totals.append(total)
        if totals:
            totals[0] += self._reservation_hour() * run_s
        return totals

    def storage_month(self, usages: Sequence[Usage]) -> list[Decimal]:
        """Price of a month of storage in all regions."""
        price = self.sheet.of(self.table_class).storage_gb_month
        free_bytes = self._free("storage_gb") * GB_BYTES
        totals = []
        for usage in usages:
            held = _amount(usage.storage_bytes, "storage_bytes")
            totals.append(max(Decimal(0), held - free_bytes) * self.regions * price / GB_BYTES)
            free_bytes = max(Decimal(0), free_bytes - held)
        return totals

    def _replicated(self, usage: Usage) -> bool:
        return self.regions > 1 and not usage.is_index

    def _free(self, what: str) -> Decimal:
        if not self.free_tier or self.table_class is not TableClass.STANDARD:
            return Decimal(0)
        amount: Decimal = getattr(self.sheet.free_tier, what)
        return amount

    def _reservation_hour(self) -> Decimal:
        """Price of the reservation per hour, its upfront part spread over the term."""
        if not self.reserved_read and not self.reserved_write:
            return Decimal(0)
        if self.table_class is not TableClass.STANDARD:
            message = "reserved capacity is for Standard tables only"
            raise InputError([Problem(source=self.sheet.name, path="cost.reserved", message=message)])
        prices = self.sheet.reserved
        if prices is None:
            message = "the price sheet lists no reserved capacity"
            raise InputError([Problem(source=self.sheet.name, path="reserved", message=message)])
        read = prices.read_capacity_hour + prices.read_upfront / RESERVED_TERM_HOURS
        write = prices.write_capacity_hour + prices.write_upfront / RESERVED_TERM_HOURS
        return self.reserved_read * read + self.reserved_write * write


def _carried(usage: Usage) -> Usage:
    """The same usage on the provisioned capacity that it needed."""
    return replace(
        usage,
        capacity_read=((0, max(usage.needed_read_per_s, PROVISIONED_MIN_UNITS)),),
        capacity_write=((0, max(usage.needed_write_per_s, PROVISIONED_MIN_UNITS)),),
    )


def _beyond(capacity: _Steps, free: _Steps, run_s: Decimal) -> tuple[Decimal, _Steps]:
    """Unit seconds of capacity beyond what is free, and the time line of what is left of the free part."""
    times = sorted({at_s for at_s, _ in (*capacity, *free) if at_s < run_s})
    charged = Decimal(0)
    left: _Steps = []
    for i, at_s in enumerate(times):
        until_s = times[i + 1] if i + 1 < len(times) else run_s
        had, given = _at(capacity, at_s), _at(free, at_s)
        charged += max(Decimal(0), had - given) * (until_s - at_s)
        left.append((at_s, max(Decimal(0), given - had)))
    return charged, left


def _at(steps: _Steps, at_s: Decimal) -> Decimal:
    """Value in force; of two changes in one moment the later one."""
    return steps[bisect_right(steps, at_s, key=lambda step: step[0]) - 1][1]


def _steps(timeline: Timeline, name: str) -> _Steps:
    if not timeline:
        return [(Decimal(0), Decimal(0))]
    steps = [(_amount(at_s, name), _amount(units, name)) for at_s, units in timeline]
    if steps[0][0] != 0:
        raise ValueError(f"{name} begins at second 0, not at {timeline[0][0]}")
    for (before_s, _), (after_s, _) in pairwise(steps):
        if after_s < before_s:
            raise ValueError(f"{name} runs backwards from second {before_s} to {after_s}")
    return steps


def _amount(value: Number, name: str) -> Decimal:
    """A number as the decimal that it is written as."""
    amount = value if isinstance(value, Decimal) else Decimal(str(value))
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{name} is a finite number of at least 0, not {value}")
    return amount


def _positive(value: Number, name: str) -> Decimal:
    amount = _amount(value, name)
    if not amount:
        raise ValueError(f"{name} is above 0")
    return amount
