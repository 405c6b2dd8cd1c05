"""Runs over time: fixed steps, or variable steps to a tolerance, with recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
from scipy.integrate import DOP853

from ..errors import SimulationError
from ..manifold.thresholds import LEAST_TOLERANCE, SAME_TIME
from ..state import LiveState, State
from ..variables import Variables
from .events import Event, Watch
from .trajectory import Trajectory

Progress = Callable[[float], None] | None


class Recorder:
    """Collects chosen outputs at chosen times."""

    def __init__(self, simulation: LiveState, record: Iterable[str] | None):
        self.simulation = simulation
        table = simulation.engine.variables
        wanted = record if record is not None else [*_moved(table), *table.own, "energy", "loop.residual"]
        chosen = table.outputs.columns(wanted)
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


def _moved(table: Variables) -> list[str]:
    """Positions and speeds of all joints."""
    moves = [n for n in table.outputs.named if n.startswith("joint.")]
    return [n for n in moves if n.endswith((".position", ".velocity"))]


def fixed_step(
    simulation: LiveState,
    duration: float,
    h: float,
    record: Iterable[str] | None,
    progress: Progress,
    events: Iterable[Event] = (),
) -> Trajectory:
    """Steps of length h; a shorter last one if the duration is no multiple of it."""
    if not h > 0:
        raise SimulationError(f"a step must be positive, not {h}")
    recorder, watch = Recorder(simulation, record), Watch(simulation, events)
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


class Underlying:
    """Dormand-Prince 8(5,3) on the underlying ODE, projected onto closed loops after every step."""

    def __init__(self, simulation: LiveState, end: float, tolerance: float):
        self.simulation, self.time = simulation, simulation.time
        self.nq = simulation.tree.nq
        x = np.concatenate([simulation.q, simulation.v, [simulation.work]])
        rtol = max(tolerance, LEAST_TOLERANCE)
        self.solver: Any = DOP853(self._slope, self.time, x, end, rtol=rtol, atol=tolerance)

    def _slope(self, _: float, x: np.ndarray) -> np.ndarray:
        s = self.simulation
        dq, dv, power = s.engine.kernel("rates")(x[: self.nq], x[self.nq : -1], s.u, s.p)
        return np.concatenate([dq, dv, power])

    def _project(self, x: np.ndarray) -> np.ndarray:
        p, engine = self.simulation.p, self.simulation.engine
        onto = engine.kernel("project_position")
        q = onto(onto(x[: self.nq], p), p)
        return np.concatenate([q, engine.kernel("project_velocity")(q, x[self.nq : -1], p), x[-1:]])

    def advance(self) -> None:
        message = self.solver.step()
        if self.solver.status == "failed":
            raise SimulationError(
                f"the integrator failed at {self.solver.t:.6g} s: {message}; loosen the tolerance"
            )
        self.between = self.solver.dense_output()
        self.solver.y = self._project(self.solver.y)
        self.solver.f = self._slope(self.solver.t, self.solver.y)
        self.time = self.solver.t

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, float]:
        x = self.solver.y if t >= self.time else self._project(self.between(t))
        return x[: self.nq], x[self.nq : -1], float(x[-1])


def variable_step(
    simulation: LiveState,
    solver: Solver,
    duration: float,
    sample: float,
    record: Iterable[str] | None,
    progress: Progress,
    events: Iterable[Event] = (),
) -> Trajectory:
    """Steps as long as the tolerance lets them be, recorded every `sample` by dense output."""
    if not sample > 0:
        raise SimulationError(f"a sampling interval must be positive, not {sample}")
    recorder, watch = Recorder(simulation, record), Watch(simulation, events)
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
