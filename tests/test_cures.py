"""Advice that is followed helps: each cure that a run names is applied and run again, and no sentence names a key of another dimension."""

from __future__ import annotations

import re
from functools import cache

import pytest

import sim
from sim import Result, Scenario
from sim.names import Dimension
from sim.results.bottleneck import bottlenecks, touches

HEAD = """format = 1
seed = 3
duration = '12m'
[fields]
id = { kind = 'uniform', count = 10000 }
few = { kind = 'uniform', count = 10 }
z = { kind = 'zipf', count = 20000, exponent = 1.0 }
"""
NEW = "mode = 'on-demand'\n"


def scenario(table: str, *traffic: tuple[str, str, str, object], extra: str = "") -> str:
    """Patterns as (operation, partition key, sort key or nothing, rate) on one table."""
    patterns = "".join(
        f"[[traffic]]\nname = 'p{k}'\noperation = '{operation}'\npk = '{pk}'\nrate = {rate}\n{more}\n"
        for k, (operation, pk, more, rate) in enumerate(traffic)
    )
    return f"{HEAD}{extra}[table]\nname = 't'\npk = 'S#{{id}}'\n{table}{patterns}"


def provisioned(read: int, write: int) -> str:
    return f"mode = 'provisioned'\nread_capacity = {read}\nwrite_capacity = {write}\nburst_at_start = 0\n"


MIXED = {
    "writes over many keys, one key read in peace": scenario(
        NEW, ("PutItem", "S#{id}", "", 20_000), ("GetItem", "DASHBOARD#main", "", 5_000)
    ),
    "writes over many keys, one key read too often": scenario(
        NEW, ("PutItem", "S#{id}", "", 20_000), ("GetItem", "DASHBOARD#main", "", 6_500)
    ),
    "fewer writes, one key read too often": scenario(
        NEW, ("PutItem", "S#{id}", "", 8_000), ("GetItem", "DASHBOARD#main", "", 6_500)
    ),
    "one key written too often among many": scenario(
        NEW, ("PutItem", "S#{id}", "", 15_000), ("UpdateItem", "COUNT#all", "", 2_500)
    ),
    "one key written too often, reads in peace": scenario(
        NEW, ("UpdateItem", "COUNT#all", "", 2_500), ("GetItem", "S#{id}", "", 6_000)
    ),
    "two hot keys, one written and one read": scenario(
        NEW, ("UpdateItem", "COUNT#all", "", 1_800), ("GetItem", "POST#viral", "consistent = true", 5_000)
    ),
    "one key, read and written too often": scenario(
        NEW, ("UpdateItem", "COUNT#all", "", 1_800), ("GetItem", "COUNT#all", "consistent = true", 5_000)
    ),
    "few light keys that share partitions, another key read": scenario(
        NEW, ("PutItem", "CELL#{few}", "", 3_500), ("GetItem", "DASHBOARD#main", "", 4_000)
    ),
    "few heavy keys": scenario(NEW, ("PutItem", "CELL#{few}", "", 10_000), ("GetItem", "S#{id}", "", 2_000)),
    "zipf writes, one key read": scenario(
        NEW, ("PutItem", "Z#{z}", "", 7_000), ("GetItem", "DASHBOARD#main", "", 5_000)
    ),
    "zipf reads, writes over many keys": scenario(
        NEW, ("GetItem", "Z#{z}", "consistent = true", 30_000), ("PutItem", "S#{id}", "", 3_000)
    ),
    "a quota below the load of many keys": scenario(
        NEW + "warm_write = 10000\n",
        ("PutItem", "S#{id}", "", 14_000),
        ("GetItem", "DASHBOARD#main", "", 5_000),
        extra="[account]\ntable_write = 10000\n",
    ),
    "a maximum below the load": scenario(
        NEW + "max_write = 1500\n", ("PutItem", "S#{id}", "", 9_000), ("GetItem", "DASHBOARD#main", "", 5_000)
    ),
    "too little write capacity, one key read": scenario(
        provisioned(4_000, 800), ("PutItem", "S#{id}", "", 1_500), ("GetItem", "DASHBOARD#main", "", 5_000)
    ),
    "too little write capacity, one key too heavy": scenario(
        provisioned(100, 1_500), ("PutItem", "S#{id}", "", 2_000), ("UpdateItem", "COUNT#all", "", 1_600)
    ),
    "too little of both": scenario(
        provisioned(300, 300), ("PutItem", "S#{id}", "", 700), ("GetItem", "Z#{z}", "", 1_500)
    ),
}  # fmt: skip


@cache
def run_of(name: str) -> Result:
    return sim.run(sim.loads(MIXED[name]))


