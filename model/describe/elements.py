"""What acts between bodies or on them and moves nothing itself: struts, bushings, loads, point masses."""

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, TypeAlias

from ..joints.types import JointType
from .field_kinds import Choice, Reference
from .fields import NOT_NEGATIVE, ONE, POSITIVE, Quantity
from .inputs import Input
from .motors import CYLINDER_DRIVES, FORCE, Signal, drive_input, motion_signals, tells_motion
from .validation import Flaw, Place

# A number, or the CasADi symbol that stands for it once it is a parameter.
Number: TypeAlias = Any
Vector: TypeAlias = Any
GROUND = "ground"
ORIGIN = (0.0, 0.0, 0.0)
SIDES = {"both": (-1, 1), "pulls": (-1, 0), "pushes": (0, 1)}  # where forces of struts may be

_DRAWN = "drawn: needed; body axes: the origin"


@dataclass(frozen=True)
class Strut:
    """A massless element between two points: spring, damper, cable, or cylinder (`actuated`).

    Its force, positive when it pushes the ends apart, is
    stiffness·(length − distance) − damping·(rate of the distance) + input;
    one that only pulls or only pushes is slack where that would be the other way (`elements/strut.py`).
    """

    name: str  # by which others refer to it
    body1: Annotated[str, Reference("where it starts; may be `ground`", "body")]
    body2: Annotated[str, Reference("where it ends; may be `ground`", "body")]
    point1: Annotated[Vector, Quantity("where on `body1`", "m", 3, on="body1", otherwise=_DRAWN)] = ORIGIN
    point2: Annotated[Vector, Quantity("where on `body2`", "m", 3, on="body2", otherwise=_DRAWN)] = ORIGIN
    stiffness: Annotated[Number, Quantity("stiffness", "N/m", ONE, NOT_NEGATIVE)] = 0.0
    damping: Annotated[Number, Quantity("damping", "N.s/m", ONE, NOT_NEGATIVE)] = 0.0
    length: Annotated[
        Number,
        Quantity(
            "relaxed length",
            "m",
            ONE,
            NOT_NEGATIVE,
            otherwise="drawn: as drawn; body axes: needed with a stiffness",
        ),
    ] = 0.0
    actuated: bool = False
    limit: Annotated[
        float, Quantity("largest force of a cylinder", "N", ONE, POSITIVE, infinite=True, parameter=False)
    ] = inf
    acts: Annotated[
        str,
        Choice(
            "`pulls`: only beyond its length, as a cable; `pushes`: only below it, as a buffer",
            ("both", "pulls", "pushes"),
        ),
    ] = "both"
    drive: Annotated[
        str,
        Choice(
            "what the input of a cylinder is: a force, or the motion that its length follows", CYLINDER_DRIVES
        ),
    ] = FORCE

    def signals(self) -> tuple[Signal, ...]:
        """Inputs of a cylinder, in order."""
        if not self.actuated:
            return ()
        if tells_motion(self):
            return motion_signals(self.drive, ("m", "m/s", "m/s2"))
        return (Signal("", FORCE, "N", self.limit),)

    def inputs(self, kind: JointType | None) -> tuple[Input, ...]:
        """Its rows of the table of inputs; what only pulls gives no force that pushes. It needs no `kind`."""
        low, high = SIDES[self.acts]
        more: dict[str, Any] = {"drives": f"strut.{self.name}.length", "follows": tells_motion(self)}
        return tuple(
            drive_input(
                self,
                "strut",
                x,
                kind,
                low=low * x.most if low else 0.0,
                high=high * x.most if high else 0.0,
                **more,
            )
            for x in self.signals()
        )


@dataclass(frozen=True)
class Load:
    """A constant force and torque on a body at a point, in world or in body axes."""

    name: str  # by which others refer to it
    body: Annotated[str, Reference("what it acts on", "body", but=GROUND)]
    point: Annotated[
        Vector, Quantity("where the force acts", "m", 3, on="body", otherwise="the body's origin")
    ] = ORIGIN
    force: Annotated[Vector, Quantity("constant force", "N", 3)] = ORIGIN
    torque: Annotated[Vector, Quantity("constant torque", "N.m", 3)] = ORIGIN
    axes: Annotated[
        str, Choice("`world`: fixed in space; `body`: turns with the body", ("world", "body"))
    ] = "world"


@dataclass(frozen=True)
class PointMass:
    """A mass at a point of a body, beside the body's own: a payload, a counterweight."""

    name: str  # by which others refer to it
    body: Annotated[str, Reference("what carries it", "body", but=GROUND)]
    mass: Annotated[Number, Quantity("mass", "kg", ONE, NOT_NEGATIVE)]
    point: Annotated[Vector, Quantity("where it is", "m", 3, on="body", otherwise="the body's origin")] = (
        ORIGIN
    )


@dataclass(frozen=True)
class Bushing:
    """An elastic connection of two frames: a spring and a damper along and about each axis.

    With d the place of `frame2` and e the vector part of its Euler parameters, both seen from `frame1`, the
    energy is ½ Σ stiffnessᵢ dᵢ² + 2 Σ turn_stiffnessᵢ eᵢ², for small angles ½ Σ turn_stiffnessᵢ φᵢ²; the
    dampers act on the rates in the axes of `frame1`.
    """

    name: str  # by which others refer to it
    frame1: Annotated[str, Reference("whose axes count, one of `frames`", "frame")]
    frame2: Annotated[str, Reference("what it connects with, one of `frames`", "frame")]
    stiffness: Annotated[Vector, Quantity("along the axes", "N/m", 3, NOT_NEGATIVE)] = ORIGIN
    damping: Annotated[Vector, Quantity("along the axes", "N.s/m", 3, NOT_NEGATIVE)] = ORIGIN
    turn_stiffness: Annotated[Vector, Quantity("about the axes", "N.m/rad", 3, NOT_NEGATIVE)] = ORIGIN
    turn_damping: Annotated[Vector, Quantity("about the axes", "N.m.s/rad", 3, NOT_NEGATIVE)] = ORIGIN


def check_cylinder(actuated: bool, values: dict[str, Any], place: Place) -> None:
    """Refuse a drive of what has no input, and what means nothing where a length is driven."""
    if values["drive"] == FORCE:
        return
    if not actuated:
        raise Flaw(
            (*place, "drive"), "a spring has no input; describe it under 'cylinders', or remove 'drive'"
        )
    for key, otherwise in (("limit", inf), ("acts", "both")):
        if values[key] != otherwise:
            sentence = f"it drives the {values['drive']} of its length with whatever force that takes"
            raise Flaw((*place, key), f"{sentence}; remove '{key}', or drive a force")


def effort_name(item: Any) -> str:
    """The output that says what a motor or cylinder does, whatever its input asks for."""
    return f"{'strut' if isinstance(item, Strut) else 'motor'}.{item.name}.effort"
