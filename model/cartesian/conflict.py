"""When Newton's method fails: a wider search, and the constraints that exclude one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import least_squares

from .newton import newton

if TYPE_CHECKING:
    from .problem import Problem

Array = np.ndarray
NEARBY = 6  # poses tried around the start


def search(problem: Problem, start: Array, tolerance: float) -> tuple[Array | None, Array]:
    """A solution found by damped least squares around `start`, and the best pose seen."""
    system = problem.system()
    random = np.random.default_rng(0)
    best, least = start, np.inf
    for n in range(NEARBY):
        x = start + (random.normal(size=start.shape) * min(0.2 * n, 0.8) if n else 0.0)
        fit: Any = least_squares(
            lambda y: system(y[None])[0][0],
            x,
            lambda y: system(y[None])[1][0],
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
            max_nfev=300,
        )
        size = float(np.linalg.norm(fit.fun))
        if size < least:
            best, least = fit.x, size
        polished = newton(system, fit.x[None], tolerance, 20)
        if polished.converged[0] and np.abs(polished.q[0] - fit.x).max() < 1e-2:
            return polished.q[0], polished.q[0]
    return None, best


def conflict(problem: Problem, best: Array, tolerance: float) -> str:
    """One sentence that names a smallest set of constraints that can't hold together.

    Where the misfit is least, Σ Φ ∇Φ = 0, so the constraints with Φ ≠ 0 pull against one another.
    Of these, every one whose removal still leaves a conflict is dropped.
    """
    misfits = _misfits(problem, best)
    pulling = [n for n, value in misfits.items() if value > 1e-6 * max(1.0, *misfits.values())]
    kept = list(problem.constraints)
    if pulling and search(problem.only(pulling), best, tolerance)[0] is None:
        kept = pulling
    for name in list(kept):
        fewer = [n for n in kept if n != name]
        if fewer and search(problem.only(fewer), best, tolerance)[0] is None:
            kept = fewer
    names = [f"'{n}'" for n in kept]
    if len(names) == 1:
        what = f"constraint {names[0]} can't be met"
    else:
        what = f"constraints {', '.join(names[:-1])} and {names[-1]} exclude one another"
    return (
        f"assembly '{problem.name}' can't be solved: {what} (misfit {max(misfits[n] for n in kept):.3g}); "
        "change or remove one of them, or start nearer to a pose that fits"
    )


def _misfits(problem: Problem, x: Array) -> dict[str, float]:
    phi = problem.system()(x[None])[0][0]
    owners = np.array(problem.rows())
    return {n: float(np.abs(phi[owners == n]).max()) for n in problem.constraints}
