"""Links that move as one: fixed joints are merged, and links without mass are carried or taken out.

A link without mass between hinges whose axes meet in a point, at right angles one after the other, is how
trees write a ball (three hinges) or a universal joint (two): they become one joint, without its singular
poses. A link without mass at the end of a branch moves nothing and goes. Any other one is carried along.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
from scipy.spatial.transform import Rotation

from ..base.thresholds import MASSLESS, MEETS, PARALLEL
from ..describe.drawing import euler_parameters
from ..describe.mechanism import GROUND
from ..urdf.placement import HERE, PlacedFrame, along, turned_about_z
from .robot import WORLD, Robot, RobotFrame, RobotJoint, RobotLink, RobotVisual


def merge_fixed_joints(robot: Robot) -> Robot:
    """The robot without fixed joints, but for those that close loops; masses and shapes move along."""
    fixed = [joint for joint in robot.joints if joint.type == "fixed" and not joint.closes]
    place = _carriers(robot, fixed)
    notes = list(robot.notes)
    links = []
    for link in robot.links:
        if place[link.name][0] == link.name:
            parts = [
                (other, place[other.name][1]) for other in robot.links if place[other.name][0] == link.name
            ]
            links.append(_together(link.name, parts))
            others = [other.name for other, _ in parts if other.name != link.name]
            if others:
                notes.append(f"merged: {', '.join(others)} with {link.name}")
    on_ground = [link.name for link in robot.links if place[link.name][0] == WORLD]
    if on_ground:
        notes.append(f"merged: {', '.join(on_ground)} with the ground")
    joints = []
    for joint in robot.joints:
        if joint in fixed:
            continue
        (parent, a), (child, b) = place[joint.parent], place[joint.child]
        if parent == child:
            notes.append(f"left out: joint {joint.name}, whose ends are one rigid link")
            continue
        joints.append(
            replace(
                joint, parent=parent, child=child, on_parent=a @ joint.on_parent, on_child=b @ joint.on_child
            )
        )
    visuals = _shapes((k, place[k.name][1]) for k in robot.links if place[k.name][0] == WORLD)
    gone = [k.name for k in robot.links if place[k.name][0] != k.name and k.name != GROUND]
    frames = tuple(RobotFrame(name, *place[name]) for name in gone)
    robot = replace(robot, links=tuple(links), fixed=visuals, frames=frames, notes=tuple(notes))
    return without(replace(_hold_mimics(robot, {joint.name for joint in fixed}), joints=tuple(joints)))


def _carriers(robot: Robot, fixed: Sequence[RobotJoint]) -> dict[str, tuple[str, PlacedFrame]]:
    """Link -> what carries it by fixed joints, and where: of links with mass the nearest to ground."""
    place: dict[str, tuple[str, PlacedFrame]] = {}
    heavy = {link.name for link in robot.links if link.mass}
    for name in (WORLD, *sorted(_from_the_root(robot), key=lambda name: name not in heavy)):
        if name in place:
            continue
        place[name], front = (name, HERE), [name]
        while front:
            here = front.pop()
            for joint in fixed:
                step = joint.on_parent @ joint.on_child.inverse
                for near, far, by in (
                    (joint.parent, joint.child, step),
                    (joint.child, joint.parent, step.inverse),
                ):
                    if near == here and far not in place:
                        place[far] = (place[near][0], place[near][1] @ by)
                        front.append(far)
    return place


def _hold_mimics(robot: Robot, fixed: set[str]) -> Robot:
    """The robot whose couplings know that fixed joints are at zero: what follows only them is held."""
    found, notes = [], []
    for coupled in robot.couplings:
        follower, *others = coupled.terms
        if follower not in fixed and fixed & set(others):
            moving = {name: c for name, c in coupled.terms.items() if name not in fixed}
            coupled = replace(coupled, terms=moving)
            if len(moving) == 1:
                notes.append(f"held: joint {follower}, since what it mimics is fixed")
        found.append(coupled)
    return replace(robot, couplings=tuple(found), notes=(*robot.notes, *notes))


def _from_the_root(robot: Robot) -> list[str]:
    """Links in the order of the tree: of those with mass the nearest to ground names a merged one."""
    order = [robot.base] if robot.base else []
    order += [j.child for j in robot.joints if j.parent == WORLD]
    for name in order:
        order += [j.child for j in robot.joints if j.parent == name and j.child not in order]
    return [*order, *(link.name for link in robot.links if link.name not in order)]


def _together(name: str, parts: Iterable[tuple[RobotLink, PlacedFrame]]) -> RobotLink:
    """One link of several: masses add, tensors by Steiner's theorem about the common centre of mass."""
    parts = list(parts)
    mass = sum(link.mass for link, _ in parts)
    coms = [at.R @ link.com + at.p for link, at in parts]
    com = (
        sum((k.mass * c for (k, _), c in zip(parts, coms, strict=True)), np.zeros(3)) / mass
        if mass
        else coms[0]
    )
    inertia = np.zeros((3, 3))
    for (link, at), c in zip(parts, coms, strict=True):
        d = c - com
        inertia += at.R @ link.inertia @ at.R.T + link.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return RobotLink(name, mass, com, inertia, _shapes(parts))


def _shapes(parts: Iterable[tuple[RobotLink, PlacedFrame]]) -> tuple[RobotVisual, ...]:
    return tuple(replace(v, at=at @ v.at) for link, at in parts for v in link.visuals)


