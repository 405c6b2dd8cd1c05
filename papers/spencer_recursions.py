"""Recursive derivatives of a tree's dynamics and Jacobians (paper 004, 4.3 and 4.4.1).

The thesis' road to the linear model, independent of ours. `model/linear/exact.py` differentiates the traced
code automatically; here the recursions themselves are differentiated by hand, in body-fixed
frames, and traced. `spencer_closed_recursions.py` closes the loops with them;
`tests/linear/test_linear_routes.py` compares the two roads.

∂/∂q_j is the derivative along the tangent displacement f ↦ f·exp(S_j δ) with the components of
v, v̇ held, written ∂_j. It is the thesis' ∂/∂q_j for joints of one freedom; for a ball it is a
rotation in the outer body's axes, so that nq ≠ nv is no concern. Then

- ∂_j Ad_{f⁻¹} = −ad_{S_j} Ad_{f⁻¹} and ∂_j Ad*_{f⁻¹} = −Ad*_{f⁻¹} ad*_{S_j} (4.3 prints Ad*_f);
- the thesis goes on with ad_{S_i}(S_i α) = 0, hence ad_{S_i} Ad_{f⁻¹} V_P = ad_{S_i} V_i. A ball has
  three columns that do not commute, so for it the term that belongs to the parent, V_i − S_i v_i, is
  kept as it is.

In 4.3 and A.3 ad*_V̇ must be ad*_V; in 4.4.1 J̈ has v, v̇ where v̇, v̈ is printed. Forces from outside
are wrenches on the links, as in `dynamics.py`; the thesis leaves them out.

What they cost is counted in `spencer_closed_recursions.py` and by `cutjoint reproduce spencer-linear`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca

from ..model.equations.dynamics import Wrenches, bent_rotors, joint_wrenches, rotor_inertia
from ..model.equations.kinematics import Model, Motion
from ..model.equations.spatial import inertia_times
from ..model.joints.rigid_motion import IDENTITY, Pose, compose

# Six-rowed matrices have a column for every speed, with structural zeros where nothing depends on it.


class StateSlopes(NamedTuple):
    """A function's derivatives along tangent displacements (nv), speeds (nv) and inputs."""

    q: Any
    v: Any
    u: Any


class PathJacobians(NamedTuple):
    """Body-fixed Jacobian of a frame over the base of its path_jacobians, and its derivatives (A.3.2, 4.4.1).

    Matrices are 6 × nv; `partial[j]` is ∂_j J.
    """

    X: Pose  # the frame seen from the base
    J: Any
    dJ: Any
    ddJ: Any
    partial: dict[int, Any]


def newton_euler_slopes(
    model: Model,
    motion: Motion,
    v: Any,
    dv: Any,
    outside: Wrenches,
    slopes: Mapping[int, StateSlopes],
    inputs: int,
) -> StateSlopes:
    """∂τ_NE/∂q, ∂τ_NE/∂v, ∂τ_NE/∂u of τ_NE = M v̇ − F with wrenches from outside (4.3).

    `motion` is the outward recursion at (q, v, v̇); `slopes` are the derivatives of the wrenches
    `outside`, 6 rows each. The rotors' share A v̇ of τ_NE depends on neither q nor v, but where they turn
    with the frame before a ball: ∂(A v̇) = (Av̇)~ − A v̇~.
    """
    F = joint_wrenches(model, motion, outside)
    by_q = _link_wrenches(model, motion, *_position_twists(model, motion, v, dv))
    by_v = _link_wrenches(model, motion, *_speed_twists(model, motion, v))
    by_u = [ca.SX(6, inputs) for _ in F]
    for i, slope in slopes.items():
        by_q[i], by_v[i], by_u[i] = by_q[i] - slope.q, by_v[i] - slope.v, by_u[i] - slope.u
    slope = _inward(model, motion.f, by_q, F)
    for _, link in bent_rotors(model):
        A, a = rotor_inertia(model, motion.q)[link.v, link.v], dv[link.v]
        slope[link.v, link.v] += ca.skew(A @ a) - A @ ca.skew(a)
    return StateSlopes(slope, _inward(model, motion.f, by_v), _inward(model, motion.f, by_u))


