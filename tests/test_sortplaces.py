"""Sort keys of all entity types lie on one scale, in the order in which DynamoDB compares them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.small import scenario

from sim.keyspace.building import KeySpace, KeySpec
from sim.keyspace.position import SORT_SPACE
from sim.keyspace.spread import SortSpread

FIELDS = {
    "user": {"kind": "uniform", "count": 10},
    "item": {"kind": "zipf", "count": 300, "exponent": 1.0},
    "name": {"kind": "choice", "weights": {"b": 1, "é": 1, "a": 2}},
    "big": {"kind": "uniform", "count": 10**12},
    "seq": {"kind": "sequence"},
    "shard": {"kind": "hash", "of": "user", "count": 4},
    "hour": {"kind": "clock", "format": "%H"},
}


def sorts(*sks: str, pk: str = "PK", at_s: float = 0.0, **where: str) -> list[SortSpread]:
    specs = [KeySpec(pk, sk, tuple(sorted(where.items()))) for sk in sks]
    space = KeySpace(scenario(fields=FIELDS, table={"pk": "PK"}, duration="3h"), specs)
    return [space.spread(spec, at_s).sort for spec in specs]


@given(st.integers(0, 299))
def test_a_constant_lies_where_its_template_puts_the_value(value: int) -> None:
    template, constant = sorts("ITEM#{item}", f"ITEM#{value}")
    assert constant.is_point
    assert constant.low[0] == template.low[value]


@given(st.integers(0, 299))
def test_a_fixed_field_lies_where_the_free_one_puts_the_value(value: int) -> None:
    specs = [KeySpec("PK", "ITEM#{item}"), KeySpec("PK", "ITEM#{item}", (("item", str(value)),))]
    space = KeySpace(scenario(fields=FIELDS, table={"pk": "PK"}), specs)
    free, fixed = (space.spread(spec, 0.0).sort for spec in specs)
    assert fixed.is_point
    assert fixed.low[0] == free.low[value]


def test_entity_types_share_one_scale_in_the_order_of_their_bytes() -> None:
    profile, order, address = sorts("PROFILE", "ORDER#{item}", "ADDRESS#{name}")
    assert address.high.max() < order.low.min()
    assert order.high.max() < profile.low.min()


def test_numbers_are_in_the_order_of_numbers_and_names_in_that_of_bytes() -> None:
    item, name = sorts("ITEM#{item}", "NAME#{name}")
    assert (np.diff(item.low) > 0).all()
    assert item.shares[0] == item.shares.max()
    assert name.shares.tolist() == [0.5, 0.25, 0.25]  # a before b before é


def test_one_scale_serves_all_patterns_of_the_resource() -> None:
    alone = sorts("ORDER#{item}")[0]
    beside = sorts("ORDER#{item}", "PROFILE")[0]
    assert alone.low[0] == beside.low[0]
    assert alone.low[-1] > beside.low[-1]


@pytest.mark.parametrize("sk", ["{seq}", "MSG#{seq}", "{hour}#{seq}"])
def test_a_sequence_moves_along_the_sort_key(sk: str) -> None:
    (sort,) = sorts(sk)
    assert sort.moving
    assert sort.is_point


def test_a_nested_field_lies_within_the_outer_value() -> None:
    (sort,) = sorts("{user}#{name}")
    assert len(sort.low) == 30
    assert (np.diff(sort.low) > 0).all()
    np.testing.assert_allclose(sort.shares, np.tile([0.05, 0.025, 0.025], 10))


def test_values_too_many_to_list_lie_evenly_behind_the_listed_ones() -> None:
    (sort,) = sorts("{big}")
    assert not sort.is_point
    assert sort.below(SORT_SPACE // 2) == pytest.approx(0.5)


def test_a_field_that_the_partition_key_fixes_leaves_one_item_in_each_collection() -> None:
    for pk, sk in (("{user}", "S#{user}"), ("{user}", "S#{shard}"), ("{user}#{item}", "S#{user}#{item}")):
        specs = [KeySpec(pk, sk)]
        space = KeySpace(scenario(fields=FIELDS, table={"pk": "PK"}), specs)
        assert space.spread(specs[0], 0.0).sort.is_point, (pk, sk)


def test_a_later_hour_lies_after_an_earlier_one() -> None:
    specs = [KeySpec("PK", "{hour}#{name}")]
    space = KeySpace(scenario(fields=FIELDS, table={"pk": "PK"}, duration="3h"), specs)
    first, second = (space.spread(specs[0], at_s).sort for at_s in (0.0, 3600.0))
    assert first.high.max() <= second.low.min()


@given(
    st.sampled_from(["ITEM#{item}", "{user}#{name}", "{big}", "{name}#{big}", "{item}#{user}", "A", "{hour}#{user}"]),
    st.lists(st.integers(0, SORT_SPACE), min_size=2, max_size=20),
)
def test_the_share_below_a_place_never_falls_and_ends_at_one(sk: str, places: list[int]) -> None:
    (sort,) = sorts(sk)
    below = [sort.below(place) for place in sorted(places)]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(below))
    assert sort.below(0) == 0.0
    assert sort.below(SORT_SPACE) == pytest.approx(1.0)
    assert ((sort.low >= 0) & (sort.low < SORT_SPACE) & (sort.high <= SORT_SPACE) & (sort.high >= sort.low)).all()
    assert (sort.high[:-1] <= sort.low[1:]).all()
