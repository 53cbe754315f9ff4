"""Each rule of the format on both sides of its border, with path, value and cure in the message."""

from __future__ import annotations

import copy
from datetime import time
from typing import Any

import pytest

from sim.errors import Problem, ScenarioError
from sim.scenario import Scenario, from_dict

Document = dict[str, Any]

BASE: Document = {
    "format": 1,
    "duration": 3600,
    "fields": {
        "user": {"kind": "uniform", "count": 100},
        "status": {"kind": "choice", "weights": {"open": 1, "done": 2}},
        "n": {"kind": "sequence"},
        "day": {"kind": "clock", "format": "%Y-%m-%d"},
        "shard": {"kind": "hash", "of": "user", "count": 10},
    },
    "table": {
        "name": "orders",
        "pk": "{user}#{shard}#{status}#{day}",
        "sk": "{n}",
        "mode": "provisioned",
        "read_capacity": 10,
        "write_capacity": 10,
        "lsi": [{"name": "L1", "sk": "{status}"}],
    },
    "traffic": [
        {"name": "put", "operation": "PutItem", "rate": 10},
        {"name": "get", "operation": "GetItem", "rate": 10},
        {"name": "query", "operation": "Query", "rate": 10},
        {"name": "scan", "operation": "Scan", "rate": 10},
        {"name": "batch", "operation": "BatchWriteItem", "rate": 10},
        {"name": "gets", "operation": "BatchGetItem", "rate": 10},
        {"name": "transact", "operation": "TransactWriteItems", "rate": 10},
        {"name": "transact gets", "operation": "TransactGetItems", "rate": 10},
        {"name": "expire", "operation": "TTLDelete", "rate": 10},
    ],
}
PUT, GET, QUERY, SCAN, BATCH, GETS, TRANSACT, TRANSACT_GETS, EXPIRE = range(9)
ABSENT = object()


def changed(changes: dict[tuple[Any, ...], Any]) -> Document:
    """BASE with values set at places, or taken away."""
    document = copy.deepcopy(BASE)
    for (*above, last), value in changes.items():
        holder: Any = document
        for part in above:
            holder = holder.setdefault(part, {}) if isinstance(holder, dict) else holder[part]
        if value is ABSENT:
            del holder[last]
        else:
            holder[last] = value
    return document


def problems(changes: dict[tuple[Any, ...], Any]) -> tuple[Problem, ...]:
    with pytest.raises(ScenarioError) as caught:
        from_dict(changed(changes))
    return caught.value.problems


def ok(changes: dict[tuple[Any, ...], Any]) -> Scenario:
    return from_dict(changed(changes))


def place(text: str, traffic: int | None = None) -> tuple[Any, ...]:
    parts: tuple[Any, ...] = tuple(int(part) if part.isdigit() else part for part in text.split("."))
    return parts if traffic is None else ("traffic", traffic, *parts)


ON_DEMAND: dict[tuple[Any, ...], Any] = {
    ("table", "mode"): "on-demand",
    ("table", "read_capacity"): ABSENT,
    ("table", "write_capacity"): ABSENT,
}

