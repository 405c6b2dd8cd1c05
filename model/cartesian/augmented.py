"""The augmented Lagrange system (paper 001, Eq. 27), solved for numbers."""

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from ..base.thresholds import RANK, REGULARIZATION, SWEEPS

Array = np.ndarray


def cartesian_multipliers(M: Array, Cq: Array, f: Array, ddq: Array) -> Array:
    """λ of C_qᵀλ = f − M q̈ with the least norm."""
    lam: Array = np.linalg.lstsq(Cq.T, f - M @ ddq, rcond=RANK)[0]
    return lam


def solve_augmented(M: Array, Cq: Array, f: Array, c: Array) -> tuple[Array, Array]:
    """a and λ of M a + C_qᵀλ = f, C_q a = c, for any rank of C_q.

    M is singular along the Euler parameters themselves and for bodies without inertia, so the whole
    matrix is factorized, with −μ in its corner and λ carried over a few times (proximal multipliers).
    """
    n, m = len(f), len(c)
    mu = REGULARIZATION * (Cq**2).sum() / max(m, 1) * n / np.trace(M)
    K = np.zeros((n + m, n + m))
    K[:n, :n], K[:n, n:], K[n:, :n] = M, Cq.T, Cq
    K[range(n, n + m), range(n, n + m)] = -mu
    lu, pivots, _ = dgetrf(K, overwrite_a=True)
    lam = np.zeros(m)
    a = np.zeros(n)
    for _ in range(SWEEPS):
        x, _ = dgetrs(lu, pivots, np.concatenate([f, c - mu * lam]))
        a, lam = x[:n], x[n:]
    return a, lam
