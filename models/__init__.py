"""Designs, workloads and named scenarios, built on the public names of `sim` only.

``models.compare([designs.bad_status(), designs.good_user()], workloads.flash_sale())`` puts key designs under the same traffic, and
``models.scenarios.load("flash-sale")`` is a named scenario.
"""

from __future__ import annotations

from models import designs, scenarios, workloads
from models.combine import compare, scenario

__all__ = ["compare", "designs", "scenario", "scenarios", "workloads"]
