"""Poses at rest: where given inputs hold a mechanism still, or the inputs that hold a pose."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import AT_REST, DRIVE_TRIES, GROWTH, LONGEST, SETTLE_TRIES, STILL
from ..describe.motors import POSITION, has, signal_names, tells_motion
from ..engine import Engine
from ..linear.linearize import linear_kernel, linearize
from ..linear.model import LinearModel
from ..manifold.rank import nearest_solution
from ..state import State, Stepper
from . import inverse
from .assembly import assemble_pose
from .independent import chart


@dataclass(frozen=True)
class Equilibrium:
    """A pose at rest and how it behaves when disturbed."""

    coordinates: dict[str, list[float]]  # joint -> where it is, metres and radians
    inputs: dict[str, float]  # input -> its value, SI units
    residual: float  # largest acceleration left
    iterations: int  # steps of Newton's method
    linear: LinearModel  # around it
    eigenvalues: np.ndarray  # of that model, 1/s

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name} {value:.6g}" for name, value in self.inputs.items()) or "none"
        return f"Equilibrium({self.verdict}; inputs {inputs}; residual {self.residual:.2g})"

    @property
    def verdict(self) -> str:
        """stable: everything decays; marginal: nothing grows; unstable: something does."""
        growth = self.eigenvalues.real.max(initial=-np.inf)
        scale = GROWTH * (1 + np.abs(self.eigenvalues).max(initial=0))
        return "unstable" if growth > scale else "stable" if growth < -scale else "marginal"


def hold(simulation: Stepper) -> Equilibrium:
    """Inputs that hold the present pose at rest: M v̇ = 0 with v = 0; they are set.

    Parameters
    ----------
    simulation : the mechanism in the pose to be held; its speeds become zero. Of several inputs that
        hold it within their limits those of least norm are taken; wrenches from outside stay as they are. If
        none do, an error says how much is unbalanced at which joint, and all stays as it was.

    Examples
    --------
    >>> from cutjoint import Simulation, hold
    >>> hold(Simulation("stewart", compile=False)).verdict
    'unstable'
    """
    before, u, names = simulation.state, simulation.u.copy(), simulation.mechanism.inputs()
    for motor in filter(tells_motion, simulation.mechanism.drives):
        for name in signal_names(motor)[motor.drive == POSITION :]:
            u[names.index(name)] = 0.0  # what is driven stays where it is
    try:
        simulation.put(replace(before, u=u, v=np.zeros(simulation.tree.nv)))
        free = np.abs(simulation.accelerations()[0]).max(initial=0.0)
        found = _report(simulation, _take_hold(simulation))
        if found.residual > AT_REST * (1.0 + free):
            raise SimulationError(
                f"no inputs of '{simulation.mechanism.name}' {inverse.HOLD}: something still accelerates by "
                f"{found.residual:.3g} rad/s² or m/s²"
            )
        return found
    except SimulationError:
        simulation.put(before)
        raise


def _take_hold(simulation: Stepper) -> int:
    """Set inputs, and states of drives, that hold the present pose; returns the steps of Newton's method."""
    if _unstuck(simulation).size:
        return _held(simulation)
    simulation.set_inputs(inverse.inputs_for(simulation.engine, simulation.state, purpose=inverse.HOLD))
    return 0


def _held(simulation: Stepper) -> int:
    """The same where drives have states.

    R v̇(u, z) = 0 and ż(u, z) = 0 with the exact slopes; what sticks stays as it is bent.
    """
    engine = simulation.engine
    R, speeds = at = chart(engine, simulation.state, None)
    n, inner = len(R), _unstuck(simulation)
    own, (low, high) = (f(simulation.mechanism) for f in (inverse.effort_places, inverse.effort_limits))
    wide = np.full(len(inner), np.inf)
    simulation.put(_begun(engine, simulation.state))
    for tries in range(DRIVE_TRIES + 1):
        state = simulation.state
        scaled = np.concatenate([R[:speeds] @ simulation.accelerations()[0], _internal(simulation)[inner]])
        if np.abs(scaled).max(initial=0.0) < STILL:
            return tries
        rates = engine.kernels.internal_rates(*state.at)
        left = np.concatenate([scaled[:speeds], rates[inner]])
        within = replace(state, u=inverse.inside_limits(engine.mechanism, state.u))
        A, B = linear_kernel(engine, at)(*within.at)
        rows = [*range(n, n + speeds), *(n + speeds + inner)]
        slopes = np.hstack([A[:, n + speeds + inner], B[:, own]])[rows]
        bounds = (
            np.concatenate([side * wide, limit - state.u[own]]) for side, limit in ((-1, low), (1, high))
        )
        change = inverse.least_within(slopes, -left, *bounds)
        z, u = state.z.copy(), state.u.copy()
        z[inner] += change[: len(inner)]
        u[own] += change[len(inner) :]
        simulation.put(replace(state, z=z, u=u))
    inverse.inputs_for(
        *inverse.without_delays(engine, simulation.state), purpose=inverse.HOLD
    )  # says what lacks
    raise SimulationError(
        f"the drives of '{simulation.mechanism.name}' do not come to rest in this pose: "
        f"{np.abs(scaled).max():.3g} is left"
    )


