"""The ROS 2 node: a mechanism's life and parameters, and what it hears, tells and serves; no physics.

It is a lifecycle node: configured, a mechanism is built; active, time passes and commands are taken. It
does both itself unless `autostart` is false.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter

from ..model.base.errors import CutjointError
from .action_server import FollowJointTrajectory, Goals
from .loop import Loop
from .parameters import (
    OF_MECHANISM,
    declare_own,
    declare_parameters,
    own_overrides,
    own_values,
    shown_parameters,
)
from .publishers import SOMEBODY, Publishers, called, second_clock
from .services import PATIENCE, Services
from .settings import PAUSED, REAL_TIME, SETTINGS, SettingError
from .simulation_services import SimulationServices
from .simulation_services import msg as simulation_interfaces
from .subscriptions import Orders

NAME = "cutjoint"
QUIET = 5.0  # seconds between two warnings of one kind
LOOK_AROUND = 1.0  # seconds in which others that publish /clock are found
RCLError = rclpy_implementation.RCLError
SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class MechanismNode(LifecycleNode):
    """A mechanism as a node; `loop.run` does the work, an executor brings messages in."""

    def __init__(
        self,
        overrides: Sequence[Parameter] = (),
        loop: Loop | None = None,
        build: Callable[[Any, Any], Loop] | None = None,
    ):
        super().__init__(
            NAME, parameter_overrides=list(overrides), automatically_declare_parameters_from_overrides=True
        )
        self.settings = declare_parameters(self)
        self.loop: Loop | None = None
        self.telling: Publishers | None = None
        self._prepared, self._build = loop, build
        self._warned: dict[str, float] = {}
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._main = threading.current_thread()
        self._others: list[set[Any]] = []
        self._recorded_so: bool | None = None  # whether a recording is by simulated time, if there is one
        self._servers: list[Any] = []
        self.quit: Callable[[], None] = lambda: None  # what ends the process in good order
        self.add_on_set_parameters_callback(self._change)
        self._change_state = self._service_change_state.callback
        self._service_change_state.callback = self._on_change_state
        self.failure: CutjointError | None = None  # why it could not be configured

    @property
    def home(self) -> tuple[str, str]:
        return self.get_namespace(), self.get_name()

    # -- life --------------------------------------------------------------------------------

    def _on_change_state(self, request: Any, response: Any) -> Any:
        """Answer also where there is no such transition: rclpy's own callback raises, and stays silent."""
        try:
            return self._change_state(request, response)
        except RCLError:
            asked = request.transition.label or request.transition.id
            here = self._state_machine.current_state[1]
            self.warn("lifecycle", f"transition '{asked}' is not possible while it is {here}")
            response.success = False
            return response

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build the mechanism in the main thread, and all that speaks of it."""
        try:
            self._in_main_thread(self._configure)
        except Exception as problem:  # a manager must get its answer
            if self.settings.autostart and isinstance(problem, CutjointError):
                self.failure = problem
            elif self.settings.autostart:
                raise
            else:
                self.get_logger().error(f"it can't be configured: {problem}")
            return FAILURE
        return SUCCESS

    def _in_main_thread(self, job: Callable[[], None]) -> None:
        """Do what only the loop's thread may do, while there is no loop."""
        if threading.current_thread() is self._main:
            job()
            return
        done: Future[None] = Future()

        def run() -> None:
            try:
                job()
                done.set_result(None)
            except BaseException as problem:  # it belongs to whoever asked
                done.set_exception(problem)

        self._jobs.put(run)
        done.result()

    def _configure(self) -> None:
        loop, self._prepared = self._prepared, None
        if loop is None:
            assert self._build is not None
            loop = self._build(self.settings, own_overrides(self))
        self.settings = loop.settings
        loop.active = False
        self._others = [set(x) for x in (self.publishers, self.subscriptions, self.services)]
        declare_own(self, loop.simulation)
        if self.settings.publish_clock:
            self._only_clock()
        self._recorded_so = None
        self._recorded_so = self.stamps_simulated if self.settings.record else None
        self.telling = loop.outlet = Publishers(self, loop)
        self.orders = Orders(self, loop)
        self.jobs = Services(self, loop, self.telling.linear)
        self._servers = [Goals(self, loop, self.orders)] if FollowJointTrajectory is not None else []
        self._servers += [SimulationServices(self, loop)] if simulation_interfaces is not None else []
        self.loop = loop
        loop.outlet.began(loop)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        loop, s, say = self.loop, self.settings, self.get_logger()
        assert loop is not None
        loop.active = True
        where = f", device on udp {':'.join(map(str, loop.link.address))}" if loop.link else ""
        inputs = ", ".join(loop.simulation.inputs) or "none"
        if loop.commands.holding:
            say.info("its start pose is held until the first command")
        elif s.hold and loop.not_held:
            say.info(f"nothing is held: {loop.not_held}")
        if s.mode == PAUSED:
            say.info("paused: call 'step', or 'pause' with data false")
        say.info(f"{s.mechanism}: {s.mode} at {s.rate:g} Hz, inputs {inputs}{where}")
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Time stands still, commands are refused, until it is active again."""
        assert self.loop is not None
        self.loop.active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the mechanism; configured again, it is built from the parameters there are then."""
        loop, self.loop = self.loop, None
        assert loop is not None
        loop.over = True
        self._in_main_thread(self._forget)
        return SUCCESS

    def _forget(self) -> None:
        assert self.telling is not None
        self.telling.close()
        for server in self._servers:
            server.destroy()
        kinds = (self.publishers, self.destroy_publisher), (self.subscriptions, self.destroy_subscription)
        for (now, destroy), before in zip(
            (*kinds, (self.services, self.destroy_service)), self._others, strict=True
        ):
            for item in set(now) - before:
                destroy(item)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        if self.loop is not None:
            self.loop.active = False
        return super().on_shutdown(state)

    def end(self, why: CutjointError) -> None:
        """Leave, and say why."""
        self.failure = why
        if self.loop is not None:
            self.loop.over = True

    def do_jobs(self, patience: float) -> None:
        """What other threads want of this one while there is no loop."""
        if self._jobs.empty():
            time.sleep(patience)
        else:
            self._jobs.get_nowait()()

    def _only_clock(self) -> None:
        """Refuse to publish /clock beside somebody else."""
        end, who = time.monotonic() + LOOK_AROUND, ""
        while time.monotonic() < end and who in ("", SOMEBODY):
            found = self.get_publishers_info_by_topic("/clock")
            who = called(found[0]) if found else ""
            if who in ("", SOMEBODY):
                time.sleep(0.05)
        if who:
            raise SettingError(second_clock(who))

    # -- parameters --------------------------------------------------------------------------

    def _change(self, given: list[Parameter]) -> SetParametersResult:
        """All or nothing: check every new value, then use them."""
        loop = self.loop
        own = own_values({p.name: p.value for p in given})
        try:
            new = {p.name: self.settings.change(p.name, p.value) for p in given if p.name in SETTINGS}
            mode = new.pop("mode", self.settings.mode)
            if loop is None:
                self._set(new | {"mode": mode})
            elif threading.current_thread() is not self._main:  # that one only shows what is
                loop.ask(lambda: self._apply(loop, new, mode, own)).result(PATIENCE)
        except CutjointError as problem:
            return SetParametersResult(successful=False, reason=str(problem))
        except TimeoutError:
            return SetParametersResult(successful=False, reason="the simulation is busy; try again")
        return SetParametersResult(successful=True)

    def _apply(self, loop: Loop, new: dict[str, Any], mode: str, own: dict[str, Any]) -> None:
        """In the loop's thread, so that a period has either the old values or the new ones."""
        if mode != self.settings.mode and loop.fault:
            raise CutjointError(f"{loop.fault}; call 'reset' first")
        if own:
            loop.set_parameters(own)
        self._set(new)
        if mode != self.settings.mode:
            loop.set_mode(mode, tell=False)
        loop.apply_settings()

    def _set(self, new: dict[str, Any]) -> None:
        for name, value in new.items():
            setattr(self.settings, name, value)

    def show_own(self) -> None:
        """The mechanism's parameters as they are, after something else than a parameter changed them."""
        assert self.loop is not None
        simulation = self.loop.simulation
        values = {v.name: simulation.p[v.where].tolist() for v in shown_parameters(simulation)}
        shown = [
            Parameter(f"{OF_MECHANISM}{name}", value=value[0] if len(value) == 1 else value)
            for name, value in values.items()
        ]
        changed = [p for p in shown if self.get_parameter(p.name).value != p.value]
        if changed:
            self.set_parameters(changed)

    def show_mode(self) -> None:
        """The parameter shows the mode there is."""
        self.set_parameters([Parameter("mode", value=self.settings.mode)])

    @property
    def stamps_simulated(self) -> bool:
        """Whether messages carry simulated time: it has its own pace, or /clock tells it to all.

        A recording has the clock that it began with, whatever pauses and other modes follow.
        """
        if self._recorded_so is not None:
            return self._recorded_so
        return self.settings.publish_clock or self.settings.mode != REAL_TIME

    def warn(self, topic: str, text: str) -> None:
        """A warning, at most one of a kind every few seconds."""
        now = time.monotonic()
        if now - self._warned.get(topic, -QUIET) >= QUIET:
            self._warned[topic] = now
            self.get_logger().warning(f"{topic}: {text}")
