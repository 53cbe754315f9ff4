"""The sliders themselves. Importing this imports ipywidgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets

from sim.explore.controls import MODE, Controls, Knob, Position
from sim.explore.picture import DPI, WIDTH_INCHES
from sim.names import Mode

_WIDTH_PX = round(DPI * WIDTH_INCHES)
_LABEL = "205px"


class Panel:
    """Sliders above a picture and a verdict.

    The picture is replaced in one widget, so that it never flickers, and the verdict stands under it: however long that is, nothing moves.

    Parameters
    ----------
    moved : called with the position after each move of a user's.
    continuous : whether a move is told while the slider is dragged.
    """

    def __init__(
        self, controls: Controls, position: Position, moved: Callable[[Position], None], *, continuous: bool
    ) -> None:
        self._controls = controls
        self._moved = moved
        self._told = True
        self._sliders = {knob.name: _slider(knob, float(position[knob.name]), continuous) for knob in controls.knobs}
        turned: dict[str, Any] = dict(self._sliders)
        if controls.modes:
            turned[MODE] = ipywidgets.ToggleButtons(
                options=[str(mode) for mode in controls.modes],
                value=position[MODE],
                description="mode",
                style={"description_width": _LABEL, "button_width": "100px"},
            )
        self._turned = turned
        self._enable(position)
        for widget in turned.values():
            widget.observe(self._on_move, "value")
        self._picture = ipywidgets.Image(format="png", layout={"width": "100%", "max_width": f"{_WIDTH_PX}px"})
        self._verdict = ipywidgets.HTML(layout={"width": "100%", "max_width": f"{_WIDTH_PX}px"})
        sliders = ipywidgets.Box(
            list(turned.values()),
            layout={"flex_flow": "row wrap", "max_width": f"{_WIDTH_PX}px", "overflow": "visible"},
        )
        self.box = ipywidgets.VBox([sliders, self._picture, self._verdict])
        self.box.add_class("ddbsim-explore")

    @property
    def position(self) -> dict[str, float | str]:
        """Where the sliders stand."""
        return {key: widget.value for key, widget in self._turned.items()}

    def stand(self, position: Position) -> None:
        """Put the sliders where a position is, without telling it as a move."""
        self._told = False
        try:
            for key, widget in self._turned.items():
                widget.value = position[key]
        finally:
            self._told = True
        self._enable(position)

    def show(self, picture: bytes, verdict: str) -> None:
        """Replace picture and verdict."""
        self._picture.value = picture
        self._verdict.value = verdict

    def _on_move(self, _: Any) -> None:
        if self._told:
            self._enable(self.position)
            self._moved(self.position)

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
        value=number(value),
        min=number(knob.low),
        max=number(knob.high),
        step=number(knob.step),
        description=knob.label,
        tooltip=knob.label,
        continuous_update=continuous,
        readout_format=",d" if knob.whole else f",.{digits}f",
        style={"description_width": _LABEL},
        layout={"width": "440px"},
    )
