"""Rows of seeing and paying."""

from __future__ import annotations

from collections.abc import Mapping

import sim
from mission.base import (
    WRITE,
    Figure,
    Row,
    between,
    exactly,
    first_s,
    reasons,
    refused,
    run,
    served_per_s,
    throttled,
    throttled_of,
    yes,
)
from sim.names import CostItem
from sim.results.alarms import AlarmState
from sim.results.cost import cents


def rang(result: sim.Result, number: int) -> list[float]:
    """Minutes at which an alarm went off."""
    return [at_s / 60 for at_s, state in result.alarms[number].state_changes if state is AlarmState.ALARM]


def cloudwatch() -> tuple[Figure, ...]:
    found = run("cw")
    any_, ten, capacity = (rang(found, number) for number in range(3))
    ends = [at_s / 60 for at_s, state in found.alarms[0].state_changes if state is AlarmState.OK][1]
    return (
        exactly(
            "80 % of capacity for 5 min × 3, rings at minute",
            capacity[0],
            24,
            "300 + 30 (m - 10) of 500 is over 400 from minute 14 on: 14, 19, 24",
        ),
        exactly(
            "over ten throttles a minute, rings at minute",
            ten[0],
            46,
            "30,000 units of credit at 20 a second from 20:00: dry at 45:00",
        ),
        exactly(
            "any throttle, first rings at minute",
            any_[0],
            6,
            "2,008 writes in a second, of which a full bucket and a second's refill give 2,000",
        ),
        exactly(
            "and is over at minute", ends, 9, "the point counts for three periods: alarm_extra_periods, test_alarms.py"
        ),
        exactly("any throttle, rings again at minute", any_[1], 46, "as the alarm on ten"),
        exactly("times that each rang", len(any_) + len(ten) + len(capacity), 2 + 1 + 1, "none of them in between"),
        exactly(
            "WriteThrottleEvents in minute 5",
            float(found.metric("WriteThrottleEvents").iloc[0]),
            8,
            "2,008 - 2,000",
        ),
    )


def insights() -> tuple[Figure, ...]:
    found = run("ci")
    report = found.contributor_insights()
    accessed, refused_ = report.rule("PKC"), report.rule("PKT")
    hot = "PRODUCT#OF-THE-DAY"
    neighbours = 67 * 300 / 400  # a twelfth of 400 products is 33; 67 in one partition are six standard deviations
    return (
        yes("first of the accessed keys is the hot one", accessed.contributors[0].keys == (hot,), "F-CI-1"),
        yes("first of the throttled keys is the hot one", refused_.contributors[0].keys == (hot,), "F-CI-1"),
        between(
            "its units a minute",
            accessed.contributors[0].value / 10,
            180_000 * 1500 / (1500 + neighbours),
            180_300,
            "F-CI-2: 1,000 × 3 × 60 at full speed, less the part of those who share its partition",
        ),
        between(
            "of all throttles, %",
            100 * refused_.contributors[0].value / refused_.total,
            100 * 1500 / (1500 + neighbours),
            100,
            "throttles at a partition fall on its keys as their attempts do",
        ),
        between(
            "of the table's 12,000 write units used, %",
            served_per_s(found, 60, 600) / 120,
            10,
            12,
            "1,000 and 300 less a few",
        ),
    )


