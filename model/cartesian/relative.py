"""Poses and their derivatives along a chain of joints (paper 000, 2.2), for any joint in the path.

The coordinates are those of the engine's spanning tree; a ball's Euler parameters enter through
A'' = E Gᵀ, not normalised, and K(u, p) is its derivative. With body i hung on body i−1,

    A_i = A_{i−1} C_{i−1,i} A'' C_{i,i−1}ᵀ,  r_i = r_{i−1} + s_{i−1,i} + d − s_{i,i−1}   (9, 10)
    J_i(u) = J_{i−1}(C A'' Cᵀ u) + [0 A_{i−1} C J''(Cᵀ u) 0]                             (13)
    Jʳ_i = Jʳ_{i−1} + J_{i−1}(s'_{i−1,i}) + J_{i−1}(C d'') + [0 A_{i−1} C D 0] − J_i(s'_{i,i−1})  (16)

J_i(u) is ∂(A_i u)/∂q and Jʳ_i is ∂r_i/∂q. Eq. 16 prints J_i(s'_{i−1,i}) and s''_{i,i−1}; Definition 2
leaves u out of J''(u) δq = δA'' u.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..describe.mechanism import GROUND, Frame, Mechanism
from ..equations.kinematics import ROTATIONS, SLIDES
from ..equations.topology import Tree, span
from ..joints.types import TYPES
from . import euler
from .constraints import Constraint, Pose, Vector, pose, relative

Array = np.ndarray


class Move(NamedTuple):
    """One elementary move: rotation R and slide t with their derivatives by its coordinates."""

    q: slice
    R: Array
    t: Array
    dR: Array  # (coordinates, 3, 3)
    dt: Array  # (3, coordinates)


class Step(NamedTuple):
    """A joint between two neighbours: the frames, A'', d'' and the moves they are made of."""

    C_in: Array
    s_in: Array
    C_out: Array
    s_out: Array
    A: Array
    d: Array
    moves: tuple[Move, ...]


class Chain:
    """The joints from ground to every body at coordinates q of a mechanism's spanning tree."""

    def __init__(self, mechanism: Mechanism, q: Array, tree: Tree | None = None):
        self.mechanism, self.q = mechanism, np.asarray(q, float)
        self.tree = tree or span(mechanism)

    def steps(self, body: str) -> list[Step]:
        """The joints on the path from ground to a body, in order."""
        names: list[str] = []
        for k in self.tree.path(self.tree.holder[body]):
            if self.tree.links[k].first:
                names.append(self.tree.links[k].joint)
        return [self._step(name) for name in names]

    def pose(self, body: str) -> tuple[Array, Array]:
        """r and A of a body (Eqs. 9, 10)."""
        r, A = np.zeros(3), np.eye(3)
        for s in self.steps(body):
            A_out = A @ s.C_in @ s.A @ s.C_out.T
            r, A = r + A @ (s.s_in + s.C_in @ s.d) - A_out @ s.s_out, A_out
        return r, A

    def by_vector(self, body: str, u: Vector | Array) -> Array:
        """J_i(u), (3, nq)."""
        return self._by_vector(self.steps(body), np.asarray(u, float))

    def _by_vector(self, steps: list[Step], u: Array) -> Array:
        J = np.zeros((3, len(self.q)))
        for n in reversed(range(len(steps))):
            s = steps[n]
            inner = s.C_out.T @ u
            J += self._turn(steps[:n]) @ s.C_in @ self._joint_by_vector(s, inner)
            u = s.C_in @ s.A @ inner
        return J

    def by_origin(self, body: str) -> Array:
        """Jʳ_i, (3, nq)."""
        steps = self.steps(body)
        J = np.zeros((3, len(self.q)))
        for n, s in enumerate(steps):
            J += self._by_vector(steps[:n], s.s_in + s.C_in @ s.d)
            J += self._turn(steps[:n]) @ s.C_in @ self._joint_by_origin(s)
            J -= self._by_vector(steps[: n + 1], s.s_out)
        return J

    @staticmethod
    def _turn(steps: list[Step]) -> Array:
        A = np.eye(3)
        for s in steps:
            A = A @ s.C_in @ s.A @ s.C_out.T
        return A

    def _joint_by_vector(self, step: Step, u: Array) -> Array:
        """J''(u) = ∂(A'' u)/∂q, (3, nq)."""
        J = np.zeros((3, len(self.q)))
        for n, move in enumerate(step.moves):
            inner = u
            for later in reversed(step.moves[n + 1 :]):
                inner = later.R @ inner
            J[:, move.q] = _turned(step.moves[:n]) @ np.stack([dR @ inner for dR in move.dR], axis=-1)
        return J

    def _joint_by_origin(self, step: Step) -> Array:
        """D = ∂d''/∂q, (3, nq): each move's own slide, and its turn of the slides behind it."""
        D = np.zeros((3, len(self.q)))
        for n, move in enumerate(step.moves):
            behind = _slid(step.moves[n + 1 :])
            D[:, move.q] = _turned(step.moves[:n]) @ (
                move.dt + np.stack([dR @ behind for dR in move.dR], axis=-1)
            )
        return D

    def _step(self, name: str) -> Step:
        joint = self.mechanism.joint(name)
        links = [link for link in self.tree.links if link.joint == name]
        reverse = links[0].reverse
        inner, outer = (joint.on_child, joint.on_parent) if reverse else (joint.on_parent, joint.on_child)
        moves = tuple(
            _move(x.move, x.q, self.q[x.q], reverse, joint.pitch) for x in links if TYPES[joint.type].moves
        )
        return Step(*_frame(inner), *_frame(outer), _turned(moves), _slid(moves), moves)


