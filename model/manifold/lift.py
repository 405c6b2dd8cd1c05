"""The local state-space form, traced: independent coordinates in, the whole motion out.

Paper 004, 2.2 and 2.3, with a chart made by coordinate partitioning. A chart is a reference
pose r and a choice of independent speeds; `free` holds 1 for every dependent speed and 0 for
every independent one. Poses are written q = r ⊕ d with d one number a speed (`place`): the plain
difference for turns and slides, twice the Rodrigues vector from the reference for balls. The
independent entries of d and of v are the states; the dependent ones follow from

    g(r ⊕ d) = 0   by Newton's method,   G(q) v = 0   at once,

each solved for dependent entries only, with the proximal multipliers of `solve.py`, so that
redundant rows are no hindrance. Derivatives come from the implicit function theorem, never
from differentiating the iterations: `tangent` carries a direction forward, `adjoint` a row back.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from ..equations.kinematics import Model
from ..equations.solve import SOFTNESS, SWEEPS, backward, entries, factorize, forward, least_degree
from ..equations.spatial import conjugate, product, rotation
from ..equations.terms import Equations, closure, dynamics, retraction


def _balls(model: Model) -> list[tuple[slice, slice, bool]]:
    return [(link.q, link.v, link.reverse) for link in model.tree.links if link.move == "Q"]


def displacement(eq: Equations) -> ca.Function:
    """(r, q) → d with q = r ⊕ d."""
    r = ca.SX.sym("r", eq.tree.nq)
    d = ca.SX.zeros(eq.tree.nv, 1)
    for link in eq.tree.links:
        if link.move == "Q":
            e0, e = r[link.q], eq.q[link.q]
            # a reversed ball's own parameters are the conjugate ones
            turn = product(e0, conjugate(e)) if link.reverse else product(conjugate(e0), e)
            d[link.v] = 2 * turn[1:] / turn[0]
        elif link.move:
            d[link.v] = eq.q[link.q] - r[link.q]
    return ca.Function("displacement", [r, eq.q], [d], ["r", "q"], ["d"])


def chart_rates(eq: Equations) -> ca.Function:
    """(d, v) → ḋ = E(d) v: v itself but for balls, ḋ = ω + ½ d×ω + ¼ d dᵀω."""
    d = ca.SX.sym("d", eq.tree.nv)
    rate = ca.SX(eq.v)
    for _, at, _ in _balls(eq.model):
        x, w = d[at], eq.v[at]
        rate[at] = w + 0.5 * ca.cross(x, w) + 0.25 * x * ca.dot(x, w)
    return ca.Function("chart_rates", [d, eq.v], [rate], ["d", "v"], ["d_rate"])


def _along(eq: Equations, G: Any, d: Any) -> Any:
    """∂g/∂d = G E(d)⁻¹, with E⁻¹ḋ = (ḋ − ½ d×ḋ)/(1 + ¼dᵀd) for balls."""
    G = ca.SX(G)
    for _, at, _ in _balls(eq.model):
        x = d[at]
        G[:, at] = ca.sparsify(G[:, at] @ (ca.SX.eye(3) - 0.5 * ca.skew(x)) / (1 + 0.25 * ca.sumsqr(x)))
    return G


def _lift(G: Any, free: Any, c: Any) -> Any:
    """x with G x = c, of least length, dependent entries only: x = F Gᵀ(G F Gᵀ)⁻¹ c, F = diag(free)."""
    return free * (G.T @ _multipliers(G, free, c))


def _multipliers(G: Any, free: Any, c: Any) -> Any:
    m = G.shape[0]
    if not m:
        return ca.SX(0, 1)
    S = ca.SX(G @ ca.diag(free) @ G.T)
    mu = SOFTNESS * ca.trace(S) / m
    for k in range(m):
        S[k, k] += mu
    factor = factorize(S, least_degree(S))
    lam = ca.SX.zeros(m, 1)
    for _ in range(SWEEPS):
        lam = backward(factor, forward(factor, entries(c + mu * lam)))
    return lam


def _symbols(eq: Equations) -> tuple[Any, Any, Any]:
    nq, nv = eq.tree.nq, eq.tree.nv
    return ca.SX.sym("r", nq), ca.SX.sym("d", nv), ca.SX.sym("free", nv)


def chart_step(eq: Equations) -> ca.Function:
    """(r, d, free, p) → (d, g): one Newton step of the dependent entries, and the residual before it."""
    r, d, free = _symbols(eq)
    g, G = closure(eq)(retraction(eq)(r, d), eq.p)
    step = _lift(_along(eq, ca.sparsify(G), d), free, -ca.densify(g))
    return ca.Function("chart_step", [r, d, free, eq.p], [ca.densify(d + step), ca.densify(g)])


def chart_speed(eq: Equations) -> ca.Function:
    """(q, v, free, p) → v: dependent speeds made to satisfy G v = 0, independent ones kept."""
    _, _, free = _symbols(eq)
    G = ca.sparsify(closure(eq)(eq.q, eq.p)[1])
    v = eq.v + _lift(G, free, ca.densify(-(G @ eq.v)))
    return ca.Function("chart_speed", [eq.q, eq.v, free, eq.p], [ca.densify(v)])


def start_speed(eq: Equations) -> ca.Function:
    """(q, s) → v: speeds as the user counts them into the engine's; they differ for reversed balls."""
    s = ca.SX.sym("s", eq.tree.nv)
    v = ca.SX(s)
    for at_q, at_v, reverse in _balls(eq.model):
        if reverse:
            v[at_v] = -(rotation(eq.q[at_q]) @ s[at_v])
    return ca.Function("start_speed", [eq.q, s], [v], ["q", "s"], ["v"])


