"""A step for mechanisms whose drives or joints have states of their own, which may fade fast.

Every internal state has a rate ż = a − b z with b ≥ 0 (`forces.Applied`): the current of a winding fades
within L/R, bristles within micrometres. Classical Runge-Kutta would need steps shorter than 1/b. Here
e^(−bt) is taken as it is, with b of the start of the step and the rest N = ż + b z by Runge-Kutta's stages
(Krogstad, 2005, ETDRK4-B): stable for any b h, of fourth order, and Runge-Kutta itself where b = 0.
"""

from math import factorial
from typing import Any

import casadi as ca

from ..equations.drives import fading
from ..equations.terms import Equations
from ..equations.traced import decays, project_position, rates
from ..thresholds import POSITION_SWEEPS
from .judge import concluded, projected
from .rank import grows_beside_manifold
from .rest import inputs_later
from .seat import told

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
    """(q, v, work, u, p, h) → (q, v, work, error): one step; an error above 1 is too large."""
    nz, slope = eq.tree.nz, rates(eq)
    m = eq.tree.nq - nz
    q, v, work, w, p, h = symbols = eq.symbols("q", "v", "work", inputs, "p", "h")
    onto = projected(project_position(eq), POSITION_SWEEPS if grows_beside_manifold(eq) else 0)
    b = decays(eq)(q, v, p)
    functions = phi().map(nz)
    E, f1, f2, f3 = (x.T for x in functions(-h * b.T))
    E2, g1, g2, _ = (x.T for x in functions(-h / 2 * b.T))
    z0 = q[m:]

    def at(q1: Any, z: Any, v1: Any, t: Any) -> tuple[Any, Any, Any, Any]:
        """Rates of coordinates, speeds and work, and N, at a stage."""
        now = inputs_later(eq, w, t)[: eq.u.numel()]
        motion = told(eq, now, p)
        dq, dv, power = slope(onto(ca.vertcat(q1, z), motion), v1, now, motion)
        return dq[:m], dv, power, dq[m:] + b * z

    q1, v1, w1, N1 = at(q[:m], z0, v, 0)
    z2 = E2 * z0 + h / 2 * g1 * N1
    q2, v2, w2, N2 = at(q[:m] + h / 2 * q1, z2, v + h / 2 * v1, h / 2)
    z3 = E2 * z0 + h * ((g1 / 2 - g2) * N1 + g2 * N2)
    q3, v3, w3, N3 = at(q[:m] + h / 2 * q2, z3, v + h / 2 * v2, h / 2)
    z4 = E * z0 + h * ((f1 - 2 * f2) * N1 + 2 * f2 * N3)
    q4, v4, w4, N4 = at(q[:m] + h * q3, z4, v + h * v3, h)
    weights = f1 - 3 * f2 + 4 * f3, 2 * (f2 - 2 * f3), 4 * f3 - f2
    z1 = E * z0 + h * (weights[0] * N1 + weights[1] * (N2 + N3) + weights[2] * N4)
    ends = [
        a + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        for a, k1, k2, k3, k4 in ((q[:m], q1, q2, q3, q4), (v, v1, v2, v3, v4), (work, w1, w2, w3, w4))
    ]
    q5, v5, error = concluded(eq)(
        q, v, work, ca.vertcat(ends[0], z1), *ends[1:], told(eq, inputs_later(eq, w, h)[: eq.u.numel()], p), 1
    )
    return ca.Function("single", symbols, [q5, v5, ends[2], error])
