"""The picture of one position: rates above partitions, of the same size and in the same places whatever the position is."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, TypeAlias

from sim.names import TABLE, Dimension

if TYPE_CHECKING:
    from sim.results.result import Result

# Resource, and the dimension of its rates or None for its partitions.
Panel: TypeAlias = tuple[str, Dimension | None]

DPI = 100
WIDTH_INCHES = 9.0
_RATES_INCHES, _PARTITIONS_INCHES = 1.0, 1.3  # low, so that the explanation begins in the window too
_MANY, _OF_MANY = 3, 0.9  # from so many panels on each is lower, so that the sliders stay in view
_SMALL_POINTS = 8  # of labels beside panels, which are low
_ABOVE_INCHES = 0.44  # of each panel: its title, and a legend of up to two lines
_BELOW_INCHES = 0.5  # of the last: times
_LEFT, _RIGHT = 0.1, 0.885  # beyond: numbers and their label; the bar of colours


def panels_of(busy: Sequence[tuple[str, Dimension]]) -> tuple[Panel, ...]:
    """What a picture has: rates of each dimension of the table that has traffic, the table's partitions, and those of the first index.

    Parameters
    ----------
    busy : resources and dimensions with traffic, the table's first.
    """
    rates: list[Panel] = [(resource, dimension) for resource, dimension in busy if resource == TABLE]
    indexes = list(dict.fromkeys(resource for resource, _ in busy if resource != TABLE))
    return (*(rates or [(TABLE, Dimension.WRITE)]), (TABLE, None), *((resource, None) for resource in indexes[:1]))


def picture(result: Result, panels: Sequence[Panel]) -> bytes:
    """PNG of a run. Panels lie at fixed places, for a layout that is worked out anew costs as much as the drawing."""
    from sim.results.plots import Picture, draw_partitions, draw_rates  # brings matplotlib

    scale = _OF_MANY if len(panels) >= _MANY else 1.0
    heights = [scale * (_PARTITIONS_INCHES if dimension is None else _RATES_INCHES) for _, dimension in panels]
    height = sum(heights) + len(panels) * _ABOVE_INCHES + _BELOW_INCHES
    figure = Picture(figsize=(WIDTH_INCHES, height), dpi=DPI)
    bottom = height
    for number, (resource, dimension) in enumerate(panels):
        bottom -= _ABOVE_INCHES + heights[number]
        axes = figure.add_axes((_LEFT, bottom / height, _RIGHT - _LEFT, heights[number] / height))
        if dimension is None:
            draw_partitions(result, axes, resource=resource)
        else:
            draw_rates(result, dimension, axes, resource=resource)
        for drawn in (axes, *axes.child_axes):
            drawn.yaxis.label.set_fontsize(_SMALL_POINTS)
        if number < len(panels) - 1:
            axes.set_xlabel("")
            axes.tick_params(labelbottom=False)
    figure.align_ylabels()
    data = BytesIO()
    figure.savefig(data, format="png", pil_kwargs={"compress_level": 1})  # small enough, in a third of the time
    return data.getvalue()
