"""Sentences: what limited what, from when to when, why nothing helped, and what would."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.results.result import Result


def explain(result: Result) -> list[str]:
    """The explanation of a run."""
    return []
