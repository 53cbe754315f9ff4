"""Runs side by side, and which of those that serve their traffic is the cheapest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from sim.results.cost import cents, sum_of
from sim.results.invoice import money
from sim.results.outcome import Outcome
from sim.results.phrases import amount, joined, name, percent, plural
from sim.results.variant import Variant
from sim.scenario import Scenario, html

if TYPE_CHECKING:
    import pandas as pd

    from sim.results.plots import Figure

MAX_THROTTLED = 0.01
NEARLY_EQUAL = 0.01  # differences below this make no winner
_SAME_LOAD = 0.01  # requests offered may differ by this between runs of the same traffic
_CHANCE_DEVIATIONS = 4.0  # ... or by so many standard deviations, where they are few
_OPEN_AT_THE_END = 0.01  # requests without an answer when the run ends, above which they pile up
_NAME_CHARACTERS = 24


@dataclass(frozen=True)
class Comparison:
    """Runs side by side. Made by `compare`.

    Attributes
    ----------
    variants : the runs, in the order given.
    max_throttled : share of attempts (and of requests failed) up to which a run may be called the cheapest.
    """

    variants: tuple[Variant, ...]
    max_throttled: float

    @cached_property
    def cheapest(self) -> Variant | None:
        """The cheapest of those that serve; None where none does, or where they are priced in different currencies."""
        if len({v.result.sheet.currency for v in self.variants}) > 1:
            return None
        return min((v for v in self.variants if v.serves), key=lambda v: v.first_month, default=None)

    @cached_property
    def verdict(self) -> str:
        """One sentence: which run is the cheapest, by how much, and which cheaper ones refuse too much."""
        limit = f"{100 * self.max_throttled:g} %"
        if len({v.result.sheet.currency for v in self.variants}) > 1:
            return "None can be called the cheapest: the runs are priced in different currencies."
        best = self.cheapest
        if best is None:
            least = min(self.variants, key=lambda v: self._worst(v)[0])
            return f"None serves its traffic with at most {limit} throttled; nearest is {least.title}: {self._worst(least)[1]}."
        rivals = sorted((v for v in self.variants if v.serves and v is not best), key=lambda v: v.first_month)
        equal = [v.title for v in rivals if float(v.first_month) <= float(best.first_month) * (1 + NEARLY_EQUAL)]
        if not rivals:
            text = f"Only {best.title} throttles at most {limit}: {best.cost}"
        elif equal:
            text = (
                f"Cheapest with at most {limit} throttled: {best.title}, {best.cost}; {joined(equal)} within 1 % of it"
            )
        else:
            more = sum_of((rivals[0].first_month, best.first_month.copy_negate()))
            share = f" ({percent(float(more) / float(best.first_month))})" if best.first_month else ""
            extra = money(more, best.result.sheet.currency)
            next_one = f"the next, {rivals[0].title}, costs {extra}{share} more"
            text = f"Cheapest with at most {limit} throttled: {best.title}, {best.cost}; {next_one}"
        cheaper = [
            f"{v.title} would cost {v.cost}, but {self._worst(v)[1]}"
            for v in self.variants
            if not v.serves and v.first_month < best.first_month
        ]
        return "; ".join([text, *cheaper[:2]]) + "."

    def _worst(self, variant: Variant) -> tuple[float, str]:
        """The largest share for which a run does not serve, with words; the first of equals."""
        return max(_shortfalls(variant.result, self.max_throttled), key=lambda row: row[0])

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What hangs over the comparison: runs that were not asked the same."""
        # What follows a request, a copy or an inverse edge, is the design's own doing.
        asked_for = [_asked(v.result) for v in self.variants]
        rates = [count / v.result.grid.duration_s for count, v in zip(asked_for, self.variants, strict=True)]
        if not rates:
            return ()
        # Two Poisson counts of the same law differ by chance: by √2 standard deviations of one, and hardly ever by four times that.
        chance = max(
            math.sqrt(2 * count) / v.result.grid.duration_s for count, v in zip(asked_for, self.variants, strict=True)
        )
        if max(rates) - min(rates) <= max(_SAME_LOAD * max(rates), _CHANCE_DEVIATIONS * chance):
            return ()
        asked = joined([f"{v.title} {amount(rate)}/s" for v, rate in zip(self.variants, rates, strict=True)], most=6)
        return (
            f"The runs were not asked the same, so their bills are no choice between them: requests offered: {asked}.",
        )

    def plot(self) -> Figure:
        """The picture of the comparison: for each run its rates above its partitions, on the same scales."""
        from sim.results.plots import plot_comparison

        return plot_comparison(self)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values, the runs by their labels and without their results."""
        return {
            "max_throttled": self.max_throttled,
            "cheapest": self.cheapest.label if self.cheapest is not None else None,
            "verdict": self.verdict,
            "notes": list(self.notes),
            "runs": [
                {
                    "label": v.label,
                    "serves": v.serves,
                    "mode": v.mode,
                    "throttled_fraction": v.result.throttled_fraction,
                    "throttled": v.result.throttled,
                    "failed_fraction": v.result.failed_fraction,
                    "first_throttle_s": v.result.first_throttle_s,
                    "latency_ms": {"p50": _latency_ms(v, 0.5), "p99": _latency_ms(v, 0.99)},
                    "per_month": float(cents(v.per_month)),
                    "once": float(cents(v.once)),
                    "per_month_provisioned": float(cents(v.result.bill.per_month_provisioned)),
                    "per_month_on_demand": float(cents(v.result.bill.per_month_on_demand)),
                }
                for v in self.variants
            ],
        }

    def to_pandas(self) -> pd.DataFrame:
        """One row for each run, by its label."""
        import pandas as pd

        rows = [
            {**{key: value for key, value in run.items() if key != "latency_ms"}, **_flat(run["latency_ms"])}
            for run in self.to_dict()["runs"]
        ]
        return pd.DataFrame(rows).set_index("label")

    def __repr__(self) -> str:
        """The verdict."""
        return f"<Comparison of {plural(len(self.variants), 'run')}: {self.verdict}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict and a row for each run."""
        heads = ("run", "mode", "throttled", "failed", "a month", "once")
        rows = [
            (
                v.title,
                v.mode,
                percent(v.result.throttled_fraction),
                percent(v.result.failed_fraction),
                money(v.per_month, v.result.sheet.currency) + (" ✓" if v is self.cheapest else ""),
                money(v.once, v.result.sheet.currency) if v.once else "-",
            )
            for v in self.variants
        ]
        best = [place for place, v in enumerate(self.variants) if v is self.cheapest]
        said = "".join(f"<p>{escape(text)}</p>" for text in (self.verdict, *self.notes))
        return said + html.table(heads, rows, numbers=heads[2:], bold=best)


