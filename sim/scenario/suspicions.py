"""What is allowed and yet seldom meant: said beside the result, never refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sim.limits import CEILING_PER_S
from sim.names import TABLE, Dimension
from sim.scenario.autoscaling import Autoscaling
from sim.scenario.base import Place, listed, path_of, shown
from sim.scenario.checks import Parts, templates_of, used_fields
from sim.scenario.cron import parse_cron
from sim.scenario.csvfile import CsvProblem, check_series
from sim.scenario.metrics import METRIC_KINDS, Split
from sim.scenario.rates import CsvRate, RampRate, SpikeRate, StepsRate
from sim.scenario.table import holders
from sim.scenario.templates import fields_of, parse_template
from sim.scenario.traffic import Traffic

ALIKE_MAX = 10  # of one kind told one by one


def suspicions(scenario: Parts) -> list[str]:
    """Sentences about what a scenario holds that does nothing, or nothing of what it seems to do."""
    kinds = (_idle_fields, _constants, _late_rates, _scaling, _alarms, _warmth)
    return [sentence for kind in kinds for sentence in _cut(list(kind(scenario)))]


def _cut(sentences: list[str]) -> list[str]:
    rest = len(sentences) - ALIKE_MAX
    return sentences if rest <= 0 else [*sentences[:ALIKE_MAX], f"And {rest} more of this kind."]


def _idle_fields(scenario: Parts) -> Iterator[str]:
    used = used_fields(scenario) | {traffic.scatter for traffic in scenario.traffic if traffic.scatter is not None}
    templates = list(templates_of(scenario))
    for name in scenario.fields:
        if name in used:
            continue
        place = next((place for place, template in templates if _speaks_of(template, name)), None)
        idle = f"{path_of(('fields', name))} is used by no key template and does nothing"
        if place is not None:
            yield f"{idle}: did you mean {{{name}}} in {path_of(place)}?"
        elif not fields_of(scenario.table.pk):
            yield f"{idle}: table.pk is the one constant key {shown(scenario.table.pk)}, where a field is written in braces."
        else:
            yield f"{idle}."


def _speaks_of(template: str, name: str) -> bool:
    """Whether the text between a template's fields has the name as a word of its own."""
    word = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])")
    return any(word.search(literal) for literal, _ in parse_template(template))


def _constants(scenario: Parts) -> Iterator[str]:
    used = used_fields(scenario)
    for place, template in templates_of(scenario):
        if template in scenario.fields and template in used:
            yield f"{path_of(place)} is the constant key {shown(template)}; did you mean the field {{{template}}}?"


def _scaling(scenario: Parts) -> Iterator[str]:
    """Bounds of auto scaling that the quota keeps it from, and scheduled actions that never come."""
    table = scenario.table
    holders: list[tuple[Place, Autoscaling | None]] = [(("table",), table.autoscaling)]
    holders += [(("table", "gsi", index), gsi.autoscaling) for index, gsi in enumerate(table.gsi)]
    for place, settings in holders:
        for dimension in Dimension:
            target = None if settings is None else getattr(settings, dimension)
            if target is None:
                continue
            of_target: Place = (*place, "autoscaling", dimension)
            quota = getattr(scenario.account, f"table_{dimension}")
            if target.max > quota:
                yield (
                    f"{path_of((*of_target, 'max'))} = {target.max:,.10g} is above the quota of {quota:,.10g} "
                    f"(account.table_{dimension}): what auto scaling asks for beyond it is refused."
                )
            for index, action in enumerate(target.schedule):
                if next(parse_cron(action.cron).offsets_s(scenario.start, scenario.duration), None) is None:
                    yield (
                        f"{path_of((*of_target, 'schedule', index))}: {action.cron} comes at no moment of this run, which starts at "
                        f"{scenario.start:%A %Y-%m-%d %H:%M} UTC and takes {scenario.duration:,.10g} s."
                    )


def _late_rates(scenario: Parts) -> Iterator[str]:
    for index, traffic in enumerate(scenario.traffic):
        end_s = scenario.duration if traffic.ends is None else min(traffic.ends, scenario.duration)
        sentence = _lateness(traffic, traffic.starts, end_s)
        if sentence:
            place: Place = ("traffic", index, "rate")
            yield f"{path_of(place)} [pattern {shown(traffic.name)}]: {sentence}."


def _alarms(scenario: Parts) -> Iterator[str]:
    for index, alarm in enumerate(scenario.alarm):
        place: Place = ("alarm", index)
        if METRIC_KINDS[alarm.metric].split is Split.OPERATION and alarm.operation is None:
            yield (
                f"{path_of(place)}: CloudWatch has {alarm.metric} by operation only; here all operations are taken together, "
                "at AWS that takes one alarm for each operation or metric math."
            )
        if alarm.metric.startswith("Consumed") and alarm.statistic != "Sum":
            yield (
                f"{path_of(place)}: what one sample of {alarm.metric} is, AWS's pages tell differently (F-CW-5); only its Sum is beyond "
                f"doubt, here {alarm.statistic} is that of a minute's units."
            )


def _lateness(traffic: Traffic, start_s: float, end_s: float) -> str:
    """What of a rate never comes, because it lies outside the pattern's time: from ``start_s`` to ``end_s``."""
    time = f"the pattern's time, {start_s:g} s to {end_s:g} s"
    match traffic.rate:
        case SpikeRate(at=at_s, lasting=lasting_s) if at_s >= end_s or at_s + lasting_s <= start_s:
            return f"the spike at {at_s:g} s lies outside {time}; the rate is base all along"
        case RampRate(over=over_s) as ramp if over_s > end_s and ramp.from_ != ramp.to:
            reached = ramp.from_ + (ramp.to - ramp.from_) * end_s / over_s
            return f"the ramp takes {over_s:g} s, beyond {time}; it gets to {reached:.6g} of {ramp.to:g} requests per second"
        case StepsRate(steps=steps) if late := [at_s for at_s, _ in steps if at_s >= end_s]:
            those = "the step" if len(late) == 1 else "the steps"
            return f"{those} at {listed(f'{at_s:g} s' for at_s in late)} would come after {time}"
        case CsvRate() as measured:
            try:
                first_s = check_series(measured)[0][0]
            except CsvProblem:
                return ""  # told as an error where the file is named
            return f"the first row is at {first_s:g} s, after {time}; no request comes" if first_s >= end_s else ""
    return ""


def _warmth(scenario: Parts) -> Iterator[str]:
    """Warm throughput for which the partitions that are named are too few: it lays out none beside them."""
    for resource, own in holders(scenario.table).items():
        for dimension, ceiling_per_s in CEILING_PER_S.items():
            warm = getattr(own, f"warm_{dimension}") or 0.0
            quota = getattr(scenario.account, f"table_{dimension}")
            place = path_of(("table",)) if resource == TABLE else f"index {resource.partition('/')[2]}"
            if quota is not None and warm > quota:
                yield (
                    f"{place}: warm_{dimension} = {warm:,.10g} is above account.table_{dimension} = {quota:,.10g}: AWS warms no table "
                    "beyond its quota (F-WARM-3)."
                )
            if own.partitions is not None and warm > own.partitions * ceiling_per_s:
                given = f"{own.partitions * ceiling_per_s:,.0f} {dimension} units/s"
                yield (
                    f"{place}: partitions = {own.partitions:,} fixes the layout, and warm_{dimension} = {warm:,.10g} lays out no more: "
                    f"they give {given}; leave partitions out."
                )
