"""Derivatives of the local state-space form along directions and along rows (paper 004, 4.2).

A chart's states are the independent displacements and speeds; what depends on them follows by the implicit
function theorem, never by differentiating iterations. With E = M v̇ + h − τ + Gᵀλ, c = G v̇ + Ġv + ḃ and
s = G v + b of `exact.py`, a direction (δd, δv, δz, δu, δp) of states, inputs and parameters moves

    G δθ = −∂g/∂p δp,     G δv = −δs,                the independent ones as given (`elimination.py`)
    M δv̇ + Gᵀδλ = −δE,    G δv̇ = −δc,                δs, δE, δc at constant v, v̇, λ,

and outputs by what they read of q, v, u, p, v̇ and λ. `tangent` carries a direction forward; `adjoint`, the
same transposed, carries a row back; the columns of a linear model are calls of it. `exact.linear` writes all
columns out at once, which takes fewer operations where there are few.

Loops are eliminated by reflections, so that the distance σ from a singular pose is divided by and never its
square. Where a basis of all motions would be too long a code, or there are no loops, accelerations come from
the multipliers as the dynamics have them (`solve.py`).
"""

from typing import Any, NamedTuple

import casadi as ca

from ..base.thresholds import LONG_TREE
from ..equations.kinematics import position_rates
from ..equations.loops import of_poses
from ..equations.outputs import output_column
from ..equations.solve import Constrained
from ..equations.terms import Equations, at_rest, mass, terms
from ..equations.traced import wanted_accelerations, with_given_accelerations, with_motion_given
from ..manifold.lift import displacement_rates
from .elimination import Elimination, Reduced, elimination, reduced
from .exact import residuals


class Chart(NamedTuple):
    """1 for every dependent displacement, and speed, else 0: symbols, or numbers that fold into the code."""

    dependent_q: Any
    dependent_v: Any
    speeds: int  # how many of them are independent

    def independent(self, eq: Equations, dependent_q: Any) -> Any:
        """Rows that pick what is independent; those of dependent ones are zero where these are symbols."""
        if not eq.tree.row_count:
            return ca.SX.eye(eq.tree.nv)
        if dependent_q.is_constant():
            return ca.SX.eye(eq.tree.nv)[[k for k in range(eq.tree.nv) if float(dependent_q[k]) == 0], :]
        return ca.diag(1 - dependent_q)


class Direction(NamedTuple):
    """Symbols of a state and of a direction at it, and all that moves along."""

    point: list[Any]  # q, d, v, z, u, p
    seeds: list[Any]  # δd, δv, δz, δu, δp
    rate: Any  # δḋ
    dv: Any
    dz: Any
    y: Any
    theta: Any
    v: Any


def tangent(eq: Equations, outputs: list[int], speeds: int, *more: Any) -> ca.Function:
    """(q, d, v, z, dependent_q, dependent_v, u, p; δd, δv, δz, δu, δp)
    → (δḋ, δv̇, δż, δy, δθ): along a direction.

    δd and δv hold the directions of the states in their independent entries, of which `speeds` are speeds;
    what the others hold is not read. `outputs` are places among all of them; behind these stand `more`
    functions of a state, over the symbols of `eq`.
    """
    point, x = _in_any_chart(eq, outputs, speeds, *more)
    return ca.Function("tangent", [*point, *x.seeds], [x.rate, x.dv, x.dz, x.y, x.theta])


def adjoint(eq: Equations, outputs: list[int], speeds: int, *more: Any) -> ca.Function:
    """(q, d, v, z, dependent_q, dependent_v, u, p; rows on ḋ, v̇, ż, y, θ) → rows on (d, v, z, u, p)."""
    point, x = _in_any_chart(eq, outputs, speeds, *more)
    results = {"rate": x.rate, "dv": x.dv, "dz": x.dz, "y": x.y, "theta": x.theta}
    rows = [ca.SX.sym(f"{name}_bar", value.numel()) for name, value in results.items()]
    back = ca.jtimes(ca.vertcat(*results.values()), ca.vertcat(*x.seeds), ca.vertcat(*rows), True)
    borders = [sum(seed.numel() for seed in x.seeds[:k]) for k in range(len(x.seeds) + 1)]
    return ca.Function("adjoint", [*point, *rows], ca.vertsplit(ca.densify(back), borders))


