"""Traces and series in CSV: which keys are asked for how often, and how many requests come when."""

from __future__ import annotations

import csv
import math
import os
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from sim.importers.base import (
    ConstantRate,
    KeysDraft,
    LawField,
    MeasuredField,
    PatternDraft,
    Rate,
    SeriesRate,
    StepsRate,
    TableDraft,
    Taken,
    TrafficDraft,
    refuse,
)
from sim.importers.documents import decode, form_refusal, read_head
from sim.limits import ITEM_BYTES_MAX, READ_UNIT_BYTES, WRITE_UNIT_BYTES
from sim.names import READ_OPERATIONS, Mode, Operation
from sim.scenario.base import counted

HEAD_BYTES = 65_536  # of a file that is looked at to tell what it is
STEPS_MAX = 500  # of a rate; a longer trace gets wider steps
STEP_S = 60
SHORT_STEP_S = 10
SHORT_TRACE_S = 300  # up to here a trace gets short steps
SPAN_MAX_S = 3650 * 86_400  # ten years; more is a mistake of units
RELATIVE_MAX_S = 1e8  # numbers below are seconds since some start, not since 1970
PLACEHOLDER_RATE_PER_S = 100.0

_TIME_NAMES = ("timestamp", "time", "ts", "datetime", "eventtime", "epoch", "epochms", "date")
_OPERATION_NAMES = ("operation", "op", "eventname", "api", "action", "command", "method", "verb")
_BYTES_NAMES = ("bytes", "itembytes", "size", "sizebytes", "itemsize", "valuesize", "bytessent", "length")
_SERIES_NAMES = ("value", "count", "requests", "sum", "samplecount", "hits")
_KEY_NAMES = ("key", "keys", "pk", "id", "partitionkey", "hashkey", "requestid", "userid", "objectid")
_EVALUATOR_COLUMNS = {"base_table_name", "recommended_mode"}
_WORDS = {
    **{operation.lower(): operation for operation in Operation},
    "get": Operation.GET_ITEM,
    "read": Operation.GET_ITEM,
    "head": Operation.GET_ITEM,
    "put": Operation.PUT_ITEM,
    "post": Operation.PUT_ITEM,
    "write": Operation.PUT_ITEM,
    "set": Operation.PUT_ITEM,
    "insert": Operation.PUT_ITEM,
    "update": Operation.UPDATE_ITEM,
    "patch": Operation.UPDATE_ITEM,
    "delete": Operation.DELETE_ITEM,
    "remove": Operation.DELETE_ITEM,
}
_HEADER_CELL = re.compile(r"[\w .@/()%#-]{1,100}")
_TIME_HINT = "a time is ISO (2026-01-31T12:00:00Z) or a number of seconds or milliseconds"


def _bare(name: str) -> str:
    """A column or attribute name for comparison: ``Event_Time`` is ``eventtime``."""
    return re.sub(r"[\W_]", "", name).lower()


def looks_like_trace(head: str) -> bool:
    """Whether the beginning of a file is a CSV with a header."""
    lines = [line for line in head.splitlines() if line.strip()]
    if len(lines) < 2 or head.lstrip().startswith(("{", "[", "---")):
        return False
    try:
        header, first = list(csv.reader(lines[:2]))
    except (csv.Error, ValueError):
        return False
    if any(_is_separated(lines[0], lines[1], mark) for mark in ";\t"):
        return True  # and refused with its cure when its header is read
    if len(header) == len(first) > 1 and any(_as_time(cell) is not None for cell in header):
        return True  # rows without a header: refused likewise
    if not all(_HEADER_CELL.fullmatch(cell) for cell in header):
        return False
    if len(header) == 1:
        return _bare(header[0]) in _KEY_NAMES and len(first) == 1
    return len(header) == len(first) and len(set(header)) == len(header)


def _is_separated(header: str, first: str, mark: str) -> bool:
    """Whether two lines are columns with another mark between them than a comma."""
    cells = header.split(mark)
    return (
        len(cells) == len(first.split(mark)) > 1
        and "," not in header
        and all(_HEADER_CELL.fullmatch(cell.strip()) for cell in cells)
    )


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """Which column of a trace is what; places count from 0."""

    header: tuple[str, ...]
    time: int | None
    operation: int | None
    size: int | None
    keys: dict[str, int]
    by_position: tuple[str, ...]
    series: int | None
    rest: tuple[int, ...]


@dataclass(kw_only=True)
class _Tally:
    """What the rows of one operation come to."""

    word: str
    rows: int = 0
    times: array[float] = field(default_factory=lambda: array("d"))
    sized_rows: int = 0
    size_sum: float = 0.0
    unit_sum: int = 0


