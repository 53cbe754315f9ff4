"""Sentences about one bottleneck: what limited what and when, why nothing helped, and what would."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sim.limits import ON_DEMAND_HEADROOM_FACTOR
from sim.names import TABLE, AdmissionPolicy, Declined, Dimension, Limit, Mode, SplitReason
from sim.results.bottleneck import Bottleneck, LoadedKey, burst_at_start, resource_words
from sim.results.phrases import amount, at_least, clock, joined, name, number, percent, plural, round_up
from sim.scenario import ClockField, fields_of

if TYPE_CHECKING:
    from sim.results.outcome import Outcome

TARGET_FRACTION = 0.7  # room kept in every cure: the target utilisation that AWS proposes for auto scaling
_STEADY_FRACTION = 0.8  # refusals in fewer of the periods between first and last are "on and off"
_ALL_OF_IT = 0.95  # a key with this part of a resource's traffic is all of it, for a sentence
_FULL_FRACTION = 0.9  # asked for this part of what all partitions give, the table as a whole is short
_NO_CREDIT_S = 1.5  # a bucket that starts with one second's worth has no credit to speak of


def sentences_of(result: Outcome, b: Bottleneck) -> Iterator[str]:
    """Cause, what did not help, and cure, in this order."""
    yield _cause(result, b)
    match b.limit:
        case Limit.KEY_RANGE:
            yield from _why_the_ceiling_held(result, b)
            yield from _cures_of_the_ceiling(result, b)
        case Limit.PROVISIONED:
            yield from _why_capacity_ran_out(result, b)
            yield _cure_of_capacity(result, b)
        case Limit.ACCOUNT:
            yield (
                "partitions have no part in this quota, so neither splits nor warm throughput help; ask AWS to raise it to "
                f"at least {at_least(b.busiest_per_s)} {_units(b)} for the busiest minute (account.table_{b.dimension} in the scenario)"
            )
        case Limit.MAX_ON_DEMAND:
            yield (
                f"what would help: raise max_{b.dimension} to at least {at_least(b.busiest_per_s)} for the busiest minute, "
                "or take the throttling as the price of the cap"
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


def split_relief_s(result: Outcome) -> float:
    """Seconds from a partition's becoming hot to the moment at which its halves serve."""
    return float(result.scenario.calibration.heat_window_s + result.scenario.calibration.split_delay_s)


# The cause.


def _cause(result: Outcome, b: Bottleneck) -> str:
    what = f"{b.dimension}s" if b.resource == TABLE else f"{b.dimension}s that touch {resource_words(b.resource)}"
    whose = f" of {joined([name(p) for p in b.patterns])}" if len(result.traffic) > 1 and b.patterns else ""
    of_it = " of it" if _one_key(b) and _is_all(b, b.keys[0]) else ""
    return (
        f"{what}{whose}{_to_where(result, b)} were throttled {span_words(result, b.first_s, b.end_s, b.busy_fraction)}: "
        f"{percent(b.refused_fraction)} of the {amount(b.asked_per_s)} {_units(b)} asked{of_it} in that time were refused, "
        f"because {_because(result, b)} [{b.throttle.reason}]"
    )


def _to_where(result: Outcome, b: Bottleneck) -> str:
    if b.limit is not Limit.KEY_RANGE or not b.keys:
        return ""
    if _follows_clock(result, b):
        return f" to one key at a time ({_key_names(b)})"
    if _one_key(b):
        return f" to {'one item' if _is_item(result, b) else 'one partition key'}, {_key_names(b)},"
    return f" to {number(len(b.keys))} keys ({_key_names(b)})"


