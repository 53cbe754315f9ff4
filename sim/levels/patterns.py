"""The access patterns of a scenario in motion: where each lies, and how many requests of it come when. Both levels move these.

Poisson traffic that is divided over partitions is Poisson in each of them, so a stretch is one draw of shape ticks × partitions for each
leg; other traffic is a count per tick, dealt out. What is drawn row by row comes out the same however a run is cut into stretches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sim.clients.retries import make_policy
from sim.errors import Problem, ScenarioError
from sim.keyspace.building import KeySpace, KeySpec
from sim.keyspace.domain import Counts, Floats, Ints
from sim.keyspace.spread import Spread, even, side_by_side
from sim.keyspace.terms import Term, spread_in, terms_of
from sim.levels.arrivals import DAY_S, Integral, even_counts, integral_of
from sim.levels.demand import Demand, Joint, Leg, Tie
from sim.levels.moving import Entry, Flow, Moving, with_entries
from sim.levels.randomness import generator
from sim.levels.tracks import Segments, Tracks, tracks_of_query
from sim.names import Arrivals, Dimension, Operation
from sim.partitions.resource import Resource
from sim.results.phrases import percent
from sim.results.recorder import Recorder
from sim.scenario import Scenario
from sim.scenario.templates import fields_of

_REQUESTS_PER_TICK_MAX = 1e12  # counts are whole 64-bit numbers, times a hundred items of a batch


@dataclass
class Pattern:
    """One access pattern in motion.

    Attributes
    ----------
    integral : requests expected until a second of the run; None for a closed loop, and for what follows another pattern.
    comes : whether anything is to come of it at all.
    offered : requests drawn so far; ``accounted`` of which it is written down what became of them.
    hit_draws : generator of the items that a cache answers; None where there is no cache whose misses are what the flows are.
    """

    demand: Demand
    flows: list[Flow]
    draws: np.random.Generator
    integral: Integral | None
    comes: bool
    offered: float = 0.0
    accounted: float = 0.0
    hit_draws: np.random.Generator | None = None

    @property
    def generators(self) -> list[np.random.Generator]:
        """Whatever its requests are drawn with."""
        own = [self.draws] if self.hit_draws is None else [self.draws, self.hit_draws]
        return [*own, *(g for flow in self.flows for g in (flow.draws, *(entry.draws for entry in flow.entries)))]


@dataclass(frozen=True)
class Drawn:
    """Requests of one pattern per tick of a stretch, and what its legs ask for.

    Attributes
    ----------
    whole : requests before a finite job was cut off within a tick, where its legs are not drawn here.
    hits : items that a cache answered, which are in no leg; None: there is none.
    turned_away : requests that the service rejects for their item collection's size, whose items are not in the legs; None: none.
    """

    pattern: Pattern
    requests: Counts
    legs: list[Moving]
    whole: Counts | None = None
    hits: Counts | None = None
    turned_away: Floats | None = None

    @property
    def tried(self) -> Counts:
        """Requests that reach the table's capacity."""
        return self.requests if self.turned_away is None else self.requests - self.turned_away

    def ticks(self, first: int, last: int) -> Drawn:
        """The same for some of the ticks."""
        if first == 0 and last == len(self.requests):
            return self
        legs = [
            Moving.of(leg.flow, leg.counts[first:last], [cells[first:last] for cells in leg.entries])
            for leg in self.legs
        ]
        whole = None if self.whole is None else self.whole[first:last]
        hits = None if self.hits is None else self.hits[first:last]
        return replace(self, requests=self.requests[first:last], legs=legs, whole=whole, hits=hits)


