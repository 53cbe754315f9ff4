"""The flow level: traffic as counts per tick, never as requests. Cost grows with ticks × partitions, not with the rate or the keys.

Poisson traffic that is divided over partitions is Poisson in each of them, so a stretch between two control events is one draw of shape
ticks × partitions for each leg. What is drawn row by row comes out the same however a run is cut into stretches, and the units are whole
grains (`sim.partitions.bucket`), so a run gives the same bytes at any stretch height.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sim.clients.quota import FluidQuota
from sim.clients.retries import make_policy
from sim.keyspace.building import KeySpace
from sim.keyspace.domain import Counts, Floats
from sim.levels.cohorts import Cohorts, Tally, settle_with_retries
from sim.levels.demand import Demand, Joint
from sim.levels.joint import joint_groups, settle_jointly
from sim.levels.latencies import latency_law
from sim.levels.moving import Booleans, Fate, Flow, Moving, fate_of, fate_with_blocked, nothing_served, refused_shares
from sim.levels.patterns import Drawn, Pattern, Patterns, total_of
from sim.limits import TRANSACTION_ITEMS_MAX
from sim.names import TRANSACTION_OPERATIONS, Dimension, ErrorName, Limit, throttling_error
from sim.partitions.bucket import grains
from sim.partitions.lane import Demand as LaneDemand
from sim.partitions.lane import Lane, Verdict
from sim.partitions.resource import Resource
from sim.results.recorder import Recorder
from sim.scenario import Scenario

STRETCH_TICKS = 256  # rows drawn at a time: arrays that stay in the processor's cache
_LEGS_MAX = TRANSACTION_ITEMS_MAX  # legs of a transaction that may add up
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
        self._mixes: dict[Dimension, tuple[tuple[object, ...], _Mix]] = {}
        self._patterns = Patterns(scenario, demands, resource, keyspace, recorder, key_names)
        self._cohorts: dict[int, Cohorts] = {}
        for pattern in self._patterns.all:
            self._cohorts |= self._set_out_cohorts(pattern)
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
        self._resource.observed_s += float(edges_s[-1] - edges_s[0])
        fates: dict[int, Fate] = {}
        tallies: dict[int, Tally] = {}
        by_flow = {id(leg.flow): leg for drawn in all_drawn for leg in drawn.legs}
        for dimension in Dimension:
            if self._retries(dimension):
                moving, owners = self._all_moving(dimension, by_flow, last - first)
            else:
                pairs = [
                    (leg, drawn.pattern)
                    for drawn in all_drawn
                    if not drawn.pattern.demand.invalid
                    for leg in drawn.legs
                    if leg.flow.leg.dimension is dimension and leg.units > 0  # what costs nothing is never refused
                ]
                moving, owners = [m for m, _ in pairs], [p for _, p in pairs]
            if moving:
                fates |= self._settle(dimension, moving, owners, first, tick_s, tallies)
        came = {id(drawn.pattern): drawn for drawn in all_drawn}
        for pattern in self._patterns.all:
            mine = [tallies[id(flow)] for flow in pattern.flows if id(flow) in tallies]
            drawn_here = came.get(id(pattern))
            if mine:
                requests = np.zeros(last - first) if drawn_here is None else drawn_here.requests
                self._account_retried(pattern, requests, mine, first)
            elif drawn_here is not None:
                self._account(drawn_here, first, fates)

    # Retries.

    def _set_out_cohorts(self, pattern: Pattern) -> dict[int, Cohorts]:
        """What retries of a pattern's legs; nothing where its client does not retry, or is never refused as one attempt."""
        policy = make_policy(pattern.demand.traffic.client)
        if policy.max_attempts == 1 or pattern.demand.joint is not Joint.ONE_OF or pattern.demand.invalid:
            return {}
        if pattern.demand.traffic.operation in TRANSACTION_OPERATIONS:
            return {}  # no SDK retries a cancelled transaction
        quota = None if policy.quota_costs is None else FluidQuota(pattern.demand.traffic.clients)
        latency_s = latency_law(pattern.demand, self._resource.calibration).mean_s
        return {
            id(flow): Cohorts(flow, policy, quota, latency_s, self._grid.tick_s, self._resource.mode)
            for flow in pattern.flows
            if flow.leg.units > 0
        }

    def _retries(self, dimension: Dimension) -> bool:
        return any(c.flow.leg.dimension is dimension for c in self._cohorts.values())

    def _all_moving(
        self, dimension: Dimension, drawn: Mapping[int, Moving], ticks: int
    ) -> tuple[list[Moving], list[Pattern]]:
        """Every leg of a dimension: where attempts return, one may have something on its way though nothing new comes of it."""
        moving, owners = [], []
        columns = len(self._resource.partitions)
        for pattern in self._patterns.all:
            if pattern.demand.invalid:
                continue
            for flow in pattern.flows:
                on_its_way = id(flow) in self._cohorts and not self._cohorts[id(flow)].is_empty
                if flow.leg.dimension is not dimension or flow.leg.units <= 0 or not (id(flow) in drawn or on_its_way):
                    continue
                flow.place(self._resource)
                moving.append(drawn.get(id(flow)) or Moving.of(flow, np.zeros((ticks, columns))))
                owners.append(pattern)
        return moving, owners

    def _account_retried(self, pattern: Pattern, requests: Counts, tallies: Sequence[Tally], first: int) -> None:
        """Requests, attempts and errors of a pattern whose attempts return."""
        record = self._recorder.traffic[pattern.demand.traffic.name]
        self._note_finish(pattern, first, requests)
        shape = requests.shape
        succeeded = total_of([t.succeeded for t in tallies], shape)
        throttled = total_of([t.throttled for t in tallies], shape)
        unmet = grains(succeeded * pattern.demand.condition_fails)
        record.add(
            first,
            offered=np.asarray(requests, dtype=float),
            attempts=total_of([t.attempts for t in tallies], shape),
            succeeded=succeeded - unmet,
            throttled=throttled,
            throttle_events=throttled,
        )
        record.fail(ErrorName.CONDITIONAL_CHECK, float(unmet.sum()))
        for tally in tallies:
            for error, counts in tally.failed.items():
                record.fail(error, float(counts.sum()))

    # One lane.

    def _settle(
        self,
        dimension: Dimension,
        moving: list[Moving],
        owners: list[Pattern],
        first: int,
        tick_s: float,
        tallies: dict[int, Tally],
    ) -> dict[int, Fate]:
        """Let a lane serve what is asked of it, write down what it did, and say what became of each leg that met a refusal."""
        lane = self._resource.lanes[dimension]
        shape = moving[0].counts.shape
        blocked = self._blocked(lane, moving, owners)
        fitting = moving
        if blocked is not None:
            fitting = [m.only(~b) if b.any() else m for m, b in zip(moving, blocked, strict=True)]
        mix = self._mix(dimension)
        units = total_of([m.counts * m.units for m in fitting], shape)
        demand = LaneDemand(
            units,
            _ceiling_ratio(fitting, units),
            mix.quantum,
            None if mix.costs is None else [_units_at(fitting, cost, shape) for cost in mix.costs],
            total_of([m.by_column * m.units for m in fitting], shape[1:]),
            total_of([m.by_tick * m.units for m in fitting], shape[:1]),
        )
        asked = units
        calm = blocked is None and not self._something_returns(moving)
        if self._retries(dimension) and not (calm and lane.serves_all(demand, tick_s)):
            return self._settle_retried(dimension, moving, blocked, first, tick_s, tallies)
        if mix.joint and not lane.serves_all(demand, tick_s):
            verdict: Verdict | None
            verdict, asked = settle_jointly(lane, fitting, joint_groups(fitting, owners), tick_s)
        else:
            verdict = lane.settle(demand, tick_s)
        fates: dict[int, Fate] = {}
        if verdict is not None:
            if mix.costs is not None:
                self._recorder.warn(
                    "attempts of different cost met a dry bucket: consumed units are right, but which of them passed is approximate "
                    'at this level (the cheaper before the dearer); level = "request" is exact'
                )
            shares = refused_shares(verdict, asked, fitting, by_cost=mix.costs is not None and not mix.joint)
            fates = {id(m.flow): fate_of(m, verdict.columns, share) for m, share in zip(fitting, shares, strict=True)}
        for m, b in zip(moving, blocked or [], strict=blocked is not None):
            if b.any():  # more than the emptiest bucket can ever hold: refused for ever
                fates[id(m.flow)] = fate_with_blocked(m, b, self._blocking_limit(lane, m.units), fates.get(id(m.flow)))
        self._write_down(dimension, moving, demand, verdict, first, fates)
        return fates

    def _something_returns(self, moving: Sequence[Moving]) -> bool:
        cohorts = [self._cohorts[id(m.flow)] for m in moving if id(m.flow) in self._cohorts]
        for one in cohorts:
            one.follow_splits(self._resource)
        return any(not one.is_empty for one in cohorts)

    def _settle_retried(
        self,
        dimension: Dimension,
        moving: list[Moving],
        blocked: list[Booleans] | None,
        first: int,
        tick_s: float,
        tallies: dict[int, Tally],
    ) -> dict[int, Fate]:
        lane = self._resource.lanes[dimension]
        shape = moving[0].counts.shape
        never = [np.zeros(shape[1], dtype=bool)] * len(moving) if blocked is None else blocked
        stretch = settle_with_retries(
            lane,
            [m.flow for m in moving],
            [m.counts for m in moving],
            [self._cohorts.get(id(m.flow)) for m in moving],
            [(~b).astype(float) for b in never],
            first,
            tick_s,
        )
        if stretch.refused and any(m.flow.joint is Joint.ALL for m in moving):
            self._recorder.warn(
                "transactions met a dry bucket beside requests that are retried: this level refuses their actions one by "
                "one, so that far too few succeed and the others take units for nothing; do not trust these figures, "
                'level = "request" refuses them as one'
            )
        tried = [Moving.of(m.flow, attempts) for m, attempts in zip(moving, stretch.attempts, strict=True)]
        passing = [m.only(~b) for m, b in zip(tried, never, strict=True)]
        units = total_of([m.counts * m.units for m in passing], shape)
        verdict = Verdict(np.arange(shape[1]), np.minimum(stretch.served, units), stretch.refused)
        shares = refused_shares(verdict, units, passing, by_cost=False)
        fates = {id(m.flow): fate_of(m, verdict.columns, share) for m, share in zip(passing, shares, strict=True)}
        for m, b, tally in zip(tried, never, stretch.tallies, strict=True):
            if b.any():
                fates[id(m.flow)] = fate_with_blocked(m, b, self._blocking_limit(lane, m.units), fates.get(id(m.flow)))
            if tally is not None:
                tallies[id(m.flow)] = tally
        demand = LaneDemand(units, _ceiling_ratio(passing, units), np.zeros(shape[1]))
        self._write_down(dimension, tried, demand, verdict, first, fates)
        return fates

    def _blocked(self, lane: Lane, moving: Sequence[Moving], owners: Sequence[Pattern]) -> list[Booleans] | None:
        """For each leg the partitions in which an attempt of it can never pass: it costs more than a bucket holds. None: there are none.

        A transaction passes whole or not at all: where one of its legs never passes, none does.
        """
        largest = lane.largest_cost()
        dearest = max(m.units * m.flow.leg.items if m.flow.joint is Joint.ALL else m.units for m in moving)
        if dearest * _LEGS_MAX <= min(largest, lane.least_depth()):
            return None
        by_column = lane.largest_cost_by_column()
        blocked = [(m.units > largest) | (m.units * m.flow.ceiling_ratio > by_column) for m in moving]
        for members in joint_groups(moving, owners):
            whole = sum(moving[k].units * moving[k].flow.leg.items for k in members)
            if whole > largest or any(blocked[k][moving[k].flow.shares > 0].all() for k in members):
                for k in members:
                    blocked[k] = np.ones(len(by_column), dtype=bool)
        return blocked

    def _blocking_limit(self, lane: Lane, units: float) -> Limit:
        gates = [*lane.totals, *lane.columns]
        return next((g.limit for g in gates if float(g.buckets.depth.min()) < units), gates[0].limit)

    def _mix(self, dimension: Dimension) -> _Mix:
        """What attempts of one dimension cost, partition by partition: a matter of the patterns, not of who comes just now."""
        flows = [
            flow
            for pattern in self._patterns.all
            if pattern.comes and not pattern.demand.invalid
            for flow in pattern.flows
            if flow.leg.dimension is dimension and flow.leg.units > 0
        ]
        for flow in flows:
            flow.place(self._resource)
        key = (dimension, self._resource.version, *(flow.layout for flow in flows))
        if self._mixes.get(dimension, (None,))[0] != key:
            self._mixes[dimension] = (key, _mix_of(flows, len(self._resource.partitions)))
        return self._mixes[dimension][1]

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
                resource.has_grown = True
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
        elif demand.joint is Joint.EACH and len(pattern.flows) > 1 and met:
            throttled = nothing_served(drawn.legs, [fates.get(id(leg.flow)) for leg in drawn.legs])
        else:
            throttled = total_of([fate.nothing for _, fate in met], requests.shape)
        throttled, events = grains(throttled), grains(events)  # so that sums are exact however the run is cut
        passed = requests - throttled
        unmet = grains(passed * demand.condition_fails)
        record.add(
            first,
            offered=requests,
            succeeded=passed - unmet,
            attempts=requests,
            throttled=throttled,
            throttle_events=events,
        )
        transaction = demand.traffic.operation in TRANSACTION_OPERATIONS
        failed_condition = ErrorName.TRANSACTION_CANCELED if transaction else ErrorName.CONDITIONAL_CHECK
        record.fail(failed_condition, float(unmet.sum()))
        if demand.joint is Joint.EACH:
            record.unprocessed += float((events - throttled * items).sum())
        limits = sorted({limit for _, fate in met for limit in fate.events}, key=list(Limit).index)
        for limit in limits:
            share: Floats | float = 1.0
            if len(limits) > 1:
                mine = total_of([f.events[limit].sum(axis=1) for _, f in met if limit in f.events], requests.shape)
                share = np.divide(mine, events, out=np.zeros(requests.shape), where=events > 0)
            error = ErrorName.TRANSACTION_CANCELED if transaction else throttling_error(self._resource.mode, limit)
            record.fail(error, float(grains(throttled * share).sum()))

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


def _units_at(moving: Sequence[Moving], cost: float, shape: tuple[int, ...]) -> Floats:
    return total_of([m.counts * cost for m in moving if m.units == cost], shape)


@dataclass(frozen=True)
class _Mix:
    """What attempts of one dimension cost.

    Attributes
    ----------
    quantum : for each partition the cost of an attempt, where all that may come to it cost the same; else 0.
    costs : all costs, ascending, where there is more than one; else None.
    joint : whether there are transactions, whose items are served together or not at all.
    """

    quantum: Floats
    costs: tuple[float, ...] | None
    joint: bool


def _mix_of(flows: Sequence[Flow], columns: int) -> _Mix:
    quantum = np.zeros(columns)
    mixed = np.zeros(columns, dtype=bool)
    for flow in flows:
        here = flow.shares > 0
        mixed |= here & (quantum > 0) & (quantum != flow.leg.units)
        quantum = np.where(here, flow.leg.units, quantum)
    costs = tuple(sorted({flow.leg.units for flow in flows}))
    joint = any(flow.joint is Joint.ALL for flow in flows)
    return _Mix(np.where(mixed, 0.0, quantum), costs if len(costs) > 1 else None, joint)
