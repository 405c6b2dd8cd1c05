"""How a mechanism leaves a singular pose from rest: the second-order condition, and the step that uses it.

At rest in a singular pose q₀ the loops' first-order condition G v̇ = 0 says too little: G has lost rank, and
some of the accelerations it allows lead off the loops. Write the motion as d(t) = ½ a t² + …, with
q = q₀ ⊕ d, and expand the loops to the second order, g = G d + ½ H[d, d]. Orders t² and t⁴ give, for
every row n with nᵀG = 0,

    G a = 0,    nᵀH[a, a] = 0:      a lies in the tangent cone of the closed poses at q₀.

For t > 0 the lost rows are there again, nᵀG(q(t)) = ½ t² nᵀH[a, ·], so constraint forces act along
them, finite although their multipliers grow like 1/t², and the equations of motion in the limit t → 0 are

    M a + Gᵀλ + Σ κ nᵀH[a, ·] = F.

These are the conditions of Gauss's least constraint, ½(a − M⁻¹F)ᵀM(a − M⁻¹F), on the cone; of all that
satisfy them the least is taken. A cone knows no scale: its point nearest to a₀, the acceleration that
G a = 0 alone allows, is what the closed pose nearest to q₀ ⊕ ε a₀ is over ε, as ε → 0. That pose is far
enough from q₀ to be regular, and the step's own projections find it, without rank, null vectors or H:

    minimize ½(d − ε a₀)ᵀM(d − ε a₀)  with g(q₀ ⊕ d) = 0,      a = 2 d(ε/2)/(ε/2) − d(ε)/ε + O(ε²).

At a regular pose a = a₀. Velocity constraints J v = 0 hold along the way, so that to the second order
J(q₀ ⊕ d/2) d = 0 is asked of d like g = 0; their forces act along J at q₀ ⊕ d like those of loops.
"""

from math import nan
from typing import Any

import casadi as ca

from ..base.thresholds import AHEAD, NEAREST_TRIES, PARTED, RESOLVED, SAME_POSE, STILL, TINY
from ..equations.motion_drives import later_inputs
from ..equations.solve import onto_manifold
from ..equations.solver_choice import metric
from ..equations.terms import Equations, once
from ..equations.traced import closure, project_position, rates, retraction
from .lift import displacement
from .step_error import project_and_estimate, project_velocity_and_measure


@once
def from_rest(eq: Equations) -> ca.Function:
    """(q, z, u, p) → (a, parted): acceleration from rest; `parted` is 1 where G a = 0 gives another one.

    In equilibrium all that is left of a₀ is round-off, which points off the loops: only its part along them
    tells a singular pose, and only if it is more than what counts as rest.
    """
    q, z, u, p = symbols = eq.symbols("q", "z", "u", "p")
    s = eq.motions(u)
    a0 = project_velocity_and_measure(eq)(q, rates(eq)(q, ca.MX.zeros(eq.tree.nv, 1), z, u, p)[1], z, s, p)[0]
    length = ca.fmax(_size(eq, a0), TINY)
    one, half = (find_nearest_closed(eq)(q, e / length * a0, s, p) / e * length for e in (AHEAD, AHEAD / 2))
    a = 2 * half - one
    apart = _size(eq, a - a0)
    told = ca.logic_and(apart > PARTED * length, _size(eq, half - one) < apart)  # NaN is neither
    sure = ca.logic_and(told, length > STILL)
    results = [ca.if_else(sure, a, a0), sure]
    return ca.Function("from_rest", symbols, results, ["q", "z", "u", "p"], ["a", "parted"])


def _size(eq: Equations, d: Any) -> Any:
    """Of displacements or their rates, lengths measured by the size of the mechanism."""
    return ca.norm_2(d / eq.scales.speeds)


@once
def find_nearest_closed(eq: Equations) -> ca.Function:
    """(q, d0, s, p) → d: of the closed pose q ⊕ d nearest to q ⊕ d0; NaN if the search does not settle."""
    q, d0, s, p = symbols = eq.symbols("q", "d0", "s", "p")
    before = d = d0
    at = closer(eq)(q, retraction(eq)(q, d0), s, p)
    for _ in range(NEAREST_TRIES):
        before, (d, at) = d, nearer(eq)(q, d0, at, s, p)
    settled = _size(eq, d - before) < SAME_POSE * _size(eq, d0)
    return ca.Function("nearest_closed", symbols, [ca.if_else(settled, d, nan)])


