"""Derivatives of the lift, and of all that follows from it, along directions and along rows.

They come from the implicit function theorem, never from differentiating iterations: `tangent`
carries a direction of independent coordinates, speeds, inputs and parameters forward to rates,
accelerations and outputs; `adjoint` carries a row back. This is the linear model of the local
state-space form (paper 004, 4.2) in the chart's own coordinates.
"""

from typing import Any

import casadi as ca

from ..equations.loops import of_poses
from ..equations.terms import Equations, closure, dynamics, retraction
from .charts import unitless_jacobian
from .closing import Free, along_displacement, closing_multipliers, free_joints, gap, shortest_free
from .lift import displacement_rates


def singular_form(eq: Equations) -> ca.Function:
    """(q, p, a, b) → aᵀG b: at singular vectors a, b its derivative is that of the singular value."""
    G = ca.sparsify(unitless_jacobian(eq)(eq.q, eq.p))
    a, b = ca.SX.sym("a", G.shape[0]), ca.SX.sym("b", G.shape[1])
    return ca.Function("singular_form", [eq.q, eq.p, a, b], [ca.densify(a.T @ G @ b)])


def singular_tangent(eq: Equations) -> ca.Function:
    """(q, p, a, b; δq, δp) → δσ = aᵀ δG b for a singular value σ with its vectors a, b."""
    form = singular_form(eq)
    q1, p1 = ca.SX.sym("q1", eq.tree.nq), ca.SX.sym("p1", eq.p.numel())
    q, p, a, b = form.sx_in()
    value = form(q, p, a, b)
    rate = ca.jtimes(value, q, q1) + ca.jtimes(value, p, p1)
    return ca.Function("singular_tangent", [q, p, a, b, q1, p1], [ca.densify(rate)])


def singular_adjoint(eq: Equations) -> ca.Function:
    """(q, p, a, b; row on σ) → rows on (q, p)."""
    form = singular_form(eq)
    row = ca.SX.sym("row")
    q, p, a, b = form.sx_in()
    value = form(q, p, a, b)
    results = [ca.densify(row * ca.gradient(value, x)) for x in (q, p)]
    return ca.Function("singular_adjoint", [q, p, a, b, row], results)


class _Kernels:
    """The traced pieces of which the derivatives are composed."""

    def __init__(self, eq: Equations, outputs: ca.Function):
        nv, free = eq.tree.nv, free_joints(eq)
        d = ca.SX.sym("d", nv)
        _, G, rate = closure(eq)(eq.q, eq.p)
        G = ca.sparsify(G)
        poses = of_poses(eq.model, G)
        self.place = retraction(eq)
        self.rates = displacement_rates(eq)
        self.gap = gap(eq)
        self.slip = ca.Function("slip", [eq.q, eq.v, eq.p], [ca.densify(G @ eq.v + rate)])
        # along displacements (d) or along speeds (d = 0): the same rows unless some hold speeds alone
        self.follow, self.back = _solves(eq, along_displacement(eq, poses, d), d, free)
        self.follow_v, self.back_v = self.follow, self.back
        if poses is not G:
            self.follow_v, self.back_v = _solves(eq, G, d, free)
        arguments = [eq.q, eq.v, eq.u, eq.p]
        results = [dynamics(eq)(*arguments)[0], outputs(*arguments)]
        self.all = ca.Function("all", arguments, results, {"cse": True})
        self.point = eq.symbols("r", "d", "v", "free", "free_v", "u", "p")
        self.q = self.place(self.point[0], self.point[1])


def _solves(eq: Equations, J: Any, d: Any, free: Free) -> tuple[ca.Function, ca.Function]:
    """(q, d, free, p, c) → x = F Jᵀ(J F Jᵀ)⁻¹ c, and the same transposed."""
    c, b = ca.SX.sym("c", J.shape[0]), ca.SX.sym("b", eq.tree.nv)
    x = shortest_free(eq, J, free.F, c)
    back = closing_multipliers(eq, J, free.F, ca.densify(J @ (free.F @ b)))
    return (
        ca.Function("follow", [eq.q, d, free.symbol, eq.p, c], [ca.densify(x)]),
        ca.Function("back", [eq.q, d, free.symbol, eq.p, b], [back]),
    )


def tangent(eq: Equations, outputs: ca.Function) -> ca.Function:
    """(r, d, v, free, free_v, u, p; δd, δv, δu, δp) → (δḋ, δv̇, δy, δq): derivatives along a direction.

    δd and δv hold the directions of the states in their independent entries, zero elsewhere.
    """
    k = _Kernels(eq, outputs)
    r, d, v, free, free_v, u, p = k.point
    seeds = [ca.MX.sym(f"{name}_dot", x.numel()) for name, x in (("d", d), ("v", v), ("u", u), ("p", p))]
    d1, v1, u1, p1 = seeds
    none = ca.MX(r.numel(), 1)
    d1 = d1 + k.follow(k.q, d, free, p, -_forward(k.gap, (r, d, p), (none, d1, p1))[0])
    q1 = _forward(k.place, (r, d), (none, d1))[0]
    v1 = v1 + k.follow_v(k.q, 0 * d, free_v, p, -_forward(k.slip, (k.q, v, p), (q1, v1, p1))[0])
    dv1, y1 = _forward(k.all, (k.q, v, u, p), (q1, v1, u1, p1))
    rate1 = _forward(k.rates, (d, v), (d1, v1))[0]
    return ca.Function("tangent", [*k.point, *seeds], [ca.densify(x) for x in (rate1, dv1, y1, q1)])


def adjoint(eq: Equations, outputs: ca.Function) -> ca.Function:
    """(r, d, v, free, free_v, u, p; rows on ḋ, v̇, y, q) → rows on (d, v, u, p): `tangent` transposed."""
    k = _Kernels(eq, outputs)
    r, d, v, free, free_v, u, p = k.point
    sizes = (("rate", v.numel()), ("dv", v.numel()), ("y", outputs.numel_out(0)), ("q", r.numel()))
    seeds = [ca.MX.sym(f"{name}_bar", size) for name, size in sizes]
    rate_, dv_, y_, q_ = seeds
    at_q, at_v, u_, p_ = _reverse(k.all, (k.q, v, u, p), (dv_, y_))
    at_d, more = _reverse(k.rates, (d, v), (rate_,))
    q_, v_ = q_ + at_q, at_v + more
    at_q, at_v, at_p = _reverse(k.slip, (k.q, v, p), (-k.back_v(k.q, 0 * d, free_v, p, v_),))
    q_, v_, p_ = q_ + at_q, v_ + at_v, p_ + at_p
    d_ = at_d + _reverse(k.place, (r, d), (q_,))[1]
    _, at_d, at_p = _reverse(k.gap, (r, d, p), (-k.back(k.q, d, free, p, d_),))
    results = [(1 - free) * (d_ + at_d), (1 - free_v) * v_, u_, p_ + at_p]
    return ca.Function("adjoint", [*k.point, *seeds], [ca.densify(x) for x in results])


def _forward(f: ca.Function, at: tuple[Any, ...], seeds: tuple[Any, ...]) -> list[Any]:
    return list(f.forward(1).call([*at, *_values(f), *seeds]))


def _reverse(f: ca.Function, at: tuple[Any, ...], seeds: tuple[Any, ...]) -> list[Any]:
    return list(f.reverse(1).call([*at, *_values(f), *seeds]))


def _values(f: ca.Function) -> list[Any]:
    """Placeholders for the results at the point, which derivatives of straight-line code never read."""
    return [ca.MX(*f.size_out(k)) for k in range(f.n_out())]
