"""Questions whose answers are known: the files of tests/cases, how they are run, and what each of their checks measures.

A file has a ``[case]`` (where it comes from, what is asked and why the answer follows), a ``[scenario]`` in the project's
own format, ``[[variant]]`` tables that change the scenario by key path, and ``[[check]]`` tables: a metric of the result,
perhaps over a window, and what it must be. ``measured/`` holds published measurements; there a check carries the
measured figure, and ``misses`` with the reason where the simulation is known not to meet it.

As a program it prints what was measured beside what is simulated:

    PYTHONPATH=. python tests/case_checks.py
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sim import units
from sim.run import run
from sim.scenario import from_dict

CASES = Path(__file__).resolve().parent / "cases"
MEASURED = CASES / "measured"
WAITING = CASES / "waiting.toml"

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {">": operator.gt, ">=": operator.ge}


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(found, frozenset):
        return found == {wanted}
    if isinstance(found, str) or isinstance(wanted, str):
        return bool(found == wanted)
    return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9)


def _in_order(found: Mapping[str, float], chain: list[str]) -> bool:
    steps = zip(chain[::2], chain[1::2], chain[2::2], strict=False)
    return all(COMPARISONS[sign](found[left], found[right]) for left, sign, right in steps)


BOUNDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "between": lambda found, ends: ends[0] <= found <= ends[1],
    "equals": _same,
    "at_least": operator.ge,
    "at_most": operator.le,
    "any_of": lambda found, words: bool(found) and found <= frozenset(words),
    "order": _in_order,
}


@dataclass(frozen=True, kw_only=True)
class Check:
    """One figure of a case: what is measured on which run, and what it must be.

    Attributes
    ----------
    metric : a name in `METRICS`.
    bound, value : one of `BOUNDS` and its operand, as the file has them; ``order`` names variants.
    resource : ``table`` or ``index/NAME``.
    item : line of the bill that ``charged_units`` counts.
    window_s : part of the run, on edges of the result's periods; None: all of it.
    measured : the published figure, a number or words; None outside of ``measured/``.
    misses : why the simulation does not meet it; then it must not, so that the reason goes when it does.
    """

    metric: str
    bound: str
    value: Any
    variant: str | None = None
    traffic: str | None = None
    window_s: tuple[float, float] | None = None
    at_s: float | None = None
    after_s: float = 0.0
    divided_by: float = 1.0
    attributes: Mapping[str, int] | None = None
    resource: str = "table"
    item: str | None = None
    measured: float | str | None = None
    misses: str = ""
    departs: str = ""
    note: str = ""

    def holds(self, found: Any) -> bool:
        """Whether what was found is what is expected."""
        return BOUNDS[self.bound](found, self.value)

    @property
    def where(self) -> str:
        """Variant, pattern and window in a few words."""
        window = "" if self.window_s is None else f"{self.window_s[0]:g}-{self.window_s[1]:g} s"
        at = "" if self.at_s is None else f"at {self.at_s:g} s"
        resource = "" if self.resource == "table" else self.resource
        return ", ".join(part for part in (self.variant, self.traffic, resource, window, at) if part)

    @property
    def expected(self) -> str:
        """The bound in a few words."""
        words = " ".join(map(str, self.value)) if self.bound == "order" else self.value
        return f"{self.bound.replace('_', ' ')} {words}"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One file of tests/cases."""

    path: Path
    id: str
    kind: str
    source: str
    question: str
    why: str
    confidence: str
    scenario: Mapping[str, Any]
    checks: tuple[Check, ...]
    departs: str = ""
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    omitted: Mapping[str, str] = field(default_factory=dict)

    def scenario_of(self, variant: str | None) -> dict[str, Any]:
        """The scenario as a mapping, with a variant's changes made."""
        mapping = copy.deepcopy(dict(self.scenario))
        for path, value in self.variants[variant].items() if variant else ():
            _put(mapping, path, value)
        return mapping


def _put(mapping: dict[str, Any], path: str, value: Any) -> None:
    """Set a value by its key path, ``traffic[0].rate``; the last key may be new."""
    *steps, last = re.findall(r"[^.\[\]]+", path)
    place: Any = mapping
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    place[last] = value


