"""How long arrows are and how far sliders go: forces measured by the weight of the whole mechanism."""

import math

from ..describe.mechanism import Mechanism
from ..equations.spatial import lumped
from ..variables import Variable

REACH = 0.5  # of the mechanism's size: the arrow of a force as large as the whole weight
LONGEST = 1.5  # times the size: no arrow is longer
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
