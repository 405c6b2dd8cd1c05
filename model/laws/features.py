"""What a function of time does whose formula is not known: where it jumps, how short its swings are."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np

from ..base.thresholds import JUMPED, LOOKS, MOST_LOOKS, ROUNDED
from .law import Law


def features(law: Law, begin: float, end: float, spacing: float) -> tuple[tuple[float, ...], float]:
    """Times at which a law of one number jumps, and the shortest time between two turns of it.

    It is looked at `LOOKS` times, and several times in every `spacing`; what is shorter can't be seen.
    """
    if not end > begin:
        return (), inf
    count = int(np.clip(8 * (end - begin) / spacing, LOOKS, MOST_LOOKS))
    times = np.linspace(begin, end, count + 1)
    x = np.array([_value(law, t) for t in times])
    change = np.diff(x)
    size = np.abs(change)
    beside = np.maximum(np.append(size[1:], 0.0), np.append(0.0, size[:-1]))
    rough = np.flatnonzero(size > np.maximum(JUMPED * beside, ROUNDED * np.abs(x).max()))
    found = {k: t for k in rough if (t := _jump(law, times[k], times[k + 1], size[k])) is not None}
    ways = np.where(size > ROUNDED * np.abs(x).max(), np.sign(change), 0.0)
    turns = np.flatnonzero(np.diff(ways))  # cells k and k + 1 go another way
    apart = (b - a for a, b in pairwise(turns) if not {a, a + 1, b, b + 1} & found.keys())
    return tuple(sorted(found.values())), float(min(apart, default=inf) * (end - begin) / count)


def _jump(law: Law, begin: float, end: float, size: float) -> float | None:
    """When the law jumps in between: where most of the change is, however closely one looks."""
    low, high = _value(law, begin), _value(law, end)
    while begin < (t := 0.5 * (begin + end)) < end:
        middle = _value(law, t)
        if abs(middle - low) >= abs(high - middle):
            end, high = t, middle
        else:
            begin, low = t, middle
    return end if abs(high - low) >= size / 2 else None


def _value(law: Law, t: float) -> float:
    x = float(np.asarray(law.evaluate(t)[0], float).item())
    return x if np.isfinite(x) else 0.0  # whoever asks for it there says so
