"""The flow level: traffic as counts per tick, never as requests. Cost grows with ticks × partitions, not with the rate or the keys.

Poisson traffic that is divided over partitions is Poisson in each of them, so a stretch between two control events is one draw of shape
ticks × partitions for each leg. What is drawn row by row comes out the same however a run is cut into stretches, and the units are whole
grains (`sim.partitions.bucket`), so a run gives the same bytes at any stretch height.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sim.clients.quota import FluidQuota
from sim.clients.retries import make_policy
from sim.keyspace.building import KeySpace
from sim.keyspace.domain import Counts, Floats
from sim.levels.cohorts import Cohorts, Tally
from sim.levels.conflicts import at_work
from sim.levels.coupled import settle_coupled
from sim.levels.demand import Demand, Joint
from sim.levels.fanout import Fanout, first_difference, nearer
from sim.levels.itemcollections import ItemCollections, collection_bytes
from sim.levels.laid import Laid
from sim.levels.latencies import latency_law
from sim.levels.moving import (
    Booleans,
    Fate,
    Flow,
    Moving,
    Refusals,
    alike_shares,
    events_by_limit,
    fate_of,
    fate_with_blocked,
    nothing_served,
    refusals_of,
    refused_shares,
    with_entries,
)
from sim.levels.patterns import Drawn, Pattern, Patterns, total_of
from sim.levels.together import joint_groups, settle_together
from sim.levels.walkers import Walkers
from sim.limits import TRANSACTION_ITEMS_MAX
from sim.names import TABLE, TRANSACTION_OPERATIONS, Dimension, ErrorName, Limit, throttling_error
from sim.partitions.bucket import grains
from sim.partitions.lane import Demand as LaneDemand
from sim.partitions.lane import Lane, Verdict
from sim.partitions.resource import Resource
from sim.results.recorder import Recorder
from sim.scenario import Scenario

if TYPE_CHECKING:
    from sim.levels.caching import Caching

STRETCH_TICKS = 256  # rows drawn at a time: arrays that stay in the processor's cache
_LEGS_MAX = TRANSACTION_ITEMS_MAX  # legs of a transaction that may add up
_WALK_ENDED = 0.5  # walks of a finite job that may be left when it is more likely than not that none is
_BALANCE_ROUNDS_MAX = 8  # for a tick that followers share with their leaders; what is wrong then is carried on
_AT_WORK_MAX = 0.01  # transactions at work on one item at a time, above which conflicts are worth a word
_LARGE_ITEM_FRACTION = 0.1  # an attempt over this part of a bucket makes counts per tick a rough picture


_SHARED_TICKS = (
    "leaders of requests that follow (`follows`) met refusals: within a tick leaders and followers are refused alike at this level; "
    'in truth the followers of one leader come together and after it, as level = "request" has it'
)


@dataclass
class _Bundle:
    """Lanes that are settled together: the home of the legs, and the lanes of the indexes that their writes go to.

    Attributes
    ----------
    home : the table, or the index that is read.
    resources : all of them, the home first.
    mix : what attempts cost, and what it was made from.
    """

    dimension: Dimension
    resources: dict[str, Resource]
    mix: tuple[tuple[object, ...], _Mix] | None = field(default=None)

    @property
    def home(self) -> Resource:
        return next(iter(self.resources.values()))

    @property
    def lane(self) -> Lane:
        """Of the home."""
        return self.home.lanes[self.dimension]

    @property
    def lanes(self) -> dict[str, Lane]:
        return {name: resource.lanes[self.dimension] for name, resource in self.resources.items()}

    def rest(self, ticks: int, tick_s: float, but: Collection[str] = ()) -> None:
        """Let so many ticks pass in lanes of which nothing is asked, all but some."""
        for name, lane in self.lanes.items():
            if name not in but:
                lane.rest(ticks, tick_s)


@dataclass(frozen=True)
class _Outcome:
    """What one lane did with a stretch: what reached it, and what it refused of that (None: nothing)."""

    reached: LaneDemand
    verdict: Verdict | None


@dataclass
class _Trial:
    """What became of ticks [first, last), before it is written down.

    Attributes
    ----------
    drawn : what came.
    settled : per bundle the attempts that were made, and what each lane did.
    fates, tallies : by the identity of a flow, what became of a leg that met a refusal, or that retries.
    free : legs that cost nothing.
    followed : by the identity of a pattern that follows another, how many of it were due.
    """

    first: int
    last: int
    drawn: list[Drawn]
    tick_s: float
    settled: list[tuple[_Bundle, list[Moving], dict[str, _Outcome]]] = field(default_factory=list)
    fates: dict[int, Fate] = field(default_factory=dict)
    tallies: dict[int, Tally] = field(default_factory=dict)
    free: list[Moving] = field(default_factory=list)
    followed: dict[int, Counts] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def moved(self) -> list[Moving]:
        """All legs' attempts: those that met a lane, and those that cost nothing."""
        return [*(moving for _, tried, _ in self.settled for moving in tried), *self.free]


@dataclass(frozen=True)
class _Mark:
    """Where everything stood that a trial moves."""

    levels: list[list[Floats]]
    cohorts: dict[int, tuple[dict[int, Floats], tuple[int, ...], float]]
    walkers: dict[int, tuple[object, ...]]
    offered: list[float]
    generators: list[Mapping[str, object]]


