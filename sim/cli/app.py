"""The commands of `ddbsim`.

Heavy modules are imported inside the commands, so that `--help` and `check` answer at once.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sim.cli.inputs import check_minutes, labels_of, load_runnable, pair, share_of, text_of
from sim.cli.messages import (
    EXIT_INTERRUPTED,
    EXIT_LIMIT_PASSED,
    SETTINGS,
    answers,
    lost_output,
    nowhere,
    printing,
    say,
    wrong,
)
from sim.cli.options import (
    COMPARE_EXAMPLES,
    IMPORT_EXAMPLES,
    NEW_EXAMPLES,
    RUN_EXAMPLES,
    FailOverOption,
    FileArgument,
    FilesArgument,
    JsonOption,
    LevelOption,
    MaxThrottledOption,
    NoProgressOption,
    PlotOption,
    SeedOption,
    SetOption,
    WithoutAutoscalingOption,
    WithoutIndexesOption,
    WorkloadOption,
)
from sim.cli.outputs import (
    check_kept,
    check_metrics,
    check_output,
    check_plot,
    console,
    json_text,
    keep,
    print_json,
    run_with_progress,
    writing,
)
from sim.errors import InputError, Problem, ScenarioError, printable
from sim.files import write_whole

if TYPE_CHECKING:
    from sim.scenario import Scenario

app = typer.Typer(
    name="ddbsim",
    help="A DynamoDB partition simulator: see which partition, key or index throttles, when and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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
    SETTINGS["debug"] = debug


@app.command(epilog=RUN_EXAMPLES)
@answers
def run(
    file: FileArgument,
    workload: WorkloadOption = None,
    as_json: JsonOption = False,
    plot: PlotOption = None,
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
    limit = _limit(fail_over)
    if plot is not None:
        check_plot(plot)
    if log is not None:
        check_output("--log", log)
    if metrics is not None:
        check_metrics(metrics)
    scenario = load_runnable(file, settings, seed, level, without_indexes, without_autoscaling, workload)
    if metrics is not None:
        check_minutes(scenario)
    if log is None:
        result = run_with_progress(scenario, show_progress=not no_progress)
    else:
        if scenario.level != "request":
            raise wrong(
                "--log", "needs the request level, the only one that makes single attempts", hint="--level request"
            )
        with writing(log):
            result = run_with_progress(scenario, show_progress=not no_progress, log=log)
    if plot is not None:
        _without_windows()
        from sim.results.plots import save_run

        with writing(plot):
            save_run(result, plot)
    if metrics is not None:
        with writing(metrics):
            write_whole(metrics, json_text(result.metric_data(), indent=1).encode("utf-8"))
    with printing():
        if as_json:
            print_json(result.to_dict())
        else:
            from sim.results.report import print_report

            print_report(result, console())
    _fail_over(limit, [(str(file), result)])


@app.command(epilog=COMPARE_EXAMPLES)
@answers
def compare(
    files: FilesArgument,
    as_json: JsonOption = False,
    workload: WorkloadOption = None,
    plot: PlotOption = None,
    max_throttled: MaxThrottledOption = "1%",
    settings: SetOption = None,
    seed: SeedOption = None,
    level: LevelOption = None,
    fail_over: FailOverOption = None,
    without_indexes: WithoutIndexesOption = False,
    without_autoscaling: WithoutAutoscalingOption = False,
    no_progress: NoProgressOption = False,
) -> None:
    """Run scenarios, or designs under one workload, and put them side by side: throttles, latency, bills, the cheapest that serves."""
    limit = _limit(fail_over)
    most = share_of(max_throttled, "--max-throttled")
    if plot is not None:
        check_plot(plot)
    scenarios: list[Scenario] = []
    problems: list[Problem] = []
    for file in files:
        try:
            scenarios.append(load_runnable(file, settings, seed, level, without_indexes, without_autoscaling, workload))
        except InputError as error:
            problems += [one for one in error.problems if one not in problems]
    if problems:
        raise ScenarioError(problems)
    results = [run_with_progress(scenario, show_progress=not no_progress) for scenario in scenarios]
    labelled = list(zip(labels_of(files), results, strict=True))
    from sim.results.comparison import compare as compare_runs

    comparison = compare_runs(dict(labelled), max_throttled=most, by_title=workload is None)
    if plot is not None:
        _without_windows()
        from sim.results.plots import save_comparison

        with writing(plot):
            save_comparison(comparison, plot)
    with printing():
        if as_json:
            said = comparison.to_dict()
            for one, file, (_, result) in zip(said["runs"], files, labelled, strict=True):
                one |= {"file": str(file), "result": result.to_dict()}
            print_json({"format": 1, **said})
        else:
            from sim.results.report import print_comparison

            print_comparison(comparison, console())
    _fail_over(limit, labelled)


@app.command()
@answers
def check(
    file: FileArgument,
    workload: WorkloadOption = None,
    settings: SetOption = None,
    seed: SeedOption = None,
    level: LevelOption = None,
    without_indexes: WithoutIndexesOption = False,
    without_autoscaling: WithoutAutoscalingOption = False,
) -> None:
    """Say what `run` would refuse, and what seems not to be meant, without running: exit code 0 or 2."""
    scenario = load_runnable(file, settings, seed, level, without_indexes, without_autoscaling, workload)
    for note in scenario.notes:
        say(note)
    with printing():
        print(f"{printable(str(file))}: valid")


@app.command()
@answers
def schema() -> None:
    """Print the JSON Schema of the scenario format; editors complete and check TOML with it."""
    from sim.scenario import json_schema

    with printing():
        print_json(json_schema(), indent=2)


@app.command(name="import", epilog=IMPORT_EXAMPLES)
@answers
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
        check_kept(output, force=force)
    parameters = dict(pair("--parameter", text, "NAME=VALUE") for text in parameter or ())
    from sim.importers import import_file

    folder = None if output is None else output.parent
    text = import_file(file, traffic=traffic, table=table, parameters=parameters, output_dir=folder)
    if output is None:
        with printing():
            sys.stdout.write(text)
        return
    keep(output, text)


@app.command()
@answers
def models(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="One of them, or an id: all that is said of it.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the named scenarios, designs and workloads by their ids, one line each."""
    from sim import catalogue
    from sim.cli.listing import found_by, print_listing, print_one

    rows = found_by(name)
    for problem in catalogue.problems():
        say(str(problem))
    with printing():
        if as_json:
            print_json([asdict(row) for row in rows])
        elif name is None:
            print_listing(rows, console())
        else:
            print_one(rows, console())


