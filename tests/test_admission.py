"""Three eras of admission and on-demand: which gates stand before the partitions, and what a split does to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.calibration import calibrate
from sim.names import AdmissionPolicy, Dimension, Limit, Mode
from sim.partitions.admission import Capacity, ceilings_per_s, make_lane, share_gate, split_lane
from sim.partitions.lane import Lane


def lane(
    policy: AdmissionPolicy = AdmissionPolicy.INSTANT,
    partitions: int = 4,
    dimension: Dimension = Dimension.WRITE,
    **capacity: float | None,
) -> Lane:
    given_ = Capacity(**capacity)  # type: ignore[arg-type]
    mode = Mode.ON_DEMAND if given_.provisioned is None else Mode.PROVISIONED
    return make_lane(
        dimension, mode=mode, policy=policy, capacity=given_, partitions=partitions, calibration=calibrate()
    )


def gates(lane: Lane) -> list[tuple[Limit, list[float], list[float], list[float]]]:
    return [
        (g.limit, g.buckets.rate_per_s.tolist(), g.buckets.depth.tolist(), g.buckets.level.tolist())
        for g in [*lane.totals, *lane.columns]
    ]


def test_instant_admission_has_one_bucket_for_the_table() -> None:
    assert gates(lane(provisioned=400.0, partitions=2)) == [
        (Limit.PROVISIONED, [400.0], [120_000.0], [120_000.0]),
        (Limit.KEY_RANGE, [1000.0] * 2, [1000.0] * 2, [1000.0] * 2),
    ]


@pytest.mark.parametrize("policy", [AdmissionPolicy.STATIC, AdmissionPolicy.ADAPTIVE_2017])
def test_the_older_eras_give_each_partition_its_part(policy: AdmissionPolicy) -> None:
    assert gates(lane(policy, provisioned=400.0)) == [
        (Limit.PROVISIONED, [100.0] * 4, [30_000.0] * 4, [30_000.0] * 4),
        (Limit.KEY_RANGE, [1000.0] * 4, [1000.0] * 4, [1000.0] * 4),
    ]


def test_on_demand_has_the_quota_and_the_users_maximum() -> None:
    assert gates(lane(partitions=1, quota=40_000.0, maximum=500.0, dimension=Dimension.READ)) == [
        (Limit.ACCOUNT, [40_000.0], [40_000.0], [40_000.0]),
        (Limit.MAX_ON_DEMAND, [500.0], [500.0], [500.0]),
        (Limit.KEY_RANGE, [3000.0], [3000.0], [3000.0]),
    ]
    assert [limit for limit, *_ in gates(lane())] == [Limit.KEY_RANGE]


@pytest.mark.parametrize(("fraction", "seconds"), [(1.0, 300), (0.5, 150), (1 / 300, 1), (0.003, 1), (0.0, 1)])
@pytest.mark.parametrize("policy", AdmissionPolicy)
def test_a_bucket_starts_with_its_fraction_but_never_below_a_second(
    policy: AdmissionPolicy, fraction: float, seconds: float
) -> None:
    made = lane(policy, provisioned=80.0, burst_fraction=fraction)
    (gate,) = [g for g in [*made.totals, *made.columns] if g.limit is Limit.PROVISIONED]
    assert float(gate.buckets.level.sum()) == pytest.approx(80.0 * seconds, abs=1e-5)


@given(st.floats(1, 40_000), st.integers(1, 20), st.lists(st.integers(0, 19), max_size=6))
def test_parts_sum_to_the_provisioned_rate_after_any_splits(rate: float, partitions: int, columns: list[int]) -> None:
    made = lane(AdmissionPolicy.STATIC, partitions, provisioned=rate)
    gate = share_gate(made)
    assert gate is not None
    for column in columns:
        before = float(gate.buckets.level.sum())
        split_lane(made, column % partitions, rate)
        partitions += 1
        assert len(gate.buckets.rate_per_s) == partitions
        assert float(gate.buckets.rate_per_s.sum()) == pytest.approx(rate)
        assert float(gate.buckets.level.sum()) <= before  # a split brings no tokens
        assert (gate.buckets.level <= gate.buckets.depth).all()


def test_each_half_has_a_whole_ceiling_filled_as_its_parents_was() -> None:
    made = lane(partitions=2, provisioned=10.0)
    ceilings = made.columns[-1].buckets
    ceilings.level[:] = [100.0, 700.0]
    split_lane(made, 0, 10.0)
    assert ceilings.rate_per_s.tolist() == [1000.0] * 3
    assert ceilings.level.tolist() == [100.0, 100.0, 700.0]


def test_a_split_leaves_the_tables_bucket_alone() -> None:
    made = lane(partitions=2, provisioned=10.0)
    split_lane(made, 1, 10.0)
    assert gates(made)[0] == (Limit.PROVISIONED, [10.0], [3000.0], [3000.0])


def test_what_a_table_can_serve_is_its_ceilings_under_quota_and_maximum() -> None:
    assert ceilings_per_s(lane(partitions=4)) == 4000
    assert ceilings_per_s(lane(partitions=50, quota=40_000.0)) == 40_000
    assert ceilings_per_s(lane(partitions=4, quota=40_000.0, maximum=500.0)) == 500
    assert np.isclose(ceilings_per_s(lane(partitions=3, dimension=Dimension.READ)), 9000)
