"""From a file, a text or a mapping to a scenario: every problem at once, or a scenario that can be run."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sim.calibration import Calibration, calibrate
from sim.errors import Problem, ScenarioError
from sim.scenario.base import Found, Place, Value, found_in, listed, nearest, shown
from sim.scenario.overrides import WITHOUT, apply_override, leave_out
from sim.scenario.rates import StepsRate
from sim.scenario.scenario import Scenario
from sim.scenario.simulated import unsimulated

FILE_BYTES_MAX = 10 * 1024**2
DEPTH_MAX = 30  # of nested tables and lists; the format needs 6
PROBLEMS_MAX = 100  # told one by one
ROUNDS_MAX = 8  # of setting aside what is wrong to see what else is

# A stand-in for what is required and wrong, so that the rest can be looked at too.
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


def load(
    path: str | os.PathLike[str],
    overrides: Iterable[tuple[str, str]] = (),
    without: Iterable[str] = (),
) -> Scenario:
    """Read a scenario file.

    Parameters
    ----------
    path : a TOML file.
    overrides : (key path, value as text) pairs, applied in order: ``("table.write_capacity", "200")``,
        ``("traffic[0].rate", "50")`` or by name ``("traffic.orders.rate", "50")``. A value that is no TOML value is a text.
    without : "indexes" leaves out global secondary indexes with all that reads them, "autoscaling" auto scaling; what
        was left out is told in `Scenario.notes`.

    Raises
    ------
    ScenarioError
        With every problem of the file.
    """
    source = shown(os.fspath(path)).strip('"') if isinstance(path, str | os.PathLike) else repr(path)
    try:
        with open(path, "rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise _only(source, "no such file") from None
    except IsADirectoryError:
        raise _only(source, "is a folder, not a scenario file") from None
    except (OSError, ValueError, TypeError) as error:
        raise _only(source, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > FILE_BYTES_MAX:
        raise _only(source, "is larger than 10 MB, which no scenario is")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _only(source, f"is not UTF-8 text (byte {error.start} is not)") from None
    return loads(text, source, Path(os.fspath(path)).parent, overrides, without)


def loads(
    text: str,
    source: str = "<text>",
    base_dir: str | os.PathLike[str] | None = None,
    overrides: Iterable[tuple[str, str]] = (),
    without: Iterable[str] = (),
) -> Scenario:
    """A scenario from TOML text; paths in it count from ``base_dir`` (None: the working directory). See `load`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _only(source, f"is not valid TOML: {error}") from None
    except RecursionError:
        raise _only(source, "is nested too deeply") from None
    except (ValueError, TypeError, AttributeError) as error:  # a number of thousands of digits, or no text at all
        raise _only(source, f"is not valid TOML: {error}") from None
    if not document:
        raise _only(source, "is empty; a scenario needs at least format, duration, [table] and [[traffic]]")
    return from_dict(document, source, base_dir, overrides, without)


def from_dict(
    mapping: Mapping[str, Any],
    source: str = "<dict>",
    base_dir: str | os.PathLike[str] | None = None,
    overrides: Iterable[tuple[str, str]] = (),
    without: Iterable[str] = (),
) -> Scenario:
    """A scenario from a mapping with the keys of the format. See `load`."""
    found: list[Found] = []
    document = _plain(mapping, (), found)
    if not isinstance(document, dict):
        raise _only(source, "must be a mapping with the keys of the scenario format")
    overridden: list[Place] = []
    wrong_overrides: list[Found] = []
    for path, text in overrides:
        changed = _copy(document)
        place, wrong = apply_override(changed, str(path), str(text))
        if wrong is None:
            document = changed
            overridden.append(place)
        else:
            wrong_overrides.append(wrong)
    notes = leave_out(document, _known_without(without))
    positions = dict(_positions(document, ()))
    scenario = _validated(document, {"base_dir": str(base_dir or "")}, found, _listed_names(document))
    found.sort(key=lambda one: _position(one.place, positions))
    problems = [one.problem("--set") for one in wrong_overrides]
    for one in found[:PROBLEMS_MAX]:
        one.value = _as_written(one, document)
        is_overridden = any(one.place[: len(place)] == place for place in overridden)
        problems.append(one.problem("--set" if is_overridden else source))
    if len(found) > PROBLEMS_MAX:
        problems.append(Problem(source=source, path="", message=f"and {len(found) - PROBLEMS_MAX} more problems"))
    if problems or scenario is None:
        raise ScenarioError(problems)
    scenario._notes = tuple(notes)
    return scenario


def _only(source: str, message: str) -> ScenarioError:
    return ScenarioError([Problem(source=source, path="", message=message)])


def _known_without(without: Iterable[str]) -> set[str]:
    wanted = set(without)
    for name in sorted(map(str, wanted - set(WITHOUT))):
        problem = Problem(
            source="--without",
            path="",
            message=f"cannot leave out {name!r}; only {listed(WITHOUT)}",
            hint=nearest(name, WITHOUT),
        )
        raise ScenarioError([problem])
    return wanted


def _plain(value: Any, place: Place, found: list[Found]) -> Any:
    """A copy in plain dicts and lists, of bounded depth, with texts as keys."""
    if len(place) > DEPTH_MAX:
        found.append(Found(place[:3], "is nested too deeply"))
        return None
    if isinstance(value, Mapping):
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if isinstance(key, str):
                copy[key] = _plain(item, (*place, key), found)
            else:
                found.append(Found(place, f"keys must be texts; {shown(key)} is not"))
        return copy
    if isinstance(value, list | tuple):
        return [_plain(item, (*place, index), found) for index, item in enumerate(value)]
    return value


