"""What can be read from a Cartesian simulation, under the engine's names (`equations/outputs.py`)."""

from collections.abc import Container, Mapping
from typing import Any

import casadi as ca

from ..describe.mechanism import GROUND
from ..equations.cut_joints import cut_coordinates, cut_wrenches
from ..equations.kinematics import quaternions
from ..equations.loops import CutLoop
from ..equations.outputs import Readings
from ..equations.terms import Equations, Forces
from ..joints.rigid_motion import rotation
from ..joints.types import TYPES
from .constraint_rows import Rows
from .lock import local_matrix


def joints(eq: Equations, engine: Forces) -> Readings:
    """Coordinates and speeds of all joints, angles within ±π."""
    result: Readings = {}
    turns = quaternions(eq.model, eq.q)
    for loop in engine.loops:
        if TYPES[loop.joint.type].moves:
            position, velocity = cut_coordinates(eq.model, loop, eq.q, turns)
            name = f"joint.{loop.joint.name}"
            result |= {f"{name}.position": position, f"{name}.velocity": velocity}
    return result


def reactions(
    build: Rows,
    eq: Equations,
    engine: Forces,
    rotors: Mapping[str, Any],
    Cq: Any,
    lam: Any,
    drives: Container[str],
) -> Readings:
    """What the parent exerts on the child, as the engine's outputs have it; and what drives exert.

    −C_qᵀλ on a body's coordinates is a force and, by m' = ½ G Q_p, a moment about its origin.
    """
    found = {loop.joint.name: loop for loop in engine.loops}
    result: Readings = {}
    for group in build.groups:
        if group.point is None:
            continue
        body, sign = (group.body1, 1) if group.body1 != GROUND else (group.body2, -1)
        where = build.at[body]
        x = build.q[where]
        Q = -(Cq[group.where, where].T @ lam[group.where])
        force = sign * Q[:3]
        moment = sign * rotation(x[3:]) @ (0.25 * local_matrix(x[3:]) @ Q[3:])
        moment += ca.cross(x[:3] - group.point, force)
        if group.name in found:
            loop = found[group.name]
            if group.name in drives:
                result[f"drive.{group.name}"] = _along_moves(eq, loop, force, moment)
            own = engine.applied.at_cuts.get(group.name)
            if group.name in rotors:
                own = rotors[group.name] + (0 if own is None else own)
            if own is not None:
                wrench = cut_wrenches(loop, own)
                force, moment = force + wrench["vj"], moment + wrench["wj"]
        result |= {f"reaction.{group.name}.force": force, f"reaction.{group.name}.moment": moment}
    return result


def _along_moves(eq: Equations, loop: CutLoop, force: Any, moment: Any) -> Any:
    """The part of a wrench at the child's end that works on each speed: Sᵀ of it behind every move."""
    (q, _), joint = cut_coordinates(eq.model, loop, eq.q, quaternions(eq.model, eq.q)), loop.joint
    R, r = loop.ends.Ri, loop.ends.ri
    result = []
    for move, at, _ in TYPES[joint.type].parts:
        step = move.pose(q[at], joint)
        r, R = r + R @ step.p, R @ step.R
        wrench = ca.vertcat(R.T @ (moment + ca.cross(loop.ends.rj - r, force)), R.T @ force)
        result.append(move.subspace(joint).T @ wrench)
    return ca.vertcat(*result)
