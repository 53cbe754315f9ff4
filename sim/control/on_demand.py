"""On-demand scaling: room for twice the previous peak, made by splitting every range whose share of the traffic would not fit (F-OD-2, F-ADM-11).

The previous peak is the highest rate that was sustained: the least 60-s average of the last ``peak_sustained_s``. Ranges are judged by
their share of the traffic, not counted: nine partitions of which seven still hold an eighth each do not carry twice the peak. So "double
within 30 minutes" comes out of the mechanism.
"""

from __future__ import annotations

from sim.control.sightings import Sightings, merge
from sim.control.splitting import Splitter, note_capacity
from sim.keyspace.cutting import Load, load_below
from sim.keyspace.position import TOP
from sim.limits import ON_DEMAND_HEADROOM_FACTOR
from sim.names import Dimension, SplitReason
from sim.partitions.admission import CEILING_PER_S
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

    def look(self, now_s: float) -> None:
        """Note a new peak, and split what twice the peak would overfill."""
        for dimension in Dimension:
            minutes = self._sightings.last(dimension, self._resource.calibration.peak_sustained_s)
            if minutes is not None:
                sustained = min(minute.total_consumed for minute in minutes)
                if sustained > self.peak_per_s[dimension]:
                    self.peak_per_s[dimension] = sustained
                    self._peak_loads[dimension] = merge(minutes[-1:])
                    self._resource.warm_per_s[dimension] = ON_DEMAND_HEADROOM_FACTOR * sustained
                    note_capacity(self._resource, self._recorder, now_s)
            # Room is only made for a peak that this run has grown to: the layout of the start already carries the one before it.
            if dimension in self._peak_loads:
                self._make_room(dimension)

    def _make_room(self, dimension: Dimension) -> None:
        loads = self._peak_loads[dimension]
        total = load_below(loads, TOP)
        if total <= 0:
            return
        target = ON_DEMAND_HEADROOM_FACTOR * self.peak_per_s[dimension]
        partitions = self._resource.partitions
        below = [load_below(loads, cut) for cut in partitions.cuts] + [total]
        for column, number in enumerate(list(partitions.serving)):
            wanted = (below[column + 1] - below[column]) / total * target
            if wanted > CEILING_PER_S[dimension] and number not in self._splitter.in_flight:
                self._splitter.begin(number, loads, SplitReason.THROUGHPUT)
