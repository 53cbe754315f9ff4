"""A run on the terminal, to be read in ten seconds: verdict, patterns, reasons, course of time, partitions, hot keys, cost, explanation.

Works from 60 columns on, without colour, and in plain ASCII where the console knows no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from sim.keyspace.domain import Floats
from sim.names import TABLE, Dimension, Limit, Mode, SplitReason
from sim.results.bottleneck import value_at
from sim.results.cost import cents
from sim.results.explain import verdict, why
from sim.results.latency import TimeHistogram
from sim.results.phrases import amount, clock, count, joined, lasting, name, percent, plain, plural
from sim.results.recorder import TrafficRecord

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from sim.results.outcome import HotKey
from sim.results.result import Result

Run = tuple[str, "Result"]

HOT_KEYS_SHOWN = 5
_HOT_SHARE = 0.005  # keys below this are nobody's worry
_HOTTER_THAN_USUAL = 1.5  # times the median of the heaviest keys
_FEW_KEYS_SHARE = 0.9  # where the listed keys are nearly all traffic, they are few
_HALF = 0.5
_NEARLY_EQUAL = 0.01  # differences below this make no winner, and this much throttled no loser
_RETRIES_SHOWN_ABOVE = 1.05  # attempts per request
_MEASURE_COLUMNS = 20
_SPARK_COLUMNS_MAX = 60
_BAR_COLUMNS = 16
_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII_BLOCKS = " .:-=+*#@"

_GOOD, _BAD, _CAPACITY, _QUIET = "bold green", "bold red", "cyan", "dim"


def print_report(result: Result, console: Console) -> None:
    """Print the report of one run."""
    paper = _Paper(console)
    paper.line(_headline(result))
    paper.line(_setting(result), _QUIET)
    paper.section("", _patterns(result, paper))
    if any(record.latency is not None and record.latency.count for record in result.traffic.values()):
        paper.section("", _answers(result, paper))
    if result.throttles:
        paper.section("", _reasons(result, paper))
    for resource, record in result.resources.items():
        for dimension, lane in record.lanes.items():
            if lane.offered_units.any():
                _print_course(paper, result, resource, dimension)
    for resource in result.resources:
        _print_partitions(paper, result, resource)
    hot = hot_keys(result)
    if hot:
        paper.section("Hot keys", _hot_keys(result, hot, paper))
    paper.blank()
    paper.item(Text("Cost of a month", "bold"), _costs(result))
    _print_list(paper, "Warnings", result.warnings, "!")
    _print_list(paper, "Why, and what would help", result.explanation, "-")


def print_comparison(runs: Sequence[Run], console: Console) -> None:
    """Print runs side by side, one row each, with the best of every measure marked, and under them why each throttled.

    A run that throttles more than 1 % of its attempts is no candidate for the cheapest: it is cheap because it refuses.

    Parameters
    ----------
    runs : pairs of label and result; where the titles of the scenarios tell them apart, those stand in place of the labels.
    """
    paper = _Paper(console)
    values = [[measure.of(result) for measure in _MEASURES] for _, result in runs]
    best = [_best([row[k].rank for row in values], relative=measure.relative) for k, measure in enumerate(_MEASURES)]
    rows = [
        [
            Text(f"{value.text} *", _GOOD) if mark else Text(f"{value.text}  ")
            for value, mark in zip(row, marks, strict=True)
        ]
        for row, marks in zip(values, zip(*best, strict=True), strict=True)
    ]
    labels = [Text(label) for label in _labels(runs)]
    widest = max([len(cell) for row in rows for cell in row] + [len(label) + 2 for label in labels], default=0)
    if _MEASURE_COLUMNS + len(runs) * (widest + 2) <= paper.width:
        table = _grid(Column(""), *(Column(paper.shown(label) + "  ", justify="right") for label in labels))
        for k, measure in enumerate(_MEASURES):
            paper.add(table, Text(measure.title, _QUIET), *(row[k] for row in rows))
    else:
        columns = [Column(measure.short, justify="right", overflow="fold") for measure in _MEASURES]
        table = _grid(Column("run", overflow="fold", min_width=8), *columns)
        for label, row in zip(labels, rows, strict=True):
            paper.add(table, label, *row)
    paper.section("", table)
    paper.line(f"* best of the runs, where they differ by more than 1 %{_candidates(runs)}", _QUIET)
    paper.line("a month: the same traffic kept up in either mode; on demand, what was served of it", _QUIET)
    paper.blank()
    for label, (_, result) in zip(labels, runs, strict=True):
        paper.item("-", Text.assemble((label.plain, "bold"), f": {why(result)}"), indent=1)


def _labels(runs: Sequence[Run]) -> list[str]:
    """Titles where each run has its own, and they differ still when they are cut short; else what the runs were called."""
    for words in ([result.scenario.title for _, result in runs], [label for label, _ in runs]):
        shown = [name(text, longest=24) for text in words]
        if all(words) and len(set(shown)) == len(runs):
            return shown
    return [name(label, longest=24) for label, _ in runs]


def _candidates(runs: Sequence[Run]) -> str:
    """Which runs may be the cheapest, where that is not all of them."""
    good = sum(_serves(result) for _, result in runs)
    if good == len(runs):
        return ""
    if good == 0:
        return "; none may be called the cheapest, for all throttle 1 % or more"
    return "; the cheapest only among those that throttle less than 1 %"


def _serves(result: Result) -> bool:
    return result.throttled_fraction < _NEARLY_EQUAL


def sparkline(values: Floats, top: float, *, ascii_only: bool = False) -> str:
    """One character per value, higher for more, full at ``top``; only a value of 0 is blank."""
    blocks = _ASCII_BLOCKS if ascii_only else _BLOCKS
    most = len(blocks) - 1
    if top <= 0:
        return blocks[0] * len(values)
    steps = np.clip(np.round(values / top * most), 0, most).astype(int)
    return "".join(blocks[max(step, 1) if value > 0 else 0] for step, value in zip(steps, values, strict=True))


def hot_keys(result: Result) -> list[HotKey]:
    """The keys worth a line: heavier than the crowd around them, or so few that each is a burden to its partition."""
    listed = [key for key in result.hot_keys if key.share >= _HOT_SHARE]
    if not listed:
        return []
    at_ceiling = any(throttle.limit is Limit.KEY_RANGE for throttle in result.throttles)
    few = sum(key.share for key in result.hot_keys) >= _FEW_KEYS_SHARE
    usual = float(np.median([key.share for key in result.hot_keys]))
    return [
        key
        for key in listed
        if key.share >= _HOTTER_THAN_USUAL * usual or key.share >= _HALF or (few and at_ceiling and key.throttled > 0)
    ][:HOT_KEYS_SHOWN]


class _Paper:
    """The console with its limits: width, and perhaps ASCII alone. All text goes through `shown`, none is read as markup."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.ascii_only = console.options.ascii_only
        self.width = console.width

    def line(self, text: Text | str, style: str = "") -> None:
        self._console.print(self.shown(Text(text, style) if isinstance(text, str) else text))

    def blank(self) -> None:
        self._console.print()

    def section(self, title: str, body: RenderableType) -> None:
        """A blank line, a title if there is one, and the body."""
        self.blank()
        if title:
            self.line(title, "bold")
        self._console.print(body)

    def item(self, mark: Text | str, text: Text | str, *, indent: int = 0) -> None:
        """One entry after a mark, its further lines indented."""
        grid = Table.grid(padding=(0, 1))
        self.add(grid, mark, text)
        self._console.print(Padding(grid, (0, 0, 0, indent)))

    def add(self, table: Table, *cells: Text | str) -> None:
        """A row of texts."""
        table.add_row(*(self.shown(Text(cell) if isinstance(cell, str) else cell) for cell in cells))

    def shown(self, text: Text) -> Text:
        """The text as this console can show it."""
        if not self.ascii_only or text.plain.isascii():
            return text
        return Text(plain(text.plain), text.style)


