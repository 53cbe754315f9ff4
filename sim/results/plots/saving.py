"""Figures as files."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from io import BytesIO
from os import PathLike
from typing import Any

import matplotlib as mpl

from sim.files import write_whole
from sim.results.plots.base import Figure


def save_figure(make: Callable[[], Figure], path: str | PathLike[str]) -> None:
    """Make a figure and save it, whole or not at all; the ending of ``path`` (.png, .svg, .pdf) chooses the format."""
    # No date in the file: the same run gives the same bytes.
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    ending = str(path).rpartition(".")[2].lower()
    picture = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "ddbsim"}), warnings.catch_warnings():
        # No font has every script: a title in another one shows boxes, and the report has it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        make().savefig(picture, format=ending, metadata=undated.get(ending))
    write_whole(path, picture.getvalue())