# place, values that are right, values that are wrong, part of the sentence, part of the hint
BORDERS: list[tuple[str, int | None, list[Any], list[Any], str, str]] = [
    ("format", None, [1], [2, 0, "1", True], "must be 1", ""),
    ("duration", None, [0.001, "578d", "10m"], [0, -1, 3650 * 86_400 + 1, "3651d"], "must be a time", ""),
    ("seed", None, [0, 2**63 - 1, 5.0], [-1, 2**63, 1.5, "5", True], "whole number", ""),
    ("level", None, ["flow"], ["flows"], "must be one of 'flow', 'request'", "did you mean 'flow'?"),
    (
        "tick",
        None,
        [1, 0.5, 0.1, "20ms", 2, 30, 60],
        [0.3, 1.5, 0.7, "2500ms"],
        "a part of a second that divides it",
        "",
    ),
    ("tick", None, [20], [7, 45, 120], "must divide period (60 s)", ""),
    ("start", None, ["2026-01-01"], ["yesterday", 5, "9999-12-31"], "ISO date and time", ""),
    (
        "admission",
        None,
        ["static", "adaptive-2017"],
        ["adaptve-2017"],
        "must be one of",
        "did you mean 'adaptive-2017'?",
    ),
    ("prices", None, ["us-east-1", "us-east-1-2024-10"], ["us-east-2"], "no such price sheet", "did you mean"),
    ("calibration", None, ["observed"], ["observd", 5], '"default" or "observed"', ""),
    ("calibration.split_delay_s", None, [1, 60], [0, "60", True], "", ""),
    ("calibration.split_dely_s", None, [], [60], "no such calibration parameter", "did you mean 'split_delay_s'?"),
    (
        "calibration.base",
        None,
        ["observed"],
        ["observd"],
        'must be "default" or "observed"',
        "did you mean 'observed'?",
    ),
    ("fields.user.kind", None, ["uniform"], ["unifrom", "gauss"], "must be one of 'choice', 'uniform', 'zipf'", ""),
    ("fields.user.count", None, [1, 10**15, 1e6], [0, 10**15 + 1, 1.5, "5"], "whole number from 1 to 1e15", ""),
    ("fields.user.cuont", None, [], [5], "unknown key", "did you mean 'count'?"),
    (
        "fields.user",
        None,
        [{"kind": "zipf", "count": 9, "exponent": 0}],
        [5, "zipf", []],
        "must be a table with a kind",
        "",
    ),
    ("fields.status.weights.open", None, [0, 0.5], [-1, "5", float("nan"), float("inf")], "must be a weight", ""),
    ("fields.status.weights", None, [{"open": 1}], [{}], "at least one value", ""),
    ("fields.status.weights", None, [], [{"open": 0, "done": 0}], "must have a weight above 0", ""),
    ("fields.day.format", None, ["%Y", "%H:%M", "day %j%%"], ["%H:%M:%S", "%f", "%s", "%c"], "finer", "%M"),
    ("fields.day.format", None, [], ["YYYY-MM-DD", "%%", "x"], "must contain a strftime directive", "%Y-%m-%d"),
    ("fields.day.format", None, [], ["%Q", "%Y%"], "no strftime directive", ""),
    ("fields.shard.of", None, ["user", "day"], ["usr"], "no field 'usr' in [fields]", "did you mean 'user'?"),
    ("fields.shard.of", None, [], ["shard"], "hash of itself", ""),
    ("table.pk", None, ["ALL", "x" * 2048], ["{usr}"], "no field 'usr' in [fields]", "did you mean 'user'?"),
    ("table.pk", None, [], ["{user"], "never closed", "USER#{user}"),
    ("table.pk", None, [], [""], "must not be empty", ""),
    ("table.pk", None, [], ["x" * 2049], "at most 2,048 bytes", ""),
    ("table.sk", None, ["x" * 1024], ["x" * 1025, "é" * 513], "at most 1,024 bytes", ""),
    ("table.mode", None, ["provisioned"], ["provisionned", "on demand"], "must be one of", "did you mean"),
    ("table.mode", None, [], ["PAY_PER_REQUEST", "pay_per_request"], "must be one of", "did you mean 'on-demand'?"),
    ("table.mode", None, [], ["PROVISIONED"], "must be one of", "did you mean 'provisioned'?"),
    ("table.table_class", None, [], ["STANDARD_INFREQUENT_ACCESS"], "must be one of", "did you mean 'standard-ia'?"),
    ("table.write_capacity", None, [1, 1.5, 40_000], [0, 0.99, -1, True, "5"], "from 1 to", ""),
    (
        "table.write_capacity",
        None,
        [],
        [40_001],
        "above the quota of one table or index, 40,000",
        "table_write = 40001",
    ),
    ("table.read_capacity", None, [], [ABSENT], "is required in provisioned mode", ""),
    ("table.max_read", None, [], [5], 'for mode = "on-demand" only', ""),
    ("table.previous_peak_write", None, [], [5], 'for mode = "on-demand" only', ""),
    ("table.partitions", None, [1, 100_000], [0, 100_001, 1.5], "whole number of partitions", ""),
    ("table.burst_at_start", None, [0, 1], [-0.1, 1.1], "from 0 to 1", ""),
    ("table.burst_at_start", None, [], [50], "from 0 to 1", "50 % is 0.5"),
    ("table.lsi.0.projection", None, ["ALL"], ["Keys"], "must be one of", ""),
    ("table.lsi.0.projection", None, [], ["keys_only"], "must be one of", "did you mean 'KEYS_ONLY'?"),
    ("table.replicas", None, [0, 3], [-1, 51], "further regions", ""),
    ("table.lsi", None, [[]], ["L1"], "must be a list", ""),
    ("table.lsi.0.name", None, ["other"], [""], "must not be empty", ""),
    (
        "rate",
        PUT,
        [0, 1e9],
        [-1, 1e9 + 1, float("inf"), float("nan"), "5", True],
        "from 0 to 1e9 requests per second",
        "",
    ),
    ("rate", PUT, [[["0s", 1]], [[5, 1], ["6s", 0]]], [[], [[]], "x"], "", ""),
    ("rate.1.0", PUT, [], [], "", ""),
    ("item_bytes", PUT, [1, 400 * 1024, 400 * 1024 + 1], [0, 1.5, "1KB", True], "whole number of bytes", ""),
    ("starts", PUT, [0, 3599], [3600], "must lie within the run, before 3600 s", ""),
    ("ends", PUT, [1, 3600], [3601], "must lie within the run, at most 3600 s", ""),
    ("ends", PUT, [0.5], [0], "must be after starts", ""),
    ("count", PUT, [1, 10**15], [0, -1, 1.5], "whole number", ""),
    ("partition", PUT, [0, 5], [-1, 0.5], "whole number", ""),
    ("pk", PUT, ["ORDER#{n}"], ["{ordr}"], "no field 'ordr'", ""),
    ("condition_fails", PUT, [0, 1], [-0.1, 1.01], "from 0 to 1", ""),
    ("operation", PUT, ["UpdateItem"], ["putitem"], "must be one of", "did you mean 'PutItem'?"),
    ("arrivals", PUT, ["even"], ["evenly"], "must be one of", "did you mean 'even'?"),
    ("client.retry", PUT, ["none"], ["nnoe"], "must be one of", "did you mean 'none'?"),
    ("client.retires", PUT, [], [3], "unknown key", "did you mean 'retry'?"),
    ("clients", PUT, [1, 50], [0], "whole number of clients", ""),
    ("touches", PUT, ["all", [], ["L1"], {"L1": "removed"}], ["none", 5], 'must be "all"', ""),
    ("touches", PUT, [], [["L11"]], "no index 'L11' on the table", "did you mean 'L1'?"),
    ("touches.L1", PUT, ["put", "untouched"], ["touched"], "must be one of", ""),
    ("touches", PUT, [], [["L1", "L1"]], "names an index twice", ""),
    ("where.status", PUT, ["open"], ["opne"], "is no value of the field", "did you mean 'open'? There are: open, done"),
    ("where.user", PUT, [0, 99], [100, -1, "5"], "", ""),
    ("where.stats", PUT, [], ["open"], "no field 'stats'", "did you mean 'status'?"),
    ("where.n", PUT, [0], ["x"], "whole number", ""),
    ("where.day", PUT, ["2026-01-01"], [5], "must be a text", ""),
    ("was", PUT, [{}], [{"status": "open"}], "writes that change an index key", ""),
    ("consistent", GET, [True], [1, "true"], "must be true or false", ""),
    ("missing", GET, [0, 1], [2], "from 0 to 1", "2 % is 0.02"),
    ("batch", BATCH, [1, 25], [26], "BatchWriteItem takes at most 25 items", ""),
    ("batch", GETS, [1, 100], [101], "BatchGetItem takes at most 100 items", ""),
    ("batch", TRANSACT, [1, 100], [101], "TransactWriteItems takes at most 100 items", ""),
    ("batch", TRANSACT_GETS, [100], [101], "TransactGetItems takes at most 100 items", ""),
    ("actions", TRANSACT, [[{"operation": "PutItem"}]], [[]], "must be 1 to 100 actions", ""),
    ("actions", TRANSACT, [[{"operation": "PutItem"}] * 100], [[{"operation": "PutItem"}] * 101], "1 to 100", ""),
    ("actions", TRANSACT, [], [[{"operation": "GetItem"}]], "consists of PutItem, UpdateItem, DeleteItem", ""),
    ("actions", TRANSACT_GETS, [[{"operation": "GetItem"}]], [[{"operation": "PutItem"}]], "consists of GetItem", ""),
    ("actions", TRANSACT, [], [[{"operation": "PutItem", "touches": ["L9"]}]], "no index 'L9'", ""),
    ("actions", TRANSACT, [], [[{"operation": "PutItem", "pk": "{x}"}]], "no field 'x'", ""),
    ("items", QUERY, [0, 1, 1024], [-1], "whole number", ""),
    ("filter_pass", QUERY, [0, 1], [1.5], "from 0 to 1", ""),
    ("limit", QUERY, [2], [0], "whole number", ""),
    ("pages", QUERY, [1, "all"], ["al", 0, 1.5], "", ""),
    ("index", QUERY, [], ["L11"], "no index 'L11'", "did you mean 'L1'?"),
    ("cost.month_hours", None, [1, 744], [0, 745], "hours", ""),
    ("dax", None, [], [5], "must be a table", ""),
    ("dax.node_type", None, [], ["dax.r5.larg"], "must be one of", "did you mean 'dax.r5.large'?"),
    ("dax.nodes", None, [], [0, 12], "whole number of nodes", ""),
    ("traffic", None, [], [[]], "no [[traffic]]: say what comes at the table", ""),
    ("traffic", None, [], [5], "must be a list", ""),
    ("table", None, [], [5, ABSENT], "", ""),
]


