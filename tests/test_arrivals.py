"""Every shape of a rate against numeric quadrature, and counts that add up to it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.small import pattern, scenario
from strategies import rates

from sim.levels.arrivals import even_counts, integral_of
from sim.run import run
from sim.scenario import CsvRate, DiurnalRate, RampRate, Scenario, SpikeRate, StepsRate, Traffic, read_series

DURATION_S = 600


def rate_at(traffic: Traffic, t: float, day_offset_s: float) -> float:
    """Requests per second at a moment, read off the description of the format."""
    rate = traffic.rate
    if traffic.ends is not None and t >= traffic.ends:
        return 0.0
    if t < (traffic.starts or 0):
        return 0.0
    match rate:
        case StepsRate():
            return next((r for at, r in reversed(rate.steps) if at <= t), 0.0)
        case RampRate():
            return rate.from_ + (rate.to - rate.from_) * min(1.0, t / rate.over)
        case SpikeRate():
            return rate.peak if rate.at <= t < rate.at + rate.lasting else rate.base
        case DiurnalRate():
            turn = (t + day_offset_s - rate.peak_at) / 86_400
            return rate.mean + (rate.peak - rate.mean) * math.cos(2 * math.pi * turn)
        case CsvRate():
            times, values = read_series(rate)
            index = max((i for i, at in enumerate(times) if at <= t), default=-1)
            if index < 0:
                return 0.0
            if rate.per == "second":
                return values[index]
            widths = [*np.diff(times), times[-1] - times[-2]]
            return values[index] / widths[index] if t < times[index] + widths[index] else 0.0
    assert isinstance(rate, int | float)
    return float(rate)


def check(made: Scenario, day_offset_s: float = 0.0) -> None:
    traffic = made.traffic[0]
    step = 0.25
    middles = np.arange(0, DURATION_S, step) + step / 2
    wanted = np.cumsum([rate_at(traffic, float(t), day_offset_s) for t in middles]) * step
    found = integral_of(traffic, day_offset_s, DURATION_S)(middles + step / 2)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6 * max(1.0, wanted[-1]))


@given(
    rates(DURATION_S),
    st.sampled_from([{}, {"starts": "90s"}, {"ends": "4m"}, {"starts": "1m", "ends": "200s"}]),
    st.sampled_from([0.0, 5 * 3600.0]),
)
def test_expected_requests_are_the_integral_of_the_rate(rate: Any, window: dict[str, str], offset_s: float) -> None:
    check(scenario(pattern(rate=rate, **window)), offset_s)


@pytest.mark.parametrize("per", ["second", "row"])
@pytest.mark.parametrize("first", [0, 30])
def test_a_measured_rate_holds_until_the_next_row(tmp_path: Path, per: str, first: int) -> None:
    (tmp_path / "r.csv").write_text(f"t,v\n{first},10\n100,400\n160,0\n400,7\n", encoding="utf-8")
    check(
        scenario(pattern(rate={"kind": "csv", "path": str(tmp_path / "r.csv"), "time": "t", "value": "v", "per": per}))
    )


def test_counts_per_row_are_all_made(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("t,v\n0,10\n100,400\n160,3\n", encoding="utf-8")
    rate = {"kind": "csv", "path": str(tmp_path / "r.csv"), "time": "t", "value": "v", "per": "row"}
    assert run(scenario(pattern(rate=rate, arrivals="even"))).offered == 413


@given(st.floats(0.001, 5000), st.integers(1, 300), st.sampled_from([1.0, 0.1, 60.0]))
def test_even_requests_before_each_edge_are_the_rate_rounded_up(rate: float, ticks: int, tick_s: float) -> None:
    cumulative = rate * np.arange(ticks + 1) * tick_s
    counts = even_counts(cumulative)
    np.testing.assert_array_less(np.abs(np.cumsum(counts) - cumulative[1:]), 1 + 1e-6)
    assert set(np.unique(counts)) <= {
        math.floor(rate * tick_s),
        math.floor(rate * tick_s) + 1,
        math.ceil(rate * tick_s),
    }


def test_the_first_even_request_comes_at_the_start() -> None:
    assert even_counts(0.25 * np.arange(9)).tolist() == [1, 0, 0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("stretch_ticks", [7, 256])
def test_even_totals_are_those_of_the_integral(stretch_ticks: int) -> None:
    rate = {"kind": "diurnal", "mean": 3.3, "peak": 5.1, "peak_at": "00:05"}
    made = scenario(pattern(rate=rate, arrivals="even"), tick="500ms")
    expected = float(integral_of(made.traffic[0], 0.0, DURATION_S)(np.array([600.0]))[0])
    assert run(made, stretch_ticks=stretch_ticks).offered == math.ceil(expected)


def test_poisson_requests_have_the_mean_and_the_variance_of_the_law() -> None:
    """1,200 ticks of 50: the mean within 4·√(50/1200), the variance within 4·50·√(2/1200)."""
    made = scenario(pattern(rate=50), duration=1200, period="1s")
    counts = run(made).traffic["writes"].offered
    assert counts.mean() == pytest.approx(50, abs=4 * math.sqrt(50 / 1200))
    assert counts.var() == pytest.approx(50, abs=4 * 50 * math.sqrt(2 / 1200))


@pytest.mark.parametrize("arrivals", ["even", "poisson"])
def test_a_pattern_keeps_to_its_window(arrivals: str) -> None:
    made = scenario(pattern(rate=20, starts="90s", ends="150s", arrivals=arrivals), period="10s")
    offered = run(made).traffic["writes"].offered
    assert offered[:9].sum() == 0 == offered[15:].sum()
    assert (offered[9:15] > 0).all()
    assert arrivals == "poisson" or offered.sum() == 1200


@pytest.mark.parametrize("arrivals", ["even", "poisson"])
@pytest.mark.parametrize("count", [1, 50, 137])
def test_a_job_ends_after_its_count(arrivals: str, count: int) -> None:
    result = run(scenario(pattern(rate=10, count=count, arrivals=arrivals)))
    assert result.offered == count
    finished_s = result.traffic["writes"].finished_s
    assert finished_s is not None
    assert finished_s == (math.ceil(count / 10) if arrivals == "even" else pytest.approx(count / 10, abs=4 * 1.2 + 2))


def test_a_job_that_does_not_end_is_not_finished() -> None:
    assert run(scenario(pattern(rate=1, count=10_000))).traffic["writes"].finished_s is None
