"""What every scenario value is made of: frozen, keyword-only, checked when made, with messages in plain words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from sim.errors import Problem, ScenarioError

K = TypeVar("K")
V = TypeVar("V")

SHOWN_CHARACTERS_MAX = 80  # of a wrong value in a message
CHOICES_MAX = 12  # names that a hint lists

STEPS_EXAMPLE = '[["0s", 100], ["10m", 1000]]'

_TAGS_WITHOUT_KIND = {"number", "steps"}  # rates that are no tables
_TAG = re.compile(r"<[^<>]*>\Z")  # pydantic puts the chosen member of a union into a location: "<zipf>"
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")

Place = tuple[str | int, ...]


def refusal(message: str, hint: str = "") -> PydanticCustomError:
    """An error that a validator raises: what is wrong and what is allowed, and the cure if one is near."""
    return PydanticCustomError("refused", "{message}", {"message": message, "hint": hint})


def refuse_all(title: str, refusals: Iterable[tuple[Place, Any, PydanticCustomError]]) -> None:
    """Raise all of (place, value, refusal) at once, or return if there are none."""
    details = [InitErrorDetails(type=error, loc=place, input=value) for place, value, error in refusals]
    if details:
        raise ValidationError.from_exception_data(title, details)


def nearest(word: object, words: Iterable[str]) -> str:
    """The nearest of ``words`` as a hint, or "" if none is close."""
    known = list(words)
    by_lower = {name.lower(): name for name in known}
    given = str(word)[:200].lower()
    near = difflib.get_close_matches(given, by_lower, n=1, cutoff=0.6)
    return f"did you mean {by_lower[near[0]]!r}?" if near else ""


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 partition", "3 partitions"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def choices(word: object, words: Iterable[str]) -> str:
    """What else a wrong name may be, as a hint: the nearest name first, then all of them, or the nearest dozen of many."""
    known = list(words)
    if len(known) <= CHOICES_MAX:
        named = listed(known)
    else:
        given = str(word)[:200].lower()
        closest = sorted(known, key=lambda name: -difflib.SequenceMatcher(None, given, name.lower()).ratio())
        shortened = set(closest[:CHOICES_MAX])
        named = f"{listed(name for name in known if name in shortened)} and {len(known) - CHOICES_MAX} more"
    near = nearest(word, known)
    if near and len(known) == 1:
        return near
    return f"{near} There are: {named}" if near else f"there are: {named}"


def listed(words: Iterable[str], most: int = CHOICES_MAX) -> str:
    """Words as a list in a sentence; a long one is cut."""
    known = [word[:SHOWN_CHARACTERS_MAX] for word in words]
    rest = "" if len(known) <= most else f" and {len(known) - most} more"
    return ", ".join(known[:most]) + rest if known else "none"


def shown(value: object) -> str:
    """A value as its user wrote it (in TOML), cut to a readable length."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = f'"{value[:SHOWN_CHARACTERS_MAX]}"' if len(value) <= SHOWN_CHARACTERS_MAX else f'"{value}'
    elif isinstance(value, Mapping):
        pairs = list(value.items())[:8]
        text = "{" + ", ".join(f"{key} = {shown(item)}" for key, item in pairs) + ("}" if len(value) <= 8 else ", …}")
    elif isinstance(value, list | tuple):
        text = "[" + ", ".join(shown(item) for item in value[:8]) + ("]" if len(value) <= 8 else ", …]")
    elif isinstance(value, Value):
        text = shown(
            {name: getattr(value, name) for name in type(value).model_fields if name in value.model_fields_set}
        )
    elif isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        text = str(int(value))
    else:
        try:
            text = str(value)
        except Exception:  # str() of a whole number of over 4,300 digits, or of anybody's object
            text = f"a {type(value).__name__} too large to show"
    text = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\n", "\\n").replace("\r", "\\r")
    return text if len(text) <= SHOWN_CHARACTERS_MAX + 2 else text[:SHOWN_CHARACTERS_MAX] + "…"


def path_of(place: Iterable[str | int]) -> str:
    """A place in scenario notation: ``("traffic", 0, "rate")`` is ``traffic[0].rate``."""
    path = ""
    for part in place:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            key = part if _PLAIN_KEY.match(part) and len(part) <= SHOWN_CHARACTERS_MAX else shown(part)
            path += f".{key}" if path else key
    return path


def place_of(location: Iterable[str | int]) -> Place:
    """A pydantic location without the members of unions that were chosen on the way."""
    place: list[str | int] = []
    last: str | int = ""
    for part in location:
        # A list of steps is written in the place of the rate itself.
        if isinstance(part, int) or not (_TAG.match(part) or (part == "steps" and last == "<steps>")):
            place.append(part)
        last = part
    return tuple(place)


