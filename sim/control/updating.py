"""UpdateTable: the one door through which settings of a table and its indexes change, with its quotas, its durations and its refusals.

It is asynchronous: the old settings stay in force until it is done, and no second one is taken meanwhile (F-PROV-3). A raise of the warm
throughput has a status of its own, so it keeps nothing else waiting. A request is taken whole or refused whole.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import simpy

from sim.calibration import Calibration
from sim.control.quotas import DecreaseBudget, SwitchQuota
from sim.control.splitting import lay_out, note_capacity
from sim.keyspace.sizing import by_provisioned, by_throughput
from sim.limits import (
    ACCOUNT_QUOTA_READ_PER_S,
    ACCOUNT_QUOTA_WRITE_PER_S,
    ON_DEMAND_INITIAL_PER_S,
)
from sim.names import TABLE, ControlAction, ControlError, Dimension, Mode
from sim.partitions.admission import Capacity
from sim.partitions.resource import Resource
from sim.results.phrases import amount, clock
from sim.results.recorder import EventRow, Recorder
from sim.scenario import Scenario

_ACCOUNT_QUOTA = {
    Dimension.READ: float(ACCOUNT_QUOTA_READ_PER_S),
    Dimension.WRITE: float(ACCOUNT_QUOTA_WRITE_PER_S),
}
Rates = Mapping[Dimension, float]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a request asks for at one resource, units per second; what is not named stays."""

    provisioned: Rates = field(default_factory=dict)
    maximum: Rates = field(default_factory=dict)
    warm: Rates = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Request:
    """One UpdateTable.

    Attributes
    ----------
    settings : by resource name.
    mode : new capacity mode of the table and all its indexes. None: as it is.
    why : for the row in the events, after what is asked.
    """

    settings: Mapping[str, Settings]
    mode: Mode | None = None
    why: str = ""


@dataclass(frozen=True)
class Refusal:
    """Why a request is not taken: AWS's exception, and a sentence."""

    error: ControlError
    sentence: str


