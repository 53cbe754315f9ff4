"""How many keys a template makes."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sim.keyspace.domain import domain_of
from sim.scenario import ClockField, Field, HashField, SequenceField, UniformField, ZipfField, parse_template


def keys_of(template: str, fields: Mapping[str, Field]) -> float:
    """Number of values of a template at one moment: 0 where a ``sequence`` has made none yet, and one value of a ``clock``."""
    by_root: dict[str, set[str]] = {}
    for _, name in parse_template(template):
        if name:
            root = name
            while isinstance(field := fields[root], HashField):
                root = field.of
            by_root.setdefault(root, set()).add(name)
    return float(math.prod(_values(root, names, fields) for root, names in by_root.items()))


def _values(root: str, names: set[str], fields: Mapping[str, Field]) -> float:
    """Combinations of the values of a field and of hashes of it."""
    field = fields[root]
    if isinstance(field, SequenceField):
        return 0.0
    if isinstance(field, ClockField):
        return 1.0
    assert not isinstance(field, HashField), "a root is a hash of nothing"
    count = float(field.count) if isinstance(field, UniformField | ZipfField) else float(domain_of(field).count)
    if root in names:
        return count
    shards = math.prod(hashed.count for name in names if isinstance(hashed := fields[name], HashField))
    return min(count, float(shards))
