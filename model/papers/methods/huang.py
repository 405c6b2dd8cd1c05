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

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from ...describe.mechanism import GROUND, Joint
from ...equations.forces import applied, push
from ...equations.kinematics import outward
from ...equations.loops import End, cut_loops
from ...equations.terms import Equations, dense
from ...errors import SimulationError
from ...joints.euler import tilde
from ...joints.moves import Ball, Move, Pz, Rz
from ...joints.rigid_motion import vector
from ...joints.types import TYPES
from ...state import LiveState

# The moves of the joints it knows, and which of their reactions (force 0, moment 3) is released along z.
RELEASED = {(Ball(),): (), (Rz,): (3,), (Rz, Pz): (0, 3), (Pz,): (0,)}
SINGULAR = 1e-13  # relative size of what counts as zero in the linear system
SEARCHES = 2  # for the joint coordinates that fit the bodies' poses


class BodyState(NamedTuple):
    """One body at its centre of mass, in world axes."""

    r: np.ndarray
    R: np.ndarray
    v: np.ndarray
    w: np.ndarray
    force: np.ndarray  # applied, gravity included
    torque: np.ndarray  # applied, about the centre of mass


@dataclass
class Moving:
    """A body with its accelerations (r̈, α): what they are, and what a reaction adds to them."""

    state: BodyState
    a: np.ndarray
    alpha: np.ndarray
    L: np.ndarray  # ∂r̈/∂Q
    W: np.ndarray  # ∂α/∂Q
    inverse: np.ndarray  # of the inertia, world axes

    @staticmethod
    def ground(size: int) -> Moving:
        z, zero = np.zeros(3), np.zeros((3, size))
        return Moving(BodyState(z, np.eye(3), z, z, z, z), z, z, zero, zero, np.zeros((3, 3)))

    def vector(self, x: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """A vector fixed to the body at t + Δt, and its derivative by Q (Eqs. 18, 19)."""
        speed = _cross(self.state.w, x)
        second = _cross(self.alpha, x) + _cross(self.state.w, speed)
        return x + speed * h + 0.5 * second * h**2, -0.5 * h**2 * (tilde(x) @ self.W)

    def point(self, x: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """A point fixed to the body at t + Δt, and its derivative by Q (Eqs. 12 to 14)."""
        r, slope = self.vector(x - self.state.r, h)
        moved = self.state.r + self.state.v * h + 0.5 * self.a * h**2
        return moved + r, slope + 0.5 * h**2 * self.L


class Reactions(NamedTuple):
    """What the linear system gave."""

    Q: np.ndarray
    matrix: np.ndarray  # of the unknowns, rows over Δt²/2
    released: list[int]  # its rows that say that nothing acts along or about a free axis
    forces: dict[str, np.ndarray]  # on the child at the joint, world axes
    moments: dict[str, np.ndarray]


def cartesian(eq: Equations) -> ca.Function:
    """(q, v, u, p) → (B, J, D): bodies, joints and ∂(velocities)/∂v in world axes.

    A column of B is (r, R, ṙ, ω, force, torque) of a body at its centre of mass, one of J is
    (r_i, R_i, r_j, R_j) of a joint's two frames.
    """
    model, mechanism = eq.model, eq.mechanism
    motion = outward(model, eq.q, eq.v)
    loops = cut_loops(model, motion)
    act = applied(model, motion, loops, eq.q, eq.v, eq.u)
    wrenches = dict(act.wrenches)
    for i, link in enumerate(eq.tree.links):
        if link.move:
            S = model.subspaces[i] @ act.tau[link.v]
            X = motion.X[i]
            F, T = X.R @ S[3:], X.R @ S[:3]
            push(wrenches, motion, i, X.p, F, T)
            push(wrenches, motion, link.parent, X.p, -F, -T)
    columns, speeds = [], []
    for body in mechanism.bodies:
        i, local = eq.tree.holder[body.name], model.in_link[body.name]
        X, V = motion.X[i], motion.V[i]
        com = local.p + local.R @ vector(body.com)
        w = X.R @ V[:3]
        v = X.R @ (V[3:] + ca.cross(V[:3], com))
        wrench = wrenches.get(i, ca.SX.zeros(6, 1))
        F = X.R @ wrench[3:]
        torque = X.R @ wrench[:3] - ca.cross(X.R @ com, F)
        force = F + body.mass * vector(mechanism.gravity)
        columns.append(ca.vertcat(X.p + X.R @ com, ca.vec(X.R @ local.R), v, w, force, torque))
        speeds += [v, w]
    ends = []
    for joint in mechanism.joints:
        on = (
            End(model, motion, joint.parent, joint.on_parent),
            End(model, motion, joint.child, joint.on_child),
        )
        ends.append(ca.vertcat(on[0].r, ca.vec(on[0].R), on[1].r, ca.vec(on[1].R)))
    D = ca.jacobian(ca.vertcat(*speeds), eq.v)
    names = ["q", "v", "u", "p"], ["B", "J", "D"]
    out = [ca.horzcat(*columns), ca.horzcat(*ends), D]
    return dense(ca.Function("cartesian", [eq.q, eq.v, eq.u, eq.p], out, *names))


class Taylor:
    """Huang's stepper for one simulation."""

    def __init__(self, simulation: LiveState):
        self.simulation = simulation
        mechanism = simulation.mechanism
        for joint in mechanism.joints:
            if TYPES[joint.type].moves not in RELEASED:
                known = ", ".join(name for name, kind in TYPES.items() if kind.moves in RELEASED)
                raise SimulationError(
                    f"the stepper 'taylor' has no equations for joint '{joint.name}' of type {joint.type}; "
                    f"it knows {known}"
                )
        if any(any(joint.armature) for joint in mechanism.joints):
            raise SimulationError("the stepper 'taylor' knows no armatures; model rotors as bodies")
        self.index = {body.name: k for k, body in enumerate(mechanism.bodies)}
        self.mass = np.array([float(body.mass) for body in mechanism.bodies])
        self.inertia = [_matrix(body.inertia) for body in mechanism.bodies]
        for body, inertia in zip(mechanism.bodies, self.inertia, strict=True):
            if np.linalg.eigvalsh(inertia).min() < 1e-9 * np.trace(inertia) or not body.mass > 0:
                raise SimulationError(
                    f"the stepper 'taylor' moves every body for itself, so body '{body.name}' needs a mass "
                    "and an inertia about all three axes"
                )
        self._kernel = simulation.engine.kernel("cartesian", cartesian)

    def states(self, q: np.ndarray, v: np.ndarray) -> tuple[list[BodyState], np.ndarray, np.ndarray]:
        s = self.simulation
        B, J, D = self._kernel(q, v, s.u, s.p)
        bodies = [
            BodyState(x[:3], x[3:12].reshape(3, 3, order="F"), x[12:15], x[15:18], x[18:21], x[21:24])
            for x in B.T
        ]
        return bodies, J.T, D

    def reactions(self, q: np.ndarray, v: np.ndarray, h: float) -> tuple[Reactions, list[Moving]]:
        """Solve Eq. 36; also how every body moves under its reactions."""
        states, ends, _ = self.states(q, v)
        joints = self.simulation.mechanism.joints
        places, size = [], 0
        for joint in joints:
            places.append(size)
            size += 6 if _has_moment(joint) else 3
        bodies = [self._free(k, state, size) for k, state in enumerate(states)]
        for joint, at, end in zip(joints, places, ends, strict=True):
            self._react(bodies, joint, at, end[12:15])
        rows: list[np.ndarray] = []
        right: list[float] = []
        released: list[int] = []
        still = Moving.ground(size)
        for joint, at, end in zip(joints, places, ends, strict=True):
            i, j = (still if n == GROUND else bodies[self.index[n]] for n in (joint.parent, joint.child))
            for value, slope in _joint_rows(TYPES[joint.type].moves or (), i, j, end, h):
                rows.append(slope / (0.5 * h**2))
                right.append(-value / (0.5 * h**2))
            for offset in RELEASED[TYPES[joint.type].moves or ()]:
                row = np.zeros(size)
                row[at + offset : at + offset + 3] = end[9:12] / self.mass.mean()
                released.append(len(rows))
                rows.append(row)
                right.append(0.0)
        A = np.array(rows).reshape(-1, size)
        Q = np.linalg.lstsq(A, np.array(right), rcond=SINGULAR)[0]
        forces = {j.name: Q[at : at + 3] for j, at in zip(joints, places, strict=True)}
        moments = {
            j.name: Q[at + 3 : at + 6] if _has_moment(j) else np.zeros(3)
            for j, at in zip(joints, places, strict=True)
        }
        for body in bodies:
            body.a, body.alpha = body.a + body.L @ Q, body.alpha + body.W @ Q
        return Reactions(Q, A, released, forces, moments), bodies

    def _free(self, k: int, state: BodyState, size: int) -> Moving:
        """A body under applied forces alone (Eqs. 9, 10, with C_i of Eq. 13)."""
        world = state.R @ self.inertia[k] @ state.R.T
        inverse = np.linalg.inv(world)
        alpha = inverse @ (state.torque - _cross(state.w, world @ state.w))
        zero = np.zeros((3, size))
        return Moving(state, state.force / self.mass[k], alpha, zero, zero.copy(), inverse)

    def _react(self, bodies: list[Moving], joint: Joint, at: int, r: np.ndarray) -> None:
        """A joint's reaction on both its bodies, at one point r (Eqs. 14, 20, 34, 35)."""
        for name, sign in ((joint.parent, -1.0), (joint.child, 1.0)):
            if name == GROUND:
                continue
            body = bodies[self.index[name]]
            body.L[:, at : at + 3] += sign * np.eye(3) / self.mass[self.index[name]]
            body.W[:, at : at + 3] += sign * body.inverse @ tilde(r - body.state.r)
            if _has_moment(joint):
                body.W[:, at + 3 : at + 6] += sign * body.inverse

    def step(self, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Move every body by its Taylor polynomial, then read the joints' coordinates and speeds.

        The tree's joints can't open, so the nearest coordinates in the sense of least squares are
        taken; gaps that the method leaves show in the loops.
        """
        s = self.simulation
        goal, speeds = [], []
        for body in self.reactions(q, v, h)[1]:
            x = body.state
            turn = _rotation(x.w * h + 0.5 * body.alpha * h**2)
            goal.append((x.r + x.v * h + 0.5 * body.a * h**2, turn @ x.R))
            speeds += [x.v + body.a * h, x.w + body.alpha * h]
        q1 = s.engine.retract(q, h * v)
        for _ in range(SEARCHES):
            found, _, D = self.states(q1, v)
            miss = [x for (r, R), b in zip(goal, found, strict=True) for x in (r - b.r, _angle(R @ b.R.T))]
            q1 = s.engine.retract(q1, np.linalg.lstsq(D, np.concatenate(miss), rcond=None)[0])
        v1 = np.linalg.lstsq(self.states(q1, v)[2], np.concatenate(speeds), rcond=None)[0]
        power = s.engine.kernel("rates")(q, v, s.u, s.p)[2] + s.engine.kernel("rates")(q1, v1, s.u, s.p)[2]
        return q1, v1, 0.5 * h * float(power[0])


def _has_moment(joint: Joint) -> bool:
    return Ball() not in (TYPES[joint.type].moves or ())


def _joint_rows(moves: tuple[Move, ...], i: Moving, j: Moving, end: np.ndarray, h: float) -> list[Any]:
    """Conditions at t + Δt with Q = 0, and their derivatives by Q (Eqs. 21, 25, 28, 32)."""
    Ri, Rj = end[3:12].reshape(3, 3, order="F"), end[15:24].reshape(3, 3, order="F")
    (pi, dpi), (pj, dpj) = i.point(end[:3], h), j.point(end[12:15], h)
    d, dd = pj - pi, dpj - dpi
    rows: list[Any] = []
    if Pz not in moves:
        rows += list(zip(d, dd, strict=True))
    if Ball() in moves:
        return rows
    (zi, dzi), (zj, dzj) = i.vector(Ri[:, 2], h), j.vector(Rj[:, 2], h)
    across = Ri[:, :2].T  # two of the three rows of a cross product with the axis
    parallel = across @ _cross(zi, zj), across @ (tilde(zi) @ dzj - tilde(zj) @ dzi)
    rows += list(zip(*parallel, strict=True))
    if Pz not in moves:
        return rows
    along = across @ _cross(zi, d), across @ (tilde(zi) @ dd - tilde(d) @ dzi)
    rows += list(zip(*along, strict=True))
    if Rz not in moves:
        (xi, dxi), (yj, dyj) = i.vector(Ri[:, 0], h), j.vector(Rj[:, 1], h)
        rows.append((xi @ yj, xi @ dyj + yj @ dxi))
    return rows


def _matrix(six: Any) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = (float(x) for x in six)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a × b; NumPy's own spends most of its time on shapes."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _rotation(x: np.ndarray) -> np.ndarray:
    return Rotation.from_rotvec(x).as_matrix()


def _angle(R: np.ndarray) -> np.ndarray:
    return Rotation.from_matrix(R).as_rotvec()
