"""Quotas on changes of a table: decreases of capacity, and switches to on-demand (F-PROV-2, F-PROV-4)."""

from __future__ import annotations

from sim.limits import DECREASE_EVERY_S, DECREASES_BANKED_MAX, MODE_SWITCH_WINDOW_S, MODE_SWITCHES_MAX

_DAY_S = 86_400
_HOURS = _DAY_S // DECREASE_EVERY_S


class DecreaseBudget:
    """Decreases that one table or index may still make: four at the start of each UTC day, one more each hour, never more than four.

    Parameters
    ----------
    start_s : seconds of the UTC day that have passed at second 0. The run begins with all four.
    """

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self._left = DECREASES_BANKED_MAX
        self._hour = self._hour_of(0.0)

    def left(self, now_s: float) -> int:
        """How many there are at ``now_s``."""
        hour = self._hour_of(now_s)
        if hour // _HOURS > self._hour // _HOURS:
            self._left = DECREASES_BANKED_MAX
        else:
            self._left = min(DECREASES_BANKED_MAX, self._left + hour - self._hour)
        self._hour = hour
        return self._left

    def next_s(self, now_s: float) -> float:
        """When the next one comes, from ``now_s`` on, if none is left."""
        return (self._hour_of(now_s) + 1) * DECREASE_EVERY_S - self._start_s

    def spend(self, now_s: float) -> None:
        """Make one."""
        assert self.left(now_s) > 0, "a decrease needs a budget"
        self._left -= 1

    def _hour_of(self, now_s: float) -> int:
        return int((self._start_s + now_s + 1e-9) // DECREASE_EVERY_S)


class SwitchQuota:
    """Switches from provisioned to on-demand: so many within any 24 hours."""

    def __init__(self) -> None:
        self._made_s: list[float] = []

    def left(self, now_s: float) -> int:
        """How many may be made at ``now_s``."""
        return MODE_SWITCHES_MAX - sum(now_s - at_s < MODE_SWITCH_WINDOW_S for at_s in self._made_s)

    def next_s(self) -> float:
        """When the oldest of the last four no longer counts."""
        return self._made_s[-MODE_SWITCHES_MAX] + MODE_SWITCH_WINDOW_S

    def spend(self, now_s: float) -> None:
        """Make one."""
        assert self.left(now_s) > 0, "a switch needs a quota"
        self._made_s.append(now_s)
