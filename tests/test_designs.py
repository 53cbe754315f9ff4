"""Key designs: what each request costs, that any of them runs under any workload, and that files and functions say the same."""

from __future__ import annotations

import inspect
import itertools
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import models
import sim
from models import designs, workloads
from models.designs import DESIGNS, ROLES, Design
from models.workloads import WORKLOADS, Need, Workload
from sim.results.result import Result

MAKERS: dict[str, Callable[..., Any]] = {**DESIGNS, **WORKLOADS}


# What may be said of them.

RANGE = re.compile(r"from ([\d.,]*\d) to ([\d.,]*\d)\.$")
WORDS = re.compile(r"one of ((?:\"\w+\"(?:, )?)+)\.$")


def parameters() -> list[Any]:
    return [
        pytest.param(made, key, id=f"{name}-{key}")
        for name, made in MAKERS.items()
        for key in inspect.signature(made).parameters
    ]


def documented(made: Callable[..., Any], key: str) -> str:
    """What a docstring says of a parameter, on one line."""
    text = inspect.getdoc(made) or ""
    found = re.search(rf"^{key} : (.+(?:\n {{4}}.+)*)", text, re.MULTILINE)
    assert found, f"{made.__name__} does not say what {key} is"
    return " ".join(found.group(1).split())


@pytest.mark.parametrize(("made", "key"), parameters())
def test_a_parameter_takes_what_its_docstring_says_and_nothing_beyond(made: Callable[..., Any], key: str) -> None:
    said, default = documented(made, key), inspect.signature(made).parameters[key].default
    right: list[Any] = [default]
    wrong: list[Any] = [None, "nonsense", float("nan")]
    if isinstance(default, bool):
        right, wrong = [True, False], [*wrong, 1, "yes"]
    elif isinstance(default, str):
        words = WORDS.search(said)
        assert words, f"{key}: {said!r} does not say which words"
        right = re.findall(r'"(\w+)"', words.group(1))
        wrong += [right[0] + "x", right[0].swapcase()]
    else:
        limits = RANGE.search(said)
        assert limits, f"{key}: {said!r} does not say from where to where"
        is_whole = isinstance(default, int)
        least, most = ((int if is_whole else float)(limit.replace(",", "")) for limit in limits.groups())
        right, wrong = [default, least, most], [*wrong, True, least - 1e-6, most + 1, most * (1 + 1e-9) + 1e-9]
        wrong += [least + 0.5, least - 1] if is_whole else []
    for value in right:
        assert made(**{key: value})
    for value in wrong:
        with pytest.raises(ValueError, match=rf"^{key} = .*: must be "):
            made(**{key: value})


def test_every_key_design_of_the_mission_is_there(shared: Path) -> None:
    chapter = (shared / "mission.md").read_text(encoding="utf-8").split("## Key designs")[1].split("\n## ")[0]
    ids = re.findall(r"^\| (S-[A-Z0-9-]+) \|", chapter, re.MULTILINE)
    assert [made().shows for made in DESIGNS.values()] == ids
    assert [f"s-{name}".upper() for name in DESIGNS] == ids


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_is_called_as_it_is_listed_and_says_what_it_shows(name: str) -> None:
    design = DESIGNS[name]()
    assert design.name == name
    assert design.says.endswith(".")
    assert len(design.says) <= 140
    assert (design.variant, design.title) == ("", name)
    with pytest.raises(ValueError, match=r"^role = 'reed': must be 'write' or 'read' or 'list' or 'change'"):
        design.access("reed")  # type: ignore[arg-type]


def edges(made: Callable[..., Any], key: str) -> list[Any]:
    """A parameter's default and what its docstring allows at the most and at the least."""
    default = inspect.signature(made).parameters[key].default
    if isinstance(default, bool):
        return [default, not default]
    said = documented(made, key)
    if words := WORDS.search(said):
        return re.findall(r'"(\w+)"', words.group(1))
    limits = RANGE.search(said)
    assert limits
    return [default, *(type(default)(limit.replace(",", "")) for limit in limits.groups())]