def _in_any_chart(eq: Equations, outputs: list[int], speeds: int, *more: Any) -> tuple[list[Any], Direction]:
    chart = Chart(ca.SX.sym("dependent_q", eq.tree.nv), ca.SX.sym("dependent_v", eq.tree.nv), speeds)
    x = direction(eq, outputs, chart, *more)
    q, d, v, z, u, p = x.point
    return [q, d, v, z, chart.dependent_q, chart.dependent_v, u, p], x


def direction(eq: Equations, outputs: list[int], chart: Chart, *more: Any) -> Direction:
    """What a direction of states, inputs and parameters does at a state."""
    q, v, z, u, p, r = eq.q, eq.v, eq.z, eq.u, eq.p, residuals(eq)
    d = ca.SX.sym("d", eq.tree.nv)
    seeds = d1, v1, z1, u1, p1 = [
        ca.SX.sym(f"{name}_dot", x.numel()) for name, x in zip("dvzup", (d, v, z, u, p), strict=True)
    ]
    rates, t, plain = displacement_rates(eq)(d, v), terms(eq), all(eq.tree.holds_poses)
    E = ca.jacobian(rates, v)
    R, S = (
        chart.independent(eq, dependent_q)
        for dependent_q in (chart.dependent_q, chart.dependent_q if plain else chart.dependent_v)
    )
    speeds = elimination(eq, S, t.G)
    turns = not E.is_constant()  # displacements of balls are no angles
    places = elimination(eq, R @ E, of_poses(eq.model, t.G)) if turns or not plain else speeds
    system = _system(eq, speeds, chart.speeds)
    found = [ca.densify(x) for x in system.accelerations(t.right, wanted_accelerations(eq)[1])]

    def along(x: Any, of: list[Any], by: list[Any]) -> Any:
        """A derivative at zero displacement, and at the accelerations and multipliers found."""
        slope = ca.jtimes(ca.densify(x), ca.vertcat(*of), ca.vertcat(*by)) if x.numel() else ca.SX(0, 1)
        (slope,) = ca.substitute([slope], [r.delta, r.a, r.lam], [ca.SX.zeros(*r.delta.shape), *found])
        return slope

    theta = places.solution(R @ d1, -along(at_rest(eq).g, [u, p], [u1, p1]))
    w = speeds.solution(S @ v1, -along(r.s, [r.delta, u, p], [theta, u1, p1]))
    moved = along(ca.vertcat(r.E, r.c, r.dz), [r.delta, v, z, u, p], [theta, w, z1, u1, p1])
    dE, dc, dz = ca.vertsplit(moved, [0, v.numel(), v.numel() + r.c.numel(), moved.numel()])
    dv, dlam = system.accelerations(-dE, -dc)
    q1 = position_rates(eq.model, q, theta)
    shown = ca.vertcat(output_column(with_motion_given(eq, r.a, r.lam))[outputs], *more)
    y = along(shown, [q, v, z, u, p, r.a, r.lam], [q1, w, z1, u1, p1, dv, dlam])
    rate = ca.jtimes(rates, ca.vertcat(d, v), ca.vertcat(displacement_rates(eq)(d, theta), w))
    moved = ca.cse([ca.densify(x) for x in (rate, dv, dz, y, theta, w)])
    return Direction([q, d, v, z, u, p], seeds, *moved)


def _system(eq: Equations, speeds: Elimination, count: int) -> Reduced | Constrained:
    """What solves for accelerations and multipliers, `count` speeds being independent."""
    if not eq.tree.row_count or count * eq.tree.nv > LONG_TREE**2:
        return with_given_accelerations(eq)
    chosen = None
    if not speeds.R.is_constant():  # the k-th column belongs to the k-th independent speed
        kept = ca.diag(speeds.R)
        before = ca.cumsum(kept) - kept
        none = ca.SX(kept.numel(), 0)
        chosen = ca.horzcat(none, *(kept * (before == k) for k in range(count)))
    return reduced(speeds, mass(eq), speeds.basis(chosen), wanted_accelerations(eq)[0])
