"""Requests that follow the served requests of another pattern (``follows``) at the flow level: copies, inverse edges, stream consumers.

How many come in a tick is an exact function of how many of their leaders succeeded before: ``per`` for each, shifted by the leader's
latency and the delay, which spread over neighbouring ticks as the delay of a retry does. Whole requests are sent, and what is left of one
is carried on, so nothing is lost or made up by rounding.

Within a stretch it is known only afterwards how many leaders succeed. So a stretch is tried as if every leader were served, which is
what it is in nearly all stretches, at the price of comparing two arrays. Where that was wrong, the ticks up to there are settled
again, and those after it in stretches no longer than the delay, in which the followers hang on the past alone. A delay shorter than a tick
leaves single ticks whose followers share the tick with their leaders: there the number of leaders served is balanced in a few rounds,
and what they leave open goes to the next tick. Limiting every stretch to the delay would be right too, and slow where nothing is
refused: most delays are no longer than a tick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sim.keyspace.domain import Counts, Floats
from sim.levels.cohorts import ticks_reached
from sim.levels.latencies import latency_law
from sim.levels.patterns import Pattern
from sim.partitions.bucket import GRAIN, grains
from sim.results.recorder import TimeGrid

_ALMOST = 1e-6  # of a request: what sums of rounded parts may lack of a whole one
_ALIKE = 1e-3  # of the followers of a tick: closer than this is balanced; the ledger carries the rest

Served = Mapping[
    int, Floats
]  # requests of a leader that succeed in each tick of a stretch, by the identity of its pattern


class Followers:
    """The followers of one pattern, on their way.

    Attributes
    ----------
    pattern, leader : who follows whom.
    first_lag : ticks between a leader's success and its earliest follower.
    """

    def __init__(self, pattern: Pattern, leader: Pattern, grid: TimeGrid) -> None:
        follows = pattern.demand.traffic.follows
        assert follows is not None, "a follower follows"
        self.pattern = pattern
        self.leader = leader
        self.per = follows.per
        latency_s = latency_law(leader.demand, leader.flows[0].resource.calibration).mean_s
        delay_s = latency_s + follows.delay
        reached = ticks_reached(delay_s, delay_s, grid.tick_s)
        self._lags = [(int(lag), float(reached[lag])) for lag in np.flatnonzero(reached)]
        self.first_lag = self._lags[0][0]
        self._due = np.zeros(grid.ticks)
        self._left = 0.0  # of a request; below 0 where more were sent than turned out to be due
        self._open = _open_share(pattern, grid)

    def come(self, first: int, served: Floats) -> Counts:
        """How many come in each tick from ``first`` on, if so many leaders are served there."""
        ticks = len(served)
        due = self._due[first : first + ticks] + self._shifted(first, served)[:ticks]
        whole = np.floor(self._left + np.cumsum(due) + _ALMOST)
        return np.diff(np.maximum.accumulate(np.concatenate(([0.0], whole)))).astype(np.int64)

    def in_same_tick(self, served: float) -> float:
        """How many of ``served`` leaders' followers come in the tick of their leaders."""
        lag, share = self._lags[0]
        return self.per * served * share if lag == 0 else 0.0

    def accept(self, first: int, served: Floats, came: Counts) -> None:
        """So many leaders were served from tick ``first`` on, and so many followers have come."""
        ticks = len(served)
        shifted = self._shifted(first, served)
        self._due[first : first + len(shifted)] += shifted
        self._left += float(self._due[first : first + ticks].sum()) - float(came.sum())

    def _shifted(self, first: int, served: Floats) -> Floats:
        """Followers of the leaders of some ticks, by the tick in which they come, up to the run's end."""
        wanted = grains(np.asarray(served, dtype=float) * self.per)
        ticks = min(len(served) + self._lags[-1][0], len(self._due) - first)
        shifted = np.zeros(max(ticks, 0))
        rest = wanted
        for number, (lag, share) in enumerate(self._lags):
            part = rest if number == len(self._lags) - 1 else grains(wanted * share)
            rest = rest - part
            if lag < ticks:
                shifted[lag : lag + len(part)] += part[: ticks - lag]
        open_share = self._open[first : first + len(shifted)]
        return shifted if open_share.all() and open_share.min() >= 1 else grains(shifted * open_share)


