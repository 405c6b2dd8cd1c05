"""How much drives may be asked for."""

from math import isfinite

import numpy as np

from ..describe.mechanism import Mechanism
from ..describe.motors import FORCE, reflected, signals
from ..equations.scales import scales
from ..equations.spatial import lumped
from ..equations.topology import span
from ..hil.policy import RANGE, RANGE_OF_OTHERS
from ..joints.types import TYPES
from ..thresholds import LARGEST


def drive_ranges(mechanism: Mechanism) -> tuple[float, ...]:
    """Torque or force, input by input, that no drive of such a mechanism gives: more is taken for an error.

    It would move all bodies together, at the end of a lever of the mechanism's size for torques, and its own
    rotor at `RANGE`. Limits of the description count if they are higher. Inputs that are no forces may be
    as large as `RANGE_OF_OTHERS`.
    """
    mass = sum(float(body.mass) for body in lumped(mechanism).bodies)
    size = scales(mechanism, span(mechanism)).length
    found = []
    for motor in mechanism.motors:
        joint = mechanism.joint(motor.joint)
        turns = TYPES[joint.type].speed_units[0] == "rad/s"
        rotor = float(np.max(joint.armature, initial=0.0)) + float(reflected(motor))
        most = RANGE * (mass * size + rotor / size if turns else mass + rotor)
        for signal in signals(motor):
            found.append(_most(most, signal.most) if signal.what == "torque" else RANGE_OF_OTHERS)
    cylinders = [signal for s in mechanism.struts if s.actuated for signal in signals(s)]
    found += [_most(RANGE * mass, x.most) if x.what == FORCE else RANGE_OF_OTHERS for x in cylinders]
    ports = [frame for frame in mechanism.frames if frame.port == "force"]
    return (*found, *([RANGE * mass] * 3 + [RANGE * mass * size] * 3) * len(ports))


def _most(most: float, limit: float) -> float:
    return max(most, limit) if isfinite(limit) else most or LARGEST
