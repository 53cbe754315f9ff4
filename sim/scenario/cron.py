"""AWS's cron expressions: six fields, in UTC, and the moments at which they come (F-AS-12).

``minutes hours day-of-month month day-of-week year``, with or without ``cron(…)``. Each field is a list of numbers, ranges and steps;
months and weekdays have names too, and a week begins with Sunday, 1. Exactly one of the two day fields is ``?``. Day-of-month knows ``L``
(the last), ``LW`` (the last weekday, Monday to Friday) and ``15W`` (the weekday nearest to the 15th, in the same month); day-of-week
knows ``L`` (Saturday), ``6L`` (the last Friday) and ``3#2`` (the second Tuesday).
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

CRON_FIELDS = ("minutes", "hours", "day-of-month", "month", "day-of-week", "year")
YEAR_FIRST, YEAR_LAST = 1970, 2199  # AWS's range

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), start=1
    )
}
_WEEKDAYS = {name: number for number, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), start=1)}
_RANGES = {
    "minutes": (0, 59),
    "hours": (0, 23),
    "day-of-month": (1, 31),
    "month": (1, 12),
    "day-of-week": (1, 7),
    "year": (YEAR_FIRST, YEAR_LAST),
}
_NAMES: Mapping[str, Mapping[str, int]] = {"month": _MONTHS, "day-of-week": _WEEKDAYS}

_Days = Callable[[int, int], frozenset[int]]  # days of a month of a year


@dataclass(frozen=True)
class Cron:
    """One expression, parsed.

    Attributes
    ----------
    days : which days of a month of a year it names.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: _Days
    months: frozenset[int]
    years: frozenset[int]

    def days_from(self, first: date) -> Iterator[date]:
        """The days on which it comes, from one day on, for as long as AWS's years go."""
        for year in range(max(first.year, min(self.years)), max(self.years) + 1):
            if year not in self.years:
                continue
            for month in sorted(self.months):
                if (year, month) >= (first.year, first.month):
                    days = (date(year, month, day) for day in sorted(self.days(year, month)))
                    yield from (day for day in days if day >= first)

    def offsets_s(self, start: datetime, duration_s: float) -> Iterator[float]:
        """Seconds from ``start`` (UTC) at which it comes, ascending, from 0 to before ``duration_s``."""
        for day in self.days_from(start.astimezone(UTC).date()):
            midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
            for hour in self.hours:
                for minute in self.minutes:
                    offset_s = (midnight + timedelta(hours=hour, minutes=minute) - start).total_seconds()
                    if offset_s >= duration_s:
                        return
                    if offset_s >= 0:
                        yield offset_s


def parse_cron(text: str) -> Cron:
    """Parse an expression.

    Raises
    ------
    ValueError
        With a sentence that names the field, what stands there, and what is allowed.
    """
    inner = text.strip()
    if inner.startswith("cron(") and inner.endswith(")"):
        inner = inner[len("cron(") : -1].strip()
    parts = inner.split()
    if len(parts) != len(CRON_FIELDS):
        raise ValueError(f"must be AWS's six cron fields ({' '.join(CRON_FIELDS)}), in UTC, not {len(parts)}")
    minutes, hours, month_days, months, weekdays, years = (part.upper() for part in parts)
    if (month_days == "?") == (weekdays == "?"):
        raise ValueError("must have ? in exactly one of day-of-month and day-of-week")
    cron = Cron(
        tuple(sorted(_numbers("minutes", minutes))),
        tuple(sorted(_numbers("hours", hours))),
        _month_days(month_days) if weekdays == "?" else _week_days(weekdays),
        _numbers("month", months),
        _numbers("year", years),
    )
    if next(cron.days_from(date(YEAR_FIRST, 1, 1)), None) is None:
        raise ValueError("never comes: no such day in any of these months and years")
    return cron


