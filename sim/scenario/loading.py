"""From a file, a text or a mapping to a scenario: every problem at once, or a scenario that can be run."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sim.errors import Problem, ScenarioError
from sim.scenario.base import Found, Place, listed, nearest, shown
from sim.scenario.diagnosis import PROBLEMS_MAX, diagnose
from sim.scenario.document import deep_copy, inside, plain_copy, position, positions
from sim.scenario.omissions import WITHOUT, leave_out
from sim.scenario.overrides import apply_override
from sim.scenario.scenario import Scenario
from sim.scenario.writing import to_dict

FILE_BYTES_MAX = 10 * 1024**2


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
    document = plain_copy(mapping, (), found)
    if not isinstance(document, dict):
        raise _only(source, "must be a mapping with the keys of the scenario format")
    overridden: list[Place] = []
    wrong_overrides: list[Found] = []
    for path, text in overrides:
        changed = deep_copy(document)
        place, wrong = apply_override(changed, str(path), str(text))
        if wrong is None:
            document = changed
            overridden.append(place)
        else:
            wrong_overrides.append(wrong)
    notes = leave_out(document, _known_without(without))
    scenario = diagnose(document, str(base_dir or ""), found)
    order = positions(document)
    found.sort(key=lambda one: position(one.place, order))
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


def _as_written(found: Found, document: Any) -> str:
    """The value as the file has it ("10m", not 600), if it is there."""
    value = document
    for part in found.place:
        value = inside(value, part)
    return found.value if value is None or not found.value else shown(value)


def with_overrides(
    scenario: Scenario, overrides: Iterable[tuple[str, str]] = (), without: Iterable[str] = ()
) -> Scenario:
    """A new scenario with some values changed; see `load` for how they are written."""
    changed = from_dict(to_dict(scenario), "<scenario>", scenario.base_dir, overrides, without)
    changed._notes = (*scenario.notes, *changed.notes)
    return changed
