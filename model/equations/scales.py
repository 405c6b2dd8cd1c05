"""How large a mechanism is, and what that says of its constraint rows and its speeds.

Residuals and speeds are compared with fixed numbers (`thresholds.py`), and rows are regularized in
proportion to their size. Neither may depend on the unit of length, nor on what else is in the same mechanism:
lengths are measured by the size of the bodies, and rows are grouped by cut joint and by what they
measure.
"""

from math import log10
from typing import NamedTuple

import numpy as np

from ..describe.mechanism import Mechanism
from ..joints.types import TYPES
from .topology import Tree, drive_row


class Scales(NamedTuple):
    """Of lengths, of each row of g, of displacements along each speed; and the groups of rows."""

    length: float
    rows: np.ndarray
    speeds: np.ndarray
    groups: tuple[tuple[int, ...], ...]


def scales(mechanism: Mechanism, tree: Tree) -> Scales:
    """Of a mechanism with plain numbers."""
    length = _length(mechanism)
    powers: list[int] = []
    groups: dict[tuple[str, int, bool], list[int]] = {}
    for cut in tree.cuts:
        for lock in TYPES[cut.type].locks:
            rows = range(len(powers), len(powers) + lock.rows)
            groups.setdefault((cut.name, lock.power, lock.of_speeds), []).extend(rows)
            powers += [lock.power] * lock.rows
    for coupling in tree.couplings:
        groups[(coupling.name, 0, False)] = [len(powers)]
        powers.append(int(TYPES[mechanism.joint(coupling.joint).type].position_units[0] == "m"))
    for motor in tree.driven:
        groups[(drive_row(motor), 0, False)] = [len(powers)]
        kind = mechanism.joint_type(motor)
        powers.append(int(kind is None or kind.position_units[0] == "m"))
    speeds = np.ones(tree.nv)
    for move, link in tree.moves:
        speeds[link.v] = [length if unit.startswith("m") else 1.0 for unit in move.speed_units]
    return Scales(length, length ** np.array(powers, float), speeds, tuple(map(tuple, groups.values())))


def _length(mechanism: Mechanism) -> float:
    """The power of ten nearest to the span of the largest body, so that a metre stays a metre."""
    points: dict[str, list[np.ndarray]] = {b.name: [np.asarray(b.com, float)] for b in mechanism.bodies}
    for mass in mechanism.point_masses:
        points[mass.body].append(np.asarray(mass.point, float))
    for joint in mechanism.joints:
        for body, frame in ((joint.parent, joint.on_parent), (joint.child, joint.on_child)):
            points.setdefault(body, []).append(np.asarray(frame.position, float))
        points[joint.child].append(points[joint.child][-1] + joint.radius)
    span = max(float(np.ptp(np.array(places), axis=0).max()) for places in points.values())
    return 10.0 ** round(log10(span)) if span > 0 else 1.0
