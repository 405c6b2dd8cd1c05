"""Where the link frames sit: chosen so that the traced code needs fewer operations.

A frame behind a move about z may be turned about z and slid along z at will: the motion
subspace stays the same. As Denavit and Hartenberg did, we use that freedom to put x along
the common normal to the next joint's axis, and the origin where the normal meets. The fixed
part of f_{P,i} is then a shift along x and a turn about x for the first joint behind a link,
most of its entries are exact zeros, and they vanish from the code.

Nothing outside this file sees the difference: bodies and joint frames are always placed in
links through `Model.in_link` and `frame_in_link`.
"""

from collections.abc import Mapping
from math import atan2
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..describe.mechanism import Mechanism
from ..joints.rigid_motion import IDENTITY, Pose, about_z, compose, inverse, pose, snap
from ..thresholds import FAR_NORMAL, PARALLEL
from .topology import Link, Tree


class Placement(NamedTuple):
    """f_{P,i} = fixed ∘ Rz(turn + rotation) ∘ Tz(slide + translation) for moves about z."""

    fixed: Pose
    turn: float
    slide: float


class Trim(NamedTuple):
    """The link frame is the joint's frame on the outer body, turned about z and slid along z."""

    turn: float
    slide: float

    @property
    def pose(self) -> Pose:
        return Pose(about_z(self.turn), ca.SX(ca.DM([0, 0, self.slide]))) if any(self) else IDENTITY


def outer_frame(mechanism: Mechanism, link: Link) -> Any:
    """The joint's frame on the body behind it."""
    joint = mechanism.joint(link.joint)
    return joint.on_parent if link.reverse else joint.on_child


def inner_frame(mechanism: Mechanism, link: Link) -> tuple[str, Any]:
    """The body a joint starts from on its way outward, and the joint's frame on it."""
    joint = mechanism.joint(link.joint)
    return (joint.child, joint.on_child) if link.reverse else (joint.parent, joint.on_parent)


def trims(mechanism: Mechanism, tree: Tree) -> list[Trim]:
    """How each link's frame is moved within its freedom; not at all where symbols decide."""
    return [_trim(mechanism, tree, i) for i in range(len(tree.links))]


def _trim(mechanism: Mechanism, tree: Tree, index: int) -> Trim:
    link = tree.links[index]
    if not link.last or not _about_z(link):
        return Trim(0.0, 0.0)
    behind, is_axis = _first_behind(mechanism, tree, index)
    if behind is None or not (behind.R.is_constant() and behind.p.is_constant()):
        return Trim(0.0, 0.0)
    p, z = np.array(ca.DM(behind.p)).ravel(), np.array(ca.DM(behind.R))[:, 2]
    normal = np.array([-z[1], z[0]])  # of both axes, across this link's z
    if is_axis and np.hypot(*normal) > PARALLEL:
        return Trim(atan2(normal[1], normal[0]), p[2] + z[2] * _foot(p, z))
    return Trim(atan2(p[1], p[0]) if np.hypot(p[0], p[1]) > PARALLEL else 0.0, p[2])


def _about_z(link: Link) -> bool:
    return link.move is not None and link.move.about_z


def _foot(p: np.ndarray, z: np.ndarray) -> float:
    """How far along the line p + s z its nearest point to the z axis is; 0 where that is far away."""
    across = z[0] ** 2 + z[1] ** 2
    return -(p[0] * z[0] + p[1] * z[1]) / across if across > FAR_NORMAL**2 else 0.0


def _first_behind(mechanism: Mechanism, tree: Tree, index: int) -> tuple[Pose | None, bool]:
    """The first joint frame behind a link, tree joints before cut ones, and whether it is an axis z."""
    link = tree.links[index]
    body = next(name for name, holder in tree.holder.items() if holder == index)
    back = inverse(pose(outer_frame(mechanism, link)))
    for child in tree.children[index]:
        _, frame = inner_frame(mechanism, tree.links[child])
        return compose(back, pose(frame)), _about_z(tree.links[child])
    for cut in tree.cuts:
        joint = mechanism.joint(cut.name)
        for end, frame in ((joint.parent, joint.on_parent), (joint.child, joint.on_child)):
            if end == body:
                return compose(back, pose(frame)), False
    return None, False


def place(mechanism: Mechanism, link: Link, trim: Trim, in_link: Mapping[str, Pose]) -> Placement:
    """The fixed part of a link's pose in its parent link, as simple as its freedom allows."""
    if not link.first:
        return Placement(IDENTITY, trim.turn, trim.slide)
    body, frame = inner_frame(mechanism, link)
    fixed = compose(in_link[body], pose(frame))
    if not _about_z(link) or not (fixed.R.is_constant() and fixed.p.is_constant()):
        return Placement(fixed, trim.turn, trim.slide)
    R, p = np.array(ca.DM(fixed.R)), np.array(ca.DM(fixed.p)).ravel()
    # R = Rz(β) Rx(α) Rz(γ): γ joins the move
    tilted = np.hypot(R[2, 0], R[2, 1]) > PARALLEL
    gamma = atan2(R[2, 0], R[2, 1]) if tilted else atan2(-R[0, 1], R[0, 0])
    foot = _foot(p, R[:, 2]) if link.parent >= 0 else 0.0
    simple = Pose(
        snap(ca.SX(ca.DM(R @ np.array(ca.DM(about_z(-gamma)))))), snap(ca.SX(ca.DM(p + foot * R[:, 2])))
    )
    return Placement(simple, gamma + trim.turn, trim.slide - foot)
