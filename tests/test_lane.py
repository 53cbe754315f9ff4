"""Lanes: the closed forms equal the plain walk to the bit, nothing is lost, and every no has the right reason."""

from __future__ import annotations

import copy
import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.attempts import ExactBucket, ExactTable

from sim.names import Dimension, Limit
from sim.partitions.bucket import GRAIN, Buckets
from sim.partitions.lane import Demand, Gate, Lane, Verdict

Floats = np.ndarray


def lane_of(
    ceilings: list[float],
    *,
    share: float | None = None,
    totals: list[tuple[Limit, float, float]] = [],  # noqa: B006 - only read
    debt: bool = False,
) -> Lane:
    columns = [Gate(Limit.KEY_RANGE, Buckets(np.array(ceilings), 1), by_ceiling=True)]
    if share is not None:
        columns.insert(0, Gate(Limit.PROVISIONED, Buckets(np.full(len(ceilings), share), 300)))
    gates = [Gate(limit, Buckets(np.array([rate]), depth_s)) for limit, rate, depth_s in totals]
    return Lane(Dimension.WRITE, columns, gates, debt=debt)


def levels(lane: Lane) -> list[list[float]]:
    return [gate.buckets.level.tolist() for gate in [*lane.columns, *lane.totals]]


def in_full(verdict: Verdict | None, demand: Demand) -> tuple[Floats, dict[Limit, Floats]]:
    """Served and refused units over all columns."""
    served, refused = demand.units.copy(), {}
    if verdict is not None:
        served[:, verdict.columns] = verdict.served
        for limit, amount in verdict.refused.items():
            refused[limit] = np.zeros_like(served)
            refused[limit][:, verdict.columns] = amount
    return served, {limit: amount for limit, amount in refused.items() if amount.any()}


@st.composite
def lanes(draw: st.DrawFn, debt: bool | None = None) -> Lane:
    columns = draw(st.sampled_from([1, 2, 5, 14]))
    ceiling = draw(st.sampled_from([10.0, 100.0, 1000.0]))
    totals = []
    if draw(st.booleans()):
        totals.append((Limit.ACCOUNT, draw(st.sampled_from([30.0, 250.0, 1e5])), 1))
    if draw(st.booleans()):
        totals.append((Limit.MAX_ON_DEMAND, draw(st.sampled_from([7.0, 200.5, 3000.0])), draw(st.sampled_from([1, 5]))))
    share = draw(st.none() | st.sampled_from([3.0, 33.25]))
    if share is None and draw(st.booleans()):  # a provisioned rate is either whole or in parts
        totals.append((Limit.PROVISIONED, draw(st.sampled_from([5.0, 100.0, 900.0])), 300))
    lane = lane_of([ceiling] * columns, share=share, totals=totals, debt=draw(st.booleans()) if debt is None else debt)
    for gate in [*lane.columns, *lane.totals]:  # somewhere in their lives
        part = np.array([draw(st.sampled_from([0.0, 0.01, 0.5, 1.0])) for _ in gate.buckets.level])
        gate.buckets.level = np.floor(gate.buckets.level * part / GRAIN) * GRAIN
        if debt and draw(st.booleans()):
            gate.buckets.level = gate.buckets.level - 50
    return lane


RATIOS = [1.0, 2 / 3, 5 / 6, 1 / 3]


@st.composite
def demands(draw: st.DrawFn, columns: int, ticks: int | None = None) -> Demand:
    """Whole attempts: of one cost in a column (a quantum), or of several."""
    ticks = ticks or draw(st.integers(1, 12))
    costs = np.array([draw(st.sampled_from([0.5, 1.0, 3.0, 7.5, 20.0])) for _ in range(columns)])
    if draw(st.booleans()):
        costs[:] = costs[0]
    seed = draw(st.integers(0, 2**32))
    load = draw(st.sampled_from([0.5, 10, 100, 1000]))
    rng = np.random.default_rng(seed)
    units = rng.poisson(load / costs * rng.choice([0, 1, 1, 3], size=(ticks, columns))) * costs
    quantum = np.where(rng.random(columns) < draw(st.sampled_from([0.0, 0.7, 1.0])), costs, 0.0)
    ratio = None
    if draw(st.booleans()):
        ratio = rng.choice(RATIOS, size=(ticks, columns))
    return Demand(units, ratio, quantum)


