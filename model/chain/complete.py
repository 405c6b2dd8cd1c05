"""Forward kinematics of a closed chain: what is measured of some joints, made whole."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import DISAGREE, SOFT, TINY
from ..manifold.rank import allowed_motions
from ..state import State
from .core import ChainCore, ChainMotion, row_names, row_scales, seen_rank
from .inverse import joints_of
from .reach import Watch, Way, follow, nearest_pose
from .rows import Item, number_row
from .target import held_numbers


def complete(
    chain: ChainCore,
    positions: Mapping[str, Any],
    rates: Mapping[str, Any] | None,
    efforts: Mapping[str, Any] | None,
    weights: Mapping[str, float],
    tolerance: float | None,
    start: State | None,
) -> ChainMotion:
    """All joints of what some measure; see `Chain.complete`."""
    given = chain.start if start is None else start
    state = chain.released(given)
    items, t = measured(chain, positions, "position")
    require_determined(chain, state, items)
    soft = _softness(chain, items, state, weights)
    way = follow(chain, state, items, t, Watch(items, 0.0, limits=False), soft)
    most = DISAGREE if tolerance is None else tolerance
    if way.part < 1.0:
        raise SimulationError(_not_followed(chain, way, items, t, most))
    _refuse_disagreement(chain, way.state, items, way.slack, most)
    state = _with_speeds(chain, way.state, rates, weights)
    if efforts is not None:
        given = replace(given, u=_efforts(chain, given, efforts))
    slack = dict(zip(row_names(items), way.slack.tolist(), strict=True)) if soft.any() else {}
    return chain.motion(state, given, _accelerations(chain, state, given, efforts), way.residual, slack)


def measured(chain: ChainCore, values: Mapping[str, Any], what: str) -> tuple[tuple[Item, ...], np.ndarray]:
    """Rows of measured joints, cylinders or frames' coordinates, and the numbers."""
    items = tuple(number_row(chain.mechanism, name) for name in values)
    if len(set(items)) < len(items):
        raise SimulationError(f"the {what} of one joint is given twice, by its own name and another")
    return items, np.array(held_numbers(values, what))


def require_determined(chain: ChainCore, state: State, items: Sequence[Item]) -> None:
    """One sentence with the motions that rows leave open, if they leave any."""
    A = chain.freedoms(items, state)
    _, s, Vt = np.linalg.svd(A)
    left = Vt[seen_rank(s) :] if A.size else np.eye(A.shape[1])
    if not len(left):
        return
    G = chain.loop_rows(state.q, state.p)
    K, _ = allowed_motions(G, chain.free.generic_rank(state.q, np.zeros(0), state.p)[0])
    motions = "; ".join(joints_of(K @ n, chain.free.tree) for n in left)
    names = ", ".join(row_names(items)) or "nothing"
    raise SimulationError(
        f"what is measured of '{chain.mechanism.name}' ({names}) does not determine its pose: "
        f"{len(left)} motion{'s' * (len(left) > 1)} left open, of {motions}; measure these too"
    )


def _softness(
    chain: ChainCore, items: Sequence[Item], state: State, weights: Mapping[str, float]
) -> np.ndarray:
    """None where rows are as many as freedoms; otherwise compliances by weight, and least squares."""
    names = row_names(items)
    for name, weight in weights.items():
        if name not in names:
            raise SimulationError(f"a weight is given for '{name}', which is not measured")
        if not 0 < weight < np.inf:
            raise SimulationError(f"the weight of '{name}' is a positive number, not {weight}")
    if len(names) == chain.freedoms(items, state).shape[1]:
        return np.zeros(len(names))
    return np.array([SOFT / weights.get(name, 1.0) for name in names])


def suspect(chain: ChainCore, state: State, items: Sequence[Item], off: np.ndarray) -> str:
    """The sensor that most likely is wrong: the largest residual over what it can show of an own error.

    A residual r = P ε shows of the errors ε what the projector P = 1 − A A⁺ leaves; |rᵢ|/√Pᵢᵢ is the largest
    for the one that is wrong if only one is (Baarda's data snooping).
    """
    A = chain.freedoms(items, state)
    P = np.eye(len(A)) - A @ np.linalg.pinv(A)
    shown = np.sqrt(np.maximum(np.diag(P), TINY))
    likely = np.where(shown > DISAGREE, np.abs(off) / shown, 0.0)
    return row_names(items)[int(likely.argmax())]


def _refuse_disagreement(
    chain: ChainCore, state: State, items: Sequence[Item], slack: np.ndarray, most: float
) -> None:
    off = slack / row_scales(chain, items)
    if np.abs(off).max(initial=0.0) > most:
        name = suspect(chain, state, items, off)
        parts = ", ".join(f"{row} by {abs(x):.3g}" for row, x in zip(row_names(items), slack, strict=True))
        raise SimulationError(
            f"measurements of '{chain.mechanism.name}' disagree: the nearest pose is off {parts} (m or rad); "
            f"'{name}' is the most likely to be wrong"
        )


def _not_followed(chain: ChainCore, way: Way, items: Sequence[Item], t: np.ndarray, most: float) -> str:
    """Why no pose on this branch has what is measured."""
    if len(items) > chain.freedoms(items, way.state).shape[1]:
        found = nearest_pose(chain, way, items, t)
        _refuse_disagreement(chain, found.state, items, np.array(list(found.slack.values())), most)
    return (
        f"no pose of '{chain.mechanism.name}' on this branch has what is measured: the way there from the "
        f"start ends after {100 * way.part:.3g} %, where it is singular or its reach ends "
        f"(smallest singular value {chain.hold(items, way.state):.3g}); give a start nearer to it"
    )


def _with_speeds(
    chain: ChainCore, state: State, rates: Mapping[str, Any] | None, weights: Mapping[str, float]
) -> State:
    """The state with the speeds that are measured; without, the least that its loops ask for."""
    items: tuple[Item, ...] = ()
    w = soft = np.zeros(0)
    if rates is not None:
        items, w = measured(chain, rates, "speed")
        require_determined(chain, state, items)
        own = {name: x for name, x in weights.items() if name in row_names(items)}
        soft = _softness(chain, items, state, own)
    v, *_ = chain.kernel("speeds", items)(state.q, w, soft, np.zeros(0), state.p)
    return replace(state, v=v)


def _efforts(chain: ChainCore, given: State, efforts: Mapping[str, Any]) -> np.ndarray:
    u = given.u.copy()
    for name, value in efforts.items():
        found = chain.engine.variables.inputs.find(name)
        u[found.where] = held_numbers({name: value}, "effort")
    return u


def _accelerations(
    chain: ChainCore, state: State, given: State, efforts: Mapping[str, Any] | None
) -> np.ndarray:
    """v̇ that measured efforts give; without them those of joints whose measured ones keep their speeds."""
    if efforts is not None:
        there = chain.as_described(state, given)
        return np.asarray(chain.engine.kernels.dynamics(*there.at)[0])
    none = np.zeros(0)
    return np.asarray(chain.kernel("accelerations", ())(state.q, state.v, none, none, none, state.p)[0])
