"""A scenario under sliders: `explore` in a notebook, and the positions of its sliders as scenarios."""

from __future__ import annotations

from sim.exploring.explorer import Explorer, explore

__all__ = ["Explorer", "explore"]
