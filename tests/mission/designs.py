"""Rows of key designs."""

from __future__ import annotations

from mission.base import Row

ROWS: tuple[Row, ...] = ()
MISSING: dict[str, str] = {}  # id → which mechanism is not there
