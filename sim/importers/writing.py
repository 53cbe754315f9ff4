"""Drafts to the TOML of a scenario: each line with its origin, what is missing as marked guesses, and traffic ready to fill in."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Iterator, Mapping

from sim.importers.base import (
    AutoScalingDraft,
    ConstantRate,
    IndexDraft,
    LawField,
    MeasuredField,
    PatternDraft,
    Rate,
    SeriesRate,
    TableDraft,
    Taken,
    ThroughputDraft,
    TrafficDraft,
)
from sim.importers.traces import key_attributes
from sim.limits import (
    ACCOUNT_QUOTA_READ_PER_S,
    ACCOUNT_QUOTA_WRITE_PER_S,
    TABLE_QUOTA_READ_PER_S,
    TABLE_QUOTA_WRITE_PER_S,
)
from sim.names import BATCH_OPERATIONS, TRANSACTION_OPERATIONS, Operation, Projection
from sim.scenario.base import counted

# Guesses: round numbers that a reader sees to be guesses, each written with the word in its comment.
GUESSED_KEYS = 10_000
GUESSED_SORT_KEYS = 100
GUESSED_INDEX_KEYS = 1_000
GUESSED_ITEM_BYTES = 1_024
GUESSED_KEY_BYTES = 100  # of an index entry with keys only
GUESSED_ATTRIBUTE_BYTES = 50  # of each further attribute in an entry
GUESSED_RATE_PER_S = 100
GUESSED_DURATION = "1h"
GUESSED_TARGET = 0.7  # F-AS-6, the console's default
COMMENT_CHARACTERS_MAX = 300
NOT_TAKEN_MAX = 40  # names that the header lists
HEADER_CHARACTERS = 118
STEPS_PER_LINE = 8
_GENERIC_NAMES = {"pk", "sk", "hashkey", "rangekey", "sortkey", "partitionkey"}
_TIME_LIKE = re.compile(
    r"(?i)(?:^|_|\b)(?:time|date|timestamp|created|updated|ts|epoch)|(?:At|On|Time|Date|Timestamp)$"
)


def toml_text(text: str) -> str:
    """A text as a TOML basic string."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(character) or _plain(character, "\\u{:04X}") for character in text) + '"'


def comment_text(text: str) -> str:
    """A text as one line of a TOML comment."""
    line = _one_line(text)
    return line if len(line) <= COMMENT_CHARACTERS_MAX else line[: COMMENT_CHARACTERS_MAX - 1] + "…"


def _one_line(text: str) -> str:
    return " ".join("".join(_plain(character, " ") for character in text).split())


def _plain(character: str, control: str) -> str:
    """A character that a UTF-8 file may hold and an editor shows as what it is."""
    kind = unicodedata.category(character)
    if kind == "Cs":  # half of a surrogate pair, which no file can hold
        return "\ufffd"
    if kind in {"Cc", "Zl", "Zp"} or character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069":
        return control.format(ord(character))
    return character


def _line(key: str, value: str, origin: str) -> str:
    comment = comment_text(origin)
    return f"{key} = {value}  # {comment}" if comment else f"{key} = {value}"


