"""A plan in motion: what every input is told at a time, by computed torque, servo or driven motion alike."""

from typing import Any

import numpy as np

from ..base.errors import SimulationError
from ..control.command_law import POSITION
from ..control.computed_torque import Drives, Wanted
from ..control.joint_values import JointValues
from ..state import Stepper
from .plan import Plan

FREQUENCY = (
    60.0  # rad/s by which forces follow a plan: computed torque, so that no mechanism asks for another
)


class PlanFollower:
    """Asked for inputs at a time: a controller of `Simulation.run`."""

    def __init__(self, simulation: Stepper, plan: Plan, frequency: float = FREQUENCY):
        self.plan, self.begin = plan, simulation.time
        self.drives = Drives(simulation, JointValues(simulation), frequency)
        self.frequency = frequency
        self.drives.values.read()
        places = {row.element: row.first for row in reversed(simulation.mechanism.input_table)}
        stems = {x.name: "strut" if hasattr(x, "actuated") else "motor" for x in simulation.mechanism.drives}
        self.at = np.array([places[f"{stems[name]}.{name}"] for name in plan.actuators], int)
        if not len(self.at):
            raise SimulationError(
                f"'{simulation.mechanism.name}' has no motor or cylinder that could move it"
            )
        self.others = Wanted.forces(simulation.u)

    def __call__(self, t: float, simulation: Any) -> np.ndarray:
        position, speed, acceleration = self.plan.at(t - self.begin)
        wanted = self.others.changed(self.at, POSITION, position, speed, acceleration)
        return np.array(self.drives.forces(wanted, self.frequency))
