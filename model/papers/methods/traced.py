"""Traced functions that only the selectable formulations need."""

from __future__ import annotations

import casadi as ca

from ...equations.kinematics import outward, position_rates
from ...equations.loops import cut_loops, jacobian, residual
from ...equations.outputs import energies
from ...equations.terms import Equations, dense, terms


def jacobian_rate(eq: Equations) -> ca.Function:
    """(q, v, p) → Ġ, the rate of the loop Jacobian along a motion."""
    motion = outward(eq.model, eq.q, ca.SX.zeros(eq.tree.nv, 1))
    G = jacobian(eq.model, cut_loops(eq.model, motion), motion.X)
    rate = ca.reshape(ca.jtimes(ca.vec(G), eq.q, position_rates(eq.model, eq.q, eq.v)), *G.shape)
    return dense(ca.Function("jacobian_rate", [eq.q, eq.v, eq.p], [rate], ["q", "v", "p"], ["G_rate"]))


def invariants(eq: Equations) -> ca.Function:
    """(q, v, u, p) → (h, H): what stays constant, h = (g, G v, energy), and ∂h along (δ, v).

    δ are small displacements along the speeds, as in `retraction`.
    """
    t = terms(eq)
    kinetic, potential = energies(eq, t.motion, eq.v, t.applied.potential)
    h = ca.vertcat(residual(eq.model, t.loops), t.G @ eq.v, kinetic + potential)
    H = ca.horzcat(_along(eq, h), ca.jacobian(h, eq.v))
    names = ["q", "v", "u", "p"], ["h", "H"]
    return dense(ca.Function("invariants", [eq.q, eq.v, eq.u, eq.p], [h, H], *names))


def _along(eq: Equations, x: ca.SX) -> ca.SX:
    """∂x/∂q · N(q) with q̇ = N v."""
    N = ca.jacobian(position_rates(eq.model, eq.q, eq.v), eq.v)
    return ca.jacobian(x, eq.q) @ N
