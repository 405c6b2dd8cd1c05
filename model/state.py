"""The state of a mechanism: a small frozen copy, and the live one that kernels work on directly."""

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from .base.errors import SimulationError
from .base.thresholds import REFUSED
from .base.units import seconds
from .compile.kernel import Kernel
from .engine import Engine
from .kernels import Trace
from .manifold.gaps import loop_gaps, open_loop, widest_gap
from .manifold.step import ALONG, HELD, LEFT_OPEN, STEP_INFO
from .manifold.stepper import StepMethod
from .manifold.stiffness import advise_implicit
from .sensor_samples import SensorSamples
from .variables import Readings, listed_inputs

INFINITY = math.inf
NO_NUMBERS = np.zeros(0)


@dataclass(frozen=True, eq=False)
class State:
    """All that the future depends on. `work` is the energy put in so far, `sensed` what sensors remember.

    Two states are equal if all their numbers are; `dataclasses.replace` gives changed ones. Internal states
    of drives and friction are zero in a state without `z`, and sensors that take samples begin anew in one
    without `sensed`.
    """

    time: float  # seconds since the start
    q: np.ndarray  # coordinates
    v: np.ndarray  # speeds
    u: np.ndarray  # inputs
    p: np.ndarray  # parameters
    work: float = 0.0
    sensed: np.ndarray = field(default_factory=lambda: NO_NUMBERS)
    z: np.ndarray = field(default_factory=lambda: NO_NUMBERS)  # internal states

    @property
    def at(self) -> tuple[np.ndarray, ...]:
        """q, v, z, u, p: what functions of the forces take."""
        return self.q, self.v, self.z, self.u, self.p

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]


