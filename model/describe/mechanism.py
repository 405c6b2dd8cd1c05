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
from typing import Annotated, Any

from ..errors import DescriptionError
from ..joints.types import TYPES, JointType
from .elements import GROUND as GROUND
from .elements import ORIGIN, Bushing, Load, Number, PointMass, Strut, Vector
from .field_kinds import (
    Choices,
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
from .motors import POSITION, VELOCITY, Motor, signal_names
from .sensors import Sensor
from .visuals import NamedFrame, Visual

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
POINT = (0.0,) * 6  # the inertia of a body without size
DOWN = (0.0, 0.0, -9.81)
BASE_WAYS = ("surge", "sway", "heave", "yaw", "pitch", "roll")  # of a base, in this order


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
    bushings: Annotated[
        tuple[Bushing, ...], Group("elastic connections of frames", Bushing, "bushing", ("bushings",))
    ] = ()
    sensors: Annotated[tuple[Sensor, ...], Group("what is measured", Sensor, "sensor", ("sensors",))] = ()
    base: Annotated[
        tuple[str, ...],
        Choices("how the ground moves, by inputs", BASE_WAYS, otherwise="it stands"),
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
        """Names of the inputs in order: motors, motions with their derivatives; cylinders; wrenches."""
        whole = self.input_sizes().items()
        return tuple(f"{name}[{k + 1}]" if n > 1 else name for name, n in whole for k in range(n))

    def input_sizes(self) -> dict[str, int]:
        """The same by whole names, with how many numbers each has."""
        single = [name for item in self.drives for name in signal_names(item)]
        wrenches = [
            f"{f.name}.{what}" for f in self.frames if f.port == "force" for what in ("force", "torque")
        ]
        return dict.fromkeys(single, 1) | dict.fromkeys(wrenches, 3)

    @property
    def drives(self) -> tuple[Motor | Strut, ...]:
        """What has an input and gives a torque or force: motors, then cylinders."""
        return *self.motors, *(strut for strut in self.struts if strut.actuated)

    @property
    def driven(self) -> tuple[Motor | Strut, ...]:
        """Motors and cylinders that follow a position or velocity: constraints that depend on time."""
        return tuple(item for item in self.drives if item.drive in (POSITION, VELOCITY))

    @property
    def motions(self) -> tuple[str, ...]:
        """Names of the inputs that move these constraints."""
        return tuple(name for item in self.driven for name in signal_names(item))

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
