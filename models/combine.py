"""Designs under workloads: as scenarios, and side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import sim
from models.designs.base import FIELDS, Design, Keys, names_in
from models.workloads.base import Need, Workload


def scenario(
    design: Design,
    workload: Workload,
    *,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **capacity: Any,
) -> sim.Scenario:
    """A design under a workload, as a scenario.

    Parameters
    ----------
    title : None: both names.
    settings : further keys at the top of the scenario, such as ``{"seed": 3, "level": "request"}``.
    capacity : mode and capacity of the table instead of the workload's own: ``mode="provisioned", write_capacity=2000, read_capacity=500``.

    Raises
    ------
    sim.ScenarioError
        The two do not make a scenario together, or a setting is none.
    """
    table = design.table_keys(**(capacity or workload.capacity))
    traffic = [pattern for need in workload.needs for pattern in _patterns(design, need)]
    given = {**workload.settings, **(settings or {})}
    if design.gsi and not {"warm_read", "warm_write"} & (capacity or workload.capacity).keys():
        # Indexes are warm because their table has been through its peak: nobody bought that.
        given["cost"] = {"warm_bought": False, **given.get("cost", {})}
    document = {
        "format": 1,
        "title": title or f"{design.name} under {workload.name}",
        "description": f"{design.says} {workload.says}",
        "shows": [design.shows],
        "duration": workload.duration,
        **given,
        "fields": _fields(design, workload, table, traffic),
        "table": table,
        "traffic": traffic,
    }
    return sim.from_dict(document)


def compare(
    designs: Iterable[Design] | Mapping[str, Design],
    workload: Workload,
    *,
    max_throttled: float = 0.01,
    settings: Mapping[str, Any] | None = None,
    **capacity: Any,
) -> sim.Comparison:
    """Run several designs under the same workload, and put them side by side.

    ``compare(...).plot()`` draws them as small multiples; arguments beyond the first two are those of `scenario` and `sim.compare`.

    Parameters
    ----------
    designs : designs, which are called by their names; or by labels of your own, ``{"10 shards": shard_hash(shards=10), …}``.

    Raises
    ------
    ValueError
        There are no designs, or two of the same name: give labels.
    """
    labelled = dict(designs) if isinstance(designs, Mapping) else _by_name(list(designs))
    scenarios = {
        label: scenario(design, workload, title=label, settings=settings, **capacity)
        for label, design in labelled.items()
    }
    results = {label: sim.run(one) for label, one in scenarios.items()}
    return sim.compare(results, max_throttled=max_throttled)


def _by_name(designs: list[Design]) -> dict[str, Design]:
    names = [design.name for design in designs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two designs are called {twice[0]}: give labels, {{label: design, ...}}")
    return dict(zip(names, designs, strict=True))


def _patterns(design: Design, need: Need) -> list[dict[str, Any]]:
    """The patterns of the scenario that one need of the application becomes under a design."""
    if need.role is None:
        keys = {key: value for key, value in need.keys.items() if key != "sk" or design.sk is not None}
        return [{"name": need.name, "item_bytes": design.item_bytes, **keys}]
    first, *rest = design.access(need.role)
    patterns = [
        _batched(
            {"name": need.name, **_pattern(design, first), **_said(design, need, first, is_first=True)}, need.batch
        )
    ]
    # Whatever follows a batch comes in batches, too, or so many times after each.
    batch = need.batch if "batch" in patterns[0] else 1
    for access in rest:
        follows = {"traffic": need.name, "per": access.get("per", 1), "delay": access.get("delay", 0)}
        pattern = {"name": f"{need.name}: {access['called']}", **_pattern(design, access), "follows": follows}
        patterns.append(_batched({**pattern, **_said(design, need, access, is_first=False)}, batch))
    return patterns


def _pattern(design: Design, access: Keys) -> dict[str, Any]:
    return {"item_bytes": design.item_bytes} | {
        key: value for key, value in access.items() if key not in ("per", "delay", "called")
    }


# When requests come is said of the first access; the others follow it.
_OF_THE_FIRST = frozenset({"rate", "threads", "arrivals", "starts", "ends", "count"})
# What means something for some operations only; all else does for all.
_READS = frozenset({"GetItem", "Query", "BatchGetItem"})
_ALONE = frozenset({"PutItem", "UpdateItem", "TransactWriteItems"})  # writes that take a condition
_MEANS_SOMETHING_FOR = MappingProxyType(
    {
        "consistent": _READS,
        "missing": _READS,
        "condition_fails": _ALONE,
        **dict.fromkeys(("limit", "filter_pass", "pages", "until"), frozenset({"Query"})),
    }
)


def _said(design: Design, need: Need, access: Keys, *, is_first: bool) -> dict[str, Any]:
    """What a need says goes over what the design has for one of its accesses, as far as it means something there."""
    global_indexes = {index["name"] for index in design.gsi}
    said = {}
    for key, value in need.keys.items():
        is_for = access["operation"] in _MEANS_SOMETHING_FOR.get(key, {access["operation"]})
        is_for = is_for and (is_first or key not in _OF_THE_FIRST)
        is_for = is_for and not (key == "consistent" and access.get("index") in global_indexes)
        # A profile beside its posts has a size of its own, and what one of N queries misses, the design knows.
        is_own = key in ("item_bytes", "missing") and key in access
        if is_for and not is_own:
            said[key] = value
    return said


_BATCHES = MappingProxyType({"PutItem": "BatchWriteItem", "GetItem": "BatchGetItem"})
_RATES = frozenset({"from", "to", "base", "peak", "mean"})  # of a shape, in requests per second


def _batched(pattern: dict[str, Any], batch: int) -> dict[str, Any]:
    """The same for ``batch`` items by each request; where no batch takes its operation, as many requests."""
    if batch == 1:
        return pattern
    if pattern["operation"] in _BATCHES:
        return {**pattern, "operation": _BATCHES[pattern["operation"]], "batch": batch}
    many = {key: _times(pattern[key], batch) for key in ("rate", "count") if key in pattern}
    if "follows" in pattern:
        many["follows"] = {**pattern["follows"], "per": batch * pattern["follows"]["per"]}
    return {**pattern, **many}


def _times(rate: Any, factor: int) -> Any:
    """A rate in the scenario format, so many times: a number, steps, or a shape."""
    if isinstance(rate, Mapping):
        return {key: value * factor if key in _RATES else value for key, value in rate.items()}
    if isinstance(rate, Sequence):
        return [[at, value * factor] for at, value in rate]
    return rate * factor


def _fields(
    design: Design, workload: Workload, table: Mapping[str, Any], traffic: list[dict[str, Any]]
) -> dict[str, Any]:
    """The fields that the keys draw from: the workload's own, else the design's, else the usual ones."""
    known = {**FIELDS, **design.fields, **workload.fields}
    wanted = names_in(table["pk"]) | names_in(table.get("sk"))
    for index in (*table.get("gsi", ()), *table.get("lsi", ())):
        wanted |= names_in(index.get("pk")) | names_in(index.get("sk"))
    for pattern in traffic:
        for keys in (pattern, *pattern.get("actions", ())):
            wanted |= names_in(keys.get("pk")) | names_in(keys.get("sk"))
        wanted |= set(pattern.get("where", ())) | ({pattern["scatter"]} if "scatter" in pattern else set())
    wanted |= {str(known[name]["of"]) for name in wanted if known.get(name, {}).get("kind") == "hash"}
    return {name: dict(known[name]) for name in sorted(wanted) if name in known}
