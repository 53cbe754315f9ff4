"""Every enumerated word of the scenario format and its result, once."""

from __future__ import annotations

from enum import StrEnum


class Operation(StrEnum):
    """The API operations of the format; `TTL_DELETE` is the service's own deletion of expired items."""

    GET_ITEM = "GetItem"
    PUT_ITEM = "PutItem"
    UPDATE_ITEM = "UpdateItem"
    DELETE_ITEM = "DeleteItem"
    QUERY = "Query"
    SCAN = "Scan"
    BATCH_GET_ITEM = "BatchGetItem"
    BATCH_WRITE_ITEM = "BatchWriteItem"
    TRANSACT_GET_ITEMS = "TransactGetItems"
    TRANSACT_WRITE_ITEMS = "TransactWriteItems"
    TTL_DELETE = "TTLDelete"


READ_OPERATIONS = frozenset(
    {
        Operation.GET_ITEM,
        Operation.QUERY,
        Operation.SCAN,
        Operation.BATCH_GET_ITEM,
        Operation.TRANSACT_GET_ITEMS,
    }
)
WRITE_OPERATIONS = frozenset(Operation) - READ_OPERATIONS
BATCH_OPERATIONS = frozenset({Operation.BATCH_GET_ITEM, Operation.BATCH_WRITE_ITEM})
TRANSACTION_OPERATIONS = frozenset({Operation.TRANSACT_GET_ITEMS, Operation.TRANSACT_WRITE_ITEMS})
PAGED_OPERATIONS = frozenset({Operation.QUERY, Operation.SCAN})


class Mode(StrEnum):
    """Capacity mode of a table and its indexes."""

    PROVISIONED = "provisioned"
    ON_DEMAND = "on-demand"


class AdmissionPolicy(StrEnum):
    """How a provisioned rate reaches the partitions: three eras of the service (F-ADM-1, F-ADM-6, F-ADM-7)."""

    STATIC = "static"
    ADAPTIVE_2017 = "adaptive-2017"
    INSTANT = "instant"


class Level(StrEnum):
    """How traffic is moved: counts per tick, or one event per attempt."""

    FLOW = "flow"
    REQUEST = "request"


class Arrivals(StrEnum):
    """How an open loop spaces its requests."""

    POISSON = "poisson"
    EVEN = "even"


class Projection(StrEnum):
    """What an index keeps of an item."""

    ALL = "ALL"
    KEYS_ONLY = "KEYS_ONLY"
    INCLUDE = "INCLUDE"


class IndexChange(StrEnum):
    """What a write does to an index entry (F-GSI-3)."""

    PUT = "put"
    KEY_CHANGED = "key-changed"
    ATTRIBUTE_CHANGED = "attribute-changed"
    REMOVED = "removed"
    UNTOUCHED = "untouched"


INDEX_WRITES: dict[IndexChange, int] = {  # F-GSI-3
    IndexChange.PUT: 1,
    IndexChange.KEY_CHANGED: 2,
    IndexChange.ATTRIBUTE_CHANGED: 1,
    IndexChange.REMOVED: 1,
    IndexChange.UNTOUCHED: 0,
}


class BatchKeys(StrEnum):
    """Where the items of one batch lie."""

    INDEPENDENT = "independent"
    SAME_PARTITION_KEY = "same-partition-key"


class TableClass(StrEnum):
    """Price class of a table."""

    STANDARD = "standard"
    STANDARD_IA = "standard-ia"


class CostItem(StrEnum):
    """What stands on a bill, in its order."""

    READ_CAPACITY = "read capacity"
    WRITE_CAPACITY = "write capacity"
    REPLICATED_WRITE_CAPACITY = "replicated write capacity"
    RESERVED_READ_CAPACITY = "reserved read capacity"
    RESERVED_WRITE_CAPACITY = "reserved write capacity"
    READ_UNITS = "read units"
    WRITE_UNITS = "write units"
    REPLICATED_WRITE_UNITS = "replicated write units"
    STORAGE = "storage"
    DAX = "DAX nodes"
    STREAM_READS = "stream reads"
    WARM_READ = "warm read throughput"
    WARM_WRITE = "warm write throughput"


