"""Runs side by side: at a glance, and as small multiples of the picture of a run."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter

from sim.limits import CEILING_PER_S
from sim.names import TABLE, Dimension, ErrorName
from sim.results.explain import UNTOLD_FRACTION, verdict
from sim.results.invoice import money
from sim.results.phrases import amount, name, percent
from sim.results.plots.arguments import check_axes, check_comparison, check_figure, record_of
from sim.results.plots.base import (
    CHARACTER_EM,
    CONSUMED_COLOUR,
    DPI,
    FAILED_COLOUR,
    FAILED_HATCH,
    FAILED_HATCH_COLOUR,
    OUTLINE,
    SIZE_INCHES,
    THROTTLED_COLOUR,
    TITLE_POINTS,
    WAITING_COLOUR,
    WAITING_HATCH,
    Figure,
    Layout,
    Picture,
    columns_of,
    even_columns,
    isolated,
    legend,
    literal,
    size_inches,
    with_canvas,
)
from sim.results.plots.loads import name_bar
from sim.results.plots.partitions import Map, draw_map, share_scale
from sim.results.plots.rates import draw_rates
from sim.results.plots.saving import save_figure
from sim.results.variant import Variant

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

_PARTS: Mapping[str, Mapping[str, Any]] = {  # of a bar, from left to right
    "served": {"color": CONSUMED_COLOUR},
    "throttled": {"color": THROTTLED_COLOUR},
    "failed": {"facecolor": FAILED_COLOUR, "edgecolor": FAILED_HATCH_COLOUR, "hatch": FAILED_HATCH},
    "waiting": {"facecolor": "white", "edgecolor": WAITING_COLOUR, "hatch": WAITING_HATCH},
}
_THROTTLING = (ErrorName.PROVISIONED, ErrorName.REQUEST_LIMIT, ErrorName.THROTTLING, ErrorName.TRANSACTION_CANCELED)
COLUMNS_MAX = 3
_TEXT_AT = 1.03  # of a whole bar's length: where the words beside it begin
_WORDS_SHARE_MAX = 0.65  # of a panel's width
_PANEL_FRACTION = 0.8  # of the figure's width, before the figure is laid out
_SEVERAL_LINES_MAX = 6  # more rows than this have one line of words each
_ROW_INCHES = 5.0  # of further rows of small multiples
_LEGEND_COLUMNS = 5
_TITLE_CHARACTERS = 12  # of a line beside a bar
_VERDICT_LINES = 2
_RESOURCE_CHARACTERS = 22
_WORDS_FRACTION = 0.13  # of a panel's height: room above the data for a word on capacity that is out of view
_VERDICT_CHARACTERS_PER_INCH, _TITLE_CHARACTERS_PER_INCH = 13.5, 8.5


class Compared(Protocol):
    """What is drawn of a comparison."""

    @property
    def variants(self) -> tuple[Variant, ...]: ...

    @property
    def cheapest(self) -> Variant | None: ...


def draw_comparison(comparison: Compared, axes: Axes) -> Axes:
    """Draw a bar for each run, the first on top: the shares of its attempts that were served and throttled, and what it costs a month.

    What failed for another reason than capacity has a part of its own. Where 5 % or more of the requests have no answer when the run ends,
    they are a part too; such a request, and one that the client's open circuit breaker never sent, counts as one attempt to come.
    The cheapest of those that serve their traffic is marked; a run without traffic has no bar.

    Raises
    ------
    TypeError
        No comparison, or no Axes.
    """
    check_comparison(comparison)
    check_axes(axes)
    variants = comparison.variants
    parts = [_parts(v.result) for v in variants]
    rows = np.arange(len(variants))
    left = np.zeros(len(variants))
    for part, style in _PARTS.items():
        width = np.array([of[part] for of in parts])
        if part in ("served", "throttled") or width.any():
            axes.barh(rows, width, left=left, height=0.6, label=part, linewidth=0, **style)
        left += width
    few = len(variants) <= _SEVERAL_LINES_MAX
    points = 9.0 if few else 7.0
    words = [
        _words(variant, of, variant is comparison.cheapest, few) for variant, of in zip(variants, parts, strict=True)
    ]
    for row, (variant, lines) in enumerate(zip(variants, words, strict=True)):
        weight = "bold" if variant is comparison.cheapest else "normal"
        axes.text(_TEXT_AT, row, literal("\n".join(lines)), va="center", fontsize=points, fontweight=weight)
    titles = [textwrap.wrap(v.title, _TITLE_CHARACTERS if few else 2 * _TITLE_CHARACTERS) for v in variants]
    axes.set_yticks(rows.tolist(), [literal("\n".join(lines)) for lines in titles], fontsize=points)
    room = _room(
        axes,
        max(columns_of(line) for lines in words for line in lines) * points,
        [line for lines in titles for line in lines],
    )
    axes.set(xlim=(0, _TEXT_AT + room), ylim=(len(variants) - 0.5, -0.5))
    to_come = any(
        of["waiting"] or ErrorName.BREAKER_OPEN in v.result.failures for of, v in zip(parts, variants, strict=True)
    )
    axes.set_xlabel("share of attempts, made and to come" if to_come else "share of attempts", loc="left")
    axes.xaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines["bottom"].set_bounds(0, 1)
    axes.tick_params(axis="y", length=0)
    legend(axes, *axes.get_legend_handles_labels())
    return axes


def plot_comparison(comparison: Compared, figure: Figure | None = None, *, resource: str | None = None) -> Figure:
    """Draw runs side by side: for each a column with its rates above the map of its partitions, with its title and verdict.

    What is the same has the same scale in all columns: units per second, and the colours of loads. Of reads and writes those are shown that
    were throttled in any of the runs, else those that came nearer to the partitions' ceilings. Up to three columns stand side by side.

    Parameters
    ----------
    figure : drawn on, after what is on it has been cleared; by default a new one, 10 inches wide.
    resource : the table or index that is shown. None: the index that refused most, where all runs have it and it refused more than the
        table did in all of them together; else the table.

    Raises
    ------
    TypeError
        No comparison, or no Figure.
    ValueError
        One of the runs has no such table or index.
    """
    check_comparison(comparison)
    check_figure(figure)
    variants = comparison.variants
    if resource is None:
        resource = _most_refusing(variants)
    columns = len(variants) if len(variants) <= COLUMNS_MAX else 2 if len(variants) == 4 else COLUMNS_MAX
    rows = -(-len(variants) // columns)
    dimensions = _dimensions(variants, resource)
    if figure is None:
        height = SIZE_INCHES[1] + _ROW_INCHES * (rows - 1) + 1.6 * (len(dimensions) - 1) * rows
        figure = Picture(figsize=(SIZE_INCHES[0], height), dpi=DPI)
    figure.clear()
    with_canvas(figure).set_layout_engine(Layout(h_pad=0.06, hspace=0.02))
    heights = [1.0] * len(dimensions) + [0.9]
    grid = figure.subplots(len(heights) * rows, columns, squeeze=False, height_ratios=heights * rows)
    for place in range(len(variants), rows * columns):
        for panel in grid[place // columns * len(heights) :, place % columns]:
            panel.remove()
    rates: dict[Dimension, list[Axes]] = {dimension: [] for dimension in dimensions}
    maps: list[tuple[Axes, Map]] = []
    entries: dict[str, Any] = {}
    for place, variant in enumerate(variants):
        row, column = divmod(place, columns)
        *upper, lowest = grid[row * len(heights) : (row + 1) * len(heights), column]
        for dimension, panel in zip(dimensions, upper, strict=True):
            rates[dimension].append(_small_rates(variant, dimension, resource, panel, entries))
            panel.set_xlabel("")
            panel.tick_params(labelbottom=False)
        drawn = draw_map(variant.result, lowest, resource=resource)
        maps.append((lowest, drawn))
        entries.update(zip(drawn.labels, drawn.handles, strict=True))
        _put_name(variant, variant is comparison.cheapest, figure.get_figwidth() / columns, upper[0])
        if column:
            for panel in upper:  # whose scale is that of the first column
                panel.tick_params(labelleft=False)
            for panel in (*upper, lowest):
                panel.set_ylabel("")
    _share_scales(rates, maps)
    _put_bar(figure, maps)
    figure.align_ylabels(grid[: len(heights) * rows, 0])
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=even_columns(len(entries), _LEGEND_COLUMNS),
        frameon=False,
        fontsize=8,
    )
    return figure


def save_comparison(comparison: Compared, path: str | PathLike[str]) -> None:
    """Save the picture of a comparison; the ending of ``path`` (.png, .svg, .pdf) chooses the format. It is written whole or not at all."""
    save_figure(lambda: plot_comparison(comparison), path)


def _parts(result: Outcome) -> dict[str, float]:
    """What became of a run's attempts, as shares of a whole bar."""
    others = {error: count for error, count in result.failures.items() if error not in _THROTTLING}
    unsent = others.pop(ErrorName.BREAKER_OPEN, 0.0)
    # A transaction is cancelled for capacity too, and then is counted as throttled.
    others[ErrorName.TRANSACTION_CANCELED] = sum(
        max(0.0, t.failures.get(ErrorName.TRANSACTION_CANCELED, 0.0) - float(t.throttled.sum()))
        for t in result.traffic.values()
    )
    passed = max(0.0, result.attempts - result.throttled)
    failed = min(passed, sum(others.values()))
    waiting = result.in_flight if result.in_flight >= UNTOLD_FRACTION * result.offered else 0.0
    whole = result.attempts + unsent + waiting
    parts = {"served": passed - failed, "throttled": result.throttled, "failed": failed + unsent, "waiting": waiting}
    return {part: count / whole if whole else 0.0 for part, count in parts.items()}