def _frame(frame: Frame) -> tuple[Array, Array]:
    e = np.asarray(frame.orientation, float)
    return euler.rotation(e / np.linalg.norm(e)), np.asarray(frame.position, float)


def _turned(moves: tuple[Move, ...]) -> Array:
    A = np.eye(3)
    for move in moves:
        A = A @ move.R
    return A


def _slid(moves: tuple[Move, ...]) -> Array:
    d = np.zeros(3)
    for move in reversed(moves):
        d = move.t + move.R @ d
    return d


def _move(kind: str, where: slice, q: Array, reverse: bool, pitch: float) -> Move:
    """A move of the tree; a reversed joint undoes its moves in opposite order."""
    sign = -1.0 if reverse else 1.0
    R, t = np.eye(3), np.zeros(3)
    dR, dt = np.zeros((len(q), 3, 3)), np.zeros((3, len(q)))
    if kind == "Q":
        p = euler.conjugate(q) if reverse else q
        flip = euler.CONJUGATE if reverse else np.eye(4)
        K = np.stack([euler.derivative(axis, p) @ flip for axis in np.eye(3)], axis=1)  # (3, axis, 4)
        return Move(where, euler.rotation(p), t, np.moveaxis(K, -1, 0), dt)
    if kind in ROTATIONS:
        axis = np.eye(3)[ROTATIONS[kind]]
        c, s, n = np.cos(q[0]), sign * np.sin(q[0]), euler.tilde(axis)
        R = np.eye(3) + s * n + (1 - c) * n @ n
        dR[0] = sign * R @ n
        if kind == "Hz":
            t, dt[:, 0] = sign * pitch * q[0] * axis, sign * pitch * axis
    elif kind in SLIDES:
        axis = np.eye(3)[SLIDES[kind]]
        t, dt[:, 0] = sign * q[0] * axis, sign * axis
    return Move(where, R, t, dR, dt)


def jacobian(constraint: Constraint, chain: Chain) -> tuple[Array, Array]:
    """Residual (m,) and Φ_q (m, nq) of a constraint in relative coordinates (Eqs. 17, 20)."""
    ends = (constraint.body1, constraint.body2)
    value = constraint.evaluate(*(_pose(chain, body) for body in ends))
    J = np.zeros((constraint.rows, len(chain.q)))
    for body, side in zip(ends, (value.side1, value.side2), strict=True):
        if body != GROUND:
            J += relative(side, chain.by_origin(body), lambda u, b=body: chain.by_vector(b, u))  # type: ignore[misc]
    return value.residual, J


def _pose(chain: Chain, body: str) -> Pose:
    if body == GROUND:
        return pose(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    r, A = chain.pose(body)
    # A may be a product with unnormalised balls: it is not the A(p) of any p of its own.
    return Pose(r, np.full(4, np.nan), A)
