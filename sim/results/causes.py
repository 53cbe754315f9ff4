"""Sentences about one bottleneck: what limited what and when, why nothing helped, and what would."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sim.keyspace.hashing import HASH_SPACE
from sim.limits import ON_DEMAND_HEADROOM_FACTOR
from sim.names import TABLE, AdmissionPolicy, Declined, Dimension, Limit, Mode, SplitReason
from sim.results.bottleneck import Bottleneck, LoadedKey, burst_at_start, resource_words
from sim.results.phrases import amount, at_least, clock, joined, name, number, percent, plural, round_up
from sim.results.scaling import (
    made_by_updates,
    mode_at,
    pre_warmed_too_late,
    schedule_cure,
    was_changed_before,
    why_scaling_did_not_prevent_it,
)
from sim.results.steps import value_at
from sim.scenario import ClockField, fields_of
from sim.scenario.table import holders

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

TARGET_FRACTION = 0.7  # room kept in every cure: the target utilisation that AWS proposes for auto scaling
_STEADY_FRACTION = 0.8  # refusals in fewer of the periods between first and last are "on and off"
_NOISE = 1e-9  # sums of the same amounts in another order differ by less
_ALL_OF_IT = 0.95  # a key with this part of a resource's traffic is all of it, for a sentence
_FULL_FRACTION = 0.9  # asked for this part of what all partitions give, the table as a whole is short
_SNUG_FRACTION = (
    0.8  # a few keys cannot fill partitions evenly: this is below the load at which a partition is split for heat
)
_PARTITIONS_TRIED_MAX = 5_000  # more than this nobody lays out for the sake of a few keys
_NO_CREDIT_S = 1.5  # a bucket that starts with one second's worth has no credit to speak of


def sentences_of(result: Outcome, b: Bottleneck) -> Iterator[str]:
    """Cause, what did not help, and cure, in this order."""
    yield _cause(result, b)
    match b.limit:
        case Limit.KEY_RANGE:
            yield from _why_the_ceiling_held(result, b)
            yield from pre_warmed_too_late(result, b)
            yield from _cures_of_the_ceiling(result, b)
        case Limit.PROVISIONED:
            yield from _why_capacity_ran_out(result, b)
            yield from why_scaling_did_not_prevent_it(result, b)
            yield _cure_of_capacity(result, b)
            if schedule := schedule_cure(result, b, round_up(b.busiest_per_s / TARGET_FRACTION)):
                yield schedule
        case Limit.ACCOUNT:
            yield (
                "partitions have no part in this quota, so neither splits nor warm throughput lift it; ask AWS to raise it to "
                f"at least {at_least(b.busiest_per_s)} {_units(b)} for the busiest minute (account.table_{b.dimension} in the scenario)"
                f"{_then(result, b)}"
            )
        case Limit.MAX_ON_DEMAND:
            yield (
                f"what would help: raise max_{b.dimension} to at least {at_least(b.busiest_per_s)} for the busiest minute, "
                f"or take the throttling as the price of the cap{_then(result, b)}"
            )


def span_words(result: Outcome, first_s: float, end_s: float, busy_fraction: float = 1.0) -> str:
    """From when to when: ``from 10m to 38m``, ``all through the run (30m)``."""
    on_and_off = "on and off " if busy_fraction < _STEADY_FRACTION else ""
    start, end = _from_the_start(result, first_s), _to_the_end(result, end_s)
    if start and end:
        return f"{on_and_off}all through the run ({clock(result.grid.duration_s)})"
    since = "the start" if start else clock(first_s)
    if end:
        return f"{on_and_off}from {since} to the end ({clock(result.grid.duration_s)})"
    if clock(first_s) == clock(end_s):
        return f"at {clock(first_s)}"
    return f"{on_and_off}from {since} to {clock(end_s)}"


def between_words(result: Outcome, first_s: float, end_s: float) -> str:
    """The same beside a share of the whole run, which must not be read as one of this span: ``between 10m and 38m``."""
    start, end = _from_the_start(result, first_s), _to_the_end(result, end_s)
    if start and end:
        return f"all through the run ({clock(result.grid.duration_s)})"
    since, until = "the start" if start else clock(first_s), "the end" if end else clock(end_s)
    return f"at {since}" if since == until else f"between {since} and {until}"


def split_relief_s(result: Outcome) -> float:
    """Seconds from a partition's becoming hot to the moment at which its halves serve."""
    return float(result.scenario.calibration.heat_window_s + result.scenario.calibration.split_delay_s)


