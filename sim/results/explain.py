"""A run in words: `verdict` is the run in one line, `explain` in a few sentences that name cause and cure.

Nothing is said but what was recorded, and arithmetic on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sim.calibration import PARAMETERS
from sim.limits import BURST_WINDOW_S, CEILING_PER_S, ITEM_BYTES_MAX
from sim.names import (
    BATCH_OPERATIONS,
    PAGED_OPERATIONS,
    AdmissionPolicy,
    Dimension,
    ErrorName,
    Limit,
    Mode,
    SplitReason,
)
from sim.results.bottleneck import (
    Bottleneck,
    HotPartition,
    bottlenecks,
    burst_at_start,
    busiest_partition,
    key_rates,
    per_minute,
    resource_words,
)
from sim.results.breakeven import break_even_utilisation
from sim.results.causes import because, between_words, sentences_of, split_relief_s
from sim.results.invoice import money
from sim.results.phrases import amount, clock, joined, name, percent, plural, sentence
from sim.results.scaling import hangs_on, mode_at, what_changed, what_was_refused
from sim.results.steps import integral, value_at, values_at
from sim.results.usage import modes_of

if TYPE_CHECKING:
    from sim.results.outcome import Outcome
    from sim.scenario import Traffic

_NEAR_FRACTION = 0.8  # of a limit: worth a sentence beside another that throttles
_MOST_OF_A_PARTITION = 0.5
_ALL_OF_IT = 0.99
_WASTED_FRACTION = 0.5  # of a request's units that a filter throws away: worth a sentence
_PAGES_OF_A_WALK = 1.5  # pages a request from which most requests walk
_OF_THROTTLES = (ErrorName.PROVISIONED, ErrorName.THROTTLING, ErrorName.REQUEST_LIMIT)
UNTOLD_FRACTION = 0.05  # of requests: from here on it is said that they failed, or wait
_STORM_ATTEMPTS = 1.3  # attempts per request: from here on retries are a part of the trouble
LOW_UTILISATION = 0.3  # S-DECIDE: below this, on demand is worth a look
_TOLD_IN_FULL = 3
_SLIGHT_FRACTION = 0.02  # a reason with less of the throttle events than this is only mentioned


def explain(result: Outcome) -> list[str]:
    """The explanation of a run: sentences in order of importance."""
    told = bottlenecks(result)
    total = sum(b.throttle.count for b in told)
    main = [b for k, b in enumerate(told) if k == 0 or b.throttle.count >= _SLIGHT_FRACTION * total][:_TOLD_IN_FULL]
    sentences = [text for bottleneck in main for text in sentences_of(result, bottleneck)]
    if len(told) > len(main):
        rows = [f"{b.throttle.reason} ({plural(b.throttle.count, 'throttle event')})" for b in told[len(main) :]]
        sentences.append(f"more rarely there was {joined(rows)}")
    if not told:
        sentences.append(_closest_call(result))
        sentences += what_changed(result)
    else:
        sentences += _also_near(result)
    sentences += what_was_refused(result)
    for traffic in result.scenario.traffic:
        sentences += _other_failures(result, traffic)
    sentences += _cached(result)
    sentences += _low_utilisation(result)
    sentences += _calibrated(result, main)
    return [sentence(text) for text in dict.fromkeys(sentences)]


def why(result: Outcome) -> str:
    """Why a run throttled, as half a sentence, for a line beside other runs."""
    told = bottlenecks(result)
    if not told:
        calls = _all_calls(result)
        return f"nothing throttled; {calls[0].words}" if calls else verdict(result)
    main, more = told[0], len(told) - 1
    whose = f" (and {plural(more, 'other reason')})" if more else ""
    where = f"{joined([name(key.name) for key in main.keys])}: " if main.keys and main.limit is Limit.KEY_RANGE else ""
    return f"{main.dimension}s throttled, {percent(main.refused_fraction)} in that time: {where}{because(result, main)}{whose}"


def verdict(result: Outcome) -> str:
    """The run in one line: throttled or not, how much and when."""
    first_s, last_s = result.first_throttle_s, result.last_throttle_s
    if first_s is None or last_s is None:
        if result.attempts == 0:
            return "no traffic"
        failures = f", but {percent(result.failed_fraction)} of requests failed" if result.failed > 0.5 else ""
        return f"nothing throttled{failures}{_waiting(result)}"
    when = between_words(result, first_s, min(last_s + result.grid.tick_s, result.grid.duration_s))
    if result.throttled > 0:
        # Requests fail for other reasons too, or wait: then the attempts do not tell what became of them.
        tells = result.failed_fraction <= result.throttled_fraction + UNTOLD_FRACTION
        failures = "" if tells else f"; {percent(result.failed_fraction)} of requests failed"
        return f"{percent(result.throttled_fraction)} of all attempts throttled, {when}{failures}{_waiting(result)}"
    items = sum(throttle.count for throttle in result.throttles)
    return f"{plural(items, 'item')} refused, {when}, though no attempt as a whole"


def _waiting(result: Outcome) -> str:
    """A word on requests that had no answer when the run ended, where they are many."""
    share = result.in_flight / result.offered if result.offered else 0.0
    return "" if share < UNTOLD_FRACTION else f"; {percent(share)} of requests still wait at the end"


# Runs without throttles.


def _closest_call(result: Outcome) -> str:
    if result.attempts == 0:
        return "there was no traffic"
    calls = _all_calls(result)
    if not calls:
        return "nothing was throttled, and nothing was consumed"
    return f"nothing was throttled; the closest approach to a limit: {'; '.join(call.words for call in calls[:2])}"


def _also_near(result: Outcome) -> Iterator[str]:
    """What refused nothing but came near to it, while something else throttled."""
    refused = {(t.resource, t.dimension) for t in result.throttles}
    near = [c for c in _all_calls(result) if c.fraction >= _NEAR_FRACTION and (c.resource, c.dimension) not in refused]
    if near:
        yield f"also near its limit, though nothing was refused there: {near[0].words}"


@dataclass(frozen=True)
class _Call:
    """How near a limit came: as a fraction of it, and as words."""

    fraction: float
    resource: str
    dimension: Dimension
    words: str


def _all_calls(result: Outcome) -> list[_Call]:
    """All limits that anything was consumed of, the nearest first."""
    calls = [
        _Call(fraction, resource, dimension, words)
        for resource, record in result.resources.items()
        for dimension, lane in record.lanes.items()
        if lane.consumed_units.any()
        for fraction, words in _calls(result, resource, dimension)
    ]
    return sorted(calls, key=lambda call: -call.fraction)


def _calls(result: Outcome, resource: str, dimension: Dimension) -> Iterator[tuple[float, str]]:
    lane = result.resources[resource].lanes[dimension]
    busiest = busiest_partition(result, resource, dimension)
    ceiling = CEILING_PER_S[dimension]
    of_index = "" if resource == "table" else f" of {resource_words(resource)}"
    yield (
        busiest.per_s / ceiling,
        f"partition {busiest.number}{of_index}, the busiest, gave {percent(busiest.per_s / ceiling)} of its ceiling of {amount(ceiling)} "
        f"{dimension} units/s at {clock(busiest.at_s)}{_mostly(result, resource, dimension, busiest)}",
    )
    rates, begins_s = per_minute(result, lane.consumed_units)
    shares = rates / values_at(lane.capacity, begins_s)
    top = int(shares.argmax())
    share, at_s = float(shares[top]), float(begins_s[top])
    has = "provisioned" if mode_at(result, resource, at_s) is Mode.PROVISIONED else "permitted"
    if share < _NEAR_FRACTION and has == "permitted":
        return
    yield (
        share,
        f"{resource_words(resource)} used {percent(share)} of its {amount(value_at(lane.capacity, at_s))} {has} {dimension} units/s "
        f"in its busiest minute, at {clock(at_s)}{_burst_used(result, resource, dimension) if share > 1 else ''}",
    )


def _mostly(result: Outcome, resource: str, dimension: Dimension, busiest: HotPartition) -> str:
    """The one key that most of a partition's load came from, where there is one."""
    partition = result.resources[resource].partitions[busiest.number]
    period = int(np.searchsorted(result.period_starts_s, busiest.at_s, side="right")) - 1
    inside = [
        (float(key_rates(result, resource, dimension, tally)[period]), tally)
        for (where, _), tally in result.recorder.keys.items()
        if where == resource
        and tally.units.get(dimension, 0.0) > 0
        and partition.low.hash <= tally.position < partition.high.hash
    ]
    rate, tally = max(inside, key=lambda row: row[0], default=(0.0, None))
    if tally is None or rate < _MOST_OF_A_PARTITION * busiest.per_s:
        return ""
    part = rate / busiest.per_s
    return f", {'all' if part > _ALL_OF_IT else percent(part)} of it for {name(tally.key)}"


