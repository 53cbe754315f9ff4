"""Templates and fields become spreads: which keys there are, how heavy, and where."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from reference.small import scenario

from sim.keyspace import building, domain
from sim.keyspace.building import KeySpace, KeySpec
from sim.keyspace.domain import shard_of
from sim.keyspace.hashing import position_of
from sim.keyspace.spread import Spread

FIELDS = {
    "user": {"kind": "zipf", "count": 200, "exponent": 1.1},
    "day": {"kind": "clock", "format": "%Y-%m-%d"},
    "minute": {"kind": "clock", "format": "%H:%M"},
    "tenant": {"kind": "choice", "weights": {"big": 8, "small": 1, "é": 1}},
    "shard": {"kind": "hash", "of": "user", "count": 10},
    "suffix": {"kind": "uniform", "count": 10},
    "million": {"kind": "zipf", "count": 1_000_000, "exponent": 1.0},
    "huge": {"kind": "zipf", "count": 10**9, "exponent": 1.0},
    "trillion": {"kind": "uniform", "count": 10**12},
    "seq": {"kind": "sequence"},
}


def spread(pk: str, sk: str | None = None, at_s: float = 0.0, **where: str) -> Spread:
    spec = KeySpec(pk, sk, tuple(sorted(where.items())))
    return KeySpace(scenario(fields=FIELDS, table={"pk": "PK"}), [spec]).spread(spec, at_s)


def shares(spread: Spread) -> dict[int, float]:
    return dict(zip(spread.positions.tolist(), spread.shares.tolist(), strict=True))


def law(exponent: float, count: int) -> list[float]:
    weights = [(k + 1) ** -exponent for k in range(count)]
    return [w / sum(weights) for w in weights]


def test_a_template_has_the_keys_and_the_shares_of_its_field() -> None:
    wanted = {position_of(f"USER#{k}"): share for k, share in enumerate(law(1.1, 200))}
    assert shares(spread("USER#{user}")) == pytest.approx(wanted)


def test_fields_are_independent() -> None:
    found = shares(spread("{tenant}/{user}/{suffix}"))
    weights = {"big": 0.8, "small": 0.1, "é": 0.1}
    wanted = {
        position_of(f"{tenant}/{user}/{suffix}"): weights[tenant] * share / 10
        for tenant, (user, share), suffix in itertools.product(weights, enumerate(law(1.1, 200)), range(10))
    }
    assert found == pytest.approx(wanted)


def test_a_shard_follows_the_id_beside_it() -> None:
    wanted = {position_of(f"{k}#{shard_of(str(k), 10)}"): share for k, share in enumerate(law(1.1, 200))}
    assert shares(spread("{user}#{shard}")) == pytest.approx(wanted)


def test_a_shard_alone_gathers_its_ids() -> None:
    wanted: dict[int, float] = {}
    for k, share in enumerate(law(1.1, 200)):
        position = position_of(f"S{shard_of(str(k), 10)}")
        wanted[position] = wanted.get(position, 0.0) + share
    found = {position: share for position, share in shares(spread("S{shard}")).items() if share > 0}
    assert found == pytest.approx(wanted)


def test_a_field_written_twice_is_one_value() -> None:
    assert set(shares(spread("{suffix}-{suffix}"))) == {position_of(f"{k}-{k}") for k in range(10)}


def test_products_that_make_the_same_text_are_one_key() -> None:
    found = shares(spread("{suffix}{suffix2}".replace("{suffix2}", "{user}"), None, user="7"))
    assert len(found) == 10
    fields = {"a": {"kind": "uniform", "count": 12}, "b": {"kind": "uniform", "count": 12}}
    spec = KeySpec("{a}{b}", None)
    merged = shares(KeySpace(scenario(fields=fields, table={"pk": "PK"}), [spec]).spread(spec, 0.0))
    wanted: dict[int, float] = {}
    for a, b in itertools.product(range(12), range(12)):
        wanted[position_of(f"{a}{b}")] = wanted.get(position_of(f"{a}{b}"), 0.0) + 1 / 144
    assert len(wanted) < 144
    assert merged == pytest.approx(wanted)


def test_fixing_the_root_or_the_shard() -> None:
    assert shares(spread("{user}#{shard}", user="12")) == {position_of(f"12#{shard_of('12', 10)}"): 1.0}
    assert shares(spread("S{shard}", shard="3")) == {position_of("S3"): 1.0}
    assert shares(spread("{tenant}", tenant="é")) == {position_of("é"): 1.0}
    assert shares(spread("{seq}", seq="77")) == {position_of("77"): 1.0}


def test_a_constant_is_one_key() -> None:
    found = spread("CONFIG")
    assert shares(found) == {position_of("CONFIG"): 1.0}
    assert [key.text for key in found.named] == ["CONFIG"]


@pytest.mark.parametrize("pk", ["{seq}", "{tenant}#{seq}", "{trillion}", "{user}#{trillion}"])
def test_what_cannot_be_listed_lies_evenly(pk: str) -> None:
    found = spread(pk)
    assert found.background == pytest.approx(1.0)
    assert not found.named


def test_a_million_keys_are_listed_one_by_one() -> None:
    found = spread("USER#{million}")
    assert len(found.positions) == 1_000_000
    assert found.background == 0.0
    assert found.named[0].text == "USER#0"
    assert found.named[0].share == pytest.approx(1 / (math.log(1e6) + 0.5772156649 + 0.5e-6), rel=1e-9)
    assert (np.diff(found.positions.astype(float)) >= 0).all()


def test_of_a_billion_keys_those_worth_a_millionth_are_listed() -> None:
    found = spread("USER#{huge}")
    total = math.log(1e9) + 0.5772156649
    worth = int(1 / (1e-6 * total))
    assert len(found.positions) == pytest.approx(worth, abs=2)
    assert found.background == pytest.approx(1 - (math.log(worth) + 0.5772156649) / total, abs=1e-4)
    assert found.shares.sum() + found.background == pytest.approx(1.0)
    # Of the unlisted ids k > worth, shares squared: (1/total)² · 1/worth.
    assert found.error == pytest.approx(math.sqrt(1 / worth) / total, rel=0.05)


@pytest.mark.parametrize("pk", ["{user}#{suffix}", "{tenant}#{user}", "{user}#{shard}#{tenant}", "{suffix}#{shard}"])
def test_products_beyond_the_list_are_listed_best_first(pk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = spread(pk)
    monkeypatch.setattr(building, "LISTED_MAX", 50)
    monkeypatch.setattr(building, "LISTED_SHARE_MIN", 0.004)
    found = spread(pk)
    wanted = {position: share for position, share in shares(whole).items() if share >= 0.004}
    assert shares(found) == pytest.approx(wanted)
    assert found.background == pytest.approx(1 - sum(wanted.values()), abs=1e-9)
    rest = sum(share**2 for share in shares(whole).values()) - sum(share**2 for share in wanted.values())
    assert found.error == pytest.approx(math.sqrt(max(0.0, rest)), abs=1e-6)


def test_a_long_field_beside_a_short_one_keeps_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (building, domain):
        monkeypatch.setattr(module, "LISTED_MAX", 100)
        monkeypatch.setattr(module, "LISTED_SHARE_MIN", 1e-3)
    for pk in ("{user}", "{user}#{suffix}", "{tenant}#{user}", "{shard}#{tenant}", "{user}#{shard}"):
        found = spread(pk)
        assert found.shares.sum() + found.background == pytest.approx(1.0), pk
        assert (np.diff(found.positions.astype(float)) > 0).all()


def test_the_heaviest_keys_carry_their_names_and_texts() -> None:
    found = spread("{tenant}#{user}")
    assert len(found.named) == 64
    assert [found.named[0].text, found.named[1].text] == ["big#0", "big#1"]
    assert all(a.share >= b.share for a, b in itertools.pairwise(found.named))
    assert all(key.position == position_of(key.text) for key in found.named)
    assert shares(found)[found.named[5].position] == pytest.approx(found.named[5].share)


def test_a_single_item_carries_its_sort_key() -> None:
    assert spread("{tenant}", "PROFILE").named[0].sort_key == "PROFILE"
    assert spread("{tenant}", "S#{suffix}", suffix="3").named[0].sort_key == "S#3"
    assert spread("{tenant}", "S#{suffix}").named[0].sort_key is None


def test_a_date_key_moves_with_the_clock() -> None:
    spec = KeySpec("{day}#{suffix}", None)
    late = scenario(fields=FIELDS, table={"pk": "PK"}, start="2026-03-01T23:50:30Z", duration="1d1h")
    space = KeySpace(late, [spec])
    assert space.rollovers_s(spec) == [570.0, 570.0 + 86_400]
    before, after = space.spread(spec, 569.0), space.spread(spec, 570.0)
    assert set(shares(before)) == {position_of(f"2026-03-01#{k}") for k in range(10)}
    assert set(shares(after)) == {position_of(f"2026-03-02#{k}") for k in range(10)}
    assert space.spread(spec, 580.0) is after
    assert space.rollovers_s(KeySpec("{suffix}", None)) == []
    assert space.rollovers_s(KeySpec("{day}", None, (("day", "2026-03-01"),))) == []


def test_every_minute_is_an_epoch_of_its_own() -> None:
    spec = KeySpec("{minute}", None)
    space = KeySpace(scenario(fields=FIELDS, table={"pk": "PK"}, duration=300), [spec])
    assert space.rollovers_s(spec) == [60.0, 120.0, 180.0, 240.0]
    assert shares(space.spread(spec, 121.0)) == {position_of("00:02"): 1.0}
