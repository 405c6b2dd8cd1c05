"""Runs over time: fixed steps, or variable steps to a tolerance."""

from collections import deque
from collections.abc import Callable, Iterable
from itertools import pairwise, takewhile
from typing import Protocol

import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import (
    IN_A_RECORD,
    LEAST_TOLERANCE,
    MOST_PLANNED,
    MOST_STEPS,
    ROUNDED,
    SAME_TIME,
    STEPS_BETWEEN,
)
from ..manifold.step import STEP_INFO
from ..state import Stepper
from ..variables import Variable
from .events import Event, Watch
from .inputs import Inputs
from .recording import Recorded, Recorder
from .sample_schedule import Sensing
from .trajectory import Trajectory

Slope = Callable[[float, np.ndarray], np.ndarray]
Place = tuple[np.ndarray, np.ndarray, np.ndarray, float]  # q, v, z, work


def step_plan(begin: float, duration: float, h: float) -> list[tuple[float, float]]:
    """Length and end of each step of h; a shorter last one if the duration is no multiple of it."""
    if not h > 0:
        raise SimulationError(f"a step must be positive, not {h}")
    if duration > MOST_PLANNED * h:
        raise SimulationError(
            f"{duration:g} s in steps of {h:g} s are more than {MOST_PLANNED:g} steps; take longer steps"
        )
    same = SAME_TIME + ROUNDED * abs(begin) / h  # the duration may be a difference of large times
    whole = int(duration / h + same)
    plan = [(h, begin + (n + 1) * h) for n in range(whole)]  # no drift of time by summing
    rest = duration - whole * h
    if plan and rest <= same * h:
        plan[-1] = (h, begin + duration)
    elif duration:
        plan.append((rest, begin + duration))
    return plan


class Solver(Protocol):
    """Takes steps of its own length; `at(t)` gives q, v, z and work at a time within the last one."""

    time: float
    tally: np.ndarray  # steps judged, and the sum of their verdicts

    def advance(self) -> None: ...
    def at(self, t: float) -> Place: ...


class FixedSteps:
    """The simulation's own steps; if `watched`, one can look back into the last by stepping again."""

    def __init__(
        self, simulation: Stepper, duration: float, h: float, watched: bool, inputs: Inputs | None = None
    ):
        self.simulation, self.time, self.watched = simulation, simulation.time, watched
        self.inputs = inputs
        self._rates: np.ndarray | None = None  # of inputs, in the last step
        plan = step_plan(simulation.time, duration, h)
        self._plan = iter(inputs.split(plan) if inputs else plan)
        self._steps, self._known = 0, simulation.counters.copy()

    @property
    def tally(self) -> np.ndarray:
        judged = self._steps if self.simulation.judges else 0
        return np.array([judged, *(self.simulation.counters - self._known)])

    def advance(self) -> None:
        length, self.time = next(self._plan)
        if self.inputs:
            self.inputs.control()
            self._rates = self.inputs.line(self.simulation.time, length)
        if self.watched:
            self._before = self.simulation.state
        self.simulation.step(length, self.time, self._rates)
        if self.inputs:
            self.inputs.set(self.time)
        self._steps += 1
        if self.watched:
            self._after = self.simulation.state

    def at(self, t: float) -> Place:
        s, counters = self.simulation, self.simulation.counters.copy()
        s.put(self._after if t >= self.time else self._before)
        if s.time < t < self.time:
            s.step(t - s.time, t, self._rates)
            s.counters[:] = counters  # looked at, not taken
            if self.inputs:
                self.inputs.set(t)
        return s.q, s.v, s.z, s.work


