"""Every joint as a chain of joints with one coordinate each, as URDF and ROS joint states want them.

A ball becomes three turns about z, y and x of the moving frame (yaw, pitch, roll), a screw a turn
and a slide, a rod without mass two turns (`rod_angles.py`), all without jumps (`joints/angles.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..describe.mechanism import GROUND, Joint
from ..joints.moves import Slide, Turn
from ..joints.types import TYPES
from .forces import saturated
from .outputs import readings
from .rod_angles import STILL, BodyMotion, rod_angles
from .terms import Equations


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
    names = [f"{joint.name}_{single.endings[0]}" for single in kind.singles]
    if kind.nv == 1:
        names[0] = joint.name
    return tuple(SingleJoint(n, m, joint.name) for n, m in zip(names, kind.singles, strict=True))


def movable(eq: Equations) -> tuple[list[Joint], list[Joint]]:
    """Joints with coordinates, and rods, in the order of the description.

    A free joint inside a loop says nothing and has none.
    """
    joints = eq.mechanism.joints
    plain = [j for j in joints if TYPES[j.type].moves and (j.name in eq.tree.q or TYPES[j.type].locks)]
    return plain, [j for j in joints if TYPES[j.type].directionless_ends]


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
        for move, q, v in TYPES[joint.type].parts:
            hint = ca.vertsplit(near)[len(position) :]
            turned, speeds = move.single_values(at[q], rate[v], hint, joint)
            position += turned
            velocity += speeds

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