def _position_twists(model: Model, motion: Motion, v: Any, dv: Any) -> tuple[list[Any], list[Any]]:
    """∂_j V_i and ∂_j V̇_i. At the joint itself ∂_j V = −ad_{S_j} Ad_{f⁻¹} V_P and
    ∂_j V̇ = −ad_{S_j} Ad_{f⁻¹} V̇_P − ad_{Sv} ∂_j V, which for one freedom are −ad_S V and −ad_S V̇."""

    def own(i: int, S: Any, Sv: Any) -> tuple[Any, Any]:
        V = motion.V[i]
        dV = ca.vertcat(motion.dw[i], motion.a[i] - ca.cross(V[:3], V[3:]))
        if S.shape[1] == 1:
            return twist_bracket(V) @ S, twist_bracket(dV) @ S
        slope = twist_bracket(V - Sv) @ S
        from_parent = dV - _joint_twist(model, i, dv) + twist_bracket(Sv) @ V
        return slope, twist_bracket(from_parent) @ S - twist_bracket(Sv) @ slope

    return _outward(model, motion, v, own)


def _speed_twists(model: Model, motion: Motion, v: Any) -> tuple[list[Any], list[Any]]:
    """∂V_i/∂v_j, which is J_i, and ∂V̇_i/∂v_j. At the joint itself S_j and ad_V S_j − ad_{Sv} S_j."""
    return _outward(model, motion, v, lambda i, S, Sv: (S, twist_bracket(motion.V[i] - Sv) @ S))


def _outward(
    model: Model, motion: Motion, v: Any, own: Callable[[int, Any, Any], tuple[Any, Any]]
) -> tuple[list[Any], list[Any]]:
    """Outward recursion of ∂V_i and ∂V̇_i: `own` columns at each joint, behind it both are carried on by
    ∂V_i = Ad_{f⁻¹} ∂V_P and ∂V̇_i = Ad_{f⁻¹} ∂V̇_P − ad_{Sv} ∂V_i."""
    V: list[Any] = []
    dV: list[Any] = []
    for i, link in enumerate(model.tree.links):
        S, Sv = model.subspaces[i], _joint_twist(model, i, v)
        slope, rate = ca.SX(6, model.tree.nv), ca.SX(6, model.tree.nv)
        if link.parent >= 0:
            slope = columns_to_child(motion.f[i], V[link.parent])
            rate = columns_to_child(motion.f[i], dV[link.parent]) - twist_bracket(Sv) @ slope
        if link.move:
            slope[:, link.v], rate[:, link.v] = own(i, S, Sv)
        V.append(slope)
        dV.append(rate)
    return V, dV


def _link_wrenches(model: Model, motion: Motion, V: Sequence[Any], dV: Sequence[Any]) -> list[Any]:
    """I ∂V̇ − ad*_∂V I V − ad*_V I ∂V of each link."""
    result = []
    for i, inertia in enumerate(model.inertias):
        if inertia is None:
            result.append(ca.SX(6, model.tree.nv))
            continue
        I = _six(inertia)  # noqa: E741
        dual = twist_bracket(motion.V[i]).T
        result.append(I @ dV[i] - (wrench(inertia_times(inertia, motion.V[i])) + dual @ I) @ V[i])
    return result


def _inward(model: Model, f: Sequence[Pose], dF: list[Any], F: Sequence[Any] | None = None) -> Any:
    """∂τ_i = S_iᵀ ∂F_i with ∂F_P += Ad*_{f⁻¹}(∂F_i − ad*_{S_j} F_i), the last where j is joint i's own."""
    tau = ca.SX(model.tree.nv, dF[0].shape[1])
    for i in reversed(range(len(dF))):
        link, S, slope = model.tree.links[i], model.subspaces[i], dF[i]
        if link.move:
            tau[link.v, :] = S.T @ slope
        if link.parent >= 0:
            if F is not None and link.move:
                slope[:, link.v] -= wrench(F[i]) @ S
            dF[link.parent] = dF[link.parent] + columns_to_parent(f[i], slope)
    return ca.sparsify(tau)


