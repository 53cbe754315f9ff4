"""Counts per tick become requests in time: each with its moment and its partition.

The counts are those of the flow level, draw for draw; only their place within the tick is added here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.keyspace.domain import Counts, Floats, Ints
from sim.levels.demand import Joint
from sim.levels.moving import Moving
from sim.levels.patterns import Drawn
from sim.names import Arrivals


@dataclass(frozen=True)
class Arrived:
    """Requests of one pattern; in order of ticks, within a tick in any order.

    Attributes
    ----------
    times_s : when each comes.
    leg : index of the leg that each takes (`Joint.ONE_OF`), else 0.
    column : its partition, where it is a single item, else 0.
    items : (leg, column) of every item of each request, requests × items × 2; None for single items.
    entries : for every item (of each request) the index partition of each of its index entries, -1 where it has none; as many columns as
        the leg with the most entries has. None where no leg has any.
    keys : number of every item of each request, and of its partition key, where a cache has to know.
    """

    times_s: Floats
    leg: Ints
    column: Ints
    items: Ints | None
    entries: Ints | None = None
    keys: list[list[tuple[int, int]]] | None = None


def place(
    drawn: Drawn,
    edges_s: Floats,
    cumulative: Floats,
    moments: np.random.Generator,
    deals: Sequence[np.random.Generator],
    entry_deals: Sequence[Sequence[np.random.Generator]] = (),
) -> Arrived:
    """Put the requests of a stretch into time.

    Parameters
    ----------
    edges_s : edges of the stretch's ticks; ``cumulative`` the requests expected up to each.
    moments : generator of the places within a tick; ``deals``, one for each leg, of which request meets which partition;
        ``entry_deals``, for each leg one for each of its index entries.
    """
    demand = drawn.pattern.demand
    requests = np.asarray(drawn.requests, dtype=np.int64)
    even = demand.traffic.arrivals is Arrivals.EVEN
    alone = demand.joint is Joint.ONE_OF
    window = (demand.traffic.starts, np.inf if demand.traffic.ends is None else demand.traffic.ends)
    if alone and not even:
        cells, tick = _listed([leg.counts for leg in drawn.legs])
        leg, column = np.divmod(cells, drawn.legs[0].counts.shape[1])
        entries = _entries(drawn, leg, tick, entry_deals)
        return Arrived(_uniform_times(tick, edges_s, window, moments), leg, column, None, entries)
    tick = np.repeat(np.arange(len(requests)), requests)
    times = (
        _even_times(requests, edges_s, window, cumulative) if even else _uniform_times(tick, edges_s, window, moments)
    )
    if demand.joint is Joint.WALK:  # where it begins is found out when it does
        zeros = np.zeros(len(times), dtype=np.int64)
        return Arrived(times, zeros, zeros, None)
    dealt = _dealt(drawn, deals)
    if alone:
        return Arrived(times, dealt[:, 0, 0], dealt[:, 0, 1], None, _entries(drawn, dealt[:, 0, 0], tick, entry_deals))
    zeros = np.zeros(len(times), dtype=np.int64)
    entries = _entries(drawn, dealt[:, :, 0].ravel(), np.repeat(tick, dealt.shape[1]), entry_deals)
    if entries is not None:
        entries = entries.reshape(len(times), dealt.shape[1], -1)
    return Arrived(times, zeros, zeros, dealt, entries)


def _entries(drawn: Drawn, leg: Ints, tick: Ints, deals: Sequence[Sequence[np.random.Generator]]) -> Ints | None:
    """Index partition of each entry of each item: those of each tick, shuffled among its items. ``leg``, ``tick``: of each item."""
    most = max(len(moving.entries) for moving in drawn.legs)
    if not most:
        return None
    dealt = np.full((len(leg), most), -1, dtype=np.int64)
    for k, moving in enumerate(drawn.legs):
        mine = np.flatnonzero(leg == k)
        for e, cells in enumerate(moving.entries):
            absent = np.asarray(moving.by_tick, dtype=np.int64) - cells.sum(axis=1)
            columns, ticks = _listed([cells, absent[:, None]])
            columns = columns[np.lexsort((deals[k][e].random(len(columns)), ticks))]
            dealt[mine, e] = np.where(columns == cells.shape[1], -1, columns)
    return dealt


def _spans(tick: Ints, edges_s: Floats, window: tuple[float, float]) -> tuple[Floats, Floats]:
    """Begin and length of each tick, as far as it lies in the pattern's window."""
    begin = np.maximum(edges_s[:-1], window[0])
    end = np.minimum(edges_s[1:], window[1])
    return begin[tick], np.maximum(end - begin, 0.0)[tick]


