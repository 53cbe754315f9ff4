"""What all pictures share: the palette, the time axis, legends, and how a name becomes text on a picture."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from numbers import Real
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator, MultipleLocator

from sim.keyspace.domain import Ints
from sim.names import ControlAction

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

SIZE_INCHES = (10.0, 6.0)
DPI = 100
_INCHES_MAX = 300  # a picture of 30,000 points has nearly the most that can be drawn

# Okabe and Ito's palette, told apart with every kind of colour vision. In every picture a colour means the same thing; those that stand
# side by side differ in lightness too, or by a hatch, a dash or a marker, for print without colour.
CONSUMED_COLOUR = "#56B4E9"  # what was served
THROTTLED_COLOUR = "#D55E00"  # what was refused, and where; over loads with a hatch
THROTTLED_HATCH_COLOUR = "#8F3E00"
SLIGHTLY_THROTTLED_COLOUR = "#F2B88A"  # where less than SLIGHT_FRACTION was refused; with a wider hatch
SLIGHT_FRACTION = 0.01
FAILED_COLOUR = "#C8C8C8"  # what came to nothing for another reason than capacity; with a hatch of its own
FAILED_HATCH_COLOUR = "#555555"
WAITING_COLOUR = "#777777"  # what has no answer at the end, always dots on white
TABLE_LIMIT_COLOUR = "#CC79A7"  # a limit of the whole table or index, always a hatch
OFFERED_COLOUR = "#000000"  # what was asked for, always a line
ALARM_COLOUR = "#E69F00"  # an alarm that rings, always a bar with its name
CAPACITY_COLOUR = "#009E73"  # what could be served, always dashed, and marks of its changes
LEVEL_COLOUR = "#0072B2"  # what is in a bucket
KEY_COLOUR = "#F0E442"  # a key, always a marker with a black edge
LAW_COLOUR = "#555555"  # what arithmetic says, never what was measured: dotted or dash-dotted
LOAD_COLOURS = "Blues"  # consumed, of a partition's ceiling
HATCH, WIDE_HATCH, FAILED_HATCH, WAITING_HATCH = "////", "//", "xxx", "..."
CHANGE_MARKS: Mapping[str, tuple[str, str]] = {
    ControlAction.AUTO_SCALING: ("auto scaling", "o"),
    ControlAction.SCHEDULE: ("schedule", "D"),
    ControlAction.UPDATE_TABLE: ("UpdateTable", "s"),
}
OUTLINE = [withStroke(linewidth=2.0, foreground="white")]

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
_BIN_WIDTHS_S = (
    1,
    2,
    5,
    10,
    15,
    20,
    30,
    60,
    120,
    300,
    600,
    900,
    1200,
    1800,
    3600,
    7200,
    14_400,
    21_600,
    43_200,
    86_400,
)
_TIME_TICK_INCHES = 0.42
_LEGEND_COLUMNS_MAX, _LEGEND_COLUMN_INCHES = 5, 1.45
_LEGEND_POINTS, _LEGEND_HANDLE_EM = 8, 3.6
TITLE_POINTS = 10  # of a panel
CHARACTER_EM = 0.6  # width of a character on average, rather more than less


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of matplotlib about what is in order for a picture here."""
    with catch_warnings():
        # No font has every script: a title in another one shows boxes, and the report has it in full.
        filterwarnings("ignore", message="Glyph .* missing from")
        filterwarnings("ignore", message="Matplotlib currently does not support")
        # A figure of one inch has no room for what is in it; it is as small as was asked for.
        filterwarnings("ignore", message="constrained_layout not applied")
        yield


LEFT_TO_RIGHT = "\u200e"  # a mark that fonts have, unlike the isolates


class Layout(ConstrainedLayoutEngine):
    """The layout of all pictures, which does its best in silence where there is no room."""

    def execute(self, fig: Any) -> None:
        with quiet():
            super().execute(fig)


