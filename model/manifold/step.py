"""One step of time: (q, v, z, work, u, p, h) → (q, v, z, work), the same for Python, FMU and ROS.

Runge-Kutta on the equations after index reduction, then projection onto positions and speeds that close the
loops. A CasADi MX function that calls the traced kernels, so that the C it becomes is generated
from the very functions that Python evaluates.

Near a kinematic singularity a mechanism can turn within microseconds, and a step of the
length that real time allows would jump over the turn. The step therefore judges itself
(`step_error.py`). If its errors are too large it is done again in sub-steps of its own choice, of
which there is a bounded number; far from singularities this costs nothing.

Inputs are held during a step, or go along a straight line: then `w`, the inputs and their rates, is where
`u` would be, and the sub-steps and stages take the inputs of their own times. Driven motions go on by
their derivatives, and where they are told anew the step starts from the nearest state that follows.
"""

from math import ceil
from typing import Any, NamedTuple

import casadi as ca

from ..base.thresholds import (
    JUMP,
    MOST_SCALING,
    MOST_SUBSTEPS,
    PATIENCE,
    POSITION_SWEEPS,
    SAME_TIME,
    SHORTEST,
    SUBSTEP_ERROR,
    TINY,
    UNDECIDED,
)
from ..equations.terms import Equations, at_rest
from ..equations.traced import project_position, rates
from .exponential import exponential
from .motion_projection import project_to_motion
from .rank import grows_beside_manifold
from .rotations import attitude_error, spins, turned, turning
from .singular_start import inputs_later, leaving
from .step_error import energy, newton_steps, open_loops, project_and_estimate


class Tableau(NamedTuple):
    """A Runge-Kutta method: when its stages are, what they take of the slopes before, the weights."""

    nodes: tuple[float, ...]
    stages: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    bend: tuple[float, ...]  # of the accelerations, zero where they go on evenly (`attitude_error`)
    lag: float  # of a steady spin, over θ⁵; 0: rotations go on the group (`rotations.py`)


# The classical one, for plain steps. Sub-steps, which are there to be right, are of fifth order (Dormand and
# Prince, 1980): two stages more, a third fewer of them, and a tenth of the energy lost where motion is fast.
CLASSICAL = Tableau(
    (0.0, 0.5, 0.5, 1.0),
    ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)),
    (1 / 6, 1 / 3, 1 / 3, 1 / 6),
    (0.0, -1 / 30, 1 / 30, 0.0),
    1 / 1920,
)
FINER = Tableau(
    (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0),
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    ),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    tuple(e / 350 for e in (53 / 2187, 0.0, -1280 / 15309, 530 / 729, -1.0, 1696 / 5103)),
    0.0,
)
TRY = len(FINER.nodes) / len(CLASSICAL.nodes)  # plain steps that a sub-step costs at most


class Growth(NamedTuple):
    """How the error of a step grows with its length, and what part of the length that would just do is taken.

    A refused sub-step costs as much as a taken one, and errors that are just small enough add up. `first` is
    how sub-steps are chosen by the error of the plain step, which is the larger if its order is lower.
    """

    order: int
    aim: float
    first: int


_GROWTH = Growth(6, 0.65, 6)
_AS_PLAIN = Growth(5, 0.6, 5)
HELD, ALONG = "u", "w"  # how inputs go on during a step, and what they are called then
ARGUMENTS = ["q", "v", "z", "work", "u", "p", "h"]  # of every step
# What a step says of itself: `step_with_substeps`.
STEP_INFO = ("refined", "unsettled", "undecided", "made_up", "open", "tries")
NO_VERDICT = {"is_diff_out": [True, True, True, True, False]}  # what is not differentiated
LEFT_OPEN = STEP_INFO.index("open")
TRIES = STEP_INFO.index("tries")
BRANCHES = 8  # of a loop in a loop: what has nothing left to do is asked that often a level


