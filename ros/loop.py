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
from math import inf
from typing import Any, Protocol

from ..model.base.errors import CutjointError
from ..model.base.thresholds import SAME_TIME, SAMPLED
from ..model.control.command_law import POSITION
from ..model.control.computed_torque import Drives, Wanted
from ..model.control.joint_values import JointValues
from ..model.control.runtime_parameters import ExternalWrench
from ..model.control.streamed_positions import StreamedPositions
from ..model.simulation import Simulation
from .motor_commands import STOPPED, Commands, Refused
from .rate import Pace
from .settings import BRAKE, FAST, FOLLOW_CLOCK, LOCK_STEP, PAUSED, REAL_TIME, Settings
from .trajectories import Trajectories
from .udp import hear, link_of, tell

SOON = 0.001  # seconds between looks at somebody else's clock
IDLE = 0.05  # seconds between looks at the stop event while time stands still
SHOW = 0.1  # seconds between joint states, and clocks, while paused


class Observer(Protocol):
    """Where the loop tells what it computed."""

    def joint_states(self, loop: Loop) -> None: ...
    def clock(self, loop: Loop) -> None: ...
    def markers(self, loop: Loop) -> None: ...
    def diagnostics(self, loop: Loop) -> None: ...
    def period(self, loop: Loop) -> None: ...
    def began(self, loop: Loop) -> None: ...
    def changed(self, loop: Loop) -> None: ...
    def mode_changed(self, loop: Loop) -> None: ...
    def warn(self, topic: str, text: str) -> None: ...


