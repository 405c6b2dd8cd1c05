"""A mechanism with sensors for what its joints transmit, as a force and torque sensor of a robot has it."""

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from ..base.errors import CutjointError, UnknownName
from ..describe.mechanism import Mechanism
from ..describe.sensors import Sensor
from ..describe.validation import nearest
from ..describe.visuals import NamedFrame


def with_wrench_sensors(mechanism: Mechanism, joints: Sequence[str]) -> tuple[Mechanism, list[str]]:
    """The mechanism with a sensor for each joint that is named or fits a pattern, and their names.

    `sensor.JOINT_wrench.force` and `.torque` are what the joint's parent exerts on its child, in the axes and
    about the origin of the child: what the node's reactions tell.
    """
    names = [joint.name for joint in mechanism.joints]
    for pattern in joints:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UnknownName(f"there is no joint '{pattern}'; {nearest(pattern, names)}")
    chosen = [j for j in mechanism.joints if any(fnmatchcase(j.name, pattern) for pattern in joints)]
    taken = {frame.name for frame in mechanism.frames} | {sensor.name for sensor in mechanism.sensors}
    for joint in chosen:
        if wrench_sensor(joint.name) in taken:
            raise CutjointError(
                f"the name '{wrench_sensor(joint.name)}' is taken; give that frame or sensor another"
            )
    frames = [NamedFrame(wrench_sensor(joint.name), joint.child) for joint in chosen]
    sensors = [
        Sensor(frame.name, "wrench", frame=frame.name, joint=joint.name)
        for frame, joint in zip(frames, chosen, strict=True)
    ]
    more = replace(
        mechanism, frames=mechanism.frames + tuple(frames), sensors=mechanism.sensors + tuple(sensors)
    )
    return more if chosen else mechanism, [sensor.name for sensor in sensors]


def wrench_sensor(joint: str) -> str:
    """The name of a joint's sensor."""
    return f"{joint}_wrench"
