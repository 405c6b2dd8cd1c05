"""The linear model of a mechanism with many freedoms, a column of it at a time, in a loop.

Written out, A of n independent speeds takes operations with the cube of n, and a compiler more than that.
With E = M v̇ + h − τ + Gᵀλ and c = G v̇ + Ġv + ḃ of `exact.py`, a perturbation (δθ, δv, δu, δz) moves

    M δv̇ + Gᵀδλ = −δE,   G δv̇ = −δc,        δE, δc at constant v̇, λ:

one pass of Newton-Euler differentiated along a direction, and one solution as the accelerations have it. That
is one function, as long as the mechanism, and all columns of A and B are calls of it. So are those of L,
δv = L δy_q + K δy_v, which turns with the pose.
"""

from typing import Any

import casadi as ca

from ..equations.loops import of_poses
from ..equations.prepared import inertia
from ..equations.solve import constrained
from ..equations.terms import Equations, terms
from ..equations.traced import dynamics
from .elimination import elimination
from .exact import Residuals, bracket, residuals


def by_columns(eq: Equations, chart: Any, speeds: int | None = None) -> ca.Function:
    """(q, v, u, p) → (A, B) in a chart that picks speeds, as `exact.linear` gives them."""
    q, v, u, p = symbols = eq.symbols("q", "v", "u", "p")
    nz, nu, R = eq.tree.nz, u.numel(), ca.DM(chart)
    Kq, K, L = _allowed(eq, chart, speeds, q, v, p)
    theta = ca.horzcat(Kq, ca.MX(*K.shape))
    seeds = ca.diagcat(ca.vertcat(theta, ca.horzcat(L, K)), ca.DM.eye(nz + nu))
    moved, faded = _each(column(eq), [*symbols, *dynamics(eq)(*symbols)], ca.densify(seeds))
    turned = ca.Function("turned", [eq.v], [-0.5 * bracket(eq, eq.v)])(v) @ Kq
    led = R @ ca.horzcat(L + turned, K, ca.MX(eq.tree.nv, nz + nu))
    whole = ca.vertcat(led, R[:speeds, :] @ moved, faded)
    A, B = ca.horzsplit(whole, [0, whole.shape[1] - nu, whole.shape[1]])
    names = ["q", "v", "u", "p"], ["A", "B"]
    return ca.Function("linear", symbols, [ca.densify(A), ca.densify(B)], *names)


def basis_by_columns(eq: Equations, chart: Any, speeds: int | None = None) -> ca.Function:
    """(q, v, u, p) → T, as `exact.tangent_basis` gives it."""
    q, v, _, p = symbols = eq.symbols("q", "v", "u", "p")
    Kq, K, L = _allowed(eq, chart, speeds, q, v, p)
    T = ca.vertcat(ca.horzcat(Kq, ca.MX(*K.shape)), ca.horzcat(L, K))
    T = ca.densify(ca.diagcat(T, ca.DM.eye(eq.tree.nz)))
    return ca.Function("tangent_basis", symbols, [T], ["q", "v", "u", "p"], ["T"])


def _each(f: ca.Function, at: list[Any], directions: Any) -> tuple[Any, ...]:
    """What a function gives for each column of its last argument, the others being the same."""
    count = directions.shape[1]
    found = f.map(count).call([*(ca.repmat(x, 1, count) for x in at), directions])
    return tuple(found)


def _allowed(eq: Equations, chart: Any, speeds: int | None, q: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
    """Kq, K and L at a state: the perturbations that the loops allow."""
    G, R = terms(eq).G, chart[:speeds, :]
    K = Kq = elimination(eq, R, G).basis()
    if not all(eq.tree.holds_poses):
        Kq = elimination(eq, chart, of_poses(eq.model, G)).basis()
    Kq, K = ca.Function("allowed", [eq.q, eq.p], [Kq, K])(q, p)
    if not eq.tree.row_count:
        return Kq, K, ca.MX(*Kq.shape)
    (L,) = _each(_turning(eq, R, G), [q, v, p], ca.densify(Kq))
    return Kq, K, L


def _turning(eq: Equations, R: Any, G: Any) -> ca.Function:
    """(q, v, p, k) → R l = 0, G l = −D_q(Gv + b) k, as `exact.tangent_point` has it."""
    k, r = ca.SX.sym("k", eq.tree.nv), residuals(eq)
    of_speeds = [n for n, held in enumerate(eq.tree.holds_poses) if not held]
    along = ca.jtimes(r.s, r.delta, k) if of_speeds else ca.SX(0, 1)
    turned = 0.5 * (ca.jtimes(r.c, eq.v, k) - G @ (bracket(eq, eq.v) @ k))
    turned[of_speeds] = along
    (turned,) = _in_place(eq, r, [ca.densify(turned)], ca.SX.zeros(eq.tree.nv, 1))
    l = ca.densify(elimination(eq, R, G).onto(-turned))  # noqa: E741
    return ca.Function("turning", [eq.q, eq.v, eq.p, k], [l])


def column(eq: Equations) -> ca.Function:
    """(q, v, u, p, v̇, λ, s) → (δv̇, δż) along s = (δθ, δv, δz, δu)."""
    r, z = residuals(eq), eq.q[eq.tree.nq - eq.tree.nz :]
    of = ca.vertcat(r.delta, eq.v, z, eq.u)
    s = ca.SX.sym("s", of.numel())
    slopes = [ca.jtimes(x, of, s) if x.numel() else ca.SX(0, 1) for x in (r.E, r.c, r.dz)]
    dE, dc, dz = (ca.densify(x) for x in _in_place(eq, r, slopes, r.a))
    system = constrained(inertia(eq), terms(eq).G, eq.scales.groups)
    moved, _ = system.accelerations(-dE, -dc)
    return ca.Function("column", [eq.q, eq.v, eq.u, eq.p, r.a, r.lam, s], [moved, dz])


def _in_place(eq: Equations, r: Residuals, slopes: list[Any], a: Any) -> list[Any]:
    """Derivatives at δ = 0, where they were taken, and at accelerations a."""
    return list(ca.substitute(slopes, [r.delta, r.a], [ca.SX.zeros(eq.tree.nv, 1), a]))
