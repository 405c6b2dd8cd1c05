"""Where everything in a picture of a mechanism lies, and from where to look at it."""

import re
from collections.abc import Iterable, Mapping
from math import cos, radians, sin
from typing import Any, NamedTuple

import numpy as np

from ..describe.mechanism import Frame, Mechanism, Strut
from ..joints.euler import rotation
from ..joints.types import TYPES
from ..urdf.shapes import points, rods

Pose = tuple[np.ndarray, np.ndarray]  # rotation (3, 3) and origin (3,) of a body in the world
Angle = tuple[float, float]  # azimuth and elevation of the viewer, radians
FROM_ABOVE: Angle = (radians(-75), radians(22))  # for spatial mechanisms


class View(NamedTuple):
    """Directions of the picture in world axes, rows (right, up, towards the viewer), and its size."""

    axes: np.ndarray
    size: float
    up: np.ndarray  # against gravity
    planar: bool

    def flat(self, points: Any) -> np.ndarray:
        """Points (n, 3) of the world on the paper (n, 2)."""
        return np.atleast_2d(points) @ self.axes[:2].T

    def depth(self, points: Any) -> float:
        """How near to the viewer the points are on average."""
        return float(np.mean(np.atleast_2d(points) @ self.axes[2]))


def around(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points on the paper, (n, 2), against the clock from the leftmost one.

    Andrew's chains: SciPy's takes a quarter of a second to import.
    """
    chain: list[np.ndarray] = []
    ordered = list(np.unique(points, axis=0))
    for half in (ordered, ordered[::-1]) if ordered else ():
        bottom = len(chain)
        for new in half:
            while len(chain) - bottom >= 2 and _turn(chain[-2], chain[-1], new) <= 0:
                chain.pop()
            chain.append(new)
        chain.pop()  # the next one begins with it
    return np.array(chain).reshape(-1, 2)


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Twice the area of a triangle, positive against the clock."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def joint_frame(joint_side: Frame, pose: Pose) -> Pose:
    """The frame of a joint on one of its bodies, in world axes."""
    return pose[0] @ rotation(joint_side.orientation), at(pose, joint_side.position)


def strut_ends(strut: Strut, poses: Mapping[str, Pose]) -> tuple[np.ndarray, np.ndarray]:
    return at(poses[strut.body1], strut.point1), at(poses[strut.body2], strut.point2)


def rod_ends(mechanism: Mechanism, poses: Mapping[str, Pose]) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(at(poses[a], p), at(poses[b], q)) for a, p, b, q in rods(mechanism)]


def body_points(mechanism: Mechanism, poses: Mapping[str, Pose]) -> dict[str, np.ndarray]:
    """For each body the distinct world points where joints and struts hold it, shape (n, 3)."""
    held = points(mechanism)
    return {name: np.array([at(pose, p) for p in held[name]]).reshape(-1, 3) for name, pose in poses.items()}


def choose_view(
    mechanism: Mechanism,
    poses: Mapping[str, Pose],
    points: Mapping[str, np.ndarray],
    angle: Angle | None = None,
) -> View:
    """From an angle; without one, straight on if all stays in a plane, or from above. Gravity pulls down."""
    coms = [at(poses[b.name], b.com) for b in mechanism.bodies]
    cloud = np.vstack([*points.values(), *coms])
    size = float(np.max(np.ptp(cloud, axis=0))) or 1.0
    gravity = np.array([float(g) for g in mechanism.gravity])
    up = -gravity / np.linalg.norm(gravity) if np.any(gravity) else np.array([0.0, 0.0, 1.0])
    normal = None if angle else _normal(mechanism, poses, cloud, size)
    if normal is None:
        azimuth, elevation = angle or FROM_ABOVE
        side = np.eye(3)[int(np.argmin(np.abs(up) - 1e-3 * np.array([2, 1, 0])))]
        side -= up * (up @ side)
        side /= np.linalg.norm(side)
        level = cos(azimuth) * side + sin(azimuth) * np.cross(up, side)
        toward = cos(elevation) * level + sin(elevation) * up
    else:
        toward = normal
        if abs(toward @ up) > 0.9:  # the plane lies flat: look down on it, y upwards
            up = np.array([0.0, 1.0, 0.0]) if abs(toward[1]) < 0.9 else np.array([0.0, 0.0, 1.0])
        if np.cross(up, toward) @ np.array([1.0, 0.1, 0.01]) < 0:
            toward = -toward
        level = toward
    right = np.cross(up, level)  # also for one who looks straight down
    right /= np.linalg.norm(right)
    return View(np.array([right, np.cross(toward, right), toward]), size, up, normal is not None)


def family(name: str) -> str:
    """Bodies that differ by a number only (leg1, leg2) share a colour."""
    return re.sub(r"[\s_-]*\d+(?=\D*$)", "", name) or name


def _normal(
    mechanism: Mechanism, poses: Mapping[str, Pose], cloud: np.ndarray, size: float
) -> np.ndarray | None:
    """Normal of the plane in which everything moves, or None."""
    turns, slides = [], []
    for joint in mechanism.joints:
        kind, axes = TYPES[joint.type], joint_frame(joint.on_parent, poses[joint.parent])[0].T
        if len(kind.turns) == 2 or not kind.locks:
            return None
        if len(kind.turns) == 1:
            turns += [axes[k] for k in kind.turns]
        elif not kind.turns:
            slides += [axes[k] for k in kind.slides]
    if not turns:
        return None
    normal = turns[0]
    flat = (
        all(abs(axis @ normal) > 0.999 for axis in turns)
        and all(abs(axis @ normal) < 0.04 for axis in slides)
        and np.ptp(cloud @ normal) < 0.15 * size
    )
    return normal if flat else None


def at(pose: Pose, point: Iterable[Any]) -> np.ndarray:
    """A point of a body in world axes."""
    return pose[1] + pose[0] @ np.array([float(x) for x in point])
