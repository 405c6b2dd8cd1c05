"""A mechanism as URDF: for viewers its spanning tree, for other engines also what closes its loops.

URDF knows trees of joints with one coordinate, and the frame of a link is where its joint is. So balls,
universal and other joints become chains of turns and slides (`single_joints.py`, which also computes their
values), and a body whose own frame is elsewhere hangs on a link without mass. Every cut joint leaves two
frames, `<joint>_on_<body>`, one on each of its bodies; when the tree moves by the joint values of a closed
mechanism, the two meet as the joint demands. A rod without mass hangs on its parent by two turns, and its
`<joint>_end` meets the child. The root is `ground`. Bodies without visuals are sticks between joints.
"""

from collections.abc import Callable, Iterable
from math import atan2, hypot, inf
from xml.etree import ElementTree as xml

import numpy as np
from scipy.spatial.transform import Rotation

from ..base.errors import DescriptionError
from ..describe.mechanism import GROUND, Joint, Mechanism, outer_name
from ..describe.visuals import Visual
from ..equations.single_joints import SingleJoint, chain
from ..equations.spatial import lump_point_masses
from ..equations.topology import Tree, span
from ..joints.angles import yaw_pitch_roll
from ..joints.types import TYPES
from .placement import HERE, PlacedFrame, of_frame, point_at, quaternion
from .shapes import radius, shapes
from .surfaces import mesh_path
from .writer_common import (
    TreeJoint,
    add_element,
    body_names,
    digits,
    document,
    simple,
    visuals_by_body,
    way_out,
)

AXES = np.eye(3)
# URDF wants numbers where a description says nothing: metres, N or N·m, m/s or rad/s.
FAR, STRONG, FAST = 1e3, 1e6, 1e3
COLOURS = ("0.27 0.47 0.70 1", "0.90 0.55 0.20 1", "0.35 0.65 0.35 1", "0.75 0.35 0.35 1", "0.55 0.45 0.70 1")
DRAKE = "http://drake.mit.edu"


def urdf(mechanism: Mechanism, tree: Tree | None = None) -> str:
    """URDF text of the spanning tree (the engine's own unless given), for viewers."""

    def found(file: str) -> str:
        path = mesh_path(mechanism, file)
        return file if path is None else path.as_uri()

    writing = UrdfTree(mechanism, tree or span(mechanism), found)
    writing.cut_frames()
    writing.sticks()
    return writing.text()


