"""Partition keys that spread traffic by themselves."""

from __future__ import annotations

from models.designs.base import Design, one_of_many
from models.parameters import a_count, a_number
from models.words import one_has, they_share


def good_user(*, users: int = 100_000, exponent: float = 0.5) -> Design:
    """The user as the partition key: many keys, none of them large.

    Parameters
    ----------
    users : how many; from 2 to 10,000,000.
    exponent : of the zipf law by which some are busier than others, 0 where all are alike; from 0 to 3.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    count = a_count("users", users, 2, 10_000_000)
    skew = a_number("exponent", exponent, 0, 3)
    return Design(
        name="good-user",
        shows="S-GOOD-USER",
        says="USER#{user} spreads by itself, as evenly as users are: where there are many and none is large, nothing is hot.",
        pk="USER#{user}",
        sk="ORDER#{order}",
        fields={"user": {"kind": "zipf", "count": count, "exponent": skew}},
        fields_say={"user": they_share("user", count, skew)},
    )


def good_tenant_user(*, largest_share: float = 0.8, tenants: int = 100, users: int = 1000) -> Design:
    """Tenant and user together as the partition key: a tenant that is most of the business is many keys.

    A list is of one user's orders; all orders of a tenant lie in as many places as it has users, which is the price.

    Parameters
    ----------
    largest_share : share of the traffic of the largest tenant; from 0.01 to 0.99.
    tenants : all tenants, the large one included; from 2 to 100,000.
    users : of each tenant; from 2 to 10,000,000.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    share = a_number("largest_share", largest_share, 0.01, 0.99)
    tenant_count, user_count = a_count("tenants", tenants, 2, 100_000), a_count("users", users, 2, 10_000_000)
    return Design(
        name="good-tenant-user",
        shows="S-GOOD-TENANT-USER",
        says="TENANT#{tenant}#USER#{user} spreads a tenant, however large, over its users.",
        pk="TENANT#{tenant}#USER#{user}",
        sk="ORDER#{order}",
        fields={
            "tenant": one_of_many("large", share, tenant_count),
            "user": {"kind": "zipf", "count": user_count, "exponent": 0.5},
        },
        fields_say={
            "tenant": one_has("tenants", share, tenant_count),
            "user": they_share("user", user_count, 0.5, " of each tenant"),
        },
    )


def good_store(*, stores: int = 400, exponent: float = 0.5) -> Design:
    """Region and store together as the partition key, spread as evenly as stores are.

    Parameters
    ----------
    stores : of each of three regions, which have 40, 40 and 20 % of the traffic; from 1 to 100,000.
    exponent : of the zipf law by which some stores are busier than others, 0 where all are alike; from 0 to 3.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    count, skew = a_count("stores", stores, 1, 100_000), a_number("exponent", exponent, 0, 3)
    return Design(
        name="good-store",
        shows="S-GOOD-STORE",
        says="REGION#{region}#STORE#{store} spreads over stores, as evenly as stores are: the busiest one is the limit.",
        pk="REGION#{region}#STORE#{store}",
        sk="ORDER#{order}",
        fields={"store": {"kind": "zipf", "count": count, "exponent": skew}},
        fields_say={"store": they_share("store", count, skew, " of each region")},
    )
