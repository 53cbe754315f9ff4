"""Rows of clients."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from statistics import NormalDist
from typing import TypedDict

import numpy as np
from reference.guide_prices import GUIDE

import sim
from mission.base import (
    READ,
    WRITE,
    Figure,
    Row,
    between,
    exactly,
    per_request,
    run,
)
from sim.names import Limit, TableClass
from sim.results.breakeven import dax_break_even_per_s
from sim.results.prices import PriceSheet, load_sheet, parse_sheet

STANDARD = TableClass.STANDARD


class Bounds(TypedDict):
    """A figure without its words."""

    value: float
    right: float
    within: float


def legacy_law(overload: float, attempts: int) -> tuple[float, float]:
    """Attempts of a request where a table at its limit serves 1/overload of them: mean and deviation. Each has the same chance."""
    chance = 1 - (1 - 1 / overload) ** (1 / attempts)
    mean = 1 / overload / chance
    squares = sum((2 * n - 1) * (1 - chance) ** (n - 1) for n in range(1, attempts + 1))
    return mean, math.sqrt(squares - mean**2)


def quota_law(overload: float) -> tuple[float, float]:
    """Attempts a request where the retry quota is empty, and their deviation.

    Each retry costs 5, a success at once gives 1, one at a retry 5. The deviation is that of how many retries succeed, each of which
    pays four fifths of a retry more than a success at once does.
    """
    chance = 1 / overload
    for _ in range(100):  # p + 5 r p = 5 r, and p (1 + r) = 1 / overload
        retries = chance / (5 * (1 - chance))
        chance = 1 / overload / (1 + retries)
    return 1 + retries, 4 / 5 * math.sqrt(retries * chance * (1 - chance))


def sigma_of(median: float, p99: float) -> float:
    """Deviation of the logarithm of a lognormal law."""
    return math.log(p99 / median) / NormalDist().inv_cdf(0.99)


def attempts_per_request(result: sim.Result, minutes: slice, law: Callable[[float], tuple[float, float]]) -> Bounds:
    """Attempts a request within some minutes, what a law says of the overload that came, and four standard errors of it."""
    record = result.traffic["orders"]
    came = float(record.offered[minutes].sum())
    mean, deviation = law(came / (50 * 60 * len(record.offered[minutes])))
    return {
        "value": float(record.attempts[minutes].sum()) / came,
        "right": mean,
        "within": 4 * deviation / math.sqrt(came),
    }


def cubics(result: sim.Result) -> tuple[float, float]:
    """Mean time between throttles of an adaptive client whose table gives 50 a second: as it was, and by the cubic (F-RETRY-6).

    After a throttle the client sends w + 0.4 (t - k)^3 a second, k = (0.3 w / 0.4)^(1/3), w being what it measured by then: answers of each
    half second, the newest with a weight of 0.8. The table's bucket is empty at both ends, so that the next throttle is the first attempt
    more than 50 t. The first three come before the rate is measured.
    """
    log = result.log()
    measured, w_per_s = [0.0], 0.0
    for answers in np.bincount((log.time_s // 0.5).astype(int)):
        w_per_s = 0.8 * answers / 0.5 + 0.2 * w_per_s
        measured.append(w_per_s)
    at_s = log.time_s[log.outcome == "throttled"].to_numpy()[3:]
    expected = []
    for w_per_s in (measured[int(second // 0.5)] for second in at_s[:-1]):
        k_s = (0.3 * w_per_s / 0.4) ** (1 / 3)
        times_s = np.arange(k_s, 3 * k_s, 1e-3)
        over = (w_per_s - 50) * times_s + 0.1 * ((times_s - k_s) ** 4 - k_s**4)
        expected.append(times_s[np.argmax(over >= 1)])
    return float(np.diff(at_s).mean()), float(np.mean(expected))


def longest_s(result: sim.Result, pattern: str) -> float:
    latency = result.traffic[pattern].latency
    assert latency is not None
    return latency.most_s


def served_of(what: str, result: sim.Result, held: float, why: str) -> tuple[Figure, ...]:
    """What a table at its limit served, against all it had to give: a second's worth and 50 units a second for three minutes.

    Parameters
    ----------
    held : units that may lie in the bucket at the end.
    """
    had = 50 * 180 + 50
    left = float(result.table.lanes[WRITE].level_of(Limit.PROVISIONED)[1][-1])
    consumed = float(result.table.lanes[WRITE].consumed_units.sum())
    under_way = 3  # answers of ten milliseconds and more, at 50 a second
    return (
        exactly(f"units given and left with {what}", consumed + left, had, "50 at the start and 50 a second for 180 s"),
        between(
            f"requests served with {what}",
            result.succeeded,
            had - held - under_way,
            had,
            f"9,050 less what is left in the bucket, at most {held:.0f} ({why}), and up to {under_way} whose answer is on its way",
        ),
    )


def retries() -> tuple[Figure, ...]:
    legacy, standard, adaptive = (run(f"retry-{name}") for name in ("legacy", "standard", "adaptive"))
    before = run("retry-standard", {"traffic[0].client.retry": '"standard-2025"'})
    plain = run("retry-legacy", {"traffic[0].client.retry": '"none"'})
    steady = slice(1, 3)  # minutes: after the first surrender
    # A cubic that starts at 0.7 of 50 a second is back after k seconds, has left 0.1 k^4 units by then, and spends them in k seconds more.
    k_s = (0.3 * 50 / 0.4) ** (1 / 3)
    spared = 0.1 * k_s**4
    dry = "a unit, and 50 a second for as long as nobody asks: over 0.1 s in one of e^10 gaps"
    return (
        exactly(
            "legacy: attempts a request at an overload of 2",
            **attempts_per_request(legacy, steady, lambda overload: legacy_law(overload, 10)),
            why="half of the requests pass in 10 attempts of one chance s: 1 - (1 - s)^10 = 1/2, so 1/2/s each; four standard errors",
        ),
        between(
            "legacy: s until the error",
            longest_s(legacy, "orders"),
            25.55,
            25.75,
            "F-RETRY-1: 25.55 s of waiting and ten answers",
        ),
        exactly(
            "since November 2026: attempts a request",
            **attempts_per_request(standard, steady, quota_law),
            why="F-RETRY-3, F-RETRY-4: p + 5 r p = 5 r at an empty quota; four deviations of how many retries succeed",
        ),
        exactly(
            "standard before: attempts a request",
            **attempts_per_request(before, steady, quota_law),
            why="F-RETRY-2: three attempts, the same quota and cost",
        ),
        between(
            "since November 2026: s until the error, at most",
            longest_s(standard, "orders"),
            3,
            7.2,
            "F-RETRY-10: up to 1 + 2 + 4 s",
        ),
        exactly(
            "adaptive: s from a throttle to the next, mean",
            *cubics(sim.run(adaptive.scenario, log=True)),
            why="F-RETRY-6: w + 0.4 (t - k)^3 a second until one more than 50 t is asked, w the rate measured; within a unit at w - 50 = 4",
            within=1 / 4,
        ),
        exactly("adaptive: requests failed", adaptive.failed, 0, "each waits for its token"),
        exactly(
            "adaptive: waiting at the end, % of all requests",
            100 * adaptive.in_flight / adaptive.offered,
            100 * (1 - (9050 - spared) / 18_000),
            "18,000 less 9,050, and what a cubic leaves; four deviations of how many come",
            within=400 * 0.5 / math.sqrt(18_000),
        ),
        *served_of("legacy", legacy, 6, dry),
        *served_of("standard", standard, 6, dry),
        *served_of("none", plain, 6, dry),
        *served_of("adaptive", adaptive, spared + 1, "0.1 k^4 of a cubic, k = 3.3 s"),
    )


def batches() -> tuple[Figure, ...]:
    lost, resent = run("batch"), run("batch-resent")
    # The last of 120 batches of a wave comes 119/120 s after the first.
    in_a_wave = 3000 - math.floor(1000 + 1000 * 119 / 120)
    again = resent.traffic["import"]
    return (
        exactly(
            "of 18,000 items lost where nobody resends", lost.traffic["import"].unprocessed, 6 * in_a_wave, "F-UNIT-19"
        ),
        exactly("requests that failed", lost.failed, 0, "F-UNIT-19: status 200, and no exception"),
        exactly(
            "of them lost with five resends",
            again.unprocessed + resent.failed,
            0,
            "1,000 a second of room, 3.1 s of waiting",
        ),
        exactly(
            "write units consumed with resends",
            float(resent.table.lanes[WRITE].consumed_units.sum()),
            18_000,
            "each item is charged once",
        ),
        between(
            "s until the last item of a batch is written",
            longest_s(resent, "import"),
            1,
            3.1 * 1.2 + 0.1,
            "1,000 items more than a second's room; at most 100 ms × (1 + 2 + 4 + 8 + 16) and a fifth",
        ),
    )


def breaker() -> tuple[Figure, ...]:
    with_it, without = run("breaker"), run("breaker-none")
    # 6,200 units saved by 1:00, of which 900 a second are spent; then each request is tried at these times after it came, until 3:00.
    dry_s = 120 - (200 + 60 * 100) / 900
    tries_s = [0.05 * (2**n - 1) for n in range(10)]
    storm = 10 * sum(dry_s - at_s for at_s in tries_s)
    record = with_it.traffic["shop"]
    served = np.flatnonzero(record.succeeded[36:])[0]  # periods of 5 s after 3:00
    return (
        exactly(
            "attempts in vain without a breaker",
            float(without.traffic["shop"].throttled.sum()),
            storm,
            "ten for each request; the queue of retries outlives the job a little",
            within=0.03 * storm,
        ),
        between("s until the error without", longest_s(without, "shop"), 25.55, 25.75, "F-RETRY-1"),
        exactly(
            "attempts in vain with one",
            float(record.throttled.sum()),
            5 + 3,
            "five open it, then one probe in 30 s: 113 s are three",
        ),
        exactly(
            "s after the job until it serves again, in steps of 5",
            5 * float(served),
            5,
            "open from 1:07.4, so the fourth probe goes out at 3:07.4, and finds room; never more than 30",
        ),
    )


def limiter() -> tuple[Figure, ...]:
    limited, unlimited = run("limiter"), run("limiter-none")
    three = run("limiter", {"traffic[0].clients": 3})
    wait = limited.traffic["orders"].limiter_wait
    assert wait is not None
    # The queue grows by 70 a second for 120 s, less a second's worth, and goes 80 a second: waits rise by 70/80 s a second while 150 come,
    # and fall by 30/80 while 50 do.
    longest = (70 * 120 - 80) / 80
    per_second_of_wait = 150 / (70 / 80) + 50 / (30 / 80)
    return (
        exactly(
            "writes throttled without a limiter",
            unlimited.throttled,
            4400,
            "50 × 120 more than provisioned, less 100 and 30 × 50 saved",
        ),
        exactly(
            "throttled with 80 of 100",
            limited.throttled,
            0,
            "80 a second and a second's worth: never more than there is",
        ),
        exactly("longest wait, s", wait.most_s, longest, "(70 × 120 - 80) / 80", within=0.2),
        exactly(
            "wait of the slowest hundredth, s",
            wait.percentile_s(0.99) or 0.0,
            longest - 420 / per_second_of_wait,
            "420 of 42,000 waited longer, at 305 requests for each second of wait",
            within=0.5,
        ),
        exactly(
            "throttled with three clients of 80 each",
            three.throttled,
            4400,
            "a limit has to be divided by the clients",
            within=50,
        ),
    )


def rates_of_products(nodes: int) -> np.ndarray:
    weights = 1 / np.arange(1, 20_001)
    return 5000 * weights / weights.sum() / nodes


def renewals(life_s: float) -> tuple[float, float, float]:
    """What 20,000 products at three nodes do in half an hour, drawn one by one: % of reads answered, % stale of them, and misses.

    A read that finds nothing fetches; from then on reads come at the same rate and are answered until the time to live is over, each of
    them stale if the product was written since, which happens once in 1,000 s.
    """
    end_s, written_per_s = 1800.0, 20 / 20_000
    rates = np.tile(rates_of_products(3), 3)
    draws = np.random.default_rng(1)
    at_s = draws.exponential(1 / rates)
    misses = hits = stale = 0.0
    while (at_s < end_s).any():
        here = at_s < end_s
        held_s = np.minimum(life_s, end_s - at_s[here])
        misses += float(here.sum())
        hits += float((rates[here] * held_s).sum())
        stale += float((rates[here] * (held_s + np.expm1(-written_per_s * held_s) / written_per_s)).sum())
        at_s = at_s + life_s + draws.exponential(1 / rates)
    return 100 * (1 - misses / (5000 * end_s)), 100 * stale / hits, misses


def hits_of(result: sim.Result) -> float:
    cache = result.recorder.dax
    assert cache is not None
    return 100 * cache.total("item_hits") / cache.total("item_reads")


def stale_of(result: sim.Result) -> float:
    cache = result.recorder.dax
    assert cache is not None
    return 100 * cache.total("stale_hits") / cache.total("item_hits")


def dax() -> tuple[Figure, ...]:
    by_life = {seconds: run("dax", {"dax.item_ttl": seconds}) for seconds in (3600, 300, 60)}
    usual = by_life[300]
    figures = []
    for life_s, found in by_life.items():
        hits, stale, misses = renewals(life_s)
        # Steps are a 32nd of the life, and 60 s at most. What is asked at once expires at once: the mean of the ends of the step in which
        # staleness drops is off by half of the drop at most, one step in 32. Where nothing expires it is the first step, of 30.
        step = -math.expm1(-life_s / 1000) / 64 if life_s < 1800 else -math.expm1(-60 / 1000) / 60
        figures += [
            exactly(
                f"answered by the cache, time to live {life_s} s, %",
                hits_of(found),
                hits,
                "renewals drawn apart: each product's first read, and the next one after each time to live; four deviations of misses",
                within=400 * math.sqrt(misses) / (5000 * 1800),
            ),
            exactly(
                f"stale of these, time to live {life_s} s, %",
                stale_of(found),
                stale,
                "the same renewals, written since then at 1 in 1,000 s; what an engine errs that looks at the ends of steps",
                within=100 * step,
            ),
        ]
    around = run("dax", {"dax.writes": '"through"'})
    hours = usual.scenario.duration / 3600
    offered = {name: float(record.offered.sum()) for name, record in usual.traffic.items()}
    asked = 0.5 * offered["pages"] + offered["checkout"]
    saved = (asked - float(usual.table.lanes[READ].consumed_units.sum())) * 0.125e-6 / hours
    saved_by_law = 5000 * 3600 * renewals(300)[0] / 100 * 0.5 * 0.125e-6
    guide, now = parse_sheet(GUIDE, source="guide.toml", name="guide"), load_sheet("us-east-1")
    at_95 = Decimal("0.95")

    def even(sheet: PriceSheet, units: str, hits: Decimal = at_95) -> float:
        return float(
            dax_break_even_per_s(
                sheet,
                STANDARD,
                node_type="dax.r5.large",
                nodes=3,
                hit_fraction=hits,
                units_per_read=Decimal(units),
            )
        )

    return (
        *figures,
        exactly("stale where writes go through it, %", stale_of(around), 0, "F-DAX-3"),
        exactly(
            "strongly consistent reads that it answers",
            float(usual.traffic["checkout"].offered.sum() - usual.traffic["checkout"].attempts.sum()),
            0,
            "F-DAX-2",
        ),
        exactly(
            "writes that it takes off the table",
            float(usual.traffic["prices"].offered.sum() - usual.table.lanes[WRITE].consumed_units.sum()),
            0,
            "F-DAX-3",
        ),
        exactly("three nodes, $ an hour", float(usual.bill.dax) / hours, 3 * 0.255, "F-PRICE-12"),
        exactly(
            "reads that they save at 5,000/s, $ an hour",
            saved,
            saved_by_law,
            "units asked less those consumed: 5,000 × 3,600 × 96.4 % × 0.5 × $0.125 a million; four deviations of 9 million reads",
            within=saved_by_law * 4 / math.sqrt(9e6),
        ),
        exactly(
            "break-even at list prices and 95 % hits, reads/s",
            even(now, "0.5"),
            3579,
            "0.765 / (3,600 × 0.125e-6 × 0.95 × 0.5)",
            within=0.5,
        ),
        exactly(
            "and at 80 % hits, reads/s",
            even(now, "0.5", Decimal("0.8")),
            3579 * 0.95 / 0.8,
            "the guide says not under 80 %: fewer hits only need more reads",
            within=1,
        ),
        exactly(
            "at the guide's prices and one unit a read",
            even(guide, "1"),
            1245,
            "0.66 / (3,600 × 0.155e-6 × 0.95)",
            within=0.5,
        ),
        exactly(
            "with its months of 730 h of nodes and 720 h of reads",
            even(guide, "1") * 730 / 720,
            1262,
            "the guide's 1,260",
            within=0.5,
        ),
        exactly(
            "at its prices and half a unit, as a cache serves",
            even(guide, "0.5"),
            2490,
            "twice as many: F-UNIT-2",
            within=0.5,
        ),
        exactly(
            "what a cluster costs × what it saves at 200/s",
            even(now, "0.5") / 200,
            17.9,
            "the guide's rule of 200/s pays with latency, not with money",
            within=0.05,
        ),
    )


def scan_or_query() -> tuple[Figure, ...]:
    scan, query = run("scan-query"), run("scan-query-index")
    latency = query.traffic["query"].latency
    assert latency is not None
    per_page = 1024 * 1024 // 200 + 1
    whole, rest = divmod(1_000_000, per_page)
    sizes = [per_page * 200] * whole + [rest * 200]
    # Lognormal latencies, and a part that grows with what is read (F-LAT-4, calibration latency_query_ms and latency_page_ms).
    known = scan.scenario.calibration
    sigma = sigma_of(known.latency_query_ms_p50, known.latency_query_ms_p99)
    mean_s = known.latency_query_ms_p50 / 1000 * math.exp(sigma**2 / 2)
    scan_s = 191 * mean_s + known.latency_page_ms / 1000 * sum(sizes) / 1024**2
    return (
        exactly(
            "pages of the scan",
            float(scan.traffic["scan"].attempts.sum()),
            math.ceil(1_000_000 / per_page),
            "a page ends with the item that crosses 1 MB",
        ),
        exactly(
            "read units of the scan",
            per_request(scan, READ, "scan"),
            sum(math.ceil(size / 4096) / 2 for size in sizes),
            "as consumed: 190 pages that cross 1 MB and the rest, each in 4 KB rounded up and halved (F-UNIT-7)",
        ),
        exactly(
            "s that it takes",
            longest_s(scan, "scan"),
            scan_s,
            "191 pages one after the other, 2.8 ms and 7.5 ms for a megabyte (F-LAT-4, inferred); four deviations of their sum",
            within=4 * mean_s * math.sqrt(191 * math.expm1(sigma**2)),
        ),
        exactly(
            "read units of the query",
            per_request(query, READ, "query"),
            0.5,
            "ten entries of 200 B: F-UNIT-21",
        ),
        between(
            "its time, ms, in 99 of 100",
            1000 * (latency.percentile_s(0.99) or 0),
            *(known.latency_query_ms_p50 * math.exp(sigma * NormalDist().inv_cdf(p)) for p in (0.968, 0.9987)),
            "the seventh longest of 628 is the 96.8th to the 99.87th percentile of latency_query_ms but once in 30,000 (F-LAT-4, inferred)",
        ),
        exactly(
            "write units that the index adds to a put",
            per_request(query, WRITE, "sign-up", resources=("index/by-company",)),
            1,
            "F-GSI-3",
        ),
    )


def batch_get() -> tuple[Figure, ...]:
    batches = 200
    batch, single = run("batchget", {"traffic[0].count": batches}), run("batchget-single")
    together, apart = batch.traffic["page"], single.traffic["item"]
    # Both have the latency of an eventually consistent read (F-LAT-4, calibration latency_read_eventual_ms), a batch as a whole.
    known = batch.scenario.calibration
    sigma = sigma_of(known.latency_read_eventual_ms_p50, known.latency_read_eventual_ms_p99)
    return (
        exactly(
            "read units of 100 items in a batch",
            per_request(batch, READ, "page"),
            50,
            "F-UNIT-5: each rounded up by itself, 100 × 0.5",
        ),
        exactly("and of 100 single reads", 100 * per_request(single, READ, "item"), 50, "100 × 0.5"),
        exactly("round trips of a batch", float(together.attempts.sum()) / batches, 1, "one request"),
        exactly("and of single reads", float(apart.attempts.sum()) / 20, 100, "one each"),
        exactly(
            "time of 100 single reads over that of a batch",
            100 * float(apart.finished_s or 0) / 2000 / (float(together.finished_s or 1) / batches),
            100,
            "the same law of times; four standard errors of the means of 2,000 and 200, which it scatters by 0.55 of the mean",
            within=400 * math.sqrt(math.expm1(sigma**2) * (1 / 2000 + 1 / batches)),
        ),
    )


ROWS: tuple[Row, ...] = (
    Row(
        id="S-RETRY", model="scenario", scenarios=("retry-legacy", "retry-standard", "retry-adaptive"), measure=retries
    ),
    Row(id="S-BATCH", model="scenario", scenarios=("batch", "batch-resent"), measure=batches),
    Row(id="S-BREAKER", model="scenario", scenarios=("breaker", "breaker-none"), measure=breaker),
    Row(id="S-LIMITER", model="scenario", scenarios=("limiter", "limiter-none"), measure=limiter),
    Row(id="S-DAX", model="scenario", scenarios=("dax",), measure=dax),
    Row(id="S-SCAN-QUERY", model="scenario", scenarios=("scan-query", "scan-query-index"), measure=scan_or_query),
    Row(id="S-BATCHGET", model="scenario", scenarios=("batchget", "batchget-single"), measure=batch_get),
)
MISSING: dict[str, str] = {}  # id → which mechanism is not there
