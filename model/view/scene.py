"""A mechanism as solid bodies in the browser: made once, then only moved.

Every body is the convex hull of balls around the points where joints hold it: a bar between
two joints, a plate between more. Reactions are arrows at the joints, long as their forces.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..describe.drawing import orientation
from ..describe.mechanism import GROUND, Joint
from ..joints.types import TYPES
from ..show.measures import LONGEST, REACH, whole_weight
from ..show.picture import CUT, MOTOR, families_of
from ..show.sketch import Pose, at, body_points, choose_view, family, rod_ends
from ..simulation import Simulation
from ..urdf.shapes import corners, radius
from ..urdf.solids import body_solid, hull_of_balls
from ..urdf.surfaces import outline, surfaces
from .pull import Pull, held_point
from .scene_marks import SceneMarks, arrow_solid, rgb

Points = np.ndarray
ARROW = (220, 60, 140)
ROD = (110, 110, 110)
TRACES = ((214, 39, 40), (31, 119, 180), (44, 160, 44), (148, 103, 189))


class Scene:
    """Everything drawn of one mechanism, below a node of its own that may stand elsewhere."""

    def __init__(self, server: Any, simulation: Simulation, root: str = "/mechanism", alone: bool = True):
        self.mechanism = mechanism = simulation.mechanism
        self.scene, self.root = server.scene, root
        self.thick, self.weight = radius(mechanism), whole_weight(mechanism)
        self.poses = poses = simulation.body_poses()
        held = body_points(mechanism, poses)
        self.view = choose_view(mechanism, poses, held)
        self.size, self.up = self.view.size, self.view.up
        self.place = np.zeros(3)  # of the whole in the scene
        self.follows = any(
            GROUND in (j.parent, j.child) and not TYPES[j.type].locks for j in mechanism.joints
        )
        self._first = self._middle(poses)
        self._node = self.scene.add_frame(root, show_axes=False)
        self._visuals, missing = surfaces(mechanism)
        more = f", and {len(missing) - 1} more are not" if len(missing) > 1 else ""
        self.missing = f"{missing[0]}{more}" if missing else ""
        self._drawn = self._corners()
        self._add_visuals(GROUND, f"{root}/ground", (150, 150, 150))
        self.bodies = {b.name: self._add_body(b.name) for b in mechanism.bodies}
        self._add_ground(held[GROUND], 4.0 if alone else 1.6)
        cuts = simulation.tree.cut_names
        self._joints = {j.name: self._add_joint(j, j.name in cuts) for j in mechanism.joints}
        known = simulation.variables().outputs.named
        loaded = [j for j in mechanism.joints if f"reaction.{j.name}.force" in known]
        self._arrows = {j.name: self._add_arrow(j.name) for j in loaded}
        self.arrow_length, self.reactions, self.newtons = 1.0, True, self.weight or 1.0
        self._rods = self._lines("rods", self._rod_ends(), ROD, self.thick)
        self._pull = self._lines("pull", np.zeros((0, 2, 3)), rgb(MOTOR), 0.4 * self.thick)
        self._labels = [self.scene.add_label(f"{root}/names/{m.name}", m.name) for m in mechanism.motors]
        self._traces: dict[str, Any] = {}
        self._marks = SceneMarks(self.scene, root, mechanism, self.size, self.thick, self._lines)

    # -- moving -------------------------------------------------------------------------------

    def show(self, simulation: Simulation, outputs: Mapping[str, Any], hand: Pull | None = None) -> None:
        """Move everything to where the simulation is."""
        self.poses = poses = simulation.body_poses()
        self._node.position = self.origin
        for body in self.mechanism.bodies:
            handle = self.bodies[body.name]
            handle.position = outputs[f"body.{body.name}.position"]
            handle.wxyz = outputs[f"body.{body.name}.orientation"]
        for joint in self.mechanism.joints:
            self._joints[joint.name].position = self._spot(joint)
        for label, motor in zip(self._labels, self.mechanism.motors, strict=True):
            label.position = self._joints[motor.joint].position
        self._rods.points = self._rod_ends()
        self._marks.show(poses)
        for name in self._arrows:
            self._show_arrow(self.mechanism.joint(name), np.asarray(outputs[f"reaction.{name}.force"]))
        pulled = [] if hand is None else [(held_point(simulation, hand), hand.hand)]
        self._pull.points = np.array(pulled).reshape(-1, 2, 3).astype(np.float32)
        if self.follows:
            gone = self._middle(poses) - self._first
            level = gone - self.up * (self.up @ gone)
            self._grid.position = self._grid_place + self._section * np.round(level / self._section)

    def _spot(self, joint: Joint) -> Points:
        """Where a joint is marked: where its parent holds it; what rolls is nowhere held."""
        if all(TYPES[joint.type].holds_poses):
            return at(self.poses[joint.parent], joint.on_parent.position)
        return at(self.poses[joint.child], joint.on_child.position)

    @property
    def origin(self) -> Points:
        """Where the world's origin is in the scene: one that floats is followed, its ground moves back."""
        return np.asarray(self.place - (self._middle(self.poses) - self._first if self.follows else 0.0))

    def _middle(self, poses: Mapping[str, Pose]) -> Points:
        return np.mean([poses[b.name][1] for b in self.mechanism.bodies], axis=0)

    def _show_arrow(self, joint: Joint, force: Points) -> None:
        """From the joint along the force of the parent on the child; all grow alike, up to a limit."""
        size = float(np.linalg.norm(force))
        length = self.arrow_length * REACH * self.size * size / self.newtons
        handle = self._arrows[joint.name]
        handle.visible = self.reactions and length > self.thick
        if handle.visible:
            handle.position = at(self.poses[joint.child], joint.on_child.position)
            handle.wxyz = orientation(tuple((force / size).tolist()))
            handle.scale = (self.thick, self.thick, min(length, LONGEST * self.size))

    def show_names(self, shown: bool) -> None:
        for label in self._labels:
            label.visible = shown

    def trace(self, name: str, points: Points) -> None:
        """The path that an output has taken, a line through points (n, 3)."""
        ends = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
        if name not in self._traces:
            colour = TRACES[len(self._traces) % len(TRACES)]
            self._traces[name] = self._lines(f"traces/{name}", ends, colour, 0.2 * self.thick)
        self._traces[name].points = ends

    def untrace(self) -> None:
        """Take all paths away."""
        for handle in self._traces.values():
            handle.remove()
        self._traces.clear()

    def cloud(self, poses: Mapping[str, Pose] | None = None) -> Points:
        """Corners of all that is drawn, in the scene, of the present pose or another."""
        left = {GROUND} if self.follows else set()  # behind, by one that floats
        drawn = {name: points for name, points in self._drawn.items() if name not in left}
        found = [at_all((poses or self.poses)[name], points) for name, points in drawn.items()]
        gone = self._middle(poses or self.poses) - self._first if self.follows else 0.0
        return np.asarray(np.vstack(found) + self.place - gone)

    # -- making -------------------------------------------------------------------------------

    def _corners(self) -> dict[str, Points]:
        """What the bodies reach to, each in its frame: visuals, or else the bars between joints."""
        ball = self.thick * np.vstack([np.eye(3), -np.eye(3)])
        found = {
            name: (np.array(points)[:, None] + ball).reshape(-1, 3)
            for name, points in corners(self.mechanism).items()
            if points
        }
        for body in {visual.body for visual, _ in self._visuals}:
            found[body] = np.vstack(
                [outline(shape) for visual, shape in self._visuals if visual.body == body]
            )
        return found

    def _lines(self, name: str, ends: Points, colour: tuple[int, int, int], thick: float) -> Any:
        return self.scene.add_line_segments(f"{self.root}/{name}", ends, colour, thickness=thick)

    def _add_body(self, name: str) -> Any:
        colour, path = rgb(families_of(self.mechanism)[family(name)]), f"{self.root}/bodies/{name}"
        if name in {visual.body for visual, _ in self._visuals}:
            frame = self.scene.add_frame(path, show_axes=False)
            self._add_visuals(name, path, colour)
            return frame
        vertices, faces = body_solid(self.mechanism, name)
        return self.scene.add_mesh_simple(path, vertices, faces, color=colour)

    def _add_visuals(self, body: str, path: str, otherwise: tuple[int, int, int]) -> None:
        """What a body looks like, below a frame that moves with it."""
        for visual, (vertices, faces) in self._visuals:
            if visual.body == body:
                colour = tuple(round(255 * x) for x in visual.colour[:3]) or otherwise
                opacity = None if visual.colour[3:] in ((), (1.0,)) else visual.colour[3]
                named = f"{path}/{visual.name}"
                self.scene.add_mesh_simple(named, vertices, faces, color=colour, opacity=opacity)

    def grips(self, body: str) -> list[Any]:
        """The solids of a body, which a mouse can take hold of."""
        path = f"{self.root}/bodies/{body}"
        names = [f"{path}/{visual.name}" for visual, _ in self._visuals if visual.body == body]
        return [self.scene.get_handle_by_name(name) for name in names or [path]]

    def _add_ground(self, held: Points, width: float) -> None:
        """A grid under ground, which is what it looks like, or else a foot at every joint on it."""
        solid = GROUND in {visual.body for visual, _ in self._visuals}
        feet = self._drawn[GROUND] if solid else held if len(held) else np.zeros((1, 3))
        low = feet[np.argmin(feet @ self.up)]
        cell = 10.0 ** np.floor(np.log10(self.size / 2))
        self._section = 5 * cell
        middle = feet.mean(axis=0)
        lower = 0.0 if self.follows or solid else 0.05 * self.size
        self._grid_place = middle + self.up * (self.up @ (low - middle)) - lower * self.up
        self._grid = self.scene.add_grid(
            f"{self.root}/ground/grid",
            width=width * self.size,
            height=width * self.size,
            cell_size=cell,
            section_size=self._section,
            position=self._grid_place,
            wxyz=orientation(tuple(self.up.tolist())),
        )
        for k, foot in enumerate(() if self.follows or solid else feet):
            vertices, faces = hull_of_balls(
                np.array([foot, foot - 0.05 * self.size * self.up]), 2 * self.thick
            )
            named = f"{self.root}/ground/foot{k}"
            self.scene.add_mesh_simple(named, vertices, faces, color=(150, 150, 150))

    def _add_joint(self, joint: Any, cut: bool) -> Any:
        driven = joint.name in {m.joint for m in self.mechanism.motors}
        colour = MOTOR if driven else CUT if cut else "#333333"
        return self.scene.add_icosphere(
            f"{self.root}/joints/{joint.name}",
            radius=(1.9 if driven else 1.5) * self.thick,
            color=rgb(colour),
            visible=bool(TYPES[joint.type].locks),
        )

    def _add_arrow(self, name: str) -> Any:
        vertices, faces = arrow_solid()
        path = f"{self.root}/reactions/{name}"
        return self.scene.add_mesh_simple(path, vertices, faces, color=ARROW, visible=False)

    def _rod_ends(self) -> Points:
        """Ends of what has no mass of its own."""
        return np.array(rod_ends(self.mechanism, self.poses)).reshape(-1, 2, 3).astype(np.float32)


def at_all(pose: Pose, points: Points) -> Points:
    """Points (n, 3) of a body in world axes."""
    return np.asarray(points @ pose[0].T + pose[1])
