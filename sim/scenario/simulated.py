"""What the format knows and this version does not act on yet: refused, each with a cure. Rows leave as mechanisms come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sim.errors import ScenarioError
from sim.limits import PAGE_BYTES
from sim.names import BATCH_OPERATIONS, PAGED_OPERATIONS, TRANSACTION_OPERATIONS, Level, RetryMode
from sim.scenario.base import Found, Place, shown
from sim.scenario.metrics import METRIC_KINDS
from sim.scenario.scenario import Scenario
from sim.scenario.traffic import Traffic


@dataclass(frozen=True, kw_only=True)
class NotYet:
    """One thing that is not simulated yet.

    Attributes
    ----------
    path : where it stands; ``[]`` is each element of a list: ``traffic[].client.retry``.
    applies : whether the value there is one; by default, whether there is one at all.
    what : how the sentence names it. "": by its key.
    at : the key below ``path`` to report.
    level : the only level at which it is refused. None: at both.
    cure : what to do instead; or what gives it for a value in a scenario.
    """

    path: str
    cure: str | Callable[[Scenario, Any], str]
    applies: Callable[[Any], bool] = bool
    what: str = ""
    at: str = ""
    level: Level | None = None


def _is_set(value: Any) -> bool:
    return value is not None


def _is(word: str) -> Callable[[Any], bool]:
    return lambda value: bool(value == word)


def _walks(traffic: Traffic) -> bool:
    """Whether one request of a Query or Scan may be more than one attempt; reaching `Limit` exactly leaves one more page."""
    if traffic.operation not in PAGED_OPERATIONS:
        return False
    if traffic.segments > 1 or traffic.scatter is not None:
        return True
    more = traffic.items * traffic.item_bytes > PAGE_BYTES
    more = more or traffic.over_fetch is not None or (traffic.limit is not None and traffic.limit <= traffic.items)
    return traffic.pages != 1 and more


def _retries_walks(traffic: Traffic) -> bool:
    client = traffic.client
    retries = client.retry is not RetryMode.NONE or client.max_attempts is not None or client.delays is not None
    return retries and _walks(traffic)


def _retries_batches(traffic: Traffic) -> bool:
    retries = traffic.client.retry is not RetryMode.NONE or traffic.client.max_attempts is not None
    many = traffic.operation in BATCH_OPERATIONS | TRANSACTION_OPERATIONS
    return many and (retries or traffic.client.delays is not None)


_OPEN_LOOP = "give the pattern a rate"
_REQUEST_LEVEL = 'level = "request" simulates it'


NOT_YET: tuple[NotYet, ...] = (
    NotYet(
        path="traffic[].threads",
        level=Level.FLOW,
        applies=_is_set,
        what="a closed loop (threads)",
        cure=f"{_OPEN_LOOP}, or {_REQUEST_LEVEL}",
    ),
    NotYet(
        path="traffic[].client.retry",
        level=Level.FLOW,
        applies=lambda retry: retry is RetryMode.ADAPTIVE,
        what="adaptive retrying",
        cure=_REQUEST_LEVEL,
    ),
    NotYet(
        path="traffic[]",
        at="client",
        level=Level.FLOW,
        applies=_retries_batches,
        what="retrying a batch or a transaction",
        cure=_REQUEST_LEVEL,
    ),
    NotYet(
        path="traffic[]",
        at="client",
        level=Level.FLOW,
        applies=_retries_walks,
        what="retrying the pages of a walk",
        cure=f"{_REQUEST_LEVEL}; so does one page for each request",
    ),
    *(
        NotYet(path=f"traffic[].client.{key}", level=Level.FLOW, applies=_is_set, cure=_REQUEST_LEVEL)
        for key in (
            "timeout",
            "circuit_breaker",
            "rate_limit",
            "retry_unprocessed",
        )
    ),
    NotYet(path="traffic[].page_delay", applies=_is_set, cure="leave it out"),
    NotYet(path="traffic[].cursor", applies=_is_set, cure="leave it out"),
    NotYet(path="table.gsi[].created_at", applies=_is_set, cure="leave it out"),
    NotYet(path="table.gsi[].backfill_write_per_s", applies=_is_set, cure="leave it out"),
    *(
        NotYet(
            path="alarm[].metric",
            level=level if len(kind.refused_at) < len(Level) else None,
            applies=_is(name),
            what=name,
            cure=kind.instead,
        )
        for name, kind in METRIC_KINDS.items()
        for level in kind.refused_at[:1]
    ),
)


def unsimulated(scenario: Scenario) -> list[Found]:
    """Everything in a scenario that this version does not act on."""
    rules = (rule for rule in NOT_YET if rule.level in (None, scenario.level))
    return [found for rule in rules for found in _found(rule, scenario)]


def refuse_unsimulated(scenario: Scenario) -> None:
    """Raise `ScenarioError` if a scenario asks for what this version does not act on."""
    if found := unsimulated(scenario):
        raise ScenarioError([one.problem("scenario") for one in found])


def _found(rule: NotYet, scenario: Scenario) -> Iterator[Found]:
    for place, value in _values_at(scenario, rule.path.replace("[]", ".[]").split(".")):
        if rule.applies(value):
            full = (*place, rule.at) if rule.at else place
            named = rule.what or f"`{full[-1]}`"
            given = getattr(value, rule.at) if rule.at else value
            is_table = not isinstance(given, str | int | float)
            where = f' at level = "{rule.level}"' if rule.level else " yet in this version"
            yield Found(
                full,
                f"{named} is understood but not simulated{where}",
                "" if is_table else shown(given),
                rule.cure if isinstance(rule.cure, str) else rule.cure(scenario, given),
            )


def _values_at(value: Any, parts: list[str], place: Place = ()) -> Iterator[tuple[Place, Any]]:
    if not parts:
        yield place, value
    elif value is None:
        return
    elif parts[0] == "[]":
        for index, item in enumerate(value):
            yield from _values_at(item, parts[1:], (*place, index))
    else:
        yield from _values_at(getattr(value, parts[0]), parts[1:], (*place, parts[0]))
