"""Reading SDF, versions 1.4 to 1.11: a graph of links and joints, so that loops need no dialect.

A pose is given in a frame: a link's in the model's, a joint's in its child's, unless `relative_to` names
another link, joint or frame. A joint's axis is in the joint's frame, unless `expressed_in` (since 1.7) or
`use_parent_model_frame` (1.5, 1.6) say otherwise; up to 1.4 it is in the model's.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import inf, pi, radians

import numpy as np

from ..base.thresholds import PARALLEL
from ..urdf.placement import HERE, PlacedFrame, along, quaternion, roll_pitch_yaw
from .drake_tags import drake_loops
from .robot import (
    WORLD,
    Coupled,
    Robot,
    RobotJoint,
    RobotLink,
    RobotVisual,
    note_left_out,
    reached_from,
    shapes_of,
)
from .xml_nodes import Node

TYPES = ("revolute", "continuous", "prismatic", "fixed", "ball", "universal", "revolute2", "screw", "gearbox")
SINGLE = ("revolute", "prismatic", "helical")
_NONE = 1e15  # limits beyond this stand for none
_KEYS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def read_sdf(root: Node) -> Robot:
    """The one model below a root element."""
    if root.tag != "sdf":
        root.refuse(f"an SDF file starts with <sdf>, not with <{root.tag}>")
    version = root.number("version")
    if not 1.0 <= version < 2.0:
        root.refuse(f"SDF version {root.get('version')} is not known; known are 1.4 to 1.11")
    minor = int(root.get("version").partition(".")[2] or 0)
    world = root.find("world")
    holder = root if world is None else world
    for include in holder.all("include"):
        include.refuse(
            f"includes are not read; put the model '{include.text_of('uri')}' into this file instead"
        )
    models = holder.all("model")
    if len(models) != 1:
        names = ", ".join(model.get("name") for model in models) or "none"
        root.refuse(f"a file must hold one model; this one holds {names}")
    return _Model(models[0], minor, world).robot()


def joints_between(
    nodes: list[Node], places: dict[str, PlacedFrame], asker: Node
) -> tuple[list[RobotJoint], list[str]]:
    """SDF joints between links that are placed elsewhere, as URDF has them in `<gazebo>`."""
    links = [Node("link", {"name": name}, asker.line, asker.file) for name in places]
    model = _Model(Node("model", {}, asker.line, asker.file, [*links, *nodes]), minor=7, world=None)
    model.found |= places
    joints = [joint for node in nodes for joint in model.joint(node)]
    skew = next((joint for joint in joints if joint.child not in places), None)
    if skew is not None:
        asker.refuse(f"the two axes of joint '{skew.name}' are not at right angles; write them as two joints")
    return [replace(joint, closes=True) for joint in joints], model.notes


class _Model:
    """A model while it is read: its frames by name."""

    def __init__(self, node: Node, minor: int, world: Node | None) -> None:
        self.node, self.minor, self.world = node, minor, world
        for tag in ("model", "include"):
            for inner in node.all(tag):
                inner.refuse(
                    f"nested models are not read; put the links of this <{tag}> into the model itself"
                )
        self.links = {link.name(): link for link in node.all("link")}
        self.joints = {joint.name(): joint for joint in node.all("joint")}
        self.frames = {frame.name(): frame for frame in node.all("frame")}
        for kind in ("link", "joint"):
            found = [item.name() for item in node.all(kind)]
            twice = next((name for name in found if found.count(name) > 1), None)
            if twice:
                node.refuse(f"two {kind}s are named '{twice}'; rename one")
        if not self.links:
            node.refuse(f"model '{node.get('name')}' has no links")
        self.found: dict[str, PlacedFrame] = {"__model__": HERE}
        self.notes: list[str] = []

    def robot(self) -> Robot:
        node = self.node
        links = [self._link(link) for link in self.links.values()]
        joints: list[RobotJoint] = []
        for joint in self.joints.values():
            for part in self.joint(joint):
                joints.append(part)
                if part.child not in self.links and part.child != WORLD:
                    links.append(RobotLink(part.child))
        couplings = [
            self._gearbox(joint, joints) for joint in self.joints.values() if joint.get("type") == "gearbox"
        ]
        couplings += [m for joint in self.joints.values() for m in self._mimics(joint)]
        closing, notes = drake_loops(node, self.link_of, self.frame_of)
        joints += closing
        self.notes += notes
        self.notes += note_left_out("plugins", [p.get("name") for p in node.all("plugin")])
        base = node.get("canonical_link") or next(iter(self.links))
        if base not in self.links:
            node.refuse(f"the canonical link '{base}' is not there")
        joints += self._floating(base, joints)
        return Robot(
            node.get("name") or "model",
            tuple(links),
            tuple(_closed(joints)),
            tuple(couplings),
            gravity=(0.0, 0.0, -9.81)
            if self.world is None
            else self.world.vector_in("gravity", (0.0, 0.0, -9.81)),
            base=base,
            at=self.pose(node) @ self.place(base, node),
            notes=tuple(self.notes),
        )

    def _floating(self, base: str, joints: list[RobotJoint]) -> list[RobotJoint]:
        """Free joints for links that nothing connects to the base or the world."""
        found = []
        ties = [(joint.parent, joint.child) for joint in joints]
        reached = reached_from({base, WORLD}, ties)
        for link in self.links:
            if link not in reached:
                at = self.pose(self.node) @ self.place(link, self.node)
                found.append(RobotJoint(f"{link}_free", "free", WORLD, link, at))
                self.notes.append(f"base: {link} floats, since no joint holds it")
                reached = reached_from({*reached, link}, ties)
        return found

    # -- poses ------------------------------------------------------------------------------------

    def pose(self, node: Node) -> PlacedFrame:
        """The numbers of an element's pose."""
        found = node.find("pose")
        if found is None or not found.text:
            return HERE
        if found.get("rotation_format") == "quat_xyzw":
            *p, x, y, z, w = found.numbers(found.text, 7, "the pose")
            if not any((x, y, z, w)):
                found.refuse("a quaternion must not be zero")
            return quaternion(p, (w, x, y, z))
        numbers = found.numbers(found.text, 6, "the pose")
        angles = [radians(x) for x in numbers[3:]] if found.get("degrees") == "true" else numbers[3:]
        return roll_pitch_yaw(numbers[:3], angles)

    def place(self, name: str, asker: Node, path: tuple[str, ...] = ()) -> PlacedFrame:
        """Where a link, joint or frame is in the model."""
        if name in self.found:
            return self.found[name]
        if name in path:
            asker.refuse(f"the poses of {', '.join(path)} are given relative to each other in a circle")
        if name in self.links:
            node, otherwise = self.links[name], "__model__"
        elif name in self.frames:
            node = self.frames[name]
            otherwise = node.get("attached_to") or "__model__"
        elif name in self.joints:
            node = self.joints[name]
            otherwise = node.text_of("child") or "__model__"
        elif name in ("world", "__root__"):
            return self.pose(self.node).inverse
        else:
            asker.refuse(f"there is no link, joint or frame '{name}'")
        found = node.find("pose")
        relative = (found.get("relative_to") or found.get("frame")) if found is not None else ""
        outer = self.place(relative or otherwise, node, (*path, name))
        self.found[name] = outer @ self.pose(node)
        return self.found[name]

    def joint_place(self, node: Node) -> PlacedFrame:
        """Where a joint is; before 1.7 a link may have the same name."""
        if node.name() not in self.links:
            return self.place(node.name(), node)
        found = node.find("pose")
        relative = (found.get("relative_to") or found.get("frame")) if found is not None else ""
        return self.place(relative or node.text_of("child"), node) @ self.pose(node)

    def link_of(self, name: str, asker: Node, depth: int = 0) -> str:
        """The link that a name stands for: itself, or what a frame is attached to."""
        if name in self.links:
            return name
        if name == "world":
            return WORLD
        if name in self.frames and depth < len(self.frames) + 1:
            frame = self.frames[name]
            return self.link_of(frame.get("attached_to") or next(iter(self.links)), frame, depth + 1)
        if name == "__model__":
            return next(iter(self.links))
        asker.refuse(f"joint '{asker.get('name')}': there is no link '{name}'")

    def frame_of(self, name: str, asker: Node) -> tuple[str, PlacedFrame]:
        """The link that a frame is on, and where on it."""
        link = self.link_of(name, asker)
        return link, self.place(link or "world", asker).inverse @ self.place(name, asker)

    # -- items ------------------------------------------------------------------------------------

    def _link(self, node: Node) -> RobotLink:
        self.place(node.name(), node)
        visuals = shapes_of(node.all("visual"), self._visual, self.notes)
        if node.all("sensor"):
            self.notes += note_left_out(
                f"sensors of {node.name()}:", [s.get("name") for s in node.all("sensor")]
            )
        inertial = node.find("inertial")
        if inertial is None:
            self.notes.append(f"read: {node.name()} says no inertia; SDF makes it 1 kg and 1 kg.m2")
            return RobotLink(node.name(), 1.0, np.zeros(3), np.eye(3), visuals)
        if inertial.get("auto") == "true":
            inertial.refuse(
                f"link '{node.name()}' has no inertia of its own (auto); write its mass and inertia"
            )
        at = self.pose(inertial)
        tensor, inertia = inertial.find("inertia"), np.eye(3)
        if tensor is not None:
            for (i, j), key in zip(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)), _KEYS, strict=True):
                inertia[i, j] = inertia[j, i] = tensor.number_in(key, 1.0 if i == j else 0.0)
        mass = inertial.number_in("mass", 1.0)
        if mass < 0:
            node.refuse(f"link '{node.name()}' has the mass {mass:g}; a mass must not be negative")
        return RobotLink(node.name(), mass, at.p, at.R @ inertia @ at.R.T, visuals)

    def _visual(self, node: Node) -> RobotVisual | None:
        geometry = node.find("geometry")
        shape = geometry.children[0] if geometry is not None and geometry.children else None
        if shape is None:
            return None
        diffuse = node.find("material/diffuse")
        colour = (
            () if diffuse is None else diffuse.numbers(diffuse.text, len(diffuse.text.split()), "the colour")
        )
        at = self.pose(node)
        if shape.tag == "box":
            return RobotVisual("box", shape.vector_in("size", (1.0, 1.0, 1.0)), at, colour)
        if shape.tag == "sphere":
            return RobotVisual("sphere", (shape.number_in("radius", 1.0),), at, colour)
        if shape.tag in ("cylinder", "capsule"):
            size = (shape.number_in("radius", 1.0), shape.number_in("length", 1.0))
            return RobotVisual(shape.tag, size, at, colour)
        if shape.tag == "mesh":
            return RobotVisual("mesh", shape.vector_in("scale", (1.0,) * 3), at, colour, shape.text_of("uri"))
        return None

    def joint(self, node: Node) -> Iterator[RobotJoint]:
        """A joint of ours, or two of them."""
        name, kind = node.name(), node.name("type")
        if kind not in TYPES:
            node.refuse(f"joint '{name}' has the type '{kind}'; known: {', '.join(TYPES)}")
        if kind == "gearbox":
            return
        ends = [node.text_of(end) for end in ("parent", "child")]
        for end, text in zip(("parent", "child"), ends, strict=True):
            if not text:
                node.refuse(f"joint '{name}' needs a <{end}>")
        parent, child = (self.link_of(end, node) for end in ends)
        here = self.joint_place(node)
        if kind in ("fixed", "ball"):
            ours = "fixed" if kind == "fixed" else "spherical"
            yield self._between(node, name, ours, parent, child, here)
            return
        axis = self._axis(node, "axis", here)
        ours = {"prismatic": "prismatic", "screw": "helical"}.get(kind, "revolute")
        if kind in ("universal", "revolute2"):
            yield from self._universal(node, name, parent, child, here, axis)
            return
        joint = self._between(node, name, ours, parent, child, here @ along(axis), "axis")
        yield replace(joint, pitch=self._pitch(node)) if kind == "screw" else joint

    def _universal(
        self, node: Node, name: str, parent: str, child: str, here: PlacedFrame, axis: tuple[float, ...]
    ) -> Iterator[RobotJoint]:
        """One joint where its axes are at right angles; else two hinges with a link of no mass between."""
        second = self._axis(node, "axis2", here)
        turns = [self._between(node, "", "revolute", parent, child, here, tag) for tag in ("axis", "axis2")]
        if abs(np.dot(axis, second)) < PARALLEL * np.linalg.norm(axis) * np.linalg.norm(second):
            if any(turn.limits != (-inf, inf) for turn in turns):
                self.notes.append(f"left out: the limits of {name}, which turns about two axes")
            damping, friction = (max(getattr(turn, key) for turn in turns) for key in ("damping", "friction"))
            joint = self._between(node, name, "universal", parent, child, here @ along(axis, second))
            yield replace(joint, damping=damping, friction=friction)
            return
        middle = f"{name}_cross"
        self.found[middle] = here
        yield self._between(node, name, "revolute", parent, middle, here @ along(axis), "axis")
        yield self._between(node, f"{name}_2", "revolute", middle, child, here @ along(second), "axis2")

    def _axis(self, node: Node, tag: str, here: PlacedFrame) -> tuple[float, ...]:
        """The direction of an axis in the joint's frame."""
        axis = node.need(tag)
        xyz = axis.find("xyz")
        direction = np.array(axis.vector_in("xyz", (0.0, 0.0, 1.0)))
        if not direction.any():
            axis.refuse(f"the axis of joint '{node.get('name')}' must not be zero, since it is a direction")
        in_model = axis.text_of("use_parent_model_frame") in ("true", "1") or self.minor <= 4
        frame = "__model__" if in_model else "" if xyz is None else xyz.get("expressed_in")
        if frame:
            direction = here.R.T @ self.place(frame, axis).R @ direction
        return tuple(float(x) for x in direction)

    def _pitch(self, node: Node) -> float:
        """Metres a radian: from metres a turn, or from the older radians a metre of opposite sign."""
        if node.find("screw_thread_pitch") is not None:
            pitch = node.number_in("screw_thread_pitch", 1.0) / (2 * pi)
        else:
            turns = node.number_in("thread_pitch", 1.0)
            pitch = -1.0 / turns if turns else 0.0
        if not pitch:
            node.refuse(f"screw '{node.get('name')}' needs a thread pitch that is not zero")
        return pitch

    def _between(
        self, node: Node, name: str, kind: str, parent: str, child: str, here: PlacedFrame, tag: str = ""
    ) -> RobotJoint:
        places = [
            self.place("world" if end == WORLD else end, node).inverse @ here for end in (parent, child)
        ]
        joint = RobotJoint(name, kind, parent, child, places[0], places[1])
        axis = node.find(tag) if tag else None
        if axis is None:
            return joint
        limit, dynamics = axis.find("limit"), axis.find("dynamics")
        start = axis.number_in("initial_position", 0.0)
        joint = replace(joint, start=(start,) if start and kind in SINGLE else ())
        if limit is not None and node.get("type") != "continuous":
            low, high = limit.number_in("lower", -inf), limit.number_in("upper", inf)
            low, high = (-inf if low < -_NONE else low), (inf if high > _NONE else high)
            joint = replace(joint, limits=(low, high) if low < high else joint.limits)
            given = (limit.number_in(key, -1.0) for key in ("effort", "velocity"))
            effort, speed = (x if 0 < x < _NONE else inf for x in given)
            joint = replace(joint, effort=effort, speed_limit=speed)
        if dynamics is not None:
            joint = replace(
                joint,
                damping=max(dynamics.number_in("damping", 0.0), 0.0),
                friction=max(dynamics.number_in("friction", 0.0), 0.0),
                stiffness=max(dynamics.number_in("spring_stiffness", 0.0), 0.0),
                rest=dynamics.number_in("spring_reference", 0.0),
            )
        return joint

    def _mimics(self, node: Node) -> Iterator[Coupled]:
        """SDF 1.11: q = multiplier·(q_other − reference) + offset."""
        mimic, name = node.find("axis/mimic"), node.name()
        if mimic is None:
            return
        other = mimic.name("joint")
        if other not in self.joints or other == name:
            mimic.refuse(f"joint '{name}' mimics '{other}', which is no other joint")
        ratio = mimic.number_in("multiplier", 1.0)
        offset = mimic.number_in("offset", 0.0) - ratio * mimic.number_in("reference", 0.0)
        yield Coupled(f"{name}_mimic", {name: (1.0,), other: (-ratio,)}, -offset)

    def _gearbox(self, node: Node, joints: list[RobotJoint]) -> Coupled:
        """θ₁ = −ratio·θ₂ of parent and child about the reference body (SDF's definition)."""
        name, reference = node.name(), self.link_of(node.text_of("gearbox_reference_body"), node)
        terms: dict[str, tuple[float, ...]] = {}
        here = self.joint_place(node)
        for end, tag, factor in (
            ("parent", "axis", 1.0),
            ("child", "axis2", node.number_in("gearbox_ratio", 1.0)),
        ):
            link = self.link_of(node.text_of(end), node)
            joint = next((j for j in joints if {j.parent, j.child} == {reference, link}), None)
            if joint is None or joint.type != "revolute":
                node.refuse(f"gearbox '{name}': no hinge joins '{link}' with '{reference}'")
            axis = here.R @ np.array(self._axis(node, tag, here))
            turns = (self.place(joint.child, node) @ joint.on_child).R[:, 2]
            sign = np.sign(axis @ turns) * (1.0 if joint.child == link else -1.0)
            terms[joint.name] = (float(sign * factor),)
        return Coupled(name, terms)


def _closed(joints: list[RobotJoint]) -> list[RobotJoint]:
    """The joints, those marked that close a loop: rigid ones are taken into the tree first."""
    group: dict[str, str] = {}

    def root(link: str) -> str:
        while group.get(link, link) != link:
            link = group[link]
        return link

    closing = set()
    for joint in sorted(joints, key=lambda joint: joint.type != "fixed"):
        a, b = root(joint.parent), root(joint.child)
        if a == b:
            closing.add(joint.name)
        else:
            group[b] = a
    return [replace(joint, closes=joint.name in closing) for joint in joints]