def _begun(engine: Engine, state: State) -> State:
    """Where Newton's method begins: actuators do nothing, gears with play lie on the side that will hold."""
    play = [motor for motor in engine.described(state.p).motors if has(motor.backlash)]
    z, u = state.z.copy(), inverse.relaxed_inputs(engine, state)
    if play:
        plainer, at = inverse.without_delays(engine, state)
        at = replace(at, u=inverse.inputs_for(plainer, at, purpose=inverse.HOLD))
        efforts = plainer.kernels.outputs(*at.at)
        for motor in play:
            effort = efforts[plainer.variables.outputs.find(f"motor.{motor.name}.effort").where][0]
            bent = np.copysign(motor.backlash / 2, effort) + effort / motor.mesh_stiffness
            z[engine.tree.z[f"motor.{motor.name}.play"]] = bent
    return replace(state, z=z, u=u)


def _internal(simulation: Stepper) -> np.ndarray:
    """ż, each over how fast it would fade by itself, and one."""
    s, kernels = simulation, simulation.engine.kernels
    if not s.tree.nz:
        return np.zeros(0)
    return np.asarray(kernels.internal_rates(*s.at) / (1 + kernels.decays(s.q, s.v, s.z, s.p)))


def _unstuck(simulation: Stepper) -> np.ndarray:
    """Internal states that rest decides: those of drives."""
    drives = (at for name, at in simulation.tree.z.items() if not name.endswith(".bristle"))
    return np.array([k for at in drives for k in range(at.start, at.stop)], int)


def settle(simulation: Stepper) -> Equilibrium:
    """A pose near the present one where the present inputs leave everything at rest; it is taken.

    Parameters
    ----------
    simulation : where the search begins; if it fails, the simulation stays as it was.

    Newton's method in independent coordinates, R v̇(y) = 0 with the exact Â21, loops closed at
    every iterate. A saddle or a maximum of the potential is found as well as a minimum.
    """
    before = simulation.state
    try:
        simulation.put(replace(simulation.state, v=np.zeros(simulation.tree.nv)))
        for iteration in range(SETTLE_TRIES):
            dv, _ = simulation.accelerations()
            if max(np.abs(dv).max(initial=0.0), np.abs(_internal(simulation)).max(initial=0.0)) < STILL:
                return _report(simulation, iteration)
            _newton_step(simulation, dv)
    except SimulationError:
        simulation.put(before)
        raise
    simulation.put(before)
    raise SimulationError(
        f"no equilibrium of '{simulation.mechanism.name}' found near this pose: accelerations of "
        f"{np.abs(dv).max():.3g} remain; start nearer to one, or change the inputs"
    )


def _newton_step(simulation: Stepper, dv: np.ndarray) -> None:
    engine, state = simulation.engine, simulation.state
    R, speeds = at = chart(engine, state, None)
    n, inner = len(R), _unstuck(simulation)
    A, _ = linear_kernel(engine, at)(*state.at)
    rows, columns = [*range(n, n + speeds), *(n + speeds + inner)], [*range(n), *(n + speeds + inner)]
    dz = engine.kernels.internal_rates(*state.at)[inner] if len(inner) else inner
    dy, dz = np.split(-nearest_solution(A[rows][:, columns], np.concatenate([R[:speeds] @ dv, dz])), [n])
    s = engine.motions(state.u)
    G = engine.closure(state.q, s, state.p)[1][np.array(engine.tree.holds_poses, bool)]
    # δθ = K δy: the displacement with R δθ = δy that keeps the loops closed, G δθ = 0
    delta = nearest_solution(np.vstack([R, G]), np.concatenate([dy, np.zeros(len(G))]))
    length = np.abs(delta).max(initial=0.0)
    part = min(1.0, LONGEST / length) if length else 1.0
    z = state.z.copy()
    z[inner] += part * dz
    q, _, _ = assemble_pose(engine, engine.retract(state.q, part * delta), s, state.p)
    simulation.put(replace(state, q=q, z=z))


def _report(simulation: Stepper, iterations: int) -> Equilibrium:
    model = linearize(simulation.engine, simulation.state)
    q, u = simulation.q, simulation.u
    coordinates: dict[str, Any] = {name: q[where].tolist() for name, where in simulation.tree.q.items()}
    inputs = dict(zip(simulation.inputs, u.tolist(), strict=True))
    left = float(np.abs(simulation.accelerations()[0]).max(initial=0.0))
    return Equilibrium(coordinates, inputs, left, iterations, model, model.eigenvalues())
