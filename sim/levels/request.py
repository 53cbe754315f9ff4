"""The request level: every attempt is an event with its time, place, cost and outcome. The ground truth beside the flow level.

Both levels draw the same counts; here each request gets its moment within the tick. Requests that are served at the first attempt, nearly
all, pass through one tight loop; only a refused one becomes an object and an event in a heap. A control event never lies inside a stretch.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from sim.clients.base import THROTTLES, ErrorKind, error_kind
from sim.clients.breaker import is_failure
from sim.keyspace.building import KeySpace
from sim.keyspace.domain import Floats, Ints
from sim.levels.books import ELSEWHERE, NO_TIME, PASSED, SERVED, Books
from sim.levels.conflicts import Conflicts, Identities, may_conflict, takes_part
from sim.levels.demand import Demand, Joint
from sim.levels.fronting import Front
from sim.levels.itemcollections import ItemCollections, collection_bytes
from sim.levels.laid import Laid
from sim.levels.moving import Entry, Flow
from sim.levels.patterns import Patterns
from sim.levels.placing import Arrived, place
from sim.levels.randomness import generator
from sim.levels.streams import Item, Key, Request, Stream
from sim.levels.walking import Walks
from sim.limits import TOKEN_VALID_S
from sim.names import TABLE, Dimension, ErrorName, Limit
from sim.partitions.clocked import ClockedLane, ClockedTotal
from sim.partitions.resource import Resource
from sim.results.log import AttemptLog
from sim.results.recorder import Recorder
from sim.scenario import Scenario

STRETCH_REQUESTS = 100_000  # requests placed at a time

Event = tuple[float, int, Callable[[float, Request], None], Request]


class RequestLevel:
    """Moves all traffic of a scenario through its table and indexes, attempt by attempt. Its one verb is `advance`."""

    def __init__(
        self,
        scenario: Scenario,
        demands: Sequence[Demand],
        resources: Mapping[str, Resource],
        keyspace: KeySpace,
        recorder: Recorder,
        key_names: dict[int, str],
        *,
        stretch_requests: int | None = None,
        log: AttemptLog | None = None,
    ) -> None:
        self._log = log
        self._resources = resources
        self._recorder = recorder
        self._grid = recorder.grid
        self._end_s = recorder.grid.duration_s
        self._stretch_requests = STRETCH_REQUESTS if stretch_requests is None else stretch_requests
        self._patterns = Patterns(scenario, demands, resources, keyspace, recorder, key_names, stops_at_count=False)
        self._streams = [
            Stream(pattern, recorder.traffic[pattern.demand.traffic.name], scenario.seed, scenario.calibration)
            for pattern in self._patterns.all
        ]
        for stream in self._streams:
            if stream.joint is Joint.WALK:
                draws = generator(scenario.seed, stream.pattern.demand.traffic.name, "walks")
                stream.walks = Walks(self._patterns, stream.pattern, draws)
        by_name = {stream.pattern.demand.traffic.name: stream for stream in self._streams}
        for stream in self._streams:
            follows = stream.pattern.demand.traffic.follows
            if follows is not None:
                by_name[follows.traffic].lead(stream)
        collections = ItemCollections(
            self._patterns.all, resources[TABLE], collection_bytes(scenario, resources[TABLE]), scenario.seed
        )
        conflicts = Conflicts() if may_conflict(demands) else None
        for stream in self._streams:
            stream.changes_collections = any(flow in collections for flow in stream.pattern.flows)
            stream.may_conflict = conflicts is not None and takes_part(stream.pattern.demand)
            if stream.changes_collections or stream.may_conflict:
                stream.take_care()
        self._front = None if scenario.dax is None else Front(scenario, self._streams, keyspace, recorder)
        self._loop = Loop(
            resources, recorder, self._streams, log, self._front, collections=collections, conflicts=conflicts
        )

    def roll_over(self, now_s: float) -> None:
        """Lay the traffic anew where a clock field has taken another value."""
        self._patterns.roll_over(now_s)
        if self._front is not None:
            self._front.roll_over(now_s)

    @property
    def wakes_s(self) -> Sequence[float]:
        """When `wake` is to be called: never, for caches are asked one by one."""
        return ()

    def wake(self, now_s: float) -> None:
        """Nothing changes of itself."""

    def finish(self) -> None:
        """Hand the last tallies to the recorder."""
        self._patterns.finish()
        for stream in self._streams:
            if stream.remaining == 0 and not stream.unanswered:
                stream.record.finished_s = min(stream.last_answer_s, self._end_s)

    def advance(self, first: int, last: int) -> None:
        """Run ticks [first, last). Nothing that is scheduled lies inside them."""
        tick_s = self._grid.tick_s
        self._loop.enter(first * tick_s)
        tick = first
        while tick < last:
            end = min(last, tick + self._ticks_ahead(tick, last))
            self._stretch(tick, end)
            tick = end
        self._loop.leave(min(last * tick_s, self._end_s))

    def _ticks_ahead(self, tick: int, last: int) -> int:
        """How many ticks bring about as many requests as are placed at a time."""
        edges = np.array([tick, last]) * self._grid.tick_s
        expected = sum(float(np.diff(p.integral(edges))[0]) for p in self._patterns.all if p.integral is not None)
        return (
            max(1, int((last - tick) * self._stretch_requests / expected))
            if expected > self._stretch_requests
            else last - tick
        )

    def _stretch(self, first: int, last: int) -> None:
        edges_s = np.minimum(np.arange(first, last + 1) * self._grid.tick_s, self._end_s)
        drawn = {id(d.pattern): d for d in self._patterns.draw(edges_s)}
        for resource in self._resources.values():
            resource.observed_s += float(edges_s[-1] - edges_s[0])
        arrived = []
        for stream in self._streams:
            here = drawn.get(id(stream.pattern))
            if here is None:
                continue
            assert stream.pattern.integral is not None, "what is drawn has a rate"
            cumulative = stream.pattern.integral(edges_s)
            came = place(here, edges_s, cumulative, stream.moments, stream.deals, stream.entry_deals)
            if self._front is not None:
                came = replace(came, keys=self._front.with_keys(stream, came))
            arrived.append((stream, came))
        self._loop.run(first, edges_s, arrived)
        if self._front is not None:
            self._front.close(first, edges_s)
        if self._log is not None:
            self._log.flush()


class _Arrivals(NamedTuple):
    """All arrivals of a stretch in order of time: moment, leg (over all streams), partition, row in its stream, latency, index partitions
    of its entries (-1: none), and whose they are.
    """

    times: Floats
    legs: Ints
    columns: Ints
    rows: Ints
    latencies: Floats
    entries: Ints
    owners: list[tuple[Stream, Arrived]]


# Levels, times, rate, depth and floor of an index's ceilings, its total bucket, and units of an entry, for each entry of a leg.
_EntryStates = list[tuple[list[float], list[float], float, float, float, ClockedTotal | None, float]]
# Levels, times, rate and depth of a lane's ceilings, and its total bucket.
_LaneState = tuple[list[float], list[float], float, float, ClockedTotal | None]


class _Counter:
    """One lane as the loop meets it: its gates in continuous time, its books, and where its partitions stand.

    Attributes
    ----------
    state : what the tight loop needs of the gates between `enter` and `leave`.
    """

    __slots__ = ("books", "column_of", "gate", "lane", "resource", "state", "total")

    def __init__(self, resource: Resource, lane: ClockedLane, books: Books) -> None:
        self.resource = resource
        self.books = books
        self.column_of: dict[int, int] = {}
        self.state: _LaneState | None = None
        self.take(lane)

    def take(self, lane: ClockedLane) -> None:
        """Work with these gates from now on."""
        self.lane = lane
        self.gate = lane.columns[-1]
        self.total = lane.totals[0] if lane.totals else None

    def enter(self, now_s: float) -> None:
        """Take over the lane's buckets."""
        self.lane.enter(now_s)
        gate = self.gate
        self.state = (gate.levels, gate.at_s, gate.rates[0], gate.depths[0], self.total)
        self.column_of = {number: column for column, number in enumerate(self.resource.partitions.serving)}


