"""Visuals as triangles: plain shapes as hulls of points, meshes from files beside the description.

A mesh is data from a stranger: only files with the endings of meshes are opened, only in the description's
folder, in the package it belongs to or beside that folder, and read in a process of its own. What can't be
read is not shown, and says why.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..base.errors import CutjointError, DescriptionError
from ..base.untrusted import find_inside
from ..describe.mechanism import Mechanism
from ..describe.visuals import Visual
from ..joints.euler import rotation
from .hulls import hull_faces
from .packages import package_folders
from .read_meshes import Triangles, key_of, read_meshes

MESHES = (".stl", ".obj", ".dae")
ROUND = 24  # points of a circle
MOST_CORNERS = 100  # of an outline


def surface(mechanism: Mechanism, visual: Visual) -> Triangles:
    """The triangles of a visual in its body's frame."""
    corners, faces = (_mesh if visual.shape == "mesh" else _plain)(mechanism, visual)
    return corners @ rotation(visual.orientation).T + np.array(visual.at), faces


def surfaces(mechanism: Mechanism) -> tuple[list[tuple[Visual, Triangles]], list[str]]:
    """All visuals that can be shown, and a line for each that can't."""
    found, missing = [], []
    for visual in mechanism.visuals:
        try:
            found.append((visual, surface(mechanism, visual)))
        except DescriptionError as error:
            missing.append(f"visual '{visual.name}' is not shown: {error}")
    return found, missing


def _plain(_: Mechanism, visual: Visual) -> Triangles:
    size, half = visual.size, (-0.5, 0.5)
    if visual.shape == "box":
        return hull(np.array([(x, y, z) for x in half for y in half for z in half]) * np.array(size))
    angle = np.arange(ROUND) * 2 * np.pi / ROUND
    circle = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle]) * size[0]
    if visual.shape == "cylinder":
        return hull(_both_ends(circle, size[1]))
    tilt = np.pi * (np.arange(1, ROUND // 2) / (ROUND // 2) - 0.5)
    rings = [circle * np.cos(t) + np.array([0, 0, size[0] * np.sin(t)]) for t in tilt]
    ball = np.vstack([*rings, [(0, 0, size[0]), (0, 0, -size[0])]])
    return hull(_both_ends(ball, size[1]) if visual.shape == "capsule" else ball)


def _both_ends(points: np.ndarray, length: float) -> np.ndarray:
    """Points shifted along z to the two ends of something that long."""
    return np.vstack([points + np.array([0, 0, z]) for z in (-length / 2, length / 2)])


def hull(cloud: np.ndarray) -> Triangles:
    """The convex hull of points; each face has corners of its own, so that edges stay sharp."""
    faces = hull_faces(cloud)
    return cloud[faces].reshape(-1, 3), np.arange(faces.size).reshape(-1, 3)


def outline(triangles: Triangles) -> np.ndarray:
    """The corners of the convex hull alone, which are enough to draw a shadow; of round things a part."""
    from scipy.spatial import ConvexHull  # of meshes; SciPy takes a while to import

    cloud = np.unique(triangles[0], axis=0)
    corners = cloud[ConvexHull(cloud).vertices]
    return corners[:: len(corners) // MOST_CORNERS + 1]


# -- meshes -----------------------------------------------------------------------------------------


def _mesh(mechanism: Mechanism, visual: Visual) -> Triangles:
    path = mesh_path(mechanism, visual.file)
    if path is None:
        raise DescriptionError(f"the mesh '{visual.file}' is not beside the description")
    files = {path, *(mesh_path(mechanism, v.file) for v in mechanism.visuals if v.shape == "mesh")}
    found = read_meshes(tuple(sorted(key_of(file) for file in files if file is not None)))[path]
    if isinstance(found, str):
        raise DescriptionError(found if "install" in found else f"'{visual.file}' {found}")
    return found[0] * np.array(visual.size), found[1]


def mesh_path(mechanism: Mechanism, file: str) -> Path | None:
    """Where a mesh is, if it is where it may be; `file` may start with package://, model:// or file://."""
    if not mechanism.folder:
        return None
    folder = Path(mechanism.folder)
    roots = [folder, folder.parent]
    scheme, apart, name = file.partition("://")
    if not apart:
        name = file
    elif scheme in ("package", "model"):
        package, _, name = name.partition("/")
        # A copy of a package may have another name: its urdf/ and meshes/ still lie side by side.
        roots = [*package_folders(package, folder), *roots]
    try:
        found = find_inside(name, roots)
    except CutjointError:
        return None
    return found if found.suffix.lower() in MESHES else None


def relocate_meshes(mechanism: Mechanism, folder: Path) -> Mechanism:
    """The same mechanism for a description in another folder: its meshes stay where they are."""
    if not mechanism.folder:
        return mechanism

    def moved(visual: Visual) -> Visual:
        if not visual.file or "://" in visual.file or Path(visual.file).is_absolute():
            return visual
        file = os.path.relpath(Path(mechanism.folder) / visual.file, folder.resolve())
        return replace(visual, file=Path(file).as_posix())

    visuals = tuple(moved(visual) for visual in mechanism.visuals)
    return replace(mechanism, visuals=visuals, folder=str(folder.resolve()))
