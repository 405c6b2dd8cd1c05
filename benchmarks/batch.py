"""Many motions at once: steps of 1 ms by our rollout, our single step and MuJoCo's `rollout`.

Beside the speeds stand the errors: energy after the motion, from that of a motion to a tolerance of
1e-12, and the widest gap left in a loop.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..model.batch.rollout import rollout
from .measure import Effort, Rows, rows, side_by_side
from .parts import ours_of
from .subjects import Subject

Show = Callable[[float], None]
TASK = "batch"
STEP = 1e-3
STEPS = 100  # of every motion: it stays where the mechanism is regular
MANY, FEW = 256, 16  # motions at once; few are enough for those who do one after the other
MORE = 2048  # as many as are worth the start of threads
ROLLOUT = "cutjoint, rollout"
TWO_CORES = "cutjoint, rollout, two cores"
ONE_BY_ONE = "cutjoint, single step in C"
SCHEMES = {"Euler": "MuJoCo, rollout, Euler", "RK4": "MuJoCo, rollout, Runge-Kutta"}
EXACT = 1e-12


def batch(subject: Subject, models: dict[str, Any], effort: Effort, show: Show) -> Rows:
    """Seconds a step in one core, energy error and loop gap of each; and two cores against one."""
    simulation = subject.simulation
    q, v, u = subject.moving
    inputs = u * (1 + 0.01 * np.linspace(-1, 1, MORE)[:, None])

    def ours(count: int, **how: Any) -> Callable[[], Any]:
        def run() -> tuple[np.ndarray, np.ndarray]:
            given = inputs[:count]
            found = rollout(simulation.engine, (q, v), STEPS, STEP, inputs=given, series=False, **how)
            return found.q, found.v

        return _counted(run, count)

    contenders = {ROLLOUT: ours(MANY, workers=1), ONE_BY_ONE: ours(FEW, workers=1, lanes=False)}
    if "MuJoCo" in models:
        for scheme, name in SCHEMES.items():
            contenders[name] = _counted(models["MuJoCo"].rollout(q, v, inputs[:FEW], STEPS, scheme), FEW)
    timings = side_by_side(contenders, effort, lambda x: show(0.8 * x))
    found = rows(TASK, subject.name, timings, timings[ROLLOUT])
    right = _energy_and_gap(subject, *_exact(subject, inputs[0]))[0]
    for row in found:
        end = tuple(x[0] for x in contenders[row["contender"]]())
        if row["contender"] in SCHEMES.values():
            end = ours_of(subject.parts, *end)
        energy, gap = _energy_and_gap(subject, *end)
        row |= {"energy_error": abs(energy - right), "loop_gap": gap}
    if (os.cpu_count() or 1) > 1:
        speedup, best = _two_cores(ours, effort)
        row = {**found[0], "contender": TWO_CORES, "best": best, "median": best, "noise": 0.0}
        found.append(row | {"ratio": 1 / speedup, "median_ratio": 1 / speedup})
    show(1.0)
    return found


def _counted(run: Callable[[], Any], count: int) -> Callable[[], Any]:
    run.calls = count * STEPS  # type: ignore[attr-defined]
    return run


def _two_cores(ours: Callable[..., Any], effort: Effort) -> tuple[float, float]:
    """How many times faster two cores are, and seconds a step; on the wall, so other programs count."""
    calls = {workers: ours(MORE, workers=workers) for workers in (1, 2)}
    best = dict.fromkeys(calls, np.inf)
    for _ in range(effort.rounds):
        for workers, call in calls.items():
            start = time.perf_counter()
            call()
            best[workers] = min(best[workers], (time.perf_counter() - start) / (MORE * STEPS))
    return float(best[1] / best[2]), float(best[2])


def _exact(subject: Subject, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q and v after the motion, integrated to a tolerance."""
    simulation = subject.simulation
    q, v, _ = subject.moving
    simulation.state = replace(simulation.state, time=0.0, q=q, v=v, u=u)
    simulation.run(STEPS * STEP, method="variable", tolerance=EXACT, record=[])
    return simulation.q.copy(), simulation.v.copy()


def _energy_and_gap(subject: Subject, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    simulation = subject.simulation
    find = simulation.variables().outputs.find
    y = simulation.engine.kernels.outputs(*replace(simulation.state, q=q, v=v, u=subject.u).at)
    return float(y[find("energy").where][0]), float(y[find("loop.residual").where][0])