# The cause.


def _cause(result: Outcome, b: Bottleneck) -> str:
    what = f"{b.dimension}s" if b.resource == TABLE else f"{b.dimension}s that touch {resource_words(b.resource)}"
    named = len(result.traffic) > 1 and b.patterns and [p.lower() for p in b.patterns] != [what]
    whose = f" of {joined([name(p) for p in b.patterns])}" if named else ""
    of_it = " of it" if b.limit is Limit.KEY_RANGE and _one_key(b) and _is_all(b, b.keys[0]) else ""
    asked = "asked, retries included," if b.first_fraction < 0.95 else "asked"
    return (
        f"{what}{whose}{_to_where(result, b)} were throttled {span_words(result, b.first_s, b.end_s, b.busy_fraction)}: "
        f"{percent(b.refused_fraction)} of the {amount(b.asked_per_s)} {_units(b)} {asked}{of_it} in that time were refused, "
        f"because {because(result, b)} [{b.throttle.reason}]"
    )


def _to_where(result: Outcome, b: Bottleneck) -> str:
    if b.limit is not Limit.KEY_RANGE or not b.keys:
        return ""
    if _follows_clock(result, b):
        return f" to one key at a time ({_key_names(b)})"
    if _one_key(b):
        return f" to {'one item' if _is_item(result, b) else 'one partition key'}, {_key_names(b)},"
    return f" to {number(len(b.keys))} keys ({_key_names(b)})"


def because(result: Outcome, b: Bottleneck) -> str:
    """The limit that refused, as the end of a sentence."""
    match b.limit:
        case Limit.ACCOUNT:
            return f"the account's quota lets one table take {amount(b.gives_per_s)} {_units(b)}"
        case Limit.MAX_ON_DEMAND:
            return f"the maximum that was set, max_{b.dimension}, is {amount(b.gives_per_s)}"
        case Limit.PROVISIONED:
            return _because_of_capacity(result, b)
        case Limit.KEY_RANGE:
            return _because_of_the_ceiling(result, b)


def _because_of_capacity(result: Outcome, b: Bottleneck) -> str:
    has = f"{resource_words(b.resource)} has {amount(b.gives_per_s)} provisioned"
    last = value_at(result.resources[b.resource].lanes[b.dimension].capacity, b.end_s - result.grid.tick_s)
    if last != b.gives_per_s:
        has = f"{resource_words(b.resource)} had {amount(b.gives_per_s)} provisioned at first and {amount(last)} by the end of it"
    if _is_instant(result) or b.hottest is None or b.partitions == 1:
        return has
    share = amount(b.gives_per_s / b.partitions)
    return (
        f"{has}, and under {result.scenario.admission} admission each of its {number(b.partitions)} partitions starts from an equal part "
        f"of {share}, while partition {b.hottest.number} was asked for up to {amount(b.hottest.per_s)}"
    )


