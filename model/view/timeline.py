"""Frames of a simulation: the past kept, the future computed when it is asked for.

Playing moves along the frames and, at their end, simulates on. Other inputs keep the past and forget what
came after the present frame. Another pose closes the loops anew and starts again, at rest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from ..run.trajectory import Trajectory
from ..simulation import Simulation
from ..state import State
from .pull import Pull, let_go, pull

FRAME = 1 / 50  # seconds between frames
STEP = 1e-3  # seconds, of the simulation


class TimeLine:
    """The states of a simulation frame by frame, and all outputs at each."""

    def __init__(self, simulation: Simulation):
        self.simulation = simulation
        self.hand: Pull | None = None  # what pulls at it from now on
        self._start()

    def _start(self) -> None:
        self.frames: list[State] = []
        self.rows: list[np.ndarray] = []  # outputs, as `variables` lays them out
        self.now = 0
        self._keep()

    def _keep(self) -> None:
        self.frames.append(self.simulation.state)
        self.rows.append(self.simulation.read())

    @property
    def length(self) -> float:
        """Seconds from the first frame to the last."""
        return FRAME * (len(self.frames) - 1)

    def go(self, frame: int) -> None:
        """Show a frame, simulating up to it if the time line is not that long yet."""
        while frame >= len(self.frames):
            self._move_on()
        self.now = max(frame, 0)
        self.simulation.put(self.frames[self.now])

    def _move_on(self) -> None:
        simulation = self.simulation
        simulation.put(self.frames[-1])
        let_go(simulation)
        count = round(FRAME / STEP)
        for _ in range(count):
            if self.hand:
                pull(simulation, self.hand)
            simulation.step(FRAME / count)
        self._keep()

    def drive(self, inputs: Mapping[str, float]) -> None:
        """Other inputs from now on; what was computed beyond now is forgotten."""
        self.simulation.put(self.frames[self.now])
        self.simulation.set_inputs(inputs)
        del self.frames[self.now :], self.rows[self.now :]
        self._keep()

    def pose(self, held: Mapping[str, float]) -> None:
        """Close the loops with joints held, and start again from there, at rest."""
        self.simulation.put(self.frames[self.now])
        self.simulation.assemble(held)
        here = self.simulation.state
        self.simulation.put(replace(here, time=0.0, work=0.0, v=np.zeros_like(here.v)))
        self._start()

    def values(self, name: str, frames: slice = slice(None)) -> np.ndarray:
        """An output at the frames, (n, size)."""
        where = self.simulation.variables().outputs.find(name).where
        return np.array([row[where] for row in self.rows[frames]]).reshape(-1, where.stop - where.start)

    def motion(self, names: Iterable[str]) -> Trajectory:
        """All frames as a recorded motion."""
        columns = self.simulation.variables().outputs.columns(names)
        places = [column.where.start for column in columns]
        return Trajectory(
            np.array([state.time for state in self.frames]),
            tuple(column.name for column in columns),
            np.array(self.rows)[:, places],
            units=tuple(column.unit for column in columns),
        )
