"""What is allowed and seldom meant: each is said once, in the notes, and no plain scenario is suspected."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from test_scenario import CONTRACT, MINIMAL

from sim.scenario import from_dict, loads, with_overrides
from sim.scenario.suspicions import ALIKE_MAX

BASE: dict[str, Any] = {
    "format": 1,
    "duration": "1h",
    "fields": {"id": {"kind": "uniform", "count": 100}},
    "table": {"name": "orders", "pk": "{id}", "mode": "on-demand"},
    "traffic": [{"name": "reads", "operation": "GetItem", "rate": 10}],
}


def notes(table: dict[str, Any] | None = None, fields: dict[str, Any] | None = None, **traffic: Any) -> tuple[str, ...]:
    document = copy.deepcopy(BASE)
    document["table"] |= table or {}
    document["fields"] |= fields or {}
    document["traffic"][0] |= traffic
    return from_dict(document).notes


@pytest.mark.parametrize("text", [MINIMAL, CONTRACT])
def test_plain_scenarios_are_not_suspected(text: str) -> None:
    assert loads(text).notes == ()


@pytest.mark.parametrize(
    ("pk", "told"),
    [
        ("id", "fields.id is used by no key template and does nothing: did you mean {id} in table.pk?"),
        ("ORDER#id", "fields.id is used by no key template and does nothing: did you mean {id} in table.pk?"),
        (
            "ORDERid",
            'fields.id is used by no key template and does nothing: table.pk is the one constant key "ORDERid", '
            "where a field is written in braces.",
        ),
    ],
)
def test_a_field_that_nothing_uses_is_told(pk: str, told: str) -> None:
    assert notes({"pk": pk}) == (told,)


def test_a_field_beside_used_ones_is_told_too() -> None:
    other = {"other": {"kind": "sequence"}}
    assert notes(fields=other) == ("fields.other is used by no key template and does nothing.",)
    assert notes(fields={"odd name": {"kind": "sequence"}}) == (
        'fields."odd name" is used by no key template and does nothing.',
    )
    assert notes({"pk": "{id}#other"}, other) == (
        "fields.other is used by no key template and does nothing: did you mean {other} in table.pk?",
    )
    assert notes(fields=other, pk="{other}") == ()
    assert notes({"pk": "{id}#{h}"}, {"u": {"kind": "sequence"}, "h": {"kind": "hash", "of": "u", "count": 3}}) == ()


def test_a_constant_that_is_a_fields_name_is_told() -> None:
    assert notes(pk="id") == ('traffic[0].pk is the constant key "id"; did you mean the field {id}?',)
    assert notes(pk="ID") == ()


def test_many_of_one_kind_are_cut() -> None:
    told = notes(fields={f"f{number}": {"kind": "sequence"} for number in range(ALIKE_MAX + 3)})
    assert len(told) == ALIKE_MAX + 1
    assert told[-1] == "And 3 more of this kind."


SPIKE = {"kind": "spike", "base": 1, "peak": 9, "lasting": "5m"}


@pytest.mark.parametrize(
    ("traffic", "told"),
    [
        ({"rate": {**SPIKE, "at": 3599}}, ""),
        ({"rate": {**SPIKE, "at": 3600}}, "the spike at 3600 s lies outside the pattern's time, 0 s to 3600 s"),
        ({"rate": {**SPIKE, "at": 1799}, "ends": "30m"}, ""),
        ({"rate": {**SPIKE, "at": 1800}, "ends": "30m"}, "the spike at 1800 s lies outside"),
        ({"rate": {**SPIKE, "at": 301}, "starts": "10m"}, ""),
        ({"rate": {**SPIKE, "at": 300}, "starts": "10m"}, "the spike at 300 s lies outside"),
        ({"rate": {"kind": "ramp", "from": 0, "to": 100, "over": "1h"}}, ""),
        ({"rate": {"kind": "ramp", "from": 0, "to": 100, "over": "2h"}}, "it gets to 50 of 100 requests per second"),
        ({"rate": [["0s", 1], [3599, 5]]}, ""),
        ({"rate": [["0s", 1], ["1h", 5]]}, "the step at 3600 s would come after the pattern's time"),
        ({"rate": [["0s", 1], ["1h", 5], ["2h", 5]]}, "the steps at 3600 s, 7200 s would come after"),
    ],
)
def test_what_never_comes_is_told(traffic: dict[str, Any], told: str) -> None:
    found = notes(**traffic)
    assert len(found) == bool(told)
    assert told in "".join(found)
    assert not found or found[0].startswith('traffic[0].rate [pattern "reads"]: ')


@pytest.mark.parametrize(("first_s", "told"), [(3599, False), (3600, True)])
def test_a_measured_rate_that_begins_after_the_end_is_told(tmp_path: Path, first_s: int, told: bool) -> None:
    (tmp_path / "rate.csv").write_text(f"t,n\n{first_s},5\n9000,6\n")
    rate = {"kind": "csv", "path": str(tmp_path / "rate.csv"), "time": "t", "value": "n"}
    assert ("no request comes" in "".join(notes(rate=rate))) == told


def test_notes_of_a_changed_scenario_are_its_own() -> None:
    scenario = from_dict(BASE)
    changed = with_overrides(scenario, {"table.pk": "id"})
    assert len(changed.notes) == 1
    assert with_overrides(changed, {"table.pk": "{id}"}).notes == ()


def test_a_schedule_that_never_comes_and_a_maximum_above_the_quota_are_told() -> None:
    scaling = {
        "max": 50_000,
        "min": 5,
        "schedule": [{"cron": "0 8 ? * SAT *", "min": 9}, {"cron": "30 0 * * ? *", "min": 9}],
    }
    table = {"mode": "provisioned", "read_capacity": 5, "write_capacity": 5, "autoscaling": {"read": scaling}}
    quota, never = notes(table)  # 2026-01-01 is a Thursday
    assert quota.startswith("table.autoscaling.read.max = 50,000 is above the quota of 40,000 (account.table_read)")
    assert never.startswith(
        "table.autoscaling.read.schedule[0]: 0 8 ? * SAT * comes at no moment of this run, which starts at Thursday"
    )


@pytest.mark.parametrize(
    ("warm", "quota", "told"), [(40_000, 40_000, False), (40_001, 40_000, True), (60_000, 60_000, False)]
)
def test_warm_throughput_above_the_quota_is_told(warm: int, quota: int, told: bool) -> None:
    scenario = from_dict(
        {
            "format": 1,
            "duration": "1m",
            "table": {"pk": "ONE", "mode": "on-demand", "warm_write": warm},
            "traffic": [{"name": "w", "operation": "PutItem", "rate": 1}],
            "account": {"table_write": quota},
        }
    )
    assert any("AWS warms no table beyond its quota" in note for note in scenario.notes) is told