def _because_of_the_ceiling(result: Outcome, b: Bottleneck) -> str:
    gives = f"a partition gives {amount(b.ceiling_per_s)} {_units(b)}{_eventual(result, b)}"
    hottest = amount(b.hottest.per_s) if b.hottest is not None else ""
    if _one_key(b):
        asked = ""
        key = b.keys[0]
        if not _is_all(b, key):
            if key.per_s > b.ceiling_per_s and not _follows_clock(result, b):
                asked = f" (this one was asked for {amount(key.per_s)})"
            elif hottest:
                asked = f" (its partition was asked for up to {hottest})"
        if _is_item(result, b):
            return f"an item lies in one partition and {gives}{asked}"
        lie = "stay" if b.why_not_split is Declined.LOCAL_INDEX else "start out"
        return f"the items of one partition key {lie} in one partition and {gives}{asked}"
    if b.keys:
        together = _in_the_hottest(result, b)
        if not _heavy(b, b.ceiling_per_s) and len(together) > 1 and b.hottest is not None:
            return (
                f"{gives} and the hash put {number(len(together))} of them into partition {b.hottest.number}, one of "
                f"{plural(b.partitions, 'partition')} to begin with, which was asked for up to {hottest}"
            )
        shared = (
            f", and they shared {number(b.partitions)} partitions to begin with" if b.partitions < len(b.keys) else ""
        )
        most = f", the hottest of which was asked for up to {hottest}" if shared and hottest else ""
        return f"each key lies in one partition and {gives}{shared}{most}"
    if _is_full(b):
        if b.partitions == 1:
            return f"{gives} and there was one"
        return f"{gives} and the {number(b.partitions)} partitions of that moment {amount(b.partitions * b.ceiling_per_s)} together"
    if b.hottest is None:
        return gives
    which = (
        "the only partition" if b.partitions == 1 else f"partition {b.hottest.number}, one of {number(b.partitions)},"
    )
    if b.hottest.per_s < b.ceiling_per_s:  # over a minute: its bucket lasts a second
        return f"{gives} and {which} was asked for more in single seconds, though for no more than {hottest} over its busiest minute"
    return f"{gives} and {which} was asked for up to {hottest}"


def _eventual(result: Outcome, b: Bottleneck) -> str:
    factor = result.scenario.calibration.eventual_read_ceiling_factor
    if b.dimension is Dimension.READ and factor != 1:
        return f" ({amount(factor * b.ceiling_per_s)} where they are eventually consistent)"
    return ""


# A partition's ceiling: why nothing lifted it, and what would.


def _why_the_ceiling_held(result: Outcome, b: Bottleneck) -> Iterator[str]:
    if mode_at(result, b.resource, b.first_s) is Mode.PROVISIONED:
        yield (
            "burst credit and adaptive capacity could not help: they lend what the table has left, but never lift a partition "
            f"above {amount(b.ceiling_per_s)} {_units(b)}"
        )
    yield from _why_splits_did_not_help(result, b)
    if mode_at(result, b.resource, b.first_s) is Mode.ON_DEMAND and not _is_unsplittable(result, b):
        yield from _on_demand_scaling(result, b)


def _why_splits_did_not_help(result: Outcome, b: Bottleneck) -> Iterator[str]:
    scenario, record = result.scenario, result.resources[b.resource]
    if not _is_instant(result):
        yield f"under {scenario.admission} admission the service did not split partitions for heat"
        return
    heat = b.splits
    if b.declined:
        row = b.declined[0]
        before = (
            f"split for heat added {plural(len(heat), 'partition')} by {clock(heat[-1].at_s)}, but " if heat else ""
        )
        others = f", and {plural(len(b.declined) - 1, 'other')} later" if len(b.declined) > 1 else ""
        keys = list(dict.fromkeys(name(d.key) for d in b.declined if d.why is row.why and d.key))
        where = f"to split partition {row.partition}{others}"
        why = _why_declined(row.why, keys, carries=_nothing_else_helps(result, b))
        yield f"{before}the service declined at {clock(row.at_s)} {where}: {why}"
    elif heat:
        last = f", the last of {len(heat)} at {clock(heat[-1].at_s)}" if len(heat) > 1 else ""
        grew = any(split.reason is SplitReason.THROUGHPUT for split in record.splits)
        relief = "" if grew else _relief(result, b, heat[-1].at_s)
        served = f"begun at {clock(heat[0].decided_s)}, serving from {clock(heat[0].at_s)}"
        if _one_key(b) and _is_item(result, b):
            yield f"split for heat did not help, for an item stays in one of the halves: {served}{last}"
        else:
            yield f"split for heat came late: {served}{last}{relief}"
    elif b.first_s + split_relief_s(result) > result.grid.duration_s:
        if _one_key(b) and _is_item(result, b):
            yield "split for heat would not have helped in a longer run either: an item stays in one partition"
            return
        yield (
            f"split for heat was too slow to help: relief comes some {clock(split_relief_s(result))} after a partition becomes hot, "
            f"and the run {_rest(result, b.first_s)}"
        )
    elif not record.splits or not _is_unsplittable(result, b):
        trigger, window = percent(scenario.calibration.heat_trigger_fraction), scenario.calibration.heat_window_s
        which = "partition that refused them" if record.splits else "partition"
        yield f"no {which} was split for heat: that takes a mean of {trigger} of its ceiling over {clock(window)}"


