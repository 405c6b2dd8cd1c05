"""Checks of a motion over time: convergence, energy, closed loops at three levels, and the way back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log2

import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import (
    ENERGY_ROUND_OFF,
    ENERGY_TRUSTED,
    LEAST_ORDER,
    MOTION_SAME,
    MOTION_TRUSTED,
    NEAR_SINGULAR,
    OPEN,
    SAME_TIME,
    SLIP,
    TINY,
)
from ..laws import Law
from ..manifold.step import STEP_INFO
from ..run.inputs import Inputs
from ..run.integrate import FixedSteps
from ..simulation import Simulation
from ..state import State
from .report import Check, check_within, skipped

SAMPLES = 50  # states of a motion that are looked at
Progress = Callable[[float], None]


@dataclass(frozen=True)
class WatchedMotion:
    """A motion in steps of h: the states looked at on the way, the first and the last among them."""

    h: float
    states: tuple[State, ...]
    refined: int = 0  # steps that were done again in shorter ones

    @property
    def time(self) -> float:
        """How long it took, seconds."""
        return self.states[-1].time - self.states[0].time

    def read(self, simulation: Simulation, name: str) -> np.ndarray:
        """A scalar output at all these states."""
        where = simulation.variables().outputs.find(name).where.start
        return np.array([_at(simulation, state).read(np.array([where]))[0] for state in self.states])


def _at(simulation: Simulation, state: State) -> Simulation:
    simulation.put(state)
    return simulation


def move(
    simulation: Simulation,
    start: State,
    steps: int,
    h: float,
    progress: Progress,
    finer: int = 1,
    laws: Mapping[str, Law] | None = None,
) -> WatchedMotion:
    """The motion from a state in so many steps of h, each divided in `finer` ones; inputs follow the laws."""
    simulation.put(start)
    inputs = Inputs(simulation, laws, None, start.time, start.time + steps * h, h) if laws else None
    if inputs:
        inputs.set(start.time)
    states, before = [simulation.state], simulation.counters.copy()
    looks = sorted({round(steps * k / SAMPLES) for k in range(1, SAMPLES + 1)} - {0})
    solver = FixedSteps(simulation, steps * h, h / finer, False, inputs)
    for n in looks:
        while solver.time < start.time + (n - SAME_TIME) * h:
            solver.advance()
        states.append(simulation.state)
        progress(n / steps)
    return WatchedMotion(h, tuple(states), int((simulation.counters - before)[STEP_INFO.index("refined")]))


def apart(simulation: Simulation, one: Sequence[State], other: Sequence[State]) -> float:
    """The largest distance of two motions, radians or parts of the mechanism's size."""
    displacement = simulation.engine.kernels.displacement
    gaps = [
        displacement(a.q, b.q) / simulation.equations.scales.speeds for a, b in zip(one, other, strict=True)
    ]
    return float(np.abs(gaps).max(initial=0.0))


def check_convergence(simulation: Simulation, motions: Sequence[WatchedMotion]) -> Check:
    """Motions with h, h/2, h/4: their distances tell the error of the first, and the order of the step.

    Steps that chose shorter ones, as where stops are hit, owe no order; then all three have to agree.
    """
    first, second, third = (motion.states for motion in motions)
    rough, fine = apart(simulation, first, second), apart(simulation, second, third)
    order = log2(max(rough, TINY) / max(fine, TINY))
    says = "rad or sizes: the effect of half the step"
    if rough <= MOTION_SAME:
        return check_within("convergence", rough, MOTION_TRUSTED, says)
    if any(motion.refined for motion in motions):
        worst, says = max(rough, fine), f"{says}, or of a quarter; some steps were done again in shorter ones"
        return check_within("convergence", worst, MOTION_TRUSTED, says)
    asked = f"; its error is of order {order:.1f}, at least {LEAST_ORDER:g} is asked for"
    return check_within("convergence", rough, MOTION_TRUSTED, says + asked, order >= LEAST_ORDER)


def check_energy(simulation: Simulation, motion: WatchedMotion) -> Check:
    """Energy less the work done stays; compared with all that was exchanged."""
    total, kinetic = motion.read(simulation, "energy"), motion.read(simulation, "energy_kinetic")
    work = np.array([state.work for state in motion.states])
    exchanged = kinetic.max() + np.ptp(total - kinetic) + np.abs(work - work[0]).max()
    left = np.abs(total - total[0] - (work - work[0])).max() - ENERGY_ROUND_OFF * np.abs(total).max()
    if not exchanged:
        return skipped("energy", "nothing moves, so none is exchanged; give it inputs")
    says = f"of {exchanged:.3g} J exchanged are not accounted for"
    return check_within("energy", max(left, 0.0) / max(exchanged, TINY), ENERGY_TRUSTED, says)


def check_loops(simulation: Simulation, motion: WatchedMotion) -> list[Check]:
    """Residuals of g = 0, G v + b = 0 and G v̇ = γ along the motion; lengths in sizes of the mechanism."""
    names = ("loops: position", "loops: speed", "loops: acceleration")
    if not simulation.tree.row_count:
        return [skipped(name, "there are no loops") for name in names]
    engine, scales = simulation.engine, simulation.equations.scales
    worst: np.ndarray = np.zeros(3)
    for s in motion.states:
        g, G, b = engine.kernels.closure(s.q, engine.motions(s.u), s.p)
        b = b / scales.rows
        gamma = engine.kernels.coefficients(*s.at)[3] / scales.rows
        unitless = G / scales.rows[:, None] * scales.speeds
        v, dv = (x / scales.speeds for x in (s.v, engine.kernels.dynamics(*s.at)[0]))
        size = _length(unitless) + TINY
        here = (
            np.abs(g / scales.rows).max(),
            _length(unitless @ v + b) / (size * max(_length(v), 1 / motion.time) + _length(b)),
            _length(unitless @ dv - gamma) / (size * max(_length(dv), 1 / motion.time**2) + _length(gamma)),
        )
        worst = np.maximum(worst, here)
    limits, says = (OPEN, SLIP, SLIP), ("rad or sizes at most", "of the speeds", "of the accelerations")
    return [check_within(*row) for row in zip(names, worst, limits, says, strict=True)]


def _length(x: np.ndarray) -> float:
    return float(np.linalg.norm(x))


def check_reversal(
    simulation: Simulation, motion: WatchedMotion, progress: Progress, laws: Mapping[str, Law]
) -> Check:
    """The motion run back: with all speeds turned round a mechanism without losses returns to its start."""
    if motion.read(simulation, "power_dissipated").max() > 0:
        return skipped("time reversal", "dampers or friction take energy: the way back is another")
    if any(any(joint.belt) for joint in simulation.engine.described(simulation.p).joints):
        return skipped("time reversal", "a surface runs one way: the way back is another")
    if laws or simulation.motions:
        return skipped("time reversal", "inputs say how it moves: the way back is another")
    distance = motion.read(simulation, "singularity.distance")
    if distance.min() <= NEAR_SINGULAR * distance.max() < inf:
        return skipped("time reversal", "the motion passes a singular pose, where ways part")
    end = motion.states[-1]
    steps = round(motion.time / motion.h)
    try:
        back = move(simulation, replace(end, v=-end.v), steps, motion.h, progress)
    except SimulationError as problem:
        return check_within("time reversal", inf, MOTION_TRUSTED, f"on the way back {problem}")
    says = "rad or sizes away from where it came"
    return check_within(
        "time reversal", apart(simulation, back.states[::-1], motion.states), MOTION_TRUSTED, says
    )
