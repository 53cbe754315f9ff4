"""What the command line says, on which stream, and with which exit code it ends."""

from __future__ import annotations

import functools
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import ParamSpec, TextIO

import typer

from sim.errors import InputError, Problem, ScenarioError, printable

P = ParamSpec("P")

EXIT_FAULT = 1
EXIT_LIMIT_PASSED = 1
EXIT_WRONG_INPUT = 2
EXIT_INTERRUPTED = 130
LINE_CHARACTERS_MAX = 4000  # of a message

SETTINGS = {"debug": False}


def answers(command: Callable[P, None]) -> Callable[P, None]:
    """Turn whatever a command raises into a message and an exit code."""

    @functools.wraps(command)
    def answer(*args: P.args, **options: P.kwargs) -> None:
        try:
            command(*args, **options)
        except typer.Exit:
            raise
        except InputError as error:
            for problem in error.problems:
                say(str(problem))
            raise typer.Exit(EXIT_WRONG_INPUT) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except BrokenPipeError as error:
            raise typer.Exit(lost_output(error)) from None
        except Exception as error:
            say_fault(error)
            raise typer.Exit(EXIT_FAULT) from None

    return answer


def say(line: str) -> None:
    # Standard error that is closed or full loses the message; there is no other place for it.
    with suppress(OSError, ValueError):
        print(printable(line, LINE_CHARACTERS_MAX), file=sys.stderr or nowhere(), flush=True)


def say_fault(error: Exception) -> None:
    if SETTINGS["debug"]:
        traceback.print_exception(error, file=sys.stderr)
    say(f"ddbsim: {type(error).__name__}: {error}")
    again = "" if SETTINGS["debug"] else f" ddbsim --debug {shlex.join(sys.argv[1:])} shows where."
    say(f"This is a fault of ddbsim, not of your input.{again}")


@contextmanager
def printing() -> Iterator[None]:
    """Around all that is printed on standard output, so that its failure is told from other files' failures."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        raise typer.Exit(lost_output(error)) from None


def lost_output(error: OSError) -> int:
    """The exit code when standard output takes nothing more: 0 if its reader has gone, who had enough."""
    _leave_quietly()
    if isinstance(error, BrokenPipeError):
        return 0
    say(f"standard output cannot be written: {error.strerror or error}")
    return EXIT_FAULT


def _leave_quietly() -> None:
    """The reader of our output has gone; Python must not complain about it when it flushes at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = nowhere()


def nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def wrong(source: str, message: str, *, value: str = "", hint: str = "") -> ScenarioError:
    return ScenarioError([Problem(source=source, path="", message=message, value=value, hint=hint)])