def _rounded(value: float) -> str:
    """A fraction as TOML writes it, never in the form 1e-06 that some readers of old TOML refuse."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


@dataclasses.dataclass(frozen=True)
class _Fields:
    """Names of the fields that stand for key attributes."""

    by_attribute: Mapping[str, str]

    def template(self, attributes: tuple[str, ...]) -> str:
        return toml_text("#".join(f"{{{self.by_attribute[attribute]}}}" for attribute in attributes))


def _field_names(table: TableDraft) -> _Fields:
    names: dict[str, str] = {}
    for attribute in key_attributes(table):
        wanted = re.sub(r"\W+", "_", attribute, flags=re.ASCII).strip("_") or "key"
        name, number = wanted, 1
        while name in names.values():
            number += 1
            name = f"{wanted}_{number}"
        names[attribute] = name
    return _Fields(names)


def write_scenario(
    table: TableDraft, traffic: TrafficDraft | None, *, file_name: str, traffic_name: str = "", example: bool = False
) -> str:
    """The TOML of a scenario.

    Parameters
    ----------
    file_name, traffic_name : of the files that were read, for the header.
    example : write the example traffic as if the user had taken the comment signs away.
    """
    fields = _field_names(table)
    lines = [
        *_header(table, traffic, file_name, traffic_name),
        "",
        "format = 1",
        f"title = {toml_text(table.name.value)}",
        *_time_lines(traffic),
        "",
        *_field_lines(table, traffic, fields),
        "",
        *_table_lines(table, fields),
        *_account_lines(table),
        *_cost_lines(table),
        *_traffic_lines(table, traffic, fields, example=example),
    ]
    return "\n".join(lines) + "\n"


# Header


def _header(table: TableDraft, traffic: TrafficDraft | None, file_name: str, traffic_name: str) -> Iterator[str]:
    place = f", {table.place}" if table.place else ""
    yield from _wrapped(f"Imported by ddbsim from {file_name}: {table.form}{place}.")
    if traffic is not None and traffic_name != file_name:
        yield from _wrapped(f"Traffic from {traffic_name}: {traffic.form}.")
    yield "#"
    yield from _wrapped(f"Taken: {', '.join(_taken(table, traffic))}. Behind each line stands where it came from.")
    if table.not_taken:
        shortened = table.not_taken[:NOT_TAKEN_MAX]
        rest = len(table.not_taken) - len(shortened)
        more = f" and {rest} more" if rest else ""
        yield from _wrapped(f"Not taken: {', '.join(comment_text(name) for name in shortened)}{more}.")
        yield from (line for sentence in _consequences(table.not_taken) for line in _wrapped(sentence))
    missing = _missing(table, traffic)
    yield from _wrapped(f'Not in the file, and guessed below (look for "guess"): {", ".join(missing)}.')
    if traffic is None:
        yield from _wrapped(
            "To fill in: traffic. A run needs at least one [[traffic]]; the examples at the end have this table's keys, take their "
            "comment signs away and set the rates. Or import again with --traffic FILE.csv."
        )
    for remark in (*table.remarks, *_single_table(table), *(traffic.remarks if traffic is not None else ())):
        yield from _wrapped(remark)


def _consequences(not_taken: tuple[str, ...]) -> Iterator[str]:
    """What a reader should know of some settings that were not taken."""
    names = {re.split(r"[.…]", path.split(" ")[0])[-1] for path in not_taken}
    if names & {"DisableScaleIn", "ScaleInCooldown", "ScaleOutCooldown"}:
        yield "Auto scaling in a scenario has no cooldowns, and always scales in as well as out."
    if "TimeToLiveSpecification" in names:
        yield 'Expiry by TTL is traffic of its own: a [[traffic]] with operation = "TTLDelete".'


def _single_table(table: TableDraft) -> Iterator[str]:
    names = (*table.keys.hash_attributes, *table.keys.range_attributes)
    if len(names) == 2 and {name.lower() for name in names} <= _GENERIC_NAMES:
        yield (
            f"{names[0]} and {names[1]} are the names of a single-table design: give each kind of item its own templates in its "
            '[[traffic]], such as pk = "USER#{user}", sk = "ORDER#{order}", with a field for each name in braces.'
        )


def _wrapped(sentence: str) -> Iterator[str]:
    line = "#"
    for word in _one_line(sentence).split(" "):
        if len(line) + 1 + len(word) > HEADER_CHARACTERS and line not in {"#", "#  "}:
            yield line
            line = "#  "
        line += f" {word}"
    yield line


def _taken(table: TableDraft, traffic: TrafficDraft | None) -> list[str]:
    throughput = table.throughput
    parts = {
        "keys": True,
        "capacity mode": "guess" not in table.mode.origin,
        "capacity": throughput.read_capacity is not None,
        "auto scaling": bool(throughput.scaling_read or throughput.scaling_write),
        "warm throughput": bool(throughput.warm_read or throughput.warm_write),
        "maximum throughput": bool(throughput.max_read or throughput.max_write),
        f"{len(table.indexes)} index{'es' if len(table.indexes) > 1 else ''}": bool(table.indexes),
        "streams": table.streams is not None,
        "replicas": table.replicas is not None,
        "table class": table.table_class is not None,
        "size": table.storage_bytes is not None,
        "item size": table.item_bytes is not None or _pattern_sizes(traffic),
        "popularity of keys": traffic is not None and bool(traffic.fields),
        "rates": traffic is not None
        and not any(isinstance(pattern.rate, ConstantRate) for pattern in traffic.patterns),
        "operations": traffic is not None
        and any("guess" not in pattern.operation.origin for pattern in traffic.patterns),
    }
    return [part for part, there in parts.items() if there]


def _pattern_sizes(traffic: TrafficDraft | None) -> bool:
    return traffic is not None and any(pattern.item_bytes is not None for pattern in traffic.patterns)


def _missing(table: TableDraft, traffic: TrafficDraft | None) -> list[str]:
    entries = [
        index for index in table.indexes if index.projection.value is not Projection.ALL and index.entry_bytes is None
    ]
    measured = set(traffic.fields) if traffic is not None else set()
    parts = {
        "how many key values there are and how popular each is": bool(set(key_attributes(table)) - measured),
        "capacity mode": "guess" in table.mode.origin,
        "operations": traffic is not None and any("guess" in pattern.operation.origin for pattern in traffic.patterns),
        "size of index entries": bool(entries),
        "item size": table.item_bytes is None and not _pattern_sizes(traffic),
        "size of the table": table.storage_bytes is None,
        "duration": traffic is None or traffic.duration_s is None,
    }
    return [part for part, there in parts.items() if there] or ["nothing"]


def _time_lines(traffic: TrafficDraft | None) -> Iterator[str]:
    if traffic is not None and traffic.duration_s is not None:
        seconds = traffic.duration_s
        yield _line("duration", str(seconds.value), f"seconds; {seconds.origin}")
    else:
        yield _line("duration", toml_text(GUESSED_DURATION), "guess")
    if traffic is not None and traffic.start is not None:
        yield _line("start", traffic.start.value, traffic.start.origin)


# Fields


def _field_lines(table: TableDraft, traffic: TrafficDraft | None, fields: _Fields) -> Iterator[str]:
    yield "[fields]"
    for attribute, role in key_attributes(table).items():
        found = traffic.fields.get(attribute) if traffic is not None else None
        name = fields.by_attribute[attribute]
        if found is not None:
            yield _line(name, _field_toml(found), f"{role}; {found.origin}")
            continue
        count, why = _guessed_count(table, attribute)
        kind = table.attribute_types.get(attribute)
        typed = f" ({kind})" if kind else ""
        moving = ""
        if "sort key" in role and _TIME_LIKE.search(attribute):
            moving = '; if it ever increases: { kind = "sequence" }'
        yield _line(
            name, f'{{ kind = "uniform", count = {count} }}', f"{role} {attribute}{typed}; guess: {why}{moving}"
        )
    if traffic is not None:
        for name, law in traffic.extra_fields.items():
            yield _line(name, law.toml, law.origin)


def _field_toml(found: MeasuredField | LawField) -> str:
    if isinstance(found, LawField):
        return found.toml
    return f'{{ kind = "csv", path = {toml_text(found.path)}, value = {toml_text(found.column)} }}'


def _guessed_count(table: TableDraft, attribute: str) -> tuple[int, str]:
    """How many values an attribute may have, and why so."""
    is_hash = attribute in table.keys.hash_attributes
    is_range = attribute in table.keys.range_attributes
    items = table.item_count.value if table.item_count is not None else None
    if is_hash and items is not None:
        if not table.keys.range_attributes:
            return items, f"one value per item, {counted(items, 'item')}"
        return max(
            1, items // GUESSED_SORT_KEYS
        ), f"{counted(items, 'item')} at {GUESSED_SORT_KEYS} each; equally popular"
    if is_hash:
        return GUESSED_KEYS, f"{GUESSED_KEYS:,} values, equally popular"
    if is_range:
        return GUESSED_SORT_KEYS, f"{GUESSED_SORT_KEYS} values, equally popular"
    return GUESSED_INDEX_KEYS, f"{GUESSED_INDEX_KEYS:,} values, equally popular"


# Table


def _table_lines(table: TableDraft, fields: _Fields) -> Iterator[str]:
    yield "[table]"
    yield _line("name", toml_text(table.name.value), table.name.origin)
    yield _line("pk", fields.template(table.keys.hash_attributes), table.keys.origin)
    if table.keys.range_attributes:
        yield _line("sk", fields.template(table.keys.range_attributes), table.keys.origin)
    yield _line("mode", toml_text(table.mode.value.value), table.mode.origin)
    yield from _throughput_lines(table.throughput)
    if table.storage_bytes is not None:
        yield _line("storage_bytes", str(table.storage_bytes.value), table.storage_bytes.origin)
    else:
        yield "storage_bytes = 0  # guess: the table starts empty"
    if table.table_class is not None:
        yield _line("table_class", toml_text(table.table_class.value.value), table.table_class.origin)
    if table.streams is not None:
        yield _line("streams", str(table.streams.value).lower(), table.streams.origin)
    if table.replicas is not None:
        yield _line("replicas", str(table.replicas.value), table.replicas.origin)
    yield from _scaling_lines("table", table.throughput)
    for index in table.indexes:
        if not index.local:
            yield from _index_lines(index, table, fields)
    for index in table.indexes:
        if index.local:
            yield from _index_lines(index, table, fields)


def _throughput_lines(throughput: ThroughputDraft) -> Iterator[str]:
    for key in ("read_capacity", "write_capacity", "warm_read", "warm_write", "max_read", "max_write"):
        taken: Taken[int] | None = getattr(throughput, key)
        if taken is not None:
            yield _line(key, str(taken.value), taken.origin)


def _scaling_lines(owner: str, throughput: ThroughputDraft) -> Iterator[str]:
    for side, scaling in (("read", throughput.scaling_read), ("write", throughput.scaling_write)):
        if scaling is not None:
            yield ""
            yield f"[{owner}.autoscaling.{side}]"
            yield from _one_scaling(scaling)


def _one_scaling(scaling: AutoScalingDraft) -> Iterator[str]:
    yield _line("min", str(scaling.minimum.value), scaling.minimum.origin)
    yield _line("max", str(scaling.maximum.value), scaling.maximum.origin)
    if scaling.target_fraction is not None:
        yield _line(
            "target_utilization", _rounded(scaling.target_fraction.value), f"{scaling.target_fraction.origin} / 100"
        )
    else:
        yield _line(
            "target_utilization",
            str(GUESSED_TARGET),
            "guess: there is no target tracking policy, and a scenario always tracks",
        )
    if scaling.schedule:
        yield "schedule = ["
        for change in scaling.schedule:
            bounds = [("min", change.minimum), ("max", change.maximum)]
            given = "".join(f", {key} = {value}" for key, value in bounds if value is not None)
            yield f"  {{ cron = {toml_text(change.cron)}{given} }},  # {comment_text(change.origin)}"
        yield "]"


def _index_lines(index: IndexDraft, table: TableDraft, fields: _Fields) -> Iterator[str]:
    kind = "lsi" if index.local else "gsi"
    yield ""
    yield f"[[table.{kind}]]"
    yield _line("name", toml_text(index.name.value), index.name.origin)
    if not index.local:
        several = len(index.keys.hash_attributes) > 1
        joined = "; a key of several attributes, joined here by #" if several else ""
        yield _line("pk", fields.template(index.keys.hash_attributes), index.keys.origin + joined)
    if index.keys.range_attributes:
        yield _line("sk", fields.template(index.keys.range_attributes), index.keys.origin)
    yield _line("projection", toml_text(index.projection.value.value), index.projection.origin)
    if index.projection.value is not Projection.ALL:
        entry = index.entry_bytes or _guessed_entry(index, table)
        yield _line("projected_bytes", str(entry.value), entry.origin)
    if index.present is not None:
        yield _line("present", _rounded(index.present.value), index.present.origin)
    yield from _throughput_lines(index.throughput)
    yield from _scaling_lines(f"table.{kind}", index.throughput)


def _guessed_entry(index: IndexDraft, table: TableDraft) -> Taken[int]:
    size = GUESSED_KEY_BYTES + GUESSED_ATTRIBUTE_BYTES * index.included_attributes
    why = f"guess: {GUESSED_KEY_BYTES} bytes of keys"
    if index.included_attributes:
        why += f" and {GUESSED_ATTRIBUTE_BYTES} for each of {index.included_attributes} included attributes"
    if table.item_bytes is not None and size > table.item_bytes.value:
        return Taken(value=table.item_bytes.value, origin="guess: the whole item")
    return Taken(value=size, origin=why)


def _account_lines(table: TableDraft) -> Iterator[str]:
    """The quotas, where the file has capacity beyond AWS's defaults: somebody must have had them raised."""
    throughputs = [table.throughput, *(index.throughput for index in table.indexes)]
    lines = []
    for side, table_quota, account_quota in (
        ("read", TABLE_QUOTA_READ_PER_S, ACCOUNT_QUOTA_READ_PER_S),
        ("write", TABLE_QUOTA_WRITE_PER_S, ACCOUNT_QUOTA_WRITE_PER_S),
    ):
        taken: list[Taken[int] | None] = [getattr(throughput, f"{side}_capacity") for throughput in throughputs]
        capacities = [one.value for one in taken if one is not None]
        for scope, quota, needed in (
            ("table", table_quota, max(capacities, default=0)),
            ("account", account_quota, sum(capacities)),
        ):
            if needed > quota:
                why = f"guess: the file's capacity is above AWS's default quota of {quota:,}"
                lines.append(_line(f"{scope}_{side}", str(needed), why))
    if lines:
        yield from ("", "[account]", *lines)


