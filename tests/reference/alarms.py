"""An alarm as CloudWatch's pages describe it, without any cleverness: points as letters, one look after the other."""

from __future__ import annotations

from collections.abc import Sequence

MISSING, FINE, BREACHING = "-", "0", "X"


def look(window: str, wanted: int, needed: int, treatment: str, state: str) -> str:
    """The state after a look at a window of points as AWS writes them, the newest on the right."""
    real = window.replace(MISSING, "")
    if len(real) >= wanted:
        return "ALARM" if real[-wanted:].count(BREACHING) >= needed else "OK"
    if treatment in ("breaching", "notBreaching"):
        filler = BREACHING if treatment == "breaching" else FINE
        filled = real + filler * (wanted - len(real))
        return "ALARM" if filled.count(BREACHING) >= needed else "OK"
    if real.count(BREACHING) >= needed:
        return "ALARM"
    if FINE in real:
        return "OK"
    if not real:
        return "INSUFFICIENT_DATA" if treatment == "missing" else state
    age = len(window) - window.index(BREACHING)
    return "ALARM" if age >= needed and treatment == "missing" else state


def state_changes(
    values: Sequence[float | None],
    breaches: Sequence[bool],
    period: int,
    wanted: int,
    needed: int,
    treatment: str,
    extra: int,
) -> list[tuple[int, str]]:
    """Minutes passed and new state at each change.

    Parameters
    ----------
    values : of the period that ends with each minute, None where it has no data; ``breaches`` whether each breaches.
    period : minutes of a period.
    """
    points = [MISSING if v is None else BREACHING if b else FINE for v, b in zip(values, breaches, strict=True)]
    state, changes = "INSUFFICIENT_DATA", []
    for minute in range(len(points)):
        places = [minute - period * back for back in reversed(range(wanted + extra))]
        window = "".join(points[place] if place >= 0 else MISSING for place in places)
        new = look(window, wanted, needed, treatment, state)
        if new != state:
            changes.append((minute + 1, new))
            state = new
    return changes
