"""Changing one value of a scenario by its key path."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from sim.scenario.base import Found, Place, choices, counted
from sim.scenario.document import DEPTH_MAX

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


def apply_override(document: dict[str, Any], path: str, value: Any) -> tuple[Place, Found | None]:
    """Set one value in a parsed file, None for taking it away; gives the place of all that this made new, and what was wrong
    with the path."""
    parts = parse_path(path)
    if parts is None:
        sentence = "is no key path; write such as table.write_capacity=200, traffic[0].rate=50 or traffic.NAME.rate=50"
        return (), Found((path,), sentence)
    if len(parts) > DEPTH_MAX:
        return (), Found((path,), f"is a key path of {counted(len(parts), 'part')}; the format needs a handful")
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
            if value is None and isinstance(holder, dict):
                holder.pop(str(part), None)
            else:
                holder[part] = value
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
        return Found(place, f"has no element [{part}]; it has {counted(len(items), 'element')}, from [0]")
    names = [str(item.get("name", "")) if isinstance(item, dict) else "" for item in items]
    if part in names:
        return names.index(part)
    return Found(place, f"has no element named {part!r}", hint=choices(part, filter(None, names)))