def _burst_used(result: Outcome, resource: str, dimension: Dimension) -> str:
    """How far burst credit was drawn down, where one bucket of one rate served the whole run."""
    lane = result.resources[resource].lanes[dimension]
    if result.scenario.admission is not AdmissionPolicy.INSTANT or len(lane.capacity) > 1:
        return ", thanks to burst credit"
    rate, tick_s = lane.capacity[0][1], result.grid.tick_s
    depth = rate * BURST_WINDOW_S
    # A bucket that never runs dry: what it would hold had it no rim, less the most that has run over the rim so far.
    unbounded = burst_at_start(result, resource, dimension) + np.cumsum(rate * tick_s - lane.consumed_units)
    level = unbounded - np.maximum.accumulate(np.maximum(unbounded - depth, 0.0))
    lowest = int(level.argmin())
    left = percent(max(0.0, float(level[lowest])) / depth)
    return f", thanks to burst credit, of which {left} was left at {clock(lowest * tick_s)}"


# What else is worth a sentence.


def _other_failures(result: Outcome, traffic: Traffic) -> Iterator[str]:
    record = result.traffic[traffic.name]
    offered, who = float(record.offered.sum()), name(traffic.name)
    invalid = record.failures.get(ErrorName.VALIDATION, 0.0)
    if invalid > 0:
        sizes = [traffic.item_bytes, *(action.item_bytes for action in traffic.actions or ())]
        largest = max((size for size in sizes if size is not None), default=0)
        item = f"an item of {largest:,} bytes" if largest > ITEM_BYTES_MAX else "an item with its local index entries"
        every = "every request" if invalid >= offered - 0.5 else plural(invalid, "request")
        yield (
            f"{every} of {who} failed with ValidationException: {item} is over DynamoDB's {ITEM_BYTES_MAX:,} bytes (400 KB); "
            "split the item, or keep its body in S3 and a pointer in the table"
        )
    too_large = record.failures.get(ErrorName.COLLECTION_SIZE, 0.0)
    if too_large >= 0.5:
        yield (
            f"{plural(too_large, 'write')} of {who} ({percent(too_large / offered)}) failed with "
            "ItemCollectionSizeLimitExceededException: a local secondary index holds each item collection in one partition, and theirs is "
            "at 10 GB; a global index instead, or more partition key values (a shard, a month), lets them go on"
        )
    # A transaction is cancelled too where part of it was throttled; what is left over met another transaction.
    cancelled = record.failures.get(ErrorName.TRANSACTION_CANCELED, 0.0) - float(record.throttled.sum())
    if cancelled >= 0.5:
        yield (
            f"{plural(cancelled, 'transaction')} of {who} ({percent(cancelled / offered)}) failed with TransactionCanceledException, for "
            "another one was at work on an item of theirs; keep what everybody writes, a counter, out of transactions, or divide it over "
            "several items"
        )
    waiting = offered - float(record.succeeded.sum()) - sum(record.failures.values())
    if offered and waiting >= UNTOLD_FRACTION * offered and waiting >= 1:
        yield (
            f"of {who} {plural(waiting, 'request')} ({percent(waiting / offered)}) had no answer yet when the run ended: more comes than "
            "is served, and so they wait in the client or are tried again"
        )
    met = record.failures.get(ErrorName.TRANSACTION_CONFLICT, 0.0)
    if met >= 0.5:
        yield (
            f"{plural(met, 'write')} of {who} ({percent(met / offered)}) met a transaction at work on their item and failed with "
            "TransactionConflictException; keep what everybody writes out of transactions"
        )
    unmet = record.failures.get(ErrorName.CONDITIONAL_CHECK, 0.0)
    if unmet > 0:
        yield (
            f"the condition was false for {plural(unmet, 'write')} of {who} ({percent(unmet / offered)}), which failed with "
            "ConditionalCheckFailedException and were charged all the same"
        )
    if record.unprocessed >= 0.5 and traffic.operation in BATCH_OPERATIONS:
        batched = float(record.succeeded.sum()) * traffic.batch
        share = f" ({percent(record.unprocessed / batched)} of those in batches that succeeded)" if batched > 0 else ""
        yield (
            f"batches of {who} handed back {plural(record.unprocessed, 'item')}{share} unprocessed, and nobody sent them again: "
            "a batch reports success all the same, so resend what it hands back (client.retry_unprocessed)"
        )
    unsent = record.failures.get(ErrorName.BREAKER_OPEN, 0.0)
    if unsent >= 0.5:
        yield (
            f"{plural(unsent, 'request')} of {who} ({percent(unsent / offered)}) were never sent, for the client's circuit breaker was open"
        )
    yield from _pages(result, traffic)
    yield from _retries(result, traffic)


