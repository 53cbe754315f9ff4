"""What AWS does not publish: every estimate with its default, plausible range, unit, source and reason.

A scenario may set any of them (``calibration = { base = "default", split_delay_s = 120 }``); a result always lists all in force,
so that a figure which hangs on a guess can be seen to hang on it.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_LATENCY_MAX_MS = 3_600_000  # an hour
_TIME_MAX_S = 30 * 86_400  # 30 days: whatever takes longer is no mechanism of the service


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One estimate.

    Attributes
    ----------
    default : value in the set ``"default"``.
    observed : value in the set ``"observed"`` (None: the default).
    low, high : plausible range; a value outside is allowed and warned about.
    minimum, maximum : what makes sense at all; a value outside is an error.
    """

    default: float | bool
    unit: str
    source: str
    why: str
    low: float
    high: float
    minimum: float = 0.0
    maximum: float = _TIME_MAX_S
    observed: float | bool | None = None

    @property
    def is_switch(self) -> bool:
        """Whether the parameter is true or false rather than a number."""
        return isinstance(self.default, bool)


def _latency(kind: str, what: str, percentile: str, default: float) -> dict[str, Parameter]:
    """One percentile of the lognormal latency of a kind of operation (request level)."""
    return {
        f"latency_{kind}_ms_{percentile}": Parameter(
            default=default,
            unit="ms",
            source="F-LAT-4 (inferred; AWS says 'single-digit milliseconds', and 'microseconds' of DAX, F-LAT-1)",
            why=f"{percentile} of the time until {what} is answered",
            low=default / 2,
            high=default * 2,
            minimum=0.001,
            maximum=_LATENCY_MAX_MS,
        )
    }


