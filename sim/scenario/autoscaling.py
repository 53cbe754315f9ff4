"""The user's own target tracking (auto scaling) and its schedule."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from sim.scenario.base import Place, Value, refusal, refuse_all
from sim.scenario.cron import parse_cron
from sim.scenario.leaves import Capacity, Leaf, number, text

TARGET_MIN = 0.2  # F-AS-6
TARGET_MAX = 0.9  # F-AS-6
TARGET_DEFAULT = 0.7  # F-AS-6, the console's


def _cron(value: Any) -> str:
    given: str = text(least=1, most=200).check(value)
    try:
        parse_cron(given)
    except ValueError as error:
        raise refusal(str(error), 'such as "cron(0 8 ? * MON-FRI *)"') from None
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
        wrong: list[tuple[Place, Any, Any]] = []
        if self.max < self.min:
            wrong.append((("max",), self.max, refusal(f"must not be below min ({self.min:g})")))
        # Bounds that no order of the scheduled actions brings together.
        most = max([self.max, *(action.max for action in self.schedule if action.max is not None)])
        least = min([self.min, *(action.min for action in self.schedule if action.min is not None)])
        for index, action in enumerate(self.schedule):
            if action.min is not None and action.max is None and action.min > most:
                sentence = f"is above every max that can be in force ({most:g})"
                wrong.append((("schedule", index, "min"), action.min, refusal(sentence, "set max with it")))
            if action.max is not None and action.min is None and action.max < least:
                sentence = f"is below every min that can be in force ({least:g})"
                wrong.append((("schedule", index, "max"), action.max, refusal(sentence, "set min with it")))
        refuse_all("autoscaling", wrong)
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
