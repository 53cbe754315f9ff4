"""Published limits against the facts, and the calibration: sets, overrides, ranges, and how it travels to other processes."""

from __future__ import annotations

import math
import pickle
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim
from models import capacity
from models.designs import base
from models.workloads import base as workload_base
from sim import limits
from sim.calibration import PARAMETERS, SETS, Calibration, calibrate
from sim.errors import ScenarioError
from sim.scenario import leaves
from sim.scenario.table import KEYS_OF_MODE

# Fact id of the machine-readable facts → our constant.
SAME = {
    "F-UNIT-1.read_unit": limits.READ_UNIT_BYTES,
    "F-UNIT-1.write_unit": limits.WRITE_UNIT_BYTES,
    "F-UNIT-2.eventual": limits.EVENTUAL_READ_FACTOR,
    "F-UNIT-2.strong": limits.STRONG_READ_FACTOR,
    "F-UNIT-2.transact_read": limits.TRANSACTION_FACTOR,
    "F-UNIT-2.transact_write": limits.TRANSACTION_FACTOR,
    "F-UNIT-10.page": limits.PAGE_BYTES,
    "F-UNIT-16.storage_overhead": limits.STORAGE_OVERHEAD_BYTES,
    "F-UNIT-16.global_table_overhead": limits.GLOBAL_TABLE_OVERHEAD_BYTES,
    "F-UNIT-17.max_item": limits.ITEM_BYTES_MAX,
    "F-UNIT-17.max_partition_key": limits.PARTITION_KEY_BYTES_MAX,
    "F-PROV-1.table_quota": limits.TABLE_QUOTA_WRITE_PER_S,
    "F-PROV-1.account_quota": limits.ACCOUNT_QUOTA_WRITE_PER_S,
    "F-PROV-2.decrease_bucket": limits.DECREASES_BANKED_MAX,
    "F-PROV-2.decrease_refill": 3600 / limits.DECREASE_EVERY_S,
    "F-PROV-3.update_fast": PARAMETERS["update_table_s"].default,
    "F-PROV-3.update_slow": PARAMETERS["update_table_split_s"].default,
    "F-PROV-4.switches": limits.MODE_SWITCHES_MAX,
    "F-AS-1.high_periods": limits.SCALE_OUT_MINUTES,
    "F-AS-2.low_periods": limits.SCALE_IN_MINUTES,
    "F-AS-2.low_offset": limits.SCALE_IN_BELOW,
    "F-AS-5.metric_plus_alarm_delay": PARAMETERS["autoscaling_metric_delay_s"].default
    + PARAMETERS["autoscaling_action_delay_s"].default,
    "F-WARM-3.prewarm_duration": PARAMETERS["prewarm_s"].default,
}


def test_limits_are_those_of_the_facts(shared: Path) -> None:
    def facts(node: object) -> dict[str, float]:
        if isinstance(node, list):
            return {key: value for each in node for key, value in facts(each).items()}
        if not isinstance(node, dict):
            return {}
        here = {node["id"]: node["value"]} if "id" in node and "value" in node else {}
        return {**here, **{key: value for each in node.values() for key, value in facts(each).items()}}

    known = facts(tomllib.loads((shared / "facts" / "dynamodb.toml").read_text(encoding="utf-8")))
    assert {key: known[key] for key in SAME} == SAME


def test_a_new_on_demand_table_is_four_partitions() -> None:  # F-PART-4, F-OD-1
    assert limits.ON_DEMAND_INITIAL_READ_PER_S == 12_000
    assert limits.ON_DEMAND_INITIAL_WRITE_PER_S == 4_000


