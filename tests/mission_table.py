"""Prints the table of the mission: id, scenario, claim, and each figure as it was measured, beside what it must be."""

from __future__ import annotations

from mission import clients, designs, pagination, paying, throttling
from rich.console import Console
from rich.table import Table


def main() -> None:
    """Run every row and print it."""
    table = Table("id", "model", "scenario", "claim", "measured", "must be", show_lines=True)
    for family in (throttling, designs, clients, paying, pagination):
        for row in family.ROWS:
            figures = row.measure()
            measured = "\n".join(f"{'' if f.holds else '✗ '}{f.what}: {f.value:,.6g}" for f in figures)
            wanted = "\n".join(
                f"{f.least:,.6g}" if f.least == f.most else f"{f.least:,.6g} to {f.most:,.6g}" for f in figures
            )
            table.add_row(row.id, row.model, "\n".join(row.scenarios), row.claim, measured, wanted)
        for id_, why in family.MISSING.items():
            table.add_row(id_, "missing", "", why, "", "")
    Console(width=200).print(table)


if __name__ == "__main__":
    main()
