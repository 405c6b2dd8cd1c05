"""Sensors on frames and joints. What each measures is said here once; `equations/sensing.py` computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from .field_kinds import Choice, Reference
from .flaws import Flaw, Place


class Measurement(NamedTuple):
    """One thing that a sensor measures: how it is called, its units, and what it is."""

    name: str
    units: tuple[str, ...]
    about: str


class Kind(NamedTuple):
    """A kind of sensor: the fields it needs, and what it measures."""

    needs: tuple[str, ...]
    readings: tuple[Measurement, ...]


KINDS = {
    "imu": Kind(
        ("frame",),
        (
            Measurement("specific_force", ("m/s2",) * 3, "acceleration less gravity, in the frame's axes"),
            Measurement("angular_rate", ("rad/s",) * 3, "angular velocity in the frame's axes"),
        ),
    ),
    "wrench": Kind(
        ("joint", "frame"),
        (
            Measurement("force", ("N",) * 3, "force on the joint's child, in the frame's axes"),
            Measurement("torque", ("N.m",) * 3, "its torque about the frame's origin, in the frame's axes"),
        ),
    ),
    "distance": Kind(
        ("frame", "to"), (Measurement("distance", ("m",), "between the origins of two frames"),)
    ),
    "angle": Kind(("frame", "to"), (Measurement("angle", ("rad",), "by which two frames are turned apart"),)),
    "encoder": Kind(
        ("joint",),
        (
            Measurement("position", (), "coordinates of the joint"),
            Measurement("velocity", (), "speeds of the joint"),
        ),
    ),
}


@dataclass(frozen=True)
class Sensor:
    """What somebody measures, as an output: `sensor.<name>.<reading>`."""

    name: str
    type: Annotated[str, Choice("what it measures, see below", tuple(KINDS))]
    frame: Annotated[str, Reference("the frame it is at", "frame", optional=True, otherwise="none")] = ""
    to: Annotated[str, Reference("the other frame", "frame", optional=True, otherwise="none")] = ""
    joint: Annotated[str, Reference("the joint it is at", "joint", optional=True, otherwise="none")] = ""


def suited(values: dict[str, Any], place: Place) -> None:
    """Refuse a sensor that lacks what its kind needs, or has what it does not."""
    needs = KINDS[values["type"]].needs
    for key in ("frame", "to", "joint"):
        if key in needs and not values[key]:
            raise Flaw((*place, key), f"a sensor of type {values['type']} needs the field '{key}'")
        if key not in needs and values[key]:
            raise Flaw((*place, key), f"a sensor of type {values['type']} has no '{key}'; remove it")
    if values["to"] and values["to"] == values["frame"]:
        raise Flaw((*place, "to"), "it is the same frame; name another")
