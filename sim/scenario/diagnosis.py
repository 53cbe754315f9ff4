"""All that is wrong with a document at once: what is wrong hides what would be found after it, so it is set aside, and the
rest is looked at again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from sim.scenario.base import Found, Place, found_in, shown
from sim.scenario.document import deep_copy, inside
from sim.scenario.scenario import Scenario
from sim.scenario.simulated import unsimulated

PROBLEMS_MAX = 100  # told one by one
ROUNDS_MAX = 8  # of setting aside what is wrong to see what else is

# What stands in for what is required and wrong, so that the rest can be looked at.
_STAND_INS: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("format",), 1),
    (("duration",), 3650 * 86_400),
    (("table",), {"name": "?", "pk": "?", "sk": "?", "mode": "on-demand"}),
    (("table", "name"), "?"),
    (("table", "pk"), "?"),
    (("table", "sk"), "?"),
    (("table", "mode"), "on-demand"),
    (("table", "read_capacity"), 1),
    (("table", "write_capacity"), 1),
    (("traffic", "*"), {"name": "?", "operation": "TTLDelete", "rate": 1}),
    (("traffic", "*", "name"), "?"),
    (("traffic", "*", "operation"), "TTLDelete"),
    (("traffic", "*", "rate"), 1),
    (("traffic",), [{"name": "?", "operation": "TTLDelete", "rate": 1}]),
    (("table", "gsi", "*", "read_capacity"), 1),
    (("table", "gsi", "*", "write_capacity"), 1),
    (("table", "gsi", "*", "projected_bytes"), 1),
    (("table", "lsi", "*", "projected_bytes"), 1),
    (("fields", "*"), {"kind": "sequence"}),
)
# Rules about the rest of a table or pattern hang on these; while one is wrong they are not applied.
_DECISIVE = {"operation", "mode", "kind"}


def diagnose(document: dict[str, Any], base_dir: str, found: list[Found]) -> Scenario | None:
    """The scenario that a document is, or None; all that is wrong with it is added to ``found``, cut at some length."""
    scenario: Scenario | None = None
    names = _pattern_names(document)
    rest = document
    broken: list[Place] = [one.place for one in found]
    if "format" not in rest:
        found.append(Found(("format",), "is required and missing", hint="format = 1"))
        rest = {"format": 1, **rest}
        broken.append(("format",))
    for _ in range(ROUNDS_MAX):
        try:
            scenario = Scenario.model_validate(rest, context={"base_dir": base_dir})
        except ValidationError as error:
            new = found_in(error)
        else:
            new = unsimulated(scenario)
        found += [_named(one, names) for one in new if not _hidden(one.place, broken)]
        if scenario is not None or len(found) > PROBLEMS_MAX:
            break
        rest = deep_copy(rest)
        for one in new:
            _set_aside(rest, one.place, one.place in broken)
        broken += [one.place for one in new]
    return scenario


def _hidden(place: Place, broken: list[Place]) -> bool:
    """Whether a problem follows from one that is told already."""
    if place == ("tick",) and not {("duration",), ("period",)}.isdisjoint(broken):
        return True
    asks_for_nothing = (place[:1] == ("event",) and place[2:] == ("at",)) or (
        "schedule" in place and place[-1] == "min"
    )
    if asks_for_nothing and any(other[: len(place) - 1] == place[:-1] for other in broken):
        return True  # because what the event or the action asked for is wrong
    for other in broken:
        if other and other[-1] in _DECISIVE and place[: len(other) - 1] == other[:-1] and place[-1] not in {"pk", "sk"}:
            return True
        short = min(len(place), len(other))
        if place[:short] == other[:short]:
            return True
    return False


def _set_aside(document: Any, place: Place, again: bool) -> None:
    """Take the wrong value at ``place`` out of a document, or put a stand-in where one is required."""
    while place:
        holder = document
        for part in place[:-1]:
            holder = inside(holder, part)
        last = place[-1]
        is_there = isinstance(holder, dict) or (
            isinstance(holder, list) and isinstance(last, int) and last < len(holder)
        )
        stand_in = _stand_in(place)
        if is_there and stand_in is not None:
            holder[last] = f"?{place}" if stand_in == "?" and last == "name" else deep_copy(stand_in)
            return
        if isinstance(holder, dict) and last in holder and not again:
            del holder[last]
            return
        place, again = place[:-1], False


def _stand_in(place: Place) -> Any:
    for pattern, value in _STAND_INS:
        if len(pattern) == len(place) and all(key in ("*", part) for key, part in zip(pattern, place, strict=True)):
            return value
    return None


def _pattern_names(document: Mapping[str, Any]) -> dict[int, str]:
    traffic = document.get("traffic")
    if not isinstance(traffic, list):
        return {}
    return {
        index: one["name"]
        for index, one in enumerate(traffic)
        if isinstance(one, dict) and isinstance(one.get("name"), str)
    }


def _named(found: Found, names: Mapping[int, str]) -> Found:
    """The same, with the pattern's name, which is easier to find in a file than its number."""
    place = found.place
    if len(place) > 1 and place[0] == "traffic" and isinstance(place[1], int) and place[1:] != (place[1], "name"):
        name = names.get(place[1])
        if name:
            found.message = f"{found.message} [pattern {shown(name)}]"
    return found
