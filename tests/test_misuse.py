"""Designs, workloads and their combinations in wrong hands: numbers of other libraries, slips, and what no one means."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import models
import sim
from models import designs, workloads
from models.workloads import Workload

LONG = "x" * 3000


def message_of(made: Any, *arguments: Any, kind: type[Exception] = ValueError, **keys: Any) -> str:
    """What is said by the error that a wrong use raises: not by one from inside, and no longer than can be read."""
    with pytest.raises(kind) as caught:
        made(*arguments, **keys)
    text = str(caught.value)
    assert len(text) < 1200, text
    return text


# Parameters.


@pytest.mark.parametrize(
    "posts", [np.int64(3), np.uint8(3), np.float32(3), Fraction(3), Decimal(3), 3.0, np.array(3)], ids=repr
)
def test_a_whole_number_may_be_any_librarys(posts: Any) -> None:
    assert designs.bad_viral(posts=posts) == designs.bad_viral(posts=3)
    assert [type(one) for one in designs.bad_viral(posts=posts).fields["post"]["weights"]] == [str] * 3


@pytest.mark.parametrize("share", [np.float64(0.25), np.float32(0.25), Fraction(1, 4), Decimal("0.25")], ids=repr)
def test_a_number_may_be_any_librarys(share: Any) -> None:
    assert designs.bad_tenant(largest_share=share) == designs.bad_tenant(largest_share=0.25)


def test_what_a_parameter_becomes_is_pythons_own() -> None:
    load = workloads.bulk_load(items=np.int64(1000), items_per_s=np.float32(50), batch=np.int16(7))
    assert load == workloads.bulk_load(items=1000, items_per_s=50, batch=7)
    assert [type(need.keys["count"]) for need in load.needs[:2]] == [int, int]
    readings = workloads.time_series(item_bytes=np.int64(1500))
    assert {type(value) for value in readings.capacity.values()} == {str, float}
    assert type(readings.needs[0].keys["item_bytes"]) is int
    assert type(designs.projection(kind=np.str_("INCLUDE")).variant) is str
    assert designs.sparse(full=np.bool_(True)) == designs.sparse(full=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [True, np.bool_(True), None, np.array([3]), [3], object(), 10**400, -(10**5000), LONG, 3 + 0j, Decimal("sNaN")],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_all_else_is_refused_with_the_range_in_a_line(wrong: Any) -> None:
    for key, allowed in (
        ("posts", "a whole number from 2 to 100,000"),
        ("viral_share", "a number from 0.01 to 0.99"),
        ("likes", "'counter' or 'items'"),
    ):
        text = message_of(designs.bad_viral, **{key: wrong})
        assert text.startswith(f"{key} = ")
        assert text.endswith(f": must be {allowed}")
        assert len(text) < 130
    assert len(message_of(designs.sparse, full=LONG)) < 130
    assert len(message_of(designs.sparse().access, LONG)) < 130


# What a scenario is made of.


def test_capacities_may_be_swept_with_numpy() -> None:
    design, sale = designs.good_sharded_gsi(), workloads.flash_sale()
    for units in np.arange(500, 1001, 500):
        swept = models.scenario(design, sale, mode="provisioned", read_capacity=units, write_capacity=units)
        plain = models.scenario(design, sale, mode="provisioned", read_capacity=int(units), write_capacity=int(units))
        assert swept == plain
        assert sim.dump(swept) == sim.dump(plain)
    # What has grown with the table's peak is found whatever the number's library.
    for peak in (np.int64(10_000), np.float32(10_000), Fraction(10_000)):
        grown = models.scenario(design, sale, mode=np.str_("on-demand"), previous_peak_write=peak)
        assert grown == models.scenario(design, sale, mode="on-demand", previous_peak_write=10_000)
        assert grown.table.gsi[0].warm_write == 20_000
        assert design.grown(mode="on-demand", previous_peak_write=peak) == {"by-status": {"warm_write": 20_000}}
        keys = design.table_keys(mode="on-demand", previous_peak_write=peak)
        assert type(keys["previous_peak_write"]) in (int, float)
        assert keys["gsi"][0]["warm_write"] == 20_000


def test_settings_fields_and_rates_may_be_numpys() -> None:
    rates = np.array([[0, 5], [30, 6]])
    steps = models.workloads.Need(name="n", role="write", keys={"rate": rates}, batch=np.int64(2))  # type: ignore[arg-type]
    weights = {"a": np.float64(0.25), "b": np.float64(0.75)}
    ours = Workload(
        name="ours",
        says="Ours.",
        duration="1m",
        needs=[steps],
        fields={"status": {"kind": "choice", "weights": weights}},
        fields_say={"status": "A quarter is a."},
        settings={"seed": np.int64(4)},
    )
    made = models.scenario(designs.bad_status(), ours, settings={"tick": np.float64(0.5)})
    assert (made.seed, made.tick, made.traffic[0].batch) == (4, 0.5, 2)
    assert "A quarter is a." in made.description
    counted = models.scenario(designs.bad_viral(), ours).traffic[0].rate  # two updates for a batch of two
    assert [rate for _, rate in counted.steps] == [10, 12]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "peak", ["5", [1], np.array([1, 2]), np.array([]), True, 10**400, float("inf"), {}, LONG], ids=str
)
def test_a_peak_that_is_none_is_refused_where_it_stands(peak: Any) -> None:
    for design in (designs.good_sharded_gsi(), designs.good_user()):
        text = message_of(
            models.scenario,
            design,
            workloads.flash_sale(),
            mode="on-demand",
            previous_peak_write=peak,
            kind=sim.ScenarioError,
        )
        assert "table.previous_peak_write: must be a number from 0 to 1e9" in text
        assert "warm_write" not in text


# Which design, which workload.

USER, SALE = designs.good_user(), workloads.flash_sale()


def test_a_design_and_a_workload_may_be_named() -> None:
    assert models.scenario("bad-date", "order-dates") == models.scenario(designs.bad_date(), workloads.order_dates())
    short: dict[str, Any] = {"settings": {"duration": "10s"}}
    named = models.compare(["bad-date", designs.good_user(), np.str_("sparse")], "order-dates", **short)
    assert [one.label for one in named.variants] == ["bad-date", "good-user", "sparse"]
    labels = models.compare({"a day": "bad-date"}, "order-dates", max_throttled=np.float32(0.5), **short)
    assert [one.label for one in labels.variants] == ["a day"]
    assert labels.max_throttled == 0.5


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ((SALE, USER), TypeError, "design is the workload flash-sale: a design comes first, the workload after it"),
        (("flash-sale", "good-user"), TypeError, "design = 'flash-sale': is a workload: a design comes first, the workload"),
        ((USER, USER), TypeError, "workload is the design good-user: a design comes first, the workload after it"),
        ((designs.good_user, SALE), TypeError, "design: designs.good_user is a function: call it, designs.good_user()"),
        ((USER, workloads.flash_sale), TypeError, "workload: workloads.flash_sale is a function: call it, workloads.fla"),
        ((workloads.flash_sale, USER), TypeError, "call it, workloads.flash_sale(); and a design comes first"),
        ((lambda: USER, SALE), TypeError, "it is a function: if it makes a design, call it"),
        ((designs.Design, SALE), TypeError, "design = <type Design>: must be a design, such as designs.good_user(), or the"),
        ((None, SALE), TypeError, "design = None: must be a design, such as designs.good_user(), or the name of one, 'good-u"),
        ((USER, 5), TypeError, "workload = 5: must be a workload, such as workloads.flash_sale(), or the name of one, 'flash-"),
        (([USER], SALE), TypeError, "several designs are put side by side by models.compare([…], workload)"),
        ((designs, SALE), TypeError, "must be a design, such as"),
        (("god_user", SALE), ValueError, "design = 'god_user': no design has this name — did you mean 'good-user'? There are"),
        ((USER, "FLASH-SALES"), ValueError, "no workload has this name — did you mean 'flash-sale'? There are: flash-sale, v"),
        ((USER, ""), ValueError, "workload = '': no workload has this name — There are: flash-sale, viral-post"),
        ((LONG, SALE), ValueError, "no design has this name — There are: bad-status, bad-date"),
    ],
)  # fmt: skip
def test_a_slip_with_design_or_workload_is_told_for_what_it_is(
    arguments: tuple[Any, Any], kind: type[Exception], says: str
) -> None:
    assert says in message_of(models.scenario, *arguments, kind=kind)


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ((USER, SALE), TypeError, "designs is the design good-user alone: give a list, [designs.good_user(), …], of one"),
        (("good-user", SALE), TypeError, "designs is 'good-user' alone: give a list"),
        ((designs.good_user, SALE), TypeError, "designs is <function good_user> alone: give a list"),
        ((SALE, [USER]), TypeError, "designs is the workload flash-sale: a list of designs comes first, the workload after"),
        ((5, SALE), TypeError, "designs = 5: must be a list of designs, [designs.good_user(), …], or a mapping of labels"),
        ((None, SALE), TypeError, "designs = None: must be a list of designs"),
        (([USER, 5], SALE), TypeError, "designs[1] = 5: must be a design"),
        (([designs.good_user], SALE), TypeError, "designs[0]: designs.good_user is a function: call it"),
        ((designs.DESIGNS, SALE), TypeError, "designs['bad-status']: designs.bad_status is a function: call it"),
        ((["good-user", "bad-dat"], SALE), ValueError, "designs[1] = 'bad-dat': no design has this name — did you mean 'bad-d"),
        (([USER], USER), TypeError, "workload is the design good-user"),
        (([USER], "flash sale"), ValueError, "did you mean 'flash-sale'?"),
        (([USER], None), TypeError, "workload = None: must be a workload"),
        (([USER], [SALE]), TypeError, "must be a workload, such as workloads.flash_sale(), or the name of one, 'flash-sale'"),
        (([], SALE), ValueError, "designs: there are none; give at least one"),
        (({}, SALE), ValueError, "designs: there are none; give at least one"),
        (({None: USER}, SALE), ValueError, "designs: labels must be texts that are not empty; None is none"),
        (({5: USER}, SALE), ValueError, "labels must be texts that are not empty; 5 is none"),
        (({"": USER}, SALE), ValueError, "labels must be texts that are not empty; '' is none"),
        (({" ": USER}, SALE), ValueError, "labels must be texts that are not empty; ' ' is none"),
    ],
)  # fmt: skip
def test_a_slip_with_what_is_compared_is_told_before_anything_runs(
    arguments: tuple[Any, Any], kind: type[Exception], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(sim, "run")
    assert says in message_of(models.compare, *arguments, kind=kind)


@pytest.mark.parametrize("share", ["x", 5, None, -0.1, float("nan")])
def test_a_share_that_is_none_is_told_before_anything_runs(share: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sim, "run")
    assert message_of(models.compare, [USER], SALE, max_throttled=share).endswith("must be a number from 0 to 1")


# What a scenario is made of, in other shapes.


@pytest.mark.parametrize(
    "settings", ["x", "", 5, 0, False, [], [1], np.array([1]), {5: 1}, {"fields": {5: 1}}, {"fields": None}], ids=repr
)
def test_settings_are_a_mapping(settings: Any) -> None:
    for design in (USER, designs.good_sharded_gsi()):
        text = message_of(models.scenario, design, SALE, settings=settings)
        assert text.startswith("settings")
        assert "must be a mapping, {" in text or "keys must be texts; 5 is none" in text


@pytest.mark.parametrize("cost", [None, [1], "x", np.array([1, 2]), 0], ids=repr)
def test_a_bill_that_is_none_is_refused_where_it_stands(cost: Any) -> None:
    for design in (USER, designs.good_sharded_gsi()):
        text = message_of(models.scenario, design, SALE, settings={"cost": cost}, kind=sim.ScenarioError)
        assert "cost: must be a table" in text


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"pk": "{"}, "table.pk: has an opening brace { that is never closed"),
        ({"pk": "a}"}, "table.pk: has a closing brace }"),
        ({"pk": None}, "table.pk: is required and missing"),
        ({"sk": 5}, "table.sk: must be a text"),
        ({"gsi": [{"name": "i", "pk": 5}]}, "table.gsi[0].pk: must be a text"),
        ({"gsi": [{"name": "i", "pk": "{"}]}, "table.gsi[0].pk: has an opening brace"),
        ({"gsi": 5}, "gsi = 5: must be a list, [{'name': …, …}, …]"),
        ({"gsi": None}, "gsi = None: must be a list"),
        ({"gsi": {"name": "i"}}, "gsi = {'name': 'i'}: must be a list"),
        ({"lsi": "by-date"}, "lsi = 'by-date': must be a list"),
        ({"lsi": [5]}, "lsi[0] = 5: must be a mapping, {'name': …, …}"),
        ({"gsi": [{"pk": "A"}]}, "gsi[0].name = None: must be a text"),
        ({"fields": 5}, "fields = 5: must be a mapping, {name: field}"),
        ({"fields": {5: {}}}, "fields: its keys must be texts; 5 is none"),
        ({"table": None}, "table = None: must be a mapping"),
        ({"name": 5}, "name = 5: must be a text"),
        ({"says": None}, "says = None: must be a text"),
        ({"fields_say": {"user": 5}}, "fields_say: a sentence = 5: must be a text"),
        ({"accesses": 5}, "accesses = 5: must be a mapping, {role: [pattern, …]}"),
        ({"accesses": {"wrte": []}}, "role = 'wrte': must be 'write' or 'read'"),
        ({"accesses": {"write": {"operation": "PutItem"}}}, "accesses.write = {'operation': 'PutItem'}: must be a list"),
        ({"accesses": {"write": [{}]}}, "accesses.write[0].operation = None: must be a text"),
        ({"accesses": {"write": [{"operation": "PutItem"}] * 2}}, "accesses.write[1].called = None: must be a text"),
        ({"accesses": {"list": [{"operation": "Query", "scatter": []}]}}, "traffic[2].scatter: must be a text"),
        ({"accesses": {"list": [{"operation": "Query", "where": 5}]}}, "traffic[2].where: must be a table of fields"),
        ({"accesses": {"write": [{"operation": "TransactWriteItems", "actions": 5}]}}, "traffic[0].actions: must be a list"),
        ({"accesses": {"write": [{"operation": "TransactWriteItems", "actions": [5]}]}}, "traffic[0].actions[0]: must be a t"),
        ({"item_bytes": "x"}, "traffic[0].item_bytes: must be a whole number"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_design_of_another_shape_is_refused_where_it_is_wrong(parts: dict[str, Any], says: str) -> None:
    assert says in message_of(lambda: models.scenario(replace(USER, **parts), SALE))


NEED = workloads.Need(name="n", role="change", keys={"rate": 1})


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"needs": 5}, "needs = 5: must be a list, [Need(…), …]"),
        ({"needs": NEED}, "must be a list, [Need(…), …]"),
        ({"needs": [{"name": "n"}]}, "needs[0] = {'name': 'n'}: must be a Need(…)"),
        ({"needs": []}, "traffic: no [[traffic]]"),
        ({"fields": 5}, "fields = 5: must be a mapping"),
        ({"capacity": None}, "capacity = None: must be a mapping, {'mode': …, …}"),
        ({"capacity": {5: 1}}, "capacity: its keys must be texts; 5 is none"),
        ({"settings": [1]}, "settings = [1]: must be a mapping"),
        ({"name": None}, "name = None: must be a text"),
        ({"says": 5}, "says = 5: must be a text"),
        ({"fields_say": 5}, "fields_say = 5: must be a mapping"),
        ({"duration": None}, "duration: must be a time"),
    ],
    ids=repr,
)
def test_a_workload_of_another_shape_is_refused_where_it_is_wrong(parts: dict[str, Any], says: str) -> None:
    ours = Workload(name="ours", says="Ours.", duration="1m", needs=[NEED])
    assert says in message_of(lambda: models.scenario(USER, replace(ours, **parts)))


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"name": 5}, "name = 5: must be a text"),
        ({"role": "wrte"}, "role = 'wrte': must be 'write' or 'read' or 'list' or 'change'"),
        ({"role": [1]}, "role = [1]: must be 'write'"),
        ({"keys": 5}, "keys = 5: must be a mapping, {'rate': …, …}"),
        ({"keys": {5: 1}}, "keys: its keys must be texts; 5 is none"),
        ({"batch": 0}, "batch = 0: must be a whole number from 1 to 1,000,000"),
        ({"batch": "x"}, "batch = 'x': must be a whole number"),
        ({"batch": 2, "keys": {"rate": "x"}}, 'traffic[0].rate: must be a number from 0 to 1e9 requests per second [pattern "n"]'),
        ({"batch": 2, "keys": {"rate": 1, "count": "x"}}, 'count: must be a whole number from 1 to 1e15 [pattern "n"] (given: "x")'),
        ({"batch": 2, "keys": {"follows": 5}}, "traffic[0].follows: must be a table"),
        ({"batch": 2, "keys": {"follows": {"traffic": "m"}}}, "traffic[0].follows"),
        ({"batch": 2, "keys": {"follows": {"traffic": "n", "per": "x"}}}, "traffic[0].follows.per: must be a number"),
        ({"role": None}, "traffic[0].operation: is required and missing"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_need_of_another_shape_is_refused_where_it_is_wrong(parts: dict[str, Any], says: str) -> None:
    def made() -> sim.Scenario:
        return models.scenario(USER, Workload(name="ours", says="Ours.", duration="1m", needs=[replace(NEED, **parts)]))

    assert says in message_of(made)


# Capacity.


@pytest.mark.parametrize(
    "capacity",
    [
        {"partitions": 5},
        {"table_class": "standard-ia"},
        {"streams": True, "replicas": 1},
        {"max_write": 100},
        {"previous_peak_write": 200},
        {"previous_peak_write": None, "previous_peak_read": None},
        {"mode": None, "burst_at_start": 0.5},
    ],
    ids=str,
)
def test_without_a_mode_what_is_given_goes_over_the_workloads_own(capacity: dict[str, Any]) -> None:
    table = models.scenario(USER, SALE, **capacity).table
    said = SALE.capacity | {key: value for key, value in capacity.items() if key != "mode"}
    assert {key: getattr(table, key) for key in said} == said


def test_with_a_mode_it_stands_instead_of_the_workloads_own() -> None:
    table = models.scenario(USER, SALE, mode="on-demand", partitions=5).table
    assert (table.previous_peak_write, table.partitions) == (None, 5)
    ours = replace(SALE, capacity={"mode": "provisioned", "read_capacity": 50, "write_capacity": 70})
    changed = models.scenario(designs.sparse(), ours, write_capacity=np.int64(90)).table
    assert (changed.read_capacity, changed.write_capacity, changed.gsi[0].write_capacity) == (50, 90, 90)


@pytest.mark.parametrize(
    ("capacity", "says"),
    [
        ({"write_capacity": 5}, "write_capacity = 5: is of a table with mode='provisioned', and that of flash-sale has 'on-demand': "
         "give the mode, and all of its capacity: mode='provisioned', read_capacity=…, write_capacity=…"),
        ({"partitions": 5, "autoscaling": {}}, "autoscaling = {}: is of a table with mode='provisioned'"),
        ({"seed": 5}, "seed = 5: is no capacity, but a key at the top of the scenario: settings={'seed': 5}"),
        ({"mode": "on-demand", "level": "request"}, "settings={'level': 'request'}"),
        ({"duration": "5m"}, "settings={'duration': '5m'}"),
        ({"fields": {}}, "settings={'fields': {}}"),
        ({"traffic": []}, "traffic = []: is no capacity: it is what the workload's needs become"),
        ({"table": {}}, "table = {}: is no capacity: give mode and capacity as arguments"),
        ({"users": 5}, "users = 5: is no capacity, but a parameter: designs.good_user(users=5)"),
        ({"peak_per_s": 9}, "peak_per_s = 9: is no capacity, but a parameter: workloads.flash_sale(peak_per_s=9)"),
        ({"pk": LONG}, "is the design's: dataclasses.replace(design, pk=…)"),
        ({"seed": LONG}, "seed = 'xxx"),
        ({"write_capcity": 5}, "good-user under flash-sale: table.write_capcity: unknown key (given: 5) — did you mean 'write_capacity'?"),
        ({"mode": "on_demand"}, "good-user under flash-sale: table.mode: must be one of 'provisioned', 'on-demand'"),
        ({"mode": "provisioned", "write_capacity": 5}, "good-user under flash-sale: table.read_capacity: is required"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_a_capacity_that_is_none_is_told_where_it_belongs(capacity: dict[str, Any], says: str) -> None:
    text = message_of(models.scenario, USER, SALE, **capacity)
    assert says in text
    assert "mode: is required" not in text
    assert LONG[:100] not in text


@pytest.mark.parametrize("key", ["mode", "write_capacity", "partitions", "pk", "gsi"])
def test_a_key_of_the_table_is_no_setting(key: str) -> None:
    text = message_of(models.scenario, USER, SALE, settings={key: 5})
    assert text.startswith(
        f"settings: {key} is none of them, but a key of the table: give mode and capacity as arguments ("
    )


def test_a_provisioned_workload_has_no_previous_peak() -> None:
    ours = replace(SALE, capacity={"mode": "provisioned", "read_capacity": 50, "write_capacity": 70})
    text = message_of(models.scenario, USER, ours, max_write=9)
    assert "with mode='on-demand', and that of flash-sale has 'provisioned'" in text


def test_an_error_names_the_variant_and_the_workload() -> None:
    text = message_of(models.compare, {"mine": designs.sparse(full=True)}, SALE, settings={"sed": 3})
    assert text.startswith("sparse (full) under flash-sale: sed: unknown key")