@pytest.mark.parametrize(("text", "traffic", "right", "wrong", "message", "hint"), BORDERS)
def test_borders(text: str, traffic: int | None, right: list[Any], wrong: list[Any], message: str, hint: str) -> None:
    where = place(text, traffic)
    for value in right:
        ok({where: value})
    path = text if traffic is None else f"traffic[{traffic}].{text}"
    path = path.replace(".0.", "[0].")
    for value in wrong:
        found = problems({where: value})
        match = [problem for problem in found if problem.path.startswith(path) and message in problem.message]
        assert match, (value, [str(problem) for problem in found])
        assert hint in match[0].hint, (value, match[0].hint)


def test_values_are_shown_as_they_were_written() -> None:
    (problem,) = problems({place("ends", PUT): "2h"})
    assert str(problem) == (
        '<dict>: traffic[0].ends: must lie within the run, at most 3600 s [pattern "put"] (given: "2h")'
        " — leave it out for the run's end"
    )


# Keys that mean something for some operations only

SINGLE_READS = [GET, QUERY, SCAN, GETS]  # no transactions
WRITES = [PUT, BATCH, TRANSACT, EXPIRE]
OPERATION_KEYS: list[tuple[str, Any, list[int]]] = [
    ("missing", 0.5, SINGLE_READS),
    ("consistent", True, SINGLE_READS),
    ("items", 5, [QUERY, SCAN]),
    ("limit", 7, [QUERY, SCAN]),
    ("filter_pass", 0.5, [QUERY, SCAN]),
    ("pages", 1, [QUERY, SCAN]),
    ("batch", 2, [BATCH, GETS, TRANSACT, TRANSACT_GETS]),
    ("batch_keys", "same-partition-key", [BATCH, GETS, TRANSACT, TRANSACT_GETS]),
    ("condition_fails", 0.5, [PUT, TRANSACT]),
    ("touches", ["L1"], WRITES),
]


