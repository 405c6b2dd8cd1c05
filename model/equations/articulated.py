"""What a tree's motions weigh, joint by joint from the leaves: the pivots of M without M.

The articulated body recursion (004, A.3). With I the inertia of a link and of all that hangs on it freely,
seen along a column s of its joint's subspace,

    U = I s,    D = sᵀU + rotor,    I ← I − U Uᵀ/D,

and what is left is carried to the parent. D are the pivots of M = LᵀDL, leaves first: as many operations as
there are links, where M of a long chain is full and its factors take the cube of that.
"""

from typing import Any

import casadi as ca

from .dynamics import armature
from .kinematics import Model
from .spatial import SpatialInertia, inertia_times, to_child


def articulated_pivots(model: Model, f: Any) -> Any:
    """D, nv."""
    tree, rotor = model.tree, armature(model)
    whole = [spatial_matrix(inertia) for inertia in model.inertias]
    found = ca.SX.zeros(tree.nv, 1)
    for i in reversed(range(len(tree.links))):
        link, I = tree.links[i], whole[i]  # noqa: E741
        if link.move:
            S = model.subspaces[i]
            for k in reversed(range(S.shape[1])):
                U = I @ S[:, k]
                D = ca.dot(S[:, k], U) + rotor[link.v.start + k]
                I = I - U @ U.T / D  # noqa: E741
                found[link.v.start + k] = D
        if link.parent >= 0:
            X = ca.horzcat(*(to_child(f[i], ca.SX.eye(6)[:, k]) for k in range(6)))
            whole[link.parent] = whole[link.parent] + X.T @ I @ X
    return found


def spatial_matrix(inertia: SpatialInertia | None) -> Any:
    """6 × 6; zero for what has no mass."""
    if inertia is None:
        return ca.SX.zeros(6, 6)
    return ca.horzcat(*(inertia_times(inertia, ca.SX.eye(6)[:, k]) for k in range(6)))
