"""What a row of the project's promises is: an id, what shows it, and figures that a run must measure.

Rows stand in the modules beside this one, by family. `tests/test_mission.py` runs them all, `python tests/mission_table.py` prints the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import models
import sim


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number that a run measured, beside what theory or a source says of it.

    Attributes
    ----------
    what : what was measured, with its unit.
    least, most : the measured value lies between them, both included.
    why : where they come from: the derivation, a fact's id, a law and its tolerance.
    """

    what: str
    value: float
    least: float
    most: float
    why: str

    @property
    def holds(self) -> bool:
        """Whether the value lies where it must."""
        return self.least <= self.value <= self.most


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row.

    Attributes
    ----------
    id : as the mission has it.
    model : what of `models` it is built of: a design, a workload, or "scenario" where the file says it all.
    scenarios : names of the scenarios that show it, the main one first.
    measure : runs them and returns the figures.
    """

    id: str
    model: str
    scenarios: tuple[str, ...]
    measure: Callable[[], tuple[Figure, ...]]

    @property
    def claim(self) -> str:
        """The claim of the main scenario."""
        return next(one.claim for one in models.scenarios.named() if one.name == self.scenarios[0])


@cache
def _run(name: str, overrides: tuple[tuple[str, str], ...]) -> sim.Result:
    return sim.run(sim.with_overrides(models.scenarios.load(name), overrides))


def run(name: str, overrides: Mapping[str, Any] | None = None) -> sim.Result:
    """A named scenario's result, each run only once; ``overrides`` are TOML texts by key path, ``{"seed": "3"}``."""
    return _run(name, tuple((path, str(value)) for path, value in (overrides or {}).items()))


def exactly(what: str, value: float, right: float, why: str, *, within: float = 0.0) -> Figure:
    """A figure that is known, to a tolerance that is given in the figure's own unit."""
    return Figure(what=what, value=value, least=right - within, most=right + within, why=why)
