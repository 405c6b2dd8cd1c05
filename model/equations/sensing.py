"""Named frames and sensors: how a frame moves, what acts at it, and what is measured there and at joints.

Motions of frames are in world axes, as those of bodies are. An inertial sensor measures Rᵀ(r̈ − g) and Rᵀω in
the axes R of its frame; a wrench sensor what the parent of a joint exerts on its child, taken to the
frame's origin and turned into its axes; the angle between two frames is that of the one turn between them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import casadi as ca

from ..describe.mechanism import Frame, find
from ..describe.sensors import KINDS, Sensor
from ..joints.rigid_motion import product, vector
from ..thresholds import NO_LENGTH
from .kinematics import Model, Motion, body_quaternion, carried, frame_in_link, turning, unit_quaternion

Readings = dict[str, Any]
MOTION = {  # of a frame, as it is of a body
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
    r, v, dv = carried(model, motion, link, local.p)
    R, w, dw = turning(motion, link)
    return Placed(link, r, v, dv, R @ local.R, w, dw)


def wrench_axes(model: Model, motion: Motion, frame: Any) -> Any:
    """Axes in which the wrench on a frame is told."""
    if frame.axes == "world":
        return ca.SX.eye(3)
    if frame.axes == "body":
        link = model.tree.holder[frame.body]
        return turning(motion, link)[0] @ model.in_link[frame.body].R
    return placed(model, motion, frame.axes).R


def frame_readings(model: Model, motion: Motion, turns: list[Any]) -> Readings:
    """How frames with a port move."""
    result: Readings = {}
    for frame in model.mechanism.frames:
        if frame.port == "none":
            continue
        at = placed(model, motion, frame.name)
        e = product(body_quaternion(model, frame.body), unit_quaternion(frame.orientation))
        e = e if at.link < 0 else product(turns[at.link], e)
        values = at.r, e, at.v, at.w, at.dv + vector(model.mechanism.gravity), at.dw
        result |= {f"frame.{frame.name}.{what}": x for what, x in zip(MOTION, values, strict=True)}
    return result


def sensor_readings(model: Model, motion: Motion, known: Mapping[str, Any]) -> Readings:
    """What the sensors measure; `known` are the outputs of joints."""
    result: Readings = {}
    for sensor in model.mechanism.sensors:
        values = _measured(model, motion, sensor, known)
        names = (reading.name for reading in KINDS[sensor.type].readings)
        result |= {f"sensor.{sensor.name}.{name}": x for name, x in zip(names, values, strict=True)}
    return result


def _measured(model: Model, motion: Motion, sensor: Sensor, known: Mapping[str, Any]) -> list[Any]:
    if sensor.type == "encoder":
        return [known[f"joint.{sensor.joint}.{what}"] for what in ("position", "velocity")]
    at = placed(model, motion, sensor.frame)
    if sensor.type == "imu":
        return [at.R.T @ at.dv, at.R.T @ at.w]  # the world accelerates by −g, so gravity is in already
    if sensor.type == "wrench":
        joint = model.mechanism.joint(sensor.joint)
        force, moment = (known[f"reaction.{joint.name}.{what}"] for what in ("force", "moment"))
        link, local = frame_in_link(model, joint.child, joint.on_child)
        origin = carried(model, motion, link, local.p)[0]
        return [at.R.T @ force, at.R.T @ (moment + ca.cross(origin - at.r, force))]
    to = placed(model, motion, sensor.to)
    if sensor.type == "distance":
        return [ca.sqrt(ca.sumsqr(to.r - at.r) + NO_LENGTH)]
    R = at.R.T @ to.R
    sine = ca.sqrt((R[2, 1] - R[1, 2]) ** 2 + (R[0, 2] - R[2, 0]) ** 2 + (R[1, 0] - R[0, 1]) ** 2 + NO_LENGTH)
    return [ca.atan2(sine, ca.trace(R) - 1)]