def _rest(result: Outcome, first_s: float) -> str:
    if _from_the_start(result, first_s):
        return f"lasted {clock(result.grid.duration_s)}"
    return f"ended {clock(result.grid.duration_s - first_s)} after the first throttle"


def _why_declined(why: Declined, keys: list[str], *, carries: bool) -> str:
    """Why a split was declined; with ``carries`` these keys are all of the trouble, so that nothing else would help either."""
    if why is Declined.SINGLE_ITEM:
        heat = "single items carry the heat" if len(keys) > 1 else "a single item carries the heat"
        which = f" ({joined(keys)})" if keys else ""
        if not carries:
            return f"there {heat}{which}, which no split divides"
        return (
            f"{heat}{which}, so no number of partitions helps, and neither does warm throughput or a greater capacity"
        )
    of_keys = f" of {joined(keys)}" if keys else ""
    if why is Declined.MOVING_SORT_KEY:
        return f"the heat{of_keys} moves along ever-increasing sort keys, and all of it would fall into the upper half"
    return f"a local secondary index holds the item collection{of_keys} together in one partition"


def _on_demand_scaling(result: Outcome, b: Bottleneck) -> Iterator[str]:
    record, calibration = result.resources[b.resource], result.scenario.calibration
    start = record.lanes[b.dimension].warm[0][1]
    if b.busiest_per_s <= start:
        return
    peak = start / ON_DEMAND_HEADROOM_FACTOR
    room = f"on-demand scaling keeps room for twice the previous peak: {amount(peak)} {_units(b)} to begin with, so {amount(start)} at once"
    if not calibration.on_demand_scaling:
        yield f"{room}; its growth is switched off in this calibration"
        return
    held = f"it counts a new peak only once that was held for {clock(calibration.peak_sustained_s)}"
    asked_for = made_by_updates(result)
    grown = [s for s in record.splits if s.reason is SplitReason.THROUGHPUT and s.at_s not in asked_for]
    if not grown:
        yield f"{room}; {held}, and made no partitions in this run"
        return
    initial, final, last_s = record.partition_counts[0][1], record.partition_counts[-1][1], record.splits[-1].at_s
    yield (
        f"{room}; {held}, so its first new partitions served from {clock(grown[0].at_s)} on; in all the table grew from {initial} to "
        f"{plural(final, 'partition')} by {clock(last_s)}{_relief(result, b, last_s)}"
    )


def _relief(result: Outcome, b: Bottleneck, last_split_s: float) -> str:
    if _to_the_end(result, b.end_s):
        return ", and throttling went on to the end"
    return f", and throttling ended at {clock(b.end_s)}" if b.end_s <= last_split_s + result.grid.period_s else ""


def _cures_of_the_ceiling(result: Outcome, b: Bottleneck) -> Iterator[str]:
    room = TARGET_FRACTION * b.ceiling_per_s
    hottest = b.hottest.per_s * b.first_fraction if b.hottest is not None else 0.0
    heavy = _heavy(b, room)
    carrying = [key for key in heavy if key in b.keys]
    rest = b.busiest_per_s - sum(key.peak_per_s for key in heavy)
    if b.keys and (_follows_clock(result, b) or (_is_held_together(b) and not carrying)):
        yield _shard(result, b, b.keys, [hottest])
    elif carrying:
        yield _shard(result, b, carrying, [key.peak_per_s for key in carrying])
    elif _lie_together(result, b):
        yield _lay_apart(result, b)
    elif heavy and rest <= room * b.partitions and _heavy(b, b.ceiling_per_s):
        yield _shard(result, b, heavy, [key.peak_per_s for key in heavy])
    elif b.busiest_per_s > room * b.partitions:
        yield _warm(result, b)
    elif hottest > room:
        partitions = _partitions_apart(result, b)[0] or math.ceil(b.partitions * hottest / room)
        wanted = partitions * b.ceiling_per_s
        proviso = "" if b.known else ", provided that no single item is hotter than that"
        yield (
            "what would help: spread the traffic over more keys, or make the ranges narrower before the load comes, for "
            f"{_warmed(result, b, at_least(wanted))} lays out {partitions:,} partitions and so brings the hottest one to "
            f"{percent(_SNUG_FRACTION)} of its ceiling or less{proviso}{_quota_first(result, b, wanted)}{_too_heavy(result, b)}"
        )


