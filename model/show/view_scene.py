"""A mechanism as solid bodies in the browser: made once, then only moved.

Every body is the convex hull of balls around the points where joints hold it: a bar between
two joints, a plate between more. Reactions are arrows at the joints, as long as their forces
against the weight of the whole mechanism.
"""

from typing import Any

import numpy as np

from ..describe.drawing import orientation
from ..describe.mechanism import GROUND, Mechanism
from ..joints.types import TYPES
from ..robots.shapes import corners, radius
from ..robots.surfaces import hull, surfaces
from ..simulation import Simulation
from .measures import LONGEST, REACH, whole_weight
from .picture import CUT, MOTOR, families_of
from .sketch import Pose, at, body_points, choose_view, family, rod_ends

Points = np.ndarray
ARROW = (220, 60, 140)
ROD = (110, 110, 110)


class Scene:
    """Everything drawn of one mechanism in one browser server."""

    def __init__(self, server: Any, simulation: Simulation):
        self.mechanism = mechanism = simulation.mechanism
        self.scene = scene = server.scene
        self.thick = radius(mechanism)
        self.weight = whole_weight(mechanism)
        poses = simulation.body_poses()
        held = body_points(mechanism, poses)
        view = choose_view(mechanism, poses, held)
        self.size, self.up = view.size, view.up
        cuts = {cut.name for cut in simulation.tree.cuts}
        self._visuals, self.missing = surfaces(mechanism)
        self._add_visuals(GROUND, "/ground", (150, 150, 150))
        self._bodies = {b.name: self._add_body(b.name) for b in mechanism.bodies}
        self._add_ground(held["ground"])
        self._joints = {j.name: self._add_joint(j, j.name in cuts) for j in mechanism.joints}
        ends = self._rod_ends(poses)
        lines = {"thickness": self.thick, "visible": bool(ends.size)}
        self._rods = scene.add_line_segments("/rods", ends, ROD, **lines)
        self._arrows = scene.add_arrows(
            "/reactions",
            np.zeros((len(mechanism.joints), 2, 3)),
            ARROW,
            shaft_radius=0.5 * self.thick,
            head_radius=1.3 * self.thick,
            head_length=3.0 * self.thick,
        )
        self.arrow_length = 1.0
        self._labels = [scene.add_label(f"/names/{m.name}", m.name) for m in mechanism.motors]
        cloud = np.vstack([*held.values(), *(at(poses[b.name], b.com) for b in mechanism.bodies)])
        middle = (cloud.max(axis=0) + cloud.min(axis=0)) / 2
        scene.set_up_direction(tuple(self.up))
        server.initial_camera.position = tuple(middle + 2.1 * self.size * view.axes[2])
        server.initial_camera.look_at = tuple(middle)
        server.initial_camera.up = tuple(self.up)

    def show(self, simulation: Simulation, outputs: dict[str, Any]) -> None:
        """Move everything to where the simulation is."""
        poses = simulation.body_poses()
        for body in self.mechanism.bodies:
            handle = self._bodies[body.name]
            handle.position = outputs[f"body.{body.name}.position"]
            handle.wxyz = outputs[f"body.{body.name}.orientation"]
        for joint in self.mechanism.joints:
            self._joints[joint.name].position = at(poses[joint.parent], joint.on_parent.position)
        for label, motor in zip(self._labels, self.mechanism.motors, strict=True):
            label.position = self._joints[motor.joint].position
        if self._rods.visible:
            self._rods.points = self._rod_ends(poses)
        if self._arrows.visible:
            self._arrows.points = self._arrow_ends(poses, outputs)

    def show_reactions(self, shown: bool) -> None:
        self._arrows.visible = shown

    def show_names(self, shown: bool) -> None:
        for label in self._labels:
            label.visible = shown

    def _add_body(self, name: str) -> Any:
        colour = _rgb(families_of(self.mechanism)[family(name)])
        if name in {visual.body for visual, _ in self._visuals}:
            frame = self.scene.add_frame(f"/bodies/{name}", show_axes=False)
            self._add_visuals(name, f"/bodies/{name}", colour)
            return frame
        vertices, faces = body_solid(self.mechanism, name)
        return self.scene.add_mesh_simple(f"/bodies/{name}", vertices, faces, color=colour)

    def _add_visuals(self, body: str, path: str, otherwise: tuple[int, int, int]) -> None:
        """What a body looks like, below a frame that moves with it."""
        for visual, (vertices, faces) in self._visuals:
            if visual.body == body:
                colour = tuple(round(255 * x) for x in visual.colour[:3]) or otherwise
                opacity = None if visual.colour[3:] in ((), (1.0,)) else visual.colour[3]
                named = f"{path}/{visual.name}"
                self.scene.add_mesh_simple(named, vertices, faces, color=colour, opacity=opacity)

    def _add_ground(self, held: Points) -> None:
        """A grid under the mechanism, and a foot at every joint on ground."""
        feet = held if len(held) else np.zeros((1, 3))
        low = feet[np.argmin(feet @ self.up)]
        cell = 10.0 ** np.floor(np.log10(self.size / 2))
        middle = feet.mean(axis=0)
        place = middle + self.up * (self.up @ (low - middle)) - 0.05 * self.size * self.up
        self.scene.add_grid(
            "/ground/grid",
            width=4 * self.size,
            height=4 * self.size,
            cell_size=cell,
            section_size=5 * cell,
            position=place,
            wxyz=orientation(tuple(self.up.tolist())),
        )
        for k, foot in enumerate(feet):
            vertices, faces = swollen(np.array([foot, foot - 0.05 * self.size * self.up]), 2 * self.thick)
            self.scene.add_mesh_simple(f"/ground/foot{k}", vertices, faces, color=(150, 150, 150))

    def _add_joint(self, joint: Any, cut: bool) -> Any:
        driven = joint.name in {m.joint for m in self.mechanism.motors}
        colour = MOTOR if driven else CUT if cut else "#333333"
        return self.scene.add_icosphere(
            f"/joints/{joint.name}",
            radius=(1.9 if driven else 1.5) * self.thick,
            color=_rgb(colour),
            visible=bool(TYPES[joint.type].locks),
        )

    def _rod_ends(self, poses: dict[str, Pose]) -> Points:
        """Ends of what has no mass of its own."""
        return np.array(rod_ends(self.mechanism, poses)).reshape(-1, 2, 3)

    def _arrow_ends(self, poses: dict[str, Pose], outputs: dict[str, Any]) -> Points:
        """From each joint along the force of the parent on the child."""
        ends = []
        for joint in self.mechanism.joints:
            here = at(poses[joint.child], joint.on_child.position)
            force = np.asarray(outputs.get(f"reaction.{joint.name}.force", np.zeros(3)))
            along = self.arrow_length * REACH * self.size * force / (self.weight or 1.0)
            length = float(np.linalg.norm(along))
            along = along * min(1.0, LONGEST * self.size / length) if length > 0 else along
            ends.append((here, here + along))
        return np.array(ends)


