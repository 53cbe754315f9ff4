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
from sim.names import TABLE, CostItem, Dimension, Limit, Mode, SplitReason
from sim.results.alarms import AlarmState, condition
from sim.results.comparison import NEARLY_EQUAL, Comparison
from sim.results.cost import cents
from sim.results.explain import verdict, why
from sim.results.invoice import money
from sim.results.latency import TimeHistogram
from sim.results.phrases import amount, clock, count, joined, lasting, name, percent, plain, plural
from sim.results.recorder import CacheRecord, TrafficRecord
from sim.results.steps import values_at
from sim.results.usage import modes_of
from sim.results.variant import Variant

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from sim.results.outcome import HotKey
from sim.results.result import Result

HOT_KEYS_SHOWN = 5
_HOT_SHARE = 0.005  # keys below this are nobody's worry
_HOTTER_THAN_USUAL = 1.5  # times the median of the heaviest keys
_FEW_KEYS_SHARE = 0.9  # where the listed keys are nearly all traffic, they are few
_HALF = 0.5
_RETRIES_SHOWN_ABOVE = 1.05  # attempts per request
_MEASURE_COLUMNS = 20
_RUN_COLUMN = 8
_COLUMN_GAP = 2
_SPARK_COLUMNS_MAX = 60
_BAR_COLUMNS = 16
_MOMENTS_MAX = 20  # lines of the time line; of a longer one its beginning and its end are shown
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
    if (cache := result.recorder.dax) is not None:
        paper.blank()
        paper.item(Text("DAX", "bold"), _cache_line(cache))
    for resource, record in result.resources.items():
        for dimension, lane in record.lanes.items():
            if lane.offered_units.any():
                _print_course(paper, result, resource, dimension)
    for resource in result.resources:
        _print_partitions(paper, result, resource)
    if result.timeline:
        paper.section("Alarms and changes", _changes(result, paper))
    hot = hot_keys(result)
    if hot:
        paper.section("Hot keys", _hot_keys(result, hot, paper))
    if result.alarms:
        _print_alarms(paper, result)
    paper.blank()
    paper.item(Text("Cost of a month", "bold"), _costs(result))
    if shares := _shares_of_cost(result):
        paper.item(Text("     made up of", _QUIET), " · ".join(shares))
    _print_list(paper, "Warnings", result.warnings, "!")
    _print_list(paper, "Why, and what would help", result.explanation, "-")


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print runs side by side with the best of every measure marked, the verdict on their bills, and why each throttled.

    A run that refuses more than the comparison's limit is no candidate for the cheapest: it is cheap because it refuses.
    """
    paper = _Paper(console)
    variants = comparison.variants
    measures = [measure for measure in _MEASURES if any(measure.of(variant).text != _NONE for variant in variants)]
    values = [[measure.of(variant) for measure in measures] for variant in variants]
    best = [_best([row[k].rank for row in values], relative=measure.relative) for k, measure in enumerate(measures)]
    rows = [
        [
            Text(f"{value.text} *", _GOOD) if mark else Text(f"{value.text}  ")
            for value, mark in zip(row, marks, strict=True)
        ]
        for row, marks in zip(values, zip(*best, strict=True), strict=True)
    ]
    labels = [Text(variant.title) for variant in variants]
    widest = max([len(cell) for row in rows for cell in row] + [len(label) + 2 for label in labels], default=0)
    if _MEASURE_COLUMNS + len(variants) * (widest + 2) <= paper.width:
        table = _grid(Column(""), *(Column(paper.shown(label) + "  ", justify="right") for label in labels))
        for k, measure in enumerate(measures):
            paper.add(table, Text(measure.title, _QUIET), *(row[k] for row in rows))
    else:
        kept = [k for k, measure in enumerate(measures) if measure.short]
        for k in kept:
            if not any(mark for mark in best[k]):
                for row in rows:
                    row[k].rstrip()
        # An amount that is broken over two lines is read as another one: where there is room, only names and peaks are, between words.
        is_broken = [measures[k].of is _peak for k in kept]
        cells = [[measures[k].short, *(row[k].plain for row in rows)] for k in kept]
        words = [
            [w for cell in column for w in (cell.split() if broken else [cell])]
            for column, broken in zip(cells, is_broken, strict=True)
        ]
        fits = _RUN_COLUMN + sum(max(map(len, column)) + _COLUMN_GAP for column in words) <= paper.width
        columns = [
            Column(measures[k].short, justify="right", overflow="fold", no_wrap=fits and not broken)
            for k, broken in zip(kept, is_broken, strict=True)
        ]
        table = _grid(Column("run", overflow="fold", min_width=_RUN_COLUMN), *columns)
        for label, row in zip(labels, rows, strict=True):
            paper.add(table, label, *(row[k] for k in kept))
    paper.section("", table)
    paper.line(
        "* best of the runs, where they differ by more than 1 %; a month: the same traffic kept up, what was served of it",
        _QUIET,
    )
    paper.blank()
    paper.line(Text(comparison.verdict, "bold"))
    for note in comparison.notes:
        paper.line(Text(note, _BAD))
    paper.blank()
    for label, variant in zip(labels, variants, strict=True):
        paper.item("-", Text.assemble((label.plain, "bold"), f": {why(variant.result)}"), indent=1)


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
    return Table(*columns, box=None, pad_edge=False, padding=(0, _COLUMN_GAP, 0, 0), header_style=_QUIET, expand=False)


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


def _cache_line(cache: CacheRecord) -> str:
    """What the cluster did, in a line."""
    parts = []
    for kind, words in (("item", "item reads"), ("query", "queries")):
        if reads := cache.total(f"{kind}_reads"):
            parts.append(f"{percent(cache.total(f'{kind}_hits') / reads)} of {amount(reads)} {words} hit")
    if hits := cache.total("item_hits") + cache.total("query_hits"):
        parts.append(f"{percent(cache.total('stale_hits') / hits)} of hits stale")
    if passed := cache.total("passed_through"):
        parts.append(f"{amount(passed)} reads passed through")
    if refused := cache.total("refused"):
        parts.append(f"{amount(refused)} requests refused by the nodes")
    return " · ".join(parts) or "nothing came to it"


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


def _changes(result: Result, paper: _Paper) -> Table:
    """The time line of what changed the table, its first lines and its last."""
    table = _grid(
        Column("time", justify="right", no_wrap=True), Column("", overflow="fold"), Column("what", overflow="fold")
    )
    rows = list(result.timeline)
    left_out = len(rows) - _MOMENTS_MAX
    for k, moment in enumerate(rows):
        if left_out > 0 and _MOMENTS_MAX // 2 <= k < _MOMENTS_MAX // 2 + left_out:
            if k == _MOMENTS_MAX // 2:
                paper.add(table, "", "", Text(f"… {count(left_out)} more …", _QUIET))
            continue
        style = _BAD if moment.outcome == "refused" else _CAPACITY if moment.outcome == "done" else ""
        where = "" if len(result.resources) == 1 else name(moment.resource)
        paper.add(table, moment.stamp, where, Text(moment.what, style))
    return table


def _print_course(paper: _Paper, result: Result, resource: str, dimension: Dimension) -> None:
    """Offered, consumed, throttled and capacity over time, on one scale; each column shows its highest second, so that no spike is lost."""
    lane = result.resources[resource].lanes[dimension]
    offered, consumed = (result.per_second(row) for row in (lane.offered_units, lane.consumed_units))
    columns = max(1, min(_SPARK_COLUMNS_MAX, max(10, paper.width - 30), len(offered)))
    edges = np.linspace(0, len(offered), columns + 1).round().astype(int)
    step_s = max(1.0, result.grid.tick_s)
    capacity = values_at(lane.capacity, (edges[1:] + edges[:-1]) / 2 * step_s)
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


def _print_alarms(paper: _Paper, result: Result) -> None:
    """A line for each alarm: what it watches for, and when it was in which state."""
    paper.blank()
    paper.line("Alarms", "bold")
    for report in result.alarms:
        resource = name(result.scenario.table.name if report.resource == TABLE else report.resource)
        spans = [f"{clock(begin)} to {_until(end, result)}" for begin, end in report.in_alarm_s]
        if spans:
            state = Text(f"ALARM from {joined(spans)}", _BAD)
            if report.stays_for_want_of_data:
                state.append(
                    '; no data came after, and so it stays: treat_missing = "notBreaching" would end it', _QUIET
                )
        elif report.final_state is AlarmState.OK:
            state = Text("OK", _GOOD)
        else:
            state = Text("no data, no alarm", _QUIET)
        paper.item("-", Text.assemble(f"{condition(report.alarm, resource)}: ", state), indent=1)


def _until(at_s: float, result: Result) -> str:
    return "the end" if at_s >= result.grid.duration_s else clock(at_s)


def _costs(result: Result) -> str:
    """A month in both modes, then what the run's own month is made of."""
    bill, currency = result.bill, result.sheet.currency
    modes = {mode for _, mode in modes_of(result.scenario, result.table)}
    needed = " (for the busiest minute)" if Mode.ON_DEMAND in modes else ""
    on_demand = money(bill.per_month_on_demand, currency)
    if result.throttles:
        of_all = money(result.bill_of_all.per_month_on_demand, currency)
        on_demand = f"{on_demand} of what was served, {of_all} for all of it"
    parts = [f"on demand {on_demand}", f"provisioned {money(bill.per_month_provisioned, currency)}{needed}"]
    if len(modes) > 1:
        parts.insert(0, f"as run, in both modes, {money(bill.per_month, currency)}")
    if bill.once:
        parts.append(f"once {money(bill.once, currency)} for warm throughput")
    return " · ".join(parts)


