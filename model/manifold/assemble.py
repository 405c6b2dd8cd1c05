"""Close the loops: find coordinates with g(q) = 0 near a guess.

Newton's method with the pseudo-inverse, so that redundant rows and free motions are no
hindrance; where a full step does not help, it is damped (Levenberg) until it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import AssemblyError, SimulationError
from ..joints.types import TYPES
from .start_pose import engine_speed, start_speeds

if TYPE_CHECKING:
    from ..simulation import Simulation

TOLERANCE = 1e-12
MOST_ITERATIONS = 200
LONGEST_STEP = 0.5  # radians or metres in one iteration, so that Newton does not leap to another branch


@dataclass(frozen=True)
class AssemblyReport:
    """How an assembly went: iterations, largest residual, residual of each loop, coordinates."""

    iterations: int
    residual: float
    loops: dict[str, float]
    coordinates: dict[str, list[float]]
    velocity_change: float = 0.0  # largest change that made the initial speeds consistent


def close(
    closure: Callable[[Any], Any],
    retract: Callable[[Any, Any], Any],
    q: np.ndarray,
    free: np.ndarray,
) -> tuple[np.ndarray, int]:
    """Coordinates with g = 0 and the iterations spent; raises if it does not get there.

    `closure(q)` gives (g, G), `retract(q, δ)` moves along speeds, `free` masks the speeds
    that may change.
    """
    g, G = closure(q)
    damping = 0.0
    for iteration in range(MOST_ITERATIONS):
        size = np.abs(g).max(initial=0.0)
        if size < TOLERANCE:
            return q, iteration
        delta = np.zeros(G.shape[1])
        delta[free] = _step(G[:, free], g, damping)
        length = np.abs(delta).max(initial=0.0)
        if length > LONGEST_STEP:
            delta *= LONGEST_STEP / length
        trial = retract(q, delta)
        g_trial, G_trial = closure(trial)
        if not np.isfinite(g_trial).all() or np.linalg.norm(g_trial) >= np.linalg.norm(g):
            if size < 100 * TOLERANCE:
                return q, iteration  # round-off is reached; more would be noise
            damping = max(10 * damping, 1e-8 * float(np.linalg.norm(G, 2)) ** 2)
            if damping > 1e8 * max(float(np.linalg.norm(G, 2)) ** 2, 1e-300):
                break
            continue
        q, g, G = trial, g_trial, G_trial
        damping = 0.0 if damping < 1e-6 * np.linalg.norm(G, 2) ** 2 else damping / 10
    return q, MOST_ITERATIONS


def _step(G: np.ndarray, g: np.ndarray, damping: float) -> np.ndarray:
    if damping == 0.0:
        return -np.linalg.lstsq(G, g, rcond=1e-9)[0]
    return -G.T @ np.linalg.solve(G @ G.T + damping * np.eye(len(g)), g)


def loop_residuals(g: np.ndarray, cuts: Iterable[Any]) -> dict[str, float]:
    """Largest residual of each cut joint."""
    result, at = {}, 0
    for cut in cuts:
        rows = TYPES[cut.type].rows
        result[cut.name] = float(np.abs(g[at : at + rows]).max(initial=0.0))
        at += rows
    return result


def require_closed(mechanism: Any, residuals: dict[str, float], tolerance: float = 1e-9) -> None:
    """Raise unless every loop is closed, naming the one that is open the widest."""
    worst = max(residuals, key=lambda name: residuals[name], default=None)
    if worst is not None and not residuals[worst] < tolerance:
        joint = mechanism.joint(worst)
        raise AssemblyError(
            f"mechanism '{mechanism.name}' can't be assembled: the loop closed by joint '{worst}' "
            f"({joint.parent} to {joint.child}) stays open by {residuals[worst]:.3g} m or rad; check the "
            "positions of the joints in this loop, or give 'start' coordinates nearer to a closed pose"
        )


def assemble(simulation: Simulation, prescribed: Mapping[str, Any]) -> AssemblyReport:
    """`Simulation.assemble`: close the loops from the present coordinates, then set consistent speeds."""
    q, free = simulation.q.copy(), np.ones(simulation.tree.nv, bool)
    for name, value in prescribed.items():
        if name not in simulation.tree.q:
            simulation.mechanism.joint(name)
            raise SimulationError(f"joint '{name}' is cut and has no coordinate to prescribe; choose another")
        wanted = np.atleast_1d(np.asarray(value, float))
        where = simulation.tree.q[name]
        if wanted.size != where.stop - where.start or not np.isfinite(wanted).all():
            raise SimulationError(f"joint '{name}' takes {where.stop - where.start} finite coordinates")
        q[where] = wanted
        free[simulation.tree.v[name]] = False
    q, iterations = close(simulation.closed, simulation.kernel("retraction"), q, free)
    residuals = loop_residuals(simulation.closed(q)[0], simulation.tree.cuts)
    require_closed(simulation.mechanism, residuals)
    wanted_v = start_speeds(simulation.mechanism, simulation.tree, q)
    v = simulation.kernel("project_velocity")(q, wanted_v, simulation.p)
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise AssemblyError(
            f"the mass matrix of '{simulation.mechanism.name}' is singular at this pose; "
            "give every body that can turn freely an inertia"
        )
    simulation.q[:], simulation.v[:] = q, v
    coordinates = {name: q[where].tolist() for name, where in simulation.tree.q.items()}
    change = float(np.abs(v - wanted_v).max(initial=0.0))
    return AssemblyReport(iterations, max(residuals.values(), default=0.0), residuals, coordinates, change)


def consistent_speeds(simulation: Simulation, wanted: Mapping[str, np.ndarray]) -> np.ndarray:
    """The least speeds v that keep the loops closed, G v = 0, and give some joints of the tree theirs."""
    tree, G = simulation.tree, simulation.closure()[1]
    rows, values = [G], [np.zeros(len(G))]
    for name, speed in wanted.items():
        if name not in tree.v:
            simulation.mechanism.joint(name)
            raise SimulationError(f"joint '{name}' is cut and has no speed to prescribe; choose another")
        where = tree.v[name]
        if speed.size != where.stop - where.start or not np.isfinite(speed).all():
            raise SimulationError(f"joint '{name}' takes {where.stop - where.start} finite speeds")
        rows.append(np.eye(tree.nv)[where])
        values.append(engine_speed(simulation.mechanism, tree, simulation.q, name, speed))
    A, b = np.vstack(rows), np.concatenate(values)
    v = np.linalg.lstsq(A, b, rcond=None)[0]
    if np.abs(A @ v - b).max(initial=0.0) > 1e-8 * max(1.0, np.abs(b).max(initial=0.0)):
        raise SimulationError(
            f"the loops do not allow the speeds of {', '.join(wanted)} together; give fewer of them"
        )
    return v
