"""Maximal coordinates: constraints over Euler parameters, the lock constraint, assembly of parts.

Beside the engine's joint coordinates, every body has seven here, origin and Euler parameters
(papers 000 and 001). `Problem` assembles parts under primitive constraints, `Lock` is the six-row
joint with motion laws, `CartesianSimulation` runs a described mechanism in these coordinates.
"""

from .. import laws
from .cartesian_simulation import CartesianSimulation
from .constraints import Angle, Coincident, Distance, Dot1, Dot2
from .lock import Lock, Marker
from .problem import Part, Problem, Report
from .problem_file import load_problem, read_problem

__all__ = [
    "Angle",
    "CartesianSimulation",
    "Coincident",
    "Distance",
    "Dot1",
    "Dot2",
    "Lock",
    "Marker",
    "Part",
    "Problem",
    "Report",
    "laws",
    "load_problem",
    "read_problem",
]
