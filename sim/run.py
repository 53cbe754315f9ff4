"""One run: makes the clock, wires traffic, mechanisms and control plane together, and returns what was found."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from sim.control.capacity import start_capacity_control
from sim.control.gauges import Gauges
from sim.control.plane import ControlPlane
from sim.control.splitting import note_capacity
from sim.errors import Problem, ScenarioError
from sim.keyspace.building import KeySpace, KeySpec
from sim.keyspace.counting import keys_of
from sim.keyspace.cutting import Load
from sim.keyspace.sizing import initial_partitions
from sim.keyspace.spread import Spread, even
from sim.levels.cacheable import background_of, warn_of_uncached
from sim.levels.demand import Demand, demand_of, typical_item_bytes
from sim.levels.flow import STRETCH_TICKS, FlowLevel
from sim.limits import (
    MINUTE_S,
    ON_DEMAND_HEADROOM_FACTOR,
    ON_DEMAND_INITIAL_PER_S,
)
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
from sim.scenario import Gsi, Scenario, Table, load, refuse_unsimulated
from sim.scenario.base import counted
from sim.scenario.table import holders
from sim.units import storage_bytes

if TYPE_CHECKING:
    from sim.levels.request import RequestLevel

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
    grid = _grid(scenario)
    own = holders(scenario.table)
    resources = make_resources(scenario)
    partitions = {name: len(resource.partitions) for name, resource in resources.items()}
    demands = [demand_of(scenario, traffic, partitions) for traffic in scenario.traffic]
    behind = [background_of(scenario, traffic) for traffic in scenario.traffic]
    demands += [demand_of(scenario, traffic, partitions) for traffic in behind if traffic is not None]
    recorder = Recorder(grid, list(resources), [d.traffic.name for d in demands])
    warn_of_uncached(scenario, demands, recorder)
    specs = {spec for d in demands for leg in d.legs for spec in leg.specs}
    specs |= {tie.spec for d in demands for leg in d.legs for tie in leg.ties}
    collections = KeySpec(scenario.table.pk, scenario.table.sk)
    if scenario.table.collection_bytes:
        specs.add(collections)
    ordered = sorted(specs, key=repr)
    keyspace = KeySpace(scenario, ordered)
    for resource in resources.values():
        loads = _stored(demands, keyspace, resource.name)
        start = _bytes_of(scenario, own[resource.name])
        collected = _collected_bytes(scenario) if resource.name == TABLE else 0.0
        if collected:
            loads = _with_collections(loads, keyspace.spread(collections, 0.0), collected / start)
        resource.store(start, loads)
        recorder.resources[resource.name].initial_partitions = len(resource.partitions)
        note_capacity(resource, recorder, 0.0)

    env = simpy.Environment()
    key_names: dict[int, str] = {}
    level: FlowLevel | RequestLevel
    if scenario.level is Level.REQUEST:
        from sim.levels.request import RequestLevel  # where it is used, so that `import sim` stays quick

        level = RequestLevel(scenario, demands, resources, keyspace, recorder, key_names, log=log)
    else:
        level = FlowLevel(scenario, demands, resources, keyspace, recorder, key_names, stretch_ticks=stretch_ticks)
    planes = [ControlPlane(env, resource, recorder, key_names) for resource in resources.values()]
    for plane in planes:
        env.process(plane.watch())
    start_capacity_control(env, scenario, resources, recorder)
    gauges = Gauges(env, resources, recorder)
    env.process(gauges.watch())
    rollovers = sorted({at_s for spec in ordered for at_s in keyspace.rollovers_s(spec)})
    if rollovers:
        env.process(_call_at(env, rollovers, level.roll_over))
    if level.wakes_s:
        env.process(_call_at(env, level.wakes_s, level.wake))
    end = env.process(_move_traffic(env, grid, level, progress))
    env.run(until=end)

    level.finish()
    gauges.look()
    mean_bytes = {}
    for plane, resource in zip(planes, resources.values(), strict=True):
        plane.finish()
        resource.partitions.assert_tiles()
        recorder.resources[resource.name].partitions = [
            PartitionRecord(life.number, life.parent, life.born_s, life.retired_s, life.range.low, life.range.high)
            for life in resource.partitions.lives
        ]
        start = _bytes_of(scenario, own[resource.name])
        grown = max(-start, float(resource.stored_bytes.sum()) - start) if resource.has_grown else 0.0
        mean_bytes[resource.name] = start + grown / 2 * _billed_per_byte(scenario, own[resource.name])
    facts = {d.traffic.name: _facts(d, list(resources)) for d in demands}
    return Result(scenario, recorder, facts, sheet, mean_bytes, attempt_log=log)


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
    partitions = [_initial_partitions(scenario, own) for own in holders(scenario.table).values()]
    _check_pinned_patterns(scenario, partitions[0])
    grid = _grid(scenario)
    of_all = sum(partitions)
    needed_bytes = grid.ticks * _BYTES_PER_TICK * len(partitions) + grid.periods * of_all * _BYTES_PER_CELL
    if needed_bytes > _MEMORY_MAX_BYTES:
        message = f"{grid.ticks:,} ticks and {grid.periods:,} periods × {of_all:,} partitions would take {needed_bytes / 2**30:.1f} GB"
        hint = "a longer period or tick, a shorter duration or fewer partitions need less"
        raise ScenarioError([Problem(source="scenario", path="period", message=message, hint=hint)])
    check_prices(scenario, sheet)  # what the sheet cannot price is said now, not after the run
    return sheet


def _grid(scenario: Scenario) -> TimeGrid:
    offset_s = scenario.start.timestamp() % MINUTE_S  # of UTC: the epoch began with a minute
    return TimeGrid(scenario.duration, scenario.tick, scenario.period, offset_s)


def _move_traffic(
    env: simpy.Environment, grid: TimeGrid, level: FlowLevel | RequestLevel, progress: Progress | None
) -> Generator[simpy.Event, Any, None]:
    """The data plane: takes the whole stretch until the next event that anyone has scheduled, then lets the clock follow."""
    tick = 0
    while tick < grid.ticks:
        until_s = min(env.peek(), grid.duration_s)
        # An event inside a tick takes effect at the tick's end.
        last = min(grid.ticks, max(tick, int(-(-(until_s - 1e-9) // grid.tick_s))))
        wait_s = 0.0
        if last > tick:
            level.advance(tick, last)
            tick = last
            if progress is not None:
                progress(tick / grid.ticks)
        else:  # an event a rounding error after the tick's edge comes first, or nobody would ever come to it
            wait_s = until_s - env.now
        yield env.timeout(max(0.0, wait_s, min(tick * grid.tick_s, grid.duration_s) - env.now))


def _call_at(
    env: simpy.Environment, times_s: Sequence[float], act: Callable[[float], None]
) -> Generator[simpy.Event, Any, None]:
    for at_s in times_s:
        yield env.timeout(at_s - env.now)
        act(float(env.now))


def make_resources(scenario: Scenario) -> dict[str, Resource]:
    """The table and its global secondary indexes as they stand at second 0, by name, the table first."""
    return {name: _make_resource(scenario, own, name) for name, own in holders(scenario.table).items()}


def _make_resource(scenario: Scenario, own: Table | Gsi, name: str) -> Resource:
    """A table or an index: each has partitions, capacity and warm throughput of its own, and the table's mode (F-GSI-2)."""
    mode, account = scenario.table.mode, scenario.account
    on_demand = mode is Mode.ON_DEMAND
    capacity = {
        dimension: Capacity(
            provisioned=getattr(own, f"{dimension}_capacity"),
            quota=getattr(account, f"table_{dimension}") if on_demand else None,
            maximum=getattr(own, f"max_{dimension}"),
            burst_fraction=own.burst_at_start,
        )
        for dimension in Dimension
    }
    peaks = dict(zip((Dimension.READ, Dimension.WRITE), _previous_peaks(own), strict=True))
    warm = {
        dimension: max(
            ON_DEMAND_INITIAL_PER_S[dimension] if on_demand else 0.0,
            getattr(own, f"warm_{dimension}") or 0.0,
            ON_DEMAND_HEADROOM_FACTOR * peaks[dimension],
            capacity[dimension].provisioned or 0.0,
        )
        for dimension in Dimension
    }
    return Resource(
        name=name,
        mode=mode,
        policy=scenario.admission,
        capacity=capacity,
        calibration=scenario.calibration,
        partitions=PartitionMap.equal(_initial_partitions(scenario, own)),
        pinned=name == TABLE and bool(scenario.table.lsi),
        warm_per_s={dimension: float(value) for dimension, value in warm.items()},
        backlog_units=0.0 if name == TABLE else scenario.calibration.gsi_backlog_units,
    )


