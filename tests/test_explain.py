"""What a run says of itself: causes and cures with their numbers, nothing that was not recorded, and words fit to print."""

from __future__ import annotations

import html
import re
import time

import pytest
from explained_runs import SCENARIOS, run_of

import models
import sim
from sim.names import Declined, Dimension, Limit, SplitReason
from sim.results import phrases
from sim.results.bottleneck import bottlenecks, partition_rates, touches
from sim.results.explain import explain, verdict, why


def told(name: str) -> str:
    return "\n".join(explain(run_of(name)))


# Each situation: the facts that its explanation must state.
FACTS = {
    "auto-scaled": [
        "had 50 provisioned at first and 90 by the end of it",
        "came late: its alarm, two whole minutes above 70 %, was seen at 3m, and the first greater capacity, 72, was in force at 4m30s",
        "it took 2 steps to reach 90, its maximum, at 10m",
        "a min = 150, max = 150 would have had it in force from the start",
        "An UpdateTable asked in vain at 12m (LimitExceededException)",
        "autoscaling_metric_delay_s + autoscaling_action_delay_s + update_table_s, 2m30s here, plausibly 5s to 8m",
    ],
    "morning": [
        "at most 300 s of the 15 provisioned by then, was spent by 1h; a raise of the capacity brings none",
        "Auto scaling (after 15 quiet minutes) had lowered the capacity from 50 to 15 at 18m, and burst credit to 4,500 units",
        "it took 6 steps to reach 429 at 1h30m",
        'schedule = [{ cron = "50 7 * * ? *", min = 430 }] would have set it at 50m',
    ],
    "spike-of-a-minute": [
        "did not react: its alarm wants two whole minutes of the clock in a row above 70 %",
        "a min = 720, max = 720 would have had it in force from the start",
    ],
    "warmed-late": [
        "Pre-warming came too late: asked for at 25m, it was in force at 35m, and the load was there by 30m",
        "made no partitions in this run",
    ],
    "one-item": [
        "one item, STATS#global,",
        "33 % of the 1,500 write units/s asked of it",
        "an item lies in one partition and a partition gives 1,000 write units/s",
        "[TableWriteKeyRangeThroughputExceeded]",
        "all through the run (30m)",
        "declined at 5m to split partition 2",
        "no number of partitions helps",
        "spread the key over 3 suffixes",
    ],
    "ten-suffixes": [
        "ten keys",
        "they shared four partitions to begin with",
        "single items carry the heat",
        "each of these keys over 2 suffixes, 20 in all",
        "heat_window_s + split_delay_s, 8m here, plausibly 2m to 20m",
    ],
    "flash-sale": [
        "from 10m to ",
        "10,000 write units/s",
        "the four partitions of that moment 4,000 together",
        "begun at 14m, serving from 17m",
        "2,000 write units/s to begin with, so 4,000 at once",
        "only once that was held for 15m",
        "warm_write = 15,000",
        "15 partitions",
        "peak_sustained_s, 15m here, plausibly 5m to 30m",
    ],
    "short-sale": [
        "Split for heat was too slow to help: relief comes some 8m after",
        "and the run lasted 5m",
        "made no partitions in this run",
        "warm_write = 8,600",
    ],
    "ramp": [
        "the 20 partitions of that moment 20,000 together",
        "10,000 write units/s to begin with, so 20,000 at once",
        "warm_write = 40,000",
        "the table quota allows no more",
    ],
    "burst": [
        "from 15m to the end (30m)",
        "25 % of the 200 write units/s",
        "the table has 150 provisioned [TableWriteProvisionedThroughputExceeded]",
        "45,000 units at the start, covered the difference until 15m",
        "provision 200 write units/s for the busiest minute",
        "290 to keep it at 70 %",
    ],
    "burst-suffices": [
        "Nothing was throttled",
        "used 133 % of its 150 provisioned write units/s",
        "thanks to burst credit, of which 33 % was left at 10m",
    ],
    "burst-gathered": [
        "on and off from 7m to 45m",
        "asked in that time were refused, because the table has 100 provisioned",
        "none at the start, gathered while less was asked",
        "provision 300 write units/s",
        "the run's mean of 75 would have fitted",
    ],
    "local-index": [
        "one partition key, TENANT#big,",
        "44 % of the 1,800 write units/s",
        "a local secondary index holds the item collection of TENANT#big together",
        "drop the local secondary index",
        "over 3 suffixes",
    ],
    "collection": [
        "one partition key, TENANT#big,",
        "from the start to 8m",
        "begun at 5m, serving from 8m",
        "throttling ended at 8m",
    ],
    "growing-sort-key": [
        "LOG#app",
        "moves along ever-increasing sort keys",
        "spread the key over 3 suffixes",
        "a sort key that does not only grow",
    ],
    "date-key": [
        "one key at a time",
        "DATE#2026-01-01",
        "DATE#2026-01-02",
        "spread the key over 3 suffixes",
    ],
    "quota": [
        "the account's quota lets one table take 40,000 write units/s [TableWriteAccountLimitExceeded]",
        "neither splits nor warm throughput lift it",
        "ask AWS to raise it to at least 51,000 write units/s",
        "account.table_write",
    ],
    "maximum": [
        "37 % of the 800 write units/s",
        "max_write, is 500 [TableWriteMaxOnDemandThroughputExceeded]",
        "raise max_write to at least 800",
    ],
    "viral-read": [
        "Reads of get to one item, POST#viral,",
        "a partition gives 3,000 read units/s",
        "58 % of the 7,200 read units/s asked of it",
        "never lift a partition above 3,000 read units/s",
        "a cache in front of the table (DAX)",
        "the key in 4 copies",
    ],
    "divided-static": [
        "Reads of p0 were throttled",
        "47 % of the 100 read units/s",
        "under static admission each of its three partitions starts from an equal part of 33.3",
        "partition 0 was asked for up to 80",
        "Today's instant adaptive capacity would have served all of it",
        "100 of its 100 read units/s",
        "provision 240 read units/s, 80 for every one of the three partitions",
    ],
    "divided-2017": [
        "its first boost came at 6m, 6m after the first throttle",
        "instant adaptive capacity would have served all of it",
        "adaptive_lag_s, 5m here, plausibly 5m to 30m",
    ],
    "divided-instant": ["Nothing was throttled", "used 100 % of its 100 provisioned read units/s"],
    "mostly-idle": [
        "used 12 % of its 500 provisioned write units/s",
        "used 10 % of its provisioned read capacity and 12 % of its provisioned write capacity",
        "on demand is cheaper below about 29 %",
        "costs $332.16, and on demand $131.41",
    ],
    "calm": ["partition 2, the busiest, gave 51 % of its ceiling of 1,000 write units/s at"],
    "nobody": ["There was no traffic."],
    "failures": [
        "Every request of huge failed with ValidationException: an item of 500,000 bytes is over DynamoDB's 409,600 bytes (400 KB)",
        "condition was false for",
        "charged all the same",
        "(40 % of those in batches that succeeded) unprocessed",
        "Batches of bulk handed back",
        "client.retry_unprocessed",
        "There was no burst credit to begin with",
    ],
    "thousand": ["USER#0", "this one was asked for 1,6", "over 3 suffixes"],
}


