"""What can be dragged in a scenario, and the scenario that each position of the sliders means. No widgets here, and nothing is run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from sim.errors import Problem, ScenarioError
from sim.limits import PROVISIONED_MIN_UNITS
from sim.names import TABLE, AdmissionPolicy, Dimension, Mode
from sim.results.phrases import amount, name
from sim.scenario import Scenario, with_overrides
from sim.scenario.base import choices, listed, nearest, path_of
from sim.scenario.checks import used_fields
from sim.scenario.fields import EXPONENT_MAX, HashField, UniformField, ZipfField
from sim.scenario.leaves import COUNT_MAX, RATE_MAX_PER_S, as_number, plain
from sim.scenario.overrides import parse_path
from sim.scenario.rates import digits, peak_per_s, scaled
from sim.scenario.sections import Event
from sim.scenario.table import KEYS_OF_MODE, holders

MODE = "mode"

Position: TypeAlias = Mapping[str, float | str]
Range: TypeAlias = tuple[float, float]
What: TypeAlias = Literal["rate", "skew", "shards", "capacity"]

_STEPS = 100  # of a slider, at least: a key press moves it by one
_FINEST_STEPS = 1_000_000
_RATE_ROOM = 3.0  # × the scenario's own: how far a slider reaches
_SKEW_MAX = 2.0
_SHARDS_ROOM = 50
_SPARE_CAPACITY = 1.25  # × the busiest period, where a scenario has no capacity of its own
_NAME_CHARACTERS = 18
_NOISE = 1e-8  # of a value: what a slider's arithmetic adds to it and nobody means


@dataclass(frozen=True, kw_only=True)
class Knob:
    """One slider.

    Attributes
    ----------
    name : key of a position: "rate", "skew", "shards", "capacity"; with the name of what it turns where there are several, "skew.user".
    what : what it turns.
    target : field, or resource, that it turns; "" for the rate.
    dimension : of a capacity.
    label : what stands beside the slider, with the unit.
    base : value in the scenario.
    low, high : ends of the slider.
    least, most : beyond these no end can be, for no scenario has such a value.
    step : distance of its positions.
    only : mode in which it does something. None: in both.
    """

    name: str
    what: What
    target: str = ""
    dimension: Dimension | None = None
    label: str
    base: float
    low: float
    high: float
    least: float
    most: float
    step: float = 0.0
    only: Mode | None = None

    @property
    def whole(self) -> bool:
        """Whether all its positions are whole numbers."""
        return all(value == int(value) for value in (self.low, self.step, self.base))

    def dragged_to(self, value: float) -> float:
        """The value that is meant where a slider was dragged to: it stands on steps, and the scenario's own may lie between two."""
        return self.base if abs(value - self.base) < self.step / 2 else digits(value)


