"""The project's promises by family: a module each with its rows (`ROWS`) and what has no mechanism (`MISSING`)."""

from __future__ import annotations

from types import ModuleType

from mission import clients, designs, pagination, paying, throttling

# title → module, in the order of the table
FAMILIES: dict[str, ModuleType] = {
    "Throttling machinery": throttling,
    "Key designs": designs,
    "Clients": clients,
    "Seeing and paying": paying,
    "Pagination": pagination,
}
