"""Which writes add an item to the table, and which take one away.

A put of a key that holds a ``sequence`` writes a new item each time. A put of another key writes a new item if nobody has put that key
before: of n puts over keys with shares s, the number of different keys is the sum of 1 - exp(-n s). The mean over a run is taken for
every put of it, so growth is right at the run's end and even before, where in truth it is quicker at first. What lies in the table at
second 0 (``storage_bytes``) is a part of these keys, and putting them adds nothing. Patterns that write the same keys are counted each
by itself, and of a ``clock`` one value, for how often it turns says little about how many items are new. A delete takes an item
away, an update changes none. A closed loop, or what follows, puts nobody knows how often: with a ``sequence`` it adds items, otherwise
none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sim.keyspace.building import KeySpec
from sim.keyspace.counting import keys_of
from sim.keyspace.domain import domain_of
from sim.levels.arrivals import DAY_S, integral_of
from sim.names import Operation
from sim.scenario import ClockField, HashField, Scenario, SequenceField, Traffic, UniformField

_ADDING = frozenset({Operation.PUT_ITEM, Operation.BATCH_WRITE_ITEM, Operation.TRANSACT_WRITE_ITEMS})
_TAKING = frozenset({Operation.DELETE_ITEM, Operation.TTL_DELETE})


def new_fraction(scenario: Scenario, traffic: Traffic, operation: Operation, spec: KeySpec) -> float:
    """Fraction of writes that add an item, 0 to 1; -1 where each takes one away."""
    if operation in _TAKING:
        return -1.0
    if operation not in _ADDING:
        return 0.0
    if _is_new(scenario, spec):
        return 1.0
    if traffic.rate is None:
        return 0.0
    midnight = scenario.start.replace(hour=0, minute=0, second=0, microsecond=0)
    day_offset_s = (scenario.start - midnight).total_seconds() % DAY_S
    requests = float(integral_of(traffic, day_offset_s, scenario.duration)(np.array([scenario.duration]))[0])
    if traffic.count is not None:
        requests = min(requests, float(traffic.count))
    puts = requests * (1 if traffic.actions else traffic.batch)
    return 0.0 if puts <= 0 else (1.0 - _present(scenario)) * different_keys(scenario, spec, puts) / puts


def different_keys(scenario: Scenario, spec: KeySpec, puts: float) -> float:
    """How many different keys so many puts write."""
    even, shares, tail = (
        1.0,
        np.ones(1),
        (0.0, 0.0),
    )  # combinations of even fields, and the one field whose values differ
    for root in _roots(scenario, spec):
        field = scenario.fields[root]
        if isinstance(field, ClockField | SequenceField):
            continue
        if isinstance(field, UniformField | HashField):
            even *= field.count
            continue
        domain = domain_of(field)
        if len(shares) == 1:
            shares, tail = domain.shares, (domain.tail_share, domain.tail_count)
        else:  # as many as would be met as often if they were even
            even /= float((domain.shares**2).sum()) + domain.tail_squares
    found = -float(np.expm1(-puts * shares / even).sum()) * even
    if tail[1]:
        found -= tail[1] * even * math.expm1(-puts * tail[0] / (tail[1] * even))
    return min(found, puts)


def _present(scenario: Scenario) -> float:
    """Fraction of the items that the patterns could put which are there at second 0."""
    table = scenario.table
    stored = float(table.storage_bytes or 0.0)
    if table.collection_bytes:
        stored = max(stored, table.collection_bytes * keys_of(table.pk, scenario.fields))
    if not stored:
        return 0.0
    room = 0.0
    for traffic in scenario.traffic:
        if traffic.operation in _ADDING and traffic.rate is not None:
            spec = KeySpec.of(table, traffic)
            if not _is_new(scenario, spec):
                keys = keys_of(spec.pk, scenario.fields) * keys_of(spec.sk or "", scenario.fields)
                room += traffic.item_bytes * keys
    return min(1.0, stored / room) if room else 0.0


def _is_new(scenario: Scenario, spec: KeySpec) -> bool:
    """Whether each request writes an item that was not there: its key holds a ``sequence``."""
    return any(isinstance(scenario.fields[name], SequenceField) for name in spec.free_fields)


def _roots(scenario: Scenario, spec: KeySpec) -> Sequence[str]:
    """Fields that make different items: a hash makes none beside the field that it is a hash of."""
    names = spec.free_fields
    roots: list[str] = []
    for name in names:
        root = name
        while root not in (*roots, *[n for n in names if n != name]) and isinstance(
            field := scenario.fields[root], HashField
        ):
            root = field.of
        roots.append(root if root in names else name)
    return list(dict.fromkeys(roots))