class Found:
    """One thing found wrong, before it is known in which source it stands."""

    __slots__ = ("hint", "message", "place", "value")

    def __init__(self, place: Place, message: str, value: str = "", hint: str = "") -> None:
        self.place = place
        self.message = message
        self.value = value
        self.hint = hint

    def problem(self, source: str) -> Problem:
        """The same, said of a source."""
        return Problem(source=source, path=path_of(self.place), message=self.message, value=self.value, hint=self.hint)


def found_in(error: ValidationError) -> list[Found]:
    """Everything that a pydantic error carries, in this project's words."""
    found = []
    for detail in error.errors(include_url=False):
        context = detail.get("ctx", {})
        is_ours = detail["type"] == "refused"
        is_missing = is_ours and context.get("missing")
        found.append(
            Found(
                place_of(detail["loc"]),
                str(context["message"]) if is_ours else detail["msg"],
                "" if is_missing or detail["input"] is None else shown(detail["input"]),
                str(context.get("hint", "")) if is_ours else "",
            )
        )
    return found


def _in_plain_words(cls: type[BaseModel], detail: ErrorDetails) -> InitErrorDetails:
    kind = detail["type"]
    context = detail.get("ctx", {})
    place = detail["loc"]
    given = detail["input"]
    missing = False
    if kind == "refused":
        error = PydanticCustomError("refused", "{message}", context)
    elif kind == "extra_forbidden":
        keys = [field.alias or name for name, field in cls.model_fields.items()]
        key = str(detail["loc"][-1])
        error = refusal("unknown key", choices(key, keys))
    elif kind == "missing":
        missing = True
        error = refusal("is required and missing")
    elif kind == "union_tag_invalid":
        tags = re.findall(r"<([^<>]*)>", context.get("expected_tags", ""))
        kinds = [tag for tag in tags if tag not in _TAGS_WITHOUT_KIND]
        given = str(context.get("tag", "")).strip("<> ")
        place = (*place, "kind")
        hint = f"steps are written as a list: rate = {STEPS_EXAMPLE}" if given == "steps" else nearest(given, kinds)
        error = refusal(f"must be one of {listed(repr(kind) for kind in kinds)}", hint)
    elif kind == "union_tag_not_found":
        is_rate = "rate" in context.get("discriminator", "")
        example = (
            '{ kind = "ramp", from = 0, to = 100, over = "5m" }' if is_rate else '{ kind = "uniform", count = 100 }'
        )
        other = "a number, a list of steps, or a" if is_rate else "a"
        error = refusal(f"must be {other} table with a kind, such as {example}")
    elif kind in {"tuple_type", "list_type"}:
        error = refusal("must be a list, such as [ … ]")
    elif kind in {"model_type", "dict_type", "mapping_type", "model_attributes_type", "dict_attributes_type"}:
        error = refusal("must be a table, such as { … }")
    else:
        error = refusal(detail["msg"])
    if missing:
        error = PydanticCustomError("refused", "{message}", {"message": error.message(), "hint": "", "missing": True})
    return InitErrorDetails(type=error, loc=place, input=given)


class Value(BaseModel):
    """Base of all scenario values: frozen, keyword-only, unknown keys refused.

    Making one from wrong arguments raises `ScenarioError`, which lists every problem. A key of the format that is a
    word of Python is written with an underscore: ``RampRate(from_=0, to=100, over="5m")``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=False, arbitrary_types_allowed=True)

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**{name.removesuffix("_"): value for name, value in values.items()})
        except ValidationError as error:
            source = type(self).__name__
            raise ScenarioError([found.problem(source) for found in found_in(error)]) from None

    # Values inside values are made without this __init__, so that their errors keep their place.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="wrap")
    @classmethod
    def _says_it_plainly(cls, data: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        try:
            return handler(data)
        except ValidationError as error:
            details = [_in_plain_words(cls, detail) for detail in error.errors(include_url=False)]
            raise ValidationError.from_exception_data(cls.__name__, details) from None


class FrozenMapping(Mapping[K, V]):
    """A mapping that cannot change, keeps its order, compares by content, and can be pickled."""

    __slots__ = ("_items",)
    _items: dict[K, V]

    def __init__(self, items: Mapping[K, V] | None = None) -> None:
        object.__setattr__(self, "_items", dict(items or {}))

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a scenario's mappings do not change")

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __reduce__(self) -> tuple[type[FrozenMapping[K, V]], tuple[dict[K, V]]]:
        return (type(self), (self._items,))

    def __repr__(self) -> str:
        return repr(self._items)
