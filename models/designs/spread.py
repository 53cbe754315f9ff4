"""Partition keys that spread traffic by themselves."""

from __future__ import annotations

from models.designs.base import Design


def good_user(*, users: int = 100_000, exponent: float = 0.5) -> Design:
    """The user as the partition key: many keys, none of them large.

    Parameters
    ----------
    users : how many.
    exponent : of the zipf law by which some are busier than others; 0: all alike.
    """
    return Design(
        name="good-user",
        shows="S-GOOD-USER",
        says="USER#{user} spreads by itself: many keys, none of them large.",
        pk="USER#{user}",
        sk="ORDER#{order}",
        fields={"user": {"kind": "zipf", "count": users, "exponent": exponent}},
    )