class Patterns:
    """All access patterns of a scenario on its table and indexes.

    Parameters
    ----------
    stops_at_count : a finite job ends in the middle of a tick's count, which need not be a whole number then; whoever places single
        requests in time says no, and stops by itself.
    """

    def __init__(
        self,
        scenario: Scenario,
        demands: Sequence[Demand],
        resources: Mapping[str, Resource],
        keyspace: KeySpace,
        recorder: Recorder,
        key_names: dict[int, str],
        *,
        stops_at_count: bool = True,
    ) -> None:
        self._stops_at_count = stops_at_count
        self._scenario = scenario
        self._resources = resources
        self._keyspace = keyspace
        self._recorder = recorder
        self._key_names = key_names
        self._now_s = 0.0  # of the last rollover: keys lie where they lay then
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
        flows = [flow for leg in demand.legs for flow in self._flows(demand, leg)]
        integral = None
        if demand.traffic.rate is not None:
            integral = integral_of(demand.traffic, self._day_offset_s, self._recorder.grid.duration_s)
        end_s = self._recorder.grid.duration_s
        comes = integral is None or bool(integral(np.array([end_s]))[0] > 0)
        return Pattern(demand, flows, generator(seed, name, "counts"), integral, comes)

    def _flows(self, demand: Demand, leg: Leg) -> list[Flow]:
        """A leg's flows: one, or one for each term of the law by which its keys hang together with those of indexes."""
        seed, name = self._scenario.seed, demand.traffic.name
        resource = self._resources[leg.resource]
        factor = resource.calibration.eventual_read_ceiling_factor
        flows = []
        for term in self._terms(demand, leg):
            mark = f"{leg.name}[{term.label}]" if term.label else leg.name
            entries = tuple(
                Entry(
                    f"{name}/{mark}/{tie.name}",
                    self._resources[tie.resource],
                    Dimension.WRITE,
                    tie.units,
                    partial(self._spread_of_entry, demand, tie, term),
                    generator(seed, name, mark, tie.name, "entries"),
                    tie.probability,
                    tie.new_bytes,
                )
                for tie in leg.ties
            )
            flows.append(
                Flow(
                    f"{name}/{mark}",
                    resource,
                    leg.dimension,
                    leg.units,
                    partial(self._spread_of, demand, leg, term),
                    leg,
                    demand.joint,
                    generator(seed, name, mark, "places"),
                    1.0 / factor if leg.eventual else 1.0,
                    leg.fraction * term.share,
                    entries,
                )
            )
        return flows

    def _terms(self, demand: Demand, leg: Leg) -> tuple[Term, ...]:
        """The terms of a leg: where an index may push back, it does so for those items alone that go to the hot place."""
        if not leg.ties or leg.spec is None or demand.joint is Joint.ALL:
            return (Term(),)
        keys: list[tuple[KeySpec, frozenset[str] | None]] = [
            (leg.spec, None),
            *((tie.spec, tie.only) for tie in leg.ties),
        ]
        if leg.together:  # a batch under one partition key: its items share no more than that
            keys[0] = (KeySpec(leg.spec.pk, None, leg.spec.where), None)
        also: list[str] = []
        if make_policy(demand.traffic.client).max_attempts > 1:  # what an index refuses comes back to the same place
            also = [
                field
                for tie in leg.ties
                for field in fields_of(tie.spec.pk)
                if field not in dict(tie.spec.where) and (tie.only is None or field in tie.only)
            ]
        return terms_of(self._keyspace, keys, also)

    def _spread_of_entry(self, demand: Demand, tie: Tie, term: Term, at_s: float) -> Spread:
        return self._known(demand, tie.spec, spread_in(self._keyspace, tie.spec, term, at_s, tie.only))

    def _spread_of(self, demand: Demand, leg: Leg, term: Term, at_s: float) -> Spread:
        fixed = demand.traffic.partition
        if fixed is not None:
            whole = self._resources[leg.resource].partitions.lives[fixed].range
            return even(whole.low.hash, whole.high.hash)
        if leg.branches:
            parts = [self._keyspace.spread(spec, at_s) for spec in leg.branches]
            return self._known(demand, leg.branches[0], side_by_side(parts))
        if leg.spec is None:
            return even()
        spread = spread_in(self._keyspace, leg.spec, term, at_s)
        return self._known(demand, leg.spec, spread.stored() if leg.whole else spread)

    def tracks(self, pattern: Pattern) -> Tracks:
        """The ways that a pattern's walks take through the partitions as they are now."""
        flow, walking = pattern.flows[0], pattern.demand.walking
        assert walking is not None, "a pattern that walks"
        flow.place()
        if pattern.demand.traffic.operation is Operation.SCAN:
            return Segments(flow.shares, walking.branches).tracks()
        keys = pattern.demand.legs[0].branches
        if keys and pattern.demand.traffic.partition is None:
            spreads = [self._keyspace.spread(spec, self._now_s) for spec in keys]
        else:
            spreads = [flow.spread] * walking.branches
        return tracks_of_query(spreads, flow.resource.partitions.cuts)

    def _known(self, demand: Demand, spec: KeySpec, spread: Spread) -> Spread:
        self._key_names.update((key.position, key.text) for key in spread.named)
        # Over a million equal keys lie evenly to a thousandth, which is no news to anybody.
        if spread.background > 0 and spread.error > 0 and len(spread.positions):
            self._recorder.warn(
                f"{spec.pk} has more keys than are listed one by one: {len(spread.positions):,} carry "
                f"{percent(1 - spread.background)} of {demand.traffic.name}, the rest lies evenly; "
                f"a large range's share is right to about {spread.error:.1g}"
            )
        return spread

    def roll_over(self, now_s: float) -> None:
        """Lay the traffic anew where a clock field has taken another value."""
        self._now_s = now_s
        for pattern in self.all:
            for flow in pattern.flows:
                for laid in (flow, *flow.entries):
                    laid.lay(now_s, self._recorder)

    def finish(self) -> None:
        """Hand the last tallies to the recorder."""
        for pattern in self.all:
            for flow in pattern.flows:
                flow.place()
                for laid in (flow, *flow.entries):
                    laid.flush_keys(self._recorder)

    def draw(self, edges_s: Floats) -> list[Drawn]:
        """What comes between the edges of some ticks, of every pattern of which anything comes."""
        drawn = (self._draw(pattern, pattern.integral(edges_s)) for pattern in self.all if pattern.integral is not None)
        return [d for d in drawn if d is not None]

    def draw_these(self, pattern: Pattern, requests: Ints) -> Drawn | None:
        """The places of so many requests per tick that follow others; None where there are none."""
        if not requests.any():
            return None
        _refuse_too_many(pattern.demand.traffic.name, float(requests.max()))
        for flow in pattern.flows:
            flow.place()
        return self._to_count(pattern, requests, _legs_of(pattern, requests))

    def _draw(self, pattern: Pattern, cumulative: Floats) -> Drawn | None:
        """Requests per tick, and items per tick and partition of each leg; None when nobody comes."""
        demand = pattern.demand
        expected = np.maximum(np.diff(cumulative), 0.0)
        if not expected.any():
            return None
        _refuse_too_many(demand.traffic.name, float(expected.max()))
        for flow in pattern.flows:
            flow.place()
        poisson = demand.traffic.arrivals is Arrivals.POISSON
        hits: Counts | None = None
        if poisson and demand.joint is Joint.ONE_OF:
            counts = [_poisson(flow, expected) for flow in pattern.flows]
            legs = [Moving.of(flow, count) for flow, count in zip(pattern.flows, counts, strict=True)]
            requests = total_of([leg.by_tick for leg in legs], expected.shape)
            if pattern.hit_draws is not None:
                passes = sum(flow.fraction * flow.passes for flow in pattern.flows)
                hits = pattern.hit_draws.poisson(expected * max(0.0, 1.0 - passes))
                requests = requests + hits
        else:
            whole = pattern.draws.poisson(expected) if poisson else even_counts(cumulative).astype(np.int64)
            requests = whole
            legs = _legs_of(pattern, whole)
            if pattern.hit_draws is not None:
                hits = _answered(pattern, whole, legs)
        return self._to_count(pattern, requests, legs, hits)

    def _to_count(self, pattern: Pattern, requests: Counts, legs: list[Moving], hits: Counts | None = None) -> Drawn:
        """Requests with the index entries of their items, up to the end of a finite job."""
        limit = pattern.demand.traffic.count
        legs = [_with_entries(leg) for leg in legs]
        uncut = requests
        if limit is not None and self._stops_at_count:
            requests, legs = _stop_at_count(pattern, limit, requests, legs)
            if hits is not None:
                hits = hits * np.divide(requests, uncut, out=np.zeros(requests.shape), where=uncut > 0)
        pattern.offered += float(requests.sum())
        return Drawn(pattern, requests, legs, whole=uncut, hits=hits)


