"""The items of a mechanism from those of a robot: names, bodies, joints, couplings, motors and visuals."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from ..base.errors import DescriptionError
from ..describe.mechanism import Body, Coupling, Frame, Joint, Motor
from ..describe.visuals import NamedFrame, Visual
from ..joints.types import TYPES
from .robot import WORLD, Robot, RobotJoint, RobotLink


def our_word(text: str) -> str:
    """A name that can be used in Python, in an FMU and in ROS, as near to the text as can be."""
    word = re.sub(r"\W", "_", text, flags=re.ASCII)
    return word if re.match(r"[A-Za-z_]", word) else f"_{word}"


def names(originals: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Our name for each of theirs, all different."""
    used, found = set(taken), {}
    for original in originals:
        word = stem = our_word(original)
        n = 1
        while word in used:
            n += 1
            word = f"{stem}_{n}"
        used.add(word)
        found[original] = word
    return found


def _label(original: str, name: str) -> str:
    return "" if original == name else original


def body_of(link: RobotLink, name: str, inertia: np.ndarray, light: bool) -> Body:
    com, label = tuple(float(x) + 0.0 for x in link.com), _label(link.name, name)
    if light:
        return Body(name, 0.0, com, label=label)
    J = (inertia + inertia.T) / 2
    six = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
    return Body(name, float(link.mass), com, tuple(float(x) + 0.0 for x in six), label)


def frames_of(robot: Robot, bodies: Mapping[str, str]) -> tuple[NamedFrame, ...]:
    """Links that are part of others now; a frame of no mass that was left out has nothing to be on.

    Frames whose name says that they close a loop are the joint that closes it.
    """
    joints = {f"{joint.name}_{side}" for joint in robot.joints if joint.closes for side in (1, 2)}
    kept = [frame for frame in robot.frames if frame.name not in joints]
    ours = names((frame.name for frame in kept), taken=bodies.values())
    found = []
    for frame in kept:
        if frame.link in bodies:
            at, name = frame.at.frame(), ours[frame.name]
            body, label = bodies[frame.link], _label(frame.name, name)
            found.append(NamedFrame(name, body, at.position, at.orientation, label))
    return tuple(found)


def visuals_of(robot: Robot, bodies: Mapping[str, str]) -> tuple[Visual, ...]:
    """Shapes of links and of the ground; colours beyond what can be shown are brought into range."""
    found: list[Visual] = []
    parts = [(WORLD, robot.fixed), *((link.name, link.visuals) for link in robot.links)]
    for link, shapes in parts:
        for k, shape in enumerate(shapes, 1):
            at = shape.at.frame()
            size = tuple(float(x) for x in shape.size)
            if not np.isfinite([*size, *at.position, *at.orientation]).all() or not all(size):
                continue
            colour = tuple(float(np.clip(x, 0.0, 1.0)) for x in shape.colour)
            name = f"{bodies[link]}_shape{k}"
            found.append(
                Visual(name, bodies[link], shape.kind, size, shape.file, colour, at.position, at.orientation)
            )
    renamed = names(visual.name for visual in found)
    return tuple(replace(visual, name=renamed[visual.name]) for visual in found)


def joint_of(
    joint: RobotJoint, name: str, bodies: Mapping[str, str], cut: bool | None, notes: list[str]
) -> Joint:
    kind, start = TYPES[joint.type], joint.start
    low, high = joint.limits
    if kind.nq == 1 and not low <= (start[0] if start else 0.0) <= high:
        inside = min(max(start[0] if start else 0.0, low), high)
        notes.append(f"start: joint {name} starts at {inside:g}, since it would be beyond its limits")
        start = (inside,)
    per_freedom: dict[str, Any] = {
        key: (value,) * kind.nv
        for key in ("damping", "friction", "stiffness", "rest", "armature")
        if (value := getattr(joint, key)) and kind.nv
    }
    if not joint.stiffness or joint.type in ("spherical", "free"):
        per_freedom.pop("rest", None)
        if per_freedom.pop("stiffness", None):
            notes.append(f"left out: the spring of joint {name}, a ball")
    frames: tuple[Frame, Frame] = (joint.on_parent.frame(), joint.on_child.frame())
    return Joint(
        name,
        joint.type,
        bodies[joint.parent],
        bodies[joint.child],
        *frames,
        pitch=joint.pitch,
        limits=joint.limits if kind.nq == 1 else (-inf, inf),
        speed_limit=joint.speed_limit if kind.nq == 1 else inf,
        start=start,
        cut=cut,
        label=_label(joint.name, name),
        **per_freedom,
    )


def couplings_of(robot: Robot, joints: Mapping[str, str]) -> tuple[Coupling, ...]:
    """Every relation solved for the first of its joints that it is linear in."""
    ours = names((coupled.name for coupled in robot.couplings), taken=joints.values())
    found = []
    for coupled in robot.couplings:
        straight = [name for name, c in coupled.terms.items() if c[0] and not any(c[1:])]
        bent = [name for name, c in coupled.terms.items() if any(c[1:])]
        if not straight or len(bent) > 1:
            raise DescriptionError(f"coupling '{coupled.name}' is linear in no joint, or curved in several")
        first = straight[0]
        scale = -1.0 / coupled.terms[first][0]
        others = [*bent, *(name for name in coupled.terms if name != first and name not in bent)]
        found.append(
            Coupling(
                ours[coupled.name],
                joints[first],
                tuple(joints[name] for name in others),
                tuple(scale * coupled.terms[name][0] for name in others),
                scale * coupled.offset + 0.0,
                tuple(scale * c for name in bent for c in coupled.terms[name][1:]),
            )
        )
    return tuple(found)


def motors_of(robot: Robot, joints: Mapping[str, str]) -> tuple[Motor, ...]:
    ours = names(drive.name for drive in robot.drives)
    return tuple(
        Motor(ours[d.name], joints[d.joint], d.limit, servo_stiffness=d.stiffness, servo_damping=d.damping)
        for d in robot.drives
    )
