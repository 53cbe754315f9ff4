"""The user's own target tracking (auto scaling) and its schedule."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import model_validator

from sim.scenario.base import Place, Value, refusal, refuse_all
from sim.scenario.leaves import Capacity, Leaf, number, text

TARGET_MIN = 0.2  # F-AS-6
TARGET_MAX = 0.9  # F-AS-6
TARGET_DEFAULT = 0.7  # F-AS-6, the console's

_CRON_PART = re.compile(r"[0-9A-Za-z*?,/#LW-]+\Z")
_CRON_FIELDS = "minutes hours day-of-month month day-of-week year"


def _cron(value: Any) -> str:
    given: str = text(least=1, most=200).check(value)
    inner = given.strip()
    if inner.startswith("cron(") and inner.endswith(")"):
        inner = inner[len("cron(") : -1].strip()
    parts = inner.split()
    if len(parts) != 6 or not all(_CRON_PART.match(part) for part in parts):
        raise refusal(f"must be AWS's six cron fields ({_CRON_FIELDS}), in UTC", 'such as "cron(0 8 ? * MON-FRI *)"')
    if (parts[2] == "?") == (parts[4] == "?"):
        raise refusal("must have ? in exactly one of day-of-month and day-of-week", 'such as "cron(0 8 * * ? *)"')
    return given


class ScheduledAction(Value):
    """New bounds at set times.

    Attributes
    ----------
    cron : AWS's six fields (minutes hours day-of-month month day-of-week year), with or without cron(…), in UTC.
    min : new lower bound, units per second; one of min and max, or both.
    max : new upper bound, units per second.
    """

    cron: Annotated[str, Leaf(_cron, {"type": "string"})]
    min: Capacity | None = None
    max: Capacity | None = None

    @model_validator(mode="after")
    def _does_something(self) -> ScheduledAction:
        wrong: list[tuple[Place, Any, Any]] = []
        if self.min is None and self.max is None:
            wrong.append((("min",), None, refusal("a scheduled action sets min, max or both")))
        if self.min is not None and self.max is not None and self.max < self.min:
            wrong.append((("max",), self.max, refusal(f"must not be below min ({self.min:g})")))
        refuse_all("schedule", wrong)
        return self


class ScalingTarget(Value):
    """Target tracking of one dimension.

    Attributes
    ----------
    min : provisioned capacity never goes below it, units per second.
    max : provisioned capacity never goes above it, units per second.
    target_utilization : consumed over provisioned, as a fraction, 0.2 to 0.9.
    schedule : scheduled actions.
    """

    min: Capacity
    max: Capacity
    target_utilization: Annotated[float, number(TARGET_MIN, TARGET_MAX)] = TARGET_DEFAULT
    schedule: tuple[ScheduledAction, ...] = ()

    @model_validator(mode="after")
    def _has_room(self) -> ScalingTarget:
        if self.max < self.min:
            refuse_all("autoscaling", [(("max",), self.max, refusal(f"must not be below min ({self.min:g})"))])
        return self


class Autoscaling(Value):
    """Target tracking, of reads and of writes.

    Attributes
    ----------
    read : of read capacity. None: it stays as provisioned.
    write : of write capacity. None: it stays as provisioned.
    """

    read: ScalingTarget | None = None
    write: ScalingTarget | None = None
