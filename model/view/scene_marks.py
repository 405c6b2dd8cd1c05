"""What the scene shows beside bodies and joints: named frames, loads, couplings and their wheels."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..describe.drawing import orientation
from ..describe.mechanism import GROUND, Mechanism
from ..show.marks import LOAD, LONG, TIE, load_arrows
from ..show.sketch import Pose, at
from ..urdf.shapes import circle, pulleys, ties
from ..urdf.surfaces import hull

Lines = Callable[[str, np.ndarray, tuple[int, int, int], float], Any]


class SceneMarks:
    """Made once below the scene's node; frames and wheels move with their bodies, the rest is led."""

    def __init__(self, scene: Any, root: str, mechanism: Mechanism, size: float, thick: float, lines: Lines):
        self.mechanism, self.size, self.thick = mechanism, size, thick
        for frame in mechanism.frames:
            whose = "ground" if frame.body == GROUND else f"bodies/{frame.body}"
            scene.add_frame(
                f"{root}/{whose}/frame {frame.name}",
                axes_length=0.06 * size,
                axes_radius=0.25 * thick,
                position=np.array(frame.at, float),
                wxyz=np.array(frame.orientation, float),
            )
        for joint, radius in pulleys(mechanism):
            ring = circle(joint, radius)[:-1]
            axis = np.cross(ring[1] - ring[0], ring[2] - ring[1])
            wide = 0.8 * thick * axis / np.linalg.norm(axis)
            vertices, faces = hull(np.vstack([ring + wide, ring - wide]))
            whose = "ground" if joint.child == GROUND else f"bodies/{joint.child}"
            path = f"{root}/{whose}/wheel {joint.name}"
            scene.add_mesh_simple(path, vertices, faces, color=rgb(TIE), opacity=0.5)
        self._ties = lines("couplings", np.zeros((0, 2, 3)), rgb(TIE), 0.3 * thick)
        pushed = [load for load in mechanism.loads if np.any(np.array(load.force, float))]
        self._loads = {load.name: self._arrow(scene, f"{root}/loads/{load.name}") for load in pushed}

    def show(self, poses: Mapping[str, Pose]) -> None:
        """Move what is led to where the bodies are."""
        poses = {GROUND: (np.eye(3), np.zeros(3)), **poses}
        ends = [(at(poses[a], p), at(poses[b], q)) for a, p, b, q in ties(self.mechanism)]
        self._ties.points = np.array(ends).reshape(-1, 2, 3).astype(np.float32)
        for load, place, force in load_arrows(self.mechanism, poses):
            size = float(np.linalg.norm(force))
            handle, length = self._loads[load.name], LONG * self.size * size
            handle.position = place - LONG * self.size * force
            handle.wxyz = orientation(tuple((force / size).tolist()))
            handle.scale = (self.thick, self.thick, max(length, self.thick))

    def _arrow(self, scene: Any, path: str) -> Any:
        vertices, faces = arrow_solid()
        return scene.add_mesh_simple(path, vertices, faces, color=rgb(LOAD))


def arrow_solid() -> tuple[np.ndarray, np.ndarray]:
    """An arrow of length one along z: where it is and points to is where its node is and points to."""
    ring = np.arange(12) * np.pi / 6
    flat = np.column_stack([np.cos(ring), np.sin(ring), 0 * ring])
    shaft = hull(np.vstack([0.5 * flat, 0.5 * flat + (0, 0, 0.75)]))
    head = hull(np.vstack([1.3 * flat + (0, 0, 0.75), [(0, 0, 1)]]))
    return np.vstack([shaft[0], head[0]]), np.vstack([shaft[1], head[1] + len(shaft[0])])


def rgb(colour: str) -> tuple[int, int, int]:
    """The parts of a colour such as #c2185b."""
    return (int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16))