def test_models_have_the_limits_of_the_simulator() -> None:
    """They stand on the public names of `sim`, which has no limits among them, and so say them again."""
    assert {str(d): room for d, room in limits.ON_DEMAND_INITIAL_PER_S.items()} == base.ROOM_AT_START
    assert base.HEADROOM == limits.ON_DEMAND_HEADROOM_FACTOR
    assert base.RATE_MAX_PER_S == leaves.RATE_MAX_PER_S
    assert {key: str(mode) for mode, keys in KEYS_OF_MODE.items() for key in keys} == capacity.MODE_OF
    traffic = {"name": "w", "operation": "BatchWriteItem", "rate": 1, "batch": workload_base.BATCH_MAX}
    for batch, allowed in ((workload_base.BATCH_MAX, False), (workload_base.BATCH_MAX + 1, True)):
        with pytest.raises(ScenarioError) as refusal:  # AWS's own limit is far below, and is told in other words
            sim.Traffic(**{**traffic, "batch": batch})
        assert ("whole number" in str(refusal.value)) is allowed


def test_an_item_costs_at_most_400_write_units() -> None:
    assert limits.ITEM_BYTES_MAX / limits.WRITE_UNIT_BYTES == 400


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_estimate_is_plausible_sourced_and_reasoned(name: str) -> None:
    parameter = PARAMETERS[name]
    assert parameter.unit
    assert parameter.source
    assert parameter.why
    for value in (parameter.default, parameter.observed):
        if value is not None and not parameter.is_switch:
            assert parameter.minimum <= parameter.low <= value <= parameter.high <= parameter.maximum


@pytest.mark.parametrize("base", SETS)
def test_a_named_set_is_complete_and_plausible(base: str) -> None:
    calibration = calibrate(base)
    assert list(calibration.values) == list(PARAMETERS)
    assert calibration.base == base
    assert calibration.outside_plausible() == []


def test_the_sets_differ_where_something_was_measured() -> None:
    default, observed = calibrate("default"), calibrate("observed")
    changed = {name for name in PARAMETERS if default.values[name] != observed.values[name]}
    assert changed == {name for name, p in PARAMETERS.items() if p.observed not in (None, p.default)}
    assert observed.eventual_read_ceiling_factor == 1.5  # F-PART-16


def test_an_override_is_read_as_an_attribute_and_warned_about() -> None:
    calibration = calibrate(overrides={"split_delay_s": 3600})
    assert calibration.split_delay_s == 3600
    (sentence,) = calibration.outside_plausible()
    assert sentence.startswith("calibration.split_delay_s = 3600 is outside the plausible 60 to 600 s")
    with pytest.raises(AttributeError):
        calibration.no_such_parameter  # noqa: B018  # reading it is the test


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ({"split_delay": 5}, "did you mean split_delay_s?"),
        ({"xyzzy": 5}, "there are: heat_trigger_fraction"),
        ({"bucket_debt": 1}, "bucket_debt is a switch"),
        ({"split_delay_s": True}, "finite number of s"),
        ({"split_delay_s": math.nan}, "finite number of s"),
        ({"heat_trigger_fraction": 0}, "at least 0.01 "),
        ({"heat_trigger_fraction": 1.01}, "at most 1 "),
        ({"heat_window_s": 59}, "heat_window_s must be at least 60 s"),
        *(({name: 1e308}, "at most ") for name, one in PARAMETERS.items() if not one.is_switch),
    ],
)
def test_an_impossible_override_is_refused(overrides: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("?", r"\?")):
        calibrate(overrides=overrides)


def test_an_unknown_set_is_refused() -> None:
    with pytest.raises(ValueError, match="no calibration set 'guess'; allowed: default, observed"):
        calibrate("guess")


@given(st.sampled_from(SETS), st.sampled_from([n for n, p in PARAMETERS.items() if not p.is_switch]), st.data())
def test_any_sensible_value_is_taken_and_survives_the_way_to_another_process(
    base: str, name: str, data: st.DataObject
) -> None:
    parameter = PARAMETERS[name]
    value = data.draw(st.floats(parameter.minimum, min(parameter.maximum, 1e9)))
    calibration = calibrate(base, {name: value})
    assert getattr(calibration, name) == value
    copy = pickle.loads(pickle.dumps(calibration))
    assert isinstance(copy, Calibration)
    assert copy == calibration
    assert calibration.outside_plausible() == [] or not parameter.low <= value <= parameter.high