def _words(variant: Variant, parts: Mapping[str, float], best: bool, several_lines: bool) -> list[str]:
    """Lines that stand beside a bar."""
    others = [f"{percent(parts[part])} {part}" for part in ("failed", "waiting") if parts[part] >= UNTOLD_FRACTION]
    currency = variant.result.sheet.currency
    share = percent(variant.result.throttled_fraction) if variant.result.attempts else "no traffic"
    month = f"{money(variant.per_month, currency)} a month"
    if not several_lines:
        return [f"{', '.join([share, *others, month])}{' ✓' if best else ''}"]
    words = [f"{share} throttled" if variant.result.attempts else share, month]
    if variant.once:
        words.append(f"and {money(variant.once, currency)} once")
    return [f"{words[0]}, cheapest" if best else words[0], *others, *words[1:]]


def _room(axes: Axes, words_points: float, titles: Sequence[str]) -> float:
    """Room beside the bars for words of so many characters × points, in lengths of a whole bar."""
    inches = size_inches(axes)[0]
    beside = max(map(columns_of, titles), default=0) * CHARACTER_EM * TITLE_POINTS / 72
    inches = min(inches, inches / _PANEL_FRACTION - beside)
    share = min(_WORDS_SHARE_MAX, words_points * CHARACTER_EM / 72 / max(inches, 0.1))
    return (_TEXT_AT * share + 0.02) / (1 - share)


