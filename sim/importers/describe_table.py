"""``aws dynamodb describe-table`` output, the input of ``create-table``, and recorded responses that hold either."""

from __future__ import annotations

import dataclasses
import difflib

from sim.importers.base import TableDraft, Taken, refuse
from sim.importers.nodes import Node
from sim.importers.shapes import (
    check_global_count,
    mean_bytes,
    read_class,
    read_global_index,
    read_item_count,
    read_local_indexes,
    read_size,
    read_streams,
    read_table_keys,
    read_throughput,
    read_types,
    settings,
)
from sim.names import Mode
from sim.scenario.base import listed as names_of

SEARCH_DEPTH = 6  # a table stands at most so many mappings deep in a recorded file
RESPONSES_MAX = 1_000
_WRAPPERS = ("Table", "TableDescription")


def is_table(value: object) -> bool:
    """Whether a value is one table in the API's shape."""
    return (
        isinstance(value, dict) and "KeySchema" in value and ("TableName" in value or "AttributeDefinitions" in value)
    )


def find_tables(document: object) -> list[tuple[str, dict[object, object]]]:
    """Every table of a document with its path, in the order of the file."""
    found: list[tuple[str, dict[object, object]]] = []
    visits = 0

    def visit(value: object, path: str, depth: int) -> None:
        nonlocal visits
        visits += 1
        if len(found) >= RESPONSES_MAX or depth > SEARCH_DEPTH or visits > 100 * RESPONSES_MAX:
            return
        if isinstance(value, dict):
            if is_table(value):
                found.append((path, value))
                return
            for key, member in value.items():
                visit(member, f"{path}.{key}" if path else str(key), depth + 1)
        elif isinstance(value, list):
            for place, member in enumerate(value):
                visit(member, f"{path}[{place}]", depth + 1)

    visit(document, "", 0)
    return found


def _name(table: dict[object, object]) -> str:
    name = table.get("TableName")
    return name if isinstance(name, str) and name else "unnamed"


def _rank(table: dict[object, object]) -> tuple[bool, bool]:
    """Sorts the more telling of two responses about one table later: an active one, then one that describes at all."""
    status = table.get("TableStatus")
    return (status == "ACTIVE", isinstance(status, str) and status not in {"CREATING", "DELETING"})


def choose_table(
    found: list[tuple[str, dict[object, object]]], *, source: str, wanted: str | None
) -> tuple[str, dict[object, object], str]:
    """The response to read: of the wanted table, the last one that is active, otherwise the last; with a remark or ""."""
    names = list(dict.fromkeys(_name(table) for _, table in found))
    if wanted is not None and wanted not in names:
        near = difflib.get_close_matches(wanted, names, n=1)
        refuse(
            source,
            f"has no table {wanted}; it has {names_of(names)}",
            path="--table",
            hint=f"did you mean {near[0]}?" if near else "",
        )
    if wanted is None and len(names) > 1:
        refuse(source, f"describes {len(names)} tables: {names_of(names)}", hint="choose one with --table NAME")
    candidates = [(path, table) for path, table in found if wanted is None or _name(table) == wanted]
    best = max(_rank(table) for _, table in candidates)
    path, table = [candidate for candidate in candidates if _rank(candidate[1]) == best][-1]
    remark = ""
    if len(candidates) > 1:
        remark = f"The file holds {len(candidates)} responses about this table; the one at {path} was read."
    return path, table, remark


