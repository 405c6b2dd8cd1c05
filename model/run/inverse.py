"""Inverse dynamics of a closed-loop mechanism: inputs for a wanted motion."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import CUT_OFF, DRIVE_TRIES, LACKING, RANK
from ..describe.elements import Strut
from ..describe.inputs import Input
from ..describe.mechanism import Mechanism
from ..describe.motors import Motor, has_delay, plain, signal_names, tells_motion
from ..engine import Engine
from ..equations.motion_drives import acceleration_drives
from ..manifold.rank import allowed_motions, nearest_solution, rank
from ..state import State

HOLD = "hold it in this pose"  # what inputs are asked for


def inputs_for(
    engine: Engine,
    state: State,
    acceleration: Mapping[str, Any] | Iterable[float] | None = None,
    purpose: str = "produce that motion",
    force: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Inputs u, within their limits, that give the wanted accelerations at a state; all zero if None.

    `force` acts beside them, a generalized force for each speed.

    Accelerations are given for all speeds, or by joint; what is not consistent with the loops
    is replaced by the nearest that is, measured at the tree's joints: while loops move, name joints that
    decide the motion. With K a basis of motions that the loops, and the motors whose input
    is an acceleration, allow, (KᵀB) u = Kᵀ(M v̇ − F): solved with least norm where several inputs could do it,
    counted for servos from where their joints are.
    Wrenches from outside and driven motions stay as the state has them.
    """
    slow = [motor.name for motor in engine.mechanism.motors if has_delay(motor)]
    if slow:
        raise SimulationError(
            f"the torque of '{slow[0]}' follows its input later, "
            "so that no input gives an acceleration at once"
        )
    u = relaxed_inputs(engine, state)
    own, (low, high) = effort_places(engine.mechanism), effort_limits(engine.mechanism)
    M, G, right, gamma, B = _coefficients(engine, state, u)
    dv = _consistent(engine, acceleration, G, gamma)
    T, bias = engine.kernels.given_accelerations(state.q, state.v, state.p)
    K = _free_motions(engine, state, T)
    need = first = K.T @ (M @ dv - right - force)
    for _ in range(1 if all(plain(motor) for motor in engine.mechanism.motors) else DRIVE_TRIES):
        # gears lose by the sign of their torque: Newton's method
        u[own] += least_within(K.T @ B[:, own], need, low - u[own], high - u[own])
        _, _, right, _, B = _coefficients(engine, state, u)
        need = K.T @ (M @ dv - right - force)
    if np.abs(need).max(initial=0.0) > LACKING * (1.0 + np.abs(first).max(initial=0.0)):
        raise _beyond_reach(engine, purpose, K, need, K.T @ B[:, own], u)
    u[_places(engine.mechanism, acceleration_drives(engine.mechanism))] = T @ dv + bias
    return u


def _coefficients(engine: Engine, state: State, u: np.ndarray) -> list[np.ndarray]:
    """M, G, τ − h, γ and B; B as it is within the limits: at them, what is cut off has half a slope."""
    found = list(engine.kernels.coefficients(*replace(state, u=u).at))
    within = inside_limits(engine.mechanism, u)
    if (within != u).any():
        found[4] = engine.kernels.coefficients(*replace(state, u=within).at)[4]
    return found


def inside_limits(mechanism: Mechanism, u: np.ndarray) -> np.ndarray:
    """Inputs of actuators, moved off their limits by next to nothing."""
    own, (low, high), u = effort_places(mechanism), effort_limits(mechanism), u.copy()
    u[own] = np.clip(u[own], low + CUT_OFF * (1 + np.abs(u[own])), high - CUT_OFF * (1 + np.abs(u[own])))
    return u


def relaxed_inputs(engine: Engine, state: State) -> np.ndarray:
    """The state's inputs, those of actuators such that they do nothing: servos want what their joints do."""
    u, own, servos = state.u.copy(), effort_places(engine.mechanism), ("position", "speed")
    u[own] = 0.0
    rows = [row for row in engine.mechanism.input_table if row.first in own and row.role in servos]
    y = engine.kernels.outputs(*state.at) if rows else u
    for row in rows:
        name = row.drives if row.role == "position" else f"joint.{row.joint}.velocity"
        u[row.first] = y[engine.variables.outputs.find(name).where][0]
    return u


