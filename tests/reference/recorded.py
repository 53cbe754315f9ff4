"""Results whose records are written by hand, without a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

import numpy as np

from sim.names import Dimension, Limit
from sim.results.outcome import PatternFacts
from sim.results.prices import load_sheet
from sim.results.recorder import Recorder, TimeGrid
from sim.results.result import Result
from sim.scenario import Scenario


def recorded(scenario: Scenario, resources: Sequence[str] = ("table",), capacity: float = 100.0) -> Result:
    """A result in which nothing has happened yet; its recorder takes what should have."""
    start = scenario.start.astimezone(UTC)
    offset_s = start.second + start.microsecond / 1e6
    grid = TimeGrid(scenario.duration, scenario.tick, scenario.period, offset_s)
    recorder = Recorder(grid, resources, [traffic.name for traffic in scenario.traffic])
    for record in recorder.resources.values():
        record.partition_counts.append((0.0, 1))
        for lane in record.lanes.values():
            lane.capacity.append((0.0, capacity))
            lane.warm.append((0.0, capacity))
    facts: Mapping[str, PatternFacts] = {t.name: PatternFacts({}, None) for t in scenario.traffic}
    return Result(scenario, recorder, facts, load_sheet(scenario.prices))


def throttle(
    result: Result,
    at_s: float,
    events: float,
    *,
    resource: str = "table",
    dimension: Dimension = Dimension.WRITE,
    limit: Limit = Limit.KEY_RANGE,
) -> None:
    """So many throttle events in the tick that begins at a second."""
    lane = result.resources[resource].lanes[dimension]
    tick = round(at_s / result.grid.tick_s)
    lane.add_throttles(tick, np.array([0]), limit, np.array([[float(events)]]))


def consume(
    result: Result, per_second: Sequence[float], *, resource: str = "table", dimension: Dimension = Dimension.WRITE
) -> None:
    """Units consumed in each tick from second 0 on."""
    units = np.array(per_second, dtype=float)
    result.resources[resource].lanes[dimension].add_units(0, units, units)


def add(result: Result, pattern: str, at_s: float, **counts: Any) -> None:
    """What a pattern's columns count in the tick that begins at a second."""
    tick = round(at_s / result.grid.tick_s)
    result.traffic[pattern].add(tick, **{name: np.array([float(count)]) for name, count in counts.items()})
