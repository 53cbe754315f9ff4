"""How many partitions a table or index starts with."""

from __future__ import annotations

import math

from sim.limits import (
    ON_DEMAND_HEADROOM_FACTOR,
    ON_DEMAND_PARTITIONS,
    PARTITION_BYTES_MAX,
    PARTITION_READ_PER_S,
    PARTITION_WRITE_PER_S,
)
from sim.names import Mode


def by_provisioned(read_capacity: float, write_capacity: float) -> int:
    """Partitions for a provisioned rate: reads and writes add up (F-PART-3)."""
    return math.ceil(read_capacity / PARTITION_READ_PER_S + write_capacity / PARTITION_WRITE_PER_S - 1e-9)


def by_throughput(read_per_s: float, write_per_s: float) -> int:
    """Partitions for a warm throughput or a peak: the greater of reads and writes (F-WARM-4)."""
    return math.ceil(max(read_per_s / PARTITION_READ_PER_S, write_per_s / PARTITION_WRITE_PER_S) - 1e-9)


def by_size(storage_bytes: float) -> int:
    """Partitions for an amount of data (F-PART-3)."""
    return math.ceil(storage_bytes / PARTITION_BYTES_MAX)


def initial_partitions(
    *,
    mode: Mode,
    read_capacity: float = 0.0,
    write_capacity: float = 0.0,
    warm_read: float = 0.0,
    warm_write: float = 0.0,
    previous_peak_read: float = 0.0,
    previous_peak_write: float = 0.0,
    storage_bytes: float = 0.0,
) -> int:
    """Partitions of a new table or index: the largest number that any of its sizes asks for (contract, ``partitions``)."""
    base = ON_DEMAND_PARTITIONS if mode is Mode.ON_DEMAND else by_provisioned(read_capacity, write_capacity)
    room = ON_DEMAND_HEADROOM_FACTOR
    return max(
        1,
        base,
        by_throughput(warm_read, warm_write),
        by_throughput(room * previous_peak_read, room * previous_peak_write),
        by_size(storage_bytes),
    )