def _pages(result: Outcome, traffic: Traffic) -> Iterator[str]:
    """What a filter threw away, and walks that broke off in the middle."""
    query, record, who = result.query_facts(traffic.name), result.traffic[traffic.name], name(traffic.name)
    if query is None:
        return
    units = sum(of[Dimension.READ] for of in result.facts[traffic.name].units_per_request.values())
    if units > 0 and query.filtered_units >= _WASTED_FRACTION * units:
        yield (
            f"the filter of {who} threw away {percent(query.filtered_units / units)} of what was read and paid for, "
            f"{amount(query.filtered_units)} of {amount(units)} read units a request: it works after the read; a key that holds "
            "what it asks for (a composite sort key, an index) reads only what matches"
        )
    broken = sum(record.failures.get(error, 0.0) for error in _OF_THROTTLES)
    if query.pages_per_request >= _PAGES_OF_A_WALK and broken >= 0.5:
        yield (
            f"{plural(broken, 'request')} of {who} broke off at a page that was given up, and what their pages before it had read "
            "was paid for nothing"
        )


def _cached(result: Outcome) -> Iterator[str]:
    """What a cache in front took away, and what it does not."""
    record = result.recorder.dax
    if record is None:
        return
    reads = record.total("item_reads") + record.total("query_reads")
    hits = record.total("item_hits") + record.total("query_hits")
    passed, refused = record.total("passed_through"), record.total("refused")
    kinds = []
    for kind, noun, many in (("item", "item read", "item reads"), ("query", "query or scan", "queries and scans")):
        asked = record.total(f"{kind}_reads")
        if asked:
            kinds.append(f"{percent(record.total(f'{kind}_hits') / asked)} of {plural(asked, noun, many)}")
    not_helped = []
    if passed:
        not_helped.append(
            f"{plural(passed, 'read')} passed through it to the table (strongly consistent, transactional, or a walk of several pages)"
        )
    if any(lane.offered_units.any() for lane in (r.lanes[Dimension.WRITE] for r in result.resources.values())):
        not_helped.append("writes cost what they cost without it")
    if reads:
        rest = f"; it does not help the rest: {joined(not_helped)}" if not_helped else ""
        yield f"DAX answered {joined(kinds)}, which cost the table nothing{rest}"
    elif not_helped:
        yield f"DAX took nothing off the table: {joined(not_helped)}"
    if hits and (stale := record.total("stale_hits")) >= 0.005 * hits:
        ttls = result.scenario.dax
        assert ttls is not None, "a cluster was simulated"
        yield (
            f"{percent(stale / hits)} of what DAX answered had been written since it was cached: no query cache hears of a write, and no "
            f"item cache of one that goes around it; a shorter time to live (item_ttl {clock(ttls.item_ttl) if ttls.item_ttl else 'none'}, "
            f"query_ttl {clock(ttls.query_ttl)}) means fewer stale answers and more reads of the table"
        )
    if refused >= 0.5:
        scenario = result.scenario
        assert scenario.dax is not None, "a cluster was simulated"
        yield (
            f"the DAX nodes had no room for {plural(refused, 'request')} ({percent(refused / record.total('requests'))} of those that came "
            "to them), which failed with ThrottlingException before they reached the table: "
            f"{plural(scenario.dax.nodes, 'node')} of {scenario.dax.node_type}; "
            "more nodes or a larger type would help (F-DAX-5 is measured, not promised: calibration dax_node_throughput_factor)"
        )