def singular_form(eq: Equations) -> ca.Function:
    """(q, p, a, b) → aᵀG b: at singular vectors a, b its derivative is that of the singular value."""
    G = ca.sparsify(closure(eq)(eq.q, eq.p)[1])
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
        nq, nv, nu, np_ = eq.tree.nq, eq.tree.nv, eq.u.numel(), eq.p.numel()
        r, d, free = _symbols(eq)
        G = ca.sparsify(closure(eq)(eq.q, eq.p)[1])
        c, b = ca.SX.sym("c", G.shape[0]), ca.SX.sym("b", nv)
        along = _along(eq, G, d)
        self.place = retraction(eq)
        self.rates = chart_rates(eq)
        self.gap = ca.Function("gap", [r, d, eq.p], [ca.densify(closure(eq)(self.place(r, d), eq.p)[0])])
        self.slip = ca.Function("slip", [eq.q, eq.v, eq.p], [ca.densify(G @ eq.v)])
        # x = F Gᵀ(G F Gᵀ)⁻¹ c and its transpose, along displacements (d) or along speeds (d = 0)
        self.lift = ca.Function("lift", [eq.q, d, free, eq.p, c], [ca.densify(_lift(along, free, c))])
        seen = ca.densify(along @ (free * b))
        self.lifted = ca.Function("lifted", [eq.q, d, free, eq.p, b], [_multipliers(along, free, seen)])
        arguments = [eq.q, eq.v, eq.u, eq.p]
        results = [dynamics(eq)(*arguments)[0], outputs(*arguments)]
        self.all = ca.Function("all", arguments, results, {"cse": True})
        self.point = [
            ca.MX.sym(name, size)
            for name, size in (("r", nq), ("d", nv), ("v", nv), ("free", nv), ("u", nu), ("p", np_))
        ]
        self.q = self.place(self.point[0], self.point[1])


def tangent(eq: Equations, outputs: ca.Function) -> ca.Function:
    """(r, d, v, free, u, p; δd, δv, δu, δp) → (δḋ, δv̇, δy, δq): derivatives along a direction.

    δd and δv hold the directions of the states in their independent entries, zero elsewhere.
    """
    k = _Kernels(eq, outputs)
    r, d, v, free, u, p = k.point
    seeds = [ca.MX.sym(f"{name}_dot", x.numel()) for name, x in (("d", d), ("v", v), ("u", u), ("p", p))]
    d1, v1, u1, p1 = seeds
    none = ca.MX(r.numel(), 1)
    d1 = d1 + k.lift(k.q, d, free, p, -_forward(k.gap, (r, d, p), (none, d1, p1))[0])
    q1 = _forward(k.place, (r, d), (none, d1))[0]
    v1 = v1 + k.lift(k.q, 0 * d, free, p, -_forward(k.slip, (k.q, v, p), (q1, v1, p1))[0])
    dv1, y1 = _forward(k.all, (k.q, v, u, p), (q1, v1, u1, p1))
    rate1 = _forward(k.rates, (d, v), (d1, v1))[0]
    return ca.Function("tangent", [*k.point, *seeds], [ca.densify(x) for x in (rate1, dv1, y1, q1)])


def adjoint(eq: Equations, outputs: ca.Function) -> ca.Function:
    """(r, d, v, free, u, p; rows on ḋ, v̇, y, q) → rows on (d, v, u, p): the transpose of `tangent`."""
    k = _Kernels(eq, outputs)
    r, d, v, free, u, p = k.point
    sizes = (("rate", v.numel()), ("dv", v.numel()), ("y", outputs.numel_out(0)), ("q", r.numel()))
    seeds = [ca.MX.sym(f"{name}_bar", size) for name, size in sizes]
    rate_, dv_, y_, q_ = seeds
    at_q, at_v, u_, p_ = _reverse(k.all, (k.q, v, u, p), (dv_, y_))
    at_d, more = _reverse(k.rates, (d, v), (rate_,))
    q_, v_ = q_ + at_q, at_v + more
    at_q, at_v, at_p = _reverse(k.slip, (k.q, v, p), (-k.lifted(k.q, 0 * d, free, p, v_),))
    q_, v_, p_ = q_ + at_q, v_ + at_v, p_ + at_p
    d_ = at_d + _reverse(k.place, (r, d), (q_,))[1]
    _, at_d, at_p = _reverse(k.gap, (r, d, p), (-k.lifted(k.q, d, free, p, d_),))
    results = [(1 - free) * (d_ + at_d), (1 - free) * v_, u_, p_ + at_p]
    return ca.Function("adjoint", [*k.point, *seeds], [ca.densify(x) for x in results])


def _forward(f: ca.Function, at: tuple[Any, ...], seeds: tuple[Any, ...]) -> list[Any]:
    return _parts(f.forward(1)(*at, *_values(f, at), *seeds))


def _reverse(f: ca.Function, at: tuple[Any, ...], seeds: tuple[Any, ...]) -> list[Any]:
    return _parts(f.reverse(1)(*at, *_values(f, at), *seeds))


def _values(f: ca.Function, at: tuple[Any, ...]) -> list[Any]:
    """Placeholders for the results at the point, which derivatives of straight-line code never read."""
    return [ca.MX(*f.size_out(k)) for k in range(f.n_out())]


def _parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]
