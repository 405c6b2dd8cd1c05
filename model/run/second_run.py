"""A run once more with longer steps: what that changes of the motion tells how right it was.

Energy, loops and single steps say nothing of phases, of attitudes, nor of errors that grow on the way. The
same motion with steps eight times as long costs an eighth; where it comes to the same, both are right. If
not, steps twice as long decide, and with them the order p that the steps have: halves would divide the error
by 2ᵖ. Steps that chose shorter ones, and variable ones, owe no order. Where many did, longer steps would
choose the same ones and err alike: such a run is compared with steps half as long as theirs, twice over.
"""

from collections.abc import Callable, Sequence
from math import ceil, inf, sqrt
from typing import Any

import numpy as np

from ..base.errors import CutjointError
from ..base.thresholds import (
    LONGER,
    LOOSEST,
    MIXED_INERTIAS,
    MOST_COMPARED,
    MOST_UNSETTLED,
    MOTION_SAME,
    SAME_TIME,
    TINY,
    TRUSTED,
)
from ..engine import Engine
from ..manifold.lift import displacement
from ..manifold.step import STEP_INFO
from ..manifold.stepper import StepMethod
from ..state import State, Stepper
from .inputs import Inputs
from .integrate import FixedSteps, step_plan
from .run_quality import RunQuality
from .trajectory import Trajectory

ORDER = 4  # of plain steps: nobody counts on more
REFINED = 1 + STEP_INFO.index("refined")
Pose = tuple[np.ndarray, np.ndarray]  # q, v
# from a start, by laws of inputs, so many times as coarsely: how it is at these times, and the tally
Again = Callable[[Stepper, Inputs | None, float, Sequence[float]], tuple[list[Pose], np.ndarray]]


def motion_error(
    trajectory: Trajectory,
    stepping: StepMethod,
    laws: Inputs | None,
    again: Again,
    ways: Sequence[float],
    spacing: float = 0.0,
) -> float:
    """What is wrong in the motion of a run, in parts of its size: at most radians or sizes of the mechanism.

    `again` does it so many times as coarsely as the run, in the first of the `ways` and, unless that
    comes to the same, in the next; `laws` are those of the run, `spacing` leaves room for longer steps.
    """
    assert trajectory.seen is not None
    engine, states = trajectory.seen.engine, _compared(trajectory.seen.states, spacing)
    found: list[float] = []
    refined = trajectory.judgement.refined > 0 or ways != LONGER
    for way in ways:
        simulation = Stepper(engine, states[0], stepping)
        inputs = laws and Inputs(simulation, laws.laws, None, laws.begin, laws.end, laws.step)
        try:
            poses, tally = again(simulation, inputs, way, [state.time for state in states[1:]])
            found.append(_apart(engine, states, poses) * (2.0 if way < 1 else 1.0))
            refined |= tally[REFINED] > 0
        except CutjointError:  # longer steps lead nowhere
            found.append(inf)
        if found[-1] <= TRUSTED:
            return found[-1]
    coarse, fine = found[0], found[-1]
    if refined or coarse == inf:
        return fine
    ratio = coarse / fine  # (8ᵖ − 1)/(2ᵖ − 1) = 4ᵖ + 2ᵖ + 1
    halved = (sqrt(max(4 * ratio - 3, 0.0)) - 1) / 2
    return fine / (min(max(halved, 2.0), 2.0**ORDER) - 1)


def missed_accelerations(trajectory: Trajectory) -> float:
    """What loops miss of their accelerations, in parts of these; none where inertias are alike.

    Of inertias that differ by 1e11, the rows' regularization can't tell the heavy one's from nothing
    (`solve.py`): steps of any length, and energies, agree on accelerations that are wrong.
    """
    assert trajectory.seen is not None
    engine, states = trajectory.seen.engine, _compared(trajectory.seen.states, 0.0)
    start = states[0]
    pivots = engine.kernels.mass_pivots(start.q, start.p).ravel() * engine.equations.scales.speeds**2
    if not engine.tree.row_count or pivots.max() < MIXED_INERTIAS * pivots.min():
        return 0.0
    found = [engine.kernels.loop_accelerations(*state.at) for state in states]
    left, size = (_mean(np.array([np.abs(row[k]).max() for row in found])) for k in (0, 1))
    return _part(left, size, 0.0)