def _retries(result: Outcome, traffic: Traffic) -> Iterator[str]:
    """Requests that were sent again and again."""
    record, who = result.traffic[traffic.name], name(traffic.name)
    offered, attempts = float(record.came.sum()), float(record.attempts.sum())
    if traffic.operation in PAGED_OPERATIONS or attempts <= 1.1 * offered:
        return
    each = attempts / offered
    if each < _STORM_ATTEMPTS or not record.throttled.any():
        yield f"retries turned {plural(offered, 'request')} of {who} into {plural(attempts, 'attempt')}, {each:.1f} for each"
        return
    refused = float(record.throttled.sum())
    worst = int(np.argmax(record.attempts / np.maximum(record.came, 1.0)))
    peak = float(record.attempts[worst] / max(1.0, record.came[worst]))
    at = f", up to {peak:.1f} at {clock(float(result.period_starts_s[worst]))}" if peak > 1.2 * each else ""
    client = traffic.client
    means = [
        f"fewer attempts (client.max_attempts{'' if client.max_attempts is None else f', {client.max_attempts} now'})"
    ]
    means.append("longer and jittered delays (client.base_delay)")
    if client.circuit_breaker is None:
        means.append("a circuit breaker (client.circuit_breaker)")
    if client.rate_limit is None:
        means.append("the client's own rate limit (client.rate_limit)")
    # Even if every first attempt was refused, the other refusals hit retries.
    again = max(0.0, refused - offered) / (attempts - offered)
    refused_again = f" (at least {percent(again)} of them were refused once more)" if again > 0.05 else ""
    yield (
        f"a retry storm: each request of {who} is sent {each:.1f} times on average{at}; {percent(1 - offered / attempts)} of its attempts "
        f"are retries that a table at its limit refuses again{refused_again}: they add load, not capacity; what would help is what lifts "
        f"the limit, and until then {joined(means, most=4)}"
    )


