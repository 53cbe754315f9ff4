"""A DAX cluster at the request level: real caches on real nodes, asked for every single item before the table is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from sim.clients.dax import DaxCluster, Lookup
from sim.keyspace.building import KeySpace, KeySpec
from sim.keyspace.domain import Floats
from sim.levels.cacheable import (
    Way,
    goes_through,
    is_write,
    item_ttl_s,
    question_of,
    requests_per_s,
    room,
    way_of,
    weight_of,
    writes_through,
)
from sim.levels.demand import Leg, Tie
from sim.levels.identity import Keys
from sim.levels.laid import Laid
from sim.levels.latencies import LatencyLaw, law_of
from sim.levels.placing import Arrived
from sim.levels.randomness import generator
from sim.levels.streams import Key, Pool, Request, Stream
from sim.names import Operation
from sim.results.recorder import CacheRecord, Recorder, TimeGrid
from sim.scenario import Scenario

_NEAR_FRACTION = 0.5  # of what the nodes carry: below that a tick never holds too much by chance


class _Side:
    """How one pattern meets the cluster.

    Attributes
    ----------
    way : of its reads; None of writes.
    keys : of each leg; ``entries``: of each leg the keys of those index entries whose index a cached Query reads, by their place.
    """

    def __init__(self, way: Way | None, through: bool, goes: bool, weight: float, everything: bool) -> None:
        self.way = way
        self.through = through
        self.goes = goes
        self.weight = weight
        self.everything = everything
        self.keys: list[Keys] = []
        self.resources: list[str] = []
        self.entries: list[list[tuple[str, int, Keys]]] = []
        self.draws: tuple[np.random.Generator, np.random.Generator] | None = None
        self.single: tuple[Pool, Pool]  # the same numbers one by one, for closed loops


class Front:
    """The cluster, and what each pattern has to do with it."""

    def __init__(self, scenario: Scenario, streams: Sequence[Stream], keyspace: KeySpace, recorder: Recorder) -> None:
        dax = scenario.dax
        assert dax is not None, "there is a cluster"
        capacity = room(scenario)
        self._cluster = DaxCluster(dax.nodes, capacity, capacity, item_ttl_s(scenario), dax.query_ttl)
        self._nodes = Pool(generator(scenario.seed, "dax", "nodes").random)
        self._conditions = Pool(generator(scenario.seed, "dax", "conditions").random)
        law: LatencyLaw = law_of("dax_hit", scenario.calibration)
        self._latencies = Pool(partial(law.draw, generator(scenario.seed, "dax", "latencies")))
        self.record = recorder.dax = CacheRecord(recorder.grid)
        self._rows: dict[str, list[float]] = {name: [] for name in CacheRecord.COLUMNS}
        self._asked: dict[str, list[Floats]] = {"requests": [], "passed_through": []}
        self._answered: dict[int, list[float]] = {id(stream): [] for stream in streams}
        self._streams = list(streams)
        tick_s = recorder.grid.tick_s
        self._room_per_tick = max(1.0, requests_per_s(scenario) * tick_s)
        self._tick_s = tick_s
        self._tick, self._taken = -1, 0
        self._may_refuse = _most_per_tick(streams, recorder.grid) > _NEAR_FRACTION * self._room_per_tick or any(
            stream.threads for stream in streams
        )
        self._sides: dict[int, _Side] = {}
        ways = {id(s): way_of(scenario, s.pattern.demand) for s in streams}
        indexes = {s.resource.name for s in streams if ways[id(s)] is Way.QUERY}
        for stream in streams:
            demand = stream.pattern.demand
            traffic = demand.traffic
            side = _Side(
                ways[id(stream)],
                writes_through(scenario, traffic),
                goes_through(scenario, traffic),
                weight_of(scenario, demand),
                traffic.operation is Operation.SCAN,
            )
            self._sides[id(stream)] = side
            if not self.knows_keys(stream):
                continue
            name = traffic.name
            side.draws = (generator(scenario.seed, name, "keys"), generator(scenario.seed, name, "sort keys"))
            side.single = (Pool(side.draws[0].random), Pool(side.draws[1].random))
            for flow in stream.pattern.flows:
                leg: Leg = flow.leg
                pinned = traffic.partition is not None
                spec = leg.spec
                if spec is not None and side.way is Way.QUERY:
                    spec = question_of(traffic, spec)
                side.keys.append(_keys_of(keyspace, flow, None if pinned else spec))
                side.resources.append(leg.resource)
                ties: Sequence[Tie] = leg.ties
                side.entries.append(
                    [
                        (entry.resource.name, place, _keys_of(keyspace, entry, tie.spec))
                        for place, (entry, tie) in enumerate(zip(flow.entries, ties, strict=True))
                        if entry.resource.name in indexes
                    ]
                )

    def knows_keys(self, stream: Stream) -> bool:
        """Whether each request of a pattern has to know its key: reads that a cache may answer, and all writes."""
        side = self._sides[id(stream)]
        return side.way in (Way.ITEM, Way.QUERY) or is_write(stream.pattern.demand.traffic)

    def roll_over(self, now_s: float) -> None:
        """Take note of what the keys are from now on."""
        for side in self._sides.values():
            for keys in [*side.keys, *(keys for row in side.entries for _, _, keys in row)]:
                keys.roll_over(now_s)

    # Keys.

    def with_keys(self, stream: Stream, came: Arrived) -> list[list[Key]] | None:
        """The key of every item of every request."""
        side = self._sides[id(stream)]
        if side.draws is None:
            return None
        if came.items is None:
            legs, columns = came.leg[:, None], came.column[:, None]
        else:
            legs, columns = came.items[:, :, 0], came.items[:, :, 1]
        return self._drawn(stream, side, legs, columns)

    def keys_of(
        self, stream: Stream, cells: Sequence[tuple[int, int]], column_of: Mapping[int, int]
    ) -> list[Key] | None:
        """The keys of one request of a closed loop, given leg and partition number of each item."""
        side = self._sides[id(stream)]
        if side.draws is None:
            return None
        chance, sort_chance = side.single
        together = stream.pattern.flows[0].leg.together
        drawn = []
        of_key = chance.next()
        for k, (leg, number) in enumerate(cells):
            if k and not together:  # else one partition key for the whole batch
                of_key = chance.next()
            drawn.append(side.keys[leg].draw_one(column_of[number], of_key, sort_chance.next()))
        return drawn

    def _drawn(self, stream: Stream, side: _Side, legs: np.ndarray, columns: np.ndarray) -> list[list[Key]]:
        assert side.draws is not None, "the pattern's requests know their keys"
        chance, sort_chance = (draws.random(legs.shape) for draws in side.draws)
        if stream.pattern.flows[0].leg.together:  # one partition key for the whole batch
            chance[:] = chance[:, :1]
        items = np.zeros(legs.shape, dtype=np.uint64)
        owners = np.zeros(legs.shape, dtype=np.uint64)
        for leg, keys in enumerate(side.keys):
            mine = legs == leg
            if mine.any():
                items[mine], owners[mine] = keys.draw(columns[mine], chance[mine], sort_chance[mine])
        return [
            list(zip(item.tolist(), owner.tolist(), strict=True)) for item, owner in zip(items, owners, strict=True)
        ]

    # Requests.

    def asked(self, stream: Stream, times_s: Floats) -> None:
        """The application asked for something."""
        side = self._sides[id(stream)]
        if side.goes and not stream.pattern.demand.invalid:
            self._asked["requests"].append(times_s)
            if side.way is Way.PASSED:
                self._asked["passed_through"].append(times_s)

    def goes_through(self, stream: Stream) -> bool:
        """Whether each attempt of a pattern has to ask the nodes first: for an answer, or for room where there may be too little."""
        return self.knows_keys(stream) or (self._may_refuse and self._sides[id(stream)].goes)

    def has_room(self, now_s: float, request: Request) -> bool:
        """Whether the nodes take one more request in this tick (F-DAX-5)."""
        if not self._may_refuse or not self._sides[id(request.stream)].goes:
            return True
        tick = int(now_s / self._tick_s)
        if tick != self._tick:
            self._tick, self._taken = tick, 0
        if self._taken + 1 > self._room_per_tick:
            if request.attempt == 1:
                self._rows["refused"].append(now_s)
                self._answered[id(request.stream)].append(now_s)
            return False
        self._taken += 1
        return True

    def latency_s(self) -> float:
        """How long a hit takes."""
        return self._latencies.next()

    def answers(self, now_s: float, request: Request) -> bool:
        """Let a node answer what it can; whether that is all. What it cannot is left in the request."""
        stream = request.stream
        side = self._sides[id(stream)]
        if side.way not in (Way.ITEM, Way.QUERY) or not request.keys:
            return False
        request.node = min(int(self._nodes.next() * self._cluster.nodes), self._cluster.nodes - 1)
        kind = "item" if side.way is Way.ITEM else "query"
        first = request.attempt == 1 and not request.resend and not request.partly
        missing = []
        for k, key in enumerate(request.keys):
            if side.way is Way.ITEM:
                said = self._cluster.read_item(now_s, request.node, key[0])
            else:
                said = self._cluster.read_query(now_s, request.node, *self._question(stream, side, request.leg, key))
            if said is Lookup.MISS:
                missing.append(k)
            if first:
                self._rows[f"{kind}_reads"].append(now_s)
                if said is not Lookup.MISS:
                    self._rows[f"{kind}_hits"].append(now_s)
                if said is Lookup.STALE:
                    self._rows["stale_hits"].append(now_s)
        if len(missing) < len(request.keys):
            request.keys = [request.keys[k] for k in missing]
            if request.items is not None:
                request.items = [request.items[k] for k in missing]
                request.partly = request.partly or bool(missing)
        if not missing and first:
            self._answered[id(stream)].append(now_s)
        return not missing

    def _question(self, stream: Stream, side: _Side, leg: int, key: Key) -> tuple[object, object]:
        """What a Query or Scan is kept under, and the collection whose writes make it stale."""
        name, resource = stream.pattern.demand.traffic.name, side.resources[leg]
        if side.everything:
            return name, resource
        return (name, key[0]), (resource, key[1])

    def done(self, now_s: float, request: Request, leg: int, entries: tuple[int, ...], key: Key) -> None:
        """The table has served an item: a read is kept by the node that asked for it, a write is known of."""
        stream = request.stream
        side = self._sides[id(stream)]
        if side.way is Way.ITEM:
            self._cluster.items[request.node].put(now_s, key[0], side.weight)
            return
        if side.way is Way.QUERY:
            self._cluster.queries[request.node].put(now_s, self._question(stream, side, leg, key)[0], side.weight)
            return
        fails = stream.pattern.demand.condition_fails
        if fails and self._conditions.next() < fails:
            return
        self._cluster.write_item(now_s, key[0], side.weight, through=side.through)
        resource = side.resources[leg]
        self._cluster.write_collection(now_s, (resource, key[1]))
        self._cluster.write_collection(now_s, resource)
        for name, place, keys in side.entries[leg]:
            if entries[place] >= 0:
                column = stream.pattern.flows[leg].entries[place].resource.partitions.serving.index(entries[place])
                _, owner = keys.draw_one(column, self._nodes.next(), 0.0)
                self._cluster.write_collection(now_s, (name, owner))
                self._cluster.write_collection(now_s, name)

    def close(self, first: int, edges_s: Floats) -> None:
        """End a stretch: hand everything to the recorder."""
        ticks = len(edges_s) - 1
        columns = {}
        for name, times in self._rows.items():
            rows = np.array(times) if times else np.empty(0)
            if self._asked.get(name):
                rows = np.concatenate(self._asked[name])
            if len(rows):
                place = np.clip(np.searchsorted(edges_s, rows, side="right") - 1, 0, ticks - 1)
                columns[name] = np.bincount(place, minlength=ticks).astype(float)
        if columns:
            self.record.add(first, **columns)
        for stream in self._streams:
            if times := self._answered[id(stream)]:
                place = np.clip(np.searchsorted(edges_s, times, side="right") - 1, 0, ticks - 1)
                stream.record.add(first, spared=np.bincount(place, minlength=ticks).astype(float))
                self._answered[id(stream)] = []
        self._rows = {name: [] for name in CacheRecord.COLUMNS}
        self._asked = {"requests": [], "passed_through": []}


def _most_per_tick(streams: Sequence[Stream], grid: TimeGrid) -> float:
    """Requests that the open loops expect in their busiest tick, as if all had it at once."""
    edges_s = np.minimum(np.arange(grid.ticks + 1) * grid.tick_s, grid.duration_s)
    return sum(float(np.diff(s.pattern.integral(edges_s)).max()) for s in streams if s.pattern.integral is not None)


def _keys_of(keyspace: KeySpace, laid: Laid, spec: KeySpec | None) -> Keys:
    if spec is None:
        return Keys(laid, None, None)
    return Keys(laid, partial(keyspace.spread, spec), partial(keyspace.sort_keys, spec))
