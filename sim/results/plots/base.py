"""What all pictures share: the palette, the time axis, legends, and how a name becomes text on a picture.

The same colour means the same thing in every picture:
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator, MultipleLocator

from sim.keyspace.domain import Ints
from sim.names import ControlAction

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
_LEGEND_COLUMNS_MAX = 5


def with_canvas(figure: Figure) -> Figure:
    """The figure, with a canvas on which it can be drawn without a display."""
    if figure.canvas is None or type(figure.canvas).__name__ == "FigureCanvasBase":
        FigureCanvasAgg(figure)
    return figure


def legend(axes: Axes, handles: Sequence[Any], labels: Sequence[str]) -> None:
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


def time_unit(result: Outcome) -> tuple[float, str]:
    """Seconds in the unit in which a run of this length is best told, and its name."""
    return next((scale, unit) for longest, scale, unit in _TIME_UNITS if result.grid.duration_s <= longest)


def time_axis(result: Outcome, axes: Axes) -> None:
    scale_s, unit = time_unit(result)
    end = result.grid.duration_s / scale_s
    axes.set_xlim(0, end)
    step = next((step for step in _TIME_STEPS[unit] if end / step <= _TIME_TICKS_MAX), None)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=_TIME_TICKS_MAX) if step is None else MultipleLocator(step))
    axes.set_xlabel(f"time ({unit})")


def time_bins(count: int, most: int) -> Ints:
    """Edges that divide so many ticks or periods into at most so many bins, as even as may be."""
    return np.unique(np.linspace(0, count, min(count, most) + 1).round().astype(np.int64))


def literal(text: str) -> str:
    """Text in which a dollar sign is no mathematics."""
    return text.replace("$", r"\$")