@pytest.mark.parametrize("name", MAKERS)
def test_what_says_the_same_is_the_same(name: str) -> None:
    """No two of all combinations of defaults and extremes share a sentence that one of them makes untrue."""
    made = MAKERS[name]
    keys = list(inspect.signature(made).parameters)
    told: dict[str, Any] = {}
    for values in itertools.product(*(edges(made, key) for key in keys)):
        one = made(**dict(zip(keys, values, strict=True)))
        assert told.setdefault(one.told, one) == one, values
        assert len(one.says) <= 160, one.says
    assert len(told) > 1 or not keys


@pytest.mark.parametrize(
    ("made", "says", "never"),
    [
        (workloads.flash_sale(peak_per_s=600), "1.2 times the usual orders, 600 a second instead of 500", "10 times"),
        (workloads.tenant_dominance(largest_share=0.1), "One of 100 tenants has 10 %", "80 %"),
        (workloads.viral_post(viral_share=0.05), "One of 1,000 posts has 5 %", "50 %"),
        (workloads.bulk_load(batch=1), "5,000,000 items one by one", "batches"),
        (workloads.bulk_load(items=10**8), "more than half an hour sends", "until all"),
        (workloads.bulk_load(items=7), "7 items in batches of 7", "25"),
        (workloads.lock_polling(locks=20), "20 locks", "one lock"),
        (workloads.time_series(readings_per_s=2), "2 writes of 200 bytes a second", "thousand"),
        (designs.sparse(full=True), "all items are in", "takes as much"),
        (designs.sparse(open_fraction=0.9), "90 % of the items", "10 %"),
        (designs.good_sharded_gsi(shards=1), "N is 1.", "without"),
        (designs.denorm(copied=False), "Attributes in one place", "Copied"),
        (designs.bad_viral(viral_share=0.01, likes="items"), "1 % of the traffic", "no split"),
        (designs.bad_status(active_fraction=0.01), "1 % of the orders are active", "nearly all"),
        (designs.good_store(stores=1), "over 1 store of each region", "stores of"),
        (designs.good_user(exponent=0), "100,000 users evenly", "zipf"),
        (designs.lsi_gsi(kind="gsi"), "A global index", "local"),
        (designs.composite_sk(filtered=True), "A filter reads", "sort key"),
    ],
)
def test_a_sentence_is_made_of_its_parameters(made: Design | Workload, says: str, never: str) -> None:
    assert says in made.told
    assert never not in made.told


def test_a_title_says_which_variant_of_a_design_it_is() -> None:
    titles = {models.scenario(design, ONE_EACH).title for design, _ in COSTS.values()}
    assert len(titles) == len(COSTS)
    assert "sparse (full) under one-each" in titles
    # So short that three of them fit side by side as heads of small multiples.
    shards = [made(shards=1) for made in (designs.good_sharded_gsi, designs.shard_random, designs.shard_hash)]
    assert max(len(design.title) for design in (*shards, *(design for design, _ in COSTS.values()))) <= 24
    for design in shards:
        assert models.scenario(design, ONE_EACH).title == f"{design.name} (N = 1) under one-each"


def test_a_description_says_nothing_of_a_field_that_is_somebody_elses() -> None:
    def description(design: Design, workload: Workload, **fields: Any) -> str:
        return str(models.scenario(design, workload, settings={"fields": fields}).description)

    tenth, most = "One of 100 tenants has 10 %", "One of 100 tenants has 80 %"
    alone = description(designs.bad_tenant(largest_share=0.1), workloads.order_dates())
    assert tenth in alone
    # The workload's tenants go over the design's; where they are the same ones, that is said once.
    both = description(designs.bad_tenant(largest_share=0.1), workloads.tenant_dominance())
    assert (both.count(tenth), both.count(most)) == (0, 1)
    assert description(designs.bad_tenant(), workloads.tenant_dominance()).count(most) == 1
    own = description(designs.bad_tenant(), workloads.tenant_dominance(), tenant={"kind": "uniform", "count": 3})
    assert "One of" not in own
    assert description(designs.bad_tenant(), workloads.tenant_dominance()).startswith(designs.bad_tenant().says)
    # No post is asked for where no key has one.
    assert "posts" not in description(designs.good_user(), workloads.viral_post())
    assert "N is 10." not in description(designs.shard_hash(), ONE_EACH, shard={"kind": "uniform", "count": 3})


