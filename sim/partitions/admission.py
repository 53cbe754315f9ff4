"""Admission policies: which gates stand before a resource's partitions, and how a provisioned rate reaches them.

One family, three eras (F-ADM-1, F-ADM-6, F-ADM-7): ``static`` gives every partition its equal part for ever; ``adaptive-2017`` is static
plus boosts that a controller grants minutes later; ``instant`` keeps one bucket for the whole resource. On-demand tables have no bucket
of their own: their partitions limit them, under the quota and the user's maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.calibration import Calibration
from sim.limits import BURST_WINDOW_S, CEILING_BURST_S, CEILING_PER_S, QUOTA_BURST_S
from sim.names import AdmissionPolicy, Dimension, Limit, Mode
from sim.partitions.bucket import Buckets, to_grain
from sim.partitions.lane import Gate, Lane


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What limits one dimension of a resource, units per second.

    Attributes
    ----------
    provisioned : the provisioned rate; None on demand.
    quota : the table quota of an on-demand resource; None where it was checked when the capacity was set.
    maximum : the user's on-demand maximum; None: none.
    burst_fraction : fraction of the burst window that is there at the start (F-ADM-5).
    """

    provisioned: float | None = None
    quota: float | None = None
    maximum: float | None = None
    burst_fraction: float = 1.0


def make_lane(
    dimension: Dimension,
    *,
    mode: Mode,
    policy: AdmissionPolicy,
    capacity: Capacity,
    partitions: int,
    calibration: Calibration,
    backlog_units: float = 0.0,
) -> Lane:
    """The gates of one dimension of a new resource.

    Parameters
    ----------
    backlog_units : work that the resource takes on before it refuses any (writes of an index, F-GSI-5).
    """
    ceiling = np.full(partitions, CEILING_PER_S[dimension])
    columns = [Gate(Limit.KEY_RANGE, Buckets(ceiling, CEILING_BURST_S), by_ceiling=True)]
    totals: list[Gate] = []
    if mode is Mode.PROVISIONED:
        assert capacity.provisioned is not None, "a provisioned resource has a rate"
        if policy is AdmissionPolicy.INSTANT:
            rate = np.array([capacity.provisioned])
            totals.append(Gate(Limit.PROVISIONED, Buckets(rate, BURST_WINDOW_S, _start(rate, capacity.burst_fraction))))
        else:
            share = np.full(partitions, capacity.provisioned / partitions)
            columns.insert(
                0, Gate(Limit.PROVISIONED, Buckets(share, BURST_WINDOW_S, _start(share, capacity.burst_fraction)))
            )
    else:
        if capacity.quota is not None:
            totals.append(Gate(Limit.ACCOUNT, Buckets(np.array([capacity.quota]), QUOTA_BURST_S)))
        if capacity.maximum is not None:
            totals.append(
                Gate(Limit.MAX_ON_DEMAND, Buckets(np.array([capacity.maximum]), calibration.max_throughput_burst_s))
            )
    for gate in [*columns, *totals]:
        gate.buckets.floor = -float(backlog_units)
    return Lane(dimension, columns, totals, debt=bool(calibration.bucket_debt))


def _start(
    rate_per_s: np.ndarray[tuple[int], np.dtype[np.float64]], fraction: float
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Level at second 0: a fraction of the window, but never less than one second's worth (contract, ``burst_at_start``)."""
    return rate_per_s * max(1.0, fraction * BURST_WINDOW_S)


def share_gate(lane: Lane) -> Gate | None:
    """The gate that holds the partitions' parts of a provisioned rate, where the policy has one."""
    return next((gate for gate in lane.columns if gate.limit is Limit.PROVISIONED), None)


def remake_lane(
    old: Lane, *, mode: Mode, policy: AdmissionPolicy, capacity: Capacity, calibration: Calibration
) -> Lane:
    """The gates of a resource whose mode or on-demand maximum is another one now.

    A limit that stood there before keeps the level of its buckets, clipped to their new depth; a new one starts as ``capacity`` says.
    """
    ceilings = old.columns[0].buckets
    lane = make_lane(
        old.dimension,
        mode=mode,
        policy=policy,
        capacity=capacity,
        partitions=len(ceilings.level),
        calibration=calibration,
        backlog_units=-ceilings.floor,
    )
    for gates, before in ((lane.columns, old.columns), (lane.totals, old.totals)):
        levels = {gate.limit: gate.buckets.level for gate in before}
        for gate in gates:
            if gate.limit in levels:
                gate.buckets.level = np.minimum(levels[gate.limit], gate.buckets.depth)
    return lane


def set_rate(lane: Lane, provisioned_per_s: float) -> None:
    """Change the provisioned rate: of the resource's one bucket, or of each partition's equal part. A raise brings no tokens."""
    shares = share_gate(lane)
    if shares is not None:
        count = len(shares.buckets.level)
        shares.buckets.set_rates(np.full(count, provisioned_per_s / count))
        return
    total = next(gate for gate in lane.totals if gate.limit is Limit.PROVISIONED)
    total.buckets.set_rates(np.array([provisioned_per_s]))


def split_lane(lane: Lane, column: int, provisioned_per_s: float | None) -> None:
    """Follow a split of the partition in ``column``.

    Each half has a whole ceiling of its own, filled as its parent's was. Parts of a provisioned rate are cut anew for the greater number
    of partitions, and the parent's burst credit is shared out between the halves.
    """
    for gate in lane.columns:
        gate.buckets.split(column, keep_level=gate.limit is Limit.KEY_RANGE)
    gate_of_shares = share_gate(lane)
    if gate_of_shares is not None:
        assert provisioned_per_s is not None, "parts of a rate need the rate"
        count = len(gate_of_shares.buckets.level)
        gate_of_shares.buckets.set_rates(np.full(count, provisioned_per_s / count))


def ceilings_per_s(lane: Lane) -> float:
    """Sum of the partitions' ceilings, capped by quota and maximum: what an on-demand resource can serve in a second."""
    ceilings = next(gate for gate in lane.columns if gate.limit is Limit.KEY_RANGE)
    room = float(ceilings.buckets.rate_per_s.sum())
    return to_grain(min([room] + [float(gate.buckets.rate_per_s[0]) for gate in lane.totals]))