@dataclass(frozen=True, kw_only=True)
class Controls:
    """A scenario and what can be dragged in it.

    Attributes
    ----------
    scenario : where everything starts.
    knobs : the sliders, in the order in which they stand.
    modes : between which one can choose; none where the scenario's own events, alarms or admission hang on the mode.
    """

    scenario: Scenario
    knobs: tuple[Knob, ...]
    modes: tuple[Mode, ...]

    @property
    def base(self) -> dict[str, float | str]:
        """The position that is the scenario itself."""
        at: dict[str, float | str] = {knob.name: knob.base for knob in self.knobs}
        return at | ({MODE: str(self.scenario.table.mode)} if self.modes else {})

    def at(self, position: Position) -> Scenario:
        """The scenario that a position means; names that it leaves out stay as they are in the scenario itself.

        A scenario that was moved no longer bears the claim and the ids of the one that it came from.

        Raises
        ------
        ScenarioError
            The position is no valid scenario: a capacity above the table's quota, say. It names the slider.
        """
        mode = Mode(str(position.get(MODE, self.scenario.table.mode)))
        values = {knob: float(position.get(knob.name, knob.base)) for knob in self.knobs}
        moved = {knob: value for knob, value in values.items() if abs(value - knob.base) > _NOISE * abs(knob.base)}
        changes = dict(self._mode_changes(mode))
        turned = dict.fromkeys(changes, MODE)  # by what each value is changed
        for knob, value in (values if changes else moved).items():
            if knob.only in (None, mode) and (knob in moved or knob.what == "capacity"):
                of_knob = dict(self._changes(knob, int(value) if value == int(value) else value))
                changes |= of_knob
                turned |= dict.fromkeys(of_knob, knob.label)
        if not changes:
            return self.scenario
        try:
            return with_overrides(self.scenario, {"description": None, "shows": None, **changes})
        except ScenarioError as error:
            raise ScenarioError([_of_slider(problem, turned) for problem in error.problems]) from None

    def named(self, position: Position) -> dict[str, float | str]:
        """A position as a user wrote it, with its names and values checked.

        Raises
        ------
        ValueError
            There is no such slider, or no such value on it.
        """
        knobs = {knob.name: knob for knob in self.knobs}
        names = [*knobs, *([MODE] if self.modes else [])]
        if not isinstance(position, Mapping):
            raise ValueError(f'a position must name its sliders, as in {{"rate": 500}} (given: {position!r})')
        found: dict[str, float | str] = {}
        for key, value in position.items():
            if key not in names:
                raise ValueError(f"{key}: there is no such slider; {choices(key, names)}")
            found[key] = self._mode_named(value) if key == MODE else _on_slider(knobs[key], value)
        return found

    def _mode_named(self, value: object) -> str:
        modes = [str(mode) for mode in self.modes]
        if not isinstance(value, str) or value not in modes:
            near = nearest(value, modes) if isinstance(value, str) else ""
            raise ValueError(f"mode: {value!r} is none of {listed(map(repr, modes))}{f'; {near}' if near else ''}")
        return str(value)

    def _mode_changes(self, mode: Mode) -> Iterator[tuple[str, Any]]:
        """What has to go, and what has to be there, so that the table can have another mode than the scenario's."""
        if mode is self.scenario.table.mode:
            return
        yield "table.mode", str(mode)
        for resource, own in holders(self.scenario.table).items():
            for key in KEYS_OF_MODE[self.scenario.table.mode]:
                if key in type(own).model_fields:
                    yield f"{self._path(resource)}.{key}", None
            if mode is Mode.PROVISIONED:
                yield from ((f"{self._path(resource)}.{d}_capacity", 1) for d in Dimension)

    def _changes(self, knob: Knob, value: float) -> Iterator[tuple[str, Any]]:
        if knob.what == "rate":
            for number, pattern in enumerate(self.scenario.traffic):
                if pattern.rate is not None and peak_per_s(pattern.rate):
                    yield f"traffic[{number}].rate", scaled(pattern.rate, value / knob.base)
        elif knob.what == "capacity":
            yield f"{self._path(knob.target)}.{knob.dimension}_capacity", value
        else:
            key = "exponent" if knob.what == "skew" else "count"
            yield f'fields."{knob.target}".{key}', value

    def _path(self, resource: str) -> str:
        place = list(holders(self.scenario.table)).index(resource)
        return f"table.gsi[{place - 1}]" if place else TABLE


def controls_of(
    scenario: Scenario,
    busiest: Mapping[tuple[str, Dimension], float],
    *,
    ranges: Mapping[str, Range] | None = None,
    starts: Position | None = None,
) -> Controls:
    """What can be dragged in a scenario.

    Parameters
    ----------
    busiest : units per second asked of each resource and dimension that has traffic, in the run's busiest period.
    ranges : ends of sliders by name, where they are not to be the usual ones.
    starts : where sliders begin, by name, when that is not the scenario itself: their ends leave room for it.

    Raises
    ------
    ValueError
        A range of no slider, one whose ends are not in order, or one that leaves out the scenario's own value.
    """
    asked = _pairs(ranges)
    knobs = []
    for knob in _knobs(scenario, busiest):
        start = as_number((starts or {}).get(knob.name))  # what is none is refused when the position is
        knobs.append(_ranged(knob, asked.pop(knob.name, None), [knob.base, *([] if start is None else [start])]))
    if asked:
        key = next(iter(asked))
        raise ValueError(f"ranges: there is no slider {key!r}; {choices(key, [knob.name for knob in knobs])}")
    return Controls(scenario=scenario, knobs=tuple(knobs), modes=_modes(scenario))