def _grid(*columns: Column) -> Table:
    return Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=_QUIET, expand=False)


def _headline(result: Result) -> Text:
    says = verdict(result)
    if result.throttles:
        return Text.assemble(("THROTTLES", _BAD), f"  {says}")
    if result.failed > 0.5:
        return Text.assemble(("FAILS", _BAD), f"  {says}")
    return Text.assemble(("OK", _GOOD), f"  {says}")


def _setting(result: Result) -> str:
    scenario = result.scenario
    title = name(scenario.title, longest=100) if scenario.title else name(scenario.table.name)
    admission = "" if scenario.table.mode is Mode.ON_DEMAND else f", {scenario.admission} admission"
    return f"{title} · {scenario.table.mode}{admission} · {clock(scenario.duration)}, seed {scenario.seed}"


def _patterns(result: Result, paper: _Paper) -> Table:
    table = _grid(
        Column("pattern", overflow="fold"),
        Column("operation", overflow="fold"),
        Column("offered/s", justify="right"),
        Column("succeeded", justify="right"),
        Column("throttled", justify="right"),
        Column("first throttle", justify="right"),
    )
    for traffic in result.scenario.traffic:
        record = result.traffic[traffic.name]
        offered, attempts = float(record.offered.sum()), float(record.attempts.sum())
        throttled = float(record.throttled.sum()) / attempts if attempts else 0.0
        paper.add(
            table,
            name(traffic.name),
            str(traffic.operation),
            amount(offered / result.grid.duration_s),
            percent(float(record.succeeded.sum()) / offered) if offered else "-",
            Text(percent(throttled), _BAD) if throttled else "-",
            _first_of_pattern(result, traffic.name),
        )
    return table


