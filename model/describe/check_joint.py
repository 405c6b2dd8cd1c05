"""Whether a joint makes sense: its type, its bodies, its frames, and a number for each freedom."""

from __future__ import annotations

from dataclasses import replace
from math import hypot
from typing import Any

import numpy as np

from ..joints.types import TYPES, JointType
from .fields import PER_SPEED
from .flaws import Flaw, known_body, nearest, not_negative, plain_number, plain_vector
from .mechanism import Frame, Joint
from .units import kind
from .yaml_text import Place

_UNIT_ROUND_OFF = 1e-12


def check_joint(joint: Joint, known: set[str]) -> Joint:
    """The joint with plain numbers, between bodies that are `known`."""
    place = ("joints", joint.name)
    kinds = TYPES[known_type(joint.type, (*place, "type"))]
    for end in ("parent", "child"):
        known_body(getattr(joint, end), known, (*place, end))
    if joint.parent == joint.child:
        raise Flaw((*place, "child"), f"it connects '{joint.child}' with itself; name another body")
    if joint.cut not in (None, True, False):
        raise Flaw((*place, "cut"), f"cut must be true or false, not {kind(joint.cut)}")
    if joint.cut is False and kinds.moves is None:
        raise Flaw((*place, "cut"), f"a {joint.type} joint is always cut; remove 'cut: false'")
    numbers: dict[str, Any] = {key: _per_speed(joint, key, kinds) for key in PER_SPEED}
    for key in ("friction_speed", "limit_stiffness", "limit_damping"):
        numbers[key] = not_negative(getattr(joint, key), (*place, key))
    joint = replace(
        joint,
        on_parent=_frame(joint.on_parent, (*place, "on_parent")),
        on_child=_frame(joint.on_child, (*place, "on_child")),
        limits=_limits(joint, kinds, (*place, "limits")),
        start=_start(joint, kinds, (*place, "start")),
        speed=_listed(joint.speed, kinds.nv, joint.type, "speed", (*place, "speed")),
        **numbers,
    )
    if joint.friction_speed == 0:
        raise Flaw((*place, "friction_speed"), "friction_speed must be positive, not 0")
    return replace(joint, pitch=_pitch(joint), length=_length(joint), travel=_travel(joint))


def known_type(joint_type: Any, place: Place) -> str:
    """The type, if there is such a one."""
    if not isinstance(joint_type, str) or joint_type not in TYPES:
        raise Flaw(place, f"there is no joint type {kind(joint_type)}; {nearest(joint_type, TYPES)}")
    return joint_type


def _per_speed(joint: Joint, key: str, kinds: JointType) -> tuple[float, ...]:
    """One number per speed; a single number stands for all of them."""
    place = ("joints", joint.name, key)
    value = getattr(joint, key)
    values = _listed(value, kinds.nv, joint.type, key, place, spread=True)
    if values and key in ("stiffness", "rest") and kinds.nq != kinds.nv:
        raise Flaw(place, f"a {joint.type} joint takes no {key}; use springs between points")
    if key not in ("stiffness", "rest") and any(x < 0 for x in values):
        raise Flaw(place, f"{key} must not be negative, but is {min(values):g}")
    return values


def _listed(
    value: Any, size: int, joint_type: str, key: str, place: Place, spread: bool = False
) -> tuple[float, ...]:
    """A list of `size` numbers or an empty one; one number is enough where there is one place."""
    if np.ndim(value) == 0 and not isinstance(value, str | dict) and (size == 1 or (spread and size)):
        return (plain_number(value, place),) * size
    if np.ndim(value) == 1 and len(value) == 0:
        return ()
    if size == 0:
        raise Flaw(place, f"a {joint_type} joint takes no {key}; remove it")
    return plain_vector(value, place, size)


def _frame(frame: Frame, place: Place) -> Frame:
    position = plain_vector(frame.position, (*place, "position"), 3)
    orientation = plain_vector(frame.orientation, (*place, "orientation"), 4)
    return Frame(position, _unit_length(orientation, (*place, "orientation")))


def _unit_length(e: tuple[float, ...], place: Place) -> tuple[float, ...]:
    """Euler parameters as they are, or scaled to length one if they were rounded by hand."""
    size = hypot(*e)
    if not 0.99 < size < 1.01:
        text = f"{place[-1]} must be Euler parameters (w, x, y, z) of length 1, not of length {size:.4g}"
        raise Flaw(place, text)
    return e if abs(size - 1) <= _UNIT_ROUND_OFF else tuple(x / size for x in e)


def _start(joint: Joint, kinds: JointType, place: Place) -> tuple[float, ...]:
    start = _listed(joint.start, kinds.nq, joint.type, "start", place)
    if start and kinds.ball:
        e = kinds.ball[0]
        return start[: e.start] + _unit_length(start[e], place) + start[e.stop :]
    return start


def _limits(joint: Joint, kinds: JointType, place: Place) -> tuple[float, float]:
    low, high = plain_vector(joint.limits, place, 2, infinite=True)
    if (low, high) != Joint.limits and (kinds.nq, kinds.nv) != (1, 1):
        raise Flaw(place, f"a {joint.type} joint has not one coordinate, so it takes no limits")
    if low >= high:
        raise Flaw(place, f"limits must be [lowest, highest], but {low:g} is not below {high:g}")
    return low, high


def _pitch(joint: Joint) -> float:
    place = ("joints", joint.name, "pitch")
    pitch = plain_number(joint.pitch, place)
    needed = "pitch" in TYPES[joint.type].fields
    if needed and pitch == 0:
        raise Flaw(place, f"a {joint.type} joint needs a pitch other than 0, in metres per radian")
    if not needed and pitch != 0:
        raise Flaw(place, f"a {joint.type} joint has no pitch; use type helical")
    return pitch


def _length(joint: Joint) -> float:
    place = ("joints", joint.name, "length")
    length = plain_number(joint.length, place)
    keeps = "length" in TYPES[joint.type].fields
    if keeps and length <= 0:
        raise Flaw(place, f"length must be positive, not {length:g}; two points kept together are spherical")
    if not keeps and length != 0:
        raise Flaw(place, f"a {joint.type} joint has no length; use type distance")
    return length


def _travel(joint: Joint) -> float:
    place = ("joints", joint.name, "travel")
    travel = plain_number(joint.travel, place)
    if travel != 0 and "travel" not in TYPES[joint.type].fields:
        raise Flaw(place, f"a {joint.type} joint has no travel; use type translational-distance")
    return travel
