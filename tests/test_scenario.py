"""Loading: the contract's own examples, values as they come out, files, overrides, and what is left out on wish."""

from __future__ import annotations

import os
import pickle
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import sim.scenario as public
from sim.calibration import calibrate
from sim.errors import Problem, ScenarioError
from sim.names import IndexChange, Mode, Operation
from sim.scenario import (
    ChoiceField,
    DiurnalRate,
    RampRate,
    Scenario,
    StepsRate,
    Table,
    Traffic,
    dump,
    fields_of,
    from_dict,
    load,
    loads,
    parse_template,
    to_dict,
    with_overrides,
)

MINIMAL = """
format = 1
duration = "1h"
[fields]
user = { kind = "uniform", count = 1000 }
[table]
name = "orders"
pk = "USER#{user}"
mode = "on-demand"
[[traffic]]
name = "reads"
operation = "GetItem"
rate = 100
"""

# One line for each thing that the contract shows in quotes or braces.
CONTRACT = """
format = 1
title = "everything"
duration = "1h30m"
start = 2026-01-01T00:00:00Z
tick = "1s"
period = "60s"
admission = "instant"
calibration = { base = "default", split_delay_s = 120 }
prices = "us-east-1-2024-10"

[fields]
status = { kind = "choice", weights = { active = 0.9, inactive = 0.1 } }
tenant = { kind = "uniform", count = 20 }
user = { kind = "zipf", count = 1000, exponent = 1.1 }
event = { kind = "sequence" }
shard = { kind = "hash", of = "user", count = 10 }
day = { kind = "clock", format = "%Y-%m-%d" }

[table]
name = "orders"
pk = "TENANT#{tenant}#USER#{user}"
sk = "{event}"
mode = "provisioned"
read_capacity = 1000
write_capacity = 500
burst_at_start = 0.5
partitions = 4
storage_bytes = 20_000_000_000
warm_read = 4000
table_class = "standard"
streams = true
replicas = 1
[[table.lsi]]
name = "ByStatus"
sk = "{status}"
projection = "INCLUDE"
projected_bytes = 200

[[traffic]]
name = "orders"
operation = "PutItem"
rate = [["0s", 100], ["10m", 1000]]
starts = "5m"
ends = "1h"
touches = { ByStatus = "key-changed" }
where = { status = "active" }
was = { status = "inactive" }
condition_fails = 0.01

[[traffic]]
name = "ramp"
operation = "UpdateItem"
rate = { kind = "ramp", from = 10, to = 500, over = "30m" }
touches = ["ByStatus"]

[[traffic]]
name = "spike"
operation = "GetItem"
rate = { kind = "spike", base = 10, peak = 900, at = "20m", lasting = "90s" }
consistent = true
missing = 0.2

[[traffic]]
name = "days"
operation = "Query"
rate = { kind = "diurnal", mean = 100, peak = 200, peak_at = "14:30" }
items = 10
filter_pass = 0.5

[[traffic]]
name = "scan"
operation = "Scan"
rate = 0.1
items = 1_000_000
pages = 1

[[traffic]]
name = "batch"
operation = "BatchWriteItem"
rate = 10
batch = 25
batch_keys = "same-partition-key"
arrivals = "even"
count = 1000

[[traffic]]
name = "transaction"
operation = "TransactWriteItems"
rate = 10
actions = [
  { operation = "PutItem", pk = "USER#{user}", sk = "{day}", item_bytes = 500, touches = "all" },
  { operation = "UpdateItem", pk = "TENANT#{tenant}", sk = "{shard}" },
]

[[traffic]]
name = "expiry"
operation = "TTLDelete"
rate = 1
partition = 3

[account]
table_read = 40000
table_write = 40000
[cost]
month_hours = 730
free_tier = true
reserved_read = 100
"""


def problems_of(text: str, **options: Any) -> tuple[Problem, ...]:
    with pytest.raises(ScenarioError) as caught:
        loads(text, **options)
    return caught.value.problems


# What comes out


def test_the_smallest_scenario_has_the_contracts_defaults() -> None:
    scenario = loads(MINIMAL)
    assert (scenario.duration, scenario.tick, scenario.period, scenario.seed) == (3600.0, 1.0, 60.0, 0)
    assert scenario.start == datetime(2026, 1, 1, tzinfo=UTC)
    assert scenario.calibration == calibrate()
    assert scenario.table.burst_at_start == 1.0
    traffic = scenario.traffic[0]
    assert (traffic.rate, traffic.item_bytes, traffic.touches, traffic.client.retry) == (100.0, 1024, "all", "none")
    assert (scenario.dax, scenario.event, scenario.alarm, scenario.notes) == (None, (), (), ())
    assert scenario.account.table_write == 40_000
    assert scenario.cost.month_hours == 730