def _answers(result: Result, paper: _Paper) -> Table:
    """How long requests took, how often they were sent, and how long they waited for their own client, where the level knows."""
    often = any(_attempts_each(record) > _RETRIES_SHOWN_ABOVE for record in result.traffic.values())
    waits = any(record.limiter_wait is not None and record.limiter_wait.count for record in result.traffic.values())
    heads = ["latency p50", "p99", *(["sent"] if often else []), *(["limiter wait p50", "p99"] if waits else [])]
    table = _grid(Column("pattern", overflow="fold"), *(Column(head, justify="right") for head in heads))
    for pattern, record in result.traffic.items():
        cells = _percentiles(record.latency)
        if often:
            each = _attempts_each(record)
            cells.append(f"{each:.1f} times" if each > _RETRIES_SHOWN_ABOVE else "once" if each else "-")
        if waits:
            cells += _percentiles(record.limiter_wait)
        paper.add(table, name(pattern), *cells)
    return table


def _percentiles(times: TimeHistogram | None) -> list[str]:
    """Median and 99th percentile as words."""
    if times is None or not times.count:
        return ["-", "-"]
    return [lasting(times.percentile_s(fraction) or 0.0) for fraction in (0.5, 0.99)]


def _attempts_each(record: TrafficRecord) -> float:
    offered = float(record.offered.sum())
    return float(record.attempts.sum()) / offered if offered else 0.0


def _first_of_pattern(result: Result, pattern: str) -> str:
    """When a pattern was first throttled: to the tick where it alone was in that period, else about then."""
    hit = np.flatnonzero(result.traffic[pattern].throttle_events)
    if not len(hit):
        return "-"
    period = int(hit[0])
    begins_s = float(result.period_starts_s[period])
    ends_s = begins_s + result.grid.ticks_per_period * result.grid.tick_s
    alone = sum(record.throttle_events[period] > 0 for record in result.traffic.values()) == 1
    # The first refusal of what this pattern asks for, if it lies in the period, is the pattern's own or at least not later.
    firsts = [
        first_s
        for resource, units in result.facts[pattern].units_per_request.items()
        for dimension, amount_asked in units.items()
        if amount_asked > 0
        for first_s in result.resources[resource].lanes[dimension].first_s.values()
        if begins_s <= first_s < ends_s
    ]
    if firsts:
        return clock(min(firsts)) if alone else f"~{clock(min(firsts))}"
    return f"~{clock(begins_s)}"


