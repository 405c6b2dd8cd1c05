"""Formulations of the underlying ODE by name: v̇ and λ from M, G, F and γ, with numbers.

All solve M v̇ = F − Gᵀλ, G v̇ = γ, and agree wherever G has its usual rank:

- `multipliers`: λ = (G M⁻¹Gᵀ)⁻¹(G M⁻¹F − γ) on independent rows (2.4), (2.5); fails at singularities;
- `null_space`: KᵀM K ẏ_v = Kᵀ(F − M K̇y_v) with K of a chart (2.43);
- `svd`: the same with K = V₂ and K̇y_v = G⁺γ from the singular value decomposition (3.5);
- `default`: proximal multipliers (`solve.py`), traced, for any rank.
"""

from typing import NamedTuple

import numpy as np

from ...model.base.errors import SimulationError
from . import thesis_charts

NAMES = ("default", "multipliers", "null_space", "svd")
# Singular values below this fraction of the largest count as zero in G⁺ (paper 004, 3.1).
SMALLEST = 1e-12


class Terms(NamedTuple):
    """M, G, F (all but the multipliers) and γ at a state; `rank` of G on the manifold."""

    M: np.ndarray
    G: np.ndarray
    F: np.ndarray
    gamma: np.ndarray
    rank: int


def on_independent_rows(t: Terms, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(2.4), (2.5) on the given independent rows; the multipliers of the others are zero."""
    from scipy.linalg import cho_factor, cho_solve  # few need them, and SciPy takes a while to import

    factor = cho_factor(t.M)
    lam = np.zeros(len(t.G))
    if len(rows):
        G = t.G[rows]
        inverse = cho_solve(factor, G.T)
        try:
            lam[rows] = np.linalg.solve(G @ inverse, inverse.T @ t.F - t.gamma[rows])
        except np.linalg.LinAlgError as problem:
            raise SimulationError(
                "the constraints lose rank at this pose and the multiplier formulation ends here; "
                "use the default formulation"
            ) from problem
    return cho_solve(factor, t.F - t.G.T @ lam), lam


def null_space(t: Terms, K: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """v̇ of (2.43) for any K with G K = 0 and any bias with G·bias = γ."""
    return K @ np.linalg.solve(K.T @ t.M @ K, K.T @ (t.F - t.M @ bias)) + bias


def least_multipliers(t: Terms, dv: np.ndarray) -> np.ndarray:
    """λ of least norm with Gᵀλ = F − M v̇."""
    return np.linalg.lstsq(t.G.T, t.F - t.M @ dv, rcond=SMALLEST)[0] if len(t.G) else np.zeros(0)


def svd(t: Terms) -> np.ndarray:
    """(3.5): V₂ spans the null space, G⁺ leaves out singular values that are zero.

    Where G loses rank the null space has more columns than the mechanism has freedoms: nothing is
    known there about the direction that is lost, so nothing is assumed. (The thesis keeps the
    number of columns; which ones it gets is then up to the SVD routine.)
    """
    if not len(t.G):
        return null_space(t, np.eye(len(t.F)), np.zeros(len(t.F)))
    U, s, Vt = np.linalg.svd(t.G)
    kept = int((s[: t.rank] > SMALLEST * s.max(initial=0.0)).sum())
    bias = Vt[:kept].T @ ((U[:, :kept].T @ t.gamma) / s[:kept])
    return null_space(t, Vt[kept:].T, bias)


def independent_rows(G: np.ndarray, rank: int) -> np.ndarray:
    """Rows that pivoted QR picks first, in order."""
    from scipy.linalg import qr  # few need it, and SciPy takes a while to import

    return np.sort(qr(G.T, mode="r", pivoting=True)[1][:rank]) if G.size else np.zeros(0, int)


def on_chart(t: Terms, chart: thesis_charts.Chart, v: np.ndarray, G_rate: np.ndarray | None) -> np.ndarray:
    """Null space formulation with K and K̇y_v of a chart."""
    return null_space(
        t, thesis_charts.motions(chart, t.G), thesis_charts.bias(chart, t.G, G_rate, v, t.gamma)
    )