@pytest.mark.parametrize("path", [5, 0, True, None, b"file.toml", {"format": 1}, 1.5])
def test_what_is_no_path_is_refused_before_anything_is_opened(path: Any) -> None:
    with pytest.raises(ScenarioError, match="path: must be the path of a scenario file"):
        load(path)


def test_the_contracts_examples_load() -> None:
    scenario = loads(CONTRACT)
    assert scenario.duration == 5400
    assert scenario.fields["status"] == ChoiceField(weights={"active": 0.9, "inactive": 0.1})
    assert scenario.calibration.split_delay_s == 120
    by_name = {traffic.name: traffic for traffic in scenario.traffic}
    assert by_name["orders"].rate == StepsRate(steps=((0.0, 100.0), (600.0, 1000.0)))
    assert by_name["orders"].touches == {"ByStatus": IndexChange.KEY_CHANGED}
    assert by_name["orders"].where == {"status": "active"}
    assert by_name["ramp"].rate == RampRate(from_=10, to=500, over="30m")
    assert by_name["days"].rate == DiurnalRate(mean=100, peak=200, peak_at="14h30m")
    assert by_name["days"].rate.peak_at == 14.5 * 3600
    actions = by_name["transaction"].actions
    assert actions is not None
    assert [action.item_bytes for action in actions] == [500, None]
    assert scenario.table.mode is Mode.PROVISIONED
    assert by_name["expiry"].operation is Operation.TTL_DELETE


def test_python_reads_as_the_file_does() -> None:
    built = Scenario(
        duration="1h",
        fields={"user": {"kind": "uniform", "count": 1000}},
        table=Table(name="orders", pk="USER#{user}", mode="on-demand"),
        traffic=[Traffic(name="reads", operation="GetItem", rate=100)],
    )
    assert built == loads(MINIMAL)


@pytest.mark.parametrize("text", [MINIMAL, CONTRACT])
def test_a_scenario_is_frozen_and_survives_writing_and_pickling(text: str) -> None:
    scenario = loads(text)
    assert loads(dump(scenario)) == scenario
    assert from_dict(to_dict(scenario)) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    with pytest.raises(ValueError, match="frozen"):
        scenario.seed = 3  # type: ignore[misc]  # that is what is tested
    with pytest.raises(TypeError):
        scenario.fields["user"] = None  # type: ignore[index]  # that is what is tested


def test_wrong_values_in_python_raise_scenario_errors_too() -> None:
    with pytest.raises(ScenarioError) as caught:
        Traffic(name="a", operation="PutItme", rate=-1, thread=4)  # type: ignore[call-arg]  # that is what is tested
    assert [(problem.source, problem.path) for problem in caught.value.problems] == [
        ("Traffic", "operation"),
        ("Traffic", "rate"),
        ("Traffic", "thread"),
    ]


def test_public_names_are_listed_once() -> None:
    assert len(set(public.__all__)) == len(public.__all__)
    assert all(hasattr(public, name) for name in public.__all__)


# Templates


@pytest.mark.parametrize(
    ("template", "parts"),
    [
        ("ALL", (("ALL", None),)),
        ("{user}", (("", "user"),)),
        ("TENANT#{tenant}#USER#{user}", (("TENANT#", "tenant"), ("#USER#", "user"))),
        ("{a}{b}!", (("", "a"), ("", "b"), ("!", None))),
        ("", (("", None),)),
    ],
)
def test_a_template_is_literals_and_fields(template: str, parts: tuple[tuple[str, str | None], ...]) -> None:
    assert parse_template(template) == parts


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{user", "never closed"),
        ("user}", "without an opening"),
        ("{a}}", "without an opening"),
        ("{}", "no field name"),
        ("{ }", "no field name"),
        ("{{user}}", "single braces"),
        ("{a{b}}", "single braces"),
    ],
)
def test_a_broken_template_says_how(template: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_template(template)


def test_fields_of_a_template_are_named_once() -> None:
    assert fields_of("{b}#{a}#{b}") == ("b", "a")


# Times


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (90, 90),
        (0.25, 0.25),
        ("250ms", 0.25),
        ("5m", 300),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("1.5h", 5400),
        ("1m1m", 120),
    ],
)
def test_times_are_numbers_or_texts_with_units(written: float | str, seconds: float) -> None:
    assert from_dict({**to_dict(loads(MINIMAL)), "duration": written}).duration == seconds


