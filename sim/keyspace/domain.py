"""The values of one field, with their shares of the traffic, in an order that sort keys can follow.

A domain is made from a field of the scenario. Fields that depend on one another (a ``hash`` of an id) share one axis: the root's values
are listed once, the others follow from them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.keyspace import hashing
from sim.scenario import (
    ChoiceField,
    ClockField,
    CsvField,
    Field,
    HashField,
    SequenceField,
    UniformField,
    ZipfField,
    read_weights,
)
from sim.scenario.fields import shard_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[Any]  # whole numbers, or floats where a job ends within a tick

LISTED_MAX = 2**20  # values of a field, or keys of a template, that are listed one by one
LISTED_SHARE_MIN = 1e-6  # beyond that number only values with at least this share are listed; the rest is spread evenly


@dataclass(frozen=True)
class Domain:
    """Values 0..n-1 of a field.

    Attributes
    ----------
    texts : the values' texts, or None when value k's text is the decimal number ``ids[k]``.
    ids : numbers of numeric values (None for named ones).
    shares : share of each listed value, summing to 1 - ``tail_share``.
    tail_share, tail_count : share and number of the values that are not listed.
    ranks : place of each listed value among all, in [0, 1): by number for numeric fields, by bytes otherwise.
    width : room of one value on that scale.
    tail_squares : sum of the squared shares of the values that are not listed.
    moving : whether each request brings a new, greater value (``sequence``): nothing is listed then.
    """

    texts: tuple[str, ...] | None
    ids: Ints | None
    shares: Floats
    tail_share: float
    tail_count: float
    ranks: Floats
    width: float
    moving: bool = False
    tail_squares: float = 0.0
    _shards: dict[int, Ints] = field(default_factory=dict, init=False, repr=False, compare=False)

    def shards(self, count: int) -> Ints:
        """For each listed value its hash modulo ``count``; made once, as a million hashes take a second."""
        if count not in self._shards:
            hashed = (shard_of(self.text(i), count) for i in range(self.count))
            self._shards[count] = np.fromiter(hashed, dtype=np.int64, count=self.count)
        return self._shards[count]

    @property
    def count(self) -> int:
        """Number of listed values."""
        return len(self.shares)

    @cached_property
    def is_range(self) -> bool:
        """Whether the listed values are the numbers 0..n-1."""
        return self.ids is not None and bool((self.ids == np.arange(len(self.ids))).all())

    @cached_property
    def order(self) -> Ints:
        """Indexes of the listed values, largest share first."""
        return np.argsort(-self.shares, kind="stable").astype(np.int64)

    def text(self, index: int) -> str:
        """Text of a listed value."""
        if self.texts is not None:
            return self.texts[index]
        assert self.ids is not None
        return str(int(self.ids[index]))

    def append_to(self, states: hashing.UInts, indexes: Ints) -> hashing.UInts:
        """Hash states after the texts of the values ``indexes`` have been appended."""
        if self.ids is not None:
            if len(states) == 1 and len(indexes) == self.count and self.is_range and bool((indexes == self.ids).all()):
                return hashing.append_range(states, self.count)
            return hashing.append_numbers(states, self.ids[indexes])
        assert self.texts is not None
        if len(indexes) <= len(self.texts):
            return hashing.append_texts(states, [self.texts[i] for i in indexes])
        result = np.broadcast_to(states, indexes.shape).copy()
        for i, text in enumerate(self.texts):
            where = indexes == i
            result[where] = hashing.append_text(result[where], text)
        return result

    def only(self, value: str) -> Domain:
        """The domain narrowed to one value, which keeps its place in the order.

        Raises
        ------
        KeyError
            ``value`` is not one of the domain's.
        """
        rank = self._rank_of(value)
        return replace(
            self,
            texts=(value,),
            ids=None,
            shares=np.ones(1),
            tail_share=0.0,
            tail_count=0.0,
            tail_squares=0.0,
            ranks=np.array([rank]),
            moving=False,
        )

    def _rank_of(self, value: str) -> float:
        if self.texts is not None:
            if value not in self.texts:
                raise KeyError(value)
            return float(self.ranks[self.texts.index(value)])
        total = self.count + self.tail_count
        if not re.fullmatch(r"0|[1-9]\d*", value) or (not self.moving and int(value) >= total):
            raise KeyError(value)
        return int(value) / total if not self.moving else 0.0

    def holds(self, value: str) -> bool:
        """Whether the field can take this value."""
        try:
            self._rank_of(value)
        except KeyError:
            return False
        return True


def _named(weights: Mapping[str, float]) -> Domain:
    names = tuple(weights)
    shares = np.array([weights[name] for name in names], dtype=float)
    order = sorted(range(len(names)), key=lambda i: names[i].encode())
    ranks = np.empty(len(names))
    ranks[order] = np.arange(len(names)) / len(names)
    return Domain(names, None, shares / shares.sum(), 0.0, 0.0, ranks, 1.0 / len(names))


def _numbered(shares: Floats, count: int, tail_squares: float | None = None) -> Domain:
    listed = len(shares)
    unlisted = float(count - listed)
    tail = max(0.0, 1.0 - float(shares.sum())) if unlisted else 0.0
    if tail_squares is None:
        tail_squares = tail**2 / unlisted if unlisted else 0.0
    ids = np.arange(listed, dtype=np.int64)
    return Domain(None, ids, shares, tail, unlisted, ids / count, 1.0 / count, tail_squares=tail_squares)


def uniform(count: int) -> Domain:
    """Ids 0..count-1, equally likely; listed up to `LISTED_MAX`, beyond that all in the tail."""
    return _numbered(np.full(count, 1.0 / count) if count <= LISTED_MAX else np.empty(0), count)


def zipf_total(count: int, exponent: float) -> float:
    """Sum of 1/(k+1)**exponent over k < count: exact over the first `LISTED_MAX` terms, then Euler-Maclaurin."""
    exact = min(count, LISTED_MAX)
    total = float((np.arange(1, exact + 1, dtype=float) ** -exponent).sum())
    if exact < count:
        low, high = float(exact), float(count)
        integral = (
            np.log(high / low) if exponent == 1.0 else (high ** (1 - exponent) - low ** (1 - exponent)) / (1 - exponent)
        )
        total += float(integral) + 0.5 * (high**-exponent - low**-exponent)
    return total


def zipf(count: int, exponent: float) -> Domain:
    """Id k with weight 1/(k+1)**exponent."""
    if count <= LISTED_MAX:
        weights = np.arange(1, count + 1, dtype=float) ** -exponent
        return _numbered(weights / weights.sum(), count)
    total = zipf_total(count, exponent)
    # The last id whose share is still worth a line of its own.
    worth = (1.0 / (LISTED_SHARE_MIN * total)) ** (1.0 / exponent) if exponent > 0 else 0.0
    listed = int(min(worth, LISTED_MAX))
    shares = np.arange(1, listed + 1, dtype=float) ** -exponent / total
    squares = (zipf_total(count, 2 * exponent) - zipf_total(listed, 2 * exponent)) / total**2 if listed else None
    return _numbered(shares, count, squares)


def sequence() -> Domain:
    """Every request brings its own, greater value."""
    return Domain(None, np.empty(0, dtype=np.int64), np.empty(0), 1.0, np.inf, np.empty(0), 0.0, moving=True)


def domain_of(field: ChoiceField | UniformField | ZipfField | SequenceField | CsvField) -> Domain:
    """The domain of a field whose values do not change with time and hang on no other field."""
    if isinstance(field, UniformField):
        return uniform(field.count)
    if isinstance(field, ZipfField):
        return zipf(field.count, field.exponent)
    if isinstance(field, SequenceField):
        return sequence()
    if isinstance(field, CsvField):
        values, weights = read_weights(field)
        return _named(dict(zip(values, weights, strict=True)))
    return _named(field.weights)


def clock_text(field: ClockField, at: datetime) -> str:
    """Text of a clock field at a moment."""
    return at.strftime(field.format)


@dataclass(frozen=True)
class Axis:
    """One root field's values with the fields that hash it: all of them together are one independent coordinate of a key.

    Attributes
    ----------
    root : name of the root field.
    domain : the root's values.
    derived : for each dependent field its value at each listed root value.
    derived_counts : how many values each dependent field can take.
    """

    root: str
    domain: Domain
    derived: Mapping[str, Ints]
    derived_counts: Mapping[str, int]

    def shard_domain(self, name: str) -> Domain:
        """The dependent field on its own: the roots' shares added up by shard, unlisted ones evenly."""
        count = self.derived_counts[name]
        if (
            count > LISTED_MAX
        ):  # more shards than are listed one by one: nearly as many as there are roots, each as good as alone
            return _numbered(np.empty(0), count)
        shares = (
            np.bincount(self.derived[name], weights=self.domain.shares, minlength=count)
            + self.domain.tail_share / count
        )
        return _numbered(shares / shares.sum(), count)


