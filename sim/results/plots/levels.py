"""What is in the token buckets over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from sim.keyspace.domain import Floats
from sim.limits import BURST_WINDOW_S, CEILING_BURST_S, QUOTA_BURST_S
from sim.names import TABLE, Dimension, Limit
from sim.results.bottleneck import period_edges_s
from sim.results.phrases import amount, name
from sim.results.plots.arguments import check_drawn, dimension_of, partition_numbers, record_of, told
from sim.results.plots.base import (
    LEVEL_COLOUR,
    THROTTLED_COLOUR,
    TITLE_POINTS,
    joined_spans,
    legend,
    literal,
    time_axis,
    time_unit,
)
from sim.results.recorder import LaneRecord

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

_PARTITIONS_WEIGHED = 64  # of which those that are drawn are chosen
_PARTITIONS_SHOWN = 4
_LINES = (("-", 2.0), ("-.", 1.6), (":", 2.0), ((0, (5, 1, 1, 1, 1, 1)), 1.4), ((0, (8, 2)), 1.2))
_DRY_FRACTION = 0.045  # height of the bar of dry spells, of the view's
_EMPTY_FRACTION = 0.05  # of a bucket that one request takes: a larger one is refused by what is not empty
_NAMES = {
    Limit.PROVISIONED: "burst bucket",
    Limit.KEY_RANGE: "partition's bucket",
    Limit.ACCOUNT: "bucket of the table quota",
    Limit.MAX_ON_DEMAND: "bucket of the on-demand maximum",
}
_SHORT_NAMES = {
    "provisioned": Limit.PROVISIONED,
    "key-range": Limit.KEY_RANGE,
    "account": Limit.ACCOUNT,
    "max-on-demand": Limit.MAX_ON_DEMAND,
}
_PERIODS_JOINED = 0.01  # of the run: dry spells nearer to each other than this are drawn as one


def draw_levels(
    result: Outcome,
    axes: Axes,
    *,
    dimension: Dimension | str = Dimension.WRITE,
    resource: str = TABLE,
    limit: Limit | str | None = None,
    partitions: Sequence[int] | None = None,
) -> Axes:
    """Draw the tokens in the buckets of one limit over time, and dashed how many they hold.

    A single bucket is an area; several are lines. Buckets are looked at when periods end (in long runs not at each end); between two looks
    the line is straight, whatever happened, but for one point: where a bucket refused for the first time between two looks, it is drawn as
    empty at that tick. That is known of a single bucket, and of a partition's where no other partition and no other limit refused, and
    true where one request takes a twentieth of the bucket at most: a large one is refused by a bucket that is not empty. A bar at the
    bottom shows when the buckets shown refused something: partitions' to the period, a single one's to the tick. The right axis tells the
    tokens in seconds of refill, where the rate is the same all along.

    Parameters
    ----------
    dimension : ``"read"`` or ``"write"``.
    limit : whose buckets: ``"provisioned"``, ``"key-range"`` (a partition's own), ``"account"``, ``"max-on-demand"``, or AWS's name of the
        limit, ``"KeyRangeThroughputExceeded"``. None: the provisioned capacity's, which hold 300 s of burst credit (F-ADM-2), or on
        demand the partitions' own, which hold one second of their ceiling.
    partitions : numbers of partitions, where the limit is theirs. None: up to four, those that refused most, then the emptiest on average.

    Raises
    ------
    TypeError
        No result, or no Axes.
    ValueError
        There is no such dimension, resource, limit or partition in the run, or the partition's buckets were not looked at.
    """
    check_drawn(result, axes)
    dimension = dimension_of(dimension)
    record = record_of(result, resource)
    lane = record.lanes[dimension]
    limit = _limit_of(lane, limit)
    one_for_all = lane.levels[limit][0].numbers is None
    shown = _shown(lane, limit, None if one_for_all else [p.number for p in record.partitions], partitions)
    scale_s, _ = time_unit(result)
    lines = [lane.level_of(limit, number) for number in shown]
    for k, (number, looks) in enumerate(zip(shown, lines, strict=True)):
        at_s, tokens = _with_first_refusal(result, resource, dimension, limit, number, looks)
        style, width = _LINES[k % len(_LINES)]
        label = "in the bucket" if number is None else f"partition {number}"
        if len(shown) == 1:
            axes.fill_between(at_s / scale_s, tokens, color=LEVEL_COLOUR, alpha=0.3, linewidth=0)
        axes.plot(at_s / scale_s, tokens, color=LEVEL_COLOUR, linestyle=style, linewidth=width, label=label)
    _draw_depths(result, lines, axes)
    most = max(float(depth.max()) for _, _, depth in lines)
    least = min(0.0, min(float(tokens.min()) for _, tokens, _ in lines))
    bar = _DRY_FRACTION * (most - least)
    dry = _dry_spans(result, lane, limit, None if one_for_all else [number for number in shown if number is not None])
    axes.set_ylim(least - (1.6 * bar if dry else 0.0), most + 2 * bar)
    if dry:
        spans = [(begin / scale_s, (end - begin) / scale_s) for begin, end in dry]
        axes.broken_barh(spans, (least - 1.3 * bar, bar), color=THROTTLED_COLOUR, linewidth=0, label="throttled")
    axes.set_ylabel(f"{dimension} units in the bucket")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    _draw_seconds(_window_s(result, limit), [depth for _, _, depth in lines], axes)
    axes.set_title(_title(result, dimension, resource, limit, shown), loc="left", fontsize=TITLE_POINTS)
    legend(axes, *axes.get_legend_handles_labels())
    time_axis(result, axes)
    return axes


def _limit_of(lane: LaneRecord, limit: Limit | str | None) -> Limit:
    """The limit asked for, or the one whose bucket is slowest to fill."""
    if limit is None:
        return Limit.PROVISIONED if Limit.PROVISIONED in lane.levels else Limit.KEY_RANGE
    asked = _SHORT_NAMES.get(limit, limit) if isinstance(limit, str) else limit
    if asked not in lane.levels:
        short = [f'"{word}"' for word, named in _SHORT_NAMES.items() if named in lane.levels]
        raise ValueError(f"limit {limit!r} has no bucket here; there are: {', '.join(short)}")
    return Limit(asked)


def _shown(
    lane: LaneRecord, limit: Limit, numbers: Sequence[int] | None, partitions: Sequence[int] | None
) -> Sequence[int | None]:
    """Whose buckets are drawn; None stands for the resource's one."""
    if partitions is not None:
        partitions = partition_numbers(partitions)
    if numbers is None:
        if partitions is not None:
            raise ValueError(f"partitions {told(partitions)}: the limit {limit} has one bucket for all of them")
        return [None]
    looks = [levels.numbers for levels in lane.levels[limit] if levels.numbers is not None]
    looked_at: set[int] = set(np.unique(np.concatenate(looks)).tolist())
    if partitions is None:
        events = lane.throttled_by_partition.of(max(looked_at) + 1).sum(axis=1)
        refusing = sorted(looked_at, key=lambda number: (-round(float(events[number]), 6), number))[
            :_PARTITIONS_WEIGHED
        ]
        fill = {number: _fill(*lane.level_of(limit, number)) for number in refusing}
        order = sorted(fill, key=lambda number: (-round(float(events[number]), 6), round(fill[number], 9), number))
        return sorted(order[:_PARTITIONS_SHOWN])
    for number in partitions:
        if number not in looked_at:
            why = "its bucket was not looked at" if number in numbers else f"there are 0 to {max(numbers)}"
            raise ValueError(f"partition {number!r}: {why}")
    return list(partitions)


def _fill(at_s: Floats, tokens: Floats, depth: Floats) -> float:
    """How full a bucket was on average, where it was looked at."""
    return float((tokens / np.maximum(depth, 1e-9)).mean())


def _with_first_refusal(
    result: Outcome,
    resource: str,
    dimension: Dimension,
    limit: Limit,
    number: int | None,
    looks: tuple[Floats, Floats, Floats],
) -> tuple[Floats, Floats]:
    """Seconds and tokens of the looks at a bucket, and between them the tick at which it was first empty, where that is known."""
    lane = result.resources[resource].lanes[dimension]
    at_s, tokens, depth = looks
    if limit not in lane.first_s or not _refused_alone(lane, number):
        return at_s, tokens
    first_s = lane.first_s[limit]
    after = int(np.searchsorted(at_s, first_s))
    if not 0 < after < len(at_s) or at_s[after] == first_s:
        return at_s, tokens
    units = [facts.units_per_request.get(resource, {}).get(dimension, 0.0) for facts in result.facts.values()]
    if max(units, default=0.0) > _EMPTY_FRACTION * depth[after - 1] or tokens[after - 1] <= 0:
        return at_s, tokens
    return np.insert(at_s, after, first_s), np.insert(tokens, after, 0.0)


def _refused_alone(lane: LaneRecord, number: int | None) -> bool:
    """Whether the first refusal of a limit was this bucket's: of the one that there is, or of the only partition that refused anything."""
    if number is None:
        return True
    refusing = np.flatnonzero(lane.throttled_by_partition.rows.any(axis=1)).tolist()
    return len(lane.by_limit) == 1 and refusing == [number]


def _draw_depths(result: Outcome, lines: Sequence[tuple[Floats, Floats, Floats]], axes: Axes) -> None:
    """How many tokens the buckets hold: one line where that is the same for all."""
    scale_s, _ = time_unit(result)
    depths = {depth.tobytes(): (at_s, depth) for at_s, _, depth in lines}
    if len({float(value) for _, depth in depths.values() for value in depth}) == 1:
        ends = np.array([0.0, result.grid.duration_s])
        depths = {b"": (ends, np.full(2, lines[0][2][0]))}
    for k, (at_s, depth) in enumerate(depths.values()):
        axes.step(
            at_s / scale_s,
            depth,
            where="post",
            color=LEVEL_COLOUR,
            linestyle="--",
            linewidth=1.0,
            label="depth" if k == 0 else "_",
        )


def _dry_spans(
    result: Outcome, lane: LaneRecord, limit: Limit, partitions: Sequence[int] | None
) -> list[tuple[float, float]]:
    """When the limit refused something, of some partitions or at all."""
    if limit not in lane.events_by_limit:
        return []
    if partitions is None:
        ticks = np.flatnonzero(lane.events_by_limit[limit] > 0) * result.grid.tick_s
        spans = [(begin, begin + result.grid.tick_s) for begin in ticks.tolist()]
    else:
        edges_s = period_edges_s(result)
        refused = lane.throttled_by_partition.of(max(partitions) + 1)[list(partitions)].sum(axis=0) > 0
        first_s, end_s = lane.first_s[limit], lane.last_s[limit] + result.grid.tick_s
        spans = [
            (max(float(edges_s[k]), first_s), min(float(edges_s[k + 1]), end_s))
            for k in np.flatnonzero(refused & (lane.by_limit[limit] > 0)).tolist()
        ]
    return joined_spans(spans, _PERIODS_JOINED * result.grid.duration_s)


def _window_s(result: Outcome, limit: Limit) -> float:
    """Seconds of its rate that a bucket holds."""
    if limit is Limit.MAX_ON_DEMAND:
        return float(result.scenario.calibration.max_throughput_burst_s)
    return {Limit.PROVISIONED: BURST_WINDOW_S, Limit.KEY_RANGE: CEILING_BURST_S, Limit.ACCOUNT: QUOTA_BURST_S}[limit]


def _draw_seconds(window_s: float, depths: Sequence[Floats], axes: Axes) -> None:
    """The tokens as seconds of refill at the right, where one rate holds for all that is shown."""
    rates = {round(float(value) / window_s, 6) for depth in depths for value in depth}
    if len(rates) > 1 or min(rates) <= 0:
        return
    rate = rates.pop()

    def seconds_of(tokens: Any) -> Any:
        return tokens / rate

    def tokens_of(seconds: Any) -> Any:
        return seconds * rate

    right = axes.secondary_yaxis("right", functions=(seconds_of, tokens_of))
    right.set_ylabel(f"seconds of {amount(rate)} units/s")
    right.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))


def _title(result: Outcome, dimension: Dimension, resource: str, limit: Limit, shown: Sequence[int | None]) -> str:
    where = "" if resource == TABLE else f" of {literal(name(resource))}"
    if shown == [None]:
        return f"{dimension.capitalize()}s{where}: {_NAMES[limit]}"
    what = "buckets" if limit is Limit.KEY_RANGE else "burst buckets"
    return f"{dimension.capitalize()}s{where}: {what} of partitions"
