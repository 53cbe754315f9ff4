"""From a file, a text or a mapping to a scenario: every problem at once, or a scenario that can be run."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from sim.errors import Problem, ScenarioError
from sim.scenario.base import Found, Place, counted, listed, nearest, shown
from sim.scenario.diagnosis import PROBLEMS_MAX, diagnose
from sim.scenario.document import deep_copy, inside, plain_copy, position, positions
from sim.scenario.omissions import WITHOUT, leave_out
from sim.scenario.overrides import apply_override, parse_value
from sim.scenario.scenario import Scenario
from sim.scenario.writing import to_dict, to_plain

FILE_BYTES_MAX = 10 * 1024**2
IMPORT_SUFFIXES = (".yaml", ".yml", ".json", ".template", ".csv", ".properties", ".workload")

Overrides: TypeAlias = Mapping[str, Any] | Iterable[tuple[str, Any]]

_TEMPLATE = re.compile(r"^(?:AWSTemplateFormatVersion|Resources|Transform)\s*:|\A\s*\{", re.MULTILINE)
_COMMENTED_TRAFFIC = re.compile(r"^\s*#\s*\[\[\s*traffic\s*\]\]", re.MULTILINE)


def load(
    path: str | os.PathLike[str],
    overrides: Overrides = (),
    without: Iterable[str] = (),
) -> Scenario:
    """Read a scenario file.

    Parameters
    ----------
    path : a TOML file.
    overrides : values by key path, applied in order: ``{"table.write_capacity": 200, "traffic[0].rate": 50}``, of a pattern or
        index by its name too: ``{"traffic.orders.rate": [["0s", 50], ["1h", 80]]}``. Values are Python's, None takes a key away.
        Or (key path, text) pairs, as the command line has them: there a text is a TOML value, ``("table.write_capacity", "200")``,
        and one that is no TOML value is itself.
    without : "indexes" leaves out global secondary indexes with all that reads them, "autoscaling" auto scaling; what
        was left out is told in `Scenario.notes`.

    Raises
    ------
    ScenarioError
        With every problem of the file.
    """
    if not isinstance(path, str | os.PathLike):  # a whole number would be one of the process's open files
        sentence = "must be the path of a scenario file"
        raise ScenarioError([Problem(source="path", path="", message=sentence, value=shown(path))])
    source = str(path).encode("utf-8", "backslashreplace").decode()
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
    return loads(text, source, os.path.dirname(os.fspath(path)), overrides, without)


def loads(
    text: str,
    source: str = "<text>",
    base_dir: str | os.PathLike[str] | None = None,
    overrides: Overrides = (),
    without: Iterable[str] = (),
) -> Scenario:
    """A scenario from TOML text; paths in it count from ``base_dir`` (None: the working directory). See `load`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _only(source, f"is not valid TOML: {error}", _import_hint(text, source)) from None
    except RecursionError:
        raise _only(source, "is nested too deeply") from None
    except (ValueError, TypeError, AttributeError) as error:  # a number of thousands of digits, or no text at all
        raise _only(source, f"is not valid TOML: {error}") from None
    if not document:
        raise _only(source, "is empty; a scenario needs at least format, duration, [table] and [[traffic]]")
    return _from_dict(document, source, base_dir, overrides, without, traffic_hint=_example_hint(text))


def from_dict(
    mapping: Mapping[str, Any],
    source: str = "<dict>",
    base_dir: str | os.PathLike[str] | None = None,
    overrides: Overrides = (),
    without: Iterable[str] = (),
) -> Scenario:
    """A scenario from a mapping with the keys of the format. See `load`."""
    return _from_dict(mapping, source, base_dir, overrides, without)


