"""What an application needs, as access patterns of a table: its own words over those of the design."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import sim
from models.designs.base import Design, Keys
from models.values import plain
from models.workloads.base import Need


def patterns_of(design: Design, need: Need) -> list[dict[str, Any]]:
    """The access patterns that one need of the application becomes under a design, in the keys of the scenario format.

    Raises
    ------
    ValueError
        A measured rate or a closed loop cannot be multiplied, where no batch takes what the design has to do.
    """
    if need.role is None:
        keys = {key: value for key, value in need.keys.items() if key != "sk" or design.sk is not None}
        return [{"name": need.name, "item_bytes": design.item_bytes, **keys}]
    first, *rest = design.access(need.role)
    items = plain(need.batch)
    patterns = [
        _batched({"name": need.name, **_pattern(design, first), **_said(design, need, first, is_first=True)}, items)
    ]
    # Whatever follows a batch comes in batches, too, or so many times after each.
    batch = items if "batch" in patterns[0] else 1
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


def _batched(pattern: dict[str, Any], batch: int) -> dict[str, Any]:
    """The same for ``batch`` items by each request; where no batch takes its operation, as many requests."""
    if batch == 1:
        return pattern
    if pattern["operation"] in _BATCHES:
        return {**pattern, "operation": _BATCHES[pattern["operation"]], "batch": batch}
    if "threads" in pattern:
        raise ValueError(
            f"{pattern['name']}: no batch takes a {pattern['operation']}, and threads are not multiplied: batch = 1"
        )
    many: dict[str, Any] = {}
    if "rate" in pattern:
        try:
            many["rate"] = sim.scaled_rate(plain(pattern["rate"]), batch)
        except sim.ScenarioError:
            pass  # it is no rate, which the scenario says of it where it stands
        except ValueError as error:
            sentence = f"no batch takes a {pattern['operation']}, and {error}: batch = 1"
            raise ValueError(f"{pattern['name']}: {sentence}") from error
    if "count" in pattern:
        many["count"] = _times(pattern["count"], batch)
    if isinstance(pattern.get("follows"), Mapping):
        many["follows"] = {**pattern["follows"], "per": _times(pattern["follows"].get("per", 1), batch)}
    return {**pattern, **many}


def _times(value: Any, factor: int) -> Any:
    """A number so many times; what is none stays, and the scenario says so of it where it stands."""
    given = plain(value)
    return factor * given if isinstance(given, int | float) else given
