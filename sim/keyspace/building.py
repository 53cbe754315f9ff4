"""Templates and fields become Spreads: the one place where keys are made."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from sim.keyspace import hashing
from sim.keyspace.domain import LISTED_MAX, LISTED_SHARE_MIN, Axis, Domain, Floats, Ints, axes_of, clock_text, domain_of
from sim.keyspace.sortplaces import SortScale
from sim.keyspace.spread import NamedKey, SortSpread, Spread, point
from sim.scenario import ClockField, Field, HashField, Scenario, Table, Traffic, parse_template
from sim.scenario.templates import fields_of

NAMED_MAX = 64  # heaviest keys of a spread that carry their text; reports show 20 over all patterns


@dataclass(frozen=True)
class KeySpec:
    """What makes the keys of one access pattern on one resource: its templates and the fields fixed by ``where``."""

    pk: str
    sk: str | None
    where: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, table: Table, traffic: Traffic) -> KeySpec:
        """What makes the keys of an access pattern on the table."""
        where = tuple(sorted((name, str(value)) for name, value in traffic.where.items()))
        return cls(traffic.pk or table.pk, traffic.sk or table.sk, where)

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of both templates, in order, each once."""
        return tuple(dict.fromkeys([*fields_of(self.pk), *(fields_of(self.sk) if self.sk else ())]))

    @property
    def free_fields(self) -> tuple[str, ...]:
        """Those that ``where`` leaves open."""
        fixed = dict(self.where)
        return tuple(name for name in self.fields if name not in fixed)


