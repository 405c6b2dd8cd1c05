"""What inputs have to give so that what they drive accelerates as wanted: joints, tree or cut, and cylinders.

A drive that makes its coordinate follow is a constraint on the motion, Bᵀv̇ + Ḃᵀv = a, and the force it needs
is that constraint's own: B = ∂τ/∂u carries an input into the equations, and by virtual power Bᵀv is the speed
of what it drives. So the rows of the drives that follow stand below those of the loops,

    M v̇ + Gᵀλ − B u = τ − h,    G v̇ = γ,    fᵢ(Bᵀv̇)ᵢ = fᵢ(a − Ḃᵀv)ᵢ,

with fᵢ = 1 where an input follows and 0 where its force is given. What is driven by nothing moves as it must
(Spong's partial feedback linearization), inputs that could do each other's work share it with least norm, and
at a pose where they have no hold their forces stay finite, like multipliers of loops (`solve.py`).
"""

from math import isfinite

import casadi as ca

from ..describe.mechanism import Mechanism
from .kinematics import position_rates
from .solve import factorize_constrained
from .solver_choice import inertia
from .terms import Equations, once, terms
from .traced import input_matrix


@once
def driving(eq: Equations) -> ca.Function:
    """(q, v, z, u, p, a, f) → u: as given where f is 0, and those that give accelerations a where it is 1."""
    t, n = terms(eq), eq.u.numel()
    a, f = ca.SX.sym("a", n), ca.SX.sym("f", n)
    (B,) = ca.substitute([input_matrix(eq)], [eq.u], [_within_range(eq.mechanism)])
    (right,) = ca.substitute([t.right], [eq.u], [(1 - f) * eq.u])
    turning = ca.jtimes(B.T @ eq.v, eq.q, position_rates(eq.model, eq.q, eq.v))
    rows = ca.sparsify(ca.vertcat(t.G, ca.diag(f) @ B.T))
    m = t.G.shape[0]
    groups = [*eq.scales.groups, *([m + k] for k in range(n))]
    system = factorize_constrained(inertia(eq), rows, groups)
    _, lam = system.accelerations(right, ca.vertcat(t.gamma, f * (a - turning)))
    u = ca.densify((1 - f) * eq.u - f * lam[m:])
    names = ["q", "v", "z", "u", "p", "a", "f"], ["forces"]
    return ca.Function("driving", [eq.q, eq.v, eq.z, eq.u, eq.p, a, f], [u], *names)


def _within_range(mechanism: Mechanism) -> ca.SX:
    """Inputs that meet no limit: none, but half of what it may be of one that only pulls or pushes."""
    found = [ca.SX(0, 1)]
    for row in mechanism.input_table:
        low, high = (max(min(x, 1.0), -1.0) if not isfinite(x) else x for x in (row.low, row.high))
        found += [ca.SX(0.0 if low < 0 < high else (low + high) / 2)] * row.size
    return ca.vertcat(*found)