def read_case(path: Path) -> Case:
    """The case in a file; a key that means nothing is an error."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    checks = tuple(_check_of(table) for table in data.pop("check"))
    case = Case(
        path=path,
        **data.pop("case"),
        scenario=data.pop("scenario"),
        checks=checks,
        variants={table["name"]: table["set"] for table in data.pop("variant", [])},
        omitted={table["metric"]: table["reason"] for table in data.pop("omitted", [])},
    )
    assert not data, f"{path.name}: unknown {', '.join(data)}"
    assert case.id == path.stem, f"{path.name} calls itself {case.id}"
    for check in checks:
        named = check.value[::2] if check.bound == "order" else [check.variant] if check.variant else []
        unknown = set(named) - set(case.variants)
        assert not unknown, f"{path.name}: no variant {', '.join(unknown)}"
    return case


def _check_of(table: dict[str, Any]) -> Check:
    (bound,) = BOUNDS.keys() & table.keys()
    assert table["metric"] in METRICS, f"no metric {table['metric']!r}"
    window = table.pop("window_s", None)
    return Check(bound=bound, value=table.pop(bound), window_s=window and tuple(window), **table)


def read_cases(folder: Path = CASES) -> list[Case]:
    """All cases of a folder in the order of their names."""
    return [read_case(path) for path in sorted(folder.glob("*.toml")) if path != WAITING]


def waiting() -> dict[str, dict[str, str]]:
    """Handed cases that nothing encodes yet: ``puzzles`` and ``measured``, each id with what it waits for."""
    return tomllib.loads(WAITING.read_text(encoding="utf-8"))


@functools.cache
def _case_at(path: Path) -> Case:
    return read_case(path)


@functools.cache
def _result_of(path: Path, variant: str | None) -> dict[str, Any]:
    """The result of one scenario, run once however many checks look at it."""
    case = _case_at(path)
    return run(from_dict(case.scenario_of(variant), source=path.name, base_dir=path.parent)).to_dict()


def measure(case: Case, check: Check) -> Any:
    """What the simulation gives for a check: a number, a set of words, or for an order a number of each variant."""
    if check.metric == "item_bytes":
        assert check.attributes is not None
        return item_bytes(check.attributes)
    if check.bound == "order":
        return {name: METRICS[check.metric](Seen(case, check, name)) for name in check.value[::2]}
    return METRICS[check.metric](Seen(case, check, check.variant))


# What is measured.


class Seen:
    """A result as one check looks at it: its patterns, its window."""

    def __init__(self, case: Case, check: Check, variant: str | None) -> None:
        self.check = check
        self.scenario = case.scenario_of(variant)
        self.result = _result_of(case.path, variant)
        self.series = self.result["series"]
        self.window = self._periods()

    def _periods(self) -> slice:
        if self.check.window_s is None:
            return slice(None)
        edges = [*self.series["t_s"], self.result["duration_s"]]
        for edge in self.check.window_s:
            assert edge in edges, f"{edge:g} s is no edge of a period of {self.series['period_s']:g} s"
        return slice(*(edges.index(edge) for edge in self.check.window_s))

    @property
    def seconds(self) -> float:
        start, end = self.check.window_s or (0.0, self.result["duration_s"])
        return float(end - start)

    def patterns(self) -> Iterator[Mapping[str, Any]]:
        """The scenario's patterns that the check looks at."""
        found = [t for t in self.scenario["traffic"] if self.check.traffic in (None, t["name"])]
        assert found, f"no pattern {self.check.traffic!r}"
        yield from found

    def of(self, pattern: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the result says of a pattern over the whole run."""
        found: Mapping[str, Any] = self.result["traffic"][pattern["name"]]
        return found

    def traffic(self, what: str, per_item: bool = False) -> float:
        """Sum over the window of a column of the patterns' series; per_item: each request counts its batch."""
        total = 0.0
        for pattern in self.patterns():
            of_pattern = sum(self.series["traffic"][pattern["name"]][what][self.window])
            total += of_pattern * (pattern.get("batch", 1) if per_item else 1)
        return total

    def table(self, what: str) -> float:
        """Sum over the window of a column of the series of the table, or of the check's index."""
        return float(sum(self.series[self.check.resource][what][self.window]))

    def table_at(self, what: str) -> float:
        """A column of the table's series at the end of the period that ends at ``at_s``."""
        ends = [*self.series["t_s"][1:], self.result["duration_s"]]
        return float(self.series["table"][what][ends.index(self.check.at_s)])


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def item_bytes(attributes: Mapping[str, int]) -> int:
    """Size of an item of so many attributes with names and text values of given lengths."""
    names = (str(n).rjust(attributes["name_bytes"], "a") for n in range(attributes["count"]))
    return units.item_bytes(dict.fromkeys(names, "x" * attributes["value_bytes"]), typed=False)


def offered_per_s_at_first_throttle(seen: Seen) -> float:
    """Offered rate over the last whole period before the first throttle."""
    first = seen.result["first_throttle_s"]
    if first is None:
        return math.inf
    before = max(i for i, start in enumerate(seen.series["t_s"]) if start + seen.series["period_s"] <= first)
    offered = sum(pattern["offered"][before] for pattern in seen.series["traffic"].values())
    return float(offered / seen.series["period_s"])


def first_split_s(seen: Seen) -> float:
    """When the halves of the first split at or after ``after_s`` serve; infinite without one."""
    times = (split["at_s"] for split in seen.result["partitions"]["table"]["splits"])
    return min((at_s for at_s in times if at_s >= seen.check.after_s), default=math.inf)


def partitions(seen: Seen) -> float:
    """Partitions of the table at ``at_s``."""
    table = seen.result["partitions"]["table"]
    return float(table["initial"] if seen.check.at_s == 0 else seen.table_at("partitions"))


def units_per_request(seen: Seen, dimension: str) -> float:
    """Units that one request of the named pattern costs at the table."""
    return float(seen.result["traffic"][seen.check.traffic]["units_per_request"]["table"][dimension])


def of_query(seen: Seen, what: str) -> float:
    """What one request of the named Query or Scan met."""
    return float(seen.result["traffic"][seen.check.traffic]["query"][what]) / seen.check.divided_by


def final_answer_ms(seen: Seen) -> int:
    """Longest time from a first attempt to the final answer, in whole milliseconds."""
    return round(max(seen.of(pattern)["latency_ms"]["max"] for pattern in seen.patterns()))


def scale_ups(seen: Seen) -> list[tuple[float, float]]:
    """(second asked, second in force) of each raise by auto scaling that came into force in the window."""
    start, end = seen.check.window_s or (0.0, math.inf)
    lines = seen.result["capacity"]["table"]
    raised = {at for line in lines.values() for (_, before), (at, after) in itertools.pairwise(line) if after > before}
    return [
        (row["at_s"], row["done_s"])
        for row in seen.result["events"]
        if row["action"] == "auto-scaling" and row["done_s"] in raised and start <= row["done_s"] < end
    ]


def outcome(seen: Seen) -> str:
    """The errors that requests failed with, or ``ok``."""
    return ", ".join(sorted(failure["error"] for failure in seen.result["failures"])) or "ok"


def month(seen: Seen, mode: str) -> float:
    """The traffic kept up for a month in a mode, in the sheet's currency."""
    return float(seen.result["cost"]["per_month"][mode]) / seen.check.divided_by


def cheaper(seen: Seen) -> str:
    """The mode in which the month costs less."""
    months = seen.result["cost"]["per_month"]
    return min(("provisioned", "on-demand"), key=lambda mode: float(months[mode]))


def charged_units(seen: Seen) -> float:
    """Units on the lines of the bill for one kind of them."""
    lines = [line for line in seen.result["cost"]["lines"] if line["item"] == seen.check.item]
    assert all(line["unit"] == "million units" for line in lines), seen.check.item
    return sum(float(line["quantity"]) for line in lines) * 1_000_000


def storage_month(seen: Seen) -> float:
    """What is stored on average, kept for a month."""
    lines = seen.result["cost"]["lines"]
    return sum(float(line["per_month"]) for line in lines if line["item"] == "storage") / seen.check.divided_by


def utilisation(seen: Seen, dimension: str) -> float:
    """Consumed units as a share of what the capacity gives."""
    given = seen.table(f"capacity_{dimension}") * seen.series["period_s"]
    return seen.table(f"consumed_{dimension}_units") / given


def hit_ratio(seen: Seen) -> float:
    """Share of the reads asked of a cache that it answered."""
    cache = seen.series["dax"]
    hits, reads = (
        sum(sum(cache[f"{kind}_{what}"][seen.window]) for kind in ("item", "query")) for what in ("hits", "reads")
    )
    return _ratio(hits, reads)


METRICS: Mapping[str, Callable[[Seen], Any]] = {
    "hit_ratio": hit_ratio,
    "throttled_fraction": lambda seen: _ratio(seen.traffic("throttled"), seen.traffic("attempts")),
    "throttled_item_fraction": lambda seen: _ratio(
        seen.traffic("throttle_events"), seen.traffic("offered", per_item=True)
    ),
    "attempts": lambda seen: seen.traffic("attempts"),
    "retries": lambda seen: seen.traffic("attempts") - seen.traffic("offered"),
    "final_answer_ms": final_answer_ms,
    "error_is_seen": lambda seen: any(seen.of(pattern)["failed"] for pattern in seen.patterns()),
    "unprocessed": lambda seen: sum(seen.of(pattern)["unprocessed"] for pattern in seen.patterns()),
    "throttle_events": lambda seen: seen.table("throttled_writes") + seen.table("throttled_reads"),
    "throttled_count": lambda seen: seen.traffic("throttled"),
    "is_throttled": lambda seen: seen.result["attempts"]["throttled"] > 0,
    "throttle_reason": lambda seen: frozenset(throttle["reason"] for throttle in seen.result["throttles"]),
    "first_throttle_s": lambda seen: (
        math.inf if seen.result["first_throttle_s"] is None else seen.result["first_throttle_s"]
    ),
    "offered_per_s_at_first_throttle": offered_per_s_at_first_throttle,
    "outcome": outcome,
    "items_offered": lambda seen: seen.traffic("offered", per_item=True),
    "items_served": lambda seen: seen.traffic("offered", per_item=True) - seen.traffic("throttle_events"),
    "succeeded": lambda seen: seen.traffic("succeeded"),
    "succeeded_per_s": lambda seen: seen.traffic("succeeded") / seen.seconds,
    "offered_read_per_s": lambda seen: seen.table("offered_read_units") / seen.seconds,
    "offered_write_per_s": lambda seen: seen.table("offered_write_units") / seen.seconds,
    "consumed_read_per_s": lambda seen: seen.table("consumed_read_units") / seen.seconds,
    "consumed_write_per_s": lambda seen: seen.table("consumed_write_units") / seen.seconds,
    "consumed_write_units": lambda seen: seen.table("consumed_write_units"),
    "consumed_read_units": lambda seen: seen.table("consumed_read_units"),
    "pages_per_request": lambda seen: of_query(seen, "pages_per_request"),
    "scanned_per_request": lambda seen: of_query(seen, "scanned"),
    "units_p50": lambda seen: of_query(seen, "units_p50"),
    "finished_s": lambda seen: seen.result["traffic"][seen.check.traffic]["finished_s"],
    "read_utilisation": lambda seen: utilisation(seen, "read"),
    "write_utilisation": lambda seen: utilisation(seen, "write"),
    "utilisation": lambda seen: max(utilisation(seen, "read"), utilisation(seen, "write")),
    "provisioned_usd_month": lambda seen: month(seen, "provisioned"),
    "on_demand_usd_month": lambda seen: month(seen, "on-demand"),
    "saving_fraction": lambda seen: 1 - month(seen, "on-demand") / month(seen, "provisioned"),
    "cheaper": cheaper,
    "throughput_usd": lambda seen: seen.result["cost"]["table"],
    "storage_usd_month": storage_month,
    "requests_per_usd": lambda seen: seen.traffic("succeeded") / seen.result["cost"]["table"],
    "charged_units": charged_units,
    "read_units_per_request": lambda seen: units_per_request(seen, "read"),
    "write_units_per_request": lambda seen: units_per_request(seen, "write"),
    "item_bytes": lambda seen: math.nan,  # needs no run: see `measure`
    "write_capacity_at_start": lambda seen: seen.result["capacity"]["table"]["write"][0][1] / seen.check.divided_by,
    "write_capacity": lambda seen: seen.table_at("capacity_write"),
    "read_capacity": lambda seen: seen.table_at("capacity_read"),
    "scale_ups": lambda seen: len(scale_ups(seen)),
    "first_scale_up_s": lambda seen: min((done_s for _, done_s in scale_ups(seen)), default=math.inf),
    "scale_up_duration_s": lambda seen: max((done_s - at_s for at_s, done_s in scale_ups(seen)), default=math.inf),
    "warm_write": lambda seen: seen.table_at("warm_write"),
    "partitions": partitions,
    "partitions_change": lambda seen: (
        seen.result["partitions"]["table"]["final"] - seen.result["partitions"]["table"]["initial"]
    ),
    "splits": lambda seen: len(seen.result["partitions"]["table"]["splits"]),
    "first_split_s": first_split_s,
    "hottest_share": lambda seen: seen.result["partitions"]["table"]["hottest_share"],
    "partitions_of_collection": lambda seen: seen.result["hot_keys"][0]["partitions"],
    "top_key_share": lambda seen: seen.result["hot_keys"][0]["share"],
}


# Measured beside simulated.


def figure(value: Any) -> str:
    """A measured or simulated value as a reader wants it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {figure(of)}" for name, of in value.items())
    if isinstance(value, frozenset):
        return ", ".join(sorted(value)) or "none"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def measured_table(cases: list[Case]) -> Table:
    """Published measurements beside the simulation, with the reason wherever it does not meet them."""
    table = Table(title="Published measurements and what is simulated")
    for column in ("case: metric", "where", "measured", "accepted", "simulated", "within?"):
        table.add_column(column, overflow="fold")
    for case in cases:
        table.add_section()
        table.add_row(f"[bold]{case.id}[/bold]")
        for check in case.checks:
            found = measure(case, check)
            within = "yes" if check.holds(found) else f"no: {check.misses or 'UNEXPLAINED'}"
            table.add_row(check.metric, check.where, figure(check.measured), check.expected, figure(found), within)
    return table


def main() -> None:
    """Print the table, what each stand-in assumes, and what waits."""
    console = Console()
    cases = read_cases(MEASURED)
    console.print(measured_table(cases))
    for case in cases:
        if case.departs:
            console.print(f"[bold]{case.id}[/bold]: {case.departs}")
    for name, reason in waiting()["measured"].items():
        console.print(f"[bold]{name}[/bold] is not run: waits for {reason}")


if __name__ == "__main__":
    main()
