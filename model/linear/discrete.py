"""The discrete linear model of one step, by differentiating the step itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..manifold.step import runge_kutta
from .exact import tangent_map
from .linearize import chart, linearize, tangents
from .model import LinearModel

if TYPE_CHECKING:
    from ..simulation import Simulation


def discretize(simulation: Simulation, h: float, states: Any = None) -> LinearModel:
    """x' = A x + B u of one Runge-Kutta step of length h at the present state and inputs.

    ∂x'/∂x and ∂x'/∂u of the very code that `step` runs (a single step, no sub-steps), carried
    along the manifold's tangents and read in the same chart at the new state.
    """
    R = chart(simulation, states)
    eq, nv, nu = simulation.equations, simulation.tree.nv, len(simulation.inputs)
    at = (simulation.q, simulation.v, [simulation.work], simulation.u, simulation.p, [h])
    step = runge_kutta(eq, 1)
    N = ca.Function("N", [eq.q], [ca.densify(tangent_map(eq))])
    T = tangents(simulation, R)
    count = T.shape[1] + nu
    seeds = [np.array(N(simulation.q)) @ T[:nv], T[nv:], np.zeros((1, T.shape[1]))]
    wide = [np.hstack([x, np.zeros((x.shape[0], nu))]) for x in seeds]
    inputs = np.hstack([np.zeros((nu, T.shape[1])), np.eye(nu)])
    rest = [np.zeros((eq.p.numel(), count)), np.zeros((1, count))]
    new = step(*at)
    slopes = step.forward(count)(*at, *new, *wide, inputs, *rest)
    turned = np.linalg.pinv(np.array(N(new[0]))) @ np.array(slopes[0])
    both = np.vstack([R @ turned, R @ np.array(slopes[1])])
    model = linearize(simulation, states=R)
    n = T.shape[1]
    return replace(model, A=both[:, :n], B=both[:, n:], step=h)
