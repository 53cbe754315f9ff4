"""The scenario: everything that a run needs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, PrivateAttr, ValidationInfo, model_validator
from pydantic import Field as Key

from sim.calibration import PARAMETERS, SETS, Calibration, calibrate
from sim.names import AdmissionPolicy, Level
from sim.scenario.base import FrozenMapping, Place, Value, choices, nearest, refusal, refuse_all
from sim.scenario.checks import cross_checks
from sim.scenario.fields import Field, TaggedField
from sim.scenario.leaves import (
    Format,
    Leaf,
    Name,
    PositiveSeconds,
    Start,
    Text,
    whole,
    word,
)
from sim.scenario.sections import Account, Alarm, Cost, Dax, Event
from sim.scenario.suspicions import suspicions
from sim.scenario.table import Table
from sim.scenario.traffic import Traffic

SEED_MAX = 2**63 - 1

Fields: TypeAlias = Mapping[str, Field]


def _calibration(value: Any) -> Calibration:
    if isinstance(value, Calibration):
        return value
    base: Any = value
    overrides: dict[str, Any] = {}
    if isinstance(value, Mapping):
        overrides = dict(value)
        base = overrides.pop("base", "default")
    if not isinstance(base, str) or base not in SETS:
        sets = " or ".join(f'"{name}"' for name in SETS)
        if isinstance(value, Mapping):
            hint = nearest(base, SETS) if isinstance(base, str) else ""
            refuse_all("calibration", [(("base",), base, refusal(f"must be {sets}", hint))])
        sentence = f'must be {sets}, or a table such as {{ base = "default", split_delay_s = 120 }}'
        raise refusal(sentence, nearest(value, SETS) if isinstance(value, str) else "")
    wrong: list[tuple[Place, Any, Any]] = []
    for name, given in overrides.items():
        if name not in PARAMETERS:
            wrong.append(((str(name),), given, refusal("no such calibration parameter", choices(name, PARAMETERS))))
            continue
        try:
            calibrate(base, {name: given})
        except (ValueError, OverflowError) as error:
            sentence = str(error).removeprefix(f"{name} ") if isinstance(error, ValueError) else "is too large"
            wrong.append(((name,), given, refusal(sentence)))
    refuse_all("calibration", wrong)
    return calibrate(base, overrides)


def _as_dict(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


_CALIBRATION_SCHEMA = {
    "anyOf": [
        {"type": "string", "enum": list(SETS)},
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "base": {"type": "string", "enum": list(SETS)},
                **{
                    name: {"type": "boolean" if parameter.is_switch else "number", "description": parameter.why}
                    for name, parameter in PARAMETERS.items()
                },
            },
        },
    ]
}


class Scenario(Value):
    """Everything that a run needs.

    Attributes
    ----------
    format : 1.
    title : free text, for reports.
    description : free text; of a named scenario the claim that it shows.
    shows : ids under which a catalogue lists the scenario, such as "S-BUCKET"; they change nothing.
    duration : simulated seconds.
    start : UTC time of second 0.
    seed : the run's randomness.
    level : counts per tick, or one event per attempt.
    tick : seconds, step of the flow level.
    period : seconds, width of one point of the result's series.
    admission : how a provisioned rate reaches the partitions.
    calibration : what AWS does not publish.
    prices : name or path of a price sheet.
    fields : what key templates draw from, by name.
    table : the table with its indexes.
    traffic : access patterns; at least one.
    dax : a cache before the table. None: no cluster.
    account : quotas of the account.
    cost : how the bill is made out.
    event : changes of the table in the middle of the run.
    alarm : CloudWatch alarms.
    notes : what was left out while loading and what seems not to be meant, as sentences for the result's warnings; no
        part of the format.
    """

    format: Format = 1
    title: Text = ""
    description: Text = ""
    shows: tuple[Name, ...] = ()
    duration: PositiveSeconds
    start: Start = datetime(2026, 1, 1, tzinfo=UTC)
    seed: Annotated[int, whole(0, SEED_MAX)] = 0
    level: Annotated[Level, word(Level)] = Level.FLOW
    tick: PositiveSeconds = 1.0
    period: PositiveSeconds = 60.0
    admission: Annotated[AdmissionPolicy, word(AdmissionPolicy)] = AdmissionPolicy.INSTANT
    calibration: Annotated[Calibration, Leaf(_calibration, _CALIBRATION_SCHEMA)] = Key(default_factory=calibrate)
    prices: Name = "us-east-1"
    fields: Annotated[Mapping[str, TaggedField], BeforeValidator(_as_dict), AfterValidator(FrozenMapping)] = Key(
        default_factory=FrozenMapping
    )
    table: Table
    traffic: tuple[Traffic, ...] = ()
    dax: Dax | None = None
    account: Account = Key(default_factory=Account)
    cost: Cost = Key(default_factory=Cost)
    event: tuple[Event, ...] = ()
    alarm: tuple[Alarm, ...] = ()

    _notes: tuple[str, ...] = PrivateAttr(())
    _base_dir: str = PrivateAttr("")

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> Scenario:
        if info.context:
            self._base_dir = str(info.context.get("base_dir", ""))
        refuse_all("scenario", cross_checks(self))
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what loading left out and about what seems not to be meant, for the result's warnings."""
        return (*self._notes, *suspicions(self))

    def _repr_html_(self) -> str:
        """What a notebook shows: keys, indexes and capacity, a row for each access pattern, and what seems not to be meant."""
        from sim.scenario import html  # made when it is asked for

        also = [] if self.admission is AdmissionPolicy.INSTANT else [f"{self.admission} admission"]
        also += ["with DAX"] if self.dax is not None else []
        for what, many in (("event", len(self.event)), ("alarm", len(self.alarm))):
            also += [f"{many} {what}{'' if many == 1 else 's'}"] if many else []
        return html.page(
            title=self.title,
            description=self.description,
            duration_s=self.duration,
            level=self.level,
            also=also,
            table_=self.table,
            traffic=self.traffic,
            notes=self.notes,
        )

    @property
    def base_dir(self) -> str:
        """The folder that paths in the scenario count from; "" is the working directory."""
        return self._base_dir
