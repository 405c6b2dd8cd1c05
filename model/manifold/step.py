"""One step of time: (q, v, work, u, p, h) → (q, v, work), the same for Python, FMU and ROS.

A CasADi MX function that calls the traced kernels, so that the C it becomes is generated
from the very functions that Python evaluates.

Near a kinematic singularity a mechanism can turn within microseconds, and a step of the
length that real time allows would jump over the turn. The step therefore judges itself, by
three numbers that are zero for the exact motion: the change of energy less the work done,
the kinetic energy that the projection of the speeds takes away, and the gap left in the
loops. If they are too large the step is done again in sub-steps of their own choice, of
which there is a bounded number; far from singularities this costs nothing.
"""

from collections.abc import Callable
from typing import Any

import casadi as ca

from ..equations.forces import applied
from ..equations.kinematics import outward
from ..equations.loops import cut_loops
from ..equations.outputs import energies
from ..equations.solve import accelerations
from ..equations.terms import Equations, at_rest, metric, once, project_position, rates
from ..thresholds import (
    ENERGY_ERROR,
    ENERGY_ROUND_OFF,
    HUGE,
    MOST_SCALING,
    MOST_SUBSTEPS,
    POSITION_SWEEPS,
    SHORTEST,
    SPEED_LOSS,
    STEP_GAP,
    TINY,
)
from .rank import grows_beside_manifold

# Classical Runge-Kutta: nodes, weights. Each stage uses the slope before it.
NODES = (0.0, 0.5, 0.5, 1.0)
WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)

JUDGED = ("q", "v", "work", "u", "p", "h", "q1", "v1", "work1", "error")  # a single step and what came of it


def runge_kutta(eq: Equations, substeps: int = MOST_SUBSTEPS) -> ca.Function:
    """Fourth-order Runge-Kutta on the underlying ODE, then projection onto g = 0 and G v = 0.

    `work` integrates the power of inputs, loads and losses alongside, with the same weights,
    so that energy minus work stays constant but for the integration error. With `substeps`
    1 every step is a single one, come what may.
    """
    names = ["q", "v", "work", "u", "p", "h"], ["q_new", "v_new", "work_new"]
    q, v, work, u, p, h = eq.symbols(*names[0])
    once = single(eq)
    if substeps <= 1:
        new = once(q, v, work, u, p, h)[:3]
        return ca.Function("step", [q, v, work, u, p, h], list(new), *names)
    *new, error = once(q, v, work, u, p, h)
    both = [q, v, work, u, p, h, *new, error]
    again = ca.Function.if_else("judge", refined(eq, once, substeps), _keep(eq))
    return ca.Function("step", [q, v, work, u, p, h], list(again(error > 1, *both)), *names)


def single(eq: Equations) -> ca.Function:
    """(q, v, work, u, p, h) → (q, v, work, error): one step; an error above 1 is too large."""
    slope, onto_position, finish = rates(eq), project_position(eq), finished(eq)
    q, v, work, u, p, h = eq.symbols("q", "v", "work", "u", "p", "h")
    stage = _projected(onto_position, POSITION_SWEEPS if grows_beside_manifold(eq) else 0)
    dq = dv = power = None
    total: list[Any] = [0, 0, 0]
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        at = (q, v) if dq is None else (stage(q + node * h * dq, p), v + node * h * dv)
        dq, dv, power = slope(*at, u, p)
        total = [a + weight * b for a, b in zip(total, (dq, dv, power), strict=True)]
    q1, v1, work1 = q + h * total[0], v + h * total[1], work + h * total[2]
    q1 = _projected(onto_position, POSITION_SWEEPS)(q1, p)
    v1, loss, gap, kinetic, potential = finish(q1, v1, p)
    before = energy(eq)(q, v, p)
    drift = kinetic + potential - before[0] - before[1] - (work1 - work)
    error = step_error(drift, loss, gap, kinetic, ca.fabs(potential) + ca.fabs(work1 - work))
    return ca.Function("single", [q, v, work, u, p, h], [q1, v1, work1, error])


def _projected(once: ca.Function, sweeps: int) -> Callable[[Any, Any], Any]:
    """(q, p) → q: some Newton steps onto the manifold."""

    def onto(q: Any, p: Any) -> Any:
        for _ in range(sweeps):
            q = once(q, p)
        return q

    return onto


def step_error(drift: Any, loss: Any, gap: Any, kinetic: Any, others: Any) -> Any:
    """The largest of the three errors, each over what is allowed of it; NaN counts as infinite."""
    floor = ENERGY_ROUND_OFF * (kinetic + others)
    parts = (
        ca.fabs(drift) / (ENERGY_ERROR * kinetic + floor),
        ca.sqrt(ca.fabs(loss) / (SPEED_LOSS**2 * kinetic + floor)),
        gap / STEP_GAP,
    )
    worst = ca.fmax(ca.fmax(parts[0], parts[1]), parts[2])
    return ca.if_else(worst <= HUGE, worst, HUGE)


