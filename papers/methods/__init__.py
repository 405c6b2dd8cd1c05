"""Ways to compute the same motion, by name: charts, formulations, stabilizations, steppers.

`Simulation` takes the traced step of `manifold/step.py`, for any rank. What is here stands beside
it: the papers' methods, and the local state-space form.
"""

from .method import Method
from .method_simulation import NAMES, MethodSimulation

__all__ = ["NAMES", "Method", "MethodSimulation"]