def _month_days(part: str) -> _Days:
    if part == "L":
        return lambda year, month: frozenset({calendar.monthrange(year, month)[1]})
    if part == "LW":
        return lambda year, month: frozenset({_nearest_weekday(year, month, 31)})
    if found := re.fullmatch(r"(\d{1,2})W", part):
        wanted = _number("day-of-month", found[1])
        return lambda year, month: (
            frozenset({_nearest_weekday(year, month, wanted)})
            if wanted <= calendar.monthrange(year, month)[1]
            else frozenset()
        )
    numbers = _numbers("day-of-month", part)
    return lambda year, month: frozenset(day for day in numbers if day <= calendar.monthrange(year, month)[1])


def _week_days(part: str) -> _Days:
    if part != "L" and (found := re.fullmatch(r"(\w+?)L", part)):
        weekday = _number("day-of-week", found[1])
        return lambda year, month: frozenset(_on(year, month, {weekday})[-1:])
    if found := re.fullmatch(r"(\w+)#(\d+)", part):
        weekday, which = _number("day-of-week", found[1]), int(found[2])
        if not 1 <= which <= 5:
            raise ValueError(f"day-of-week: {part} asks for number {which} of a month; 1 to 5 exist")
        return lambda year, month: frozenset(_on(year, month, {weekday})[which - 1 : which])
    numbers = {_WEEKDAYS["SAT"]} if part == "L" else _numbers("day-of-week", part)
    return lambda year, month: frozenset(_on(year, month, numbers))


def _on(year: int, month: int, weekdays: set[int] | frozenset[int]) -> list[int]:
    """Days of a month that fall on some weekdays (1: Sunday)."""
    first, length = calendar.monthrange(year, month)  # 0: Monday
    return [day for day in range(1, length + 1) if (first + day) % 7 + 1 in weekdays]


def _nearest_weekday(year: int, month: int, wanted: int) -> int:
    """The day from Monday to Friday nearest to a day, in the same month; a day past the end means the last weekday."""
    length = calendar.monthrange(year, month)[1]
    day = min(wanted, length)
    match calendar.weekday(year, month, day):
        case calendar.SATURDAY:
            return day - 1 if day > 1 else day + 2
        case calendar.SUNDAY:
            return day + 1 if day < length else day - 2
    return day


def _numbers(field: str, part: str) -> frozenset[int]:
    """What a field's list of numbers, ranges and steps stands for."""
    return frozenset(number for one in part.split(",") for number in _steps(field, one))


def _steps(field: str, one: str) -> range | list[int]:
    low, high = _RANGES[field]
    body, slash, step_text = one.partition("/")
    if slash and not (step_text.isascii() and step_text.isdigit() and int(step_text) > 0):
        raise ValueError(f"{field}: {one!r} has no step; a step is a whole number from 1, such as */15")
    step = int(step_text) if slash else 1
    if body == "*":
        return range(low, high + 1, step)
    first, dash, last = body.partition("-")
    begin = _number(field, first)
    if not dash:
        return range(begin, high + 1, step) if slash else range(begin, begin + 1)
    end = _number(field, last)
    if begin <= end:
        return range(begin, end + 1, step)
    if field == "year":
        raise ValueError(f"year: {one!r} ends before it begins")
    size = high - low + 1  # FRI-MON goes on over the week's end, 22-2 over midnight
    return [low + (number - low) % size for number in range(begin, end + size + 1, step)]


def _number(field: str, text: str) -> int:
    names = _NAMES.get(field, {})
    if text in names:
        return names[text]
    low, high = _RANGES[field]
    if text.isascii() and text.isdigit() and low <= int(text) <= high:
        return int(text)
    allowed = f"numbers from {low} to {high}" + (f" or {', '.join(names)}" if names else "")
    special = {
        "day-of-month": ", and L, LW, 15W on their own",
        "day-of-week": ", and L, 6L, 3#2 on their own",
    }.get(field, "")
    raise ValueError(f"{field}: {text!r} is not understood; allowed are {allowed}, with , - * /{special}")
