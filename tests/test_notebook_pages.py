"""What a notebook shows of scenarios, results and comparisons: right, escaped, and well-formed."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from explained_runs import SCENARIOS, run_of

import sim
from sim.results.explain import explain
from sim.results.explanation import Explanation
from sim.scenario import html

VOID = {"br"}


class Page(HTMLParser):
    """A page read back: its tables as rows of cells, its tags in order, all its words."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self.tags: list[str] = []
        self.words = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == [], "every tag is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert {name for name, _ in attrs} <= {"style"}
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data
        if {"td", "th"} & set(self._open):
            self.tables[-1][-1][-1] += data


def scenario(**keys: Any) -> sim.Scenario:
    table = {"name": "shop", "pk": "USER#{user}", "mode": "on-demand"}
    document = {"format": 1, "duration": "90m", "fields": {"user": {"kind": "uniform", "count": 1000}}, "table": table}
    return sim.from_dict({**document, **keys})


def pattern(**keys: Any) -> dict[str, Any]:
    return {"name": "p", "operation": "PutItem", **keys}


def test_a_scenario_shows_its_keys_capacity_and_patterns() -> None:
    page = Page(
        scenario(
            title="Shop",
            description="What the guides say.",
            admission="static",
            table={
                "name": "shop",
                "pk": "USER#{user}",
                "sk": "ORDER#{user}",
                "mode": "provisioned",
                "read_capacity": 1000,
                "write_capacity": 1500.5,
                "partitions": 8,
                "autoscaling": {"write": {"min": 100, "max": 4000, "target_utilization": 0.65}},
                "gsi": [
                    {"name": "G", "pk": "S#{user}", "read_capacity": 5, "write_capacity": 6, "present": 0.1}
                    | {"projection": "KEYS_ONLY", "projected_bytes": 120}
                ],
                "lsi": [{"name": "L", "sk": "{user}"}],
            },
            traffic=[pattern(rate=100, item_bytes=2048), pattern(name="q", operation="Query", index="G", rate=5)],
            event=[{"at": "10m", "write_capacity": 2000}],
        )._repr_html_()
    )
    assert page.words.startswith("Shop (1h30m, flow level, static admission, 1 event)What the guides say.")
    keys, patterns = page.tables
    assert keys[1:] == [
        [
            "table",
            "shop",
            "USER#{user}",
            "ORDER#{user}",
            "provisioned: 1,000 read units/s, 1,500.5 write units/s; writes scaled from 100 to 4,000 at 65 %",
            "8 partitions",
        ],
        [
            "global index",
            "G",
            "S#{user}",
            "-",
            "5 read units/s, 6 write units/s",
            "KEYS_ONLY, 120 bytes, of 10 % of items",
        ],
        ["local index", "L", "USER#{user}", "{user}", "the table's", "ALL"],
    ]
    assert patterns == [
        ["pattern", "operation", "keys", "requests/s", "item bytes"],
        ["p", "PutItem", "the table's", "100", "2,048"],
        ["q", "Query", "index G", "5", "1,024"],
    ]


@pytest.mark.parametrize(
    ("keys", "shows"),
    [
        ({"rate": 0.5}, "0.5"),
        ({"rate": 1_500_000}, "1,500,000"),
        ({"rate": [["0s", 10], ["10m", 2000]]}, "10 from 0s, 2,000 from 10m"),
        ({"rate": [[k, k] for k in range(9)]}, "0 from 0s, 1 from 1s, 2 from 2s, and 6 more steps"),
        ({"rate": {"kind": "ramp", "from": 1, "to": 5000, "over": "40m"}}, "1 to 5,000 over 40m"),
        (
            {"rate": {"kind": "spike", "base": 10, "peak": 900, "at": "20m", "lasting": "90s"}},
            "10, 900 from 20m for 1m30s",
        ),
        (
            {"rate": {"kind": "diurnal", "mean": 100, "peak": 200, "peak_at": "14:05"}},
            "100 on average, 200 at 14:05 UTC",
        ),
        ({"rate": 5, "operation": "BatchWriteItem", "batch": 25}, "5, each of 25 items"),
    ],
)
def test_a_rate_is_told_in_a_few_words(keys: dict[str, Any], shows: str) -> None:
    page = Page(scenario(traffic=[pattern(**keys)])._repr_html_())
    assert page.tables[1][1][3] == shows


def test_patterns_that_come_after_others_or_in_threads_say_so() -> None:
    follows = pattern(name="<after>", follows={"traffic": "p", "per": 2})
    page = Page(scenario(traffic=[pattern(rate=1), follows])._repr_html_())
    assert [row[3] for row in page.tables[1][1:]] == ["1", "2 after each p"]
    threads = Page(scenario(level="request", traffic=[pattern(threads=1200)])._repr_html_())
    assert threads.tables[1][1][3] == "1,200 threads"