def _shares_of_cost(result: Result) -> list[str]:
    """What the month as it was run is made of, dearest first, where it is more than the table's throughput."""
    shares: dict[str, Decimal] = {}
    for resource, line in result.bill.lines:
        if line.item in (CostItem.WARM_READ, CostItem.WARM_WRITE):
            continue
        if line.item is CostItem.STORAGE:
            what = "storage"
        elif line.item in (CostItem.DAX, CostItem.STREAM_READS):
            what = str(line.item)
        else:
            what = "table" if resource == TABLE else name(resource)
        shares[what] = shares.get(what, Decimal(0)) + line.per_month
    if set(shares) <= {"table"}:
        return []
    return [
        f"{what} {money(share, result.sheet.currency)}"
        for what, share in sorted(shares.items(), key=lambda one: -one[1])
    ]


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
    rank: float | None = None


@dataclass(frozen=True)
class _Measure:
    """A line of the comparison, left out where no run has it.

    Attributes
    ----------
    short : its heading where each run has a row; "" leaves it out there.
    relative : values within 1 % of the best are as good; else within 0.01.
    """

    title: str
    short: str
    of: Callable[[Variant], _Value]
    relative: bool = True


def _best(ranks: Sequence[float | None], *, relative: bool) -> list[bool]:
    """Which are the least or as good as that, where there is a choice at all."""
    known = [rank for rank in ranks if rank is not None]
    if not known:
        return [False] * len(ranks)
    least = min(known)
    near = least + NEARLY_EQUAL * (abs(least) if relative and np.isfinite(least) else 1.0)
    if len(known) < 2 or max(known) <= near:
        # A single candidate is the best one, if others were no candidates.
        return [rank is not None and len(known) == 1 < len(ranks) for rank in ranks]
    return [rank is not None and rank <= near for rank in ranks]


