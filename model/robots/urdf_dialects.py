"""A mechanism as URDF for other engines: the tree, motors, mimics, and its loops in a chosen dialect.

yaml     pairs of frames in a YAML file beside it, kept together in three or six directions
loop     `<loop>` elements of URDF+
closing  frames named closing_..._1 and closing_..._2, which are hinges about z
tree     two frames for every loop, and nothing that closes it
"""

from collections.abc import Mapping
from xml.etree import ElementTree as xml

from ..describe.mechanism import Joint, Mechanism, outer_name
from ..describe.yaml_text import dump
from ..equations.topology import span
from ..urdf.placement import of_frame
from ..urdf.write_urdf import UrdfTree, add_origin
from ..urdf.writer_common import add_element, simple, unsaid

# Dialect -> the types of joints that can close a loop in it; those of a tree are not closed at all.
DIALECTS: dict[str, tuple[str, ...]] = {
    "yaml": ("spherical", "fixed"),
    "loop": ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "fixed"),
    "closing": ("revolute",),
    "tree": (),
}
_WORDS = {"spherical": "3d", "fixed": "6d"}


def write_urdf(
    mechanism: Mechanism, loops: str, starts: Mapping[str, float], notes: list[str]
) -> tuple[str, str]:
    """The text of a URDF, and of the YAML file beside it, empty for none.

    `mechanism` has cut joints of the dialect's types only (`outgoing.spelled`); `starts` are values of its
    joints as URDF has them.
    """
    tree = span(mechanism)
    writing = UrdfTree(mechanism, tree)
    beside = ""
    if loops == "yaml":
        writing.cut_frames()
        beside = _pairs(mechanism, tree.cuts, writing, starts)
    elif loops == "loop":
        for joint in tree.cuts:
            _loop(writing, joint)
    elif loops == "closing":
        for joint in tree.cuts:
            stem = f"closing_{outer_name(joint).removeprefix('closing_')}"
            writing.pair(joint, (f"{stem}_1", f"{stem}_2"))
    else:
        writing.cut_frames()
        notes += [f"left out: what closes loop {joint.name}" for joint in tree.cuts]
    if loops != "yaml" and any(starts.values()):
        notes.append("left out: the start pose; give it to 'cutjoint import' by --start")
    for motor in mechanism.motors:
        _transmission(writing.root, motor.name, outer_name(mechanism.joint(motor.joint)))
    notes += unsaid(mechanism, ("stiffness",))
    notes += [f"left out: damping of {j.name}, which is no hinge or slide" for j in _damped_balls(mechanism)]
    notes += [f"left out: coupling {tie.name}, no mimic" for tie in mechanism.couplings if not simple(tie)]
    return writing.text(), beside


def _damped_balls(mechanism: Mechanism) -> list[Joint]:
    return [j for j in mechanism.joints if j.type in ("spherical", "free") and any((*j.damping, *j.friction))]


def _pairs(
    mechanism: Mechanism, cuts: tuple[Joint, ...], writing: UrdfTree, starts: Mapping[str, float]
) -> str:
    """What Gepetto's reader takes, and for ours the names of loops and the start."""
    frames = [
        [f"{outer_name(joint)}_on_{writing.names[body]}" for body in (joint.parent, joint.child)]
        for joint in cuts
    ]
    values = {
        "closed_loop": frames,
        "type": [_WORDS[joint.type] for joint in cuts],
        "name": [outer_name(joint) for joint in cuts],
        "name_mot": [outer_name(mechanism.joint(motor.joint)) for motor in mechanism.motors],
        "start": {name: value for name, value in starts.items() if value},
    }
    return dump({key: value for key, value in values.items() if value or key == "closed_loop"})


def _loop(writing: UrdfTree, joint: Joint) -> None:
    """Both frames turned as the joint's are, so that its axis is z in either."""
    element = add_element(writing.root, "loop", name=outer_name(joint), type=joint.type)
    sides = ("predecessor", joint.parent, joint.on_parent), ("successor", joint.child, joint.on_child)
    for word, body, frame in sides:
        add_origin(add_element(element, word, link=writing.names[body]), of_frame(frame))
    add_element(element, "axis", xyz="0 0 1")


def _transmission(root: xml.Element, motor: str, joint: str) -> None:
    element = add_element(root, "transmission", name=f"{motor}_transmission")
    add_element(element, "type").text = "transmission_interface/SimpleTransmission"
    for word, name in (("joint", joint), ("actuator", motor)):
        side = add_element(element, word, name=name)
        add_element(side, "hardwareInterface").text = "hardware_interface/EffortJointInterface"
