"""Laws: functions of time with exact derivatives, for motions and inputs; also from texts and tables.

Times are in seconds, frequencies in hertz, phases in radians; `name` is what messages call a law.

Examples
--------
>>> from cutjoint import laws
>>> push = laws.added(laws.constant(2.0), laws.sine(amplitude=5.0, frequency=2.0))
>>> push(0.0)
Jet(x=array([2.]), dx=array([62.83185307]), ddx=array([-0.]))
"""

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
