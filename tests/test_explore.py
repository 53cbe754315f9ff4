"""Sliders over a scenario: what each position means as a scenario, and that picture and verdict are those of the position."""

from __future__ import annotations

import builtins
import struct
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

import ipywidgets
import numpy as np
import pytest
from reference.small import pattern, provisioned, scenario

import models
import sim
from sim.exploring import Explorer, patience
from sim.exploring.controls import Controls, Knob, controls_of
from sim.exploring.explorer import INSTALL, busiest_of
from sim.exploring.picture import DPI, WIDTH_INCHES, panels_of
from sim.names import TABLE, Dimension
from sim.scenario.table import holders

UPDATE_MAX_S = 0.3  # wanted on an idle machine; below held with room for one that runs other tests beside it
ROOM = 4.0
READ, WRITE = Dimension.READ, Dimension.WRITE

DESIGN: dict[str, Any] = {
    "format": 1,
    "title": "Orders by status",
    "description": "What it claims.",
    "shows": ["S-ID"],
    "duration": "10m",
    "fields": {
        "user": {"kind": "zipf", "count": 1000, "exponent": 0.85},
        "shard": {"kind": "hash", "of": "user", "count": 10},
    },
    "table": {
        "pk": "USER#{user}",
        "mode": "provisioned",
        "read_capacity": 200,
        "write_capacity": 600,
        "autoscaling": {"write": {"min": 600, "max": 900}},
        "gsi": [{"name": "by-status", "pk": "S#{shard}", "read_capacity": 5, "write_capacity": 400}],
    },
    "traffic": [
        {"name": "steps", "operation": "PutItem", "rate": [["0s", 100], ["5m", 300]]},
        {"name": "ramp", "operation": "PutItem", "rate": {"kind": "ramp", "from": 50, "to": 10, "over": "5m"}},
        {"name": "spike", "operation": "PutItem", "rate": {"kind": "spike", "base": 1, "peak": 40, "at": "1m", "lasting": "1m"}},
        {"name": "day", "operation": "GetItem", "rate": {"kind": "diurnal", "mean": 60, "peak": 100, "peak_at": "12:00"}},
        {"name": "plain", "operation": "GetItem", "rate": 10},
        {"name": "after", "operation": "GetItem", "follows": {"traffic": "plain"}},
    ],
}  # fmt: skip
BUSY = {(TABLE, READ): 100.0, (TABLE, WRITE): 300.0, ("index/by-status", WRITE): 300.0}


def controls(document: Mapping[str, Any] = DESIGN, **more: Any) -> Controls:
    one = sim.from_dict(document)
    return controls_of(one, {key: most for key, most in BUSY.items() if key[0] in holders(one.table)}, **more)


def knob(found: Controls, name: str) -> Knob:
    return next(knob for knob in found.knobs if knob.name == name)


def document(found: Controls, **position: float | str) -> dict[str, Any]:
    """The scenario of a position, as the format writes it."""
    import tomllib

    return tomllib.loads(sim.dump(found.at(position)))


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    return sim.explore(users=200, duration="10m")


# Positions as scenarios.


def test_a_scenario_has_sliders_for_what_it_has() -> None:
    found = controls()
    assert [(knob.name, knob.label, knob.base) for knob in found.knobs] == [
        ("rate", "highest rate (requests/s)", 300 + 50 + 40 + 100 + 10),
        ("skew", "skew (zipf exponent)", 0.85),
        ("shards", "shards", 10),
        ("read_capacity", "read capacity (units/s)", 200),
        ("write_capacity", "write capacity (units/s)", 600),
        ("capacity.by-status", "write capacity of by-status (units/s)", 400),
    ]
    assert found.base["mode"] == "provisioned"


def test_the_base_is_the_scenario_itself_and_so_is_a_slider_that_rounds() -> None:
    found = controls()
    assert found.at(found.base) is found.scenario
    assert found.at({}) is found.scenario
    assert found.at({"skew": 0.85 + 1e-9}) is found.scenario


