"""Poses that may be asked for: a frame, which of its six components count, seen from where, and how fast."""

from dataclasses import dataclass
from typing import Annotated

from .elements import GROUND
from .field_kinds import Choices, Word
from .fields import ONE, POSITIVE, Quantity

SIX = ("x", "y", "z", "rx", "ry", "rz")
BOUNDS = {  # of a way to a target: what is bounded, its unit, and the bound by default
    "speed": ("m/s", 0.2),
    "acceleration": ("m/s2", 1.0),
    "jerk": ("m/s3", 20.0),
    "turn_speed": ("rad/s", 1.0),
    "turn_acceleration": ("rad/s2", 5.0),
    "turn_jerk": ("rad/s3", 100.0),
}


def _bound(name: str) -> Quantity:
    what = f"largest {name.replace('turn_', 'angular ')} on the way"
    return Quantity(what, BOUNDS[name][0], ONE, POSITIVE, parameter=False)


@dataclass(frozen=True)
class NamedTarget:
    """What is put somewhere by its pose: a platform, a tool, a foot."""

    name: str  # by which others refer to it
    frame: Annotated[str, Word("a body, or one of `frames`")]
    rows: Annotated[
        tuple[str, ...],
        Choices("places along and turns about axes of the base that are asked for", SIX, otherwise="all six"),
    ] = SIX
    base: Annotated[str, Word("what the pose is seen from: a body, a frame, `ground`")] = GROUND
    speed: Annotated[float, _bound("speed")] = BOUNDS["speed"][1]
    acceleration: Annotated[float, _bound("acceleration")] = BOUNDS["acceleration"][1]
    jerk: Annotated[float, _bound("jerk")] = BOUNDS["jerk"][1]
    turn_speed: Annotated[float, _bound("turn_speed")] = BOUNDS["turn_speed"][1]
    turn_acceleration: Annotated[float, _bound("turn_acceleration")] = BOUNDS["turn_acceleration"][1]
    turn_jerk: Annotated[float, _bound("turn_jerk")] = BOUNDS["turn_jerk"][1]
