"""Every joint as a chain of joints with one coordinate each, as URDF and ROS joint states want them.

A ball becomes three turns about z, y and x of the moving frame (yaw, pitch, roll), a screw a turn
and a slide, a rod without mass two turns, all without jumps (`joints/angles.py`).
"""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..describe.mechanism import Joint, outer_name
from ..joints.angles import aim, yaw_rate
from ..joints.moves import Slide, Turn
from ..joints.types import TYPES
from .forces import saturated
from .kinematics import turning
from .loops import CutLoop
from .outputs import readings
from .terms import Equations, terms


@dataclass(frozen=True)
class SingleJoint:
    """One turn or slide of a described joint."""

    name: str
    move: Turn | Slide
    joint: str


def chain(joint: Joint) -> tuple[SingleJoint, ...]:
    """The joints with one coordinate that make up a joint, in the order of its moves.

    A joint with one freedom keeps its name (a screw's slide ends in `_z`); the parts of others
    end in what they do, such as `ball1_rx` or `slider_z`.
    """
    kind = TYPES[joint.type]
    names = [f"{outer_name(joint)}_{single.endings[0]}" for single in kind.singles]
    if kind.nv == 1:
        names[0] = outer_name(joint)
    return tuple(SingleJoint(n, m, joint.name) for n, m in zip(names, kind.singles, strict=True))


def movable_joints(eq: Equations) -> tuple[list[Joint], list[Joint]]:
    """Joints with coordinates, and rods, in the order of the description.

    A free joint inside a loop says nothing and has none.
    """
    joints = eq.mechanism.joints
    plain = [j for j in joints if TYPES[j.type].moves and (j.name in eq.tree.q or TYPES[j.type].locks)]
    return plain, [j for j in joints if TYPES[j.type].directionless_ends]


def single_joints(eq: Equations) -> tuple[SingleJoint, ...]:
    """Of all joints with coordinates; rods come last."""
    plain, rods = movable_joints(eq)
    return tuple(part for joint in [*plain, *rods] for part in chain(joint))


def joint_values(eq: Equations) -> ca.Function:
    """(q, v, u, p, near) → positions, speeds and motor torques of all single joints.

    Angles that a turn, or half a turn, leaves open are the ones nearest to `near`.
    """
    found = readings(eq)
    plain, _ = movable_joints(eq)
    joints = single_joints(eq)
    near = ca.SX.sym("near", len(joints))
    position: list[Any] = []
    velocity: list[Any] = []
    for joint in plain:
        at, rate = (ca.vertsplit(found[f"joint.{joint.name}.{what}"]) for what in ("position", "velocity"))
        for move, q, v in TYPES[joint.type].parts:
            hint = ca.vertsplit(near)[len(position) :]
            turned, speeds = move.single_values(at[q], rate[v], hint, joint)
            position += turned
            velocity += speeds

    rods = (loop for loop in terms(eq).loops if TYPES[loop.joint.type].directionless_ends)
    for rod in rods:
        turned, speeds = rod_angles(eq, rod, ca.vertsplit(near)[len(position) :])
        position += turned
        velocity += speeds
    effort = ca.SX.zeros(len(joints), 1)
    for k, motor in enumerate(eq.mechanism.motors):
        effort[[j.joint for j in joints].index(motor.joint)] += saturated(eq.u[k], motor.limit)
    columns = [ca.densify(ca.vertcat(*x)) for x in (position, velocity)]
    names = ["q", "v", "u", "p", "near"], ["position", "velocity", "effort"]
    return ca.Function("joint_values", [eq.q, eq.v, eq.u, eq.p, near], [*columns, ca.densify(effort)], *names)


def rod_angles(eq: Equations, rod: CutLoop, near: list[Any]) -> tuple[list[Any], list[Any]]:
    """(yaw, pitch) of a rod without mass, those nearest to `near`, and their rates.

    It hangs on its parent at a point and aims at a point of its child. Its direction in the parent's
    axes is Rz(yaw) Ry(pitch) x̂; where it stands upright, yaw stays where it was.
    """
    e = rod.ends
    R = turning(terms(eq).motion, rod.i.link)[0] @ eq.model.in_link[rod.joint.parent].R
    d = e.rj - e.ri
    rate, length = e.vj - e.vi - ca.cross(e.wi, d), ca.norm_2(d)
    x, y, z = ca.vertsplit(R.T @ d / length)
    dx, dy, dz = ca.vertsplit(R.T @ rate / length)
    yaw, pitch, c, s = aim(x, y, z, near)
    across, along, flat = c * dy - s * dx, c * dx + s * dy, ca.cos(pitch)
    return [yaw, pitch], [yaw_rate(across, flat), -ca.sin(pitch) * along - flat * dz]
