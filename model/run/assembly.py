"""Closed poses by joint names: assembly, what other parameters do to a pose, consistent speeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..engine import Engine
from ..errors import AssemblyError, SimulationError
from ..manifold.assemble import close, loop_residuals, require_closed
from ..manifold.start_pose import engine_speed, start_speeds
from ..state import State


@dataclass(frozen=True)
class AssemblyReport:
    """How an assembly went: iterations, largest residual, residual of each loop, coordinates."""

    iterations: int
    residual: float
    loops: dict[str, float]
    coordinates: dict[str, list[float]]
    velocity_change: float = 0.0  # largest change that made the initial speeds consistent


def assembled(
    engine: Engine, q: np.ndarray, p: np.ndarray, free: np.ndarray | None = None
) -> tuple[np.ndarray, int, dict[str, float]]:
    """A closed pose near q, the iterations spent, the residual of each loop; an error if there is none."""
    free = np.ones(engine.tree.nv, bool) if free is None else free
    q, iterations = close(lambda q: engine.closure(q, p), engine.retract, q, free)
    residuals = loop_residuals(engine.closure(q, p)[0], engine.tree.cuts)
    require_closed(engine.mechanism, residuals)
    return q, iterations, residuals


def assemble(engine: Engine, state: State, held: Mapping[str, Any]) -> tuple[State, AssemblyReport]:
    """The state with its loops closed, joints held where told, the description's speeds made consistent."""
    tree, name = engine.tree, engine.mechanism.name
    q, free = state.q.copy(), np.ones(tree.nv, bool)
    for joint, value in held.items():
        if joint not in tree.q:
            engine.mechanism.joint(joint)
            raise SimulationError(
                f"joint '{joint}' is cut and has no coordinate to prescribe; choose another"
            )
        wanted = np.atleast_1d(np.asarray(value, float))
        where = tree.q[joint]
        if wanted.size != where.stop - where.start or not np.isfinite(wanted).all():
            raise SimulationError(f"joint '{joint}' takes {where.stop - where.start} finite coordinates")
        q[where] = wanted
        free[tree.v[joint]] = False
    q, iterations, residuals = assembled(engine, q, state.p, free)
    wanted_v = start_speeds(engine.mechanism, tree, q)
    v = engine.kernel("project_velocity")(q, wanted_v, state.p)
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise AssemblyError(
            f"the mass matrix of '{name}' is singular at this pose; "
            "give every body that can turn freely an inertia"
        )
    coordinates = {joint: q[where].tolist() for joint, where in tree.q.items()}
    change = float(np.abs(v - wanted_v).max(initial=0.0))
    report = AssemblyReport(iterations, max(residuals.values(), default=0.0), residuals, coordinates, change)
    return replace(state, q=q, v=v), report


def with_parameters(engine: Engine, state: State, values: Mapping[str, Any]) -> State:
    """The state under other values of named parameters, its loops closed anew if they opened.

    What leaves the loops' equations as they are leaves the state as it is. Otherwise the nearest
    closed pose is taken, and the nearest speeds in the mass metric that it allows.
    """
    p = engine.parameters(values, state.p)
    before, after = engine.closure(state.q, state.p), engine.closure(state.q, p)
    if all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
        return replace(state, p=p)
    q = assembled(engine, state.q, p)[0]
    return replace(state, q=q, v=engine.kernel("project_velocity")(q, state.v, p), p=p)


def consistent_speeds(engine: Engine, state: State, wanted: Mapping[str, np.ndarray]) -> np.ndarray:
    """The least speeds v that keep the loops closed, G v = 0, and give some joints of the tree theirs."""
    tree, G = engine.tree, engine.closure(state.q, state.p)[1]
    rows, values = [G], [np.zeros(len(G))]
    for name, speed in wanted.items():
        if name not in tree.v:
            engine.mechanism.joint(name)
            raise SimulationError(f"joint '{name}' is cut and has no speed to prescribe; choose another")
        where = tree.v[name]
        if speed.size != where.stop - where.start or not np.isfinite(speed).all():
            raise SimulationError(f"joint '{name}' takes {where.stop - where.start} finite speeds")
        rows.append(np.eye(tree.nv)[where])
        values.append(engine_speed(engine.mechanism, tree, state.q, name, speed))
    A, b = np.vstack(rows), np.concatenate(values)
    v = np.linalg.lstsq(A, b, rcond=None)[0]
    if np.abs(A @ v - b).max(initial=0.0) > 1e-8 * max(1.0, np.abs(b).max(initial=0.0)):
        raise SimulationError(
            f"the loops do not allow the speeds of {', '.join(wanted)} together; give fewer of them"
        )
    return v
