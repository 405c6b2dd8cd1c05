"""Long runs of equal steps: stretches of them in the compiled loop of rollouts, with one lane.

Inputs are held and nothing is asked between the steps, so nothing of Python is there either. The steps are
those of `Stepper.step`, to the last bit.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable

import numpy as np

from ..compile.rollout_library import Code, Job, loop, memory_of, together
from ..manifold.step import LEFT_OPEN, STEP_INFO
from ..state import Stepper
from ..variables import Variable
from .integrate import step_plan
from .recording import Recorder
from .trajectory import Trajectory

STRETCH = 64  # steps between looks at progress and Ctrl-C: a refined one takes milliseconds


class Stretches:
    """Steps of length h of a live state, many in one call; outputs are read after each."""

    def __init__(self, live: Stepper, h: float):
        engine, tree = live.engine, live.tree
        step, outputs = engine.kernel(*live.stepping.traced()), engine.kernels.outputs
        q, v, z, work, u, p = live.memory
        ny = outputs.function.numel_out(0)
        self.y, self.work = np.zeros((STRETCH + 1, ny)), np.zeros(STRETCH + 1)
        self._taken, self._status = np.zeros((2, 1), np.int64)
        self._memory = live.memory, live.counters  # stays as long as the job knows it
        self.job = Job(
            *(Code.of(found) for found in (None, step, outputs)),
            *(tree.nq, tree.nv, tree.nz, u.size, p.size, ny, len(STEP_INFO), LEFT_OPEN, bool(tree.cuts)),
            *(1, 0, 1, h),
            *(memory_of(x) for x in (q, v, z, work, u, p, None, None)),
            *(0, 0, 0, 0, 0, 0),
            *(memory_of(x) for x in (self.y, self.work, None, None, None, live.counters)),
            *(memory_of(x) for x in (self._taken, self._status)),
            *(0, 0, 0),
        )

    def take(self, steps: int) -> int:
        """Move on; how many steps could be taken. `y` and `work` have a row for each, from row 1 on."""
        self._taken[0] = self._status[0] = 0
        self.job.steps, self.job.next = steps, 0
        together(loop().rollout, self.job, 1, steps, None)
        return int(self._taken[0])


def goes_in_stretches(live: Stepper, columns: Iterable[Variable]) -> bool:
    """Whether nothing has to be asked between steps: no driven motion, no sampled sensor, no search."""
    if live.motions or live.samples:
        return False
    kernels = live.engine.kernel(*live.stepping.traced()), live.engine.kernels.outputs
    rows = kernels[1].function.numel_out(0)
    return all(kernel.compiled for kernel in kernels) and all(x.where.start < rows for x in columns)


def run_in_stretches(
    live: Stepper,
    duration: float,
    h: float,
    columns: Iterable[Variable],
    progress: Callable[[float], None] | None,
) -> Trajectory:
    """What `run_recorded` makes of fixed steps without inputs over time and without events."""
    recorder, stretches, begin = Recorder(live, columns), Stretches(live, h), live.time
    known, plan = live.counters.copy(), step_plan(begin, duration, h)
    ends, at = [end for _, end in plan], 0
    equal = len(plan) if not plan or plan[-1][0] == h else len(plan) - 1
    recorder.add()
    while at < len(plan):
        until = min(equal, at + STRETCH, bisect_left(ends, recorder.next_seen, at) + 1)
        wanted = max(until - at, 0)
        taken = stretches.take(wanted) if wanted else 0
        if taken:
            live.time = ends[at + taken - 1]
            rows = stretches.y[1 : taken + 1, recorder.index]
            recorder.add_rows(ends[at : at + taken], rows, stretches.work[1 : taken + 1].copy())
            at += taken
        if taken < wanted or not wanted:  # the last one is shorter, or this one says what is wrong
            live.step(*plan[at])
            recorder.add()
            at += 1
        if progress:
            progress((live.time - begin) / duration)
    return recorder.trajectory((), np.array([len(plan), *(live.counters - known)]))
