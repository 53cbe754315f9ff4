"""The control plane of one resource: one process that wakes each minute, closes the minute and lets its controllers look, in order."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from sim.control.adaptive import AdaptiveController
from sim.control.base import OBSERVE_S, Controller
from sim.control.heat import HeatWatcher
from sim.control.on_demand import OnDemandScaler
from sim.control.sightings import Sightings
from sim.control.size import SizeWatcher
from sim.control.splitting import Splitter
from sim.names import AdmissionPolicy, Mode
from sim.partitions.resource import Resource
from sim.results.recorder import Recorder


class ControlPlane:
    """Watches one resource from second 0 on."""

    def __init__(
        self, env: simpy.Environment, resource: Resource, recorder: Recorder, key_names: dict[int, str]
    ) -> None:
        self._env = env
        self._wake_s = max(OBSERVE_S, recorder.grid.tick_s)  # between two ticks there is nothing new to see
        calibration = resource.calibration
        keep_s = max(calibration.heat_window_s, calibration.peak_sustained_s, calibration.adaptive_period_s)
        self._resource = resource
        self._recorder = recorder
        self._sightings = Sightings(resource, keep_s)
        self._splitter = Splitter(env, resource, recorder, key_names)
        self._mode = resource.mode
        self._controllers = self._controllers_of_mode()

    def _controllers_of_mode(self) -> list[Controller]:
        resource, splitter = self._resource, self._splitter
        controllers: list[Controller] = [SizeWatcher(resource, splitter)]
        if resource.mode is Mode.PROVISIONED and resource.policy is AdmissionPolicy.ADAPTIVE_2017:
            controllers.append(AdaptiveController(resource, self._sightings, self._recorder))
        if resource.mode is Mode.ON_DEMAND and resource.calibration.on_demand_scaling:
            controllers.append(OnDemandScaler(resource, self._sightings, splitter, self._recorder))
        controllers.append(HeatWatcher(resource, self._sightings, splitter))
        return controllers

    def finish(self) -> None:
        """Write down what the run's end leaves under way."""
        self._splitter.note_pending()

    def watch(self) -> Generator[simpy.Event, Any, None]:
        """The process: a look each minute, for ever."""
        while True:
            yield self._env.timeout(self._wake_s)
            if not self._sightings.close_minute():
                continue
            if self._mode is not self._resource.mode:
                self._mode = self._resource.mode
                self._controllers = self._controllers_of_mode()
            for controller in self._controllers:
                controller.look(float(self._env.now))
