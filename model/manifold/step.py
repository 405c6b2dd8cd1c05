"""One step of time: (q, v, work, u, p, h) → (q, v, work), the same for Python, FMU and ROS.

A CasADi MX function that calls the traced kernels, so that the C it becomes is generated
from the very functions that Python evaluates.

Near a kinematic singularity a mechanism can turn within microseconds, and a step of the
length that real time allows would jump over the turn. The step therefore judges itself
(`judge.py`). If its errors are too large it is done again in sub-steps of its own choice, of
which there is a bounded number; far from singularities this costs nothing.
"""

from typing import Any

import casadi as ca

from ..equations.terms import Equations, at_rest, project_position, rates
from ..thresholds import (
    JUMP,
    MORE_TRIES,
    MOST_SCALING,
    MOST_SUBSTEPS,
    POSITION_SWEEPS,
    SHORTEST,
    TINY,
    UNDECIDED,
)
from .judge import concluded, energy, opened, projected
from .rank import grows_beside_manifold
from .rest import leaving

# Classical Runge-Kutta: nodes, weights. Each stage uses the slope before it.
NODES = (0.0, 0.5, 0.5, 1.0)
WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)

JUDGED = ("q", "v", "work", "u", "p", "h", "q1", "v1", "work1", "error")  # a single step and what came of it
VERDICT = ("refined", "unsettled", "undecided", "made_up", "open")  # what a step says of itself: `stepped`
LEFT_OPEN = VERDICT.index("open")


def runge_kutta(eq: Equations, substeps: int = MOST_SUBSTEPS) -> ca.Function:
    """Fourth-order Runge-Kutta on the underlying ODE, then projection onto g = 0 and G v + b = 0.

    `work` integrates the power of inputs, loads and losses alongside, with the same weights,
    so that energy minus work stays constant but for the integration error.
    """
    return stepped(eq, single(eq), substeps)


def stepped(eq: Equations, once: ca.Function, substeps: int = MOST_SUBSTEPS) -> ca.Function:
    """A step that is done again in sub-steps where its error is too large, and says so.

    `once` is a single step, (q, v, work, u, p, h) → (q, v, work, error). With `substeps` 1 every step is a
    single one, come what may. The verdict says whether the step was done again in sub-steps, whether it
    is too coarse even so, whether it had two ways to go on, how many joules had to be made up for, and
    whether it leaves a loop open: such a step is nobody's to take.
    """
    names = ["q", "v", "work", "u", "p", "h"], ["q_new", "v_new", "work_new", "verdict"]
    q, v, work, u, p, h = eq.symbols(*names[0])
    *new, error = once(q, v, work, u, p, h)
    if substeps <= 1:
        looked = ca.Function.if_else("looked", opened(eq), _unopened(eq))
        verdict = ca.vertcat(0, error > 1, 0, 0, looked(error > 1, new[0], p)[1])
        return ca.Function("step", [q, v, work, u, p, h], [*new, verdict], *names)
    state, both = [q, v, work, u, p, h], [q, v, work, u, p, h, *new, error]
    other, wanted = refined(eq, once, substeps), error > 1
    if eq.tree.cuts:  # a start from rest is looked at where steps are refined: others need not ask
        again = ca.Function.if_else("again", other, _keep(eq))
        moving = ca.Function("moving", state, list(again(wanted, *both)))
        symbols = eq.symbols(*JUDGED)
        start = ca.Function("start", symbols, leaving(eq, moving).call(symbols[:6]))
        choice = ca.Function.if_else("choice", start, other)
        other = ca.Function("other", symbols, list(choice(ca.sumsqr(symbols[1]) == 0, *symbols)))
        wanted = ca.logic_or(wanted, ca.sumsqr(v) == 0)
    results = ca.Function.if_else("judge", other, _keep(eq))(wanted, *both)
    return ca.Function("step", state, list(results), *names)


def unjudged(eq: Equations) -> ca.Function:
    """(q, v, work, u, p, h) → (q, v, work): a single step, to be differentiated."""
    symbols = eq.symbols("q", "v", "work", "u", "p", "h")
    return ca.Function("unjudged", symbols, list(single(eq)(*symbols)[:3]))


def single(eq: Equations) -> ca.Function:
    """(q, v, work, u, p, h) → (q, v, work, error): one step; an error above 1 is too large."""
    slope = rates(eq)
    q, v, work, u, p, h = eq.symbols("q", "v", "work", "u", "p", "h")
    stage = projected(project_position(eq), POSITION_SWEEPS if grows_beside_manifold(eq) else 0)
    dq = dv = power = None
    total: list[Any] = [0, 0, 0]
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        at = (q, v) if dq is None else (stage(q + node * h * dq, p), v + node * h * dv)
        dq, dv, power = slope(*at, u, p)
        total = [a + weight * b for a, b in zip(total, (dq, dv, power), strict=True)]
    q1, v1, work1 = q + h * total[0], v + h * total[1], work + h * total[2]
    q1, v1, error = concluded(eq)(q, v, work, q1, v1, work1, p, 1)
    return ca.Function("single", [q, v, work, u, p, h], [q1, v1, work1, error])