def least_within(A: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The shortest x with A x = b and low ≤ x ≤ high; the nearest to A x = b within them if there is none.

    x = x₀ + N w with the shortest x₀ of all and N a basis of A x = 0: the shortest w with N w between
    low − x₀ and high − x₀ is a least distance problem (Lawson and Hanson, chapter 23).
    """
    x = nearest_solution(A, b)
    if ((low <= x) & (x <= high)).all():
        return x
    from scipy.optimize import lsq_linear, nnls  # few need them, and SciPy takes a while to import

    N = allowed_motions(A, rank(A))[0]
    G, h = np.vstack([N, -N]), np.concatenate([low - x, x - high])
    G, h = G[np.isfinite(h)], h[np.isfinite(h)]
    size = np.abs(h).max()
    end = np.eye(N.shape[1] + 1)[-1]
    E = np.vstack([G.T, h / size])
    r = E @ nnls(E, end)[0] - end
    if -r[-1] > RANK:
        found = x - size * (N @ r[:-1]) / r[-1]
        if (np.maximum(low - found, found - high) <= CUT_OFF * (size + np.abs(x).max())).all():
            return np.asarray(np.clip(found, low, high))
    return np.asarray(lsq_linear(A, b, (low, high), method="bvls").x)


def effort_places(mechanism: Mechanism) -> list[int]:
    """Where the inputs stand that statics may choose: all but wrenches from outside and driven motions."""
    return [k for row in _effort_rows(mechanism) for k in range(row.where.start, row.where.stop)]


def effort_limits(mechanism: Mechanism) -> np.ndarray:
    """The least and the greatest values of these, a row each."""
    rows = [row for row in _effort_rows(mechanism) for _ in range(row.size)]
    return np.array([[row.low for row in rows], [row.high for row in rows]])


def _effort_rows(mechanism: Mechanism) -> list[Input]:
    told = {name for item in mechanism.drives if tells_motion(item) for name in signal_names(item)}
    outside = {f"frame.{frame.name}" for frame in mechanism.frames}
    return [row for row in mechanism.input_table if row.element not in outside and row.name not in told]


def _places(mechanism: Mechanism, items: Iterable[Motor | Strut]) -> list[int]:
    names = mechanism.inputs()
    return [names.index(name) for item in items for name in signal_names(item)]


def _free_motions(engine: Engine, state: State, T: np.ndarray) -> np.ndarray:
    """K: motions that the loops and given accelerations T v̇ allow at the pose."""
    size = engine.equations.scales.speeds
    J = np.vstack([engine.unitless_jacobian(state.q, state.p), T * size])
    return np.asarray(size[:, None] * allowed_motions(J, rank(J))[0])


def without_delays(engine: Engine, state: State) -> tuple[Engine, State]:
    """The same mechanism with motors that act at once, as they do at rest."""
    now = engine.described(state.p)
    at_once = {"lag": 0.0, "inductance": 0.0, "backlash": 0.0, "mesh_stiffness": 0.0, "mesh_damping": 0.0}
    motors = tuple(replace(motor, **at_once) for motor in now.motors)  # type: ignore[arg-type]
    plainer = Engine(replace(now, motors=motors, parameters={}), compile=False)
    z = np.zeros(plainer.tree.nz)
    for name, where in plainer.tree.z.items():
        z[where] = state.z[engine.tree.z[name]]
    return plainer, replace(state, z=z, p=np.zeros(0))


def _beyond_reach(
    engine: Engine, purpose: str, K: np.ndarray, need: np.ndarray, A: np.ndarray, u: np.ndarray
) -> SimulationError:
    """Which joints lack how much, and which actuators are at their limits.

    need : Kᵀ times the forces that are missing. Of the motions that actuators within their limits leave open,
        joints that tell them apart are named, each with the torque or force on it that would be enough.
    """
    from scipy.linalg import qr  # few need it, and SciPy takes a while to import

    own, (low, high) = effort_places(engine.mechanism), effort_limits(engine.mechanism)
    edge = CUT_OFF * (1 + np.abs(u[own]))
    at_limit = (u[own] <= low + edge) | (u[own] >= high - edge)
    acting = A[:, ~at_limit].T
    open_to = K @ allowed_motions(acting, rank(acting))[0]
    unitless, count = open_to / engine.equations.scales.speeds[:, None], open_to.shape[1]
    rows = [row.joint for row in _effort_rows(engine.mechanism) for _ in range(row.size)]
    driven = {joint for joint, at in zip(rows, at_limit, strict=True) if at} & set(engine.tree.v)
    places = np.array([engine.tree.v[joint].start for joint in driven], int)
    if rank(unitless[places]) < count:
        places = np.arange(engine.tree.nv)
    joints = places[qr(unitless[places].T, mode="r", pivoting=True)[1][:count]]
    lack = nearest_solution(K[joints].T, need)
    columns = engine.variables.speeds.columns()
    order = np.argsort(-np.abs(lack))[:3]
    told = ", ".join(
        f"{abs(lack[k]):.3g} {'N·m' if columns[joints[k]].unit == 'rad/s' else 'N'} "
        f"unbalanced at joint '{columns[joints[k]].name}'"
        for k in order[np.abs(lack[order]) > LACKING * np.abs(lack).max()]
    )
    names = engine.mechanism.inputs()
    full = [
        f"'{names[k]}' gives all it can, {u[k] + 0.0:.3g}" for k, at in zip(own, at_limit, strict=True) if at
    ]
    name = engine.mechanism.name
    return SimulationError(f"no inputs of '{name}' {purpose}: {'; '.join([told, *full])}")


def _consistent(engine: Engine, acceleration: Any, G: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """v̇ with G v̇ = γ: what is known first, the unknown joints from the loops, then the nearest."""
    tree = engine.tree
    dv, known = np.zeros(tree.nv), np.ones(tree.nv, bool)
    if isinstance(acceleration, Mapping):
        known[:] = not acceleration
        for joint, value in acceleration.items():
            found = engine.variables.speeds.find(joint)
            dv[found.where], known[found.where] = found.numbers(value), True
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
