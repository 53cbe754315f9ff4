"""Rates over time: what was offered, consumed and throttled of one dimension, and the capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from sim.keyspace.domain import Floats, Ints
from sim.names import ALARM_HIGH, TABLE, AlarmState, Dimension
from sim.results.alarms import evaluate_alarms
from sim.results.phrases import amount, name
from sim.results.plots.arguments import check_axes, check_result, dimension_of, record_of
from sim.results.plots.base import (
    ALARM_COLOUR,
    CAPACITY_COLOUR,
    CHANGE_MARKS,
    CONSUMED_COLOUR,
    HATCH,
    OFFERED_COLOUR,
    OUTLINE,
    THROTTLED_COLOUR,
    TITLE_POINTS,
    legend,
    literal,
    time_axis,
    time_bins,
    time_unit,
)
from sim.results.plots.indexes import shown_indexes

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

_RATE_BINS_MAX = 450  # finer ones would show the noise of chance rather than the course of the run
_ALARMS_SHOWN = 6
_ALARM_FRACTION = 0.09  # height of an alarm's bar, of what is below it
_MARKS_FRACTION = 0.06  # of a panel's height, from the highest line to the row of marks
_CAPACITY_IN_VIEW = (
    2.5  # capacity this many times above all that was offered would press the rest down: it is told in words
)


def draw_rates(result: Outcome, dimension: Dimension | str, axes: Axes, *, resource: str = TABLE) -> Axes:
    """Draw offered, consumed, throttled and capacity of one dimension (``"read"``, ``"write"``) of a resource over time.

    What was throttled stands on top of what was consumed; together they reach what was offered. The scale is linear, for what is lost is an
    area; capacity far above the load is told in the legend.

    Raises
    ------
    TypeError
        No result, or no Axes.
    ValueError
        There is no such dimension or resource in the run.
    """
    check_result(result)
    dimension = dimension_of(dimension)
    check_axes(axes)
    lane = record_of(result, resource).lanes[dimension]
    scale_s, _ = time_unit(result)
    edges = time_bins(result.grid.ticks, _RATE_BINS_MAX, result.grid.tick_s)
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
            hatch=HATCH,
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
    where = "" if resource == TABLE else f" of {literal(name(resource))}"
    axes.set_title(f"{dimension.capitalize()}s{where}", loc="left", fontsize=TITLE_POINTS)
    legend(axes, *axes.get_legend_handles_labels())
    time_axis(result, axes)
    return axes


def _refused_here(result: Outcome, resource: str, dimension: Dimension, edges: Ints) -> Floats:
    """Of what a table or index did not serve, the share that it refused itself, by its part of the throttle events of all of them."""
    lanes = {r: record.lanes[dimension].throttle_events for r, record in result.resources.items()}
    if dimension is Dimension.READ or len(lanes) == 1:
        return np.ones(len(edges) - 1)
    own = np.add.reduceat(lanes[resource], edges[:-1])
    of_all = np.add.reduceat(np.sum(list(lanes.values()), axis=0), edges[:-1])
    return np.divide(own, of_all, out=np.ones(len(own)), where=of_all > 0)


def _draw_capacity(result: Outcome, line: list[tuple[float, float]], offered_most: float, axes: Axes) -> float:
    """Draw capacity where it is in view, else put it into the legend; returns the top of the view."""
    scale_s, _ = time_unit(result)
    least = min(value for _, value in line)
    top = offered_most or 1.0
    x = [at / scale_s for at, _ in line] + [result.grid.duration_s / scale_s]
    y = [value for _, value in line] + [line[-1][1]]
    seen = least <= _CAPACITY_IN_VIEW * top
    label = "capacity" if seen else f"capacity {amount(least)}/s, out of view"
    if seen and max(y) > _CAPACITY_IN_VIEW * top:
        label = f"capacity, up to {amount(max(y))}/s out of view"
    axes.step(x, y, where="post", color=CAPACITY_COLOUR, linestyle="--", linewidth=1.3, label=label)
    return max(top, min(max(y), _CAPACITY_IN_VIEW * top)) if seen else top


def _draw_changes(result: Outcome, resource: str, dimension: Dimension, top: float, axes: Axes) -> float:
    """Mark over the rates when auto scaling's high alarm went off, and when changes were made or refused; returns the top of the view.

    Alarms stand in a row of their own above everything else; changes of this dimension, and of the mode, at the time at which they are in
    force (refused ones: at which they were asked for).
    """
    scale_s, _ = time_unit(result)
    lane = result.resources[resource].lanes[dimension]
    alarms = [at_s for at_s, state in lane.alarms.get(ALARM_HIGH, []) if state == AlarmState.ALARM]
    rows = [e for e in result.recorder.events if e.resource == resource and e.dimension in (dimension, None)]
    marks = [("alarm", "^", THROTTLED_COLOUR, alarms)]
    for action, (label, marker) in CHANGE_MARKS.items():
        done = [e.done_s for e in rows if e.action == action and e.done_s is not None]
        marks.append((label, marker, CAPACITY_COLOUR, done))
    refused = [e.at_s for e in rows if e.action in CHANGE_MARKS and e.outcome == "refused"]
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
    scale_s, _ = time_unit(result)
    throttled = [d for d, lane in result.resources[resource].lanes.items() if lane.throttle_events.any()]
    shared = not throttled or dimension in throttled  # where what tells neither reads nor writes stands
    shown = shown_indexes(result)
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
            literal(report.alarm.metric),
            (bars[0][0], base + 0.4 * height),
            xytext=(-3 if late else 3, 0),
            textcoords="offset points",
            ha="right" if late else "left",
            va="center",
            fontsize=6.5,
            path_effects=OUTLINE,  # it may be longer than its bar
        )
