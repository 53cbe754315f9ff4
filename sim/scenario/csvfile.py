"""The CSV files that a scenario points to: measured popularity and measured rates. Read once, then remembered."""

from __future__ import annotations

import csv
import math
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from sim.errors import Problem, ScenarioError
from sim.scenario.base import listed, nearest, shown
from sim.scenario.fields import CsvField
from sim.scenario.leaves import RATE_MAX_PER_S
from sim.scenario.rates import CsvRate

CSV_BYTES_MAX = 1024**3


class CsvProblem(ValueError):
    """What is wrong with a CSV file, as a sentence; ``key`` is the key of the field or rate that it belongs to."""

    def __init__(self, key: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.key = key
        self.message = message
        self.hint = hint


def read_weights(field: CsvField) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Values of a CSV field and their weights, in the order of first appearance.

    Rows of equal value are summed; without a `weight` column each row counts 1.

    Raises
    ------
    ScenarioError
        The file cannot be read, has no such column, or a weight that is no number from 0.
    """
    try:
        return check_weights(field)
    except CsvProblem as problem:
        raise _as_error(field.path, problem) from None


def read_series(rate: CsvRate) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Times and values of a CSV rate, one of each per row, just as the file has them.

    Times are seconds from second 0 of the run: numbers are taken as they are, ISO timestamps count from the first row.
    Values are requests per second, or with ``per = "row"`` requests between this row and the next.

    Raises
    ------
    ScenarioError
        The file cannot be read, has no such column, no row, times that do not increase, or a value that is no number
        from 0.
    """
    try:
        return check_series(rate)
    except CsvProblem as problem:
        raise _as_error(rate.path, problem) from None


def check_weights(field: CsvField) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """`read_weights` that raises `CsvProblem`."""
    path = field.file(field.path)
    return _weights(str(path), _stamp(path), field.value, field.weight)


def check_series(rate: CsvRate) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """`read_series` that raises `CsvProblem`."""
    path = rate.file(rate.path)
    times, values = _series(str(path), _stamp(path), rate.time, rate.value)
    if rate.per == "row" and len(times) < 2:
        raise CsvProblem("per", "counts per row need at least two rows")
    if rate.per == "row":
        _check_densities(times, values)
    return times, values


def _check_densities(times: tuple[float, ...], values: tuple[float, ...]) -> None:
    """Refuse counts that no rate can be made of; the last row takes the width of the one before."""
    for index, count in enumerate(values):
        at = min(index, len(times) - 2)
        width_s = times[at + 1] - times[at]
        if count > RATE_MAX_PER_S * width_s:
            sentence = (
                f"row {index + 1} counts {count:g} requests in {width_s:g} s, more than {RATE_MAX_PER_S:g} per second"
            )
            raise CsvProblem("per", sentence, 'per = "second" if the values are rates')


def _as_error(path: str, problem: CsvProblem) -> ScenarioError:
    return ScenarioError([Problem(source=path, path=problem.key, message=problem.message, hint=problem.hint)])


def _stamp(path: Path) -> tuple[int, int]:
    """What tells a changed file from the one that was read."""
    try:
        if not path.exists():
            raise CsvProblem("path", "no such file", "paths count from the scenario file's folder")
        if not path.is_file():
            raise CsvProblem("path", "is no file")
        status = path.stat()
    except (OSError, ValueError) as error:
        if isinstance(error, CsvProblem):
            raise
        raise CsvProblem("path", f"cannot be read: {_reason(error)}") from None
    if status.st_size > CSV_BYTES_MAX:
        raise CsvProblem("path", "is larger than 1 GB")
    return (status.st_mtime_ns, status.st_size)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _columns(path: str, wanted: dict[str, str]) -> list[tuple[int, list[str]]]:
    """(line, cells of the wanted columns) of each row; ``wanted`` is key → column name."""
    rows: list[tuple[int, list[str]]] = []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            if not header:
                raise CsvProblem("path", "is empty; its first line must name the columns")
            for key, name in wanted.items():
                if name not in header:
                    sentence = f"no column {name!r}; the file has: {listed(header, 12)}"
                    raise CsvProblem(key, sentence, nearest(name, header))
            places = [header.index(name) for name in wanted.values()]
            for row in reader:
                if not row:
                    continue
                if len(row) <= max(places):
                    raise CsvProblem("path", f"line {reader.line_num} has too few columns")
                rows.append((reader.line_num, [row[place] for place in places]))
    except UnicodeDecodeError:
        raise CsvProblem("path", "is not UTF-8 text") from None
    except csv.Error as error:
        raise CsvProblem("path", f"is no CSV file: {error}") from None
    except OSError as error:
        raise CsvProblem("path", f"cannot be read: {_reason(error)}") from None
    if not rows:
        raise CsvProblem("path", "has no rows below its first line")
    return rows


def _amount(key: str, line: int, cell: str, maximum: float) -> float:
    try:
        amount = float(cell)
    except ValueError:
        amount = math.nan
    if not 0 <= amount <= maximum:
        raise CsvProblem(key, f"line {line}: {shown(cell)} is no number from 0 to {maximum:g}")
    return amount


@lru_cache(maxsize=64)
def _weights(
    path: str, stamp: tuple[int, int], value: str, weight: str | None
) -> tuple[tuple[str, ...], tuple[float, ...]]:
    wanted = {"value": value} if weight is None else {"value": value, "weight": weight}
    weights: dict[str, float] = {}
    for line, cells in _columns(path, wanted):
        amount = 1.0 if weight is None else _amount("weight", line, cells[1], 1e15)
        weights[cells[0]] = weights.get(cells[0], 0.0) + amount
    if sum(weights.values()) <= 0:
        raise CsvProblem("weight", "has no weight above 0")
    return tuple(weights), tuple(weights.values())


@lru_cache(maxsize=64)
def _series(path: str, stamp: tuple[int, int], time: str, value: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    rows = _columns(path, {"time": time, "value": value})
    is_number = _is_number(rows[0][1][0])
    first = None if is_number else _timestamp(rows[0][0], rows[0][1][0])
    times: list[float] = []
    for line, cells in rows:
        if first is None:
            seconds = _amount("time", line, cells[0], 1e12)
        else:
            seconds = (_timestamp(line, cells[0]) - first).total_seconds()
        if times and seconds <= times[-1]:
            raise CsvProblem("time", f"line {line}: times must increase from row to row")
        times.append(seconds)
    if is_number and times[0] > 1e8:
        sentence = "times count from second 0 of the run; these look like seconds since 1970"
        raise CsvProblem("time", sentence, "write ISO timestamps, or subtract the first")
    values = tuple(_amount("value", line, cells[1], RATE_MAX_PER_S) for line, cells in rows)
    return tuple(times), values


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _timestamp(line: int, cell: str) -> datetime:
    try:
        moment = datetime.fromisoformat(cell.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        sentence = f"line {line}: {shown(cell)} is neither a number of seconds nor an ISO timestamp"
        raise CsvProblem("time", sentence) from None
