"""The control plane: when it splits, when it does not, and what on-demand and adaptive capacity grow to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.small import pattern, provisioned, scenario

from sim.limits import GB_BYTES
from sim.names import Dimension, SplitReason
from sim.results.recorder import Split
from sim.results.result import Result
from sim.run import run

TWO_KEYS = {"user": {"kind": "choice", "weights": {"a": 1, "b": 1}}}
MANY = {"user": {"kind": "uniform", "count": 10**12}}


def calibrated(**values: Any) -> dict[str, Any]:
    return {"base": "default", **values}


def splits(result: Result, reason: SplitReason | None = None) -> list[Split]:
    return [split for split in result.table.splits if reason in (None, split.reason)]


def heated(rate: float, minutes: int = 12, **keys: Any) -> Result:
    """One partition of many keys, even load, provisioned so high that only the ceiling counts."""
    keys = {"fields": MANY, "table": provisioned(write=40_000), **keys}
    return run(scenario(pattern(rate=rate, arrivals="even"), duration=f"{minutes}m", **keys))


# Heat.


@pytest.mark.parametrize(("rate", "splits_"), [(849, 0), (850, 1), (851, 1)])
def test_heat_splits_from_the_trigger_on(rate: float, splits_: int) -> None:
    assert len(splits(heated(rate), SplitReason.HEAT)) == splits_


@pytest.mark.parametrize(("rate", "splits_"), [(2549, 0), (2550, 1)])
def test_reads_have_a_trigger_of_their_own(rate: float, splits_: int) -> None:
    made = scenario(
        pattern(operation="GetItem", consistent=True, rate=rate, arrivals="even"),
        fields=MANY,
        table=provisioned(read=40_000),
        duration="12m",
    )
    assert len(splits(run(made), SplitReason.HEAT)) == splits_


@pytest.mark.parametrize(("window", "delay"), [(300, 180), (60, 60), (120, 300), (600, 90)])
def test_relief_comes_after_window_and_delay_to_the_minute(window: int, delay: int) -> None:
    result = heated(900, 20, calibration=calibrated(heat_window_s=window, split_delay_s=delay))
    (split,) = splits(result)
    assert (split.decided_s, split.at_s) == (window, window + delay)
    assert split.halves == (1, 2)


def test_a_half_has_to_be_hot_for_a_window_of_its_own() -> None:
    """1,900 a second: one ceiling is refused most, two halves of 950 are hot again from 480 s on."""
    result = heated(1900, 18)
    assert [(s.decided_s, s.at_s) for s in splits(result)][:2] == [(300, 480), (780, 960)]


def test_a_short_heat_does_not_split() -> None:
    made = scenario(
        pattern(rate={"kind": "spike", "base": 0, "peak": 900, "at": 60, "lasting": 240}),
        fields=MANY,
        table=provisioned(write=40_000),
        duration="15m",
    )
    assert splits(run(made)) == []


@pytest.mark.parametrize("in_flight", [0, 1, 2, 3, 20])
def test_so_many_splits_for_heat_are_under_way_at_a_time(in_flight: int) -> None:
    result = run(
        scenario(
            pattern(rate=3600, arrivals="even"),
            fields=MANY,
            table=provisioned(write=40_000) | {"partitions": 4},
            duration="14m",
            calibration=calibrated(heat_splits_in_flight=in_flight),
        )
    )
    found = splits(result)
    assert len([s for s in found if s.decided_s == 300]) == min(in_flight, 4)
    for now_s in range(0, 840, 60):
        assert sum(s.decided_s <= now_s < s.at_s for s in found) <= in_flight


def test_the_hottest_partition_is_split_first() -> None:
    loads = {0: 860, 1: 990, 2: 900}
    made = scenario(
        *(pattern(name=f"p{k}", rate=rate, partition=k, arrivals="even") for k, rate in loads.items()),
        table=provisioned(write=40_000) | {"partitions": 3},
        duration="20m",
    )
    assert [s.partition for s in splits(run(made))] == [1, 2, 0]


def test_among_saturated_partitions_the_most_wanted_is_split_first() -> None:
    loads = {0: 1500, 1: 4000, 2: 2000}
    made = scenario(
        *(pattern(name=f"p{k}", rate=rate, partition=k, arrivals="even") for k, rate in loads.items()),
        table=provisioned(write=40_000) | {"partitions": 3},
        duration="9m",
    )
    assert [s.partition for s in splits(run(made))] == [1]


@pytest.mark.parametrize("admission", ["static", "adaptive-2017"])
def test_the_older_eras_do_not_split_for_heat(admission: str) -> None:
    assert splits(heated(950, admission=admission)) == []


def test_a_single_item_is_declined_once_and_named() -> None:
    result = run(scenario(pattern(rate=950), table={"pk": "K"} | provisioned(write=40_000), duration="30m"))
    assert splits(result) == []
    (event,) = [e for e in result.recorder.events if e.action == "split-declined"]
    assert event.at_s == 300
    assert "one item" in event.detail
    assert "(K)" in event.detail
    assert len(result.table.declined) == 1


def test_another_mix_of_traffic_is_not_another_reason() -> None:
    """The same item is in the way however its load is divided between two patterns."""
    made = scenario(
        pattern(rate=[["0s", 900], ["10m", 300]]),
        pattern(name="others", operation="UpdateItem", rate=[["0s", 50], ["10m", 650]]),
        table={"pk": "K"} | provisioned(write=40_000),
        duration="30m",
    )
    assert [e.at_s for e in run(made).recorder.events if e.action == "split-declined"] == [300]


@pytest.mark.parametrize(
    ("table", "fields", "words"),
    [
        ({"sk": "{seq}"}, {"seq": {"kind": "sequence"}}, "ever-increasing"),
        (
            {"sk": "{n}", "lsi": [{"name": "L", "sk": "{n}", "projection": "KEYS_ONLY", "projected_bytes": 10}]},
            {"n": {"kind": "uniform", "count": 1000}},
            "local secondary index",
        ),
    ],
)
def test_what_a_cut_cannot_help_is_declined_with_its_reason(
    table: dict[str, Any], fields: dict[str, Any], words: str
) -> None:
    made = scenario(
        pattern(rate=950, touches=[]) if "lsi" in table else pattern(rate=950),
        table={"pk": "K", **provisioned(write=40_000), **table},
        fields=fields,
        duration="20m",
    )
    result = run(made)
    assert splits(result) == []
    assert [words in e.detail for e in result.recorder.events] == [True]


def test_a_collection_is_cut_between_its_sort_keys() -> None:
    made = scenario(
        pattern(rate=950),
        table={"pk": "K", "sk": "{n}", **provisioned(write=40_000)},
        fields={"n": {"kind": "uniform", "count": 1000}},
        duration="9m",
    )
    (split,) = splits(run(made))
    assert split.inside_collection


# What the controllers see.


def test_the_minute_of_a_split_is_seen_whole() -> None:
    """Even load over four partitions, one of which is split: the table consumes 3,600 a second in every minute."""
    from sim.control import sightings

    seen: list[float] = []
    plain = sightings.Sightings.close_minute

    def noting(self: sightings.Sightings) -> bool:
        closed = plain(self)
        seen.append(self.minutes[Dimension.WRITE][-1].total_consumed)
        return closed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sightings.Sightings, "close_minute", noting)
        for delay in (180, 90):
            seen.clear()
            result = run(
                scenario(
                    pattern(rate=3600, arrivals="even"),
                    fields=MANY,
                    duration="14m",
                    calibration=calibrated(split_delay_s=delay),
                )
            )
            assert len(splits(result)) >= 2
            assert seen == pytest.approx([3600.0] * len(seen), rel=1e-3), delay


@pytest.mark.parametrize("tick", ["7s", "45s", "2m"])
def test_a_tick_that_does_not_divide_a_minute_still_shows_the_rate(tick: str) -> None:
    """80 % of the trigger is never seen as heat, and 4/3 of it always is."""
    seconds = int(tick[:-1]) * (60 if tick.endswith("m") else 1)
    for rate, wanted in ((820, 0), (990, 1)):
        made = scenario(
            pattern(rate=rate, arrivals="even"),
            fields=MANY,
            table=provisioned(write=40_000),
            duration="14m",
            tick=tick,
            period=seconds * 60,
        )
        assert len(splits(run(made))) == wanted, rate


# On demand.


def test_the_peak_is_the_least_minute_of_the_sustained_time() -> None:
    """4,000 a second for 14 minutes do not count, for 15 they do; one weaker minute counts as what it was."""

    def warm(steps: list[list[Any]]) -> float:
        made = scenario(
            pattern(rate=steps, arrivals="even"),
            fields=MANY,
            duration="40m",
            calibration=calibrated(heat_splits_in_flight=0),
        )
        return float(run(made).table.lanes[Dimension.WRITE].warm[-1][1])

    assert warm([["0s", 3000], ["14m", 0]]) == 4000
    assert warm([["0s", 3000], ["15m", 0]]) == 6000
    assert warm([["0s", 3000], ["7m", 2500], ["8m", 3000], ["16m", 0]]) == 5000


def test_the_peak_never_falls() -> None:
    made = scenario(pattern(rate=[["0s", 3000], ["20m", 10]], arrivals="even"), fields=MANY, duration="2h", tick="10s")
    result = run(made)
    for line in (result.table.lanes[Dimension.WRITE].warm, result.table.partition_counts):
        values = [value for _, value in line]
        assert values == sorted(values)


def test_twice_the_peak_is_carried_wherever_it_lies() -> None:
    """After growth every range has room for its share of twice the peak."""
    made = scenario(
        pattern(rate=3000, arrivals="even", where={"user": "a"}),
        pattern(name="rest", rate=900, arrivals="even", pk="REST#{n}"),
        fields={"user": {"kind": "choice", "weights": {"a": 1}}, "n": {"kind": "uniform", "count": 5000}},
        table={"pk": "REST#{n}#{user}"},
        duration="70m",
        tick="10s",
        calibration=calibrated(heat_splits_in_flight=0),  # heat would make the room beforehand
    )
    result = run(made)
    assert splits(result, SplitReason.THROUGHPUT)
    assert result.table.lanes[Dimension.WRITE].warm[-1][1] == pytest.approx(7800, rel=0.01)
    last = np.array([p.retired_s is None for p in result.table.partitions])
    consumed = result.table.lanes[Dimension.WRITE].consumed_by_partition.of(len(last))[last, -1] / 60
    assert (2 * consumed <= 1000 * 1.02).all()


def test_the_quota_caps_the_room() -> None:
    made = scenario(
        pattern(rate=3000, arrivals="even"), fields=MANY, duration="30m", account={"table_write": 5000}, tick="10s"
    )
    assert run(made).table.lanes[Dimension.WRITE].warm[-1][1] == 5000


def test_without_scaling_an_on_demand_table_splits_for_heat_alone() -> None:
    made = scenario(
        pattern(rate=3900, arrivals="even"),
        fields=MANY,
        duration="40m",
        tick="10s",
        calibration=calibrated(on_demand_scaling=False),
    )
    result = run(made)
    assert {s.reason for s in splits(result)} == {SplitReason.HEAT}


def test_growth_splits_as_many_at_once_as_it_needs() -> None:
    made = scenario(
        pattern(rate=3000, arrivals="even"),
        fields=MANY,
        duration="19m",
        calibration=calibrated(heat_splits_in_flight=0),
    )
    found = splits(run(made))
    assert [(s.partition, s.decided_s, s.at_s) for s in found] == [(k, 900, 1080) for k in range(4)]


# Size.


def test_a_full_partition_is_split_in_the_middle_of_its_data() -> None:
    """Items of 300 KB at 3 a second fill the rest of 10 GB within the first minutes."""
    made = scenario(
        pattern(pk="{seq}", item_bytes=300 * 1024, rate=3, arrivals="even"),
        fields={"seq": {"kind": "sequence"}},
        table={"pk": "{seq}", **provisioned(write=40_000), "storage_bytes": 10 * GB_BYTES - 200 * 300 * 1024},
        duration="12m",
    )
    result = run(made)
    (split,) = splits(result)
    assert split.reason is SplitReason.SIZE
    assert split.decided_s == 120  # 201 items are there after 67 s
    assert split.at_s == 300
    assert split.cut.hash == pytest.approx(2**63, rel=1e-6)


# Adaptive capacity of 2017.


def adaptive(minutes: int, hot: float = 60.0, **values: Any) -> Result:
    """Four parts of 25 a second each; one partition is asked for more than its part."""
    made = scenario(
        pattern(name="hot", rate=hot, partition=0, arrivals="even"),
        table=provisioned(write=100, burst_at_start=0) | {"partitions": 4},
        admission="adaptive-2017",
        duration=f"{minutes}m",
        calibration=calibrated(**values),
    )
    return run(made)


def served_per_s(result: Result) -> np.ndarray:
    return np.asarray(result.traffic["hot"].succeeded / 60)


@pytest.mark.parametrize("lag", [300, 600])
def test_boosts_lag_the_throttling_that_calls_for_them(lag: int) -> None:
    """The first throttling is seen at 60 s; from 60 + lag on half of what was refused is given back each minute."""
    found = served_per_s(adaptive(lag // 60 + 8, adaptive_lag_s=lag))
    first = 1 + lag // 60
    assert found[1:first] == pytest.approx([25.0] * (first - 1))
    gaps = 60 - found[first : first + 4]
    assert gaps == pytest.approx([35 / 2, 35 / 4, 35 / 8, 35 / 16], abs=0.05)


@pytest.mark.parametrize("gain", [0.25, 1.0])
def test_the_gain_is_the_part_of_the_refused_that_comes_back(gain: float) -> None:
    assert 60 - served_per_s(adaptive(9, adaptive_gain=gain))[6] == pytest.approx(35 * (1 - gain), abs=0.05)


def test_boosts_are_withdrawn_when_the_table_is_over_its_total() -> None:
    made = scenario(
        pattern(name="hot", rate=60, partition=0, arrivals="even"),
        *(pattern(name=f"p{k}", rate=[["0s", 0], ["10m", 24]], partition=k, arrivals="even") for k in (1, 2, 3)),
        table=provisioned(write=100, burst_at_start=0) | {"partitions": 4},
        admission="adaptive-2017",
        duration="14m",
    )
    result = run(made)
    found = served_per_s(result)
    assert found[9] > 55
    assert found[11] == pytest.approx(25.0, abs=0.5)
    details = [e.detail for e in result.recorder.events if e.action == "adaptive-capacity"]
    assert "lent" in details[0]
    assert "withdrawn" in details[1]


def test_a_boost_ends_at_the_partitions_ceiling() -> None:
    made = scenario(
        pattern(name="hot", rate=3000, partition=0, arrivals="even"),
        table=provisioned(write=4000, burst_at_start=0) | {"partitions": 8},
        admission="adaptive-2017",
        duration="20m",
    )
    result = run(made)
    assert served_per_s(result)[-1] == pytest.approx(1000, rel=0.01)


def test_a_new_throttling_waits_for_its_own_lag() -> None:
    """Ten seconds of throttling at the start and quiet for half an hour: the next throttling is not paid for by the first."""
    made = scenario(
        pattern(name="hot", rate=[["0s", 60], ["10s", 0], ["30m", 60]], partition=0, arrivals="even"),
        table=provisioned(write=100, burst_at_start=0) | {"partitions": 4},
        admission="adaptive-2017",
        duration="45m",
    )
    lent_s = [e.at_s for e in run(made).recorder.events if "lent" in e.detail]
    assert lent_s[0] >= 1800 + 300
