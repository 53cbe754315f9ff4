"""The command line: `ddbsim run`, `compare`, `check`, `schema`, `import`, `version` (`python -m sim` is the same).

Exit codes: 0 ran; 2 the input is wrong; 1 a fault of the program itself, or a limit set on the command line was passed.
Heavy modules are imported inside the commands, so that `--help` and `check` answer at once.
"""

from __future__ import annotations

import functools
import json
import os
import shlex
import stat
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TextIO

import typer

from sim.errors import InputError, Problem, ScenarioError, printable
from sim.files import write_whole

if TYPE_CHECKING:
    from rich.console import Console

    from sim.scenario import Scenario

P = ParamSpec("P")

EXIT_FAULT = 1
EXIT_LIMIT_PASSED = 1
EXIT_WRONG_INPUT = 2
EXIT_INTERRUPTED = 130
LINE_CHARACTERS_MAX = 4000  # of a message
PROGRESS_AFTER_S = 2.0
PLOT_SUFFIXES = (".png", ".svg", ".pdf")

app = typer.Typer(
    name="ddbsim",
    help="A DynamoDB partition simulator: see which partition, key or index throttles, when and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_settings = {"debug": False}


# Paragraphs of an epilog are its lines.
RUN_EXAMPLES = """Examples:

  ddbsim run orders.toml --plot orders.png

  ddbsim run orders.toml --set table.write_capacity=200 --seed 3 --json --fail-over 1%

  ddbsim run orders.toml --level request --log attempts.csv --metrics cloudwatch.json"""
COMPARE_EXAMPLES = """Examples:

  ddbsim compare on-demand.toml provisioned.toml autoscaled.toml

  ddbsim compare before.toml after.toml --max-throttled 0.1% --json"""
IMPORT_EXAMPLES = (
    "Reads CloudFormation and SAM templates, describe-table output, create-table input, CSV traces and YCSB workload files; "
    "which of them a file is, is told by what stands in it."
    """

Examples:

  ddbsim import template.yaml --parameter Stage=prod -o orders.toml

  ddbsim import described.json --traffic requests.csv -o orders.toml"""
)


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a fault of ddbsim itself.")] = False,
    wants_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    _settings["debug"] = debug


def _answers(command: Callable[P, None]) -> Callable[P, None]:
    """Turn whatever a command raises into a message and an exit code."""

    @functools.wraps(command)
    def answer(*args: P.args, **options: P.kwargs) -> None:
        try:
            command(*args, **options)
        except typer.Exit:
            raise
        except InputError as error:
            for problem in error.problems:
                _say(str(problem))
            raise typer.Exit(EXIT_WRONG_INPUT) from None
        except KeyboardInterrupt:
            _say("interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except BrokenPipeError as error:
            raise typer.Exit(_lost_output(error)) from None
        except Exception as error:
            _say_fault(error)
            raise typer.Exit(EXIT_FAULT) from None

    return answer


def _say(line: str) -> None:
    # Standard error that is closed or full loses the message; there is no other place for it.
    with suppress(OSError, ValueError):
        print(printable(line, LINE_CHARACTERS_MAX), file=sys.stderr or _nowhere(), flush=True)


def _say_fault(error: Exception) -> None:
    if _settings["debug"]:
        traceback.print_exception(error, file=sys.stderr)
    _say(f"ddbsim: {type(error).__name__}: {error}")
    again = "" if _settings["debug"] else f" ddbsim --debug {shlex.join(sys.argv[1:])} shows where."
    _say(f"This is a fault of ddbsim, not of your input.{again}")


@contextmanager
def _printing() -> Iterator[None]:
    """Around all that is printed on standard output, so that its failure is told from other files' failures."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        raise typer.Exit(_lost_output(error)) from None


def _lost_output(error: OSError) -> int:
    """The exit code when standard output takes nothing more: 0 if its reader has gone, who had enough."""
    _leave_quietly()
    if isinstance(error, BrokenPipeError):
        return 0
    _say(f"standard output cannot be written: {error.strerror or error}")
    return EXIT_FAULT


def _leave_quietly() -> None:
    """The reader of our output has gone; Python must not complain about it when it flushes at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = _nowhere()


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _wrong(source: str, message: str, *, value: str = "", hint: str = "") -> ScenarioError:
    return ScenarioError([Problem(source=source, path="", message=message, value=value, hint=hint)])


FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A scenario file (TOML).", show_default=False)]
FilesArgument = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Two or more scenario files.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else on it.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change one value: table.write_capacity=200, traffic[0].rate=50, traffic.NAME.rate=50. May be repeated.",
        show_default=False,
    ),
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="The run's randomness.", show_default=False)]
LevelOption = Annotated[
    str | None, typer.Option("--level", metavar="flow|request", help="How traffic is moved.", show_default=False)
]
WithoutIndexesOption = Annotated[
    bool, typer.Option("--without-indexes", help="Leave out global secondary indexes and what reads them.")
]
WithoutAutoscalingOption = Annotated[
    bool, typer.Option("--without-autoscaling", help="Leave out auto scaling: capacity stays as provisioned.")
]
NoProgressOption = Annotated[bool, typer.Option("--no-progress", help="No progress bar on standard error.")]
FailOverOption = Annotated[
    str | None,
    typer.Option(
        "--fail-over",
        metavar="SHARE",
        help="Exit with 1 if more than this share of attempts was throttled, or of requests failed: 1% or 0.01.",
        show_default=False,
    ),
]

