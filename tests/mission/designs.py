"""Rows of key designs."""

from __future__ import annotations

from math import sqrt

import numpy as np

import sim
from mission.base import Figure, Row, exactly, per_request, run
from sim.limits import GB_BYTES
from sim.names import CostItem, Dimension

CEILING = "a partition gives 1,000 write units a second (F-PART-1)"
GB_MONTH = 0.25  # F-PRICE-8


# What is measured.


def throttled_share(result: sim.Result, minutes: slice = slice(None)) -> float:
    """Throttled attempts of all patterns together, within some periods of a minute."""
    attempts = sum(record.attempts[minutes].sum() for record in result.traffic.values())
    return float(sum(record.throttled[minutes].sum() for record in result.traffic.values()) / attempts)


def by_partition(result: sim.Result, resource: str = "table") -> np.ndarray:
    """Write units per partition and period."""
    record = result.resources[resource]
    return record.lanes[Dimension.WRITE].consumed_by_partition.of(len(record.partitions))


def writes_per_s(result: sim.Result, minutes: slice) -> float:
    """Write units a second that the table gave, within some minutes."""
    return float(by_partition(result).sum(axis=0)[minutes].mean() / 60)


def units(result: sim.Result, dimension: Dimension, resource: str = "table") -> float:
    """Units that a table or index gave in the whole run."""
    return float(result.resources[resource].lanes[dimension].consumed_units.sum())


def reads(result: sim.Result, pattern: str, *followers: str, at: str | None = None) -> float:
    """Read units that a run gave for each served request of a pattern and what follows it, in table and indexes or at one of them."""
    return per_request(result, Dimension.READ, pattern, resources=(at,) if at else None, followed_by=followers)


def writes(result: sim.Result, pattern: str, *followers: str, at: str | None = None) -> float:
    """Write units that a run gave for each served request of a pattern and what follows it."""
    return per_request(result, Dimension.WRITE, pattern, resources=(at,) if at else None, followed_by=followers)


def share_of(result: sim.Result, key: str) -> float:
    """Share of the units offered to the table that a partition key has."""
    return next(one.share for one in result.hot_keys if one.key == key and one.resource == "table")


def storage_per_month(result: sim.Result) -> float:
    """Dollars a month for what table and indexes hold."""
    lines = [line for bill in result.bill.bills.values() for line in bill.lines]
    return float(sum(line.per_month for line in lines if line.item is CostItem.STORAGE))


def zipf(count: int, exponent: float) -> np.ndarray:
    """Shares of a zipf law, the largest first."""
    weights = np.arange(1, count + 1, dtype=float) ** -exponent
    return np.asarray(weights / weights.sum())


def unevenness(result: sim.Result, partitions: int, sum_of_squares: float) -> tuple[Figure, ...]:
    """How unequal the partitions' shares are, and the busiest of them, against the law of many keys thrown at random."""
    consumed = by_partition(result).sum(axis=1)
    shares = consumed / consumed.sum()
    squares = sum_of_squares + 1 / consumed.sum()  # which key comes next is chance too
    mean, deviation = 1 / partitions, sqrt((1 - 1 / partitions) / partitions * squares)
    # The sum of squares has a chi-square law of one degree less than partitions; Wilson and Hilferty's cube, four deviations.
    free = partitions - 1
    low, high = (sqrt((1 - 2 / (9 * free) + z * sqrt(2 / (9 * free))) ** 3) for z in (-4, 4))
    law = "keys with shares s, thrown at random into P partitions, have 1/P with a deviation of √(1/P (1 - 1/P) Σs²)"
    return (
        Figure(
            what=f"deviation of the shares of {partitions} partitions, of the law's",
            value=float(np.sqrt(((shares - mean) ** 2).sum() / free * (1 - mean))) / deviation,
            least=low,
            most=high,
            why=f"{law}; their squares have a chi-square law of {free} degrees, four deviations of its cube root",
        ),
        Figure(
            what=f"share of the busiest of {partitions} partitions",
            value=result.hottest_share(),
            # The greatest is least where one share is far below the mean and all others alike above it: the deviation over √(P - 1).
            least=mean + low * deviation / sqrt(free),
            most=mean + 4 * deviation,
            why=f"{law}; four of them at most, and at the least what so uneven shares must have",
        ),
    )


