"""Reading URDF: links, joints, mimics, transmissions and shapes; loops in `urdf_loops.py`.

A URDF joint's frame lies in the parent at `origin`; the child's frame is the joint's, so a joint turns about,
or slides along, `axis` in the child's axes, through the child's origin.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np

from ..base.errors import DescriptionError
from ..base.subprocesses import run_program
from ..urdf.placement import HERE, PlacedFrame, along, roll_pitch_yaw
from .robot import Coupled, Drive, Robot, RobotJoint, RobotLink, RobotVisual, note_left_out, shapes_of
from .xml_nodes import Node, parse_xml

_ELEMENTS = (
    *("link", "joint", "material", "transmission", "ros2_control", "sensor", "gazebo", "frame"),
    *("loop", "loop_joint", "constraint", "coupling"),
)
LONGEST_EXPANSION = 30  # seconds that xacro may take
# URDF's types in our words; `ball` and `spherical` are what others add to it.
TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
    "planar": "planar",
    "spherical": "spherical",
    "ball": "spherical",
    "universal": "universal",
    "cylindrical": "cylindrical",
}


def expand_trusted(path: Path, arguments: Mapping[str, str], packages: Sequence[Path]) -> Node:
    """What a xacro file becomes by the xacro package, which runs whatever the file says."""
    program = [sys.executable, "-m", f"{__package__}.run_xacro", str(path.resolve())]
    program += [json.dumps(dict(arguments)), *map(str, packages)]
    try:
        done = run_program(program, LONGEST_EXPANSION)
    except subprocess.TimeoutExpired:
        raise DescriptionError(f"{path}: xacro takes longer than {LONGEST_EXPANSION} s") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise DescriptionError(f"{path}: {lines[-1] if lines else 'xacro failed'}")
    return parse_xml(done.stdout, str(path))


def read_urdf(root: Node) -> Robot:
    """The tree below a root element, without loops."""
    if root.tag != "robot":
        root.refuse(f"a URDF file starts with <robot>, not with <{root.tag}>")
    colours = {m.get("name"): colour(m) for m in root.all("material")}
    notes: list[str] = []
    links = tuple(_link(node, colours, notes) for node in root.all("link"))
    nodes = root.all("joint")
    joints = tuple(_joint(node, notes) for node in nodes)
    _unique(root, [link.name for link in links], "link")
    _unique(root, [joint.name for joint in joints], "joint")
    base = _root(root, links, joints, nodes)
    couplings = tuple(_mimic(node, joints) for node in nodes if node.find("mimic"))
    collisions = [
        link.name for node, link in zip(root.all("link"), links, strict=True) if node.all("collision")
    ]
    notes += note_left_out("collision shapes of", collisions)
    notes += note_left_out("sensors", [n.get("name") for n in root.all("sensor")])
    drives = _drives(root, joints)
    notes += [f"left out: <{n.tag}> {n.get('name')}".rstrip() for n in root if not _known(n.tag)]
    return Robot(root.get("name") or "robot", links, joints, couplings, drives, base=base, notes=tuple(notes))


def _known(tag: str) -> bool:
    """Whether an element of the robot is read, here or in `urdf_loops.py`, or told of there."""
    return tag in _ELEMENTS or tag.startswith("drake:")


def _unique(root: Node, names: list[str], what: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        root.refuse(f"two {what}s are named '{twice[0]}'; rename one")


def _root(root: Node, links: tuple[RobotLink, ...], joints: tuple[RobotJoint, ...], nodes: list[Node]) -> str:
    """The one link that is no joint's child."""
    names = {link.name for link in links}
    for joint, node in zip(joints, nodes, strict=True):
        for end in (joint.parent, joint.child):
            if end not in names:
                node.refuse(f"joint '{joint.name}': there is no link '{end}'")
    children = [joint.child for joint in joints]
    twice = next((name for name, count in Counter(children).items() if count > 1), None)
    if twice:
        both = " and ".join(f"'{j.name}'" for j in joints if j.child == twice)
        root.refuse(f"link '{twice}' is the child of {both}; URDF is a tree: write one of them as a <loop>")
    roots = [link.name for link in links if link.name not in children]
    if len(roots) != 1:
        what = f"the links {', '.join(roots)} have no parent" if roots else "every link has a parent"
        root.refuse(f"{what}; a robot has exactly one root link")
    return roots[0]


# -- links ----------------------------------------------------------------------------------------


def origin(node: Node | None) -> PlacedFrame:
    """The placement that `xyz` and `rpy` of an element say."""
    if node is None:
        return HERE
    zero = (0.0, 0.0, 0.0)
    return roll_pitch_yaw(node.vector("xyz", zero), node.vector("rpy", zero))


def _link(node: Node, colours: dict[str, tuple[float, ...]], notes: list[str]) -> RobotLink:
    visuals = shapes_of(node.all("visual"), lambda shape: visual(shape, colours), notes)
    inertial = node.find("inertial")
    if inertial is None:
        return RobotLink(node.name(), visuals=visuals)
    at = origin(inertial.find("origin"))
    mass = inertial.find("mass")
    kilograms = 0.0 if mass is None else mass.number("value")
    if kilograms < 0:
        node.refuse(f"link '{node.name()}' has the mass {kilograms:g}; a mass must not be negative")
    tensor = inertial.find("inertia")
    inertia = np.zeros((3, 3))
    if tensor is not None:
        for (i, j), key in zip(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)), KEYS, strict=True):
            inertia[i, j] = inertia[j, i] = tensor.number(key, 0.0)
    return RobotLink(node.name(), kilograms, at.p, at.R @ inertia @ at.R.T, visuals)


