"""A shop, and the hour in which everybody comes."""

from __future__ import annotations

from models.parameters import a_number
from models.words import amount, times
from models.workloads.base import ROOM, Need, Workload


def flash_sale(*, usual_per_s: float = 500.0, peak_per_s: float = 5000.0) -> Workload:
    """Orders at another rate than usual for a quarter of an hour, while shoppers read half as many and list some.

    Parameters
    ----------
    usual_per_s : orders per second before and after the sale; from 1 to 10,000.
    peak_per_s : orders per second during the sale; from 1 to 10,000.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    usual = a_number("usual_per_s", usual_per_s, 1, 10_000)
    peak = a_number("peak_per_s", peak_per_s, 1, 10_000)

    def sale(per_order: float) -> dict[str, object]:
        return {"kind": "spike", "base": per_order * usual, "peak": per_order * peak, "at": "10m", "lasting": "15m"}

    return Workload(
        name="flash-sale",
        says=f"A flash sale: {times(peak / usual)} the usual orders, {amount(peak)} a second instead of {amount(usual)}, "
        "for a quarter of an hour.",
        duration="30m",
        needs=(
            Need(name="orders", role="write", keys={"rate": sale(1)}),
            Need(name="order pages", role="read", keys={"rate": sale(0.5)}),
            Need(name="lists", role="list", keys={"rate": sale(0.05)}),
            Need(name="shipped", role="change", keys={"rate": sale(0.02)}),
        ),
        capacity={
            "mode": "on-demand",
            "previous_peak_write": ROOM * max(usual, peak),
            "previous_peak_read": ROOM * max(usual, peak),
        },
    )
