"""What goes wrong on the user's side: one exception, carrying every problem that was found, each with its cure.

A broken invariant of the program itself is an ``assert``, never one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
        place = ": ".join(part for part in (self.source, self.path) if part)
        given = f" (given: {self.value})" if self.value else ""
        hint = f" — {self.hint}" if self.hint else ""
        return f"{place}: {self.message}{given}{hint}"


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
