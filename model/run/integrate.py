"""Runs over time: fixed steps, or variable steps to a tolerance, with recording."""

from collections import deque
from collections.abc import Callable, Iterable
from itertools import pairwise, takewhile
from typing import Protocol

import numpy as np
from scipy.integrate import DOP853

from ..errors import SimulationError
from ..manifold.step import VERDICT
from ..state import LiveState
from ..thresholds import IN_A_RECORD, LEAST_TOLERANCE, MOST_STEPS, ROUNDED, SAME_TIME, STEPS_BETWEEN
from ..variables import Variable, Variables
from .events import Event, Watch
from .judgement import Audit
from .trajectory import Trajectory

Slope = Callable[[float, np.ndarray], np.ndarray]
Place = tuple[np.ndarray, np.ndarray, float]  # q, v, work
ENERGIES = ("energy_kinetic", "energy_potential")  # what a run is judged by


class Recorded(Protocol):
    """What a run needs of a simulation."""

    @property
    def time(self) -> float: ...
    def read(self, rows: np.ndarray) -> np.ndarray: ...
    def go(self, time: float, q: np.ndarray, v: np.ndarray, work: float) -> None: ...


class Recorder:
    """Collects chosen outputs at chosen times, and the energies of a simulation that has them."""

    def __init__(self, simulation: Recorded, columns: Iterable[Variable]):
        self.simulation = simulation
        chosen = tuple(columns)
        self.names = tuple(column.name for column in chosen)
        rows = [column.where.start for column in chosen]
        if isinstance(simulation, LiveState):
            rows += [x.where.start for x in simulation.engine.variables.outputs.columns(ENERGIES)]
        self.index = np.array(rows, int)
        self.time: list[float] = []
        self.rows: list[np.ndarray] = []
        self.audit = Audit()

    def add(self) -> None:
        s, n = self.simulation, len(self.names)
        y = s.read(self.index)
        self.time.append(s.time)
        self.rows.append(y[:n])
        if isinstance(s, LiveState):
            kinetic, potential = y[n:]
            self.audit.add(kinetic, potential, s.work)

    def trajectory(self, watch: Watch, tally: np.ndarray) -> Trajectory:
        values = np.array(self.rows).reshape(len(self.rows), len(self.names))
        judgement = self.audit.judgement(tally)
        return Trajectory(np.array(self.time), self.names, values, tuple(watch.found), judgement)


def recorded(table: Variables, names: Iterable[str] | None) -> tuple[Variable, ...]:
    """The columns to record: positions and speeds of all joints and what the description names, if None."""
    joints = [n for n in table.outputs.named if n.startswith("joint.") and not n.endswith(".acceleration")]
    return table.outputs.columns([*joints, *table.own, "energy", "loop.residual"] if names is None else names)


def step_plan(begin: float, duration: float, h: float) -> list[tuple[float, float]]:
    """Length and end of each step of h; a shorter last one if the duration is no multiple of it."""
    if not h > 0:
        raise SimulationError(f"a step must be positive, not {h}")
    same = SAME_TIME + ROUNDED * abs(begin) / h  # the duration may be a difference of large times
    whole = int(duration / h + same)
    plan = [(h, begin + (n + 1) * h) for n in range(whole)]  # no drift of time by summing
    rest = duration - whole * h
    if plan and rest <= same * h:
        plan[-1] = (h, begin + duration)
    elif duration:
        plan.append((rest, begin + duration))
    return plan


class Solver(Protocol):
    """Takes steps of its own length; `at(t)` gives q, v and work at a time within the last one."""

    time: float
    tally: np.ndarray  # steps judged, and the sum of their verdicts

    def advance(self) -> None: ...
    def at(self, t: float) -> Place: ...


class FixedSteps:
    """The simulation's own steps; if `watched`, one can look back into the last by stepping again."""

    def __init__(self, simulation: LiveState, duration: float, h: float, watched: bool):
        self.simulation, self.time, self.watched = simulation, simulation.time, watched
        self._plan = iter(step_plan(simulation.time, duration, h))
        self._steps, self._known = 0, simulation.ledger.copy()

    @property
    def tally(self) -> np.ndarray:
        judged = self._steps if self.simulation.judges else 0
        return np.array([judged, *(self.simulation.ledger - self._known)])

    def advance(self) -> None:
        length, self.time = next(self._plan)
        if self.watched:
            self._before = self.simulation.state
        self.simulation.step(length, self.time)
        self._steps += 1
        if self.watched:
            self._after = self.simulation.state

    def at(self, t: float) -> Place:
        s, ledger = self.simulation, self.simulation.ledger.copy()
        s.put(self._after if t >= self.time else self._before)
        if s.time < t < self.time:
            s.step(t - s.time, t)
            s.ledger[:] = ledger  # looked at, not taken
        return s.q, s.v, s.work


