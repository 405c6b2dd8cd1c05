"""Many motions of one mechanism at once: every run has its own start, inputs and parameters.

Runs go side by side in the lanes of the processor (SIMD), blocks of them on all its cores, and nothing of
Python is inside. A lane that judges its step too rough, or starts from rest, takes the refined step of
`manifold/step.py` by itself. So no run depends on its neighbours, on their number or on the number of
threads, not in the last bit; from `Simulation.step` it differs by round-off, because vectors have sines of
their own.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from ..compile.kernel import Kernel
from ..compile.rollout_library import Code, Job, blocks, loop, memory_of, threads, together
from ..engine import Engine
from ..equations.terms import Equations
from ..manifold.step import LEFT_OPEN, STEP_INFO, single
from ..run.steppers import stepper as chosen_stepper
from ..state import State
from ..variables import Variable
from .batch_arrays import Feedback, Rollout, Runs, empty, plan_batch
from .interpreter import roll_out

PLAIN = "plain step"
PLAIN_FIRST = ("runge_kutta", "single")  # steppers that begin with it


def rollout(
    engine: Engine,
    states: State | Sequence[State] | tuple[Any, ...],
    steps: int,
    step: float = 1e-3,
    *,
    inputs: Any = None,
    feedback: Feedback | None = None,
    parameters: Any = None,
    record: Iterable[str] = (),
    every: int = 1,
    series: bool = True,
    stepper: str = "runge_kutta",
    substeps: int | None = None,
    workers: int | None = None,
    lanes: bool = True,
    progress: Callable[[float], None] | None = None,
    ends: np.ndarray | None = None,
) -> Rollout:
    """Take `steps` steps of length `step`, seconds, from many states at once.

    Parameters
    ----------
    engine : the mechanism.
    states : a list of `State`, which bring inputs and parameters with them; or one, for all runs; or the
        arrays (q, v), or (q, v, z) where drives or friction have internal states that are not zero, with a
        row a run.
    inputs : (inputs,) for all, (n, inputs) held, or (n, steps, inputs); the states' own, or zero, if None.
    feedback : a gain on the state, beside the inputs.
    parameters : (parameters,) for all, or (n, parameters); the states' or the description's if None.
    record : outputs, read at the start and after every `every` steps. series=False keeps only the last,
        the least and the greatest of each.
    stepper, substeps : as of `Simulation`.
    workers : threads; as many as there are processors if None.
    lanes : False takes one run after the other, by the step of `Simulation` to the last bit.
    progress : called with the part that is done.
    ends : runs that are not 0 here are not begun.
    """
    how = chosen_stepper(stepper, substeps)
    plan = plan_batch(engine, states, steps, step, inputs, feedback, parameters, record, every, how, ends)
    result = empty(plan, series)
    taken = engine.kernel(*how.traced())
    if plan.n and taken.compiled:
        _native(plan, result, taken, lanes, workers, progress)
    elif plan.n:
        read = engine.kernel(*reading(engine, plan.columns)) if plan.columns else None
        roll_out(plan, result, taken, read, progress)
    return result


def reading(engine: Engine, columns: Sequence[Variable]) -> tuple[str, Callable[[Equations], ca.Function]]:
    """(q, v, z, u, p) → chosen outputs: a name of its own, and what traces it; the rest is not computed."""
    rows = [column.where.start for column in columns]

    def chosen(eq: Equations) -> ca.Function:
        whole = engine.functions.outputs
        symbols = [eq.q, eq.v, eq.z, eq.u, eq.p]
        return ca.Function("chosen", symbols, [whole(*symbols)[rows]], ["q", "v", "z", "u", "p"], ["y"])

    chosen.__module__ = __name__
    return f"outputs {' '.join(map(str, rows))}", chosen


def _native(
    plan: Runs,
    result: Rollout,
    step: Kernel,
    lanes: bool,
    workers: int | None,
    progress: Callable[[float], None] | None,
) -> None:
    engine, tree = plan.engine, plan.engine.tree
    plain = engine.lanes(PLAIN, single) if lanes and plan.stepper.name in PLAIN_FIRST else None
    read = None
    if plan.columns:
        name = reading(engine, plan.columns)
        read = (plain and engine.lanes(*name)) or engine.kernel(*name)
    u, p = plan.u, plan.p
    K, x0 = plan.feedback or Feedback(None, None)
    nu, nx = u.shape[2], tree.nq + tree.nv + tree.nz
    job = Job(
        *(Code.of(found) for found in (plain, step, read)),
        *(tree.nq, tree.nv, tree.nz, nu, p.shape[1], len(plan.columns)),
        *(len(STEP_INFO), LEFT_OPEN, bool(tree.cuts)),
        *(plan.n, plan.steps, plan.every, plan.h),
        *(memory_of(x) for x in (result.q, result.v, result.z, result.work, u, p, K, x0)),
        *(_run_distance(u), u.shape[2] * (u.shape[1] > 1), _run_distance(p)),
        *(0, 0, 0) if K is None else (_run_distance(K), _run_distance(x0), nx * (x0.shape[1] > 1)),
        *(
            memory_of(x)
            for x in (result.series, None, result.last, result.least, result.most, result.verdicts)
        ),
        *(memory_of(x) for x in (result.steps, result.ends)),
        *(0, 0, 0),
    )
    count = threads(workers, blocks(plan.n, plain.lanes if plain else 1))
    together(loop().rollout, job, count, plan.n * plan.steps, progress)


def _run_distance(array: np.ndarray) -> int:
    """Numbers from one run's to the next one's; 0 if one is for all."""
    return int(np.prod(array.shape[1:])) if len(array) > 1 else 0