MaxThrottledOption = Annotated[
    str,
    typer.Option(
        "--max-throttled",
        metavar="SHARE",
        help="Only a run that throttles at most this share of its attempts, and fails at most this share of its requests, may be called "
        "the cheapest: 1% or 0.01.",
    ),
]


@app.command(epilog=RUN_EXAMPLES)
@_answers
def run(
    file: FileArgument,
    as_json: JsonOption = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="OUT.png", help="Save the picture of the run.", show_default=False)
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log", metavar="OUT.csv", help="Write every attempt as it is made (request level).", show_default=False
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            "--metrics",
            metavar="OUT.json",
            help="Write CloudWatch's metrics, as get-metric-data answers.",
            show_default=False,
        ),
    ] = None,
    settings: SetOption = None,
    seed: SeedOption = None,
    level: LevelOption = None,
    fail_over: FailOverOption = None,
    without_indexes: WithoutIndexesOption = False,
    without_autoscaling: WithoutAutoscalingOption = False,
    no_progress: NoProgressOption = False,
) -> None:
    """Run a scenario and report what throttled, when and why."""
    limit = _share(fail_over)
    _check_plot(plot)
    if log is not None:
        _check_output("--log", log)
    if metrics is not None:
        _check_metrics(metrics)
    scenario = _load(file, settings, seed, level, without_indexes, without_autoscaling)
    if metrics is not None:
        _check_minutes(scenario)
    if log is None:
        result = _run(scenario, show_progress=not no_progress)
    else:
        if scenario.level != "request":
            raise _wrong(
                "--log", "needs the request level, the only one that makes single attempts", hint="--level request"
            )
        with _writing(log):
            result = _run(scenario, show_progress=not no_progress, log=log)
    if plot is not None:
        os.environ.pop("MPLBACKEND", None)  # no window is opened, and a wrong name would stop matplotlib's import
        from sim.results.plots import save_run

        with _writing(plot):
            save_run(result, plot)
    if metrics is not None:
        with _writing(metrics):
            write_whole(metrics, _json_text(result.metric_data(), indent=1).encode("utf-8"))
    with _printing():
        if as_json:
            _print_json(result.to_dict())
        else:
            from sim.results.report import print_report

            print_report(result, _console())
    _fail_over(limit, [(str(file), result)])


@app.command(epilog=COMPARE_EXAMPLES)
@_answers
def compare(
    files: FilesArgument,
    as_json: JsonOption = False,
    max_throttled: MaxThrottledOption = "1%",
    settings: SetOption = None,
    seed: SeedOption = None,
    level: LevelOption = None,
    fail_over: FailOverOption = None,
    without_indexes: WithoutIndexesOption = False,
    without_autoscaling: WithoutAutoscalingOption = False,
    no_progress: NoProgressOption = False,
) -> None:
    """Run scenarios, show throttles, latency and bills side by side, and say which is the cheapest that serves its traffic."""
    limit = _share(fail_over)
    most = _share(max_throttled, "--max-throttled")
    assert most is not None
    scenarios: list[Scenario] = []
    problems: list[Problem] = []
    for file in files:
        try:
            scenarios.append(_load(file, settings, seed, level, without_indexes, without_autoscaling))
        except InputError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)
    results = [_run(scenario, show_progress=not no_progress) for scenario in scenarios]
    labelled = list(zip(_labels(files), results, strict=True))
    from sim.results.comparison import compare as compare_runs

    comparison = compare_runs(dict(labelled), max_throttled=most, by_title=True)
    with _printing():
        if as_json:
            said = comparison.to_dict()
            for one, file, (_, result) in zip(said["runs"], files, labelled, strict=True):
                one |= {"file": str(file), "result": result.to_dict()}
            _print_json({"format": 1, **said})
        else:
            from sim.results.report import print_comparison

            print_comparison(comparison, _console())
    _fail_over(limit, labelled)


