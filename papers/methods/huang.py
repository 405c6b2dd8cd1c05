"""Huang's stepper: the joint reactions that close all joints at t + Δt (paper 002).

Every body moves for itself, r + ṙΔt + ½r̈Δt² and likewise for vectors fixed to it; the
accelerations are linear in the joint reactions Q (Eqs. 9 to 20), and so are the joints' conditions
at t + Δt. One linear system gives all reactions at once (Eq. 36). Here for spherical, revolute,
cylindrical and prismatic joints, with these corrections to the printed equations:

- Eq. 27: the first coefficient is (q̂_j + P̂_j), and the cross product has rank 2. A revolute takes
  two of its rows and the condition that no moment acts about the axis; a cylindrical joint also
  that no force acts along it. Without them the platform's 45 × 45 matrix has rank 39.
- Eq. 22: W_i − W_j = (r_j − r_i) + (U_j − U_i).
- Eqs. 34, 35: force and counterforce act at one point. At the two points c_i, c_j of a sliding joint
  they would leave a couple d × R that nothing balances.

The method enforces positions only and is of first order: speeds err by O(Δt). For pins and
balls its matrix is (Δt²/2) Φq M⁻¹Φqᵀ, singular wherever Φq is, whatever the paper says.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ...model.base.errors import SimulationError
from ...model.describe.mechanism import GROUND, Body, Joint
from ...model.describe.motors import rigid_rotor, tells_motion
from ...model.equations.forces import push
from ...model.equations.functions import dense
from ...model.equations.kinematics import Motion, joint_origin
from ...model.equations.loops import LoopEnd
from ...model.equations.spatial import symmetric
from ...model.equations.terms import Equations, once, terms
from ...model.joints.moves import Ball, Move, Pz, Rz
from ...model.joints.rigid_motion import vector
from ...model.joints.types import TYPES
from ...model.state import Stepper

# The moves of the joints it knows, and which of their reactions is released along or about z.
RELEASED: dict[tuple[Move, ...] | None, tuple[str, ...]] = {
    (Ball(),): (),
    (Rz,): ("moment",),
    (Rz, Pz): ("force", "moment"),
    (Pz,): ("force",),
}
SINGULAR = 1e-13  # relative size of what counts as zero in the linear system
SEARCHES = 2  # for the joint coordinates that fit the bodies' poses


class Moving(NamedTuple):
    """A body over one step, at its centre of mass in world axes; its accelerations are linear in Q."""

    r: Any
    R: Any
    v: Any
    w: Any
    a: Any  # r̈ (Eq. 9)
    alpha: Any  # (Eq. 10, with C_i of Eq. 13)

    def vector(self, x: Any, h: Any) -> Any:
        """A vector fixed to the body at t + Δt (Eqs. 18, 19)."""
        speed = ca.cross(self.w, x)
        return x + speed * h + 0.5 * (ca.cross(self.alpha, x) + ca.cross(self.w, speed)) * h**2

    def point(self, x: Any, h: Any) -> Any:
        """A point fixed to the body at t + Δt (Eqs. 12 to 14)."""
        return self.r + self.v * h + 0.5 * self.a * h**2 + self.vector(x - self.r, h)


_ZERO = ca.SX.zeros(3, 1)
STILL = Moving(_ZERO, ca.SX.eye(3), _ZERO, _ZERO, _ZERO, _ZERO)


class Reactions(NamedTuple):
    """What the linear system gave."""

    Q: np.ndarray
    matrix: np.ndarray  # of the unknowns, rows over Δt²/2
    released: list[int]  # its rows that say that nothing acts along or about a free axis
    forces: dict[str, np.ndarray]  # on the child at the joint, world axes
    moments: dict[str, np.ndarray]


class StepUnknowns(NamedTuple):
    """Where the reaction of a joint stands in Q: three of force and, unless it is a ball, three of moment."""

    force: slice
    moment: slice


def step_unknowns(joints: Iterable[Joint]) -> dict[str, StepUnknowns]:
    result, at = {}, 0
    for joint in joints:
        middle = at + 3
        end = middle if Ball() in (TYPES[joint.type].moves or ()) else middle + 3
        result[joint.name] = StepUnknowns(slice(at, middle), slice(middle, end))
        at = end
    return result


def reaction_system(eq: Equations) -> ca.Function:
    """(q, v, u, p, Δt) → (A, b) of A Q = −b: conditions at t + Δt over Δt²/2, linear at Q = 0 (Eq. 36)."""
    rows, Q, h, _ = _step(eq)
    b = ca.vertcat(*(value for value, _ in rows)) / (0.5 * h**2)
    out = ca.substitute([ca.jacobian(b, Q), b], [Q], [ca.SX.zeros(Q.shape)])
    names = ["q", "v", "z", "u", "p", "h"], ["A", "b"]
    return dense(ca.Function("reaction_system", [eq.q, eq.v, eq.z, eq.u, eq.p, h], out, *names))


def bodies_after(eq: Equations) -> ca.Function:
    """(q, v, u, p, Δt, Q) → (places, speeds, turns, R, D): all bodies after Δt, a column each.

    Speeds are (ṙ, ω), a turn is the rotation vector from the axes R before. D is ∂(ṙ, ω of all)/∂v before.
    """
    _, Q, h, bodies = _step(eq)
    columns = [
        [b.point(b.r, h) for b in bodies],
        [ca.vertcat(b.v + b.a * h, b.w + b.alpha * h) for b in bodies],
        [b.w * h + 0.5 * b.alpha * h**2 for b in bodies],
        [ca.vec(b.R) for b in bodies],
    ]
    D = ca.jacobian(ca.vertcat(*(x for b in bodies for x in (b.v, b.w))), eq.v)
    out = [*(ca.horzcat(*x) for x in columns), D]
    names = ["q", "v", "z", "u", "p", "h", "reactions"], ["Places", "Speeds", "Turns", "R", "D"]
    return dense(ca.Function("bodies_after", [eq.q, eq.v, eq.z, eq.u, eq.p, h, Q], out, *names))


@once
def _step(eq: Equations) -> tuple[list[tuple[Any, bool]], Any, Any, list[Moving]]:
    """Conditions with whether each is for a released axis, Q, Δt, and the bodies under forces and Q."""
    model, mechanism, tree = eq.model, eq.mechanism, eq.tree
    t, where = terms(eq), step_unknowns(mechanism.joints)
    motion, wrenches = t.motion, dict(t.applied.wrenches)
    Q, h = ca.SX.sym("Q", max(u.moment.stop for u in where.values())), ca.SX.sym("h")

    def act(on: str, back_on: str, r: Any, F: Any, T: Any) -> None:
        push(wrenches, motion, tree.holder[on], r, F, T)
        push(wrenches, motion, tree.holder[back_on], r, -F, -T)

    for k, (link, X, S) in enumerate(zip(tree.links, motion.X, model.subspaces, strict=True)):
        if link.move:  # motors, springs and dampers of the tree's joints
            joint, wrench = mechanism.joint(link.joint), S @ t.applied.tau[link.v]
            outer, inner = (joint.parent, joint.child) if link.reverse else (joint.child, joint.parent)
            act(outer, inner, joint_origin(model, motion, k), X.R @ wrench[3:], X.R @ wrench[:3])
    frames = {}
    for joint in mechanism.joints:
        on = (
            LoopEnd(model, motion, joint.parent, joint.on_parent),
            LoopEnd(model, motion, joint.child, joint.on_child),
        )
        frames[joint.name], (force, moment) = on, where[joint.name]
        act(joint.child, joint.parent, on[1].r, Q[force], Q[moment] if Q[moment].numel() else _ZERO)
    bodies = {b.name: _moving(eq, motion, wrenches, b) for b in mechanism.bodies}
    around, mass = {GROUND: STILL, **bodies}, sum(b.mass for b in mechanism.bodies) / len(bodies)
    rows: list[tuple[Any, bool]] = []
    for joint in mechanism.joints:
        on, moves = frames[joint.name], TYPES[joint.type].moves or ()
        rows += [(x, False) for x in _conditions(moves, around[joint.parent], around[joint.child], *on, h)]
        for part in RELEASED[moves]:
            loose = Q[getattr(where[joint.name], part)] / mass
            rows.append((0.5 * h**2 * ca.dot(on[0].R[:, 2], loose), True))
    return rows, Q, h, list(bodies.values())


def _moving(eq: Equations, motion: Motion, wrenches: Mapping[int, Any], body: Body) -> Moving:
    """A body under all that acts on it."""
    link, local = eq.tree.holder[body.name], eq.model.in_link[body.name]
    X, V, wrench = motion.X[link], motion.V[link], wrenches.get(link, ca.SX.zeros(6, 1))
    com = local.p + local.R @ vector(body.com)
    R, w = X.R @ local.R, X.R @ V[:3]
    force = X.R @ wrench[3:]
    torque = X.R @ wrench[:3] - ca.cross(X.R @ com, force)
    inertia = symmetric(body.inertia)
    alpha = R @ ca.inv(inertia) @ R.T @ (torque - ca.cross(w, R @ inertia @ R.T @ w))
    a = force / body.mass + vector(eq.mechanism.gravity)
    return Moving(X.p + X.R @ com, R, X.R @ (V[3:] + ca.cross(V[:3], com)), w, a, alpha)


def _conditions(
    moves: tuple[Move, ...], i: Moving, j: Moving, on_i: LoopEnd, on_j: LoopEnd, h: Any
) -> list[Any]:
    """What a joint demands at t + Δt (Eqs. 21, 25, 28, 32)."""
    d = j.point(on_j.r, h) - i.point(on_i.r, h)
    rows: list[Any] = [] if Pz in moves else ca.vertsplit(d)
    if Ball() in moves:
        return rows
    z = i.vector(on_i.R[:, 2], h)
    across = on_i.R[:, :2].T  # two of the three rows of a cross product with the axis
    rows += ca.vertsplit(across @ ca.cross(z, j.vector(on_j.R[:, 2], h)))
    if Pz in moves:
        rows += ca.vertsplit(across @ ca.cross(z, d))
        if Rz not in moves:
            rows.append(ca.dot(i.vector(on_i.R[:, 0], h), j.vector(on_j.R[:, 1], h)))
    return rows


class Taylor:
    """Huang's stepper for one simulation."""

    def __init__(self, simulation: Stepper):
        self.simulation, mechanism = simulation, simulation.mechanism
        for joint in mechanism.joints:
            if TYPES[joint.type].moves not in RELEASED:
                known = ", ".join(name for name, kind in TYPES.items() if kind.moves in RELEASED)
                raise SimulationError(
                    f"the stepper 'taylor' has no equations for joint '{joint.name}' of type {joint.type}; "
                    f"it knows {known}"
                )
        if any(any(joint.armature) for joint in mechanism.joints) or any(map(rigid_rotor, mechanism.motors)):
            raise SimulationError("the stepper 'taylor' knows no armatures; model rotors as bodies")
        moving = any(map(tells_motion, mechanism.drives))
        if moving or mechanism.couplings:
            unknown = "driven motions" if moving else "couplings"
            raise SimulationError(
                f"'{mechanism.name}' has {unknown}, which the stepper 'taylor' does not know; use runge_kutta"
            )
        for body in mechanism.bodies:
            inertia = np.array(ca.DM(symmetric(body.inertia)))
            if np.linalg.eigvalsh(inertia).min() < 1e-9 * np.trace(inertia) or not body.mass > 0:
                raise SimulationError(
                    f"the stepper 'taylor' moves every body for itself, so body '{body.name}' needs a mass "
                    "and an inertia about all three axes"
                )

    def _evaluate(self, make: Any, q: np.ndarray, v: np.ndarray, *more: Any) -> list[np.ndarray]:
        s = self.simulation
        result: list[np.ndarray] = s.engine.kernel(make.__name__, make)(q, v, s.z, s.u, s.p, *more)
        return result

    def reactions(self, q: np.ndarray, v: np.ndarray, h: float) -> Reactions:
        """Solve Eq. 36."""
        A, right = self._evaluate(reaction_system, q, v, [h])
        Q = np.linalg.lstsq(A, -right, rcond=SINGULAR)[0]
        where = step_unknowns(self.simulation.mechanism.joints)
        released = [k for k, (_, free) in enumerate(_step(self.simulation.equations)[0]) if free]
        forces = {name: Q[at.force] for name, at in where.items()}
        moments = {name: Q[at.moment] if len(Q[at.moment]) else np.zeros(3) for name, at in where.items()}
        return Reactions(Q, A, released, forces, moments)

    def step(self, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Move every body by its Taylor polynomial, then read the joints' coordinates and speeds.

        The tree's joints can't open, so the nearest coordinates in the sense of least squares are
        taken; gaps that the method leaves show in the loops.
        """
        from scipy.spatial.transform import Rotation  # few need it, and SciPy takes a while to import

        s, Q = self.simulation, self.reactions(q, v, h).Q
        places, speeds, turns, R, _ = self._evaluate(bodies_after, q, v, [h], Q)
        goal = Rotation.from_rotvec(turns.T) * _axes(R)
        q1 = s.engine.retract(q, h * v)
        for _ in range(SEARCHES):
            r, _, _, R, D = self._evaluate(bodies_after, q1, v, [0.0], Q)
            miss = np.hstack([(places - r).T, (goal * _axes(R).inv()).as_rotvec()])
            q1 = s.engine.retract(q1, np.linalg.lstsq(D, miss.ravel(), rcond=None)[0])
        D = self._evaluate(bodies_after, q1, v, [0.0], Q)[-1]
        v1 = np.linalg.lstsq(D, speeds.T.ravel(), rcond=None)[0]
        rates = s.engine.kernels.rates
        power = rates(q, v, s.z, s.u, s.p)[3] + rates(q1, v1, s.z, s.u, s.p)[3]
        return q1, v1, 0.5 * h * float(power[0])


def _axes(R: np.ndarray) -> Any:
    """SciPy's rotations of columns of nine numbers each."""
    from scipy.spatial.transform import Rotation  # few need it, and SciPy takes a while to import

    return Rotation.from_matrix(R.T.reshape(-1, 3, 3).swapaxes(1, 2))
