"""Variable steps on the local state-space form: nothing drifts, charts change on the way.

Dormand-Prince 8(5,3) on ẏ = f(y). When a chart degrades (the condition of G S̄, or the distance
from its reference), the state is carried to a new one and integration goes on with the step
it had. Samples come from the solver's dense output, each placed on the manifold exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import DOP853

from ...errors import SimulationError
from ...state import LiveState
from .charts import ChartLost
from .local_form import LocalForm
from .method import Method


class LocalSolver:
    """Steps of a simulation on the local state-space form; `at(t)` looks back into the last one."""

    def __init__(self, simulation: LiveState, method: Method, end: float, tolerance: float):
        self.simulation, self.method = simulation, method
        self.end, self.tolerance = end, tolerance
        self.changes = 0  # of chart
        self.time = simulation.time
        self.form = LocalForm(method, simulation.q.copy())
        self.solver: Any = None
        self._begin(simulation.q.copy(), simulation.v.copy(), simulation.work, None)

    def _begin(self, q: np.ndarray, v: np.ndarray, work: float, first: float | None) -> None:
        y = np.concatenate([self.form.to_local(q, v), [work]])
        left = self.end - self.time
        options = {"rtol": max(self.tolerance, 1e-13), "atol": self.tolerance}
        if first is not None:
            options["first_step"] = min(first, left)
        self.solver = DOP853(self._slope, self.time, y, self.end, **options)

    def _slope(self, _: float, y: np.ndarray) -> np.ndarray:
        try:
            dy, power = self.form.rates(y[:-1])
        except ChartLost:
            return np.full(len(y), np.nan)  # the solver refuses the step and tries a shorter one
        return np.concatenate([dy, [power]])

    def advance(self) -> None:
        """One accepted step; then a new chart, if it is time for one."""
        message = self.solver.step()
        if self.solver.status == "failed":
            raise SimulationError(
                f"the integrator failed at {self.solver.t:.6g} s: {message}; loosen the tolerance"
            )
        self.time = self.solver.t
        self.between, self.old = self.solver.dense_output(), self.form
        q, v = self.form.to_full(self.solver.y[:-1])
        if self.solver.status == "running" and self.form.degraded(q):
            self.changes += 1
            self.form = LocalForm(self.method, q)
            self._begin(q, v, float(self.solver.y[-1]), self.solver.step_size)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, float]:
        """q, v and work at a time within the last step."""
        y = self.between(t)
        q, v = self.old.to_full(y[:-1])
        return q, v, float(y[-1])
