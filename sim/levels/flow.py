"""The flow level: traffic as counts per tick, never as requests. Cost grows with ticks × partitions, not with the rate or the keys.

Poisson traffic that is divided over partitions is Poisson in each of them, so a stretch between two control events is one draw of shape
ticks × partitions for each leg. What is drawn row by row comes out the same however a run is cut into stretches, and the units are whole
grains (`sim.partitions.bucket`), so a run gives the same bytes at any stretch height.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sim.keyspace.building import KeySpace
from sim.keyspace.domain import Counts, Floats
from sim.levels.demand import Demand, Joint
from sim.levels.joint import joint_groups, settle_jointly
from sim.levels.moving import Fate, Flow, Moving, fate_of
from sim.levels.patterns import Drawn, Pattern, Patterns, total_of
from sim.names import TRANSACTION_OPERATIONS, Dimension, ErrorName, Limit, throttling_error
from sim.partitions.lane import Demand as LaneDemand
from sim.partitions.lane import Verdict
from sim.partitions.resource import Resource
from sim.results.recorder import Recorder
from sim.scenario import Scenario

STRETCH_TICKS = 256  # rows drawn at a time: arrays that stay in the processor's cache
_QUANTA_KEPT = 8
_LARGE_ITEM_FRACTION = 0.1  # an attempt over this part of a bucket makes counts per tick a rough picture


class FlowLevel:
    """Moves all traffic of a scenario through one table. Its one verb is `advance`."""

    def __init__(
        self,
        scenario: Scenario,
        demands: Sequence[Demand],
        resource: Resource,
        keyspace: KeySpace,
        recorder: Recorder,
        key_names: dict[int, str],
        *,
        stretch_ticks: int = STRETCH_TICKS,
    ) -> None:
        self._resource = resource
        self._recorder = recorder
        self._grid = recorder.grid
        self._stretch_ticks = stretch_ticks
        self._quanta: dict[tuple[object, ...], Floats] = {}
        self._patterns = Patterns(scenario, demands, resource, keyspace, recorder, key_names)
        self._warn_of_large_items()

    def _warn_of_large_items(self) -> None:
        for pattern in self._patterns.all:
            for flow in pattern.flows:
                lane = self._resource.lanes[flow.leg.dimension]
                depth = min(float(gate.buckets.depth.min()) for gate in [*lane.columns, *lane.totals])
                if flow.leg.units > _LARGE_ITEM_FRACTION * depth:
                    self._recorder.warn(
                        f"{pattern.demand.traffic.name}: one attempt costs {flow.leg.units:g} units, over a tenth of a "
                        f"bucket of {depth:g}; counts per tick are a rough picture of so few and large items, "
                        "the request level is the exact one"
                    )

    def roll_over(self, now_s: float) -> None:
        """Lay the traffic anew where a clock field has taken another value."""
        self._patterns.roll_over(now_s)

    def finish(self) -> None:
        """Hand the last tallies to the recorder."""
        self._patterns.finish()

    def advance(self, first: int, last: int) -> None:
        """Run ticks [first, last). Nothing that is scheduled lies inside them."""
        whole = int(self._grid.duration_s / self._grid.tick_s + 1e-9)  # a last, shorter tick stands alone
        tick = first
        while tick < last:
            end = min(tick + self._stretch_ticks, last, whole if tick < whole else last)
            self._stretch(tick, end)
            tick = end

    def _stretch(self, first: int, last: int) -> None:
        edges_s = np.minimum(np.arange(first, last + 1) * self._grid.tick_s, self._grid.duration_s)
        tick_s = self._grid.tick_s if last - first > 1 else float(edges_s[1] - edges_s[0])
        all_drawn = self._patterns.draw(edges_s)
        fates: dict[int, Fate] = {}
        for dimension in Dimension:
            moving = [
                (leg, drawn.pattern)
                for drawn in all_drawn
                if not drawn.pattern.demand.invalid
                for leg in drawn.legs
                if leg.flow.leg.dimension is dimension
            ]
            if moving:
                fates |= self._settle(dimension, [m for m, _ in moving], [p for _, p in moving], first, tick_s)
        for drawn in all_drawn:
            self._account(drawn, first, fates)

    # One lane.

    def _settle(
        self, dimension: Dimension, moving: list[Moving], owners: list[Pattern], first: int, tick_s: float
    ) -> dict[int, Fate]:
        """Let a lane serve what is asked of it, write down what it did, and say what became of each leg that met a refusal."""
        lane = self._resource.lanes[dimension]
        largest = lane.largest_cost(tick_s)
        fitting = [m for m in moving if m.units <= largest]
        shape = moving[0].counts.shape
        units = total_of([m.counts * m.units for m in fitting], shape)
        demand = LaneDemand(
            units,
            _ceiling_ratio(fitting, units),
            self._quantum(fitting),
            total_of([m.by_column * m.units for m in fitting], shape[1:]),
            total_of([m.by_tick * m.units for m in fitting], shape[:1]),
        )
        groups = joint_groups(fitting, [o for m, o in zip(moving, owners, strict=True) if m.units <= largest])
        asked = units
        if groups and not lane.serves_all(demand, tick_s):
            verdict: Verdict | None
            verdict, asked = settle_jointly(lane, fitting, groups, tick_s)
        else:
            verdict = lane.settle(demand, tick_s)
        fates: dict[int, Fate] = {}
        if verdict is not None:
            here = asked[:, verdict.columns]
            shares = {
                limit: np.divide(amount, here, out=np.zeros(here.shape), where=here > 0)
                for limit, amount in verdict.refused.items()
            }
            fates = {id(m.flow): fate_of(m, verdict.columns, shares) for m in fitting}
        every = np.arange(shape[1])
        for m in moving:
            if m.units > largest:  # more than the emptiest bucket can ever hold: refused for ever
                limit = min(lane.totals, key=lambda gate: float(gate.buckets.depth[0])).limit
                fates[id(m.flow)] = fate_of(m, every, {limit: np.ones(shape)})
        self._write_down(dimension, moving, demand, verdict, first, fates)
        return fates

    def _quantum(self, moving: list[Moving]) -> Floats:
        """For each partition the cost of an attempt, where all that may come to it cost the same; else 0."""
        key = (self._resource.version, *(m.flow.layout for m in moving))
        if key not in self._quanta:
            self._quanta = {key: _quantum(moving)} | (self._quanta if len(self._quanta) < _QUANTA_KEPT else {})
        return self._quanta[key]

    def _write_down(
        self,
        dimension: Dimension,
        moving: list[Moving],
        demand: LaneDemand,
        verdict: Verdict | None,
        first: int,
        fates: Mapping[int, Fate],
    ) -> None:
        resource = self._resource
        record = self._recorder.resources[resource.name].lanes[dimension]
        numbers = resource.partitions.numbers
        offered_by_tick = total_of([m.by_tick * m.units for m in moving], demand.by_tick.shape)
        offered_by_column = total_of([m.by_column * m.units for m in moving], demand.by_column.shape)
        served_by_tick, served_by_column = demand.by_tick, demand.by_column
        if verdict is not None:
            lost = demand.units[:, verdict.columns] - verdict.served
            served_by_tick = served_by_tick - lost.sum(axis=1)
            served_by_column = np.array(served_by_column, dtype=float)
            served_by_column[verdict.columns] -= lost.sum(axis=0)

        def served() -> Floats:
            if verdict is None:
                return demand.units
            units = demand.units.copy()
            units[:, verdict.columns] = verdict.served
            return units

        record.add_units(first, offered_by_tick, served_by_tick)
        record.add_partitions(first, len(served_by_tick), numbers, served_by_column, served)
        seen = resource.observed[dimension]
        seen.offered += offered_by_column
        seen.consumed += served_by_column
        for m in moving:
            resource.note_load(dimension, m.flow.name, m.flow.spread, float(m.by_tick.sum()) * m.units)
            fate = fates.get(id(m.flow))
            events_by_column = None
            if fate is not None:
                events_by_column = np.zeros(len(numbers))
                for limit, cells in fate.events.items():
                    span = record.add_throttles(first, numbers[fate.columns], limit, cells)
                    if span is not None:
                        self._recorder.note_throttle(*span)
                        events_by_column[fate.columns] += cells.sum(axis=0)
            m.flow.note_keys(m.by_column, events_by_column)
            if m.flow.leg.new_bytes:
                share = np.divide(served(), demand.units, out=np.ones(demand.units.shape), where=demand.units > 0)
                resource.stored_bytes += (m.counts * share).sum(axis=0) * m.flow.leg.new_bytes

    # Requests.

    def _account(self, drawn: Drawn, first: int, fates: Mapping[int, Fate]) -> None:
        """Turn what became of the legs into requests, attempts and errors of the pattern."""
        pattern, requests = drawn.pattern, drawn.requests
        demand = pattern.demand
        record = self._recorder.traffic[demand.traffic.name]
        self._note_finish(pattern, first, requests)
        if demand.invalid:
            record.add(first, offered=requests, attempts=requests)
            record.fail(ErrorName.VALIDATION, float(requests.sum()))
            return
        met = [(flow, fates[id(flow)]) for flow in pattern.flows if id(flow) in fates]
        if not met and not demand.condition_fails:
            record.add_served(first, requests)
            return
        events = total_of([fate.refused for _, fate in met], requests.shape)
        items = pattern.flows[0].leg.items
        if demand.joint is Joint.ALL and met:
            throttled = requests * (1.0 - np.prod([fate.admitted**flow.leg.items for flow, fate in met], axis=0))
        elif demand.joint is Joint.EACH and len(met) > 1:
            share = np.divide(events, requests * items, out=np.zeros(requests.shape), where=requests > 0)
            throttled = requests * share**items
        else:
            throttled = total_of([fate.nothing for _, fate in met], requests.shape)
        passed = requests - throttled
        unmet = passed * demand.condition_fails
        record.add(
            first,
            offered=requests,
            succeeded=passed - unmet,
            attempts=requests,
            throttled=throttled,
            throttle_events=events,
        )
        record.fail(ErrorName.CONDITIONAL_CHECK, float(unmet.sum()))
        if demand.joint is Joint.EACH:
            record.unprocessed += float((events - throttled * items).sum())
        if met:
            record.fail(self._error_of(demand, met), float(throttled.sum()))

    def _error_of(self, demand: Demand, met: Sequence[tuple[Flow, Fate]]) -> ErrorName:
        """What the caller of a throttled request sees."""
        if demand.traffic.operation in TRANSACTION_OPERATIONS:
            return ErrorName.TRANSACTION_CANCELED
        counts: dict[Limit, float] = {}
        for _, fate in met:
            for limit, cells in fate.events.items():
                counts[limit] = counts.get(limit, 0.0) + float(cells.sum())
        return throttling_error(self._resource.mode, max(counts, key=counts.__getitem__, default=Limit.KEY_RANGE))

    def _note_finish(self, pattern: Pattern, first: int, requests: Counts) -> None:
        limit = pattern.demand.traffic.count
        record = self._recorder.traffic[pattern.demand.traffic.name]
        if limit is not None and record.finished_s is None and pattern.offered >= limit:
            came = np.flatnonzero(requests)
            last = first + int(came[-1]) + 1 if len(came) else first
            record.finished_s = min(last * self._grid.tick_s, self._grid.duration_s)


def _ceiling_ratio(moving: Sequence[Moving], units: Floats) -> Floats | None:
    """Ceiling units per consumed unit in each cell, or None where they are the same."""
    if all(m.flow.ceiling_ratio == 1.0 for m in moving):
        return None
    weighed = total_of([m.counts * (m.units * m.flow.ceiling_ratio) for m in moving], units.shape)
    return np.divide(weighed, units, out=np.ones(units.shape), where=units > 0)


def _quantum(moving: Sequence[Moving]) -> Floats:
    quantum = np.zeros(len(moving[0].flow.shares) if moving else 0)
    mixed = np.zeros(len(quantum), dtype=bool)
    for m in moving:
        here = m.flow.shares > 0
        mixed |= here & (quantum > 0) & (quantum != m.units)
        quantum = np.where(here, m.units, quantum)
    return np.where(mixed, 0.0, quantum)