@pytest.mark.parametrize("written", ["5", "5 m", "5min", "-5m", "m", "", "1h30", True, [5], float("nan"), float("inf")])
def test_other_times_are_refused(written: object) -> None:
    with pytest.raises(ScenarioError) as caught:
        from_dict({**to_dict(loads(MINIMAL)), "duration": written})
    (problem,) = caught.value.problems
    assert problem.path == "duration"
    assert "time" in problem.message
    assert "1h30m" in problem.hint


@pytest.mark.parametrize(
    ("written", "start"),
    [
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T12:00:00+02:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        (datetime(2026, 3, 1, 12), datetime(2026, 3, 1, 12, tzinfo=UTC)),
        (datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=-5))), datetime(2026, 3, 1, 17, tzinfo=UTC)),
    ],
)
def test_start_is_a_moment_in_utc(written: object, start: datetime) -> None:
    scenario = from_dict({**to_dict(loads(MINIMAL)), "start": written})
    assert scenario.start == start
    assert scenario.start.tzinfo is UTC


# Files


def test_a_file_is_named_in_its_problems(tmp_path: Path) -> None:
    file = tmp_path / "orders.toml"
    file.write_text(MINIMAL.replace("rate", "rat"))
    with pytest.raises(ScenarioError) as caught:
        load(file)
    missing, unknown = map(str, caught.value.problems)
    assert missing == (
        f"{file}: traffic[0].rate: is missing: a pattern needs exactly one of rate, threads and follows"
        ' [pattern "reads"] — such as rate = 100, in requests per second'
    )
    assert unknown.startswith(
        f"""{file}: traffic[0].rat: unknown key [pattern "reads"] (given: 100) — did you mean 'rate'? There are: """
    )
    assert unknown.endswith(" and 25 more")


@pytest.mark.parametrize(
    ("name", "text", "is_told"),
    [
        ("template.yaml", "Resources:\n  Orders:\n    Type: AWS::DynamoDB::Table\n", True),
        ("no_suffix", "Resources:\n  Orders:\n    Type: AWS::DynamoDB::Table\n", True),
        ("described.json", '{"Table": {}}', True),
        ("no_suffix", '\n {"Table": {}}', True),
        ("trace.csv", "time,key\n1,a\n", True),
        ("mix.properties", "recordcount=1000\nreadproportion=0.5\nworkload=site.ycsb", True),
        ("orders.toml", "format = \n", False),
    ],
)
def test_what_can_be_imported_is_told_so(tmp_path: Path, name: str, text: str, is_told: bool) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path / name)
    (problem,) = caught.value.problems
    assert ("ddbsim import" in problem.hint) == is_told
    assert not is_told or problem.hint.endswith(f"ddbsim import {tmp_path / name}")


def test_examples_that_are_still_comments_are_pointed_at() -> None:
    commented = MINIMAL[: MINIMAL.index("[[traffic]]")] + '# rates\n#  [[traffic]]\n# name = "reads"\n'
    (problem,) = problems_of(commented)
    assert problem.path == "traffic"
    assert problem.hint == "take the comment signs away from the examples from line 11 on"
    (problem,) = problems_of(MINIMAL[: MINIMAL.index("[[traffic]]")])
    assert problem.hint.startswith("such as [[traffic]]")


def test_unreadable_files_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "comment.toml").write_text("# nothing yet\n")
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    (tmp_path / "syntax.toml").write_text("format = 1\nduration = \n")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 5000)
    (tmp_path / "digits.toml").write_text("format = " + "9" * 5000)
    (tmp_path / "twice.toml").write_text("format = 1\nformat = 1\n")
    expected = {
        "missing.toml": "no such file",
        ".": "is a folder",
        "empty.toml": "is empty",
        "comment.toml": "is empty",
        "latin.toml": "not UTF-8 text (byte 9",
        "syntax.toml": "line 2, column 12",
        "deep.toml": "nested too deeply",
        "digits.toml": "not valid TOML",
        "twice.toml": "line 2",
        "nul\0.toml": "cannot be read",
    }
    for name, message in expected.items():
        with pytest.raises(ScenarioError) as caught:
            load(os.path.join(tmp_path, name))
        assert message in str(caught.value), name


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"\xef\xbb\xbf" + MINIMAL.encode())
    assert load(file) == loads(MINIMAL, base_dir=tmp_path)


