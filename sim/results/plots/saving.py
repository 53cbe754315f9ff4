"""Figures as files."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from os import PathLike
from typing import Any

import matplotlib as mpl

from sim.files import write_whole
from sim.results.plots.base import Figure, quiet


def save_figure(make: Callable[[], Figure], path: str | PathLike[str]) -> None:
    """Make a figure and save it, whole or not at all; the ending of ``path`` (.png, .svg, .pdf) chooses the format."""
    # No date in the file: the same run gives the same bytes.
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    ending = str(path).rpartition(".")[2].lower()
    picture = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "ddbsim"}), quiet():
        make().savefig(picture, format=ending, metadata=undated.get(ending))
    write_whole(path, picture.getvalue())
