"""A rate in the scenario format, times a factor."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from sim.errors import ScenarioError
from sim.scenario.base import Value, found_in
from sim.scenario.rates import TaggedRate, scaled
from sim.scenario.writing import to_plain


class _Given(Value):
    rate: TaggedRate


def scaled_rate(rate: Any, factor: float) -> Any:
    """A rate as the scenario format writes it, so many times as high at each moment; times stay, in seconds.

    ``scaled_rate([["0s", 100], ["10m", 1000]], 2)`` is ``[[0.0, 200.0], [600.0, 2000.0]]``.

    Parameters
    ----------
    rate : a number, steps, or a shape of any kind, as a pattern's ``rate`` is written.
    factor : finite, at least 0.

    Raises
    ------
    ScenarioError
        It is no rate.
    ValueError
        The factor is none, or the rate is a measured one (``kind = "csv"``), which stands in its file.
    """
    try:
        given = _Given.model_validate({"rate": to_plain(rate)}).rate
    except ValidationError as error:
        raise ScenarioError([found.problem("scaled_rate") for found in found_in(error)]) from None
    return to_plain(scaled(given, factor))
