"""What `ddbsim models` prints: named scenarios, designs and workloads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from sim.catalogue import Kind, Listed, is_shown_by, listed, partners
from sim.cli.messages import wrong
from sim.scenario.base import choices

if TYPE_CHECKING:
    from rich.console import Console

_HEADS: dict[Kind, str] = {
    "scenario": "Scenarios: ddbsim run NAME, ddbsim new NAME",
    "design": "Designs: ddbsim compare NAME NAME … --workload WORKLOAD",
    "workload": "Workloads",
}
_NEXT: dict[Kind, str] = {
    "scenario": "ddbsim run {name}   ddbsim new {name}",
    "design": "ddbsim compare {name} … --workload {other}   ddbsim new {name} --workload {other}",
    "workload": "ddbsim compare {other} … --workload {name}",
}


def found_by(name: str | None) -> list[Listed]:
    """All there is; or what has this name or id."""
    rows = listed()
    if name is None:
        return rows
    found = [row for row in rows if name == row.name or is_shown_by(name, row)]
    if not found:
        known = dict.fromkeys([*(row.name for row in rows), *(id_ for row in rows for id_ in row.shows)])
        raise wrong(name or "''", "no scenario, design or workload has this name or id", hint=choices(name, known))
    return found


def print_listing(rows: Sequence[Listed], console: Console) -> None:
    """One line for each, by kind and id: on a terminal its title, as far as there is room; elsewhere all that is said of it."""
    from rich.text import Text

    for kind, of_kind in groupby(rows, key=lambda row: row.kind):
        console.print(Text(_HEADS[kind], "bold"))
        listed_here = list(of_kind)
        names = max(len(row.name) for row in listed_here) + 2
        ids = max(len(_ids(row)) for row in listed_here)
        ids += 2 if ids else 0
        for row in listed_here:
            name, shown_by = f"{row.name:{names}}", f"{_ids(row):{ids}}"
            if console.is_terminal:
                line = Text.assemble(name, (shown_by, "cyan"), row.title or row.says)
                console.print(line, no_wrap=True, overflow="ellipsis")
            else:
                console.out(f"{name}{shown_by}{row.says}", highlight=False)
        console.print()
    console.print(Text("All that is said of one: ddbsim models NAME", "dim"))


def print_one(rows: Sequence[Listed], console: Console) -> None:
    """All that is said of each, and what can be done with it."""
    from rich.text import Text

    for row in rows:
        others = [one.name for one in partners(row)]
        console.print(Text.assemble((row.name, "bold"), f"  {row.kind}  ", (_ids(row), "cyan")))
        console.print(Text(row.says))
        console.print(Text(_NEXT[row.kind].format(name=row.name, other=others[0] if others else "NAME"), "dim"))
        console.print()


def _ids(row: Listed) -> str:
    return " ".join(row.shows)
