"""Named scenarios, designs and workloads: whatever installed packages offer under the entry point group ``ddbsim.scenarios``.

The engine knows none of them. A package that offers some names an object of the shape of `Collection` in its pyproject.toml::

    [project.entry-points."ddbsim.scenarios"]
    ours = "our_package.catalogue:CATALOGUE"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar, get_args

from sim.errors import Problem, ScenarioError
from sim.scenario import Scenario
from sim.scenario.base import choices

if TYPE_CHECKING:
    from importlib import metadata

GROUP = "ddbsim.scenarios"

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")

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


@dataclass(frozen=True)
class _Offer:
    """One collection, the entry point that names it, and what it lists."""

    owner: Collection
    point: str
    rows: tuple[Listed, ...]


def problems() -> tuple[Problem, ...]:
    """What is wrong with the collections of installed packages; those that are sound are used all the same."""
    return _offers()[1]


@cache
def _offers() -> tuple[tuple[_Offer, ...], tuple[Problem, ...]]:
    """The sound collections of all installed packages, ours first, then by the names of their entry points; and what is wrong with others.

    A name that an earlier collection has for something of the same kind is left out of a later one.
    """
    from importlib import metadata  # which imports a mail parser: not for whoever only imports sim

    offers: list[_Offer] = []
    wrong: list[Problem] = []
    taken: set[tuple[Kind, str]] = set()
    points = metadata.entry_points(group=GROUP)
    for point in sorted(points, key=lambda point: (not _is_ours(point), point.name, point.value)):
        try:
            owner = point.load()
            rows = tuple(owner.listed())
        except KeyboardInterrupt:
            raise
        except (
            BaseException
        ) as error:  # whatever a package of others does when it is imported, a sys.exit too, is no fault of ours
            why = f"{type(error).__name__}: {error}"
            message = f"the entry point {point.name} in group {GROUP} (MODULE:OBJECT) cannot be used: {why}"
            wrong.append(Problem(source=point.value, path="", message=message))
            continue
        sound = []
        for row in rows:
            complaint = _complaint(row)
            if not complaint and (row.kind, row.name) in taken:
                complaint = "another package has one of this name"
            if complaint:
                message = f"lists {getattr(row, 'name', row)!r}, which is left out: {complaint}"
                wrong.append(Problem(source=point.value, path="", message=message))
            else:
                taken.add((row.kind, row.name))
                sound.append(row)
        offers.append(_Offer(owner, point.value, tuple(sound)))
    return tuple(offers), tuple(wrong)


def _is_ours(point: metadata.EntryPoint) -> bool:
    return point.dist is not None and point.dist.name == "ddbsim"


def _complaint(row: object) -> str:
    """What is wrong with a row of another package's; "" where nothing is."""
    if not isinstance(row, Listed):
        return "it is no sim.Listed"
    if row.kind not in get_args(Kind):
        return f"there is no kind {row.kind!r}"
    if not isinstance(row.name, str) or not _NAME.fullmatch(row.name):
        return "a name is letters, digits, - and _"
    texts = (row.says, row.title, *row.shows) if isinstance(row.shows, tuple) else (None,)
    return (
        "" if all(isinstance(text, str) for text in texts) else "says and title must be texts, shows a tuple of texts"
    )


def listed(kind: Kind | None = None) -> list[Listed]:
    """All that the collections offer, or what is of one kind: scenarios, designs, workloads."""
    kinds = get_args(Kind) if kind is None else (kind,)
    return [row for one in kinds for offer in _offers()[0] for row in offer.rows if row.kind == one]


def partners(row: Listed) -> list[Listed]:
    """What a design or a workload goes together with: the other kind of its own package."""
    other = {"design": "workload", "workload": "design"}.get(row.kind)
    return [one for offer in _offers()[0] if row in offer.rows for one in offer.rows if one.kind == other]


def is_shown_by(name: str, row: Listed) -> bool:
    """Whether this is one of the ids that something is listed under; ids are the same in capitals and without."""
    return name.casefold() in (id_.casefold() for id_ in row.shows)


def find(kind: Kind, name: str) -> Listed | None:
    """What is called so, or is the only one of its kind that is listed under this id; None where there is no such thing."""
    return next((row for _, row in _called(kind, name)), None)


def scenario_text(name: str) -> str:
    """TOML of a named scenario, as its file has it.

    Raises
    ------
    ScenarioError
        No collection has one of this name, several are listed under this id, or its package does not give its text.
    """
    offer, row = _found("scenario", name)
    return _given(offer, row.name, str, lambda: offer.owner.text(row.name))


def under(design: str, workload: str) -> Scenario:
    """A named design under a named workload of the same package.

    Raises
    ------
    ScenarioError
        One of them is not known, all problems at once; or they are of different packages.
    """
    wrong: list[Problem] = []
    offers: list[_Offer] = []
    names: list[str] = []
    kinds: tuple[tuple[Kind, str], ...] = (("design", design), ("workload", workload))
    for kind, name in kinds:
        try:
            offer, row = _found(kind, name)
        except ScenarioError as error:
            wrong += error.problems
        else:
            offers.append(offer)
            names.append(row.name)
    if wrong:
        raise ScenarioError(wrong)
    owner, other = offers
    if owner is not other:
        message = f"is a workload of another package than the design {names[0]}; only those of one package go together"
        raise ScenarioError([Problem(source=workload, path="", message=message)])
    return _given(owner, " under ".join(names), Scenario, lambda: owner.owner.under(names[0], names[1]))


def _given(offer: _Offer, what: str, kind: type[T], make: Callable[[], T]) -> T:
    """What a package gives when it is asked; whatever goes wrong there is told as that package's."""
    try:
        made = make()
        message = f"{what} is no {kind.__name__} but a {type(made).__name__}"
        if isinstance(made, kind):
            return made
    except ScenarioError:
        raise
    except Exception as error:
        message = f"{what} cannot be had: {type(error).__name__}: {error}"
    raise ScenarioError([Problem(source=offer.point, path="", message=message)])


def _called(kind: Kind, name: str) -> list[tuple[_Offer, Listed]]:
    """What is called so; or what is listed under this id, if it is the only one."""
    rows = [(offer, row) for offer in _offers()[0] for row in offer.rows if row.kind == kind]
    by_name = [pair for pair in rows if pair[1].name == name]
    by_id = [pair for pair in rows if is_shown_by(name, pair[1])]
    return by_name or (by_id if len(by_id) == 1 else [])


def _found(kind: Kind, name: str) -> tuple[_Offer, Listed]:
    for pair in _called(kind, name):
        return pair
    shown_by = [row.name for row in listed(kind) if is_shown_by(name, row)]
    if shown_by:
        message = f"is shown by several {kind}s; name one"
        raise ScenarioError([Problem(source=name, path="", message=message, hint=", ".join(shown_by))])
    others = [row.kind for row in listed() if row.name == name]
    names = [row.name for row in listed(kind)]
    hint = choices(name, names) if names else f"no installed package offers {kind}s"
    message = f"is a {others[0]}, no {kind}" if others else f"no {kind} of this name"
    raise ScenarioError([Problem(source=name or "''", path="", message=message, hint=hint), *problems()])
