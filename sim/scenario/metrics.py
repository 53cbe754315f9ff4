"""CloudWatch's metrics of a table, namespace AWS/DynamoDB: by what they are split, their units and steps (F-CW-1, F-CW-2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sim.limits import MINUTE_S
from sim.names import Level


class Split(Enum):
    """The dimensions of a metric."""

    RESOURCE = "TableName, and GlobalSecondaryIndexName for an index"  # TableName alone leaves the indexes out (F-CW-3)
    OPERATION = "TableName and Operation"
    TABLE = "TableName"
    ACCOUNT = "none: it is the whole account's"


@dataclass(frozen=True, kw_only=True)
class MetricKind:
    """What is fixed of a metric.

    Attributes
    ----------
    unit : CloudWatch's name of its unit.
    step_minutes : how often there is a data point: every minute, or every fifth.
    statistic : the one that is usually looked at.
    refused_at : levels of simulation that do not produce it, and ``instead`` what to do there.
    """

    split: Split
    unit: str = "Count"
    step_minutes: int = 1
    statistic: str = "Sum"
    refused_at: tuple[Level, ...] = ()
    instead: str = ""


_NEARLY = 1e-9  # a tenth of a second is no binary fraction
_BY_REASON = ("KeyRangeThroughput", "ProvisionedThroughput", "MaxOnDemandThroughput", "AccountLimit")

METRIC_KINDS: dict[str, MetricKind] = {
    **{f"Consumed{side}CapacityUnits": MetricKind(split=Split.RESOURCE) for side in ("Read", "Write")},
    **{
        f"Provisioned{side}CapacityUnits": MetricKind(split=Split.RESOURCE, step_minutes=5, statistic="Average")
        for side in ("Read", "Write")
    },
    **{f"{side}ThrottleEvents": MetricKind(split=Split.RESOURCE) for side in ("Read", "Write")},
    "ThrottledRequests": MetricKind(split=Split.OPERATION),
    **{
        f"{side}{reason}ThrottleEvents": MetricKind(split=Split.RESOURCE)
        for reason in _BY_REASON
        for side in ("Read", "Write")
    },
    "OnlineIndexThrottleEvents": MetricKind(
        split=Split.RESOURCE,
        step_minutes=5,
        refused_at=tuple(Level),
        instead="leave it out: no index is built during a run, and AWS expects 0 even while one is (F-CW-6)",
    ),
    "SuccessfulRequestLatency": MetricKind(
        split=Split.OPERATION,
        unit="Milliseconds",
        statistic="Average",
        refused_at=(Level.FLOW,),
        instead='level = "request" simulates it',
    ),
    "ConditionalCheckFailedRequests": MetricKind(split=Split.TABLE),
    "SystemErrors": MetricKind(
        split=Split.OPERATION,
        refused_at=tuple(Level),
        instead="leave it out: the service itself never fails here (HTTP 500), so there would be nothing to see",
    ),
    "UserErrors": MetricKind(split=Split.ACCOUNT),
}
METRICS = tuple(METRIC_KINDS)


def divides_minutes(tick_s: float) -> bool:
    """Whether whole ticks fill a minute: what a longer or an odd one brings, cannot be told by the minute."""
    ticks = MINUTE_S / tick_s
    return ticks >= 1 - _NEARLY and abs(ticks - round(ticks)) < _NEARLY
