"""The discrete linear model of one step, by differentiating the step itself."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..engine import Engine
from ..manifold.stepper import StepMethod
from ..run.independent import chart
from ..run.steppers import STEPPERS
from ..state import State
from .directional import directional
from .linearize import coordinate_map, linearize, tangents
from .model import LinearModel


def discretize(
    engine: Engine, state: State, h: float, states: Any = None, step: StepMethod = STEPPERS["runge_kutta"]
) -> LinearModel:
    """x' = A x + B u of one step of length h at a state and its inputs.

    Parameters
    ----------
    engine, state : the mechanism, and the state (its inputs included) from which the step is taken.
    h : length of the step, seconds.
    states : joints whose positions and speeds become the states, or a chart, as in `linearize`.
    step : how it is taken, one of `run.steppers`.

    ∂x'/∂x and ∂x'/∂u of the very code that `step` runs, sub-steps included, carried along the manifold's
    tangents and read in the same chart at the new state.
    """
    R, speeds = at_chart = chart(engine, state, states)
    nv, nu = engine.tree.nv, len(engine.inputs)
    at = (state.q, state.v, state.z, state.work, state.u, state.p, h)
    T = tangents(engine, state, at_chart)
    n = T.shape[1]
    moved = coordinate_map(engine, state.q) @ T[:nv], T[nv : 2 * nv], T[2 * nv :]
    seeds = [np.hstack([x, np.zeros((len(x), nu))]) for x in moved]
    seeds.append(np.hstack([np.zeros((nu, n)), np.eye(nu)]))
    name, make = step.traced()
    new, (dq, dv, dz, *_) = directional(engine, name, n + nu, "q v z u", make)(at, seeds)
    turned = np.linalg.pinv(coordinate_map(engine, new[0])) @ dq
    both = np.vstack([R @ turned, R[:speeds] @ dv, dz])
    return replace(linearize(engine, state, states=at_chart), A=both[:, :n], B=both[:, n:], step=h)
