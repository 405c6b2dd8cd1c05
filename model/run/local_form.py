"""The local state-space form ẏ = f(y) (paper 004, 2.2), and variable steps on it.

States are y = (y_q, y_v, z): independent displacements from the chart's reference, independent speeds, of
which velocity constraints leave fewer, and internal states. Every y is lifted to a pose and motion that
satisfies all loops, so nothing drifts and nothing needs to be stabilized. Lift, chart and margin are the
traced ones of `manifold/`, the same that an FMU's model exchange runs.
"""

import numpy as np

from ..base.errors import SimulationError
from ..state import Stepper
from .independent import picks
from .inputs import Inputs
from .integrate import DormandPrince, Place


class ChartLost(SimulationError):
    """No closed pose was found: the point is off the chart, or too near a singularity."""


class LocalForm:
    """A chart of a simulation's manifold at a pose, and the motion written over it.

    R has orthonormal rows: y_q = R d, and y_v = R v of the first `speeds` of them. `dependent` is 1 for
    every dependent coordinate, and for every dependent speed, where R picks single ones; otherwise the
    projectors onto the dependent directions.
    """

    def __init__(self, simulation: Stepper, q: np.ndarray):
        self.simulation, self.engine = simulation, simulation.engine
        self.reference = q.copy()
        self.u, self.p = simulation.u, simulation.p
        self.d, self.rate = np.zeros((2, simulation.tree.nv))  # of the pose lifted last
        self.accepted = self.d, self.rate  # of the last pose that is known to be on the way
        self.R, self.speeds, self.dependent = self.choose()

    @property
    def s(self) -> np.ndarray:
        return self.engine.motions(self.u)

    def choose(self) -> tuple[np.ndarray, int, tuple[np.ndarray, np.ndarray]]:
        """R, `speeds` and `dependent` at the reference: here by coordinate partitioning."""
        dependent_q, dependent_v, regular = self.engine.partition(self.reference, self.s, self.p)
        if not regular:
            raise ChartLost(
                f"'{self.simulation.mechanism.name}' is at a kinematic singularity, where no independent "
                "coordinates exist; the methods fixed and variable need none"
            )
        return *picks(dependent_q, dependent_v), (dependent_q, dependent_v)

    def to_local(self, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        """y of a state on the manifold."""
        d = self.engine.kernels.displacement(self.reference, q)
        return np.concatenate([self.R @ d, self.R[: self.speeds] @ v, z])

    def to_full(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ψ(y): the state (q, v, z) on the manifold."""
        n = len(self.R)
        kernels = self.engine.kernels
        kernel = kernels.lift if self.dependent[0].ndim == 1 else kernels.lift_along
        x, w = self.R.T @ y[:n], self.R[: self.speeds].T @ y[n : n + self.speeds]
        d, q, v, rate, closed = kernel(self.reference, *self.accepted, x, w, *self.dependent, self.s, self.p)
        if not closed[0]:
            raise ChartLost(
                "the local parametrization does not converge; take a smaller step or another chart"
            )
        self.d, self.rate = d, rate
        return q, v, y[n + self.speeds :]

    def accept(self) -> None:
        """Searches start from the pose lifted last: trial points of a solver may be on another branch."""
        self.accepted = self.d, self.rate

    def rates(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        """f(y), and the power that changes the energy."""
        _, dv, dz, power = self.engine.kernels.rates(*self.to_full(y), self.u, self.p)
        return np.concatenate([self.R @ self.rate, self.R[: self.speeds] @ dv, dz]), float(power[0])

    def room(self, q: np.ndarray) -> float:
        """How far the chart is from being left, at the pose lifted last; negative beyond."""
        return self.engine.margin(q, self.d, self.dependent, self.s, self.p)


class LocalSolver(DormandPrince):
    """Variable steps on ẏ = f(y); charts change on the way, the step they had goes on."""

    form: type[LocalForm] = LocalForm

    def __init__(self, simulation: Stepper, end: float, tolerance: float, inputs: Inputs | None = None):
        super().__init__(end, tolerance, inputs)
        self.simulation, self.time = simulation, simulation.time
        self.changes = 0  # of chart
        q, v, z, *_ = simulation.state.at
        self._in_new_chart(q, v, z, simulation.work)

    def _in_new_chart(
        self, q: np.ndarray, v: np.ndarray, z: np.ndarray, work: float, **options: float
    ) -> None:
        self.chart = self.form(self.simulation, q)
        self.chart.u = self.now(self.time)
        y = np.concatenate([self.chart.to_local(q, v, z), [work]])
        self.begin(self._slope, self.time, y, **options)

    def _slope(self, t: float, y: np.ndarray) -> np.ndarray:
        self.chart.u = self.now(t)
        try:
            dy, power = self.chart.rates(y[:-1])
        except ChartLost:
            return np.full(len(y), np.nan)  # the solver refuses the step and tries a shorter one
        return np.concatenate([dy, [power]])

    def advance(self) -> None:
        """One accepted step; then a new chart, if it is time for one."""
        super().advance()
        self.old = self.chart
        self.chart.u = self.now(self.time)
        full = self.chart.to_full(self.solver.y[:-1])
        self.chart.accept()
        if self.time < self.end and not self.chart.room(full[0]) >= 0:
            self.changes += 1
            first = min(self.solver.step_size, self.end - self.time)
            self._in_new_chart(*full, float(self.solver.y[-1]), first_step=first)

    def at(self, t: float) -> Place:
        """Each sample is placed on the manifold exactly."""
        y = self.between(t)
        self.old.u = self.now(t)
        return *self.old.to_full(y[:-1]), float(y[-1])