def refined(eq: Equations, once: ca.Function, substeps: int) -> ca.Function:
    """The same step in sub-steps that shrink where the error is large and grow where it is not.

    Every try shortens the length or moves on; at the shortest length, and when the tries run
    out, the step is taken as it comes. More tries are allowed as long as all sub-steps settle: a stiff
    or nearly massless part asks for many, a singular point can't be settled by any number. Close to the
    singular point itself shorter steps can be worse (round-off over a vanishing singular value), so
    the single step, which has leapt over it, is kept if its error was the smaller.

    A motion that meets a singular point goes straight on; one that misses it by ever so little turns
    round it, sharply. If sub-steps turn where the single step goes straight on and is nearly as right,
    then the miss is within the accuracy of the steps before: nobody can decide, and momentum does.

    If the chosen one of the two is not good, its speeds are scaled to the energy they should have: the
    direction, hence the branch, is the one that momentum chose, and no energy jumps. Running surfaces set
    the speed of what they carry: there nothing is scaled.
    """
    sizes = (1, 1, 1, eq.tree.nq, eq.tree.nv, 1, eq.u.numel(), eq.p.numel(), 1)
    borders = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
    x = ca.MX.sym("x", borders[-1])
    done, length, worst, q, v, work, u, p, h = ca.vertsplit(x, borders)
    *new, error = once(q, v, work, u, p, length * h)
    good = ca.logic_or(error <= 1, length <= SHORTEST)
    moved = [ca.if_else(good, a, b) for a, b in zip(new, (q, v, work), strict=True)]
    at = done + ca.if_else(good, length, 0)
    scale = ca.fmin(ca.fmax(0.9 / ca.sqrt(ca.sqrt(ca.fmax(error, TINY))), 1 / 16), 4)
    wanted = ca.fmin(ca.fmax(length * scale, SHORTEST), 1 - at)
    worst1 = ca.if_else(good, ca.fmax(worst, error), worst)
    attempt = ca.Function("attempt", [x], [ca.vertcat(at, wanted, worst1, *moved, u, p, h)])
    ahead = x[0] < 1 - SHORTEST / 2
    tries = _while("tries", attempt, ahead, x).fold(substeps)
    more = _while("more", tries, ca.logic_and(ahead, x[1] > SHORTEST), x).fold(MORE_TRIES)

    q, v, work, u, p, h, *first = eq.symbols(*JUDGED)
    end = more(tries(ca.vertcat(0, 0.5, 0, q, v, work, u, p, h)))
    parts = ca.vertsplit(end, borders)
    rest = ca.fmax(1 - parts[0], 0)
    *last, error = once(*parts[3:6], u, p, rest * h)
    worst = ca.fmax(parts[2], error)
    turned, straight = energy(eq)(last[0], last[1] - first[1], p)[0], energy(eq)(*first[:2], p)[0]
    undecided = ca.logic_and(first[3] <= UNDECIDED, turned > JUMP**2 * straight)
    leapt = ca.logic_or(undecided, first[3] < worst)
    q1, v1, work1 = (ca.if_else(leapt, a, b) for a, b in zip(first[:3], last, strict=True))
    before, after = energy(eq)(q, v, p), energy(eq)(q1, v1, p)
    drift = after[0] + after[1] - before[0] - before[1] - (work1 - work)
    scale = ca.sqrt(ca.fmin(ca.fmax(1 - drift / after[0], 1 / MOST_SCALING), MOST_SCALING))
    coarse = ca.if_else(leapt, first[3], worst) > 1
    mended = coarse if at_rest(eq).b.is_zero() else ca.MX(0)
    v1 = ca.if_else(mended, scale * v1, v1)
    unsettled = ca.logic_and(coarse, ca.logic_not(undecided))
    made_up = ca.if_else(mended, ca.fabs(drift), 0)
    verdict = ca.vertcat(1, unsettled, undecided, made_up, opened(eq)(q1, p)[1])
    return ca.Function("refined", [q, v, work, u, p, h, *first], [q1, v1, work1, verdict])


def _while(name: str, action: ca.Function, condition: Any, x: Any) -> ca.Function:
    """x → action(x) where the condition on x holds, otherwise x: to be folded."""
    idle = ca.Function("idle", [x], [x])
    guarded = ca.Function.if_else(f"guarded_{name}", action, idle)
    return ca.Function(name, [x], [guarded(condition, x)])


def _unopened(eq: Equations) -> ca.Function:
    """The other branch of `opened`: a good step leaves no loop open."""
    q, p = eq.symbols("q", "p")
    return ca.Function("unopened", [q, p], [ca.MX.zeros(eq.tree.row_count, 1), ca.MX.zeros(1, 1)])


def _keep(eq: Equations) -> ca.Function:
    """The other branch of `refined`: the single step was good."""
    symbols = eq.symbols(*JUDGED)
    return ca.Function("keep", symbols, [*symbols[6:9], ca.MX.zeros(len(VERDICT), 1)])