# What each request costs. Derived by hand: items of 1 KB unless said, half a read unit for 4 KB, a unit for 1 KB written, two in a
# transaction; with what follows a request.

T, BY_STATUS, BY_STORE, OPEN = "table", "index/by-status", "index/by-store", "index/open-orders"
W1, R1, L20 = {T: (0, 1)}, {T: (0.5, 0)}, {T: (2.5, 0)}
PLAIN = {"write": W1, "read": R1, "list": L20, "change": W1}
COSTS: dict[str, tuple[Design, dict[str, dict[str, tuple[float, float]]]]] = {
    # A move is a delete and a put in one transaction: 2 × 2.
    "bad-status": (designs.bad_status(), PLAIN | {"change": {T: (0, 4)}}),
    "bad-date": (designs.bad_date(), PLAIN),
    "bad-viral": (designs.bad_viral(), PLAIN),
    "bad-viral, items": (designs.bad_viral(likes="items"), PLAIN),
    "bad-tenant": (designs.bad_tenant(), PLAIN),
    "good-user": (designs.good_user(), PLAIN),
    "good-tenant-user": (designs.good_tenant_user(), PLAIN),
    "good-store": (designs.good_store(), PLAIN),
    # An entry for each order; a list of N × 20; a status that changes is deleted here and put there (F-GSI-3).
    "good-sharded-gsi": (
        designs.good_sharded_gsi(shards=4),
        {
            "write": {T: (0, 1), BY_STATUS: (0, 1)},
            "read": R1,
            "list": {BY_STATUS: (10, 0)},
            "change": {T: (0, 1), BY_STATUS: (0, 2)},
        },
    ),
    # N queries, each at least half a unit; a change looks for its order first.
    "shard-random": (
        designs.shard_random(shards=4),
        {"write": W1, "read": {T: (2, 0)}, "list": {T: (10, 0)}, "change": {T: (2, 1)}},
    ),
    "shard-hash": (designs.shard_hash(shards=4), PLAIN | {"list": {T: (10, 0)}}),
    # Edges of 200 bytes: twenty are 4,000 bytes.
    "adjacency": (
        designs.adjacency(),
        {"write": {T: (0, 2)}, "read": R1, "list": {T: (0.5, 0)}, "change": {T: (0, 2)}},
    ),
    "adjacency, transaction": (
        designs.adjacency(inverse="transaction"),
        {"write": {T: (0, 4)}, "read": R1, "list": {T: (0.5, 0)}, "change": {T: (0, 4)}},
    ),
    # The index has whole edges: it follows a change of role, which no key is.
    "adjacency, index": (
        designs.adjacency(inverse="index"),
        {
            "write": {T: (0, 1), "index/inverse": (0, 1)},
            "read": R1,
            "list": {"index/inverse": (0.5, 0)},
            "change": {T: (0, 1), "index/inverse": (0, 1)},
        },
    ),
    # A list: 20 keys of 100 bytes, then 20 posts one by one; a rename: 1 + 50, and 50 keys of 100 bytes are 8 KB.
    "denorm": (
        designs.denorm(),
        {
            "write": {T: (0, 1), "index/by-author": (0, 1)},
            "read": R1,
            "list": {T: (10, 0), "index/by-author": (0.5, 0)},
            "change": {T: (0, 51), "index/by-author": (1, 0)},
        },
    ),
    "denorm, not copied": (
        designs.denorm(copied=False),
        {
            "write": {T: (0, 1), "index/by-author": (0, 1)},
            "read": {T: (1, 0)},
            "list": {T: (20, 0), "index/by-author": (0.5, 0)},
            "change": W1,
        },
    ),
    # A tenth of the orders have an entry, of those that change as of all others.
    "sparse": (
        designs.sparse(),
        {
            "write": {T: (0, 1), OPEN: (0, 0.1)},
            "read": R1,
            "list": {OPEN: (2.5, 0)},
            "change": {T: (0, 1), OPEN: (0, 0.1)},
        },
    ),
    "sparse, full": (
        designs.sparse(full=True),
        {"write": {T: (0, 1), OPEN: (0, 1)}, "read": R1, "list": {OPEN: (25, 0)}, "change": {T: (0, 1), OPEN: (0, 1)}},
    ),
    # Orders of 3 KB: 3 units, entries 3, 1, 1; a list of 60 KB, 12,000 bytes, 2,000 bytes and 20 orders at half a unit.
    "projection": (
        designs.projection(),
        {
            "write": {T: (0, 3), BY_STORE: (0, 3)},
            "read": R1,
            "list": {BY_STORE: (7.5, 0)},
            "change": {T: (0, 3), BY_STORE: (0, 3)},
        },
    ),
    "projection, INCLUDE": (
        designs.projection(kind="INCLUDE"),
        {"write": {T: (0, 3), BY_STORE: (0, 1)}, "read": R1, "list": {BY_STORE: (1.5, 0)}, "change": {T: (0, 3)}},
    ),
    "projection, KEYS_ONLY": (
        designs.projection(kind="KEYS_ONLY"),
        {
            "write": {T: (0, 3), BY_STORE: (0, 1)},
            "read": R1,
            "list": {T: (10, 0), BY_STORE: (0.5, 0)},
            "change": {T: (0, 3)},
        },
    ),
    # All charged to the table, lists strongly consistent; a key that changes is two writes of its entry.
    "lsi-gsi": (designs.lsi_gsi(), {"write": {T: (0, 2)}, "read": R1, "list": {T: (5, 0)}, "change": {T: (0, 3)}}),
    "lsi-gsi, gsi": (
        designs.lsi_gsi(kind="gsi"),
        {
            "write": {T: (0, 1), "index/by-amount": (0, 1)},
            "read": R1,
            "list": {"index/by-amount": (2.5, 0)},
            "change": {T: (0, 1), "index/by-amount": (0, 2)},
        },
    ),
    # Ten matching orders are 12 KB, all hundred are 100 KB.
    "composite-sk": (designs.composite_sk(), {"write": W1, "read": R1, "list": {T: (1.5, 0)}, "change": {T: (0, 4)}}),
    "composite-sk, filtered": (designs.composite_sk(filtered=True), PLAIN | {"list": {T: (12.5, 0)}}),
}

