"""Simulate a mechanism: assemble it, drive it, step it, read it, change it."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .base.display import Displayed
from .base.errors import SimulationError
from .base.thresholds import LONGER, LOOSER
from .base.units import seconds
from .chain.chain import Chain
from .chain.plan import Plan
from .chain.target import Target
from .describe.mechanism import Mechanism
from .engine import Engine
from .linear.linearize import LinearModel, linearize
from .run import assembly, inverse, poses
from .run.assembly import AssemblyReport
from .run.chunks import goes_in_stretches, run_in_stretches
from .run.events import Event
from .run.inputs import Controller, Inputs, as_laws
from .run.integrate import FixedSteps, run_and_record
from .run.local_form import LocalSolver
from .run.mobility import Mobility, mobility
from .run.norms import NORM, add_norms, without_norms
from .run.recording import columns_to_record
from .run.run_quality import RunQuality
from .run.second_run import (
    Again,
    chosen_ways,
    looser_tolerance,
    missed_accelerations,
    motion_error,
    other_steps,
)
from .run.steppers import stepper as chosen_stepper
from .run.trajectory import Trajectory
from .run.variable import VariableSteps
from .state import Stepper
from .variables import Variable, Variables

SOLVERS: dict[str, Any] = {"variable": VariableSteps, "local": LocalSolver}
METHODS = ("fixed", *SOLVERS)


# What steppers and runs need of each other; who uses a simulation does not.
_OWN_BUSINESS = {
    "alone",
    "at",
    "bind",
    "check",
    "counters",
    "equations",
    "go",
    "inputs_at",
    "judges",
    "memory",
}
_OWN_BUSINESS |= {"motions", "open_up_to", "output_vector", "put", "read", "s", "samples", "step_advice"}
_OWN_BUSINESS |= {"stepping", "take_inputs", "traced_step", "tree"}


class Simulation(Stepper, Displayed):
    """A mechanism in motion.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description; or an Engine
        that other simulations may share.
    gravity : number g for (0, 0, −g), or a vector; the description's own if None.
    parameters : values for the description's named parameters, or for any number by its path, such as
        `body.leg1.mass`, which then can be changed while it runs.
    compile : None compiles where a C compiler is found, False never does, True insists.
    start : joint -> coordinates held while the mechanism is first assembled.
    stepper : "runge_kutta" steps as finely as it has to, "single" takes every step whole, "implicit"
        is for stiff mechanisms.
    substeps : how many shorter steps one step may try where it has to, which bounds its cost; 1: none.

    Attributes
    ----------
    engine : what knows the mechanism and has no state.
    inputs : names of motors and cylinders, in the order of `u`.
    q, v, z, u, p : present coordinates, speeds, internal states of drives and friction, inputs, parameters.
        Read them; `state`, `set_inputs` and `set_parameters` are there to change them.
    time : seconds since the start.
    work : energy that inputs and loads put in, less what dampers took, since the start, joules.

    Methods
    -------
    run, move_to, follow, step, reset, state, set_inputs, set_parameters, assemble, outputs, variables,
    energy,
    accelerations, inverse_dynamics, linearize, topology, closure, singularity_distance, body_poses,
    joint_positions, sample, compiled

    Examples
    --------
    >>> from cutjoint import Simulation
    >>> simulation = Simulation("fourbar", compile=False)
    >>> simulation.set_inputs({"crank": 2.0})
    >>> motion = simulation.run(0.1, record=["joint.crank_pin.position"])
    >>> motion["joint.crank_pin.position"].shape
    (101,)
    """

    def __init__(
        self,
        mechanism: Mechanism | str | Engine,
        *,
        gravity: float | Iterable[float] | None = None,
        parameters: Mapping[str, Any] | None = None,
        compile: bool | None = None,
        start: Mapping[str, Any] | None = None,
        stepper: str = "runge_kutta",
        substeps: int | None = None,
    ):
        chosen = chosen_stepper(stepper, substeps)
        if not isinstance(mechanism, Engine):
            engine = Engine(mechanism, gravity=gravity, compile=compile, changeable=parameters or ())
        elif gravity is None and compile is None:
            engine = mechanism
        else:
            raise SimulationError("an engine has its gravity and its compiler; give neither beside it")
        p = engine.parameters(parameters or {})
        self._initial, self.start_report = assembly.initial_state(engine, p, start or {})
        super().__init__(engine, self._initial, chosen)

    def __repr__(self) -> str:
        m, loops = self.mechanism, len(self.tree.cuts)
        return (
            f"Simulation('{m.name}' at {self.time:g} s: {len(m.bodies)} bodies, {len(m.joints)} joints, "
            f"{loops} loop{'s' * (loops != 1)}; inputs {', '.join(self.inputs) or 'none'})"
        )

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _OWN_BUSINESS]

    def __getstate__(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("_initial", "start_report")}
        return own | {"engine": self.engine, "how": (self.stepper, self.substeps), "state": self.state}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        how = chosen_stepper(*saved.pop("how"))
        Stepper.__init__(self, saved.pop("engine"), saved.pop("state"), how)
        vars(self).update(saved)

    # -- motion --------------------------------------------------------------------------

    def reset(self) -> None:
        """Back to the assembled start at time zero, parameters as it was made with.

        Inputs are zero, and driven motions where they begin.
        """
        self.put(self._initial)

    def run(
        self,
        duration: float | str,
        step: float | str = 1e-3,
        method: str = "fixed",
        tolerance: float = 1e-10,
        record: Iterable[str] | None = None,
        progress: Callable[[float], None] | None = None,
        events: Iterable[Event] = (),
        inputs: Mapping[str, Any] | None = None,
        controller: Controller | None = None,
    ) -> Trajectory:
        """Move on by `duration` and record outputs. Times are seconds, or texts such as "1 ms".

        method "fixed" takes steps of `step`; "variable" integrates to `tolerance` and records every
        `step`; so does "local", on the local state-space form. `record` names outputs, the joints'
        positions and speeds if None; `NAME.norm` is the magnitude of a vector. `events` are met on the
        way. `progress` is called with the part that is done.

        `inputs` gives inputs over time, by name: a law of `cutjoint.laws` or its text, a function of
        time, an array with a value for each step, or a pair (times, values); others stay as they are.
        `controller(t, simulation)` is asked every `step` seconds for inputs, which it gives as
        `set_inputs` takes them and which are then held. See `run/inputs.py` for what steps make of them.
        """
        duration, step = seconds(duration, "a duration"), seconds(step, "a step")
        if not (duration >= 0 and math.isfinite(duration)):
            raise SimulationError(f"a duration must be finite and not negative, not {duration}")
        if method not in METHODS:
            raise SimulationError(f"there is no method '{method}'; known: {', '.join(METHODS)}")
        asked = None if record is None else [record] if isinstance(record, str) else list(record)
        columns = columns_to_record(self.engine.variables, asked and without_norms(asked))
        events = tuple(events)
        driven = self._driven(inputs or {}, controller, duration, step) if inputs or controller else None
        held, begin = driven is None and not events, self.time
        trajectory: Trajectory
        if method == "fixed" and held and self._in_stretches(columns):
            trajectory = self.alone(run_in_stretches, self, duration, step, columns, progress)
        else:
            if method == "fixed":
                solver: Any = FixedSteps(self, duration, step, bool(events), driven)
            else:
                solver = self._solver(method, self.time + duration, tolerance, driven)
                solver.spacing = step
            trajectory = self.alone(
                run_and_record, self, solver, duration, step, columns, progress, events, driven
            )
        if self.time > begin and controller is None and (trajectory.judgement.judged or method != "fixed"):
            told = trajectory.judgement
            again = self._again(method, step, tolerance, told)
            wrong = motion_error(trajectory, self.stepping, driven, *again)
            told = replace(told, motion=wrong, missed=missed_accelerations(trajectory))
            trajectory = replace(trajectory, judgement=told)
        advice = "tighten the tolerance"
        if method == "fixed":
            advice = "take smaller steps" if trajectory.judgement.trusted else self.step_advice(step)
        trajectory.judgement.warn(self.mechanism.name, advice)
        trajectory.warn()
        if asked and any(name.endswith(NORM) for name in asked):
            trajectory = add_norms(trajectory, self.engine.variables.outputs, asked)
        return trajectory

    def move_to(
        self,
        *targets: Target,
        duration: float | None = None,
        bounds: Mapping[str, float] | None = None,
        margin: float | None = None,
        settle: float | str = 0.0,
        step: float | str = 1e-3,
        record: Iterable[str] | None = None,
    ) -> Trajectory:
        """Bring frames to rest at targets, smoothly from the present motion, and record outputs.

        The way is planned and checked first, as by `Chain.plan`, which says what `duration`, `bounds` and
        `margin` are: what can't be reached is refused, and nothing moves. Motors and cylinders follow it by
        computed torque, servos and driven motions by their set points; `settle` seconds are run behind.
        """
        plan = Chain(self).plan(*targets, duration=duration, bounds=bounds, margin=margin)
        return self.follow(plan, settle, step, record)

    def follow(
        self,
        plan: Plan,
        settle: float | str = 0.0,
        step: float | str = 1e-3,
        record: Iterable[str] | None = None,
    ) -> Trajectory:
        """Move as a plan of `Chain.plan` or `Chain.follow` says, and `settle` seconds longer."""
        time = plan.duration + seconds(settle, "a time to settle")
        from .chain.follow import PlanFollower  # which brings SciPy along

        return self.run(time, step, record=record, controller=PlanFollower(self, plan))

    def _driven(
        self, inputs: Mapping[str, Any], controller: Controller | None, duration: float, step: float
    ) -> Inputs:
        """The inputs of a run, as they are at its start."""
        if not step > 0:
            raise SimulationError(f"a step must be positive, not {step}")
        laws = as_laws(self, inputs, self.time, step)
        driven = Inputs(self, laws, controller, self.time, self.time + duration, step)
        driven.set(self.time)
        driven.control()
        return driven

    def _solver(self, method: str, end: float, tolerance: float, inputs: Inputs | None = None) -> Any:
        return SOLVERS[method](self, end, tolerance, inputs)

    def _again(
        self, method: str, step: float, tolerance: float, told: RunQuality
    ) -> tuple[Again, Sequence[float], float]:
        """How a run is done once more, how much more coarsely, and the spacing of what is compared."""
        if method == "fixed":
            return other_steps(step), chosen_ways(told), LONGER[0] * step
        return looser_tolerance(SOLVERS[method], tolerance), LOOSER, 0.0

    def _in_stretches(self, columns: Iterable[Variable]) -> bool:
        """Whether steps with held inputs need nothing of Python between them."""
        return goes_in_stretches(self, columns)

    # -- reading: see also `outputs` and `accelerations` ---------------------------------------

    def variables(self) -> Variables:
        """Every name with units, meaning and place: inputs, outputs, parameters, coordinates, speeds."""
        return self.engine.variables

    def energy(self) -> float:
        """Kinetic and potential energy, joules."""
        return float(self.output_vector()[self.engine.variables.outputs.find("energy").where][0])

    def closure(self) -> tuple[np.ndarray, np.ndarray]:
        """Loop residual g and Jacobian G at the present state."""
        return self.engine.closure(self.q, self.s, self.p)

    def singularity_distance(self) -> float:
        """Smallest singular value of G that a regular pose has; ∞ without loops."""
        return self.engine.singularity(self.q, self.s, self.p)[0]

    def topology(self) -> Mobility:
        """Tree, cuts, rank, mobility and redundant constraints at the present pose."""
        return mobility(self.engine, self.state)

    def body_poses(self) -> poses.Places:
        """Rotation matrix and origin of every body's frame in the world."""
        return poses.body_poses(self)

    def joint_positions(self) -> poses.Places:
        """Where each joint is in the world: its point on the parent and its point on the child."""
        return poses.joint_positions(self)

    @property
    def compiled(self) -> bool:
        """Whether everything traced so far runs as compiled code."""
        return self.engine.compiled

    # -- questions and changes -----------------------------------------------------------------

    def assemble(self, prescribed: Mapping[str, Any] | None = None) -> AssemblyReport:
        """Close the loops from the present coordinates, holding the prescribed joints where told.

        Speeds start again from the description's and are made consistent. If the loops can't be
        closed, the error names the loop, and the state stays as it was.
        """
        state, report = assembly.assemble(self.engine, self.state, prescribed or {})
        self.put(state)
        return report

    def set_parameters(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Other values for named parameters, checked; loops that open are closed again.

        If they can't be closed, the error names the loop, and everything stays as it was.
        """
        self.put(assembly.with_parameters(self.engine, self.state, {**(values or {}), **named}))

    def inverse_dynamics(self, acceleration: Mapping[str, Any] | Iterable[float] | None = None) -> np.ndarray:
        """Inputs that give the wanted `acceleration` at the present state; see `run/inverse.py`.

        It is joint -> value for as many joints as can be chosen, or v̇ of all; zero if None.
        """
        return inverse.inputs_for(self.engine, self.state, acceleration)

    def linearize(self, inputs: Any = None, outputs: Any = None, states: Any = None) -> LinearModel:
        """The exact linear model at the present state: `linearize` with its `inputs`, `outputs`, `states`."""
        return linearize(self.engine, self.state, inputs, outputs, states)
