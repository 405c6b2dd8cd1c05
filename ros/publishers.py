"""What the node tells others: joint states, clock, diagnostics, markers, and what else was chosen."""

import time
from array import array
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from ..model.urdf.write_urdf import urdf
from .diagnostics import Health
from .loop import Loop
from .markers import Markers
from .measurements import Measurements
from .record import McapRecorder
from .settings import LOCK_STEP, SettingError

LISTENER = 2.0  # seconds that lock-step's first answer waits for someone who hears it
APART = 10**8  # nanoseconds: two clocks that differ by less are not told apart
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)


class Publishers:
    """Publishers of a node: the loop's outlet. All that is published is also recorded, if that is wanted."""

    def __init__(self, node: Any, loop: Loop):
        self.node, self.loop, self.health = node, loop, Health(loop)
        settings = loop.settings
        self.recorder: McapRecorder | None = None
        if settings.record:
            say = node.get_logger().error
            self.recorder = McapRecorder(settings.record, loop, self._clock_of_stamps(), say)
        self._states = self.publisher(JointState, "joint_states")
        self._description = self.publisher(String, "robot_description", LATCHED)
        self.linear = self.publisher(String, "linear_model", LATCHED)
        self._markers = self.publisher(MarkerArray, "markers")
        self._diagnostics = self.publisher(DiagnosticArray, "/diagnostics", QoSProfile(depth=10))
        self._clock = self.publisher(Clock, "/clock") if settings.publish_clock else None
        simulation = loop.simulation
        self._description.publish(String(data=urdf(simulation.mechanism)))
        self._shapes: Markers | None = None
        self._shown: list[Any] | None = None  # of /clock, while two nodes publish it
        self._state = JointState(name=list(loop.values.names))
        self._asked = False  # whether lock-step has answered
        self._measured = Measurements(self)

    def publisher(self, kind: Any, topic: str, quality: QoSProfile = LATEST) -> Any:
        """A publisher whose messages are recorded as well."""
        made = self.node.create_publisher(kind, topic, quality)
        return (
            made if self.recorder is None else _Recorded(made, self.recorder.channel(kind, made.topic_name))
        )

    # -- what the loop calls -------------------------------------------------------------------

    def joint_states(self, loop: Loop) -> None:
        message, stamp = self._state, self.stamp()
        message.header.stamp = stamp
        values = loop.values
        message.position = array("d", values.position.tobytes())
        message.velocity = array("d", values.velocity.tobytes())
        message.effort = array("d", values.effort.tobytes())
        if loop.periods and not self._asked and loop.settings.mode == LOCK_STEP:
            self._asked = True
            self._await_listener()
        self._states.publish(message)
        self._measured.publish(stamp)

    def _await_listener(self) -> None:
        """Whoever sent the first command may not be known to listen yet, and would wait for ever."""
        end = time.monotonic() + LISTENER
        while not self._states.get_subscription_count() and time.monotonic() < end:
            time.sleep(0.001)

    def period(self, loop: Loop) -> None:
        if self.recorder is not None:
            self.recorder.inputs(loop)

    def began(self, loop: Loop) -> None:
        self.changed(loop)
        self.node.show_own()

    def changed(self, loop: Loop) -> None:
        if self.recorder is not None:
            self.recorder.state(loop)

    def clock(self, loop: Loop) -> None:
        if self._clock is not None:
            self._clock.publish(Clock(clock=self._simulated()))

    def markers(self, loop: Loop) -> None:
        if self._markers.get_subscription_count():
            if self._shapes is None:
                self._shapes = Markers(loop.simulation, loop.settings.frame_prefix)
            self._markers.publish(self._shapes.update(self.stamp()))

    def diagnostics(self, loop: Loop) -> None:
        """One status, named and laid out as those of diagnostic_updater."""
        self.give_way()
        level, text, values = self.health.look(loop)
        status = DiagnosticStatus(
            level=bytes([level]),
            name=f"{self.node.get_fully_qualified_name()}: simulation",
            message=text,
            hardware_id=loop.simulation.mechanism.name,
            values=[KeyValue(key=k, value=str(v)) for k, v in values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.node.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def mode_changed(self, loop: Loop) -> None:
        self.node.show_mode()

    def warn(self, topic: str, text: str) -> None:
        self.node.warn(topic, text)

    # -- time ------------------------------------------------------------------------------------

    def _simulated(self) -> Any:
        return Time(nanoseconds=self.loop.nanoseconds).to_msg()

    def stamp(self) -> Any:
        return self._simulated() if self.node.stamps_simulated else self.node.get_clock().now().to_msg()

    def _clock_of_stamps(self) -> Callable[[], int]:
        """Nanoseconds by the clock that messages are stamped with in the mode there is."""
        if self.node.stamps_simulated:
            return lambda: self.loop.nanoseconds
        return lambda: int(self.node.get_clock().now().nanoseconds)

    def give_way(self) -> None:
        """One clock is enough: another one that shows a later time was there before, and this node ends."""
        if self._clock is None or self.node.count_publishers("/clock") < 2:
            return
        if self._shown is None:  # listen for a while
            self._shown = []
            self.node.create_subscription(Clock, "/clock", self._shown.append, 10)
            return
        latest = max((c.clock.sec * 10**9 + c.clock.nanosec for c in self._shown), default=0)
        self._shown.clear()
        found = self.node.get_publishers_info_by_topic("/clock")
        others = [e for e in found if (e.node_namespace, e.node_name) != self.node.home]
        who = called(others[0]) if others else SOMEBODY
        if latest > self.loop.nanoseconds + APART:
            self.node.end(SettingError(second_clock(who)))
        else:
            self.warn("clock", f"{who} publishes /clock as well; there can be only one")

    def close(self) -> None:
        if self.recorder is not None:
            self.recorder.close()


class _Recorded:
    """A publisher that writes down what it publishes; both take the same bytes."""

    def __init__(self, made: Any, write: Callable[[bytes], None]):
        self.made, self._write = made, write
        self.get_subscription_count = made.get_subscription_count

    def publish(self, message: Any) -> None:
        data = serialize_message(message)
        self.made.publish(data)
        self._write(data)


SOMEBODY = "another node"


def called(endpoint: Any) -> str:
    """The node that an endpoint belongs to; its topics may be heard of before its name is."""
    if "UNKNOWN" in endpoint.node_name:
        return SOMEBODY
    return f"{endpoint.node_namespace.rstrip('/')}/{endpoint.node_name}"


def second_clock(who: str) -> str:
    return (
        f"{who} publishes /clock already, and there can be only one; "
        "leave publish_clock out, or follow it with mode:=follow_clock"
    )
