"""A table and its indexes over a whole stretch at once, where no more than one of them is short of what the others let pass.

The plain form is `sim.levels.together`, tick by tick; what is settled here equals it to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sim.keyspace.domain import Counts, Floats
from sim.levels.laid import Laid
from sim.levels.moving import Moving
from sim.partitions.bucket import floor_grains
from sim.partitions.lane import Demand, Lane, Verdict

Reached = dict[str, tuple[Demand, Verdict | None]]


def settle_coupled(
    lanes: Mapping[str, Lane], demands: Mapping[str, Demand], moving: Sequence[Moving], tick_s: float
) -> Reached | None:
    """Serve a stretch of writes with index entries.

    Where one lane is short, the others see what it lets pass, and may have enough for that: the lanes that are short of all that is asked
    are tried in turn as the only one. Where none is, each sees what the other lets pass: that takes a balance tick by tick.

    Parameters
    ----------
    demands : for each lane what is asked of it.

    Returns
    -------
    For each lane what reached it, and its verdict; None, with nothing taken, where more than one lane is short.
    """
    before = {name: lanes[name].levels() for name in demands}
    verdicts = {name: lanes[name].settle(demand, tick_s) for name, demand in demands.items()}
    short = [name for name, verdict in verdicts.items() if verdict is not None]
    if not short:
        return {name: (demand, None) for name, demand in demands.items()}
    after = {name: lanes[name].levels() for name in short}
    for alone in short:
        verdict = verdicts[alone]
        assert verdict is not None, "a short lane has a verdict"
        passing = _passing(moving, alone, admitted_of(verdict, demands[alone].units))
        if passing is None:
            continue
        reached: Reached = {}
        for name, demand in demands.items():
            if name == alone:
                lanes[name].restore(after[name])
                reached[name] = (demand, verdict)
                continue
            lanes[name].restore(before[name])
            thinned = _thinned(moving, name, demand, passing)
            reached[name] = (thinned, lanes[name].settle(thinned, tick_s))
            if reached[name][1] is not None:
                break
        else:
            return reached
    for name, levels in before.items():
        lanes[name].restore(levels)
    return None


def admitted_of(verdict: Verdict, units: Floats) -> Floats:
    """Share of the attempts in each cell that a lane admits, ticks × columns."""
    admitted = np.ones(units.shape)
    here = units[:, verdict.columns]
    admitted[:, verdict.columns] = np.divide(verdict.served, here, out=np.ones(here.shape), where=here > 0)
    return admitted


def _asks(moving: Moving, name: str) -> list[tuple[Laid, Counts]]:
    """What a leg asks of one resource."""
    own: list[tuple[Laid, Counts]] = [(moving.flow, moving.counts)] if moving.flow.resource.name == name else []
    entries = zip(moving.flow.entries, moving.entries, strict=True)
    return own + [(entry, cells) for entry, cells in entries if entry.resource.name == name]


def _passing(moving: Sequence[Moving], name: str, admitted: Floats) -> list[Floats] | None:
    """For each leg the share of its items that the short lane lets pass, by tick; None where a leg meets it twice."""
    passing = []
    for m in moving:
        asks = _asks(m, name)
        if len(asks) > 1:
            return None
        items = np.asarray(m.by_tick, dtype=float)
        lost = (asks[0][1] * (1.0 - admitted)).sum(axis=1) if asks else np.zeros(len(items))
        passing.append(1.0 - np.divide(lost, items, out=np.zeros(len(items)), where=items > 0))
    return passing


def _thinned(moving: Sequence[Moving], name: str, demand: Demand, passing: Sequence[Floats]) -> Demand:
    """What reaches a lane of what is asked of it."""
    rows = [
        cells * (laid.units * share)[:, None]
        for m, share in zip(moving, passing, strict=True)
        for laid, cells in _asks(m, name)
    ]
    units = floor_grains(np.sum(rows, axis=0)) if rows else demand.units
    return Demand(units, demand.ceiling_ratio, demand.quantum)
