"""Which loops are open, by name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..describe.mechanism import Joint, Mechanism
from ..errors import AssemblyError
from ..joints.types import TYPES
from .thresholds import OPEN


def loop_gaps(g: np.ndarray, cuts: Iterable[Joint]) -> dict[str, float]:
    """Largest residual of each cut joint, metres or radians."""
    result, at = {}, 0
    for cut in cuts:
        rows = TYPES[cut.type].rows
        result[cut.name] = float(np.abs(g[at : at + rows]).max(initial=0.0))
        at += rows
    return result


def require_closed(mechanism: Mechanism, gaps: dict[str, float]) -> None:
    """Raise unless every loop is closed, naming the one that is open the widest."""
    worst = max(gaps, key=lambda name: gaps[name], default=None)
    if worst is not None and not gaps[worst] < OPEN:
        joint = mechanism.joint(worst)
        raise AssemblyError(
            f"mechanism '{mechanism.name}' can't be assembled: the loop closed by joint '{worst}' "
            f"({joint.parent} to {joint.child}) stays open by {gaps[worst]:.3g} m or rad; check the "
            "positions of the joints in this loop, or give 'start' coordinates nearer to a closed pose"
        )
