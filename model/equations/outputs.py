"""Everything that can be read from a mechanism: declared, with units and meaning, and computed, side by side.

Vectors are in world axes unless said otherwise. A reaction is all that the parent exerts on the child
through the joint, motor and springs included, at the joint's origin on the child.
"""

from collections.abc import Iterator
from typing import Any

import casadi as ca

from ..describe.mechanism import Joint, Mechanism, Strut, find
from ..joints.rigid_motion import product, vector
from ..joints.types import TYPES
from .couplings import ties
from .cut_joints import cut_coordinates, cut_wrenches, push_ends
from .dynamics import joint_wrenches, rotor_inertia
from .elements.contract import Output, each, element_outputs
from .elements.instant import Solved
from .forces import Applied, push_apart
from .frame_motion import MOTION
from .kinematics import (
    Model,
    Motion,
    body_quaternion,
    frame_in_link,
    joint_origin,
    outward,
    point_motion,
    position_rates,
    quaternions,
    turning,
    user_speeds,
)
from .least_reactions import least, stressed
from .loops import CutLoop, cut_reactions, residual
from .motion_drives import acceleration_drives
from .spatial import inertia_times
from .struts import strut_motion
from .terms import Equations, Forces, terms
from .topology import Tree
from .traced import drive_efforts, motion_under_forces, power_supplied

Readings = dict[str, Any]


def declared_outputs(mechanism: Mechanism, tree: Tree) -> Iterator[Output]:
    """Everything that the traced code computes, in order; nothing is traced to know it."""
    yield from _joint_outputs(mechanism, tree)
    yield from _body_outputs(mechanism)
    yield from _reaction_outputs(mechanism, tree)
    yield from _coupling_outputs(mechanism)
    yield from element_outputs(mechanism)
    for row in mechanism.input_table:
        yield Output(f"input.{row.name}", row.units, f"input of {row.name}")
    yield from _WHOLE


def outputs(eq: Equations) -> ca.Function:
    """(q, v, z, u, p) → all outputs in one column, in the order of their declarations."""
    names = ["q", "v", "z", "u", "p"], ["y"]
    return ca.Function("outputs", [eq.q, eq.v, eq.z, eq.u, eq.p], [output_column(eq)], *names)


def output_column(eq: Equations) -> Any:
    """All outputs, in the order of their declarations."""
    found = readings(eq)
    column = [found[output.name] for output in declared_outputs(eq.described, eq.tree)]
    return ca.densify(ca.vertcat(*column))


def readings(eq: Equations) -> Readings:
    """Every declared output by its structured name, and what elements tell beside."""
    t = terms(eq)
    dv, lam = motion_under_forces(eq)
    motion = outward(eq.model, eq.q, eq.v, dv)
    turns = quaternions(eq.model, eq.q)
    known = _joints(eq, t.loops, turns, dv)
    known |= body_readings(eq.model, motion, turns)
    reactions, lam = _reactions(eq, motion, t.loops, t.applied, lam)
    known |= reactions
    solved = Solved(eq.model, motion, turns, drive_efforts(eq), known)
    result = known | _couplings(eq, t, lam) | t.applied.values
    for element, item, stem in each(eq.mechanism):
        result |= {f"{stem}.{name}": x for name, x in element.measure(item, solved).items()}
    result |= {f"input.{row.name}": eq.u[row.where] for row in eq.mechanism.input_table}
    result |= _whole(eq, t, motion)
    for output in declared_outputs(eq.described, eq.tree):
        size = result[output.name].numel()
        assert size == len(output.units), f"{output.name}: {len(output.units)} units, {size} numbers"
    return result


# What is read of the whole mechanism.
_WHOLE = (
    Output("loop.residual", ("1",), "largest entry of the loop residual g(q), metres or radians", low=0.0),
    Output("energy", ("J",), "kinetic and potential energy"),
    Output("energy_kinetic", ("J",), "kinetic energy", low=0.0),
    Output("energy_potential", ("J",), "energy of height, springs and stops"),
    Output("power_supplied", ("W",), "power of motors, cylinders and loads"),
    Output("power_dissipated", ("W",), "power lost in dampers and friction"),
)


def _whole(eq: Equations, t: Forces, motion: Motion) -> Readings:
    kinetic, potential = energies(eq, motion, eq.v, t.applied)
    g = residual(eq.model, t.motion, t.loops)
    return {
        "loop.residual": ca.mmax(ca.fabs(g)) if g.numel() else ca.SX(0),
        "energy": kinetic + potential,
        "energy_kinetic": kinetic,
        "energy_potential": potential,
        "power_supplied": power_supplied(eq),
        "power_dissipated": t.applied.dissipated,
    }


