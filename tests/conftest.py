"""What all tests share: how thoroughly Hypothesis looks, and where the team's cases lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# Quick and the same at every run for everybody's working day; deep looks for new examples.
settings.register_profile("quick", max_examples=15, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("deep", max_examples=500, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of cases and corpora beside the project, which a fresh clone does not have."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder 'shared' beside the project: its cases and files were not handed out with it")
    return folder