@st.composite
def lanes_with_demands(draw: st.DrawFn) -> tuple[Lane, Demand]:
    lane = draw(lanes(debt=draw(st.booleans())))
    return lane, draw(demands(len(lane.columns[0].buckets.level)))


TICKS = st.sampled_from([1.0, 0.5, 0.1, 60.0])


@pytest.mark.parametrize("columns", [1, 12, 13])
@pytest.mark.parametrize("quanta", [0.0, 0.5, 1.0])
def test_a_few_dry_partitions_are_walked_as_many_are(columns: int, quanta: float) -> None:
    """One gate and plain costs: the quick walk of up to 12 columns in plain numbers, the walk in arrays beyond."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        costs = rng.choice([0.5, 3.0, 7.0, 7.5, 20.0], size=columns)
        units = rng.poisson(130 / costs, size=(30, columns)) * costs
        demand = Demand(units, None, np.where(rng.random(columns) < quanta, costs, 0.0))
        lane = lane_of([100.0] * columns)
        lane.columns[0].buckets.level[:] = 0.0
        plain = copy.deepcopy(lane)
        served, _ = in_full(lane.settle(demand, 1.0), demand)
        wanted, refused = in_full(plain.settle_plainly(demand, 1.0), demand)
        assert refused
        assert served.tolist() == wanted.tolist()
        assert levels(lane) == levels(plain)


@given(lanes_with_demands(), TICKS)
def test_settling_a_stretch_equals_settling_it_plainly(given_: tuple[Lane, Demand], tick_s: float) -> None:
    lane, demand = given_
    plain = copy.deepcopy(lane)
    served, refused = in_full(lane.settle(demand, tick_s), demand)
    wanted, wanted_refused = in_full(plain.settle_plainly(demand, tick_s), demand)
    assert served.tolist() == wanted.tolist()
    assert {k: v.tolist() for k, v in refused.items()} == {k: v.tolist() for k, v in wanted_refused.items()}
    assert levels(lane) == levels(plain)


@given(lanes_with_demands(), TICKS, st.lists(st.integers(1, 11), max_size=4))
def test_a_stretch_may_be_divided_anywhere(given_: tuple[Lane, Demand], tick_s: float, cuts: list[int]) -> None:
    lane, demand = given_
    pieces = copy.deepcopy(lane)
    served, refused = in_full(lane.settle(demand, tick_s), demand)
    edges = [0, *sorted({c for c in cuts if c < len(demand.units)}), len(demand.units)]
    parts = [demand.ticks(a, b) for a, b in itertools.pairwise(edges)]
    found = [in_full(pieces.settle(part, tick_s), part) for part in parts]
    assert np.concatenate([s for s, _ in found]).tolist() == served.tolist()
    for limit in {limit for _, r in found for limit in r} | set(refused):
        whole = np.concatenate([r.get(limit, np.zeros_like(p.units)) for (_, r), p in zip(found, parts, strict=True)])
        assert whole.tolist() == refused[limit].tolist()
    assert levels(pieces) == levels(lane)


@given(lanes_with_demands(), TICKS)
def test_what_is_asked_is_served_or_refused(given_: tuple[Lane, Demand], tick_s: float) -> None:
    lane, demand = given_
    served, refused = in_full(lane.settle(demand, tick_s), demand)
    assert (served >= 0).all()
    assert all((amount >= 0).all() for amount in refused.values())
    assert (served + sum(refused.values()) == demand.units).all()


@given(lanes_with_demands(), TICKS)
def test_knowing_beforehand_that_all_is_served_takes_nothing(given_: tuple[Lane, Demand], tick_s: float) -> None:
    lane, demand = given_
    before = levels(lane)
    debt = min(min(row) for row in before) < 0 or lane.largest_cost() == np.inf
    says = lane.serves_all(demand, tick_s)
    assert levels(lane) == before
    served, _ = in_full(lane.settle(demand, tick_s), demand)
    in_full_ = bool((served == demand.units).all())
    assert says == in_full_ or (not says and debt)  # a bucket in debt may be dry while nobody asks


@given(lanes(debt=False), st.data(), TICKS)
def test_no_bucket_gives_more_than_it_had_and_was_brought(lane: Lane, data: st.DataObject, tick_s: float) -> None:
    demand = data.draw(demands(len(lane.columns[0].buckets.level)))
    ticks = len(demand.units)
    column_room = [g.buckets.level + ticks * g.buckets.refill(tick_s) for g in lane.columns]
    total_room = [g.buckets.level + ticks * g.buckets.refill(tick_s) for g in lane.totals]
    served, _ = in_full(lane.settle(demand, tick_s), demand)
    for gate, room in zip(lane.columns, column_room, strict=True):
        ratio = demand.ceiling_ratio if demand.ceiling_ratio is not None and gate.by_ceiling else 1.0
        assert ((served * ratio).sum(axis=0) <= room + 2 * ticks * GRAIN).all()
    for room in total_room:
        assert served.sum() <= room[0]
    for gate in [*lane.columns, *lane.totals]:
        assert (gate.buckets.level >= 0).all()
        assert (gate.buckets.level <= gate.buckets.depth).all()


@given(lanes(debt=False), st.data())
def test_room_is_left_only_where_no_one_wants_it(lane: Lane, data: st.DataObject) -> None:
    """Water filling, one tick of fluid: refusals of a total mean that it is empty; of a partition, that the partition is."""
    demand = data.draw(demands(len(lane.columns[0].buckets.level), ticks=1))
    units = demand.units[0]
    offer = lane.offer(units, None, np.zeros(len(units)), 1.0)
    slack = (len(units) + 1) * GRAIN
    for gate in lane.totals:
        room = gate.buckets.level[0] + gate.buckets.refill(1.0)[0]
        assert offer.served.sum() <= room
        if gate.limit in offer.refused:
            assert offer.served.sum() >= room - slack
    if not any(gate.limit in offer.refused for gate in lane.totals):
        caps = np.min([g.buckets.level + g.buckets.refill(1.0) for g in lane.columns], axis=0)
        np.testing.assert_allclose(offer.served, np.minimum(units, caps), atol=slack)


@given(lanes(debt=False), st.data())
def test_attempts_of_one_cost_are_served_whole(lane: Lane, data: st.DataObject) -> None:
    cost = data.draw(st.sampled_from([0.5, 1.0, 3.0, 20.0]))
    columns = len(lane.columns[0].buckets.level)
    units = np.array([data.draw(st.integers(0, 200)) for _ in range(columns)]) * cost
    offer = lane.offer(units, None, np.full(columns, cost), 1.0)
    if set(offer.refused) <= {gate.limit for gate in lane.columns}:
        assert (offer.served % cost == 0).all()
    assert float(offer.served.sum()) % cost == pytest.approx(0, abs=columns * GRAIN) or float(
        offer.served.sum()
    ) % cost == pytest.approx(cost, abs=columns * GRAIN)


@pytest.mark.parametrize("seed", range(6))
def test_a_tick_serves_what_attempts_in_random_order_would_get(seed: int) -> None:
    """One cost, one tick: the count served is that of attempts one by one, to the last few that random order moves about."""
    rng = random.Random(seed)
    counts = [rng.randrange(0, 60) for _ in range(4)]
    room, ceiling = rng.randrange(20, 120), rng.randrange(10, 40)
    lane = lane_of([float(ceiling)] * 4, totals=[(Limit.ACCOUNT, float(room), 1)])
    for gate in [*lane.columns, *lane.totals]:
        gate.buckets.level[:] = 0  # the tick brings just what the buckets hold
    offer = lane.offer(np.array(counts, dtype=float), None, np.ones(4), 1.0)
    served, by_total = [], []
    for _ in range(300):
        attempts = [c for c, n in enumerate(counts) for _ in range(n)]
        rng.shuffle(attempts)
        table = ExactTable([ExactBucket(0.0, ceiling) for _ in counts], [("account", ExactBucket(0.0, room))])
        table.serve((0.0, [(c, 1.0)]) for c in attempts)
        served.append(table.consumed)
        by_total.append(table.refused.get("account", 0.0))
    assert offer.served.sum() == pytest.approx(np.mean(served), abs=0.5)
    assert offer.refused.get(Limit.ACCOUNT, np.zeros(1)).sum() == pytest.approx(np.mean(by_total), rel=0.1, abs=2)


def test_reasons_come_in_the_order_in_which_they_are_named() -> None:
    assert list(Limit) == [Limit.ACCOUNT, Limit.MAX_ON_DEMAND, Limit.PROVISIONED, Limit.KEY_RANGE]
    lane = lane_of([10.0, 1000.0], share=5.0)
    lane.columns[0].buckets.level[:] = 0
    lane.columns[1].buckets.level[:] = 0
    offer = lane.offer(np.array([20.0, 3.0]), None, np.zeros(2), 1.0)
    assert {limit: amount.tolist() for limit, amount in offer.refused.items()} == {Limit.PROVISIONED: [15.0, 0.0]}


def test_the_narrowest_total_is_the_one_that_refuses() -> None:
    lane = lane_of([1000.0], totals=[(Limit.ACCOUNT, 100.0, 1), (Limit.MAX_ON_DEMAND, 30.0, 1)])
    for gate in lane.totals:
        gate.buckets.level[:] = 0
    offer = lane.offer(np.array([150.0]), None, np.ones(1), 1.0)
    assert offer.served.tolist() == [30.0]
    assert {limit: amount.tolist() for limit, amount in offer.refused.items()} == {Limit.MAX_ON_DEMAND: [120.0]}


def test_a_refused_attempt_takes_tokens_nowhere() -> None:
    """A partition at its ceiling leaves the table's tokens to the others."""
    lane = lane_of([10.0, 1000.0], totals=[(Limit.PROVISIONED, 100.0, 1)])
    for gate in [*lane.columns, *lane.totals]:
        gate.buckets.level[:] = 0
    demand = Demand(np.array([[500.0, 85.0]]), None, np.ones(2))
    served, refused = in_full(lane.settle(demand, 1.0), demand)
    assert served.tolist() == [[10.0, 85.0]]
    assert {k: v.tolist() for k, v in refused.items()} == {Limit.KEY_RANGE: [[490.0, 0.0]]}
    assert lane.totals[0].buckets.level.tolist() == [5.0]


