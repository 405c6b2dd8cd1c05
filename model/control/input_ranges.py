"""How much drives may be asked for."""

from math import isfinite

import numpy as np

from ..base.thresholds import LARGEST
from ..describe.inputs import EFFORT_ROLES
from ..describe.mechanism import Mechanism
from ..describe.motors import reflected_inertia
from ..equations.scales import scales
from ..equations.spatial import lump_point_masses
from ..equations.topology import span
from .command_policy import RANGE, RANGE_OF_OTHERS


def drive_ranges(mechanism: Mechanism) -> tuple[float, ...]:
    """Torque or force, input by input, that no drive of such a mechanism gives: more is taken for an error.

    It would move all bodies together, at the end of a lever of the mechanism's size for torques, and its own
    rotor at `RANGE`. Limits of the description count if they are higher. Inputs that are no forces may be
    as large as `RANGE_OF_OTHERS`.
    """
    mass = sum(float(body.mass) for body in lump_point_masses(mechanism).bodies)
    size = scales(mechanism, span(mechanism)).length
    rotors = {motor.joint: float(reflected_inertia(motor)) for motor in mechanism.motors}
    found: list[float] = []
    for row in mechanism.input_table:
        most, rotor = RANGE * mass * (size if row.role == "torque" else 1.0), 0.0
        if row.joint:
            rotor = float(np.max(mechanism.joint(row.joint).armature, initial=0.0)) + rotors[row.joint]
            most += RANGE * rotor / (size if row.role == "torque" else 1.0)
        limit = max(-row.low, row.high)
        if isfinite(limit):
            most = max(most, limit)
        elif row.drives:
            most = most or LARGEST
        found += [most if row.role in EFFORT_ROLES else RANGE_OF_OTHERS] * row.size
    return tuple(found)
