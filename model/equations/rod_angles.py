"""Rods without mass (distance joints) as two turns each, so that a viewer of joint values can draw them.

A rod hangs on its parent at a point and aims at a point of its child. Its direction in the
parent's axes is Rz(yaw) Ry(pitch) x̂; where it stands upright, yaw stays where it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from ..describe.mechanism import Joint
from ..joints.angles import aim, yaw_rate
from ..joints.rigid_motion import rotation, vector


class BodyMotion(NamedTuple):
    """Position, orientation (w, x, y, z), velocity and angular velocity of a body, in world axes."""

    position: Any
    orientation: Any
    velocity: Any
    angular_velocity: Any

    def end(self, place: Any) -> tuple[Any, Any]:
        """Where a point of the body is, and its velocity."""
        arm = rotation(self.orientation) @ vector(place)
        return self.position + arm, self.velocity + ca.cross(self.angular_velocity, arm)


STILL = BodyMotion(ca.SX.zeros(3, 1), ca.SX([1, 0, 0, 0]), ca.SX.zeros(3, 1), ca.SX.zeros(3, 1))


def rod_angles(
    rod: Joint, parent: BodyMotion, child: BodyMotion, near: list[Any]
) -> tuple[list[Any], list[Any]]:
    """(yaw, pitch) of a rod, those nearest to `near`, and their rates."""
    (a, va), (b, vb) = parent.end(rod.on_parent.position), child.end(rod.on_child.position)
    back = rotation(parent.orientation).T
    d, rate = b - a, vb - va - ca.cross(parent.angular_velocity, b - a)
    length = ca.norm_2(d)
    x, y, z = ca.vertsplit(back @ d / length)
    dx, dy, dz = ca.vertsplit(back @ rate / length)
    yaw, pitch, c, s = aim(x, y, z, near)
    across, along, flat = c * dy - s * dx, c * dx + s * dy, ca.cos(pitch)
    return [yaw, pitch], [yaw_rate(across, flat), -ca.sin(pitch) * along - flat * dz]