def refined(eq: Equations, once: ca.Function, substeps: int) -> ca.Function:
    """The same step in sub-steps that shrink where the error is large and grow where it is not.

    Every try shortens the length or moves on; at the shortest length, and when the tries run
    out, the step is taken as it comes. Close to the singular point itself shorter steps can
    be worse (round-off over a vanishing singular value), so the single step, which has leapt
    over it, is kept if its error was the smaller. If even the better of the two is not good,
    its speeds are scaled to the energy they should have: the direction, hence the branch, is
    the one that momentum chose, and no energy jumps.
    """
    sizes = (1, 1, 1, eq.tree.nq, eq.tree.nv, 1, eq.u.numel(), eq.p.numel(), 1)
    borders = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
    x = ca.MX.sym("x", borders[-1])
    done, length, worst, q, v, work, u, p, h = ca.vertsplit(x, borders)
    *new, error = once(q, v, work, u, p, length * h)
    good = ca.logic_or(error <= 1, length <= SHORTEST)
    moved = [ca.if_else(good, a, b) for a, b in zip(new, (q, v, work), strict=True)]
    at = done + ca.if_else(good, length, 0)
    scale = ca.fmin(ca.fmax(0.9 * ca.fmax(error, TINY) ** -0.25, 1 / 16), 4)
    wanted = ca.fmin(ca.fmax(length * scale, SHORTEST), 1 - at)
    worst1 = ca.if_else(good, ca.fmax(worst, error), worst)
    attempt = ca.Function("attempt", [x], [ca.vertcat(at, wanted, worst1, *moved, u, p, h)])
    idle = ca.Function("idle", [x], [x])
    guarded = ca.Function.if_else("guarded", attempt, idle)
    body = ca.Function("body", [x], [guarded(x[0] < 1 - SHORTEST / 2, x)])

    q, v, work, u, p, h, *first = eq.symbols(*JUDGED)
    end = body.fold(substeps)(ca.vertcat(0, 0.5, 0, q, v, work, u, p, h))
    parts = ca.vertsplit(end, borders)
    rest = ca.fmax(1 - parts[0], 0)
    *last, error = once(*parts[3:6], u, p, rest * h)
    worst = ca.fmax(parts[2], error)
    better = worst <= first[3]
    q1, v1, work1 = (ca.if_else(better, a, b) for a, b in zip(last, first[:3], strict=True))
    before, after = energy(eq)(q, v, p), energy(eq)(q1, v1, p)
    drift = after[0] + after[1] - before[0] - before[1] - (work1 - work)
    scale = ca.sqrt(ca.fmin(ca.fmax(1 - drift / after[0], 1 / MOST_SCALING), MOST_SCALING))
    v1 = ca.if_else(ca.fmin(worst, first[3]) > 1, scale * v1, v1)
    return ca.Function("refined", [q, v, work, u, p, h, *first], [q1, v1, work1])


def _keep(eq: Equations) -> ca.Function:
    """The other branch of `refined`: the single step was good."""
    symbols = eq.symbols(*JUDGED)
    return ca.Function("keep", symbols, symbols[6:9])


@once
def finished(eq: Equations) -> ca.Function:
    """(q, v, p) → (v, loss, gap, kinetic, potential): v onto G v = 0, and what the step is judged by.

    The projection is the nearest in the mass metric. With S λ = G v it takes away the kinetic
    energy ½ λᵀG v; `gap` is the largest |g| at q, lengths measured by the size of the mechanism.
    """
    at = at_rest(eq)
    miss = at.G @ eq.v
    delta, lam = accelerations(metric(eq), ca.SX.zeros(eq.tree.nv, 1), -miss)
    v = eq.v + delta
    loss = 0.5 * ca.dot(lam, miss)
    gap = ca.mmax(ca.fabs(at.g / eq.scales.rows)) if at.g.numel() else ca.SX(0)
    kinetic, potential = _energies(eq, v)
    return ca.Function("finished", [eq.q, eq.v, eq.p], [v, loss, gap, kinetic, potential])


@once
def energy(eq: Equations) -> ca.Function:
    """(q, v, p) → (kinetic, potential)."""
    return ca.Function("energy", [eq.q, eq.v, eq.p], list(_energies(eq, eq.v)))


def _energies(eq: Equations, v: Any) -> tuple[Any, Any]:
    motion = outward(eq.model, eq.q, v)
    potential = applied(
        eq.model, motion, cut_loops(eq.model, motion), eq.q, v, ca.SX.zeros(eq.u.shape)
    ).potential
    return energies(eq, motion, v, potential)
