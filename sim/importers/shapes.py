"""The shape that DynamoDB's API and CloudFormation share: keys, indexes, throughput and the rest of one table."""

from __future__ import annotations

import dataclasses

from sim.importers.base import IndexDraft, KeysDraft, Taken, ThroughputDraft
from sim.importers.nodes import SIZE_MAX, UNITS_MAX, Node
from sim.limits import GSI_MAX, ITEM_BYTES_MAX, LSI_MAX
from sim.names import Mode, Projection, TableClass

PATH_PARTS_MAX = 3  # of an unread path that is shown whole
NO_MAXIMUM = -1  # F-OD-7: how the API says "none"
_CLASSES = {"STANDARD": TableClass.STANDARD, "STANDARD_INFREQUENT_ACCESS": TableClass.STANDARD_IA}


# What only says which thing this is, how it stands, or what it may do: no setting that a run could miss.
_LABELS = frozenset(
    {
        "Backfilling",
        "NumberOfDecreasesToday",
        "PolicyName",
        "PolicyType",
        "PredefinedMetricSpecification",
        "RoleARN",
        "StreamViewType",
    }
)
_LABEL_ENDINGS = ("Arn", "DateTime", "Id", "Label", "Status")


def settings(unread: list[str]) -> tuple[str, ...]:
    """Those of some unread paths that set something."""
    names = [(path, path.split(" ")[0].rsplit(".", 1)[-1]) for path in unread]
    kept = [path for path, name in names if name not in _LABELS and not name.endswith(_LABEL_ENDINGS)]
    return tuple(dict.fromkeys(map(_shortened, kept)))


def _shortened(path: str) -> str:
    """A deep path by where it begins and ends: ``WriteProvisionedThroughputSettings…DisableScaleIn``."""
    parts = path.split(".")
    return path if len(parts) <= PATH_PARTS_MAX else f"{parts[0]}…{parts[-1]}"


def read_keys(table: Node) -> KeysDraft:
    """The key of a table or an index."""
    schema = table.required("KeySchema")
    kinds: dict[str, list[str]] = {"HASH": [], "RANGE": []}
    elements = schema.children()
    for element in elements:
        kind = element.required("KeyType").one_of("HASH", "RANGE")
        kinds[kind].append(element.required("AttributeName").name())
    names = kinds["HASH"] + kinds["RANGE"]
    if not kinds["HASH"]:
        schema.fail("must have one attribute with KeyType HASH")
    if len(set(names)) < len(names):
        schema.fail(f"names an attribute twice: {', '.join(names)}", show=False)
    return KeysDraft(
        hash_attributes=tuple(kinds["HASH"]),
        range_attributes=tuple(kinds["RANGE"]),
        origin=schema.origin,
    )


def read_table_keys(table: Node) -> KeysDraft:
    """The key of a table, which has one attribute of a kind at most."""
    keys = read_keys(table)
    if len(keys.hash_attributes) > 1 or len(keys.range_attributes) > 1:
        table.required("KeySchema").fail("a table's key has one HASH and at most one RANGE attribute")
    return keys


def read_types(table: Node) -> dict[str, str]:
    """S, N or B of each attribute that is defined."""
    types: dict[str, str] = {}
    for definition in table.list_of("AttributeDefinitions"):
        kind = definition.required("AttributeType")
        if isinstance(kind.value, str):
            types[definition.required("AttributeName").name()] = kind.one_of("S", "N", "B")
    return types


def read_warm(table: Node) -> ThroughputDraft:
    """Warm throughput alone."""
    warm = table.child("WarmThroughput")
    if warm is None:
        return ThroughputDraft()
    return ThroughputDraft(
        warm_read=_optional_whole(warm, "ReadUnitsPerSecond", maximum=UNITS_MAX),
        warm_write=_optional_whole(warm, "WriteUnitsPerSecond", maximum=UNITS_MAX),
    )


def _optional_whole(node: Node, key: str, *, maximum: int = SIZE_MAX) -> Taken[int] | None:
    """A whole number of at least 1; 0 says nothing."""
    child = node.child(key)
    if child is None:
        return None
    number = child.whole(minimum=0, maximum=maximum)
    return number if number.value else None


def read_maximum(node: Node | None, key: str) -> Taken[int] | None:
    """A user's maximum of on-demand throughput; missing, empty and -1 are none."""
    child = node.child(key) if node is not None else None
    if child is None:
        return None
    number = child.whole(minimum=NO_MAXIMUM)
    if number.value == 0:
        child.fail("must be at least 1, or -1 for none")
    return None if number.value == NO_MAXIMUM else number


def read_throughput(table: Node, mode: Mode, *, absent: str) -> ThroughputDraft:
    """What stands in ProvisionedThroughput, OnDemandThroughput and WarmThroughput, as far as it acts in that mode.

    Parameters
    ----------
    absent : why ProvisionedThroughput has to be there in provisioned mode, for the message.
    """
    throughput = read_warm(table)
    if mode is Mode.PROVISIONED:
        provisioned = table.required("ProvisionedThroughput", why=absent)
        return dataclasses.replace(
            throughput,
            read_capacity=provisioned.required("ReadCapacityUnits").whole(minimum=1),
            write_capacity=provisioned.required("WriteCapacityUnits").whole(minimum=1),
        )
    maxima = table.child("OnDemandThroughput")
    return dataclasses.replace(
        throughput,
        max_read=read_maximum(maxima, "MaxReadRequestUnits"),
        max_write=read_maximum(maxima, "MaxWriteRequestUnits"),
    )