class FlowLevel:
    """Moves all traffic of a scenario through its table and indexes. Its one verb is `advance`."""

    def __init__(
        self,
        scenario: Scenario,
        demands: Sequence[Demand],
        resources: Mapping[str, Resource],
        keyspace: KeySpace,
        recorder: Recorder,
        key_names: dict[int, str],
        *,
        stretch_ticks: int = STRETCH_TICKS,
    ) -> None:
        self._resources = resources
        self._recorder = recorder
        self._grid = recorder.grid
        self._stretch_ticks = stretch_ticks
        self._patterns = Patterns(scenario, demands, resources, keyspace, recorder, key_names)
        self._caching: Caching | None = None
        if scenario.dax is not None:
            from sim.levels.caching import Caching  # where it is used, so that `import sim` stays quick

            self._caching = Caching(scenario, self._patterns.all, keyspace, recorder)
        self._bundles = [
            *(_Bundle(Dimension.READ, {name: resource}) for name, resource in resources.items()),
            _Bundle(Dimension.WRITE, dict(resources)),
        ]
        self._walkers: dict[int, Walkers] = {}
        for pattern in self._patterns.all:
            if pattern.demand.joint is Joint.WALK and not pattern.demand.invalid:
                latency_s = latency_law(pattern.demand, pattern.flows[0].resource.calibration).mean_s
                self._walkers[id(pattern)] = Walkers(self._patterns, pattern, latency_s, recorder.grid.tick_s)
        self._cohorts: dict[int, Cohorts] = {}
        for pattern in self._patterns.all:
            self._cohorts |= self._set_out_cohorts(pattern)
        self._fanout = Fanout(self._patterns.all, self._grid)
        self._collections = ItemCollections(
            self._patterns.all, resources[TABLE], collection_bytes(scenario, resources[TABLE]), scenario.seed
        )
        self._warn_of_large_items()
        self._warn_of_conflicts()

    def _warn_of_large_items(self) -> None:
        for pattern in self._patterns.all:
            if id(pattern) in self._walkers:
                continue
            for flow in pattern.flows:
                for laid in (flow, *flow.entries):
                    depth = _shallowest(laid.resource.lanes[laid.dimension])
                    if laid.units > _LARGE_ITEM_FRACTION * depth:
                        where = "" if laid.resource.name == TABLE else f" of {laid.resource.name}"
                        self._recorder.warn(
                            f"{pattern.demand.traffic.name}: one attempt costs {laid.units:g} units, over a tenth of a "
                            f"bucket of {depth:g}{where}; counts per tick are a rough picture of so few and large items, "
                            "the request level is the exact one"
                        )
        for walkers in self._walkers.values():
            depth = _shallowest(walkers.flows[0].resource.lanes[Dimension.READ])
            if walkers.units_per_tick > _LARGE_ITEM_FRACTION * depth:
                self._recorder.warn(
                    f"{walkers.pattern.demand.traffic.name}: the pages of one request cost {walkers.units_per_tick:,.4g} units within a "
                    f"tick, over a tenth of a bucket of {depth:g}; where they find it dry, counts per tick are a rough picture of which "
                    "requests are broken off, the request level is the exact one"
                )

    def _warn_of_conflicts(self) -> None:
        for pattern in self._patterns.all:
            busy = at_work(pattern, self._grid)
            if busy > _AT_WORK_MAX:
                self._recorder.warn(
                    f"{pattern.demand.traffic.name}: {busy:,.3g} transactions are at work on one item at a time, so about "
                    f"{busy / (1 + busy):.0%} of them would find it taken and fail with TransactionCanceledException; this level does not "
                    'count them, level = "request" does'
                )

    def roll_over(self, now_s: float) -> None:
        """Lay the traffic anew where a clock field has taken another value."""
        self.wake(now_s)
        self._patterns.roll_over(now_s)

    @property
    def wakes_s(self) -> Sequence[float]:
        """When `wake` is to be called: where what a cache leaves to the table changes."""
        return () if self._caching is None else self._caching.edges_s[1:-1]

    def wake(self, now_s: float) -> None:
        """Lay what a cache leaves to the table where it lies from now on."""
        if self._caching is not None:
            self._caching.wake(now_s)

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
        drawn = self._patterns.draw(edges_s)
        if self._caching is not None:
            drawn = self._caching.admit(drawn, first, tick_s)
        if self._fanout.links or self._collections:
            self._in_pieces(first, last, tick_s, drawn)
        else:
            self._accept(self._try(first, last, tick_s, drawn, {}))

    def _try(
        self, first: int, last: int, tick_s: float, drawn: list[Drawn], foreseen: Mapping[int, list[Moving]]
    ) -> _Trial:
        """Let the lanes serve a stretch. Nothing of it is written down yet, so that it can still be taken back.

        ``foreseen``: the pages of walks, as far as they are known, by the identity of their pattern.
        """
        trial = _Trial(first, last, drawn, tick_s)
        by_flow = {id(leg.flow): leg for one in drawn for leg in one.legs}
        came = {id(one.pattern): one for one in drawn}
        for mark in self._walkers:
            pages = foreseen.get(mark)
            pages = self._foresee(mark, came.get(mark), last - first) if pages is None else pages
            by_flow |= {id(leg.flow): leg for leg in pages}
        for bundle in self._bundles:
            moving, owners = self._moving_in(bundle, by_flow, last - first)
            if moving:
                self._settle(bundle, moving, owners, trial)
            else:
                bundle.rest(last - first, tick_s)
        met = {id(moving.flow) for moving in trial.moved}
        valid = [leg for one in drawn if not one.pattern.demand.invalid for leg in one.legs]
        trial.free = [leg for leg in valid if id(leg.flow) not in met and leg.flow.leg.new_bytes]
        return trial

    def _foresee(self, mark: int, drawn: Drawn | None, ticks: int) -> list[Moving]:
        """The pages of a pattern's walks in a stretch, if all are served."""
        none = np.zeros(ticks)
        requests, whole = (none, none) if drawn is None else (drawn.requests, drawn.whole)
        return self._walkers[mark].foresee(requests, requests if whole is None else whole)

    def _accept(self, trial: _Trial) -> None:
        """Write down what became of a stretch."""
        first, ticks = trial.first, trial.last - trial.first
        for resource in self._resources.values():
            end_s = min(trial.last * self._grid.tick_s, self._grid.duration_s)
            resource.observed_s += end_s - first * self._grid.tick_s
        for sentence in trial.warnings:
            self._recorder.warn(sentence)
        for bundle, tried, outcomes in trial.settled:
            self._write_down(bundle, tried, outcomes, first, trial.fates)
        for leg in trial.free:
            leg.flow.resource.has_grown = True
            leg.flow.resource.stored_bytes += leg.by_column * leg.flow.leg.new_bytes
        came = {id(drawn.pattern): drawn for drawn in trial.drawn}
        for pattern in self._patterns.all:
            drawn_here = came.get(id(pattern))
            if self._caching is not None and drawn_here is not None:
                self._caching.account(drawn_here, first)
            if id(pattern) in self._walkers:
                self._account_walked(self._walkers[id(pattern)], drawn_here, first, trial.fates)
                continue
            mine = [trial.tallies[id(flow)] for flow in pattern.flows if id(flow) in trial.tallies]
            if mine:
                drawn_here = drawn_here or Drawn(pattern, np.zeros(ticks), [])
                self._account_retried(drawn_here, mine, first, trial.fates)
            elif drawn_here is not None:
                self._account(drawn_here, first, trial.fates)

    # What follows other patterns (`sim.levels.fanout` says how), and collections that become full.

    def _in_pieces(self, first: int, last: int, tick_s: float, drawn: list[Drawn]) -> None:
        """Settle a stretch with what only its own course decides, in as long pieces as are right."""
        at, height = first, last - first
        while at < last:
            self._collections.settle_down()
            mark = self._mark()
            end = min(at + height, last)
            height = min(2 * height, last - first)
            while True:
                here = [one.ticks(at - first, end - first) for one in drawn]
                trial, assumed = self._try_with_followers(at, end, tick_s, here, {})
                found = self._leaders_served(trial)
                wrong = first_difference(assumed, found)
                right = end if wrong is None else min(end, at + wrong + self._fanout.lag)
                if wrong is not None:
                    height = max(self._fanout.lag, 1)
                changed = self._collections.first_change(trial.moved, trial.fates)
                if changed is not None:  # a collection is full, or has room again, from the next tick on
                    right = min(right, at + changed + 1)
                if right == end or end == at + 1:
                    break
                end = max(right, at + 1)
                self._go_back(mark)
            if wrong is not None:
                self._recorder.warn(_SHARED_TICKS)
            if right == at:
                trial, found = self._balance_tick(at, tick_s, here, mark, assumed, found, trial)
            self._collections.accept(trial.moved, trial.fates)
            for link in self._fanout.links:
                link.accept(at, found[id(link.leader)], trial.followed[id(link.pattern)])
            self._accept(trial)
            at = end

    def _balance_tick(
        self,
        tick: int,
        tick_s: float,
        drawn: list[Drawn],
        mark: _Mark,
        assumed: dict[int, Floats],
        found: dict[int, Floats],
        trial: _Trial,
    ) -> tuple[_Trial, dict[int, Floats]]:
        """Find how many leaders are served in a tick that their followers share."""
        before: tuple[dict[int, Floats], dict[int, Floats]] | None = None
        for _ in range(_BALANCE_ROUNDS_MAX):
            if self._fanout.are_alike(assumed, found):
                break
            better = nearer(assumed, found, before)
            before = (assumed, found)
            self._go_back(mark)
            trial, assumed = self._try_with_followers(tick, tick + 1, tick_s, drawn, better)
            found = self._leaders_served(trial)
        return trial, found

    def _try_with_followers(
        self, first: int, last: int, tick_s: float, drawn: list[Drawn], assumed: Mapping[int, Floats]
    ) -> tuple[_Trial, dict[int, Floats]]:
        """Try a stretch with its followers, if of each leader so many are served as ``assumed``, or else all."""
        came = {id(one.pattern): self._collections.turn_away(one) for one in drawn}
        followed: dict[int, Counts] = {}
        foreseen: dict[int, list[Moving]] = {}
        leaders: dict[int, Floats] = {}
        for link in self._fanout.links:
            leader = id(link.leader)
            if leader not in leaders:
                if leader in self._walkers:
                    foreseen[leader] = self._foresee(leader, came.get(leader), last - first)
                    every = self._walkers[leader].progress.succeeded
                else:
                    every = _if_all_are_served(came.get(leader), link.leader, last - first)
                leaders[leader] = assumed.get(leader, every)
            sent = followed[id(link.pattern)] = link.come(first, leaders[leader])
            drawn_after = self._patterns.draw_these(link.pattern, sent)
            if drawn_after is not None:
                came[id(link.pattern)] = self._collections.turn_away(drawn_after)
        trial = self._try(first, last, tick_s, list(came.values()), foreseen)
        trial.followed = followed
        return trial, leaders

    def _leaders_served(self, trial: _Trial) -> dict[int, Floats]:
        """How many requests of each leader succeeded, per tick."""
        came = {id(drawn.pattern): drawn for drawn in trial.drawn}
        served = {}
        for pattern in self._fanout.leaders:
            if id(pattern) in self._walkers:
                served[id(pattern)] = self._walkers[id(pattern)].progress.succeeded
                continue
            tallies = [trial.tallies[id(flow)] for flow in pattern.flows if id(flow) in trial.tallies]
            drawn = came.get(id(pattern))
            if pattern.demand.invalid or (drawn is None and not tallies):
                served[id(pattern)] = np.zeros(trial.last - trial.first)
                continue
            if tallies:
                passed = total_of([tally.succeeded for tally in tallies], (trial.last - trial.first,))
            else:
                assert drawn is not None, "either something came or something returned"
                passed = drawn.tried - _throttled(drawn, trial.fates)
            served[id(pattern)] = passed - grains(passed * pattern.demand.condition_fails)
        return served

    def _mark(self) -> _Mark:
        """Where everything stands that a trial moves."""
        followers = [link.pattern for link in self._fanout.links]
        return _Mark(
            [lane.levels() for resource in self._resources.values() for lane in resource.lanes.values()],
            {key: cohorts.mark() for key, cohorts in self._cohorts.items()},
            {key: walkers.mark() for key, walkers in self._walkers.items()},
            [pattern.offered for pattern in followers],
            [draws.bit_generator.state for draws in self._drawn_in_trials()],
        )

    def _drawn_in_trials(self) -> list[np.random.Generator]:
        of_followers = [draws for link in self._fanout.links for draws in link.pattern.generators]
        of_walks = [walkers.flows[0].draws for walkers in self._walkers.values()]
        return [*of_followers, *of_walks, *self._collections.generators]

    def _go_back(self, mark: _Mark) -> None:
        lanes = [lane for resource in self._resources.values() for lane in resource.lanes.values()]
        for lane, levels in zip(lanes, mark.levels, strict=True):
            lane.restore(levels)
        for key, cohorts in self._cohorts.items():
            cohorts.restore(mark.cohorts[key])
        for key, walkers in self._walkers.items():
            walkers.restore(mark.walkers[key])
        followers = [link.pattern for link in self._fanout.links]
        for pattern, offered in zip(followers, mark.offered, strict=True):
            pattern.offered = offered
        for one, state in zip(self._drawn_in_trials(), mark.generators, strict=True):
            one.bit_generator.state = state

    def _moving_in(
        self, bundle: _Bundle, drawn: Mapping[int, Moving], ticks: int
    ) -> tuple[list[Moving], list[Pattern]]:
        """The legs that move in a bundle's home: those of which something came, or of which attempts are on their way back."""
        moving, owners = [], []
        columns = len(bundle.home.partitions)
        for pattern in self._patterns.all:
            if pattern.demand.invalid:
                continue
            for flow in pattern.flows:
                if flow.dimension is not bundle.dimension or flow.resource is not bundle.home:
                    continue
                on_its_way = id(flow) in self._cohorts and not self._cohorts[id(flow)].is_empty
                costs = flow.units > 0 or any(entry.units > 0 for entry in flow.entries)
                if not costs or not (id(flow) in drawn or on_its_way):
                    continue  # what costs nothing is never refused
                flow.place()
                nothing = [np.zeros((ticks, len(entry.shares))) for entry in flow.entries]
                moving.append(drawn.get(id(flow)) or Moving.of(flow, np.zeros((ticks, columns)), nothing))
                owners.append(pattern)
        return moving, owners

    # Retries.

    def _set_out_cohorts(self, pattern: Pattern) -> dict[int, Cohorts]:
        """What retries of a pattern's legs; nothing where its client does not retry, or is never refused as one attempt."""
        policy = make_policy(pattern.demand.traffic.client)
        if policy.max_attempts == 1 or pattern.demand.joint is not Joint.ONE_OF or pattern.demand.invalid:
            return {}
        if pattern.demand.traffic.operation in TRANSACTION_OPERATIONS:
            return {}  # no SDK retries a cancelled transaction
        quota = None if policy.quota_costs is None else FluidQuota(pattern.demand.traffic.clients)
        latency_s = latency_law(pattern.demand, pattern.flows[0].resource.calibration).mean_s
        return {
            id(flow): Cohorts(flow, policy, quota, latency_s, self._grid.tick_s, flow.resource.mode)
            for flow in pattern.flows
            if flow.units > 0
        }

    def _retries_in(self, bundle: _Bundle) -> bool:
        return any(
            c.flow.dimension is bundle.dimension and c.flow.resource is bundle.home for c in self._cohorts.values()
        )

    def _account_retried(self, drawn: Drawn, tallies: Sequence[Tally], first: int, fates: Mapping[int, Fate]) -> None:
        """Requests, attempts and errors of a pattern whose attempts return."""
        pattern, requests, hits = drawn.pattern, drawn.requests, drawn.hits
        record = self._recorder.traffic[pattern.demand.traffic.name]
        self._note_finish(pattern, first, requests)
        if drawn.turned_away is not None:
            record.add(first, attempts=drawn.turned_away)
            record.fail(ErrorName.COLLECTION_SIZE, float(drawn.turned_away.sum()))
        shape = requests.shape
        succeeded = total_of([t.succeeded for t in tallies], shape)
        throttled = total_of([t.throttled for t in tallies], shape)
        met = [fates[id(flow)] for flow in pattern.flows if id(flow) in fates]
        unmet = grains(succeeded * pattern.demand.condition_fails)
        record.add(
            first,
            offered=np.asarray(requests, dtype=float),
            attempts=total_of([t.attempts for t in tallies], shape),
            succeeded=succeeded - unmet if hits is None else succeeded - unmet + hits,
            throttled=throttled,
            throttle_events=grains(total_of([fate.events for fate in met], shape)),
            unmet=unmet,
        )
        if hits is not None:
            record.add(first, spared=np.asarray(hits, dtype=float))
        record.fail(ErrorName.CONDITIONAL_CHECK, float(unmet.sum()))
        for tally in tallies:
            for error, counts in tally.failed.items():
                record.fail(error, float(counts.sum()))

    # Lanes that hang together.

    def _settle(
        self,
        bundle: _Bundle,
        moving: list[Moving],
        owners: list[Pattern],
        trial: _Trial,
    ) -> None:
        """Let lanes serve what is asked of them, and note what they did, and what became of each leg that met a refusal."""
        first, tick_s = trial.first, trial.tick_s
        lane = bundle.lane
        blocked = self._blocked(lane, moving, owners)
        barred = self._barred(bundle, moving)
        fitting = _fitting(moving, blocked, barred)
        mix = self._mix(bundle)
        demands = self._demands(bundle, fitting, mix)
        lanes = {name: bundle.resources[name].lanes[bundle.dimension] for name in demands}
        calm = fitting is moving and not self._something_returns(moving)
        walks = list({id(p): self._walkers[id(p)] for p in owners if id(p) in self._walkers}.values())
        comes_again = bool(walks) or self._retries_in(bundle)
        outcomes: dict[str, _Outcome] | None = None
        if mix.joint or comes_again:  # either all is served, or each tick has to be balanced
            if (calm or not comes_again) and all(lanes[n].serves_all(asked, tick_s) for n, asked in demands.items()):
                outcomes = _settle_each(lanes, demands, tick_s)
        elif len(demands) == 1:
            outcomes = _settle_each(lanes, demands, tick_s)
        elif (reached := settle_coupled(lanes, demands, fitting, tick_s)) is not None:
            outcomes = {name: _Outcome(*pair) for name, pair in reached.items()}
        tried = moving
        if outcomes is not None:
            for walk in walks:
                walk.serve_all()
        else:
            for walk in walks:
                walk.begin_again()
            tried, outcomes = self._settle_together(
                lanes, moving, owners, blocked, barred, first, tick_s, trial.tallies, walks
            )
            fitting = _fitting(tried, blocked, barred)
        bundle.rest(len(moving[0].counts), tick_s, but=outcomes)
        fates = self._fates(bundle, fitting, mix, outcomes, trial.warnings)
        if fitting is not tried:
            for k, m in enumerate(tried):
                never = np.zeros(m.counts.shape[1], dtype=bool) if blocked is None else blocked[k]
                if never.any() or any(barred[k]):  # more than the emptiest bucket can ever hold: refused for ever
                    limit, other = self._blocking_limit(lane, m.units), fates.get(id(m.flow))
                    fates[id(m.flow)] = fate_with_blocked(m, never, limit, barred[k], other)
        trial.settled.append((bundle, tried, outcomes))
        trial.fates |= fates

    def _demands(self, bundle: _Bundle, moving: Sequence[Moving], mix: _Mix) -> dict[str, LaneDemand]:
        """What is asked of each lane, the home's first; of an index only where a write goes there."""
        shape = moving[0].counts.shape
        units = total_of([m.counts * m.units for m in moving], shape)
        demands = {
            bundle.home.name: LaneDemand(
                units,
                _ceiling_ratio(moving, units),
                mix.quantum,
                None if mix.costs is None or mix.indexes else [_units_at(moving, cost, shape) for cost in mix.costs],
                total_of([m.by_column * m.units for m in moving], shape[1:]),
                total_of([m.by_tick * m.units for m in moving], shape[:1]),
            )
        }
        for name, resource in bundle.resources.items():
            if name in mix.indexes:
                width = len(resource.partitions)
                asked = total_of(
                    [
                        cells * entry.units
                        for m in moving
                        for entry, cells in zip(m.flow.entries, m.entries, strict=True)
                        if entry.resource is resource
                    ],
                    (shape[0], width),
                )
                demands[name] = LaneDemand(np.asarray(asked, dtype=float), None, np.zeros(width))
        return demands

    def _something_returns(self, moving: Sequence[Moving]) -> bool:
        cohorts = [self._cohorts[id(m.flow)] for m in moving if id(m.flow) in self._cohorts]
        for one in cohorts:
            one.follow_splits()
        return any(not one.is_empty for one in cohorts)

    def _settle_together(
        self,
        lanes: Mapping[str, Lane],
        moving: list[Moving],
        owners: list[Pattern],
        blocked: list[Booleans] | None,
        barred: Sequence[Sequence[Limit | None]],
        first: int,
        tick_s: float,
        tallies: dict[int, Tally],
        walks: Sequence[Walkers],
    ) -> tuple[list[Moving], dict[str, _Outcome]]:
        """Balance a stretch tick by tick; gives the attempts that were made, and what each lane did."""
        columns = moving[0].counts.shape[1]
        never = [np.zeros(columns, dtype=bool)] * len(moving) if blocked is None else blocked
        done = settle_together(
            lanes,
            moving,
            joint_groups(moving, owners),
            [self._cohorts.get(id(m.flow)) for m in moving],
            [(~b).astype(float) for b in never],
            [[limit is not None for limit in limits] for limits in barred],
            first,
            tick_s,
            walks,
        )
        for m, tally in zip(moving, done.tallies, strict=True):
            if tally is not None:
                tallies[id(m.flow)] = tally
        outcomes = {}
        for name, outcome in zip(lanes, done.lanes, strict=True):
            verdict = outcome.verdict if any(amount.any() for amount in outcome.verdict.refused.values()) else None
            demand = LaneDemand(outcome.reached, None, np.zeros(outcome.reached.shape[1]))
            outcomes[name] = _Outcome(demand, verdict)
        return done.attempts, outcomes

    def _fates(
        self,
        bundle: _Bundle,
        moving: Sequence[Moving],
        mix: _Mix,
        outcomes: Mapping[str, _Outcome],
        warnings: list[str],
    ) -> dict[int, Fate]:
        """What became of each leg, by the identity of its flow; nothing where all was served."""
        if all(outcome.verdict is None for outcome in outcomes.values()):
            return {}
        home = outcomes[bundle.home.name]
        shares: list[dict[Limit, Floats]] = [{}] * len(moving)
        if home.verdict is not None:
            by_cost = mix.costs is not None and not (mix.joint or mix.walks or mix.indexes or self._retries_in(bundle))
            if mix.costs is not None:
                warnings.append(_of_mixed_costs(" (the cheaper before the dearer)" if by_cost else ""))
            shares = refused_shares(home.verdict, home.reached.units, moving, by_cost=by_cost)
        at_index = {
            name: (outcome.verdict.columns, alike_shares(outcome.verdict, outcome.reached.units))
            for name, outcome in outcomes.items()
            if name != bundle.home.name and outcome.verdict is not None
        }
        if mix.mixed & at_index.keys():
            warnings.append(_of_mixed_costs(""))
        fates = {}
        for m, share in zip(moving, shares, strict=True):
            refusals = refusals_of(m.counts, home.verdict.columns, share) if home.verdict is not None else ()
            at_entries = tuple(
                refusals_of(cells, *at_index[entry.resource.name]) if entry.resource.name in at_index else ()
                for entry, cells in zip(m.flow.entries, m.entries, strict=True)
            )
            if refusals or any(at_entries):
                fates[id(m.flow)] = fate_of(m, refusals, at_entries)
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

    def _barred(self, bundle: _Bundle, moving: Sequence[Moving]) -> list[list[Limit | None]]:
        """For each leg and each of its index entries the limit that it never passes: it costs more than a bucket of the index holds."""
        return [
            [
                self._blocking_limit(lane, entry.units)
                if entry.units > min(lane.largest_cost(), lane.least_depth()) - lane.columns[0].buckets.floor
                else None
                for entry in m.flow.entries
                for lane in (bundle.resources[entry.resource.name].lanes[bundle.dimension],)
            ]
            for m in moving
        ]

    def _blocking_limit(self, lane: Lane, units: float) -> Limit:
        gates = [*lane.totals, *lane.columns]
        return next((g.limit for g in gates if float(g.buckets.depth.min()) < units), gates[0].limit)

    def _mix(self, bundle: _Bundle) -> _Mix:
        """What attempts in a bundle's home cost, partition by partition: a matter of the patterns, not of who comes just now."""
        flows = [
            flow
            for pattern in self._patterns.all
            if pattern.comes and not pattern.demand.invalid
            for flow in pattern.flows
            if flow.dimension is bundle.dimension and flow.resource is bundle.home and flow.units > 0
        ]
        for flow in flows:
            flow.place()
        key = (bundle.home.version, *(flow.layout for flow in flows))
        if bundle.mix is None or bundle.mix[0] != key:
            bundle.mix = (key, _mix_of(flows, len(bundle.home.partitions)))
        return bundle.mix[1]

    def _write_down(
        self,
        bundle: _Bundle,
        moving: list[Moving],
        outcomes: Mapping[str, _Outcome],
        first: int,
        fates: Mapping[int, Fate],
    ) -> None:
        for name, outcome in outcomes.items():
            resource = bundle.resources[name]
            asked: list[tuple[Laid, Counts, Counts, Counts, tuple[Refusals, ...], float]] = []
            for m in moving:
                fate = fates.get(id(m.flow))
                if resource is bundle.home:
                    refusals = () if fate is None else fate.refusals
                    asked.append((m.flow, m.counts, m.by_tick, m.by_column, refusals, m.flow.leg.new_bytes))
                for e, (entry, cells) in enumerate(zip(m.flow.entries, m.entries, strict=True)):
                    if entry.resource is resource:
                        refusals = () if fate is None else fate.at_entries[e]
                        sums = (cells.sum(axis=1), cells.sum(axis=0))
                        asked.append((entry, cells, *sums, refusals, entry.new_bytes))
            self._write_down_lane(resource, bundle.dimension, asked, outcome, first)

    def _write_down_lane(
        self,
        resource: Resource,
        dimension: Dimension,
        asked: list[tuple[Laid, Counts, Counts, Counts, tuple[Refusals, ...], float]],
        outcome: _Outcome,
        first: int,
    ) -> None:
        """Units, throttle events, keys and bytes of one lane: of each traffic its items, their sums, its refusals, bytes of each."""
        record = self._recorder.resources[resource.name].lanes[dimension]
        numbers = resource.partitions.numbers
        reached, verdict = outcome.reached, outcome.verdict
        offered_by_tick = total_of([by_tick * laid.units for laid, _, by_tick, _, _, _ in asked], reached.by_tick.shape)
        offered_by_column = total_of(
            [by_column * laid.units for laid, _, _, by_column, _, _ in asked], reached.by_column.shape
        )
        served_by_tick, served_by_column = reached.by_tick, reached.by_column
        if verdict is not None:
            lost = reached.units[:, verdict.columns] - verdict.served
            served_by_tick = served_by_tick - lost.sum(axis=1)
            served_by_column = np.array(served_by_column, dtype=float)
            served_by_column[verdict.columns] -= lost.sum(axis=0)

        def served() -> Floats:
            if verdict is None:
                return reached.units
            units = reached.units.copy()
            units[:, verdict.columns] = verdict.served
            return units

        record.add_units(first, offered_by_tick, served_by_tick)
        record.add_partitions(first, len(served_by_tick), numbers, served_by_column, served)
        seen = resource.observed[dimension]
        seen.offered += offered_by_column
        seen.consumed += served_by_column
        refused_by_column = np.zeros(len(numbers))
        events_of: list[Floats | None] = []
        for laid, counts, by_tick, _, refusals, new_bytes in asked:
            resource.note_load(dimension, laid.name, laid.spread, float(by_tick.sum()) * laid.units)
            events_by_column = None
            for one in refusals:
                span = record.add_throttles(first, numbers[one.columns], one.limit, one.cells)
                if span is not None:
                    self._recorder.note_throttle(*span)
                    if events_by_column is None:
                        events_by_column = np.zeros(len(numbers))
                    events_by_column[one.columns] += one.cells.sum(axis=0)
            events_of.append(events_by_column)
            if events_by_column is not None:
                refused_by_column += events_by_column * laid.units
            if new_bytes:
                offered = total_of([cells * other.units for other, cells, *_ in asked], reached.units.shape)
                share = np.divide(served(), offered, out=np.ones(reached.units.shape), where=offered > 0)
                resource.has_grown = True
                resource.stored_bytes += (counts * share).sum(axis=0) * new_bytes
        # What was neither served nor refused here was refused elsewhere: of all traffic alike.
        back = np.maximum(offered_by_column - served_by_column - refused_by_column, 0.0)
        share_back = np.divide(back, offered_by_column, out=np.zeros(len(numbers)), where=offered_by_column > 0)
        for (laid, _, _, by_column, _, _), events_here in zip(asked, events_of, strict=True):
            laid.note_keys(by_column, events_here, by_column * share_back if back.any() else None)

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
        transaction = demand.traffic.operation in TRANSACTION_OPERATIONS
        if drawn.turned_away is not None:
            error = ErrorName.TRANSACTION_CANCELED if transaction else ErrorName.COLLECTION_SIZE
            record.add(first, offered=drawn.turned_away, attempts=drawn.turned_away)
            record.fail(error, float(drawn.turned_away.sum()))
            requests = drawn.tried
        if drawn.hits is not None:
            self._account_misses(drawn, first, [fate for _, fate in met])
            return
        if not met and not demand.condition_fails:
            record.add_served(first, requests)
            return
        events = total_of([fate.events for _, fate in met], requests.shape)
        refused = total_of([fate.refused for _, fate in met], requests.shape)
        items = pattern.flows[0].leg.items
        throttled, events = _throttled(drawn, fates), grains(events)  # so that sums are exact however the run is cut
        passed = requests - throttled
        unmet = grains(passed * demand.condition_fails)
        record.add(
            first,
            offered=requests,
            succeeded=passed - unmet,
            attempts=requests,
            throttled=throttled,
            throttle_events=events,
            unmet=unmet,
        )
        failed_condition = ErrorName.TRANSACTION_CANCELED if transaction else ErrorName.CONDITIONAL_CHECK
        record.fail(failed_condition, float(unmet.sum()))
        if demand.joint is Joint.EACH:
            record.unprocessed += float((grains(refused) - throttled * items).sum())
        self._fail(pattern, throttled, [fate for _, fate in met], events)

    def _fail(self, pattern: Pattern, failed: Floats, fates: Sequence[Fate], events: Floats) -> None:
        """Count requests that failed, per tick, under the errors of the limits that refused them, by their part of the throttle events."""
        record = self._recorder.traffic[pattern.demand.traffic.name]
        is_transaction = pattern.demand.traffic.operation in TRANSACTION_OPERATIONS
        by_limit = events_by_limit(fates)
        for limit, here in by_limit.items():
            share: Floats | float = 1.0
            if len(by_limit) > 1:
                share = np.divide(here, events, out=np.zeros(events.shape), where=events > 0)
            error = throttling_error(pattern.flows[0].resource.mode, limit)
            error = ErrorName.TRANSACTION_CANCELED if is_transaction else error
            record.fail(error, float(grains(failed * share).sum()))

    def _account_walked(self, walkers: Walkers, drawn: Drawn | None, first: int, fates: Mapping[int, Fate]) -> None:
        """Requests, attempts and errors of a pattern whose requests walk from page to page."""
        pattern, progress = walkers.pattern, walkers.progress
        record = self._recorder.traffic[pattern.demand.traffic.name]
        shape = progress.attempts.shape
        met = [fates[id(flow)] for flow in pattern.flows if id(flow) in fates]
        events = grains(total_of([fate.events for fate in met], shape))
        record.add(
            first,
            offered=np.zeros(shape) if drawn is None else np.asarray(drawn.requests, dtype=float),
            attempts=progress.attempts,
            succeeded=progress.succeeded,
            throttled=progress.throttled,
            throttle_events=events,
        )
        self._fail(pattern, progress.failed, met, events)
        count = pattern.demand.traffic.count
        pattern.accounted += 0.0 if drawn is None else float(drawn.requests.sum())
        if count is not None and record.finished_s is None and pattern.accounted >= count:
            came = np.zeros(shape) if drawn is None else np.asarray(drawn.requests, dtype=float)
            all_came = np.cumsum(came[::-1])[::-1] - came == 0  # nothing comes in later ticks
            ended = np.flatnonzero(all_came & (progress.under_way < _WALK_ENDED))
            if len(ended):
                record.finished_s = min((first + int(ended[0]) + 1) * self._grid.tick_s, self._grid.duration_s)

    def _account_misses(self, drawn: Drawn, first: int, fates: Sequence[Fate]) -> None:
        """The same for reads of whose items a cache answered some: what no node had is an attempt.

        A batch is throttled when all that it asks of the table is refused, and fails when no node had anything of it either.
        """
        assert drawn.hits is not None, "there is a cache"
        requests = np.asarray(drawn.requests, dtype=float)
        items = drawn.pattern.flows[0].leg.items
        asked = requests * items
        missed = np.divide(asked - drawn.hits, asked, out=np.zeros(requests.shape), where=asked > 0)
        refused = total_of([fate.refused for fate in fates], requests.shape)
        events = grains(total_of([fate.events for fate in fates], requests.shape))
        lost = np.divide(refused, asked, out=np.zeros(requests.shape), where=asked > 0)
        if self._caching is not None:
            missing = float((asked - drawn.hits).sum())
            self._caching.note_refused(drawn.pattern, missing, float(grains(refused).sum()))
        if items == 1:
            spared, failed = drawn.hits, grains(refused)
            throttled = failed
        else:
            spared = grains(requests * (1.0 - missed) ** items)
            throttled = grains(requests * ((1.0 - missed + lost) ** items - (1.0 - missed) ** items))
            failed = grains(requests * lost**items)
        record = self._recorder.traffic[drawn.pattern.demand.traffic.name]
        record.add(
            first,
            offered=requests,
            succeeded=requests - failed,
            attempts=requests - spared,
            throttled=throttled,
            throttle_events=events,
            spared=spared,
        )
        if items > 1:
            record.unprocessed += float((grains(refused) - failed * items).sum())
        self._fail(drawn.pattern, failed, fates, events)

    def _note_finish(self, pattern: Pattern, first: int, requests: Counts) -> None:
        limit = pattern.demand.traffic.count
        record = self._recorder.traffic[pattern.demand.traffic.name]
        pattern.accounted += float(requests.sum())
        if limit is not None and record.finished_s is None and pattern.accounted >= limit:
            came = np.flatnonzero(requests)
            last = first + int(came[-1]) + 1 if len(came) else first
            record.finished_s = min(last * self._grid.tick_s, self._grid.duration_s)


