"""Split for heat: a partition that has been near a ceiling for minutes is cut in the middle of its traffic (F-PART-11, F-PART-12)."""

from __future__ import annotations

from sim.control.sightings import Sightings, mean
from sim.control.splitting import Splitter
from sim.keyspace.cutting import Load
from sim.limits import CEILING_PER_S
from sim.names import Dimension, SplitReason
from sim.partitions.resource import Resource


class HeatWatcher:
    """Watches every partition's mean over the heat window; at most so many splits for heat are under way at a time, hottest first."""

    def __init__(self, resource: Resource, sightings: Sightings, splitter: Splitter) -> None:
        self._resource = resource
        self._sightings = sightings
        self._splitter = splitter

    def look(self, now_s: float) -> None:
        """Begin splits where the heat asks for them."""
        calibration = self._resource.calibration
        under_way = sum(reason is SplitReason.HEAT for reason in self._splitter.in_flight.values())
        free = int(calibration.heat_splits_in_flight) - under_way
        if free <= 0 or not self._resource.splits_for_heat:
            return
        loads: dict[Dimension, list[Load]] = {}
        for _, _, number, dimension in sorted(self._hot(now_s), key=lambda row: (-row[0], -row[1], row[2])):
            if dimension not in loads:
                loads[dimension] = self._sightings.loads(dimension, calibration.heat_window_s)
            if number not in self._splitter.in_flight and self._splitter.begin(
                number, loads[dimension], SplitReason.HEAT
            ):
                free -= 1
                if free == 0:
                    return

    def _hot(self, now_s: float) -> list[tuple[float, float, int, Dimension]]:
        """(Fraction of the ceiling consumed, fraction offered, partition, dimension) of each whose mean over the window was hot."""
        calibration = self._resource.calibration
        lives = self._resource.partitions.lives
        hot = []
        for dimension, ceiling in CEILING_PER_S.items():
            minutes = self._sightings.last(dimension, calibration.heat_window_s)
            trigger = calibration.heat_trigger_fraction
            if minutes is None or max(minute.most_consumed for minute in minutes) < trigger * ceiling:
                continue
            consumed = mean(minutes, [minute.consumed for minute in minutes]) / ceiling
            over = (consumed >= trigger).nonzero()[0].tolist()
            offered = mean(minutes, [minute.offered for minute in minutes]) / ceiling if over else consumed
            for number in over:
                life = lives[number]
                if life.retired_s is None and life.born_s <= now_s - calibration.heat_window_s:
                    hot.append((float(consumed[number]), float(offered[number]), number, dimension))
        return hot
