"""The JSON Schema of the scenario format, for editors that complete and check TOML."""

from __future__ import annotations

import re
from typing import Any

from sim.scenario.scenario import Scenario

_ATTRIBUTE = re.compile(r"^(\w+(?:, \w+)*) : (.+(?:\n +.+)*)", re.MULTILINE)  # of a numpy-style docstring


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario file, with a description of every key that has one."""
    schema = Scenario.model_json_schema(by_alias=True)
    definitions = {name: _described(_tidy(item)) for name, item in schema.pop("$defs").items()}
    top = _described(_tidy(schema))
    top["required"] = ["format", *top.get("required", []), "traffic"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ddbsim scenario, format 1",
        **top,
        "$defs": definitions,
    }


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """The docstring of a class as descriptions of its keys; a `kind` is what tells one table from another."""
    summary, _, attributes = schema.get("description", "").partition("Attributes\n----------\n")
    properties = schema.get("properties", {})
    for names, text in _ATTRIBUTE.findall(attributes):
        for name in names.split(","):
            key = name.strip().removesuffix("_")
            if key in properties:
                assert "description" not in properties[key], f"{key} is described twice"
                properties[key] = {"description": _plain_words(text), **properties[key]}
    described = {**schema, "description": _plain_words(summary)} if summary else dict(schema)
    if "kind" in properties:
        properties["kind"] = {"description": "What tells this table from the others.", **properties["kind"]}
        described["required"] = ["kind", *schema.get("required", [])]
    return described


def _plain_words(text: str) -> str:
    """A piece of a docstring for readers of TOML: no markup, and a key is left out where Python has None."""
    words = re.sub(r"`+([^`]*)`+", r"\1", " ".join(text.split()))
    words = re.sub(r"\bNone means that\b", "left out:", words)
    words = re.sub(r"(?<=[.:] )None:|\ANone:", "Left out:", words)
    return re.sub(r"\bNone:", "left out:", words)


def _tidy(value: Any) -> Any:
    """Without what only Python needs: null for "unset" (TOML has none), and generated titles."""
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = value.get("anyOf")
    if isinstance(members, list) and {"type": "null"} in members:
        kept = [item for item in members if item != {"type": "null"}]
        outside = {key: item for key, item in value.items() if key not in {"anyOf", "title"}}
        if outside.get("default", 0) is None:
            del outside["default"]
        value = {**outside, **kept[0]} if len(kept) == 1 else {**outside, "anyOf": kept}
    return {
        key: {name: _tidy(item) for name, item in member.items()} if key == "properties" else _tidy(member)
        for key, member in value.items()
        if not (key == "title" and isinstance(member, str))
    }
