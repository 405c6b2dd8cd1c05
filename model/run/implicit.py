"""A linearly implicit step for stiff mechanisms, traced whole like the explicit one.

A Rosenbrock method of order 3 with four stages, L-stable and stiffly accurate (RODAS3 of Sandu
and others): springs and dampers far faster than the step settle instead of blowing up. It runs on
the underlying ODE of x = (d, v, work), poses written q ⊕ d from the pose q at the start,

    ḋ = E(d) v,    M v̇ + Gᵀλ = F,  G v̇ = γ,    d(work)/dt = power,

and ends with the projection onto closed loops. A stage solves U/(hγ) − J U = r with J exact at the
start; with a = U_v/(hγ) − r_v, the part of J U that belongs to v̇, and the partial derivatives of
E = M v̇ − F + Gᵀλ and c = G v̇ − γ at constant v̇ and λ that is

    (1/(hγ) − S) U_d − hγ a = r_d + hγ r_v                      S = ∂ḋ/∂d = −½ ω× for balls
    E_d U_d + (M + hγ E_v) a + Gᵀz = −hγ E_v r_v
    c_d U_d + (G + hγ c_v) a − μz = −hγ c_v r_v − μz_old        proximal, as in `equations/solve.py`

so the accelerations need no derivative of their own, the multipliers' stiffness is in, and rows
may be redundant. There is no iteration that could fail to converge.
"""

from typing import Any

import casadi as ca

from ..equations.terms import (
    Equations,
    motion_under_forces,
    project_position,
    project_velocity,
    rates,
    retraction,
    terms,
)
from ..linear.exact import bracket, residual_slopes, tangent_map
from ..manifold.lift import displacement_rates
from ..thresholds import POSITION_SWEEPS, SOFTNESS, SWEEPS

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
    g = h * GAMMA
    inverse, right, mu, power = _system(eq)(q, v, u, p, g)
    m = mu.shape[0]

    def solved(r_d: Any, r_v: Any, r_w: Any) -> Any:
        at, z = right @ ca.vertcat(r_d, r_v), ca.MX.zeros(m, 1)
        for _ in range(SWEEPS if m else 1):
            found = inverse @ (at - ca.vertcat(ca.MX.zeros(2 * nv, 1), mu * z))
            z = found[2 * nv :]
        U = ca.vertcat(found[:nv], g * (found[nv : 2 * nv] + r_v))
        return ca.vertcat(U, g * (r_w + power @ U))

    start = ca.vertcat(ca.MX.zeros(nv, 1), v, work)
    U: list[Any] = []
    for a, c in zip(A, C, strict=True):
        d, speed, _ = ca.vertsplit(_added(start, a, U), [0, nv, 2 * nv, 2 * nv + 1])
        _, dv, rate = slope(place(q, d), speed, u, p)
        r = _added(ca.vertcat(turned(d, speed), dv, rate), [x / h for x in c], U)
        U.append(solved(*ca.vertsplit(r, [0, nv, 2 * nv, 2 * nv + 1])))
    d, v1, work1 = ca.vertsplit(_added(start, B, U), [0, nv, 2 * nv, 2 * nv + 1])
    q1 = place(q, d)
    for _ in range(POSITION_SWEEPS):
        q1 = project_position(eq)(q1, p)
    v1 = project_velocity(eq)(q1, v1, p)
    return ca.Function("implicit", [q, v, work, u, p, h], [q1, v1, work1], *names)


def _added(x: Any, weights: Any, U: list[Any]) -> Any:
    for weight, part in zip(weights, U, strict=True):
        x = x + weight * part if not isinstance(weight, float) or weight else x
    return x


def _system(eq: Equations) -> ca.Function:
    """(q, v, u, p, hγ) → the inverse of the stages' matrix, what r is multiplied by, μ, and ∂power."""
    t, g = terms(eq), ca.SX.sym("g")
    nv, m = eq.tree.nv, t.G.shape[0]
    dv, lam = motion_under_forces(eq)
    part = residual_slopes(eq, dv, lam)
    one, none, zero = ca.SX.eye(nv), ca.SX(nv, nv), ca.SX(nv, m)
    mu = SOFTNESS * ca.sumsqr(t.G) / ca.trace(t.M) * ca.SX.ones(m, 1)
    matrix = ca.blockcat(
        [
            [one / g + 0.5 * bracket(eq, eq.v), -g * one, zero],
            [part.Eq, t.M + g * part.Ev, t.G.T],
            [part.cq, t.G + g * part.cv, -ca.diag(mu)],
        ]
    )
    right = ca.blockcat([[one, g * one], [none, -g * part.Ev], [zero.T, -g * part.cv]])
    power = t.applied.supplied - t.applied.dissipated
    slopes = ca.horzcat(ca.jacobian(power, eq.q) @ tangent_map(eq), ca.jacobian(power, eq.v))
    make = ca.Function("matrices", [eq.q, eq.v, eq.u, eq.p, g], [matrix, right, mu, slopes])
    symbols = [ca.MX.sym(f"x{k}", make.size1_in(k)) for k in range(5)]
    matrix, right, mu, slopes = make(*symbols)
    inverse = ca.solve(matrix, ca.MX.eye(2 * nv + m), "qr")
    return ca.Function("system", symbols, [inverse, right, mu, slopes])
