"""Applied forces: motors, joint springs, dampers, friction and stops, struts, bushings, loads.

Joint forces of tree joints act on the speeds directly. Those of cut joints, and all
forces between points, become wrenches on the links, which Newton-Euler carries inward.
"""

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import casadi as ca

from ..describe.internal import sticks
from ..describe.mechanism import Joint, Strut
from ..describe.motors import FORCE, TORQUE, has
from ..joints.measured import cut_speeds
from ..joints.rigid_motion import conjugate, product, vector
from ..joints.types import TYPES
from ..thresholds import NO_LENGTH, TAUT, TINY
from .bushings import bushing_force
from .drives import Flow, bristles, drive_force, entry_of, saturated
from .kinematics import Model, Motion, body_quaternion, quaternions, unit_quaternion, user_speeds
from .loops import CutLoop
from .sensing import placed, wrench_axes
from .struts import StrutEnd, body_point, strut_motion

STRESS = {"pulls": "tension", "pushes": "thrust"}  # what the force of a one-sided strut is called


class Applied(NamedTuple):
    """Everything that acts on the tree besides gravity and the cut joints' reactions."""

    tau: Any  # generalized forces, nv
    wrenches: dict[int, Any]  # link -> wrench in its frame
    potential: Any  # energy stored in springs and stops
    dissipated: Any  # power taken by dampers and friction, not negative
    supplied: Any  # power of motors, cylinders and loads
    at_cuts: dict[str, Any]  # cut joint -> its own force (motor, spring, damper) on its speeds
    passive: dict[str, Any]  # joint -> what its springs, dampers, friction and stops do to its speeds
    thrusts: dict[str, Any]  # strut -> its force, positive when it pushes
    efforts: dict[str, Any]  # motor or cylinder -> what it does, within its limit
    kinetic: Any  # energy of rotors that move by themselves, and of currents
    rates: Any  # ż of the internal states, and how fast they fade
    decays: Any
    seen: dict[str, Any]  # outputs of drives and cables by name


class JointForce(NamedTuple):
    tau: Any
    potential: Any
    dissipated: Any
    states: dict[str, Flow]


def joint_force(joint: Joint, q: Any, v: Any, z: Mapping[str, Any]) -> JointForce:
    """Spring, damper, friction and stops of a joint at its coordinates and speeds, as the user counts them.

    τ = −k(q − q_rest) − c v − f tanh(v/v_f) − k_s e − c_s |e| v, with e the overrun of a stop; the springs of
    a ball are those of `ball_spring`, and friction that sticks is that of `bristles`, with a state in z.
    """
    kind = TYPES[joint.type]
    tau = ca.SX.zeros(kind.nv, 1)
    potential = dissipated = ca.SX(0)
    stuck = bristles(joint, v, z[f"joint.{joint.name}.bristle"]) if sticks(joint) else None
    for move, at, v_at in kind.parts:
        if not move.plain:
            rows = range(v_at.start, v_at.stop)
            given = [
                ca.SX(ca.vertcat(*(entry_of(x, k) for k in rows))) for x in (joint.stiffness, joint.rest)
            ]
            tau[v_at], stored = ball_spring(given[0], given[1], q[at])
            potential += stored
    plain = {part.v.start: part.q.start for part in kind.parts if part.move.plain}
    for k in range(kind.nv):
        speed = v[k]
        loss = entry_of(joint.damping, k) * speed
        level = entry_of(joint.friction, k)
        if stuck is None and has(level):
            loss += level * ca.tanh(speed / joint.friction_speed)
        if k in plain:
            stretch = q[plain[k]] - entry_of(joint.rest, k)
            stiffness = entry_of(joint.stiffness, k)
            tau[k] -= stiffness * stretch
            potential += 0.5 * stiffness * stretch**2
            overrun = _overrun(joint, q[plain[k]])
            if overrun is not None:
                tau[k] -= joint.limit_stiffness * overrun
                potential += 0.5 * joint.limit_stiffness * overrun**2
                loss += joint.limit_damping * ca.fabs(overrun) * speed
        tau[k] -= loss
        dissipated += loss * speed
    if stuck is None:
        return JointForce(tau, potential, dissipated, {})
    states = {f"joint.{joint.name}.bristle": stuck.flow}
    return JointForce(tau - stuck.force, potential + stuck.potential, dissipated + stuck.dissipated, states)