@app.command()
@_answers
def check(
    file: FileArgument,
    settings: SetOption = None,
    seed: SeedOption = None,
    level: LevelOption = None,
    without_indexes: WithoutIndexesOption = False,
    without_autoscaling: WithoutAutoscalingOption = False,
) -> None:
    """Say what `run` would refuse, and what seems not to be meant, without running: exit code 0 or 2."""
    scenario = _load(file, settings, seed, level, without_indexes, without_autoscaling)
    for note in scenario.notes:
        _say(note)
    with _printing():
        print(f"{printable(str(file))}: valid")


@app.command()
@_answers
def schema() -> None:
    """Print the JSON Schema of the scenario format; editors complete and check TOML with it."""
    from sim.scenario import json_schema

    with _printing():
        _print_json(json_schema(), indent=2)


@app.command(name="import", epilog=IMPORT_EXAMPLES)
@_answers
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A template, table description, trace or workload that you have.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="OUT.toml", help="Write here, not to standard output.", show_default=False
        ),
    ] = None,
    traffic: Annotated[
        Path | None,
        typer.Option("--traffic", metavar="FILE.csv", help="Measured traffic, as CSV.", show_default=False),
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="NAME", help="Which of several tables.", show_default=False)
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="NAME=VALUE",
            help="Value of a template's parameter. May be repeated.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file.")] = False,
) -> None:
    """Make a scenario from a file that you already have."""
    if output is not None:
        _check_output("--output", output)
    if output is not None and output.exists() and not force:
        raise _wrong(str(output), "exists already", hint="--force overwrites it")
    parameters = dict(_pair("--parameter", text, "NAME=VALUE") for text in parameter or ())
    from sim.importers import import_file

    folder = None if output is None else output.parent
    text = import_file(file, traffic=traffic, table=table, parameters=parameters, output_dir=folder)
    if output is None:
        with _printing():
            sys.stdout.write(text)
        return
    with _writing(output):
        write_whole(output, text.encode("utf-8"))
    _say(f"wrote {output}")


@app.command()
@_answers
def version() -> None:
    """Print the version."""
    from sim.results.outcome import version as installed_version

    with _printing():
        print(installed_version())


def _load(
    file: Path,
    settings: list[str] | None,
    seed: int | None,
    level: str | None,
    without_indexes: bool,
    without_autoscaling: bool,
) -> Scenario:
    """A scenario that can be run."""
    from sim.run import check as check_run
    from sim.scenario import load

    overrides = [_pair("--set", text, "PATH=VALUE") for text in settings or ()]
    if seed is not None:
        overrides.append(("seed", str(seed)))
    if level is not None:
        overrides.append(("level", json.dumps(level)))
    without = {name for name, wanted in (("indexes", without_indexes), ("autoscaling", without_autoscaling)) if wanted}
    scenario = load(file, overrides=overrides, without=without)
    try:
        check_run(scenario)
    except InputError as error:
        # A run does not know from which file its scenario came, nor what was changed in it.
        of_file = _told_of(file, without) if overrides else set(error.problems)
        named = [
            replace(one, source=str(file) if one in of_file else "--set") if one.source == "scenario" else one
            for one in error.problems
        ]
        raise ScenarioError(named) from None
    return scenario


def _told_of(file: Path, without: set[str]) -> set[Problem]:
    """What a run says of the file as it stands, with no value of it changed."""
    from sim.run import check as check_run
    from sim.scenario import load

    try:
        check_run(load(file, without=without))
    except InputError as error:
        return set(error.problems)
    return set()


