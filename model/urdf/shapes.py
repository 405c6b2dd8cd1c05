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
    """Where joints and struts hold each body, in the body's own frame."""
    held: dict[str, list[np.ndarray]] = {name: [] for name in (GROUND, *(b.name for b in mechanism.bodies))}
    for joint in mechanism.joints:
        if TYPES[joint.type].locks:
            held[joint.parent].append(np.array(joint.on_parent.position, float))
            held[joint.child].append(np.array(joint.on_child.position, float))
            held[joint.child] += rim(joint)
    for strut in mechanism.struts:
        held[strut.body1].append(np.array(strut.point1, float))
        held[strut.body2].append(np.array(strut.point2, float))
    return {name: _distinct(found) for name, found in held.items()}


def rim(joint: Joint) -> list[np.ndarray]:
    """Points around a wheel that rolls, in the frame of its body."""
    R, centre = rotation(joint.on_child.orientation), np.array(joint.on_child.position, float)
    angles = np.arange(RIM) * 2 * np.pi / RIM if joint.type == "rolling" else ()
    return [centre + float(joint.radius) * R @ (np.cos(a), np.sin(a), 0.0) for a in angles]


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
