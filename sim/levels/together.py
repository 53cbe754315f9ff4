"""Requests that need several tokens at once, at the flow level: transactions, writes with index entries, and retries beside them.

A request passes when every lane that it meets admits it, and a refused one takes tokens nowhere. So each partition sees only what the
others let pass, and what is refused comes back in part within the same tick: one fixed point per tick, in the shares that the partitions
admit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sim.keyspace.domain import Floats
from sim.levels.cohorts import Cohorts, Tally
from sim.levels.demand import Joint
from sim.levels.moving import Flow, Moving
from sim.levels.walkers import Walkers
from sim.names import Limit
from sim.partitions.bucket import floor_grains, grains
from sim.partitions.lane import Lane, Offer, Verdict

_SHRINKS = 0.9  # of the last change: whole steps that gain less are given up
_ROUNDS_MAX = 120
_REMEMBERED = 6  # steps that an extrapolation looks back on
_GROWS = 3.0  # times the last error: then the extrapolation has gone astray and begins anew
_LEAST = 1e-12  # a share below this is none
_WALK_PRECISION = 4e-6  # of a unit, or of a share of many: a few grains, to which pages are rounded
_PRECISION = 1e-8  # of a share of admitted attempts


@dataclass(frozen=True)
class LaneOutcome:
    """What became of one lane: the verdict over all its columns, and the units that reached it, ticks × columns."""

    verdict: Verdict
    reached: Floats


@dataclass(frozen=True)
class Together:
    """A stretch settled tick by tick.

    Attributes
    ----------
    lanes : per lane.
    attempts : for each leg its attempts, retries included, with their index entries.
    tallies : for each leg, None where it does not retry.
    """

    lanes: list[LaneOutcome]
    attempts: list[Moving]
    tallies: list[Tally | None]


def joint_groups(moving: Sequence[Moving], owners: Sequence[object]) -> list[list[int]]:
    """Indexes of the legs that belong to one transaction, by owner."""
    groups: dict[int, list[int]] = {}
    for k, (m, owner) in enumerate(zip(moving, owners, strict=True)):
        if m.flow.joint is Joint.ALL:
            groups.setdefault(id(owner), []).append(k)
    return list(groups.values())


def settle_together(
    lanes: Mapping[str, Lane],
    moving: Sequence[Moving],
    groups: Sequence[Sequence[int]],
    cohorts: Sequence[Cohorts | None],
    passable: Sequence[Floats],
    barred: Sequence[Sequence[bool]],
    first: int,
    tick_s: float,
    walks: Sequence[Walkers] = (),
) -> Together:
    """Serve a stretch tick by tick; scarce units go to all attempts alike.

    Parameters
    ----------
    lanes : the lanes that the legs and their index entries meet, by resource.
    moving : the legs with their first attempts.
    groups : for each transaction the indexes of its legs.
    cohorts : for each leg what is on its way to return, None where it does not retry.
    passable : for each leg 1 or 0 by partition: whether an attempt of it could ever pass there.
    barred : for each leg and each of its index entries whether it never passes.
    first : number of the first tick.
    walks : patterns that walk from page to page; the counts of their legs are made anew.
    """
    number_of = {id(m.flow): k for k, m in enumerate(moving)}
    walking = [(walk, [number_of[id(flow)] for flow in walk.flows]) for walk in walks]
    ticks, columns = moving[0].counts.shape
    flows = [m.flow for m in moving]
    shape = [len(lane.columns[0].buckets.level) for lane in lanes.values()]
    reached = [np.zeros((ticks, width)) for width in shape]
    served = [np.zeros((ticks, width)) for width in shape]
    refused: list[dict[Limit, Floats]] = [{} for _ in lanes]
    attempts = [np.zeros((ticks, columns)) for _ in moving]
    entries = [[np.zeros(cells.shape) for cells in m.entries] for m in moving]
    tallies = [
        None
        if c is None
        else Tally(
            np.zeros(ticks), np.zeros(ticks), np.zeros(ticks), {error: np.zeros(ticks) for error in c.error.values()}
        )
        for c in cohorts
    ]
    for t in range(ticks):
        due = [None if c is None else c.take_due(first + t, columns) for c in cohorts]
        fresh = [np.asarray(m.counts[t], dtype=float) for m in moving]
        dealt = [[np.asarray(cells[t], dtype=float) for cells in m.entries] for m in moving]
        tick = _Tick(lanes, flows, fresh, dealt, due, cohorts, passable, barred, groups, tick_s, walking, t)
        tick.balance()
        for index, lane in enumerate(lanes.values()):
            offer = tick.offers[index]
            lane.take(offer.served, tick.ratios[index], tick_s)
            reached[index][t], served[index][t] = tick.units[index], offer.served
            for limit, amount in offer.refused.items():
                refused[index].setdefault(limit, np.zeros((ticks, shape[index])))[t] = amount
        for k, tally in enumerate(tallies):
            attempts[k][t] = tick.totals[k]
            for e, cells in enumerate(entries[k]):
                cells[t] = tick.entries_of(k, e)
            if tally is not None:
                tick.close(k, tally, t, first + t)
        for walk, (leg, *_) in walking:
            walk.close(t, tick.admitted[tick.lane_of(leg)])
    outcomes = [
        LaneOutcome(Verdict(np.arange(width), served[i], refused[i]), reached[i]) for i, width in enumerate(shape)
    ]
    tried = [Moving.of(flow, a, e) for flow, a, e in zip(flows, attempts, entries, strict=True)]
    return Together(outcomes, tried, tallies)


class _Tick:
    """One tick's fixed point.

    Attributes
    ----------
    admitted : for each lane the share of attempts that each of its columns admits.
    totals : attempts of each leg by partition; ``numbered`` the same by number of the attempt, where it retries.
    units, ratios, offers : what reaches each lane, and what it would serve of that.
    """

    def __init__(
        self,
        lanes: Mapping[str, Lane],
        flows: Sequence[Flow],
        fresh: list[Floats],
        dealt: Sequence[Sequence[Floats]],
        due: Sequence[Floats | None],
        cohorts: Sequence[Cohorts | None],
        passable: Sequence[Floats],
        barred: Sequence[Sequence[bool]],
        groups: Sequence[Sequence[int]],
        tick_s: float,
        walking: Sequence[tuple[Walkers, list[int]]] = (),
        number: int = 0,
    ) -> None:
        self._walking = walking
        self._number = number
        self._lanes = list(lanes.values())
        place = {name: index for index, name in enumerate(lanes)}
        self._own = [place[flow.resource.name] for flow in flows]
        self._at = [[place[entry.resource.name] for entry in flow.entries] for flow in flows]
        self._flows = flows
        self._fresh = fresh
        self._dealt = dealt
        self._due = due
        self._cohorts = cohorts
        self._passable = passable
        self._barred = barred
        self._group_of = {k: group for group in groups for k in group}
        self._tick_s = tick_s
        widths = [len(lane.columns[0].buckets.level) for lane in self._lanes]
        self._no_quantum = [np.zeros(width) for width in widths]
        self._weighs = [
            any(flow.ceiling_ratio != 1.0 for flow, own in zip(flows, self._own, strict=True) if own == index)
            for index in range(len(widths))
        ]
        members = [1 + len(flow.entries) for flow in flows]
        members += [sum(flows[k].leg.items * (1 + len(flows[k].entries)) for k in group) for group in groups]
        self._members = max(members)
        self.admitted = [np.ones(width) for width in widths]
        self._reach = [1.0] * len(flows)  # of each leg's items the share that all else lets pass
        self._unsettled = 0.0  # how far that share was off when the attempts were counted with it
        self.granted = [1.0] * len(flows)
        self.final = [np.zeros(len(rows)) for rows in fresh]
        self.numbered: list[Floats | None] = [None] * len(flows)
        self.totals: list[Floats] = list(fresh)
        self.units: list[Floats] = []
        self.ratios: list[Floats | None] = []
        self.offers: list[Offer] = []

    def lane_of(self, k: int) -> int:
        """Number of a leg's own lane."""
        return self._own[k]

    # What the shares imply.

    def entries_of(self, k: int, e: int) -> Floats:
        """Index entries of a leg's attempts by partition of the index: those dealt to the first ones, and the law for the others."""
        dealt = self._dealt[k][e]
        if self._cohorts[k] is None:
            return dealt
        later = float(self.totals[k].sum()) - float(self._fresh[k].sum())
        entry = self._flows[k].entries[e]
        whole = float(entry.shares.sum())
        return dealt + entry.shares * (later * entry.probability / whole if whole > 0 else 0.0)

    def _admitted_here(self, k: int) -> float:
        """Share of a leg's items that its own partitions admit."""
        rows = self.totals[k]
        items = float(rows.sum())
        lost = float((rows * (1.0 - self.admitted[self._own[k]] * self._passable[k])).sum())
        return 1.0 - lost / items if items > 0 else 1.0

    def _admitted_there(self, k: int, e: int) -> float:
        """Share of a leg's items whose index entry is admitted, or that have none."""
        items = float(self.totals[k].sum())
        cells = self.entries_of(k, e)
        lost = (
            float(cells.sum()) if self._barred[k][e] else float((cells * (1.0 - self.admitted[self._at[k][e]])).sum())
        )
        return 1.0 - lost / items if items > 0 else 1.0

    def _shares(self) -> tuple[list[float], list[list[float]]]:
        """For each leg the share of its items that reach its partitions, and those of its entries, because all else lets them pass."""
        if self._members == 1:
            return [1.0] * len(self._flows), [[] for _ in self._flows]
        here = [self._admitted_here(k) for k in range(len(self._flows))]
        there = [[self._admitted_there(k, e) for e in range(len(at))] for k, at in enumerate(self._at)]
        reach, reach_entries = [], []
        for k in range(len(self._flows)):
            others = 1.0
            for j in self._group_of.get(k, ()):
                power = self._flows[j].leg.items - (1 if j == k else 0)
                others *= (here[j] * _product(there[j])) ** power
            reach.append(others * _product(there[k]))
            reach_entries.append(
                [
                    others * here[k] * _product([s for i, s in enumerate(there[k]) if i != e])
                    for e in range(len(there[k]))
                ]
            )
        return reach, reach_entries

    def passing(self, k: int) -> Floats:
        """Share of a leg's attempts that pass as a whole, by partition."""
        return np.asarray(self.admitted[self._own[k]] * self._passable[k] * self._reach[k])

    # The fixed point.

    def balance(self) -> None:
        """Find the shares; afterwards all that hangs on them belongs together.

        Whole steps are quick where one lane is short. Where lanes wait for each other they answer in turns or overshoot; then the next
        shares are extrapolated from the last ones (Anderson's acceleration, in logarithms).
        """
        if self._walking:
            self._balance_walks()
            return
        if self._is_one_short():
            return
        before = np.inf
        history: list[tuple[Floats, Floats]] | None = None
        for _ in range(_ROUNDS_MAX):
            target = self._respond()
            change = max(float(np.abs(a - b).max()) for a, b in zip(target, self.admitted, strict=True))
            if max(change, self._unsettled) < _PRECISION:
                self.admitted = target
                return
            if history is None and self._members > 1 and change > _SHRINKS * before:
                history = []
            before = change
            if history is None:
                self.admitted = target
                continue
            at = np.log(np.maximum(np.concatenate(self.admitted), _LEAST))
            off = np.log(np.maximum(np.concatenate(target), _LEAST)) - at
            if history and float(np.abs(off).max()) > _GROWS * float(np.abs(history[-1][1]).max()):
                history.clear()
            history.append((at, off))
            del history[:-_REMEMBERED]
            guess = np.exp(np.minimum(_extrapolated(history, 1.0 / self._members), 0.0))
            widths = np.cumsum([len(row) for row in self.admitted])[:-1]
            self.admitted = list(np.split(guess, widths))
        self._respond()

    def _is_one_short(self) -> bool:
        """Whether one lane alone is short of what is asked, the others having enough for what it lets pass; then the shares are found."""
        if self._members == 1 or self._group_of or any(cohorts is not None for cohorts in self._cohorts):
            return False
        ones = self.admitted
        full = self._respond()
        short = [index for index, row in enumerate(full) if (row < 1.0).any()]
        if not short:
            return True
        for index in short:
            if any((self._own[k] == index) + self._at[k].count(index) > 1 for k in range(len(self._flows))):
                continue  # a leg that meets it twice sees less of it than is asked
            self.admitted = [full[i] if i == index else row for i, row in enumerate(ones)]
            again = self._respond()
            if all((again[i] == self.admitted[i]).all() for i in range(len(again))):
                return True
        self.admitted = ones
        return False

    def _balance_walks(self) -> None:
        """The same where walks ask for less the more is refused.

        Their answer is far from linear: much is asked for where all is admitted, hardly anything where little is. So the step of a
        column is halved whenever it has gone too far, and grows again while it has not.
        """
        for walk, (leg, *_) in self._walking:
            own = self.admitted[self.lane_of(leg)]
            if walk.admitted is not None and len(walk.admitted) == len(own):
                self.admitted[self.lane_of(leg)] = np.minimum(own, walk.admitted)
        steps = [np.ones(len(row)) for row in self.admitted]
        before = [np.zeros(len(row)) for row in self.admitted]
        for _ in range(_ROUNDS_MAX):
            target = self._respond()
            if self._unsettled < _WALK_PRECISION and self._walks_are_settled(target):
                self.admitted = [np.where(new == 1.0, 1.0, old) for new, old in zip(target, self.admitted, strict=True)]
                break
            for index, new in enumerate(target):
                change = new - self.admitted[index]
                too_far = change * before[index] < 0
                steps[index] = np.where(too_far, steps[index] / 2, np.minimum(1.0, steps[index] * 1.1))
                before[index] = change
                self.admitted[index] = self.admitted[index] + steps[index] * change
        self._respond(whole=True)

    def _walks_are_settled(self, target: Sequence[Floats]) -> bool:
        """Whether the shares are right to a millionth of a unit; of less, they are made by rounding."""
        return all(
            float((np.abs(new - old) * np.minimum(1.0, units)).max()) < _WALK_PRECISION
            for new, old, units in zip(target, self.admitted, self.units, strict=True)
        )

    def _respond(self, *, whole: bool = False) -> list[Floats]:
        """The shares that the lanes admit of what reaches them at the present shares; ``whole``: of pages in whole grains."""
        for walk, legs in self._walking:
            own = self.admitted[self._own[legs[0]]]
            asked_here = walk.ask(self._number, own, [self._passable[k] for k in legs], whole=whole)
            for k, rows in zip(legs, asked_here, strict=True):
                self._fresh[k] = self.totals[k] = rows
        self._count_attempts()
        reach, reach_entries = self._shares()
        self._unsettled = max(abs(a - b) for a, b in zip(reach, self._reach, strict=True))
        self._reach = reach
        asked: list[list[tuple[Floats, float]]] = [[] for _ in self._lanes]
        for k, flow in enumerate(self._flows):
            mine = self.totals[k] * self._passable[k] * (flow.units * reach[k])
            asked[self._own[k]].append((mine, flow.ceiling_ratio))
            for e, entry in enumerate(flow.entries):
                if self._barred[k][e]:
                    continue
                asked[self._at[k][e]].append((self.entries_of(k, e) * (entry.units * reach_entries[k][e]), 1.0))
        self.units, self.ratios, self.offers = [], [], []
        answer = []
        for index, lane in enumerate(self._lanes):
            units = (
                floor_grains(np.sum([rows for rows, _ in asked[index]], axis=0))
                if asked[index]
                else self._no_quantum[index]
            )
            ratio = None
            if self._weighs[index]:
                weighed = np.sum([rows * by for rows, by in asked[index]], axis=0)
                ratio = np.divide(weighed, units, out=np.ones_like(units), where=units > 0)
            offer = lane.offer(units, ratio, self._no_quantum[index], self._tick_s)
            self.units.append(units)
            self.ratios.append(ratio)
            self.offers.append(offer)
            answer.append(np.divide(offer.served, units, out=np.ones_like(units), where=units > 0))
        self._judge()
        return answer

    # Retries.

    def _count_attempts(self) -> None:
        if all(cohorts is None for cohorts in self._cohorts):
            return
        self._reach, _ = self._shares()
        for k, cohorts in enumerate(self._cohorts):
            if cohorts is None:
                continue
            rows = np.zeros((cohorts.attempts_max, len(self._fresh[k])))
            rows[0] = self._fresh[k]
            due = self._due[k]
            assert due is not None, "cohorts have what is due"
            passing = self.passing(k)
            again = (1 - passing) * (1 - self.final[k]) * self.granted[k]
            for n in range(1, cohorts.attempts_max):
                rows[n] = due[n - 1] + rows[n - 1] * again * cohorts.at_once[n - 1]
            rows = grains(rows)
            self.numbered[k] = rows
            self.totals[k] = rows.sum(axis=0)

    def _judge(self) -> None:
        """What share of the refusals is final, and what share of the retries the quotas grant."""
        for k, cohorts in enumerate(self._cohorts):
            if cohorts is None:
                continue
            final = np.zeros(len(self._fresh[k]))
            index = self._own[k]
            missing = self.units[index] - self.offers[index].served
            for limit, amount in self.offers[index].refused.items():
                if cohorts.final[limit]:
                    final += np.divide(amount, missing, out=np.zeros_like(missing), where=missing > 0)
            self.final[k] = np.minimum(final, 1.0)
            if cohorts.quota is not None:
                self.granted[k] = cohorts.quota.granted_fraction(*self._flows_of(k), cohorts.cost)

    def _flows_of(self, k: int) -> tuple[float, float, float]:
        """Retries wanted, and requests served without and after a retry."""
        rows = self.numbered[k]
        assert rows is not None, "cohorts are numbered"
        passing = self.passing(k)
        refused = rows * (1 - passing) * (1 - self.final[k])
        given = rows * passing
        return float(refused[:-1].sum()), float(given[0].sum()), float(given[1:].sum())

    def close(self, k: int, tally: Tally, t: int, tick: int) -> None:
        """Write down what became of a leg, and send back what returns in later ticks."""
        cohorts, rows = self._cohorts[k], self.numbered[k]
        assert cohorts is not None, "only retries are tallied"
        assert rows is not None, "cohorts are numbered"
        refused = rows * (1 - self.passing(k))
        again = refused * (1 - self.final[k]) * self.granted[k]
        if cohorts.quota is not None:
            wanted, unretried, retried = self._flows_of(k)
            cohorts.quota.settle(wanted * self.granted[k], unretried, retried, cohorts.cost)
        for n in range(1, cohorts.attempts_max):
            cohorts.send_back(tick, n, again[n - 1])
        again[-1] = 0.0
        tally.attempts[t] = rows.sum()
        tally.throttled[t] = grains(refused.sum(axis=1)).sum()
        tally.succeeded[t] = tally.attempts[t] - tally.throttled[t]
        given_up = float((refused - again).sum())
        lost: dict[Limit, float] = {}
        for index in dict.fromkeys([self._own[k], *self._at[k]]):
            for limit, amount in self.offers[index].refused.items():
                lost[limit] = lost.get(limit, 0.0) + float(amount.sum())
        whole = sum(lost.values())
        shares = {limit: amount / whole for limit, amount in lost.items()} if whole > 0 else {Limit.KEY_RANGE: 1.0}
        for limit, share in shares.items():
            tally.failed[cohorts.error[limit]][t] += float(grains(np.array(given_up * share)))


def _product(shares: Sequence[float]) -> float:
    product = 1.0
    for share in shares:
        product *= share
    return product


def _extrapolated(history: Sequence[tuple[Floats, Floats]], step: float) -> Floats:
    """The next place, given the last ones and how far each was off: where a linear law through them would not be off at all."""
    at, off = history[-1]
    if len(history) == 1:
        return np.asarray(at + step * off)
    moves = np.array([at - a for a, _ in history[:-1]]).T
    changes = np.array([off - f for _, f in history[:-1]]).T
    weights, *_ = np.linalg.lstsq(changes, off, rcond=1e-10)
    return np.asarray(at + step * off - (moves + step * changes) @ weights)
