"""Workloads: what applications ask of a table, each a function of its parameters that returns a `Workload`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from models.workloads.base import Need, Workload
from models.workloads.dates import order_dates
from models.workloads.export import nightly_export
from models.workloads.ingestion import time_series
from models.workloads.loading import bulk_load
from models.workloads.locks import lock_polling
from models.workloads.sale import flash_sale
from models.workloads.social import viral_post
from models.workloads.tenants import tenant_dominance

# By the names that the command line has for them.
WORKLOADS: Mapping[str, Callable[..., Workload]] = MappingProxyType(
    {
        "flash-sale": flash_sale,
        "viral-post": viral_post,
        "tenant-dominance": tenant_dominance,
        "time-series": time_series,
        "order-dates": order_dates,
        "lock-polling": lock_polling,
        "bulk-load": bulk_load,
        "nightly-export": nightly_export,
    }
)

__all__ = [
    "WORKLOADS",
    "Need",
    "Workload",
    "bulk_load",
    "flash_sale",
    "lock_polling",
    "nightly_export",
    "order_dates",
    "tenant_dominance",
    "time_series",
    "viral_post",
]