def ball_spring(k: Any, rest: Any, q: Any) -> tuple[Any, Any]:
    """Torque, on ω in child axes, and energy of springs k about the three axes of a ball.

    V = 2 Σ kᵢ eᵢ² with the Euler parameters (e0, e) of the turn from the relaxed orientation, which the
    rotation vector `rest` leads to. For small angles that is ½ Σ kᵢ φᵢ², for equal stiffness k(1 − cos φ) at
    any angle, and it is smooth everywhere. τ = −2(e0 k∘e + (k∘e) × e), since ė = ½(e0 ω + e × ω).
    """
    if not rest.is_zero():
        angle = ca.sqrt(ca.sumsqr(rest) + NO_LENGTH)
        q = product(ca.vertcat(ca.cos(angle / 2), -ca.sin(angle / 2) / angle * rest), q)
    e0, e = q[0], q[1:]
    pull = k * e
    return -2 * (e0 * pull + ca.cross(pull, e)), 2 * ca.dot(pull, e)


def _overrun(joint: Joint, q: Any) -> Any:
    low, high = joint.limits
    if low == -inf and high == inf:
        return None
    return ca.fmax(q - high, 0) + ca.fmin(q - low, 0)


def has_force(joint: Joint) -> bool:
    """Whether a joint carries any spring, damper, friction or stop."""
    parts = (joint.damping, joint.stiffness, joint.friction)
    given = any(isinstance(part, ca.SX) or any(part) for part in parts)
    return given or joint.limits != (-inf, inf)


