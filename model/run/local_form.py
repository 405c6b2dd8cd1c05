"""The local state-space form ẏ = f(y) (paper 004, 2.2), and variable steps on it.

States are y = (y_q, y_v, z): independent displacements from the chart's reference, independent speeds, of
which velocity constraints leave fewer, and internal states. Every y is lifted to a pose and motion that
satisfies all loops, so nothing drifts and nothing needs to be stabilized. Lift, chart and margin are the
traced ones of `manifold/`, the same that an FMU's model exchange runs.
"""

import numpy as np

from ..errors import SimulationError
from ..state import LiveState
from .independent import picks
from .inputs import Inputs
from .integrate import DormandPrince


class ChartLost(SimulationError):
    """No closed pose was found: the point is off the chart, or too near a singularity."""


class LocalForm:
    """A chart of a simulation's manifold at a pose, and the motion written over it.

    R has orthonormal rows: y_q = R d, and y_v = R v of the first `speeds` of them. `free` is 1 for every
    dependent coordinate, and for every dependent speed, where R picks single ones; otherwise the projectors
    onto the dependent directions.
    """

    def __init__(self, simulation: LiveState, q: np.ndarray):
        self.simulation, self.engine = simulation, simulation.engine
        self.reference = q.copy()
        self.u, self.p = simulation.u, simulation.p
        self._inner = simulation.tree.nq - simulation.tree.nz  # where internal states begin: they are states
        self.d, self.rate = np.zeros((2, simulation.tree.nv))  # of the pose lifted last
        self.accepted = self.d, self.rate  # of the last pose that is known to be on the way
        self.R, self.speeds, self.free = self.choose()

    def choose(self) -> tuple[np.ndarray, int, tuple[np.ndarray, np.ndarray]]:
        """R, `speeds` and `free` at the reference: here by coordinate partitioning."""
        free, free_v, regular = self.engine.partition(self.reference, self.p)
        if not regular:
            raise ChartLost(
                f"'{self.simulation.mechanism.name}' is at a kinematic singularity, where no independent "
                "coordinates exist; the methods fixed and variable need none"
            )
        return *picks(free, free_v), (free, free_v)

    def to_local(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """y of a state on the manifold."""
        d = self.engine.kernel("displacement")(self.reference, q)
        return np.concatenate([self.R @ d, self.R[: self.speeds] @ v, q[self._inner :]])

    def to_full(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ψ(y): the state (q, v) on the manifold."""
        n = len(self.R)
        kernel = self.engine.kernel("lift" if self.free[0].ndim == 1 else "lift_along")
        x, w = self.R.T @ y[:n], self.R[: self.speeds].T @ y[n : n + self.speeds]
        self.reference[self._inner :] = y[n + self.speeds :]
        d, q, v, rate, closed = kernel(self.reference, *self.accepted, x, w, *self.free, self.p)
        if not closed[0]:
            raise ChartLost(
                "the local parametrization does not converge; take a smaller step or another chart"
            )
        self.d, self.rate = d, rate
        return q, v

    def accept(self) -> None:
        """Searches start from the pose lifted last: trial points of a solver may be on another branch."""
        self.accepted = self.d, self.rate

    def rates(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        """f(y), and the power that changes the energy."""
        q, v = self.to_full(y)
        dq, dv, power = self.engine.kernel("rates")(q, v, self.u, self.p)
        parts = [self.R @ self.rate, self.R[: self.speeds] @ dv, dq[self._inner :]]
        return np.concatenate(parts), float(power[0])

    def room(self, q: np.ndarray) -> float:
        """How far the chart is from being left, at the pose lifted last; negative beyond."""
        return self.engine.margin(q, self.d, self.free, self.p)


class LocalSolver(DormandPrince):
    """Variable steps on ẏ = f(y); charts change on the way, the step they had goes on."""

    form: type[LocalForm] = LocalForm

    def __init__(self, simulation: LiveState, end: float, tolerance: float, inputs: Inputs | None = None):
        super().__init__(end, tolerance, inputs)
        self.simulation, self.time = simulation, simulation.time
        self.changes = 0  # of chart
        self._in_new_chart(simulation.q.copy(), simulation.v.copy(), simulation.work)

    def _in_new_chart(self, q: np.ndarray, v: np.ndarray, work: float, **options: float) -> None:
        self.chart = self.form(self.simulation, q)
        self.chart.u, self.chart.p = self.now(self.time)
        self.begin(self._slope, self.time, np.concatenate([self.chart.to_local(q, v), [work]]), **options)

    def _slope(self, t: float, y: np.ndarray) -> np.ndarray:
        self.chart.u, self.chart.p = self.now(t)
        try:
            dy, power = self.chart.rates(y[:-1])
        except ChartLost:
            return np.full(len(y), np.nan)  # the solver refuses the step and tries a shorter one
        return np.concatenate([dy, [power]])

    def advance(self) -> None:
        """One accepted step; then a new chart, if it is time for one."""
        super().advance()
        self.old = self.chart
        self.chart.u, self.chart.p = self.now(self.time)
        q, v = self.chart.to_full(self.solver.y[:-1])
        self.chart.accept()
        if self.time < self.end and not self.chart.room(q) >= 0:
            self.changes += 1
            first = min(self.solver.step_size, self.end - self.time)
            self._in_new_chart(q, v, float(self.solver.y[-1]), first_step=first)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Each sample is placed on the manifold exactly."""
        y = self.between(t)
        self.old.u, self.old.p = self.now(t)
        q, v = self.old.to_full(y[:-1])
        return q, v, float(y[-1])
