"""The request level: every attempt is an event with its time, place, cost and outcome. The ground truth beside the flow level.

Both levels draw the same counts; here each request gets its moment within the tick. Requests that are served at the first attempt, nearly
all, pass through one tight loop; only a refused one becomes an object and an event in a heap. A control event never lies inside a stretch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

import numpy as np

from sim.clients.base import ErrorKind
from sim.clients.breaker import is_failure
from sim.keyspace.building import KeySpace
from sim.keyspace.domain import Floats, Ints
from sim.levels.books import NO_TIME, PASSED, SERVED, Books
from sim.levels.demand import Demand, Joint
from sim.levels.patterns import Patterns
from sim.levels.placing import Arrived, place
from sim.levels.streams import Request, Stream
from sim.names import Dimension, ErrorName, Limit
from sim.partitions.clocked import ClockedLane
from sim.partitions.resource import Resource
from sim.results.log import AttemptLog
from sim.results.recorder import Recorder
from sim.scenario import Scenario

STRETCH_REQUESTS = 100_000  # requests placed at a time

Event = tuple[float, int, Callable[[float, Request], None], Request]


class RequestLevel:
    """Moves all traffic of a scenario through one table, attempt by attempt. Its one verb is `advance`."""

    def __init__(
        self,
        scenario: Scenario,
        demands: Sequence[Demand],
        resource: Resource,
        keyspace: KeySpace,
        recorder: Recorder,
        key_names: dict[int, str],
        *,
        stretch_requests: int | None = None,
        log: AttemptLog | None = None,
    ) -> None:
        self._log = log
        self._resource = resource
        self._recorder = recorder
        self._grid = recorder.grid
        self._end_s = recorder.grid.duration_s
        self._stretch_requests = STRETCH_REQUESTS if stretch_requests is None else stretch_requests
        self._patterns = Patterns(scenario, demands, resource, keyspace, recorder, key_names, stops_at_count=False)
        self._streams = [
            Stream(pattern, recorder.traffic[pattern.demand.traffic.name], scenario.seed, resource.calibration)
            for pattern in self._patterns.all
        ]
        self._loops = [
            LaneLoop(resource, dimension, recorder, streams, log)
            for dimension in Dimension
            if (streams := [s for s in self._streams if s.dimension is dimension])
        ]

    def roll_over(self, now_s: float) -> None:
        """Lay the traffic anew where a clock field has taken another value."""
        self._patterns.roll_over(now_s)

    def finish(self) -> None:
        """Hand the last tallies to the recorder."""
        self._patterns.finish()
        for stream in self._streams:
            if stream.remaining == 0 and not stream.unanswered:
                stream.record.finished_s = min(stream.last_answer_s, self._end_s)

    def advance(self, first: int, last: int) -> None:
        """Run ticks [first, last). Nothing that is scheduled lies inside them."""
        tick_s = self._grid.tick_s
        for loop in self._loops:
            loop.enter(first * tick_s)
        tick = first
        while tick < last:
            end = min(last, tick + self._ticks_ahead(tick, last))
            self._stretch(tick, end)
            tick = end
        for loop in self._loops:
            loop.leave(min(last * tick_s, self._end_s))

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
        self._resource.observed_s += float(edges_s[-1] - edges_s[0])
        for loop in self._loops:
            arrived = []
            for stream in loop.streams:
                here = drawn.get(id(stream.pattern))
                if here is None:
                    continue
                assert stream.pattern.integral is not None, "what is drawn has a rate"
                came = place(here, edges_s, stream.pattern.integral(edges_s), stream.moments, stream.deals)
                arrived.append((stream, came))
            loop.run(first, edges_s, arrived)
        if self._log is not None:
            self._log.flush()


class LaneLoop:
    """All requests of one dimension in order of time: a tight loop over arrivals, a heap of everything that comes later."""

    def __init__(
        self,
        resource: Resource,
        dimension: Dimension,
        recorder: Recorder,
        streams: Sequence[Stream],
        log: AttemptLog | None = None,
    ) -> None:
        self.streams = list(streams)
        self._resource = resource
        self._end_s = recorder.grid.duration_s
        self._lane = ClockedLane(resource.lanes[dimension])
        self._gate = self._lane.columns[-1]
        self._total = self._lane.totals[0] if self._lane.totals else None
        self._books = Books(resource, dimension, recorder, streams, log)
        self._number_of = self._books.number_of
        self._heap: list[Event] = []
        self._count = 0
        self._column_of: dict[int, int] = {}
        self._careful: list[bool] = []
        for stream in streams:
            stream.offset = len(self._careful)
            stream.know_answers(resource.mode)
            self._careful += [stream.always_careful] * len(stream.pattern.flows)
            for _ in range(stream.threads):
                traffic = stream.pattern.demand.traffic
                request = Request(stream, 0, 0, None, traffic.starts, stream.pick_client())
                self._push(traffic.starts, self._begin, request)
        flows = [flow for stream in streams for flow in stream.pattern.flows]
        self._units: list[float] = [flow.leg.units for flow in flows]
        self._ceiling_units: list[float] = [flow.leg.units * flow.ceiling_ratio for flow in flows]

    # Between control events.

    def enter(self, now_s: float) -> None:
        """Take over the lane's buckets."""
        self._lane.enter(now_s)
        self._column_of = {number: column for column, number in enumerate(self._resource.partitions.serving)}

    def leave(self, now_s: float) -> None:
        """Give the lane's buckets back."""
        self._lane.leave(now_s)

    def run(self, first: int, edges_s: Floats, arrived: list[tuple[Stream, Arrived]]) -> None:
        """Run the requests that arrive in a stretch, and whatever falls due in it."""
        until_s = float(edges_s[-1])
        self._books.open(first, edges_s)
        times, legs, columns, rows, latencies, owners = self._merge(arrived)
        if len(times):
            self._run_arrivals(times, legs, columns, rows, latencies, owners)
        heap = self._heap
        while heap and heap[0][0] < until_s:
            due_s, _, act, request = heappop(heap)
            act(due_s, request)
        self._books.close(self._column_of)

    def _merge(
        self, arrived: list[tuple[Stream, Arrived]]
    ) -> tuple[Floats, Ints, Ints, Ints, Floats, list[tuple[Stream, Arrived]]]:
        """All arrivals in order of time: moment, leg (over all streams), partition, row in its stream, latency."""
        parts: list[list[np.ndarray]] = [[], [], [], [], []]
        owners = []
        for stream, came in arrived:
            count = len(came.times_s)
            latency = stream.first_latencies(count)
            keep = np.arange(count)
            if stream.remaining is not None:
                keep = np.sort(np.argsort(came.times_s, kind="stable")[: stream.remaining])
                stream.remaining -= len(keep)
            if stream.pattern.demand.invalid:
                self._books.invalid(stream, came.times_s[keep])
                continue
            owners.append((stream, came))
            offset = stream.offset
            for part, values in zip(
                parts,
                (came.times_s[keep], came.leg[keep] + offset, came.column[keep], keep, latency[keep]),
                strict=True,
            ):
                part.append(values)
        if not owners:
            none = np.empty(0, dtype=np.int64)
            return np.empty(0), none, none, none, np.empty(0), []
        times, legs, columns, rows, latencies = (np.concatenate(part) for part in parts)
        order = np.argsort(times, kind="stable")
        return times[order], legs[order], columns[order], rows[order], latencies[order], owners

    def _run_arrivals(
        self,
        times: Floats,
        legs: Ints,
        columns: Ints,
        rows: Ints,
        latencies: Floats,
        owners: list[tuple[Stream, Arrived]],
    ) -> None:
        lane, heap, careful = self._lane, self._heap, self._careful
        plain = lane.is_plain
        gate = lane.columns[-1]
        levels, at_s, rate, depth = gate.levels, gate.at_s, gate.rates[0], gate.depths[0]
        total = lane.totals[0] if lane.totals else None
        units, ceiling_units = self._units, self._ceiling_units
        stream_of = [stream for stream in self.streams for _ in stream.pattern.flows]
        came_of = {id(stream): came for stream, came in owners}
        through_clients: list[int] = []
        refused: list[int] = []
        limits: list[Limit] = []
        next_due = heap[0][0] if heap else math.inf
        leg_list, column_list, latency_list = legs.tolist(), columns.tolist(), latencies.tolist()
        serving = self._resource.partitions.serving
        for i, now in enumerate(times.tolist()):
            while next_due <= now:
                due_s, _, act, request = heappop(heap)
                act(due_s, request)
                next_due = heap[0][0] if heap else math.inf
            leg = leg_list[i]
            if careful[leg] or not plain:
                stream = stream_of[leg]
                through_clients.append(i)
                self._arrive(now, stream, came_of[id(stream)], leg, column_list[i], int(rows[i]))
                next_due = heap[0][0] if heap else math.inf
                continue
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
                limit = gate.limit
                if total is not None:
                    total.level += units[leg]  # a refused attempt takes tokens nowhere
            levels[column] = level
            refused.append(i)
            limits.append(limit)
            stream = stream_of[leg]
            if stream.policy.max_attempts > 1:
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
        self._books.first_attempts(times, legs, columns, latencies, through_clients, refused, limits)

    # One request through its client.

    def _push(self, at_s: float, act: Callable[[float, Request], None], request: Request) -> None:
        self._count += 1
        heappush(self._heap, (at_s, self._count, act, request))

    def _arrive(self, now_s: float, stream: Stream, came: Arrived, leg: int, column: int, row: int) -> None:
        serving = self._resource.partitions.serving
        items = None if came.items is None else [(k, serving[c]) for k, c in came.items[row].tolist()]
        request = Request(stream, leg - stream.offset, serving[column], items, now_s, stream.pick_client())
        stream.unanswered += 1
        self._books.asked(now_s, stream)
        self._send(now_s, request)

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
        leg, number = stream.draw_cell(self._resource)
        items = self._draw_items(stream, leg, number)
        fresh = Request(stream, leg, number, items, now_s, request.client)
        fresh.thread = True
        stream.unanswered += 1
        self._books.asked(now_s, stream)
        if stream.pattern.demand.invalid:
            self._fail(now_s, fresh, ErrorName.VALIDATION)
        else:
            self._send(now_s, fresh)

    def _draw_items(self, stream: Stream, leg: int, number: int) -> list[tuple[int, int]] | None:
        if stream.joint is Joint.ONE_OF:
            return None
        flows = stream.pattern.flows
        legs = range(len(flows)) if stream.joint is Joint.ALL else [0]
        items: list[tuple[int, int]] = []
        for k in legs:
            count = flows[k].leg.items
            if flows[k].leg.together:
                items += [(k, number)] * count
            elif stream.joint is Joint.ALL or len(flows) == 1:
                items += [(k, stream.draw_column(k, self._resource)) for _ in range(count)]
            else:
                items += [stream.draw_cell(self._resource) for _ in range(count)]
        return items

    def _send(self, now_s: float, request: Request) -> None:
        """Bring a request, first or again, to its client."""
        stream = request.stream
        client = stream.clients[request.client]
        if client.breaker is not None and not client.breaker.allows(now_s):
            self._fail(now_s, request, ErrorName.BREAKER_OPEN)
            return
        if client.limiter is not None:
            at_s = client.limiter.admit_at(now_s, self._cost(request))
            self._books.waited(stream, at_s - now_s)
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
        return sum(self._units[offset + leg] for leg, _ in request.items)

    def _column(self, stream: Stream, leg: int, number: int) -> tuple[int, int]:
        """Where a partition stands now, following the splits since the request was made; with its present number."""
        column = self._column_of.get(number)
        while column is None:
            halves = self._resource.partitions.lives[number].halves
            assert halves is not None, "what no longer serves has halves"
            number = stream.half_of(leg, halves, self._resource)
            column = self._column_of.get(number)
        return column, number

    def _attempt(self, now_s: float, request: Request) -> None:
        """Make one attempt at the table."""
        stream = request.stream
        if request.attempt == 1 and not request.resend:
            request.first_s = now_s
        latency_s = stream.latencies.next()
        if request.items is None:
            leg = stream.offset + request.leg
            column = self._column_of.get(request.number)
            if column is None:
                column, request.number = self._column(stream, request.leg, request.number)
            limit = self._lane.admit(now_s, column, self._units[leg], self._ceiling_units[leg])
            self._books.attempted(now_s, leg, column, limit, request.attempt)
        else:
            tried = len(request.items)
            limit = self._attempt_items(now_s, request, stream.offset)
            self._books.attempt_of_many(now_s, stream, tried, throttled=limit is not None)
        if stream.timeout_s is not None and latency_s > stream.timeout_s:
            self._settle_answer(now_s, stream.timeout_s, request, ErrorKind.TIMEOUT, ErrorName.TIMED_OUT)
        elif limit is not None:
            self._answered_later(now_s, latency_s, request, limit)
        elif stream.answers_matter:
            self._settle_answer(now_s, latency_s, request, None, None)
        else:
            self._decide(now_s + latency_s, request, None, None)

    def _again(self, now_s: float, request: Request) -> None:
        """`_send`, `_attempt` and `_decide` in one, for the retry of a single item whose client keeps nothing between attempts.

        In a retry storm nearly all attempts come through here. The plain form is those three; a test holds both equal.
        """
        stream = request.stream
        leg = stream.offset + request.leg
        column = self._column_of.get(request.number)
        if column is None:
            column, request.number = self._column(stream, request.leg, request.number)
        gate = self._gate
        level = gate.levels[column] + (now_s - gate.at_s[column]) * gate.rates[column]
        if level > gate.depths[column]:
            level = gate.depths[column]
        gate.at_s[column] = now_s
        limit: Limit | None = None
        total = self._total
        if total is not None:
            room = total.level + (now_s - total.at_s) * total.rate
            if room > total.depth:
                room = total.depth
            total.at_s = now_s
            total.level = room
            if room < self._units[leg]:
                limit = total.limit
        cost = self._ceiling_units[leg]
        if limit is None and level < cost:
            limit = gate.limit
        left = stream.latencies.left
        answered_s = now_s + (left.pop() if left else stream.latencies.next())
        if limit is None:
            gate.levels[column] = level - cost
            if total is not None:
                total.level -= self._units[leg]
            if answered_s <= self._end_s:
                self._books.tries += (now_s, leg, column, SERVED, answered_s - request.first_s, request.attempt)
                stream.unanswered -= 1
            else:
                self._books.tries += (now_s, leg, column, PASSED, NO_TIME, request.attempt)
            return
        gate.levels[column] = level
        self._books.tries += (now_s, leg, column, self._number_of[limit], NO_TIME, request.attempt)
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

    def _attempt_items(self, now_s: float, request: Request, offset: int) -> Limit | None:
        """Try a batch item by item, or a transaction as a whole; leaves in ``request.items`` what is still to be served."""
        stream = request.stream
        assert request.items is not None, "a batch has items"
        placed = []
        for k, (leg, number) in enumerate(request.items):
            column, number = self._column(stream, leg, number)
            request.items[k] = (leg, number)
            placed.append((column, self._units[offset + leg], self._ceiling_units[offset + leg]))
        refusals = (
            self._lane.admit_all(now_s, placed)
            if stream.joint is Joint.ALL
            else [self._lane.admit(now_s, *item) for item in placed]
        )
        cancelled = stream.joint is Joint.ALL and any(limit is not None for limit in refusals)
        for (leg, _), (column, _, _), limit in zip(request.items, placed, refusals, strict=True):
            self._books.attempted(now_s, offset + leg, column, limit, request.attempt)
            if limit is None and cancelled:
                self._books.given_back(now_s, offset + leg, column)
        last = next((limit for limit in reversed(refusals) if limit is not None), None)
        if stream.joint is Joint.ALL or last is None:
            if last is None:
                request.items = []
            return last
        left = [item for item, limit in zip(request.items, refusals, strict=True) if limit is not None]
        if len(left) == len(request.items):
            return last
        request.items = left
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
                client.adaptive.on_answer(now_s, kind in (ErrorKind.THROTTLED, ErrorKind.REQUEST_LIMIT))
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
            if request.items and self._resend(now_s, request):
                return
            self._succeed(now_s, request)
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
        act = self._again if stream.is_plain and self._lane.is_plain else self._send
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
        offset = stream.offset
        for leg in range(len(stream.pattern.flows)):
            self._careful[offset + leg] = careful

    def _succeed(self, now_s: float, request: Request) -> None:
        stream = request.stream
        self._close(now_s, request)
        if now_s > self._end_s:
            return
        if request.items:
            stream.record.unprocessed += len(request.items)
        fails = stream.pattern.demand.condition_fails
        if fails and stream.chances.next() < fails:
            self._books.failed(stream, ErrorName.CONDITIONAL_CHECK)
        else:
            self._books.succeeded(now_s, stream)
        self._books.took(stream, now_s - request.first_s)

    def _fail(self, now_s: float, request: Request, error: ErrorName) -> None:
        stream = request.stream
        self._close(now_s, request)
        if now_s > self._end_s:
            return
        self._books.failed(stream, error)
        if error is not ErrorName.BREAKER_OPEN:
            self._books.took(stream, now_s - request.first_s)

    def _close(self, now_s: float, request: Request) -> None:
        stream = request.stream
        if now_s <= self._end_s:
            stream.unanswered -= 1
        stream.last_answer_s = max(stream.last_answer_s, now_s)
        if request.thread:
            # A thread that is turned away at once (an open breaker, an invalid request) takes the time of an answer before it asks again.
            pause_s = 0.0 if now_s > request.arrived_s else stream.latencies.next()
            self._push(now_s + pause_s, self._begin, request)
