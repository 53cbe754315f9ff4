"""`explore`: sliders over a scenario, with the picture and the verdict of where they stand."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from sim.exploring.controls import MODE, Controls, Position, Range, controls_of
from sim.exploring.patience import run
from sim.exploring.picture import panels_of, picture
from sim.exploring.words import headline, headline_html, picture_html, position_words, sentences, sentences_html
from sim.names import TABLE, Dimension, Mode
from sim.results.result import Result
from sim.scenario import Scenario, from_dict, load
from sim.scenario.base import shown
from sim.scenario.leaves import as_number

if TYPE_CHECKING:
    from sim.exploring.widgets import Panel

INSTALL = "Sliders need ipywidgets: pip install 'ddbsim[notebooks]', restart the kernel, and run this cell again."
FLUENT_S = 0.5  # of processor time: what runs within this follows a slider while it is dragged; what does not, when it is let go

_RATE_PER_S, _SKEW, _SHARDS, _CAPACITY_PER_S, _USERS, _DURATION = 3000.0, 1.5, 1, 4000.0, 10_000, "30m"


def explore(
    scenario: Scenario | str | Path | None = None,
    *,
    rate: float | None = None,
    skew: float | None = None,
    shards: int | None = None,
    capacity: float | None = None,
    mode: str | None = None,
    users: int | None = None,
    duration: str | float | None = None,
    ranges: Mapping[str, Range] | None = None,
) -> Explorer:
    """Drag a table's traffic, keys and capacity, and see at once what throttles, where and why.

    ``explore()`` has one table of users whose key is ``USER#{user}#SHARD#{shard}``, with one busy user: what helps it? With a scenario, of
    a file or of ``models``, there are sliders for what it has: the rate of all its patterns together (their highest, where they have a
    shape), the exponent of each zipf field, the number of shards, the capacity of the table and its indexes, and the mode.

    Parameters
    ----------
    scenario : what is explored, or the path of its file. None: the table of users.
    rate : requests per second at the start, from 0. None: the scenario's own; 3,000 for the table of users.
    skew : zipf exponent at the start, 0 (all alike) to 20. None: the scenario's own; 1.5.
    shards : number of shards at the start, from 1. None: the scenario's own; 1.
    capacity : provisioned units per second at the start, from 1. None: the scenario's own; 4,000 write units per second.
    mode : "provisioned" or "on-demand", at the start. None: the scenario's own; provisioned.
    users : how many the table of users has. None: 10,000.
    duration : simulated time of the table of users. None: "30m".
    ranges : ends of sliders by name: ``{"rate": (0, 20_000), "skew": (0, 1)}``.

    Returns
    -------
    What a notebook shows as sliders, picture and verdict, in JupyterLab and VS Code; without ipywidgets as a picture with a word on how to
    get them. ``explorer.scenario`` and ``explorer.result`` are those of where the sliders stand: a cell below can go on from there.

    Raises
    ------
    ScenarioError
        The scenario is wrong, asks for something that is not simulated, or takes longer to run than one waits for a slider: 5 s.
    ValueError
        A range, or a start, of a slider that there is not, or that does not lie on it; or ``users`` or ``duration`` beside a scenario;
        or what is given is no scenario.
    """
    given = {"rate": rate, "skew": skew, "shards": shards, "capacity": capacity, MODE: mode}
    if scenario is None:
        scenario = _users_table(
            rate=_RATE_PER_S if rate is None else rate,
            skew=_SKEW if skew is None else skew,
            shards=_SHARDS if shards is None else shards,
            capacity=_CAPACITY_PER_S if capacity is None else capacity,
            users=_USERS if users is None else users,
            duration=_DURATION if duration is None else duration,
        )
        given = {MODE: mode}
    else:
        for key, value in (("users", users), ("duration", duration)):
            if value is not None:
                raise ValueError(f"{key}: is for the table of users; a scenario has its own (given: {value!r})")
        if not isinstance(scenario, Scenario | str | os.PathLike):
            raise ValueError(f"scenario: give a Scenario or the path of its file (given: {shown(scenario)})")
        scenario = scenario if isinstance(scenario, Scenario) else load(scenario)
    starts = {key: value for key, value in given.items() if value is not None}
    return Explorer(scenario, starts=starts, ranges=ranges)


class Explorer:
    """A scenario under sliders. Made by `explore`; a notebook shows it.

    Each move runs the scenario of the new position and shows it in place. A position that cannot be simulated is told where the verdict
    stands, and leaves ``scenario`` and ``result`` at the last one that could be.

    Attributes
    ----------
    controls : the scenario and its sliders.
    position : where the sliders stand, by name.
    result : of the last position that was simulated.
    error : why the present position could not be simulated; "" if it could.
    seconds : that the last update took, from the move to the picture.
    picture : the picture, as PNG.
    """

    def __init__(
        self, scenario: Scenario, *, starts: Position | None = None, ranges: Mapping[str, Range] | None = None
    ) -> None:
        began, worked = time.perf_counter(), time.process_time()
        # JupyterLab may hand a slider's moves to another thread than the one that runs cells: one update at a time.
        self._one_at_a_time = Lock()
        starts = starts or {}
        early, factor = _early(scenario, starts)
        self.result: Result = run(early)
        busiest = {lane: factor * most for lane, most in busiest_of(self.result).items()}
        self.controls: Controls = controls_of(scenario, busiest, ranges=ranges, starts=starts)
        self.position: dict[str, float | str] = self.controls.base | self.controls.named(starts)
        self._panels = panels_of(list(busiest))
        self._panel: Panel | None = None
        self._panel_is_missing = False
        self.error = ""
        at = self.controls.at(self.position)
        result = self.result if at == early else run(at)
        self.picture = picture(result, self._panels)
        self.result = result
        self.seconds = time.perf_counter() - began
        self._quickest_s = time.process_time() - worked  # the first one is slow: it imports, and fills caches

    def move(self, position: Position | None = None, /, **named: float | str) -> None:
        """Move sliders from Python: ``explorer.move(rate=5000, shards=4)``, or ``explorer.move({"skew.user": 1.2})``.

        Raises
        ------
        ValueError
            There is no such slider, or no such value on it.
        """
        moved = self.controls.named({} if position is None else position) | self.controls.named(named)
        with self._one_at_a_time:
            self.position = self.position | moved
            if self._panel is not None:
                self._panel.stand(self.position)
            self._update()

    def _update(self) -> None:
        """Simulate and draw the present position."""
        began, worked = time.perf_counter(), time.process_time()
        try:
            result = run(self.controls.at(self.position))
        except InputError as error:  # anything else is a fault of the program, and is not hidden
            self.error = str(error)
        else:
            drawn = picture(result, self._panels)  # first: a result never stands beside another one's picture
            self.result, self.picture, self.error = result, drawn, ""
            self._quickest_s = min(self._quickest_s, time.process_time() - worked)
        self.seconds = time.perf_counter() - began
        if self._panel is not None:
            self._panel.follow(self._is_fluent)
            self._panel.show(self.picture, headline_html(self.result, self.error), sentences_html(self.result))

    def _dragged(self) -> None:
        """What the widget calls. A frontend sends its next move when this one is done, and then the newest: none queue up.

        Where sliders are moved from two threads, whoever comes second finds either a newer position or nothing left to do.
        """
        assert self._panel is not None
        with self._one_at_a_time:
            position = self._panel.position
            if position != self.position:
                self.position = position
                self._update()

    @property
    def _is_fluent(self) -> bool:
        return self._quickest_s < FLUENT_S

    @property
    def scenario(self) -> Scenario:
        """The scenario of the last position that was simulated: ``sim.dump(explorer.scenario)`` is its file."""
        return self.result.scenario

    @property
    def verdict(self) -> str:
        """The run in one line, and the first sentences of its explanation; or why there is none."""
        return self.error or "\n".join([" ".join(headline(self.result)), *sentences(self.result)])

    @property
    def widget(self) -> Any:
        """The ipywidgets box with the sliders, to put beside other widgets; None where ipywidgets is missing."""
        if self._panel is None and not self._panel_is_missing:
            try:
                from sim.exploring.widgets import Panel
            except ImportError:
                self._panel_is_missing = True
                return None
            self._panel = Panel(self.controls, self.position, self._dragged, continuous=self._is_fluent)
            self._panel.show(self.picture, headline_html(self.result, self.error), sentences_html(self.result))
        return None if self._panel is None else self._panel.box

    def __repr__(self) -> str:
        return f"{position_words(self.controls, self.position)}\n{self.verdict}"

    def _repr_html_(self) -> str:
        """The picture of the present position, for where there are no widgets: a saved page, or a kernel without ipywidgets."""
        parts = (
            f"<div>{escape(position_words(self.controls, self.position))}</div>",
            headline_html(self.result, self.error),
            picture_html(self.picture),
            sentences_html(self.result),
        )
        return "\n".join(parts)

    def _repr_mimebundle_(self, include: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> Any:
        """Sliders, for a frontend that has them, and a picture for one that has not."""
        widget = self.widget
        data = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if widget is None:
            data["text/html"] = f"<div><i>{escape(INSTALL)}</i></div>\n{data['text/html']}"
            data["text/plain"] = f"{INSTALL}\n{data['text/plain']}"
            return data
        return {**widget._repr_mimebundle_(), **data}


def _early(scenario: Scenario, starts: Position) -> tuple[Scenario, float]:
    """What can be run before it is known which capacities there are, and the factor from its busiest period to the scenario's own.

    It is the scenario at its start, but for a capacity or another mode: one that is too long at its own rate need not be so at the start's.
    """
    controls = controls_of(scenario, {}, starts=starts)
    position = {knob.name: starts[knob.name] for knob in controls.knobs if knob.name in starts}
    if as_number(position.get("rate")) == 0:  # tells nothing of which resources have traffic
        del position["rate"]
    position = controls.named(position)
    rate = position.get("rate")
    return controls.at(position), float(controls.base["rate"]) / float(rate) if rate else 1.0


def busiest_of(result: Result) -> dict[tuple[str, Dimension], float]:
    """Units per second asked of each resource and dimension that has traffic, in the busiest period; the table's first."""
    most = {}
    for resource, record in result.resources.items():
        for dimension, lane in record.lanes.items():
            if lane.offered_units.any():
                seconds = min(result.scenario.period, result.grid.duration_s)
                most[resource, dimension] = float(result.per_period(lane.offered_units).max()) / seconds
    return dict(sorted(most.items(), key=lambda pair: pair[0][0] != TABLE))


def _users_table(
    *, rate: float, skew: float, shards: int, capacity: float, users: int, duration: str | float
) -> Scenario:
    """A table of users under writes, provisioned."""
    return from_dict(
        {
            "format": 1,
            "title": "Users, some busier than others",
            "duration": duration,
            "seed": 1,
            "fields": {
                "user": {"kind": "zipf", "count": users, "exponent": skew},
                "shard": {"kind": "uniform", "count": shards},
            },
            "table": {
                "name": "users",
                "pk": "USER#{user}#SHARD#{shard}",
                "mode": str(Mode.PROVISIONED),
                "read_capacity": 1,
                "write_capacity": capacity,
            },
            "traffic": [{"name": "writes", "operation": "PutItem", "rate": rate}],
        },
        "explore",
    )
