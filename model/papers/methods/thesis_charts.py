"""Charts: choices of independent coordinates, and the manifold written over them.

Paper 004, 2.3 and 2.4. A chart has a reference pose r. Poses near it are q = r ⊕ d with one
number d a speed: the plain difference for turns and slides, twice the Rodrigues vector for
balls, so that ḋ = E(d) v with E(0) = 1. The independent coordinates are y_q = R d, the
independent speeds y_v = R v, linear as in (2.33); with R̄, S̄ from the inverse of (R; S)

    v = K y_v,  v̇ = K ẏ_v + K̇y_v,  K = R̄ − S̄(G S̄)⁻¹G R̄,  K̇y_v = S̄(G S̄)⁻¹γ      (2.46), (2.47)

with γ = −Ġv. Where rows of G are redundant, the inverse is the one of least squares, exact
because the rows agree.

Kinds: `partition` takes some of the speeds themselves, those that pivoted QR leaves over;
`tangent_qr` and `tangent_svd` an orthonormal basis of the tangent space; `differentiable` lets
that basis turn with the pose (Gram-Schmidt, differentiated, as Liang and Lance do);
`chosen` takes the speeds of joints the user names, the motors' if none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from ...errors import SimulationError
from ...manifold.thresholds import RANK
from ...run.local_form import ChartLost

KINDS = ("partition", "tangent_qr", "tangent_svd", "differentiable", "chosen")
DEGRADED = 0.3  # a chart is changed when its `quality` falls to this part of what it was


@dataclass(frozen=True)
class Chart:
    """A reference pose and the matrices R, R̄, S̄ of (2.33) to (2.36)."""

    kind: str
    reference: np.ndarray  # nq
    R: np.ndarray  # p × nv
    R_bar: np.ndarray  # nv × p
    S_bar: np.ndarray  # nv × rank
    quality: float  # at the reference

    @property
    def size(self) -> int:
        return self.R.shape[0]


def choose(
    kind: str, q: np.ndarray, G: np.ndarray, rank: int, coordinates: np.ndarray | None = None
) -> Chart:
    """A chart at q. `rank` is that of G on the manifold; `coordinates` are the chosen speeds."""
    n = G.shape[1]
    if kind == "partition":
        pivots = qr(G, mode="r", pivoting=True)[1] if G.size else np.arange(n)
        R_bar, S_bar = _units(n, np.sort(pivots[rank:])), _units(n, np.sort(pivots[:rank]))
    elif kind == "tangent_qr":
        Q = qr(G.T, pivoting=True)[0] if G.size else np.eye(n)
        R_bar, S_bar = Q[:, rank:], Q[:, :rank]
    elif kind in ("tangent_svd", "differentiable"):
        V = np.linalg.svd(G)[2].T if G.size else np.eye(n)
        R_bar, S_bar = V[:, rank:], V[:, :rank]
    elif kind == "chosen":
        if coordinates is None or len(coordinates) != n - rank:
            given = 0 if coordinates is None else len(coordinates)
            raise SimulationError(
                f"{n - rank} independent coordinates are needed and {given} are chosen; "
                "name joints with that many speeds in all"
            )
        R_bar, S_bar = _units(n, coordinates), _units(n, np.setdiff1d(np.arange(n), coordinates))
    else:
        raise SimulationError(f"there is no chart '{kind}'; known: {', '.join(KINDS)}")
    chart = Chart(kind, q.copy(), R_bar.T, R_bar, S_bar, _quality(G, S_bar))
    if independence(chart, G) < RANK:
        raise ChartLost(
            f"the coordinates of the '{kind}' chart do not determine this pose; "
            "choose other coordinates, or another chart"
        )
    return chart


def _units(n: int, columns: np.ndarray) -> np.ndarray:
    return np.eye(n)[:, columns]


def _quality(G: np.ndarray, S_bar: np.ndarray) -> float:
    """Smallest singular value of G S̄ over that of G: 1 for the best S̄, 0 where G S̄ loses rank.

    Remark 1 of 2.3.3.1 watches the condition of G S̄; the ratio to what G itself allows tells a
    bad chart from a pose that is nearly singular in every chart.
    """
    rank = S_bar.shape[1]
    if not rank:
        return 1.0
    best = np.linalg.svd(G, compute_uv=False)[rank - 1]
    return float(np.linalg.svd(G @ S_bar, compute_uv=False)[-1] / max(best, 1e-300))


def independence(chart: Chart, G: np.ndarray) -> float:
    """Theorem 2.3.1: how far (R; G) is from losing rank; (2.28) asks for more than zero.

    The other condition, (2.27), holds for every linear chart: ∂R/∂y is −1.
    """
    values = np.linalg.svd(np.vstack([chart.R, G]), compute_uv=False)
    return float(values[-1] / values[0])


def degraded(chart: Chart, G: np.ndarray) -> bool:
    """Whether it is time for another chart; never for coordinates the user chose."""
    return chart.kind != "chosen" and _quality(G, chart.S_bar) < DEGRADED * chart.quality


def dependent(chart: Chart, G: np.ndarray, right: np.ndarray) -> np.ndarray:
    """S̄(G S̄)⁻¹ · right."""
    if not chart.S_bar.shape[1]:
        return np.zeros((G.shape[1], *right.shape[1:]))
    return chart.S_bar @ np.linalg.lstsq(G @ chart.S_bar, right, rcond=None)[0]


def motions(chart: Chart, G: np.ndarray) -> np.ndarray:
    """K, nv × p: v = K y_v satisfies G v = 0 (2.46)."""
    if chart.kind == "differentiable":
        return _gram_schmidt(chart, G)[0]
    return chart.R_bar - dependent(chart, G, G @ chart.R_bar)


def bias(
    chart: Chart, G: np.ndarray, G_rate: np.ndarray | None, v: np.ndarray, gamma: np.ndarray
) -> np.ndarray:
    """K̇y_v, nv: what v̇ is when ẏ_v is zero (2.47). Only `differentiable` needs Ġ itself."""
    if chart.kind != "differentiable":
        return dependent(chart, G, gamma)
    if G_rate is None:
        raise AssertionError("the differentiable null space needs the rate of G")
    K, T, inverse = _gram_schmidt(chart, G)
    # Ṗ of the projector P = 1 − G⁺G, then the derivative of the QR factorization of P N0
    P = np.eye(len(v)) - inverse @ G
    half = inverse @ G_rate @ P
    X = np.linalg.solve(T.T, (-(half + half.T) @ chart.R_bar).T).T
    lower = np.tril(K.T @ X, -1)
    K_rate = K @ (lower - lower.T) + X - K @ (K.T @ X)
    return K_rate @ (K.T @ v)


def speeds(chart: Chart, G: np.ndarray, v: np.ndarray) -> np.ndarray:
    """y_v of v: R v, or Kᵀv where the basis turns with the pose."""
    return motions(chart, G).T @ v if chart.kind == "differentiable" else chart.R @ v


def _gram_schmidt(chart: Chart, G: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Orthonormal K = (1 − G⁺G) R̄ T⁻¹ with T upper triangular and positive, and G⁺."""
    rank = chart.S_bar.shape[1]
    U, s, Vt = np.linalg.svd(G, full_matrices=False)
    inverse = Vt[:rank].T @ (U[:, :rank] / s[:rank]).T
    K, T = np.linalg.qr(chart.R_bar - inverse @ (G @ chart.R_bar))
    sign = np.sign(np.diag(T))
    return K * sign, sign[:, None] * T, inverse
