"""Friction that sticks: which joints have it, and which of its numbers fit together."""

from typing import Any

from ..joints.types import TYPES
from .mechanism import Joint
from .motors import has
from .validation import Flaw, Place


def sticks(joint: Joint) -> bool:
    """Whether a joint's friction holds at rest, by bristles."""
    return bool(TYPES[joint.type].nv) and has(joint.bristle_stiffness)


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
            raise Flaw(
                (*place, "bristle_stiffness"), "must be positive for every degree of freedom, or be left out"
            )
        if not level or not all(level):
            raise Flaw((*place, "friction"), "what sticks needs a positive friction to slide with")
        if stuck and any(a < b for a, b in zip(stuck, level, strict=True)):
            raise Flaw((*place, "stiction"), "must not be below 'friction', to which it falls")
