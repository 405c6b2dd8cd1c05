"""Closed poses by joint names: assembly, what other parameters do to a pose, consistent speeds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..engine import Engine
from ..errors import AssemblyError, SimulationError
from ..manifold.gaps import loop_gaps, open_loop
from ..state import State
from ..variables import Table


@dataclass(frozen=True)
class AssemblyReport:
    """How an assembly went: steps, largest residual, residual of each loop, coordinates."""

    iterations: int
    residual: float
    loops: dict[str, float]
    coordinates: dict[str, list[float]]


def assembled(
    engine: Engine, q: np.ndarray, p: np.ndarray, free: np.ndarray | None = None
) -> tuple[np.ndarray, int, dict[str, float]]:
    """A closed pose near q, the steps it took, the residual of each loop; an error if there is none."""
    found = engine.assembly(q, p, free)
    gaps = loop_gaps(found.g, engine.tree)
    if not found.closed:
        raise open_loop(engine.mechanism, gaps)
    return found.q, found.steps, gaps


def assemble(engine: Engine, state: State, held: Mapping[str, Any]) -> tuple[State, AssemblyReport]:
    """The state with its loops closed, joints held where told, and the description's speeds."""
    tree = engine.tree
    q, free = state.q.copy(), np.ones(tree.nv)
    for joint, value in held.items():
        q[_place(engine.variables.positions, joint, value)] = value
        free[tree.v[joint]] = 0.0
    q, steps, gaps = assembled(engine, q, state.p, free)
    wanted = {j.name: np.array(j.speed) for j in engine.mechanism.joints if j.speed and j.name in tree.v}
    v = consistent_speeds(engine, replace(state, q=q), wanted)
    if not (np.isfinite(v).all() and (engine.kernel("mass_pivots")(q, state.p) > 0).all()):
        raise AssemblyError(
            f"the mass matrix of '{engine.mechanism.name}' is singular at this pose; "
            "give every body that can turn freely an inertia"
        )
    coordinates = {joint: q[where].tolist() for joint, where in tree.q.items()}
    return replace(state, q=q, v=v), AssemblyReport(steps, max(gaps.values(), default=0.0), gaps, coordinates)


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
    """The least speeds v that keep the loops closed and give some joints of the tree theirs, exactly."""
    s, held = np.zeros(engine.tree.nv), np.zeros(engine.tree.nv)
    for joint, speed in wanted.items():
        where = _place(engine.variables.speeds, joint, speed)
        s[where], held[where] = speed, 1.0
    v, fits = engine.kernel("start_speeds")(state.q, s, held, state.p)
    if not fits[0]:
        raise SimulationError(
            f"the loops do not allow the speeds of {', '.join(wanted)} together; give fewer of them"
        )
    return v


def _place(table: Table, joint: str, value: Any) -> slice:
    """Where a tree joint's numbers are, if these are the right ones."""
    own, given = table.whole(joint), np.atleast_1d(np.asarray(value, float))
    if given.size != own.size or not np.isfinite(given).all():
        what = "speeds" if own.kind == "speed" else "coordinates"
        raise SimulationError(f"joint '{joint}' takes {own.size} finite {what}")
    return own.where