def _reasons(result: Result, paper: _Paper) -> Table:
    table = _grid(
        Column("refused by", overflow="fold"),
        Column("reason", overflow="fold"),
        Column("events", justify="right", no_wrap=True),
        Column("from", justify="right", no_wrap=True),
        Column("to", justify="right", no_wrap=True),
    )
    for row in result.throttles:
        end_s = min(row.last_s + result.grid.tick_s, result.grid.duration_s)
        cells = (name(row.resource), row.reason, count(row.count), clock(row.first_s), clock(end_s))
        paper.add(table, *(Text(cell, _BAD) for cell in cells))
    return table


def _print_course(paper: _Paper, result: Result, resource: str, dimension: Dimension) -> None:
    """Offered, consumed, throttled and capacity over time, on one scale; each column shows its highest second, so that no spike is lost."""
    lane = result.resources[resource].lanes[dimension]
    offered, consumed = (result.per_second(row) for row in (lane.offered_units, lane.consumed_units))
    columns = max(1, min(_SPARK_COLUMNS_MAX, max(10, paper.width - 30), len(offered)))
    edges = np.linspace(0, len(offered), columns + 1).round().astype(int)
    step_s = max(1.0, result.grid.tick_s)
    capacity = np.array([value_at(lane.capacity, float(at) * step_s) for at in (edges[1:] + edges[:-1]) / 2])
    peaks = {
        label: np.maximum.reduceat(series, edges[:-1])
        for label, series in (
            ("offered", offered),
            ("consumed", consumed),
            ("throttled", np.maximum(offered - consumed, 0.0)),
        )
    }
    most = float(peaks["offered"].max())
    top = max(most, min(float(capacity.max()), 2 * most))
    rows: list[tuple[str, Floats, str]] = [("offered", peaks["offered"], ""), ("consumed", peaks["consumed"], _GOOD)]
    if lane.throttle_events.any():
        rows.append(("throttled", peaks["throttled"], _BAD))
    rows.append(("capacity", capacity, _CAPACITY))
    table = Table.grid(padding=(0, 1))
    for label, values, style in rows:
        line = Text(sparkline(values, top, ascii_only=paper.ascii_only), style)
        high = amount(float(values.max()))
        note = f"up to {high}" if values.max() > 1.05 * values.min() else high
        paper.add(table, Text(f" {label}", _QUIET), line, note)
    end = clock(result.grid.duration_s)
    paper.add(table, "", Text(f"0s{end:>{max(0, columns - 2)}}", _QUIET), "")
    where = "" if resource == TABLE else f" of {name(resource)}"
    highest = "second" if step_s == 1 else clock(step_s)
    paper.section(f"{dimension.capitalize()} units/s{where}, the highest {highest} of each column", table)


def _print_partitions(paper: _Paper, result: Result, resource: str) -> None:
    record = result.resources[resource]
    initial, final = record.initial_partitions, record.partition_counts[-1][1]
    parts = [f"{initial} → {final}" if final != initial else f"{final}, as at the start"]
    if record.splits:
        by_reason = [
            f"{sum(split.reason is reason for split in record.splits)} for {reason}"
            for reason in SplitReason
            if any(split.reason is reason for split in record.splits)
        ]
        first, last = clock(record.splits[0].at_s), clock(record.splits[-1].at_s)
        when = f"at {first}" if first == last else f"from {first} to {last}"
        parts.append(f"{plural(len(record.splits), 'split')} ({joined(by_reason)}) {when}")
    if record.declined:
        parts.append(f"{plural(len(record.declined), 'split')} declined, first at {clock(record.declined[0].at_s)}")
    if final > 1:
        parts.append(f"the hottest took {percent(result.hottest_share(resource))} of the traffic")
    where = "" if resource == TABLE else f" of {name(resource)}"
    paper.blank()
    paper.item(Text(f"Partitions{where}", "bold"), " · ".join(parts))


