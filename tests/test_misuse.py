"""Designs, workloads and their combinations in wrong hands: numbers of other libraries, slips, and what no one means."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from models import designs, workloads

LONG = "x" * 3000


def message_of(made: Any, *arguments: Any, kind: type[Exception] = ValueError, **keys: Any) -> str:
    """What is said by the error that a wrong use raises: not by one from inside, and no longer than can be read."""
    with pytest.raises(kind) as caught:
        made(*arguments, **keys)
    text = str(caught.value)
    assert len(text) < 1200, text
    return text


# Parameters.


@pytest.mark.parametrize(
    "posts", [np.int64(3), np.uint8(3), np.float32(3), Fraction(3), Decimal(3), 3.0, np.array(3)], ids=repr
)
def test_a_whole_number_may_be_any_librarys(posts: Any) -> None:
    assert designs.bad_viral(posts=posts) == designs.bad_viral(posts=3)
    assert [type(one) for one in designs.bad_viral(posts=posts).fields["post"]["weights"]] == [str] * 3


@pytest.mark.parametrize("share", [np.float64(0.25), np.float32(0.25), Fraction(1, 4), Decimal("0.25")], ids=repr)
def test_a_number_may_be_any_librarys(share: Any) -> None:
    assert designs.bad_tenant(largest_share=share) == designs.bad_tenant(largest_share=0.25)


def test_what_a_parameter_becomes_is_pythons_own() -> None:
    load = workloads.bulk_load(items=np.int64(1000), items_per_s=np.float32(50), batch=np.int16(7))
    assert load == workloads.bulk_load(items=1000, items_per_s=50, batch=7)
    assert [type(need.keys["count"]) for need in load.needs[:2]] == [int, int]
    readings = workloads.time_series(item_bytes=np.int64(1500))
    assert {type(value) for value in readings.capacity.values()} == {str, float}
    assert type(readings.needs[0].keys["item_bytes"]) is int
    assert type(designs.projection(kind=np.str_("INCLUDE")).variant) is str
    assert designs.sparse(full=np.bool_(True)) == designs.sparse(full=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [True, np.bool_(True), None, np.array([3]), [3], object(), 10**400, -(10**5000), LONG, 3 + 0j, Decimal("sNaN")],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_all_else_is_refused_with_the_range_in_a_line(wrong: Any) -> None:
    for key, allowed in (
        ("posts", "a whole number from 2 to 100,000"),
        ("viral_share", "a number from 0.01 to 0.99"),
        ("likes", "'counter' or 'items'"),
    ):
        text = message_of(designs.bad_viral, **{key: wrong})
        assert text.startswith(f"{key} = ")
        assert text.endswith(f": must be {allowed}")
        assert len(text) < 130
    assert len(message_of(designs.sparse, full=LONG)) < 130
    assert len(message_of(designs.sparse().access, LONG)) < 130