def test_scarce_units_go_to_all_attempts_alike() -> None:
    lane = lane_of([1000.0, 1000.0], totals=[(Limit.PROVISIONED, 100.0, 1)])
    lane.totals[0].buckets.level[:] = 0
    assert lane.offer(np.array([300.0, 100.0]), None, np.ones(2), 1.0).served.tolist() == [75.0, 25.0]


def test_eventual_reads_count_less_against_the_ceiling_alone() -> None:
    lane = lane_of([3000.0], totals=[(Limit.PROVISIONED, 1e5, 1)])
    lane.columns[0].buckets.level[:] = 0
    demand = Demand(np.array([[6000.0]]), np.array([[1 / 1.5]]), np.array([0.5]))
    served, _ = in_full(lane.settle(demand, 1.0), demand)
    assert served[0, 0] == pytest.approx(4500, abs=0.5)
    assert lane.totals[0].buckets.level[0] == 1e5  # refilled by far more than was taken


def test_a_cost_that_just_fits_a_ceiling_fits_in_either_form() -> None:
    """39 eventual reads of 8 KB at 2/3 and 14 strong ones of 4 KB are 40 ceiling units; their mean ratio carries a rounding error."""
    eventual, strong = 39, 14
    ratio = (eventual * (1 / 1.5) + strong) / (eventual + strong)
    demand = Demand(np.array([[float(eventual + strong)]]), np.array([[ratio]]), np.array([1.0]))
    for settle in (Lane.settle, Lane.settle_plainly):
        lane = lane_of([40.0])
        lane.columns[0].buckets.level[:] = 0
        assert settle(lane, demand, 1.0) is None


def test_an_attempt_above_what_the_table_ever_holds_never_passes() -> None:
    lane = lane_of([1000.0], totals=[(Limit.PROVISIONED, 1.0, 300)])
    assert lane.largest_cost() == 300.0
    assert lane_of([1000.0]).largest_cost() == np.inf


def test_with_debt_one_token_is_enough() -> None:
    lane = lane_of([1000.0], totals=[(Limit.PROVISIONED, 1.0, 300)], debt=True)
    lane.totals[0].buckets.level[:] = 0
    demand = Demand(np.array([[20.0], [0.0], [20.0]]), None, np.array([20.0]))
    served, _ = in_full(lane.settle(demand, 1.0), demand)
    assert served.tolist() == [[20.0], [0.0], [0.0]]
    assert lane.totals[0].buckets.level.tolist() == [-17.0]
