"""Linear models of a mechanism at a state: charts, checks, names, outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import qr

from ..compile.kernel import Kernel
from ..engine import Engine
from ..equations.terms import Equations
from ..errors import SimulationError
from ..state import State
from ..variables import Variable
from . import exact as written
from .derivatives_closed import recursive_linear
from .model import LinearModel

OPEN = 1e-8  # residual beyond which a pose is not assembled
SINGULAR = 1e-6  # singular value, relative to the largest, below which a pose is singular
CHARTS = ("auto", "partition", "tangent")


def linearize(
    engine: Engine,
    state: State,
    inputs: Iterable[str] | None = None,
    outputs: Iterable[str] | None = None,
    states: Any = None,
) -> LinearModel:
    """δẋ = A δx + B δu, δy = C δx + D δu in independent coordinates, exact.

    Parameters
    ----------
    inputs : names, all inputs if None.
    outputs : output names, the description's own outputs if None, the states if it has none.
    states : joints whose positions and speeds become the states; or a chart: "auto" (motors
        where they determine the pose, else "partition"), "partition" (pivoted QR), "tangent"
        (orthonormal basis of the motions); or the chart's matrix R, p × nv.
    """
    R = chart(engine, state, states)
    at = (state.q, state.v, state.u, state.p)
    A, B = linear_kernel(engine, R)(*at)
    T = tangents(engine, state, R)
    table = engine.variables
    driven = table.inputs.columns(inputs)
    take = [column.where.start for column in driven]
    names, units = state_names(engine, R)
    own = [name for name in table.own if table.outputs.find(name).differentiable]
    if outputs is None and not own:
        C, D = np.eye(len(A)), np.zeros((len(A), len(take)))
        y_names, y_units = names, units
    else:
        chosen = table.outputs.columns(own if outputs is None else outputs, traced=True)
        C, D = _output_rows(engine, chosen, T, at)
        y_names, y_units = [y.name for y in chosen], [y.unit for y in chosen]
        D = D[:, take]
    return LinearModel(
        A,
        B[:, take],
        C,
        D,
        tuple(names),
        tuple(column.name for column in driven),
        tuple(y_names),
        tuple(units),
        tuple(column.unit for column in driven),
        tuple(y_units),
        T[: engine.tree.nv],
        tuple(speed.name for speed in table.speeds.columns()),
        state.time,
    )


def tangents(engine: Engine, state: State, R: np.ndarray) -> np.ndarray:
    """T = [K 0; L K]: the perturbations (δθ, δv) of each state, 2nv × 2p."""
    at = (state.q, state.v, state.u, state.p)
    return _kernel(engine, "tangent_basis", R)(*at)[0]


def underlying(engine: Engine, state: State, states: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """The underlying ODE's linear form A = [Df]P and its projector P, 2nv × 2nv (004, 4.4).

    P = T T⁺ projects orthogonally onto the perturbations (δθ, δv) that stay on the manifold.
    """
    R = chart(engine, state, states)
    at = (state.q, state.v, state.u, state.p)
    T, F, _ = _kernel(engine, "tangent_basis", R)(*at)
    T_plus = np.linalg.pinv(T)
    return F @ T_plus, T @ T_plus


def parameter_model(engine: Engine, state: State, states: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """How named parameters act: (δθ, δv)/δp at constant states, and δẋ/δp."""
    R = chart(engine, state, states)
    Tp, Bp = _kernel(engine, "parameter_slopes", R)(state.q, state.v, state.u, state.p)
    return Tp, Bp


def chart(engine: Engine, state: State, states: Any) -> np.ndarray:
    """The matrix R of a chart, checked: y = R θ must determine all motions (004, theorem 2.3.1)."""
    g, G = engine.closure(state.q, state.p)
    name = engine.mechanism.name
    if np.abs(g).max(initial=0) > OPEN:
        raise SimulationError(
            f"'{name}' is not assembled: its loops are open by {np.abs(g).max():.3g}; call assemble() first"
        )
    if np.abs(G @ state.v).max(initial=0) > 1e-6 * (1 + np.abs(state.v).max(initial=0)):
        raise SimulationError(
            f"the speeds of '{name}' do not fit its loops; call assemble(), or set a state that does"
        )
    rank = engine.generic_rank(state.q, state.p)[0]
    values = np.linalg.svd(G, compute_uv=False) if G.size else np.ones(1)
    if rank and values[rank - 1] < SINGULAR * values[0]:
        raise SimulationError(
            f"'{name}' is at a kinematic singularity (smallest singular value {values[rank - 1]:.2g}): "
            "it has no linear model here; move it away from this pose"
        )
    null = np.linalg.svd(G)[2][rank:].T if G.size else np.eye(engine.tree.nv)
    R = _choose(engine, states, null)
    freedom = null.shape[1]
    if R.shape != (freedom, engine.tree.nv):
        raise SimulationError(
            f"'{name}' has {freedom} freedom(s) here, but {R.shape[0]} coordinate(s) were chosen as states"
        )
    if freedom and np.linalg.svd(R @ null, compute_uv=False)[-1] < SINGULAR:
        raise SimulationError(
            f"the chosen states do not determine the motion of '{name}' at this pose; choose other joints, "
            "or states='auto'"
        )
    return R


def _choose(engine: Engine, states: Any, null: np.ndarray) -> np.ndarray:
    tree = engine.tree
    if states is None:
        states = "auto"
    if isinstance(states, str) and states not in CHARTS:
        states = [part.strip() for part in states.split(",")]
    if isinstance(states, str):
        if states == "tangent":
            return null.T.copy()
        motors = [m.joint for m in engine.mechanism.motors if m.joint in tree.v]
        if states == "auto" and len(motors) == null.shape[1]:
            R = _selection(tree.nv, [tree.v[j].start for j in motors])
            if np.linalg.svd(R @ null, compute_uv=False)[-1] > 1e-3:
                return R
        _, _, order = qr(null.T, mode="economic", pivoting=True)
        return _selection(tree.nv, sorted(order[: null.shape[1]]))
    if isinstance(states, np.ndarray) and states.ndim == 2:
        return np.asarray(states, float)
    index: list[int] = []
    for joint in states:
        if joint not in tree.v:
            engine.mechanism.joint(joint)
            raise SimulationError(
                f"joint '{joint}' is cut and has no speed of its own; choose another as a state"
            )
        index += range(tree.v[joint].start, tree.v[joint].stop)
    return _selection(tree.nv, index)


def _selection(n: int, index: list[int]) -> np.ndarray:
    R = np.zeros((len(index), n))
    R[np.arange(len(index)), index] = 1.0
    return R


def state_names(engine: Engine, R: np.ndarray) -> tuple[list[str], list[str]]:
    """Names and units of the states: positions, then speeds; y1, y2, … where R mixes joints."""
    picks = [np.flatnonzero(row) for row in R]
    if not all(len(pick) == 1 and row[pick[0]] == 1 for pick, row in zip(picks, R, strict=True)):
        names = [f"y{k + 1}" for k in range(len(R))]
        return [*names, *(f"d{name}" for name in names)], ["1"] * len(R) + ["1/s"] * len(R)
    speeds = engine.variables.speeds.columns()
    states = []
    for what in ("position", "velocity"):
        for pick in picks:
            speed = speeds[pick[0]]
            joint, bracket, part = speed.name.partition("[")
            unit = speed.unit if what == "velocity" else speed.unit.removesuffix("/s")
            states.append((f"joint.{joint}.{what}{bracket}{part}", unit))
    return [name for name, _ in states], [unit for _, unit in states]


def linear_kernel(engine: Engine, R: np.ndarray) -> Kernel:
    """The traced A and B of a chart; a selection of speeds gets code of its own."""
    return _kernel(engine, "linear", R)


def fewest_operations(eq: Equations, R: Any) -> ca.Function:
    """A and B by the road that takes fewer operations, as `cutjoint reproduce spencer-linear` counts them.

    Where R picks speeds that is the thesis' recursions, otherwise automatic differentiation.
    """
    picks = R.is_constant() and R.shape[0] > 0
    return recursive_linear(eq, R) if picks else written.linear(eq, R)


def _kernel(engine: Engine, name: str, R: np.ndarray) -> Any:
    """A traced function of `linear/exact.py` for a chart, kept with the engine's kernels.

    Selections of speeds fold into the code; any other R becomes an argument, so that a
    chart that changes from pose to pose is not traced again.
    """
    folded = bool(((R == 0) | (R == 1)).all() and (R.sum(axis=1) == 1).all())
    key = f"{name}{np.flatnonzero(R).tolist()}" if folded else f"{name}{R.shape}"

    def make(eq: Equations) -> ca.Function:
        function = fewest_operations if name == "linear" else getattr(written, name)
        chart = ca.sparsify(ca.SX(ca.DM(R))) if folded else ca.SX.sym("R", *R.shape)
        return function(eq, chart)

    found = engine.kernel(key, make)
    if folded:
        return found
    return lambda q, v, u, p: found(q, v, u, p, R)


def _output_rows(engine: Engine, wanted: tuple[Variable, ...], T: np.ndarray, at: Any) -> Any:
    """C and D of chosen outputs, by differentiating their traced expressions along the tangents."""
    rows = [column.where.start for column in wanted]

    def make(eq: Equations) -> ca.Function:
        y = engine.traced("outputs")(eq.q, eq.v, eq.u, eq.p)[rows]
        slopes = [ca.jacobian(y, eq.q) @ written.tangent_map(eq), ca.jacobian(y, eq.v), ca.jacobian(y, eq.u)]
        out = [ca.densify(x) for x in slopes]
        return ca.Function(
            "output_slopes", [eq.q, eq.v, eq.u, eq.p], out, ["q", "v", "u", "p"], ["Yq", "Yv", "Yu"]
        )

    Yq, Yv, Yu = engine.kernel(f"output_slopes{rows}", make)(*at)
    return np.hstack([Yq, Yv]) @ T, Yu
