"""A mechanism as SDF 1.11: a graph, so that loops need no words of their own.

A joint's frame is given once, on its child, and joints are at zero where the links are drawn. So the
mechanism is drawn where it starts, with its loops closed, and coordinates are counted from there.
"""

import shlex
from collections.abc import Mapping
from math import inf, isfinite, pi
from xml.etree import ElementTree as xml

import numpy as np
from scipy.spatial.transform import Rotation

from ..describe.mechanism import GROUND, Joint, Mechanism, outer_name
from ..describe.visuals import Visual
from ..equations.topology import span
from ..joints.angles import yaw_pitch_roll
from ..joints.types import TYPES
from ..urdf.placement import HERE, PlacedFrame, of_frame, quaternion
from ..urdf.writer_common import add_element, body_names, digits, document, simple, unsaid, visuals_by_body

# Our types in SDF's words; what is not here is a chain of slides and turns, or can't be said.
WORDS = {
    "revolute": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "spherical": "ball",
    "universal": "universal",
    "helical": "screw",
}
CLOSING = tuple(WORDS)
AXES = np.eye(3)
Poses = Mapping[str, tuple[np.ndarray, np.ndarray]]


def write_sdf(mechanism: Mechanism, poses: Poses, notes: list[str]) -> str:
    """The text of an SDF file; `poses` are those of bodies at the start that the mechanism's joints have."""
    return _Sdf(mechanism, poses, notes).text()


