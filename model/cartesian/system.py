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

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from ..description import GROUND, Joint, Mechanism
from ..dynamics import joint_wrenches, mass_matrix, onto_joints
from ..equations import Equations, Forces
from ..errors import DescriptionError
from ..forces import applied, cut_coordinates, cut_speeds, cut_wrenches
from ..joints import TYPES
from ..kinematics import Model, motion
from ..loops import Loop, jacobian, loops, velocity_terms
from ..spatial import rotation
from ..topology import span
from .drives import LOCKED, Laws, driven_lock, joint_lock
from .lock import ALL, Lock, Marker, Moved, local_matrix
from .lock import function as lock_function


@dataclass(frozen=True)
class Group:
    """The rows of one joint or lock, between `body1` (child) and `body2` (parent).

    `point` is where its reaction is taken, in world axes; None for rows that are no joint.
    """

    name: str
    body1: str
    body2: str
    where: slice
    names: tuple[str, ...]
    point: Any = None


@dataclass(frozen=True)
class System:
    """The traced functions and what stands where in them."""

    mechanism: Mechanism
    at: dict[str, slice]  # body -> its coordinates
    groups: tuple[Group, ...]
    moving: tuple[Marker | Moved, ...]  # places over time, in the order of the columns of `laws`
    coefficients: ca.Function  # (q, dq, laws, u) -> M, f, C, Cq, Ct, Qc
    outputs: ca.Function  # (q, dq, ddq, lam, laws, u) -> y
    variables: tuple[tuple[str, slice], ...]

    @property
    def size(self) -> int:
        return 7 * len(self.at)


