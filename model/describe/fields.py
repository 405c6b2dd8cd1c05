"""The unit of every number of a description, in one place for reading and for parameters.

Units are spelt as FMI does: `.` multiplies, a digit is a power, `1` is no unit.
"""

from __future__ import annotations

from ..joints.types import TYPES

GRAVITY = "m/s2"
BODY = {"mass": "kg", "com": "m", "inertia": "kg.m2"}
STRUT = {"point1": "m", "point2": "m", "stiffness": "N/m", "damping": "N.s/m", "length": "m"}
LOAD = {"point": "m", "force": "N", "torque": "N.m"}
FRAME = {"position": "m", "orientation": "1"}
# Fields with one number per speed of the joint: unit if that speed turns, unit if it slides.
PER_SPEED = {
    "damping": ("N.m.s/rad", "N.s/m"),
    "stiffness": ("N.m/rad", "N/m"),
    "rest": ("rad", "m"),
    "armature": ("kg.m2", "kg"),
    "friction": ("N.m", "N"),
}
# Fields with one number for the whole joint.
PER_JOINT = {
    "friction_speed": ("rad/s", "m/s"),
    "limit_stiffness": ("N.m/rad", "N/m"),
    "limit_damping": ("N.m.s/rad2", "N.s/m2"),
    "effort": ("N.m", "N"),  # of a motor on this joint
}


def joint_units(joint_type: str) -> dict[str, tuple[str, ...]]:
    """Field of a joint of that type -> the unit of each of its numbers."""
    kind = TYPES[joint_type]
    slides = [unit == "m/s" for unit in kind.speed_units]
    units = {key: tuple(pair[s] for s in slides) for key, pair in PER_SPEED.items()}
    # A joint that both turns and slides has no common unit for these.
    common = slides[0] if len(set(slides)) == 1 else None
    units |= {key: ("1" if common is None else pair[common],) for key, pair in PER_JOINT.items()}
    units["start"] = kind.position_units
    units["limits"] = kind.position_units[:1] * 2 or ("1", "1")
    units["speed"] = kind.speed_units
    for field, unit in (("pitch", "m/rad"), ("length", "m"), ("travel", "m")):
        units[field] = (unit,) if field in kind.fields else ()
    return units
