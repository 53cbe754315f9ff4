"""Gauges on the token buckets: what is in them at the ends of periods. They look and change nothing."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import numpy as np
import simpy

from sim.control.base import OBSERVE_S
from sim.keyspace.domain import Ints
from sim.partitions.bucket import Buckets
from sim.partitions.resource import Resource
from sim.results.recorder import Levels, Recorder

LOOKS_MAX = 500  # in a run whose periods are whole minutes, at whose ends the control plane wakes anyway: a picture shows no more
EXTRA_LOOKS_MAX = (
    100  # in a run whose periods are others: each look ends a stretch of traffic, which costs a third of a millisecond
)
PARTITIONS_MAX = 64  # of a table or index whose buckets are kept, the emptiest of that moment


class Gauges:
    """Looks into the buckets of all resources at second 0, at the ends of periods (of every n-th in a long run), and at the run's end."""

    def __init__(self, env: simpy.Environment, resources: Mapping[str, Resource], recorder: Recorder) -> None:
        self._env = env
        self._resources = resources
        self._recorder = recorder
        grid = recorder.grid
        period_s = grid.tick_s * grid.ticks_per_period
        most = EXTRA_LOOKS_MAX if period_s % OBSERVE_S else LOOKS_MAX
        self._step_s = period_s * -(-grid.periods // most)

    def watch(self) -> Generator[simpy.Event, Any, None]:
        """The process: a look at each step, for ever."""
        looks = 0
        while True:
            self.look()
            looks += 1
            yield self._env.timeout(looks * self._step_s - self._env.now)

    def look(self) -> None:
        """Write down what is in the buckets now."""
        now_s = float(self._env.now)
        for name, resource in self._resources.items():
            for dimension, lane in resource.lanes.items():
                seen = self._recorder.resources[name].lanes[dimension].levels
                for gates, numbers in ((lane.columns, resource.partitions.numbers), (lane.totals, None)):
                    for gate in gates:
                        rows = seen.setdefault(gate.limit, [])
                        if not rows or rows[-1].at_s < now_s:
                            rows.append(_levels(now_s, numbers, gate.buckets))


def _levels(now_s: float, numbers: Ints | None, buckets: Buckets) -> Levels:
    """What is in some buckets, of many partitions' in the emptiest."""
    if numbers is None or len(numbers) <= PARTITIONS_MAX:
        return Levels(now_s, numbers, buckets.level.copy(), buckets.depth)
    emptiest = np.argsort(buckets.level - buckets.depth, kind="stable")[:PARTITIONS_MAX]
    emptiest.sort()
    return Levels(now_s, numbers[emptiest], buckets.level[emptiest], buckets.depth[emptiest])
