"""Exact linearization of a closed-loop mechanism, traced (paper 004, chapter 4).

Perturbations live in the tangent space: δθ moves the coordinates by N(q)δθ, so nq ≠ nv is no
concern. The states are displacements d from the present pose, as the lift counts them
(`manifold/lift.py`): δd = δθ here, and δḋ = δv − ½ ω×δd for a ball, since ḋ = E(d) v. So this is
the derivative of the lift's own ẋ = f(x), the same that an FMU's directional derivatives give.

With E(q, v, v̇, λ, u) = M v̇ + h − τ + Gᵀλ = 0 and c(q, v, v̇) = G v̇ + Ġv + ḃ = 0, and a chart
y = R θ, R v of p = nv − rank G independent coordinates:

- K with R K = 1, G K = 0 is a basis of the motions that the loops allow (`elimination.py`). With Λ = KᵀMK
  W = K Λ⁻¹ and Z with GᵀZ = Rᵀ − M W solve M W + GᵀZ = Rᵀ, G W = 0 (004, 2.44).
- By the symmetry of that system R δv̇ = −Wᵀ δE − Zᵀ δc for any perturbation at constant
  v̇, λ; so the multipliers' stiffness is in, and only p solves are needed. K and Y = −Z Λ, GᵀY = M K − RᵀΛ,
  are shorter to write than W and Z, so Λ R δv̇ = Yᵀ δc − Kᵀ δE is what is solved last.
- δθ = K δy_q and δv = K δy_v + L δy_q with R L = 0, G L = −D K, D k = D_q(Gv)k. For constant
  fields k, v the derivatives commute up to the bracket, D k = ½(∂c/∂v k − G[v, k]), so the
  paper's K̇ costs nothing new. Of any slopes g, g L = −PᵀD K with GᵀP = gᵀ but for R, so L need not be known.

Velocity constraints leave fewer independent speeds, y_v = R_v v with R_v the first rows of R, than
independent coordinates. Then K above belongs to R_v and all rows of G, and δθ = K_q δy_q is the same with R
and the rows that hold poses. What holds speeds alone is no derivative of anything, so that its D_q(Gv + b)
is taken as it is.

The derivatives of E and c are taken by automatic differentiation of the recursions, for any R. Where R does
not see the links behind balls, these are displaced and turn over the world (`absolute.py`): what is before
them moves them without turning them, which leaves fewer and shorter derivatives. The other road are the
recursions of paper 004, 4.3 and 4.4, differentiated by hand (`papers/spencer_closed_recursions.py`;
counts are there, and in `cutjoint reproduce spencer-linear`). The tests compare the two.
"""

from typing import Any, NamedTuple

import casadi as ca

from ..base.slices import consecutive_slices
from ..equations.absolute import NOT_FREE, FreeLinks, free_links, own_speeds, solved_speeds
from ..equations.cut_joints import push_ends
from ..equations.dynamics import joint_wrenches, onto_joints
from ..equations.forces import Applied, applied
from ..equations.kinematics import Motion, outward, position_rates
from ..equations.loops import (
    CutLoop,
    cut_loops,
    cut_reactions,
    loop_jacobian,
    of_poses,
    row_rates,
    tie_forces,
    velocity_terms,
)
from ..equations.motion_drives import acceleration_drives, driven_ties, tie_rows
from ..equations.solve import times
from ..equations.terms import Equations, driven_accelerations, lent_inertia, mass_of, right_side, terms
from .elimination import Reduced, elimination, reduced, solve_columns


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

    system: Reduced
    Y: Any
    K: Any
    Kq: Any  # δθ = Kq δy_q; K itself unless some rows hold speeds alone
    D: Any  # D_q(Gv + b)
    partials: ResidualSlopes

    def follow(self) -> Any:
        """L: R L = 0, G L = −D Kq."""
        return self.system.loops.onto(-(self.D @ self.Kq))


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
    """E, c and the slip s = G v + b, with free accelerations, multipliers, and displacements δ on top of q.

    Behind the rows of the loops c and λ have those of given accelerations.
    """

    a: Any
    lam: Any
    delta: Any
    E: Any
    c: Any
    s: Any
    dz: Any  # of internal states


