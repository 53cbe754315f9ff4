"""A position and its run in words: the headline, the first sentences of the explanation, and the same as HTML."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING

from sim.exploring.controls import MODE, Controls, Position
from sim.results.invoice import money
from sim.results.phrases import amount

if TYPE_CHECKING:
    from sim.results.result import Result

SENTENCES = 3
_HELP = "would help"
_GOOD, _BAD = "#00694c", "#a63e00"  # beside a word that says it; dark enough to be read on white


def headline(result: Result) -> tuple[str, str]:
    """One word, and the rest of the line: what was throttled, and what the month would cost as it was run."""
    from sim.results.explain import verdict  # sentences are made when they are asked for

    word = "THROTTLES" if result.throttles else "FAILS" if result.failed > 0.5 else "OK"
    cost = money(result.bill.per_month, result.sheet.currency)
    return word, f"{verdict(result)} · {cost} a month"


def sentences(result: Result) -> tuple[str, ...]:
    """The first of the explanation; the last of them says what would help, where any does."""
    first, rest = result.explanation[:SENTENCES], result.explanation[SENTENCES:]
    if any(_HELP in text for text in first):
        return first
    return (*first[:-1], next((text for text in rest if _HELP in text), first[-1]))


def headline_html(result: Result, error: str) -> str:
    """One line: the headline, or why a position could not be simulated."""
    if error:
        lines = "<br>".join(escape(line) for line in error.splitlines())
        return f'<div><b style="color:{_BAD}">NOT SIMULATED</b> &nbsp;{lines}<br>The picture is that of the last position that was.</div>'
    word, says = headline(result)
    colour = _GOOD if word == "OK" else _BAD
    return f'<div><b style="color:{colour}">{word}</b> &nbsp;<b>{escape(says)}</b></div>'


def sentences_html(result: Result) -> str:
    """The sentences as a list."""
    items = "".join(f'<li style="margin:0">{escape(text)}</li>' for text in sentences(result))
    return f'<ul style="margin:0;padding-left:20px;line-height:1.4">{items}</ul>'


def position_words(controls: Controls, position: Position) -> str:
    """Where the sliders stand: ``rate 3,000 requests/s · skew 1.5 · …``."""
    said = [
        f"{knob.label}: {amount(float(position[knob.name]))}" for knob in controls.knobs if _counts(position, knob.only)
    ]
    return " · ".join([*said, *([f"mode: {position[MODE]}"] if MODE in position else [])])


def picture_html(picture: bytes) -> str:
    """A PNG within the HTML, for where there are no widgets."""
    data = b64encode(picture).decode("ascii")
    says = "rates above partitions over time"
    return f'<img alt="{says}" src="data:image/png;base64,{data}" style="max-width:100%">'


def _counts(position: Position, only: str | None) -> bool:
    return only is None or position.get(MODE, only) == only