def _because(result: Outcome, b: Bottleneck) -> str:
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
            if key.per_s is not None and key.per_s > b.ceiling_per_s and not _follows_clock(result, b):
                asked = f" (this one was asked for {amount(key.per_s)})"
            elif hottest:
                asked = f" (its partition was asked for up to {hottest})"
        if _is_item(result, b):
            return f"an item lies in one partition and {gives}{asked}"
        lie = "stay" if b.why_not_split is Declined.LOCAL_INDEX else "start out"
        return f"the items of one partition key {lie} in one partition and {gives}{asked}"
    if b.keys:
        shared = (
            f", and they shared {number(b.partitions)} partitions to begin with" if b.partitions < len(b.keys) else ""
        )
        most = f", the hottest of which was asked for up to {hottest}" if shared and hottest else ""
        return f"each key lies in one partition and {gives}{shared}{most}"
    if b.busiest_per_s > _FULL_FRACTION * b.partitions * b.ceiling_per_s:
        if b.partitions == 1:
            return f"{gives} and there was one"
        return f"{gives} and the {number(b.partitions)} partitions of that moment {amount(b.partitions * b.ceiling_per_s)} together"
    if b.hottest is None:
        return gives
    return f"{gives} and partition {b.hottest.number}, one of {plural(b.partitions, 'partition')}, was asked for up to {hottest}"


def _eventual(result: Outcome, b: Bottleneck) -> str:
    factor = result.scenario.calibration.eventual_read_ceiling_factor
    if b.dimension is Dimension.READ and factor != 1:
        return f" ({amount(factor * b.ceiling_per_s)} where they are eventually consistent)"
    return ""


# A partition's ceiling: why nothing lifted it, and what would.


def _why_the_ceiling_held(result: Outcome, b: Bottleneck) -> Iterator[str]:
    if result.scenario.table.mode is Mode.PROVISIONED:
        yield (
            "burst credit and adaptive capacity could not help: they lend what the table has left, but never lift a partition "
            f"above {amount(b.ceiling_per_s)} {_units(b)}"
        )
    yield from _why_splits_did_not_help(result, b)
    if result.scenario.table.mode is Mode.ON_DEMAND and not _is_unsplittable(result, b):
        yield from _on_demand_scaling(result, b)


def _why_splits_did_not_help(result: Outcome, b: Bottleneck) -> Iterator[str]:
    scenario, record = result.scenario, result.resources[b.resource]
    if scenario.table.mode is Mode.PROVISIONED and not _is_instant(result):
        yield f"under {scenario.admission} admission the service did not split partitions for heat"
        return
    heat = [split for split in record.splits if split.reason is SplitReason.HEAT]
    if b.declined:
        row = b.declined[0]
        before = (
            f"split for heat added {plural(len(heat), 'partition')} by {clock(heat[-1].at_s)}, but " if heat else ""
        )
        others = f", and {plural(len(b.declined) - 1, 'other')} later" if len(b.declined) > 1 else ""
        keys = list(dict.fromkeys(name(d.key) for d in b.declined if d.why is row.why and d.key))
        where = f"to split partition {row.partition}{others}"
        yield f"{before}the service declined at {clock(row.at_s)} {where}: {_why_declined(row.why, keys)}"
    elif heat:
        last = f", the last of {len(heat)} at {clock(heat[-1].at_s)}" if len(heat) > 1 else ""
        grew = any(split.reason is SplitReason.THROUGHPUT for split in record.splits)
        relief = "" if grew else _relief(result, b, heat[-1].at_s)
        served = f"begun at {clock(heat[0].decided_s)}, serving from {clock(heat[0].at_s)}"
        yield f"split for heat came late: {served}{last}{relief}"
    elif not record.splits and b.first_s + split_relief_s(result) > result.grid.duration_s:
        yield (
            f"split for heat was too slow to help: relief comes some {clock(split_relief_s(result))} after a partition becomes hot, "
            f"and the run {_rest(result, b.first_s)}"
        )
    elif not record.splits:
        trigger, window = percent(scenario.calibration.heat_trigger_fraction), scenario.calibration.heat_window_s
        yield f"no partition was split for heat: that takes a mean of {trigger} of its ceiling over {clock(window)}"


def _rest(result: Outcome, first_s: float) -> str:
    if _from_the_start(result, first_s):
        return f"lasted {clock(result.grid.duration_s)}"
    return f"ended {clock(result.grid.duration_s - first_s)} after the first throttle"


