"""Named frames in the world: where they are and how they move, in world axes, as bodies do."""

from typing import Any, NamedTuple

from ..describe.mechanism import Frame, find
from .kinematics import Model, Motion, frame_in_link, point_motion, turning

MOTION = {  # of a frame, and of a body
    "position": ("m",) * 3,
    "orientation": ("1",) * 4,
    "velocity": ("m/s",) * 3,
    "angular_velocity": ("rad/s",) * 3,
    "acceleration": ("m/s2",) * 3,
    "angular_acceleration": ("rad/s2",) * 3,
}


class Placed(NamedTuple):
    """A frame in the world: the link it is on, place, axes, and how they move; ground accelerates by −g."""

    link: int
    r: Any
    v: Any
    dv: Any
    R: Any
    w: Any
    dw: Any


def placed(model: Model, motion: Motion, name: str) -> Placed:
    """A named frame."""
    frame = find(model.mechanism.frames, name, "frame")
    link, local = frame_in_link(model, frame.body, Frame(frame.at, frame.orientation))
    r, v, dv = point_motion(model, motion, link, local.p)
    R, w, dw = turning(motion, link)
    return Placed(link, r, v, dv, R @ local.R, w, dw)