def _most_refusing(variants: Sequence[Variant]) -> str:
    """The table, or an index of all runs that refused more than it."""
    shared = [r for r in variants[0].result.resources if all(r in v.result.resources for v in variants)]
    events = {
        resource: sum(
            float(lane.throttle_events.sum()) for v in variants for lane in v.result.resources[resource].lanes.values()
        )
        for resource in shared
    }
    return max(shared, key=lambda resource: (events[resource], resource == TABLE))


def _dimensions(variants: Sequence[Variant], resource: str) -> list[Dimension]:
    """Reads, writes or both: those that were throttled in any run, else those that came nearer to the partitions' ceilings."""
    lanes = [(d, lane) for v in variants for d, lane in record_of(v.result, resource).lanes.items()]
    throttled = {d for d, lane in lanes if lane.throttle_events.any()}
    if not throttled:
        most = {d: max(float(lane.offered_units.sum()) for of, lane in lanes if of is d) for d in Dimension}
        throttled = {max(most, key=lambda d: (most[d] / CEILING_PER_S[d], d is Dimension.WRITE))}
    return [d for d in Dimension if d in throttled]


def _small_rates(variant: Variant, dimension: Dimension, resource: str, panel: Axes, entries: dict[str, Any]) -> Axes:
    """The rates of one run, their legend's entries put with those of the others."""
    draw_rates(variant.result, dimension, panel, resource=resource)
    if resource != TABLE:
        panel.set_ylabel(f"{dimension} units/s\nof {literal(name(resource, longest=_RESOURCE_CHARACTERS))}")
    for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
        entries.setdefault("capacity" if label.startswith("capacity") else label, handle)
    drawn = panel.get_legend()
    if drawn is not None:
        drawn.remove()
    return panel


