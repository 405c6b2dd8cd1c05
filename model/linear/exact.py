"""Exact linearization of a closed-loop mechanism, traced (paper 004, chapter 4).

Perturbations live in the tangent space: δθ moves the coordinates by N(q)δθ, so nq ≠ nv is no
concern. The states are displacements d from the present pose, as the lift counts them
(`manifold/lift.py`): δd = δθ here, and δḋ = δv − ½ ω×δd for a ball, since ḋ = E(d) v. So this is
the derivative of the lift's own ẋ = f(x), the same that an FMU's directional derivatives give.

With E(q, v, v̇, λ, u) = M v̇ + h − τ + Gᵀλ = 0 and c(q, v, v̇) = G v̇ + Ġv + ḃ = 0, and a chart
y = R θ, R v of p = nv − rank G independent coordinates:

- K with R K = 1, G K = 0 is a basis of the motions that the loops allow (`elimination.py`). W = K (KᵀMK)⁻¹
  and Z with GᵀZ = Rᵀ − M W solve M W + GᵀZ = Rᵀ, G W = 0 (004, 2.44).
- By the symmetry of that system R δv̇ = −Wᵀ δE − Zᵀ δc for any perturbation at constant
  v̇, λ; so the multipliers' stiffness is in, and only p solves are needed.
- δθ = K δy_q and δv = K δy_v + δv₀ with R δv₀ = 0, G δv₀ = −D_q(Gv) K δy_q. For constant
  fields k, v the derivatives commute up to the bracket, D_q(Gv)k = ½(∂c/∂v k − G[v, k]), so the
  paper's K̇ costs nothing new.

Velocity constraints leave fewer independent speeds, y_v = R_v v with R_v the first rows of R, than
independent coordinates. Then K above belongs to R_v and all rows of G, and δθ = K_q δy_q is the same with R
and the rows that hold poses. What holds speeds alone is no derivative of anything, so that its D_q(Gv + b)
is taken as it is.

The derivatives of E and c are taken by automatic differentiation of the recursions, for any R.
`linear/derivatives_closed.py` is the other road, the recursions of paper 004, 4.3 and 4.4, differentiated by
hand: up to a tenth fewer operations for closed loops where R picks speeds, as many for any other R
(counts are there, and in `cutjoint reproduce spencer-linear`). The tests compare the two.
"""

from typing import Any, NamedTuple

import casadi as ca

from ..equations.dynamics import armature, joint_wrenches, onto_joints
from ..equations.forces import Applied, applied, push
from ..equations.kinematics import Motion, outward, position_rates
from ..equations.loops import (
    CutLoop,
    cut_loops,
    cut_reactions,
    of_poses,
    slips,
    tie_forces,
    velocity_terms,
)
from ..equations.solve import factorize
from ..equations.terms import Equations, mass, terms
from .elimination import elimination, solved


class ResidualSlopes(NamedTuple):
    """Derivatives of E (nv) and c (m) at constant v̇ and λ, along tangent, speeds and inputs.

    `sq` are those of G v + b along the tangent, of the rows that hold speeds alone.
    """

    Eq: Any
    Ev: Any
    Eu: Any
    cq: Any
    cv: Any
    sq: Any
    internal: "InternalSlopes | None" = None


class InternalSlopes(NamedTuple):
    """Derivatives of E along the internal states z, and of ż along tangent, speeds, z and inputs."""

    Ez: Any
    zq: Any
    zv: Any
    zz: Any
    zu: Any


class Tangent(NamedTuple):
    """A point of the manifold with its chart: what all linear models are made from."""

    W: Any
    Z: Any
    R: Any  # of the speeds
    K: Any  # δv = L δy_q + K δy_v
    Kq: Any  # δθ = Kq δy_q; K itself unless some rows hold speeds alone
    L: Any  # R L = 0, G L = −D_q(Gv + b) Kq
    partials: ResidualSlopes


def tangent_map(eq: Equations) -> Any:
    """N(q) with q̇ = N v, nq × nv."""
    w = ca.SX.sym("w", eq.tree.nv)
    return ca.jacobian(position_rates(eq.model, eq.q, w), w)


def bracket(eq: Equations, v: Any) -> Any:
    """Matrix of k ↦ [v, k], nv × nv: ω× for balls, zero elsewhere."""
    C = ca.SX(eq.tree.nv, eq.tree.nv)
    for move, link in eq.tree.moves:
        C[link.v, link.v] = move.bracket(v[link.v])
    return C


