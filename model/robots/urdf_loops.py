"""What closes loops in URDF, which itself knows none: six dialects, all read as joints between two links.

1. A YAML file beside it: `closed_loop` pairs of frames with a `type` of 3d or 6d each, `name_mot` for motors,
   `joint_name` and `joint_type` for joints that are really balls, universal or fixed (Gepetto); or
   `closing_joints` with a joint each (Fusion exports).
2. `<loop>` and `<coupling>` (URDF+), `<loop_joint>`.
3. `<constraint>`, the proposal for URDF itself.
4. `<gazebo>` with an SDF joint in it.
5. `drake:` tags: ball constraints and bushings.
6. Frames named `closing_..._1` and `closing_..._2` (Onshape exports).
"""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import DescriptionError
from ..describe.validation import nearest
from ..describe.yaml_text import build_from_text, text_of
from ..urdf.placement import HERE, PlacedFrame, along, roll_pitch_yaw
from .drake_tags import drake_loops
from .read_sdf import joints_between
from .read_urdf import TYPES, axis_of, origin, with_resistance
from .robot import Coupled, Drive, Robot, RobotJoint
from .xml_nodes import Node

_CLOSING = re.compile(r"(closing_.+)_1")
_SIDECARS = ("robot_data.yaml",)
Found = tuple[list[RobotJoint], list[str]]


def with_loops(robot: Robot, root: Node, path: Path, loops: Path | None) -> Robot:
    """The robot with its loops, from wherever they are written."""
    for found in (_elements(robot, root), _gazebo(robot, root), _drake(robot, root)):
        robot = _with(robot, found)
    robot = replace(robot, couplings=robot.couplings + tuple(_couplings(robot, root)))
    for file in [loops] if loops else _beside(path):
        add = partial(_from_yaml, robot, asked=loops is not None)
        robot = build_from_text(text_of(file), str(file), add)
    return _with(robot, _closing(robot))


def _with(robot: Robot, found: Found) -> Robot:
    return replace(robot, joints=robot.joints + tuple(found[0]), notes=robot.notes + tuple(found[1]))


def _beside(path: Path) -> list[Path]:
    """YAML files that exporters put beside a URDF; our own descriptions are told apart by their keys."""
    names = (f"{path.stem}.loops.yaml", f"{path.stem}.yaml", f"{path.stem}.yml", *_SIDECARS)
    folders = (path.parent, path.parent.parent / "config") if path.parent.name == "urdf" else (path.parent,)
    return [file for folder in folders for name in names if (file := folder / name).is_file()]


def _known(robot: Robot, node: Node, name: str) -> str:
    if robot.link(name) is None:
        node.refuse(f"<{node.tag}> '{node.get('name')}': there is no link '{name}'")
    return name


def _type(node: Node, kind: str) -> str:
    if kind not in TYPES:
        node.refuse(f"<{node.tag}> '{node.get('name')}' has the type '{kind}'; known: {', '.join(TYPES)}")
    return TYPES[kind]


# -- elements of their own ----------------------------------------------------------------------------


def _elements(robot: Robot, root: Node) -> Found:
    """`<loop>`, `<loop_joint>` and `<constraint>`: two links, a frame on each and an axis."""
    found: list[RobotJoint] = []
    notes: list[str] = []
    for node in root.all("loop"):
        ends = [node.need(side) for side in ("predecessor", "successor")]
        links = [_known(robot, node, end.name("link")) for end in ends]
        frames = [origin(end.find("origin")) for end in ends]
        found.append(_closing_joint(node, links, frames, [axis_of(node)] * 2, notes))
    for node in root.all("loop_joint"):
        ends = [node.need(side) for side in ("link1", "link2")]
        links = [_known(robot, node, end.name("link")) for end in ends]
        found.append(_closing_joint(node, links, [origin(end) for end in ends], [axis_of(node)] * 2, notes))
    for node in root.all("constraint"):
        links = [_known(robot, node, node.need(side).name("link")) for side in ("parent", "child")]
        frames = [origin(node.find(f"{side}_origin")) for side in ("parent", "child")]
        axes = [
            (1.0, 0.0, 0.0)
            if (axis := node.find(f"{side}_axis")) is None
            else axis.vector("xyz", (1.0, 0.0, 0.0))
            for side in ("parent", "child")
        ]
        found.append(_closing_joint(node, links, frames, axes, notes))
    return found, notes


def _closing_joint(
    node: Node,
    links: list[str],
    frames: list[PlacedFrame],
    axes: list[tuple[float, ...]],
    notes: list[str],
) -> RobotJoint:
    kind = _type(node, node.get("type", "revolute").lower())
    if not all(any(axis) for axis in axes):
        node.refuse(f"an axis of <{node.tag}> '{node.get('name')}' is zero; it must be a direction")
    turned = HERE if kind in ("fixed", "spherical", "free") else None
    on = [frame @ (turned or along(axis)) for frame, axis in zip(frames, axes, strict=True)]
    name = node.get("name") or f"loop_{links[0]}_{links[1]}"
    joint = RobotJoint(name, kind, links[0], links[1], on[0], on[1], closes=True)
    return with_resistance(joint, node, notes)


