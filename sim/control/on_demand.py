"""On-demand scaling: room for twice the previous peak, made by splitting every range whose share would not fit (F-OD-2, F-ADM-11).

The previous peak is the highest rate that was sustained: the least 60-s average of the last ``peak_sustained_s``. Ranges are judged by
their share of the traffic, not counted: nine partitions of which seven still hold an eighth each do not carry twice the peak. So "double
within 30 minutes" comes out of the mechanism.
"""

from __future__ import annotations

import numpy as np

from sim.control.sightings import Sightings, merge
from sim.control.splitting import Splitter, note_capacity
from sim.keyspace.cutting import Load
from sim.limits import CEILING_PER_S, ON_DEMAND_HEADROOM_FACTOR
from sim.names import Dimension, SplitReason
from sim.partitions.resource import Resource
from sim.results.recorder import Recorder


class OnDemandScaler:
    """Follows the peaks of one on-demand resource, reads and writes apart.

    Attributes
    ----------
    peak_per_s : previous peak per dimension; it never falls (F-OD-4).
    """

    def __init__(self, resource: Resource, sightings: Sightings, splitter: Splitter, recorder: Recorder) -> None:
        self._resource = resource
        self._sightings = sightings
        self._splitter = splitter
        self._recorder = recorder
        self.peak_per_s = {
            dimension: warm / ON_DEMAND_HEADROOM_FACTOR for dimension, warm in resource.warm_per_s.items()
        }
        self._peak_loads: dict[Dimension, list[Load]] = {}
        self._judged: dict[Dimension, tuple[float, int]] = {}  # peak and layout that were judged last

    def look(self, now_s: float) -> None:
        """Note a new peak, and split what twice the peak would overfill."""
        for dimension in Dimension:
            minutes = self._sightings.last(dimension, self._resource.calibration.peak_sustained_s)
            if minutes is not None:
                sustained = min(minute.total_consumed for minute in minutes)
                if sustained > self.peak_per_s[dimension]:
                    self.peak_per_s[dimension] = sustained
                    self._peak_loads[dimension] = merge(minutes[-1:])
                    room = max(self._resource.warm_per_s[dimension], self._room(dimension))
                    self._resource.warm_per_s[dimension] = room
                    note_capacity(self._resource, self._recorder, now_s)
            # Room is only made for a peak that this run has grown to: the layout of the start already carries the one before it.
            seen = (self.peak_per_s[dimension], self._resource.version)
            if dimension in self._peak_loads and seen != self._judged.get(dimension):
                self._judged[dimension] = seen
                self._make_room(dimension)

    def _room(self, dimension: Dimension) -> float:
        """Twice the previous peak, but no more than the table's quota would let through (F-WARM-3)."""
        room = ON_DEMAND_HEADROOM_FACTOR * self.peak_per_s[dimension]
        quota = self._resource.capacity[dimension].quota
        return room if quota is None else min(room, quota)

    def _make_room(self, dimension: Dimension) -> None:
        loads = self._peak_loads[dimension]
        partitions = self._resource.partitions
        by_range = np.sum([units * spread.shares_of(partitions.cuts) for spread, units in loads], axis=0)
        wanted = by_range / by_range.sum() * self._room(dimension)
        serving = list(partitions.serving)
        for column in np.flatnonzero(wanted > CEILING_PER_S[dimension]).tolist():
            if serving[column] not in self._splitter.in_flight:
                self._splitter.begin(serving[column], loads, SplitReason.THROUGHPUT)
