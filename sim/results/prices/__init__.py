"""Price sheets: dated lists of what AWS charges, one TOML file each; those that come along lie beside this file."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from decimal import Decimal
from importlib.resources import files
from pathlib import Path

from sim.errors import InputError, Problem
from sim.names import TableClass
from sim.scenario.base import FrozenMapping

SUFFIX = ".toml"


@dataclass(frozen=True, kw_only=True)
class ClassPrices:
    """Prices of one table class, in the sheet's currency (F-PRICE-1 to F-PRICE-8, F-PRICE-11).

    Attributes
    ----------
    read_per_million, write_per_million : on-demand, per million units.
    read_capacity_hour, write_capacity_hour : provisioned, per unit of capacity and hour.
    storage_gb_month : per GB (1024³ bytes) and month.
    replicated_write_per_million, replicated_write_capacity_hour : writes of a global table, in each of its regions.
    warm_read_once, warm_write_once : per unit per second of warm throughput that is bought, once (F-PRICE-15).
    """

    read_per_million: Decimal
    write_per_million: Decimal
    read_capacity_hour: Decimal
    write_capacity_hour: Decimal
    storage_gb_month: Decimal
    replicated_write_per_million: Decimal
    replicated_write_capacity_hour: Decimal
    warm_read_once: Decimal
    warm_write_once: Decimal


@dataclass(frozen=True, kw_only=True)
class ReservedPrices:
    """Capacity of Standard tables reserved for a year: per unit and hour, and per unit upfront (F-PRICE-9, F-PRICE-10)."""

    read_capacity_hour: Decimal
    write_capacity_hour: Decimal
    read_upfront: Decimal
    write_upfront: Decimal


@dataclass(frozen=True, kw_only=True)
class StreamPrices:
    """Reads of a table's stream (GetRecords calls): per 100,000 of them, beyond those that are free in a month (F-PRICE-14)."""

    read_per_100k: Decimal
    free_reads_month: Decimal = Decimal(0)


@dataclass(frozen=True, kw_only=True)
class FreeTier:
    """What an account has for nothing in a region: provisioned capacity and storage of Standard tables (F-PRICE-16)."""

    read_capacity: Decimal = Decimal(0)
    write_capacity: Decimal = Decimal(0)
    storage_gb: Decimal = Decimal(0)


@dataclass(frozen=True, kw_only=True)
class PriceSheet:
    """Prices of one region at one date, and where they were read.

    Attributes
    ----------
    date : day at which the prices held.
    reserved : None when the sheet lists no reserved capacity.
    streams : None when the sheet lists no reads of streams.
    dax : price per node and hour by AWS's name of the node type (F-PRICE-12).
    """

    name: str
    region: str
    currency: str
    date: date
    source: str
    classes: Mapping[TableClass, ClassPrices]
    reserved: ReservedPrices | None = None
    streams: StreamPrices | None = None
    free_tier: FreeTier = field(default_factory=FreeTier)
    dax: Mapping[str, Decimal] = field(default_factory=dict)

    def of(self, table_class: TableClass) -> ClassPrices:
        """Prices of one table class.

        Raises
        ------
        InputError
            The sheet does not list the class.
        """
        if table_class not in self.classes:
            raise InputError(
                [Problem(source=self.name, path=table_class, message="the price sheet lacks this table class")]
            )
        return self.classes[table_class]

    def node_hour(self, node_type: str) -> Decimal:
        """Price of a DAX node per hour.

        Raises
        ------
        InputError
            The sheet does not list the node type.
        """
        if node_type not in self.dax:
            message = f"the price sheet lists no such node; it has {', '.join(self.dax) or 'none'}"
            raise InputError([Problem(source=self.name, path=f"dax.{node_type}", message=message)])
        return self.dax[node_type]

    def stream_prices(self) -> StreamPrices:
        """Prices of reads of streams.

        Raises
        ------
        InputError
            The sheet does not list them.
        """
        if self.streams is None:
            message = "the price sheet lists no reads of streams"
            raise InputError([Problem(source=self.name, path="streams", message=message)])
        return self.streams


def sheet_names() -> list[str]:
    """Names of the price sheets that come along."""
    entries = (entry.name for entry in files(__name__).iterdir())
    return sorted(name.removesuffix(SUFFIX) for name in entries if name.endswith(SUFFIX))


def load_sheet(name: str, *, folder: Path | None = None) -> PriceSheet:
    """The price sheet of that name, or the user's own in the file at that path.

    Parameters
    ----------
    name : one of `sheet_names`, or a path that ends in ``.toml``.
    folder : what a relative path starts from; None: the working directory.

    Raises
    ------
    InputError
        No such sheet (with the nearest name), no TOML, or a sheet that lacks a price, misnames one or has an impossible one:
        all problems at once.
    """
    names = sheet_names()
    if name in names:
        text = files(__name__).joinpath(name + SUFFIX).read_text(encoding="utf-8")
        return parse_sheet(text, source=name + SUFFIX, name=name)
    path = (folder or Path()) / name
    if path.suffix != SUFFIX:
        near = difflib.get_close_matches(name, names, n=1)
        allowed = f"a price sheet is one of {', '.join(names)}, or the path of a {SUFFIX} file"
        hint = f"did you mean {near[0]}?" if near else ""
        raise InputError([Problem(source="", path="prices", message=allowed, value=name, hint=hint)])
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError([_unreadable(name, error.strerror or str(error))]) from None
    except UnicodeDecodeError:
        raise InputError([_unreadable(name, "it is not UTF-8 text")]) from None
    return parse_sheet(text, source=name, name=path.stem)


