"""Workloads: each has a point of its own, which some design meets and another does not."""

from __future__ import annotations

import pytest

import models
import sim
from models import designs, workloads
from models.designs import ROLES, Design
from models.workloads import WORKLOADS, Workload
from sim import limits
from sim.results.result import Result


def run(design: Design, workload: Workload, **settings: object) -> Result:
    return sim.run(models.scenario(design, workload, settings=settings or None))


def refused(result: Result, name: str) -> float:
    """Throttled share of one pattern's attempts."""
    record = result.traffic[name]
    return float(record.throttled.sum() / record.attempts.sum())


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_called_as_it_is_listed_and_says_what_it_is(name: str) -> None:
    workload = WORKLOADS[name]()
    assert workload.name == name
    assert workload.says.endswith(".")
    assert len(workload.says) <= 140
    assert len({need.name for need in workload.needs}) == len(workload.needs)


def test_every_role_is_asked_for_by_some_workload() -> None:
    assert {need.role for made in WORKLOADS.values() for need in made().needs} == {*ROLES, None}


def test_a_flash_sale_throttles_one_key_and_not_many() -> None:
    """5,000 orders a second for 15 minutes and 500 for as long: a day's one partition takes 1,000 and 500."""
    day, user = (run(design, workloads.flash_sale()) for design in (designs.bad_date(), designs.good_user()))
    # The newest order is changed, too: 2 % more. 4,100 of 5,100 are refused, of 15 of 30 minutes, and nothing of 510.
    assert refused(day, "orders") == pytest.approx(4100 * 900 / (5100 * 900 + 510 * 900), rel=0.01)
    assert user.throttled == 0


def test_a_viral_post_throttles_where_the_post_is_the_key() -> None:
    """Likes grow from 333 to 3,000 a second over ten minutes and stay for ten: the post's item has half of them, and takes 1,000."""
    result = run(designs.bad_viral(), workloads.viral_post())
    # At the end 500 of 3,000, and what lies beside the item: less than 4 % of its partition's 1,600.
    last = result.traffic["likes"]
    assert 500 / 3000 - 0.003 < last.throttled[15:].sum() / last.attempts[15:].sum() < 570 / 3000
    assert run(designs.good_user(), workloads.viral_post()).throttled == 0
    mild = run(designs.bad_viral(), workloads.viral_post(viral_share=0.1))
    assert mild.throttled == 0


def test_a_dominant_tenant_throttles_where_the_tenant_is_the_key() -> None:
    hot, spread = (
        run(design, workloads.tenant_dominance(), duration="5m")
        for design in (designs.bad_tenant(), designs.good_tenant_user())
    )
    # 1,632 writes and changes a second at least, of which 1,000 pass: less with its partition's other tenants.
    assert refused(hot, "orders") >= 632 / 2040 - 0.01
    assert spread.throttled == 0


def test_readings_throttle_in_one_place_and_not_in_ten() -> None:
    hot, sharded = (
        run(design, workloads.time_series(), duration="5m") for design in (designs.bad_date(), designs.shard_hash())
    )
    # 4,000 a second of which 1,000 pass; and one second's worth at the start, which lasts for 300,000 of 1,200,000 all the same.
    assert refused(hot, "readings") == pytest.approx((1_200_000 - 301_000) / 1_200_000, abs=0.001)
    assert refused(sharded, "readings") == 0
    large = run(designs.shard_hash(), workloads.time_series(item_bytes=1025), duration="1m")
    assert large.to_dict()["traffic"]["readings"]["units_per_request"]["table"]["write"] == 2


def test_orders_by_date_move_at_midnight() -> None:
    result = run(designs.bad_date(), workloads.order_dates())
    hot = [one.key for one in result.hot_keys[:2]]
    assert sorted(hot) == ["DATE#2026-01-01", "DATE#2026-01-02"]
    assert refused(result, "orders") == pytest.approx(1 / 3, abs=0.003)


def test_one_lock_throttles_whatever_the_keys_are_and_twenty_do_not() -> None:
    """4,000 strong reads and 1,200 writes a second of one item, which gives 3,000 and 1,000; of twenty each has a twentieth."""
    one = run(designs.good_user(), workloads.lock_polling())
    assert refused(one, "polls") == pytest.approx(1000 / 4000, abs=0.01)
    # The item's partition has some of the work, too.
    assert 200 / 1200 - 0.01 < refused(one, "takes") < 320 / 1200
    assert run(designs.good_user(), workloads.lock_polling(locks=20), duration="2m").throttled == 0


def test_a_lock_is_in_no_index() -> None:
    told = run(designs.good_sharded_gsi(), workloads.lock_polling(), duration="1m").to_dict()["traffic"]
    assert told["takes"]["units_per_request"]["table"]["write"] == 1
    assert "index/by-status" not in told["takes"]["units_per_request"]
    assert told["work"]["units_per_request"]["index/by-status"]["write"] == 1


def test_a_bulk_load_loses_what_batches_hand_back() -> None:
    small = workloads.bulk_load(items=300_000)
    lost, whole = (run(design, small, duration="5m") for design in (designs.bad_date(), designs.good_user()))
    # 200 batches a second for a minute; 60,000 items and a bucket's 1,000 are written to the day's one key.
    assert lost.traffic["load"].offered.sum() == 12_000
    assert lost.to_dict()["traffic"]["load"]["unprocessed"] == pytest.approx(300_000 - 61_000, rel=0.01)
    assert whole.to_dict()["traffic"]["load"]["unprocessed"] == 0
    assert whole.to_dict()["traffic"]["load"]["finished_s"] == pytest.approx(60 + 60, abs=2)


@pytest.mark.parametrize("design", [designs.good_user(), designs.bad_viral()], ids=["in batches", "one by one"])
@pytest.mark.parametrize("items", [1, 12, 24, 25, 26, 49, 50])
def test_a_bulk_load_sends_as_many_items_as_it_says(items: int, design: Design) -> None:
    result = run(design, workloads.bulk_load(items=items, items_per_s=100), duration="10m")
    sent = {one.name: result.traffic[one.name].offered.sum() * one.batch for one in result.scenario.traffic}
    assert sent.pop("lists") > 0
    assert sum(sent.values()) == items
    assert result.resources["table"].lanes["write"].consumed_units.sum() == pytest.approx(items)
    assert set(sent) == ({"load"} if items in (1, 12, 24, 25, 50) else {"load", "rest"})


def test_a_bulk_load_takes_the_largest_batch_there_is_and_no_larger() -> None:
    assert workloads.bulk_load(batch=limits.BATCH_WRITE_ITEMS_MAX)
    with pytest.raises(ValueError, match="batch = 26"):
        workloads.bulk_load(batch=limits.BATCH_WRITE_ITEMS_MAX + 1)


def test_a_nightly_export_in_small_pages_ends_and_in_full_ones_breaks_off() -> None:
    slow = run(designs.good_user(), workloads.nightly_export())
    fast = run(designs.good_user(), workloads.nightly_export(page_items=1000))
    assert slow.traffic["export"].succeeded.sum() == pytest.approx(1, abs=1e-3)
    # 80,000 pages of 50 KB at 6.5 units, and the last one that finds nothing.
    export = slow.to_dict()["traffic"]["export"]
    assert export["units_per_request"]["table"]["read"] == 80_000 * 6.5 + 0.5
    assert slow.throttled == 0
    assert fast.traffic["export"].succeeded.sum() < 0.9