def _shard(result: Outcome, b: Bottleneck, keys: Sequence[LoadedKey], rates: Sequence[float]) -> str:
    """The cure of keys that are too heavy for a partition; ``rates`` are theirs, or one for all that are hot one after the other."""
    heaviest = max(rates)
    suffixes = _suffixes(b, heaviest)
    wanted = [_suffixes(b, rate) for rate in rates]
    names = joined([_shown(key) for key in keys])
    if len(rates) == 1:
        which = "the key" if len(b.keys) == 1 or len(keys) > 1 else names
        over = f"{which} over {suffixes} suffixes"
    elif min(wanted) == suffixes:
        which = "each of these keys" if len(keys) == len(b.keys) else f"each of {names}"
        over = f"{which} over {suffixes} suffixes, {sum(wanted)} in all"
    else:
        which = "these keys" if len(keys) == len(b.keys) else names
        over = f"{which} over {sum(wanted)} suffixes in all, {suffixes} of them for the heaviest"
    each = f"about {amount(heaviest / suffixes)} {_units(b)} each where a partition gives {amount(b.ceiling_per_s)}"
    action = f"write sharding: spread {over}, {each}"
    then = _then(result, b, sharded=keys)
    if b.why_not_split is Declined.LOCAL_INDEX:
        return (
            "what would help: drop the local secondary index (a global one can take its place), for then the collection can be split "
            f"between sort keys; or {action}{then}"
        )
    if b.why_not_split is Declined.MOVING_SORT_KEY:
        return f"what would help is {action}; a sort key that does not only grow would let the service split the collection{then}"
    if b.dimension is Dimension.READ:
        return (
            f"what would help: {_cache(result)} for reads that may be eventually consistent, or "
            f"{over.replace(' over ', ' in ').replace('suffixes', 'copies')}, {each}{then}"
        )
    return (
        f"what would help is {action}; readers then ask all suffixes, and those that happen to share a partition are split apart "
        f"within minutes{then}"
    )


def _suffixes(b: Bottleneck, per_s: float) -> int:
    """Into how many a key must be divided so that each part leaves its partition room."""
    return max(2, math.ceil(per_s / (TARGET_FRACTION * b.ceiling_per_s) - 1e-9))


def _lay_apart(result: Outcome, b: Bottleneck) -> str:
    """The cure of keys of which each is light enough, but which the hash has put into one partition."""
    partitions, load = _partitions_apart(result, b)
    wait = f"split for heat parts them some {clock(split_relief_s(result))} after they become hot"
    chance = (
        "which of them share a partition is chance of the hash (DynamoDB's is not the one here), so with other names or a prefix they "
        "fall elsewhere"
    )
    if partitions is None or result.scenario.admission is not AdmissionPolicy.INSTANT:
        return f"what would help is patience or other names: {wait}; {chance}"
    wanted = at_least(partitions * b.ceiling_per_s)
    return (
        "none of these keys is too heavy for a partition of its own, so what would help is more partitions: "
        f"{_warmed(result, b, wanted)} before the load comes lays out {partitions:,}, none asked for more than {amount(load)} "
        f"{_units(b)} here{_quota_first(result, b, partitions * b.ceiling_per_s)}; or waiting, for {wait}; {chance}"
    )


