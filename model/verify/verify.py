"""All checks of a mechanism, one after the other."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf

from ..describe.mechanism import Mechanism
from ..errors import SimulationError
from ..run.integrate import step_plan
from ..simulation import Simulation
from ..thresholds import MOTION_TRUSTED, TINY
from . import laws, motion
from .motion import moved
from .report import Check, TrustReport, limited
from .scaling import check_scales

Progress = Callable[[float], None]
# Part of the work that is done before the runs with h, h/2, h/4, before the way back, laws, scales.
PARTS = (0.0, 0.1, 0.25, 0.55, 0.7, 0.8)


def verify(
    mechanism: Mechanism | str,
    *,
    time: float = 1.0,
    step: float = 1e-3,
    inputs: Mapping[str, float] | Iterable[float] = (),
    gravity: float | Iterable[float] | None = None,
    stepper: str = "runge_kutta",
    compile: bool | None = None,
    progress: Progress | None = None,
) -> TrustReport:
    """A trust report on a mechanism's motion from its start, under constant inputs.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description.
    time, step : how long it is watched, and the step that is to be trusted, seconds.
    inputs : by name, or all of them; zero if empty.
    stepper : as in `Simulation`.
    progress : called with the part that is done.
    """
    simulation = Simulation(mechanism, gravity=gravity, compile=compile, stepper=stepper)
    given = inputs if isinstance(inputs, Mapping) else list(inputs)
    if given:
        simulation.set_inputs(given)
    count = len(step_plan(0.0, time, step))
    if not (count and time**2 > TINY):  # accelerations are measured by it
        raise SimulationError(f"a motion to be verified must last, not {time:g} s")
    found = tuple(_checks(simulation, count, time / count, progress or (lambda part: None)))
    return TrustReport(simulation.mechanism.name, time, time / count, stepper, found)


def _checks(simulation: Simulation, count: int, h: float, tell: Progress) -> Iterator[Check]:
    def within(k: int) -> Progress:
        """Progress of the k-th part as a part of all."""
        return lambda part: tell(PARTS[k] + part * (PARTS[k + 1] - PARTS[k]))

    start = simulation.state
    yield from laws.check_start(simulation)
    try:
        motions = [moved(simulation, start, count, h, within(k), 2**k) for k in range(3)]
    except SimulationError as problem:
        yield limited("convergence", inf, MOTION_TRUSTED, str(problem))
        return
    watched = motions[0]
    yield motion.check_convergence(simulation, motions)
    yield motion.check_energy(simulation, watched)
    yield from motion.check_loops(simulation, watched)
    yield motion.check_reversal(simulation, watched, within(3))
    yield laws.check_newton(simulation, watched)
    yield laws.check_linear(simulation, watched)
    tell(PARTS[-1])
    simulation.put(start)
    yield check_scales(simulation, h)
    tell(1.0)