def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(ScenarioError, match="larger than 10 MB"):
        load("/dev/zero")


# Overrides


@pytest.mark.parametrize(
    ("path", "value", "read"),
    [
        ("duration", "5m", lambda s: s.duration == 300),
        ("title", "a bare text", lambda s: s.title == "a bare text"),
        ("title", '"5"', lambda s: s.title == "5"),
        ("traffic[0].rate", "50", lambda s: s.traffic[0].rate == 50),
        ("traffic.reads.rate", "50", lambda s: s.traffic[0].rate == 50),
        ('traffic."reads".rate', "50", lambda s: s.traffic[0].rate == 50),
        ("traffic.reads.rate", '[["0s", 1], ["5m", 2]]', lambda s: s.traffic[0].rate.steps[1] == (300, 2)),
        ("traffic[0].client.retry", "none", lambda s: s.traffic[0].client.retry == "none"),
        ("fields.user.count", "7", lambda s: s.fields["user"].count == 7),
        ("account.table_write", "1000", lambda s: s.account.table_write == 1000),
        ("calibration.split_delay_s", "60", lambda s: s.calibration.split_delay_s == 60),
        ("table.partitions", "3", lambda s: s.table.partitions == 3),
        ("start", "2026-05-05T00:00:00Z", lambda s: s.start == datetime(2026, 5, 5, tzinfo=UTC)),
    ],
)
def test_an_override_sets_one_value(path: str, value: str, read: Any) -> None:
    assert read(loads(MINIMAL, overrides=[(path, value)]))


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("traffic[1].rate", "no element [1]; it has 1 element", ""),
        ("traffic.read.rate", "no element named 'read'", "did you mean 'reads'?"),
        ("traffic[0].rate.from", "is a single value", "set it as a whole"),
        ("table[0]", "it is no list", ""),
        ("", "is no key path", ""),
        ("a..b", "is no key path", ""),
        ("[0]", "is no key path", ""),
        ("traffic[x].rate", "is no key path", ""),
        ("table.write_capcity", "unknown key", "did you mean 'write_capacity'?"),
        ("tabel.pk", "unknown key", "did you mean 'table'?"),
    ],
)
def test_a_wrong_override_is_told_as_such(path: str, message: str, hint: str) -> None:
    (problem,) = problems_of(MINIMAL, overrides=[(path, "5")])
    assert problem.source == "--set"
    assert message in problem.message
    assert problem.hint.startswith(hint)
    assert bool(problem.hint) == bool(hint)


def test_a_wrong_value_in_an_override_names_the_override() -> None:
    (problem,) = problems_of(MINIMAL, overrides=[("traffic.reads.item_bytes", "big")])
    assert (problem.source, problem.path, problem.value) == ("--set", "traffic[0].item_bytes", '"big"')


def test_one_parameter_can_be_set_beside_a_named_calibration() -> None:
    text = MINIMAL.replace("format = 1", 'format = 1\ncalibration = "observed"')
    calibration = loads(text, overrides=[("calibration.split_delay_s", "60")]).calibration
    assert (calibration.base, calibration.split_delay_s) == ("observed", 60)


def test_what_an_override_begins_and_leaves_unfinished_is_its_own_problem() -> None:
    (problem,) = problems_of(MINIMAL, overrides=[("fields.shard.kind", "hash"), ("fields.shard.of", "user")])
    assert (problem.source, problem.path) == ("--set", "fields.shard.count")


def test_overrides_of_a_scenario_make_another() -> None:
    scenario = loads(MINIMAL)
    assert with_overrides(scenario, [("seed", "3")]).seed == 3
    assert scenario.seed == 0


def test_overrides_in_python_are_a_mapping_to_values() -> None:
    steps = [(0, 5), ("5m", 9)]
    changed = with_overrides(
        loads(CONTRACT),
        {
            "table.write_capacity": 300,
            "traffic.ramp.rate": steps,
            "traffic.spike.rate": StepsRate(steps=steps),
            "traffic.days.rate": RampRate(from_=1, to=2, over=3),
            "title": "5",
            "admission": None,
            "fields.user": {"kind": "uniform", "count": 7},
        },
    )
    rates = {traffic.name: traffic.rate for traffic in changed.traffic}
    assert changed.table.write_capacity == 300
    assert rates["ramp"] == rates["spike"] == StepsRate(steps=steps)
    assert rates["days"] == RampRate(from_=1, to=2, over=3)
    assert (changed.title, changed.admission, changed.fields["user"].count) == ("5", "instant", 7)
    with pytest.raises(ScenarioError, match=r"--set: seed: must be a whole number"):
        with_overrides(changed, {"seed": "3"})  # a text is a text
    assert with_overrides(changed, [("seed", 3), ("title", "x")]).seed == 3