def _couplings(robot: Robot, root: Node) -> list[Coupled]:
    """URDF+: ratio · Σ(joints to the predecessor) = Σ(joints to the successor), from where they part."""
    found: list[Coupled] = []
    for node in root.all("coupling"):
        chains = [
            _chain(robot, _known(robot, node, node.need(s).name("link")))
            for s in ("predecessor", "successor")
        ]
        shared = set(chains[0]) & set(chains[1])
        ratio_node = node.find("ratio")
        ratio = 1.0 if ratio_node is None else ratio_node.number("value")
        terms: dict[str, tuple[float, ...]] = {}
        for chain, factor in zip(chains, (ratio, -1.0), strict=True):
            terms |= {name: (factor,) for name in chain if name not in shared}
        if not terms:
            node.refuse(f"<coupling> '{node.get('name')}' couples no joints")
        found.append(Coupled(node.get("name") or f"coupling_{len(found) + 1}", terms))
    return found


def _chain(robot: Robot, link: str) -> list[str]:
    """The movable joints from the root to a link."""
    above = {joint.child: joint for joint in robot.joints if not joint.closes}
    chain = []
    while link in above:
        if above[link].type != "fixed":
            chain.append(above[link].name)
        link = above[link].parent
    return chain[::-1]


# -- frames in the zero pose ----------------------------------------------------------------------------


def places(robot: Robot) -> dict[str, PlacedFrame]:
    """Where every link of the tree is at zero coordinates, in the root's frame."""
    found = {robot.base: HERE}
    waiting = [joint for joint in robot.joints if not joint.closes]
    while waiting:
        reached = [joint for joint in waiting if joint.parent in found]
        if not reached:
            loop = ", ".join(joint.name for joint in waiting)
            raise DescriptionError(f"'{robot.name}': the joints {loop} are not connected to the root link")
        for joint in reached:
            found[joint.child] = found[joint.parent] @ joint.on_parent @ joint.on_child.inverse
        waiting = [joint for joint in waiting if joint.child not in found]
    return found


def _gazebo(robot: Robot, root: Node) -> Found:
    """SDF joints within `<gazebo>`: the frame lies on the child, and on the parent where that is at zero."""
    notes: list[str] = []
    nodes: list[Node] = []
    for outer in root.all("gazebo"):
        for node in outer:
            if node.tag == "joint":
                nodes.append(node)
                continue
            what = node.get("name") or node.get("filename") or outer.get("reference")
            notes.append(f"left out: <gazebo> {node.tag} {what}".rstrip())
    joints, more = joints_between(nodes, places(robot), root)
    return joints, notes + more


def _drake(robot: Robot, root: Node) -> Found:
    """Drake's tags, with the frames that Drake's URDF has beside its links."""
    frames = {
        node.name(): (_known(robot, node, node.name("link")), origin(node)) for node in root.all("frame")
    }

    def frame_of(name: str, node: Node) -> tuple[str, PlacedFrame]:
        if name not in frames and robot.link(name) is None:
            node.refuse(f"a bushing names the frame '{name}', which is not there; add <frame name='{name}'>")
        return frames.get(name, (name, HERE))

    return drake_loops(root, lambda name, node: _known(robot, node, name), frame_of)


def _closing(robot: Robot) -> Found:
    """Pairs of frames that meet; where nothing says how, they are hinges about their z axes."""
    found: list[RobotJoint] = []
    notes: list[str] = []
    said = {frozenset((joint.parent, joint.child)) for joint in robot.joints if joint.closes}
    for link in robot.links:
        match = _CLOSING.fullmatch(link.name)
        if match and robot.link(f"{match[1]}_2") and frozenset((link.name, f"{match[1]}_2")) not in said:
            found.append(RobotJoint(match[1], "revolute", link.name, f"{match[1]}_2", closes=True))
            notes.append(f"read: {match[1]} closes a loop as a hinge about z; a loops file can say otherwise")
    return found, notes


# -- a YAML file beside it --------------------------------------------------------------------------------

_REPLACED = {"SPHERICAL": "spherical", "FIXED": "fixed"}


