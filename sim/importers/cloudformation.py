"""CloudFormation and SAM templates: tables, global tables, simple tables, and the auto scaling that points at them."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from sim.importers.base import (
    AutoScalingDraft,
    IndexDraft,
    KeysDraft,
    ScheduledChange,
    TableDraft,
    Taken,
    ThroughputDraft,
    refuse,
)
from sim.importers.intrinsics import TemplateResolver
from sim.importers.nodes import Node, Unknown
from sim.importers.shapes import (
    check_global_count,
    read_class,
    read_global_index,
    read_local_indexes,
    read_maximum,
    read_streams,
    read_table_keys,
    read_throughput,
    read_types,
    read_warm,
    settings,
)
from sim.names import Mode
from sim.scenario.base import counted
from sim.scenario.base import listed as names_of

TABLE = "AWS::DynamoDB::Table"
GLOBAL_TABLE = "AWS::DynamoDB::GlobalTable"
SIMPLE_TABLE = "AWS::Serverless::SimpleTable"
TABLE_TYPES = (TABLE, GLOBAL_TABLE, SIMPLE_TABLE)
_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
_POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
_TARGET_MIN, _TARGET_MAX = 20.0, 90.0  # per cent of utilisation, F-AS-6
_ABSENT = "which BillingMode PROVISIONED needs; that is CloudFormation's default where BillingMode is missing"
_SIMPLE_TYPES = {"String": "S", "Number": "N", "Binary": "B"}


def is_template(document: object) -> bool:
    """Whether a parsed document is a template, with tables or without."""
    if not isinstance(document, dict):
        return False
    resources = document.get("Resources")
    if "AWSTemplateFormatVersion" in document:
        return True
    return isinstance(resources, dict) and any(
        isinstance(value, dict) and "Type" in value for value in resources.values()
    )


@dataclass(frozen=True, kw_only=True)
class _Resource:
    logical_id: str
    kind: str
    body: Node


class _Template:
    """One template: its resources, and what is said about it on the way."""

    def __init__(self, document: dict[object, object], *, source: str, given: Mapping[str, str]) -> None:
        self.source = source
        self.given = given
        self.remarks: list[str] = []
        self.not_created: list[str] = []
        self.used: list[_Resource] = []  # the chosen table, and what scales it
        self.resolver = TemplateResolver(document, source=source, given=given)
        self.resources = self._read_resources(document)

    def _read_resources(self, document: dict[object, object]) -> list[_Resource]:
        section = document.get("Resources")
        if not isinstance(section, dict):
            refuse(self.source, "must be a mapping of resources", path="Resources", value=section)
        resources = []
        for logical_id, raw in section.items():
            if not isinstance(logical_id, str) or not isinstance(raw, dict) or not isinstance(raw.get("Type"), str):
                if isinstance(logical_id, str) and logical_id.startswith("Fn::"):
                    self.remarks.append(f"Resources.{logical_id} makes resources by a macro and was not read.")
                continue
            path = f"Resources.{logical_id}"
            resource = _Resource(
                logical_id=logical_id,
                kind=raw["Type"],
                body=Node(raw, source=self.source, path=path, base=f"{path}.", resolver=self.resolver),
            )
            if raw["Type"] in (*TABLE_TYPES, _TARGET, _POLICY) and not self._is_created(resource, raw):
                self.not_created.append(logical_id)
                continue
            resources.append(resource)
        return resources

    def _is_created(self, resource: _Resource, raw: dict[object, object]) -> bool:
        if raw.get("Condition") is None:
            return True
        held = self.resolver.condition(raw["Condition"], f"{resource.body.path}.Condition")
        if isinstance(held, Unknown):
            self.remarks.append(
                f"{resource.logical_id} depends on condition {raw['Condition']}, which only {held.why} decides; read as if it held."
            )
            return True
        return held

    def of_kind(self, *kinds: str) -> list[_Resource]:
        return [resource for resource in self.resources if resource.kind in kinds]

    def properties(self, resource: _Resource) -> Node | None:
        return resource.body.child("Properties")


def _deployed_name(template: _Template, resource: _Resource) -> str | None:
    """The table's own name where the file gives one, with ``${Name}`` for what it leaves open."""
    properties = template.properties(resource)
    node = properties.child("TableName") if properties is not None else None
    if node is None:
        return None
    return node.value.text if isinstance(node.value, Unknown) else node.text()


