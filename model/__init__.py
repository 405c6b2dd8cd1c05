"""Mechanisms with closed kinematic loops: describe once, simulate, linearize, change."""

from .description import Body, Frame, Joint, Load, Mechanism, Motor, Strut
from .errors import AssemblyError, CutjointError, DescriptionError, SimulationError
from .reader import list_examples, load
from .simulation import Simulation, State
from .trajectory import Trajectory
from .writer import save

__all__ = [
    "AssemblyError",
    "Body",
    "CutjointError",
    "DescriptionError",
    "Frame",
    "Joint",
    "Load",
    "Mechanism",
    "Motor",
    "Simulation",
    "SimulationError",
    "State",
    "Strut",
    "Trajectory",
    "list_examples",
    "load",
    "save",
]
