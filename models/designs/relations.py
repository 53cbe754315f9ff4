"""What belongs to more than one: edges written both ways, and attributes copied to where they are read."""

from __future__ import annotations

from types import MappingProxyType

from models.designs.base import LIST_ITEMS, Design, Keys
from models.parameters import a_count, a_switch, one_of
from models.words import counted, they_share

PROFILE_BYTES = 512


def adjacency(*, inverse: str = "item", groups: int = 1000) -> Design:
    """Members and groups, many to many, as an edge from each side: ``USER#{user}`` to ``GROUP#{group}`` and back.

    Both sides can be hot: a busy user, and far sooner a large group. An edge and its inverse are two writes; in one transaction they are
    four units, and neither is ever there alone. An inverse that is an index of whole edges is written by the service, with each edge
    that is put and each that changes, lags behind, and is as hot.

    Parameters
    ----------
    inverse : one of "item", "transaction", "index".
    groups : how many, their sizes by a zipf law of exponent 0.8; from 2 to 100,000.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    kind = one_of("inverse", inverse, tuple(_EDGE))
    count = a_count("groups", groups, 2, 100_000)
    variant, written = _EDGE[kind]
    there = {"pk": "USER#{user}", "sk": "GROUP#{group}"}
    back = {"pk": "GROUP#{group}", "sk": "USER#{user}"}
    edge_bytes = 200  # two keys, a role and a date

    def both(operation: str) -> tuple[Keys, ...]:
        if kind == "index":
            return ({"operation": operation},)
        if kind == "transaction":
            actions = ({"operation": operation, **there}, {"operation": operation, **back})
            return ({"operation": "TransactWriteItems", "actions": actions},)
        return ({"operation": operation}, {"called": "inverse", "operation": operation, **back})

    members = {"index": "inverse"} if kind == "index" else back
    return Design(
        name="adjacency",
        shows="S-ADJACENCY",
        variant=variant,
        says=f"A many-to-many edge written both ways, {written}, and two sides that may be hot.",
        pk=there["pk"],
        sk=there["sk"],
        gsi=({"name": "inverse", **back},) if kind == "index" else (),
        fields={"group": {"kind": "zipf", "count": count, "exponent": 0.8}},
        fields_say={"group": they_share("group", count, 0.8)},
        accesses={
            "write": both("PutItem"),
            "list": ({"operation": "Query", "items": LIST_ITEMS, **members},),
            "change": both("UpdateItem"),
        },
        item_bytes=edge_bytes,
    )


# How an edge's inverse comes to be: variant, and what it takes.
_EDGE = MappingProxyType(
    {
        "item": ("", "once from each side: twice the writes"),
        "transaction": ("transaction", "from each side in one transaction: four times the units"),
        "index": ("index", "one of them by an index that follows: twice the units"),
    }
)


def denorm(*, copies: int = 50, copied: bool = True) -> Design:
    """Posts that carry a copy of their author's name, so that one read shows both; and the rename that has to reach all copies.

    Without copies every post that is read takes a second read, of its author, and a rename is one write.

    Parameters
    ----------
    copies : posts of the author who is renamed; from 1 to 10,000.
    copied : whether posts carry the name.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    count = a_count("copies", copies, 1, 10_000)
    is_copied = a_switch("copied", copied)
    profile = {"pk": "USER#{user}", "sk": "PROFILE", "item_bytes": PROFILE_BYTES}
    by_author = "by-author"
    rename = {"operation": "UpdateItem", **profile, "touches": ()}
    author = {"called": "author", "operation": "GetItem", **profile}
    find = {"called": "find copies", "operation": "Query", "index": by_author, "items": count}
    fan_out = {"called": "copies", "operation": "UpdateItem", "touches": {by_author: "untouched"}, "per": count}
    authors = {"called": "authors", "operation": "BatchGetItem", **profile, "batch": LIST_ITEMS}
    listed = (
        {"operation": "Query", "index": by_author, "items": LIST_ITEMS},
        {"called": "posts", "operation": "BatchGetItem", "batch": LIST_ITEMS},
    )
    return Design(
        name="denorm",
        shows="S-DENORM",
        variant="" if is_copied else "without copies",
        says="Copied attributes make reads cheap and a rename a fan-out, as many writes as there are copies: "
        f"{counted(count, 'post')} of an author."
        if is_copied
        else "Attributes in one place: a rename is one write, and each post that is read takes a second read, of its author.",
        pk="POST#{post}",
        sk="POST",
        gsi=(
            {
                "name": by_author,
                "pk": "AUTHOR#{user}",
                "sk": "POST#{post}",
                "projection": "KEYS_ONLY",
                "projected_bytes": 100,
            },
        ),
        accesses={
            "read": ({"operation": "GetItem"},) if is_copied else ({"operation": "GetItem"}, author),
            "list": listed if is_copied else (*listed, authors),
            "change": (rename, find, fan_out) if is_copied else (rename,),
        },
    )
