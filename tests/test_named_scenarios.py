"""Named scenarios: each loads without a doubt, says its claim, runs, and finds what it found when its headline was written."""

from __future__ import annotations

import re
import tomllib

import pytest
from golden_scenarios import FILE, headline, stored

import models
from sim.catalogue import listed

NAMES = sorted(one.name for one in models.scenarios.named())


def test_every_named_scenario_has_a_golden_headline() -> None:
    assert sorted(stored()) == NAMES, f"write {FILE.name} again: python tests/golden_scenarios.py"


@pytest.mark.parametrize("name", NAMES)
def test_its_headline_is_the_golden_one(name: str) -> None:
    assert headline(name) == stored().get(name), (
        "if this is meant: python tests/golden_scenarios.py, and say why in the commit"
    )


@pytest.mark.parametrize("name", NAMES)
def test_it_raises_no_doubt_and_needs_no_other_file(name: str) -> None:
    assert models.scenarios.load(name).notes == ()
    assert not re.search(r'kind\s*=\s*"csv"|\bpath\s*=|^prices\s*=.*[/.]', models.scenarios.text(name), re.MULTILINE)


@pytest.mark.parametrize("one", models.scenarios.named(), ids=lambda one: one.name)
def test_its_claim_is_one_sentence_or_two(one: models.scenarios.Named) -> None:
    assert one.claim.endswith(".")
    assert len(re.findall(r"[.?!](?= |$)", one.claim)) <= 2
    assert len(one.claim) <= 400


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_file_to_start_from(name: str) -> None:
    """A word of comment before anything else, a title, a seed, and ids of the mission."""
    text = models.scenarios.text(name)
    document = tomllib.loads(text)
    assert text.startswith("# ")
    assert document["title"]
    assert isinstance(document["seed"], int)
    assert document["shows"]
    assert all(re.fullmatch(r"S-[A-Z0-9]+(-[A-Z0-9]+)*", id_) for id_ in document["shows"])
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)


def test_titles_tell_scenarios_apart() -> None:
    titles = [models.scenarios.load(name).title for name in NAMES]
    assert len(set(titles)) == len(titles)


def test_the_command_line_lists_them_all() -> None:
    assert {row.name for row in listed("scenario")} >= set(NAMES)
