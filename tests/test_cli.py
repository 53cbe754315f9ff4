"""The command line: exit codes, what goes to which stream, and no traceback whatever the file."""

from __future__ import annotations

import copy
import errno
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_scenario import MINIMAL, WITH_INDEXES
from typer.testing import CliRunner, Result

from sim.cli import IMPORT_EXAMPLES, app
from sim.errors import ImportFileError, Problem, printable
from sim.files import write_whole
from sim.importers.documents import READ_FORMS
from sim.results.outcome import version as installed_version

ROOT = Path(__file__).resolve().parent.parent


def ddbsim(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "orders.toml"
    path.write_text(MINIMAL)
    return path


class FakeResult:
    """What the command line asks of a result."""

    def __init__(self, scenario: Any, throttled_fraction: Any = 0.02, failed_fraction: float = 0.0) -> None:
        self.document = {
            "format": 1,
            "seed": scenario.seed,
            "throttled_fraction": throttled_fraction,
            "failed_fraction": failed_fraction,
            "failures": [{"error": "ThrottlingException", "count": 1}, {"error": "ValidationException", "count": 9}],
        }

    def to_dict(self) -> dict[str, Any]:
        return copy.deepcopy(self.document)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
    """Put another function in the place of the simulation, the report and the picture."""

    def install(run: Callable[..., Any]) -> None:
        def report(result: Any, console: Any) -> None:
            console.print(f"report of {result.document}")

        def picture(result: Any, path: Path) -> None:
            path.write_bytes(b"picture")

        fakes: dict[str, dict[str, Any]] = {
            "sim.run": {"run": run, "check": lambda scenario: None},
            "sim.results.report": {"print_report": report},
            "sim.results.plots": {"save_run": picture},
        }
        for name, members in fakes.items():
            module = ModuleType(name)
            for key, member in members.items():
                setattr(module, key, member)
            monkeypatch.setitem(sys.modules, name, module)

    install(lambda scenario, progress=None: FakeResult(scenario))
    return install


# check


def test_a_valid_file_is_called_valid(file: Path) -> None:
    result = ddbsim("check", file)
    assert (result.exit_code, result.stdout) == (0, f"{file}: valid\n")


def test_a_wrong_file_exits_with_two_and_says_all_on_standard_error(file: Path) -> None:
    file.write_text(MINIMAL.replace("rate = 100", "rate = -1\nitem_byte = 5"))
    result = ddbsim("check", file)
    assert (result.exit_code, result.stdout) == (2, "")
    first, second = result.stderr.splitlines()
    assert first.startswith(f"{file}: traffic[0].rate: must be a number from 0 to 1e9 requests per second")
    assert "(given: -1)" in first
    assert "did you mean 'item_bytes'? There are: " in second


def test_what_is_left_out_is_said(file: Path) -> None:
    file.write_text(WITH_INDEXES)
    assert "ByStatus" not in ddbsim("check", file).stderr
    result = ddbsim("check", file, "--without-indexes", "--without-autoscaling")
    assert result.exit_code == 0
    assert "ByStatus" in result.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rate = 100", "rate = 100\npartition = 4", "traffic[0].partition: the table starts with 4 partitions"),
        (
            "[table]",
            '[cost]\nreserved_read = 5\n[table]\ntable_class = "standard-ia"',
            "cost.reserved_read: reserved capacity is for standard tables only",
        ),
        ('duration = "1h"', 'duration = "400d"\nperiod = "1s"', "period: "),
        ("format = 1", 'format = 1\nprices = "prices.toml"', "prices.toml: table: no such key in a price sheet"),
    ],
)
def test_checking_says_what_running_would_say(file: Path, old: str, new: str, message: str) -> None:
    (file.parent / "prices.toml").write_text("[table]\n")
    file.write_text(MINIMAL.replace(old, new, 1))
    results = [ddbsim(command, file) for command in ("check", "run", "compare")]
    assert {result.exit_code for result in results} == {2}
    assert len({result.stderr for result in results}) == 1, [result.stderr for result in results]
    assert message in results[0].stderr
    assert str(file) in results[0].stderr or "prices.toml" in message


