"""Bodies as sticks and balls, for viewers that want shapes: URDF, ROS markers, the browser."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..describe.mechanism import GROUND, Joint, Mechanism
from ..joints.euler import rotation
from ..joints.types import TYPES

THICKNESS = 0.015  # radius of a stick over the size of the mechanism
NEAR = 1e-6  # metres: points closer than this are one
RIM = 12  # spokes of a wheel


@dataclass(frozen=True)
class Shape:
    """What one body looks like in its own frame: sticks between points, or else a ball."""

    sticks: tuple[tuple[np.ndarray, np.ndarray], ...]
    ball: np.ndarray | None


def shapes(mechanism: Mechanism) -> dict[str, Shape]:
    """Every body as sticks: from joint to joint, from the middle of many, or to the centre of mass."""
    held = points(mechanism)
    result = {}
    for body in mechanism.bodies:
        found, com = held[body.name], np.array(body.com, float)
        if len(found) == 1:
            found = _distinct([*found, com])
        if len(found) < 2:
            result[body.name] = Shape((), com)
        elif len(found) == 2:
            result[body.name] = Shape(((found[0], found[1]),), None)
        else:
            middle = np.mean(found, axis=0)
            spokes = tuple((middle, p) for p in found if np.linalg.norm(p - middle) > NEAR)
            result[body.name] = Shape(spokes, None)
    return result


class Rod(NamedTuple):
    """What has no mass and no frame of its own: it goes from a point of a body to a point of another."""

    body1: str
    point1: np.ndarray
    body2: str
    point2: np.ndarray


def rods(mechanism: Mechanism) -> list[Rod]:
    """Joints whose type keeps a length, from where a slide is held if there is one, and struts."""
    found = []
    for joint in mechanism.joints:
        if "length" in TYPES[joint.type].fields:
            slide = float(joint.travel) * rotation(joint.on_parent.orientation)[:, 2]
            start, end = (np.array(side.position, float) for side in (joint.on_parent, joint.on_child))
            found.append(Rod(joint.parent, start + slide, joint.child, end))
    for strut in mechanism.struts:
        start, end = np.array(strut.point1, float), np.array(strut.point2, float)
        found.append(Rod(strut.body1, start, strut.body2, end))
    return found


def radius(mechanism: Mechanism) -> float:
    """Radius of sticks that suits the size of the mechanism, metres."""
    held = points(mechanism)
    spans = [float(np.linalg.norm(a - b)) for found in held.values() for a in found for b in found]
    coms = [float(np.linalg.norm(np.array(b.com, float))) for b in mechanism.bodies]
    return THICKNESS * (max(spans, default=0.0) or max(coms, default=0.0) or 1.0)


def points(mechanism: Mechanism) -> dict[str, list[np.ndarray]]:
    """Where joints and struts hold each body, and what else it reaches to: frames, loads, point masses.

    In the body's own frame. What is named on ground holds nothing.
    """
    held: dict[str, list[np.ndarray]] = {name: [] for name in (GROUND, *(b.name for b in mechanism.bodies))}
    for joint in mechanism.joints:
        if TYPES[joint.type].locks:
            held[joint.parent].append(np.array(joint.on_parent.position, float))
            held[joint.child].append(np.array(joint.on_child.position, float))
            held[joint.child] += rim(joint)
    for strut in mechanism.struts:
        held[strut.body1].append(np.array(strut.point1, float))
        held[strut.body2].append(np.array(strut.point2, float))
    reached = [
        *((frame.body, frame.at) for frame in mechanism.frames),
        *((load.body, load.point) for load in mechanism.loads),
        *((mass.body, mass.point) for mass in mechanism.point_masses),
    ]
    for body, point in reached:
        if body != GROUND:
            held[body].append(np.array(point, float))
    return {name: _distinct(found) for name, found in held.items()}


def rim(joint: Joint) -> list[np.ndarray]:
    """Points around a wheel that rolls, in the frame of its body."""
    return list(circle(joint, float(joint.radius), RIM)[:-1]) if joint.type == "rolling" else []


class Pulley(NamedTuple):
    """A wheel that a coupling turns: about the z axis of a joint's frame on its child."""

    joint: Joint
    radius: float


def pulleys(mechanism: Mechanism) -> list[Pulley]:
    """Wheels of couplings. A pulley that moves a slide has the radius of its ratio; wheels that turn
    each other share the distance of their axes, touching if they turn against each other."""
    found: dict[str, Pulley] = {}
    for tie in mechanism.couplings:
        joint = mechanism.joint(tie.joint)
        for name, ratio in zip(tie.follows, map(float, tie.ratio), strict=True):
            led = mechanism.joint(name)
            turns = [TYPES[j.type].position_units == ("rad",) for j in (joint, led)]
            if all(turns) and joint.parent == led.parent and ratio:
                apart = np.subtract(*(np.array(j.on_parent.position, float) for j in (joint, led)))
                reach = float(np.linalg.norm(apart)) * (1.0 if ratio < 0 else 0.4)
                radii = reach / (1 + abs(ratio)), reach * abs(ratio) / (1 + abs(ratio))
            elif any(turns) and ratio:
                radii = (1 / abs(ratio), 0.0) if turns[0] else (0.0, abs(ratio))
            else:
                radii = (0.0, 0.0)
            for one, radius in zip((joint, led), radii, strict=True):
                if radius > NEAR:
                    found.setdefault(one.name, Pulley(one, radius))
    return list(found.values())


def ties(mechanism: Mechanism) -> list[Rod]:
    """Couplings as lines from the joint that follows to those that it follows, drawn at their children."""
    pairs = [
        (mechanism.joint(tie.joint), mechanism.joint(name))
        for tie in mechanism.couplings
        for name in tie.follows
    ]
    return [
        Rod(a.child, np.array(a.on_child.position, float), b.child, np.array(b.on_child.position, float))
        for a, b in pairs
    ]


def circle(joint: Joint, radius: float, count: int = 24) -> np.ndarray:
    """Points around the axis of a joint, in the frame of its child."""
    R, centre = rotation(joint.on_child.orientation), np.array(joint.on_child.position, float)
    angles = np.arange(count + 1) * 2 * np.pi / count
    ring = np.column_stack([np.cos(angles), np.sin(angles), 0 * angles])
    return np.asarray(centre + radius * ring @ R.T)


def corners(mechanism: Mechanism) -> dict[str, list[np.ndarray]]:
    """The same as drawn: a body that ends free is an even bar, one that nothing holds a ball."""
    held = points(mechanism)
    for body in mechanism.bodies:
        found, com = held[body.name], np.array(body.com, float)
        held[body.name] = [found[0], 2 * com - found[0]] if len(found) == 1 else found or [com]
    return held


def _distinct(found: list[np.ndarray]) -> list[np.ndarray]:
    kept: list[np.ndarray] = []
    for p in found:
        if all(np.linalg.norm(p - other) > NEAR for other in kept):
            kept.append(p)
    return kept
