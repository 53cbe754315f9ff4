"""Keys with a shard: one busy group in several places, and what its readers pay for that."""

from __future__ import annotations

from models.designs.base import LIST_ITEMS, Design
from models.parameters import a_count

SHARDS_MAX = 1000


def _variant(count: int) -> str:
    return "N = 1" if count == 1 else ""


def _says(count: int) -> dict[str, str]:
    return {"shard": f"N is {count:,}."}


def good_sharded_gsi(*, shards: int = 10) -> Design:
    """Orders by user, and an index that finds them by status, sharded so that no status is one hot key of the index.

    Without shards (``shards=1``) the index has the two hot keys of `bad_status`, and throttles the writes of a table that has room. A list
    of a status asks every shard, for any of them may hold the newest.

    Parameters
    ----------
    shards : suffixes of each status in the index, drawn at random; from 1 to 1,000.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    count = a_count("shards", shards, 1, SHARDS_MAX)
    listed = {"operation": "Query", "index": "by-status", "where": {"status": "active"}, "items": LIST_ITEMS}
    return Design(
        name="good-sharded-gsi",
        shows="S-GOOD-SHARDED-GSI",
        variant=_variant(count),
        says="USER#{user} with an index STATUS#{status}#SHARD#{shard}: a status is N keys of the index, and a list by status asks all N.",
        pk="USER#{user}",
        sk="ORDER#{order}",
        gsi=({"name": "by-status", "pk": "STATUS#{status}#SHARD#{shard}", "sk": "ORDER#{order}"},),
        fields={"shard": {"kind": "uniform", "count": count}},
        fields_say=_says(count),
        accesses={
            "list": ({**listed, "scatter": "shard"},),
            "change": (
                {
                    "operation": "UpdateItem",
                    "touches": {"by-status": "key-changed"},
                    "was": {"status": "active"},
                    "where": {"status": "inactive"},
                },
            ),
        },
    )


def shard_random(*, shards: int = 10) -> Design:
    """A day's orders in N shards, each order in one drawn at random.

    Nobody knows which shard an order lies in: to read one, all N are asked, and to change one it is looked for first.

    Parameters
    ----------
    shards : N; from 1 to 1,000.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    count = a_count("shards", shards, 1, SHARDS_MAX)
    # One of the N queries finds the order; the others find nothing, and cost the least that a query costs all the same.
    found = {"operation": "Query", "scatter": "shard", "items": 1, "missing": 1 - 1 / count}
    return Design(
        name="shard-random",
        shows="S-SHARD-RANDOM",
        variant=_variant(count),
        says="A random suffix 0..N-1 spreads one key over N: as many times the writes as its shards hit partitions, and N queries to read.",
        pk="DATE#{date}#{shard}",
        sk="ORDER#{order}",
        fields={"shard": {"kind": "uniform", "count": count}},
        fields_say=_says(count),
        accesses={
            "read": (found,),
            "list": ({"operation": "Query", "scatter": "shard", "items": LIST_ITEMS},),
            "change": (found, {"called": "found", "operation": "UpdateItem"}),
        },
    )


def shard_hash(*, shards: int = 10) -> Design:
    """A day's orders in N shards, each order in the one that its number's hash names.

    Whoever knows an order's number knows its shard: one query, or a GetItem, reads it. A list asks all N, as with random shards.

    Parameters
    ----------
    shards : N; from 1 to 1,000.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    count = a_count("shards", shards, 1, SHARDS_MAX)
    return Design(
        name="shard-hash",
        shows="S-SHARD-HASH",
        variant=_variant(count),
        says="A suffix of md5(id) modulo N spreads as a random one does, and one query reads one item.",
        pk="DATE#{date}#{shard}",
        sk="ORDER#{order}",
        fields={"shard": {"kind": "hash", "of": "order", "count": count}},
        fields_say=_says(count),
        accesses={
            "read": ({"operation": "Query", "items": 1},),
            "list": ({"operation": "Query", "scatter": "shard", "items": LIST_ITEMS},),
        },
    )