def _legs_of(pattern: Pattern, requests: Ints) -> list[Moving]:
    """Whole requests per tick, dealt out to the partitions, without what a cache answers; none of walks, whose pages come as they go on."""
    if pattern.demand.joint is Joint.WALK:
        return []
    divided = _divide(pattern, requests) if pattern.hit_draws is None else _divide_misses(pattern, requests)
    return [Moving.of(flow, count) for flow, count in zip(pattern.flows, divided, strict=True)]


def _answered(pattern: Pattern, requests: Ints, legs: Sequence[Moving]) -> Counts:
    """Items that a cache answers: those that are in no leg."""
    return np.asarray(requests * pattern.flows[0].leg.items - total_of([leg.by_tick for leg in legs], requests.shape))


def _refuse_too_many(name: str, requests: float) -> None:
    if requests > _REQUESTS_PER_TICK_MAX:
        message = f"{name} asks for {requests:.3g} requests in one tick; at most 1e12 can be counted"
        hint = "a shorter tick, or a lower rate"
        raise ScenarioError([Problem(source="scenario", path="tick", message=message, hint=hint)])


def _poisson(flow: Flow, expected: Floats) -> Counts:
    """Items of a leg per tick and partition, where its requests are Poisson with ``expected`` per tick."""
    row = flow.fraction * flow.passes * flow.shares
    if expected.min() == expected.max():  # the same draws, without a matrix of equal rows
        return flow.draws.poisson(expected[0] * row, size=(len(expected), len(row)))
    return flow.draws.poisson(np.multiply.outer(expected, row))


