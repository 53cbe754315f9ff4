"""Sentences as they are read: one below the other on a terminal, as a list in a notebook."""

from __future__ import annotations

import textwrap
from html import escape
from typing import SupportsIndex, overload

_COLUMNS = 100


class Explanation(tuple[str, ...]):
    """The sentences of a run, in order of importance. A part of them, ``explanation[:2]``, is one too.

    Printed they are wrapped between words; a notebook shows them as a list.
    """

    __slots__ = ()

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Explanation: ...
    def __getitem__(self, at: SupportsIndex | slice) -> str | Explanation:
        found = super().__getitem__(at)
        return found if isinstance(found, str) else Explanation(found)

    def __str__(self) -> str:
        # A key is never broken: it is to be copied and searched for.
        wrapped = textwrap.TextWrapper(_COLUMNS, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
        return "\n".join(wrapped.fill(f"- {text}") for text in self)

    def _repr_html_(self) -> str:
        return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in self)}</ul>"
