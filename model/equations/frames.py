"""Where the link frames sit: chosen so that the traced code needs fewer operations.

A frame behind a move about z may be turned about z and slid along z at will: the motion
subspace stays the same. As Denavit and Hartenberg did, we use that freedom to put x along
the common normal to the next joint's axis, and the origin where the normal meets. The fixed
part of f_{P,i} is then a shift along x and a turn about x for the first joint behind a link,
most of its entries are exact zeros, and they vanish from the code.

A frame behind a slide may have any axes and any origin, since all of it moves alike. It keeps the axes of
the link before, so that nothing has to be turned on the way, and its origin is where the next joint is.

Nothing outside this file sees the difference: bodies and joint frames are always placed in
links through `Model.in_link` and `frame_in_link`.
"""

from collections.abc import Mapping, Sequence
from math import atan2
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.thresholds import FAR_NORMAL, PARALLEL
from ..describe.mechanism import Mechanism
from ..joints.rigid_motion import IDENTITY, Pose, about_z, compose, inverse, pose, snap
from .topology import Link, Tree


class Placement(NamedTuple):
    """f_{P,i} = fixed ∘ Rz(turn + rotation) ∘ Tz(slide + translation) for moves about z.

    `straight`: f_{P,i} = fixed shifted along the motion subspace, for slides that keep the axes before them.
    """

    fixed: Pose
    turn: float
    slide: float
    straight: bool = False


class Trim(NamedTuple):
    """The link frame is the joint's frame on the outer body, turned about z and slid along z, or `kept`."""

    turn: float = 0.0
    slide: float = 0.0
    kept: Pose | None = None

    @property
    def pose(self) -> Pose:
        if self.kept:
            return self.kept
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
    found: list[Trim] = []
    for index in range(len(tree.links)):
        found.append(_straight(mechanism, tree, found, index) or _trim(mechanism, tree, index))
    return found


def in_link(mechanism: Mechanism, tree: Tree, trims: Sequence[Trim], body: str) -> Pose:
    """Pose of a body's frame in the frame of the link that carries it."""
    index = tree.holder[body]
    if index < 0:
        return IDENTITY
    return inverse(compose(pose(outer_frame(mechanism, tree.links[index])), trims[index].pose))


def _straight(mechanism: Mechanism, tree: Tree, before: Sequence[Trim], index: int) -> Trim | None:
    """Of a slide: the axes of the link before it, with the origin where the next joint is."""
    link = tree.links[index]
    if not (link.first and link.last and link.move and link.move.slides and not link.move.turns):
        return None
    body, frame = inner_frame(mechanism, link)
    start = compose(in_link(mechanism, tree, before, body), pose(frame))
    behind, _ = _first_behind(mechanism, tree, index)
    origin = inverse(start).p if behind is None else behind.p
    if not (start.R.is_constant() and origin.is_constant()):
        return None
    return Trim(kept=Pose(start.R.T, origin))


def _trim(mechanism: Mechanism, tree: Tree, index: int) -> Trim:
    link = tree.links[index]
    if not link.last or not _about_z(link):
        return Trim()
    behind, is_axis = _first_behind(mechanism, tree, index)
    if behind is None or not (behind.R.is_constant() and behind.p.is_constant()):
        return Trim()
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
    if trim.kept:
        return Placement(compose(fixed, trim.kept), 0.0, 0.0, straight=True)
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
