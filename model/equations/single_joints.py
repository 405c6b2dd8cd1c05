"""Every joint as a chain of joints with one coordinate each, as URDF and ROS joint states want them.

A ball becomes three turns about z, y and x of the moving frame (yaw, pitch, roll), a screw a turn
and a slide, a rod without mass two turns, all without jumps (`joints/angles.py`). Cylinders stand behind
them with their length, its rate and the force with which they push.
"""

from dataclasses import dataclass
from math import pi
from typing import Any

import casadi as ca

from ..describe.mechanism import Joint, outer_name
from ..joints.angles import aim, nearest_angle, yaw_rate
from ..joints.moves import Slide, Turn
from ..joints.types import TYPES
from .kinematics import turning
from .loops import CutLoop
from .outputs import readings
from .struts import strut_motion
from .terms import Equations, terms
from .traced import drive_efforts, rates


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


def value_names(eq: Equations) -> tuple[str, ...]:
    """Names of all single joints, then of the cylinders; one that a joint has too ends in `_length`."""
    joints = tuple(j.name for j in single_joints(eq))
    cylinders = (s.name for s in eq.mechanism.struts if s.actuated)
    return (*joints, *(f"{name}_length" if name in joints else name for name in cylinders))


def joint_values(eq: Equations) -> ca.Function:
    """(q, v, z, u, p, near) → positions, speeds and forces of all single joints, and of cylinders.

    A force is the motor's, or that of the springs, dampers, friction and stops of a joint without one; those
    of a ball, about its own axes, are not told.

    Angles that a turn, or half a turn, leaves open are the ones nearest to `near`; so are those of cut
    joints, which do not count their turns.
    """
    found = readings(eq)
    plain, _ = movable_joints(eq)
    near = ca.SX.sym("near", len(value_names(eq)))
    position: list[Any] = []
    velocity: list[Any] = []
    forces = {joint.name: found.get(f"joint.{joint.name}.passive") for joint in plain}
    for motor in eq.mechanism.motors:  # what a motor does is told, without the joint's own spring
        forces[motor.joint] = ca.SX(found[f"motor.{motor.name}.effort"])
    effort: list[Any] = []
    driven = drive_efforts(eq)
    for joint in plain:
        at, rate = (ca.vertsplit(found[f"joint.{joint.name}.{what}"]) for what in ("position", "velocity"))
        for move, q, v in TYPES[joint.type].parts:
            hint = ca.vertsplit(near)[len(position) :]
            if isinstance(move, Turn) and joint.name not in eq.tree.q:
                at[q.start] = nearest_angle(at[q.start], hint[0], 2 * pi)
            turned, speeds = move.single_values(at[q], rate[v], hint, joint)
            position += turned
            velocity += speeds
            force = forces[joint.name] if move.plain else None
            effort += [0 if force is None else force[v.start], *[0] * (len(turned) - 1)]

    rods = (loop for loop in terms(eq).loops if TYPES[loop.joint.type].directionless_ends)
    for rod in rods:
        turned, speeds = rod_angles(eq, rod, ca.vertsplit(near)[len(position) :])
        position += turned
        velocity += speeds
    effort += [0] * (len(single_joints(eq)) - len(effort))
    for cylinder in (s for s in eq.mechanism.struts if s.actuated):
        _, _, length, speed = strut_motion(eq.model, terms(eq).motion, cylinder)
        position, velocity = [*position, length], [*velocity, speed]
        effort.append(found[f"strut.{cylinder.name}.force"] + driven.get(cylinder.name, 0))
    columns = [ca.densify(ca.vertcat(ca.SX(0, 1), *x)) for x in (position, velocity, effort)]
    names = ["q", "v", "z", "u", "p", "near"], ["position", "velocity", "effort"]
    return ca.Function("joint_values", [eq.q, eq.v, eq.z, eq.u, eq.p, near], columns, *names)


def joint_accelerations(eq: Equations) -> ca.Function:
    """(q, v, z, u, p, near) → second rates of all single joints: those of their speeds along the motion."""
    values, speeds = joint_values(eq), rates(eq)
    near, at = ca.SX.sym("near", values.size1_in(5)), [eq.q, eq.v, eq.z, eq.u, eq.p]
    dq, dv, *_ = speeds(*at)
    velocity = values(*at, near)[1]
    a = ca.jtimes(velocity, eq.q, dq) + ca.jtimes(velocity, eq.v, dv)
    return ca.Function("joint_accelerations", [*at, near], [ca.densify(a)])


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