def _previous_peaks(own: Table | Gsi) -> tuple[float, float]:
    if isinstance(own, Gsi):  # the format knows none of an index
        return 0.0, 0.0
    return own.previous_peak_read or 0.0, own.previous_peak_write or 0.0


def _initial_partitions(scenario: Scenario, own: Table | Gsi) -> int:
    peak_read, peak_write = _previous_peaks(own)
    return own.partitions or initial_partitions(
        mode=scenario.table.mode,
        read_capacity=own.read_capacity or 0.0,
        write_capacity=own.write_capacity or 0.0,
        warm_read=own.warm_read or 0.0,
        warm_write=own.warm_write or 0.0,
        previous_peak_read=peak_read,
        previous_peak_write=peak_write,
        storage_bytes=_bytes_of(scenario, own),
    )


def _bytes_of(scenario: Scenario, own: Table | Gsi) -> float:
    """Bytes that lie in a table or index at second 0: an index holds an entry for each item that has its key."""
    stored = max(float(scenario.table.storage_bytes or 0.0), _collected_bytes(scenario))
    if not isinstance(own, Gsi) or not stored:
        return stored
    item = typical_item_bytes(scenario)
    return stored * own.present * (own.projected_bytes or item) / item


def _collected_bytes(scenario: Scenario) -> float:
    """Bytes of the table's item collections at second 0, as far as they are given one by one."""
    each = scenario.table.collection_bytes
    return 0.0 if not each else each * keys_of(scenario.table.pk, scenario.fields)


