"""A step for mechanisms whose drives or joints have states of their own, which may fade fast.

Every internal state has a rate ż = a − b z with b ≥ 0 (`forces.Applied`): the current of a winding fades
within L/R, bristles within micrometres. Classical Runge-Kutta would need steps shorter than 1/b. Here
e^(−bt) is taken as it is, with b of the start of the step and the rest N = ż + b z by Runge-Kutta's stages
(Krogstad, 2005, ETDRK4-B): stable for any b h, of fourth order, and Runge-Kutta itself where b = 0.
"""

from math import factorial
from typing import Any

import casadi as ca

from ..base.thresholds import POSITION_SWEEPS
from ..equations.functions import fading
from ..equations.terms import Equations
from ..equations.traced import decays, project_position, rates
from .rank import grows_beside_manifold
from .rotations import attitude_error
from .singular_start import inputs_later
from .step_error import newton_steps, project_and_estimate

LAG = 1 / 1920  # of a steady spin, over θ⁵
TERMS = 18  # of the power series of φ₃: the next is below round-off for |x| ≤ 1


def phi() -> ca.Function:
    """x → (eˣ, φ₁, φ₂, φ₃), φ₁ = (eˣ − 1)/x, φ₂ = (φ₁ − 1)/x, φ₃ = (φ₂ − ½)/x, for a number x ≤ 0."""
    x = ca.SX.sym("x")
    series = ca.SX(0)
    for k in reversed(range(TERMS)):
        series = series * x + 1 / factorial(k + 3)
    large = ca.fmin(x, -1)  # where differences keep their digits
    one = (fading(large) - 1) / large
    two = (one - 1) / large
    three = ca.if_else(x < -1, (two - 0.5) / large, series)
    two = 0.5 + x * three
    one = 1 + x * two
    return ca.Function("phi", [x], [1 + x * one, one, two, three])


def exponential(eq: Equations, inputs: str) -> ca.Function:
    """(q, v, z, work, u, p, h) → (q, v, z, work, error): one step; an error above 1 is too large."""
    slope = rates(eq)
    q, v, z, work, w, p, h = symbols = eq.symbols("q", "v", "z", "work", inputs, "p", "h")
    onto = newton_steps(project_position(eq), POSITION_SWEEPS if grows_beside_manifold(eq) else 0)
    b = decays(eq)(q, v, z, p)
    functions = phi().map(eq.tree.nz)
    E, f1, f2, f3 = (x.T for x in functions(-h * b.T))
    E2, g1, g2, _ = (x.T for x in functions(-h / 2 * b.T))

    def at(q1: Any, v1: Any, z1: Any, t: Any) -> tuple[Any, Any, Any, Any]:
        """Rates of coordinates, speeds and work, and N, at a stage."""
        now = inputs_later(eq, w, t)[: eq.u.numel()]
        dq, dv, dz, power = slope(onto(q1, eq.motions(now), p), v1, z1, now, p)
        return dq, dv, power, dz + b * z1

    q1, v1, w1, N1 = at(q, v, z, 0)
    z2 = E2 * z + h / 2 * g1 * N1
    q2, v2, w2, N2 = at(q + h / 2 * q1, v + h / 2 * v1, z2, h / 2)
    z3 = E2 * z + h * ((g1 / 2 - g2) * N1 + g2 * N2)
    q3, v3, w3, N3 = at(q + h / 2 * q2, v + h / 2 * v2, z3, h / 2)
    z4 = E * z + h * ((f1 - 2 * f2) * N1 + 2 * f2 * N3)
    q4, v4, w4, N4 = at(q + h * q3, v + h * v3, z4, h)
    weights = f1 - 3 * f2 + 4 * f3, 2 * (f2 - 2 * f3), 4 * f3 - f2
    z5 = E * z + h * (weights[0] * N1 + weights[1] * (N2 + N3) + weights[2] * N4)
    q5, v5, work5 = (
        a + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        for a, k1, k2, k3, k4 in ((q, q1, q2, q3, q4), (v, v1, v2, v3, v4), (work, w1, w2, w3, w4))
    )
    s = eq.motions(inputs_later(eq, w, h))
    q5, v5, error = project_and_estimate(eq)(q, v, z, work, q5, v5, z5, work5, s, p, 1)
    error = attitude_error(eq, error, v, h, LAG, h / 30 * (v3 - v2), 2)
    return ca.Function("single", symbols, [q5, v5, z5, work5, error])
