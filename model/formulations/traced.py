"""Traced functions that only the selectable formulations need."""

from __future__ import annotations

import casadi as ca

from ..equations import Equations, terms
from ..kinematics import motion, position_rates
from ..loops import jacobian, loops, residual
from ..outputs import energies
from ..solve import accelerations, constrained


def jacobian_rate(eq: Equations) -> ca.Function:
    """(q, v, p) → Ġ, the rate of the loop Jacobian along a motion."""
    move = motion(eq.model, eq.q, ca.SX.zeros(eq.tree.nv, 1))
    G = ca.densify(jacobian(eq.model, loops(eq.model, move), move.X))
    rate = ca.reshape(ca.jtimes(ca.vec(G), eq.q, position_rates(eq.model, eq.q, eq.v)), *G.shape)
    return ca.Function("jacobian_rate", [eq.q, eq.v, eq.p], [rate], ["q", "v", "p"], ["G_rate"])


def invariants(eq: Equations) -> ca.Function:
    """(q, v, p) → (h, H): what stays constant, h = (g, G v, energy), and ∂h along (δ, v).

    δ are small displacements along the speeds, as in `retraction`.
    """
    t = terms(eq)
    kinetic, potential = energies(eq, t.move, t.applied.potential)
    h = ca.vertcat(residual(eq.model, t.closed), t.G @ eq.v, kinetic + potential)
    H = ca.horzcat(_along(eq, h), ca.jacobian(h, eq.v))
    names = ["q", "v", "u", "p"], ["h", "H"]
    return ca.Function("invariants", [eq.q, eq.v, eq.u, eq.p], [ca.densify(h), ca.densify(H)], *names)


def derivatives(eq: Equations) -> ca.Function:
    """(q, v, u, p) → (∂v̇/∂δ, ∂v̇/∂v, ∂(G v)/∂δ), exact, by differentiating the traced code."""
    t = terms(eq)
    dv, _ = accelerations(constrained(t.M, t.G), t.right, t.gamma)
    out = [_along(eq, dv), ca.jacobian(dv, eq.v), _along(eq, t.G @ eq.v)]
    names = ["q", "v", "u", "p"], ["Dq", "Dv", "C"]
    return ca.Function("derivatives", [eq.q, eq.v, eq.u, eq.p], [ca.densify(x) for x in out], *names)


def _along(eq: Equations, x: ca.SX) -> ca.SX:
    """∂x/∂q · N(q) with q̇ = N v."""
    N = ca.jacobian(position_rates(eq.model, eq.q, eq.v), eq.v)
    return ca.jacobian(x, eq.q) @ N
