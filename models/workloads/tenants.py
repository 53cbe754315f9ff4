"""Software for many companies, one of which is most of the business."""

from __future__ import annotations

from models.designs.base import one_of_many
from models.parameters import a_count, a_number
from models.words import amount, one_has
from models.workloads.base import ROOM, Need, Workload


def tenant_dominance(*, orders_per_s: float = 2000.0, largest_share: float = 0.8, tenants: int = 100) -> Workload:
    """Steady orders of tenants of which one has a share of its own: most of them, if nothing else is said.

    Parameters
    ----------
    orders_per_s : of all tenants together; from 1 to 10,000.
    largest_share : share of the largest tenant; from 0.01 to 0.99.
    tenants : all tenants, the large one included; from 2 to 100,000.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    rate = a_number("orders_per_s", orders_per_s, 1, 10_000)
    share = a_number("largest_share", largest_share, 0.01, 0.99)
    count = a_count("tenants", tenants, 2, 100_000)
    return Workload(
        name="tenant-dominance",
        says=f"Steady orders of all tenants, {amount(rate)} a second.",
        duration="30m",
        needs=(
            Need(name="orders", role="write", keys={"rate": rate}),
            Need(name="order pages", role="read", keys={"rate": rate}),
            Need(name="lists", role="list", keys={"rate": rate / 20}),
            Need(name="shipped", role="change", keys={"rate": rate / 50}),
        ),
        fields={"tenant": one_of_many("large", share, count)},
        fields_say={"tenant": one_has("tenants", share, count)},
        capacity={"mode": "on-demand", "previous_peak_write": ROOM * rate, "previous_peak_read": ROOM * rate},
    )
