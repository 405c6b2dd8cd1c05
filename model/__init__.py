"""Mechanisms with closed kinematic loops: describe once, simulate, linearize, change."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .display import painted_by

if TYPE_CHECKING:
    from .describe.mechanism import (
        Body,
        Bushing,
        Coupling,
        Frame,
        Joint,
        Load,
        Mechanism,
        Motor,
        PointMass,
        Strut,
    )
    from .describe.reader import list_examples
    from .describe.writer import save
    from .engine import Engine
    from .errors import AssemblyError, CutjointError, DescriptionError, SimulationError
    from .loading import load
    from .run.trajectory import Trajectory
    from .simulation import Simulation
    from .state import State

__all__ = [
    "AssemblyError",
    "Body",
    "Bushing",
    "Coupling",
    "CutjointError",
    "DescriptionError",
    "Engine",
    "Frame",
    "Joint",
    "Load",
    "Mechanism",
    "Motor",
    "PointMass",
    "Simulation",
    "SimulationError",
    "State",
    "Strut",
    "Trajectory",
    "list_examples",
    "load",
    "save",
]

# Where each name lives. It is imported when first asked for: CasADi takes half a second,
# and `cutjoint --help` should not wait for it.
_HOMES = {
    "describe.mechanism": (
        "Body",
        "Bushing",
        "Coupling",
        "Frame",
        "Joint",
        "Load",
        "Mechanism",
        "Motor",
        "PointMass",
        "Strut",
    ),
    "errors": ("AssemblyError", "CutjointError", "DescriptionError", "SimulationError"),
    "describe.reader": ("list_examples",),
    "loading": ("load",),
    "engine": ("Engine",),
    "state": ("State",),
    "simulation": ("Simulation",),
    "run.trajectory": ("Trajectory",),
    "describe.writer": ("save",),
}


# What shows itself in a notebook is painted by a floor that it knows nothing of.
painted_by(lambda item: str(import_module(".show.notebook", __name__).cell_html(item)))


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
