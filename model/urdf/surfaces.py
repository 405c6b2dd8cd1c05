"""Visuals as triangles: plain shapes as hulls of points, meshes from files beside the description.

A mesh is data from a stranger: only files with the endings of meshes are opened, only in the description's
folder, in the package it belongs to or beside that folder, and only up to a size. What can't be read is not
shown, and says why.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..describe.mechanism import Mechanism
from ..describe.visuals import Visual
from ..errors import DescriptionError
from ..joints.euler import rotation
from .hulls import hull_faces

MESHES = (".stl", ".obj", ".dae")
LARGEST_MESH = 50_000_000  # bytes
ROUND = 24  # points of a circle
MOST_CORNERS = 100  # of an outline
Triangles = tuple[np.ndarray, np.ndarray]  # corners (n, 3), and faces (m, 3) of them seen from outside


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
    try:
        import trimesh
    except ImportError:
        raise DescriptionError("install 'trimesh' (pip install trimesh pycollada) to show meshes") from None
    try:
        loaded: Any = trimesh.load(path, force="mesh", file_type=path.suffix[1:].lower())
        corners, faces = np.array(loaded.vertices, float), np.array(loaded.faces, int)
    except Exception as error:  # whatever a broken file makes its reader raise
        raise DescriptionError(f"'{visual.file}' is no mesh: {' '.join(str(error).split())[:200]}") from None
    if not len(faces) or not np.isfinite(corners).all():
        raise DescriptionError(f"'{visual.file}' has no triangles")
    return corners * np.array(visual.size), faces


def mesh_path(mechanism: Mechanism, file: str) -> Path | None:
    """Where a mesh is, if it is where it may be; `file` may start with package://, model:// or file://."""
    if not mechanism.folder:
        return None
    folder = Path(mechanism.folder)
    rest, packaged = file, False
    for start in ("package://", "model://", "file://"):
        if file.startswith(start):
            rest, packaged = file.removeprefix(start), start != "file://"
    package, _, within = rest.partition("/")
    roots = [folder, folder.parent]
    if packaged:
        roots = [up for up in (folder, *folder.parents) if up.name == package]
        roots += [up / package for up in (folder, *folder.parents[:3]) if (up / package).is_dir()]
        prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        roots += [Path(p) / "share" / package for p in prefixes if p]
        # A copy of a package may have another name: its urdf/ and meshes/ still lie side by side.
        roots, rest = [*roots, folder, folder.parent], within
    for root in roots:
        try:
            found = (root / rest).resolve()
            inside = any(found.is_relative_to(r.resolve()) for r in roots)
            fits = found.suffix.lower() in MESHES and inside and found.is_file()
            if fits and found.stat().st_size <= LARGEST_MESH:
                return found
        except (OSError, ValueError):
            continue
    return None


def relocated(mechanism: Mechanism, folder: Path) -> Mechanism:
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