@pytest.mark.parametrize("name", FACTS)
def test_the_explanation_states_the_facts_of_each_situation(name: str) -> None:
    text = told(name)
    missing = [fact for fact in FACTS[name] if fact not in text]
    assert not missing, text


@pytest.mark.parametrize("name", SCENARIOS)
def test_sentences_are_few_whole_and_fit_to_print(name: str) -> None:
    sentences = explain(run_of(name))
    assert 1 <= len(sentences) <= 8
    for text in sentences:
        assert text[0].isupper(), text
        assert text.endswith("."), text
        assert text.isprintable(), text
        assert not re.search(
            r"\b0\.0+ %|\b1 [a-z]+s\b(?! in all)|\bnan\b|\binf\b|  |\d{5}", text.replace("1 units/s", "")
        ), text


@pytest.mark.parametrize("name", SCENARIOS)
def test_reasons_are_named_once_and_only_where_they_were_recorded(name: str) -> None:
    text = told(name)
    recorded = {throttle.reason for throttle in run_of(name).throttles}
    named = re.findall(r"\b(?:Table|Index)(?:Read|Write)\w+Exceeded\b", text)
    assert sorted(named) == sorted(recorded)


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_is_claimed_that_was_not_recorded(name: str) -> None:
    text, result = told(name), run_of(name)
    splits, declined = result.table.splits, result.table.declined
    assert ("serving from" in text or "Split for heat added" in text) <= bool(splits)
    assert ("the service declined" in text.lower()) <= bool(declined)
    assert ("no number of partitions helps" in text) <= any(d.why is Declined.SINGLE_ITEM for d in declined)
    assert ("quota lets" in text) == any(t.limit is Limit.ACCOUNT for t in result.throttles)
    assert ("Nothing was throttled" in text or "no traffic" in text) == (not result.throttles)