# Hot places.


def bad_status() -> tuple[Figure, ...]:
    result, cure = run("bad-status"), run("good-user")
    why = f"2,700 of 3,000 a second are for one key, and {CEILING}: (2,700 - 1,000) / 3,000"
    busiest = by_partition(result)[:, 1:].max() / 60
    return (
        exactly("throttled share of the writes", throttled_share(result), 1700 / 3000, why, within=0.002),
        exactly("units/s of the active key's partition", float(busiest), 1000, CEILING, within=1),
        exactly(
            "splits", len(result.table.splits), 0, "the newest order comes last, which the service detects (F-PART-13)"
        ),
        exactly(
            "throttled by user instead", cure.throttled, 0, "the same 3,000 a second by USER#{user}: 150 a partition"
        ),
    )


def bad_date() -> tuple[Figure, ...]:
    result = run("bad-date")
    parts = by_partition(result)
    before, after = parts[:, :30].sum(axis=1), parts[:, 30:].sum(axis=1)
    why = "all of a day's writes have one partition key"
    return (
        exactly("throttled share before midnight", throttled_share(result, slice(0, 30)), 1 / 3, CEILING, within=0.002),
        exactly("throttled share after it", throttled_share(result, slice(30, 60)), 1 / 3, CEILING, within=0.002),
        exactly("partitions written to before midnight", int((before > 0).sum()), 1, why),
        exactly("partitions written to after it", int((after > 0).sum()), 1, why),
        exactly(
            "partitions written to on both days", int(((before > 0) & (after > 0)).sum()), 0, "the two dates hash apart"
        ),
    )


def bad_viral() -> tuple[Figure, ...]:
    counter, items = run("bad-viral"), run("bad-viral-items")
    late = slice(20, 30)
    return (
        Figure(
            what="throttled share of likes counted in the post, when splits are over",
            value=throttled_share(counter, late),
            least=500 / 3000 - 0.002,
            most=(500 + 2 * 0.02 * 1600) / 3000,
            why="one item gives 1,000 of 1,500 asked; beside it stays what a cut on either side would shed less than 2 % with",
        ),
        exactly(
            "splits of likes counted in the post",
            len(counter.table.splits),
            1,
            "one moves its neighbours away, then none helps",
        ),
        exactly(
            "throttled share of likes as items, then",
            throttled_share(items, late),
            0,
            "two parts of the key give 1,000 each",
        ),
        exactly(
            "last throttle of likes as items, s",
            items.last_throttle_s or 0,
            480,
            "5 min of heat and 3 of splitting",
            within=2,
        ),
        exactly(
            "partitions of the viral post as items",
            next(one.partitions for one in items.hot_keys if one.key == "POST#viral"),
            2,
            "a collection without local index is cut between sort keys (F-PART-14)",
        ),
    )


def bad_tenant() -> tuple[Figure, ...]:
    result, cure = run("bad-tenant"), run("good-tenant-user")
    return (
        exactly(
            "partitions of the large tenant at the end",
            next(one.partitions for one in result.hot_keys if one.key == "TENANT#large"),
            1,
            "its newest order comes last, which no split parts (F-PART-13)",
        ),
        exactly(
            "throttled share, when a split has moved the others away",
            throttled_share(result, slice(20, 30)),
            0.3,
            "(1,600 - 1,000) / 2,000: the tenant's own key, always the same one",
            within=0.002,
        ),
        exactly("throttled by tenant and user instead", cure.throttled, 0, "the same 2,000 a second: 250 a partition"),
    )


# Spread.


def good_user() -> tuple[Figure, ...]:
    result = run("good-user")
    squares = float((zipf(100_000, 0.5) ** 2).sum())
    return (
        exactly("throttled", result.throttled, 0, "3,000 a second over 20 partitions: 150 each"),
        *unevenness(result, 20, squares),
    )


