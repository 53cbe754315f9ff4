"""Where a partition key's text lies in the hash space: one 64-bit hash, as a scalar and over whole arrays.

DynamoDB's own hash is not published (F-PART-6); any uniform one does. Ours is FNV-1a over the UTF-8 bytes with a full avalanche at
the end, because it can be continued: the state after ``"USER#"`` is computed once, and a million numbers are appended to it at once.
`position_of` is the plain form; the array functions must equal it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

UInts = npt.NDArray[np.uint64]
HASH_SPACE = 2**64  # positions are whole numbers in [0, HASH_SPACE)

_OFFSET = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = HASH_SPACE - 1
_MIX_1 = 0xFF51AFD7ED558CCD
_MIX_2 = 0xC4CEB9FE1A85EC53
_SHIFT = 33


def position_of(text: str) -> int:
    """Position of a partition key value in the hash space, 0 to 2**64 - 1."""
    state = _OFFSET
    for byte in text.encode():
        state = ((state ^ byte) * _PRIME) & _MASK
    state ^= state >> _SHIFT
    state = (state * _MIX_1) & _MASK
    state ^= state >> _SHIFT
    state = (state * _MIX_2) & _MASK
    return state ^ (state >> _SHIFT)


def start() -> UInts:
    """Hash state of the empty text: one state, which what is appended to it multiplies."""
    return np.full(1, _OFFSET, dtype=np.uint64)


def append_text(states: UInts, text: str) -> UInts:
    """States after the same text has been appended to each."""
    for byte in text.encode():
        states = (states ^ np.uint64(byte)) * np.uint64(_PRIME)
    return states


def append_texts(states: UInts, texts: Sequence[str]) -> UInts:
    """States after ``texts[i]`` has been appended to state i."""
    encoded = [text.encode() for text in texts]
    lengths = np.fromiter((len(e) for e in encoded), dtype=np.int64, count=len(encoded))
    width = int(lengths.max(initial=0))
    if width == 0:
        return states
    matrix = np.frombuffer(b"".join(e.ljust(width, b"\0") for e in encoded), dtype=np.uint8).reshape(-1, width)
    for column in range(width):
        stepped = (states ^ matrix[:, column].astype(np.uint64)) * np.uint64(_PRIME)
        states = np.where(column < lengths, stepped, states)
    return states


def append_numbers(states: UInts, numbers: npt.NDArray[np.int64]) -> UInts:
    """States after the decimal text of ``numbers[i]`` (whole, not negative) has been appended to state i."""
    most = int(numbers.max(initial=0))
    rest = numbers.astype(np.uint32 if most < 2**32 else np.uint64)  # numpy divides short numbers much faster
    for place in range(len(str(most)) - 1, -1, -1):
        digit, rest = np.divmod(rest, rest.dtype.type(10**place))
        stepped = (states ^ (digit + np.uint8(48)).astype(np.uint64)) * np.uint64(_PRIME)
        # A number has no digit at a place beyond its own length; every number has its last digit.
        states = stepped if place == 0 else np.where(numbers >= 10**place, stepped, states)
    return states


def append_range(state: UInts, count: int) -> UInts:
    """States after the decimal texts of 0..count-1 have been appended to one state: `append_numbers`, some ten times as fast.

    A number's text is that of its tenth and one more digit, so each state is one step from a state that is already known.
    """
    digits = np.arange(48, 58, dtype=np.uint64)
    prime = np.uint64(_PRIME)
    last = (state ^ digits) * prime
    parts, known = [last], len(last)
    last = last[1:]  # no number of more than one digit begins with 0
    while known < count:
        grown = np.bitwise_xor(last[: -(-(count - known) // 10), None], digits)
        last = np.multiply(grown, prime, out=grown).ravel()
        parts.append(last)
        known += len(last)
    return np.concatenate(parts)[:count]


def finish(states: UInts) -> UInts:
    """Positions of the texts behind the states."""
    states, shift = states.copy(), np.uint64(_SHIFT)
    scratch = np.empty_like(states)
    for mix in (_MIX_1, _MIX_2, 1):  # in place: a million states are eight megabytes a copy
        np.right_shift(states, shift, out=scratch)
        np.bitwise_xor(states, scratch, out=states)
        np.multiply(states, np.uint64(mix), out=states)
    return states
