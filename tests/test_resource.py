"""A table as one thing: splits keep what is stored, and what the control plane sees is what was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import spreads

from sim.calibration import calibrate
from sim.keyspace.cutting import Load
from sim.keyspace.hashing import HASH_SPACE
from sim.keyspace.position import Position
from sim.keyspace.spread import even
from sim.names import TABLE, AdmissionPolicy, Dimension, Limit, Mode
from sim.partitions.admission import Capacity
from sim.partitions.map import PartitionMap
from sim.partitions.resource import Resource


def resource(
    partitions: int = 2, policy: AdmissionPolicy = AdmissionPolicy.INSTANT, mode: Mode = Mode.PROVISIONED
) -> Resource:
    capacity = Capacity(provisioned=100.0) if mode is Mode.PROVISIONED else Capacity(quota=40_000.0)
    return Resource(
        name=TABLE,
        mode=mode,
        policy=policy,
        capacity=dict.fromkeys(Dimension, capacity),
        calibration=calibrate(),
        partitions=PartitionMap.equal(partitions),
        pinned=False,
        warm_per_s=dict.fromkeys(Dimension, 0.0),
    )


def middle(table: Resource, number: int) -> Position:
    whole = table.partitions.range_of(number)
    return Position((whole.low.hash + whole.high.hash) // 2, 0)


@given(
    st.lists(st.tuples(spreads(), st.floats(0.1, 10)), min_size=1, max_size=3),
    st.floats(0, 1e13),
    st.lists(st.integers(0, 100), max_size=6),
    st.sampled_from(AdmissionPolicy),
)
def test_splits_keep_what_is_stored_as_it_lies(
    loads: list[Load], size: float, choices: list[int], policy: AdmissionPolicy
) -> None:
    table = resource(3, policy)
    table.store(size, loads)
    for k, choice in enumerate(choices):
        number = table.partitions.serving[choice % len(table.partitions)]
        table.split(number, middle(table, number), 60.0 * k)
    cuts = table.partitions.cuts
    total = sum(weight for _, weight in loads)
    wanted = sum(weight / total * spread.shares_of(cuts) for spread, weight in loads) * size
    np.testing.assert_allclose(table.stored_bytes, wanted, atol=1e-6 * size + 1e-9)
    assert table.version == len(choices)
    for lane in table.lanes.values():
        for gate in lane.columns:
            assert len(gate.buckets.level) == len(table.partitions)
            if gate.limit is Limit.KEY_RANGE:
                assert len(set(gate.buckets.rate_per_s)) == 1  # ceilings are whole
            else:
                assert gate.buckets.rate_per_s.sum() == pytest.approx(100.0)


def test_without_known_keys_data_lies_evenly() -> None:
    table = resource(4)
    table.store(400.0, [])
    assert table.stored_bytes.tolist() == pytest.approx([100.0] * 4)
    table.split(0, Position(HASH_SPACE // 16, 0), 0.0)
    assert table.stored_bytes.tolist() == pytest.approx([25.0, 75.0, 100.0, 100.0, 100.0])


def test_loads_of_a_source_add_up_and_lie_where_they_were_last() -> None:
    table = resource()
    first, later = even(), even(0, 100)
    for spread, units in ((first, 5.0), (later, 7.0)):
        table.note_load(Dimension.READ, "reads", spread, units)
    assert table.take_loads() == {Dimension.READ: {"reads": (later, 12.0)}, Dimension.WRITE: {}}
    assert table.take_loads() == {Dimension.READ: {}, Dimension.WRITE: {}}


def test_looking_begins_anew() -> None:
    table = resource()
    table.observed[Dimension.WRITE].consumed[:] = [3.0, 4.0]
    table.observed_s = 60.0
    seen, seconds = table.take_observed()
    assert (seen[Dimension.WRITE].consumed.tolist(), seconds) == ([3.0, 4.0], 60.0)
    seen, seconds = table.take_observed()
    assert (seen[Dimension.WRITE].consumed.tolist(), seconds) == ([0.0, 0.0], 0.0)


@pytest.mark.parametrize(
    ("mode", "policy", "splits"),
    [
        (Mode.ON_DEMAND, AdmissionPolicy.INSTANT, True),
        (Mode.PROVISIONED, AdmissionPolicy.INSTANT, True),
        (Mode.PROVISIONED, AdmissionPolicy.STATIC, False),
        (Mode.PROVISIONED, AdmissionPolicy.ADAPTIVE_2017, False),
    ],
)
def test_split_for_heat_belongs_to_today(mode: Mode, policy: AdmissionPolicy, splits: bool) -> None:
    assert resource(2, policy, mode).splits_for_heat == splits


def test_capacity_is_what_is_provisioned_or_what_the_partitions_give() -> None:
    assert resource(7).capacity_per_s(Dimension.WRITE) == 100.0
    on_demand = resource(7, mode=Mode.ON_DEMAND)
    assert on_demand.capacity_per_s(Dimension.WRITE) == 7000.0
    on_demand.split(0, middle(on_demand, 0), 0.0)
    assert on_demand.capacity_per_s(Dimension.WRITE) == 8000.0
