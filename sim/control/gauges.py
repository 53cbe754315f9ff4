"""Gauges on the token buckets: what is in them at the ends of periods. They look and change nothing."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import simpy

from sim.partitions.resource import Resource
from sim.results.recorder import Levels, Recorder

LOOKS_MAX = 500  # in a run: a picture shows no more, and each look ends a stretch of traffic
PARTITIONS_MAX = 64  # whose buckets are looked at, the first in the order of the hash space


class Gauges:
    """Looks into the buckets of all resources at second 0, at the ends of periods (of every n-th in a long run), and at the run's end."""

    def __init__(self, env: simpy.Environment, resources: Mapping[str, Resource], recorder: Recorder) -> None:
        self._env = env
        self._resources = resources
        self._recorder = recorder
        grid = recorder.grid
        self._step_s = grid.tick_s * grid.ticks_per_period * -(-grid.periods // LOOKS_MAX)

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
            numbers = resource.partitions.numbers[:PARTITIONS_MAX]
            for dimension, lane in resource.lanes.items():
                seen = self._recorder.resources[name].lanes[dimension].levels
                for gates, whose in ((lane.columns, numbers), (lane.totals, None)):
                    for gate in gates:
                        rows = seen.setdefault(gate.limit, [])
                        if not rows or rows[-1].at_s < now_s:
                            buckets = gate.buckets
                            tokens = buckets.level[:PARTITIONS_MAX].copy()
                            rows.append(Levels(now_s, whose, tokens, buckets.depth[:PARTITIONS_MAX]))