def good_tenant_user() -> tuple[Figure, ...]:
    result, bad = run("good-tenant-user"), run("bad-tenant")
    weights = np.array([80, 5, 4, 3, 2, 2, 1, 1, 1, 1]) / 100
    squares = float((weights**2).sum() * (zipf(100_000, 0.5) ** 2).sum())
    return (
        exactly("throttled", result.throttled, 0, "2,000 a second over 8 partitions: 250 each"),
        *unevenness(result, 8, squares),
        Figure(
            what="share of the busiest partition by tenant alone",
            value=bad.hottest_share(),
            least=1000 * 1320 / (1400 * 1320 + 1400 * 480) - 0.001,
            most=1000 * 1320 / (1400 * 1320 + 1000 * 480) + 0.001,
            why="1,000 of the large tenant's a second after the split at 8 min, of 1,400 served; before it of 1,000 to 1,400",
        ),
    )


def good_store() -> tuple[Figure, ...]:
    even = run("good-store")
    uneven = run("good-store", {"fields.store.exponent": "1.2", "traffic.orders.rate": "12000", "duration": '"30m"'})
    largest = 0.4 * zipf(400, 1.2)[0] * 12_000
    return (
        exactly("throttled", even.throttled, 0, "the busiest store writes 31 a second"),
        exactly(
            "share of the busiest store",
            share_of(even, "REGION#EU#STORE#0"),
            float(0.4 * zipf(400, 0.5)[0]),
            "0.4 of the orders are the region's, and 1 / Σ k^-½ over 400 of them",
            within=2e-4,
        ),
        exactly(
            "share of the busiest store, exponent 1.2",
            share_of(uneven, "REGION#EU#STORE#0"),
            float(largest / 12_000),
            "0.4 / Σ k^-1.2 over 400",
            within=1e-3,
        ),
        exactly(
            "throttled share at the end, exponent 1.2, at 12,000/s",
            throttled_share(uneven, slice(25, 30)),
            float(2 * (largest - 1000) / 12_000),
            f"two regions have a store of {largest:,.0f} a second where 1,000 pass, and splits have moved other stores away",
            within=0.002,
        ),
    )


# Shards.


def good_sharded_gsi() -> tuple[Figure, ...]:
    sharded, whole = run("good-sharded-gsi"), run("good-sharded-gsi-one-shard")
    refused = whole.traffic["orders"]
    return (
        exactly("throttled with ten shards", sharded.throttled, 0, "270 entries a second for each shard of the active"),
        exactly(
            "throttled share of orders with one",
            float(refused.throttled.sum() / refused.attempts.sum()),
            1700 / 3000,
            f"2,700 entries a second for one key of the index, and {CEILING}",
            within=0.002,
        ),
        exactly(
            "throttle events with one that name the index's key range",
            sum(t.count for t in whole.throttles if t.reason == "IndexWriteKeyRangeThroughputExceeded")
            / whole.throttled,
            1,
            "F-GSI-6; the table itself has room",
        ),
        exactly(
            "read units of a list, ten shards", reads(sharded, "list of active orders"), 25, "10 × 20 KB / 4 KB × ½"
        ),
        exactly("read units of a list, one shard", reads(whole, "list of active orders"), 2.5, "20 KB / 4 KB × ½"),
    )


DATES = [f"2026-{month:02}-{day:02}" for month in (1, 2) for day in range(1, 19)]


def thrown(partitions: int) -> tuple[Figure, ...]:
    """Ten shards of many dates, each date a throw of its own, in so many partitions."""
    shards, hit, off = 10, [], 0.0
    for date in DATES:
        short = {"start": f"{date}T00:00:00Z", "duration": '"10s"', "period": '"1s"', "table.partitions": partitions}
        parts = by_partition(run("shard-random", short))
        hit.append(int((parts.sum(axis=1) > 0).sum()))
        off = max(off, abs(float(parts[:, 4:].sum(axis=0).mean()) - 1000 * hit[-1]))
    p = partitions
    mean = p * (1 - (1 - 1 / p) ** shards)
    variance = p * (p - 1) * (1 - 2 / p) ** shards + p * (1 - 1 / p) ** shards - (p * (1 - 1 / p) ** shards) ** 2
    law = "P (1 - (1 - 1/P)^N), balls into bins; four deviations of its mean"
    return (
        exactly(
            f"partitions that ten shards hit, of {p}, mean of {len(DATES)} dates",
            float(np.mean(hit)),
            mean,
            law,
            within=4 * sqrt(variance / len(DATES)),
        ),
        exactly(f"units/s off 1,000 × partitions hit, of {p}, at most", off, 0, CEILING, within=1e-6),
    )


