"""Partition keys that take all the traffic in few places."""

from __future__ import annotations

from models.designs.base import LIST_ITEMS, Design, one_of_many
from models.parameters import a_count, a_number, one_of
from models.words import one_has, percent


def bad_status(*, active_fraction: float = 0.9) -> Design:
    """The status of an order as the partition key: two keys, and one takes nearly everything.

    Orders are numbered as they come, so the newest of a status always lie at one end of its items: no split between sort keys helps. A
    change of status is a move: one transaction that deletes here and puts there, four write units for 1 KB.

    Parameters
    ----------
    active_fraction : share of the orders that are active; from 0.01 to 0.99.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    active = a_number("active_fraction", active_fraction, 0.01, 0.99)
    move = (
        {"operation": "DeleteItem", "pk": "STATUS#active"},
        {"operation": "PutItem", "pk": "STATUS#inactive"},
    )
    return Design(
        name="bad-status",
        shows="S-BAD-STATUS",
        says="STATUS#{status} has as many keys as there are statuses: however large the table, one partition carries all of one.",
        pk="STATUS#{status}",
        sk="ORDER#{order}",
        fields={"status": {"kind": "choice", "weights": {"active": active, "inactive": 1 - active}}},
        fields_say={"status": f"There are two statuses, and {percent(active)} of the orders are active."},
        accesses={
            "list": ({"operation": "Query", "where": {"status": "active"}, "items": LIST_ITEMS},),
            "change": ({"operation": "TransactWriteItems", "actions": move},),
        },
    )


def bad_date() -> Design:
    """The day as the partition key: all of today lies in one place, which moves at midnight.

    Whoever lists a day asks one key; whoever writes asks the same one, until midnight (UTC) brings the next.
    """
    return Design(
        name="bad-date",
        shows="S-BAD-DATE",
        says="DATE#{date} puts all of today into one place, which moves at midnight.",
        pk="DATE#{date}",
        sk="ORDER#{order}",
    )


def bad_viral(*, viral_share: float = 0.5, posts: int = 1000, likes: str = "counter") -> Design:
    """A post as the partition key, of which one goes viral.

    A like either counts in the post's own item, which no split divides, or is an item beside it, ``LIKE#{user}``: these a split for heat
    does spread over partitions, minutes later, which the guides leave out.

    Parameters
    ----------
    viral_share : share of the traffic that goes to the one post; from 0.01 to 0.99.
    posts : all posts, the viral one included; from 2 to 100,000.
    likes : one of "counter", "items".

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    share = a_number("viral_share", viral_share, 0.01, 0.99)
    count = a_count("posts", posts, 2, 100_000)
    is_counter = one_of("likes", likes, ("counter", "items")) == "counter"
    post = {"operation": "UpdateItem", "sk": "POST"}
    return Design(
        name="bad-viral",
        shows="S-BAD-VIRAL",
        variant="" if is_counter else "items",
        says="POST#{post} with a count of likes in the post: one that goes viral is one key, and one item that no split divides."
        if is_counter
        else "POST#{post} with likes as items beside the post: one that goes viral is one key, which splits spread minutes later.",
        pk="POST#{post}",
        sk="LIKE#{user}",
        fields={"post": one_of_many("viral", share, count)},
        fields_say={"post": one_has("posts", share, count)},
        accesses={
            "write": (post if is_counter else {"operation": "PutItem"},),
            "read": ({"operation": "GetItem", "sk": "POST"},),
            "change": (post,),
        },
    )


def bad_tenant(*, largest_share: float = 0.8, tenants: int = 100) -> Design:
    """The tenant as the partition key, of which one is most of the business.

    Parameters
    ----------
    largest_share : share of the traffic of the one tenant; from 0.01 to 0.99.
    tenants : all tenants, the large one included; from 2 to 100,000.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    share = a_number("largest_share", largest_share, 0.01, 0.99)
    count = a_count("tenants", tenants, 2, 100_000)
    return Design(
        name="bad-tenant",
        shows="S-BAD-TENANT",
        says="TENANT#{tenant} puts all of a tenant into one place: if it is most of the business, that is always the same hot place.",
        pk="TENANT#{tenant}",
        sk="ORDER#{order}",
        fields={"tenant": one_of_many("large", share, count)},
        fields_say={"tenant": one_has("tenants", share, count)},
    )
