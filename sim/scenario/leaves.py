"""The smallest values: numbers, words, times, texts, templates. Each refuses what it cannot be in one plain sentence."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from sim.scenario.base import CHOICES_MAX, choices, listed, nearest, refusal
from sim.scenario.templates import parse_template

DURATION_MAX_S = 3650 * 86_400.0  # ten years; more is a mistake of units
COUNT_MAX = 10**15
RATE_MAX_PER_S = 1e9
TEXT_CHARACTERS_MAX = 100_000
START_YEAR_MIN = 1970
START_YEAR_MAX = 2200

UNIT_S = {"ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60), "h": Fraction(3600), "d": Fraction(86_400)}

# The same things under the names of AWS's API.
_ELSEWHERE = {
    "PAY_PER_REQUEST": "on-demand",
    "PROVISIONED": "provisioned",
    "STANDARD_INFREQUENT_ACCESS": "standard-ia",
}

_DURATION = re.compile(r"(?:\d{1,15}(?:\.\d{1,9})?(?:ms|s|m|h|d))+\Z", re.ASCII)
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)
_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?\Z", re.ASCII)
_TIME_HINT = 'write a number of seconds, or numbers with units such as "250ms", "90s", "5m", "1h30m", "2d"'


@dataclass(frozen=True)
class Leaf:
    """Annotation of a value that is checked by one function, with what the JSON Schema says of it."""

    check: Callable[[Any], Any]
    schema: Mapping[str, Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return dict(self.schema)

    def __hash__(self) -> int:
        return hash(self.check)


def as_number(value: Any) -> float | None:
    """A finite number, or None for everything else (true and false, texts, nan, what is beyond a float)."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError, TypeError):
        return None
    return number if math.isfinite(number) else None


def plain(value: float) -> str:
    """A bound in a sentence: thousands with commas, 10**15 as 1e15."""
    exponent = round(math.log10(value)) if value >= 1e9 else 0
    return f"1e{exponent}" if exponent and value == 10**exponent else f"{value:,}" if value >= 1e9 else f"{value:,.10g}"


def number(low: float, high: float, unit: str = "", *, above: bool = False) -> Leaf:
    """A finite number from ``low`` (or above it) to ``high``."""
    of_unit = f" {unit}" if unit else ""
    sentence = f"must be a number {'above' if above else 'from'} {plain(low)} {'up ' if above else ''}to {plain(high)}{of_unit}"

    def check(value: Any) -> float:
        given = as_number(value)
        if given is None:
            raise refusal(sentence)
        if given > high or given < low or (above and given == low):
            is_percent = high == 1 and 1 < given <= 100
            raise refusal(sentence, f"{given:g} % is {given / 100:g}" if is_percent else "")
        return given

    return Leaf(check, {"type": "number", "exclusiveMinimum" if above else "minimum": low, "maximum": high})


def whole(low: int, high: int, unit: str = "") -> Leaf:
    """A whole number from ``low`` to ``high``; 1e6 is one, as it is in JSON Schema."""
    of_unit = f" of {unit}" if unit else ""
    sentence = f"must be a whole number{of_unit} from {plain(low)} to {plain(high)}"

    def check(value: Any) -> int:
        given = as_number(value)
        if given is None or given != math.floor(given) or not low <= value <= high:
            raise refusal(sentence)
        return int(value)

    return Leaf(check, {"type": "integer", "minimum": low, "maximum": high})


def word(words: type[StrEnum] | Iterable[str]) -> Leaf:
    """One of an enumeration's words (given back as its member) or of a list of words."""
    is_enum = isinstance(words, type)
    known = {str(name): name for name in words}

    def check(value: Any) -> Any:
        if isinstance(value, str) and str(value) in known:
            return known[str(value)] if is_enum else str(value)
        elsewhere = _ELSEWHERE.get(value.upper(), "") if isinstance(value, str) else ""
        if elsewhere in known:
            hint = f"did you mean {elsewhere!r}?"
        elif len(known) > CHOICES_MAX:
            raise refusal(f"must be one of {len(known)} words", choices(value, known))
        else:
            hint = nearest(value, known) if isinstance(value, str) else ""
        raise refusal(f"must be one of {listed(f'{name!r}' for name in known)}", hint)

    return Leaf(check, {"type": "string", "enum": list(known)})


def text(least: int = 0, most: int = TEXT_CHARACTERS_MAX) -> Leaf:
    """A text of ``least`` to ``most`` characters."""

    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise refusal('must be a text in quotes, such as "…"')
        if len(value) < least:
            raise refusal("must not be empty")
        if len(value) > most:
            raise refusal(f"must be at most {most:,} characters long")
        if not _is_unicode(value):
            raise refusal("must be Unicode text")
        return str(value)

    return Leaf(check, {"type": "string", "minLength": least, "maxLength": most})


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise refusal("must be true or false, without quotes")
    return value


