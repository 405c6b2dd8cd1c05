"""Poses at rest: where given inputs hold a mechanism still, or the inputs that hold a pose."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..describe.motors import POSITION, delayed, signal_names
from ..errors import SimulationError
from ..linear.linearize import linear_kernel, linearize
from ..linear.model import LinearModel
from ..manifold.rank import nearest_solution
from ..state import LiveState
from ..thresholds import DRIVE_TRIES, GROWTH, LONGEST, SETTLE_TRIES, STILL
from . import inverse
from .assembly import assembled
from .independent import chart


@dataclass(frozen=True)
class Equilibrium:
    """A pose at rest and how it behaves when disturbed."""

    coordinates: dict[str, list[float]]
    inputs: dict[str, float]
    residual: float  # largest acceleration left
    iterations: int
    linear: LinearModel
    eigenvalues: np.ndarray

    @property
    def verdict(self) -> str:
        """stable: everything decays; marginal: nothing grows; unstable: something does."""
        growth = self.eigenvalues.real.max(initial=-np.inf)
        scale = GROWTH * (1 + np.abs(self.eigenvalues).max(initial=0))
        return "unstable" if growth > scale else "stable" if growth < -scale else "marginal"


def hold(simulation: LiveState) -> Equilibrium:
    """Inputs that hold the present pose at rest (least norm if several could); they are set."""
    u, names = simulation.u.copy(), simulation.mechanism.inputs()
    for motor in simulation.mechanism.driven:
        for name in signal_names(motor)[motor.drive == POSITION :]:
            u[names.index(name)] = 0.0  # what is driven stays where it is
    simulation.put(replace(simulation.state, u=u, v=np.zeros(simulation.tree.nv)))
    if any(delayed(motor) for motor in simulation.mechanism.motors):
        return _report(simulation, _held(simulation))
    simulation.set_inputs(inverse.inputs_for(simulation.engine, simulation.state))
    return _report(simulation, 0)


def _held(simulation: LiveState) -> int:
    """Set inputs, and states of drives, that hold the present pose, by Newton's method; returns its steps.

    R v̇(u, z) = 0 and ż(u, z) = 0 with the exact slopes; what sticks stays as it is bent.
    """
    engine, tree = simulation.engine, simulation.tree
    R, speeds = at = chart(engine, simulation.state, None)
    n, inner = len(R), _unstuck(simulation)
    for tries in range(DRIVE_TRIES + 1):
        state = simulation.state
        scaled = np.concatenate([R[:speeds] @ simulation.accelerations()[0], _internal(simulation)[inner]])
        if np.abs(scaled).max(initial=0.0) < STILL:
            return tries
        rates = engine.kernel("internal_rates")(state.q, state.v, state.u, state.p)
        left = np.concatenate([scaled[:speeds], rates[inner]])
        A, B = linear_kernel(engine, at)(state.q, state.v, state.u, state.p)
        rows = [*range(n, n + speeds), *(n + speeds + inner)]
        change = nearest_solution(np.hstack([A[:, n + speeds + inner], B])[rows], -left)
        q = state.q.copy()
        q[tree.nq - tree.nz + inner] += change[: len(inner)]
        simulation.put(replace(state, q=q, u=state.u + change[len(inner) :]))
    raise SimulationError(
        f"the drives of '{simulation.mechanism.name}' can't hold this pose: "
        f"{np.abs(scaled).max():.3g} is left"
    )


def _internal(simulation: LiveState) -> np.ndarray:
    """ż, each over how fast it would fade by itself, and one."""
    s, kernel = simulation, simulation.engine.kernel
    if not s.tree.nz:
        return np.zeros(0)
    return np.asarray(kernel("internal_rates")(s.q, s.v, s.u, s.p) / (1 + kernel("decays")(s.q, s.v, s.p)))


def _unstuck(simulation: LiveState) -> np.ndarray:
    """Internal states that rest decides, counted from 0: those of drives."""
    tree = simulation.tree
    places = [
        k for name, at in tree.z.items() if not name.endswith(".bristle") for k in range(at.start, at.stop)
    ]
    return np.array(places, int) - (tree.nq - tree.nz)


def settle(simulation: LiveState) -> Equilibrium:
    """A pose near the present one where the present inputs leave everything at rest; it is taken.

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


def _newton_step(simulation: LiveState, dv: np.ndarray) -> None:
    engine, state = simulation.engine, simulation.state
    R, speeds = at = chart(engine, state, None)
    n, inner = len(R), _unstuck(simulation)
    A, _ = linear_kernel(engine, at)(state.q, state.v, state.u, state.p)
    rows, columns = [*range(n, n + speeds), *(n + speeds + inner)], [*range(n), *(n + speeds + inner)]
    dz = (
        np.array(engine.kernel("internal_rates")(state.q, state.v, state.u, state.p))[inner]
        if len(inner)
        else inner
    )
    dy, dz = np.split(-nearest_solution(A[rows][:, columns], np.concatenate([R[:speeds] @ dv, dz])), [n])
    G = engine.closure(state.q, state.p)[1][np.array(engine.tree.holds_poses, bool)]
    # δθ = K δy: the displacement with R δθ = δy that keeps the loops closed, G δθ = 0
    delta = nearest_solution(np.vstack([R, G]), np.concatenate([dy, np.zeros(len(G))]))
    length = np.abs(delta).max(initial=0.0)
    part = min(1.0, LONGEST / length) if length else 1.0
    moved = engine.retract(state.q, part * delta)
    moved[engine.tree.nq - engine.tree.nz + inner] += part * dz
    q, _, _ = assembled(engine, moved, state.p)
    simulation.put(replace(state, q=q))


def _report(simulation: LiveState, iterations: int) -> Equilibrium:
    model = linearize(simulation.engine, simulation.state)
    q, u = simulation.q, simulation.u
    coordinates: dict[str, Any] = {name: q[where].tolist() for name, where in simulation.tree.q.items()}
    inputs = dict(zip(simulation.inputs, u.tolist(), strict=True))
    left = float(np.abs(simulation.accelerations()[0]).max(initial=0.0))
    return Equilibrium(coordinates, inputs, left, iterations, model, model.eigenvalues())
