"""Exact derivatives of one step at many places at once, for gradient methods.

Every direction is a lane of its own: the derivative of the traced step along it (`Function.forward`), with
the places repeated. No difference is taken and no equation is written again. Lanes don't branch: where the
step is done again in sub-steps, or starts from rest, its derivative is taken by itself.
"""

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..engine import Engine
from ..equations.terms import Equations
from ..linear.directional import directional
from ..manifold.step import single_step
from ..run.steppers import STEPPERS
from .kernels import BatchKernel

ALONG = "plain step along a direction"


class StepJacobians(NamedTuple):
    """Of x' = f(x, u, p), a step with x = (q, v, z), a matrix a place: A = ∂x'/∂x, B = ∂x'/∂u, P = ∂x'/∂p."""

    A: np.ndarray  # (n, nx, nx)
    B: np.ndarray  # (n, nx, nu)
    P: np.ndarray  # (n, nx, np)


def step_along(eq: Equations) -> ca.Function:
    """(q, v, z, u, p, h, δq, δv, δz, δu, δp) → (δq', δv', δz'): a plain step's slope along a direction."""
    q, v, z, u, p, h = at = eq.symbols("q", "v", "z", "u", "p", "h")
    seeds = [ca.MX.sym(f"d{name}", x.numel()) for name, x in zip("qvzup", at, strict=False)]
    dq, dv, dz, du, dp = seeds
    step, work = single_step(eq), ca.MX.zeros(1)
    # what comes out is not needed to differentiate
    empty = [ca.MX(step.size1_out(k), 1) for k in range(step.n_out())]
    none = ca.MX.zeros(1)
    found = step.forward(1)(q, v, z, work, u, p, h, *empty, dq, dv, dz, none, du, dp, none)
    return ca.Function("along", [*at, *seeds], [ca.densify(x) for x in found[:3]])


def step_jacobians(
    engine: Engine,
    q: Any,
    v: Any,
    u: Any = None,
    p: Any = None,
    step: float = 1e-3,
    workers: int | None = None,
    z: Any = None,
) -> StepJacobians:
    """Derivatives of a Runge-Kutta step as it is taken at (q, v, z), a row each, by x, u and p.

    Parameters
    ----------
    engine : the mechanism.
    q, v : coordinates and speeds, a row a place.
    u, p, z : inputs, parameters, internal states, a row a place or one for all; u and z are zero, p the
        description's if None.
    step : its length, seconds.
    workers : threads; as many as there are processors if None.
    """
    q, v = np.atleast_2d(np.asarray(q, float)), np.atleast_2d(np.asarray(v, float))
    n = len(q)
    u = np.zeros(len(engine.inputs)) if u is None else u
    p = engine.parameters({}) if p is None else p
    z = np.zeros(engine.tree.nz) if z is None else z
    z, u, p = (np.broadcast_to(np.asarray(x, float), (n, np.shape(x)[-1])) for x in (z, u, p))
    sizes = [x.shape[1] for x in (q, v, z, u, p)]
    total, nx = sum(sizes), sum(sizes[:3])
    directions = np.split(np.tile(np.eye(total), (n, 1)), np.cumsum(sizes)[:-1], axis=1)
    places = (np.repeat(x, total, axis=0) for x in (q, v, z, u, p))
    kernel = BatchKernel(engine, ALONG, step_along)
    found = np.hstack(kernel(*places, [step], *directions, workers=workers)).reshape(n, total, nx)
    found = found.transpose(0, 2, 1)
    plain = BatchKernel(engine, "unjudged", single_step)
    error = plain(q, v, z, [0.0], u, p, [step], workers=workers)[4][:, 0]
    resting = np.all(v == 0, axis=1) if engine.tree.cuts else np.zeros(n, bool)
    name, make = STEPPERS["runge_kutta"].traced()
    for k in np.flatnonzero((error > 1) | resting):
        seeds = np.split(np.eye(total), np.cumsum(sizes)[:-1])
        along = directional(engine, name, total, "q v z u p", make)
        found[k] = np.vstack(along((q[k], v[k], z[k], 0.0, u[k], p[k], step), seeds)[1][:3])
    A, B, P = np.split(found, [nx, nx + sizes[3]], axis=2)
    return StepJacobians(A, B, P)
