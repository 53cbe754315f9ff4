"""An access pattern at the request level: its requests one by one, and the SDK clients that send them."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque

import numpy as np

from sim.calibration import Calibration
from sim.clients.adaptive import AdaptiveLimiter
from sim.clients.base import ErrorKind, error_kind
from sim.clients.breaker import CircuitBreaker, make_breaker
from sim.clients.limiter import RateLimiter, make_limiters
from sim.clients.quota import RetryQuota, make_quota
from sim.clients.resend import make_resend
from sim.clients.retries import FullJitter, make_policy
from sim.keyspace.domain import Floats
from sim.levels.demand import Joint
from sim.levels.laid import Laid
from sim.levels.latencies import latency_law
from sim.levels.patterns import Pattern
from sim.levels.randomness import generator
from sim.levels.walking import Branch, Walks
from sim.names import TRANSACTION_OPERATIONS, Dimension, ErrorName, Limit, Operation, RetryMode, throttling_error
from sim.results.latency import TimeHistogram
from sim.results.recorder import TrafficRecord

_POOL = 4096
_ALMOST = 1e-6  # of a request: what sums of rounded parts may lack of a whole one

Key = tuple[int, int]  # number of an item, and of its partition key
Item = tuple[int, int, tuple[int, ...]]  # leg, partition number, index partitions of its entries (-1: none)


class Pool:
    """Random numbers drawn by the thousand and handed out one by one, in the order of their generator."""

    __slots__ = ("_draw", "left")

    def __init__(self, draw: object) -> None:
        self._draw = draw
        self.left: list[float] = []

    def next(self) -> float:
        """The next number."""
        if not self.left:
            self.left = self._draw(_POOL)[::-1].tolist()  # type: ignore[operator]
        return self.left.pop()


class Request:
    """One request between its first attempt and its final answer.

    Attributes
    ----------
    leg, number, entries : leg and partition number of a single item, and the index partition of each of its index entries (-1: none).
    items : (leg, partition number, entries) of each item that is still to be served, for batches and transactions; None for a
        single item.
    attempt : number of the attempt that is made next, from 1; ``resend`` of the resend of unprocessed items, from 0.
    first_s, arrived_s : when the first attempt was made, when the application asked.
    latency_s : seconds that the last attempt took.
    client : which of the pattern's clients; ``last_cost`` what the last retry cost its quota.
    applied : items of a transaction that was applied while its answer got lost, ``applied_s`` when it was done; None: nothing of the kind.
    keys, identities : of each item the item collection (-1: none that is followed), and which item it is (None: one of many), once known.
    thread : whether another request follows the answer (closed loop); ``partly`` whether a part of the batch has been served.
    walk : the walk of pages of which this is the present page.
    keys : of each item that is still to be served, where a cache has to know; ``node`` of the cache that was asked last.
    owners : of each item its collection, where one may become full.
    """

    __slots__ = (
        "applied",
        "applied_s",
        "arrived_s",
        "attempt",
        "client",
        "entries",
        "first_s",
        "identities",
        "items",
        "keys",
        "last_cost",
        "latency_s",
        "leg",
        "node",
        "number",
        "owners",
        "partly",
        "resend",
        "stream",
        "thread",
        "walk",
    )

    def __init__(
        self,
        stream: Stream,
        leg: int,
        number: int,
        items: list[Item] | None,
        now_s: float,
        client: int,
        entries: tuple[int, ...] = (),
    ) -> None:
        self.stream = stream
        self.leg = leg
        self.number = number
        self.entries = entries
        self.items = items
        self.attempt = 1
        self.resend = 0
        self.first_s = now_s
        self.arrived_s = now_s
        self.latency_s: float | None = 0.0
        self.client = client
        self.last_cost = 0
        self.thread = False
        self.partly = False
        self.walk: Branch | None = None
        self.applied: list[Item] | None = None
        self.applied_s = 0.0
        self.owners: list[int] | None = None
        self.keys: list[Key] | None = None
        self.node = 0
        self.identities: list[tuple[int, int] | None] | None = None


class Followers:
    """Requests of another pattern that come after each served one; what is left of a whole request is carried on."""

    __slots__ = ("_left", "delay_s", "per", "stream")

    def __init__(self, stream: Stream) -> None:
        follows = stream.pattern.demand.traffic.follows
        assert follows is not None, "a follower follows"
        self.stream = stream
        self.per = follows.per
        self.delay_s = follows.delay
        self._left = 0.0

    def due(self) -> int:
        """How many follow the next served request."""
        self._left += self.per
        count = int(self._left + _ALMOST)
        self._left -= count
        return count


class Client:
    """One SDK client object: what it keeps between requests."""

    __slots__ = ("adaptive", "breaker", "limiter", "queue", "quota")

    def __init__(
        self,
        quota: RetryQuota | None,
        breaker: CircuitBreaker | None,
        limiter: RateLimiter | None,
        adaptive: AdaptiveLimiter | None,
    ) -> None:
        self.quota = quota
        self.breaker = breaker
        self.limiter = limiter
        self.adaptive = adaptive
        self.queue: deque[Request] = deque()  # waits for the adaptive limiter


class Stream:
    """One access pattern with its clients and its randomness.

    Attributes
    ----------
    always_careful : each attempt has to go through its client; otherwise only a refused one does.
    answers_matter : the client learns from each answer when it comes; ``sends_carefully``: it may hold an attempt back.
    offset : number of the stream's first leg among all legs of its lane.
    answers : kind and name of the error by which each limit is told.
    remaining : requests of a finite job that are still to come.
    walks : of a pattern whose requests walk from page to page.
    unanswered : requests without a final answer.
    changes_collections : whether its writes add to item collections that have a limit, or take from them.
    replays : whether a transaction may come again after it was applied, for its answer took too long.
    may_conflict : whether it writes beside transactions, or is one.
    too_large : what a full item collection is told as.
    failed_condition : what a false condition is told as.
    followers : what follows each of its served requests.
    given_up, took : of the present stretch, failed requests by error, and seconds from first attempt to final answer.
    """

    def __init__(self, pattern: Pattern, record: TrafficRecord, seed: int, calibration: Calibration) -> None:
        traffic = pattern.demand.traffic
        name, settings = traffic.name, traffic.client
        self.pattern = pattern
        self.record = record
        self.joint = pattern.demand.joint
        self.resource = pattern.flows[0].resource
        self.dimension = pattern.flows[0].dimension
        self.policy = make_policy(settings)
        self.resend = make_resend(settings)
        self.timeout_s = settings.timeout
        is_adaptive = settings.retry is RetryMode.ADAPTIVE
        self.clients = []
        for _ in range(traffic.clients):
            read, write = make_limiters(settings)
            limiter = read if self.dimension is Dimension.READ else write
            self.clients.append(
                Client(
                    make_quota(self.policy), make_breaker(settings), limiter, AdaptiveLimiter() if is_adaptive else None
                )
            )
        first = self.clients[0]
        self.answers_matter = first.breaker is not None or first.adaptive is not None
        self.always_careful = (
            self.answers_matter
            or first.limiter is not None
            or self.joint is not Joint.ONE_OF
            or self.timeout_s is not None
        )
        self.sends_many = self.joint in (Joint.EACH, Joint.ALL)  # an attempt has many items
        self.moments = generator(seed, name, "moments")
        self.deals = [generator(seed, name, flow.leg.name, "deals") for flow in pattern.flows]
        self.entry_deals = [
            [generator(seed, name, flow.name, entry.name, "deals") for entry in flow.entries] for flow in pattern.flows
        ]
        self.conditions = generator(seed, name, "conditions")
        self.chances = Pool(generator(seed, name, "chances").random)
        law = latency_law(pattern.demand, calibration)
        self._latency_draws = generator(seed, name, "first latencies")
        self.latency_law = law
        later = generator(seed, name, "later latencies")
        self.latencies = Pool(lambda count: law.draw(later, count))
        record.latency = TimeHistogram()
        if first.limiter is not None:
            record.limiter_wait = TimeHistogram()
        self.draws_delays = isinstance(self.policy, FullJitter)
        self.sends_carefully = self.answers_matter or first.limiter is not None
        keeps_nothing = not self.sends_carefully and first.quota is None and self.timeout_s is None
        simple = self.joint is Joint.ONE_OF and not pattern.demand.condition_fails
        simple = simple and not any(flow.entries for flow in pattern.flows)
        self.is_plain = keeps_nothing and simple and traffic.count is None and not traffic.threads
        self.offset = 0
        self.answers: dict[Limit, tuple[ErrorKind, ErrorName]] = {}
        self.remaining = traffic.count
        self.threads = traffic.threads or 0
        self.unanswered = 0
        transaction = traffic.operation in TRANSACTION_OPERATIONS
        self.failed_condition = ErrorName.TRANSACTION_CANCELED if transaction else ErrorName.CONDITIONAL_CHECK
        self.too_large = ErrorName.TRANSACTION_CANCELED if transaction else ErrorName.COLLECTION_SIZE
        self.changes_collections = False
        self.may_conflict = False
        self.replays = traffic.operation is Operation.TRANSACT_WRITE_ITEMS and self.timeout_s is not None
        self.given_up: dict[ErrorName, int] = {}
        self.took: list[float] = []
        self.last_answer_s = 0.0
        self.followers: list[Followers] = []
        self._cells: tuple[tuple[str, int], int, list[float]] | None = None
        self.walks: Walks | None = None

    def lead(self, follower: Stream) -> None:
        """Let another pattern's requests follow each served request of this one: none may then pass by the client."""
        self.followers.append(Followers(follower))
        self.take_care()

    def take_care(self) -> None:
        """Let each attempt go through its client, one by one."""
        self.always_careful = True
        self.is_plain = False

    def know_keys(self) -> None:
        """Each request carries its keys, for a cache to know."""
        self.always_careful = True
        self.is_plain = False

    def know_answers(self) -> None:
        """What a client is told by each limit."""
        mode = self.resource.mode
        transaction = self.pattern.demand.traffic.operation in TRANSACTION_OPERATIONS
        for limit in Limit:
            error = ErrorName.TRANSACTION_CANCELED if transaction else throttling_error(mode, limit)
            self.answers[limit] = (error_kind(error), error)

    def first_latencies(self, count: int) -> Floats:
        """Latencies of first attempts, in their order."""
        return self.latency_law.draw(self._latency_draws, count)

    def pick_client(self) -> int:
        """Which client a request goes through: any, alike."""
        count = len(self.clients)
        return 0 if count == 1 else int(self.chances.next() * count)

    def quotas_are_full(self) -> bool:
        """Whether no client's quota remembers a retry."""
        return all(c.quota is None or c.quota.tokens >= c.quota.capacity for c in self.clients)

    def draw_cell(self) -> tuple[int, int]:
        """A leg and the number of a partition, for one more request of a closed loop."""
        flows = self.pattern.flows
        mark = (flows[0].layout, self.resource.version)
        if self._cells is None or self._cells[:2] != mark:
            for flow in flows:
                flow.place()
            shares = np.concatenate([flow.fraction * flow.shares for flow in flows])
            cumulative = (np.cumsum(shares / shares.sum())).tolist()
            self._cells = (*mark, cumulative)
        cumulative = self._cells[2]
        cell = min(bisect_right(cumulative, self.chances.next()), len(cumulative) - 1)
        leg, column = divmod(cell, len(flows[0].shares))
        return leg, self.resource.partitions.serving[column]

    def draw_column(self, laid: Laid) -> int:
        """The number of a partition for one item of a leg, or for an index entry."""
        laid.place()
        cumulative = np.cumsum(laid.shares)
        column = int(cumulative.searchsorted(self.chances.next() * cumulative[-1], side="right"))
        return laid.resource.partitions.serving[min(column, len(cumulative) - 1)]

    def draw_entries(self, leg: int) -> tuple[int, ...]:
        """Numbers of the index partitions of an item's entries, -1 where it has none."""
        return tuple(
            self.draw_column(entry) if entry.probability >= 1 or self.chances.next() < entry.probability else -1
            for entry in self.pattern.flows[leg].entries
        )

    def half_of(self, laid: Laid, halves: tuple[int, int]) -> int:
        """Which half of a split partition a waiting request belongs to: by the halves' shares of its traffic."""
        spread = laid.spread
        low, high = (laid.resource.partitions.range_of(number) for number in halves)
        begin, middle, end = spread.below(low.low), spread.below(high.low), spread.below(high.high)
        fraction = (middle - begin) / (end - begin) if end > begin else 0.5
        return halves[0] if self.chances.next() < fraction else halves[1]