@once
def nearer(eq: Equations) -> ca.Function:
    """(q, d0, at, s, p) → (d, at): from a closed pose q ⊕ d towards q ⊕ d0, and back onto the loops."""
    q, d0, at, s, p = symbols = eq.symbols("q", "d0", "q1", "s", "p")
    d = displacement(eq)(q, at)
    along = project_velocity_and_measure(eq)(at, d0 - d, ca.MX.zeros(eq.tree.nz, 1), s, p)[0]  # its tangents
    return ca.Function("nearer", symbols, [d, closer(eq)(q, retraction(eq)(at, along), s, p)])


@once
def closer(eq: Equations) -> ca.Function:
    """(q, at, s, p) → at: a Newton step onto the loops, and onto what velocity constraints allow from q on.

    As short as in `project_position`, which it is where all rows hold poses.
    """
    q, at, s, p = symbols = eq.symbols("q", "q1", "s", "p")
    if all(eq.tree.holds_poses):
        return ca.Function("closer", symbols, [project_position(eq)(at, s, p)])
    d = displacement(eq)(q, at)
    slip = closure(eq)(retraction(eq)(q, d / 2), s, p)[1] @ d
    miss = ca.if_else(ca.DM(eq.tree.holds_poses), closure(eq)(at, s, p)[0], slip)
    return ca.Function("closer", symbols, [retraction(eq)(at, mend(eq)(at, miss, p))])


@once
def mend(eq: Equations) -> ca.Function:
    """(q, c, p) → δ, the shortest in the mass metric with G δ = −c."""
    c = ca.SX.sym("c", eq.tree.row_count)
    return ca.Function("mend", [eq.q, c, eq.p], [onto_manifold(metric(eq), -c)])


def inputs_later(eq: Equations, w: Any, t: Any) -> Any:
    """Inputs, and their rates if they have any, as they are after t seconds."""
    nu = eq.u.numel()
    if eq.tree.driven:
        return later_inputs(eq.mechanism, w, t)
    return w if w.numel() == nu else ca.vertcat(w[:nu] + t * w[nu:], w[nu:])


def leaving(eq: Equations, ordinary: ca.Function) -> ca.Function:
    """(q, v, z, work, u, p, h) → the results of an ordinary step, taken from rest by a where that is needed.

    d = ½ a t² and v = a t, up to a pose that is regular enough for G to be trusted; ordinarily on from there.
    """
    q, v, z, work, w, p, h = symbols = ordinary.mx_in()
    a, u, s = eq.symbols("a")[0], w[: eq.u.numel()], eq.motions(w)
    t = ca.fmin(h, ca.sqrt(2 * RESOLVED / ca.fmax(_size(eq, a), TINY)))
    q1, v1, _ = project_and_estimate(eq)(
        q, v, z, work, retraction(eq)(q, t**2 / 2 * a), t * a, z, work, s, p, 1
    )
    work1 = work + t / 2 * rates(eq)(q1, v1, z, u, p)[3]  # power grows like t
    onward = ca.Function.if_else("onward", ordinary, _arrived(ordinary))
    by_second = list(onward(h > t, q1, v1, z, work1, inputs_later(eq, w, t), p, h - t))
    ways = (
        ca.Function("by_second", [*symbols, a], by_second),
        ca.Function("by_first", [*symbols, a], ordinary.call(symbols, False, True)),
    )
    best, parted = from_rest(eq)(q, z, u, p)
    return ca.Function("leaving", symbols, list(ca.Function.if_else("leave", *ways)(parted, *symbols, best)))


def _arrived(ordinary: ca.Function) -> ca.Function:
    """The other branch of going on: the start took the whole step, and there is nothing to say of it."""
    symbols = ordinary.mx_in()
    return ca.Function("arrived", symbols, [*symbols[:4], ca.MX.zeros(ordinary.sparsity_out(4))])
