"""Everything that changes a table's capacity while it runs: auto scaling with its schedules, and the scenario's own events."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import simpy

from sim.control.autoscaling import AutoScaler
from sim.control.updating import Request, Settings, TableUpdates
from sim.names import TABLE, ControlAction, Dimension, index_resource
from sim.partitions.resource import Resource
from sim.results.recorder import Recorder
from sim.scenario import Autoscaling, Event, Scenario
from sim.scenario.table import holders


def start_capacity_control(
    env: simpy.Environment, scenario: Scenario, resources: Mapping[str, Resource], recorder: Recorder
) -> None:
    """Start the processes that change capacity, for a table and its indexes by resource name.

    The order in which they start decides who comes first at the same moment: events, then schedules, then target tracking.
    """
    updates = TableUpdates(env, scenario, resources, recorder)
    if scenario.event:
        env.process(_carry_out_events(env, scenario.event, updates))
    scalers = [
        AutoScaler(env, resources[name], dimension, target, updates, recorder, scenario.start)
        for name, settings in _scaled(scenario)
        if name in resources
        for dimension in Dimension
        if (target := getattr(settings, dimension)) is not None
    ]
    for scaler in scalers:
        env.process(scaler.keep_schedule())
    for scaler in scalers:
        env.process(scaler.watch())


def _scaled(scenario: Scenario) -> Iterator[tuple[str, Autoscaling]]:
    """Resources that have auto scaling, with its settings."""
    for name, holder in holders(scenario.table).items():
        if holder.autoscaling is not None:
            yield name, holder.autoscaling


def _carry_out_events(
    env: simpy.Environment, events: Sequence[Event], updates: TableUpdates
) -> Generator[simpy.Event, Any, None]:
    """Events of one moment are one UpdateTable."""
    for at_s, together in groupby(sorted(events, key=lambda event: event.at), key=lambda event: event.at):
        yield env.timeout(at_s - env.now)
        updates.ask(_request(list(together)), ControlAction.UPDATE_TABLE)


def _request(events: Sequence[Event]) -> Request:
    settings: dict[str, Settings] = {}
    for event in events:
        name = TABLE if event.index is None else index_resource(event.index)
        before = settings.get(name, Settings())
        settings[name] = Settings(
            provisioned={**before.provisioned, **_given(event, "{}_capacity")},
            maximum={**before.maximum, **_given(event, "max_{}")},
            warm={**before.warm, **_given(event, "warm_{}")},
        )
    mode = next((event.mode for event in events if event.mode is not None), None)
    return Request(settings=settings, mode=mode)


def _given(event: Event, key: str) -> dict[Dimension, float]:
    return {d: value for d in Dimension if (value := getattr(event, key.format(d))) is not None}