def _compared(seen: Sequence[State], spacing: float) -> list[State]:
    """The first and the last state, and some between them that are not too close."""
    chosen, end = [seen[0]], seen[-1].time
    spacing = max(spacing, (end - seen[0].time) / MOST_COMPARED)
    for state in seen:
        if chosen[-1].time + spacing <= state.time <= end - spacing:
            chosen.append(state)
    return [*chosen, seen[-1]]


def _apart(engine: Engine, states: Sequence[State], poses: Sequence[Pose]) -> float:
    """The distance of a second motion over the size of the first, of poses or of speeds."""
    scales = engine.equations.scales.speeds
    away = engine.kernel("displacement of runs", displacement, native=False)

    def size(x: Any) -> float:
        largest = float(np.abs(np.ravel(x) / scales).max(initial=0.0))
        return largest if largest < inf else inf  # NaN is not

    start = states[0]
    rows = [
        (size(away(start.q, s.q)), size(away(s.q, q)), size(s.v - start.v), size(s.v - v))
        for s, (q, v) in zip(states[1:], poses, strict=True)
    ]
    way, apart, change, wrong = np.transpose(rows)
    fastest = max(size(state.v) for state in states)
    time = states[-1].time - start.time
    return max(
        _part(apart.max(), min(way.max(), 1.0), MOTION_SAME),
        # a hit that comes a little sooner changes speeds much for a moment: their mean counts
        _part(_mean(wrong), max(_mean(change), TRUSTED * fastest), MOTION_SAME / time),
    )


def _mean(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(x**2)))


def _part(wrong: float, size: float, same: float) -> float:
    """Of the size; nothing where it can't be told from none."""
    return 0.0 if wrong <= same else float(wrong / max(size, TINY))


def chosen_ways(judgement: RunQuality) -> Sequence[float]:
    """How much longer the steps of a second run are; shorter than sub-steps where those are the rule."""
    if judgement.refined <= MOST_UNSETTLED * judgement.judged:  # some are no rule
        return LONGER
    return (1 / ceil(2 * judgement.tries / judgement.refined),)


def other_steps(h: float) -> Again:
    """A run with fixed steps of h: shorter ones if it has but one, or if laws break in every step."""

    def again(simulation: Stepper, inputs: Inputs | None, coarser: float, times: Sequence[float]) -> Any:
        begin, duration = simulation.time, times[-1] - simulation.time
        taken = step_plan(begin, duration, min(coarser * h, duration))
        taken = inputs.split(taken) if inputs else taken
        length = coarser * h if len(taken) * h * sqrt(coarser) < duration or coarser < 1 else h / 2
        poses, tally = [], np.zeros(1 + len(STEP_INFO))
        for t in times:
            duration = t - simulation.time
            h1 = duration / ceil(duration / length - SAME_TIME)
            solver = FixedSteps(simulation, duration, h1, False, inputs)
            while solver.time < t:
                solver.advance()
            poses.append((simulation.q.copy(), simulation.v.copy()))
            tally += solver.tally
        return poses, tally

    return again


def looser_tolerance(solver: Callable[..., Any], tolerance: float) -> Again:
    """A run with variable steps to a tolerance."""

    def again(simulation: Stepper, inputs: Inputs | None, coarser: float, times: Sequence[float]) -> Any:
        found = solver(simulation, times[-1], min(coarser * tolerance, LOOSEST), inputs)
        poses = []
        for t in times:
            while found.time < t:
                found.advance()
            poses.append(found.at(t)[:2])
        return poses, found.tally

    return again
