"""What a row of the project's promises is: an id, what shows it, and figures that a run must measure.

Rows stand in the modules beside this one, by family. `tests/test_mission.py` runs them all, `python tests/mission_table.py` prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import models
import sim
from sim.names import TABLE, Dimension
from sim.scenario.overrides import parse_value

READ, WRITE = Dimension.READ, Dimension.WRITE


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number that a run measured, beside what theory or a source says of it.

    Attributes
    ----------
    what : what was measured, with its unit.
    least, most : the measured value lies between them, both included.
    why : where they come from: the derivation, a fact's id, a law and its tolerance.
    is_answer : the value is 1 for yes and 0 for no.
    """

    what: str
    value: float
    least: float
    most: float
    why: str
    is_answer: bool = False

    @property
    def holds(self) -> bool:
        """Whether the value lies where it must; the arithmetic of a run carries about nine digits."""
        slack = 1e-9 * max(1.0, abs(self.least), abs(self.most))
        return self.least - slack <= self.value <= self.most + slack


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row.

    Attributes
    ----------
    id : as the mission has it.
    model : what of `models` it is built of: a design, a workload, or "scenario" where the file says it all.
    scenarios : names of the scenarios that show it, the main one first.
    measure : runs them and returns the figures.
    lacks : what of the row has no mechanism, "" where it is shown in full.
    """

    id: str
    model: str
    scenarios: tuple[str, ...]
    measure: Callable[[], tuple[Figure, ...]]
    lacks: str = ""

    @property
    def claim(self) -> str:
        """The claim of the main scenario."""
        return next(one.claim for one in models.scenarios.named() if one.name == self.scenarios[0])


@cache
def _run(name: str, overrides: tuple[tuple[str, str | None], ...]) -> sim.Result:
    values = {path: None if text is None else parse_value(text) for path, text in overrides}
    return sim.run(sim.with_overrides(models.scenarios.load(name), values))


def run(name: str, overrides: Mapping[str, Any] | None = None) -> sim.Result:
    """A named scenario's result, each run only once; ``overrides`` are TOML texts by key path, ``{"seed": "3"}``, None to take it away."""
    return _run(name, tuple((path, None if value is None else str(value)) for path, value in (overrides or {}).items()))


def exactly(what: str, value: float, right: float, why: str, *, within: float = 0.0) -> Figure:
    """A figure that is known, to a tolerance that is given in the figure's own unit."""
    return Figure(what=what, value=value, least=right - within, most=right + within, why=why)


def between(what: str, value: float, least: float, most: float, why: str) -> Figure:
    """A figure that is known to lie in a range."""
    return Figure(what=what, value=value, least=least, most=most, why=why)


# What one request took.


def per_request(
    result: sim.Result,
    dimension: Dimension,
    pattern: str,
    *,
    resources: tuple[str, ...] | None = None,
    followed_by: tuple[str, ...] = (),
) -> float:
    """Units that resources gave for each request of a pattern that was served, together with those of what follows it.

    Only these may use the resources, as a lane does not say for whom it gave what.

    Parameters
    ----------
    resources : ``"table"``, ``"index/NAME"``. None: all of them.
    followed_by : patterns that follow it.
    """
    where = set(result.resources if resources is None else resources)
    used_by = {
        name
        for name, facts in result.facts.items()
        if any(units.get(dimension) for resource, units in facts.units_per_request.items() if resource in where)
    }
    assert used_by <= {pattern, *followed_by}, f"{pattern} is not alone: {sorted(used_by)}"
    consumed = sum(float(result.resources[name].lanes[dimension].consumed_units.sum()) for name in where)
    return consumed / float(result.traffic[pattern].succeeded.sum())


# Measures of a part of a run: from one second to another, by the tick.


def served_per_s(
    result: sim.Result, first_s: float, end_s: float, *, dimension: Dimension = WRITE, resource: str = TABLE
) -> float:
    """Units a second that a resource gave."""
    return _units(result.resources[resource].lanes[dimension].consumed_units, result, first_s, end_s) / (
        end_s - first_s
    )


def refused(
    result: sim.Result, first_s: float, end_s: float, *, dimension: Dimension = WRITE, resource: str = TABLE
) -> float:
    """Share of the units asked of a resource that it did not give, in percent."""
    lane = result.resources[resource].lanes[dimension]
    asked = _units(lane.offered_units, result, first_s, end_s)
    return 100 * (1 - _units(lane.consumed_units, result, first_s, end_s) / asked)


def throttled_of(result: sim.Result, pattern: str) -> float:
    """Share of a pattern's attempts that were throttled, in percent."""
    record = result.traffic[pattern]
    return 100 * float(record.throttled.sum()) / float(record.attempts.sum())


def throttled(result: sim.Result) -> float:
    """Share of all attempts that were throttled, in percent."""
    return 100 * result.throttled_fraction


def reasons(result: sim.Result) -> set[tuple[str, str]]:
    """Who refused, and why."""
    return {(row.resource, row.reason) for row in result.throttles}


def first_s(result: sim.Result) -> float:
    """Second of the first throttle."""
    assert result.first_throttle_s is not None, "nothing was throttled"
    return result.first_throttle_s


def last_s(result: sim.Result) -> float:
    """Second of the last throttle."""
    assert result.last_throttle_s is not None, "nothing was throttled"
    return result.last_throttle_s


def yes(what: str, holds: bool, why: str) -> Figure:
    """Something that must be so."""
    return Figure(what=what, value=float(holds), least=1.0, most=1.0, why=why, is_answer=True)


def _units(per_tick: Any, result: sim.Result, first_s: float, end_s: float) -> float:
    tick_s = result.grid.tick_s
    return float(per_tick[round(first_s / tick_s) : round(end_s / tick_s)].sum())
