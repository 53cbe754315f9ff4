"""The CSV files that a scenario points to: found beside it, read once, and checked when it is loaded."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from sim.errors import Problem, ScenarioError
from sim.scenario import CsvField, CsvRate, Scenario, load, read_series, read_weights

TEXT = """
format = 1
duration = "1h"
[fields]
user = { kind = "csv", path = "users.csv", value = "id", weight = "hits" }
[table]
name = "orders"
pk = "USER#{user}"
mode = "on-demand"
[[traffic]]
name = "reads"
operation = "GetItem"
rate = { kind = "csv", path = "rates.csv", time = "t", value = "rps" }
"""
USERS = "id,hits\nalice,5\nbob,2.5\nalice,1\n"
RATES = "t,rps\n0,10\n60,20\n120.5,0\n"


def written(folder: Path, users: str | bytes = USERS, rates: str | bytes = RATES, text: str = TEXT) -> Path:
    for name, content in (("users.csv", users), ("rates.csv", rates), ("a.toml", text)):
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / "a.toml"


def parts(scenario: Scenario) -> tuple[CsvField, CsvRate]:
    field, rate = scenario.fields["user"], scenario.traffic[0].rate
    assert isinstance(field, CsvField)
    assert isinstance(rate, CsvRate)
    return field, rate


def problem_of(file: Path) -> Problem:
    with pytest.raises(ScenarioError) as caught:
        load(file)
    (problem,) = caught.value.problems
    return problem


def test_files_lie_beside_the_scenario_and_equal_values_are_summed(tmp_path: Path) -> None:
    field, rate = parts(load(written(tmp_path)))
    assert read_weights(field) == (("alice", "bob"), (6.0, 2.5))
    assert read_series(rate) == ((0.0, 60.0, 120.5), (10.0, 20.0, 0.0))
    assert read_weights(pickle.loads(pickle.dumps(field))) == read_weights(field)


def test_without_a_weight_column_each_row_counts_one(tmp_path: Path) -> None:
    text = TEXT.replace(', weight = "hits"', "")
    field, _ = parts(load(written(tmp_path, text=text)))
    assert read_weights(field) == (("alice", "bob"), (2.0, 1.0))


def test_timestamps_count_from_the_first_row(tmp_path: Path) -> None:
    rates = "t,rps\n2026-05-01T00:00:00Z,1\n2026-05-01T00:05:00Z,2\n2026-05-01 02:10:00+02:00,3\n"
    _, rate = parts(load(written(tmp_path, rates=rates)))
    assert read_series(rate) == ((0.0, 300.0, 600.0), (1.0, 2.0, 3.0))


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = written(tmp_path)
    field, _ = parts(load(file))
    assert read_weights(field)[1] == (6.0, 2.5)
    (tmp_path / "users.csv").write_text("id,hits\nalice,7000\n")
    os.utime(tmp_path / "users.csv", (1, 1))
    assert read_weights(field)[1] == (7000.0,)


def test_a_fixed_value_must_be_in_the_column(tmp_path: Path) -> None:
    text = TEXT + 'where = { user = "alice" }\n'
    load(written(tmp_path, text=text))
    problem = problem_of(written(tmp_path, text=text.replace("alice", "alise")))
    assert problem.path == "traffic[0].where.user"
    assert problem.hint == "did you mean 'alice'?"


@pytest.mark.parametrize(
    ("users", "key", "message"),
    [
        ("", "path", "is empty"),
        ("id,hits\n", "path", "has no rows"),
        ("id,hitz\na,1\n", "weight", "no column 'hits'; the file has: id, hitz"),
        ("id,hits\na,-1\n", "weight", 'line 2: "-1" is no number from 0'),
        ("id,hits\na,1\nb,many\n", "weight", 'line 3: "many" is no number from 0'),
        ("id,hits\na,nan\n", "weight", "is no number from 0"),
        ("id,hits\na,0\n", "weight", "no weight above 0"),
        ("id,hits\na\n", "path", "line 2 has too few columns"),
        (b"id,hits\n\xff,1\n", "path", "not UTF-8"),
    ],
)
def test_a_wrong_popularity_file_is_told_at_load(tmp_path: Path, users: str | bytes, key: str, message: str) -> None:
    problem = problem_of(written(tmp_path, users=users))
    assert problem.path == f"fields.user.{key}"
    assert message in problem.message


@pytest.mark.parametrize(
    ("rates", "key", "message"),
    [
        ("t,rps\n", "path", "has no rows"),
        ("time,rps\n0,1\n", "time", "no column 't'"),
        ("t,rps\n0,1\n0,2\n", "time", "line 3: times must increase"),
        ("t,rps\n-1,1\n", "time", "is no number from 0"),
        ("t,rps\n0,-1\n", "value", "is no number from 0"),
        ("t,rps\nnoon,1\n", "time", "neither a number of seconds nor an ISO timestamp"),
        ("t,rps\n1767225600,1\n", "time", "seconds since 1970"),
    ],
)
def test_a_wrong_rate_file_is_told_at_load(tmp_path: Path, rates: str, key: str, message: str) -> None:
    problem = problem_of(written(tmp_path, rates=rates))
    assert problem.path == f"traffic[0].rate.{key}"
    assert message in problem.message


def test_counts_per_row_need_two_rows(tmp_path: Path) -> None:
    text = TEXT.replace('value = "rps"', 'value = "rps", per = "row"')
    load(written(tmp_path, text=text, rates="t,rps\n0,1\n60,1\n"))
    assert "at least two rows" in problem_of(written(tmp_path, text=text, rates="t,rps\n0,1\n")).message


def test_counts_per_row_that_are_no_rate_are_refused(tmp_path: Path) -> None:
    text = TEXT.replace('value = "rps"', 'value = "rps", per = "row"')
    problem = problem_of(written(tmp_path, text=text, rates="t,rps\n0,1\n1e-6,5000\n"))
    assert problem.path == "traffic[0].rate.per"
    assert "row 2 counts 5000 requests in 1e-06 s, more than 1e+09 per second" in problem.message


def test_a_rate_that_begins_after_the_end_is_noted(tmp_path: Path) -> None:
    scenario = load(written(tmp_path, rates="t,rps\n3600,1\n3660,1\n"))
    assert any("no request comes" in note for note in scenario.notes)


@pytest.mark.parametrize(("path", "message"), [("nobody.csv", "no such file"), (".", "is no file"), ("a\\u0000b", "")])
def test_a_missing_file_is_told_at_load(tmp_path: Path, path: str, message: str) -> None:
    problem = problem_of(written(tmp_path, text=TEXT.replace("users.csv", path)))
    assert problem.path == "fields.user.path"
    assert message in problem.message
