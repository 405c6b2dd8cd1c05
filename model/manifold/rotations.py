"""Rotations in a step: the attitude on the group itself, and how far a step leads it astray.

Where a ball's angular velocity ω is steady in the body's axes its attitude is e ⊗ exp(½ωt), which no
polynomial in t is: a Runge-Kutta step of the Euler parameters lags by (ωh/2)⁵/60 rad, of which energy
knows nothing. Sub-steps therefore take U of e₀ ⊗ exp(½U) as their unknown (Munthe-Kaas, 1999),

    U̇ = dexp⁻¹(U) ω = ω + ½ U×ω + (1/12 + θ²/720) U×(U×ω) + …,   θ = |U|,

for which a steady spin is a straight line; plain steps are told by their error to become such sub-steps.
"""

from typing import Any

import casadi as ca

from ..base.thresholds import ATTITUDE_ERROR, TINY
from ..equations.terms import Equations, once
from ..joints.rigid_motion import product


def spins(eq: Equations) -> list[Any]:
    """The links that turn by Euler parameters."""
    return [(move, link) for move, link in eq.tree.moves if not move.plain]


@once
def turned(eq: Equations) -> ca.Function:
    """(q, U) → q: plain coordinates go on by U, Euler parameters by exp(½U)."""
    U = ca.SX.sym("U", eq.tree.nv)
    q = ca.SX(eq.q)
    for move, link in eq.tree.moves:
        if move.plain:
            q[link.q] = eq.q[link.q] + U[link.v]
            continue
        half = 0.5 * U[link.v]
        angle = ca.sqrt(ca.sumsqr(half) + TINY)
        turn = ca.vertcat(ca.cos(angle), ca.sin(angle) / angle * half)
        own = product(move.euler_parameters(eq.q[link.q], link.reverse), turn)
        q[link.q] = move.euler_parameters(own, link.reverse)
    return ca.Function("turned", [eq.q, U], [q])


@once
def turning(eq: Equations) -> ca.Function:
    """(U, v) → U̇ = dexp⁻¹(U) v."""
    U = ca.SX.sym("U", eq.tree.nv)
    rate = ca.SX(eq.v)
    for _, link in spins(eq):
        u, w = U[link.v], eq.v[link.v]
        across = ca.cross(u, w)
        rate[link.v] = w + 0.5 * across + (1 / 12 + ca.sumsqr(u) / 720) * ca.cross(u, across)
    return ca.Function("turning", [U, eq.v], [rate])


def attitude_error(eq: Equations, error: Any, v: Any, h: Any, lag: float, bend: Any, power: int) -> Any:
    """The error of a step, or that of its attitudes if that is the larger.

    A steady spin through θ = |ω|h lags by `lag`·θ⁵ radians. Bodies swing at rates near that of their spin:
    of the speeds |bend| θ^power are wrong, where `bend` would vanish if they changed evenly.
    """
    if not spins(eq):
        return error
    # over scalars, so that lanes can share its lines
    e, w, t, b = (ca.SX.sym(*x) for x in (("e",), ("v", eq.tree.nv), ("h",), ("bend", eq.tree.nv)))
    worst = e
    for _, link in spins(eq):
        theta = t * ca.norm_2(w[link.v])
        wrong = ca.norm_2(b[link.v]) * t * theta ** (power - 1)  # of the spin
        worst = ca.fmax(worst, (lag * theta**5 + wrong) / ATTITUDE_ERROR)
    return ca.Function("attitude_error", [e, w, t, b], [worst])(error, v, h, bend)