class Residuals(NamedTuple):
    """E and c, and slips, with free accelerations, multipliers, and displacements δ on top of q."""

    a: Any
    lam: Any
    delta: Any
    E: Any
    c: Any
    s: Any
    dz: Any  # of internal states


def displaced(eq: Equations, a: Any = None) -> tuple[Any, Motion, list[CutLoop], Applied]:
    """Displacements δ on top of q as symbols, and motion, loops and applied forces there."""
    delta = ca.SX.sym("delta", eq.tree.nv)
    motion = outward(eq.model, eq.q, eq.v, a, delta)
    loops, q = cut_loops(eq.model, motion), eq.q + position_rates(eq.model, eq.q, delta)
    return delta, motion, loops, applied(eq.model, motion, loops, q, eq.v, eq.u)


def residuals(eq: Equations) -> Residuals:
    """E(q, v, a, λ, u) and c(q, v, a), by one Newton-Euler pass with the reactions as wrenches."""
    a = ca.SX.sym("a", eq.tree.nv)
    delta, motion, loops, act = displaced(eq, a)
    c = velocity_terms(eq.model, motion, loops)
    lam = ca.SX.sym("lam", c.numel())
    wrenches = dict(act.wrenches)
    for loop, part in zip(loops, cut_reactions(loops, lam), strict=True):
        push(wrenches, motion, loop.i.link, loop.ends.ri, part["ri"], part["wi"])
        push(wrenches, motion, loop.j.link, loop.ends.rj, part["rj"], part["wj"])
    E = onto_joints(eq.model, joint_wrenches(eq.model, motion, wrenches)) + armature(eq.model) * a - act.tau
    E -= tie_forces(eq.model, motion, loops, lam)
    slipping = slips(eq.model, motion, loops)
    return Residuals(a, lam, delta, E, c, ca.vertcat(*slipping, ca.SX(0, 1)), act.rates)


def residual_slopes(eq: Equations, dv: Any, lam: Any) -> ResidualSlopes:
    """∂E and ∂c at the accelerations and multipliers given."""
    r = residuals(eq)
    nv, zero = eq.tree.nv, ca.SX(eq.tree.nv, 1)
    z = eq.q[eq.tree.nq - eq.tree.nz :]
    J = ca.jacobian(ca.vertcat(r.E, r.c, r.dz), ca.vertcat(r.delta, eq.v, eq.u, z))
    slopes = [J, ca.jacobian(r.s, r.delta)]
    f = ca.Function("partials", [eq.q, eq.v, eq.u, eq.p, r.a, r.lam, r.delta], slopes)
    J, sq = (ca.sparsify(x) for x in f(eq.q, eq.v, eq.u, eq.p, dv, lam, zero))
    m, nu = r.c.numel(), eq.u.numel()
    E, c, dz = slice(0, nv), slice(nv, nv + m), slice(nv + m, J.shape[0])
    v, u, z = slice(nv, 2 * nv), slice(2 * nv, 2 * nv + nu), slice(2 * nv + nu, J.shape[1])
    inner = InternalSlopes(J[E, z], J[dz, :nv], J[dz, v], J[dz, z], J[dz, u]) if eq.tree.nz else None
    return ResidualSlopes(J[E, :nv], J[E, v], J[E, u], J[c, :nv], J[c, v], sq, inner)


def tangent_point(eq: Equations, chart: Any, speeds: int | None = None) -> Tangent:
    """Accelerations, chart and partial derivatives at a state; R_v are the chart's first `speeds` rows."""
    t, M, R = terms(eq), mass(eq), chart[:speeds, :]
    loops = elimination(eq, R, t.G)
    K = Kq = loops.basis()
    reduced = ca.densify(K.T @ (M @ K))
    W = solved(factorize(reduced, list(range(reduced.shape[0]))), K.T).T
    drift = loops.onto(ca.densify(t.gamma))
    dv = drift + W @ (K.T @ (t.right - M @ drift))
    Z, lam = loops.weights(R.T - M @ W), loops.weights(t.right - M @ dv)
    part = residual_slopes(eq, ca.densify(dv), lam)
    if not all(eq.tree.holds_poses):
        Kq = elimination(eq, chart, of_poses(eq.model, t.G)).basis()
    turned = 0.5 * (part.cv @ Kq - t.G @ (bracket(eq, eq.v) @ Kq))  # D_q(Gv) Kq
    turned[[k for k, held in enumerate(eq.tree.holds_poses) if not held], :] = part.sq @ Kq
    return Tangent(W, Z, R, K, Kq, loops.onto(-turned), part)


