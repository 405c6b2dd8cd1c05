"""How a step's end is brought onto the loops and judged, whatever took it there.

Three numbers are zero for the exact motion: the change of energy less the work done, the kinetic energy
that the projection of the speeds takes away, and the gap left in the loops.
"""

import math
from collections.abc import Callable
from typing import Any

import casadi as ca

from ..base.thresholds import (
    ENERGY_ERROR,
    ENERGY_ROUND_OFF,
    HUGE,
    POSITION_SWEEPS,
    REFUSED,
    SPEED_LOSS,
    STEP_GAP,
    TINY,
)
from ..equations.forces import applied
from ..equations.functions import concise
from ..equations.kinematics import outward
from ..equations.loops import cut_loops
from ..equations.outputs import energies
from ..equations.solver_choice import loop_rates, merging_saves, metric
from ..equations.spatial import lump_point_masses
from ..equations.terms import Equations, at_rest, once
from ..equations.traced import project_position


@once
def project_and_estimate(eq: Equations) -> ca.Function:
    """(q, v, z, work, q1, v1, z1, work1, s, p, part) → (q1, v1, error): a step's end on the loops.

    The same for steps of fixed and of variable length; the latter allow themselves a part of the errors.
    """
    names = ["q", "v", "z", "work", "q1", "v1", "z1", "work1", "s", "p"]
    q, v, z, work, q1, v1, z1, work1, s, p = symbols = eq.symbols(*names)
    part = ca.MX.sym("part")
    end = newton_steps(project_position(eq), POSITION_SWEEPS)(q1, s, p)
    speeds, loss, gap, kinetic, potential = project_velocity_and_measure(eq)(end, v1, z1, s, p)
    before = energy(eq)(q, v, z, p)
    drift = kinetic + potential - before[0] - before[1] - (work1 - work)
    others = ca.fabs(potential) + ca.fabs(work1 - work) + weight(eq)
    error = step_error(drift, loss, gap, kinetic, others, part)
    found = ["q_new", "v_new", "error"]
    return ca.Function("concluded", [*symbols, part], [end, speeds, error], [*names, "part"], found)


def newton_steps(once: ca.Function, sweeps: int) -> Callable[[Any, Any, Any], Any]:
    """(q, s, p) → q: some Newton steps onto the manifold."""

    def onto(q: Any, s: Any, p: Any) -> Any:
        for _ in range(sweeps):
            q = once(q, s, p)
        return q

    return onto


def step_error(drift: Any, loss: Any, gap: Any, kinetic: Any, others: Any, part: Any) -> Any:
    """The largest of the three errors, each over what is allowed of it; NaN counts as infinite."""
    floor = ENERGY_ROUND_OFF * (kinetic + others) + TINY
    parts = (
        ca.fabs(drift) / (ENERGY_ERROR * part * kinetic + floor),
        ca.sqrt(ca.fabs(loss) / ((SPEED_LOSS * part) ** 2 * kinetic + floor)),
        gap / STEP_GAP,
    )
    worst = ca.fmax(ca.fmax(parts[0], parts[1]), parts[2])
    return ca.if_else(sum(parts) <= HUGE, worst, HUGE)  # the sum: fmax takes a number over NaN


def weight(eq: Equations) -> float:
    """Potential energy that round-off is a part of, also where the sum of all bodies' is zero."""
    mechanism = lump_point_masses(eq.described)
    return sum(b.mass for b in mechanism.bodies) * math.hypot(*mechanism.gravity) * eq.scales.length


@once
def project_velocity_and_measure(eq: Equations) -> ca.Function:
    """(q, v, z, s, p) → (v, loss, gap, kinetic, potential): v onto G v + b = 0, and what steps are judged by.

    The projection is the nearest in the mass metric. With S λ = G v + b half the square of its length
    there is ½ λᵀ(G v + b), the kinetic energy it takes away where no surface runs (b = 0); `gap` is the
    largest |g| at q, lengths measured by the size of the mechanism.
    """
    at = at_rest(eq)
    miss = loop_rates(eq)
    delta, lam = metric(eq).accelerations(ca.SX.zeros(eq.tree.nv, 1), -miss)
    v = eq.v + delta
    loss = 0.5 * ca.dot(lam, miss)
    gap = ca.mmax(ca.fabs(at.g / eq.scales.rows)) if at.g.numel() else ca.SX(0)
    kinetic, potential = _energies(eq, v)
    results = [v, loss, gap, kinetic, potential]
    return concise("finished", [eq.q, eq.v, eq.z, eq.s, eq.p], results, merged=merging_saves(eq))


@once
def open_loops(eq: Equations) -> ca.Function:
    """(q, s, p) → (g, open): the residual of the loops; whether it is so large that no step may leave it."""
    g = at_rest(eq).g
    closed = ca.mmax(ca.fabs(g / eq.scales.rows)) <= REFUSED if g.numel() else ca.SX(1)
    return ca.Function("opened", [eq.q, eq.s, eq.p], [ca.densify(g), ca.densify(ca.logic_not(closed))])


@once
def energy(eq: Equations) -> ca.Function:
    """(q, v, z, p) → (kinetic, potential)."""
    return ca.Function("energy", [eq.q, eq.v, eq.z, eq.p], list(_energies(eq, eq.v)))


def _energies(eq: Equations, v: Any) -> tuple[Any, Any]:
    motion, still = outward(eq.model, eq.q, v), ca.SX.zeros(eq.u.shape)
    loops = cut_loops(eq.model, motion)
    return energies(eq, motion, v, applied(eq.model, motion, loops, eq.q, v, eq.z, still))
