"""Newton's method by numbers, for unknowns beside a tree's coordinates: dimensions, maximal coordinates.

The rule is that of the traced iteration (`closing.judged`); what the unknowns are, how they move and which
step is the shortest is the caller's to say.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..base.thresholds import ASSEMBLY_TRIES, OPEN
from .closing import judge_step
from .rank import nearest_solution

Array = np.ndarray
Slope = Callable[[Any], tuple[Array, Array]]  # x -> g, and J = ∂g/∂δ for a small step δ from x
Step = Callable[[Any, Array, Array, float], Array]  # x, g, J, damping -> δ


class Descent(NamedTuple):
    """Where the iteration ended."""

    x: Any
    steps: int
    history: list[float]  # ‖g‖₂ before each step and at the end
    closed: bool


def shortest(J: Array, c: Array, damping: float) -> Array:
    """The shortest δ with J δ = c, or Jᵀ(J Jᵀ + ε)⁻¹c with a damping of the mean diagonal of J Jᵀ."""
    if not damping:
        return nearest_solution(J, c)
    S = J @ J.T
    return np.asarray(J.T @ np.linalg.solve(S + damping * np.diag(S).mean() * np.eye(len(c)), c))


def plain_step(x: Any, g: Array, J: Array, damping: float) -> Array:
    return shortest(J, -g, damping)


def descend(
    slope: Slope,
    x: Any,
    moved: Callable[[Any, Array], Any] = np.add,
    step: Step = plain_step,
    stop: float = 0.0,
) -> Descent:
    """Steps from x until g is closed as far as numbers allow, or no step helps, or ‖g‖₂ ≤ stop."""
    g, J = slope(x)
    history, damping, steps, mean = [float(np.linalg.norm(g))], 0.0, 0, max(len(g), 1) ** 0.5
    for _ in range(ASSEMBLY_TRIES):
        if history[-1] <= stop:
            break
        trial = moved(x, step(x, g, J, damping))
        g_trial, J_trial = slope(trial)
        now = float(np.linalg.norm(g_trial))
        better, over, damping, count = (
            float(v) for v in judge_step(history[-1] / mean, now / mean, damping, steps)
        )
        if better:
            x, g, J = trial, g_trial, J_trial
            history[steps + 1 - (count == steps) :] = [now]
            steps = int(count)
        if over:
            break
    return Descent(x, steps, history, history[-1] / mean < OPEN)
