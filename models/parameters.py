"""What the parameters of designs and workloads may be: a wrong one is refused by name, with the value given and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from models.values import plain, shown


def a_number(name: str, value: Any, least: float, most: float) -> float:
    """A number from ``least`` to ``most``: Python's, numpy's, a fraction or a decimal.

    Raises
    ------
    ValueError
        It is none, or lies outside.
    """
    given = _number(value)
    if given is None or not least <= given <= most:
        raise ValueError(f"{name} = {shown(plain(value))}: must be a number from {least:,.10g} to {most:,.10g}")
    return float(given)


def a_count(name: str, value: Any, least: int, most: int) -> int:
    """A whole number from ``least`` to ``most``; 1e3 is one, as it is in the scenario format. Errors are those of `a_number`."""
    given = _number(value)
    if given is None or given != math.floor(given) or not least <= given <= most:
        raise ValueError(f"{name} = {shown(plain(value))}: must be a whole number from {least:,} to {most:,}")
    return int(given)


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """One of a few words. Errors are those of `a_number`."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} = {shown(plain(value))}: must be {' or '.join(repr(word) for word in allowed)}")
    return str(value)


def a_switch(name: str, value: Any) -> bool:
    """True or False. Errors are those of `a_number`."""
    given = plain(value)
    if not isinstance(given, bool):
        raise ValueError(f"{name} = {shown(given)}: must be True or False")
    return given


def a_text(name: str, value: Any) -> str:
    """A text. Errors are those of `a_number`."""
    if not isinstance(value, str):
        raise ValueError(f"{name} = {shown(plain(value))}: must be a text")
    return value


def a_mapping(name: str, value: Any, example: str = "{key: value}") -> Mapping[str, Any]:
    """A mapping with texts as keys. Errors are those of `a_number`."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} = {shown(plain(value))}: must be a mapping, {example}")
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"{name}: its keys must be texts; {shown(key)} is none")
    return value


def a_list(name: str, value: Any, example: str = "[…]") -> Sequence[Any]:
    """A list or another sequence that is no text. Errors are those of `a_number`."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise ValueError(f"{name} = {shown(plain(value))}: must be a list, {example}")
    return value


def _number(value: Any) -> int | float | None:
    """Its value as Python's own, a whole one however large; None for everything else, also nan, infinity, True and False."""
    given = plain(value)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return given if isinstance(given, int) or math.isfinite(given) else None
