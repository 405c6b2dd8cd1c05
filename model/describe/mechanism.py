"""What a mechanism is: frozen descriptions; `describe/check.py` says whether one makes sense.

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
from typing import Any, TypeAlias

from ..errors import DescriptionError

# A number, or the CasADi symbol that stands for it once it is a parameter.
Number: TypeAlias = Any
Vector: TypeAlias = Any
GROUND = "ground"


@dataclass(frozen=True)
class Frame:
    """A frame fixed to a body: where its origin is and how it is turned."""

    position: Vector = (0.0, 0.0, 0.0)
    orientation: Vector = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Body:
    """A rigid body. `inertia` is (xx, yy, zz, xy, xz, yz) about the centre of mass."""

    name: str
    mass: Number
    com: Vector = (0.0, 0.0, 0.0)
    inertia: Vector = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Joint:
    """A joint between two bodies.

    The tuples `damping`, `stiffness`, `rest`, `armature`, `friction` have one entry per
    speed of the joint, or are empty for none. `limits` is (lowest, highest) for joints
    with one coordinate. `start` are the coordinates from which assembly starts, empty for
    the drawn pose; `speed` the initial speeds. `cut` is the user's word on whether this
    joint is the one to cut in its loop; None leaves it to `topology.py`.
    """

    name: str
    type: str
    parent: str
    child: str
    on_parent: Frame = Frame()
    on_child: Frame = Frame()
    pitch: Number = 0.0  # helical: metres of travel per radian
    length: Number = 0.0  # joints that keep a distance: how much, metres
    travel: Number = 0.0  # translational-distance: where the slide is held, metres along its axis
    damping: Vector = ()  # N·m·s/rad or N·s/m
    stiffness: Vector = ()  # N·m/rad or N/m
    rest: Vector = ()  # coordinates at which the spring is relaxed
    armature: Vector = ()  # rotor inertia seen by the joint, kg·m² or kg
    friction: Vector = ()  # Coulomb level, N·m or N, smoothed by tanh
    friction_speed: Number = 0.01  # speed at which tanh has its knee, rad/s or m/s
    limits: tuple[float, float] = (-inf, inf)
    limit_stiffness: Number = 1e4  # N·m/rad or N/m beyond a limit
    limit_damping: Number = 1e3  # N·m·s/rad² or N·s/m²: times the overrun
    start: tuple[float, ...] = ()
    speed: tuple[float, ...] = ()
    cut: bool | None = None


@dataclass(frozen=True)
class Motor:
    """A torque or force input on a joint with one degree of freedom."""

    name: str
    joint: str
    limit: float = inf


@dataclass(frozen=True)
class Strut:
    """A massless element between two points: spring, damper, or cylinder (`actuated`).

    Its force, positive when it pushes the ends apart, is
    stiffness·(length − distance) − damping·(rate of the distance) + input.
    """

    name: str
    body1: str
    body2: str
    point1: Vector = (0.0, 0.0, 0.0)
    point2: Vector = (0.0, 0.0, 0.0)
    stiffness: Number = 0.0
    damping: Number = 0.0
    length: Number = 0.0
    actuated: bool = False
    limit: float = inf


@dataclass(frozen=True)
class Load:
    """A constant force and torque on a body at a point, in world or in body axes."""

    name: str
    body: str
    point: Vector = (0.0, 0.0, 0.0)
    force: Vector = (0.0, 0.0, 0.0)
    torque: Vector = (0.0, 0.0, 0.0)
    axes: str = "world"


@dataclass(frozen=True)
class Mechanism:
    """A whole mechanism; two of them are equal when their descriptions are.

    `outputs` maps a name of the user's to a structured output name such as
    `body.platform.position[3]`; `parameters` maps a name to the path of a number in this
    description, such as `body.leg1.mass` or `joint.hinge1.on_parent.position`.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    motors: tuple[Motor, ...] = ()
    struts: tuple[Strut, ...] = ()
    loads: tuple[Load, ...] = ()
    gravity: Vector = (0.0, 0.0, -9.81)
    outputs: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    description: str = ""

    def body(self, name: str) -> Body:
        return find(self.bodies, name, "body")

    def joint(self, name: str) -> Joint:
        return find(self.joints, name, "joint")

    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs in order: motors, then cylinders."""
        return tuple(m.name for m in self.motors) + tuple(s.name for s in self.struts if s.actuated)

    def with_gravity(self, gravity: float | Iterable[float]) -> Mechanism:
        """The same mechanism under another gravity; a number g means (0, 0, −g)."""
        if isinstance(gravity, int | float):
            return replace(self, gravity=(0.0, 0.0, -float(gravity)))
        return replace(self, gravity=tuple(float(x) for x in gravity))


def find(items: Iterable[Any], name: str, what: str) -> Any:
    """The item of that name, or an error that lists the names there are."""
    for item in items:
        if item.name == name:
            return item
    known = ", ".join(item.name for item in items) or "none"
    raise DescriptionError(f"there is no {what} named '{name}'; known: {known}")