def _first_throttle(variant: Variant) -> _Value:
    first_s = variant.result.first_throttle_s
    return _Value("never", -np.inf) if first_s is None else _Value(clock(first_s), -first_s)


def _latency(variant: Variant, fraction: float) -> _Value:
    seconds = variant.latency.percentile_s(fraction) if variant.latency is not None else None
    return _Value(_NONE) if seconds is None else _Value(lasting(seconds), seconds)


def _peak(variant: Variant) -> _Value:
    result = variant.result
    peaks = [
        f"{amount(result.peak_per_s(TABLE, d))} {d[0].upper()}"
        for d, lane in result.table.lanes.items()
        if lane.consumed_units.any()
    ]
    return _Value(" ".join(peaks) or _NONE)


def _partition_counts(variant: Variant) -> _Value:
    record = variant.result.table
    initial, final = record.initial_partitions, record.partition_counts[-1][1]
    return _Value(f"{initial} → {final}" if initial != final else f"{final}")


def _month(variant: Variant) -> _Value:
    # Where something is paid once it counts, or pre-warming would look free.
    return _Value(_money(variant, variant.per_month), float(cents(variant.first_month)) if variant.serves else None)


def _once(variant: Variant) -> _Value:
    return _Value(_money(variant, variant.once) if variant.once else _NONE)


def _money(variant: Variant, value: Decimal) -> str:
    return money(value, variant.result.sheet.currency)


_NONE = "-"
_MEASURES = (
    _Measure("mode", "", lambda v: _Value(v.mode)),
    _Measure(
        "throttled",
        "throttled",
        lambda v: _Value(percent(v.result.throttled_fraction), v.result.throttled_fraction),
        relative=False,
    ),
    _Measure("attempts throttled", "", lambda v: _Value(count(v.result.throttled) if v.result.throttled else _NONE)),
    _Measure(
        "failed",
        "failed",
        lambda v: _Value(percent(v.result.failed_fraction), v.result.failed_fraction),
        relative=False,
    ),
    _Measure("first throttle", "first", _first_throttle),
    _Measure("latency p50", "", lambda v: _latency(v, 0.5)),
    _Measure("latency p99", "p99", lambda v: _latency(v, 0.99)),
    _Measure("peak units/s", "peak/s", _peak),
    _Measure("partitions", "parts", _partition_counts),
    _Measure("a month, as run", "a month", _month),
    _Measure("and once", "once", _once),
    _Measure("if provisioned", "", lambda v: _Value(_money(v, v.result.bill.per_month_provisioned))),
    _Measure("if on demand", "", lambda v: _Value(_money(v, v.result.bill.per_month_on_demand))),
)
