"""All checks of a mechanism, one after the other."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import Any

from ..base.errors import SimulationError
from ..base.thresholds import MOTION_TRUSTED, TINY
from ..describe.mechanism import Mechanism
from ..laws import Law
from ..run.inputs import as_laws
from ..run.integrate import step_plan
from ..simulation import Simulation
from . import laws, motion
from .motion import move
from .report import Check, TrustReport, check_within
from .scaling import check_scales

Progress = Callable[[float], None]
# Part of the work that is done before the runs with h, h/2, h/4, before the way back, laws, scales.
PARTS = (0.0, 0.1, 0.25, 0.55, 0.7, 0.8)


def verify(
    mechanism: Mechanism | str,
    *,
    time: float = 1.0,
    step: float = 1e-3,
    inputs: Mapping[str, Any] | Iterable[float] = (),
    gravity: float | Iterable[float] | None = None,
    stepper: str = "runge_kutta",
    compile: bool | None = None,
    progress: Progress | None = None,
) -> TrustReport:
    """A trust report on a mechanism's motion from its start.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description.
    time, step : how long it is watched, and the step that is to be trusted, seconds.
    inputs : by name, or all of them; zero if empty. By name it may also be a law over time, or its text.
    gravity, stepper, compile : as of `Simulation`.
    progress : called with the part that is done.
    """
    simulation = Simulation(mechanism, gravity=gravity, compile=compile, stepper=stepper)
    given = inputs if isinstance(inputs, Mapping) else list(inputs)
    over_time = as_laws(simulation, given, 0.0, step) if isinstance(given, Mapping) else {}
    if all(law.still for law in over_time.values()):
        given, over_time = {name: law(0.0).x[0] for name, law in over_time.items()} or given, {}
    if given and not over_time:
        simulation.set_inputs(given)
    count = len(step_plan(0.0, time, step))
    if not (count and time**2 > TINY):  # accelerations are measured by it
        raise SimulationError(f"a motion to be verified must last, not {time:g} s")
    start = simulation.state
    found = tuple(_checks(simulation, count, time / count, progress or (lambda part: None), over_time))
    simulation.put(start)
    mobility = simulation.topology().summary
    return TrustReport(simulation.mechanism.name, time, time / count, stepper, found, mobility)


def _checks(
    simulation: Simulation, count: int, h: float, tell: Progress, driven: Mapping[str, Law]
) -> Iterator[Check]:
    def within(k: int) -> Progress:
        """Progress of the k-th part as a part of all."""
        return lambda part: tell(PARTS[k] + part * (PARTS[k + 1] - PARTS[k]))

    start = simulation.state
    yield from laws.check_start(simulation)
    try:
        motions = [move(simulation, start, count, h, within(k), 2**k, driven) for k in range(3)]
    except SimulationError as problem:
        yield check_within("convergence", inf, MOTION_TRUSTED, str(problem))
        return
    watched = motions[0]
    yield motion.check_convergence(simulation, motions)
    yield motion.check_energy(simulation, watched)
    yield from motion.check_loops(simulation, watched)
    yield motion.check_reversal(simulation, watched, within(3), driven)
    yield laws.check_newton(simulation, watched)
    yield laws.check_linear(simulation, watched)
    tell(PARTS[-1])
    simulation.put(start)
    yield check_scales(simulation, h)
    tell(1.0)