class DormandPrince:
    """Dormand-Prince 8(5,3) on ẋ = slope(t, x); `between(t)` is x within the last step."""

    def __init__(self, end: float, tolerance: float):
        if not 0 < tolerance < 1:
            raise SimulationError(f"a tolerance must be between 0 and 1, such as 1e-10, not {tolerance}")
        self.end, self.tolerance = end, max(tolerance, LEAST_TOLERANCE)
        self.tally = np.zeros(1 + len(VERDICT))
        self.spacing = 0.0  # of records, s
        self._count = 0

    def begin(self, slope: Slope, time: float, x: np.ndarray, **options: float | None) -> None:
        options |= {"rtol": self.tolerance, "atol": self.tolerance}
        self.time, self.solver = time, DOP853(slope, time, x, self.end, **options)

    def _get_on(self) -> None:
        """An error if the run would go on for hours."""
        if self._count == 0:
            self._last = self.time
        elif self._count % STEPS_BETWEEN == 0:
            length, left = (self.time - self._last) / STEPS_BETWEEN, self.end - self.time
            if left > MOST_STEPS * length and length < IN_A_RECORD * self.spacing:
                raise SimulationError(
                    f"at {self.time:.6g} s the tolerance {self.tolerance:g} needs steps of {length:.1g} s, "
                    "too short to get anywhere: loosen it, or lessen the largest stiffness or friction"
                )
            self._last = self.time
        self._count += 1

    def advance(self) -> None:
        self._get_on()
        message = self.solver.step()
        self.time = self.solver.t
        if self.solver.status == "failed":
            raise SimulationError(
                f"the integrator failed at {self.time:.6g} s: {message}; loosen the tolerance"
            )
        self.between = self.solver.dense_output()


class Projected(DormandPrince):
    """Variable steps on x = (q, v, work), brought back onto the constraints after every one.

    `slope(t, x)` is ẋ, `project(x)` the x to go on from, nq the number of coordinates q.
    """

    def __init__(
        self,
        slope: Slope,
        project: Callable[[np.ndarray], np.ndarray],
        nq: int,
        start: tuple[float, np.ndarray],
        end: float,
        tolerance: float,
    ):
        super().__init__(end, tolerance)
        self.slope, self.project, self.nq = slope, project, nq
        self.begin(slope, *start)

    def advance(self) -> None:
        super().advance()
        self.solver.y = self.project(self.solver.y)
        self.solver.f = self.slope(self.time, self.solver.y)

    def at(self, t: float) -> Place:
        x = self.solver.y if t >= self.time else self.project(self.between(t))
        return x[: self.nq], x[self.nq : -1], float(x[-1])


def run_recorded(
    simulation: Recorded,
    solver: Solver,
    duration: float,
    sample: float,
    columns: Iterable[Variable],
    progress: Callable[[float], None] | None,
    events: Iterable[Event] = (),
) -> Trajectory:
    """The simulation moved on by a solver and recorded every `sample` seconds, unless an event stops it."""
    recorder, watch = Recorder(simulation, columns), Watch(simulation, events)
    recorder.add()
    begin, end, stop = simulation.time, simulation.time + duration, None

    def go(t: float) -> None:
        if t != simulation.time:
            simulation.go(t, *solver.at(t))

    due = deque(time for _, time in step_plan(begin, duration, sample))
    while solver.time < end and stop is None:
        before = solver.time
        solver.advance()
        if watch.events:  # looked for between records, too: a step to a tolerance may be long
            times = [before, *takewhile(lambda t: t < solver.time, due), solver.time]
            for t0, t1 in pairwise(times):
                go(t1)
                if (stop := watch.look(t0, t1, go)) is not None:
                    break
        until = solver.time if stop is None else stop
        while due and due[0] <= until + SAME_TIME * sample:
            go(min(due.popleft(), solver.time))
            recorder.add()
        if progress:
            progress((solver.time - begin) / duration)
    go(end if stop is None else stop)
    if recorder.time[-1] != simulation.time:
        recorder.add()
    return recorder.trajectory(watch, solver.tally)
