"""Every row of the mission: id → model → scenario → claim → the figures measured. `python tests/mission_table.py` prints them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mission import FAMILIES
from mission.base import Row

import models

ROWS = [row for family in FAMILIES.values() for row in family.ROWS]
MISSING = {id_: why for family in FAMILIES.values() for id_, why in family.MISSING.items()}


def test_every_id_of_the_mission_is_shown_or_listed_as_missing(shared: Path) -> None:
    ids = set(re.findall(r"^\| (S-[A-Z0-9-]+) \|", (shared / "mission.md").read_text(encoding="utf-8"), re.MULTILINE))
    shown = {row.id for row in ROWS}
    assert ids == shown | set(MISSING)
    assert not shown & set(MISSING)
    assert all(MISSING.values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_measures_what_it_claims(row: Row) -> None:
    figures = row.measure()
    assert figures
    assert [f"{f.what}: {f.value:g} is not in {f.least:g}..{f.most:g} ({f.why})" for f in figures if not f.holds] == []


def test_a_row_names_scenarios_that_are_listed_under_its_id() -> None:
    named = {one.name: one for one in models.scenarios.named()}
    for row in ROWS:
        assert row.id in named[row.scenarios[0]].shows, row.id
        assert set(row.scenarios) <= set(named)


def test_every_named_scenario_is_shown_by_a_row_of_each_of_its_ids() -> None:
    shown = {(row.id, name) for row in ROWS for name in row.scenarios}
    assert [
        (id_, one.name) for one in models.scenarios.named() for id_ in one.shows if (id_, one.name) not in shown
    ] == []
