"""How long an answer takes: a lognormal law per kind of operation (F-LAT-4, calibration)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sim.calibration import Calibration
from sim.keyspace.domain import Floats
from sim.levels.demand import Demand
from sim.limits import PAGE_BYTES
from sim.names import PAGED_OPERATIONS, READ_OPERATIONS, TRANSACTION_OPERATIONS

_Z99 = 2.3263478740408408  # the 99th percentile of the normal law, in standard deviations


@dataclass(frozen=True)
class LatencyLaw:
    """Lognormal seconds, and a fixed part for the data that is read."""

    median_s: float
    sigma: float
    extra_s: float

    def draw(self, draws: np.random.Generator, count: int) -> Floats:
        """Latencies of ``count`` attempts."""
        return np.asarray(self.median_s * np.exp(self.sigma * draws.standard_normal(count)) + self.extra_s)

    @property
    def mean_s(self) -> float:
        """Mean of the law."""
        return self.median_s * math.exp(self.sigma**2 / 2) + self.extra_s


def latency_law(demand: Demand, calibration: Calibration) -> LatencyLaw:
    """The law of one access pattern's answers, throttled ones included."""
    operation = demand.traffic.operation
    extra = 0.0
    if operation in TRANSACTION_OPERATIONS:
        kind = "transaction"
    elif operation in PAGED_OPERATIONS:
        kind = "query"
        assert demand.query is not None, "a Query or Scan has counts"
        extra = calibration.latency_page_ms / 1000 * demand.query.page_bytes / PAGE_BYTES
    elif operation in READ_OPERATIONS:
        kind = "read_strong" if demand.traffic.consistent else "read_eventual"
    else:
        kind = "write"
    return law_of(kind, calibration, extra)


def law_of(kind: str, calibration: Calibration, extra_s: float = 0.0) -> LatencyLaw:
    """The law of one kind of answer, as the calibration names it: ``read_eventual``, ``dax_hit``."""
    median = getattr(calibration, f"latency_{kind}_ms_p50") / 1000
    high = getattr(calibration, f"latency_{kind}_ms_p99") / 1000
    return LatencyLaw(median, math.log(max(high / median, 1.0)) / _Z99, extra_s)
