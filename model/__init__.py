"""Mechanisms with closed kinematic loops: describe once, simulate, linearize, change."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Names that were public here are so one floor up: `cutjoint.Simulation`."""
    return import_module("..", __name__).old_name(__name__, name)
