"""What closes loops in Drake's files, URDF and SDF alike: ball constraints and bushings.

URDF has values in attributes, SDF in texts. A bushing is soft in Drake; it stands for the joint whose
directions it holds, exactly. Other tags of Drake's are left out by name.
"""

from collections.abc import Callable

import numpy as np

from ..urdf.placement import HERE, PlacedFrame, along, point_at
from .robot import RobotJoint
from .xml_nodes import Node

_READ = ("drake:ball_constraint", "drake:linear_bushing_rpy", "drake:joint")
# A link by its name, and a frame by its name: the link it is on, and where.
LinkOf = Callable[[str, Node], str]
FrameOf = Callable[[str, Node], tuple[str, PlacedFrame]]


def drake_loops(root: Node, link_of: LinkOf, frame_of: FrameOf) -> tuple[list[RobotJoint], list[str]]:
    """Closing joints, and notes on what was made of the tags or left out."""
    joints = [_ball(node, link_of) for node in root.all("drake:ball_constraint")]
    notes: list[str] = []
    for node in root.all("drake:linear_bushing_rpy"):
        joints += _bushing(node, frame_of, notes)
    others = [n for n in root if n.tag.startswith("drake:") and n.tag not in _READ]
    notes += [f"left out: <{node.tag}> {node.get('name')}".rstrip() for node in others]
    return joints, notes


def _word(node: Node) -> str:
    word = node.get("name") or node.text
    if not word:
        node.refuse(f"<{node.tag}> needs a name")
    return word


def _three(node: Node) -> tuple[float, ...]:
    return node.numbers(node.get("value") or node.text or "0 0 0", 3, "the value")


def _ball(node: Node, link_of: LinkOf) -> RobotJoint:
    stem = "drake:ball_constraint"
    links = [link_of(_word(node.need(f"{stem}_body_{end}")), node) for end in "AB"]
    at = []
    for point in ("AP", "BQ"):
        found = node.find(f"{stem}_p_{point}")
        at.append(HERE if found is None else point_at(_three(found)))
    name = node.get("name") or f"ball_{links[0]}_{links[1]}"
    return RobotJoint(name, "spherical", links[0], links[1], at[0], at[1], closes=True)


def _bushing(node: Node, frame_of: FrameOf, notes: list[str]) -> list[RobotJoint]:
    (a, on_a), (c, on_c) = (frame_of(_word(node.need(f"drake:bushing_frame{end}")), node) for end in "AC")
    force, torque = (_three(node.need(f"drake:bushing_{x}_stiffness")) for x in ("force", "torque"))
    free = [k for k, stiffness in enumerate(torque) if not stiffness]
    if not all(force) or len(free) == 2:
        notes.append(f"left out: a bushing between {a} and {c} that is no joint")
        return []
    kind = {0: "fixed", 1: "revolute", 3: "spherical"}[len(free)]
    axes = along(np.eye(3)[free[0]]) if kind == "revolute" else HERE
    notes.append(f"made exact: the bushing between {a} and {c} is a {kind} joint")
    return [RobotJoint(f"bushing_{a}_{c}", kind, a, c, on_a @ axes, on_c @ axes, closes=True)]
