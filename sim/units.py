"""What an operation costs in read and write units: pure arithmetic on sizes, no table and no time.

Sizes are whole bytes; units are multiples of one half. ``consistent`` means a strongly consistent read. The two roundings that
people mix up stand apart: operations on named items round each item up (`item_read_units`), a page of Query or Scan adds
its items first and rounds once (`page_read_units`). Provisioned and on-demand tables count alike (F-UNIT-3). Projection, filter and
``Select`` never lower a figure: what was read is charged, not what was returned (F-UNIT-4, F-UNIT-10).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, assert_never

from sim.limits import (
    EVENTUAL_READ_FACTOR,
    GLOBAL_TABLE_OVERHEAD_BYTES,
    PAGE_BYTES,
    READ_UNIT_BYTES,
    STORAGE_OVERHEAD_BYTES,
    STRONG_READ_FACTOR,
    TRANSACTION_FACTOR,
    WRITE_UNIT_BYTES,
)
from sim.names import INDEX_WRITES, IndexChange, Operation

# How a value is measured (F-UNIT-15).
NUMBER_DIGITS_MAX = 38
CONTAINER_BYTES = 3
ELEMENT_BYTES = 1
SCALAR_BYTES = 1  # true, false, null; and the fixed part of a number


class Units(NamedTuple):
    """Read and write units of one request."""

    read: float
    write: float


# The three rules from which everything follows.


def item_read_units(item_bytes: int, consistent: bool, transactional: bool = False) -> float:
    """Read units of one item that is asked for by its key (F-UNIT-1, F-UNIT-2, F-UNIT-4).

    Parameters
    ----------
    item_bytes : size of the whole item, at least 0; a missing item is 0 and costs the minimum (F-UNIT-8).
    consistent : strongly consistent read; of no effect on a transaction, which is always serializable.
    transactional : the read is part of TransactGetItems.

    Returns
    -------
    Multiples of 0.5 (eventual), 1 (strong) or 2 (transaction), at least one of them.

    Raises
    ------
    ValueError
        A negative size.
    """
    factor = TRANSACTION_FACTOR if transactional else _read_factor(consistent)
    return _blocks(item_bytes, READ_UNIT_BYTES) * factor


def item_write_units(item_bytes: int, transactional: bool = False) -> float:
    """Write units of one item of the size that counts (F-UNIT-1, F-UNIT-2; which size counts: `update_units`).

    Parameters
    ----------
    item_bytes : bytes, at least 0; 0 costs the minimum, one unit (F-UNIT-12).
    transactional : the write is part of TransactWriteItems and costs double.

    Raises
    ------
    ValueError
        A negative size.
    """
    factor = TRANSACTION_FACTOR if transactional else 1.0
    return _blocks(item_bytes, WRITE_UNIT_BYTES) * factor


def page_read_units(total_bytes: int, consistent: bool) -> float:
    """Read units of one page of Query or Scan: the sizes of all items read, added, then rounded once (F-UNIT-6, F-UNIT-7).

    Parameters
    ----------
    total_bytes : bytes examined for this page, before any filter, at least 0. On an index, of its entries (F-UNIT-21).
    consistent : strongly consistent read; a GSI offers none.

    Returns
    -------
    Multiples of 0.5 or 1; a page that found nothing costs one of them.

    Raises
    ------
    ValueError
        A negative size.
    """
    return _blocks(total_bytes, READ_UNIT_BYTES) * _read_factor(consistent)


# Reads, operation by operation.


def batch_get_units(items_bytes: Iterable[int], consistent: bool) -> float:
    """Read units of BatchGetItem: each item rounded by itself (F-UNIT-5); a missing item is 0 bytes (F-UNIT-8)."""
    return sum((item_read_units(size, consistent) for size in items_bytes), 0.0)


def transact_get_units(items_bytes: Iterable[int]) -> float:
    """Read units of TransactGetItems, cancelled or not (F-UNIT-2, F-UNIT-14)."""
    return sum((item_read_units(size, True, transactional=True) for size in items_bytes), 0.0)


def empty_page_units(consistent: bool, partitions: int = 1) -> float:
    """Read units of a Query or Scan that finds nothing: the minimum per partition searched.

    Parameters
    ----------
    partitions : partitions searched without finding anything, at least 1. AWS says that the charge grows with
        their number, not how (F-UNIT-9: one minimum each is inferred, from one in all to this).

    Raises
    ------
    ValueError
        Fewer than one partition.
    """
    if partitions < 1:
        raise ValueError(f"partitions is at least 1, not {partitions}")
    return partitions * page_read_units(0, consistent)


def lsi_query_units(entries_bytes: int, fetched_bytes: Iterable[int], consistent: bool) -> float:
    """Read units of one page of a Query on an LSI that fetches attributes from the base table (F-UNIT-21).

    Parameters
    ----------
    entries_bytes : bytes of all index entries read, added and rounded once.
    fetched_bytes : size of each base item that had to be fetched, rounded one by one; empty when the projection suffices.
    """
    return page_read_units(entries_bytes, consistent) + batch_get_units(fetched_bytes, consistent)


def gsi_query_units(entries_bytes: int) -> float:
    """Read units of one page of a Query on a GSI: entries added, rounded once, always eventual (F-UNIT-21, F-GSI-1)."""
    return page_read_units(entries_bytes, False)


# Writes, operation by operation.


def update_units(before_bytes: int, after_bytes: int, transactional: bool = False) -> float:
    """Write units of PutItem or UpdateItem: the larger of the two images, whole, however little changed (F-UNIT-11).

    Parameters
    ----------
    before_bytes : size of the item before, 0 when there was none.
    after_bytes : size of the item after.
    """
    return max(item_write_units(before_bytes, transactional), item_write_units(after_bytes, transactional))


put_units = update_units


def delete_units(item_bytes: int, transactional: bool = False) -> float:
    """Write units of DeleteItem: the size of what is deleted, one unit when there is nothing (0 bytes) (F-UNIT-12)."""
    return item_write_units(item_bytes, transactional)


def failed_condition_units(existing_bytes: int, attempted_bytes: int = 0) -> float:
    """Write units of a conditional write whose condition is false: charged as if it had been done (F-UNIT-13).

    Parameters
    ----------
    existing_bytes : size of the item that is there, 0 for none.
    attempted_bytes : size of the item that would have been written, 0 for a delete.
    """
    return update_units(existing_bytes, attempted_bytes)


def batch_write_units(items_bytes: Iterable[int]) -> float:
    """Write units of BatchWriteItem: the sum of its puts and deletes, each rounded by itself (F-UNIT-1, F-UNIT-12)."""
    return sum((item_write_units(size) for size in items_bytes), 0.0)


def transact_write_units(items_bytes: Iterable[int]) -> float:
    """Write units of TransactWriteItems, cancelled or not; a ConditionCheck counts as a write of its item (F-UNIT-14)."""
    return sum((item_write_units(size, transactional=True) for size in items_bytes), 0.0)


def index_write_units(entry_bytes: int, change: IndexChange, old_entry_bytes: int | None = None) -> float:
    """Write units that one base write costs at one index, global or local (F-GSI-3, F-LSI-1).

    Parameters
    ----------
    entry_bytes : size of the index entry: both keys and what is projected, without the 100 B of storage (F-GSI-4).
    change : what the write does to the entry; a changed key is a delete and a put.
    old_entry_bytes : size of the entry that a changed key deletes; None: as large as the new one.

    Notes
    -----
    A transaction is taken to double the base write only (inferred; AWS does not say): prepare and commit happen on the
    items, the index is filled in afterwards.
    """
    if change is IndexChange.KEY_CHANGED and old_entry_bytes is not None:
        return delete_units(old_entry_bytes) + item_write_units(entry_bytes)
    return INDEX_WRITES[change] * item_write_units(entry_bytes)


def ttl_delete_units() -> float:
    """Write units of the service's own deletion of an expired item: none where it happens (F-TTL-1).

    Its copy in each further region of a global table is a replicated write like any other.
    """
    return 0.0


def request_units(operation: Operation, item_bytes: int, *, items: int = 1, consistent: bool = False) -> Units:
    """Units of one request served in full, on the table alone, whose items are all of one size.

    Parameters
    ----------
    operation : any of the API.
    item_bytes : size of each item that counts (writes: the larger image).
    items : items in the batch, transaction or page, at least 0; GetItem, PutItem, UpdateItem and DeleteItem take one.
    consistent : strongly consistent read.

    Raises
    ------
    ValueError
        A negative size or count, more than one item for an operation on a single item, or more items
        than one page of Query or Scan takes (`items_per_page`; a walk of pages is the sum of its pages).
    """
    if items < 0:
        raise ValueError(f"items is at least 0, not {items}")
    match operation:
        case Operation.GET_ITEM:
            _check_single(operation, items)
            return Units(item_read_units(item_bytes, consistent), 0.0)
        case Operation.BATCH_GET_ITEM:
            return Units(items * item_read_units(item_bytes, consistent), 0.0)
        case Operation.TRANSACT_GET_ITEMS:
            return Units(items * item_read_units(item_bytes, True, transactional=True), 0.0)
        case Operation.QUERY | Operation.SCAN:
            if items > 0 and items > items_per_page(item_bytes):
                raise ValueError(
                    f"one page takes {items_per_page(item_bytes)} items of {item_bytes} bytes, not {items}: "
                    "add up the pages of a walk"
                )
            return Units(page_read_units(items * item_bytes, consistent), 0.0)
        case Operation.PUT_ITEM | Operation.UPDATE_ITEM | Operation.DELETE_ITEM:
            _check_single(operation, items)
            return Units(0.0, item_write_units(item_bytes))
        case Operation.BATCH_WRITE_ITEM:
            return Units(0.0, items * item_write_units(item_bytes))
        case Operation.TRANSACT_WRITE_ITEMS:
            return Units(0.0, items * item_write_units(item_bytes, transactional=True))
        case Operation.TTL_DELETE:
            return Units(0.0, ttl_delete_units())
        case _:
            assert_never(operation)


# Pages.


def items_per_page(item_bytes: int, limit: int | None = None) -> int:
    """How many items of one size a full page of Query or Scan examines (F-UNIT-10).

    The item with which the sum reaches or crosses 1 MB still belongs to the page (measured: 1,007 items of 1,042 bytes, 128.5
    eventual units), so a full page may cost more than 128 or 256 units.

    Parameters
    ----------
    item_bytes : bytes of each item or index entry, at least 1.
    limit : the request's ``Limit``, at least 1; None for none. It counts items examined, not returned.

    Raises
    ------
    ValueError
        A size or limit below 1.
    """
    if item_bytes < 1:
        raise ValueError(f"item_bytes is at least 1 on a page, not {item_bytes}")
    if limit is not None and limit < 1:
        raise ValueError(f"limit is at least 1, not {limit}")
    full = -(-PAGE_BYTES // item_bytes)
    return full if limit is None else min(full, limit)


# Sizes.


def storage_bytes(items: int, item_bytes: int, *, global_table: bool = False) -> int:
    """Bytes billed for storing ``items`` items or index entries: 100 more each, 48 more again in a global table (F-UNIT-16).

    The overhead costs no read or write units.
    """
    if items < 0 or item_bytes < 0:
        raise ValueError(f"items and item_bytes are at least 0, not {items} and {item_bytes}")
    overhead = STORAGE_OVERHEAD_BYTES + (GLOBAL_TABLE_OVERHEAD_BYTES if global_table else 0)
    return items * (item_bytes + overhead)


def item_bytes(item: Mapping[str, object], *, typed: bool | None = None) -> int:
    """Size of an item in bytes as DynamoDB counts it, attribute names included (F-UNIT-15).

    Parameters
    ----------
    item : plain Python values (str, int, float, Decimal, bytes, bool, None, list, tuple, set, mapping), or DynamoDB JSON
        (``{"id": {"S": "a"}}``; binary as bytes or as base64 text).
    typed : whether it is DynamoDB JSON; None: it is when every attribute is a mapping of one type name to a fitting value.

    Raises
    ------
    TypeError
        A value of a type that DynamoDB does not know.
    ValueError
        A number of more than 38 digits or not finite, text for a number that is none, text for binary that is not base64.

    Notes
    -----
    AWS calls its rule for numbers approximate: one byte per two significant digits, and one more. Zero has no significant digit.
    """
    if typed is None:
        typed = bool(item) and all(_looks_typed(value) for value in item.values())
    measure = _typed_bytes if typed else _plain_bytes
    return sum(_text_bytes(name) + measure(value) for name, value in item.items())


_TYPE_SHAPES: dict[str, tuple[type, ...]] = {
    "S": (str,),
    "N": (str,),
    "B": (bytes, bytearray, str),
    "BOOL": (bool,),
    "NULL": (bool,),
    "L": (list, tuple),
    "M": (Mapping,),
    "SS": (list, tuple, set, frozenset),
    "NS": (list, tuple, set, frozenset),
    "BS": (list, tuple, set, frozenset),
}


def _looks_typed(value: object) -> bool:
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    ((name, content),) = value.items()
    return name in _TYPE_SHAPES and isinstance(content, _TYPE_SHAPES[name])


def _typed_bytes(value: object) -> int:
    if not _looks_typed(value):
        raise TypeError(
            f"no DynamoDB JSON value: {value!r}; one is a mapping of S, N, B, BOOL, NULL, L, M, SS, NS or BS"
        )
    assert isinstance(value, Mapping)
    ((name, content),) = value.items()
    match name:
        case "S":
            return _text_bytes(content)
        case "N":
            return _number_bytes(content)
        case "B":
            return _binary_bytes(content)
        case "BOOL" | "NULL":
            return SCALAR_BYTES
        case "L":
            return CONTAINER_BYTES + sum(ELEMENT_BYTES + _typed_bytes(element) for element in content)
        case "M":
            return CONTAINER_BYTES + sum(
                ELEMENT_BYTES + _text_bytes(key) + _typed_bytes(element) for key, element in content.items()
            )
        case _:
            member = {"SS": _text_bytes, "NS": _number_bytes, "BS": _binary_bytes}[name]
            return sum(member(element) for element in content)


def _plain_bytes(value: object) -> int:
    match value:
        case None | bool():  # before int: True is an int to Python
            return SCALAR_BYTES
        case str():
            return _text_bytes(value)
        case int() | float() | Decimal():
            return _number_bytes(value)
        case bytes() | bytearray():
            return _binary_bytes(value)
        case list() | tuple():
            return CONTAINER_BYTES + sum(ELEMENT_BYTES + _plain_bytes(element) for element in value)
        case Mapping():
            return CONTAINER_BYTES + sum(
                ELEMENT_BYTES + _text_bytes(key) + _plain_bytes(element) for key, element in value.items()
            )
        case set() | frozenset():
            return sum(_plain_bytes(element) for element in value)
        case _:
            raise TypeError(f"DynamoDB stores no {type(value).__name__}: {value!r}")


def _text_bytes(text: object) -> int:
    if not isinstance(text, str):
        raise TypeError(f"text expected, not {type(text).__name__}: {text!r}")
    return len(text.encode("utf-8"))


def _number_bytes(number: object) -> int:
    try:
        exact = Decimal(str(number))  # str: the digits of a float as written, not its binary expansion
    except InvalidOperation:
        raise ValueError(f"not a number: {number!r}") from None
    if not exact.is_finite():
        raise ValueError(f"DynamoDB stores finite numbers only: {number!r}")
    digits = "".join(map(str, exact.as_tuple().digits)).strip("0")
    if len(digits) > NUMBER_DIGITS_MAX:
        raise ValueError(f"a number has at most {NUMBER_DIGITS_MAX} significant digits, not {len(digits)}: {number!r}")
    return SCALAR_BYTES + -(-len(digits) // 2)


def _binary_bytes(content: object) -> int:
    if isinstance(content, bytes | bytearray):
        return len(content)
    if isinstance(content, str):
        try:
            return len(base64.b64decode(content, validate=True))
        except binascii.Error:
            raise ValueError(f"binary in DynamoDB JSON is base64 text: {content!r}") from None
    raise TypeError(f"binary expected, not {type(content).__name__}: {content!r}")


def _read_factor(consistent: bool) -> float:
    return STRONG_READ_FACTOR if consistent else EVENTUAL_READ_FACTOR


def _blocks(size_bytes: int, block_bytes: int) -> int:
    """Whole blocks that hold so many bytes, at least one."""
    if size_bytes < 0:
        raise ValueError(f"a size is at least 0 bytes, not {size_bytes}")
    return max(1, -(-size_bytes // block_bytes))


def _check_single(operation: Operation, items: int) -> None:
    if items != 1:
        raise ValueError(f"{operation} takes one item, not {items}")
