"""How long arrows are and how far sliders go."""

import math
from collections.abc import Iterable

import numpy as np

from ..describe.mechanism import Mechanism
from ..equations.spatial import lumped
from ..variables import Variable

REACH = 0.25  # of the mechanism's size: the arrow of a typical force
LONGEST = 0.4  # of the size: no arrow is longer
LEAST_SHOWN = 1e-3  # of the whole weight: forces below are not made to look large
GRAVITY = 9.81  # m/s², to weigh mechanisms that float


def whole_weight(mechanism: Mechanism) -> float:
    """Of all bodies together on Earth, newtons."""
    return GRAVITY * sum(float(b.mass) for b in lumped(mechanism).bodies)


def most_drive(driven: Variable, weighs: float, size: float, value: float = 0.0) -> float:
    """Where the slider of an input ends: at its limit, or at a round number that moves the mechanism."""
    typical = weighs * (size if driven.unit == "N.m" else 1.0)
    most = max(-driven.low, driven.high)
    return most if math.isfinite(most) else round_up(max(typical / 2, 2 * abs(value)))


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
