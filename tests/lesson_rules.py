"""What every lesson keeps to, read from its file: the form of the style guide, and nothing in it that a run or a reader's machine left.

A lesson is ``notebooks/NN-name.ipynb``: a title, its seed, short cells each beside a sentence, and at the end ``## Exercises``, numbered as
headings (``### 1. …``) or as a list (``1. …``). Its answers are ``notebooks/answers/NN-name.ipynb``: one heading for each exercise that
begins with its number (``## 1. …``, ``## Exercise 1 …``).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from lessons import ANSWERS
from nbformat import NotebookNode

CODE_LINES_MAX = 8  # that are neither empty nor a comment
ALLOWED = {"hypothesis", "models", "numpy", "sim"}
# Of the standard library: what reaches out of the notebook.
OUTSIDE = {"ctypes", "ftplib", "http", "multiprocessing", "os", "shutil", "smtplib", "socket", "ssl", "subprocess"} | {
    "urllib",
    "venv",
    "webbrowser",
    "xmlrpc",
}
TAGS = {"slow", "raises-exception"}

_SEED = re.compile(r"\bseeds?\b\D{0,30}\d", re.IGNORECASE)
_EXERCISES = re.compile(r"^##\s+Exercises\s*$", re.MULTILINE)
_SECTION = re.compile(r"^##\s", re.MULTILINE)
_NUMBERED = re.compile(r"^(?:#{3,}\s+(?:Exercise\s+)?|)(\d+)[.):]?\s+\S", re.MULTILINE)
_ANSWER = re.compile(r"^#{2,}\s+(?:Exercise\s+|Answer\s+)?(\d+)\b", re.MULTILINE)
_CODE_SPAN = re.compile(r"```.*?```|``.*?``|`[^`]*`", re.DOTALL)
_DOLLAR = re.compile(r"(?<!\\)\$")


def breaches(path: Path) -> list[str]:
    """Everything that a lesson, or a notebook of answers, does not keep to, as sentences that name the cell."""
    raw = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    found = [] if (raw.nbformat, raw.nbformat_minor) >= (4, 5) else ["is older than format 4.5: its cells have no ids"]
    notebook = nbformat.convert(raw, 4)
    found += _left_by_runs(notebook)
    found += _form(notebook)
    for number, cell in enumerate(notebook.cells, start=1):
        rules = _of_code(cell) if cell.cell_type == "code" else _of_text(cell)
        found += [f"cell {number}: {sentence}" for sentence in rules]
    is_answers = path.parent.name == ANSWERS
    found += _without_its_lesson(path) if is_answers else _exercises(path, notebook)
    return found


def exercises(notebook: NotebookNode) -> list[int]:
    """Numbers of a lesson's exercises, in order."""
    text = _texts(notebook)
    begin = _EXERCISES.search(text)
    if begin is None:
        return []
    rest = text[begin.end() :]
    end = _SECTION.search(rest)
    return [int(number) for number in _NUMBERED.findall(rest[: end.start()] if end else rest)]


def answered(notebook: NotebookNode) -> list[int]:
    """Numbers of the exercises that a notebook of answers has headings for, in order."""
    return [int(number) for number in _ANSWER.findall(_texts(notebook))]


def _texts(notebook: NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def _left_by_runs(notebook: NotebookNode) -> Iterator[str]:
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.get("outputs"):
            yield f"cell {number}: has outputs; clear them before committing"
        if cell.get("execution_count") is not None:
            yield f"cell {number}: has an execution count; clear outputs before committing"
        if wrong := set(cell.metadata) - {"tags"}:
            yield f"cell {number}: has metadata of an editor: {', '.join(sorted(wrong))}"
        if wrong := set(cell.metadata.get("tags", ())) - TAGS:
            yield f"cell {number}: has unknown tags: {', '.join(sorted(wrong))}"
    if notebook.metadata.get("widgets"):
        yield "has the state of widgets; clear outputs before committing"
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != "python3":
        yield f"its kernel is {kernel!r}, not 'python3': JupyterLab would ask which to use"


def _form(notebook: NotebookNode) -> Iterator[str]:
    cells = notebook.cells
    if not cells or cells[0].cell_type != "markdown" or not cells[0].source.startswith("# "):
        yield "does not start with a title: a first cell of text that begins with '# '"
    if not _SEED.search(_texts(notebook)):
        yield "does not name its seed in a sentence: 'seed 1'"
    ids = [cell.get("id") for cell in cells]
    if None in ids or len(set(ids)) != len(ids):
        yield "has cells without an id, or two with the same"
    for number, cell in enumerate(cells, start=1):
        beside = [*cells[max(number - 2, 0) : number - 1], *cells[number : number + 1]]
        if cell.cell_type == "code" and all(other.cell_type != "markdown" for other in beside):
            yield f"cell {number}: no cell of text stands before or after it"


def _of_code(cell: NotebookNode) -> Iterator[str]:
    lines = [line for line in cell.source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        yield "has no code"
    if len(lines) > CODE_LINES_MAX:
        yield f"has {len(lines)} lines of code, more than {CODE_LINES_MAX}; one idea per cell, long code belongs in models"
    if any(re.match(r"\s*[%!?]|.*\?\s*$", line) for line in lines):
        yield "has a magic, a shell command or a question mark of IPython's; lessons are plain Python"
        return
    try:
        tree = ast.parse(cell.source)
    except SyntaxError as error:
        yield f"is no Python: {error.msg}, line {error.lineno}"
        return
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "."]
        for name in names:
            top = name.partition(".")[0]
            if top in OUTSIDE or not (top in ALLOWED or top in sys.stdlib_module_names):
                yield f"imports {name}; a lesson uses sim (with sim.plots), models, numpy, hypothesis and the standard library"
            elif top == "sim" and name not in ("sim", "sim.plots"):
                yield f"imports {name}; a lesson uses what sim itself offers"


def _of_text(cell: NotebookNode) -> Iterator[str]:
    if not cell.source.strip():
        yield "is empty"
    if _DOLLAR.search(_CODE_SPAN.sub("", cell.source)):
        yield r"has a bare dollar sign, which begins a formula; write \$"


def _exercises(path: Path, notebook: NotebookNode) -> Iterator[str]:
    numbers = exercises(notebook)
    if not numbers:
        yield "has no exercises: a heading '## Exercises' with numbered ones under it"
        return
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"its exercises are numbered {numbers}"
    file = path.parent / ANSWERS / path.name
    if not file.is_file():
        yield f"has no answers: {ANSWERS}/{path.name} is missing"
        return
    given = answered(nbformat.read(file, as_version=4))
    if given != numbers:
        yield f"has exercises {numbers}, and its answers have headings for {given}"


def _without_its_lesson(path: Path) -> Iterator[str]:
    if not (path.parent.parent / path.name).is_file():
        yield f"answers a lesson that is not there: {path.name}"
