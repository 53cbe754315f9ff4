"""Which access patterns go through a DAX cluster, to which of its caches, and how much room there is. Both levels ask here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from sim.keyspace.building import KeySpec
from sim.levels.demand import Demand, Joint
from sim.limits import DAX_NODES
from sim.names import PAGED_OPERATIONS, READ_OPERATIONS, TRANSACTION_OPERATIONS, Level, Operation
from sim.results.recorder import Recorder
from sim.scenario import Client, Scenario, Traffic

_LEAST_ENTRY_BYTES = 100  # an empty answer takes room too


class Way(Enum):
    """How the reads of a pattern meet the cluster."""

    ITEM = "item cache"
    QUERY = "query cache"
    PASSED = "passed through"


def goes_through(scenario: Scenario, traffic: Traffic) -> bool:
    """Whether a pattern's requests go to the cluster first. Deletes by time to live are the service's own."""
    return scenario.dax is not None and traffic.dax and traffic.operation is not Operation.TTL_DELETE


def way_of(scenario: Scenario, demand: Demand) -> Way | None:
    """How the reads of a pattern meet the cluster; None for writes, and for what goes to the table directly (F-DAX-1, F-DAX-2)."""
    traffic, dax = demand.traffic, scenario.dax
    if dax is None or not goes_through(scenario, traffic) or traffic.operation not in READ_OPERATIONS:
        return None
    if traffic.consistent or traffic.operation in TRANSACTION_OPERATIONS:
        return Way.PASSED
    if demand.joint is Joint.WALK:  # each page would be an answer of its own: not simulated, and said
        return Way.PASSED
    if traffic.operation in PAGED_OPERATIONS:
        return Way.QUERY if dax.query_ttl > 0 else Way.PASSED
    return Way.ITEM


def background_of(scenario: Scenario, traffic: Traffic) -> Traffic | None:
    """The TransactGetItems that DAX makes in the background after each TransactWriteItems, to fill its item cache (F-DAX-3).

    It is moved as a pattern of its own, of the same rate: after writes that were refused too, which the service spares itself, and not for
    closed loops, whose rate nobody knows before the run.
    """
    if traffic.operation is not Operation.TRANSACT_WRITE_ITEMS or not writes_through(scenario, traffic):
        return None
    if traffic.rate is None:  # a closed loop's rate comes out of the run
        return None
    actions = traffic.actions and tuple(
        action.model_copy(update={"operation": Operation.GET_ITEM, "touches": "all"}) for action in traffic.actions
    )
    changes: dict[str, Any] = {
        "name": f"{traffic.name} (DAX)",
        "operation": Operation.TRANSACT_GET_ITEMS,
        "actions": actions,
        "touches": "all",
        "was": {},
        "condition_fails": 0.0,
        "client": Client(),
        "dax": False,
    }
    return traffic.model_copy(update=changes)


def warn_of_uncached(scenario: Scenario, demands: Sequence[Demand], recorder: Recorder) -> None:
    """Say which reads go by the cache because this version, or this level, does not simulate them behind it."""
    for demand in demands:
        traffic = demand.traffic
        if traffic.consistent or not goes_through(scenario, traffic) or traffic.operation not in READ_OPERATIONS:
            continue
        if demand.joint is Joint.WALK:
            recorder.warn(
                f"{traffic.name}: walks of several pages are taken to pass DAX by, which would keep each page's answer; so more of them "
                "comes to the table than would"
            )
        elif traffic.follows is not None and scenario.level is Level.FLOW:
            recorder.warn(
                f"{traffic.name} follows another pattern, so that nobody knows its rate beforehand: at this level its reads pass DAX by; "
                'level = "request" asks the cache'
            )


def question_of(traffic: Traffic, spec: KeySpec) -> KeySpec:
    """What tells the questions of a Query apart: its partition key, and a sort key only where the pattern asks for one."""
    return spec if traffic.sk is not None else replace(spec, sk=None)


def is_write(traffic: Traffic) -> bool:
    """Whether the pattern writes."""
    return traffic.operation not in READ_OPERATIONS


def writes_through(scenario: Scenario, traffic: Traffic) -> bool:
    """Whether a pattern's writes fill the item cache (F-DAX-3)."""
    return scenario.dax is not None and scenario.dax.writes == "through" and goes_through(scenario, traffic)


def room(scenario: Scenario) -> float:
    """Room of each cache of a node, in the unit of `weight_of`: items where the scenario says how many, else bytes."""
    assert scenario.dax is not None, "there is a cluster"
    if scenario.dax.capacity_items is not None:
        return float(scenario.dax.capacity_items)
    memory, _ = DAX_NODES[scenario.dax.node_type]
    return memory * scenario.calibration.dax_memory_fraction


def weight_of(scenario: Scenario, demand: Demand) -> float:
    """Room that one item, or one answer of a Query or Scan, takes."""
    assert scenario.dax is not None, "there is a cluster"
    items = 1.0 if demand.query is None else demand.query.returned
    if scenario.dax.capacity_items is not None:
        return max(1.0, items)
    return max(float(_LEAST_ENTRY_BYTES), items * demand.traffic.item_bytes)


def item_ttl_s(scenario: Scenario) -> float | None:
    """How long an item is good; None for ever (F-DAX-1: an item TTL of 0)."""
    assert scenario.dax is not None, "there is a cluster"
    return scenario.dax.item_ttl or None


def requests_per_s(scenario: Scenario) -> float:
    """Requests per second that all nodes together carry (F-DAX-5)."""
    assert scenario.dax is not None, "there is a cluster"
    _, of_node = DAX_NODES[scenario.dax.node_type]
    return scenario.dax.nodes * of_node * scenario.calibration.dax_node_throughput_factor
