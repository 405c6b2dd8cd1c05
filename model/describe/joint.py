"""Joints between bodies: where they sit, their springs, dampers, friction and stops."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated

from .elements import ORIGIN, Number, Vector
from .field_kinds import (
    Coordinates,
    Flag,
    Orientation,
    PartField,
    Range,
    Reference,
    Text,
    TypeOfJoint,
)
from .fields import NOT_NEGATIVE, NOT_ZERO, ONE, OWN, PER_FREEDOM, POSITIVE, SPEEDS, Quantity

UPRIGHT = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Frame:
    """A frame fixed to a body: where its origin is and how it is turned."""

    position: Annotated[
        Vector, Quantity("where its origin is", "m", 3, changes_geometry=True, name_in_file="at")
    ] = ORIGIN
    orientation: Annotated[Vector, Orientation("how it is turned", changes_geometry=True)] = UPRIGHT


_SITS = "where and how it sits on the parent: `at` with `axis`, `across` or `orientation`"
_SIDE = "as drawn; body axes: at [0, 0, 0], axes parallel"


@dataclass(frozen=True)
class Joint:
    """A joint between two bodies.

    `damping`, `stiffness`, `rest`, `armature` and `friction` have one entry per speed of the joint,
    or are empty for none. `start` are the coordinates from which assembly starts, empty for the drawn
    pose; `speed` the initial speeds. `cut` is the user's word on whether this joint is the one to cut
    in its loop; None leaves it to `topology.py`.
    """

    name: str  # by which others refer to it
    type: Annotated[str, TypeOfJoint("see the next table")]
    parent: Annotated[str, Reference("what holds it; may be `ground`", "body")]
    child: Annotated[str, Reference("what it moves; may be `ground`", "body")]
    on_parent: Annotated[Frame, PartField(_SITS, Frame, otherwise=_SIDE)] = Frame()
    on_child: Annotated[Frame, PartField("the same on the child", Frame, otherwise=_SIDE)] = Frame()
    pitch: Annotated[
        Number,
        Quantity(
            "travel of a screw per angle",
            "m/rad",
            ONE,
            NOT_ZERO,
            joints=OWN,
            changes_geometry=True,
            advice="a screw needs its travel in metres per radian",
            otherwise="needed, or `lead`",
        ),
    ] = 0.0
    length: Annotated[
        Number,
        Quantity(
            "how far apart the ends are kept",
            "m",
            ONE,
            POSITIVE,
            joints=OWN,
            changes_geometry=True,
            advice="two points kept together are spherical",
            otherwise="drawn: as drawn; body axes: needed",
        ),
    ] = 0.0
    travel: Annotated[Number, Quantity("where a slide is held", "m", joints=OWN, changes_geometry=True)] = 0.0
    radius: Annotated[
        Number,
        Quantity(
            "of what rolls",
            "m",
            ONE,
            POSITIVE,
            joints=OWN,
            changes_geometry=True,
            advice="what rolls needs its radius",
            otherwise="needed",
        ),
    ] = 0.0
    belt: Annotated[
        Vector,
        Quantity(
            "velocity of the plane's surface along its x and y axes, as of a conveyor",
            "m/s",
            2,
            joints=OWN,
            changes_geometry=True,
        ),
    ] = (0.0, 0.0)
    damping: Annotated[
        Vector, Quantity("viscous damping", "N.m.s/rad or N.s/m", PER_FREEDOM, NOT_NEGATIVE)
    ] = ()
    stiffness: Annotated[
        Vector, Quantity("spring; of a ball see below", "N.m/rad or N/m", PER_FREEDOM, NOT_NEGATIVE)
    ] = ()
    rest: Annotated[
        Vector,
        Quantity(
            "coordinate at which the spring is relaxed; of a ball the rotation vector",
            "rad or m",
            PER_FREEDOM,
            otherwise="zero",
        ),
    ] = ()
    armature: Annotated[
        Vector, Quantity("rotor inertia as the joint feels it", "kg.m2 or kg", PER_FREEDOM, NOT_NEGATIVE)
    ] = ()
    friction: Annotated[
        Vector,
        Quantity(
            "dry friction, smoothed by tanh(speed / `friction_speed`)", "N.m or N", PER_FREEDOM, NOT_NEGATIVE
        ),
    ] = ()
    friction_speed: Annotated[
        Number, Quantity("where tanh has its knee", "rad/s or m/s", ONE, POSITIVE, needs="friction")
    ] = 0.01
    stiction: Annotated[
        Vector,
        Quantity(
            "dry friction that is to be overcome at rest, with bristles",
            "N.m or N",
            PER_FREEDOM,
            NOT_NEGATIVE,
            otherwise="as `friction`",
        ),
    ] = ()
    stribeck_speed: Annotated[
        Number,
        Quantity(
            "at which friction has fallen from `stiction` to about `friction`",
            "rad/s or m/s",
            ONE,
            POSITIVE,
            needs="stiction",
        ),
    ] = 0.01
    bristle_stiffness: Annotated[
        Vector,
        Quantity(
            "of what sticks: friction then holds at rest, and has a state",
            "N.m/rad or N/m",
            PER_FREEDOM,
            NOT_NEGATIVE,
            parameter_sign=POSITIVE,
            needs="friction",
        ),
    ] = ()
    bristle_damping: Annotated[
        Vector,
        Quantity(
            "of what sticks", "N.m.s/rad or N.s/m", PER_FREEDOM, NOT_NEGATIVE, needs="bristle_stiffness"
        ),
    ] = ()
    limits: Annotated[tuple[float, float], Range("[lowest, highest] coordinate, `.inf` for none")] = (
        -inf,
        inf,
    )
    limit_stiffness: Annotated[
        Number, Quantity("spring beyond a limit", "N.m/rad or N/m", ONE, NOT_NEGATIVE, needs="limits")
    ] = 1e4
    limit_damping: Annotated[
        Number,
        Quantity("damping per overrun of a limit", "N.m.s/rad2 or N.s/m2", ONE, NOT_NEGATIVE, needs="limits"),
    ] = 1e3
    speed_limit: Annotated[
        float,
        Quantity(
            "largest speed that commands may ask for: node, native loop and plugin keep it",
            "rad/s or m/s",
            ONE,
            POSITIVE,
            infinite=True,
            parameter=False,
        ),
    ] = inf
    start: Annotated[
        tuple[float, ...],
        Coordinates("coordinates from which it is assembled; a cut joint meets them", otherwise="zero"),
    ] = ()
    speed: Annotated[
        tuple[float, ...],
        Quantity(
            "initial speeds, met exactly or refused",
            "rad/s or m/s",
            SPEEDS,
            parameter=False,
            otherwise="zero",
        ),
    ] = ()
    cut: Annotated[bool | None, Flag("whether to cut it in its loop", otherwise="chosen")] = None
    label: Annotated[str, Text("its name in ROS and in other formats", otherwise="its own")] = ""
