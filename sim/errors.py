"""What goes wrong on the user's side: one exception, carrying every problem that was found, each with its cure.

A broken invariant of the program itself is an ``assert``, never one of these.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

VALUE_CHARACTERS_MAX = 200  # of a value, a place or a source in a message
MESSAGE_CHARACTERS_MAX = 1000  # of a sentence or a hint
_WITHOUT_SHAPE = {
    "Cc",
    "Cf",
    "Co",
    "Cn",
    "Cs",
    "Zl",
    "Zp",
}  # control, formatting (bidi overrides too), no character at all


def printable(text: str, longest: int | None = None) -> str:
    """A text that a terminal shows and never obeys: what has no shape is written as an escape, and what is too long is cut."""
    if longest is not None and len(text) > longest:
        text = text[: longest - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(sign) if unicodedata.category(sign) in _WITHOUT_SHAPE else sign for sign in text)


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong with an input.

    Attributes
    ----------
    source : where it stands: a file name, ``"--set"``, or ``"<text>"``.
    path : key path in the scenario's own notation, ``traffic[0].rate`` (empty: the file as a whole).
    value : the offending value as the user wrote it, or "" when there is none.
    message : what is wrong and what is allowed, as a sentence without the path.
    hint : the nearest valid name or the cure, or "".
    """

    source: str
    path: str
    message: str
    value: str = ""
    hint: str = ""

    def __str__(self) -> str:
        source, path, value = (printable(part, VALUE_CHARACTERS_MAX) for part in (self.source, self.path, self.value))
        message, cure = (printable(part, MESSAGE_CHARACTERS_MAX) for part in (self.message, self.hint))
        place = ": ".join(part for part in (source, path) if part)
        given = f" (given: {value})" if value else ""
        hint = f" — {cure}" if cure else ""
        return f"{place}: {message}{given}{hint}"


class InputError(ValueError):
    """The input is wrong; ``problems`` lists everything that was found in it, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        assert problems, "an input error names at least one problem"
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ScenarioError(InputError):
    """A scenario file, an override or a scenario value is wrong."""


class ImportFileError(InputError):
    """A user's own file (template, description, trace) cannot become a scenario."""
