"""ddbsim: a DynamoDB partition simulator.

The centre is ``sim.run(scenario)``: describe a table, its keys and its traffic, run hours of it in a second, and see which partition or
key throttles, when and why.
"""

from __future__ import annotations

from sim.catalogue import Collection, Listed
from sim.errors import InputError, Problem, ScenarioError
from sim.exploring import explore
from sim.results.comparison import Comparison, compare
from sim.results.result import Result
from sim.run import run
from sim.scenario import (
    Gsi,
    Lsi,
    Scenario,
    Table,
    Traffic,
    dump,
    from_dict,
    json_schema,
    load,
    loads,
    scaled_rate,
    with_overrides,
)

__all__ = [
    "Collection",
    "Comparison",
    "Gsi",
    "InputError",
    "Listed",
    "Lsi",
    "Problem",
    "Result",
    "Scenario",
    "ScenarioError",
    "Table",
    "Traffic",
    "compare",
    "dump",
    "explore",
    "from_dict",
    "import_file",
    "json_schema",
    "load",
    "loads",
    "plots",
    "run",
    "scaled_rate",
    "with_overrides",
]


# What brings matplotlib or parsers is imported when it is first asked for.
_LATE = {"plots": ("sim.results.plots", None), "import_file": ("sim.importers", "import_file")}


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module 'sim' has no attribute {name!r}")
    import importlib

    module, member = _LATE[name]
    found = importlib.import_module(module)
    globals()[name] = found if member is None else getattr(found, member)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
