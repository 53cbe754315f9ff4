"""How loaded partitions were, and which refused something themselves: what the map and the ring show in colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from sim.keyspace.domain import Floats, Ints
from sim.limits import CEILING_PER_S
from sim.names import TABLE, AdmissionPolicy, Dimension, Limit, Mode
from sim.results.bottleneck import partition_rates, period_edges_s, served_seconds
from sim.results.plots.base import (
    HATCH,
    SLIGHT_FRACTION,
    SLIGHTLY_THROTTLED_COLOUR,
    TABLE_LIMIT_COLOUR,
    THROTTLED_COLOUR,
    THROTTLED_HATCH_COLOUR,
    WIDE_HATCH,
    joined_spans,
    size_inches,
)

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

BAR_INCHES = 0.62  # of height that a colour bar takes with its words
LITTLE, MORE = 1, 2  # how much of what was asked a partition refused; 0: nothing
_SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # a load of 3 % of a ceiling must not look like none
_FULL_FRACTION = 0.9  # a partition that gave this much of its ceiling in a period refused some of it itself


def loads(result: Outcome, resource: str) -> tuple[Floats, Ints]:
    """Load and refusals of each partition in each period: partitions × periods.

    The load is what was consumed of the ceiling, of reads or writes, whichever was nearer to it. Refusals are 0, `LITTLE` or `MORE`.
    """
    record = result.resources[resource]
    load = np.zeros((len(record.partitions), result.grid.periods))
    refused = np.zeros(load.shape, dtype=np.int64)
    for dimension in record.lanes:
        consumed, asked = _rates(result, resource, dimension)
        load = np.maximum(load, consumed / CEILING_PER_S[dimension])
        refused = np.maximum(refused, _how_much(_lost(result, resource, dimension, consumed, asked), asked))
    return load, refused


def mean_loads(result: Outcome, resource: str) -> tuple[Floats, Ints]:
    """Load and refusals of each partition over all the time that it served."""
    record = result.resources[resource]
    seconds = served_seconds(result, record.partitions)
    lived = np.maximum(seconds.sum(axis=1), 1e-9)
    load = np.zeros(len(record.partitions))
    refused = np.zeros(len(record.partitions), dtype=np.int64)
    for dimension in record.lanes:
        consumed, asked = _rates(result, resource, dimension)
        lost = _lost(result, resource, dimension, consumed, asked)
        load = np.maximum(load, (consumed * seconds).sum(axis=1) / lived / CEILING_PER_S[dimension])
        refused = np.maximum(refused, _how_much((lost * seconds).sum(axis=1), (asked * seconds).sum(axis=1)))
    return load, refused


def own_limits(result: Outcome) -> tuple[Limit, ...]:
    """Limits that belong to a partition: its ceiling, and before instant adaptive capacity its part of the table's."""
    instant = result.scenario.table.mode is Mode.ON_DEMAND or result.scenario.admission is AdmissionPolicy.INSTANT
    return (Limit.KEY_RANGE,) if instant else (Limit.KEY_RANGE, Limit.PROVISIONED)


def table_limit_spans(result: Outcome, resource: str) -> list[tuple[float, float]]:
    """From when to when, in seconds, a limit of the whole table or index refused something, to the period."""
    edges_s = period_edges_s(result)
    spans = []
    for lane in result.resources[resource].lanes.values():
        for limit, series in lane.by_limit.items():
            if limit in own_limits(result):
                continue
            first_s, end_s = lane.first_s[limit], lane.last_s[limit] + result.grid.tick_s
            spans += [
                (max(edges_s[k], first_s), min(edges_s[k + 1], end_s)) for k in np.flatnonzero(series > 0).tolist()
            ]
    return joined_spans(spans)


def load_scale(most: float, darkest: float | None = None) -> Normalize:
    """The scale of load colours up to ``darkest``, or in which the greatest load is well seen, up to a whole ceiling."""
    if darkest is not None:
        return Normalize(0.0, darkest)
    return Normalize(0.0, next((scale for scale in _SCALES if most <= 0.8 * scale), 1.0))


