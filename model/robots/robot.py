"""A robot as other formats describe it: the one form that all readers fill and `translate.py` takes.

A joint has a frame on each of its two links, which coincide at zero coordinates, and turns about or slides
along their z axis, as in our own descriptions (`describe/mechanism.py`). What closes a loop is a joint like
any other; trees are not marked as such, since URDF and MJCF are trees with extra joints and SDF is a graph.
Names are those of the file, whatever characters they are made of. Whatever was read, repaired or left out
is a line of `notes`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from ..base.errors import DescriptionError
from ..urdf.placement import HERE, PlacedFrame
from .xml_nodes import Node

WORLD = ""  # the link that is the ground; no file can name a link so


@dataclass(frozen=True, eq=False)
class RobotVisual:
    """A shape to be seen on a link: `size` is what its kind needs, in metres.

    box: three edges; sphere: radius; cylinder and capsule: radius and length along z; mesh: a scale along
    each axis, and the file as it is named.
    """

    kind: str
    size: tuple[float, ...]
    at: PlacedFrame = HERE
    colour: tuple[float, ...] = ()
    file: str = ""


@dataclass(frozen=True, eq=False)
class RobotLink:
    """A rigid link; the inertia is the 3×3 tensor about the centre of mass in the link's axes."""

    name: str
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    visuals: tuple[RobotVisual, ...] = ()


@dataclass(frozen=True, eq=False)
class RobotFrame:
    """A link that has become part of another one, and where on that it is."""

    name: str
    link: str
    at: PlacedFrame


@dataclass(frozen=True, eq=False)
class RobotJoint:
    """A joint of one of our types between two links; what drives it is a `Drive`.

    Numbers per freedom are one for all freedoms. `start` is empty for zero coordinates.
    """

    name: str
    type: str
    parent: str
    child: str
    on_parent: PlacedFrame = HERE
    on_child: PlacedFrame = HERE
    limits: tuple[float, float] = (-inf, inf)
    effort: float = inf
    speed_limit: float = inf
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    armature: float = 0.0
    pitch: float = 0.0
    start: tuple[float, ...] = ()
    closes: bool = False  # whether the file has it beside its tree


@dataclass(frozen=True)
class Coupled:
    """0 = offset + Σ pₖ(qₖ), a polynomial without constant part for every joint: (c₁, c₂, …) of q, q², …"""

    name: str
    terms: dict[str, tuple[float, ...]]
    offset: float = 0.0


@dataclass(frozen=True)
class Drive:
    """A motor on a joint; its input is a torque or force, or with a stiffness the position that it holds."""

    name: str
    joint: str
    limit: float = inf
    stiffness: float = 0.0
    damping: float = 0.0


@dataclass(frozen=True, eq=False)
class Robot:
    """Links, joints, couplings and drives; `base` is the link that a fixed base holds, if one floats."""

    name: str
    links: tuple[RobotLink, ...]
    joints: tuple[RobotJoint, ...]
    couplings: tuple[Coupled, ...] = ()
    drives: tuple[Drive, ...] = ()
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    base: str = WORLD
    at: PlacedFrame = HERE  # where the file puts the base
    fixed: tuple[RobotVisual, ...] = ()  # shapes of the ground
    frames: tuple[RobotFrame, ...] = ()
    notes: tuple[str, ...] = ()

    def link(self, name: str) -> RobotLink | None:
        return next((link for link in self.links if link.name == name), None)

    def joint(self, name: str) -> RobotJoint | None:
        return next((joint for joint in self.joints if joint.name == name), None)


def reached_from(links: Iterable[str], ties: Iterable[tuple[str, str]]) -> set[str]:
    """The links that joints between pairs of links connect with these."""
    reached, pairs = set(links), list(ties)
    while more := {end for pair in pairs if reached & set(pair) for end in pair} - reached:
        reached |= more
    return reached


def note_left_out(what: str, names: Any) -> list[str]:
    """A note on things that were not read, by name; none if there are none."""
    found = [str(name) for name in names]
    return [f"left out: {what} {', '.join(found)}"] if found else []


def shapes_of(
    nodes: Iterable[Node], read: Callable[[Node], RobotVisual | None], notes: list[str]
) -> tuple[RobotVisual, ...]:
    """The shapes of a link; one that can't be read is left out, since it moves nothing."""
    found = []
    for node in nodes:
        try:
            found.append(read(node))
        except DescriptionError as error:
            notes.append(f"left out: a shape; {error}")
    return tuple(visual for visual in found if visual)
