"""How long a slider waits for its run: one that takes longer is not begun, or given up, with a word on what would be quicker."""

from __future__ import annotations

from time import process_time

import numpy as np

from sim.errors import Problem, ScenarioError
from sim.levels.arrivals import DAY_S, integral_of
from sim.names import Level
from sim.results.phrases import clock, lasting
from sim.results.result import Result
from sim.run import make_resources
from sim.run import run as run_to_the_end
from sim.scenario import Scenario

# While a run lasts, the kernel does nothing else and the picture is that of another position. Half of the ten seconds for which people
# are said to keep their mind on an answer leaves room for a slower machine.
LONGEST_S = 5.0

# Every run that was measured took one and a half times this or more (indexes, pages, retries: up to a hundred times), so that what is
# estimated from them is too low on most machines, and refuses nothing that somebody would have waited for.
_TICK_S, _CELL_S, _REQUEST_S = 2e-6, 1.5e-8, 2e-7


class _GivenUp(Exception):
    """Ends a run from its progress: seconds that it took so far, fraction of simulated time that it came to."""


def run(scenario: Scenario) -> Result:
    """Run a scenario as long as somebody waits who holds a slider: five seconds of processor time.

    Raises
    ------
    ScenarioError
        As of `sim.run`; or the run would take longer.
    """
    if (least_s := least_seconds(scenario)) > LONGEST_S:
        raise _too_long(scenario, f"it would take over {lasting(least_s)}")
    began = process_time()  # what else the machine does is no reason to refuse a run

    def watch(passed: float) -> None:
        # Nothing is foretold from the pace: setting up may take most of a run, and with a cache later ticks are cheaper than the first.
        took_s = process_time() - began
        if passed < 1 and took_s > LONGEST_S:
            raise _GivenUp(took_s, passed)

    try:
        return run_to_the_end(scenario, progress=watch)
    except _GivenUp as given_up:
        took_s, passed = given_up.args
        told = f"after {lasting(took_s)} it had simulated {100 * passed:.2g} % of its time"
        raise _too_long(scenario, told) from None


def least_seconds(scenario: Scenario) -> float:
    """A run takes no less than so many seconds: by ticks × partitions at the flow level, by requests at the request level."""
    if scenario.level is Level.FLOW:
        partitions = sum(len(resource.partitions) for resource in make_resources(scenario).values())
        return scenario.duration / scenario.tick * (_TICK_S + _CELL_S * partitions)
    end, requests = np.array([scenario.duration]), 0.0
    for traffic in scenario.traffic:
        if traffic.rate is not None:
            expected = float(integral_of(traffic, scenario.start.timestamp() % DAY_S, scenario.duration)(end)[0])
            requests += expected if traffic.count is None else min(expected, traffic.count)
    return requests * _REQUEST_S


def _too_long(scenario: Scenario, told: str) -> ScenarioError:
    quicker = f"a shorter duration or a longer tick (now {lasting(scenario.tick)})"
    if scenario.level is Level.REQUEST:
        quicker = 'a shorter duration, a lower rate or level = "flow"'
    problem = Problem(
        source="explore",
        path="duration",
        message=f"a run of this is too long for sliders, which wait {LONGEST_S:g} s at most: {told}",
        value=clock(scenario.duration),
        hint=f"quicker is {quicker}; sim.run(scenario) waits to the end",
    )
    return ScenarioError([problem])
