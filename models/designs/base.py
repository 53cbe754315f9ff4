"""What a key design is: where an item lies, what stands beside it, and which requests its users' needs become.

A design is a value. Put under a workload it is a scenario: ``designs.bad_status().under(workloads.flash_sale())``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

Role: TypeAlias = Literal["write", "read", "list", "change"]
ROLES: tuple[Role, ...] = get_args(Role)
ROLE_MEANS: Mapping[Role, str] = MappingProxyType(
    {
        "write": "one new item is put",
        "read": "one item is read by what names it",
        "list": "the items of one group are asked for",
        "change": "an attribute of an item changes: the one that the design's groups hang on, where there is one",
    }
)

Keys: TypeAlias = Mapping[str, Any]  # keys of a table, an index, a field or a pattern, as the scenario format has them

# What the templates of designs draw from, in sensible sizes. A design may set its own, and a workload sets what it is about.
FIELDS: Mapping[str, Keys] = MappingProxyType(
    {
        "user": {"kind": "zipf", "count": 100_000, "exponent": 0.5},
        "tenant": {"kind": "zipf", "count": 500, "exponent": 0.8},
        "post": {"kind": "zipf", "count": 100_000, "exponent": 0.8},
        "order": {"kind": "sequence"},
        "item": {"kind": "uniform", "count": 1_000_000},
        "status": {"kind": "choice", "weights": {"active": 0.9, "inactive": 0.1}},
        "region": {"kind": "choice", "weights": {"EU": 0.4, "US": 0.4, "APAC": 0.2}},
        "store": {"kind": "zipf", "count": 400, "exponent": 0.5},
        "date": {"kind": "clock", "format": "%Y-%m-%d"},
        "minute": {"kind": "clock", "format": "%Y-%m-%dT%H:%M"},
        "shard": {"kind": "uniform", "count": 10},
    }
)


@dataclass(frozen=True, kw_only=True)
class Design:
    """A key design.

    Attributes
    ----------
    name : as the command line has it.
    shows : the id under which catalogues list it.
    says : what it shows, in one sentence.
    pk, sk : templates of the table's keys.
    gsi, lsi : indexes, with the keys of the scenario format.
    fields : fields of the templates where they differ from `FIELDS`.
    table : further keys of the table.
    accesses : what each role's request becomes: patterns in the keys of the scenario format (`operation`, `index`, `scatter`, …). The
        first is the request itself; each further one follows it, once for each unless its ``per`` says otherwise.
    item_bytes : size of an item, where the workload does not say.
    """

    name: str
    shows: str
    says: str
    pk: str
    sk: str | None = None
    gsi: Sequence[Keys] = ()
    lsi: Sequence[Keys] = ()
    fields: Mapping[str, Keys] = field(default_factory=dict)
    table: Keys = field(default_factory=dict)
    accesses: Mapping[Role, Sequence[Keys]] = field(default_factory=dict)
    item_bytes: int = 1024

    def access(self, role: Role) -> Sequence[Keys]:
        """Patterns that a request in this role becomes."""
        return self.accesses.get(role) or (_PLAIN[role],)

    def table_keys(self, **capacity: Any) -> dict[str, Any]:
        """The table as the scenario format has it, with mode and capacity."""
        keys = {"name": self.name, "pk": self.pk, "sk": self.sk, **self.table, **capacity}
        # A provisioned index has capacity of its own: the table's, where the design does not give another.
        own = {key: value for key, value in capacity.items() if key in ("read_capacity", "write_capacity")}
        keys["gsi"] = [{**own, **index} for index in self.gsi]
        keys["lsi"] = [dict(index) for index in self.lsi]
        return {key: value for key, value in keys.items() if value not in (None, [])}


_PLAIN: Mapping[Role, Keys] = MappingProxyType(
    {
        "write": {"operation": "PutItem"},
        "read": {"operation": "GetItem"},
        "list": {"operation": "Query", "items": 20},
        "change": {"operation": "UpdateItem"},
    }
)


def names_in(template: str | None) -> set[str]:
    """Fields that a template draws from."""
    return set() if template is None else {name for _, name, _, _ in Formatter().parse(template) if name}
