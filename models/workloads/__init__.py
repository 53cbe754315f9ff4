"""Workloads: what applications ask of a table, each a function of its parameters that returns a `Workload`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from models.workloads.base import Need, Workload
from models.workloads.sale import flash_sale

# By the names that the command line has for them.
WORKLOADS: Mapping[str, Callable[..., Workload]] = MappingProxyType({"flash-sale": flash_sale})

__all__ = ["WORKLOADS", "Need", "Workload", "flash_sale"]
