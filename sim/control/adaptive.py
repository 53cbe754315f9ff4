"""Adaptive capacity as it was from 2017 to 2019: a controller that lends throttled partitions more, minutes later (F-ADM-6)."""

from __future__ import annotations

import numpy as np

from sim.control.sightings import Minute, Sightings, mean
from sim.limits import CEILING_PER_S
from sim.names import Dimension
from sim.partitions.admission import share_gate
from sim.partitions.resource import Resource
from sim.results.recorder import EventRow, Recorder


class AdaptiveController:
    """Raises the part of a partition that throttles while the table is within its total, in proportion to what was refused.

    The boosts of a dimension are withdrawn as soon as the table consumes its total.
    """

    def __init__(self, resource: Resource, sightings: Sightings, recorder: Recorder) -> None:
        self._resource = resource
        self._sightings = sightings
        self._recorder = recorder
        self._boosts: dict[Dimension, dict[int, float]] = {dimension: {} for dimension in Dimension}
        self._throttled_since: dict[Dimension, dict[int, float]] = {dimension: {} for dimension in Dimension}
        self._acted_s = 0.0

    def look(self, now_s: float) -> None:
        """Grant or withdraw boosts, once a period."""
        period_s = self._resource.calibration.adaptive_period_s
        if now_s - self._acted_s < period_s:
            return
        self._acted_s = now_s
        for dimension in Dimension:
            minutes = self._sightings.last(dimension, period_s)
            if minutes is not None:
                self._steer(dimension, minutes, now_s)

    def _steer(self, dimension: Dimension, minutes: list[Minute], now_s: float) -> None:
        resource = self._resource
        gate = share_gate(resource.lanes[dimension])
        provisioned = resource.capacity[dimension].provisioned
        assert gate is not None, "adaptive capacity steers parts of a rate"
        assert provisioned is not None, "adaptive capacity steers parts of a rate"
        boosts, since = self._boosts[dimension], self._throttled_since[dimension]
        serving = resource.partitions.serving
        share = provisioned / len(serving)
        over = sum(m.seconds for m in minutes)
        consumed = sum(m.total_consumed * m.seconds for m in minutes) / over
        refused = mean(minutes, [m.offered - m.consumed for m in minutes])
        for number in [n for n in boosts if n not in serving]:
            del boosts[number]
        if consumed > provisioned:
            if boosts:
                self._say(
                    now_s, dimension, f"boosts withdrawn: the table consumed {consumed:.0f} of {provisioned:g} units/s"
                )
            boosts.clear()
            since.clear()
        else:
            lent = []
            for number in serving:
                rate = float(refused[number]) if number < len(refused) else 0.0
                if rate <= 0:
                    if number not in boosts:
                        since.pop(number, None)  # a later throttling waits for its own lag
                    continue
                room = max(0.0, CEILING_PER_S[dimension] - share)
                if now_s - since.setdefault(number, now_s) >= resource.calibration.adaptive_lag_s and room > 0:
                    if number not in boosts:
                        lent.append(number)
                    boosts[number] = min(room, boosts.get(number, 0.0) + resource.calibration.adaptive_gain * rate)
            if lent:
                which = f"partition{'s' if len(lent) > 1 else ''} {', '.join(map(str, lent))}"
                self._say(now_s, dimension, f"{which} lent more than the part of {share:.1f} units/s")
        gate.buckets.set_rates(np.array([share + boosts.get(number, 0.0) for number in serving]))

    def _say(self, now_s: float, dimension: Dimension, detail: str) -> None:
        self._recorder.events.append(
            EventRow(now_s, self._resource.name, "adaptive-capacity", f"{dimension}s: {detail}", "done", now_s)
        )
