"""Rows of pagination."""

from __future__ import annotations

import math

from mission.base import READ, WRITE, Figure, Row, between, exactly, run, throttled, throttled_of

from sim.pages import Walk, percentile


def page() -> tuple[Figure, ...]:
    one, whole = run("page").query_facts("open orders"), run("page-whole").query_facts("scan")
    all_pass = run("page-whole", {"traffic[0].filter_pass": 1}).query_facts("scan")
    assert one is not None
    assert whole is not None
    assert all_pass is not None
    first = run("page-whole", {"traffic[0].pages": 1})
    requests = float(run("page").traffic["open orders"].succeeded.sum())
    empty = 0.85**20
    return (
        exactly("ScannedCount of a page with Limit 20", one.scanned, 20, "F-UNIT-10: Limit counts what is read"),
        exactly(
            "Count of it",
            one.returned,
            3,
            "20 × 0.15, within four standard errors",
            within=4 * math.sqrt(20 * 0.15 * 0.85 / requests),
        ),
        exactly(
            "empty pages, %",
            100 * one.empty_pages,
            100 * empty,
            "0.85^20: none of twenty matches",
            within=400 * math.sqrt(empty / requests),
        ),
        exactly(
            "read units of it",
            run("page").facts["open orders"].units_per_request["table"][READ],
            1,
            "8,000 B: F-UNIT-6",
        ),
        exactly("read units of it that the filter threw away", one.filtered_units, 0.85, "17 of 20 items", within=0.01),
        exactly(
            "pages of a scan of 5 MB",
            whole.pages_per_request,
            5,
            "a page ends with the item that crosses 1 MB: 1,007 of 5,000",
        ),
        exactly(
            "read units of a full page",
            first.facts["scan"].units_per_request["table"][READ],
            128.5,
            "1,007 × 1,042 B are 257 × 4 KB, halved: F-UNIT-7",
        ),
        exactly(
            "read units of all pages, one item in 500 returned", float(whole.units_p50 or 0), 638, "4 × 128.5 + 124"
        ),
        exactly(
            "and all of them returned", float(all_pass.units_p50 or 0), 638, "F-UNIT-10: the filter changes no units"
        ),
    )


def fill() -> tuple[Figure, ...]:
    figures = []
    for pattern, passing in (("a third matches", 0.3333), ("one of twenty matches", 0.05)):
        rounds, rows = rounds_by_enumeration(passing)
        found = run("fill", {"level": '"request"'}).query_facts(pattern)
        assert found is not None
        law = Walk(items=10_000, item_bytes=400, filter_pass=passing, until=20, pages=5, over_fetch=3).law
        figures += [
            exactly(
                f"rounds where {pattern}",
                found.pages_per_request,
                rounds,
                "the binomial law, state by state",
                within=0.05 * rounds,
            ),
            exactly("items read", found.scanned, rows, "the same", within=0.05 * rows),
            exactly("items returned", found.returned, rows * passing, "the same", within=0.05 * rows * passing),
            exactly(
                "read units, p50",
                float(found.units_p50 or 0),
                percentile(law.units, 0.5),
                "400 B an item, each round rounded up and halved",
                within=0.5,
            ),
            exactly(
                "read units, p99", float(found.units_p99 or 0), percentile(law.units, 0.99), "the same law", within=0.5
            ),
        ]
    return (
        *figures,
        exactly(
            "read units of a page of 20 matches",
            1.0,
            Walk(items=20, item_bytes=400).law.mean_units,
            "8,000 B, halved: what a key that needs no filter costs",
        ),
    )


def rounds_by_enumeration(passing: float) -> tuple[float, float]:
    """Rounds and items read: what is missing after each round."""
    missing = {20: 1.0}
    rounds = read = 0.0
    for _ in range(5):
        after: dict[int, float] = {}
        for short, chance in missing.items():
            rounds += chance
            read += chance * 3 * short
            for hits in range(short):
                p = math.comb(3 * short, hits) * passing**hits * (1 - passing) ** (3 * short - hits)
                after[short - hits] = after.get(short - hits, 0.0) + chance * p
        missing = after
    return rounds, read


def count() -> tuple[Figure, ...]:
    select, transaction, stream = (run(f"count-{name}") for name in ("select", "transaction", "stream"))
    total = select.query_facts("total")
    assert total is not None
    known = transaction.scenario.calibration
    low, high = known.latency_transaction_ms_p50, known.latency_transaction_ms_p99
    sigma = math.log(high / low) / 2.3263478740408408
    busy = 100 * low / 1000 * math.exp(sigma**2 / 2)
    puts = float(transaction.traffic["orders"].offered.sum())
    per_page = 1024 * 1024 // 400 + 1
    return (
        exactly(
            "Select COUNT of 50,000 items, pages", total.pages_per_request, math.ceil(50_000 / per_page), "F-UNIT-10"
        ),
        exactly(
            "read units", float(total.units_p50 or 0), 20e6 / 4096 / 2, "20 MB, rounded up page by page", within=10
        ),
        exactly("a counter item, read units", stream.facts["total"].units_per_request["table"][READ], 0.5, "F-UNIT-4"),
        exactly(
            "counted in the transaction, of 100 a second cancelled, %",
            100 * transaction.failed / puts,
            100 * busy / (1 + busy),
            "Erlang's loss of one server that is busy 9 ms at a time (F-LAT-4, inferred; F-TX-2)",
            within=400 * 0.5 / math.sqrt(puts),
        ),
        exactly(
            "write units of it",
            transaction.facts["orders"].units_per_request["table"][WRITE],
            4,
            "two items × 2: F-TX-1",
        ),
        exactly(
            "counted from the stream, of 800 a second throttled, %", throttled(stream), 0, "8 counter writes a second"
        ),
        exactly(
            "writes of the counter for a hundred puts",
            100 * float(stream.traffic["counter"].offered.sum() / stream.traffic["orders"].offered.sum()),
            1,
            "one for a hundred records",
            within=0.2,
        ),
        between(
            "counted with an update of one item for each put, throttled of 1,500, %",
            throttled_of(run("no-help-one-item"), "bumps"),
            33,
            34,
            "what the hot counter item does: row S-NOHELP",
        ),
    )


ROWS: tuple[Row, ...] = (
    Row(id="S-PAGE", model="scenario", scenarios=("page", "page-whole"), measure=page),
    Row(id="S-FILL", model="scenario", scenarios=("fill",), measure=fill),
    Row(
        id="S-COUNT",
        model="scenario",
        scenarios=("count-select", "count-transaction", "count-stream", "no-help-one-item"),
        measure=count,
        lacks="DescribeTable's count, which is free and hours old, and a search replica: nothing of either reaches a table's capacity",
    ),
)
# id → which mechanism is not there
MISSING: dict[str, str] = {
    "S-CURSOR": "signed, scoped, expiring cursors and the rotation of their secrets: `cursor` of a Query is reserved and refused",
}
