"""Convex hulls of a few points in space, for shapes: SciPy's takes a quarter of a second to import."""

import numpy as np

from ..base.thresholds import IN_FACE


def hull_faces(cloud: np.ndarray) -> np.ndarray:
    """Triangles of the convex hull of points (n, 3) that are not in one plane, as indices, seen from outside.

    Point by point: the faces that a new one sees give way to those that join it to their rim.
    """
    faces = _first(cloud)
    tiny = IN_FACE * float(np.ptp(cloud, axis=0).max())
    for k, point in enumerate(cloud):
        a, b, c = cloud[faces.T]
        normals = np.cross(b - a, c - a)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        seen = np.einsum("ij,ij->i", normals, point - a) > tiny
        if seen.any():
            edges = {(face[i - 1], face[i]) for face in faces[seen].tolist() for i in range(3)}
            rim = [(i, j, k) for i, j in sorted(edges) if (j, i) not in edges]
            faces = np.vstack([faces[~seen], rim])
    return faces


def _first(cloud: np.ndarray) -> np.ndarray:
    """A tetrahedron of points that are far from each other."""
    a = int(cloud[:, 0].argmin())
    b = int(np.linalg.norm(cloud - cloud[a], axis=1).argmax())
    along = np.cross(cloud - cloud[a], cloud[b] - cloud[a])
    c = int(np.linalg.norm(along, axis=1).argmax())
    height = (cloud - cloud[a]) @ np.cross(cloud[b] - cloud[a], cloud[c] - cloud[a])
    d = int(np.abs(height).argmax())
    if height[d] > 0:
        b, c = c, b
    return np.array([(a, b, c), (a, d, b), (b, d, c), (c, d, a)])