def followed(name: str) -> Scenario:
    """The scenario with all advice of its run."""
    text, result = MIXED[name], run_of(name)
    settings: dict[str, int] = {}
    for sentence in result.explanation:
        for path, pattern in (
            ("table.warm_{}", r"warm_(read|write) = ([\d,]+)"),
            ("table.max_{}", r"raise max_(read|write) to at least ([\d,]+)"),
            ("account.table_{}", r"at least ([\d,]+) .*account\.table_(read|write)"),
            ("table.{}_capacity", r"provision [\d,]+ (read|write) units/s .*, or ([\d,]+) to keep"),
        ):
            for found in re.findall(pattern, sentence):
                dimension, value = sorted(found, key=lambda word: word[0].isdigit())
                place = path.format(dimension)
                settings[place] = max(settings.get(place, 0), int(value.replace(",", "")))
        if "must be raised first" in sentence:
            settings["account.table_read"] = settings["account.table_write"] = 200_000
    patterns = re.split(r"(?=\[\[traffic\]\])", text)
    for found in bottlenecks(result):
        told = "\n".join(sentences(result, found.dimension))
        parts = re.search(r"(?:over|in|or) (\d+) (?:suffixes|copies)", told)
        if parts is None:
            continue
        # The keys that the advice names, or else the cause.
        advice = told[told.index(parts[0]) - 80 : told.index(parts[0])]
        keys = [key for key in found.known if key.name in advice] or list(found.keys)
        for traffic in result.scenario.traffic:
            if any(touches(result, traffic, "table", found.dimension, key.name) for key in keys):
                shard = f"{found.dimension}_shard"
                if f"{shard} =" not in patterns[0]:
                    field = f"[fields]\n{shard} = {{ kind = 'uniform', count = {parts[1]} }}\n"
                    patterns[0] = patterns[0].replace("[fields]\n", field)
                patterns = [
                    p.replace(f"'{traffic.pk}'", f"'{traffic.pk}#{{{shard}}}'") if f"'{traffic.name}'" in p else p
                    for p in patterns
                ]
    return sim.with_overrides(sim.loads("".join(patterns)), [(path, str(value)) for path, value in settings.items()])


def sentences(result: Result, dimension: Dimension) -> list[str]:
    """The sentences about one dimension: from its cause to the next."""
    told, mine = [], False
    for text in result.explanation:
        begins = re.match(r"(Read|Write)s\b.* were throttled", text)
        if begins or text.startswith(("AWS does not", "Also near")):
            mine = bool(begins) and begins.group(1).lower() == dimension
        if mine:
            told.append(text)
    return told


@pytest.mark.parametrize("name", MIXED)
def test_the_cures_that_are_named_cure(name: str) -> None:
    before = run_of(name)
    after = sim.run(followed(name))
    told = "\n".join([*before.explanation, "", *after.explanation])
    assert before.throttled_fraction > 0.01
    assert after.throttled_fraction < 0.25 * before.throttled_fraction, told


@pytest.mark.parametrize("name", MIXED)
def test_no_sentence_names_a_key_or_a_pattern_of_another_dimension(name: str) -> None:
    result = run_of(name)
    keys = {key.key for key in result.hot_keys}
    for dimension in Dimension:
        told = "\n".join(sentences(result, dimension))
        for key in keys:
            touched = any(touches(result, t, "table", dimension, key) for t in result.scenario.traffic)
            assert touched or not re.search(rf"{re.escape(key)}\b", told), told
    for found in bottlenecks(result):
        for pattern in found.patterns:
            (traffic,) = [t for t in result.scenario.traffic if t.name == pattern]
            assert not found.keys or any(
                touches(result, traffic, "table", found.dimension, key.name) for key in found.keys
            )


@pytest.mark.parametrize("name", MIXED)
def test_no_sentence_denies_what_the_next_one_advises(name: str) -> None:
    for dimension in Dimension:
        told = "\n".join(sentences(run_of(name), dimension))
        if "neither does warm throughput" in told:
            assert "warm_" not in told


@pytest.mark.parametrize("stretch_ticks", [7, 256])
def test_one_partition_of_that_era_needs_what_its_table_needs_at_any_stretch(stretch_ticks: int) -> None:
    reads = {
        "name": "r",
        "operation": "TransactGetItems",
        "rate": 20,
        "arrivals": "even",
        "item_bytes": 20_000,
        "batch": 10,
    }
    table = {"pk": "T", "mode": "provisioned", "read_capacity": 5, "write_capacity": 300}
    scenario = sim.from_dict({"format": 1, "duration": "1m", "admission": "static", "table": table, "traffic": [reads]})
    last = sim.run(scenario, stretch_ticks=stretch_ticks).explanation[-1]
    assert last.startswith("What would help: provision 2,000 read units/s for the busiest minute")
