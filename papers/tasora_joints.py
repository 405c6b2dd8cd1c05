"""Paper 001, Table 1 and all 64 joints: rank and freedom of the lock constraint under every mask.

Each mask is set up at seeded poses where its kept rows hold, both markers and the wanted place moving,
and the rank of its rows together with |q| = 1 of both bodies is counted: 12 freedoms of two
bodies less the rank. A mask is regular if every kept row takes one.
"""

import argparse
from typing import Any

import numpy as np

from ..model.cartesian.lock import ROWS, TABLE1, Lock, Marker, masks
from ..model.joints import euler
from ..model.joints.types import LOCK_ROWS
from ..model.laws import ramp
from ..model.manifold.rank import rank_of
from . import Progress, Study, Verdict

ABOUT = "001, Table 1: the joints that the lock constraint makes, with rank and freedom of all 64 masks"
POSES = 5


def feasible(mask: str, random: np.random.Generator) -> tuple[Lock, np.ndarray, np.ndarray]:
    """A lock with moving markers, and coordinates of both bodies at which its kept rows hold at t = 0."""

    def moving() -> Marker:
        return Marker(
            ramp(random.normal(size=3), random.normal(size=3)),
            ramp(random.normal(size=4), random.normal(size=4)),
        )

    lock = Lock("lock", "one", "two", moving(), moving(), moving(), mask)
    P, S, D = (m.columns(0.0)[:, 0] for m in (lock.P, lock.S, lock.wanted))
    p2 = _unit(random.normal(size=4))
    q2 = np.concatenate([random.normal(size=3), p2])
    free = np.array([0.0 if c in mask else 1.0 for c in LOCK_ROWS])
    offset = free[:3] * random.normal(size=3)
    turn = _unit(np.concatenate([[1.0], free[3:] * random.normal(size=3)]))
    # C_θ = q̄_Δ q̄_S q̄_2 q_1 q_P − 1 has the vector part of `turn`, which is zero where a row is kept
    p1 = euler.multiply(
        p2, euler.multiply(S[3:], euler.multiply(D[3:], euler.multiply(turn, euler.conjugate(P[3:]))))
    )
    A1, A2, AS = (euler.rotation(p) for p in (p1, p2, S[3:]))
    x1 = q2[:3] + A2 @ S[:3] + A2 @ AS @ (D[:3] + offset) - A1 @ P[:3]
    return lock, np.concatenate([x1, p1]), q2


def _unit(q: np.ndarray) -> np.ndarray:
    return np.asarray(q / np.linalg.norm(q))


def rank_of_mask(mask: str, random: np.random.Generator) -> tuple[int, float, float]:
    """Rank of a mask's rows, their smallest singular value and largest residual at a feasible pose."""
    lock, q1, q2 = feasible(mask, random)
    rest = np.zeros(7)
    terms = lock.evaluate(0.0, q1, rest, q2, rest)
    lengths = np.zeros((2, 14))
    lengths[0, 3:7], lengths[1, 10:14] = 2 * q1[3:], 2 * q2[3:]
    values = np.linalg.svd(np.vstack([terms.Cq, lengths]), compute_uv=False)
    return rank_of(values) - 2, float(values[-1]), float(np.abs(terms.C).max(initial=0.0))


def study(args: argparse.Namespace, progress: Progress) -> Study:
    random = np.random.default_rng(args.seed)
    names = {mask: name for name, mask in TABLE1.items()}
    rows: list[dict[str, Any]] = []
    for k, mask in enumerate(masks()):
        found = [rank_of_mask(mask, random) for _ in range(POSES)]
        ranks = {rank for rank, _, _ in found}
        rows.append(
            {
                "mask": mask,
                "name": names.get(mask, ""),
                "rows": len(mask),
                "rank": min(ranks),
                "freedom": 6 - min(ranks),
                "smallest_singular_value": min(value for _, value, _ in found),
                "residual": max(residual for _, _, residual in found),
                "regular": ranks == {len(mask)},
            }
        )
        progress((k + 1) / 64)
    by_mask = {row["mask"]: row for row in rows}
    regular = sum(row["regular"] for row in rows)
    lines = [f"{'joint':<22}" + "".join(f"{c:>3}" for c in LOCK_ROWS) + "   rank  freedom"]
    for name, mask in TABLE1.items():
        marks = "".join("  X" if c in mask else "  ." for c in LOCK_ROWS)
        lines.append(f"{name:<22}{marks}   {by_mask[mask]['rank']:>4}  {by_mask[mask]['freedom']:>7}")
    lines += ["", f"{regular} of 64 masks are regular at {POSES} feasible poses each; masks by freedom left:"]
    for freedom in range(7):
        lines.append(
            f"  {freedom}: " + " ".join(r["mask"] or "(none)" for r in rows if r["freedom"] == freedom)
        )
    lines += [
        "",
        "x y z: position rows; i j k: rotation rows. The Oldham joint has x as its axis, the others z.",
        "{k} alone transmits rotation at constant velocity and degenerates at a bend of 180 degrees.",
    ]
    verdict = Verdict("64 joints by leaving rows out", "64", f"{regular} regular", regular == len(rows) == 64)
    data = {"rows": rows, "kept_rows": ROWS, "regular": regular}
    return Study("Tasora, Righettini: joints of the lock constraint", "\n".join(lines), data, (verdict,))
