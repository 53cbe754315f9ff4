"""One run of a comparison: how it is called, whether it serves its traffic, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from sim.names import Mode
from sim.results.cost import sum_of
from sim.results.invoice import money
from sim.results.latency import TimeHistogram
from sim.results.outcome import Outcome
from sim.results.usage import modes_of


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One run of a comparison.

    Attributes
    ----------
    label : what the caller calls it; differs from all others.
    title : how it is shown.
    serves : whether it throttles and fails at most the stated share, and leaves no requests waiting: a run that does not is cheap because
        it refuses.
    """

    label: str
    title: str
    result: Outcome
    serves: bool

    @property
    def per_month(self) -> Decimal:
        """Cost of the run as it was, kept up for a month."""
        return self.result.bill.per_month

    @property
    def once(self) -> Decimal:
        """What is paid once on top: warm throughput."""
        return self.result.bill.once

    @property
    def first_month(self) -> Decimal:
        """The month with what is paid once: by this the cheapest is chosen."""
        return sum_of((self.per_month, self.once))

    @property
    def mode(self) -> str:
        """Capacity mode of the table, or ``"both"`` where it changed."""
        modes = {mode for _, mode in modes_of(self.result.scenario, self.result.table)}
        return "both" if len(modes) > 1 else "on demand" if Mode.ON_DEMAND in modes else "provisioned"

    @cached_property
    def latency(self) -> TimeHistogram | None:
        """From first attempt to final answer over all patterns; None where the level does not know."""
        known = [t.latency for t in self.result.traffic.values() if t.latency is not None and t.latency.count]
        return TimeHistogram.merged(known) if known else None

    @property
    def cost(self) -> str:
        """The first month in words."""
        currency = self.result.sheet.currency
        once = f" and {money(self.once, currency)} once" if self.once else ""
        return f"{money(self.per_month, currency)} a month{once}"
