"""A simulation that moves by the papers' methods, chosen by name."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...model.base.errors import SimulationError
from ...model.describe.mechanism import Mechanism
from ...model.engine import Engine
from ...model.kernels import Trace
from ...model.manifold.step import HELD
from ...model.run.inputs import Inputs
from ...model.run.steppers import STEPPERS
from ...model.simulation import Simulation
from ...model.variables import Variable
from . import accelerations, stabilization, thesis_charts
from .chart_form import ChartSolver
from .huang import Taylor
from .method import Method, chosen_speeds

# What there is to choose; the first of each is what `Simulation` does.
NAMES = {
    "formulation": accelerations.NAMES,
    "stabilization": stabilization.NAMES,
    "stepper": (*STEPPERS, "taylor"),
    "chart": thesis_charts.KINDS,
}


class MethodSimulation(Simulation):
    """A `Simulation` with a formulation, a stabilization, a stepper and a chart of one's choice.

    Parameters
    ----------
    mechanism, options : as of `Simulation`.
    formulation, stabilization, stepper, chart : names out of `NAMES`, see `docs/singularities.md`.
    coordinates : joints whose speeds make the chart "chosen"; the motors' if None.
    """

    def __init__(
        self,
        mechanism: Mechanism | str | Engine,
        *,
        formulation: str = "default",
        stabilization: str = "projection",
        stepper: str = "runge_kutta",
        chart: str = "partition",
        coordinates: Iterable[str] | None = None,
        **options: Any,
    ):
        chosen = (formulation, stabilization, stepper, chart)
        for (what, names), name in zip(NAMES.items(), chosen, strict=True):
            if name not in names:
                raise SimulationError(f"there is no {what} '{name}'; known: {', '.join(names)}")
        plain = (formulation, stabilization) == ("default", "projection")
        if not plain and stepper != "runge_kutta":
            raise SimulationError(
                f"the stepper '{stepper}' brings its own formulation and stabilization; "
                "leave both at their defaults"
            )
        taylor = stepper == "taylor"
        super().__init__(mechanism, stepper="runge_kutta" if taylor else stepper, **options)
        if self.tree.nz and not (plain and stepper in ("runge_kutta", "single", "implicit")):
            raise self._unknown_states()
        if coordinates is not None:
            coordinates = tuple(coordinates)
            chosen_speeds(self, coordinates)
        self._names = (formulation, stabilization, chart, coordinates)
        self._way = "taylor" if taylor else "traced" if plain else "numeric"
        self.open_up_to = math.inf if stabilization in ("none", "baumgarte") else self.open_up_to
        self._method: Method | None = None
        self._taylor: Taylor | None = None

    def _unknown_states(self) -> SimulationError:
        return SimulationError(
            f"'{self.mechanism.name}' has states of drives or friction, which the papers' methods do not know"
        )

    def __getstate__(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("_names", "_way", "open_up_to")}
        return super().__getstate__() | own | {"_method": None, "_taylor": None}

    def method(self) -> Method:
        """The formulation, stabilization and chart this simulation was made with, as numbers."""
        if self._method is None:
            self._method = Method(self, *self._names)
        return self._method

    def accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and λ by the formulation chosen."""
        if self._way == "numeric":
            return self.method().accelerate(self.q, self.v)
        return super().accelerations()

    def traced_step(self) -> tuple[str, Trace]:
        """As of `Simulation`; refused for the papers' methods."""
        if self._way != "traced":
            raise SimulationError("the papers' methods are not differentiated; use Simulation")
        return super().traced_step()

    def _advance(self, h: float, inputs: str = HELD) -> None:
        if self._way == "traced":
            return super()._advance(h, inputs)
        if inputs != HELD:
            raise SimulationError("the papers' methods hold their inputs during a step; give no rates")
        if self._way == "taylor":
            self._taylor = self._taylor or Taylor(self)
        way = self._taylor or self.method()
        q, v, work = way.step(self.q.copy(), self.v.copy(), h)
        return self.go(self.time, q, v, self.z, self.work + work)

    def _solver(self, method: str, end: float, tolerance: float, inputs: Inputs | None = None) -> Any:
        if method == "local":
            if inputs is not None:
                raise SimulationError("the papers' charts hold their inputs; give none over time")
            if self.tree.nz:
                raise self._unknown_states()
            if not self.tree.nv:
                raise SimulationError(f"nothing of '{self.mechanism.name}' can move: there is no chart of it")
            return ChartSolver(self.method(), end, tolerance)
        return super()._solver(method, end, tolerance, inputs)

    def _in_stretches(self, columns: Iterable[Variable]) -> bool:
        return self._way == "traced" and super()._in_stretches(columns)
