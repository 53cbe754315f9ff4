"""Lessons run as a reader runs them: each from its first cell in a fresh kernel, in a folder of its own, with warnings as errors.

The folder is a copy, so that nothing a lesson writes stays. A *thin* pass leaves out cells tagged ``slow``. As a program it runs
all cells of all lessons, two at a time, and writes each as one HTML file that needs nothing beside it:

    python tests/lessons.py --to pages
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
ANSWERS = "answers"
SLOW = "slow"  # tag of a cell that the thin pass leaves out
AT_A_TIME = 2

_START_S = 60.0  # a kernel's start on a busy machine
_NAME = re.compile(r"\d\d-[a-z0-9-]+\.ipynb\Z")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Their own deprecations are not the lesson's. A warning counts for the module whose line it points at.
_MACHINERY = "asyncio|comm|debugpy|ipykernel|ipywidgets|IPython|jupyter_client|traitlets|tornado|zmq"
_BEFORE = f"""
import warnings
warnings.simplefilter("error")
warnings.filterwarnings("default", module=r"({_MACHINERY})(\\.|$)")
del warnings
"""
# A printed sentence breaks between words, not inside one.
_WRAP = ".jp-OutputArea-output pre { white-space: pre-wrap; word-break: normal; overflow-wrap: break-word; }"
_CPU = "__import__('time').process_time()"
# A saved page has no kernel: a widget is shown as the picture that it brings along.
_SHOWN = ("text/html", "image/svg+xml", "image/png", "text/markdown", "text/latex", "text/plain")


class LessonError(Exception):
    """A lesson that did not run through; the message names the cell."""


@dataclass(frozen=True, kw_only=True)
class Pass:
    """A lesson that ran through.

    Attributes
    ----------
    notebook : with the outputs of the cells that ran.
    seconds : from the kernel's start to the end of the last cell.
    cpu_s : processor time of the kernel, which a busy machine does not lengthen.
    """

    notebook: NotebookNode
    seconds: float
    cpu_s: float


def lessons(folder: Path = NOTEBOOKS) -> list[Path]:
    """All lessons of a folder in their order, each before its answers."""
    found = [path for path in folder.glob("*.ipynb") if _NAME.match(path.name)]
    found += [path for path in (folder / ANSWERS).glob("*.ipynb") if _NAME.match(path.name)]
    return sorted(found, key=lambda path: (path.name, path.parent != folder))


def label(path: Path) -> str:
    """How a lesson is called in what is printed: ``02-hot-key`` or ``answers/02-hot-key``."""
    return f"{ANSWERS}/{path.stem}" if path.parent.name == ANSWERS else path.stem


def run_lesson(path: Path, *, thin: bool = False, limit_s: float = 120.0) -> Pass:
    """Run a lesson from a fresh kernel.

    Parameters
    ----------
    thin : without the cells that are tagged ``slow``.
    limit_s : seconds that all cells together may take.

    Raises
    ------
    LessonError
        A cell raised, warned or wrote to standard error, or the time was up.
    """
    notebook = nbformat.read(path, as_version=4)
    if thin:
        notebook.cells = [cell for cell in notebook.cells if SLOW not in cell.metadata.get("tags", ())]
    with tempfile.TemporaryDirectory(prefix="lesson-") as temporary:
        folder = Path(temporary) / "notebooks"
        shutil.copytree(path.parent, folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints", ANSWERS))
        with open(Path(temporary) / "kernel.log", "w+", encoding="utf-8", errors="replace") as log:
            return _run(notebook, label(path), folder, Path(temporary), log, limit_s)


def _run(notebook: NotebookNode, name: str, folder: Path, home: Path, log: IO[str], limit_s: float) -> Pass:
    client = NotebookClient(notebook, timeout=_START_S, startup_timeout=int(_START_S), kernel_name="python3")
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # No profile of the user's, with start-up files and history; no warnings of Python's own flags before the first cell.
    env = {**os.environ, "PYTHONPATH": paths, "IPYTHONDIR": str(home / "ipython")}
    env.pop("PYTHONWARNINGS", None)
    began = time.monotonic()
    with client.setup_kernel(cwd=str(folder), env=env, stderr=log):
        _aside(client, _BEFORE)
        for index, cell in enumerate(notebook.cells):
            client.timeout = max(1, int(began + limit_s - time.monotonic()))
            try:
                client.execute_cell(cell, index)
            except CellExecutionError as error:
                told = _COLOURS.sub("", "\n".join(cell.outputs[-1].get("traceback", ())))
                raise LessonError(f"{name}, {_place(index, cell)}: {error.ename}: {error.evalue}\n{told}") from None
            except CellTimeoutError:
                raise LessonError(f"{name}, {_place(index, cell)}: not done {limit_s:g} s after the start") from None
            except DeadKernelError:
                log.seek(0)
                raise LessonError(f"{name}, {_place(index, cell)}: the kernel died\n{log.read()[-2000:]}") from None
            said = "".join(o.text for o in cell.get("outputs", ()) if o.get("name") == "stderr")
            if said:
                raise LessonError(f"{name}, {_place(index, cell)}: wrote to standard error:\n{said}")
        seconds = time.monotonic() - began
        cpu_s = float(_aside(client, _CPU).outputs[0].data["text/plain"])
    return Pass(notebook=notebook, seconds=seconds, cpu_s=cpu_s)


def _aside(client: NotebookClient, source: str) -> NotebookNode:
    """Run code that is no part of the lesson: neither in the notebook nor in its numbering afterwards."""
    cell = nbformat.v4.new_code_cell(source)
    client.timeout = _START_S
    client.nb.cells.append(cell)
    try:
        return client.execute_cell(cell, len(client.nb.cells) - 1, store_history=False)
    finally:
        client.nb.cells.pop()


def _place(index: int, cell: NotebookNode) -> str:
    first = next((line for line in cell.source.splitlines() if line.strip()), "")
    return f"cell {index + 1} ({first.strip()[:60]})"


def page(notebook: NotebookNode, title: str) -> str:
    """A lesson that ran as one HTML file: pictures and style in it, no script, nothing fetched."""
    shown = nbformat.from_dict({**notebook, "metadata": {**notebook.metadata, "title": title}})
    shown.metadata.pop("widgets", None)
    exporter = HTMLExporter(template_name="lab")
    exporter.mathjax_url = exporter.require_js_url = exporter.jquery_url = exporter.jupyter_widgets_base_url = ""
    for cell in shown.cells:
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data = {kind: output.data[kind] for kind in _SHOWN if kind in output.data}
    text, _ = exporter.from_notebook_node(shown)
    text = text.replace("</head>", f"<style>{_WRAP}</style></head>", 1)
    return re.sub(r"<script\b.*?</script>", "", text, flags=re.DOTALL)


def write_page(path: Path, to: Path, limit_s: float) -> tuple[float, float]:
    """Run a lesson and write its page; returns seconds on the clock and of the processor."""
    done = run_lesson(path, limit_s=limit_s)
    file = to / f"{label(path)}.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page(done.notebook, label(path)), encoding="utf-8")
    return done.seconds, done.cpu_s


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all lessons and write them as HTML; returns 1 if one failed."""
    parser = argparse.ArgumentParser(
        description="Run all cells of all lessons in fresh kernels, and write them as HTML."
    )
    parser.add_argument("--from", dest="folder", type=Path, default=NOTEBOOKS, help="folder of the notebooks")
    parser.add_argument("--to", type=Path, default=ROOT / "pages", help="folder of the HTML files")
    parser.add_argument("--limit", type=float, default=120.0, metavar="SECONDS", help="of one lesson (120)")
    asked = parser.parse_args(arguments)
    found = lessons(asked.folder)
    if not found:
        print(f"no lessons in {asked.folder}", file=sys.stderr)
        return 1
    began = time.monotonic()
    failed = []
    with ProcessPoolExecutor(AT_A_TIME) as pool:
        running = {pool.submit(write_page, path, asked.to, asked.limit): path for path in found}
        for future in as_completed(running):
            name = label(running[future])
            try:
                seconds, cpu_s = future.result()
                print(f"{name:40} {seconds:6.1f} s (processor {cpu_s:.1f} s)", flush=True)
            except LessonError as error:
                failed.append(name)
                print(f"{name:40} FAILED\n{error}", flush=True)
    print(f"{len(found) - len(failed)} of {len(found)} lessons in {time.monotonic() - began:.0f} s, in {asked.to}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
