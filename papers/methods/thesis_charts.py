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

from dataclasses import dataclass

import numpy as np

from ...model.base.errors import SimulationError
from ...model.base.thresholds import RANK
from ...model.run.local_form import ChartLost

KINDS = ("partition", "tangent_qr", "tangent_svd", "differentiable", "chosen")
DEGRADED = 0.3  # a chart is changed when its `quality` falls to this part of what it was


@dataclass(frozen=True)
class Chart:
    """A reference pose and the matrix R of (2.33), p × nv, with orthonormal rows: R̄ = Rᵀ, S̄S̄ᵀ = 1 − RᵀR."""

    kind: str
    reference: np.ndarray  # nq
    R: np.ndarray
    quality: float  # at the reference

    @property
    def size(self) -> int:
        return len(self.R)


def choose(
    kind: str, q: np.ndarray, G: np.ndarray, rank: int, coordinates: np.ndarray | None = None
) -> Chart:
    """A chart at q. `rank` is that of G on the manifold; `coordinates` are the chosen speeds."""
    from scipy.linalg import qr  # few need it, and SciPy takes a while to import

    n = G.shape[1]
    if kind == "partition":
        pivots = qr(G, mode="r", pivoting=True)[1] if G.size else np.arange(n)
        R = np.eye(n)[np.sort(pivots[rank:])]
    elif kind == "tangent_qr":
        R = qr(G.T, pivoting=True)[0].T[rank:] if G.size else np.eye(n)
    elif kind in ("tangent_svd", "differentiable"):
        R = np.linalg.svd(G)[2][rank:] if G.size else np.eye(n)
    elif kind == "chosen":
        if coordinates is None or len(coordinates) != n - rank:
            given = 0 if coordinates is None else len(coordinates)
            raise SimulationError(
                f"{n - rank} independent coordinates are needed and {given} are chosen; "
                "name joints with that many speeds in all"
            )
        R = np.eye(n)[coordinates]
    else:
        raise SimulationError(f"there is no chart '{kind}'; known: {', '.join(KINDS)}")
    if independence(R, G) < RANK:
        raise ChartLost(
            f"the coordinates of the '{kind}' chart do not determine this pose; "
            "choose other coordinates, or another chart"
        )
    return Chart(kind, q.copy(), R, _quality(G, R))


def _quality(G: np.ndarray, R: np.ndarray) -> float:
    """Smallest singular value of G S̄ over that of G: 1 for the best S̄, 0 where G S̄ loses rank.

    Remark 1 of 2.3.3.1 watches the condition of G S̄; the ratio to what G itself allows tells a
    bad chart from a pose that is nearly singular in every chart.
    """
    rank = R.shape[1] - len(R)
    if not rank:
        return 1.0
    mine, best = (np.linalg.svd(x, compute_uv=False)[rank - 1] for x in (G - G @ R.T @ R, G))
    return float(mine / max(best, 1e-300))


def independence(R: np.ndarray, G: np.ndarray) -> float:
    """Theorem 2.3.1: how far (R; G) is from losing rank; (2.28) asks for more than zero.

    The other condition, (2.27), holds for every linear chart: ∂R/∂y is −1.
    """
    values = np.linalg.svd(np.vstack([R, G]), compute_uv=False)
    return float(values[-1] / values[0]) if values.size else 1.0


def degraded(chart: Chart, G: np.ndarray) -> bool:
    """Whether it is time for another chart; never for coordinates the user chose."""
    return chart.kind != "chosen" and _quality(G, chart.R) < DEGRADED * chart.quality


def _both(chart: Chart, G: np.ndarray, of_R: np.ndarray, of_G: np.ndarray) -> np.ndarray:
    """x with R x and G x as given: S̄(G S̄)⁻¹ of (2.46) and (2.47) in one."""
    return np.linalg.lstsq(np.vstack([chart.R, G]), np.concatenate([of_R, of_G]), rcond=None)[0]


def motions(chart: Chart, G: np.ndarray) -> np.ndarray:
    """K, nv × p: v = K y_v satisfies G v = 0 (2.46)."""
    if chart.kind == "differentiable":
        return _gram_schmidt(chart, G)[0]
    return _both(chart, G, np.eye(chart.size), np.zeros((len(G), chart.size)))


def bias(
    chart: Chart, G: np.ndarray, G_rate: np.ndarray | None, v: np.ndarray, gamma: np.ndarray
) -> np.ndarray:
    """K̇y_v, nv: what v̇ is when ẏ_v is zero (2.47). Only `differentiable` needs Ġ itself."""
    if chart.kind != "differentiable":
        return _both(chart, G, np.zeros(chart.size), gamma)
    if G_rate is None:
        raise AssertionError("the differentiable null space needs the rate of G")
    K, T, inverse = _gram_schmidt(chart, G)
    # Ṗ of the projector P = 1 − G⁺G, then the derivative of the QR factorization of P N0
    P = np.eye(len(v)) - inverse @ G
    half = inverse @ G_rate @ P
    X = np.linalg.solve(T.T, (-(half + half.T) @ chart.R.T).T).T
    lower = np.tril(K.T @ X, -1)
    K_rate = K @ (lower - lower.T) + X - K @ (K.T @ X)
    return K_rate @ (K.T @ v)


def speeds(chart: Chart, G: np.ndarray, v: np.ndarray) -> np.ndarray:
    """y_v of v: R v, or Kᵀv where the basis turns with the pose."""
    return motions(chart, G).T @ v if chart.kind == "differentiable" else chart.R @ v


def _gram_schmidt(chart: Chart, G: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Orthonormal K = (1 − G⁺G) R̄ T⁻¹ with T upper triangular and positive, and G⁺."""
    rank = chart.R.shape[1] - chart.size
    U, s, Vt = np.linalg.svd(G, full_matrices=False)
    inverse = Vt[:rank].T @ (U[:, :rank] / s[:rank]).T
    K, T = np.linalg.qr(chart.R.T - inverse @ (G @ chart.R.T))
    sign = np.sign(np.diag(T))
    return K * sign, sign[:, None] * T, inverse
