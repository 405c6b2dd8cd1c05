"""What all writers share: cuts in words that the target has, the way through the tree, what can't be said.

A target that knows no joint of some type between two links of a loop may still know rigid connections. Then
the joint stays in the tree and moves one half of its body, with half of the mass and inertia, which is held
to the other half: the same motion, said otherwise.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree as xml

from ..describe.mechanism import GROUND, Coupling, Joint, Mechanism, outer_name
from ..describe.motors import plain
from ..describe.visuals import Visual
from ..equations.halves import Half, halve
from ..equations.spatial import lump_point_masses
from ..equations.topology import Tree, span
from ..joints.types import TYPES
from .placement import PlacedFrame, of_frame

HALF = "_half"


@dataclass(frozen=True)
class TreeJoint:
    """A joint of the tree from the body near ground, `inner`, to the other; in reverse it is undone."""

    joint: Joint
    inner: str
    outer: str
    near: PlacedFrame
    far: PlacedFrame
    reverse: bool

    @property
    def sign(self) -> float:
        return -1.0 if self.reverse else 1.0

    @property
    def pose(self) -> PlacedFrame:
        """Of the outer body in the inner one at zero coordinates."""
        return self.near @ self.far.inverse


def way_out(mechanism: Mechanism, tree: Tree) -> list[TreeJoint]:
    """The joints of the tree, each behind those it hangs on."""
    found = []
    for name in tree.q:
        joint = mechanism.joint(name)
        near, far = of_frame(joint.on_parent), of_frame(joint.on_child)
        if next(link.reverse for link in tree.links if link.joint == name):
            found.append(TreeJoint(joint, joint.child, joint.parent, far, near, True))
        else:
            found.append(TreeJoint(joint, joint.parent, joint.child, near, far, False))
    return found


def body_names(mechanism: Mechanism) -> dict[str, str]:
    """What each body, and the ground, is called outside."""
    return {GROUND: GROUND} | {body.name: outer_name(body) for body in mechanism.bodies}


# -- cuts that a target has words for ---------------------------------------------------------------


def rewrite_for_format(mechanism: Mechanism, closing: Collection[str], notes: list[str]) -> Mechanism:
    """The mechanism with point masses in their bodies and cut joints of these types only."""
    tree, result = span(mechanism), lump_point_masses(mechanism)
    kept = tuple(_settled(joint, joint.name in tree.q) for joint in result.joints)
    result = replace(result, joints=kept, point_masses=(), parameters={}, outputs={})
    for cut in tree.cuts:
        if cut.type in closing:
            continue
        if "fixed" in closing and not TYPES[cut.type].always_cut:
            result = _halved(result, cut)
            notes.append(
                f"loop {cut.name}: a {cut.type} joint, written by two halves of a body held together"
            )
        else:
            gone = tuple(joint for joint in result.joints if joint.name != cut.name)
            result = replace(result, joints=gone)
            notes.append(f"left out: loop {cut.name}, a {cut.type} joint, which the target can't close")
    return result


def _settled(joint: Joint, in_tree: bool) -> Joint:
    """The joint, cut or not as it is now; where a cut one starts follows from the others."""
    if TYPES[joint.type].always_cut:
        return joint
    return replace(joint, cut=not in_tree, start=joint.start if in_tree else ())


def _halved(mechanism: Mechanism, cut: Joint) -> Mechanism:
    """The mechanism with this joint in its tree, and a rigid connection cut instead (`halves.py`)."""
    side = "child" if cut.child != GROUND else "parent"
    body = getattr(cut, side)
    taken, name = {body.name for body in mechanism.bodies}, body + HALF
    while name in taken:
        name += "_"
    return halve(mechanism, [Half(cut.name, side, body, name, f"{cut.name}_weld")])


# -- what can't be said ------------------------------------------------------------------------------


def unsaid(mechanism: Mechanism, fields: Iterable[str], kept: Collection[str] = ()) -> list[str]:
    """Lines on what the target has no words for: fields of joints, and groups of items but those kept."""
    notes = []
    for key in fields:
        found = [joint.name for joint in mechanism.joints if any(_listed(getattr(joint, key)))]
        if found:
            notes.append(f"left out: {key} of {', '.join(found)}")
    groups: dict[str, Iterable[Any]] = {
        "springs and cylinders": mechanism.struts,
        "bushings": mechanism.bushings,
        "gears and servos of": [motor for motor in mechanism.motors if not plain(motor)],
        "loads": mechanism.loads,
        **mechanism.more,
        "parameters": mechanism.parameters,
        "names of outputs": mechanism.outputs,
    }
    for word, items in groups.items():
        names = [item if isinstance(item, str) else item.name for item in items]
        if names and word not in kept:
            notes.append(f"left out: {word} {', '.join(names)}")
    return notes


def _listed(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def simple(tie: Coupling) -> bool:
    """Whether a coupling is what `mimic` says: one joint follows one other in proportion."""
    return len(tie.follows) == 1 and not any(tie.curve)


# -- text ----------------------------------------------------------------------------------------------


def digits(numbers: Iterable[float]) -> str:
    """Numbers with all their digits, so that a reader gets the same geometry to the last bit."""
    return " ".join(repr(float(x) + 0.0) for x in numbers)


def add_element(parent: xml.Element, tag: str, /, **attributes: str) -> xml.Element:
    """A new element within another."""
    return xml.SubElement(parent, tag, attributes)


def document(root: xml.Element) -> str:
    xml.indent(root)
    return '<?xml version="1.0"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def visuals_by_body(mechanism: Mechanism) -> dict[str, list[Visual]]:
    found: dict[str, list[Visual]] = {}
    for visual in mechanism.visuals:
        found.setdefault(visual.body, []).append(visual)
    return found
