"""Prices as one of the guides has them: those of Standard-IA for requests, and a DAX node of its own (F-PRICE-18, F-PRICE-12)."""

from __future__ import annotations

GUIDE = """
currency = "USD"
date = 2025-01-01
source = "the guide's own figures"
[standard]
read_per_million = 0.155
write_per_million = 0.78
read_capacity_hour = 0.00013
write_capacity_hour = 0.00065
storage_gb_month = 0.25
[dax]
"dax.r5.large" = 0.22
"""
