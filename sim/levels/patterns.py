"""The access patterns of a scenario in motion: where each lies, and how many requests of it come when. Both levels move these.

Poisson traffic that is divided over partitions is Poisson in each of them, so a stretch is one draw of shape ticks × partitions for each
leg; other traffic is a count per tick, dealt out. What is drawn row by row comes out the same however a run is cut into stretches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.errors import Problem, ScenarioError
from sim.keyspace.building import KeySpace
from sim.keyspace.domain import Counts, Floats, Ints
from sim.keyspace.spread import Spread, even
from sim.levels.arrivals import DAY_S, Integral, even_counts, integral_of
from sim.levels.demand import Demand, Joint, Leg
from sim.levels.moving import Flow, Moving
from sim.levels.randomness import generator
from sim.names import Arrivals
from sim.partitions.resource import Resource
from sim.results.recorder import Recorder
from sim.scenario import Scenario

_REQUESTS_PER_TICK_MAX = 1e12  # counts are whole 64-bit numbers, times a hundred items of a batch


@dataclass
class Pattern:
    """One access pattern in motion.

    Attributes
    ----------
    integral : requests expected until a second of the run; None for a closed loop.
    comes : whether anything is to come of it at all.
    offered : requests drawn so far.
    """

    demand: Demand
    flows: list[Flow]
    draws: np.random.Generator
    integral: Integral | None
    comes: bool
    offered: float = 0.0


@dataclass(frozen=True)
class Drawn:
    """Requests of one pattern per tick of a stretch, and what its legs ask for."""

    pattern: Pattern
    requests: Counts
    legs: list[Moving]


class Patterns:
    """All access patterns of a scenario on one resource.

    Parameters
    ----------
    stops_at_count : a finite job ends in the middle of a tick's count, which need not be a whole number then; whoever places single
        requests in time says no, and stops by itself.
    """

    def __init__(
        self,
        scenario: Scenario,
        demands: Sequence[Demand],
        resource: Resource,
        keyspace: KeySpace,
        recorder: Recorder,
        key_names: dict[int, str],
        *,
        stops_at_count: bool = True,
    ) -> None:
        self._stops_at_count = stops_at_count
        self._scenario = scenario
        self._resource = resource
        self._keyspace = keyspace
        self._recorder = recorder
        self._key_names = key_names
        midnight = scenario.start.replace(hour=0, minute=0, second=0, microsecond=0)
        self._day_offset_s = (scenario.start - midnight).total_seconds() % DAY_S
        self.all = [self._set_out(demand) for demand in demands]
        if recorder.grid.tick_s > 1:
            recorder.warn(
                f"ticks of {recorder.grid.tick_s:g} s are longer than the second for which a partition's bucket lasts: throttling shorter "
                'than a tick is not seen, and peaks are means over a tick; tick = "1s" sees both'
            )

    def _set_out(self, demand: Demand) -> Pattern:
        seed, name = self._scenario.seed, demand.traffic.name
        factor = self._resource.calibration.eventual_read_ceiling_factor
        flows = [
            Flow(
                f"{name}/{leg.name}",
                leg,
                demand.joint,
                generator(seed, name, leg.name, "places"),
                self._spread_of(demand, leg, 0.0),
                1.0 / factor if leg.eventual else 1.0,
            )
            for leg in demand.legs
        ]
        integral = None
        if demand.traffic.rate is not None:
            integral = integral_of(demand.traffic, self._day_offset_s, self._recorder.grid.duration_s)
        end_s = self._recorder.grid.duration_s
        comes = integral is None or bool(integral(np.array([end_s]))[0] > 0)
        return Pattern(demand, flows, generator(seed, name, "counts"), integral, comes)

    def _spread_of(self, demand: Demand, leg: Leg, at_s: float) -> Spread:
        fixed = demand.traffic.partition
        if fixed is not None:
            whole = self._resource.partitions.lives[fixed].range
            return even(whole.low.hash, whole.high.hash)
        if leg.spec is None:
            return even()
        spread = self._keyspace.spread(leg.spec, at_s)
        self._key_names.update((key.position, key.text) for key in spread.named)
        if spread.background > 0 and spread.error > 0:
            self._recorder.warn(
                f"{leg.spec.pk} has more keys than are listed one by one: {len(spread.positions):,} carry "
                f"{1 - spread.background:.1%} of {demand.traffic.name}, the rest lies evenly; "
                f"a large range's share is right to about {spread.error:.1g}"
            )
        return spread

    def roll_over(self, now_s: float) -> None:
        """Lay the traffic anew where a clock field has taken another value."""
        for pattern in self.all:
            for flow in pattern.flows:
                flow.lay(self._spread_of(pattern.demand, flow.leg, now_s), self._resource.name, self._recorder)

    def finish(self) -> None:
        """Hand the last tallies to the recorder."""
        for pattern in self.all:
            for flow in pattern.flows:
                flow.place(self._resource)
                flow.flush_keys(self._resource.name, self._recorder)

    def draw(self, edges_s: Floats) -> list[Drawn]:
        """What comes between the edges of some ticks, of every pattern of which anything comes."""
        drawn = (self._draw(pattern, pattern.integral(edges_s)) for pattern in self.all if pattern.integral is not None)
        return [d for d in drawn if d is not None]

    def _draw(self, pattern: Pattern, cumulative: Floats) -> Drawn | None:
        """Requests per tick, and items per tick and partition of each leg; None when nobody comes."""
        demand = pattern.demand
        expected = np.maximum(np.diff(cumulative), 0.0)
        if not expected.any():
            return None
        if float(expected.max()) > _REQUESTS_PER_TICK_MAX:
            message = f"{demand.traffic.name} asks for {float(expected.max()):.3g} requests in one tick; at most 1e12 can be counted"
            hint = "a shorter tick, or a lower rate"
            raise ScenarioError([Problem(source="scenario", path="tick", message=message, hint=hint)])
        for flow in pattern.flows:
            flow.place(self._resource)
        poisson = demand.traffic.arrivals is Arrivals.POISSON
        if poisson and demand.joint is Joint.ONE_OF:
            counts = [_poisson(flow, expected) for flow in pattern.flows]
            legs = [Moving.of(flow, count) for flow, count in zip(pattern.flows, counts, strict=True)]
            requests = total_of([leg.by_tick for leg in legs], expected.shape)
        else:
            whole = pattern.draws.poisson(expected) if poisson else even_counts(cumulative).astype(np.int64)
            requests = whole
            legs = [Moving.of(flow, count) for flow, count in zip(pattern.flows, _divide(pattern, whole), strict=True)]
        if demand.traffic.count is not None and self._stops_at_count:
            requests, legs = _stop_at_count(pattern, demand.traffic.count, requests, legs)
        pattern.offered += float(requests.sum())
        return Drawn(pattern, requests, legs)


def _poisson(flow: Flow, expected: Floats) -> Counts:
    """Items of a leg per tick and partition, where its requests are Poisson with ``expected`` per tick."""
    row = flow.leg.fraction * flow.shares
    if expected.min() == expected.max():  # the same draws, without a matrix of equal rows
        return flow.draws.poisson(expected[0] * row, size=(len(expected), len(row)))
    return flow.draws.poisson(np.multiply.outer(expected, row))


def _divide(pattern: Pattern, requests: Ints) -> list[Counts]:
    """Whole requests per tick, dealt out to the partitions as items."""
    flows = pattern.flows
    items = flows[0].leg.items
    if pattern.demand.joint is Joint.EACH and flows[0].leg.together and len(flows) > 1:
        # First the partition of each batch, then which of its items are missing.
        dealt = flows[0].draws.multinomial(requests, flows[0].shares / flows[0].shares.sum()) * items
        missing = flows[1].draws.binomial(dealt, flows[1].leg.fraction)
        return [dealt - missing, missing]
    if pattern.demand.joint is Joint.ONE_OF or (pattern.demand.joint is Joint.EACH and len(flows) > 1):
        # Legs of which each item takes one, in one deal over all their partitions.
        cells = np.concatenate([flow.leg.fraction * flow.shares for flow in flows])
        dealt = flows[0].draws.multinomial(requests * items, cells / cells.sum())
        return list(np.split(dealt, len(flows), axis=1))
    counts = []
    for flow in flows:
        share = flow.shares / flow.shares.sum()
        if flow.leg.together:
            counts.append(flow.draws.multinomial(requests, share) * flow.leg.items)
        else:
            counts.append(flow.draws.multinomial(requests * flow.leg.items, share))
    return counts


def _stop_at_count(pattern: Pattern, limit: int, requests: Counts, legs: list[Moving]) -> tuple[Counts, list[Moving]]:
    """A finite job ends with its last request."""
    before = pattern.offered + np.concatenate(([0.0], np.cumsum(requests)[:-1]))
    kept = np.clip(limit - before, 0.0, requests)
    share = np.divide(kept, requests, out=np.zeros(kept.shape), where=requests > 0)
    return kept, [Moving.of(leg.flow, leg.counts * share[:, None]) for leg in legs]


def total_of(arrays: Sequence[Counts], shape: tuple[int, ...]) -> Counts:
    """Sum of equal-shaped arrays; zeros where there are none."""
    if not arrays:
        return np.zeros(shape)
    total = arrays[0]
    for other in arrays[1:]:
        total = total + other
    return total
