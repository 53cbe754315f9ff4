"""Every lesson keeps to its form, and runs from a fresh kernel with warnings as errors (the thin pass; `make lessons` runs all cells)."""

from __future__ import annotations

from pathlib import Path

import lessons
import nbformat
import pytest
from lesson_rules import breaches
from lessons import LessonError, label, page, run_lesson
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

CPU_MAX_S = 15.0
LIMIT_S = 60.0  # on the clock of a busy machine
ALL = lessons.lessons()

SCENARIO = """import sim
scenario = sim.from_dict({
    "format": 1, "duration": "5m", "table": {"pk": "ONE", "mode": "on-demand"},
    "traffic": [{"name": "writes", "operation": "PutItem", "rate": 1200}],
})"""


@pytest.mark.parametrize("path", ALL, ids=label)
def test_a_lesson_keeps_to_its_form(path: Path) -> None:
    assert breaches(path) == []


@pytest.mark.parametrize("path", ALL, ids=label)
def test_a_lesson_runs_from_a_fresh_kernel(path: Path) -> None:
    assert run_lesson(path, thin=True, limit_s=LIMIT_S).cpu_s < CPU_MAX_S


def test_there_are_twelve_lessons_with_their_answers() -> None:
    numbers = [int(path.name[:2]) for path in ALL]
    assert numbers == [number for number in range(1, 13) for _ in ("lesson", "answers")]


# The harness itself.


def sample(*cells: NotebookNode) -> NotebookNode:
    """A lesson of these cells between a good beginning and a good end."""
    before = [new_markdown_cell("# One key\n\nHow much can one key take? Seed 1.")]
    after = [new_markdown_cell("## Exercises\n\n1. Halve the rate.\n2. Double it.")]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return new_notebook(cells=[*before, *cells, *after], metadata=metadata)


def answers() -> NotebookNode:
    made = sample(new_markdown_cell("## 1. Half"), new_markdown_cell("## Exercise 2: double"))
    made.cells.pop()
    return made


def put(folder: Path, lesson: NotebookNode, answered: NotebookNode | None = None) -> Path:
    (folder / "answers").mkdir(exist_ok=True)
    nbformat.write(lesson, folder / "01-one-key.ipynb")
    nbformat.write(answered or answers(), folder / "answers" / "01-one-key.ipynb")
    return folder / "01-one-key.ipynb"


def code(source: str, **metadata: object) -> NotebookNode:
    return new_code_cell(source, metadata=metadata)


GOOD = (
    code(SCENARIO),
    new_markdown_cell("It is run."),
    code("result = sim.run(scenario)\nresult.throttled_fraction > 0"),
)


def test_a_good_lesson_breaks_no_rule(tmp_path: Path) -> None:
    path = put(tmp_path, sample(*GOOD))
    assert breaches(path) == []
    assert breaches(tmp_path / "answers" / path.name) == []


@pytest.mark.parametrize(
    ("cell", "rule"),
    [
        (code("import matplotlib.pyplot as plt"), "imports matplotlib.pyplot"),
        (code("from urllib.request import urlopen"), "imports urllib.request"),
        (code("from sim.results import plots"), "imports sim.results"),
        (code("!pip install numpy"), "a magic"),
        (code("%timeit 1"), "a magic"),
        (code("sim.run?"), "a magic"),
        (code("1 +"), "is no Python"),
        (code("# nothing"), "has no code"),
        (code("\n".join(f"a{k} = {k}" for k in range(9))), "has 9 lines of code"),
        (code("1", collapsed=True), "metadata of an editor: collapsed"),
        (code("1", tags=["slwo"]), "unknown tags: slwo"),
        (new_code_cell("1", execution_count=3), "has an execution count"),
        (new_code_cell("1", outputs=[nbformat.v4.new_output("stream", text="1")]), "has outputs"),
        (new_markdown_cell("It costs $3 and $4."), "a bare dollar sign"),
        (new_markdown_cell(" "), "is empty"),
    ],
)
def test_a_cell_that_breaks_a_rule_is_named(tmp_path: Path, cell: NotebookNode, rule: str) -> None:
    (found,) = breaches(put(tmp_path, sample(cell)))
    assert found.startswith("cell 2: ")
    assert rule in found


def test_eight_lines_and_dollars_in_code_or_escaped_are_allowed(tmp_path: Path) -> None:
    lines = "# eight, and a comment\n\n" + "\n".join(f"a{k} = {k}" for k in range(8))
    assert breaches(put(tmp_path, sample(code(lines), new_markdown_cell(r"`$3`, and \$4"), code("1")))) == []


