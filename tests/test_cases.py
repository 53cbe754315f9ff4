"""Every handed case that the engine can answer is answered; every other one is listed with what it waits for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from case_checks import BOUNDS, MEASURED, METRICS, Case, Check, figure, measure, read_cases, waiting

PUZZLES = read_cases()
MEASUREMENTS = read_cases(MEASURED)


def checks_of(cases: list[Case]) -> list[Any]:
    return [
        pytest.param(case, check, id=f"{case.id}:{number}:{check.metric}")
        for case in cases
        for number, check in enumerate(case.checks)
    ]


def told(case: Case, check: Check, found: Any) -> str:
    where = f" ({check.where})" if check.where else ""
    return f"{case.id}: {check.metric}{where} expected {check.expected}, measured {figure(found)}. {check.note}"


@pytest.mark.parametrize(("case", "check"), checks_of(PUZZLES))
def test_the_simulation_gives_the_answer_of_the_case(case: Case, check: Check) -> None:
    found = measure(case, check)
    if not check.holds(found):
        pytest.fail(told(case, check, found), pytrace=False)


@pytest.mark.parametrize(("case", "check"), checks_of(MEASUREMENTS))
def test_the_simulation_gives_what_was_measured_or_the_file_says_why_not(case: Case, check: Check) -> None:
    found = measure(case, check)
    if check.misses and check.holds(found):
        pytest.fail(f"met by now, so 'misses' can go. {told(case, check, found)}", pytrace=False)
    if not check.misses and not check.holds(found):
        pytest.fail(told(case, check, found), pytrace=False)


def test_every_metric_and_every_variant_is_looked_at_by_some_check() -> None:
    cases = PUZZLES + MEASUREMENTS
    assert {check.metric for case in cases for check in case.checks} == set(METRICS)
    for case in cases:
        looked_at = {name for c in case.checks for name in (c.value[::2] if c.bound == "order" else [c.variant])}
        assert set(case.variants) - looked_at == set(), case.id


def test_a_case_either_runs_or_waits() -> None:
    lists = waiting()
    assert lists["puzzles"].keys().isdisjoint(case.id for case in PUZZLES)
    assert lists["measured"].keys().isdisjoint(case.id for case in MEASUREMENTS)


# Against what was handed out, where it is there.


def handed(folder: Path) -> dict[str, dict[str, Any]]:
    yaml = pytest.importorskip("yaml", reason="the handed cases are YAML")
    return {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))}


def test_no_handed_case_is_forgotten(shared: Path) -> None:
    lists = waiting()
    for kind, cases in (("puzzles", PUZZLES), ("measured", MEASUREMENTS)):
        assert set(handed(shared / "cases" / kind)) == {case.id for case in cases} | set(lists[kind]), kind


def bounds_in(table: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, table[name]) for name in BOUNDS if name in table]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in PUZZLES])
def test_a_case_expects_what_was_handed_or_says_why_not(case: Case, shared: Path) -> None:
    original = handed(shared / "cases" / "puzzles")[case.id]
    assert (case.kind, case.confidence) == (original["kind"], original["confidence"])
    assert case.source == original["source_url"]
    ours = [(check.bound, check.value) for check in case.checks]
    for expectation in original["expect"]:
        if expectation["metric"] in case.omitted:
            continue
        for bound in bounds_in(expectation):
            assert bound in ours, f"{case.id}: handed {expectation['metric']} {bound} is not checked; ours: {ours}"
            ours.remove(bound)


def numbers_in(text: str) -> set[float]:
    return {float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in MEASUREMENTS])
def test_a_measurement_is_compared_with_its_published_figure_and_tolerance(case: Case, shared: Path) -> None:
    original = handed(shared / "cases" / "measured")[case.id]
    figures = {check.measured for check in case.checks if isinstance(check.measured, int | float)}
    for observed in original["observed"]:
        if isinstance(observed["value"], int | float) and observed["metric"] not in case.omitted:
            told_of_it = {float(observed["value"])} | numbers_in(str(observed["note"]))
            assert figures & told_of_it, (
                f"{case.id}: nothing is compared with {observed['metric']} = {observed['value']}"
            )
    for number in figures:
        assert number in numbers_in(str(original)), f"{case.id}: {number} is not in the published case"
    for check in case.checks:
        widths = {
            width
            for observed in original["observed"]
            if check.bound == "between" and not check.departs
            for width in widths_of(observed, check)
        }
        if widths:
            low, high = check.value
            assert any(
                low == pytest.approx(check.measured - width, rel=1e-3)
                and high == pytest.approx(check.measured + width, rel=1e-3)
                for width in widths
            ), f"{case.id}: {check.metric} {check.value} is not {check.measured} within {widths}"


def widths_of(observed: dict[str, Any], check: Check) -> set[float]:
    """The published tolerance of a figure, in its unit; none where it is given in words."""
    found = re.fullmatch(r"([\d.]+)(%?)", str(observed["tolerance"]))
    is_same = isinstance(observed["value"], int | float) and observed["value"] == check.measured
    if not found or not is_same:
        return set()
    width = float(found[1])
    return {width / 100 * float(observed["value"]) if found[2] else width}
