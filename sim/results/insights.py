"""What CloudWatch Contributor Insights for DynamoDB would have shown: the most accessed and the most throttled keys, in its units (F-CI).

A contributor's access is 3 × write units + read units that it was given, so that one item written at full speed shows 180,000 a minute; a
throttled contributor counts its refusals. What is not in these graphs at AWS is not in them here: above all, writes that an index refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from sim.limits import MINUTE_S
from sim.names import TABLE, Dimension
from sim.results.phrases import percent
from sim.results.recorder import KeyTally

if TYPE_CHECKING:
    import pandas as pd

    from sim.results.outcome import Outcome

CONTRIBUTORS_MAX = 25  # F-CI-1
WRITE_WEIGHT = 3  # F-CI-2: a write unit counts as three read units

_DIGITS = 6
_WORDS = {"PKC": "most accessed", "SKC": "most accessed", "PKT": "most throttled", "SKT": "most throttled"}


@dataclass(frozen=True)
class Contributor:
    """A key and its value over the run: units (3 × write + read), or throttle events.

    Attributes
    ----------
    keys : partition key, and sort key where the rule has one.
    """

    keys: tuple[str, ...]
    value: float


@dataclass(frozen=True)
class InsightRule:
    """One of the rules that DynamoDB makes for a table or an index, with what it found.

    Attributes
    ----------
    kind : PKC, SKC (accessed), PKT, SKT (throttled): by partition key, or by partition and sort key.
    name : as AWS names it.
    contributors : most first, at most as many as were asked for.
    total : of all that has a name; ``unique`` how many that are.
    """

    kind: str
    name: str
    resource: str
    contributors: tuple[Contributor, ...]
    total: float
    unique: int


@dataclass(frozen=True)
class ContributorInsights:
    """All rules of a run's table and indexes.

    Attributes
    ----------
    rules : table first, by resource and kind.
    minutes : length of the run, for values per minute.
    left_out : sentences about what these graphs do not show: what AWS leaves out, and keys that have no name here.
    """

    rules: tuple[InsightRule, ...]
    minutes: float
    start: str
    left_out: tuple[str, ...]

    def rule(self, kind: str, resource: str = TABLE) -> InsightRule:
        """The rule of a kind, of ``"table"`` or ``"index/NAME"``.

        Raises
        ------
        KeyError
            There is no such rule.
        """
        for one in self.rules:
            if (one.kind, one.resource) == (kind, resource):
                return one
        known = ", ".join(f"{one.kind} of {one.resource}" for one in self.rules)
        raise KeyError(f"no rule {kind!r} of {resource!r}; there are: {known}")

    def to_pandas(self) -> pd.DataFrame:
        """One row for each contributor: resource, rule, key, sort_key, value of the run, value per minute."""
        import pandas as pd

        rows = [
            (rule.resource, rule.kind, one.keys[0], one.keys[1] if len(one.keys) > 1 else None, one.value)
            for rule in self.rules
            for one in rule.contributors
        ]
        made = pd.DataFrame(rows, columns=["resource", "rule", "key", "sort_key", "value"])
        return made.assign(per_minute=made["value"] / self.minutes)

    def to_dict(self) -> dict[str, Any]:
        """By rule name, what get-insight-rule-report answers when its period is the whole run."""
        return {rule.name: self._report(rule) for rule in self.rules}

    def _report(self, rule: InsightRule) -> dict[str, Any]:
        return {
            "KeyLabels": ["PartitionKey", "SortKey"] if rule.kind.startswith("SK") else ["PartitionKey"],
            "AggregationStatistic": "Sum",
            "AggregateValue": round(rule.total, _DIGITS),
            "ApproximateUniqueCount": rule.unique,
            "Contributors": [
                {
                    "Keys": list(one.keys),
                    "ApproximateAggregateValue": round(one.value, _DIGITS),
                    "Datapoints": [{"Timestamp": self.start, "ApproximateValue": round(one.value, _DIGITS)}],
                }
                for one in rule.contributors
            ],
            "RuleAttributes": [],
        }

    def __str__(self) -> str:
        """A few lines for each rule that found something."""
        lines = []
        for rule in self.rules:
            if rule.contributors:
                unit = "throttle events" if rule.kind.endswith("T") else "units (3 x write + read)"
                lines.append(f"{_WORDS[rule.kind]} of {rule.resource} [{rule.kind}], {unit} a minute:")
                lines += [f"  {' / '.join(one.keys)}  {one.value / self.minutes:,.4g}" for one in rule.contributors]
        return "\n".join([*lines, *self.left_out])


def contributor_insights(result: Outcome, *, top: int = 10, throttled_only: bool = False) -> ContributorInsights:
    """The most accessed and most throttled keys of the table and of each index, over the whole run.

    Parameters
    ----------
    top : contributors of each rule, 1 to 25.
    throttled_only : the mode that watches throttled keys alone, and has no PKC and SKC (F-CI-1).

    Raises
    ------
    ValueError
        ``top`` is not within 1 to 25.
    """
    if not 1 <= top <= CONTRIBUTORS_MAX:
        raise ValueError(f"top must be from 1 to {CONTRIBUTORS_MAX} (F-CI-1), not {top}")
    start = result.scenario.start.astimezone(UTC)
    created_ms = int(start.timestamp() * 1000)
    sort_keys = {TABLE: result.scenario.table.sk, **{f"index/{g.name}": g.sk for g in result.scenario.table.gsi}}
    rules, unsorted = [], []
    for resource in result.resources:
        tallies = [tally for (owner, _), tally in result.recorder.keys.items() if owner == resource]
        name = result.scenario.table.name
        if resource != TABLE:
            name = f"{name}-{resource.removeprefix('index/')}"
        kinds = ["PKC", "PKT"]
        if sort_keys.get(resource) is not None:
            kinds += ["SKC", "SKT"]
            unsorted += [resource] if any(tally.sort_key is None for tally in tallies) else []
        for kind in kinds:
            if throttled_only and kind.endswith("C"):
                continue
            measure = _throttles(resource) if kind.endswith("T") else _access
            full = f"DynamoDBContributorInsights-{kind}-{name}-{created_ms}"
            rules.append(_rule(kind, full, resource, tallies, measure, top))
    left_out = [
        f"{events:,.6g} writes that {resource} refused are in no graph of throttled keys: at AWS they are not counted there (F-CI-2)."
        for resource, record in result.resources.items()
        if resource != TABLE and (events := float(record.lanes[Dimension.WRITE].throttle_events.sum())) > 0
    ]
    left_out += [
        f"Of {resource}, keys whose traffic goes to more than one item have no rows by sort key: it is not known here which item each took."
        for resource in unsorted
    ]
    left_out += [_nameless(result, rule) for rule in rules if rule.kind == "PKC" and _is_nameless(result, rule)]
    minutes = result.grid.duration_s / MINUTE_S
    return ContributorInsights(tuple(rules), minutes, start.isoformat(), tuple(left_out))


def _access(tally: KeyTally) -> float:
    return WRITE_WEIGHT * tally.consumed_units(Dimension.WRITE) + tally.consumed_units(Dimension.READ)


def _throttles(resource: str) -> Callable[[KeyTally], float]:
    """Refusals that are counted: of an index, not those of the writes to its table (F-CI-2)."""
    counted = list(Dimension) if resource == TABLE else [Dimension.READ]
    return lambda tally: sum(tally.events.get(dimension, 0.0) for dimension in counted)


def _rule(
    kind: str, name: str, resource: str, tallies: list[KeyTally], measure: Callable[[KeyTally], float], top: int
) -> InsightRule:
    by_item = kind.startswith("SK")
    found = []
    for tally in tallies:
        value = measure(tally)
        if value > 0 and not (by_item and tally.sort_key is None):
            keys = (tally.key, str(tally.sort_key)) if by_item else (tally.key,)
            found.append(Contributor(keys, value))
    # Values are rounded before they are compared: their last digits hang on how the run was cut into stretches.
    found.sort(key=lambda one: (-round(one.value, 3), one.keys))
    total = sum(one.value for one in found)
    return InsightRule(kind, name, resource, tuple(found[:top]), total, len(found))


def _consumed(result: Outcome, resource: str) -> float:
    lanes = result.resources[resource].lanes
    read, write = (float(lanes[dimension].consumed_units.sum()) for dimension in (Dimension.READ, Dimension.WRITE))
    return WRITE_WEIGHT * write + read


def _is_nameless(result: Outcome, rule: InsightRule) -> bool:
    return rule.total < 0.999 * _consumed(result, rule.resource)


def _nameless(result: Outcome, rule: InsightRule) -> str:
    share = 1 - rule.total / _consumed(result, rule.resource)
    return f"{percent(share)} of the traffic of {rule.resource} went to keys that are too many and too light to be listed one by one."