def shard_random() -> tuple[Figure, ...]:
    result = run("shard-random")
    order = result.traffic["one order"]
    asked = float(order.attempts.sum() / order.succeeded.sum())
    return (
        *(figure for partitions in (4, 10, 20) for figure in thrown(partitions)),
        exactly(
            "writes/s of 15,000 asked, minutes 1 to 5",
            writes_per_s(result, slice(1, 5)),
            6000,
            "six partitions are hit",
            within=1,
        ),
        exactly(
            "writes/s at the end", writes_per_s(result, slice(30, 40)), 10_000, "four splits part ten shards", within=1
        ),
        exactly("splits", len(result.table.splits), 4, "10 shards less 6 partitions"),
        exactly("queries to read one order", asked, 10, "any shard may have it"),
        exactly(
            "read units to read one order",
            reads(result, "one order"),
            5,
            "10 × ½: what finds nothing costs the least (F-UNIT-9)",
        ),
    )


def shard_hash() -> tuple[Figure, ...]:
    result = run("shard-hash")
    order = result.traffic["one order"]
    asked = float(order.attempts.sum() / order.succeeded.sum())
    shards = [share_of(result, f"DATE#2026-01-04#{shard}") for shard in range(10)]
    return (
        exactly("share of the busiest shard", max(shards), 0.1, "md5 is even", within=0.001),
        exactly("share of the least busy shard", min(shards), 0.1, "md5 is even", within=0.001),
        exactly(
            "writes/s of 15,000 asked, minutes 1 to 5",
            writes_per_s(result, slice(1, 5)),
            6000,
            "the same ten keys",
            within=1,
        ),
        exactly("queries to read one order", asked, 1, "its number names its shard"),
        exactly(
            "read units to read one order", reads(result, "one order"), 0.5, "1 KB, eventually consistent (F-UNIT-2)"
        ),
    )


# Relations.


def adjacency() -> tuple[Figure, ...]:
    result = run("adjacency")
    joins = float(result.traffic["joins"].succeeded.sum())
    why = "half of all units, and 1 / Σ 1/k over"
    return (
        exactly("throttled", result.throttled, 0, "668 a second for the largest group"),
        exactly(
            "write units of one join",
            units(result, Dimension.WRITE) / joins,
            2,
            "200 bytes from each side; the last tick's inverses are on their way",
            within=1e-4,
        ),
        exactly(
            "share of the largest group",
            share_of(result, "GROUP#0"),
            float(zipf(1000, 1)[0] / 2),
            f"{why} 1,000",
            within=5e-4,
        ),
        exactly(
            "share of the busiest user",
            share_of(result, "USER#0"),
            float(zipf(100_000, 1)[0] / 2),
            f"{why} 100,000",
            within=5e-4,
        ),
    )


def denorm() -> tuple[Figure, ...]:
    copied, plain = run("denorm"), run("denorm-without-copies")
    renames = float(copied.traffic["renames"].succeeded.sum())
    return (
        exactly(
            "write units of one rename, 50 copies",
            writes(copied, "renames", "renames: copies", "renames: find copies"),
            51,
            "the profile and its copies; those of the last second's ten, give or take four deviations, are on their way",
            within=50 * (10 + 4 * sqrt(10)) / renames,
        ),
        exactly("write units of one rename without", writes(plain, "renames"), 1, "512 bytes"),
        exactly(
            "read units of one view with copies", reads(copied, "views", at="table"), 0.5, "1 KB, eventually consistent"
        ),
        exactly(
            "read units of one view without",
            reads(plain, "views", "views: author", at="table"),
            1,
            "post and author, of whom those of the last moments are still to come",
            within=0.5 * 2000 / float(plain.traffic["views"].succeeded.sum()),
        ),
        exactly(
            "reads for each view without copies",
            float(plain.traffic["views: author"].offered.sum() / plain.traffic["views"].succeeded.sum()),
            1,
            "each view is followed by one of the author",
            within=0.001,
        ),
    )


# Indexes.