def displace(
    eq: Equations, a: Any = None, free: FreeLinks = NOT_FREE
) -> tuple[Any, Motion, list[CutLoop], Applied]:
    """Displacements δ on top of q as symbols, and motion, loops and applied forces there.

    For links that are `free`, δ, the speeds v and accelerations a are counted from the world (`absolute.py`).
    """
    delta, model = ca.SX.sym("delta", eq.tree.nv), eq.model
    motion = outward(model, eq.q, eq.v, a, delta, free.links)
    q = eq.q + position_rates(model, eq.q, own_speeds(model, motion, free, delta))
    motion, v = motion._replace(q=q), own_speeds(model, motion, free, eq.v)
    loops = cut_loops(model, motion)
    return delta, motion, loops, applied(model, motion, loops, q, v, eq.z, eq.u)


def residuals(eq: Equations, free: FreeLinks = NOT_FREE) -> Residuals:
    """E(q, v, a, λ, u) and c(q, v, a), by one Newton-Euler pass with the reactions as wrenches."""
    a = ca.SX.sym("a", eq.tree.nv)
    delta, motion, loops, act = displace(eq, a, free)
    inputs, motors = eq.mechanism.inputs(), acceleration_drives(eq.mechanism)
    held = driven_ties(eq.model, motion, motors)
    given = (x.acceleration - eq.u[inputs.index(m.name)] for m, x in zip(motors, held, strict=True))
    c = ca.vertcat(velocity_terms(eq.model, motion, loops), *given)
    lam = ca.SX.sym("lam", c.numel())
    wrenches = dict(act.wrenches)
    for loop, part in zip(loops, cut_reactions(loops, lam), strict=True):
        push_ends(wrenches, motion, loop, (part["ri"], part["wi"]), (part["rj"], part["wj"]))
    passed = {i: act.tau[eq.tree.links[i].v] for i in free.links}
    E = onto_joints(eq.model, joint_wrenches(eq.model, motion, wrenches, passed), motion) - act.tau
    more = ca.vertsplit(lam, [0, eq.tree.row_count, lam.numel()])[1]
    E -= tie_forces(eq.model, motion, loops, lam) - tie_rows(eq.model, held).T @ more
    if eq.tree.driven:
        E -= lent_inertia(eq) * driven_accelerations(eq)
    return Residuals(a, lam, delta, E, c, row_rates(eq.model, motion, loops), act.rates)


def residual_slopes(eq: Equations, v: Any, dv: Any, lam: Any, free: FreeLinks = NOT_FREE) -> ResidualSlopes:
    """∂E and ∂c at the speeds, accelerations and multipliers given."""
    r = residuals(eq, free)
    nv, zero = eq.tree.nv, ca.SX(eq.tree.nv, 1)
    J = ca.jacobian(ca.vertcat(r.E, r.c, r.dz), ca.vertcat(r.delta, eq.v, eq.u, eq.z))
    alone = [k for k, held in enumerate(eq.tree.holds_poses) if not held]
    slopes = [J, ca.jacobian(r.s[alone], r.delta)]
    f = ca.Function("partials", [eq.q, eq.v, eq.z, eq.u, eq.p, r.a, r.lam, r.delta], slopes)
    J, sq = (ca.sparsify(x) for x in f(eq.q, v, eq.z, eq.u, eq.p, dv, lam, zero))
    E, c, dz = consecutive_slices((nv, r.c.numel(), eq.tree.nz))
    d, v, u, z = consecutive_slices((nv, nv, eq.u.numel(), eq.tree.nz))
    inner = InternalSlopes(J[E, z], J[dz, d], J[dz, v], J[dz, z], J[dz, u]) if eq.tree.nz else None
    return ResidualSlopes(J[E, d], J[E, v], J[E, u], J[c, d], J[c, v], sq, inner)