def runge_kutta(eq: Equations, substeps: int = MOST_SUBSTEPS, inputs: str = HELD) -> ca.Function:
    """Fourth-order Runge-Kutta on the underlying ODE, then projection onto g = 0 and G v + b = 0.

    `work` integrates the power of inputs, loads and losses alongside, with the same weights,
    so that energy minus work stays constant but for the integration error.
    """
    plain = single(eq, inputs)
    if eq.tree.nz:
        return step_with_substeps(eq, plain, substeps, _AS_PLAIN)
    return step_with_substeps(eq, plain, substeps, _GROWTH, single(eq, inputs, FINER))


def step_with_substeps(
    eq: Equations, once: ca.Function, substeps: int, growth: Growth, finer: ca.Function | None = None
) -> ca.Function:
    """A step that is done again in sub-steps where its error is too large, and says so.

    `once` is a single step, (q, v, z, work, u, p, h) → (q, v, z, work, error), and `finer` a sub-step if
    that is another. With `substeps` 1 every step is a single one, come what may; otherwise that many may be
    tried after it. The verdict says whether the step was done again in sub-steps, whether it is too coarse
    even so, whether it had two ways to go on, how many joules had to be made up for, whether it leaves a loop
    open (such a step is nobody's to take), and how many sub-steps were tried.
    """
    names = ARGUMENTS, ["q_new", "v_new", "z_new", "work_new", "verdict"]
    _, v, _, _, w, p, h = state = once.mx_in()
    *new, error = once(*state)
    if substeps <= 1:
        looked = ca.Function.if_else("looked", open_loops(eq), _unopened(eq))
        end = eq.motions(inputs_later(eq, w, h))
        verdict = ca.vertcat(0, error > 1, 0, 0, looked(error > 1, new[0], end, p)[1], 0)
        return _from_seat(eq, ca.Function("step", state, [*new, verdict], *names))
    both = [*state, *new, error]
    other, wanted = refine_step(eq, once, finer or once, substeps, growth), error > 1
    # a start from rest is looked at where steps are refined: others need not ask
    if eq.tree.cuts and not eq.tree.driven:
        again = ca.Function.if_else("again", other, _keep(once))
        first = [*state, *once.call(state, False, True)]  # called, so that it stands there once
        moving = ca.Function("moving", state, list(again(first[-1] > 1, *first)))
        symbols = _judged(once)
        start = ca.Function("start", symbols, leaving(eq, moving).call(symbols[: len(ARGUMENTS)]))
        choice = ca.Function.if_else("choice", start, other)
        other = ca.Function("other", symbols, list(choice(ca.sumsqr(symbols[1]) == 0, *symbols)))
        wanted = ca.logic_or(wanted, ca.sumsqr(v) == 0)
    results = ca.Function.if_else("judge", other, _keep(once))(wanted, *both)
    return _from_seat(eq, ca.Function("step", state, list(results), *names))


def _from_seat(eq: Equations, step: ca.Function) -> ca.Function:
    """The same step from where driven motions are told to be."""
    if not eq.tree.driven:
        return step
    q, v, z, work, w, p, h = state = step.mx_in()
    q, v, work = project_to_motion(eq)(q, v, z, work, eq.motions(w), p)
    results = step(q, v, z, work, w, p, h)
    return ca.Function("step", state, list(results), step.name_in(), step.name_out())


def single_step(eq: Equations) -> ca.Function:
    """(q, v, z, work, u, p, h) → (q, v, z, work, error): a single step, which is taken if error ≤ 1."""
    q, v, z, work, u, p, h = symbols = eq.symbols(*ARGUMENTS)
    if eq.tree.driven:
        q, v, work = project_to_motion(eq)(q, v, z, work, eq.motions(u), p)
    results = ["q_new", "v_new", "z_new", "work_new", "error"]
    return ca.Function("unjudged", symbols, list(single(eq)(q, v, z, work, u, p, h)), ARGUMENTS, results)


