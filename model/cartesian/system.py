"""A described mechanism in Cartesian coordinates, traced: all terms of system (27) of paper 001.

    [M  C_qᵀ] [q̈]   [Q̂ + Q_m]
    [C_q  0 ] [λ] = [Q_c + Q_s]        q = (x, Euler parameters) of every body, 7 each.

Every body floats on ground by a free joint of the engine and every described joint is cut, so mass
matrix, inertial terms, gravity, springs, struts, loads and motors are the engine's own. Its speeds are
v = N q̇ with N = diag(1, Gl), and v̇ = N q̈ exactly, since Gl(q̇) q̇ = 0: M = Nᵀ M_v N, Q = Nᵀ Q_v, and
rows G v̇ = γ of the engine become C_q = G N, Q_c = γ. Joints that are a lock with rows left out are
written as one; universal, helical and distance joints keep the engine's rows. |q_O| = 1 is a
row for every body.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from ..base.errors import SimulationError
from ..describe.mechanism import GROUND, Joint, Mechanism
from ..describe.motors import reflected_inertia
from ..equations.elements.contract import internal_states
from ..equations.kinematics import Model, outward, quaternions
from ..equations.outputs import body_readings
from ..equations.scales import scales
from ..equations.spatial import lump_point_masses
from ..equations.terms import Equations, Forces, mass, terms
from ..equations.topology import Tree, span
from ..joints.measured import cut_speeds
from ..joints.types import TYPES
from ..variables import Table, Variable
from .constraint_rows import RowGroup, Rows
from .drives import Laws, joint_lock, motion_lock
from .lock import Lock, Marker, local_matrix
from .readings import joints, reactions


@dataclass(frozen=True)
class System:
    """The traced functions and what stands where in them."""

    mechanism: Mechanism
    at: dict[str, slice]  # body -> its coordinates
    groups: tuple[RowGroup, ...]
    moving: tuple[Marker, ...]  # places over time, in the order of the columns of `laws`
    coefficients: ca.Function  # (q, dq, laws, u) -> M, f, C, Cq, Ct, Qc
    outputs: ca.Function  # (q, dq, ddq, lam, laws, u) -> y
    variables: Table

    @property
    def size(self) -> int:
        return 7 * len(self.at)


def floating(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with every body free in space and every joint cut."""
    rolling = next((j for j in mechanism.joints if TYPES[j.type].rides), None)
    if rolling:
        raise SimulationError(
            f"joint '{rolling.name}' is a velocity constraint, which the Cartesian simulation does not know; "
            "use Simulation"
        )
    inner = internal_states(mechanism)
    if inner:
        raise SimulationError(
            f"'{inner[0].name}' is a state of its own, which the Cartesian simulation does not know; "
            "use Simulation"
        )
    mechanism = lump_point_masses(mechanism)
    joints = [replace(j, cut=True, armature=(), start=(), speed=()) for j in mechanism.joints]
    motors = tuple(replace(motor, rotor_inertia=0.0) for motor in mechanism.motors)  # `_Rotors` has them
    free = [Joint(_space(b.name), "free", GROUND, b.name) for b in mechanism.bodies]
    return replace(mechanism, joints=(*free, *joints), motors=motors, parameters={}, outputs={})


def _space(body: str) -> str:
    return f"{body} in space"  # no described joint can have a name with blanks


def _tree(mechanism: Mechanism) -> Tree:
    """Its tree; described free joints are among the cuts too, without rows, for their springs and dampers."""
    return replace(span(mechanism), cuts=tuple(joint for joint in mechanism.joints if joint.cut))