class KeySpace:
    """All keys of a scenario. Spreads are made once per specification and epoch, and shared."""

    def __init__(self, scenario: Scenario, specs: Sequence[KeySpec]) -> None:
        self._fields: Mapping[str, Field] = scenario.fields
        self._start = scenario.start
        self._duration_s = scenario.duration
        self._moving_below_s = scenario.calibration.heat_window_s + scenario.calibration.split_delay_s
        roots = {self._root(name) for spec in specs for name in spec.fields}
        self._plain: dict[str, Domain] = {
            name: domain_of(field)
            for name in sorted(roots)
            if not isinstance(field := self._fields[name], ClockField | HashField)
        }
        self._scale = SortScale([spec.sk for spec in specs if spec.sk])
        self._spreads: dict[KeySpec, tuple[tuple[str, ...], Spread]] = {}
        self._rollovers_s: dict[KeySpec, list[float]] = {}
        self._sorts: dict[tuple[object, ...], SortSpread] = {}

    def fields_behind(self, spec: KeySpec) -> set[str]:
        """Every field that the key's place hangs on: those of its templates, and those that they are hashes of."""
        names = set(spec.fields)
        for name in spec.fields:
            while isinstance(field := self._fields[name], HashField):
                name = field.of
                names.add(name)
        return names

    def shared_fields(self, keys: Sequence[tuple[KeySpec, frozenset[str] | None]]) -> list[str]:
        """Fields through which two or more keys of one write hang together.

        Parameters
        ----------
        keys : each key, and the only fields that count in it (None: all).
        """
        users: dict[str, list[set[str]]] = {}
        for spec, only in keys:
            by_root: dict[str, set[str]] = {}
            for name in spec.free_fields:
                if only is None or name in only:
                    by_root.setdefault(self._root(name), set()).add(name)
            for root, names in by_root.items():
                users.setdefault(root, []).append(names)
        shared = []
        for root, uses in sorted(users.items()):
            if len(uses) > 1 and root in self._plain:
                alike = all(names == uses[0] for names in uses) and len(uses[0]) == 1
                shared.append(next(iter(uses[0])) if alike else root)
        return shared

    def heavy_values(self, name: str, least_share: float, most: int) -> list[tuple[str, float]]:
        """Texts and shares of a field's values that have at least ``least_share``, heaviest first; none of a clock or a sequence."""
        if self._root(name) not in self._plain:
            return []
        root_of, axes = axes_of([name], self._fields, self._plain, {}, self._start, 0.0)
        axis = axes[root_of[name]]
        domain = axis.domain if axis.root == name else axis.shard_domain(name)
        if not domain.count or float(domain.shares.max()) < least_share:
            return []
        return [
            (domain.text(int(k)), float(domain.shares[k]))
            for k in domain.order[:most]
            if float(domain.shares[k]) >= least_share
        ]

    def _root(self, name: str) -> str:
        while isinstance(field := self._fields[name], HashField):
            name = field.of
        return name

    def _clocks(self, spec: KeySpec) -> list[str]:
        fixed = dict(spec.where)
        return sorted(
            n
            for n in {self._root(n) for n in spec.fields}
            if isinstance(self._fields[n], ClockField) and n not in fixed
        )

    def _texts_at(self, clocks: Sequence[str], at: datetime) -> tuple[str, ...]:
        return tuple(clock_text(field, at) for name in clocks if isinstance(field := self._fields[name], ClockField))

    def rollovers_s(self, spec: KeySpec) -> list[float]:
        """Seconds of the run at which a clock field of the key takes another value."""
        if spec not in self._rollovers_s:
            self._rollovers_s[spec] = self._find_rollovers_s(spec)
        return self._rollovers_s[spec]

    def _find_rollovers_s(self, spec: KeySpec) -> list[float]:
        clocks = self._clocks(spec)
        if not clocks:
            return []
        minute = self._start.replace(second=0, microsecond=0) + timedelta(minutes=1)
        before = self._texts_at(clocks, self._start)
        times = []
        while (at_s := (minute - self._start).total_seconds()) < self._duration_s:
            now = self._texts_at(clocks, minute)
            if now != before:
                times.append(at_s)
                before = now
            minute += timedelta(minutes=1)
        return times

    def spread(self, spec: KeySpec, at_s: float) -> Spread:
        """Where the traffic of ``spec`` lies at second ``at_s`` of the run."""
        at = self._start + timedelta(seconds=at_s)
        clocks = self._clocks(spec)
        epoch = self._texts_at(clocks, at)
        known = self._spreads.get(spec)
        if known is None or known[0] != epoch:
            # Only the present epoch is kept: a key that moves by the minute has thousands of them.
            in_pk = fields_of(spec.pk)
            pk_moves = any(self._root(name) in clocks for name in in_pk)
            if known is not None and not pk_moves:
                sort, text = self._sort(spec, in_pk, dict(spec.where), at, at_s)
                made = known[1].with_sort(sort, text)
            else:
                made = self._make(spec, at, at_s)
            self._spreads[spec] = (epoch, made)
        return self._spreads[spec][1]

    def sort_keys(self, spec: KeySpec, at_s: float) -> Spread:
        """The sort keys under one partition key as a spread of their own: how likely each is, told apart by position.

        What follows from the partition key is the same for all of its items and does not tell them apart.
        """
        parts = parse_template(spec.sk) if spec.sk else ()
        roots = {self._root(name) for name in fields_of(spec.pk)}
        text = "".join(
            literal + ("" if not name else "<>" if self._root(name) in roots else f"{{{name}}}")
            for literal, name in parts
        )
        return self.spread(KeySpec(text, None, spec.where), at_s)

    def _make(self, spec: KeySpec, at: datetime, at_s: float) -> Spread:
        fixed = dict(spec.where)
        pk_parts = parse_template(spec.pk)
        pk_names = [name for _, name in pk_parts if name]
        root_of, axes = axes_of(pk_names, self._fields, self._plain, fixed, at, self._time_rank(at_s))
        sort, sort_text = self._sort(spec, pk_names, fixed, at, at_s)
        columns = [
            _Column.of(axis, [n for n in dict.fromkeys(pk_names) if root_of[n] == root]) for root, axis in axes.items()
        ]
        indexes, shares, background = _combine(columns)
        states = hashing.start()
        column_of = {name: (column, i) for i, column in enumerate(columns) for name in column.names}
        for literal, name in pk_parts:
            states = hashing.append_text(states, literal)
            if name:
                column, i = column_of[name]
                states = column.append_to(states, name, indexes[i])
        hashes = hashing.finish(states)
        order = np.argsort(hashes)
        positions, merged = hashes[order], shares[order]
        if (positions[1:] == positions[:-1]).any():  # several products make the same text, as shards of many ids do
            positions, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
            merged = np.asarray(np.bincount(inverse, weights=shares, minlength=len(positions)), dtype=float)
            heaviest = [int(first[k]) for k in _heaviest(merged, NAMED_MAX)]
        else:
            heaviest = _heaviest(shares, NAMED_MAX)
        named = []
        for row in heaviest:
            k = int(positions.searchsorted(hashes[row]))
            text = "".join(
                literal + (column_of[name][0].text(name, int(indexes[column_of[name][1]][row])) if name else "")
                for literal, name in pk_parts
            )
            named.append(NamedKey(text, int(positions[k]), float(merged[k]), sort_text))
        listed_squares = float((shares**2).sum())
        all_squares = math.prod(column.squares for column in columns) if columns else listed_squares
        error = math.sqrt(max(0.0, all_squares - listed_squares)) if background > 0 else 0.0
        return Spread(positions, merged, background, sort, tuple(named), error)

    def _sort(
        self, spec: KeySpec, pk_names: Sequence[str], fixed: Mapping[str, str], at: datetime, at_s: float
    ) -> tuple[SortSpread, str | None]:
        """Where the pattern lies within a collection, and the sort key's text when it is one item."""
        if spec.sk is None:
            return point(0), None
        parts = parse_template(spec.sk)
        names = [name for _, name in parts if name]
        if all(name in fixed for name in names):
            text = "".join(literal + (fixed[name] if name else "") for literal, name in parts)
            return self._scale.constant(text, self._plain), text
        determined = {n for n in names if n in pk_names or self._root(n) in pk_names}
        roots = {self._root(n) for n in names}
        # The keys of one write's terms differ in their partition keys alone: a million sort keys need not be laid out for each.
        mine = tuple((n, v) for n, v in spec.where if n in names or n in roots)
        mark = (spec.sk, frozenset(determined), mine, tuple(self._clocks(spec)), at_s)
        if mark not in self._sorts:
            self._sorts = {m: made for m, made in self._sorts.items() if m[-1] == at_s}
            self._sorts[mark] = self._sort_spread(spec, names, determined, fixed, at, at_s)
        return self._sorts[mark], None

    def _sort_spread(
        self,
        spec: KeySpec,
        names: Sequence[str],
        determined: set[str],
        fixed: Mapping[str, str],
        at: datetime,
        at_s: float,
    ) -> SortSpread:
        assert spec.sk is not None, "a key without a sort key lies at a point"
        free = [n for n in names if n not in determined]
        root_of, axes = axes_of(free, self._fields, self._plain, fixed, at, self._time_rank(at_s))
        rollovers = self.rollovers_s(spec)
        index = bisect_right(rollovers, at_s)
        until_s = rollovers[index] if index < len(rollovers) else self._duration_s
        epoch = self._time_rank(until_s) - self._time_rank(at_s)
        # A clock that turns before a split could help is a front that moves, as a sequence is (F-PART-13).
        turns_soon = bool(rollovers) and until_s - (rollovers[index - 1] if index else 0.0) < self._moving_below_s
        return self._scale.spread(spec.sk, determined, root_of, axes, epoch, turns_soon)

    def _time_rank(self, at_s: float) -> float:
        """Place of a moment in the order of the run's time, in [0, 1)."""
        return min(at_s / self._duration_s, 1.0 - 1e-9) if self._duration_s else 0.0


