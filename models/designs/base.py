"""What a key design is: where an item lies, what stands beside it, and which requests its users' needs become.

A design is a value. Put under a workload it is a scenario: ``models.scenario(designs.bad_status(), workloads.flash_sale())``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from models.parameters import a_list, a_mapping, a_text
from models.values import plain, shown

Role: TypeAlias = Literal["write", "read", "list", "change"]
ROLES: tuple[Role, ...] = get_args(Role)
ROLE_MEANS: Mapping[Role, str] = MappingProxyType(
    {
        "write": "one new item is put",
        "read": "one item is read by what names it",
        "list": "the items of one group are asked for",
        "change": "an attribute of an item changes: the one that the design's groups hang on, or the one that the design names",
    }
)

Keys: TypeAlias = Mapping[str, Any]  # keys of a table, an index, a field or a pattern, as the scenario format has them

LIST_ITEMS = 20  # what one page of a list shows

# What the templates of designs draw from, in sensible sizes. A design may set its own, and a workload sets what it is about.
FIELDS: Mapping[str, Keys] = MappingProxyType(
    {
        "user": {"kind": "zipf", "count": 100_000, "exponent": 0.5},
        "group": {"kind": "zipf", "count": 1000, "exponent": 0.8},
        "tenant": {"kind": "zipf", "count": 500, "exponent": 0.8},
        "post": {"kind": "zipf", "count": 100_000, "exponent": 0.8},
        "order": {"kind": "sequence"},
        "item": {"kind": "uniform", "count": 1_000_000},
        "amount": {"kind": "uniform", "count": 100_000},
        "status": {"kind": "choice", "weights": {"active": 0.9, "inactive": 0.1}},
        "region": {"kind": "choice", "weights": {"EU": 0.4, "US": 0.4, "APAC": 0.2}},
        "store": {"kind": "zipf", "count": 400, "exponent": 0.5},
        "date": {"kind": "clock", "format": "%Y-%m-%d"},
        "shard": {"kind": "uniform", "count": 10},
        "lock": {"kind": "uniform", "count": 1},
    }
)


@dataclass(frozen=True, kw_only=True)
class Design:
    """A key design.

    Attributes
    ----------
    name : as the command line has it.
    shows : the id under which catalogues list it.
    says : what it shows, in one sentence, which holds whatever its fields draw from.
    variant : a word or two where its parameters make it another design than its name says, as "full" does of "sparse". "": it is that.
    fields_say : what its parameters make of fields, a sentence each, by field. They hold where nobody else sets the field.
    pk, sk : templates of the table's keys.
    gsi, lsi : indexes, with the keys of the scenario format.
    fields : fields of the templates where they differ from `FIELDS`.
    table : further keys of the table.
    accesses : what each role's request becomes: patterns in the keys of the scenario format (`operation`, `index`, `scatter`, …). The
        first is the request itself; each further one follows it, once for each unless its ``per`` says otherwise, and has a word of its
        own, ``called``, by which results tell it apart.
    item_bytes : size of an item, where the workload does not say.

    Raises
    ------
    ValueError
        A part has another shape than this: it is no text, mapping or list. What stands in them is checked when they become a scenario.
    """

    name: str
    shows: str
    says: str
    pk: str
    sk: str | None = None
    variant: str = ""
    fields_say: Mapping[str, str] = field(default_factory=dict)
    gsi: Sequence[Keys] = ()
    lsi: Sequence[Keys] = ()
    fields: Mapping[str, Keys] = field(default_factory=dict)
    table: Keys = field(default_factory=dict)
    accesses: Mapping[Role, Sequence[Keys]] = field(default_factory=dict)
    item_bytes: int = 1024

    def __post_init__(self) -> None:
        for name in ("name", "shows", "says", "variant"):
            a_text(name, getattr(self, name))
        for sentence in a_mapping("fields_say", self.fields_say, "{field: sentence}").values():
            a_text("fields_say: a sentence", sentence)
        a_mapping("fields", self.fields, "{name: field}")
        a_mapping("table", self.table)
        for family in ("gsi", "lsi"):
            for number, index in enumerate(a_list(family, getattr(self, family), "[{'name': …, …}, …]")):
                place = f"{family}[{number}]"
                a_text(f"{place}.name", a_mapping(place, index, "{'name': …, …}").get("name"))
        for role, accesses in a_mapping("accesses", self.accesses, "{role: [pattern, …]}").items():
            refuse_other_roles(role)
            for number, access in enumerate(a_list(f"accesses.{role}", accesses, "[{'operation': …, …}, …]")):
                place = f"accesses.{role}[{number}]"
                a_text(f"{place}.operation", a_mapping(place, access, "{'operation': …, …}").get("operation"))
                if number:
                    a_text(f"{place}.called", access.get("called"))

    @property
    def title(self) -> str:
        """Its name, with the variant that it is: "sparse (full)"."""
        return f"{self.name} ({self.variant})" if self.variant else self.name

    @property
    def told(self) -> str:
        """All that it says of itself."""
        return " ".join([self.says, *self.fields_say.values()])

    def access(self, role: Role) -> Sequence[Keys]:
        """Patterns that a request in this role becomes.

        Raises
        ------
        ValueError
            There is no such role.
        """
        refuse_other_roles(role)
        return self.accesses.get(role) or (_PLAIN[role],)

    def table_keys(self, **capacity: Any) -> dict[str, Any]:
        """The table as the scenario format has it, with mode and capacity.

        An index has what its table has, unless the design gives it its own: provisioned capacity, maxima, warm throughput. Of its
        table's previous peak it has what `grown` says.

        Raises
        ------
        ValueError
            A key is the design's own: `pk`, `sk`, `gsi`, `lsi`.
        """
        for key in _OF_THE_DESIGN:
            if key in capacity:
                raise ValueError(
                    f"{key} = {shown(plain(capacity[key]))}: is the design's: dataclasses.replace(design, {key}=…)"
                )
        capacity = plain(capacity)
        keys = {"name": self.name, "pk": self.pk, "sk": self.sk, **plain(self.table), **capacity}
        own = {key: capacity[key] for key in _OF_INDEXES if key in capacity}
        grown = self.grown(**capacity)
        if self.gsi:
            keys["gsi"] = [{**own, **grown.get(index["name"], {}), **plain(index)} for index in self.gsi]
        if self.lsi:
            keys["lsi"] = plain(self.lsi)
        return {key: value for key, value in keys.items() if value is not None}

    def grown(self, **capacity: Any) -> dict[str, dict[str, float]]:
        """Warm throughput, by index, that nobody states: the room for twice the peak that its table has been through on demand.

        An index has no previous peak in the format. What is stated of an index, by the design or for the table, stays as it is.
        """
        keys = plain({**self.table, **capacity})
        peaks = {dimension: keys.get(f"previous_peak_{dimension}") for dimension in ROOM_AT_START}
        rooms = {
            f"warm_{dimension}": HEADROOM * peak
            for dimension, peak in peaks.items()
            # A peak that is none is refused where it stands, and nothing is made of it.
            if keys.get("mode") == "on-demand" and isinstance(peak, int | float) and peak <= RATE_MAX_PER_S
        }
        more = {key: room for key, room in rooms.items() if room > ROOM_AT_START[key.removeprefix("warm_")]}
        of_each = {
            index["name"]: {key: room for key, room in more.items() if key not in {**capacity, **index}}
            for index in self.gsi
        }
        return {name: found for name, found in of_each.items() if found}

    def warm(self, **capacity: Any) -> list[str]:
        """What is stated to be warm, of table and indexes: ``["warm_read", "by-status.warm_write"]``."""
        keys = {**self.table, **capacity}
        of_indexes = [f"{index['name']}.{key}" for index in self.gsi for key in _WARM if index.get(key) is not None]
        return [key for key in _WARM if keys.get(key) is not None] + of_indexes


# Limits that AWS publishes, as the simulator has them: units per second of a new on-demand index (F-OD-1), and × a previous peak (F-OD-2).
ROOM_AT_START: Mapping[str, float] = MappingProxyType({"read": 12_000, "write": 4_000})
HEADROOM = 2
RATE_MAX_PER_S = 1e9  # that the scenario format takes

_OF_THE_DESIGN = ("pk", "sk", "gsi", "lsi")
_OF_INDEXES = ("read_capacity", "write_capacity", "max_read", "max_write", "warm_read", "warm_write", "burst_at_start")
_WARM = ("warm_read", "warm_write")

_PLAIN: Mapping[Role, Keys] = MappingProxyType(
    {
        "write": {"operation": "PutItem"},
        "read": {"operation": "GetItem"},
        "list": {"operation": "Query", "items": LIST_ITEMS},
        "change": {"operation": "UpdateItem"},
    }
)


def refuse_other_roles(role: object) -> None:
    """Raise a ValueError where this is none of `ROLES`."""
    if role not in ROLES:
        raise ValueError(f"role = {shown(role)}: must be {' or '.join(map(repr, ROLES))}")


def names_in(template: Any) -> set[str]:
    """Fields that a template draws from; none of what is no template, which the scenario refuses where it stands."""
    try:
        return {name for _, name, _, _ in Formatter().parse(template) if name}
    except (TypeError, ValueError):
        return set()


def one_of_many(name: str, share: float, count: int) -> Keys:
    """A field of ``count`` values of which one, ``name``, has this share of the traffic, and the others the same share each."""
    rest = (1 - share) / (count - 1)
    return {"kind": "choice", "weights": {name: share, **{str(number): rest for number in range(1, count)}}}
