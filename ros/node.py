"""The ROS 2 node: topics, services and parameters around a `Loop`. It holds no physics."""

import json
import time
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from ..model import CutjointError, Simulation
from ..model.robots.write_urdf import urdf
from .follow import Follower, Point
from .loop import Loop
from .markers import Markers
from .motor_commands import Refused
from .report import Health
from .settings import LOCK_STEP, PAUSED, REAL_TIME, SETTINGS, Settings

LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
EVERY = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)  # lock-step loses no command
QUIET = 5.0  # seconds between two warnings of one kind
PATIENCE = 30.0  # seconds a service waits for the loop


class MechanismNode(Node):
    """A mechanism as a node; `loop.run` does the work, an executor brings messages in."""

    def __init__(self, name: str = "cutjoint", overrides: Sequence[Parameter] = ()):
        super().__init__(name, parameter_overrides=list(overrides))
        self.settings = self._declare()
        self._warned: dict[str, float] = {}
        s = self.settings
        self.simulation = Simulation(
            s.mechanism,
            gravity=s.gravity,
            start=s.start,
            compile=None if s.compile else False,
            substeps=s.substeps,
        )
        self._publish()
        self.loop = Loop(self.simulation, s, self)
        self.health = Health(self.loop)
        self._saved: Any = None
        self._listen()
        if self.mode == PAUSED:
            self.get_logger().info("paused: call 'step', or 'pause' with data false")

    # -- parameters --------------------------------------------------------------------------

    def _declare(self) -> Settings:
        raw = {}
        for name, s in SETTINGS.items():
            about = ParameterDescriptor(description=s.about, dynamic_typing=True, read_only=not s.changeable)
            raw[name] = self.declare_parameter(name, s.default, about).value
        self.add_on_set_parameters_callback(self._change)
        return Settings.read(raw)

    def _change(self, given: list[Parameter]) -> SetParametersResult:
        """All or nothing: check every new value, then use them."""
        try:
            new = {p.name: self.settings.change(p.name, p.value) for p in given if p.name in SETTINGS}
        except CutjointError as problem:
            return SetParametersResult(successful=False, reason=str(problem))
        for name, value in new.items():
            setattr(self.settings, name, value)
        self.loop.commands.timeout = self.settings.command_timeout
        return SetParametersResult(successful=True)

    @property
    def mode(self) -> str:
        return self.settings.mode

    # -- topics ------------------------------------------------------------------------------

    def _publish(self) -> None:
        self._states = self.create_publisher(JointState, "joint_states", LATEST)
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self._linear = self.create_publisher(String, "linear_model", LATCHED)
        self._markers = self.create_publisher(MarkerArray, "markers", LATEST)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        if self.settings.publish_clock:
            self._clock_publisher = self.create_publisher(Clock, "/clock", LATEST)
        self._description.publish(String(data=urdf(self.simulation.mechanism, self.simulation.tree)))
        self._shapes: Markers | None = None
        self._state = JointState()

    def _listen(self) -> None:
        quality = EVERY if self.mode == LOCK_STEP else LATEST
        self.create_subscription(Float64MultiArray, "commands", self._on_commands, quality)
        self.create_subscription(JointState, "joint_commands", self._on_joint_commands, quality)
        self.create_subscription(JointTrajectory, "joint_trajectory", self._on_trajectory, LATEST)
        jobs = {"reset": self._reset, "step": self._step, "linearize": self._linearize}
        jobs |= {"save_state": self._save, "restore_state": self._restore}
        for name, job in jobs.items():
            self.create_service(Trigger, name, self._service(job))
        self.create_service(SetBool, "pause", self._on_pause)

    def _on_commands(self, message: Float64MultiArray) -> None:
        self._take("commands", lambda: self.loop.commands.from_vector(message.data))

    def _on_joint_commands(self, message: JointState) -> None:
        commands, known = self.loop.commands, self.loop.values.names
        self._take(
            "joint_commands", lambda: commands.from_names(message.name, message.effort.tolist(), known)
        )

    def _take(self, topic: str, read: Callable[[], np.ndarray]) -> None:
        """Torques from a message; in lock-step they also make one period pass."""
        loop = self.loop
        try:
            torques = loop.commands.accept(read())
        except Refused as problem:
            loop.commands.refused += 1
            self.warn(topic, f"command refused: {problem}")
            return
        loop.follower = None
        if self.mode == LOCK_STEP:
            loop.ask(lambda: loop.advance(torques))

    def _on_trajectory(self, message: JointTrajectory) -> None:
        points, loop = [], self.loop
        for p in message.points:
            at = p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec
            points.append(Point(at, p.positions, p.velocities, p.accelerations, p.effort))

        def follow() -> None:
            loop.commands.clear()
            loop.follower = None if not points else Follower(self.simulation, message.joint_names, points)

        def complain(done: Any) -> None:
            if done.exception() is not None:
                loop.commands.refused += 1
                self.warn("joint_trajectory", f"trajectory refused: {done.exception()}")

        loop.ask(follow).add_done_callback(complain)

    # -- services ----------------------------------------------------------------------------

    def _service(self, job: Callable[[], str]) -> Callable[[Any, Any], Any]:
        """A Trigger service that does its job between two periods and says how it went."""

        def answer(request: Any, response: Any) -> Any:
            try:
                response.message, response.success = self.loop.ask(job).result(PATIENCE), True
            except CutjointError as problem:
                response.message, response.success = str(problem), False
            except Exception as problem:  # a service must answer, and the node must live
                response.message, response.success = f"{type(problem).__name__}: {problem}", False
                self.get_logger().error(f"service failed: {response.message}")
            return response

        return answer

    def _reset(self) -> str:
        self._to(self.simulation.reset)
        return "at the start"

    def _save(self) -> str:
        self._saved = self.simulation.state
        return f"saved at {self.loop.time:.6f} s"

    def _restore(self) -> str:
        saved = self._saved
        if saved is None:
            raise CutjointError("nothing is saved; call 'save_state' first")
        self._to(lambda: self.simulation.put(saved))
        return f"back at {self.loop.time:.6f} s"

    def _to(self, change: Callable[[], None]) -> None:
        change()
        self.loop.follower, self.loop.fault = None, ""
        self.loop.commands.clear()
        self.loop.show()

    def _step(self) -> str:
        if self.mode not in (PAUSED, LOCK_STEP):
            raise CutjointError(f"time runs by itself in mode {self.mode}; call 'pause' first")
        if self.loop.fault:
            raise CutjointError(self.loop.fault)
        self.loop.advance()
        if self.loop.fault:
            raise CutjointError(self.loop.fault)
        return f"at {self.loop.time:.6f} s"

    def _linearize(self) -> str:
        model = self.simulation.linearize()
        message = {"time": self.loop.time, "mechanism": self.simulation.mechanism.name, **model.as_dict()}
        self._linear.publish(String(data=json.dumps(message)))
        return f"published on linear_model, {np.shape(model.A)[0]} states"

    def _on_pause(self, request: Any, response: Any) -> Any:
        """Pause (data true) or run on; running on goes to the mode there was before."""

        def pause() -> str:
            if self.mode == LOCK_STEP:
                raise CutjointError("lock-step waits for commands anyway")
            if request.data and self.mode != PAUSED:
                self._running, self.settings.mode = self.mode, PAUSED
            elif not request.data and self.mode == PAUSED:
                if self.loop.fault:
                    raise CutjointError(self.loop.fault)
                self.settings.mode = getattr(self, "_running", REAL_TIME)
            return self.mode

        return self._service(pause)(request, response)

    # -- what the loop tells (called by its thread) --------------------------------------------

    def _simulated(self) -> Any:
        return Time(nanoseconds=round(self.loop.time * 1e9)).to_msg()

    def _stamp(self) -> Any:
        """Simulated time if it is not tied to the wall clock's pace or /clock tells it to all."""
        told = self.settings.publish_clock or self.mode != REAL_TIME
        return self._simulated() if told else self.get_clock().now().to_msg()

    def joint_states(self, loop: Loop) -> None:
        message = self._state
        if not message.name:
            message.name = list(loop.values.names)
        message.header.stamp = self._stamp()
        for what in ("position", "velocity", "effort"):
            setattr(message, what, array("d", getattr(loop.values, what).tobytes()))
        self._states.publish(message)

    def clock(self, loop: Loop) -> None:
        self._clock_publisher.publish(Clock(clock=self._simulated()))

    def markers(self, loop: Loop) -> None:
        if self._markers.get_subscription_count():
            if self._shapes is None:
                self._shapes = Markers(self.simulation)
            self._markers.publish(self._shapes.update(self._stamp()))

    def diagnostics(self, loop: Loop) -> None:
        level, text, values = self.health.look(loop)
        status = DiagnosticStatus(
            level=bytes([level]),
            name=f"{self.get_fully_qualified_name()}: simulation",
            message=text,
            hardware_id=self.simulation.mechanism.name,
            values=[KeyValue(key=k, value=str(v)) for k, v in values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def warn(self, topic: str, text: str) -> None:
        """A warning, at most one of a kind every few seconds."""
        now = time.monotonic()
        if now - self._warned.get(topic, -QUIET) >= QUIET:
            self._warned[topic] = now
            self.get_logger().warning(f"{topic}: {text}")
