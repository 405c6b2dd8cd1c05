"""Sensors on frames and joints.

An inertial sensor measures Rᵀ(r̈ − g) and Rᵀω in the axes R of its frame; a wrench sensor what the parent of a
joint exerts on its child, taken to the frame's origin and turned into its axes; the angle between two frames
is that of the one turn between them.
"""

from collections.abc import Mapping
from typing import Any

import casadi as ca

from ...base.thresholds import NO_LENGTH
from ...describe.mechanism import Mechanism
from ...describe.sensors import KINDS, Sensor, reading_units
from ..frame_motion import placed
from ..kinematics import frame_in_link, point_motion
from .contract import Element, Output
from .instant import Solved


class SensorElement(Element):
    """What somebody measures; it acts on nothing."""

    group, word = "sensors", "sensor"

    def outputs(self, item: Sensor, mechanism: Mechanism) -> list[Output]:
        own = mechanism.joint_type(item) if item.joint else None
        by = f", by {item.name}" + (f", a sample every {item.period:g} s" if item.period else "")
        pairs = zip(KINDS[item.type].readings, reading_units(item.type, own), strict=True)
        return [
            Output(reading.name, units, f"{reading.about}{by}", sampled=bool(item.period))
            for reading, units in pairs
        ]

    def measure(self, item: Sensor, at: Solved) -> Mapping[str, Any]:
        names = (reading.name for reading in KINDS[item.type].readings)
        return dict(zip(names, _measured(item, at), strict=True))


def _measured(sensor: Sensor, at: Solved) -> list[Any]:
    model, motion = at.model, at.motion
    if sensor.type == "encoder":
        return [at.known[f"joint.{sensor.joint}.{what}"] for what in ("position", "velocity")]
    here = placed(model, motion, sensor.frame)
    if sensor.type == "imu":
        return [here.R.T @ here.dv, here.R.T @ here.w]  # the world accelerates by −g: gravity is in already
    if sensor.type == "wrench":
        joint = model.mechanism.joint(sensor.joint)
        force, moment = (at.known[f"reaction.{joint.name}.{what}"] for what in ("force", "moment"))
        link, local = frame_in_link(model, joint.child, joint.on_child)
        origin = point_motion(model, motion, link, local.p)[0]
        return [here.R.T @ force, here.R.T @ (moment + ca.cross(origin - here.r, force))]
    to = placed(model, motion, sensor.to)
    if sensor.type == "distance":
        return [ca.sqrt(ca.sumsqr(to.r - here.r) + NO_LENGTH)]
    R = here.R.T @ to.R
    sine = ca.sqrt((R[2, 1] - R[1, 2]) ** 2 + (R[0, 2] - R[2, 0]) ** 2 + (R[1, 0] - R[0, 1]) ** 2 + NO_LENGTH)
    return [ca.atan2(sine, ca.trace(R) - 1)]
