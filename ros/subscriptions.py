"""What others tell the mechanism: forces, positions, velocities, trajectories, an external wrench."""

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ..model.run.drives import Wanted
from .follow import Course, Point
from .loop import Loop
from .motor_commands import INTERFACES, Refused
from .settings import FOLLOW_CLOCK, LOCK_STEP, REAL_TIME

LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)  # hears every kind of publisher
EVERY = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)  # lock-step loses no command
ANY = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
PACED = (REAL_TIME, FOLLOW_CLOCK)  # modes in which a command's age can be told


class Orders:
    """Subscriptions of a node; what they bring goes to the loop."""

    def __init__(self, node: Any, loop: Loop):
        self.node, self.loop = node, loop
        lock_step = loop.settings.mode == LOCK_STEP
        quality = EVERY if lock_step else NEWEST
        self._hear(Float64MultiArray, "commands", self._on_commands, quality)
        self._hear(JointState, "joint_commands", self._on_joint_commands, quality)
        self._hear(JointTrajectory, "joint_trajectory", self._on_trajectory, LATEST)
        if loop.settings.wrench_on:
            self._hear(WrenchStamped, "wrench", self._on_wrench, NEWEST)
        if loop.settings.mode == FOLLOW_CLOCK:
            node.create_subscription(Clock, "/clock", self._on_clock, NEWEST)

    def _hear(self, kind: Any, topic: str, take: Callable[[Any], None], quality: QoSProfile) -> None:
        """Subscribe; where messages must not get lost, reliably, until a publisher can't do that.

        Publishers number their messages: what lock-step can't keep up with is counted.
        """
        node, counts, last = self.node, quality is EVERY, 0

        def heard(message: Any, info: dict[str, Any]) -> None:
            nonlocal last
            number = info.get("publication_sequence_number") or 0
            if counts and 0 < last < number - 1 and node.count_publishers(topic) == 1:
                lost = number - last - 1
                self.loop.commands.lost += lost
                node.warn(f"{topic} lost", f"{lost} commands came faster than they could be obeyed")
            last = number
            if self.loop.active:
                take(message)
            else:
                self._refuse(topic, "command refused: the node is not active")

        def unreliable(_: Any) -> None:
            node.get_logger().info(f"{topic}: a publisher is best-effort, so what it sends may get lost")
            node.destroy_subscription(subscription)
            node.create_subscription(kind, topic, heard, ANY if counts else NEWEST)

        events = SubscriptionEventCallbacks(incompatible_qos=unreliable)
        subscription = node.create_subscription(kind, topic, heard, quality, event_callbacks=events)

    def _refuse(self, topic: str, text: str) -> None:
        self.loop.commands.refused += 1
        self.node.warn(topic, text)

    def _on_commands(self, message: Float64MultiArray) -> None:
        kind = INTERFACES[self.loop.settings.command_interface]
        self._take("commands", lambda: self.loop.commands.from_vector(message.data, kind))

    def _on_joint_commands(self, message: JointState) -> None:
        commands, known = self.loop.commands, self.loop.values.names
        effort, position, velocity = (list(x) for x in (message.effort, message.position, message.velocity))
        stamp = self._stamp(message)

        def read() -> Wanted | None:
            commands.in_time(message.name, stamp, self._now, self.loop.settings.mode in PACED)
            return commands.from_names(message.name, effort, known, position, velocity)

        if self._take("joint_commands", read):
            commands.stamped(message.name, stamp)

    def _stamp(self, message: Any) -> int:
        """When a message was made, nanoseconds; 0 if that is not said, or is not to count."""
        counts = self.loop.settings.command_stamps
        return int(Time.from_msg(message.header.stamp).nanoseconds) if counts else 0

    @property
    def _now(self) -> int:
        """By the clock that messages are stamped with."""
        if self.node.stamps_simulated:
            return self.loop.nanoseconds
        return int(self.node.get_clock().now().nanoseconds)

    def _take(self, topic: str, read: Callable[[], Wanted | None]) -> bool:
        """Orders from a message, whether they are obeyed; in lock-step they also make one period pass."""
        loop = self.loop
        try:
            told = read()
        except Refused as problem:
            self._refuse(topic, f"command refused: {problem}")
            return False
        if told is None:  # all of it NaN: a controller that is not active yet
            return False
        orders = loop.commands.accept(told)
        loop.follower = None
        if loop.settings.mode == LOCK_STEP:
            loop.ask(lambda: loop.advance(orders))
        return True

    def _on_trajectory(self, message: JointTrajectory) -> None:
        def complain(done: Any) -> None:
            if done.exception() is not None:
                self._refuse("joint_trajectory", f"trajectory refused: {done.exception()}")

        self.follow(message).add_done_callback(complain)

    def follow(self, message: JointTrajectory) -> Any:
        """Have a trajectory followed; the future says when it was taken, or why it was refused."""
        loop, points = self.loop, []
        for p in message.points:
            after = p.time_from_start.sec + p.time_from_start.nanosec / 10**9
            points.append(Point(after, p.positions, p.velocities, p.accelerations, p.effort))
        stamp, now = Time.from_msg(message.header.stamp).nanoseconds, self._now
        at = None
        if stamp:
            at = stamp / 10**9 if self.node.stamps_simulated else loop.time + (stamp - now) / 10**9

        def begin() -> Course:
            if not loop.active:
                raise Refused("the node is not active")
            if loop.settings.command_stamps:
                loop.commands.in_time(message.joint_names, stamp, now, paced=False)
            return loop.follow(message.joint_names, points, at)

        return loop.ask(begin)

    def _on_wrench(self, message: WrenchStamped) -> None:
        """A force and torque on the chosen body or frame, in its axes and at its origin."""
        prefix, loop = self.loop.settings.frame_prefix, self.loop
        place = loop.settings.wrench_on
        w, frame = message.wrench, message.header.frame_id.removeprefix(prefix)
        if frame not in ("", place):
            self._refuse("wrench", f"its frame_id must be '{prefix}{place}' or empty, not '{frame}'")
            return
        push = loop.push
        assert push is not None
        values = push.values(*([x.x, x.y, x.z] for x in (w.force, w.torque)))

        def complain(done: Any) -> None:
            if done.exception() is not None:
                self._refuse("wrench", f"wrench refused: {done.exception()}")

        loop.ask(lambda: loop.set_parameters(values)).add_done_callback(complain)

    def _on_clock(self, message: Clock) -> None:
        self.loop.clock_time = message.clock.sec * 10**9 + message.clock.nanosec
