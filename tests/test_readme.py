"""What the README shows runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
import pytest

import sim

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_lines_of_python_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    (program,) = blocks("python")
    exec(compile(program, "README.md", "exec"), {})
    assert "of attempts throttled" in capsys.readouterr().out
    assert (tmp_path / "flash-sale.png").stat().st_size > 10_000


def test_the_scenario_file_runs() -> None:
    whole, *parts = blocks("toml")
    assert whole.startswith("format = 1")
    for text in (whole, *(f"{whole}\n{part}" for part in parts)):  # a part goes beside the tables of the whole
        assert sim.run(sim.loads(text)).offered > 0


def test_the_pictures_and_files_named_in_the_readme_are_there() -> None:
    for path in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / path).is_file(), path
    for path in re.findall(r"`python (tests/\S+)`", README):
        assert (ROOT / path).is_file(), path