def tangent_point(
    eq: Equations, chart: Any, speeds: int | None = None, free: FreeLinks = NOT_FREE
) -> Tangent:
    """Accelerations, chart and partial derivatives at a state; R_v are the chart's first `speeds` rows.

    All of it is of the speeds w that have those of `free` links counted from the world, v = T w, and v̇ = T a.
    """
    t, R = terms(eq), chart[:speeds, :]
    M, G = mass_of(eq, t.motion, free), loop_jacobian(eq.model, t.motion, t.loops, free)
    right = right_side(eq, t.motion, t.applied, free)
    loops = elimination(eq, R, G)
    K = Kq = loops.basis()
    system = reduced(loops, M, K)
    Y = loops.weights(system.MK - R.T @ system.mass)
    a, lam = system.accelerations(right, t.gamma)
    w, dw = solved_speeds(eq.model, t.motion, free, eq.v), ca.densify(a)
    for i in free.links:  # ω̇ where all v̇ are zero
        dw[eq.tree.links[i].v] += t.motion.dw[i]
    part = residual_slopes(eq, w, dw, lam, free)
    if not all(eq.tree.holds_poses):
        Kq = elimination(eq, chart, of_poses(eq.model, G)).basis()
    D = 0.5 * (part.cv - G @ bracket(eq, w))
    D[[k for k, held in enumerate(eq.tree.holds_poses) if not held], :] = part.sq
    return Tangent(system, Y, K, Kq, D, part)


def _arguments(eq: Equations, R: Any) -> tuple[list[Any], list[str]]:
    """(q, v, z, u, p), and R behind them where it is a symbol."""
    more = ([R], ["R"]) if not R.is_constant() else ([], [])
    return [eq.q, eq.v, eq.z, eq.u, eq.p, *more[0]], ["q", "v", "z", "u", "p", *more[1]]


def linear(eq: Equations, R: Any, speeds: int | None = None) -> ca.Function:
    """(q, v, z, u, p) → (A, B): δẏ = A δy + B δu in the chart R, a row for each coordinate and each speed.

    A = [R L − ½R[v,·]K, R K; Â21, Â22] (004, 4.2; the printed one lacks τ(t) and the balls' bracket), where
    R K = 1 and R L = 0 but for the coordinates whose speeds depend on the others.
    """
    t = tangent_point(eq, R, speeds, _free_beside(eq, R))
    part = t.partials
    cq, cv, D = ca.cse([part.cq, part.cv, t.D])
    gv = times(t.Y.T, cv) - t.K.T @ part.Ev
    gq = times(t.Y.T, cq) - t.K.T @ part.Eq - times(t.system.loops.weights(gv.T).T, D)
    lower = tuple(solve_columns(t.system.inertia, g) for g in (gq @ t.Kq, gv @ t.K, -(t.K.T @ part.Eu)))
    led = R[t.K.shape[1] :, :]
    if part.internal is None and not led.shape[0]:
        return state_space("linear", eq, R, t.Kq, lower)
    L, inner = t.follow(), None
    if part.internal is not None:
        Ez, zq, zv, zz, zu = part.internal
        inner = -solve_columns(t.system.inertia, t.K.T @ Ez), zq @ t.Kq + zv @ L, zv @ t.K, zz, zu
    return state_space("linear", eq, R, t.Kq, lower, (led @ L, led @ t.K), inner)


def _free_beside(eq: Equations, R: Any) -> FreeLinks:
    """Links that may turn by other speeds than v: the chart does not see it."""
    links = free_links(eq.model)
    seen = any(R[:, eq.tree.links[i].v].nnz() for i in links)
    return NOT_FREE if seen or not all(eq.tree.holds_poses) else FreeLinks(links)


def state_space(
    name: str,
    eq: Equations,
    R: Any,
    K: Any,
    lower: tuple[Any, Any, Any],
    led: tuple[Any, Any] | None = None,
    inner: tuple[Any, Any, Any, Any, Any] | None = None,
) -> ca.Function:
    """(q, v, z, u, p) → (A, B), whose lower halves are Â21, Â22 and the inputs' matrix.

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
    """(q, v, z, u, p) → T = [Kq 0; L K], 2nv rows: the perturbations (δθ, δv) that stay on the manifold.

    Internal states have rows and columns of their own behind these.
    """
    if eq.tree.row_count:
        t = tangent_point(eq, R, speeds)
        T = ca.blockcat([[t.Kq, ca.SX(*t.K.shape)], [t.follow(), t.K]])
    else:  # K = R⁻¹, and nothing turns with the pose
        K = elimination(eq, R, ca.SX(0, eq.tree.nv)).basis()
        T = ca.diagcat(K, K)
    if eq.tree.nz:
        T = ca.diagcat(T, ca.SX.eye(eq.tree.nz))
    arguments, names = _arguments(eq, R)
    return ca.Function("tangent_basis", arguments, [ca.densify(T)], names, ["T"])
