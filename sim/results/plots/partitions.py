"""The map of a resource's partitions over time, in the order of the hash space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from sim.keyspace.domain import Floats, Ints
from sim.limits import CEILING_PER_S
from sim.names import TABLE, AdmissionPolicy, Dimension, Limit, Mode
from sim.results.bottleneck import partition_rates, period_edges_s, served_seconds
from sim.results.phrases import name
from sim.results.plots.base import (
    LOAD_COLOURS,
    OUTLINE,
    SLIGHT_FRACTION,
    SLIGHTLY_THROTTLED_COLOUR,
    TABLE_LIMIT_COLOUR,
    THROTTLED_COLOUR,
    legend,
    literal,
    time_axis,
    time_bins,
    time_unit,
)
from sim.results.recorder import PartitionRecord

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

_MAP_COLUMNS_MAX = 900  # about one for each pixel of a notebook's figure
_ROWS_MAX = 600
_NUMBERED_PARTITIONS = 24
_RULED_PARTITIONS = 48  # more bands than this are not ruled off from each other
_SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # a load of 3 % of a ceiling must not look like none
_STRIP_FRACTION = 0.12  # height of the strip above the bands, of theirs together
_FULL_FRACTION = 0.9  # a partition that gave this much of its ceiling in a period refused some of it itself


def draw_partitions(result: Outcome, axes: Axes, *, resource: str = TABLE) -> Axes:
    """Draw each partition of a resource over time as a band, in the order of the hash space, coloured by its load.

    A partition that was split takes the place of all that came out of it. The load is what it consumed of its ceiling, of reads or writes,
    whichever was nearer to it; spans in which its own ceiling refused something are laid over in the colour of throttling. What a limit of
    the whole table refused is no partition's doing: a strip above the bands shows when.
    """
    record = result.resources[resource]
    places = band_places(record.partitions)
    load, throttled, x = _partition_grid(result, resource, places)
    most = float(load.max(initial=0.0))
    norm = Normalize(0.0, next((scale for scale in _SCALES if most <= 0.8 * scale), 1.0))
    extent = (float(x[0]), float(x[-1]), 0.0, float(places[:, 1].max()))
    image = axes.imshow(
        load, cmap=LOAD_COLOURS, norm=norm, extent=extent, origin="lower", aspect="auto", interpolation="nearest"
    )
    axes.imshow(
        np.ma.masked_equal(throttled, 0),
        cmap=ListedColormap([SLIGHTLY_THROTTLED_COLOUR, THROTTLED_COLOUR]),
        norm=Normalize(1, 2),
        extent=extent,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        label="throttled",
    )
    _draw_bands(result, resource, places, axes)
    by_table = _draw_table_limits(result, resource, axes, extent[3])
    bar = axes.inset_axes((1.012, 0.0, 0.014, 1.0))
    colour_bar = axes.get_figure(root=True).colorbar(image, cax=bar)  # type: ignore[union-attr]  # an Axes that is drawn on has a figure
    colour_bar.set_label("consumed, of ceiling" + (" (clipped)" if most > 1.05 else ""))
    bar.yaxis.set_major_locator(MaxNLocator(nbins=5))
    bar.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.6g} %"))
    final = record.partition_counts[-1][1]
    axes.set_ylabel("partition" if final == 1 else "partition, in hash order")
    where = "" if resource == TABLE else f" of {literal(name(resource))}"
    count = f"{record.initial_partitions:,} → {final:,}" if record.splits else f"{final:,}"
    axes.set_title(f"Partitions{where}: {count}", loc="left", fontsize=10)
    axes.set_ylim(0, extent[3] * (1 + _STRIP_FRACTION if by_table else 1))
    _partition_ticks(record.partitions, places, axes)
    legend(axes, *_partition_legend(result, resource, throttled, by_table=by_table))
    time_axis(result, axes)
    return axes


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


def _partition_grid(result: Outcome, resource: str, places: Ints) -> tuple[Floats, Ints, Floats]:
    """Load and throttling on a grid of bands and times that a picture can hold, and the edges of the times in the picture's unit."""
    record = result.resources[resource]
    partitions = record.partitions
    load = np.zeros((len(partitions), result.grid.periods))
    refused = np.zeros(load.shape, dtype=np.int64)  # 0 nothing, 1 a little, 2 more
    for dimension in record.lanes:
        consumed = partition_rates(result, resource, dimension)
        asked = partition_rates(result, resource, dimension, asked=True)
        load = np.maximum(load, consumed / CEILING_PER_S[dimension])
        lost = np.where(_at_its_own_limit(result, resource, dimension, consumed), asked - consumed, 0.0)
        refused = np.maximum(refused, (lost > 0).astype(np.int64) + (lost > SLIGHT_FRACTION * asked))
    served = served_seconds(result, partitions)
    edges_s = period_edges_s(result)
    scale_s, _ = time_unit(result)
    if not record.splits and len(partitions) <= _ROWS_MAX:
        bins = time_bins(result.grid.periods, _MAP_COLUMNS_MAX)
        width = np.diff(edges_s[bins])
        mean = np.add.reduceat(load * served, bins[:-1], axis=1) / width
        return mean, np.maximum.reduceat(refused, bins[:-1], axis=1), edges_s[bins] / scale_s
    # Splits fall between the edges of periods, so the picture has its own, even columns.
    columns_s = np.linspace(0.0, result.grid.duration_s, _MAP_COLUMNS_MAX + 1)
    middles = (columns_s[1:] + columns_s[:-1]) / 2
    period = np.searchsorted(edges_s, middles, side="right") - 1
    final = int(places[:, 1].max())
    rows = min(final, _ROWS_MAX)
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


