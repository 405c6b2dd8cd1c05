"""Which coordinates are independent: the user's choice, the motors', or pivoted QR's, checked in one way."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..engine import Engine
from ..errors import SimulationError
from ..manifold.rank import allowed_motions
from ..state import State
from ..thresholds import DETERMINED, OPEN, RANK, SLIP

CHARTS = ("auto", "partition", "tangent")


def chart(engine: Engine, state: State, states: Any = None) -> np.ndarray:
    """The matrix R of a chart, mobility × nv: y = R θ determines all motions (004, theorem 2.3.1).

    states : "auto" (the motors' speeds where they determine the motion, otherwise as "partition"; so
        is None), "partition" (pivoted QR), "tangent" (an orthonormal basis of the motions), joints by
        name (`boom`, `planar[2]`; a list, or one text with commas), or R itself.
    """
    K = regular_motions(engine, state)
    R = _choice(engine, state, "auto" if states is None else states, K)
    name, freedoms = engine.mechanism.name, K.shape[1]
    if R.shape != (freedoms, engine.tree.nv):
        raise SimulationError(
            f"'{name}' has {freedoms} freedom(s) here, but {R.shape[0]} independent coordinate(s) were chosen"
        )
    if _determined(R, K) < RANK:
        raise SimulationError(
            f"the chosen coordinates do not determine the motion of '{name}' at this pose; choose other "
            "joints, or 'auto'"
        )
    return R


def regular_motions(engine: Engine, state: State) -> np.ndarray:
    """A basis of the motions that the loops allow, nv × mobility; an error where there is none."""
    g, G = engine.closure(state.q, state.p)
    name, scales = engine.mechanism.name, engine.equations.scales
    if np.abs(g / scales.rows).max(initial=0) > OPEN:
        raise SimulationError(
            f"'{name}' is not assembled: its loops are open by {np.abs(g).max():.3g}; call assemble() first"
        )
    if np.linalg.norm(G @ state.v) > SLIP * np.linalg.norm(G) * np.linalg.norm(state.v):
        raise SimulationError(
            f"the speeds of '{name}' do not fit its loops; call assemble(), or set a state that does"
        )
    rank = engine.generic_rank(state.q, state.p)[0]
    K, smallest = allowed_motions(engine.unitless_jacobian(state.q, state.p), rank)
    if smallest < RANK:
        raise SimulationError(
            f"'{name}' is at a kinematic singularity (smallest singular value {smallest:.2g}, relative): "
            "no coordinates determine its motion here; move it away from this pose"
        )
    return scales.speeds[:, None] * K


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
    return one[engine.partition(state.q, state.p)[0] == 0]


def _determined(R: np.ndarray, K: np.ndarray) -> float:
    """Smallest singular value of R K: 0 where some motion leaves all chosen coordinates as they are."""
    return float(np.linalg.svd(R @ K, compute_uv=False).min(initial=1.0))


def selected(engine: Engine, state: State, wanted: Iterable[str] | None) -> list[int]:
    """The speeds that a chart of single ones picks."""
    R = chart(engine, state, None if wanted is None else list(wanted))
    return [int(k) for k in R.argmax(axis=1)]