@app.command(epilog=NEW_EXAMPLES)
@answers
def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A named scenario, or a design together with --workload.", show_default=False
        ),
    ],
    workload: WorkloadOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT.toml",
            help="Write here, not to NAME.toml; - is standard output.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file.")] = False,
) -> None:
    """Start a scenario file of your own from a named one."""
    from sim.scenario import loads

    text = text_of(name, workload)
    loads(text, name)  # a package's own text is not written unread
    path = output or Path(f"{name.lower()}{f'-{workload.lower()}' if workload else ''}.toml")
    if str(path) == "-":
        with printing():
            sys.stdout.write(text)
        return
    check_kept(path, force=force)
    keep(path, text)
    say(f"ddbsim run {shlex.quote(str(path))}")


@app.command()
@answers
def version() -> None:
    """Print the version."""
    from sim.results.outcome import version as installed_version

    with printing():
        print(installed_version())


def _without_windows() -> None:
    """No window is opened for a picture, and a wrong name of a backend would stop matplotlib's import."""
    os.environ.pop("MPLBACKEND", None)


def _limit(fail_over: str | None) -> float | None:
    return None if fail_over is None else share_of(fail_over, "--fail-over")


def _fail_over(limit: float | None, labelled: list[tuple[str, Any]]) -> None:
    if limit is None:
        return
    over = [f"{label}: {sentence}" for label, result in labelled for sentence in _over(limit, result.to_dict())]
    for line in over:
        say(line)
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
    sys.stdout = sys.stdout or nowhere()
    sys.stderr = sys.stderr or nowhere()
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
        say("interrupted")
        return EXIT_INTERRUPTED
    except OSError as error:  # commands handle their own: this is the help, or what was left to write
        return code or lost_output(error)
    return code
