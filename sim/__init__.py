"""ddbsim: a DynamoDB partition simulator.

The centre is ``sim.run(scenario)``: describe a table, its keys and its traffic, run hours of it in a second, and see which partition or
key throttles, when and why.
"""

from __future__ import annotations

from sim.catalogue import Collection, Listed
from sim.errors import InputError, Problem, ScenarioError
from sim.explore import explore
from sim.results.comparison import Comparison, compare
from sim.results.result import Result
from sim.run import run
from sim.scenario import Gsi, Lsi, Scenario, Table, Traffic, dump, from_dict, json_schema, load, loads, with_overrides

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
    "json_schema",
    "load",
    "loads",
    "plots",
    "run",
    "with_overrides",
]


def __getattr__(name: str) -> object:
    """`plots` brings matplotlib, and is imported when it is first asked for."""
    if name == "plots":
        import importlib

        return importlib.import_module("sim.plots")
    raise AttributeError(f"module 'sim' has no attribute {name!r}")