def _settle_each(lanes: Mapping[str, Lane], demands: Mapping[str, LaneDemand], tick_s: float) -> dict[str, _Outcome]:
    """Let each lane serve what is asked of it, whatever the others do."""
    return {name: _Outcome(demand, lanes[name].settle(demand, tick_s)) for name, demand in demands.items()}


def _shallowest(lane: Lane) -> float:
    """Depth of the shallowest bucket that an attempt may meet."""
    return min(float(gate.buckets.depth.min()) for gate in [*lane.columns, *lane.totals])


def _of_mixed_costs(order: str) -> str:
    return (
        "attempts of different cost met a dry bucket: consumed units are right, but which of them passed is approximate "
        f'at this level{order}; level = "request" is exact'
    )


def _throttled(drawn: Drawn, fates: Mapping[int, Fate]) -> Floats:
    """Requests of which nothing was served, per tick."""
    flows = drawn.pattern.flows
    met = [(flow, fates[id(flow)]) for flow in flows if id(flow) in fates]
    joint = drawn.pattern.demand.joint
    if joint is Joint.ALL and met:
        lost = drawn.tried * (1.0 - np.prod([fate.admitted**flow.leg.items for flow, fate in met], axis=0))
    elif joint is Joint.EACH and len(flows) > 1 and met:
        lost = nothing_served(drawn.legs, [fates.get(id(leg.flow)) for leg in drawn.legs])
    else:
        lost = total_of([fate.nothing for _, fate in met], drawn.tried.shape)
    return grains(lost)


