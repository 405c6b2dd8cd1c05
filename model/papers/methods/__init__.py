"""Ways to compute the same motion, by name: charts, formulations, stabilizations, steppers.

The default of `Simulation` is the traced step of `step.py`, for any rank. What is here stands
beside it: the papers' methods, a stepper for stiff mechanisms, and the local state-space form.
"""

from .accelerations import NAMES as FORMULATIONS
from .charts import KINDS as CHARTS
from .method import STEPPERS, Method, advance, check
from .stabilization import NAMES as STABILIZATIONS

__all__ = ["CHARTS", "FORMULATIONS", "STABILIZATIONS", "STEPPERS", "Method", "advance", "check"]
