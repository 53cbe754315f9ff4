"""Where sort keys lie within their collection: templates become places on one scale shared by all entity types of a resource.

The scale is divided by what stands before the first field (``"ORDER#"`` before ``"PROFILE"``), in order of bytes; inside a part, values
keep the order of their field: numbers by number, ``clock`` and ``sequence`` by time, the rest by bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sim.keyspace.domain import Axis, Domain, Floats
from sim.keyspace.position import SORT_SPACE
from sim.keyspace.spread import SortSpread, point
from sim.scenario import parse_template

_PIECES_MAX = 2**16  # beyond so many pieces a nested field is spread evenly within the outer field's value

Parts = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class _Pieces:
    """Pieces on a scale of 0..1: ``low == high`` for a single item."""

    low: Floats
    high: Floats
    shares: Floats
    moving: bool = False


_ONE_ITEM = _Pieces(np.zeros(1), np.zeros(1), np.ones(1))
_FRONT = _Pieces(np.ones(1), np.ones(1), np.ones(1), moving=True)


class SortScale:
    """The scale of one resource, made from all sort key templates that are used on it."""

    def __init__(self, templates: Sequence[str]) -> None:
        heads = {_head(parse_template(text)) for text in templates}
        # A constant such as "MSG#5" belongs to the template "MSG#{message}", where the template exists.
        self._patterns = [parse_template(text) for text in templates if any(f for _, f in parse_template(text))]
        constants = {
            h for h in heads if not any(_head(p) == h for p in self._patterns) and self._template_of(h) is not None
        }
        self._heads = sorted(heads - constants, key=str.encode)

    def _template_of(self, text: str) -> Parts | None:
        """The template with one field that a constant is a value of by form."""
        for parts in self._patterns:
            named = [f for _, f in parts if f]
            head, tail = _head(parts), parts[-1][0] if parts[-1][1] is None else ""
            if len(named) == 1 and text.startswith(head) and text.endswith(tail) and len(text) > len(head) + len(tail):
                return parts
        return None

    def spread(
        self,
        template: str,
        determined: set[str],
        root_of: Mapping[str, str],
        axes: Mapping[str, Axis],
        epoch: float,
        turns_soon: bool = False,
    ) -> SortSpread:
        """Sort spread of a pattern.

        Parameters
        ----------
        determined : fields whose value the partition key already fixes.
        root_of, axes : the template's other fields by axis.
        epoch : share of the run that one value of its clock fields lasts.
        turns_soon : whether a clock field turns before a split for heat could help: its traffic is a front that moves.
        """
        parts = parse_template(template)
        free = [name for _, name in parts if name and name not in determined]
        base, width = self._part(_head(parts))
        pieces = _nested(free, root_of, axes, epoch)
        if turns_soon and free and axes[root_of[free[0]]].domain.width == 0.0:
            pieces = _Pieces(pieces.low[:1], pieces.low[:1], np.ones(1), moving=True)
        low = np.minimum(((base + pieces.low * width) * SORT_SPACE).astype(np.int64), SORT_SPACE - 1)
        high = np.where(pieces.high > pieces.low, ((base + pieces.high * width) * SORT_SPACE).astype(np.int64), low)
        if len(low) == 1 and low[0] == high[0]:
            return point(int(low[0]), moving=pieces.moving)
        order = np.argsort(low, kind="stable")
        return SortSpread(low[order], high[order], pieces.shares[order], pieces.moving)

    def constant(self, text: str, domains: Mapping[str, Domain]) -> SortSpread:
        """Sort spread of a sort key without fields: one item."""
        parts = self._template_of(text) if text not in self._heads else None
        if parts is not None:
            field = next(f for _, f in parts if f)
            head = _head(parts)
            value = text[len(head) : len(text) - len(parts[-1][0] if parts[-1][1] is None else "")]
            base, width = self._part(head)
            known = field in domains and domains[field].holds(value)
            rank = float(domains[field].only(value).ranks[0]) if known else 0.0
            return point(min(int((base + rank * width) * SORT_SPACE), SORT_SPACE - 1))
        base, _ = self._part(text)
        return point(int(base * SORT_SPACE))

    def _part(self, head: str) -> tuple[float, float]:
        width = 1.0 / max(1, len(self._heads))
        index = sum(1 for other in self._heads if other.encode() < head.encode())
        return min(index * width, 1.0 - width), width


def _head(parts: Parts) -> str:
    """What stands before the first field."""
    return parts[0][0] if parts else ""


def _nested(free: Sequence[str], root_of: Mapping[str, str], axes: Mapping[str, Axis], epoch: float) -> _Pieces:
    if not free:
        return _ONE_ITEM
    name, rest = free[0], list(free[1:])
    axis = axes[root_of[name]]
    is_root = name == axis.root
    domain = axis.domain if is_root else axis.shard_domain(name)
    if is_root:  # the root fixes whatever hashes it
        rest = [other for other in rest if root_of[other] != axis.root]
    if domain.moving:
        return _FRONT
    inner = _nested([other for other in rest if other != name], root_of, axes, epoch)
    width = domain.width or epoch
    is_item = len(inner.low) == 1 and inner.low[0] == inner.high[0]
    if is_item:
        low = domain.ranks + width * inner.low
        high = low
        shares = domain.shares
    elif domain.count * len(inner.low) <= _PIECES_MAX:
        low = (domain.ranks[:, None] + width * inner.low[None, :]).ravel()
        high = (domain.ranks[:, None] + width * inner.high[None, :]).ravel()
        shares = np.outer(domain.shares, inner.shares).ravel()
    else:
        low = domain.ranks
        high = domain.ranks + width
        shares = domain.shares
    if domain.tail_share > 0:  # values too many to list: all that come after the listed ones
        low = np.append(low, domain.count * domain.width)
        high = np.append(high, 1.0)
        shares = np.append(shares, domain.tail_share)
    keep = shares > 0
    return _Pieces(low[keep], high[keep], shares[keep] / shares[keep].sum(), inner.moving)
