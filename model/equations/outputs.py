"""Everything that can be read from a mechanism, computed; names, units and order are those of `variables.py`.

Vectors are in world axes unless said otherwise. A reaction is all that the parent exerts on the child
through the joint, motor and springs included, at the joint's origin on the child.
"""

from collections.abc import Mapping
from typing import Any

import casadi as ca

from ..describe.elements import effort_name
from ..describe.mechanism import Strut, find
from ..joints.rigid_motion import product, vector
from ..joints.types import TYPES
from .couplings import ties
from .dynamics import armature, joint_wrenches
from .forces import Applied, cut_coordinates, cut_wrenches, push_apart, push_ends
from .kinematics import (
    Model,
    Motion,
    body_quaternion,
    carried,
    frame_in_link,
    joint_origin,
    outward,
    position_rates,
    quaternions,
    turning,
    user_speeds,
)
from .least_reactions import least, redundant
from .loops import CutLoop, cut_reactions, residual
from .prescribed import accelerated, driven_ties
from .sensing import frame_readings, sensor_readings
from .spatial import inertia_times
from .struts import strut_motion
from .terms import Equations, Forces, terms
from .traced import drive_efforts, motion_under_forces, supplied

Readings = dict[str, Any]


def outputs(eq: Equations, layout: Mapping[str, int]) -> ca.Function:
    """(q, v, u, p) → all outputs in one column, laid out as names and sizes of `layout` say."""
    found = readings(eq)
    sizes = {name: value.numel() for name, value in found.items()}
    assert list(sizes.items()) == list(layout.items()), "the table of variables is not what is computed"
    column = ca.densify(ca.vertcat(*found.values()))
    return ca.Function("outputs", [eq.q, eq.v, eq.u, eq.p], [column], ["q", "v", "u", "p"], ["y"])


def readings(eq: Equations) -> Readings:
    """Every output by its structured name."""
    t = terms(eq)
    dv, lam = motion_under_forces(eq)
    motion = outward(eq.model, eq.q, eq.v, dv)
    turns = quaternions(eq.model, eq.q)
    result = _joints(eq, t.loops, turns, dv)
    result |= body_readings(eq.model, motion, turns)
    result |= _reactions(eq, motion, t.loops, t.applied, lam)
    result |= _couplings(eq, t, lam)
    efforts = t.applied.efforts | drive_efforts(eq)
    result |= {effort_name(item): efforts[item.name] for item in eq.mechanism.drives}
    result |= t.applied.seen
    result |= frame_readings(eq.model, motion, turns)
    result |= sensor_readings(eq.model, motion, result)
    at = 0
    for name, size in eq.mechanism.input_sizes().items():
        result[f"input.{name}"] = eq.u[at : at + size]
        at += size
    kinetic, potential = energies(eq, motion, eq.v, t.applied)
    g = residual(eq.model, t.motion, t.loops)
    return result | {
        "loop.residual": ca.mmax(ca.fabs(g)) if g.numel() else ca.SX(0),
        "energy": kinetic + potential,
        "energy_kinetic": kinetic,
        "energy_potential": potential,
        "power_supplied": supplied(eq),
        "power_dissipated": t.applied.dissipated,
    }


def _joints(eq: Equations, loops: list[CutLoop], turns: list[Any], dv: Any) -> Readings:
    """Coordinates, speeds and accelerations of all joints, tree and cut, as the user drew them."""
    result: Readings = {}
    found = {loop.joint.name: loop for loop in loops}
    dq = position_rates(eq.model, eq.q, eq.v)
    rates = user_speeds(eq.model, eq.q, ca.horzcat(eq.v, dv))
    for joint in eq.mechanism.joints:
        kind = TYPES[joint.type]
        if not kind.moves:
            continue
        if joint.name in eq.tree.q:
            position = eq.q[eq.tree.q[joint.name]]
            velocity, acceleration = ca.horzsplit(rates[eq.tree.v[joint.name], :])
        elif joint.name in found:
            position, velocity = cut_coordinates(eq.model, found[joint.name], turns)
            acceleration = ca.jtimes(velocity, eq.q, dq) + ca.jtimes(velocity, eq.v, dv)
        else:
            continue  # a free joint in a loop says nothing
        result |= {
            f"joint.{joint.name}.position": position,
            f"joint.{joint.name}.velocity": velocity,
            f"joint.{joint.name}.acceleration": acceleration,
        }
    return result


