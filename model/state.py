"""The state of a mechanism: a small frozen copy, and the live one that kernels work on directly."""

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import casadi as ca
import numpy as np

from .compile.kernel import Kernel
from .engine import Engine
from .equations.prescribed import motion_places
from .equations.terms import Equations
from .errors import SimulationError
from .manifold.gaps import loop_gaps, open_loop, widest_gap
from .manifold.step import ALONG, HELD, LEFT_OPEN, VERDICT
from .manifold.stepper import Stepper
from .samples import SensorSamples
from .thresholds import REFUSED

Traced = Callable[[Equations], ca.Function]
INFINITY = math.inf
NO_SAMPLES = np.zeros(0)


@dataclass(frozen=True, eq=False)
class State:
    """All that the future depends on. `work` is the energy put in so far, `sensed` what sensors remember.

    Two states are equal if all their numbers are; `dataclasses.replace` gives changed ones. Sensors that
    take samples begin anew in a state without `sensed`.
    """

    time: float
    q: np.ndarray  # coordinates
    v: np.ndarray  # speeds
    u: np.ndarray  # inputs
    p: np.ndarray  # parameters
    work: float = 0.0
    sensed: np.ndarray = field(default_factory=lambda: NO_SAMPLES)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]


class LiveState:
    """The present state of a mechanism in memory that the engine's kernels read and write.

    `step` is the step of time, (q, v, work, u, p, h) → (q, v, work) and a verdict on itself.
    q, v, u, p are that memory itself: read them freely; `state`, `set_inputs` and `put` change them.
    """

    def __init__(self, engine: Engine, state: State, step: Stepper):
        self.engine, self.stepping = engine, step
        self.stepper, self.substeps = step.name, step.substeps
        self.mechanism, self.tree = engine.mechanism, engine.tree
        self.equations, self.inputs = engine.equations, engine.inputs
        sizes = (self.tree.nq, self.tree.nv, 1, len(self.inputs), self.equations.p.numel())
        memory = np.zeros(sum(sizes))
        self.q, self.v, self._work, self.u, self._p = np.split(memory, np.cumsum(sizes)[:-1])
        self.p = self._p.view()
        self.p.flags.writeable = False
        self._moving = memory[: sum(sizes[:3])]
        self._new = np.zeros(self._moving.size + len(VERDICT))
        self.ledger = np.zeros(len(VERDICT))  # sum of all verdicts so far
        # by how inputs go on during a step: what takes it, where its length goes, and its kernel
        self._steps: dict[str, tuple[Callable[[], Any], Any, Kernel]] = {}
        self._along = np.zeros(2 * len(self.inputs))  # inputs and their rates
        self.motions = motion_places(self.mechanism)  # where driven motions are among the inputs
        self._outputs: Kernel | None = None
        self.samples = SensorSamples(engine) if engine.sampled else None
        self._plainly = not (self.motions or self.samples)
        alone = threading.RLock()
        self._enter, self._leave = alone.acquire, alone.release  # looked up once: steps are short
        self.open_up_to = REFUSED
        self.time = 0.0
        self.put(state)

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
        """q, v, work, u, p where they are, for code that works on them directly."""
        return self.q, self.v, self._work, self.u, self._p

    @property
    def state(self) -> State:
        """A copy of the present state; setting one asks for closed loops."""
        sensed = self.samples.memory.copy() if self.samples else NO_SAMPLES
        return State(self.time, self.q.copy(), self.v.copy(), self.u.copy(), self.p.copy(), self.work, sensed)

    @state.setter
    def state(self, state: State) -> None:
        self.check(state)
        self.put(state)

    def put(self, state: State) -> None:
        """Take a state as it is, unchecked."""
        self.time = float(state.time)
        self.q[:], self.v[:], self._work[0] = state.q, state.v, state.work
        self.u[:], self._p[:] = state.u, state.p
        if self.samples:
            self.samples.put(state.sensed)
        self._tell()

    def sample(self) -> None:
        """Let sensors take the samples that are due now; steps do so by themselves."""
        if self.samples:
            self.samples.put(self.samples.taken(self.samples.memory, self._now(), self.time))

    def go(self, time: float, q: np.ndarray, v: np.ndarray, work: float) -> None:
        """Go where a solver says, unless that is infinite."""
        if not (np.isfinite(q).all() and np.isfinite(v).all() and math.isfinite(work)):
            raise self._infinite(time, "")
        if self.motions:
            self.u[:], self._p[:] = self.inputs_at(time)
        self.time = time
        self.q[:], self.v[:], self._work[0] = q, v, work

    def check(self, state: State) -> None:
        """Raise one sentence unless sizes fit, all numbers are finite and the loops are closed."""
        name = self.mechanism.name
        for what, have in {"coordinates": "q", "speeds": "v", "inputs": "u", "parameters": "p"}.items():
            given, own = np.asarray(getattr(state, have), float), getattr(self, have)
            if given.shape != own.shape:
                raise SimulationError(f"a state of '{name}' has {own.size} {what}, not {given.size}")
        if state.sensed.size and (not self.samples or state.sensed.shape != self.samples.memory.shape):
            raise SimulationError(
                f"what the sensors of '{name}' remember is not what this state has; leave it out"
            )
        numbers = [*state.q, *state.v, *state.u, *state.p, *state.sensed, state.time, state.work]
        if not np.isfinite(numbers).all():
            raise SimulationError("a state must be finite; it holds NaN or infinity")
        if np.abs(self.engine.retract(state.q, np.zeros(self.tree.nv)) - state.q).max(initial=0.0) > REFUSED:
            raise SimulationError(f"the Euler parameters of a state of '{name}' must have length one")
        g = self.engine.closure(state.q, state.p)[0]
        if not np.abs(g / self.equations.scales.rows).max(initial=0.0) < self.open_up_to:
            gap = widest_gap(self.mechanism, self.tree, g)
            raise SimulationError(f"{gap}; give a state whose coordinates close it, or call assemble()")

    def set_inputs(self, values: Mapping[str, float] | Iterable[float]) -> None:
        """Inputs by name, or all of them in the order of `inputs`; held until set again."""
        self.take_inputs(self._given(values, self.u.copy()))

    def take_inputs(self, u: np.ndarray) -> None:
        """These inputs from now on; the mechanism goes where driven motions are told to be."""
        if self.motions and not np.array_equal(u[self.motions], self.u[self.motions]):
            self._follow(u)
        self.u[:] = u
        self._tell()

    def told(self, u: np.ndarray) -> np.ndarray:
        """Parameters, with the driven motions that are among these inputs behind them."""
        return np.concatenate([self._p[: self._p.size - len(self.motions)], u[self.motions]])

    def inputs_at(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and parameters at another time: driven motions go on by their derivatives."""
        if not self.motions:
            return self.u, self.p
        self._along[: self.u.size], self._along[self.u.size :] = self.u, 0.0
        u = self.engine.kernel("moved_inputs")(self._along, time - self.time)[: self.u.size]
        return u, self.told(u)

    def _tell(self) -> None:
        """The driven motions that are among the inputs, to where all that closes loops finds them."""
        if self.motions:
            self._p[self._p.size - len(self.motions) :] = self.u[self.motions]

    def _follow(self, u: np.ndarray) -> None:
        """Take the mechanism to where driven motions are to be; if it can't go there all stays as it was."""
        p = self.told(u)
        before = self.q, self.v, self._work
        q, v, work = (x.copy() for x in self.engine.kernel("seated")(*before, p))
        if not np.abs(self.engine.closure(q, p)[0] / self.equations.scales.rows).max() < REFUSED:
            found = self.engine.assembly(self.q, p)  # the motion has jumped far
            if not found.closed:
                raise open_loop(self.mechanism, loop_gaps(found.g, self.tree))
            q, v, work = self.engine.kernel("seated")(found.q, *before[1:], p)
        self.q[:], self.v[:], self._work[:] = q, v, work

    def _given(self, values: Mapping[str, float] | Iterable[float], u: np.ndarray) -> np.ndarray:
        """u with the values given by name, or all anew."""
        if isinstance(values, Mapping):
            for name, value in values.items():
                u[self.engine.variables.inputs.find(name).where] = value
        else:
            given = np.asarray(values if isinstance(values, np.ndarray) else list(values), float)
            if given.shape != u.shape:
                raise SimulationError(f"{given.size} inputs given, '{self.mechanism.name}' has {u.size}")
            u[:] = given
        if not np.isfinite(u).all():
            raise SimulationError("an input is NaN or infinite; the inputs stay as they were")
        return u

    def step(
        self,
        h: float,
        end: float | None = None,
        input_rates: Mapping[str, float] | Iterable[float] | None = None,
    ) -> None:
        """One step of length h; by default Runge-Kutta, then projection onto closed loops.

        `end` is the time it is then, for those who count: adding up many h gathers round-off.
        Inputs are held, or change during the step by `input_rates` per second and stay as they are then.
        """
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
        sensed = NO_SAMPLES
        if self.samples:  # the step is looked into, so that sensing moves nothing
            begin = self.time
            sensed = self.samples.within(self._now(), begin, end, lambda t: self._ahead(t - begin, inputs))
        self._advance(h, inputs)
        self.u[:] = self._inputs_after(h, inputs)
        self._tell()
        self.time = end
        if self.samples:
            self.samples.put(self.samples.taken(sensed, self._now(), end))

    def _inputs_after(self, t: float, inputs: str) -> np.ndarray:
        """Inputs t seconds after those that a step begins with, which `_along` has."""
        n = self.u.size
        if self.motions:
            return self.engine.kernel("moved_inputs")(self._along, t)[:n]
        return self.u if inputs == HELD else self._along[:n] + t * self._along[n:]

    def _now(self) -> tuple[np.ndarray, ...]:
        return self.q, self.v, self.u, self.p

    def _ahead(self, h: float, inputs: str) -> tuple[np.ndarray, ...]:
        """q, v, u, p after h; the state stays."""
        _, length, step = self._steps.get(inputs) or self._bound(inputs)
        length[0] = h
        step.evaluate()
        if not np.isfinite(self._new).all():
            raise self._infinite(self.time, f"take a smaller step than {h:g} s; ")
        n, m, u = self.q.size, self.q.size + self.v.size, self._inputs_after(h, inputs)
        return self._new[:n], self._new[n:m], u, self.told(u)

    def _bound(self, inputs: str) -> tuple[Callable[[], Any], Any, Kernel]:
        """The traced step, which reads the state's memory itself."""
        n, m = self.tree.nq, self.tree.nq + self.tree.nv
        new = self._new[:n], self._new[n:m], self._new[m : m + 1], self._new[m + 1 :]
        arguments = self.q, self.v, self._work, self._along if inputs == ALONG else self.u, self._p
        step = self.engine.kernel(*self.stepping.traced(inputs)).bind(arguments, new)
        moved, verdict = np.split(self._new, [self._moving.size])
        # what is infinite has an infinite energy and a verdict, but for states of drives
        take = (lambda: step.evaluate() or True) if self.tree.z else step.taking(self._moving, moved, verdict)
        self._steps[inputs] = take, step.arguments[5].data, step
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
            raise self._infinite(self.time, f"take a smaller step than {h:g} s; ")
        verdict = self._new[-len(VERDICT) :]
        if verdict[LEFT_OPEN]:
            gap = widest_gap(
                self.mechanism, self.tree, self.engine.closure(self._new[: self.q.size], self.p)[0]
            )
            raise SimulationError(
                f"{gap} after a step of {h:g} s from {self.time:.6g} s; take smaller steps; "
                "the state stays as it was"
            )
        self.ledger += verdict

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

    def bind(self, name: str, make: Traced | None = None) -> Kernel:
        """An engine's kernel of (q, v, u, p, …) that reads this state's own memory."""
        return self.engine.kernel(name, make).bind((self.q, self.v, self.u, self._p))

    def output_vector(self) -> np.ndarray:
        """What the traced code computes, laid out as `variables` says. Overwritten by the next call."""
        if self._outputs is None:
            self._outputs = self.bind("outputs")
        self._outputs.evaluate()
        if self.samples:
            self.samples.tell(self._outputs.results[0], self._now(), self.time)
        return self._outputs.results[0]

    def read(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Outputs at rows of `variables`, or all; singular values are sought only if asked for."""
        y = self.output_vector()
        if rows is None or rows.max(initial=0) >= len(y):
            y = np.concatenate([y, self.engine.singularity(self.q, self.p)])
        return y if rows is None else y[rows]

    def outputs(self) -> dict[str, Any]:
        """All outputs by name, scalars as floats and vectors as arrays."""
        y = self.read()
        return {
            v.name: float(y[v.where.start]) if v.size == 1 else y[v.where].copy()
            for v in self.engine.variables.outputs
        }

    def accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and the multipliers λ at the present state and inputs.

        At rest in a singular pose v̇ is the one of second order (`manifold/rest.py`); the multipliers that
        lead to it have no limit, and λ are those of least norm.
        """
        dv, lam = self.engine.kernel("dynamics")(self.q, self.v, self.u, self.p)
        if self.tree.cuts and not self.motions and not self.v.any():
            dv = self.engine.kernel("from_rest")(self.q, self.u, self.p)[0]
        return dv, lam

    def _infinite(self, time: float, advice: str) -> SimulationError:
        return SimulationError(
            f"the state of '{self.mechanism.name}' became infinite at {time:.6g} s; "
            f"{advice}the state stays as it was"
        )