@pytest.mark.parametrize("admission", ["divided-static", "divided-2017"])
def test_instant_admission_is_praised_only_where_it_serves_everything_in_truth(admission: str) -> None:
    assert "would have served all of it" in told(admission)
    assert run_of("divided-instant").throttled == 0


def test_the_cure_of_a_flash_sale_cures_it() -> None:
    assert "warm_write = 15,000" in told("flash-sale")
    assert run_of("flash-sale-warmed").throttled_fraction < 0.0005 < run_of("flash-sale").throttled_fraction


def test_the_cure_of_a_hot_item_cures_it_once_the_suffixes_lie_apart() -> None:
    assert "over 3 suffixes" in told("one-item")
    last = run_of("sharded-item").last_throttle_s
    assert last is None or last < 20 * 60


def test_a_bottleneck_knows_what_was_asked_and_what_the_limit_gives() -> None:
    (found,) = bottlenecks(run_of("divided-static"))
    assert (found.asked_per_s, found.gives_per_s, found.partitions) == pytest.approx((100, 100, 3))
    assert found.hottest is not None
    assert (found.hottest.number, found.hottest.per_s) == pytest.approx((0, 80))
    assert found.refused_fraction == pytest.approx((80 - 100 / 3) / 100, rel=1e-3)
    assert found.patterns == ("p0",)


def test_what_partitions_were_asked_for_adds_up_to_what_the_table_was() -> None:
    result = run_of("flash-sale")
    (found,) = bottlenecks(result)
    asked = partition_rates(result, "table", found.dimension, asked=True)
    alive = partition_rates(result, "table", found.dimension) > 0
    before_splits = slice(11, 16)
    assert asked[:4, before_splits].sum(axis=0) == pytest.approx(10_000, rel=0.02)
    assert not asked[~alive].any()


def test_the_single_key_that_carries_the_refusals_is_found_among_many() -> None:
    (found,) = bottlenecks(run_of("thousand"))
    assert [key.name for key in found.keys] == ["USER#0"]
    assert found.keys[0].per_s == pytest.approx(20_000 / sum(1 / k for k in range(1, 100_001)), rel=0.01)
    (crowd,) = bottlenecks(run_of("flash-sale"))
    assert crowd.keys == ()


