"""Changing a scenario from outside: one value by its key path, or a whole mechanism left out."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from sim.scenario.base import Found, Place, listed, nearest
from sim.scenario.templates import fields_of

INDEXES = "indexes"
AUTOSCALING = "autoscaling"
WITHOUT = (INDEXES, AUTOSCALING)

_PART = re.compile(r'(?:^|\.)("(?:[^"\\]|\\.)*"|[^.\[\]"]+)|\[(\d{1,9})\]')


def parse_value(text: str) -> Any:
    """The TOML value that a text is, or the text itself if it is none."""
    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return document["value"] if set(document) == {"value"} else text


def parse_path(path: str) -> list[str | int] | None:
    """``traffic[0].client.retry`` as its parts; None if it is no key path."""
    parts: list[str | int] = []
    at = 0
    while at < len(path):
        match = _PART.match(path, at)
        if match is None or (match.group(2) is not None and not parts):
            return None
        key = match.group(1)
        parts.append(int(match.group(2)) if key is None else key[1:-1] if key.startswith('"') else key)
        at = match.end()
    return parts or None


def apply_override(document: dict[str, Any], path: str, text: str) -> tuple[Place, Found | None]:
    """Set one value in a parsed file; gives the place of all that this made new, and what was wrong with the path."""
    parts = parse_path(path)
    if parts is None:
        sentence = "is no key path; write such as table.write_capacity=200, traffic[0].rate=50 or traffic.NAME.rate=50"
        return (), Found((path,), sentence)
    if len(parts) > 1 and parts[0] == "calibration" and isinstance(document.get("calibration"), str):
        document["calibration"] = {"base": document["calibration"]}
    place: list[str | int] = []
    made: Place | None = None
    holder: Any = document
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        if isinstance(holder, list):
            found = _element(holder, part, tuple(place))
            if isinstance(found, Found):
                return (), found
            part = found
        elif isinstance(part, int):
            return (), Found(tuple(place), f"has no element [{part}]: it is no list")
        elif not isinstance(holder, dict):
            sentence = f"is a single value in this file, so that {part!r} in it cannot be set"
            return (), Found(tuple(place), sentence, hint="set it as a whole")
        place.append(part)
        if made is None and isinstance(holder, dict) and part not in holder:
            made = tuple(place)
        if is_last:
            holder[part] = parse_value(text)
        elif isinstance(holder, dict):
            holder = holder.setdefault(part, {})
        else:
            holder = holder[part]
    return made or tuple(place), None


def _element(items: list[Any], part: str | int, place: Place) -> int | Found:
    """Index of a list's element by number or by its name."""
    if isinstance(part, int):
        if part < len(items):
            return part
        return Found(place, f"has no element [{part}]; there are {len(items)}, from [0]")
    names = [str(item.get("name", "")) if isinstance(item, dict) else "" for item in items]
    if part in names:
        return names.index(part)
    return Found(
        place, f"has no element named {part!r}; there are: {listed(filter(None, names))}", hint=nearest(part, names)
    )


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
