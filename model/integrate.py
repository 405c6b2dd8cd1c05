"""Runs over time: fixed steps, or variable steps to a tolerance, with recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import DOP853

from .errors import SimulationError
from .trajectory import Trajectory

if TYPE_CHECKING:
    from .simulation import Simulation

Progress = Callable[[float], None] | None


class Recorder:
    """Collects chosen outputs at chosen times."""

    def __init__(self, simulation: Simulation, record: Iterable[str] | None):
        self.simulation = simulation
        self.names, self.index = columns(simulation, record)
        self.singular = [k for k, n in enumerate(self.names) if n == "singularity.distance"]
        self.time: list[float] = []
        self.rows: list[np.ndarray] = []

    def add(self) -> None:
        row = self.simulation.output_vector()[self.index]
        for k in self.singular:
            row[k] = self.simulation.singularity_distance()
        self.time.append(self.simulation._time)
        self.rows.append(row)

    def trajectory(self) -> Trajectory:
        values = np.array(self.rows).reshape(len(self.rows), len(self.names))
        return Trajectory(np.array(self.time), tuple(self.names), values)


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
    places["singularity.distance"] = [("singularity.distance", 0)]
    for name, source in simulation.mechanism.outputs.items():
        if source in places:
            found = places[source]
            places[name] = [(name if len(found) == 1 else f"{name}[{k + 1}]", i) for k, (_, i) in enumerate(found)]
    if record is None:
        wanted = [n for n in places if n.startswith("joint.") and n.endswith((".position", ".velocity"))]
        wanted += list(simulation.mechanism.outputs) + ["energy", "loop.residual"]
    else:
        wanted = list(record)
    chosen: list[tuple[str, int]] = []
    for name in wanted:
        if name not in places:
            raise SimulationError(f"'{simulation.mechanism.name}' has no output '{name}'; `cutjoint show` lists them")
        chosen += places[name]
    return [name for name, _ in chosen], np.array([i for _, i in chosen], dtype=int)


def fixed_step(
    simulation: Simulation, duration: float, h: float, record: Iterable[str] | None, progress: Progress
) -> Trajectory:
    """Steps of length h; a shorter last one if the duration is no multiple of it."""
    if not h > 0:
        raise SimulationError(f"a step must be positive, not {h}")
    recorder = Recorder(simulation, record)
    recorder.add()
    begin = simulation._time
    whole = int(duration / h + 1e-9)
    for n in range(whole):
        simulation.step(h)
        simulation._time = begin + (n + 1) * h  # no drift of time by summing
        recorder.add()
        if progress:
            progress((n + 1) * h / duration)
    rest = duration - whole * h
    if rest > 1e-9 * h:
        simulation.step(rest)
        recorder.add()
    simulation._time = begin + duration
    return recorder.trajectory()


def variable_step(
    simulation: Simulation,
    duration: float,
    sample: float,
    tolerance: float,
    record: Iterable[str] | None,
    progress: Progress,
) -> Trajectory:
    """Dormand-Prince 8(5,3) on the underlying ODE, projected onto closed loops after every step."""
    if not sample > 0:
        raise SimulationError(f"a sampling interval must be positive, not {sample}")
    nq, nv = simulation.tree.nq, simulation.tree.nv
    rates, onto_q = simulation._kernel("rates"), simulation._kernel("project_position")
    onto_v = simulation._kernel("project_velocity")
    u, p = simulation._u, simulation._p

    def slope(_: float, x: np.ndarray) -> np.ndarray:
        dq, dv, power = rates(x[:nq], x[nq : nq + nv], u, p)
        return np.concatenate([dq, dv, power])

    def project(x: np.ndarray) -> np.ndarray:
        q = onto_q(onto_q(x[:nq], p), p)
        return np.concatenate([q, onto_v(q, x[nq : nq + nv], p), x[nq + nv :]])

    def put(t: float, x: np.ndarray) -> None:
        if not np.isfinite(x).all():
            raise SimulationError(f"the state of '{simulation.mechanism.name}' became infinite at {t:.6g} s")
        simulation._time, simulation._work = t, float(x[-1])
        simulation._q[:], simulation._v[:] = x[:nq], x[nq : nq + nv]

    recorder = Recorder(simulation, record)
    recorder.add()
    begin, end = simulation._time, simulation._time + duration
    x = np.concatenate([simulation._q, simulation._v, [simulation._work]])
    if duration == 0:
        return recorder.trajectory()
    solver: Any = DOP853(slope, begin, x, end, rtol=max(tolerance, 1e-13), atol=tolerance)
    times = begin + sample * np.arange(1, int(duration / sample + 1e-9) + 1)
    due = list(times if len(times) and abs(times[-1] - end) < 1e-9 * sample else [*times, end])
    while solver.status == "running":
        message = solver.step()
        if solver.status == "failed":
            raise SimulationError(f"the integrator failed at {solver.t:.6g} s: {message}; loosen the tolerance")
        between = solver.dense_output() if due and due[0] <= solver.t else None
        solver.y = project(solver.y)
        solver.f = slope(solver.t, solver.y)
        while due and due[0] <= solver.t + 1e-12 * duration:
            t = due.pop(0)
            put(t, solver.y if between is None or t >= solver.t else project(between(t)))
            recorder.add()
        if progress:
            progress((solver.t - begin) / duration)
    put(end, solver.y)
    return recorder.trajectory()
