"""Where a simulation starts, from the description's `start` and `speed`, in the engine's coordinates."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ..describe.mechanism import Mechanism
from ..equations.topology import Tree
from ..joints.types import TYPES


def start_coordinates(mechanism: Mechanism, tree: Tree) -> np.ndarray:
    """Guess of q: each tree joint's `start`, or the pose where its frames coincide."""
    q = np.zeros(tree.nq)
    for name, where in tree.q.items():
        joint = mechanism.joint(name)
        q[where] = joint.start or TYPES[joint.type].zero
    return q


def start_speeds(mechanism: Mechanism, tree: Tree, q: np.ndarray) -> np.ndarray:
    """Wanted v: each tree joint's `speed`."""
    v = np.zeros(tree.nv)
    for name, where in tree.v.items():
        speed = mechanism.joint(name).speed
        if speed:
            v[where] = engine_speed(mechanism, tree, q, name, np.array(speed, float))
    return v


def engine_speed(mechanism: Mechanism, tree: Tree, q: np.ndarray, name: str, speed: np.ndarray) -> np.ndarray:
    """A tree joint's speeds as the engine counts them: for reversed balls they differ."""
    v = np.zeros(tree.nv)
    v[tree.v[name]] = speed
    for move, link in tree.moves:
        if link.joint == name:
            v[link.v] = np.array(move.engine_speed(ca.DM(q[link.q]), v[link.v], link.reverse)).ravel()
    return v[tree.v[name]]
