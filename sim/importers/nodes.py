"""A place in a parsed document: reading from it checks the type, and what goes wrong names the path."""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass
from typing import NoReturn, Protocol

from sim.errors import ImportFileError
from sim.importers.base import Taken, refuse, shown

UNITS_MAX = 10**9  # per second; a scenario takes no more
SIZE_MAX = 10**15  # bytes or items; a scenario takes no more
NAME_CHARACTERS_MAX = 255  # of tables, indexes and key attributes
NEAR_MISS = 0.85  # likeness from which an unread name is taken for a slip of one that was looked for
_WHOLE = re.compile(r"[+-]?\d{1,18}(\.0*)?")
_NUMBER = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?")
# YAML 1.1 has the words for true and false; they are read as text, since names may be such words.
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """A value that only a deployment knows.

    Attributes
    ----------
    text : the value with its unknown parts as ``${Name}``; equal texts are equal values.
    needs : parameters that would settle it, by name; empty where no parameter can.
    why : half a sentence on what decides it.
    """

    text: str
    needs: tuple[str, ...] = ()
    why: str = ""


class Absent:
    """The type of `ABSENT`, what ``AWS::NoValue`` stands for."""


ABSENT = Absent()


class Resolver(Protocol):
    """Turns what stands in a document into what it means."""

    def resolve(self, raw: object, path: str) -> tuple[object, str]:
        """Value and a note on where it came from ("" where it stands in place)."""
        ...


class Plain:
    """The resolver of documents in which everything means itself."""

    def resolve(self, raw: object, path: str) -> tuple[object, str]:
        return raw, ""