def compare(
    runs: Mapping[str, Outcome] | Iterable[Outcome], *, max_throttled: float = MAX_THROTTLED, by_title: bool = False
) -> Comparison:
    """Put runs side by side and find the cheapest of those that serve their traffic.

    Parameters
    ----------
    runs : results by label; or results alone, which are then called by their titles.
    max_throttled : share of attempts throttled, and of requests failed, up to which a run may be called the cheapest; 0 to 1.
    by_title : show each run under the title of its scenario, where those tell them apart.

    Raises
    ------
    ValueError
        There are no runs, or ``max_throttled`` is no share.
    TypeError
        Scenarios were given, which are to be run first.
    """
    if not 0 <= max_throttled <= 1:
        raise ValueError(f"max_throttled is a share from 0 to 1, not {max_throttled}")
    if isinstance(runs, Mapping):
        labels, results = list(runs), list(runs.values())
        _refuse_scenarios(results)
    else:
        results = list(runs)
        _refuse_scenarios(results)
        labels = [str(number) for number in range(1, len(results) + 1)]
        titles = [result.scenario.title for result in results]
        if all(titles) and len(set(titles)) == len(titles):
            labels = titles
    if not results:
        raise ValueError("a comparison needs runs")
    shown = _titles(labels, results) if by_title else [name(label, longest=_NAME_CHARACTERS) for label in labels]
    return Comparison(
        tuple(
            Variant(label=label, title=title, result=result, serves=not _shortfalls(result, max_throttled))
            for label, title, result in zip(labels, shown, results, strict=True)
        ),
        max_throttled,
    )


def _refuse_scenarios(results: Sequence[object]) -> None:
    if any(isinstance(result, Scenario) for result in results):
        raise TypeError("results are compared, not scenarios: sim.run(scenario) makes one of the other")


def _titles(labels: Sequence[str], results: Sequence[Outcome]) -> list[str]:
    """Titles where each run has its own, and they differ still when they are cut short; else the labels.

    What all titles begin with, up to a comma or a colon, tells no run from another and is left out.
    """
    titles = [result.scenario.title for result in results]
    begin = "".join(signs[0] for signs in takewhile(lambda signs: len(set(signs)) == 1, zip(*titles, strict=False)))
    begin = begin[: max(begin.rfind(mark) + len(mark) if mark in begin else 0 for mark in (", ", ": "))]
    rests = [title.removeprefix(begin) for title in titles]
    for words in (rests if len(set(titles)) > 1 and all(rests) else titles, labels):
        shown = [name(text, longest=_NAME_CHARACTERS) for text in words]
        if all(words) and len(set(shown)) == len(results):
            return shown
    return [name(label, longest=_NAME_CHARACTERS) for label in labels]


def _asked(result: Outcome) -> float:
    """Requests that came of their own, not after others."""
    own = [traffic.name for traffic in result.scenario.traffic if traffic.follows is None]
    return float(sum(result.traffic[name].offered.sum() for name in own))


def _shortfalls(result: Outcome, most: float) -> list[tuple[float, str]]:
    """What keeps a run from serving its traffic: shares that are over their limit, and words on them. Nothing where it serves."""
    if not result.offered:
        return [(1.0, "has no traffic")]
    waiting = result.in_flight / result.offered
    rows = (
        (result.throttled_fraction, most, f"throttles {percent(result.throttled_fraction)}"),
        (result.failed_fraction, most, f"fails {percent(result.failed_fraction)} of its requests"),
        (waiting, max(most, _OPEN_AT_THE_END), f"leaves {percent(waiting)} of its requests waiting"),
    )
    return [(share, words) for share, limit, words in rows if share > limit]


def _latency_ms(variant: Variant, fraction: float) -> float | None:
    seconds = variant.latency.percentile_s(fraction) if variant.latency is not None else None
    return None if seconds is None else round(1000 * seconds, 6)


def _flat(latency: Mapping[str, float | None]) -> dict[str, float | None]:
    return {f"latency_ms_{key}": value for key, value in latency.items()}