def test_what_seems_not_to_be_meant_is_said_and_is_no_error(file: Path) -> None:
    file.write_text(MINIMAL.replace("USER#{user}", "USER#user"))
    result = ddbsim("check", file)
    told = "fields.user is used by no key template and does nothing: did you mean {user} in table.pk?"
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{file}: valid\n", f"{told}\n")
    run = ddbsim("run", file, "--json", "--set", "duration=10s")
    assert told in json.loads(run.stdout)["warnings"]


def test_a_level_is_checked_as_it_is_run(file: Path) -> None:
    file.write_text(MINIMAL.replace("rate = 100", "threads = 3"))
    result = ddbsim("check", file)
    assert result.exit_code == 2
    assert 'level = "request" simulates it' in result.stderr
    assert ddbsim("check", file, "--level", "request").exit_code == 0


@pytest.mark.parametrize(
    "arguments", [["check"], ["chek", "x"], ["run", "x", "--sed", "3"], ["run", "x", "--seed", "a"]]
)
def test_wrong_usage_exits_with_two(arguments: list[str]) -> None:
    assert ddbsim(*arguments).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "seed"], "--set: must be PATH=VALUE (given: seed)"),
        (["--set", "=5"], "--set: must be PATH=VALUE"),
        (["--set", "traffic.red.rate=5"], "did you mean 'reads'?"),
        (["--seed", "-1"], "--set: seed: must be a whole number from 0"),
        (["--level", "flows"], "did you mean 'flow'?"),
        (["--fail-over", "lots"], "--fail-over: must be a share"),
        (["--fail-over", "101%"], "--fail-over: must be a share"),
        (["--plot", "run.bmp"], "--plot: must end in .png"),
        (["--plot", "no/such/folder/run.png"], "--plot: there is no folder"),
    ],
)
def test_wrong_options_exit_with_two(file: Path, arguments: list[str], message: str) -> None:
    result = ddbsim("run", file, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


# run and compare


@pytest.mark.usefixtures("engine")
def test_json_is_one_object_and_nothing_else_on_standard_output(file: Path, tmp_path: Path) -> None:
    result = ddbsim("run", file, "--json", "--seed", "3", "--plot", tmp_path / "run.png")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["seed"] == 3
    assert result.stdout.count("\n") == 1
    assert (tmp_path / "run.png").read_bytes() == b"picture"


@pytest.mark.usefixtures("engine")
def test_without_json_it_reports(file: Path) -> None:
    assert "report of" in ddbsim("run", file).stdout


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("limit", "code"), [("1%", 1), ("2%", 0), ("0.0199", 1), ("0.02", 0), ("100%", 0), ("0", 1)])
def test_fail_over_exits_with_one_above_the_limit_only(file: Path, limit: str, code: int) -> None:
    result = ddbsim("run", file, "--json", "--fail-over", limit)
    assert result.exit_code == code
    assert json.loads(result.stdout)["throttled_fraction"] == 0.02
    assert ("over the limit" in result.stderr) == bool(code)
    assert "failed" not in result.stderr


@pytest.mark.parametrize(
    ("failed", "limit", "code"), [(0.5, "50%", 0), (0.5, "49%", 1), (1.0, "1%", 1), (0.01, "1%", 1)]
)
def test_fail_over_counts_failed_requests_too_and_says_which(
    file: Path, engine: Any, failed: float, limit: str, code: int
) -> None:
    engine(lambda scenario, progress=None: FakeResult(scenario, 0.02, failed))
    result = ddbsim("run", file, "--json", "--fail-over", limit)
    assert result.exit_code == code
    throttled = "2.000% of attempts throttled, over the limit" in result.stderr
    assert throttled == (limit == "1%")
    told = f"{failed:.3%} of requests failed (most with ValidationException), over the limit"
    assert (told in result.stderr) == (code == 1 and failed > 0.01)


