"""What a run used that has a price, read from its records: units, capacity, storage, warm throughput, reads of its stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sim.keyspace.domain import Floats
from sim.limits import ON_DEMAND_HEADROOM_FACTOR, ON_DEMAND_INITIAL_PER_S
from sim.names import TABLE, Dimension, Mode, Operation, index_resource
from sim.results.cost import Metered, Usage
from sim.results.recorder import LaneRecord, Recorder, ResourceRecord, TimeGrid
from sim.results.steps import integral, values_at
from sim.scenario import Gsi, Scenario, Table
from sim.scenario.table import holders
from sim.units import item_write_units

Units = Mapping[Dimension, float]
Flags = npt.NDArray[np.bool_]

_SPAN_S = 60  # capacity is sized by the busiest minute, as auto scaling sizes it
_UPDATE = "update-table"
_REFUSED = "refused"


def usages(
    scenario: Scenario,
    recorder: Recorder,
    stored_bytes: Mapping[str, float],
    *,
    units: Mapping[str, Units] | None = None,
) -> dict[str, Usage]:
    """What the table and each index used, the table first.

    Parameters
    ----------
    stored_bytes : held by each resource on average over the run.
    units : other units than those consumed, by resource: what a run that serves more would use.
    """
    return {
        name: _usage(scenario, recorder, name, stored_bytes.get(name, 0.0), units[name] if units else None)
        for name in recorder.resources
    }


def modes_of(scenario: Scenario, record: ResourceRecord) -> list[tuple[float, Mode]]:
    """Capacity mode in force from each moment on; the scenario's where nothing was recorded.

    While a resource is on demand the recorded capacity of its lanes is a ceiling, and costs nothing.
    """
    return record.modes or [(0.0, scenario.table.mode)]


def shard_seconds(grid: TimeGrid, record: ResourceRecord) -> float:
    """Open shards of the table's stream, added up over the run: each partition has one (F-STR-2)."""
    return float(integral(record.partition_counts, np.array(grid.duration_s))) if record.partition_counts else 0.0


def warm_bought(scenario: Scenario, recorder: Recorder) -> dict[tuple[str, Dimension], float]:
    """Units per second of warm throughput that were paid for, by resource and dimension (F-WARM-1, F-PRICE-15).

    At second 0 what a table or index is given beyond what it would have by itself, unless the scenario says that it grew there; then what
    each event adds to what is there at its moment. What traffic makes grow is free.
    """
    bought: dict[tuple[str, Dimension], float] = {}
    for name, holder in holders(scenario.table).items():
        for dimension in Dimension:
            added = _given_at_start(scenario, holder, dimension) + _added_by_events(scenario, recorder, name, dimension)
            if added > 0:
                bought[name, dimension] = added
    return bought


def _usage(scenario: Scenario, recorder: Recorder, name: str, stored_bytes: float, units: Units | None) -> Usage:
    grid, record = recorder.grid, recorder.resources[name]
    modes = modes_of(scenario, record)
    on_demand = _ticks_on_demand(grid, modes)
    read, write = (record.lanes[dimension] for dimension in (Dimension.READ, Dimension.WRITE))
    consumed = units or {d: float(lane.consumed_units.sum()) for d, lane in record.lanes.items()}
    is_mixed = len({mode for _, mode in modes}) > 1
    return Usage(
        read_units=consumed[Dimension.READ],
        write_units=consumed[Dimension.WRITE],
        ttl_write_units=_expiry_units(scenario, recorder) if name == TABLE else 0.0,
        capacity_read=read.capacity,
        capacity_write=write.capacity,
        storage_bytes=stored_bytes,
        needed_read_per_s=_needed_per_s(grid, read, on_demand),
        needed_write_per_s=_needed_per_s(grid, write, on_demand),
        is_index=name != TABLE,
        modes=modes,
        metered=Metered(
            float(read.consumed_units[on_demand].sum()),
            float(write.consumed_units[on_demand].sum()),
            _expiry_units(scenario, recorder, modes) if name == TABLE else 0.0,
        )
        if is_mixed
        else None,
    )


def _ticks_on_demand(grid: TimeGrid, modes: Sequence[tuple[float, Mode]]) -> Flags:
    """Which ticks were served on demand; a change inside a tick takes effect at the tick's end."""
    return on_demand_at(modes, np.arange(grid.ticks, dtype=np.float64) * grid.tick_s)


def on_demand_at(modes: Sequence[tuple[float, Mode]], at_s: Floats) -> Flags:
    """At which of some moments a resource was on demand; a change counts from its own moment on."""
    return values_at([(since_s, float(mode is Mode.ON_DEMAND)) for since_s, mode in modes], at_s + 1e-9) > 0


def _needed_per_s(grid: TimeGrid, lane: LaneRecord, on_demand: Flags) -> int:
    """Capacity that would carry the busiest minute on demand as it was offered."""
    if not on_demand.any():
        return 0
    per_second = grid.per_second(np.where(on_demand, lane.offered_units, 0.0))
    width = max(1, round(_SPAN_S / max(grid.tick_s, 1.0)))
    starts = np.arange(0, len(per_second), width)
    means = np.add.reduceat(per_second, starts) / np.diff(np.append(starts, len(per_second)))
    return int(np.ceil(means.max(initial=0.0) - 1e-9))


def _expiry_units(
    scenario: Scenario, recorder: Recorder, modes: Sequence[tuple[float, Mode]] = ((0.0, Mode.ON_DEMAND),)
) -> float:
    """Write units that expired items cost the further regions of a global table while on demand; their own region pays none (F-TTL-1)."""
    grid = recorder.grid
    counted = on_demand_at(modes, np.arange(grid.periods, dtype=np.float64) * (grid.ticks_per_period * grid.tick_s))
    return sum(
        float(recorder.traffic[t.name].succeeded[counted].sum()) * item_write_units(t.item_bytes)
        for t in scenario.traffic
        if t.operation is Operation.TTL_DELETE
    )


def _given_at_start(scenario: Scenario, holder: Table | Gsi, dimension: Dimension) -> float:
    if not scenario.cost.warm_bought:
        return 0.0
    if scenario.table.mode is Mode.PROVISIONED:
        own = getattr(holder, f"{dimension}_capacity") or 0.0
    else:
        peak = getattr(holder, f"previous_peak_{dimension}", None) or 0.0
        own = max(ON_DEMAND_INITIAL_PER_S[dimension], ON_DEMAND_HEADROOM_FACTOR * peak)
    return max(0.0, (getattr(holder, f"warm_{dimension}") or 0.0) - own)


def _added_by_events(scenario: Scenario, recorder: Recorder, name: str, dimension: Dimension) -> float:
    """What UpdateTables raised warm throughput by, each above what was there or ordered already; refused ones cost nothing."""
    record = recorder.resources.get(name)
    if record is None:
        return 0.0
    warm = record.lanes[dimension].warm
    refused = {e.at_s for e in recorder.events if (e.resource, e.action, e.outcome) == (name, _UPDATE, _REFUSED)}
    added = ordered = 0.0
    for event in sorted(scenario.event, key=lambda event: event.at):
        wanted = getattr(event, f"warm_{dimension}")
        of_this = (TABLE if event.index is None else index_resource(event.index)) == name
        if wanted is None or not of_this or any(abs(at_s - event.at) < 1e-6 for at_s in refused):
            continue
        there = max([ordered, *[value for at_s, value in warm if at_s < event.at][-1:]])
        added += max(0.0, wanted - there)
        ordered = max(ordered, wanted)
    return added