VERDICTS = {
    "one-item": "33 % of all attempts throttled, all through the run (30m)",
    "burst": "12 % of all attempts throttled, between 15m and the end",
    "calm": "nothing throttled",
    "nobody": "no traffic",
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict_is_one_line(name: str) -> None:
    assert verdict(run_of(name)) == VERDICTS[name]


def test_a_share_of_the_whole_run_is_not_told_as_one_of_its_span() -> None:
    result = run_of("flash-sale")
    assert result.last_throttle_s is not None
    ends = phrases.clock(result.last_throttle_s + 1)
    assert (
        verdict(result)
        == f"{phrases.percent(result.throttled_fraction)} of all attempts throttled, between 10m and {ends}"
    )


def test_growth_is_told_as_it_was_recorded() -> None:
    record = run_of("flash-sale").table
    first = next(split.at_s for split in record.splits if split.reason is SplitReason.THROUGHPUT)
    final, last_s = record.partition_counts[-1][1], record.splits[-1].at_s
    assert f"served from {phrases.clock(first)} on" in told("flash-sale")
    assert f"from 4 to {final} partitions by {phrases.clock(last_s)}" in told("flash-sale")


def test_keys_that_only_share_a_partition_are_told_to_part_and_not_to_be_divided_again() -> None:
    result = run_of("suffixes-that-collide")
    text = told("suffixes-that-collide")
    found = bottlenecks(result)[0]
    assert all(key.peak_per_s < 0.7 * 1000 for key in found.keys)
    assert "the hash put four of them into partition" in text
    assert "none of these keys is too heavy" in text.lower()
    assert "chance of the hash" in text
    assert "suffixes" not in text
    (wanted,) = re.findall(r"warm_write = ([\d,]+)", text)
    cured = sim.with_overrides(result.scenario, [("table.warm_write", wanted.replace(",", ""))])
    assert sim.run(cured).throttled == 0


def test_what_comes_near_to_a_limit_is_told_beside_what_throttles() -> None:
    text = told("near-another-limit")
    assert "Writes of sensors were throttled" in text
    assert re.search(
        r"Also near its limit, though nothing was refused there: partition \d, the busiest, gave 8\d % of its ceiling of 3,000 read "
        r"units/s at .*, all of it for DASHBOARD#main\.",
        text,
    )
    assert "near its limit" not in told("one-item")


def test_a_retry_storm_is_named_and_the_cure_counts_requests_not_retries() -> None:
    result = run_of("retry-storm")
    text, each = told("retry-storm"), result.attempts / result.offered
    assert each > 2
    assert f"A retry storm: each request of put is sent {each:.1f} times on average" in text
    assert f"{phrases.percent(1 - result.offered / result.attempts)} of its attempts are retries" in text
    assert "client.max_attempts" in text
    assert "asked, retries included, in that time" in text
    (found,) = bottlenecks(result)
    assert found.busiest_per_s == pytest.approx(120, rel=0.15)
    assert found.asked_per_s > 2 * found.busiest_per_s
    assert "retry storm" not in told("burst")


def test_the_reason_beside_other_runs_is_half_a_sentence() -> None:
    assert why(run_of("burst")) == "writes throttled, 25 % in that time: the table has 150 provisioned"
    assert why(run_of("one-item")).startswith(
        "writes throttled, 33 % in that time: STATS#global: an item lies in one partition"
    )
    assert why(run_of("calm")).startswith("nothing throttled; partition ")


def test_a_result_prints_as_one_line_and_shows_as_a_small_page() -> None:
    result = run_of("odd-names")
    assert repr(result) == f"<Result 'Cost [bold] $x$ and $y$', flow level: {verdict(result)}>"
    assert "\n" not in repr(run_of("flash-sale"))
    page = run_of("hostile-names")._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    for text in run_of("flash-sale").explanation:
        assert html.escape(text) in run_of("flash-sale")._repr_html_()


def test_odd_names_are_shown_on_one_line_without_their_control_characters() -> None:
    text = told("odd-names")
    assert r"[red]KEY\x1b[31m$é" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("at_s", "words"),
    [
        (0, "0s"),
        (0.25, "0.25s"),
        (45, "45s"),
        (59.999, "1m"),
        (60, "1m"),
        (90, "1m30s"),
        (299, "4m59s"),
        (300, "5m"),
        (359, "6m"),
        (3599, "1h"),
        (3900, "1h05m"),
        (48 * 3600 - 60, "47h59m"),
        (51 * 3600, "2d03h"),
        (30 * 86400, "30d"),
    ],
)
def test_times_are_told_as_people_tell_them(at_s: float, words: str) -> None:
    assert phrases.clock(at_s) == words