def parse_sheet(text: str, *, source: str, name: str) -> PriceSheet:
    """A price sheet from its TOML text.

    Parameters
    ----------
    source : file name for messages.
    name : name of the sheet in results, unless the text gives one.

    Raises
    ------
    InputError
        As `load_sheet`.

    Notes
    -----
    Needed: ``currency``, ``date``, ``source`` and one section of a table class. Replicated writes that are not listed
    cost what writes cost, warm throughput what an hour of capacity costs; what is free and not listed is none.
    """
    try:
        data = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise InputError([Problem(source=source, path="", message=f"no valid TOML: {error}")]) from None
    form = _Form(source)
    sections = [*map(str, TableClass), "reserved", "streams", "free_tier", "dax"]
    form.refuse_unknown(data, ["name", "region", "currency", "date", "source", *sections], "")
    currency, origin = form.text(data, "currency"), form.text(data, "source")
    region, own_name = form.text(data, "region", ""), form.text(data, "name", name)
    day = data.get("date")
    if not isinstance(day, date):
        form.refuse("date", "the day at which these prices held is needed, as in date = 2026-09-08", day)
    tables = {section: form.table(data, section) for section in sections if section in data}
    classes = {c: _class_prices(form, tables[c], c) for c in TableClass if c in tables}
    if not classes:
        form.refuse("", f"no prices: at least one of {', '.join(f'[{c}]' for c in TableClass)} is needed", None)
    reserved = form.record(tables["reserved"], ReservedPrices, "reserved") if "reserved" in tables else None
    streams = None
    if "streams" in tables:
        streams = form.record({"free_reads_month": 0, **tables["streams"]}, StreamPrices, "streams")
    free_tier = form.record({**_zeroes(FreeTier), **tables.get("free_tier", {})}, FreeTier, "free_tier")
    dax = {node: form.price(value, f"dax.{node}") for node, value in tables.get("dax", {}).items()}
    if form.problems:
        raise InputError(form.problems)
    assert isinstance(day, date)
    return PriceSheet(
        name=own_name,
        region=region,
        currency=currency,
        date=day,
        source=origin,
        classes=FrozenMapping(classes),
        reserved=ReservedPrices(**reserved) if reserved is not None else None,
        streams=StreamPrices(**streams) if streams is not None else None,
        free_tier=FreeTier(**free_tier),
        dax=FrozenMapping(dax),
    )


def _class_prices(form: _Form, table: Mapping[str, object], path: str) -> ClassPrices:
    like = {
        "replicated_write_per_million": "write_per_million",
        "replicated_write_capacity_hour": "write_capacity_hour",
        "warm_read_once": "read_capacity_hour",
        "warm_write_once": "write_capacity_hour",
    }
    defaults = {name: table[other] for name, other in like.items() if other in table}
    return ClassPrices(**form.record({**defaults, **table}, ClassPrices, path))


def _zeroes(shape: type[FreeTier]) -> dict[str, object]:
    return {f.name: 0 for f in fields(shape)}


def _unreadable(source: str, cause: str) -> Problem:
    return Problem(source=source, path="", message=f"the price sheet cannot be read: {cause}")


class _Form:
    """Reads values out of a parsed file and gathers every problem; what is refused reads as a stand-in."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []

    def refuse(self, path: str, message: str, value: object, hint: str = "") -> None:
        given = "" if value is None else str(value)
        self.problems.append(Problem(source=self.source, path=path, message=message, value=given, hint=hint))

    def refuse_unknown(self, data: Collection[str], known: Collection[str], path: str) -> None:
        for key in data:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
                self.refuse(f"{path}.{key}" if path else key, "no such key in a price sheet", None, hint)

    def text(self, data: Mapping[str, object], key: str, default: str | None = None) -> str:
        value = data.get(key, default)
        if value is None:
            self.refuse(key, "is needed: a text", None)
        elif not isinstance(value, str):
            self.refuse(key, "is a text", value)
        return str(value)

    def table(self, data: Mapping[str, object], key: str) -> dict[str, object]:
        value = data[key]
        if isinstance(value, dict):
            return value
        self.refuse(key, f"is a section: [{key}]", value)
        return {}

    def price(self, value: object, path: str) -> Decimal:
        is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
        number = Decimal(value) if is_number else Decimal("NaN")  # type: ignore[arg-type]  # int or Decimal: just tested
        if not number.is_finite() or number < 0:
            self.refuse(path, "is a number of at least 0, without quotes", value)
            return Decimal(0)
        return number

    def record(self, table: Mapping[str, object], shape: type, path: str) -> dict[str, Decimal]:
        names = [f.name for f in fields(shape)]
        self.refuse_unknown(table, names, path)
        values: dict[str, Decimal] = {}
        for name in names:
            if name in table:
                values[name] = self.price(table[name], f"{path}.{name}")
            else:
                self.refuse(f"{path}.{name}", "is needed: a price of at least 0", None)
                values[name] = Decimal(0)
        return values
