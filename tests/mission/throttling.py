"""Rows of the throttling machinery."""

from __future__ import annotations

import numpy as np

import sim
from mission.base import (
    READ,
    WRITE,
    Figure,
    Row,
    between,
    exactly,
    first_s,
    last_s,
    reasons,
    refused,
    run,
    served_per_s,
    throttled,
    throttled_of,
    yes,
)
from sim.names import Declined, Limit, SplitReason


def bucket() -> tuple[Figure, ...]:
    found = run("bucket")
    figures = []
    for dimension, ceiling in ((WRITE, 1000), (READ, 3000)):
        seconds, tokens, _ = found.table.lanes[dimension].level_of(Limit.KEY_RANGE, 0)
        level = dict(zip(seconds.tolist(), tokens.tolist(), strict=True))
        figures += [
            exactly(
                f"{dimension} units/s that pass where half more is asked",
                served_per_s(found, 110, 200, dimension=dimension),
                ceiling,
                "F-PART-1, the ceiling of a partition",
            ),
            exactly(
                f"{dimension} units in the bucket a second after the overload",
                level[201],
                ceiling / 2,
                "it fills at the ceiling and half of that is asked",
            ),
        ]
    limits = run("bucket-limits")
    failed = limits.traffic["one byte more"].failures
    puts = limits.traffic["largest item"].succeeded.sum()
    (split,) = limits.table.splits
    return (
        *figures,
        exactly(
            "first throttle, s", first_s(found), 102, "one second's worth, spent at half the ceiling from 100 s on"
        ),
        exactly(
            "write units of an item of 400 KB",
            limits.facts["largest item"].units_per_request["table"][WRITE],
            400,
            "F-UNIT-1",
        ),
        exactly("items of 400 KB written, of 900", puts, 900, "400 units fit into a bucket of 1,000"),
        exactly("items of 400 KB and a byte refused, of 900", sum(failed.values()), 900, "F-UNIT-17"),
        yes("split for size", split.reason is SplitReason.SIZE, "F-PART-10"),
        between(
            "second at which the split for size was decided",
            split.decided_s,
            335,
            335 + 60,
            "10 × 1024³ - 10,600,000,000 B of room, 409,600 B a second: 335 s; size is looked at once a minute",
        ),
    )


def divide() -> tuple[Figure, ...]:
    static, instant = run("divide"), run("divide-instant")
    part = 100 / 3
    return (
        exactly(
            "read units/s of the hot partition, divided",
            served_per_s(static, 60, 600, dimension=READ) - 20,
            part,
            "100 / 3; the other two ask for 10 each and get it",
            within=0.05,
        ),
        exactly(
            "of its reads throttled, %",
            throttled_of(static, "hot"),
            100 * (80 - part) / 80,
            "(80 - 33.3) / 80",
            within=0.2,
        ),
        exactly(
            "of the other reads throttled, %",
            throttled_of(static, "cool") + throttled_of(static, "cold"),
            0,
            "10 of 33 are asked",
        ),
        exactly(
            "of the table's 100 read units used, divided",
            served_per_s(static, 60, 600, dimension=READ),
            part + 20,
            "33.3 + 10 + 10",
            within=0.05,
        ),
        exactly("throttled with one bucket for the table, %", throttled(instant), 0, "100 of 100 are asked: F-ADM-7"),
    )


def burst() -> tuple[Figure, ...]:
    found, ceiling = run("burst"), run("burst-ceiling")
    empty = run("burst", {"table.burst_at_start": 0})
    left = ceiling.table.lanes[WRITE].level_of(Limit.PROVISIONED)[1][-1]
    return (
        exactly("first throttle, s", first_s(found), 900, "300 s × 150 = 45,000 units, spent at 200 - 150"),
        exactly("refused afterwards, %", refused(found, 910, 1800), 25, "50 of 200", within=0.1),
        exactly(
            "first throttle without credit, s",
            first_s(empty),
            3,
            "one second's worth: 150 units at 50 a second",
        ),
        exactly(
            "write units/s that pass a partition with credit left",
            served_per_s(ceiling, 2, 300),
            1000,
            "F-ADM-3: burst never lifts the ceiling",
        ),
        exactly(
            "credit left at the end, units",
            float(left),
            300 * 800 - 299 * 200 - 1200,
            "1,000 a second of which 800 come back, and 2,000 in the first second",
        ),
        yes(
            "the reason is the key range",
            reasons(ceiling) == {("table", "TableWriteKeyRangeThroughputExceeded")},
            "F-ERR-2",
        ),
    )


