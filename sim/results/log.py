"""The log of attempts: one row for each, streamed while a run goes, as the table saw it."""

from __future__ import annotations

import csv
import io
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeAlias

import numpy as np

from sim.keyspace.domain import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

Words: TypeAlias = np.ndarray[Any, np.dtype[np.object_]]

NO_PARTITION = -1
_TIME_DIGITS = 6  # microseconds


class Answer(StrEnum):
    """What the table did with an attempt. A partly served batch counts as served; what became of its request is not told here."""

    OK = "ok"
    PARTLY = "partly"
    THROTTLED = "throttled"
    FAILED = "failed"


ANSWERS = tuple(Answer)


class Rows(NamedTuple):
    """Columns of some attempts, all equally long; the fields are the columns of the log.

    Attributes
    ----------
    time_s : when the attempt was made.
    traffic : name of its access pattern.
    attempt : which try of its call, from 1; resending what a batch gave back is a new call.
    partition : number of the partition, `NO_PARTITION` where there is none, or where items lie in several.
    units : units that it asked for; a throttled attempt takes none of them.
    outcome : index in `ANSWERS`.
    reason : AWS's name of the last refusal or of the error, else "".
    """

    time_s: Floats
    traffic: Words
    attempt: Ints
    partition: Ints
    units: Floats
    outcome: Ints
    reason: Words


class AttemptLog:
    """Takes attempts stretch by stretch, and writes them in order of time.

    It is opened before a run, added to and flushed during it, and closed after it; from then on `frame` reads it back.

    Parameters
    ----------
    path : the CSV file to write; None keeps the text in memory, which only small runs should ask for.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._text = ""
        self._chunks: list[Rows] = []
        self._out: TextIO = io.StringIO() if path is None else path.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._out, lineterminator="\n")
        self._writer.writerow(Rows._fields)

    def __enter__(self) -> AttemptLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(self._out, io.StringIO):
            self._text = self._out.getvalue()
        self._out.close()

    def add(self, rows: Rows) -> None:
        """Take the attempts of one dimension of one resource, in any order; they wait for `flush`."""
        if len(rows.time_s):
            self._chunks.append(rows)

    def flush(self) -> None:
        """Write what was added since the last time, in order of time; no later attempt may come before it."""
        if not self._chunks:
            return
        times = np.concatenate([rows.time_s for rows in self._chunks])
        order = np.argsort(times, kind="stable")
        partitions = np.concatenate([rows.partition for rows in self._chunks]).astype(object)
        partitions[partitions == NO_PARTITION] = ""
        columns = (
            np.round(times, _TIME_DIGITS),
            np.concatenate([rows.traffic for rows in self._chunks]),
            np.concatenate([rows.attempt for rows in self._chunks]),
            partitions,
            np.concatenate([rows.units for rows in self._chunks]),
            np.array(ANSWERS, dtype=object)[np.concatenate([rows.outcome for rows in self._chunks])],
            np.concatenate([rows.reason for rows in self._chunks]),
        )
        self._writer.writerows(zip(*(column[order].tolist() for column in columns), strict=True))
        self._chunks.clear()

    def frame(self) -> pd.DataFrame:
        """The log as a table of pandas; reads the whole file."""
        import pandas as pd

        return pd.read_csv(
            io.StringIO(self._text) if self._path is None else self._path,
            dtype={"traffic": "str", "partition": "Int64", "units": "float64", "outcome": "str", "reason": "str"},
            keep_default_na=False,
            na_values={"partition": [""]},
            encoding="utf-8",
        )
