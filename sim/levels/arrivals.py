"""How many requests an open loop expects by when: every shape of a rate as its integral over time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim.keyspace.domain import Floats
from sim.scenario import CsvRate, DiurnalRate, RampRate, SpikeRate, StepsRate, Traffic, read_series

DAY_S = 86_400.0

Integral = Callable[[Floats], Floats]


def integral_of(traffic: Traffic, day_offset_s: float, duration_s: float) -> Integral:
    """Requests expected from second 0 to second t, as a function of an array of t, within the pattern's window.

    Parameters
    ----------
    day_offset_s : time of day, UTC, of second 0.
    """
    whole = _rate_integral(traffic, day_offset_s)
    if not traffic.starts and traffic.ends is None:
        return whole
    start = traffic.starts or 0.0
    end = duration_s if traffic.ends is None else min(traffic.ends, duration_s)
    offset = whole(np.array([start]))[0]

    def windowed(t_s: Floats) -> Floats:
        return np.asarray(whole(np.clip(t_s, start, max(start, end))) - offset)

    return windowed


def even_counts(cumulative: Floats) -> Floats:
    """Requests of an ``even`` pattern between the edges at which ``cumulative`` is given.

    Request k comes when the cumulative rate reaches k, the first at the start: ceil counts those strictly before an edge. The integral
    carries rounding errors of a few parts in 10**15, which must not push a request over an edge.
    """
    return np.diff(np.ceil(np.round(cumulative, 9)))


def _rate_integral(traffic: Traffic, day_offset_s: float) -> Integral:
    rate = traffic.rate
    assert rate is not None, "an open loop has a rate"
    if isinstance(rate, int | float):
        value = float(rate)
        return lambda t: value * t
    if isinstance(rate, StepsRate):
        return _steps([at for at, _ in rate.steps], [float(r) for _, r in rate.steps])
    if isinstance(rate, RampRate):
        low, high, over = float(rate.from_), float(rate.to), float(rate.over)

        def ramp(t: Floats) -> Floats:
            rising = np.minimum(t, over)
            return np.asarray(low * rising + (high - low) * rising**2 / (2 * over) + high * np.maximum(t - over, 0.0))

        return ramp
    if isinstance(rate, SpikeRate):
        base, peak, at, end = float(rate.base), float(rate.peak), float(rate.at), float(rate.at + rate.lasting)
        return lambda t: np.asarray(base * t + (peak - base) * (np.clip(t, at, end) - at))
    if isinstance(rate, DiurnalRate):
        mean, swing, turn = float(rate.mean), float(rate.peak - rate.mean), 2 * np.pi / DAY_S
        phase = day_offset_s - rate.peak_at

        def diurnal(t: Floats) -> Floats:
            return np.asarray(mean * t + swing / turn * (np.sin(turn * (t + phase)) - np.sin(turn * phase)))

        return diurnal
    assert isinstance(rate, CsvRate)
    times, values = read_series(rate)
    if rate.per == "row":  # counts per row: each is spread over the time until the next
        widths = np.diff(np.asarray(times, dtype=float))
        widths = np.append(widths, widths[-1] if len(widths) else 1.0)
        rates = np.asarray(values, dtype=float) / widths
        return _steps([*times, times[-1] + widths[-1]], [*rates, 0.0])
    return _steps(list(times), list(values))


def _steps(times_s: list[float], rates: list[float]) -> Integral:
    """Rates that hold from each time on; nothing before the first."""
    edges = np.asarray(times_s, dtype=float)
    values = np.asarray(rates, dtype=float)
    sums = np.concatenate(([0.0], np.cumsum(values[:-1] * np.diff(edges))))

    def integral(t: Floats) -> Floats:
        index = np.clip(np.searchsorted(edges, t, side="right") - 1, 0, len(edges) - 1)
        return np.asarray(sums[index] + values[index] * np.maximum(t - edges[index], 0.0))

    return integral
