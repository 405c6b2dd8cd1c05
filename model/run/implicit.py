"""A linearly implicit step for stiff mechanisms, traced whole like the explicit one.

A Rosenbrock method of order 3 with four stages, L-stable and stiffly accurate (RODAS3 of Sandu
and others): springs and dampers far faster than the step settle instead of blowing up. It runs on
the underlying ODE of x = (d, v, work), poses written q ⊕ d from the pose q at the start,

    ḋ = E(d) v,    M v̇ + Gᵀλ = F,  G v̇ = γ,    d(work)/dt = power,

and ends with the projection onto closed loops. A stage solves U/(hγ) − J U = r with J exact at the
start. With a = U_v/(hγ) − r_v, the part of J U that belongs to v̇, and the partial derivatives of
E = M v̇ − F + Gᵀλ and c = G v̇ − γ at constant v̇ and λ that is

    U_d = D (hγ a + r_d + hγ r_v),                              D = (1/(hγ) + ½ ω×)⁻¹, hγ but for balls
    M̂ a + Gᵀz = −hγ E_v r_v − E_d D (r_d + hγ r_v)               M̂ = M + hγ (E_v + E_d D)
    Ĝ a − μz = −hγ c_v r_v − c_d D (r_d + hγ r_v) − μz_old       Ĝ = G + hγ (c_v + c_d D), proximal as ever

so the accelerations need no derivative of their own, the multipliers' stiffness is in, and rows
may be redundant. M̂ and Ĝ M̂⁻¹Gᵀ have factors of the size of the linear model's, found once a step.
There is no iteration that could fail to converge.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import casadi as ca

from ..equations.lu import LU, factorize, solve
from ..equations.solve import SOFTNESS, SWEEPS, least_degree, softened
from ..equations.terms import (
    Equations,
    motion_under_forces,
    project_position,
    project_velocity,
    rates,
    retraction,
    terms,
)
from ..linear.exact import partials, tangent_map
from ..manifold.lift import displacement_rates
from ..manifold.step import POSITION_SWEEPS

GAMMA = 0.5
# Stage i is evaluated at x + Σ A[i][j] U_j; its right side adds Σ C[i][j]/h U_j; x' = x + Σ B[i] U_i.
A = ((), (0.0,), (2.0, 0.0), (2.0, 0.0, 1.0))
C = ((), (4.0,), (1.0, -1.0), (1.0, -1.0, -8.0 / 3.0))
B = (2.0, 0.0, 1.0, 1.0)


def implicit(eq: Equations) -> ca.Function:
    """(q, v, work, u, p, h) → (q, v, work): one step."""
    nv = eq.tree.nv
    names = ["q", "v", "work", "u", "p", "h"], ["q_new", "v_new", "work_new"]
    q, v, work, u, p, h = eq.symbols(*names[0])
    slope, place, turned = rates(eq), retraction(eq), displacement_rates(eq)
    system, stage = _stages(eq)
    known = system(q, v, u, p, h * GAMMA)
    start, borders = ca.vertcat(ca.MX.zeros(nv, 1), v, work), [0, nv, 2 * nv, 2 * nv + 1]
    U: list[Any] = []
    for a, c in zip(A, C, strict=True):
        d, speed, _ = ca.vertsplit(_added(start, a, U), borders)
        _, dv, rate = slope(place(q, d), speed, u, p)
        U.append(
            stage(known, _added(ca.vertcat(turned(d, speed), dv, rate), [x / h for x in c], U), h * GAMMA)
        )
    d, v1, work1 = ca.vertsplit(_added(start, B, U), borders)
    q1 = place(q, d)
    for _ in range(POSITION_SWEEPS):
        q1 = project_position(eq)(q1, p)
    v1 = project_velocity(eq)(q1, v1, p)
    return ca.Function("implicit", [q, v, work, u, p, h], [q1, v1, work1], *names)


def _added(x: Any, weights: Any, U: list[Any]) -> Any:
    for weight, part in zip(weights, U, strict=True):
        x = x + weight * part if not isinstance(weight, float) or weight else x
    return x


class _Known(NamedTuple):
    """What all stages of a step share; `numbers` is all of it in one column."""

    M: LU
    S: LU
    parts: list[Any]  # G, Ĝ, hγ E_v, hγ c_v, E_d D, c_d D, D, μ, ∂power

    def numbers(self) -> Any:
        values = [x for part in self.parts for x in part.nonzeros()]
        return ca.vertcat(self.M.numbers(), self.S.numbers(), *values, ca.SX(0, 1))

    def of(self, numbers: Any) -> _Known:
        """The same patterns with other numbers."""
        sizes = [self.M.numbers().numel(), self.S.numbers().numel(), *(part.nnz() for part in self.parts)]
        M, S, *parts = ca.vertsplit(numbers, [0, *accumulate(sizes)])
        pairs = zip(self.parts, parts, strict=True)
        return _Known(self.M.of(M), self.S.of(S), [ca.SX(old.sparsity(), new) for old, new in pairs])


def _stages(eq: Equations) -> tuple[ca.Function, ca.Function]:
    """(q, v, u, p, hγ) → what the stages share; and with that (known, r, hγ) → U of a stage."""
    nv, g = eq.tree.nv, ca.SX.sym("g")
    known = _known(eq, g)
    numbers = known.numbers()
    system = ca.Function("system", [eq.q, eq.v, eq.u, eq.p, g], [numbers])
    given, r = ca.SX.sym("known", numbers.numel()), ca.SX.sym("r", 2 * nv + 1)
    use = known.of(given)
    G, G1, Ev, cv, EdD, cdD, D, mu, power = use.parts
    r_d, r_v, r_w = r[:nv], r[nv : 2 * nv], r[2 * nv]
    rho = r_d + g * r_v
    free = solve(use.M, ca.densify(-(Ev @ r_v) - EdD @ rho))
    miss = ca.densify(G1 @ free + cv @ r_v + cdD @ rho)
    z = ca.SX.zeros(G.shape[0], 1)
    for _ in range(SWEEPS if z.numel() else 0):
        z = solve(use.S, miss + mu * z)
    a = free - solve(use.M, ca.densify(G.T @ z))
    U = ca.vertcat(D @ (g * a + rho), g * (a + r_v))
    stage = ca.Function("stage", [given, r, g], [ca.densify(ca.vertcat(U, g * (r_w + power @ U)))])
    return system, stage


def _known(eq: Equations, g: Any) -> _Known:
    t = terms(eq)
    part = partials(eq, *motion_under_forces(eq))
    D = _inverse(eq, g)
    Ev, cv, EdD, cdD = (ca.sparsify(ca.SX(x)) for x in (g * part.Ev, g * part.cv, part.Eq @ D, part.cq @ D))
    M, G1 = ca.sparsify(t.M + Ev + g * EdD), ca.sparsify(t.G + cv + g * cdD)
    factor = factorize(M, list(range(eq.tree.nv))[::-1])
    columns = [solve(factor, ca.densify(row.T)) for row in ca.vertsplit(t.G)]
    S = ca.sparsify(G1 @ ca.horzcat(*columns)) if columns else ca.SX(0, 0)
    S = S + 0 * ca.SX.eye(S.shape[0])
    mu = softened(S, eq.scales.groups, SOFTNESS)
    power = t.applied.supplied - t.applied.dissipated
    slopes = ca.horzcat(ca.jacobian(power, eq.q) @ tangent_map(eq), ca.jacobian(power, eq.v))
    return _Known(factor, factorize(S, least_degree(S)), [t.G, G1, Ev, cv, EdD, cdD, D, mu, slopes])


def _inverse(eq: Equations, g: Any) -> Any:
    """D = (1/g + ½ ω×)⁻¹."""
    D = g * ca.SX.eye(eq.tree.nv)
    for move, link in eq.tree.moves:
        if not move.plain:
            D[link.v, link.v] = ca.inv(ca.SX.eye(move.nv) / g + 0.5 * move.bracket(eq.v[link.v]))
    return D
