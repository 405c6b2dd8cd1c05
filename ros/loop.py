"""Time passes here: one thread owns the simulation, sets its inputs, steps it and tells others.

Others never touch the simulation. They put jobs into `ask`, which are done between two steps,
so every answer belongs to a whole period. This file knows no ROS; `outlet` publishes.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

import numpy as np

from ..model import CutjointError, Simulation
from ..model.run.joint_values import JointValues
from ..model.thresholds import SAME_TIME
from .follow import Follower
from .motor_commands import Commands
from .pace import Pace
from .settings import FAST, LOCK_STEP, PAUSED, REAL_TIME, Settings
from .udp import UdpLink

IDLE = 0.05  # seconds between looks at the stop event while time stands still
SHOW = 0.1  # seconds between joint states while paused


class Outlet(Protocol):
    """Where the loop tells what it computed."""

    def joint_states(self, loop: Loop) -> None: ...
    def clock(self, loop: Loop) -> None: ...
    def markers(self, loop: Loop) -> None: ...
    def diagnostics(self, loop: Loop) -> None: ...
    def warn(self, topic: str, text: str) -> None: ...


class Loop:
    """Runs a simulation in one of four modes until told to stop."""

    def __init__(self, simulation: Simulation, settings: Settings, outlet: Outlet):
        self.simulation, self.settings, self.outlet = simulation, settings, outlet
        self.values = JointValues(simulation)
        self.commands = Commands(simulation.mechanism, settings.period, settings.command_timeout)
        self.pace = Pace(settings.period)
        self.follower: Follower | None = None
        udp = (settings.udp, len(simulation.inputs), settings.period, settings.command_timeout)
        self.link = UdpLink(*udp) if settings.udp else None
        self.fault = ""  # why time stands still, if the engine failed
        self.periods = 0  # since the node started, whatever resets did to time
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._h = settings.period / settings.steps
        self._ticks = 0  # since the last reset
        self._told = {"joint_states": 0, "clock": 0}
        self._next = {"diagnostics": 0.0, "markers": 0.0, "paused": 0.0}
        joints, motors = [part.joint for part in self.values.joints], simulation.mechanism.motors
        self._driven = np.array([joints.index(motor.joint) for motor in motors], int)
        self._warm_up()
        self.values.read()

    def _warm_up(self) -> None:
        """Build all that a period needs now, so that none has to wait for a compiler."""
        saved = self.simulation.state
        with contextlib.suppress(CutjointError):  # it will be met again, and told, when time passes
            self.simulation.topology()
            self.simulation.output_vector()
            self.simulation.step(self._h)
            self.simulation.inverse_dynamics()
        self.simulation.state = saved

    # -- from other threads ----------------------------------------------------------------

    def ask(self, job: Callable[[], Any]) -> Future[Any]:
        """Have the loop's thread do something between two periods."""
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(job())
            except Exception as problem:  # it belongs to whoever asked
                future.set_exception(problem)

        self._jobs.put(run)
        return future

    # -- the loop ----------------------------------------------------------------------------

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set."""
        mode = ""
        while not stop.is_set():
            if mode != self.settings.mode:
                mode = self.settings.mode
                self.pace.start()
            if mode == REAL_TIME:
                steps = self.pace.wait(stop)
                self._do_jobs()
                for _ in range(steps if self.settings.mode == mode else 0):
                    self.advance()
            elif mode == FAST:
                self._do_jobs()
                if self.settings.mode == mode:
                    self.advance()
            else:
                self._stand()
            self._tell_by_the_wall(time.monotonic())
        if self.link is not None:
            self.link.close()

    def _do_jobs(self) -> None:
        while not self._jobs.empty():
            self._jobs.get_nowait()()

    def _stand(self) -> None:
        """Time stands still: wait for a job, show the state now and then."""
        with contextlib.suppress(queue.Empty):
            self._jobs.get(timeout=IDLE)()
        now = time.monotonic()
        if self.settings.mode == PAUSED and now >= self._next["paused"]:
            self._next["paused"] = now + SHOW
            self.outlet.joint_states(self)

    def advance(self, torques: np.ndarray | None = None) -> None:
        """One period: inputs, steps, messages that are due."""
        now = time.monotonic()
        if self.link is not None:
            heard = self.link.receive(now)
            if heard is not None:
                self.follower = None
                self.commands.accept(heard, now)
        try:
            self.simulation.set_inputs(self._inputs(now) if torques is None else torques)
            for _ in range(self.settings.steps):
                self.simulation.step(self._h)
        except CutjointError as problem:
            self._stop_for(str(problem))
            return
        self._ticks += 1
        self.periods += 1
        due = self._due("joint_states", self.settings.joint_state_rate)
        if due or self.link is not None:
            self.values.read()
        if self.link is not None:
            at = self._driven
            self.link.send(self.time, self.values.position[at].tolist(), self.values.velocity[at].tolist())
        if due:
            self.outlet.joint_states(self)
        if self.settings.publish_clock and self._due("clock", self.settings.clock_rate):
            self.outlet.clock(self)

    def _inputs(self, now: float) -> np.ndarray:
        """Torques of the trajectory that is followed, else those commanded, else zero."""
        if self.follower is not None:
            try:
                torques = self.follower.torques(self.settings.tracking_frequency)
            except CutjointError as problem:
                self.outlet.warn("joint_trajectory", f"the trajectory is given up: {problem}")
                torques = None
            if torques is not None and np.isfinite(torques).all():
                return torques
            self.follower = None
            self.commands.clear()
        spoke = not self.commands.silent
        torques = self.commands.present(now)
        if spoke and self.commands.silent:
            waited = self.commands.timeout
            self.outlet.warn("watchdog", f"no command for {waited:g} s; torques are zero until the next one")
        return torques

    def _stop_for(self, reason: str) -> None:
        """The engine can't go on: keep the last finite state, torque off, time stands still."""
        self.fault = reason
        self.commands.clear()
        self.follower = None
        if self.settings.mode != LOCK_STEP:
            self.settings.mode = PAUSED
        self.outlet.warn("fault", f"{reason}; time stands still until 'reset' or 'restore_state'")

    # -- what is told and when -----------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated seconds."""
        return self.simulation.time

    def show(self) -> None:
        """Tell the state at once, after something other than time changed it."""
        self._ticks = round(self.time * self.settings.rate)
        self._told = {"joint_states": 0, "clock": 0}
        self._due("joint_states", self.settings.joint_state_rate)
        self._due("clock", self.settings.clock_rate)
        self.values.read()
        self.outlet.joint_states(self)
        if self.settings.publish_clock:
            self.outlet.clock(self)

    def _due(self, what: str, rate: float) -> bool:
        """Whether a message of this rate (per simulated second) falls into this period."""
        if rate == 0 or rate >= self.settings.rate or self.settings.mode in (LOCK_STEP, PAUSED):
            return True
        number = int(self._ticks * rate / self.settings.rate + SAME_TIME)
        news = number != self._told[what]
        self._told[what] = number
        return news

    def _tell_by_the_wall(self, now: float) -> None:
        """Messages for people go by the steady clock, so that they also come while time stands still."""
        for what, rate in (
            ("diagnostics", self.settings.diagnostics_rate),
            ("markers", self.settings.marker_rate),
        ):
            if rate and now >= self._next[what]:
                self._next[what] = now + 1.0 / rate
                getattr(self.outlet, what)(self)
