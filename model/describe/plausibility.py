"""What looks odd in a description that can be computed with: units mixed up, sizes that do not go together.

Every check compares numbers of the mechanism with each other; none of them knows how large machines are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import dist, isfinite, pi, sqrt

import numpy as np

from ..base.thresholds import FAR_AWAY, ODD_GYRATION, ODD_MASS, ODD_TURNS, POINTLIKE
from ..base.units import shortest_text
from .mechanism import GROUND, Joint, Mechanism

EARTH = 9.81


def implausible(mechanism: Mechanism) -> list[str]:
    """A sentence for each, with what may be meant."""
    far = dict(_far_joints(mechanism))
    return [
        *_gravity(mechanism),
        *far.values(),
        *_inertias(mechanism, {body: at for body, at in _points(mechanism).items() if body not in far}),
        *_masses(mechanism),
        *_angles(mechanism),
    ]


def _points(mechanism: Mechanism) -> dict[str, list[tuple[float, ...]]]:
    """Where joints and struts hold each body, in its own axes, and its centre of mass."""
    found: dict[str, list[tuple[float, ...]]] = {b.name: [tuple(b.com)] for b in mechanism.bodies}
    found[GROUND] = []
    for joint in mechanism.joints:
        found[joint.parent].append(tuple(joint.on_parent.position))
        found[joint.child].append(tuple(joint.on_child.position))
    for strut in mechanism.struts:
        found[strut.body1].append(tuple(strut.point1))
        found[strut.body2].append(tuple(strut.point2))
    return found


def _gravity(mechanism: Mechanism) -> Iterator[str]:
    g = float(np.linalg.norm(mechanism.gravity))
    for factor, unit in ((1000, "mm/s2"), (100, "cm/s2")):
        if g and abs(g / (EARTH * factor) - 1) < 0.02:
            yield f'gravity is {g:g} m/s²: is that {unit}? write "{g:g} {unit}"'


def _far_joints(mechanism: Mechanism) -> Iterator[tuple[str, str]]:
    """Bodies with joints much further from their centre than joints usually are, and what to say of them."""
    coms = {body.name: body.com for body in mechanism.bodies}
    sides = [
        (joint, body, dist(frame.position, coms[body]))
        for joint in mechanism.joints
        for body, frame in ((joint.parent, joint.on_parent), (joint.child, joint.on_child))
        if body in coms
    ]
    lengths = sorted(length for *_, length in sides if length > 0)
    usual = lengths[len(lengths) // 2] if lengths else 0.0
    for joint, body, length in sides:
        if usual and length > FAR_AWAY * usual:
            yield (
                body,
                f"joint '{joint.name}' is {length:.4g} m from the centre of mass of '{body}', where joints "
                f"are otherwise {usual:.3g} m away: are its numbers in mm?",
            )


def _inertias(mechanism: Mechanism, points: Mapping[str, list[tuple[float, ...]]]) -> Iterator[str]:
    """Radii of gyration that do not go with the span between the joints."""
    for body in mechanism.bodies:
        places = points.get(body.name, [])
        span = max((dist(a, b) for a in places for b in places), default=0.0)
        xx, yy, zz, xy, xz, yz = body.inertia
        moment = float(np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])[-1])
        if not (body.mass > 0 and span > 0 and moment > 0):
            continue
        radius = sqrt(moment / body.mass)
        told = (
            f"body '{body.name}': an inertia of {moment:.3g} kg·m² with {body.mass:.3g} kg is that of a body "
            f"{2 * radius:.3g} m wide, but its joints span {span:.3g} m"
        )
        if radius > ODD_GYRATION * span:
            yield f"{told}: is it in kg.mm2 or g.m2?"
        elif radius < span / POINTLIKE:
            yield f"{told}: is it in t.m2?"


def _masses(mechanism: Mechanism) -> Iterator[str]:
    masses = sorted(float(body.mass) for body in mechanism.bodies if body.mass > 0)
    usual = masses[len(masses) // 2] if masses else 0.0
    for body in mechanism.bodies:
        if usual and body.mass > ODD_MASS * usual:
            yield f"body '{body.name}' has {body.mass:.4g} kg, where others have {usual:.3g}: is that in g?"
        elif 0 < body.mass * ODD_MASS < usual:
            yield f"body '{body.name}' has {body.mass:.3g} kg, where others have {usual:.3g}: is that in t?"


def _angles(mechanism: Mechanism) -> Iterator[str]:
    """Angles of many turns: degrees, most likely."""
    for joint in mechanism.joints:
        kind = mechanism.joint_type(joint)
        units = kind.position_units if kind else ()
        for what, numbers in (("limits", joint.limits), ("start", joint.start), ("rest", joint.rest)):
            seen = [float(x) for x in numbers]
            turning = units[0] == "rad" if what == "limits" and units else False
            for k, x in enumerate(seen):
                angle = turning if what == "limits" else k < len(units) and units[k] == "rad"
                if angle and isfinite(x) and abs(x) > ODD_TURNS * 2 * pi:
                    yield _turns(joint, what, x)
                    break


def _turns(joint: Joint, what: str, x: float) -> str:
    return (
        f"joint '{joint.name}': {what} of {shortest_text(x)} rad is {abs(x) / (2 * pi):.1f} turns: "
        f'is that in degrees? write "{shortest_text(x)} deg"'
    )
