"""Linear models of mechanisms with driven motions: derivatives of the lift itself (`manifold/tangent.py`).

A position that is driven moves the closed poses, a velocity the speeds on them: what depends on the states
depends on the motions too, by the implicit function theorem. s, ṡ and s̈ are inputs of their own, each with
its column of B and D.
"""

import casadi as ca
import numpy as np

from ..engine import Engine
from ..equations.prescribed import motion_places
from ..equations.terms import Equations
from ..errors import SimulationError
from ..manifold.tangent import tangent
from ..run.independent import Independent
from ..state import State


def model_along_motions(
    engine: Engine, state: State, chart: Independent
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, B of all inputs, and C, D of all traced outputs."""
    R, speeds = chart
    picked = R.argmax(axis=1)
    if not np.array_equal(R, np.eye(engine.tree.nv)[picked]):
        raise SimulationError(
            f"'{engine.mechanism.name}' has driven motions: the states of its linear model are joints; "
            "choose joints by name, or 'partition'"
        )

    def make(eq: Equations) -> ca.Function:
        return tangent(eq, engine.traced("outputs"))

    kernel = engine.kernel("tangent of all", make)
    nv, nu, places = engine.tree.nv, len(engine.inputs), motion_places(engine.mechanism)
    free, free_v = np.ones((2, nv))
    free[picked], free_v[picked[:speeds]] = 0.0, 0.0
    at = state.q, np.zeros(nv), state.v, free, free_v, state.u, state.p
    nz, moving = engine.tree.nz, len(picked) + speeds
    n = moving + nz
    columns = []
    for k in range(n + nu):
        seeds = d, v, z, u, p = [np.zeros(size) for size in (nv, nv, nz, nu, state.p.size)]
        if k < len(picked):
            d[picked[k]] = 1.0
        elif k < moving:
            v[picked[k - len(picked)]] = 1.0
        elif k < n:
            z[k - moving] = 1.0
        elif k - n in places:
            p[state.p.size - len(places) + places.index(k - n)] = 1.0
        else:
            u[k - n] = 1.0
        rate, dv, dz, y, _ = kernel(*at, *seeds)
        columns.append(np.concatenate([rate[picked], dv[picked[:speeds]], dz, y]))
    table = np.array(columns).T
    return table[:n, :n], table[:n, n:], table[n:, :n], table[n:, n:]
