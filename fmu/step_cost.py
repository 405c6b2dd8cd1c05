"""What a step of an FMU costs on this machine: a plain one, and the most that one may."""

import logging
import os
import shutil
import time
from contextlib import suppress
from itertools import product
from typing import Any, NamedTuple

from ..model.base.thresholds import FAST_MOTIONS
from ..native.plan import Plan
from ..native.variable_layout import EFFORT
from .linear import begin

LOG = logging.getLogger(__name__)
STEPS = 50  # inside one call, so that the call itself counts little
TURNS = 5  # the best of which counts
JOINTS = 3  # one of which is set in motion


class Effort(NamedTuple):
    """Seconds of a step inside; the worst is counted up from what sub-steps were seen to cost."""

    plain: float
    worst: float


def measure_step(plan: Plan, path: str | os.PathLike[str]) -> Effort | None:
    """The cost of the steps of a native FMU for this machine; None without FMPy."""
    try:
        from fmpy import extract, instantiate_fmu, read_model_description
        from fmpy.fmi1 import FMICallException
    except ImportError:
        return None
    LOG.info("measuring steps")
    described = read_model_description(str(path), validate=False)
    is3, folder = described.fmiVersion.startswith("3"), extract(str(path))
    tries = next(v.valueReference for v in described.modelVariables if v.name == EFFORT)
    speeds = [
        v.valueReference
        for v in described.modelVariables
        if v.name.startswith("start.") and ".speed" in v.name and not v.dimensions
    ]

    def best(speeds: dict[int, float], count: int) -> tuple[float, float]:
        """Seconds of the quickest of some equal calls, and sub-steps that were tried in each."""
        fmu: Any = instantiate_fmu(folder, described, "CoSimulation", logger=lambda *_: None)
        try:
            begin(fmu, is3, speeds)
            fmu.doStep(0.0, plan.step)  # away from rest, where a start is looked for
            state, taken = fmu.getFMUState(), []
            for _ in range(TURNS):
                fmu.setFMUState(state)
                start = time.perf_counter()
                fmu.doStep(plan.step, count * plan.step)
                taken.append(time.perf_counter() - start)
            fmu.freeFMUState(state)
            return min(taken), (fmu.getFloat64 if is3 else fmu.getReal)([tries])[0]
        finally:
            fmu.freeInstance()

    try:
        plain = best({}, STEPS)[0] / STEPS
        seconds, tried, most = plain, 0.0, plan.simulation.stepping.tries
        for far, joint in product(FAST_MOTIONS, speeds[:JOINTS]) if most else ():
            with suppress(FMICallException):  # a speed that the loops forbid, or a step that opens one
                seconds, tried = best({joint: far / plan.step}, 1)
            if tried:
                break
        each = (seconds - plain) / tried if tried else plain
        return Effort(plain, plain + max(each, 0.0) * most)
    except FMICallException:
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
