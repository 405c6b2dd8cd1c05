"""A linearly implicit step for stiff mechanisms, on the local state-space form.

A Rosenbrock method of order 3 with four stages, L-stable and stiffly accurate (RODAS3 of Sandu
and others): springs and dampers far faster than the step settle instead of blowing up. Each
stage solves with the one matrix 1/(hγ) − Â, Â exact, so there is no iteration that could fail
to converge. Every step starts a chart of its own at the present pose.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from ...state import LiveState
from .local_form import LocalForm
from .method import Method

GAMMA = 0.5
# Stage i is evaluated at y + Σ A[i][j] U_j; its right side adds Σ C[i][j]/h U_j; y' = y + Σ M[i] U_i.
A = ((), (0.0,), (2.0, 0.0), (2.0, 0.0, 1.0))
C = ((), (4.0,), (1.0, -1.0), (1.0, -1.0, -8.0 / 3.0))
M = (2.0, 0.0, 1.0, 1.0)


def advance(simulation: LiveState, h: float) -> tuple[np.ndarray, np.ndarray, float]:
    """One step of a simulation: q, v and all work so far."""
    q, v, work = step(Method(simulation), simulation.q.copy(), simulation.v.copy(), h)
    return q, v, simulation.work + work


def step(method: Method, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, float]:
    """One step: q, v and the work done meanwhile (by the trapezium of the power)."""
    form = LocalForm(method, q)
    y = form.to_local(q, v)
    matrix = lu_factor(np.eye(len(y)) / (h * GAMMA) - form.jacobian(q, v))
    U: list[np.ndarray] = []
    powers: list[float] = []
    for a, c in zip(A, C, strict=True):
        slope, power = form.rates(y + sum((x * u for x, u in zip(a, U, strict=True)), np.zeros(len(y))))
        powers.append(power)
        right = slope + sum((x / h * u for x, u in zip(c, U, strict=True)), np.zeros(len(y)))
        U.append(lu_solve(matrix, right))
    y = y + sum(m * u for m, u in zip(M, U, strict=True))
    q1, v1 = form.to_full(y)
    return q1, v1, h * 0.5 * (powers[0] + powers[-1])
