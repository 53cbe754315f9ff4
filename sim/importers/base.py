"""What every reader hands over and the writer takes: a table and its traffic as drafts, each value with the place it came from.

A reader turns one form of file into a `TableDraft` or a `TrafficDraft`; only the writer knows TOML. None means that the file does
not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, NoReturn, TypeVar

from sim.errors import ImportFileError, Problem
from sim.names import Mode, Operation, Projection, TableClass

T = TypeVar("T")

SHOWN_CHARACTERS = 80  # of an offending value in a message


@dataclass(frozen=True, kw_only=True)
class Taken(Generic[T]):
    """A value and where it comes from, in words that fit a comment behind it."""

    value: T
    origin: str


@dataclass(frozen=True, kw_only=True)
class ScheduledChange:
    """One scheduled action of auto scaling; a bound that it leaves alone is None."""

    cron: str
    minimum: int | None
    maximum: int | None
    origin: str


@dataclass(frozen=True, kw_only=True)
class AutoScalingDraft:
    """Target tracking of one dimension of a table or an index; `target_fraction` is 0..1, None where only a schedule acts."""

    minimum: Taken[int]
    maximum: Taken[int]
    target_fraction: Taken[float] | None
    schedule: tuple[ScheduledChange, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ThroughputDraft:
    """What a table or an index has of its own, in units per second."""

    read_capacity: Taken[int] | None = None
    write_capacity: Taken[int] | None = None
    warm_read: Taken[int] | None = None
    warm_write: Taken[int] | None = None
    max_read: Taken[int] | None = None
    max_write: Taken[int] | None = None
    scaling_read: AutoScalingDraft | None = None
    scaling_write: AutoScalingDraft | None = None


@dataclass(frozen=True, kw_only=True)
class KeysDraft:
    """Attribute names of a key; more than one of a kind where an index has a multi-attribute key."""

    hash_attributes: tuple[str, ...]
    range_attributes: tuple[str, ...]
    origin: str


@dataclass(frozen=True, kw_only=True)
class IndexDraft:
    """A secondary index; a local one has no throughput of its own."""

    name: Taken[str]
    local: bool
    keys: KeysDraft
    projection: Taken[Projection]
    included_attributes: int = 0
    entry_bytes: Taken[int] | None = None
    present: Taken[float] | None = None
    throughput: ThroughputDraft = field(default_factory=ThroughputDraft)


@dataclass(frozen=True, kw_only=True)
class TableDraft:
    """One table as a file describes it.

    Attributes
    ----------
    form : what kind of file it was, with its article, for the header.
    place : where in the file the table stands, or "".
    attribute_types : S, N or B of the attributes whose type the file gives.
    warm_is_found : the file says how warm the table is, not how warm somebody asked for it to be.
    not_taken : names of the settings that the file has and nobody read.
    remarks : sentences about what was met, left out or decided; they go into the header.
    """

    form: str
    place: str
    name: Taken[str]
    keys: KeysDraft
    mode: Taken[Mode]
    attribute_types: Mapping[str, str] = field(default_factory=dict)
    throughput: ThroughputDraft = field(default_factory=ThroughputDraft)
    indexes: tuple[IndexDraft, ...] = ()
    streams: Taken[bool] | None = None
    replicas: Taken[int] | None = None
    table_class: Taken[TableClass] | None = None
    storage_bytes: Taken[int] | None = None
    item_bytes: Taken[int] | None = None
    item_count: Taken[int] | None = None
    warm_is_found: bool = False
    not_taken: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MeasuredField:
    """Popularity of a key attribute out of a file's column: rows of equal value count together."""

    path: str
    column: str
    origin: str


@dataclass(frozen=True, kw_only=True)
class LawField:
    """A field given by a law rather than by rows: the TOML of its inline table, made by the reader from checked numbers."""

    toml: str
    origin: str


@dataclass(frozen=True, kw_only=True)
class SeriesRate:
    """Counts per row of a file, for the writer to refer to by path."""

    path: str
    time_column: str
    value_column: str
    origin: str


@dataclass(frozen=True, kw_only=True)
class StepsRate:
    """Requests per second in steps that hold: pairs of second and rate, strictly increasing from second 0."""

    steps: tuple[tuple[int, float], ...]
    origin: str


@dataclass(frozen=True, kw_only=True)
class ConstantRate:
    """One number of requests per second."""

    per_s: float
    origin: str


Rate = SeriesRate | StepsRate | ConstantRate


@dataclass(frozen=True, kw_only=True)
class PatternDraft:
    """One access pattern; `extra` are further keys of the format with whole numbers or text as values."""

    name: str
    operation: Taken[Operation]
    rate: Rate
    item_bytes: Taken[int] | None = None
    pk_field: str | None = None
    extra: Mapping[str, Taken[int] | Taken[str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TrafficDraft:
    """What a trace or a workload file says about traffic.

    Attributes
    ----------
    fields : by key attribute; an attribute that is missing here keeps its guess.
    extra_fields : further fields that patterns name in `pk_field`.
    duration_s, start : of the run, None where the file knows no time.
    """

    form: str
    patterns: tuple[PatternDraft, ...]
    fields: Mapping[str, MeasuredField | LawField] = field(default_factory=dict)
    extra_fields: Mapping[str, LawField] = field(default_factory=dict)
    duration_s: Taken[int] | None = None
    start: Taken[str] | None = None
    remarks: tuple[str, ...] = ()


def shown(value: object) -> str:
    """An offending value, short enough for one line of a message."""
    if isinstance(value, dict):
        return f"a mapping of {len(value)}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, set | frozenset):
        return f"a set of {len(value)}"
    if isinstance(value, bytes):
        return f"binary data of {len(value)} bytes"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int) and value.bit_length() > 1000:  # Python refuses to write out very long whole numbers
        return "a number of hundreds of digits"
    text = value if isinstance(value, str) else str(value)
    cut = text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
    return repr(cut) if isinstance(value, str) else cut


def refusal(source: str, message: str, *, path: str = "", value: object = None, hint: str = "") -> ImportFileError:
    """The one exception of this package with one problem; a `value` of None is not shown."""
    given = "" if value is None else shown(value)
    return ImportFileError([Problem(source=source, path=path, value=given, message=message, hint=hint)])


def refuse(source: str, message: str, *, path: str = "", value: object = None, hint: str = "") -> NoReturn:
    """Raise a `refusal`."""
    raise refusal(source, message, path=path, value=value, hint=hint)
