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

from functools import cache
from types import SimpleNamespace
from typing import NamedTuple

import casadi as ca
import numpy as np

from ..describe.mechanism import GROUND, Frame, Joint, Mechanism
from ..equations.topology import Link, Tree, span
from ..joints import euler
from ..joints.moves import Move
from .constraints import Constraint, Pose, Vector, pose, relative

Array = np.ndarray


class MoveSlopes(NamedTuple):
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
    moves: tuple[MoveSlopes, ...]


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
        reverse = next(link.reverse for link in self.tree.links if link.joint == name)
        inner, outer = (joint.on_child, joint.on_parent) if reverse else (joint.on_parent, joint.on_child)
        moves = tuple(_slopes(m, link, self.q, joint) for m, link in self.tree.moves if link.joint == name)
        return Step(*_frame(inner), *_frame(outer), _turned(moves), _slid(moves), moves)


def _frame(frame: Frame) -> tuple[Array, Array]:
    e = np.asarray(frame.orientation, float)
    return euler.rotation(e / np.linalg.norm(e)), np.asarray(frame.position, float)


def _turned(moves: tuple[MoveSlopes, ...]) -> Array:
    A = np.eye(3)
    for move in moves:
        A = A @ move.R
    return A


def _slid(moves: tuple[MoveSlopes, ...]) -> Array:
    d = np.zeros(3)
    for move in reversed(moves):
        d = move.t + move.R @ d
    return d


def _slopes(move: Move, link: Link, q: Array, joint: Joint) -> MoveSlopes:
    """A move of the tree; a reversed joint undoes its moves in opposite order."""
    fields = [getattr(joint, name) for name in move.fields]
    e, t, e_q, t_q = (np.array(x) for x in _traced(move, link.reverse)(q[link.q], *fields))
    K = np.stack([euler.derivative(axis, e.ravel()) @ e_q for axis in np.eye(3)], axis=1)  # (3, axis, nq)
    return MoveSlopes(link.q, euler.rotation(e.ravel()), t.ravel(), np.moveaxis(K, -1, 0), t_q)


@cache
def _traced(move: Move, reverse: bool) -> ca.Function:
    """(q, fields) → Euler parameters and slide of a move, and their derivatives by q."""
    q, fields = ca.SX.sym("q", move.nq), {name: ca.SX.sym(name) for name in move.fields}
    e, t = move.euler_parameters(q, reverse), move.pose(q, SimpleNamespace(**fields), reverse).p
    results = [ca.densify(x) for x in (e, t, ca.jacobian(e, q), ca.jacobian(t, q))]
    return ca.Function("move", [q, *fields.values()], results)


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
