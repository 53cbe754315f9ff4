"""Split for size: a partition that is full is cut in the middle of its data (F-PART-8, F-PART-10)."""

from __future__ import annotations

import numpy as np

from sim.control.splitting import Splitter
from sim.limits import PARTITION_BYTES_MAX
from sim.names import SplitReason
from sim.partitions.resource import Resource

# A layout of ⌈bytes / 10 GB⌉ equal ranges leaves some a little over 10 GB, as hashes fall: no reason to split before anything is written.
_LAID_OUT_FULL = 1.1


class SizeWatcher:
    """Splits partitions that hold more than 10 GB."""

    def __init__(self, resource: Resource, splitter: Splitter) -> None:
        self._resource = resource
        self._splitter = splitter

    def look(self, now_s: float) -> None:
        """Begin splits where the data asks for them."""
        stored = self._resource.stored_bytes
        full = PARTITION_BYTES_MAX if self._resource.has_grown else _LAID_OUT_FULL * PARTITION_BYTES_MAX
        if stored.max() <= full:
            return
        serving = self._resource.partitions.serving
        for number in [serving[c] for c in np.flatnonzero(stored > full)]:
            if number not in self._splitter.in_flight:
                self._splitter.begin(number, self._resource.stored_loads, SplitReason.SIZE)
