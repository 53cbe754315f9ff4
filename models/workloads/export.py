"""A job at night that reads everything."""

from __future__ import annotations

from models.parameters import a_count, a_number
from models.words import amount
from models.workloads.base import ROOM, Need, Workload


def nightly_export(*, items: int = 4_000_000, page_items: int = 50, orders_per_s: float = 500.0) -> Workload:
    """A Scan of the whole table at five past two in the night, beside what little the night brings.

    It heats one partition after the other. Its pages are kept small so that it takes about 2,000 read units a second; full pages of 1 MB
    (1,000 items and more) take whatever a partition has, and a job that does not resend breaks off.

    Parameters
    ----------
    items : of 1 KB that the table holds; from 1,000 to 20,000,000.
    page_items : `Limit` of each page; from 20 to 1,000.
    orders_per_s : written, and read once each, meanwhile; from 1 to 10,000.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    rate = a_number("orders_per_s", orders_per_s, 1, 10_000)
    count, page = a_count("items", items, 1000, 20_000_000), a_count("page_items", page_items, 20, 1000)
    scan = {
        "operation": "Scan",
        "item_bytes": 1024,
        "items": count,
        "limit": page,
        "rate": 1,
        "count": 1,
        "arrivals": "even",
        "starts": "5m",
    }
    return Workload(
        name="nightly-export",
        says=f"A nightly export scans the whole table, {count:,} items in pages of {page:,}, while {amount(rate)} orders a second come in.",
        duration="30m",
        needs=(
            Need(name="export", keys=scan),
            Need(name="orders", role="write", keys={"rate": rate}),
            Need(name="order pages", role="read", keys={"rate": rate}),
        ),
        # What one walk takes in a second is more than the orders' pages do.
        capacity={"mode": "on-demand", "previous_peak_write": ROOM * rate, "previous_peak_read": 10_000 + ROOM * rate},
        settings={"start": "2026-01-02T02:00:00Z"},
    )