def body_solid(mechanism: Mechanism, name: str) -> tuple[Points, np.ndarray]:
    """Vertices and faces of a body in its own frame."""
    drawn, thick = corners(mechanism)[name], radius(mechanism)
    return swollen(np.array(drawn), thick if len(drawn) > 1 else 3 * thick)


def swollen(middle: Points, thick: float) -> tuple[Points, np.ndarray]:
    """Vertices and faces, seen from outside, of the convex hull of balls of a radius around points."""
    turn = (1 + 5**0.5) / 2
    ball = np.array([(0, s, t * turn) for s in (-1, 1) for t in (-1, 1)], float)
    ball = np.vstack([np.roll(ball, k, axis=1) for k in range(3)])
    ball = np.vstack([ball, [(s, t, u) for s in (-1, 1) for t in (-1, 1) for u in (-1, 1)]])
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    cloud = (middle[:, None, :] + thick * ball).reshape(-1, 3)
    return hull(cloud)


def movable(simulation: Simulation) -> list[str]:
    """Joints a hand can set: driven ones with one coordinate in the tree, or all such joints."""
    one = [n for n, where in simulation.tree.q.items() if where.stop - where.start == 1]
    driven = [m.joint for m in simulation.mechanism.motors if m.joint in one]
    return driven or one


def _rgb(colour: str) -> tuple[int, int, int]:
    return (int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16))
