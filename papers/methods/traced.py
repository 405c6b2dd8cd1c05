"""Traced functions that only the selectable formulations need."""

import casadi as ca

from ...model.equations.functions import dense
from ...model.equations.kinematics import position_rates
from ...model.equations.loops import residual
from ...model.equations.outputs import energies
from ...model.equations.terms import Equations, at_rest, terms
from ...model.linear.exact import tangent_map


def jacobian_rate(eq: Equations) -> ca.Function:
    """(q, v, p) → Ġ, the rate of the loop Jacobian along a motion."""
    G = at_rest(eq).G
    rate = ca.reshape(ca.jtimes(ca.vec(G), eq.q, position_rates(eq.model, eq.q, eq.v)), *G.shape)
    return dense(ca.Function("jacobian_rate", [eq.q, eq.v, eq.p], [rate], ["q", "v", "p"], ["G_rate"]))


def invariants(eq: Equations) -> ca.Function:
    """(q, v, z, u, p) → (h, H): what stays constant, h = (g, G v, energy), and ∂h along (δ, v).

    δ are small displacements along the speeds, as in `retraction`.
    """
    t = terms(eq)
    kinetic, potential = energies(eq, t.motion, eq.v, t.applied)
    h = ca.vertcat(residual(eq.model, t.motion, t.loops), t.G @ eq.v, kinetic + potential)
    H = ca.horzcat(ca.jacobian(h, eq.q) @ tangent_map(eq), ca.jacobian(h, eq.v))
    names = ["q", "v", "z", "u", "p"], ["h", "H"]
    return dense(ca.Function("invariants", [eq.q, eq.v, eq.z, eq.u, eq.p], [h, H], *names))