def _from_dict(
    mapping: Mapping[str, Any],
    source: str,
    base_dir: str | os.PathLike[str] | None,
    overrides: Overrides,
    without: Iterable[str],
    traffic_hint: str = "",
) -> Scenario:
    found: list[Found] = []
    document = plain_copy(mapping, (), found)
    wrong_in_file = bool(found)
    if not isinstance(document, dict):
        raise _only(source, "must be a mapping with the keys of the scenario format")
    as_in_file = document
    overridden: list[Place] = []
    wrong_overrides: list[Found] = []
    for path, value in _override_pairs(overrides):
        changed = deep_copy(document)
        wrong_values: list[Found] = []
        place, wrong = apply_override(changed, path, plain_copy(value, (path,), wrong_values))
        wrong_overrides += wrong_values
        if wrong is None:
            document = changed
            overridden.append(place)
        else:
            wrong_overrides.append(wrong)
    left_out = _known_without(without)
    notes = leave_out(document, left_out)
    scenario = diagnose(document, str(base_dir or ""), found)
    order = positions(document)
    found.sort(key=lambda one: position(one.place, order))
    problems = [one.problem("--set") for one in wrong_overrides]
    of_file = (
        _told_of(as_in_file, str(base_dir or ""), left_out) if found and overridden and not wrong_in_file else None
    )
    for one in found[:PROBLEMS_MAX]:
        one.value = _as_written(one, document)
        if one.place == ("traffic",) and traffic_hint and not document.get("traffic"):
            one.hint = traffic_hint
        is_overridden = any(one.place[: len(place)] == place for place in overridden) or (
            of_file is not None and (one.place, one.message) not in of_file
        )
        problems.append(one.problem("--set" if is_overridden else source))
    if len(found) > PROBLEMS_MAX:
        problems.append(
            Problem(source=source, path="", message=f"and {counted(len(found) - PROBLEMS_MAX, 'more problem')}")
        )
    if problems or scenario is None:
        raise ScenarioError(problems)
    scenario._notes = tuple(notes)
    return scenario


def _told_of(document: dict[str, Any], base_dir: str, left_out: set[str]) -> set[tuple[Place, str]]:
    """What is wrong with a file as it stands, before anything in it is overridden."""
    found: list[Found] = []
    document = deep_copy(document)
    leave_out(document, left_out)
    diagnose(document, base_dir, found)
    return {(one.place, one.message) for one in found}


def _only(source: str, message: str, hint: str = "") -> ScenarioError:
    return ScenarioError([Problem(source=source, path="", message=message, hint=hint)])


def _import_hint(text: str, source: str) -> str:
    """What to do with a file that is no scenario but can become one, or ""."""
    suffix = Path(source).suffix.lower()
    if suffix not in IMPORT_SUFFIXES and not _TEMPLATE.search(text):
        return ""
    return f"a template, table description, trace or YCSB workload becomes a scenario with: ddbsim import {shlex.quote(source)}"


def _example_hint(text: str) -> str:
    """Where a file has patterns that are still comments, or ""."""
    example = _COMMENTED_TRAFFIC.search(text)
    if example is None:
        return ""
    line = text.count("\n", 0, example.start()) + 1
    return f"take the comment signs away from the examples from line {line} on"


def _override_pairs(overrides: Overrides) -> list[tuple[str, Any]]:
    """Key paths and values; a text of a pair is read as TOML, as on the command line."""
    pairs: Iterable[Any] = overrides.items() if isinstance(overrides, Mapping) else overrides
    try:
        checked = [(str(path), value) for path, value in (() if isinstance(pairs, str) else pairs)]
    except (TypeError, ValueError):
        checked = None
    if checked is None or isinstance(pairs, str):
        sentence = (
            'must be a mapping of key paths to values, such as {"table.max_write": 3000}, or (key path, text) pairs'
        )
        raise ScenarioError([Problem(source="overrides", path="", message=sentence, value=shown(overrides))])
    if isinstance(overrides, Mapping):
        return [(path, to_plain(value)) for path, value in checked]
    return [(path, parse_value(value) if isinstance(value, str) else to_plain(value)) for path, value in checked]


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


def _as_written(found: Found, document: Any) -> str:
    """The value as the file has it ("10m", not 600), if it is there."""
    value = document
    for part in found.place:
        value = inside(value, part)
    return found.value if value is None or not found.value else shown(value)


def with_overrides(scenario: Scenario, overrides: Overrides = (), without: Iterable[str] = ()) -> Scenario:
    """A new scenario with some values changed.

    ``with_overrides(scenario, {"table.max_write": 3000, "traffic.orders.rate": 50})``; see `load` for what else can be written.

    Raises
    ------
    ScenarioError
        With every problem of the changed scenario.
    """
    if not isinstance(scenario, Scenario):
        sentence = "must be a Scenario, such as sim.load(FILE) gives"
        raise ScenarioError([Problem(source="scenario", path="", message=sentence, value=shown(scenario))])
    changed = _from_dict(to_dict(scenario), "<scenario>", scenario.base_dir, overrides, without)
    changed._notes = (*scenario._notes, *changed._notes)
    return changed
