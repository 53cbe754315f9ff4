"""How many partitions a table starts with, on both sides of each border."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.keyspace.sizing import by_provisioned, by_size, by_throughput, initial_partitions
from sim.limits import GB_BYTES
from sim.names import Mode

RATES = st.floats(0, 200_000)


@pytest.mark.parametrize(
    ("read", "write", "count"),
    [(1, 1, 1), (1500, 500, 1), (1501, 500, 2), (3000, 0, 1), (3000, 1, 2), (3000, 1000, 2), (40_000, 40_000, 54)],
)
def test_provisioned_reads_and_writes_add_up(read: float, write: float, count: int) -> None:
    assert by_provisioned(read, write) == count


@pytest.mark.parametrize(
    ("read", "write", "count"), [(3000, 1000, 1), (3001, 1, 2), (1, 1001, 2), (40_000, 0, 14), (0, 40_000, 40)]
)
def test_throughput_takes_the_greater_of_reads_and_writes(read: float, write: float, count: int) -> None:
    assert by_throughput(read, write) == count


@pytest.mark.parametrize(("size", "count"), [(0, 0), (1, 1), (10 * GB_BYTES, 1), (10 * GB_BYTES + 1, 2)])
def test_a_partition_holds_ten_gigabytes(size: int, count: int) -> None:
    assert by_size(size) == count


def test_a_new_table_has_one_partition_or_on_demand_four() -> None:
    assert initial_partitions(mode=Mode.PROVISIONED, read_capacity=1, write_capacity=1) == 1
    assert initial_partitions(mode=Mode.ON_DEMAND) == 4


def test_twice_the_previous_peak_is_laid_out() -> None:
    assert initial_partitions(mode=Mode.ON_DEMAND, previous_peak_write=2000) == 4
    assert initial_partitions(mode=Mode.ON_DEMAND, previous_peak_write=2001) == 5
    assert initial_partitions(mode=Mode.ON_DEMAND, warm_write=4001) == 5


@given(RATES, RATES, RATES, RATES, st.floats(0, 10**13))
def test_every_size_asks_for_its_least_and_the_largest_is_taken(
    read: float, write: float, warm: float, peak: float, size: float
) -> None:
    asked = [by_provisioned(read, write), by_throughput(warm, 0), by_throughput(0, 2 * peak), by_size(size), 1]
    found = initial_partitions(
        mode=Mode.PROVISIONED,
        read_capacity=read,
        write_capacity=write,
        warm_read=warm,
        previous_peak_write=peak,
        storage_bytes=size,
    )
    assert found == max(asked)


@given(st.integers(1, 500))
def test_a_whole_number_of_ceilings_needs_no_partition_more(count: int) -> None:
    assert by_throughput(3000.0 * count, 1000.0 * count) == count
    assert by_provisioned(0.1 * 3 * 10_000 * count, 0) == count  # 0.1 * 3 is a little over 0.3
