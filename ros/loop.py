"""Time passes here: one thread owns the simulation, sets its inputs, steps it and tells others.

Others never touch the simulation. They put jobs into `ask`, which are done between two steps,
so every answer belongs to a whole period. This file knows no ROS; `outlet` publishes.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from ..model import CutjointError, Simulation
from ..model.run.drives import Drives, Rehearsal, Wanted
from ..model.run.drives import orders as orders_of
from ..model.run.joint_values import JointValues
from ..model.run.live import Push
from ..model.thresholds import SAME_TIME, SAMPLED
from .follow import Course, Follower, Point
from .motor_commands import Commands
from .pace import Pace
from .settings import FAST, FOLLOW_CLOCK, LOCK_STEP, PAUSED, REAL_TIME, Settings
from .udp import link_of

SOON = 0.001  # seconds between looks at somebody else's clock
IDLE = 0.05  # seconds between looks at the stop event while time stands still
SHOW = 0.1  # seconds between joint states, and clocks, while paused


class Outlet(Protocol):
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

    outlet: Outlet

    def __init__(self, simulation: Simulation, settings: Settings, outlet: Outlet | None = None):
        self.simulation, self.settings = simulation, settings
        if outlet is not None:
            self.outlet = outlet
        self.active = True  # a node that is not active lets no time pass and takes no commands
        self.over = False  # whether another loop takes its place
        self.push: Push | None = None  # what the topic wrench sets
        self.clock_time: int | None = None  # nanoseconds that somebody else's /clock shows
        self.values = JointValues(simulation)
        self.commands = Commands(
            simulation.mechanism, settings.period, settings.command_timeout, settings.watchdog
        )
        self.pace = Pace(settings.period)
        self.follower: Follower | None = None
        self.later: Course | None = None  # a trajectory that is yet to begin
        self.link = link_of(settings, simulation.mechanism) if settings.udp else None
        self.fault = ""  # why time stands still, if the engine failed
        self.running = settings.mode if settings.mode != PAUSED else REAL_TIME  # after a pause
        self._closed = False
        self._wake = threading.Event()  # there is a job
        self.periods = 0  # since the node started, whatever resets did to time
        self.not_held = ""  # why the start is not held, if it should be
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._h = settings.period / settings.steps
        self._told = {"joint_states": 0, "clock": 0}
        self._next = {"diagnostics": 0.0, "markers": 0.0, "paused": 0.0}
        self._warm_up()
        self.began()

    def _warm_up(self) -> None:
        """Build all that a period needs now, so that none has to wait for a compiler."""
        saved = self.simulation.state
        self.drives = Drives(self.simulation, self.values, self.frequency)
        self._rehearsal = Rehearsal(self.drives, self.frequency)
        with contextlib.suppress(CutjointError):  # it will be met again, and told, when time passes
            self.simulation.topology()
            self.simulation.output_vector()
            self.simulation.step(self._h)
        self.simulation.state = saved

    def began(self, start: bool = False) -> None:
        """At the start, or at a state that was put: count on from there; hold the start if that is wanted."""
        self.ticks = round(self.simulation.time * self.settings.rate)
        self._origin = self.simulation.time - self.ticks / self.settings.rate
        self.follower = self.later = None
        self.commands.clear()
        self.commands.forget_stamps()
        self.values.read()
        if self.settings.hold and (start or self.simulation.time == 0):
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
                steps = self.pace.wait(stop)
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
            self._wake.wait(SOON if self.settings.mode == FOLLOW_CLOCK else IDLE)
        self._wake.clear()
        if not self._jobs.empty():
            self._jobs.get_nowait()()
        now = time.monotonic()
        if now >= self._next["paused"]:
            self._next["paused"] = now + SHOW
            if self.settings.mode == PAUSED:
                self.outlet.joint_states(self)
            if self.settings.publish_clock:
                self.outlet.clock(self)

    def advance(self, wanted: Wanted | None = None) -> None:
        """One period: inputs, steps, messages that are due."""
        now = time.monotonic()
        if self.link is not None:
            heard = self.link.receive(now)
            if heard is not None:
                self.follower = None
                self.commands.accept(orders_of(self.simulation.mechanism, heard), now)
        if self.later is not None and self.time >= self.later.at - SAME_TIME:
            begin, self.later = self.later.begin, None
            assert begin is not None
            begin()
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
            told, moves = self.drives, self.drives.moves  # wrenches move nothing of their own
            values = (told.position * moves, told.velocity * moves, told.effort * moves)
            self.link.send(self.time, *(x.tolist() for x in values))
        if due:
            self.outlet.joint_states(self)
        if self.settings.publish_clock and self._due("clock", self.settings.clock_rate):
            self.outlet.clock(self)

    def _orders(self, now: float) -> Wanted:
        """What the trajectory wants that is followed, else what was commanded last."""
        if self.follower is not None:
            orders = self.follower.orders(self.time)
            if orders is not None:
                self.commands.take_over(orders)
                return orders
            self.follower.over = True
            self.follower = None
            self.commands.clear()
        spoke = not self.commands.silent
        orders = self.commands.present(now)
        if spoke and self.commands.silent:
            waited = self.commands.timeout
            left = "are zero" if self.commands.watchdog == "zero" else "stay as they were"
            self.outlet.warn("watchdog", f"no command for {waited:g} s; torques {left} until the next one")
        return orders

    def follow(self, joints: Sequence[str], points: Sequence[Point], at: float | None = None) -> Course:
        """Take a trajectory that begins at a simulated time, or now; none if it has no points.

        It begins from the state there is then. It is rehearsed, and refused with a sentence if it can't be
        followed; what was wanted before then goes on.
        """
        self.later, course = None, Course()
        if not points:
            self.follower = None
            self.commands.clear()
            return course
        if at is not None and at > self.time + SAME_TIME:
            check = Follower(self.drives, self.commands.index, joints, points, self.commands.latest)

            def begin() -> None:
                try:
                    course.follower = self.follow(check.joints, points).follower
                except CutjointError as problem:
                    course.refusal = str(problem)
                    self.commands.refused += 1
                    self.outlet.warn("joint_trajectory", f"trajectory refused: {problem}")

            course.at, course.begin = at, begin
            self.later = course
            return course
        late = 0.0 if at is None else self.time - at
        others = self.commands.latest.still()
        follower = Follower(self.drives, self.commands.index, joints, points, others, late)
        if self.settings.rehearse and not follower.feeds:
            frequency, steps = self.frequency, self.settings.steps
            state, near = self.simulation.state, self.values.position
            self._rehearsal.run(state, near, others, follower.path, self._h, steps, frequency)
        self.follower = course.follower = follower
        return course

    def leave(self, course: Course) -> None:
        """Stop where a trajectory is, or forget one that is yet to begin; not if something else took over."""
        if self.later is course:
            self.later = None
        elif self.follower is not None and self.follower is course.follower:
            feeds, self.follower = self.follower.feeds, None
            self.commands.take_over(self.commands.latest.still())
            if feeds:
                self.commands.clear()

    def _stop_for(self, reason: str) -> None:
        """The engine can't go on: keep the last finite state, torque off, time stands still."""
        self.fault = reason
        self.commands.clear()
        self.follower = self.later = None
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
            if rate and now >= self._next[what]:
                self._next[what] = now + 1.0 / rate
                getattr(self.outlet, what)(self)
