"""What the gauges on the token buckets write down, and what they cost."""

from __future__ import annotations

import time

import numpy as np
import pytest

import sim
from sim.control.gauges import EXTRA_LOOKS_MAX, LOOKS_MAX, PARTITIONS_MAX
from sim.names import Dimension, Limit


def run(**keys: object) -> sim.Result:
    table = {"pk": "USER#{user}", "mode": "provisioned", "read_capacity": 1, "write_capacity": 150}
    whole = {
        "format": 1,
        "duration": "10m",
        "fields": {"user": {"kind": "uniform", "count": 1000}},
        "table": {**table, **keys.pop("table", {})},  # type: ignore[dict-item]
        "traffic": [{"name": "writes", "operation": "PutItem", "rate": 400, "arrivals": "even"}],
        **keys,
    }
    return sim.run(sim.from_dict({key: value for key, value in whole.items() if value is not None}))


@pytest.mark.parametrize("level", ["flow", "request"])
def test_the_burst_bucket_runs_down_by_what_is_asked_beyond_the_rate(level: str) -> None:
    """45,000 units, 250 a second more asked for than come in: 15,000 less each minute, and empty after three (F-BURST-1)."""
    lane = run(level=level).table.lanes[Dimension.WRITE]
    seconds, tokens, depth = lane.level_of(Limit.PROVISIONED)
    assert seconds.tolist() == [60.0 * k for k in range(11)]
    assert tokens == pytest.approx(
        [45_000, 30_000, 15_000, *[0] * 8], abs=2
    )  # at the request level the last unit may wait
    assert set(depth) == {45_000}


def test_each_partition_has_its_own_line_until_it_is_split() -> None:
    table = {"mode": "on-demand", "read_capacity": None, "write_capacity": None, "partitions": 1}
    traffic = [{"name": "writes", "operation": "PutItem", "rate": 1900, "arrivals": "even"}]
    result = run(table=table, traffic=traffic, duration="20m")
    lane = result.table.lanes[Dimension.WRITE]
    (split,) = result.table.splits[:1]
    before, _, _ = lane.level_of(Limit.KEY_RANGE, 0)
    after, _, _ = lane.level_of(Limit.KEY_RANGE, 1)
    assert before[-1] <= split.at_s <= after[0]


def test_of_many_partitions_the_emptiest_are_kept() -> None:
    table = {"mode": "on-demand", "read_capacity": None, "write_capacity": None, "partitions": 300, "pk": "ONE"}
    traffic = [{"name": "writes", "operation": "PutItem", "rate": 1900, "arrivals": "even"}]
    result = run(table=table, traffic=traffic, duration="4m")
    lane = result.table.lanes[Dimension.WRITE]
    hot = int(np.argmax(lane.throttled_by_partition.of(300).sum(axis=1)))
    assert hot >= PARTITIONS_MAX  # or the first 64 would do
    _, tokens, _ = lane.level_of(Limit.KEY_RANGE, hot)
    assert tokens[1:] == pytest.approx(np.zeros(len(tokens) - 1), abs=1)
    assert all(len(levels.tokens) == PARTITIONS_MAX for levels in lane.levels[Limit.KEY_RANGE])


@pytest.mark.parametrize(
    ("duration", "period", "most"),
    [
        ("2h", "60s", 121),
        ("2d", "60s", LOOKS_MAX),
        ("500s", "1s", EXTRA_LOOKS_MAX),
        ("90s", "1s", 91),
        ("50m", "90s", 35),
    ],
)
def test_looks_are_few(duration: str, period: str, most: int) -> None:
    result = run(duration=duration, period=period, tick="1s" if "d" not in duration else "60s")
    seconds, _, _ = result.table.lanes[Dimension.WRITE].level_of(Limit.PROVISIONED)
    assert len(seconds) <= most + 1
    assert len(seconds) > most / 2
    assert seconds[-1] == result.grid.duration_s
    assert (np.diff(seconds) > 0).all()


def test_many_short_periods_cost_little_more_than_one_long_one() -> None:
    """The same ticks in periods of a second and of a minute: looks end stretches, so there are at most a hundred of them."""

    def took_s(period: str) -> float:
        times = []
        for _ in range(3):
            began = time.process_time()
            run(duration="2000s", period=period)
            times.append(time.process_time() - began)
        return min(times)

    assert took_s("1s") < took_s("50s") + 0.15
