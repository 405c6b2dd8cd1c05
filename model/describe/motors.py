"""Motors and what stands behind them: gear, limits, servo, lag, winding, play.

Without any of it a motor's input is the torque on its joint. What an input of it is, and which states it
has of its own, is said here, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, NamedTuple

from ..joints.types import JointType
from .field_kinds import Choice, Reference
from .fields import NOT_NEGATIVE, ONE, POSITIVE, Quantity, Sign
from .inputs import Input
from .validation import Flaw, Place

Number = Any  # or the CasADi symbol that stands for it


def _is_part(x: Any) -> Any:
    return (x > 0) * (x <= 1)


MOTIONS = POSITION, VELOCITY, ACCELERATION = "position", "velocity", "acceleration"
DRIVES = (TORQUE := "torque", *MOTIONS)
CYLINDER_DRIVES = (FORCE := "force", *MOTIONS)
PART = Sign("above 0, at most 1", 0.0, _is_part, "must be above 0 and at most 1, not {:g}")
_ABSENT = "none"


@dataclass(frozen=True)
class Motor:
    """An input on a joint with one degree of freedom; the equations are those of `elements/motor.py`.

    The input is a torque, or a motion that the joint follows exactly (`equations/motion_drives.py`): a
    position comes with its velocity and acceleration, a velocity with its acceleration, as inputs beside it.

    Speeds and torques of limits, servo and play are those of the joint, behind the gear.
    """

    name: str  # by which others refer to it
    joint: Annotated[str, Reference("what it drives, a joint with one degree of freedom", "joint")]
    limit: Annotated[
        float, Quantity("largest torque or force", "N.m or N", ONE, POSITIVE, infinite=True, parameter=False)
    ] = inf
    top_speed: Annotated[
        float,
        Quantity(
            "speed at which a falling `limit` has become zero",
            "rad/s or m/s",
            ONE,
            POSITIVE,
            infinite=True,
            parameter=False,
        ),
    ] = inf
    gear_ratio: Annotated[
        Number,
        Quantity(
            "turn of the rotor over the motion of the joint", "1 or rad/m", ONE, POSITIVE, needs="gear_ratio"
        ),
    ] = 1.0
    rotor_inertia: Annotated[
        Number,
        Quantity(
            "of the rotor about its own axis, in front of the gear",
            "kg.m2",
            ONE,
            NOT_NEGATIVE,
            parameter_sign=POSITIVE,
            needs="rotor_inertia",
        ),
    ] = 0.0
    efficiency: Annotated[
        Number,
        Quantity(
            "part of the torque that the gear passes on while it drives", "1", ONE, PART, needs="efficiency"
        ),
    ] = 1.0
    servo_stiffness: Annotated[
        Number,
        Quantity(
            "torque per error of position: the input is then the wanted position",
            "N.m/rad or N/m",
            ONE,
            NOT_NEGATIVE,
            parameter_sign=POSITIVE,
            needs="servo_stiffness",
            otherwise="no servo",
        ),
    ] = 0.0
    servo_damping: Annotated[
        Number,
        Quantity(
            "torque per error of speed",
            "N.m.s/rad or N.s/m",
            ONE,
            NOT_NEGATIVE,
            needs="servo_stiffness",
        ),
    ] = 0.0
    feed_forward: Annotated[
        str,
        Choice(
            "further inputs of a servo: wanted speed `<motor>_speed`, added torque `<motor>_torque`",
            (_ABSENT, "speed", "torque", "both"),
        ),
    ] = _ABSENT
    drive: Annotated[
        str, Choice("what its input is: a torque (or force), or the motion that the joint follows", DRIVES)
    ] = TORQUE
    lag: Annotated[
        Number,
        Quantity(
            "time constant with which the torque follows what is wanted",
            "s",
            ONE,
            NOT_NEGATIVE,
            parameter_sign=POSITIVE,
            needs="lag",
        ),
    ] = 0.0
    resistance: Annotated[
        Number,
        Quantity(
            "of the winding of a DC motor: the input is then its voltage, unless it has a servo",
            "ohm",
            ONE,
            NOT_NEGATIVE,
            parameter_sign=POSITIVE,
            needs="resistance",
            otherwise="no winding",
        ),
    ] = 0.0
    inductance: Annotated[
        Number,
        Quantity("of the winding", "H", ONE, NOT_NEGATIVE, parameter_sign=POSITIVE, needs="inductance"),
    ] = 0.0
    torque_constant: Annotated[
        Number,
        Quantity(
            "torque of the rotor per current, and voltage per speed",
            "N.m/A",
            ONE,
            NOT_NEGATIVE,
            parameter_sign=POSITIVE,
            needs="torque_constant",
        ),
    ] = 0.0
    supply: Annotated[
        float, Quantity("largest voltage", "V", ONE, POSITIVE, infinite=True, parameter=False)
    ] = inf
    backlash: Annotated[
        Number,
        Quantity(
            "play between gear and joint, from end to end",
            "rad or m",
            ONE,
            NOT_NEGATIVE,
            parameter_sign=POSITIVE,
            needs="backlash",
        ),
    ] = 0.0
    mesh_stiffness: Annotated[
        Number,
        Quantity(
            "of the gear at either end of its play", "N.m/rad or N/m", ONE, NOT_NEGATIVE, needs="backlash"
        ),
    ] = 0.0
    mesh_damping: Annotated[
        Number,
        Quantity(
            "per indentation, at either end", "N.m.s/rad2 or N.s/m2", ONE, NOT_NEGATIVE, needs="backlash"
        ),
    ] = 0.0

    def signals(self) -> tuple[Signal, ...]:
        """Its inputs in order."""
        if tells_motion(self):
            return motion_signals(self.drive, ("rad or m", "rad/s or m/s", "rad/s2 or m/s2"))
        torque = Signal("", TORQUE, "N.m or N", self.limit)
        if not has(self.servo_stiffness):
            return (Signal("", "voltage", "V", self.supply) if has(self.resistance) else torque,)
        wanted = [Signal("", "position", "rad or m")]
        if self.feed_forward in ("speed", "both"):
            wanted.append(Signal("_speed", "speed", "rad/s or m/s"))
        if self.feed_forward in ("torque", "both"):
            wanted.append(torque._replace(ending="_torque", most=inf))
        return tuple(wanted)

    def inputs(self, kind: JointType | None) -> tuple[Input, ...]:
        """Its rows of the table of inputs, on a joint of this `kind`."""
        follows = has(self.servo_stiffness) or tells_motion(self) or has(self.resistance)
        more: dict[str, Any] = {"joint": self.joint, "drives": f"joint.{self.joint}.position"}
        return tuple(
            drive_input(self, "motor", x, kind, low=-x.most, high=x.most, follows=follows, **more)
            for x in self.signals()
        )


class Signal(NamedTuple):
    """An input before its joint is known: the item's name with an ending; unit as a `Quantity` says it."""

    ending: str
    role: str
    unit: str
    most: float = inf  # largest value that has an effect