def _partitions_apart(result: Outcome, b: Bottleneck) -> tuple[int | None, float]:
    """The fewest equal partitions in which the keys that are known and an even rest leave each some room, and the load of the fullest.

    Keys that are too heavy on their own are left out.
    """
    room = _SNUG_FRACTION * b.ceiling_per_s
    keys = [key for key in b.known if key.peak_per_s <= room]
    places = np.array([key.position / HASH_SPACE for key in keys])
    rates = np.array([key.peak_per_s for key in keys])
    rest = max(0.0, b.busiest_per_s - sum(key.peak_per_s for key in b.known))
    for partitions in range(result.resources[b.resource].initial_partitions, _PARTITIONS_TRIED_MAX):
        column = np.minimum((places * partitions).astype(np.int64), partitions - 1)
        load = np.bincount(column, weights=rates, minlength=partitions) + rest / partitions
        if load.max() <= room:
            return partitions, float(load.max())
    return None, 0.0


def _warm(result: Outcome, b: Bottleneck) -> str:
    wanted = round_up(b.busiest_per_s / TARGET_FRACTION)
    quota: float = getattr(result.scenario.account, f"table_{b.dimension}")
    over = ""
    if b.busiest_per_s <= quota < wanted:
        wanted, over = int(quota), "; the table quota allows no more"
    else:
        over = _quota_first(result, b, wanted)
    partitions = math.ceil(wanted / b.ceiling_per_s)
    filled = percent(b.busiest_per_s / (partitions * b.ceiling_per_s))
    return (
        f"what would help: set {_warmed(result, b, wanted)} before the load comes, {plural(partitions, 'partition')} that the busiest "
        f"minute's {amount(b.busiest_per_s)} {_units(b)} fill to {filled} on average{over}{_too_heavy(result, b)}"
    )


def _warmed(result: Outcome, b: Bottleneck, wanted: float | str) -> str:
    """The setting of warm throughput; it takes the place of a number of partitions, beside which it lays out none."""
    own = holders(result.scenario.table)[b.resource].partitions
    instead = "" if own is None else f" in place of partitions = {own:,}"
    return f"warm_{b.dimension} = {wanted if isinstance(wanted, str) else format(wanted, ',')}{instead}"


def _quota_first(result: Outcome, b: Bottleneck, wanted_per_s: float) -> str:
    quota: float = getattr(result.scenario.account, f"table_{b.dimension}")
    return f"; the table quota of {amount(quota)} must be raised first" if wanted_per_s > quota else ""


def _too_heavy(result: Outcome, b: Bottleneck) -> str:
    """What a cure by more partitions or more capacity leaves undone: keys that pass a partition's ceiling on their own."""
    keys = _heavy(b, b.ceiling_per_s)
    if not keys or _follows_clock(result, b):
        return ""
    names = joined([_shown(key) for key in keys])
    suffixes = sum(_suffixes(b, key.peak_per_s) for key in keys)
    still = f"; {names} alone would still pass a partition's ceiling"
    in_all = " in all" if len(keys) > 1 else ""
    if b.dimension is Dimension.READ:
        return f"{still}: {_cache(result)}, or {suffixes} copies{in_all}"
    return f"{still} and must be spread over {suffixes} suffixes{in_all}"


def _cache(result: Outcome) -> str:
    """The cure that is a cache: a new one, or more reads through the one that is there."""
    return (
        "a cache in front of the table (DAX)"
        if result.scenario.dax is None
        else "reads through the cache that is there (DAX)"
    )


def _then(result: Outcome, b: Bottleneck, *, sharded: Sequence[LoadedKey] = ()) -> str:
    """What must come on top of a cure, lest the next limit refuse what this one lets pass: more partitions, or keys divided."""
    words = "" if sharded else _too_heavy(result, b)
    # Where partitions refuse as well, their own paragraph says so.
    told = b.limit is not Limit.KEY_RANGE and any(
        t.limit is Limit.KEY_RANGE and (t.resource, t.dimension) == (b.resource, b.dimension) for t in result.throttles
    )
    if _is_full(b) and not told:
        wanted = round_up(b.busiest_per_s / TARGET_FRACTION)
        words += (
            f"; and set {_warmed(result, b, wanted)} before the load comes, for {plural(b.partitions, 'partition')} "
            f"{'gives' if b.partitions == 1 else 'give'} no more than {amount(b.partitions * b.ceiling_per_s)}"
        )
    return words