def single(eq: Equations, inputs: str = HELD, method: Tableau = CLASSICAL) -> ca.Function:
    """(q, v, z, work, u, p, h) → (q, v, z, work, error): one step; an error above 1 is too large."""
    if eq.tree.nz:
        return exponential(eq, inputs)
    slope = rates(eq)
    q, v, z, work, w, p, h = symbols = eq.symbols("q", "v", "z", "work", inputs, "p", "h")
    stage = newton_steps(project_position(eq), POSITION_SWEEPS if grows_beside_manifold(eq) else 0)
    on_group = not method.lag and spins(eq)  # then q is the displacement from the start
    begin = ca.MX.zeros(v.shape) if on_group else q
    slopes: list[tuple[Any, Any, Any]] = []
    for node, taken in zip(method.nodes, method.stages, strict=True):
        now = inputs_later(eq, w, node * h)[: eq.u.numel()]
        s, at = eq.motions(now), [begin, v]
        for part, (dq, dv, _) in zip(taken, slopes, strict=True):
            at = [at[0] + part * h * dq, at[1] + part * h * dv] if part else at
        pose = turned(eq)(q, at[0]) if on_group and slopes else at[0]
        dq, dv, _, power = slope(stage(pose, s, p) if slopes else q, at[1], z, now, p)
        slopes.append((turning(eq)(*at) if on_group else dq, dv, power))
    q1, v1, work1 = (
        x + h * sum(weight * each for weight, each in zip(method.weights, rates, strict=True) if weight)
        for x, rates in zip((begin, v, work), zip(*slopes, strict=True), strict=True)
    )
    q1 = turned(eq)(q, q1) if on_group else q1
    q1, v1, error = project_and_estimate(eq)(q, v, z, work, q1, v1, z, work1, s, p, 1)
    bend = sum(h * part * dv for part, (_, dv, _) in zip(method.bend, slopes, strict=True) if part)
    error = attitude_error(eq, error, v, h, method.lag, bend, 2)
    return ca.Function("single", symbols, [q1, v1, z, work1, error])


def refine_step(
    eq: Equations, once: ca.Function, finer: ca.Function, substeps: int, growth: Growth
) -> ca.Function:
    """The same step in sub-steps of equal errors, as long as the last error lets them be.

    Errors grow like the length to the order, so that of the plain step tells how many sub-steps a fast motion
    asks for. Every try shortens the length or moves on; at the shortest length, and when the tries run out,
    the step is taken as it comes. Where sub-steps are the shortest, patience ends before the tries do: a
    stiff or nearly massless part asks for many, a singular point can't be settled by any number. Close to the
    singular point itself shorter steps can be worse (round-off over a vanishing singular value), so the
    single step, which has leapt over it, is kept if its error was the smaller.

    A motion that meets a singular point goes straight on; one that misses it by ever so little turns
    round it, sharply. If sub-steps turn where the single step goes straight on and is nearly as right,
    then the miss is within the accuracy of the steps before: nobody can decide, and momentum does.

    If the chosen one of the two is not good, its speeds are scaled to the energy they should have: the
    direction, hence the branch, is the one that momentum chose, and no energy jumps. Running surfaces set
    the speed of what they carry: there nothing is scaled.
    """
    sizes = [1, 1, 1, 1, *(once.size1_in(k) for k in range(len(ARGUMENTS)))]
    borders = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
    x = ca.MX.sym("x", borders[-1])
    done, length, worst, tries, q, v, z, work, w, p, h = ca.vertsplit(x, borders)
    if substeps < PATIENCE:  # few: each gets an equal share of what is left at least
        share = (1 - done) / (substeps - tries)
        forced, length = length <= share, ca.fmax(length, share)
    else:
        weary = ca.logic_and(tries > 0, PATIENCE * ca.floor(tries / PATIENCE) == tries)
        forced = ca.logic_or(tries >= substeps - 1, ca.logic_and(weary, length <= SHORTEST))
        length = ca.if_else(forced, 1 - done, length)
    *new, error = finer(q, v, z, work, inputs_later(eq, w, done * h), p, length * h)
    good = ca.logic_or(ca.logic_or(error <= SUBSTEP_ERROR, length <= SHORTEST), forced)
    moved = [ca.if_else(good, a, b) for a, b in zip(new, (q, v, z, work), strict=True)]
    at = done + ca.if_else(good, length, 0)
    wanted = _length(length, error, growth.order, growth.aim, 1 - at)
    worst = ca.if_else(good, ca.fmax(worst, error), worst)
    attempt = ca.Function("attempt", [x], [ca.vertcat(at, wanted, worst, tries + 1, *moved, w, p, h)])
    loop = _while(attempt, x[0] < 1 - SHORTEST / 2, x, substeps)

    *state, q1, v1, z1, work1, error1 = symbols = _judged(once)
    q, v, z, work, w, p, h = state
    end = loop(ca.vertcat(0, _length(1, error1, growth.first, growth.aim, 1), 0, 0, *state))
    _, _, worst, tries, *ended = ca.vertsplit(end, borders)[:8]
    beside = energy(eq)(ended[0], ended[1] - v1, ca.MX.zeros(z.shape), p)  # no branch depends on z
    turned, straight = beside[0], energy(eq)(q1, v1, z1, p)[0]
    undecided = ca.logic_and(error1 <= UNDECIDED, turned > JUMP**2 * straight)
    undecided = undecided if eq.tree.cuts else ca.MX(0)  # an open tree has no singular pose
    leapt = ca.logic_or(undecided, error1 < worst)
    one = q1, v1, z1, work1
    q2, v2, z2, work2 = (ca.if_else(leapt, a, b) for a, b in zip(one, ended, strict=True))
    before, after = energy(eq)(q, v, z, p), energy(eq)(q2, v2, z2, p)
    drift = after[0] + after[1] - before[0] - before[1] - (work2 - work)
    scale = ca.sqrt(ca.fmin(ca.fmax(1 - drift / after[0], 1 / MOST_SCALING), MOST_SCALING))
    coarse = ca.if_else(leapt, error1, worst) > 1
    mended = coarse if at_rest(eq).b.is_zero() else ca.MX(0)
    v2 = ca.if_else(mended, scale * v2, v2)
    unsettled = ca.logic_and(coarse, ca.logic_not(undecided))
    made_up = ca.if_else(mended, ca.fabs(drift), 0)
    left_open = open_loops(eq)(q2, eq.motions(inputs_later(eq, w, h)), p)[1]
    verdict = ca.vertcat(1, unsettled, undecided, made_up, left_open, tries)
    return ca.Function("refined", symbols, [q2, v2, z2, work2, verdict], NO_VERDICT)


