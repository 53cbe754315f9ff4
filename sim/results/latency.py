"""Times kept as a histogram of fixed size: percentiles of any number of requests in the same memory."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sim.keyspace.domain import Floats

_LEAST_S = 1e-6
_PER_DECADE = 200  # bins: a percentile is right to 1.2 %
_DECADES = 12
_BINS = _PER_DECADE * _DECADES


class TimeHistogram:
    """Durations in seconds, in bins of equal ratio from a microsecond to eleven days.

    Attributes
    ----------
    count, most_s : how many, and the longest of them.
    """

    def __init__(self) -> None:
        self._bins = np.zeros(_BINS, dtype=np.int64)
        self.count = 0
        self.most_s = 0.0

    def add(self, seconds: Floats) -> None:
        """Add many durations."""
        if not len(seconds):
            return
        place = np.log10(np.maximum(seconds, _LEAST_S) / _LEAST_S) * _PER_DECADE
        self._bins += np.bincount(np.minimum(place.astype(np.int64), _BINS - 1), minlength=_BINS)
        self.count += len(seconds)
        self.most_s = max(self.most_s, float(seconds.max()))

    @classmethod
    def merged(cls, parts: Iterable[TimeHistogram]) -> TimeHistogram:
        """All durations of several histograms in one."""
        whole = cls()
        for part in parts:
            whole._bins += part._bins
            whole.count += part.count
            whole.most_s = max(whole.most_s, part.most_s)
        return whole

    def percentile_s(self, fraction: float) -> float | None:
        """The duration that ``fraction`` of all stay below; None where there are none."""
        if not self.count:
            return None
        rank = fraction * self.count
        below = np.cumsum(self._bins)
        index = int(np.searchsorted(below, rank, side="left"))
        inside = (rank - (below[index - 1] if index else 0)) / max(1, self._bins[index])
        value = _LEAST_S * 10 ** ((index + min(max(inside, 0.0), 1.0)) / _PER_DECADE)
        return min(float(value), self.most_s) if self.most_s > 0 else 0.0