@pytest.mark.parametrize(("key", "value", "allowed"), OPERATION_KEYS)
def test_a_key_is_refused_where_it_means_nothing(key: str, value: Any, allowed: list[int]) -> None:
    for traffic in range(len(BASE["traffic"])):
        if traffic in allowed:
            ok({("traffic", traffic, key): value})
        else:
            (problem,) = problems({("traffic", traffic, key): value})
            assert problem.path == f"traffic[{traffic}].{key}"
            assert "means nothing for" in problem.message


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("index", "L1", [QUERY, SCAN]),
        ("until", 5, [QUERY, SCAN]),
        ("over_fetch", 3, [QUERY, SCAN]),
        ("scatter", "user", [QUERY]),
        ("segments", 4, [SCAN]),
        ("actions", [{"operation": "PutItem"}], [TRANSACT, TRANSACT_GETS]),
        ("was", {"status": "open"}, WRITES),
    ],
)
def test_a_key_that_is_not_simulated_is_refused_where_it_means_nothing(
    key: str, value: Any, allowed: list[int]
) -> None:
    for traffic in range(len(BASE["traffic"])):
        document = changed({("traffic", traffic, key): value})
        try:
            from_dict(document)
            found = ""
        except ScenarioError as error:
            found = str(error)
        assert ("means nothing for" in found) == (traffic not in allowed)


# Rules over several keys


def test_a_pattern_has_exactly_one_source() -> None:
    (problem,) = problems({place("rate", PUT): ABSENT})
    assert problem.path == "traffic[0].rate"
    assert "exactly one of rate, threads and follows" in problem.message
    found = problems({place("threads", PUT): 4})
    assert found[0].path == "traffic[0].threads"
    assert "this one has rate too" in found[0].message


def test_steps_increase_and_name_the_step_that_does_not() -> None:
    ok({place("rate", PUT): [["1s", 5], ["2s", 6], [3, 0]]})
    (problem,) = problems({place("rate", PUT): [["0s", 5], ["5s", 6], ["5s", 7]]})
    assert (problem.path, problem.value) == ("traffic[0].rate[2][0]", '"5s"')
    assert "increase strictly; the step before is at 5 s" in problem.message
    (problem,) = problems({place("rate", PUT): [["0s", 5], ["5x", 6]]})
    assert problem.path == "traffic[0].rate[1][0]"
    (problem,) = problems({place("rate", PUT): [["0s", 5], ["5s", -6]]})
    assert problem.path == "traffic[0].rate[1][1]"
    (problem,) = problems({place("rate", PUT): [["0s", 5], ["5s"]]})
    assert problem.path == "traffic[0].rate[1]"


@pytest.mark.parametrize("peak", [10, 20])
def test_a_diurnal_peak_lies_between_mean_and_twice_mean(peak: float) -> None:
    ok({place("rate", PUT): {"kind": "diurnal", "mean": 10, "peak": peak, "peak_at": "00:00"}})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("peak", 20.1, "from mean (10) to 2 × mean (20)"),
        ("peak", 9, "from mean (10) to 2 × mean (20)"),
        ("peak_at", "24:00", "must be a time of day"),
        ("peak_at", "25h", "must be a time of day"),
        ("kind", "dirunal", "must be one of 'ramp', 'spike', 'diurnal', 'csv'"),
        ("kind", "steps", "must be one of 'ramp', 'spike', 'diurnal', 'csv'"),
        ("kind", "number", "must be one of 'ramp', 'spike', 'diurnal', 'csv'"),
        ("hours", 5, "unknown key"),
    ],
)
def test_a_wrong_shape_names_the_key_in_it(key: str, value: Any, message: str) -> None:
    shape = {"kind": "diurnal", "mean": 10, "peak": 20, "peak_at": "14:30", key: value}
    (problem,) = problems({place("rate", PUT): shape})
    assert problem.path == f"traffic[0].rate.{key}"
    assert message in problem.message


def test_a_ramp_is_written_with_from() -> None:
    shape = {"kind": "ramp", "from": 1, "to": 2, "over": "1m"}
    ok({place("rate", PUT): shape})
    found = problems({place("rate", PUT): {"kind": "ramp", "from_": 1, "to": 2, "over": "1m"}})
    hints = {problem.path: problem.hint for problem in found}
    assert hints == {"traffic[0].rate.from": "", "traffic[0].rate.from_": "did you mean 'from'?"}


def test_on_demand_refuses_provisioned_capacity_and_old_admission() -> None:
    ok({**ON_DEMAND, ("table", "max_read"): 5, ("table", "previous_peak_write"): 0, ("admission",): "instant"})
    (problem,) = problems({**ON_DEMAND, ("table", "read_capacity"): 5})
    assert 'for mode = "provisioned" only; this table is on-demand' in problem.message
    (problem,) = problems({**ON_DEMAND, ("admission",): "static"})
    assert (problem.path, problem.value) == ("admission", '"static"')
    assert "provisioned tables only" in problem.message