def adapt() -> tuple[Figure, ...]:
    static, old, today, ceiling = (run(name) for name in ("adapt-static", "adapt-2017", "adapt", "adapt-ceiling"))
    return (
        exactly(
            "hot partition throttled until 2017, %", throttled_of(static, "hot"), 100 / 3, "100 of 150", within=0.1
        ),
        exactly(
            "refused in minutes 1 to 5 in 2017, %",
            refused(old, 60, 300),
            100 * 50 / 300,
            "as if it were divided: F-ADM-6, a lag of 5 minutes and more",
            within=0.1,
        ),
        exactly("refused in minutes 20 to 30 in 2017, %", refused(old, 1200, 1800), 0, "the boost is there"),
        exactly("throttled today, %", throttled(today), 0, "F-ADM-7: 300 of 400"),
        exactly(
            "write units/s of a hot partition asked for 1,500",
            served_per_s(ceiling, 10, 300) - 1500,
            1000,
            "F-PART-1; the other three ask for 500 each",
        ),
    )


def split() -> tuple[Figure, ...]:
    found = run("split")
    first = found.table.splits[0]
    room = dict(found.table.lanes[WRITE].capacity)
    return (
        exactly("refused before, %", refused(found, 60, 480), 100 * 900 / 1900, "1,000 of 1,900", within=0.1),
        exactly(
            "halves serve from, s",
            first.at_s,
            480,
            "5 min over 85 % and 3 min of work; measured elsewhere 8 min, 2 to 15 plausible: F-PART-12",
        ),
        exactly("write units/s of room after it", room[480.0], 2000, "twice the ceiling: F-PART-12"),
        exactly("refused afterwards, %", refused(found, 485, 1200), 0, "1,900 of 2,000, cut where the load divides"),
    )


def no_help() -> tuple[Figure, ...]:
    item, sequence, few, local = (run(f"no-help-{name}") for name in ("one-item", "sequence", "few-keys", "lsi"))
    # A run's last ten minutes: long after everything that could help.
    late = (1200, 1800)
    sharded = run(
        "no-help-one-item",
        {"fields.user": '{ kind = "uniform", count = 1_000_000 }', "table.pk": '"COUNTER#{user}"', "duration": '"30m"'},
    )
    spread = run("no-help-sequence", {"fields.event": '{ kind = "uniform", count = 10_000 }'})
    many = run("no-help-few-keys", {"fields.region": '{ kind = "uniform", count = 100_000 }'})
    without = run("no-help-lsi", {"table.lsi": "[]"})
    law = (
        "balance of 1,000 a second and the noise of arrivals over 10 min: 4 × sqrt(1,500 × 600) / (1,500 × 600) = 0.4 %"
    )
    return (
        exactly("one item, refused in its last 10 min, %", refused(item, 3000, 3600), 100 / 3, law, within=0.4),
        exactly("and over a million items, %", refused(sharded, *late), 0, "375 a second in each of four partitions"),
        exactly(
            "ever-increasing sort key, refused after 20 min, %", refused(sequence, *late), 100 / 3, law, within=0.4
        ),
        exactly(
            "and with sort keys in any order, %", refused(spread, *late), 0, "split inside the collection: F-PART-14"
        ),
        exactly(
            "three keys, served in all, units/s", served_per_s(few, *late), 3000, "1,000 each: F-PART-13", within=3
        ),
        exactly("and 100,000 keys, refused, %", refused(many, *late), 0, "6,000 over 16 partitions"),
        exactly(
            "under a local index, puts/s that pass", served_per_s(local, *late) / 2, 500, "1,000 at 2 units", within=1
        ),
        exactly(
            "and without the index, refused, %", refused(without, *late), 0, "split inside the collection: F-PART-14"
        ),
        yes(
            "each declined split says why",
            [{one.why for one in found.table.declined} for found in (item, sequence, few, local)]
            == [{Declined.SINGLE_ITEM}, {Declined.MOVING_SORT_KEY}, {Declined.SINGLE_ITEM}, {Declined.LOCAL_INDEX}],
            "F-PART-13",
        ),
    )