# Provisioned capacity: why it ran out, and what would do.


def _why_capacity_ran_out(result: Outcome, b: Bottleneck) -> Iterator[str]:
    parts = 1 if _is_instant(result) else b.partitions
    credit = burst_at_start(result, b.resource, b.dimension)
    each = f", {amount(credit / parts)} for each partition" if parts > 1 else ""
    if was_changed_before(result, b):
        yield (
            f"burst credit, at most 300 s of the {amount(b.gives_per_s)} provisioned by then, was spent by {clock(b.first_s)}; a raise of "
            "the capacity brings none"
        )
    elif credit <= _NO_CREDIT_S * b.gives_per_s and _from_the_start(result, b.first_s):
        yield "there was no burst credit to begin with, and a load above the rate leaves none to gather"
    elif credit <= _NO_CREDIT_S * b.gives_per_s:
        yield f"burst credit, none at the start, gathered while less was asked than was provisioned, and was spent by {clock(b.first_s)}"
    elif _from_the_start(result, b.first_s):
        yield f"burst credit, {amount(credit)} units at the start{each}, was spent at once"
    else:
        yield (
            f"burst credit, {amount(credit)} units at the start{each}, covered the difference until {clock(b.first_s)} and was then spent; "
            "it fills up only while less is asked than is provisioned"
        )
    if parts > 1:
        yield from _how_another_era_fared(result, b)


def _how_another_era_fared(result: Outcome, b: Bottleneck) -> Iterator[str]:
    if result.scenario.admission is AdmissionPolicy.ADAPTIVE_2017:
        boosts = [
            event
            for event in result.recorder.events
            if event.action == "adaptive-capacity"
            and event.resource == b.resource
            and event.detail.startswith(b.dimension)
        ]
        if boosts:
            yield (
                f"adaptive capacity of 2017 acted only after throttling had gone on: its first boost came at {clock(boosts[0].at_s)}, "
                f"{clock(boosts[0].at_s - b.first_s)} after the first throttle"
            )
        else:
            yield "adaptive capacity of 2017 granted no boost in this run"
    mean = _mean_asked_per_s(result, b)
    if mean <= b.gives_per_s and (b.hottest is None or b.hottest.per_s <= b.ceiling_per_s):
        served = "all" if b.busiest_per_s <= b.gives_per_s else "nearly all"
        yield (
            f"today's instant adaptive capacity would have served {served} of it: {resource_words(b.resource)} as a whole was asked for "
            f"{amount(mean)} of its {amount(b.gives_per_s)} {_units(b)}, and a partition may take any part of that up to "
            f"{amount(b.ceiling_per_s)}"
        )


def _cure_of_capacity(result: Outcome, b: Bottleneck) -> str:
    hottest = b.hottest.per_s if b.hottest is not None else 0.0
    if not _is_instant(result) and hottest * b.partitions > b.busiest_per_s * (1 + _NOISE):
        return (
            f"the cure of that era: provision {at_least(hottest * b.partitions)} {_units(b)}{_of_index(b)}, "
            f"{amount(hottest)} for every one of the "
            f"{number(b.partitions)} partitions, or choose keys that spread the load evenly"
        )
    mean = _mean_asked_per_s(result, b)
    smooth = (
        f"; spread out in time, the run's mean of {amount(mean)} would have fitted"
        if mean < _ALL_OF_IT * b.gives_per_s
        else ""
    )
    return (
        f"what would help: provision {at_least(b.busiest_per_s)} {_units(b)}{_of_index(b)} for the busiest minute, or "
        f"{at_least(b.busiest_per_s / TARGET_FRACTION)} to keep it at {percent(TARGET_FRACTION)}, auto scaling's usual target{smooth}"
        f"{_too_heavy(result, b)}"
    )


# What the sentences ask of a bottleneck.


def _units(b: Bottleneck) -> str:
    return f"{b.dimension} units/s"


