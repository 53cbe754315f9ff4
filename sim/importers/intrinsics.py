"""CloudFormation's intrinsic functions, evaluated as far as a file alone can say: the rest is `Unknown`, by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import cast

from sim.importers.base import refusal, refuse, shown
from sim.importers.nodes import ABSENT, Unknown
from sim.scenario.base import listed as names_of

DEPTH_MAX = 40  # functions within functions; a template that needs more refers to itself
STEPS_MAX = 20_000  # of one template: aliases can make a small file mean a very large one
TEXT_MAX = 10_000  # characters of one resolved text, for the same reason

_PSEUDO_DEFAULTS = {"AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com"}
_PSEUDO = frozenset(
    {"AWS::AccountId", "AWS::NotificationARNs", "AWS::Region", "AWS::StackId", "AWS::StackName", *_PSEUDO_DEFAULTS}
)
_PLACEHOLDER = re.compile(r"\$\{(!?)([^{}]*)\}")
CONDITION_FUNCTIONS = frozenset({"Fn::Equals", "Fn::And", "Fn::Or", "Fn::Not", "Condition"})


def plain_text(value: object) -> str | None:
    """A scalar as CloudFormation compares and joins it, None for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return shown(value)
    return None


class TemplateResolver:
    """Resolves what stands in one template.

    Parameters
    ----------
    template : the parsed document.
    given : parameters by name, as from ``--parameter NAME=VALUE``; pseudo parameters may be among them.
    """

    def __init__(self, template: Mapping[object, object], *, source: str, given: Mapping[str, str]) -> None:
        self._source = source
        self._given = dict(given)
        self._parameters = self._section(template, "Parameters")
        self._mappings = self._section(template, "Mappings")
        self._conditions = self._section(template, "Conditions")
        self._resources = self._section(template, "Resources")
        self._depth = 0
        self._steps = 0
        self._functions: dict[str, Callable[[object, str], tuple[object, str]]] = {
            "Ref": self._ref,
            "Fn::Sub": self._sub,
            "Fn::Join": self._join,
            "Fn::If": self._if,
            "Fn::FindInMap": self._find_in_map,
            "Fn::Select": self._select,
            "Fn::Split": self._split,
            "Fn::GetAtt": self._get_att,
        }
        self._check_given()

    def _section(self, template: Mapping[object, object], name: str) -> dict[str, object]:
        section = template.get(name)
        if section is None:
            return {}
        if not isinstance(section, dict):
            refuse(self._source, "must be a mapping of names to values", path=name, value=section)
        return {key: value for key, value in section.items() if isinstance(key, str)}

    def _check_given(self) -> None:
        known = [*self._parameters, *sorted(_PSEUDO)]
        for name, value in self._given.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                listed = names_of(self._parameters)
                hint = f"did you mean {near[0]}?" if near else f"its parameters: {listed}"
                refuse(
                    self._source,
                    f"the template has no parameter {name}",
                    path="--parameter",
                    value=f"{name}={value}",
                    hint=hint,
                )
            declared = self._parameters.get(name)
            allowed = declared.get("AllowedValues") if isinstance(declared, dict) else None
            if isinstance(allowed, list) and allowed:
                texts = [plain_text(word) or "" for word in allowed]
                if value not in texts:
                    refuse(
                        self._source,
                        f"parameter {name} must be one of {names_of(texts)}",
                        path="--parameter",
                        value=f"{name}={value}",
                    )

    # Resolver

    def resolve(self, raw: object, path: str) -> tuple[object, str]:
        """What `raw` means and through what it was found; members of lists and mappings stay as they are."""
        if not isinstance(raw, dict) or len(raw) != 1:
            return raw, ""
        (name, argument) = next(iter(raw.items()))
        if not isinstance(name, str):
            return raw, ""
        self._steps += 1
        if self._depth >= DEPTH_MAX or self._steps > STEPS_MAX:
            refuse(self._source, "the template's functions are nested too deeply, or refer to themselves", path=path)
        self._depth += 1
        try:
            if name in self._functions:
                return self._functions[name](argument, path)
            if name in CONDITION_FUNCTIONS and (name != "Condition" or isinstance(argument, str)):
                held = self._holds(raw, path)
                return held, "" if isinstance(held, Unknown) else name
            if name.startswith("Fn::"):
                return Unknown(text=f"${{{name}}}", why=name), ""
            return raw, ""
        finally:
            self._depth -= 1

    def condition(self, name: object, path: str) -> bool | Unknown:
        """Whether a condition of the template holds."""
        if not isinstance(name, str) or name not in self._conditions:
            refuse(self._source, "must be the name of a condition of the template", path=path, value=name)
        self._depth += 1
        try:
            if self._depth >= DEPTH_MAX:
                refuse(self._source, "the condition refers to itself", path=f"Conditions.{name}")
            return self._holds(self._conditions[name], f"Conditions.{name}")
        finally:
            self._depth -= 1

    # Functions: each takes its argument as written and gives value and note.

    def _arguments(self, argument: object, path: str, *, least: int, most: int, name: str) -> list[object]:
        if not isinstance(argument, list) or not least <= len(argument) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            refuse(self._source, f"{name} takes a list of {wanted}", path=path, value=argument)
        return argument

    def _ref(self, argument: object, path: str) -> tuple[object, str]:
        if not isinstance(argument, str):
            refuse(self._source, "Ref takes a name", path=path, value=argument)
        if argument == "AWS::NoValue":
            return ABSENT, ""
        if argument in self._parameters:
            return self._parameter(argument, path)
        if argument in self._given:
            return self._given[argument], f"{argument} (given)"
        if argument in _PSEUDO_DEFAULTS:
            return _PSEUDO_DEFAULTS[argument], argument
        if argument in _PSEUDO:
            return Unknown(text=f"${{{argument}}}", needs=(argument,), why=argument), ""
        if argument in self._resources:
            return argument, f"resource {argument}"
        near = difflib.get_close_matches(argument, [*self._parameters, *self._resources], n=1)
        hint = f"did you mean {near[0]}?" if near else ""
        raise refusal(self._source, "refers to nothing in the template", path=path, value=argument, hint=hint)

    def _parameter(self, name: str, path: str) -> tuple[object, str]:
        declared = self._parameters[name]
        if not isinstance(declared, dict):
            refuse(self._source, "must be a mapping of names to values", path=f"Parameters.{name}", value=declared)
        kind = declared.get("Type")
        value: object
        if name in self._given:
            value, note = self._given[name], f"parameter {name} (given)"
        else:
            value = declared.get("Default")
            stored_elsewhere = isinstance(kind, str) and kind.startswith("AWS::SSM::Parameter")
            if value is None or stored_elsewhere:
                return Unknown(text=f"${{{name}}}", needs=(name,), why=f"parameter {name}"), ""
            quoted = f'"{value}"' if isinstance(value, str) else shown(value)
            note = f"parameter {name} (default {quoted})"
        if (
            isinstance(kind, str)
            and isinstance(value, str)
            and (kind == "CommaDelimitedList" or kind.startswith("List<"))
        ):
            return [part.strip() for part in value.split(",")], note
        return value, note

    def _text(self, raw: object, path: str) -> tuple[str | Unknown, str]:
        value, note = self.resolve(raw, path)
        if isinstance(value, Unknown):
            return value, note
        text = plain_text(value)
        if text is None:
            refuse(self._source, "must be text", path=path, value="AWS::NoValue" if value is ABSENT else value)
        return text, note

    def _together(self, pieces: list[str | Unknown], path: str) -> str | Unknown:
        text = "".join(piece.text if isinstance(piece, Unknown) else piece for piece in pieces)
        if len(text) > TEXT_MAX:
            refuse(self._source, "the text grows without end", path=path)
        unknowns = [piece for piece in pieces if isinstance(piece, Unknown)]
        if not unknowns:
            return text
        needs = tuple(dict.fromkeys(need for unknown in unknowns for need in unknown.needs))
        return Unknown(text=text, needs=needs, why=" and ".join(dict.fromkeys(unknown.why for unknown in unknowns)))

    def _sub(self, argument: object, path: str) -> tuple[object, str]:
        local: dict[object, object] = {}
        if isinstance(argument, list):
            pattern, variables = self._arguments(argument, path, least=2, most=2, name="Fn::Sub")
            if not isinstance(variables, dict):
                refuse(self._source, "Fn::Sub takes a text and a mapping", path=path, value=variables)
            local = variables
        else:
            pattern = argument
        if not isinstance(pattern, str):
            refuse(self._source, "Fn::Sub takes a text", path=path, value=pattern)
        pieces: list[str | Unknown] = []
        notes: list[str] = []
        end = 0
        for match in _PLACEHOLDER.finditer(pattern):
            pieces.append(pattern[end : match.start()])
            end = match.end()
            name = match[2].strip()
            if match[1]:
                pieces.append(f"${{{match[2]}}}")
                continue
            if name in local:
                piece, note = self._text(local[name], path)
            elif "." in name:
                piece, note = Unknown(text=f"${{{name}}}", why=name), ""
            else:
                piece, note = self._text({"Ref": name}, path)
            pieces.append(piece)
            notes.append(note)
        pieces.append(pattern[end:])
        return self._together(pieces, path), "; ".join(dict.fromkeys(note for note in notes if note))

    def _join(self, argument: object, path: str) -> tuple[object, str]:
        delimiter, members = self._arguments(argument, path, least=2, most=2, name="Fn::Join")
        if not isinstance(delimiter, str):
            refuse(self._source, "Fn::Join takes a text to join with", path=path, value=delimiter)
        members, note = self.resolve(members, path)
        if isinstance(members, Unknown):
            return members, note
        if not isinstance(members, list):
            refuse(self._source, "Fn::Join takes a list to join", path=path, value=members)
        pieces: list[str | Unknown] = []
        notes = [note]
        for place, member in enumerate(members):
            if place:
                pieces.append(delimiter)
            piece, note = self._text(member, f"{path}[{place}]")
            pieces.append(piece)
            notes.append(note)
        return self._together(pieces, path), "; ".join(dict.fromkeys(note for note in notes if note))

    def _if(self, argument: object, path: str) -> tuple[object, str]:
        name, then, otherwise = self._arguments(argument, path, least=3, most=3, name="Fn::If")
        held = self.condition(name, path)
        if isinstance(held, Unknown):
            return held, ""
        value, note = self.resolve(then if held else otherwise, path)
        chosen = f"condition {name} is {'true' if held else 'false'}"
        return value, f"{chosen}; {note}" if note else chosen

    def _find_in_map(self, argument: object, path: str) -> tuple[object, str]:
        arguments = self._arguments(argument, path, least=3, most=4, name="Fn::FindInMap")
        keys: list[str] = []
        for raw in arguments[:3]:
            key, _ = self._text(raw, path)
            if isinstance(key, Unknown):
                return key, ""
            keys.append(key)
        found: object = self._mappings
        for key in keys:
            # Keys that are numbers in YAML are text to CloudFormation.
            members = {plain_text(name): value for name, value in found.items()} if isinstance(found, dict) else {}
            if key not in members:
                refuse(self._source, "finds no such entry in Mappings", path=path, value=".".join(keys))
            found = members[key]
        return found, f"Mappings.{'.'.join(keys)}"

    def _members(self, raw: object, path: str) -> list[object] | Unknown:
        value, _ = self.resolve(raw, path)
        if isinstance(value, Unknown):
            return value
        if not isinstance(value, list):
            refuse(self._source, "must be a list", path=path, value=value)
        return value

    def _select(self, argument: object, path: str) -> tuple[object, str]:
        index, raw = self._arguments(argument, path, least=2, most=2, name="Fn::Select")
        place, _ = self._text(index, path)
        members = self._members(raw, path)
        if isinstance(place, Unknown):
            return place, ""
        if isinstance(members, Unknown):
            return members, ""
        if not re.fullmatch(r"\d{1,6}", place) or int(place) >= len(members):
            refuse(self._source, f"Fn::Select takes an index below {len(members)}", path=path, value=place)
        return self.resolve(members[int(place)], path)

    def _split(self, argument: object, path: str) -> tuple[object, str]:
        delimiter, raw = self._arguments(argument, path, least=2, most=2, name="Fn::Split")
        if not isinstance(delimiter, str) or not delimiter:
            refuse(self._source, "Fn::Split takes a text to split at", path=path, value=delimiter)
        text, note = self._text(raw, path)
        return (text, note) if isinstance(text, Unknown) else (text.split(delimiter), note)

    def _get_att(self, argument: object, path: str) -> tuple[object, str]:
        if isinstance(argument, str):
            name = argument
        elif isinstance(argument, list) and argument and all(isinstance(part, str) for part in argument):
            name = ".".join(cast("list[str]", argument))
        else:
            refuse(self._source, "Fn::GetAtt takes a resource and an attribute", path=path, value=argument)
        return Unknown(text=f"${{{name}}}", why=name), ""

    # Conditions, in three values: an unknown part may not matter.

    def _holds(self, raw: object, path: str) -> bool | Unknown:
        if not isinstance(raw, dict) or len(raw) != 1:
            refuse(self._source, "must be a condition such as Fn::Equals", path=path, value=raw)
        (name, argument) = next(iter(raw.items()))
        self._steps += 1
        if self._depth >= DEPTH_MAX or self._steps > STEPS_MAX:
            refuse(self._source, "the conditions are nested too deeply, or refer to themselves", path=path)
        self._depth += 1
        try:
            if name == "Condition":
                return self.condition(argument, path)
            if name == "Fn::Equals":
                return self._equals(argument, path)
            if name == "Fn::Not":
                (inner,) = self._arguments(argument, path, least=1, most=1, name="Fn::Not")
                held = self._holds(inner, path)
                return held if isinstance(held, Unknown) else not held
            if name in {"Fn::And", "Fn::Or"}:
                parts = self._arguments(argument, path, least=2, most=10, name=str(name))
                return self._all_or_any([self._holds(part, path) for part in parts], decides=name == "Fn::Or")
        finally:
            self._depth -= 1
        allowed = ", ".join(sorted(CONDITION_FUNCTIONS))
        raise refusal(self._source, f"must be one of {allowed}", path=path, value=name)

    def _equals(self, argument: object, path: str) -> bool | Unknown:
        left, right = (
            self._text(side, path)[0] for side in self._arguments(argument, path, least=2, most=2, name="Fn::Equals")
        )
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            together = self._together([left, right], path)
            same = isinstance(left, Unknown) and isinstance(right, Unknown) and left.text == right.text
            return True if same or isinstance(together, str) else together
        return left == right

    @staticmethod
    def _all_or_any(parts: list[bool | Unknown], *, decides: bool) -> bool | Unknown:
        if decides in parts:
            return decides
        unknown = next((part for part in parts if isinstance(part, Unknown)), None)
        return (not decides) if unknown is None else unknown
