"""Laws: functions of time with exact derivatives, for motions and inputs; also from texts and tables."""

from .basic import added, chirp, constant, function, polynomial, ramp, sine, stack, step, trapezoid
from .law import Jet, Law
from .tables import table

__all__ = [
    "Jet",
    "Law",
    "added",
    "chirp",
    "constant",
    "function",
    "polynomial",
    "ramp",
    "sine",
    "stack",
    "step",
    "table",
    "trapezoid",
]
