"""Measurements that were chosen: poses, twists, transforms, reactions, inertial sensors, any output."""

import json
import re
from array import array
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TransformStamped, TwistStamped, WrenchStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray, String

from ..model.base.errors import UnknownName
from ..model.control.frame_readings import Measured, Place, Reaction, moving
from ..model.describe.mechanism import GROUND
from .settings import SettingError

try:  # in every ROS installation, but not among the wheels
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
MANY = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
WORLD = "world"


class Measurements:
    """Publishes what the settings chose, beside the joint states; nothing if nothing was chosen."""

    def __init__(self, telling: Any):
        self.telling, loop = telling, telling.loop
        simulation, settings = loop.simulation, loop.settings
        self.simulation, self.prefix = simulation, settings.frame_prefix
        places = moving(simulation.mechanism)
        joints = [j.name for j in simulation.mechanism.joints]
        publisher = telling.publisher
        self._topics: set[str] = set()
        try:
            self._poses = []
            for n in chosen(places, settings.poses):
                pose = self._filled(PoseStamped, f"pose/{topic(n)}", GROUND)
                twist = self._filled(TwistStamped, f"twist/{topic(n)}", GROUND)
                self._poses.append((Place(simulation, n), pose, twist))
            self._imus: list[tuple[Measured | Place, Any]] = []
            self._wrenches: list[tuple[Measured | Reaction, Any]] = []
            for sensor in (s for s in simulation.mechanism.sensors if s.type in ("imu", "wrench")):
                cell = Measured(simulation, sensor)
                if sensor.type == "imu":
                    self._imus.append((cell, self._filled(Imu, f"imu/{topic(sensor.name)}", cell.frame)))
                else:
                    filled = self._filled(WrenchStamped, f"reaction/{topic(sensor.name)}", cell.frame)
                    self._wrenches.append((cell, filled))
            for n in chosen(places, settings.imus):
                place = Place(simulation, n)
                self._imus.append((place, self._filled(Imu, f"imu/{topic(n)}", place.name)))
            for n in chosen(joints, settings.reactions):
                reaction = Reaction(simulation, n)
                self._wrenches.append(
                    (reaction, self._filled(WrenchStamped, f"reaction/{topic(n)}", reaction.body))
                )
            frames = [Place(simulation, n) for n in chosen(places, settings.tf)]
            self._columns = simulation.variables().outputs.columns(settings.outputs)
        except UnknownName as problem:
            raise SettingError(str(problem)) from None
        self._rows = np.array([c.where.start for c in self._columns], int)
        self._frames = self._transforms(frames)
        self._any = bool(self._poses or self._imus or self._wrenches or self._frames or self._columns)
        if self._columns:
            self._outputs = publisher(Float64MultiArray, "outputs")
            names = publisher(String, "output_names", LATCHED)
            table = [{"name": c.name, "unit": c.unit, "about": c.about} for c in self._columns]
            names.publish(String(data=json.dumps(table)))

    def _transforms(self, frames: list[Place]) -> list[Place]:
        """Publishers of /tf and /tf_static, where their messages are installed."""
        settings = self.telling.loop.settings
        if not frames and not settings.placed_at:
            return []
        if TFMessage is None:
            self.telling.node.get_logger().warning(
                "tf2_msgs is not installed, so no transforms are published; robot_state_publisher makes them"
                " from joint_states and robot_description"
            )
            return []
        self._tf = self.telling.publisher(TFMessage, "/tf", MANY)
        if settings.placed_at:
            x, y, z, roll, pitch, yaw = settings.placed_at
            ex, ey, ez, ew = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_quat().tolist()
            still = self._transform(WORLD, self.prefix + GROUND, (x, y, z), (ew, ex, ey, ez))
            still.header.stamp = self.telling.stamp()
            self._still = self.telling.publisher(TFMessage, "/tf_static", LATCHED)
            self._still.publish(TFMessage(transforms=[still]))
        ground, still = self.prefix + GROUND, ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
        made = [self._transform(ground, self.prefix + place.name, *still) for place in frames]
        self._moving = TFMessage(transforms=made)
        return frames

    def _transform(
        self, parent: str, child: str, p: Sequence[float], turn: Sequence[float]
    ) -> TransformStamped:
        message = TransformStamped(child_frame_id=child)
        message.header.frame_id = parent
        _vector(message.transform.translation, p)
        _quaternion(message.transform.rotation, turn)
        return message

    def publish(self, stamp: Any) -> None:
        """All of it for the present state; messages are filled again and again."""
        if not self._any:
            return
        y = self.simulation.output_vector()
        for place, (poses, pose), (twists, twist) in self._poses:
            at = place.read(y)
            pose.header.stamp = twist.header.stamp = stamp
            _vector(pose.pose.position, at.position)
            _quaternion(pose.pose.orientation, at.orientation)
            _vector(twist.twist.linear, at.velocity)
            _vector(twist.twist.angular, at.angular_velocity)
            poses.publish(pose)
            twists.publish(twist)
        for sensor, (imus, imu) in self._imus:
            turn, rate, force = sensor.felt(y)
            imu.header.stamp = stamp
            _quaternion(imu.orientation, turn)
            _vector(imu.angular_velocity, rate)
            _vector(imu.linear_acceleration, force)
            imus.publish(imu)
        for reaction, (wrenches, wrench) in self._wrenches:
            force, torque = reaction.read(y)
            wrench.header.stamp = stamp
            _vector(wrench.wrench.force, force)
            _vector(wrench.wrench.torque, torque)
            wrenches.publish(wrench)
        if self._frames:
            for place, transform in zip(self._frames, self._moving.transforms, strict=True):
                at = place.read(y)
                transform.header.stamp = stamp
                _vector(transform.transform.translation, at.position)
                _quaternion(transform.transform.rotation, at.orientation)
            self._tf.publish(self._moving)
        if self._columns:
            told = self._rows.max() < len(y)  # singular values are sought beside them
            values = y[self._rows] if told else self.simulation.read(self._rows)
            self._outputs.publish(Float64MultiArray(data=array("d", values.tobytes())))

    def _filled(self, kind: Any, name: str, frame: str) -> tuple[Any, Any]:
        """A publisher, and the message that it sends."""
        if name in self._topics:
            raise SettingError(
                f"two things would be published on '{name}', by a sensor or by a similar name; "
                "leave one of them out"
            )
        self._topics.add(name)
        message = kind()
        message.header.frame_id = self.prefix + frame
        return self.telling.publisher(kind, name), message


def chosen(names: list[str], patterns: Any) -> list[str]:
    """Names that fit any pattern, each once; a pattern that fits none stays, so that somebody complains."""
    found = dict.fromkeys(name for p in patterns for name in ([n for n in names if fnmatchcase(n, p)] or [p]))
    return list(found)


def topic(name: str) -> str:
    """A name as part of a topic's."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if not plain[0].isdigit() else f"_{plain}"


def _vector(message: Any, values: Sequence[float]) -> None:
    message.x, message.y, message.z = values


def _quaternion(message: Any, turn: Sequence[float]) -> None:
    message.w, message.x, message.y, message.z = turn