def new_table() -> tuple[Figure, ...]:
    found = run("od-start")
    return (
        exactly("partitions", found.table.initial_partitions, 4, "F-PART-4"),
        exactly("refused at 90 %, %", refused(found, 0, 180) + refused(found, 0, 180, dimension=READ), 0, "F-OD-1"),
        exactly("write units/s of 6,000", served_per_s(found, 185, 360), 4000, "F-OD-1: 4 × 1,000"),
        exactly("read units/s of 18,000", served_per_s(found, 185, 360, dimension=READ), 12_000, "F-OD-1: 4 × 3,000"),
    )


# In half an hour: 6.67 k a minute over 100 k from 7:30 to 18:00, less a second's worth of 100 k, and 6.2 that three splits for heat give.
FIRST_GAP = 6.667 * 10.5**2 / 2 - 1.67 - 6.2  # thousand-minutes


def ramp(minutes: int) -> float:
    return throttled(run("od-ramp", {"duration": f'"{minutes}m"', "traffic[0].rate.over": f'"{minutes}m"'}))


def sale_lost(halved: int) -> tuple[float, float]:
    """Of the flash sale: % of all that is asked which is refused, and minutes until nothing is.

    One partition more every 3 min (one split for heat at a time, `split_delay_s` = 180), from 13:00 on, as four partitions at 0.9 of their
    ceiling were hot from 5:00 on. At 25:00 the 4,000 of 10:00 have been held for `peak_sustained_s` = 900, so that at 28:00 there is
    room for twice of them: of the seven eighths of the keys that heat has made by then, some are halved. At 46:00 the double of what is
    served from 28:00 on is there, at least 20,000.

    Parameters
    ----------
    halved : how many of the seven: those whose part of 8,000 is over 1,000, which the keys decide.
    """
    lost = 0.0
    for step in range(1, 13):  # of 3 min from 10:00 on
        served = 3000 + 1000 * step + (1000 * halved if step >= 7 else 0)
        lost += max(0, 20_000 - served) * 180
    asked = 1800 * 300 + 3600 * 300 + 20_000 * 3000
    enough = next((n for n in range(7, 13) if 3000 + 1000 * n + 1000 * halved >= 20_000), 13)
    return 100 * lost / asked, 3.0 * (enough - 1)


def lost_by_sale() -> tuple[float, float]:
    """Least and most that the flash sale loses, %."""
    return sale_lost(7)[0], sale_lost(0)[0]


SALE = (
    "a partition more each 3 min (split_delay_s), at 28:00 (peak_sustained_s + split_delay_s) none to seven more, at 46:00 all: "
    "calibration's defaults"
)


def twice_the_peak() -> tuple[Figure, ...]:
    sale = run("flash-sale")
    counts = [count for _, count in sale.table.partition_counts]
    served = [served_per_s(sale, 600 + 180 * k, 780 + 180 * k) for k in range(6)]
    noise = "arrivals are random: four standard deviations of a partition's minute are 4 × sqrt(900 × 60) / 60 = 15 a second"
    return (
        exactly("refused up to 0.9 × the previous peak, %", refused(sale, 0, 300), 0, "F-OD-2; " + noise),
        between(
            "refused at 1.8 × the peak, %", refused(sale, 300, 600), 0, 0.01, "F-OD-2: 2 × the peak at once; " + noise
        ),
        exactly(
            "served in the first 3 min of 10 × the peak, units/s",
            served[0],
            4000 + 2000 / 180,
            "4 partitions, and the second's worth that lay in their buckets, or none of it",
            within=2000 / 180,
        ),
        *(
            exactly(
                f"and in the {order} 3 min",
                served[k],
                4000 + 1000 * k,
                "a partition more each 3 min (split_delay_s), and the second's worth in its bucket",
                within=1000 / 180,
            )
            for k, order in ((1, "second"), (3, "fourth"), (5, "sixth"))
        ),
        between("throttled of the whole sale, %", throttled(sale), *lost_by_sale(), SALE),
        between("minutes until nothing is refused", (last_s(sale) - 600) / 60, sale_lost(7)[1], sale_lost(0)[1], SALE),
        yes("partitions grow and never merge", counts == sorted(counts), "F-PART-7"),
        exactly(
            "50,000 to 250,000 in 10 min, throttled, %",
            ramp(10),
            100 * (562.5 - 2 - 1.67) / 1500,
            "of 1,500 thousand-minutes those over 100: 20 a min × 7.5² / 2 = 562.5, less a second's worth of 100, and a split at 8:00",
            within=0.02,
        ),
        between(
            "in 30 min, %",
            ramp(30),
            100 * (FIRST_GAP + 20.8 - 3.3) / 4500,
            100 * (FIRST_GAP + 20.8 + 166.7) / 4500,
            "100 k until 18:00 and 200 k until 25:00 (peak_sustained_s, split_delay_s): 8.4 %; then up to 3.8 % if none is halved",
        ),
        exactly(
            "in 1 h, %",
            throttled(run("od-ramp")),
            100 * (15 - 1.67) / 9000,
            "from 100 k at 15:00 to 110 k at 18:00, when its partitions double, less a second's worth; uneven keys lose a little more",
            within=0.01,
        ),
    )


