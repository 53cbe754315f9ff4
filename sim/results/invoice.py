"""The bill of a whole run: the table, each index, storage, cache, stream and warm throughput, for the run and kept up for a month."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from itertools import chain

from sim.names import TABLE, CostItem, Dimension
from sim.results.cost import CONTEXT, HOUR_S, Bill, Line, Number, Usage, amount_of, bills, cents, sum_of
from sim.results.prices import PriceSheet
from sim.scenario import Scenario

STREAM_READS = 100_000  # F-PRICE-14: GetRecords calls are charged by so many

_WARM = {Dimension.READ: CostItem.WARM_READ, Dimension.WRITE: CostItem.WARM_WRITE}
_ONCE = frozenset(_WARM.values())


@dataclass(frozen=True, kw_only=True)
class Invoice:
    """What a run costs, unrounded, in the sheet's currency.

    The table and its indexes share one mode at any moment. A month is the run kept up; what is paid once is not in it.

    Attributes
    ----------
    sheet : the prices.
    bills : throughput and storage of each resource, ``"table"`` first.
    others : cache, stream and warm throughput, each with the resource it belongs to.
    """

    sheet: PriceSheet
    bills: Mapping[str, Bill]
    others: tuple[tuple[str, Line], ...] = ()

    @property
    def table(self) -> Decimal:
        """Throughput of the base table, for the run."""
        return self.bills[TABLE].table

    @cached_property
    def indexes(self) -> Decimal:
        """Throughput of all global secondary indexes, for the run."""
        return sum_of(bill.table for name, bill in self.bills.items() if name != TABLE)

    @cached_property
    def storage(self) -> Decimal:
        """Storage of the table and its indexes, for the run."""
        return sum_of(bill.storage for bill in self.bills.values())

    @property
    def dax(self) -> Decimal:
        """Nodes of the cache, for the run."""
        return self._of(CostItem.DAX)

    @property
    def streams(self) -> Decimal:
        """Reads of the stream that are charged, for the run."""
        return self._of(CostItem.STREAM_READS)

    @property
    def once(self) -> Decimal:
        """What is paid once: warm throughput."""
        return sum_of(line.amount for _, line in self.others if line.item in _ONCE)

    @property
    def total(self) -> Decimal:
        """All of the run, with what is paid once."""
        return sum_of((self.table, self.indexes, self.storage, self.dax, self.streams, self.once))

    @property
    def per_month(self) -> Decimal:
        """The run as it was kept up for a month, each part in the mode that it had."""
        return self._month("per_month")

    @property
    def per_month_provisioned(self) -> Decimal:
        """The same traffic kept up for a month on provisioned capacity: its own, and where it was on demand what that needed."""
        return self._month("per_month_provisioned")

    @property
    def per_month_on_demand(self) -> Decimal:
        """The same traffic kept up for a month, every unit paid on demand."""
        return self._month("per_month_on_demand")

    @property
    def lines(self) -> tuple[tuple[str, Line], ...]:
        """Every line of the bill with the resource it belongs to; nothing that costs nothing."""
        of_resources = ((name, line) for name, bill in self.bills.items() for line in bill.lines)
        return tuple((name, line) for name, line in chain(of_resources, self.others) if line.amount or line.per_month)

    def _of(self, item: CostItem) -> Decimal:
        return sum_of(line.amount for _, line in self.others if line.item is item)

    def _month(self, what: str) -> Decimal:
        recurring = (line.per_month for _, line in self.others if line.item not in _ONCE)
        return sum_of(chain((getattr(bill, what) for bill in self.bills.values()), recurring))


def invoice(
    scenario: Scenario,
    sheet: PriceSheet,
    usages: Mapping[str, Usage],
    *,
    warm_bought: Mapping[tuple[str, Dimension], Number] | None = None,
    shard_seconds: Number = 0,
) -> Invoice:
    """The bill of a run of a scenario.

    Parameters
    ----------
    usages : what each resource used, ``"table"`` first.
    warm_bought : units per second of warm throughput that were paid for, by resource and dimension; None: none.
    shard_seconds : open shards of the table's stream, added up over the run.

    Raises
    ------
    InputError
        The sheet lacks a price that the bill needs.
    """
    table, cost = scenario.table, scenario.cost
    made = bills(
        list(usages.values()),
        sheet=sheet,
        table_class=table.table_class,
        mode=table.mode,
        duration_s=scenario.duration,
        replicas=table.replicas,
        month_hours=cost.month_hours,
        free_tier=cost.free_tier,
        reserved_read=cost.reserved_read,
        reserved_write=cost.reserved_write,
    )
    with localcontext(CONTEXT):
        others = (
            *_dax(scenario, sheet),
            *_stream(scenario, sheet, shard_seconds),
            *_warm(scenario, sheet, warm_bought),
        )
    return Invoice(sheet=sheet, bills=dict(zip(usages, made, strict=True)), others=others)


def check_prices(scenario: Scenario, sheet: PriceSheet) -> None:
    """Raise `InputError` if the sheet lacks a price that the bill of a scenario may need, before it is run."""
    invoice(scenario, sheet, {TABLE: Usage()})


def money(amount: Decimal, currency: str = "USD") -> str:
    """An amount for a report, to the cent: ``$1,234.50``, ``EUR 0.99``."""
    return f"${cents(amount):,}" if currency == "USD" else f"{currency} {cents(amount):,}"


def _dax(scenario: Scenario, sheet: PriceSheet) -> Iterator[tuple[str, Line]]:
    if scenario.dax is None:
        return
    price = sheet.node_hour(scenario.dax.node_type)
    seconds = scenario.dax.nodes * amount_of(scenario.duration, "duration")
    yield (
        "dax",
        Line(
            item=CostItem.DAX,
            quantity=seconds / HOUR_S,
            unit="node-hours",
            price=price,
            amount=price * seconds / HOUR_S,
            per_month=price * scenario.dax.nodes * amount_of(scenario.cost.month_hours, "month_hours"),
        ),
    )


def _stream(scenario: Scenario, sheet: PriceSheet, shard_seconds: Number) -> Iterator[tuple[str, Line]]:
    """Reads of the stream by consumers that pay for them; the free ones of a month count for a run by its share of the month."""
    cost = scenario.cost
    if not scenario.table.streams or not cost.stream_readers:
        return
    prices = sheet.stream_prices()
    run_s = amount_of(scenario.duration, "duration")
    month_s = amount_of(cost.month_hours, "month_hours") * HOUR_S
    asked = amount_of(shard_seconds, "shard_seconds") * cost.stream_readers
    in_month = asked * amount_of(cost.stream_reads_per_s, "stream_reads_per_s") * month_s / run_s
    charged = max(Decimal(0), in_month - prices.free_reads_month)
    per_month = charged * prices.read_per_100k / STREAM_READS
    yield (
        TABLE,
        Line(
            item=CostItem.STREAM_READS,
            quantity=charged * run_s / (month_s * STREAM_READS),
            unit="100,000 reads",
            price=prices.read_per_100k,
            amount=per_month * run_s / month_s,
            per_month=per_month,
        ),
    )


def _warm(
    scenario: Scenario, sheet: PriceSheet, bought: Mapping[tuple[str, Dimension], Number] | None
) -> Iterator[tuple[str, Line]]:
    """Warm throughput, paid once in every region of the table."""
    prices = sheet.of(scenario.table.table_class)
    for (name, dimension), added in (bought or {}).items():
        units = amount_of(added, "warm_bought") * (1 + scenario.table.replicas)
        price = prices.warm_read_once if dimension is Dimension.READ else prices.warm_write_once
        amount = units * price
        line = Line(item=_WARM[dimension], quantity=units, unit="units/s", price=price, amount=amount, per_month=amount)
        yield name, line