def sparse() -> tuple[Figure, ...]:
    thin, full = run("sparse"), run("sparse-full")
    drawn = 4 * sqrt(0.1 * 0.9 / 60_000)

    def share(result: sim.Result) -> float:
        return units(result, Dimension.WRITE, "index/open-orders") / units(result, Dimension.WRITE)

    growth = 0.6 * 100 * 600 * 1124 / (10 * GB_BYTES)  # of what the run writes half is there on average
    return (
        exactly(
            "index writes of table writes, sparse",
            share(thin),
            0.1,
            "a tenth carries the key; four deviations",
            within=drawn,
        ),
        exactly("index writes of table writes, full", share(full), 1, "every order carries it", within=1e-9),
        exactly(
            "$ a month to store 10 GB and the index, sparse",
            storage_per_month(thin),
            2.75,
            "11 GB at $0.25 (F-PRICE-8), and what the run adds",
            within=2.75 * growth,
        ),
        exactly(
            "$ a month to store 10 GB and the index, full",
            storage_per_month(full),
            5,
            "20 GB at $0.25",
            within=5 * growth,
        ),
        exactly("read units of a list, sparse", reads(thin, "open orders of a store"), 2.5, "20 KB / 4 KB × ½"),
        exactly(
            "read units of a list, full", reads(full, "open orders of a store"), 25, "200 KB / 4 KB × ½, a tenth passes"
        ),
    )


def projection() -> tuple[Figure, ...]:
    whole, some, keys = run("projection"), run("projection-include"), run("projection-keys-only")
    growth = 0.6 * 20 * 600 * 3172 / (10 * GB_BYTES)  # of what the run writes half is there on average

    def stored(what: str, result: sim.Result, entry_bytes: int) -> Figure:
        right = 10 * (1 + entry_bytes / 3072) * GB_MONTH
        why = f"10 GB of orders of 3,072 bytes, an entry of {entry_bytes:,} for each, at $0.25, and what the run adds"
        return exactly(
            f"$ a month to store 10 GB and the index, {what}",
            storage_per_month(result),
            right,
            why,
            within=right * growth,
        )

    return (
        exactly("write units of an order, ALL", writes(whole, "orders"), 6, "3 KB in the table, 3 KB in the index"),
        exactly("write units of an order, INCLUDE", writes(some, "orders"), 4, "3 and 600 bytes"),
        exactly("write units of an order, KEYS_ONLY", writes(keys, "orders"), 4, "3 and 100 bytes"),
        exactly("read units of a list, ALL", reads(whole, "list"), 7.5, "60 KB / 4 KB × ½"),
        exactly("read units of a list, INCLUDE", reads(some, "list"), 1.5, "12,000 bytes are 3 × 4 KB, × ½"),
        exactly(
            "read units of a list, KEYS_ONLY",
            reads(keys, "list", "list: orders"),
            10.5,
            "2,000 bytes, and 20 × 3 KB one by one; those of the last lists are still to come",
            within=10 * 5 / float(keys.traffic["list"].succeeded.sum()),
        ),
        stored("ALL", whole, 3072),
        stored("INCLUDE", some, 600),
        stored("KEYS_ONLY", keys, 100),
    )


def lsi_gsi() -> tuple[Figure, ...]:
    local, other = run("lsi-gsi"), run("lsi-gsi-global")
    hot = {"traffic.readings.rate": "2000", "table.collection_bytes": "1_000_000"}
    hot_local, hot_other = run("lsi-gsi", hot), run("lsi-gsi-global", hot)
    failed = sum(local.failures.values())
    readings = "readings"

    def throttled_late(result: sim.Result) -> float:
        record = result.traffic[readings]
        return float(record.throttled[30:40].sum() / record.attempts[30:40].sum())

    return (
        exactly(
            "write units of a reading in the table, local",
            writes(local, readings, at="table"),
            2,
            "item and entry (F-LSI-1)",
        ),
        exactly(
            "write units of a reading in the table, global",
            writes(other, readings, at="table"),
            1,
            "the item",
        ),
        exactly(
            "write units of a reading in the index, global",
            writes(other, readings, at="index/by-amount"),
            1,
            "the entry, on the index's account",
        ),
        exactly("read units of a list, local", reads(local, "largest amounts"), 5, "20 KB, strongly consistent"),
        exactly(
            "read units of a list, global",
            reads(other, "largest amounts"),
            2.5,
            "20 KB, eventually: a global index has no other",
        ),
        exactly(
            "second at which the large tenant is full, local",
            2400 - failed / 400,
            600,
            "10 GB less 491,520,000 bytes, at 400 readings of 1 KB and entries of 1 KB a second; four deviations of √720,000",
            within=4 * sqrt(720_000) / 400,
        ),
        exactly("failed, global", other.failed, 0, "no 10 GB limit (F-PART-14)"),
        exactly(
            "throttled share at 2,000/s at the end, local",
            throttled_late(hot_local),
            1100 / 2000,
            "1,600 of the large tenant's, of which its partition takes 500 at two units: no split, ever (F-LSI-3)",
            within=0.002,
        ),
        exactly(
            "throttled share at 2,000/s at the end, global",
            throttled_late(hot_other),
            0,
            "splits for heat have parted the tenant's readings",
        ),
    )