def _knobs(scenario: Scenario, busiest: Mapping[tuple[str, Dimension], float]) -> Iterator[Knob]:
    """The sliders with the scenario's own values, their ends as far as they are known."""
    rates = [pattern.rate for pattern in scenario.traffic if pattern.rate is not None]
    peaks = [peak for rate in rates if (peak := peak_per_s(rate))]
    if peaks:
        steady = all(isinstance(rate, int | float) for rate in rates)
        base = digits(sum(peaks))
        label = "rate (requests/s)" if steady else "highest rate (requests/s)"
        most = digits(base * (RATE_MAX_PER_S / max(peaks)))  # each pattern has its own limit
        yield Knob(name="rate", what="rate", label=label, base=base, low=0, high=_RATE_ROOM * base, least=0, most=most)
    used = used_fields(scenario)  # the others would be sliders without effect
    skewed = {key: field for key, field in scenario.fields.items() if isinstance(field, ZipfField) and key in used}
    for key, field in skewed.items():
        alone = len(skewed) == 1
        high = max(_SKEW_MAX, _round_up(field.exponent + 0.5))
        yield Knob(
            name="skew" if alone else f"skew.{key}",
            what="skew",
            target=key,
            label="skew (zipf exponent)" if alone else f"skew of {name(key, longest=_NAME_CHARACTERS)} (zipf)",
            base=field.exponent,
            low=0,
            high=high,
            least=0,
            most=EXPONENT_MAX,
        )
    yield from _shards(scenario)
    for (resource, dimension), most in busiest.items():
        yield _capacity(scenario, resource, dimension, most, alone=sum(r == resource for r, _ in busiest) == 1)


def _shards(scenario: Scenario) -> Iterator[Knob]:
    """The field that is a shard: by its name, else the only one that is drawn evenly or by a hash."""
    used = used_fields(scenario)
    kinds = UniformField | HashField
    even = {key: field for key, field in scenario.fields.items() if isinstance(field, kinds) and key in used}
    found = [key for key in even if "shard" in key.lower()] or (list(even) if len(even) == 1 else [])
    for key in found:
        count = even[key].count
        alone = len(found) == 1
        said = "shards" if "shard" in key.lower() and alone else f"number of {name(key, longest=_NAME_CHARACTERS)}"
        high = max(_SHARDS_ROOM, _round_up(2.0 * count))
        own = "shards" if alone else f"shards.{key}"
        yield Knob(
            name=own, what="shards", target=key, label=said, base=count, low=1, high=high, least=1, most=COUNT_MAX
        )


def _capacity(scenario: Scenario, resource: str, dimension: Dimension, most: float, *, alone: bool) -> Knob:
    holder = holders(scenario.table)[resource]
    own = getattr(holder, f"{dimension}_capacity")
    quota = getattr(scenario.account, f"table_{dimension}")
    base = min(_round_up(max(_SPARE_CAPACITY * most, 1.0)), quota) if own is None else own
    index = resource.partition("/")[2]
    of = f" of {name(index, longest=_NAME_CHARACTERS)}" if index else ""
    return Knob(
        name=("capacity" if alone else f"{dimension}_capacity") + (f".{index}" if index else ""),
        what="capacity",
        target=resource,
        dimension=dimension,
        label=f"{dimension} capacity{of} (units/s)",
        base=base,
        low=0,
        high=min(_round_up(_RATE_ROOM * max(base, most)), quota) if base < quota else base,
        least=PROVISIONED_MIN_UNITS,
        most=RATE_MAX_PER_S,
        only=Mode.PROVISIONED,
    )


def _pairs(ranges: Mapping[str, Range] | None) -> dict[str, Range]:
    """Ends of sliders as a user wrote them, each a pair of numbers."""
    if ranges is None:
        return {}
    if not isinstance(ranges, Mapping):
        raise ValueError(f'ranges: must be ends by slider, such as {{"rate": (0, 20_000)}} (given: {ranges!r})')
    found = {}
    for key, ends in ranges.items():
        numbers = [as_number(end) for end in ends] if isinstance(ends, Sequence) and not isinstance(ends, str) else []
        low, high = numbers if len(numbers) == 2 else (None, None)
        if low is None or high is None:
            raise ValueError(f"ranges: {key} must be two numbers (low, high) with low below high (given: {ends!r})")
        found[key] = (low, high)
    return found