def _open_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row that is not blank, the header first."""
    source = path.name
    line = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            for row in reader:
                line = reader.line_num
                if any(cell.strip() for cell in row):
                    yield line, row
    except UnicodeDecodeError:
        refuse(source, "is not text in UTF-8", path=f"after line {line}")
    except csv.Error as error:
        refuse(source, f"is broken CSV: {error}", path=f"after line {line}")


def read_header(path: Path) -> tuple[str, ...]:
    """The column names of a trace, which its first line must give."""
    source = path.name
    _, head = read_head(path, HEAD_BYTES)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        refuse(source, "is UTF-16; a trace is read in place, and must be UTF-8")
    decode(head[: head.rfind(b"\n") + 1] or head, source=source)
    first = next(_open_rows(path), None)
    if first is None:
        refuse(source, "has no line that names columns", hint="the first line is such as timestamp,customer_id")
    _, cells = first
    header = tuple(cell.strip() for cell in cells)
    if set(header) >= _EVALUATOR_COLUMNS:
        raise form_refusal(source, "a report of the capacity mode evaluator")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        refuse(
            source,
            "separates its columns by something else than commas",
            path="line 1",
            value=header[0],
            hint="save it with commas",
        )
    repeated = [name for name, times in Counter(header).items() if times > 1]
    if repeated:
        refuse(source, "two columns have the same name", path="line 1", value=repeated[0])
    if any(not name.strip() or _as_number(name) is not None or _as_time(name) is not None for name in header):
        refuse(
            source,
            "the first line must name the columns",
            path="line 1",
            value=",".join(header),
            hint="such as timestamp,customer_id",
        )
    return header


def _find(header: Sequence[str], names: Sequence[str], taken: set[int]) -> int | None:
    bare = [_bare(name) for name in header]
    return next((bare.index(name) for name in names if name in bare and bare.index(name) not in taken), None)


def _assign(header: tuple[str, ...], table: TableDraft | None) -> _Columns:
    """Decide what each column is: attributes of the table by name first, then the columns that have names of their own."""
    bare = [_bare(name) for name in header]
    taken: set[int] = set()
    time = _find(header, _TIME_NAMES, taken)
    taken |= {time} if time is not None else set()
    keys: dict[str, int] = {}
    attributes = list(key_attributes(table)) if table is not None else []
    for attribute in attributes:
        place = bare.index(_bare(attribute)) if _bare(attribute) in bare else None
        if place is not None and place not in taken:
            keys[attribute] = place
    taken |= set(keys.values())
    operation = _find(header, _OPERATION_NAMES, taken)
    taken |= {operation} if operation is not None else set()
    size = _find(header, _BYTES_NAMES, taken)
    taken |= {size} if size is not None else set()
    rest = [place for place in range(len(header)) if place not in taken]
    series = None
    if time is not None and not keys and len(rest) == 1 and bare[rest[0]] in _SERIES_NAMES:
        series = rest.pop()
    by_position: list[str] = []
    if table is None:
        # Without a table the first columns are the key: one, or two where there are no others.
        for place in rest if len(rest) == 2 else rest[:1]:
            keys[header[place]] = place
    else:
        for attribute in (*table.keys.hash_attributes, *table.keys.range_attributes):
            is_time = time is not None and _bare(attribute) == bare[time]
            if attribute not in keys and rest and not is_time:
                keys[attribute] = rest.pop(0)
                by_position.append(attribute)
    return _Columns(
        header=header,
        time=time,
        operation=operation,
        size=size,
        keys=keys,
        by_position=tuple(by_position),
        series=series,
        rest=tuple(place for place in rest if place not in keys.values()),
    )


def key_attributes(table: TableDraft) -> dict[str, str]:
    """Every key attribute of a table and its indexes, each once, with what it is the key of."""
    attributes: dict[str, str] = {}
    for attribute in table.keys.hash_attributes:
        attributes.setdefault(attribute, "partition key")
    for attribute in table.keys.range_attributes:
        attributes.setdefault(attribute, "sort key")
    for index in table.indexes:
        if not index.local:
            for attribute in index.keys.hash_attributes:
                attributes.setdefault(attribute, f"partition key of {index.name.value}")
        for attribute in index.keys.range_attributes:
            attributes.setdefault(attribute, f"sort key of {index.name.value}")
    return attributes


def trace_table(path: Path) -> TableDraft:
    """The table that a trace alone lets one guess: its key column, on demand."""
    columns = _assign(read_header(path), None)
    names = list(columns.keys)
    remarks = ["A trace says nothing about the table: its mode, capacity and indexes are guesses."]
    if columns.rest:
        others = ", ".join(columns.header[place] for place in columns.rest)
        remarks.append(
            f"Columns not taken: {others}. To say which columns are keys, import the table's template with --traffic {path.name}."
        )
    origin = f"column {names[0]}" if names else "guess: the file names no key"
    return TableDraft(
        form="a series of counts" if columns.series is not None else "a trace",
        place="",
        name=Taken(value=path.stem, origin="the file's name"),
        keys=KeysDraft(hash_attributes=tuple(names[:1]) or ("id",), range_attributes=tuple(names[1:2]), origin=origin),
        mode=Taken(value=Mode.ON_DEMAND, origin="guess"),
        remarks=tuple(remarks),
    )


def _as_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _as_time(text: str) -> float | None:
    """Seconds since 1970 of an ISO time; without an offset it is UTC."""
    if not text[:1].isdigit() or "-" not in text:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _unit(first: float) -> float:
    """What one second is in the unit of a column of numbers, told by the size of the first."""
    for limit, per_second in ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6)):
        if abs(first) < limit:
            return per_second
    return 1e9


class _Clock:
    """Reads the times of one column, which are of one kind."""

    def __init__(self, source: str, name: str) -> None:
        self._source = source
        self._name = name
        self._numbers: bool | None = None
        self.per_second = 1.0

    @property
    def is_iso(self) -> bool:
        """Whether the column holds dates and times rather than numbers."""
        return self._numbers is False

    def read(self, text: str, line: int) -> float:
        if self._numbers is None:
            number = _as_number(text)
            self._numbers = number is not None
            self.per_second = _unit(number) if number is not None else 1.0
        seconds = _as_number(text) if self._numbers else _as_time(text)
        if seconds is None:
            refuse(self._source, f"column {self._name} holds no time", path=f"line {line}", value=text, hint=_TIME_HINT)
        return seconds / self.per_second


def _operation(word: str, words: dict[str, Operation], *, source: str, line: int, column: str) -> Operation:
    found = words.get(word)
    if found is None:
        found = _WORDS.get(word.strip().lower())
        if found is None:
            refuse(
                source,
                f"column {column} holds no operation",
                path=f"line {line}",
                value=word,
                hint=f"one of {', '.join(Operation)}, or read, write, update, delete",
            )
        words[word] = found
    return found


def read_trace(path: Path, *, table: TableDraft | None, output_dir: Path) -> TrafficDraft:
    """Popularity and rate out of a CSV.

    Parameters
    ----------
    table : whose key attributes the columns are matched with; None takes the columns as `trace_table` does.
    output_dir : folder of the scenario, which refers to the trace by a path from there.
    """
    header = read_header(path)
    columns = _assign(header, table)
    if columns.series is not None:
        return _read_series(path, columns, output_dir)
    return _read_requests(path, columns, table, output_dir)


def relative_path(path: Path, output_dir: Path) -> str:
    """The path of a file as a scenario in `output_dir` writes it."""
    try:
        return Path(os.path.relpath(path, output_dir)).as_posix()
    except ValueError:  # another drive
        return path.resolve().as_posix()


def _needed_columns(columns: _Columns) -> int:
    places = [columns.time, columns.operation, columns.series, *columns.keys.values()]
    return 1 + max((place for place in places if place is not None), default=0)


def _rows(path: Path, columns: _Columns) -> Iterator[tuple[int, list[str]]]:
    """The rows behind the header, each with every column that is read from it."""
    needed = _needed_columns(columns)
    rows = _open_rows(path)
    next(rows)
    for line, row in rows:
        if len(row) < needed:
            refuse(path.name, f"has {len(row)} columns where the header has {len(columns.header)}", path=f"line {line}")
        yield line, row


def _read_requests(path: Path, columns: _Columns, table: TableDraft | None, output_dir: Path) -> TrafficDraft:
    source = path.name
    clock = _Clock(source, columns.header[columns.time]) if columns.time is not None else None
    words: dict[str, Operation] = {}
    tallies: dict[Operation | None, _Tally] = {}
    values: dict[str, Counter[str]] = {attribute: Counter() for attribute in columns.keys}
    rows = 0
    for line, row in _rows(path, columns):
        rows += 1
        operation = None
        if columns.operation is not None:
            name = columns.header[columns.operation]
            operation = _operation(row[columns.operation], words, source=source, line=line, column=name)
        tally = tallies.get(operation)
        if tally is None:
            tally = tallies[operation] = _Tally(word=row[columns.operation] if columns.operation is not None else "")
        tally.rows += 1
        if clock is not None and columns.time is not None:
            tally.times.append(clock.read(row[columns.time], line))
        for attribute, place in columns.keys.items():
            if not row[place].strip():
                refuse(
                    source,
                    f"column {columns.header[place]} is empty",
                    path=f"line {line}",
                    hint="a key is never empty; drop the row",
                )
            values[attribute][row[place]] += 1
        if columns.size is not None and columns.size < len(row):
            size = _as_number(row[columns.size])
            if size is not None and 0 < size <= ITEM_BYTES_MAX:
                tally.sized_rows += 1
                tally.size_sum += size
                tally.unit_sum += math.ceil(
                    size / (READ_UNIT_BYTES if operation in READ_OPERATIONS else WRITE_UNIT_BYTES)
                )
    if not rows:
        refuse(source, "has a header and no rows")
    remarks: list[str] = []
    tallies = dict(sorted(tallies.items(), key=lambda item: -item[1].rows))
    start, duration_s, rates = _rates(tallies, columns, rows, source=source, remarks=remarks)
    fields: dict[str, MeasuredField | LawField] = {
        attribute: MeasuredField(
            path=relative_path(path, output_dir),
            column=columns.header[place],
            origin=_popularity(values[attribute], columns.header[place], rows, attribute in columns.by_position),
        )
        for attribute, place in columns.keys.items()
    }
    if table is not None and columns.time is not None:
        for attribute in key_attributes(table):
            if _bare(attribute) == _bare(columns.header[columns.time]) and attribute not in fields:
                fields[attribute] = LawField(
                    toml='{ kind = "sequence" }', origin=f"{attribute} is the trace's column of times: ever increasing"
                )
    if len(fields) > 1:
        remarks.append(
            "Key fields of a scenario are independent: which values occurred together in the trace is not kept."
        )
    if len(tallies) > 1 and columns.keys:
        remarks.append("The popularity of keys is that of all operations of the trace together.")
    if columns.by_position and table is not None:
        remarks.append(
            f"Columns taken by position, since no column has the attribute's name: {', '.join(columns.by_position)}."
        )
    return TrafficDraft(
        form="a trace",
        patterns=tuple(
            _pattern(operation, tally, rate, columns)
            for (operation, tally), rate in zip(tallies.items(), rates, strict=True)
        ),
        fields=fields,
        duration_s=duration_s,
        start=start,
        remarks=tuple(remarks),
    )


def _popularity(values: Counter[str], column: str, rows: int, by_position: bool) -> str:
    (top, times) = values.most_common(1)[0]
    how = ", by position" if by_position else ""
    return f"column {column}{how}: {counted(len(values), 'value')} in {counted(rows, 'row')}; {top[:40]} has {times / rows:.1%}"


def _pattern(operation: Operation | None, tally: _Tally, rate: Rate, columns: _Columns) -> PatternDraft:
    if operation is None:
        chosen = Taken(value=Operation.GET_ITEM, origin="guess: the trace does not say; PutItem if these were writes")
    else:
        assert columns.operation is not None
        chosen = Taken(
            value=operation,
            origin=f'column {columns.header[columns.operation]}, "{tally.word[:40]}": {tally.rows:,} rows',
        )
    size = None
    if tally.sized_rows and columns.size is not None:
        mean = max(1, round(tally.size_sum / tally.sized_rows))
        unit = READ_UNIT_BYTES if operation in READ_OPERATIONS else WRITE_UNIT_BYTES
        origin = (
            f"column {columns.header[columns.size]}: mean of {tally.sized_rows:,} rows, {math.ceil(mean / unit)} units; the rows' own "
            f"units have a mean of {tally.unit_sum / tally.sized_rows:.3g}"
        )
        size = Taken(value=mean, origin=origin)
    return PatternDraft(
        name=chosen.value.value if operation else "requests", operation=chosen, rate=rate, item_bytes=size
    )


def _rates(
    tallies: dict[Operation | None, _Tally], columns: _Columns, rows: int, *, source: str, remarks: list[str]
) -> tuple[Taken[str] | None, Taken[int] | None, list[Rate]]:
    """Start, duration and the rate of each tally."""
    first = min((min(tally.times) for tally in tallies.values() if tally.times), default=0.0)
    last = max((max(tally.times) for tally in tallies.values() if tally.times), default=0.0)
    if columns.time is None or last == first:
        why = (
            "the trace has no times"
            if columns.time is None
            else f"column {columns.header[columns.time]} holds one time only"
        )
        remarks.append(f"TO FILL IN: the rate, since {why}; {PLACEHOLDER_RATE_PER_S:g}/s is a placeholder.")
        return (
            None,
            None,
            [
                ConstantRate(
                    per_s=float(f"{PLACEHOLDER_RATE_PER_S * tally.rows / rows:.6g}"),
                    origin=f"TO FILL IN, a placeholder: {why}",
                )
                for tally in tallies.values()
            ],
        )
    begin = math.floor(first)
    duration_s = math.floor(last - begin) + 1
    if duration_s > SPAN_MAX_S:
        refuse(source, "the times span more than ten years", path=columns.header[columns.time], hint=_TIME_HINT)
    width = SHORT_STEP_S if duration_s <= SHORT_TRACE_S else STEP_S
    width *= math.ceil(duration_s / (width * STEPS_MAX))
    column = columns.header[columns.time]
    rates: list[Rate] = []
    for tally in tallies.values():
        counts = Counter(int((moment - begin) // width) for moment in tally.times)
        rates.append(
            StepsRate(
                steps=_steps(counts, duration_s, width),
                origin=f"column {column}, counted per {width} s: {tally.rows:,} requests",
            )
        )
    duration = Taken(value=duration_s, origin=f"column {column}: from its first to its last time")
    return _start(begin, column), duration, rates


def _steps(counts: Mapping[int, float], duration_s: int, width: int) -> tuple[tuple[int, float], ...]:
    """Counts per step as rates; a step like the one before it is left out, and the last one may be shorter."""
    steps: list[tuple[int, float]] = []
    for place in range(math.ceil(duration_s / width)):
        length = min(width, duration_s - place * width)
        rate = float(f"{counts.get(place, 0) / length:.6g}")
        if not steps or steps[-1][1] != rate:
            steps.append((place * width, rate))
    return tuple(steps)


def _start(begin: int, column: str) -> Taken[str] | None:
    """The first time as an ISO time, None where times count from a start of their own."""
    if begin < RELATIVE_MAX_S or begin > SPAN_MAX_S * 20:
        return None
    moment = datetime.fromtimestamp(begin, tz=UTC)
    return Taken(value=moment.strftime("%Y-%m-%dT%H:%M:%SZ"), origin=f"column {column}: its first time")


def _read_series(path: Path, columns: _Columns, output_dir: Path) -> TrafficDraft:
    source = path.name
    assert columns.time is not None
    assert columns.series is not None
    time_name, value_name = columns.header[columns.time], columns.header[columns.series]
    clock = _Clock(source, time_name)
    times = array("d")
    counts = array("d")
    for line, row in _rows(path, columns):
        moment = clock.read(row[columns.time], line)
        value = _as_number(row[columns.series])
        if value is None or value < 0:
            refuse(source, f"column {value_name} must hold counts", path=f"line {line}", value=row[columns.series])
        if times and moment <= times[-1]:
            refuse(
                source,
                f"column {time_name} must increase from row to row",
                path=f"line {line}",
                value=row[columns.time],
                hint="sort the rows by time",
            )
        times.append(moment)
        counts.append(value)
    if len(times) < 2:
        refuse(source, "a series has at least two rows")
    row_s = (times[-1] - times[0]) / (len(times) - 1)
    duration_s = math.ceil(times[-1] - times[0] + row_s)
    if duration_s > SPAN_MAX_S:
        refuse(source, "the times span more than ten years", path=time_name, hint=_TIME_HINT)
    origin = f"{len(times):,} rows, {sum(counts):,.0f} requests, mean {sum(counts) / duration_s:.3g}/s"
    rate: Rate
    if clock.is_iso or (times[0] == 0 and clock.per_second == 1):
        rate = SeriesRate(
            path=relative_path(path, output_dir), time_column=time_name, value_column=value_name, origin=origin
        )
    else:  # a scenario refers to times in ISO or from second 0 only
        width = max(math.ceil(row_s), math.ceil(duration_s / STEPS_MAX))
        per_step: defaultdict[int, float] = defaultdict(float)
        for moment, count in zip(times, counts, strict=True):
            per_step[int((moment - times[0]) // width)] += count
        rate = StepsRate(
            steps=_steps(per_step, duration_s, width), origin=f"column {value_name}, summed per {width} s: {origin}"
        )
    return TrafficDraft(
        form="a series of counts",
        patterns=(
            PatternDraft(
                name="requests",
                operation=Taken(
                    value=Operation.GET_ITEM, origin="guess: the series does not say; PutItem if these were writes"
                ),
                rate=rate,
            ),
        ),
        duration_s=Taken(value=duration_s, origin=f"column {time_name}: its span and one row more"),
        start=_start(math.floor(times[0]), time_name),
        remarks=("A series of counts says nothing about keys: their popularity is a guess.",),
    )