def _heaviest(shares: Floats, count: int) -> list[int]:
    """Indexes of the greatest shares, greatest first, ties by index."""
    candidates = np.arange(min(count, len(shares)))
    if len(shares) > count and not (shares[:-1] >= shares[1:]).all():
        least = np.partition(shares, len(shares) - count)[len(shares) - count]
        above, equal = (shares > least).nonzero()[0], (shares == least).nonzero()[0]
        candidates = np.sort(np.concatenate((above, equal[: count - len(above)])))
    return [int(k) for k in candidates[np.argsort(-shares[candidates], kind="stable")]]


@dataclass(frozen=True)
class _Column:
    """One axis as the template uses it: the root's values, or those of the one field that hashes it."""

    names: tuple[str, ...]
    domain: Domain
    derived: Mapping[str, Ints]

    @classmethod
    def of(cls, axis: Axis, names: Sequence[str]) -> _Column:
        if len(names) == 1 and names[0] != axis.root:
            return cls(tuple(names), axis.shard_domain(names[0]), {})
        return cls(tuple(names), axis.domain, {n: axis.derived[n] for n in names if n != axis.root})

    @property
    def squares(self) -> float:
        """Sum of the squared shares of all values, listed or not."""
        return float((self.domain.shares**2).sum()) + self.domain.tail_squares

    def append_to(self, states: hashing.UInts, name: str, indexes: Ints) -> hashing.UInts:
        if name in self.derived:
            return hashing.append_numbers(states, self.derived[name][indexes])
        return self.domain.append_to(states, indexes)

    def text(self, name: str, index: int) -> str:
        return str(int(self.derived[name][index])) if name in self.derived else self.domain.text(index)


def _combine(columns: Sequence[_Column]) -> tuple[list[Ints], Floats, float]:
    """List the products of the columns' values.

    All of them where they fit into `LISTED_MAX`, otherwise those whose share is at least `LISTED_SHARE_MIN`, heaviest values first.

    Returns
    -------
    indexes : for each column the value's index in each listed product.
    shares : share of each listed product.
    background : share of all products that are not listed.
    """
    fit = math.prod(column.domain.count for column in columns) <= LISTED_MAX
    floor = 0.0 if fit else LISTED_SHARE_MIN
    shares = np.ones(1)
    indexes: list[Ints] = []
    greatest = [float(c.domain.shares.max(initial=0.0)) for c in columns]
    for i, column in enumerate(columns):
        rest = math.prod(greatest[i + 1 :])
        order = column.domain.order if floor > 0 else np.arange(column.domain.count)
        descending = column.domain.shares[order]
        if floor > 0 and rest > 0:
            counts = np.searchsorted(-descending, -floor / (shares * rest), side="right")
        elif len(columns) == 1:
            return [order], descending, _left_over(descending)
        else:
            counts = np.full(len(shares), len(order))
        rows = np.repeat(np.arange(len(shares)), counts)
        offsets = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        indexes = [index[rows] for index in indexes] + [order[offsets]]
        shares = shares[rows] * descending[offsets]
    return indexes, shares, _left_over(shares)


def _left_over(shares: Floats) -> float:
    """What listed shares leave of the whole, apart from rounding."""
    left = 1.0 - float(shares.sum())
    return left if left > 1e-9 else 0.0