def _present(mechanism: Mechanism, tree: Tree) -> list[Joint]:
    """Joints that have something to tell; a free joint in a loop has not."""
    there = {*tree.q, *(cut.name for cut in tree.cuts)}
    return [joint for joint in mechanism.joints if joint.name in there]


def _joint_outputs(mechanism: Mechanism, tree: Tree) -> Iterator[Output]:
    for joint in _present(mechanism, tree):
        kind, stem, about = TYPES[joint.type], f"joint.{joint.name}", f"{joint.type} joint {joint.name}"
        if kind.moves:
            yield Output(f"{stem}.position", kind.position_units, f"coordinates of {about}")
            yield Output(f"{stem}.velocity", kind.speed_units, f"speeds of {about}")
            rates = tuple(f"{unit}2" for unit in kind.speed_units)  # m/s to m/s2
            yield Output(f"{stem}.acceleration", rates, f"accelerations of {about}")


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
            position, velocity = cut_coordinates(eq.model, found[joint.name], eq.q, turns)
            acceleration = ca.jtimes(velocity, eq.q, dq) + ca.jtimes(velocity, eq.v, dv)
        else:
            continue  # a free joint in a loop says nothing
        result |= {
            f"joint.{joint.name}.position": position,
            f"joint.{joint.name}.velocity": velocity,
            f"joint.{joint.name}.acceleration": acceleration,
        }
    return result


def _body_outputs(mechanism: Mechanism) -> Iterator[Output]:
    about = {
        "position": "origin",
        "orientation": "Euler parameters (w, x, y, z)",
        "velocity": "velocity of the origin",
        "acceleration": "acceleration of the origin",
    }
    for body in mechanism.bodies:
        for what, units in MOTION.items():
            said = about.get(what, what.replace("_", " "))
            yield Output(f"body.{body.name}.{what}", units, f"{said} of body {body.name}")


def body_readings(model: Model, motion: Motion, turns: list[Any]) -> Readings:
    """Pose, velocity and acceleration of every body, given the links' Euler parameters."""
    result: Readings = {}
    for body in model.mechanism.bodies:
        link = model.tree.holder[body.name]
        r, v, dv = point_motion(model, motion, link, model.in_link[body.name].p)
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


def _reaction_outputs(mechanism: Mechanism, tree: Tree) -> Iterator[Output]:
    for joint in _present(mechanism, tree):
        about = f"from {joint.parent} on {joint.child} through {joint.name}"
        yield Output(f"reaction.{joint.name}.force", ("N",) * 3, f"force {about}")
        yield Output(f"reaction.{joint.name}.moment", ("N.m",) * 3, f"moment {about}")


def _reactions(
    eq: Equations, motion: Motion, loops: list[CutLoop], act: Any, lam: Any
) -> tuple[Readings, Any]:
    """Reactions of all joints; those of cut joints are −λ on their rows, plus their own forces.

    Beside them λ, with those of couplings that belong to these reactions.
    """
    model = eq.model
    wrenches, seen = dict(act.wrenches), {}
    for item in (*model.tree.driven, *acceleration_drives(eq.mechanism)):
        if isinstance(item, Strut):
            ends, along, *_ = strut_motion(model, motion, find(model.mechanism.struts, item.name, "cylinder"))
            push_apart(wrenches, motion, ends, drive_efforts(eq)[item.name] * along)
    for loop, part in zip(loops, cut_reactions(loops, lam), strict=True):
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
            r = point_motion(model, motion, index, local.p)[0]
            force, moment = -force, -(moment + ca.cross(origin - r, force))
        seen[joint.name] = (force, moment)
    if stressed(eq):
        seen, lam = least(eq, motion, seen, lam)
    result: Readings = {}
    for joint in eq.mechanism.joints:
        if joint.name in seen:
            force, moment = seen[joint.name]
            result |= {f"reaction.{joint.name}.force": force, f"reaction.{joint.name}.moment": moment}
    return result, lam


def _coupling_outputs(mechanism: Mechanism) -> Iterator[Output]:
    for tie in mechanism.couplings:
        tied = (tie.joint, *tie.follows)
        kinds = (TYPES[mechanism.joint(name).type] for name in tied)
        units = tuple("N.m" if kind.speed_units[0] == "rad/s" else "N" for kind in kinds)
        yield Output(f"coupling.{tie.name}.torque", units, f"of coupling {tie.name} on {', '.join(tied)}")


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
    kinetic = 0.5 * ca.dot(v, rotor_inertia(eq.model, motion.q) @ v) + act.kinetic
    potential = act.potential
    gravity = vector(eq.mechanism.gravity)
    for inertia, X, V in zip(eq.model.inertias, motion.X, motion.V, strict=True):
        if inertia is not None:
            kinetic += 0.5 * ca.dot(V, inertia_times(inertia, V))
            potential -= ca.dot(gravity, inertia.m * X.p + X.R @ inertia.h)
    return kinetic, potential
