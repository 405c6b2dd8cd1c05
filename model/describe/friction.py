"""States beside coordinates and speeds of joints: of drives, and of friction that sticks."""

from typing import Any, NamedTuple

from ..joints.types import TYPES
from .fields import ONE, PER_FREEDOM, Quantity
from .flaws import Flaw, Place
from .mechanism import Joint, Mechanism, Motor
from .motors import has


class Internal(NamedTuple):
    """A state of a drive or a joint; an output has its name."""

    name: str
    units: tuple[str, ...]
    about: str


def internal_states(mechanism: Mechanism) -> list[Internal]:
    """All of a mechanism, in the order in which they follow the coordinates."""
    found = [state for joint in mechanism.joints for state in _of_joint(joint)]
    return found + [state for motor in mechanism.motors for state in _of_motor(mechanism, motor)]


def sticks(joint: Joint) -> bool:
    """Whether a joint's friction holds at rest, by bristles."""
    return bool(TYPES[joint.type].nv) and has(joint.bristle_stiffness)


def _of_joint(joint: Joint) -> tuple[Internal, ...]:
    if not sticks(joint):
        return ()
    units = Quantity("", "rad or m", PER_FREEDOM).units(TYPES[joint.type])
    return (Internal(f"joint.{joint.name}.bristle", units, f"how far what sticks at {joint.name} is bent"),)


def _of_motor(mechanism: Mechanism, motor: Motor) -> tuple[Internal, ...]:
    stem, found = f"motor.{motor.name}", []

    def add(name: str, unit: str, about: str) -> None:
        found.append(
            Internal(f"{stem}.{name}", Quantity("", unit, ONE).units(mechanism.joint_type(motor)), about)
        )

    if has(motor.lag):
        add("lagged", "N.m or N", f"torque that {motor.name} has come to")
    if has(motor.inductance):
        add("current", "A", f"current of {motor.name}")
    if has(motor.backlash):
        seen = f"of the rotor of {motor.name}, as seen behind its gear"
        add("play", "rad or m", f"place {seen}, less that of its joint")
        add("rotor_speed", "rad/s or m/s", f"speed {seen}")
    return tuple(found)


def check_friction(values: dict[str, Any], place: Place) -> None:
    """Bristles have a friction to come to; nobody sticks by less than it slides with."""
    level, stuck, stiff = values["friction"], values["stiction"], values["bristle_stiffness"]
    for key in ("stiction", "bristle_damping"):
        if any(values[key]) and not any(stiff):
            raise Flaw(
                (*place, key), f"it is of bristles; give the field 'bristle_stiffness' too, or remove '{key}'"
            )
    if any(stiff):
        if not all(stiff):
            raise Flaw((*place, "bristle_stiffness"), "must be positive for every freedom, or be left out")
        if not level or not all(level):
            raise Flaw((*place, "friction"), "what sticks needs a positive friction to slide with")
        if stuck and any(a < b for a, b in zip(stuck, level, strict=True)):
            raise Flaw((*place, "stiction"), "must not be below 'friction', to which it falls")
