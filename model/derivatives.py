"""Recursive derivatives of a tree's dynamics and Jacobians (paper 004, 4.3 and 4.4.1).

The second, independent road to the linear model. `linear_equations.py` differentiates the traced
code automatically; here the recursions themselves are differentiated by hand, in body-fixed
frames, and traced. `derivatives_closed.py` closes the loops with them; `tests/test_linear_routes.py`
compares the two roads.

∂/∂q_j is the derivative along the tangent displacement f ↦ f·exp(S_j δ) with the components of
v, v̇ held, written ∂_j. It is the thesis' ∂/∂q_j for joints of one freedom; for a ball it is a
rotation in the outer body's axes, so that nq ≠ nv is no concern. Then

- ∂_j Ad_{f⁻¹} = −ad_{S_j} Ad_{f⁻¹} and ∂_j Ad*_{f⁻¹} = −Ad*_{f⁻¹} ad*_{S_j} (4.3 prints Ad*_f);
- the thesis goes on with ad_{S_i}(S_i α) = 0, hence ad_{S_i} Ad_{f⁻¹} V_P = ad_{S_i} V_i. A ball has
  three columns that do not commute, so for it the term that belongs to the parent, V_i − S_i v_i, is
  kept as it is.

In 4.3 and A.3 ad*_V̇ must be ad*_V; in 4.4.1 J̈ has v, v̇ where v̇, v̈ is printed. Forces from outside
are wrenches on the links, as in `dynamics.py`; the thesis leaves them out.

Counted in operations automatic differentiation wins, see `derivatives_closed.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca

from .dynamics import Wrenches, joint_wrenches
from .kinematics import Model, Motion, subspace
from .spatial import Pose, ad, ad_dual, compose, times, to_child, to_parent

Columns = dict[int, Any]  # speed (or input) -> six-vector; what is missing is zero


class Slopes(NamedTuple):
    """A function's derivatives along tangent displacements (nv), speeds (nv) and inputs."""

    q: Any
    v: Any
    u: Any


class Chain(NamedTuple):
    """Body-fixed Jacobian of a frame over the base of its chain, and its derivatives (A.3.2, 4.4.1).

    Matrices are 6 × nv; `partial[j]` is ∂_j J.
    """

    X: Pose  # the frame seen from the base
    J: Any
    dJ: Any
    ddJ: Any
    partial: dict[int, Any]


def newton_euler_slopes(
    model: Model, move: Motion, v: Any, dv: Any, outside: Wrenches, slopes: Mapping[int, Slopes], inputs: int
) -> Slopes:
    """∂τ_NE/∂q, ∂τ_NE/∂v, ∂τ_NE/∂u of τ_NE = M v̇ − F with wrenches from outside (4.3).

    `move` is the outward recursion at (q, v, v̇); `slopes` are the derivatives of the wrenches
    `outside`, 6 rows each. The rotors' share of τ_NE depends on neither q nor v.
    """
    F = joint_wrenches(model, move, outside)
    results = []
    for along_q, (V, dV) in (
        (True, _position_twists(model, move, v, dv)),
        (False, _speed_twists(model, move, v)),
    ):
        dF = [_link_wrench(model, move, i, V[i], dV[i]) for i in range(len(F))]
        for i, slope in slopes.items():
            _take(dF[i], slope.q if along_q else slope.v)
        results.append(_inward(model, move.f, dF, F if along_q else None, model.tree.nv))
    dF = [{} for _ in F]
    for i, slope in slopes.items():
        _take(dF[i], slope.u)
    return Slopes(*results, _inward(model, move.f, dF, None, inputs))


def _position_twists(model: Model, move: Motion, v: Any, dv: Any) -> tuple[list[Columns], list[Columns]]:
    """Outward recursion of ∂_j V_i and ∂_j V̇_i.

    At the joint itself ∂_j V = −ad_{S_j} Ad_{f⁻¹} V_P and ∂_j V̇ = −ad_{S_j} Ad_{f⁻¹} V̇_P − ad_{Sv} ∂_j V,
    which for one freedom are −ad_S V and −ad_S V̇; behind it both are carried outward.
    """
    V: list[Columns] = []
    dV: list[Columns] = []
    for i, link in enumerate(model.tree.links):
        S, Sv = _subspace(model, i), _joint_twist(model, i, v)
        slope, rate = _carried(move.f[i], V, dV, link.parent, Sv)
        Vi, dVi = move.V[i], move.dV[i]
        if S.shape[1] == 1:
            axis = ca.densify(S)
            slope[link.v.start], rate[link.v.start] = -ad(axis, Vi), -ad(axis, dVi)
        else:
            from_parent = Vi - Sv
            rate_from_parent = dVi - ca.densify(S @ dv[link.v]) + ad(Sv, Vi)
            for k in range(S.shape[1]):
                axis, j = ca.densify(S[:, k]), link.v.start + k
                slope[j] = -ad(axis, from_parent)
                rate[j] = -ad(axis, rate_from_parent) - ad(Sv, slope[j])
        V.append(slope)
        dV.append(rate)
    return V, dV


def _speed_twists(model: Model, move: Motion, v: Any) -> tuple[list[Columns], list[Columns]]:
    """Outward recursion of ∂V_i/∂v_j, which is J_i, and ∂V̇_i/∂v_j; at the joint S_j and ad_V S_j − ad_{Sv} S_j."""
    V: list[Columns] = []
    dV: list[Columns] = []
    for i, link in enumerate(model.tree.links):
        S, Sv = _subspace(model, i), _joint_twist(model, i, v)
        slope, rate = _carried(move.f[i], V, dV, link.parent, Sv)
        for k in range(S.shape[1]):
            axis, j = ca.densify(S[:, k]), link.v.start + k
            slope[j] = axis
            rate[j] = ad(move.V[i] - Sv, axis)
        V.append(slope)
        dV.append(rate)
    return V, dV