def _cost_lines(table: TableDraft) -> Iterator[str]:
    """What keeps the warm throughput that a table was found with off the bill: it grows by itself, too, and then costs nothing."""
    throughputs = [table.throughput, *(index.throughput for index in table.indexes)]
    if table.warm_is_found and any(one.warm_read or one.warm_write for one in throughputs):
        yield from ("", "[cost]")
        yield _line(
            "warm_bought", "false", "guess: the table's warm throughput grew with its traffic; true puts it on the bill"
        )


# Traffic


def _traffic_lines(table: TableDraft, traffic: TrafficDraft | None, fields: _Fields, *, example: bool) -> Iterator[str]:
    if traffic is None:
        yield from _example_lines(table, active=example)
        return
    for pattern in traffic.patterns:
        yield ""
        yield from _pattern_lines(pattern, table)


def _pattern_lines(pattern: PatternDraft, table: TableDraft) -> Iterator[str]:
    yield "[[traffic]]"
    yield f"name = {toml_text(pattern.name)}"
    yield _line("operation", toml_text(pattern.operation.value.value), pattern.operation.origin)
    yield from _rate_lines(pattern.rate)
    size = pattern.item_bytes or table.item_bytes or Taken(value=GUESSED_ITEM_BYTES, origin="guess")
    yield _line("item_bytes", str(size.value), size.origin)
    if pattern.pk_field is not None:
        yield f"pk = {toml_text(f'{{{pattern.pk_field}}}')}"
    for key, taken in pattern.extra.items():
        yield _line(key, str(taken.value) if isinstance(taken.value, int) else toml_text(taken.value), taken.origin)
    if pattern.operation.value in BATCH_OPERATIONS | TRANSACTION_OPERATIONS:
        yield "batch = 1  # guess: a row of the trace is one request of one item"