@pytest.mark.parametrize(
    ("fraction", "words"),
    [
        (0, "0 %"),
        (0.00002, "under 0.01 %"),
        (0.0004, "0.04 %"),
        (0.0099, "0.99 %"),
        (0.034, "3.4 %"),
        (0.3333, "33 %"),
        (0.994, "99 %"),
        (0.996, "99.6 %"),
        (0.9999, "over 99.9 %"),
        (1, "100 %"),
        (1.333, "133 %"),
    ],
)
def test_shares_are_never_rounded_to_none_or_all(fraction: float, words: str) -> None:
    assert phrases.percent(fraction) == words


def test_numbers_have_separators_and_three_figures() -> None:
    assert [phrases.amount(v) for v in (0, 0.5, 33.333, 999.6, 1502.4, 39_120)] == [
        "0",
        "0.5",
        "33.3",
        "1,000",
        "1,500",
        "39,100",
    ]
    assert [phrases.count(v) for v in (0.3, 1, 12.4, 898_562, 5_839_748)] == [
        "under 1",
        "1",
        "12",
        "899,000",
        "5.84 million",
    ]
    assert [phrases.at_least(v) for v in (0.2, 99.5, 200, 200.1, 10_104)] == ["1", "100", "200", "210", "11,000"]


def test_words_agree_with_their_number() -> None:
    assert (phrases.plural(1, "split"), phrases.plural(2, "split"), phrases.number(3)) == (
        "1 split",
        "2 splits",
        "three",
    )
    assert phrases.joined(["a"]) == "a"
    assert phrases.joined(["a", "b", "c", "d"]) == "a, b, c and d"
    assert phrases.joined(list("abcdef")) == "a, b, c and 3 others"


@pytest.mark.parametrize(
    ("fields", "key", "hits"),
    [
        ({"t": {"kind": "uniform", "count": 1000}}, "TENANT#{t}", False),  # makes TENANT#0, TENANT#1, …
        ({"t": {"kind": "choice", "weights": {"LARGE": 1, "SMALL": 1}}}, "TENANT#{t}", True),
        ({"t": {"kind": "choice", "weights": {"MIDDLE": 1, "SMALL": 1}}}, "TENANT#{t}", False),
        ({"t": {"kind": "clock", "format": "%Y-%m-%d"}}, "TENANT#{t}", True),  # what a clock makes is not asked
        ({}, "TENANT#LARGE", True),
        ({}, "TENANT#LARGER", False),
    ],
)
def test_a_pattern_is_named_with_a_hot_key_only_where_its_fields_can_make_it(
    fields: dict[str, dict[str, object]], key: str, hits: bool
) -> None:
    traffic = [
        sim.Traffic(name="the large one", operation="PutItem", pk="TENANT#LARGE", rate=3000),
        sim.Traffic(name="others", operation="PutItem", rate=500, partition=None),
    ]
    result = sim.run(
        sim.Scenario(
            duration="2m",
            fields=fields,
            table=sim.Table(pk=key, mode="provisioned", read_capacity=1, write_capacity=5000, partitions=1),
            traffic=traffic,
        )
    )
    assert touches(result, result.scenario.traffic[1], "table", Dimension.WRITE, "TENANT#LARGE") is hits
    assert ("the large one and others to one item" in explain(result)[0]) is hits


def test_a_split_is_not_called_too_slow_for_a_single_item() -> None:
    """In four minutes no split begins, and none would ever divide an item; at 20 minutes the service has declined it."""
    scenario = sim.Scenario(
        duration="4m",
        table=sim.Table(pk="COUNTER", mode="on-demand", partitions=4),
        traffic=[sim.Traffic(name="counts", operation="UpdateItem", rate=1500)],
    )
    short = "\n".join(explain(sim.run(scenario)))
    assert "too slow" not in short
    assert "Split for heat would not have helped in a longer run either: an item stays in one partition" in short
    assert "declined" in "\n".join(explain(sim.run(sim.with_overrides(scenario, [("duration", "20m")]))))