class Node:
    """A value at a path of a document.

    Life cycle: a reader makes the root and walks down with `child` and `children`, which resolve lazily, so that what nobody
    reads can be neither wrong nor asked for. What was there and never asked for is `unread` at the end.
    """

    def __init__(
        self,
        raw: object,
        *,
        source: str,
        path: str = "",
        base: str = "",
        resolver: Resolver | None = None,
        note: str = "",
        asked: dict[str, tuple[dict[object, object], set[str]]] | None = None,
    ) -> None:
        self._asked = {} if asked is None else asked  # path → members of the mapping there, and which were asked for
        self._resolver: Resolver = resolver or Plain()
        self.source = source
        self.path = path
        self.base = base
        value, found = self._resolver.resolve(raw, path)
        self.value = value
        self.note = "; ".join(part for part in (note, found) if part)

    @property
    def origin(self) -> str:
        """Where the value came from, for a comment: the path below `base`, then what it was resolved through."""
        place = self.path.removeprefix(self.base)
        return f"{place} ← {self.note}" if self.note else place

    def fail(self, message: str, *, hint: str = "", show: bool = True) -> NoReturn:
        """Refuse the file because of this place."""
        refuse(self.source, message, path=self.path, value=self.value if show else None, hint=hint)

    def _known(self, wanted: str) -> object:
        if isinstance(self.value, Unknown):
            unknown = self.value
            if unknown.needs:
                hint = "say it with " + " ".join(f"--parameter {name}=VALUE" for name in unknown.needs)
            else:
                hint = "write the value itself into a copy of the file"
            refuse(
                self.source,
                f"must be {wanted}, and only {unknown.why or 'the deployment'} decides it",
                path=self.path,
                hint=hint,
            )
        return self.value

    def _at(self, raw: object, path: str) -> Node:
        return Node(
            raw,
            source=self.source,
            path=path,
            base=self.base,
            resolver=self._resolver,
            note=self.note,
            asked=self._asked,
        )

    def mapping(self) -> dict[object, object]:
        """The value as a mapping, its members still unresolved."""
        value = self._known("a mapping")
        if not isinstance(value, dict):
            self.fail("must be a mapping of names to values")
        return value

    def child(self, key: str) -> Node | None:
        """The member of that name, None where there is none (also ``null`` and ``AWS::NoValue``)."""
        members = self.mapping()
        self._asked.setdefault(self.path, (members, set()))[1].add(key)
        if members.get(key) is None:
            return None
        node = self._at(members[key], f"{self.path}.{key}" if self.path else key)
        return None if node.value is ABSENT or node.value is None else node

    def required(self, key: str, *, why: str = "") -> Node:
        """The member of that name, which must be there."""
        node = self.child(key)
        if node is None:
            near = difflib.get_close_matches(key, [name for name in self.mapping() if isinstance(name, str)], n=1)
            hint = f"{shown(near[0])} is there; did you mean {key}?" if near and near[0] != key else ""
            self.fail(f"{key} is missing{', ' + why if why else ''}", show=False, hint=hint)
        return node

    def leave_out(self) -> None:
        """Count the members of this mapping as asked for: it was left out as a whole, and that is said elsewhere."""
        members = self.mapping()
        self._asked[self.path] = (members, {key for key in members if isinstance(key, str)})

    def unread(self, under: str = "") -> list[str]:
        """Paths below `base` of what stands in the mappings that were opened, and was never asked for, each once.

        Members of lists go under one path, ``GlobalSecondaryIndexes[].Tags``; what is false or absent says nothing.

        Parameters
        ----------
        under : only what lies at this path or in it.
        """
        found: list[str] = []
        for path, (members, asked) in self._asked.items():
            if not path.startswith(under):
                continue
            missed = [key for key in asked if key not in members]
            for key in members:
                if isinstance(key, str) and key not in asked and self._says_something(members[key], path):
                    place = re.sub(r"\[\d+\]", "[]", f"{path}.{key}" if path else key)
                    near = difflib.get_close_matches(key, missed, n=1, cutoff=NEAR_MISS)
                    meant = f" (did you mean {near[0]}?)" if near else ""
                    found.append(place.removeprefix(self.base) + meant)
        return list(dict.fromkeys(found))

    def _says_something(self, raw: object, path: str) -> bool:
        try:
            value, _ = self._resolver.resolve(raw, path)
        except ImportFileError:
            return True  # wrong, but nobody needs it
        return value not in (None, False, "false", "") and value is not ABSENT

    def children(self) -> list[Node]:
        """The members of a list, without those that are absent."""
        value = self._known("a list")
        if not isinstance(value, list):
            self.fail("must be a list")
        nodes = [self._at(raw, f"{self.path}[{place}]") for place, raw in enumerate(value)]
        return [node for node in nodes if node.value is not ABSENT and node.value is not None]

    def list_of(self, key: str) -> list[Node]:
        """The members of the list of that name; none where it is missing."""
        node = self.child(key)
        return [] if node is None else node.children()

    def text(self) -> str:
        """The value as text that is not empty."""
        value = self._known("text")
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not value.strip():
            self.fail("must be text")
        return value.strip()

    def name(self) -> str:
        """The value as text where only a label is needed: what is unknown is named after what decides it."""
        if isinstance(self.value, Unknown):
            return re.sub(r"[^\w.-]+", "-", self.value.text).strip("-")[:NAME_CHARACTERS_MAX] or "unnamed"
        text = self.text()
        if len(text) > NAME_CHARACTERS_MAX:
            self.fail(f"must have at most {NAME_CHARACTERS_MAX} characters")
        return text

    def one_of(self, *allowed: str) -> str:
        """The value as one of a few words."""
        value = self._known(" or ".join(allowed))
        if value not in allowed:
            self.fail(f"must be {' or '.join(allowed)}")
        return str(value)

    def whole(self, *, minimum: int, maximum: int = UNITS_MAX) -> Taken[int]:
        """The value as a whole number; templates write numbers as text as well."""
        value = self._known("a whole number")
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
            value = int(value.strip().split(".")[0])
        if isinstance(value, float) and math.isfinite(value) and value == int(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail("must be a whole number")
        if not minimum <= value <= maximum:
            self.fail(f"must be from {minimum} to {maximum:,}")
        return Taken(value=value, origin=self.origin)

    def number(self) -> Taken[float]:
        """The value as a number, whole or not."""
        value = self._known("a number")
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value.strip())
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= SIZE_MAX:
            self.fail("must be a number")
        return Taken(value=float(value), origin=self.origin)

    def flag(self) -> bool:
        """The value as true or false; templates write them as text as well."""
        value = self._known("true or false")
        if isinstance(value, str) and value.strip().lower() in _FLAGS:
            return _FLAGS[value.strip().lower()]
        if not isinstance(value, bool):
            self.fail("must be true or false")
        return value