def test_what_is_not_the_tables_key_is_told_beside_the_pattern() -> None:
    page = Page(
        scenario(traffic=[pattern(rate=1, pk="A#{user}"), pattern(name="b", rate=1, partition=2)])._repr_html_()
    )
    assert [row[2] for row in page.tables[1][1:]] == ["A#{user}", "partition 2"]


def test_a_scenario_of_many_patterns_stays_short_and_says_what_it_leaves_out() -> None:
    page = Page(scenario(traffic=[pattern(name=f"p{k}", rate=1) for k in range(50)])._repr_html_())
    assert len(page.tables[1]) == 1 + 20
    assert "… and 30 more patterns" in page.words


def test_what_seems_not_to_be_meant_is_shown() -> None:
    odd = scenario(table={"name": "shop", "pk": "USER#user", "mode": "on-demand"}, traffic=[pattern(rate=1)])
    (note,) = odd.notes
    assert note in Page(odd._repr_html_()).words
    assert "ul" not in Page(scenario(traffic=[pattern(rate=1)])._repr_html_()).tags


HOSTILE = "<script>alert(1)</script>&amp;\"'\n\x1b[31m表"


def test_everything_is_escaped() -> None:
    made = scenario(
        title=HOSTILE,
        description=HOSTILE,
        fields={"user": {"kind": "uniform", "count": 10}},
        table={"name": HOSTILE, "pk": f"{HOSTILE}{{user}}", "mode": "on-demand"},
        traffic=[pattern(name=HOSTILE, rate=1, pk=HOSTILE)],
    )
    result = sim.run(sim.with_overrides(made, [("duration", "60")]))
    for shown in (made, result, sim.compare({HOSTILE: result, "b": result})):
        text = shown._repr_html_()
        page = Page(text)
        assert "script" not in page.tags
        assert "<script>" in page.words
        assert "\x1b" not in text
    keys, patterns = Page(made._repr_html_()).tables
    assert keys[1][1].startswith("<script>alert(1)</script>&amp;\"'\\n\\x1b[31m表")
    assert patterns[1][2].startswith("<script>")


def test_long_texts_are_cut() -> None:
    page = Page(scenario(title="x" * 5000, description="y" * 5000, traffic=[pattern(rate=1)])._repr_html_())
    assert len(page.words) < 1000
    assert "x" * 299 + "…" in page.words


@pytest.mark.parametrize("name", ["flash-sale", "failures", "auto-scaled", "nobody"])
def test_a_results_page_has_a_row_for_each_pattern_and_its_warnings(name: str) -> None:
    result = run_of(name)
    page = Page(result._repr_html_())
    (rows,) = page.tables
    assert [row[0] for row in rows[1:]] == [t.name for t in result.scenario.traffic]
    for text in (*result.explanation, *result.warnings):
        assert text in page.words


def test_the_cheapest_run_stands_out_in_a_comparison() -> None:
    comparison = sim.compare({"hot": run_of("one-item"), "calm": run_of("burst-suffices")})
    text = comparison._repr_html_()
    rows = Page(text).tables[0]
    assert [row[0] for row in rows[1:]] == ["hot", "calm"]
    assert rows[2][4].endswith(" ✓")
    assert "<b>calm</b>" in text
    assert "<b>hot</b>" not in text


def test_pages_set_no_colour_so_that_dark_themes_can() -> None:
    for shown in (scenario(traffic=[pattern(rate=1)]), run_of("burst"), sim.compare([run_of("burst")])):
        text = shown._repr_html_()
        assert "color" not in text
        assert "background" not in text


def test_numbers_are_set_right_and_words_left() -> None:
    made = html.table(("a", "b"), [("x", "1")], numbers=("b",))
    left, right = made.split("<td")[1:]
    assert "text-align:left" in left
    assert "text-align:right" in right


def test_every_scenario_at_hand_has_a_page() -> None:
    for text in SCENARIOS.values():
        Page(sim.loads("format = 1\nseed = 1\n" + text)._repr_html_())


def test_the_sentences_of_a_run_are_a_list_in_a_notebook_and_wrapped_in_print() -> None:
    explanation = Explanation(["Writes <b>& reads</b> were throttled. " * 4, "Two."])
    assert explanation._repr_html_().count("<li>") == 2
    assert "<b>" not in explanation._repr_html_()
    lines = str(explanation).splitlines()
    assert [line[:2] for line in lines] == ["- ", "  ", "- "]
    assert max(map(len, lines)) <= 100
    assert isinstance(explanation[:1], Explanation)
    assert explanation[-1] == "Two."
    assert run_of("flash-sale").explanation == tuple(explain(run_of("flash-sale")))


def test_no_word_is_broken_in_print() -> None:
    sentence = f"Writes to PRODUCT#OF-THE-DAY and to {'K' * 150} move along ever-increasing sort keys. " * 3
    assert str(Explanation([sentence])).split() == ["-", *sentence.split()]