def load_bar(axes: Axes, shown: ScalarMappable, most: float, *, below: bool = False) -> None:
    """The colour bar of loads, at the right of a panel, or in the lowest `BAR_INCHES` of it."""
    inch = 1 / max(size_inches(axes)[1], 0.1)
    place = (0.3, BAR_INCHES * 0.72 * inch, 0.4, 0.11 * inch) if below else (1.012, 0.0, 0.014, 1.0)
    bar = axes.inset_axes(place)
    figure = axes.get_figure(root=True)
    colour_bar = figure.colorbar(shown, cax=bar, orientation="horizontal" if below else "vertical")  # type: ignore[union-attr]  # an Axes that is drawn on has a figure
    name_bar(colour_bar, most, ticks=3 if below else 5)


def name_bar(bar: Colorbar, most: float, *, ticks: int = 5) -> None:
    """Label and ticks of a colour bar of loads, the greatest of which may be more than the darkest shade tells."""
    bar.set_label("consumed, of ceiling" + (" (clipped)" if most > 1.05 * (bar.norm.vmax or 1.0) else ""))
    axis = bar.ax.xaxis if bar.orientation == "horizontal" else bar.ax.yaxis
    axis.set_major_locator(MaxNLocator(nbins=ticks, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.6g} %"))


def throttled_patch(how_much: int) -> tuple[Patch, str]:
    """Legend entry of partitions that refused something."""
    label = f"throttled, under {SLIGHT_FRACTION:.0%}" if how_much == LITTLE else "throttled"
    colour, hatch, of_hatch = throttled_marks(how_much)
    return Patch(facecolor=colour, edgecolor=of_hatch, hatch=hatch, linewidth=0), label


def table_limit_patch(resource: str) -> tuple[Patch, str]:
    """Legend entry of what a limit of the whole table or index refused."""
    whose = "table" if resource == TABLE else "index"
    return Patch(
        facecolor="none", edgecolor=TABLE_LIMIT_COLOUR, hatch=HATCH, linewidth=0
    ), f"throttled by the {whose}'s limit"


def throttled_marks(how_much: int) -> tuple[str, str, str]:
    """Colour, hatch and the hatch's colour of partitions that refused something; without colours the hatch tells them from a load."""
    if how_much == LITTLE:
        return SLIGHTLY_THROTTLED_COLOUR, WIDE_HATCH, THROTTLED_COLOUR
    return THROTTLED_COLOUR, HATCH, THROTTLED_HATCH_COLOUR


def _rates(result: Outcome, resource: str, dimension: Dimension) -> tuple[Floats, Floats]:
    return partition_rates(result, resource, dimension), partition_rates(result, resource, dimension, asked=True)


def _lost(result: Outcome, resource: str, dimension: Dimension, consumed: Floats, asked: Floats) -> Floats:
    """Units per second that partitions refused themselves."""
    return np.where(_at_its_own_limit(result, resource, dimension, consumed), asked - consumed, 0.0)


def _how_much(lost: Floats, asked: Floats) -> Ints:
    more: Ints = (lost > 0).astype(np.int64) + (lost > SLIGHT_FRACTION * asked)
    return more


def _at_its_own_limit(result: Outcome, resource: str, dimension: Dimension, consumed: Floats) -> Floats:
    """Where refusals are the partition's own: partitions × periods, true or false.

    Refusals are counted per partition and per limit, not per both. In periods in which both kinds of limit refused, those partitions count
    that gave nearly all they can; elsewhere there is no doubt.
    """
    by_limit = result.resources[resource].lanes[dimension].by_limit
    none = np.zeros(result.grid.periods)
    own = sum((by_limit.get(limit, none) for limit in own_limits(result)), none) > 0
    whole = sum((series for limit, series in by_limit.items() if limit not in own_limits(result)), none) > 0
    return np.asarray(own & (~whole | (consumed > _FULL_FRACTION * CEILING_PER_S[dimension])))
