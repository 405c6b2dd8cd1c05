"""How a mechanism can move: rank of the loop Jacobian, mobility, redundant constraints.

Rank is a matter of the whole neighbourhood: a row that depends on others all along the
motion is redundant, one that does so at a single pose marks a singularity. So rank is taken
as the largest found at the pose and at a few nearby assembled ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr

RANK_TOLERANCE = 1e-7  # relative to the largest singular value
SAMPLES = 4
REACH = 0.02  # radians or metres away from the pose


@dataclass(frozen=True)
class Report:
    """What `cutjoint show` says of a mechanism."""

    bodies: tuple[str, ...]
    joints: tuple[tuple[str, str, str, str], ...]  # name, type, parent, child
    cuts: tuple[str, ...]
    coordinates: int
    speeds: int
    rows: int
    freedoms_structural: int  # speeds minus rows: what Grübler's count says
    rank: int  # on the manifold around the pose
    rank_here: int  # at the pose itself
    mobility: int  # speeds minus rank
    redundant: tuple[str, ...]
    singular_value: float  # smallest that belongs to the rank; 0 at a singularity

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def rank(G: np.ndarray) -> int:
    """Number of singular values above the tolerance."""
    values = singular_values(G)
    return int((values > RANK_TOLERANCE * max(values.max(initial=0.0), 1e-300)).sum())


def singular_values(G: np.ndarray) -> np.ndarray:
    return np.linalg.svd(G, compute_uv=False) if G.size else np.zeros(0)


def distance(G: np.ndarray, generic: int) -> float:
    """Smallest singular value that a regular pose would have; ∞ if there are no constraints."""
    return float(singular_values(G)[generic - 1]) if generic else float("inf")


def generic_rank(
    closure: Callable[[Any], Any], project: Callable[[Any], Any], retract: Callable[[Any, Any], Any], q: np.ndarray
) -> tuple[int, np.ndarray]:
    """Rank on the manifold around q, and a pose where it is attained.

    `project(q)` takes a nearby pose onto g = 0. Seeded, so the answer does not change.
    """
    best, pose = rank(closure(q)[1]), q
    random = np.random.default_rng(0)
    for _ in range(SAMPLES):
        G = closure(q)[1]
        if not G.size:
            break
        _, s, Vt = np.linalg.svd(G)
        here = int((s > RANK_TOLERANCE * max(s.max(initial=0.0), 1e-300)).sum())
        null = Vt[here:].T
        if not null.shape[1]:
            break
        direction = null @ random.normal(size=null.shape[1])
        other = project(retract(q, REACH * direction / max(np.abs(direction).max(), 1e-300)))
        g, G = closure(other)
        if np.isfinite(other).all() and np.abs(g).max(initial=0.0) < 1e-9 and rank(G) > best:
            best, pose = rank(G), other
    return best, pose


def redundant_rows(G: np.ndarray, generic: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of rows that follow from the others: what pivoted QR leaves over."""
    if generic == G.shape[0]:
        return ()
    _, _, order = qr(G.T, mode="economic", pivoting=True)
    return tuple(names[k] for k in sorted(order[generic:]))