def _put_name(variant: Variant, best: bool, inches: float, panel: Axes) -> None:
    """Title and verdict of a run above its column; the title's empty lines keep the room for the verdict."""
    says = verdict(variant.result)
    lines = textwrap.wrap(f"{says[0].upper()}{says[1:]}", max(12, int(inches * _VERDICT_CHARACTERS_PER_INCH)))
    room = max(8, int(inches * _TITLE_CHARACTERS_PER_INCH))
    mark = " ✓" if best else ""
    longest = room * len(variant.title) // max(1, columns_of(variant.title))
    title = isolated(literal(name(variant.title, longest=longest)))
    panel.set_title(f"{title}{mark}" + "\n" * _VERDICT_LINES, loc="left", fontsize=11, fontweight="bold")
    panel.annotate(
        "\n".join(lines[:_VERDICT_LINES]),
        (0, 1),
        xytext=(0, 2.2 + 11 * 1.2 * _VERDICT_LINES),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize=8.5,
        color="0.3",
    )


def _put_bar(figure: Figure, maps: Sequence[tuple[Axes, Map]]) -> None:
    """One colour bar for all maps, below them."""
    below = figure.colorbar(
        maps[0][1].image, ax=figure.axes, location="bottom", shrink=0.45, aspect=45, fraction=0.05, pad=0.02
    )
    name_bar(below, max(drawn.most for _, drawn in maps))


def _share_scales(rates: dict[Dimension, list[Axes]], maps: Sequence[tuple[Axes, Map]]) -> None:
    """The same scale for the same thing."""
    for panels in rates.values():
        top = max(panel.get_ylim()[1] for panel in panels)
        hidden = {panel: capacity for panel in panels if (capacity := _least_capacity(panel)) > top}
        if hidden:
            top *= 1 + _WORDS_FRACTION
        for panel in panels:
            panel.set_ylim(0, top)
            if panel in hidden:
                panel.text(
                    0.97,
                    1 - 0.2 * _WORDS_FRACTION,
                    f"capacity {amount(hidden[panel])}/s, out of view",
                    transform=panel.transAxes,
                    ha="right",
                    va="top",
                    fontsize=7.5,
                    path_effects=OUTLINE,
                )
    share_scale([drawn for _, drawn in maps])


def _least_capacity(panel: Axes) -> float:
    """The least capacity that is drawn in a panel of rates."""
    (line,) = [line for line in panel.lines if str(line.get_label()).startswith("capacity")]
    return float(np.min(np.asarray(line.get_ydata(), dtype=float)))
