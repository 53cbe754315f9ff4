"""ddbsim: a DynamoDB partition simulator.

The centre is ``sim.run(scenario)``: describe a table, its keys and its traffic, run hours of it in a second, and see which partition or
key throttles, when and why.
"""

from __future__ import annotations

from sim.errors import InputError, Problem, ScenarioError
from sim.results.comparison import Comparison, compare
from sim.results.result import Result
from sim.run import run
from sim.scenario import Gsi, Lsi, Scenario, Table, Traffic, dump, from_dict, json_schema, load, loads, with_overrides

__all__ = [
    "Comparison",
    "Gsi",
    "InputError",
    "Lsi",
    "Problem",
    "Result",
    "Scenario",
    "ScenarioError",
    "Table",
    "Traffic",
    "compare",
    "dump",
    "from_dict",
    "json_schema",
    "load",
    "loads",
    "run",
    "with_overrides",
]