def _rate_lines(rate: Rate) -> Iterator[str]:
    if isinstance(rate, ConstantRate):
        yield _line("rate", f"{rate.per_s:g}", rate.origin)
    elif isinstance(rate, SeriesRate):
        table = (
            f'{{ kind = "csv", path = {toml_text(rate.path)}, time = {toml_text(rate.time_column)}, '
            f'value = {toml_text(rate.value_column)}, per = "row" }}'
        )
        yield _line("rate", table, rate.origin)
    else:
        yield f"rate = [  # requests per second from that second on; {comment_text(rate.origin)}"
        for place in range(0, len(rate.steps), STEPS_PER_LINE):
            chunk = rate.steps[place : place + STEPS_PER_LINE]
            yield "  " + " ".join(f"[{second}, {per_s:.10g}]," for second, per_s in chunk)
        yield "]"


def _example_lines(table: TableDraft, *, active: bool) -> Iterator[str]:
    size = table.item_bytes or Taken(value=GUESSED_ITEM_BYTES, origin="guess")
    keys = f"partition key {', '.join(table.keys.hash_attributes)}"
    if table.keys.range_attributes:
        keys += f", sort key {', '.join(table.keys.range_attributes)}"
    reading = "or Query, with items = 10 under one pk" if table.keys.range_attributes else ""
    sign = "" if active else "# "
    yield ""
    yield f"# Examples on the table's own keys ({comment_text(keys)}): take the comment signs away and set the rates."
    for name, operation, remark in (("reads", Operation.GET_ITEM, reading), ("writes", Operation.PUT_ITEM, "")):
        yield ""
        yield f"{sign}[[traffic]]"
        yield f"{sign}name = {toml_text(name)}"
        yield sign + _line("operation", toml_text(operation.value), remark)
        yield sign + _line("rate", str(GUESSED_RATE_PER_S), "TO FILL IN: requests per second")
        yield sign + _line("item_bytes", str(size.value), size.origin)
