"""Devices that report, without pause."""

from __future__ import annotations

from models.parameters import a_count, a_number
from models.words import amount
from models.workloads.base import ROOM, Need, Workload


def time_series(*, readings_per_s: float = 4000.0, item_bytes: int = 200) -> Workload:
    """Small readings that arrive evenly, far more than are ever read.

    Parameters
    ----------
    readings_per_s : of all devices together; from 1 to 10,000.
    item_bytes : of one reading; from 50 to 4,096.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    rate = a_number("readings_per_s", readings_per_s, 1, 10_000)
    each_bytes = a_count("item_bytes", item_bytes, 50, 4096)
    size = {"item_bytes": each_bytes}
    return Workload(
        name="time-series",
        says=f"Devices report without pause: {amount(rate)} writes of {each_bytes:,} bytes a second, and a list for every hundred.",
        duration="30m",
        needs=(
            Need(name="readings", role="write", keys={"rate": rate, "arrivals": "even", **size}),
            Need(name="charts", role="list", keys={"rate": rate / 100, **size}),
        ),
        # Readings of more than 1 KB cost more than one unit each.
        capacity={
            "mode": "on-demand",
            "previous_peak_write": ROOM * rate * -(-each_bytes // 1024),
            "previous_peak_read": ROOM * rate,
        },
    )