def _hot_keys(result: Result, keys: Sequence[HotKey], paper: _Paper) -> Table:
    table = Table.grid(padding=(0, 2))
    top = max(key.share for key in keys)
    block = "#" if paper.ascii_only else "█"
    for key in keys:
        shown = name(key.key) if key.sort_key is None else f"{name(key.key)} / {name(key.sort_key)}"
        where = "" if key.resource == TABLE else f" ({name(key.resource)})"
        bar = block * max(1, round(key.share / top * _BAR_COLUMNS))
        throttled = f"{count(key.throttled)} throttled" if key.throttled > 0 else ""
        spread = f"in {plural(key.partitions, 'partition')}" if key.partitions > 1 else ""
        paper.add(
            table,
            Text(f" {shown}{where}", overflow="fold"),
            Text(percent(key.share), justify="right"),
            Text(bar, _BAD if key.throttled > 0 else _CAPACITY),
            "  ".join(part for part in (throttled, spread) if part),
        )
    return table


def _costs(result: Result) -> str:
    bill = result.bill
    needed = " (for the busiest minute)" if result.scenario.table.mode is Mode.ON_DEMAND else ""
    on_demand = _dollars(bill.per_month_on_demand)
    if result.throttles:
        on_demand = f"{on_demand} of what was served, {_dollars(result.bill_of_all.per_month_on_demand)} for all of it"
    return f"on demand {on_demand} · provisioned {_dollars(bill.per_month_provisioned)}{needed}"


def _dollars(value: Decimal) -> str:
    return f"${cents(value):,}"


def _print_list(paper: _Paper, title: str, sentences: Sequence[str], mark: str) -> None:
    if sentences:
        paper.blank()
        paper.line(title, "bold")
        for text in sentences:
            paper.item(mark, text, indent=1)


# Comparison.


@dataclass(frozen=True)
class _Value:
    """A measure of one run: as text, and as a number by which the least is best (None: no better and no worse)."""

    text: str
    rank: float | None


@dataclass(frozen=True)
class _Measure:
    """A column of the comparison; with ``relative``, values within 1 % of the best are as good, else within 0.01."""

    title: str
    short: str
    of: Callable[[Result], _Value]
    relative: bool = True


def _best(ranks: Sequence[float | None], *, relative: bool) -> list[bool]:
    """Which are the least or as good as that, where there is a choice at all."""
    known = [rank for rank in ranks if rank is not None]
    if not known:
        return [False] * len(ranks)
    least = min(known)
    near = least + _NEARLY_EQUAL * (abs(least) if relative and np.isfinite(least) else 1.0)
    if len(known) < 2 or max(known) <= near:
        # A single candidate is the best one, if others were no candidates.
        return [rank is not None and len(known) == 1 < len(ranks) for rank in ranks]
    return [rank is not None and rank <= near for rank in ranks]


def _first_throttle(result: Result) -> _Value:
    first_s = result.first_throttle_s
    return _Value("never", -np.inf) if first_s is None else _Value(clock(first_s), -first_s)


def _peak(result: Result) -> _Value:
    peaks = [
        f"{amount(result.peak_per_s(TABLE, d))} {d[0].upper()}"
        for d, lane in result.table.lanes.items()
        if lane.consumed_units.any()
    ]
    return _Value(" ".join(peaks) or "-", None)


def _partition_counts(result: Result) -> _Value:
    initial, final = result.table.initial_partitions, result.table.partition_counts[-1][1]
    return _Value(f"{initial} → {final}" if initial != final else f"{final}", None)


def _month(result: Result, mode: Mode) -> _Value:
    bill = result.bill
    value = bill.per_month_provisioned if mode is Mode.PROVISIONED else bill.per_month_on_demand
    return _Value(_dollars(value), float(cents(value)) if _serves(result) else None)


_MEASURES = (
    _Measure(
        "throttled", "throttled", lambda r: _Value(percent(r.throttled_fraction), r.throttled_fraction), relative=False
    ),
    _Measure("failed", "failed", lambda r: _Value(percent(r.failed_fraction), r.failed_fraction), relative=False),
    _Measure("first throttle", "first", _first_throttle),
    _Measure("peak units/s", "peak/s", _peak),
    _Measure("partitions", "parts", _partition_counts),
    _Measure("month, provisioned", "month prov.", lambda r: _month(r, Mode.PROVISIONED)),
    _Measure("month, on demand", "month od.", lambda r: _month(r, Mode.ON_DEMAND)),
)
