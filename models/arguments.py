"""Which design and which workload are meant: themselves or their names; a slip is told for what it probably is."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from models.designs import DESIGNS, Design
from models.values import shown
from models.workloads import WORKLOADS, Workload


@dataclass(frozen=True, kw_only=True)
class _Family:
    """What an argument may be of: designs or workloads."""

    noun: str
    type: type[Design] | type[Workload]
    made: Mapping[str, Callable[..., Any]]
    module: str
    example: str


_DESIGNS = _Family(noun="design", type=Design, made=DESIGNS, module="designs", example="good-user")
_WORKLOADS = _Family(noun="workload", type=Workload, made=WORKLOADS, module="workloads", example="flash-sale")
_ORDER = "a design comes first, the workload after it"


def a_design(place: str, value: Design | str) -> Design:
    """A design, or the one of this name with its default parameters.

    Parameters
    ----------
    place : what the argument is called, in messages.

    Raises
    ------
    ValueError
        No design is called so.
    TypeError
        It is something else: a workload, a function that is not called, several.
    """
    found = _one(_DESIGNS, _WORKLOADS, place, value)
    assert isinstance(found, Design)
    return found


def a_workload(place: str, value: Workload | str) -> Workload:
    """A workload, or the one of this name. Arguments and errors are those of `a_design`."""
    found = _one(_WORKLOADS, _DESIGNS, place, value)
    assert isinstance(found, Workload)
    return found


def labelled(value: Iterable[Design | str] | Mapping[str, Design | str]) -> dict[str, Design]:
    """Several designs by label: their own titles, where none are given.

    Raises
    ------
    ValueError
        There are none, two have the same title, a label is no text or an empty one, or no design has a name that is given.
    TypeError
        It is one design, a workload, or no collection at all; or one in it is no design.
    """
    if isinstance(value, Mapping):
        for label in value:
            if not isinstance(label, str) or not label.strip():
                raise ValueError(f"designs: labels must be texts that are not empty; {shown(label)} is none")
        found = {str(label): a_design(f"designs[{shown(label)}]", one) for label, one in value.items()}
    else:
        found = _by_title([a_design(f"designs[{number}]", one) for number, one in enumerate(_several(value))])
    if not found:
        raise ValueError("designs: there are none; give at least one, [designs.good_user(), …]")
    return found


def _several(value: Any) -> list[Any]:
    if isinstance(value, Workload):
        raise TypeError(f"designs is the workload {value.name}: a list of designs comes first, the workload after it")
    if isinstance(value, Design | str) or callable(value):
        one = f"the design {value.name}" if isinstance(value, Design) else shown(value)
        raise TypeError(f"designs is {one} alone: give a list, [designs.good_user(), …], of one or more")
    try:
        return list(value)
    except TypeError:
        must = "must be a list of designs, [designs.good_user(), …], or a mapping of labels to designs"
        raise TypeError(f"designs = {shown(value)}: {must}") from None


def _by_title(designs: list[Design]) -> dict[str, Design]:
    titles = [design.title for design in designs]
    twice = sorted({title for title in titles if titles.count(title) > 1})
    if twice:
        raise ValueError(f"two designs are called {twice[0]}: give labels, {{label: design, ...}}")
    return dict(zip(titles, designs, strict=True))


def _one(wanted: _Family, other: _Family, place: str, value: Any) -> Any:
    if isinstance(value, wanted.type):
        return value
    if isinstance(value, str):
        if value in wanted.made:
            return wanted.made[value]()
        if value in other.made:
            raise TypeError(f"{place} = {shown(value)}: is a {other.noun}: {_ORDER}")
        near = difflib.get_close_matches(value[:200].lower(), wanted.made, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        names = ", ".join(wanted.made)
        raise ValueError(f"{place} = {shown(value)}: no {wanted.noun} has this name — {hint}There are: {names}")
    if isinstance(value, other.type):
        raise TypeError(f"{place} is the {other.noun} {value.name}: {_ORDER}")
    for family in (wanted, other):
        for made in family.made.values():
            if value is made:
                what = f"{family.module}.{made.__name__}"
                also = "" if family is wanted else f"; and {_ORDER}"
                raise TypeError(f"{place}: {what} is a function: call it, {what}(){also}")
    must = f"must be a {wanted.noun}, such as {wanted.module}.{wanted.made[wanted.example].__name__}()"
    must += f", or the name of one, {wanted.example!r}"
    if callable(value) and not isinstance(value, type):
        must += f"; it is a function: if it makes a {wanted.noun}, call it"
    elif isinstance(value, list | tuple | Mapping):
        must += "; several designs are put side by side by models.compare([…], workload)" if wanted is _DESIGNS else ""
    raise TypeError(f"{place} = {shown(value)}: {must}")
