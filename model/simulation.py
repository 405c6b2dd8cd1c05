"""Simulate a mechanism: assemble it, drive it, step it, read it, save and restore it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from .compile.kernel import Kernel, kernel
from .describe.check import check as sensible
from .describe.mechanism import Mechanism
from .describe.parameters import vector as parameter_vector
from .describe.reader import load
from .equations import terms as written
from .equations.outputs import Variable, outputs, pick
from .equations.terms import Equations, equations
from .errors import SimulationError
from .linear.linearize import LinearModel, linearize
from .manifold import rank as mobility
from .manifold import step
from .manifold.assemble import AssemblyReport, assemble
from .manifold.start_pose import start_coordinates
from .papers.methods import Method, advance, check
from .papers.methods.variable import LocalSolver
from .run import inverse
from .run.events import Event
from .run.integrate import Underlying, fixed_step, variable_step
from .run.trajectory import Trajectory
from .show import body_places as places

TRACED = {"runge_kutta": step.MOST_SUBSTEPS, "single": 1}  # steppers that are compiled whole
METHODS = ("fixed", "variable", "local")


@dataclass(frozen=True)
class State:
    """All that the future depends on, besides the inputs. `work` is the energy put in so far."""

    time: float
    q: np.ndarray
    v: np.ndarray
    work: float = 0.0


class Simulation:
    """A mechanism in motion.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description.
    gravity : number g for (0, 0, −g), or a vector; the description's own if None.
    parameters : values for the description's named parameters.
    compile : None compiles where a C compiler is found, False never does, True insists.
    start : joint -> coordinates held while the mechanism is first assembled.
    formulation, stabilization, stepper, chart : names out of `formulations`; the defaults are
        right for any rank, through singularities, and compiled.
    coordinates : joints whose speeds make the chart "chosen"; the motors' if None.

    Attributes
    ----------
    inputs : names of motors and cylinders, in the order of `u`.
    q, v, u, p : present coordinates, speeds, inputs, parameters. Read them; `state` and
        `set_inputs` are there to change them.
    time : seconds since the start.
    work : energy that inputs and loads put in, less what dampers took, since the start, joules.
    tree, equations : the spanning tree and the traced equations.
    """

    def __init__(
        self,
        mechanism: Mechanism | str,
        *,
        gravity: float | Iterable[float] | None = None,
        parameters: Mapping[str, Any] | None = None,
        compile: bool | None = None,
        start: Mapping[str, Any] | None = None,
        formulation: str = "default",
        stabilization: str = "projection",
        stepper: str = "runge_kutta",
        chart: str = "partition",
        coordinates: Iterable[str] | None = None,
    ):
        check(formulation, stabilization, stepper, chart)
        described = load(mechanism) if isinstance(mechanism, str) else mechanism
        self.mechanism = sensible(described if gravity is None else described.with_gravity(gravity))
        self._compile = compile
        self.equations: Equations = equations(self.mechanism)
        self.tree = self.equations.tree
        self.inputs = self.mechanism.inputs()
        self._kernels: dict[str, Kernel] = {}
        self._variables: tuple[Variable, ...] = ()
        self.u = np.zeros(len(self.inputs))
        self.p = parameter_vector(self.mechanism, parameters or {})
        self.time, self.work = 0.0, 0.0
        self.q = start_coordinates(self.mechanism, self.tree)
        self.v = np.zeros(self.tree.nv)
        self.start_report = self.assemble(start or {})
        self._generic: tuple[int, np.ndarray] | None = None
        self._initial = self.state
        self._traced = (formulation, stabilization) == ("default", "projection") and stepper in TRACED
        self.stepper, self._method_names = stepper, (formulation, stabilization, chart, coordinates)
        self._method: Method | None = None

    # -- state ---------------------------------------------------------------------------

    @property
    def compiled(self) -> bool:
        """Whether everything traced so far runs as compiled code."""
        return all(k.compiled for k in self._kernels.values())

    @property
    def state(self) -> State:
        """A copy of the present state."""
        return State(self.time, self.q.copy(), self.v.copy(), self.work)

    @state.setter
    def state(self, state: State) -> None:
        q, v = np.asarray(state.q, float), np.asarray(state.v, float)
        if q.shape != (self.tree.nq,) or v.shape != (self.tree.nv,):
            raise SimulationError(
                f"a state of '{self.mechanism.name}' has {self.tree.nq} coordinates and "
                f"{self.tree.nv} speeds, not {q.size} and {v.size}"
            )
        if not (np.isfinite(q).all() and np.isfinite(v).all() and math.isfinite(state.time + state.work)):
            raise SimulationError("a state must be finite; it holds NaN or infinity")
        self.time, self.work = float(state.time), float(state.work)
        self.q[:], self.v[:] = q, v

    def save(self) -> tuple[State, np.ndarray]:
        """State and inputs, to be given to `restore`; nothing of the simulation is shared with it."""
        return self.state, self.u.copy()

    def restore(self, saved: tuple[State, np.ndarray]) -> None:
        """Go back to what `save` returned; stepping on gives the same bits as the first time."""
        state, u = saved
        self.state = state
        self.u[:] = u

    def reset(self) -> None:
        """Back to the assembled start at time zero, all inputs zero."""
        self.state = self._initial
        self.u[:] = 0.0

    def set_inputs(self, values: Mapping[str, float] | Iterable[float]) -> None:
        """Inputs by name, or all of them in the order of `inputs`; held until set again."""
        u = self.u.copy()
        if isinstance(values, Mapping):
            for name, value in values.items():
                if name not in self.inputs:
                    known = ", ".join(self.inputs) or "none"
                    raise SimulationError(f"'{self.mechanism.name}' has no input '{name}'; inputs: {known}")
                u[self.inputs.index(name)] = value
        else:
            given = np.asarray(values if isinstance(values, np.ndarray) else list(values), float)
            if given.shape != u.shape:
                raise SimulationError(f"{given.size} inputs given, '{self.mechanism.name}' has {u.size}")
            u[:] = given
        if not np.isfinite(u).all():
            raise SimulationError("an input is NaN or infinite; the inputs stay as they were")
        self.u[:] = u

    # -- motion --------------------------------------------------------------------------

    def step(self, h: float) -> None:
        """One step of length h; by default Runge-Kutta, then projection onto closed loops."""
        if not (h > 0 and math.isfinite(h)):
            raise SimulationError(f"a step must be positive and finite, not {h}")
        if not self._traced:
            advance(self, h)
            return
        k = self.kernel("step")
        q, v, work, u, p, length = k.arguments
        q[:], v[:], work[0], u[:], p[:], length[0] = self.q, self.v, self.work, self.u, self.p, h
        k.evaluate()
        new_q, new_v, new_work = k.results
        # tolist: for so few numbers quicker than numpy's own test
        if not all(map(math.isfinite, [*new_q.tolist(), *new_v.tolist(), float(new_work[0])])):
            raise SimulationError(
                f"the state of '{self.mechanism.name}' became infinite at {self.time:.6g} s; "
                f"take a smaller step than {h:g} s; the state stays as it was"
            )
        self.q[:], self.v[:], self.work = new_q, new_v, float(new_work[0])
        self.time += h

    def run(
        self,
        duration: float,
        step: float = 1e-3,
        method: str = "fixed",
        tolerance: float = 1e-10,
        record: Iterable[str] | None = None,
        progress: Callable[[float], None] | None = None,
        events: Iterable[Event] = (),
    ) -> Trajectory:
        """Move on by `duration` seconds under the present inputs and record outputs.

        method "fixed" takes steps of `step`; "variable" integrates to `tolerance` and records every
        `step`; so does "local", on the local state-space form of the simulation's chart. `record`
        names outputs, the joints' positions and speeds if None. `events` are met on the way.
        """
        if not (duration >= 0 and math.isfinite(duration)):
            raise SimulationError(f"a duration must be finite and not negative, not {duration}")
        if method not in METHODS:
            raise SimulationError(f"there is no method '{method}'; known: {', '.join(METHODS)}")
        if method == "fixed":
            return fixed_step(self, duration, step, record, progress, events)
        end = self.time + duration
        local = method == "local"
        solver = (
            LocalSolver(self, self.method(), end, tolerance) if local else Underlying(self, end, tolerance)
        )
        return variable_step(self, solver, duration, step, record, progress, events)

    def method(self) -> Method:
        """The formulation, stabilization and chart this simulation was made with, as numbers."""
        if self._method is None:
            self._method = Method(self, *self._method_names)
        return self._method

    # -- reading -------------------------------------------------------------------------

    def variables(self) -> tuple[Variable, ...]:
        """All outputs that the traced code computes: names, units, meanings."""
        self.kernel("outputs")
        return self._variables

    def output_vector(self) -> np.ndarray:
        """All outputs in one array, laid out as `variables` says. Overwritten by the next call."""
        k = self.kernel("outputs")
        for array, value in zip(k.arguments, (self.q, self.v, self.u, self.p), strict=True):
            array[:] = value
        k.evaluate()
        return k.results[0]

    def outputs(self) -> dict[str, Any]:
        """All outputs by structured name, scalars as floats and vectors as arrays."""
        y = self.output_vector()
        result: dict[str, Any] = {}
        for variable in self.variables():
            part = y[variable.where]
            result[variable.name] = float(part[0]) if variable.size == 1 else part.copy()
        result.update(mobility.numbers(self))
        for name, source in self.mechanism.outputs.items():
            result[name] = pick(result, source)
        return result

    def energy(self) -> float:
        """Kinetic and potential energy, joules."""
        return float(self.outputs()["energy"])

    def accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and the multipliers λ at the present state and inputs."""
        if not self._traced:
            return self.method().accelerate(self.q, self.v)
        dv, lam = self.kernel("dynamics")(self.q, self.v, self.u, self.p)
        return dv, lam

    def closure(self) -> tuple[np.ndarray, np.ndarray]:
        """Loop residual g and Jacobian G at the present state."""
        return self.closed(self.q)

    def singularity_distance(self) -> float:
        """Smallest singular value of G that a regular pose has; ∞ without loops."""
        return mobility.distance(self.closed(self.q)[1], self.generic_rank()[0])

    def body_poses(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Rotation matrix and origin of every body's frame in the world."""
        return places.body_poses(self)

    def joint_positions(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Where each joint is in the world: its point on the parent and its point on the child."""
        return places.joint_positions(self)

    # -- configuration -------------------------------------------------------------------

    def assemble(self, prescribed: Mapping[str, Any] | None = None) -> AssemblyReport:
        """Close the loops from the present coordinates, holding the prescribed joints where told.

        Speeds start again from the description's and are made consistent. If the loops can't be
        closed, the error names the loop, and the state stays as it was.
        """
        return assemble(self, prescribed or {})

    def topology(self) -> mobility.Report:
        """Tree, cuts, rank, mobility and redundant constraints at the present pose."""
        return mobility.report(self)

    def inverse_dynamics(self, acceleration: Mapping[str, Any] | Iterable[float] | None = None) -> np.ndarray:
        """Inputs that give the wanted accelerations at the present state; see `run/inverse.py`."""
        return inverse.inputs_for(self, acceleration)

    def linearize(self, inputs: Any = None, outputs: Any = None, states: Any = None) -> LinearModel:
        """The exact linear model at the present state and inputs; see `linear/linearize.py`."""
        return linearize(self, inputs, outputs, states)

    # -- for what builds on it -------------------------------------------------------------

    def closed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loop residual g and Jacobian G at other coordinates."""
        g, G = self.kernel("closure")(q, self.p)
        return g, G

    def generic_rank(self) -> tuple[int, np.ndarray]:
        """Rank of G at a regular pose, and such a pose."""
        if self._generic is None:
            project = self.kernel("project_position")

            def onto(q: np.ndarray) -> np.ndarray:
                for _ in range(20):
                    q = project(q, self.p)
                return q

            self._generic = mobility.generic_rank(self.closed, onto, self.kernel("retraction"), self.q.copy())
        return self._generic

    def kernel(self, name: str, make: Callable[[], ca.Function] | None = None) -> Kernel:
        """A traced function as fast code, built when it is first needed and kept under its name.

        `make` traces it; without, it is "step", "outputs" or a function of `equations.py`.
        """
        if name not in self._kernels:
            if make is not None:
                function = make()
            elif name == "outputs":
                function, self._variables = outputs(self.equations)
            elif name == "step":
                function = step.runge_kutta(self.equations, TRACED.get(self.stepper, step.MOST_SUBSTEPS))
            else:
                function = getattr(written, name)(self.equations)
            self._kernels[name] = kernel(function, self._compile)
        return self._kernels[name]
