"""Linear models a column at a time, in a loop: those of many freedoms, and of driven motions.

Written out, A of n independent speeds takes operations with the cube of n, and a compiler more than that. The
derivative along one direction (`tangent.py`) is one function, as long as the mechanism, and all columns of A,
B and T are calls of it. The motions s, ṡ and s̈ of drives are inputs, each with its column of B and D: a
position that is driven moves the closed poses, a velocity the speeds on them.
"""

from typing import Any

import casadi as ca
import numpy as np

from ..engine import Engine
from ..equations.terms import Equations
from ..run.independent import Independent, picks_speeds
from ..state import State
from .elimination import picked_speeds
from .tangent import Chart, direction, tangent


def by_columns(eq: Equations, R: Any, speeds: int | None = None) -> ca.Function:
    """(q, v, z, u, p) → (A, B) in a chart that picks speeds, as `exact.linear` gives them."""
    symbols, found, picked, count = _columns(eq, R, speeds)
    rate, dv, dz, *_ = found
    whole = ca.vertcat(rate[picked, :], dv[picked[:count], :], dz)
    n = whole.shape[0]
    return ca.Function("linear", symbols, [whole[:, :n], whole[:, n:]], ["q", "v", "z", "u", "p"], ["A", "B"])


def basis_by_columns(eq: Equations, R: Any, speeds: int | None = None) -> ca.Function:
    """(q, v, z, u, p) → T, as `exact.tangent_basis` gives it."""
    symbols, found, picked, count = _columns(eq, R, speeds)
    n = len(picked) + count
    T = ca.diagcat(ca.vertcat(*(x[:, :n] for x in found[-2:])), ca.DM.eye(eq.tree.nz))
    return ca.Function("tangent_basis", symbols, [ca.densify(T)], ["q", "v", "z", "u", "p"], ["T"])


def _columns(eq: Equations, R: Any, speeds: int | None) -> tuple[list[Any], list[Any], list[int], int]:
    """Symbols (q, v, z, u, p); (δḋ, δv̇, δż, δθ, δv) along each state and each input; what the chart picks."""
    of_row = {row: speed for speed, row in picked_speeds(R).items()}
    picked, nv = [of_row[row] for row in range(R.shape[0])], eq.tree.nv
    count = len(picked) if speeds is None else speeds
    dependent_q, dependent_v = ca.DM.ones(nv), ca.DM.ones(nv)
    dependent_q[picked], dependent_v[picked[:count]] = 0, 0
    x = direction(eq, [], Chart(dependent_q, dependent_v, count))
    q, d, v, z, u, p = x.point
    results = ca.substitute([x.rate, x.dv, x.dz, x.theta, x.v], [d], [ca.SX.zeros(nv, 1)])
    column = ca.Function("column", [q, v, z, u, p, *x.seeds], ca.cse(results))
    one, none = ca.DM.eye(nv), ca.DM(nv, eq.tree.nz + u.numel())
    at_rest, place = ca.DM(nv, count), ca.DM(nv, len(picked))
    seeds = [
        ca.horzcat(one[:, picked], at_rest, none),
        ca.horzcat(place, one[:, picked[:count]], none),
        *input_seeds(eq, len(picked) + count),
    ]
    symbols = eq.symbols("q", "v", "z", "u", "p")
    n = seeds[0].shape[1]
    found = column.map(n).call([*(ca.repmat(s, 1, n) for s in symbols), *(ca.densify(s) for s in seeds)])
    return symbols, list(found), picked, count


def input_seeds(eq: Equations, before: int) -> list[Any]:
    """(δz, δu, δp) of each internal state and each input, behind `before` columns that move none of them."""
    nz, nu = eq.tree.nz, eq.u.numel()
    dz = ca.horzcat(ca.DM(nz, before), ca.DM.eye(nz), ca.DM(nz, nu))
    du = ca.horzcat(ca.DM(nu, before + nz), ca.DM.eye(nu))
    return [dz, du, ca.DM(eq.p.numel(), before + nz + nu)]


def output_columns(
    engine: Engine, state: State, chart: Independent, rows: list[int], T: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """C and D of chosen outputs, along the perturbations T = [K 0; L K] of the states (and internal ones).

    What a driven motion moves depends on which coordinates are kept: those of a chart that picks them.
    """
    eq, nv, nu = engine.equations, engine.tree.nv, len(engine.inputs)
    dependent_q, dependent_v, _ = engine.partition(state.q, engine.motions(state.u), state.p)
    if picks_speeds(chart.R):
        dependent_q, dependent_v = 1 - chart.R.sum(axis=0), 1 - chart.R[: chart.speeds].sum(axis=0)
    speeds = int((dependent_v == 0).sum())
    kernel = engine.kernel(f"tangent{rows} of {speeds}", lambda eq: tangent(eq, rows, speeds))
    n = T.shape[1]
    states, none = T[: 2 * nv, : n - engine.tree.nz], np.zeros((2 * nv, engine.tree.nz + nu))
    seeds = [*np.split(np.hstack([states, none]), 2), *(x.full() for x in input_seeds(eq, states.shape[1]))]
    at = state.q, np.zeros(nv), state.v, state.z, dependent_q, dependent_v, state.u, state.p
    table = np.array([kernel(*at, *(seed[:, k] for seed in seeds))[3] for k in range(n + nu)]).T
    return table[:, :n], table[:, n:]
