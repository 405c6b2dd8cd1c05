"""The local state-space form over the thesis' charts (paper 004, 2.3); the lift is the manifold's own."""

import numpy as np

from ...model.base.thresholds import FAR
from ...model.run.local_form import LocalForm, LocalSolver
from . import thesis_charts, traced
from .method import Method


class ChartForm(LocalForm):
    """One chart of a method's manifold and the motion written over it."""

    def __init__(self, method: Method, q: np.ndarray):
        self.method = method
        super().__init__(method.simulation, q)

    def choose(self) -> tuple[np.ndarray, int, tuple[np.ndarray, np.ndarray]]:
        m, G = self.method, self.method.closure(self.reference)[1]
        self.chart = thesis_charts.choose(m.kind, self.reference, G, m.rank, m.chosen)
        F = np.eye(self.chart.R.shape[1]) - self.chart.R.T @ self.chart.R
        return self.chart.R, self.chart.size, (F, F)

    def to_local(self, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        y = super().to_local(q, v, z)
        y[self.chart.size :] = thesis_charts.speeds(self.chart, self.method.closure(q)[1], v)
        return y

    def to_full(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, v, z = super().to_full(y)
        if self.chart.kind == "differentiable":  # y_v are speeds along a basis that turns with the pose
            v = thesis_charts.motions(self.chart, self.method.closure(q)[1]) @ y[self.chart.size :]
            self.rate = self.engine.kernels.displacement_rates(self.d, v)
        return q, v, z

    def rates(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        q, v, _ = self.to_full(y)
        m, chart, s = self.method, self.chart, self.simulation
        _, dv, power = m.rates(q, v)
        if chart.kind != "differentiable":
            return np.concatenate([chart.R @ self.rate, chart.R @ dv]), power
        _, G, _, gamma, _ = self.engine.kernels.coefficients(q, v, s.z, s.u, s.p)
        turning = m.kernel(traced.jacobian_rate)(q, v, s.p)
        dy = thesis_charts.motions(chart, G).T @ (dv - thesis_charts.bias(chart, G, turning, v, gamma))
        return np.concatenate([chart.R @ self.rate, dy]), power

    def room(self, q: np.ndarray) -> float:
        """Negative when it is time for another chart: the thesis' condition, or a ball too far away."""
        balls = (self.d[link.v] for move, link in self.simulation.tree.moves if not move.plain)
        far = any(np.abs(x).max() > FAR for x in balls)
        return -1.0 if far or thesis_charts.degraded(self.chart, self.method.closure(q)[1]) else 1.0


class ChartSolver(LocalSolver):
    """Variable steps on a chart of one's choice."""

    def __init__(self, method: Method, end: float, tolerance: float):
        self.form = lambda _, q: ChartForm(method, q)  # type: ignore[assignment]
        super().__init__(method.simulation, end, tolerance)
