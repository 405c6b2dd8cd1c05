"""Sampled sensors while a solver of variable step moves a simulation: it is taken to their samples' times."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..state import Stepper


class Sensing:
    """Takes samples on the way of a run; `put(t)` sets the simulation to a time within the last step."""

    def __init__(self, simulation: Any, put: Callable[[float], None]):
        self.simulation, self.put = simulation, put
        self.samples = simulation.samples if isinstance(simulation, Stepper) else None
        self._kept, self._at = np.zeros(0), 0.0
        if self.samples:
            simulation.sample()

    def keep(self) -> None:
        """A step of the solver follows: what is remembered now is what it begins with."""
        if self.samples:
            self._kept, self._at = self.samples.memory.copy(), self.simulation.time

    def until(self, t: float) -> None:
        """Take all samples up to a time; from the step's begin on, if the time lies back."""
        if self.samples is None:
            return
        if t < self.simulation.time:
            self.samples.put(self._kept)
        while (at := self.samples.next(self.samples.memory, t)) <= t:
            if at != self.simulation.time:
                self.put(at)
            self.simulation.sample()
