"""One seed, and a generator for each consumer, so that adding a consumer moves no other's numbers."""

from __future__ import annotations

import hashlib

import numpy as np


def generator(seed: int, *purpose: str) -> np.random.Generator:
    """The generator of one purpose, as in ``generator(seed, "orders", "arrivals")``; the same in every process and on every machine."""
    digest = hashlib.sha256("\0".join(purpose).encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4)]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))
