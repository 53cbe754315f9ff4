"""The pictures, by their public names: ``from sim import plots``.

``plot_...`` makes a whole figure, ``draw_...`` draws on an Axes and returns it. Importing this imports matplotlib.
"""

from __future__ import annotations

from sim.results.plots import (
    draw_comparison,
    draw_levels,
    draw_partitions,
    draw_rates,
    draw_ring,
    draw_shards,
    figure,
    plot_comparison,
    plot_run,
    save_comparison,
    save_run,
)

__all__ = [
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
