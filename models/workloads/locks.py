"""Workers that wait for a lock."""

from __future__ import annotations

from models.parameters import a_count, a_number
from models.words import amount
from models.workloads.base import ROOM, Need, Workload


def lock_polling(*, polls_per_s: float = 4000.0, takes_per_s: float = 1200.0, locks: int = 1) -> Workload:
    """Workers that read a lock's item over and over, and try to take it by a write that nearly always finds it taken.

    A lock is an item of its own, ``LOCK#{lock}``, in whichever table; it is in no index. So no key design helps: only more locks, or fewer
    polls. A write whose condition is false is charged all the same.

    Parameters
    ----------
    polls_per_s : strongly consistent reads of all workers together; from 1 to 10,000.
    takes_per_s : conditional writes of all workers together; from 1 to 10,000.
    locks : how many there are to wait for, each as wanted as any other; from 1 to 10,000.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    polls = a_number("polls_per_s", polls_per_s, 1, 10_000)
    takes = a_number("takes_per_s", takes_per_s, 1, 10_000)
    count = a_count("locks", locks, 1, 10_000)
    lock = {"pk": "LOCK#{lock}", "sk": "LOCK", "item_bytes": 200}
    return Workload(
        name="lock-polling",
        says=f"Workers poll locks: {amount(polls)} strong reads and {amount(takes)} conditional writes a second, which nearly all fail.",
        duration="6m",
        needs=(
            Need(name="polls", keys={"operation": "GetItem", "consistent": True, "rate": polls, **lock}),
            Need(
                name="takes",
                keys={"operation": "UpdateItem", "condition_fails": 0.99, "rate": takes, "touches": [], **lock},
            ),
            Need(name="work", role="write", keys={"rate": takes / 10}),
        ),
        fields={"lock": {"kind": "uniform", "count": count}},
        fields_say={
            "lock": "There is one lock, one item." if count == 1 else f"There are {count:,} locks, an item each."
        },
        capacity={"mode": "on-demand", "previous_peak_write": ROOM * takes, "previous_peak_read": ROOM * polls},
    )