def composite_sk() -> tuple[Figure, ...]:
    key, chosen = run("composite-sk"), run("composite-sk-filter")

    def spent(result: sim.Result) -> float:
        return units(result, Dimension.READ) / float(result.traffic["open orders of a user"].succeeded.sum())

    return (
        exactly("read units of a list, in the sort key", spent(key), 1.5, "ten of 1 KB are 3 × 4 KB, × ½", within=1e-6),
        exactly(
            "read units of a list, by a filter",
            spent(chosen),
            12.5,
            "a hundred of 1 KB are 25 × 4 KB, × ½",
            within=1e-6,
        ),
        exactly(
            "write units of a change of status, in the sort key",
            writes(key, "changes of status"),
            4,
            "a delete and a put, in a transaction",
        ),
        exactly("write units of a change of status, by a filter", writes(chosen, "changes of status"), 1, "1 KB"),
    )


ROWS: tuple[Row, ...] = (
    Row(id="S-BAD-STATUS", model="bad-status", scenarios=("bad-status", "good-user"), measure=bad_status),
    Row(id="S-BAD-DATE", model="bad-date", scenarios=("bad-date",), measure=bad_date),
    Row(id="S-BAD-VIRAL", model="bad-viral", scenarios=("bad-viral", "bad-viral-items"), measure=bad_viral),
    Row(id="S-BAD-TENANT", model="bad-tenant", scenarios=("bad-tenant", "good-tenant-user"), measure=bad_tenant),
    Row(id="S-GOOD-USER", model="good-user", scenarios=("good-user",), measure=good_user),
    Row(
        id="S-GOOD-TENANT-USER",
        model="good-tenant-user",
        scenarios=("good-tenant-user", "bad-tenant"),
        measure=good_tenant_user,
    ),
    Row(id="S-GOOD-STORE", model="good-store", scenarios=("good-store",), measure=good_store),
    Row(
        id="S-GOOD-SHARDED-GSI",
        model="good-sharded-gsi",
        scenarios=("good-sharded-gsi", "good-sharded-gsi-one-shard"),
        measure=good_sharded_gsi,
    ),
    Row(id="S-SHARD-RANDOM", model="shard-random", scenarios=("shard-random",), measure=shard_random),
    Row(id="S-SHARD-HASH", model="shard-hash", scenarios=("shard-hash",), measure=shard_hash),
    Row(id="S-ADJACENCY", model="adjacency", scenarios=("adjacency",), measure=adjacency),
    Row(id="S-DENORM", model="denorm", scenarios=("denorm", "denorm-without-copies"), measure=denorm),
    Row(id="S-SPARSE", model="sparse", scenarios=("sparse", "sparse-full"), measure=sparse),
    Row(
        id="S-PROJECTION",
        model="projection",
        scenarios=("projection", "projection-include", "projection-keys-only"),
        measure=projection,
    ),
    Row(id="S-LSI-GSI", model="lsi-gsi", scenarios=("lsi-gsi", "lsi-gsi-global"), measure=lsi_gsi),
    Row(
        id="S-COMPOSITE-SK",
        model="composite-sk",
        scenarios=("composite-sk", "composite-sk-filter"),
        measure=composite_sk,
    ),
)
MISSING: dict[str, str] = {}  # id → which mechanism is not there