def test_no_slider_offers_what_no_scenario_can_have() -> None:
    fields = {
        "user": {"kind": "zipf", "count": 9, "exponent": 19.8},
        "shard": {"kind": "uniform", "count": 10**15 // 2 + 1},
    }
    table = {"pk": "{user}#{shard}", "mode": "provisioned", "read_capacity": 1, "write_capacity": 30_000}
    traffic = [{"name": "a", "operation": "PutItem", "rate": 9e8}]
    found = controls({**DESIGN, "fields": fields, "table": table, "traffic": traffic})
    assert {knob.name: (knob.low, knob.high) for knob in found.knobs if knob.what != "capacity"} == {
        "rate": (0, 1e9),
        "skew": (0, 20),
        "shards": (1, 1e15),
    }
    assert knob(found, "write_capacity").high == 40_000  # the quota of a table
    for one in found.knobs:
        assert found.at({one.name: one.low}) != found.at({one.name: one.high})


def test_what_is_asked_between_two_steps_of_a_slider_is_what_runs() -> None:
    found = controls({**DESIGN, "traffic": [{"name": "a", "operation": "PutItem", "rate": 50}]})
    assert knob(found, "rate").step == 1
    assert found.at({"rate": 50.4}).traffic[0].rate == 50.4
    wide = controls(
        {**DESIGN, "traffic": [{"name": "a", "operation": "PutItem", "rate": 50}]}, ranges={"rate": (0, 1e9)}
    )
    assert wide.at({"rate": 0}).traffic[0].rate == 0


@pytest.mark.parametrize(
    ("position", "says"),
    [
        ({"write_capacity": 50_000, "skew": 1}, r"\Awrite capacity \(units/s\): table.write_capacity: is above the quota"),
        ({"skew": 21}, r"\Askew \(zipf exponent\): fields.user.exponent: must be a number from 0 to 20"),
        ({"capacity.by-status": 0.5}, r"\Awrite capacity of by-status \(units/s\): table.gsi\[0\].write_capacity: must be"),
        # With the index it is above the account's quota.
        ({"write_capacity": 39_000, "capacity.by-status": 39_000}, r"\Awrite capacity .*: with the indexes it is"),
    ],
)  # fmt: skip
def test_a_position_that_is_no_scenario_names_the_slider(position: dict[str, float | str], says: str) -> None:
    found = controls({**DESIGN, "account": {"account_write": 60_000}})
    with pytest.raises(sim.ScenarioError, match=says) as caught:
        found.at(position)
    assert "--set" not in str(caught.value)


def test_the_rate_scales_every_pattern_and_every_shape() -> None:
    rates = [traffic.get("rate") for traffic in document(controls(), rate=1000)["traffic"]]
    assert rates == [
        [[0, 200], [300, 600]],
        {"kind": "ramp", "from": 100, "to": 20, "over": 300},
        {"kind": "spike", "base": 2, "peak": 80, "at": 60, "lasting": 60},
        {"kind": "diurnal", "mean": 120, "peak": 200, "peak_at": 43200},
        20,
        None,
    ]


@pytest.mark.parametrize(
    ("position", "place", "value"),
    [
        ({"skew": 1.2}, ("fields", "user", "exponent"), 1.2),
        ({"shards": 4}, ("fields", "shard", "count"), 4),
        ({"read_capacity": 50}, ("table", "read_capacity"), 50),
        ({"write_capacity": 700}, ("table", "write_capacity"), 700),
        ({"capacity.by-status": 90}, ("table", "gsi", 0, "write_capacity"), 90),
    ],
)
def test_a_slider_changes_one_value_and_nothing_else(
    position: dict[str, float | str], place: tuple[str | int, ...], value: float
) -> None:
    moved, base = document(controls(), **position), document(controls())
    inner: Any = base
    for key in place[:-1]:
        inner = inner[key]
    assert inner[place[-1]] != value
    inner[place[-1]] = value
    del base["description"], base["shows"]  # a scenario that was moved does not bear the claim of the other
    assert moved == base


def test_on_demand_leaves_no_provisioned_capacity_behind() -> None:
    table = document(controls(), mode="on-demand", write_capacity=700)["table"]
    assert table == {"pk": "USER#{user}", "mode": "on-demand", "gsi": [{"name": "by-status", "pk": "S#{shard}"}]}


def test_a_table_on_demand_gets_the_capacity_of_its_sliders_when_it_is_provisioned() -> None:
    limits = {"max_write": 5000, "previous_peak_write": 900}
    table = {"pk": "USER#{user}", "mode": "on-demand", **limits, "gsi": [{"name": "by-status", "pk": "S#{shard}"}]}
    found = controls({**DESIGN, "table": table})
    made = document(found, mode="provisioned")["table"]
    index = {"name": "by-status", "pk": "S#{shard}", "read_capacity": 1, "write_capacity": 400}
    # A quarter more than the busiest period asks, rounded up.
    assert made == {
        "pk": "USER#{user}",
        "mode": "provisioned",
        "read_capacity": 150,
        "write_capacity": 400,
        "gsi": [index],
    }
    assert document(found, mode="provisioned", write_capacity=350)["table"]["write_capacity"] == 350
    assert found.at({"write_capacity": 350}) is found.scenario  # without meaning on demand


@pytest.mark.parametrize(
    "more",
    [
        {"event": [{"at": "5m", "write_capacity": 700}]},
        {"admission": "static"},
        {"event": [{"at": "5m", "mode": "on-demand"}]},
    ],
)
def test_a_scenario_that_hangs_on_its_mode_offers_no_other(more: dict[str, Any]) -> None:
    found = controls({**DESIGN, **more})
    assert found.modes == ()
    with pytest.raises(ValueError, match="mode: there is no such slider"):
        found.named({"mode": "on-demand"})


def test_several_fields_of_a_kind_have_sliders_by_their_names() -> None:
    fields = {
        "user": {"kind": "zipf", "count": 9, "exponent": 1},
        "post": {"kind": "zipf", "count": 9, "exponent": 3},
        "item": {"kind": "uniform", "count": 400},
    }
    found = controls(
        {
            **DESIGN,
            "fields": fields,
            "table": {"pk": "{user}#{post}#{item}", "mode": "on-demand"},
            "traffic": [{"name": "a", "operation": "PutItem", "rate": 1}],
        }
    )
    assert [k.name for k in found.knobs][:4] == ["rate", "skew.user", "skew.post", "shards"]
    assert knob(found, "shards").label == "number of item"  # the only field that could be a shard
    assert knob(found, "skew.post").high >= 3.5
    assert document(found, **{"skew.post": 2.0})["fields"]["post"]["exponent"] == 2


def test_only_fields_that_keys_use_have_sliders() -> None:
    fields: dict[str, Any] = {f"zipf-{n}": {"kind": "zipf", "count": 9, "exponent": 1} for n in range(9)}
    fields |= {f"shard-{n}": {"kind": "uniform", "count": 9} for n in range(3)}
    fields["hashed"] = {"kind": "hash", "of": "zipf-3", "count": 5}
    index = {"name": "by-status", "pk": "{zipf-1}#{shard-1}", "read_capacity": 5, "write_capacity": 5}
    table = {"pk": "{zipf-0}", "mode": "provisioned", "read_capacity": 5, "write_capacity": 5, "gsi": [index]}
    traffic = [
        {"name": "a", "operation": "PutItem", "rate": 1},
        {"name": "b", "operation": "GetItem", "rate": 1, "pk": "{zipf-2}"},
        {"name": "c", "operation": "GetItem", "rate": 1, "pk": "{hashed}"},
    ]
    found = controls({**DESIGN, "fields": fields, "table": table, "traffic": traffic})
    assert [k.target for k in found.knobs if k.what == "skew"] == ["zipf-0", "zipf-1", "zipf-2", "zipf-3"]
    assert [k.target for k in found.knobs if k.what == "shards"] == ["shard-1"]


def test_without_fields_or_rates_there_are_no_sliders_for_them() -> None:
    one = scenario(
        pattern(rate=None, threads=2, count=9), table=provisioned() | {"pk": "ONE"}, fields={}, level="request"
    )
    assert [k.name for k in controls_of(one, {(TABLE, WRITE): 9.0}).knobs] == ["capacity"]


# Ranges.


@pytest.mark.parametrize("start", [1, 7, 0.4, 1234, 3000, 99_999, 33.3])
def test_a_slider_has_a_hundred_even_steps_and_stands_on_one(start: float) -> None:
    rate = knob(controls({**DESIGN, "traffic": [{"name": "a", "operation": "PutItem", "rate": start}]}), "rate")
    assert rate.low == 0
    assert rate.high >= 3 * start
    assert (rate.high - rate.low) / rate.step >= 100 - 1e-9
    assert rate.base / rate.step == pytest.approx(round(rate.base / rate.step), abs=1e-6)


@pytest.mark.parametrize("most", [1, 40, 1e4, 1e9])
@pytest.mark.parametrize("own", [1, 10, 33.3, 600])
def test_the_own_capacity_lies_on_its_slider_however_much_is_asked_of_it(own: float, most: float) -> None:
    table = {"pk": "USER#{user}", "mode": "provisioned", "read_capacity": 5, "write_capacity": own}
    one = sim.from_dict({**DESIGN, "table": table})
    (found,) = (knob for knob in controls_of(one, {(TABLE, WRITE): most}).knobs if knob.what == "capacity")
    assert 1 <= found.low <= own <= found.high
    assert found.dragged_to(found.low + found.step * round((own - found.low) / found.step)) == own


def test_ranges_are_what_one_asks_for() -> None:
    found = controls(ranges={"rate": (400, 2000), "shards": (2, 12)})
    assert (knob(found, "rate").low, knob(found, "rate").high) == (400, 2000)
    assert (knob(found, "shards").low, knob(found, "shards").high, knob(found, "shards").step) == (2, 12, 1)
    assert knob(found, "write_capacity").low > 0  # there is no capacity of 0, unless one asks for it


@pytest.mark.parametrize(
    ("ranges", "says"),
    [
        ({"speed": (0, 1)}, "ranges: there is no slider 'speed'"),
        ({"rate": (600, 0)}, "low below high"),
        ({"rate": (0, float("inf"))}, "low below high"),
        ({"rate": 5}, r"rate must be two numbers \(low, high\) .*given: 5"),
        ({"rate": ("a", "b")}, "rate must be two numbers"),
        ({"rate": "ab"}, "rate must be two numbers"),
        ({"rate": (0, 1000, 2000)}, "rate must be two numbers"),
        ({"rate": (False, 1000)}, "rate must be two numbers"),
        (5, "ranges: must be ends by slider.*given: 5"),
        ({"rate": (0, 400)}, "rate is 500 at the start, not from 0 to 400"),
        ({"rate": (-1, 4000)}, "rate must lie within 0 to 1,666,666,666.67 "),  # 300 of the 500 are one pattern's
        ({"rate": (0, 2e9)}, "rate must lie within 0 to"),
        ({"skew": (-0.1, 1)}, "skew must lie within 0 to 20 "),
        ({"shards": (0, 12)}, "shards must lie within 1 to 1e15 "),
        ({"shards": (1.5, 12)}, "shards must have whole numbers"),
        ({"write_capacity": (0, 700)}, "write_capacity must lie within 1 to 1e9 "),
    ],
)
def test_a_range_that_cannot_be_is_refused(ranges: dict[str, tuple[float, float]], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        controls(ranges=ranges)


@pytest.mark.parametrize(
    ("position", "says"),
    [
        ({"shard": 3}, "shard: there is no such slider; did you mean 'shards'"),
        ({"shards": 500}, "shards: 500 is not on its slider, 1 to 50"),
        ({"shards": "many"}, "shards: 'many' is not on its slider"),
        ({"mode": "serverless"}, "mode: 'serverless' is none"),
        ({"mode": "ondemand"}, "mode: 'ondemand' is none of 'provisioned', 'on-demand'; did you mean 'on-demand'"),
        ({"mode": 5}, "mode: 5 is none of 'provisioned', 'on-demand'$"),
        ({"mode": np.array([1, 2])}, "is none of"),
        ({"rate": None}, "rate: None is not on its slider, 0 to 1,500, a number"),
        ({"rate": True}, "rate: True is not on its slider"),
        ({"rate": [1]}, "is not on its slider"),
        ({"rate": np.array([1, 2])}, "is not on its slider"),
        ({"rate": float("nan")}, "is not on its slider"),
        ({"rate": 10**400}, "is not on its slider"),
        ({"shards": 2.5}, "shards: 2.5 is not on its slider, 1 to 50 in whole numbers"),
        ([1], 'a position must name its sliders, as in {"rate": 500}'),
    ],
)
def test_a_position_that_is_on_no_slider_is_refused(position: dict[str, float | str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        controls().named(position)


@pytest.mark.parametrize("value", [np.int64(900), np.float32(900), np.float64(900)])
def test_numbers_of_numpy_are_numbers(value: Any) -> None:
    found = controls(starts={"rate": value}, ranges={"rate": (np.int64(0), value)})
    assert knob(found, "rate").high == 900
    assert found.at(found.named({"rate": value})) == found.at({"rate": 900})


# The explorer.


def test_the_table_of_users_starts_with_a_hot_key_that_shards_help() -> None:
    explorer = sim.explore()
    assert explorer.position == {"rate": 3000, "skew": 1.5, "shards": 1, "capacity": 4000, "mode": "provisioned"}
    assert explorer.verdict.startswith("THROTTLES ")
    assert "write sharding" in explorer.verdict
    hot = explorer.result.throttled_fraction
    explorer.move(capacity=12_000)
    assert explorer.result.throttled_fraction == pytest.approx(hot, rel=0.2)  # capacity does not
    explorer.move(capacity=4000, shards=4)
    assert explorer.verdict.startswith("OK ")


def test_a_move_runs_the_scenario_of_the_position(explorer: Explorer) -> None:
    before = explorer.picture
    explorer.move(rate=1200, skew=0.5)
    assert explorer.scenario.traffic[0].rate == 1200
    assert explorer.result.scenario is explorer.scenario
    assert explorer.result.offered == pytest.approx(1200 * 600, rel=0.01)
    assert explorer.picture != before
    again = sim.loads(sim.dump(explorer.scenario))
    assert sim.run(again).to_json() == explorer.result.to_json()


def test_an_update_is_quick() -> None:
    explorer = sim.explore()
    seconds = []
    for rate in (3100, 3500, 2000, 4000, 5000):
        explorer.move(rate=rate)
        seconds.append(explorer.seconds)
        assert explorer.result.offered == pytest.approx(rate * 1800, rel=0.01)  # the same work
    assert min(seconds) < ROOM * UPDATE_MAX_S


def test_the_picture_keeps_its_size(explorer: Explorer) -> None:
    sizes = set()
    for mode in ("provisioned", "on-demand"):
        explorer.move(mode=mode, rate=0 if mode == "on-demand" else 4000)
        assert explorer.picture.startswith(b"\x89PNG")
        sizes.add(struct.unpack(">II", explorer.picture[16:24]))
    assert len(sizes) == 1
    assert sizes.pop()[0] == DPI * WIDTH_INCHES


def test_panels_are_rates_above_partitions_and_those_of_an_index() -> None:
    assert panels_of([(TABLE, WRITE)]) == ((TABLE, WRITE), (TABLE, None))
    assert panels_of([]) == ((TABLE, WRITE), (TABLE, None))
    assert panels_of(list(BUSY)) == ((TABLE, READ), (TABLE, WRITE), (TABLE, None), ("index/by-status", None))


def test_a_given_scenario_starts_where_it_is_told_to() -> None:
    one = sim.from_dict(DESIGN)
    assert set(busiest_of(sim.run(one))) == set(BUSY)
    explorer = sim.explore(one, rate=250, shards=60)
    assert explorer.position["rate"] == 250
    assert explorer.scenario.fields["shard"].count == 60  # type: ignore[union-attr]
    assert struct.unpack(">I", explorer.picture[20:24])[0] > 600  # four panels
    with pytest.raises(ValueError, match="users: is for the table of users"):
        sim.explore(one, users=3)
    with pytest.raises(ValueError, match="capacity: there is no such slider"):
        sim.explore(one, capacity=3)  # of reads, or of writes?
    with pytest.raises(sim.ScenarioError, match="rate"):
        sim.explore(rate=-1)


def test_a_start_is_run_instead_of_the_scenario_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    one, runs = sim.from_dict(DESIGN), []
    own = sim.explore(one)
    monkeypatch.setattr(sys.modules[Explorer.__module__], "run", lambda made: runs.append(made) or sim.run(made))
    explorer = sim.explore(one, rate=own.position["rate"] / 10, shards=60)
    assert runs == [explorer.scenario] == [own.controls.at(explorer.position)]
    assert [knob.name for knob in explorer.controls.knobs] == [knob.name for knob in own.controls.knobs]
    # The ends are those that the scenario has at its own rate, but for chance.
    ends, own_ends = ([k.high for k in e.controls.knobs if k.what == "capacity"] for e in (explorer, own))
    assert ends == pytest.approx(own_ends, rel=0.5)  # rounded up to the next of ten in a decade
    runs.clear()
    still = sim.explore(one, rate=0)
    assert runs == [one, still.scenario]  # where nobody asks, nobody knows which capacities there are
    assert [knob.name for knob in still.controls.knobs] == [knob.name for knob in own.controls.knobs]


def test_a_scenario_that_is_too_long_can_start_at_a_lower_rate() -> None:
    long = request_level(10_000)
    with pytest.raises(sim.ScenarioError, match="a lower rate"):
        sim.explore(long)
    assert sim.explore(long, rate=1).scenario.traffic[0].rate == 1


def test_a_start_that_cannot_be_is_a_wrong_scenario_with_and_without_one() -> None:
    users = sim.explore(users=50, duration="5m").scenario
    for wrong in (lambda: sim.explore(capacity=60_000), lambda: sim.explore(users, capacity=60_000)):
        with pytest.raises(sim.ScenarioError, match=r"table\.write_capacity: is above the quota") as told:
            wrong()
        assert [problem.path for problem in told.value.problems] == ["table.write_capacity"]


@pytest.mark.parametrize("what", [5, {"format": 1}, b"file.toml", True])
def test_what_is_no_scenario_is_refused(what: Any) -> None:
    with pytest.raises(ValueError, match="scenario: give a Scenario or the path of its file"):
        sim.explore(what)


@pytest.mark.parametrize("value", [None, True, [1], np.array([1, 2])])
def test_a_move_to_what_is_no_number_leaves_the_sliders(explorer: Explorer, value: Any) -> None:
    before = explorer.position
    with pytest.raises(ValueError, match=r"rate: .* is not on its slider"):
        explorer.move(rate=value)
    assert explorer.position == before


# The widget.


def sliders(explorer: Explorer) -> dict[str, Any]:
    grid = explorer.widget.children[0]
    found = {child.description: child for child in grid.children[:-1]}
    return found | {"mode": grid.children[-1].children[1]}


def said(explorer: Explorer) -> str:
    return "\n".join(child.value for child in explorer.widget.children if isinstance(child, ipywidgets.HTML))


def shown(explorer: Explorer) -> bytes:
    (image,) = (child for child in explorer.widget.children if isinstance(child, ipywidgets.Image))
    data: bytes = image.value
    return data


@pytest.fixture
def small() -> Explorer:
    return sim.explore(users=50, duration="5m", ranges={"capacity": (1, 80_000)})


def test_a_slider_moves_picture_and_verdict(small: Explorer) -> None:
    assert list(sliders(small)) == [
        "rate (requests/s)", "skew (zipf exponent)", "shards", "write capacity (units/s)", "mode"
    ]  # fmt: skip
    before, told = shown(small), said(small)
    assert "THROTTLES" in told
    sliders(small)["shards"].value = 4
    assert small.scenario.fields["shard"].count == 4  # type: ignore[union-attr]
    assert shown(small) == small.picture != before
    assert said(small) != told


def test_sliders_follow_a_drag_from_the_first_quick_update_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds of processor time, of which each update looks at its first and last."""
    seconds = iter([0.0, 2.0, 2.0, 2.6, 2.6, 3.0, 3.0, 9.0])
    monkeypatch.setattr(sys.modules[Explorer.__module__], "run", sim.run)  # looks at no clock
    monkeypatch.setattr(time, "process_time", lambda: next(seconds))
    explorer = sim.explore(users=50, duration="5m")
    rate = sliders(explorer)["rate (requests/s)"]
    follows = [rate.continuous_update]
    for moved in (100, 200, 300):  # 0.6 s, 0.4 s, and one that other work has slowed down
        explorer.move(rate=moved)
        follows.append(rate.continuous_update)
    assert follows == [False, False, True, True]


def test_a_position_that_is_no_scenario_is_told_where_the_verdict_stands(small: Explorer) -> None:
    result, before = small.result, shown(small)
    sliders(small)["write capacity (units/s)"].value = 50_000  # above the table's quota
    assert "NOT SIMULATED" in said(small)
    assert "table.write_capacity" in said(small)
    assert small.error.startswith("write capacity (units/s): table.write_capacity: is above the quota")
    assert small.error
    assert (small.result, shown(small)) == (result, before)
    sliders(small)["write capacity (units/s)"].value = 4000
    assert small.error == ""
    assert "NOT SIMULATED" not in said(small)


def test_what_means_nothing_in_a_mode_does_not_move(small: Explorer) -> None:
    assert not sliders(small)["write capacity (units/s)"].disabled
    sliders(small)["mode"].value = "on-demand"
    assert small.scenario.table.mode == "on-demand"
    assert sliders(small)["write capacity (units/s)"].disabled


def test_a_move_from_python_moves_the_sliders_and_runs_once(small: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sliders(small)
    runs = []
    monkeypatch.setattr(
        sys.modules[Explorer.__module__], "run", lambda scenario: runs.append(scenario) or sim.run(scenario)
    )
    small.move(rate=4000, shards=2, mode="on-demand")
    assert (before["rate (requests/s)"].value, before["shards"].value, before["mode"].value) == (4000, 2, "on-demand")
    assert len(runs) == 1
    assert shown(small) == small.picture


def test_a_drag_moves_nothing_but_its_own_slider(small: Explorer) -> None:
    small.move(rate=33.333)  # between two steps
    sliders(small)["shards"].value = 2
    assert (small.position["rate"], small.position["shards"]) == (33.333, 2)
    assert small.scenario.traffic[0].rate == 33.333
    sliders(small)["rate (requests/s)"].value = 3000
    sliders(small)["skew (zipf exponent)"].value = 0.1 + 0.2
    assert (small.position["rate"], small.position["skew"]) == (3000, 0.3)


def test_a_slider_dragged_back_to_where_it_began_stands_for_a_value_between_its_steps() -> None:
    rate = knob(controls({**DESIGN, "traffic": [{"name": "a", "operation": "PutItem", "rate": 100 / 3}]}), "rate")
    nearest = rate.step * round(rate.base / rate.step)
    assert nearest != rate.base
    assert rate.dragged_to(nearest) == rate.base
    assert rate.dragged_to(nearest + rate.step) == pytest.approx(nearest + rate.step)


def test_moves_from_two_threads_end_at_the_newest(small: Explorer) -> None:
    slider = sliders(small)["shards"]
    other = threading.Thread(target=lambda: setattr(slider, "value", 7))
    slider.value = 3
    other.start()
    slider.value = 5
    other.join()
    assert small.position["shards"] == slider.value
    assert small.scenario.fields["shard"].count == slider.value  # type: ignore[union-attr]
    assert shown(small) == small.picture


def test_a_notebook_gets_sliders_and_a_saved_page_a_picture(small: Explorer) -> None:
    data = small._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == small.widget.model_id
    assert "data:image/png;base64," in data["text/html"]
    assert "rate (requests/s): 3,000" in data["text/html"]
    assert data["text/plain"] == repr(small)
    assert "THROTTLES" in repr(small)


def test_without_ipywidgets_there_is_a_picture_and_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "ipywidgets":
            raise ImportError("No module named 'ipywidgets'", name="ipywidgets")
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "sim.exploring.widgets", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    explorer = sim.explore(users=50, duration="5m")
    data = explorer._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html"}
    assert data["text/plain"].startswith(INSTALL)
    assert "pip install &#x27;ddbsim[notebooks]&#x27;" in data["text/html"]
    assert "data:image/png;base64," in data["text/html"]
    assert explorer.widget is None
    explorer.move(shards=4)
    assert explorer.scenario.fields["shard"].count == 4  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["cw", "pitfall-metrics", "bad-status", "gsi", "as-jump", "divide"])
def test_every_mode_and_end_of_a_slider_of_a_named_scenario_is_a_scenario(name: str) -> None:
    controls = sim.explore(models.scenarios.load(name)).controls
    for mode in controls.modes:
        assert controls.at({"mode": mode}).table.mode == mode
    for knob in controls.knobs:
        for end in (knob.low, knob.high):
            assert controls.at({knob.name: end}) is not None


def test_a_fault_of_the_picture_is_not_called_a_wrong_input(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = sim.explore(duration="2m")

    def broken(*_: object) -> bytes:
        raise ValueError("operands could not be broadcast")

    monkeypatch.setattr("sim.exploring.explorer.picture", broken)
    result, before = explorer.result, explorer.picture
    with pytest.raises(ValueError, match="broadcast"):
        explorer.move(rate=100)
    assert (explorer.result, explorer.picture) == (result, before)


# Runs that nobody waits for.


def request_level(rate: float, **more: Any) -> sim.Scenario:
    return scenario(pattern(rate=rate, **more), table=provisioned(), duration="1h", level="request")


def test_a_run_that_is_too_long_for_sliders_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "run_to_the_end", None)
    with pytest.raises(sim.ScenarioError, match=r"duration: a run of this is too long for sliders.*30d.*longer tick"):
        sim.explore(duration="30d")
    with pytest.raises(sim.ScenarioError, match=r'too long for sliders.*1h.*a lower rate or level = "flow"'):
        sim.explore(request_level(10_000))


def test_a_run_is_estimated_from_ticks_and_partitions_or_from_requests() -> None:
    one, ten = (scenario(pattern(), table=provisioned() | {"partitions": n}, duration="1h") for n in (1, 10))
    assert patience.least_seconds(ten) > patience.least_seconds(one) > 3600e-6
    assert patience.least_seconds(sim.with_overrides(one, {"tick": 10})) == patience.least_seconds(one) / 10
    full = patience.least_seconds(request_level(100))
    assert patience.least_seconds(request_level(100, starts="10m", ends="40m")) == pytest.approx(full / 2)
    assert patience.least_seconds(request_level(100, count=36_000)) == pytest.approx(full / 10)


@pytest.mark.parametrize("level", ["flow", "request"])
@pytest.mark.parametrize(
    ("looks_s", "says"),
    [
        ([4.8], ""),  # a slow set-up, and a quick rest: 4.8 s at the first look, and at all that follow
        ([1.1, 2.2, 3.3, 4.4], ""),  # ticks that are slow until a cache is warm
        ([5.1], "after 5.1 s it had simulated 1.7 % of its time"),  # a minute of an hour
        ([1.1, 2.2, 5.1], "after 5.1 s it had simulated 5 % of its time"),
    ],
)
def test_a_run_is_given_up_when_it_has_taken_too_long(
    monkeypatch: pytest.MonkeyPatch, level: str, looks_s: list[float], says: str
) -> None:
    times = iter([0.0, *looks_s])
    monkeypatch.setattr(patience, "process_time", lambda: next(times, looks_s[-1]))
    one = sim.with_overrides(request_level(1), {"level": level})
    if says:
        with pytest.raises(sim.ScenarioError, match=says):
            patience.run(one)
    else:
        assert patience.run(one).to_json() == sim.run(one).to_json()


def test_a_position_that_takes_too_long_is_told_where_the_verdict_stands(
    small: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, before = small.result, shown(small)
    monkeypatch.setattr(patience, "least_seconds", lambda _: 9.0)
    sliders(small)["rate (requests/s)"].value = 5000
    assert "NOT SIMULATED" in said(small)
    assert "too long for sliders, which wait 5 s at most: it would take over 9 s" in said(small)
    assert (small.result, shown(small)) == (result, before)
    monkeypatch.undo()
    sliders(small)["rate (requests/s)"].value = 100
    assert "NOT SIMULATED" not in said(small)
