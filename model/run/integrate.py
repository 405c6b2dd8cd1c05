"""Runs over time: fixed steps, or variable steps to a tolerance, with recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
from scipy.integrate import DOP853

from ..errors import SimulationError
from ..manifold.thresholds import LEAST_TOLERANCE, SAME_TIME
from ..state import LiveState, State
from ..variables import Variable, Variables
from .events import Event, Watch
from .trajectory import Trajectory

Progress = Callable[[float], None] | None


class Recorded(Protocol):
    """What a run needs of a simulation."""

    @property
    def time(self) -> float: ...
    def read(self, rows: np.ndarray) -> np.ndarray: ...
    def go(self, time: float, q: np.ndarray, v: np.ndarray, work: float) -> None: ...


class Recorder:
    """Collects chosen outputs at chosen times."""

    def __init__(self, simulation: Recorded, columns: Iterable[Variable]):
        self.simulation = simulation
        chosen = tuple(columns)
        self.names = tuple(column.name for column in chosen)
        self.index = np.array([column.where.start for column in chosen], int)
        self.time: list[float] = []
        self.rows: list[np.ndarray] = []

    def add(self) -> None:
        self.time.append(self.simulation.time)
        self.rows.append(self.simulation.read(self.index))

    def trajectory(self, watch: Watch) -> Trajectory:
        values = np.array(self.rows).reshape(len(self.rows), len(self.names))
        return Trajectory(np.array(self.time), self.names, values, tuple(watch.found))


def recorded(table: Variables, names: Iterable[str] | None) -> tuple[Variable, ...]:
    """The columns to record: positions and speeds of all joints and what the description names, if None."""
    joints = [n for n in table.outputs.named if n.startswith("joint.") and not n.endswith(".acceleration")]
    return table.outputs.columns([*joints, *table.own, "energy", "loop.residual"] if names is None else names)


def fixed_step(
    simulation: LiveState,
    duration: float,
    h: float,
    columns: Iterable[Variable],
    progress: Progress,
    events: Iterable[Event] = (),
) -> Trajectory:
    """Steps of length h; a shorter last one if the duration is no multiple of it."""
    if not h > 0:
        raise SimulationError(f"a step must be positive, not {h}")
    recorder, watch = Recorder(simulation, columns), Watch(simulation, events)
    recorder.add()
    begin = simulation.time
    whole = int(duration / h + SAME_TIME)
    plan = [(h, begin + (n + 1) * h) for n in range(whole)]  # no drift of time by summing
    rest = duration - whole * h
    if rest > SAME_TIME * h:
        plan.append((rest, begin + duration))
    for length, end in plan:
        saved = simulation.state if watch.events else None
        simulation.step(length, end)
        if saved is not None and watch.look(saved.time, end, _again(simulation, saved, end)) is not None:
            recorder.add()
            return recorder.trajectory(watch)
        recorder.add()
        if progress:
            progress((end - begin) / duration)
    return recorder.trajectory(watch)


def _again(simulation: LiveState, saved: State, end: float) -> Callable[[float], None]:
    """Puts a simulation at a time between two steps, by stepping there from the earlier one."""
    later = simulation.state

    def go(t: float) -> None:
        if t >= end:
            simulation.put(later)
            return
        simulation.put(saved)
        if t > saved.time:
            simulation.step(t - saved.time, t)

    return go


class Solver(Protocol):
    """Takes steps of its own length; `at(t)` gives q, v and work at a time within the last one."""

    time: float

    def advance(self) -> None: ...
    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, float]: ...


class Projected:
    """Dormand-Prince 8(5,3) on x = (q, v, work), brought back onto the constraints after every step.

    `slope(t, x)` is ẋ, `project(x)` the x to go on from, nq the number of coordinates q.
    """

    def __init__(
        self,
        slope: Callable[[float, np.ndarray], np.ndarray],
        project: Callable[[np.ndarray], np.ndarray],
        nq: int,
        start: tuple[float, np.ndarray],
        end: float,
        tolerance: float,
    ):
        self.slope, self.project, self.nq = slope, project, nq
        self.time, x = start
        self.solver: Any = DOP853(
            slope, self.time, x, end, rtol=max(tolerance, LEAST_TOLERANCE), atol=tolerance
        )

    def advance(self) -> None:
        take_step(self.solver)
        self.between = self.solver.dense_output()
        self.solver.y = self.project(self.solver.y)
        self.solver.f = self.slope(self.solver.t, self.solver.y)
        self.time = self.solver.t

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, float]:
        x = self.solver.y if t >= self.time else self.project(self.between(t))
        return x[: self.nq], x[self.nq : -1], float(x[-1])


def take_step(solver: Any) -> None:
    """One step of a solver of SciPy's, or a sentence on why there is none."""
    message = solver.step()
    if solver.status == "failed":
        raise SimulationError(f"the integrator failed at {solver.t:.6g} s: {message}; loosen the tolerance")


def underlying(simulation: LiveState, end: float, tolerance: float) -> Projected:
    """Variable steps on the underlying ODE, projected onto closed loops."""
    s, nq, kernel = simulation, simulation.tree.nq, simulation.engine.kernel

    def slope(_: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate(kernel("rates")(x[:nq], x[nq:-1], s.u, s.p))

    def project(x: np.ndarray) -> np.ndarray:
        onto = kernel("project_position")
        q = onto(onto(x[:nq], s.p), s.p)
        return np.concatenate([q, kernel("project_velocity")(q, x[nq:-1], s.p), x[-1:]])

    start = s.time, np.concatenate([s.q, s.v, [s.work]])
    return Projected(slope, project, nq, start, end, tolerance)


def variable_step(
    simulation: Recorded,
    solver: Solver,
    duration: float,
    sample: float,
    columns: Iterable[Variable],
    progress: Progress,
    events: Iterable[Event] = (),
) -> Trajectory:
    """Steps as long as the tolerance lets them be, recorded every `sample` by dense output."""
    if not sample > 0:
        raise SimulationError(f"a sampling interval must be positive, not {sample}")
    recorder, watch = Recorder(simulation, columns), Watch(simulation, events)
    recorder.add()
    begin, end = simulation.time, simulation.time + duration

    def go(t: float) -> None:
        simulation.go(t, *solver.at(t))

    times = begin + sample * np.arange(1, int(duration / sample + SAME_TIME) + 1)
    due = list(times if len(times) and abs(times[-1] - end) < SAME_TIME * sample else [*times, end])
    stop = None
    while stop is None and solver.time < end:
        before = solver.time
        solver.advance()
        if watch.events:
            go(solver.time)
            stop = watch.look(before, solver.time, go)
        until = solver.time if stop is None else stop
        while due and due[0] <= until + SAME_TIME * sample:
            go(min(due.pop(0), solver.time))
            recorder.add()
        if progress:
            progress((solver.time - begin) / duration)
    if duration:
        go(end if stop is None else stop)
    if stop is not None:
        recorder.add()
    return recorder.trajectory(watch)