class UrdfTree:
    """The tree of a mechanism while it is written; `mesh` says what a mesh file is called there."""

    def __init__(self, mechanism: Mechanism, tree: Tree, mesh: Callable[[str], str] = str):
        self.mechanism, self.tree, self.mesh = mechanism, tree, mesh
        self.names = body_names(mechanism)
        self.root = xml.Element("robot", name=mechanism.name)
        self.visuals = visuals_by_body(mechanism)
        self.link(GROUND)
        for joint in way_out(mechanism, tree):
            self._tree_joint(joint)
        self._bodies()
        for visual in self.visuals.get(GROUND, ()):
            self._visual(self.root[0], visual)
        written = {element.get("name") for element in self.root.findall("link")}
        for frame in mechanism.frames:
            name = outer_name(frame)
            if name not in written:
                self.link(name)
                at = quaternion(frame.at, frame.orientation)
                self.joint(f"{name}_fixed", "fixed", self.names[frame.body], name, at)

    def text(self) -> str:
        for kind in ("link", "joint"):
            names = [element.get("name") for element in self.root.findall(kind)]
            twice = next((n for n in names if names.count(n) > 1), None)
            if twice:
                raise DescriptionError(
                    f"the URDF of '{self.mechanism.name}' would have two {kind}s '{twice}'; "
                    "rename a body or a joint"
                )
        return document(self.root)

    def link(self, name: str) -> xml.Element:
        return add_element(self.root, "link", name=name)

    def joint(self, name: str, kind: str, parent: str, child: str, pose: PlacedFrame) -> xml.Element:
        element = add_element(self.root, "joint", name=name, type=kind)
        add_origin(element, pose)
        add_element(element, "parent", link=parent)
        add_element(element, "child", link=child)
        return element

    # -- joints ---------------------------------------------------------------------------------

    def _tree_joint(self, step: TreeJoint) -> None:
        """One link after every single joint; in reverse the moves are undone in opposite order.

        So coordinates keep their meaning. Where the body's frame is the joint's, or a slide carries it,
        the body itself is the last link.
        """
        parts, body = chain(step.joint), self.names[step.outer]
        at, place = self.names[step.inner], step.near
        if len(parts) == 1 and (parts[0].move.sliding or not step.far.p.any()):
            axis = step.sign * step.far.R[:, parts[0].move.axis]
            self._single(step.joint, parts[0], at, body, step.pose, axis)
            return
        for part in parts[::-1] if step.reverse else parts:
            link = f"{part.name}_link"
            self.link(link)
            self._single(step.joint, part, at, link, place, step.sign * AXES[part.move.axis])
            at, place = link, HERE
        name = f"{body}_frame" if parts else outer_name(step.joint)
        self.joint(name, "fixed", at, body, place @ step.far.inverse)

    def _single(
        self, joint: Joint, part: SingleJoint, parent: str, child: str, pose: PlacedFrame, axis: np.ndarray
    ) -> None:
        kind, alone = TYPES[joint.type], part.name == outer_name(joint)
        bounded = alone and kind.nq == 1 and joint.limits != (-inf, inf)
        word = "prismatic" if part.move.sliding else "revolute" if bounded else "continuous"
        element = self.joint(part.name, word, parent, child, pose)
        add_element(element, "axis", xyz=digits(axis))
        fast = joint.speed_limit if alone and joint.speed_limit < inf else FAST
        limit = {"effort": digits([self._strength(joint)]), "velocity": digits([fast])}
        if word != "continuous":
            low, high = joint.limits if bounded else (-FAR, FAR)
            limit |= {"lower": digits([max(low, -FAR)]), "upper": digits([min(high, FAR)])}
        add_element(element, "limit", **limit)
        freedom = [p.name for p in chain(joint)].index(part.name)
        if kind.plain and freedom < kind.nv:
            self._dynamics(element, joint, freedom)
        if "pitch" in kind.fields and not alone:  # the slide of a screw
            add_element(element, "mimic", joint=outer_name(joint), multiplier=digits([joint.pitch]))
        tie = next((c for c in self.mechanism.couplings if c.joint == joint.name and simple(c)), None)
        if tie is not None and alone:
            other = outer_name(self.mechanism.joint(tie.follows[0]))
            numbers = {"multiplier": digits(tie.ratio), "offset": digits([tie.offset])}
            add_element(element, "mimic", joint=other, **numbers)

    def _dynamics(self, element: xml.Element, joint: Joint, freedom: int) -> None:
        values = {
            key: digits([getattr(joint, key)[freedom]])
            for key in ("damping", "friction")
            if any(getattr(joint, key))
        }
        if values:
            add_element(element, "dynamics", **values)
        if any(joint.armature):
            self.root.set("xmlns:drake", DRAKE)
            add_element(element, "drake:rotor_inertia", value=digits([joint.armature[freedom]]))

    def _strength(self, joint: Joint) -> float:
        """The largest effort of a motor; none without one."""
        limits = [float(m.limit) for m in self.mechanism.motors if m.joint == joint.name]
        return min(sum(limits), STRONG)

    def cut_frames(self) -> None:
        """Two frames for every cut joint, and rods."""
        for joint in self.tree.cuts:
            self.pair(joint, [f"{outer_name(joint)}_on_{self.names[b]}" for b in (joint.parent, joint.child)])
            if TYPES[joint.type].directionless_ends:
                self._rod(joint, radius(self.mechanism))

    def pair(self, joint: Joint, names: Iterable[str]) -> None:
        """A link without mass for each frame of a joint."""
        sides = (joint.parent, joint.on_parent), (joint.child, joint.on_child)
        for name, (body, frame) in zip(names, sides, strict=True):
            self.link(name)
            self.joint(f"{name}_frame", "fixed", self.names[body], name, of_frame(frame))

    def _rod(self, joint: Joint, thick: float) -> None:
        """A stick along x that turns about z, then y, at its point on the parent (`single_joints.py`)."""
        at, length = self.names[joint.parent], float(joint.length)
        place = PlacedFrame(AXES, np.array(joint.on_parent.position, float))
        for part in chain(joint):
            link = f"{part.name}_link"
            body = self.link(link)
            element = self.joint(part.name, "continuous", at, link, place)
            add_element(element, "axis", xyz=digits(AXES[part.move.axis]))
            at, place = link, HERE
        end, tip = np.array([length, 0.0, 0.0]), f"{outer_name(joint)}_end"
        _stick(body, np.zeros(3), end, thick / 2, len(COLOURS) - 1)
        self.link(tip)
        self.joint(f"{tip}_frame", "fixed", at, tip, PlacedFrame(AXES, end))

    # -- bodies -----------------------------------------------------------------------------------

    def _bodies(self) -> None:
        """One link a body with mass, inertia and visuals."""
        for body in lump_point_masses(self.mechanism).bodies:
            link = self.link(self.names[body.name])
            if float(body.mass) > 0:
                inertial = add_element(link, "inertial")
                add_origin(inertial, PlacedFrame(AXES, np.array(body.com, float)))
                add_element(inertial, "mass", value=digits([body.mass]))
                keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
                values = (digits([x]) for x in body.inertia)
                add_element(inertial, "inertia", **dict(zip(keys, values, strict=True)))
            for visual in self.visuals.get(body.name, ()):
                self._visual(link, visual)

    def _visual(self, link: xml.Element, visual: Visual) -> None:
        size = visual.size
        sizes: dict[str, str] = {}
        if visual.shape == "box":
            sizes = {"size": digits(size)}
        elif visual.shape == "mesh":
            sizes = {"filename": self.mesh(visual.file), "scale": digits(size)}
        else:
            sizes = {key: digits([x]) for key, x in zip(("radius", "length"), size, strict=False)}
        at = quaternion(visual.at, visual.orientation)
        parts = [(at, visual.shape, sizes)]
        if visual.shape == "capsule":  # URDF has none: a cylinder between two balls
            ends = [at @ point_at((0.0, 0.0, side * size[1] / 2)) for side in (1, -1)]
            parts = [(at, "cylinder", sizes), *((end, "sphere", {"radius": sizes["radius"]}) for end in ends)]
        for place, shape, given in parts:
            element = _shape(link, place, shape, **given)
            if visual.colour:
                material = add_element(element, "material", name=f"{visual.name}_colour")
                add_element(material, "color", rgba=digits(visual.colour))

    def sticks(self) -> None:
        """Shapes for bodies that say none."""
        thick, looks = radius(self.mechanism), shapes(self.mechanism)
        links = {element.get("name"): element for element in self.root.findall("link")}
        for k, body in enumerate(self.mechanism.bodies):
            if body.name not in self.visuals:
                link, look = links[self.names[body.name]], looks[body.name]
                for a, b in look.sticks:
                    _stick(link, a, b, thick, k)
                if look.ball is not None:
                    ball = _shape(link, PlacedFrame(AXES, look.ball), "sphere", radius=digits([3 * thick]))
                    _painted(ball, k)


