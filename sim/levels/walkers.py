"""Walks of pages at the flow level: how many walks are under way, by the page that they ask for next.

A walk asks for a page when the one before is answered, on average a latency later, so in a tick it asks for as many as fit into it. What
is refused ends its walk, which asks for no more: the pages of a tick hang on the shares that the partitions admit, and those on the pages
(`sim.levels.together` finds the balance). The moment within its latency at which a tick finds a walk is taken as uniform.

Long walks are taken in steps of several pages; a step lies within one tick. A last tick that is shorter counts as a whole one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.keyspace.domain import Counts, Floats, Ints
from sim.levels.demand import Walking
from sim.levels.moving import Flow, Moving
from sim.levels.patterns import Pattern, Patterns
from sim.levels.tracks import Tracks
from sim.partitions.bucket import grains

_STEPS = 64  # into which a longer walk is divided, unless ticks divide it further
_NOTHING = 1e-9  # walks below which there are none under way


@dataclass(frozen=True)
class _Steps:
    """A walk in steps.

    Attributes
    ----------
    pages : pages that a walk asks for in each step if all are served.
    goes_on : share of the walks that go on after it.
    kinds : steps × legs: share of its pages that are of each leg.
    low, high : place in the walk's items at which it begins and ends.
    """

    pages: Floats
    goes_on: Floats
    kinds: Floats
    low: Floats
    high: Floats
    length: int


def _steps_of(walking: Walking, pages_per_tick: float) -> _Steps:
    law, missing = walking.walk.law, walking.missing
    asked = law.asked * (1.0 - missing)
    kinds = np.zeros((len(asked), len(walking.leg_of)))
    for cost, part in zip(law.costs, law.parts.T, strict=True):
        kinds[:, walking.leg_of[cost]] += part * asked
    if missing:
        asked = asked.copy()
        asked[0] += missing
        kinds[0, walking.leg_of[walking.empty.units(0)]] += missing
    count = max(1, int(np.count_nonzero(asked)))  # where all find nothing, no page follows the first
    asked, kinds = asked[:count], kinds[:count]
    length = 1 if count <= _STEPS else max(1, int(min(count / _STEPS, pages_per_tick)))
    starts = np.arange(0, count, length)
    by_leg = np.add.reduceat(kinds, starts, axis=0)
    pages = np.add.reduceat(asked, starts)
    ends = np.append(starts[1:], count) - 1
    following = np.append(asked[starts[1:]], 0.0)
    return _Steps(
        pages / asked[starts],
        following / asked[starts],
        by_leg / pages[:, None],
        law.begins[starts],
        law.ends[ends],
        length,
    )


@dataclass
class _Cells:
    """Where the steps lie: row (track × steps + step), partition, the step's share there, and for each leg its part of the pages."""

    rows: Ints
    columns: Ints
    shares: Floats
    kinds: list[Floats]


@dataclass
class Progress:
    """What became of a pattern's walks over a stretch, per tick: attempts, refused ones, requests that ended well and badly.

    Attributes
    ----------
    under_way : walks that have pages left at the end of each tick.
    """

    attempts: Floats
    throttled: Floats
    succeeded: Floats
    failed: Floats
    under_way: Floats

    @classmethod
    def over(cls, ticks: int) -> Progress:
        """Nothing yet."""
        return cls(*(np.zeros(ticks) for _ in range(5)))


