"""Runs over time: fixed steps, or variable steps to a tolerance, with recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import DOP853

from ..errors import SimulationError
from ..manifold.rank import NUMBERS, numbers
from ..papers.methods.variable import LocalSolver
from .events import Event, Watch
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..simulation import Simulation

Progress = Callable[[float], None] | None


class Recorder:
    """Collects chosen outputs at chosen times."""

    def __init__(self, simulation: Simulation, record: Iterable[str] | None):
        self.simulation = simulation
        self.names, self.index = columns(simulation, record)
        self.singular = [(k, n) for k, n in enumerate(self.names) if n in NUMBERS]
        self.time: list[float] = []
        self.rows: list[np.ndarray] = []

    def add(self) -> None:
        row = self.simulation.output_vector()[self.index]
        found = numbers(self.simulation) if self.singular else {}
        for k, name in self.singular:
            row[k] = found[name]
        self.time.append(self.simulation.time)
        self.rows.append(row)

    def trajectory(self, watch: Watch) -> Trajectory:
        values = np.array(self.rows).reshape(len(self.rows), len(self.names))
        return Trajectory(np.array(self.time), tuple(self.names), values, tuple(watch.found))


def columns(simulation: Simulation, record: Iterable[str] | None) -> tuple[list[str], np.ndarray]:
    """Scalar column names and their places in the output vector."""
    places: dict[str, list[tuple[str, int]]] = {}
    for variable in simulation.variables():
        where = range(variable.where.start, variable.where.stop)
        if variable.size == 1:
            places[variable.name] = [(variable.name, where[0])]
        else:
            places[variable.name] = [(f"{variable.name}[{k + 1}]", i) for k, i in enumerate(where)]
            places.update({name: [(name, i)] for name, i in places[variable.name]})
    places.update({name: [(name, 0)] for name in NUMBERS})
    for name, source in simulation.mechanism.outputs.items():
        if source in places:
            found = places[source]
            places[name] = [
                (name if len(found) == 1 else f"{name}[{k + 1}]", i) for k, (_, i) in enumerate(found)
            ]
    if record is None:
        wanted = [n for n in places if n.startswith("joint.") and n.endswith((".position", ".velocity"))]
        wanted += [*simulation.mechanism.outputs, "energy", "loop.residual"]
    else:
        wanted = list(record)
    chosen: list[tuple[str, int]] = []
    for name in wanted:
        if name not in places:
            raise SimulationError(
                f"'{simulation.mechanism.name}' has no output '{name}'; `cutjoint show` lists them"
            )
        chosen += places[name]
    return [name for name, _ in chosen], np.array([i for _, i in chosen], dtype=int)


def fixed_step(
    simulation: Simulation,
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
    whole = int(duration / h + 1e-9)
    plan = [(h, begin + (n + 1) * h) for n in range(whole)]  # no drift of time by summing
    rest = duration - whole * h
    if rest > 1e-9 * h:
        plan.append((rest, begin + duration))
    for length, end in plan:
        saved = simulation.state if watch.events else None
        simulation.step(length)
        simulation.time = end
        if saved is not None and watch.look(saved.time, end, _again(simulation, saved, end)) is not None:
            recorder.add()
            return recorder.trajectory(watch)
        recorder.add()
        if progress:
            progress((end - begin) / duration)
    simulation.time = begin + duration
    return recorder.trajectory(watch)


def _again(simulation: Simulation, saved: Any, end: float) -> Callable[[float], None]:
    """Puts a simulation at a time between two steps, by stepping there from the earlier one."""
    later = simulation.state

    def go(t: float) -> None:
        if t >= end:
            simulation.state = later
            return
        simulation.state = saved
        if t > saved.time:
            simulation.step(t - saved.time)
            simulation.time = t

    return go


class Underlying:
    """Dormand-Prince 8(5,3) on the underlying ODE, projected onto closed loops after every step."""

    def __init__(self, simulation: Simulation, end: float, tolerance: float):
        self.simulation, self.time = simulation, simulation.time
        self.nq = simulation.tree.nq
        x = np.concatenate([simulation.q, simulation.v, [simulation.work]])
        rtol = max(tolerance, 1e-13)
        self.solver: Any = DOP853(self._slope, self.time, x, end, rtol=rtol, atol=tolerance)

    def _slope(self, _: float, x: np.ndarray) -> np.ndarray:
        s = self.simulation
        dq, dv, power = s.kernel("rates")(x[: self.nq], x[self.nq : -1], s.u, s.p)
        return np.concatenate([dq, dv, power])

    def _project(self, x: np.ndarray) -> np.ndarray:
        p, onto = self.simulation.p, self.simulation.kernel("project_position")
        q = onto(onto(x[: self.nq], p), p)
        return np.concatenate([q, self.simulation.kernel("project_velocity")(q, x[self.nq : -1], p), x[-1:]])

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
    simulation: Simulation,
    solver: Underlying | LocalSolver,
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
        q, v, work = solver.at(t)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise SimulationError(f"the state of '{simulation.mechanism.name}' became infinite at {t:.6g} s")
        simulation.time, simulation.work = t, work
        simulation.q[:], simulation.v[:] = q, v

    times = begin + sample * np.arange(1, int(duration / sample + 1e-9) + 1)
    due = list(times if len(times) and abs(times[-1] - end) < 1e-9 * sample else [*times, end])
    stop = None
    while stop is None and solver.time < end:
        before = solver.time
        solver.advance()
        if watch.events:
            go(solver.time)
            stop = watch.look(before, solver.time, go)
        until = solver.time if stop is None else stop
        while due and due[0] <= until + 1e-12 * duration:
            go(min(due.pop(0), solver.time))
            recorder.add()
        if progress:
            progress((solver.time - begin) / duration)
    if duration:
        go(end if stop is None else stop)
        simulation.time = end if stop is None else stop
    if stop is not None:
        recorder.add()
    return recorder.trajectory(watch)
