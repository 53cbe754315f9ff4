"""The table and its indexes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import model_validator

from sim.limits import GSI_MAX, ITEM_BYTES_MAX, LSI_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX
from sim.names import TABLE, Mode, Projection, TableClass, index_resource
from sim.scenario.autoscaling import Autoscaling
from sim.scenario.base import Place, Value, choices, refusal, refuse_all
from sim.scenario.leaves import (
    RATE_MAX_PER_S,
    Bytes,
    BytesOrZero,
    Capacity,
    Fraction01,
    Name,
    PositiveFraction,
    Seconds,
    Switch,
    Template,
    number,
    whole,
    word,
)
from sim.scenario.templates import parse_template

PARTITIONS_MAX = 100_000
REPLICAS_MAX = 50

# What a table has in one of the modes only, and an index as far as it has these keys.
KEYS_OF_MODE: Mapping[Mode, tuple[str, ...]] = MappingProxyType(
    {
        Mode.PROVISIONED: ("read_capacity", "write_capacity", "autoscaling"),
        Mode.ON_DEMAND: ("max_read", "max_write", "previous_peak_read", "previous_peak_write"),
    }
)

Refused = list[tuple[Place, Any, Any]]
Partitions = Annotated[int, whole(1, PARTITIONS_MAX, "partitions")]
Peak = Annotated[float, number(0, RATE_MAX_PER_S, "units per second")]


class Gsi(Value):
    """A global secondary index: its own partitions and its own capacity.

    Attributes
    ----------
    name : differs from the names of all other indexes.
    pk : template of the index's partition key.
    sk : template of the index's sort key. None: no sort key.
    projection : what an entry keeps of the item.
    projected_bytes : size of a whole entry, keys included. None: the item's size (projection ALL only).
    present : fraction of items that carry the index key (a sparse index below 1).
    read_capacity : provisioned read units per second.
    write_capacity : provisioned write units per second.
    max_read : on-demand maximum, read units per second. None: none.
    max_write : on-demand maximum, write units per second. None: none.
    warm_read : warm throughput, read units per second.
    warm_write : warm throughput, write units per second.
    partitions : initial count of the index's own partitions. None: sized from the rest.
    burst_at_start : fraction of the 300 s of burst credit that is there at second 0.
    autoscaling : target tracking of the index's own capacity.
    created_at : reserved: when the index is created within the run.
    backfill_write_per_s : reserved: rate at which a new index is filled.
    """

    name: Name
    pk: Template
    sk: Template | None = None
    projection: Annotated[Projection, word(Projection)] = Projection.ALL
    projected_bytes: Bytes | None = None
    present: PositiveFraction = 1.0
    read_capacity: Capacity | None = None
    write_capacity: Capacity | None = None
    max_read: Capacity | None = None
    max_write: Capacity | None = None
    warm_read: Peak | None = None
    warm_write: Peak | None = None
    partitions: Partitions | None = None
    burst_at_start: Fraction01 = 1.0
    autoscaling: Autoscaling | None = None
    created_at: Seconds | None = None
    backfill_write_per_s: Peak | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Gsi:
        refuse_all("gsi", [*_size_of_entry(self), *_key_too_long(self.pk, self.sk)])
        return self


class Lsi(Value):
    """A local secondary index: charged to the table, and it pins each item collection to one partition.

    Attributes
    ----------
    name : differs from the names of all other indexes.
    sk : template of the index's sort key.
    projection : what an entry keeps of the item.
    projected_bytes : size of a whole entry, keys included. None: the item's size (projection ALL only).
    """

    name: Name
    sk: Template
    projection: Annotated[Projection, word(Projection)] = Projection.ALL
    projected_bytes: Bytes | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Lsi:
        refuse_all("lsi", [*_size_of_entry(self), *_key_too_long(None, self.sk)])
        return self


class Table(Value):
    """The table.

    Attributes
    ----------
    name : as users call it, for reports.
    pk : template of the partition key, with fields in braces.
    sk : template of the sort key. None: no sort key.
    mode : provisioned or on-demand.
    read_capacity : provisioned read units per second, at least 1.
    write_capacity : provisioned write units per second, at least 1.
    max_read : on-demand maximum, read units per second. None: none.
    max_write : on-demand maximum, write units per second. None: none.
    previous_peak_read : on-demand: read units per second that the table has once carried.
    previous_peak_write : on-demand: write units per second that the table has once carried.
    warm_read : warm throughput, read units per second; on a provisioned table it lays out partitions and lifts no limit.
    warm_write : warm throughput, write units per second; on a provisioned table it lays out partitions and lifts no limit.
    partitions : initial count. None: sized from the rest.
    storage_bytes : at start, spread like the keys. None: empty.
    collection_bytes : at start, of each item collection.
    burst_at_start : fraction of the 300 s of burst credit that is there at second 0.
    table_class : price class.
    streams : whether DynamoDB Streams are on.
    autoscaling : target tracking of the table's capacity. None: it stays as provisioned.
    gsi : global secondary indexes.
    lsi : local secondary indexes.
    replicas : number of further regions.
    """

    name: Name = TABLE
    pk: Template
    sk: Template | None = None
    mode: Annotated[Mode, word(Mode)]
    read_capacity: Capacity | None = None
    write_capacity: Capacity | None = None
    max_read: Capacity | None = None
    max_write: Capacity | None = None
    previous_peak_read: Peak | None = None
    previous_peak_write: Peak | None = None
    warm_read: Peak | None = None
    warm_write: Peak | None = None
    partitions: Partitions | None = None
    storage_bytes: BytesOrZero | None = None
    collection_bytes: BytesOrZero | None = None
    burst_at_start: Fraction01 = 1.0
    table_class: Annotated[TableClass, word(TableClass)] = TableClass.STANDARD
    autoscaling: Autoscaling | None = None
    gsi: tuple[Gsi, ...] = ()
    lsi: tuple[Lsi, ...] = ()
    streams: Switch = False
    replicas: Annotated[int, whole(0, REPLICAS_MAX, "further regions")] = 0

    @model_validator(mode="after")
    def _fits_together(self) -> Table:
        wrong: Refused = [*_capacities(self, self.mode, ()), *_key_too_long(self.pk, self.sk)]
        for index, gsi in enumerate(self.gsi):
            wrong += _capacities(gsi, self.mode, ("gsi", index))
        wrong += _index_names(self)
        if self.lsi and self.sk is None:
            sentence = "is missing: a local secondary index needs a table with a sort key"
            wrong.append((("sk",), None, refusal(sentence, "give table.sk a template")))
        for key, most in (("gsi", GSI_MAX), ("lsi", LSI_MAX)):
            if len(getattr(self, key)) > most:
                wrong.append(((key,), len(getattr(self, key)), refusal(f"a table has at most {most} of these")))
        refuse_all("table", wrong)
        return self


def _size_of_entry(index: Gsi | Lsi) -> Refused:
    if index.projected_bytes is not None and index.projected_bytes > ITEM_BYTES_MAX:
        sentence = f"is more than an item can have: at most {ITEM_BYTES_MAX:,} bytes"
        return [(("projected_bytes",), index.projected_bytes, refusal(sentence))]
    if index.projection is Projection.ALL or index.projected_bytes is not None:
        return []
    sentence = f"is required with projection {index.projection}: the size of a whole entry, keys included"
    return [(("projected_bytes",), None, refusal(sentence))]


def _key_too_long(pk: str | None, sk: str | None) -> Refused:
    wrong: Refused = []
    for key, template, most in (("pk", pk, PARTITION_KEY_BYTES_MAX), ("sk", sk, SORT_KEY_BYTES_MAX)):
        if template and sum(len(literal.encode()) for literal, _ in parse_template(template)) > most:
            wrong.append(((key,), template, refusal(f"is too long: DynamoDB allows at most {most:,} bytes")))
    return wrong


def _capacities(resource: Table | Gsi, mode: Mode, place: Place) -> Refused:
    wrong: Refused = []
    if mode is Mode.PROVISIONED:
        for key in ("read_capacity", "write_capacity"):
            if getattr(resource, key) is None:
                sentence = "is required in provisioned mode: units per second, at least 1"
                wrong.append(((*place, key), None, refusal(sentence)))
    other = Mode.ON_DEMAND if mode is Mode.PROVISIONED else Mode.PROVISIONED
    for key in KEYS_OF_MODE[other]:
        if getattr(resource, key, None) is not None:
            sentence = f'is for mode = "{other}" only; this table is {mode}'
            wrong.append(((*place, key), getattr(resource, key), refusal(sentence)))
    return wrong


def _index_names(table: Table) -> Refused:
    wrong: Refused = []
    seen: set[str] = set()
    families: tuple[tuple[str, tuple[Gsi | Lsi, ...]], ...] = (("gsi", table.gsi), ("lsi", table.lsi))
    for key, indexes in families:
        for place, index in enumerate(indexes):
            if index.name in seen:
                wrong.append(((key, place, "name"), index.name, refusal("names of indexes must differ")))
            seen.add(index.name)
    return wrong


def holders(table: Table) -> dict[str, Table | Gsi]:
    """What has partitions and capacity of its own, by the names that results have for it, the table first."""
    return {TABLE: table} | {index_resource(gsi.name): gsi for gsi in table.gsi}


def index_names(table: Table) -> tuple[str, ...]:
    """Names of all indexes, global ones first."""
    return (*(gsi.name for gsi in table.gsi), *(lsi.name for lsi in table.lsi))


def unknown_index(table: Table, name: str) -> Any:
    """The refusal of an index name that the table does not have."""
    names = index_names(table)
    if not names:
        return refusal(f"no index {name!r} on the table; it has no indexes")
    return refusal(f"no index {name!r} on the table", choices(name, names))