def test_a_choice_of_many_values_is_explained_at_once() -> None:
    """Whether a pattern can make a hot key is asked of each of its keys: by looking its value up, not by trying all."""
    weights = {"large": 1e6, **{str(number): 1.0 for number in range(50_000)}}
    scenario = sim.Scenario(
        duration="2m",
        fields={"t": {"kind": "choice", "weights": weights}},
        table=sim.Table(pk="TENANT#{t}", mode="on-demand"),
        traffic=[sim.Traffic(name=f"writes {k}", operation="PutItem", rate=900) for k in range(3)],
    )
    result = sim.run(scenario)
    began = time.process_time()
    told = explain(result)
    assert time.process_time() - began < 1.5
    assert "TENANT#large" in told[0]


def test_on_demand_is_priced_for_all_that_was_asked_where_some_was_refused() -> None:
    """60 writes of an item and its index entry each second for a month at $0.625 a million: 2 × 60 × 2,628,000 s = $197.10."""
    index = {"name": "by-mail", "pk": "MAIL#{user}", "read_capacity": 1, "write_capacity": 5, "burst_at_start": 0.0}
    scenario = sim.from_dict(
        {
            "format": 1,
            "duration": "20m",
            "fields": {"user": {"kind": "uniform", "count": 10_000}},
            "table": {
                "pk": "USER#{user}",
                "mode": "provisioned",
                "read_capacity": 1,
                "write_capacity": 100,
                "burst_at_start": 0.0,
                "gsi": [index],
            },
            "traffic": [{"name": "writes", "operation": "PutItem", "rate": 60, "arrivals": "even"}],
        }
    )
    result = sim.run(scenario)
    assert result.throttled_fraction > 0.5
    (sentence,) = [one for one in explain(result) if "on demand is cheaper" in one]
    assert sentence.endswith("a month costs $50.01 provisioned against $197.10 on demand for all that was asked.")


def test_warm_throughput_is_advised_in_place_of_a_number_of_partitions() -> None:
    """The format lays out the partitions that it is told; so the advice is taken with them left out, and then it helps."""
    fields = {"user": {"kind": "uniform", "count": 100_000}}
    traffic = [{"name": "sale", "operation": "PutItem", "rate": 20_000, "arrivals": "even"}]
    document = {"format": 1, "duration": "5m", "fields": fields, "traffic": traffic}
    table = {"pk": "USER#{user}", "mode": "on-demand"}
    fixed = sim.run(sim.from_dict({**document, "table": {**table, "partitions": 4}}))
    (cure,) = re.findall(
        r"set warm_write = ([\d,]+) in place of partitions = 4 before the load", "\n".join(explain(fixed))
    )
    warm = int(cure.replace(",", ""))
    both = sim.from_dict({**document, "table": {**table, "partitions": 4, "warm_write": warm}})
    assert any("partitions = 4 fixes the layout" in note for note in both.notes)
    assert sim.run(both).throttled_fraction == fixed.throttled_fraction > 0.5
    cured = sim.from_dict({**document, "table": {**table, "warm_write": warm}})
    assert cured.notes == ()
    assert sim.run(cured).throttled_fraction == 0


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "count-transaction",
            r"transactions of orders \(4[67] %\) failed with TransactionCanceledException, for another one was at work",
        ),
        ("retry-adaptive", r"Of orders [\d,]+ requests \(50 %\) had no answer yet when the run ended"),
        ("shard-random", r"spread each of these keys over \d suffixes"),
    ],
)
def test_named_scenarios_tell_their_main_trouble(name: str, says: str) -> None:
    text = "\n".join(sim.run(models.scenarios.load(name)).explanation)
    assert re.search(says, text), text
