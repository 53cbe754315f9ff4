"""What the command line is given: scenarios by file or by name, changes of them, shares and pairs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sim.cli.messages import wrong
from sim.errors import InputError, Problem, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sim.scenario import Scenario


def read_scenario(
    given: Path, workload: str | None = None, overrides: Iterable[tuple[str, str]] = (), without: Iterable[str] = ()
) -> Scenario:
    """A scenario by its file, or by its name where there is no such file; with a workload, the design of this name under it."""
    from sim import catalogue
    from sim.scenario import load, loads

    name = str(given)
    if workload is None and (
        given.suffix or given.name != name or _is_there(given, catalogue.find("scenario", name) is None)
    ):
        try:
            return load(given, overrides=overrides, without=without)
        except ScenarioError as error:
            raise ScenarioError([_with_name_of(given, one) for one in error.problems]) from None
    return loads(text_of(name, workload, of_file=workload is None), name, None, overrides, without)


def _is_there(given: Path, or_folder: bool) -> bool:
    """Whether there is such a file, or at least a folder; what cannot be the name of a file is none."""
    try:
        return given.is_file() or (or_folder and given.exists())
    except OSError:
        return False


def _with_name_of(given: Path, problem: Problem) -> Problem:
    """A missing file's problem with a word on the scenario that is called so."""
    from sim import catalogue

    if problem.message != "no such file" or catalogue.find("scenario", given.stem) is None:
        return problem
    return replace(
        problem, hint=f"ddbsim run {given.stem} runs the named scenario, ddbsim new {given.stem} makes a file of it"
    )


def text_of(name: str, workload: str | None, *, of_file: bool = False) -> str:
    """TOML of a named scenario, or of a design under a workload; ``of_file``: it may have been meant as a file."""
    from sim import catalogue
    from sim.scenario.base import listed

    if workload is not None:
        from sim.scenario import dump

        return dump(catalogue.under(name, workload))
    if catalogue.find("scenario", name) is None and catalogue.find("design", name) is not None:
        workloads = listed(row.name for row in catalogue.listed("workload"))
        raise wrong(name, "is a design, which runs under a workload: name one with --workload", hint=workloads)
    known = catalogue.find("scenario", name) is not None
    try:
        return catalogue.scenario_text(name)
    except ScenarioError as error:
        if known or not of_file:
            raise
        first, *rest = error.problems
        missing = replace(
            first, message=f"no such file, and {first.message}", hint=f"{first.hint}; ddbsim models lists all"
        )
        raise ScenarioError([missing, *rest]) from None


def load_runnable(
    file: Path,
    settings: list[str] | None,
    seed: int | None,
    level: str | None,
    without_indexes: bool,
    without_autoscaling: bool,
    workload: str | None = None,
) -> Scenario:
    """A scenario that can be run, by file or by name."""
    from sim.run import check as check_run

    overrides = [pair("--set", text, "PATH=VALUE") for text in settings or ()]
    if seed is not None:
        overrides.append(("seed", str(seed)))
    if level is not None:
        overrides.append(("level", json.dumps(level)))
    without = {name for name, wanted in (("indexes", without_indexes), ("autoscaling", without_autoscaling)) if wanted}
    scenario = read_scenario(file, workload, overrides, without)
    try:
        check_run(scenario)
    except InputError as error:
        # A run does not know from which file its scenario came, nor what was changed in it.
        of_file = _told_of(file, workload, without) if overrides else set(error.problems)
        named = [
            replace(one, source=str(file) if one in of_file else "--set") if one.source == "scenario" else one
            for one in error.problems
        ]
        raise ScenarioError(named) from None
    return scenario


def _told_of(file: Path, workload: str | None, without: set[str]) -> set[Problem]:
    """What a run says of the file as it stands, with no value of it changed."""
    from sim.run import check as check_run

    try:
        check_run(read_scenario(file, workload, without=without))
    except InputError as error:
        return set(error.problems)
    return set()


def pair(option: str, text: str, shape: str) -> tuple[str, str]:
    """The two sides of an option such as NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise wrong(option, f"must be {shape}", value=text)
    return name.strip(), value.strip()


def share_of(text: str, option: str) -> float:
    """A share that is written as 1% or 0.01."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise wrong(option, "must be a share: from 0% to 100%, or from 0 to 1", value=text)
    return share


def check_minutes(scenario: Scenario) -> None:
    """Refuse ticks of which no minutes can be made."""
    from sim.scenario.metrics import divides_minutes

    if not divides_minutes(scenario.tick):
        message = f"metrics are made by the minute, and ticks of {scenario.tick:g} s do not divide one"
        raise wrong("--metrics", message, hint="--set tick=1")


def labels_of(files: list[Path]) -> list[str]:
    """File names without ending, as long as they differ; whole paths otherwise, numbered if even those repeat."""
    for name in (lambda file: file.stem, str):
        labels = [name(file) for file in files]
        if len(set(labels)) == len(labels):
            return labels
    return [f"{file} ({number})" for number, file in enumerate(files, start=1)]
