"""Derivatives of the lift, and of all that follows from it, along directions and along rows.

They come from the implicit function theorem, never from differentiating iterations: `tangent`
carries a direction of independent coordinates, speeds, inputs and parameters forward to rates,
accelerations and outputs; `adjoint` carries a row back. This is the linear model of the local
state-space form (paper 004, 4.2) in the chart's own coordinates.
"""

from typing import Any

import casadi as ca

from ..equations.loops import of_poses
from ..equations.terms import Equations, at_rest
from ..equations.traced import closure, dynamics, internal_rates, retraction
from .closing import Follow, along_displacement, closing_multipliers, follow_by_joint, free_joints, gap, slip
from .lift import displacement_rates


def _stretched(eq: Equations) -> tuple[list[Any], Any, Any]:
    """(q, p, a, b), and the row and the speeds v for which row · G v is aᵀ G b with the G of `charts.py`.

    At singular vectors a, b the derivative of aᵀ G b is that of the singular value.
    """
    q, p, b = eq.symbols("q", "p", "b")
    a = ca.MX.sym("a", eq.tree.row_count)
    return [q, p, a, b], a / eq.scales.rows, b * eq.scales.speeds


def _still(eq: Equations) -> list[Any]:
    """Speeds whose slip is taken away from that of others, so that G v is left: zero, if surfaces run."""
    return [] if ca.sparsify(at_rest(eq).b).nnz() == 0 else [ca.MX.zeros(eq.tree.nv, 1)]


def singular_tangent(eq: Equations) -> ca.Function:
    """(q, p, a, b; δq, δp) → δσ = aᵀ δG b for a singular value σ with its vectors a, b."""
    at, row, v = _stretched(eq)
    q, p, *_ = at
    q1, p1 = eq.symbols("q1", "p1")
    rates = [ca.dot(row, _forward(slip(eq), (q, x, p), (q1, 0 * v, p1))[0]) for x in (v, *_still(eq))]
    return ca.Function("singular_tangent", [*at, q1, p1], [rates[0] - sum(rates[1:])])


def singular_adjoint(eq: Equations) -> ca.Function:
    """(q, p, a, b; row on σ) → rows on (q, p)."""
    at, row, v = _stretched(eq)
    q, p, *_ = at
    given = ca.MX.sym("row")
    rows = [_reverse(slip(eq), (q, x, p), (given * row,))[::2] for x in (v, *_still(eq))]
    results = [first - sum(more) for first, *more in zip(*rows, strict=True)]
    return ca.Function("singular_adjoint", [*at, given], [ca.densify(x) for x in results])


class _Kernels:
    """The traced pieces of which the derivatives are composed."""

    def __init__(self, eq: Equations, outputs: ca.Function):
        self.place = retraction(eq)
        self.rates = displacement_rates(eq)
        self.gap = gap(eq)
        self.slip = slip(eq)
        self.follow = follow_by_joint(eq)
        arguments = [eq.q, eq.v, eq.u, eq.p]
        results = [dynamics(eq)(*arguments)[0], internal_rates(eq)(*arguments), outputs(*arguments)]
        self.all = ca.Function("all", arguments, results, {"cse": True})
        self.point = eq.symbols("r", "d", "v", "free", "free_v", "u", "p")
        self.q = self.place(self.point[0], self.point[1])


def _back(eq: Equations) -> Follow:
    """(q, d, free, p, b) → λ of (J F Jᵀ)λ = J F b: `follow` transposed, in the same two kinds."""
    free, d, b = free_joints(eq), ca.SX.sym("d", eq.tree.nv), ca.SX.sym("b", eq.tree.nv)
    G = ca.sparsify(closure(eq)(eq.q, eq.p)[1])
    poses = of_poses(eq.model, G)

    def along(J: Any) -> ca.Function:
        back = closing_multipliers(eq, J, free.F, ca.densify(J @ (free.F @ b)))
        return ca.Function("back", [eq.q, d, free.symbol, eq.p, b], [back])

    place = along(along_displacement(eq, poses, d))
    return Follow(place, place if poses is G else along(G))