PARAMETERS: Mapping[str, Parameter] = MappingProxyType(
    {
        "heat_trigger_fraction": Parameter(
            default=0.85,
            unit="fraction of a partition's ceiling",
            source="F-PART-11, F-PART-12 (inferred)",
            why="the service splits 'above a certain threshold'; a key written at 0.9 of the ceiling was split within ten minutes",
            low=0.7,
            high=1.0,
            minimum=0.01,
            maximum=1.0,
        ),
        "heat_window_s": Parameter(
            default=300,
            unit="s",
            source="F-PART-12 (inferred)",
            why="with the split delay it adds up to the eight minutes measured from saturation to relief",
            low=60,
            high=600,
            minimum=60,
        ),
        "split_delay_s": Parameter(
            default=180,
            unit="s",
            source="F-PART-11, F-PART-12 (inferred)",
            why="a split 'normally takes minutes'",
            low=60,
            high=600,
            minimum=1,
        ),
        "heat_splits_in_flight": Parameter(
            default=1,
            unit="splits per table or index",
            source="F-PART-12 (inferred)",
            why="published load tests show one partition more per step; unlimited heat splits would double a saturated table every 8 min",
            low=1,
            high=20,
            minimum=0,
            maximum=10_000,
        ),
        "split_min_relief_fraction": Parameter(
            default=0.02,
            unit="fraction of the partition's traffic",
            source="F-PART-13 (inferred)",
            why="a cut that sheds less than this is declined: one item carries the heat, or the heat moves along",
            low=0.005,
            high=0.1,
            minimum=0.0001,
            maximum=0.5,
        ),
        "on_demand_scaling": Parameter(
            default=True,
            unit="switch",
            source="F-OD-2, F-ADM-11",
            why="false leaves an on-demand table to split for heat alone",
            low=0,
            high=1,
        ),
        "peak_sustained_s": Parameter(
            default=900,
            unit="s",
            source="F-OD-3 (inferred)",
            why="a peak counts once its least 60-s average was held so long; under 5 min contradicts the measured ramps",
            low=300,
            high=1800,
            minimum=60,
        ),
        "max_throughput_burst_s": Parameter(
            default=1,
            unit="s of the maximum",
            source="F-ADM-4 (documented as best effort, depth unpublished)",
            why="an on-demand maximum is a target that burst may pass; how deep that burst is, AWS does not say",
            low=1,
            high=300,
            minimum=1,
        ),
        "alarm_extra_periods": Parameter(
            default=2,
            unit="periods",
            source="CloudWatch, alarms and missing data (documented in examples only: five periods are read for three)",
            why="so many periods beyond evaluation_periods an alarm reads, in case some have no data",
            low=0,
            high=5,
            maximum=100,
        ),
        "consumed_samples_per_minute": Parameter(
            default=1,
            unit="samples",
            source="F-CW-5 (documented: SampleCount is how often DynamoDB emits; how often that is, is not)",
            why="Average, Maximum, Minimum and SampleCount of Consumed... hang on it; Sum does not",
            low=1,
            high=60,
            minimum=1,
            maximum=60,
        ),
        "adaptive_gain": Parameter(
            default=0.5,
            unit="fraction of the refused rate given back per period",
            source="F-ADM-6 (inferred)",
            why="a proportional controller of unpublished gain",
            low=0.1,
            high=1.0,
            minimum=0.01,
            maximum=1.0,
        ),
        "adaptive_period_s": Parameter(
            default=60,
            unit="s",
            source="F-ADM-6 (inferred)",
            why="unpublished; 1 to 5 minutes are plausible",
            low=60,
            high=300,
            minimum=60,
        ),
        "adaptive_lag_s": Parameter(
            default=300,
            unit="s",
            source="F-ADM-6 (documented: 5 to 30 min)",
            why="the boost of 2017 came minutes after the throttling that called for it",
            low=300,
            high=1800,
        ),
        "eventual_read_ceiling_factor": Parameter(
            default=1.0,
            observed=1.5,
            unit="× 3,000 read units/s",
            source="F-PART-16 (measured once: 4,500 eventual units/s on one key)",
            why="any of three replicas may answer an eventually consistent read; documentation still says 3,000",
            low=1.0,
            high=1.5,
            minimum=1.0,
            maximum=3.0,
        ),
        "gsi_backlog_units": Parameter(
            default=0,
            observed=19_000,
            unit="write units per index",
            source="F-GSI-5 (depth unpublished; case ddblabs-gsi-low-2022 measured about 19,000)",
            why="how far an index may run behind its table before it pushes back on the table's writes",
            low=0,
            high=40_000,
            maximum=1e9,
        ),
        "autoscaling_metric_delay_s": Parameter(
            default=60,
            unit="s",
            source="F-AS-5 (documented as 'up to a few minutes', split inferred)",
            why="so long after its end a minute's consumption is there for auto scaling's alarms to see",
            low=0,
            high=180,
            maximum=3600,
        ),
        "autoscaling_action_delay_s": Parameter(
            default=60,
            unit="s",
            source="F-AS-5 (documented as 'up to a few minutes', split inferred)",
            why="from an alarm of auto scaling to the UpdateTable that it asks for",
            low=0,
            high=180,
            maximum=3600,
        ),
        "legacy_no_scale_in_at_zero": Parameter(
            default=False,
            unit="switch",
            source="F-AS-9 (inferred)",
            why="true: a minute without consumption is no data, so that an idle table is not scaled in, as it used to be",
            low=0,
            high=1,
        ),
        "update_table_s": Parameter(
            default=30,
            unit="s",
            source="F-PROV-3 (measured: 5 to 37 s)",
            why="duration of an UpdateTable whose capacity the present partitions carry",
            low=5,
            high=120,
        ),
        "update_table_split_s": Parameter(
            default=300,
            unit="s",
            source="F-PROV-3 (inferred)",
            why="duration of an UpdateTable that has to make partitions first",
            low=60,
            high=1800,
        ),
        "mode_switch_s": Parameter(
            default=300,
            unit="s",
            source="F-PROV-4 (documented as 'several minutes')",
            why="duration of a switch of the capacity mode, during which the old limits hold",
            low=60,
            high=1800,
        ),
        "prewarm_s": Parameter(
            default=600,
            unit="s",
            source="F-WARM-3 (inferred; documented as depending on value and size)",
            why="duration of a raise of the warm throughput",
            low=60,
            high=3600,
        ),
        "bucket_debt": Parameter(
            default=False,
            unit="switch",
            source="case conformance-400kb-put-on-5wcu (undecided)",
            why="true: an attempt passes as soon as any token is left and puts the bucket into debt",
            low=0,
            high=1,
        ),
        "empty_scan_per_partition": Parameter(
            default=True,
            unit="switch",
            source="F-UNIT-9 (that it grows with the partitions is documented, the formula inferred)",
            why="true: a Scan that finds nothing costs the minimum for each partition it searches; false: for each request",
            low=0,
            high=1,
        ),
        "dax_memory_fraction": Parameter(
            default=0.5,
            unit="fraction of a DAX node's memory",
            source="F-DAX-1, F-DAX-5 (inferred; AWS publishes no division)",
            why="room of each of a node's two caches where [dax] capacity_items does not say it",
            low=0.25,
            high=0.75,
            minimum=0.0001,
            maximum=1.0,
        ),
        "dax_node_throughput_factor": Parameter(
            default=1.0,
            unit="× the requests/s of a DAX node's type",
            source="F-DAX-5 (measured, second hand: 75,000/s of a dax.r5.large)",
            why="how many requests a node carries before it throttles hangs on item sizes and hit ratio",
            low=0.5,
            high=2.0,
            minimum=0.000001,
            maximum=1000.0,
        ),
        **_latency("dax_hit", "a hit in DAX", "p50", 0.3),
        **_latency("dax_hit", "a hit in DAX", "p99", 1.0),
        **_latency("read_eventual", "an eventually consistent read", "p50", 1.5),
        **_latency("read_eventual", "an eventually consistent read", "p99", 5.0),
        **_latency("read_strong", "a strongly consistent read", "p50", 2.0),
        **_latency("read_strong", "a strongly consistent read", "p99", 7.0),
        **_latency("write", "a write", "p50", 3.5),
        **_latency("write", "a write", "p99", 10.0),
        **_latency("query", "a Query or Scan of little data", "p50", 2.5),
        **_latency("query", "a Query or Scan of little data", "p99", 8.0),
        **_latency("transaction", "a transaction", "p50", 8.0),
        **_latency("transaction", "a transaction", "p99", 25.0),
        "latency_page_ms": Parameter(
            default=7.5,
            unit="ms per full page of 1 MB",
            source="F-LAT-4 (inferred)",
            why="reading more takes longer; AWS publishes no figures",
            low=5.0,
            high=10.0,
            maximum=_LATENCY_MAX_MS,
        ),
    }
)

