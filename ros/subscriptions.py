"""What others tell the mechanism: forces, positions, velocities, trajectories, an external wrench."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ..model.chain.target import described_target
from ..model.control.computed_torque import Wanted
from ..model.describe.targets import NamedTarget
from .loop import Loop
from .motor_commands import INTERFACES, STOPPED, Refused
from .settings import FOLLOW_CLOCK, LOCK_STEP, REAL_TIME
from .trajectory_interpolation import AcceptedTrajectory, Point

LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)  # hears every kind of publisher
EVERY = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)  # lock-step loses no command
ANY = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
STOP = "emergency_stop"  # heard also while the node is not active
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
        self._hear(Bool, STOP, self._on_stop, LATEST)
        targets = loop.simulation.mechanism.targets
        for target in targets:
            topic = "target_pose" if len(targets) == 1 else f"{target.name}/target_pose"
            self._hear(PoseStamped, topic, partial(self._on_pose, topic, target), LATEST)
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
                self._count("lost", lost)
                node.warn(f"{topic} lost", f"{lost} commands came faster than they could be obeyed")
            last = number
            if self.loop.active or topic == STOP:
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
        self._count("refused")
        self.node.warn(topic, text)

    def _count(self, what: str, more: int = 1) -> None:
        """In the loop's thread, which counts as well."""
        commands = self.loop.commands
        self.loop.ask(lambda: setattr(commands, what, getattr(commands, what) + more))

    def _on_commands(self, message: Float64MultiArray) -> None:
        kind = INTERFACES[self.loop.settings.command_interface]
        self._take("commands", lambda: self.loop.commands.from_vector(message.data, kind))

    def _on_joint_commands(self, message: JointState) -> None:
        commands, known = self.loop.commands, self.loop.values.names
        effort, position, velocity = (list(x) for x in (message.effort, message.position, message.velocity))
        stamp = self._stamp(message)

        now = self._now

        def read() -> Wanted | None:
            commands.in_time(message.name, stamp, now, self.loop.settings.mode in PACED)
            told = commands.from_names(message.name, effort, known, position, velocity)
            if told is not None:
                commands.stamped(message.name, stamp)
            return told

        self._take("joint_commands", read)

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

    def _take(self, topic: str, read: Callable[[], Wanted | None]) -> None:
        """Have the loop obey a message; in lock-step it also makes one period pass."""
        loop, now = self.loop, time.monotonic()

        def obey() -> None:
            told = None
            try:
                told = read()
                if told is None:  # all of it NaN: a controller that is not active yet
                    return
                loop.obey(told, now)
            except Refused as problem:
                loop.commands.refused += 1
                self.node.warn(topic, f"command refused: {problem}")
                if not loop.stopped:
                    return
            if loop.settings.mode == LOCK_STEP:  # what is obeyed now is not old, however long it waited
                loop.advance(None if loop.stopped else told)

        loop.ask(obey)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        self.follow(message).add_done_callback(partial(self._complain, "joint_trajectory", "trajectory"))

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

        def begin() -> AcceptedTrajectory:
            if not loop.active:
                raise Refused("the node is not active")
            if loop.stopped:
                raise Refused(STOPPED)
            if loop.settings.command_stamps:
                loop.commands.in_time(message.joint_names, stamp, now, paced=False)
            return loop.trajectories.take(message.joint_names, points, at)

        return loop.ask(begin)

    def _on_pose(self, topic: str, target: NamedTarget, message: PoseStamped) -> None:
        """Where the frame of a target shall come to rest, as its base sees it."""
        loop, prefix = self.loop, self.loop.settings.frame_prefix
        p, o, frame = message.pose.position, message.pose.orientation, message.header.frame_id
        if frame not in ("", prefix + target.base):
            text = f"its frame_id must be '{prefix}{target.base}' or empty, not '{frame}'"
            self._refuse(topic, f"target refused: {text}")
            return
        wanted = described_target(target, (p.x, p.y, p.z), (o.w, o.x, o.y, o.z))

        def begin() -> AcceptedTrajectory:
            if loop.stopped:
                raise Refused(STOPPED)
            return loop.trajectories.take_pose(wanted)

        loop.ask(begin).add_done_callback(partial(self._complain, topic, "target"))

    def _complain(self, topic: str, what: str, done: Any) -> None:
        """Of what was asked for, and can't be done."""
        if done.exception() is not None:
            self._refuse(topic, f"{what} refused: {done.exception()}")

    def _on_stop(self, message: Bool) -> None:
        """Whoever repeats it is not answered each time."""
        loop = self.loop
        loop.ask(lambda: loop.emergency_stop(message.data) if message.data != loop.stopped else None)

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

        told = loop.ask(lambda: loop.set_parameters(values))
        told.add_done_callback(partial(self._complain, "wrench", "wrench"))

    def _on_clock(self, message: Clock) -> None:
        self.loop.clock_time = message.clock.sec * 10**9 + message.clock.nanosec