def _open_share(pattern: Pattern, grid: TimeGrid) -> Floats:
    """The part of each tick that lies in a pattern's window."""
    traffic = pattern.demand.traffic
    if not traffic.starts and traffic.ends is None:
        return np.broadcast_to(np.ones(1), (grid.ticks,))
    edges = np.minimum(np.arange(grid.ticks + 1) * grid.tick_s, grid.duration_s)
    inside = np.clip(edges, traffic.starts, grid.duration_s if traffic.ends is None else traffic.ends)
    return np.asarray(np.diff(inside) / np.diff(edges))


class Fanout:
    """All followers of a scenario, each after its leader.

    Attributes
    ----------
    lag : ticks within which no follower hangs on what its leader does there.
    """

    def __init__(self, patterns: Sequence[Pattern], grid: TimeGrid) -> None:
        by_name = {pattern.demand.traffic.name: pattern for pattern in patterns}
        left = [p for p in patterns if p.demand.traffic.follows is not None]
        self.links: list[Followers] = []
        while left:  # a chain has an end (`sim.scenario.checks`)
            waiting = {id(pattern) for pattern in left}
            for pattern in [p for p in left if id(_leader_of(p, by_name)) not in waiting]:
                self.links.append(Followers(pattern, _leader_of(pattern, by_name), grid))
                left.remove(pattern)
        self.leaders = list({id(link.leader): link.leader for link in self.links}.values())
        self.lag = min((link.first_lag for link in self.links), default=0)

    def are_alike(self, assumed: Served, found: Served) -> bool:
        """Whether the followers of one tick are as good as those that it was settled with."""
        for link in self.links:
            one = link.in_same_tick(float(assumed[id(link.leader)][0]))
            other = link.in_same_tick(float(found[id(link.leader)][0]))
            if abs(one - other) > max(0.5, _ALIKE * other):
                return False
        return True


def _leader_of(pattern: Pattern, by_name: Mapping[str, Pattern]) -> Pattern:
    follows = pattern.demand.traffic.follows
    assert follows is not None, "a follower follows"
    return by_name[follows.traffic]


def first_difference(assumed: Served, found: Served) -> int | None:
    """The first tick in which leaders did not do what was assumed of them."""
    ticks = [
        int(different[0])
        for mark, rows in assumed.items()
        if len(different := np.flatnonzero(np.abs(rows - found[mark]) >= GRAIN))
    ]
    return min(ticks, default=None)


def nearer(
    assumed: Mapping[int, Floats], found: Mapping[int, Floats], before: tuple[Served, Served] | None
) -> dict[int, Floats]:
    """A better guess of how many leaders are served in one tick, from a guess and what came of it, and the pair before it.

    The more leaders are served, the more followers take their tokens: what is found falls as the guess rises, by less than the guess
    rises. So the answer lies between guess and finding, and a straight line through two pairs, where there are two, hits it nearly.
    """
    better = {}
    for leader, guess in assumed.items():
        low, high = np.minimum(guess, found[leader]), np.maximum(guess, found[leader])
        answer = (guess + found[leader]) / 2
        if before is not None:
            off, off_before = found[leader] - guess, before[1][leader] - before[0][leader]
            bend = off - off_before
            steps = np.divide(guess - before[0][leader], bend, out=np.zeros(len(bend)), where=np.abs(bend) > GRAIN)
            answer = np.where(steps < 0, guess - off * steps, answer)
        better[leader] = grains(np.clip(answer, low, high))
    return better