class Walkers:
    """The walks of one pattern.

    Attributes
    ----------
    progress : of the present stretch.
    admitted : the shares that the partitions admitted in the last tick, from which the balance of the next is looked for. None: all.
    """

    def __init__(self, patterns: Patterns, pattern: Pattern, latency_s: float, tick_s: float) -> None:
        walking = pattern.demand.walking
        assert walking is not None, "a pattern that walks"
        self._patterns = patterns
        self.pattern = pattern
        self._walking = walking
        self._pages_per_tick = tick_s / latency_s
        self._steps = _steps_of(walking, self._pages_per_tick)
        steps_per_tick = tick_s / (latency_s * self._steps.length)
        self._whole = int(steps_per_tick + 1e-9)
        self._rest = max(0.0, steps_per_tick - self._whole)
        count = len(self._steps.pages)
        self._new_asks = np.maximum(0.0, 1.0 - np.arange(count) / steps_per_tick)
        # Share of the walks that begin in a tick which wait before each step at its end.
        self._new_waits = np.concatenate(([0.0], -np.diff(self._new_asks)))
        # What becomes of a walk at each step if nothing is refused, where steps are few.
        self._calm: tuple[Floats, Floats] | None = None
        if count <= _STEPS:
            one = np.eye(count)
            self._calm = self._on(one, np.broadcast_to(self._steps.goes_on, one.shape))
        self._mark: object = None
        self._tracks: Tracks | None = None
        self._cells: _Cells | None = None
        self._walks = np.zeros((0, count))
        self.progress = Progress.over(0)
        self.admitted: Floats | None = None

    @property
    def flows(self) -> list[Flow]:
        """The legs: pages of each cost."""
        return self.pattern.flows

    @property
    def units_per_tick(self) -> float:
        """Most units that one request asks for within a tick."""
        walking, law = self._walking, self._walking.walk.law
        pages = min(law.pages, self._pages_per_tick)
        return walking.branches * max(law.costs) * max(1.0, pages)

    @property
    def under_way(self) -> float:
        """Walks that have pages left."""
        return float(self._walks.sum())

    def mark(self) -> tuple[object, ...]:
        """Where everything stands, to go back to with `restore`; nothing of it is changed in place."""
        return (self._walks, self.admitted, self._mark, self._tracks, self._cells)

    def restore(self, mark: tuple[object, ...]) -> None:
        """Put everything back."""
        self._walks, self.admitted, self._mark, self._tracks, self._cells = mark  # type: ignore[assignment]  # as `mark` gave it

    # A stretch.

    def foresee(self, requests: Counts, whole: Counts) -> list[Moving]:
        """Begin a stretch: its pages if all are served, for each leg; empty where there are none.

        Parameters
        ----------
        requests : those that begin in each tick; ``whole`` the same before a finite job was cut off within one.
        """
        self._lay()
        ticks = len(requests)
        self.progress = Progress.over(ticks)
        self._starts = self._deal(requests, whole)
        self._before = self._walks
        columns = len(self.flows[0].shares)
        counts = np.zeros((len(self.flows), ticks, columns))
        if not self._starts.any() and self.under_way < _NOTHING:
            self._walks = np.zeros_like(self._walks)
            self.admitted = None
            return []
        served = np.ones(self._walks.shape)
        for t in range(ticks):
            counts[:, t] = self._pass(t, served, True)
            self._end_tick(t)
        return [Moving.of(flow, rows) for flow, rows in zip(self.flows, counts, strict=True)]

    def begin_again(self) -> None:
        """Take back what was foreseen: something is refused, and each tick has to be balanced."""
        self._walks = self._before
        self.progress = Progress.over(len(self._starts))

    def ask(self, t: int, admitted: Floats, passable: Sequence[Floats], *, whole: bool) -> Floats:
        """Pages of each leg by partition in a tick of the stretch, where its partitions admit such shares; ``whole``: in whole grains."""
        assert self._cells is not None, "what is laid has cells"
        shape = self._walks.shape
        if all(mine.all() for mine in passable):
            # What is refused, not what passes, so that nothing is nothing to the last bit.
            here = (1.0 - admitted)[self._cells.columns] * self._cells.shares
        else:
            steps = self._cells.rows % shape[1]
            may_not = np.stack([1.0 - admitted * mine for mine in passable])
            here = (self._steps.kinds[steps] * may_not[:, self._cells.columns].T).sum(axis=1) * self._cells.shares
        lost = np.bincount(self._cells.rows, weights=here, minlength=shape[0] * shape[1]).reshape(shape)
        return self._pass(t, np.clip(1.0 - lost, 0.0, 1.0), whole)

    def close(self, t: int, admitted: Floats) -> None:
        """End a tick as it was last asked for."""
        self.admitted = admitted if self._asked.any() and (admitted < 1.0).any() else None
        self._end_tick(t)

    def serve_all(self) -> None:
        """End a stretch as it was foreseen."""
        self.admitted = None

    # A tick.

    def _pass(self, t: int, served: Floats, whole: bool) -> Floats:
        """Let walks ask for their pages of a tick, of which a share is served: attempts of each leg by partition."""
        pages = self._steps.pages
        calm = bool((served == 1.0).all())
        kept = served if calm else np.power(served, pages)  # share of the walks that get through a step
        goes_on = kept * self._steps.goes_on
        new = self._starts[t]
        if not self._walks.any():
            asking, waiting = np.zeros(self._walks.shape), np.zeros(self._walks.shape)
        elif calm and self._calm is not None:
            asking, waiting = self._walks @ self._calm[0], self._walks @ self._calm[1]
        else:
            asking, waiting = self._on(self._walks, goes_on)
        if new.any():
            reached = np.cumprod(np.concatenate((new[:, None], goes_on[:, :-1]), axis=1), axis=1)
            asking += reached * self._new_asks
            waiting += reached * self._new_waits
        self._waiting = waiting
        refused = asking * (1.0 - kept)
        ended = asking * kept * (1.0 - self._steps.goes_on)
        self._lost, self._done = refused.sum(axis=1), ended.sum(axis=1)
        short = served < 1.0
        tries = np.where(short, (1.0 - kept) / np.where(short, 1.0 - served, 1.0), pages)
        attempts = (asking * tries).ravel()
        assert self._cells is not None, "what is laid has cells"
        rows, columns = self._cells.rows, self._cells.columns
        here = attempts[rows] * self._cells.shares
        width = len(self.flows[0].shares)
        by_leg = [np.bincount(columns, weights=here * kinds, minlength=width) for kinds in self._cells.kinds]
        self._asked = np.array(by_leg, dtype=float)
        if whole:  # twice the grain, because half a unit for each must be kept exactly too
            self._asked = 2 * grains(self._asked / 2)
        return self._asked

    def _on(self, walks: Floats, goes_on: Floats) -> tuple[Floats, Floats]:
        """Walks that ask for each step in a tick, and those that wait before each at its end, of those under way at its beginning."""
        asking, waiting = np.zeros(walks.shape), np.zeros(walks.shape)
        count = walks.shape[1]
        here = walks
        for i in range(min(self._whole, count - 1) + 1):
            if i:
                further = np.zeros(walks.shape)
                np.multiply(here[:, :-1], goes_on[:, :-1], out=further[:, 1:])
                here = further
            asking += here if i < self._whole else here * self._rest
        if self._whole < count:
            waiting += here * (1.0 - self._rest)
            waiting[:, 1:] += (here * goes_on * self._rest)[:, :-1]
        return asking, waiting

    def _end_tick(self, t: int) -> None:
        self._walks = np.where(self._waiting > _NOTHING * 1e-6, self._waiting, 0.0)
        progress, lost, done = self.progress, self._lost, self._done
        progress.under_way[t] = self.under_way
        progress.attempts[t] = self._asked.sum()
        progress.throttled[t] = min(float(grains(lost.sum())), progress.attempts[t])
        ended = lost + done
        if self._walking.branches == 1:
            succeeded, all_ended = float(done.sum()), float(ended.sum())
        else:
            # A request is served when all its branches are. They ask at the same moment, so they find the same bucket dry: together, rather
            # than each by itself.
            assert self._tracks is not None, "laid"
            good = np.divide(done, ended, out=np.ones(len(done)), where=ended > 0)
            all_ended = float(ended.sum()) / self._walking.branches
            succeeded = all_ended * float((self._tracks.takes @ good).min())
        progress.succeeded[t] = grains(np.array(succeeded))
        progress.failed[t] = grains(np.array(all_ended)) - progress.succeeded[t]

    # Where they go.

    def _deal(self, requests: Counts, whole: Counts) -> Floats:
        """Walks that begin, ticks × tracks."""
        assert self._tracks is not None, "laid"
        takes, times = self._tracks.takes, self._tracks.times
        if (takes.max(axis=1) >= 1.0).all():
            return np.outer(np.asarray(requests, dtype=float), (takes * times[:, None]).sum(axis=0))
        numbers = np.asarray(whole, dtype=np.int64)[:, None] * times[None, :]
        dealt = self.flows[0].draws.multinomial(numbers, takes[None, :, :]).sum(axis=1).astype(float)
        kept = np.divide(requests, whole, out=np.zeros(len(dealt)), where=np.asarray(whole) > 0)
        return np.asarray(dealt * kept[:, None])

    def _lay(self) -> None:
        """Let the walks go through the partitions as they are now."""
        for flow in self.flows:
            flow.place()
        flow = self.flows[0]
        mark = (flow.layout, flow.resource.version)
        if self._mark == mark:
            return
        self._mark = mark
        self._tracks = self._patterns.tracks(self.pattern)
        count = len(self._steps.pages)
        rows, columns, shares = [], [], []
        for k, track in enumerate(self._tracks.all):
            steps, at, part = track.parts(self._steps.low, self._steps.high)
            rows.append(steps + k * count)
            columns.append(at)
            shares.append(part)
        at_rows = np.concatenate(rows)
        kinds = [np.ascontiguousarray(part) for part in self._steps.kinds[at_rows % count].T]
        self._cells = _Cells(at_rows, np.concatenate(columns), np.concatenate(shares), kinds)
        taken = self._tracks.times @ self._tracks.takes
        self._walks = np.outer(taken / taken.sum(), self._walks.sum(axis=0))  # those under way go on where keys lie now
