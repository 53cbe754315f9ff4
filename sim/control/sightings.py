"""What the control plane has seen of a resource: its traffic by the minute, per partition, and where it lay."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sim.control.base import OBSERVE_S
from sim.keyspace.cutting import Load
from sim.keyspace.domain import Floats
from sim.names import Dimension
from sim.partitions.resource import Resource


@dataclass(frozen=True)
class Minute:
    """One minute of one dimension.

    Attributes
    ----------
    offered, consumed : units per second by partition number; 0 for partitions that no longer or do not yet serve.
    total_consumed, most_consumed : units per second over all partitions, and in the busiest.
    loads : where the offered units lay, by source.
    """

    offered: Floats
    consumed: Floats
    total_consumed: float
    most_consumed: float
    loads: Mapping[str, Load]


class Sightings:
    """The last minutes of a resource. `close_minute` is called once a minute, before any controller looks."""

    def __init__(self, resource: Resource, keep_s: float) -> None:
        self._resource = resource
        self.minutes: dict[Dimension, deque[Minute]] = {d: deque(maxlen=_minutes(keep_s)) for d in Dimension}

    def close_minute(self) -> None:
        """Put away what was seen in the minute that ends now."""
        observed, loads = self._resource.take_observed(), self._resource.take_loads()
        partitions = self._resource.partitions
        serving = partitions.numbers
        for dimension, seen in observed.items():
            offered, consumed = np.zeros((2, len(partitions.lives)))
            total = most = 0.0
            if loads[dimension]:
                offered[serving] = seen.offered / OBSERVE_S
                consumed[serving] = seen.consumed / OBSERVE_S
                total, most = float(consumed.sum()), float(consumed.max())
            self.minutes[dimension].append(Minute(offered, consumed, total, most, loads[dimension]))

    def last(self, dimension: Dimension, seconds: float) -> list[Minute] | None:
        """The minutes of the last ``seconds``, or None where they have not all passed yet."""
        count = _minutes(seconds)
        minutes = self.minutes[dimension]
        return None if len(minutes) < count else list(minutes)[-count:]

    def loads(self, dimension: Dimension, seconds: float) -> list[Load]:
        """Where the traffic of the last ``seconds`` lay, as far as it was seen."""
        return merge(list(self.minutes[dimension])[-_minutes(seconds) :])


def _minutes(seconds: float) -> int:
    return max(1, round(seconds / OBSERVE_S))


def mean(rows: Sequence[Floats]) -> Floats:
    """Mean per partition number over some minutes; later minutes know more partitions."""
    total = np.zeros(len(rows[-1]))
    for row in rows:
        total[: len(row)] += row
    return np.asarray(total / len(rows))


def merge(minutes: Sequence[Minute]) -> list[Load]:
    """Where the traffic of some minutes lay; a source that has moved since lies where it was last."""
    total: dict[str, Load] = {}
    for minute in minutes:
        for source, (spread, units) in minute.loads.items():
            before = total[source][1] if source in total else 0.0
            total[source] = (spread, before + units)
    return [load for _, load in sorted(total.items()) if load[1] > 0]
