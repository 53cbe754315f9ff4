"""What one request of an access pattern asks of the table: legs, each with its place, its cost and how often it occurs.

Both levels move the same legs. A plain operation has one leg (two where some of its items are missing); a batch repeats its leg for every
item, each admitted on its own; a transaction needs all its legs at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from sim.keyspace.building import KeySpec
from sim.levels.growing import new_fraction
from sim.limits import ITEM_BYTES_MAX
from sim.names import (
    BATCH_OPERATIONS,
    PAGED_OPERATIONS,
    READ_OPERATIONS,
    TABLE,
    TRANSACTION_OPERATIONS,
    BatchKeys,
    Dimension,
    IndexChange,
    Operation,
    index_resource,
)
from sim.pages import Walk, WalkLaw, law_of_sum, percentile
from sim.scenario import (
    Action,
    ClockField,
    HashField,
    Scenario,
    Table,
    Traffic,
    values_of,
)
from sim.scenario.templates import fields_of
from sim.units import index_write_units, item_read_units, item_write_units

_BYTE_GRAIN = 1 / 64  # of a byte: sums of such are exact up to 140 TB, however a run is cut


class Joint(Enum):
    """How the legs of one request belong together."""

    ONE_OF = "one of"  # each request takes one leg, by its fraction
    EACH = "each"  # a batch: every item is admitted on its own
    ALL = "all"  # a transaction: nothing happens unless every leg is admitted
    WALK = "walk"  # Query or Scan: pages one after the other, each admitted on its own; perhaps several such walks side by side


@dataclass(frozen=True)
class Tie:
    """What each item of a leg asks of an index as well: an entry written or deleted.

    Attributes
    ----------
    resource : name of the index as a resource.
    spec : what makes the entry's key.
    units : write units of one entry.
    probability : share of the leg's items that have the entry: those with the index key, whose condition holds.
    only : the only fields through which the entry's place hangs together with the item's (None: all). An entry that is deleted
        where it was, when nothing says where that is, lies anywhere that the changed fields may have put it.
    new_bytes : bytes that an entry adds to what is stored.
    """

    name: str
    resource: str
    spec: KeySpec
    units: float
    probability: float
    only: frozenset[str] | None = None
    new_bytes: float = 0.0


@dataclass(frozen=True)
class Leg:
    """One part of a request.

    Attributes
    ----------
    spec : what makes its key; None: anywhere in the hash space, evenly.
    units : cost of one item, in read or write units.
    items : items per request.
    together : all items of a request carry the same partition key.
    fraction : share of the pattern's requests that take this leg (`Joint.ONE_OF`); pages of this cost per request (`Joint.WALK`).
    eventual : an eventually consistent read, which other replicas may serve (F-PART-16).
    new_bytes : bytes that a served item adds to what is stored, on average: below 0 where it takes one away.
    new_fraction : fraction of the items that are new.
    resource : name of the table or index that it goes to.
    ties : what it asks of global secondary indexes as well.
    branches : the keys of a scattered Query, all of which each request asks for.
    whole : goes to everything that lies there, not to what is asked for just now: a Scan of an index.
    replay_units : read units of an item whose transaction is sent again with the same token after it was applied (F-TX-1).
    """

    name: str
    spec: KeySpec | None
    dimension: Dimension
    units: float
    items: int = 1
    together: bool = False
    fraction: float = 1.0
    eventual: bool = False
    new_bytes: float = 0.0
    resource: str = TABLE
    ties: tuple[Tie, ...] = ()
    replay_units: float = 0.0
    new_fraction: float = 0.0
    branches: tuple[KeySpec, ...] = ()
    whole: bool = False

    @property
    def specs(self) -> tuple[KeySpec, ...]:
        """All keys that it goes to."""
        return self.branches or (() if self.spec is None else (self.spec,))


@dataclass(frozen=True)
class QueryCounts:
    """What one request of a Query or Scan examines and returns, on average; ``units`` of one that finds its items.

    Attributes
    ----------
    filtered_units : units of the items that the filter threw away.
    units_p50, units_p99 : over requests; None where the law is too long to be listed.
    page_bytes : bytes examined on a page.
    """

    pages: float
    scanned: float
    returned: float
    empty_pages: float
    filtered_units: float
    units: float
    units_p50: float | None
    units_p99: float | None
    page_bytes: float


@dataclass(frozen=True)
class Walking:
    """How one request of a Query or Scan walks: so many branches side by side, each page after page.

    Attributes
    ----------
    walk : of a branch that finds its items; ``empty`` of one that finds nothing, which are a share ``missing`` of all.
    branches : segments of a parallel Scan, or values of a scattered Query.
    leg_of : which leg a page of so many units is.
    """

    walk: Walk
    empty: Walk
    missing: float
    branches: int
    leg_of: Mapping[float, int]


@dataclass(frozen=True)
class Demand:
    """One access pattern as both levels see it.

    Attributes
    ----------
    invalid : every request fails with a ValidationException and costs nothing.
    condition_fails : fraction of served requests whose condition is false.
    """

    traffic: Traffic
    joint: Joint
    legs: tuple[Leg, ...]
    invalid: bool
    condition_fails: float
    query: QueryCounts | None
    walking: Walking | None = None

    def units_per_request(self, dimension: Dimension, resource: str = TABLE) -> float:
        """Units of one request that is served in full, on average, at one table or index."""
        own = sum(
            leg.units * leg.items * leg.fraction
            for leg in self.legs
            if leg.dimension is dimension and leg.resource == resource
        )
        if dimension is Dimension.READ:
            return own
        return own + sum(
            tie.units * tie.probability * leg.items * leg.fraction
            for leg in self.legs
            for tie in leg.ties
            if tie.resource == resource
        )


def demand_of(scenario: Scenario, traffic: Traffic, partitions: Mapping[str, int] | None = None) -> Demand:
    """The legs of one access pattern; ``partitions``: how many each table and index has at second 0 (1 where it is not said)."""
    table = scenario.table
    spec = KeySpec.of(table, traffic)
    operation = traffic.operation
    reads = operation in READ_OPERATIONS
    resource, spec, read_bytes = _read_place(scenario, traffic, spec)
    query: QueryCounts | None = None
    walking: Walking | None = None
    joint = Joint.ONE_OF
    legs: tuple[Leg, ...]
    if operation in TRANSACTION_OPERATIONS:
        joint, legs = _transaction(scenario, traffic, spec)
    elif operation in PAGED_OPERATIONS:
        on = 1 if traffic.partition is not None else (partitions or {}).get(resource, 1)
        joint, legs, query, walking = _paged(scenario, traffic, resource, spec, read_bytes, on)
    elif reads:
        cost = item_read_units(traffic.item_bytes, traffic.consistent)
        least = item_read_units(0, traffic.consistent)
        eventual = not traffic.consistent
        count, together = _batch(traffic)
        found = Leg("items", spec, Dimension.READ, cost, count, together, 1 - traffic.missing, eventual)
        missing = Leg("missing", spec, Dimension.READ, least, count, together, traffic.missing, eventual)
        legs = (found, missing) if traffic.missing else (found,)
        joint = Joint.EACH if operation in BATCH_OPERATIONS else Joint.ONE_OF
    else:
        count, together = _batch(traffic)
        cost = 0.0 if operation is Operation.TTL_DELETE else write_units(table, traffic, traffic.item_bytes)
        new = _new_fraction(scenario, traffic, operation, spec)
        legs = (
            Leg(
                "items",
                spec,
                Dimension.WRITE,
                cost,
                count,
                together,
                new_bytes=_new_bytes(table, traffic, traffic.item_bytes, new),
                new_fraction=max(new, 0.0),
                ties=_ties(scenario, traffic, spec, traffic.item_bytes, new),
            ),
        )
        joint = Joint.EACH if operation in BATCH_OPERATIONS else Joint.ONE_OF
    sizes = [action.item_bytes or traffic.item_bytes for action in traffic.actions or ()]
    largest = max(sizes, default=traffic.item_bytes)
    entries = sum(lsi.projected_bytes or largest for lsi in table.lsi) if not reads else 0
    invalid = largest + entries > ITEM_BYTES_MAX
    return Demand(traffic, joint, legs, invalid, traffic.condition_fails, query, walking)


def typical_item_bytes(scenario: Scenario) -> float:
    """Size of an item as the patterns give it: the mean over those that name single items."""
    sizes = [t.item_bytes for t in scenario.traffic if t.operation not in PAGED_OPERATIONS] or [
        t.item_bytes for t in scenario.traffic
    ]
    return sum(sizes) / len(sizes)


def write_units(table: Table, traffic: Traffic | Action, item_bytes: int, *, transactional: bool = False) -> float:
    """Write units of one item with its LSI entries, which the table pays for (F-LSI-1, F-GSI-3)."""
    entries = sum(
        index_write_units(lsi.projected_bytes or item_bytes, change_of(traffic, lsi.name)) for lsi in table.lsi
    )
    return float(item_write_units(item_bytes, transactional) + entries)


def change_of(traffic: Traffic | Action, index: str) -> IndexChange:
    """What a write of the pattern does to an index (contract, ``touches``)."""
    touches = traffic.touches
    if touches is None or touches == "all":
        return IndexChange.PUT
    if isinstance(touches, str):
        return IndexChange.PUT if touches == index else IndexChange.UNTOUCHED
    if isinstance(touches, Sequence):
        return IndexChange.PUT if index in touches else IndexChange.UNTOUCHED
    return IndexChange(touches.get(index, IndexChange.UNTOUCHED))


def _new_fraction(scenario: Scenario, traffic: Traffic, operation: Operation, spec: KeySpec) -> float:
    return new_fraction(scenario, traffic, operation, spec) * (1.0 - traffic.condition_fails)


def _batch(traffic: Traffic) -> tuple[int, bool]:
    return traffic.batch, traffic.batch > 1 and traffic.batch_keys is BatchKeys.SAME_PARTITION_KEY


def _transaction(scenario: Scenario, traffic: Traffic, spec: KeySpec) -> tuple[Joint, tuple[Leg, ...]]:
    reads = traffic.operation in READ_OPERATIONS
    dimension = Dimension.READ if reads else Dimension.WRITE
    if traffic.actions:
        legs = []
        for k, action in enumerate(traffic.actions):
            size = action.item_bytes or traffic.item_bytes
            own = KeySpec(action.pk or spec.pk, action.sk or spec.sk, spec.where)
            cost = _transaction_units(scenario.table, action, size, reads)
            new = 0.0 if reads else _new_fraction(scenario, traffic, action.operation, own)
            ties = () if reads else _ties(scenario, traffic, own, size, new, action)
            new_bytes = _new_bytes(scenario.table, action, size, new)
            leg = Leg(f"action{k}", own, dimension, cost, new_bytes=new_bytes, ties=ties, new_fraction=max(new, 0.0))
            legs.append(replace(leg, replay_units=_transaction_reads(size)))
        return (Joint.ALL if len(legs) > 1 else Joint.ONE_OF), tuple(legs)
    cost = _transaction_units(scenario.table, traffic, traffic.item_bytes, reads)
    new = 0.0 if reads else _new_fraction(scenario, traffic, traffic.operation, spec)
    new_bytes = _new_bytes(scenario.table, traffic, traffic.item_bytes, new)
    ties = () if reads else _ties(scenario, traffic, spec, traffic.item_bytes, new)
    whole = Leg(
        "items", spec, dimension, cost, traffic.batch, new_bytes=new_bytes, ties=ties, new_fraction=max(new, 0.0)
    )
    whole = replace(whole, replay_units=_transaction_reads(traffic.item_bytes))
    if traffic.batch > 1 and traffic.batch_keys is BatchKeys.SAME_PARTITION_KEY:
        # All items in one place: the transaction is one attempt of their summed cost, with the index entries of each.
        ties = tuple(replace(tie, name=f"{tie.name}#{k}") for k in range(traffic.batch) for tie in ties)
        return Joint.ONE_OF, (
            replace(
                whole,
                units=cost * traffic.batch,
                items=1,
                new_bytes=new_bytes * traffic.batch,
                ties=ties,
                replay_units=whole.replay_units * traffic.batch,
            ),
        )
    return (Joint.ALL if traffic.batch > 1 else Joint.ONE_OF), (whole,)


def _ties(
    scenario: Scenario, traffic: Traffic, spec: KeySpec, item_bytes: int, added: float, action: Action | None = None
) -> tuple[Tie, ...]:
    """What a write asks of each global secondary index (F-GSI-3)."""
    if traffic.operation is Operation.TTL_DELETE:  # free, its index entries too (F-TTL-1)
        return ()
    ties = []
    where, was = dict(spec.where), {name: str(value) for name, value in (traffic.was or {}).items()}
    of_item = frozenset(spec.fields)
    for gsi in scenario.table.gsi:
        change = change_of(traffic if action is None else action, gsi.name)
        if change is IndexChange.UNTOUCHED:
            continue
        name, entry_bytes = index_resource(gsi.name), gsi.projected_bytes or item_bytes
        units = float(item_write_units(entry_bytes))
        probability = gsi.present * (1.0 - traffic.condition_fails)
        new = KeySpec(gsi.pk, gsi.sk, spec.where)
        # As many entries are new as items are; of those that lack the key, or whose condition fails, there is none either way.
        held = 1.0 - traffic.condition_fails
        stays = added * entry_bytes / held if held and change in _held_by(added) else 0.0
        stays = round(stays / _BYTE_GRAIN) * _BYTE_GRAIN
        ties.append(Tie(gsi.name, name, new, units, probability, new_bytes=stays))
        if change is IndexChange.KEY_CHANGED:
            before = {**where, **was} if was else {n: v for n, v in where.items() if n in of_item}
            old = KeySpec(gsi.pk, gsi.sk, tuple(sorted(before.items())))
            ties.append(Tie(f"{gsi.name} before", name, old, units, probability, only=None if was else of_item))
    return tuple(ties)


def _transaction_units(table: Table, item: Traffic | Action, item_bytes: int, reads: bool) -> float:
    if reads:
        return _transaction_reads(item_bytes)
    return write_units(table, item, item_bytes, transactional=True)


def _transaction_reads(item_bytes: int) -> float:
    return float(item_read_units(item_bytes, consistent=True, transactional=True))


def _read_place(scenario: Scenario, traffic: Traffic, spec: KeySpec) -> tuple[str, KeySpec, int]:
    """What a pattern reads: the table or index, what makes its key there, and the bytes of each item or entry."""
    table = scenario.table
    for gsi in table.gsi:
        if gsi.name == traffic.index:
            own = KeySpec(traffic.pk or gsi.pk, traffic.sk or gsi.sk, spec.where)
            return index_resource(gsi.name), own, gsi.projected_bytes or traffic.item_bytes
    for lsi in table.lsi:
        if lsi.name == traffic.index:  # the table's partitions hold its entries
            own = KeySpec(spec.pk, traffic.sk or lsi.sk, spec.where)
            return TABLE, own, lsi.projected_bytes or traffic.item_bytes
    return TABLE, spec, traffic.item_bytes


def walk_of(scenario: Scenario, traffic: Traffic, item_bytes: int, partitions: int) -> Walk:
    """One branch of a Query or Scan that finds its items.

    Parameters
    ----------
    item_bytes : of each item or index entry that is read.
    partitions : of the table or index.
    """
    searched = 1
    if traffic.operation is Operation.SCAN and scenario.calibration.empty_scan_per_partition:
        edges = partitions + traffic.segments - math.gcd(partitions, traffic.segments)
        searched = -(
            -edges // traffic.segments
        )  # pieces into which partitions and segments cut the hash space together
    return Walk(
        items=traffic.items,
        item_bytes=item_bytes,
        consistent=traffic.consistent,
        limit=traffic.limit,
        filter_pass=traffic.filter_pass,
        pages=None if traffic.pages == "all" else int(traffic.pages),
        until=traffic.until,
        over_fetch=traffic.over_fetch,
        fetched_bytes=traffic.item_bytes if traffic.fetches else None,
        searched=searched,
    )


def _paged(
    scenario: Scenario, traffic: Traffic, resource: str, spec: KeySpec, item_bytes: int, partitions: int
) -> tuple[Joint, tuple[Leg, ...], QueryCounts, Walking | None]:
    """A Query or Scan: a single page, or walks of pages."""
    walk = walk_of(scenario, traffic, item_bytes, partitions)
    empty = replace(walk, items=0)
    nothing = empty.units(0)
    law, missing = walk.law, traffic.missing
    keys: tuple[KeySpec, ...] = ()
    if traffic.scatter is not None:
        where = dict(spec.where)
        values = values_of(scenario.fields[traffic.scatter])
        keys = tuple(replace(spec, where=tuple(sorted({**where, traffic.scatter: v}.items()))) for v in values)
    branches = len(keys) or traffic.segments
    query = _query_counts(law, nothing, missing, branches, item_bytes)
    scans = traffic.operation is Operation.SCAN
    # A table's items lie as evenly as hashes do. The entries of an index lie where its few or many key values have put them.
    place = None if scans and (resource == TABLE or _moves_with_time(scenario, spec)) else spec
    page = Leg(
        "pages",
        place,
        Dimension.READ,
        0.0,
        eventual=not traffic.consistent,
        resource=resource,
        branches=keys,
        whole=scans and place is not None,
    )
    if walk.longest == 1 and branches == 1:
        found = replace(page, units=law.costs[0], fraction=1 - missing)
        none = replace(page, name="nothing", units=nothing, fraction=missing)
        return Joint.ONE_OF, (found, none) if missing else (found,), query, None
    pages = dict(zip(law.costs, ((1 - missing) * count for count in law.pages_of_cost), strict=True))
    if missing:
        pages[nothing] = pages.get(nothing, 0.0) + missing
    legs = tuple(
        replace(page, name=f"pages of {cost:g}", units=cost, fraction=branches * count) for cost, count in pages.items()
    )
    leg_of = {leg.units: k for k, leg in enumerate(legs)}
    return Joint.WALK, legs, query, Walking(walk, empty, missing, branches, leg_of)


def _query_counts(law: WalkLaw, nothing: float, missing: float, branches: int, item_bytes: int) -> QueryCounts:
    hit = branches * (1.0 - missing)
    units: dict[float, float] = {}
    for cost, chance in (*((c, (1.0 - missing) * p) for c, p in law.units), (nothing, missing)):
        if chance > 0:
            units[cost] = units.get(cost, 0.0) + chance
    whole = law_of_sum([(sorted(units.items()), branches)])
    pages = hit * law.pages + branches * missing
    return QueryCounts(
        pages=pages,
        scanned=hit * law.scanned,
        returned=hit * law.returned,
        empty_pages=hit * law.empty_pages + branches * missing,
        filtered_units=hit * law.filtered_units,
        units=branches * law.mean_units,
        units_p50=None if whole is None else percentile(whole, 0.5),
        units_p99=None if whole is None else percentile(whole, 0.99),
        page_bytes=hit * law.scanned * item_bytes / pages,
    )


def _moves_with_time(scenario: Scenario, spec: KeySpec) -> bool:
    """Whether the partition key holds a ``clock``, so that what lies there lies under the keys of all times."""
    fields = [scenario.fields[name] for name in fields_of(spec.pk)]
    fields += [scenario.fields[field.of] for field in fields if isinstance(field, HashField)]
    return any(isinstance(field, ClockField) for field in fields)


def _new_bytes(table: Table, write: Traffic | Action, item_bytes: int, added: float) -> float:
    """Bytes that a write adds on average, with its LSI entries, which lie in its collection; ``added``: items that it adds."""
    held = [lsi for lsi in table.lsi if change_of(write, lsi.name) in _held_by(added)]
    whole = item_bytes + sum(lsi.projected_bytes or item_bytes for lsi in held)
    return round(added * whole / _BYTE_GRAIN) * _BYTE_GRAIN


def _held_by(added: float) -> tuple[IndexChange, ...]:
    """The changes by which an index holds an entry of an item that is added, or held one of an item that is taken away."""
    return (IndexChange.PUT, IndexChange.REMOVED) if added < 0 else (IndexChange.PUT,)
