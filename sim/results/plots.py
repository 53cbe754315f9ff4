"""The picture of a run: rates over time, and under them every partition's load in the order of the hash space.

`plot_run` makes the whole figure; `draw_rates` and `draw_partitions` draw one panel on an Axes and return it. Figures are made without
pyplot, so that no display is needed and nothing global changes.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Mapping, Sequence
from io import BytesIO
from os import PathLike
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure as Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator
from matplotlib.transforms import ScaledTranslation

from sim.files import write_whole
from sim.keyspace.domain import Floats, Ints
from sim.limits import CEILING_PER_S
from sim.names import ALARM_HIGH, TABLE, AdmissionPolicy, AlarmState, ControlAction, Dimension, Limit, Mode
from sim.results.alarms import evaluate_alarms
from sim.results.bottleneck import partition_rates, period_edges_s, served_seconds
from sim.results.explain import verdict
from sim.results.phrases import amount, name
from sim.results.recorder import PartitionRecord

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

SIZE_INCHES = (10.0, 6.0)
DPI = 100

# Okabe and Ito's palette, told apart with every kind of colour vision, and by lightness in print.
CONSUMED_COLOUR = "#56B4E9"
THROTTLED_COLOUR = "#D55E00"
SLIGHTLY_THROTTLED_COLOUR = "#F2B88A"
SLIGHT_FRACTION = 0.01
TABLE_LIMIT_COLOUR = "#CC79A7"
OFFERED_COLOUR = "#000000"
ALARM_COLOUR = "#E69F00"
CAPACITY_COLOUR = "#009E73"
LOAD_COLOURS = "Blues"

_RATE_BINS_MAX = 450  # finer ones would show the noise of chance rather than the course of the run
_MAP_COLUMNS_MAX = 900  # about one for each pixel of a notebook's figure
_ROWS_MAX = 600
_ALARMS_SHOWN = 6
_ALARM_FRACTION = 0.09  # height of an alarm's bar, of what is below it
_NUMBERED_PARTITIONS = 24
_RULED_PARTITIONS = 48  # more bands than this are not ruled off from each other
_CAPACITY_IN_VIEW = (
    2.5  # capacity this many times above all that was offered would press the rest down: it is told in words
)
_SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # a load of 3 % of a ceiling must not look like none
_TIME_UNITS = (
    (120.0, 1.0, "seconds"),
    (3 * 3600.0, 60.0, "minutes"),
    (3 * 86_400.0, 3600.0, "hours"),
    (np.inf, 86_400.0, "days"),
)
_TIME_STEPS: Mapping[str, tuple[float, ...]] = {
    "seconds": (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30),
    "minutes": (0.5, 1, 2, 5, 10, 15, 20, 30),
    "hours": (0.5, 1, 2, 3, 4, 6, 12),
    "days": (0.5, 1, 2, 5, 7, 14, 30, 60, 90),
}
_TIME_TICKS_MAX = 10
_TITLE_POINTS = 13
_TITLE_CHARACTERS_MAX = 64  # bold capitals of the figure's width
_MARKS_FRACTION = 0.06  # of a panel's height, from the highest line to the row of marks
_CHANGE_MARKS: Mapping[str, tuple[str, str]] = {
    ControlAction.AUTO_SCALING: ("auto scaling", "o"),
    ControlAction.SCHEDULE: ("schedule", "D"),
    ControlAction.UPDATE_TABLE: ("UpdateTable", "s"),
}
_LEGEND_COLUMNS_MAX = 5
_INDEXES_SHOWN = 2  # those that refused most, then those whose capacity changed; the report names all
_INDEX_INCHES = 3.6  # that the figure grows for each
_STRIP_FRACTION = 0.12  # height of the strip above the bands, of theirs together
_FULL_FRACTION = 0.9  # a partition that gave this much of its ceiling in a period refused some of it itself
_OUTLINE = [withStroke(linewidth=2.0, foreground="white")]


def plot_run(result: Outcome, figure: Figure | None = None) -> Figure:
    """Draw a run: rates of each dimension that has traffic, above a map of the partitions; below, the same of indexes.

    An index is shown where it throttled, or where auto scaling, a schedule or an event did something to it.

    Parameters
    ----------
    figure : drawn on, after what is on it has been cleared; by default a new one of 10 × 6 inches, higher with indexes.

    Returns
    -------
    The figure, with a canvas: ``figure.savefig("run.png")`` works anywhere, and a notebook shows it as it is.
    """
    shown = [TABLE, *_shown_indexes(result)]
    if figure is None:
        figure = Figure(figsize=(SIZE_INCHES[0], SIZE_INCHES[1] + _INDEX_INCHES * (len(shown) - 1)), dpi=DPI)
    figure.clear()
    if figure.canvas is None or type(figure.canvas).__name__ == "FigureCanvasBase":
        FigureCanvasAgg(figure)
    figure.set_layout_engine("constrained", h_pad=0.06, hspace=0.02)
    parts: list[tuple[str, Dimension | None, float]] = []  # resource; dimension, or None for its partitions; height
    for resource in shown:
        record = result.resources[resource]
        asked = [d for d, lane in record.lanes.items() if lane.offered_units.any()] or [Dimension.WRITE]
        parts += [
            (resource, d, 1.0)
            for d in record.lanes
            if (d in asked and (resource == TABLE or record.lanes[d].throttle_events.any()))
            or (resource != TABLE and _is_acted_on(result, resource, d))
        ]
        parts.append((resource, None, min(1.6, 0.8 + 0.2 * (len(record.partitions) - len(record.splits)))))
    heights = [height for _, _, height in parts]
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for (resource, dimension, _), panel in zip(parts, panels, strict=True):
        if dimension is None:
            draw_partitions(result, panel, resource=resource)
        else:
            draw_rates(result, dimension, panel, resource=resource)
    for panel in panels[:-1]:
        panel.set_xlabel("")
        panel.tick_params(labelbottom=False)
    figure.align_ylabels(panels)
    _put_title(result, figure)
    return figure


def _refused_here(result: Outcome, resource: str, dimension: Dimension, edges: Ints) -> Floats:
    """Of what a table or index did not serve, the share that it refused itself, by its part of the throttle events of all of them."""
    lanes = {r: record.lanes[dimension].throttle_events for r, record in result.resources.items()}
    if dimension is Dimension.READ or len(lanes) == 1:
        return np.ones(len(edges) - 1)
    own = np.add.reduceat(lanes[resource], edges[:-1])
    of_all = np.add.reduceat(np.sum(list(lanes.values()), axis=0), edges[:-1])
    return np.divide(own, of_all, out=np.ones(len(own)), where=of_all > 0)


def _shown_indexes(result: Outcome) -> list[str]:
    """The indexes that have panels of their own: those that refused something, then those that were acted on."""
    refusing = _throttling_indexes(result)
    others = [r for r in result.resources if r != TABLE and r not in refusing]
    acted_on = [r for r in others if any(_is_acted_on(result, r, d) for d in Dimension)]
    return (refusing + acted_on)[:_INDEXES_SHOWN]


def _throttling_indexes(result: Outcome) -> list[str]:
    """The indexes that refused something, most first."""
    events = {
        resource: sum(float(lane.throttle_events.sum()) for lane in record.lanes.values())
        for resource, record in result.resources.items()
        if resource != TABLE
    }
    return sorted((r for r, count in events.items() if count > 0), key=lambda r: (-events[r], r))


def _is_acted_on(result: Outcome, resource: str, dimension: Dimension) -> bool:
    """Whether auto scaling's high alarm went off, or a change was made or refused, of the resource's own."""
    alarms = result.resources[resource].lanes[dimension].alarms.get(ALARM_HIGH, [])
    return any(state == AlarmState.ALARM for _, state in alarms) or any(
        e.resource == resource and e.dimension == dimension and e.action in _CHANGE_MARKS
        for e in result.recorder.events
    )


def save_run(result: Outcome, path: str | PathLike[str]) -> None:
    """Save the picture of a run; the ending of ``path`` (.png, .svg, .pdf) chooses the format. The file is written whole or not at all."""
    # No date in the file: the same run gives the same bytes.
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    ending = str(path).rpartition(".")[2].lower()
    picture = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "ddbsim"}), warnings.catch_warnings():
        # No font has every script: a title in another one shows boxes, and the report has it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        plot_run(result).savefig(picture, format=ending, metadata=undated.get(ending))
    write_whole(path, picture.getvalue())


def _put_title(result: Outcome, figure: Figure) -> None:
    """Title and verdict at the top left; the title's empty second line keeps the room for the verdict."""
    title = result.scenario.title or result.scenario.table.name
    wide = any(unicodedata.east_asian_width(sign) in "WF" for sign in title)
    title = name(title, longest=_TITLE_CHARACTERS_MAX // 2 if wide else _TITLE_CHARACTERS_MAX)
    says = verdict(result)
    figure.suptitle(f"{_literal(title)}\n", x=0.01, ha="left", fontsize=_TITLE_POINTS, fontweight="bold")
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


def draw_rates(result: Outcome, dimension: Dimension, axes: Axes, *, resource: str = TABLE) -> Axes:
    """Draw offered, consumed, throttled and capacity of one dimension of a resource over time.

    What was throttled stands on top of what was consumed; together they reach what was offered. The scale is linear, for what is lost is an
    area; capacity far above the load is told in the legend.
    """
    lane = result.resources[resource].lanes[dimension]
    scale_s, _ = _time_unit(result)
    edges = _time_bins(result.grid.ticks, _RATE_BINS_MAX)
    edges_s = np.minimum(edges * result.grid.tick_s, result.grid.duration_s)
    seconds, x = np.diff(edges_s), edges_s / scale_s
    offered, consumed = (
        np.add.reduceat(row, edges[:-1]) / seconds for row in (lane.offered_units, lane.consumed_units)
    )
    axes.stairs(consumed, x, fill=True, color=CONSUMED_COLOUR, label="consumed")
    own = consumed + (np.maximum(offered, consumed) - consumed) * _refused_here(result, resource, dimension, edges)
    if lane.throttle_events.any():
        axes.stairs(own, x, baseline=consumed, fill=True, color=THROTTLED_COLOUR, label="throttled")
    if (offered > own).any() and dimension is Dimension.WRITE:
        axes.stairs(
            np.maximum(offered, own),
            x,
            baseline=own,
            fill=True,
            facecolor="white",
            edgecolor=THROTTLED_COLOUR,
            hatch="////",
            linewidth=0,
            label="throttled by an index" if resource == TABLE else "throttled elsewhere",
        )
    axes.stairs(offered, x, baseline=None, color=OFFERED_COLOUR, linewidth=0.8, label="offered")
    top = _draw_capacity(result, lane.capacity, float(offered.max(initial=0.0)), axes)
    top = _draw_changes(result, resource, dimension, top, axes)
    axes.set_ylim(0, 1.08 * top)
    _draw_alarms(result, dimension, resource, axes)
    axes.set_ylabel(f"{dimension} units/s")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    where = "" if resource == TABLE else f" of {_literal(name(resource))}"
    axes.set_title(f"{dimension.capitalize()}s{where}", loc="left", fontsize=10)
    _legend(axes, *axes.get_legend_handles_labels())
    _time_axis(result, axes)
    return axes


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
    where = "" if resource == TABLE else f" of {_literal(name(resource))}"
    count = f"{record.initial_partitions:,} → {final:,}" if record.splits else f"{final:,}"
    axes.set_title(f"Partitions{where}: {count}", loc="left", fontsize=10)
    axes.set_ylim(0, extent[3] * (1 + _STRIP_FRACTION if by_table else 1))
    _partition_ticks(record.partitions, places, axes)
    _legend(axes, *_partition_legend(result, resource, throttled, by_table=by_table))
    _time_axis(result, axes)
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
    scale_s, _ = _time_unit(result)
    if not record.splits and len(partitions) <= _ROWS_MAX:
        bins = _time_bins(result.grid.periods, _MAP_COLUMNS_MAX)
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
    own = sum((by_limit.get(limit, none) for limit in _own_limits(result)), none) > 0
    whole = sum((series for limit, series in by_limit.items() if limit not in _own_limits(result)), none) > 0
    return np.asarray(own & (~whole | (consumed > _FULL_FRACTION * CEILING_PER_S[dimension])))


def _own_limits(result: Outcome) -> tuple[Limit, ...]:
    """Limits that belong to a partition: its ceiling, and before instant adaptive capacity its part of the table's."""
    instant = result.scenario.table.mode is Mode.ON_DEMAND or result.scenario.admission is AdmissionPolicy.INSTANT
    return (Limit.KEY_RANGE,) if instant else (Limit.KEY_RANGE, Limit.PROVISIONED)


def _draw_table_limits(result: Outcome, resource: str, axes: Axes, top: float) -> bool:
    """A hatched strip above the bands in the periods in which a limit of the whole table refused; returns whether there is one."""
    edges_s = period_edges_s(result)
    scale_s, _ = _time_unit(result)
    spans = []
    for lane in result.resources[resource].lanes.values():
        for limit, series in lane.by_limit.items():
            if limit in _own_limits(result):
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


def _draw_capacity(result: Outcome, line: list[tuple[float, float]], offered_most: float, axes: Axes) -> float:
    """Draw capacity where it is in view, else put it into the legend; returns the top of the view."""
    scale_s, _ = _time_unit(result)
    least = min(value for _, value in line)
    top = offered_most or 1.0
    x = [at / scale_s for at, _ in line] + [result.grid.duration_s / scale_s]
    y = [value for _, value in line] + [line[-1][1]]
    seen = least <= _CAPACITY_IN_VIEW * top
    label = "capacity" if seen else f"capacity {amount(least)}/s, out of view"
    axes.step(x, y, where="post", color=CAPACITY_COLOUR, linestyle="--", linewidth=1.3, label=label)
    return max(top, min(max(y), _CAPACITY_IN_VIEW * top)) if seen else top


def _draw_changes(result: Outcome, resource: str, dimension: Dimension, top: float, axes: Axes) -> float:
    """Mark over the rates when auto scaling's high alarm went off, and when changes were made or refused; returns the top of the view.

    Alarms stand in a row of their own above everything else; changes of this dimension, and of the mode, at the time at which they are in
    force (refused ones: at which they were asked for).
    """
    scale_s, _ = _time_unit(result)
    lane = result.resources[resource].lanes[dimension]
    alarms = [at_s for at_s, state in lane.alarms.get(ALARM_HIGH, []) if state == AlarmState.ALARM]
    rows = [e for e in result.recorder.events if e.resource == resource and e.dimension in (dimension, None)]
    marks = [("alarm", "^", THROTTLED_COLOUR, alarms)]
    for action, (label, marker) in _CHANGE_MARKS.items():
        done = [e.done_s for e in rows if e.action == action and e.done_s is not None]
        marks.append((label, marker, CAPACITY_COLOUR, done))
    refused = [e.at_s for e in rows if e.action in _CHANGE_MARKS and e.outcome == "refused"]
    marks.append(("refused", "x", OFFERED_COLOUR, refused))
    shown = [mark for mark in marks if mark[3]]
    for label, marker, colour, times in shown:
        axes.plot(
            [at_s / scale_s for at_s in times],
            [top * (1 + _MARKS_FRACTION)] * len(times),
            linestyle="none",
            marker=marker,
            markersize=6,
            color=colour,
            clip_on=False,
            label=label,
        )
    return top * (1 + 2 * _MARKS_FRACTION) if shown else top


def _draw_alarms(result: Outcome, dimension: Dimension, resource: str, axes: Axes) -> None:
    """A bar above the data for each alarm that rang, from each change to ALARM until it ended; the table's panel has its indexes' too."""
    scale_s, _ = _time_unit(result)
    throttled = [d for d, lane in result.resources[resource].lanes.items() if lane.throttle_events.any()]
    shared = not throttled or dimension in throttled  # where what tells neither reads nor writes stands
    shown = _shown_indexes(result)
    rang = [
        report
        for report in evaluate_alarms(result)
        if report.in_alarm_s
        and (report.dimension is dimension or (report.dimension is None and shared))
        and (report.resource == resource or (resource == TABLE and report.resource not in shown))
    ][:_ALARMS_SHOWN]
    if not rang:
        return
    low, top = axes.get_ylim()
    height = _ALARM_FRACTION * top
    axes.set_ylim(low, top + height * (len(rang) + 0.3))
    for row, report in enumerate(rang):
        base = top + height * row
        bars = [(begin / scale_s, (end - begin) / scale_s) for begin, end in report.in_alarm_s]
        axes.broken_barh(bars, (base, 0.8 * height), color=ALARM_COLOUR, label="in alarm" if row == 0 else "_")
        late = bars[0][0] > 0.6 * result.grid.duration_s / scale_s
        axes.annotate(
            _literal(report.alarm.metric),
            (bars[0][0], base + 0.4 * height),
            xytext=(-3 if late else 3, 0),
            textcoords="offset points",
            ha="right" if late else "left",
            va="center",
            fontsize=6.5,
            path_effects=_OUTLINE,  # it may be longer than its bar
        )


def _draw_bands(result: Outcome, resource: str, places: Ints, axes: Axes) -> None:
    """Rules between bands, marks of splits and of declined splits, and numbers where there are few enough."""
    record = result.resources[resource]
    scale_s, _ = _time_unit(result)
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
                    path_effects=_OUTLINE,
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


def _legend(axes: Axes, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Above the panel, right, where no data can lie under it; in rows of so many that the title stays free."""
    if handles:
        axes.legend(
            handles,
            labels,
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            ncols=min(len(handles), _LEGEND_COLUMNS_MAX),
            frameon=False,
            fontsize=8,
            borderaxespad=0.1,
            handlelength=1.6,
            columnspacing=1.2,
        )


def _time_unit(result: Outcome) -> tuple[float, str]:
    """Seconds in the unit in which a run of this length is best told, and its name."""
    return next((scale, unit) for longest, scale, unit in _TIME_UNITS if result.grid.duration_s <= longest)


def _time_axis(result: Outcome, axes: Axes) -> None:
    scale_s, unit = _time_unit(result)
    end = result.grid.duration_s / scale_s
    axes.set_xlim(0, end)
    step = next((step for step in _TIME_STEPS[unit] if end / step <= _TIME_TICKS_MAX), None)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=_TIME_TICKS_MAX) if step is None else MultipleLocator(step))
    axes.set_xlabel(f"time ({unit})")


def _time_bins(count: int, most: int) -> Ints:
    """Edges that divide so many ticks or periods into at most so many bins, as even as may be."""
    return np.unique(np.linspace(0, count, min(count, most) + 1).round().astype(np.int64))


def _literal(text: str) -> str:
    """Text in which a dollar sign is no mathematics."""
    return text.replace("$", r"\$")
