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
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from ..base.errors import DescriptionError
from ..joints.types import TYPES, JointType
from .elements import GROUND as GROUND
from .elements import ORIGIN, Bushing, Load, Number, PointMass, Strut, Vector
from .field_kinds import (
    Choices,
    Gravity,
    Group,
    Inertia,
    Names,
    Numbers,
    Reference,
    References,
    Text,
)
from .fields import (
    NOT_NEGATIVE,
    ONE,
    POSITIVE,
    Quantity,
    add_field,
    fields_of,
)
from .inputs import Input
from .joint import UPRIGHT as UPRIGHT
from .joint import Frame as Frame
from .joint import Joint
from .motors import POSITION, VELOCITY, Motor, signal_names
from .sensors import Sensor
from .targets import NamedTarget
from .validation import plain_number, plain_vector
from .visuals import NamedFrame, Visual

POINT = (0.0,) * 6  # the inertia of a body without size
DOWN = (0.0, 0.0, -9.81)
BASE_WAYS = ("surge", "sway", "heave", "yaw", "pitch", "roll")  # of a base, in this order


@dataclass(frozen=True)
class Body:
    """A rigid body. `inertia` is (xx, yy, zz, xy, xz, yz) about the centre of mass."""

    name: str  # by which others refer to it
    mass: Annotated[
        Number,
        Quantity("mass; 0 for a massless link", "kg", ONE, NOT_NEGATIVE, parameter_sign=POSITIVE),
    ]
    com: Annotated[
        Vector,
        Quantity("centre of mass", "m", 3, otherwise="drawn: needed, or `origin`; body axes: [0, 0, 0]"),
    ] = ORIGIN
    inertia: Annotated[Vector, Inertia("about the centre of mass, see below", otherwise="zero: a point")] = (
        POINT
    )
    label: Annotated[str, Text("its name in ROS and in other formats", otherwise="its own")] = ""


@dataclass(frozen=True)
class Coupling:
    """A relation between coordinates of joints with one degree of freedom: gears, belts, racks, cams.

    q = offset + Σ ratio·q_follows + curve₁ q_f² + curve₂ q_f³ + …, with q_f the first that it follows.
    It holds speeds and accelerations as well, and its torque does no work.
    """

    name: str  # by which others refer to it
    joint: Annotated[str, Reference("what follows, a joint with one degree of freedom", "joint")]
    follows: Annotated[
        tuple[str, ...],
        References("what it follows, joints with one degree of freedom", "joint", otherwise="held"),
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

    name: str  # by which others refer to it
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
    targets: Annotated[
        tuple[NamedTarget, ...], Group("poses that may be asked for", NamedTarget, "target", ("targets",))
    ] = ()
    base: Annotated[
        tuple[str, ...],
        Choices("how the ground moves, by inputs", BASE_WAYS, otherwise="it stands"),
    ] = ()
    folder: str = field(default="", compare=False)  # where meshes are looked for
    more: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # items of groups that were added

    if not TYPE_CHECKING:  # for the checker of types misspelt names stay errors

        def __getattr__(self, key: str) -> tuple[Any, ...]:
            """Items of a group that was added (`add_group`)."""
            if key.startswith("_") or key not in fields_of(Mechanism):
                raise AttributeError(f"a mechanism has no '{key}'")
            return self.more.get(key, ())

    def changed(self, **values: Any) -> Mechanism:
        """The same mechanism with other values of fields, those of added groups among them."""
        own = {f.name: values.pop(f.name) for f in fields(self) if f.name in values}
        more = {key: items for key, items in {**self.more, **values}.items() if items}
        return replace(self, **own, more=more)

    def body(self, name: str) -> Body:
        """The body of that name."""
        return find(self.bodies, name, "body")

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        return find(self.joints, name, "joint")

    def joint_type(self, item: Any) -> JointType | None:
        """The type of the joint that an item is, or acts on."""
        joint = self.joint(item.joint) if hasattr(item, "joint") else item
        return TYPES[joint.type] if isinstance(joint, Joint) else None

    @cached_property
    def input_table(self) -> tuple[Input, ...]:
        """All inputs in order: of motors, cylinders, ports, and of kinds that were added."""
        rows: list[Input] = []
        for key in (key for key, kind in fields_of(Mechanism).items() if isinstance(kind, Group)):
            for item in (item for item in getattr(self, key) if hasattr(item, "inputs")):
                for row in item.inputs(self.joint_type(item)):
                    rows.append(replace(row, first=rows[-1].where.stop if rows else 0))
        return tuple(rows)

    def inputs(self) -> tuple[str, ...]:
        """Names of the numbers in the table of inputs."""
        return tuple(name for row in self.input_table for name in row.names)

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

    def with_gravity(self, gravity: float | str | Iterable[float]) -> Mechanism:
        """The same mechanism under another gravity; a number g, or a text with its unit, means (0, 0, −g)."""
        place, unit = ("gravity",), "m/s2"
        if isinstance(gravity, str | int | float):
            return replace(self, gravity=(0.0, 0.0, -plain_number(gravity, place, unit=unit)))
        return replace(self, gravity=plain_vector(gravity, place, [unit] * 3))

    def with_start(self, coordinates: Mapping[str, Iterable[float]]) -> Mechanism:
        """The same mechanism, assembled from other coordinates of the named joints."""
        start = {name: tuple(float(x) for x in q) for name, q in coordinates.items()}
        joints = (replace(j, start=start.get(j.name, j.start)) for j in self.joints)
        return replace(self, joints=tuple(joints))


def add_group(key: str, group: Group) -> None:
    """Let descriptions have a group of items more, under `key` of a mechanism."""
    known = fields_of(Mechanism)
    taken = {
        word for field in known.values() if isinstance(field, Group) for word in (field.word, *field.files)
    }
    clash = {key} & {*known, *Mechanism.__dict__} or {group.word, *group.files} & {*known, *taken}
    if clash and known.get(key) is not group:
        raise DescriptionError(f"descriptions have '{min(clash)}' already; call the new group otherwise")
    add_field(Mechanism, key, group, ())


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