class Loop:
    """All requests in order of time: a tight loop over arrivals, a heap of everything that comes later."""

    def __init__(
        self,
        resources: Mapping[str, Resource],
        recorder: Recorder,
        streams: Sequence[Stream],
        log: AttemptLog | None = None,
        front: Front | None = None,
        *,
        collections: ItemCollections | None = None,
        conflicts: Conflicts | None = None,
    ) -> None:
        self._front = front
        for stream in streams:
            if front is not None and front.goes_through(stream):
                stream.know_keys()
        self.streams = list(streams)
        self._collections = collections
        self._conflicts = conflicts
        self._identities = {id(flow): Identities(flow) for s in streams if s.may_conflict for flow in s.pattern.flows}
        self._end_s = recorder.grid.duration_s
        self._heap: list[Event] = []
        self._count = 0
        self._counters: dict[tuple[str, Dimension], _Counter] = {}
        again = [
            (flow, _replay_of(flow), stream) for stream in streams if stream.replays for flow in stream.pattern.flows
        ]
        for resource in resources.values():
            for dimension in Dimension:
                own = [s for s in streams if s.resource is resource and s.dimension is dimension]
                written = [
                    (entry, stream)
                    for stream in streams
                    for flow in stream.pattern.flows
                    for entry in flow.entries
                    if entry.resource is resource and dimension is Dimension.WRITE
                ]
                if dimension is Dimension.READ:
                    written = [(entry, stream) for _, entry, stream in again if entry.resource is resource]
                if own or written:
                    books = Books(
                        resource, dimension, recorder, own, written, [n for n in resources if n != TABLE], log
                    )
                    lane = ClockedLane(resource.lanes[dimension])
                    self._counters[resource.name, dimension] = _Counter(resource, lane, books)
        # Of every leg, over all streams in order: its counter, its number in the books there, its costs, its index entries.
        self._counter_of: list[_Counter] = []
        self._number_in_books: list[int] = []
        self._units: list[float] = []
        self._ceiling_units: list[float] = []
        self._entries: list[list[tuple[_Counter, int, float, Laid]]] = []
        self._careful: list[bool] = []
        numbers: defaultdict[int, Iterator[int]] = defaultdict(itertools.count)  # of what comes to each counter
        for stream in streams:
            stream.offset = len(self._careful)
            stream.know_answers()
            counter = self._counters[stream.resource.name, stream.dimension]
            for flow in stream.pattern.flows:
                self._counter_of.append(counter)
                self._number_in_books.append(next(numbers[id(counter)]))
                self._units.append(flow.units)
                self._ceiling_units.append(flow.units * flow.ceiling_ratio)
                at = [self._counters[entry.resource.name, Dimension.WRITE] for entry in flow.entries]
                plain = all(c.lane.is_plain for c in (counter, *at))
                self._careful.append(stream.always_careful or not plain)
                self._entries.append(
                    [
                        (there, next(numbers[id(there)]), entry.units, entry)
                        for entry, there in zip(flow.entries, at, strict=True)
                    ]
                )
        self._replays: dict[int, tuple[Laid, int]] = {}
        for flow, entry, stream in again:
            reads = self._counters[entry.resource.name, Dimension.READ]
            self._replays[stream.offset + stream.pattern.flows.index(flow)] = (entry, next(numbers[id(reads)]))
        # Of every leg the state of its lane, or None where a request has to go another way than the tight loop.
        self._states: list[_LaneState | None] = [None] * len(self._careful)
        # Made anew when the lanes are entered: of every leg what `_again` needs of its lane, and what is needed of those of its entries.
        self._at_lane: list[
            tuple[dict[int, int], Books, int, list[float], list[float], float, float, ClockedTotal | None, float, float]
        ] = []
        self._entry_states: list[_EntryStates] = []
        for stream in streams:
            for _ in range(stream.threads):
                traffic = stream.pattern.demand.traffic
                request = Request(stream, 0, 0, None, traffic.starts, stream.pick_client())
                self._push(traffic.starts, self._begin, request)

    # Between control events.

    def enter(self, now_s: float) -> None:
        """Take over the lanes' buckets."""
        self._follow_new_lanes()
        for counter in self._counters.values():
            counter.enter(now_s)
        self._at_lane = []
        for leg, c in enumerate(self._counter_of):
            assert c.state is not None, "a lane that was entered"
            costs = (self._units[leg], self._ceiling_units[leg])
            self._at_lane.append((c.column_of, c.books, self._number_in_books[leg], *c.state, *costs))
        self._entry_states = [
            [
                (at.gate.levels, at.gate.at_s, at.gate.rates[0], at.gate.depths[0], at.gate.floor, at.total, units)
                for at, _, units, _ in entries
            ]
            for entries in self._entries
        ]

    def _follow_new_lanes(self) -> None:
        """Where a change of mode or maximum has put a new lane in the place of one, take its gates, and let what waits meet them."""
        changed = False
        for (_, dimension), counter in self._counters.items():
            lane = counter.resource.lanes[dimension]
            if counter.lane.lane is not lane:
                counter.take(ClockedLane(lane))
                changed = True
        if not changed:
            return
        for stream in self.streams:
            stream.know_answers()
            self._be_careful(stream, stream.always_careful or not stream.quotas_are_full())
        # `_again` knows plain lanes only; what waits keeps its moment and its place.
        again = self._again
        self._heap = [
            (at_s, n, self._send if act == again and not self._is_plain(request.stream) else act, request)
            for at_s, n, act, request in self._heap
        ]

    def _is_plain(self, stream: Stream) -> bool:
        return stream.is_plain and self._counter_of[stream.offset].lane.is_plain

    def leave(self, now_s: float) -> None:
        """Give the lanes' buckets back."""
        for counter in self._counters.values():
            counter.lane.leave(now_s)

    def run(self, first: int, edges_s: Floats, arrived: list[tuple[Stream, Arrived]]) -> None:
        """Run the requests that arrive in a stretch, and whatever falls due in it."""
        until_s = float(edges_s[-1])
        for counter in self._counters.values():
            counter.books.open(first, edges_s)
        arrivals = self._merge(arrived)
        if len(arrivals.times):
            self._run_arrivals(arrivals)
        heap = self._heap
        while heap and heap[0][0] < until_s:
            due_s, _, act, request = heappop(heap)
            act(due_s, request)
        for counter in self._counters.values():
            counter.books.close(counter.column_of)

    def _merge(self, arrived: list[tuple[Stream, Arrived]]) -> _Arrivals:
        """All arrivals in order of time."""
        parts: list[list[np.ndarray]] = [[], [], [], [], [], []]
        owners = []
        most = max((came.entries.shape[-1] for _, came in arrived if came.entries is not None), default=0)
        for stream, came in arrived:
            count = len(came.times_s)
            latency = stream.first_latencies(count)
            keep = np.arange(count)
            if stream.remaining is not None:
                keep = np.sort(np.argsort(came.times_s, kind="stable")[: stream.remaining])
                stream.remaining -= len(keep)
            if self._front is not None:
                self._front.asked(stream, came.times_s[keep])
            if stream.pattern.demand.invalid:
                self._books_of(stream).invalid(stream, came.times_s[keep])
                continue
            owners.append((stream, came))
            offset = stream.offset
            for part, values in zip(
                parts,
                (
                    came.times_s[keep],
                    came.leg[keep] + offset,
                    came.column[keep],
                    keep,
                    latency[keep],
                    _widened(came, keep, most),
                ),
                strict=True,
            ):
                part.append(values)
        if not owners:
            none = np.empty(0, dtype=np.int64)
            return _Arrivals(np.empty(0), none, none, none, np.empty(0), none.reshape(0, 0), [])
        times, legs, columns, rows, latencies, entries = (np.concatenate(part) for part in parts)
        order = np.argsort(times, kind="stable")
        return _Arrivals(
            times[order], legs[order], columns[order], rows[order], latencies[order], entries[order], owners
        )

    def _run_arrivals(self, arrivals: _Arrivals) -> None:
        times, legs, columns, rows, latencies, entries, owners = arrivals
        heap = self._heap
        states = self._states
        for leg in range(len(states)):
            self._set_state(leg)
        last: _LaneState | None = None  # most often the next leg's lane is the last one's
        units, ceiling_units = self._units, self._ceiling_units
        stream_of = [stream for stream in self.streams for _ in stream.pattern.flows]
        came_of = {id(stream): came for stream, came in owners}
        through_clients: list[int] = []
        refused: list[int] = []
        outcomes: list[int] = []
        short_entries: list[tuple[int, int, int]] = []  # arrival, entry, limit
        entry_list: list[list[int]] = entries.tolist() if entries.shape[1] else []
        number_of = {limit: number for number, limit in enumerate(Limit)}
        next_due = heap[0][0] if heap else math.inf
        leg_list, column_list, latency_list = legs.tolist(), columns.tolist(), latencies.tolist()
        for i, now in enumerate(times.tolist()):
            while next_due <= now:
                due_s, _, act, request = heappop(heap)
                act(due_s, request)
                next_due = heap[0][0] if heap else math.inf
            leg = leg_list[i]
            state = states[leg]
            if state is not last or state is None:
                if state is None:
                    stream = stream_of[leg]
                    if self._careful[leg]:
                        through_clients.append(i)
                        self._arrive(now, stream, came_of[id(stream)], leg, column_list[i], int(rows[i]))
                        next_due = heap[0][0] if heap else math.inf
                        continue
                    at_base, at_entries, told = self._admit_entries(now, leg, column_list[i], entry_list[i])
                    if told is None:
                        continue
                    refused.append(i)
                    outcomes.append(at_base)
                    short_entries += [(i, e, number) for e, number in at_entries]
                    if stream.policy.max_attempts > 1:
                        numbers = self._numbered(leg, entry_list[i])
                        number = stream.resource.partitions.serving[column_list[i]]
                        client = stream.pick_client()
                        request = Request(stream, leg - stream.offset, number, None, now, client, numbers)
                        stream.unanswered += 1
                        self._answered_later(now, latency_list[i], request, told)
                        next_due = heap[0][0] if heap else math.inf
                    continue
                last = state
                levels, at_s, rate, depth, total = state
            column = column_list[i]
            level = levels[column] + (now - at_s[column]) * rate
            if level > depth:
                level = depth
            if total is None:
                limit = None
            else:
                room = total.level + (now - total.at_s) * total.rate
                if room > total.depth:
                    room = total.depth
                total.at_s = now
                cost = units[leg]
                if room >= cost:
                    limit = None
                    total.level = room - cost
                else:
                    limit = total.limit
                    total.level = room
            at_s[column] = now
            if limit is None:
                left = level - ceiling_units[leg]
                if left >= 0:
                    levels[column] = left
                    continue
                limit = Limit.KEY_RANGE
                if total is not None:
                    total.level += units[leg]  # a refused attempt takes tokens nowhere
            levels[column] = level
            refused.append(i)
            outcomes.append(number_of[limit])
            stream = stream_of[leg]
            if stream.policy.max_attempts > 1:
                serving = stream.resource.partitions.serving
                request = Request(stream, leg - stream.offset, serving[column], None, now, stream.pick_client())
                stream.unanswered += 1
                if not stream.is_plain:
                    self._answered_later(now, latency_list[i], request, limit)
                    next_due = heap[0][0] if heap else math.inf
                    continue
                kind, error = stream.answers[limit]  # as `_again` goes on after a refusal
                answered_s = now + latency_list[i]
                delay_s = stream.policy.delay_s(1, kind, stream.chances.next() if stream.draws_delays else 0.0)
                if delay_s is None:
                    self._fail(answered_s, request, error)
                    continue
                request.attempt = 2
                self._count += 1
                heappush(heap, (answered_s + delay_s, self._count, self._again, request))
                next_due = heap[0][0]
        self._note_first(arrivals, through_clients, refused, outcomes, short_entries)

    def _admit_entries(
        self, now: float, leg: int, column: int, places: Sequence[int]
    ) -> tuple[int, list[tuple[int, int]], Limit | None]:
        """`_try` of a first attempt of a single item, in plain lanes, with what is taken given back where anything is refused.

        Returns
        -------
        The outcome at the table, the refused entries with the number of the limit, and the limit that the client is told (None: passed).
        """
        counter, states = self._counter_of[leg], self._entry_states[leg]
        limit = counter.lane.admit(now, column, self._units[leg], self._ceiling_units[leg])
        short: list[tuple[int, int]] = []
        told, by = limit, ELSEWHERE
        passed = []
        for e, (levels, at_s, rate, depth, floor, total, units) in enumerate(states):
            place = places[e]
            if place < 0:
                continue
            level = levels[place] + (now - at_s[place]) * rate
            if level > depth:
                level = depth
            at_s[place] = now
            refusal = None
            if total is not None:
                room = total.level + (now - total.at_s) * total.rate
                if room > total.depth:
                    room = total.depth
                total.at_s = now
                total.level = room
                if room - total.floor < units:
                    refusal = total.limit
            if refusal is None and level - floor < units:
                refusal = Limit.KEY_RANGE
            if refusal is None:
                levels[place] = level - units
                if total is not None:
                    total.level -= units
                passed.append(e)
                continue
            levels[place] = level
            short.append((e, counter.books.number_of[refusal]))
            if told is None:
                told = refusal
            if by == ELSEWHERE:
                by = counter.books.elsewhere[self._entries[leg][e][0].resource.name, refusal]
        if told is None:
            return 0, short, None
        if limit is None:
            counter.lane.take(column, -self._units[leg], -self._ceiling_units[leg])
        for e in passed:
            levels, _, _, _, _, total, units = states[e]
            levels[places[e]] += units
            if total is not None:
                total.level += units
        return (by if limit is None else counter.books.number_of[limit]), short, told

    def _note_first(
        self,
        arrivals: _Arrivals,
        through_clients: list[int],
        refused: list[int],
        outcomes: list[int],
        short_entries: list[tuple[int, int, int]],
    ) -> None:
        """Write first attempts into the books of their lanes, and their index entries into those of the indexes."""
        counters = list(self._counters.values())
        times, legs, columns, latencies = arrivals.times, arrivals.legs, arrivals.columns, arrivals.latencies
        if len(counters) == 1:
            counters[0].books.first_attempts(times, legs, columns, latencies, through_clients, refused, outcomes)
            return
        place = {id(counter): k for k, counter in enumerate(counters)}
        lane_of_leg = np.array([place[id(counter)] for counter in self._counter_of], dtype=np.int64)
        number_of_leg = np.array(self._number_in_books, dtype=np.int64)
        lanes = lane_of_leg[legs]
        by_client = np.zeros(len(times), dtype=bool)
        by_client[through_clients] = True
        refused_at = np.array(refused, dtype=np.int64)
        for k, counter in enumerate(counters):
            mine = lanes == k
            if not mine.any():
                continue
            rank = np.cumsum(mine) - 1
            lost = mine[refused_at] if len(refused_at) else np.empty(0, dtype=bool)
            counter.books.first_attempts(
                times[mine],
                number_of_leg[legs[mine]],
                columns[mine],
                latencies[mine],
                np.flatnonzero(by_client[mine]).tolist(),
                rank[refused_at[lost]].tolist(),
                [outcome for outcome, here in zip(outcomes, lost.tolist(), strict=True) if here],
            )
        if not arrivals.entries.shape[1]:
            return
        codes = np.full(arrivals.entries.shape, PASSED)
        codes[refused_at] = ELSEWHERE
        for i, e, number in short_entries:
            codes[i, e] = number
        for leg, entries in enumerate(self._entries):
            mine = (legs == leg) & ~by_client
            if not mine.any():  # who comes may have fewer entries than this leg
                continue
            for e, (at, number, _, _) in enumerate(entries):
                taken = mine & (arrivals.entries[:, e] >= 0)
                if taken.any():
                    at.books.first_entries(times[taken], number, arrivals.entries[taken, e], codes[taken, e])

    # One request through its client.

    def _push(self, at_s: float, act: Callable[[float, Request], None], request: Request) -> None:
        self._count += 1
        heappush(self._heap, (at_s, self._count, act, request))

    def _arrive(self, now_s: float, stream: Stream, came: Arrived, leg: int, column: int, row: int) -> None:
        if stream.walks is not None:
            self._set_out(now_s, stream, stream.pick_client(), False)
            return
        serving = stream.resource.partitions.serving
        items: list[Item] | None = None
        entries: tuple[int, ...] = ()
        if came.items is not None:
            dealt = came.items[row].tolist()
            written = [[]] * len(dealt) if came.entries is None else came.entries[row].tolist()
            items = [
                (k, serving[c], self._numbered(stream.offset + k, columns))
                for (k, c), columns in zip(dealt, written, strict=True)
            ]
        elif came.entries is not None:
            entries = self._numbered(leg, came.entries[row].tolist())
        request = Request(stream, leg - stream.offset, serving[column], items, now_s, stream.pick_client(), entries)
        if came.keys is not None:
            request.keys = came.keys[row]
        stream.unanswered += 1
        self._books_of(stream).asked(now_s, stream)
        self._send(now_s, request)

    def _numbered(self, leg: int, columns: Sequence[int]) -> tuple[int, ...]:
        """Numbers of the index partitions of an item's entries."""
        return tuple(
            -1 if column < 0 else counter.resource.partitions.serving[column]
            for (counter, *_), column in zip(self._entries[leg], columns, strict=False)
        )

    def _books_of(self, stream: Stream) -> Books:
        return self._counter_of[stream.offset].books

    def _begin(self, now_s: float, request: Request) -> None:
        """A thread of a closed loop asks for the next thing."""
        stream = request.stream
        traffic = stream.pattern.demand.traffic
        if now_s >= self._end_s or (traffic.ends is not None and now_s >= traffic.ends):
            return
        if stream.remaining is not None:
            if stream.remaining == 0:
                return
            stream.remaining -= 1
        self._ask(now_s, stream, request.client, thread=True)

    def _ask(self, now_s: float, stream: Stream, client: int, *, thread: bool) -> None:
        """A request that was not drawn beforehand comes: its place is drawn now."""
        if stream.walks is not None and not stream.pattern.demand.invalid:
            self._set_out(now_s, stream, client, thread)
            return
        leg, number = stream.draw_cell()
        items = self._draw_items(stream, leg, number)
        entries = stream.draw_entries(leg) if items is None else ()
        fresh = Request(stream, leg, number, items, now_s, client, entries)
        fresh.thread = thread
        if self._front is not None:
            cells = [(leg, number)] if items is None else [(k, at) for k, at, _ in items]
            fresh.keys = self._front.keys_of(stream, cells, self._counter_of[stream.offset].column_of)
            self._front.asked(stream, np.array([now_s]))
        stream.unanswered += 1
        self._books_of(stream).asked(now_s, stream)
        if stream.pattern.demand.invalid:
            self._fail(now_s, fresh, ErrorName.VALIDATION)
        else:
            self._send(now_s, fresh)

    # Walks of pages.

    def _set_out(self, now_s: float, stream: Stream, client: int, thread: bool) -> None:
        """A request whose pages follow each other, on as many branches as it has."""
        assert stream.walks is not None, "a pattern that walks"
        stream.unanswered += 1
        self._books_of(stream).asked(now_s, stream)
        for branch in stream.walks.set_out():
            request = Request(stream, 0, 0, None, now_s, client)
            request.walk, request.thread = branch, thread
            self._next_page(now_s, request)

    def _next_page(self, now_s: float, request: Request) -> None:
        """A walk asks for a page."""
        assert request.walk is not None, "a walk"
        assert request.stream.walks is not None, "of a pattern that walks"
        request.leg, request.number = request.stream.walks.next_page(request.walk)
        request.attempt = 1
        request.last_cost = 0
        self._send(now_s, request)

    def _page_answered(
        self, now_s: float, request: Request, error: ErrorName | None
    ) -> tuple[float, ErrorName | None] | None:
        """A page was served, or given up: gives the request's last answer and its error if with that all its branches have ended."""
        stream, branch = request.stream, request.walk
        assert branch is not None, "a walk"
        assert stream.walks is not None, "of a pattern that walks"
        asked = branch.asked
        asked.first_s = min(asked.first_s, request.first_s)
        if error is None and stream.walks.answered(branch):
            self._push(now_s, self._next_page, request)
            return None
        asked.error = asked.error or error
        asked.last_s = max(asked.last_s, now_s)
        asked.open -= 1
        if asked.open:
            return None
        request.first_s = asked.first_s
        if asked.error is None and asked.last_s <= self._end_s:
            stream.record.walks.add(asked)
        return asked.last_s, asked.error

    def _follow(self, now_s: float, leader: Request) -> None:
        """What follows a served request comes, each pattern in its order."""
        for followers in leader.stream.followers:
            count = followers.due()
            if count:
                fresh = Request(followers.stream, count, 0, None, now_s, 0)  # stands for so many, until they come
                self._push(now_s + followers.delay_s, self._come_after, fresh)

    def _come_after(self, now_s: float, several: Request) -> None:
        """Requests that follow another come at the table."""
        stream = several.stream
        traffic = stream.pattern.demand.traffic
        if now_s < traffic.starts or now_s >= self._end_s or (traffic.ends is not None and now_s >= traffic.ends):
            return
        count = several.leg
        if stream.remaining is not None:
            count = min(count, stream.remaining)
            stream.remaining -= count
        for _ in range(count):
            self._ask(now_s, stream, stream.pick_client(), thread=False)

    def _draw_items(self, stream: Stream, leg: int, number: int) -> list[Item] | None:
        if stream.joint is Joint.ONE_OF:
            return None
        flows = stream.pattern.flows
        legs = range(len(flows)) if stream.joint is Joint.ALL else [0]
        cells: list[tuple[int, int]] = []
        for k in legs:
            count = flows[k].leg.items
            if flows[k].leg.together:
                cells += [(leg, number)] * count
            elif stream.joint is Joint.ALL or len(flows) == 1:
                cells += [(k, stream.draw_column(flows[k])) for _ in range(count)]
            else:
                cells += [stream.draw_cell() for _ in range(count)]
        return [(k, at, stream.draw_entries(k)) for k, at in cells]

    def _send(self, now_s: float, request: Request) -> None:
        """Bring a request, first or again, to its client."""
        stream = request.stream
        client = stream.clients[request.client]
        if client.breaker is not None and not client.breaker.allows(now_s):
            self._fail(now_s, request, ErrorName.BREAKER_OPEN)
            return
        if client.limiter is not None:
            at_s = client.limiter.admit_at(now_s, self._cost(request))
            self._books_of(stream).waited(stream, at_s - now_s)
            if at_s > now_s:
                self._push(at_s, self._attempt, request)
                return
        if client.adaptive is not None:
            client.queue.append(request)
            if len(client.queue) == 1:
                self._let_go(now_s, request)
            return
        self._attempt(now_s, request)

    def _let_go(self, now_s: float, request: Request) -> None:
        """Let the head of a client's queue go as its adaptive limiter allows."""
        client = request.stream.clients[request.client]
        assert client.adaptive is not None, "a queue belongs to an adaptive limiter"
        while client.queue:
            head = client.queue[0]
            at_s = client.adaptive.send_at(now_s)
            if at_s > now_s:
                self._push(at_s, self._let_go, head)
                return
            client.queue.popleft()
            self._attempt(now_s, head)

    def _cost(self, request: Request) -> float:
        offset = request.stream.offset
        if request.items is None:
            return self._units[offset + request.leg]
        return sum(self._units[offset + leg] for leg, _, _ in request.items)

    def _column(self, stream: Stream, counter: _Counter, laid: Laid, number: int) -> tuple[int, int]:
        """Where a partition stands now, following the splits since the request was made; with its present number."""
        column = counter.column_of.get(number)
        while column is None:
            halves = counter.resource.partitions.lives[number].halves
            assert halves is not None, "what no longer serves has halves"
            number = stream.half_of(laid, halves)
            column = counter.column_of.get(number)
        return column, number

    def _try(
        self, now_s: float, stream: Stream, item: Item, taken: list[tuple[ClockedLane, int, float, float]]
    ) -> tuple[Item, int, Limit | None, list[tuple[int, Limit | None] | None]]:
        """Ask for one item and its index entries, taking whatever there is.

        Parameters
        ----------
        taken : what is taken is added: (lane, column, units, ceiling units).

        Returns
        -------
        The item with its present partitions, its column, the limit that refuses it, and for each entry its column and the limit that
        refuses that (None: it has no such entry).
        """
        leg, number, entries = item
        counter = self._counter_of[stream.offset + leg]
        column = counter.column_of.get(number)
        if column is None:
            column, number = self._column(stream, counter, stream.pattern.flows[leg], number)
        units, ceiling_units = self._units[stream.offset + leg], self._ceiling_units[stream.offset + leg]
        limit = counter.lane.admit(now_s, column, units, ceiling_units)
        if limit is None:
            taken.append((counter.lane, column, units, ceiling_units))
        if not entries:
            return (leg, number, entries), column, limit, []
        answers: list[tuple[int, Limit | None] | None] = []
        present = []
        for (at, _, cost, laid), there in zip(self._entries[stream.offset + leg], entries, strict=True):
            if there < 0:
                answers.append(None)
                present.append(there)
                continue
            place = at.column_of.get(there)
            if place is None:
                place, there = self._column(stream, at, laid, there)
            refusal = at.lane.admit(now_s, place, cost, cost)
            if refusal is None:
                taken.append((at.lane, place, cost, cost))
            answers.append((place, refusal))
            present.append(there)
        return (leg, number, tuple(present)), column, limit, answers

    def _note_try(
        self,
        now_s: float,
        stream: Stream,
        leg: int,
        column: int,
        limit: Limit | None,
        answers: Sequence[tuple[int, Limit | None] | None],
        attempt: int,
        *,
        cancelled: bool,
    ) -> Limit | None:
        """Write an item's try into the books of all lanes that it met; gives the limit that the client is told.

        ``cancelled``: what was let through has been given back, because something else was refused.
        """
        own = self._counter_of[stream.offset + leg]
        number = self._number_in_books[stream.offset + leg]
        told, by = limit, None
        for (at, entry, _, _), answer in zip(self._entries[stream.offset + leg], answers, strict=False):
            if answer is None:
                continue
            if answer[1] is not None:
                at.books.attempted(now_s, entry, answer[0], answer[1], attempt)
                told = answer[1] if told is None else told
                by = (at.resource.name, answer[1]) if by is None else by
            elif cancelled:
                at.books.refused_elsewhere(now_s, entry, answer[0], None, attempt)
            else:
                at.books.attempted(now_s, entry, answer[0], None, attempt)
        if limit is None and cancelled:
            if by is None:  # another item of its transaction was refused
                own.books.attempted(now_s, number, column, None, attempt)
                own.books.given_back(now_s, number, column)
            else:
                own.books.refused_elsewhere(now_s, number, column, by, attempt)
        else:
            own.books.attempted(now_s, number, column, limit, attempt)
        return told

    def _attempt(self, now_s: float, request: Request) -> None:
        """Make one attempt at the table."""
        stream = request.stream
        if request.attempt == 1 and not request.resend:
            request.first_s = now_s
        if self._front is not None and not self._front.has_room(now_s, request):
            error = ErrorName.THROTTLING
            self._settle_answer(now_s, self._front.latency_s(), request, error_kind(error), error)
            return
        if request.keys is not None and self._front is not None and self._front.answers(now_s, request):
            request.latency_s = None
            self._settle_answer(now_s, self._front.latency_s(), request, None, None)
            return
        latency_s = request.latency_s = stream.latencies.next()
        if stream.changes_collections and self._is_beyond_collection(request):
            self._books_of(stream).turned_away(now_s, stream, stream.too_large)
            self._settle_answer(now_s, latency_s, request, ErrorKind.REJECTED, stream.too_large)
            return
        if request.applied is not None and now_s < request.first_s + TOKEN_VALID_S:
            self._replay(now_s, latency_s, request, request.applied)
            return
        asked = self._items_of(request) if stream.replays else None
        if stream.may_conflict and request.identities is None:
            self._identify(request)
        if request.items is None:
            taken: list[tuple[ClockedLane, int, float, float]] = []
            item = (request.leg, request.number, request.entries)
            (_, request.number, request.entries), column, limit, answers = self._try(now_s, stream, item, taken)
            lost = _is_refused(limit, answers)
            if lost:
                _give_back(taken)
            limit = self._note_try(now_s, stream, request.leg, column, limit, answers, request.attempt, cancelled=lost)
            if request.owners is not None and not lost:
                self._write_to(request, 0, request.leg)
            if limit is None and request.keys is not None and self._front is not None:
                self._front.done(now_s, request, request.leg, request.entries, request.keys[0])
        else:
            tried = len(request.items)
            limit = self._attempt_items(now_s, request)
            self._books_of(stream).attempt_of_many(now_s, stream, tried, throttled=limit is not None)
        if limit is None and stream.may_conflict:
            conflict = self._meet(now_s, latency_s, request)
            if conflict is not None:
                self._settle_answer(now_s, latency_s, request, error_kind(conflict), conflict)
                return
        if stream.timeout_s is not None and latency_s > stream.timeout_s:
            if limit is None and asked is not None:
                request.applied, request.applied_s = asked, now_s + latency_s
            self._settle_answer(now_s, stream.timeout_s, request, ErrorKind.TIMEOUT, ErrorName.TIMED_OUT)
        elif limit is not None:
            self._answered_later(now_s, latency_s, request, limit)
        elif stream.answers_matter:
            self._settle_answer(now_s, latency_s, request, None, None)
        else:
            self._decide(now_s + latency_s, request, None, None)

    def _replay(self, now_s: float, latency_s: float, request: Request, items: Sequence[Item]) -> None:
        """A transaction that has been applied comes again with its token: its items are read, and that is all (F-TX-1)."""
        stream = request.stream
        books = self._books_of(stream)
        if now_s < request.applied_s:  # still at work on the first
            error = ErrorName.TRANSACTION_IN_PROGRESS
            books.turned_away(now_s, stream, error)
            self._settle_answer(now_s, latency_s, request, error_kind(error), error)
            return
        counter = self._counters[stream.resource.name, Dimension.READ]
        taken: list[tuple[ClockedLane, int, float, float]] = []
        tries = []
        for leg, number, _ in items:
            laid, entry = self._replays[stream.offset + leg]
            column, _ = self._column(stream, counter, laid, number)
            limit = counter.lane.admit(now_s, column, laid.units, laid.units)
            if limit is None:
                taken.append((counter.lane, column, laid.units, laid.units))
            tries.append((entry, column, limit))
        refused = next((limit for *_, limit in tries if limit is not None), None)
        if refused is not None:
            _give_back(taken)
        for entry, column, limit in tries:
            if limit is None and refused is not None:
                counter.books.refused_elsewhere(now_s, entry, column, None, request.attempt)
            else:
                counter.books.attempted(now_s, entry, column, limit, request.attempt)
        books.replayed(now_s, stream, throttled=refused is not None)
        request.items = None if request.items is None else []  # nothing of it is left to be written
        if stream.timeout_s is not None and latency_s > stream.timeout_s:
            self._settle_answer(now_s, stream.timeout_s, request, ErrorKind.TIMEOUT, ErrorName.TIMED_OUT)
        elif refused is not None:
            self._answered_later(now_s, latency_s, request, refused)
        else:
            self._settle_answer(now_s, latency_s, request, None, None)

    # What single items matter for: full collections, and transactions that meet.

    def _items_of(self, request: Request) -> list[Item]:
        """(leg, partition number, entries) of each item."""
        return [(request.leg, request.number, request.entries)] if request.items is None else request.items

    def _is_beyond_collection(self, request: Request) -> bool:
        """Whether a request would add to a collection that has no room."""
        stream, collections = request.stream, self._collections
        assert collections is not None, "there are collections to change"
        flows = stream.pattern.flows
        items = self._items_of(request)
        if request.owners is None:
            request.owners = []
            for leg, number, _ in items:
                if request.owners and flows[leg].leg.together:
                    request.owners.append(request.owners[0])
                    continue
                column, _ = self._column(stream, self._counter_of[stream.offset + leg], flows[leg], number)
                request.owners.append(collections.draw(flows[leg], column, stream.chances.next()))
        return any(
            collections.is_beyond(key, flows[leg]) for key, (leg, _, _) in zip(request.owners, items, strict=True)
        )

    def _write_to(self, request: Request, k: int, leg: int) -> None:
        assert self._collections is not None, "there are collections to change"
        assert request.owners is not None, "the items' collections are known"
        self._collections.add(request.owners[k], request.stream.pattern.flows[leg])

    def _meet(self, now_s: float, latency_s: float, request: Request) -> ErrorName | None:
        """Whether a request that has its capacity meets another one that is at work on an item."""
        assert self._conflicts is not None, "there is something to conflict with"
        assert request.identities is not None, "its items are known"
        operation = request.stream.pattern.demand.traffic.operation
        return self._conflicts.meet(operation, request.identities, now_s, now_s + latency_s)

    def _identify(self, request: Request) -> None:
        """Find out which items a request is about."""
        stream = request.stream
        request.identities = []
        for leg, number, _ in self._items_of(request):
            flow = stream.pattern.flows[leg]
            column, _ = self._column(stream, self._counter_of[stream.offset + leg], flow, number)
            request.identities.append(self._identities[id(flow)].draw(column, stream.chances.next))

    def _again(self, now_s: float, request: Request) -> None:
        """`_send`, `_attempt` and `_decide` in one, for the retry of a single item whose client keeps nothing between attempts.

        In a retry storm nearly all attempts come through here. The plain form is those three; a test holds both equal.
        """
        stream = request.stream
        leg = stream.offset + request.leg
        columns, books, number, levels, at_s, rate, depth, total, units, cost = self._at_lane[leg]
        column = columns.get(request.number)
        if column is None:
            counter, laid = self._counter_of[leg], stream.pattern.flows[request.leg]
            column, request.number = self._column(stream, counter, laid, request.number)
        level = levels[column] + (now_s - at_s[column]) * rate
        if level > depth:
            level = depth
        at_s[column] = now_s
        limit: Limit | None = None
        if total is not None:
            room = total.level + (now_s - total.at_s) * total.rate
            if room > total.depth:
                room = total.depth
            total.at_s = now_s
            total.level = room
            if room < units:
                limit = total.limit
        if limit is None and level < cost:
            limit = Limit.KEY_RANGE
        left = stream.latencies.left
        answered_s = now_s + (left.pop() if left else stream.latencies.next())
        if limit is None:
            levels[column] = level - cost
            if total is not None:
                total.level -= units
            if answered_s <= self._end_s:
                books.tries += (now_s, number, column, SERVED, answered_s - request.first_s, request.attempt)
                books.answered(answered_s, stream, answered_s - now_s)
                stream.unanswered -= 1
            else:
                books.tries += (now_s, number, column, PASSED, NO_TIME, request.attempt)
            return
        levels[column] = level
        books.tries += (now_s, number, column, books.number_of[limit], NO_TIME, request.attempt)
        kind, error = stream.answers[limit]
        attempt = request.attempt
        delay_s = stream.policy.delay_s(attempt, kind, stream.chances.next() if stream.draws_delays else 0.0)
        if delay_s is None:
            if answered_s <= self._end_s:
                stream.unanswered -= 1
                stream.given_up[error] = stream.given_up.get(error, 0) + 1
                stream.took.append(answered_s - request.first_s)
            return
        request.attempt = attempt + 1
        self._count += 1
        heappush(self._heap, (answered_s + delay_s, self._count, self._again, request))

    def _attempt_items(self, now_s: float, request: Request) -> Limit | None:
        """Try a batch item by item, or a transaction as a whole; leaves in ``request.items`` what is still to be served."""
        stream = request.stream
        assert request.items is not None, "a batch has items"
        whole: list[tuple[ClockedLane, int, float, float]] = []
        tries = []
        for k, item in enumerate(request.items):
            taken: list[tuple[ClockedLane, int, float, float]] = []
            request.items[k], column, limit, answers = self._try(now_s, stream, item, taken)
            lost = _is_refused(limit, answers)
            if lost and stream.joint is not Joint.ALL:
                _give_back(taken)
            whole += taken
            tries.append((request.items[k], column, limit, answers, lost))
        cancelled = stream.joint is Joint.ALL and any(lost for *_, lost in tries)
        if cancelled:
            _give_back(whole)
        left: list[Item] = []
        left_keys: list[Key] = []
        served: list[int] = []
        left_owners: list[int] = []
        last = None
        for k, (item, column, limit, answers, lost) in enumerate(tries):
            told = self._note_try(
                now_s, stream, item[0], column, limit, answers, request.attempt, cancelled=cancelled or lost
            )
            if told is not None:
                left.append(item)
                last = told
                if request.keys is not None:
                    left_keys.append(request.keys[k])
                if request.owners is not None:
                    left_owners.append(request.owners[k])
            else:
                served.append(k)
                if request.owners is not None and not cancelled:
                    self._write_to(request, k, item[0])
        if request.keys is not None and self._front is not None and not cancelled:
            for k in served:
                leg, _, entries = request.items[k]
                self._front.done(now_s, request, leg, entries, request.keys[k])
        if stream.joint is Joint.ALL or last is None:
            if last is None:
                request.items = []
                request.owners = None if request.owners is None else []
            return last
        if len(left) == len(request.items):
            return last
        request.items = left
        request.owners = None if request.owners is None else left_owners
        if request.keys is not None:
            request.keys = left_keys
        request.partly = True
        return None

    # Answers.

    def _answered_later(self, sent_s: float, latency_s: float, request: Request, limit: Limit) -> None:
        """A throttled attempt's answer."""
        stream = request.stream
        kind, error = stream.answers[limit]
        if stream.answers_matter:
            self._settle_answer(sent_s, latency_s, request, kind, error)
        else:
            self._decide(sent_s + latency_s, request, kind, error)

    def _settle_answer(
        self, sent_s: float, latency_s: float, request: Request, kind: ErrorKind | None, error: ErrorName | None
    ) -> None:
        stream = request.stream
        if not stream.answers_matter:
            self._decide(sent_s + latency_s, request, kind, error)
            return
        client = stream.clients[request.client]

        def answer(now_s: float, request: Request) -> None:
            if client.breaker is not None:
                if kind is not None and is_failure(kind):
                    client.breaker.on_failure(now_s, sent_s)
                else:
                    client.breaker.on_success(sent_s)
            if client.adaptive is not None:
                client.adaptive.on_answer(now_s, kind in THROTTLES)
            self._decide(now_s, request, kind, error)

        self._push(sent_s + latency_s, answer, request)

    def _decide(self, now_s: float, request: Request, kind: ErrorKind | None, error: ErrorName | None) -> None:
        """An answer is there at ``now_s``: done, again, or given up."""
        stream = request.stream
        client = stream.clients[request.client]
        if kind is None:
            if client.quota is not None:
                client.quota.release(request.last_cost)
                if stream.quotas_are_full():
                    self._be_careful(stream, stream.always_careful)
            resent = bool(request.items) and self._resend(now_s, request)
            answered = (resent and now_s <= self._end_s) or (not resent and self._succeed(now_s, request))
            if answered and request.latency_s is not None:
                self._books_of(stream).answered(now_s, stream, request.latency_s)
            return
        delay_s = stream.policy.delay_s(request.attempt, kind, stream.chances.next() if stream.draws_delays else 0.0)
        self._decide_with(now_s, request, kind, error, delay_s)

    def _decide_with(
        self, now_s: float, request: Request, kind: ErrorKind, error: ErrorName | None, delay_s: float | None
    ) -> None:
        """An attempt has failed, and its policy has spoken: again, if the quota agrees, or given up."""
        stream = request.stream
        client = stream.clients[request.client]
        if delay_s is not None and client.quota is not None:
            costs = stream.policy.quota_costs
            assert costs is not None, "a quota has costs"
            if client.quota.acquire(costs[kind]):
                request.last_cost = costs[kind]
                self._be_careful(stream, True)
            else:
                delay_s = None
        if delay_s is None:
            assert error is not None, "a failure has a name"
            if request.partly:  # a part was served before: the caller has been told what was not
                self._succeed(now_s, request)
            else:
                self._fail(now_s, request, error)
            return
        request.attempt += 1
        self._count += 1
        act = self._again if self._is_plain(stream) else self._send
        heappush(self._heap, (now_s + delay_s, self._count, act, request))

    def _resend(self, now_s: float, request: Request) -> bool:
        """Send what a batch gave back once more, if its client does that."""
        stream = request.stream
        if stream.resend is None:
            return False
        delay_s = stream.resend.delay_s(request.resend, stream.chances.next())
        if delay_s is None:
            return False
        request.resend += 1
        request.attempt = 1
        request.last_cost = 0
        self._push(now_s + delay_s, self._send, request)
        return True

    def _be_careful(self, stream: Stream, careful: bool) -> None:
        for leg in range(stream.offset, stream.offset + len(stream.pattern.flows)):
            at = [counter for counter, *_ in self._entries[leg]]
            self._careful[leg] = careful or not all(c.lane.is_plain for c in (self._counter_of[leg], *at))
            self._set_state(leg)

    def _set_state(self, leg: int) -> None:
        self._states[leg] = None if self._careful[leg] or self._entries[leg] else self._counter_of[leg].state

    def _succeed(self, now_s: float, request: Request) -> bool:
        """Close a request that was served, or a page of a walk; returns whether that is known by the end, and no condition was false."""
        stream = request.stream
        if request.walk is not None:
            is_known = now_s <= self._end_s  # of the page, whatever becomes of the walk
            ended = self._page_answered(now_s, request, None)
            if ended is None:
                return is_known
            now_s, given_up = ended
            if given_up is not None:
                self._give_up(now_s, request, given_up)
                return is_known
        self._close(now_s, request)
        if now_s > self._end_s:
            return False
        if request.items:
            stream.record.unprocessed += len(request.items)
        fails = stream.pattern.demand.condition_fails
        is_met = not (fails and stream.chances.next() < fails)
        if is_met:
            self._books_of(stream).succeeded(now_s, stream)
            if stream.followers:
                self._follow(now_s, request)
        else:
            self._books_of(stream).failed(stream, stream.failed_condition)
            self._books_of(stream).unmet(now_s, stream)
        self._books_of(stream).took(stream, now_s - request.first_s)
        return is_met

    def _fail(self, now_s: float, request: Request, error: ErrorName) -> None:
        if request.walk is not None:
            ended = self._page_answered(now_s, request, error)
            if ended is None:
                return
            now_s, error = ended[0], ended[1] or error
        self._give_up(now_s, request, error)

    def _give_up(self, now_s: float, request: Request, error: ErrorName) -> None:
        stream = request.stream
        self._close(now_s, request)
        if now_s > self._end_s:
            return
        self._books_of(stream).failed(stream, error)
        if error is not ErrorName.BREAKER_OPEN:
            self._books_of(stream).took(stream, now_s - request.first_s)

    def _close(self, now_s: float, request: Request) -> None:
        stream = request.stream
        if now_s <= self._end_s:
            stream.unanswered -= 1
        stream.last_answer_s = max(stream.last_answer_s, now_s)
        if request.thread:
            # A thread that is turned away at once (an open breaker, an invalid request) takes the time of an answer before it asks again.
            pause_s = 0.0 if now_s > request.arrived_s else stream.latencies.next()
            self._push(now_s + pause_s, self._begin, request)


def _replay_of(flow: Flow) -> Entry:
    """What a leg of a transaction asks for when it comes again after it was applied."""
    name = f"{flow.name}/again"
    return Entry(name, flow.resource, Dimension.READ, flow.leg.replay_units, flow.make, flow.draws, 1.0, 0.0)


def _is_refused(limit: Limit | None, answers: Sequence[tuple[int, Limit | None] | None]) -> bool:
    """Whether the table, or an index that has an entry of it, refuses an item."""
    return limit is not None or any(answer is not None and answer[1] is not None for answer in answers)


def _give_back(taken: Sequence[tuple[ClockedLane, int, float, float]]) -> None:
    """Undo what was taken for a request that is refused after all."""
    for lane, column, units, ceiling_units in taken:
        lane.take(column, -units, -ceiling_units)


def _widened(came: Arrived, keep: Ints, most: int) -> Ints:
    """Index partitions of single items' entries in as many columns as the leg with the most has."""
    wide = np.full((len(keep), most), -1, dtype=np.int64)
    if came.entries is not None and came.items is None:
        wide[:, : came.entries.shape[1]] = came.entries[keep]
    return wide
