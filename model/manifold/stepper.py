"""Which step of time a simulation takes, and how many sub-steps it may try."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import casadi as ca

from ..base.thresholds import MOST_SUBSTEPS
from ..equations.terms import Equations
from .step import HELD


@dataclass(frozen=True)
class StepMethod:
    """A step of time by name. `trace` takes equations, the sub-steps, and how inputs go on during a step."""

    name: str
    trace: Callable[[Equations, int, str], ca.Function]
    substeps: int = MOST_SUBSTEPS  # tries in one step at most, after the plain one; 1: none
    each: float = 1.0  # plain steps that one of them costs at most

    def traced(self, inputs: str = HELD) -> tuple[str, Callable[[Equations], ca.Function]]:
        """A name of its own, and what traces it."""
        return f"{self.name} {self.substeps} {inputs}", lambda eq: self.trace(eq, self.substeps, inputs)

    @property
    def tries(self) -> int:
        """Sub-steps that one step may try."""
        return 0 if self.substeps == 1 else self.substeps

    @property
    def worst(self) -> int:
        """Plain steps that one step may cost."""
        return 1 + ceil(self.each * self.tries)
