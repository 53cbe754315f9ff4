"""What the control plane has seen of a resource: its traffic by the minute, per partition, and where it lay."""

from __future__ import annotations

import math
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
    """What was seen of one dimension between two looks: a minute, or a tick where ticks are longer.

    Attributes
    ----------
    seconds : seconds of traffic behind it.
    offered, consumed : units per second by partition number; 0 for partitions that no longer or do not yet serve.
    total_consumed, most_consumed : units per second over all partitions, and in the busiest.
    loads : where the offered units lay, by source.
    """

    seconds: float
    offered: Floats
    consumed: Floats
    total_consumed: float
    most_consumed: float
    loads: Mapping[str, Load]


class Sightings:
    """The last minutes of a resource. `close_minute` is called once a minute, before any controller looks."""

    def __init__(self, resource: Resource, keep_s: float) -> None:
        self._resource = resource
        kept = math.ceil(keep_s / OBSERVE_S) + 1
        self.minutes: dict[Dimension, deque[Minute]] = {d: deque(maxlen=kept) for d in Dimension}

    def close_minute(self) -> bool:
        """Put away what was seen since the last call; False where no traffic has moved since (a tick is longer than a minute)."""
        observed, seconds = self._resource.take_observed()
        loads = self._resource.take_loads()
        if seconds <= 0:
            return False
        partitions = self._resource.partitions
        serving = partitions.numbers
        for dimension, seen in observed.items():
            offered, consumed = np.zeros((2, len(partitions.lives)))
            total = most = 0.0
            if loads[dimension]:
                offered[serving] = seen.offered / seconds
                consumed[serving] = seen.consumed / seconds
                for number, (asked, given) in seen.gone.items():
                    offered[number], consumed[number] = asked / seconds, given / seconds
                total, most = float(consumed.sum()), float(consumed.max())
            self.minutes[dimension].append(Minute(seconds, offered, consumed, total, most, loads[dimension]))
        return True

    def last(self, dimension: Dimension, seconds: float) -> list[Minute] | None:
        """The minutes of the last ``seconds``, or None where they have not all passed yet."""
        seen = 0.0
        found = []
        for minute in reversed(self.minutes[dimension]):
            found.append(minute)
            seen += minute.seconds
            if seen >= seconds - 1e-9:
                return found[::-1]
        return None

    def loads(self, dimension: Dimension, seconds: float) -> list[Load]:
        """Where the traffic of the last ``seconds`` lay, as far as it was seen."""
        return merge(self.last(dimension, seconds) or list(self.minutes[dimension]))


def mean(minutes: Sequence[Minute], rows: Sequence[Floats]) -> Floats:
    """Mean per partition number of ``rows`` over some minutes; later minutes know more partitions."""
    total = np.zeros(len(rows[-1]))
    for minute, row in zip(minutes, rows, strict=True):
        total[: len(row)] += row * minute.seconds
    return np.asarray(total / sum(minute.seconds for minute in minutes))


def merge(minutes: Sequence[Minute]) -> list[Load]:
    """Where the traffic of some minutes lay; a source that has moved since lies where it was last."""
    total: dict[str, Load] = {}
    for minute in minutes:
        for source, (spread, units) in minute.loads.items():
            before = total[source][1] if source in total else 0.0
            total[source] = (spread, before + units)
    return [load for _, load in sorted(total.items()) if load[1] > 0]
