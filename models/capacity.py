"""Mode and capacity of a table: the workload's own, or what somebody says instead."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import sim
from models.designs import DESIGNS, Design
from models.values import plain, shown
from models.workloads import WORKLOADS, Workload

# What a setting cannot be, for design and workload make it; and how it is changed instead.
MADE = MappingProxyType(
    {
        "table": "give mode and capacity as arguments (mode='provisioned', write_capacity=2000, …); all else is the design's: "
        "dataclasses.replace(design, table={…})",
        "traffic": "it is what the workload's needs become under the design: dataclasses.replace(workload, needs=[…])",
    }
)

# What a table has in one of the modes only.
MODE_OF = MappingProxyType(
    {
        **dict.fromkeys(("read_capacity", "write_capacity", "autoscaling"), "provisioned"),
        **dict.fromkeys(("max_read", "max_write", "previous_peak_read", "previous_peak_write"), "on-demand"),
    }
)
_TOGETHER = MappingProxyType(
    {
        "provisioned": "mode='provisioned', read_capacity=…, write_capacity=…",
        "on-demand": "mode='on-demand', previous_peak_write=…, …",
    }
)


def capacity_of(design: Design, workload: Workload, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of the table: those given where they have a mode, else those given over the workload's own.

    Raises
    ------
    ValueError
        A key is of the other mode than the workload's, and no mode is given; or it is none of a table but of a scenario, or a parameter of
        the design or the workload.
    """
    capacity: dict[str, Any] = plain(given)
    for key, value in capacity.items():
        if key not in sim.Table.model_fields:
            _refuse(design, workload, key, shown(value))
    if capacity.get("mode") is not None:
        return capacity
    own = plain(workload.capacity)
    capacity.pop("mode", None)
    for key, value in capacity.items():
        mode = own.get("mode")
        if value is not None and mode in _TOGETHER and MODE_OF.get(key, mode) != mode:
            raise ValueError(
                f"{key} = {shown(value)}: is of a table with mode={MODE_OF[key]!r}, and that of {workload.name} has {mode!r}: "
                f"give the mode, and all of its capacity: {_TOGETHER[MODE_OF[key]]}"
            )
    return {**own, **capacity}


def _refuse(design: Design, workload: Workload, key: str, value: str) -> None:
    """Say of what is no key of a table where it belongs, if it belongs anywhere; what belongs nowhere the scenario refuses."""
    if key in MADE:
        raise ValueError(f"{key} = {value}: is no capacity: {MADE[key]}")
    if key in sim.Scenario.model_fields:
        raise ValueError(
            f"{key} = {value}: is no capacity, but a key at the top of the scenario: settings={{{key!r}: {value}}}"
        )
    for module, made in (("designs", DESIGNS.get(design.name)), ("workloads", WORKLOADS.get(workload.name))):
        if made is not None and key in inspect.signature(made).parameters:
            raise ValueError(
                f"{key} = {value}: is no capacity, but a parameter: {module}.{made.__name__}({key}={value})"
            )
