"""Where the command line writes: files, JSON, the terminal and the progress bar."""

from __future__ import annotations

import json
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.cli.messages import say, wrong
from sim.files import write_whole

if TYPE_CHECKING:
    from rich.console import Console

    from sim.scenario import Scenario

PROGRESS_AFTER_S = 2.0
PLOT_SUFFIXES = (".png", ".svg", ".pdf")


def check_plot(plot: Path) -> None:
    """Refuse a picture in a format that there is none of, or where it cannot be written."""
    if plot.suffix.lower() not in PLOT_SUFFIXES:
        raise wrong("--plot", f"must end in {', '.join(PLOT_SUFFIXES)}", value=str(plot))
    check_output("--plot", plot)


def check_metrics(metrics: Path) -> None:
    """Refuse a file for metrics that is no JSON, or cannot be written."""
    if metrics.suffix.lower() != ".json":
        raise wrong("--metrics", "must end in .json", value=str(metrics))
    check_output("--metrics", metrics)


def check_output(option: str, path: Path) -> None:
    """Refuse a path that cannot be written anyway, before the work is done that would be written there."""
    with writing(path):
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            mode = 0
        if stat.S_ISDIR(mode):
            raise wrong(option, "is a folder, not a file", value=str(path))
        if not path.parent.is_dir():
            raise wrong(option, f"there is no folder {path.parent}", value=str(path))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Around whatever writes a file that the user has named."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise wrong(str(path), f"cannot be written: {error.strerror or error}") from None


def console() -> Console:
    """The terminal, or whatever stands in its place."""
    from rich.console import Console

    class OurConsole(Console):
        def on_broken_pipe(self) -> None:
            raise  # the BrokenPipeError that rich is handling: a reader that goes away is no fault

    return OurConsole()


def run_with_progress(scenario: Scenario, *, show_progress: bool, **options: Any) -> Any:
    """Run a scenario; a long run shows a bar where somebody looks."""
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


def print_json(value: Any, indent: int | None = None) -> None:
    """Print one JSON value on standard output."""
    sys.stdout.write(json_text(value, indent))


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON, with numpy's numbers and arrays as Python's."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, indent=indent, default=_plain_number) + "\n"


def _plain_number(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} in a result is no JSON value")


def check_kept(path: Path, *, force: bool) -> None:
    """Refuse a file that the user is to keep where it cannot be written, or lies over another one without being told to."""
    check_output("--output", path)
    if path.exists() and not force:
        raise wrong(str(path), "exists already", hint="--force overwrites it")


def keep(path: Path, text: str) -> None:
    """Write a file that the user keeps, whole or not at all, and say so."""
    with writing(path):
        write_whole(path, text.encode("utf-8"))
    say(f"wrote {path}")
