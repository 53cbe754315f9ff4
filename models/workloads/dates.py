"""A day's orders, and the next day's."""

from __future__ import annotations

from models.parameters import a_number
from models.words import amount
from models.workloads.base import ROOM, Need, Workload


def order_dates(*, orders_per_s: float = 1500.0) -> Workload:
    """Orders from an hour before midnight (UTC) to an hour after it, and lists of today's.

    Parameters
    ----------
    orders_per_s : all through; from 1 to 10,000.

    Raises
    ------
    ValueError
        The parameter is outside its range.
    """
    rate = a_number("orders_per_s", orders_per_s, 1, 10_000)
    return Workload(
        name="order-dates",
        says=f"Orders over midnight, {amount(rate)} a second: an hour of one day, an hour of the next.",
        duration="2h",
        needs=(
            Need(name="orders", role="write", keys={"rate": rate}),
            Need(name="order pages", role="read", keys={"rate": rate / 2}),
            Need(name="lists", role="list", keys={"rate": rate / 50}),
        ),
        capacity={"mode": "on-demand", "previous_peak_write": ROOM * rate, "previous_peak_read": ROOM * rate},
        settings={"start": "2026-01-01T23:00:00Z"},
    )
