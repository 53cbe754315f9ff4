"""Rows of pagination."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mission.base import READ, WRITE, Figure, Row, between, exactly, per_request, run, throttled


def page() -> tuple[Figure, ...]:
    single = run("page")
    law = single.query_facts("open orders")
    assert law is not None
    assert not single.traffic["open orders"].walks.requests, "who asks for one page walks nowhere"
    # Who walks on is followed page by page: two pages of twenty each.
    walks = run("page", {"traffic[0].pages": 2}).traffic["open orders"].walks
    pages, empty = walks.pages, 0.85**20
    whole, first = run("page-whole"), run("page-whole", {"traffic[0].pages": 1})
    all_pass = run("page-whole", {"traffic[0].filter_pass": 1})
    return (
        exactly(
            "ScannedCount of a page with Limit 20", walks.scanned / pages, 20, "F-UNIT-10: Limit counts what is read"
        ),
        exactly(
            "Count of it",
            walks.returned / pages,
            3,
            "20 × 0.15, within four standard errors of the pages that were drawn",
            within=4 * math.sqrt(20 * 0.15 * 0.85 / pages),
        ),
        exactly(
            "empty pages, %",
            100 * walks.empty_pages / pages,
            100 * empty,
            "0.85^20: none of twenty matches; four standard errors",
            within=400 * math.sqrt(empty * (1 - empty) / pages),
        ),
        exactly("Count by the law that a query of one page has", law.returned, 3, "20 × 0.15", within=1e-9),
        exactly("empty pages by it, %", 100 * law.empty_pages, 100 * empty, "0.85^20", within=1e-9),
        exactly(
            "read units of a page",
            per_request(single, READ, "open orders"),
            1,
            "as consumed: 8,000 B, halved (F-UNIT-6)",
        ),
        exactly(
            "read units of it that the filter threw away",
            walks.filtered_units / pages,
            0.85,
            "17 of 20 items, within four standard errors",
            within=4 * math.sqrt(20 * 0.15 * 0.85 / pages) / 20,
        ),
        exactly(
            "pages of a scan of 5 MB",
            float(whole.traffic["scan"].attempts.sum()),
            5,
            "a page ends with the item that crosses 1 MB: 1,007 of 5,000",
        ),
        exactly(
            "read units of a full page",
            per_request(first, READ, "scan"),
            128.5,
            "1,007 × 1,042 B are 257 × 4 KB, halved: F-UNIT-7",
        ),
        exactly(
            "read units of all pages, one item in 500 returned",
            per_request(whole, READ, "scan"),
            638,
            "4 × 128.5 + 124",
        ),
        exactly(
            "and all of them returned",
            per_request(all_pass, READ, "scan"),
            638,
            "F-UNIT-10: the filter changes no units",
        ),
    )


def fill() -> tuple[Figure, ...]:
    found = run("fill", {"level": '"request"'})
    matches = run("page", {"traffic[0].items": 20, "traffic[0].filter_pass": 1, "duration": '"30s"'})
    plain = per_request(matches, READ, "open orders")
    figures = [exactly("read units of a page of 20 matches", plain, 1, "8,000 B, halved: no filter, as consumed")]
    walked = 0.0
    for pattern, passing in (("a third matches", 0.3333), ("one of twenty matches", 0.05)):
        walks, law = found.traffic[pattern].walks, Filling.enumerate(passing)
        count = walks.requests
        walked += sum(units * times for units, times in walks.units.items())
        figures += [
            law.mean_of(f"rounds where {pattern}", walks.pages / count, 0, count),
            law.mean_of("items read", walks.scanned / count, 1, count),
            law.mean_of("items returned", walks.returned / count, 2, count),
            law.mean_of("read units", sum(u * times for u, times in walks.units.items()) / count, 3, count),
            *(law.percentile_of(f"read units, p{p}", walks.units, p / 100) for p in (50, 99)),
        ]
    units = walks.units
    mean, error = law.moments(3, count)
    return (
        *figures,
        exactly(
            "units of one of twenty over those of a page of matches",
            sum(u * times for u, times in units.items()) / count / plain,
            mean,
            "the enumeration's mean over 1 unit; four standard errors",
            within=4 * error,
        ),
        exactly(
            "read units that the table gave, of those of the walks",
            float(found.table.lanes[READ].consumed_units.sum()) / walked,
            1,
            "each page is paid when it is read, and all walks came to an end",
            within=1e-9,
        ),
    )


@dataclass(frozen=True)
class Filling:
    """The law of filling a page of 20, state by state: (rounds, items read, items returned, units) → probability.

    A round reads three times what is missing, of 400 bytes each, and costs half of what it reads in 4 KB, rounded up. Nothing of the
    engine's is used.
    """

    ends: Mapping[tuple[int, int, int, float], float]

    @classmethod
    def enumerate(cls, passing: float) -> Filling:
        states = {(0, 0, 0, 0.0): 1.0}
        ends: dict[tuple[int, int, int, float], float] = {}
        for _ in range(5):
            after: dict[tuple[int, int, int, float], float] = {}
            for (rounds, read, returned, units), chance in states.items():
                size = 3 * (20 - returned)
                cost = units + math.ceil(size * 400 / 4096) / 2
                for hits in range(size + 1):
                    p = math.comb(size, hits) * passing**hits * (1 - passing) ** (size - hits)
                    state = (rounds + 1, read + size, returned + hits, cost)
                    into = ends if rounds == 4 or returned + hits >= 20 else after
                    into[state] = into.get(state, 0.0) + chance * p
            states = after
        return cls(ends)

    def moments(self, part: int, count: int) -> tuple[float, float]:
        """Mean of a part of the state, and its standard error where so many walks are drawn."""
        mean = sum(state[part] * chance for state, chance in self.ends.items())
        squares = sum(state[part] ** 2 * chance for state, chance in self.ends.items())
        return mean, math.sqrt(max(0.0, squares - mean**2) / count)

    def mean_of(self, what: str, value: float, part: int, count: int) -> Figure:
        mean, error = self.moments(part, count)
        return exactly(what, value, mean, "binomial rounds, state by state; four standard errors", within=4 * error)

    def percentile_of(self, what: str, drawn: Mapping[float, int], fraction: float) -> Figure:
        """A percentile of what was drawn lies between those of the law that four standard errors of its share allow."""
        count = sum(drawn.values())
        off = 4 * math.sqrt(fraction * (1 - fraction) / count)
        law: dict[float, float] = {}
        for (_, _, _, units), chance in self.ends.items():
            law[units] = law.get(units, 0.0) + chance
        return between(
            what,
            _percentile({units: times / count for units, times in drawn.items()}, fraction),
            _percentile(law, fraction - off),
            _percentile(law, fraction + off),
            f"percentiles {100 * (fraction - off):.1f} to {100 * (fraction + off):.1f} of the enumerated law: {count:,} draws",
        )


def _percentile(law: Mapping[float, float], fraction: float) -> float:
    """The least value that at least a fraction does not exceed."""
    reached = 0.0
    for value in sorted(law):
        reached += law[value]
        if reached >= fraction - 1e-9:
            return value
    return max(law)


def count() -> tuple[Figure, ...]:
    select, transaction, stream = (run(f"count-{name}") for name in ("select", "transaction", "stream"))
    total = select.traffic["total"].walks
    known = transaction.scenario.calibration
    low, high = known.latency_transaction_ms_p50, known.latency_transaction_ms_p99
    sigma = math.log(high / low) / 2.3263478740408408
    busy = 100 * low / 1000 * math.exp(sigma**2 / 2)
    puts = float(transaction.traffic["orders"].offered.sum())
    updates = run("no-help-one-item").traffic["bumps"]
    whole, rest = divmod(50_000, 1024 * 1024 // 400 + 1)  # full pages, and items on the last
    sizes = [(1024 * 1024 // 400 + 1) * 400] * whole + [rest * 400]
    return (
        exactly("Select COUNT of 50,000 items, pages", total.pages / total.requests, whole + 1, "F-UNIT-10"),
        exactly(
            "read units",
            per_request(select, READ, "total"),
            sum(math.ceil(size / 4096) / 2 for size in sizes),
            "as consumed: 19 pages that cross 1 MB and one of 182 items, each in 4 KB rounded up and halved",
        ),
        exactly("a counter item, read units", per_request(stream, READ, "total"), 0.5, "as consumed: F-UNIT-4"),
        exactly(
            "counted in the transaction, of 100 a second cancelled, %",
            100 * transaction.failed / puts,
            100 * busy / (1 + busy),
            "Erlang's loss of one server that is busy 9 ms at a time (F-LAT-4, inferred; F-TX-2)",
            within=400 * 0.5 / math.sqrt(puts),
        ),
        exactly(
            "write units of it",
            float(transaction.table.lanes[WRITE].consumed_units.sum()) / puts,
            4,
            "two items × 2, as consumed by those that were cancelled too: F-TX-1, F-UNIT-14",
        ),
        exactly(
            "counted from the stream, of 800 a second throttled, %", throttled(stream), 0, "8 counter writes a second"
        ),
        exactly(
            "writes of the counter for a hundred puts",
            100 * float(stream.traffic["counter"].offered.sum() / stream.traffic["orders"].offered.sum()),
            1,
            "one for a hundred records, drawn for each; four deviations of 480",
            within=400 * math.sqrt(480) / 48_000,
        ),
        between(
            "counted with an update of one item for each put, throttled of 1,500, %",
            100 * float(updates.throttled.sum() / updates.attempts.sum()),
            100 / 3 - 400 * 2 / 3 / math.sqrt(5.4e6),
            100 / 3 + 400 * 2 / 3 / math.sqrt(5.4e6),
            "what the hot counter item does: row S-NOHELP; four deviations of how many of an hour's 5.4 million come",
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
