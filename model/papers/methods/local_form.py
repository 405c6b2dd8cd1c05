"""The local state-space form with numbers: ẏ = f(y) on a chart, dependent quantities solved inside.

Paper 004, 2.2. States are y = (y_q, y_v), twice the mobility; every y is a pose and motion that
satisfies all loops, so nothing drifts and nothing needs to be stabilized.
"""

from __future__ import annotations

import numpy as np

from . import charts, traced
from .method import Method


class LocalForm:
    """One chart of a method's manifold and the motion written over it."""

    def __init__(self, method: Method, q: np.ndarray):
        self.method = method
        self.chart = charts.choose(method.kind, q, method.closure(q)[1], method.rank, method.chosen)
        self.near = q  # where the last search ended is where the next one starts

    def displacement(self, q: np.ndarray) -> np.ndarray:
        """d of q = r ⊕ d from the chart's reference r."""
        return self.method.displacement(self.chart.reference, q)

    def to_local(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """y of a state on the manifold."""
        y_v = charts.speeds(self.chart, self.method.closure(q)[1], v)
        return np.concatenate([self.chart.R @ self.displacement(q), y_v])

    def to_full(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ψ(y): the state (q, v) on the manifold."""
        p, m = self.chart.size, self.method
        q = charts.place(self.chart, m, y[:p], self.near)
        self.near = q
        return q, charts.basis(self.chart, m.closure(q)[1]) @ y[p:]

    def rates(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        """f(y), and the power that changes the energy."""
        q, v = self.to_full(y)
        m, chart = self.method, self.chart
        _, dv, power = m.rates(q, v)
        dy_q = chart.R @ (m.rate_matrix(self.displacement(q)) @ v)
        if chart.kind != "differentiable":
            return np.concatenate([dy_q, chart.R @ dv]), power
        s = m.simulation
        _, G, _, gamma, _ = s.engine.kernel("coefficients")(q, v, s.u, s.p)
        rate = m.kernel(traced.jacobian_rate)(q, v, s.p)
        dy = charts.basis(chart, G).T @ (dv - charts.bias(chart, G, rate, v, gamma))
        return np.concatenate([dy_q, dy]), power

    def degraded(self, q: np.ndarray) -> bool:
        """Whether it is time for another chart; for balls also a quarter turn away from the reference."""
        d = self.displacement(q)
        balls = (d[link.v] for move, link in self.method.tree.moves if not move.plain)
        far = any(np.linalg.norm(x) > 2.0 for x in balls)
        return far or charts.degraded(self.chart, self.method.closure(q)[1])