SETS = ("default", "observed")


@dataclass(frozen=True)
class Calibration:
    """One value for every parameter, and the set it started from. Read a parameter as an attribute: ``calibration.split_delay_s``."""

    base: str
    values: Mapping[str, float | bool]

    def __getattr__(self, name: str) -> float:
        # Only called for names that are not fields; switches read as True or False, which are numbers too.
        values: Mapping[str, float | bool] = object.__getattribute__(self, "values")
        try:
            return values[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getstate__(self) -> tuple[str, dict[str, float | bool]]:
        return (self.base, dict(self.values))

    def __setstate__(self, state: tuple[str, dict[str, float | bool]]) -> None:
        object.__setattr__(self, "base", state[0])
        object.__setattr__(self, "values", MappingProxyType(state[1]))

    def outside_plausible(self) -> list[str]:
        """Sentences about values outside their plausible range."""
        return [
            f"calibration.{name} = {value:g} is outside the plausible {p.low:g} to {p.high:g} {p.unit} ({p.source})"
            for name, value in self.values.items()
            if not (p := PARAMETERS[name]).is_switch and not p.low <= value <= p.high
        ]


def calibrate(base: str = "default", overrides: Mapping[str, float | bool] | None = None) -> Calibration:
    """The calibration ``base`` with some parameters replaced.

    Raises
    ------
    ValueError
        An unknown set, an unknown parameter (with the nearest name), or a value that makes no sense for it.
    """
    if base not in SETS:
        raise ValueError(f"no calibration set {base!r}; allowed: {', '.join(SETS)}")
    values: dict[str, float | bool] = {}
    for name, parameter in PARAMETERS.items():
        use_observed = base == "observed" and parameter.observed is not None
        values[name] = parameter.observed if use_observed else parameter.default  # type: ignore[assignment]  # not None: just tested
    for name, value in (overrides or {}).items():
        values[name] = _checked(name, value)
    return Calibration(base, MappingProxyType(values))


def _checked(name: str, value: float | bool) -> float | bool:
    if name not in PARAMETERS:
        near = difflib.get_close_matches(name, PARAMETERS, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are: {', '.join(PARAMETERS)}"
        raise ValueError(f"no calibration parameter {name!r}{hint}")
    parameter = PARAMETERS[name]
    if parameter.is_switch:
        if not isinstance(value, bool):
            raise ValueError(f"{name} is a switch: true or false")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} is a finite number of {parameter.unit}")
    if value < parameter.minimum:
        raise ValueError(f"{name} must be at least {parameter.minimum:,.10g} {parameter.unit}")
    if value > parameter.maximum:
        raise ValueError(f"{name} must be at most {parameter.maximum:,.10g} {parameter.unit}")
    return value