def _length(length: Any, error: Any, order: int, aim: float, left: Any) -> Any:
    """Length of the next sub-step after one of this length and error: an equal share of what is left."""
    scale = ca.fmin(ca.fmax(aim / _root(ca.fmax(error, TINY), order), 1 / 16), 4)
    wanted = ca.fmax(length * scale, SHORTEST)
    return left / ca.fmax(ca.ceil(left / wanted - SAME_TIME), 1)


def _root(x: Any, order: int) -> Any:
    """x to the power 1/order, to six binary digits of it: square roots are the same on every target."""
    result, digits = 1, round(64 / order)
    for bit in reversed(range(6)):
        x = ca.sqrt(x)
        result = result * x if digits >> bit & 1 else result
    return result


def _while(action: ca.Function, condition: Any, x: Any, most: int) -> ca.Function:
    """x → action(x) again and again while the condition on x holds, `most` times or a few more."""
    idle = ca.Function("idle", [x], [x])
    while True:
        guarded = ca.Function.if_else("guarded", action, idle)
        loop = ca.Function("loop", [x], [guarded(condition, x)])
        if most <= 1:
            return loop
        action, most = loop.fold(min(most, BRANCHES)), ceil(most / BRANCHES)


def _unopened(eq: Equations) -> ca.Function:
    """The other branch of `open_loops`: a good step leaves no loop open."""
    return ca.Function(
        "unopened", eq.symbols("q", "s", "p"), [ca.MX.zeros(eq.tree.row_count, 1), ca.MX.zeros(1, 1)]
    )


def _judged(once: ca.Function) -> list[Any]:
    """Symbols of a single step and what came of it."""
    return [*once.mx_in(), *once.mx_out()]


def _keep(once: ca.Function) -> ca.Function:
    """The other branch of `refine_step`: the single step was good."""
    symbols = _judged(once)
    results = [*symbols[len(ARGUMENTS) : -1], ca.MX.zeros(len(STEP_INFO), 1)]
    return ca.Function("keep", symbols, results, NO_VERDICT)