def axes_of(
    names: Sequence[str],
    fields: Mapping[str, Field],
    plain: Mapping[str, Domain],
    fixed: Mapping[str, str],
    at: datetime,
    time_rank: float,
) -> tuple[dict[str, str], dict[str, Axis]]:
    """Group the named fields into independent axes.

    Parameters
    ----------
    names : fields that a template uses.
    plain : domains of the fields that neither change with time nor hang on another field.
    fixed : values fixed by ``where``.
    at : moment that clock fields read; ``time_rank`` in [0, 1) is its place in the run's order of time.

    Returns
    -------
    root_of : for each field the root it depends on.
    axes : the axis of each root.
    """
    root_of: dict[str, str] = {}
    chains: dict[str, list[tuple[str, str, int]]] = {}
    for name in names:
        chain: list[tuple[str, str, int]] = []
        current = name
        while current not in fixed and isinstance(field := fields[current], HashField):
            chain.append((current, field.of, field.count))
            current = field.of
        root_of[name] = current
        chains.setdefault(current, []).extend(reversed(chain))
    axes = {}
    for root, chain in chains.items():
        domain = _root_domain(root, fields, plain, fixed, at, time_rank)
        derived: dict[str, Ints] = {}
        counts: dict[str, int] = {}
        for name, of, count in chain:
            if name in derived:
                continue
            if of in derived:  # a hash of a hash
                values, place = np.unique(derived[of], return_inverse=True)
                hashed = (shard_of(str(value), count) for value in values.tolist())
                derived[name] = np.fromiter(hashed, dtype=np.int64, count=len(values))[place]
            else:
                derived[name] = domain.shards(count)
            counts[name] = count
        axes[root] = Axis(root, domain, derived, counts)
    return root_of, axes


def _root_domain(
    root: str,
    fields: Mapping[str, Field],
    plain: Mapping[str, Domain],
    fixed: Mapping[str, str],
    at: datetime,
    time_rank: float,
) -> Domain:
    field = fields[root]
    if isinstance(field, ClockField):
        text = fixed.get(root, clock_text(field, at))
        return Domain((text,), None, np.ones(1), 0.0, 0.0, np.array([time_rank]), 0.0)
    if isinstance(field, HashField):  # fixed by `where`: an ordinary numbered value
        return uniform(field.count).only(fixed[root])
    domain = plain[root]
    return domain.only(fixed[root]) if root in fixed else domain
