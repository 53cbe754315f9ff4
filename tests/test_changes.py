"""Random scenarios whose capacity changes while they run, with all checkers on."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from strategies import Document, changing_documents
from test_properties import check_books, check_json, check_partitions

from sim.limits import BURST_WINDOW_S, DECREASES_BANKED_MAX, MODE_SWITCHES_MAX
from sim.names import Dimension, Mode
from sim.partitions.bucket import GRAIN
from sim.results.result import Result
from sim.run import run
from sim.scenario import dump, from_dict, to_dict


def simulated(document: Document, **top: Any) -> Result:
    made = from_dict({**document, **top})
    note(dump(made))
    return run(made)


def spans(result: Result, dimension: Dimension) -> list[tuple[float, float]]:
    """(Seconds, capacity) of each span between two changes; a change within a tick takes effect at its end."""
    line = [*result.table.lanes[dimension].capacity, (result.grid.duration_s + 2 * result.grid.tick_s, 0.0)]
    return [(end - begin, value) for (begin, value), (end, _) in itertools.pairwise(line)]


def check_rates(result: Result) -> None:
    """A provisioned table gives no more than its credit at the start and what the capacity in force brings."""
    table = result.scenario.table
    if (
        table.mode is not Mode.PROVISIONED
        or len(result.table.modes) > 1
        or result.scenario.admission == "adaptive-2017"
    ):
        return
    for dimension, lane in result.table.lanes.items():
        line = spans(result, dimension)
        start = line[0][1] * max(1.0, table.burst_at_start * BURST_WINDOW_S)
        most = max(value for _, value in line)
        slack = (len(line) + 1) * most * result.grid.tick_s + result.grid.ticks * GRAIN + 1e-6
        assert lane.consumed_units.sum() <= start + sum(seconds * value for seconds, value in line) + slack


def check_changes(result: Result) -> None:
    """What is done is in the capacity, what is refused is not; bounds, budgets and durations are kept."""
    calibration = result.scenario.calibration
    for row in result.recorder.events:
        if row.action not in ("auto-scaling", "schedule", "update-table"):
            continue
        assert (row.outcome == "done") == (row.done_s is not None)
        assert (row.outcome == "refused") == (row.error is not None)
        assert row.outcome in ("done", "refused", "pending")
        if row.done_s is not None and row.after is not None:
            assert row.dimension is not None
            if "warm" not in row.detail:
                taken = row.done_s - row.at_s
                durations = (calibration.update_table_s, calibration.update_table_split_s, calibration.mode_switch_s)
                assert any(taken == pytest.approx(seconds) for seconds in durations)
                if "maximum" not in row.detail:
                    assert (row.done_s, row.after) in result.table.lanes[
                        row.dimension
                    ].capacity or row.before == row.after
    done = [
        row
        for row in result.recorder.events
        if row.outcome == "done" and row.after is not None and "capacity" in row.detail
    ]
    lowered = {row.at_s for row in done if row.before is not None and row.after is not None and row.after < row.before}
    assert len(lowered) <= 2 * DECREASES_BANKED_MAX  # a short run meets at most one midnight or hour
    assert sum(mode is Mode.ON_DEMAND for _, mode in result.table.modes[1:]) <= MODE_SWITCHES_MAX
    warm = [value for lane in result.table.lanes.values() for value in [v for _, v in lane.warm]]
    assert warm
    for lane in result.table.lanes.values():
        values = [value for _, value in lane.warm]
        assert values == sorted(values)


@given(changing_documents())
def test_every_checker_holds_whatever_changes(document: Document) -> None:
    result = simulated(document)
    check_books(result)
    check_partitions(result)
    check_json(result)
    check_rates(result)
    check_changes(result)
    assert from_dict(to_dict(result.scenario)) == result.scenario
    assert all(sentence for sentence in result.explanation)


@given(changing_documents(), st.sampled_from([1, 13, 100]))
def test_any_stretch_length_gives_the_same_bytes(document: Document, stretch: int) -> None:
    made = from_dict(document)
    note(dump(made))
    assert run(made, stretch_ticks=stretch).to_json() == run(made).to_json()


@given(changing_documents())
def test_the_request_level_holds_too(document: Document) -> None:
    if sum(pattern.get("batch", 1) for pattern in document["traffic"]) > 30:
        return  # thousands of items a second take long
    result = simulated(
        {**document, "duration": 60, "event": [e for e in document.get("event", []) if e["at"] <= 60]}, level="request"
    )
    check_partitions(result)
    check_json(result)
    check_changes(result)
