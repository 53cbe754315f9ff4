"""Indexes and sort keys: what an entry costs, what a list costs, and where both are charged."""

from __future__ import annotations

from math import ceil

from models.designs.base import LIST_ITEMS, Design, Keys
from models.parameters import a_count, a_number, a_switch, one_of
from models.words import counted, percent


def sparse(*, open_fraction: float = 0.1, full: bool = False) -> Design:
    """An index of a store's open orders, which only they are in; or a full one, whose readers throw the others away.

    A change is of some attribute of any order, open or not: the entry follows where there is one. It is not the closing of an open order,
    which takes its entry out for one more write each: the scenario format counts what a write does to an index by the share of all items
    that are in it, and cannot say that a write is only of those that are.

    Parameters
    ----------
    open_fraction : share of the orders that are open, and so carry the index key; from 0.001 to 1.
    full : whether all orders carry the index key, and a filter picks the open ones.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    fraction = a_number("open_fraction", open_fraction, 0.001, 1)
    listed = {"operation": "Query", "index": "open-orders", "items": LIST_ITEMS}
    if is_full := a_switch("full", full):
        listed |= {"items": ceil(LIST_ITEMS / fraction), "filter_pass": fraction}
    return Design(
        name="sparse",
        shows="S-SPARSE",
        variant="full" if is_full else "",
        says=f"An index that all items are in takes all writes and all storage, and its readers throw {percent(1 - fraction)} away."
        if is_full
        else f"An index that {percent(fraction)} of the items are in takes as much of the writes and of the storage.",
        pk="USER#{user}",
        sk="ORDER#{order}",
        gsi=(
            {
                "name": "open-orders",
                "pk": "STORE#{store}",
                "sk": "ORDER#{order}",
                "present": 1.0 if is_full else fraction,
            },
        ),
        accesses={
            "list": (listed,),
            "change": ({"operation": "UpdateItem", "touches": {"open-orders": "attribute-changed"}},),
        },
    )


def projection(*, kind: str = "ALL") -> Design:
    """An index of a store's orders of 3 KB that keeps all of an order, what a list shows of it (600 bytes), or its keys (100 bytes).

    A list needs what it shows: from keys alone, the 20 orders are read from the table as well. A change is of an attribute that lists do
    not show, which only an index of everything has to follow.

    Parameters
    ----------
    kind : one of "ALL", "INCLUDE", "KEYS_ONLY".

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    kind = one_of("kind", kind, tuple(PROJECTED_BYTES))
    size = PROJECTED_BYTES[kind]
    kept: Keys = {} if size is None else {"projected_bytes": size}
    listed: tuple[Keys, ...] = ({"operation": "Query", "index": "by-store", "items": LIST_ITEMS},)
    if kind == "KEYS_ONLY":
        listed += ({"called": "orders", "operation": "BatchGetItem", "batch": LIST_ITEMS},)
    change = "attribute-changed" if kind == "ALL" else "untouched"
    return Design(
        name="projection",
        shows="S-PROJECTION",
        variant="" if kind == "ALL" else kind,
        says=_KEPT[kind],
        pk="USER#{user}",
        sk="ORDER#{order}",
        gsi=({"name": "by-store", "pk": "STORE#{store}", "sk": "ORDER#{order}", "projection": kind, **kept},),
        accesses={"list": listed, "change": ({"operation": "UpdateItem", "touches": {"by-store": change}},)},
        item_bytes=3072,
    )


# Size of an entry, keys included, by projection; None: the item's.
PROJECTED_BYTES = {"ALL": None, "INCLUDE": 600, "KEYS_ONLY": 100}
_KEPT = {
    "ALL": "An index that keeps all of an item: its entries are as large, it follows every change, and a list reads nothing else.",
    "INCLUDE": "An index that keeps what a list shows, 600 bytes an entry: it follows no other change, and a list reads nothing else.",
    "KEYS_ONLY": "An index of keys, 100 bytes an entry: it follows no change but theirs, and a list reads the table as well.",
}


def lsi_gsi(*, kind: str = "lsi") -> Design:
    """A tenant's readings in the order of their amounts, by a local secondary index or by a global one.

    The local index is charged to the table, reads strongly consistent, and holds each tenant's readings, 10 GB at the most, in one
    partition that no split divides. The global one has partitions and capacity of its own and lags behind.

    Parameters
    ----------
    kind : one of "lsi", "gsi".

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    is_local = one_of("kind", kind, ("lsi", "gsi")) == "lsi"
    index = {"name": "by-amount", "sk": "AMOUNT#{amount}"}
    strongly = {"consistent": True} if is_local else {}
    return Design(
        name="lsi-gsi",
        shows="S-LSI-GSI",
        variant="" if is_local else "global",
        says="A local index shares its table's capacity, is never behind, and pins each item collection to one partition."
        if is_local
        else "A global index has capacity and partitions of its own, lags behind its table, and pins nothing.",
        pk="TENANT#{tenant}",
        sk="READING#{item}",
        gsi=() if is_local else ({**index, "pk": "TENANT#{tenant}"},),
        lsi=(index,) if is_local else (),
        fields={"item": {"kind": "uniform", "count": 10**12}},  # readings are new ones, in no order
        accesses={
            "list": ({"operation": "Query", "index": "by-amount", "items": LIST_ITEMS, **strongly},),
            "change": ({"operation": "UpdateItem", "touches": {"by-amount": "key-changed"}},),
        },
    )


def composite_sk(*, filtered: bool = False, items: int = 100, match: float = 0.1) -> Design:
    """A user's orders with their status before their number in the sort key; or with the number alone, and a filter that picks the status.

    A key condition reads the matching orders, a filter all of them. A change of status is a move where the status is in the key: one
    transaction that deletes here and puts there.

    Parameters
    ----------
    filtered : whether a filter picks the status instead of the sort key.
    items : orders of a user; from 1 to 10,000.
    match : share of a user's orders in the status that is asked for, which are whole orders and one at least; from 0.001 to 1.

    Raises
    ------
    ValueError
        A parameter is outside its range.
    """
    count = a_count("items", items, 1, 10_000)
    share = a_number("match", match, 0.001, 1)
    move = (
        {"operation": "DeleteItem", "sk": "STATUS#open#ORDER#{order}"},
        {"operation": "PutItem", "sk": "STATUS#done#ORDER#{order}"},
    )
    matching = max(1, round(count * share))
    is_filtered = a_switch("filtered", filtered)
    return Design(
        name="composite-sk",
        shows="S-COMPOSITE-SK",
        variant="filter" if is_filtered else "",
        says=f"A filter reads, and is charged for, everything: {counted(count, 'order')} of a user, of which it returns {percent(share)}."
        if is_filtered
        else f"Status in the sort key reads what matches: {matching:,} of {counted(count, 'order')} of a user, {percent(share)} of them.",
        pk="USER#{user}",
        sk="ORDER#{order}" if is_filtered else "STATUS#{status}#ORDER#{order}",
        fields={"status": {"kind": "choice", "weights": {"open": share, "done": 1 - share}}},
        accesses={
            "list": (
                {"operation": "Query", "items": count, "filter_pass": share}
                if is_filtered
                else {"operation": "Query", "items": matching},
            ),
            "change": (
                {"operation": "UpdateItem"} if is_filtered else {"operation": "TransactWriteItems", "actions": move},
            ),
        },
    )
