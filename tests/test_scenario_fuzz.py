"""Whatever the input, what comes out is a scenario or a `ScenarioError`."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Iterator
from datetime import date, time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import request_documents, scenario_documents, scenarios

from sim.errors import ScenarioError
from sim.scenario import Scenario, dump, from_dict, json_schema, loads, to_dict

NASTY: list[Any] = [
    None,
    True,
    False,
    -1,
    0,
    1.5,
    math.nan,
    math.inf,
    -math.inf,
    10**400,
    10**5000,
    1e300,
    "",
    "5",
    "\ud800",
    "x" * 200_000,
    "{",
    "}",
    "{}",
    "{{user}}",
    "{nobody}",
    "9" * 100 + "d",
    "-5m",
    "5 minutes",
    "%Q",
    "%",
    [],
    {},
    [[]],
    [["0s"]],
    [["0s", 1], ["0s", 2]],
    {"kind": "zipf"},
    {"kind": []},
    {"kind": "hash", "of": "user", "count": 3},
    {"weights": {}},
    {"<steps>": 1},
    {1: 2},
    {"a": {"b": {"c": [1, {"d": None}]}}},
    date(2026, 1, 1),
    time(1, 2),
    object(),
    b"bytes",
    1j,
]


def junk() -> st.SearchStrategy[Any]:
    """Anything at all, nested."""
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10)
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    )


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*place, key)
            yield from places(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield (*place, index)
            yield from places(item, (*place, index))


@st.composite
def broken_documents(draw: st.DrawFn) -> Any:
    """A valid scenario with one to three places dropped, replaced, or joined by a key that nobody knows."""
    document = copy.deepcopy(draw(scenario_documents() | request_documents()))
    for _ in range(draw(st.integers(1, 3))):
        found = list(places(document))
        if not found:
            break
        *above, last = draw(st.sampled_from(found))
        holder = document
        for part in above:
            holder = holder[part]
        action = draw(st.sampled_from(["drop", "nasty", "junk", "unknown key", "twice"]))
        if action == "drop":
            del holder[last]
        elif action == "nasty":
            holder[last] = copy.copy(draw(st.sampled_from(NASTY)))
        elif action == "junk":
            holder[last] = draw(junk())
        elif action == "unknown key" and isinstance(holder, dict):
            holder[draw(st.text(max_size=6))] = draw(junk())
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
    return document


def comes_out(document: Any) -> Scenario | None:
    """The scenario, or None after a ScenarioError whose every problem says where and what."""
    try:
        return from_dict(document)
    except ScenarioError as error:
        for problem in error.problems:
            assert problem.message
            assert len(str(problem)) < 3000
        return None


@settings(max_examples=300)
@given(document=broken_documents())
def test_broken_scenarios_raise_scenario_errors_only(document: Any) -> None:
    scenario = comes_out(document)
    if scenario is not None:
        assert loads(dump(scenario)) == scenario


@settings(max_examples=100)
@given(document=st.dictionaries(st.text(max_size=8), junk(), max_size=4) | junk())
def test_junk_raises_scenario_errors_only(document: Any) -> None:
    comes_out(document)


@settings(max_examples=100)
@given(text=st.text(max_size=60))
def test_text_raises_scenario_errors_only(text: str) -> None:
    with pytest.raises(ScenarioError):
        loads(text)


@settings(max_examples=50)
@given(scenario=scenarios() | request_documents().map(from_dict))
def test_a_valid_scenario_survives_writing_and_pickling(scenario: Scenario) -> None:
    assert loads(dump(scenario)) == scenario
    assert from_dict(to_dict(scenario)) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario


@pytest.mark.parametrize("value", NASTY, ids=range(len(NASTY)))
def test_every_key_takes_nasty_values_without_another_exception(value: Any) -> None:
    document: dict[str, Any] = {
        "format": 1,
        "duration": "1h",
        "fields": {"user": {"kind": "uniform", "count": 9}},
        "table": {"name": "t", "pk": "{user}", "mode": "on-demand"},
        "traffic": [{"name": "a", "operation": "GetItem", "rate": 1}],
    }
    definitions = json_schema()
    holders = {
        "Scenario": (document, definitions["properties"]),
        "Table": (document["table"], definitions["$defs"]["Table"]["properties"]),
        "Traffic": (document["traffic"][0], definitions["$defs"]["Traffic"]["properties"]),
    }
    for holder, keys in holders.values():
        before = dict(holder)
        for key in keys:
            holder[key] = copy.copy(value)
            comes_out(document)
            holder.clear()
            holder.update(before)


@settings(max_examples=25)
@given(document=scenario_documents() | request_documents())
def test_valid_scenarios_validate_against_the_json_schema(document: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="the JSON Schema is checked where jsonschema is installed")
    jsonschema.Draft202012Validator(json_schema()).validate(document)


def definitions_of(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "Scenario", schema
    yield from schema["$defs"].items()


def test_each_key_has_a_description_of_its_own_in_plain_words() -> None:
    for name, definition in definitions_of(json_schema()):
        descriptions = {
            key: key_schema.get("description") for key, key_schema in definition.get("properties", {}).items()
        }
        assert None not in descriptions.values(), (name, descriptions)
        assert len(set(descriptions.values())) == len(descriptions), (name, descriptions)
        for words in [*descriptions.values(), definition["description"]]:
            assert "`" not in words, (name, words)
            assert "None" not in words, (name, words)


def test_an_editor_shows_how_each_shape_of_a_rate_is_written(tmp_path: Path) -> None:
    (tmp_path / "requests.csv").write_text("timestamp,count\n0,5\n60,6\n")
    schema = json_schema()
    shapes = {name for name in schema["$defs"] if name.endswith("Rate")}
    assert shapes == {"StepsRate", "RampRate", "SpikeRate", "DiurnalRate", "CsvRate"}
    examples = [example for name in shapes for example in schema["$defs"][name]["examples"]]
    for rate in [*examples, *schema["$defs"]["Traffic"]["properties"]["rate"]["examples"]]:
        document = {
            "format": 1,
            "duration": "1h",
            "table": {"name": "t", "pk": "x", "mode": "on-demand"},
            "traffic": [{"name": "a", "operation": "GetItem", "rate": rate}],
        }
        assert from_dict(document, base_dir=tmp_path).notes == ()
