"""The report on the terminal: what it shows at 80 and 120 columns, without colour, in ASCII, and with hostile names."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from explained_runs import SCENARIOS, run_of
from rich.console import Console

import sim
from sim import Result
from sim.names import SplitReason
from sim.results.cost import cents
from sim.results.explain import why
from sim.results.phrases import clock, count, lasting, percent
from sim.results.report import hot_keys, print_comparison, print_report, sparkline

WIDTHS = (80, 120)


def console(width: int, *, encoding: str = "utf-8") -> tuple[Console, io.BytesIO]:
    raw = io.BytesIO()
    return Console(file=io.TextIOWrapper(raw, encoding=encoding, write_through=True), width=width), raw


def printed(result: Result, width: int, *, encoding: str = "utf-8") -> str:
    paper, raw = console(width, encoding=encoding)
    print_report(result, paper)
    return raw.getvalue().decode(encoding)


def compared(names: list[str], width: int, *, encoding: str = "utf-8") -> str:
    paper, raw = console(width, encoding=encoding)
    print_comparison(sim.compare({name: run_of(name) for name in names}, by_title=True), paper)
    return raw.getvalue().decode(encoding)


def cells_of(text: str) -> dict[str, list[str]]:
    return {line[:20].strip(): line[20:].split() for line in text.splitlines()}


def line_with(text: str, *words: str) -> str:
    (found,) = [line for line in text.splitlines() if all(word in line for word in words)]
    return found.rstrip()


def month(name: str) -> tuple[str, str]:
    """What the run costs in a month, on demand and provisioned."""
    bill = run_of(name).bill
    return f"${cents(bill.per_month_on_demand):,}", f"${cents(bill.per_month_provisioned):,}"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_verdict_comes_first(width: int) -> None:
    assert printed(run_of("one-item"), width).startswith(
        "THROTTLES  33 % of all attempts throttled, all through the run (30m)"
    )
    assert printed(run_of("calm"), width).startswith("OK  nothing throttled")


@pytest.mark.parametrize("width", WIDTHS)
def test_patterns_reasons_partitions_and_costs_are_told(width: int) -> None:
    result = run_of("flash-sale")
    text, record = printed(result, width), result.table
    first, last = clock(result.first_throttle_s or 0), clock((result.last_throttle_s or 0) + 1)
    succeeded, throttled = percent(result.succeeded / result.offered), percent(result.throttled_fraction)
    assert line_with(text, "PutItem").split() == f"put PutItem 7,000 {succeeded} {throttled} {first}".split()
    reason = line_with(text, "table ", "Exceeded").split()
    assert reason == f"table TableWriteKeyRangeThroughputExceeded {count(result.throttled)} {first} {last}".split()
    flowing = " ".join(text.split())
    heat = sum(split.reason is SplitReason.HEAT for split in record.splits)
    assert (
        f"Partitions 4 → {record.partition_counts[-1][1]} · {len(record.splits)} splits ({heat} for heat and "
        f"{len(record.splits) - heat} for throughput) from {clock(record.splits[0].at_s)} to {clock(record.splits[-1].at_s)}"
    ) in flowing
    assert re.search(r"the hottest took \d.* % of the traffic", flowing)
    on_demand, provisioned = month("flash-sale")
    of_all = f"${cents(result.bill_of_all.per_month_on_demand):,}"
    costs = f"on demand {on_demand} of what was served, {of_all} for all of it · provisioned {provisioned} (for the busiest minute)"
    assert f"Cost of a month {costs}" in flowing
    for sentence in run_of("flash-sale").explanation:
        assert sentence in flowing


@pytest.mark.parametrize("width", WIDTHS)
def test_each_alarm_has_a_line(width: int) -> None:
    made = sim.with_overrides(
        run_of("burst").scenario,
        [
            (
                "alarm",
                [
                    {"metric": "WriteThrottleEvents", "threshold": 10},
                    {"metric": "WriteThrottleEvents", "threshold": 1e6},
                    {"metric": "ReadThrottleEvents", "threshold": 10},
                    {"metric": "UserErrors", "threshold": 0, "treat_missing": "notBreaching"},
                    {"metric": "ConsumedWriteCapacityUnits", "threshold": 5000, "comparison": "LessThanThreshold"},
                ],
            )
        ],
    )
    flowing = " ".join(printed(sim.run(made), width).split())
    assert "Alarms - WriteThrottleEvents of t over 10 in 1m: ALARM from 16m to the end - Write" in flowing
    assert "WriteThrottleEvents of t over 1,000,000 in 1m: OK" in flowing
    assert "ReadThrottleEvents of t over 10 in 1m: no data, no alarm" in flowing
    assert "UserErrors of t over 0 in 1m: OK" in flowing
    assert "ConsumedWriteCapacityUnits of t under 5,000 in 1m: OK" in flowing
    assert "Alarms" not in printed(run_of("burst"), width)


def test_an_alarm_that_stays_for_want_of_data_says_so() -> None:
    made = sim.with_overrides(
        run_of("burst").scenario,
        [
            ("traffic[0].rate", [[0, 200], [1000, 10]]),
            ("alarm", [{"metric": "WriteThrottleEvents", "threshold": 10}]),
        ],
    )
    flowing = " ".join(printed(sim.run(made), 80).split())
    assert (
        'ALARM from 16m to the end; no data came after, and so it stays: treat_missing = "notBreaching" would'
        in flowing
    )


def test_the_course_of_time_is_drawn_on_one_scale() -> None:
    text = printed(run_of("burst"), 80)
    labels = ("offered", "consumed", "throttled", "capacity")
    rows = {
        line.split()[0]: line.rstrip()
        for line in text.splitlines()
        if line.startswith(" ") and line.split()[0] in labels
    }
    assert rows["offered"].endswith("█ 200")
    assert rows["consumed"].endswith("up to 200")
    assert rows["throttled"].endswith("up to 50")
    assert rows["capacity"].endswith("▆ 150")
    blocks = rows["throttled"].removeprefix(" throttled ")[:50]
    assert blocks == " " * 25 + "▂" * 25


def test_a_pattern_that_was_throttled_among_others_is_dated_as_the_headline_dates_it() -> None:
    result = run_of("failures")
    text = printed(result, 80)
    assert line_with(text, "BatchWriteItem").endswith(f"~{clock(result.first_throttle_s or 0)}")
    assert line_with(text, "PutItem", "huge").split()[-4:] == ["0", "%", "-", "-"]


def test_the_cost_of_serving_all_is_that_of_a_run_that_serves_all() -> None:
    served, refused = run_of("flash-sale-warmed").bill, run_of("flash-sale").bill_of_all
    assert float(refused.per_month_on_demand) == pytest.approx(float(served.per_month_on_demand), rel=0.001)
    assert "served" not in line_with(printed(run_of("calm"), 120), "Cost of a month")


def test_a_short_spike_is_as_high_as_it_was() -> None:
    text = printed(run_of("short-spike"), 80)
    assert "up to 20,000" in line_with(text, " offered ")
    assert "Write units/s, the highest second of each column" in text
    assert sum(block in "▂▃▄▅▆▇█" for block in line_with(text, " offered ")) == 1


def test_latencies_attempts_and_waits_are_told_where_they_are_known() -> None:
    result = run_of("retry-storm")
    times, waits = result.traffic["put"].latency, result.traffic["put"].limiter_wait
    assert times is not None
    assert waits is not None
    lines = printed(result, 100).splitlines()
    (head,) = [k for k, line in enumerate(lines) if "latency p50" in line]
    assert lines[head].split() == ["pattern", "latency", "p50", "p99", "sent", "limiter", "wait", "p50", "p99"]
    shown = [lasting(histogram.percentile_s(p) or 0) for histogram in (times, waits) for p in (0.5, 0.99)]
    each = f"{result.attempts / result.offered:.1f} times"
    assert lines[head + 1].split() == ["put", *" ".join([*shown[:2], each, *shown[2:]]).split()]
    assert "latency" not in printed(run_of("calm"), 100)


def test_hot_keys_are_listed_where_there_are_any() -> None:
    assert [key.key for key in hot_keys(run_of("one-item"))] == ["STATS#global"]
    assert len(hot_keys(run_of("ten-suffixes"))) == 5
    assert hot_keys(run_of("thousand"))[0].key == "USER#0"
    assert hot_keys(run_of("calm")) == []
    assert hot_keys(run_of("flash-sale")) == []
    assert "Hot keys" not in printed(run_of("burst"), 80)
    assert line_with(printed(run_of("one-item"), 80), "STATS#global", "█").endswith("throttled")


@pytest.mark.parametrize("width", [60, *WIDTHS])
@pytest.mark.parametrize("name", SCENARIOS)
def test_no_line_is_wider_than_the_console(name: str, width: int) -> None:
    assert max(map(len, printed(run_of(name), width).splitlines())) <= width


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_ascii_console_gets_the_whole_report(name: str) -> None:
    plain, rich = printed(run_of(name), 100, encoding="ascii"), printed(run_of(name), 100)
    assert plain.isascii()
    assert len(plain.splitlines()) == pytest.approx(len(rich.splitlines()), abs=3)
    assert plain.count("?") == rich.count("?")  # none for a sign that ASCII lacks; a cron expression has its own


def test_names_are_not_read_as_markup_and_lose_their_control_characters() -> None:
    text = printed(run_of("odd-names"), 100)
    assert "Cost [bold] $x$ and $y$" in text
    assert line_with(text, "PutItem").startswith(r"[b]put[/b]\x1b[31m")
    assert r"[red]KEY\x1b[31m$é" in text
    assert "\x1b" not in text


def test_the_comparison_marks_the_best_of_each_measure() -> None:
    text = compared(["one-item", "mostly-idle", "flash-sale"], 100)
    cells = cells_of(text)
    throttled = percent(run_of("flash-sale").throttled_fraction).split()
    assert cells["throttled"] == ["33", "%", "0", "%", "*", *throttled]
    assert cells["first throttle"] == [f"{run_of('one-item').first_throttle_s:.0f}s", "never", "*", "10m"]
    assert cells["partitions"] == ["4", "1", "4", "→", f"{run_of('flash-sale').table.partition_counts[-1][1]}"]
    assert cells["mode"] == ["on", "demand", "provisioned", "on", "demand"]
    # 1,000 read and 500 write units, 94.90 + 237.25, and a cent for what is stored.
    assert cells["a month, as run"] == [month("one-item")[0], "$332.16", "*", month("flash-sale")[0]]
    assert cells["if provisioned"] == [month("one-item")[1], "$332.16", month("flash-sale")[1]]
    assert "latency p50" not in cells  # no run knows it
    assert "and once" not in cells  # nothing is paid once


def test_a_run_that_refuses_its_traffic_is_never_the_cheapest() -> None:
    runs = ["one-item", "flash-sale-warmed", "flash-sale"]
    assert float(month("one-item")[0][1:].replace(",", "")) < float(month("flash-sale-warmed")[0][1:].replace(",", ""))
    text = compared(runs, 120)
    assert cells_of(text)["a month, as run"] == [month(runs[0])[0], month(runs[1])[0], "*", month(runs[2])[0]]
    assert cells_of(text)["and once"] == ["-", "$7.15", "-"]  # 11,000 write units/s more than the 4,000 it would have
    assert f"Only flash-sale-warmed throttles at most 1 %: {month(runs[1])[0]} a month and $7.15 once" in " ".join(
        text.split()
    )
    none = " ".join(compared(["one-item", "flash-sale"], 120).split())
    assert "*" not in line_with(compared(["one-item", "flash-sale"], 120), "a month, as run")
    least = percent(run_of("flash-sale").throttled_fraction)
    assert f"None serves its traffic with at most 1 % throttled; nearest is flash-sale: throttles {least}." in none


def test_latencies_and_what_throttled_stand_beside_the_bill() -> None:
    result = run_of("retry-storm")
    text = compared(["retry-storm", "calm"], 120)
    times = result.traffic["put"].latency
    assert times is not None
    assert cells_of(text)["latency p99"] == [*lasting(times.percentile_s(0.99) or 0).split(), "*", "-"]
    assert cells_of(text)["attempts throttled"][:1] == count(result.throttled).split()[:1]


def test_the_comparison_says_why_each_run_throttles() -> None:
    flowing = " ".join(compared(["one-item", "burst"], 100).split())
    for run in ("one-item", "burst"):
        assert f"- {run}: {why(run_of(run))}" in flowing


def test_columns_have_titles_where_those_tell_runs_apart_and_file_names_elsewhere() -> None:
    paper, raw = console(120)
    print_comparison(sim.compare({"a": run_of("flash-sale"), "b": run_of("odd-names")}, by_title=True), paper)
    assert "Flash sale" in raw.getvalue().decode()
    paper, raw = console(120)
    print_comparison(sim.compare({"first": run_of("flash-sale"), "second": run_of("flash-sale")}, by_title=True), paper)
    assert raw.getvalue().decode().split()[:2] == ["first", "second"]


def test_many_runs_are_compared_one_to_a_row() -> None:
    names = ["one-item", "calm", "burst", "flash-sale", "mostly-idle", "quota"]
    text = compared(names, 90, encoding="ascii").split("* best of")[0]
    assert [line.split()[0] for line in text.splitlines() if line and line.split()[0] in names] == names
    assert "0 % *" in line_with(text, "calm")
    assert "4 -> " in line_with(text, "flash-sale")


def test_no_amount_is_broken_over_two_lines() -> None:
    names = ["one-item", "calm", "flash-sale", "mostly-idle", "burst", "quota"]
    text = compared(names, 76)
    assert text.strip().startswith("run  ")  # a row for each
    for name in ("one-item", "flash-sale"):
        assert month(name)[0] in text
    assert "$332.16 *" in text


def test_equal_runs_have_no_best() -> None:
    paper, raw = console(80)
    print_comparison(sim.compare({"one": run_of("calm"), "other": run_of("calm")}), paper)
    text = raw.getvalue().decode()
    assert text.count("*") == 1  # the footnote's own
    assert "other within 1 % of it" in " ".join(text.split())


def test_a_sparkline_is_blank_for_nothing_alone() -> None:
    assert sparkline(np.array([0, 0.001, 50, 100, 200]), 100) == " ▁▄██"
    assert sparkline(np.array([0, 0.001, 50, 100]), 100, ascii_only=True) == " .=@"
    assert sparkline(np.zeros(3), 0) == "   "


def test_the_time_line_of_changes_is_printed_with_its_beginning_and_its_end() -> None:
    text = printed(run_of("auto-scaled"), 120)
    assert "Alarms and changes" in text
    assert "0:04:30" in text
    assert "auto-scaling: write capacity from 50 to 72 units/s" in text
    assert "update-table: write capacity from 90 to 50,000 units/s, refused (LimitExceededException)" in text
    assert "Alarms and changes" not in printed(run_of("calm"), 120)
