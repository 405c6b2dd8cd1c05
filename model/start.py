"""Where a simulation starts, from the description's `start` and `speed`, in the engine's coordinates."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from .description import Mechanism
from .joints import TYPES
from .topology import Tree


def start_coordinates(mechanism: Mechanism, tree: Tree) -> np.ndarray:
    """Guess of q: each tree joint's `start`, or the pose where its frames coincide."""
    q = np.zeros(tree.nq)
    for name, where in tree.q.items():
        joint = mechanism.joint(name)
        q[where] = joint.start or TYPES[joint.type].zero
    return q


def start_speeds(mechanism: Mechanism, tree: Tree, q: np.ndarray) -> np.ndarray:
    """Wanted v: each tree joint's `speed`; a reversed ball's ω is turned as `kinematics.subspace` has it."""
    v = np.zeros(tree.nv)
    for name, where in tree.v.items():
        joint = mechanism.joint(name)
        if not joint.speed:
            continue
        v[where] = joint.speed
        link = next(x for x in tree.links if x.joint == name)
        if link.reverse and "Q" in (TYPES[joint.type].moves or ()):
            w, x, y, z = q[tree.q[name]][-4:]
            ball = slice(where.stop - 3, where.stop)
            v[ball] = -Rotation.from_quat([x, y, z, w]).apply(v[ball])
    return v
