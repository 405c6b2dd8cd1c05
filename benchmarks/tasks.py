"""The measurements, one function each; every one returns rows for the report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from ..model.base.subprocesses import scratch_folder
from ..model.compile.kernel import Kernel, find_compiler, kernel
from ..model.compile.tracing import tracing
from ..model.equations import traced
from ..model.equations.terms import equations
from ..model.linear import exact as linear_equations
from ..model.linear.linearize import Independent, chart, fewest_operations, linear_kernel, underlying_slopes
from ..model.manifold import step
from ..model.simulation import Simulation
from .measure import Effort, Rows, Timing, rows, side_by_side
from .subjects import Subject

Show = Callable[[float], None]
STEP = 1e-3
WHILE = 0.02  # seconds over which motions are compared

COMPILED = "cutjoint, compiled"
CALLED = "cutjoint, compiled, fresh arrays"
VIRTUAL = "cutjoint, virtual machine"
PUBLIC = "cutjoint, Simulation.linearize()"


def agreement(subject: Subject, models: dict[str, Any]) -> Rows:
    """By how much the contenders' results differ from ours, over the largest of ours.

    Linearizations are compared along the motions that the loops allow, the columns of T: a peer's
    analytic derivatives, and differences of its accelerations as the judge between us.
    """
    ours = subject.simulation
    slow = kernel(traced.dynamics(ours.equations), False)
    R = ca.sparsify(ca.SX(ca.DM(motor_chart(ours).R)))
    basis = linear_equations.tangent_basis(ours.equations, R)
    result: Rows = []
    later: dict[str, np.ndarray] = {}
    for state, (q, v) in subject.states.items():
        at = q, v, subject.u
        if any(hasattr(model, "centres_after") for model in models.values()):
            later[state] = centres_after(subject, q, v, WHILE)
        mine = replace(ours.state, q=q, v=v, u=subject.u)
        dv, _ = ours.engine.kernels.dynamics(*mine.at)
        T = np.array(basis(*mine.at))
        slopes = underlying_slopes(ours.engine, mine, T)[ours.tree.nv :]
        found = [("accelerations", VIRTUAL, dv, slow(*mine.at)[0])]
        for name, model in models.items():
            if hasattr(model, "accelerations"):
                found.append(("accelerations", name, dv, model.accelerations(*at)))
            if hasattr(model, "slopes"):
                found.append(("linearization", f"{name}, analytic", slopes, model.slopes(*at, T)))
                found.append(
                    ("linearization", f"{name}, by finite differences", slopes, model.differences(*at, T))
                )
            if hasattr(model, "centres_after"):
                way = later[state] - centres_after(subject, q, v, 0.0)
                error = model.centres_after(*at, WHILE) - later[state]
                found.append((f"motion of {WHILE * 1e3:.0f} ms", name, way, way + error))
        for what, name, mine, other in found:
            worst = float(np.abs(mine - other).max() / np.abs(mine).max())
            row = {"mechanism": subject.name, "quantity": what, "state": state, "contender": name}
            result.append({**row, "difference": worst})
    return result


def centres_after(subject: Subject, q: np.ndarray, v: np.ndarray, duration: float) -> np.ndarray:
    """Centres of mass in the world after a while, one row a part: what every engine can tell."""
    ours = subject.simulation
    ours.state = replace(ours.state, time=0.0, q=q, v=v)
    ours.set_inputs(subject.u)
    for _ in range(round(duration / STEP)):
        ours.step(STEP)
    poses = ours.body_poses()
    return np.array(
        [poses[p.name][0] @ ours.mechanism.body(p.name).com + poses[p.name][1] for p in subject.parts.parts]
    )


def dynamics(subject: Subject, models: dict[str, Any], effort: Effort, show: Show) -> Rows:
    """v̇ and λ of the closed mechanism from q, v and u: one call each."""
    ours = subject.simulation
    slow = kernel(traced.dynamics(ours.equations), False)
    contenders = _ours(slow, ours.engine.kernels.dynamics, subject)
    contenders |= {name: m.dynamics(*subject.moving) for name, m in models.items() if hasattr(m, "dynamics")}
    return _beside_ours("dynamics", subject, side_by_side(contenders, effort, show))


def linearization(subject: Subject, models: dict[str, Any], effort: Effort, show: Show) -> Rows:
    """A and B in the motors' coordinates; beside it our dynamics, for the ratio, and what a user calls."""
    ours = subject.simulation
    states = motor_chart(ours)
    slow = kernel(traced_linear(ours, states.R), False)
    contenders = _ours(slow, linear_kernel(ours.engine, states), subject)
    contenders["cutjoint, dynamics alone"] = _ready(ours.engine.kernels.dynamics, subject)
    contenders[PUBLIC] = _public(subject)
    for name, model in models.items():
        for label, way in (("", "linearization"), (", centered", "centered_linearization")):
            if hasattr(model, way):
                contenders[name + label] = getattr(model, way)(*subject.moving)
    return _beside_ours("linearization", subject, side_by_side(contenders, effort, show))