def _if_all_are_served(drawn: Drawn | None, pattern: Pattern, ticks: int) -> Floats:
    """Requests of a leader that succeed if none is throttled, per tick."""
    if drawn is None or pattern.demand.invalid:
        return np.zeros(ticks)
    requests = np.asarray(drawn.tried, dtype=float)
    return requests - grains(requests * pattern.demand.condition_fails)


def _fitting(
    moving: list[Moving], blocked: Sequence[Booleans] | None, barred: Sequence[Sequence[Limit | None]]
) -> list[Moving]:
    """The legs without what never passes; the same list where all may."""
    if blocked is None and not any(any(limits) for limits in barred):
        return moving
    fitting = []
    for k, m in enumerate(moving):
        kept = m if blocked is None or not blocked[k].any() else m.only(~blocked[k])
        for e, limit in enumerate(barred[k]):
            if limit is not None:
                lost = m.entries[e].sum(axis=1)
                share = 1.0 - np.divide(lost, m.by_tick, out=np.zeros(len(lost)), where=m.by_tick > 0)
                kept = kept.thinned(share)
                kept = with_entries(kept, [c * (i != e) for i, c in enumerate(kept.entries)])
        fitting.append(kept)
    return fitting


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
    quantum : for each partition the cost of an attempt, where all that may come to it cost the same; else 0. Always 0 where writes have
        index entries too, or walks: what an index lets pass of them, or a page's refusal, is no whole number.
    costs : all costs, ascending, where there is more than one; else None.
    joint : whether there are transactions, whose items are served together or not at all.
    walks : whether there are walks of pages, which ask for no more once they are refused.
    indexes : the indexes that writes have entries in.
    mixed : those of them in which writes differ in what they cost.
    """

    quantum: Floats
    costs: tuple[float, ...] | None
    joint: bool
    walks: bool
    indexes: frozenset[str]
    mixed: frozenset[str]


def _mix_of(flows: Sequence[Flow], columns: int) -> _Mix:
    quantum = np.zeros(columns)
    mixed = np.zeros(columns, dtype=bool)
    for flow in flows:
        here = flow.shares > 0
        mixed |= here & (quantum > 0) & (quantum != flow.leg.units)
        quantum = np.where(here, flow.leg.units, quantum)
    costs = tuple(sorted({flow.leg.units for flow in flows}))
    joint = any(flow.joint is Joint.ALL for flow in flows)
    indexes = frozenset(entry.resource.name for flow in flows for entry in flow.entries)
    costs_at = {
        name: {sum(e.units for e in flow.entries if e.resource.name == name) for flow in flows} for name in indexes
    }
    mixed_at = frozenset(name for name, sums in costs_at.items() if len(sums - {0.0}) > 1)
    walks = any(flow.joint is Joint.WALK for flow in flows)
    if indexes or walks:
        quantum = np.zeros(columns)
    return _Mix(np.where(mixed, 0.0, quantum), costs if len(costs) > 1 else None, joint, walks, indexes, mixed_at)