def tangent(eq: Equations, outputs: ca.Function) -> ca.Function:
    """(r, d, v, free, free_v, u, p; δd, δv, δz, δu, δp) → (δḋ, δv̇, δż, δy, δq): along a direction.

    δd and δv hold the directions of the states in their independent entries, zero elsewhere; z are the
    internal states, which stand at the end of r.
    """
    k = _Kernels(eq, outputs)
    r, d, v, free, free_v, u, p = k.point
    z, sized = _inner(eq, r), ("d", "v", "z", "u", "p")
    seeds = [ca.MX.sym(f"{name}_dot", x.numel()) for name, x in zip(sized, (d, v, z, u, p), strict=True)]
    d1, v1, z1, u1, p1 = seeds
    none = ca.vertcat(ca.MX(r.numel() - eq.tree.nz, 1), z1)
    d1 = d1 + k.follow.place(k.q, d, free, 0, p, -_forward(k.gap, (r, d, p), (none, d1, p1))[0])
    q1 = _forward(k.place, (r, d), (none, d1))[0]
    v1 = v1 + k.follow.speed(k.q, 0 * d, free_v, 0, p, -_forward(k.slip, (k.q, v, p), (q1, v1, p1))[0])
    dv1, dz1, y1 = _forward(k.all, (k.q, v, u, p), (q1, v1, u1, p1))
    rate1 = _forward(k.rates, (d, v), (d1, v1))[0]
    return ca.Function("tangent", [*k.point, *seeds], [ca.densify(x) for x in (rate1, dv1, dz1, y1, q1)])


def adjoint(eq: Equations, outputs: ca.Function) -> ca.Function:
    """(r, d, v, free, free_v, u, p; rows on ḋ, v̇, ż, y, q) → rows on (d, v, z, u, p): it transposed."""
    k = _Kernels(eq, outputs)
    back = _back(eq)
    r, d, v, free, free_v, u, p = k.point
    sizes = {"rate": v.numel(), "dv": v.numel(), "dz": eq.tree.nz, "y": outputs.numel_out(0), "q": r.numel()}
    seeds = [ca.MX.sym(f"{name}_bar", size) for name, size in sizes.items()]
    rate_, dv_, dz_, y_, q_ = seeds
    at_q, at_v, u_, p_ = _reverse(k.all, (k.q, v, u, p), (dv_, dz_, y_))
    at_d, more = _reverse(k.rates, (d, v), (rate_,))
    q_, v_ = q_ + at_q, at_v + more
    at_q, at_v, at_p = _reverse(k.slip, (k.q, v, p), (-back.speed(k.q, 0 * d, free_v, p, v_),))
    q_, v_, p_ = q_ + at_q, v_ + at_v, p_ + at_p
    r_, more = _reverse(k.place, (r, d), (q_,))
    d_, z_ = at_d + more, _inner(eq, r_)
    _, at_d, at_p = _reverse(k.gap, (r, d, p), (-back.place(k.q, d, free, p, d_),))
    results = [(1 - free) * (d_ + at_d), (1 - free_v) * v_, z_, u_, p_ + at_p]
    return ca.Function("adjoint", [*k.point, *seeds], [ca.densify(x) for x in results])


def _inner(eq: Equations, q: Any) -> Any:
    """The internal states at the end of coordinates; a slice of one number would be a row."""
    return ca.vertsplit(q, [0, eq.tree.nq - eq.tree.nz, eq.tree.nq])[1]


def _forward(f: ca.Function, at: tuple[Any, ...], seeds: tuple[Any, ...]) -> list[Any]:
    return list(f.forward(1).call([*at, *_values(f), *seeds]))


def _reverse(f: ca.Function, at: tuple[Any, ...], seeds: tuple[Any, ...]) -> list[Any]:
    return list(f.reverse(1).call([*at, *_values(f), *seeds]))


def _values(f: ca.Function) -> list[Any]:
    """Placeholders for the results at the point, which derivatives of straight-line code never read."""
    return [ca.MX(*f.size_out(k)) for k in range(f.n_out())]
