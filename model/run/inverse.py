"""Inverse dynamics of a closed-loop mechanism: inputs for a wanted motion."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..describe.motors import delayed, plain
from ..engine import Engine
from ..equations.prescribed import motion_places
from ..errors import SimulationError
from ..manifold.rank import allowed_motions, nearest_solution, rank
from ..state import State
from ..thresholds import DRIVE_TRIES, LACKING


def inputs_for(
    engine: Engine, state: State, acceleration: Mapping[str, Any] | Iterable[float] | None = None
) -> np.ndarray:
    """Inputs u that give the wanted accelerations at a state; all zero if None.

    Accelerations are given for all speeds, or by joint; what is not consistent with the loops
    is replaced by the nearest that is. With K a basis of motions the loops allow,
    (KᵀB) u = Kᵀ(M v̇ − F): solved with least norm where several inputs could do it.
    """
    name = engine.mechanism.name
    slow = [motor.name for motor in engine.mechanism.motors if delayed(motor)]
    if slow:
        raise SimulationError(
            f"the torque of '{slow[0]}' follows its input later, "
            "so that no input gives an acceleration at once"
        )
    M, G, right, gamma, B = engine.kernel("coefficients")(state.q, state.v, 0 * state.u, state.p)
    dv = _consistent(engine, acceleration, G, gamma)
    J, size = engine.unitless_jacobian(state.q, state.p), engine.equations.scales.speeds
    K = size[:, None] * allowed_motions(J, rank(J))[0]
    need = K.T @ (M @ dv - right)
    u = nearest_solution(K.T @ B, need)
    lacking = np.abs(K.T @ B @ u - need).max(initial=0.0)
    for _ in range(0 if all(plain(motor) for motor in engine.mechanism.motors) else DRIVE_TRIES):
        # gears lose by the sign of their torque: Newton's method
        _, _, right, _, B = engine.kernel("coefficients")(state.q, state.v, u, state.p)
        need = K.T @ (M @ dv - right)
        lacking = np.abs(need).max(initial=0.0)
        u = u + nearest_solution(K.T @ B, need)
    if lacking > LACKING * (1.0 + np.abs(need).max(initial=0.0)):
        raise SimulationError(
            f"the inputs of '{name}' can't produce that motion: "
            f"a generalized force of {lacking:.3g} is missing"
        )
    moving = motion_places(engine.mechanism)
    u[moving] = state.u[moving]  # what is driven stays so
    return u


def _consistent(engine: Engine, acceleration: Any, G: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """v̇ with G v̇ = γ: what is known first, the unknown joints from the loops, then the nearest."""
    tree = engine.tree
    dv, known = np.zeros(tree.nv), np.ones(tree.nv, bool)
    if isinstance(acceleration, Mapping):
        known[:] = not acceleration
        for joint, value in acceleration.items():
            where = engine.variables.speeds.find(joint).where
            dv[where], known[where] = value, True
    elif acceleration is not None:
        given = np.asarray(list(acceleration), float)
        if given.shape != dv.shape:
            raise SimulationError(
                f"{given.size} accelerations given, '{engine.mechanism.name}' has {dv.size}"
            )
        dv[:] = given
    if not np.isfinite(dv).all():
        raise SimulationError("a wanted acceleration is NaN or infinite")
    if not len(gamma):
        return dv
    if not known.all():
        dv[~known] += nearest_solution(G[:, ~known], gamma - G @ dv)
    return dv + nearest_solution(G, gamma - G @ dv)
