"""Shard count against throughput: what was measured, the ideal, and the law of balls into bins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from sim.keyspace.domain import Floats
from sim.limits import CEILING_PER_S
from sim.names import TABLE, Dimension
from sim.results.phrases import amount
from sim.results.plots.arguments import check_axes, check_result, dimension_of, record_of, second_of, whole_number
from sim.results.plots.base import (
    CAPACITY_COLOUR,
    CONSUMED_COLOUR,
    LAW_COLOUR,
    OFFERED_COLOUR,
    TITLE_POINTS,
    legend,
)
from sim.results.steps import integral

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

_LOGARITHMIC_FROM = (
    16  # times as many shards at the right as at the left: from here on each doubling has the same width
)
_TICKS_MAX = 12
_TOP_MARGIN = 1.08  # of the highest that is in view


def draw_shards(
    runs: Mapping[int, Outcome | Sequence[Outcome]],
    axes: Axes,
    *,
    dimension: Dimension | str = Dimension.WRITE,
    resource: str = TABLE,
    ideal: bool = True,
    partitions: int | None = None,
    between: tuple[float | str, float | str] | None = None,
) -> Axes:
    """Draw how much a key gets through that is written under several shards, over the number of shards.

    Points are units consumed per second, the mean of the whole run unless ``between`` says otherwise: where partitions split in the course
    of it, that is the mean of before and after. Of several runs with one count (other seeds, or other names of the shards) the point is
    their mean, with a band from the least to the most. The dashed line is the ceiling of all partitions together, in the mean over the
    same time; where it is above the view, the legend tells it. Runs without such traffic have a word in place of a legend.

    Parameters
    ----------
    runs : a run, or several, by the number of shards; everything that the table serves in them is taken for the shards' traffic.
    dimension : ``"read"`` or ``"write"``.
    ideal : draw what so many shards would get if each had a partition of its own, up to what was offered.
    partitions : draw what is expected of equal shards in so many equal partitions, `expected_per_s`.
    between : seconds (or times, ``"5m"``) from and to, within all runs; ticks that begin in between count. None: the whole run.

    Raises
    ------
    TypeError
        No runs by number, no results in them, or no Axes.
    ValueError
        There are no runs, or a count below 1, or no such dimension, resource or time.
    """
    check_axes(axes)
    dimension = dimension_of(dimension)
    by_count = _by_count(runs)
    if partitions is not None:
        partitions = whole_number("partitions", partitions, 1)
    counts = np.array(sorted(by_count))
    measured = [np.array([_measure(r, resource, dimension, between) for r in by_count[count]]).T for count in counts]
    consumed = [rows[0] for rows in measured]
    offered, room = (np.array([rows[k].mean() for rows in measured]) for k in (1, 2))
    mean = np.array([of.mean() for of in consumed])
    if any(len(of) > 1 for of in consumed):
        least, most = (np.array([edge(of) for of in consumed]) for edge in (np.min, np.max))
        axes.fill_between(counts, least, most, color=CONSUMED_COLOUR, alpha=0.35, linewidth=0, label="least to most")
    axes.plot(counts, mean, color=CONSUMED_COLOUR, marker="o", markersize=7, markeredgecolor="black", label="consumed")
    axes.plot(counts, offered, color=OFFERED_COLOUR, linewidth=0.8, label="offered")
    top = float(max(offered.max(), mean.max()))
    if room.min() <= 1.6 * top:
        top = max(top, float(min(room.max(), 1.6 * top)))
    seen = room.min() <= _TOP_MARGIN * top
    label = (
        "ceiling of all partitions" if seen else f"ceiling of all partitions from {amount(room.min())}/s, out of view"
    )
    axes.plot(counts, room, color=CAPACITY_COLOUR, linestyle="--", linewidth=1.3, label=label)
    fine = np.unique(np.concatenate([np.linspace(counts[0], counts[-1], 200), counts.astype(float)]))
    if ideal:
        _draw_ideal(fine, np.interp(fine, counts, offered), CEILING_PER_S[dimension], axes)
    if partitions is not None:
        whole = np.arange(counts[0], counts[-1] + 1)
        law = expected_per_s(whole, partitions, np.interp(whole, counts, offered), CEILING_PER_S[dimension])
        label = f"expected in {partitions:,} equal partitions"
        axes.plot(whole, law, color=LAW_COLOUR, linestyle=":", linewidth=2.0, label=label)
    _set_scales(counts, top, dimension, axes)
    axes.set_title("Shards and throughput", loc="left", fontsize=TITLE_POINTS)
    if offered.any():
        legend(axes, *axes.get_legend_handles_labels(), columns=3)
    else:
        nothing = f"no {dimension}s in these runs"
        axes.text(0.5, 0.5, nothing, transform=axes.transAxes, ha="center", va="center", fontsize=11)
    return axes


def expected_per_s(shards: Sequence[int] | Floats, partitions: int, offered: Floats, ceiling_per_s: float) -> Floats:
    """Units per second expected of equal shards that fall at random into equal partitions: the law of balls into bins.

    With N shards in P partitions, a partition holds K of them, K binomial of N and 1/P, and serves of the offer R what its ceiling C lets
    through: P × E[min(C, K × R / N)]. As long as each shard alone is offered a ceiling or more, that is C × P × (1 - (1 - 1/P)^N): the
    ceiling times the number of partitions that have any shard.
    """
    found = []
    for count, rate in zip(np.asarray(shards, dtype=int).tolist(), np.asarray(offered).tolist(), strict=True):
        held = np.arange(count + 1)
        served = np.minimum(ceiling_per_s, held * rate / count)
        found.append(partitions * float((_binomial(count, 1 / partitions) * served).sum()))
    return np.array(found)


def _binomial(trials: int, chance: float) -> Floats:
    """Chances of 0 to ``trials`` successes, by logarithms: the factorials of a thousand are beyond a float."""
    if chance >= 1:
        return np.append(np.zeros(trials), 1.0)
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, trials + 1)))))
    k = np.arange(trials + 1)
    ways = logs[-1] - logs - logs[::-1]
    return np.asarray(np.exp(ways + k * np.log(chance) + (trials - k) * np.log1p(-chance)))


def _by_count(runs: Mapping[int, Outcome | Sequence[Outcome]]) -> dict[int, Sequence[Outcome]]:
    if not isinstance(runs, Mapping):
        raise TypeError("runs is a run, or several, by the number of shards: {1: result, 10: other}")
    if not runs:
        raise ValueError("runs is empty: give a run, or several, for each number of shards")
    by_count: dict[int, Sequence[Outcome]] = {}
    for count, of in runs.items():
        if isinstance(count, bool) or not isinstance(count, Real) or not count >= 1 or count % 1:
            raise ValueError(f"runs: {count!r} is no number of shards, a whole number from 1")
        several = list(of) if isinstance(of, Sequence) else [of]
        if not several:
            raise ValueError(f"runs: {count} shards have no run")
        for result in several:
            check_result(result)
        by_count[int(count)] = several
    return by_count


def _measure(
    result: Outcome, resource: str, dimension: Dimension, between: tuple[float | str, float | str] | None
) -> tuple[float, float, float]:
    """Units per second consumed, offered, and of the ceilings of the partitions that served."""
    grid, record = result.grid, record_of(result, resource)
    begin_s, end_s = _span(result, between)
    starts = np.arange(grid.ticks) * grid.tick_s
    ticks = (starts >= begin_s - 1e-9) & (starts < end_s - 1e-9)
    seconds = float(np.minimum(starts + grid.tick_s, grid.duration_s)[ticks].sum() - starts[ticks].sum())
    if not seconds:
        raise ValueError(f"between {between!r}: no tick of {grid.tick_s:g} s begins in that time")
    lane = record.lanes[dimension]
    counts = [(at_s, float(count)) for at_s, count in record.partition_counts]
    held = integral(counts, np.array([begin_s, end_s]))
    return (
        float(lane.consumed_units[ticks].sum()) / seconds,
        float(lane.offered_units[ticks].sum()) / seconds,
        float(held[1] - held[0]) / (end_s - begin_s) * CEILING_PER_S[dimension],
    )


def _span(result: Outcome, between: tuple[float | str, float | str] | None) -> tuple[float, float]:
    """From when to when is measured."""
    duration_s = result.grid.duration_s
    if between is None:
        return 0.0, duration_s
    wrong = f"between {between!r} must be two seconds of the run, 0 <= from < to <= {duration_s:g}"
    if isinstance(between, str) or not isinstance(between, Iterable) or len(given := list(between)) != 2:
        raise ValueError(wrong)
    begin_s, end_s = (second_of("between", at, result) for at in given)
    if begin_s >= end_s:
        raise ValueError(wrong)
    return begin_s, end_s


def _draw_ideal(counts: Floats, offered: Floats, ceiling_per_s: float, axes: Axes) -> None:
    """So many shards, so many ceilings, until all that is offered is served."""
    label = f"{amount(ceiling_per_s)} for each shard"
    ideal = np.minimum(counts * ceiling_per_s, offered)
    axes.plot(counts, ideal, color=LAW_COLOUR, linestyle="-.", linewidth=1.2, label=label)


def _set_scales(counts: Floats, top: float, dimension: Dimension, axes: Axes) -> None:
    axes.set_ylim(0, _TOP_MARGIN * (top or 1.0))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_ylabel(f"{dimension} units/s")
    if counts[-1] >= _LOGARITHMIC_FROM * counts[0]:
        axes.set_xscale("log", base=2)
        axes.minorticks_off()
    if len(counts) <= _TICKS_MAX:
        axes.xaxis.set_major_locator(FixedLocator(counts.tolist()))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=_TICKS_MAX, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("shards")
