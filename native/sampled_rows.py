"""Sensors that take samples, in an FMU: what they remember, and which outputs they tell."""

import numpy as np

from ..model.equations.sampled_sensors import initial_memory, sampled_groups
from .plan import Plan


def memory(plan: Plan) -> np.ndarray:
    """What they remember before the start; nothing if none of them is shown."""
    shown = any(v.sampled for v in plan.of("output"))
    return initial_memory(plan.mechanism) if shown else np.zeros(0)


def sampled_rows(plan: Plan) -> list[tuple[int, int]]:
    """Which of the outputs is told by which of their numbers."""
    if not len(memory(plan)):
        return []
    names = [name for part in sampled_groups(plan.mechanism) for name in part.names]
    rows = plan.simulation.variables().outputs.rows(names)
    told = {int(row): k for k, row in enumerate(rows)}
    return [(at, told[row]) for at, row in enumerate(plan.traced_rows) if row in told]