def system(mechanism: Mechanism, drives: Mapping[str, Laws], locks: Sequence[Lock] = ()) -> System:
    """Trace a mechanism whose joints in `drives` follow motion laws, under further `locks`."""
    free = floating(mechanism)
    model = Model(free, _tree(free))
    at = {b.name: model.tree.q[_space(b.name)] for b in mechanism.bodies}
    q, dq = ca.SX.sym("q", model.tree.nq), ca.SX.sym("dq", model.tree.nq)
    u = ca.SX.sym("u", len(mechanism.inputs()))
    N = ca.diagcat(*(ca.diagcat(ca.SX.eye(3), local_matrix(q[w][3:])) for w in at.values()))
    z, none = ca.SX.zeros(model.tree.nz, 1), ca.SX(0, 1)
    lengths = scales(model.mechanism, model.tree)
    eq = Equations(model, q, N @ dq, z, u, none, (), lengths, model.mechanism)
    engine = terms(eq)

    build = Rows(at, q, dq)
    for joint in mechanism.joints:
        if joint.name in drives:
            build.add_lock(motion_lock(joint, drives[joint.name]))
        elif TYPES[joint.type].mask:
            build.add_lock(joint_lock(joint))
        elif TYPES[joint.type].locks:
            build.add_engine(joint, engine, model.tree.rows[joint.name], N)
    for lock in locks:
        build.add_lock(lock)
    build.add_unit_length()

    rotors = _Rotors(mechanism, engine, q, dq)
    M = N.T @ mass(eq) @ N + rotors.mass
    f = N.T @ engine.right + rotors.force
    C, Cq, Ct, Qc = (ca.densify(ca.vertcat(*part)) for part in build.parts)
    laws = ca.horzcat(*build.laws) if build.laws else ca.SX(7, 0)
    names = ["q", "dq", "Laws", "u"], ["M", "f", "c", "Cq", "ct", "qc"]
    parts = [ca.densify(M), ca.densify(f), C, Cq, Ct, Qc]
    coefficients = ca.Function("coefficients", [q, dq, laws, u], parts, *names)
    ddq, lam = ca.SX.sym("ddq", q.numel()), ca.SX.sym("lam", C.numel())
    found = body_readings(model, outward(model, q, N @ dq, N @ ddq), quaternions(model, q))
    found |= joints(eq, engine)
    found |= reactions(build, eq, engine, rotors.torques(ddq), Cq, lam, drives)
    variables, place = {}, 0
    for name, value in found.items():
        variables[name] = Variable(name, "output", slice(place, place + value.numel()))
        place += value.numel()
    y = ca.densify(ca.vertcat(*found.values()))
    names = ["q", "dq", "ddq", "lam", "Laws", "u"], ["y"]
    outputs = ca.Function("outputs", [q, dq, ddq, lam, laws, u], [y], *names)
    table = Table("output", variables)
    return System(mechanism, at, tuple(build.groups), tuple(build.moving), coefficients, outputs, table)


class _Rotors:
    """Rotor inertia J of a joint: J s̈ on its speeds s, with ṡ = R q̈ + (what speeds alone give)."""

    def __init__(self, mechanism: Mechanism, engine: Forces, q: Any, dq: Any):
        n = q.numel()
        self.mass, self.force = ca.SX(n, n), ca.SX.zeros(n, 1)
        self.joints: dict[str, tuple[Any, Any, Any]] = {}  # J, R, bias
        behind = {motor.joint: reflected_inertia(motor) for motor in mechanism.motors}
        for loop in engine.loops:
            values: tuple[Any, ...] = mechanism.joint(loop.joint.name).armature
            if rotor := behind.get(loop.joint.name, 0.0):
                values = ((values or (0.0,))[0] + rotor,)
            if not any(values):
                continue
            J = ca.diag(ca.SX(ca.DM(list(values))))
            speeds = cut_speeds(loop.joint, loop.ends)
            R, bias = ca.jacobian(speeds, dq), ca.jtimes(speeds, q, dq)
            self.mass += R.T @ J @ R
            self.force -= R.T @ J @ bias
            self.joints[loop.joint.name] = (J, R, bias)

    def torques(self, ddq: Any) -> dict[str, Any]:
        """Joint -> what its rotor exerts on its speeds, −J s̈."""
        return {name: -J @ (R @ ddq + bias) for name, (J, R, bias) in self.joints.items()}