def pitfalls() -> tuple[Figure, ...]:
    names = ("adaptive", "index", "on-demand", "batch", "metrics")
    trap = {name: run(f"pitfall-{name}") for name in names}
    cure = {name: run(f"pitfall-{name}-cured") for name in names}
    campaign_s = (900, 1500)
    return (
        between(
            "1 adaptive capacity: votes for the viral post throttled, %",
            throttled_of(trap["adaptive"], "votes for the viral post"),
            100 / 3,
            38,
            "500 of 1,500, and a little for who shares its partition: F-PART-13",
        ),
        exactly("over 20 shards, %", throttled(cure["adaptive"]), 0, "75 a second each"),
        exactly(
            "what the shards add to the bill of capacity, $",
            float(cure["adaptive"].bill.table - trap["adaptive"].bill.table),
            0,
            "the same 5,000",
        ),
        exactly("2 index: first throttle, s", first_s(trap["index"]), 75, "300 × 20 = 6,000, spent at 100 - 20"),
        exactly("writes/s that pass", served_per_s(trap["index"], 120, 1200), 20, "F-GSI-5", within=0.05),
        exactly("with the table's capacity, throttled, %", throttled(cure["index"]), 0, "100 of 200"),
        exactly(
            "3 on demand: of the campaign throttled, %",
            refused(trap["on-demand"], *campaign_s),
            100 * (6000 * 480 + 5000 * 120 - 4000) / 6e6,
            "4,000 of 10,000 for 8 min, 5,000 after a split, and a second's worth at the start",
            within=0.02,
        ),
        exactly("pre-warmed, %", throttled(cure["on-demand"]), 0, "10,000 of 12,000"),
        exactly(
            "4 batches: items of 45,000 never written",
            trap["batch"].traffic["import"].unprocessed,
            45_000 - 250 * 91,
            "250 a second for 90 s and a second's worth at the start",
            within=30,
        ),
        exactly("requests of them that failed", trap["batch"].failed, 0, "F-UNIT-19"),
        exactly(
            "with resends",
            cure["batch"].traffic["import"].unprocessed + cure["batch"].failed,
            0,
            "sent until they are written",
        ),
        between(
            "s that it takes",
            float(cure["batch"].traffic["import"].finished_s or 0),
            179,
            183,
            "(45,000 - 250) / 250 = 179, and the last back-off",
        ),
        exactly(
            "5 table's metrics: alarms on 80 % of capacity", len(rang(trap["metrics"], 0)), 0, "1,500 of 5,000 at most"
        ),
        between(
            "while of the tenant is throttled, %",
            throttled_of(trap["metrics"], "the large tenant"),
            200 / 3,
            72,
            "2,000 of 3,000, and a little for who shares its partition",
        ),
        exactly(
            "an alarm on the key range rings at minute",
            rang(cure["metrics"], 1)[0],
            1,
            "the first minute with a throttle",
        ),
        yes(
            "by the partition's ceiling",
            reasons(trap["metrics"]) == {("table", "TableWriteKeyRangeThroughputExceeded")},
            "F-ERR-4",
        ),
    )


ON_DEMAND = {"table.mode": '"on-demand"', "table.read_capacity": None, "table.write_capacity": None}


def month(result: sim.Result) -> float:
    """A month of what the run paid for throughput, without storage, $."""
    lines = result.bill.bills["table"].lines
    return float(sum(line.per_month for line in lines if line.item is not CostItem.STORAGE))


def both_modes(name: str, overrides: Mapping[str, str]) -> tuple[sim.Result, sim.Result]:
    """The same load on a provisioned and on an on-demand table."""
    return run(name, overrides), run(name, {**overrides, **ON_DEMAND})


def utilisation(result: sim.Result) -> float:
    """Write units used of 1,000 a second that are needed at the peak, 0..1."""
    consumed = float(result.table.lanes[WRITE].consumed_units.sum())
    return consumed / result.scenario.duration / result.peak_per_s("table", WRITE)


def decide() -> tuple[Figure, ...]:
    figures = []
    # Where both cost the same: a write unit an hour over 3,600 writes, and one read unit, which a table has at least.
    even = (1000 * 0.00065 + 0.00013) / (1000 * 3600 * 0.625e-6)
    for name, ratio, dearer in (("decide", 4, -13.5), ("decide-steady", 2, 42.2)):
        found = run(name)
        provisioned, on_demand = month(found), month(run(name, ON_DEMAND))
        mean = served_per_s(found, 0, 86_400)
        figures += [
            exactly(
                f"peak to average of {name}",
                1 / utilisation(found),
                ratio,
                "1,000 of 250 or 500 a second; 1 write in 21.6 million more or less",
                within=1e-5,
            ),
            exactly(f"throttled in {name}, %", throttled(found), 0, "1,000 of two partitions' 2,000"),
            exactly("on demand, $ a month", on_demand, mean * 3600 * 730 * 0.625e-6, "F-PRICE-2", within=1e-6),
            exactly(
                "provisioned for the peak, $ a month",
                provisioned,
                (1000 * 0.00065 + 0.00013) * 730,
                "F-PRICE-6, and one read unit",
                within=1e-6,
            ),
            exactly(
                "on demand costs more, % of the dearer",
                100 * (on_demand - provisioned) / max(on_demand, provisioned),
                dearer,
                "the two above; below nothing where it is the cheaper",
                within=0.05,
            ),
        ]
    # The load of `decide` in an hour and a half, its peak a little shorter and a little longer than pays.
    short = {"duration": '"96m"', "period": '"96m"', "traffic[0].rate.at": '"30m"'}
    points = []
    for peak_s in (1140, 1296):
        provisioned_run, on_demand_run = both_modes("decide", {**short, "traffic[0].rate.lasting": f'"{peak_s}s"'})
        points.append((utilisation(provisioned_run), month(on_demand_run) - month(provisioned_run)))
    (lower, saves), (higher, costs_) = points
    measured = lower - saves * (higher - lower) / (costs_ - saves)
    return (
        *figures,
        exactly(
            "at a peak of 3.6 times the average on demand costs more, $ a month",
            saves,
            (lower - even) * 3600 * 1000 * 730 * 0.625e-6,
            "27.8 % used: what it is below the break-even, at $0.625 a million. It is the cheaper",
            within=1e-6,
        ),
        exactly(
            "at a peak of 3.3 times the average, $ a month",
            costs_,
            (higher - even) * 3600 * 1000 * 730 * 0.625e-6,
            "30.2 % used. It is the dearer",
            within=1e-6,
        ),
        yes("the cheaper mode changes between them", saves < 0 < costs_, "by the bills of four runs"),
        exactly(
            "utilisation at which both bills are the same, between them, %",
            100 * measured,
            100 * even,
            "F-PRICE-22: 0.65013 / (3.6 million × 0.625e-6); the guide says 30 %, and 14 % before November 2024",
            within=1e-6,
        ),
        exactly(
            "peak to average at which both bills are the same",
            1 / measured,
            1 / even,
            "3.46, where capacity is provisioned for the peak; the guide says 4",
            within=1e-6,
        ),
    )