def test_provisioned_capacity_may_pass_a_raised_quota() -> None:
    ok({("table", "write_capacity"): 90_000, ("account", "table_write"): 90_000})
    (problem,) = problems({("account", "table_write"): 9})
    assert problem.path == "table.write_capacity"
    assert "above the quota of one table or index, 9 units per second" in problem.message
    ok({("account", "account_write"): 10})
    (problem,) = problems({("account", "account_write"): 9})
    assert problem.path == "table.write_capacity"
    assert "above the account's quota of 9" in problem.message


def test_capacity_is_reserved_for_standard_tables() -> None:
    ok({("cost", "reserved_read"): 5})
    ok({("cost", "reserved_read"): 0, ("table", "table_class"): "standard-ia"})
    found = problems({("cost",): {"reserved_read": 5, "reserved_write": 1}, ("table", "table_class"): "standard-ia"})
    assert [problem.path for problem in found] == ["cost.reserved_read", "cost.reserved_write"]
    assert "for standard tables only; this table is standard-ia" in found[0].message


def test_names_of_patterns_and_indexes_differ() -> None:
    (problem,) = problems({place("name", GET): "put"})
    assert problem.path == "traffic[1].name"
    assert "traffic[0] has this one" in problem.message
    found = problems({("table", "lsi"): [{"name": "L", "sk": "a"}, {"name": "L", "sk": "b"}]})
    assert found[0].path == "table.lsi[1].name"


def test_local_indexes_need_a_sort_key_and_there_are_at_most_five() -> None:
    (problem,) = problems({("table", "sk"): ABSENT})
    assert problem.path == "table.sk"
    assert "local secondary index needs a table with a sort key" in problem.message
    five = [{"name": f"L{number}", "sk": "a"} for number in range(5)]
    ok({("table", "lsi"): five})
    (problem,) = problems({("table", "lsi"): [*five, {"name": "L9", "sk": "a"}]})
    assert "at most 5" in problem.message


def test_an_index_that_keeps_less_says_how_much() -> None:
    ok({("table", "lsi", 0, "projection"): "KEYS_ONLY", ("table", "lsi", 0, "projected_bytes"): 50})
    (problem,) = problems({("table", "lsi", 0, "projection"): "KEYS_ONLY"})
    assert problem.path == "table.lsi[0].projected_bytes"
    assert "is required with projection KEYS_ONLY" in problem.message


def test_a_sort_key_template_needs_a_sort_key() -> None:
    changes = {("table", "sk"): ABSENT, ("table", "lsi"): ABSENT, place("sk", PUT): "{n}"}
    (problem,) = problems(changes)
    assert problem.path == "traffic[0].sk"
    assert "the table has no sort key" in problem.message


def test_hashes_in_a_circle_are_found_wherever_they_start() -> None:
    changes: dict[tuple[Any, ...], Any] = {
        ("fields", "a"): {"kind": "hash", "of": "b", "count": 2},
        ("fields", "b"): {"kind": "hash", "of": "c", "count": 2},
        ("fields", "c"): {"kind": "hash", "of": "b", "count": 2},
    }
    assert [problem.path for problem in problems(changes)] == ["fields.b.of", "fields.c.of"]
    ok({**changes, ("fields", "c"): {"kind": "hash", "of": "user", "count": 2}})


def test_a_fixed_hash_fits_the_fixed_field_that_it_is_of() -> None:
    ok({place("where", PUT): {"user": 7, "shard": 5}})  # 0x8f14e45fceea167a5a36dedd4bea2543 % 10
    (problem,) = problems({place("where", PUT): {"user": 7, "shard": 4}})
    assert problem.path == "traffic[0].where.shard"
    assert "it can only be 5" in problem.message


def test_a_field_that_no_key_uses_cannot_be_fixed() -> None:
    (problem,) = problems({("fields", "idle"): {"kind": "uniform", "count": 5}, place("where", PUT): {"idle": 3}})
    assert problem.path == "traffic[0].where.idle"
    assert "no key template uses" in problem.message


def test_was_belongs_to_a_changed_index_key() -> None:
    scenario = ok({place("was", PUT): {"status": "done"}, place("touches", PUT): {"L1": "key-changed"}})
    assert scenario.traffic[0].was == {"status": "done"}


def test_a_partition_exists_where_their_number_is_given() -> None:
    ok({("table", "partitions"): 4, place("partition", PUT): 3})
    (problem,) = problems({("table", "partitions"): 4, place("partition", PUT): 4})
    assert "starts with 4 partitions, numbered 0 to 3" in problem.message
    (problem,) = problems({("table", "partitions"): 1, place("partition", PUT): 1})
    assert "starts with 1 partition, number 0" in problem.message


