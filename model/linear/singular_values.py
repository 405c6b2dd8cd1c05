"""How the distance from a singular pose changes: derivatives of a singular value along directions and rows.

At singular vectors a, b of the G of `charts.py` the derivative of σ is that of aᵀ G b.
"""

from typing import Any

import casadi as ca

from ..equations.terms import Equations
from .exact import residuals


def singular_tangent(eq: Equations) -> ca.Function:
    """(q, p, a, b; δθ, δp) → δσ = aᵀ δG b for a singular value σ with its vectors a, b."""
    at, of, sigma = _stretch(eq)
    along = [ca.SX.sym(f"{name}_dot", x.numel()) for name, x in zip(("theta", "p"), of, strict=True)]
    slope = ca.jtimes(sigma, ca.vertcat(*of), ca.vertcat(*along))
    return ca.Function("singular_tangent", [*at, *along], [_in_place(slope, of)])


def singular_adjoint(eq: Equations) -> ca.Function:
    """(q, p, a, b; row on σ) → rows on (θ, p)."""
    at, of, sigma = _stretch(eq)
    row = ca.SX.sym("row")
    back = _in_place(ca.jtimes(sigma, ca.vertcat(*of), row, True), of)
    return ca.Function("singular_adjoint", [*at, row], ca.vertsplit(back, [0, eq.tree.nv, back.numel()]))


def _stretch(eq: Equations) -> tuple[list[Any], list[Any], Any]:
    """(q, p, a, b), what moves, and aᵀ G b with the G of `charts.py`: the slip of b, without surfaces'."""
    a, b, r = ca.SX.sym("a", eq.tree.row_count), ca.SX.sym("b", eq.tree.nv), residuals(eq)
    moving, still = (ca.substitute(r.s, eq.v, v) for v in (b * eq.scales.speeds, ca.SX.zeros(eq.tree.nv, 1)))
    return [eq.q, eq.p, a, b], [r.delta, eq.p], ca.dot(a / eq.scales.rows, ca.densify(moving - still))


def _in_place(slope: Any, of: list[Any]) -> Any:
    """At no displacement."""
    return ca.densify(ca.cse(ca.substitute(slope, of[0], ca.SX.zeros(*of[0].shape))))
