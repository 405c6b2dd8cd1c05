"""Poses and their derivatives along a chain of joints (paper 000, 2.2), for any joint in the path.

The coordinates are those of the engine's spanning tree; a ball's Euler parameters enter through
A'' = E Gᵀ, not normalised, and K(u, p) is its derivative. On the way to a body a joint is a fixed
motion to its frame, its elementary moves, and a fixed motion from its frame on the other side. For each of
these, x ↦ R x + t in the axes before it,

    A_i = A_{i−1} R,   r_i = r_{i−1} + A_{i−1} t                             (9, 10)
    J_i(u) = J_{i−1}(R u) + A_{i−1} ∂(R u)/∂q                                (13)
    Jʳ_i = Jʳ_{i−1} + J_{i−1}(t) + A_{i−1} ∂t/∂q                             (16)

J_i(u) is ∂(A_i u)/∂q and Jʳ_i is ∂r_i/∂q. Written joint by joint these are the paper's equations. Eq. 16
prints J_i(s'_{i−1,i}) and s''_{i,i−1}; Definition 2 leaves u out of J''(u) δq = δA'' u.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import NamedTuple

import casadi as ca
import numpy as np
from cutjoint.model.cartesian.constraints import BodyPose, Constraint, Vector
from cutjoint.model.describe.mechanism import GROUND, Frame, Joint, Mechanism
from cutjoint.model.equations.topology import Link, Tree
from cutjoint.model.joints import euler
from cutjoint.model.joints.moves import Move

Array = np.ndarray


class Step(NamedTuple):
    """A motion x ↦ R x + t on the way to a body, with its derivatives by the coordinates `q` of the tree."""

    R: Array
    t: Array
    q: slice = slice(0, 0)
    dR: Array = np.zeros((3, 3, 0))
    dt: Array = np.zeros((3, 0))


class Slopes(NamedTuple):
    """Pose of a body and its derivatives by all coordinates."""

    r: Array
    A: Array
    by_origin: Array  # Jʳ, (3, nq)
    dA: Array  # (3, 3, nq)

    def by_vector(self, u: Vector | Array) -> Array:
        """J(u), (3, nq)."""
        return np.einsum("ijq,j->iq", self.dA, np.asarray(u, float))

    def after(self, step: Step) -> Slopes:
        """The recursion: the same for what lies one step further out."""
        by_origin = self.by_origin + self.by_vector(step.t)
        by_origin[:, step.q] += self.A @ step.dt
        dA = np.einsum("ijq,jk->ikq", self.dA, step.R)
        dA[:, :, step.q] += np.einsum("ij,jkq->ikq", self.A, step.dR)
        return Slopes(self.r + self.A @ step.t, self.A @ step.R, by_origin, dA)


def on_ground(nq: int) -> Slopes:
    return Slopes(np.zeros(3), np.eye(3), np.zeros((3, nq)), np.zeros((3, 3, nq)))


def body_slopes(mechanism: Mechanism, tree: Tree, q: Array, body: str) -> Slopes:
    """Pose and slopes of a body at coordinates q of a mechanism's spanning tree."""
    found = on_ground(len(q))
    for step in steps(mechanism, tree, q, body):
        found = found.after(step)
    return found


def steps(mechanism: Mechanism, tree: Tree, q: Array, body: str) -> list[Step]:
    """The motions from ground to a body, in order."""
    result = []
    for link in (tree.links[k] for k in tree.path(tree.holder[body])):
        joint = mechanism.joint(link.joint)
        inner, outer = joint.on_parent, joint.on_child
        if link.reverse:
            inner, outer = outer, inner
        if link.first:
            result.append(_fixed(inner))
        if link.move:
            result.append(_moved(link.move, link, q, joint))
        if link.last:
            R, t = _fixed(outer)[:2]
            result.append(Step(R.T, -R.T @ t))
    return result


def _fixed(frame: Frame) -> Step:
    e = np.asarray(frame.orientation, float)
    return Step(euler.rotation(e / np.linalg.norm(e)), np.asarray(frame.position, float))


def _moved(move: Move, link: Link, q: Array, joint: Joint) -> Step:
    """A move of the tree; a reversed joint undoes its moves in opposite order."""
    fields = [getattr(joint, name) for name in move.fields]
    e, t, e_q, t_q = (np.array(x) for x in _traced(move, link.reverse)(q[link.q], *fields))
    dR = np.stack([euler.derivative(axis, e.ravel()) @ e_q for axis in np.eye(3)], axis=1)
    return Step(euler.rotation(e.ravel()), t.ravel(), link.q, dR, t_q)


@cache
def _traced(move: Move, reverse: bool) -> ca.Function:
    """(q, fields) → Euler parameters and slide of a move, and their derivatives by q."""
    q, fields = ca.SX.sym("q", move.nq), {name: ca.SX.sym(name) for name in move.fields}
    e, t = move.euler_parameters(q, reverse), move.pose(q, SimpleNamespace(**fields), reverse).p
    results = [ca.densify(x) for x in (e, t, ca.jacobian(e, q), ca.jacobian(t, q))]
    return ca.Function("move", [q, *fields.values()], results)


def relative_jacobian(
    constraint: Constraint, mechanism: Mechanism, tree: Tree, q: Array
) -> tuple[Array, Array]:
    """Residual (m,) and Φ_q = Σ ∂Φ/∂r Jʳ + Σ ∂Φ/∂v J(v') (m, nq) in relative coordinates (Eqs. 17, 20)."""
    ends = (constraint.body1, constraint.body2)
    slopes = [on_ground(len(q)) if b == GROUND else body_slopes(mechanism, tree, q, b) for b in ends]
    # A may be a product with unnormalised balls: it is not the A(p) of any p of its own.
    value = constraint.evaluate(*(BodyPose(s.r, np.full(4, np.nan), s.A) for s in slopes))
    J = np.zeros((constraint.rows, len(q)))
    for side, found in zip((value.side1, value.side2), slopes, strict=True):
        J += side.by_origin @ found.by_origin
        for vector in side.vectors:
            J += vector.slope @ found.by_vector(vector.local)
    return value.residual, J
