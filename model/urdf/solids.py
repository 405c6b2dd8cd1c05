"""What a body without visuals looks like: the convex hull of balls around the points that joints hold."""

import numpy as np

from ..describe.mechanism import Mechanism
from .shapes import corners, radius
from .surfaces import Triangles, hull


def body_solid(mechanism: Mechanism, name: str) -> Triangles:
    """Vertices and faces of a body in its own frame."""
    drawn, thick = corners(mechanism)[name], radius(mechanism)
    return hull_of_balls(np.array(drawn), thick if len(drawn) > 1 else 3 * thick)


def hull_of_balls(middle: np.ndarray, thick: float) -> Triangles:
    """Vertices and faces, seen from outside, of the convex hull of balls of a radius around points."""
    turn = (1 + 5**0.5) / 2
    ball = np.array([(0, s, t * turn) for s in (-1, 1) for t in (-1, 1)], float)
    ball = np.vstack([np.roll(ball, k, axis=1) for k in range(3)])
    ball = np.vstack([ball, [(s, t, u) for s in (-1, 1) for t in (-1, 1) for u in (-1, 1)]])
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    cloud = (middle[:, None, :] + thick * ball).reshape(-1, 3)
    return hull(cloud)