def _arguments(eq: Equations, R: Any) -> tuple[list[Any], list[str]]:
    """(q, v, u, p), and R behind them where it is a symbol."""
    more = ([R], ["R"]) if not R.is_constant() else ([], [])
    return [eq.q, eq.v, eq.u, eq.p, *more[0]], ["q", "v", "u", "p", *more[1]]


def linear(eq: Equations, R: Any, speeds: int | None = None) -> ca.Function:
    """(q, v, u, p) → (A, B): δẏ = A δy + B δu in the chart R, a row for each coordinate and each speed.

    A = [R L − ½R[v,·]K, R K; Â21, Â22] (004, 4.2; the printed one lacks τ(t) and the balls' bracket), where
    R K = 1 and R L = 0 but for the coordinates whose speeds depend on the others.
    """
    t = tangent_point(eq, R, speeds)
    part = t.partials
    gq = -(t.W.T @ part.Eq + t.Z.T @ part.cq)
    gv = -(t.W.T @ part.Ev + t.Z.T @ part.cv)
    led = R[t.K.shape[1] :, :]
    lower = gq @ t.Kq + gv @ t.L, gv @ t.K, -(t.W.T @ part.Eu)
    if part.internal is None:
        return state_space("linear", eq, R, t.Kq, lower, (led @ t.L, led @ t.K))
    Ez, zq, zv, zz, zu = part.internal
    inner = -(t.W.T @ Ez), zq @ t.Kq + zv @ t.L, zv @ t.K, zz, zu
    return state_space("linear", eq, R, t.Kq, lower, (led @ t.L, led @ t.K), inner)


def state_space(
    name: str,
    eq: Equations,
    R: Any,
    K: Any,
    lower: tuple[Any, Any, Any],
    led: tuple[Any, Any] | None = None,
    inner: tuple[Any, Any, Any, Any, Any] | None = None,
) -> ca.Function:
    """(q, v, u, p) → (A, B), whose lower halves are Â21, Â22 and the inputs' matrix.

    `led` are R L and R K of the coordinates whose speeds depend on the others; `inner` what internal states
    do to accelerations, and the slopes of their own rates. They come last.
    """
    A21, A22, B2 = lower
    p, n = R.shape[0], A22.shape[0]
    A11, A12 = -0.5 * (R @ (bracket(eq, eq.v) @ K)), ca.SX.eye(n)
    if led is not None:
        A11, A12 = A11 + ca.vertcat(ca.SX(n, p), led[0]), ca.vertcat(A12, led[1])
    A = ca.blockcat([[A11, A12], [A21, A22]])
    B = ca.vertcat(ca.SX(p, eq.u.numel()), B2)
    if inner is not None:
        Az, zq, zv, zz, zu = inner
        beside = ca.vertcat(ca.SX(p, eq.tree.nz), Az)
        A, B = ca.blockcat([[A, beside], [ca.horzcat(zq, zv), zz]]), ca.vertcat(B, zu)
    arguments, names = _arguments(eq, R)
    return ca.Function(name, arguments, ca.cse([ca.densify(A), ca.densify(B)]), names, ["A", "B"])


def tangent_basis(eq: Equations, R: Any, speeds: int | None = None) -> ca.Function:
    """(q, v, u, p) → T = [Kq 0; L K], 2nv rows: the perturbations (δθ, δv) that stay on the manifold.

    Internal states have rows and columns of their own behind these.
    """
    if eq.tree.row_count:
        t = tangent_point(eq, R, speeds)
        T = ca.blockcat([[t.Kq, ca.SX(*t.K.shape)], [t.L, t.K]])
    else:  # K = R⁻¹, and nothing turns with the pose
        K = elimination(eq, R, ca.SX(0, eq.tree.nv)).basis()
        T = ca.diagcat(K, K)
    if eq.tree.nz:
        T = ca.diagcat(T, ca.SX.eye(eq.tree.nz))
    arguments, names = _arguments(eq, R)
    return ca.Function("tangent_basis", arguments, [ca.densify(T)], names, ["T"])