def quota() -> tuple[Figure, ...]:
    found = run("od-quota")
    return (
        exactly("write units/s of 50,000", served_per_s(found, 10, 600), 40_000, "F-OD-6"),
        exactly("throttled, %", refused(found, 10, 600), 20, "10,000 of 50,000", within=0.01),
        yes("by the quota alone", reasons(found) == {("table", "TableWriteAccountLimitExceeded")}, "F-ERR-2"),
        exactly(
            "throttled at 39,000/s, %",
            throttled(run("od-quota", {"traffic[0].rate": 39_000})),
            0,
            "under quota and 60 partitions",
        ),
    )


def warm() -> tuple[Figure, ...]:
    cold, warmed = run("flash-sale"), run("flash-sale-warm")
    bought = float(warmed.bill.once)
    return (
        between("the sale without, throttled, %", throttled(cold), *lost_by_sale(), SALE),
        exactly("pre-warmed, throttled, %", throttled(warmed), 0, "20,000 of 25,000 (F-WARM-1)"),
        exactly("partitions it begins with", warmed.table.initial_partitions, 25, "F-WARM-4: 25,000 / 1,000"),
        exactly(
            "paid once, $",
            bought,
            21_000 * 0.00065,
            "F-PRICE-15: what is more than the 4,000 of a new table",
            within=1e-9,
        ),
    )


def index() -> tuple[Figure, ...]:
    small, matched = run("gsi"), run("gsi-matched")
    return (
        exactly("first throttle, s", first_s(small), 75, "300 × 12 = 3,600 units, spent at 60 - 12"),
        exactly("writes/s that pass afterwards", served_per_s(small, 120, 900), 12, "F-GSI-5", within=0.05),
        exactly(
            "of the table's own 100 write units used, %",
            served_per_s(small, 120, 900),
            12,
            "what is refused takes nothing from the table",
            within=0.05,
        ),
        yes(
            "the reason names the index",
            reasons(small) == {("index/by-email", "IndexWriteProvisionedThroughputExceeded")},
            "F-GSI-6",
        ),
        exactly("throttled with an index of 100, %", throttled(matched), 0, "60 of 100"),
    )


def steps(result: sim.Result) -> list[tuple[float, float]]:
    return result.table.lanes[WRITE].capacity[1:]