class TableUpdates:
    """All changes of one table and its indexes.

    Attributes
    ----------
    resources : the table and its indexes by name.
    is_busy : whether an UpdateTable is under way, pre-warming apart.
    """

    def __init__(
        self, env: simpy.Environment, scenario: Scenario, resources: Mapping[str, Resource], recorder: Recorder
    ) -> None:
        self.resources = resources
        self.is_busy = False
        self._env = env
        self._recorder = recorder
        self._quota = {d: float(getattr(scenario.account, f"table_{d}")) for d in Dimension}
        self._of_account = {
            d: float(given)
            if (given := getattr(scenario.account, f"account_{d}")) is not None
            else max(_ACCOUNT_QUOTA[d], self._quota[d])
            for d in Dimension
        }
        start = scenario.start
        day_s = start.hour * 3600 + start.minute * 60 + start.second + start.microsecond / 1e6
        self._decreases = {name: DecreaseBudget(day_s) for name in resources}
        self._switches = SwitchQuota()
        self._is_warming = False

    def ask(
        self, request: Request, action: ControlAction, then: Callable[[float], None] | None = None
    ) -> Refusal | None:
        """Begin a change, or say why it is refused; either way it has its rows in the events.

        Parameters
        ----------
        then : called with the second at which the change is in force.
        """
        refusal = self.refusal_of(request)
        if refusal is not None:
            self.note_refusal(request, action, refusal)
            return refusal
        now_s = float(self._env.now)
        for name in self._lowered(request):
            self._decreases[name].spend(now_s)
        if request.mode is Mode.ON_DEMAND:
            self._switches.spend(now_s)
        main = replace(request, settings={n: replace(s, warm={}) for n, s in request.settings.items()})
        warm = Request(settings={n: Settings(warm=s.warm) for n, s in request.settings.items()}, why=request.why)
        if request.mode is not None or any(s.provisioned or s.maximum for s in main.settings.values()):
            self.is_busy = True
            self._env.process(self._carry_out(main, action, self._duration_s(main), then))
        if any(s.warm for s in warm.settings.values()):
            self._is_warming = True
            self._env.process(self._carry_out(warm, action, self._calibration.prewarm_s, None))
        return None

    def refusal_of(self, request: Request) -> Refusal | None:
        """Why a request would be refused now; None: it would be taken."""
        wants_warm = any(s.warm for s in request.settings.values())
        wants_more = request.mode is not None or any(s.provisioned or s.maximum for s in request.settings.values())
        if (self.is_busy and wants_more) or (self._is_warming and wants_warm):
            return Refusal(ControlError.IN_USE, "another UpdateTable is under way")
        return self._invalid(request) or self._over_quota(request)

    def note_refusal(self, request: Request, action: ControlAction, refusal: Refusal) -> None:
        """Write down that a request was refused."""
        now_s = float(self._env.now)
        self._recorder.events += [
            replace(
                row,
                detail=f"{row.detail}; refused, for {refusal.sentence}",
                outcome="refused",
                done_s=None,
                error=refusal.error,
            )
            for row in self._rows(request, action, now_s)
        ]

    def note(
        self,
        now_s: float,
        resource: str,
        action: ControlAction,
        detail: str,
        outcome: str,
        error: ControlError | None,
        dimension: Dimension | None,
    ) -> None:
        """Write down what happened at once and is no UpdateTable itself."""
        done_s = now_s if outcome == "done" else None
        self._recorder.events.append(EventRow(now_s, resource, action, detail, outcome, done_s, error, dimension))

    # What is not allowed.

    def _invalid(self, request: Request) -> Refusal | None:
        mode = request.mode or self._mode
        if request.mode is self._mode:
            return Refusal(ControlError.VALIDATION, f"the table is {self._mode} already")
        changes = request.mode is not None
        for name, settings in request.settings.items():
            resource = self.resources[name]
            if settings.provisioned and mode is not Mode.PROVISIONED:
                return Refusal(ControlError.VALIDATION, f"the table is {mode}")
            if settings.maximum and mode is not Mode.ON_DEMAND:
                return Refusal(ControlError.VALIDATION, f"the table is {mode}")
            for dimension, warm in settings.warm.items():
                if warm < resource.warm_per_s[dimension]:
                    had = f"it is {resource.warm_per_s[dimension]:,.10g} already"
                    return Refusal(ControlError.VALIDATION, f"warm throughput cannot be lowered, and {had}")
            changes = changes or any(
                value != now
                for dimension in Dimension
                for value, now in (
                    (settings.provisioned.get(dimension), resource.capacity[dimension].provisioned),
                    (settings.maximum.get(dimension), resource.capacity[dimension].maximum),
                    (settings.warm.get(dimension), resource.warm_per_s[dimension]),
                )
                if value is not None
            )
        return None if changes else Refusal(ControlError.VALIDATION, "nothing would change")

    def _over_quota(self, request: Request) -> Refusal | None:
        now_s = float(self._env.now)
        for settings in request.settings.values():
            for rates in (settings.provisioned, settings.maximum, settings.warm):
                for dimension, rate in rates.items():
                    if rate > self._quota[dimension]:
                        most = f"{amount(self._quota[dimension])} {dimension} units/s"
                        sentence = (
                            f"the account's quota of one table or index is {most} (account.table_{dimension} raises it)"
                        )
                        return Refusal(ControlError.LIMIT, sentence)
        if (request.mode or self._mode) is Mode.PROVISIONED:
            for dimension in Dimension:
                total = sum(
                    request.settings.get(name, Settings()).provisioned.get(
                        dimension, resource.capacity[dimension].provisioned or 0.0
                    )
                    for name, resource in self.resources.items()
                )
                if total > self._of_account[dimension]:
                    most = f"{amount(self._of_account[dimension])} {dimension} units/s"
                    sentence = f"with all indexes it is {amount(total)}, over the account's quota of {most}"
                    return Refusal(ControlError.LIMIT, f"{sentence} (account.account_{dimension} raises it)")
        for name in self._lowered(request):
            if self._decreases[name].left(now_s) < 1:
                again = clock(self._decreases[name].next_s(now_s))
                sentence = f"the decreases of this UTC day are used up for now; the next one is there at {again}"
                return Refusal(ControlError.LIMIT, sentence)
        if request.mode is Mode.ON_DEMAND and self._switches.left(now_s) < 1:
            again = clock(self._switches.next_s())
            sentence = f"a table is switched to on-demand at most four times in 24 hours; again at {again}"
            return Refusal(ControlError.LIMIT, sentence)
        return None

    def _lowered(self, request: Request) -> list[str]:
        """Resources whose provisioned capacity a request lowers, of reads, of writes, or of both at once."""
        if self._mode is not Mode.PROVISIONED or request.mode is not None:
            return []
        return [
            name
            for name, settings in request.settings.items()
            if any(
                rate < (self.resources[name].capacity[dimension].provisioned or 0.0)
                for dimension, rate in settings.provisioned.items()
            )
        ]

    # What is done.

    def _duration_s(self, request: Request) -> float:
        if request.mode is not None:
            return self._calibration.mode_switch_s
        short = any(
            self._partitions_short(self.resources[name], settings.provisioned) is not None
            for name, settings in request.settings.items()
        )
        return self._calibration.update_table_split_s if short else self._calibration.update_table_s

    def _partitions_short(self, resource: Resource, rates: Rates) -> int | None:
        """Partitions that a raise of the provisioned rate asks for, where they are more than there are (F-PART-3, F-PART-8)."""
        now = {d: resource.capacity[d].provisioned or 0.0 for d in Dimension}
        if all(rate <= now[d] for d, rate in rates.items()):
            return None
        needed = by_provisioned(*({**now, **rates}[d] for d in (Dimension.READ, Dimension.WRITE)))
        return needed if needed > len(resource.partitions) else None

    def _carry_out(
        self, request: Request, action: ControlAction, duration_s: float, then: Callable[[float], None] | None
    ) -> Generator[simpy.Event, Any, None]:
        asked_s = float(self._env.now)
        events = self._recorder.events
        first = len(events)
        events += self._rows(request, action, asked_s)
        rows = range(first, len(events))
        yield self._env.timeout(duration_s)
        now_s = float(self._env.now)
        is_warming = any(settings.warm for settings in request.settings.values())
        if request.mode is not None:
            self._switch(request.mode, request.settings, asked_s, now_s)
        for name, settings in request.settings.items():
            self._apply(self.resources[name], settings, asked_s, now_s, is_new=request.mode is not None)
        if is_warming:
            self._is_warming = False
        else:
            self.is_busy = False
        for k in rows:
            events[k] = replace(events[k], outcome="done", done_s=now_s)
        if then is not None:
            then(now_s)

    def _apply(self, resource: Resource, settings: Settings, asked_s: float, now_s: float, *, is_new: bool) -> None:
        if settings.provisioned:
            needed = self._partitions_short(resource, settings.provisioned)
            if needed is not None:
                lay_out(resource, self._recorder, needed, asked_s, now_s)
            if not is_new:
                resource.set_provisioned(settings.provisioned)
        if settings.maximum:
            resource.set_maximum(settings.maximum)
        if settings.warm:
            for dimension, warm in settings.warm.items():
                resource.warm_per_s[dimension] = max(resource.warm_per_s[dimension], warm)
            self._lay_out_warm(resource, asked_s, now_s)
        note_capacity(resource, self._recorder, now_s)

    def _switch(self, mode: Mode, settings: Mapping[str, Settings], asked_s: float, now_s: float) -> None:
        for name, resource in self.resources.items():
            of_it = settings.get(name, Settings())
            capacity = {
                d: Capacity(quota=self._quota[d])
                if mode is Mode.ON_DEMAND
                else Capacity(provisioned=of_it.provisioned[d], burst_fraction=0.0)
                for d in Dimension
            }
            if mode is Mode.ON_DEMAND:
                for dimension, floor in ON_DEMAND_INITIAL_PER_S.items():  # F-OD-8
                    resource.warm_per_s[dimension] = max(resource.warm_per_s[dimension], floor)
                self._lay_out_warm(resource, asked_s, now_s)
            resource.switch_mode(mode, capacity)
            note_capacity(resource, self._recorder, now_s)

    def _lay_out_warm(self, resource: Resource, asked_s: float, now_s: float) -> None:
        read, write = (resource.warm_per_s[d] for d in (Dimension.READ, Dimension.WRITE))
        lay_out(resource, self._recorder, by_throughput(read, write), asked_s, now_s)

    # What is written down.

    def _rows(self, request: Request, action: ControlAction, at_s: float) -> list[EventRow]:
        """A row for each setting that is asked for, as pending."""
        why = f": {request.why}" if request.why else ""
        rows = []
        if request.mode is not None:
            detail = f"capacity mode from {self._mode} to {request.mode}{why}"
            rows.append(EventRow(at_s, TABLE, action, detail, "pending"))
        for name, settings in request.settings.items():
            resource = self.resources[name]
            for what, rates in (
                ("capacity", settings.provisioned),
                ("on-demand maximum", settings.maximum),
                ("warm throughput", settings.warm),
            ):
                for d, after in rates.items():
                    now = resource.capacity[d]
                    before = {
                        "capacity": now.provisioned,
                        "on-demand maximum": now.maximum,
                        "warm throughput": resource.warm_per_s[d],
                    }[what]
                    from_ = f"from {before:,.10g} " if before is not None else ""
                    detail = f"{d} {what} {from_}to {after:,.10g} units/s{why}"
                    rows.append(EventRow(at_s, name, action, detail, "pending", None, None, d, before, after))
        return rows

    @property
    def _mode(self) -> Mode:
        return self.resources[TABLE].mode

    @property
    def _calibration(self) -> Calibration:
        return self.resources[TABLE].calibration
