"""Named scenarios: TOML files, each with the claim that it shows as its description and the ids that it is listed under in `shows`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import sim


@dataclass(frozen=True, kw_only=True)
class Named:
    """A named scenario.

    Attributes
    ----------
    name : of its file, without ending.
    shows : ids under which it is listed.
    claim : what a run shows, in a sentence or two.
    title : of the scenario.
    """

    name: str
    shows: tuple[str, ...]
    claim: str
    title: str


@cache
def named() -> Sequence[Named]:
    """All named scenarios, by their first id, then by name."""
    found = []
    for file in files(__package__).iterdir():
        if file.name.endswith(".toml"):
            name = file.name.removesuffix(".toml")
            document = tomllib.loads(text(name))
            claim = " ".join(str(document["description"]).split())
            found.append(Named(name=name, shows=tuple(document["shows"]), claim=claim, title=document["title"]))
    return tuple(sorted(found, key=lambda one: (one.shows, one.name)))


def text(name: str) -> str:
    """TOML of a named scenario, as its file has it.

    Raises
    ------
    KeyError
        There is none of this name.
    """
    file = files(__package__) / f"{name}.toml"
    if not file.is_file():
        raise KeyError(f"no scenario {name!r}; there are: {', '.join(one.name for one in named())}")
    return file.read_text(encoding="utf-8")


def load(name: str) -> sim.Scenario:
    """A named scenario. Errors are those of `text`."""
    return sim.loads(text(name), f"{name}.toml")
