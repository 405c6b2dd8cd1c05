"""Newton steps that are the shortest in weighted size and stop at bounds."""

import numpy as np

from ..base.thresholds import LONGEST
from ..manifold.newton import Descent, descend, shortest
from .dimensions import Design


def close(
    design: Design,
    q: np.ndarray,
    p: np.ndarray,
    movable: np.ndarray,
    W: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    stop: float = 0.0,
) -> Descent:
    """Close the loops from (q, p) by moving what is movable."""
    natural = design.natural_weights(design.size)

    def step(at: tuple[np.ndarray, np.ndarray], g: np.ndarray, J: np.ndarray, damping: float) -> np.ndarray:
        x = design.state(*at)
        found = bounded_step(J, g, movable, W, bounds[0] - x, bounds[1] - x, damping)
        return found * LONGEST / max(np.abs(natural * found).max(), LONGEST)

    return descend(
        lambda at: design.slope(*at), (q, p), lambda at, d: design.moved(at[0], at[1], d), step, stop
    )


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
        need = -(g + J[:, ~left] @ step[~left])
        step[left] = shortest(J[:, left] / W[left], need, damping) / W[left]
        over = left & ((step < low) | (step > high))
        if not over.any():
            break
        step[over] = np.clip(step[over], low[over], high[over])
        left &= ~over
    return step
