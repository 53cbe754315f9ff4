"""What a picture is asked for: checked before anything is drawn, with a word on what is wanted instead.

A picture asks for its table or index and its dimension by the names that results have for them: ``"table"``, ``"index/NAME"``; ``"read"``,
``"write"``. A second of the run is a number, or a text such as ``"5m"``, as in a scenario.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic_core import PydanticCustomError

from sim.names import Dimension
from sim.results.outcome import Outcome
from sim.results.recorder import ResourceRecord
from sim.scenario.leaves import seconds_of

_NUMBERS_TOLD_MAX = 4  # of a list in a message


def check_result(result: object) -> None:
    """A TypeError where it is not the result of a run."""
    if not isinstance(result, Outcome):
        raise TypeError(f"a picture is of a result: sim.run(scenario) makes one; not {_kind(result)}")


def check_axes(axes: object) -> None:
    """A TypeError where it is nothing to draw on."""
    if not isinstance(axes, Axes):
        raise TypeError(f"give an Axes: plots.figure().subplots() makes one; not {_kind(axes)}")


def check_drawn(result: object, axes: object) -> None:
    """A TypeError where either is not what a picture needs."""
    check_result(result)
    check_axes(axes)


def check_figure(figure: object) -> None:
    """A TypeError where it is neither a figure to draw on nor None."""
    if figure is not None and not isinstance(figure, Figure):
        raise TypeError(f"figure is a Figure, or None for a new one; not {_kind(figure)}")


def check_comparison(comparison: object) -> None:
    """A TypeError where it is not what `sim.compare` makes."""
    if not isinstance(getattr(comparison, "variants", None), tuple):
        raise TypeError(
            f"a picture of a comparison: sim.compare({{...}}) makes a comparison of results; not {_kind(comparison)}"
        )


def record_of(result: Outcome, resource: str) -> ResourceRecord:
    """Record of a table or index by its name; a ValueError says which there are."""
    if not isinstance(resource, str) or resource not in result.resources:
        raise ValueError(f"resource {resource!r} is none of this run's: {', '.join(result.resources)}")
    return result.resources[resource]


def dimension_of(dimension: Dimension | str) -> Dimension:
    """Reads or writes by name; a TypeError or ValueError says what is allowed."""
    if isinstance(dimension, Axes):
        raise TypeError('the dimension comes before the Axes: draw_rates(result, "write", axes)')
    if not isinstance(dimension, str) or dimension not in tuple(Dimension):
        raise ValueError(f'dimension {dimension!r} must be "read" or "write"')
    return Dimension(dimension)


def whole_number(name: str, value: object, least: int) -> int:
    """A whole number from ``least``; a ValueError that names it otherwise."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} is a whole number from {least}, not {value!r}")
    return int(value)


def second_of(name: str, value: object, result: Outcome) -> float:
    """A second of the run, given as a number or as a text such as ``"5m"``; a ValueError says what is allowed."""
    end_s = result.grid.duration_s
    try:
        at_s = seconds_of(value)
    except PydanticCustomError:
        at_s = math.inf
    if at_s > end_s:
        raise ValueError(f'{name} is a second of the run, 0 to {end_s:g}, or a time such as "5m", not {value!r}')
    return at_s


def share_of_ceiling(most: object) -> float | None:
    """The share of a ceiling for which the darkest shade stands, above 0 to 1; None leaves it to the data."""
    if most is None:
        return None
    if isinstance(most, bool) or not isinstance(most, Real) or not 0 < float(most) <= 1:
        raise ValueError(f"most is a share of the ceiling, above 0 and up to 1, not {most!r}")
    return float(most)


def partition_numbers(partitions: object) -> list[int]:
    """Numbers of partitions; a ValueError where they are no list of whole numbers, or none."""
    if isinstance(partitions, str) or not isinstance(partitions, Iterable):
        raise ValueError(f"partitions is a list of partitions' numbers, such as [0, 1], not {partitions!r}")
    given = list(partitions)
    if not given:
        raise ValueError("partitions must name at least one")
    return [whole_number("each of partitions", number, 0) for number in given]


def told(numbers: Sequence[int]) -> str:
    """Numbers in a message, the middle of a long list left out."""
    if len(numbers) <= _NUMBERS_TOLD_MAX:
        return repr(list(numbers))
    return f"[{numbers[0]}, {numbers[1]}, … {numbers[-1]}], {len(numbers):,} numbers"


def _kind(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