def _uniform_times(tick: Ints, edges_s: Floats, window: tuple[float, float], moments: np.random.Generator) -> Floats:
    """Given their number, Poisson arrivals lie uniformly in their tick."""
    begin, length = _spans(tick, edges_s, window)
    return np.asarray(begin + moments.random(len(tick)) * length)


def _even_times(requests: Ints, edges_s: Floats, window: tuple[float, float], cumulative: Floats) -> Floats:
    """Request k comes when the cumulative rate reaches k; within a tick the rate is taken as steady."""
    first = np.ceil(np.round(cumulative[:-1], 9))
    tick = np.repeat(np.arange(len(requests)), requests)
    within = np.arange(len(tick)) - np.repeat(np.cumsum(requests) - requests, requests)
    rise = np.diff(cumulative)
    part = (first[tick] + within - cumulative[tick]) / np.maximum(rise[tick], 1e-300)
    begin, length = _spans(tick, edges_s, window)
    return np.asarray(begin + np.clip(part, 0.0, 1.0) * length)


def _listed(counts: list[Counts]) -> tuple[Ints, Ints]:
    """Every item's cell (leg × partitions + partition) and tick, in order of ticks."""
    cells = np.concatenate(counts, axis=1)
    one = np.repeat(np.tile(np.arange(cells.shape[1]), len(cells)), cells.ravel())
    return one, np.repeat(np.arange(len(cells)), cells.sum(axis=1))


def _dealt(drawn: Drawn, deals: Sequence[np.random.Generator]) -> Ints:
    """(leg, column) of every item of every request, requests × items × 2: the cells of each tick, shuffled among its requests."""
    if drawn.pattern.demand.joint is Joint.ALL:  # every request has each leg
        return np.concatenate([_shuffled([k], [leg.counts], leg, deals[k]) for k, leg in enumerate(drawn.legs)], axis=1)
    like = drawn.legs[0].flow
    if like.leg.together and len(drawn.legs) > 1 and not like.entries:
        return _shuffled_within(drawn, deals)
    return _shuffled(list(range(len(drawn.legs))), [leg.counts for leg in drawn.legs], drawn.legs[0], deals[0])


def _shuffled_within(drawn: Drawn, deals: Sequence[np.random.Generator]) -> Ints:
    """Batches under one key of whose items each takes a leg of its own: the place of each batch, then whose items are which."""
    counts = [leg.counts for leg in drawn.legs]
    items, partitions = drawn.legs[0].flow.leg.items, counts[0].shape[1]
    cells, tick = _listed(counts)
    cells = cells[np.lexsort((deals[1].random(len(cells)), cells % partitions, tick))].reshape(-1, items)
    tick = tick[::items]
    cells = cells[np.lexsort((deals[0].random(len(cells)), tick))]
    return np.stack((cells // partitions, cells % partitions), axis=2)


def _shuffled(legs: list[int], counts: list[Counts], like: Moving, deal: np.random.Generator) -> Ints:
    items, together = like.flow.leg.items, like.flow.leg.together
    partitions = counts[0].shape[1]
    cells, tick = _listed([count // items for count in counts] if together else counts)
    cells = cells[np.lexsort((deal.random(len(cells)), tick))]
    dealt = np.repeat(cells[:, None], items, axis=1) if together else cells.reshape(-1, items)
    return np.stack((np.array(legs, dtype=np.int64)[dealt // partitions], dealt % partitions), axis=2)