def test_requests_that_fail_without_a_throttle_pass_the_limit(file: Path) -> None:
    large = ["--set", "traffic.reads.operation=PutItem", "--set", f"traffic.reads.item_bytes={400 * 1024 + 1}"]
    result = ddbsim("run", file, "--json", "--set", "duration=10s", "--fail-over", "1%", *large)
    assert result.exit_code == 1
    assert "100.000% of requests failed (most with ValidationException), over the limit of 1.000%" in result.stderr


def test_compare_shows_all_or_tells_what_is_wrong_in_each(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(MINIMAL)
    assert ddbsim("compare", file, other).stdout.split()[:2] == ["orders", "other"]
    runs = json.loads(ddbsim("compare", file, other, "--json", "--set", "seed=9").stdout)["runs"]
    assert [(run["file"], run["label"], run["result"]["seed"]) for run in runs] == [
        (str(file), "orders", 9),
        (str(other), "other", 9),
    ]
    other.write_text("format = 2")
    result = ddbsim("compare", file, other, tmp_path / "third.toml")
    assert result.exit_code == 2
    assert "other.toml: format" in result.stderr
    assert "third.toml: no such file" in result.stderr


def test_compare_names_the_cheapest_that_throttles_less_than_it_may(file: Path, tmp_path: Path) -> None:
    small, large = tmp_path / "small.toml", tmp_path / "large.toml"
    for path, capacity in (
        (small, 60),
        (large, 120),
    ):  # of 100 writes a second, so that 40 % are refused once the burst is spent
        path.write_text(
            MINIMAL.replace(
                'mode = "on-demand"', f'mode = "provisioned"\nread_capacity = 1\nwrite_capacity = {capacity}'
            )
            .replace('"GetItem"', '"PutItem"')
            .replace("[table]", "[table]\nburst_at_start = 0", 1)
        )
    strict = json.loads(ddbsim("compare", small, large, "--json").stdout)
    lax = json.loads(ddbsim("compare", small, large, "--json", "--max-throttled", "45%").stdout)
    assert [strict["cheapest"], lax["cheapest"]] == ["large", "small"]
    assert [run["serves"] for run in strict["runs"]] == [False, True]
    assert [run["serves"] for run in lax["runs"]] == [True, True]
    assert (strict["max_throttled"], lax["max_throttled"]) == (0.01, 0.45)
    capacity = (120 * 0.00065 + 0.00013) * 730  # and a cent or so for what is stored
    assert capacity < strict["runs"][1]["per_month"] < capacity + 0.05
    assert (
        "Cheapest with at most 45 % throttled: small"
        in ddbsim("compare", small, large, "--max-throttled", "45%").stdout
    )
    wrong = ddbsim("compare", small, large, "--max-throttled", "few")
    assert wrong.exit_code == 2
    assert "--max-throttled: must be a share" in wrong.stderr


def test_a_fault_of_the_program_exits_with_one_and_shows_where_on_wish(file: Path, engine: Any) -> None:
    def broken(scenario: Any, progress: Any = None) -> Any:
        raise RuntimeError("the bucket leaks")

    engine(broken)
    result = ddbsim("run", file)
    assert result.exit_code == 1
    assert "This is a fault of ddbsim, not of your input." in result.stderr
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in ddbsim("--debug", "run", file).stderr


def test_a_result_with_a_nan_is_a_fault_not_wrong_json(file: Path, engine: Any) -> None:
    engine(lambda scenario, progress=None: FakeResult(scenario, float("nan")))
    result = ddbsim("run", file, "--json")
    assert (result.exit_code, result.stdout) == (1, "")


def test_an_input_error_of_the_run_exits_with_two(file: Path, engine: Any) -> None:
    def refuses(scenario: Any, progress: Any = None) -> Any:
        raise ImportFileError([Problem(source="prices.toml", path="read", message="is missing")])

    engine(refuses)
    result = ddbsim("run", file)
    assert (result.exit_code, result.stderr) == (2, "prices.toml: read: is missing\n")


def test_an_interrupt_is_no_fault(file: Path, engine: Any) -> None:
    def interrupted(scenario: Any, progress: Any = None) -> Any:
        raise KeyboardInterrupt

    engine(interrupted)
    assert ddbsim("run", file).exit_code == 130


# schema, version, import


def test_the_schema_is_json() -> None:
    result = ddbsim("schema")
    assert result.exit_code == 0
    assert set(json.loads(result.stdout)["required"]) == {"format", "duration", "table", "traffic"}


def test_there_is_a_version() -> None:
    one, other = ddbsim("version"), ddbsim("--version")
    assert (one.exit_code, one.stdout) == (other.exit_code, other.stdout) == (0, f"{installed_version()}\n")


@pytest.mark.parametrize("command", ["run", "import"])
def test_help_shows_examples(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "300", "TERMINAL_WIDTH": "300"})
    assert result.exit_code == 0
    examples = result.stdout[result.stdout.index("Examples:") :]
    assert examples.count(f"ddbsim {command} ") >= 2


