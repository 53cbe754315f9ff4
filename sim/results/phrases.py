"""Numbers, times and names as words: what a report says instead of digits by the dozen."""

from __future__ import annotations

import math
from collections.abc import Sequence

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_SECONDS_SHOWN_BELOW_S = 300  # a time of five minutes or more is told to the minute
_LONGEST_NAME = 48
_SMALL_NUMBERS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_TO_ASCII = str.maketrans(
    {
        "–": "-",
        "—": "-",
        "→": "->",
        "·": "|",
        "×": "x",
        "÷": "/",
        "…": "...",
        "≥": ">=",
        "“": '"',
        "”": '"',
        "’": "'",
        "\u00a0": " ",
    }
)


def clock(at_s: float) -> str:
    """A moment or a length of time: ``45s``, ``1m30s``, ``12m``, ``1h05m``, ``2d03h``."""
    whole = round(at_s)
    if whole < 10 and at_s != whole:
        return f"{at_s:.2g}s"
    if whole < _MINUTE_S:
        return f"{whole}s"
    if whole < _SECONDS_SHOWN_BELOW_S:
        minutes, seconds = divmod(whole, _MINUTE_S)
        return f"{minutes}m{seconds:02d}s" if seconds else f"{minutes}m"
    minutes = round(at_s / _MINUTE_S)
    if minutes < _HOUR_S // _MINUTE_S:
        return f"{minutes}m"
    if minutes < 2 * _DAY_S // _MINUTE_S:
        hours, minutes = divmod(minutes, 60)
        return f"{hours}h{minutes:02d}m" if minutes else f"{hours}h"
    days, hours = divmod(round(at_s / _HOUR_S), 24)
    return f"{days}d{hours:02d}h" if hours else f"{days}d"


def lasting(seconds: float) -> str:
    """A short length of time: ``4.2 ms``, ``1.3 s``, from a minute on as `clock`."""
    if seconds < 0.9995:
        return f"{_to_figures(1000 * seconds, 2):g} ms"
    if seconds < _MINUTE_S:
        return f"{_to_figures(seconds, 2):g} s"
    return clock(seconds)


def amount(value: float) -> str:
    """A number to three figures, with separators for thousands; whole where it nearly is: ``1,500``, ``33.3``, ``0.5``."""
    return f"{_to_figures(value, 3):,.10g}" if abs(value) < 1e10 else f"{value:.3g}"


def count(value: float) -> str:
    """How many of something: whole below a thousand, three figures above, ``2.9 million``."""
    if value >= 999_500:
        for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
            if value >= size * 0.9995:
                return f"{_to_figures(value / size, 3):g} {word}"
    if 0 < value < 1:
        return "under 1"
    return amount(round(value))


def percent(fraction: float) -> str:
    """A share: ``33 %``, ``3.4 %``, ``0.12 %``, ``under 0.01 %``; 0 and 100 only where they are exact."""
    if fraction <= 0:
        return "0 %"
    if fraction < 0.0001:
        return "under 0.01 %"
    if 0.995 <= fraction < 1:
        return f"{min(fraction * 100, 99.9):.1f} %" if fraction < 0.9995 else "over 99.9 %"
    digits = 0 if fraction >= 0.0995 else 1 if fraction >= 0.00995 else 2
    return f"{fraction * 100:,.{digits}f} %"


def number(value: int) -> str:
    """A small whole number as a word, a greater one as digits."""
    return _SMALL_NUMBERS[value] if 0 <= value < len(_SMALL_NUMBERS) else f"{value:,}"


def plural(value: float, noun: str, many: str = "") -> str:
    """``1 split``, ``2 splits``; the plural form where it is not noun + s."""
    return f"{count(value)} {noun if value == 1 else many or noun + 's'}"


def joined(words: Sequence[str], most: int = 3) -> str:
    """``a``, ``a and b``, ``a, b and c``, ``a, b, c and 5 others``."""
    if len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most} others"]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def at_least(value: float) -> str:
    """A number to ask for, rounded up to two figures: 201 becomes ``210``, 10,104 becomes ``11,000``."""
    return f"{round_up(value):,}"


def round_up(value: float) -> int:
    """The least whole number of two figures that is not below ``value``."""
    if value <= 100:
        return math.ceil(value - 1e-9)
    step = int(10 ** (math.floor(math.log10(value)) - 1))
    return math.ceil(value / step - 1e-9) * step


def name(text: str, *, longest: int = _LONGEST_NAME) -> str:
    """A key or title as it can be shown on one line: control characters escaped, the middle of a long one left out."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(shown) > longest:
        half = longest // 2
        shown = f"{shown[: half - 1]}…{shown[-half:]}"
    return shown or '""'


def plain(text: str) -> str:
    """The same text in ASCII alone."""
    return text.translate(_TO_ASCII).encode("ascii", "backslashreplace").decode("ascii")


def sentence(text: str) -> str:
    """With a capital at its beginning and a stop at its end."""
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def _to_figures(value: float, figures: int) -> float:
    if value == 0:
        return 0.0
    digits = figures - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    return float(round(rounded)) if digits <= 0 else rounded
