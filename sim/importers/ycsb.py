"""YCSB core workload files (``.properties``): operation mix, record count, request distribution."""

from __future__ import annotations

import math
import re
from pathlib import Path

from sim.importers.base import (
    ConstantRate,
    KeysDraft,
    LawField,
    PatternDraft,
    TableDraft,
    Taken,
    TrafficDraft,
    refusal,
    refuse,
)
from sim.importers.documents import read_text
from sim.importers.traces import PLACEHOLDER_RATE_PER_S
from sim.limits import ITEM_BYTES_MAX, PAGE_BYTES
from sim.names import Mode, Operation

KEY = "key"  # YCSB's own word for its one key
INSERTED = "inserted_key"
ZIPFIAN_CONSTANT = 0.99  # fixed in YCSB's core workload
FIELD_COUNT = 10  # YCSB's default
FIELD_BYTES = 100  # YCSB's default
RECORDS_MAX = 10**12
_MARKS = re.compile(
    r"^\s*(?:workload\s*=.*CoreWorkload|recordcount\s*=|(?:read|update|insert|scan)proportion\s*=)", re.MULTILINE
)
_LINE = re.compile(r"\s*([\w.]+)\s*[=:]\s*(.*?)\s*")
_MIX: tuple[tuple[str, tuple[Operation, ...]], ...] = (
    ("readproportion", (Operation.GET_ITEM,)),
    ("updateproportion", (Operation.UPDATE_ITEM,)),
    ("insertproportion", (Operation.PUT_ITEM,)),
    ("scanproportion", (Operation.SCAN,)),
    ("readmodifywriteproportion", (Operation.GET_ITEM, Operation.UPDATE_ITEM)),
)
_DEFAULT_MIX = {"readproportion": 0.95, "updateproportion": 0.05}  # YCSB's own where a file says nothing


def looks_like_workload(text: str) -> bool:
    """Whether a text is a YCSB workload file."""
    return bool(_MARKS.search(text)) and not text.lstrip().startswith(("{", "["))


def _properties(text: str, *, source: str) -> dict[str, tuple[int, str]]:
    properties: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            refuse(source, "must be name=value", path=f"line {number}", value=line)
        properties[match[1].lower()] = (number, match[2])
    return properties


class _Workload:
    """The properties of one file, each read with its line in the message."""

    def __init__(self, path: Path) -> None:
        self.source = path.name
        self._properties = _properties(read_text(path, what="a workload file"), source=self.source)

    def has(self, name: str) -> bool:
        return name in self._properties

    def text(self, name: str, default: str) -> str:
        return self._properties[name][1] if self.has(name) else default

    def number(self, name: str, default: float, *, low: float, high: float) -> float:
        if not self.has(name):
            return default
        line, text = self._properties[name]
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            refuse(self.source, f"{name} must be a number from {low:g} to {high:g}", path=f"line {line}", value=text)
        return value

    def whole(self, name: str, default: int, *, low: int, high: int) -> int:
        value = self.number(name, default, low=low, high=high)
        if value != int(value):
            refuse(self.source, f"{name} must be a whole number", path=f"line {self._properties[name][0]}", value=value)
        return int(value)

    def origin(self, name: str, default: object) -> str:
        return f"{name}={self._properties[name][1]}" if self.has(name) else f"{name}={default}, YCSB's default"


def workload_table(path: Path) -> TableDraft:
    """The table that a workload runs against: YCSB knows one key and nothing of capacity."""
    workload = _Workload(path)
    records = workload.whole("recordcount", 0, low=0, high=RECORDS_MAX)
    size = _record_bytes(workload)
    return TableDraft(
        form="a YCSB workload",
        place="",
        name=Taken(value=workload.text("table", "usertable"), origin=workload.origin("table", "usertable")),
        keys=KeysDraft(hash_attributes=(KEY,), range_attributes=(), origin="YCSB has one key"),
        mode=Taken(value=Mode.ON_DEMAND, origin="guess: YCSB does not say"),
        storage_bytes=Taken(value=records * size.value, origin=f"recordcount × {size.value:,} bytes")
        if records
        else None,
        item_bytes=size,
        item_count=Taken(value=records, origin="recordcount") if records else None,
        remarks=("A workload says nothing about the table: its mode and capacity are guesses.",),
    )


def _record_bytes(workload: _Workload) -> Taken[int]:
    fields = workload.whole("fieldcount", FIELD_COUNT, low=1, high=100_000)
    length = workload.whole("fieldlength", FIELD_BYTES, low=1, high=ITEM_BYTES_MAX)
    size = fields * length
    if size > ITEM_BYTES_MAX:
        refuse(
            workload.source,
            f"fieldcount × fieldlength is {size:,} bytes; a DynamoDB item has at most {ITEM_BYTES_MAX:,}",
        )
    return Taken(
        value=size,
        origin=f"{workload.origin('fieldcount', FIELD_COUNT)} × {workload.origin('fieldlength', FIELD_BYTES)}",
    )


