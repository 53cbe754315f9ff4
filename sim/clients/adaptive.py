"""The client-side rate limiter of the adaptive policy: CUBIC on the measured rate, and a token bucket (F-RETRY-6)."""

from __future__ import annotations

import math

SMOOTHING = 0.8  # weight of the newest half second in the measured rate
RATE_WINDOW_S = 0.5
BETA = 0.7  # what is left of the rate after a throttle
SCALE = 0.4  # steepness of the cubic, attempts per s⁴
MIN_FILL_PER_S = 0.5
MIN_CAPACITY = 1.0
MAX_OVER_MEASURED = 2.0  # the rate may not pass this many times the measured one
START_FILL_PER_S = 1.0

_WAIT_MIN_S = 1e-6  # so that a token which lacks a rounding error is not waited for in steps too small to bring it


def cubic_k_s(w_max: float) -> float:
    """Seconds after a throttle until the cubic is back at ``w_max`` (attempts per second)."""
    scaled: float = ((w_max * (1 - BETA)) / SCALE) ** (1 / 3)
    return scaled


def cubic_rate(since_s: float, k_s: float, w_max: float) -> float:
    """Attempts per second, ``since_s`` seconds after the last throttle; below 0 where the cubic is."""
    rate: float = SCALE * (since_s - k_s) ** 3 + w_max
    return rate


class AdaptiveLimiter:
    """Rate limiter of one client object. Lets everything pass until the first throttle, and is on from then on.

    Before sending, ask `send_at`; after every answer (and every timeout), tell `on_answer`. Attempts that have to wait belong into one
    queue per client, first come first served: only its head asks, at the time it was given, and again whenever an answer has changed
    the rate (`wakes_at` says when without taking anything).

    Attributes
    ----------
    enabled : a throttle has been seen.
    fill_per_s, capacity, tokens : the token bucket; the level is that of the last time it was looked at.
    measured_per_s : answers per second, smoothed over half seconds.
    w_max_per_s, k_s, last_throttle_s : the cubic's parameters.
    """

    __slots__ = (
        "_count",
        "_filled_s",
        "_window_s",
        "capacity",
        "enabled",
        "fill_per_s",
        "k_s",
        "last_throttle_s",
        "measured_per_s",
        "tokens",
        "w_max_per_s",
    )

    def __init__(self, start_s: float = 0.0) -> None:
        self.enabled = False
        self.fill_per_s = START_FILL_PER_S
        self.capacity = MIN_CAPACITY
        self.tokens = 0.0
        self.measured_per_s = 0.0
        self.w_max_per_s = 0.0
        self.k_s = 0.0
        self.last_throttle_s = start_s
        self._filled_s = start_s
        self._count = 0.0
        self._window_s = float(math.floor(start_s))  # whole seconds, as botocore starts

    def send_at(self, now_s: float) -> float:
        """``now_s`` if an attempt may go now, its token being taken; otherwise the time, after ``now_s``, at which to ask again."""
        if not self.enabled:
            return now_s
        at_s = self.wakes_at(now_s)
        if at_s == now_s:
            self.tokens -= 1.0
        return at_s

    def wakes_at(self, now_s: float) -> float:
        """When an attempt may go if the rate stays as it is: ``now_s`` or later; nothing is taken."""
        if not self.enabled:
            return now_s
        self._fill(now_s)
        lack = 1.0 - self.tokens
        return now_s + max(lack / self.fill_per_s, _WAIT_MIN_S) if lack > 0 else now_s

    def on_answer(self, now_s: float, throttled: bool, answers: float = 1.0) -> None:
        """An attempt has been answered, or has timed out.

        Parameters
        ----------
        now_s : time of the answer, not before that of any earlier one.
        throttled : whether by a throttle (`THROTTLES`).
        answers : how many at once, for counts per tick; 1 at the request level.
        """
        measured = self._measure(now_s, answers)
        if throttled:
            w_max = min(measured, self.fill_per_s) if self.enabled else measured
            self.w_max_per_s = w_max
            self.k_s = cubic_k_s(w_max)
            self.last_throttle_s = now_s
            self.enabled = True
            rate = w_max * BETA
        else:
            rate = cubic_rate(now_s - self.last_throttle_s, self.k_s, self.w_max_per_s)
        rate = min(rate, MAX_OVER_MEASURED * measured)
        self._fill(now_s)
        self.fill_per_s = rate if rate > MIN_FILL_PER_S else MIN_FILL_PER_S
        self.capacity = rate if rate > MIN_CAPACITY else MIN_CAPACITY
        self.tokens = min(self.tokens, self.capacity)

    def _measure(self, now_s: float, answers: float) -> float:
        """The measured rate, with this answer counted: it moves only when a new half second begins."""
        self._count += answers
        window_s = math.floor(now_s / RATE_WINDOW_S) * RATE_WINDOW_S
        if window_s > self._window_s:
            newest = self._count / (window_s - self._window_s)
            self.measured_per_s = newest * SMOOTHING + self.measured_per_s * (1 - SMOOTHING)
            self._count = 0.0
            self._window_s = window_s
        return self.measured_per_s

    def _fill(self, now_s: float) -> None:
        tokens = self.tokens + (now_s - self._filled_s) * self.fill_per_s
        self.tokens = tokens if tokens < self.capacity else self.capacity
        self._filled_s = now_s