def _why_declined(why: Declined, keys: list[str]) -> str:
    if why is Declined.SINGLE_ITEM:
        carries = "single items carry the heat" if len(keys) > 1 else "a single item carries the heat"
        which = f" ({joined(keys)})" if keys else ""
        return f"{carries}{which}, so no number of partitions helps, and neither does warm throughput or a greater capacity"
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
    grown = [split for split in record.splits if split.reason is SplitReason.THROUGHPUT]
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
    hottest = b.hottest.per_s if b.hottest is not None else 0.0
    rates = [key.per_s for key in b.keys if key.per_s is not None]
    heaviest = hottest if _follows_clock(result, b) or not rates else max(rates)
    if b.keys and (heaviest > room or _is_unsplittable(result, b)):
        yield _shard(result, b, heaviest)
    elif b.busiest_per_s > room * b.partitions:
        yield _warm(result, b)
    elif hottest > room:
        spread = "spread the traffic over more keys, or " if b.keys else ""
        partitions = math.ceil(b.partitions * hottest / room)
        yield (
            f"what would help: {spread}make the ranges narrower before the load comes, for warm_{b.dimension} = "
            f"{at_least(partitions * b.ceiling_per_s)} lays out {partitions:,} partitions and so brings the hottest one to about "
            f"{percent(TARGET_FRACTION)} of its ceiling, provided that no single item is hotter than that"
        )


def _shard(result: Outcome, b: Bottleneck, heaviest: float) -> str:
    suffixes = _suffixes(b, heaviest)
    one = _one_key(b) or _follows_clock(result, b)
    wanted = [suffixes] if one else [_suffixes(b, heaviest if key.per_s is None else key.per_s) for key in b.keys]
    if one:
        over = f"the key over {suffixes} suffixes"
    elif min(wanted) == suffixes:
        over = f"each of these keys over {suffixes} suffixes, {sum(wanted)} in all"
    else:
        over = f"these keys over {sum(wanted)} suffixes in all, {suffixes} of them for the heaviest"
    each = f"about {amount(heaviest / suffixes)} {_units(b)} each where a partition gives {amount(b.ceiling_per_s)}"
    action = f"write sharding: spread {over}, {each}"
    if b.why_not_split is Declined.LOCAL_INDEX:
        return (
            "what would help: drop the local secondary index (a global one can take its place), for then the collection can be split "
            f"between sort keys; or {action}"
        )
    if b.why_not_split is Declined.MOVING_SORT_KEY:
        return f"what would help is {action}; a sort key that does not only grow would let the service split the collection"
    if b.dimension is Dimension.READ:
        return (
            "what would help: a cache in front of the table (DAX) for reads that may be eventually consistent, or "
            f"{over.replace(' over ', ' in ').replace('suffixes', 'copies')}, {each}"
        )
    return (
        f"what would help is {action}; readers then ask all suffixes, and those that happen to share a partition are split apart "
        "within minutes"
    )


def _suffixes(b: Bottleneck, per_s: float) -> int:
    """Into how many a key must be divided so that each part leaves its partition room."""
    return max(2, math.ceil(per_s / (TARGET_FRACTION * b.ceiling_per_s) - 1e-9))


def _warm(result: Outcome, b: Bottleneck) -> str:
    wanted = round_up(b.busiest_per_s / TARGET_FRACTION)
    quota: float = getattr(result.scenario.account, f"table_{b.dimension}")
    over = ""
    if b.busiest_per_s <= quota < wanted:
        wanted, over = int(quota), "; the table quota allows no more"
    elif wanted > quota:
        over = f"; the table quota of {amount(quota)} must be raised first"
    partitions = math.ceil(wanted / b.ceiling_per_s)
    filled = percent(b.busiest_per_s / (partitions * b.ceiling_per_s))
    return (
        f"what would help: set warm_{b.dimension} = {wanted:,} before the load comes, {plural(partitions, 'partition')} that the busiest "
        f"minute's {amount(b.busiest_per_s)} {_units(b)} fill to {filled} on average{over}{_too_heavy(result, b)}"
    )


