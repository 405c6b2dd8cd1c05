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

from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from ..compile import Kernel, kernel
from ..description import GROUND
from ..equations import Equations, dense
from ..errors import SimulationError
from ..forces import applied, push
from ..kinematics import motion, subspace
from ..loops import End, loops
from ..spatial import vector

if TYPE_CHECKING:
    from ..simulation import Simulation

TYPES = ("spherical", "revolute", "cylindrical", "prismatic")
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
    move = motion(model, eq.q, eq.v)
    closed = loops(model, move)
    act = applied(model, move, closed, eq.q, eq.v, eq.u)
    wrenches = dict(act.wrenches)
    for i, link in enumerate(eq.tree.links):
        if link.move:
            S = subspace(link, mechanism.joint(link.joint)) @ act.tau[link.v]
            X = move.X[i]
            F, T = X.R @ S[3:], X.R @ S[:3]
            push(wrenches, move, i, X.p, F, T)
            push(wrenches, move, link.parent, X.p, -F, -T)
    columns, speeds = [], []
    for body in mechanism.bodies:
        i, local = eq.tree.holder[body.name], model.in_link[body.name]
        X, V = move.X[i], move.V[i]
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
        i, j = End(model, move, joint.parent, joint.on_parent), End(model, move, joint.child, joint.on_child)
        ends.append(ca.vertcat(i.r, ca.vec(i.R), j.r, ca.vec(j.R)))
    D = ca.jacobian(ca.vertcat(*speeds), eq.v)
    names = ["q", "v", "u", "p"], ["B", "J", "D"]
    out = [ca.horzcat(*columns), ca.horzcat(*ends), D]
    return dense(ca.Function("cartesian", [eq.q, eq.v, eq.u, eq.p], out, *names))


