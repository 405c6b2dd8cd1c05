"""Steps of time by name, each traced and compiled whole."""

from dataclasses import replace

from ..base.errors import SimulationError
from ..manifold.step import TRY, runge_kutta
from ..manifold.stepper import StepMethod
from .implicit import implicit

STEPPERS = {
    "runge_kutta": StepMethod("runge_kutta", runge_kutta, each=TRY),
    "single": StepMethod("single", runge_kutta, 1),
    "implicit": StepMethod("implicit", implicit),
}


def stepper(name: str, substeps: int | None = None) -> StepMethod:
    """The step of this name with at most so many sub-steps; as many as it takes if None."""
    if name not in STEPPERS:
        raise SimulationError(f"there is no stepper '{name}'; known: {', '.join(STEPPERS)}")
    known = STEPPERS[name]
    most = known.substeps if substeps is None else substeps
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= known.substeps:
        raise SimulationError(
            f"substeps of '{name}' must be a whole number from 1 to {known.substeps}, not {substeps}"
        )
    return replace(known, substeps=most)
