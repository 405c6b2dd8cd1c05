"""Stabilization by name: what keeps a numeric solution on closed loops (paper 004, 3.1.2, 3.1.3).

- `none`: nothing; g and G v drift;
- `baumgarte`: γ − 2αG v − β²g instead of γ (3.8);
- `projection`: after every step the nearest point with g = 0, G v = 0, in plain lengths (3.10);
- `energy`: projection that also restores the energy, all invariants at once.

The default formulation projects in the mass metric, inside its traced step.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...model.engine import Engine

NAMES = ("projection", "baumgarte", "energy", "none")
ALPHA = BETA = 10.0  # 1/s, as in the thesis
TOLERANCE = 1e-12
MOST_ITERATIONS = 10
NO_MOTIONS = np.zeros(0)  # which the papers' methods do not know
FARTHEST = 0.1  # of one and the speeds: a longer step of the energy projection is a singularity's doing


def target(name: str, g: np.ndarray, G: np.ndarray, v: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """What G v̇ should be."""
    return gamma - 2 * ALPHA * (G @ v) - BETA**2 * g if name == "baumgarte" else gamma


def project(engine: Engine, p: np.ndarray, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """δq = −G⁺g until g is small, then v − G⁺G v (3.10, 3.11): assembly with nothing held."""
    q = engine.assembly(q, NO_MOTIONS, p)[0]
    return q, engine.kernels.dependent_speeds(q, v, np.ones(len(v)), NO_MOTIONS, p)


def project_energy(
    invariants: Callable[..., Any],
    retract: Callable[..., Any],
    closed: Callable[..., Any],
    q: np.ndarray,
    v: np.ndarray,
    energy: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Least-norm Newton steps onto g = 0, G v = 0 and the given energy, together.

    Not the manifold's own: near a singularity the energy needs directions that its rank calls lost. Where
    the steps lead nowhere, at the singularity itself, the loops are `closed` first and the speeds scaled.
    """
    n, start = len(v), (q, v)
    for _ in range(MOST_ITERATIONS):
        h, H = invariants(q, v)
        miss = h.copy()
        miss[-1] -= energy
        if np.abs(miss[:-1]).max(initial=0.0) < TOLERANCE and abs(miss[-1]) < 1e-10 * max(1.0, abs(energy)):
            return q, v
        delta = -np.linalg.lstsq(H, miss, rcond=1e-10)[0]
        if not np.abs(delta).max() < FARTHEST * (1 + np.abs(v).max()):
            break
        q, v = retract(q, delta[:n]), v + delta[n:]
    q, v = closed(*start)
    potential, total = (float(invariants(q, x)[0][-1]) for x in (0 * v, v))
    if total > potential and energy > potential:
        v = v * np.sqrt((energy - potential) / (total - potential))
    return q, v
