"""What bodies and frames are asked: pose, twist, specific force; and reactions as bodies feel them.

A frame at p, turned by e on its body, moves with the body's outputs (world axes, `equations/outputs.py`):

    r + R p,    v + ω × R p,    a + α × R p + ω × (ω × R p),

and an inertial sensor in it reads ω and the specific force a − g in the frame's own axes.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ..base.errors import UnknownName
from ..describe.mechanism import GROUND, Mechanism, find, outer_name
from ..describe.sensors import KINDS, Sensor
from ..describe.validation import nearest
from ..state import Stepper

Three: TypeAlias = tuple[float, ...]
Turn: TypeAlias = tuple[float, ...]
BODY = ("position", "orientation", "velocity", "angular_velocity", "acceleration", "angular_acceleration")


class Sensed(NamedTuple):
    """Of a body or frame, in world axes; Euler parameters are (w, x, y, z)."""

    position: Three
    orientation: Turn
    velocity: Three
    angular_velocity: Three
    acceleration: Three
    angular_acceleration: Three
    specific_force: Three  # in its own axes
    own_angular_velocity: Three  # in its own axes


class Place:
    """A body, or a frame on one, that can be asked where it is and what it feels."""

    def __init__(self, simulation: Stepper, name: str):
        self.simulation, mechanism = simulation, simulation.mechanism
        bodies = {body.name: body for body in mechanism.bodies}
        frames = {frame.name: frame for frame in mechanism.frames}
        if name not in bodies and (name not in frames or frames[name].body == GROUND):
            raise UnknownName(
                f"there is no moving body or frame '{name}'; {nearest(name, [*bodies, *frames])}"
            )
        self.name = outer_name(bodies.get(name) or frames[name])
        self.p: Three = (0.0, 0.0, 0.0)
        self.turn: Turn = (1.0, 0.0, 0.0, 0.0)
        body = name
        if name not in bodies:
            frame = frames[name]
            body, self.p, self.turn = (
                frame.body,
                tuple(map(float, frame.at)),
                tuple(map(float, frame.orientation)),
            )
        self._offset, self._tilted = any(self.p), any(self.turn[1:])
        outputs = simulation.engine.variables.outputs
        self._rows = outputs.rows(f"body.{body}.{what}" for what in BODY)

    def read(self, y: np.ndarray) -> Sensed:
        """From the outputs y of the present state; in plain numbers, since arrays of three cost more."""
        r0, r1, r2, *e, v0, v1, v2, w0, w1, w2, a0, a1, a2, d0, d1, d2 = y[self._rows].tolist()
        r: Three = (r0, r1, r2)
        v: Three = (v0, v1, v2)
        w: Three = (w0, w1, w2)
        a: Three = (a0, a1, a2)
        if self._offset:
            arm = _turned(e, self.p)
            swing = _cross(w, arm)
            r, v = _sum(r, arm), _sum(v, swing)
            a = _sum(_sum(a, _cross((d0, d1, d2), arm)), _cross(w, swing))
        turn = _product(e, self.turn) if self._tilted else tuple(e)
        back = (turn[0], -turn[1], -turn[2], -turn[3])
        g0, g1, g2 = gravity(self.simulation)
        force = _turned(back, (a[0] - g0, a[1] - g1, a[2] - g2))
        return Sensed(r, turn, v, w, a, (d0, d1, d2), force, _turned(back, w))

    def felt(self, y: np.ndarray) -> tuple[Turn, Three, Three]:
        """What an inertial sensor here tells: its turn in the world, angular rate and specific force."""
        at = self.read(y)
        return at.orientation, at.own_angular_velocity, at.specific_force


class Reaction:
    """What a joint's parent exerts on its child, in the child's axes and about the child's origin."""

    def __init__(self, simulation: Stepper, name: str):
        self.simulation = simulation
        joint = simulation.mechanism.joint(name)
        on_ground = joint.child == GROUND
        self.body = GROUND if on_ground else outer_name(simulation.mechanism.body(joint.child))
        self.name = outer_name(joint)
        self._p = [float(x) for x in joint.on_child.position]
        outputs = simulation.engine.variables.outputs
        places = [f"reaction.{name}.force", f"reaction.{name}.moment"]
        self._rows = outputs.rows(places + ([] if on_ground else [f"body.{joint.child}.orientation"]))

    def read(self, y: np.ndarray) -> tuple[Three, Three]:
        """Force and torque, from the outputs y."""
        f0, f1, f2, m0, m1, m2, *turn = y[self._rows].tolist()
        force: Three = (f0, f1, f2)
        moment: Three = (m0, m1, m2)
        if turn:
            back = (turn[0], -turn[1], -turn[2], -turn[3])
            force, moment = _turned(back, force), _turned(back, moment)
        return force, _sum(moment, _cross(self._p, force))


class Measured:
    """A sensor of the description at a frame: two readings in the frame's axes, and how the frame is turned.

    Of an inertial sensor specific force and angular rate, of a wrench sensor force and torque; see
    `describe/sensors.py`.
    """

    def __init__(self, simulation: Stepper, sensor: Sensor):
        frame = find(simulation.mechanism.frames, sensor.frame, "frame")
        self.frame = outer_name(frame)
        names = (f"sensor.{sensor.name}.{reading.name}" for reading in KINDS[sensor.type].readings)
        self._rows = simulation.engine.variables.outputs.rows(names)
        self._place = Place(simulation, frame.name) if frame.body != GROUND else None
        self._still: Turn = tuple(map(float, frame.orientation))

    def read(self, y: np.ndarray) -> tuple[Three, Three]:
        """The readings, from the outputs y."""
        a0, a1, a2, b0, b1, b2 = y[self._rows].tolist()
        return (a0, a1, a2), (b0, b1, b2)

    def felt(self, y: np.ndarray) -> tuple[Turn, Three, Three]:
        """Of an inertial sensor: how it is turned in the world (w, x, y, z), angular rate, specific force."""
        force, rate = self.read(y)
        return self._still if self._place is None else self._place.read(y).orientation, rate, force


def gravity(simulation: Stepper) -> Sequence[float]:
    """As it is now: it may be a parameter."""
    for item in simulation.equations.parameters:
        if item.path == "gravity":
            return [float(x) for x in simulation.p[item.slice]]
    return simulation.mechanism.gravity


def _sum(a: Sequence[float], b: Sequence[float]) -> Three:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _cross(a: Sequence[float], b: Sequence[float]) -> Three:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _turned(e: Sequence[float], s: Sequence[float]) -> Three:
    """A(e) s = s + 2 e × (e0 s + e × s)."""
    t0, t1, t2 = _cross(e[1:], s)
    c0, c1, c2 = _cross(e[1:], (t0 + e[0] * s[0], t1 + e[0] * s[1], t2 + e[0] * s[2]))
    return s[0] + 2 * c0, s[1] + 2 * c1, s[2] + 2 * c2


def _product(a: Sequence[float], b: Sequence[float]) -> Turn:
    x, y, z = _cross(a[1:], b[1:])
    w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    return (
        w,
        a[0] * b[1] + b[0] * a[1] + x,
        a[0] * b[2] + b[0] * a[2] + y,
        a[0] * b[3] + b[0] * a[3] + z,
    )


def moving(mechanism: Mechanism) -> list[str]:
    """Names of all bodies and of the frames on them."""
    return [b.name for b in mechanism.bodies] + [f.name for f in mechanism.frames if f.body != GROUND]