def _validated(
    document: dict[str, Any], context: dict[str, str], found: list[Found], names: Mapping[int, str]
) -> Scenario | None:
    """The scenario, or None and all that is wrong in ``found``.

    What is wrong hides what would be found after it, so it is set aside, and the rest is looked at again.
    """
    scenario: Scenario | None = None
    rest = document
    broken: list[Place] = [one.place for one in found]
    if "format" not in rest:
        found.append(Found(("format",), "is required and missing", hint="format = 1"))
        rest = {"format": 1, **rest}
        broken.append(("format",))
    for _ in range(ROUNDS_MAX):
        try:
            scenario = Scenario.model_validate(rest, context=context)
        except ValidationError as error:
            new = found_in(error)
        else:
            new = unsimulated(scenario)
        found += [_named(one, names) for one in new if not _hidden(one.place, broken)]
        if scenario is not None or len(found) > PROBLEMS_MAX:
            break
        rest = _copy(rest)
        for one in new:
            _set_aside(rest, one.place, one.place in broken)
        broken += [one.place for one in new]
    return scenario


def _hidden(place: Place, broken: list[Place]) -> bool:
    """Whether a problem follows from one that is told already."""
    for other in broken:
        if other and other[-1] in _DECISIVE and place[: len(other) - 1] == other[:-1] and place[-1] not in {"pk", "sk"}:
            return True
        short = min(len(place), len(other))
        if place[:short] == other[:short]:
            return True
    return False


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _set_aside(document: Any, place: Place, again: bool) -> None:
    """Take the wrong value at ``place`` out of a document, or put a stand-in where one is required."""
    while place:
        holder = document
        for part in place[:-1]:
            holder = _inside(holder, part)
        last = place[-1]
        is_there = isinstance(holder, dict) or (
            isinstance(holder, list) and isinstance(last, int) and last < len(holder)
        )
        stand_in = _stand_in(place)
        if is_there and stand_in is not None:
            holder[last] = f"?{place}" if stand_in == "?" and last == "name" else _copy(stand_in)
            return
        if isinstance(holder, dict) and last in holder and not again:
            del holder[last]
            return
        place, again = place[:-1], False


def _inside(holder: Any, part: str | int) -> Any:
    if isinstance(holder, dict):
        return holder.get(str(part))
    return holder[part] if isinstance(holder, list) and isinstance(part, int) and part < len(holder) else None


def _stand_in(place: Place) -> Any:
    for pattern, value in _STAND_INS:
        if len(pattern) == len(place) and all(key in ("*", part) for key, part in zip(pattern, place, strict=True)):
            return value
    return None


def _listed_names(document: Mapping[str, Any]) -> dict[int, str]:
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


def _as_written(found: Found, document: Any) -> str:
    """The value as the file has it ("10m", not 600), if it is there."""
    value = document
    for part in found.place:
        value = _inside(value, part)
    return found.value if value is None or not found.value else shown(value)


def _positions(value: Any, place: Place) -> Iterator[tuple[Place, tuple[int, ...]]]:
    def walk(value: Any, place: Place, position: tuple[int, ...]) -> Iterator[tuple[Place, tuple[int, ...]]]:
        yield place, position
        if isinstance(value, dict):
            for order, (key, item) in enumerate(value.items()):
                yield from walk(item, (*place, key), (*position, order))
        elif isinstance(value, list):
            for order, item in enumerate(value):
                yield from walk(item, (*place, order), (*position, order))

    yield from walk(value, place, ())


def _position(place: Place, positions: Mapping[Place, tuple[int, ...]]) -> tuple[int, ...]:
    while place not in positions:
        place = place[:-1]
    return positions[place]


def to_dict(scenario: Scenario) -> dict[str, Any]:
    """A scenario as plain dicts, lists and values under the keys of the format: what was given, defaults left out."""
    return {"format": 1, **_to_plain(scenario)}


def _to_plain(value: Any) -> Any:
    if isinstance(value, StepsRate):
        return [list(step) for step in value.steps]
    if isinstance(value, Value):
        fields = type(value).model_fields
        given = {name for name in fields if name in value.model_fields_set or name == "kind"}
        return {
            field.alias or name: _to_plain(getattr(value, name))
            for name, field in fields.items()
            if name in given and getattr(value, name) is not None
        }
    if isinstance(value, Calibration):
        base = calibrate(value.base).values
        changed = {name: item for name, item in value.values.items() if item != base[name]}
        return {"base": value.base, **changed} if changed else value.base
    if isinstance(value, Mapping):
        return {str(key): _to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    if isinstance(value, datetime | date | time | bool):
        return value
    return str(value) if isinstance(value, str) else value


def with_overrides(
    scenario: Scenario, overrides: Iterable[tuple[str, str]] = (), without: Iterable[str] = ()
) -> Scenario:
    """A new scenario with some values changed; see `load` for how they are written."""
    changed = from_dict(to_dict(scenario), "<scenario>", scenario.base_dir, overrides, without)
    changed._notes = (*scenario.notes, *changed.notes)
    return changed