class Loop:
    """Runs a simulation in one of five modes until told to stop."""

    outlet: Observer

    def __init__(self, simulation: Simulation, settings: Settings, outlet: Observer | None = None):
        self.simulation, self.settings = simulation, settings
        if outlet is not None:
            self.outlet = outlet
        self.active = True  # a node that is not active lets no time pass and takes no commands
        self.over = False  # whether another loop takes its place
        self.push: ExternalWrench | None = None  # what the topic wrench sets
        self.clock_time: int | None = None  # nanoseconds that somebody else's /clock shows
        self.values = JointValues(simulation)
        self.commands = Commands(
            simulation.mechanism, settings.period, settings.command_timeout, settings.watchdog
        )
        self.pace = Pace(settings.period)
        self.stream = StreamedPositions(settings.interpolation_period)
        self.link = link_of(settings, simulation.mechanism) if settings.udp else None
        self.fault = ""  # why time stands still, if the engine failed
        self.stopped = False  # by an emergency stop, until it is released
        self.stop_way = ""  # brake or coast, if whoever stopped it said so
        self.running = settings.mode if settings.mode != PAUSED else REAL_TIME  # after a pause
        self._closed = False
        self._wake = threading.Event()  # there is a job
        self.rests_until = (
            0.0  # steady time, while it waits: others may use the interpreter, of which there is one
        )
        self.periods = 0  # since the node started, whatever resets did to time
        self.not_held = ""  # why the start is not held, if it should be
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._h = settings.period / settings.steps
        self._told = {"joint_states": 0, "clock": 0}
        self._last = {"diagnostics": 0.0, "markers": 0.0, "paused": 0.0}
        self._warm_up()
        self.began()

    def _warm_up(self) -> None:
        """Build all that a period needs now, so that none has to wait for a compiler."""
        saved = self.simulation.state
        self.drives = Drives(self.simulation, self.values, self.frequency)
        self.drives.knows_wrench = self.settings.compensate_wrench
        self.trajectories = Trajectories(self)
        if self.simulation.mechanism.targets:
            self.trajectories.prepare()
        with contextlib.suppress(CutjointError):  # it will be met again, and told, when time passes
            self.simulation.topology()
            self.simulation.output_vector()
            self.simulation.step(self._h)
        self.simulation.state = saved

    def began(self, start: bool = False) -> None:
        """At the start, or at a state that was put: count on from there; hold the start if that is wanted."""
        self.ticks = round(self.simulation.time * self.settings.rate)
        self._origin = self.simulation.time - self.ticks / self.settings.rate
        self.trajectories.drop()
        self.stream.clear()
        self.commands.clear()
        self.commands.forget_stamps()
        self.values.read()
        if self.stopped:
            self._brake_or_coast()
        elif self.settings.hold and (start or self.simulation.time == 0):
            try:
                self.commands.take_over(self.drives.held(), holding=True)
            except CutjointError as problem:
                self.not_held = str(problem)

    # -- from other threads ----------------------------------------------------------------

    def ask(self, job: Callable[[], Any]) -> Future[Any]:
        """Have the loop's thread do something between two periods."""
        future: Future[Any] = Future()
        if self._closed:
            future.set_exception(CutjointError("the node ends"))
            return future

        def run() -> None:
            try:
                future.set_result(job())
            except Exception as problem:  # it belongs to whoever asked
                future.set_exception(problem)

        self._jobs.put(run)
        self._wake.set()
        return future

    # -- the loop ----------------------------------------------------------------------------

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set."""
        mode = ""
        while not stop.is_set() and not self.over:
            if mode != self.settings.mode or not self.active:
                mode = self.settings.mode
                self.pace.start()
            if not self.active:
                self._stand()
            elif mode == REAL_TIME:
                self.rests_until = self.pace.deadline
                steps = self.pace.wait(stop)
                self.rests_until = 0.0
                self._do_jobs()
                for _ in range(steps if self.settings.mode == mode else 0):
                    self.advance()
            elif mode == FAST:
                self._do_jobs()
                if self.settings.mode == mode:
                    self.advance()
            elif mode == FOLLOW_CLOCK and self._behind_the_clock():
                self._do_jobs()
                self.advance()
            else:
                self._stand()
            self._tell_by_the_wall(time.monotonic())
        if self.link is not None:
            self.link.close()

    def close(self) -> None:
        """Time has ended: who still waits for a job gets it, and nobody else is kept waiting."""
        self._closed = True
        self._do_jobs()
        self.trajectories.close()

    def _behind_the_clock(self) -> bool:
        """Whether /clock shows a period that is yet to pass here; if it went back, so does the mechanism."""
        if self.clock_time is None:
            return False
        ahead = self.clock_time - self.nanoseconds
        period = 10**9 / self.settings.rate
        if self.periods == 0 or ahead < -period:
            self.simulation.reset()
            self.simulation.time = self.clock_time / 10**9
            self.began(start=True)
            self.outlet.began(self)
            self.periods += 1
            self.show()
            return False
        return ahead >= period / 2

    def _do_jobs(self) -> None:
        while not self._jobs.empty():
            self._jobs.get_nowait()()

    def _stand(self) -> None:
        """Time stands still: wait for a job, show the state now and then."""
        # Not `get(timeout)`: a signal just at its end makes that wait for ever.
        if self._jobs.empty():
            self.rests_until = inf
            self._wake.wait(SOON if self.settings.mode == FOLLOW_CLOCK else IDLE)
            self.rests_until = 0.0
        self._wake.clear()
        if not self._jobs.empty():
            self._jobs.get_nowait()()
        now = time.monotonic()
        if self.link is not None and (self.settings.mode == PAUSED or not self.active):
            hear(self.link, self, now)
            tell(self.link, self)
        if now >= self._last["paused"] + SHOW:
            self._last["paused"] = now
            if self.settings.mode == PAUSED:
                self.outlet.joint_states(self)
            if self.settings.publish_clock:
                self.outlet.clock(self)

    def advance(self, wanted: Wanted | None = None) -> None:
        """One period: inputs, steps, messages that are due."""
        now = time.monotonic()
        if self.link is not None and hear(self.link, self, now):  # a reset takes a period
            tell(self.link, self)
            return
        self.trajectories.due()
        try:
            orders = self._orders(now) if wanted is None else wanted
            self.simulation.set_inputs(self.drives.forces(orders, self.frequency))
            end = self._origin + (self.ticks + 1) / self.settings.rate  # counted, since sums gather round-off
            for k in reversed(range(self.settings.steps)):
                self.simulation.step(self._h, end - k * self._h)
        except CutjointError as problem:
            self._stop_for(str(problem))
            return
        self.ticks += 1
        self.periods += 1
        self.outlet.period(self)
        due = self._due("joint_states", self.settings.joint_state_rate)
        if due or self.link is not None:
            self.values.read()
        if self.link is not None:
            tell(self.link, self)
        if due:
            self.outlet.joint_states(self)
        if self.settings.publish_clock and self._due("clock", self.settings.clock_rate):
            self.outlet.clock(self)

    def obey(self, wanted: Wanted, now: float) -> None:
        """Orders that somebody gave at a steady time: they end whatever trajectory there is."""
        if self.stopped:
            raise Refused(STOPPED)
        latest, streamed = self.commands.latest, wanted.kind == POSITION
        held = self.trajectories.follower is None and (latest.kind[streamed] == POSITION).all()
        self.trajectories.drop()
        if not held or not streamed.any():  # something else was done, or is
            self.stream.clear()
        if streamed.any():
            self.stream.add(self.time, wanted, latest.value if held else self.drives.position)
        self.commands.accept(wanted, now)
        if self.commands.cut:
            text = f"a command for '{self.commands.cut}' is beyond its limits ({self.commands.limits()})"
            self.outlet.warn("limits", f"{text} and is cut to them")

    def _orders(self, now: float) -> Wanted:
        """What the trajectory wants that is followed, else what was commanded last."""
        follower, commands = self.trajectories.follower, self.commands
        if follower is not None:
            orders = follower.orders(self.time)
            if orders is not None:
                commands.take_over(orders)
                return orders
            follower.over = True
            self.trajectories.follower = None
            commands.clear()
        spoke = not commands.silent
        orders = self.stream.at(self.time, commands.present(now))
        if spoke and commands.silent:
            text = f"no command for {commands.timeout:g} s: {commands.kept()} until the next one"
            self.outlet.warn("watchdog", text)
        return orders

    def emergency_stop(self, stop: bool, way: str = "") -> str:
        """Brake or coast, and obey nobody, until it is released; that then goes on to the next order."""
        self.stopped, self.stop_way = stop, way
        if stop:
            self.trajectories.drop()
            self.stream.clear()
            self._brake_or_coast()
        self.outlet.warn("emergency stop", self.stop_state)
        return self.stop_state

    def _brake_or_coast(self) -> None:
        brake = (self.stop_way or self.settings.emergency_stop) == BRAKE and not self.drives.blind
        place = self.drives.stopping_place(self.frequency)
        self.commands.take_over(self.commands.path.stop_order(place, brake))

    @property
    def stop_state(self) -> str:
        """What the emergency stop does."""
        if not self.stopped:
            return "released"
        return "it is held" if self.brakes else "it coasts"

    @property
    def brakes(self) -> bool:
        """Whether something is held in its place."""
        return bool((self.commands.latest.kind == POSITION).any())

    def apply_settings(self) -> None:
        """What was derived from settings follows them, after a change while time passes."""
        settings = self.settings
        self.commands.timeout, self.commands.watchdog = settings.command_timeout, settings.watchdog
        self.drives.knows_wrench = settings.compensate_wrench
        if settings.interpolation_period != self.stream.period:
            self.stream = StreamedPositions(settings.interpolation_period)
        if self.link is not None:
            self.link.set_silence(settings.command_timeout)
        if self.stopped:
            self._brake_or_coast()
        elif self.commands.holding and not settings.hold:
            self.commands.clear()

    def _stop_for(self, reason: str) -> None:
        """The engine can't go on: keep the last finite state, torque off, time stands still."""
        self.fault = reason
        self.commands.clear()
        self.trajectories.drop()
        if self.settings.mode != LOCK_STEP:
            self.set_mode(PAUSED)
        self.outlet.warn("fault", f"{reason}; time stands still until 'reset' or 'restore_state'")

    def set_mode(self, mode: str, tell: bool = True) -> None:
        """Another mode; a pause remembers what it interrupted."""
        if mode == self.settings.mode:
            return
        if self.settings.mode != PAUSED:
            self.running = self.settings.mode
        self.settings.mode = mode
        if tell:
            self.outlet.mode_changed(self)

    def set_parameters(self, values: dict[str, Any]) -> None:
        """Other values for the mechanism's parameters, between two periods."""
        self.simulation.set_parameters(values)
        self.outlet.changed(self)

    def put(self, change: Callable[[], None]) -> None:
        """Change the state other than by time; a fault is over, and time goes on as it did before it."""
        change()
        self.began()
        self.outlet.began(self)
        if self.fault:
            self.fault = ""
            if self.settings.mode == PAUSED:
                self.set_mode(self.running)
        self.show()

    # -- what is told and when -----------------------------------------------------------------

    @property
    def frequency(self) -> float:
        """How stiffly poses are held and paths followed, rad/s."""
        return min(self.settings.tracking_frequency, SAMPLED * self.settings.rate)

    @property
    def time(self) -> float:
        """Simulated seconds."""
        return self.simulation.time

    @property
    def nanoseconds(self) -> int:
        """Simulated time as messages have it: counted, so that a day is a day."""
        return round(self._origin * 10**9) + round(self.ticks * 10**9 / self.settings.rate)

    def show(self) -> None:
        """Tell the state at once, after something other than time changed it."""
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
        number = int(self.ticks * rate / self.settings.rate + SAME_TIME)
        news = number != self._told[what]
        self._told[what] = number
        return news

    def _tell_by_the_wall(self, now: float) -> None:
        """Messages for people go by the steady clock, so that they also come while time stands still."""
        for what, rate in (
            ("diagnostics", self.settings.diagnostics_rate),
            ("markers", self.settings.marker_rate),
        ):
            if rate and now >= self._last[what] + 1.0 / rate:
                self._last[what] = now
                getattr(self.outlet, what)(self)