def _on_slider(knob: Knob, value: object) -> float:
    """A value of a slider as a user wrote it; numpy's numbers are numbers."""
    given = as_number(value)
    whole = knob.what == "shards"
    if given is None or not knob.low <= given <= knob.high or (whole and given % 1):
        kind = " in whole numbers" if whole else "" if given is not None else ", a number"
        ends = f"{amount(knob.low)} to {amount(knob.high)}{kind}"
        raise ValueError(
            f"{knob.name}: {value!r} is not on its slider, {ends}; ranges={{{knob.name!r}: (low, high)}} sets it"
        )
    return int(given) if given == int(given) else given


def _ranged(knob: Knob, asked: Range | None, values: list[float]) -> Knob:
    """A knob with ends, and with steps on which all values lie that it must be able to show."""
    if asked is not None:
        low, high = asked
        if not low < high:
            raise ValueError(f"ranges: {knob.name} must be (low, high) with low below high (given: {asked!r})")
        if low < knob.least or high > knob.most:
            allowed = f"{plain(knob.least)} to {plain(knob.most)}"
            raise ValueError(f"ranges: {knob.name} must lie within {allowed} (given: {asked!r})")
        if knob.what == "shards" and (low % 1 or high % 1):
            raise ValueError(f"ranges: {knob.name} must have whole numbers as its ends (given: {asked!r})")
        for value in values:
            if not low <= value <= high:
                raise ValueError(f"ranges: {knob.name} is {value:g} at the start, not from {low:g} to {high:g}")
    else:
        low, high = knob.low, min(max(knob.high, _round_up(max(values))), knob.most)
    whole = knob.what == "shards"
    step = _step(low, high, values, least=1.0 if whole else 0.0)
    if asked is None and knob.what == "capacity":
        low = max(knob.least, min(step, *values))  # there is no capacity of 0
    return replace(knob, low=low, high=high, step=step)


def _step(low: float, high: float, values: list[float], least: float) -> float:
    """The largest 1, 2 or 5 × 10^k that divides a slider into enough steps, and on which all the values lie."""
    widest = (high - low) / _STEPS
    power = math.floor(math.log10(widest)) if widest > 0 else 0
    for k in range(power, power - 6, -1):
        for digit in (5, 2, 1):
            step = digit * 10.0**k
            if step <= least:
                return least
            if step <= widest * (1 + 1e-9) and all(_divides(step, value - low) for value in values):
                return digits(step)
    return (high - low) / _FINEST_STEPS


def _divides(step: float, length: float) -> bool:
    steps = abs(length / step)
    return length == 0 or (round(steps) >= 1 and abs(steps - round(steps)) < 1e-6)


def _of_slider(problem: Problem, turned: Mapping[str, str]) -> Problem:
    """A problem of a changed scenario as one of the slider that changed it, or of all of them where it lies between them."""
    paths = {path_of(parse_path(path) or ()): label for path, label in turned.items()}
    own = [label for path, label in paths.items() if re.match(rf"{re.escape(path)}(?![\w-])", problem.path)]
    return replace(problem, source=", ".join(dict.fromkeys(own or turned.values())))


def _modes(scenario: Scenario) -> tuple[Mode, ...]:
    keys = ("mode", *(key for of_mode in KEYS_OF_MODE.values() for key in of_mode if key in Event.model_fields))
    changes = any(getattr(event, key) is not None for event in scenario.event for key in keys)
    measured = any(alarm.of_provisioned for alarm in scenario.alarm)
    only = changes or measured or scenario.admission is not AdmissionPolicy.INSTANT
    return () if only else (Mode.PROVISIONED, Mode.ON_DEMAND)


def _round_up(value: float) -> float:
    """The next 1, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 × 10^k."""
    if value <= 0:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(value))
    return next(digits(m * scale) for m in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if m * scale >= value * (1 - 1e-9))
