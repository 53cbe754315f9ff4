"""The verb that all splitting controllers use: decide a cut now, serve from the halves after the split delay, or decline and say why."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import simpy

from sim.keyspace.cutting import Cut, Load, NoCut, find_cut
from sim.keyspace.hashing import HASH_SPACE
from sim.keyspace.position import Position
from sim.names import Declined, Dimension, SplitReason
from sim.partitions.resource import Resource
from sim.results.recorder import DeclinedSplit, EventRow, Recorder, Split

_WHY = {
    Declined.SINGLE_ITEM: "one item carries the load, and an item lies in one partition",
    Declined.MOVING_SORT_KEY: "the load moves along ever-increasing sort keys, so it would all fall into the upper half",
    Declined.LOCAL_INDEX: "a local secondary index holds the item collection in one partition",
}


class Splitter:
    """Splits of one resource, under way and declined."""

    def __init__(
        self, env: simpy.Environment, resource: Resource, recorder: Recorder, key_names: dict[int, str]
    ) -> None:
        self._env = env
        self._resource = resource
        self._recorder = recorder
        self._key_names = key_names
        self._declined: set[tuple[int, Declined, int, SplitReason]] = set()
        self._hopeless: set[tuple[object, ...]] = set()
        self.in_flight: dict[int, SplitReason] = {}

    def note_pending(self) -> None:
        """Write down the splits that the run's end leaves under way."""
        now_s = float(self._env.now)
        for number, reason in self.in_flight.items():
            detail = f"split for {reason} of partition {number} was under way at the end"
            self._recorder.events.append(EventRow(now_s, self._resource.name, "split", detail, "pending"))

    def begin(self, number: int, loads: Sequence[Load], reason: SplitReason) -> bool:
        """Begin to split a serving partition through the middle of ``loads``; False where no cut helps."""
        assert number not in self.in_flight, "a partition is split once"
        calibration = self._resource.calibration
        mark = (reason, *_mark(number, loads))
        if mark in self._hopeless:
            return False
        cut = find_cut(
            loads,
            self._resource.partitions.range_of(number),
            pinned=self._resource.pinned,
            min_relief_fraction=calibration.split_min_relief_fraction,
        )
        if isinstance(cut, Cut):
            self.in_flight[number] = reason
            self._env.process(self._carry_out(number, cut, reason, calibration.split_delay_s))
            return True
        self._hopeless.add(mark)
        if isinstance(cut, NoCut):
            self._decline(number, cut, reason)
        return False

    def _carry_out(
        self, number: int, cut: Cut, reason: SplitReason, delay_s: float
    ) -> Generator[simpy.Event, Any, None]:
        decided_s = self._env.now
        yield self._env.timeout(delay_s)
        now_s = float(self._env.now)
        del self.in_flight[number]
        if self._resource.partitions.lives[number].retired_s is not None:
            return  # a new layout has cut it meanwhile
        halves = self._resource.split(number, cut.at, now_s)
        record = self._recorder.resources[self._resource.name]
        record.splits.append(Split(now_s, decided_s, number, halves, reason, cut.at, cut.inside_collection))
        note_capacity(self._resource, self._recorder, now_s)

    def _decline(self, number: int, cut: NoCut, reason: SplitReason) -> None:
        mark = (number, cut.why, cut.key_hash, reason)
        if mark in self._declined:
            return
        self._declined.add(mark)
        key = self._key_names.get(cut.key_hash)
        now_s = float(self._env.now)
        self._recorder.resources[self._resource.name].declined.append(
            DeclinedSplit(now_s, self._resource.name, number, cut.why, key)
        )
        of_key = f" ({key})" if key else ""
        self._recorder.events.append(
            EventRow(
                now_s,
                self._resource.name,
                "split-declined",
                f"split for {reason} of partition {number} declined{of_key}: {_WHY[cut.why]}",
                "refused",
            )
        )


def _mark(number: int, loads: Sequence[Load]) -> tuple[object, ...]:
    """What a decision not to cut hangs on, coarsely: the range, and which part of the load comes from which spread."""
    total = sum(units for _, units in loads)
    return (number, *((spread, round(20 * units / total)) for spread, units in loads))


def lay_out(resource: Resource, recorder: Recorder, partitions: int, decided_s: float, now_s: float) -> None:
    """Halve ranges until none is wider than one of so many equal ones, so that each carries its part of an even load (F-PART-9).

    Where all ranges are equal and there are too few, their number doubles.
    """
    record = recorder.resources[resource.name]
    # Equal ranges of a number that is no power of two differ by one position.
    widest = HASH_SPACE // partitions + 1
    waiting = list(resource.partitions.serving)
    while waiting:
        number = waiting.pop()
        low, high = resource.partitions.range_of(number)
        if high.hash - low.hash <= widest:
            continue
        middle = Position((low.hash + high.hash) // 2, 0)
        halves = resource.split(number, middle, now_s)
        record.splits.append(Split(now_s, decided_s, number, halves, SplitReason.THROUGHPUT, middle, False))
        waiting += halves
    note_capacity(resource, recorder, now_s)


def note_capacity(resource: Resource, recorder: Recorder, now_s: float) -> None:
    """Write down mode, what the resource can give and how many partitions it has, where that changed."""
    record = recorder.resources[resource.name]
    if not record.modes or record.modes[-1][1] is not resource.mode:
        record.modes.append((now_s, resource.mode))
    count = len(resource.partitions)
    if not record.partition_counts or record.partition_counts[-1][1] != count:
        if record.partition_counts and record.partition_counts[-1][0] == now_s:
            record.partition_counts.pop()
        record.partition_counts.append((now_s, count))
    for dimension in Dimension:
        lane = record.lanes[dimension]
        for line, value in (
            (lane.capacity, resource.capacity_per_s(dimension)),
            (lane.warm, resource.warm_per_s[dimension]),
        ):
            if line and line[-1][1] == value:
                continue
            if line and line[-1][0] == now_s:
                line.pop()
            line.append((now_s, value))
