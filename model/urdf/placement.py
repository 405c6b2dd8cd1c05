"""Where a frame is: rotation and position as numbers, composed with @, from and to what files write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from ..base.thresholds import SNAP
from ..describe.drawing import euler_parameters, orientation
from ..describe.mechanism import Frame


class PlacedFrame(NamedTuple):
    """The frame whose axes are the columns of R and whose origin is p, both in the outer frame's axes."""

    R: np.ndarray
    p: np.ndarray

    def __matmul__(self, inner: PlacedFrame) -> PlacedFrame:  # type: ignore[override]
        return PlacedFrame(self.R @ inner.R, self.p + self.R @ inner.p)

    @property
    def inverse(self) -> PlacedFrame:
        return PlacedFrame(self.R.T, -self.R.T @ self.p)

    def frame(self) -> Frame:
        """The frame of a description; what is zero, one or a half but for round-off is made so."""
        R = np.where(np.abs(self.R - np.round(self.R)) < SNAP, np.round(self.R), self.R)
        x, y, z = (tuple(float(c) for c in column) for column in R.T)
        return Frame(tuple(float(c) + 0.0 for c in self.p), euler_parameters((x, y, z)))


HERE = PlacedFrame(np.eye(3), np.zeros(3))


def point_at(position: Iterable[float]) -> PlacedFrame:
    return PlacedFrame(np.eye(3), np.array(list(position), float))


def roll_pitch_yaw(position: Iterable[float], angles: Iterable[float]) -> PlacedFrame:
    """URDF's and SDF's way: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    R = Rotation.from_euler("xyz", list(angles)).as_matrix()
    return PlacedFrame(R, np.array(list(position), float))


def quaternion(position: Iterable[float], wxyz: Iterable[float]) -> PlacedFrame:
    """MuJoCo's way: Euler parameters with the scalar first."""
    w, x, y, z = wxyz
    return PlacedFrame(Rotation.from_quat([x, y, z, w]).as_matrix(), np.array(list(position), float))


def along(axis: Iterable[float], across: Iterable[float] | None = None) -> PlacedFrame:
    """The frame with z along an axis, and x along `across` where given."""
    e = orientation(tuple(axis), None if across is None else tuple(across))
    return quaternion((0.0, 0.0, 0.0), e)


def turned_about_z(angle: float) -> PlacedFrame:
    return PlacedFrame(Rotation.from_euler("z", angle).as_matrix(), np.zeros(3))


def of_frame(frame: Frame) -> PlacedFrame:
    """The placement of a described frame on its body."""
    return quaternion((float(x) for x in frame.position), (float(x) for x in frame.orientation))
