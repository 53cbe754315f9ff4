"""All that this package offers the command line: named scenarios, designs and workloads."""

from __future__ import annotations

from collections.abc import Sequence

import sim
from models import combine, scenarios
from models.designs import DESIGNS
from models.workloads import WORKLOADS


class Catalogue:
    """The named scenarios, designs and workloads of `models`, in the shape that `sim.Collection` asks for."""

    def listed(self) -> Sequence[sim.Listed]:
        """All of them: scenarios, then designs, then workloads."""
        rows = [
            sim.Listed(kind="scenario", name=one.name, shows=one.shows, says=one.claim, title=one.title)
            for one in scenarios.named()
        ]
        for name, make_design in DESIGNS.items():
            design = make_design()
            rows.append(sim.Listed(kind="design", name=name, shows=(design.shows,), says=design.told))
        for name, make_workload in WORKLOADS.items():
            rows.append(sim.Listed(kind="workload", name=name, shows=(), says=make_workload().told))
        return rows

    def text(self, name: str) -> str:
        """TOML of a named scenario."""
        return scenarios.text(name)

    def under(self, design: str, workload: str) -> sim.Scenario:
        """A named design under a named workload, both with their default parameters."""
        return combine.scenario(DESIGNS[design](), WORKLOADS[workload]())


CATALOGUE = Catalogue()