KEYS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def colour(material: Node | None) -> tuple[float, ...]:
    """rgba of a material, empty if it says none."""
    found = None if material is None else material.find("color")
    return () if found is None else found.vector("rgba", (0.7, 0.7, 0.7, 1.0))


def visual(node: Node, colours: dict[str, tuple[float, ...]]) -> RobotVisual | None:
    """A shape, None if it is of no kind we know."""
    geometry = node.find("geometry")
    shape = geometry.children[0] if geometry is not None and geometry.children else None
    if shape is None:
        return None
    material = node.find("material")
    rgba = colour(material) or (colours.get(material.get("name"), ()) if material else ())
    at = origin(node.find("origin"))
    if shape.tag == "box":
        return RobotVisual("box", shape.vector("size", (1.0, 1.0, 1.0)), at, rgba)
    if shape.tag == "sphere":
        return RobotVisual("sphere", (shape.number("radius"),), at, rgba)
    if shape.tag in ("cylinder", "capsule"):
        return RobotVisual(shape.tag, (shape.number("radius"), shape.number("length")), at, rgba)
    if shape.tag == "mesh":
        return RobotVisual("mesh", shape.vector("scale", (1.0, 1.0, 1.0)), at, rgba, shape.name("filename"))
    return None


# -- joints ---------------------------------------------------------------------------------------


def _joint(node: Node, notes: list[str]) -> RobotJoint:
    name, kind = node.name(), node.name("type").lower()
    if kind not in TYPES:
        node.refuse(f"joint '{name}' has the type '{kind}'; known: {', '.join(TYPES)}")
    parent, child = (node.need(end).name("link") for end in ("parent", "child"))
    axes = along(axis_of(node)) if TYPES[kind] not in ("fixed", "free", "spherical") else HERE
    at = origin(node.find("origin")) @ axes
    joint = RobotJoint(name, TYPES[kind], parent, child, at, axes, armature=_rotor(node))
    return with_resistance(joint, node, notes)


def with_resistance(joint: RobotJoint, node: Node, notes: list[str]) -> RobotJoint:
    """The joint with the limits, effort, damping and friction that its element says."""
    limit, kind = node.find("limit"), node.get("type").lower()
    if limit is not None:
        effort, speed = (limit.number(key, 0.0) for key in ("effort", "velocity"))
        joint = replace(joint, effort=effort or inf, speed_limit=speed if speed > 0 else inf)
        if kind in ("revolute", "prismatic"):
            low, high = limit.number("lower", 0.0), limit.number("upper", 0.0)
            if low < high:
                joint = replace(joint, limits=(low, high))
            elif limit.get("lower") and limit.get("upper"):
                notes.append(
                    f"repaired: joint {joint.name} has the limits [{low:g}, {high:g}]; it has none now"
                )
    if joint.type in ("fixed", "free"):
        return joint
    for tag in ("dynamics", "joint_properties"):
        found = node.find(tag)
        if found is not None:
            joint = replace(
                joint,
                damping=max(found.number("damping", joint.damping), 0.0),
                friction=max(found.number("friction", joint.friction), 0.0),
            )
    return joint


def axis_of(node: Node) -> tuple[float, ...]:
    """URDF's axis, x unless it is given."""
    axis = node.find("axis")
    direction = (1.0, 0.0, 0.0) if axis is None else axis.vector("xyz", (1.0, 0.0, 0.0))
    if not any(direction):
        node.refuse(
            f"the axis of <{node.tag}> '{node.get('name')}' must not be zero, since it is a direction"
        )
    return direction


def _rotor(node: Node) -> float:
    """Drake's rotor inertia, as the joint feels it: J n²."""
    inertia, ratio = node.find("drake:rotor_inertia"), node.find("drake:gear_ratio")
    if inertia is None:
        return 0.0
    return inertia.number("value") * (1.0 if ratio is None else ratio.number("value")) ** 2


def _mimic(node: Node, joints: tuple[RobotJoint, ...]) -> Coupled:
    """q = multiplier·q_other + offset."""
    mimic, name = node.need("mimic"), node.name()
    other = mimic.name("joint")
    if other not in {joint.name for joint in joints} - {name}:
        mimic.refuse(f"joint '{name}' mimics '{other}', which is no other joint")
    ratio, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    return Coupled(f"{name}_mimic", {name: (1.0,), other: (-ratio,)}, -offset)


def _drives(root: Node, joints: tuple[RobotJoint, ...]) -> tuple[Drive, ...]:
    """Motors of transmissions and of ros2_control's command interfaces; else of URDF+'s free joints."""
    effort = {joint.name: joint.effort for joint in joints}
    named = [j.name() for t in root.all("transmission") for j in t.all("joint")]
    for system in root.all("ros2_control"):
        named += [j.name() for j in system.all("joint") if j.all("command_interface")]
    if not named:
        named = [j.name() for j in root.all("joint") if j.get("independent") == "true"]
    for name in named:
        if name not in effort:
            root.refuse(f"a transmission drives '{name}', but there is no joint of that name")
    return tuple(Drive(name, name, effort[name]) for name in dict.fromkeys(named))