ONE_EACH = Workload(
    name="one-each",
    says="One request of each role a second.",
    duration="1s",
    needs=tuple(Need(name=role, role=role, keys={"rate": 1}) for role in ROLES),
)


def cost_of(result: Result, need: str) -> dict[str, tuple[float, float]]:
    """Read and write units of one request with all that follows it, where there are any."""
    told = result.to_dict()["traffic"]
    total: dict[str, tuple[float, float]] = {}
    for pattern in result.scenario.traffic:
        if pattern.name == need or pattern.name.startswith(f"{need}: "):
            times = 1 if pattern.follows is None else pattern.follows.per
            for resource, each in told[pattern.name]["units_per_request"].items():
                read, write = total.get(resource, (0, 0))
                total[resource] = (read + times * each["read"], write + times * each["write"])
    return {resource: both for resource, both in total.items() if any(both)}


@pytest.mark.parametrize("label", COSTS)
def test_a_request_costs_what_arithmetic_says(label: str) -> None:
    design, costs = COSTS[label]
    result = sim.run(models.scenario(design, ONE_EACH))
    assert {role: cost_of(result, role) for role in ROLES} == costs


def test_a_change_under_a_sparse_index_is_of_any_order_for_the_format_cannot_say_of_an_open_one() -> None:
    """To close an open order takes its entry out, a whole write (F-GSI-3); the format has a tenth of it, as of any order."""
    sparse = designs.sparse()
    assert "not the closing of an open order" in " ".join(str(designs.sparse.__doc__).split())
    assert [access.get("touches") for access in sparse.access("change")] == [{"open-orders": "attribute-changed"}]
    closing = {"operation": "UpdateItem", "touches": {"open-orders": "removed"}}
    closes = replace(sparse, accesses={**sparse.accesses, "change": (closing,)})
    assert cost_of(sim.run(models.scenario(closes, ONE_EACH)), "change")[OPEN] == (0, pytest.approx(0.1))


