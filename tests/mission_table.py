"""Prints the table of the mission: id, scenarios, claim, and each figure as it was measured, beside what it must be.

`python tests/mission_table.py` fits the terminal, and is 200 columns wide where there is none; `--why` adds where each figure comes from.
"""

from __future__ import annotations

import sys

from mission import FAMILIES
from mission.base import Figure, Row
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

WIDTH = 200


def main(*, with_why: bool) -> int:
    """Run every row and print it; returns how many figures are not what they must be."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    wrong = shown = missing = 0
    for title, family in FAMILIES.items():
        table = Table(title=title, title_justify="left", title_style="bold", box=box.HORIZONTALS, show_lines=True)
        table.add_column("id", no_wrap=True)
        table.add_column("model → scenario", no_wrap=True)
        table.add_column("claim", ratio=2)
        table.add_column("measured, and what it must be", ratio=3)
        for row in family.ROWS:
            figures = row.measure()
            wrong += sum(not figure.holds for figure in figures)
            shown += 1
            table.add_row(row.id, _models(row), _claim(row), _figures(figures, with_why))
        for id_, why in family.MISSING.items():
            missing += 1
            table.add_row(id_, Text("missing", style="yellow"), why, "")
        console.print(table)
    console.print(f"{shown} rows shown, {missing} missing; {wrong} figures are not what they must be")
    return wrong


def _models(row: Row) -> Text:
    first = [] if row.model == "scenario" else [f"{row.model} →"]
    return Text("\n".join([*first, *row.scenarios]))


def _claim(row: Row) -> Group:
    return Group(row.claim, *([Text(f"Not shown: {row.lacks}.", style="yellow")] if row.lacks else []))


def _figures(figures: tuple[Figure, ...], with_why: bool) -> Table:
    """One line for each figure, its numbers below those of the others."""
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(ratio=1)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(justify="left", no_wrap=True, min_width=17)
    for figure in figures:
        ink = "" if figure.holds else "bold red"
        grid.add_row(Text(figure.what), Text(_measured(figure), style=ink), Text(_wanted(figure), style=ink or "dim"))
        if with_why:
            grid.add_row(Text(f"  {figure.why}", style="italic dim"), "", "")
    return grid


def _measured(figure: Figure) -> str:
    return ("yes" if figure.value else "no") if figure.is_answer else _number(figure.value)


def _wanted(figure: Figure) -> str:
    if figure.is_answer:
        return ""
    least, most = _number(figure.least), _number(figure.most)
    return f"= {most}" if least == most else f"{least} to {most}"


def _number(value: float) -> str:
    """Four digits, and thousands in full."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


if __name__ == "__main__":
    sys.exit(main(with_why="--why" in sys.argv[1:]) > 0)
