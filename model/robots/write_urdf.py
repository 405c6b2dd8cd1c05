"""A mechanism's spanning tree as URDF, the robot description that viewers and other engines read.

URDF knows trees of joints with one coordinate. So balls, universal and other joints become chains
of turns and slides (`single_joints.py`, which also computes their values), and every cut joint
leaves two frames, `<joint>_on_<body>`, one on each of its bodies; when the tree moves by the
joint values of a closed mechanism, the two meet as the joint demands. A rod without mass hangs on
its parent by two turns, and its `<joint>_end` meets the child. Each body is a link in its
own frame under its own name, and the root is `ground`. Shapes are sticks between joints.
"""

from collections.abc import Iterable
from math import atan2, hypot, inf, isfinite
from xml.etree import ElementTree as xml

import numpy as np
from scipy.spatial.transform import Rotation

from ..describe.mechanism import GROUND, Frame, Joint, Mechanism
from ..equations.single_joints import chain
from ..equations.spatial import lumped
from ..equations.topology import Tree, span
from ..errors import DescriptionError
from ..joints.angles import yaw_pitch_roll
from ..joints.types import TYPES
from ..show.shapes import radius, shapes
from ..show.sketch import Pose, joint_frame

AXES = np.eye(3)
STILL: Pose = (AXES, np.zeros(3))
# URDF wants numbers where a description says nothing: metres, N or N·m, m/s or rad/s.
FAR, STRONG, FAST = 1e3, 1e6, 1e3
COLOURS = ("0.27 0.47 0.70 1", "0.90 0.55 0.20 1", "0.35 0.65 0.35 1", "0.75 0.35 0.35 1", "0.55 0.45 0.70 1")


def urdf(mechanism: Mechanism, tree: Tree | None = None) -> str:
    """URDF text of the spanning tree (the engine's own unless given)."""
    tree = tree or span(mechanism)
    robot = xml.Element("robot", name=mechanism.name)
    xml.SubElement(robot, "link", name=GROUND)
    for name in tree.q:
        joint = mechanism.joint(name)
        reverse = next(link.reverse for link in tree.links if link.joint == name)
        _tree_joint(robot, mechanism, joint, reverse)
    for joint in tree.cuts:
        for body, frame in ((joint.parent, joint.on_parent), (joint.child, joint.on_child)):
            end = f"{joint.name}_on_{body}"
            xml.SubElement(robot, "link", name=end)
            _joint(robot, f"{end}_frame", "fixed", body, end, _in_body(frame))
        if TYPES[joint.type].directionless_ends:
            _rod(robot, joint, radius(mechanism))
    _bodies(robot, mechanism)
    for kind in ("link", "joint"):
        names = [element.get("name") for element in robot.findall(kind)]
        twice = next((n for n in names if names.count(n) > 1), None)
        if twice:
            raise DescriptionError(
                f"the URDF of '{mechanism.name}' would have two {kind}s '{twice}'; rename a body or a joint"
            )
    xml.indent(robot)
    return '<?xml version="1.0"?>\n' + xml.tostring(robot, encoding="unicode") + "\n"


def _tree_joint(robot: xml.Element, mechanism: Mechanism, joint: Joint, reverse: bool) -> None:
    """A joint of the tree from the body near ground to the other, one link after every single joint.

    In reverse the moves are undone in opposite order, so that coordinates keep their meaning.
    """
    inner, outer = (joint.child, joint.parent) if reverse else (joint.parent, joint.child)
    near, far = (joint.on_child, joint.on_parent) if reverse else (joint.on_parent, joint.on_child)
    parts = chain(joint)
    at, place = inner, _in_body(near)
    for part in parts[::-1] if reverse else parts:
        link = f"{part.name}_link"
        xml.SubElement(robot, "link", name=link)
        bounded = len(parts) == 1 and joint.limits != (-inf, inf)
        kind = "prismatic" if part.move.sliding else "revolute" if bounded else "continuous"
        element = _joint(robot, part.name, kind, at, link, place)
        sign = -1.0 if reverse else 1.0
        xml.SubElement(element, "axis", xyz=_text(sign * x + 0.0 for x in AXES[part.move.axis]))
        limit = {"effort": _text([_strength(mechanism, joint)]), "velocity": _text([FAST])}
        if kind != "continuous":
            low, high = joint.limits if bounded else (-FAR, FAR)
            limit |= {"lower": _text([max(low, -FAR)]), "upper": _text([min(high, FAR)])}
        xml.SubElement(element, "limit", limit)
        at, place = link, STILL
    (Rn, pn), (R, p) = place, _in_body(far)
    name = f"{outer}_frame" if parts else joint.name
    _joint(robot, name, "fixed", at, outer, (Rn @ R.T, pn - Rn @ R.T @ p))


