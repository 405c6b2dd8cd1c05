"""Which coordinates are independent: the user's choice, the motors', or pivoted QR's, checked in one way."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import DETERMINED, OPEN, RANK, SLIP
from ..engine import Engine
from ..manifold.rank import allowed_motions
from ..state import State

CHARTS = ("auto", "partition", "tangent")


class Independent(NamedTuple):
    """A matrix R, coordinates × nv: y = R θ determines all poses, and its first `speeds` rows all motions.

    Both are as many as the mobility, unless velocity constraints leave fewer speeds independent.
    """

    R: np.ndarray
    speeds: int


def chart(engine: Engine, state: State, states: Any = None) -> Independent:
    """Independent coordinates and speeds at a state (004, theorem 2.3.1).

    states : "auto" (the motors' speeds where they determine the motion, otherwise as "partition"; so
        is None), "partition" (pivoted QR), "tangent" (an orthonormal basis of the motions), joints by
        name (`boom`, `planar[2]`; a list, or one text with commas), or R itself. Where velocity constraints
        leave more coordinates than speeds, the speeds come first; coordinates not given are pivoted QR's.
    """
    if isinstance(states, Independent):
        return states
    K, poses = regular_motions(engine, state)
    R = _choice(engine, state, "auto" if states is None else states, K)
    name, nv, freedoms = engine.mechanism.name, engine.tree.nv, K.shape[1]
    if R.shape not in ((freedoms, nv), (poses.shape[1], nv)):
        raise SimulationError(
            f"'{name}' has {freedoms} degree(s) of freedom here, but "
            f"{R.shape[0]} independent coordinate(s) were chosen"
        )
    if _determined(R[:freedoms], K) >= RANK:
        R = np.vstack([R, _beside(R, poses, engine.equations.scales.speeds)])
        if _determined(R, poses) >= RANK:
            return Independent(R, freedoms)
    raise SimulationError(
        f"the chosen coordinates do not determine the motion of '{name}' at this pose; choose other "
        "joints, or 'auto'"
    )


def _beside(R: np.ndarray, poses: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Single coordinates which, beside R, determine all poses: pivoted QR's among what R leaves open."""
    one = np.eye(len(poses))
    count = poses.shape[1] - len(R)
    if not count:
        return one[:0]
    from scipy.linalg import null_space, qr  # few need them, and SciPy takes a while to import

    left = poses @ null_space(R @ poses)  # poses that R does not tell apart
    return one[np.sort(qr((left / size[:, None]).T, mode="r", pivoting=True)[1][:count])]


def picks(dependent_q: np.ndarray, dependent_v: np.ndarray) -> tuple[np.ndarray, int]:
    """R and `speeds` of a chart of single ones: coordinates whose speeds are independent come first."""
    both, alone = np.flatnonzero(dependent_v == 0), np.flatnonzero((dependent_q == 0) & (dependent_v != 0))
    return np.eye(len(dependent_q))[[*both, *alone]], len(both)


def picks_speeds(R: np.ndarray) -> bool:
    """Whether a chart is made of single coordinates."""
    return bool(((R == 0) | (R == 1)).all() and (R.sum(axis=1) == 1).all())


def regular_motions(engine: Engine, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Bases of the motions that all rows allow, and of those that keep loops closed; an error without them.

    The second has more columns where there are velocity constraints.
    """
    s = engine.motions(state.u)
    g, _ = engine.closure(state.q, s, state.p)
    name, scales = engine.mechanism.name, engine.equations.scales
    if np.abs(g / scales.rows).max(initial=0) > OPEN:
        raise SimulationError(
            f"'{name}' is not assembled: its loops are open by {np.abs(g).max():.3g}; call assemble() first"
        )
    slip, size = engine.slip(state.q, state.v, s, state.p)
    if np.linalg.norm(slip) > SLIP * size:
        raise SimulationError(
            f"the speeds of '{name}' do not fit its loops; call assemble(), or set a state that does"
        )
    ranks, J = engine.ranks(state.q, s, state.p), engine.unitless_jacobian(state.q, state.p)
    K, smallest = allowed_motions(J, ranks.speeds)
    poses, least = allowed_motions(J[np.array(engine.tree.holds_poses, bool)], ranks.poses)
    smallest = min(smallest, least)
    if smallest < RANK:
        raise SimulationError(
            f"'{name}' is at a kinematic singularity (smallest singular value {smallest:.2g}, relative): "
            "no coordinates determine its motion here; move it away from this pose"
        )
    return scales.speeds[:, None] * K, scales.speeds[:, None] * poses


def _choice(engine: Engine, state: State, states: Any, K: np.ndarray) -> np.ndarray:
    if isinstance(states, np.ndarray) and states.ndim == 2:
        return np.asarray(states, float)
    if isinstance(states, str) and states not in CHARTS:
        states = [part.strip() for part in states.split(",")]
    one = np.eye(engine.tree.nv)
    if not isinstance(states, str):
        return one[engine.variables.speeds.rows(states)]
    if states == "tangent":
        return K.T.copy()
    motors = [engine.tree.v[m.joint].start for m in engine.mechanism.motors if m.joint in engine.tree.v]
    if states == "auto" and len(motors) == K.shape[1] and _determined(one[motors], K) > DETERMINED:
        return one[motors]
    return picks(*engine.partition(state.q, engine.motions(state.u), state.p)[:2])[0]


def _determined(R: np.ndarray, K: np.ndarray) -> float:
    """Smallest singular value of R K: 0 where some motion leaves all chosen coordinates as they are."""
    return float(np.linalg.svd(R @ K, compute_uv=False).min(initial=1.0))


def selected_coordinates(engine: Engine, state: State, wanted: Iterable[str] | None) -> tuple[list[int], int]:
    """The coordinates that a chart of single ones picks, and how many of them, the first, are speeds too."""
    R, speeds = chart(engine, state, None if wanted is None else list(wanted))
    return [int(row.argmax()) for row in R], speeds
