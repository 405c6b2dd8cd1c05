"""Loops of hinges that are plane, or run about one point, but for the digits that their file has left out.

All axes of such a loop are parallel, or meet. It holds more directions than it needs to: exactly drawn, the
others follow and are redundant; with 1.5708 for a right angle they contradict each other, and the loop can't
be closed. So one of its joints holds only what the motion needs: its point stays on its axis.
"""

from dataclasses import replace
from math import inf

import numpy as np

from ..base.thresholds import OPEN, ROUNDED_LOOP
from ..urdf.placement import HERE, PlacedFrame, along
from .robot import WORLD, Robot, RobotJoint

ON_AXIS = "spherical-translational"


def loosen_rounded_loops(robot: Robot) -> Robot:
    """The robot with a looser joint in every loop that its rounded numbers would keep open."""
    for closing in [joint for joint in robot.joints if joint.closes]:
        place, above = spanning_tree(robot)
        ends = [loop_path(above, end) for end in (closing.parent, closing.child)]
        if closing.child not in place or closing.parent not in place:
            continue
        shared = {joint.name for joint in ends[0]} & {joint.name for joint in ends[1]}
        path = [joint for end in ends for joint in end if joint.name not in shared]
        off = min(_plane(closing, path, place), _point(closing, path, place))
        busy = {d.joint for d in robot.drives} | {name for c in robot.couplings for name in c.terms}
        chosen = next((joint for joint in (closing, *path) if _idle(joint, busy)), None)
        if OPEN < off < ROUNDED_LOOP and chosen is not None:
            robot = _held_less(robot, closing, chosen, place, off)
    return robot


def spanning_tree(robot: Robot) -> tuple[dict[str, PlacedFrame], dict[str, tuple[RobotJoint, str]]]:
    """Where links are at zero coordinates, and what holds each: the joint, and the link before it."""
    place: dict[str, PlacedFrame] = {WORLD: HERE}
    above: dict[str, tuple[RobotJoint, str]] = {}
    front = [WORLD]
    while front:
        here = front.pop()
        for joint in robot.joints:
            step = joint.on_parent @ joint.on_child.inverse
            for near, far, by in (
                (joint.parent, joint.child, step),
                (joint.child, joint.parent, step.inverse),
            ):
                if near == here and far not in place and not joint.closes:
                    place[far], above[far] = place[here] @ by, (joint, here)
                    front.append(far)
    return place, above


def loop_path(above: dict[str, tuple[RobotJoint, str]], link: str) -> list[RobotJoint]:
    found = []
    while link in above:
        joint, link = above[link]
        found.append(joint)
    return found


def _sides(joint: RobotJoint, place: dict[str, PlacedFrame]) -> list[PlacedFrame]:
    """The joint's frame where its parent is, and where its child is: the same for joints of the tree."""
    return [place[joint.parent] @ joint.on_parent, place[joint.child] @ joint.on_child]


def _plane(closing: RobotJoint, path: list[RobotJoint], place: dict[str, PlacedFrame]) -> float:
    """By how much a loop of parallel hinges is off its plane, in radians or metres; infinite for others."""
    if not path or any(joint.type != "revolute" for joint in path):
        return inf
    if closing.type not in ("revolute", "spherical", "fixed"):
        return inf
    normal = _sides(path[0], place)[0].R[:, 2]
    a, c = _sides(closing, place)
    turning = [frame.R[:, 2] for joint in path for frame in _sides(joint, place)]
    turning += [a.R[:, 2], c.R[:, 2]] if closing.type == "revolute" else []
    off = [float(np.linalg.norm(np.cross(normal, axis))) for axis in turning]
    if closing.type == "fixed":
        off.append(float(np.linalg.norm(a.R.T @ normal - c.R.T @ normal)))
    return max(*off, abs(float(normal @ (a.p - c.p))))


def _point(closing: RobotJoint, path: list[RobotJoint], place: dict[str, PlacedFrame]) -> float:
    """By how much the axes of a loop of hinges miss a common point, in metres; infinite for others."""
    if not path or any(joint.type != "revolute" for joint in (closing, *path)):
        return inf
    frames = [frame for joint in (closing, *path) for frame in _sides(joint, place)]
    across = [np.eye(3) - np.outer(frame.R[:, 2], frame.R[:, 2]) for frame in frames]
    A, b = sum(across), sum(P @ frame.p for P, frame in zip(across, frames, strict=True))
    if np.linalg.cond(A) > 1 / ROUNDED_LOOP:
        return inf  # parallel axes meet nowhere
    centre = np.linalg.solve(A, b)
    return max(float(np.linalg.norm(P @ (f.p - centre))) for P, f in zip(across, frames, strict=True))


def _idle(joint: RobotJoint, busy: set[str]) -> bool:
    """Whether nothing but the loop asks anything of a joint."""
    asked = joint.damping or joint.friction or joint.stiffness or joint.armature or joint.start
    plain = joint.type in ("revolute", "spherical") and joint.limits == (-inf, inf)
    return plain and not asked and joint.name not in busy


def _held_less(
    robot: Robot, closing: RobotJoint, chosen: RobotJoint, place: dict[str, PlacedFrame], off: float
) -> Robot:
    on_child = chosen.on_child
    if chosen.type == "spherical":
        axis = next(iter(loop_path(spanning_tree(robot)[1], closing.child)), closing)
        normal = _sides(axis, place)[0].R[:, 2]
        on_child = on_child @ along((place[chosen.child] @ on_child).R.T @ normal)
    looser = replace(chosen, type=ON_AXIS, on_child=on_child, closes=True)
    joints = tuple(
        looser if joint is chosen else replace(joint, closes=False) if joint is closing else joint
        for joint in robot.joints
    )
    told = f"keeps its point on its axis only; rounded numbers leave its loop {off:.1e} off"
    return replace(robot, joints=joints, notes=(*robot.notes, f"loosened: {chosen.name} {told}"))
