"""The articulated body recursion of paper 004, A.3, in one go and with whole matrices.

The engine factorizes the mass matrix, or has its factors by a recursion of their own; the properties compare.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
from cutjoint.model.equations.dynamics import Wrenches, rotor_inertia
from cutjoint.model.equations.kinematics import Model, outward
from cutjoint.model.equations.spatial import inertia_times, to_child
from cutjoint.model.joints.rigid_motion import vector


def articulated_body(model: Model, q: Any, v: Any, tau: Any, outside: Wrenches | None = None) -> Any:
    """Articulated body algorithm: v̇ of the open tree under generalized forces τ, nv.

    Linear in the number of links; M⁻¹(τ + F) without M.
    """
    tree, outside = model.tree, outside or {}
    motion = outward(model, q, v)
    rotors = rotor_inertia(model, q)
    bare = model.inertias
    I = [_whole(b) for b in bare]  # noqa: E741
    S = model.subspaces
    a, b = [], []
    for i, link in enumerate(tree.links):
        a.append(-ad(ca.densify(S[i] @ v[link.v, :]), motion.V[i]))
        body = bare[i]
        momentum = ca.SX.zeros(6, 1) if body is None else inertia_times(body, motion.V[i])
        force = -ad_dual(motion.V[i], momentum)
        b.append(force - outside[i] if i in outside else force)
    D, U, u = {}, {}, {}
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        Ia, z = I[i], I[i] @ a[i] + b[i]
        if link.move:
            U[i] = I[i] @ S[i]
            D[i] = S[i].T @ U[i] + rotors[link.v, link.v]
            u[i] = tau[link.v] - S[i].T @ z
            Ia = I[i] - U[i] @ ca.solve(D[i], U[i].T)
            z = z + U[i] @ ca.solve(D[i], u[i])
        if link.parent >= 0:
            X = ca.horzcat(*(to_child(motion.f[i], ca.SX.eye(6)[:, k]) for k in range(6)))
            I[link.parent] = I[link.parent] + X.T @ Ia @ X
            b[link.parent] = b[link.parent] + X.T @ z
    dv = ca.SX.zeros(tree.nv, 1)
    world = ca.vertcat(ca.SX.zeros(3, 1), -vector(model.mechanism.gravity))
    A: list[Any] = []
    for i, link in enumerate(tree.links):
        Ai = to_child(motion.f[i], A[link.parent] if link.parent >= 0 else world)
        if link.move:
            dv[link.v] = ca.solve(D[i], u[i] - U[i].T @ Ai)
            Ai = Ai + ca.densify(S[i] @ dv[link.v])
        A.append(Ai + a[i])
    return dv


def _whole(inertia: Any) -> Any:
    """6 × 6; zero for what has no mass."""
    if inertia is None:
        return ca.SX.zeros(6, 6)
    return ca.horzcat(*(inertia_times(inertia, ca.SX.eye(6)[:, k]) for k in range(6)))


def ad(V: Any, W: Any) -> Any:
    """Lie bracket of two twists."""
    w, v = V[:3], V[3:]
    return ca.vertcat(ca.cross(w, W[:3]), ca.cross(v, W[:3]) + ca.cross(w, W[3:]))


def ad_dual(V: Any, F: Any) -> Any:
    """ad*_V F = −(ω×m + v×f, ω×f), the transpose of `ad` on wrenches."""
    w, v = V[:3], V[3:]
    return -ca.vertcat(ca.cross(w, F[:3]) + ca.cross(v, F[3:]), ca.cross(w, F[3:]))
