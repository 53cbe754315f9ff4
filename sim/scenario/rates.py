"""How many requests come per second, over time: a number, steps, or a shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, assert_never

from pydantic import ConfigDict, Discriminator, GetJsonSchemaHandler, Tag, model_validator
from pydantic import Field as Key
from pydantic_core import CoreSchema

from sim.scenario.base import Place, Value, refusal, refuse_all
from sim.scenario.fields import FileValue, kind_tag
from sim.scenario.leaves import (
    RATE_MAX_PER_S,
    Leaf,
    Name,
    PerSecond,
    PositiveSeconds,
    Seconds,
    TimeOfDay,
    number,
    seconds_of,
    word,
)

DIURNAL_PEAK_MAX = 2.0  # × mean: a sinusoid with a higher peak would go below zero at night

_per_second = number(0, RATE_MAX_PER_S, "requests per second")


def _steps(value: Any) -> tuple[tuple[float, float], ...]:
    shape = 'must be a list of [time, rate] pairs, such as [["0s", 100], ["10m", 1000]]'
    if not isinstance(value, list | tuple) or not value:
        raise refusal(shape)
    wrong: list[tuple[Place, Any, Any]] = []
    steps: list[tuple[float, float]] = []
    for index, step in enumerate(value):
        if not isinstance(step, list | tuple) or len(step) != 2:
            wrong.append(((index,), step, refusal("must be a pair: [time, rate]")))
            continue
        pair = []
        for position, check in enumerate((seconds_of, _per_second.check)):
            try:
                pair.append(check(step[position]))
            except Exception as error:
                wrong.append(((index, position), step[position], error))
        if len(pair) == 2:
            if steps and pair[0] <= steps[-1][0]:
                sentence = f"times must increase strictly; the step before is at {steps[-1][0]:g} s"
                wrong.append(((index, 0), step[0], refusal(sentence)))
            steps.append((pair[0], pair[1]))
    refuse_all("steps", wrong)
    return tuple(steps)


class StepsRate(Value):
    """Steps that hold: ``[["0s", 100], ["10m", 1000]]``.

    Attributes
    ----------
    steps : (at_s, requests per second), times strictly increasing; before the first step the rate is 0, after the
        last it holds.
    """

    kind: Annotated[Literal["steps"], word(["steps"])] = "steps"
    steps: Annotated[tuple[tuple[float, float], ...], Leaf(_steps, {})]

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, data: Any) -> Any:
        return {"steps": data} if isinstance(data, list | tuple) else data

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        time = {"type": ["number", "string"]}
        pair = {"type": "array", "prefixItems": [time, dict(_per_second.schema)], "minItems": 2, "maxItems": 2}
        return {
            "description": "Steps that hold: [time, requests per second] pairs, times strictly increasing; 0 before the first.",
            "examples": [[["0s", 100], ["10m", 1000]]],
            "type": "array",
            "items": pair,
            "minItems": 1,
        }


class RampRate(Value):
    """A straight line that then holds its end.

    Attributes
    ----------
    from_ : requests per second at second 0.
    to : requests per second at the end of the ramp, and from then on.
    over : time that the ramp takes.
    """

    # populate_by_name: for type checkers, which would otherwise take `from` as the argument's name.
    model_config = ConfigDict(
        populate_by_name=True,
        json_schema_extra={"examples": [{"kind": "ramp", "from": 10, "to": 500, "over": "30m"}]},
    )

    kind: Annotated[Literal["ramp"], word(["ramp"])] = "ramp"
    from_: PerSecond = Key(alias="from")
    to: PerSecond
    over: PositiveSeconds

    @model_validator(mode="before")
    @classmethod
    def _in_a_file_it_is_from(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "from_" in data:
            refuse_all("rate", [(("from_",), data["from_"], refusal("unknown key", "did you mean 'from'?"))])
        return data


class SpikeRate(Value):
    """A rectangular spike.

    Attributes
    ----------
    base : requests per second outside the spike.
    peak : requests per second inside the spike.
    at : when the spike starts, from second 0 of the run.
    lasting : how long the spike takes.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"kind": "spike", "base": 10, "peak": 900, "at": "20m", "lasting": "90s"}]}
    )

    kind: Annotated[Literal["spike"], word(["spike"])] = "spike"
    base: PerSecond
    peak: PerSecond
    at: Seconds
    lasting: PositiveSeconds


