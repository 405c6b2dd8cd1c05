"""Rigid motions f = (R, p), x ↦ R x + p, and Euler parameters, over CasADi symbols (paper 004, A.1).

f takes coordinates of frame {i} to frame {j}. Numeric entries that are zero or one up to
round-off are made exactly so, because every exact zero removes operations from the code that
is traced. Rotations and products take numbers (DM) as well as symbols.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.thresholds import SNAP


class Pose(NamedTuple):
    """The rigid motion x ↦ R x + p."""

    R: Any
    p: Any


IDENTITY = Pose(ca.SX.eye(3), ca.SX.zeros(3, 1))


def snap(x: Any) -> Any:
    """The same matrix; if it is a constant, entries all but −1, 0, 1 are made exact."""
    if not x.is_constant():
        return x
    values = np.array(ca.DM(x))
    nearest = np.clip(np.round(values), -1, 1)
    exact = np.where(np.abs(values - nearest) < SNAP, nearest, values)
    return x if x.is_dense() and np.array_equal(exact, values) else ca.SX(ca.DM(exact))


def vector(x: Any) -> Any:
    """A column of CasADi scalars from a tuple of numbers or from symbols."""
    return x if isinstance(x, ca.SX) else ca.SX(ca.DM(list(x)))


def rotation(e: Any) -> Any:
    """Rotation matrix of Euler parameters e = (e0, e1, e2, e3) of any non-zero length.

    R = I + (2/eᵀe)(e0 ẽ + ẽẽ): dividing by eᵀe makes it a rotation off the unit sphere too.
    """
    e = e if isinstance(e, ca.DM) else vector(e)
    s = 2 / ca.sumsqr(e)
    w, x, y, z = e[0], e[1], e[2], e[3]
    return ca.vertcat(
        ca.horzcat(1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        ca.horzcat(s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)),
        ca.horzcat(s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)),
    )


def product(a: Any, b: Any) -> Any:
    """Quaternion product a ⊗ b: the rotation b followed, in the turned frame's parent, by a."""
    return ca.vertcat(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def conjugate(e: Any) -> Any:
    return ca.vertcat(e[0], -e[1], -e[2], -e[3])


def pose(frame: Any) -> Pose:
    """Pose of a described frame in its body."""
    e = frame.orientation
    if isinstance(e, ca.SX):
        return Pose(rotation(e), vector(frame.position))
    return Pose(snap(ca.SX(ca.DM(_matrix(e)))), vector(frame.position))


def _matrix(e: Sequence[float]) -> np.ndarray:
    """The same as `rotation` of numbers, by sums of squares: right angles come out as zeros and ones."""
    w, x, y, z = np.asarray(e, float) / np.linalg.norm(e)
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def compose(f: Pose, g: Pose) -> Pose:
    return Pose(snap(f.R @ g.R), snap(f.R @ g.p + f.p))


def inverse(f: Pose) -> Pose:
    return Pose(f.R.T, snap(-(f.R.T @ f.p)))


def about_z(angle: float) -> Any:
    """Rotation by a constant angle about z."""
    c, s = np.cos(angle), np.sin(angle)
    return snap(ca.SX(ca.DM([[c, -s, 0], [s, c, 0], [0, 0, 1]])))
