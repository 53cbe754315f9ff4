"""The report on the terminal: what it shows at 80 and 120 columns, without colour, in ASCII, and with hostile names."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from explained_runs import SCENARIOS, run_of
from rich.console import Console

from sim import Result
from sim.results.cost import cents
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
    print_comparison([(name, run_of(name)) for name in names], paper)
    return raw.getvalue().decode(encoding)


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
        "THROTTLES  33 % of attempts throttled all through the run (30m)"
    )
    assert printed(run_of("calm"), width).startswith("OK  nothing throttled")


@pytest.mark.parametrize("width", WIDTHS)
def test_patterns_reasons_partitions_and_costs_are_told(width: int) -> None:
    text = printed(run_of("flash-sale"), width)
    assert line_with(text, "PutItem").split() == ["put", "PutItem", "7,000", "77", "%", "23", "%", "10m"]
    reason = line_with(text, "table ", "Exceeded").split()
    assert reason == ["table", "TableWriteKeyRangeThroughputExceeded", "5.84", "million", "10m", "38m"]
    flowing = " ".join(text.split())
    assert "Partitions 4 → 16 · 12 splits (7 for heat and 5 for throughput) from 17m to 38m" in flowing
    assert re.search(r"the hottest took \d.* % of the traffic", flowing)
    on_demand, provisioned = month("flash-sale")
    assert f"Cost of a month on demand {on_demand} · provisioned {provisioned} (for the busiest minute)" in flowing
    for sentence in run_of("flash-sale").explanation:
        assert sentence in flowing


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


def test_a_pattern_that_was_throttled_among_others_is_dated_to_its_period() -> None:
    text = printed(run_of("failures"), 80)
    assert line_with(text, "BatchWriteItem").endswith("~0s")
    assert line_with(text, "PutItem", "huge").split()[-4:] == ["0", "%", "-", "-"]


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
    assert "?" not in plain


def test_names_are_not_read_as_markup_and_lose_their_control_characters() -> None:
    text = printed(run_of("odd-names"), 100)
    assert "Cost [bold] $x$ and $y$" in text
    assert line_with(text, "PutItem").startswith(r"[b]put[/b]\x1b[31m")
    assert r"[red]KEY\x1b[31m$é" in text
    assert "\x1b" not in text


def test_the_comparison_marks_the_best_of_each_measure() -> None:
    text = compared(["one-item", "mostly-idle", "flash-sale"], 100)
    cells = {line[:20].strip(): line[20:].split() for line in text.splitlines()}
    assert cells["throttled"] == ["33", "%", "0", "%", "*", "23", "%"]
    assert cells["first throttle"] == [f"{run_of('one-item').first_throttle_s:.0f}s", "never", "*", "10m"]
    assert cells["partitions"] == ["4", "1", "4", "→", "16"]
    assert cells["month, provisioned"] == [month("one-item")[1], "$332.15", "*", month("flash-sale")[1]]


def test_many_runs_are_compared_one_to_a_row() -> None:
    names = ["one-item", "calm", "burst", "flash-sale", "mostly-idle", "quota"]
    text = compared(names, 90, encoding="ascii")
    assert [line.split()[0] for line in text.splitlines() if line and line.split()[0] in names] == names
    assert "0 % *" in line_with(text, "calm")
    assert "4 -> 16" in line_with(text, "flash-sale")


def test_equal_runs_have_no_best() -> None:
    assert compared(["calm", "calm"], 80).count("*") == 1  # the footnote's own


def test_a_sparkline_is_blank_for_nothing_alone() -> None:
    assert sparkline(np.array([0, 0.001, 50, 100, 200]), 100) == " ▁▄██"
    assert sparkline(np.array([0, 0.001, 50, 100]), 100, ascii_only=True) == " .=@"
    assert sparkline(np.zeros(3), 0) == "   "
