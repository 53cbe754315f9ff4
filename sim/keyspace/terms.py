"""How the keys that one write has on several resources hang together: a joint law of low rank.

A write lies at one place of the table and at one of each index. Where their keys share fields the places are tied: a hot status, a large
tenant. The joint law is a sum of terms, one for each heavy value of a shared field and one for the rest; within a term the places are
independent. Joint cells are never enumerated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim.keyspace.building import KeySpace, KeySpec
from sim.keyspace.spread import Spread

HEAVY_SHARE_MIN = 0.005  # a value below this share of a pattern does not make a partition hot that is not hot anyway
TERMS_MAX = 64
_NOTHING = 1e-9  # a share that rounding leaves


@dataclass(frozen=True)
class Term:
    """One part of a pattern's traffic.

    Attributes
    ----------
    fixed : values of the shared fields that all of it has.
    branch_share : share of the pattern that has these values.
    apart : parts of the branch that are terms of their own.
    """

    fixed: tuple[tuple[str, str], ...] = ()
    branch_share: float = 1.0
    apart: tuple[Term, ...] = ()

    @property
    def share(self) -> float:
        """Share of the pattern that is in this term."""
        return self.branch_share - sum(term.branch_share for term in self.apart)

    @property
    def label(self) -> str:
        """Name of the term, unique within its pattern; "" for a pattern of one term."""
        return ",".join(f"{name}={value}" for name, value in self.fixed)


def terms_of(
    keyspace: KeySpace, keys: Sequence[tuple[KeySpec, frozenset[str] | None]], also: Sequence[str] = ()
) -> tuple[Term, ...]:
    """The terms of a write that has these keys on several resources.

    Parameters
    ----------
    keys : each key, and the only fields through which it hangs together with the others (None: all).
    also : fields that make terms though no two keys share them.
    """
    names = dict.fromkeys([*keyspace.shared_fields(keys), *also])
    heavy = [(name, values) for name in names if (values := keyspace.heavy_values(name, HEAVY_SHARE_MIN, TERMS_MAX))]
    heavy.sort(key=lambda item: (-item[1][0][1], item[0]))
    root = _branch((), 1.0, heavy, [TERMS_MAX - 1])
    return tuple(term for term in _flat(root) if term.share > _NOTHING)


def _branch(
    fixed: tuple[tuple[str, str], ...],
    share: float,
    heavy: Sequence[tuple[str, Sequence[tuple[str, float]]]],
    left: list[int],
) -> Term:
    if not heavy:
        return Term(fixed, share)
    (name, values), rest = heavy[0], heavy[1:]
    apart = []
    for value, part in values:
        if share * part < HEAVY_SHARE_MIN or left[0] <= 0:
            continue
        left[0] -= 1
        apart.append(_branch((*fixed, (name, value)), share * part, rest, left))
    if not apart:
        return _branch(fixed, share, rest, left)
    return Term(fixed, share, tuple(apart))


def _flat(term: Term) -> list[Term]:
    return [term, *(below for part in term.apart for below in _flat(part))]


def spread_in(keyspace: KeySpace, spec: KeySpec, term: Term, at_s: float, only: frozenset[str] | None = None) -> Spread:
    """Where the traffic of a term lies under one of its keys at second ``at_s``; ``only`` as in `terms_of`."""
    whole = _of_branch(keyspace, spec, term, at_s, only)
    if not term.apart:
        return whole
    parts = [
        (part.branch_share / term.branch_share, _of_branch(keyspace, spec, part, at_s, only)) for part in term.apart
    ]
    return whole.without(parts)


def _of_branch(keyspace: KeySpace, spec: KeySpec, term: Term, at_s: float, only: frozenset[str] | None) -> Spread:
    own = dict(spec.where)
    names = keyspace.fields_behind(spec)
    if only is not None:
        names &= only
    fixed = {name: value for name, value in term.fixed if name in names and name not in own}
    if not fixed:
        return keyspace.spread(spec, at_s)
    return keyspace.spread(KeySpec(spec.pk, spec.sk, tuple(sorted({**own, **fixed}.items()))), at_s)