def test_a_batch_and_a_transaction_have_a_size_together() -> None:
    quarter_mb = 256 * 1024
    ok({place("batch", TRANSACT): 16, place("item_bytes", TRANSACT): quarter_mb})
    (problem,) = problems({place("batch", TRANSACT): 17, place("item_bytes", TRANSACT): quarter_mb})
    assert problem.path == "traffic[6].batch"
    assert "at most 4,194,304 bytes together" in problem.message
    assert problem.hint == "at most 16 such items"
    ok({place("batch", GETS): 64, place("item_bytes", GETS): quarter_mb})
    (problem,) = problems({place("batch", GETS): 65, place("item_bytes", GETS): quarter_mb})
    assert "at most 16,777,216 bytes together" in problem.message
    actions = [{"operation": "PutItem", "item_bytes": quarter_mb}] * 17
    (problem,) = problems({place("actions", TRANSACT): actions})
    assert problem.path == "traffic[6].actions"


def test_a_transaction_has_a_batch_or_actions() -> None:
    (problem,) = problems({place("actions", TRANSACT): [{"operation": "PutItem"}], place("batch", TRANSACT): 3})
    assert "a batch or actions, not both" in problem.message


def test_so_many_ticks_and_no_more() -> None:
    ok({("duration",): 50_000_000})
    (problem,) = problems({("duration",): 50_000_001})
    assert problem.path == "tick"
    assert "50,000,001 ticks; at most 50,000,000" in problem.message
    ok({("duration",): 3650 * 86_400, ("tick",): "30s"})


# What is known and not simulated

OF_REQUEST_LEVEL: list[tuple[dict[tuple[Any, ...], Any], str]] = [
    ({place("rate", PUT): ABSENT, place("threads", PUT): 4}, "traffic[0].threads"),
    ({place("client", PUT): {"retry": "adaptive"}}, "traffic[0].client.retry"),
    ({place("client", PUT): {"timeout": "1s"}}, "traffic[0].client.timeout"),
    ({place("client", PUT): {"circuit_breaker": {"failures": 5, "reset": "1s"}}}, "traffic[0].client.circuit_breaker"),
    ({place("client", PUT): {"rate_limit": {"write": 5}}}, "traffic[0].client.rate_limit"),
    ({place("client", PUT): {"retry_unprocessed": {"max_retries": 3}}}, "traffic[0].client.retry_unprocessed"),
]
AT_BOTH_LEVELS: list[dict[tuple[Any, ...], Any]] = [
    *({place("client", PUT): {"retry": mode}} for mode in ("none", "legacy", "standard-2025", "standard")),
    {place("client", PUT): {"max_attempts": 3}},
    {("event",): [{"at": 5, "write_capacity": 20}]},
    {("table", "autoscaling"): {"read": {"min": 1, "max": 5}}},
    {place("client", PUT): {"retry": "legacy", "base_delay": "50ms", "max_delay": "1s"}},
    {place("client", PUT): {"delays": ["50ms", "1s"]}},
]
NOT_SIMULATED: list[tuple[dict[tuple[Any, ...], Any], str]] = [
    ({place("page_delay", QUERY): "1s"}, "traffic[2].page_delay"),
    ({place("cursor", QUERY): {"ttl": "1h"}}, "traffic[2].cursor"),
]


@pytest.mark.parametrize(("changes", "path"), OF_REQUEST_LEVEL)
def test_what_only_the_request_level_simulates_is_refused_at_the_flow_level(
    changes: dict[tuple[Any, ...], Any], path: str
) -> None:
    (problem,) = problems(changes)
    assert problem.path == path
    assert 'is understood but not simulated at level = "flow"' in problem.message
    assert problem.hint.endswith('level = "request" simulates it')
    ok({**changes, ("level",): "request"})


@pytest.mark.parametrize(
    "walk",
    [
        {place("items", QUERY): 10**6},
        {place("items", QUERY): 10, place("limit", QUERY): 10},
        {place("scatter", QUERY): "user"},
    ],
)
def test_pages_of_a_walk_are_retried_at_the_request_level_alone(walk: dict[tuple[Any, ...], Any]) -> None:
    changes = {**walk, place("client", QUERY): {"retry": "standard"}}
    (problem,) = problems(changes)
    assert problem.path == "traffic[2].client"
    assert "retrying the pages of a walk" in problem.message
    ok({**changes, ("level",): "request"})
    ok({place("client", QUERY): {"retry": "standard"}})


@pytest.mark.parametrize("level", ["flow", "request"])
@pytest.mark.parametrize("changes", AT_BOTH_LEVELS)
def test_retries_of_single_items_are_simulated_at_both_levels(changes: dict[tuple[Any, ...], Any], level: str) -> None:
    ok({**changes, ("level",): level})


@pytest.mark.parametrize("level", ["flow", "request"])
@pytest.mark.parametrize(("changes", "path"), NOT_SIMULATED, ids=[path for _, path in NOT_SIMULATED])
def test_what_is_not_simulated_yet_says_so_with_a_cure(
    changes: dict[tuple[Any, ...], Any], path: str, level: str
) -> None:
    (problem,) = problems({**changes, ("level",): level})
    assert problem.path == path
    assert "is understood but not simulated yet in this version" in problem.message
    assert problem.hint


