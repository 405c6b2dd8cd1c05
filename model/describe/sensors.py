"""Sensors on frames and joints: what each measures; `equations/frame_readings.py` computes it.

A sensor is exact at every time, unless it has a `period`: then it takes samples, which it holds, and which
may be old, rough and noisy (`equations/sampled_sensors.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from ..base.thresholds import MOST_IN_FLIGHT
from ..joints.types import JointType
from .field_kinds import Choice, Reference
from .fields import NOT_NEGATIVE, ONE, Around, Quantity, Sign
from .validation import Flaw, Place, as_list, field_flaw, plain_vector


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


def reading_units(type: str, joint: JointType | None) -> tuple[tuple[str, ...], ...]:
    """The units of each reading of a sensor, a unit a number; some are those of its joint."""
    own = (joint.position_units, joint.speed_units) if joint else ((), ())
    readings = KINDS[type].readings
    return tuple(reading.units or own[k] for k, reading in enumerate(readings))


@dataclass(frozen=True)
class TypeOfSensor(Choice):
    """One of the kinds."""

    def settled(self, value: Any, around: Around) -> Around:
        return around._replace(sensor=value)


@dataclass(frozen=True)
class PerReading(Quantity):
    """Numbers for the readings of a sensor in their order, in their units; a file may give one alone."""

    told = "one per reading in its unit, not negative"
    unit: str = "m/s2 or rad/s or N or N.m or m or rad or m/s"
    sign: Sign = NOT_NEGATIVE
    parameter: bool = False
    single = False

    def check(self, value: Any, place: Place, around: Around) -> Any:
        numbers = as_list(value)
        numbers = [value] if numbers is None else numbers
        units = [set(each) for each in reading_units(around.sensor, around.kind)]
        common = [each.pop() if len(each) == 1 else "1" for each in units]
        if len(numbers) > len(common):
            known = ", ".join(reading.name for reading in KINDS[around.sensor].readings)
            raise field_flaw(place, f"has {len(numbers)} numbers, but the readings are {known}")
        found = plain_vector(
            numbers, place, [unit if around.in_file else None for unit in common[: len(numbers)]]
        )
        for number in found:
            if not self.sign.fits(number):
                raise field_flaw(place, self.sign.refused.format(number))
        return found


@dataclass(frozen=True)
class Sensor:
    """What somebody measures, as an output: `sensor.<name>.<reading>`."""

    name: str  # by which others refer to it
    type: Annotated[str, TypeOfSensor("what it measures, see below", tuple(KINDS))]
    frame: Annotated[str, Reference("the frame it is at", "frame", optional=True, otherwise="none")] = ""
    to: Annotated[str, Reference("the other frame", "frame", optional=True, otherwise="none")] = ""
    joint: Annotated[str, Reference("the joint it is at", "joint", optional=True, otherwise="none")] = ""
    period: Annotated[
        float,
        Quantity(
            "time between samples, which are held; counted from time zero",
            "s",
            ONE,
            NOT_NEGATIVE,
            parameter=False,
            otherwise="none: exact at every time",
        ),
    ] = 0.0
    delay: Annotated[
        float,
        Quantity("how old a sample is when it is reported", "s", ONE, NOT_NEGATIVE, parameter=False),
    ] = 0.0
    resolution: Annotated[tuple[float, ...], PerReading("steps in which readings are reported")] = ()
    noise: Annotated[
        tuple[float, ...], PerReading("standard deviation of what is added to every sample")
    ] = ()
    seed: Annotated[
        float,
        Quantity("another whole number makes other noise", "1", ONE, NOT_NEGATIVE, parameter=False),
    ] = 0.0


def check_sensor(values: dict[str, Any], place: Place) -> None:
    """Refuse a sensor that lacks what its kind needs, or has what it does not."""
    needs = KINDS[values["type"]].needs
    for key in ("frame", "to", "joint"):
        if key in needs and not values[key]:
            raise Flaw((*place, key), f"a sensor of type {values['type']} needs the field '{key}'")
        if key not in needs and values[key]:
            raise Flaw((*place, key), f"a sensor of type {values['type']} has no '{key}'; remove it")
    if values["to"] and values["to"] == values["frame"]:
        raise Flaw((*place, "to"), "it is the same frame; name another")
    for key in ("delay", "resolution", "noise", "seed"):
        if values[key] and not values["period"]:
            raise Flaw((*place, key), f"it is of samples; give the field 'period' too, or remove '{key}'")
    if values["delay"] > MOST_IN_FLIGHT * values["period"]:
        sentence = (
            f"more than {MOST_IN_FLIGHT} samples would be on their way; shorten it, or lengthen 'period'"
        )
        raise Flaw((*place, "delay"), sentence)
    if values["seed"] % 1:
        raise field_flaw((*place, "seed"), f"must be a whole number, not {values['seed']:g}")