def own_limits(result: Outcome) -> tuple[Limit, ...]:
    """Limits that belong to a partition: its ceiling, and before instant adaptive capacity its part of the table's."""
    instant = result.scenario.table.mode is Mode.ON_DEMAND or result.scenario.admission is AdmissionPolicy.INSTANT
    return (Limit.KEY_RANGE,) if instant else (Limit.KEY_RANGE, Limit.PROVISIONED)


def _draw_table_limits(result: Outcome, resource: str, axes: Axes, top: float) -> bool:
    """A hatched strip above the bands in the periods in which a limit of the whole table refused; returns whether there is one."""
    edges_s = period_edges_s(result)
    scale_s, _ = time_unit(result)
    spans = []
    for lane in result.resources[resource].lanes.values():
        for limit, series in lane.by_limit.items():
            if limit in own_limits(result):
                continue
            first_s, end_s = lane.first_s[limit], lane.last_s[limit] + result.grid.tick_s
            spans += [
                (max(edges_s[k], first_s), min(edges_s[k + 1], end_s)) for k in np.flatnonzero(series > 0).tolist()
            ]
    bars = [(begin / scale_s, (end - begin) / scale_s) for begin, end in _joined_spans(spans)]
    if bars:
        axes.broken_barh(
            bars,
            (top, _STRIP_FRACTION * top),
            facecolor="none",
            edgecolor=TABLE_LIMIT_COLOUR,
            hatch="////",
            linewidth=0,
            label="throttled by the table's limit",
        )
        axes.axhline(top, color="0.6", linewidth=0.5)
    return bool(bars)


def _joined_spans(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans that touch or overlap as one."""
    joined: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


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
            if partition.parent is not None:
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
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _partition_legend(
    result: Outcome, resource: str, throttled: Ints, *, by_table: bool
) -> tuple[list[Patch | Line2D], list[str]]:
    record = result.resources[resource]
    entries: list[tuple[bool, Patch | Line2D, str]] = [
        (bool((throttled == 2).any()), Patch(color=THROTTLED_COLOUR), "throttled"),
        (
            bool((throttled == 1).any()),
            Patch(color=SLIGHTLY_THROTTLED_COLOUR),
            f"throttled, under {SLIGHT_FRACTION:.0%}",
        ),
        (
            by_table,
            Patch(facecolor="none", edgecolor=TABLE_LIMIT_COLOUR, hatch="////", linewidth=0),
            "throttled by the table's limit" if resource == TABLE else "throttled by the index's limit",
        ),
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