def _with_entries(moving: Moving) -> Moving:
    """The items' index entries, dealt to the partitions of each index."""
    if not moving.flow.entries:
        return moving
    items = np.asarray(moving.by_tick, dtype=np.int64)
    cells = []
    for entry in moving.flow.entries:
        shares = entry.shares * (entry.probability / max(float(entry.shares.sum()), 1e-300))
        taken = np.flatnonzero(shares)
        if len(taken) == 1 and entry.probability >= 1.0:
            dealt = np.zeros((len(items), len(shares)), dtype=np.int64)
            dealt[:, taken[0]] = items
        else:
            absent = max(0.0, 1.0 - float(shares.sum()))
            dealt = entry.draws.multinomial(items, [*shares, absent])[:, :-1]
        cells.append(dealt)
    return with_entries(moving, cells)


def _divide(pattern: Pattern, requests: Ints) -> list[Counts]:
    """Whole requests per tick, dealt out to the partitions as items."""
    flows = pattern.flows
    items = flows[0].leg.items
    if pattern.demand.joint is Joint.EACH and flows[0].leg.together and flows[0].entries and len(flows) > 1:
        # Each batch goes one way whole: its items share the partition key that makes the term.
        cells = np.concatenate([flow.fraction * flow.shares for flow in flows])
        return list(np.split(flows[0].draws.multinomial(requests, cells / cells.sum()) * items, len(flows), axis=1))
    if pattern.demand.joint is Joint.EACH and flows[0].leg.together and len(flows) > 1:
        # First the partition of each batch, then which of its items are missing.
        dealt = flows[0].draws.multinomial(requests, flows[0].shares / flows[0].shares.sum()) * items
        missing = flows[1].draws.binomial(dealt, flows[1].fraction)
        return [dealt - missing, missing]
    if pattern.demand.joint is Joint.ONE_OF or (pattern.demand.joint is Joint.EACH and len(flows) > 1):
        # Legs of which each item takes one, in one deal over all their partitions.
        cells = np.concatenate([flow.fraction * flow.shares for flow in flows])
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


def _divide_misses(pattern: Pattern, requests: Ints) -> list[Counts]:
    """Whole requests per tick, of whose items a cache answers some: the others, dealt out to the partitions."""
    flows = pattern.flows
    assert pattern.hit_draws is not None, "there is a cache"
    items = flows[0].leg.items
    parts = [flow.fraction * flow.passes * flow.shares / max(float(flow.shares.sum()), 1e-300) for flow in flows]
    if flows[0].leg.together:  # a batch under one partition key: its misses lie in one place
        left = pattern.hit_draws.multinomial(requests, flows[0].shares / flows[0].shares.sum()) * items
        counts = []
        of_left = 1.0  # each item takes one leg, or is answered
        for flow in flows:
            part = flow.fraction * flow.passes
            counts.append(flow.draws.binomial(left, min(1.0, part / of_left) if of_left > 0 else 0.0))
            left = left - counts[-1]
            of_left -= part
        return counts
    cells = np.concatenate(parts)
    answered = max(0.0, 1.0 - float(cells.sum()))
    dealt = pattern.hit_draws.multinomial(requests * items, [*cells, answered])[:, :-1]
    return list(np.split(dealt, len(flows), axis=1))


def _stop_at_count(pattern: Pattern, limit: int, requests: Counts, legs: list[Moving]) -> tuple[Counts, list[Moving]]:
    """A finite job ends with its last request."""
    before = pattern.offered + np.concatenate(([0.0], np.cumsum(requests)[:-1]))
    kept = np.clip(limit - before, 0.0, requests)
    share = np.divide(kept, requests, out=np.zeros(kept.shape), where=requests > 0)
    return kept, [leg.thinned(share) for leg in legs]


def total_of(arrays: Sequence[Counts], shape: tuple[int, ...]) -> Counts:
    """Sum of equal-shaped arrays; zeros where there are none."""
    if not arrays:
        return np.zeros(shape)
    total = arrays[0]
    for other in arrays[1:]:
        total = total + other
    return total