def read_described_table(document: object, *, source: str, wanted: str | None, wrapped: bool) -> TableDraft:
    """Read the one table that a document describes.

    Parameters
    ----------
    wanted : table name from ``--table``, or None.
    wrapped : the document was the ``data`` of a recorded response.
    """
    path, raw, choice = choose_table(find_tables(document), source=source, wanted=wanted)
    path = ".".join(part for part in ("data" if wrapped else "", path) if part)
    table = Node(raw, source=source, path=path, base=f"{path}." if path else "")
    described = "TableStatus" in raw or path.split(".")[-1] in _WRAPPERS
    form = "a describe-table response" if described else "an input of create-table"
    if wrapped:
        form = f"a recorded {form.split(' ', 1)[1]}"
    remarks = [choice] if choice else []
    mode = _read_mode(table, described, remarks)
    _remark_on_state(table, mode.value, remarks)
    keys = read_table_keys(table)
    item_count = read_item_count(table)
    seen: set[str] = set()
    globals_ = table.list_of("GlobalSecondaryIndexes")
    check_global_count(globals_)
    if mode.value is Mode.ON_DEMAND:
        for node in globals_:
            node.child("ProvisionedThroughput")  # 0/0, as the table's
    absent = "which a provisioned table has; without it BillingMode must be PAY_PER_REQUEST"
    class_node = table.child("TableClassSummary")
    class_node = class_node.child("TableClass") if class_node is not None else table.child("TableClass")
    draft = TableDraft(
        form=form,
        place=path,
        name=_table_name(table),
        keys=keys,
        mode=mode,
        attribute_types=read_types(table),
        throughput=read_throughput(table, mode.value, absent=absent),
        indexes=(
            *(
                read_global_index(node, read_throughput(node, mode.value, absent=absent), item_count, seen)
                for node in globals_
            ),
            *read_local_indexes(table, keys, seen),
        ),
        streams=read_streams(table),
        replicas=_read_replicas(table),
        table_class=read_class(class_node),
        storage_bytes=read_size(table),
        item_bytes=mean_bytes(table, "TableSizeBytes"),
        item_count=item_count,
        warm_is_found=described,
        remarks=tuple(remarks),
    )
    return dataclasses.replace(draft, not_taken=settings(table.unread()))


def _table_name(table: Node) -> Taken[str]:
    node = table.child("TableName")
    return Taken(value="unnamed", origin="") if node is None else Taken(value=node.text(), origin=node.origin)


def _read_mode(table: Node, described: bool, remarks: list[str]) -> Taken[Mode]:
    summary = table.child("BillingModeSummary")
    word = summary.child("BillingMode") if summary is not None else table.child("BillingMode")
    if word is not None:
        on_demand = word.one_of("PROVISIONED", "PAY_PER_REQUEST") == "PAY_PER_REQUEST"
        return Taken(value=Mode.ON_DEMAND if on_demand else Mode.PROVISIONED, origin=word.origin)
    if described and _has_no_capacity(table):
        remarks.append(
            "There is no BillingModeSummary, and a capacity of 0 exists on on-demand tables only: read as on-demand."
        )
        return Taken(value=Mode.ON_DEMAND, origin="ProvisionedThroughput is 0/0")
    missing = "BillingModeSummary" if described else "BillingMode"
    return Taken(value=Mode.PROVISIONED, origin=f"no {missing}, which means provisioned")


def _has_no_capacity(table: Node) -> bool:
    provisioned = table.child("ProvisionedThroughput")
    if provisioned is None:
        return False
    units = [provisioned.child(key) for key in ("ReadCapacityUnits", "WriteCapacityUnits")]
    return all(node is not None and node.whole(minimum=0).value == 0 for node in units)


def _remark_on_state(table: Node, mode: Mode, remarks: list[str]) -> None:
    status = table.child("TableStatus")
    if status is not None and status.value in ("UPDATING", "CREATING", "DELETING"):
        towards = (
            " on its way to on-demand (capacity 0/0)" if mode is Mode.ON_DEMAND and _has_no_capacity(table) else ""
        )
        remarks.append(
            f"The table was caught {status.value}{towards}: its settings may be those before or after the change; describe it again "
            "when it is ACTIVE."
        )
    elif mode is Mode.ON_DEMAND and _has_no_capacity(table):
        remarks.append("ProvisionedThroughput 0/0 is how DynamoDB describes an on-demand table; it was not taken.")
    provisioned = table.child("ProvisionedThroughput")
    decreases = provisioned.child("NumberOfDecreasesToday") if provisioned is not None else None
    if decreases is not None and decreases.whole(minimum=0).value:
        remarks.append(
            f"NumberOfDecreasesToday is {decreases.value}: part of that day's decreases were used up; a run starts with all of them."
        )


def _read_replicas(table: Node) -> Taken[int] | None:
    replicas = table.child("Replicas")
    if replicas is None:
        return None
    arn = table.child("TableArn")
    parts = arn.text().split(":") if arn is not None else []
    own = parts[3] if len(parts) > 3 else ""
    regions = {
        region for region in (node.required("RegionName").text() for node in replicas.children()) if region != own
    }
    return Taken(value=len(regions), origin=f"{replicas.origin}, further regions") if regions else None
