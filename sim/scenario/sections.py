"""The smaller sections of a scenario: cache, quotas, cost, events, alarms."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from sim.limits import TABLE_QUOTA_READ_PER_S, TABLE_QUOTA_WRITE_PER_S
from sim.names import Mode, Operation
from sim.scenario.base import Value, refusal, refuse_all
from sim.scenario.leaves import (
    RATE_MAX_PER_S,
    Capacity,
    Count,
    Name,
    PositiveSeconds,
    Seconds,
    Switch,
    number,
    whole,
    word,
)
from sim.scenario.metrics import METRICS

DAX_NODES_MAX = 11  # F-DAX-4: one primary and ten replicas
DAX_NODE_TYPES = (  # F-DAX-5, F-PRICE-12, F-PRICE-13
    "dax.t3.small",
    *(
        f"dax.r5.{size}"
        for size in ("large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge", "24xlarge")
    ),
)

STREAM_READERS_MAX = 2  # F-STR-1: of one shard
STREAM_READS_MAX_PER_S = 1000.0

STATISTICS = ("Sum", "Average", "Maximum", "Minimum", "SampleCount")
COMPARISONS = (
    "GreaterThanThreshold",
    "GreaterThanOrEqualToThreshold",
    "LessThanThreshold",
    "LessThanOrEqualToThreshold",
)
HOUR_S, DAY_S, WEEK_S = 3600, 86_400, 604_800  # of an alarm: PutMetricAlarm, EvaluationPeriods
MISSING_DATA = ("missing", "ignore", "breaching", "notBreaching")

_PerMonth = Annotated[float, number(0, RATE_MAX_PER_S, "units per second")]


class Dax(Value):
    """A DAX cluster before the table.

    Attributes
    ----------
    node_type : AWS's name, such as dax.r5.large.
    nodes : 1 to 11, each with a cache of its own.
    item_ttl : how long an item stays cached.
    query_ttl : how long the answer of a Query or Scan stays cached.
    capacity_items : items that one node holds. None: from its memory.
    writes : whether writes fill the cache ("through") or pass it by ("around").
    """

    nodes: Annotated[int, whole(1, DAX_NODES_MAX, "nodes")] = 1
    node_type: Annotated[str, word(DAX_NODE_TYPES)] = "dax.r5.large"
    item_ttl: Seconds = 300.0
    query_ttl: Seconds = 300.0
    capacity_items: Count | None = None
    writes: Annotated[str, word(("through", "around"))] = "through"


class Account(Value):
    """Quotas in units per second.

    Attributes
    ----------
    table_read : read quota of one table or index: on-demand a one-second bucket, provisioned a check when capacity is set.
    table_write : write quota of one table or index, likewise.
    account_read : read quota of all provisioned capacity together. None: AWS's 80,000, or the table's quota where that is higher.
    account_write : write quota of all provisioned capacity together, likewise.
    """

    table_read: Capacity = float(TABLE_QUOTA_READ_PER_S)
    table_write: Capacity = float(TABLE_QUOTA_WRITE_PER_S)
    account_read: Capacity | None = None
    account_write: Capacity | None = None


class Cost(Value):
    """How a bill is made out.

    Attributes
    ----------
    month_hours : hours of a month.
    free_tier : whether AWS's free tier is taken off.
    reserved_read : reserved read capacity, units per second.
    reserved_write : reserved write capacity, units per second.
    warm_bought : whether the warm throughput that the table and its indexes begin with was bought, as far as they would not have it by
        themselves. False: it grew with earlier traffic, and cost nothing.
    stream_readers : consumers of the table's stream that pay for their reads; Lambda and global tables do not (F-PRICE-14).
    stream_reads_per_s : how often each of them reads each shard, per second.
    """

    month_hours: Annotated[float, number(1, 744, "hours")] = 730.0
    free_tier: Switch = False
    reserved_read: _PerMonth = 0.0
    reserved_write: _PerMonth = 0.0
    warm_bought: Switch = True
    stream_readers: Annotated[int, whole(0, STREAM_READERS_MAX, "readers of a shard")] = 0
    stream_reads_per_s: Annotated[float, number(0, STREAM_READS_MAX_PER_S, "reads per second")] = 1.0


class Event(Value):
    """An UpdateTable in the middle of the run.

    Attributes
    ----------
    at : when, from second 0 of the run.
    index : a global secondary index. None: the table.
    mode : new capacity mode.
    read_capacity : new provisioned read capacity, units per second.
    write_capacity : new provisioned write capacity, units per second.
    warm_read : new warm throughput of reads, units per second.
    warm_write : new warm throughput of writes, units per second.
    max_read : new on-demand maximum of reads, units per second.
    max_write : new on-demand maximum of writes, units per second.
    """

    at: Seconds
    index: Name | None = None
    mode: Annotated[Mode, word(Mode)] | None = None
    read_capacity: Capacity | None = None
    write_capacity: Capacity | None = None
    warm_read: Capacity | None = None
    warm_write: Capacity | None = None
    max_read: Capacity | None = None
    max_write: Capacity | None = None

    @model_validator(mode="after")
    def _does_something(self) -> Event:
        if not self.model_fields_set - {"at", "index"}:
            sentence = "an event sets one or more of read_capacity, write_capacity, mode, warm_*, max_*"
            refuse_all("event", [(("at",), self.at, refusal(sentence))])
        return self


def _threshold_fraction(alarm: Alarm) -> list[Any]:
    if alarm.of_provisioned and alarm.threshold > 10:
        sentence = "with of_provisioned the threshold is a fraction of provisioned capacity"
        return [
            (("threshold",), alarm.threshold, refusal(sentence, f"{alarm.threshold:g} % is {alarm.threshold / 100:g}"))
        ]
    return []


class Alarm(Value):
    """A CloudWatch alarm, under CloudWatch's names.

    Attributes
    ----------
    metric : CloudWatch's name of the metric.
    index : global secondary index whose metric it is. None: the table.
    operation : operation that the metric is split by. None: all (at AWS that takes metric math).
    statistic : how a period's values become one.
    comparison : CloudWatch's name of how value and threshold are compared.
    evaluation_periods : latest periods that are looked at.
    treat_missing : what a period without data counts as. DynamoDB's metrics are sparse, and unlike others their alarms keep their state
        where data is missing unless they are told otherwise: a throttle alarm without "notBreaching" never ends.
    of_provisioned : whether the threshold is a fraction of provisioned capacity.
    period : seconds, a whole number of minutes.
    threshold : in the metric's own unit, or a fraction of provisioned capacity with ``of_provisioned``.
    datapoints_to_alarm : None: as many as ``evaluation_periods``.
    """

    metric: Annotated[str, word(METRICS)]
    index: Name | None = None
    operation: Annotated[Operation, word(Operation)] | None = None
    statistic: Annotated[str, word(STATISTICS)] = "Sum"
    period: PositiveSeconds = 60.0
    threshold: Annotated[float, number(0, 1e15)]
    of_provisioned: Switch = False
    comparison: Annotated[str, word(COMPARISONS)] = "GreaterThanThreshold"
    evaluation_periods: Annotated[int, whole(1, 1440, "periods")] = 1
    datapoints_to_alarm: Annotated[int, whole(1, 1440, "periods")] | None = None
    treat_missing: Annotated[str, word(MISSING_DATA)] = "ignore"

    @model_validator(mode="after")
    def _fits_together(self) -> Alarm:
        wrong = _threshold_fraction(self)
        if self.period % 60:
            wrong.append((("period",), self.period, refusal("must be a whole number of minutes")))
        if self.datapoints_to_alarm is not None and self.datapoints_to_alarm > self.evaluation_periods:
            sentence = f"must be at most evaluation_periods ({self.evaluation_periods})"
            wrong.append((("datapoints_to_alarm",), self.datapoints_to_alarm, refusal(sentence)))
        longest_s, words = (
            (WEEK_S, "seven days") if self.period >= HOUR_S else (DAY_S, "a day, as its period is under an hour")
        )
        if self.evaluation_periods * self.period > longest_s:
            sentence = f"evaluation_periods × period must be at most {words}"
            wrong.append((("evaluation_periods",), self.evaluation_periods, refusal(sentence)))
        refuse_all("alarm", wrong)
        return self
