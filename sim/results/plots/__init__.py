"""The pictures of runs, one noun a file.

``plot_...`` makes a whole figure; ``draw_...`` draws on an Axes and returns it. Figures are made without pyplot, so that no display is
needed and nothing global changes.
"""

from __future__ import annotations

from sim.results.plots.base import Figure, Picture, figure
from sim.results.plots.comparison import draw_comparison, plot_comparison, save_comparison
from sim.results.plots.levels import draw_levels
from sim.results.plots.partitions import band_places, draw_partitions
from sim.results.plots.rates import draw_rates
from sim.results.plots.ring import draw_ring
from sim.results.plots.run import plot_run, save_run
from sim.results.plots.shards import draw_shards

__all__ = [
    "Figure",
    "Picture",
    "band_places",
    "draw_comparison",
    "draw_levels",
    "draw_partitions",
    "draw_rates",
    "draw_ring",
    "draw_shards",
    "figure",
    "plot_comparison",
    "plot_run",
    "save_comparison",
    "save_run",
]
