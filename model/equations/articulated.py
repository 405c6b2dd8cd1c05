"""M⁻¹ of a tree without M: the articulated body recursion, as the factors of M = LᵀDL (004, A.3).

With I the inertia of a link and of all that hangs on it freely, seen along a column s of its joint's
subspace,

    U = I s,    D = sᵀU + rotor,    I ← I − U Uᵀ/D,

and what is left is carried to the parent. D are the pivots of M, leaves first, the same that elimination
leaf by leaf has. L⁻¹b is a recursion inward, of the wrenches that b leaves over at the joints, and L⁻ᵀ one
outward, of the links' accelerations: as many operations as there are links, where M of a long
chain is full and its factors take the cube of that. In short trees writing M out takes fewer.
"""

from typing import Any, NamedTuple

import casadi as ca

from ..joints.rigid_motion import Pose
from .dynamics import armature
from .kinematics import Model
from .solve import Entries, reciprocal
from .spatial import SpatialInertia, rotate_inertia, to_child, to_parent


class Blocks(NamedTuple):
    """A symmetric 6 × 6 matrix over twists: (ω, v) ↦ (A ω + B v, Bᵀω + C v)."""

    A: Any
    B: Any
    C: Any

    def times(self, s: Any) -> Any:
        return ca.vertcat(self.A @ s[:3] + self.B @ s[3:], self.B.T @ s[:3] + self.C @ s[3:])

    def plus(self, other: "Blocks") -> "Blocks":
        return Blocks(self.A + other.A, self.B + other.B, self.C + other.C)


class Articulated(NamedTuple):
    """M = LᵀDL of a tree, rows and columns from the last speed to the first: a `Factor` of `solve.py`."""

    model: Model
    f: list[Pose]
    U: list[Any]  # a column for each speed
    inverse: list[Any]  # 1/D, from the last speed to the first
    pivots: Any  # D, nv

    @property
    def order(self) -> list[int]:
        return list(range(len(self.U)))[::-1]

    def forward(self, b: Entries) -> Entries:
        """y of Lᵀy = b, sparse in and out; keys of y count from the last speed."""
        links, subspaces = self.model.tree.links, self.model.subspaces
        y: Entries = {}
        left: dict[int, Any] = {}  # link -> the wrench that is left over at its joint
        for i in reversed(range(len(links))):
            link, e = links[i], left.pop(i, None)
            for k in reversed(range(link.v.start, link.v.stop)):
                u = b.get(k)
                if e is not None:
                    s = ca.dot(subspaces[i][:, k - link.v.start], e)
                    u = -s if u is None else u - s
                if u is not None:
                    n = len(self.U) - 1 - k
                    y[n] = u
                    more = self.U[k] * (u * self.inverse[n])
                    e = more if e is None else e + more
            if e is not None and link.parent >= 0:
                e = to_parent(self.f[i], e)
                left[link.parent] = left[link.parent] + e if link.parent in left else e
        return y

    def backward(self, y: Entries) -> Any:
        """x of L x = D⁻¹y as a dense column."""
        links, subspaces = self.model.tree.links, self.model.subspaces
        x = ca.SX.zeros(len(self.U), 1)
        accelerations: list[Any] = []
        for i, link in enumerate(links):
            above = accelerations[link.parent] if link.parent >= 0 else None
            a = None if above is None else to_child(self.f[i], above)
            for k in range(link.v.start, link.v.stop):
                n = len(self.U) - 1 - k
                value = y.get(n, ca.SX(0)) if a is None else y.get(n, 0) - ca.dot(self.U[k], a)
                x[k] = value * self.inverse[n]
                step = ca.densify(subspaces[i][:, k - link.v.start]) * x[k]
                a = step if a is None else a + step
            accelerations.append(a)
        return x


def factorize_articulated(model: Model, f: list[Pose], lent: Any = 0) -> Articulated:
    """The factors; `lent` is inertia at each speed beside that of the rotors."""
    tree, rotor = model.tree, armature(model) + lent
    whole = [_blocks(inertia) for inertia in model.inertias]
    U: list[Any] = [None] * tree.nv
    pivots, inverse = ca.SX.zeros(tree.nv, 1), [ca.SX(0)] * tree.nv
    for i in reversed(range(len(tree.links))):
        link, I = tree.links[i], whole[i]  # noqa: E741
        for k in reversed(range(link.v.start, link.v.stop)):
            s = ca.densify(model.subspaces[i][:, k - link.v.start])
            U[k] = I.times(s)
            pivots[k] = ca.dot(s, U[k]) + rotor[k]
            inverse[tree.nv - 1 - k] = reciprocal(pivots[k])
            I = _without(I, U[k], s, rotor[k], inverse[tree.nv - 1 - k])  # noqa: E741
        if link.parent >= 0:
            whole[link.parent] = whole[link.parent].plus(_carried(f[i], I))
    return Articulated(model, f, U, inverse, pivots)


def _without(I: Blocks, U: Any, s: Any, rotor: Any, inverse: Any) -> Blocks:  # noqa: E741
    """I − U Uᵀ/D. Along an axis without a rotor nothing is left of it: exact zeros, which cost nothing."""
    V = U * inverse
    A, B, C = (ca.SX(x) for x in I)
    moved = [k for k in range(6) if not s[k].is_zero()]
    bare = moved[0] if len(moved) == 1 and rotor.is_zero() else None
    for i in range(6):
        for j in range(i, 6):
            less = U[i] * V[j]
            if i >= 3:
                value = 0 if bare in (i, j) else C[i - 3, j - 3] - less
                C[i - 3, j - 3] = C[j - 3, i - 3] = value
            elif j >= 3:
                B[i, j - 3] = 0 if bare in (i, j) else B[i, j - 3] - less
            else:
                A[i, j] = A[j, i] = 0 if bare in (i, j) else A[i, j] - less
    return Blocks(A, B, C)


def _carried(f: Pose, I: Blocks) -> Blocks:  # noqa: E741
    """Ad*_{f⁻¹} I Ad_{f⁻¹}: the inertia of a child frame about the parent frame.

    Turned by R first; then with p̃ of the shift B' = B + p̃C and A' = A − Bp̃ + p̃B'ᵀ.
    """
    A, B, C = rotate_inertia(f.R, I.A), f.R @ I.B @ f.R.T, rotate_inertia(f.R, I.C)
    p = ca.skew(f.p)
    moved = B + p @ C
    return Blocks(_upper(A - B @ p + p @ moved.T), moved, C)


def _upper(A: Any) -> Any:
    """The same symmetric matrix, its lower half copied, which costs nothing."""
    return ca.triu(A) + ca.triu(A, False).T


def _blocks(inertia: SpatialInertia | None) -> Blocks:
    if inertia is None:
        return Blocks(*(ca.SX.zeros(3, 3) for _ in range(3)))
    return Blocks(inertia.I, ca.skew(inertia.h), inertia.m * ca.SX.eye(3))
