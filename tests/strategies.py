"""Hypothesis strategies of valid things, under plural nouns; a new feature of the format is added here."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sim.keyspace.hashing import HASH_SPACE
from sim.keyspace.position import SORT_SPACE, Position
from sim.keyspace.spread import SortSpread, Spread
from sim.names import IndexChange, RetryMode
from sim.scenario import Scenario, from_dict
from sim.scenario.metrics import METRIC_KINDS, Split
from sim.scenario.sections import COMPARISONS, MISSING_DATA, STATISTICS

Document = dict[str, Any]

FIELD_NAMES = ("user", "status", "day", "shard", "n")
CLOCK_FORMATS = ("%Y-%m-%d", "%Y-%m-%dT%H", "%H:%M", "week %W")
SIMPLE_WRITES = ("PutItem", "UpdateItem", "DeleteItem")
BATCH_ITEMS_MAX = {"BatchGetItem": 100, "BatchWriteItem": 25, "TransactGetItems": 100, "TransactWriteItems": 100}


def fields(name: str) -> st.SearchStrategy[Document]:
    """Definitions of the field ``name``; ``shard`` is a hash of ``user``."""
    counts = st.sampled_from([1, 2, 10, 1000, 10**6, 10**12])
    match name:
        case "user":
            uniform = st.fixed_dictionaries({"kind": st.just("uniform"), "count": counts})
            exponents = st.sampled_from([0, 0.5, 1.0, 1.5])
            return uniform | st.fixed_dictionaries({"kind": st.just("zipf"), "count": counts, "exponent": exponents})
        case "status":
            weights = st.dictionaries(st.sampled_from(["a", "b", "c d", "é"]), st.integers(1, 100), min_size=1)
            return st.fixed_dictionaries({"kind": st.just("choice"), "weights": weights})
        case "day":
            return st.fixed_dictionaries({"kind": st.just("clock"), "format": st.sampled_from(CLOCK_FORMATS)})
        case "shard":
            small = st.sampled_from([1, 2, 10])
            return st.fixed_dictionaries({"kind": st.just("hash"), "of": st.just("user"), "count": small})
        case _:
            return st.just({"kind": "sequence"})


@st.composite
def templates(draw: st.DrawFn) -> str:
    """Key templates over `FIELD_NAMES`, constants included."""
    names = draw(st.lists(st.sampled_from(FIELD_NAMES), max_size=3, unique=True))
    return "K" + "".join(f"#{{{name}}}" for name in names)


@st.composite
def rates(draw: st.DrawFn, duration_s: int) -> Any:
    """Every shape of a rate that needs no file."""
    amounts = st.sampled_from([0, 0.5, 3, 40, 900, 2500])
    kind = draw(st.sampled_from(["number", "steps", "ramp", "spike", "diurnal"]))
    first, second = draw(amounts), draw(amounts)
    half = f"{duration_s // 2}s"
    match kind:
        case "steps":
            return [["0s", first], [half, second]]
        case "ramp":
            return {"kind": "ramp", "from": first, "to": second, "over": half}
        case "spike":
            return {"kind": "spike", "base": first, "peak": second, "at": half, "lasting": 10}
        case "diurnal":
            return {"kind": "diurnal", "mean": first, "peak": first * 1.5, "peak_at": "14:30"}
        case _:
            return first


@st.composite
def tables(draw: st.DrawFn) -> Document:
    """Tables of either mode, with local indexes and without."""
    table: Document = {"name": "orders", "pk": draw(templates())}
    if draw(st.booleans()):
        table["sk"] = draw(templates())
        if draw(st.booleans()):
            table["lsi"] = [{"name": "L1", "sk": draw(templates())}]
    capacities = st.sampled_from([1, 2.5, 100, 3000, 40_000])
    if draw(st.booleans()):
        table |= {"mode": "provisioned", "read_capacity": draw(capacities), "write_capacity": draw(capacities)}
        if draw(st.booleans()):
            table["burst_at_start"] = draw(st.sampled_from([0, 0.5, 1]))
    else:
        table["mode"] = "on-demand"
        for key in draw(
            st.sets(st.sampled_from(["max_read", "max_write", "previous_peak_read", "previous_peak_write"]))
        ):
            table[key] = draw(capacities)
    if draw(st.booleans()):
        table["gsi"] = [draw(global_indexes(f"G{k}", table["mode"])) for k in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        table["partitions"] = draw(st.integers(1, 12))
    for key in draw(st.sets(st.sampled_from(["warm_read", "warm_write"]))):
        table[key] = draw(capacities)
    return table


@st.composite
def global_indexes(draw: st.DrawFn, name: str, mode: str) -> Document:
    """Global secondary indexes of a table in a mode."""
    index: Document = {"name": name, "pk": draw(templates())}
    options: Document = {
        "sk": draw(templates()),
        "present": draw(st.sampled_from([0.1, 1])),
        "partitions": draw(st.integers(1, 6)),
        "burst_at_start": draw(st.sampled_from([0, 1])),
        "projected_bytes": draw(st.sampled_from([80, 1025])),
    }
    capacities = st.sampled_from([1, 2.5, 100, 3000])
    if mode == "provisioned":
        index |= {"read_capacity": draw(capacities), "write_capacity": draw(capacities)}
    else:
        options |= {"max_write": draw(capacities), "warm_write": 8000}
    given = draw(st.sets(st.sampled_from(sorted(options))))
    return index | {key: value for key, value in options.items() if key in given}


@st.composite
def patterns(draw: st.DrawFn, name: str, duration_s: int, table: Document) -> Document:
    """One access pattern of any operation that is simulated."""
    operation = draw(
        st.sampled_from([*SIMPLE_WRITES, "GetItem", "Query", "Scan", "TTLDelete", *BATCH_ITEMS_MAX]),
    )
    pattern: Document = {"name": name, "operation": operation, "rate": draw(rates(duration_s))}
    options: Document = {
        "arrivals": draw(st.sampled_from(["poisson", "even"])),
        "starts": draw(st.sampled_from([0, "5s"])),
        "item_bytes": draw(st.sampled_from([1, 1024, 1025, 4097, 20_000])),
        "count": draw(st.sampled_from([1, 50, 10_000])),
        "pk": draw(templates()),
    }
    reads = operation in {"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"}
    if reads:
        if operation != "TransactGetItems":
            options["missing"] = draw(st.sampled_from([0, 0.25, 1]))
            options["consistent"] = draw(st.booleans())
    elif operation not in {"BatchWriteItem", "TTLDelete"}:
        options["condition_fails"] = draw(st.sampled_from([0, 0.1, 1]))
    indexes = [index["name"] for family in ("gsi", "lsi") for index in table.get(family, [])]
    if not reads and indexes:
        changes = st.dictionaries(st.sampled_from(indexes), st.sampled_from([str(change) for change in IndexChange]))
        options["touches"] = draw(st.sampled_from(["all", [], indexes[:1]]) | changes)
    if operation in {"Query", "Scan"}:
        options |= {"items": draw(st.integers(0, 40)), "filter_pass": draw(st.sampled_from([0, 0.3, 1]))}
        if indexes:
            options["index"] = draw(st.sampled_from(indexes))
        options |= {
            "limit": draw(st.sampled_from([1, 7, 40])),
            "pages": draw(st.sampled_from([1, 3, "all"])),
            "until": draw(st.sampled_from([1, 12])),
        }
        if operation == "Scan":
            options["segments"] = draw(st.sampled_from([1, 3]))
    if operation in BATCH_ITEMS_MAX:
        options["batch"] = draw(st.integers(1, BATCH_ITEMS_MAX[operation]))
        options["batch_keys"] = draw(st.sampled_from(["independent", "same-partition-key"]))
    given = draw(st.sets(st.sampled_from(sorted(options))))
    if "index" in given and options["index"].startswith("G"):
        given -= {"consistent"}
    return pattern | {key: value for key, value in options.items() if key in given}


@st.composite
def scenario_documents(draw: st.DrawFn) -> Document:
    """Valid scenarios as mappings with the keys of the format; runs of them are short."""
    duration_s = draw(st.sampled_from([60, 180, 600]))
    table = draw(tables())
    names = draw(st.lists(st.sampled_from(["web", "batch job", "stream", "äö"]), min_size=1, max_size=3, unique=True))
    document: Document = {
        "format": 1,
        "duration": duration_s,
        "fields": {name: draw(fields(name)) for name in FIELD_NAMES},
        "table": table,
        "traffic": [draw(patterns(name, duration_s, table)) for name in names],
    }
    admissions = ["instant"] if table["mode"] == "on-demand" else ["instant", "static", "adaptive-2017"]
    options: Document = {
        "title": draw(st.text(max_size=20)),
        "start": draw(st.sampled_from(["2026-01-01T00:00:00Z", "2026-06-30T23:59:30+02:00"])),
        "seed": draw(st.integers(0, 2**63 - 1)),
        "tick": draw(st.sampled_from([1, "500ms", 0.1, "2s"])),
        "period": draw(st.sampled_from([60, "10s"])),
        "admission": draw(st.sampled_from(admissions)),
        "calibration": draw(st.sampled_from(["observed", {"base": "default", "split_delay_s": 60}])),
        "cost": {"free_tier": True},
        "alarm": draw(st.lists(alarms(table), max_size=3)),
        "dax": draw(
            st.sampled_from(
                [
                    {},
                    {"nodes": 3, "item_ttl": "7s", "capacity_items": 5},
                    {"nodes": 2, "item_ttl": 0, "query_ttl": "500ms", "writes": "around"},
                ]
            )
        ),
    }
    if len(names) > 1 and draw(st.booleans()):
        last = document["traffic"][-1]
        for key in ("rate", "arrivals"):
            last.pop(key, None)
        per, delay = draw(st.sampled_from([0.3, 1, 2.5])), draw(st.sampled_from([0, "300ms", "7s"]))
        last["follows"] = {"traffic": draw(st.sampled_from(names[:-1])), "per": per, "delay": delay}
    given = draw(st.sets(st.sampled_from(sorted(options))))
    return document | {key: value for key, value in options.items() if key in given}


@st.composite
def scaling_targets(draw: st.DrawFn) -> Document:
    """Target tracking with bounds on either side of what is provisioned, and schedules that come within minutes."""
    least = draw(st.sampled_from([1, 5, 200]))
    target: Document = {"min": least, "max": draw(st.sampled_from([200, 3000, 40_000]))}
    if draw(st.booleans()):
        target["target_utilization"] = draw(st.sampled_from([0.2, 0.5, 0.9]))
    if draw(st.booleans()):
        crons = st.sampled_from(["* * * * ? *", "cron(0/3 * ? * MON-SUN *)", "2 0 1 JAN ? 2026", "4 0 LW * ? *"])
        bounds = st.sampled_from([{"min": 150}, {"max": 250}, {"min": 5, "max": 5000}, {"min": 3000, "max": 3000}])
        target["schedule"] = [{"cron": draw(crons), **draw(bounds)} for _ in range(draw(st.integers(1, 3)))]
        mins = [one["min"] for one in target["schedule"] if "min" in one]
        target["max"] = max([target["max"], *mins])
        target["min"] = min([target["min"], *(one["max"] for one in target["schedule"] if "max" in one)])
    return target


@st.composite
def changing_documents(draw: st.DrawFn) -> Document:
    """Valid scenarios whose capacity changes while they run: auto scaling, schedules, and events of every kind that fit."""
    document = draw(scenario_documents())
    table, duration_s = document["table"], document["duration"]
    mode = table["mode"]
    if mode == "provisioned" and draw(st.booleans()):
        sides = draw(st.sets(st.sampled_from(["read", "write"]), min_size=1))
        table["autoscaling"] = {side: draw(scaling_targets()) for side in sorted(sides)}
    amounts = st.sampled_from([1, 40, 900, 5000, 40_000, 50_000])
    can_switch = document.get("admission", "instant") == "instant" and not table.get("gsi")
    events: list[Document] = []
    for at_s in sorted(draw(st.sets(st.integers(0, duration_s), max_size=5))):
        event: Document = {"at": at_s}
        if can_switch and draw(st.integers(0, 3)) == 0:
            mode = event["mode"] = "provisioned" if mode == "on-demand" else "on-demand"
            if mode == "provisioned":
                event |= {"read_capacity": draw(amounts), "write_capacity": draw(amounts)}
        own = ["read_capacity", "write_capacity"] if mode == "provisioned" else ["max_read", "max_write"]
        keys = draw(st.sets(st.sampled_from([*own, "warm_read", "warm_write"]), min_size="mode" not in event))
        events.append(event | {key: draw(amounts) for key in sorted(keys)})
    if events:
        document["event"] = events
    if draw(st.booleans()):  # quick enough that a change is seen within a short run
        document["calibration"] = {
            "base": "default",
            "mode_switch_s": 60,
            "prewarm_s": 60,
            "update_table_split_s": 60,
            "autoscaling_metric_delay_s": draw(st.sampled_from([0, 7, 60])),
        }
    return document


@st.composite
def alarms(draw: st.DrawFn, table: Document) -> Document:
    """Alarms on any metric that is produced at both levels."""
    names = [name for name, kind in METRIC_KINDS.items() if not kind.refused_at]
    if table["mode"] == "on-demand":
        names = [name for name in names if not name.startswith("Provisioned")]
    name = draw(st.sampled_from(names))
    alarm: Document = {"metric": name, "threshold": draw(st.sampled_from([0, 1, 10, 5000.5]))}
    wanted = draw(st.integers(1, 4))
    options: Document = {
        "statistic": draw(st.sampled_from(STATISTICS)),
        "period": draw(st.sampled_from([60, "2m", 300])),
        "comparison": draw(st.sampled_from(COMPARISONS)),
        "evaluation_periods": wanted,
        "treat_missing": draw(st.sampled_from(MISSING_DATA)),
    }
    if METRIC_KINDS[name].split is Split.OPERATION:
        options["operation"] = draw(st.sampled_from(["GetItem", "PutItem", "BatchWriteItem"]))
    given = draw(st.sets(st.sampled_from(sorted(options))))
    alarm |= {key: value for key, value in options.items() if key in given}
    if (
        name.startswith("Consumed")
        and "statistic" not in alarm
        and table["mode"] == "provisioned"
        and draw(st.booleans())
    ):
        alarm |= {"of_provisioned": True, "threshold": draw(st.sampled_from([0, 0.8, 1.0]))}
    if "evaluation_periods" in alarm:
        alarm["datapoints_to_alarm"] = draw(st.integers(1, wanted))
    return alarm


@st.composite
def clients(draw: st.DrawFn) -> Document:
    """SDK clients of any retry policy, with breaker, limiter and the rest or without."""
    delays = st.sampled_from([0, "25ms", 1])
    options: Document = {
        "retry": draw(st.sampled_from([str(mode) for mode in RetryMode])),
        "max_attempts": draw(st.integers(1, 10)),
        "base_delay": draw(delays),
        "max_delay": draw(st.sampled_from(["1s", 20])),
        "delays": draw(st.lists(delays, max_size=3)),
        "timeout": draw(st.sampled_from(["5ms", 1])),
        "circuit_breaker": {"failures": draw(st.integers(1, 9)), "reset": draw(st.sampled_from(["1s", 30]))},
        "rate_limit": draw(st.sampled_from([{}, {"read": 5}, {"read": 0.5, "write": 900}])),
        "retry_unprocessed": {"max_retries": draw(st.integers(0, 5)), "jitter": draw(st.sampled_from([0, 0.5, 1]))},
    }
    given = draw(st.sets(st.sampled_from(sorted(options))))
    return {key: value for key, value in options.items() if key in given}


@st.composite
def request_documents(draw: st.DrawFn) -> Document:
    """Valid scenarios of the request level: closed loops as well as rates, through clients."""
    document = draw(scenario_documents())
    for pattern in document["traffic"]:
        if "rate" in pattern and draw(st.booleans()):
            del pattern["rate"]
            pattern.pop("arrivals", None)
            pattern["threads"] = draw(st.integers(1, 20))
        if draw(st.booleans()):
            pattern["client"] = draw(clients())
        if draw(st.booleans()):
            pattern["clients"] = draw(st.integers(1, 5))
    return {**document, "level": "request"}


def scenarios() -> st.SearchStrategy[Scenario]:
    """Valid scenarios that this version simulates."""
    return scenario_documents().map(from_dict)


# Pieces of the engine.


@st.composite
def sort_spreads(draw: st.DrawFn) -> SortSpread:
    """Where traffic lies within a collection: points and pieces in order."""
    edges = sorted(draw(st.sets(st.integers(0, SORT_SPACE), min_size=2, max_size=8)))
    pieces = [
        (low, high if draw(st.booleans()) else low) for low, high in itertools.pairwise(edges) if draw(st.booleans())
    ] or [(edges[0], edges[0] + 1)]
    weights = np.array([draw(st.integers(1, 50)) for _ in pieces], dtype=float)
    low, high = (np.array(column, dtype=np.int64) for column in zip(*pieces, strict=True))
    return SortSpread(low, high, weights / weights.sum())


@st.composite
def spreads(draw: st.DrawFn) -> Spread:
    """Where the traffic of a pattern lies: a few keys, perhaps the outermost, with an even background or without."""
    hashes = st.integers(0, HASH_SPACE - 1) | st.sampled_from([0, 1, 2, 3, HASH_SPACE - 2, HASH_SPACE - 1])
    keys = sorted(draw(st.sets(hashes, max_size=8)))
    weights = np.array([draw(st.integers(1, 100)) for _ in keys], dtype=float)
    background = draw(st.sampled_from([0.0, 0.25, 0.9])) if keys else 1.0
    shares = weights / weights.sum() * (1 - background) if keys else weights
    return Spread(np.array(keys, dtype=np.uint64), shares, background, draw(sort_spreads()))


def positions(spread: Spread) -> st.SearchStrategy[Position]:
    """Places in the key space, many of them inside or beside the keys of a spread."""
    anywhere = st.builds(Position, st.integers(0, HASH_SPACE - 1), st.just(0))
    keys = spread.positions.tolist()
    if not keys:
        return anywhere
    sorts = st.integers(0, SORT_SPACE - 1) | st.sampled_from(spread.sort.low.tolist()).map(
        lambda place: min(place + 1, SORT_SPACE - 1)
    )
    inside = st.builds(Position, st.sampled_from(keys), sorts)
    beside = st.builds(lambda key: Position(key + 1, 0), st.sampled_from(keys))
    return anywhere | inside | beside.filter(lambda place: place.hash < HASH_SPACE)