def test_every_design_has_its_costs_derived() -> None:
    assert {label.split(",")[0] for label in COSTS} == set(DESIGNS)


# Under workloads.


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("name", DESIGNS)
def test_any_design_runs_under_any_workload(name: str, workload: str) -> None:
    scenario = models.scenario(DESIGNS[name](), WORKLOADS[workload]())
    assert scenario.notes == ()
    assert sim.loads(sim.dump(scenario)) == scenario
    # Ticks of a minute: the whole of it, thinly.
    result = sim.run(models.scenario(DESIGNS[name](), WORKLOADS[workload](), settings={"tick": "60s"}))
    assert all(record.offered.sum() > 0 for record in result.traffic.values())
    assert result.offered == pytest.approx(result.succeeded + result.failed + result.in_flight)
    if name in ("good-user", "good-tenant-user", "good-store", "composite-sk") and workload != "lock-polling":
        assert result.throttled == 0, "the table was made for this"


@pytest.mark.parametrize("label", COSTS)
def test_any_variant_of_a_design_makes_a_scenario_of_any_workload(label: str) -> None:
    for made in WORKLOADS.values():
        assert models.scenario(COSTS[label][0], made()).notes == ()


def test_what_follows_a_request_is_told_apart_by_a_word() -> None:
    scenario = models.scenario(designs.denorm(copies=7), ONE_EACH)
    follows = {one.name: (one.follows.traffic, one.follows.per) for one in scenario.traffic if one.follows}
    assert follows == {
        "list: posts": ("list", 1),
        "change: find copies": ("change", 1),
        "change: copies": ("change", 7),
    }


def asked(design: Design, *needs: Need, **capacity: Any) -> dict[str, sim.Traffic]:
    workload = Workload(name="w", says="W.", duration="1m", needs=needs)
    return {one.name: one for one in models.scenario(design, workload, **capacity).traffic}


def test_what_a_need_says_goes_where_it_means_something() -> None:
    strong = Need(name="r", role="read", keys={"rate": 1, "consistent": True, "item_bytes": 300})
    listed = Need(name="l", role="list", keys={"rate": 1, "consistent": True})
    taken = Need(name="c", role="change", keys={"rate": 1, "condition_fails": 0.5, "consistent": True, "clients": 3})
    found = asked(designs.shard_random(), strong, listed, taken)
    assert all(found[name].consistent for name in "rlc")
    assert (found["r"].item_bytes, found["r"].missing) == (300, 0.9)
    assert (found["c"].condition_fails, found["c: found"].condition_fails) == (0, 0.5)
    assert (found["c"].rate, found["c: found"].rate) == (1, None)
    assert found["c: found"].clients == 3
    # A global index has no consistent reads, so the design does without.
    assert not asked(designs.good_sharded_gsi(), listed)["l"].consistent
    assert asked(designs.lsi_gsi(), listed)["l"].consistent
    # A profile keeps its own size.
    renamed = asked(designs.denorm(), Need(name="c", role="change", keys={"rate": 1, "item_bytes": 2048}))
    assert (renamed["c"].item_bytes, renamed["c: copies"].item_bytes) == (512, 2048)