def tells_motion(item: Any) -> bool:
    """Whether the input of a motor or cylinder is a motion."""
    return item.drive in MOTIONS


def motion_signals(drive: str, units: tuple[str, str, str]) -> tuple[Signal, ...]:
    """The inputs that tell a motion: what is driven, and its derivatives."""
    first, *rates = zip(MOTIONS, units, strict=True)
    named = [Signal("", *first), *(Signal(f".{what}", what, unit) for what, unit in rates)]
    at = MOTIONS.index(drive)
    return (named[at]._replace(ending=""), *named[at + 1 :])


def signal_names(item: Any) -> tuple[str, ...]:
    """Names of the inputs of a motor or cylinder, in order."""
    return tuple(f"{item.name}{signal.ending}" for signal in item.signals())


def drive_input(item: Any, word: str, signal: Signal, kind: JointType | None, **more: Any) -> Input:
    """The row of the table of inputs for a signal of a motor or cylinder."""
    units = Quantity("", signal.unit).units(kind)
    role = FORCE if signal.role == TORQUE and units != ("N.m",) else signal.role
    about = f"{'wanted ' if role in ('position', 'speed') else ''}{role} of {item.name}"
    name = f"{item.name}{signal.ending}"
    return Input(name, f"{word}.{item.name}", role, units, about, **more)