def read_entry_bytes(index: Node) -> Taken[int] | None:
    """Mean size of an entry of an index that was measured."""
    return mean_bytes(index, "IndexSizeBytes")


def mean_bytes(node: Node, size_key: str) -> Taken[int] | None:
    """Size over ItemCount, None where one is missing or 0."""
    size = _optional_whole(node, size_key)
    count = _optional_whole(node, "ItemCount")
    if size is None or count is None:
        return None
    mean = max(1, min(round(size.value / count.value), ITEM_BYTES_MAX))
    return Taken(value=mean, origin=f"{size.origin} / ItemCount = {size.value:,} / {count.value:,}")


def read_size(table: Node) -> Taken[int] | None:
    """TableSizeBytes, None where it is missing."""
    node = table.child("TableSizeBytes")
    return node.whole(minimum=0, maximum=SIZE_MAX) if node is not None else None


def read_item_count(table: Node) -> Taken[int] | None:
    """ItemCount, None where it is missing or 0."""
    return _optional_whole(table, "ItemCount")


def read_projection(index: Node) -> tuple[Taken[Projection], int]:
    """The projection of an index and how many attributes it includes."""
    projection = index.required("Projection")
    kind = projection.required("ProjectionType")
    value = Projection(kind.one_of(*Projection))
    attributes = projection.list_of("NonKeyAttributes") if value is Projection.INCLUDE else []
    return Taken(value=value, origin=kind.origin), len(attributes)


def read_name(index: Node, seen: set[str]) -> Taken[str]:
    """The name of an index, which no other one of the table may have."""
    node = index.required("IndexName")
    name = node.name()
    if name in seen:
        node.fail("is the name of another index of the table as well")
    seen.add(name)
    return Taken(value=name, origin=node.origin)


def read_global_index(
    index: Node, throughput: ThroughputDraft, item_count: Taken[int] | None, seen: set[str]
) -> IndexDraft:
    """A global secondary index with a throughput that the caller has read."""
    projection, included = read_projection(index)
    return IndexDraft(
        name=read_name(index, seen),
        local=False,
        keys=read_keys(index),
        projection=projection,
        included_attributes=included,
        entry_bytes=read_entry_bytes(index),
        present=_present(index, item_count),
        throughput=throughput,
    )


def _present(index: Node, item_count: Taken[int] | None) -> Taken[float] | None:
    entries = _optional_whole(index, "ItemCount")
    if item_count is None or entries is None or entries.value >= item_count.value:
        return None
    fraction = max(round(entries.value / item_count.value, 6), 1e-6)
    return Taken(
        value=fraction, origin=f"{entries.origin} / ItemCount of the table = {entries.value:,} / {item_count.value:,}"
    )


def read_local_indexes(table: Node, keys: KeysDraft, seen: set[str]) -> list[IndexDraft]:
    """The local secondary indexes of a table."""
    nodes = table.list_of("LocalSecondaryIndexes")
    indexes = []
    for node in nodes:
        index_keys = read_keys(node)
        if index_keys.hash_attributes != keys.hash_attributes:
            node.required("KeySchema").fail(
                f"a local index has the table's HASH attribute, {keys.hash_attributes[0]}", show=False
            )
        if len(index_keys.range_attributes) != 1:
            node.required("KeySchema").fail("a local index has one RANGE attribute", show=False)
        projection, included = read_projection(node)
        indexes.append(
            IndexDraft(
                name=read_name(node, seen),
                local=True,
                keys=index_keys,
                projection=projection,
                included_attributes=included,
                entry_bytes=read_entry_bytes(node),
            )
        )
    if indexes and not keys.range_attributes:
        nodes[0].fail("a table without a RANGE attribute cannot have local indexes", show=False)
    if len(indexes) > LSI_MAX:
        nodes[0].fail(f"a table has at most {LSI_MAX} local indexes; here are {len(indexes)}", show=False)
    return indexes


def check_global_count(nodes: list[Node]) -> None:
    """Refuse more global indexes than the default quota."""
    if len(nodes) > GSI_MAX:
        nodes[0].fail(f"a table has at most {GSI_MAX} global indexes by default; here are {len(nodes)}", show=False)


def read_class(node: Node | None) -> Taken[TableClass] | None:
    """The table class out of its own word."""
    if node is None:
        return None
    return Taken(value=_CLASSES[node.one_of(*_CLASSES)], origin=node.origin)


def read_streams(table: Node) -> Taken[bool] | None:
    """Whether DynamoDB Streams is on."""
    specification = table.child("StreamSpecification")
    if specification is None:
        return None
    enabled = specification.child("StreamEnabled")
    if enabled is None:  # CloudFormation has the view type alone, and to name one turns the stream on
        return Taken(value=True, origin=specification.required("StreamViewType").origin)
    return Taken(value=enabled.flag(), origin=enabled.origin)