def body_readings(model: Model, motion: Motion, turns: list[Any]) -> Readings:
    """Pose, velocity and acceleration of every body, given the links' Euler parameters."""
    result: Readings = {}
    for body in model.mechanism.bodies:
        link = model.tree.holder[body.name]
        r, v, dv = carried(model, motion, link, model.in_link[body.name].p)
        _, w, dw = turning(motion, link)
        result |= {
            f"body.{body.name}.position": r,
            f"body.{body.name}.orientation": product(turns[link], body_quaternion(model, body.name)),
            f"body.{body.name}.velocity": v,
            f"body.{body.name}.angular_velocity": w,
            f"body.{body.name}.acceleration": dv + vector(model.mechanism.gravity),
            f"body.{body.name}.angular_acceleration": dw,
        }
    return result


def _reactions(eq: Equations, motion: Motion, loops: list[CutLoop], act: Any, lam: Any) -> Readings:
    """Reactions of all joints; those of cut joints are −λ on their rows, plus their own forces."""
    model = eq.model
    wrenches, seen = dict(act.wrenches), {}
    motors = *model.tree.driven, *accelerated(eq.mechanism)
    driven = {}
    for motor, (_, at_cut) in zip(motors, driven_ties(model, motion, loops, motors), strict=True):
        if isinstance(motor, Strut):
            ends, along, *_ = strut_motion(
                model, motion, find(model.mechanism.struts, motor.name, "cylinder")
            )
            push_apart(wrenches, motion, ends, drive_efforts(eq)[motor.name] * along)
        elif at_cut:
            driven[motor.joint] = drive_efforts(eq)[motor.name], at_cut[1]
    for loop, part in zip(loops, cut_reactions(loops, lam), strict=True):
        if loop.joint.name in driven:
            effort, row = driven[loop.joint.name]
            part = {n: x + effort * getattr(row, n) for n, x in part.items()}
        push_ends(wrenches, motion, loop, (part["ri"], part["wi"]), (part["rj"], part["wj"]))
        force, moment = part["rj"], part["wj"]
        if loop.joint.name in act.at_cuts:
            own = cut_wrenches(loop, act.at_cuts[loop.joint.name])
            force, moment = force + own["vj"], moment + own["wj"]
        seen[loop.joint.name] = (force, moment)
    F = joint_wrenches(model, motion, wrenches)
    for i, link in enumerate(model.tree.links):
        if not link.last:
            continue
        joint = model.mechanism.joint(link.joint)
        X = motion.X[i]
        force, moment = X.R @ F[i][3:], X.R @ F[i][:3]
        origin = joint_origin(model, motion, i)
        moment += ca.cross(X.p - origin, force)
        if link.reverse:
            # F acts on the joint's parent at its own frame; turn it round and move it to the child
            index, local = frame_in_link(model, joint.child, joint.on_child)
            r = carried(model, motion, index, local.p)[0]
            force, moment = -force, -(moment + ca.cross(origin - r, force))
        seen[joint.name] = (force, moment)
    if redundant(eq):
        seen = least(eq, motion, seen)
    result: Readings = {}
    for joint in eq.mechanism.joints:
        if joint.name in seen:
            force, moment = seen[joint.name]
            result |= {f"reaction.{joint.name}.force": force, f"reaction.{joint.name}.moment": moment}
    return result


def _couplings(eq: Equations, t: Forces, lam: Any) -> Readings:
    """What every coupling does to its joints, in their order: −λ times its slopes."""
    result: Readings = {}
    for tie, coupling in zip(ties(eq.model, t.motion), eq.tree.couplings, strict=True):
        force = lam[eq.tree.rows[coupling.name].start]
        result[f"coupling.{coupling.name}.torque"] = ca.vertcat(*(-force * s for s in tie.slopes.values()))
    return result


def energies(eq: Equations, motion: Motion, v: Any, act: Applied) -> tuple[Any, Any]:
    """Kinetic energy ½ Σ VᵀI V + ½ Σ J v², and potential energy −Σ m g·c plus the springs'.

    Currents in windings count as motion, and rotors that move by themselves.
    """
    kinetic = 0.5 * ca.dot(armature(eq.model), v**2) + act.kinetic
    potential = act.potential
    gravity = vector(eq.mechanism.gravity)
    for inertia, X, V in zip(eq.model.inertias, motion.X, motion.V, strict=True):
        if inertia is not None:
            kinetic += 0.5 * ca.dot(V, inertia_times(inertia, V))
            potential -= ca.dot(gravity, inertia.m * X.p + X.R @ inertia.h)
    return kinetic, potential