def _public(subject: Subject) -> Callable[[], Any]:
    """A, B, C and D as users get them: checked, named, with every output."""
    q, v, u = subject.moving
    simulation = Simulation(subject.simulation.engine)
    simulation.state = replace(simulation.state, q=q, v=v, u=u)
    return simulation.linearize


def one_step(subject: Subject, models: dict[str, Any], effort: Effort, show: Show) -> Rows:
    """1 ms of simulated time: Runge-Kutta and, for us, projection onto closed loops."""
    ours = subject.simulation
    contenders: dict[str, Callable[[], Any]] = {}
    for label, simulation in (
        ("cutjoint, compiled", ours),
        (VIRTUAL, Simulation(ours.mechanism, compile=False)),
    ):
        simulation.set_inputs(subject.u)
        contenders[label] = _stepping(simulation, subject)
    contenders |= {name: m.step(*subject.moving) for name, m in models.items() if hasattr(m, "step")}
    return _beside_ours("step", subject, side_by_side(contenders, effort, show))


def before_the_first_call(subject: Subject) -> Rows:
    """Seconds to write the equations down and to compile them, with an empty cache."""
    ours = subject.simulation
    R = motor_chart(ours).R
    sources: dict[str, Callable[[], ca.Function]] = {
        "dynamics": lambda: traced.dynamics(equations(ours.mechanism)),
        "linearization": lambda: traced_linear(ours, R),
        "step": lambda: step.runge_kutta(equations(ours.mechanism)),
    }
    result: Rows = []
    for name, write in sources.items():
        start = time.perf_counter()
        with tracing():  # as engines do
            function = write()
        took = time.perf_counter() - start
        row = {"mechanism": subject.name, "function": name, "trace": took}
        if function.class_name() == "SXFunction":
            row["operations"] = function.n_instructions()
        if find_compiler():
            with empty_cache():
                start = time.perf_counter()
                kernel(function)
                row["compile"] = time.perf_counter() - start
        result.append(row)
    return result


def motor_chart(simulation: Simulation) -> Independent:
    """The chart that takes the motors' speeds as the independent ones."""
    return chart(simulation.engine, simulation.state, [motor.joint for motor in simulation.mechanism.motors])


def traced_linear(simulation: Simulation, R: np.ndarray) -> ca.Function:
    return fewest_operations(simulation.equations, ca.sparsify(ca.SX(ca.DM(R))))


@contextmanager
def empty_cache() -> Iterator[None]:
    """Compile as on the first day; what the user has in the cache stays as it is."""
    before = os.environ.get("CUTJOINT_CACHE")
    with scratch_folder() as folder:
        os.environ["CUTJOINT_CACHE"] = str(folder)
        try:
            yield
        finally:
            if before is None:
                del os.environ["CUTJOINT_CACHE"]
            else:
                os.environ["CUTJOINT_CACHE"] = before


def _ours(slow: Kernel, fast: Kernel, subject: Subject) -> dict[str, Callable[[], Any]]:
    """A kernel in its three ways: without a compiler, compiled and in place, with fresh arrays in and out.

    The caller keeps both kernels: `evaluate` writes into their arrays.
    """
    contenders = {VIRTUAL: _ready(slow, subject)}
    if fast.compiled:
        at = _moving(subject)
        contenders |= {COMPILED: _ready(fast, subject), CALLED: lambda: fast(*at)}
    return contenders


def _ready(k: Kernel, subject: Subject) -> Callable[[], Any]:
    k(*_moving(subject))
    return k.evaluate


def _moving(subject: Subject) -> tuple[np.ndarray, ...]:
    q, v, u = subject.moving
    return replace(subject.simulation.state, q=q, v=v, u=u).at


def _stepping(simulation: Simulation, subject: Subject) -> Callable[[], Any]:
    q, v, _ = subject.moving
    start = replace(simulation.state, time=0.0, q=q, v=v)
    simulation.state = start
    count = 0

    def advance() -> None:
        nonlocal count
        count += 1
        if count % 100 == 0:  # stay where the mechanism is regular
            simulation.state = start
        simulation.step(STEP)

    return advance


def _beside_ours(task: str, subject: Subject, timings: dict[str, Timing]) -> Rows:
    return rows(task, subject.name, timings, timings.get(COMPILED, timings[VIRTUAL]))