def path_jacobians(
    model: Model, f: Sequence[Pose], path: Sequence[int], local: Pose, v: Any, dv: Any = None
) -> PathJacobians:
    """Jacobian of a frame `local` in the last link of a path, over the frame the path starts from.

    With C = Ad_{f⁻¹} J_P: J = C + [0 … S_i … 0], ∂_j J = −ad_{S_j} C at joint j and Ad_{f⁻¹} ∂_j J_P
    behind it, J̇ = Ad_{f⁻¹} J̇_P − ad_{Sv} C, J̈ = Ad_{f⁻¹} J̈_P − ad_{Sv}(Ad_{f⁻¹} J̇_P + J̇) − ad_{Sv̇} C. Where
    the thesis writes J_i for C, joint i's own columns differ; they vanish for one freedom. Without
    `dv`, v̇ is zero.
    """
    X = IDENTITY
    J = dJ = ddJ = ca.SX(6, model.tree.nv)
    partial: dict[int, Any] = {}
    for i in path:
        link, S, Sv = model.tree.links[i], model.subspaces[i], _joint_twist(model, i, v)
        X = compose(X, f[i])
        C, dC, ddC = (columns_to_child(f[i], columns) for columns in (J, dJ, ddJ))
        partial = {j: columns_to_child(f[i], columns) for j, columns in partial.items()}
        dJ = dC - twist_bracket(Sv) @ C
        ddJ = ddC - twist_bracket(Sv) @ (dC + dJ)
        if dv is not None:
            ddJ = ddJ - twist_bracket(_joint_twist(model, i, dv)) @ C
        for k in range(S.shape[1]):
            partial[link.v.start + k] = -(twist_bracket(ca.densify(S[:, k])) @ C)
        J = C
        if link.move:
            J[:, link.v] = S
    J, dJ, ddJ = (columns_to_child(local, columns) for columns in (J, dJ, ddJ))
    along = {j: columns_to_child(local, columns) for j, columns in partial.items()}
    return PathJacobians(compose(X, local), J, dJ, ddJ, along)


def columns_to_child(f: Pose, V: Any) -> Any:
    """Ad_{f⁻¹} of many twists: columns of the parent frame seen from the child frame."""
    w, v = V[:3, :], V[3:, :]
    return ca.sparsify(ca.vertcat(f.R.T @ w, f.R.T @ (v - _skew(f.p) @ w)))


def columns_to_parent(f: Pose, F: Any) -> Any:
    """Ad*_{f⁻¹} of many wrenches: columns of the child frame seen from the parent frame."""
    n = f.R @ F[3:, :]
    return ca.sparsify(ca.vertcat(f.R @ F[:3, :] + _skew(f.p) @ n, n))


def twist_bracket(V: Any) -> Any:
    """ad_V, 6 × 6; its transpose is ad*_V, and ad_V S = −ad_S V."""
    w, v = _skew(V[:3]), _skew(V[3:])
    return ca.sparsify(ca.vertcat(ca.horzcat(w, ca.SX(3, 3)), ca.horzcat(v, w)))


def wrench(F: Any) -> Any:
    """The matrix of V ↦ ad*_V F, 6 × 6."""
    m, n = _skew(F[:3]), _skew(F[3:])
    return ca.sparsify(ca.vertcat(ca.horzcat(m, n), ca.horzcat(n, ca.SX(3, 3))))


def _six(inertia: Any) -> Any:
    h = _skew(inertia.h)
    return ca.sparsify(ca.vertcat(ca.horzcat(inertia.I, h), ca.horzcat(-h, inertia.m * ca.SX.eye(3))))


def _skew(p: Any) -> Any:
    return ca.sparsify(ca.skew(ca.densify(p)))


def _joint_twist(model: Model, i: int, v: Any) -> Any:
    link = model.tree.links[i]
    return ca.densify(model.subspaces[i] @ v[link.v]) if link.move else ca.SX.zeros(6, 1)
