"""Values of others: as Python's own, and as a message shows them."""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

DEPTH_MAX = 40  # of what is inside what; the scenario format needs 6, and refuses what is nested too deeply
SHOWN_CHARACTERS_MAX = 60  # of a wrong value in a message

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = SHOWN_CHARACTERS_MAX


def plain(value: Any, depth: int = 0) -> Any:
    """The same in Python's own numbers, texts, lists and dicts: numpy's numbers and arrays, fractions and decimals become such.

    What is none of them stays as it is, for whoever checks it to refuse.
    """
    if value is None or isinstance(value, bool | str) or depth > DEPTH_MAX:
        return str(value) if isinstance(value, str) and type(value).__module__ == "numpy" else value
    if isinstance(value, Mapping):
        return {key: plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real | Decimal):
        try:
            return float(value)
        except (OverflowError, ValueError):  # beyond a float, or a signalling NaN
            return value
    # Arrays and numpy's truth values, without asking for numpy.
    tolist = None if isinstance(value, type) else getattr(value, "tolist", None)
    return plain(tolist(), depth + 1) if callable(tolist) else value


def shown(value: Any) -> str:
    """A value as Python writes it, for a message: cut in the middle where it is long."""
    if callable(value) and hasattr(value, "__qualname__"):
        text = f"<{type(value).__name__} {value.__qualname__}>"
    else:
        try:
            text = _SHORT.repr(value)
        except ValueError:  # a whole number of over 4,300 digits
            text = f"<{type(value).__name__} too large to show>"
    text = text if isinstance(value, str) else " ".join(text.split())
    half = (SHOWN_CHARACTERS_MAX - 1) // 2
    return text if len(text) <= SHOWN_CHARACTERS_MAX + 2 else f"{text[:half]}…{text[-half:]}"
