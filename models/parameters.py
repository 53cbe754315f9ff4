"""What the parameters of designs and workloads may be: a wrong one is refused by name, with the value given and what is allowed."""

from __future__ import annotations

import math
from typing import Any


def a_number(name: str, value: Any, least: float, most: float) -> float:
    """A number from ``least`` to ``most``.

    Raises
    ------
    ValueError
        It is none, or lies outside.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not least <= value <= most:
        raise ValueError(f"{name} = {value!r}: must be a number from {least:,.10g} to {most:,.10g}")
    return float(value)


def a_count(name: str, value: Any, least: int, most: int) -> int:
    """A whole number from ``least`` to ``most``. Errors are those of `a_number`."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name} = {value!r}: must be a whole number from {least:,} to {most:,}")
    return value


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """One of a few words. Errors are those of `a_number`."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} = {value!r}: must be {' or '.join(repr(word) for word in allowed)}")
    return value


def a_switch(name: str, value: Any) -> bool:
    """True or False. Errors are those of `a_number`."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} = {value!r}: must be True or False")
    return value