def test_batches_are_of_what_batches_take_and_as_many_requests_of_all_else() -> None:
    load = Need(name="load", role="write", keys={"rate": [["0s", 4], ["30s", 8]], "count": 100}, batch=25)
    put = asked(designs.good_user(), load)["load"]
    assert (put.operation, put.batch, put.count) == ("BatchWriteItem", 25, 100)
    counted = asked(designs.bad_viral(), load)["load"]
    assert (counted.operation, counted.count) == ("UpdateItem", 2500)
    steps: Any = counted.rate
    assert [rate for _, rate in steps.steps] == [100, 200]
    spike = Need(
        name="load",
        role="write",
        keys={"rate": {"kind": "spike", "base": 1, "peak": 3, "at": "9s", "lasting": "9s"}},
        batch=2,
    )
    rate: Any = asked(designs.bad_viral(), spike)["load"].rate
    assert (rate.base, rate.peak, rate.at, rate.lasting) == (2, 6, 9, 9)
    for source in (
        {"threads": 3},
        {"rate": {"kind": "csv", "path": "r.csv", "time": "t", "value": "v", "per": "second"}},
    ):
        with pytest.raises(ValueError, match="batch = 1"):
            asked(designs.bad_viral(), Need(name="load", role="write", keys=source, batch=2))
    both = asked(designs.adjacency(), load)
    assert both["load: inverse"].operation == "BatchWriteItem"
    assert both["load: inverse"].batch == 25
    looked = Need(name="c", role="change", keys={"rate": 1}, batch=3)
    assert asked(designs.shard_random(), looked)["c"].rate == 3
    # A batch is followed by batches, or by as many updates as it has items.
    counting = Design(
        name="counting",
        shows="S",
        says="S.",
        pk="USER#{user}",
        accesses={"write": ({"operation": "PutItem"}, {"called": "count", "operation": "UpdateItem", "per": 2})},
    )
    follows = asked(counting, load)["load: count"].follows
    assert follows is not None
    assert follows.per == 25 * 2
    seen = asked(designs.denorm(copied=False), Need(name="r", role="read", keys={"rate": 1}, batch=5))
    assert (seen["r"].batch, seen["r: author"].batch) == (5, 5)


def test_an_index_has_what_its_table_has() -> None:
    warm = models.scenario(designs.good_sharded_gsi(), workloads.flash_sale())
    assert warm.table.gsi[0].warm_write == 2 * 10_000  # twice the previous peak, as its table
    assert not warm.cost.warm_bought
    small = models.scenario(
        designs.good_sharded_gsi(), workloads.flash_sale(), mode="provisioned", read_capacity=5, write_capacity=7
    )
    assert (small.table.gsi[0].read_capacity, small.table.gsi[0].write_capacity) == (5, 7)
    bought = models.scenario(designs.good_sharded_gsi(), workloads.flash_sale(), mode="on-demand", warm_write=8000)
    assert bought.table.gsi[0].warm_write == 8000
    assert bought.cost.warm_bought


def once(scenario: sim.Scenario) -> float:
    """What a scenario's bill has for warm throughput, $ once."""
    return float(sim.run(sim.with_overrides(scenario, {"duration": "1m"})).bill.once)


def says_of_warmth(scenario: sim.Scenario) -> Any:
    """What a scenario states of who paid for its warmth; None where it states nothing."""
    return tomllib.loads(sim.dump(scenario)).get("cost", {}).get("warm_bought")


BY_STATUS_WARM = replace(
    designs.good_sharded_gsi(), gsi=[{**designs.good_sharded_gsi().gsi[0], "warm_write": 20_000}]
)  # one that states it, as somebody who bought it does


def test_what_grew_with_the_table_is_not_on_the_bill_and_what_was_bought_is() -> None:
    design, sale = designs.good_sharded_gsi(), workloads.flash_sale()
    grown = models.scenario(design, sale, mode="on-demand", previous_peak_write=10_000)
    assert (grown.table.gsi[0].warm_read, grown.table.gsi[0].warm_write) == (None, 20_000)
    assert (says_of_warmth(grown), once(grown)) == (False, 0)
    # 16,000 beyond the 4,000 of any index, at $0.00065 each (F-PRICE-15).
    bought = models.scenario(BY_STATUS_WARM, sale, mode="on-demand", previous_peak_write=10_000)
    assert (says_of_warmth(bought), once(bought)) == (None, pytest.approx(10.4))
    # Table and index have 1,000 beyond the 12,000 of any, at $0.00013 each.
    warmed = models.scenario(design, sale, mode="on-demand", warm_read=13_000)
    assert (says_of_warmth(warmed), once(warmed)) == (None, pytest.approx(2 * 0.13))
    both = {"mode": "on-demand", "previous_peak_write": 10_000, "warm_read": 13_000}
    for is_bought, dollars in ((False, 0), (True, 2 * 0.13 + 10.4)):
        said = models.scenario(design, sale, settings={"cost": {"warm_bought": is_bought}}, **both)
        assert said.table.gsi[0].warm_write == 20_000
        assert once(said) == pytest.approx(dollars)


