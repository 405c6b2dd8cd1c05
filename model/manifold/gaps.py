"""Which loops are open, by name."""

import numpy as np

from ..describe.mechanism import Mechanism
from ..equations.topology import Tree
from ..errors import AssemblyError


def loop_gaps(g: np.ndarray, tree: Tree) -> dict[str, float]:
    """Largest residual of each cut joint, metres or radians."""
    return {cut: float(np.abs(g[rows]).max(initial=0.0)) for cut, rows in tree.rows.items()}


def widest_gap(mechanism: Mechanism, tree: Tree, g: np.ndarray) -> str:
    """The beginning of a sentence: which loop is open the widest, and by how much."""
    gaps = loop_gaps(g, tree)
    worst = max(gaps, key=lambda name: gaps[name])
    return f"the loop of '{mechanism.name}' closed by joint '{worst}' is open by {gaps[worst]:.3g} m or rad"


def open_loop(mechanism: Mechanism, gaps: dict[str, float]) -> AssemblyError:
    """What to say of loops that can't be closed: it names the one that is open the widest."""
    worst = max(gaps, key=lambda name: gaps[name])
    joint = mechanism.joint(worst)
    return AssemblyError(
        f"mechanism '{mechanism.name}' can't be assembled: the loop closed by joint '{worst}' "
        f"({joint.parent} to {joint.child}) stays open by {gaps[worst]:.3g} m or rad; check the "
        "positions of the joints in this loop, or give 'start' coordinates nearer to a closed pose"
    )
