"""Data that is brought in all at once."""

from __future__ import annotations

from models.parameters import a_count, a_number
from models.words import amount, counted
from models.workloads.base import ROOM, Need, Workload

_SENDING_S = 29 * 60  # of the run


def bulk_load(*, items: int = 5_000_000, items_per_s: float = 5000.0, batch: int = 25) -> Workload:
    """A finite number of items, put in batches as fast as the table was made for; whatever a batch hands back is lost.

    Exactly so many items are sent: what is left over by full batches is one more request, ``rest``.

    Parameters
    ----------
    items : all that is to be loaded; from 1 to 100,000,000.
    items_per_s : how fast; from 1 to 10,000.
    batch : items of one request; from 1 to 25.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    rate = a_number("items_per_s", items_per_s, 1, 10_000)
    total = a_count("items", items, 1, 100_000_000)
    size = min(a_count("batch", batch, 1, 25), total)
    requests, left_over = divmod(total, size)
    load: dict[str, object] = {"rate": rate / size, "starts": "1m"}
    in_batches = "one by one" if size == 1 else f"in batches of {size}"
    until = "until all have been sent" if total <= rate * _SENDING_S else "more than half an hour sends"
    rest = (Need(name="rest", role="write", keys={**load, "count": 1}, batch=left_over),) if left_over else ()
    return Workload(
        name="bulk-load",
        says=f"A bulk load: {counted(total, 'item')} {in_batches}, {amount(rate)} a second, {until}.",
        duration="30m",
        needs=(
            Need(name="load", role="write", keys={**load, "count": requests}, batch=size),
            *rest,
            Need(name="lists", role="list", keys={"rate": rate / 100}),
        ),
        capacity={"mode": "on-demand", "previous_peak_write": ROOM * rate, "previous_peak_read": ROOM * rate},
    )