def _too_heavy(result: Outcome, b: Bottleneck) -> str:
    keys = [k for k in result.hot_keys if k.resource == b.resource and k.share * b.busiest_per_s > b.ceiling_per_s]
    if not keys:
        return ""
    names = joined([name(key.key) for key in keys])
    return f"; {names} alone would still pass a partition's ceiling and must be spread over suffixes"


# Provisioned capacity: why it ran out, and what would do.


def _why_capacity_ran_out(result: Outcome, b: Bottleneck) -> Iterator[str]:
    parts = 1 if _is_instant(result) else b.partitions
    credit = burst_at_start(result, b.resource, b.dimension)
    each = f", {amount(credit / parts)} for each partition" if parts > 1 else ""
    if credit <= _NO_CREDIT_S * b.gives_per_s and _from_the_start(result, b.first_s):
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
    if not _is_instant(result) and hottest * b.partitions > b.busiest_per_s:
        return (
            f"the cure of that era: provision {at_least(hottest * b.partitions)} {_units(b)}, {amount(hottest)} for every one of the "
            f"{number(b.partitions)} partitions, or choose keys that spread the load evenly"
        )
    mean = _mean_asked_per_s(result, b)
    smooth = (
        f"; spread out in time, the run's mean of {amount(mean)} would have fitted"
        if mean < _ALL_OF_IT * b.gives_per_s
        else ""
    )
    return (
        f"what would help: provision {at_least(b.busiest_per_s)} {_units(b)} for the busiest minute, or "
        f"{at_least(b.busiest_per_s / TARGET_FRACTION)} to keep it at {percent(TARGET_FRACTION)}, auto scaling's usual target{smooth}"
    )


# What the sentences ask of a bottleneck.


def _units(b: Bottleneck) -> str:
    return f"{b.dimension} units/s"


def _mean_asked_per_s(result: Outcome, b: Bottleneck) -> float:
    return float(result.resources[b.resource].lanes[b.dimension].offered_units.sum()) / result.grid.duration_s


def _is_instant(result: Outcome) -> bool:
    return result.scenario.admission is AdmissionPolicy.INSTANT


def _one_key(b: Bottleneck) -> bool:
    return len(b.keys) == 1


def _is_all(b: Bottleneck, key: LoadedKey) -> bool:
    return key.per_s is not None and key.per_s >= _ALL_OF_IT * b.asked_per_s


def _is_item(result: Outcome, b: Bottleneck) -> bool:
    """Whether the heaviest key is one item rather than a collection."""
    no_sort_key = b.resource == TABLE and result.scenario.table.sk is None
    return no_sort_key or b.keys[0].sort_key is not None or b.why_not_split is Declined.SINGLE_ITEM


def _is_unsplittable(result: Outcome, b: Bottleneck) -> bool:
    return b.why_not_split is not None or (bool(b.keys) and _is_item(result, b))


def _key_names(b: Bottleneck) -> str:
    return joined([name(key.name) + (f" / {name(key.sort_key)}" if key.sort_key is not None else "") for key in b.keys])


def _follows_clock(result: Outcome, b: Bottleneck) -> bool:
    """Whether the keys of the throttled patterns move with the clock, so that one at a time is hot."""
    scenario = result.scenario
    templates = [t.pk or scenario.table.pk for t in scenario.traffic if t.name in b.patterns]
    moving = [any(isinstance(scenario.fields[f], ClockField) for f in fields_of(template)) for template in templates]
    return bool(moving) and all(moving)


def _from_the_start(result: Outcome, first_s: float) -> bool:
    return first_s <= max(5 * result.grid.tick_s, 0.002 * result.grid.duration_s)


def _to_the_end(result: Outcome, end_s: float) -> bool:
    return end_s >= result.grid.duration_s - max(5 * result.grid.tick_s, 0.01 * result.grid.duration_s)
