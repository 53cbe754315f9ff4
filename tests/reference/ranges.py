"""A partition map as a plain list of (number, low, high), sorted by nothing but the order in which it is kept."""

from __future__ import annotations

from dataclasses import dataclass, field

Place = tuple[int, int]


@dataclass
class PlainRanges:
    """Ranges in order; a split puts two in the place of one under the next two numbers."""

    rows: list[tuple[int, Place, Place]]
    retired: list[int] = field(default_factory=list)
    next_number: int = 0

    def __post_init__(self) -> None:
        self.next_number = len(self.rows)

    def split(self, number: int, at: Place) -> tuple[int, int]:
        """Numbers of the halves."""
        (index,) = [i for i, row in enumerate(self.rows) if row[0] == number]
        _, low, high = self.rows[index]
        first, second = self.next_number, self.next_number + 1
        self.rows[index : index + 1] = [(first, low, at), (second, at, high)]
        self.retired.append(number)
        self.next_number += 2
        return first, second
