"""Variable steps on the underlying ODE, on closed loops, judged like those of fixed length.

Dormand-Prince 8(5,3) with every stage on the manifold: positions and speeds are projected before
accelerations are asked for, so that redundant rows stay redundant. Its own estimate of the error knows
nothing of branches: a step that changes the energy, or whose end has to be moved far to close the loops,
is refused and done again, shorter. Where a kinematic singularity keeps steps from ever being long enough
to get anywhere, the traced step of `manifold/step.py` leaps over it.
"""

import casadi as ca
import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import (
    ENERGY_ERROR,
    JUDGED_TOLERANCE,
    LEAP,
    MOST_REFUSALS,
    NEARER,
    RESOLVED,
    TOO_SHORT,
)
from ..equations.terms import Equations
from ..equations.traced import project_position, project_velocity, rates
from ..manifold import step
from ..manifold.step import ALONG, HELD
from ..state import Stepper
from .inputs import Inputs
from .integrate import DormandPrince, Place
from .steppers import STEPPERS


def rates_on_loops(eq: Equations) -> ca.Function:
    """(q, v, z, u, p) → (q̇, v̇, ż, power) at the closed pose and speeds nearest to q and v."""
    q, v, z, u, p = symbols = eq.symbols("q", "v", "z", "u", "p")
    held = eq.tree.cuts or eq.tree.driven
    closed = project_position(eq)(q, eq.motions(u), p) if held else q
    speeds = project_velocity(eq)(closed, v, eq.motions(u), p) if held else v
    names = ["q", "v", "z", "u", "p"], ["dq", "dv", "dz", "power"]
    return ca.Function("rates_on_loops", symbols, list(rates(eq)(closed, speeds, z, u, p)), *names)


class VariableSteps(DormandPrince):
    """Steps of a simulation to a tolerance, from its present state on."""

    def __init__(self, simulation: Stepper, end: float, tolerance: float, inputs: Inputs | None = None):
        super().__init__(end, tolerance, inputs)
        self.simulation, tree = simulation, simulation.tree
        self._borders = np.cumsum([tree.nq, tree.nv, tree.nz])
        self._rates = simulation.engine.kernel("rates_on_loops", rates_on_loops)
        self._concluded = simulation.engine.kernels.project_and_estimate
        self._part = min(1.0, JUDGED_TOLERANCE * self.tolerance / ENERGY_ERROR)
        self._easy = 0.0  # longest step so far
        self._regular = 0.0  # largest distance from a singularity so far, looked at where steps are long
        self._leapt = False
        self._start = self._resting()
        self.begin(self._slope, simulation.time, np.concatenate(simulation.memory[:4]))

    def _slope(self, t: float, x: np.ndarray) -> np.ndarray:
        q, v, z, _ = np.split(x, self._borders)
        return np.concatenate(self._rates(q, v, z, self.now(t), self.simulation.p))

    def _conclude(self, x: np.ndarray, x1: np.ndarray, time: float) -> tuple[np.ndarray, float]:
        """x1 brought onto the loops as they are then, and the error of the step from x."""
        before, after = np.split(x, self._borders), np.split(x1, self._borders)
        s = self.simulation
        motions = s.engine.motions(self.now(time))
        q, v, error = self._concluded(*before, *after, motions, s.p, self._part)
        return np.concatenate([q, v, *after[2:]]), float(error[0])

    def advance(self) -> None:
        """One step that settles, or that nothing makes better."""
        time, x = self.time, self.solver.y
        if self._start is not None:  # steps stay short until it has left the singular pose
            self._easy, self._regular = self._start / LEAP, np.inf
            return self._leap(time, x, self._start)
        for tries in range(MOST_REFUSALS + 1):
            super().advance()
            length = self.time - time
            x1, error = self._conclude(x, self.solver.y, self.time)
            if length < TOO_SHORT * self._easy and self._distance(x) < NEARER * self._regular:
                return self._leap(time, x, LEAP * self._easy)
            if error <= 1 or tries == MOST_REFUSALS:
                break
            self.begin(self._slope, time, x, first_step=length / 4)
        self.solver.y, self.solver.f, self._leapt = x1, self._slope(self.time, x1), False
        if length > self._easy or self._regular == np.inf:
            regular = (
                self._distance(x1) if self._regular == np.inf else max(self._regular, self._distance(x1))
            )
            self._easy, self._regular = max(length, self._easy), regular
        self.tally += 1, tries > 0, error > 1, 0, 0, 0, tries
        return None

    def _distance(self, x: np.ndarray) -> float:
        """From a singularity: the smallest singular value that a regular pose would have."""
        if not self.simulation.tree.cuts:
            return np.inf
        s = self.simulation
        return s.engine.singularity(x[: self._borders[0]], s.s, s.p)[0]

    def _resting(self) -> float | None:
        """How long the traced step is to lead from rest in a singular pose, if that is where it is."""
        s = self.simulation
        if s.v.any() or not s.tree.cuts or s.tree.driven:
            return None
        a, parted = s.engine.kernels.from_rest(s.q, s.z, s.u, s.p)
        size = float(np.linalg.norm(a / s.equations.scales.speeds))
        return float(np.sqrt(2 * RESOLVED / size)) if parted[0] else None

    def _leap(self, time: float, x: np.ndarray, length: float) -> None:
        bounds = (self.inputs.step, self.inputs.longest) if self.inputs else ()
        length = min(length, self.until - time, *bounds)
        self._leapt, self._from, self._start = True, (time, x), None
        x1, verdict = self._jumped(length)
        if not np.isfinite(x1).all() or verdict[step.LEFT_OPEN]:
            raise SimulationError(f"no step passes the singularity at {time:.6g} s; loosen the tolerance")
        self.tally += 1, *verdict
        arrived = length == self.until - time and self.until < self.end
        at = self.until if arrived else time + length
        self.begin(self._slope, at, x1, first_step=min(length, self.end - at) or None)
        if arrived:
            self._go_on()

    def _jumped(self, length: float) -> tuple[np.ndarray, np.ndarray]:
        s = self.simulation
        rates = self.inputs.line(self._from[0], length) if self.inputs else None
        u = self.now(self._from[0]) if s.tree.driven else s.u
        u, how = (u, HELD) if rates is None or s.tree.driven else (np.concatenate([u, rates]), ALONG)
        kernel = s.engine.kernel(*STEPPERS["runge_kutta"].traced(how))
        *new, verdict = kernel(*np.split(self._from[1], self._borders), u, s.p, length)
        return np.concatenate(new), verdict

    def at(self, t: float) -> Place:
        if t >= self.time:
            x = self.solver.y
        elif self._leapt:
            x = self._jumped(t - self._from[0])[0] if t > self._from[0] else self._from[1]
        else:
            x = self.between(t)
            x = self._conclude(x, x, t)[0]
        q, v, z, work = np.split(x, self._borders)
        return q, v, z, float(work[0])
