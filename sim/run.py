"""One run: makes the clock, wires traffic, mechanisms and control plane together, and returns what was found."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import simpy

from sim.control.plane import ControlPlane
from sim.control.splitting import note_capacity
from sim.errors import Problem, ScenarioError
from sim.keyspace.building import KeySpace, KeySpec
from sim.keyspace.cutting import Load
from sim.keyspace.sizing import initial_partitions
from sim.levels.demand import Demand, demand_of
from sim.levels.flow import STRETCH_TICKS, FlowLevel
from sim.levels.request import RequestLevel
from sim.limits import ON_DEMAND_HEADROOM_FACTOR, ON_DEMAND_INITIAL_READ_PER_S, ON_DEMAND_INITIAL_WRITE_PER_S
from sim.names import TABLE, Dimension, Level, Mode
from sim.partitions.admission import Capacity
from sim.partitions.map import PartitionMap
from sim.partitions.resource import Resource
from sim.results.invoice import check_prices
from sim.results.log import AttemptLog
from sim.results.outcome import PatternFacts, QueryFacts
from sim.results.prices import PriceSheet, load_sheet
from sim.results.recorder import PartitionRecord, Recorder, TimeGrid
from sim.results.result import Result
from sim.scenario import Scenario, load, refuse_unsimulated
from sim.scenario.base import counted

Progress = Callable[[float], None]

_BYTES_PER_TICK = 100  # `LaneRecord`, both dimensions
_BYTES_PER_CELL = 64  # `Binned`, four of them, grown by doubling
_MEMORY_MAX_BYTES = 4 * 2**30


def run(
    scenario: Scenario | str | Path,
    *,
    progress: Progress | None = None,
    stretch_ticks: int = STRETCH_TICKS,
    log: str | Path | bool = False,
) -> Result:
    """Run a scenario from second 0 to its end.

    Parameters
    ----------
    scenario : the scenario, or the path of its file.
    progress : called now and then with the fraction of simulated time that has passed, 0 to 1; changes nothing.
    stretch_ticks : ticks that are drawn at a time; changes speed and memory, never the result.
    log : path of a CSV file to which every attempt is written while the run goes (request level); True keeps that log in memory, about
        50 bytes an attempt. `Result.log` reads it back.

    Raises
    ------
    ScenarioError
        The scenario asks for something that this version does not simulate, or a log is asked of a level without attempts.
    """
    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    sheet = check(scenario)
    if log is False:
        return _simulate(scenario, sheet, progress, stretch_ticks, None)
    if scenario.level is not Level.REQUEST:
        message = "a log has a row for each attempt, and only the request level knows single attempts"
        hint = 'level = "request" does'
        raise ScenarioError(
            [Problem(source="scenario", path="level", message=message, value=str(scenario.level), hint=hint)]
        )
    with AttemptLog(None if log is True else Path(log)) as attempts:
        return _simulate(scenario, sheet, progress, stretch_ticks, attempts)


def _simulate(
    scenario: Scenario, sheet: PriceSheet, progress: Progress | None, stretch_ticks: int, log: AttemptLog | None
) -> Result:
    grid = TimeGrid(scenario.duration, scenario.tick, scenario.period)
    demands = [demand_of(scenario, traffic) for traffic in scenario.traffic]
    recorder = Recorder(grid, [TABLE], [d.traffic.name for d in demands])
    specs = sorted({leg.spec for d in demands for leg in d.legs if leg.spec is not None}, key=repr)
    keyspace = KeySpace(scenario, specs)
    resource = _table(scenario)
    resource.store(scenario.table.storage_bytes or 0.0, _stored(demands, keyspace))
    record = recorder.resources[TABLE]
    record.initial_partitions = len(resource.partitions)
    note_capacity(resource, recorder, 0.0)

    env = simpy.Environment()
    key_names: dict[int, str] = {}
    level: FlowLevel | RequestLevel
    if scenario.level is Level.REQUEST:
        level = RequestLevel(scenario, demands, resource, keyspace, recorder, key_names, log=log)
    else:
        level = FlowLevel(scenario, demands, resource, keyspace, recorder, key_names, stretch_ticks=stretch_ticks)
    control = ControlPlane(env, resource, recorder, key_names)
    env.process(control.watch())
    rollovers = sorted({at_s for spec in specs for at_s in keyspace.rollovers_s(spec)})
    if rollovers:
        env.process(_roll_over(env, rollovers, level))
    end = env.process(_move_traffic(env, grid, level, progress))
    env.run(until=end)

    level.finish()
    control.finish()
    resource.partitions.assert_tiles()
    record.partitions = [
        PartitionRecord(life.number, life.parent, life.born_s, life.retired_s, life.range.low, life.range.high)
        for life in resource.partitions.lives
    ]
    facts = {d.traffic.name: _facts(d) for d in demands}
    start_bytes = float(scenario.table.storage_bytes or 0.0)
    mean_bytes = (start_bytes + float(resource.stored_bytes.sum())) / 2 if resource.has_grown else start_bytes
    return Result(scenario, recorder, facts, sheet, {TABLE: mean_bytes}, attempt_log=log)


def check(scenario: Scenario) -> PriceSheet:
    """Find out what would stop a run before it starts; returns the price sheet of its bill.

    Raises
    ------
    InputError
        The scenario asks for something that this version does not simulate, for a price sheet that cannot be read or lacks a price that
        the bill needs, for a partition that the table does not have, or for more memory than a run should take.
    """
    refuse_unsimulated(scenario)
    sheet = load_sheet(scenario.prices, folder=Path(scenario.base_dir))
    partitions = _initial_partitions(scenario)
    _check_pinned_patterns(scenario, partitions)
    grid = TimeGrid(scenario.duration, scenario.tick, scenario.period)
    needed_bytes = grid.ticks * _BYTES_PER_TICK + grid.periods * partitions * _BYTES_PER_CELL
    if needed_bytes > _MEMORY_MAX_BYTES:
        message = f"{grid.ticks:,} ticks and {grid.periods:,} periods × {partitions:,} partitions would take {needed_bytes / 2**30:.1f} GB"
        hint = "a longer period or tick, a shorter duration or fewer partitions need less"
        raise ScenarioError([Problem(source="scenario", path="period", message=message, hint=hint)])
    check_prices(scenario, sheet)  # what the sheet cannot price is said now, not after the run
    return sheet


def _move_traffic(
    env: simpy.Environment, grid: TimeGrid, level: FlowLevel | RequestLevel, progress: Progress | None
) -> Generator[simpy.Event, Any, None]:
    """The data plane: takes the whole stretch until the next event that anyone has scheduled, then lets the clock follow."""
    tick = 0
    while tick < grid.ticks:
        until_s = min(env.peek(), grid.duration_s)
        # An event inside a tick takes effect at the tick's end.
        last = min(grid.ticks, max(tick, int(-(-(until_s - 1e-9) // grid.tick_s))))
        if last > tick:
            level.advance(tick, last)
            tick = last
            if progress is not None:
                progress(tick / grid.ticks)
        yield env.timeout(max(0.0, min(tick * grid.tick_s, grid.duration_s) - env.now))


def _roll_over(
    env: simpy.Environment, times_s: Sequence[float], level: FlowLevel | RequestLevel
) -> Generator[simpy.Event, Any, None]:
    for at_s in times_s:
        yield env.timeout(at_s - env.now)
        level.roll_over(float(env.now))


def _table(scenario: Scenario) -> Resource:
    """The base table as it stands at second 0."""
    table, account = scenario.table, scenario.account
    on_demand = table.mode is Mode.ON_DEMAND
    count = _initial_partitions(scenario)
    capacity = {
        Dimension.READ: Capacity(
            provisioned=table.read_capacity,
            quota=account.table_read if on_demand else None,
            maximum=table.max_read,
            burst_fraction=table.burst_at_start,
        ),
        Dimension.WRITE: Capacity(
            provisioned=table.write_capacity,
            quota=account.table_write if on_demand else None,
            maximum=table.max_write,
            burst_fraction=table.burst_at_start,
        ),
    }
    floor = (ON_DEMAND_INITIAL_READ_PER_S, ON_DEMAND_INITIAL_WRITE_PER_S) if on_demand else (0, 0)
    room = ON_DEMAND_HEADROOM_FACTOR
    warm = {
        Dimension.READ: max(
            floor[0], table.warm_read or 0.0, room * (table.previous_peak_read or 0.0), table.read_capacity or 0.0
        ),
        Dimension.WRITE: max(
            floor[1], table.warm_write or 0.0, room * (table.previous_peak_write or 0.0), table.write_capacity or 0.0
        ),
    }
    return Resource(
        name=TABLE,
        mode=table.mode,
        policy=scenario.admission,
        capacity=capacity,
        calibration=scenario.calibration,
        partitions=PartitionMap.equal(count),
        pinned=bool(table.lsi),
        warm_per_s={dimension: float(value) for dimension, value in warm.items()},
    )


def _initial_partitions(scenario: Scenario) -> int:
    table = scenario.table
    return table.partitions or initial_partitions(
        mode=table.mode,
        read_capacity=table.read_capacity or 0.0,
        write_capacity=table.write_capacity or 0.0,
        warm_read=table.warm_read or 0.0,
        warm_write=table.warm_write or 0.0,
        previous_peak_read=table.previous_peak_read or 0.0,
        previous_peak_write=table.previous_peak_write or 0.0,
        storage_bytes=table.storage_bytes or 0.0,
    )


def _check_pinned_patterns(scenario: Scenario, partitions: int) -> None:
    problems = [
        Problem(
            source="scenario",
            path=f"traffic[{index}].partition",
            message=f"the table starts with {counted(partitions, 'partition')}, numbered "
            + ("0" if partitions == 1 else f"0 to {partitions - 1}"),
            value=str(traffic.partition),
        )
        for index, traffic in enumerate(scenario.traffic)
        if traffic.partition is not None and traffic.partition >= partitions
    ]
    if problems:
        raise ScenarioError(problems)


def _stored(demands: Sequence[Demand], keyspace: KeySpace) -> list[Load]:
    """Where the table's data lies: like the keys of its patterns, each as heavy as its items."""
    specs: dict[KeySpec, float] = {}
    for demand in demands:
        for leg in demand.legs:
            if leg.spec is not None and demand.traffic.partition is None:
                specs[leg.spec] = max(specs.get(leg.spec, 0.0), float(demand.traffic.item_bytes))
    return [(keyspace.spread(spec, 0.0).stored(), weight) for spec, weight in sorted(specs.items(), key=repr)]


def _facts(demand: Demand) -> PatternFacts:
    query = demand.query
    units = {dimension: 0.0 if demand.invalid else demand.units_per_request(dimension) for dimension in Dimension}
    return PatternFacts(
        {TABLE: units},
        None
        if query is None
        else QueryFacts(
            query.pages, query.scanned, query.returned, query.empty_pages, query.units_p50, query.units_p99
        ),
    )
