"""Walks of pages: what a Query or Scan examines page by page, when it stops, and the law of what it costs. No table and no time.

A page examines items until its ``Limit`` or 1 MB is reached, the item that crosses included; the filter comes afterwards and changes
nothing of the cost (F-UNIT-6, F-UNIT-7, F-UNIT-10). How many items a page lets through is binomial, since each passes or not by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.limits import PAGE_BYTES
from sim.units import empty_page_units, item_read_units, items_per_page, page_read_units

Floats = npt.NDArray[np.float64]

PAGES_MAX = 1_000_000  # of one walk: a terabyte in full pages
OVER_FETCH_UNTIL_MAX = 200  # items up to which the law of a Limit that changes from page to page is enumerated
OVER_FETCH_PAGES_MAX = 20
_UNITS_GRID = 0.5  # every cost is a multiple
_GRID_MAX = 2**20  # points of a law of units; beyond, its percentiles are not known
_NEGLIGIBLE = 1e-15
_NORMAL_FROM = 1e5  # variance from which the normal law stands for the binomial: wrong by less than 0.001


@dataclass(frozen=True, kw_only=True)
class Walk:
    """One walk of pages over the items under a key condition, or in a table or segment.

    Attributes
    ----------
    items : how many there are, at least 0.
    item_bytes : size of each, or of its index entry, at least 1.
    consistent : strongly consistent reads.
    limit : `Limit` of each call. None: none.
    filter_pass : fraction that the filter lets through, 0..1.
    pages : how many pages at most. None: until nothing is left.
    until : the walk ends once so many items are returned. None: no such end.
    over_fetch : the `Limit` of each call is so many times what is missing to ``until``, rounded up, at most ``limit``. None: ``limit``.
    fetched_bytes : size of the base item that a Query on a local index fetches for each entry it reads (F-UNIT-21). None: none.
    searched : partitions that the first page searches; where it finds nothing at all, each costs the minimum (F-UNIT-9).
    """

    items: int
    item_bytes: int
    consistent: bool = False
    limit: int | None = None
    filter_pass: float = 1.0
    pages: int | None = None
    until: int | None = None
    over_fetch: float | None = None
    fetched_bytes: int | None = None
    searched: int = 1

    def limit_of(self, returned: int) -> int | None:
        """The `Limit` of a call after so many items were returned."""
        if self.over_fetch is None or self.until is None:
            return self.limit
        wanted = max(1, math.ceil(self.over_fetch * (self.until - returned) - 1e-9))
        return wanted if self.limit is None else min(wanted, self.limit)

    def examines(self, done: int, returned: int = 0) -> int:
        """Items that the next page examines, after ``done`` were examined and ``returned`` of them returned."""
        return min(self.items - done, items_per_page(self.item_bytes, self.limit_of(returned)))

    def units(self, examined: int) -> float:
        """Read units of a page that examines so many items."""
        if not examined:
            return empty_page_units(self.consistent, 1 if self.items else self.searched)
        own = page_read_units(examined * self.item_bytes, self.consistent)
        if self.fetched_bytes is None:
            return own
        return own + examined * item_read_units(self.fetched_bytes, self.consistent)

    def goes_on(self, pages: int, done: int, returned: int, examined: int, before: int = 0) -> bool:
        """Whether the walk asks for another page.

        A page that is full gives a LastEvaluatedKey even if it held the last item, and the next one then finds nothing.

        Parameters
        ----------
        pages, done, returned : pages asked so far, items examined and returned on them.
        examined : items on the last page; ``before`` of those returned, how many came before it.
        """
        if self.pages is not None and pages >= self.pages:
            return False
        if self.until is not None and returned >= self.until:
            return False
        if done < self.items:
            return True
        return examined > 0 and (examined == self.limit_of(before) or examined * self.item_bytes > PAGE_BYTES)

    @cached_property
    def law(self) -> WalkLaw:
        """What the walk examines, returns and costs."""
        return _law_of_states(self) if self.over_fetch is not None and self.until is not None else _law_of_rows(self)

    @property
    def longest(self) -> int:
        """Pages that it asks for if the filter lets nothing through."""
        if self.over_fetch is not None and self.until is not None and self.pages is not None:
            return self.pages
        _, _, count = _rows(self)
        return count


@dataclass(frozen=True)
class WalkLaw:
    """The law of a walk: page k, from 0, is asked for with the probability ``asked[k]``.

    Attributes
    ----------
    begins, ends : share of the walk's items that lie before page k, and up to its end, on average.
    costs : the different costs of a page, in read units.
    parts : pages × costs: the share of page k's askings that cost so much.
    pages, scanned, returned, empty_pages, filtered_units : means over walks; the last is the units of items that the filter threw away.
    units : (cost, probability) of a whole walk, ascending.
    """

    asked: Floats
    begins: Floats
    ends: Floats
    costs: tuple[float, ...]
    parts: Floats
    scanned: float
    returned: float
    empty_pages: float
    filtered_units: float
    units: tuple[tuple[float, float], ...] = field(repr=False)

    @property
    def pages(self) -> float:
        """Pages asked for, on average."""
        return float(self.asked.sum())

    @property
    def mean_units(self) -> float:
        """Units of a walk, on average."""
        return float(sum(cost * count for cost, count in zip(self.costs, self.pages_of_cost, strict=True)))

    @property
    def pages_of_cost(self) -> tuple[float, ...]:
        """How many pages of each cost a walk asks for, on average."""
        return tuple(float(count) for count in self.asked @ self.parts)


def _rows(walk: Walk) -> tuple[int, int, int]:
    """Items on a full page, on the page after the full ones (-1: there is none), and pages if nothing stops the walk early."""
    full = items_per_page(walk.item_bytes, walk.limit)
    whole, rest = divmod(walk.items, full)
    last = rest
    if not rest and whole:
        more = full == walk.limit or full * walk.item_bytes > PAGE_BYTES
        last = 0 if more else -1
    count = whole + (1 if last >= 0 else 0)
    return full, last, count if walk.pages is None else min(count, walk.pages)


def _law_of_rows(walk: Walk) -> WalkLaw:
    """Pages of fixed sizes: full ones, and one for the rest."""
    full, last, count = _rows(walk)
    if count > PAGES_MAX:
        raise ValueError(f"a walk of {count:,} pages; at most {PAGES_MAX:,} are simulated")
    whole = min(walk.items // full, count)
    sizes = np.full(count, full, dtype=np.int64)
    if count > whole:
        sizes[-1] = last
    asked = _reached(walk, full, count)
    asked = asked[: max(1, int(np.count_nonzero(asked > _NEGLIGIBLE)))]
    sizes = sizes[: len(asked)]
    by_size = {int(size): walk.units(int(size)) for size in np.unique(sizes)}
    costs = tuple(sorted(set(by_size.values())))
    page_units = np.array([by_size[int(size)] for size in np.unique(sizes)])[np.searchsorted(np.unique(sizes), sizes)]
    parts = (page_units[:, None] == np.array(costs)[None, :]).astype(float)
    thrown = (1.0 - walk.filter_pass) * page_units * (sizes > 0)
    scanned = float(asked @ sizes)
    stops = asked - np.append(asked[1:], 0.0)
    reached = np.cumsum(sizes) / max(1, walk.items)
    total = np.cumsum(page_units)
    happens = np.flatnonzero(stops > _NEGLIGIBLE)
    return WalkLaw(
        asked,
        np.concatenate(([0.0], reached[:-1])),
        reached if walk.items else np.ones(1),
        costs,
        parts,
        scanned,
        scanned * walk.filter_pass,
        float(asked @ np.power(1.0 - walk.filter_pass, sizes.astype(float))),
        float(asked @ thrown),
        tuple((float(total[k]), float(stops[k])) for k in happens),
    )


def _reached(walk: Walk, full: int, count: int) -> Floats:
    """Probability that each page is asked for: that too few items were returned before it."""
    if walk.until is None:
        return np.ones(count)
    return np.array(
        [_fewer_than(walk.until, min(full * k, walk.items), walk.filter_pass) for k in range(count)], dtype=float
    )


def _fewer_than(wanted: int, tries: int, chance: float) -> float:
    """Probability that a binomial number of ``tries`` is below ``wanted``."""
    if tries < wanted or chance == 0:
        return 1.0
    if chance == 1:
        return 0.0
    mean, variance = tries * chance, tries * chance * (1 - chance)
    far = 12 * math.sqrt(variance) + 12
    if wanted > mean + far:
        return 1.0
    if wanted < mean - far:
        return 0.0
    if variance > _NORMAL_FROM:
        return 0.5 * math.erfc((mean - wanted + 0.5) / math.sqrt(2 * variance))
    low = max(0, int(mean - far))
    return float(min(1.0, math.fsum(_binomial(tries, chance, k) for k in range(low, wanted))))


def _binomial(tries: int, chance: float, hits: int) -> float:
    if chance in (0.0, 1.0):
        return float(hits == tries * chance)
    ways = math.lgamma(tries + 1) - math.lgamma(hits + 1) - math.lgamma(tries - hits + 1)
    return math.exp(ways + hits * math.log(chance) + (tries - hits) * math.log1p(-chance))


def _law_of_states(walk: Walk) -> WalkLaw:
    """A `Limit` that hangs on what is missing: state by state, (items examined, items returned, units so far)."""
    assert walk.until is not None, "over-fetching has an aim"
    states: dict[tuple[int, int, float], float] = {(0, 0, 0.0): 1.0}
    asked: list[float] = []
    rows: list[dict[float, float]] = []
    begins: list[float] = []
    ends: list[float] = []
    scanned = empty = thrown = 0.0
    ended: dict[float, float] = {}
    binomials: dict[int, list[float]] = {}
    pages = 0
    while states:
        pages += 1
        following: dict[tuple[int, int, float], float] = {}
        row: dict[float, float] = {}
        for (done, returned, units), chance in states.items():
            examined = walk.examines(done, returned)
            cost = walk.units(examined)
            row[cost] = row.get(cost, 0.0) + chance
            scanned += chance * examined
            law = binomials.setdefault(
                examined, [_binomial(examined, walk.filter_pass, hits) for hits in range(examined + 1)]
            )
            empty += chance * law[0]
            thrown += chance * cost * (1 - walk.filter_pass) if examined else 0.0
            for hits, part in enumerate(law):
                if chance * part <= _NEGLIGIBLE:
                    continue
                if walk.goes_on(pages, done + examined, returned + hits, examined, returned):
                    state = (done + examined, returned + hits, units + cost)
                    following[state] = following.get(state, 0.0) + chance * part
                else:
                    ended[units + cost] = ended.get(units + cost, 0.0) + chance * part
        whole = sum(row.values())
        places = [(chance * done, chance * walk.examines(done, back)) for (done, back, _), chance in states.items()]
        begins.append(sum(done for done, _ in places) / whole / max(1, walk.items))
        ends.append(begins[-1] + sum(size for _, size in places) / whole / max(1, walk.items))
        asked.append(whole)
        rows.append(row)
        states = following
    costs = tuple(sorted({cost for row in rows for cost in row}))
    parts = np.array([[row.get(cost, 0.0) / sum(row.values()) for cost in costs] for row in rows])
    return WalkLaw(
        np.array(asked),
        np.array(begins),
        np.array(ends),
        costs,
        parts,
        scanned,
        scanned * walk.filter_pass,
        empty,
        thrown,
        tuple(sorted(ended.items())),
    )


def law_of_sum(laws: Sequence[tuple[Sequence[tuple[float, float]], int]]) -> list[tuple[float, float]] | None:
    """The law of the sum of independent costs.

    Parameters
    ----------
    laws : (cost, probability) pairs of each cost, and how many such costs are added.

    Returns
    -------
    (cost, probability) pairs, ascending; None where they are too many to be listed.
    """
    shift = 0.0
    spread: list[tuple[Floats, int]] = []
    size = 1
    for law, times in laws:
        least = min(cost for cost, _ in law)
        shift += least * times
        grid = [round((cost - least) / _UNITS_GRID) for cost, _ in law]
        if max(grid) == 0 or not times:
            continue
        size += max(grid) * times
        if size > _GRID_MAX:
            return None
        values = np.zeros(max(grid) + 1)
        for place, (_, chance) in zip(grid, law, strict=True):
            values[place] += chance
        spread.append((values, times))
    if not spread:
        return [(shift, 1.0)]
    length = 1 << (size - 1).bit_length()
    product: npt.NDArray[Any] = np.ones(length // 2 + 1, dtype=complex)
    for values, times in spread:
        product *= np.fft.rfft(values, length) ** times
    total = np.fft.irfft(product, length)[:size]
    return [(shift + k * _UNITS_GRID, float(total[k])) for k in np.flatnonzero(total > 1e-12).tolist()]


def percentile(law: Sequence[tuple[float, float]], fraction: float) -> float:
    """The least value that at least a fraction of the law does not exceed."""
    reached = 0.0
    for value, chance in law:
        reached += chance
        if reached >= fraction - 1e-9:
            return value
    return law[-1][0]