class DiurnalRate(Value):
    """A sinusoid over the day, at ``peak_at`` highest.

    Attributes
    ----------
    mean : requests per second, averaged over the day.
    peak : requests per second at ``peak_at``; from ``mean`` to twice ``mean``.
    peak_at : UTC time of day, in seconds since midnight (``"14:30"`` or ``"14h30m"`` in a file).
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"kind": "diurnal", "mean": 100, "peak": 200, "peak_at": "14:30"}]}
    )

    kind: Annotated[Literal["diurnal"], word(["diurnal"])] = "diurnal"
    mean: PerSecond
    peak: PerSecond
    peak_at: TimeOfDay

    @model_validator(mode="after")
    def _stays_above_zero(self) -> DiurnalRate:
        if not self.mean <= self.peak <= DIURNAL_PEAK_MAX * self.mean:
            sentence = f"must be from mean ({self.mean:g}) to 2 × mean ({DIURNAL_PEAK_MAX * self.mean:g})"
            refuse_all("rate", [(("peak",), self.peak, refusal(sentence))])
        return self


class CsvRate(FileValue):
    """A measured rate, from a CSV file with a header line; each value holds until the next row; `read_series` reads it.

    Attributes
    ----------
    path : of the file, from the scenario file's folder.
    time : column of times: seconds from second 0, or ISO timestamps, which count from the first row.
    value : column of values.
    per : "second": values are requests per second; "row": counts between this row and the next.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"kind": "csv", "path": "requests.csv", "time": "timestamp", "value": "count", "per": "row"}]
        }
    )

    kind: Annotated[Literal["csv"], word(["csv"])] = "csv"
    path: Name
    time: Name
    value: Name
    per: Annotated[Literal["second", "row"], word(["second", "row"])] = "second"


Rate: TypeAlias = float | StepsRate | RampRate | SpikeRate | DiurnalRate | CsvRate


def peak_per_s(rate: Rate) -> float | None:
    """The highest that a rate gets, requests per second; None where a file says it and not the scenario."""
    match rate:
        case int() | float():
            return float(rate)
        case StepsRate(steps=steps):
            return max(value for _, value in steps)
        case RampRate(to=end) as ramp:
            return max(ramp.from_, end)
        case SpikeRate(base=base, peak=peak):
            return max(base, peak)
        case DiurnalRate(peak=peak):
            return peak
        case CsvRate():
            return None
    assert_never(rate)


def scaled(rate: Rate, factor: float) -> Rate:
    """A rate times a factor at each moment; times stay as they are.

    Parameters
    ----------
    factor : finite, at least 0.

    Raises
    ------
    ValueError
        The factor is none, or the rate is a measured one, which stands in its file.
    """
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 <= factor < math.inf:
        raise ValueError(f"factor = {factor!r}: must be a finite number, at least 0")
    match rate:
        case int() | float():
            return digits(rate * factor)
        case StepsRate(steps=steps):
            return StepsRate(steps=tuple((at, digits(value * factor)) for at, value in steps))
        case RampRate(to=end) as ramp:
            changed = {"from_": digits(ramp.from_ * factor), "to": digits(end * factor)}
        case SpikeRate(base=base, peak=peak):
            changed = {"base": digits(base * factor), "peak": digits(peak * factor)}
        case DiurnalRate(mean=mean, peak=peak):
            mean, peak = digits(mean * factor), digits(peak * factor)
            # Rounded apart, they may miss what they have to keep to by the last digit.
            changed = {"mean": mean, "peak": min(max(mean, peak), DIURNAL_PEAK_MAX * mean)}
        case CsvRate(path=path):
            raise ValueError(f"a measured rate ({path}) is not multiplied")
        case _:
            assert_never(rate)
    return rate.model_copy(update=changed)


def digits(value: float) -> float:
    """A number without the last digits, which are the arithmetic's and nobody's meaning."""
    return float(f"{value:.12g}")


def _rate_tag(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        return "<steps>"
    if isinstance(value, Mapping) and value.get("kind") in ("number", "steps"):
        return f"< {value['kind']}>"  # no member: neither is written as a table
    if isinstance(value, Mapping | Value):
        return kind_tag(value)
    return "<number>"


TaggedRate = Annotated[
    Annotated[float, _per_second, Tag("<number>")]
    | Annotated[StepsRate, Tag("<steps>")]
    | Annotated[RampRate, Tag("<ramp>")]
    | Annotated[SpikeRate, Tag("<spike>")]
    | Annotated[DiurnalRate, Tag("<diurnal>")]
    | Annotated[CsvRate, Tag("<csv>")],
    Discriminator(_rate_tag),
]