def _low_utilisation(result: Outcome) -> Iterator[str]:
    if any(mode is Mode.ON_DEMAND for _, mode in modes_of(result.scenario, result.table)):
        return
    used: list[str] = []
    for dimension, lane in result.table.lanes.items():
        if not lane.consumed_units.any():
            continue
        fraction = float(lane.consumed_units.sum()) / float(integral(lane.capacity, np.array(result.grid.duration_s)))
        if fraction >= LOW_UTILISATION:
            return
        used.append(f"{percent(fraction)} of its provisioned {dimension} capacity")
    if not used:
        return
    even = break_even_utilisation(result.sheet, result.scenario.table.table_class)
    currency = result.sheet.currency
    fixed = result.bill.per_month_provisioned
    # What was refused here would be served on demand, and paid for.
    by_request = (result.bill_of_all if result.throttles else result.bill).per_month_on_demand
    whole = " for all that was asked" if result.throttles else ""
    provisioned, on_demand = money(fixed, currency), money(by_request, currency)
    if by_request < fixed:
        costs = f"kept up for a month it costs {provisioned}, and on demand {on_demand}{whole}"
    else:
        costs = f"even so a month costs {provisioned} provisioned against {on_demand} on demand{whole}"
    break_even = percent(float(min(even.read, even.write)))
    yield f"the table used {joined(used)}; on demand is cheaper below about {break_even}: {costs}"


def _calibrated(result: Outcome, told: list[Bottleneck]) -> Iterator[str]:
    """Which estimates the told times hang on."""
    calibration = result.scenario.calibration
    reasons = {s.reason for b in told if b.limit is Limit.KEY_RANGE for s in result.resources[b.resource].splits}
    hangs: list[str] = []
    if SplitReason.HEAT in reasons:
        window, delay = PARAMETERS["heat_window_s"], PARAMETERS["split_delay_s"]
        low, high = clock(window.low + delay.low), clock(window.high + delay.high)
        hangs.append(f"heat_window_s + split_delay_s, {clock(split_relief_s(result))} here, plausibly {low} to {high}")
    if SplitReason.THROUGHPUT in reasons:
        peak = PARAMETERS["peak_sustained_s"]
        hangs.append(
            f"peak_sustained_s, {clock(calibration.peak_sustained_s)} here, plausibly {clock(peak.low)} to {clock(peak.high)}"
        )
    if any(e.action == "adaptive-capacity" for e in result.recorder.events):
        lag = PARAMETERS["adaptive_lag_s"]
        hangs.append(
            f"adaptive_lag_s, {clock(calibration.adaptive_lag_s)} here, plausibly {clock(lag.low)} to {clock(lag.high)}"
        )
    if told:
        hangs += hangs_on(result)
    if hangs:
        yield f"AWS does not publish when relief comes; these times hang on {' and on '.join(hangs)}"
