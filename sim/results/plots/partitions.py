"""The map of a resource's partitions over time, in the order of the hash space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from sim.keyspace.domain import Floats, Ints
from sim.names import TABLE
from sim.results.bottleneck import period_edges_s, served_seconds
from sim.results.phrases import name
from sim.results.plots.arguments import check_drawn, record_of, share_of_ceiling
from sim.results.plots.base import (
    HATCH,
    LOAD_COLOURS,
    OUTLINE,
    SLIGHTLY_THROTTLED_COLOUR,
    TABLE_LIMIT_COLOUR,
    THROTTLED_COLOUR,
    TITLE_POINTS,
    legend,
    literal,
    size_inches,
    time_axis,
    time_bins,
    time_unit,
)
from sim.results.plots.loads import (
    LITTLE,
    MORE,
    load_bar,
    load_scale,
    loads,
    table_limit_patch,
    table_limit_spans,
    throttled_marks,
    throttled_patch,
)
from sim.results.recorder import PartitionRecord

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

_MAP_COLUMNS_MAX = 900  # about one for each pixel of a notebook's figure
_ROWS_PER_INCH, _ROWS_MIN = (
    50,
    60,
)  # a row has two pixels on a screen, lest a hot partition among a thousand fall between them
_NUMBERED_PARTITIONS = 24
_RULED_PARTITIONS = 48  # more bands than this are not ruled off from each other
_HATCHED_FRACTION = 0.01  # of the map's width
_STRIP_FRACTION = 0.12  # height of the strip above the bands, of theirs together


class Map(NamedTuple):
    """What was drawn of the partitions: the image of their loads, the greatest of these, and the entries of a legend."""

    image: AxesImage
    most: float
    handles: Sequence[Patch | Line2D]
    labels: Sequence[str]


def draw_partitions(result: Outcome, axes: Axes, *, resource: str = TABLE, most: float | None = None) -> Axes:
    """Draw each partition of a resource over time as a band, in the order of the hash space, coloured by its load.

    Bands are numbered from 0 at their middles, by the partitions that the run began with where these are few, else by their place at the
    end. A partition that was split takes the place of all that came out of it. The load is what it consumed of its ceiling, of reads or
    writes, whichever was nearer to it; spans in which its own ceiling refused something are laid over in the colour of throttling. What a
    limit of the whole table refused is no partition's doing: a strip above the bands shows when.

    Parameters
    ----------
    most : share of the ceiling for which the darkest shade stands, above 0 and up to 1; the same for panels side by side that are to be
        compared. None: chosen by the data.

    Raises
    ------
    TypeError
        No result, or no Axes.
    ValueError
        There is no such resource in the run, or ``most`` is no such share.
    """
    check_drawn(result, axes)
    finish_map(axes, draw_map(result, axes, resource=resource, darkest=share_of_ceiling(most)))
    return axes


def finish_map(axes: Axes, drawn: Map) -> None:
    """Colour bar and legend of a map."""
    load_bar(axes, drawn.image, drawn.most)
    legend(axes, drawn.handles, drawn.labels)


def share_scale(maps: Sequence[Map]) -> None:
    """One scale of colours for several maps, that of the greatest load, lest the darker one is the less loaded."""
    widest = max((drawn.image.norm for drawn in maps), key=lambda norm: norm.vmax or 0.0)
    for drawn in maps:
        drawn.image.set_norm(widest)


def draw_map(result: Outcome, axes: Axes, *, resource: str = TABLE, darkest: float | None = None) -> Map:
    """Draw what `draw_partitions` does, without colour bar and legend."""
    record = record_of(result, resource)
    places = band_places(record.partitions)
    load, throttled, x = _partition_grid(result, resource, places, _rows_for(axes))
    most = float(load.max(initial=0.0))
    extent = (float(x[0]), float(x[-1]), 0.0, float(places[:, 1].max()))
    image = axes.imshow(
        load,
        cmap=LOAD_COLOURS,
        norm=load_scale(most, darkest),
        extent=extent,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
    )
    axes.imshow(
        np.ma.masked_equal(throttled, 0),
        cmap=ListedColormap([SLIGHTLY_THROTTLED_COLOUR, THROTTLED_COLOUR]),
        norm=Normalize(LITTLE, MORE),
        extent=extent,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        label="throttled",
    )
    for how_much in (LITTLE, MORE):
        _hatch(throttled, how_much, extent, axes)
    _draw_bands(result, resource, places, axes)
    by_table = _draw_table_limits(result, resource, axes, extent[3])
    final = record.partition_counts[-1][1]
    axes.set_ylabel("partition" if final == 1 else "partition, in hash order")
    where = "" if resource == TABLE else f" of {literal(name(resource))}"
    count = f"{record.initial_partitions:,} → {final:,}" if record.splits else f"{final:,}"
    axes.set_title(f"Partitions{where}: {count}", loc="left", fontsize=TITLE_POINTS)
    axes.set_ylim(0, extent[3] * (1 + _STRIP_FRACTION if by_table else 1))
    _partition_ticks(record.partitions, places, axes)
    time_axis(result, axes)
    return Map(image, most, *_partition_legend(result, resource, throttled, by_table=by_table))


def _rows_for(axes: Axes) -> int:
    """So many rows as a panel of this height can show."""
    return max(_ROWS_MIN, int(_ROWS_PER_INCH * size_inches(axes)[1]))


def band_places(partitions: Sequence[PartitionRecord]) -> Ints:
    """Where each partition's band lies: its first and one past its last row, counted in partitions that serve at the end.

    Those at the end have equal heights, in the order of their ranges; one that was split covers all that came out of it.
    """
    final = sorted((p for p in partitions if p.retired_s is None), key=lambda p: p.low)
    row = {p.number: k for k, p in enumerate(final)}
    children: dict[int, list[PartitionRecord]] = {}
    for partition in partitions:
        if partition.parent is not None:
            children.setdefault(partition.parent, []).append(partition)
    places = np.zeros((len(partitions), 2), dtype=np.int64)
    # Children have higher numbers than their parent, so from the last to the first all children are placed before it.
    for partition in reversed(partitions):
        if partition.retired_s is None:
            places[partition.number] = (row[partition.number], row[partition.number] + 1)
        else:
            halves = [places[half.number] for half in children[partition.number]]
            places[partition.number] = (min(h[0] for h in halves), max(h[1] for h in halves))
    return places


def _partition_grid(result: Outcome, resource: str, places: Ints, rows_max: int) -> tuple[Floats, Ints, Floats]:
    """Load and throttling on a grid of bands and times that a picture can hold, and the edges of the times in the picture's unit."""
    record = result.resources[resource]
    partitions = record.partitions
    load, refused = loads(result, resource)
    served = served_seconds(result, partitions)
    edges_s = period_edges_s(result)
    scale_s, _ = time_unit(result)
    if not record.splits and len(partitions) <= rows_max:
        bins = time_bins(result.grid.periods, _MAP_COLUMNS_MAX, result.grid.period_s)
        width = np.diff(edges_s[bins])
        mean = np.add.reduceat(load * served, bins[:-1], axis=1) / width
        return mean, np.maximum.reduceat(refused, bins[:-1], axis=1), edges_s[bins] / scale_s
    # Splits fall between the edges of periods, so the picture has its own, even columns.
    columns_s = np.linspace(0.0, result.grid.duration_s, _MAP_COLUMNS_MAX + 1)
    middles = (columns_s[1:] + columns_s[:-1]) / 2
    period = np.searchsorted(edges_s, middles, side="right") - 1
    final = int(places[:, 1].max())
    rows = min(final, rows_max)
    grid = np.zeros((rows, len(middles)))
    marks = np.zeros(grid.shape, dtype=np.int64)
    for partition in partitions:
        retired_s = result.grid.duration_s if partition.retired_s is None else partition.retired_s
        alive = np.flatnonzero((middles >= partition.born_s) & (middles < retired_s))
        if not len(alive):
            continue
        low, high = places[partition.number]
        # Where there are more partitions than rows, a row shows the most loaded of its own.
        band = slice(low * rows // final, max(low * rows // final + 1, -(-high * rows // final)))
        span = slice(int(alive[0]), int(alive[-1]) + 1)
        grid[band, span] = np.maximum(grid[band, span], load[partition.number, period[alive]])
        marks[band, span] = np.maximum(marks[band, span], refused[partition.number, period[alive]])
    return grid, marks, columns_s / scale_s


def _hatch(throttled: Ints, how_much: int, extent: tuple[float, float, float, float], axes: Axes) -> None:
    """A hatch over what was throttled, which tells it from a middling load without colours; spans too short to show one have none."""
    rows, columns = throttled.shape
    steps = np.diff((throttled == how_much).astype(np.int8), axis=1, prepend=0, append=0)
    row, begin = np.nonzero(steps == 1)
    end = np.nonzero(steps == -1)[1]
    wide = end - begin >= _HATCHED_FRACTION * columns
    if not wide.any():
        return
    width, height = extent[1] / columns, extent[3] / rows
    left, right, low = begin[wide] * width, end[wide] * width, row[wide] * height
    _, hatch, colour = throttled_marks(how_much)
    corners = np.stack([left, low, right, low, right, low + height, left, low + height, left, low], axis=1)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(left)
    axes.add_patch(
        PathPatch(
            Path(corners.reshape(-1, 2), codes),
            facecolor="none",
            edgecolor=colour,
            hatch=hatch,
            linewidth=0,
        )
    )


def _draw_table_limits(result: Outcome, resource: str, axes: Axes, top: float) -> bool:
    """A hatched strip above the bands in the periods in which a limit of the whole table refused; returns whether there is one."""
    scale_s, _ = time_unit(result)
    spans = table_limit_spans(result, resource)
    bars = [(begin / scale_s, (end - begin) / scale_s) for begin, end in spans]
    if bars:
        axes.broken_barh(
            bars,
            (top, _STRIP_FRACTION * top),
            facecolor="none",
            edgecolor=TABLE_LIMIT_COLOUR,
            hatch=HATCH,
            linewidth=0,
            label="throttled by the table's limit",
        )
        axes.axhline(top, color="0.6", linewidth=0.5)
    return bool(bars)


def _draw_bands(result: Outcome, resource: str, places: Ints, axes: Axes) -> None:
    """Rules between bands, marks of splits and of declined splits, and numbers where there are few enough."""
    record = result.resources[resource]
    scale_s, _ = time_unit(result)
    end = result.grid.duration_s / scale_s
    few = int(places[:, 1].max()) <= _RULED_PARTITIONS
    if few:
        rules = [[(p.born_s / scale_s, places[p.number][0]), (end, places[p.number][0])] for p in record.partitions]
        axes.add_collection(LineCollection(rules, colors="0.6", linewidths=0.5), autolim=False)
    splits = [
        [(s.at_s / scale_s, places[s.partition][0]), (s.at_s / scale_s, places[s.partition][1])] for s in record.splits
    ]
    if splits:
        marks = LineCollection(splits, colors="black", linewidths=1.4 if few else 0.8, label="split")
        axes.add_collection(marks, autolim=False)
    if record.declined:
        axes.plot(
            [d.at_s / scale_s for d in record.declined],
            [places[d.partition].mean() for d in record.declined],
            linestyle="none",
            marker="X",
            markersize=8 if few else 6,
            markerfacecolor="black",
            markeredgecolor="white",
            label="split declined",
        )
    if len(record.partitions) <= _NUMBERED_PARTITIONS:
        for partition in record.partitions:
            if partition.parent is not None and partition.born_s != partition.retired_s:
                axes.annotate(
                    f"{partition.number}",
                    (partition.born_s / scale_s, places[partition.number].mean()),
                    xytext=(4, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7,
                    path_effects=OUTLINE,
                )


def _partition_ticks(partitions: Sequence[PartitionRecord], places: Ints, axes: Axes) -> None:
    first = [p.number for p in partitions if p.parent is None]
    if len(first) <= _NUMBERED_PARTITIONS // 2:
        axes.set_yticks([float(places[number].mean()) for number in first], [str(number) for number in first])
        axes.tick_params(axis="y", length=0)
    else:
        # A band's number stands at its middle, where there are few bands and where there are many.
        final = int(places[:, 1].max())
        numbers = [int(n) for n in MaxNLocator(nbins=6, integer=True).tick_values(0, final) if 0 <= n < final]
        axes.set_yticks([n + 0.5 for n in numbers], [f"{n:,}" for n in numbers])


def _partition_legend(
    result: Outcome, resource: str, throttled: Ints, *, by_table: bool
) -> tuple[list[Patch | Line2D], list[str]]:
    record = result.resources[resource]
    entries: list[tuple[bool, Patch | Line2D, str]] = [
        (bool((throttled == MORE).any()), *throttled_patch(MORE)),
        (bool((throttled == LITTLE).any()), *throttled_patch(LITTLE)),
        (by_table, *table_limit_patch(resource)),
        (
            bool(record.splits),
            Line2D([], [], color="black", linewidth=1.4, marker="|", linestyle="none", markersize=10),
            "split",
        ),
        (
            bool(record.declined),
            Line2D(
                [], [], marker="X", linestyle="none", markersize=8, markerfacecolor="black", markeredgecolor="white"
            ),
            "split declined",
        ),
    ]
    shown = [(handle, label) for there, handle, label in entries if there]
    return [handle for handle, _ in shown], [label for _, label in shown]
