"""A simulation that moves by the papers' methods, chosen by name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...describe.mechanism import Mechanism
from ...engine import STEPPERS, Engine
from ...errors import SimulationError
from ...simulation import Simulation
from . import accelerations, charts, implicit, stabilization
from .huang import Taylor
from .method import Method, chosen_speeds
from .variable import LocalSolver

FORMULATIONS, STABILIZATIONS, CHARTS = accelerations.NAMES, stabilization.NAMES, charts.KINDS
NUMERIC = ("implicit", "taylor")  # steppers that are not traced


class MethodSimulation(Simulation):
    """A `Simulation` with a formulation, a stabilization, a stepper and a chart of one's choice.

    formulation, stabilization, stepper, chart : see `docs/singularities.md`; the defaults are what
        `Simulation` does.
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
        for what, name, names in (
            ("formulation", formulation, FORMULATIONS),
            ("stabilization", stabilization, STABILIZATIONS),
            ("chart", chart, CHARTS),
        ):
            if name not in names:
                raise SimulationError(f"there is no {what} '{name}'; known: {', '.join(names)}")
        plain = (formulation, stabilization) == ("default", "projection")
        if not plain and stepper != "runge_kutta":
            raise SimulationError(
                f"the stepper '{stepper}' brings its own formulation and stabilization; "
                "leave both at their defaults"
            )
        super().__init__(mechanism, stepper=stepper, **options)
        self.names = (formulation, stabilization, chart, coordinates)
        self.traced = plain and stepper in STEPPERS
        if stabilization in ("none", "baumgarte"):
            self.open_up_to = math.inf
        if coordinates is not None:
            chosen_speeds(self, coordinates)
        self._method: Method | None = None
        self._taylor: Taylor | None = None

    steppers = (*STEPPERS, *NUMERIC)

    def __getstate__(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("names", "traced", "open_up_to")}
        return super().__getstate__() | own | {"_method": None, "_taylor": None}

    def method(self) -> Method:
        """The formulation, stabilization and chart this simulation was made with, as numbers."""
        if self._method is None:
            self._method = Method(self, *self.names)
        return self._method

    def accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        return super().accelerations() if self.traced else self.method().accelerate(self.q, self.v)

    def _advance(self, h: float) -> None:
        if self.traced:
            return super()._advance(h)
        q, v = self.q.copy(), self.v.copy()
        if self.stepper == "implicit":
            q, v, work = implicit.step(self.method(), q, v, h)
        elif self.stepper == "taylor":
            self._taylor = self._taylor or Taylor(self)
            q, v, work = self._taylor.step(q, v, h)
        else:
            q, v, work = self.method().step(q, v, h)
        return self.move(self.time, q, v, self.work + work)

    def _solver(self, method: str, end: float, tolerance: float) -> Any:
        if method == "local":
            return LocalSolver(self, self.method(), end, tolerance)
        return super()._solver(method, end, tolerance)
