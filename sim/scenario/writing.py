"""A scenario as plain values and as TOML text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from sim.calibration import Calibration, calibrate
from sim.scenario.base import Value
from sim.scenario.rates import StepsRate
from sim.scenario.scenario import Scenario

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def to_dict(scenario: Scenario) -> dict[str, Any]:
    """A scenario as plain dicts, lists and values under the keys of the format: what was given, defaults left out."""
    return {"format": 1, **to_plain(scenario)}


def to_plain(value: Any) -> Any:
    """A value of a scenario, or one that holds such values, as plain dicts, lists and values; anything else as it is."""
    if isinstance(value, StepsRate):
        return [list(step) for step in value.steps]
    if isinstance(value, Value):
        fields = type(value).model_fields
        given = {name for name in fields if name in value.model_fields_set or name == "kind"}
        return {
            field.alias or name: to_plain(getattr(value, name))
            for name, field in fields.items()
            if name in given and getattr(value, name) is not None
        }
    if isinstance(value, Calibration):
        base = calibrate(value.base).values
        changed = {name: item for name, item in value.values.items() if item != base[name]}
        return {"base": value.base, **changed} if changed else value.base
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, datetime | date | time | bool):
        return value
    return str(value) if isinstance(value, str) else value


def dump(scenario: Scenario) -> str:
    """TOML text that loads back as an equal scenario; what has its default is left out if it was not given."""
    document = to_dict(scenario)
    lines = [f"{_key(key)} = {_value(item)}" for key, item in document.items() if not _is_section(item)]
    for key, item in document.items():
        if _is_section(item):
            lines += _section(key, item)
    return "\n".join(lines) + "\n"


def _is_section(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and all(isinstance(one, Mapping) for one in value))


def _section(path: str, value: Any) -> list[str]:
    if isinstance(value, list):
        return [line for one in value for line in ("", f"[[{path}]]", *_body(path, one))]
    if path == "calibration":
        return ["", "[calibration]", *_body(path, value)]
    return ["", f"[{path}]", *_body(path, value)]


def _body(path: str, table: Mapping[str, Any]) -> list[str]:
    lines, sections = [], []
    for key, item in table.items():
        if path == "table" and key in {"gsi", "lsi"} and item:
            sections += _section(f"{path}.{key}", item)
        else:
            lines.append(f"{_key(key)} = {_value(item)}")
    return lines + sections


def _key(key: str) -> str:
    return key if _BARE.match(key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }" if value else "{}"
        )
    assert isinstance(value, list), f"no TOML for {value!r}"
    return "[" + ", ".join(_value(item) for item in value) + "]"
