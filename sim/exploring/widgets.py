"""The sliders themselves. Importing this imports ipywidgets."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

import ipywidgets

from sim.exploring.controls import MODE, Controls, Knob, Position
from sim.exploring.picture import DPI, WIDTH_INCHES
from sim.names import Mode

_WIDTH_PX = round(DPI * WIDTH_INCHES)
_COLUMN_PX = 390  # two columns beside the file browser of a window of 1,280 pixels
_LABEL = "170px"


class Panel:
    """Sliders above the headline, the picture and the sentences.

    The picture is replaced in one widget, so that it does not flicker, and the sentences stand under it, so that it does not move.

    Parameters
    ----------
    moved : called after each move of a user's.
    continuous : whether a move is told while the slider is dragged.
    """

    def __init__(self, controls: Controls, position: Position, moved: Callable[[], None], *, continuous: bool) -> None:
        self._controls = controls
        self._moved = moved
        self._standing: int | None = None
        self._position = dict(position)
        self._sliders = {knob.name: _slider(knob, float(position[knob.name]), continuous) for knob in controls.knobs}
        self._turned: dict[str, Any] = dict(self._sliders)
        cells: list[Any] = list(self._sliders.values())
        if controls.modes:
            self._turned[MODE] = ipywidgets.ToggleButtons(
                options=[str(mode) for mode in controls.modes],
                value=position[MODE],
                tooltips=["capacity that is set", "capacity that follows the traffic"],
                style={"button_width": "108px"},
            )
            # Its own description would stand in a line above.
            label = ipywidgets.Label("mode", layout={"width": _LABEL, "justify_content": "flex-end", "display": "flex"})
            cells.append(ipywidgets.HBox([label, self._turned[MODE]]))
        self._enable(position)
        for key, widget in self._turned.items():
            widget.observe(lambda change, key=key: self._on_move(key, change["new"]), "value")
        self._picture = ipywidgets.Image(
            format="png", layout={"width": "calc(100% - 4px)", "max_width": f"{_WIDTH_PX}px"}
        )
        self._headline = ipywidgets.HTML(layout={"max_width": f"{_WIDTH_PX}px", "min_height": "30px"})
        self._sentences = ipywidgets.HTML(layout={"max_width": f"{_WIDTH_PX}px"})
        sliders = ipywidgets.GridBox(
            cells,
            layout={
                "grid_template_columns": f"repeat(auto-fill, minmax({_COLUMN_PX}px, 1fr))",
                "grid_gap": "0 12px",
                "max_width": f"{_WIDTH_PX}px",
            },
        )
        self.box = ipywidgets.VBox([sliders, self._headline, self._picture, self._sentences])
        self.box.add_class("ddbsim-explore")

    @property
    def position(self) -> dict[str, float | str]:
        """Where the sliders stand. One that was not dragged stands where it was put, also between two of its steps."""
        return dict(self._position)

    def stand(self, position: Position) -> None:
        """Put the sliders where a position is, without telling it as a move."""
        self._standing = get_ident()
        try:
            for key, widget in self._turned.items():
                widget.value = (
                    round(float(position[key])) if isinstance(widget, ipywidgets.IntSlider) else position[key]
                )
        finally:
            self._standing = None
        self._position = dict(position)
        self._enable(position)

    def follow(self, continuous: bool) -> None:
        """Tell moves while a slider is dragged, or when it is let go."""
        for slider in self._sliders.values():
            slider.continuous_update = continuous

    def show(self, picture: bytes, headline: str, sentences: str) -> None:
        """Replace the picture and what is said of it, as HTML."""
        self._headline.value = headline
        self._picture.value = picture
        self._sentences.value = sentences

    def _on_move(self, key: str, value: float | str) -> None:
        if self._standing != get_ident():  # another thread's moves are a user's
            knob = next((knob for knob in self._controls.knobs if knob.name == key), None)
            self._position[key] = value if knob is None else knob.dragged_to(float(value))
            self._enable(self.position)
            self._moved()

    def _enable(self, position: Position) -> None:
        """Sliders that do nothing in the present mode do not move."""
        mode = position.get(MODE, self._controls.scenario.table.mode)
        for knob in self._controls.knobs:
            self._sliders[knob.name].disabled = knob.only not in (None, Mode(str(mode)))


def _slider(knob: Knob, value: float, continuous: bool) -> Any:
    digits = 0 if knob.whole else max(0, len(f"{knob.step:.6f}".rstrip("0").partition(".")[2]))
    number = int if knob.whole else float
    kind = ipywidgets.IntSlider if knob.whole else ipywidgets.FloatSlider
    return kind(
        value=round(value) if knob.whole else float(value),
        min=number(knob.low),
        max=number(knob.high),
        step=number(knob.step),
        description=knob.label,
        tooltip=knob.label,
        continuous_update=continuous,
        readout_format=",d" if knob.whole else f",.{digits}f",
        style={"description_width": _LABEL},
        layout={"width": "auto"},
    )
