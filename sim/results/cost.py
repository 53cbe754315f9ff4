"""What the throughput and the storage of a table and its indexes cost: decimal arithmetic over a dated price sheet.

Amounts are exact decimals in the sheet's currency; `cents` alone rounds, half up, and is for reports. Capacity is a time line
``[(at_s, units per second), …]`` from second 0, each value in force until the next, and is charged by the second; AWS charges by the hour.
What else stands on the bill of a run, and their sum, is in `invoice`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from itertools import pairwise
from typing import NamedTuple, TypeVar

from sim.errors import InputError, Problem
from sim.limits import GB_BYTES, PROVISIONED_MIN_UNITS
from sim.names import CostItem, Mode, TableClass
from sim.results.prices import PriceSheet
from sim.results.steps import value_at

MILLION = 1_000_000
HOUR_S = 3600
RESERVED_TERM_HOURS = 365 * 24  # F-PRICE-10: one year
MONTH_HOURS = 730  # contract, [cost]

# Our own context: a result must not hang on what the caller has set for decimals elsewhere.
CONTEXT = Context(prec=28)

Number = int | float | Decimal
Timeline = Sequence[tuple[Number, Number]]
Modes = Sequence[tuple[Number, Mode]]
_Steps = list[tuple[Decimal, Decimal]]
_ModeSteps = list[tuple[Decimal, Mode]]
_T = TypeVar("_T")


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
    needed_read_per_s, needed_write_per_s : provisioned capacity that would have carried the run, or its parts on demand (say, the
        highest average of a minute, rounded up): what the provisioned month is charged for there, one unit at least (F-PROV-1).
    is_index : a GSI, whose writes are ordinary ones in all regions of a global table (inferred).
    modes : mode in force from each moment on, the first at second 0. Empty: the mode of the bill all along.
    metered : what was consumed while on demand, needed where ``modes`` has both; None: all, or none, as the mode is.
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
    modes: Modes = ()
    metered: Metered | None = None


class Metered(NamedTuple):
    """Units consumed while a table or index was on demand, of the kinds that `Usage` tells apart."""

    read_units: Number = 0
    write_units: Number = 0
    ttl_write_units: Number = 0


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a bill: a quantity at a price.

    Attributes
    ----------
    quantity : charged in the run, beyond what is free, in ``unit``.
    price : of one unit.
    amount : quantity × price, for the run.
    per_month : the same kept up for a month; of what is paid once, the same amount.
    """

    item: CostItem
    quantity: Decimal
    unit: str
    price: Decimal
    amount: Decimal
    per_month: Decimal


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What one table or index costs, unrounded.

    Attributes
    ----------
    table : units or capacity, for the run.
    storage : for the run.
    per_month : the run as it was, modes and capacity steps and all, kept up for a month, with storage.
    per_month_provisioned, per_month_on_demand : the same traffic kept up for a month in either mode, with storage. The
        provisioned month of a provisioned run is its own capacity; of an on-demand run, the capacity it needed.
    lines : what the run is charged for, storage last; nothing that costs nothing.
    """

    table: Decimal
    storage: Decimal
    per_month: Decimal
    per_month_provisioned: Decimal
    per_month_on_demand: Decimal
    lines: tuple[Line, ...]

    @property
    def total(self) -> Decimal:
        """Units or capacity, and storage, for the run."""
        return sum_of((self.table, self.storage))


class Monthly(NamedTuple):
    """A month in either mode."""

    provisioned: Decimal
    on_demand: Decimal


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
    with localcontext(CONTEXT):
        run_s = _positive(duration_s, "duration_s")
        month_s = _positive(month_hours, "month_hours") * HOUR_S
        tariff = _Tariff(
            sheet=sheet,
            table_class=table_class,
            regions=1 + replicas,
            free_tier=free_tier,
            reserved_read=amount_of(reserved_read, "reserved_read"),
            reserved_write=amount_of(reserved_write, "reserved_write"),
        )
        span = _Span(run_s, month_s)
        modes = [_mode_steps(usage, mode) for usage in usages]
        as_run = _joined(
            tariff.provisioned([_masked(u, steps) for u, steps in zip(usages, modes, strict=True)], run_s, modes),
            [tariff.on_demand(_metered(u, steps)) for u, steps in zip(usages, modes, strict=True)],
        )
        on_demand = [tariff.on_demand(usage) for usage in usages]
        provisioned = tariff.provisioned([_carried(u, steps) for u, steps in zip(usages, modes, strict=True)], run_s)
        storage = [span.stored(held) for held in tariff.storage(usages)]
        return [
            Bill(
                table=sum((charge.amount for charge in charges), Decimal(0)),
                storage=stored.amount,
                per_month=span.month_of(charges) + stored.per_month,
                per_month_provisioned=span.month_of(of_capacity) + stored.per_month,
                per_month_on_demand=span.month_of(of_units) + stored.per_month,
                lines=tuple(line for line in (*map(span.line, charges), stored) if line.amount),
            )
            for charges, of_capacity, of_units, stored in zip(as_run, provisioned, on_demand, storage, strict=True)
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
    modes: Modes = (),
    metered: Metered | None = None,
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
        modes=modes,
        metered=metered,
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
    with localcontext(CONTEXT):
        tariff = _Tariff(sheet=sheet, table_class=table_class)
        charges = tariff.on_demand(Usage(read_units=read_units, write_units=write_units))
        return sum((charge.amount for charge in charges), Decimal(0))


def sum_of(amounts: Iterable[Decimal]) -> Decimal:
    """Amounts added up, whatever the caller has set for decimals."""
    with localcontext(CONTEXT):
        return sum(amounts, Decimal(0))


def cents(amount: Decimal) -> Decimal:
    """An amount for a report: two decimals, half up."""
    return amount.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP, context=CONTEXT)


@dataclass(frozen=True, kw_only=True)
class _Tariff:
    """What applies to a table and its indexes alike. Its methods run in `CONTEXT`."""

    sheet: PriceSheet
    table_class: TableClass
    regions: int = 1
    free_tier: bool = False
    reserved_read: Decimal = Decimal(0)
    reserved_write: Decimal = Decimal(0)

    def on_demand(self, usage: Usage) -> list[_Charge]:
        """The units of a run."""
        prices = self.sheet.of(self.table_class)
        is_replicated = self._replicated(usage)
        writes = amount_of(usage.write_units, "write_units") * self.regions
        writes += amount_of(usage.ttl_write_units, "ttl_write_units") * (self.regions - 1)
        return [
            _Charge(CostItem.READ_UNITS, amount_of(usage.read_units, "read_units"), prices.read_per_million, MILLION),
            _Charge(CostItem.REPLICATED_WRITE_UNITS, writes, prices.replicated_write_per_million, MILLION)
            if is_replicated
            else _Charge(CostItem.WRITE_UNITS, writes, prices.write_per_million, MILLION),
        ]

    def provisioned(
        self, usages: Sequence[Usage], run_s: Decimal, modes: Sequence[_ModeSteps] | None = None
    ) -> list[list[_Charge]]:
        """The capacity of a run, in unit seconds; a reservation unless ``modes`` say that nothing was ever provisioned."""
        prices = self.sheet.of(self.table_class)
        free_read: _Steps = [(Decimal(0), self._free("read_capacity") + self.reserved_read)]
        free_write: _Steps = [(Decimal(0), self._free("write_capacity") + self.reserved_write)]
        totals = []
        for usage in usages:
            read_s, free_read = _beyond(_steps(usage.capacity_read, "capacity_read"), free_read, run_s)
            charges = [_Charge(CostItem.READ_CAPACITY, read_s, prices.read_capacity_hour, HOUR_S)]
            capacity_write = _steps(usage.capacity_write, "capacity_write")
            whole_s, _ = _beyond(capacity_write, [(Decimal(0), Decimal(0))], run_s)
            if self._replicated(usage):
                price = prices.replicated_write_capacity_hour
                charges.append(_Charge(CostItem.REPLICATED_WRITE_CAPACITY, whole_s * self.regions, price, HOUR_S))
            else:
                write_s, free_write = _beyond(capacity_write, free_write, run_s)
                write_s += whole_s * (self.regions - 1)
                charges.append(_Charge(CostItem.WRITE_CAPACITY, write_s, prices.write_capacity_hour, HOUR_S))
            totals.append(charges)
        if totals and (modes is None or any(mode is Mode.PROVISIONED for steps in modes for _, mode in steps)):
            totals[0] += self._reservation(run_s)
        return totals

    def storage(self, usages: Sequence[Usage]) -> list[tuple[Decimal, Decimal]]:
        """Bytes that are charged in all regions, and the price of a GB-month."""
        price = self.sheet.of(self.table_class).storage_gb_month
        free_bytes = self._free("storage_gb") * GB_BYTES
        totals = []
        for usage in usages:
            held = amount_of(usage.storage_bytes, "storage_bytes")
            totals.append((max(Decimal(0), held - free_bytes) * self.regions, price))
            free_bytes = max(Decimal(0), free_bytes - held)
        return totals

    def _replicated(self, usage: Usage) -> bool:
        return self.regions > 1 and not usage.is_index

    def _free(self, what: str) -> Decimal:
        if not self.free_tier or self.table_class is not TableClass.STANDARD:
            return Decimal(0)
        amount: Decimal = getattr(self.sheet.free_tier, what)
        return amount

    def _reservation(self, run_s: Decimal) -> list[_Charge]:
        """What is reserved, used or not, its upfront part spread over the term."""
        if not self.reserved_read and not self.reserved_write:
            return []
        if self.table_class is not TableClass.STANDARD:
            message = "reserved capacity is for Standard tables only"
            raise InputError([Problem(source=self.sheet.name, path="cost.reserved", message=message)])
        prices = self.sheet.reserved
        if prices is None:
            message = "the price sheet lists no reserved capacity"
            raise InputError([Problem(source=self.sheet.name, path="reserved", message=message)])
        read = prices.read_capacity_hour + prices.read_upfront / RESERVED_TERM_HOURS
        write = prices.write_capacity_hour + prices.write_upfront / RESERVED_TERM_HOURS
        return [
            _Charge(CostItem.RESERVED_READ_CAPACITY, self.reserved_read * run_s, read, HOUR_S),
            _Charge(CostItem.RESERVED_WRITE_CAPACITY, self.reserved_write * run_s, write, HOUR_S),
        ]


class _Charge(NamedTuple):
    """A quantity in units of which ``per`` make one that has a price. Divided last, so that whole cents stay whole."""

    item: CostItem
    quantity: Decimal
    price: Decimal
    per: int

    @property
    def amount(self) -> Decimal:
        return self.quantity * self.price / self.per


class _Span(NamedTuple):
    """A run and the month for which it stands."""

    run_s: Decimal
    month_s: Decimal

    def month_of(self, charges: Sequence[_Charge]) -> Decimal:
        """What the charges of the run come to when they are kept up for a month."""
        whole = sum(
            (charge.quantity * charge.price * (MILLION * HOUR_S // charge.per) for charge in charges), Decimal(0)
        )
        return whole * self.month_s / (self.run_s * MILLION * HOUR_S)

    def line(self, charge: _Charge) -> Line:
        """A charge as a line of the bill."""
        return Line(
            item=charge.item,
            quantity=charge.quantity / charge.per,
            unit="unit-hours" if charge.per == HOUR_S else "million units",
            price=charge.price,
            amount=charge.amount,
            per_month=self.month_of([charge]),
        )

    def stored(self, held: tuple[Decimal, Decimal]) -> Line:
        """Bytes held all through the run as a line of the bill."""
        charged_bytes, price = held
        return Line(
            item=CostItem.STORAGE,
            quantity=charged_bytes * self.run_s / (GB_BYTES * self.month_s),
            unit="GB-months",
            price=price,
            amount=charged_bytes * price / GB_BYTES * self.run_s / self.month_s,
            per_month=charged_bytes * price / GB_BYTES,
        )


def _joined(first: Sequence[list[_Charge]], second: Sequence[list[_Charge]]) -> list[list[_Charge]]:
    return [[*one, *other] for one, other in zip(first, second, strict=True)]


def _mode_steps(usage: Usage, mode: Mode) -> _ModeSteps:
    """Modes over time, and what they ask of the rest of a usage."""
    if not usage.modes:
        return [(Decimal(0), mode)]
    steps = [(amount_of(at_s, "modes"), each) for at_s, each in usage.modes]
    _check_order([at_s for at_s, _ in steps], "modes")
    if usage.metered is None and len({each for _, each in steps}) > 1:
        raise ValueError("modes change, so metered is needed: what was consumed while on demand")
    return steps


def _masked(usage: Usage, modes: _ModeSteps) -> Usage:
    """The same usage with its capacity where it was provisioned, and none where it was on demand."""
    return replace(
        usage,
        capacity_read=_where(modes, _steps(usage.capacity_read, "capacity_read"), [(Decimal(0), Decimal(0))]),
        capacity_write=_where(modes, _steps(usage.capacity_write, "capacity_write"), [(Decimal(0), Decimal(0))]),
    )


def _metered(usage: Usage, modes: _ModeSteps) -> Usage:
    """The same usage with what was consumed on demand alone."""
    given = usage.metered
    if given is None:
        is_on_demand = modes[0][1] is Mode.ON_DEMAND
        given = Metered(usage.read_units, usage.write_units, usage.ttl_write_units) if is_on_demand else Metered()
    return replace(
        usage, read_units=given.read_units, write_units=given.write_units, ttl_write_units=given.ttl_write_units
    )


def _carried(usage: Usage, modes: _ModeSteps) -> Usage:
    """The same usage on its own capacity where it was provisioned, and on what it needed where it was on demand."""
    least = Decimal(PROVISIONED_MIN_UNITS)
    read = max(amount_of(usage.needed_read_per_s, "needed_read_per_s"), least)
    write = max(amount_of(usage.needed_write_per_s, "needed_write_per_s"), least)
    return replace(
        usage,
        capacity_read=_where(modes, _steps(usage.capacity_read, "capacity_read"), [(Decimal(0), read)]),
        capacity_write=_where(modes, _steps(usage.capacity_write, "capacity_write"), [(Decimal(0), write)]),
    )


def _where(modes: _ModeSteps, provisioned: _Steps, on_demand: _Steps) -> _Steps:
    """One time line while provisioned and another one while on demand."""
    times = sorted({at_s for steps in (modes, provisioned, on_demand) for at_s, _ in steps})
    return [
        (at_s, value_at(provisioned if value_at(modes, at_s) is Mode.PROVISIONED else on_demand, at_s))
        for at_s in times
    ]


def _beyond(capacity: _Steps, free: _Steps, run_s: Decimal) -> tuple[Decimal, _Steps]:
    """Unit seconds of capacity beyond what is free, and the time line of what is left of the free part."""
    times = sorted({at_s for at_s, _ in (*capacity, *free) if at_s < run_s})
    charged = Decimal(0)
    left: _Steps = []
    for i, at_s in enumerate(times):
        until_s = times[i + 1] if i + 1 < len(times) else run_s
        had, given = value_at(capacity, at_s), value_at(free, at_s)
        charged += max(Decimal(0), had - given) * (until_s - at_s)
        left.append((at_s, max(Decimal(0), given - had)))
    return charged, left


def _steps(timeline: Timeline, name: str) -> _Steps:
    if not timeline:
        return [(Decimal(0), Decimal(0))]
    steps = [(amount_of(at_s, name), amount_of(units, name)) for at_s, units in timeline]
    _check_order([at_s for at_s, _ in steps], name)
    return steps


def _check_order(times: Sequence[Decimal], name: str) -> None:
    if times[0] != 0:
        raise ValueError(f"{name} begins at second 0, not at {times[0]}")
    for before_s, after_s in pairwise(times):
        if after_s < before_s:
            raise ValueError(f"{name} runs backwards from second {before_s} to {after_s}")


def amount_of(value: Number, name: str) -> Decimal:
    """A number as the decimal that it is written as.

    Raises
    ------
    ValueError
        It is negative or no number.
    """
    amount = value if isinstance(value, Decimal) else Decimal(str(value))
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{name} is a finite number of at least 0, not {value}")
    return amount


def _positive(value: Number, name: str) -> Decimal:
    amount = amount_of(value, name)
    if not amount:
        raise ValueError(f"{name} is above 0")
    return amount
