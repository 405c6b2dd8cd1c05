"""Motors and what stands behind them: gear, limits, servo, lag, winding, play.

Without any of it a motor's input is the torque on its joint. What an input of it is, and which states it
has of its own, is said here, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, NamedTuple

from .field_kinds import Choice, Reference
from .fields import NOT_NEGATIVE, ONE, POSITIVE, Quantity, Sign
from .flaws import Flaw, Place

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
    """An input on a joint with one degree of freedom; the equations are those of `equations/drives.py`.

    The input is a torque, or a motion that the joint follows exactly (`equations/prescribed.py`): a position
    comes with its velocity and acceleration, a velocity with its acceleration, as inputs beside it.

    Speeds and torques of limits, servo and play are those of the joint, behind the gear.
    """

    name: str
    joint: Annotated[str, Reference("what it drives, a joint with one freedom", "joint")]
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


class Signal(NamedTuple):
    """An input: its name is the item's with an ending; what it is, and its unit as a `Quantity` says it."""

    ending: str
    what: str  # torque, force, voltage, position, speed
    unit: str
    most: float  # largest value that has an effect


def tells_motion(item: Any) -> bool:
    """Whether the input of a motor or cylinder is a motion."""
    return item.drive in MOTIONS


def signals(motor: Any) -> tuple[Signal, ...]:
    """The inputs of a motor, or of a cylinder, in order."""
    cylinder = not isinstance(motor, Motor)
    if tells_motion(motor):
        told = ("m", "m/s", "m/s2") if cylinder else ("rad or m", "rad/s or m/s", "rad/s2 or m/s2")
        first, *rates = zip(MOTIONS, told, strict=True)
        at = MOTIONS.index(motor.drive)
        named = [("", *first), *((f".{what}", what, unit) for what, unit in rates)]
        named[at] = ("", *named[at][1:])
        return tuple(Signal(ending, what, unit, inf) for ending, what, unit in named[at:])
    if cylinder:
        return (Signal("", FORCE, "N", motor.limit),)
    torque = Signal("", "torque", "N.m or N", motor.limit)
    if not has(motor.servo_stiffness):
        return (Signal("", "voltage", "V", motor.supply) if has(motor.resistance) else torque,)
    wanted = [Signal("", "position", "rad or m", inf)]
    if motor.feed_forward in ("speed", "both"):
        wanted.append(Signal("_speed", "speed", "rad/s or m/s", inf))
    if motor.feed_forward in ("torque", "both"):
        wanted.append(torque._replace(ending="_torque", most=inf))
    return tuple(wanted)


def signal_names(motor: Any) -> tuple[str, ...]:
    """Names of the inputs of a motor or cylinder, in order."""
    return tuple(f"{motor.name}{signal.ending}" for signal in signals(motor))


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


def delayed(motor: Motor) -> bool:
    """Whether states of its own stand between its input and its torque."""
    return has(motor.lag) or has(motor.inductance) or has(motor.backlash)


def reflected(motor: Motor) -> Any:
    """Rotor inertia as the joint would feel it."""
    return motor.gear_ratio**2 * motor.rotor_inertia if has(motor.rotor_inertia) else 0.0


def rigid_rotor(motor: Motor) -> Any:
    """Inertia of a rotor that moves as its joint does; one behind play moves by itself."""
    return 0.0 if has(motor.backlash) else reflected(motor)


def fitting(values: dict[str, Any], place: Place) -> None:
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
