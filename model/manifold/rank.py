"""How a mechanism can move: rank of the loop Jacobian, mobility, redundant constraints.

Rank is a matter of the whole neighbourhood: a row that depends on others all along the
motion is redundant, one that does so at a single pose marks a singularity. So rank is taken
as the largest found at the pose and at a few nearby assembled ones.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ..base.thresholds import CARRIED, RANK, REACH, SAMPLES, TINY
from ..equations.terms import Equations, described_start, once
from ..equations.topology import Tree
from ..equations.traced import retraction
from .charts import unitless_jacobian
from .closing import assembly


def rank(G: np.ndarray) -> int:
    """Number of singular values above the tolerance."""
    return rank_of(np.linalg.svd(G, compute_uv=False))


def rank_of(values: np.ndarray) -> int:
    """The same of singular values."""
    return int((values > RANK * max(values.max(initial=0.0), TINY)).sum())


def distance_and_rank(G: np.ndarray, generic: int) -> tuple[float, int]:
    """Smallest singular value that a regular pose would have, ∞ without constraints; and the rank here."""
    values = np.linalg.svd(G, compute_uv=False)
    return float(values[generic - 1]) if generic else np.inf, rank_of(values)


def nearest_solution(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The shortest x that comes nearest to A x = b; directions beyond the rank of A are left out."""
    return np.linalg.lstsq(A, b, rcond=RANK)[0]


def allowed_motions(G: np.ndarray, generic: int) -> tuple[np.ndarray, float]:
    """An orthonormal basis of G v = 0, and the smallest singular value of a regular pose over the largest."""
    if not G.size:
        return np.eye(G.shape[1]), 1.0
    _, s, Vt = np.linalg.svd(G)
    return Vt[generic:].T, float(s[generic - 1] / s[0]) if generic else 1.0


def generic_rank(
    jacobian: Callable[[np.ndarray], np.ndarray],
    near: Callable[[np.ndarray, np.ndarray], np.ndarray | None],
    q: np.ndarray,
) -> tuple[int, np.ndarray]:
    """Rank on the manifold around q, and a pose where it is attained.

    `near(q, δ)` is a closed pose near q moved along δ, if there is one. Seeded: the answer stays.
    """
    G = jacobian(q)
    best, pose = rank(G), q
    null = allowed_motions(G, best)[0]
    random = np.random.default_rng(0)
    for _ in range(SAMPLES if G.size and null.size else 0):
        direction = null @ random.normal(size=null.shape[1])
        other = near(q, REACH * direction / max(np.abs(direction).max(), TINY))
        if other is not None and (found := rank(jacobian(other))) > best:
            best, pose = found, other
    return best, pose


def redundant_rows(G: np.ndarray, generic: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of rows that follow from the others: what pivoted QR leaves over."""
    if generic == G.shape[0]:
        return ()
    from scipy.linalg import qr  # few need it, and SciPy takes a while to import

    _, _, order = qr(G.T, mode="economic", pivoting=True)
    return tuple(names[k] for k in sorted(order[generic:]))


def undetermined(G: np.ndarray, tree: Tree) -> tuple[str, ...]:
    """Joints whose reactions are not unique here: those of loops that can carry a stress of their own.

    A left null vector of G, Gᵀn = 0, is a set of multipliers that does nothing to the motion; it
    runs through the cut joints where it is not zero and all tree joints of their loops. The
    reactions given are the least (`equations/least_reactions.py`).
    """
    if not G.size:
        return ()
    U, s, _ = np.linalg.svd(G)
    null = np.abs(U[:, rank_of(s) :]).max(axis=1, initial=0.0)
    found: set[str] = set()
    for cut in tree.cuts:
        if null[tree.rows[cut.name]].max(initial=0.0) > CARRIED:
            found |= set(tree.loop(cut))
    for tie in tree.couplings:
        if null[tree.rows[tie.name]].max(initial=0.0) > CARRIED:
            found |= {tie.joint, *tie.follows}
    return tuple(sorted(found))


def unique_reactions(E: np.ndarray, W: np.ndarray, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """What is unique of the force and of the moment of joints that share stresses of their loops' own.

    E and W are those of `equations/least_reactions.py`. Every z with E z = 0 may be added to the reactions,
    which it changes by W z: directions that no such z reaches are unique. World axes.
    """
    if not names:  # couplings alone: no joint shares a stress
        return {}
    _, s, Vt = np.linalg.svd(E)
    open_to = (W @ Vt[rank_of(s) :].T).reshape(len(names), 2, 3, -1)
    return {
        name: (_kept(force, "along"), _kept(moment, "about"))
        for name, (force, moment) in zip(names, open_to, strict=True)
        if max(np.abs(force).max(initial=0.0), np.abs(moment).max(initial=0.0)) > CARRIED
    }


def _kept(open_to: np.ndarray, word: str) -> str:
    """Directions of space, in words, that the columns leave alone: "all", "none", or an axis or a plane."""
    U, s, _ = np.linalg.svd(open_to)
    reached = int((s > CARRIED).sum())
    if reached in (0, 3):
        return "none" if reached else "all"
    return f"across {_axis(U[:, 0])}" if reached == 1 else f"{word} {_axis(U[:, 2])}"


def _axis(n: np.ndarray) -> str:
    """x, y or z, or the components of a direction."""
    k = int(np.abs(n).argmax())
    if np.abs(n).sum() - abs(n[k]) < CARRIED:
        return "xyz"[k]
    return "[" + ", ".join(f"{x:.3g}" for x in n * np.sign(n[k])) + "]"


@once
def grows_beside_manifold(eq: Equations) -> bool:
    """Whether G has a higher rank beside the manifold than on it, found at the described start.

    The rows of a planar loop that keep it in its plane are redundant at every pose. Those of Bricard's or
    Bennett's linkage are so on closed poses alone: a Runge-Kutta stage beside the manifold meets them as
    real constraints, which fight the others and cost the step its accuracy. There the stages are projected.
    """
    if not eq.tree.row_count:
        return False
    (start, s, p), size = described_start(eq), eq.scales.speeds
    jacobian, place, close = unitless_jacobian(eq), retraction(eq), assembly(eq)

    def near(q: np.ndarray, delta: np.ndarray) -> np.ndarray | None:
        new, _, _, closed = close(place(q, delta * size), np.ones(eq.tree.nv), s, p)
        return np.array(new).ravel() if closed else None

    def G(q: np.ndarray) -> np.ndarray:
        return np.array(jacobian(q, p))

    q = near(start, np.zeros(eq.tree.nv))
    if q is None:
        return False
    beside = np.array(place(q, REACH * size * np.random.default_rng(0).normal(size=eq.tree.nv))).ravel()
    return rank(G(beside)) > generic_rank(G, near, q)[0]