def _rod(robot: xml.Element, joint: Joint, thick: float) -> None:
    """A stick along x that turns about z, then y, at its point on the parent (`single_joints.py`)."""
    at, length = joint.parent, float(joint.length)
    place = AXES, np.array(joint.on_parent.position, float)
    for part in chain(joint):
        link = f"{part.name}_link"
        body = xml.SubElement(robot, "link", name=link)
        element = _joint(robot, part.name, "continuous", at, link, place)
        xml.SubElement(element, "axis", xyz=_text(AXES[part.move.axis]))
        at, place = link, STILL
    end = np.array([length, 0.0, 0.0])
    _stick(body, np.zeros(3), end, thick / 2, len(COLOURS) - 1)
    xml.SubElement(robot, "link", name=f"{joint.name}_end")
    _joint(robot, f"{joint.name}_end_frame", "fixed", at, f"{joint.name}_end", (AXES, end))


def _strength(mechanism: Mechanism, joint: Joint) -> float:
    limits = [float(m.limit) for m in mechanism.motors if m.joint == joint.name]
    return sum(limits) if limits and isfinite(sum(limits)) else STRONG


def _in_body(frame: Frame) -> Pose:
    return joint_frame(frame, STILL)


def _joint(robot: xml.Element, name: str, kind: str, parent: str, child: str, pose: Pose) -> xml.Element:
    element = xml.SubElement(robot, "joint", name=name, type=kind)
    _origin(element, pose[1], _rpy(pose[0]))
    xml.SubElement(element, "parent", link=parent)
    xml.SubElement(element, "child", link=child)
    return element


def _origin(element: xml.Element, xyz: Iterable[float], rpy: Iterable[float] = (0.0, 0.0, 0.0)) -> None:
    xml.SubElement(element, "origin", xyz=_text(xyz), rpy=_text(rpy))


def _rpy(R: np.ndarray) -> tuple[float, float, float]:
    """URDF's fixed-axis roll, pitch, yaw of a rotation."""
    x, y, z, w = Rotation.from_matrix(R).as_quat().tolist()
    yaw, pitch, roll = yaw_pitch_roll((w, x, y, z))
    return roll, pitch, yaw


def _bodies(robot: xml.Element, mechanism: Mechanism) -> None:
    """One link a body with mass, inertia and sticks."""
    thick = radius(mechanism)
    looks = shapes(mechanism)
    for k, body in enumerate(lumped(mechanism).bodies):
        link = xml.SubElement(robot, "link", name=body.name)
        if float(body.mass) > 0:
            inertial = xml.SubElement(link, "inertial")
            _origin(inertial, body.com)
            xml.SubElement(inertial, "mass", value=_text([body.mass]))
            keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
            values = (_text([x]) for x in body.inertia)
            xml.SubElement(inertial, "inertia", dict(zip(keys, values, strict=True)))
        for a, b in looks[body.name].sticks:
            _stick(link, a, b, thick, k)
        ball = looks[body.name].ball
        if ball is not None:
            _visual(link, ball, (0.0, 0.0, 0.0), k, "sphere", radius=3 * thick)


def _stick(link: xml.Element, a: np.ndarray, b: np.ndarray, thick: float, colour: int) -> None:
    """A cylinder, which has its axis along z, from a point to another."""
    dx, dy, dz = b - a
    turn = (0.0, atan2(hypot(dx, dy), dz), atan2(dy, dx))
    _visual(link, (a + b) / 2, turn, colour, "cylinder", radius=thick, length=float(np.linalg.norm(b - a)))


def _visual(
    link: xml.Element, xyz: np.ndarray, rpy: Iterable[float], colour: int, shape: str, **sizes: float
) -> None:
    visual = xml.SubElement(link, "visual")
    _origin(visual, xyz, rpy)
    geometry = xml.SubElement(visual, "geometry")
    xml.SubElement(geometry, shape, {key: _text([size]) for key, size in sizes.items()})
    material = xml.SubElement(visual, "material", name=f"colour{colour % len(COLOURS)}")
    xml.SubElement(material, "color", rgba=COLOURS[colour % len(COLOURS)])


def _text(numbers: Iterable[float]) -> str:
    """Numbers with all their digits, so that a reader gets the same geometry to the last bit."""
    return " ".join(repr(float(x) + 0.0) for x in numbers)
