"""What must hold between the parts of a scenario: names that are used exist, windows and quotas fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from sim.limits import ACCOUNT_QUOTA_READ_PER_S, ACCOUNT_QUOTA_WRITE_PER_S
from sim.names import PAGED_OPERATIONS, PRICE_SHEETS, AdmissionPolicy, IndexChange, Mode, TableClass
from sim.pages import OVER_FETCH_PAGES_MAX, OVER_FETCH_UNTIL_MAX
from sim.pages import PAGES_MAX as WALK_PAGES_MAX
from sim.scenario.base import Place, choices, counted, nearest, refusal
from sim.scenario.csvfile import CsvProblem, check_series, check_weights
from sim.scenario.fields import (
    ChoiceField,
    ClockField,
    CsvField,
    Field,
    HashField,
    SequenceField,
    UniformField,
    ZipfField,
    shard_of,
)
from sim.scenario.metrics import METRIC_KINDS, Split, divides_minutes
from sim.scenario.rates import CsvRate
from sim.scenario.sections import Account, Alarm, Cost, Event
from sim.scenario.table import KEYS_OF_MODE, Table, index_names, unknown_index
from sim.scenario.templates import fields_of
from sim.scenario.traffic import Action, Traffic
from sim.units import items_per_page

Refused = list[tuple[Place, Any, Any]]

TRAFFIC_HINT = 'such as [[traffic]] with name = "reads", operation = "GetItem", rate = 100'
TICKS_MAX = 50_000_000  # a year and a half of seconds; a run keeps about 30 bytes of each in memory
SCATTER_MAX = 10_000  # queries that one request asks at once
WHOLE_TOLERANCE = 1e-9  # of a quotient of times that are decimal fractions


class Parts(Protocol):
    """What is looked at: the parts of a scenario, and where its file lies."""

    @property
    def duration(self) -> float: ...
    @property
    def start(self) -> datetime: ...
    @property
    def tick(self) -> float: ...
    @property
    def period(self) -> float: ...
    @property
    def admission(self) -> AdmissionPolicy: ...
    @property
    def prices(self) -> str: ...
    @property
    def base_dir(self) -> str: ...
    @property
    def fields(self) -> Mapping[str, Field]: ...
    @property
    def table(self) -> Table: ...
    @property
    def traffic(self) -> tuple[Traffic, ...]: ...
    @property
    def account(self) -> Account: ...
    @property
    def cost(self) -> Cost: ...
    @property
    def event(self) -> tuple[Event, ...]: ...
    @property
    def alarm(self) -> tuple[Alarm, ...]: ...


def cross_checks(scenario: Parts) -> Refused:
    """Everything that is wrong between parts of a scenario, each part being right in itself."""
    return [refused for check in _CHECKS for refused in check(scenario)]


def _is_whole(quotient: float) -> bool:
    return round(quotient) >= 1 and abs(quotient - round(quotient)) <= WHOLE_TOLERANCE * max(1.0, quotient)


def _times(scenario: Parts) -> Refused:
    wrong: Refused = []
    tick, period = scenario.tick, scenario.period
    if not (_is_whole(tick) if tick >= 1 else _is_whole(1 / tick)):
        sentence = "must be a whole number of seconds, or a part of a second that divides it"
        wrong.append((("tick",), tick, refusal(sentence, 'such as "1s", "500ms", "100ms", "60s"')))
    elif not _is_whole(period / tick):
        wrong.append((("tick",), tick, refusal(f"must divide period ({period:g} s)")))
    elif scenario.duration / tick > TICKS_MAX:
        sentence = f"the run would take {scenario.duration / tick:,.0f} ticks; at most {TICKS_MAX:,} are simulated"
        wrong.append((("tick",), tick, refusal(sentence, 'a longer tick, such as "1m", or a shorter duration')))
    return wrong


def _admission(scenario: Parts) -> Refused:
    if scenario.admission is AdmissionPolicy.INSTANT or scenario.table.mode is Mode.PROVISIONED:
        return []
    sentence = f"{scenario.admission} is for provisioned tables only; this table is {scenario.table.mode}"
    return [(("admission",), str(scenario.admission), refusal(sentence, 'leave it out, or "instant"'))]


def _prices(scenario: Parts) -> Refused:
    if scenario.prices in PRICE_SHEETS:
        return []
    try:
        if (Path(scenario.base_dir) / scenario.prices).is_file():
            return []
    except (OSError, ValueError):
        pass
    hint = f"{choices(scenario.prices, PRICE_SHEETS)}, or the path of a file of your own"
    return [(("prices",), scenario.prices, refusal("no such price sheet", hint))]


def _fields(scenario: Parts) -> Refused:
    wrong: Refused = []
    for name, field in scenario.fields.items():
        if "{" in name or "}" in name or not name.strip():
            wrong.append((("fields", name), name, refusal("a field's name must not be blank or contain braces")))
        if isinstance(field, HashField):
            place: Place = ("fields", name, "of")
            if field.of not in scenario.fields:
                wrong.append((place, field.of, _unknown_field(scenario, field.of)))
            elif _hashes_itself(scenario.fields, name):
                wrong.append((place, field.of, refusal(f"{name} would be a hash of itself")))
        if isinstance(field, CsvField):
            try:
                check_weights(field)
            except CsvProblem as problem:
                wrong.append(_csv(("fields", name), field, problem))
    return wrong


def _hashes_itself(fields: Mapping[str, Field], name: str) -> bool:
    seen: set[str] = set()
    at = name
    while isinstance(field := fields.get(at), HashField) and at not in seen:
        seen.add(at)
        at = field.of
        if at == name:
            return True
    return False


def _unknown_field(scenario: Parts, name: str) -> Any:
    return refusal(f"no field {name!r} in [fields]", choices(name, scenario.fields))


def _csv(place: Place, value: CsvField | CsvRate, problem: CsvProblem) -> tuple[Place, Any, Any]:
    return ((*place, problem.key), getattr(value, problem.key), refusal(problem.message, problem.hint))


def templates_of(scenario: Parts) -> Iterator[tuple[Place, str]]:
    """Every key template with its place."""
    table = scenario.table
    holders: list[tuple[Place, Any]] = [(("table",), table)]
    holders += [(("table", "gsi", index), gsi) for index, gsi in enumerate(table.gsi)]
    holders += [(("table", "lsi", index), lsi) for index, lsi in enumerate(table.lsi)]
    for index, traffic in enumerate(scenario.traffic):
        holders.append((("traffic", index), traffic))
        holders += [(("traffic", index, "actions", at), action) for at, action in enumerate(traffic.actions or ())]
    for place, holder in holders:
        for key in ("pk", "sk"):
            template = getattr(holder, key, None)
            if template is not None:
                yield (*place, key), template


def _templates(scenario: Parts) -> Refused:
    wrong: Refused = []
    for place, template in templates_of(scenario):
        wrong += [
            (place, template, _unknown_field(scenario, field))
            for field in fields_of(template)
            if field not in scenario.fields
        ]
        if place[-1] == "sk" and place[0] == "traffic" and scenario.table.sk is None:
            wrong.append((place, template, refusal("the table has no sort key", "give table.sk a template")))
    return wrong


def used_fields(scenario: Parts) -> set[str]:
    """Fields that a key template uses, or hashes."""
    used = {field for _, template in templates_of(scenario) for field in fields_of(template)}
    waiting = list(used)
    while waiting:
        field = scenario.fields.get(waiting.pop())
        if isinstance(field, HashField) and field.of not in used:
            used.add(field.of)
            waiting.append(field.of)
    return used


def _fixed_fields(scenario: Parts) -> Refused:
    wrong: Refused = []
    used = used_fields(scenario)
    for index, traffic in enumerate(scenario.traffic):
        for key in ("where", "was"):
            fixed: Mapping[str, str | int] = getattr(traffic, key)
            for name, value in fixed.items():
                place: Place = ("traffic", index, key, name)
                if name not in scenario.fields:
                    wrong.append((place, value, _unknown_field(scenario, name)))
                elif name not in used:
                    wrong.append(
                        (place, value, refusal(f"no key template uses the field {name!r}; fixing it does nothing"))
                    )
                elif (impossible := _impossible(scenario.fields[name], value)) is not None:
                    wrong.append((place, value, impossible))
                elif (other := _wrong_hash(scenario.fields, fixed, name)) is not None:
                    wrong.append((place, value, other))
        if traffic.was and not _changes_a_key(traffic):
            sentence = 'is for writes that change an index key: touches = { INDEX = "key-changed" }'
            wrong.append((("traffic", index, "was"), traffic.was, refusal(sentence)))
    return wrong


def _changes_a_key(traffic: Traffic) -> bool:
    return any(
        isinstance(touches, Mapping) and IndexChange.KEY_CHANGED in touches.values()
        for touches in (traffic.touches, *(action.touches for action in traffic.actions or ()))
    )


def _impossible(field: Field, value: str | int) -> Any:
    """Why a field never has a value, or None if it can."""
    match field:
        case ChoiceField() if value not in field.weights:
            return refusal("is no value of the field", choices(value, field.weights))
        case UniformField() | ZipfField() | HashField() if not isinstance(value, int) or not value < field.count:
            return refusal(f"must be a whole number from 0 to {field.count - 1}")
        case SequenceField() if not isinstance(value, int):
            return refusal("must be a whole number from 0")
        case ClockField() if not isinstance(value, str):
            return refusal("must be a text, as the clock's format writes it")
        case CsvField():
            try:
                values = check_weights(field)[0]
            except CsvProblem:
                return None  # told where the field stands
            if str(value) not in values:
                return refusal(
                    f"no such value in column {field.value!r} of {field.path}", nearest(value, values[:10_000])
                )
    return None


def _wrong_hash(fields: Mapping[str, Field], fixed: Mapping[str, str | int], name: str) -> Any:
    field = fields[name]
    if not isinstance(field, HashField) or field.of not in fixed:
        return None
    hashed = shard_of(str(fixed[field.of]), field.count)
    if fixed[name] == hashed:
        return None
    return refusal(f"is the hash of {field.of}, which is fixed too: it can only be {hashed}")


def _traffic(scenario: Parts) -> Refused:
    wrong: Refused = []
    names: list[str] = []
    if not scenario.traffic:
        wrong.append((("traffic",), None, refusal("no [[traffic]]: say what comes at the table", TRAFFIC_HINT)))
    for index, traffic in enumerate(scenario.traffic):
        place: Place = ("traffic", index)
        if traffic.name in names:
            sentence = f"names of patterns must differ; traffic[{names.index(traffic.name)}] has this one"
            wrong.append(((*place, "name"), traffic.name, refusal(sentence)))
        names.append(traffic.name)
        if traffic.starts >= scenario.duration:
            sentence = f"must lie within the run, before {scenario.duration:g} s"
            wrong.append(((*place, "starts"), traffic.starts, refusal(sentence)))
        if traffic.ends is not None and traffic.ends > scenario.duration:
            sentence = f"must lie within the run, at most {scenario.duration:g} s"
            wrong.append(((*place, "ends"), traffic.ends, refusal(sentence, "leave it out for the run's end")))
        partitions = scenario.table.partitions
        if traffic.partition is not None and partitions is not None and traffic.partition >= partitions:
            numbers = "number 0" if partitions == 1 else f"numbered 0 to {partitions - 1}"
            sentence = f"the table starts with {counted(partitions, 'partition')}, {numbers}"
            wrong.append(((*place, "partition"), traffic.partition, refusal(sentence)))
        if isinstance(traffic.rate, CsvRate):
            try:
                check_series(traffic.rate)
            except CsvProblem as problem:
                wrong.append(_csv((*place, "rate"), traffic.rate, problem))
        wrong += _reads_index(scenario, traffic, place)
        wrong += _touches_indexes(scenario, traffic, place)
        for at, action in enumerate(traffic.actions or ()):
            wrong += _touches_indexes(scenario, action, (*place, "actions", at))
        wrong += _scatters(scenario, traffic, place)
        wrong += _walks(scenario, traffic, place)
    return wrong


def _reads_index(scenario: Parts, traffic: Traffic, place: Place) -> Refused:
    is_local = traffic.index in {lsi.name for lsi in scenario.table.lsi}
    if traffic.fetches and not is_local:
        sentence = "is for a Query on a local secondary index; a global one gives its projection only"
        return [((*place, "fetches"), True, refusal(sentence))]
    if traffic.index is None:
        return []
    if traffic.index not in index_names(scenario.table):
        return [((*place, "index"), traffic.index, unknown_index(scenario.table, traffic.index))]
    if traffic.consistent and not is_local:
        sentence = "a global secondary index has eventually consistent reads only"
        return [((*place, "consistent"), True, refusal(sentence))]
    return []


def _touches_indexes(scenario: Parts, writer: Traffic | Action, place: Place) -> Refused:
    if isinstance(writer.touches, str):
        return []
    known = index_names(scenario.table)
    wrong: Refused = []
    for at, name in enumerate(writer.touches):
        if name not in known:
            inner: str | int = name if isinstance(writer.touches, Mapping) else at
            wrong.append(((*place, "touches", inner), name, unknown_index(scenario.table, name)))
    return wrong


def _scatters(scenario: Parts, traffic: Traffic, place: Place) -> Refused:
    if traffic.scatter is None:
        return []
    field = scenario.fields.get(traffic.scatter)
    if field is None:
        return [((*place, "scatter"), traffic.scatter, _unknown_field(scenario, traffic.scatter))]
    if isinstance(field, SequenceField | ClockField):
        sentence = f"{traffic.scatter} is a {field.kind} field; only a field with so many values can be scattered over"
        return [((*place, "scatter"), traffic.scatter, refusal(sentence))]
    if traffic.scatter in traffic.where:
        sentence = f"{traffic.scatter} is fixed by where; there is nothing to scatter over"
        return [((*place, "scatter"), traffic.scatter, refusal(sentence))]
    global_index = next((gsi for gsi in scenario.table.gsi if gsi.name == traffic.index), None)
    pk = traffic.pk or (global_index.pk if global_index is not None else scenario.table.pk)
    if traffic.scatter not in fields_of(pk):
        sentence = f"the partition key {pk!r} does not use {traffic.scatter}, so each value would ask for the same key"
        return [((*place, "scatter"), traffic.scatter, refusal(sentence))]
    try:
        count = (
            len(check_weights(field)[0])
            if isinstance(field, CsvField)
            else len(field.weights)
            if isinstance(field, ChoiceField)
            else field.count
        )
    except CsvProblem:
        return []  # told where the field stands
    if count > SCATTER_MAX:
        sentence = f"{traffic.scatter} has {count:,} values; one request asks for at most {SCATTER_MAX:,}"
        return [((*place, "scatter"), traffic.scatter, refusal(sentence))]
    return []


def _walks(scenario: Parts, traffic: Traffic, place: Place) -> Refused:
    if traffic.operation not in PAGED_OPERATIONS:
        return []
    if traffic.over_fetch is not None:
        aim = f"until, from 1 to {OVER_FETCH_UNTIL_MAX} items"
        rounds = f"pages, from 1 to {OVER_FETCH_PAGES_MAX}"
        if traffic.until is None or traffic.until > OVER_FETCH_UNTIL_MAX:
            sentence = f"asks for so many times what is missing to {aim}"
            return [((*place, "over_fetch"), traffic.over_fetch, refusal(sentence, "such as until = 20"))]
        if traffic.pages == "all" or traffic.pages > OVER_FETCH_PAGES_MAX:
            sentence = f"needs a number of rounds: {rounds}"
            return [((*place, "over_fetch"), traffic.over_fetch, refusal(sentence, "such as pages = 5"))]
        return []
    projected = {gsi.name: gsi.projected_bytes for gsi in scenario.table.gsi}
    projected |= {lsi.name: lsi.projected_bytes for lsi in scenario.table.lsi}
    entry_bytes = projected.get(traffic.index or "") or traffic.item_bytes
    pages = traffic.items // items_per_page(entry_bytes, traffic.limit) + 1
    pages = pages if traffic.pages == "all" else min(pages, traffic.pages)
    if pages > WALK_PAGES_MAX:
        sentence = f"a request would walk {pages:,} pages; at most {WALK_PAGES_MAX:,} are simulated"
        return [((*place, "items"), traffic.items, refusal(sentence, "pages = 1000 walks that many"))]
    return []


def _follows(scenario: Parts) -> Refused:
    leader = {traffic.name: traffic.follows.traffic for traffic in scenario.traffic if traffic.follows is not None}
    names = [traffic.name for traffic in scenario.traffic]
    wrong: Refused = []
    for index, traffic in enumerate(scenario.traffic):
        if traffic.follows is None:
            continue
        place: Place = ("traffic", index, "follows", "traffic")
        given = traffic.follows.traffic
        if given not in names:
            wrong.append((place, given, refusal(f"no pattern {given!r}", choices(given, names))))
            continue
        at, seen = traffic.name, set[str]()
        while at in leader and at not in seen:
            seen.add(at)
            at = leader[at]
        if at == traffic.name and seen:
            wrong.append((place, given, refusal(f"{traffic.name} would follow itself")))
    return wrong


def _quotas(scenario: Parts) -> Refused:
    if scenario.table.mode is not Mode.PROVISIONED:
        return []
    wrong: Refused = []
    account, table = scenario.account, scenario.table
    for dimension, quota_of_account in (("read", ACCOUNT_QUOTA_READ_PER_S), ("write", ACCOUNT_QUOTA_WRITE_PER_S)):
        key = f"{dimension}_capacity"
        quota = getattr(account, f"table_{dimension}")
        total = 0.0
        holders: list[tuple[Place, Any]] = [(("table",), table)]
        holders += [(("table", "gsi", index), gsi) for index, gsi in enumerate(table.gsi)]
        for place, holder in holders:
            capacity = getattr(holder, key) or 0.0
            total += capacity
            if capacity > quota:
                sentence = f"is above the quota of one table or index, {quota:,.10g} units per second"
                hint = f"AWS raises it on request: [account] table_{dimension} = {capacity:.10g}"
                wrong.append(((*place, key), capacity, refusal(sentence, hint)))
        asked = getattr(account, f"account_{dimension}")
        most = max(quota_of_account, quota) if asked is None else asked
        if total > most and not wrong:
            sentence = (
                f"with the indexes it is {total:,.10g}, above the account's quota of {most:,.10g} units per second"
            )
            hint = f"AWS raises it on request: [account] account_{dimension} = {total:.10g}"
            wrong.append((("table", key), getattr(table, key), refusal(sentence, hint)))
    return wrong


def _reservation(scenario: Parts) -> Refused:
    if scenario.table.table_class is TableClass.STANDARD:
        return []
    sentence = f"reserved capacity is for standard tables only; this table is {scenario.table.table_class}"
    given = {key: getattr(scenario.cost, key) for key in ("reserved_read", "reserved_write")}
    return [(("cost", key), value, refusal(sentence, "leave it out")) for key, value in given.items() if value]


def _stream_readers(scenario: Parts) -> Refused:
    if scenario.table.streams or not scenario.cost.stream_readers:
        return []
    sentence = "the table has no stream to read"
    return [(("cost", "stream_readers"), scenario.cost.stream_readers, refusal(sentence, "table.streams = true"))]


def _events(scenario: Parts) -> Refused:
    wrong: Refused = []
    global_names = [gsi.name for gsi in scenario.table.gsi]
    for index, event in enumerate(scenario.event):
        if event.at > scenario.duration:
            sentence = f"must lie within the run, at most {scenario.duration:g} s"
            wrong.append((("event", index, "at"), event.at, refusal(sentence)))
        if event.index is not None and event.index not in global_names:
            sentence = f"no global secondary index {event.index!r}"
            wrong.append(
                (("event", index, "index"), event.index, refusal(sentence, choices(event.index, global_names)))
            )
    wrong += _updates(scenario)
    return wrong


def _updates(scenario: Parts) -> Refused:
    """What events ask for in the capacity mode that holds by then, if none before them is refused; those of one moment are one request."""
    wrong: Refused = []
    mode = scenario.table.mode
    ordered = sorted(enumerate(scenario.event), key=lambda row: row[1].at)
    for _, group in groupby(ordered, key=lambda row: row[1].at):
        together = list(group)
        modes = [(index, event) for index, event in together if event.mode is not None]
        for index, event in modes:
            wrong += _switch(scenario, index, event, mode, together)
        if modes:
            mode = modes[0][1].mode or mode
        for index, event in together:
            for key in _OF_MODE[Mode.ON_DEMAND if mode is Mode.PROVISIONED else Mode.PROVISIONED]:
                if (given := getattr(event, key)) is not None:
                    sentence = f"does not fit mode {mode}, which the table has by then"
                    wrong.append((("event", index, key), given, refusal(sentence)))
        wrong += _twice(together)
    return wrong


def _switch(scenario: Parts, index: int, event: Event, before: Mode, together: Sequence[tuple[int, Event]]) -> Refused:
    place: Place = ("event", index, "mode")
    if event.index is not None:
        return [(place, event.mode, refusal("an index has the mode of its table", "leave out index"))]
    if event.mode is before:
        return [(place, event.mode, refusal(f"the table is {before} already by then"))]
    if event.mode is Mode.ON_DEMAND:
        if scenario.admission is AdmissionPolicy.INSTANT:
            return []
        sentence = f"{scenario.admission} admission is for provisioned tables only"
        return [(place, event.mode, refusal(sentence, 'admission = "instant" knows both modes'))]
    wrong: Refused = []
    for name in (None, *(gsi.name for gsi in scenario.table.gsi)):
        mine = [other for _, other in together if other.index == name]
        for key in _OF_MODE[Mode.PROVISIONED]:
            if all(getattr(other, key) is None for other in mine):
                of_index = "" if name is None else f" of the index {name}"
                sentence = f"needs {key}{of_index} in provisioned mode"
                hint = "" if name is None else f'an event with the same at, index = "{name}" and {key}'
                wrong.append((place, event.mode, refusal(sentence, hint)))
    return wrong


def _twice(together: Sequence[tuple[int, Event]]) -> Refused:
    """A setting of one resource that two events of one moment ask for."""
    wrong: Refused = []
    seen: dict[tuple[str | None, str], int] = {}
    for index, event in together:
        for key in sorted(event.model_fields_set - {"at", "index"}):
            first = seen.setdefault((event.index, key), index)
            if first != index:
                sentence = f"event[{first}] sets it at the same moment"
                wrong.append((("event", index, key), getattr(event, key), refusal(sentence)))
    return wrong


# What an event can set of it.
_OF_MODE: Mapping[Mode, tuple[str, ...]] = {
    mode: tuple(key for key in keys if key in Event.model_fields) for mode, keys in KEYS_OF_MODE.items()
}


def _alarms(scenario: Parts) -> Refused:
    return [
        (("alarm", index, key), getattr(alarm, key), why)
        for index, alarm in enumerate(scenario.alarm)
        for key, why in _alarm(scenario, alarm)
    ]


def _alarm(scenario: Parts, alarm: Alarm) -> Iterator[tuple[str, Any]]:
    """What is wrong with an alarm, by its keys."""
    split = METRIC_KINDS[alarm.metric].split
    if alarm.index is not None and alarm.index not in index_names(scenario.table):
        yield "index", unknown_index(scenario.table, alarm.index)
    elif alarm.index is not None and alarm.index not in [gsi.name for gsi in scenario.table.gsi]:
        yield "index", refusal("a local secondary index has no metrics of its own: its units are the table's")
    elif alarm.index is not None and split is not Split.RESOURCE:
        yield "index", refusal(f"{alarm.metric} is not split by index; its dimensions: {split.value}")
    if alarm.operation is not None and split is not Split.OPERATION:
        yield "operation", refusal(f"{alarm.metric} is not split by operation; its dimensions: {split.value}")
    if alarm.of_provisioned:
        if not alarm.metric.startswith("Consumed"):
            yield (
                "of_provisioned",
                refusal(f"only consumed capacity is a fraction of the provisioned; not {alarm.metric}"),
            )
        if alarm.statistic != "Sum":
            yield "statistic", refusal("with of_provisioned the units of a period are added up: Sum")
    modes = {scenario.table.mode, *(event.mode for event in scenario.event)}
    if (alarm.of_provisioned or alarm.metric.startswith("Provisioned")) and Mode.PROVISIONED not in modes:
        key = "of_provisioned" if alarm.of_provisioned else "metric"
        yield key, refusal("the table is on demand and has no provisioned capacity")
    if not divides_minutes(scenario.tick):
        yield "metric", refusal(f"metrics are made by the minute, and ticks of {scenario.tick:g} s do not divide one")


_CHECKS: tuple[Callable[[Parts], Refused], ...] = (
    _times,
    _admission,
    _prices,
    _fields,
    _templates,
    _fixed_fields,
    _traffic,
    _follows,
    _quotas,
    _reservation,
    _stream_readers,
    _events,
    _alarms,
)
