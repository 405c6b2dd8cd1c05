"""Newton steps that are the shortest in weighted size, damped where needed, stopped at bounds."""

from __future__ import annotations

import numpy as np

from ..thresholds import LONGEST, RANK
from .dimensions import Design

MOST_TRIALS = 200


def close(
    design: Design,
    q: np.ndarray,
    p: np.ndarray,
    movable: np.ndarray,
    W: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    tolerance: float,
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Where Newton ends, with ‖g‖₂ before each step and at the end."""
    natural = design.natural_weights(design.size)
    g, J = design.slope(q, p)
    history, damping = [float(np.linalg.norm(g))], 0.0
    for _ in range(MOST_TRIALS):
        if history[-1] <= tolerance:
            break
        x = design.state(q, p)
        step = bounded_step(J, g, movable, W, bounds[0] - x, bounds[1] - x, damping)
        length = np.abs(natural * step).max()
        if length > LONGEST:
            step *= LONGEST / length
        trial = design.moved(q, p, step)
        g_trial, J_trial = design.slope(*trial)
        norm, top = float(np.linalg.norm(g_trial)), float(np.linalg.norm(J[:, movable] / W[movable], 2)) ** 2
        if not norm < history[-1]:
            if history[-1] < 1e-11 or damping > 1e6 * top or top == 0.0:
                break  # round-off is reached, or no step helps
            damping = max(10 * damping, 1e-6 * top)
            continue
        if history[-1] - norm < 1e-9 * history[-1] and damping > 0:
            break  # at rest where the free variables can do no more
        (q, p), g, J = trial, g_trial, J_trial
        history.append(norm)
        damping = damping / 10 if damping > 1e-6 * top else 0.0
    return q, p, history


def bounded_step(
    J: np.ndarray,
    g: np.ndarray,
    movable: np.ndarray,
    W: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    damping: float,
) -> np.ndarray:
    """The shortest step to J δ = −g within the bounds: what would pass one stops there, the rest makes up."""
    step = np.zeros(J.shape[1])
    left = movable.copy()
    while left.any():
        A, need = J[:, left] / W[left], -(g + J[:, ~left] @ step[~left])
        if damping:
            y = A.T @ np.linalg.solve(A @ A.T + damping * np.eye(len(need)), need)
        else:
            y = np.linalg.lstsq(A, need, rcond=RANK)[0]
        step[left] = y / W[left]
        over = left & ((step < low) | (step > high))
        if not over.any():
            break
        step[over] = np.clip(step[over], low[over], high[over])
        left &= ~over
    return step
