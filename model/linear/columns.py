"""The linear model of a long open tree, a column of it at a time, in a loop.

Written out, A of n independent speeds takes operations with the cube of n, and a compiler more than that.
Where nothing is closed, the chart R is square and K = R⁻¹. With E = M v̇ + h − τ a perturbation
(δθ, δv, δu, δz) moves

    δv̇ = −M⁻¹ δE,        δE at constant v̇:

one pass of Newton-Euler differentiated along a direction, and one solution with articulated bodies. That is
one function, as long as the tree, and all columns of A and B are calls of it: the very E of `exact.py`.
"""

from typing import Any

import casadi as ca

from ..equations.solve import entries
from ..equations.terms import Equations, dynamics, inertia
from .exact import bracket, residuals


def by_columns(eq: Equations, chart: Any) -> ca.Function:
    """(q, v, u, p) → (A, B) of a tree whose chart picks all speeds, as `exact.linear` gives them."""
    q, v, u, p = symbols = eq.symbols("q", "v", "u", "p")
    n, nu, nz = eq.tree.nv, u.numel(), eq.tree.nz
    R = ca.DM(chart)
    K = ca.DM(R.T)
    dv, _ = dynamics(eq)(*symbols)
    seeds = ca.diagcat(K, K, ca.DM.eye(nz), ca.DM.eye(nu))
    along = column(eq).map(seeds.shape[1])
    repeated = (ca.repmat(x, 1, seeds.shape[1]) for x in (q, v, u, p, dv))
    moved, faded = along(*repeated, ca.densify(seeds))
    half = ca.Function("half", [eq.v], [-0.5 * bracket(eq, eq.v)])(v)
    upper = ca.horzcat(R @ half @ K, ca.DM.eye(n), ca.DM(n, nz + nu))
    whole = ca.vertcat(upper, R @ moved, faded)
    A, B = ca.horzsplit(whole, [0, 2 * n + nz, 2 * n + nz + nu])
    names = ["q", "v", "u", "p"], ["A", "B"]
    return ca.Function("linear", symbols, [ca.densify(A), ca.densify(B)], *names)


def column(eq: Equations) -> ca.Function:
    """(q, v, u, p, v̇, s) → (δv̇, δż) along s = (δθ, δv, δz, δu)."""
    r = residuals(eq)
    z = eq.q[eq.tree.nq - eq.tree.nz :]
    of = ca.vertcat(r.delta, eq.v, z, eq.u)
    s = ca.SX.sym("s", of.numel())
    slopes = [ca.jtimes(x, of, s) if x.numel() else ca.SX(0, 1) for x in (r.E, r.dz)]
    dE, dz = ca.substitute(slopes, [r.delta], [ca.SX.zeros(eq.tree.nv, 1)])
    dE = ca.densify(dE)
    solve = inertia(eq)
    moved = solve.backward(solve.forward(entries(-dE)))
    return ca.Function("column", [eq.q, eq.v, eq.u, eq.p, r.a, s], [moved, ca.densify(dz)])