class Picture(Figure):
    """A figure that a notebook shows as it is, whether or not pyplot has been imported."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        with_canvas(self).savefig(picture, format="png")
        return picture.getvalue()

    def draw(self, renderer: Any) -> None:
        with quiet():
            super().draw(renderer)

    def get_tightbbox(
        self, renderer: Any = None, *args: Any, **more: Any
    ) -> Any:  # before a notebook with pyplot draws
        with quiet():
            return super().get_tightbbox(renderer, *args, **more)

    def savefig(self, *args: Any, **more: Any) -> None:
        with quiet():
            super().savefig(*args, **more)


def figure(*, height_inches: float = 3.6, width_inches: float = SIZE_INCHES[0]) -> Picture:
    """An empty figure for `draw_...` functions: ``draw_levels(result, (picture := figure()).subplots())``.

    Parameters
    ----------
    height_inches, width_inches : size, above 0 and up to 300; each panel wants about 3 inches of height.

    Raises
    ------
    ValueError
        A size is no such number.
    """
    for side, inches in (("height_inches", height_inches), ("width_inches", width_inches)):
        if isinstance(inches, bool) or not isinstance(inches, Real) or not 0 < inches <= _INCHES_MAX:
            raise ValueError(f"{side} is a number above 0 and up to {_INCHES_MAX}, not {inches!r}")
    made = Picture(figsize=(width_inches, height_inches), dpi=DPI)
    made.set_layout_engine(Layout())
    return made


def with_canvas(figure: Figure) -> Figure:
    """The figure, with a canvas on which it can be drawn without a display."""
    if figure.canvas is None or type(figure.canvas).__name__ == "FigureCanvasBase":
        FigureCanvasAgg(figure)
    return figure


def legend(axes: Axes, handles: Sequence[Any], labels: Sequence[str], *, columns: int = _LEGEND_COLUMNS_MAX) -> None:
    """Above the panel, right, where no data can lie under it; a title at the left goes above it where both do not fit."""
    if not handles:
        return
    width = size_inches(axes)[0]
    columns = even_columns(len(handles), min(columns, max(2, int(width / _LEGEND_COLUMN_INCHES))))
    axes.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        frameon=False,
        fontsize=_LEGEND_POINTS,
        borderaxespad=0.1,
        handlelength=1.6,
        columnspacing=1.2,
    )
    rows = -(-len(handles) // columns)
    # A legend is filled column by column, and the first columns have the odd entries.
    widest = [max(columns_of(label) for label in column) for column in np.array_split(np.array(labels), columns)]
    taken = (sum(widest) * CHARACTER_EM + columns * _LEGEND_HANDLE_EM) * _LEGEND_POINTS
    title = axes.get_title(loc="left")
    if title and taken + columns_of(title) * CHARACTER_EM * TITLE_POINTS > width * 72:
        axes.set_title(title, loc="left", fontsize=TITLE_POINTS, pad=6 + 1.5 * _LEGEND_POINTS * rows)


def even_columns(entries: int, most: int) -> int:
    """Columns of a legend, at most so many, in which no entry is left for a row of its own where the rows can be even."""
    return -(-entries // -(-entries // most))


def time_unit(result: Outcome) -> tuple[float, str]:
    """Seconds in the unit in which a run of this length is best told, and its name."""
    return next((scale, unit) for longest, scale, unit in _TIME_UNITS if result.grid.duration_s <= longest)


def time_axis(result: Outcome, axes: Axes) -> None:
    scale_s, unit = time_unit(result)
    end = result.grid.duration_s / scale_s
    axes.set_xlim(0, end)
    most = int(np.clip(size_inches(axes)[0] / _TIME_TICK_INCHES, 2, _TIME_TICKS_MAX))
    step = next((step for step in _TIME_STEPS[unit] if end / step <= most), None)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=most) if step is None else MultipleLocator(step))
    axes.set_xlabel(f"time ({unit})")


def size_inches(axes: Axes) -> tuple[float, float]:
    """Width and height of a panel, as far as they are known before the figure is laid out."""
    box, dpi = axes.get_window_extent(), axes.get_figure(root=True).dpi  # type: ignore[union-attr]  # an Axes that is drawn on has a figure
    return box.width / dpi, box.height / dpi


def time_bins(count: int, most: int, step_s: float) -> Ints:
    """Edges that divide so many ticks or periods of ``step_s`` seconds into at most so many bins.

    Bins are as wide as people count time, in seconds, minutes and hours, so that what changes at a full minute changes at an edge.
    """
    least_s = count * step_s / most
    whole = (width_s / step_s for width_s in _BIN_WIDTHS_S if width_s >= least_s and width_s >= step_s)
    fitting = (round(steps) for steps in whole if abs(steps - round(steps)) < 1e-9)
    width = 1 if count <= most else next(fitting, -(-count // most))
    return np.append(np.arange(0, count, width), count)


def literal(text: str) -> str:
    """Text in which a dollar sign is no mathematics."""
    return text.replace("$", r"\$")


def isolated(text: str) -> str:
    """A text after which the line goes on from left to right, though it is of a script that is written from right to left."""
    right_to_left = any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in text)
    return f"{LEFT_TO_RIGHT}{text}{LEFT_TO_RIGHT}" if right_to_left else text


def columns_of(text: str) -> int:
    """Width of a text in characters of the usual width; those of East Asian scripts are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def joined_spans(spans: Sequence[tuple[float, float]], gap: float = 0.0) -> list[tuple[float, float]]:
    """Spans that touch, overlap, or lie at most ``gap`` apart, as one."""
    joined: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1] + gap:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined
