"""What a mechanism is: frozen descriptions; `describe/check.py` says whether one makes sense.

Beside its type, every field says its unit, sign and size, and what the manual tells about it
(`fields.py`); everything that reads, checks, changes or writes a description follows from that.

One convention for the whole engine:

- Every body has a frame. All vectors of a body (centre of mass, joint positions) are in
  that frame's axes and measured from its origin. The inertia is about the centre of mass.
- Every joint has a frame on its parent and one on its child. At zero coordinates the two
  coincide. The joint turns about, or slides along, the z axis of that frame, unless
  `joints/types.py` says otherwise.
- Orientations are Euler parameters (w, x, y, z) of the frame seen from its body.
- SI units throughout: metres, kilograms, seconds, radians, newtons.

Any number of a description may be replaced by a CasADi symbol (`parameters.symbolic`);
the equations do not notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Annotated, Any, TypeAlias

from ..errors import DescriptionError
from ..joints.types import TYPES, JointType
from .field_kinds import (
    Choice,
    Coordinates,
    Flag,
    Gravity,
    Group,
    Inertia,
    Names,
    Numbers,
    Orientation,
    PartField,
    Range,
    Reference,
    References,
    Text,
    TypeOfJoint,
)
from .fields import NOT_NEGATIVE, NOT_ZERO, ONE, OWN, PER_FREEDOM, POSITIVE, SPEEDS, Quantity
from .visuals import NamedFrame, Visual

# A number, or the CasADi symbol that stands for it once it is a parameter.
Number: TypeAlias = Any
Vector: TypeAlias = Any
GROUND = "ground"
ORIGIN = (0.0, 0.0, 0.0)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
POINT = (0.0,) * 6  # the inertia of a body without size
DOWN = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Frame:
    """A frame fixed to a body: where its origin is and how it is turned."""

    position: Annotated[
        Vector, Quantity("where its origin is", "m", 3, changes_geometry=True, name_in_file="at")
    ] = ORIGIN
    orientation: Annotated[Vector, Orientation("how it is turned", changes_geometry=True)] = UPRIGHT


@dataclass(frozen=True)
class Body:
    """A rigid body. `inertia` is (xx, yy, zz, xy, xz, yz) about the centre of mass."""

    name: str
    mass: Annotated[
        Number,
        Quantity(
            "mass; none for what is only carried along", "kg", ONE, NOT_NEGATIVE, parameter_sign=POSITIVE
        ),
    ]
    com: Annotated[
        Vector,
        Quantity("centre of mass", "m", 3, otherwise="drawn: needed, or `origin`; body axes: [0, 0, 0]"),
    ] = ORIGIN
    inertia: Annotated[Vector, Inertia("about the centre of mass, see below", otherwise="zero: a point")] = (
        POINT
    )
    label: Annotated[str, Text("its name in ROS and in other formats", otherwise="its own")] = ""


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

    name: str
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


@dataclass(frozen=True)
class Coupling:
    """A relation between coordinates of joints with one freedom: gears, belts, differentials, racks, cams.

    q = offset + Σ ratio·q_follows + curve₁ q_f² + curve₂ q_f³ + …, with q_f the first that it follows.
    It holds speeds and accelerations as well, and its torque does no work.
    """

    name: str
    joint: Annotated[str, Reference("what follows, a joint with one freedom", "joint")]
    follows: Annotated[
        tuple[str, ...], References("what it follows, joints with one freedom", "joint", otherwise="held")
    ] = ()
    ratio: Annotated[
        Vector,
        Numbers("its motion per motion of each that it follows", changes_geometry=True, otherwise="1 each"),
    ] = ()
    offset: Annotated[
        Number,
        Quantity("where it is when what it follows is at zero", "rad or m", ONE, changes_geometry=True),
    ] = 0.0
    curve: Annotated[
        Vector,
        Numbers(
            "factors of the second, third, ... power of the first that it follows", changes_geometry=True
        ),
    ] = ()


@dataclass(frozen=True)
class Motor:
    """A torque or force input on a joint with one degree of freedom."""

    name: str
    joint: Annotated[str, Reference("what it drives, a joint with one freedom", "joint")]
    limit: Annotated[
        float, Quantity("largest torque or force", "N.m or N", ONE, POSITIVE, infinite=True, parameter=False)
    ] = inf


_DRAWN = "drawn: needed; body axes: the origin"


@dataclass(frozen=True)
class Strut:
    """A massless element between two points: spring, damper, or cylinder (`actuated`).

    Its force, positive when it pushes the ends apart, is
    stiffness·(length − distance) − damping·(rate of the distance) + input.
    """

    name: str
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


@dataclass(frozen=True)
class Load:
    """A constant force and torque on a body at a point, in world or in body axes."""

    name: str
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

    name: str
    body: Annotated[str, Reference("what carries it", "body", but=GROUND)]
    mass: Annotated[Number, Quantity("mass", "kg", ONE, NOT_NEGATIVE)]
    point: Annotated[Vector, Quantity("where it is", "m", 3, on="body", otherwise="the body's origin")] = (
        ORIGIN
    )


@dataclass(frozen=True)
class Mechanism:
    """A whole mechanism; two of them are equal when their descriptions are.

    `outputs` maps a name of the user's to a structured output name such as
    `body.platform.position[3]`; `parameters` maps a name to the path of a number in this
    description, such as `body.leg1.mass` or `joint.hinge1.on_parent.position`.
    """

    name: str
    bodies: Annotated[tuple[Body, ...], Group("rigid bodies", Body, "body", ("bodies",))]
    joints: Annotated[tuple[Joint, ...], Group("joints between them", Joint, "joint", ("joints",))]
    motors: Annotated[tuple[Motor, ...], Group("inputs on joints", Motor, "motor", ("motors",))] = ()
    struts: Annotated[
        tuple[Strut, ...],
        Group("massless elements between points", Strut, "strut", ("springs", "cylinders"), "actuated"),
    ] = ()
    loads: Annotated[tuple[Load, ...], Group("constant forces", Load, "load", ("loads",))] = ()
    gravity: Annotated[Vector, Gravity("its acceleration; a number g means [0, 0, -g]", otherwise="9.81")] = (
        DOWN
    )
    outputs: Annotated[Mapping[str, str], Names("names of your own for outputs")] = field(
        default_factory=dict
    )
    parameters: Annotated[Mapping[str, str], Names("names for numbers that can be changed")] = field(
        default_factory=dict
    )
    description: Annotated[str, Text("a line for people", otherwise="empty")] = ""
    point_masses: Annotated[
        tuple[PointMass, ...],
        Group("masses at points of bodies", PointMass, "point_mass", ("point_masses",)),
    ] = ()
    couplings: Annotated[
        tuple[Coupling, ...], Group("relations between joints", Coupling, "coupling", ("couplings",))
    ] = ()
    visuals: Annotated[
        tuple[Visual, ...], Group("what bodies look like", Visual, "visual", ("visuals",))
    ] = ()
    frames: Annotated[
        tuple[NamedFrame, ...], Group("places on bodies with names", NamedFrame, "frame", ("frames",))
    ] = ()
    folder: str = field(default="", compare=False)  # where meshes are looked for

    def body(self, name: str) -> Body:
        return find(self.bodies, name, "body")

    def joint(self, name: str) -> Joint:
        return find(self.joints, name, "joint")

    def joint_type(self, item: Any) -> JointType | None:
        """The type of the joint that an item is, or acts on."""
        joint = self.joint(item.joint) if hasattr(item, "joint") else item
        return TYPES[joint.type] if isinstance(joint, Joint) else None

    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs in order: motors, then cylinders."""
        return tuple(m.name for m in self.motors) + tuple(s.name for s in self.struts if s.actuated)

    def with_gravity(self, gravity: float | Iterable[float]) -> Mechanism:
        """The same mechanism under another gravity; a number g means (0, 0, −g)."""
        if isinstance(gravity, int | float):
            return replace(self, gravity=(0.0, 0.0, -float(gravity)))
        return replace(self, gravity=tuple(float(x) for x in gravity))

    def with_start(self, coordinates: Mapping[str, Iterable[float]]) -> Mechanism:
        """The same mechanism, assembled from other coordinates of the named joints."""
        start = {name: tuple(float(x) for x in q) for name, q in coordinates.items()}
        joints = (replace(j, start=start.get(j.name, j.start)) for j in self.joints)
        return replace(self, joints=tuple(joints))


def outer_name(item: Body | Joint | NamedFrame) -> str:
    """What a body or joint is called in ROS and in other formats."""
    return item.label or item.name


def find(items: Iterable[Any], name: str, what: str) -> Any:
    """The item of that name, or an error that lists the names there are."""
    for item in items:
        if item.name == name:
            return item
    known = ", ".join(item.name for item in items) or "none"
    raise DescriptionError(f"there is no {what} named '{name}'; known: {known}")
