"""The model that one would write in SimPy in an afternoon: a process for each request, a token bucket for each partition.

It is the measure of the request level's speed, so it is kept plain, and knows nothing that `sim` knows beyond these two nouns.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import simpy

LATENCY_MEDIAN_S = 0.0035
LATENCY_SIGMA = 0.4513  # ln(10 / 3.5) over 2.3263: the 99th percentile is 10 ms
MAX_ATTEMPTS = 3
BASE_DELAY_S = 0.05


@dataclass
class Tally:
    """What the requests have come to so far."""

    attempts: int = 0
    throttled: int = 0
    succeeded: int = 0
    failed: int = 0


class Partition:
    """A bucket of one second's worth of tokens."""

    def __init__(self, env: simpy.Environment, rate_per_s: float) -> None:
        self.env = env
        self.rate_per_s = rate_per_s
        self.level = rate_per_s
        self.at_s = env.now

    def take(self) -> bool:
        """Take one token, if there is one."""
        now_s = self.env.now
        self.level = min(self.rate_per_s, self.level + (now_s - self.at_s) * self.rate_per_s)
        self.at_s = now_s
        if self.level < 1.0:
            return False
        self.level -= 1.0
        return True


def request(env: simpy.Environment, partition: Partition, draws: random.Random, tally: Tally) -> Iterator[simpy.Event]:
    """One request: attempts with legacy's doubling delays until it is served or given up."""
    for attempt in range(MAX_ATTEMPTS):
        if attempt:
            yield env.timeout(BASE_DELAY_S * 2 ** (attempt - 1))
        tally.attempts += 1
        is_served = partition.take()
        if not is_served:
            tally.throttled += 1
        yield env.timeout(LATENCY_MEDIAN_S * draws.lognormvariate(0.0, LATENCY_SIGMA))
        if is_served:
            tally.succeeded += 1
            return
    tally.failed += 1


def arrivals(
    env: simpy.Environment, rate_per_s: float, partitions: list[Partition], draws: random.Random, tally: Tally
) -> Iterator[simpy.Event]:
    """Poisson arrivals of requests to any of the partitions."""
    while True:
        yield env.timeout(draws.expovariate(rate_per_s))
        env.process(request(env, draws.choice(partitions), draws, tally))


def run(*, rate_per_s: float, duration_s: float, partitions: int, capacity_per_s: float, seed: int = 0) -> Tally:
    """Run the model and return its tally."""
    env = simpy.Environment()
    draws = random.Random(seed)
    tally = Tally()
    table = [Partition(env, capacity_per_s) for _ in range(partitions)]
    env.process(arrivals(env, rate_per_s, table, draws, tally))
    env.run(until=duration_s)
    return tally
