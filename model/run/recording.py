"""What a run leaves behind: chosen outputs at chosen times, the energies it is judged by, some states."""

from collections.abc import Iterable, Sequence
from math import inf, isfinite
from typing import Protocol

import numpy as np

from ..base.thresholds import CUT_OFF
from ..state import State, Stepper
from ..variables import Variable, Variables
from .run_quality import Audit
from .trajectory import Seen, Trajectory

SEEN_EVERY = 1 / 25  # seconds between states that are kept to see the motion by
MOST_SEEN = 1000  # of these
ENERGIES = ("energy_kinetic", "energy_potential")  # what a run is judged by


class Recorded(Protocol):
    """What a run needs of a simulation."""

    @property
    def time(self) -> float: ...
    def read(self, rows: np.ndarray) -> np.ndarray: ...
    def go(self, time: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, work: float) -> None: ...


class Recorder:
    """Collects chosen outputs at chosen times, and the energies of a simulation that has them."""

    def __init__(self, simulation: Recorded, columns: Iterable[Variable]):
        self.simulation = simulation
        chosen = tuple(columns)
        self.names = tuple(column.name for column in chosen)
        self.units = tuple(column.unit for column in chosen)
        rows = [column.where.start for column in chosen]
        if isinstance(simulation, Stepper):
            rows += [x.where.start for x in simulation.engine.variables.outputs.columns(ENERGIES)]
        self.index = np.array(rows, int)
        self.time: list[float] = []
        self.rows: list[np.ndarray] = []  # blocks of them
        self.audit = Audit()
        known = simulation.engine.variables.inputs.columns() if isinstance(simulation, Stepper) else ()
        self.inputs = known
        self.states: list[State] = []  # some, to see the motion by
        self._spacing = SEEN_EVERY
        self.lowest, self.highest = np.zeros((2, len(self.inputs)))  # of each, and zero

    def add(self) -> None:
        """What can be read now."""
        s = self.simulation
        work = np.array([s.work] if isinstance(s, Stepper) else [])
        self.add_rows([s.time], s.read(self.index)[None], work)

    def add_rows(self, times: Sequence[float], rows: np.ndarray, work: np.ndarray) -> None:
        """Records up to now, read by `index`, and the work put in by then; inputs were held meanwhile."""
        s, n = self.simulation, len(self.names)
        self.time.extend(times)
        self.rows.append(rows[:, :n])
        if isinstance(s, Stepper):
            self.audit.add(np.column_stack([rows[:, n:], work]))
            np.minimum(self.lowest, s.u, out=self.lowest)
            np.maximum(self.highest, s.u, out=self.highest)
            if s.time >= self.next_seen:
                self._see(s.state)

    @property
    def next_seen(self) -> float:
        """When the next state is to be kept."""
        return self.states[-1].time + self._spacing if self.states else -inf

    def _see(self, state: State) -> None:
        """Keep a state; when there are many, every second one goes, and fewer come."""
        self.states.append(state)
        if len(self.states) > MOST_SEEN:
            del self.states[1::2]
            self._spacing *= 2

    def cut_off(self) -> tuple[tuple[Variable, float], ...]:
        """Inputs that were asked for more than they have, and how much."""
        found = []
        for x, a, b in zip(self.inputs, self.lowest.tolist(), self.highest.tolist(), strict=True):
            slack = CUT_OFF * max((abs(end) for end in (x.low, x.high) if isfinite(end)), default=0.0)
            if a < x.low - slack or b > x.high + slack:
                found.append((x, b if b > x.high + slack else a))
        return tuple(found)

    def _seen(self) -> Seen | None:
        """The states that were kept, and the last."""
        s = self.simulation
        if not isinstance(s, Stepper):
            return None
        last = () if self.states[-1].time == s.time else (s.state,)
        return Seen(s.engine, (*self.states, *last))

    def trajectory(self, events: Iterable[tuple[str, float]], tally: np.ndarray) -> Trajectory:
        """All of it. `events` were met; `tally` counts steps judged, and sums up their verdicts."""
        values = np.concatenate(self.rows)
        judgement = self.audit.judgement(tally)
        return Trajectory(
            np.array(self.time),
            self.names,
            values,
            tuple(events),
            judgement,
            self.units,
            self.audit.energies,
            self.cut_off(),
            self._seen(),
        )


def columns_to_record(table: Variables, names: Iterable[str] | None) -> tuple[Variable, ...]:
    """The columns to record: positions and speeds of all joints and what the description names, if None."""
    joints = [n for n in table.outputs.named if n.startswith("joint.") and not n.endswith(".acceleration")]
    return table.outputs.columns([*joints, *table.own, "energy", "loop.residual"] if names is None else names)
