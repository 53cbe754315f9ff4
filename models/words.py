"""Numbers in the sentences that designs and workloads say of themselves."""

from __future__ import annotations


def amount(value: float) -> str:
    """A number as one reads it: "5,000", "0.5"."""
    return f"{value:,.10g}"


def times(factor: float) -> str:
    """A factor, to three digits: "10 times", "1.2 times"."""
    return f"{float(f'{factor:.3g}'):,.10g} times"


def percent(share: float) -> str:
    """A share, 0 to 1, in percent, to four digits: "80 %"."""
    return f"{100 * share:.4g} %"


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 shard", "10 shards"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def one_has(nouns: str, share: float, count: int) -> str:
    """The sentence for a field that `one_of_many` makes."""
    return f"One of {count:,} {nouns} has {percent(share)} of the traffic."


def they_share(noun: str, count: int, exponent: float, of: str = "") -> str:
    """The sentence for a zipf field."""
    law = f"by a zipf law of exponent {amount(exponent)}" if exponent else "evenly"
    return f"Traffic is spread over {counted(count, noun)}{of} {law}."
