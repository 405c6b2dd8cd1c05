"""When Newton's method fails: a wider search, and the constraints that exclude one another."""

from collections.abc import Callable, Mapping

import numpy as np

from ..base.thresholds import CARRIED
from ..manifold.newton import Slope, descend

Array = np.ndarray
NEARBY = 6  # poses tried around the start


def search(slope: Slope, start: Array) -> tuple[Array | None, Array]:
    """A solution found from poses around `start`, and the pose of least misfit."""
    random = np.random.default_rng(0)
    starts = start + np.linspace(0, 0.8, NEARBY)[:, None] * random.normal(size=(NEARBY, len(start)))
    found = [descend(slope, x) for x in starts]
    solution = next((end.x for end in found if end.closed), None)
    return solution, min(found, key=lambda end: end.history[-1]).x


def conflict(misfits: Mapping[str, float], solvable: Callable[[list[str]], bool]) -> str:
    """The part of a sentence that names a smallest set of constraints that can't hold together.

    Where the misfit is least, Σ Φ ∇Φ = 0, so the constraints with Φ ≠ 0 pull against one another.
    Of these, every one whose removal still leaves a conflict is dropped. `solvable` tells whether
    some constraints alone can be met.
    """
    pulling = [n for n, value in misfits.items() if value > CARRIED * max(1.0, *misfits.values())]
    kept = pulling if pulling and not solvable(pulling) else list(misfits)
    for name in list(kept):
        fewer = [n for n in kept if n != name]
        if fewer and not solvable(fewer):
            kept = fewer
    names = [f"'{n}'" for n in kept]
    if len(names) == 1:
        what = f"constraint {names[0]} can't be met"
    else:
        what = f"constraints {', '.join(names[:-1])} and {names[-1]} exclude one another"
    return f"{what} (misfit {max(misfits[n] for n in kept):.3g})"
