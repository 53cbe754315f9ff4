"""Every kind of field: its values, their shares, and their order."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.keyspace import domain as domains
from sim.keyspace.domain import Domain, axes_of, clock_text, domain_of, sequence, shard_of, uniform, zipf, zipf_total
from sim.scenario import ChoiceField, ClockField, CsvField, HashField, UniformField, ZipfField

NOON = datetime(2026, 3, 1, 12, 34, 56, tzinfo=UTC)


def whole(domain: Domain) -> float:
    return float(domain.shares.sum()) + domain.tail_share


@given(st.integers(1, 500), st.floats(0, 20))
def test_zipf_shares_follow_the_law(count: int, exponent: float) -> None:
    weights = [(k + 1) ** -exponent for k in range(count)]
    np.testing.assert_allclose(zipf(count, exponent).shares, np.array(weights) / sum(weights), rtol=1e-12)


@given(st.integers(1, 4000), st.floats(0, 4) | st.just(1.0))
def test_the_sum_of_weights_beyond_the_list_is_that_of_adding_them_up(count: int, exponent: float) -> None:
    """Euler-Maclaurin with two terms from a cut-over at N: the next is exponent/12 · N^-(exponent+1), and the sum is at least 1."""
    cut_over = 64
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(domains, "LISTED_MAX", cut_over)
        found = zipf_total(count, exponent)
    exact = float((np.arange(1, count + 1, dtype=float) ** -exponent).sum())
    assert found == pytest.approx(exact, abs=exponent / 12 * cut_over ** -(exponent + 1) + 1e-9 * exact)


@pytest.mark.parametrize("exponent", [0.5, 0.99, 1.0, 1.2, 3.0])
def test_zipf_beyond_the_list_keeps_the_shares_of_the_law(exponent: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains, "LISTED_MAX", 100)
    monkeypatch.setattr(domains, "LISTED_SHARE_MIN", 1e-4)
    count = 5000
    found = zipf(count, exponent)
    law = np.arange(1, count + 1, dtype=float) ** -exponent
    law /= law.sum()
    assert 0 < found.count <= 100
    np.testing.assert_allclose(found.shares, law[: found.count], rtol=1e-4)
    assert found.tail_share == pytest.approx(law[found.count :].sum(), rel=1e-3)
    assert found.tail_count == count - found.count


@pytest.mark.parametrize(
    "domain",
    [
        *(uniform(count) for count in (1, 7, 2**20, 2**20 + 1, 10**12)),
        *(zipf(count, 1.0) for count in (1, 10**6, 10**12)),
        *(zipf(10, 20.0), zipf(2**20 + 1, 0.0), zipf(10**12, 0.9), zipf(10**9, 1.5)),
        sequence(),
        domain_of(ChoiceField(weights={"a": 3, "b": 0, "é": 1})),
    ],
    ids=lambda d: f"{d.count}+{d.tail_count:g}",
)
def test_shares_and_tail_make_one(domain: Domain) -> None:
    assert whole(domain) == pytest.approx(1.0, abs=1e-9)
    assert (domain.shares >= 0).all()
    assert ((domain.ranks >= 0) & (domain.ranks < 1)).all()


@given(st.integers(1, 400), st.data())
def test_a_value_alone_keeps_its_place_among_all(count: int, data: st.DataObject) -> None:
    """To the bit: a place is a whole number made from it, and the same item lies in one place."""
    value = data.draw(st.integers(0, count - 1))
    assert uniform(count).only(str(value)).ranks[0] == uniform(count).ranks[value]


def test_names_are_ordered_by_their_bytes() -> None:
    domain = domain_of(ChoiceField(weights={"b": 1, "é": 1, "B": 1, "a": 1}))
    assert domain.texts is not None
    assert [domain.texts[i] for i in np.argsort(domain.ranks)] == ["B", "a", "b", "é"]
    assert domain.only("é").ranks[0] == domain.ranks[1]


@pytest.mark.parametrize("value", ["10", "-1", "01", "x", "", "1.0", "٣"])
def test_a_value_that_the_field_cannot_take_is_not_held(value: str) -> None:
    assert not uniform(10).holds(value)
    with pytest.raises(KeyError):
        uniform(10).only(value)


def test_a_value_beyond_the_list_is_held_in_its_place() -> None:
    assert uniform(10**12).only(str(5 * 10**11)).ranks[0] == pytest.approx(0.5)
    assert not uniform(10**12).holds(str(10**12))
    assert sequence().holds("123456789")


@given(st.lists(st.integers(0, 11), min_size=1, max_size=60))
def test_appending_values_is_appending_their_texts(indexes: list[int]) -> None:
    from sim.keyspace import hashing

    names = domain_of(ChoiceField(weights={f"{'x' * k}é": 1 for k in range(12)}))
    for domain in (names, uniform(12)):
        states = np.broadcast_to(hashing.start(), (len(indexes),))
        found = hashing.finish(domain.append_to(states, np.array(indexes)))
        assert found.tolist() == [hashing.position_of(domain.text(i)) for i in indexes]


def test_a_csv_adds_up_the_rows_of_a_value(tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text("id,hits\nalice,5\nbob,2.5\nalice,2.5\n", encoding="utf-8")
    domain = domain_of(CsvField(path=str(tmp_path / "users.csv"), value="id", weight="hits"))
    assert domain.texts == ("alice", "bob")
    assert domain.shares.tolist() == [0.75, 0.25]


def test_a_clock_reads_simulated_time_in_utc() -> None:
    assert clock_text(ClockField(format="%Y-%m-%dT%H:%M"), NOON) == "2026-03-01T12:34"


def test_a_shard_is_the_md5_of_the_text_modulo_the_count() -> None:
    # md5("5") = e4da3b7fbbce2345d7772b0674a318d5, an odd number
    assert shard_of("5", 2) == 1
    assert shard_of("5", 16) == 5
    assert shard_of("5", 10**9) == 0xE4DA3B7FBBCE2345D7772B0674A318D5 % 10**9


def test_a_hash_of_a_hash_follows_its_root() -> None:
    fields = {
        "user": UniformField(count=50),
        "shard": HashField(of="user", count=7),
        "deep": HashField(of="shard", count=3),
    }
    root_of, axes = axes_of(["deep", "user"], fields, {"user": uniform(50)}, {}, NOON, 0.0)
    assert root_of == {"deep": "user", "user": "user"}
    shards = [shard_of(str(k), 7) for k in range(50)]
    assert axes["user"].derived["shard"].tolist() == shards
    assert axes["user"].derived["deep"].tolist() == [shard_of(str(s), 3) for s in shards]


@pytest.mark.parametrize("count", [50, 10**12])
def test_a_shard_on_its_own_adds_up_its_ids(count: int) -> None:
    fields = {"user": ZipfField(count=count, exponent=1.2), "shard": HashField(of="user", count=7)}
    plain = {"user": zipf(count, 1.2)}
    _, axes = axes_of(["shard"], fields, plain, {}, NOON, 0.0)
    shards = axes["user"].shard_domain("shard")
    wanted = np.full(7, plain["user"].tail_share / 7)
    for k, share in enumerate(plain["user"].shares[:1000]):
        wanted[shard_of(str(k), 7)] += share
    missing = float(plain["user"].shares[1000:].sum())
    assert whole(shards) == pytest.approx(1.0)
    assert np.abs(shards.shares - wanted).max() <= missing + 1e-9


def test_fixing_a_hash_cuts_it_from_its_root() -> None:
    fields = {"user": UniformField(count=50), "shard": HashField(of="user", count=7)}
    root_of, axes = axes_of(["shard", "user"], fields, {"user": uniform(50)}, {"shard": "3"}, NOON, 0.0)
    assert root_of == {"shard": "shard", "user": "user"}
    assert axes["shard"].domain.text(0) == "3"
    assert axes["user"].domain.count == 50


def test_fixing_a_root_fixes_its_hash() -> None:
    fields = {"user": UniformField(count=50), "shard": HashField(of="user", count=7)}
    _, axes = axes_of(["shard"], fields, {"user": uniform(50)}, {"user": "12"}, NOON, 0.0)
    assert axes["user"].shard_domain("shard").shares.tolist() == np.eye(7)[shard_of("12", 7)].tolist()
