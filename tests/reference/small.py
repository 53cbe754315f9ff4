"""The smallest scenario that a test of the engine needs."""

from __future__ import annotations

from typing import Any

from sim.scenario import Scenario, from_dict

FIELDS = {"user": {"kind": "uniform", "count": 1000}}


def pattern(**keys: Any) -> dict[str, Any]:
    """An access pattern: 1-KB puts unless said otherwise."""
    return {"name": "writes", "operation": "PutItem", "rate": 10, **keys}


def scenario(
    *patterns: dict[str, Any], table: dict[str, Any] | None = None, fields: dict[str, Any] | None = None, **keys: Any
) -> Scenario:
    """A scenario of ten minutes on demand, keyed by user, unless said otherwise."""
    base = {"name": "orders", "pk": "USER#{user}", "mode": "on-demand"}
    return from_dict(
        {
            "format": 1,
            "duration": 600,
            "fields": FIELDS if fields is None else fields,
            "table": {**base, **(table or {})},
            "traffic": list(patterns) or [pattern()],
            **keys,
        }
    )


def provisioned(read: float = 100, write: float = 100, **keys: Any) -> dict[str, Any]:
    """A provisioned table of one partition unless said otherwise."""
    return {"mode": "provisioned", "read_capacity": read, "write_capacity": write, "partitions": 1, **keys}
