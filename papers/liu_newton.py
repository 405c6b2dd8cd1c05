"""Newton-Raphson on constraint equations (paper 000, Algorithm 1), one problem or thousands.

The printed loop runs while ‖Φ‖ < ε; it must run while ‖Φ‖ ≥ ε. Where J is not square or can't
be inverted, the Moore-Penrose inverse takes its place.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Array = np.ndarray
# Φ (n, m) and J (n, m, k) of n problems at q (n, k).
System = Callable[[Array], tuple[Array, Array]]


class Outcome(NamedTuple):
    """Where each of n problems ended."""

    q: Array  # (n, k)
    converged: Array  # (n,) bool
    steps: Array  # (n,) Newton steps taken
    residual: Array  # (n,) ‖Φ‖₂ at the end; infinite where it blew up


def newton(
    system: System, start: Array, tolerance: float = 1e-10, most: int = 100, singular: float = 0.0
) -> Outcome:
    """q ← q − J⁻¹Φ until ‖Φ‖₂ < tolerance or `most` steps are spent, for each row of `start`.

    J counts as invertible if its singular values differ by less than a factor 1/`singular`; with 0
    only a pivot of exactly zero does not, which is what a plain LU notices.
    """
    q = np.array(start, float)
    n = len(q)
    steps, residual = np.zeros(n, int), np.full(n, np.inf)
    converged = np.zeros(n, bool)
    active = np.arange(n)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(most + 1):
            phi, J = system(q[active])
            size = np.linalg.norm(phi, axis=-1)
            residual[active] = np.where(np.isfinite(size), size, np.inf)
            done = size < tolerance
            converged[active[done]] = True
            going = ~done & np.isfinite(size) & np.isfinite(J).all((-1, -2))
            if k == most or not going.any():
                break
            active = active[going]
            q[active] -= _solve(J[going], phi[going], singular)
            steps[active] += 1
    return Outcome(q, converged, steps, residual)


def _solve(J: Array, phi: Array, singular: float) -> Array:
    """J⁻¹Φ by LU where J is square and invertible, J⁺Φ elsewhere."""
    square = J.shape[-1] == J.shape[-2]
    if square and not singular:
        try:
            return np.linalg.solve(J, phi[..., None])[..., 0]
        except np.linalg.LinAlgError:
            bad = np.linalg.det(J) == 0.0
    elif square:
        values = np.linalg.svd(J, compute_uv=False)
        bad = values[..., -1] <= singular * values[..., 0]
    else:
        bad = np.ones(len(J), bool)
    step = np.empty((len(J), J.shape[-1]))
    step[bad] = (np.linalg.pinv(J[bad], rcond=max(singular, 1e-15)) @ phi[bad, :, None])[..., 0]
    if not bad.all():
        step[~bad] = np.linalg.solve(J[~bad], phi[~bad, :, None])[..., 0]
    return step
