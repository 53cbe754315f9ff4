"""Leaving a whole mechanism out of a scenario, with all that hangs on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sim.scenario.templates import fields_of

INDEXES = "indexes"
AUTOSCALING = "autoscaling"
WITHOUT = (INDEXES, AUTOSCALING)


def leave_out(document: dict[str, Any], without: Iterable[str]) -> list[str]:
    """Take mechanisms out of a parsed file, with what depends on them; gives a sentence for each thing left out."""
    wanted = set(without)
    notes: list[str] = []
    if INDEXES in wanted:
        notes += _without_indexes(document)
    if AUTOSCALING in wanted:
        notes += _without_autoscaling(document)
    return notes


def _tables(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _without_autoscaling(document: dict[str, Any]) -> list[str]:
    table = document.get("table")
    if not isinstance(table, dict):
        return []
    notes = []
    if table.pop("autoscaling", None) is not None:
        notes.append("Auto scaling of the table is left out: its capacity stays as provisioned.")
    for gsi in _tables(table.get("gsi")):
        if gsi.pop("autoscaling", None) is not None:
            notes.append(
                f"Auto scaling of {gsi.get('name', 'an index')} is left out: its capacity stays as provisioned."
            )
    return notes


def _without_indexes(document: dict[str, Any]) -> list[str]:
    table = document.get("table")
    if not isinstance(table, dict) or not table.get("gsi"):
        return []
    before = _used(document)
    removed = _tables(table.pop("gsi"))
    names = {str(gsi.get("name")) for gsi in removed}
    notes = [
        f"Global secondary indexes are left out: {', '.join(sorted(names))}. Writes cost nothing there and none throttles."
    ]
    reads = [one for one in _tables(document.get("traffic")) if _names(one.get("index"), names)]
    gone = {str(one.get("name")) for one in reads}
    if reads:
        kept = [one for one in document["traffic"] if not any(one is read for read in reads)]
        while followers := [one for one in _tables(kept) if _follows(one, gone)]:
            kept = [one for one in kept if not any(one is follower for follower in followers)]
            gone |= {str(one.get("name")) for one in followers}
        document["traffic"] = kept
        notes.append(
            f"Patterns that read these indexes, or follow those that do, are left out: {', '.join(sorted(gone))}."
        )
    for key in ("event", "alarm"):
        if isinstance(document.get(key), list):
            document[key] = [
                one for one in document[key] if not (isinstance(one, dict) and _names(one.get("index"), names))
            ]
    unused = before - _used(document)
    _forget_fields(document, unused)
    for traffic in _tables(document.get("traffic")):
        _forget(traffic, names, unused)
    return notes


def _names(value: Any, names: set[str]) -> bool:
    return isinstance(value, str) and value in names


def _follows(traffic: dict[str, Any], names: set[str]) -> bool:
    follows = traffic.get("follows")
    return isinstance(follows, Mapping) and _names(follows.get("traffic"), names)


def _forget(traffic: dict[str, Any], names: set[str], unused: set[str]) -> None:
    """Take index names out of `touches`, and fields that only those indexes used out of `where` and `was`."""
    writers = [traffic, *_tables(traffic.get("actions"))]
    had_changes = any(_changes_key(writer) for writer in writers)
    for writer in writers:
        touches = writer.get("touches")
        if isinstance(touches, list):
            writer["touches"] = [name for name in touches if not _names(name, names)]
        elif isinstance(touches, dict):
            writer["touches"] = {name: change for name, change in touches.items() if name not in names}
    for key in ("where", "was"):
        if isinstance(traffic.get(key), dict):
            traffic[key] = {name: value for name, value in traffic[key].items() if name not in unused}
    if had_changes and not any(_changes_key(writer) for writer in writers):
        traffic.pop("was", None)


def _forget_fields(document: dict[str, Any], unused: set[str]) -> None:
    """Take away fields that only the indexes used, unless a pattern is scattered over one or another field is a hash of it."""
    fields = document.get("fields")
    if not isinstance(fields, dict):
        return
    holders = [(one, "scatter") for one in _tables(document.get("traffic"))]
    holders += [(one, "of") for name, one in fields.items() if isinstance(one, dict) and name not in unused]
    needed = {holder[key] for holder, key in holders if isinstance(holder.get(key), str)}
    document["fields"] = {name: field for name, field in fields.items() if name not in unused or name in needed}


def _changes_key(writer: dict[str, Any]) -> bool:
    touches = writer.get("touches")
    return isinstance(touches, dict) and "key-changed" in touches.values()


def _used(document: dict[str, Any]) -> set[str]:
    """Fields that the key templates of a parsed file use."""
    table = document.get("table")
    holders = [table] if isinstance(table, dict) else []
    for holder in list(holders):
        holders += [*_tables(holder.get("gsi")), *_tables(holder.get("lsi"))]
    for traffic in _tables(document.get("traffic")):
        holders += [traffic, *_tables(traffic.get("actions"))]
    used: set[str] = set()
    for holder in holders:
        for key in ("pk", "sk"):
            try:
                used.update(fields_of(holder[key]) if isinstance(holder.get(key), str) else ())
            except ValueError:
                continue
    fields = document.get("fields")
    waiting = list(used) if isinstance(fields, dict) else []
    while waiting:
        field = fields.get(waiting.pop())  # type: ignore[union-attr]  # a dict, or nothing waits
        of = field.get("of") if isinstance(field, dict) else None
        if isinstance(of, str) and of not in used:
            used.add(of)
            waiting.append(of)
    return used