PRICE_SHEETS = ("us-east-1", "us-east-1-2024-10")  # those that come along; a test holds them equal to the files


class RetryMode(StrEnum):
    """Retry policies of the SDKs by name (F-RETRY)."""

    NONE = "none"
    LEGACY = "legacy"
    STANDARD_2025 = "standard-2025"
    STANDARD = "standard"
    ADAPTIVE = "adaptive"


class Dimension(StrEnum):
    """Reads and writes are limited apart from each other (F-PART-2)."""

    READ = "read"
    WRITE = "write"


class Limit(StrEnum):
    """What refuses an attempt, in the order in which a refusal is named (F-ERR-7)."""

    ACCOUNT = "AccountLimitExceeded"
    MAX_ON_DEMAND = "MaxOnDemandThroughputExceeded"
    PROVISIONED = "ProvisionedThroughputExceeded"
    KEY_RANGE = "KeyRangeThroughputExceeded"


TABLE = "table"  # the resource name of the base table in results


def index_resource(name: str) -> str:
    """Resource name of an index in results: ``index/NAME``."""
    return f"index/{name}"


def reason(resource: str, dimension: Dimension, limit: Limit) -> str:
    """AWS's name of a throttling reason (F-ERR-2), as in ``TableWriteKeyRangeThroughputExceeded``."""
    side = "Table" if resource == TABLE else "Index"
    return f"{side}{dimension.capitalize()}{limit}"


class SplitReason(StrEnum):
    """Why a partition became two (F-PART-8)."""

    HEAT = "heat"
    SIZE = "size"
    THROUGHPUT = "throughput"


class Declined(StrEnum):
    """Why a partition that should have been split was not (F-PART-13)."""

    SINGLE_ITEM = "single-item"
    MOVING_SORT_KEY = "moving-sort-key"
    LOCAL_INDEX = "local-index"


class ControlAction(StrEnum):
    """What changes a table's settings, as rows of a result's events call it."""

    AUTO_SCALING = "auto-scaling"
    SCHEDULE = "schedule"
    UPDATE_TABLE = "update-table"


class AlarmState(StrEnum):
    """States of an alarm under CloudWatch's names."""

    OK = "OK"
    ALARM = "ALARM"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"


ALARM_HIGH, ALARM_LOW = "AlarmHigh", "AlarmLow"  # auto scaling's own alarms (F-AS-4)


class ControlError(StrEnum):
    """Why the control plane refuses a request, under AWS's names."""

    IN_USE = "ResourceInUseException"
    LIMIT = "LimitExceededException"
    VALIDATION = "ValidationException"


class ErrorName(StrEnum):
    """Exceptions that a caller sees, under AWS's names."""

    PROVISIONED = "ProvisionedThroughputExceededException"
    REQUEST_LIMIT = "RequestLimitExceeded"
    THROTTLING = "ThrottlingException"
    TRANSACTION_CANCELED = "TransactionCanceledException"
    VALIDATION = "ValidationException"
    CONDITIONAL_CHECK = "ConditionalCheckFailedException"
    BREAKER_OPEN = "CircuitBreakerOpen"
    TIMED_OUT = "RequestTimeout"
    TRANSACTION_CONFLICT = "TransactionConflictException"
    TRANSACTION_IN_PROGRESS = "TransactionInProgressException"
    COLLECTION_SIZE = "ItemCollectionSizeLimitExceededException"


def throttling_error(mode: Mode, limit: Limit) -> ErrorName:
    """Which exception carries a refusal (F-ERR-3: AWS's pages disagree; the split by capacity mode follows F-ERR-5)."""
    if mode is Mode.PROVISIONED:
        return ErrorName.PROVISIONED
    return ErrorName.REQUEST_LIMIT if limit is Limit.ACCOUNT else ErrorName.THROTTLING
