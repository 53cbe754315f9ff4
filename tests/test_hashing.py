"""The hash of arrays is the hash of each text, and it is uniform."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.keyspace import hashing
from sim.keyspace.building import KeySpace, KeySpec
from sim.keyspace.hashing import HASH_SPACE, position_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers(0, 18).flatmap(lambda digits: st.integers(0, 10**digits))


@given(TEXTS, st.lists(NUMBERS, min_size=1, max_size=30))
def test_a_prefix_with_numbers_hashes_as_each_text_does(prefix: str, numbers: list[int]) -> None:
    states = hashing.append_text(hashing.start(), prefix)
    found = hashing.finish(hashing.append_numbers(states, np.array(numbers, dtype=np.int64)))
    assert found.tolist() == [position_of(f"{prefix}{number}") for number in numbers]


def test_numbers_of_every_length_hash_as_their_text() -> None:
    numbers = [n for digits in range(19) for n in (10**digits - 1, 10**digits, 10**digits + 1) if n < 2**63]
    numbers += [2**32 - 1, 2**32, 2**63 - 1]
    for chosen in (numbers, [n for n in numbers if n < 2**32]):  # short numbers take a path of their own
        found = hashing.finish(hashing.append_numbers(hashing.start(), np.array(chosen, dtype=np.int64)))
        assert found.tolist() == [position_of(str(n)) for n in chosen]


@given(st.lists(TEXTS, min_size=2, max_size=30), TEXTS)
def test_texts_of_any_length_hash_as_each_does(texts: list[str], suffix: str) -> None:
    states = np.broadcast_to(hashing.start(), (len(texts),))
    found = hashing.finish(hashing.append_text(hashing.append_texts(states, texts), suffix))
    assert found.tolist() == [position_of(text + suffix) for text in texts]


def test_positions_lie_in_the_hash_space() -> None:
    assert all(0 <= position_of(text) < HASH_SPACE for text in ("", "a", "é", "🜁" * 50))


def test_consecutive_ids_fill_the_hash_space_evenly() -> None:
    """Chi-square over 256 cells: mean 255, standard deviation √510 = 22.6; five of them are seen once in a few million hashes."""
    count, cells = 100_000, 256
    states = hashing.append_text(hashing.start(), "USER#")
    positions = hashing.finish(hashing.append_numbers(states, np.arange(count)))
    for shift in (56, 24, 0):  # high, middle and low bits
        seen = np.bincount(((positions >> np.uint64(shift)) & np.uint64(cells - 1)).astype(int), minlength=cells)
        chi_square = float(((seen - count / cells) ** 2 / (count / cells)).sum())
        assert abs(chi_square - 255) < 5 * np.sqrt(510), (shift, chi_square)
    assert len(np.unique(positions)) == count


def test_a_constant_lies_where_the_template_puts_the_same_text() -> None:
    from reference.small import scenario

    specs = [KeySpec("USER#{user}", None), KeySpec("USER#5", None)]
    space = KeySpace(scenario(), specs)
    template, constant = (space.spread(spec, 0.0) for spec in specs)
    assert constant.positions.tolist() == [position_of("USER#5")]
    assert position_of("USER#5") in template.positions.tolist()
