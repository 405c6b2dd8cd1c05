"""How long arrows are and how far sliders go."""

import math
from collections.abc import Iterable

import numpy as np

from ..describe.mechanism import Mechanism
from ..equations.spatial import lump_point_masses

REACH = 0.25  # of the mechanism's size: the arrow of a typical force
LONGEST = 0.4  # of the size: no arrow is longer
LEAST_SHOWN = 1e-3  # of the whole weight: forces below are not made to look large
SUPPLY = 24.0  # V, of a usual motor
GRAVITY = 9.81  # m/s², to weigh mechanisms that float


def whole_weight(mechanism: Mechanism) -> float:
    """Of all bodies together on Earth, newtons."""
    return GRAVITY * sum(float(b.mass) for b in lump_point_masses(mechanism).bodies)


def drive_range(mechanism: Mechanism, where: int, size: float, value: float = 0.0) -> tuple[float, float]:
    """Where the slider of the input number `where` begins and ends: at its limits, or where they make sense.

    Positions go as far as their joint does, a cylinder from half to one and a half of its length, what slides
    by the mechanism's size (m), what turns by half a turn. Speeds do that in a second. Torques and forces are
    round numbers that move the whole weight; voltages those of usual supplies.
    """
    row = next(row for row in mechanism.input_table if row.where.start <= where < row.where.stop)
    unit = row.units[where - row.first]
    low, high = row.low, row.high
    if unit in ("m", "rad"):
        joint = next((j for j in mechanism.joints if j.name == row.joint), None)
        ends = joint.limits if joint else (0.5 * value, 1.5 * value or size)
        low, high = max(low, ends[0]), min(high, ends[1])
    weighs = whole_weight(mechanism)
    reach = {"m": size, "rad": math.pi, "m/s": size, "rad/s": math.pi, "m/s2": size, "rad/s2": math.pi}
    reach |= {"N": weighs / 2, "N.m": weighs * size / 2, "V": SUPPLY}
    most = reach.get(unit, 1.0)
    most = max(most, 2 * abs(value)) if unit in ("rad", "V") else round_up(max(most, 2 * abs(value)))
    return (low if math.isfinite(low) else -most), (high if math.isfinite(high) else most)


def round_up(value: float) -> float:
    """The next number of the form 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return next(float(k * power) for k in (1, 2, 5, 10) if k * power >= value)


def arrow_newtons(largest: Iterable[float], weighs: float) -> float:
    """The force whose arrow is `REACH` long: a round number that most frames stay below.

    `largest` has the largest force of each frame. A few blows, against a stop or at a singularity, do not
    make all other arrows vanish: theirs are cut off at `LONGEST`.
    """
    known = [x for x in largest if math.isfinite(x)]
    typical = float(np.percentile(known, 90)) if known else 0.0
    return round_up(max(typical, LEAST_SHOWN * (weighs or 1.0)))