def without(robot: Robot) -> Robot:
    """The robot without couplings and drives of joints that have gone."""
    names = {joint.name for joint in robot.joints}
    couplings = tuple(c for c in robot.couplings if set(c.terms) <= names)
    notes = [
        f"left out: coupling {c.name}, since a joint of it has gone"
        for c in robot.couplings
        if c not in couplings
    ]
    drives = tuple(d for d in robot.drives if d.joint in names)
    notes += [f"left out: motor {d.name}, since its joint has gone" for d in robot.drives if d not in drives]
    return replace(robot, couplings=couplings, drives=drives, notes=robot.notes + tuple(notes))


# -- links without mass -------------------------------------------------------------------------------


def massless(robot: Robot) -> set[str]:
    """Names of links whose mass and inertia are nothing beside the robot's."""
    total = sum(link.mass for link in robot.links)
    size = max((float(np.abs(link.inertia).max()) for link in robot.links), default=0.0)
    return {
        link.name
        for link in robot.links
        if link.mass <= MASSLESS * total and float(np.abs(link.inertia).max()) <= MASSLESS * size
    }


def prune_massless_links(robot: Robot) -> Robot:
    """The robot without links of no mass at the ends of branches, and with balls for hinges that make one."""
    while True:
        light = massless(robot)
        ends = Counter(end for joint in robot.joints for end in (joint.parent, joint.child))
        loose = next(
            (j for j in robot.joints for e in (j.parent, j.child) if e in light and ends[e] == 1), None
        )
        if loose is None:
            break
        gone = loose.child if loose.child in light and ends[loose.child] == 1 else loose.parent
        note = f"left out: link {gone} and joint {loose.name}, which move no mass"
        robot = without(
            replace(
                robot,
                links=tuple(link for link in robot.links if link.name != gone),
                joints=tuple(joint for joint in robot.joints if joint is not loose),
                notes=(*robot.notes, note),
            )
        )
    busy = {name for c in robot.couplings for name in c.terms} | {d.joint for d in robot.drives}
    light = {name for name in massless(robot) if ends[name] == 2}
    for chain in _chains(robot, light):
        joined = None if any(joint.name in busy for joint in chain) else _joined(chain)
        if joined is None:
            continue
        between = {joint.child for joint in chain[:-1]}
        words = ", ".join(joint.name for joint in chain)
        robot = replace(
            robot,
            links=tuple(link for link in robot.links if link.name not in between),
            joints=tuple(
                joined if joint is chain[0] else joint for joint in robot.joints if joint not in chain[1:]
            ),
            notes=(*robot.notes, f"merged: {words} are one {joined.type} joint {joined.name}"),
        )
    return robot


def _chains(robot: Robot, light: set[str]) -> list[list[RobotJoint]]:
    """Two or three hinges in a row, parent to child, with nothing but links of no mass between them."""
    below = {joint.parent: joint for joint in robot.joints if joint.parent in light}
    above = {joint.child: joint for joint in robot.joints if joint.child in light}
    found = []
    for joint in robot.joints:
        if joint.child in light and joint.parent not in light:
            chain = [joint]
            while (
                chain[-1].child in light and chain[-1].child in below and above[chain[-1].child] is chain[-1]
            ):
                chain.append(below[chain[-1].child])
            if chain[-1].child not in light and len(chain) in (2, 3):
                found.append(chain)
    return found


def _joined(chain: list[RobotJoint]) -> RobotJoint | None:
    """The one joint that passive hinges make, or None."""
    if any(j.type != "revolute" or j.limits != (-inf, inf) or j.stiffness or j.armature for j in chain):
        return None
    first = chain[0]
    if any((j.damping, j.friction) != (first.damping, first.friction) for j in chain):
        return None
    frames, at = [first.on_parent], first.on_parent
    for before, after in pairwise(chain):
        at = at @ before.on_child.inverse @ after.on_parent
        frames.append(at)
    outer = at @ chain[-1].on_child.inverse  # the last link at zero coordinates, in the first one's frame
    axes = [frame.R[:, 2] for frame in frames]
    if any(abs(a @ b) > PARALLEL for a, b in pairwise(axes)):
        return None
    centre = _meeting(frames)
    if centre is None:
        return None
    turned = along(axes[0], axes[1]).R
    on_parent = PlacedFrame(turned, centre)
    start = tuple(q for j in chain for q in (j.start or (0.0,)))
    joined = replace(first, child=chain[-1].child, on_parent=on_parent, on_child=outer.inverse @ on_parent)
    if len(chain) == 2:
        return replace(joined, type="universal", start=start)
    R = np.eye(3)
    for joint, q in zip(chain, start, strict=True):
        R = R @ joint.on_parent.R @ turned_about_z(q).R @ joint.on_child.R.T
    x, y, z = (tuple(map(float, column)) for column in (on_parent.R.T @ R @ joined.on_child.R).T)
    return replace(joined, type="spherical", start=euler_parameters((x, y, z)) if any(start) else ())


def _meeting(frames: list[PlacedFrame]) -> np.ndarray | None:
    """The point where all z axes meet, by least squares, or None."""
    A = sum((np.eye(3) - np.outer(f.R[:, 2], f.R[:, 2]) for f in frames), np.zeros((3, 3)))
    b = sum(((np.eye(3) - np.outer(f.R[:, 2], f.R[:, 2])) @ f.p for f in frames), np.zeros(3))
    centre = np.linalg.solve(A, b)
    off = max(float(np.linalg.norm(np.cross(f.R[:, 2], centre - f.p))) for f in frames)
    return centre if off < MEETS else None


def principal(inertia: np.ndarray) -> tuple[np.ndarray, Rotation]:
    """Principal moments, ascending, and the axes they belong to."""
    moments, axes = np.linalg.eigh((inertia + inertia.T) / 2)
    return moments, Rotation.from_matrix(axes * np.sign(np.linalg.det(axes)))