def auto_scaling() -> tuple[Figure, ...]:
    jump, spike, schedule = run("as-jump"), run("as-spike"), run("as-schedule")
    alone = run("as-schedule", {"table.autoscaling.write.schedule": "[]"})
    (first, aim), (second, _) = steps(jump)[:2]
    saved = 50 + 600 * 20  # a second's worth at the start, and 20 of 50 a second for ten minutes
    consumed = (saved + 120 * 50) / 120
    (up, _), (down, _) = steps(spike)
    opens_s = 7500
    # Unit-seconds: 50 and 15 before, 430 after the step, and without it what each step is, 5 min apart; one read unit costs a fifth.
    quiet = 50 * 1050 + 15 * (7230 - 1050) + 15 * (64_800 - 58_350)
    with_it = quiet + 430 * (58_350 - 7230) + 64_800 / 5
    climb = 15 * (7770 - 7230) + 300 * (75 + 108 + 155 + 222 + 318)
    without = quiet + climb + 429 * (58_350 - 9270) + 64_800 / 5
    return (
        exactly(
            "a jump at 10:00, first change after, s",
            first - 600,
            270,
            "2 min + 60 s + 60 s + 30 s: F-AS-1, F-AS-5, F-PROV-3",
        ),
        exactly(
            "first aim, units/s, for a load of 300",
            aim,
            np.ceil(consumed / 0.7),
            "F-AS-8, F-AS-10: two minutes consumed the credit and 50 a second, over the target",
        ),
        exactly(
            "throttled until, s after the jump", last_s(jump) + 1 - 600, second - 600, "308 units/s are enough for 300"
        ),
        exactly("a spike's end to the change, s", up - 240, 150, "60 s + 60 s + 30 s: over before it was seen"),
        exactly("throttled to the spike's last second", last_s(spike), 239, "no help came"),
        exactly(
            "capacity kept up after a spike, min",
            (down - up) / 60,
            18,
            "15 quiet minutes below 50 % of 101 from 7:00 on, 2.5 min to act, and the half minute before: F-AS-2",
        ),
        exactly("throttled with the 8:00 step, %", throttled(schedule), 0, "430 × 0.7 = 301 before the shop opens"),
        exactly("30 s after 8:00 the step is there, units/s", dict(steps(schedule))[7230.0], 430, "F-AS-12, F-PROV-3"),
        yes(
            "after 22:00 it scales in again",
            steps(schedule)[-1][0] > 57_600 and steps(schedule)[-1][1] < 430,
            "the bounds of 22:00 allow it, 15 quiet minutes do it",
        ),
        exactly(
            "without a schedule, throttled from 8:05 for, min",
            (last_s(alone) + 1 - opens_s) / 60,
            (270 + 4 * 300) / 60,
            "75, 108, 155, 222, 318: four steps of 5 min after the first of 4.5, as each is 1/0.7 of what was full",
        ),
        exactly(
            "bill of the schedule over that without",
            float(schedule.bill.table / alone.bill.table),
            with_it / without,
            "what was provisioned, over time: 430 from 8:00:30, against five steps until 429 at 8:34:30; one read unit",
            within=1e-6,
        ),
    )


ROWS: tuple[Row, ...] = (
    Row(id="S-BUCKET", model="scenario", scenarios=("bucket", "bucket-limits"), measure=bucket),
    Row(id="S-DIVIDE", model="scenario", scenarios=("divide", "divide-instant"), measure=divide),
    Row(id="S-BURST", model="scenario", scenarios=("burst", "burst-ceiling"), measure=burst),
    Row(
        id="S-ADAPT",
        model="scenario",
        scenarios=("adapt", "adapt-2017", "adapt-static", "adapt-ceiling"),
        measure=adapt,
    ),
    Row(id="S-SPLIT", model="scenario", scenarios=("split",), measure=split),
    Row(
        id="S-NOHELP",
        model="scenario",
        scenarios=("no-help-one-item", "no-help-sequence", "no-help-few-keys", "no-help-lsi"),
        measure=no_help,
    ),
    Row(id="S-OD-START", model="scenario", scenarios=("od-start",), measure=new_table),
    Row(id="S-OD-2X", model="scenario", scenarios=("flash-sale", "od-ramp"), measure=twice_the_peak),
    Row(id="S-OD-QUOTA", model="scenario", scenarios=("od-quota",), measure=quota),
    Row(id="S-WARM", model="scenario", scenarios=("flash-sale-warm", "flash-sale"), measure=warm),
    Row(id="S-GSI", model="scenario", scenarios=("gsi", "gsi-matched"), measure=index),
    Row(id="S-AS", model="scenario", scenarios=("as-jump", "as-spike", "as-schedule"), measure=auto_scaling),
)
MISSING: dict[str, str] = {}  # id → which mechanism is not there