def costs() -> tuple[Figure, ...]:
    month = run("cost")
    ia = {"table.table_class": '"standard-ia"'}

    def provisioned(read: float, write: float) -> float:
        found = run("cost", {"table.read_capacity": read, "table.write_capacity": write})
        return float(cents(found.bill.per_month_provisioned))

    one_write_unit = float(
        run("cost", {"table.read_capacity": 38.5, "table.write_capacity": 1}).bill.per_month_provisioned
    )

    def on_demand(overrides: dict[str, object]) -> float:
        return float(cents(run("cost", overrides).bill.per_month_on_demand))

    reads = 100e6 / (730 * 3600)
    only_reads = {"traffic[0].rate": repr(reads), "traffic[1].rate": 0}
    return (
        exactly(
            "100 read and 40 write units, $ a month",
            float(cents(month.bill.per_month_provisioned)),
            28.47,
            "0.039 × 730 h",
        ),
        exactly("50 and 40, $", provisioned(50, 40), 23.73, "0.0325 × 730"),
        exactly("30 and 25, $", provisioned(30, 25), 14.71, "0.02015 × 730"),
        exactly(
            "38.5 read units, $",
            one_write_unit - 0.00065 * 730,
            3.65365,
            "0.005005 × 730 is 3.65 in cents; the one write unit that a table has is left out",
        ),
        exactly("100 M reads, Standard, $", on_demand(only_reads), 12.50, "F-PRICE-1: 0.125 a million"),
        exactly(
            "100 M reads, Standard-IA, $",
            on_demand({**only_reads, **ia}),
            15.50,
            "F-PRICE-3: the guide's 0.155 a million",
        ),
        exactly(
            "25 reads and 20 writes/s on demand, 730 h, $", on_demand({}), 41.06, "65.7 M × 0.125 + 52.56 M × 0.625"
        ),
        exactly("the same in 720 h, $", on_demand({"cost.month_hours": 720}), 40.50, "64.8 M and 51.84 M"),
        exactly(
            "in Standard-IA and 720 h, $",
            on_demand({**ia, "cost.month_hours": 720}),
            50.48,
            "the guide's figure: F-PRICE-18",
        ),
        exactly("in Standard-IA and 730 h, $", on_demand(ia), 51.18, "as the guide bills elsewhere"),
    )


ROWS: tuple[Row, ...] = (
    Row(id="S-CW", model="scenario", scenarios=("cw",), measure=cloudwatch),
    Row(id="S-CI", model="scenario", scenarios=("ci",), measure=insights),
    Row(
        id="S-PITFALLS",
        model="scenario",
        scenarios=tuple(
            f"pitfall-{name}{cured}"
            for name in ("adaptive", "index", "on-demand", "batch", "metrics")
            for cured in ("", "-cured")
        ),
        measure=pitfalls,
    ),
    Row(id="S-DECIDE", model="scenario", scenarios=("decide", "decide-steady"), measure=decide),
    Row(id="S-COST", model="scenario", scenarios=("cost",), measure=costs),
)
MISSING: dict[str, str] = {}  # id → which mechanism is not there