def _choose(template: _Template, wanted: str | None) -> _Resource:
    tables = template.of_kind(*TABLE_TYPES)
    if not tables:
        conditional = (
            f"; not created under these parameters: {names_of(template.not_created)}" if template.not_created else ""
        )
        kinds = sorted({resource.kind for resource in template.resources})
        listed = ", ".join(kinds[:5]) + (" …" if len(kinds) > 5 else "")
        refuse(
            template.source,
            f"the template has no DynamoDB table{conditional}",
            path="Resources",
            hint=f"it has {counted(len(template.resources), 'resource')} ({listed})" if kinds else "",
        )
    names = {table.logical_id: _deployed_name(template, table) for table in tables}
    if wanted is not None:
        chosen = [table for table in tables if wanted in (table.logical_id, names[table.logical_id])]
        if len(chosen) == 1:
            return chosen[0]
        near = difflib.get_close_matches(wanted, [*names, *(name for name in names.values() if name)], n=1)
        refuse(
            template.source,
            f"the template has {'several tables' if chosen else 'no table'} {wanted}; it has {names_of(names)}",
            path="--table",
            hint=f"did you mean {near[0]}?" if near else "",
        )
    if len(tables) > 1:
        listed = names_of(f"{logical} ({name})" if name else logical for logical, name in names.items())
        refuse(
            template.source,
            f"has {len(tables)} tables: {listed}",
            path="Resources",
            hint="choose one with --table NAME",
        )
    return tables[0]


def read_template(
    document: dict[object, object], *, source: str, wanted: str | None, given: Mapping[str, str]
) -> TableDraft:
    """Read the one table of a template.

    Parameters
    ----------
    wanted : logical id or table name from ``--table``, or None.
    given : parameters by name from ``--parameter``.
    """
    template = _Template(document, source=source, given=given)
    chosen = _choose(template, wanted)
    template.used.append(chosen)
    if chosen.kind == SIMPLE_TABLE:
        draft = _read_simple_table(template, chosen)
    elif chosen.kind == GLOBAL_TABLE:
        draft = _read_global_table(template, chosen)
    else:
        draft = _read_table(template, chosen)
    draft = _attach_scaling(template, chosen, draft)
    sam = "Transform" in document or chosen.kind == SIMPLE_TABLE
    return dataclasses.replace(
        draft,
        form="a SAM template" if sam else "a CloudFormation template",
        place=f"{chosen.body.path} ({chosen.kind})",
        not_taken=_not_taken(template, chosen),
        remarks=tuple(dict.fromkeys((*template.remarks, *draft.remarks))),
    )


def _not_taken(template: _Template, chosen: _Resource) -> tuple[str, ...]:
    """Settings of the table and of what scales it that nobody read, those of other resources with their logical id."""
    found: list[str] = []
    for resource in template.used:
        owner = "" if resource is chosen else f"{resource.logical_id}."
        paths = resource.body.unread(under=f"{resource.body.path}.Properties")
        found += [f"{owner}{path.removeprefix('Properties.')}" for path in paths]
    return settings(found)


def _table_name(template: _Template, resource: _Resource) -> Taken[str]:
    properties = template.properties(resource)
    node = properties.child("TableName") if properties is not None else None
    if node is None:
        return Taken(value=resource.logical_id, origin="the logical id: there is no TableName")
    if isinstance(node.value, Unknown):
        return Taken(value=resource.logical_id, origin=f"the logical id: {node.origin} is {node.value.text}")
    return Taken(value=node.text(), origin=node.origin)


def _read_mode(properties: Node, *, missing: Mode, why: str) -> Taken[Mode]:
    node = properties.child("BillingMode")
    if node is None:
        was = properties.value
        stands = isinstance(was, dict) and "BillingMode" in was  # present, and taken away by a condition
        return Taken(
            value=missing, origin=f"BillingMode is AWS::NoValue: {why}" if stands else f"no BillingMode: {why}"
        )
    on_demand = node.one_of("PROVISIONED", "PAY_PER_REQUEST") == "PAY_PER_REQUEST"
    return Taken(value=Mode.ON_DEMAND if on_demand else Mode.PROVISIONED, origin=node.origin)


def _ignored(properties: Node, mode: Mode) -> list[str]:
    key = "ProvisionedThroughput" if mode is Mode.ON_DEMAND else "OnDemandThroughput"
    return [f"{key} does not act in {mode} mode and was left out."] if properties.child(key) is not None else []


