"""What key templates draw from: the `[fields]` of a scenario."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, PrivateAttr, Tag, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from sim.scenario.base import FrozenMapping, Place, Value, refusal, refuse_all
from sim.scenario.leaves import Count, Leaf, Name, as_number, number, text, word

WEIGHT_MAX = 1e15
EXPONENT_MAX = 20.0
# strftime directives of a minute or coarser that mean the same on every platform.
CLOCK_DIRECTIVES = frozenset("aAwdbBmyYHIpMzZjUWGuV%FRD")
FINER_DIRECTIVES = frozenset("SfscXTr+")


def _weights(value: Any) -> FrozenMapping[str, float]:
    if not isinstance(value, Mapping):
        raise refusal("must be a table of names and weights, such as { active = 0.9, inactive = 0.1 }")
    if not value:
        raise refusal("must name at least one value")
    wrong: list[tuple[Place, Any, PydanticCustomError]] = []
    weights: dict[str, float] = {}
    for name, weight in value.items():
        given = as_number(weight)
        if not isinstance(name, str):
            wrong.append(((), name, refusal("names must be texts")))
        elif given is None or not 0 <= given <= WEIGHT_MAX:
            wrong.append(((name,), weight, refusal("must be a weight: a number from 0 to 1e15")))
        else:
            weights[name] = given
    refuse_all("weights", wrong)
    if sum(weights.values()) <= 0:
        raise refusal("must have a weight above 0")
    return FrozenMapping(weights)


def _clock_format(value: Any) -> str:
    given: str = text(least=1, most=200).check(value)
    directives = []
    characters = iter(given)
    for character in characters:
        if character == "%":
            directives.append(next(characters, ""))
    finer = [f"%{letter}" for letter in directives if letter in FINER_DIRECTIVES and letter]
    unknown = [f"%{letter}" for letter in directives if letter not in CLOCK_DIRECTIVES | FINER_DIRECTIVES or not letter]
    if finer:
        raise refusal(f"a clock field moves by the minute at the finest; {finer[0]} is finer", "end with %M, %H or %d")
    if unknown:
        raise refusal(f"{unknown[0]} is no strftime directive", 'such as "%Y-%m-%d" or "%Y-%m-%dT%H:%M"')
    if not set(directives) - {"%"}:
        raise refusal("must contain a strftime directive, or it never moves", 'such as "%Y-%m-%d" or "%Y-%m-%dT%H:%M"')
    try:
        datetime(2026, 1, 1, tzinfo=UTC).strftime(given)
    except ValueError:
        raise refusal("is no valid strftime format", 'such as "%Y-%m-%d"') from None
    return given


class ChoiceField(Value):
    """Named values with relative weights.

    Attributes
    ----------
    weights : value → weight, each at least 0, their sum above 0.
    """

    kind: Annotated[Literal["choice"], word(["choice"])] = "choice"
    weights: Annotated[
        Mapping[str, float],
        Leaf(
            _weights, {"type": "object", "minProperties": 1, "additionalProperties": {"type": "number", "minimum": 0}}
        ),
    ]


class UniformField(Value):
    """Ids 0..count-1, equally likely.

    Attributes
    ----------
    count : number of ids, at least 1.
    """

    kind: Annotated[Literal["uniform"], word(["uniform"])] = "uniform"
    count: Count


class ZipfField(Value):
    """Ids 0..count-1, id k with weight 1/(k+1)^exponent.

    Attributes
    ----------
    count : number of ids, at least 1.
    exponent : from 0 (uniform); 1 is the classical law of word counts.
    """

    kind: Annotated[Literal["zipf"], word(["zipf"])] = "zipf"
    count: Count
    exponent: Annotated[float, number(0, EXPONENT_MAX)]


class SequenceField(Value):
    """A new, ever-increasing value at each request."""

    kind: Annotated[Literal["sequence"], word(["sequence"])] = "sequence"


class HashField(Value):
    """int(md5(text of another field), 16) modulo ``count``: a deterministic shard.

    Attributes
    ----------
    of : name of the other field.
    count : number of shards, at least 1.
    """

    kind: Annotated[Literal["hash"], word(["hash"])] = "hash"
    of: Name
    count: Count


class ClockField(Value):
    """Simulated time as text, so that a date key moves as the run goes on.

    Attributes
    ----------
    format : strftime format, a minute at the finest: "%Y-%m-%d".
    """

    kind: Annotated[Literal["clock"], word(["clock"])] = "clock"
    format: Annotated[str, Leaf(_clock_format, {"type": "string", "minLength": 1})]


class FileValue(Value):
    """A value that a file stands behind; its path counts from the scenario file's folder."""

    _base_dir: str = PrivateAttr("")

    @model_validator(mode="after")
    def _remembers_base_dir(self, info: ValidationInfo) -> FileValue:
        if info.context and not self._base_dir:
            self._base_dir = str(info.context.get("base_dir", ""))
        return self

    def file(self, path: str) -> Path:
        """Where ``path`` lies, seen from the scenario file (or from the working directory without one)."""
        return Path(self._base_dir) / path


class CsvField(FileValue):
    """Measured popularity, from a CSV file with a header line; `read_weights` reads it.

    Attributes
    ----------
    path : of the file, from the scenario file's folder.
    value : column of the field's values; rows of equal value are summed.
    weight : column of weights, from 0. None: each row counts 1.
    """

    kind: Annotated[Literal["csv"], word(["csv"])] = "csv"
    path: Name
    value: Name
    weight: Name | None = None


Field: TypeAlias = ChoiceField | UniformField | ZipfField | SequenceField | HashField | ClockField | CsvField


def shard_of(text: str, count: int) -> int:
    """Deterministic shard: int(md5(text), 16) modulo count, as a `HashField` has it."""
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(), 16) % count


FIELD_KINDS: dict[str, type[Value]] = {
    "choice": ChoiceField,
    "uniform": UniformField,
    "zipf": ZipfField,
    "sequence": SequenceField,
    "hash": HashField,
    "clock": ClockField,
    "csv": CsvField,
}


def kind_tag(value: Any) -> str | None:
    """Which member of a union of values with `kind` a value is meant to be."""
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return f"<{kind}>" if isinstance(kind, str) and len(kind) < 60 else None


TaggedField = Annotated[
    Annotated[ChoiceField, Tag("<choice>")]
    | Annotated[UniformField, Tag("<uniform>")]
    | Annotated[ZipfField, Tag("<zipf>")]
    | Annotated[SequenceField, Tag("<sequence>")]
    | Annotated[HashField, Tag("<hash>")]
    | Annotated[ClockField, Tag("<clock>")]
    | Annotated[CsvField, Tag("<csv>")],
    Discriminator(kind_tag),
]