def _time_hint(value: Any) -> str:
    """How a time is written; to a time of day, that times count from the start."""
    match = _TIME_OF_DAY.match(value) if isinstance(value, str) else None
    if isinstance(value, time):  # TOML's local time
        hours, minutes = value.hour, value.minute
    elif match:
        hours, minutes = int(match[1]), int(match[2])
    else:
        return _TIME_HINT
    written = f"{hours}h{minutes}m" if hours and minutes else f"{minutes}m" if minutes else f"{hours}h"
    return f'times count from second 0 of the run: write "{written}" for {hours:02}:{minutes:02} of a run that starts at midnight'


def seconds_of(value: Any) -> float:
    """Seconds of a number or of a text such as ``"1h30m"``.

    Raises
    ------
    PydanticCustomError
        Anything else, a negative time, or one over ten years.
    """
    if isinstance(value, str):
        if len(value) > 60 or not _DURATION.match(value):
            raise refusal("must be a time from 0 to ten years", _time_hint(value))
        seconds = float(sum(Fraction(amount) * UNIT_S[unit] for amount, unit in _DURATION_PART.findall(value)))
    else:
        given = as_number(value)
        if given is None:
            raise refusal("must be a time from 0 to ten years", _time_hint(value))
        seconds = given
    if not 0 <= seconds <= DURATION_MAX_S:
        raise refusal("must be a time from 0 to ten years")
    return seconds


def _positive_seconds(value: Any) -> float:
    seconds = seconds_of(value)
    if seconds < 0.001:
        raise refusal("must be a time of at least 1ms", "" if isinstance(value, str) else _TIME_HINT)
    return seconds


def _time_of_day(value: Any) -> float:
    match = _TIME_OF_DAY.match(value) if isinstance(value, str) else None
    if match:
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return 3600.0 * hours + 60.0 * minutes + seconds
    hint = 'write "14:30", or the time since midnight UTC such as "14h30m"'
    if isinstance(value, time):  # TOML's local time
        return 3600.0 * value.hour + 60.0 * value.minute + value.second + value.microsecond / 1e6
    try:
        seconds_after_midnight = seconds_of(value)
    except Exception:
        raise refusal("must be a time of day (UTC)", hint) from None
    if seconds_after_midnight >= 86_400:
        raise refusal("must be a time of day (UTC), before 24:00", hint)
    return seconds_after_midnight


def _start(value: Any) -> datetime:
    allowed = (
        f"must be an ISO date and time between {START_YEAR_MIN} and {START_YEAR_MAX}, such as 2026-01-01T00:00:00Z"
    )
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise refusal(allowed) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if not isinstance(value, datetime) or not START_YEAR_MIN < value.year < START_YEAR_MAX:
        raise refusal(allowed)
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _template(value: Any) -> str:
    template: str = text(least=1, most=10_000).check(value)
    try:
        parse_template(template)
    except ValueError as error:
        raise refusal(str(error), 'a template is text with fields in braces, such as "USER#{user}"') from None
    return template


def _format(value: Any) -> int:
    if isinstance(value, bool) or value != 1:
        raise refusal("must be 1, the format that this version reads")
    return 1


_TIME_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": DURATION_MAX_S},
        {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$"},
    ]
}

Seconds = Annotated[float, Leaf(seconds_of, _TIME_SCHEMA)]
PositiveSeconds = Annotated[float, Leaf(_positive_seconds, _TIME_SCHEMA)]
TimeOfDay = Annotated[float, Leaf(_time_of_day, {"anyOf": [{"type": ["number", "string"]}]})]
Start = Annotated[datetime, Leaf(_start, {"type": "string", "format": "date-time"})]
Switch = Annotated[bool, Leaf(_switch, {"type": "boolean"})]
Text = Annotated[str, text()]
Name = Annotated[str, text(least=1, most=1000)]
Template = Annotated[str, Leaf(_template, {"type": "string", "minLength": 1})]
Format = Annotated[int, Leaf(_format, {"const": 1})]

Fraction01 = Annotated[float, number(0, 1)]
PositiveFraction = Annotated[float, number(0, 1, above=True)]
PerSecond = Annotated[float, number(0, RATE_MAX_PER_S, "per second")]
Capacity = Annotated[float, number(1, RATE_MAX_PER_S, "units per second")]
Count = Annotated[int, whole(1, COUNT_MAX)]
CountOrZero = Annotated[int, whole(0, COUNT_MAX)]
Bytes = Annotated[int, whole(1, COUNT_MAX, "bytes")]
BytesOrZero = Annotated[int, whole(0, COUNT_MAX, "bytes")]
