"""Rates times a factor, and their peaks: every shape, compared over a day with what the engine makes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import rates

import sim
from sim.keyspace.domain import Floats
from sim.levels.arrivals import integral_of
from sim.scenario import CsvRate, DiurnalRate, RampRate, Rate, SpikeRate, StepsRate
from sim.scenario.rates import peak_per_s, scaled

DAY_S = 86_400
MINUTES_S = np.arange(0.0, DAY_S + 1, 60)

# One of every shape, as the format writes it, and its peak. A new shape is added here.
WRITTEN: Mapping[type, tuple[Any, float | None]] = {
    float: (40.5, 40.5),
    StepsRate: ([["0s", 100], ["10m", 1000], ["20m", 300]], 1000),
    RampRate: ({"kind": "ramp", "from": 500, "to": 10, "over": "30m"}, 500),
    SpikeRate: ({"kind": "spike", "base": 10, "peak": 900, "at": "20m", "lasting": "2m"}, 900),
    DiurnalRate: ({"kind": "diurnal", "mean": 100, "peak": 160, "peak_at": "14:30"}, 160),
    CsvRate: ({"kind": "csv", "path": "no/such/file.csv", "time": "t", "value": "v"}, None),
}
MULTIPLIED = [shape for shape in WRITTEN if shape is not CsvRate]


def typed(written: Any) -> Rate:
    rate = sim.Traffic(name="t", operation="GetItem", rate=written).rate
    assert rate is not None
    return rate


def requests(rate: Any) -> Floats:
    """What the engine expects of a rate in each minute of a day."""
    return np.diff(integral_of(sim.Traffic(name="t", operation="GetItem", rate=rate), 0.0, DAY_S)(MINUTES_S))


def test_every_shape_of_a_rate_is_here() -> None:
    assert list(WRITTEN) == list(get_args(Rate))
    assert all(isinstance(typed(written), shape) for shape, (written, _) in WRITTEN.items())


@pytest.mark.parametrize("shape", MULTIPLIED, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("factor", [0, 0.25, 1, 3])
def test_a_rate_times_a_factor_asks_for_so_many_times_as_much_in_each_minute(shape: type, factor: float) -> None:
    rate = typed(WRITTEN[shape][0])
    more = scaled(rate, factor)
    assert isinstance(more, shape)
    np.testing.assert_allclose(requests(more), factor * requests(rate), rtol=1e-9)
    if factor == 1:
        assert more == rate


@pytest.mark.parametrize("shape", MULTIPLIED, ids=lambda shape: shape.__name__)
def test_a_rate_as_it_is_written_is_multiplied_and_written_again(shape: type) -> None:
    written, _ = WRITTEN[shape]
    assert typed(sim.scaled_rate(written, 3)) == scaled(typed(written), 3)
    assert sim.scaled_rate(typed(written), 3) == sim.scaled_rate(written, 3)
    assert type(sim.scaled_rate(written, 3)) in (float, list, dict)


@pytest.mark.parametrize("shape", WRITTEN, ids=lambda shape: shape.__name__)
def test_the_peak_is_the_busiest_minute(shape: type) -> None:
    written, peak = WRITTEN[shape]
    assert peak_per_s(typed(written)) == peak
    if peak is not None:
        # The busiest moment of a ramp is its first; a minute later it is a thirtieth of the way down.
        assert requests(written).max() / 60 == pytest.approx(peak, rel=0.02)


@given(rates(600), st.floats(0, 1e5))
@example({"kind": "diurnal", "mean": 100, "peak": 200, "peak_at": 0}, 1 / 3)  # apart, both would be rounded away
def test_a_rate_stays_one_and_its_peak_goes_with_it(rate: Any, factor: float) -> None:
    more = typed(sim.scaled_rate(rate, factor))
    peak, base = peak_per_s(more), peak_per_s(typed(rate))
    assert peak is not None
    assert base is not None
    assert peak == pytest.approx(base * factor, rel=1e-11)


def test_a_measured_rate_is_not_multiplied() -> None:
    written, _ = WRITTEN[CsvRate]
    with pytest.raises(ValueError, match=r"^a measured rate \(no/such/file.csv\) is not multiplied"):
        sim.scaled_rate(written, 2)


@pytest.mark.parametrize("factor", [-1, math.nan, math.inf, True, "2", None])
def test_a_factor_that_is_none_is_refused(factor: Any) -> None:
    with pytest.raises(ValueError, match=r"^factor = .*: must be a finite number, at least 0"):
        sim.scaled_rate(10, factor)


@pytest.mark.parametrize(
    ("rate", "says"),
    [
        (-1, "scaled_rate: rate: must be a number from 0 "),
        (None, "scaled_rate: rate: must be a number from 0 "),
        ({"kind": "rmp"}, r"scaled_rate: rate.kind: must be one of .* did you mean 'ramp'\?"),
        ({"kind": "ramp", "from": 1, "over": 2}, "scaled_rate: rate.to: is required and missing"),
        ([["1m", 1], ["1m", 2]], r"scaled_rate: rate\[1\]\[0\]: times must increase strictly"),
    ],
)
def test_what_is_no_rate_is_refused_as_in_a_scenario(rate: Any, says: str) -> None:
    with pytest.raises(sim.ScenarioError, match=f"^{says}"):
        sim.scaled_rate(rate, 2)