def _of_index(b: Bottleneck) -> str:
    return "" if b.resource == TABLE else f" on {resource_words(b.resource)}, as much as the writes that touch it,"


def _mean_asked_per_s(result: Outcome, b: Bottleneck) -> float:
    return float(result.resources[b.resource].lanes[b.dimension].offered_units.sum()) / result.grid.duration_s


def _is_instant(result: Outcome) -> bool:
    return result.scenario.admission is AdmissionPolicy.INSTANT


def _one_key(b: Bottleneck) -> bool:
    return len(b.keys) == 1


def _is_all(b: Bottleneck, key: LoadedKey) -> bool:
    return key.per_s >= _ALL_OF_IT * b.asked_per_s


def _heavy(b: Bottleneck, above_per_s: float) -> list[LoadedKey]:
    """Keys of the bottleneck's dimension that ask for more than this on their own, heaviest first."""
    return sorted((key for key in b.known if key.peak_per_s > above_per_s), key=lambda key: -key.peak_per_s)


def _in_the_hottest(result: Outcome, b: Bottleneck) -> list[LoadedKey]:
    """The carrying keys that lie in the hottest partition."""
    if b.hottest is None:
        return []
    partition = result.resources[b.resource].partitions[b.hottest.number]
    return [key for key in b.keys if partition.low.hash <= key.position < partition.high.hash]


def _lie_together(result: Outcome, b: Bottleneck) -> bool:
    """Whether a few keys refuse only because they share partitions: each would fit into one of its own."""
    return (
        len(b.keys) > 1
        and not _is_held_together(b)
        and not _follows_clock(result, b)
        and not _heavy(b, TARGET_FRACTION * b.ceiling_per_s)
    )


def _nothing_else_helps(result: Outcome, b: Bottleneck) -> bool:
    """Whether these keys are all of the trouble, so that neither partitions nor capacity would help."""
    return bool(b.keys) and not _lie_together(result, b) and not _is_full(b)


def _is_full(b: Bottleneck) -> bool:
    """Whether the table as a whole is asked for more than its partitions give, evenly though it be spread."""
    return b.busiest_per_s > _FULL_FRACTION * b.partitions * b.ceiling_per_s


def _is_held_together(b: Bottleneck) -> bool:
    """Whether something else than its single items keeps a collection in one partition."""
    return b.why_not_split in (Declined.LOCAL_INDEX, Declined.MOVING_SORT_KEY)


def _is_item(result: Outcome, b: Bottleneck) -> bool:
    """Whether the heaviest key is one item rather than a collection."""
    no_sort_key = b.resource == TABLE and result.scenario.table.sk is None
    return no_sort_key or b.keys[0].sort_key is not None or b.why_not_split is Declined.SINGLE_ITEM


def _is_unsplittable(result: Outcome, b: Bottleneck) -> bool:
    return b.why_not_split is not None or (bool(b.keys) and _is_item(result, b))


def _key_names(b: Bottleneck) -> str:
    return joined([_shown(key) for key in b.keys])


def _shown(key: LoadedKey) -> str:
    return name(key.name) + (f" / {name(key.sort_key)}" if key.sort_key is not None else "")


def _follows_clock(result: Outcome, b: Bottleneck) -> bool:
    """Whether the keys of the throttled patterns move with the clock, so that one at a time is hot."""
    scenario = result.scenario
    templates = [t.pk or scenario.table.pk for t in scenario.traffic if t.name in b.patterns]
    made_of = [fields_of(template) for template in templates]
    moving = [bool(fields) and all(isinstance(scenario.fields[f], ClockField) for f in fields) for fields in made_of]
    return bool(moving) and all(moving)  # with another field in it, a shard, many are hot at a time


def _from_the_start(result: Outcome, first_s: float) -> bool:
    return first_s <= max(5 * result.grid.tick_s, 0.002 * result.grid.duration_s)


def _to_the_end(result: Outcome, end_s: float) -> bool:
    return end_s >= result.grid.duration_s - max(5 * result.grid.tick_s, 0.01 * result.grid.duration_s)