@pytest.mark.parametrize(
    "changes",
    [
        {place("items", QUERY): 1024},
        {place("items", QUERY): 10, place("limit", QUERY): 11},
        {place("items", QUERY): 10**6, place("pages", QUERY): 1},
        {place("items", SCAN): 10**6, place("limit", SCAN): 10, place("pages", SCAN): 1},
        {place("segments", SCAN): 2},
        {place("scatter", QUERY): "user"},
        {place("until", QUERY): 5},
        {place("until", QUERY): 5, place("pages", QUERY): 4, place("over_fetch", QUERY): 3},
        {place("items", QUERY): 10**6},
        {place("items", QUERY): 10, place("limit", QUERY): 10},
        {place("segments", SCAN): 1},
        {place("rate", PUT): ABSENT, place("follows", PUT): {"traffic": "get"}},
        {("table", "collection_bytes"): 5},
        {place("clients", PUT): 7},
        {place("client", PUT): {"retry": "none"}},
        {place("dax", GET): False},
        {("table", "streams"): True, ("table", "replicas"): 2, ("table", "table_class"): "standard-ia"},
    ],
)
def test_what_is_simulated_passes(changes: dict[tuple[Any, ...], Any]) -> None:
    ok(changes)


GSI = {"name": "G", "pk": "{status}", "read_capacity": 1, "write_capacity": 1}
FOLLOWS: dict[tuple[Any, ...], Any] = {place("rate", PUT): ABSENT, place("rate", GET): ABSENT}


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({**FOLLOWS, place("follows", PUT): {"traffic": "gt"}}, "traffic[0].follows.traffic", "no pattern 'gt'"),
        ({**FOLLOWS, place("follows", PUT): {"traffic": "put"}}, "traffic[0].follows.traffic", "would follow itself"),
        (
            {**FOLLOWS, place("follows", PUT): {"traffic": "get"}, place("follows", GET): {"traffic": "put"}},
            "traffic[1].follows.traffic",
            "get would follow itself",
        ),
        ({place("arrivals", PUT): "even", **FOLLOWS, place("threads", PUT): 3}, "traffic[0].arrivals", "with a rate"),
        ({("table", "gsi"): [{**GSI, "pk": "{stat}"}]}, "table.gsi[0].pk", "no field 'stat'"),
        ({("table", "gsi"): [{**GSI, "projection": "INCLUDE"}]}, "table.gsi[0].projected_bytes", "is required"),
        ({("table", "gsi"): [{**GSI, "name": "L1"}]}, "table.lsi[0].name", "must differ"),
        ({("table", "gsi"): [{**GSI, "projected_bytes": 409_601}]}, "table.gsi[0].projected_bytes", "at most 409,600"),
        ({("table", "gsi"): [{**GSI, "present": 0}]}, "table.gsi[0].present", "above 0 up to 1"),
        ({("table", "gsi"): [{"name": "G", "pk": "x"}]}, "table.gsi[0].write_capacity", "is required in provisioned"),
        ({("table", "gsi"): [{**GSI, "write_capacity": 40_001}]}, "table.gsi[0].write_capacity", "above the quota"),
        ({("table", "gsi"): [{**GSI, "name": f"G{k}"} for k in range(21)]}, "table.gsi", "at most 20"),
        (
            {("table", "gsi"): [GSI], place("index", QUERY): "G", place("consistent", QUERY): True},
            "traffic[2].consistent",
            "eventually consistent reads only",
        ),
        ({place("fetches", QUERY): True}, "traffic[2].fetches", "a Query on a local secondary index"),
        ({place("scatter", QUERY): "n"}, "traffic[2].scatter", "n is a sequence field"),
        (
            {place("scatter", QUERY): "status", ("table", "pk"): "{user}#{shard}#{day}"},
            "traffic[2].scatter",
            "does not use status",
        ),
        (
            {place("scatter", QUERY): "user", place("where", QUERY): {"user": 3}},
            "traffic[2].scatter",
            "fixed by where",
        ),
        (
            {place("scatter", QUERY): "user", ("fields", "user", "count"): 10_001},
            "traffic[2].scatter",
            "has 10,001 values; one request asks for at most 10,000",
        ),
        ({place("over_fetch", QUERY): 3, place("pages", QUERY): 5}, "traffic[2].over_fetch", "missing to until"),
        ({place("over_fetch", QUERY): 3, place("until", QUERY): 5}, "traffic[2].over_fetch", "a number of rounds"),
        ({place("over_fetch", QUERY): 0}, "traffic[2].over_fetch", "above 0"),
        (
            {place("items", SCAN): 10**9, place("limit", SCAN): 10},
            "traffic[3].items",
            "would walk 100,000,001 pages; at most 1,000,000",
        ),
        ({("event",): [{"at": 3601, "mode": "on-demand"}]}, "event[0].at", "must lie within the run"),
        ({("event",): [{"at": 5}]}, "event[0].at", "sets one or more of"),
        ({("event",): [{"at": 5, "index": "L1", "read_capacity": 5}]}, "event[0].index", "no global secondary index"),
        ({("alarm",): [{"metric": "ReadThrottles", "threshold": 1}]}, "alarm[0].metric", "must be one of"),
        ({("alarm",): [{"metric": "UserErrors", "threshold": 1, "index": "X"}]}, "alarm[0].index", "no index 'X'"),
        ({("alarm",): [{"metric": "UserErrors", "threshold": 1, "period": 90}]}, "alarm[0].period", "minutes"),
        (
            {("table", "autoscaling"): {"read": {"min": 5, "max": 4}}},
            "table.autoscaling.read.max",
            "must not be below min (5)",
        ),
        (
            {("table", "autoscaling"): {"read": {"min": 1, "max": 4, "target_utilization": 70}}},
            "table.autoscaling.read.target_utilization",
            "from 0.2 to 0.9",
        ),
        (
            {("table", "autoscaling"): {"read": {"min": 1, "max": 4, "schedule": [{"cron": "0 8 * * *", "min": 2}]}}},
            "table.autoscaling.read.schedule[0].cron",
            "six cron fields",
        ),
        ({place("client", PUT): {"base_delay": 2, "max_delay": 1}}, "traffic[0].client.max_delay", "must not be below"),
        ({place("client", PUT): {"rate_limit": {"write": 0}}}, "traffic[0].client.rate_limit.write", "above 0"),
    ],
)
def test_what_is_not_simulated_yet_is_checked_all_the_same(
    changes: dict[tuple[Any, ...], Any], path: str, message: str
) -> None:
    found = {problem.path: problem.message for problem in problems(changes)}
    assert message in found.get(path, ""), found


