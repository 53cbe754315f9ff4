"""A scenario file as plain dicts and lists, before it is known whether it is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sim.scenario.base import Found, Place, shown

DEPTH_MAX = 30  # of nested tables and lists; the format needs 6

Position = tuple[int, ...]  # the order in the file, level by level


def plain_copy(value: Any, place: Place, found: list[Found]) -> Any:
    """A copy in plain dicts and lists, of bounded depth, with texts as keys; what cannot be one is added to ``found``."""
    if len(place) > DEPTH_MAX:
        found.append(Found(place[:3], "is nested too deeply"))
        return None
    if isinstance(value, Mapping):
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if isinstance(key, str):
                copy[key] = plain_copy(item, (*place, key), found)
            else:
                found.append(Found(place, f"keys must be texts; {shown(key)} is not"))
        return copy
    if isinstance(value, list | tuple):
        return [plain_copy(item, (*place, index), found) for index, item in enumerate(value)]
    return value


def deep_copy(value: Any) -> Any:
    """A copy whose dicts and lists are its own."""
    if isinstance(value, dict):
        return {key: deep_copy(item) for key, item in value.items()}
    return [deep_copy(item) for item in value] if isinstance(value, list) else value


def inside(holder: Any, part: str | int) -> Any:
    """What a dict or list holds there, or None."""
    if isinstance(holder, dict):
        return holder.get(str(part))
    return holder[part] if isinstance(holder, list) and isinstance(part, int) and part < len(holder) else None


def positions(document: Any) -> dict[Place, Position]:
    """Where everything stands in the order of the file."""
    return dict(_walk(document, (), ()))


def position(place: Place, known: Mapping[Place, Position]) -> Position:
    """Where a place stands, or what is around it."""
    while place not in known:
        place = place[:-1]
    return known[place]


def _walk(value: Any, place: Place, at: Position) -> Iterator[tuple[Place, Position]]:
    yield place, at
    if isinstance(value, dict):
        for order, (key, item) in enumerate(value.items()):
            yield from _walk(item, (*place, key), (*at, order))
    elif isinstance(value, list):
        for order, item in enumerate(value):
            yield from _walk(item, (*place, order), (*at, order))