def test_help_of_import_names_every_form_that_it_reads() -> None:
    assert READ_FORMS in IMPORT_EXAMPLES


@pytest.fixture
def importer(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []

    def import_file(path: Path, **options: Any) -> str:
        calls.append((path, options))
        if not path.exists():
            raise ImportFileError([Problem(source=str(path), path="", message="no such file")])
        return "format = 1\n"

    module = ModuleType("sim.importers")
    module.import_file = import_file  # type: ignore[attr-defined]  # a stand-in for the module
    monkeypatch.setitem(sys.modules, "sim.importers", module)
    return calls


def test_import_prints_or_writes_and_overwrites_on_wish_only(importer: list[Any], file: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.toml"
    assert ddbsim("import", file).stdout == "format = 1\n"
    assert ddbsim("import", file, "-o", output, "--table", "T", "--parameter", "Stage=a=b").exit_code == 0
    assert output.read_text() == "format = 1\n"
    assert importer[-1] == (
        file,
        {"traffic": None, "table": "T", "parameters": {"Stage": "a=b"}, "output_dir": tmp_path},
    )
    output.write_text("mine")
    result = ddbsim("import", file, "-o", output)
    assert (result.exit_code, output.read_text()) == (2, "mine")
    assert "--force" in result.stderr
    assert ddbsim("import", file, "-o", output, "--force").exit_code == 0
    assert output.read_text() == "format = 1\n"
    assert ddbsim("import", file, "-o", tmp_path / "no" / "folder.toml").exit_code == 2
    assert ddbsim("import", file, "--parameter", "Stage").exit_code == 2
    assert ddbsim("import", tmp_path / "nobody.yaml").exit_code == 2


# Whatever the file


@settings(max_examples=60)
@given(data=st.data())
def test_no_file_brings_a_traceback(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = data.draw(st.sampled_from([MINIMAL, WITH_INDEXES]))
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    patch = data.draw(
        st.text(max_size=8) | st.sampled_from(["nan", "-1", "{}", "[", '"', "1e999", "true", "#", "\n[x]\n"])
    )
    file = tmp_path_factory.mktemp("fuzz") / "a.toml"
    file.write_text(text[:start] + patch + text[end:], encoding="utf-8", newline="")
    result = ddbsim("check", file)
    assert result.exit_code in {0, 2}, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    assert "fault of ddbsim" not in result.output


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"format = 1", b"a = " + b"[" * 4000, b"\x00"])
def test_no_bytes_bring_a_traceback(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(content)
    result = ddbsim("check", file)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


# As a process


def process(*arguments: str | Path, module: str = "sim.cli", **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-m", module, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, text=True, env=environment, stderr=subprocess.PIPE, **options)


def test_a_reader_that_goes_away_is_no_fault() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with process("schema", stdout=writing) as running:
        os.close(writing)
        assert running.stderr is not None
        complaint = running.stderr.read()
    assert (running.returncode, complaint) == (0, "")


@pytest.mark.parametrize("module", ["sim", "sim.cli"])
def test_the_package_runs_as_a_module(module: str) -> None:
    with process("--version", module=module, stdout=subprocess.PIPE) as running:
        answer, complaint = running.communicate()
    assert (running.returncode, answer, complaint) == (0, f"{installed_version()}\n", "")


def test_a_path_that_is_no_unicode_is_shown_escaped() -> None:
    with process("check", os.fsdecode(b"/no/\xff.toml"), stdout=subprocess.PIPE) as running:
        _, complaint = running.communicate()
    assert running.returncode == 2
    assert "no such file" in complaint
    assert "Traceback" not in complaint


def test_checking_draws_no_picture_and_reads_no_frame(file: Path) -> None:
    script = "import sys; from sim.scenario import load; load(sys.argv[1]); import sim.cli; print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, str(file)]
    loaded = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    assert not {"pandas", "matplotlib"} & set(loaded)


@pytest.mark.parametrize("arguments", [["run"], ["compare"], ["run", "--help"]])
def test_a_report_whose_reader_goes_away_is_no_fault(arguments: list[str], file: Path) -> None:
    files = [] if "--help" in arguments else [file, file] if "compare" in arguments else [file]
    settings = [] if "--help" in arguments else ["--set", "duration=10s"]
    reading, writing = os.pipe()
    os.close(reading)
    with process(*arguments, *files, *settings, stdout=writing) as running:
        os.close(writing)
        assert running.stderr is not None
        complaint = running.stderr.read()
    assert (running.returncode, complaint) == (0, "")


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = line.replace("ddbsim", f"{shlex.quote(sys.executable)} -m sim.cli")
    with_path = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(["bash", "-c", command], text=True, capture_output=True, env=with_path, check=False)


def test_closed_streams_are_streams_into_nothing(file: Path) -> None:
    closed = shell(f"ddbsim check {file} >&-")
    assert (closed.returncode, closed.stdout, closed.stderr) == (0, "", "")
    closed = shell("ddbsim check no.toml 2>&-")
    assert (closed.returncode, closed.stdout, closed.stderr) == (2, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", ["schema", "run --help"])
def test_full_standard_output_is_said_and_is_no_fault_of_ours(command: str) -> None:
    full = shell(f"ddbsim {command} > /dev/full")
    assert (full.returncode, full.stderr) == (1, "standard output cannot be written: No space left on device\n")


@pytest.mark.parametrize("columns", ["0", "-3", "²", "99999"])
def test_a_width_that_is_none_is_eighty(columns: str) -> None:
    assert shell("ddbsim run --help", COLUMNS=columns).stdout == shell("ddbsim run --help", COLUMNS="80").stdout


# Files that are written


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.toml"
    write_whole(path, b"old")
    path.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"newer")
    assert path.read_bytes() == b"new"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.toml", "out.toml"]


@pytest.mark.parametrize(("name", "message"), [("folder.png", "is a folder"), ("n" * 300 + ".png", "name too long")])
def test_a_plot_that_cannot_be_written_is_refused_before_the_run(
    file: Path, engine: Any, name: str, message: str
) -> None:
    def never(scenario: Any, progress: Any = None) -> Any:
        raise AssertionError("it ran")

    engine(never)
    (file.parent / "folder.png").mkdir()
    result = ddbsim("run", file, "--plot", file.parent / name)
    assert result.exit_code == 2
    assert message in result.stderr.lower()


# Text of others in messages


def test_what_a_terminal_would_obey_is_escaped_in_messages_and_long_text_is_cut() -> None:
    evil = "a\x1b[31m\u202eb\u200b\x07\n\x9b"
    problem = str(Problem(source=evil, path=evil, message=evil, value=evil * 1000, hint=evil))
    assert problem.isprintable()
    assert "\\x1b[31m\\u202eb" in problem
    assert len(problem) < 3000
    assert printable("größe — ☃ 表") == "größe — ☃ 表"


# What was set on the command line


@pytest.mark.parametrize(
    ("setting", "begins"),
    [
        (".".join("a" * 3000) + "=1", "--set: "),
        ("x=" + "[" * 80 + "]" * 80, "--set: "),
        ("traffic.reads.partition=9", "--set: traffic[0].partition: the table starts with 4 partitions"),
        ("table.pk=USER#{nobody}", "--set: table.pk: "),
        ("calibration.heat_window_s=1e308", "--set: calibration.heat_window_s: must be at most 2,592,000 s"),
        ("calibration.heat_window_s=1", "--set: calibration.heat_window_s: must be at least 60 s"),
    ],
)
def test_what_a_setting_breaks_is_blamed_on_it(file: Path, setting: str, begins: str) -> None:
    result = ddbsim("check", file, "--set", setting)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(begins)
    assert len(result.stderr) < 2000


def test_what_is_wrong_in_the_file_is_not_blamed_on_a_setting(file: Path) -> None:
    file.write_text(MINIMAL.replace("rate = 100", "rate = 100\npartition = 4"))
    assert ddbsim("check", file, "--set", "seed=3").stderr.startswith(f"{file}: traffic[0].partition")
    file.write_text(MINIMAL.replace("USER#{user}", "USER#{nobody}"))
    assert ddbsim("check", file, "--set", "seed=3").stderr.startswith(f"{file}: ")


def test_an_effect_elsewhere_is_blamed_on_the_setting(file: Path) -> None:
    result = ddbsim("check", file, "--set", "table.mode=provisioned")
    assert result.exit_code == 2
    assert result.stderr.startswith("--set: table.")
    assert str(file) not in result.stderr


def test_metrics_are_written_as_get_metric_data_answers(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "cloudwatch.json"
    result = ddbsim("run", file, "--metrics", out, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(out.read_text())
    assert set(found) == {"MetricDataQueries", "MetricDataResults", "Messages"}
    (consumed,) = [one for one in found["MetricDataResults"] if one["Label"].endswith("ConsumedWriteCapacityUnits Sum")]
    assert len(consumed["Values"]) == 60
    assert sum(consumed["Values"]) == json.loads(result.stdout)["consumed"]["table"]["write_units"]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("metrics.csv", [], "--metrics: must end in .json (given: "),
        ("no/folder/metrics.json", [], "--metrics: there is no folder"),
        ("metrics.json", ["--set", "tick=120", "--set", "period=120"], "ticks of 120 s do not divide one"),
    ],
)
def test_metrics_that_cannot_be_written_are_refused_before_the_run(
    file: Path, tmp_path: Path, name: str, settings: list[str], message: str, engine: Any
) -> None:
    engine(lambda scenario, progress=None: pytest.fail("it ran"))
    result = ddbsim("run", file, "--metrics", tmp_path / name, *settings)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / name).exists()


def test_an_alarm_on_what_is_not_produced_exits_with_two(file: Path) -> None:
    file.write_text(file.read_text() + '\n[[alarm]]\nmetric = "SystemErrors"\nthreshold = 0\n')
    result = ddbsim("check", file)
    assert result.exit_code == 2
    assert (
        'alarm[0].metric: SystemErrors is understood but not simulated yet in this version (given: "SystemErrors")'
        in result.stderr
    )


def test_a_plot_needs_no_window(file: Path) -> None:
    saved = shell(
        f"ddbsim run {file} --set duration=1m --json --plot {file.parent / 'a.svg'} > /dev/null", MPLBACKEND="nonsense"
    )
    assert (saved.returncode, saved.stderr) == (0, "")
