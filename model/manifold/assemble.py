"""Close the loops: find coordinates with g(q) = 0 near a guess.

Newton's method with the pseudo-inverse, so that redundant rows and free motions are no
hindrance; where a full step does not help, it is damped (Levenberg) until it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import AssemblyError
from ..joints.types import TYPES

TOLERANCE = 1e-12
MOST_ITERATIONS = 200
LONGEST_STEP = 0.5  # radians or metres in one iteration, so that Newton does not leap to another branch


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
