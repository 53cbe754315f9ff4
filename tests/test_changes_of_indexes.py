"""Indexes have capacity, auto scaling, decreases and events of their own, and the table's mode."""

from __future__ import annotations

from typing import Any

import pytest
from reference.small import pattern, provisioned, scenario

from sim.errors import ScenarioError
from sim.names import Dimension, Mode
from sim.results.result import Result
from sim.run import run
from sim.scenario import with_overrides

WRITE, READ = Dimension.WRITE, Dimension.READ
INDEX = "index/G"
LEVELS = ("flow", "request")


def with_index(
    *events: dict[str, Any], index: dict[str, Any] | None = None, minutes: float = 10, rate: float = 60, **keys: Any
) -> Result:
    """A table of 100 write units, and an index of 12 that every write goes to; no burst credit in either."""
    gsi = {
        "name": "G",
        "pk": "G#{user}",
        "read_capacity": 5,
        "write_capacity": 12,
        "burst_at_start": 0,
        **(index or {}),
    }
    return run(
        scenario(
            pattern(rate=rate, arrivals="even"),
            table=provisioned(burst_at_start=0, gsi=[gsi]),
            duration=minutes * 60,
            event=list(events),
            **keys,
        )
    )


def capacity(result: Result, resource: str = INDEX) -> list[tuple[float, float]]:
    return result.resources[resource].lanes[WRITE].capacity


@pytest.mark.parametrize("level", LEVELS)
def test_an_index_that_holds_its_table_is_scaled_by_what_it_consumes(level: str) -> None:
    # 12 pass of 60: 12 / 0.7 = 17.1, and so on, until 60 / 0.7 = 85.7. The table's own capacity is another matter.
    result = with_index(index={"autoscaling": {"write": {"min": 5, "max": 200}}}, minutes=32, level=level)
    steps = [18, 26, 38, 55, 79, 86]
    assert capacity(result) == [(0.0, 12), *((270.0 + 300 * k, step) for k, step in enumerate(steps))]
    assert capacity(result, "table") == [(0.0, 100)]
    assert {t.reason for t in result.throttles} == {"IndexWriteProvisionedThroughputExceeded"}
    assert result.last_throttle_s == pytest.approx(1470, abs=1)
    assert {e.resource for e in result.recorder.events} == {INDEX}
    assert [a["resource"] for a in result.to_dict()["alarms"]] == [INDEX, INDEX]
    assert any(text.startswith("Auto scaling of the index G's writes came late") for text in result.explanation)


@pytest.mark.parametrize("level", LEVELS)
def test_an_update_of_an_index_relieves_its_table(level: str) -> None:
    result = with_index({"at": 60, "index": "G", "write_capacity": 60}, level=level)
    assert capacity(result) == [(0.0, 12), (90.0, 60)]
    assert result.last_throttle_s == pytest.approx(90, abs=1)
    assert [(e.resource, e.outcome) for e in result.recorder.events] == [(INDEX, "done")]


@pytest.mark.parametrize("level", LEVELS)
def test_a_switch_takes_the_indexes_along(level: str) -> None:
    events = [
        {"at": 0, "mode": "on-demand"},
        {"at": 600, "mode": "provisioned", "read_capacity": 5, "write_capacity": 90},
        {"at": 600, "index": "G", "read_capacity": 5, "write_capacity": 30},
    ]
    result = with_index(*events, minutes=18, level=level)
    for resource in ("table", INDEX):
        modes = [(0.0, Mode.PROVISIONED), (300.0, Mode.ON_DEMAND), (900.0, Mode.PROVISIONED)]
        assert result.resources[resource].modes == modes
        assert result.resources[resource].partition_counts == [(0.0, 1), (300.0, 4)]
    assert capacity(result) == [(0.0, 12), (300.0, 4000), (900.0, 30)]
    consumed = result.resources[INDEX].lanes[WRITE].consumed_units
    assert consumed[10:300].mean() == pytest.approx(12, rel=0.01)
    assert consumed[300:900].mean() == pytest.approx(60, rel=0.001)
    assert consumed[910:].mean() == pytest.approx(30, rel=0.02)


def test_back_to_provisioned_every_index_needs_its_capacity() -> None:
    with pytest.raises(ScenarioError) as error:
        with_index(
            {"at": 0, "mode": "on-demand"}, {"at": 400, "mode": "provisioned", "read_capacity": 5, "write_capacity": 9}
        )
    assert {problem.path for problem in error.value.problems} == {"event[1].mode"}
    assert "of the index G" in str(error.value)


def test_an_index_has_no_mode_of_its_own() -> None:
    with pytest.raises(ScenarioError, match="an index has the mode of its table"):
        with_index({"at": 0, "index": "G", "mode": "on-demand"})


def test_table_and_index_have_decreases_of_their_own_and_one_request_is_taken_whole_or_not() -> None:
    own = [{"at": 40 * k, "write_capacity": 100 - k} for k in range(1, 5)]
    of_index = [{"at": 200 + 40 * k, "index": "G", "write_capacity": 12 - k} for k in range(1, 5)]
    both = [{"at": 500, "write_capacity": 200}, {"at": 500, "index": "G", "write_capacity": 1}]
    result = with_index(*own, *of_index, *both)
    assert [e.outcome for e in result.recorder.events] == ["done"] * 8 + ["refused"] * 2
    assert capacity(result, "table")[-1][1] == 96


def test_the_account_quota_is_of_the_table_and_its_indexes_together() -> None:
    result = with_index({"at": 0, "index": "G", "write_capacity": 101}, account={"account_write": 200})
    (row,) = result.recorder.events
    assert (row.outcome, row.error) == ("refused", "LimitExceededException")
    assert "with all indexes it is 201" in row.detail


def test_an_idle_index_fills_its_credit_beside_writes_that_pass_it_by() -> None:
    # 12 units a second for 100 s, beside one second's worth; then 60/s of 12 last (1,200 + 12) / 48 = 25 s.
    made = scenario(
        pattern(name="past", touches=[], rate=5, arrivals="even"),
        pattern(name="into", rate=60, starts=100, arrivals="even"),
        table=provisioned(
            gsi=[{"name": "G", "pk": "G#{user}", "read_capacity": 5, "write_capacity": 12, "burst_at_start": 0}]
        ),
        duration=180,
    )
    for level in LEVELS:
        result = run(with_overrides(made, [("level", level)]))
        assert result.first_throttle_s == pytest.approx(100 + 1212 / 48, abs=1.1), level