def applied(model: Model, motion: Motion, loops: list[CutLoop], q: Any, v: Any, u: Any) -> Applied:
    """All applied forces at a state under inputs u (motors, then cylinders)."""
    mechanism, tree = model.mechanism, model.tree
    tau = ca.SX.zeros(tree.nv, 1)
    wrenches: dict[int, Any] = {}
    potential = dissipated = supplied = ca.SX(0)
    at_cuts: dict[str, Any] = {}
    passive: dict[str, Any] = {}
    thrusts: dict[str, Any] = {}
    inputs = {name: u[k] for k, name in enumerate(mechanism.inputs())}
    motors = {motor.joint: motor for motor in mechanism.motors if motor.drive == TORQUE}
    efforts: dict[str, Any] = {}
    seen: dict[str, Any] = {name: q[where] for name, where in tree.z.items()}
    z, flows, kinetic = dict(seen), dict[str, Flow](), ca.SX(0)
    told: dict[str, Mapping[str, Any]] = {}

    def driven(joint: Joint, q: Any, v: Any) -> Any:
        """What the motor of a joint does to it, if it has one; energies and readings are noted."""
        nonlocal potential, dissipated, supplied, kinetic
        motor = motors[joint.name]
        force = drive_force(motor, joint, q, v, inputs, z)
        kinetic += force.kinetic
        flows.update(force.states)
        efforts[motor.name] = force.effort
        potential, dissipated = potential + force.potential, dissipated + force.dissipated
        supplied += force.supplied
        told[motor.name] = force.seen
        return force.effort

    speeds = user_speeds(model, q, v) if tree.nv else v
    for name, v_of in tree.v.items():
        joint = mechanism.joint(name)
        if has_force(joint):
            force = joint_force(joint, q[tree.q[name]], speeds[v_of], z)
            passive[name] = force.tau
            tau[v_of] += force.tau
            flows |= force.states
            potential, dissipated = potential + force.potential, dissipated + force.dissipated
        if name in motors:
            tau[v_of] += driven(joint, q[tree.q[name]][0], v[v_of.start])
    for move, at in tree.moves:  # a turn of speeds is one of forces too
        tau[at.v] = move.engine_speed(q[at.q], tau[at.v], at.reverse)
    acting = [loop for loop in loops if has_force(loop.joint) or loop.joint.name in motors]
    turns = quaternions(model, q) if acting else []
    for loop in acting:
        joint = loop.joint
        position, speed = cut_coordinates(model, loop, turns)
        force = joint_force(joint, position, speed, z)
        flows |= force.states
        passive[joint.name] = force.tau
        total = force.tau + (driven(joint, position[0], speed[0]) if joint.name in motors else 0)
        at_cuts[joint.name] = total
        part = cut_wrenches(loop, total)
        push_ends(wrenches, motion, loop, (part["vi"], part["wi"]), (part["vj"], part["wj"]))
        potential, dissipated = potential + force.potential, dissipated + force.dissipated
    for motor in mechanism.motors:
        seen |= told.get(motor.name, {})
    for strut in mechanism.struts:
        ends, direction, length, rate = strut_motion(model, motion, strut)
        if strut.acts == "both":
            thrust = strut.stiffness * (strut.length - length) - strut.damping * rate
            potential += 0.5 * strut.stiffness * (strut.length - length) ** 2
            dissipated += strut.damping * rate**2
        else:
            thrust, stored, loss = one_sided(strut, length, rate)
            potential, dissipated = potential + stored, dissipated + loss
        if strut.actuated and strut.drive == FORCE:
            force_in = saturated(inputs[strut.name], strut.limit)
            force_in = force_in if strut.acts == "both" else _sided(strut, force_in)
            efforts[strut.name] = force_in
            thrust += force_in
            supplied += force_in * rate
        thrusts[strut.name] = thrust
        if strut.acts != "both" or strut.actuated:
            seen[f"strut.{strut.name}.length"] = length
        if strut.acts != "both":
            seen[f"strut.{strut.name}.{STRESS[strut.acts]}"] = ca.fabs(thrust)
        if strut.actuated:
            seen[f"strut.{strut.name}.speed"] = rate
        push_apart(wrenches, motion, ends, thrust * direction)
    for load in mechanism.loads:
        link, r, rate, _ = body_point(model, motion, load.body, load.point)
        F, T = vector(load.force), vector(load.torque)
        if link < 0:
            continue
        if load.axes == "body":
            R = motion.X[link].R @ model.in_link[load.body].R
            F, T = R @ F, R @ T
        push(wrenches, motion, link, r, F, T)
        supplied += ca.dot(F, rate) + ca.dot(T, motion.X[link].R @ motion.V[link][:3])
    for frame in (frame for frame in mechanism.frames if frame.port == "force"):
        place, R = placed(model, motion, frame.name), wrench_axes(model, motion, frame)
        F, T = (
            R @ ca.vertcat(*(inputs[f"{frame.name}.{what}[{k}]"] for k in (1, 2, 3)))
            for what in ("force", "torque")
        )
        push(wrenches, motion, place.link, place.r, F, T)
        supplied += ca.dot(F, place.v) + ca.dot(T, place.w)
    for bushing in mechanism.bushings:
        soft = bushing_force(model, motion, bushing)
        for sign, (link, _) in zip((-1, 1), soft.ends, strict=True):
            push(wrenches, motion, link, soft.at, sign * soft.force, sign * soft.torque)
        potential, dissipated = potential + soft.potential, dissipated + soft.dissipated
    rates, decays = (ca.vertcat(*(flows[name][k] for name in tree.z), ca.SX(0, 1)) for k in (0, 1))
    return Applied(
        tau,
        wrenches,
        potential,
        dissipated,
        supplied,
        at_cuts,
        passive,
        thrusts,
        efforts,
        kinetic,
        rates,
        decays,
        seen,
    )


