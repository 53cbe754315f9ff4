"""Partition keys that take all the traffic in few places."""

from __future__ import annotations

from models.designs.base import Design


def bad_status(*, active_fraction: float = 0.9) -> Design:
    """The status of an order as the partition key: two keys, and one takes nearly everything.

    Parameters
    ----------
    active_fraction : share of the orders that are active, above 0 and below 1.
    """
    weights = {"active": active_fraction, "inactive": 1 - active_fraction}
    return Design(
        name="bad-status",
        shows="S-BAD-STATUS",
        says="STATUS#{status} has two keys, and one of them takes all: no capacity, mode or split spreads one key's items by hash.",
        pk="STATUS#{status}",
        sk="ORDER#{order}",
        fields={"status": {"kind": "choice", "weights": weights}},
        accesses={"read": ({"operation": "GetItem"},)},
    )


def bad_date() -> Design:
    """The day as the partition key: all of today lies in one place, which moves at midnight."""
    return Design(
        name="bad-date",
        shows="S-BAD-DATE",
        says="DATE#{date} puts all of today into one place, which moves at midnight.",
        pk="DATE#{date}",
        sk="ORDER#{order}",
    )


def bad_viral(*, viral_share: float = 0.5, posts: int = 1000) -> Design:
    """A post as the partition key, of which one goes viral.

    Parameters
    ----------
    viral_share : share of the traffic that goes to the one post, above 0 and below 1.
    posts : all posts, the viral one included.
    """
    rest = (1 - viral_share) / (posts - 1)
    return Design(
        name="bad-viral",
        shows="S-BAD-VIRAL",
        says="POST#{post} with one viral post: one key beyond any ceiling.",
        pk="POST#{post}",
        sk="LIKE#{user}",
        fields={
            "post": {
                "kind": "choice",
                "weights": {"viral": viral_share, **{str(number): rest for number in range(1, posts)}},
            }
        },
    )


def bad_tenant(*, largest_share: float = 0.8, tenants: int = 100) -> Design:
    """The tenant as the partition key, of which one is most of the business.

    Parameters
    ----------
    largest_share : share of the traffic of the one tenant, above 0 and below 1.
    tenants : all tenants, the large one included.
    """
    rest = (1 - largest_share) / (tenants - 1)
    return Design(
        name="bad-tenant",
        shows="S-BAD-TENANT",
        says="TENANT#{tenant} with one tenant of 80 %: always the same hot place.",
        pk="TENANT#{tenant}",
        sk="ORDER#{order}",
        fields={
            "tenant": {
                "kind": "choice",
                "weights": {"large": largest_share, **{str(number): rest for number in range(1, tenants)}},
            }
        },
    )