def _carried(
    f: Pose, V: Sequence[Columns], dV: Sequence[Columns], parent: int, Sv: Any
) -> tuple[Columns, Columns]:
    """∂V_i = Ad_{f⁻¹} ∂V_P and ∂V̇_i = Ad_{f⁻¹} ∂V̇_P − ad_{Sv} ∂V_i for the joints further in."""
    if parent < 0:
        return {}, {}
    slope = {j: to_child(f, column) for j, column in V[parent].items()}
    return slope, {j: to_child(f, column) - ad(Sv, slope[j]) for j, column in dV[parent].items()}


def _link_wrench(model: Model, move: Motion, i: int, V: Columns, dV: Columns) -> Columns:
    """I ∂V̇ − ad*_∂V I V − ad*_V I ∂V of one link."""
    inertia = model.inertias[i]
    if inertia is None:
        return {}
    Vi = move.V[i]
    momentum = times(inertia, Vi)
    return {j: times(inertia, dV[j]) - ad_dual(V[j], momentum) - ad_dual(Vi, times(inertia, V[j])) for j in V}


def _take(dF: Columns, slope: Any) -> None:
    """Subtract the slope of a wrench from outside."""
    for j, column in enumerate(ca.horzsplit(slope)):
        if column.nnz():
            dF[j] = dF.get(j, 0) - ca.densify(column)


def _inward(model: Model, f: Sequence[Pose], dF: list[Columns], F: Sequence[Any] | None, width: int) -> Any:
    """∂τ_i = S_iᵀ ∂F_i with ∂F_P += Ad*_{f⁻¹}(∂F_i − ad*_{S_j} F_i), the last where j is joint i's own."""
    tau = ca.SX(model.tree.nv, width)
    for i in reversed(range(len(dF))):
        link, S = model.tree.links[i], _subspace(model, i)
        for j, column in dF[i].items():
            if link.move:
                tau[link.v, j] = S.T @ column
        if link.parent < 0:
            continue
        if F is not None:
            for k in range(S.shape[1]):
                j = link.v.start + k
                dF[i][j] = dF[i].get(j, 0) - ad_dual(ca.densify(S[:, k]), F[i])
        held = dF[link.parent]
        for j, column in dF[i].items():
            held[j] = held.get(j, 0) + to_parent(f[i], column)
    return ca.sparsify(tau)


def chain(model: Model, f: Sequence[Pose], path: Sequence[int], local: Pose, v: Any, dv: Any = None) -> Chain:
    """Jacobian of a frame `local` in the last link of a path, over the frame the path starts from.

    With C = Ad_{f⁻¹} J_P: J = C + [0 … S_i … 0], ∂_j J = −ad_{S_j} C at joint j and Ad_{f⁻¹} ∂_j J_P behind it,
    J̇ = Ad_{f⁻¹} J̇_P − ad_{Sv} C, J̈ = Ad_{f⁻¹} J̈_P − ad_{Sv}(Ad_{f⁻¹} J̇_P + J̇) − ad_{Sv̇} C. Where the thesis
    writes J_i for C, joint i's own columns differ; they vanish for one freedom. Without `dv` J̈ is empty.
    """
    X = Pose(ca.SX.eye(3), ca.SX.zeros(3, 1))
    J: Columns = {}
    dJ: Columns = {}
    ddJ: Columns = {}
    partial: dict[int, Columns] = {}
    for i in path:
        link, S, Sv = model.tree.links[i], _subspace(model, i), _joint_twist(model, i, v)
        X = compose(X, f[i])
        C, dC, ddC = (_seen(f[i], columns) for columns in (J, dJ, ddJ))
        partial = {j: _seen(f[i], columns) for j, columns in partial.items()}
        dJ = {k: dC[k] - ad(Sv, C[k]) for k in C}
        if dv is not None:
            Sdv = _joint_twist(model, i, dv)
            ddJ = {k: ddC[k] - ad(Sv, dC[k] + dJ[k]) - ad(Sdv, C[k]) for k in C}
        J = dict(C)
        zero = ca.SX.zeros(6, 1)
        for k in range(S.shape[1]):
            axis, j = ca.densify(S[:, k]), link.v.start + k
            partial[j] = {n: -ad(axis, column) for n, column in C.items()}
            J[j], dJ[j], ddJ[j] = axis, zero, zero
    width = model.tree.nv
    J, dJ, ddJ = (_seen(local, columns) for columns in (J, dJ, ddJ))
    along = {j: _matrix(_seen(local, columns), width) for j, columns in partial.items()}
    return Chain(compose(X, local), _matrix(J, width), _matrix(dJ, width), _matrix(ddJ, width), along)


def _seen(f: Pose, columns: Columns) -> Columns:
    return {k: to_child(f, column) for k, column in columns.items()}


def _matrix(columns: Columns, width: int) -> Any:
    """Six rows, structural zeros where there is no column."""
    empty = ca.SX(6, 1)
    return ca.horzcat(*(ca.sparsify(columns[k]) if k in columns else empty for k in range(width)))


def _subspace(model: Model, i: int) -> Any:
    link = model.tree.links[i]
    return subspace(link, model.mechanism.joint(link.joint))


def _joint_twist(model: Model, i: int, v: Any) -> Any:
    return ca.densify(_subspace(model, i) @ v[model.tree.links[i].v])