def one_sided(strut: Strut, length: Any, rate: Any) -> tuple[Any, Any, Any]:
    """Thrust, energy and lost power of a spring that only pulls, or only pushes.

    With the stretch e = distance − length beyond which it acts (e < 0 where it pushes), and ė its rate,
    T = k e + c w ė, never of the other sign than e; the energy is ½ k e². The damper takes hold with
    w = |e|/(`TAUT`·length), at most 1, so that forces do not jump; what it takes is never negative.
    """
    pull = 1 if strut.acts == "pulls" else -1
    e = ca.fmax(pull * (length - strut.length), 0)
    hold = ca.fmin(e / (TAUT * strut.length + TINY), 1)
    spring, rate = strut.stiffness * e, pull * rate
    total = ca.fmax(spring + strut.damping * hold * rate, 0)
    return -pull * total, 0.5 * spring * e, (total - spring) * rate


def _sided(strut: Strut, force: Any) -> Any:
    """What is left of the force of a cylinder that only pulls, or only pushes."""
    return ca.fmin(force, 0) if strut.acts == "pulls" else ca.fmax(force, 0)


def cut_coordinates(model: Model, loop: CutLoop, turns: list[Any]) -> tuple[Any, Any]:
    """Coordinates and speeds of a cut joint, from its two ends and the links' Euler parameters."""
    joint, e = loop.joint, loop.ends
    kind = TYPES[joint.type]
    turn = ca.SX([1, 0, 0, 0]) if kind.plain else relative_quaternion(model, loop, turns)
    position = kind.measure(e.Ri.T @ e.Rj, e.Ri.T @ (e.rj - e.ri), turn, joint)
    return ca.vertcat(*position, ca.SX(0, 1)), cut_speeds(joint, e)


def relative_quaternion(model: Model, loop: CutLoop, turns: list[Any]) -> Any:
    """Euler parameters of frame j seen from frame i."""
    joint = loop.joint

    def world(body: str, frame: Any) -> Any:
        local = product(body_quaternion(model, body), unit_quaternion(frame.orientation))
        index = model.tree.holder[body]
        return local if index < 0 else product(turns[index], local)

    return product(conjugate(world(joint.parent, joint.on_parent)), world(joint.child, joint.on_child))


def cut_wrenches(loop: CutLoop, tau: Any) -> dict[str, Any]:
    """Forces and torques of a joint force τ at a cut joint, such that its power is τ·speeds."""
    names = ("wi", "vi", "wj", "vj")
    fresh = {n: ca.SX.sym(n, 3) for n in names}
    power = ca.dot(tau, cut_speeds(loop.joint, loop.ends._replace(**fresh)))
    return {n: ca.gradient(power, fresh[n]) for n in names}


def push_apart(wrenches: dict[int, Any], motion: Motion, ends: tuple[StrutEnd, ...], force: Any) -> None:
    """Add what a strut does to the links at its ends: the force on the second, and what it reacts with."""
    for sign, end in zip((-1, 1), ends, strict=True):
        push(wrenches, motion, end.link, end.r, sign * force, ca.SX.zeros(3, 1))


def push(wrenches: dict[int, Any], motion: Motion, link: int, r: Any, F: Any, T: Any) -> None:
    """Add a world force F at world point r and a torque T to a link's wrench."""
    if link < 0:
        return
    X = motion.X[link]
    wrench = ca.vertcat(X.R.T @ (T + ca.cross(r - X.p, F)), X.R.T @ F)
    wrenches[link] = wrenches.get(link, 0) + wrench


def push_ends(
    wrenches: dict[int, Any], motion: Motion, loop: CutLoop, on_i: tuple[Any, Any], on_j: tuple[Any, Any]
) -> None:
    """Add world force and torque at both ends of a cut joint, which are points of their links."""
    for end, (F, T) in ((loop.i, on_i), (loop.j, on_j)):
        if end.link >= 0:
            back = motion.X[end.link].R.T
            f = back @ F
            wrench = ca.vertcat(back @ T + ca.cross(end.local, f), f)
            wrenches[end.link] = wrenches.get(end.link, 0) + wrench