def add_origin(element: xml.Element, pose: PlacedFrame) -> None:
    """URDF's position, and fixed-axis roll, pitch, yaw."""
    x, y, z, w = Rotation.from_matrix(pose.R).as_quat().tolist()
    yaw, pitch, roll = yaw_pitch_roll((w, x, y, z))
    add_element(element, "origin", xyz=digits(pose.p), rpy=digits((roll, pitch, yaw)))


def _shape(link: xml.Element, at: PlacedFrame, shape: str, **sizes: str) -> xml.Element:
    visual = add_element(link, "visual")
    add_origin(visual, at)
    add_element(add_element(visual, "geometry"), shape, **sizes)
    return visual


def _stick(link: xml.Element, a: np.ndarray, b: np.ndarray, thick: float, colour: int) -> None:
    """A cylinder, which has its axis along z, from a point to another."""
    dx, dy, dz = b - a
    turn = Rotation.from_euler("xyz", [0.0, atan2(hypot(dx, dy), dz), atan2(dy, dx)]).as_matrix()
    sizes = {"radius": digits([thick]), "length": digits([float(np.linalg.norm(b - a))])}
    _painted(_shape(link, PlacedFrame(turn, (a + b) / 2), "cylinder", **sizes), colour)


def _painted(visual: xml.Element, colour: int) -> None:
    material = add_element(visual, "material", name=f"colour{colour % len(COLOURS)}")
    add_element(material, "color", rgba=COLOURS[colour % len(COLOURS)])
