"""What the sampled sensors of a live state remember, and what they tell (`equations/sampled_sensors.py`)."""

from collections.abc import Callable

import numpy as np

from .engine import Engine
from .equations.sampled_sensors import initial_memory, sampled_groups

At = tuple[np.ndarray, ...]


class SensorSamples:
    """`memory` is a part of the state; x below is (q, v, z, u, p)."""

    def __init__(self, engine: Engine):
        self._nothing = initial_memory(engine.mechanism)
        self.memory = self._nothing.copy()
        names = [name for part in sampled_groups(engine.mechanism) for name in part.names]
        self._rows = engine.variables.outputs.rows(names)
        kernels = engine.kernels
        self._take, self._tell, self._next = kernels.sampling, kernels.sample_values, kernels.upcoming

    def put(self, memory: np.ndarray) -> None:
        """Remember this; nothing at all is as before the start."""
        self.memory[:] = memory if memory.size else self._nothing

    def next(self, memory: np.ndarray, t: float) -> float:
        """When the next sample is to be taken; t itself if it is due then, but for round-off."""
        return float(self._next(memory, t)[0][0])

    def taken(self, memory: np.ndarray, x: At, t: float) -> np.ndarray:
        """What is remembered after samples that are due at t."""
        return self._take(*x, memory, t) if self.next(memory, t) <= t else memory

    def within(self, x: At, begin: float, end: float, ahead: Callable[[float], At]) -> np.ndarray:
        """What is remembered just before the end of a step; `ahead(t)` is x at a time inside."""
        memory = self.taken(self.memory, x, begin)
        while (t := self.next(memory, end)) < end:
            memory = self.taken(memory, ahead(t), t)
        return memory

    def tell(self, y: np.ndarray, x: At, t: float) -> None:
        """Put what the sensors tell at t in the place of exact readings; a start is looked at, not kept."""
        y[self._rows] = self._tell(self.taken(self.memory, x, t), t)