def _read_table(template: _Template, resource: _Resource) -> TableDraft:
    properties = resource.body.required("Properties")
    mode = _read_mode(properties, missing=Mode.PROVISIONED, why="PROVISIONED is CloudFormation's default")
    keys = read_table_keys(properties)
    seen: set[str] = set()
    globals_ = properties.list_of("GlobalSecondaryIndexes")
    check_global_count(globals_)
    return TableDraft(
        form="",
        place="",
        name=_table_name(template, resource),
        keys=keys,
        mode=mode,
        attribute_types=read_types(properties),
        throughput=read_throughput(properties, mode.value, absent=_ABSENT),
        indexes=(
            *(
                read_global_index(node, read_throughput(node, mode.value, absent=_ABSENT), None, seen)
                for node in globals_
            ),
            *read_local_indexes(properties, keys, seen),
        ),
        streams=read_streams(properties),
        table_class=read_class(properties.child("TableClass")),
        remarks=tuple(_ignored(properties, mode.value)),
    )


def _read_simple_table(template: _Template, resource: _Resource) -> TableDraft:
    properties = template.properties(resource)
    name = _table_name(template, resource)
    key = properties.child("PrimaryKey") if properties is not None else None
    if key is None:
        attribute, kind, origin = "id", "S", "SimpleTable without PrimaryKey: id of type String"
    else:
        attribute = key.required("Name").name()
        kind = _SIMPLE_TYPES[key.required("Type").one_of(*_SIMPLE_TYPES)]
        origin = key.origin
    provisioned = properties.child("ProvisionedThroughput") if properties is not None else None
    if properties is None or provisioned is None:
        mode = Taken(value=Mode.ON_DEMAND, origin="SimpleTable without ProvisionedThroughput")
        throughput = ThroughputDraft()
    else:
        mode = Taken(value=Mode.PROVISIONED, origin=provisioned.origin)
        throughput = read_throughput(properties, Mode.PROVISIONED, absent="")
    return TableDraft(
        form="",
        place="",
        name=name,
        keys=KeysDraft(hash_attributes=(attribute,), range_attributes=(), origin=origin),
        mode=mode,
        attribute_types={attribute: kind},
        throughput=throughput,
    )


# Global tables: write settings stand at the table, read settings at each replica.


def _read_global_table(template: _Template, resource: _Resource) -> TableDraft:
    properties = resource.body.required("Properties")
    mode = _read_mode(properties, missing=Mode.PROVISIONED, why="PROVISIONED is CloudFormation's default")
    keys = read_table_keys(properties)
    replicas = properties.required("Replicas", why="which lists at least the table's own region")
    nodes = replicas.children()
    if not nodes:
        replicas.fail("must list at least one region")
    replica, remark = _choose_replica(nodes, template.given.get("AWS::Region"))
    for node in nodes:
        if node is not replica:
            node.leave_out()
    per_index = {node.required("IndexName").name(): node for node in replica.list_of("GlobalSecondaryIndexes")}
    seen: set[str] = set()
    globals_ = properties.list_of("GlobalSecondaryIndexes")
    check_global_count(globals_)
    indexes: list[IndexDraft] = []
    for node in globals_:
        own = per_index.get(node.required("IndexName").name())
        indexes.append(read_global_index(node, _global_throughput(node, own, mode.value), None, seen))
    streams = read_streams(properties)
    further = len(nodes) - 1
    class_node = replica.child("TableClass") or properties.child("TableClass")
    return TableDraft(
        form="",
        place="",
        name=_table_name(template, resource),
        keys=keys,
        mode=mode,
        attribute_types=read_types(properties),
        throughput=_global_throughput(properties, replica, mode.value),
        indexes=(*indexes, *read_local_indexes(properties, keys, seen)),
        streams=streams,
        replicas=Taken(value=further, origin=f"{replicas.origin}: {len(nodes)} regions") if further else None,
        table_class=read_class(class_node),
        remarks=(remark,) if remark else (),
    )


def _choose_replica(nodes: list[Node], region: str | None) -> tuple[Node, str]:
    regions = [node.required("Region").name() for node in nodes]
    if region in regions:
        return nodes[regions.index(region)], f"Reads are set per region; those of {region} were taken."
    if len(nodes) == 1:
        return nodes[0], ""
    return nodes[0], (
        f"Reads are set per region; those of {regions[0]}, the first of {', '.join(regions)}, were taken (another: --parameter "
        "AWS::Region=NAME)."
    )