class DormandPrince:
    """Dormand-Prince 8(5,3) on ẋ = slope(t, x); `between(t)` is x within the last step."""

    simulation: Stepper

    def __init__(self, end: float, tolerance: float, inputs: Inputs | None = None):
        if not 0 < tolerance < 1:
            raise SimulationError(f"a tolerance must be between 0 and 1, such as 1e-10, not {tolerance}")
        self.end, self.tolerance, self.inputs = end, max(tolerance, LEAST_TOLERANCE), inputs
        self.until = end
        self.tally = np.zeros(1 + len(STEP_INFO))
        self.spacing = 0.0  # of records, s
        self._count = 0

    def now(self, t: float) -> np.ndarray:
        """Inputs at a time of a stage."""
        return self.inputs.at(t, self.until) if self.inputs else self.simulation.inputs_at(t)

    def begin(self, slope: Slope, time: float, x: np.ndarray, **options: float | None) -> None:
        from scipy.integrate import DOP853  # few need it, and SciPy takes a while to import

        options |= {"rtol": self.tolerance, "atol": self.tolerance}
        self.until = self.inputs.until(time) if self.inputs else self.end  # laws are smooth up to there
        if self.inputs:
            options["max_step"] = self.inputs.longest
        if first := options.get("first_step"):
            options["first_step"] = min(first, self.until - time) or None
        self._followed = slope
        self.time, self.solver = time, DOP853(slope, time, x, self.until, **options)

    def _go_on(self) -> None:
        """Start again behind a break of a law, or when the controller is due."""
        assert self.inputs is not None
        self.inputs.simulation.go(self.time, *self.at(self.time))
        self.inputs.set(self.time)
        self.inputs.control()
        self.begin(self._followed, self.time, self.solver.y)

    def at(self, t: float) -> Place:
        raise NotImplementedError

    def _get_on(self) -> None:
        """An error if the run would go on for hours."""
        if self._count == 0:
            self._last = self.time
        elif self._count % STEPS_BETWEEN == 0:
            length, left = (self.time - self._last) / STEPS_BETWEEN, self.end - self.time
            if left > MOST_STEPS * length and length < IN_A_RECORD * self.spacing:
                raise SimulationError(
                    f"at {self.time:.6g} s the tolerance {self.tolerance:g} needs steps of {length:.1g} s, "
                    "too short to get anywhere: loosen it, or lessen the largest stiffness or friction"
                )
            self._last = self.time
        self._count += 1

    def advance(self) -> None:
        self._get_on()
        if self.solver.status == "finished" and self.time < self.end:
            self._go_on()
        message = self.solver.step()
        self.time = self.solver.t
        if self.solver.status == "failed":
            raise SimulationError(
                f"the integrator failed at {self.time:.6g} s: {message}; loosen the tolerance"
            )
        self.between = self.solver.dense_output()


class Projected(DormandPrince):
    """Variable steps on x = (q, v, work), brought back onto the constraints after every one.

    `slope(t, x)` is ẋ, `project(x)` the x to go on from, nq the number of coordinates q.
    """

    def __init__(
        self,
        slope: Slope,
        project: Callable[[np.ndarray], np.ndarray],
        nq: int,
        start: tuple[float, np.ndarray],
        end: float,
        tolerance: float,
    ):
        super().__init__(end, tolerance)
        self.slope, self.project, self.nq = slope, project, nq
        self.begin(slope, *start)

    def advance(self) -> None:
        super().advance()
        self.solver.y = self.project(self.solver.y)
        self.solver.f = self.slope(self.time, self.solver.y)

    def at(self, t: float) -> Place:
        x = self.solver.y if t >= self.time else self.project(self.between(t))
        return x[: self.nq], x[self.nq : -1], np.zeros(0), float(x[-1])


def run_and_record(
    simulation: Recorded,
    solver: Solver,
    duration: float,
    sample: float,
    columns: Iterable[Variable],
    progress: Callable[[float], None] | None,
    events: Iterable[Event] = (),
    inputs: Inputs | None = None,
) -> Trajectory:
    """The simulation moved on by a solver and recorded every `sample` seconds, unless an event stops it."""
    if inputs:
        inputs.set(simulation.time)  # a solver has looked ahead
    recorder, watch = Recorder(simulation, columns), Watch(simulation, events)
    recorder.add()
    begin, end, stop = simulation.time, simulation.time + duration, None

    def put(t: float) -> None:
        simulation.go(t, *solver.at(t))
        if inputs:
            inputs.set(t)

    sensing = Sensing(simulation, put) if not isinstance(solver, FixedSteps) else None

    def go(t: float) -> None:
        if t != simulation.time:
            if sensing:
                sensing.until(t)
            put(t)

    due = deque(time for _, time in step_plan(begin, duration, sample))
    while solver.time < end and stop is None:
        before = solver.time
        if sensing:
            sensing.keep()
        solver.advance()
        if watch.events:  # looked for between records, too: a step to a tolerance may be long
            times = [before, *takewhile(lambda t: t < solver.time, due), solver.time]
            for t0, t1 in pairwise(times):
                go(t1)
                if (stop := watch.look(t0, t1, go)) is not None:
                    break
        until = solver.time if stop is None else stop
        while due and due[0] <= until + SAME_TIME * sample:
            go(min(due.popleft(), solver.time))
            recorder.add()
        if progress:
            progress((solver.time - begin) / duration)
    go(end if stop is None else stop)
    if sensing:
        sensing.until(simulation.time)
    if recorder.time[-1] != simulation.time:
        recorder.add()
    return recorder.trajectory(watch.found, solver.tally)