class Stepper:
    """The present state of a mechanism in memory that the engine's kernels read and write.

    `step` is the step of time, (q, v, z, work, u, p, h) → (q, v, z, work) and a verdict on itself.
    q, v, z, u, p are that memory itself: read them freely; `state`, `set_inputs` and `put` change them.
    """

    def __init__(self, engine: Engine, state: State, step: StepMethod):
        self.engine, self.stepping = engine, step
        self.stepper, self.substeps = step.name, step.substeps
        self.mechanism, self.tree = engine.mechanism, engine.tree
        self.equations, self.inputs = engine.equations, engine.inputs
        tree = self.tree
        sizes = (tree.nq, tree.nv, tree.nz, 1, len(self.inputs), self.equations.p.numel())
        memory = np.zeros(sum(sizes))
        self.q, self.v, self.z, self._work, self.u, self._p = np.split(memory, np.cumsum(sizes)[:-1])
        self.p = self._p.view()
        self.p.flags.writeable = False
        self._moving = memory[: sum(sizes[:4])]
        self._new = np.zeros(self._moving.size + len(STEP_INFO))
        self.counters = np.zeros(len(STEP_INFO))  # sum of all verdicts so far
        # by how inputs go on during a step: what takes it, where its length goes, and its kernel
        self._steps: dict[str, tuple[Callable[[], Any], Any, Kernel]] = {}
        self._along = np.zeros(2 * len(self.inputs))  # inputs and their rates
        self.motions = engine.motion_places  # where driven motions are among the inputs
        self._outputs: Kernel | None = None
        self.samples = SensorSamples(engine) if engine.sampled else None
        self._plainly = not (self.motions or self.samples)
        alone = threading.RLock()
        self._enter, self._leave = alone.acquire, alone.release  # looked up once: steps are short
        self.open_up_to = REFUSED
        self.time = 0.0
        self.put(state)

    def traced_step(self) -> tuple[str, Trace]:
        """A name of the step that it takes with held inputs, and what traces it: to differentiate it."""
        return self.stepping.traced()

    @property
    def judges(self) -> bool:
        """Whether steps give a verdict on themselves."""
        return bool(self._steps)

    @property
    def work(self) -> float:
        """Energy that inputs and loads put in, less what dampers took, since the start, joules."""
        return float(self._work[0])

    @property
    def memory(self) -> tuple[np.ndarray, ...]:
        """q, v, z, work, u, p where they are, for code that works on them directly."""
        return self.q, self.v, self.z, self._work, self.u, self._p

    @property
    def state(self) -> State:
        """A copy of the present state; setting one asks for closed loops."""
        sensed = self.samples.memory.copy() if self.samples else NO_NUMBERS
        q, v, z, u, p = (x.copy() for x in self.at)
        return State(self.time, q, v, u, p, self.work, sensed, z)

    @state.setter
    def state(self, state: State) -> None:
        self.check(state)
        self.put(state)

    def put(self, state: State) -> None:
        """Take a state as it is, unchecked."""
        self.time = float(state.time)
        self.q[:], self.v[:], self._work[0] = state.q, state.v, state.work
        self._put = state.q  # a pose that somebody meant, which a motion on its way to infinity is not
        self.z[:] = state.z if state.z.size else 0.0
        self.u[:], self._p[:] = state.u, state.p
        if self.samples:
            self.samples.put(state.sensed)

    def sample(self) -> None:
        """Let sensors take the samples that are due now; steps do so by themselves."""
        if self.samples:
            self.samples.put(self.samples.taken(self.samples.memory, self.at, self.time))

    def go(self, time: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, work: float) -> None:
        """Go where a solver says, unless that is infinite."""
        if not (all(np.isfinite(x).all() for x in (q, v, z)) and math.isfinite(work)):
            raise self._infinite(time, "")
        if self.motions:
            self.u[:] = self.inputs_at(time)
        self.time = time
        self.q[:], self.v[:], self.z[:], self._work[0] = q, v, z, work

    def check(self, state: State) -> None:
        """Raise one sentence unless sizes fit, all numbers are finite and the loops are closed."""
        name = self.mechanism.name
        words = "coordinates", "speeds", "internal states", "inputs", "parameters"
        for what, given, own in zip(words, state.at, self.at, strict=True):
            if np.shape(given) != own.shape and not (given is state.z and not given.size):
                raise SimulationError(f"a state of '{name}' has {own.size} {what}, not {given.size}")
        if state.sensed.size and (not self.samples or state.sensed.shape != self.samples.memory.shape):
            raise SimulationError(
                f"what the sensors of '{name}' remember is not what this state has; leave it out"
            )
        numbers = [*(x for part in state.at for x in part), *state.sensed, state.time, state.work]
        if not np.isfinite(numbers).all():
            raise SimulationError("a state must be finite; it holds NaN or infinity")
        if np.abs(self.engine.retract(state.q, np.zeros(self.tree.nv)) - state.q).max(initial=0.0) > REFUSED:
            raise SimulationError(f"the Euler parameters of a state of '{name}' must have length one")
        g = self.engine.closure(state.q, self.engine.motions(state.u), state.p)[0]
        if not np.abs(g / self.equations.scales.rows).max(initial=0.0) < self.open_up_to:
            gap = widest_gap(self.mechanism, self.tree, g)
            raise SimulationError(f"{gap}; give a state whose coordinates close it, or call assemble()")

    def set_inputs(self, values: Mapping[str, float] | Iterable[float]) -> None:
        """Inputs, held until set again.

        Parameters
        ----------
        values : name -> value, or all of them in the order of `inputs`. SI units; a text may bring its
            unit, `"2 N.m"`. A name is that of the input, `motor1`, or of its port, `motor.motor1.torque`.
        """
        self.take_inputs(self._given(values, self.u.copy()))

    def take_inputs(self, u: np.ndarray) -> None:
        """These inputs from now on; the mechanism goes where driven motions are told to be."""
        if self.motions and not np.array_equal(u[self.motions], self.u[self.motions]):
            self._follow(u)
        self.u[:] = u

    @property
    def s(self) -> np.ndarray:
        """The driven motions that are among the inputs: what closes loops takes them."""
        return self.engine.motions(self.u)

    def inputs_at(self, time: float) -> np.ndarray:
        """Inputs at another time: driven motions go on by their derivatives."""
        if not self.motions:
            return self.u
        self._along[: self.u.size], self._along[self.u.size :] = self.u, 0.0
        u: np.ndarray = self.engine.kernels.inputs_after(self._along, time - self.time)
        return u[: self.u.size]

    def _follow(self, u: np.ndarray) -> None:
        """Take the mechanism to where driven motions are to be; if it can't go there all stays as it was."""
        s, before = self.engine.motions(u), (self.v, self.z, self._work)
        q, v, work = self.engine.kernels.project_to_motion(self.q, *before, s, self.p)
        if not np.abs(self.engine.closure(q, s, self.p)[0] / self.equations.scales.rows).max() < REFUSED:
            found = self.engine.assembly(self.q, s, self.p)  # the motion has jumped far
            if not found.closed:
                raise open_loop(self.mechanism, loop_gaps(found.g, self.tree))
            q, v, work = self.engine.kernels.project_to_motion(found.q, *before, s, self.p)
        self.q[:], self.v[:], self._work[:] = q, v, work

    def _given(self, values: Mapping[str, float] | Iterable[float], u: np.ndarray) -> np.ndarray:
        """u with the values given by name, or all anew."""
        if isinstance(values, Mapping):
            for name, value in values.items():
                found = self.engine.variables.inputs.find(name)
                u[found.where] = value if isinstance(value, float) else found.numbers(value)
        else:
            given = listed_inputs(values, self.engine.variables.inputs)
            if given.shape != u.shape:
                raise SimulationError(f"{given.size} inputs given, '{self.mechanism.name}' has {u.size}")
            u[:] = given
        if not np.isfinite(u).all():
            raise SimulationError("an input is NaN or infinite; the inputs stay as they were")
        return u

    def step(
        self,
        h: float | str,
        end: float | None = None,
        input_rates: Mapping[str, float] | Iterable[float] | None = None,
    ) -> None:
        """One step of length h, seconds or a text ("1 ms"): Runge-Kutta, then projection onto closed loops.

        `end` is the time it is then, for those who count: adding up many h gathers round-off.
        Inputs are held, or change during the step by `input_rates` per second and stay as they are then.
        """
        if not isinstance(h, float):  # a text may bring its unit
            h = seconds(h, "a step")
        if not 0 < h < INFINITY:
            raise SimulationError(f"a step must be positive and finite, not {h}")
        if not self._enter(False):
            raise self._busy()
        try:
            if input_rates is None and self._plainly:
                self._advance(h)
                self.time = self.time + h if end is None else end
            else:
                self._move_on(h, self.time + h if end is None else end, input_rates)
        finally:
            self._leave()

    def _move_on(self, h: float, end: float, rates: Any) -> None:
        """A step while inputs change by rates or driven motions go on, and sensors take samples."""
        n = self.u.size
        self._along[:n], self._along[n:] = self.u, 0.0 if rates is None else self._given(rates, np.zeros(n))
        inputs = HELD if rates is None else ALONG
        sensed = NO_NUMBERS
        if self.samples:  # the step is looked into, so that sensing moves nothing
            begin = self.time
            sensed = self.samples.within(self.at, begin, end, lambda t: self._ahead(t - begin, inputs))
        self._advance(h, inputs)
        self.u[:] = self._inputs_after(h, inputs)
        self.time = end
        if self.samples:
            self.samples.put(self.samples.taken(sensed, self.at, end))

    def _inputs_after(self, t: float, inputs: str) -> np.ndarray:
        """Inputs t seconds after those that a step begins with, which `_along` has."""
        n = self.u.size
        if self.motions:
            return self.engine.kernels.inputs_after(self._along, t)[:n]
        return self.u if inputs == HELD else self._along[:n] + t * self._along[n:]

    @property
    def at(self) -> tuple[np.ndarray, ...]:
        """q, v, z, u, p: what functions of the forces take."""
        return self.q, self.v, self.z, self.u, self.p

    def _ahead(self, h: float, inputs: str) -> tuple[np.ndarray, ...]:
        """q, v, z, u, p after h; the state stays."""
        _, length, step = self._steps.get(inputs) or self._bound(inputs)
        length[0] = h
        step.evaluate()
        if not np.isfinite(self._new).all():
            raise self._infinite(self.time, f"{self.step_advice(h)}; ")
        return *self._parts()[:3], self._inputs_after(h, inputs), self.p

    def _parts(self) -> list[np.ndarray]:
        """q, v, z, work and verdict of what the step has found."""
        tree = self.tree
        return np.split(self._new, np.cumsum([tree.nq, tree.nv, tree.nz, 1]))

    def _bound(self, inputs: str) -> tuple[Callable[[], Any], Any, Kernel]:
        """The traced step, which reads the state's memory itself."""
        *state, u, p = self.memory
        arguments = *state, self._along if inputs == ALONG else u, p
        step = self.engine.kernel(*self.stepping.traced(inputs)).bind(arguments, self._parts())
        moved, verdict = np.split(self._new, [self._moving.size])
        # what is infinite has an infinite energy and a verdict, but for states of drives
        take = (lambda: step.evaluate() or True) if self.tree.z else step.taking(self._moving, moved, verdict)
        self._steps[inputs] = take, step.arguments[-1].data, step
        return self._steps[inputs]

    def _advance(self, h: float, inputs: str = HELD) -> None:
        """Move on by h."""
        take, length, _ = self._steps.get(inputs) or self._bound(inputs)
        length[0] = h
        if take():
            self._hear(h)
            self._moving[:] = self._new[: self._moving.size]

    def _hear(self, h: float) -> None:
        """What a step says of itself: nobody takes one that is infinite or leaves a loop open."""
        if not np.isfinite(self._new).all():
            raise self._infinite(self.time, f"{self.step_advice(h)}; ")
        verdict = self._new[-len(STEP_INFO) :]
        if verdict[LEFT_OPEN]:
            g, _ = self.engine.closure(self._new[: self.q.size], self.s, self.p)
            gap = widest_gap(self.mechanism, self.tree, g)
            raise SimulationError(
                f"{gap} after a step of {h:g} s from {self.time:.6g} s; take smaller steps; "
                "the state stays as it was"
            )
        self.counters += verdict

    def alone(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Do something that takes steps, with other threads kept out."""
        if not self._enter(False):
            raise self._busy()
        try:
            return action(*arguments)
        finally:
            self._leave()

    def _busy(self) -> SimulationError:
        return SimulationError(
            f"another thread is moving this simulation of '{self.mechanism.name}'; "
            "give every thread its own: copy.deepcopy(simulation)"
        )

    def bind(self, kernel: Kernel) -> Kernel:
        """A kernel of (q, v, z, u, p, …) that reads this state's own memory."""
        return kernel.bind((self.q, self.v, self.z, self.u, self._p))

    def output_vector(self) -> np.ndarray:
        """What the traced code computes, laid out as `variables` says. Overwritten by the next call."""
        if self._outputs is None:
            self._outputs = self.bind(self.engine.kernels.outputs)
        self._outputs.evaluate()
        if self.samples:
            self.samples.tell(self._outputs.results[0], self.at, self.time)
        return self._outputs.results[0]

    def read(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Outputs at rows of `variables`, or all; singular values are sought only if asked for."""
        y = self.output_vector()
        if rows is None or rows.max(initial=0) >= len(y):
            y = np.concatenate([y, self.engine.singularity(self.q, self.s, self.p)])
        return y if rows is None else y[rows]

    def outputs(self) -> dict[str, Any]:
        """All outputs by name, scalars as floats and vectors as arrays; `name[k]` is a component."""
        y = self.read()
        return Readings(
            {
                v.name: float(y[v.where.start]) if v.size == 1 else y[v.where].copy()
                for v in self.engine.variables.outputs
            }
        )

    def accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and the multipliers λ at the present state and inputs.

        At rest in a singular pose v̇ is the one of second order (`manifold/singular_start.py`); the
        multipliers that lead to it have no limit, and λ are those of least norm.
        """
        dv, lam = self.engine.kernels.dynamics(*self.at)
        if self.tree.cuts and not self.motions and not self.v.any():
            dv = self.engine.kernels.from_rest(self.q, self.z, self.u, self.p)[0]
        return dv, lam

    def step_advice(self, h: float) -> str:
        """What to do where steps of h are too long."""
        advice, (*_, z, u, p) = "", self.at
        if self.stepping.name != "implicit":
            dynamics = self.engine.kernels.dynamics
            at = self.tree, lambda q, v: dynamics(q, v, z, u, p)[0], self._put
            advice = advise_implicit(self.mechanism, *at, h)
        return advice or f"take a smaller step than {h:g} s"

    def _infinite(self, time: float, advice: str) -> SimulationError:
        return SimulationError(
            f"the state of '{self.mechanism.name}' became infinite at {time:.6g} s; "
            f"{advice}the state stays as it was"
        )
