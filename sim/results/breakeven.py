"""Where one way of paying becomes cheaper than another: provisioned capacity against requests, a cache against the reads it saves."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import NamedTuple

from sim.names import TableClass
from sim.results.cost import CONTEXT, HOUR_S, MILLION, Number, amount_of
from sim.results.prices import PriceSheet


class BreakEven(NamedTuple):
    """Share of provisioned capacity in use above which it is cheaper than paying per request."""

    read: Decimal
    write: Decimal


def break_even_utilisation(sheet: PriceSheet, table_class: TableClass) -> BreakEven:
    """Share of provisioned capacity in use at which both modes cost the same: 29 % for Standard today, 14 % before (F-PRICE-22).

    Above it provisioned capacity is cheaper; more than 1 would mean that it never is. Where capacity is provisioned for the peak, its
    reciprocal is the ratio of peak to average at which both cost the same: 3.5 today.
    """
    prices = sheet.of(table_class)
    with localcontext(CONTEXT):
        read = prices.read_capacity_hour * MILLION / (HOUR_S * prices.read_per_million)
        write = prices.write_capacity_hour * MILLION / (HOUR_S * prices.write_per_million)
    return BreakEven(read, write)


def dax_break_even_per_s(
    sheet: PriceSheet,
    table_class: TableClass,
    *,
    node_type: str,
    nodes: int,
    hit_fraction: Number,
    units_per_read: Number = Decimal("0.5"),
) -> Decimal:
    """Reads per second above which a DAX cluster costs less than the on-demand reads that its hits save.

    Parameters
    ----------
    nodes : at least 0.
    hit_fraction : share of reads answered from the cache, above 0 and at most 1.
    units_per_read : read units of one read at the table, above 0; a cache serves eventually consistent reads, half a unit each up to 4 KB.

    Raises
    ------
    ValueError
        A share or an amount outside of its range.
    InputError
        The sheet lacks the table class or the node type.
    """
    with localcontext(CONTEXT):
        hits = amount_of(hit_fraction, "hit_fraction")
        if not 0 < hits <= 1:
            raise ValueError(f"hit_fraction is above 0 and at most 1, not {hit_fraction}")
        units = amount_of(units_per_read, "units_per_read")
        if not units:
            raise ValueError("units_per_read is above 0")
        cluster_hour = sheet.node_hour(node_type) * amount_of(nodes, "nodes")
        return cluster_hour * MILLION / (HOUR_S * sheet.of(table_class).read_per_million * hits * units)
