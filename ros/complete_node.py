"""All joints of a real robot from those that it measures: encoders in, whole joint states out.

The loops say where the passive joints are (`Chain.complete`), each time from the pose before, so that no
branch is left in silence. What does not determine the pose, or contradicts the loops, is said, and nothing
is published.
"""

import math
import time
from array import array
from collections.abc import Sequence
from typing import Any

from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ..model.base.errors import CutjointError
from ..model.base.posix_signals import stop_on_signal
from ..model.chain.chain import Chain
from ..model.chain.rows import measured_names
from ..model.control.joint_values import JointValues
from ..model.describe.mechanism import Mechanism
from ..model.describe.validation import nearest
from ..model.simulation import Simulation
from ..model.urdf.write_urdf import urdf
from .node import QUIET
from .publishers import LATCHED
from .start_node import let_go, log_folder, ros

NAME = "cutjoint_complete"
MEASURED, WHOLE = "measured_joint_states", "joint_states"
HEARD = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)  # the newest, of any publisher


class Completion:
    """Measured joints of a message as values of all joints; the state stays the last good one."""

    def __init__(self, mechanism: Mechanism):
        self.simulation = Simulation(mechanism)
        self.chain = Chain(self.simulation)
        self.coordinates = measured_names(mechanism)
        self.values = JointValues(self.simulation)
        self.tells_speeds = False  # whether speeds belong to the positions

    def complete(
        self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float] = ()
    ) -> JointValues:
        """All joints; speeds are told where those of all that is measured are."""
        rows = self._rows(names)
        for what, values in (("positions", positions), ("velocities", velocities)):
            if len(values) != len(names) and (len(values) or what == "positions"):
                raise CutjointError(f"{len(values)} {what} for {len(names)} names")
        measured = _told(rows, positions)
        rates = _told(rows, velocities) if len(velocities) else {}
        self.tells_speeds = rates.keys() == measured.keys()
        known = rates if self.tells_speeds else None
        found = self.chain.complete(measured, rates=known, start=self.simulation.state)
        self.simulation.put(found.state)
        self.values.read()
        return self.values

    def _rows(self, names: Sequence[str]) -> list[str]:
        for name in names:
            if name not in self.coordinates:
                raise CutjointError(
                    f"there is no joint '{name}' to measure; {nearest(name, self.coordinates)}"
                )
        return [self.coordinates[name] for name in names]


def _told(rows: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """By row; NaN says nothing."""
    return {row: x for row, x in zip(rows, values, strict=True) if not math.isnan(x)}


class CompleteNode(Node):
    """Hears what is measured, and publishes the whole."""

    def __init__(self, completion: Completion):
        super().__init__(NAME)
        self.completion = completion
        self.said = -QUIET  # steady time of the last warning
        self.create_publisher(String, "robot_description", LATCHED).publish(
            String(data=urdf(completion.simulation.mechanism))
        )
        self.states = self.create_publisher(JointState, WHOLE, 10)
        self.create_subscription(JointState, MEASURED, self.hear, HEARD)
        measurable = ", ".join(completion.coordinates)
        self.get_logger().info(f"hears {MEASURED}, publishes {WHOLE}; may be measured: {measurable}")

    def hear(self, message: JointState) -> None:
        try:
            values = self.completion.complete(message.name, message.position, message.velocity)
        except CutjointError as problem:
            now = time.monotonic()
            if now - self.said >= QUIET:
                self.said = now
                self.get_logger().warning(f"nothing published: {problem}")
            return
        whole = JointState(name=list(values.names), position=array("d", values.position.tobytes()))
        if self.completion.tells_speeds:
            whole.velocity = array("d", values.velocity.tobytes())
        whole.header = message.header
        self.states.publish(whole)


def run(mechanism: Mechanism, ros_arguments: Sequence[str], failed: int) -> int:
    """Run until SIGINT or SIGTERM and return 0."""
    completion = Completion(mechanism)
    with log_folder(), stop_on_signal() as stop, let_go(failed) as end, ros(ros_arguments):
        node: Any = CompleteNode(completion)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        try:
            while not stop.is_set():
                executor.spin_once(timeout_sec=0.1)
        except ExternalShutdownException:
            return 0
        finally:
            end(None)
            executor.shutdown(timeout_sec=1.0)
            node.destroy_node()
    return 0
