"""Linear models of a mechanism at a state: charts, checks, names, outputs."""

from collections.abc import Iterable
from typing import Any

import casadi as ca
import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import LONG_TREE
from ..compile.kernel import Kernel
from ..describe.motors import tells_motion
from ..engine import Engine
from ..equations.terms import Equations
from ..equations.traced import dynamics
from ..run.independent import Independent, chart, picks_speeds
from ..state import State
from . import exact as written
from .columns import basis_by_columns, by_columns, output_columns
from .directional import directional
from .model import LinearModel


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
    engine, state : the mechanism, and the state (its inputs included) around which it is linearized.
    inputs : names, all inputs if None.
    outputs : output names, the description's own outputs if None, the states if it has none.
    states : joints whose positions and speeds become the states, or a chart: see `run/independent.py`.
    """
    chosen_states = chart(engine, state, states)
    if len(chosen_states.R):
        A, B = linear_kernel(engine, chosen_states)(*state.at)
        T = tangents(engine, state, chosen_states)
    else:  # nothing can move: only what inputs do to outputs at once is left
        A, B, T = np.zeros((0, 0)), np.zeros((0, len(state.u))), np.zeros((2 * engine.tree.nv, 0))
    table = engine.variables
    driven = table.inputs.columns(inputs)
    take = [column.where.start for column in driven]
    names, units = state_names(engine, chosen_states)
    inner = [column for name in engine.tree.z for column in table.outputs.columns([name])]
    names, units = [*names, *(x.name for x in inner)], [*units, *(x.unit for x in inner)]
    own = [name for name in table.own if table.outputs.find(name).differentiable]
    C: np.ndarray
    D: np.ndarray
    if outputs is None and not own:
        C, D = np.eye(len(A)), np.zeros((len(A), len(take)))
        y_names, y_units = names, units
    else:
        chosen = table.outputs.columns(own if outputs is None else outputs, traced=True)
        rows = [column.where.start for column in chosen]
        C, D = output_columns(engine, state, chosen_states, rows, T)
        y_names, y_units = [y.name for y in chosen], [y.unit for y in chosen]
        D = D[:, take]
    named = tuple(names), tuple(u.name for u in driven), tuple(y_names)
    measured = tuple(units), tuple(u.unit for u in driven), tuple(y_units)
    joints = tuple(speed.name for speed in table.speeds.columns())
    return LinearModel(A, B[:, take], C, D, *named, *measured, T[: engine.tree.nv], joints, state.time)


def tangents(engine: Engine, state: State, chart: Independent) -> np.ndarray:
    """T = [K 0; L K]: the perturbations (δθ, δv) of each state, and of internal ones; 2nv + nz rows."""
    return np.asarray(chart_kernel(engine, "tangent_basis", chart)(*state.at))


def underlying_model(engine: Engine, state: State, states: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """The underlying ODE's linear form A = [Df]P and its projector P, 2nv × 2nv (004, 4.4).

    P = T T⁺ projects orthogonally onto the perturbations (δθ, δv) that stay on the manifold.
    """
    T = tangents(engine, state, chart(engine, state, states))
    T = T[: 2 * engine.tree.nv, : T.shape[1] - engine.tree.nz]
    T_plus = np.linalg.pinv(T)
    return underlying_slopes(engine, state, T) @ T_plus, T @ T_plus


def underlying_slopes(engine: Engine, state: State, T: np.ndarray) -> np.ndarray:
    """(δḋ, δv̇) of the underlying ODE for perturbations (δθ, δv), the columns of T."""
    eq, (theta, dv) = engine.equations, np.split(T, 2)
    half = np.array(ca.Function("half", [eq.v], [0.5 * written.bracket(eq, eq.v)])(state.v))
    seeds = [coordinate_map(engine, state.q) @ theta, dv]
    along = directional(engine, "dynamics", T.shape[1], "q v", dynamics)
    _, (slopes, _) = along(state.at, seeds)
    return np.vstack([dv - half @ theta, slopes])


def coordinate_map(engine: Engine, q: np.ndarray) -> np.ndarray:
    """N(q) with q̇ = N v."""
    return np.asarray(engine.kernel("tangent_map", _map)(q))


def _map(eq: Equations) -> ca.Function:
    return ca.Function("tangent_map", [eq.q], [ca.densify(written.tangent_map(eq))], ["q"], ["N"])


def state_names(engine: Engine, chart: Independent) -> tuple[list[str], list[str]]:
    """Names and units of the states: positions, then speeds; y1, y2, … where R mixes joints."""
    R, count = chart
    picks = [np.flatnonzero(row) for row in R]
    if not all(len(pick) == 1 and row[pick[0]] == 1 for pick, row in zip(picks, R, strict=True)):
        names = [f"y{k + 1}" for k in range(len(R))]
        return [*names, *(f"d{name}" for name in names[:count])], ["1"] * len(R) + ["1/s"] * count
    speeds = engine.variables.speeds.columns()
    states = []
    for what, chosen in (("position", picks), ("velocity", picks[:count])):
        for pick in chosen:
            speed = speeds[pick[0]]
            joint, bracket, part = speed.name.partition("[")
            unit = speed.unit if what == "velocity" else speed.unit.removesuffix("/s")
            states.append((f"joint.{joint}.{what}{bracket}{part}", unit))
    return [name for name, _ in states], [unit for _, unit in states]


def linear_kernel(engine: Engine, chart: Independent) -> Kernel:
    """The traced A and B of a chart; a selection of speeds gets code of its own."""
    return chart_kernel(engine, "linear", chart)


def fewest_operations(eq: Equations, R: Any, speeds: int | None = None) -> ca.Function:
    """A and B written out where they have few numbers, and otherwise column by column (`columns.py`)."""
    return (by_columns if looped(eq, R) else written.linear)(eq, R, speeds)


def fewest_of_basis(eq: Equations, R: Any, speeds: int | None = None) -> ca.Function:
    """T, written out or column by column."""
    return (basis_by_columns if looped(eq, R) else written.tangent_basis)(eq, R, speeds)


def looped(eq: Equations, R: Any) -> bool:
    """Whether columns are computed in a loop: there are too many, or inputs move the poses themselves."""
    return large(eq, R) or any(map(tells_motion, eq.mechanism.drives))


def large(eq: Equations, R: Any) -> bool:
    """Whether matrices of a chart are too many numbers for code that writes each of them out."""
    return bool(R.is_constant() and R.shape[0] * eq.tree.nv > LONG_TREE**2)


def chart_kernel(engine: Engine, name: str, chart: Independent) -> Any:
    """A traced function of `linear/exact.py` for a chart, kept with the engine's kernels.

    Selections of speeds fold into the code; any other R becomes an argument, so that a
    chart that changes from pose to pose is not traced again.
    """
    R, speeds = chart
    folded = picks_speeds(R)
    if not folded and any(map(tells_motion, engine.mechanism.drives)):
        raise SimulationError(
            f"'{engine.mechanism.name}' has driven motions: the states of its linear model are joints; "
            "choose joints by name, or 'partition'"
        )
    key = f"{name}{np.flatnonzero(R).tolist()}" if folded else f"{name}{R.shape}"
    key += f"-{speeds}" if speeds < len(R) else ""

    def make(eq: Equations) -> ca.Function:
        function = fewest_operations if name == "linear" else fewest_of_basis
        return function(eq, ca.sparsify(ca.SX(ca.DM(R))) if folded else ca.SX.sym("R", *R.shape), speeds)

    found = engine.kernel(key, make)
    if folded:
        return found
    return lambda *at: found(*at, R)
