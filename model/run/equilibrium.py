"""Poses at rest: where given inputs hold a mechanism still, or the inputs that hold a pose."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import SimulationError
from ..linear.linearize import linear_kernel, linearize
from ..linear.model import LinearModel
from ..manifold.rank import nearest_solution
from ..state import LiveState
from ..thresholds import GROWTH, LONGEST, SETTLE_TRIES, STILL
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
    simulation.put(replace(simulation.state, v=np.zeros(simulation.tree.nv)))
    simulation.set_inputs(inverse.inputs_for(simulation.engine, simulation.state))
    return _report(simulation, 0)


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
            if np.abs(dv).max(initial=0.0) < STILL:
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
    n = len(R)
    A, _ = linear_kernel(engine, at)(state.q, state.v, state.u, state.p)
    dy = -nearest_solution(A[n:, :n], R[:speeds] @ dv)
    G = engine.closure(state.q, state.p)[1][np.array(engine.tree.holds_poses, bool)]
    # δθ = K δy: the displacement with R δθ = δy that keeps the loops closed, G δθ = 0
    delta = nearest_solution(np.vstack([R, G]), np.concatenate([dy, np.zeros(len(G))]))
    length = np.abs(delta).max(initial=0.0)
    delta *= min(1.0, LONGEST / length) if length else 1.0
    q, _, _ = assembled(engine, engine.retract(state.q, delta), state.p)
    simulation.put(replace(state, q=q))


def _report(simulation: LiveState, iterations: int) -> Equilibrium:
    model = linearize(simulation.engine, simulation.state)
    q, u = simulation.q, simulation.u
    coordinates: dict[str, Any] = {name: q[where].tolist() for name, where in simulation.tree.q.items()}
    inputs = dict(zip(simulation.inputs, u.tolist(), strict=True))
    left = float(np.abs(simulation.accelerations()[0]).max(initial=0.0))
    return Equilibrium(coordinates, inputs, left, iterations, model, model.eigenvalues())
