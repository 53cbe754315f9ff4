"""A scenario as frozen, validated values: what a user writes, with no behaviour."""

from __future__ import annotations

from sim.scenario.autoscaling import Autoscaling, ScalingTarget, ScheduledAction
from sim.scenario.client import CircuitBreaker, Client, RateLimit, RetryUnprocessed
from sim.scenario.csvfile import read_series, read_weights
from sim.scenario.fields import (
    ChoiceField,
    ClockField,
    CsvField,
    Field,
    HashField,
    SequenceField,
    UniformField,
    ZipfField,
)
from sim.scenario.loading import from_dict, load, loads, with_overrides
from sim.scenario.rates import CsvRate, DiurnalRate, RampRate, Rate, SpikeRate, StepsRate
from sim.scenario.scaling import scaled_rate
from sim.scenario.scenario import Scenario
from sim.scenario.schema import json_schema
from sim.scenario.sections import Account, Alarm, Cost, Dax, Event
from sim.scenario.simulated import refuse_unsimulated
from sim.scenario.table import Gsi, Lsi, Table
from sim.scenario.templates import fields_of, parse_template
from sim.scenario.traffic import Action, Cursor, Follows, Traffic
from sim.scenario.values import values_of
from sim.scenario.writing import dump, to_dict

__all__ = [
    "Account",
    "Action",
    "Alarm",
    "Autoscaling",
    "ChoiceField",
    "CircuitBreaker",
    "Client",
    "ClockField",
    "Cost",
    "CsvField",
    "CsvRate",
    "Cursor",
    "Dax",
    "DiurnalRate",
    "Event",
    "Field",
    "Follows",
    "Gsi",
    "HashField",
    "Lsi",
    "RampRate",
    "Rate",
    "RateLimit",
    "RetryUnprocessed",
    "ScalingTarget",
    "Scenario",
    "ScheduledAction",
    "SequenceField",
    "SpikeRate",
    "StepsRate",
    "Table",
    "Traffic",
    "UniformField",
    "ZipfField",
    "dump",
    "fields_of",
    "from_dict",
    "json_schema",
    "load",
    "loads",
    "parse_template",
    "read_series",
    "read_weights",
    "refuse_unsimulated",
    "scaled_rate",
    "to_dict",
    "values_of",
    "with_overrides",
]
