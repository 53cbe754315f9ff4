"""A table or an index: partitions, the gates before them, what is stored in them, and what an observer of the service would see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sim.calibration import Calibration
from sim.keyspace.cutting import Load, load_below
from sim.keyspace.domain import Floats
from sim.keyspace.position import Position
from sim.keyspace.spread import Spread, even
from sim.names import AdmissionPolicy, Dimension, Mode
from sim.partitions.admission import Capacity, ceilings_per_s, make_lane, remake_lane, set_rate, split_lane
from sim.partitions.map import PartitionMap


@dataclass
class Observed:
    """What was seen of one dimension since the control plane last looked, per serving partition, in units.

    Attributes
    ----------
    gone : what partitions that have been split since had offered and consumed, by number.
    """

    offered: Floats
    consumed: Floats
    gone: dict[int, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def nothing(cls, partitions: int) -> Observed:
        """Nothing seen yet."""
        return cls(np.zeros(partitions), np.zeros(partitions))

    def split(self, column: int, number: int) -> None:
        """A split partition's halves begin unseen; what was seen of it stays its own."""
        self.gone[number] = (float(self.offered[column]), float(self.consumed[column]))
        for name in ("offered", "consumed"):
            seen = getattr(self, name)
            seen[column] = 0.0
            setattr(self, name, np.insert(seen, column, 0.0))