def _global_throughput(table: Node, replica: Node | None, mode: Mode) -> ThroughputDraft:
    throughput = read_warm(table)
    if mode is Mode.ON_DEMAND:
        reads = replica.child("ReadOnDemandThroughputSettings") if replica is not None else None
        reads = reads or table.child("ReadOnDemandThroughputSettings")
        return dataclasses.replace(
            throughput,
            max_read=read_maximum(reads, "MaxReadRequestUnits"),
            max_write=read_maximum(table.child("WriteOnDemandThroughputSettings"), "MaxWriteRequestUnits"),
        )
    write_capacity, scaling_write = _read_settings(table, "WriteProvisionedThroughputSettings", "Write")
    key = "ReadProvisionedThroughputSettings"
    holder = replica if replica is not None and replica.child(key) is not None else table
    read_capacity, scaling_read = _read_settings(holder, key, "Read")
    return dataclasses.replace(
        throughput,
        read_capacity=read_capacity,
        write_capacity=write_capacity,
        scaling_read=scaling_read,
        scaling_write=scaling_write,
    )


def _read_settings(holder: Node, key: str, side: str) -> tuple[Taken[int], AutoScalingDraft | None]:
    settings = holder.required(key, why="which BillingMode PROVISIONED needs")
    fixed = settings.child(f"{side}CapacityUnits")
    if fixed is not None:
        return fixed.whole(minimum=1), None
    scaling = settings.required(f"{side}CapacityAutoScalingSettings")
    minimum, maximum = scaling.required("MinCapacity"), scaling.required("MaxCapacity")
    seed = scaling.child("SeedCapacity")
    policy = scaling.required("TargetTrackingScalingPolicyConfiguration")
    draft = AutoScalingDraft(
        minimum=minimum.whole(minimum=1), maximum=maximum.whole(minimum=1), target_fraction=_read_target(policy)
    )
    _check_bounds(draft, maximum)
    return (seed or minimum).whole(minimum=1), draft


def _read_target(policy: Node) -> Taken[float]:
    node = policy.required("TargetValue")
    percent = node.number()
    if not _TARGET_MIN <= percent.value <= _TARGET_MAX:
        node.fail(f"must be {_TARGET_MIN:g} to {_TARGET_MAX:g} per cent for DynamoDB")
    return Taken(value=round(percent.value / 100, 6), origin=percent.origin)


def _check_bounds(draft: AutoScalingDraft, place: Node) -> None:
    if draft.minimum.value > draft.maximum.value:
        place.fail(f"must not be below MinCapacity, {draft.minimum.value}")


# Application Auto Scaling: targets point at a table by name, policies at a target.


def _attach_scaling(template: _Template, chosen: _Resource, draft: TableDraft) -> TableDraft:
    names = {chosen.logical_id, _deployed_name(template, chosen) or chosen.logical_id, f"${{{chosen.logical_id}}}"}
    table = draft.throughput
    indexes = {index.name.value: index for index in draft.indexes if not index.local}
    remarks = list(draft.remarks)
    for target in template.of_kind(_TARGET):
        properties = template.properties(target)
        namespace = properties.child("ServiceNamespace") if properties is not None else None
        if properties is None or (namespace is not None and namespace.value != "dynamodb"):
            continue
        parts = _resource_text(properties).split("/")
        dimension = properties.child("ScalableDimension")
        word = dimension.value if dimension is not None else None
        if (
            parts[0] != "table"
            or len(parts) not in (2, 4)
            or not isinstance(word, str)
            or not word.startswith("dynamodb:")
        ):
            continue
        if parts[1] not in names:
            if len(template.of_kind(*TABLE_TYPES)) == 1:
                remarks.append(
                    f"{target.logical_id} scales {'/'.join(parts)}, which is no table of the file; left out."
                )
            continue
        if draft.mode.value is Mode.ON_DEMAND:
            remarks.append(f"{target.logical_id} does not act in on-demand mode and was left out.")
            continue
        template.used.append(target)
        scaling = _read_scaling(template, target, properties, remarks)
        side = "scaling_read" if word.endswith("ReadCapacityUnits") else "scaling_write"
        if len(parts) == 2:
            table = _set_scaling(table, side, scaling)
        elif parts[3] in indexes:
            index = indexes[parts[3]]
            indexes[parts[3]] = dataclasses.replace(index, throughput=_set_scaling(index.throughput, side, scaling))
        else:
            remarks.append(f"{target.logical_id} scales index {parts[3]}, which the table does not have; left out.")
    return dataclasses.replace(
        draft,
        throughput=table,
        indexes=tuple(index if index.local else indexes[index.name.value] for index in draft.indexes),
        remarks=tuple(remarks),
    )


