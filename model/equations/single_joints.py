"""Every joint as a chain of joints with one coordinate each, as URDF and ROS joint states want them.

A ball becomes three turns about z, y and x of the moving frame (yaw, pitch, roll), a screw a turn
and a slide, a rod without mass two turns (`rod_angles.py`). The angles of a ball follow its motion
without jumps; at a pitch of 90°, where yaw and roll turn about the same line, yaw stays where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import casadi as ca

from ..describe.mechanism import GROUND, Joint
from ..joints.types import MOVES, TYPES
from .forces import saturated
from .outputs import readings
from .rod_angles import STILL, BodyMotion, choose, nearest, rod_angles
from .terms import Equations

GIMBAL = 1e-7  # cosine of the pitch below which yaw is kept
SINGLE = {"Q": ("Rz", "Ry", "Rx"), "Hz": ("Rz", "Pz")}


@dataclass(frozen=True)
class SingleJoint:
    """One turn or slide of a described joint: `move` is an entry of joints.MOVES."""

    name: str
    move: str
    joint: str


def chain(joint: Joint) -> tuple[SingleJoint, ...]:
    """The joints with one coordinate that make up a joint, in the order of its moves.

    A joint with one freedom keeps its name (a screw's slide ends in `_z`); the parts of others
    end in what they do, such as `ball1_rx` or `slider_z`.
    """
    moves = ("Rz", "Ry") if joint.type == "distance" else TYPES[joint.type].moves or ()
    single = [part for move in moves for part in SINGLE.get(move, (move,))]
    names = [f"{joint.name}_{MOVES[part][0][0]}" for part in single]
    if TYPES[joint.type].nv == 1:
        names[0] = joint.name
    return tuple(SingleJoint(n, m, joint.name) for n, m in zip(names, single, strict=True))


def movable(eq: Equations) -> tuple[list[Joint], list[Joint]]:
    """Joints with coordinates, and rods, in the order of the description.

    A free joint inside a loop says nothing and has none.
    """
    joints = eq.mechanism.joints
    plain = [j for j in joints if TYPES[j.type].moves and (j.name in eq.tree.q or TYPES[j.type].locks)]
    return plain, [j for j in joints if j.type == "distance"]


def single_joints(eq: Equations) -> tuple[SingleJoint, ...]:
    """Of all joints with coordinates; rods come last."""
    plain, rods = movable(eq)
    return tuple(part for joint in [*plain, *rods] for part in chain(joint))


def joint_values(eq: Equations) -> ca.Function:
    """(q, v, u, p, near) → positions, speeds and motor torques of all single joints.

    Angles that a turn, or half a turn, leaves open are the ones nearest to `near`.
    """
    found = readings(eq)
    plain, rods = movable(eq)
    joints = single_joints(eq)
    near = ca.SX.sym("near", len(joints))
    position: list[Any] = []
    velocity: list[Any] = []
    for joint in plain:
        at, rate = (ca.vertsplit(found[f"joint.{joint.name}.{what}"]) for what in ("position", "velocity"))
        for move in TYPES[joint.type].moves or ():
            if move == "Q":
                n = len(position)
                angles = yaw_pitch_roll(at[:4], ca.vertsplit(near[n : n + 3]))
                position += angles
                velocity += angle_rates(angles, rate[:3])
            else:
                scales = (1.0, joint.pitch) if move == "Hz" else (1.0,)
                position += [scale * at[0] for scale in scales]
                velocity += [scale * rate[0] for scale in scales]
            at, rate = at[4 if move == "Q" else 1 :], rate[3 if move == "Q" else 1 :]

    def body(name: str) -> BodyMotion:
        parts = BodyMotion._fields
        return STILL if name == GROUND else BodyMotion(*(found[f"body.{name}.{part}"] for part in parts))

    for rod in rods:
        n = len(position)
        turns, rates = rod_angles(rod, body(rod.parent), body(rod.child), ca.vertsplit(near[n : n + 2]))
        position += turns
        velocity += rates
    effort = ca.SX.zeros(len(joints), 1)
    for k, motor in enumerate(eq.mechanism.motors):
        effort[[j.name for j in joints].index(motor.joint)] += saturated(eq.u[k], motor.limit)
    columns = [ca.densify(ca.vertcat(*x)) for x in (position, velocity)]
    names = ["q", "v", "u", "p", "near"], ["position", "velocity", "effort"]
    return ca.Function("joint_values", [eq.q, eq.v, eq.u, eq.p, near], [*columns, ca.densify(effort)], *names)


def yaw_pitch_roll(e: Sequence[Any], near: Sequence[Any] = (0.0, 0.0, 0.0)) -> tuple[Any, Any, Any]:
    """Angles (a, b, c) with Rz(a) Ry(b) Rx(c) = R(e), of all such angles the ones nearest to `near`.

    Yaw first, then pitch and roll of Rz(−a) R: exact for every yaw, so no digits are lost
    near a pitch of 90°. For numbers and symbols alike.
    """
    w, x, y, z = e
    r00, r10 = w * w + x * x - y * y - z * z, 2 * (x * y + w * z)
    a = choose(ca.hypot(r00, r10) < GIMBAL, near[0], nearest(ca.atan2(r10, r00), near[0], pi))
    c, s = ca.cos(a), ca.sin(a)
    r20 = 2 * (x * z - w * y)
    r01, r11 = 2 * (x * y - w * z), w * w - x * x + y * y - z * z
    r02, r12 = 2 * (x * z + w * y), 2 * (y * z - w * x)
    b = ca.atan2(-r20, c * r00 + s * r10)
    roll = ca.atan2(s * r02 - c * r12, c * r11 - s * r01)
    return a, nearest(b, near[1], 2 * pi), nearest(roll, near[2], 2 * pi)


def angle_rates(angles: Sequence[Any], omega: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Rates of (yaw, pitch, roll) from ω of the moving frame in its own axes; finite at 90° of pitch."""
    _, b, c = angles
    wx, wy, wz = omega
    across = wy * ca.sin(c) + wz * ca.cos(c)  # cos(b) times the rate of yaw
    yaw = across * ca.cos(b) / ca.fmax(ca.cos(b) ** 2, GIMBAL)
    return yaw, wy * ca.cos(c) - wz * ca.sin(c), wx + ca.sin(b) * yaw
