"""Access patterns: what comes at the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field as Key
from pydantic import model_validator

from sim.limits import (
    BATCH_BYTES_MAX,
    BATCH_GET_ITEMS_MAX,
    BATCH_WRITE_ITEMS_MAX,
    ITEM_BYTES_MAX,
    TRANSACTION_BYTES_MAX,
    TRANSACTION_ITEMS_MAX,
)
from sim.names import (
    BATCH_OPERATIONS,
    PAGED_OPERATIONS,
    READ_OPERATIONS,
    TRANSACTION_OPERATIONS,
    WRITE_OPERATIONS,
    Arrivals,
    BatchKeys,
    IndexChange,
    Operation,
)
from sim.scenario.base import FrozenMapping, Place, Value, nearest, refusal, refuse_all
from sim.scenario.client import Client
from sim.scenario.leaves import (
    Bytes,
    Count,
    CountOrZero,
    Fraction01,
    Leaf,
    Name,
    Seconds,
    Switch,
    Template,
    as_number,
    number,
    text,
    whole,
    word,
)
from sim.scenario.rates import Rate, TaggedRate

ITEM_BYTES_DEFAULT = 1024
SEGMENTS_MAX = 1_000_000  # of a parallel Scan, DynamoDB's own
CLIENTS_MAX = 1_000_000
THREADS_MAX = 1_000_000

FieldValue: TypeAlias = str | int
Touches: TypeAlias = Literal["all"] | tuple[str, ...] | Mapping[str, IndexChange]

_TRANSACTION_ACTIONS = {
    Operation.TRANSACT_GET_ITEMS: (Operation.GET_ITEM,),
    Operation.TRANSACT_WRITE_ITEMS: (Operation.PUT_ITEM, Operation.UPDATE_ITEM, Operation.DELETE_ITEM),
}
_CONDITIONAL = frozenset(
    {Operation.PUT_ITEM, Operation.UPDATE_ITEM, Operation.DELETE_ITEM, Operation.TRANSACT_WRITE_ITEMS}
)

# Which operations a key means something for, and how a sentence names them.
_KEYS_OF_OPERATIONS: tuple[tuple[tuple[str, ...], frozenset[Operation], str], ...] = (
    (
        ("missing",),
        READ_OPERATIONS - {Operation.TRANSACT_GET_ITEMS},
        "GetItem, BatchGetItem, Query and Scan",
    ),
    (
        ("consistent",),
        READ_OPERATIONS - {Operation.TRANSACT_GET_ITEMS},
        "GetItem, BatchGetItem, Query and Scan (a transaction is always consistent)",
    ),
    (
        ("index", "items", "limit", "filter_pass", "pages", "until", "over_fetch", "page_delay", "cursor"),
        PAGED_OPERATIONS,
        "Query and Scan",
    ),
    (("scatter", "fetches"), frozenset({Operation.QUERY}), "Query"),
    (("segments",), frozenset({Operation.SCAN}), "Scan"),
    (("batch", "batch_keys"), BATCH_OPERATIONS | TRANSACTION_OPERATIONS, "batches and transactions"),
    (("actions",), TRANSACTION_OPERATIONS, "transactions"),
    (
        ("condition_fails",),
        _CONDITIONAL,
        "writes that take a condition: PutItem, UpdateItem, DeleteItem, TransactWriteItems",
    ),
    (("touches", "was"), WRITE_OPERATIONS, "writes"),
)

_BATCH_ITEMS_MAX = {
    Operation.BATCH_WRITE_ITEM: BATCH_WRITE_ITEMS_MAX,
    Operation.BATCH_GET_ITEM: BATCH_GET_ITEMS_MAX,
    Operation.TRANSACT_GET_ITEMS: TRANSACTION_ITEMS_MAX,
    Operation.TRANSACT_WRITE_ITEMS: TRANSACTION_ITEMS_MAX,
}
_BATCH_BYTES_MAX = {
    Operation.BATCH_WRITE_ITEM: BATCH_BYTES_MAX,
    Operation.BATCH_GET_ITEM: BATCH_BYTES_MAX,
    Operation.TRANSACT_GET_ITEMS: TRANSACTION_BYTES_MAX,
    Operation.TRANSACT_WRITE_ITEMS: TRANSACTION_BYTES_MAX,
}


def _touches(value: Any) -> Touches:
    if value == "all" and isinstance(value, str):
        return "all"
    if isinstance(value, list | tuple):
        wrong: list[tuple[Place, Any, Any]] = [
            ((place,), name, refusal("must be the name of an index"))
            for place, name in enumerate(value)
            if not isinstance(name, str)
        ]
        wrong += [
            ((place,), name, refusal("names an index twice"))
            for place, name in enumerate(value)
            if isinstance(name, str) and name in value[:place]
        ]
        refuse_all("touches", wrong)
        return tuple(value)
    if isinstance(value, Mapping):
        return FrozenMapping(_checked_values(value, word(IndexChange).check))
    raise refusal('must be "all", a list of index names, or a table such as { GSI1 = "put" }')


def _field_value(value: Any) -> FieldValue:
    if isinstance(value, str):
        given: str = text(most=2048).check(value)
        return given
    as_whole: int = whole(0, 10**18).check(value) if as_number(value) is not None else _no_field_value()
    return as_whole


def _no_field_value() -> int:
    raise refusal("must be a value of the field: a text or a whole number")


def _fixed(value: Any) -> FrozenMapping[str, FieldValue]:
    if not isinstance(value, Mapping):
        raise refusal('must be a table of fields and values, such as { status = "active" }')
    return FrozenMapping(_checked_values(value, _field_value))


def _checked_values(value: Mapping[Any, Any], check: Any) -> dict[str, Any]:
    wrong: list[tuple[Place, Any, Any]] = []
    checked: dict[str, Any] = {}
    for name, item in value.items():
        try:
            checked[text(least=1).check(name)] = check(item)
        except Exception as error:
            wrong.append(((str(name),), item, error))
    refuse_all("table", wrong)
    return checked


def _pages(value: Any) -> int | Literal["all"]:
    if isinstance(value, str):
        if value == "all":
            return "all"
        raise refusal('must be "all" or a whole number of pages from 1', nearest(value, ["all"]))
    pages: int = whole(1, 10**9, "pages").check(value)
    return pages


_CHANGES = {"type": "string", "enum": [str(change) for change in IndexChange]}
TouchesLeaf = Leaf(
    _touches,
    {
        "anyOf": [
            {"const": "all"},
            {"type": "array", "items": {"type": "string"}},
            {"type": "object", "additionalProperties": _CHANGES},
        ]
    },
)
FixedLeaf = Leaf(_fixed, {"type": "object", "additionalProperties": {"type": ["string", "integer"]}})
PagesLeaf = Leaf(_pages, {"anyOf": [{"const": "all"}, {"type": "integer", "minimum": 1}]})


class Follows(Value):
    """Requests that come after each succeeded request of another pattern.

    Attributes
    ----------
    traffic : name of that pattern.
    per : so many requests after each of its requests.
    delay : seconds between.
    """

    traffic: Name
    per: Annotated[float, number(0, 1e6, "requests per request", above=True)] = 1.0
    delay: Seconds = 0.0


class Action(Value):
    """One action of a transaction.

    Attributes
    ----------
    operation : GetItem in TransactGetItems; PutItem, UpdateItem or DeleteItem in TransactWriteItems (a condition
        check costs what an UpdateItem of the same size costs).
    pk : template of the partition key. None: the pattern's.
    sk : template of the sort key. None: the pattern's.
    item_bytes : size of the item. None: the pattern's.
    touches : indexes that this write changes, and how, as of a pattern.
    """

    operation: Annotated[Operation, word(Operation)]
    pk: Template | None = None
    sk: Template | None = None
    item_bytes: Bytes | None = None
    touches: Annotated[Touches, TouchesLeaf] = "all"


class Cursor(Value):
    """Reserved: encrypted page tokens of a Query pattern.

    Attributes
    ----------
    ttl : reserved: how long a token is good.
    rotate_every : reserved: time between secrets.
    secrets_kept : reserved: secrets that still open a token.
    """

    ttl: Seconds | None = None
    rotate_every: Seconds | None = None
    secrets_kept: Annotated[int, whole(1, 1_000_000)] | None = None


class Traffic(Value):
    """One access pattern.

    Attributes
    ----------
    name : label in results.
    operation : DynamoDB's name of it.
    rate : requests per second: a number, steps that hold, or a shape with a kind; one of rate, threads and follows.
    threads : a closed loop of so many clients, each sending its next request when the last is answered (request level).
    follows : so many requests after each succeeded request of another pattern.
    arrivals : spacing of an open loop.
    starts : when the pattern begins, from second 0 of the run.
    ends : when the pattern ends, from second 0 of the run. None: the run's end.
    item_bytes : size of the item (of the larger image for an update).
    consistent : strongly consistent read.
    index : index that a Query or Scan reads. None: the table.
    items : items under the key condition (Scan: in the table or segment).
    limit : `Limit` of each call. None: none.
    filter_pass : fraction of the items read that the filter lets through.
    pages : how far one request of a Query or Scan walks: "all", or a number of pages.
    until : one request walks until so many items are returned. None: no such end.
    over_fetch : the `Limit` of each call is so many times what is missing to ``until``. None: it is ``limit``.
    scatter : a field: one Query for each of its values.
    segments : of a parallel Scan.
    fetches : a Query on an LSI asks for attributes outside its projection.
    batch : items in one batch or transaction.
    batch_keys : whether the items of a batch have keys of their own or share one partition key.
    actions : of a transaction, instead of ``batch``. None: none.
    dax : whether the pattern goes through `[dax]`, if there is one.
    count : stop after so many requests. None: never.
    condition_fails : fraction of conditional writes whose condition is false; they are charged all the same.
    missing : fraction of reads of items that do not exist.
    partition : all keys lie in the initial range of this partition, from 0. None: by hash.
    pk : template of the partition key for this pattern. None: the table's.
    sk : template of the sort key for this pattern. None: the table's.
    where : fields with fixed values, such as { status = "active" }.
    was : values of fixed fields before the write, for an index whose key changes.
    touches : indexes that a write changes, and how: "all" (as "put"), names (as "put"), or name → change.
    clients : SDK client objects behind the pattern; retry quota, breaker and limiter are each per client.
    client : settings of these clients: retries, delays, timeout, breaker, limiter.
    page_delay : reserved: time between the pages of one request.
    cursor : reserved: page tokens of a Query.
    """

    name: Name
    operation: Annotated[Operation, word(Operation)]
    rate: TaggedRate | None = Key(default=None, examples=[100, [["0s", 100], ["10m", 1000]]])
    threads: Annotated[int, whole(1, THREADS_MAX, "threads")] | None = None
    follows: Follows | None = None
    arrivals: Annotated[Arrivals, word(Arrivals)] = Arrivals.POISSON
    starts: Seconds = 0.0
    ends: Seconds | None = None
    item_bytes: Bytes = ITEM_BYTES_DEFAULT
    consistent: Switch = False
    index: Name | None = None
    items: CountOrZero = 1
    limit: Count | None = None
    filter_pass: Fraction01 = 1.0
    pages: Annotated[int | Literal["all"], PagesLeaf] = "all"
    until: Count | None = None
    over_fetch: Annotated[float, number(0, 1000, "times what is missing", above=True)] | None = None
    scatter: Name | None = None
    segments: Annotated[int, whole(1, SEGMENTS_MAX, "segments")] = 1
    fetches: Switch = False
    batch: Annotated[int, whole(1, 10**6, "items")] = 1
    batch_keys: Annotated[BatchKeys, word(BatchKeys)] = BatchKeys.INDEPENDENT
    actions: tuple[Action, ...] | None = None
    dax: Switch = True
    count: Count | None = None
    condition_fails: Fraction01 = 0.0
    missing: Fraction01 = 0.0
    partition: Annotated[int, whole(0, 10**6)] | None = None
    pk: Template | None = None
    sk: Template | None = None
    where: Annotated[Mapping[str, FieldValue], FixedLeaf] = Key(default_factory=FrozenMapping)
    was: Annotated[Mapping[str, FieldValue], FixedLeaf] = Key(default_factory=FrozenMapping)
    touches: Annotated[Touches, TouchesLeaf] = "all"
    clients: Annotated[int, whole(1, CLIENTS_MAX, "clients")] = 1
    client: Client = Key(default_factory=Client)
    page_delay: Seconds | None = None
    cursor: Cursor | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Traffic:
        refuse_all("traffic", [*_source(self), *_keys_of_operation(self), *_batch(self), *_actions(self)])
        return self


Refused = list[tuple[Place, Any, Any]]


def is_given(value: Value, key: str) -> bool:
    """Whether a key was written and says something else than its default."""
    return key in value.model_fields_set and getattr(value, key) != type(value).model_fields[key].get_default(
        call_default_factory=True
    )


def _source(traffic: Traffic) -> Refused:
    given = [key for key in ("rate", "threads", "follows") if getattr(traffic, key) is not None]
    wrong: Refused = []
    if not given:
        sentence = "is missing: a pattern needs exactly one of rate, threads and follows"
        wrong.append((("rate",), None, refusal(sentence, "such as rate = 100, in requests per second")))
    for key in given[1:]:
        sentence = f"a pattern has exactly one of rate, threads and follows; this one has {given[0]} too"
        wrong.append(((key,), getattr(traffic, key), refusal(sentence)))
    if traffic.ends is not None and traffic.ends <= traffic.starts:
        wrong.append((("ends",), traffic.ends, refusal(f"must be after starts ({traffic.starts:g} s)")))
    if is_given(traffic, "arrivals") and traffic.rate is None and given:
        wrong.append((("arrivals",), str(traffic.arrivals), refusal("is for patterns with a rate")))
    return wrong


def _keys_of_operation(traffic: Traffic) -> Refused:
    wrong: Refused = []
    for keys, operations, named in _KEYS_OF_OPERATIONS:
        if traffic.operation not in operations:
            wrong += [
                ((key,), getattr(traffic, key), refusal(f"means nothing for {traffic.operation}; it is for {named}"))
                for key in keys
                if is_given(traffic, key)
            ]
    return wrong


def _batch(traffic: Traffic) -> Refused:
    most = _BATCH_ITEMS_MAX.get(traffic.operation)
    if most is None:
        return []
    if traffic.batch > most:
        return [(("batch",), traffic.batch, refusal(f"{traffic.operation} takes at most {most} items"))]
    together = traffic.batch * traffic.item_bytes
    bytes_max = _BATCH_BYTES_MAX[traffic.operation]
    if traffic.actions is None and traffic.item_bytes <= ITEM_BYTES_MAX and together > bytes_max:
        sentence = f"{traffic.operation} takes at most {bytes_max:,} bytes together; batch × item_bytes is {together:,}"
        return [(("batch",), traffic.batch, refusal(sentence, f"at most {bytes_max // traffic.item_bytes} such items"))]
    return []


def _actions(traffic: Traffic) -> Refused:
    allowed = _TRANSACTION_ACTIONS.get(traffic.operation)
    if traffic.actions is None or allowed is None:
        return []
    wrong: Refused = []
    if not 1 <= len(traffic.actions) <= TRANSACTION_ITEMS_MAX:
        wrong.append((("actions",), len(traffic.actions), refusal(f"must be 1 to {TRANSACTION_ITEMS_MAX} actions")))
    if "batch" in traffic.model_fields_set:
        wrong.append((("batch",), traffic.batch, refusal("a transaction has a batch or actions, not both")))
    for place, action in enumerate(traffic.actions):
        if action.operation not in allowed:
            sentence = f"{traffic.operation} consists of {', '.join(allowed)}"
            wrong.append((("actions", place, "operation"), str(action.operation), refusal(sentence)))
        if traffic.operation is Operation.TRANSACT_GET_ITEMS and is_given(action, "touches"):
            wrong.append((("actions", place, "touches"), action.touches, refusal("a read touches no index")))
    sizes = [action.item_bytes or traffic.item_bytes for action in traffic.actions]
    if sum(sizes) > TRANSACTION_BYTES_MAX and max(sizes) <= ITEM_BYTES_MAX:
        sentence = f"a transaction takes at most {TRANSACTION_BYTES_MAX:,} bytes together; these are {sum(sizes):,}"
        wrong.append((("actions",), len(traffic.actions), refusal(sentence)))
    return wrong


__all__ = ["Action", "Cursor", "FieldValue", "Follows", "Rate", "Touches", "Traffic", "is_given"]