def read_workload(path: Path, *, table: TableDraft) -> TrafficDraft:
    """The traffic of a workload on a table, whose partition key takes the place of YCSB's key."""
    workload = _Workload(path)
    source = workload.source
    key = table.keys.hash_attributes[0]
    size = _record_bytes(workload)
    records = workload.whole("recordcount", 1000, low=1, high=RECORDS_MAX)
    shares = _shares(workload)
    remarks: list[str] = []
    total_per_s, placeholder = _target(workload, remarks)
    patterns = []
    for name, operations in _MIX:
        if not shares.get(name):
            continue
        for operation in operations:
            label = name.removesuffix("proportion") + (f"-{operation.value}" if len(operations) > 1 else "")
            patterns.append(
                PatternDraft(
                    name=label,
                    operation=Taken(value=operation, origin=workload.origin(name, _DEFAULT_MIX.get(name, 0))),
                    rate=ConstantRate(
                        per_s=float(f"{total_per_s * shares[name]:.6g}"),
                        origin=f"{placeholder} × {shares[name]:.4g}",
                    ),
                    item_bytes=size,
                    pk_field=INSERTED if operation is Operation.PUT_ITEM else None,
                    extra=_scan_keys(workload, records, size.value) if operation is Operation.SCAN else {},
                )
            )
    if not patterns:
        refuse(source, "has no operation: all proportions are 0")
    distribution = workload.text("requestdistribution", "uniform").lower()
    if workload.text("fieldlengthdistribution", "constant").lower() != "constant":
        remarks.append("fieldlengthdistribution was not taken: all items have the size of fieldcount × fieldlength.")
    law = _law(workload, distribution, records, remarks)
    inserts = {INSERTED: LawField(toml='{ kind = "sequence" }', origin="insertproportion: each insert has a new key")}
    return TrafficDraft(
        form="a YCSB workload",
        patterns=tuple(patterns),
        fields={key: law},
        extra_fields=inserts if any(pattern.pk_field for pattern in patterns) else {},
        remarks=tuple(remarks),
    )


def _shares(workload: _Workload) -> dict[str, float]:
    named = any(workload.has(name) for name, _ in _MIX)
    defaults = {} if named else _DEFAULT_MIX
    shares = {name: workload.number(name, defaults.get(name, 0.0), low=0, high=1) for name, _ in _MIX}
    total = sum(shares.values())
    if total <= 0:
        refuse(workload.source, "has no operation: all proportions are 0")
    return {name: share / total for name, share in shares.items()}


def _target(workload: _Workload, remarks: list[str]) -> tuple[float, str]:
    if workload.has("target"):
        return workload.number("target", 0, low=0, high=1e9), workload.origin("target", "")
    remarks.append(
        f"TO FILL IN: the rate; a workload file names none, {PLACEHOLDER_RATE_PER_S:g}/s in all is a placeholder."
    )
    return PLACEHOLDER_RATE_PER_S, f"TO FILL IN, a placeholder: {PLACEHOLDER_RATE_PER_S:g}/s"


def _scan_keys(workload: _Workload, records: int, item_bytes: int) -> dict[str, Taken[int] | Taken[str]]:
    longest = workload.whole("maxscanlength", 1000, low=1, high=RECORDS_MAX)
    mean = max(1, min((longest + 1) // 2, records, PAGE_BYTES // item_bytes))
    return {
        "items": Taken(value=records, origin="recordcount"),
        "limit": Taken(value=mean, origin=f"half of {workload.origin('maxscanlength', 1000)}, at most a page"),
        "pages": Taken(value=1, origin="YCSB reads one run of records"),
    }


def _law(workload: _Workload, distribution: str, records: int, remarks: list[str]) -> LawField:
    origin = f"{workload.origin('requestdistribution', 'uniform')}, {workload.origin('recordcount', 1000)}"
    if distribution in {"uniform", "sequential"}:
        if distribution == "sequential":
            remarks.append("requestdistribution=sequential goes through the keys in turn; over a run that is uniform.")
        return LawField(toml=f'{{ kind = "uniform", count = {records} }}', origin=origin)
    if distribution in {"zipfian", "latest"}:
        if distribution == "latest":
            remarks.append(
                "requestdistribution=latest favours the newest records: the skew is taken, and that the favourites change is not."
            )
        return LawField(toml=f'{{ kind = "zipf", count = {records}, exponent = {ZIPFIAN_CONSTANT} }}', origin=origin)
    raise refusal(
        workload.source,
        "this version reads requestdistribution uniform, zipfian, latest and sequential",
        path="requestdistribution",
        value=distribution,
        hint="set one of them in a copy, and edit the field in the scenario",
    )