def _pair(option: str, text: str, shape: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise _wrong(option, f"must be {shape}", value=text)
    return name.strip(), value.strip()


def _share(text: str | None, option: str = "--fail-over") -> float | None:
    if text is None:
        return None
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise _wrong(option, "must be a share: from 0% to 100%, or from 0 to 1", value=text)
    return share


def _check_plot(plot: Path | None) -> None:
    if plot is None:
        return
    if plot.suffix.lower() not in PLOT_SUFFIXES:
        raise _wrong("--plot", f"must end in {', '.join(PLOT_SUFFIXES)}", value=str(plot))
    _check_output("--plot", plot)


def _check_metrics(metrics: Path) -> None:
    if metrics.suffix.lower() != ".json":
        raise _wrong("--metrics", "must end in .json", value=str(metrics))
    _check_output("--metrics", metrics)


def _check_minutes(scenario: Scenario) -> None:
    from sim.scenario.metrics import divides_minutes

    if not divides_minutes(scenario.tick):
        message = f"metrics are made by the minute, and ticks of {scenario.tick:g} s do not divide one"
        raise _wrong("--metrics", message, hint="--set tick=1")


def _check_output(option: str, path: Path) -> None:
    """Refuse a path that cannot be written anyway, before the work is done that would be written there."""
    with _writing(path):
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            mode = 0
        if stat.S_ISDIR(mode):
            raise _wrong(option, "is a folder, not a file", value=str(path))
        if not path.parent.is_dir():
            raise _wrong(option, f"there is no folder {path.parent}", value=str(path))


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _wrong(str(path), f"cannot be written: {error.strerror or error}") from None


def _labels(files: list[Path]) -> list[str]:
    """File names without ending, as long as they differ; whole paths otherwise, numbered if even those repeat."""
    for name in (lambda file: file.stem, str):
        labels = [name(file) for file in files]
        if len(set(labels)) == len(labels):
            return labels
    return [f"{file} ({number})" for number, file in enumerate(files, start=1)]


def _console() -> Console:
    from rich.console import Console

    class OurConsole(Console):
        def on_broken_pipe(self) -> None:
            raise  # the BrokenPipeError that rich is handling: a reader that goes away is no fault

    return OurConsole()


def _run(scenario: Scenario, *, show_progress: bool, **options: Any) -> Any:
    from sim.run import run as run_scenario

    with _progress(scenario.title, show=show_progress and sys.stderr.isatty()) as progress:
        return run_scenario(scenario, progress=progress, **options)


@contextmanager
def _progress(title: str, *, show: bool) -> Iterator[Callable[[float], None] | None]:
    """A bar on standard error, from the moment on at which a run has taken two seconds."""
    if not show:
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(escape(title[:60]) or "running", total=1.0)
    began = time.monotonic()

    def report(fraction: float) -> None:
        if not bar.live.is_started and time.monotonic() - began >= PROGRESS_AFTER_S:
            bar.start()
        bar.update(task, completed=fraction)

    try:
        yield report
    finally:
        bar.stop()


def _print_json(value: Any, indent: int | None = None) -> None:
    sys.stdout.write(_json_text(value, indent))


def _json_text(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, indent=indent, default=_plain_number) + "\n"


def _plain_number(value: Any) -> Any:
    """numpy's numbers and arrays as Python's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} in a result is no JSON value")


def _fail_over(limit: float | None, labelled: list[tuple[str, Any]]) -> None:
    if limit is None:
        return
    over = [f"{label}: {sentence}" for label, result in labelled for sentence in _over(limit, result.to_dict())]
    for line in over:
        _say(line)
    if over:
        raise typer.Exit(EXIT_LIMIT_PASSED)


def _over(limit: float, result: dict[str, Any]) -> list[str]:
    """Which shares of a result are over the limit: of attempts throttled, and of requests failed for whatever reason."""
    sentences = []
    if result["throttled_fraction"] > limit:
        sentences.append(f"{result['throttled_fraction']:.3%} of attempts throttled, over the limit of {limit:.3%}")
    if result["failed_fraction"] > limit:
        most = max(result["failures"], key=lambda failure: failure["count"], default=None)
        why = f" (most with {most['error']})" if most is not None else ""
        sentences.append(f"{result['failed_fraction']:.3%} of requests failed{why}, over the limit of {limit:.3%}")
    return sentences


def main() -> None:
    """Entry point of the `ddbsim` command."""
    # A closed stream is taken as one into nothing; otherwise print() would send messages to standard output instead.
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    columns = os.environ.get("COLUMNS", "1")
    if not (columns.isdecimal() and len(columns) <= 4 and int(columns)):
        del os.environ["COLUMNS"]
    sys.exit(_run_app())


def _run_app() -> int | str | None:
    """Exit code of the whole program, whoever ends it: a command, typer, or rich where it prints the help."""
    code: int | str | None = 0
    try:
        try:
            app()
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):
                raise end.__context__ from None
            code = end.code
        sys.stdout.flush()
    except KeyboardInterrupt:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except OSError as error:  # commands handle their own: this is the help, or what was left to write
        return code or _lost_output(error)
    return code


if __name__ == "__main__":
    main()
