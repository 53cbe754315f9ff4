"""The picture of a run: rates over time, and under them the map of the partitions."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from sim.names import TABLE, Dimension
from sim.results.explain import verdict
from sim.results.phrases import name
from sim.results.plots.arguments import check_figure, check_result
from sim.results.plots.base import DPI, SIZE_INCHES, Figure, Layout, Picture, columns_of, literal, with_canvas
from sim.results.plots.indexes import is_acted_on, shown_indexes
from sim.results.plots.partitions import Map, draw_map, finish_map, share_scale
from sim.results.plots.rates import draw_rates
from sim.results.plots.saving import save_figure

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

_TITLE_POINTS = 13
_TITLE_CHARACTERS_MAX = 64  # bold capitals of the figure's width
_INDEX_INCHES = 3.6  # that the figure grows for each


def plot_run(result: Outcome, figure: Figure | None = None) -> Figure:
    """Draw a run: rates of each dimension that has traffic, above a map of the partitions; below, the same of indexes.

    An index is shown where it throttled, or where auto scaling, a schedule or an event did something to it. The colours
    of loads mean the same in all maps.

    Parameters
    ----------
    figure : drawn on, after what is on it has been cleared; by default a new one of 10 × 6 inches, higher with indexes.

    Returns
    -------
    The figure, with a canvas: ``figure.savefig("run.png")`` works anywhere, and a notebook shows it as it is.

    Raises
    ------
    TypeError
        No result, or no Figure.
    """
    check_result(result)
    check_figure(figure)
    shown = [TABLE, *shown_indexes(result)]
    if figure is None:
        figure = Picture(figsize=(SIZE_INCHES[0], SIZE_INCHES[1] + _INDEX_INCHES * (len(shown) - 1)), dpi=DPI)
    figure.clear()
    with_canvas(figure)
    figure.set_layout_engine(Layout(h_pad=0.06, hspace=0.02))
    parts: list[tuple[str, Dimension | None, float]] = []  # resource; dimension, or None for its partitions; height
    for resource in shown:
        record = result.resources[resource]
        asked = [d for d, lane in record.lanes.items() if lane.offered_units.any()] or [Dimension.WRITE]
        parts += [
            (resource, d, 1.0)
            for d in record.lanes
            if (d in asked and (resource == TABLE or record.lanes[d].throttle_events.any()))
            or (resource != TABLE and is_acted_on(result, resource, d))
        ]
        parts.append((resource, None, min(1.6, 0.8 + 0.2 * (len(record.partitions) - len(record.splits)))))
    heights = [height for _, _, height in parts]
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    maps: list[tuple[Axes, Map]] = []
    for (resource, dimension, _), panel in zip(parts, panels, strict=True):
        if dimension is None:
            maps.append((panel, draw_map(result, panel, resource=resource)))
        else:
            draw_rates(result, dimension, panel, resource=resource)
    share_scale([drawn for _, drawn in maps])
    for panel, drawn in maps:
        finish_map(panel, drawn)
    for panel in panels[:-1]:
        panel.set_xlabel("")
        panel.tick_params(labelbottom=False)
    figure.align_ylabels(panels)
    _put_title(result, figure)
    return figure


def save_run(result: Outcome, path: str | PathLike[str]) -> None:
    """Save the picture of a run; the ending of ``path`` (.png, .svg, .pdf) chooses the format. The file is written whole or not at all."""
    save_figure(lambda: plot_run(result), path)


def _put_title(result: Outcome, figure: Figure) -> None:
    """Title and verdict at the top left; the title's empty second line keeps the room for the verdict."""
    title = result.scenario.title or result.scenario.table.name
    wide = columns_of(title) > len(title)
    title = name(title, longest=_TITLE_CHARACTERS_MAX // 2 if wide else _TITLE_CHARACTERS_MAX)
    says = verdict(result)
    figure.suptitle(f"{literal(title)}\n", x=0.01, ha="left", fontsize=_TITLE_POINTS, fontweight="bold")
    below = ScaledTranslation(0, -2.2 * _TITLE_POINTS / 72, figure.dpi_scale_trans)
    figure.text(
        0.01,
        1.0,
        f"{says[0].upper()}{says[1:]}",
        transform=figure.transFigure + below,
        va="top",
        fontsize=10,
        color="0.3",
    )
