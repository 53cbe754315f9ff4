"""What the control plane has seen of a resource: its traffic by the minute, per partition, and where it lay."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from sim.control.base import OBSERVE_S
from sim.keyspace.cutting import Load
from sim.names import Dimension
from sim.partitions.resource import Resource


@dataclass
class Minute:
    """One minute of one dimension: units per second offered and consumed, by partition number, and where the units lay."""

    offered: dict[int, float] = field(default_factory=dict)
    consumed: dict[int, float] = field(default_factory=dict)
    loads: dict[str, Load] = field(default_factory=dict)

    @property
    def total_consumed(self) -> float:
        """Units per second over all partitions."""
        return sum(self.consumed.values())


class Sightings:
    """The last minutes of a resource. `close_minute` is called once a minute, before any controller looks."""

    def __init__(self, resource: Resource, keep_s: float) -> None:
        self._resource = resource
        kept = max(1, round(keep_s / OBSERVE_S))
        self.minutes: dict[Dimension, deque[Minute]] = {dimension: deque(maxlen=kept) for dimension in Dimension}

    def close_minute(self) -> None:
        """Put away what was seen in the minute that ends now."""
        observed, loads = self._resource.take_observed(), self._resource.take_loads()
        numbers = self._resource.partitions.serving
        for dimension, seen in observed.items():
            self.minutes[dimension].append(
                Minute(
                    {n: float(v) / OBSERVE_S for n, v in zip(numbers, seen.offered, strict=True)},
                    {n: float(v) / OBSERVE_S for n, v in zip(numbers, seen.consumed, strict=True)},
                    loads[dimension],
                )
            )

    def last(self, dimension: Dimension, seconds: float) -> list[Minute] | None:
        """The minutes of the last ``seconds``, or None where they have not all passed yet."""
        count = max(1, round(seconds / OBSERVE_S))
        minutes = self.minutes[dimension]
        return None if len(minutes) < count else list(minutes)[-count:]

    def loads(self, dimension: Dimension, seconds: float) -> list[Load]:
        """Where the traffic of the last ``seconds`` lay, as far as it was seen."""
        count = max(1, round(seconds / OBSERVE_S))
        return merge(list(self.minutes[dimension])[-count:])


def merge(minutes: Sequence[Minute]) -> list[Load]:
    """Where the traffic of some minutes lay; a source that has moved since lies where it was last."""
    total: dict[str, Load] = {}
    for minute in minutes:
        for source, (spread, units) in minute.loads.items():
            before = total[source][1] if source in total else 0.0
            total[source] = (spread, before + units)
    return [load for _, load in sorted(total.items()) if load[1] > 0]
