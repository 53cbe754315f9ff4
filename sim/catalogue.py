"""Named scenarios, designs and workloads: whatever installed packages offer under the entry point group ``ddbsim.scenarios``.

The engine knows none of them. A package that offers some names an object of the shape of `Collection` in its pyproject.toml::

    [project.entry-points."ddbsim.scenarios"]
    ours = "our_package.catalogue:CATALOGUE"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol, TypeAlias

from sim.errors import Problem, ScenarioError
from sim.scenario import Scenario
from sim.scenario.base import choices

GROUP = "ddbsim.scenarios"

Kind: TypeAlias = Literal["scenario", "design", "workload"]


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One thing that a collection offers.

    Attributes
    ----------
    kind : a scenario runs as it is; a design runs under a workload.
    name : as the command line has it; differs from the names of all others of its kind.
    shows : ids under which it is listed, such as ``"S-BUCKET"``.
    says : one sentence: the claim that it shows, or what it is.
    title : a few words, for a line that has room for no more. "": the beginning of ``says``.
    """

    kind: Kind
    name: str
    shows: tuple[str, ...]
    says: str
    title: str = ""


class Collection(Protocol):
    """What an entry point names."""

    def listed(self) -> Sequence[Listed]:
        """All that there is, in the order in which it is told."""

    def text(self, name: str) -> str:
        """TOML of a named scenario. Paths in it would count from the working directory, so it has none."""

    def under(self, design: str, workload: str) -> Scenario:
        """A design under a workload."""


@cache
def collections() -> tuple[Collection, ...]:
    """The collections of all installed packages, in the order of their entry points' names.

    Raises
    ------
    ScenarioError
        An installed package names an object that cannot be imported.
    """
    from importlib import metadata  # which imports a mail parser: not for whoever only imports sim

    found: list[Collection] = []
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            found.append(point.load())
        except (ImportError, AttributeError) as error:
            message = f"the entry point {point.name} in group {GROUP} cannot be loaded: {error}"
            raise ScenarioError([Problem(source=point.value, path="", message=message)]) from None
    return tuple(found)


def listed(kind: Kind | None = None) -> list[Listed]:
    """All that the collections offer, or what is of one kind."""
    return [row for one in collections() for row in one.listed() if kind in (None, row.kind)]


def find(kind: Kind, name: str) -> Listed | None:
    """What is called so, or is the only one of its kind that is listed under this id; None where there is no such thing."""
    return next((row for _, row in _called(kind, name)), None)


def scenario_text(name: str) -> str:
    """TOML of a named scenario, as its file has it.

    Raises
    ------
    ScenarioError
        No collection has one of this name, or several are listed under this id.
    """
    owner, row = _found("scenario", name)
    return owner.text(row.name)


def under(design: str, workload: str) -> Scenario:
    """A named design under a named workload.

    Raises
    ------
    ScenarioError
        One of them is not known; all problems at once.
    """
    problems: list[Problem] = []
    pair: list[tuple[Collection, Listed]] = []
    kinds: tuple[tuple[Kind, str], ...] = (("design", design), ("workload", workload))
    for kind, name in kinds:
        try:
            pair.append(_found(kind, name))
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)
    (owner, found), (other, asked) = pair
    if owner is not other:
        message = (
            f"is a workload of another package than the design {found.name}; only those of one package go together"
        )
        raise ScenarioError([Problem(source=workload, path="", message=message)])
    return owner.under(found.name, asked.name)


def _offered(kind: Kind) -> list[tuple[Collection, Listed]]:
    return [(one, row) for one in collections() for row in one.listed() if row.kind == kind]


def _called(kind: Kind, name: str) -> list[tuple[Collection, Listed]]:
    """What is called so; or what is listed under this id, if it is the only one."""
    rows = _offered(kind)
    by_name = [pair for pair in rows if pair[1].name == name]
    by_id = [pair for pair in rows if name.upper() in pair[1].shows]
    return by_name or (by_id if len(by_id) == 1 else [])


def _found(kind: Kind, name: str) -> tuple[Collection, Listed]:
    for pair in _called(kind, name):
        return pair
    names = [row.name for _, row in _offered(kind)]
    shown_by = [row.name for _, row in _offered(kind) if name.upper() in row.shows]
    if shown_by:
        message = f"is shown by several {kind}s; name one"
        raise ScenarioError([Problem(source=name, path="", message=message, hint=", ".join(shown_by))])
    hint = choices(name, names) if names else f"no installed package offers {kind}s"
    raise ScenarioError([Problem(source=name, path="", message=f"no {kind} of this name", hint=hint)])