def _billed_per_byte(scenario: Scenario, own: Table | Gsi) -> float:
    """Bytes that storage is billed for, for each that is added: every item and index entry has its overhead (F-UNIT-16).

    Of what is there at second 0 the number of items is not given, so it is billed as it is.
    """
    item = typical_item_bytes(scenario)
    if isinstance(own, Gsi):
        item = float(own.projected_bytes or item)
    overhead = storage_bytes(1, 0, global_table=scenario.table.replicas > 0)
    return 1.0 + overhead / item if item else 1.0


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


def _stored(demands: Sequence[Demand], keyspace: KeySpace, resource: str) -> list[Load]:
    """Where the data of a table or index lies: like the keys of its patterns, each as heavy as its items."""
    specs: dict[KeySpec, float] = {}
    for demand in demands:
        for leg in demand.legs:
            keys = list(leg.specs) if leg.resource == resource and demand.traffic.partition is None else []
            keys += [tie.spec for tie in leg.ties if tie.resource == resource]
            for spec in keys:
                specs[spec] = max(specs.get(spec, 0.0), float(demand.traffic.item_bytes))
    return [(keyspace.spread(spec, 0.0).stored(), weight) for spec, weight in sorted(specs.items(), key=repr)]


def _with_collections(loads: Sequence[Load], keys: Spread, share: float) -> list[Load]:
    """Where the data lies of which collections of equal size hold a share, and the patterns' keys the rest."""
    listed = len(keys.positions)
    each = (
        replace(keys.stored(), shares=np.full(listed, 1.0 / listed), named=())
        if listed and not keys.background
        else even()
    )
    rest = sum(weight for _, weight in loads)
    others = [(spread, (1 - share) * weight / rest) for spread, weight in loads] if rest and share < 1 else []
    return [(each, share), *others]


def _facts(demand: Demand, resources: Sequence[str]) -> PatternFacts:
    query = demand.query
    units = {
        name: {
            dimension: 0.0 if demand.invalid else demand.units_per_request(dimension, name) for dimension in Dimension
        }
        for name in resources
    }
    return PatternFacts(
        {name: of_name for name, of_name in units.items() if name == TABLE or any(of_name.values())},
        None
        if query is None
        else QueryFacts(
            query.pages,
            query.scanned,
            query.returned,
            query.empty_pages,
            query.filtered_units,
            query.units_p50,
            query.units_p99,
        ),
    )