def _set_scaling(throughput: ThroughputDraft, side: str, scaling: AutoScalingDraft) -> ThroughputDraft:
    return (
        dataclasses.replace(throughput, scaling_read=scaling)
        if side == "scaling_read"
        else dataclasses.replace(throughput, scaling_write=scaling)
    )


def _resource_text(properties: Node) -> str:
    node = properties.child("ResourceId")
    if node is None:
        return ""
    return node.value.text if isinstance(node.value, Unknown) else node.text()


def _read_scaling(template: _Template, target: _Resource, properties: Node, remarks: list[str]) -> AutoScalingDraft:
    maximum = properties.required("MaxCapacity")
    draft = AutoScalingDraft(
        minimum=_named(target, properties.required("MinCapacity").whole(minimum=1)),
        maximum=_named(target, maximum.whole(minimum=1)),
        target_fraction=_policy_target(template, target, properties, remarks),
        schedule=tuple(_read_schedule(target, properties, remarks)),
    )
    _check_bounds(draft, maximum)
    return draft


def _named(target: _Resource, taken: Taken[int]) -> Taken[int]:
    """A value of another resource than the table says whose it is."""
    return dataclasses.replace(taken, origin=f"{target.logical_id}.{taken.origin}")


def _policy_target(template: _Template, target: _Resource, properties: Node, remarks: list[str]) -> Taken[float] | None:
    resource_id = _resource_text(properties)
    dimension = properties.required("ScalableDimension").text()
    for policy in template.of_kind(_POLICY):
        policy_properties = template.properties(policy)
        if policy_properties is None:
            continue
        pointer = policy_properties.child("ScalingTargetId")
        if pointer is not None:
            points_here = pointer.value == target.logical_id
        else:
            word = policy_properties.child("ScalableDimension")
            points_here = (
                _resource_text(policy_properties) == resource_id and word is not None and word.value == dimension
            )
        if not points_here:
            continue
        tracking = policy_properties.child("TargetTrackingScalingPolicyConfiguration")
        if tracking is None:
            remarks.append(
                f"{policy.logical_id} is no target tracking policy; DynamoDB knows no other, and it was left out."
            )
            continue
        template.used.append(policy)
        found = _read_target(tracking)
        return Taken(value=found.value, origin=f"{policy.logical_id}.{found.origin}")
    return None


def _read_schedule(target: _Resource, properties: Node, remarks: list[str]) -> list[ScheduledChange]:
    changes = []
    for action in properties.list_of("ScheduledActions"):
        schedule = action.required("Schedule")
        text = schedule.text()
        name = action.child("ScheduledActionName")
        label = name.name() if name is not None else "a scheduled action"
        if not (text.startswith("cron(") and text.endswith(")") and len(text.split()) == 6):
            remarks.append(
                f"{target.logical_id}: {label} runs at {text}, and only cron(…) of six fields is taken; left out."
            )
            action.leave_out()
            continue
        zone = action.child("Timezone")
        if zone is not None and zone.value not in ("UTC", "Etc/UTC"):
            remarks.append(
                f"{target.logical_id}: {label} is in time zone {zone.name()}; its cron was taken as UTC, shift it."
            )
        if action.child("StartTime") is not None or action.child("EndTime") is not None:
            remarks.append(f"{target.logical_id}: {label} has a start or end of validity, which was not taken.")
        bounds = action.required("ScalableTargetAction")
        low, high = bounds.child("MinCapacity"), bounds.child("MaxCapacity")
        if low is None and high is None:
            bounds.fail("must set MinCapacity or MaxCapacity", show=False)
        changes.append(
            ScheduledChange(
                cron=text,
                minimum=low.whole(minimum=1).value if low is not None else None,
                maximum=high.whole(minimum=1).value if high is not None else None,
                origin=f"{target.logical_id}.{action.origin} ({label})",
            )
        )
        if low is not None and high is not None:
            assert changes[-1].minimum is not None
            if changes[-1].minimum > high.whole(minimum=1).value:
                high.fail(f"must not be below MinCapacity, {changes[-1].minimum}")
    return changes