def floating(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with every body free in space and every joint cut."""
    joints = [replace(j, cut=True, armature=(), start=(), speed=()) for j in mechanism.joints]
    free = [Joint(_space(b.name), "free", GROUND, b.name) for b in mechanism.bodies]
    return replace(mechanism, joints=(*free, *joints), parameters={}, outputs={})


def _space(body: str) -> str:
    return f"{body} in space"  # no described joint can have a name with blanks


def system(mechanism: Mechanism, drives: Mapping[str, Laws], locks: Sequence[Lock] = ()) -> System:
    """Trace a mechanism whose joints in `drives` follow motion laws, under further `locks`."""
    model = Model(floating(mechanism), span(floating(mechanism)))
    at = {b.name: model.tree.q[_space(b.name)] for b in mechanism.bodies}
    q, dq = ca.SX.sym("q", model.tree.nq), ca.SX.sym("dq", model.tree.nq)
    u = ca.SX.sym("u", len(mechanism.inputs()))
    N = ca.diagcat(*(ca.diagcat(ca.SX.eye(3), local_matrix(q[w][3:])) for w in at.values()))
    eq = Equations(model, q, N @ dq, u, ca.SX(0, 1), ())
    engine = _engine(eq)

    build = _Rows(at, q, dq)
    for joint in mechanism.joints:
        if joint.name in drives:
            build.add_lock(driven_lock(joint, drives[joint.name]))
        elif joint.type in LOCKED:
            build.add_lock(joint_lock(joint))
        elif joint.type != "free":
            build.add_engine(joint, engine, N)
    for lock in locks:
        build.add_lock(lock)
    build.add_unit_length()

    rotors = _Rotors(mechanism, engine, q, dq)
    M = N.T @ engine.M @ N + rotors.mass
    f = N.T @ engine.right + rotors.force
    C, Cq, Ct, Qc = (ca.densify(ca.vertcat(*part)) for part in build.parts)
    laws = ca.horzcat(*build.laws) if build.laws else ca.SX(7, 0)
    names = ["M", "f", "c", "Cq", "ct", "qc"]
    coefficients = ca.Function(
        "coefficients",
        [q, dq, laws, u],
        [ca.densify(M), ca.densify(f), C, Cq, Ct, Qc],
        ["q", "dq", "Laws", "u"],
        names,
    )
    ddq, lam = ca.SX.sym("ddq", q.numel()), ca.SX.sym("lam", C.numel())
    entries = _bodies(mechanism, at, q, dq, ddq)
    entries += _joints(eq, engine)
    entries += _reactions(build, engine, rotors, Cq, ddq, lam, drives)
    variables, place = [], 0
    for name, value in entries:
        variables.append((name, slice(place, place + value.numel())))
        place += value.numel()
    y = ca.densify(ca.vertcat(*(value for _, value in entries)))
    outputs = ca.Function(
        "outputs", [q, dq, ddq, lam, laws, u], [y], ["q", "dq", "ddq", "lam", "Laws", "u"], ["y"]
    )
    return System(
        mechanism, at, tuple(build.groups), tuple(build.moving), coefficients, outputs, tuple(variables)
    )


def _engine(eq: Equations) -> Forces:
    """The engine's terms; its tree has no place for the forces of a described free joint, so add them."""
    move = motion(eq.model, eq.q, eq.v)
    closed = loops(eq.model, move)
    floats = [j for j in eq.mechanism.joints if j.type == "free" and j.cut]
    ends = closed + [Loop(eq.model, move, joint) for joint in floats]
    act = applied(eq.model, move, ends, eq.q, eq.v, eq.u)
    h = onto_joints(eq.model, joint_wrenches(eq.model, move, act.wrenches))
    M, G = mass_matrix(eq.model, move.f), jacobian(eq.model, closed, move.X)
    return Forces(move, ends, act, M, G, act.tau - h, -velocity_terms(closed))


class _Rows:
    """Collects constraint rows: C, C_q, C_t, Q_c, and which rows belong to whom."""

    def __init__(self, at: dict[str, slice], q: Any, dq: Any):
        self.at, self.q, self.dq = at, q, dq
        self.parts: tuple[list[Any], ...] = ([], [], [], [])
        self.groups: list[Group] = []
        self.laws: list[Any] = []
        self.moving: list[Marker | Moved] = []
        self.count = 0

    def _append(
        self, group: str, ends: tuple[str, str], point: Any, names: Sequence[str], *values: Any
    ) -> None:
        if point is not None and group in {g.name for g in self.groups}:
            raise DescriptionError(f"two joints or locks are named '{group}'; rename one")
        for part, value in zip(self.parts, values, strict=True):
            part.append(value)
        where = slice(self.count, self.count + len(names))
        labels = tuple(f"{group}: {name}" for name in names)
        self.groups.append(Group(group, *ends, where, labels, point))
        self.count = where.stop

    def _body(self, name: str) -> tuple[Any, Any]:
        if name == GROUND:
            return ca.SX([0, 0, 0, 1, 0, 0, 0]), ca.SX(7, 1)
        if name not in self.at:
            raise DescriptionError(f"a lock names the body '{name}'; known: {', '.join(self.at)}")
        return self.q[self.at[name]], self.dq[self.at[name]]

    def _place(self, place: Marker | Moved) -> Any:
        """A marker's columns: numbers if it never moves, else symbols to be filled at every time."""
        if place.still:
            return ca.sparsify(ca.SX(ca.DM(place.columns(0.0))))
        self.moving.append(place)
        self.laws.append(ca.SX.sym(f"law{len(self.laws)}", 7, 3))
        return self.laws[-1]

    def add_lock(self, lock: Lock) -> None:
        (q1, dq1), (q2, dq2) = self._body(lock.body1), self._body(lock.body2)
        P, S, wanted = (self._place(m) for m in (lock.P, lock.S, lock.wanted))
        full = lock_function()(q1, dq1, q2, dq2, P, S, wanted)
        C, Cq, Ct, Qc = (ca.sparsify(part[lock.kept, :]) for part in full)
        wide = ca.SX(len(lock.kept), self.q.numel())
        for body, columns in ((lock.body1, Cq[:, :7]), (lock.body2, Cq[:, 7:])):
            if body != GROUND:
                wide[:, self.at[body]] += columns
        point = q1[:3] + rotation(q1[3:]) @ P[:3, 0]
        names = [c for c in ALL if c in lock.mask]
        self._append(lock.name, (lock.body1, lock.body2), point, names, C, wide, Ct, Qc)

    def add_engine(self, joint: Joint, engine: Forces, N: Any) -> None:
        before = 0
        for loop in engine.closed:
            rows = slice(before, before + len(loop.rows))
            before = rows.stop
            if loop.joint.name == joint.name:
                C = ca.vertcat(*(row.residual for row in loop.rows))
                names = [n for lock in TYPES[joint.type].locks for n in lock.names()]
                Cq, Qc = engine.G[rows, :] @ N, engine.gamma[rows]
                ends = (joint.child, joint.parent)
                self._append(joint.name, ends, loop.ends.rj, names, C, Cq, ca.SX(len(names), 1), Qc)

    def add_unit_length(self) -> None:
        for body, where in self.at.items():
            p, dp = self.q[where][3:], self.dq[where][3:]
            Cq = ca.SX(1, self.q.numel())
            Cq[0, where.start + 3 : where.stop] = 2 * p.T
            values = (ca.sumsqr(p) - 1, Cq, ca.SX(1, 1), -2 * ca.sumsqr(dp))
            self._append(body, (body, body), None, ["length of Euler parameters"], *values)


class _Rotors:
    """Rotor inertia J of a joint: J s̈ on its speeds s, with ṡ = R q̈ + (what speeds alone give)."""

    def __init__(self, mechanism: Mechanism, engine: Forces, q: Any, dq: Any):
        n = q.numel()
        self.mass, self.force = ca.SX(n, n), ca.SX.zeros(n, 1)
        self.torque: dict[str, tuple[Any, Any, Any]] = {}  # joint -> J, R, bias
        for loop in engine.closed:
            values = mechanism.joint(loop.joint.name).armature
            if not any(values):
                continue
            J = ca.diag(ca.SX(ca.DM(list(values))))
            speeds = cut_speeds(loop.joint, loop.ends)
            R, bias = ca.jacobian(speeds, dq), ca.jtimes(speeds, q, dq)
            self.mass += R.T @ J @ R
            self.force -= R.T @ J @ bias
            self.torque[loop.joint.name] = (J, R, bias)


Entries = list[tuple[str, Any]]


def _bodies(mechanism: Mechanism, at: dict[str, slice], q: Any, dq: Any, ddq: Any) -> Entries:
    result: Entries = []
    for body in mechanism.bodies:
        x, dx, ddx = q[at[body.name]], dq[at[body.name]], ddq[at[body.name]]
        A, G = rotation(x[3:]), local_matrix(x[3:])
        name = f"body.{body.name}"
        result += [
            (f"{name}.position", x[:3]),
            (f"{name}.orientation", x[3:]),
            (f"{name}.velocity", dx[:3]),
            (f"{name}.angular_velocity", A @ G @ dx[3:]),
            (f"{name}.acceleration", ddx[:3]),
            (f"{name}.angular_acceleration", A @ G @ ddx[3:]),
        ]
    return result


def _joints(eq: Equations, engine: Forces) -> Entries:
    """Coordinates and speeds of all joints, angles within ±π."""
    result: Entries = []
    for loop in engine.closed:
        if TYPES[loop.joint.type].moves:
            position, velocity = cut_coordinates(eq.model, loop, eq.q)
            name = f"joint.{loop.joint.name}"
            result += [(f"{name}.position", position), (f"{name}.velocity", velocity)]
    return result


def _reactions(
    build: _Rows,
    engine: Forces,
    rotors: _Rotors,
    Cq: Any,
    ddq: Any,
    lam: Any,
    drives: Mapping[str, Laws],
) -> Entries:
    """What the parent exerts on the child, as the engine's outputs have it; and what drives exert.

    −C_qᵀλ on a body's coordinates is a force and, by m' = ½ G Q_p, a moment about its origin.
    """
    found = {loop.joint.name: loop for loop in engine.closed}
    result: Entries = []
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
                result.append((f"drive.{group.name}", _along_moves(loop, force, moment)))
            own = engine.applied.at_cuts.get(group.name)
            if group.name in rotors.torque:
                J, R, bias = rotors.torque[group.name]
                own = (0 if own is None else own) - J @ (R @ ddq + bias)
            if own is not None:
                wrench = cut_wrenches(loop, own)
                force, moment = force + wrench["vj"], moment + wrench["wj"]
        result += [(f"reaction.{group.name}.force", force), (f"reaction.{group.name}.moment", moment)]
    return result


def _along_moves(loop: Loop, force: Any, moment: Any) -> Any:
    """The part of a wrench that works on each coordinate of a driven joint."""
    e, joint = loop.ends, loop.joint
    along = {
        "Rz": ca.dot(e.Ri[:, 2], moment),
        "Rx": ca.dot(e.Rj[:, 0], moment),
        "Px": ca.dot(e.Ri[:, 0], force),
        "Py": ca.dot(e.Ri[:, 1], force),
        "Pz": ca.dot(e.Ri[:, 2], force),
        "Hz": ca.dot(e.Ri[:, 2], moment + joint.pitch * force),
        "Q": e.Rj.T @ moment,
    }
    return ca.vertcat(*(along[move] for move in TYPES[joint.type].moves or ()))
