"""Values of all joints as chains of joints with one coordinate each; see `equations/single_joints.py`."""

from ..equations.single_joints import single_joints, value_names
from ..state import Stepper


class JointValues:
    """Coordinates, speeds and forces of all single joints of a simulation, tree joints and cut ones.

    Cylinders stand behind them: length, its rate, and the force with which they push.

    `read()` fills `position`, `velocity` and `effort`, in the order of `names`.
    """

    def __init__(self, simulation: Stepper):
        self.joints = single_joints(simulation.equations)
        self.names = value_names(simulation.equations)
        self._kernel = simulation.bind(simulation.engine.kernels.joint_values)
        self.position, self.velocity, self.effort = self._kernel.results

    def read(self) -> None:
        """Take the values of the simulation's present state; angles stay near the last ones."""
        self._kernel.arguments[5][:] = self.position
        self._kernel.evaluate()