@pytest.mark.parametrize(
    ("design", "capacity", "says"),
    [
        (designs.good_sharded_gsi(), {"previous_peak_write": 10_000, "warm_read": 13_000}, "warm_read is bought, and warm_write"),
        (BY_STATUS_WARM, {"previous_peak_read": 10_000}, "by-status.warm_write is bought, and warm_read of the index by-status"),
    ],
)  # fmt: skip
def test_a_bill_that_would_have_to_know_two_kinds_of_warmth_apart_is_refused(
    design: Design, capacity: dict[str, float], says: str
) -> None:
    with pytest.raises(ValueError, match=f"^{says} .*State all of them or none of them"):
        models.scenario(design, workloads.flash_sale(), mode="on-demand", **capacity)


@pytest.mark.parametrize(
    ("design", "capacity"),
    [
        (designs.good_sharded_gsi(), {"mode": "provisioned", "read_capacity": 50, "write_capacity": 50}),
        (designs.good_sharded_gsi(), {"mode": "on-demand", "previous_peak_read": 6000, "previous_peak_write": 2000}),
        (designs.good_sharded_gsi(), {"mode": "on-demand"}),
        (designs.good_user(), {"mode": "on-demand", "previous_peak_write": 10_000}),
    ],
    ids=["provisioned", "no more than any index has", "new", "no index"],
)
def test_where_no_index_has_grown_nothing_is_said_of_it(design: Design, capacity: dict[str, Any]) -> None:
    scenario = models.scenario(design, workloads.flash_sale(), **capacity)
    assert says_of_warmth(scenario) is None
    assert [index.warm_write for index in scenario.table.gsi] == [None] * len(design.gsi)


def test_a_peak_that_is_none_is_refused_as_in_a_file() -> None:
    with pytest.raises(sim.ScenarioError, match=r"table\.previous_peak_write: must be a number"):
        models.scenario(
            designs.good_sharded_gsi(), workloads.flash_sale(), mode="on-demand", previous_peak_write="many"
        )


def test_fields_of_the_settings_go_over_those_of_workload_and_design_one_by_one() -> None:
    users = {"kind": "uniform", "count": 7}
    plain = models.scenario(designs.good_tenant_user(), workloads.tenant_dominance())
    changed = models.scenario(
        designs.good_tenant_user(), workloads.tenant_dominance(), settings={"fields": {"user": users}}
    )
    assert changed == sim.with_overrides(plain, {"fields.user": users, "description": changed.description})
    # Also that of a workload of one's own, below the user's; and what a hash is of comes with it.
    settings = {"fields": {"user": {"kind": "hash", "of": "item", "count": 3}, "tenant": users}}
    workload = replace(workloads.tenant_dominance(), settings=settings)
    both = models.scenario(
        designs.good_tenant_user(), workload, settings={"fields": {"tenant": {"kind": "uniform", "count": 2}}}
    )
    counts = {name: getattr(field, "count", None) for name, field in both.fields.items()}
    assert counts == {"item": 1_000_000, "order": None, "tenant": 2, "user": 3}
    unused = models.scenario(designs.bad_date(), workloads.order_dates(), settings={"fields": {"usr": users}})
    assert [note.split()[0] for note in unused.notes] == ["fields.usr"]
    compared = models.compare([designs.good_user()], ONE_EACH, settings={"fields": {"user": users}})
    assert compared.variants[0].result.scenario.fields["user"].count == 7  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"table": {"mode": "on-demand"}}, "settings: table is none of them: give mode and capacity as arguments"),
        ({"traffic": []}, "settings: traffic is none of them: it is what the workload's needs become"),
        ({"fields": [1]}, r"settings: fields = \[1\]: must be a mapping"),
        ({"fields": {"user": 5}}, "good-user under flash-sale: fields.user: must be"),
        ({"sed": 3}, "good-user under flash-sale: sed: unknown key"),
    ],
)
def test_a_setting_that_would_be_lost_is_refused(settings: Any, says: str) -> None:
    design, workload = designs.good_user(), workloads.flash_sale()
    with pytest.raises(ValueError, match=f"^{says}"):
        models.scenario(design, workload, settings=settings)
    with pytest.raises(ValueError, match=f"^{says}"):
        models.scenario(design, replace(workload, settings=settings))


