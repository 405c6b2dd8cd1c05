"""Everything that can be read from a mechanism, under one list of structured names.

`joint.<name>.position|velocity|acceleration`, `body.<name>.position|orientation|velocity|
angular_velocity|acceleration|angular_acceleration`, `reaction.<name>.force|moment`, `input.<name>`,
`loop.residual`, `energy` and its parts. Vectors are in world axes unless said otherwise. A
reaction is all that the parent exerts on the child through the joint, motor and springs
included, at the joint's origin on the child.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from ..errors import SimulationError
from ..joints.types import TYPES
from .dynamics import armature, joint_wrenches
from .forces import cut_coordinates, cut_wrenches, push
from .kinematics import Model, Motion, body_quaternion, frame_in_link, motion, position_rates, quaternions
from .loops import Loop, reactions, residual
from .solve import accelerations, constrained
from .spatial import product, rotation, times, vector
from .terms import Equations, terms


@dataclass(frozen=True)
class Variable:
    """One output: its structured name, where it stands in the output vector, unit, meaning."""

    name: str
    where: slice
    unit: str
    about: str

    @property
    def size(self) -> int:
        return self.where.stop - self.where.start


def outputs(eq: Equations) -> tuple[ca.Function, tuple[Variable, ...]]:
    """(q, v, u, p) → all outputs in one column, and what stands where."""
    t = terms(eq)
    dv, lam = accelerations(constrained(t.M, t.G), t.right, t.gamma)
    move = motion(eq.model, eq.q, eq.v, dv)
    entries: list[tuple[str, Any, str, str]] = []
    entries += _joints(eq, t.closed, dv)
    entries += _bodies(eq.model, move, quaternions(eq.model, eq.q))
    entries += _reactions(eq, move, t.closed, t.applied, lam)
    for k, name in enumerate(eq.mechanism.inputs()):
        entries.append((f"input.{name}", eq.u[k], _input_unit(eq, name), f"input of {name}"))
    kinetic, potential = energies(eq, move, t.applied.potential)
    g = residual(eq.model, t.closed)
    largest = ca.mmax(ca.fabs(g)) if g.numel() else ca.SX(0)
    entries += [
        ("loop.residual", largest, "1", "largest entry of the loop residual g(q), metres or radians"),
        ("energy", kinetic + potential, "J", "kinetic and potential energy"),
        ("energy_kinetic", kinetic, "J", "kinetic energy"),
        ("energy_potential", potential, "J", "energy of height, springs and stops"),
        ("power_supplied", t.applied.supplied, "W", "power of motors, cylinders and loads"),
        ("power_dissipated", t.applied.dissipated, "W", "power lost in dampers and friction"),
    ]
    variables, at = [], 0
    for name, value, unit, about in entries:
        size = value.numel()
        variables.append(Variable(name, slice(at, at + size), unit, about))
        at += size
    column = ca.densify(ca.vertcat(*(value for _, value, _, _ in entries)))
    names = ["q", "v", "u", "p"], ["y"]
    return ca.Function("outputs", [eq.q, eq.v, eq.u, eq.p], [column], *names), tuple(variables)


def _input_unit(eq: Equations, name: str) -> str:
    for motor in eq.mechanism.motors:
        if motor.name == name:
            return "N.m" if "R" in TYPES[eq.mechanism.joint(motor.joint).type].moves[0] else "N"  # type: ignore[index]
    return "N"


def _joints(eq: Equations, closed: list[Loop], dv: Any) -> list[tuple[str, Any, str, str]]:
    """Coordinates, speeds and accelerations of all joints, tree and cut, as the user drew them."""
    result = []
    found = {loop.joint.name: loop for loop in closed}
    dq = position_rates(eq.model, eq.q, eq.v)
    for joint in eq.mechanism.joints:
        kind = TYPES[joint.type]
        if not kind.moves:
            continue
        if joint.name in eq.tree.q:
            position = eq.q[eq.tree.q[joint.name]]
            velocity, acceleration = eq.v[eq.tree.v[joint.name]], dv[eq.tree.v[joint.name]]
            link = next(x for x in eq.tree.links if x.joint == joint.name)
            if link.reverse and kind.ball:
                # the engine's ω is the parent's against the child; the user's the other way round
                R, w = rotation(position[kind.ball[0]]), kind.ball[1]
                velocity, acceleration = ca.SX(velocity), ca.SX(acceleration)
                velocity[w], acceleration[w] = -(R.T @ velocity[w]), -(R.T @ acceleration[w])
        elif joint.name in found:
            position, velocity = cut_coordinates(eq.model, found[joint.name], eq.q)
            acceleration = ca.jtimes(velocity, eq.q, dq) + ca.jtimes(velocity, eq.v, dv)
        else:
            continue  # a free joint in a loop says nothing
        about = f"{joint.type} joint {joint.name}"
        units = kind.position_units
        unit = units[0] if len(set(units)) == 1 else "1"
        rate = kind.speed_units[0] if len(set(kind.speed_units)) == 1 else "1"
        result += [
            (f"joint.{joint.name}.position", position, unit, f"coordinates of {about}"),
            (f"joint.{joint.name}.velocity", velocity, rate, f"speeds of {about}"),
            (
                f"joint.{joint.name}.acceleration",
                acceleration,
                "1" if rate == "1" else rate + "2",
                f"accelerations of {about}",
            ),
        ]
    return result


def _bodies(model: Model, move: Motion, turns: list[Any]) -> list[tuple[str, Any, str, str]]:
    result = []
    for body in model.mechanism.bodies:
        link, local = model.tree.holder[body.name], model.in_link[body.name]
        X, V, dV = move.X[link], move.V[link], move.dV[link]
        w, dw, s = V[:3], dV[:3], local.p
        v = V[3:] + ca.cross(w, s)
        dv = dV[3:] + ca.cross(dw, s) + ca.cross(w, v)
        e = product(turns[link], body_quaternion(model, body.name))
        name, about = f"body.{body.name}", f"of body {body.name}"
        result += [
            (f"{name}.position", X.p + X.R @ s, "m", f"origin {about}"),
            (f"{name}.orientation", e, "1", f"Euler parameters (w, x, y, z) {about}"),
            (f"{name}.velocity", X.R @ v, "m/s", f"velocity of the origin {about}"),
            (f"{name}.angular_velocity", X.R @ w, "rad/s", f"angular velocity {about}"),
            (
                f"{name}.acceleration",
                X.R @ dv + vector(model.mechanism.gravity),
                "m/s2",
                f"acceleration of the origin {about}",
            ),
            (f"{name}.angular_acceleration", X.R @ dw, "rad/s2", f"angular acceleration {about}"),
        ]
    return result


def _reactions(
    eq: Equations, move: Motion, closed: list[Loop], act: Any, lam: Any
) -> list[tuple[str, Any, str, str]]:
    """Reactions of all joints; those of cut joints are −λ on their rows, plus their own forces."""
    model = eq.model
    wrenches, seen = dict(act.wrenches), {}
    for loop, part in zip(closed, reactions(closed, lam), strict=True):
        push(wrenches, move, loop.i.link, loop.ends.ri, part["ri"], part["wi"])
        push(wrenches, move, loop.j.link, loop.ends.rj, part["rj"], part["wj"])
        force, moment = part["rj"], part["wj"]
        if loop.joint.name in act.at_cuts:
            own = cut_wrenches(loop, act.at_cuts[loop.joint.name])
            force, moment = force + own["vj"], moment + own["wj"]
        seen[loop.joint.name] = (force, moment)
    F = joint_wrenches(model, move, wrenches)
    for i, link in enumerate(model.tree.links):
        if not link.last:
            continue
        joint = model.mechanism.joint(link.joint)
        X = move.X[i]
        force, moment = X.R @ F[i][3:], X.R @ F[i][:3]
        # from the link frame's origin to the joint's
        origin = X.p - model.trims[i].slide * X.R[:, 2]
        moment += ca.cross(X.p - origin, force)
        if link.reverse:
            # F acts on the joint's parent at its own frame; turn it round and move it to the child
            index, local = frame_in_link(model, joint.child, joint.on_child)
            r = local.p if index < 0 else move.X[index].p + move.X[index].R @ local.p
            force, moment = -force, -(moment + ca.cross(origin - r, force))
        seen[joint.name] = (force, moment)
    result = []
    for joint in eq.mechanism.joints:
        if joint.name in seen:
            force, moment = seen[joint.name]
            about = f"from {joint.parent} on {joint.child} through {joint.name}"
            result += [
                (f"reaction.{joint.name}.force", force, "N", f"force {about}"),
                (f"reaction.{joint.name}.moment", moment, "N.m", f"moment {about}"),
            ]
    return result


def energies(eq: Equations, move: Motion, springs: Any) -> tuple[Any, Any]:
    """Kinetic energy ½ Σ VᵀI V + ½ Σ J v², and potential energy −Σ m g·c plus the springs'."""
    kinetic = 0.5 * ca.dot(armature(eq.model), eq.v**2)
    potential = springs
    gravity = vector(eq.mechanism.gravity)
    for inertia, X, V in zip(eq.model.inertias, move.X, move.V, strict=True):
        if inertia is not None:
            kinetic += 0.5 * ca.dot(V, times(inertia, V))
            potential -= ca.dot(gravity, inertia.m * X.p + X.R @ inertia.h)
    return kinetic, potential


def pick(values: Mapping[str, Any], source: str) -> float:
    """A value by structured name, with an optional component such as `[3]`."""
    if source in values:
        return values[source]
    name, _, index = source.rstrip("]").rpartition("[")
    if name in values and index.isdigit() and 1 <= int(index) <= np.size(values[name]):
        return float(np.atleast_1d(values[name])[int(index) - 1])
    raise SimulationError(f"there is no output '{source}'")
