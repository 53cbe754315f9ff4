"""A shop, and the hour in which everybody comes."""

from __future__ import annotations

from models.workloads.base import Need, Workload


def flash_sale(*, usual_per_s: float = 500.0, peak_per_s: float = 5000.0) -> Workload:
    """Orders at ten times their usual rate for half an hour, while shoppers read.

    Parameters
    ----------
    usual_per_s, peak_per_s : orders per second before and during the sale.
    """
    spike = {"kind": "spike", "base": usual_per_s, "peak": peak_per_s, "at": "15m", "lasting": "30m"}
    reads = {"kind": "spike", "base": 2 * usual_per_s, "peak": 2 * peak_per_s, "at": "15m", "lasting": "30m"}
    return Workload(
        name="flash-sale",
        says="A flash sale: ten times the usual orders for half an hour.",
        duration="1h",
        needs=(
            Need(name="orders", role="write", keys={"rate": spike}),
            Need(name="order pages", role="read", keys={"rate": reads}),
            Need(name="lists", role="list", keys={"rate": usual_per_s / 10}),
        ),
        capacity={"mode": "on-demand", "previous_peak_write": peak_per_s, "previous_peak_read": peak_per_s},
    )