@pytest.mark.parametrize("overrides", ["seed=3", 5, None, [("seed",)], ["ab"[:1]]])
def test_overrides_of_another_shape_are_refused(overrides: Any) -> None:
    with pytest.raises(ScenarioError, match="must be a mapping of key paths to values"):
        with_overrides(loads(MINIMAL), overrides)


def test_overrides_are_for_scenarios() -> None:
    with pytest.raises(ScenarioError, match=r"must be a Scenario, such as sim\.load\(FILE\) gives"):
        with_overrides("orders.toml", {"seed": 3})  # type: ignore[arg-type]  # that is what is tested


# Left out on wish

WITH_INDEXES = """
format = 1
duration = "1h"
[fields]
user = { kind = "uniform", count = 1000 }
status = { kind = "choice", weights = { open = 1, done = 9 } }
[table]
name = "orders"
pk = "USER#{user}"
sk = "x"
mode = "provisioned"
read_capacity = 10
write_capacity = 10
autoscaling = { write = { min = 5, max = 100 } }
[[table.gsi]]
name = "ByStatus"
pk = "{status}"
read_capacity = 10
write_capacity = 10
[[table.lsi]]
name = "L"
sk = "y"
[[traffic]]
name = "writes"
operation = "PutItem"
rate = 1
where = { status = "open", user = 1 }
was = { status = "done", user = 2 }
touches = { ByStatus = "key-changed", L = "put" }
[[traffic]]
name = "reads"
operation = "Query"
index = "ByStatus"
rate = 1
[[traffic]]
name = "after"
operation = "GetItem"
follows = { traffic = "reads" }
"""


def test_indexes_and_auto_scaling_are_left_out_with_what_hangs_on_them() -> None:
    scenario = loads(WITH_INDEXES, without={"indexes", "autoscaling"})
    assert [traffic.name for traffic in scenario.traffic] == ["writes"]
    assert scenario.table.gsi == ()
    assert scenario.table.autoscaling is None
    assert scenario.traffic[0].touches == {"L": IndexChange.PUT}
    assert scenario.traffic[0].where == {"user": 1}
    assert scenario.traffic[0].was == {}
    assert set(scenario.fields) == {"user"}
    notes = " ".join(scenario.notes)
    assert "ByStatus" in notes
    assert "after, reads" in notes
    assert "Auto scaling of the table is left out" in notes


def test_what_is_not_simulated_yet_is_refused_with_its_cure() -> None:
    index = 'pk = "{status}"'
    (problem,) = problems_of(WITH_INDEXES.replace(index, index + '\ncreated_at = "5m"'))
    assert problem.path == "table.gsi[0].created_at"
    assert "understood but not simulated yet" in problem.message
    assert problem.hint


def test_fields_that_only_a_left_out_index_used_go_unless_something_hangs_on_them() -> None:
    shard = 'shard = { kind = "hash", of = "status", count = 2 }\nidle = { kind = "sequence" }\n[table]'
    scenario = loads(WITH_INDEXES.replace("[table]", shard), without={"indexes", "autoscaling"})
    assert set(scenario.fields) == {"user", "status", "shard", "idle"}


def test_nothing_left_after_leaving_out_is_told() -> None:
    text = WITH_INDEXES.replace('operation = "PutItem"', 'operation = "Query"\nindex = "ByStatus"')
    text = "\n".join(line for line in text.splitlines() if not line.startswith(("where", "was", "touches")))
    (problem,) = problems_of(text, without={"indexes", "autoscaling"})
    assert problem.path == "traffic"
    assert "say what comes at the table" in problem.message


def test_only_known_things_can_be_left_out() -> None:
    (problem,) = problems_of(MINIMAL, without={"index"})
    assert problem.hint == "did you mean 'indexes'?"


def test_a_file_in_the_working_folder_is_the_same_scenario_as_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.csv").write_text("who,hits\na,3\nb,1\n")
    text = MINIMAL + '\n[fields.who]\nkind = "csv"\npath = "own.csv"\nvalue = "who"\nweight = "hits"\n'
    Path("own.toml").write_text(text)
    assert load("own.toml") == loads(text)
