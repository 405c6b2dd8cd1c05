"""Which joint carries most: reactions of a motion ranked by their peaks, and drives by what they are used."""

from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from ..describe.mechanism import Mechanism
from ..variables import Variables
from .trajectory import Trajectory

EFFORT = ".effort"


class Peak(NamedTuple):
    """The largest magnitude of a quantity in a motion, `value` in its SI unit, at `time`, s."""

    value: float
    time: float


class JointLoad(NamedTuple):
    """What a `joint` carries at most: `force` (N) and `moment` (N·m), motor and springs included."""

    joint: str
    force: Peak
    moment: Peak


class DriveLoad(NamedTuple):
    """What a motor or cylinder gives at most, and its limit, in `unit`."""

    drive: str
    effort: Peak
    limit: float
    unit: str

    @property
    def used(self) -> float:
        """Part of the limit; zero if there is none."""
        return self.effort.value / self.limit if isfinite(self.limit) else 0.0


def load_outputs(variables: Variables) -> list[str]:
    """Outputs that `joint_loads` and `drive_loads` read."""
    ends = (".force", ".moment")
    reactions = [n for n in variables.outputs.named if n.startswith("reaction.") and n.endswith(ends)]
    return [*reactions, *(n for n in variables.outputs.named if n.endswith(EFFORT))]


def joint_loads(motion: Trajectory) -> list[JointLoad]:
    """All joints whose reactions were recorded, the largest force first.

    Parameters
    ----------
    motion : a run that recorded `reaction.*.force` and `reaction.*.moment`.
    """
    names = {n.split(".")[1] for n in motion.names if n.startswith("reaction.")}
    found = [
        JointLoad(
            name,
            _peak(motion, np.linalg.norm(motion[f"reaction.{name}.force"], axis=1)),
            _peak(motion, np.linalg.norm(motion[f"reaction.{name}.moment"], axis=1)),
        )
        for name in sorted(names)
    ]
    return sorted(found, key=lambda load: (-load.force.value, -load.moment.value))


def drive_loads(mechanism: Mechanism, variables: Variables, motion: Trajectory) -> list[DriveLoad]:
    """Motors and cylinders whose efforts were recorded, the most used first."""
    limits = {item.name: float(getattr(item, "limit", inf)) for item in mechanism.drives}
    found = []
    for name in motion.names:
        if name.endswith(EFFORT):
            drive, unit = name.split(".")[1], variables.outputs.find(name).unit
            found.append(DriveLoad(drive, _peak(motion, motion[name]), limits.get(drive, inf), unit))
    return sorted(found, key=lambda load: (-load.used, -load.effort.value))


def pose_at(motion: Trajectory, time: float) -> dict[str, float]:
    """Recorded coordinates of joints at a time."""
    k = int(np.argmin(np.abs(motion.time - time)))
    names = [n for n in motion.names if n.startswith("joint.") and ".position" in n]
    return {name: float(motion[name][k]) for name in names}


def loads_as_dict(motion: Trajectory, joints: list[JointLoad], drives: list[DriveLoad]) -> dict[str, Any]:
    """Both for another program, with the pose at the peak of every force."""
    return {
        "joints": {
            x.joint: {
                "force": x.force._asdict(),
                "moment": x.moment._asdict(),
                "pose": pose_at(motion, x.force.time),
            }
            for x in joints
        },
        "drives": {x.drive: {**x.effort._asdict(), "limit": x.limit, "unit": x.unit} for x in drives},
    }


def _peak(motion: Trajectory, values: np.ndarray) -> Peak:
    size = np.abs(values)
    k = int(np.nanargmax(size))
    return Peak(float(size[k]), float(motion.time[k]))
