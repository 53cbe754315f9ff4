"""Headlines of all named scenarios, as the version that wrote them found them: `python tests/golden_scenarios.py` writes them again.

They are golden values, not laws: what a scenario must show stands in its row of the mission (`tests/mission`). Here a change is seen that
no row looks at. Whoever writes them again says in the commit why they changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mission.base import run

import models

FILE = Path(__file__).parent / "golden" / "scenarios.json"


def headline(name: str) -> dict[str, Any]:
    """Share of attempts throttled to three digits, second of the first throttle, and partitions of each resource at the end."""
    result = run(name)
    return {
        "throttled_fraction": float(f"{result.throttled_fraction:.3g}"),
        "first_throttle_s": None if result.first_throttle_s is None else round(result.first_throttle_s, 3),
        "partitions": {resource: record.partition_counts[-1][1] for resource, record in result.resources.items()},
    }


def stored() -> dict[str, dict[str, Any]]:
    """Headlines of the file, by scenario."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Run every named scenario and write its headline, one scenario a line so that a change is one line of a diff."""
    names = sorted(one.name for one in models.scenarios.named())
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(headline(name))}" for name in names)
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{len(names)} scenarios in {FILE.relative_to(FILE.parent.parent.parent)}")


if __name__ == "__main__":
    main()
