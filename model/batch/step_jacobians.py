"""Exact derivatives of one step at many places at once, for gradient methods.

Every direction is a lane of its own: the derivative of the traced step along it (`Function.forward`), with
the places repeated. No difference is taken and no equation is written again.
"""

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..engine import Engine
from ..equations.terms import Equations
from ..manifold.step import unjudged
from .kernels import BatchKernel

ALONG = "plain step along a direction"


class StepSlopes(NamedTuple):
    """Of x' = f(x, u, p), a step with x = (q, v), a matrix a place: A = ∂x'/∂x, B = ∂x'/∂u, P = ∂x'/∂p."""

    A: np.ndarray
    B: np.ndarray
    P: np.ndarray


def step_along(eq: Equations) -> ca.Function:
    """(q, v, u, p, h, δq, δv, δu, δp) → (δq', δv'): the derivative of a plain step along a direction."""
    q, v, u, p, h = at = eq.symbols("q", "v", "u", "p", "h")
    dq, dv, du, dp = (ca.MX.sym(f"d{name}", x.numel()) for name, x in zip("qvup", at, strict=False))
    step, work = unjudged(eq), ca.MX.zeros(1)
    # what comes out is not needed to differentiate
    empty = [ca.MX(step.size1_out(k), 1) for k in range(step.n_out())]
    found = step.forward(1)(q, v, work, u, p, h, *empty, dq, dv, ca.MX.zeros(1), du, dp, ca.MX.zeros(1))
    return ca.Function("along", [*at, dq, dv, du, dp], [ca.densify(x) for x in found[:2]])


def step_slopes(
    engine: Engine,
    q: Any,
    v: Any,
    u: Any = None,
    p: Any = None,
    step: float = 1e-3,
    workers: int | None = None,
) -> StepSlopes:
    """Derivatives of a single Runge-Kutta step with its projections at (q, v), a row each, by all of x, u, p.

    u and p may be one row for all; zero and the description's if None.
    """
    q, v = np.atleast_2d(np.asarray(q, float)), np.atleast_2d(np.asarray(v, float))
    n = len(q)
    u = np.zeros(len(engine.inputs)) if u is None else u
    p = engine.parameters({}) if p is None else p
    u, p = (np.broadcast_to(np.asarray(x, float), (n, np.shape(x)[-1])) for x in (u, p))
    sizes = [x.shape[1] for x in (q, v, u, p)]
    total, nx = sum(sizes), sizes[0] + sizes[1]
    directions = np.split(np.tile(np.eye(total), (n, 1)), np.cumsum(sizes)[:-1], axis=1)
    places = (np.repeat(x, total, axis=0) for x in (q, v, u, p))
    kernel = BatchKernel(engine, ALONG, step_along)
    found = np.hstack(kernel(*places, [step], *directions, workers=workers)).reshape(n, total, nx)
    A, B, P = np.split(found.transpose(0, 2, 1), [nx, nx + sizes[2]], axis=2)
    return StepSlopes(A, B, P)