# All at once


def test_all_problems_of_a_file_come_at_once_in_its_order() -> None:
    found = problems(
        {
            ("duraton",): 5,
            ("tick",): 0.3,
            ("fields", "user", "kind"): "zipff",
            ("fields", "shard", "of"): "usr",
            ("table", "write_capcity"): 5,
            ("table", "read_capacity"): 0,
            place("operation", PUT): "PutItme",
            place("pk", PUT): "{sttus}",
            place("missing", GET): 7,
            place("condition_fails", GET): 0.5,
            place("starts", QUERY): 9999,
            place("pk", QUERY): "{",
            place("batch", BATCH): 99,
            place("threads", EXPIRE): 1,
        }
    )
    assert [problem.path for problem in found] == [
        "fields.user.kind",
        "fields.shard.of",
        "table.read_capacity",
        "table.write_capcity",
        "traffic[0].operation",
        "traffic[0].pk",
        "traffic[1].missing",
        "traffic[1].condition_fails",
        "traffic[2].starts",
        "traffic[2].pk",
        "traffic[4].batch",
        "traffic[8].threads",
        "duraton",
        "tick",
    ]


def test_a_problem_is_not_told_twice_under_other_names() -> None:
    (problem,) = problems({("table", "pk"): 5})
    assert problem.path == "table.pk"
    (problem,) = problems({("fields", "user"): 5})
    assert problem.path == "fields.user"
    (problem,) = problems({("table",): ABSENT, ("traffic", 0, "touches"): "all"})
    assert problem.path == "table"


def test_a_flood_of_problems_is_cut() -> None:
    found = problems({("fields", f"f{number}"): 5 for number in range(300)})
    assert len(found) == 101
    assert found[-1].message == "and 200 more problems"


@pytest.mark.parametrize("key", ["format", "duration", "table", "traffic"])
def test_what_is_required_is_missed(key: str) -> None:
    (problem,) = problems({(key,): ABSENT})
    assert problem.path == key
    assert problem.value == ""


# Hints


def test_the_nearest_name_comes_first_and_a_long_list_is_shortened() -> None:
    (problem,) = problems({place("item_byte", PUT): 5})
    nearest, _, rest = problem.hint.partition(" There are: ")
    assert nearest == "did you mean 'item_bytes'?"
    assert "item_bytes" in rest
    assert len(rest.split(", ")) == 12
    assert rest.endswith(" and 25 more")
    (problem,) = problems({("fields", "user", "cuont"): 5})
    assert problem.hint == "did you mean 'count'? There are: kind, count"
    (problem,) = problems({("alarm",): [{"metric": "UserErorrs", "threshold": 5}]})
    assert problem.hint.startswith("did you mean 'UserErrors'? There are: ")
    assert problem.hint.endswith(" and 8 more")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("14:00", "14h"), ("14:30", "14h30m"), ("00:30", "30m"), ("00:00", "0h"), (time(9, 5), "9h5m")],
)
def test_a_time_of_day_where_times_count_from_the_start_is_told(written: Any, meant: str) -> None:
    (problem,) = problems({place("rate", PUT): {"kind": "spike", "base": 1, "peak": 2, "at": written, "lasting": 5}})
    assert problem.path == "traffic[0].rate.at"
    assert problem.hint.startswith(f'times count from second 0 of the run: write "{meant}"')
    ok({place("rate", PUT): {"kind": "spike", "base": 1, "peak": 2, "at": meant, "lasting": 5}})


def test_steps_are_written_as_a_list_and_a_rate_without_kind_is_no_field() -> None:
    (problem,) = problems({place("rate", PUT): {"kind": "steps", "steps": [[0, 1]]}})
    assert problem.value == '"steps"'
    assert problem.hint == 'steps are written as a list: rate = [["0s", 100], ["10m", 1000]]'
    (problem,) = problems({place("rate", PUT): {"peak": 5}})
    assert 'must be a number, a list of steps, or a table with a kind, such as { kind = "ramp"' in problem.message