def has(value: Any) -> bool:
    """Whether a number that means nothing where it is zero is there; a symbol is."""
    if isinstance(value, tuple):
        return any(has(x) for x in value)
    return not isinstance(value, int | float) or value != 0.0


def plain(motor: Motor) -> bool:
    """Whether it is a torque on its joint and no more, limited or not."""
    bare = Motor(motor.name, motor.joint, motor.limit)
    return all(
        isinstance(value := getattr(motor, key), float | str) and value == getattr(bare, key)
        for key in bare.__dataclass_fields__
    )


def has_delay(motor: Motor) -> bool:
    """Whether states of its own stand between its input and its torque."""
    return has(motor.lag) or has(motor.inductance) or has(motor.backlash)


def reflected_inertia(motor: Motor) -> Any:
    """Rotor inertia as the joint would feel it."""
    return motor.gear_ratio**2 * motor.rotor_inertia if has(motor.rotor_inertia) else 0.0


def rigid_rotor(motor: Motor) -> Any:
    """Inertia of a rotor that moves as its joint does; one behind play moves by itself."""
    return 0.0 if has(motor.backlash) else reflected_inertia(motor)


def check_motor(values: dict[str, Any], place: Place) -> None:
    """Refuse numbers of a motor that mean nothing without others."""
    for key, needed in (("servo_damping", "servo_stiffness"), ("feed_forward", "servo_stiffness")):
        if values[key] not in (0.0, _ABSENT) and not values[needed]:
            raise Flaw((*place, key), f"it is for a servo; give the field '{needed}' too, or remove '{key}'")
    if values["drive"] != TORQUE:
        given = [key for key in _OF_TORQUE if values[key] != _OF_TORQUE[key]]
        if given:
            sentence = f"it drives the {values['drive']} of its joint with whatever torque that takes"
            raise Flaw((*place, given[0]), f"{sentence}; remove '{given[0]}', or drive a torque")
    for key in ("inductance", "torque_constant", "supply"):
        if values[key] not in (0.0, inf) and not values["resistance"]:
            raise Flaw((*place, key), "it is of a winding; give the field 'resistance' too")
    for key in ("mesh_stiffness", "mesh_damping"):
        if values[key] and not values["backlash"]:
            raise Flaw((*place, key), f"it is for play; give the field 'backlash' too, or remove '{key}'")
    if values["resistance"]:
        if not values["torque_constant"]:
            raise Flaw((*place, "torque_constant"), "a winding needs the torque it makes per current")
        if values["lag"]:
            raise Flaw((*place, "lag"), "a winding has its own; give its 'inductance' in place of a lag")
        if values["limit"] < inf and not values["servo_stiffness"]:
            sentence = "the input is a voltage, limited by 'supply'; remove 'limit'"
            raise Flaw((*place, "limit"), sentence)
    if values["backlash"]:
        for key in ("rotor_inertia", "mesh_stiffness"):
            if not values[key]:
                raise Flaw((*place, key), f"a rotor behind play moves by itself; give the field '{key}' too")
    if values["top_speed"] < inf and values["limit"] == inf:
        raise Flaw((*place, "top_speed"), "it is where a 'limit' has fallen to zero; give the field 'limit'")


_OF_TORQUE: dict[str, Any] = {
    "limit": inf,
    "top_speed": inf,
    "efficiency": 1.0,
    "servo_stiffness": 0.0,
    "lag": 0.0,
    "resistance": 0.0,
    "backlash": 0.0,
}
