"""Rollouts without a compiler: the same, one run after the other, in CasADi's virtual machine."""

from collections.abc import Callable

import numpy as np

from ..compile.kernel import Kernel
from ..manifold.step import LEFT_OPEN
from .batch_arrays import DONE, INFINITE, OPEN, Rollout, Runs


def roll_out(
    plan: Runs,
    result: Rollout,
    step: Kernel,
    read: Kernel | None,
    progress: Callable[[float], None] | None,
) -> None:
    """What `rollout.c` does, for every run that has not ended already."""
    for run in np.flatnonzero(result.ends == DONE):
        _run(plan, result, int(run), step, read)
        if progress:
            progress((run + 1) / plan.n)


def _run(plan: Runs, result: Rollout, run: int, step: Kernel, read: Kernel | None) -> None:
    p = plan.p[run if len(plan.p) > 1 else 0]
    state = q, v, z, work = result.q[run], result.v[run], result.z[run], result.work[run : run + 1]
    u = _inputs(plan, run, 0, q, v, z)
    for k in range(plan.steps + 1):
        if k:
            *new, verdict = step(*state, u, p, plan.h)
            if not all(np.isfinite(x).all() for x in (*new, verdict)):
                result.ends[run] = INFINITE
                return
            if verdict[LEFT_OPEN]:
                result.ends[run] = OPEN
                return
            q[:], v[:], z[:], work[:] = new
            result.verdicts[run] += verdict
            result.steps[run] = k
        if read and k % plan.every == 0:
            _record(result, run, k // plan.every, np.atleast_1d(read(q, v, z, u, p)))
        if 0 < k < plan.steps:
            u = _inputs(plan, run, k, q, v, z)


def _record(result: Rollout, run: int, sample: int, y: np.ndarray) -> None:
    if result.series is not None:
        result.series[run, sample] = y
    result.last[run] = y
    result.least[run] = np.fmin(result.least[run], y)
    result.most[run] = np.fmax(result.most[run], y)


def _inputs(plan: Runs, run: int, k: int, *state: np.ndarray) -> np.ndarray:
    u = _of(plan.u, run, k)
    if plan.feedback is None:
        return u
    K, x0 = plan.feedback
    gain: np.ndarray = K[run if len(K) > 1 else 0]
    return u - gain @ (np.concatenate(state) - _of(x0, run, k))


def _of(array: np.ndarray, run: int, k: int) -> np.ndarray:
    """The row of a run and a step in an array that may have one for all."""
    found: np.ndarray = array[run if len(array) > 1 else 0, k if array.shape[1] > 1 else 0]
    return found
