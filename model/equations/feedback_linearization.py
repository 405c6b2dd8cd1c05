"""What inputs have to give so that what they drive accelerates as wanted: joints, tree or cut, and cylinders.

A drive that makes its coordinate follow is a constraint on the motion, Bᵀv̇ + Ḃᵀv = a, and the force it needs
is that constraint's own: B = ∂τ/∂u carries an input into the equations, and by virtual power Bᵀv is the speed
of what it drives. So the rows of the drives that follow stand below those of the loops,

    M v̇ + Gᵀλ − B u = τ − h,    G v̇ = γ,    sᵢ(Bᵀv̇)ᵢ = sᵢ(a − Ḃᵀv)ᵢ,

with sᵢ = 1 where an input follows and 0 where its force is given. What is driven by nothing moves as it must
(Spong's partial feedback linearization), inputs that could do each other's work share it with least norm, and
at a pose where they have no hold their forces stay finite, like multipliers of loops (`solve.py`).
"""

from math import isfinite
from typing import Any

import casadi as ca

from ..describe.mechanism import Mechanism
from ..describe.motors import signals
from .kinematics import position_rates
from .prepared import inertia
from .solve import constrained
from .terms import Equations, once, terms


@once
def driving(eq: Equations) -> ca.Function:
    """(q, v, u, p, a, s) → u: as given where s is 0, and those that give accelerations a where it is 1."""
    t, n = terms(eq), eq.u.numel()
    a, s = ca.SX.sym("a", n), ca.SX.sym("s", n)
    (B,) = ca.substitute([ca.jacobian(t.right, eq.u)], [eq.u], [_within_range(eq.mechanism)])
    (right,) = ca.substitute([t.right], [eq.u], [(1 - s) * eq.u])
    turning = ca.jtimes(B.T @ eq.v, eq.q, position_rates(eq.model, eq.q, eq.v))
    rows = ca.sparsify(ca.vertcat(t.G, ca.diag(s) @ B.T))
    m = t.G.shape[0]
    groups = [*eq.scales.groups, *([m + k] for k in range(n))]
    system = constrained(inertia(eq), rows, groups)
    _, lam = system.accelerations(right, ca.vertcat(t.gamma, s * (a - turning)))
    u = ca.densify((1 - s) * eq.u - s * lam[m:])
    names = ["q", "v", "u", "p", "a", "s"], ["forces"]
    return ca.Function("driving", [eq.q, eq.v, eq.u, eq.p, a, s], [u], *names)


def _within_range(mechanism: Mechanism) -> ca.SX:
    """Inputs that meet no limit: none, but of cylinders that only pull or push half of what they may."""
    sides = {"both": 0.0, "pulls": -0.5, "pushes": 0.5}
    found: list[Any] = [0.0 for motor in mechanism.motors for _ in signals(motor)]
    for strut in (strut for strut in mechanism.struts if strut.actuated):
        most = 1.0 if isinstance(strut.limit, float) and not isfinite(strut.limit) else strut.limit
        found += [sides[strut.acts] * most for _ in signals(strut)]
    rest = [0.0] * (len(mechanism.inputs()) - len(found))
    return ca.vertcat(ca.SX(0, 1), *found, *rest)
