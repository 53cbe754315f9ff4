"""Numbers that AWS publishes, each with its unit in the name and its fact id beside it. What AWS does not publish is in `calibration`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sim.names import Dimension

# Sizes. F-UNIT-1: KB, MB and GB are binary.
KB_BYTES = 1024
MB_BYTES = 1024 * KB_BYTES
GB_BYTES = 1024 * MB_BYTES

READ_UNIT_BYTES = 4 * KB_BYTES  # F-UNIT-1
WRITE_UNIT_BYTES = 1 * KB_BYTES  # F-UNIT-1
EVENTUAL_READ_FACTOR = 0.5  # F-UNIT-2
STRONG_READ_FACTOR = 1.0  # F-UNIT-2
TRANSACTION_FACTOR = 2.0  # F-UNIT-2, reads and writes
PAGE_BYTES = 1 * MB_BYTES  # F-UNIT-10
ITEM_BYTES_MAX = 400 * KB_BYTES  # F-UNIT-17, names included
PARTITION_KEY_BYTES_MAX = 2048  # F-UNIT-17
SORT_KEY_BYTES_MAX = 1024  # F-UNIT-17
STORAGE_OVERHEAD_BYTES = 100  # F-UNIT-16, billed per item, costs no units
GLOBAL_TABLE_OVERHEAD_BYTES = 48  # F-UNIT-16
BATCH_WRITE_ITEMS_MAX = 25  # F-UNIT-18
BATCH_GET_ITEMS_MAX = 100  # F-UNIT-18
BATCH_BYTES_MAX = 16 * MB_BYTES  # F-UNIT-18
TOKEN_VALID_S = 600.0  # F-TX-1: of a transaction's idempotency token
TRANSACTION_ITEMS_MAX = 100  # F-UNIT-18
TRANSACTION_BYTES_MAX = 4 * MB_BYTES  # F-UNIT-18

# Partitions.
PARTITION_READ_PER_S = 3000  # F-PART-1
PARTITION_WRITE_PER_S = 1000  # F-PART-1
PARTITION_BYTES_MAX = 10 * GB_BYTES  # F-PART-1
ITEM_COLLECTION_BYTES_MAX = 10 * GB_BYTES  # F-LSI-2: of a table with a local secondary index, its entries counted
CEILING_PER_S = {Dimension.READ: float(PARTITION_READ_PER_S), Dimension.WRITE: float(PARTITION_WRITE_PER_S)}
CEILING_BURST_S = 1  # design: a partition's bucket is one second deep, so one aligned second may show twice the ceiling
ON_DEMAND_PARTITIONS = 4  # F-PART-4

# Provisioned capacity.
BURST_WINDOW_S = 300  # F-ADM-2
PROVISIONED_MIN_UNITS = 1  # F-PROV-1
DECREASES_BANKED_MAX = 4  # F-PROV-2: at the start of each UTC day, and never more
DECREASE_EVERY_S = 3600  # F-PROV-2: one more each hour
MODE_SWITCHES_MAX = 4  # F-PROV-4, provisioned to on-demand
MODE_SWITCH_WINDOW_S = 86_400  # F-PROV-4, rolling

# Auto scaling.
SCALE_OUT_MINUTES = 2  # F-AS-1, consecutive
SCALE_IN_MINUTES = 15  # F-AS-2, consecutive
SCALE_IN_BELOW = 0.2  # F-AS-2: the low threshold lies so far under the target

MINUTE_S = 60  # F-CW-1: the finest step of the service's metrics

# Quotas.
TABLE_QUOTA_READ_PER_S = 40_000  # F-PROV-1, F-OD-6
TABLE_QUOTA_WRITE_PER_S = 40_000  # F-PROV-1, F-OD-6
ACCOUNT_QUOTA_READ_PER_S = 80_000  # F-PROV-1, provisioned tables only
ACCOUNT_QUOTA_WRITE_PER_S = 80_000  # F-PROV-1, provisioned tables only
QUOTA_BURST_S = 1  # contract, [account]: an on-demand table's quota is a one-second bucket
GSI_MAX = 20  # F-GSI-2
LSI_MAX = 5  # F-LSI-1

# DAX nodes: memory and requests per second of each type. F-DAX-5 (measured, second hand); the memory of the types that it leaves out is
# that of their instances, and dax.t3.small's rate is a fifth of dax.r5.large's, as its baseline is (inferred).
_GIB = 2**30
DAX_NODES: Mapping[str, tuple[int, float]] = MappingProxyType(
    {
        "dax.t3.small": (2 * _GIB, 15_000.0),
        "dax.r5.large": (16 * _GIB, 75_000.0),
        "dax.r5.xlarge": (32 * _GIB, 150_000.0),
        "dax.r5.2xlarge": (64 * _GIB, 300_000.0),
        "dax.r5.4xlarge": (128 * _GIB, 600_000.0),
        "dax.r5.8xlarge": (256 * _GIB, 1_000_000.0),
        "dax.r5.12xlarge": (384 * _GIB, 1_000_000.0),
        "dax.r5.16xlarge": (512 * _GIB, 1_000_000.0),
        "dax.r5.24xlarge": (768 * _GIB, 1_000_000.0),
    }
)

# On-demand and warm throughput.
ON_DEMAND_INITIAL_READ_PER_S = 12_000  # F-OD-1
ON_DEMAND_INITIAL_WRITE_PER_S = 4_000  # F-OD-1
ON_DEMAND_INITIAL_PER_S = {
    Dimension.READ: float(ON_DEMAND_INITIAL_READ_PER_S),
    Dimension.WRITE: float(ON_DEMAND_INITIAL_WRITE_PER_S),
}
ON_DEMAND_HEADROOM_FACTOR = 2.0  # F-OD-2: twice the previous peak at once

# How the numbers hang together; a mistyped one stops here.
assert ON_DEMAND_INITIAL_READ_PER_S == ON_DEMAND_PARTITIONS * PARTITION_READ_PER_S  # F-PART-4
assert ON_DEMAND_INITIAL_WRITE_PER_S == ON_DEMAND_PARTITIONS * PARTITION_WRITE_PER_S  # F-PART-4
assert ITEM_BYTES_MAX // WRITE_UNIT_BYTES <= PARTITION_WRITE_PER_S, "one item must fit a partition's second"