def test_code_needs_a_sentence_beside_it(tmp_path: Path) -> None:
    found = breaches(put(tmp_path, sample(code("1"), code("2"), code("3"))))
    assert found == ["cell 3: no cell of text stands before or after it"]


def test_the_form_of_the_whole_is_checked(tmp_path: Path) -> None:
    bare = new_notebook(cells=[new_markdown_cell("One key")])
    bare.nbformat_minor = 4
    bare.cells[0].pop("id")
    found = "\n".join(breaches(put(tmp_path, bare)))
    for rule in ("older than format 4.5", "its kernel is None", "a title", "its seed", "no exercises"):
        assert rule in found


def test_exercises_and_answers_go_together(tmp_path: Path) -> None:
    lesson = sample(code("1"))
    lesson.cells[-1].source = "## Exercises\n\n### 1. Halve\n\n### 3. Double\n\n## Sources\n\n4. is none"
    assert breaches(put(tmp_path, lesson)) == [
        "its exercises are numbered [1, 3]",
        "has exercises [1, 3], and its answers have headings for [1, 2]",
    ]
    path = put(tmp_path, sample(code("1")))
    (tmp_path / "answers" / path.name).rename(tmp_path / "answers" / "02-other.ipynb")
    assert breaches(path) == ["has no answers: answers/01-one-key.ipynb is missing"]
    assert breaches(tmp_path / "answers" / "02-other.ipynb") == ["answers a lesson that is not there: 02-other.ipynb"]


def test_lessons_are_found_in_their_order(tmp_path: Path) -> None:
    put(tmp_path, sample())
    (tmp_path / "10-ten.ipynb").touch()
    (tmp_path / "scratch.ipynb").touch()
    assert [label(path) for path in lessons.lessons(tmp_path)] == ["01-one-key", "answers/01-one-key", "10-ten"]


def test_a_lesson_runs_apart_and_becomes_a_page_that_needs_nothing(tmp_path: Path) -> None:
    cells = (
        *GOOD,
        code("sim.explore(scenario)"),
        code("from pathlib import Path\nPath('left.txt').touch()\nPath('beside.csv').read_text()"),
        code("raise RuntimeError('left out of the thin pass')", tags=["slow"]),
    )
    path = put(tmp_path, sample(*cells))
    (tmp_path / "beside.csv").write_text("user,weight\n")
    done = run_lesson(path, thin=True, limit_s=LIMIT_S)
    assert done.notebook.cells[3].outputs[0].data["text/plain"] == "True"
    assert [cell.execution_count for cell in done.notebook.cells if cell.cell_type == "code"] == [1, 2, 3, 4]
    assert 0 < done.cpu_s < CPU_MAX_S
    assert not (tmp_path / "left.txt").exists()
    html = page(done.notebook, "One key")
    assert "<title>One key</title>" in html
    assert "of all attempts throttled" in html
    assert 'src="data:image/png;base64,' in html  # the sliders' picture: a page has no kernel
    assert "<script" not in html
    assert not any(f'{where}="http' in html for where in ("src", "href"))


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import warnings\nwarnings.warn('old')", "cell 2 (import warnings): UserWarning: old"),
        ("import sys\nprint('careful', file=sys.stderr)", "wrote to standard error:\ncareful"),
        ("while True: pass", "cell 2 (while True: pass): not done 3 s after the start"),
        ("import os\nos._exit(3)", "the kernel died"),
    ],
    ids=["warns", "writes", "hangs", "dies"],
)
def test_a_lesson_that_does_not_run_through_names_its_cell(tmp_path: Path, source: str, says: str) -> None:
    with pytest.raises(LessonError) as told:
        run_lesson(put(tmp_path, sample(code(source))), limit_s=3)
    assert says in str(told.value)


def test_all_lessons_become_pages_and_a_failure_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, sample(code("1 / 0")))
    to = tmp_path / "pages"
    assert lessons.main(["--from", str(tmp_path), "--to", str(to)]) == 1
    said = capsys.readouterr().out
    assert "01-one-key, cell 2 (1 / 0): ZeroDivisionError: division by zero" in said
    assert "1 of 2 lessons" in said
    assert [file.relative_to(to).as_posix() for file in to.rglob("*.html")] == ["answers/01-one-key.html"]
    assert lessons.main(["--from", str(tmp_path / "nowhere")]) == 1