def _from_yaml(robot: Robot, values: Any, asked: bool) -> Robot:
    """The robot with what the file says; files with other keys are someone else's, unless asked for."""
    if not isinstance(values, dict) or not {"closed_loop", "closing_joints"} & set(values):
        if asked:
            raise DescriptionError("there are no loops in it; it needs 'closed_loop' or 'closing_joints'")
        return robot
    joints = list(robot.joints)
    for name, kind in zip(_list(values, "joint_name"), _list(values, "joint_type"), strict=False):
        k = next((k for k, joint in enumerate(joints) if joint.name == name), None)
        if k is None:
            hint = nearest(str(name), [joint.name for joint in joints])
            raise DescriptionError(f"joint_name: there is no joint '{name}'; {hint}")
        joints[k] = _retyped(joints[k], str(kind))
    robot = replace(robot, joints=tuple(_starting(joint, values) for joint in joints))
    pairs, kinds = _list(values, "closed_loop"), _list(values, "type")
    closing = [_pair(robot, pair, str(kinds[k]) if k < len(kinds) else "6d") for k, pair in enumerate(pairs)]
    taken = {joint.name for joint in joints}
    for k, name in enumerate(map(str, _list(values, "name")[: len(closing)])):
        if name not in taken:
            closing[k] = replace(closing[k], name=name)
            taken.add(name)
    closing += [_fusion(robot, entry) for entry in _list(values, "closing_joints")]
    motors = [str(name) for name in _list(values, "name_mot")]
    for name in motors:
        if robot.joint(name) is None:
            raise DescriptionError(f"name_mot: there is no joint '{name}'")
    drives = tuple(Drive(name, name, j.effort) for name in motors if (j := robot.joint(name)))
    return replace(robot, joints=robot.joints + tuple(closing), drives=drives or robot.drives)


def _starting(joint: RobotJoint, values: dict[str, Any]) -> RobotJoint:
    """The joint where the file starts it."""
    starts = values.get("start") or {}
    if not isinstance(starts, dict) or not all(isinstance(x, float) for x in starts.values()):
        raise DescriptionError("start must be a mapping of joints to numbers")
    return replace(joint, start=(starts[joint.name],)) if joint.name in starts else joint


def _list(values: dict[str, Any], key: str) -> list[Any]:
    found = values.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise DescriptionError(f"{key} must be a list")
    return found


def _retyped(joint: RobotJoint, kind: str) -> RobotJoint:
    """A joint that stands for another: a ball, nothing, or a universal joint about two axes of its frame."""
    back = joint.on_child.inverse  # the frame of the child, whose axes the file means
    if kind in _REPLACED:
        return replace(joint, type=_REPLACED[kind], limits=RobotJoint("", "", "", "").limits)
    match = re.fullmatch(r"UJOINT_([XYZ])([XYZ])", kind)
    if not match or match[1] == match[2]:
        raise DescriptionError(f"joint_type: '{kind}' must be SPHERICAL, FIXED or UJOINT_ with two axes")
    first, second = (np.eye(3)["XYZ".index(x)] for x in match.groups())
    turned = along(first, second)
    limits = RobotJoint("", "", "", "").limits
    on = [side @ back @ turned for side in (joint.on_parent, joint.on_child)]
    return replace(joint, type="universal", on_parent=on[0], on_child=on[1], limits=limits)


def _pair(robot: Robot, pair: Any, kind: str) -> RobotJoint:
    """Two frames, each a link's or, by a joint's name, that of the joint's child, kept together."""
    if not isinstance(pair, list) or len(pair) != 2:
        raise DescriptionError(f"closed_loop must be pairs of frames, not {pair}")
    if kind.lower() not in ("3d", "6d"):
        raise DescriptionError(f"type must be 3d or 6d, not '{kind}'")
    links = []
    for name in map(str, pair):
        joint = robot.joint(name)
        link = name if robot.link(name) else joint.child if joint else None
        if link is None:
            raise DescriptionError(f"closed_loop: there is no link or joint '{name}'")
        links.append(link)
    kind = "spherical" if kind.lower() == "3d" else "fixed"
    return RobotJoint(f"loop_{pair[0]}_{pair[1]}", kind, links[0], links[1], closes=True)


def _fusion(robot: Robot, entry: Any) -> RobotJoint:
    """A joint with its place on the parent, as in URDF; on the child it is where that is at zero."""
    if not isinstance(entry, dict) or not {"name", "type", "parent", "child"} <= set(entry):
        raise DescriptionError("each of closing_joints needs name, type, parent and child")
    name, kind, parent, child = (str(entry[key]) for key in ("name", "type", "parent", "child"))
    for link in (parent, child):
        if robot.link(link) is None:
            raise DescriptionError(f"closing joint '{name}': there is no link '{link}'")
    if kind not in TYPES and kind != "rigid":
        raise DescriptionError(f"closing joint '{name}' has the type '{kind}'; known: {', '.join(TYPES)}")
    vectors = []
    for key, default in (
        ("origin_xyz_m", [0.0] * 3),
        ("origin_rpy_rad", [0.0] * 3),
        ("axis", [0.0, 0.0, 1.0]),
    ):
        vector = entry.get(key) or default
        if not isinstance(vector, list) or len(vector) != 3 or not all(isinstance(x, float) for x in vector):
            raise DescriptionError(f"closing joint '{name}': {key} must be a list of 3 numbers")
        vectors.append(vector)
    if not any(vectors[2]):
        raise DescriptionError(f"closing joint '{name}': axis must not be zero, since it is a direction")
    kind = TYPES.get(kind, "fixed")
    on_parent = roll_pitch_yaw(vectors[0], vectors[1])
    if kind not in ("fixed", "spherical", "free"):
        on_parent = on_parent @ along(vectors[2])
    where = places(robot)
    on_child = where[child].inverse @ where[parent] @ on_parent
    return RobotJoint(name, kind, parent, child, on_parent, on_child, closes=True)
