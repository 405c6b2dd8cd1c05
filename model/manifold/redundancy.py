"""Rows that follow from the others on the manifold only.

The rows of a planar loop that keep it in its plane are redundant at every pose. Those of Bricard's or
Bennett's linkage are so on closed poses alone: a Runge-Kutta stage beside the manifold meets them as real
constraints, which fight the others and cost the step its accuracy. There the stages are projected.
"""

from __future__ import annotations

import numpy as np

from ..describe import parameters
from ..equations.terms import Equations, once, retraction
from ..equations.topology import start_coordinates
from ..thresholds import REACH
from .charts import unitless_jacobian
from .closing import assembly
from .rank import generic_rank, rank


@once
def grows_beside_manifold(eq: Equations) -> bool:
    """Whether G has a higher rank beside the manifold than on it, found at the described start."""
    if not eq.tree.cuts:
        return False
    p, size = parameters.default_vector(eq.described), eq.scales.speeds
    jacobian, place, close = unitless_jacobian(eq), retraction(eq), assembly(eq)

    def near(q: np.ndarray, delta: np.ndarray) -> np.ndarray | None:
        new, _, _, closed = close(place(q, delta * size), np.ones(eq.tree.nv), p)
        return np.array(new).ravel() if closed else None

    def G(q: np.ndarray) -> np.ndarray:
        return np.array(jacobian(q, p))

    q = near(start_coordinates(eq.described, eq.tree), np.zeros(eq.tree.nv))
    if q is None:
        return False
    beside = np.array(place(q, REACH * size * np.random.default_rng(0).normal(size=eq.tree.nv))).ravel()
    return rank(G(beside)) > generic_rank(G, near, q)[0]
