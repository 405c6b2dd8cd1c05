"""How far loops stay open, and what would close them: the answer when a change can't be absorbed."""

import numpy as np

from ..base.errors import AssemblyError
from ..base.thresholds import HELPFUL, TINY
from ..joints.rows import Across, FixedDistance, SlideDistance
from ..joints.types import TYPES
from ..manifold.gaps import what_closes
from .dimensions import Block, Design


class NotAbsorbed(AssemblyError):
    """The free variables can't close the loops after a change.

    `loops` tells how far each stays open, `helpful` which other variables would close how much of
    it (name, part from 0 to 1, size of the change they would make).
    """

    def __init__(
        self, text: str, loops: dict[str, tuple[float, str]], helpful: list[tuple[str, float, float]]
    ):
        super().__init__(text)
        self.loops, self.helpful = loops, helpful


def gaps(design: Design, q: np.ndarray, p: np.ndarray) -> dict[str, tuple[float, str]]:
    """How far each cut joint is open: metres, or radians where directions miss by more."""
    g, at, result = design.residual(q, p), 0, {}
    now = design.described(q, p)
    for cut in design.tree.cuts:
        places, turns = [0.0], [0.0]
        for lock in TYPES[cut.type].locks:
            rows = g[at : at + lock.rows]
            at += lock.rows
            if isinstance(lock, Across):
                turns += list(np.abs(rows))
            elif isinstance(lock, FixedDistance | SlideDistance):
                length = float(now.joint(cut.name).length)
                places.append(abs(np.sqrt(max(rows[0] + length**2, 0.0)) - length))
            else:
                places.append(float(np.linalg.norm(rows)))
        turned = max(turns) > max(places)
        name = design.tree.beside.get(cut.name, cut.name)
        result[name] = (float(max(turns if turned else places)), "rad" if turned else "m")
    for tie in design.tree.couplings:
        unit = TYPES[design.mechanism.joint(tie.joint).type].position_units[0]
        result[tie.name] = (float(abs(g[design.tree.rows[tie.name]][0])), unit)
    return result


def opening(design: Design, q: np.ndarray, p: np.ndarray) -> str:
    found = gaps(design, q, p)
    worst = max(found, key=lambda name: found[name][0])
    gap, unit = found[worst]
    return f"{what_closes(design.mechanism, worst)} stays open by {gap:.3g} {unit}"


def not_absorbed(
    design: Design,
    q: np.ndarray,
    p: np.ndarray,
    movable: np.ndarray,
    settled: set[int],
    W: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
) -> NotAbsorbed:
    x = design.state(q, p)
    stuck = movable & ((x <= bounds[0]) | (x >= bounds[1]))
    helpful = helpful_blocks(design, q, p, movable & ~stuck, settled, W)
    text = f"the change can't be absorbed: {opening(design, q, p)}"
    if stuck.any():
        text += f", with {', '.join(design.label(k) for k in np.flatnonzero(stuck)[:3])} at a bound"
    if helpful:
        names = ", ".join(f"{name} ({100 * part:.0f} % of it)" for name, part, _ in helpful[:3])
        text += f"; freeing more would help most here: {names}"
    else:
        text += "; no other dimension would help from here, so take a smaller change"
    return NotAbsorbed(text, gaps(design, q, p), helpful)


def helpful_blocks(
    design: Design, q: np.ndarray, p: np.ndarray, free: np.ndarray, settled: set[int], W: np.ndarray
) -> list[tuple[str, float, float]]:
    """Blocks by the part of the gap they would close to first order beyond what the free ones can."""
    g, J = design.slope(q, p)
    U, s, _ = np.linalg.svd(J[:, free] / W[free], full_matrices=False)
    # What the free ones still reach: with a step of a radian or of the mechanism's size, not more.
    reach = U[:, np.abs(U.T @ g) <= s]
    rest = g - reach @ (reach.T @ g)
    whole = max(float(np.linalg.norm(rest)), TINY)

    def gain(block: Block) -> tuple[str, float, float]:
        k = [c for c in range(block.columns.start, block.columns.stop) if not free[c] and c not in settled]
        A = J[:, k] / W[k]
        A = A - reach @ (reach.T @ A)
        y = np.linalg.lstsq(A, -rest, rcond=HELPFUL)[0] if k else np.zeros(0)
        return block.name, 1 - float(np.linalg.norm(rest + A @ y)) / whole, float(np.linalg.norm(y))

    gains = [gain(block) for block in design.blocks]
    return sorted((x for x in gains if x[1] > 0.01), key=lambda x: (-round(x[1], 2), x[2]))
