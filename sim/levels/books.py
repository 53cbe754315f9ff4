"""What the request level writes down: single attempts gathered in lists while they run, added up as arrays at the end of a stretch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sim.keyspace.domain import Floats, Ints
from sim.levels.demand import Joint
from sim.levels.laid import Laid
from sim.levels.moving import Entry
from sim.levels.streams import Stream
from sim.names import Dimension, ErrorName, Limit, reason, throttling_error
from sim.partitions.resource import Resource
from sim.results.log import ANSWERS, NO_PARTITION, Answer, AttemptLog, Rows, Words
from sim.results.recorder import Recorder

# A try of one item is six numbers in a row of `Books.tries`: time, leg, partition, outcome, seconds since the first attempt, and number
# of the attempt.
TRY_WIDTH = 6
PASSED = (
    -1
)  # let through; what becomes of the request is noted elsewhere (a refusal is the number of its limit, from 0)
SERVED = -2  # let through, and with that its request is served, after so many seconds
ELSEWHERE = 1000  # this and above: not refused here but by another resource, by which of `Books.elsewhere`
NO_TIME = -1.0

_OK, _PARTLY, _THROTTLED, _FAILED = (
    ANSWERS.index(answer) for answer in (Answer.OK, Answer.PARTLY, Answer.THROTTLED, Answer.FAILED)
)


class Books:
    """Books of one dimension of a resource, opened and closed once a stretch."""

    def __init__(
        self,
        resource: Resource,
        dimension: Dimension,
        recorder: Recorder,
        streams: Sequence[Stream],
        entries: Sequence[tuple[Entry, Stream]],
        indexes: Sequence[str],
        log: AttemptLog | None = None,
    ) -> None:
        """Open the books.

        Parameters
        ----------
        streams : those whose items come here; ``entries``: the index entries that come here, with the streams that write them.
        indexes : the resources that may refuse what is let through here.
        """
        self._log = log
        self._resource = resource
        self._dimension = dimension
        self._recorder = recorder
        self._record = recorder.resources[resource.name].lanes[dimension]
        self._streams = list(streams)
        self._flows = [flow for stream in streams for flow in stream.pattern.flows]
        self._laid: list[Laid] = [*self._flows, *(entry for entry, _ in entries)]
        self._new_bytes = [*(flow.leg.new_bytes for flow in self._flows), *(entry.new_bytes for entry, _ in entries)]
        self._writers = [stream for _, stream in entries]
        self._stream_of_leg = np.array(
            [k for k, stream in enumerate(streams) for _ in stream.pattern.flows], dtype=np.int64
        )
        self._index = {id(stream): k for k, stream in enumerate(streams)}
        self._units = np.array([laid.units for laid in self._laid])
        self._limits = list(Limit)
        self.number_of = {limit: number for number, limit in enumerate(Limit)}
        self._single = np.array([not stream.sends_many for stream in streams for _ in stream.pattern.flows])
        self._names = np.array([stream.pattern.demand.traffic.name for stream in streams], dtype=object)
        # The last one, at index PASSED, is that of no refusal.
        self._reasons = np.array([*(reason(resource.name, dimension, limit) for limit in Limit), ""], dtype=object)
        elsewhere = [(name, limit) for name in indexes for limit in Limit]
        self.elsewhere = {pair: ELSEWHERE + k for k, pair in enumerate(elsewhere)}
        self._reasons_elsewhere = np.array(
            [*(reason(name, dimension, limit) for name, limit in elsewhere), ""], dtype=object
        )

    def open(self, first: int, edges_s: Floats) -> None:
        """Begin a stretch of ticks."""
        self._first = first
        self._edges_s = edges_s
        self.tries: list[float] = []
        self._back: tuple[list[float], list[int], list[int]] = ([], [], [])
        self._asked: tuple[list[float], list[int]] = ([], [])
        self._attempts: tuple[list[float], list[int]] = ([], [])
        self._unseen: list[tuple[float, Stream, int, str]] = []
        self._tried_together: list[int] = []  # tries of each of these attempts
        self._throttled: tuple[list[float], list[int]] = ([], [])
        self._succeeded: tuple[list[float], list[int]] = ([], [])
        self._waited: dict[int, list[float]] = {}
        self._unmet: tuple[list[float], list[int]] = ([], [])
        self._answers: list[float] = []  # of attempts that were served: when, whose, after how many seconds
        self._first_items: tuple[Floats, Ints, Ints] = (
            np.empty(0),
            np.empty(0, dtype=np.int64),
            np.empty(0, dtype=np.int64),
        )
        self._first_refusals = self._first_gone = self._first_items
        self._first_entries: list[tuple[Floats, Ints, Ints, Ints]] = []
        self._first_refused_by: Ints = np.empty(0, dtype=np.int64)
        self._first_outcomes: Ints = self._first_refused_by

    # Single entries.

    def attempted(self, now_s: float, leg: int, column: int, limit: Limit | None, attempt: int) -> None:
        """An item was tried, and let through or refused by a limit."""
        self.tries += (now_s, leg, column, PASSED if limit is None else self.number_of[limit], NO_TIME, attempt)

    def refused_elsewhere(
        self, now_s: float, leg: int, column: int, by: tuple[str, Limit] | None, attempt: int
    ) -> None:
        """An item was let through here and refused by another resource: asked, not served, no throttle event of this one."""
        code = ELSEWHERE if by is None else self.elsewhere[by]
        self.tries += (now_s, leg, column, code, NO_TIME, attempt)

    def given_back(self, now_s: float, leg: int, column: int) -> None:
        """An item of a cancelled transaction was let through and taken back: asked, not served, not refused."""
        times, legs, columns = self._back
        times.append(now_s)
        legs.append(leg)
        columns.append(column)

    def asked(self, now_s: float, stream: Stream) -> None:
        """The application asked for something."""
        self._note(self._asked, now_s, stream)

    def attempt_of_many(self, now_s: float, stream: Stream, items: int, *, throttled: bool) -> None:
        """An attempt of a batch or a transaction was made, that of the last so many tries; of single items, `attempted` says all."""
        self._note(self._attempts, now_s, stream)
        self._tried_together.append(items)
        if throttled:
            self._note(self._throttled, now_s, stream)

    def turned_away(self, now_s: float, stream: Stream, error: ErrorName) -> None:
        """An attempt was made that the service rejects before it takes anything."""
        self._note(self._attempts, now_s, stream)
        self._unseen.append((now_s, stream, _FAILED, str(error)))

    def replayed(self, now_s: float, stream: Stream, *, throttled: bool) -> None:
        """A transaction that had been applied was sent again; what that costs stands in the books of the reads."""
        self._note(self._attempts, now_s, stream)
        if throttled:
            self._note(self._throttled, now_s, stream)
        self._unseen.append((now_s, stream, _THROTTLED if throttled else _OK, ""))

    def succeeded(self, now_s: float, stream: Stream) -> None:
        """A request was served."""
        self._note(self._succeeded, now_s, stream)

    def _note(self, rows: tuple[list[float], list[int]], now_s: float, stream: Stream) -> None:
        rows[0].append(now_s)
        rows[1].append(self._index[id(stream)])

    def unmet(self, now_s: float, stream: Stream) -> None:
        """A request was served, and its condition was false."""
        self._note(self._unmet, now_s, stream)

    def answered(self, now_s: float, stream: Stream, latency_s: float) -> None:
        """An attempt was served and has its answer, so long after it was made."""
        self._answers += (now_s, self._index[id(stream)], latency_s)

    def failed(self, stream: Stream, error: ErrorName) -> None:
        """A request was given up."""
        stream.given_up[error] = stream.given_up.get(error, 0) + 1

    def took(self, stream: Stream, seconds: float) -> None:
        """A request had its final answer so long after its first attempt."""
        stream.took.append(seconds)

    def waited(self, stream: Stream, seconds: float) -> None:
        """An attempt waited in its client's limiter."""
        self._waited.setdefault(self._index[id(stream)], []).append(seconds)

    def invalid(self, stream: Stream, times_s: Floats) -> None:
        """Requests that the service rejects unseen."""
        by_tick = self._by_tick(times_s)
        stream.record.add(self._first, offered=by_tick, attempts=by_tick)
        stream.record.fail(ErrorName.VALIDATION, float(len(times_s)))
        if self._log is not None:
            count = len(times_s)
            ones = np.ones(count, dtype=np.int64)
            names = np.full(count, stream.pattern.demand.traffic.name, dtype=object)
            errors = np.full(count, str(ErrorName.VALIDATION), dtype=object)
            self._log.add(Rows(times_s, names, ones, NO_PARTITION * ones, np.zeros(count), _FAILED * ones, errors))

    # Many at once.

    def first_attempts(
        self,
        times: Floats,
        legs: Ints,
        columns: Ints,
        latencies: Floats,
        elsewhere: list[int],
        refused: list[int],
        outcomes: list[int],
    ) -> None:
        """First attempts that went straight at the table: all but those at the indexes ``elsewhere``.

        Those at the indexes ``refused`` were refused, with these outcomes: by a limit here, or by another resource.
        """
        here = np.ones(len(times), dtype=bool)
        here[elsewhere] = False
        refused_at = np.array(refused, dtype=np.int64)
        self._first_items = (times[here], legs[here], columns[here])
        codes = np.array(outcomes, dtype=np.int64)
        own = codes < ELSEWHERE
        self._first_refused_by = codes[own]
        self._first_refusals = (times[refused_at[own]], legs[refused_at[own]], columns[refused_at[own]])
        self._first_gone = (times[refused_at[~own]], legs[refused_at[~own]], columns[refused_at[~own]])
        if self._log is not None:
            all_outcomes = np.full(len(times), PASSED)
            all_outcomes[refused_at] = codes
            self._first_outcomes = all_outcomes[here]
        served = here.copy()
        served[refused_at] = False
        end_s = self._recorder.grid.duration_s
        answers = times + latencies
        owner = self._stream_of_leg[legs]
        error_of = {
            code: throttling_error(self._resource.mode, limit)
            for pairs in (self.number_of.items(), ((limit, code) for (_, limit), code in self.elsewhere.items()))
            for limit, code in pairs
        }
        for k, stream in enumerate(self._streams):
            mine = owner == k
            asked = self._by_tick(times[here & mine])
            refused_mine = refused_at[mine[refused_at]]
            throttled = self._by_tick(times[refused_mine])
            good = served & mine & (answers <= end_s)
            unmet = np.zeros(len(times), dtype=bool)
            fails = stream.pattern.demand.condition_fails
            if fails:
                unmet[mine] = stream.conditions.random(int(mine.sum())) < fails
                stream.record.fail(stream.failed_condition, float((good & unmet).sum()))
            stream.record.add(
                self._first,
                offered=asked,
                attempts=asked,
                throttled=throttled,
                succeeded=self._by_tick(times[good & ~unmet]),
                unmet=self._by_tick(times[good & unmet]),
            )
            met = good & ~unmet
            stream.record.answered.add(self._minute_of(answers[met]), latencies[met])
            assert stream.record.latency is not None, "this level knows latencies"
            stream.record.latency.add(latencies[good])
            late = served & mine & ~good
            stream.unanswered += int(late.sum())
            if stream.record.latency.count and good.any():
                stream.last_answer_s = max(stream.last_answer_s, float(answers[good].max()))
            if stream.policy.max_attempts == 1:
                done = refused_mine[answers[refused_mine] <= end_s]
                stream.unanswered += len(refused_mine) - len(done)
                stream.record.latency.add(latencies[done])
                told = [error_of[code] for code in codes.tolist()]
                for error in sorted(set(told)):
                    chosen = [
                        i
                        for i, name in zip(refused, told, strict=True)
                        if name is error and owner[i] == k and answers[i] <= end_s
                    ]
                    stream.record.fail(error, float(len(chosen)))

    def first_entries(self, times: Floats, entry: int, columns: Ints, outcomes: Ints) -> None:
        """One index entry each of some first attempts, with its outcome; ``entry``: its number here."""
        self._first_entries.append((times, np.full(len(times), entry, dtype=np.int64), columns, outcomes))

    def _minute_of(self, times_s: Floats) -> Ints:
        grid = self._recorder.grid
        ticks = np.minimum((times_s / grid.tick_s).astype(np.int64), grid.ticks - 1)
        return grid.minute_of(ticks)

    def _by_tick(self, times_s: Floats) -> Floats:
        ticks = len(self._edges_s) - 1
        place = np.clip(np.searchsorted(self._edges_s, times_s, side="right") - 1, 0, ticks - 1)
        return np.bincount(place, minlength=ticks).astype(float)

    def close(self, column_of: Mapping[int, int]) -> None:
        """End the stretch: hand everything to the recorder, and let the control plane see it."""
        ticks, columns = len(self._edges_s) - 1, len(column_of)
        numbers = self._resource.partitions.numbers
        tries = np.array(self.tries).reshape(-1, TRY_WIDTH)
        outcome = tries[:, 3].astype(np.int64)
        later = (tries[:, 0], tries[:, 1].astype(np.int64), tries[:, 2].astype(np.int64))
        if self._first_entries:
            assert not self._streams, "a lane that entries come to has no attempts of its own"
            first = [np.concatenate(column) for column in zip(*self._first_entries, strict=True)]
            later = self._joined((first[0], first[1], first[2]), later)
            outcome = np.concatenate((first[3], outcome))
        if self._log is not None and self._unseen:
            self._log.add(self._rows_of_unseen())
        if self._log is not None and self._streams:
            self._write_log(self._log, tries, later, np.where(outcome == SERVED, PASSED, outcome), numbers)
        refused = (outcome >= 0) & (outcome < ELSEWHERE)
        lost_later = (later[0][outcome >= 0], later[1][outcome >= 0], later[2][outcome >= 0])
        served = outcome == SERVED  # only where attempts are made, so that `tries` is as long
        served_later = (later[0][served], later[1][served], tries[served, 4] if served.any() else np.empty(0))
        asked = self._cells(*self._joined(self._first_items, later), ticks, columns)
        refused_later = (later[0][refused], later[1][refused], later[2][refused])
        refusals = self._joined(self._first_refusals, refused_later)
        gone = outcome >= ELSEWHERE
        gone_later = (later[0][gone], later[1][gone], later[2][gone])
        elsewhere = self._cells(*self._joined(self._first_gone, gone_later), ticks, columns)
        limits = np.concatenate((self._first_refused_by, outcome[refused]))
        offered = np.tensordot(self._units, asked, axes=1)
        lost = np.zeros((ticks, columns))
        events = np.zeros((len(self._laid), ticks, columns))
        for index, limit in enumerate(self._limits):
            chosen = limits == index
            if not chosen.any():
                continue
            cells = self._cells(refusals[0][chosen], refusals[1][chosen], refusals[2][chosen], ticks, columns)
            events += cells
            lost += np.tensordot(self._units, cells, axes=1)
            span = self._record.add_throttles(self._first, numbers, limit, cells.sum(axis=0))
            if span is not None:
                self._recorder.note_throttle(float(refusals[0].min()), float(refusals[0].max()))
        back = self._cells(*self._joined(self._back, ([], [], [])), ticks, columns) + elsewhere
        given = offered - lost - np.tensordot(self._units, back, axes=1)
        self._record.add_units(self._first, offered.sum(axis=1), given.sum(axis=1))
        self._record.add_partitions(self._first, ticks, numbers, given.sum(axis=0), lambda: given)
        seen = self._resource.observed[self._dimension]
        seen.offered += offered.sum(axis=0)
        seen.consumed += given.sum(axis=0)
        for leg, laid in enumerate(self._laid):
            by_column = asked[leg].sum(axis=0)
            self._resource.note_load(self._dimension, laid.name, laid.spread, float(by_column.sum()) * laid.units)
            laid.place()
            laid.note_keys(by_column, events[leg].sum(axis=0), back[leg].sum(axis=0))
            if self._new_bytes[leg]:
                self._resource.has_grown = True
                self._resource.stored_bytes += (
                    by_column - events[leg].sum(axis=0) - back[leg].sum(axis=0)
                ) * self._new_bytes[leg]
        for k, stream in enumerate(self._writers):
            refused_entries = events[len(self._flows) + k].sum(axis=1)
            if refused_entries.any():
                stream.record.add(self._first, throttle_events=refused_entries)
        self._close_streams(events, later, lost_later, served_later)

    def _write_log(
        self, log: AttemptLog, tries: Floats, later: tuple[Floats, Ints, Ints], refusals: Ints, numbers: Ints
    ) -> None:
        """A row for each attempt of the stretch: first ones, later ones of single items, those of batches and transactions."""
        times, legs, columns = self._first_items
        ones = np.ones(len(times), dtype=np.int64)
        log.add(self._rows(times, legs, ones, numbers[columns], self._first_outcomes))
        alone = self._single[later[1]]
        times, legs, columns = (column[alone] for column in later)
        attempts = tries[:, 5].astype(np.int64)
        log.add(self._rows(times, legs, attempts[alone], numbers[columns], refusals[alone]))
        if self._tried_together:
            items = ~alone
            log.add(
                self._rows_of_many(
                    later[0][items], later[1][items], attempts[items], numbers[later[2][items]], refusals[items]
                )
            )

    def _rows(self, times: Floats, legs: Ints, attempts: Ints, partitions: Ints, refusals: Ints) -> Rows:
        """Attempts of single items."""
        outcomes = np.where(refusals == PASSED, _OK, _THROTTLED)
        names = self._names[self._stream_of_leg[legs]]
        return Rows(times, names, attempts, partitions, self._units[legs], outcomes, self._named(refusals))

    def _rows_of_unseen(self) -> Rows:
        """Attempts that took nothing here."""
        times, streams, outcomes, errors = zip(*self._unseen, strict=True)
        ones = np.ones(len(times), dtype=np.int64)
        names = np.array([stream.pattern.demand.traffic.name for stream in streams], dtype=object)
        nothing = np.zeros(len(times))
        words = np.array(errors, dtype=object)
        return Rows(np.array(times), names, ones, NO_PARTITION * ones, nothing, np.array(outcomes), words)

    def _named(self, refusals: Ints) -> Words:
        """Names of the reasons of some outcomes."""
        gone = refusals >= ELSEWHERE
        if not gone.any():
            return np.asarray(self._reasons[refusals])
        here = self._reasons[np.where(gone, PASSED, refusals)]
        return np.where(gone, self._reasons_elsewhere[np.where(gone, refusals - ELSEWHERE, -1)], here)

    def _rows_of_many(self, times: Floats, legs: Ints, attempts: Ints, partitions: Ints, refusals: Ints) -> Rows:
        """Attempts of batches and transactions, whose tries follow each other."""
        counts = np.array(self._tried_together, dtype=np.int64)
        starts = np.cumsum(counts) - counts
        lost = np.add.reduceat((refusals != PASSED).astype(np.int64), starts)
        together = np.array([stream.joint is Joint.ALL for stream in self._streams])[self._stream_of_leg[legs[starts]]]
        served = np.where(together & (lost > 0), 0, counts - lost)
        outcomes = np.where(served == 0, _THROTTLED, np.where(served == counts, _OK, _PARTLY))
        last = np.maximum.reduceat(np.where(refusals == PASSED, -1, np.arange(len(refusals))), starts)
        reasons = np.where(last < 0, PASSED, refusals[last])
        low, high = np.minimum.reduceat(partitions, starts), np.maximum.reduceat(partitions, starts)
        return Rows(
            times[starts],
            self._names[self._stream_of_leg[legs[starts]]],
            attempts[starts],
            np.where(low == high, low, NO_PARTITION),
            np.add.reduceat(self._units[legs], starts),
            outcomes,
            self._named(reasons),
        )

    def _close_streams(
        self,
        events: Floats,
        later: tuple[Floats, Ints, Ints],
        lost: tuple[Floats, Ints, Ints],
        served: tuple[Floats, Ints, Floats],
    ) -> None:
        answers = np.array(self._answers).reshape(-1, 3)
        for k, stream in enumerate(self._streams):
            mine_answers = answers[answers[:, 1] == k]
            stream.record.answered.add(self._minute_of(mine_answers[:, 0]), mine_answers[:, 2])
            columns = {}
            for name, rows, items in (
                ("offered", self._asked, None),
                ("attempts", self._attempts, later),
                ("throttled", self._throttled, lost),
                ("succeeded", self._succeeded, served),
                ("unmet", self._unmet, None),
            ):
                times = np.array(rows[0])[np.array(rows[1], dtype=np.int64) == k] if rows[0] else np.empty(0)
                if items is not None and len(items[0]):
                    mine = (self._stream_of_leg[items[1]] == k) & self._single[items[1]]
                    times = np.concatenate((times, items[0][mine]))
                if len(times):
                    columns[name] = self._by_tick(times)
            mine_events = events[: len(self._flows)][self._stream_of_leg == k].sum(axis=(0, 2))
            stream.record.add(self._first, throttle_events=mine_events, **columns)
            if stream.record.latency is not None:
                stream.record.latency.add(np.array(stream.took))
                stream.record.latency.add(served[2][self._stream_of_leg[served[1]] == k])
            for error, count in stream.given_up.items():
                stream.record.fail(error, float(count))
            stream.given_up, stream.took = {}, []
            if k in self._waited and stream.record.limiter_wait is not None:
                stream.record.limiter_wait.add(np.array(self._waited[k]))

    def _joined(self, *rows: Sequence[Sequence[float]] | tuple[Floats, Ints, Ints]) -> tuple[Floats, Ints, Ints]:
        times = np.concatenate([np.asarray(row[0], dtype=float) for row in rows])
        legs = np.concatenate([np.asarray(row[1], dtype=np.int64) for row in rows])
        columns = np.concatenate([np.asarray(row[2], dtype=np.int64) for row in rows])
        return times, legs, columns

    def _cells(self, times: Floats, legs: Ints, columns: Ints, ticks: int, width: int) -> Floats:
        """How many entries fall into each leg, tick and partition."""
        tick = np.clip(np.searchsorted(self._edges_s, times, side="right") - 1, 0, ticks - 1)
        flat = (legs * ticks + tick) * width + columns
        return (
            np.bincount(flat, minlength=len(self._laid) * ticks * width)
            .astype(float)
            .reshape(len(self._laid), ticks, width)
        )