@pytest.mark.parametrize("key", ["pk", "sk", "gsi", "lsi"])
def test_keys_of_a_design_are_no_capacity(key: str) -> None:
    with pytest.raises(ValueError, match=rf"^{key} = .*: is the design's: dataclasses.replace\(design, {key}=…\)"):
        models.scenario(designs.good_user(), workloads.flash_sale(), mode="on-demand", **{key: []})


def test_variants_of_a_design_are_compared_under_labels_of_ones_own() -> None:
    kinds = {kind: designs.projection(kind=kind) for kind in ("ALL", "INCLUDE", "KEYS_ONLY")}
    compared = models.compare(kinds, workloads.tenant_dominance(orders_per_s=100), settings={"duration": "1m"})
    written = {
        one.label: one.result.resources["index/by-store"].lanes["write"].consumed_units.sum()
        for one in compared.variants
    }
    assert list(written) == list(kinds)
    # Orders of 3 KB: three units in an index of everything, changes of a fiftieth as many included; one in the others.
    assert written["ALL"] / written["KEYS_ONLY"] == pytest.approx(3 * 1.02, rel=0.03)
    assert written["INCLUDE"] == pytest.approx(written["KEYS_ONLY"])
    with pytest.raises(ValueError, match=r"two designs are called projection \(INCLUDE\)"):
        models.compare([kinds["INCLUDE"], kinds["ALL"], kinds["INCLUDE"]], workloads.tenant_dominance())
    titled = models.compare(kinds.values(), workloads.tenant_dominance(), settings={"duration": "1m"})
    assert [one.label for one in titled.variants] == ["projection", "projection (INCLUDE)", "projection (KEYS_ONLY)"]


# Named scenarios.

STANDS_FOR = {
    "bad-viral-items": designs.bad_viral(likes="items"),
    "good-sharded-gsi-one-shard": designs.good_sharded_gsi(shards=1),
    "denorm-without-copies": designs.denorm(copied=False),
    "sparse-full": designs.sparse(full=True),
    "projection-include": designs.projection(kind="INCLUDE"),
    "projection-keys-only": designs.projection(kind="KEYS_ONLY"),
    "lsi-gsi-global": designs.lsi_gsi(kind="gsi"),
    "composite-sk-filter": designs.composite_sk(filtered=True),
} | {name: made() for name, made in DESIGNS.items()}


def keys_of(scenario: sim.Scenario) -> dict[str, Any]:
    """Keys of table and indexes, without capacities."""
    table = scenario.table
    own = ("name", "pk", "sk", "projection", "projected_bytes", "present")
    families = {"gsi": table.gsi, "lsi": table.lsi}
    return {"pk": table.pk, "sk": table.sk} | {
        family: [{key: getattr(index, key, None) for key in own} for index in indexes]
        for family, indexes in families.items()
    }


@pytest.mark.parametrize("name", STANDS_FOR)
def test_a_named_scenario_has_the_keys_of_the_design_it_stands_for(name: str) -> None:
    design, named = STANDS_FOR[name], models.scenarios.load(name)
    assert named.shows == (design.shows,)
    assert keys_of(named) == keys_of(models.scenario(design, ONE_EACH))
    assert named.notes == ()


def test_every_named_scenario_of_a_key_design_stands_for_one() -> None:
    ids = {made().shows for made in DESIGNS.values()}
    assert {one.name for one in models.scenarios.named() if ids & set(one.shows)} == set(STANDS_FOR)
