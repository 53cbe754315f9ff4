"""What the README shows runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
import nbformat
import pytest
from typer.testing import CliRunner

import sim
from sim.catalogue import Kind, find
from sim.cli import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_lines_of_python_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    first, designs = blocks("python")
    exec(compile(first, "README.md", "exec"), {})
    assert "of attempts throttled" in capsys.readouterr().out
    assert (tmp_path / "flash-sale.png").stat().st_size > 10_000
    exec(compile(designs, "README.md", "exec"), {})
    assert "one key a status would cost" in capsys.readouterr().out
    assert (tmp_path / "designs.png").stat().st_size > 10_000


def test_the_commands_by_name_are_right() -> None:
    """Every name that a line of the README runs, starts or compares is one of the catalogue."""
    shell = [line.split("#")[0].split() for block in blocks("sh") for line in block.splitlines()]
    inline = [words.split() for words in re.findall(r"`(ddbsim [^`]+)`", README)]
    used: dict[Kind, set[str]] = {"scenario": set(), "design": set(), "workload": set()}
    for words in shell + inline:
        if words[:1] != ["ddbsim"] or len(words) < 2:
            continue
        if "--workload" in words:
            at = words.index("--workload")
            used["workload"].add(words[at + 1])
            used["design"] |= set(words[2:at])
        elif words[1] in ("run", "new"):
            used["scenario"] |= {word for word in words[2:3] if "." not in word}
    assert {kind: bool(names) for kind, names in used.items()} == dict.fromkeys(used, True)
    assert [(kind, name) for kind, names in used.items() for name in names if find(kind, name) is None] == []


def test_the_pictures_of_the_readme_are_those_there_are() -> None:
    named = set(re.findall(r"\b((?:plot|draw)_[a-z]+)\(", README))
    assert named <= set(sim.plots.__all__)
    assert {name for name in sim.plots.__all__ if name.startswith(("plot_", "draw_"))} <= named


def test_the_scenario_file_runs() -> None:
    whole, *parts = blocks("toml")
    assert whole.startswith("format = 1")
    for text in (whole, *(f"{whole}\n{part}" for part in parts)):  # a part goes beside the tables of the whole
        assert sim.run(sim.loads(text)).offered > 0


def test_the_pictures_and_files_named_in_the_readme_are_there() -> None:
    for path in re.findall(r"\]\((?!http|#)([^)]+)\)", README):
        assert (ROOT / path).is_file(), path
    for path in re.findall(r"`python (tests/\S+)`", README):
        assert (ROOT / path).is_file(), path


def test_the_comparison_shown_is_what_the_command_prints() -> None:
    (block,) = re.findall(r"^```\n\$ ddbsim (compare .*?)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    command, shown = block
    answer = CliRunner().invoke(app, command.split(), env={"COLUMNS": "110"})
    printed = [line.rstrip() for line in answer.stdout.strip("\n").splitlines()]
    assert shown.splitlines() == printed[: len(shown.splitlines())]


def test_the_workshop_stops_where_the_lessons_have_a_heading() -> None:
    rows = re.findall(r"^\| [\d–]+ \| (\d+) [^|]*?\*(.+?)\* \|", README, re.MULTILINE)
    assert len(rows) >= 8
    for number, heading in rows:
        (lesson,) = (ROOT / "notebooks").glob(f"{int(number):02}-*.ipynb")
        headings = [
            line for cell in nbformat.read(lesson, 4).cells for line in cell.source.splitlines() if line[:3] == "## "
        ]
        assert f"## {heading}" in headings, (number, heading)


def test_links_within_the_page_lead_to_its_headings() -> None:
    headings = re.findall(r"^## (.+)$", README, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", README)) <= anchors