class Taylor:
    """Huang's stepper for one simulation."""

    def __init__(self, simulation: Simulation):
        self.simulation = simulation
        mechanism = simulation.mechanism
        for joint in mechanism.joints:
            if joint.type not in TYPES:
                raise SimulationError(
                    f"the stepper 'taylor' has no equations for joint '{joint.name}' of type {joint.type}; "
                    f"it knows {', '.join(TYPES)}"
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
        self._kernel: Kernel = kernel(cartesian(simulation._equations), simulation._compile)

    def states(self, q: np.ndarray, v: np.ndarray) -> tuple[list[BodyState], np.ndarray, np.ndarray]:
        s = self.simulation
        B, J, D = self._kernel(q, v, s._u, s._p)
        bodies = [
            BodyState(x[:3], x[3:12].reshape(3, 3, order="F"), x[12:15], x[15:18], x[18:21], x[21:24])
            for x in B.T
        ]
        return bodies, J.T, D

    def reactions(self, q: np.ndarray, v: np.ndarray, h: float) -> tuple[Reactions, list[Any]]:
        """Solve Eq. 36; also each body's state and accelerations (r̈, α) in world axes."""
        bodies, ends, _ = self.states(q, v)
        joints = self.simulation.mechanism.joints
        places, size = [], 0
        for joint in joints:
            places.append(size)
            size += 3 if joint.type == "spherical" else 6
        # Accelerations: free part and coefficients of Q, for every body.
        free, linear = [], []
        for k, body in enumerate(bodies):
            world = body.R @ self.inertia[k] @ body.R.T
            inverse = np.linalg.inv(world)
            alpha = inverse @ (body.torque - _cross(body.w, world @ body.w))
            free.append((body.force / self.mass[k], alpha))
            linear.append((np.zeros((3, size)), np.zeros((3, size)), inverse))
        for joint, at, end in zip(joints, places, ends, strict=True):
            r = end[12:15]  # both sides feel the reaction at the same point
            for name, sign in ((joint.parent, -1.0), (joint.child, 1.0)):
                if name == GROUND:
                    continue
                k = self.index[name]
                L, W, inverse = linear[k]
                L[:, at : at + 3] += sign * np.eye(3) / self.mass[k]
                W[:, at : at + 3] += sign * inverse @ _tilde(r - bodies[k].r)
                if joint.type != "spherical":
                    W[:, at + 3 : at + 6] += sign * inverse
        rows, right, held = [], [], []
        for joint, at, end in zip(joints, places, ends, strict=True):
            point_i, frame_i = end[:3], end[3:12].reshape(3, 3, order="F")
            point_j, frame_j = end[12:15], end[15:24].reshape(3, 3, order="F")

            def carried(name: str, x: np.ndarray, is_point: bool) -> tuple[np.ndarray, np.ndarray]:
                """A point or vector of a body at t + Δt, and its derivative by Q."""
                if name == GROUND:
                    return x, np.zeros((3, size))
                body, (a, alpha), (L, W, _) = (table[self.index[name]] for table in (bodies, free, linear))
                d = x - body.r if is_point else x
                speed = _cross(body.w, d)
                second = _cross(alpha, d) + _cross(body.w, speed)
                slope = -_tilde(d) @ W
                if is_point:
                    speed, second, slope = speed + body.v, second + a, slope + L
                return x + speed * h + 0.5 * second * h**2, 0.5 * h**2 * slope

            new = _joint_rows(joint, frame_i, frame_j, point_i, point_j, carried)
            axis = frame_i[:, 2]
            for value, slope in new:
                rows.append(slope / (0.5 * h**2))
                right.append(-value / (0.5 * h**2))
            released = {"revolute": (3,), "cylindrical": (0, 3), "prismatic": (0,)}.get(joint.type, ())
            for offset in released:  # nothing acts along or about the free axis
                row = np.zeros(size)
                row[at + offset : at + offset + 3] = axis / self.mass.mean()
                held.append(len(rows))
                rows.append(row)
                right.append(0.0)
        A = np.array(rows).reshape(-1, size)
        Q = np.linalg.lstsq(A, np.array(right), rcond=SINGULAR)[0]
        forces = {j.name: Q[at : at + 3] for j, at in zip(joints, places, strict=True)}
        moments = {
            j.name: Q[at + 3 : at + 6] if j.type != "spherical" else np.zeros(3)
            for j, at in zip(joints, places, strict=True)
        }
        moving = [
            (body, a + L @ Q, alpha + W @ Q)
            for body, (a, alpha), (L, W, _) in zip(bodies, free, linear, strict=True)
        ]
        return Reactions(Q, A, held, forces, moments), moving

    def step(self, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Move every body by its Taylor polynomial, then read the joints' coordinates and speeds.

        The tree's joints can't open, so the nearest coordinates in the sense of least squares are
        taken; gaps that the method leaves show in the loops.
        """
        s = self.simulation
        goal, speeds = [], []
        for body, a, alpha in self.reactions(q, v, h)[1]:
            turn = _rotation(body.w * h + 0.5 * alpha * h**2)
            goal.append((body.r + body.v * h + 0.5 * a * h**2, turn @ body.R))
            speeds += [body.v + a * h, body.w + alpha * h]
        q1 = s._kernel("retraction")(q, h * v)
        for _ in range(SEARCHES):
            found, _, D = self.states(q1, v)
            miss = [x for (r, R), b in zip(goal, found, strict=True) for x in (r - b.r, _angle(R @ b.R.T))]
            q1 = s._kernel("retraction")(q1, np.linalg.lstsq(D, np.concatenate(miss), rcond=None)[0])
        v1 = np.linalg.lstsq(self.states(q1, v)[2], np.concatenate(speeds), rcond=None)[0]
        power = s._kernel("rates")(q, v, s._u, s._p)[2] + s._kernel("rates")(q1, v1, s._u, s._p)[2]
        return q1, v1, 0.5 * h * float(power[0])


def _joint_rows(joint: Any, Ri: Any, Rj: Any, ri: Any, rj: Any, carried: Any) -> list[Any]:
    """Conditions at t + Δt with Q = 0, and their derivatives by Q (Eqs. 21, 25, 28, 32)."""
    pi, dpi = carried(joint.parent, ri, True)
    pj, dpj = carried(joint.child, rj, True)
    d, dd = pj - pi, dpj - dpi
    rows = []
    if joint.type in ("spherical", "revolute"):
        rows += list(zip(d, dd, strict=True))
    if joint.type == "spherical":
        return rows
    zi, dzi = carried(joint.parent, Ri[:, 2], False)
    zj, dzj = carried(joint.child, Rj[:, 2], False)
    across = Ri[:, :2].T  # two of the three rows of a cross product with the axis
    parallel = across @ _cross(zi, zj), across @ (_tilde(zi) @ dzj - _tilde(zj) @ dzi)
    rows += list(zip(*parallel, strict=True))
    if joint.type == "revolute":
        return rows
    along = across @ _cross(zi, d), across @ (_tilde(zi) @ dd - _tilde(d) @ dzi)
    rows += list(zip(*along, strict=True))
    if joint.type == "prismatic":
        xi, dxi = carried(joint.parent, Ri[:, 0], False)
        yj, dyj = carried(joint.child, Rj[:, 1], False)
        rows.append((xi @ yj, xi @ dyj + yj @ dxi))
    return rows


def _matrix(six: Any) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = (float(x) for x in six)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a × b; NumPy's own spends most of its time on shapes."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _tilde(x: np.ndarray) -> np.ndarray:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def _rotation(x: np.ndarray) -> np.ndarray:
    return Rotation.from_rotvec(x).as_matrix()


def _angle(R: np.ndarray) -> np.ndarray:
    return Rotation.from_matrix(R).as_rotvec()