@dataclass
class Resource:
    """One table or index.

    Attributes
    ----------
    name : ``"table"`` or ``"index/NAME"``.
    pinned : an LSI holds each item collection in one partition.
    splits_for_heat : split for heat exists under ``instant`` admission and on demand only.
    stored_bytes : bytes in each serving partition.
    stored_loads : where the data lies.
    observed_s : seconds of traffic behind ``observed``.
    loads : where traffic was asked for since the control plane last looked, per dimension and source.
    warm_per_s : warm throughput per dimension; it only rises (F-WARM-1).
    observed : what the control plane may look at, per dimension.
    has_grown : whether anything has been stored since second 0.
    backlog_units : write units that an index takes on before it pushes back on its table (F-GSI-5); 0 for a table.
    lanes : the gates of reads and writes; a change of mode or of an on-demand maximum puts new ones in their place.
    version : grows with every split and every new lane, so that whoever keeps something of them knows when to make it anew.
    """

    name: str
    mode: Mode
    policy: AdmissionPolicy
    capacity: dict[Dimension, Capacity]
    calibration: Calibration
    partitions: PartitionMap
    pinned: bool
    warm_per_s: dict[Dimension, float]
    stored_bytes: Floats = field(init=False)
    version: int = 0
    has_grown: bool = False
    stored_loads: tuple[Load, ...] = ((even(), 1.0),)
    backlog_units: float = 0.0

    def __post_init__(self) -> None:
        count = len(self.partitions)
        self.stored_bytes = np.zeros(count)
        self.lanes = {
            dimension: make_lane(
                dimension,
                mode=self.mode,
                policy=self.policy,
                capacity=self.capacity[dimension],
                partitions=count,
                calibration=self.calibration,
                backlog_units=self.backlog_units if dimension is Dimension.WRITE else 0.0,
            )
            for dimension in Dimension
        }
        self.observed = {dimension: Observed.nothing(count) for dimension in Dimension}
        self.observed_s = 0.0
        self.loads: dict[Dimension, dict[str, Load]] = {dimension: {} for dimension in Dimension}

    def store(self, stored_bytes: float, loads: Sequence[Load]) -> None:
        """Lay the data that is there at second 0 as ``loads`` lie."""
        self.stored_loads = tuple(loads) or self.stored_loads
        total = sum(weight for _, weight in self.stored_loads)
        cuts = self.partitions.cuts
        shares = np.sum([weight / total * spread.shares_of(cuts) for spread, weight in self.stored_loads], axis=0)
        self.stored_bytes = stored_bytes * shares

    @property
    def splits_for_heat(self) -> bool:
        """Whether the service splits this resource's partitions for heat."""
        return self.mode is Mode.ON_DEMAND or self.policy is AdmissionPolicy.INSTANT

    def capacity_per_s(self, dimension: Dimension) -> float:
        """Units per second that the resource as a whole offers now: the provisioned rate, or on demand what its partitions can give."""
        provisioned = self.capacity[dimension].provisioned
        return provisioned if provisioned is not None else ceilings_per_s(self.lanes[dimension])

    def split(self, number: int, at: Position, now_s: float) -> tuple[int, int]:
        """Cut a partition in two; its data is shared out as it lies. Returns the halves' numbers."""
        column = self.partitions.column_of(number)
        whole = self.partitions.range_of(number)
        low, middle, high = (load_below(self.stored_loads, p) for p in (whole.low, at, whole.high))
        fraction = (middle - low) / (high - low) if high > low else 0.5
        halves = self.partitions.split(number, at, now_s)
        held = self.stored_bytes[column]
        self.stored_bytes = np.insert(self.stored_bytes, column, held * fraction)
        self.stored_bytes[column + 1] = held * (1 - fraction)
        for dimension, lane in self.lanes.items():
            split_lane(lane, column, self.capacity[dimension].provisioned)
            self.observed[dimension].split(column, number)
        self.version += 1
        return halves

    def set_provisioned(self, rates_per_s: Mapping[Dimension, float]) -> None:
        """Change the provisioned rate of one or both dimensions; warm throughput never lies below what was provisioned (F-WARM-1)."""
        assert self.mode is Mode.PROVISIONED, "only a provisioned resource has a rate"
        for dimension, rate in rates_per_s.items():
            self.capacity[dimension] = replace(self.capacity[dimension], provisioned=rate)
            self.warm_per_s[dimension] = max(self.warm_per_s[dimension], rate)
            set_rate(self.lanes[dimension], rate)

    def set_maximum(self, maxima_per_s: Mapping[Dimension, float]) -> None:
        """Change the on-demand maximum of one or both dimensions."""
        assert self.mode is Mode.ON_DEMAND, "only an on-demand resource has a maximum"
        for dimension, maximum in maxima_per_s.items():
            self._remake(dimension, replace(self.capacity[dimension], maximum=maximum))

    def switch_mode(self, mode: Mode, capacity: Mapping[Dimension, Capacity]) -> None:
        """Change the capacity mode: partitions and their ceilings stay (F-PART-7), the gates of the old mode go."""
        self.mode = mode
        for dimension in Dimension:
            self._remake(dimension, capacity[dimension])
            self.warm_per_s[dimension] = max(self.warm_per_s[dimension], capacity[dimension].provisioned or 0.0)

    def _remake(self, dimension: Dimension, capacity: Capacity) -> None:
        self.capacity[dimension] = capacity
        self.lanes[dimension] = remake_lane(
            self.lanes[dimension], mode=self.mode, policy=self.policy, capacity=capacity, calibration=self.calibration
        )
        self.version += 1

    def note_load(self, dimension: Dimension, source: str, spread: Spread, units: float) -> None:
        """Remember where some units were asked for, so that a cut can be laid through the middle of them."""
        seen = self.loads[dimension]
        before = seen[source][1] if source in seen else 0.0
        seen[source] = (spread, before + units)

    def take_loads(self) -> dict[Dimension, dict[str, Load]]:
        """What was asked for since the last call, by source; begins anew."""
        seen = self.loads
        self.loads = {dimension: {} for dimension in Dimension}
        return seen

    def take_observed(self) -> tuple[dict[Dimension, Observed], float]:
        """What was seen since the last call, and the seconds of traffic behind it; begins anew."""
        seen = (self.observed, self.observed_s)
        self.observed = {dimension: Observed.nothing(len(self.partitions)) for dimension in Dimension}
        self.observed_s = 0.0
        return seen