class _Sdf:
    def __init__(self, mechanism: Mechanism, poses: Poses, notes: list[str]):
        self.mechanism, self.notes = mechanism, notes
        self.names = body_names(mechanism) | {GROUND: "world"}
        self.poses = {name: PlacedFrame(*pose) for name, pose in poses.items()} | {GROUND: HERE}
        self.root = xml.Element("sdf", version="1.11")
        world = add_element(self.root, "world", name=f"{mechanism.name}_world")
        add_element(world, "gravity").text = digits(mechanism.gravity)
        self.model = add_element(world, "model", name=mechanism.name)
        self.visuals = visuals_by_body(mechanism)
        for body in mechanism.bodies:
            link = self._link(self.names[body.name], self.poses[body.name])
            self._inertial(link, body.mass, body.com, body.inertia)
            for visual in self.visuals.get(body.name, ()):
                self._visual(link, visual)
        for frame in mechanism.frames:
            if frame.body != GROUND:
                attached = {"name": outer_name(frame), "attached_to": self.names[frame.body]}
                element = add_element(self.model, "frame", **attached)
                _pose(element, quaternion(frame.at, frame.orientation), relative_to=self.names[frame.body])
        present = {*span(mechanism).q, *(cut.name for cut in span(mechanism).cuts)}
        for joint in mechanism.joints:
            if joint.name in present:
                self._joint(joint)
        clash = [outer_name(joint) for joint in mechanism.joints if self._named(joint) != outer_name(joint)]
        if clash:
            self.notes.append(f"renamed: joints {', '.join(clash)} end in _joint, as links are named so")
        self._left_out()

    def text(self) -> str:
        return document(self.root)

    def _left_out(self) -> None:
        mechanism = self.mechanism
        if any(any(joint.start) for joint in mechanism.joints):
            self.notes.append("changed: joints are at zero where the mechanism starts")
        self.notes += unsaid(mechanism, ("armature",))
        ties = [tie.name for tie in mechanism.couplings if not simple(tie)]
        self.notes += [f"left out: coupling {name}, no mimic" for name in ties]
        grounded = [visual.name for visual in self.visuals.get(GROUND, ())]
        grounded += [frame.name for frame in mechanism.frames if frame.body == GROUND]
        if grounded:
            self.notes.append(f"left out: {', '.join(grounded)} on ground")
        if mechanism.motors:
            drives = shlex.join(self._named(mechanism.joint(motor.joint)) for motor in mechanism.motors)
            self.notes.append(f"left out: motors; give 'cutjoint import' --drive {drives}")

    # -- links ------------------------------------------------------------------------------------

    def _link(self, name: str, at: PlacedFrame) -> xml.Element:
        link = add_element(self.model, "link", name=name)
        _pose(link, at)
        return link

    def _inertial(
        self, link: xml.Element, mass: float, com: tuple[float, ...], six: tuple[float, ...]
    ) -> None:
        inertial = add_element(link, "inertial")
        _pose(inertial, PlacedFrame(AXES, np.array(com, float)))
        add_element(inertial, "mass").text = digits([mass])
        tensor = add_element(inertial, "inertia")
        for key, value in zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), six, strict=True):
            add_element(tensor, key).text = digits([value])

    def _visual(self, link: xml.Element, visual: Visual) -> None:
        element = add_element(link, "visual", name=visual.name)
        _pose(element, quaternion(visual.at, visual.orientation))
        shape = add_element(add_element(element, "geometry"), visual.shape)
        if visual.shape == "mesh":
            add_element(shape, "uri").text = visual.file
            add_element(shape, "scale").text = digits(visual.size)
        elif visual.shape == "box":
            add_element(shape, "size").text = digits(visual.size)
        else:
            for key, size in zip(("radius", "length"), visual.size, strict=False):
                add_element(shape, key).text = digits([size])
        if visual.colour:
            material = add_element(element, "material")
            for word in ("ambient", "diffuse"):
                add_element(material, word).text = digits(visual.colour)

    # -- joints -----------------------------------------------------------------------------------

    def _named(self, joint: Joint) -> str:
        """SDF wants links and joints to have different names."""
        name = outer_name(joint)
        return f"{name}_joint" if name in self.names.values() else name

    def _joint(self, joint: Joint) -> None:
        name, ends = outer_name(joint), [self.names[joint.parent], self.names[joint.child]]
        frames = [of_frame(joint.on_parent), of_frame(joint.on_child)]
        if joint.type in WORDS:
            self._one(joint, ends, frames)
        elif joint.type in ("cylindrical", "planar"):
            self._chain(joint, ends, frames)
        elif joint.type == "free" and joint.parent == GROUND:
            self.notes.append(f"changed: {name} is no joint; import it with --base floating")
        else:
            self.notes.append(f"left out: joint {name}, since SDF knows no {joint.type} joints")

    def _one(self, joint: Joint, ends: list[str], frames: list[PlacedFrame]) -> None:
        parent, child = (
            self.poses[body] @ at for body, at in zip((joint.parent, joint.child), frames, strict=True)
        )
        moves, sign, here = [AXES[2]], 1.0, frames[1]
        if joint.type == "universal":  # about z of the parent, then x of the child
            moves = [child.R.T @ parent.R[:, 2], AXES[0]]
        if ends[1] == "world":  # which is no child of any joint: the same seen from the other side
            ends, sign, here = ends[::-1], -1.0, frames[0]
            moves = [parent.R.T @ child.R @ move for move in moves[::-1]]
        element = self._element(self._named(joint), WORDS[joint.type], ends, here)
        if joint.type in ("fixed", "spherical"):
            self._no_numbers(joint)
            return
        for freedom, move in enumerate(moves):
            axis = self._axis(element, "axis2" if freedom else "axis", sign * move)
            order = len(moves) - 1 - freedom if sign < 0 else freedom
            self._numbers(axis, joint, order)
        if joint.type == "helical":
            add_element(element, "screw_thread_pitch").text = digits([2 * pi * joint.pitch])

    def _chain(self, joint: Joint, ends: list[str], frames: list[PlacedFrame]) -> None:
        """Links without mass between slides and turns whose axes stay parallel to those of the parent."""
        turned = self.poses[joint.parent] @ frames[0]
        place = PlacedFrame(turned.R, (self.poses[joint.child] @ frames[1]).p)
        at, name = ends[0], outer_name(joint)
        singles = TYPES[joint.type].singles
        for k, move in enumerate(singles):
            last = k == len(singles) - 1
            link = ends[1] if last else f"{name}_{move.endings[0]}_link"
            if not last:
                self._inertial(self._link(link, place), 0.0, (0.0,) * 3, (0.0,) * 6)
            here = self.poses[joint.child].inverse @ place if last else HERE
            word = "prismatic" if move.sliding else "revolute"
            element = self._element(f"{name}_{move.endings[0]}", word, [at, link], here)
            self._numbers(self._axis(element, "axis", AXES[move.axis]), joint, k)
            at = link

    def _element(self, name: str, kind: str, ends: list[str], here: PlacedFrame) -> xml.Element:
        element = add_element(self.model, "joint", name=name, type=kind)
        for word, end in zip(("parent", "child"), ends, strict=True):
            add_element(element, word).text = end
        _pose(element, here)
        return element

    def _axis(self, element: xml.Element, word: str, direction: np.ndarray) -> xml.Element:
        axis = add_element(element, word)
        add_element(axis, "xyz").text = digits(direction)
        return axis

    def _numbers(self, axis: xml.Element, joint: Joint, freedom: int) -> None:
        start = joint.start[freedom] if joint.start else 0.0
        limits = joint.limits if TYPES[joint.type].nq == 1 else (-inf, inf)
        speed = joint.speed_limit if TYPES[joint.type].nq == 1 else inf
        if (*limits, speed) != (-inf, inf, inf):
            limit = add_element(axis, "limit")
            if speed < inf:
                add_element(limit, "velocity").text = digits([speed])
            for key, value in zip(("lower", "upper"), limits, strict=True):
                if isfinite(value):
                    add_element(limit, key).text = digits([value - start])
        words = {"damping": "damping", "friction": "friction", "stiffness": "spring_stiffness"}
        values = {theirs: getattr(joint, ours) for ours, theirs in words.items() if any(getattr(joint, ours))}
        if values:
            dynamics = add_element(axis, "dynamics")
            for key, each in values.items():
                add_element(dynamics, key).text = digits([each[freedom]])
            if any(joint.stiffness):
                rest = joint.rest[freedom] if joint.rest else 0.0
                add_element(dynamics, "spring_reference").text = digits([rest - start])
        tie = next((c for c in self.mechanism.couplings if c.joint == joint.name and simple(c)), None)
        if tie is not None:
            other = self._named(self.mechanism.joint(tie.follows[0]))
            mimic = add_element(axis, "mimic", joint=other, axis="axis")
            for key, value in (("multiplier", tie.ratio[0]), ("offset", 0.0), ("reference", 0.0)):
                add_element(mimic, key).text = digits([value])

    def _no_numbers(self, joint: Joint) -> None:
        if any((*joint.damping, *joint.friction, *joint.stiffness)):
            self.notes.append(f"left out: damping, friction and springs of {joint.name}")


def _pose(element: xml.Element, at: PlacedFrame, **where: str) -> None:
    x, y, z, w = Rotation.from_matrix(at.R).as_quat().tolist()
    yaw, pitch, roll = yaw_pitch_roll((w, x, y, z))
    add_element(element, "pose", **where).text = digits((*at.p, roll, pitch, yaw))
