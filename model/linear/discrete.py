"""The discrete linear model of one step, by differentiating the step itself."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..engine import Engine
from ..manifold.step import unjudged
from ..run.independent import chart
from ..state import State
from .directional import directional
from .linearize import coordinate_map, linearize, tangents
from .model import LinearModel


def discretize(engine: Engine, state: State, h: float, states: Any = None) -> LinearModel:
    """x' = A x + B u of one Runge-Kutta step of length h at a state and its inputs.

    ∂x'/∂x and ∂x'/∂u of the very code that `step` runs (a single step, no sub-steps), carried
    along the manifold's tangents and read in the same chart at the new state.
    """
    R, speeds = at_chart = chart(engine, state, states)
    nv, nu = engine.tree.nv, len(engine.inputs)
    at = (state.q, state.v, state.work, state.u, state.p, h)
    T = tangents(engine, state, at_chart)
    n = T.shape[1]
    inner = slice(engine.tree.nq - engine.tree.nz, engine.tree.nq)
    moved = coordinate_map(engine, state.q) @ T[:nv], T[nv : 2 * nv]
    moved[0][inner] += T[2 * nv :]
    dq, dv = (np.hstack([x, np.zeros((len(x), nu))]) for x in moved)
    du = np.hstack([np.zeros((nu, n)), np.eye(nu)])
    new, slopes = directional(engine, "unjudged", n + nu, "q v u", unjudged)(at, [dq, dv, du])
    turned = np.linalg.pinv(coordinate_map(engine, new[0])) @ slopes[0]
    both = np.vstack([R @ turned, R[:speeds] @ slopes[1], slopes[0][inner]])
    return replace(linearize(engine, state, states=at_chart), A=both[:, :n], B=both[:, n:], step=h)
